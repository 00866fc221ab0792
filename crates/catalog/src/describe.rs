//! The catalog rows that describe a rowset: `sysrowsets`, `sysrscols`, `sysallocunits`, `sysidxstats`, `sysiscols`.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_storage::RowsetDef;
use duramen_types::{SqlType, TypeId, Value};

use crate::def::{IndexDef, IndexOptions, StatisticsDef, TableDef};
use crate::partitions::Partitioned;
use crate::rows::{Base, Fields, id};
use crate::shape::IndexSource;

/// `sysidxstats.status` bits.
pub(crate) mod index_status {
    /// An index or a heap.
    pub const BASE: i64 = 1;
    /// Statistics: those of an index, or without BASE those of CREATE STATISTICS.
    pub const STATISTICS: i64 = 2;
    /// NORECOMPUTE; *assumed*.
    pub const NO_RECOMPUTE: i64 = 0x4000;
    /// Read off the views of SQL Server as it is documented there; *assumed* from IGNORE_DUP_KEY to NO_PAGE_LOCKS.
    pub const IGNORE_DUP_KEY: i64 = 4;
    pub const PADDED: i64 = 16;
    pub const DISABLED: i64 = 128;
    pub const NO_ROW_LOCKS: i64 = 512;
    pub const NO_PAGE_LOCKS: i64 = 1024;
    pub const UNIQUE: i64 = 8;
    pub const PRIMARY_KEY: i64 = 32;
    pub const UNIQUE_CONSTRAINT: i64 = 64;
}

/// `sysiscols.status`: a column of statistics; a key column (of the index and of its statistics); with 4, descending;
/// an included column.
pub(crate) mod column_status {
    pub const STATISTICS: i64 = 2;
    pub const KEY: i64 = 3;
    pub const DESC: i64 = 4;
    pub const INCLUDED: i64 = 18;
    /// The partitioning column, where the index was not declared with it; *assumed*.
    pub const PARTITIONING: i64 = 32;
    /// The partitioning column of the heap below an index that has other partitions or none (ours).
    pub const LOCATING: i64 = 64;
}

/// `sysrscols.status`: NOT NULL, uniquifier, descending key (the last is ours).
pub(crate) const RSCOL_NOT_NULL: i64 = 0x80;
pub(crate) const RSCOL_UNIQUIFIER: i64 = 0x10;

