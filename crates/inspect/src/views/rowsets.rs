//! What the functions about indexes share: which partitions of which heaps and indexes their first four arguments ask for.
//!
//! `database_id, object_id, index_id, partition_number`: NULL, 0 and, for an index, -1 stand for all. Disabled indexes have
//! nothing to tell of.

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{AllocUnitId, SqlResult};
use duramen_catalog::{IndexDef, TableDef};
use duramen_events::instance::Instance;
use duramen_storage::RowsetDef;
use duramen_types::Value;

use crate::context::Context;

/// The allocation units of a rowset by their types: 1 rows, 2 large values, 3 what does not fit into rows.
pub fn units(def: &RowsetDef) -> impl Iterator<Item = (AllocUnitId, u8)> {
    let outside = if def.layout.has_large() { 2 } else { 3 };
    let rows = std::iter::once((def.au, 1));
    rows.chain(def.lob_au.map(|au| (au, outside)))
}

/// The type of an allocation unit by name.
pub fn unit_name(kind: u8) -> &'static str {
    match kind {
        1 => "IN_ROW_DATA",
        2 => "LOB_DATA",
        _ => "ROW_OVERFLOW_DATA",
    }
}

/// One partition of a heap or index.
pub struct Found<'a> {
    pub db: &'a OpenDb,
    pub table: &'a TableDef,
    /// `None` for a heap.
    pub index: Option<&'a IndexDef>,
    /// From 1.
    pub partition: i32,
    pub def: &'a Arc<RowsetDef>,
}

impl Found<'_> {
    /// 0 for a heap.
    pub fn index_id(&self) -> i32 {
        self.index.map_or(0, |i| i32::from(i.id))
    }
}

/// Calls `f` for each partition that is asked for.
pub fn each(
    cx: &Context,
    args: &[Value],
    f: impl FnMut(&Found<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    each_of(&cx.instance, args, f)
}

/// The same without a statement around it.
pub fn each_of(
    instance: &Instance,
    args: &[Value],
    mut f: impl FnMut(&Found<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let asked = |i: usize, all: i64| {
        let value = args.get(i).and_then(Value::as_i64);
        value.filter(|n| *n != all)
    };
    let (database, object) = (asked(0, 0), asked(1, 0));
    let (index, partition) = (asked(2, -1), asked(3, 0));
    let is = |asked: Option<i64>, id: i64| asked.is_none_or(|n| n == id);
    for db in instance.databases.all() {
        if !is(database, i64::from(db.db.id.0)) {
            continue;
        }
        for table in db.catalog.snapshot()?.tables.values() {
            if !is(object, i64::from(table.id.0)) {
                continue;
            }
            let data = table.indexes.iter().find(|i| i.clustered);
            let others = table.indexes.iter();
            let others = others.filter(|i| !i.clustered && !i.options.disabled);
            let mut all = vec![(data, table.data_rowsets())];
            all.extend(others.map(|i| (Some(i), i.rowsets())));
            for (found, rowsets) in all {
                for (number, def) in (1..).zip(rowsets) {
                    let found = Found {
                        db: &db,
                        table,
                        index: found,
                        partition: number,
                        def,
                    };
                    if is(index, i64::from(found.index_id())) && is(partition, i64::from(number)) {
                        f(&found)?;
                    }
                }
            }
        }
    }
    Ok(())
}
