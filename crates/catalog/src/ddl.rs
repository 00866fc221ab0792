//! Creating, changing and dropping objects: rows, pages, and the cached snapshot along with them.
//!
//! The caller holds Sch-M on the object (a new one needs none) and has checked permissions and types.

use std::sync::Arc;

use duramen_base::{AllocUnitId, ObjectId, RowsetId, SqlError, SqlResult, messages};
use duramen_storage::StorageError;
use duramen_storage::{KeyColumn, LockHint, RowsetDef, ScanSpec};
use duramen_txn::Transaction;
use duramen_types::{SqlType, Value};

use crate::bootstrap::{self, CLASS_SCHEMA, COLUMN_IDENTITY};
use crate::catalog::{CatalogDb, now};
use crate::def::*;
use crate::describe;
use crate::identity::{IdentityState, encode_idtval};
use crate::load::{self, REF_FK_COLUMN, REF_FK_REFERENCED, REF_FK_TABLE, VALUE_TEXT};
use crate::rows::{Base, Fields, id};
use crate::shape::{Keys, RowsetIds, data_rowset, index_rowset};

/// A column to create.
#[derive(Clone, Debug)]
pub struct NewColumn {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: Option<Identity>,
    /// Name of the constraint (made up when `None`) and expression text.
    pub default: Option<(Option<String>, String)>,
}

/// An index, PRIMARY KEY or UNIQUE constraint to create.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// Made up for constraints when `None`.
    pub name: Option<String>,
    pub unique: bool,
    pub clustered: bool,
    pub primary_key: bool,
    pub unique_constraint: bool,
    pub keys: Vec<KeyColumn>,
    pub includes: Vec<usize>,
}

/// A check constraint to create.
#[derive(Clone, Debug)]
pub struct NewCheck {
    pub name: Option<String>,
    pub text: String,
    /// Column id when it was declared with a column.
    pub column: i32,
}

/// A foreign key to create.
#[derive(Clone, Debug)]
pub struct NewForeignKey {
    pub name: Option<String>,
    pub referenced: ObjectId,
    /// The index of the referenced table that makes the columns unique.
    pub referenced_index: u16,
    pub columns: Vec<(i32, i32)>,
    pub on_delete: u8,
    pub on_update: u8,
}

/// A table to create. At most one index is clustered.
#[derive(Clone, Debug)]
pub struct NewTable {
    pub schema: i32,
    pub name: String,
    pub columns: Vec<NewColumn>,
    pub indexes: Vec<NewIndex>,
    pub checks: Vec<NewCheck>,
    pub foreign_keys: Vec<NewForeignKey>,
}

/// A constraint's name when the user gave none: prefix, table, number.
fn made_up(prefix: &str, table: &str, column: &str, id: ObjectId) -> String {
    let cut = |s: &str, n: usize| s.chars().take(n).collect::<String>();
    if column.is_empty() {
        format!("{prefix}__{}__{:08X}", cut(table, 9), id.0)
    } else {
        format!(
            "{prefix}__{}__{}__{:08X}",
            cut(table, 9),
            cut(column, 5),
            id.0
        )
    }
}

impl CatalogDb {
    fn base<'a>(&'a self, tx: &'a Transaction) -> Base<'a> {
        Base {
            db: self.database(),
            tx,
        }
    }

    fn new_ids(
        &self,
        tx: &Transaction,
        object: ObjectId,
        index: u16,
        lob: bool,
    ) -> SqlResult<RowsetIds> {
        let next = || -> SqlResult<AllocUnitId> {
            Ok(AllocUnitId::from_parts(
                256,
                self.database().next_alloc_unit(tx)?,
            ))
        };
        let au = next()?;
        Ok(RowsetIds {
            object,
            rowset: RowsetId(au.0),
            index_id: index,
            au,
            lob_au: if lob { Some(next()?) } else { None },
        })
    }