/// `sysrscols.ti`: xtype, then length, or precision and scale.
fn type_info(ty: &SqlType) -> i64 {
    let x = i64::from(ty.id.xtype());
    match ty.id {
        TypeId::Decimal | TypeId::Numeric => {
            x | i64::from(ty.precision) << 8 | i64::from(ty.scale) << 16
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => x | i64::from(ty.scale) << 8,
        _ if ty.id.is_string() || ty.id.is_binary() => {
            // (max) is length 0xffff, which overflows into the sign: kept as 16 bits.
            x | i64::from(ty.length) << 8
        }
        _ => x,
    }
}

/// What the `sysidxstats` row of an index says about its options.
pub(crate) fn index_options(row: &[Value]) -> IndexOptions {
    let status = crate::cells::int(row, 3);
    let on = |bit: i64| status & bit != 0;
    IndexOptions {
        fill_factor: crate::cells::int(row, 5) as u8,
        padded: on(index_status::PADDED),
        ignore_dup_key: on(index_status::IGNORE_DUP_KEY),
        disabled: on(index_status::DISABLED),
        no_row_locks: on(index_status::NO_ROW_LOCKS),
        no_page_locks: on(index_status::NO_PAGE_LOCKS),
        no_recompute: on(index_status::NO_RECOMPUTE),
    }
}

/// Writes every row that describes rowsets with pages, by partition, but not their column and index definitions.
pub(crate) fn storage_rows(
    base: &Base<'_>,
    rowsets: &[Arc<RowsetDef>],
    column_ids: &[i32],
) -> SqlResult<()> {
    for (number, def) in (1..).zip(rowsets) {
        partition_rows(base, def, number, column_ids)?;
    }
    Ok(())
}

/// The same of one partition, from 1.
pub(crate) fn partition_rows(
    base: &Base<'_>,
    def: &RowsetDef,
    number: i64,
    column_ids: &[i32],
) -> SqlResult<()> {
    allocation_rows(base, def)?;
    numbered_rows(base, def, number, column_ids)
}

/// The `sysrowsets` and `sysrscols` rows of a rowset.
pub(crate) fn placement_rows(
    base: &Base<'_>,
    def: &RowsetDef,
    column_ids: &[i32],
) -> SqlResult<()> {
    numbered_rows(base, def, 1, column_ids)
}

fn numbered_rows(
    base: &Base<'_>,
    def: &RowsetDef,
    number: i64,
    column_ids: &[i32],
) -> SqlResult<()> {
    let layout = &def.layout;
    let min = i64::from(layout.pminlen);
    let max_leaf = layout.max_row_bytes() as i64;
    base.insert(
        Fields::new(id::ROWSETS)?
            .int("rowsetid", def.rowset.0)
            .int("ownertype", 1)
            .int("idmajor", i64::from(def.object.0))
            .int("idminor", i64::from(def.index_id))
            .int("numpart", number)
            .int("maxnullbit", i64::from(layout.null_bits))
            .int("maxleaf", max_leaf)
            .int("minleaf", min),
    )?;
    for (i, c) in layout.columns.iter().enumerate() {
        if c.leaf_offset == 0 {
            // Rows have no value of it.
            continue;
        }
        let ordkey = def
            .keys
            .iter()
            .position(|k| k.column == i)
            .map_or(0, |k| k as i64 + 1);
        let mut status = 0;
        if !c.nullable || c.uniquifier {
            status |= RSCOL_NOT_NULL;
        }
        if c.uniquifier {
            status |= RSCOL_UNIQUIFIER;
        }
        let column_id = column_ids.get(i).copied().unwrap_or(0);
        base.insert(
            Fields::new(id::RSCOLS)?
                .int("rsid", def.rowset.0)
                .int("rscolid", i64::from(column_id))
                .int("hbcolid", i as i64 + 1)
                .int("ti", type_info(&c.ty))
                .int("cid", i64::from(c.ty.collation.0 as i32))
                .int("ordkey", ordkey)
                .int("status", status)
                .int("offset", i64::from(c.leaf_offset) & 0xffff)
                .int("nullbit", i64::from(c.nullbit))
                .int("bitpos", i64::from(c.bitpos)),
        )?;
    }
    Ok(())
}

/// The `sysallocunits` rows of a rowset whose pages exist.
pub(crate) fn allocation_rows(base: &Base<'_>, def: &RowsetDef) -> SqlResult<()> {
    let outside = if def.layout.has_large() { 2 } else { 3 };
    for (au, kind) in std::iter::once((def.au, 1)).chain(def.lob_au.map(|au| (au, outside))) {
        let roots = base.db.roots(au);
        let page = |p: duramen_base::PageId| Value::Binary(p.to_bytes().to_vec());
        base.insert(
            Fields::new(id::ALLOCUNITS)?
                .int("auid", au.0)
                .int("type", kind)
                .int("ownerid", def.rowset.0)
                .int("fgid", i64::from(base.db.filegroup_of(au)))
                .set("pgfirst", page(roots.first))
                .set("pgroot", page(roots.root))
                .set("pgfirstiam", page(roots.first_iam)),
        )?;
    }
    Ok(())
}

/// Takes back what `storage_rows` wrote.
pub(crate) fn delete_storage_rows(base: &Base<'_>, def: &RowsetDef) -> SqlResult<()> {
    let rowset = Value::BigInt(def.rowset.0);
    base.delete(id::RSCOLS, std::slice::from_ref(&rowset), |_| true)?;
    base.delete(id::ROWSETS, std::slice::from_ref(&rowset), |_| true)?;
    for au in std::iter::once(def.au).chain(def.lob_au) {
        base.delete(id::ALLOCUNITS, &[Value::BigInt(au.0)], |_| true)?;
    }
    Ok(())
}

/// The `sysidxstats` row of a base table's heap.
pub(crate) fn heap_row(base: &Base<'_>, def: &RowsetDef) -> SqlResult<()> {
    heap_row_in(base, def, i64::from(base.db.filegroup_of(def.au)))
}

fn heap_row_in(base: &Base<'_>, def: &RowsetDef, space: i64) -> SqlResult<()> {
    base.insert(
        Fields::new(id::IDXSTATS)?
            .int("id", i64::from(def.object.0))
            .int("indid", 0)
            .int("status", index_status::BASE)
            .int("dataspace", space)
            .int("rowset", def.rowset.0),
    )
}

/// The rows of a table's heap: those of its partitioning column too.
pub(crate) fn heap_rows(base: &Base<'_>, table: &TableDef) -> SqlResult<()> {
    heap_row_in(
        base,
        &table.data,
        space_of(base, table.partitioned.as_deref(), &table.data),
    )?;
    let Some(p) = &table.partitioned else {
        return Ok(());
    };
    base.insert(member(table, 0, 1, column_status::PARTITIONING, p.column)?.int("tinyprop2", 1))
}

/// The data space of a heap or index: a filegroup, or a partition scheme.
fn space_of(base: &Base<'_>, partitioned: Option<&Partitioned>, def: &RowsetDef) -> i64 {
    match partitioned {
        Some(p) => i64::from(p.scheme),
        None => i64::from(base.db.filegroup_of(def.au)),
    }
}

/// A `sysiscols` row for the column at a position.
fn member(
    table: &TableDef,
    index: u16,
    subid: i64,
    status: i64,
    column: usize,
) -> SqlResult<Fields> {
    let column = table.columns.get(column).map_or(0, |c| c.id);
    Ok(Fields::new(id::ISCOLS)?
        .int("idmajor", i64::from(table.id.0))
        .int("idminor", i64::from(index))
        .int("subid", subid)
        .int("status", status)
        .int("intprop", i64::from(column)))
}

/// The `sysidxstats` and `sysiscols` rows of an index.
pub(crate) fn index_rows(base: &Base<'_>, table: &TableDef, index: &IndexDef) -> SqlResult<()> {
    let mut status = index_status::BASE | index_status::STATISTICS;
    if index.unique {
        status |= index_status::UNIQUE;
    }
    if index.primary_key {
        status |= index_status::PRIMARY_KEY;
    }
    if index.unique_constraint {
        status |= index_status::UNIQUE_CONSTRAINT;
    }
    let o = &index.options;
    for (on, bit) in [
        (o.padded, index_status::PADDED),
        (o.ignore_dup_key, index_status::IGNORE_DUP_KEY),
        (o.disabled, index_status::DISABLED),
        (o.no_row_locks, index_status::NO_ROW_LOCKS),
        (o.no_page_locks, index_status::NO_PAGE_LOCKS),
        (o.no_recompute, index_status::NO_RECOMPUTE),
    ] {
        if on {
            status |= bit;
        }
    }
    base.insert(
        Fields::new(id::IDXSTATS)?
            .int("id", i64::from(table.id.0))
            .int("indid", i64::from(index.id))
            .text("name", &index.name)
            .int("status", status)
            .int("fillfact", i64::from(o.fill_factor))
            .int("type", if index.clustered { 1 } else { 2 })
            .int(
                "dataspace",
                space_of(base, index.partitioned.as_deref(), &index.rowset),
            )
            .int("rowset", index.rowset.rowset.0),
    )?;
    let mut subid = 0;
    let keys = index.keys.iter().map(|k| (k.column, k.desc, true));
    let includes = index.includes.iter().map(|c| (*c, false, false));
    let own = index.partitioned.as_ref().map(|p| p.column);
    for (column, desc, key) in keys.chain(includes) {
        subid += 1;
        let status = match (key, desc) {
            (true, false) => column_status::KEY,
            (true, true) => column_status::KEY | column_status::DESC,
            (false, _) => column_status::INCLUDED,
        };
        base.insert(
            member(table, index.id, subid, status, column)?
                .int("tinyprop1", if key { subid } else { 0 })
                .int("tinyprop2", i64::from(own == Some(column))),
        )?;
    }
    let declared =
        |c: usize| index.keys.iter().any(|k| k.column == c) || index.includes.contains(&c);
    if let Some(own) = own.filter(|c| !declared(*c)) {
        subid += 1;
        let status = column_status::PARTITIONING;
        base.insert(member(table, index.id, subid, status, own)?.int("tinyprop2", 1))?;
    }
    let below = table.partitioned.as_ref().map(|p| p.column);
    let below = below.filter(|c| table.is_heap() && !declared(*c) && own != Some(*c));
    if let Some(below) = below {
        subid += 1;
        base.insert(member(
            table,
            index.id,
            subid,
            column_status::LOCATING,
            below,
        )?)?;
    }
    Ok(())
}

/// The `sysidxstats` and `sysiscols` rows of statistics without an index.
pub(crate) fn statistics_rows(
    base: &Base<'_>,
    table: &TableDef,
    statistics: &StatisticsDef,
) -> SqlResult<()> {
    let mut status = index_status::STATISTICS;
    if statistics.no_recompute {
        status |= index_status::NO_RECOMPUTE;
    }
    base.insert(
        Fields::new(id::IDXSTATS)?
            .int("id", i64::from(table.id.0))
            .int("indid", i64::from(statistics.id))
            .text("name", &statistics.name)
            .int("status", status),
    )?;
    for (subid, column) in (1..).zip(&statistics.columns) {
        base.insert(
            Fields::new(id::ISCOLS)?
                .int("idmajor", i64::from(table.id.0))
                .int("idminor", i64::from(statistics.id))
                .int("subid", subid)
                .int("status", column_status::STATISTICS)
                .int("intprop", i64::from(*column))
                .int("tinyprop1", subid),
        )?;
    }
    Ok(())
}

/// `rscolid` of every column of a table's data rows; the uniquifier has 0.
pub(crate) fn data_column_ids(table: &TableDef) -> Vec<i32> {
    table.columns.iter().map(|c| c.id).collect()
}

/// `rscolid` of every column of an index's rows: numbered, the columns of the table known from `sysiscols`.
pub(crate) fn index_column_ids(sources: &[IndexSource]) -> Vec<i32> {
    (1..=sources.len() as i32).collect()
}
