//! CREATE TABLE, ALTER TABLE: columns and constraints.

use duramen_base::{SqlResult, messages};

use super::{Holds, Parser};
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn create_table(&mut self) -> SqlResult<StatementKind> {
        let name = self.object_name()?;
        if self.is_word("AS") {
            return Err(self.not_supported(&format!(
                "CREATE TABLE AS {}",
                self.text(1).to_ascii_uppercase()
            )));
        }
        let elements = self.table_elements()?;
        let (mut on, mut textimage_on, mut options) = (None, None, Vec::new());
        loop {
            if self.is_word("ON") {
                on = self.on_filegroup()?;
            } else if self.eat_word("TEXTIMAGE_ON") {
                textimage_on = Some(self.filegroup_name()?);
            } else if self.is_word("WITH") && self.is_op_at(1, '(') {
                options.extend(self.with_options()?);
            } else if self.is_word("FILESTREAM_ON") {
                return Err(self.not_supported("CREATE TABLE ... FILESTREAM_ON"));
            } else if self.is_words(&["AS", "NODE"]) || self.is_words(&["AS", "EDGE"]) {
                let what = format!("CREATE TABLE ... AS {}", self.text(1).to_ascii_uppercase());
                return Err(self.not_supported(&what));
            } else {
                break;
            }
        }
        let table = CreateTable {
            name,
            elements,
            on,
            textimage_on,
            options,
        };
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    /// `(element, ...)`; a trailing comma is allowed.
    pub(super) fn table_elements(&mut self) -> SqlResult<Vec<TableElement>> {
        self.expect_op('(')?;
        let mut elements = vec![self.new_element()?];
        loop {
            // A table constraint may follow a column without a comma.
            let more = self.eat_op(',')
                || self.is_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]);
            if !more || self.is_op(')') {
                break;
            }
            elements.push(self.new_element()?);
        }
        self.expect_op(')')?;
        Ok(elements)
    }

    /// Those of a table that lives in a variable: their constraints have no names (156).
    pub(super) fn elements_of_variable(&mut self) -> SqlResult<Vec<TableElement>> {
        self.names_constraints = false;
        let elements = self.table_elements();
        self.names_constraints = true;
        elements
    }

    fn constraint_name(&mut self) -> SqlResult<Option<String>> {
        match self.is_word("CONSTRAINT") {
            false => Ok(None),
            true if !self.names_constraints => Err(self.unexpected()),
            true => {
                self.advance();
                self.name().map(Some)
            }
        }
    }

    /// 142: only ALTER TABLE gives a column its default from without.
    fn new_element(&mut self) -> SqlResult<TableElement> {
        if self.is_word("CONSTRAINT") && self.is_word_at(2, "DEFAULT") {
            let error = self.raise(&messages::CONSTRAINT_SYNTAX, &[&"TABLE"]);
            return Err(error.with_state(2));
        }
        self.table_element()
    }

    fn table_element(&mut self) -> SqlResult<TableElement> {
        if self.is_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]) {
            return self.table_constraint().map(TableElement::Constraint);
        }
        if self.is_word("INDEX") {
            return self.inline_index().map(TableElement::Index);
        }
        if self.is_word("PERIOD") && self.is_word_at(1, "FOR") {
            return Err(self.not_supported("PERIOD FOR SYSTEM_TIME"));
        }
        self.column_def().map(|c| TableElement::Column(Box::new(c)))
    }

    fn inline_index(&mut self) -> SqlResult<CreateIndex> {
        let mut index = self.empty_index();
        self.expect_word("INDEX")?;
        index.name = self.name()?;
        index.unique = self.eat_word("UNIQUE");
        index.clustered = self.clustered_word();
        if self.is_word("HASH") {
            return Err(self.not_supported("HASH indexes"));
        }
        index.columnstore = self.eat_word("COLUMNSTORE");
        if self.is_op('(') {
            index.columns = self.index_columns()?;
        }
        self.index_tail(&mut index)?;
        Ok(index)
    }

    pub(super) fn column_def(&mut self) -> SqlResult<ColumnDef> {
        let line = self.line();
        let mut column = ColumnDef {
            name: String::new(),
            ty: None,
            computed: None,
            collation: None,
            nullable: None,
            identity: None,
            default: None,
            second_default: false,
            second_nullable: false,
            rowguidcol: false,
            sparse: false,
            constraints: Vec::new(),
            line,
        };
        // `timestamp` alone is a column of that name and type.
        let alone = self.is_word("timestamp") && !self.is_name_at(1) && !self.is_word_at(1, "AS");
        if alone {
            column.ty = Some(DataType {
                name: ObjectName::single("timestamp", line),
                args: Vec::new(),
            });
            column.name = self.name()?;
        } else {
            column.name = self.name()?;
            if self.eat_word("AS") {
                column.computed = Some(self.computed()?);
            } else {
                column.ty = Some(self.data_type()?);
            }
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    fn computed(&mut self) -> SqlResult<Computed> {
        let start = self.start();
        let expr = self.holding(Holds::Scalars, Self::expr)?;
        let source = self.span_from(start);
        let persisted = self.eat_word("PERSISTED");
        Ok(Computed {
            expr,
            source,
            persisted,
        })
    }

    /// One attribute of a column; false when none is here.
    fn column_attribute(&mut self, column: &mut ColumnDef) -> SqlResult<bool> {
        let line = self.line();
        let name = self.constraint_name()?;
        if let Some(nullable) = self.nullability()? {
            column.second_nullable |= column.nullable.replace(nullable).is_some();
            return Ok(true);
        }
        if self.eat_word("DEFAULT") {
            let spec = self.default_spec(name)?;
            column.second_default |= column.default.replace(spec).is_some();
            return Ok(true);
        }
        if self.is_any(&["PRIMARY", "UNIQUE"]) {
            let own = vec![IndexColumn {
                name: column.name.clone(),
                desc: false,
            }];
            let kind = self.key_constraint(Some(own))?;
            column
                .constraints
                .push(TableConstraint { name, kind, line });
            return Ok(true);
        }
        if self.is_word("CHECK") {
            let kind = self.check_constraint()?;
            column
                .constraints
                .push(TableConstraint { name, kind, line });
            return Ok(true);
        }
        if self.is_any(&["FOREIGN", "REFERENCES"]) {
            if self.eat_word("FOREIGN") {
                self.expect_word("KEY")?;
            }
            let kind = self.references(vec![column.name.clone()])?;
            column
                .constraints
                .push(TableConstraint { name, kind, line });
            return Ok(true);
        }
        if name.is_some() {
            return Err(self.unexpected());
        }
        self.plain_attribute(column)
    }

    fn plain_attribute(&mut self, column: &mut ColumnDef) -> SqlResult<bool> {
        if self.eat_word("IDENTITY") {
            column.identity = Some(self.identity()?);
        } else if self.eat_word("COLLATE") {
            column.collation = Some(self.name()?);
        } else if self.eat_word("ROWGUIDCOL") {
            column.rowguidcol = true;
        } else if self.eat_word("SPARSE") {
            column.sparse = true;
        } else if self.eat_words(&["NOT", "FOR", "REPLICATION"]) {
            if let Some(identity) = &mut column.identity {
                identity.not_for_replication = true;
            }
        } else if self.is_any(&["GENERATED", "ENCRYPTED", "MASKED", "FILESTREAM", "HIDDEN"]) {
            return Err(self.not_supported(&self.text(0).to_ascii_uppercase()));
        } else if self.is_word("COLUMN_SET") {
            return Err(self.not_supported("COLUMN_SET FOR ALL_SPARSE_COLUMNS"));
        } else if self.is_word("INDEX") {
            return Err(self.not_supported("INDEX at a column"));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn identity(&mut self) -> SqlResult<IdentitySpec> {
        let (mut seed, mut increment) = ("1".to_string(), "1".to_string());
        if self.eat_op('(') {
            seed = self.signed_digits()?;
            self.expect_op(',')?;
            increment = self.signed_digits()?;
            self.expect_op(')')?;
        }
        Ok(IdentitySpec {
            seed,
            increment,
            not_for_replication: false,
        })
    }

    fn signed_digits(&mut self) -> SqlResult<String> {
        let negative = self.eat_op('-');
        if !negative {
            self.eat_op('+');
        }
        let digits = match self.kind() {
            Tok::Int(value) => value.to_string(),
            Tok::Decimal(text) if !text.contains('.') => text.clone(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        match negative {
            true => Ok(format!("-{digits}")),
            false => Ok(digits),
        }
    }

    fn default_spec(&mut self, name: Option<String>) -> SqlResult<DefaultSpec> {
        let start = self.start();
        let expr = self.holding(Holds::Constants, Self::expr)?;
        let source = self.span_from(start);
        let with_values = self.eat_words(&["WITH", "VALUES"]);
        Ok(DefaultSpec {
            name,
            expr,
            source,
            with_values,
        })
    }

    pub(super) fn table_constraint(&mut self) -> SqlResult<TableConstraint> {
        let line = self.line();
        let name = self.constraint_name()?;
        let kind = if self.is_any(&["PRIMARY", "UNIQUE"]) {
            self.key_constraint(None)?
        } else if self.is_word("CHECK") {
            self.check_constraint()?
        } else if self.eat_word("FOREIGN") {
            self.expect_word("KEY")?;
            let columns = self.name_list()?;
            self.references(columns)?
        } else if self.eat_word("DEFAULT") {
            let mut spec = self.default_spec(name.clone())?;
            self.expect_word("FOR")?;
            let column = self.name()?;
            spec.with_values |= self.eat_words(&["WITH", "VALUES"]);
            ConstraintKind::Default { spec, column }
        } else if self.is_word("CONNECTION") && self.is_op_at(1, '(') {
            return Err(self.not_supported("CONNECTION constraints"));
        } else {
            return Err(self.unexpected());
        };
        Ok(TableConstraint { name, kind, line })
    }

    /// `own`: the column, when written at one; then the list of columns may be left out.
    fn key_constraint(&mut self, own: Option<Vec<IndexColumn>>) -> SqlResult<ConstraintKind> {
        let primary = self.eat_word("PRIMARY");
        match primary {
            true => self.expect_word("KEY")?,
            false => self.expect_word("UNIQUE")?,
        }
        let clustered = self.clustered_word();
        if self.is_word("HASH") {
            return Err(self.not_supported("HASH indexes"));
        }
        let columns = match own {
            Some(own) if !self.is_op('(') => own,
            _ => self.index_columns()?,
        };
        let options = self.index_options()?;
        let on = self.on_filegroup()?;
        Ok(ConstraintKind::Key {
            primary,
            clustered,
            columns,
            options,
            on,
        })
    }

    fn check_constraint(&mut self) -> SqlResult<ConstraintKind> {
        self.expect_word("CHECK")?;
        let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        let start = self.start();
        self.expect_op('(')?;
        let expr = self.holding(Holds::Scalars, Self::condition)?;
        self.expect_op(')')?;
        let source = self.span_from(start);
        Ok(ConstraintKind::Check {
            expr,
            source,
            not_for_replication,
        })
    }

    fn references(&mut self, columns: Vec<String>) -> SqlResult<ConstraintKind> {
        self.expect_word("REFERENCES")?;
        let table = self.object_name()?;
        let mut referenced = Vec::new();
        if self.is_op('(') {
            referenced = self.name_list()?;
        }
        let (mut on_delete, mut on_update) = (ReferenceAction::NoAction, ReferenceAction::NoAction);
        loop {
            if self.eat_words(&["ON", "DELETE"]) {
                on_delete = self.reference_action()?;
            } else if self.eat_words(&["ON", "UPDATE"]) {
                on_update = self.reference_action()?;
            } else {
                break;
            }
        }
        let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        Ok(ConstraintKind::ForeignKey {
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            not_for_replication,
        })
    }

    fn reference_action(&mut self) -> SqlResult<ReferenceAction> {
        match () {
            () if self.eat_words(&["NO", "ACTION"]) => Ok(ReferenceAction::NoAction),
            () if self.eat_word("CASCADE") => Ok(ReferenceAction::Cascade),
            () if self.eat_words(&["SET", "NULL"]) => Ok(ReferenceAction::SetNull),
            () if self.eat_words(&["SET", "DEFAULT"]) => Ok(ReferenceAction::SetDefault),
            () => Err(self.unexpected()),
        }
    }

    // ---- ALTER TABLE ----

    pub(super) fn alter_table(&mut self) -> SqlResult<StatementKind> {
        let table = self.object_name()?;
        let action = self.alter_table_action()?;
        Ok(StatementKind::AlterTable(Box::new(AlterTable {
            table,
            action,
        })))
    }

    fn alter_table_action(&mut self) -> SqlResult<AlterTableAction> {
        let mut with_check = None;
        if self.eat_words(&["WITH", "CHECK"]) {
            with_check = Some(true);
        } else if self.eat_words(&["WITH", "NOCHECK"]) {
            with_check = Some(false);
        }
        if self.eat_word("ADD") {
            return self.alter_add(with_check);
        }
        if self.is_any(&["CHECK", "NOCHECK"]) {
            let enable = self.is_word("CHECK");
            self.advance();
            self.expect_word("CONSTRAINT")?;
            let names = self.all_or_names()?;
            return Ok(AlterTableAction::Check {
                enable,
                with_check,
                names,
            });
        }
        if with_check.is_some() {
            return Err(self.unexpected());
        }
        if self.eat_word("DROP") {
            return self.alter_drop();
        }
        if self.eat_words(&["ALTER", "COLUMN"]) {
            return self.alter_column();
        }
        if self.is_any(&["ENABLE", "DISABLE"]) {
            let enable = self.is_word("ENABLE");
            self.advance();
            if !self.is_word("TRIGGER") {
                return Err(self.not_supported(&format!(
                    "ALTER TABLE ... {}",
                    self.text(0).to_ascii_uppercase()
                )));
            }
            self.advance();
            let names = self.all_or_names()?;
            return Ok(AlterTableAction::Trigger { enable, names });
        }
        if self.eat_word("REBUILD") {
            let partition = self.which_partition()?;
            return self
                .with_options()
                .map(|options| AlterTableAction::Rebuild { partition, options });
        }
        if self.eat_word("SET") {
            return self
                .option_list()
                .map(|options| AlterTableAction::Set { options });
        }
        if self.eat_word("SWITCH") {
            return self.switch();
        }
        Err(self.unexpected())
    }

    fn alter_add(&mut self, with_check: Option<bool>) -> SqlResult<AlterTableAction> {
        self.eat_word("COLUMN");
        let elements = self.list(|p| match p.is_word("DEFAULT") {
            true => p.table_constraint().map(TableElement::Constraint),
            false => p.table_element(),
        })?;
        Ok(AlterTableAction::Add {
            elements,
            with_check,
        })
    }

    fn alter_drop(&mut self) -> SqlResult<AlterTableAction> {
        if self.is_words(&["PERIOD", "FOR"]) {
            return Err(self.not_supported("PERIOD FOR SYSTEM_TIME"));
        }
        if self.eat_word("COLUMN") {
            let if_exists = self.eat_words(&["IF", "EXISTS"]);
            let names = self.list(|p| match p.is_any(&["COLUMN", "CONSTRAINT"]) {
                true => Err(p.not_supported("ALTER TABLE DROP of several COLUMN or CONSTRAINT")),
                false => p.name(),
            })?;
            return Ok(AlterTableAction::DropColumns { if_exists, names });
        }
        self.eat_word("CONSTRAINT");
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let names = self.list(|p| {
            if p.is_word("COLUMN") {
                return Err(p.not_supported("ALTER TABLE DROP of constraints and columns at once"));
            }
            p.eat_word("CONSTRAINT");
            p.name()
        })?;
        self.options_of_one_alone("ALTER TABLE DROP CONSTRAINT")?;
        Ok(AlterTableAction::DropConstraints { if_exists, names })
    }

    fn alter_column(&mut self) -> SqlResult<AlterTableAction> {
        let name = self.name()?;
        if self.is_any(&["ADD", "DROP"]) {
            return Err(self.not_supported("ALTER COLUMN ... ADD or DROP"));
        }
        let ty = self.data_type()?;
        let mut collation = None;
        if self.eat_word("COLLATE") {
            collation = Some(self.name()?);
        }
        let nullable = self.nullability()?;
        self.options_of_one_alone("ALTER TABLE ALTER COLUMN")?;
        Ok(AlterTableAction::AlterColumn {
            name,
            ty,
            collation,
            nullable,
        })
    }

    /// `None`: ALL.
    fn all_or_names(&mut self) -> SqlResult<Option<Vec<String>>> {
        match self.eat_word("ALL") {
            true => Ok(None),
            false => self.list(Self::name).map(Some),
        }
    }

    /// `ENABLE TRIGGER x ON t`, the statement.
    pub(super) fn switch_trigger(&mut self) -> SqlResult<StatementKind> {
        let enable = self.is_word("ENABLE");
        self.advance();
        self.expect_word("TRIGGER")?;
        let names = match self.eat_word("ALL") {
            true => None,
            false => Some(self.list(|p| Ok(p.object_name()?.name().to_string()))?),
        };
        self.expect_word("ON")?;
        if self.is_word("DATABASE") || self.is_words(&["ALL", "SERVER"]) {
            return Err(self.not_supported("DDL triggers"));
        }
        let table = self.object_name()?;
        let action = AlterTableAction::Trigger { enable, names };
        Ok(StatementKind::AlterTable(Box::new(AlterTable {
            table,
            action,
        })))
    }
}