    /// The row of a constraint, module or table in `sysschobjs`, and the cached object.
    #[allow(clippy::too_many_arguments)]
    fn add_object(
        &self,
        base: &Base<'_>,
        schema: i32,
        name: &str,
        kind: ObjectKind,
        parent: ObjectId,
        parent_column: i32,
        status: i64,
    ) -> SqlResult<ObjectDef> {
        if self.snapshot()?.find(schema, name).is_some() {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        let time = now();
        let object = ObjectDef {
            id: self.next_object_id()?,
            schema,
            name: name.to_owned(),
            kind,
            parent,
            parent_column,
            created: time,
            modified: time,
        };
        self.insert_object(base, &object, status)?;
        Ok(object)
    }

    fn insert_object(&self, base: &Base<'_>, o: &ObjectDef, status: i64) -> SqlResult<()> {
        base.insert(
            Fields::new(id::SCHOBJS)?
                .int("id", i64::from(o.id.0))
                .text("name", &o.name)
                .int("nsid", i64::from(o.schema))
                .int("status", status)
                .set("type", Value::varchar(o.kind.as_str()))
                .int("pid", i64::from(o.parent.0))
                .int("pclass", 1)
                .int("intprop", i64::from(o.parent_column))
                .set("created", Value::DateTime(o.created))
                .set("modified", Value::DateTime(o.modified)),
        )?;
        let cached = o.clone();
        self.patch(|s, _| s.add_object(cached));
        Ok(())
    }

    fn add_text(&self, base: &Base<'_>, object: ObjectId, text: &str) -> SqlResult<()> {
        let (value, bytes) = load::encode_text(text);
        base.insert(
            Fields::new(id::OBJVALUES)?
                .int("valclass", VALUE_TEXT)
                .int("objid", i64::from(object.0))
                .set("value", value)
                .set("imageval", bytes),
        )
    }

    /// Creates a table with its indexes and constraints.
    pub fn create_table(&self, tx: &Transaction, new: &NewTable) -> SqlResult<Arc<TableDef>> {
        let snapshot = self.snapshot()?;
        let schema = snapshot
            .schemas
            .get(&new.schema)
            .ok_or_else(|| SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&new.schema]))?;
        check_columns(new)?;
        let base = self.base(tx);
        let object = self.add_object(
            &base,
            new.schema,
            &new.name,
            ObjectKind::TABLE,
            ObjectId(0),
            0,
            917_504,
        )?;
        let mut columns = Vec::new();
        for (column_id, c) in (1..).zip(&new.columns) {
            columns.push(self.create_column(&base, &object, column_id, c)?);
        }
        let specs: Vec<_> = columns
            .iter()
            .map(|c| duramen_storage::format::ColumnSpec::new(c.ty, c.nullable))
            .collect();
        let lob = columns.iter().any(|c| c.ty.is_max());
        let clustered = new.indexes.iter().find(|i| i.clustered);
        let ids = self.new_ids(tx, object.id, u16::from(clustered.is_some()), lob)?;
        let keys = clustered.map(|i| Keys {
            columns: &i.keys,
            unique: i.unique,
        });
        let data = Arc::new(data_rowset(&ids, &specs, keys));
        let mut table = TableDef {
            id: object.id,
            schema: new.schema,
            schema_name: schema.name.clone(),
            name: new.name.clone(),
            kind: ObjectKind::TABLE,
            columns,
            indexes: Vec::new(),
            data: data.clone(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            created: object.created,
            modified: object.modified,
            version: 0,
        };
        check_row_size(&table)?;
        self.database().create_storage(tx, &data)?;
        describe::storage_rows(&base, &data, &describe::data_column_ids(&table))?;
        if clustered.is_none() {
            describe::heap_row(&base, &data)?;
        }
        // The clustered index is already there; it only needs its name.
        for index in clustered
            .into_iter()
            .chain(new.indexes.iter().filter(|i| !i.clustered))
        {
            let index = self.add_index(&base, &table, index)?;
            table.indexes.push(index);
        }
        for c in &new.checks {
            let check = self.create_check(&base, &table, c)?;
            table.checks.push(check);
        }
        for f in &new.foreign_keys {
            let key = self.create_foreign_key(&base, &table, f)?;
            table.foreign_keys.push(key);
        }
        Ok(self.publish(table))
    }

    /// Puts a definition into the cached snapshot.
    fn publish(&self, table: TableDef) -> Arc<TableDef> {
        let mut out = Arc::new(table.clone());
        self.patch(|s, version| {
            let stamped = Arc::new(TableDef { version, ..table });
            out = stamped.clone();
            s.tables.insert(stamped.id, stamped);
        });
        out
    }

