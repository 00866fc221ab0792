//! What a statement needs, for sessions that are not `sysadmin`: asked before it runs. What statements read is asked where
//! names are resolved (`host`), and calls where procedures are found (`exec`).
//!
//! Numbers and texts: the pages of the single statements on Microsoft Learn, sections "Permissions".

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::SCHEMA_SYS;
use duramen_tsql::ast::{self, DropKind, ModuleKind, ModuleMode, StatementKind};

use super::{Run, temp};
use crate::databases::OpenDb;
use crate::names::partition_name;
use crate::security::On;

type Refusal<'a> = &'a dyn Fn() -> SqlError;

impl Run<'_> {
    /// The statement may run, or the error that refuses it.
    pub(super) fn permitted(&mut self, kind: &StatementKind) -> SqlResult<()> {
        if self.session.who.sysadmin {
            return Ok(());
        }
        self.session.state.writing = None;
        self.session.state.write_to_ask = None;
        let output = match kind {
            StatementKind::Insert(s) => s.output.as_ref(),
            StatementKind::Update(s) => s.output.as_ref(),
            StatementKind::Delete(s) => s.output.as_ref(),
            _ => None,
        };
        if let Some((ast::TargetKind::Table(into), _)) = output.and_then(|o| o.into.as_ref()) {
            self.session.require_on(into, "IN")?;
        }
        match kind {
            StatementKind::Select(stmt) => match super::query::into(stmt) {
                Some(name) if !temp::is_temporary(name) => {
                    self.may_create("CRTB", "CREATE TABLE", Some(name))
                }
                _ => Ok(()),
            },
            StatementKind::Insert(stmt) => {
                self.session.state.writing = named(&stmt.target).cloned();
                self.may_write(&stmt.target, &[], &stmt.ctes, "IN")
            }
            StatementKind::InsertBulk(stmt) => self.session.require_on(&stmt.table, "IN"),
            StatementKind::Update(stmt) => {
                if stmt.where_.is_none() && stmt.from.is_empty() {
                    self.session.state.writing = named(&stmt.target).cloned();
                }
                self.may_write(&stmt.target, &stmt.from, &stmt.ctes, "UP")
            }
            StatementKind::Delete(stmt) => {
                if stmt.where_.is_none() && stmt.from.is_empty() {
                    self.session.state.writing = named(&stmt.target).cloned();
                }
                self.may_write(&stmt.target, &stmt.from, &stmt.ctes, "DL")
            }
            StatementKind::CreateTable(s) => self.may_create("CRTB", "CREATE TABLE", Some(&s.name)),
            StatementKind::CreateType(s) => self.may_create("CRTY", "CREATE TYPE", Some(&s.name)),
            StatementKind::CreateSynonym { name, .. } => {
                self.may_create("CRSN", "CREATE SYNONYM", Some(name))
            }
            StatementKind::CreateSchema { .. } => self.may_create("CRSM", "CREATE SCHEMA", None),
            StatementKind::Partition(s) => self.may_create("ALDS", partition_name(s), None),
            StatementKind::AlterSchema { schema, name, .. } => {
                let object = name.name();
                self.may(name, &|| {
                    super::principals::cannot("find", "object", object)
                })?;
                let schema = ast::ObjectName {
                    parts: vec![schema.clone()],
                    line: name.line,
                };
                let shown = schema.name();
                let refused = || super::principals::cannot("find", "schema", shown);
                self.may_drop_in(&schema, &refused)
            }
            StatementKind::CreateModule(s) => self.may_define(s),
            StatementKind::AlterTable(s) => self.may_alter(&s.table),
            StatementKind::AlterIndex(s) => self.may_alter(&s.table),
            StatementKind::TruncateTable { table, .. } => self.may_alter(table),
            StatementKind::CreateIndex(s) => match &s.table {
                Some(t) => self.may_alter(t),
                None => Ok(()),
            },
            StatementKind::CreateStatistics(s) => self.may_alter(&s.table),
            StatementKind::UpdateStatistics { table, .. } => self.may_alter(table),
            StatementKind::DropIndex { indexes, .. } => {
                indexes.iter().try_for_each(|(index, t)| {
                    self.may(t, &|| dropped("index", &format!("{}.{index}", t.display())))
                })
            }
            StatementKind::Drop { kind, names, .. } => {
                names.iter().try_for_each(|n| self.may_drop(*kind, n))
            }
            StatementKind::CreateDatabase(_) => match self.session.server_may("CRDB")? {
                true => Ok(()),
                false => Err(in_database("CREATE DATABASE", "master")),
            },
            StatementKind::AlterDatabase(s) => {
                let name = s
                    .name
                    .clone()
                    .unwrap_or_else(|| self.session.database.to_string());
                match self.owns(&name)? || self.session.server_may("ALDB")? {
                    true => Ok(()),
                    false => Err(SqlError::new(&messages::ALTER_DATABASE_NO_ACCESS, &[&name])),
                }
            }
            StatementKind::DropDatabase { names, .. } => {
                for n in names {
                    if !self.owns(n)? && !self.session.server_may("ALDB")? {
                        return Err(dropped("database", n));
                    }
                }
                Ok(())
            }
            StatementKind::AlterDatabaseScopedConfiguration(_) => {
                let name = self.session.database.to_string();
                match self.owns(&name)? {
                    true => Ok(()),
                    false => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[])),
                }
            }
            StatementKind::Checkpoint(_) => {
                let name = self.session.database.to_string();
                match self.owns(&name)? {
                    true => Ok(()),
                    false => Err(SqlError::new(&messages::CHECKPOINT_PERMISSION, &[&name])),
                }
            }
            StatementKind::Kill { .. } => match self.session.server_may("ALCN")? {
                true => Ok(()),
                false => Err(SqlError::new(&messages::KILL_PERMISSION, &[])),
            },
            StatementKind::Dbcc(s) => {
                // INPUTBUFFER asks for itself.
                let free = ["INPUTBUFFER", "USEROPTIONS", "TRACESTATUS"].contains(&s.name.as_str());
                let of_sysadmin = [
                    "DBINFO",
                    "DROPCLEANBUFFERS",
                    "FLUSHPROCINDB",
                    "FREEPROCCACHE",
                    "FREESYSTEMCACHE",
                    "IND",
                    "PAGE",
                    "TRACEON",
                    "TRACEOFF",
                ]
                .contains(&s.name.as_str());
                let name = self.session.database.to_string();
                match free || !of_sysadmin && self.owns(&name)? {
                    true => Ok(()),
                    false => {
                        let args: [&dyn Display; 2] = [&self.session.who.name, &s.name];
                        Err(SqlError::new(&messages::DBCC_PERMISSION_DENIED, &args))
                    }
                }
            }
            // These ask where they know more: on whom, or where their rows go.
            StatementKind::Principal(_)
            | StatementKind::Permission(_)
            | StatementKind::Backup(_)
            | StatementKind::Restore(_)
            | StatementKind::DeclareTable { .. }
            | StatementKind::Declare(_)
            | StatementKind::Exec(_)
            | StatementKind::Use(_) => Ok(()),
            // These ask for themselves.
            StatementKind::AlterAuthorization { .. }
            | StatementKind::Shutdown { .. }
            | StatementKind::Reconfigure { .. } => Ok(()),
            // ALTER ANY EVENT SESSION is of CONTROL SERVER's here.
            StatementKind::CreateEventSession(_)
            | StatementKind::AlterEventSession(_)
            | StatementKind::DropEventSession { .. } => match self.session.who.sysadmin {
                true => Ok(()),
                false => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[])),
            },
            // Nothing runs these yet: the error that says so is everybody's.
            StatementKind::Merge(_)
            | StatementKind::CreateSequence(_)
            | StatementKind::DeclareCursor(_)
            | StatementKind::Cursor(_)
            | StatementKind::ExecuteAs { .. }
            | StatementKind::Revert => Ok(()),
            // A session's own variables, options, flow and transactions.
            StatementKind::SetVariable { .. }
            | StatementKind::SetOption(_)
            | StatementKind::If { .. }
            | StatementKind::While { .. }
            | StatementKind::Block(_)
            | StatementKind::TryCatch { .. }
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(_)
            | StatementKind::Goto(_)
            | StatementKind::Label(_)
            | StatementKind::Print(_)
            | StatementKind::RaiseError(_)
            | StatementKind::Throw(_)
            | StatementKind::WaitFor { .. }
            | StatementKind::BeginTran { .. }
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. }
            | StatementKind::SaveTran { .. } => Ok(()),
        }
    }

    fn owns(&self, database: &str) -> SqlResult<bool> {
        match self.session.instance.databases.find(database) {
            Some(db) => self.session.owns(&db),
            None => Ok(false),
        }
    }

    /// What a statement changes. A name that is no object's may be a common table expression: what it stands for is
    /// known when the statement is bound, and asked then.
    fn may_write(
        &mut self,
        target: &ast::Target,
        from: &[ast::TableSource],
        ctes: &[ast::Cte],
        asked: &'static str,
    ) -> SqlResult<()> {
        let Some(name) = named(target) else {
            return Ok(());
        };
        let alias = match name.parts.len() {
            1 => aliased(from, name.name()),
            _ => None,
        };
        let name = alias.unwrap_or(name);
        let cte = ctes
            .iter()
            .any(|c| c.name.eq_ignore_ascii_case(name.name()));
        if cte || self.object(name)?.is_none() {
            self.session.state.write_to_ask = Some(asked);
            return Ok(());
        }
        self.session.require_on(name, asked)
    }

    /// 262 unless objects of that kind may be made, 2760 unless it may be in that schema.
    fn may_create(&self, code: &str, what: &str, name: Option<&ast::ObjectName>) -> SqlResult<()> {
        if name.is_some_and(temp::is_temporary) {
            return Ok(());
        }
        let database = name
            .and_then(|n| n.database())
            .unwrap_or(&self.session.database);
        let Some(db) = self.session.instance.databases.find(database) else {
            return Ok(());
        };
        self.session.may_enter(&db)?;
        if !self.session.may(&db, code, On::Database)? {
            return Err(in_database(what, &db.db.name));
        }
        let Some(name) = name else { return Ok(()) };
        let shown = name.schema().unwrap_or("dbo");
        let snapshot = db.catalog.snapshot()?;
        let Some(schema) = snapshot.schema(shown) else {
            return Ok(());
        };
        match self.session.may(&db, "AL", On::Schema(schema.id))? {
            true => Ok(()),
            false => Err(SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&shown])),
        }
    }

    fn may_define(&self, s: &ast::CreateModule) -> SqlResult<()> {
        let (code, what, kind) = match &s.kind {
            ModuleKind::View { .. } => ("CRVW", "CREATE VIEW", "view"),
            ModuleKind::Procedure { .. } => ("CRPR", "CREATE PROCEDURE", "procedure"),
            ModuleKind::Trigger { .. } => {
                return self.may(&s.name, &|| {
                    super::principals::cannot("alter", "trigger", s.name.name())
                });
            }
            _ => ("CRFN", "CREATE FUNCTION", "function"),
        };
        if s.mode == ModuleMode::Create || self.object(&s.name)?.is_none() {
            return self.may_create(code, what, Some(&s.name));
        }
        self.may(&s.name, &|| {
            super::principals::cannot("alter", kind, s.name.name())
        })
    }

    pub(super) fn may_alter(&self, name: &ast::ObjectName) -> SqlResult<()> {
        self.may(name, &|| {
            SqlError::new(&messages::OBJECT_NOT_FOUND, &[&name.display()])
        })
    }

    fn may_drop(&self, kind: DropKind, name: &ast::ObjectName) -> SqlResult<()> {
        let what = match kind {
            DropKind::Login | DropKind::User | DropKind::Role => return Ok(()),
            DropKind::Statistics => {
                let mut table = name.clone();
                table.parts.pop();
                return self.may(&table, &|| dropped("statistics", &name.display()));
            }
            DropKind::Schema => {
                let name = name.name();
                let Some(db) = self.session.instance.databases.find(&self.session.database) else {
                    return Ok(());
                };
                let snapshot = db.catalog.snapshot()?;
                let schema = snapshot.schema(name).map(|s| On::Schema(s.id));
                return match self
                    .session
                    .may(&db, "CL", schema.unwrap_or(On::Database))?
                {
                    true => Ok(()),
                    false => Err(super::principals::cannot("drop", "schema", name)),
                };
            }
            DropKind::Type => {
                let schema = ast::ObjectName {
                    parts: vec![name.schema().unwrap_or("dbo").to_owned()],
                    line: name.line,
                };
                return self.may_drop_in(&schema, &|| dropped("type", &name.display()));
            }
            DropKind::Table => "table",
            DropKind::View => "view",
            DropKind::Procedure => "procedure",
            DropKind::Function => "function",
            DropKind::Trigger => "trigger",
            DropKind::Sequence => "sequence object",
            DropKind::Synonym => "synonym",
            DropKind::Default => "default",
            DropKind::Rule => "rule",
        };
        self.may(name, &|| dropped(what, &name.display()))
    }

    fn may_drop_in(&self, schema: &ast::ObjectName, refused: Refusal<'_>) -> SqlResult<()> {
        let Some(db) = self.session.instance.databases.find(&self.session.database) else {
            return Ok(());
        };
        let snapshot = db.catalog.snapshot()?;
        let found = snapshot.schema(schema.name()).map(|s| On::Schema(s.id));
        match self.session.may(&db, "AL", found.unwrap_or(On::Database))? {
            true => Ok(()),
            false => Err(refused()),
        }
    }

    /// ALTER on an object; where there is none, on its database: nobody learns which of the two is missing.
    fn may(&self, name: &ast::ObjectName, refused: Refusal<'_>) -> SqlResult<()> {
        if temp::is_temporary(name) {
            return Ok(());
        }
        let database = name.database().unwrap_or(&self.session.database);
        let Some(db) = self.session.instance.databases.find(database) else {
            return Ok(());
        };
        self.session.may_enter(&db)?;
        let on = self.object_in(&db, name)?.unwrap_or(On::Database);
        match self.session.may(&db, "AL", on)? {
            true => Ok(()),
            false => Err(refused()),
        }
    }

    fn object(&self, name: &ast::ObjectName) -> SqlResult<Option<On>> {
        let database = name.database().unwrap_or(&self.session.database);
        match self.session.instance.databases.find(database) {
            Some(db) => self.object_in(&db, name),
            None => Ok(None),
        }
    }

    fn object_in(&self, db: &OpenDb, name: &ast::ObjectName) -> SqlResult<Option<On>> {
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let found = schema.and_then(|s| snapshot.find(s.id, name.name()));
        Ok(found
            .filter(|o| o.schema != SCHEMA_SYS)
            .map(|o| On::Object {
                id: o.id.0,
                schema: o.schema,
            }))
    }
}

/// The name of a target that is a table or view.
fn named(target: &ast::Target) -> Option<&ast::ObjectName> {
    match &target.kind {
        ast::TargetKind::Table(name) => Some(name),
        ast::TargetKind::Variable(_) => None,
    }
}

/// The table that an alias of FROM stands for.
fn aliased<'a>(from: &'a [ast::TableSource], alias: &str) -> Option<&'a ast::ObjectName> {
    from.iter().find_map(|source| match source {
        ast::TableSource::Table(t) => {
            let own = t.alias.as_deref().unwrap_or(t.name.name());
            own.eq_ignore_ascii_case(alias).then_some(&t.name)
        }
        ast::TableSource::Join(j) => aliased(std::slice::from_ref(&j.left), alias)
            .or_else(|| aliased(std::slice::from_ref(&j.right), alias)),
        _ => None,
    })
}

fn in_database(what: &str, database: &str) -> SqlError {
    let args: [&dyn Display; 2] = [&what, &database];
    SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args)
}

fn dropped(what: &str, name: &str) -> SqlError {
    let args: [&dyn Display; 3] = [&"drop", &what, &name];
    SqlError::new(&messages::CANNOT_DROP, &args)
}
