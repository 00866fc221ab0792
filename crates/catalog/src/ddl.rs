//! Creating, changing and dropping objects: rows, pages, and the cached snapshot along with them.
//!
//! The caller holds Sch-M on the object (a new one needs none) and has checked permissions and types.

mod alter;
mod constraints;
mod fill;
mod indexes;
mod modules;
pub(crate) mod partitions;
mod properties;
mod rename;
mod repartition;
mod statistics;
mod switch;
mod types;

pub use indexes::key_text;

use std::sync::Arc;

use duramen_base::{AllocUnitId, ObjectId, RowsetId, SqlError, SqlResult, messages};
use duramen_storage::KeyColumn;
use duramen_txn::{Resource, Transaction};
use duramen_types::{SqlType, Value};

use self::constraints::Named;
use crate::bootstrap::{
    self, CLASS_SCHEMA, COLUMN_COMPUTED, COLUMN_IDENTITY, COLUMN_PERSISTED, COLUMN_ROWGUID,
};
use crate::catalog::CatalogDb;
use crate::cells::{self, VALUE_TEXT};
use crate::claims::Claim;
use crate::def::*;
use crate::describe;
use crate::identity::{IdentityState, encode_idtval};
use crate::partition_rows::{self, with_partitioning};
use crate::partitions::Place;
use crate::properties::class;
use crate::rows::{Base, Fields, id};
use crate::shape::{Keys, RowsetIds, data_rowset};

/// A column to create.
#[derive(Clone, Debug)]
pub struct NewColumn {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: Option<Identity>,
    /// Name of the constraint (made up when `None`) and expression text.
    pub default: Option<(Option<String>, String)>,
    pub computed: Option<ComputedDef>,
    pub rowguid: bool,
    /// The id of the alias type it is declared with; 0: none.
    pub user_type: i32,
}

impl NewColumn {
    /// A column that has a type and no more.
    pub fn plain(name: &str, ty: SqlType, nullable: bool) -> NewColumn {
        NewColumn {
            name: name.to_owned(),
            ty,
            nullable,
            identity: None,
            default: None,
            computed: None,
            rowguid: false,
            user_type: 0,
        }
    }
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
    pub options: IndexOptions,
    /// `ON`; the default: where the table is.
    pub place: Place,
}

/// A check constraint to create.
#[derive(Clone, Debug)]
pub struct NewCheck {
    pub name: Option<String>,
    pub text: String,
    /// The id of the only column it reads; 0 when it reads none or several.
    pub column: i32,
    pub state: ConstraintState,
}

/// A foreign key to create.
#[derive(Clone, Debug)]
pub struct NewForeignKey {
    pub name: Option<String>,
    /// 0: the table being created itself.
    pub referenced: ObjectId,
    /// The index of the referenced table that makes the columns unique.
    pub referenced_index: u16,
    pub columns: Vec<(i32, i32)>,
    pub on_delete: u8,
    pub on_update: u8,
    pub state: ConstraintState,
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
    /// `ON`
    pub place: Place,
    /// `TEXTIMAGE_ON`; 0: the default filegroup.
    pub lob_filegroup: u16,
}

impl CatalogDb {
    pub(super) fn base<'a>(&'a self, tx: &'a Transaction) -> Base<'a> {
        Base {
            db: self.database(),
            tx,
        }
    }

