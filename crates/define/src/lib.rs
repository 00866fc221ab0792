//! Definitions: CREATE, ALTER and DROP of tables, indexes and their kin, from the tree to the catalog's requests. Here are CREATE TABLE and
//! CREATE INDEX, and what definitions ask of whoever runs them.
//!
//! | module | owns |
//! |---|---|
//! | `alter`, `switch` | ALTER TABLE over rows that are there; whether two tables are alike enough to switch |
//! | `computed`, `identity` | columns that are computed; IDENTITY |
//! | `constraints` | CHECK and FOREIGN KEY |
//! | `drops` | DROP TABLE, DROP INDEX, TRUNCATE TABLE |
//! | `indexes`, `statistics` | what options of indexes mean; CREATE, UPDATE and DROP STATISTICS |
//! | `partitions` | partition functions and schemes |
//! | `schemas`, `types` | schemas; alias types |

#![forbid(unsafe_code)]

pub mod alter;
mod computed;
mod constraints;
mod drops;
mod identity;
pub mod indexes;
mod partitions;
mod schemas;
pub mod statistics;
mod switch;
mod types;

pub use partitions::parameter_type;

use std::cell::RefCell;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::doubt::{self, Doubt};
use duramen_catalog::{
    ConstraintState, NewColumn, NewIndex, NewTable, ObjectKind, Place, TableDef, fold,
};
use duramen_query::Expr;
use duramen_query::host::Host;
use duramen_storage::KeyColumn;
use duramen_tsql::ast;
use duramen_txn::{Acquired, LockDuration, LockMode, Resource, Transaction};
use duramen_types::{CollationId, ConvertCtx, SqlType, TypeId};

use duramen_program::bound::REBINDS;
use duramen_program::normal;

const ABSENT_IN_INDEX: &str = "an index on a computed column that is not PERSISTED";

fn refuse(what: &str, line: u32) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what]).at_line(line as i32)
}

/// What a definition asks of the session, besides what statements ask.
pub trait DefiningHost: Host {
    /// SET ANSI_PADDING.
    fn ansi_padding(&self) -> bool;
    /// Whether a column of the database that says neither NULL nor NOT NULL allows NULL.
    fn null_by_default(&self, database: &str) -> bool;
    fn convert_ctx(&self) -> ConvertCtx;
    /// What a column gets that is given no value.
    fn bind_parsed_default(&self, parsed: &ast::Expr) -> SqlResult<Expr>;
}

/// What a definition is made from besides its tree.
pub struct Ddl<'a> {
    pub db: &'a Arc<OpenDb>,
    pub tx: &'a Transaction,
    /// The batch, for texts of defaults.
    pub text: &'a str,
    /// The session within this statement, to bind and test constraints.
    pub host: Option<&'a dyn DefiningHost>,
    /// What is told before the statement's own result: messages, and errors before the last one.
    pub notes: RefCell<Vec<SqlError>>,
}