    fn create_column(
        &self,
        base: &Base<'_>,
        table: &ObjectDef,
        column_id: i32,
        c: &NewColumn,
    ) -> SqlResult<ColumnDef> {
        let mut row = bootstrap::column_row(table.id.0, column_id, &c.name, &c.ty, c.nullable)?;
        let mut default = None;
        if let Some((name, text)) = &c.default {
            let name = match name {
                Some(n) => n.clone(),
                None => made_up("DF", &table.name, &c.name, self.peek_id()?),
            };
            let object = self.add_object(
                base,
                table.schema,
                &name,
                ObjectKind::DEFAULT,
                table.id,
                column_id,
                131_076,
            )?;
            self.add_text(base, object.id, text)?;
            row = row.int("dflt", i64::from(object.id.0));
            default = Some(DefaultDef {
                id: object.id,
                name,
                text: text.clone(),
            });
        }
        if let Some(identity) = c.identity {
            let state = IdentityState {
                identity,
                last: None,
            };
            let status = row.values[10].as_i64().unwrap_or(0) | COLUMN_IDENTITY;
            row = row
                .int("status", status)
                .set("idtval", Value::Binary(encode_idtval(&state)));
        }
        base.insert(row)?;
        Ok(ColumnDef {
            id: column_id,
            name: c.name.clone(),
            ty: c.ty,
            nullable: c.nullable,
            identity: c.identity,
            default,
        })
    }

    /// An id only to make a name different from others.
    fn peek_id(&self) -> SqlResult<ObjectId> {
        self.next_object_id()
    }

    fn create_check(&self, base: &Base<'_>, table: &TableDef, c: &NewCheck) -> SqlResult<CheckDef> {
        let column = table.columns.iter().find(|d| d.id == c.column);
        let name = match &c.name {
            Some(n) => n.clone(),
            None => {
                let column = column.map_or("", |c| c.name.as_str());
                made_up("CK", &table.name, column, self.peek_id()?)
            }
        };
        let kind = ObjectKind::CHECK;
        let object = self.add_object(base, table.schema, &name, kind, table.id, c.column, 4)?;
        self.add_text(base, object.id, &c.text)?;
        Ok(CheckDef {
            id: object.id,
            name,
            text: c.text.clone(),
        })
    }

    fn create_foreign_key(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        f: &NewForeignKey,
    ) -> SqlResult<ForeignKeyDef> {
        let first = f.columns.first().map_or(0, |c| c.0);
        let name = match &f.name {
            Some(n) => n.clone(),
            None => {
                let column = table.columns.iter().find(|c| c.id == first);
                let column = column.map_or("", |c| c.name.as_str());
                made_up("FK", &table.name, column, self.peek_id()?)
            }
        };
        let kind = ObjectKind::FOREIGN_KEY;
        let object = self.add_object(base, table.schema, &name, kind, table.id, first, 4)?;
        let reference = |class: i64, sub: i64, to: ObjectId, to_sub: i64, status: i64| {
            Ok::<Fields, SqlError>(
                Fields::new(id::SINGLEOBJREFS)?
                    .int("class", class)
                    .int("depid", i64::from(object.id.0))
                    .int("depsubid", sub)
                    .int("indepid", i64::from(to.0))
                    .int("indepsubid", to_sub)
                    .int("status", status),
            )
        };
        let actions = i64::from(f.on_delete & 3) | i64::from(f.on_update & 3) << 2;
        let index = i64::from(f.referenced_index);
        base.insert(reference(REF_FK_TABLE, 0, f.referenced, index, actions)?)?;
        for (ordinal, (here, there)) in (1..).zip(&f.columns) {
            base.insert(reference(
                REF_FK_COLUMN,
                ordinal,
                table.id,
                i64::from(*here),
                0,
            )?)?;
            base.insert(reference(
                REF_FK_REFERENCED,
                ordinal,
                f.referenced,
                i64::from(*there),
                0,
            )?)?;
        }
        Ok(ForeignKeyDef {
            id: object.id,
            name,
            referenced: f.referenced,
            columns: f.columns.clone(),
            on_delete: f.on_delete,
            on_update: f.on_update,
        })
    }

