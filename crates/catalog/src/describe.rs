//! The catalog rows that describe a rowset: `sysrowsets`, `sysrscols`, `sysallocunits`, `sysidxstats`, `sysiscols`.

use duramen_base::SqlResult;
use duramen_storage::RowsetDef;
use duramen_types::{SqlType, TypeId, Value};

use crate::def::{IndexDef, IndexOptions, StatisticsDef, TableDef};
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
    let status = crate::load::int(row, 3);
    let on = |bit: i64| status & bit != 0;
    IndexOptions {
        fill_factor: crate::load::int(row, 5) as u8,
        padded: on(index_status::PADDED),
        ignore_dup_key: on(index_status::IGNORE_DUP_KEY),
        disabled: on(index_status::DISABLED),
        no_row_locks: on(index_status::NO_ROW_LOCKS),
        no_page_locks: on(index_status::NO_PAGE_LOCKS),
        no_recompute: on(index_status::NO_RECOMPUTE),
    }
}

/// Writes every row that describes a rowset with pages, but not its column and index definitions.
pub(crate) fn storage_rows(base: &Base<'_>, def: &RowsetDef, column_ids: &[i32]) -> SqlResult<()> {
    allocation_rows(base, def)?;
    placement_rows(base, def, column_ids)
}

/// The `sysrowsets` and `sysrscols` rows of a rowset.
pub(crate) fn placement_rows(
    base: &Base<'_>,
    def: &RowsetDef,
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
            .int("numpart", 1)
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
        let nullbit = if layout.has_null_bitmap() {
            i64::from(c.nullbit)
        } else {
            0
        };
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
                .int("nullbit", nullbit)
                .int("bitpos", i64::from(c.bitpos)),
        )?;
    }
    Ok(())
}

/// The `sysallocunits` rows of a rowset whose pages exist.
pub(crate) fn allocation_rows(base: &Base<'_>, def: &RowsetDef) -> SqlResult<()> {
    for (au, kind) in std::iter::once((def.au, 1)).chain(def.lob_au.map(|au| (au, 2))) {
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

/// The `sysidxstats` row of a heap.
pub(crate) fn heap_row(base: &Base<'_>, def: &RowsetDef) -> SqlResult<()> {
    base.insert(
        Fields::new(id::IDXSTATS)?
            .int("id", i64::from(def.object.0))
            .int("indid", 0)
            .int("status", index_status::BASE)
            .int("dataspace", i64::from(base.db.filegroup_of(def.au)))
            .int("rowset", def.rowset.0),
    )
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
                i64::from(base.db.filegroup_of(index.rowset.au)),
            )
            .int("rowset", index.rowset.rowset.0),
    )?;
    let mut subid = 0;
    let keys = index.keys.iter().map(|k| (k.column, k.desc, true));
    let includes = index.includes.iter().map(|c| (*c, false, false));
    for (column, desc, key) in keys.chain(includes) {
        subid += 1;
        let Some(c) = table.columns.get(column) else {
            continue;
        };
        let status = match (key, desc) {
            (true, false) => column_status::KEY,
            (true, true) => column_status::KEY | column_status::DESC,
            (false, _) => column_status::INCLUDED,
        };
        base.insert(
            Fields::new(id::ISCOLS)?
                .int("idmajor", i64::from(table.id.0))
                .int("idminor", i64::from(index.id))
                .int("subid", subid)
                .int("status", status)
                .int("intprop", i64::from(c.id))
                .int("tinyprop1", if key { subid } else { 0 }),
        )?;
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
