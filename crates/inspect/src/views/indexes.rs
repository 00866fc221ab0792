//! `sys.indexes`, `sys.index_columns`, `sys.partitions` and `sys.allocation_units`.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::{IndexDef, Partitioned, TableDef};
use duramen_program::column::*;
use duramen_storage::RowsetDef;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::tables;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1009, &INDEXES),
    (-1026, &INDEX_COLUMNS),
    (-1027, &PARTITIONS),
    (-1033, &ALLOCATION_UNITS),
];

/// A heap or an index.
pub struct Source {
    table: Arc<TableDef>,
    /// Position in the table's indexes; none: the heap.
    index: Option<usize>,
    /// A filegroup, or a partition scheme.
    space: i32,
}

impl Source {
    fn index(&self) -> Option<&IndexDef> {
        self.table.indexes.get(self.index?)
    }

    fn id(&self) -> u16 {
        self.index().map_or(0, |i| i.id)
    }

    fn kind(&self) -> (u8, &'static str) {
        match self.index() {
            None => (0, "HEAP"),
            Some(i) if i.clustered => (1, "CLUSTERED"),
            Some(_) => (2, "NONCLUSTERED"),
        }
    }

    fn is(&self, what: impl Fn(&IndexDef) -> bool) -> Value {
        bit(self.index().is_some_and(what))
    }

    /// By partition.
    fn rowsets(&self) -> &[Arc<RowsetDef>] {
        match self.index() {
            Some(i) if !i.clustered => i.rowsets(),
            _ => self.table.data_rowsets(),
        }
    }

    fn partitioned(&self) -> Option<&Arc<Partitioned>> {
        match self.index() {
            Some(i) => i.partitioned.as_ref(),
            None => self.table.partitioned.as_ref(),
        }
    }
}

columns! { Source;
    "object_id", T::INT, NOT_NULL, |s| int(s.table.id.0);
    "name", T::SYSNAME, NULL, |s| text_or_null(s.index().map(|i| i.name.as_str()));
    "index_id", T::INT, NOT_NULL, |s| int(s.id());
    "type", T::TINYINT, NOT_NULL, |s| tiny(s.kind().0);
    "type_desc", DESC, NULL, |s| text(s.kind().1);
    "is_unique", T::BIT, NULL, |s| s.is(|i| i.unique);
    "data_space_id", T::INT, NULL, |s| int(s.space);
    "ignore_dup_key", T::BIT, NULL, |s| s.is(|i| i.options.ignore_dup_key);
    "is_primary_key", T::BIT, NULL, |s| s.is(|i| i.primary_key);
    "is_unique_constraint", T::BIT, NULL, |s| s.is(|i| i.unique_constraint);
    "fill_factor", T::TINYINT, NOT_NULL, |s| tiny(s.index().map_or(0, |i| i.options.fill_factor));
    "is_padded", T::BIT, NULL, |s| s.is(|i| i.options.padded);
    "is_disabled", T::BIT, NULL, |s| s.is(|i| i.options.disabled);
    "is_hypothetical", T::BIT, NULL, |_| bit(false);
    "is_ignored_in_optimization", T::BIT, NULL, |_| bit(false);
    "allow_row_locks", T::BIT, NULL, |_| bit(true);
    "allow_page_locks", T::BIT, NULL, |_| bit(true);
    "has_filter", T::BIT, NULL, |_| bit(false);
    "filter_definition", T::NVARCHAR_MAX, NULL, |_| Value::Null;
    "compression_delay", T::INT, NULL, |_| Value::Null;
    "suppress_dup_key_messages", T::BIT, NULL, |_| bit(false);
    "auto_created", T::BIT, NULL, |_| bit(false);
    "optimize_for_sequential_key", T::BIT, NULL, |_| bit(false);
}

/// Every heap and index, those of base tables too.
fn sources(cx: &Context) -> SqlResult<Vec<Source>> {
    let mut all = Vec::new();
    let db = cx.instance.databases.find(&cx.database);
    for table in tables(cx, true)? {
        let heap = table.is_heap().then_some(None);
        let indexes = (0..table.indexes.len()).map(Some);
        all.extend(heap.into_iter().chain(indexes).map(|index| {
            let mut source = Source {
                table: table.clone(),
                index,
                space: 1,
            };
            let first = source.rowsets().first().map(|r| r.au);
            match (source.partitioned().map(|p| p.scheme), &db) {
                (Some(scheme), _) => source.space = scheme,
                (None, Some(db)) => {
                    let filegroup = first.map(|au| db.db.filegroup_of(au));
                    source.space = filegroup.map_or(1, i32::from);
                }
                _ => {}
            }
            source
        }));
    }
    Ok(all)
}

pub const INDEXES: View = View::new("indexes", VISIBLE, COLUMNS, |cx, _| {
    Ok(sources(cx)?.iter().map(row).collect())
});

pub use columns::INDEX_COLUMNS;

mod columns {
    use super::*;

    pub struct Member {
        table: i32,
        index: u16,
        /// From 1, includes after the keys, a column that only the partition scheme asks for last.
        position: usize,
        column: i32,
        kind: Kind,
        desc: bool,
        partitioning: bool,
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Kind {
        Key,
        Included,
        /// Added because it decides the partition: neither of the others.
        Added,
    }