    /// The rows and pages of an index of a table whose data rowset exists; not its entries.
    fn add_index(&self, base: &Base<'_>, table: &TableDef, new: &NewIndex) -> SqlResult<IndexDef> {
        let constraint = new.primary_key || new.unique_constraint;
        let name = match &new.name {
            Some(n) => n.clone(),
            None => {
                let prefix = if new.primary_key { "PK" } else { "UQ" };
                made_up(prefix, &table.name, "", self.peek_id()?)
            }
        };
        if table.index(&name).is_some() {
            let args: [&dyn std::fmt::Display; 3] = [&name, &"table", &table.name];
            return Err(SqlError::new(&messages::INDEX_ALREADY_EXISTS, &args));
        }
        if new.primary_key && table.indexes.iter().any(|i| i.primary_key) {
            return Err(SqlError::new(
                &messages::PRIMARY_KEY_ALREADY_DEFINED,
                &[&table.name],
            ));
        }
        if new.primary_key && new.keys.iter().any(|k| table.columns[k.column].nullable) {
            return Err(SqlError::new(
                &messages::PRIMARY_KEY_NULLABLE,
                &[&table.name],
            ));
        }
        if constraint {
            let kind = if new.primary_key {
                ObjectKind::PRIMARY_KEY
            } else {
                ObjectKind::UNIQUE
            };
            self.add_object(base, table.schema, &name, kind, table.id, 0, 0)?;
        }
        let (index_id, rowset, sources, locator) = if new.clustered {
            (1, table.data.clone(), Vec::new(), Vec::new())
        } else {
            let last = table.indexes.iter().map(|i| i.id).max().unwrap_or(1);
            let index_id = last.max(1) + 1;
            let ids = self.new_ids(base.tx, table.id, index_id, false)?;
            let keys = Keys {
                columns: &new.keys,
                unique: new.unique,
            };
            let (def, sources, locator) =
                index_rowset(&ids, &table.specs(), &table.data, keys, &new.includes);
            self.database().create_storage(base.tx, &def)?;
            describe::storage_rows(base, &def, &describe::index_column_ids(&sources))?;
            (index_id, Arc::new(def), sources, locator)
        };
        let index = IndexDef {
            id: index_id,
            name,
            unique: new.unique,
            clustered: new.clustered,
            primary_key: new.primary_key,
            unique_constraint: new.unique_constraint,
            keys: new.keys.clone(),
            includes: new.includes.clone(),
            rowset,
            sources,
            locator,
        };
        describe::index_rows(base, table, &index)?;
        Ok(index)
    }

