//! DBCC, KILL, CHECKPOINT, RECONFIGURE, BACKUP and RESTORE.

use duramen_base::{SqlError, SqlResult};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn admin_statement(&mut self) -> SqlResult<StatementKind> {
        match self.text(0).to_ascii_uppercase().as_str() {
            "DBCC" => self.dbcc(),
            "BACKUP" | "DUMP" => self.backup(),
            "RESTORE" | "LOAD" => self.restore(),
            "CHECKPOINT" => {
                self.advance();
                let mut seconds = None;
                if matches!(self.kind(), Tok::Int(_) | Tok::Variable) {
                    seconds = Some(self.constant()?);
                }
                Ok(StatementKind::Checkpoint(seconds))
            }
            "SHUTDOWN" => {
                self.advance();
                let nowait = self.eat_words(&["WITH", "NOWAIT"]);
                Ok(StatementKind::Shutdown { nowait })
            }
            "KILL" => self.kill(),
            "RECONFIGURE" => {
                self.advance();
                let with_override = self.eat_words(&["WITH", "OVERRIDE"]);
                Ok(StatementKind::Reconfigure { with_override })
            }
            "LINENO" => self.line_number(),
            "BULK" | "READTEXT" | "WRITETEXT" | "UPDATETEXT" | "SETUSER" => {
                Err(self.not_supported(&self.text(0).to_ascii_uppercase()))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// LINENO, which generators of scripts write so that errors name the lines of what they were made of.
    fn line_number(&mut self) -> SqlResult<StatementKind> {
        let stands_on = self.at(0).line;
        self.expect_word("LINENO")?;
        let number = self.integer_u32()?;
        self.lines_ahead = i64::from(number) - i64::from(stands_on);
        Ok(StatementKind::LineNumber(number))
    }

    fn kill(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("KILL")?;
        if self.is_any(&["QUERY", "STATS"]) {
            return Err(self.not_supported("KILL of anything but a session"));
        }
        let session = self.signed_literal()?.ok_or_else(|| self.unexpected())?;
        let status_only = self.eat_words(&["WITH", "STATUSONLY"]);
        Ok(StatementKind::Kill {
            session,
            status_only,
        })
    }

    fn dbcc(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("DBCC")?;
        let name = self.name_or_word()?.to_ascii_uppercase();
        let mut args = Vec::new();
        if self.eat_op('(') {
            if !self.is_op(')') {
                args = self.list(Self::dbcc_arg)?;
            }
            self.expect_op(')')?;
        }
        let mut options = Vec::new();
        if self.eat_word("WITH") {
            options = self.bare_options()?;
        }
        Ok(StatementKind::Dbcc(Box::new(Dbcc {
            name,
            args,
            options,
        })))
    }

    fn dbcc_arg(&mut self) -> SqlResult<DbccArg> {
        match self.kind() {
            Tok::Word { .. } | Tok::Bracketed(_) if !self.is_word("NULL") => {}
            Tok::DoubleQuoted(_) if self.quoted_identifier => {}
            _ => return self.expr().map(DbccArg::Value),
        }
        let mut word = self.name_or_word()?;
        while self.eat_op('.') {
            word.push('.');
            if !self.is_op('.') {
                word.push_str(&self.name_or_word()?);
            }
        }
        Ok(DbccArg::Word(word))
    }

    // ---- BACKUP and RESTORE ----

    fn name_or_variable(&mut self) -> SqlResult<NameOrVariable> {
        match self.kind() {
            Tok::Variable => self.variable().map(NameOrVariable::Variable),
            _ => self.name().map(NameOrVariable::Name),
        }
    }

    fn backup(&mut self) -> SqlResult<StatementKind> {
        self.advance();
        let log = match () {
            () if self.eat_word("DATABASE") => false,
            () if self.eat_word("LOG") || self.eat_word("TRAN") || self.eat_word("TRANSACTION") => {
                true
            }
            () => return Err(self.other_backup()),
        };
        let database = self.name_or_variable()?;
        let parts = self.backup_parts()?;
        self.expect_word("TO")?;
        let devices = self.list(Self::backup_device)?;
        let mut mirrors = Vec::new();
        while self.eat_word("MIRROR") {
            self.expect_word("TO")?;
            mirrors.push(self.list(Self::backup_device)?);
        }
        let mut options = Vec::new();
        if self.eat_word("WITH") {
            options = self.list(Self::backup_option)?;
        }
        let backup = Backup {
            log,
            database,
            devices,
            mirrors,
            options,
            parts,
        };
        Ok(StatementKind::Backup(Box::new(backup)))
    }

    /// BACKUP of what is no database: keys and certificates, and snapshots of many databases.
    fn other_backup(&self) -> SqlError {
        let words = [
            "CERTIFICATE",
            "GROUP",
            "MASTER",
            "SERVER",
            "SERVICE",
            "SYMMETRIC",
        ];
        match words.into_iter().find(|w| self.is_word(w)) {
            Some(word) => self.not_supported(&format!("BACKUP {word}")),
            None => self.unexpected(),
        }
    }

    /// `FILE = x, FILEGROUP = y, READ_WRITE_FILEGROUPS` between the database and TO.
    fn backup_parts(&mut self) -> SqlResult<Vec<NamedOption>> {
        match self.is_any(&["FILE", "FILEGROUP", "READ_WRITE_FILEGROUPS", "PAGE"]) {
            true => self.bare_options(),
            false => Ok(Vec::new()),
        }
    }

    fn backup_device(&mut self) -> SqlResult<BackupDevice> {
        if self.is_op_at(1, '=') {
            let kind = Some(self.name_or_word()?.to_ascii_uppercase());
            self.advance();
            let of_snapshot = kind.as_deref() == Some("DATABASE_SNAPSHOT");
            let target = match self.kind() {
                Tok::Variable => OptionValue::Variable(self.variable()?),
                _ if of_snapshot && self.is_name_at(0) => OptionValue::Word(self.name()?),
                _ => OptionValue::String(self.string()?),
            };
            return Ok(BackupDevice { kind, target });
        }
        let target = match self.kind() {
            Tok::Variable => OptionValue::Variable(self.variable()?),
            _ => OptionValue::Word(self.name()?),
        };
        Ok(BackupDevice { kind: None, target })
    }

    fn backup_option(&mut self) -> SqlResult<NamedOption> {
        if !self.is_word("ENCRYPTION") || !self.is_op_at(1, '(') {
            return self.named_option();
        }
        let (name, line) = (self.name_or_word()?.to_ascii_uppercase(), self.line());
        let list = self.parenthesized(Self::encryption_option)?;
        let value = Some(OptionValue::List(list));
        Ok(NamedOption { name, value, line })
    }

    /// `ALGORITHM = AES_256`, `SERVER CERTIFICATE = c`, `SERVER ASYMMETRIC KEY = k`.
    fn encryption_option(&mut self) -> SqlResult<NamedOption> {
        let line = self.line();
        let mut name = self.name_or_word()?.to_ascii_uppercase();
        while !self.is_op('=') {
            name = format!("{name} {}", self.name_or_word()?.to_ascii_uppercase());
        }
        self.advance();
        let value = Some(self.option_value()?);
        Ok(NamedOption { name, value, line })
    }

    fn restore(&mut self) -> SqlResult<StatementKind> {
        self.check_statement()?;
        self.advance();
        let kind = match () {
            () if self.eat_word("DATABASE") => RestoreKind::Database,
            () if self.eat_word("LOG") || self.eat_word("TRAN") || self.eat_word("TRANSACTION") => {
                RestoreKind::Log
            }
            () if self.eat_word("HEADERONLY") => RestoreKind::HeaderOnly,
            () if self.eat_word("FILELISTONLY") => RestoreKind::FileListOnly,
            () if self.eat_word("VERIFYONLY") => RestoreKind::VerifyOnly,
            () if self.eat_word("LABELONLY") => RestoreKind::LabelOnly,
            () if self.eat_word("REWINDONLY") => RestoreKind::RewindOnly,
            () => return Err(self.unexpected()),
        };
        let mut database = None;
        let mut parts = Vec::new();
        if matches!(kind, RestoreKind::Database | RestoreKind::Log) {
            database = Some(self.name_or_variable()?);
            parts = self.backup_parts()?;
        }
        let mut devices = Vec::new();
        if self.eat_word("FROM") {
            devices = self.list(Self::backup_device)?;
        }
        let (mut moves, mut options) = (Vec::new(), Vec::new());
        if self.eat_word("WITH") {
            self.list(|p| {
                if p.eat_word("MOVE") {
                    let from = p.option_value()?;
                    p.expect_word("TO")?;
                    moves.push((from, p.option_value()?));
                } else {
                    options.push(p.named_option()?);
                    // `STOPATMARK = 'm' AFTER '2026-11-22'`
                    if p.is_word("AFTER") {
                        let (name, line) = ("AFTER".to_owned(), p.line());
                        p.advance();
                        let value = Some(p.option_value()?);
                        options.push(NamedOption { name, value, line });
                    }
                }
                Ok(())
            })?;
        }
        let restore = Restore {
            kind,
            database,
            devices,
            moves,
            options,
            parts,
        };
        Ok(StatementKind::Restore(Box::new(restore)))
    }
}