impl<'a> Ddl<'a> {
    /// For what needs no text and no constraints: locks, drops.
    pub fn bare(db: &'a Arc<OpenDb>, tx: &'a Transaction) -> Ddl<'a> {
        Ddl {
            db,
            tx,
            text: "",
            host: None,
            notes: RefCell::default(),
        }
    }

    fn host(&self) -> SqlResult<&'a dyn DefiningHost> {
        let missing = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
        self.host.ok_or_else(missing)
    }

    /// Two errors: the first is told, the last is the statement's.
    fn after(&self, first: SqlError, last: &'static messages::Message) -> SqlError {
        let line = first.line;
        self.notes.borrow_mut().push(first);
        SqlError::new(last, &[]).at_line(line)
    }

    /// 1750 after an error of a constraint or index.
    fn not_created(&self, e: SqlError) -> SqlError {
        self.after(e, &messages::CONSTRAINT_NOT_CREATED)
    }

    /// 1750 after the 2714 of a constraint's name, and after the 1908 of a key.
    fn name_taken(&self, e: SqlError) -> SqlError {
        let of_key = e.number == messages::PARTITION_COLUMN_NOT_IN_KEY.number;
        match e.number == messages::OBJECT_ALREADY_EXISTS.number {
            true => self.not_created(e.with_state(5)),
            false if of_key => self.not_created(e),
            false => e,
        }
    }

    /// A message.
    pub fn note(&self, message: SqlError) {
        self.notes.borrow_mut().push(message);
    }

    pub fn create_table(&self, stmt: &ast::CreateTable) -> SqlResult<()> {
        let line = stmt.name.line;
        let snapshot = self.db.catalog.snapshot()?;
        let schema_name = stmt.name.schema().unwrap_or("dbo");
        let schema = snapshot.schema(schema_name).ok_or_else(|| {
            SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&schema_name]).at_line(line as i32)
        })?;
        if snapshot.find(schema.id, stmt.name.name()).is_some() {
            return Err(
                SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&stmt.name.name()])
                    .with_state(6)
                    .at_line(line as i32),
            );
        }
        let mut new = NewTable {
            schema: schema.id,
            name: stmt.name.name().to_owned(),
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            place: Place::Default,
            lob_filegroup: self.filegroup(stmt.textimage_on.as_deref(), line)?,
        };
        for e in &stmt.elements {
            if let ast::TableElement::Column(c) = e {
                self.tx.check_given_up()?;
                new.columns.push(self.column(c, &new)?);
            }
        }
        new.place = self.place(stmt.on.as_ref(), &column_names(&new), line)?;
        if matches!(new.place, Place::Scheme { .. }) && stmt.textimage_on.is_some() {
            let error = SqlError::new(&messages::PARTITIONED_TEXTIMAGE, &[]);
            return Err(error.at_line(line as i32));
        }
        self.type_computed(stmt, &mut new)?;
        for e in &stmt.elements {
            self.tx.check_given_up()?;
            match e {
                ast::TableElement::Column(c) => {
                    self.reads_itself(&new.name, c)?;
                    for constraint in &c.constraints {
                        self.constraint(constraint, &mut new)?;
                    }
                }
                ast::TableElement::Constraint(constraint) => {
                    self.constraint(constraint, &mut new)?
                }
                ast::TableElement::Index(index) => {
                    let index = self.index(index, &column_names(&new))?;
                    new.indexes.push(index);
                }
            }
        }
        // A primary key is clustered unless it says otherwise or another index is.
        if !new.indexes.iter().any(|i| i.clustered)
            && let Some(pk) = new
                .indexes
                .iter_mut()
                .find(|i| i.primary_key && !declared_nonclustered(stmt))
        {
            pk.clustered = true;
        }
        for at in new
            .indexes
            .iter()
            .filter(|i| i.primary_key)
            .flat_map(|i| i.keys.clone())
            .map(|k| k.column)
        {
            let nulls = stmt.elements.iter().any(|e| {
                matches!(e, ast::TableElement::Column(c)
                    if c.nullable == Some(true) && duramen_program::program::same(&c.name, &new.columns[at].name))
            });
            if nulls {
                let error = SqlError::new(&messages::PRIMARY_KEY_NULLABLE, &[&new.name]);
                return Err(self.not_created(error));
            }
            new.columns[at].nullable = false;
        }
        let absent = |c: &usize| {
            let computed = new.columns[*c].computed.as_ref();
            computed.is_some_and(|x| !x.persisted)
        };
        for i in &new.indexes {
            let mut used = i.keys.iter().map(|k| &k.column).chain(&i.includes);
            if used.any(absent) {
                return Err(refuse(ABSENT_IN_INDEX, line));
            }
        }
        self.row_constraints(stmt, &mut new)?;
        self.one_is_clustered(&new)?;
        let table = self.db.catalog.create_table(self.tx, &new);
        let table = table.map_err(|e| self.name_taken(e))?;
        self.new_keys_fit(&table, &new, line)?;
        self.lock(&table, LockMode::SchM)
    }

    /// CHECK and FOREIGN KEY, when all columns and keys are known.
    fn row_constraints(&self, stmt: &ast::CreateTable, new: &mut NewTable) -> SqlResult<()> {
        let columns = constraints::of_new(&new.columns);
        let all = stmt.elements.iter().flat_map(|e| match e {
            ast::TableElement::Column(c) => c.constraints.iter().collect::<Vec<_>>(),
            ast::TableElement::Constraint(c) => vec![c],
            ast::TableElement::Index(_) => Vec::new(),
        });
        // Ids as the catalog will give them: the clustered index is 1, the others follow in their order.
        let mut next = 1;
        let mut keys = Vec::new();
        for i in &new.indexes {
            let id = match i.clustered {
                true => 1,
                false => {
                    next += 1;
                    next
                }
            };
            if i.unique {
                let of_key = i.keys.iter().map(|k| columns[k.column].id);
                keys.push((i.primary_key, id, of_key.collect()));
            }
        }
        let name = new.name.clone();
        let state = ConstraintState::default();
        for c in all {
            self.tx.check_given_up()?;
            match &c.kind {
                ast::ConstraintKind::Check { .. } => {
                    new.checks
                        .push(self.check((new.schema, &name), &columns, c, state)?);
                }
                ast::ConstraintKind::ForeignKey { .. } if name.starts_with('#') => {
                    let key = c.name.as_deref().unwrap_or_default();
                    let message = &messages::FOREIGN_KEY_ON_TEMP_SKIPPED;
                    self.note(SqlError::new(message, &[&key]).at_line(c.line as i32));
                }
                ast::ConstraintKind::ForeignKey { .. } => {
                    let from = constraints::Referring {
                        name: &name,
                        schema: new.schema,
                        table: None,
                        columns: &columns,
                        keys: keys.clone(),
                        others: &new.foreign_keys,
                    };
                    let key = self.locked_key(|| {
                        let key = self.foreign_key(&from, c, state);
                        key.map_err(|e| self.not_created(e))
                    })?;
                    new.foreign_keys.push(key);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A new foreign key as `make` gives it, with a lock on the table that it refers to. That one is changed too: its
    /// plans must test the key from now on. Where it was defined anew while the lock was waited for the key is made again.
    fn locked_key(
        &self,
        make: impl Fn() -> SqlResult<duramen_catalog::NewForeignKey>,
    ) -> SqlResult<duramen_catalog::NewForeignKey> {
        for _ in 0..REBINDS {
            let key = make()?;
            let locked = match self.db.catalog.table(key.referenced)? {
                Some(table) => self.lock(&table, LockMode::SchM),
                None => return Ok(key),
            };
            match locked {
                Err(e) if is_changed(&e) => doubt::dismiss(),
                done => return done.map(|()| key),
            }
        }
        make()
    }

    fn column(&self, c: &ast::ColumnDef, table: &NewTable) -> SqlResult<NewColumn> {
        let line = c.line as i32;
        let Some(ty) = &c.ty else {
            return self.computed_column(c);
        };
        if table
            .columns
            .iter()
            .any(|o| duramen_program::program::same(&o.name, &c.name))
        {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &table.name];
            return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args)
                .with_state(3)
                .at_line(line));
        }
        if c.rowguidcol && table.columns.iter().any(|o| o.rowguid) {
            return Err(SqlError::new(&messages::SECOND_ROWGUIDCOL, &[]).at_line(line));
        }
        let nth = table.columns.len() + 1;
        let declared = self.declared_type(ty, (nth, &c.name));
        let (mut resolved, alias) = declared.map_err(|e| {
            let e = e.at_line(line);
            match e.number == messages::DATA_TYPE_NOT_FOUND.number {
                true => e.with_state(6),
                false => e,
            }
        })?;
        let pads = resolved.id.is_char() || resolved.id.is_binary();
        if pads && self.host.is_some_and(|h| !h.ansi_padding()) {
            let what = format!(
                "columns of type {} under ANSI_PADDING OFF",
                resolved.id.name()
            );
            return Err(refuse(&what, c.line));
        }
        if resolved.id == TypeId::RowVersion
            && table.columns.iter().any(|o| o.ty.id == TypeId::RowVersion)
        {
            let args: [&dyn std::fmt::Display; 2] = [&table.name, &c.name];
            return Err(SqlError::new(&messages::SECOND_TIMESTAMP, &args).at_line(line));
        }
        if c.rowguidcol && resolved.id != TypeId::UniqueIdentifier {
            return Err(refuse(
                "ROWGUIDCOL on a column that is no uniqueidentifier",
                c.line,
            ));
        }
        if alias.is_none() || c.collation.is_some() {
            self.collate(&mut resolved, c.collation.as_deref(), c.line)?;
        }
        let identity = identity::of(c, &resolved, &table.name)?;
        let default = match &c.default {
            None => None,
            Some(d) => Some((d.name.clone(), self.default_text(d, c.line)?)),
        };
        let of_type = match &alias {
            Some(t) => t.nullable,
            // A timestamp column is NOT NULL unless it says otherwise.
            None => {
                let by_default = || {
                    self.host
                        .is_none_or(|h| h.null_by_default(&self.db.db.name))
                };
                sysname_id(ty) == 0 && resolved.id != TypeId::RowVersion && by_default()
            }
        };
        let nullable = c.nullable.unwrap_or(identity.is_none() && of_type);
        Ok(NewColumn {
            name: c.name.clone(),
            ty: resolved,
            nullable,
            identity,
            default,
            computed: None,
            rowguid: c.rowguidcol,
            user_type: alias.map_or(sysname_id(ty), |t| t.id),
        })
    }

    /// The filegroup of an ON clause; 0 where none is named. 1921 when there is none of that name.
    fn filegroup(&self, name: Option<&str>, line: u32) -> SqlResult<u16> {
        match name {
            None => Ok(0),
            Some(n) if n.eq_ignore_ascii_case("default") => Ok(self.db.db.default_filegroup()),
            Some(n) => self.db.db.filegroup(n).map(|g| g.id).ok_or_else(|| {
                let args: [&dyn std::fmt::Display; 2] = [&"filegroup", &n];
                SqlError::new(&messages::INVALID_PLACE, &args).at_line(line as i32)
            }),
        }
    }

    /// The collation of a column: the one named, else the database's.
    fn collate(&self, ty: &mut SqlType, named: Option<&str>, line: u32) -> SqlResult<()> {
        let of_database = CollationId(self.db.db.boot().collation);
        if ty.id.is_string() && of_database.name().is_some() {
            ty.collation = of_database;
        }
        let own = |name: &&str| !name.eq_ignore_ascii_case("database_default");
        if let Some(name) = named.filter(own) {
            let id = CollationId::from_name(name);
            ty.collation = id.ok_or_else(|| {
                SqlError::new(&messages::INVALID_COLLATION, &[&name]).at_line(line as i32)
            })?;
        }
        Ok(())
    }

    /// The text of a default as the catalog keeps it.
    fn default_text(&self, d: &ast::DefaultSpec, line: u32) -> SqlResult<String> {
        let text = match normal::normal(&d.expr) {
            Some(text) => text,
            None => self.source(d.source, line)?,
        };
        // What rows would be refused for later.
        if let Some(host) = self.host {
            host.bind_parsed_default(&d.expr)
                .map_err(|e| e.at_line(line as i32))?;
        }
        Ok(text)
    }

    /// The text of an expression, in parentheses as the catalog keeps it.
    fn source(&self, span: ast::Span, line: u32) -> SqlResult<String> {
        let text = self.text.get(span.start as usize..span.end as usize);
        let text = text
            .ok_or_else(|| refuse("a default outside its batch", line))?
            .trim();
        let wrapped = text.starts_with('(') && text.ends_with(')');
        // As SQL Server keeps numbers.
        if text.parse::<f64>().is_ok() && text.ends_with(|c: char| c.is_ascii_digit()) {
            return Ok(format!("(({text}))"));
        }
        Ok(if wrapped {
            text.to_owned()
        } else {
            format!("({text})")
        })
    }

    fn constraint(&self, c: &ast::TableConstraint, new: &mut NewTable) -> SqlResult<()> {
        match &c.kind {
            ast::ConstraintKind::Key {
                primary,
                clustered,
                columns,
                options,
                on,
            } => {
                let options = indexes::key_options(options, c.line)?;
                if *primary && new.indexes.iter().any(|i| i.primary_key) {
                    return Err(SqlError::new(&messages::SECOND_PRIMARY_KEY, &[&new.name])
                        .with_state(0)
                        .at_line(c.line as i32));
                }
                let of = (c.name.as_deref().unwrap_or(""), new.name.as_str());
                let keys = keys(columns, &column_names(new), of, c.line)?;
                new.indexes.push(NewIndex {
                    name: c.name.clone(),
                    unique: true,
                    clustered: *clustered == Some(true),
                    primary_key: *primary,
                    unique_constraint: !primary,
                    keys,
                    includes: Vec::new(),
                    options,
                    place: self.place(on.as_ref(), &column_names(new), c.line)?,
                });
                Ok(())
            }
            // Declared when all columns and keys are known.
            ast::ConstraintKind::Check { .. } | ast::ConstraintKind::ForeignKey { .. } => Ok(()),
            ast::ConstraintKind::Default { .. } => Err(refuse("DEFAULT ... FOR", c.line)),
        }
    }

    fn index(&self, stmt: &ast::CreateIndex, columns: &[String]) -> SqlResult<NewIndex> {
        let (options, _) = indexes::options_of(&stmt.options, stmt.unique)?;
        let keys = keys(
            &stmt.columns,
            columns,
            (&stmt.name, stmt.table.as_ref().map_or("", |t| t.name())),
            stmt.line,
        )?;
        let mut includes = Vec::new();
        for name in &stmt.include {
            let at = position(name, columns, stmt.line)?;
            if includes.contains(&at) || keys.iter().any(|k| k.column == at) {
                return Err(duplicate(name, stmt.line));
            }
            includes.push(at);
        }
        Ok(NewIndex {
            name: Some(stmt.name.clone()),
            unique: stmt.unique,
            clustered: stmt.clustered == Some(true),
            primary_key: false,
            unique_constraint: false,
            keys,
            includes,
            options,
            place: self.place(stmt.on.as_ref(), columns, stmt.line)?,
        })
    }

    pub fn create_index(&self, stmt: &ast::CreateIndex) -> SqlResult<()> {
        let Some(name) = &stmt.table else {
            return Err(refuse("CREATE INDEX without a table", stmt.line));
        };
        let found = self.locked_table(name, (&messages::OBJECT_NOT_FOUND, 12));
        let table = match found {
            Err(_) if self.is_view(name)? => return Err(refuse("an index on a view", stmt.line)),
            found => found?,
        };
        let (_, existing) = indexes::options_of(&stmt.options, stmt.unique)?;
        let table = match existing {
            true => self.drop_existing(&table, stmt)?,
            false => table,
        };
        if table.index(&stmt.name).is_some() || table.statistics(&stmt.name).is_some() {
            let args: [&dyn std::fmt::Display; 3] = [&stmt.name, &"table", &name.display()];
            return Err(
                SqlError::new(&messages::INDEX_ALREADY_EXISTS, &args).at_line(stmt.line as i32)
            );
        }
        let columns: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
        let new = self.index(stmt, &columns)?;
        let absent = |c: &usize| !table.columns[*c].is_stored();
        let mut used = new.keys.iter().map(|k| &k.column).chain(&new.includes);
        if used.any(absent) {
            return Err(refuse(ABSENT_IN_INDEX, stmt.line));
        }
        self.keys_fit(&table, &new)?;
        let threads = self.build_threads(&table, &stmt.options)?;
        self.db
            .catalog
            .create_index(self.tx, &table, &new, threads)?;
        Ok(())
    }

    /// `missing`: what is said, and in which state, when there is no such table.
    fn table(
        &self,
        name: &ast::ObjectName,
        missing: (&'static messages::Message, u8),
    ) -> SqlResult<Arc<TableDef>> {
        let snapshot = self.db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let table = schema
            .and_then(|s| snapshot.find_table(s.id, name.name()))
            .cloned();
        table
            .filter(|t| t.kind == ObjectKind::TABLE)
            .ok_or_else(|| {
                SqlError::new(missing.0, &[&name.display()])
                    .with_state(missing.1)
                    .at_line(name.line as i32)
            })
    }

    /// As [`Ddl::locked`], for the name of a table.
    fn locked_table(
        &self,
        name: &ast::ObjectName,
        missing: (&'static messages::Message, u8),
    ) -> SqlResult<Arc<TableDef>> {
        self.locked(LockMode::SchM, || self.table(name, missing))
    }

    /// The table that `find` gives as it is once its lock is held: one that was defined anew while the lock was waited for
    /// is looked for again.
    pub(crate) fn locked(
        &self,
        mode: LockMode,
        find: impl Fn() -> SqlResult<Arc<TableDef>>,
    ) -> SqlResult<Arc<TableDef>> {
        for _ in 0..REBINDS {
            let table = find()?;
            match self.lock(&table, mode) {
                Err(e) if is_changed(&e) => doubt::dismiss(),
                done => return done.map(|()| table),
            }
        }
        let table = find()?;
        self.lock(&table, mode).map(|()| table)
    }

    /// Locks a table that a change of another concerns, whatever it has become meanwhile; nothing where it has gone.
    fn lock_other(&self, id: ObjectId) -> SqlResult<()> {
        for _ in 0..REBINDS {
            let Some(other) = self.db.catalog.table(id)? else {
                return Ok(());
            };
            match self.lock(&other, LockMode::SchM) {
                Err(e) if is_changed(&e) => doubt::dismiss(),
                done => return done,
            }
        }
        Ok(())
    }

    pub fn lock(&self, table: &TableDef, mode: LockMode) -> SqlResult<()> {
        let resource = Resource::Object(self.db.db.id, table.id);
        let locks = &self.db.db.engine.locks;
        let outcome = locks.lock(
            &self.tx.owner,
            &resource,
            mode,
            LockDuration::Normal,
            self.tx.lock_timeout(),
        );
        let outcome = outcome.map_err(|e| {
            duramen_txn::errors::lock_error(e, self.tx.spid())
                .unwrap_or_else(duramen_query::cancelled)
        })?;
        // Whoever held the lock may have dropped or changed it.
        let new = outcome.acquired != Acquired::Already;
        if new && !duramen_access::stored::is_current(self.db, table)? {
            // Whoever does not look again by itself begins again.
            doubt::put_back(Some(Doubt::Over));
            return Err(duramen_access::stored::changed(table).with_state(2));
        }
        match mode {
            LockMode::SchM => self.db.db.note_definition(self.tx, table.id),
            _ => Ok(()),
        }
    }
}

/// The lock is held, but what it was asked for has been defined anew.
fn is_changed(e: &SqlError) -> bool {
    (e.number, e.state) == (messages::DEFINITION_CHANGED.number, 2)
}

/// `sysname` is a type of its own to the catalog.
fn sysname_id(ty: &ast::DataType) -> i32 {
    match ty.name.name().eq_ignore_ascii_case("sysname") {
        true => 256,
        false => 0,
    }
}

fn declared_nonclustered(stmt: &ast::CreateTable) -> bool {
    let of = |c: &ast::TableConstraint| {
        matches!(
            c.kind,
            ast::ConstraintKind::Key {
                primary: true,
                clustered: Some(false),
                ..
            }
        )
    };
    stmt.elements.iter().any(|e| match e {
        ast::TableElement::Column(c) => c.constraints.iter().any(of),
        ast::TableElement::Constraint(c) => of(c),
        ast::TableElement::Index(_) => false,
    })
}

fn column_names(new: &NewTable) -> Vec<String> {
    new.columns.iter().map(|c| c.name.clone()).collect()
}

fn position(name: &str, columns: &[String], line: u32) -> SqlResult<usize> {
    let at = columns.iter().position(|c| fold(c) == fold(name));
    at.ok_or_else(|| {
        SqlError::new(&messages::INDEX_COLUMN_DOES_NOT_EXIST, &[&name]).at_line(line as i32)
    })
}

/// Key columns of an index or a constraint at most.
const KEYS_MAX: usize = 32;

/// The key of an index, which has this name on a table of that one.
/// 1909
fn duplicate(column: &str, line: u32) -> SqlError {
    let args: [&dyn std::fmt::Display; 2] = [&"index", &column];
    SqlError::new(&messages::DUPLICATE_KEY_COLUMN, &args).at_line(line as i32)
}

fn keys(
    columns: &[ast::IndexColumn],
    names: &[String],
    (index, table): (&str, &str),
    line: u32,
) -> SqlResult<Vec<KeyColumn>> {
    if columns.len() > KEYS_MAX {
        let args: [&dyn std::fmt::Display; 6] = [
            &"index",
            &index,
            &table,
            &columns.len(),
            &"index",
            &KEYS_MAX,
        ];
        return Err(SqlError::new(&messages::TOO_MANY_KEY_COLUMNS, &args).at_line(line as i32));
    }
    let mut out: Vec<KeyColumn> = Vec::new();
    for c in columns {
        let column = position(&c.name, names, line)?;
        if out.iter().any(|k| k.column == column) {
            return Err(duplicate(&c.name, line));
        }
        out.push(KeyColumn {
            column,
            desc: c.desc,
        });
    }
    Ok(out)
}