    /// Creates an index (or key constraint) on a table and fills it. A clustered one rebuilds the table.
    pub fn create_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        new: &NewIndex,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let mut table = table.clone();
        if new.clustered {
            if !table.is_heap() {
                let name = table.indexes.first().map_or("", |i| i.name.as_str());
                let args: [&dyn std::fmt::Display; 3] = [&"table", &table.name, &name];
                return Err(SqlError::new(
                    &messages::MORE_THAN_ONE_CLUSTERED_INDEX,
                    &args,
                ));
            }
            let keys = Some((new.keys.clone(), new.unique));
            return self.rebuild(tx, &table, keys, Some(new));
        }
        let index = self.add_index(&base, &table, new)?;
        self.fill(tx, &table, &index)?;
        table.indexes.push(index);
        Ok(self.publish(table))
    }

    /// Inserts the entries of every row of the table into an index.
    fn fill(&self, tx: &Transaction, table: &TableDef, index: &IndexDef) -> SqlResult<()> {
        let target = self.database().rowset(&index.rowset);
        let data = self.database().rowset(&table.data);
        let mut cursor = data.scan(tx, ScanSpec::all(LockHint::None))?;
        while let Some((at, row)) = cursor.next(tx)? {
            let entry = index.entry(&row, &at);
            target
                .insert(tx, &entry)
                .map_err(|e| duplicate(e, table, index, &entry))?;
        }
        Ok(())
    }

    /// Moves the rows of a table into a new heap or clustered index and makes its nonclustered indexes again.
    fn rebuild(
        &self,
        tx: &Transaction,
        table: &TableDef,
        clustered: Option<(Vec<KeyColumn>, bool)>,
        named: Option<&NewIndex>,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let lob = table.columns.iter().any(|c| c.ty.is_max());
        let ids = self.new_ids(tx, table.id, u16::from(clustered.is_some()), lob)?;
        let keys = clustered.as_ref().map(|(columns, unique)| Keys {
            columns,
            unique: *unique,
        });
        let data = Arc::new(data_rowset(&ids, &table.specs(), keys));
        let mut next = TableDef {
            data: data.clone(),
            indexes: Vec::new(),
            ..table.clone()
        };
        self.database().create_storage(tx, &data)?;
        let old = self.database().rowset(&table.data);
        let new = self.database().rowset(&data);
        let mut cursor = old.scan(tx, ScanSpec::all(LockHint::None))?;
        while let Some((_, mut row)) = cursor.next(tx)? {
            row.truncate(table.columns.len());
            new.insert(tx, &row).map_err(|e| match (&e, named) {
                (StorageError::DuplicateKey { .. }, Some(n)) => {
                    let name = n.name.clone().unwrap_or_default();
                    duplicate_key(table, &name, &key_text(&row, &n.keys))
                }
                _ => e.into(),
            })?;
        }
        // Old definitions and pages go; then everything is declared again.
        for index in &table.indexes {
            self.delete_index_rows(&base, table, index.id)?;
            if !index.clustered {
                describe::delete_storage_rows(&base, &index.rowset)?;
                self.database().drop_storage(tx, &index.rowset)?;
            }
        }
        self.delete_index_rows(&base, table, 0)?;
        describe::delete_storage_rows(&base, &table.data)?;
        self.database().drop_storage(tx, &table.data)?;
        describe::storage_rows(&base, &data, &describe::data_column_ids(&next))?;
        if clustered.is_none() {
            describe::heap_row(&base, &data)?;
        }
        if let Some(n) = named {
            let index = self.add_index(&base, &next, n)?;
            next.indexes.push(index);
        }
        for index in table.nonclustered() {
            let index = self.remake(&base, &next, index)?;
            self.fill(tx, &next, &index)?;
            next.indexes.push(index);
        }
        Ok(self.publish(next))
    }

    /// A nonclustered index again, over another data rowset; names and constraint objects stay.
    fn remake(&self, base: &Base<'_>, table: &TableDef, old: &IndexDef) -> SqlResult<IndexDef> {
        let ids = self.new_ids(base.tx, table.id, old.id, false)?;
        let keys = Keys {
            columns: &old.keys,
            unique: old.unique,
        };
        let (def, sources, locator) =
            index_rowset(&ids, &table.specs(), &table.data, keys, &old.includes);
        self.database().create_storage(base.tx, &def)?;
        describe::storage_rows(base, &def, &describe::index_column_ids(&sources))?;
        let index = IndexDef {
            rowset: Arc::new(def),
            sources,
            locator,
            ..old.clone()
        };
        describe::index_rows(base, table, &index)?;
        Ok(index)
    }

    fn delete_index_rows(&self, base: &Base<'_>, table: &TableDef, index: u16) -> SqlResult<()> {
        let key = [Value::Int(table.id.0), Value::Int(i32::from(index))];
        base.delete(id::IDXSTATS, &key, |_| true)?;
        base.delete(id::ISCOLS, &key, |_| true)?;
        Ok(())
    }

    /// Drops an index or key constraint. Dropping the clustered one leaves a heap.
    pub fn drop_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        name: &str,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let index = table
            .index(name)
            .cloned()
            .ok_or_else(|| SqlError::new(&messages::CANNOT_DROP, &[&"drop", &"index", &name]))?;
        if index.primary_key || index.unique_constraint {
            let object = self
                .snapshot()?
                .find(table.schema, &index.name)
                .map(|o| o.id);
            if let Some(object) = object {
                self.delete_object(&base, object)?;
            }
        }
        if index.clustered {
            let mut rest = table.clone();
            rest.indexes.retain(|i| i.id != index.id);
            self.delete_index_rows(&base, table, index.id)?;
            return self.rebuild(tx, &rest, None, None);
        }
        self.delete_index_rows(&base, table, index.id)?;
        describe::delete_storage_rows(&base, &index.rowset)?;
        self.database().drop_storage(tx, &index.rowset)?;
        let mut next = table.clone();
        next.indexes.retain(|i| i.id != index.id);
        Ok(self.publish(next))
    }

    /// Drops a table with everything that belongs to it. The caller has checked that no foreign key refers to it.
    pub fn drop_table(&self, tx: &Transaction, table: &TableDef) -> SqlResult<()> {
        let base = self.base(tx);
        let snapshot = self.snapshot()?;
        let children: Vec<ObjectId> = snapshot
            .objects
            .values()
            .filter(|o| o.parent == table.id)
            .map(|o| o.id)
            .collect();
        for child in children {
            self.delete_object(&base, child)?;
        }
        let mut rowsets: Vec<&Arc<RowsetDef>> = vec![&table.data];
        rowsets.extend(table.nonclustered().map(|i| &i.rowset));
        for rowset in rowsets {
            describe::delete_storage_rows(&base, rowset)?;
            self.database().drop_storage(tx, rowset)?;
        }
        let key = [Value::Int(table.id.0)];
        base.delete(id::IDXSTATS, &key, |_| true)?;
        base.delete(id::ISCOLS, &key, |_| true)?;
        base.delete(id::COLPARS, &key, |_| true)?;
        self.forget_identity(table.id);
        self.delete_object(&base, table.id)
    }

    /// The `sysschobjs` row of an object, its text and references.
    fn delete_object(&self, base: &Base<'_>, object: ObjectId) -> SqlResult<()> {
        let object_key = [Value::Int(object.0)];
        base.delete(id::SCHOBJS, &object_key, |_| true)?;
        let text = [Value::TinyInt(VALUE_TEXT as u8), Value::Int(object.0)];
        base.delete(id::OBJVALUES, &text, |_| true)?;
        base.delete(id::SINGLEOBJREFS, &object_key, |_| true)?;
        self.patch(|s, _| s.remove_object(object));
        Ok(())
    }

    /// Creates a view, procedure, function or trigger.
    #[allow(clippy::too_many_arguments)]
    pub fn create_module(
        &self,
        tx: &Transaction,
        schema: i32,
        name: &str,
        kind: ObjectKind,
        parent: ObjectId,
        text: &str,
        (ansi_nulls, quoted_identifier): (bool, bool),
    ) -> SqlResult<Arc<ModuleDef>> {
        let base = self.base(tx);
        let mut status = 0;
        if ansi_nulls {
            status |= load::MODULE_ANSI_NULLS;
        }
        if quoted_identifier {
            status |= load::MODULE_QUOTED_IDENTIFIER;
        }
        let object = self.add_object(&base, schema, name, kind, parent, 0, status)?;
        self.add_text(&base, object.id, text)?;
        let module = ModuleDef {
            id: object.id,
            schema,
            name: name.to_owned(),
            kind,
            parent,
            text: text.to_owned(),
            ansi_nulls,
            quoted_identifier,
            version: 0,
        };
        Ok(self.publish_module(module))
    }

    fn publish_module(&self, module: ModuleDef) -> Arc<ModuleDef> {
        let mut out = Arc::new(module.clone());
        self.patch(|s, version| {
            let stamped = Arc::new(ModuleDef { version, ..module });
            out = stamped.clone();
            s.modules.insert(stamped.id, stamped);
        });
        out
    }

    /// ALTER of a module: new text, same id.
    pub fn alter_module(
        &self,
        tx: &Transaction,
        module: &ModuleDef,
        text: &str,
    ) -> SqlResult<Arc<ModuleDef>> {
        let base = self.base(tx);
        let key = [Value::TinyInt(VALUE_TEXT as u8), Value::Int(module.id.0)];
        base.delete(id::OBJVALUES, &key, |_| true)?;
        self.add_text(&base, module.id, text)?;
        let time = now();
        base.update(id::SCHOBJS, &[Value::Int(module.id.0)], |row| {
            row[10] = Value::DateTime(time);
            true
        })?;
        Ok(self.publish_module(ModuleDef {
            text: text.to_owned(),
            ..module.clone()
        }))
    }

    /// Drops a module.
    pub fn drop_module(&self, tx: &Transaction, module: &ModuleDef) -> SqlResult<()> {
        self.delete_object(&self.base(tx), module.id)
    }

    /// Creates a schema; its id.
    pub fn create_schema(&self, tx: &Transaction, name: &str) -> SqlResult<i32> {
        let snapshot = self.snapshot()?;
        if snapshot.schema(name).is_some() {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        let last = snapshot.schemas.keys().filter(|id| **id < 16_384).max();
        let schema = last.copied().unwrap_or(4) + 1;
        let time = Value::DateTime(now());
        self.base(tx).insert(
            Fields::new(id::CLSOBJS)?
                .int("class", CLASS_SCHEMA)
                .int("id", i64::from(schema))
                .text("name", name)
                .set("created", time.clone())
                .set("modified", time),
        )?;
        let def = Arc::new(SchemaDef {
            id: schema,
            name: name.to_owned(),
            owner: 1,
        });
        self.patch(|s, _| {
            s.schemas.insert(schema, def);
        });
        Ok(schema)
    }

    /// Drops an empty schema.
    pub fn drop_schema(&self, tx: &Transaction, schema: i32) -> SqlResult<()> {
        let key = [Value::TinyInt(CLASS_SCHEMA as u8), Value::Int(schema)];
        self.base(tx).delete(id::CLSOBJS, &key, |_| true)?;
        self.patch(|s, _| {
            s.schemas.remove(&schema);
        });
        Ok(())
    }
}