    columns! { Member;
        "object_id", T::INT, NOT_NULL, |m| int(m.table);
        "index_id", T::INT, NOT_NULL, |m| int(m.index);
        "index_column_id", T::INT, NOT_NULL, |m| int(m.position as i64);
        "column_id", T::INT, NOT_NULL, |m| int(m.column);
        "key_ordinal", T::TINYINT, NOT_NULL, |m| match m.kind {
            Kind::Key => tiny(m.position as u8),
            _ => tiny(0),
        };
        "partition_ordinal", T::TINYINT, NOT_NULL, |m| tiny(u8::from(m.partitioning));
        "is_descending_key", T::BIT, NULL, |m| bit(m.desc);
        "is_included_column", T::BIT, NULL, |m| bit(m.kind == Kind::Included);
        "column_store_order_ordinal", T::TINYINT, NOT_NULL, |_| tiny(0);
    }

    pub const INDEX_COLUMNS: View = View::new("index_columns", VISIBLE, COLUMNS, |cx, _| {
        let mut rows = Vec::new();
        for t in tables(cx, true)? {
            let mut add = |index: u16,
                           of: Option<&Partitioned>,
                           columns: Vec<(usize, Kind, bool)>| {
                let own = of.map(|p| p.column);
                let declared = columns.iter().any(|(c, ..)| Some(*c) == own);
                let added = own.filter(|_| !declared).map(|c| (c, Kind::Added, false));
                for (position, (column, kind, desc)) in (1..).zip(columns.into_iter().chain(added))
                {
                    rows.push(row(&Member {
                        table: t.id.0,
                        index,
                        position,
                        column: t.columns.get(column).map_or(0, |c| c.id),
                        kind,
                        desc,
                        partitioning: Some(column) == own,
                    }));
                }
            };
            if t.is_heap() {
                add(0, t.partitioned.as_deref(), Vec::new());
            }
            for i in &t.indexes {
                let keys = i.keys.iter().map(|k| (k.column, Kind::Key, k.desc));
                let includes = i.includes.iter().map(|c| (*c, Kind::Included, false));
                add(
                    i.id,
                    i.partitioned.as_deref(),
                    keys.chain(includes).collect(),
                );
            }
        }
        Ok(rows)
    });
}

pub use partitions::PARTITIONS;

mod partitions {
    use super::*;

    pub struct Partition {
        object: i32,
        index: u16,
        /// From 1.
        number: usize,
        rowset: i64,
        rows: u64,
    }

    columns! { Partition;
        "partition_id", T::BIGINT, NOT_NULL, |p| Value::BigInt(p.rowset);
        "object_id", T::INT, NOT_NULL, |p| int(p.object);
        "index_id", T::INT, NOT_NULL, |p| int(p.index);
        "partition_number", T::INT, NOT_NULL, |p| int(p.number as i64);
        "hobt_id", T::BIGINT, NOT_NULL, |p| Value::BigInt(p.rowset);
        "rows", T::BIGINT, NULL, |p| big(p.rows);
        "filestream_filegroup_id", T::SMALLINT, NOT_NULL, |_| small(0);
        "data_compression", T::TINYINT, NOT_NULL, |_| tiny(0);
        "data_compression_desc", DESC, NULL, |_| text("NONE");
        "xml_compression", T::BIT, NULL, |_| bit(false);
        "xml_compression_desc", T::varchar(3), NULL, |_| Value::varchar("OFF");
    }

    pub const PARTITIONS: View = View::new("partitions", VISIBLE, COLUMNS, |cx, _| {
        let Some(db) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for source in sources(cx)? {
            for (number, rowset) in (1..).zip(source.rowsets()) {
                rows.push(row(&Partition {
                    object: source.table.id.0,
                    index: source.id(),
                    number,
                    rowset: rowset.rowset.0,
                    rows: db.db.rowset(rowset).row_count()?,
                }));
            }
        }
        Ok(rows)
    });
}

pub use units::ALLOCATION_UNITS;

mod units {
    use duramen_base::AllocUnitId;

    use super::super::rowsets::{unit_name, units};
    use super::*;

    pub struct Unit {
        id: AllocUnitId,
        kind: u8,
        filegroup: u16,
        rowset: i64,
        total: u64,
        used: u64,
        data: u64,
    }

    columns! { Unit;
        "allocation_unit_id", T::BIGINT, NOT_NULL, |u| Value::BigInt(u.id.0);
        "type", T::TINYINT, NOT_NULL, |u| tiny(u.kind);
        "type_desc", DESC, NULL, |u| text(unit_name(u.kind));
        "container_id", T::BIGINT, NOT_NULL, |u| Value::BigInt(u.rowset);
        "data_space_id", T::INT, NULL, |u| int(u.filegroup);
        "total_pages", T::BIGINT, NOT_NULL, |u| big(u.total);
        "used_pages", T::BIGINT, NOT_NULL, |u| big(u.used);
        "data_pages", T::BIGINT, NOT_NULL, |u| big(u.data);
    }

    pub const ALLOCATION_UNITS: View = View::new("allocation_units", VISIBLE, COLUMNS, |cx, _| {
        let Some(db) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        let sources = sources(cx)?;
        for def in sources.iter().flat_map(|s| s.rowsets()) {
            for (id, kind) in units(def) {
                if db.db.roots(id).first_iam.is_null() {
                    continue;
                }
                let pages = db.db.rowset(def).page_counts(id)?;
                rows.push(row(&Unit {
                    id,
                    kind,
                    filegroup: db.db.filegroup_of(id),
                    rowset: def.rowset.0,
                    total: pages.total,
                    used: pages.used,
                    data: pages.data,
                }));
            }
        }
        Ok(rows)
    });
}
