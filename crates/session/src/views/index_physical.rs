//! `sys.dm_db_index_physical_stats(database_id, object_id, index_id, partition_number, mode)`.
//!
//! The mode is LIMITED (also for NULL and DEFAULT), SAMPLED or DETAILED; 2560 for another, *assumed*. Large values have a line of their own, without
//! fragmentation.

use duramen_base::{AllocUnitId, SqlError, SqlResult, messages};
use duramen_catalog::{IndexDef, TableDef};
use duramen_query::Row;
use duramen_storage::{Level, Records, RowsetDef, Scan};
use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;
use crate::databases::OpenDb;
use crate::host::Context;

pub struct Source {
    database: i16,
    object: i32,
    index: i32,
    partition: i32,
    kind: &'static str,
    large: bool,
    depth: u8,
    level: Level,
    /// Of large values: their pages.
    pages: u64,
    heap: bool,
    hobt: i64,
}

impl Source {
    fn read(&self, of: impl Fn(&Records) -> u64) -> Value {
        let found = self.level.records.as_ref();
        found.map_or(Value::Null, |r| big(of(r)))
    }

    fn read_int(&self, of: impl Fn(&Records) -> u64) -> Value {
        let found = self.level.records.as_ref();
        found.map_or(Value::Null, |r| int(of(r) as i64))
    }

    fn read_float(&self, of: impl Fn(&Records) -> f64) -> Value {
        let found = self.level.records.as_ref();
        found.map_or(Value::Null, |r| Value::Float(of(r)))
    }

    fn not_large(&self, value: Value) -> Value {
        if self.large { Value::Null } else { value }
    }
}

columns! { Source;
    "database_id", T::SMALLINT, NULL, |s| small(s.database);
    "object_id", T::INT, NULL, |s| int(s.object);
    "index_id", T::INT, NULL, |s| int(s.index);
    "partition_number", T::INT, NULL, |s| int(s.partition);
    "index_type_desc", DESC, NULL, |s| text(s.kind);
    "alloc_unit_type_desc", DESC, NULL, |s| text(if s.large { "LOB_DATA" } else { "IN_ROW_DATA" });
    "index_depth", T::TINYINT, NULL, |s| tiny(s.depth);
    "index_level", T::TINYINT, NULL, |s| tiny(s.level.level);
    "avg_fragmentation_in_percent", T::FLOAT, NULL, |s| Value::Float(s.level.fragmentation);
    "fragment_count", T::BIGINT, NULL, |s| s.not_large(big(s.level.fragments));
    "avg_fragment_size_in_pages", T::FLOAT, NULL, |s| match s.level.fragments {
        0 => Value::Null,
        n => Value::Float(s.pages as f64 / n as f64),
    };
    "page_count", T::BIGINT, NULL, |s| big(s.pages);
    "avg_page_space_used_in_percent", T::FLOAT, NULL, |s| s.read_float(|r| r.space_used);
    "record_count", T::BIGINT, NULL, |s| s.read(|r| r.count);
    "ghost_record_count", T::BIGINT, NULL, |s| s.read(|r| r.ghosts);
    // Ghosts stay while a snapshot may ask for them; nobody counts those apart.
    "version_ghost_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "min_record_size_in_bytes", T::INT, NULL, |s| s.read_int(|r| r.least);
    "max_record_size_in_bytes", T::INT, NULL, |s| s.read_int(|r| r.most);
    "avg_record_size_in_bytes", T::FLOAT, NULL, |s| s.read_float(|r| r.average);
    "forwarded_record_count", T::BIGINT, NULL, |s| match s.heap && !s.large {
        true => s.read(|r| r.forwarded),
        false => Value::Null,
    };
    "compressed_page_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "hobt_id", T::BIGINT, NULL, |s| Value::BigInt(s.hobt);
    "columnstore_delete_buffer_state", T::TINYINT, NULL, |_| tiny(0);
    "columnstore_delete_buffer_state_desc", DESC, NULL, |_| text("NOT VALID");
    // Versions of rows are kept in memory and not in rows.
    "version_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "inrow_version_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "inrow_diff_version_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "total_inrow_version_payload_size_in_bytes", T::BIGINT, NULL, |s| s.read(|_| 0);
    "offrow_regular_version_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
    "offrow_long_term_version_record_count", T::BIGINT, NULL, |s| s.read(|_| 0);
}