    pub(super) fn new_ids(
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

    pub(super) fn insert_object(&self, base: &Base<'_>, o: &ObjectDef) -> SqlResult<()> {
        self.claim_object(base.tx, o)?;
        base.insert(
            Fields::new(id::SCHOBJS)?
                .int("id", i64::from(o.id.0))
                .text("name", &o.name)
                .int("nsid", i64::from(o.schema))
                .int("status", o.status)
                .set("type", Value::varchar(o.kind.as_str()))
                .int("pid", i64::from(o.parent.0))
                .int("pclass", 1)
                .int("intprop", i64::from(o.parent_column))
                .set("created", Value::DateTime(o.created))
                .set("modified", Value::DateTime(o.modified)),
        )?;
        let cached = o.clone();
        self.patch(base.tx, move |s, _| s.add_object(cached.clone()));
        Ok(())
    }

    /// The object's name and what it is belong to `tx` from now on, under Sch-M on it, or on its table.
    pub(super) fn claim_object(&self, tx: &Transaction, o: &ObjectDef) -> SqlResult<()> {
        let locked = match o.parent {
            ObjectId(0) => o.id,
            table => table,
        };
        let claims = [Claim::name(o.schema, &o.name), Claim::Object(o.id)];
        let resource = Resource::Object(self.database().id, locked);
        self.claim(tx, claims, resource)
    }

    /// A schema that gets something stays until `tx` ends.
    pub(super) fn hold_schema(&self, tx: &Transaction, schema: i32) -> SqlResult<()> {
        // Those that every database has are never dropped.
        if !(FIRST_SCHEMA..FIRST_FIXED_ROLE_SCHEMA).contains(&schema) {
            return Ok(());
        }
        let resource = self.metadata(id::CLSOBJS, CLASS_SCHEMA, schema);
        self.hold(tx, resource, |s| s.schemas.contains_key(&schema))
    }

    pub(super) fn add_text(&self, base: &Base<'_>, object: ObjectId, text: &str) -> SqlResult<()> {
        self.add_column_text(base, object, 0, text)
    }

    /// A text of an object's part: the expression of a computed column.
    pub(super) fn add_column_text(
        &self,
        base: &Base<'_>,
        object: ObjectId,
        part: i32,
        text: &str,
    ) -> SqlResult<()> {
        let (value, bytes) = cells::encode_text(text);
        base.insert(
            Fields::new(id::OBJVALUES)?
                .int("valclass", VALUE_TEXT)
                .int("objid", i64::from(object.0))
                .int("subobjid", i64::from(part))
                .set("value", value)
                .set("imageval", bytes),
        )
    }

    /// Creates a table with its indexes and constraints.
    pub fn create_table(&self, tx: &Transaction, new: &NewTable) -> SqlResult<Arc<TableDef>> {
        let snapshot = self.seen_by(tx)?;
        let schema = snapshot
            .schemas
            .get(&new.schema)
            .ok_or_else(|| SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&new.schema]))?;
        check_columns(new)?;
        self.hold_used(tx, new)?;
        let base = self.base(tx);
        let object = self.add_object(
            &base,
            new.schema,
            Named::As(&new.name),
            ObjectKind::TABLE,
            (ObjectId(0), 0),
            TABLE_STATUS,
        )?;
        let mut columns = Vec::new();
        for (column_id, c) in (1..).zip(&new.columns) {
            columns.push(self.create_column(&base, &object, column_id, c)?);
        }
        let specs: Vec<_> = columns.iter().map(crate::shape::spec).collect();
        let clustered = new.indexes.iter().find(|i| i.clustered);
        // A clustered index is the table.
        let place = match clustered.map_or(Place::Default, |i| i.place) {
            Place::Default => new.place,
            named => named,
        };
        self.check_partitioning(&new.name, &columns, place)?;
        let keys = clustered.map(|i| with_partitioning(&i.keys, i.unique, place.column()));
        let make = |ids: &RowsetIds| {
            let unique = clustered.is_some_and(|i| i.unique);
            let keys = keys.as_ref().map(|columns| Keys { columns, unique });
            data_rowset(ids, &specs, keys)
        };
        let none = RowsetIds::none(object.id);
        let mut table = TableDef {
            id: object.id,
            schema: new.schema,
            schema_name: schema.name.clone(),
            name: new.name.clone(),
            kind: ObjectKind::TABLE,
            columns,
            indexes: Vec::new(),
            statistics: Vec::new(),
            data: Arc::new(make(&none)),
            partitioned: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            created: object.created,
            modified: object.modified,
            version: 0,
        };
        check_row_size(&table)?;
        let lob_place = match new.lob_filegroup {
            0 => self.database().default_filegroup(),
            named => named,
        };
        let index = u16::from(clustered.is_some());
        let laid = self.lay_out(tx, (place, lob_place), (&table, index), &make)?;
        describe::storage_rows(&base, laid.rowsets(), &describe::data_column_ids(&table))?;
        table.data = laid.first;
        table.partitioned = laid.partitioned;
        if clustered.is_none() {
            describe::heap_rows(&base, &table)?;
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
        self.publish(tx, table)
    }

