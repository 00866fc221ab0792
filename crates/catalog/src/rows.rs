//! Base tables as rowsets: their definitions, and reading and writing their rows with all indexes kept.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use duramen_base::{AllocUnitId, ObjectId, SqlError, SqlResult, messages};
use duramen_format::{ColumnSpec, RowKind, layout_for};
use duramen_storage::{Database, OpenRowsets, StorageError};
use duramen_storage::{KeyColumn, LockHint, RowLocator, ScanSpec};
use duramen_txn::Transaction;
use duramen_types::{DateTime, SqlType, TypeId, Value};

use crate::def::{ColumnDef, IndexDef, IndexOptions, ObjectKind, SCHEMA_SYS, TableDef};
use crate::shape::{Keys, RowsetIds, data_rowset, index_rowset};
use crate::system_tables::{SystemTable, system_table, system_tables};

/// Ids of the base tables that the catalog uses.
pub mod id {
    pub const RSCOLS: i32 = 3;
    pub const ROWSETS: i32 = 5;
    pub const ALLOCUNITS: i32 = 7;
    pub const BRICKFILES: i32 = 22;
    pub const PHFG: i32 = 23;
    pub const PRUFILES: i32 = 24;
    pub const OWNERS: i32 = 27;
    pub const DBREG: i32 = 28;
    pub const PRIVS: i32 = 29;
    pub const SCHOBJS: i32 = 34;
    pub const COLPARS: i32 = 41;
    pub const XLGNS: i32 = 42;
    pub const XPROPS: i32 = 49;
    pub const SCALARTYPES: i32 = 50;
    pub const IDXSTATS: i32 = 54;
    pub const ISCOLS: i32 = 55;
    pub const OBJVALUES: i32 = 60;
    pub const CLSOBJS: i32 = 64;
    pub const SINGLEOBJREFS: i32 = 74;
    pub const MULTIOBJREFS: i32 = 75;

    /// Base tables that get pages; the others exist as catalog rows only until something needs them.
    pub const STORED: &[i32] = &[
        ALLOCUNITS,
        ROWSETS,
        RSCOLS,
        BRICKFILES,
        PHFG,
        PRUFILES,
        OWNERS,
        DBREG,
        PRIVS,
        SCHOBJS,
        COLPARS,
        XLGNS,
        XPROPS,
        SCALARTYPES,
        IDXSTATS,
        ISCOLS,
        OBJVALUES,
        CLSOBJS,
        SINGLEOBJREFS,
        MULTIOBJREFS,
    ];
}

/// The definition of a base table; `None` for an id that is none.
pub fn base_table(table: i32) -> Option<&'static Arc<TableDef>> {
    static ALL: OnceLock<BTreeMap<i32, Arc<TableDef>>> = OnceLock::new();
    ALL.get_or_init(|| {
        system_tables()
            .map(|t| (t.id, Arc::new(table_def(t))))
            .collect()
    })
    .get(&table)
}

fn expect_base(table: i32) -> SqlResult<&'static Arc<TableDef>> {
    base_table(table)
        .ok_or_else(|| SqlError::new(&messages::INVALID_OBJECT_NAME, &[&format!("sys.{table}")]))
}

fn ids_of(t: &SystemTable, index: u16) -> RowsetIds {
    let rowset = t.rowset(index);
    let lob = index <= 1 && t.columns.iter().any(|c| c.ty.is_max());
    RowsetIds {
        object: ObjectId(t.id),
        rowset,
        index_id: index,
        au: AllocUnitId(rowset.0),
        lob_au: lob.then(|| AllocUnitId::from_parts(128, t.id as u32)),
    }
}

