//! CREATE DATABASE, ALTER DATABASE, scoped configuration.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

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
            database.options = self.list(Self::setting_of_new_database)?;
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