    /// Schema, types and partition scheme of a new table stay until `tx` ends.
    fn hold_used(&self, tx: &Transaction, new: &NewTable) -> SqlResult<()> {
        self.hold_schema(tx, new.schema)?;
        new.columns
            .iter()
            .try_for_each(|c| self.hold_type(tx, c.user_type))?;
        let places = new.indexes.iter().map(|i| i.place);
        places
            .chain([new.place])
            .try_for_each(|p| self.hold_place(tx, p))
    }

    pub(super) fn hold_type(&self, tx: &Transaction, type_id: i32) -> SqlResult<()> {
        match type_id < types::FIRST_TYPE {
            true => Ok(()),
            false => {
                let resource = self.metadata(id::SCALARTYPES, 0, type_id);
                self.hold(tx, resource, |s| s.types.contains_key(&type_id))
            }
        }
    }

    pub(super) fn hold_place(&self, tx: &Transaction, place: Place) -> SqlResult<()> {
        match place {
            Place::Scheme { scheme, .. } => {
                let resource = self.metadata(id::CLSOBJS, partition_rows::CLASS_SCHEME, scheme);
                self.hold(tx, resource, |s| s.partition_schemes.contains_key(&scheme))?;
                let (_, function) = self.scheme(scheme)?;
                let of = self.metadata(id::CLSOBJS, partition_rows::CLASS_FUNCTION, function.id);
                self.hold(tx, of, |s| {
                    let now = s.partition_functions.get(&function.id);
                    now.is_some_and(|f| f.boundaries == function.boundaries)
                })
            }
            _ => Ok(()),
        }
    }

    /// Keeps a definition for `tx`, which has Sch-M on the table: others see it when that commits.
    pub(super) fn publish(&self, tx: &Transaction, table: TableDef) -> SqlResult<Arc<TableDef>> {
        let id = table.id;
        let resource = Resource::Object(self.database().id, id);
        self.claim_locked(tx, [Claim::Object(id)], resource)?;
        let kept = Arc::new(table);
        let made = kept.clone();
        self.patch(tx, move |s, version| {
            s.put_table(TableDef {
                version,
                ..(*made).clone()
            });
        });
        let seen = self.seen_by(tx)?;
        Ok(seen.tables.get(&id).cloned().unwrap_or(kept))
    }

    pub(super) fn create_column(
        &self,
        base: &Base<'_>,
        table: &ObjectDef,
        column_id: i32,
        c: &NewColumn,
    ) -> SqlResult<ColumnDef> {
        base.tx.check_given_up()?;
        let mut row = bootstrap::column_row(table.id.0, column_id, &c.name, &c.ty, c.nullable)?;
        let mut default = None;
        if let Some((name, text)) = &c.default {
            let made = self.create_default(base, table, (column_id, &c.name), name, text)?;
            row = row.int("dflt", i64::from(made.id.0));
            default = Some(made);
        }
        let mut status = row.values[10].as_i64().unwrap_or(0);
        if let Some(computed) = &c.computed {
            status |= COLUMN_COMPUTED;
            if computed.persisted {
                status |= COLUMN_PERSISTED;
            }
            self.add_column_text(base, table.id, column_id, &computed.text)?;
        }
        if c.rowguid {
            status |= COLUMN_ROWGUID;
        }
        row = row.int("status", status);
        if c.user_type != 0 {
            row = row.int("utype", i64::from(c.user_type));
        }
        if let Some(identity) = c.identity {
            let state = IdentityState {
                identity,
                last: None,
            };
            row = row
                .int("status", status | COLUMN_IDENTITY)
                .set("idtval", Value::Binary(encode_idtval(&state)));
        }
        base.insert(row)?;
        if let Some(identity) = c.identity {
            let state = IdentityState {
                identity,
                last: None,
            };
            self.place_identity(base.tx, table.id, state);
        }
        Ok(ColumnDef {
            id: column_id,
            name: c.name.clone(),
            ty: c.ty,
            nullable: c.nullable,
            identity: c.identity,
            default,
            computed: c.computed.clone(),
            rowguid: c.rowguid,
            user_type: c.user_type,
        })
    }

