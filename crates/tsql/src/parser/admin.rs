//! DBCC, KILL, CHECKPOINT, RECONFIGURE, BACKUP and RESTORE, event sessions.

use duramen_base::SqlResult;

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
                    seconds = Some(self.expr()?);
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
            "BULK" | "READTEXT" | "WRITETEXT" | "UPDATETEXT" | "SETUSER" | "LINENO" => {
                Err(self.not_supported(&self.text(0).to_ascii_uppercase()))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn kill(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("KILL")?;
        if self.is_any(&["QUERY", "STATS"]) {
            return Err(self.not_supported("KILL of anything but a session"));
        }
        let session = self.expr()?;
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
            () => return Err(self.unexpected()),
        };
        let database = self.name_or_variable()?;
        let parts = self.backup_parts()?;
        let mut devices = Vec::new();
        if self.eat_word("TO") {
            devices = self.list(Self::backup_device)?;
        }
        if self.is_word("MIRROR") {
            return Err(self.not_supported("MIRROR TO"));
        }
        let mut options = Vec::new();
        if self.eat_word("WITH") {
            options = self.list(Self::backup_option)?;
        }
        let backup = Backup {
            log,
            database,
            devices,
            options,
            parts,
        };
        Ok(StatementKind::Backup(Box::new(backup)))
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
            let target = match self.kind() {
                Tok::Variable => OptionValue::Variable(self.variable()?),
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
        self.named_option()
    }

    fn restore(&mut self) -> SqlResult<StatementKind> {
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

    // ---- event sessions ----

    /// After `CREATE EVENT SESSION`.
    pub(super) fn create_event_session(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        let on_server = self.event_scope()?;
        let (mut events, mut targets) = (Vec::new(), Vec::new());
        while self.is_word("ADD") {
            self.event_addition(&mut events, &mut targets)?;
            self.eat_op(',');
        }
        let options = self.with_event_options()?;
        let session = EventSession {
            name,
            on_server,
            events,
            targets,
            options,
        };
        Ok(StatementKind::CreateEventSession(Box::new(session)))
    }

    fn event_scope(&mut self) -> SqlResult<bool> {
        self.expect_word("ON")?;
        if self.eat_word("SERVER") {
            return Ok(true);
        }
        self.expect_word("DATABASE")?;
        Ok(false)
    }

    fn event_addition(
        &mut self,
        events: &mut Vec<EventSpec>,
        targets: &mut Vec<EventTarget>,
    ) -> SqlResult<()> {
        self.expect_word("ADD")?;
        if self.eat_word("EVENT") {
            events.push(self.event_spec()?);
            return Ok(());
        }
        self.expect_word("TARGET")?;
        let name = self.object_name()?;
        let mut fields = Vec::new();
        if self.eat_op('(') {
            fields = self.event_fields()?;
            self.expect_op(')')?;
        }
        targets.push(EventTarget { name, fields });
        Ok(())
    }

    fn event_fields(&mut self) -> SqlResult<Vec<NamedOption>> {
        self.expect_word("SET")?;
        self.list(|p| {
            let line = p.line();
            let name = p.name()?;
            p.expect_op('=')?;
            // Values may stand in parentheses.
            let value = match p.eat_op('(') {
                true => {
                    let value = p.option_value()?;
                    p.expect_op(')')?;
                    value
                }
                false => p.option_value()?,
            };
            Ok(NamedOption {
                name,
                value: Some(value),
                line,
            })
        })
    }

    fn event_spec(&mut self) -> SqlResult<EventSpec> {
        let name = self.object_name()?;
        let mut spec = EventSpec {
            name,
            fields: Vec::new(),
            actions: Vec::new(),
            predicate: None,
        };
        if !self.eat_op('(') {
            return Ok(spec);
        }
        if self.is_word("SET") {
            spec.fields = self.event_fields()?;
        }
        if self.eat_word("ACTION") {
            spec.actions = self.parenthesized(Self::object_name)?;
        }
        if self.eat_word("WHERE") {
            spec.predicate = Some(self.condition()?);
        }
        self.expect_op(')')?;
        Ok(spec)
    }

    /// `WITH (MAX_MEMORY = 4 MB, MAX_DISPATCH_LATENCY = 30 SECONDS, ...)`.
    fn with_event_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        if !self.eat_word("WITH") {
            return Ok(Vec::new());
        }
        self.parenthesized(|p| {
            let option = p.named_option()?;
            p.eat_word("SECONDS");
            Ok(option)
        })
    }

    /// After `ALTER EVENT SESSION`.
    pub(super) fn alter_event_session(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        let on_server = self.event_scope()?;
        let action = if self.eat_word("STATE") {
            self.expect_op('=')?;
            match self.eat_word("START") {
                true => AlterEventAction::Start,
                false => self.expect_word("STOP").map(|()| AlterEventAction::Stop)?,
            }
        } else {
            self.event_changes()?
        };
        let alter = AlterEventSession {
            name,
            on_server,
            action,
        };
        Ok(StatementKind::AlterEventSession(Box::new(alter)))
    }

    fn event_changes(&mut self) -> SqlResult<AlterEventAction> {
        let (mut add_events, mut add_targets) = (Vec::new(), Vec::new());
        let (mut drop_events, mut drop_targets) = (Vec::new(), Vec::new());
        while self.is_any(&["ADD", "DROP"]) {
            if self.is_word("ADD") {
                self.event_addition(&mut add_events, &mut add_targets)?;
            } else if self.eat_words(&["DROP", "EVENT"]) {
                drop_events.push(self.object_name()?);
            } else {
                self.expect_words(&["DROP", "TARGET"])?;
                drop_targets.push(self.object_name()?);
            }
            self.eat_op(',');
        }
        let options = self.with_event_options()?;
        Ok(AlterEventAction::Change {
            add_events,
            drop_events,
            add_targets,
            drop_targets,
            options,
        })
    }
}
