//! BACKUP and RESTORE: variables are filled in here.

use std::collections::BTreeSet;

use duramen_admin::backup::{FilePart, Given, Options, Statement, parse_pages};
use duramen_base::{SqlError, messages};
use duramen_catalog::security::DBO;
use duramen_core::security::On;
use duramen_program::rights::Right;
use duramen_program::sink::ColumnMeta;
use duramen_program::sink::Columns;
use duramen_query::Row;
use duramen_tsql::ast::{self, NameOrVariable, OptionValue, RestoreKind};
use duramen_types::{SqlType, Value, to_display};

use super::failure::RunResult;
use super::{Run, command, not_supported};

fn backup_name(log: bool) -> &'static str {
    if log { "BACKUP LOG" } else { "BACKUP DATABASE" }
}

fn restore_name(kind: RestoreKind) -> &'static str {
    match kind {
        RestoreKind::Database => "RESTORE DATABASE",
        RestoreKind::Log => "RESTORE LOG",
        RestoreKind::VerifyOnly => "VERIFY DATABASE",
        RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
        RestoreKind::FileListOnly => "RESTORE FILELIST",
        RestoreKind::LabelOnly => "RESTORE LABELONLY",
        RestoreKind::RewindOnly => "RESTORE REWINDONLY",
    }
}