    /// Drops a table with everything that belongs to it. The caller has checked that no foreign key refers to it.
    pub fn drop_table(&self, tx: &Transaction, table: &TableDef) -> SqlResult<()> {
        let base = self.base(tx);
        let snapshot = self.seen_by(tx)?;
        let children: Vec<ObjectId> = snapshot
            .objects
            .values()
            .filter(|o| o.parent == table.id)
            .map(|o| o.id)
            .collect();
        for child in children {
            self.delete_object(&base, child)?;
        }
        for rowset in table.all_rowsets() {
            describe::delete_storage_rows(&base, rowset)?;
            self.database().drop_storage(tx, rowset)?;
        }
        let key = [Value::Int(table.id.0)];
        base.delete(id::IDXSTATS, &key, |_| true)?;
        base.delete(id::ISCOLS, &key, |_| true)?;
        self.settle_identity(tx, table)?;
        base.delete(id::COLPARS, &key, |_| true)?;
        self.delete_object(&base, table.id)
    }

    /// The `sysschobjs` row of an object, its text and references.
    pub(super) fn delete_object(&self, base: &Base<'_>, object: ObjectId) -> SqlResult<()> {
        let seen = self.seen_by(base.tx)?;
        if let Some(o) = seen.objects.get(&object) {
            self.claim_object(base.tx, o)?;
        }
        drop(seen);
        let object_key = [Value::Int(object.0)];
        base.delete(id::SCHOBJS, &object_key, |_| true)?;
        let text = [Value::TinyInt(VALUE_TEXT as u8), Value::Int(object.0)];
        base.delete(id::OBJVALUES, &text, |_| true)?;
        base.delete(id::SINGLEOBJREFS, &object_key, |_| true)?;
        self.forget_privileges(base, 1, object.0)?;
        self.forget_properties(base, class::OBJECT, object.0, None)?;
        self.forget_properties(base, class::INDEX, object.0, None)?;
        self.patch(base.tx, move |s, _| s.remove_object(object));
        Ok(())
    }
}

/// Schemas of users have ids from here, and those of the fixed roles have theirs.
const FIRST_SCHEMA: i32 = 5;
const FIRST_FIXED_ROLE_SCHEMA: i32 = 16_384;

/// `sysschobjs.status` of a table.
pub(crate) const TABLE_STATUS: i64 = 917_504;

fn check_columns(new: &NewTable) -> SqlResult<()> {
    for (i, c) in new.columns.iter().enumerate() {
        if new.columns[..i].iter().any(|d| same_name(&d.name, &c.name)) {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &new.name];
            return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args));
        }
    }
    if new.columns.iter().filter(|c| c.identity.is_some()).count() > 1 {
        return Err(SqlError::new(&messages::SECOND_IDENTITY, &[&new.name]));
    }
    match new.columns.get(MOST_COLUMNS) {
        Some(c) => Err(too_many_columns(&c.name, &new.name)),
        None => Ok(()),
    }
}

/// As many columns as a table may have.
pub const MOST_COLUMNS: usize = 1024;

/// 1702 for the first that is one too many.
pub fn too_many_columns(column: &str, table: &str) -> SqlError {
    let args: [&dyn std::fmt::Display; 3] = [&column, &table, &MOST_COLUMNS];
    SqlError::new(&messages::TOO_MANY_COLUMNS, &args)
}

/// 1701: even without variable columns the row is too long.
fn check_row_size(table: &TableDef) -> SqlResult<()> {
    let least = usize::from(table.data.layout.pminlen)
        + 2
        + usize::from(table.data.layout.null_bits).div_ceil(8);
    if least > duramen_format::page::MAX_RECORD_BYTES {
        let overhead = 4 + least - usize::from(table.data.layout.pminlen);
        let args: [&dyn std::fmt::Display; 4] = [&table.name, &least, &overhead, &8060];
        return Err(SqlError::new(&messages::MINIMUM_ROW_SIZE, &args));
    }
    Ok(())
}