pub const VIEW: View = View::new("dm_db_index_physical_stats", COLUMNS, rows);

/// What is asked for.
struct Wanted {
    object: Option<i64>,
    index: Option<i64>,
    partition: Option<i64>,
    scan: Scan,
}

fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    // 0, and -1 for an index, stand for all.
    let number = |i: usize, all: i64| {
        let value = args.get(i).and_then(Value::as_i64);
        value.filter(|n| *n != all)
    };
    let mode = args.get(4).and_then(Value::as_text).unwrap_or_default();
    let wanted = Wanted {
        object: number(1, 0),
        index: number(2, -1),
        partition: number(3, 0),
        scan: match mode.to_ascii_uppercase().as_str() {
            "" | "DEFAULT" | "LIMITED" => Scan::Limited,
            "SAMPLED" => Scan::Sampled,
            "DETAILED" => Scan::Detailed,
            _ => return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&5])),
        },
    };
    let database = number(0, 0);
    let mut found = Vec::new();
    for d in cx.instance.databases.all() {
        if database.is_some_and(|id| id != i64::from(d.db.id.0)) {
            continue;
        }
        for table in d.catalog.snapshot()?.tables.values() {
            if wanted.object.is_some_and(|id| id != i64::from(table.id.0)) {
                continue;
            }
            of_table(&d, table, &wanted, &mut found)?;
        }
    }
    Ok(found)
}

fn of_table(d: &OpenDb, table: &TableDef, wanted: &Wanted, found: &mut Vec<Row>) -> SqlResult<()> {
    let heap = table.is_heap();
    let data = table.indexes.iter().find(|i| i.clustered);
    let mut all: Vec<(Option<&IndexDef>, &[std::sync::Arc<RowsetDef>])> =
        vec![(data, table.data_rowsets())];
    let others = table
        .indexes
        .iter()
        .filter(|i| !i.clustered && !i.options.disabled);
    all.extend(others.map(|i| (Some(i), i.rowsets())));
    for (index, rowsets) in all {
        let id = index.map_or(0, |i| i64::from(i.id));
        if wanted.index.is_some_and(|n| n != id) {
            continue;
        }
        let kind = match index {
            None => "HEAP",
            Some(i) if i.clustered => "CLUSTERED INDEX",
            Some(_) => "NONCLUSTERED INDEX",
        };
        for (n, def) in rowsets.iter().enumerate() {
            let partition = n as i32 + 1;
            if wanted.partition.is_some_and(|p| p != i64::from(partition)) {
                continue;
            }
            let rowset = d.db.rowset(def);
            let depth = rowset.depth()?;
            let line = |level: Level, pages: u64, large: bool| Source {
                database: d.db.id.0 as i16,
                object: table.id.0,
                index: id as i32,
                partition,
                kind,
                large,
                depth: if large { 1 } else { depth },
                level,
                pages,
                heap: heap && id == 0,
                hobt: def.rowset.0,
            };
            for level in rowset.physical(wanted.scan)? {
                let pages = level.pages();
                found.push(row(&line(level, pages, false)));
            }
            if let Some(lob) = def.lob_au {
                let pages = large_pages(d, lob)?;
                if pages > 0 {
                    found.push(row(&line(Level::default(), pages, true)));
                }
            }
        }
    }
    Ok(())
}

fn large_pages(d: &OpenDb, unit: AllocUnitId) -> SqlResult<u64> {
    d.db.pages_about(unit)
}
