//! ALTER TABLE: columns and constraints of a table that has rows.
//!
//! The catalog rewrites the table; here is what may be changed at all, and the order of errors.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{
    ConstraintState, NewColumn, NewIndex, NewTable, ObjectKind, Place, TableDef, fold,
};
use duramen_planner::bind::Exposed;
use duramen_tsql::ast::{self, AlterTableAction};
use duramen_txn::LockMode;
use duramen_types::{ConvertCtx, SqlType, TypeId, Value, convert};

use super::{Ddl, constraints, keys, refuse};

/// What a new column gives to the rows that are there: the value of its default, where rows get it.
pub type Defaults = Vec<Option<Value>>;

impl Ddl<'_> {
    /// `defaults` has an entry for each column that is added, in their order; `numbers` are the partitions of a SWITCH.
    pub fn alter_table(
        &self,
        stmt: &ast::AlterTable,
        defaults: &Defaults,
        numbers: (Option<i64>, Option<i64>),
    ) -> SqlResult<()> {
        let table = self.locked(LockMode::SchM, || self.altered(&stmt.table))?;
        match &stmt.action {
            AlterTableAction::Add {
                elements,
                with_check,
            } => {
                // What is added is tested on the rows that are there unless it says NOCHECK.
                self.add(table, elements, defaults, with_check.unwrap_or(true))
            }
            AlterTableAction::DropColumns { if_exists, names } => {
                let mut table = table;
                for name in names {
                    table = self.drop_column(table, name, *if_exists)?;
                }
                Ok(())
            }
            AlterTableAction::DropConstraints { if_exists, names } => {
                let mut table = table;
                for name in names {
                    if *if_exists && !has_constraint(&table, name) {
                        continue;
                    }
                    table = self.drop_constraint(table, name)?;
                }
                Ok(())
            }
            AlterTableAction::AlterColumn {
                name,
                ty,
                collation,
                nullable,
            } => {
                let ty = self.column_type((1, name), ty, collation.as_deref(), stmt.table.line)?;
                self.alter_column(&table, name, ty, nullable.unwrap_or(true))
            }
            AlterTableAction::Check {
                enable,
                with_check,
                names,
            } => {
                let test = *with_check == Some(true);
                self.switch(&table, *enable, test, names.as_deref())
            }
            AlterTableAction::Trigger { enable, names } => {
                self.switch_triggers(table, *enable, names.as_deref())
            }
            AlterTableAction::Switch { target, .. } => {
                let same = self.altered(target)?.id == table.id;
                let target = match same {
                    true => table.clone(),
                    false => self.locked(LockMode::SchM, || self.altered(target))?,
                };
                self.switch_rows(&table, &target, numbers)
            }
            other @ (AlterTableAction::Rebuild { .. } | AlterTableAction::Set { .. }) => {
                Err(refuse(action_name(other), stmt.table.line))
            }
        }
    }

    /// 4902 for what is not a table of users.
    fn altered(&self, name: &ast::ObjectName) -> SqlResult<Arc<TableDef>> {
        let snapshot = self.db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let table = schema.and_then(|s| snapshot.find_table(s.id, name.name()));
        table
            .filter(|t| t.kind == ObjectKind::TABLE)
            .cloned()
            .ok_or_else(|| {
                SqlError::new(&messages::ALTER_OBJECT_NOT_FOUND, &[&name.display()])
                    .at_line(name.line as i32)
            })
    }

    fn add(
        &self,
        table: Arc<TableDef>,
        elements: &[ast::TableElement],
        defaults: &Defaults,
        check: bool,
    ) -> SqlResult<()> {
        let mut table = table;
        let mut values = defaults.iter();
        for e in elements {
            match e {
                ast::TableElement::Column(c) => {
                    let value = values.next().cloned().flatten();
                    table = self.add_column(table, c, value)?;
                    self.reads_itself(&table.name, c)?;
                    for constraint in &c.constraints {
                        table = self.add_constraint(table, constraint, check)?;
                    }
                }
                ast::TableElement::Constraint(c) => {
                    table = self.add_constraint(table, c, check)?;
                }
                ast::TableElement::Index(i) => return Err(refuse("ALTER TABLE ADD INDEX", i.line)),
            }
        }
        Ok(())
    }

    fn add_column(
        &self,
        table: Arc<TableDef>,
        c: &ast::ColumnDef,
        value: Option<Value>,
    ) -> SqlResult<Arc<TableDef>> {
        let nothing = NewTable {
            schema: table.schema,
            name: table.name.clone(),
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            place: Place::Default,
            lob_filegroup: 0,
        };
        let mut new: NewColumn = self.column(c, &nothing)?;
        if c.computed.is_some() {
            let columns = constraints::of_table(&table);
            self.type_of((table.schema, &table.name), &columns, c, &mut new)?;
            return self.add_computed(table, &new);
        }
        if new.rowguid && table.columns.iter().any(|o| o.rowguid) {
            return Err(SqlError::new(&messages::SECOND_ROWGUIDCOL, &[]));
        }
        if new.ty.id == TypeId::RowVersion {
            if table.columns.iter().any(|o| o.ty.id == TypeId::RowVersion) {
                let args: [&dyn std::fmt::Display; 2] = [&table.name, &new.name];
                return Err(SqlError::new(&messages::SECOND_TIMESTAMP, &args));
            }
            let catalog = &self.db.catalog;
            let mut next = |_: &[Value]| {
                let n = catalog.next_rowversion(self.tx)?;
                Ok(Value::Binary(n.to_be_bytes().to_vec()))
            };
            return catalog.add_column(self.tx, &table, &new, &mut next);
        }
        if new.identity.is_some() && table.identity_column().is_some() {
            return Err(SqlError::new(&messages::SECOND_IDENTITY, &[&table.name]));
        }
        let filled = new.nullable || new.identity.is_some() || new.default.is_some();
        let parts = table.data_rowsets().iter();
        let mut counts = parts.map(|r| self.db.db.rowset(r).row_count());
        let has_rows = counts.any(|n| n.is_ok_and(|n| n > 0));
        if !filled && has_rows {
            let args: [&dyn std::fmt::Display; 2] = [&new.name, &table.name];
            return Err(SqlError::new(&messages::ADD_COLUMN_NOT_NULL, &args));
        }
        let catalog = &self.db.catalog;
        let Some(identity) = new.identity else {
            let value = value.unwrap_or(Value::Null);
            return catalog.add_column(self.tx, &table, &new, &mut |_| Ok(value.clone()));
        };
        let mut last = None;
        let mut next = |_: &[Value]| {
            let n = match last {
                None => identity.seed,
                Some(n) => identity.increment.saturating_add(n),
            };
            last = Some(n);
            number(n, &new.ty)
        };
        let table = catalog.add_column(self.tx, &table, &new, &mut next)?;
        if last.is_some() {
            catalog.set_identity(self.tx, &table, last)?;
        }
        Ok(table)
    }

    /// A computed column; its value is made for every row where it is persisted.
    fn add_computed(&self, table: Arc<TableDef>, new: &NewColumn) -> SqlResult<Arc<TableDef>> {
        let catalog = &self.db.catalog;
        let text = match &new.computed {
            Some(c) if c.persisted => &c.text,
            _ => return catalog.add_column(self.tx, &table, new, &mut |_| Ok(Value::Null)),
        };
        let of_table = self.stored(&table)?;
        let host = self.host()?;
        let bound = duramen_planner::dml::bind_computed(host, &*of_table, text, new.ty)?;
        let mut vars = Vec::new();
        let mut cx = duramen_query::Cx::new(host, &mut vars, host.convert_ctx());
        let mut value = |row: &[Value]| bound.eval(row, &mut cx);
        catalog.add_column(self.tx, &table, new, &mut value)
    }

    /// PRIMARY KEY or UNIQUE.
    fn add_key(&self, table: &Arc<TableDef>, c: &ast::TableConstraint) -> SqlResult<Arc<TableDef>> {
        let ast::ConstraintKind::Key {
            primary,
            clustered,
            columns,
            options,
            on,
        } = &c.kind
        else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let line = c.line as i32;
        let threads = self.build_threads(table, options)?;
        let options = super::indexes::key_options(options, c.line)?;
        if *primary && table.indexes.iter().any(|i| i.primary_key) {
            let error = SqlError::new(&messages::PRIMARY_KEY_ALREADY_DEFINED, &[&table.name]);
            return Err(error.at_line(line));
        }
        let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
        let of = (c.name.as_deref().unwrap_or(""), table.name.as_str());
        let keys = keys(columns, &names, of, c.line)?;
        if keys.iter().any(|k| !table.columns[k.column].is_stored()) {
            return Err(refuse(super::ABSENT_IN_INDEX, c.line));
        }
        if *primary && keys.iter().any(|k| table.columns[k.column].nullable) {
            let error = SqlError::new(&messages::PRIMARY_KEY_NULLABLE, &[&table.name]);
            return Err(error.at_line(line));
        }
        let new = NewIndex {
            name: c.name.clone(),
            unique: true,
            // A primary key is clustered where nothing else is.
            clustered: clustered.unwrap_or(*primary && table.is_heap()),
            primary_key: *primary,
            unique_constraint: !primary,
            keys,
            includes: Vec::new(),
            options,
            place: self.place(on.as_ref(), &names, c.line)?,
        };
        self.keys_fit(table, &new)
            .map_err(|e| self.not_created(e.at_line(line)))?;
        let made = self.db.catalog.create_index(self.tx, table, &new, threads);
        made.map_err(
            |e| match e.number == messages::PARTITION_COLUMN_NOT_IN_KEY.number {
                true => self.not_created(e),
                false => e,
            },
        )
    }

    /// DEFAULT ... FOR column.
    fn add_default(
        &self,
        table: &Arc<TableDef>,
        c: &ast::TableConstraint,
        spec: &ast::DefaultSpec,
        column: &str,
    ) -> SqlResult<Arc<TableDef>> {
        let line = c.line as i32;
        let found = table.column(column);
        let given = |at: &usize| table.columns[*at].computed.is_none();
        let Some(at) = found.filter(given) else {
            let args: [&dyn std::fmt::Display; 2] = [&column, &table.name];
            let error = SqlError::new(&messages::DEFAULT_COLUMN_INVALID, &args);
            return Err(error.at_line(line));
        };
        let message = match &table.columns[at] {
            c if c.identity.is_some() => Some(&messages::DEFAULT_ON_IDENTITY),
            c if c.ty.id == TypeId::RowVersion => Some(&messages::DEFAULT_ON_TIMESTAMP),
            _ => None,
        };
        if let Some(message) = message {
            let args: [&dyn std::fmt::Display; 2] = [&table.name, &column];
            return Err(SqlError::new(message, &args).at_line(line));
        }
        let text = self.default_text(spec, c.line)?;
        let name = spec.name.as_deref().or(c.name.as_deref());
        self.db.catalog.add_default(self.tx, table, at, name, &text)
    }

    fn add_constraint(
        &self,
        table: Arc<TableDef>,
        c: &ast::TableConstraint,
        check: bool,
    ) -> SqlResult<Arc<TableDef>> {
        let line = c.line as i32;
        let state = ConstraintState {
            not_trusted: !check,
            ..ConstraintState::default()
        };
        match &c.kind {
            ast::ConstraintKind::Key { .. } => self.add_key(&table, c),
            ast::ConstraintKind::Default { spec, column } => {
                self.add_default(&table, c, spec, column)
            }
            ast::ConstraintKind::Check { .. } => {
                let new = self.check(
                    (table.schema, &table.name),
                    &constraints::of_table(&table),
                    c,
                    state,
                )?;
                let next = self.db.catalog.add_check(self.tx, &table, &new);
                let next = next.map_err(|e| self.name_taken(e))?;
                if check && let Some(made) = next.checks.last() {
                    self.verify(&next, &made.name)
                        .map_err(|e| e.at_line(line))?;
                }
                Ok(next)
            }
            ast::ConstraintKind::ForeignKey { .. } if table.name.starts_with('#') => {
                let key = c.name.as_deref().unwrap_or_default();
                let message = &messages::FOREIGN_KEY_ON_TEMP_SKIPPED;
                self.note(SqlError::new(message, &[&key]).at_line(line));
                Ok(table)
            }
            ast::ConstraintKind::ForeignKey { .. } => {
                let columns = constraints::of_table(&table);
                let from = constraints::Referring {
                    name: &table.name,
                    schema: table.schema,
                    table: Some(&table),
                    columns: &columns,
                    keys: Vec::new(),
                    others: &[],
                };
                let new = self.locked_key(|| {
                    let key = self.foreign_key(&from, c, state);
                    key.map_err(|e| self.not_created(e))
                })?;
                let next = self.db.catalog.add_foreign_key(self.tx, &table, &new);
                let next = next.map_err(|e| self.name_taken(e))?;
                if check && let Some(made) = next.foreign_keys.last() {
                    self.verify(&next, &made.name)
                        .map_err(|e| e.at_line(line))?;
                }
                Ok(next)
            }
        }
    }

    fn drop_constraint(&self, table: Arc<TableDef>, name: &str) -> SqlResult<Arc<TableDef>> {
        let failed = |e| {
            self.after(e, &messages::CONSTRAINT_NOT_DROPPED)
                .with_state(0)
        };
        if !has_constraint(&table, name) {
            return Err(failed(SqlError::new(&messages::NOT_A_CONSTRAINT, &[&name])));
        }
        if let Some(index) = table.index(name) {
            constraints::not_referenced(self, &table, index.id, &index.name).map_err(failed)?;
        }
        let gone = table
            .foreign_keys
            .iter()
            .find(|f| fold(&f.name) == fold(name));
        if let Some(key) = gone {
            self.lock_other(key.referenced)?;
        }
        self.db.catalog.drop_constraint(self.tx, &table, name)
    }

    /// ENABLE and DISABLE TRIGGER; 4920 for one that is not the table's.
    fn switch_triggers(
        &self,
        table: Arc<TableDef>,
        enable: bool,
        names: Option<&[String]>,
    ) -> SqlResult<()> {
        let mut table = table;
        for name in names.unwrap_or_default() {
            if !table.triggers.iter().any(|t| fold(&t.name) == fold(name)) {
                let args: [&dyn std::fmt::Display; 2] = [name, &table.name];
                return Err(SqlError::new(&messages::ALTER_TRIGGER_NOT_FOUND, &args));
            }
        }
        for t in table.triggers.clone() {
            let meant = names.is_none_or(|all| all.iter().any(|n| fold(n) == fold(&t.name)));
            if meant && t.disabled == enable {
                let changed = duramen_catalog::TriggerDef {
                    disabled: !enable,
                    ..t
                };
                table = self.db.catalog.set_trigger(self.tx, &table, changed)?;
            }
        }
        Ok(())
    }

    /// CHECK and NOCHECK CONSTRAINT. What is switched on is tested only WITH CHECK, and else is not trusted.
    fn switch(
        &self,
        table: &Arc<TableDef>,
        enable: bool,
        test: bool,
        names: Option<&[String]>,
    ) -> SqlResult<()> {
        for name in names.unwrap_or_default() {
            let check = table.checks.iter().any(|c| fold(&c.name) == fold(name));
            let key = table
                .foreign_keys
                .iter()
                .any(|f| fold(&f.name) == fold(name));
            if check || key {
                continue;
            }
            let message = match has_constraint(table, name) {
                // Keys and defaults cannot be switched.
                true => &messages::CONSTRAINT_NOT_SWITCHED,
                false => &messages::CONSTRAINT_DOES_NOT_EXIST,
            };
            let error = SqlError::new(message, &[name]).with_state(0);
            return Err(self
                .after(error, &messages::CONSTRAINT_SWITCH_FAILED)
                .with_state(0));
        }
        let meant = |name: &str| {
            let mut names = names.into_iter().flatten();
            names.clone().next().is_none() || names.any(|n| fold(n) == fold(name))
        };
        for key in &table.foreign_keys {
            if meant(&key.name) {
                self.lock_other(key.referenced)?;
            }
        }
        let mut tested = Vec::new();
        let catalog = &self.db.catalog;
        let next = catalog.set_constraint_states(self.tx, table, |name, state| {
            if !meant(name) {
                return state;
            }
            if enable && test {
                tested.push(name.to_owned());
            }
            ConstraintState {
                disabled: !enable,
                not_trusted: !(enable && test && !state.not_for_replication)
                    && (state.not_trusted || state.disabled || !enable),
                ..state
            }
        })?;
        tested.iter().try_for_each(|name| self.verify(&next, name))
    }

    /// The table's check constraints and foreign keys are not trusted any more: rows come untested.
    pub fn distrust(&self, name: &ast::ObjectName) -> SqlResult<()> {
        let trusted = |table: &TableDef| {
            let checks = table.checks.iter().map(|c| c.state);
            let keys = table.foreign_keys.iter().map(|f| f.state);
            checks.chain(keys).any(|s| !s.not_trusted && !s.disabled)
        };
        let table = self.altered(name)?;
        if !trusted(&table) {
            return Ok(());
        }
        let table = self.locked(LockMode::SchM, || self.altered(name))?;
        let catalog = &self.db.catalog;
        catalog.set_constraint_states(self.tx, &table, |_, state| ConstraintState {
            not_trusted: true,
            ..state
        })?;
        Ok(())
    }

    fn drop_column(
        &self,
        table: Arc<TableDef>,
        name: &str,
        if_exists: bool,
    ) -> SqlResult<Arc<TableDef>> {
        let Some(at) = table.column(name) else {
            if if_exists {
                return Ok(table);
            }
            let args: [&dyn std::fmt::Display; 3] =
                [&"ALTER TABLE DROP COLUMN", &name, &table.name];
            return Err(SqlError::new(&messages::ALTER_COLUMN_NOT_FOUND, &args));
        };
        if table.columns.len() == 1 {
            let args: [&dyn std::fmt::Display; 2] = [&name, &table.name];
            return Err(SqlError::new(&messages::ONLY_DATA_COLUMN, &args));
        }
        let what = "ALTER TABLE DROP COLUMN";
        self.independent(&table, at, true)
            .map_err(|e| self.accessed(e, what, name))?;
        self.db.catalog.drop_column(self.tx, &table, at)
    }

    fn alter_column(
        &self,
        table: &Arc<TableDef>,
        name: &str,
        ty: SqlType,
        nullable: bool,
    ) -> SqlResult<()> {
        let Some(at) = table.column(name) else {
            let args: [&dyn std::fmt::Display; 3] =
                [&"ALTER TABLE ALTER COLUMN", &name, &table.name];
            return Err(SqlError::new(&messages::ALTER_COLUMN_NOT_FOUND, &args));
        };
        let column = &table.columns[at];
        if column.computed.is_some() || column.ty.id == TypeId::RowVersion {
            let what = match &column.computed {
                Some(_) => "COMPUTED",
                None => "timestamp",
            };
            let args: [&dyn std::fmt::Display; 2] = [&name, &what];
            return Err(SqlError::new(&messages::CANNOT_ALTER_COLUMN, &args));
        }
        let old = column.ty;
        let in_key = table
            .indexes
            .iter()
            .any(|i| (i.primary_key || i.clustered) && i.keys.iter().any(|k| k.column == at));
        // A longer string or binary value changes nothing that depends on it.
        let longer = old.id == ty.id
            && ty.is_variable()
            && ty.length >= old.length
            && ty.collation == old.collation;
        let same = (old.id, old.length, old.precision, old.scale, old.collation)
            == (ty.id, ty.length, ty.precision, ty.scale, ty.collation);
        let what = "ALTER TABLE ALTER COLUMN";
        let accessed = |e| self.accessed(e, what, name);
        if !same && !longer {
            self.independent(table, at, true).map_err(accessed)?;
        } else if !same {
            self.independent(table, at, false).map_err(accessed)?;
        }
        let primary = table
            .indexes
            .iter()
            .any(|i| i.primary_key && i.keys.iter().any(|k| k.column == at));
        if primary && nullable || in_key && !same {
            check_indexes(table, at).map_err(accessed)?;
        }
        let identity = column.identity.is_some();
        if identity && (nullable || !duramen_program::table_variable::may_count(&ty)) {
            let args: [&dyn std::fmt::Display; 2] = [&name, &"IDENTITY"];
            return Err(SqlError::new(&messages::CANNOT_ALTER_COLUMN, &args));
        }
        duramen_types::check_implicit(&old, &ty).map_err(|_| {
            let args: [&dyn std::fmt::Display; 2] = [&name, &ty.id.name()];
            SqlError::new(&messages::CANNOT_ALTER_COLUMN_TYPE, &args)
        })?;
        let full = format!("{}.{}.{}", self.db.db.name, table.schema_name, table.name);
        let target = convert::Target::Column {
            table: &full,
            column: &column.name,
        };
        let context = ConvertCtx::default();
        let mut convert = |v: Value| convert::assign(v, &old, &ty, target, &context);
        let catalog = &self.db.catalog;
        catalog
            .alter_column(self.tx, table, at, (ty, nullable), &mut convert)
            .map(|_| ())
    }

    /// 4922 after the 5074 that names what depends on the column.
    fn accessed(&self, e: SqlError, what: &str, column: &str) -> SqlError {
        if e.number != messages::OBJECT_DEPENDS.number {
            return e;
        }
        self.notes.borrow_mut().push(e);
        let args: [&dyn std::fmt::Display; 3] = [&what, &column, &"column"];
        SqlError::new(&messages::OBJECTS_ACCESS_COLUMN, &args).with_state(9)
    }

    /// 5074 when something depends on a column. What depends on its values only (`types` false) are foreign keys and
    /// computed columns.
    fn independent(&self, table: &TableDef, at: usize, types: bool) -> SqlResult<()> {
        let column = &table.columns[at];
        if types && let Some(d) = &column.default {
            return Err(depends("object", &d.name, &column.name));
        }
        if types {
            for c in &table.checks {
                if self.reads(table, &c.text, at)? {
                    return Err(depends("object", &c.name, &column.name));
                }
            }
        }
        for c in &table.columns {
            if let Some(computed) = &c.computed
                && self.reads(table, &computed.text, at)?
            {
                return Err(depends("column", &c.name, &column.name));
            }
        }
        let own = |f: &&duramen_catalog::ForeignKeyDef| f.columns.iter().any(|c| c.0 == column.id);
        if let Some(f) = table.foreign_keys.iter().find(own) {
            return Err(depends("object", &f.name, &column.name));
        }
        for (_, f) in &table.referenced_by {
            if f.columns.iter().any(|c| c.1 == column.id) {
                return Err(depends("object", &f.name, &column.name));
            }
        }
        if types {
            check_indexes(table, at)?;
            let own = |s: &&duramen_catalog::StatisticsDef| {
                !s.automatic() && s.columns.contains(&column.id)
            };
            if let Some(s) = table.statistics.iter().find(own) {
                return Err(depends("statistics", &s.name, &column.name));
            }
            // What SQL Server names here is *assumed*.
            if table.partitioned.as_ref().is_some_and(|p| p.column == at) {
                return Err(depends("object", &table.name, &column.name));
            }
        }
        Ok(())
    }

    /// Whether an expression of the table reads a column.
    fn reads(&self, table: &TableDef, text: &str, at: usize) -> SqlResult<bool> {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let parsed = duramen_tsql::parse_condition(text, &options)
            .or_else(|_| duramen_tsql::parse_expression(text, &options))?;
        let of_table = constraints::of_table(table);
        let bound = self.bound(Exposed::defined(&table.name), &of_table, &parsed)?;
        Ok(bound.columns_read().contains(&at))
    }

    /// The type of a column as ALTER COLUMN gives it.
    fn column_type(
        &self,
        column: (usize, &str),
        ty: &ast::DataType,
        collation: Option<&str>,
        line: u32,
    ) -> SqlResult<SqlType> {
        let declared = self.declared_type(ty, column);
        let (mut resolved, alias) = declared.map_err(|e| e.at_line(line as i32))?;
        if alias.is_some() {
            return Err(refuse("ALTER COLUMN to an alias type", line));
        }
        if resolved.id == TypeId::RowVersion {
            return Err(refuse(
                &format!("columns of type {}", resolved.id.name()),
                line,
            ));
        }
        self.collate(&mut resolved, collation, line)?;
        Ok(resolved)
    }
}