fn check_columns(new: &NewTable) -> SqlResult<()> {
    for (i, c) in new.columns.iter().enumerate() {
        let folded = fold(&c.name);
        if new.columns[..i].iter().any(|d| fold(&d.name) == folded) {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &new.name];
            return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args));
        }
    }
    if new.columns.len() > 1024 {
        let column = new.columns.get(1024).map_or("", |c| c.name.as_str());
        let args: [&dyn std::fmt::Display; 3] = [&column, &new.name, &1024];
        return Err(SqlError::new(&messages::TOO_MANY_COLUMNS, &args));
    }
    Ok(())
}

/// 1701: even without variable columns the row is too long.
fn check_row_size(table: &TableDef) -> SqlResult<()> {
    let least = usize::from(table.data.layout.pminlen)
        + 2
        + usize::from(table.data.layout.null_bits).div_ceil(8);
    if least > duramen_storage::format::page::MAX_RECORD_BYTES {
        let overhead = 4 + least - usize::from(table.data.layout.pminlen);
        let args: [&dyn std::fmt::Display; 4] = [&table.name, &least, &overhead, &8060];
        return Err(SqlError::new(&messages::MINIMUM_ROW_SIZE, &args));
    }
    Ok(())
}

fn duplicate(e: StorageError, table: &TableDef, index: &IndexDef, entry: &[Value]) -> SqlError {
    match e {
        StorageError::DuplicateKey { .. } => {
            let keys: Vec<KeyColumn> = (0..index.keys.len())
                .map(|column| KeyColumn {
                    column,
                    desc: false,
                })
                .collect();
            duplicate_key(table, &index.name, &key_text(entry, &keys))
        }
        StorageError::Sql(e) => e,
    }
}

fn duplicate_key(table: &TableDef, index: &str, key: &str) -> SqlError {
    let name = format!("{}.{}", table.schema_name, table.name);
    let args: [&dyn std::fmt::Display; 3] = [&name, &index, &key];
    SqlError::new(&messages::CREATE_UNIQUE_INDEX_DUPLICATE, &args)
}

/// Key values as error messages show them: `(1, abc)`.
pub fn key_text(row: &[Value], keys: &[KeyColumn]) -> String {
    let parts: Vec<String> = keys
        .iter()
        .map(|k| match row.get(k.column) {
            None | Some(Value::Null) => "<NULL>".to_owned(),
            Some(v) => match (v.as_i64(), v.as_text()) {
                (Some(n), _) => n.to_string(),
                (_, Some(t)) => t,
                _ => match v {
                    Value::Decimal(d) => d.to_string(),
                    Value::Float(f) => f.to_string(),
                    Value::Binary(b) => b
                        .iter()
                        .fold("0x".to_owned(), |s, x| s + &format!("{x:02X}")),
                    other => format!("{other:?}"),
                },
            },
        })
        .collect();
    format!("({})", parts.join(", "))
}