fn table_def(t: &SystemTable) -> TableDef {
    let columns: Vec<ColumnDef> = (1..)
        .zip(t.columns)
        .map(|(id, c)| ColumnDef {
            id,
            name: c.name.to_owned(),
            ty: c.ty,
            nullable: c.nullable,
            identity: None,
            default: None,
            computed: None,
            rowguid: false,
            user_type: 0,
        })
        .collect();
    let specs: Vec<_> = columns
        .iter()
        .map(|c| ColumnSpec::new(c.ty, c.nullable))
        .collect();
    let keys_of = |keys: &[usize]| -> Vec<KeyColumn> {
        keys.iter()
            .map(|k| KeyColumn {
                column: *k,
                desc: false,
            })
            .collect()
    };
    let clustered = t.indexes.iter().find(|i| i.id == 1);
    let clustered_keys = clustered.map(|i| keys_of(i.keys));
    let mut data = data_rowset(
        &ids_of(t, u16::from(clustered.is_some())),
        &specs,
        clustered_keys.as_ref().map(|columns| Keys {
            columns,
            unique: true,
        }),
    );
    // Base tables keep their columns in order; only users' clustered tables put the key first.
    data.layout = Arc::new(layout_for(&specs, RowKind::Data));
    let data = Arc::new(data);
    let mut indexes = Vec::new();
    for i in t.indexes {
        let keys = keys_of(i.keys);
        let (rowset, sources, locator) = if i.id == 1 {
            (data.clone(), Vec::new(), Vec::new())
        } else {
            let shared = Keys {
                columns: &keys,
                unique: i.unique,
            };
            let (def, sources, locator) =
                index_rowset(&ids_of(t, i.id), &specs, &data, shared, &[]);
            (Arc::new(def), sources, locator)
        };
        indexes.push(IndexDef {
            id: i.id,
            name: i.name.to_owned(),
            unique: i.unique,
            clustered: i.id == 1,
            primary_key: false,
            unique_constraint: false,
            keys,
            includes: Vec::new(),
            options: IndexOptions::default(),
            rowset,
            partitioned: None,
            sources,
            locator,
        });
    }
    TableDef {
        id: ObjectId(t.id),
        schema: SCHEMA_SYS,
        schema_name: "sys".to_owned(),
        name: t.name.to_owned(),
        kind: ObjectKind::SYSTEM_TABLE,
        columns,
        indexes,
        statistics: Vec::new(),
        data,
        partitioned: None,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        created: DateTime { days: 0, ticks: 0 },
        modified: DateTime { days: 0, ticks: 0 },
        version: 0,
    }
}

/// A row of a base table, column by column; what is not set is zero, empty or NULL.
pub struct Fields {
    table: &'static SystemTable,
    pub values: Vec<Value>,
}

impl Fields {
    pub fn new(table: i32) -> SqlResult<Fields> {
        let table = system_table(table).ok_or_else(|| {
            SqlError::new(&messages::INVALID_OBJECT_NAME, &[&format!("sys.{table}")])
        })?;
        let values = table
            .columns
            .iter()
            .map(|c| {
                if c.nullable {
                    Value::Null
                } else {
                    zero_of(&c.ty)
                }
            })
            .collect();
        Ok(Fields { table, values })
    }

    /// Sets a column by name; integers are made as wide as the column is.
    pub fn set(mut self, column: &str, value: Value) -> Fields {
        let at = self.table.position(column);
        debug_assert!(at.is_some(), "{}.{column}", self.table.name);
        if let Some(at) = at {
            self.values[at] = widen(value, self.table.columns[at].ty.id);
        }
        self
    }

    pub fn int(self, column: &str, value: i64) -> Fields {
        self.set(column, Value::BigInt(value))
    }

    pub fn text(self, column: &str, value: &str) -> Fields {
        self.set(column, Value::nvarchar(value))
    }
}

fn widen(value: Value, ty: TypeId) -> Value {
    match (value.as_i64(), ty) {
        (Some(v), TypeId::TinyInt) => Value::TinyInt(v as u8),
        (Some(v), TypeId::SmallInt) => Value::SmallInt(v as i16),
        (Some(v), TypeId::Int) => Value::Int(v as i32),
        (Some(v), TypeId::BigInt) => Value::BigInt(v),
        _ => value,
    }
}

