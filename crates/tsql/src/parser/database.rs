//! CREATE DATABASE, ALTER DATABASE, scoped configuration.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// Settings of ALTER DATABASE SET whose value follows without `=`.
const BARE_VALUE_SETTINGS: &[&str] = &[
    "ALLOW_SNAPSHOT_ISOLATION",
    "ANSI_NULLS",
    "ANSI_NULL_DEFAULT",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "CURSOR_DEFAULT",
    "DATE_CORRELATION_OPTIMIZATION",
    "DB_CHAINING",
    "ENCRYPTION",
    "HONOR_BROKER_PRIORITY",
    "NUMERIC_ROUNDABORT",
    "PAGE_VERIFY",
    "PARAMETERIZATION",
    "PARTNER",
    "QUOTED_IDENTIFIER",
    "READ_COMMITTED_SNAPSHOT",
    "RECOVERY",
    "RECURSIVE_TRIGGERS",
    "TEMPORAL_HISTORY_RETENTION",
    "TORN_PAGE_DETECTION",
    "TRUSTWORTHY",
    "VARDECIMAL_STORAGE_FORMAT",
    "WITNESS",
];

impl Parser<'_> {
    pub(super) fn create_database(&mut self) -> SqlResult<StatementKind> {
        let line = self.line();
        let pairs = [
            ["AUDIT", "SPECIFICATION"],
            ["SCOPED", "CREDENTIAL"],
            ["ENCRYPTION", "KEY"],
        ];
        if pairs.iter().any(|pair| self.is_words(pair)) {
            return Err(self.not_supported(&format!(
                "CREATE DATABASE {}",
                self.text(0).to_ascii_uppercase()
            )));
        }
        let mut database = CreateDatabase {
            name: self.name()?,
            filegroups: Vec::new(),
            log_files: Vec::new(),
            collation: None,
            options: Vec::new(),
            for_attach: None,
            line,
        };
        if self.eat_words(&["CONTAINMENT"]) {
            self.expect_op('=')?;
            if !self.eat_word("NONE") {
                return Err(self.not_supported("CONTAINMENT = PARTIAL"));
            }
        }
        if self.eat_word("ON") {
            self.eat_word("PRIMARY");
            self.data_files(&mut database)?;
        }
        if self.eat_words(&["LOG", "ON"]) {
            database.log_files = self.list(Self::file_spec)?;
        }
        if self.eat_word("COLLATE") {
            database.collation = Some(self.name()?);
        }
        if self.eat_word("FOR") {
            database.for_attach = Some(match self.eat_word("ATTACH") {
                true => Attach::Attach,
                false => self
                    .expect_word("ATTACH_REBUILD_LOG")
                    .map(|()| Attach::RebuildLog)?,
            });
        }
        if self.is_words(&["AS", "SNAPSHOT", "OF"]) {
            return Err(self.not_supported("AS SNAPSHOT OF"));
        }
        if self.eat_word("WITH") {
            database.options = self.list(Self::database_setting)?;
        }
        Ok(StatementKind::CreateDatabase(Box::new(database)))
    }

    /// Files of PRIMARY, then `FILEGROUP name [DEFAULT] files`.
    fn data_files(&mut self, database: &mut CreateDatabase) -> SqlResult<()> {
        let mut group = FilegroupSpec {
            name: None,
            default: false,
            files: Vec::new(),
        };
        loop {
            if self.eat_word("FILEGROUP") {
                let name = Some(self.name()?);
                if self.is_word("CONTAINS") {
                    return Err(
                        self.not_supported("filegroups of FILESTREAM or memory-optimized data")
                    );
                }
                let default = self.eat_word("DEFAULT");
                let next = FilegroupSpec {
                    name,
                    default,
                    files: Vec::new(),
                };
                database
                    .filegroups
                    .push(std::mem::replace(&mut group, next));
            }
            group.files.push(self.file_spec()?);
            if !self.eat_op(',') {
                break;
            }
        }
        database.filegroups.push(group);
        Ok(())
    }

    /// `(NAME = x, FILENAME = '...', ...)`.
    fn file_spec(&mut self) -> SqlResult<FileSpec> {
        let mut file = FileSpec {
            line: self.line(),
            ..FileSpec::default()
        };
        self.expect_op('(')?;
        self.list(|p| p.file_property(&mut file))?;
        self.expect_op(')')?;
        Ok(file)
    }

    fn file_property(&mut self, file: &mut FileSpec) -> SqlResult<()> {
        if self.eat_word("OFFLINE") {
            file.offline = true;
            return Ok(());
        }
        let property = self.text(0).to_ascii_uppercase();
        if !self.is_any(&[
            "NAME",
            "NEWNAME",
            "FILENAME",
            "SIZE",
            "MAXSIZE",
            "FILEGROWTH",
        ]) {
            return Err(self.unexpected());
        }
        self.advance();
        self.expect_op('=')?;
        match property.as_str() {
            "NAME" => file.name = Some(self.name_or_string()?),
            "NEWNAME" => file.new_name = Some(self.name_or_string()?),
            "FILENAME" => file.filename = Some(self.string()?.value),
            "SIZE" => file.size = Some(self.size()?),
            "MAXSIZE" => file.max_size = Some(self.size()?),
            _ => file.growth = Some(self.size()?),
        }
        Ok(())
    }

    pub(super) fn alter_database(&mut self) -> SqlResult<StatementKind> {
        if self.is_words(&["SCOPED", "CONFIGURATION"]) {
            return self.scoped_configuration();
        }
        if self.is_any(&["AUDIT", "ENCRYPTION"]) && !self.is_word_at(1, "SET") {
            return Err(self.not_supported(&format!(
                "ALTER DATABASE {}",
                self.text(0).to_ascii_uppercase()
            )));
        }
        let name = match self.eat_word("CURRENT") {
            true => None,
            false => Some(self.name()?),
        };
        let action = self.alter_database_action()?;
        Ok(StatementKind::AlterDatabase(Box::new(AlterDatabase {
            name,
            action,
        })))
    }

    fn alter_database_action(&mut self) -> SqlResult<AlterDatabaseAction> {
        if self.eat_word("SET") {
            return self.database_settings();
        }
        if self.eat_word("COLLATE") {
            return self.name().map(AlterDatabaseAction::Collate);
        }
        if self.eat_word("ADD") {
            return self.add_to_database();
        }
        if self.eat_words(&["REMOVE", "FILE"]) {
            return self.name_or_string().map(AlterDatabaseAction::RemoveFile);
        }
        if self.eat_words(&["REMOVE", "FILEGROUP"]) {
            return self.name().map(AlterDatabaseAction::RemoveFilegroup);
        }
        self.expect_word("MODIFY")?;
        if self.eat_word("NAME") {
            self.expect_op('=')?;
            return self.name().map(AlterDatabaseAction::ModifyName);
        }
        if self.eat_word("FILE") {
            return self.file_spec().map(AlterDatabaseAction::ModifyFile);
        }
        if self.eat_word("FILEGROUP") {
            let name = self.filegroup_name()?;
            let option = self.named_option()?;
            return Ok(AlterDatabaseAction::ModifyFilegroup { name, option });
        }
        Err(self.unexpected())
    }

    fn add_to_database(&mut self) -> SqlResult<AlterDatabaseAction> {
        if self.eat_words(&["LOG", "FILE"]) {
            return self
                .list(Self::file_spec)
                .map(AlterDatabaseAction::AddLogFiles);
        }
        if self.eat_word("FILEGROUP") {
            let name = self.name()?;
            if self.is_word("CONTAINS") {
                return Err(self.not_supported("filegroups of FILESTREAM or memory-optimized data"));
            }
            return Ok(AlterDatabaseAction::AddFilegroup(name));
        }
        self.expect_word("FILE")?;
        let files = self.list(Self::file_spec)?;
        let mut filegroup = None;
        if self.eat_words(&["TO", "FILEGROUP"]) {
            filegroup = Some(self.filegroup_name()?);
        }
        Ok(AlterDatabaseAction::AddFiles { files, filegroup })
    }

    fn database_settings(&mut self) -> SqlResult<AlterDatabaseAction> {
        let options = self.list(Self::database_setting)?;
        let mut termination = None;
        if self.eat_word("WITH") {
            termination = Some(self.termination()?);
        }
        Ok(AlterDatabaseAction::Set {
            options,
            termination,
        })
    }

    fn database_setting(&mut self) -> SqlResult<NamedOption> {
        let bare = self.is_any(BARE_VALUE_SETTINGS);
        let mut option = self.named_option()?;
        if bare && option.value.is_none() {
            option.value = Some(self.option_value()?);
            self.statistics_detail(&option.name)?;
        } else if matches!(option.value, Some(OptionValue::Int(_)))
            && self.is_any(&["SECONDS", "MINUTES", "HOURS", "DAYS"])
        {
            // `TARGET_RECOVERY_TIME = 60 SECONDS`.
            let unit = self.name()?.to_ascii_uppercase();
            option.value = match option.value {
                Some(OptionValue::Int(n)) if unit == "MINUTES" => {
                    let seconds = n.checked_mul(60);
                    let error = || self.error(&messages::INTEGER_OUT_OF_RANGE);
                    Some(OptionValue::Int(seconds.ok_or_else(error)?))
                }
                other => other,
            };
        }
        Ok(option)
    }

    /// `AUTO_CREATE_STATISTICS ON (INCREMENTAL = OFF)`: what is so anyway.
    fn statistics_detail(&mut self, option: &str) -> SqlResult<()> {
        if option != "AUTO_CREATE_STATISTICS" || !self.eat_op('(') {
            return Ok(());
        }
        let detail = self.named_option()?;
        let off = detail.value.as_ref().and_then(OptionValue::as_on_off) == Some(false);
        if detail.name != "INCREMENTAL" || !off {
            return Err(self.not_supported(&format!("AUTO_CREATE_STATISTICS ({})", detail.name)));
        }
        self.expect_op(')')
    }

    fn termination(&mut self) -> SqlResult<Termination> {
        if self.eat_word("NO_WAIT") {
            return Ok(Termination::NoWait);
        }
        self.expect_word("ROLLBACK")?;
        if self.eat_word("IMMEDIATE") {
            return Ok(Termination::RollbackImmediate);
        }
        self.expect_word("AFTER")?;
        let seconds = self.integer_u32()?;
        self.eat_word("SECONDS");
        Ok(Termination::RollbackAfter(seconds))
    }

    fn scoped_configuration(&mut self) -> SqlResult<StatementKind> {
        self.expect_words(&["SCOPED", "CONFIGURATION"])?;
        let for_secondary = self.eat_words(&["FOR", "SECONDARY"]);
        let clear = self.eat_word("CLEAR");
        if !clear {
            self.expect_word("SET")?;
        }
        let mut option = self.named_option()?;
        if clear && matches!(self.kind(), Tok::Binary(_)) {
            option.value = Some(self.option_value()?);
        }
        if !clear && option.value.is_none() {
            return Err(self.unexpected());
        }
        let configuration = ScopedConfiguration {
            clear,
            option,
            for_secondary,
        };
        Ok(StatementKind::AlterDatabaseScopedConfiguration(
            configuration,
        ))
    }
}
