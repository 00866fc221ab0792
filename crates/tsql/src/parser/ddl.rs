//! CREATE, ALTER, DROP: which kind, and the small ones (indexes, statistics, sequences, types, synonyms, schemas).

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    /// `first`: whether this opens the batch, as definitions of modules must.
    pub(super) fn definition(&mut self, first: bool) -> SqlResult<StatementKind> {
        if self.eat_word("TRUNCATE") {
            self.expect_word("TABLE")?;
            let table = self.object_name()?;
            let partitions = self.truncated_partitions()?;
            return Ok(StatementKind::TruncateTable { table, partitions });
        }
        if self.is_word("DROP") {
            self.check_statement()?;
            self.advance();
            return self.drop();
        }
        let alter = self.is_word("ALTER");
        self.advance();
        let mut mode = match alter {
            true => ModuleMode::Alter,
            false => ModuleMode::Create,
        };
        if !alter && self.eat_words(&["OR", "ALTER"]) {
            mode = ModuleMode::CreateOrAlter;
        }
        if self.is_any(&["PROC", "PROCEDURE", "VIEW", "FUNCTION", "TRIGGER"]) {
            if !first {
                return Err(self.must_be_first(alter));
            }
            return self.module(mode);
        }
        match alter {
            true => self.alter(),
            false => self.create(first),
        }
    }

    fn must_be_first(&self, alter: bool) -> duramen_base::SqlError {
        let verb = match alter {
            true => "ALTER",
            false => "CREATE",
        };
        let what = match self.text(0).to_ascii_uppercase().as_str() {
            // Both verbs are named since CREATE OR ALTER is there.
            "PROC" | "PROCEDURE" => "CREATE/ALTER PROCEDURE".to_string(),
            other => format!("{verb} {other}"),
        };
        self.raise(&messages::MUST_BE_FIRST_IN_BATCH, &[&what])
    }

    fn create(&mut self, first: bool) -> SqlResult<StatementKind> {
        if self.is_any(&[
            "UNIQUE",
            "CLUSTERED",
            "NONCLUSTERED",
            "COLUMNSTORE",
            "INDEX",
        ]) {
            return self.create_index();
        }
        match self.text(0).to_ascii_uppercase().as_str() {
            "TABLE" => {
                self.advance();
                self.create_table()
            }
            "DATABASE" => {
                self.advance();
                self.create_database()
            }
            "SCHEMA" => {
                if !first {
                    return Err(self.must_be_first(false));
                }
                self.advance();
                self.create_schema()
            }
            "STATISTICS" => {
                self.advance();
                self.create_statistics()
            }
            "SEQUENCE" => {
                self.advance();
                self.sequence(false)
            }
            "TYPE" => {
                self.advance();
                self.create_type()
            }
            "SYNONYM" => {
                self.advance();
                let name = self.object_name()?;
                self.expect_word("FOR")?;
                let target = self.dotted_name(4, "object")?;
                Ok(StatementKind::CreateSynonym { name, target })
            }
            "EVENT" if self.is_word_at(1, "NOTIFICATION") => {
                Err(self.not_supported("CREATE EVENT NOTIFICATION"))
            }
            "EVENT" => {
                self.expect_words(&["EVENT", "SESSION"])?;
                self.create_event_session()
            }
            "PARTITION" => self.create_partition(),
            "LOGIN" | "USER" | "ROLE" => self.principal(false),
            "SERVER" if self.is_word_at(1, "ROLE") => self.principal(false),
            _ => self.refuse("CREATE"),
        }
    }

    /// A known-looking but unsupported object is refused by name; anything else is a syntax error.
    fn refuse(&self, verb: &str) -> SqlResult<StatementKind> {
        const KNOWN: &[&str] = &[
            "AGGREGATE",
            "APPLICATION",
            "ASSEMBLY",
            "ASYMMETRIC",
            "AVAILABILITY",
            "BROKER",
            "CERTIFICATE",
            "COLUMN",
            "CONTRACT",
            "CREDENTIAL",
            "CRYPTOGRAPHIC",
            "DEFAULT",
            "ENDPOINT",
            "EXTERNAL",
            "FULLTEXT",
            "MASTER",
            "MESSAGE",
            "PRIMARY",
            "QUEUE",
            "REMOTE",
            "RESOURCE",
            "ROUTE",
            "RULE",
            "SEARCH",
            "SECURITY",
            "SELECTIVE",
            "SERVER",
            "SERVICE",
            "SPATIAL",
            "SYMMETRIC",
            "WORKLOAD",
            "XML",
        ];
        match self.is_any(KNOWN) {
            true => {
                Err(self.not_supported(&format!("{verb} {}", self.text(0).to_ascii_uppercase())))
            }
            false => Err(self.unexpected()),
        }
    }

    fn alter(&mut self) -> SqlResult<StatementKind> {
        match self.text(0).to_ascii_uppercase().as_str() {
            "TABLE" => {
                self.advance();
                self.alter_table()
            }
            "DATABASE" => {
                self.advance();
                self.alter_database()
            }
            "INDEX" => {
                self.advance();
                self.alter_index()
            }
            "SEQUENCE" => {
                self.advance();
                self.sequence(true)
            }
            "EVENT" => {
                self.expect_words(&["EVENT", "SESSION"])?;
                self.alter_event_session()
            }
            "PARTITION" => self.alter_partition(),
            "LOGIN" | "USER" | "ROLE" => self.principal(true),
            "SERVER" if self.is_word_at(1, "ROLE") => self.principal(true),
            "SCHEMA" => {
                self.advance();
                let schema = self.name()?;
                self.expect_word("TRANSFER")?;
                let (class, name) = self.securable()?;
                Ok(StatementKind::AlterSchema {
                    schema,
                    class,
                    name,
                })
            }
            "AUTHORIZATION" => {
                self.advance();
                self.expect_word("ON")?;
                let (class, name) = self.securable()?;
                self.expect_word("TO")?;
                let to = match self.eat_words(&["SCHEMA", "OWNER"]) {
                    true => None,
                    false => Some(self.name()?),
                };
                Ok(StatementKind::AlterAuthorization { class, name, to })
            }
            _ => self.refuse("ALTER"),
        }
    }

    fn drop(&mut self) -> SqlResult<StatementKind> {
        let kind = match self.text(0).to_ascii_uppercase().as_str() {
            "TABLE" => DropKind::Table,
            "VIEW" => DropKind::View,
            "PROC" | "PROCEDURE" => DropKind::Procedure,
            "FUNCTION" => DropKind::Function,
            "TRIGGER" => DropKind::Trigger,
            "SCHEMA" => DropKind::Schema,
            "SEQUENCE" => DropKind::Sequence,
            "SYNONYM" => DropKind::Synonym,
            "TYPE" => DropKind::Type,
            "STATISTICS" => DropKind::Statistics,
            "LOGIN" => DropKind::Login,
            "USER" => DropKind::User,
            "ROLE" => DropKind::Role,
            "DEFAULT" => DropKind::Default,
            "RULE" => DropKind::Rule,
            "DATABASE" => {
                self.advance();
                let if_exists = self.eat_words(&["IF", "EXISTS"]);
                let names = self.list(Self::name)?;
                return Ok(StatementKind::DropDatabase { if_exists, names });
            }
            "INDEX" => {
                self.advance();
                return self.drop_index();
            }
            "PARTITION" => return self.drop_partition(),
            "EVENT" => {
                self.expect_words(&["EVENT", "SESSION"])?;
                let name = self.name()?;
                self.event_scope_of_drop()?;
                return Ok(StatementKind::DropEventSession { name });
            }
            _ => return self.refuse("DROP"),
        };
        self.advance();
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let names = match kind {
            DropKind::Statistics => self.list(|p| p.dotted_name(4, "object"))?,
            _ => self.list(Self::object_name)?,
        };
        if kind == DropKind::Trigger && self.is_word("ON") {
            return Err(self.not_supported("DDL and logon triggers"));
        }
        Ok(StatementKind::Drop {
            kind,
            if_exists,
            names,
        })
    }

    fn event_scope_of_drop(&mut self) -> SqlResult<()> {
        self.expect_word("ON")?;
        match self.eat_word("SERVER") {
            true => Ok(()),
            false => self.expect_word("DATABASE"),
        }
    }

    /// `DROP INDEX i ON t, ...` and the old `DROP INDEX t.i`.
    /// `WITH (...)` of a statement that one thread runs while nobody works on the table: MAXDOP, and ONLINE = OFF.
    pub(super) fn options_of_one_alone(&mut self, statement: &str) -> SqlResult<()> {
        if self.is_op_at(1, '(') && self.is_word_at(2, "MOVE") {
            return Err(self.not_supported(&format!("{statement} WITH (MOVE TO)")));
        }
        for o in self.with_options()? {
            let off = o.value.as_ref().and_then(OptionValue::as_on_off) == Some(false);
            if !(o.name == "MAXDOP" || o.name == "ONLINE" && off) {
                return Err(self.not_supported(&format!("{statement} WITH ({})", o.name)));
            }
        }
        Ok(())
    }

    fn drop_index(&mut self) -> SqlResult<StatementKind> {
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let indexes = self.list(|p| {
            let mut name = p.dotted_name(4, "object")?;
            if p.eat_word("ON") {
                let table = p.object_name()?;
                p.options_of_one_alone("DROP INDEX")?;
                return Ok((name.name().to_string(), table));
            }
            match name.parts.pop() {
                Some(index) if !name.parts.is_empty() => Ok((index, name)),
                _ => Err(p.unexpected()),
            }
        })?;
        Ok(StatementKind::DropIndex { if_exists, indexes })
    }

    fn create_schema(&mut self) -> SqlResult<StatementKind> {
        let mut name = None;
        if self.is_name_at(0) {
            name = Some(self.name()?);
        }
        let mut authorization = None;
        if self.eat_word("AUTHORIZATION") {
            authorization = Some(self.name()?);
        }
        // What is made there belongs to the new schema.
        if self.is_any(&["CREATE", "GRANT", "DENY", "REVOKE"]) {
            return Err(self.not_supported("CREATE SCHEMA with definitions in it"));
        }
        match name.or_else(|| authorization.clone()) {
            Some(name) => Ok(StatementKind::CreateSchema {
                name,
                authorization,
            }),
            None => Err(self.unexpected()),
        }
    }

    // ---- indexes ----

    pub(super) fn empty_index(&self) -> CreateIndex {
        CreateIndex {
            name: String::new(),
            table: None,
            unique: false,
            clustered: None,
            columnstore: false,
            columns: Vec::new(),
            include: Vec::new(),
            filter: None,
            filter_source: None,
            options: Vec::new(),
            on: None,
            line: self.line(),
        }
    }

    fn create_index(&mut self) -> SqlResult<StatementKind> {
        let mut index = self.empty_index();
        index.unique = self.eat_word("UNIQUE");
        index.clustered = self.clustered_word();
        index.columnstore = self.eat_word("COLUMNSTORE");
        self.expect_word("INDEX")?;
        index.name = self.name()?;
        self.expect_word("ON")?;
        index.table = Some(self.object_name()?);
        if self.is_op('(') || !index.columnstore {
            index.columns = self.index_columns()?;
        }
        self.index_tail(&mut index)?;
        Ok(StatementKind::CreateIndex(Box::new(index)))
    }

    /// CLUSTERED is true, NONCLUSTERED false.
    pub(super) fn clustered_word(&mut self) -> Option<bool> {
        if self.eat_word("CLUSTERED") {
            return Some(true);
        }
        self.eat_word("NONCLUSTERED").then_some(false)
    }

    pub(super) fn index_columns(&mut self) -> SqlResult<Vec<IndexColumn>> {
        self.parenthesized(|p| {
            let name = p.name()?;
            let desc = p.eat_word("DESC");
            if !desc {
                p.eat_word("ASC");
            }
            Ok(IndexColumn { name, desc })
        })
    }

    /// INCLUDE, WHERE, WITH, ON.
    pub(super) fn index_tail(&mut self, index: &mut CreateIndex) -> SqlResult<()> {
        if self.is_any(&["ORDER", "FILESTREAM_ON"]) {
            let what = format!("CREATE INDEX ... {}", self.text(0).to_ascii_uppercase());
            return Err(self.not_supported(&what));
        }
        if self.eat_word("INCLUDE") {
            index.include = self.name_list()?;
        }
        if self.eat_word("WHERE") {
            let start = self.start();
            index.filter = Some(self.condition()?);
            index.filter_source = Some(self.span_from(start));
        }
        index.options = self.index_options()?;
        if self.is_word("ON") {
            index.on = self.on_filegroup()?;
        }
        Ok(())
    }

    /// `WITH (...)`, or the old `WITH FILLFACTOR = n, ...`.
    pub(super) fn index_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        const OLD: &[&str] = &[
            "FILLFACTOR",
            "PAD_INDEX",
            "DROP_EXISTING",
            "IGNORE_DUP_KEY",
            "SORT_IN_TEMPDB",
        ];
        if self.is_word("WITH") && OLD.iter().any(|w| self.is_word_at(1, w)) {
            self.advance();
            return self.bare_options();
        }
        self.with_options()
    }

    /// `ON filegroup` or `ON scheme (column)`.
    pub(super) fn on_filegroup(&mut self) -> SqlResult<Option<DataSpace>> {
        if !self.eat_word("ON") {
            return Ok(None);
        }
        let name = self.filegroup_name()?;
        let columns = match self.is_op('(') {
            true => self.name_list()?,
            false => Vec::new(),
        };
        Ok(Some(DataSpace { name, columns }))
    }

    pub(super) fn filegroup_name(&mut self) -> SqlResult<String> {
        if self.is_word("PRIMARY") {
            return self.name_or_word();
        }
        if let Tok::DoubleQuoted(name) = self.kind() {
            let name = name.clone();
            self.advance();
            return Ok(name);
        }
        self.name()
    }

    fn alter_index(&mut self) -> SqlResult<StatementKind> {
        let name = match self.eat_word("ALL") {
            true => None,
            false => Some(self.name()?),
        };
        self.expect_word("ON")?;
        let table = self.object_name()?;
        if self.is_any(&["RESUME", "PAUSE", "ABORT"]) {
            let what = self.text(0).to_ascii_uppercase();
            return Err(self.not_supported(&format!("ALTER INDEX ... {what}")));
        }
        let action = match () {
            () if self.eat_word("REBUILD") => AlterIndexAction::Rebuild,
            () if self.eat_word("REORGANIZE") => AlterIndexAction::Reorganize,
            () if self.eat_word("DISABLE") => AlterIndexAction::Disable,
            () if self.eat_word("SET") => AlterIndexAction::Set,
            () => return Err(self.unexpected()),
        };
        let partition = self.which_partition()?;
        let options = match action {
            AlterIndexAction::Set => self.option_list()?,
            _ => self.with_options()?,
        };
        Ok(StatementKind::AlterIndex(Box::new(AlterIndex {
            name,
            table,
            action,
            partition,
            options,
        })))
    }

    // ---- statistics, sequences, types ----

    fn create_statistics(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        self.expect_word("ON")?;
        let table = self.object_name()?;
        let columns = self.name_list()?;
        let mut filter = None;
        if self.eat_word("WHERE") {
            filter = Some(self.condition()?);
        }
        let options = self.statistics_options()?;
        let statistics = CreateStatistics {
            name,
            table,
            columns,
            filter,
            options,
        };
        Ok(StatementKind::CreateStatistics(Box::new(statistics)))
    }

    /// `WITH FULLSCAN, SAMPLE 10 PERCENT, NORECOMPUTE, ...`.
    fn statistics_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        if !self.eat_word("WITH") {
            return Ok(Vec::new());
        }
        self.list(|p| {
            let mut option = p.named_option()?;
            if option.name == "SAMPLE" {
                option.value = Some(p.option_value()?);
                p.eat_word("ROWS");
            }
            p.check_option(&option.name)?;
            Ok(option)
        })
    }

    pub(super) fn update_statistics(&mut self) -> SqlResult<StatementKind> {
        self.expect_words(&["UPDATE", "STATISTICS"])?;
        let table = self.object_name()?;
        let mut names = Vec::new();
        if self.is_op('(') {
            names = self.name_list()?;
        } else if self.is_name_at(0) && !self.is_label() {
            names.push(self.name()?);
        }
        let options = self.statistics_options()?;
        Ok(StatementKind::UpdateStatistics {
            table,
            names,
            options,
        })
    }

    fn sequence(&mut self, alter: bool) -> SqlResult<StatementKind> {
        let name = self.object_name()?;
        let mut ty = None;
        if !alter && self.eat_word("AS") {
            ty = Some(self.data_type()?);
        }
        let mut options = Vec::new();
        loop {
            let line = self.line();
            let (name, takes_value) = match () {
                () if self.eat_words(&["START", "WITH"]) => ("START WITH", true),
                () if self.eat_words(&["RESTART", "WITH"]) => ("RESTART WITH", true),
                () if alter && self.eat_word("RESTART") => ("RESTART", false),
                () if self.eat_words(&["INCREMENT", "BY"]) => ("INCREMENT BY", true),
                () if self.eat_words(&["NO", "MINVALUE"]) => ("NO MINVALUE", false),
                () if self.eat_words(&["NO", "MAXVALUE"]) => ("NO MAXVALUE", false),
                () if self.eat_words(&["NO", "CYCLE"]) => ("NO CYCLE", false),
                () if self.eat_words(&["NO", "CACHE"]) => ("NO CACHE", false),
                () if self.eat_word("MINVALUE") => ("MINVALUE", true),
                () if self.eat_word("MAXVALUE") => ("MAXVALUE", true),
                () if self.eat_word("CYCLE") => ("CYCLE", false),
                () if self.eat_word("CACHE") => ("CACHE", matches!(self.kind(), Tok::Int(_))),
                () => break,
            };
            let mut value = None;
            if takes_value {
                value = Some(self.option_value()?);
            }
            options.push(NamedOption {
                name: name.to_string(),
                value,
                line,
            });
        }
        let sequence = CreateSequence {
            alter,
            name,
            ty,
            options,
        };
        Ok(StatementKind::CreateSequence(Box::new(sequence)))
    }

    fn create_type(&mut self) -> SqlResult<StatementKind> {
        let start = self.start();
        let name = self.object_name()?;
        let kind = if self.eat_word("FROM") {
            let base = self.data_type()?;
            let nullable = self.nullability()?;
            CreateTypeKind::Alias { base, nullable }
        } else if self.eat_words(&["AS", "TABLE"]) {
            let elements = self.elements_of_variable()?;
            if self.is_word("WITH") && self.is_op_at(1, '(') {
                return Err(self.not_supported("WITH options of CREATE TYPE"));
            }
            CreateTypeKind::Table(elements)
        } else if self.is_word("EXTERNAL") {
            return Err(self.not_supported("CLR types"));
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::CreateType(Box::new(CreateType {
            name,
            kind,
            source: self.span_from(start),
        })))
    }

    /// `NULL`, `NOT NULL` or nothing.
    pub(super) fn nullability(&mut self) -> SqlResult<Option<bool>> {
        if self.eat_word("NULL") {
            return Ok(Some(true));
        }
        if self.is_word("NOT") && self.is_word_at(1, "NULL") {
            self.expect_words(&["NOT", "NULL"])?;
            return Ok(Some(false));
        }
        Ok(None)
    }
}