fn zero_of(ty: &SqlType) -> Value {
    match ty.id {
        TypeId::TinyInt => Value::TinyInt(0),
        TypeId::SmallInt => Value::SmallInt(0),
        TypeId::Int => Value::Int(0),
        TypeId::BigInt => Value::BigInt(0),
        TypeId::Bit => Value::Bit(false),
        TypeId::Float => Value::Float(0.0),
        TypeId::DateTime => Value::DateTime(DateTime { days: 0, ticks: 0 }),
        TypeId::UniqueIdentifier => Value::Guid([0; 16]),
        TypeId::Char | TypeId::VarChar => Value::VarChar(Vec::new()),
        TypeId::NVarChar | TypeId::NChar => Value::NVarChar(Vec::new()),
        TypeId::Binary | TypeId::VarBinary => Value::Binary(Vec::new()),
        _ => Value::Null,
    }
}

/// Base tables under a transaction.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    pub db: &'a Arc<Database>,
    pub tx: &'a Transaction,
}

impl Base<'_> {
    /// Inserts a row and its index entries.
    pub fn insert(&self, row: Fields) -> SqlResult<()> {
        let table = expect_base(row.table.id)?;
        insert_row(&OpenRowsets::none(self.db), self.tx, table, &row.values)?;
        Ok(())
    }

    /// As [`Base::insert`], for whoever holds a mutex: it has made room in the log before it took that.
    pub(crate) fn insert_prepared(&self, row: Fields) -> SqlResult<()> {
        let table = expect_base(row.table.id)?;
        put_row(&OpenRowsets::none(self.db), self.tx, table, &row.values)?;
        Ok(())
    }

    /// The rows whose leading clustering keys equal `key`; everything when it is empty.
    pub fn rows(&self, table: i32, key: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
        Ok(self
            .located(table, self.equal(key))?
            .into_iter()
            .map(|r| r.1)
            .collect())
    }

    /// The rows from `key` on.
    pub fn rows_from(&self, table: i32, key: Value) -> SqlResult<Vec<Vec<Value>>> {
        let mut spec = ScanSpec::all(LockHint::None);
        spec.lower = Some((vec![key], true));
        Ok(self
            .located(table, spec)?
            .into_iter()
            .map(|r| r.1)
            .collect())
    }

    fn equal(&self, key: &[Value]) -> ScanSpec {
        if key.is_empty() {
            ScanSpec::all(LockHint::None)
        } else {
            ScanSpec::equal(key.to_vec(), LockHint::None)
        }
    }

    fn located(&self, table: i32, spec: ScanSpec) -> SqlResult<Vec<(RowLocator, Vec<Value>)>> {
        let rowset = self.db.rowset(&expect_base(table)?.data);
        let mut cursor = rowset.scan(self.tx, spec)?;
        let mut out = Vec::new();
        while let Some(row) = cursor.next(self.tx)? {
            out.push(row);
        }
        Ok(out)
    }

    /// Locks the rows with these leading keys, and the table for changes.
    pub fn lock(&self, table: i32, key: &[Value]) -> SqlResult<()> {
        let spec = ScanSpec::equal(key.to_vec(), LockHint::Exclusive);
        self.located(table, spec).map(drop)
    }

    /// Deletes the rows with these leading keys that `which` picks; how many.
    pub fn delete(
        &self,
        table: i32,
        key: &[Value],
        which: impl Fn(&[Value]) -> bool,
    ) -> SqlResult<usize> {
        let def = expect_base(table)?;
        let mut n = 0;
        let rowsets = OpenRowsets::none(self.db);
        for (at, row) in self.located(table, self.equal(key))? {
            if which(&row) {
                delete_row(&rowsets, self.tx, def, &at, &row)?;
                n += 1;
            }
        }
        Ok(n)
    }

    /// Changes the rows with these leading keys; `change` returns false to leave one as it is.
    pub fn update(
        &self,
        table: i32,
        key: &[Value],
        change: impl FnMut(&mut Vec<Value>) -> bool,
    ) -> SqlResult<usize> {
        self.changed(table, key, change, || self.db.make_log_room())
    }

    /// As [`Base::update`], for whoever holds a mutex: it has made room in the log before it took that.
    pub(crate) fn update_prepared(
        &self,
        table: i32,
        key: &[Value],
        change: impl FnMut(&mut Vec<Value>) -> bool,
    ) -> SqlResult<usize> {
        self.changed(table, key, change, || ())
    }

    fn changed(
        &self,
        table: i32,
        key: &[Value],
        mut change: impl FnMut(&mut Vec<Value>) -> bool,
        prepare: impl Fn(),
    ) -> SqlResult<usize> {
        let def = expect_base(table)?;
        let mut n = 0;
        let rowsets = OpenRowsets::none(self.db);
        for (at, row) in self.located(table, self.equal(key))? {
            let mut new = row.clone();
            if change(&mut new) && new != row {
                prepare();
                change_row(&rowsets, self.tx, def, &at, &row, &new)?;
                n += 1;
            }
        }
        Ok(n)
    }
}