/// A value of an identity column.
fn number(n: i64, ty: &SqlType) -> SqlResult<Value> {
    let overflow = || {
        SqlError::new(
            &messages::ARITHMETIC_OVERFLOW,
            &[&"IDENTITY", &ty.id.name()],
        )
    };
    Value::whole(n, ty).ok_or_else(overflow)
}

fn depends(kind: &str, name: &str, column: &str) -> SqlError {
    let args: [&dyn std::fmt::Display; 4] = [&kind, &name, &"column", &column];
    SqlError::new(&messages::OBJECT_DEPENDS, &args)
}

/// 5074 when an index or key uses the column.
fn check_indexes(table: &TableDef, at: usize) -> SqlResult<()> {
    let used = table
        .indexes
        .iter()
        .find(|i| i.keys.iter().any(|k| k.column == at) || i.includes.contains(&at));
    match used {
        None => Ok(()),
        Some(i) => {
            let constraint = i.primary_key || i.unique_constraint;
            let kind = if constraint { "object" } else { "index" };
            Err(depends(kind, &i.name, &table.columns[at].name))
        }
    }
}

fn has_constraint(table: &TableDef, name: &str) -> bool {
    let name = fold(name);
    let key = |i: &duramen_catalog::IndexDef| {
        (i.primary_key || i.unique_constraint) && fold(&i.name) == name
    };
    let default =
        |c: &duramen_catalog::ColumnDef| c.default.as_ref().is_some_and(|d| fold(&d.name) == name);
    table.indexes.iter().any(key)
        || table.columns.iter().any(default)
        || table.checks.iter().any(|c| fold(&c.name) == name)
        || table.foreign_keys.iter().any(|f| fold(&f.name) == name)
}

pub fn action_name(action: &AlterTableAction) -> &'static str {
    match action {
        AlterTableAction::Rebuild { .. } => "ALTER TABLE REBUILD",
        AlterTableAction::Set { .. } => "ALTER TABLE SET",
        _ => "ALTER TABLE",
    }
}