impl Run<'_> {
    pub(super) fn backup(&mut self, at: usize, stmt: &ast::Backup) -> RunResult<()> {
        let resolved = Statement {
            database: self.database_name(&stmt.database)?,
            devices: self.devices(&stmt.devices)?,
            options: self.backup_options(&stmt.options)?,
            mirrored: !stmt.mirrors.is_empty(),
            ..Statement::default()
        };
        let may = self.may_back_up(stmt.log, &resolved.database);
        self.administer(at, |a| match may {
            Ok(()) => a.backup(stmt.log, &resolved),
            Err(e) => a.refused_with_3013(e.error, backup_name(stmt.log)),
        })?;
        self.done(None, command::OTHER, false);
        Ok(())
    }

    pub(super) fn restore(&mut self, at: usize, stmt: &ast::Restore) -> RunResult<()> {
        let (mut pages, mut files) = (BTreeSet::new(), Vec::new());
        for part in &stmt.parts {
            match (part.name.as_str(), self.given(part.value.as_ref())?) {
                ("PAGE", Given::Text(list)) => pages.append(&mut parse_pages(&list)?),
                ("FILE", Given::Text(name)) => files.push(FilePart::File(name)),
                ("FILEGROUP", Given::Text(name)) => files.push(FilePart::Filegroup(name)),
                (other, _) => return Err(not_supported(&format!("RESTORE of {other}")).into()),
            }
        }
        if !pages.is_empty() && !files.is_empty() {
            return Err(not_supported("RESTORE of pages and files at once").into());
        }
        let mut moves = Vec::new();
        for (from, to) in &stmt.moves {
            let (Given::Text(from), Given::Text(to)) =
                (self.given(Some(from))?, self.given(Some(to))?)
            else {
                return Err(not_supported("this value of MOVE").into());
            };
            moves.push((from, to));
        }
        let of_snapshot = |d: &ast::BackupDevice| d.kind.as_deref() == Some("DATABASE_SNAPSHOT");
        if stmt.kind == RestoreKind::Database && stmt.devices.iter().any(of_snapshot) {
            let name = stmt.database.as_ref().map(|n| self.database_name(n));
            let may = self.may_restore(stmt.kind, &name.transpose()?.unwrap_or_default());
            return self.administer(at, |a| match may {
                Ok(()) => a.revert(),
                Err(e) => a.refused_with_3013(e.error, restore_name(stmt.kind)),
            });
        }
        let resolved = Statement {
            database: match &stmt.database {
                Some(name) => self.database_name(name)?,
                None => String::new(),
            },
            devices: self.devices(&stmt.devices)?,
            options: self.backup_options(&stmt.options)?,
            moves,
            pages,
            files,
            mirrored: false,
        };
        let kind = stmt.kind;
        if let Err(e) = self.may_restore(kind, &resolved.database) {
            return self.administer(at, |a| a.refused_with_3013(e.error, restore_name(kind)));
        }
        match kind {
            RestoreKind::Database => self.administer(at, |a| a.restore(false, &resolved))?,
            RestoreKind::Log => self.administer(at, |a| a.restore(true, &resolved))?,
            RestoreKind::RewindOnly => self.administer(at, |a| a.rewind(&resolved))?,
            RestoreKind::VerifyOnly => self.administer(at, |a| a.verify_backup(&resolved))?,
            RestoreKind::HeaderOnly | RestoreKind::FileListOnly | RestoreKind::LabelOnly => {
                let mut shown = None;
                self.administer(at, |a| {
                    shown = Some(a.show_backup(kind, &resolved)?);
                    Ok(())
                })?;
                if let Some((columns, rows)) = shown {
                    self.send_table(columns, &rows);
                }
                return Ok(());
            }
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }

    /// 262 unless the session owns the database or is of db_backupoperator.
    fn may_back_up(&self, log: bool, name: &str) -> RunResult<()> {
        let databases = &self.session.instance.databases;
        let what = backup_name(log);
        let args: [&dyn std::fmt::Display; 2] = [&what, &name];
        let denied = || SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args);
        let Some(db) = databases.find(name) else {
            // Who owns a database that is not open cannot be asked.
            let closed = databases.find_unavailable(name).is_some();
            return match closed && !self.session.server_may(Right::CreateAnyDatabase) {
                true => Err(denied().into()),
                false => Ok(()),
            };
        };
        let right = match log {
            true => Right::BackupLog,
            false => Right::BackupDatabase,
        };
        if self.session.may(&db, right, On::Database)? {
            return Ok(());
        }
        Err(denied().into())
    }

    /// 3110, or 262 for who only looks, unless the session may make databases. A database's owner may restore
    /// it, members of db_owner may not: what they are is in the database.
    fn may_restore(&self, kind: RestoreKind, name: &str) -> RunResult<()> {
        if self.session.server_may(Right::CreateAnyDatabase) {
            return Ok(());
        }
        if matches!(kind, RestoreKind::Database | RestoreKind::Log) {
            let owned = match self.session.instance.databases.find(name) {
                Some(db) => self.session.user_in(&db)? == Some(DBO),
                None => false,
            };
            return match owned {
                true => Ok(()),
                false => Err(SqlError::new(&messages::RESTORE_PERMISSION_DENIED, &[&name]).into()),
            };
        }
        let args: [&dyn std::fmt::Display; 2] = [&"CREATE DATABASE", &"master"];
        Err(SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args).into())
    }

    fn send_table(&mut self, columns: Columns, rows: &[Row]) {
        let columns: Vec<ColumnMeta> = columns
            .iter()
            .map(|(name, ty, nullable)| ColumnMeta {
                name: (*name).to_owned(),
                ty: *ty,
                nullable: *nullable,
                identity: false,
                updatable: false,
            })
            .collect();
        self.sink.columns(&columns);
        rows.iter().for_each(|row| self.sink.row(row));
        self.done(Some(rows.len() as u64), command::OTHER, false);
    }

    fn value_of(&self, name: &str) -> RunResult<Value> {
        let slot = self.program.variables.find(name);
        let slot = slot.ok_or_else(|| SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[&name]))?;
        Ok(self.vars[slot].clone())
    }

    fn database_name(&self, name: &NameOrVariable) -> RunResult<String> {
        match name {
            NameOrVariable::Name(name) => Ok(name.clone()),
            NameOrVariable::Variable(v) => Ok(self.value_of(v)?.as_text().unwrap_or_default()),
        }
    }

    fn devices(&self, devices: &[ast::BackupDevice]) -> RunResult<Vec<String>> {
        let shown = |d: &ast::BackupDevice| -> RunResult<String> {
            let Given::Text(name) = self.given(Some(&d.target))? else {
                return Err(not_supported("this backup device").into());
            };
            match d.kind.as_deref() {
                Some("DISK") => Ok(name),
                None => Err(SqlError::new(&messages::BACKUP_DEVICE_MISSING, &[&name]).into()),
                Some(kind @ ("TAPE" | "URL" | "VIRTUAL_DEVICE")) => {
                    Err(not_supported(&format!("{kind} as a backup device")).into())
                }
                Some(kind) => {
                    let args: [&dyn std::fmt::Display; 2] = [&kind, &"Device Type"];
                    Err(SqlError::new(&messages::UNRECOGNIZED_OPTION, &args).into())
                }
            }
        };
        devices.iter().map(shown).collect()
    }

    fn backup_options(&self, options: &[ast::NamedOption]) -> RunResult<Options> {
        let given = |o: &ast::NamedOption| Ok((o.name.clone(), self.given(o.value.as_ref())?));
        Ok(Options(
            options.iter().map(given).collect::<RunResult<_>>()?,
        ))
    }

    fn given(&self, value: Option<&OptionValue>) -> RunResult<Given> {
        let of = |v: &Value| match (v, v.as_i64()) {
            // STOPAT = @moment
            (Value::DateTime(_), _) => Given::Text(to_display(v, &SqlType::DATETIME)),
            (Value::VarChar(_) | Value::NVarChar(_), _) | (_, None) => {
                Given::Text(v.as_text().unwrap_or_default())
            }
            (_, Some(n)) => Given::Int(n),
        };
        Ok(match value {
            None => Given::Nothing,
            Some(OptionValue::Int(n)) => Given::Int(*n),
            Some(OptionValue::String(s)) => Given::Text(s.value.clone()),
            Some(OptionValue::Word(w)) => Given::Text(w.clone()),
            Some(OptionValue::Variable(v)) => of(&self.value_of(v)?),
            Some(OptionValue::List(list)) => {
                let one = |o: &ast::NamedOption| match self.given(o.value.as_ref())? {
                    Given::Text(text) => Ok((o.name.clone(), text.to_uppercase())),
                    _ => Ok((o.name.clone(), String::new())),
                };
                Given::List(list.iter().map(one).collect::<RunResult<_>>()?)
            }
            Some(_) => {
                return Err(not_supported("this value of an option of BACKUP or RESTORE").into());
            }
        })
    }
}