/// Inserts a row into a table and all its indexes.
pub fn insert_row(
    rowsets: &OpenRowsets,
    tx: &Transaction,
    table: &TableDef,
    row: &[Value],
) -> Result<RowLocator, StorageError> {
    rowsets.database().make_log_room();
    put_row(rowsets, tx, table, row)
}

fn put_row(
    rowsets: &OpenRowsets,
    tx: &Transaction,
    table: &TableDef,
    row: &[Value],
) -> Result<RowLocator, StorageError> {
    let at = rowsets.of(table.data_of(row)).insert(tx, row)?;
    for index in table.maintained() {
        rowsets
            .of(index.rowset_of(row))
            .insert(tx, &index.entry(row, &at))?;
    }
    Ok(at)
}

/// Deletes a row from a table and all its indexes.
pub fn delete_row(
    rowsets: &OpenRowsets,
    tx: &Transaction,
    table: &TableDef,
    at: &RowLocator,
    row: &[Value],
) -> SqlResult<()> {
    rowsets.database().make_log_room();
    for index in table.maintained() {
        let entry = index.entry(row, at);
        rowsets
            .of(index.rowset_of(row))
            .delete(tx, &index.entry_locator(&entry))?;
    }
    rowsets.of(table.data_of(row)).delete(tx, at)?;
    Ok(())
}

/// Gives a row new values, in the table and in the indexes that they touch.
pub fn update_row(
    rowsets: &OpenRowsets,
    tx: &Transaction,
    table: &TableDef,
    at: &RowLocator,
    old: &[Value],
    new: &[Value],
) -> Result<RowLocator, StorageError> {
    rowsets.database().make_log_room();
    change_row(rowsets, tx, table, at, old, new)
}

fn change_row(
    rowsets: &OpenRowsets,
    tx: &Transaction,
    table: &TableDef,
    at: &RowLocator,
    old: &[Value],
    new: &[Value],
) -> Result<RowLocator, StorageError> {
    let (from, to) = (table.data_of(old), table.data_of(new));
    let moved = if from.rowset == to.rowset {
        rowsets.of(to).update(tx, at, new)?
    } else {
        // Into another partition. A uniquifier is given there anew.
        rowsets.of(from).delete(tx, at)?;
        let mut row = new.to_vec();
        if to.has_uniquifier()
            && let Some(own) = row.last_mut()
        {
            *own = Value::Null;
        }
        rowsets.of(to).insert(tx, &row)?
    };
    for index in table.maintained() {
        let (before, after) = (index.entry(old, at), index.entry(new, &moved));
        let (from, to) = (index.rowset_of(old), index.rowset_of(new));
        if before != after || from.rowset != to.rowset {
            rowsets.of(from).delete(tx, &index.entry_locator(&before))?;
            rowsets.of(to).insert(tx, &after)?;
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests;
