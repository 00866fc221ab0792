//! `sys.dm_db_index_physical_stats(database_id, object_id, index_id, partition_number, mode)`.
//!
//! The mode is LIMITED (also for NULL and DEFAULT), SAMPLED or DETAILED; 2560 for another, *assumed*. Large values have a line of their own, without
//! fragmentation.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::column::*;
use duramen_query::Row;
use duramen_storage::{Level, Records, Scan};
use duramen_types::{SqlType as T, Value};

use super::rowsets::{Found, unit_name, units};
use super::{View, rowsets};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5023, &VIEW),
];

pub struct Source {
    database: i16,
    object: i32,
    index: i32,
    partition: i32,
    kind: &'static str,
    /// The type of its allocation unit.
    unit: u8,
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
        if self.unit != 1 { Value::Null } else { value }
    }
}

columns! { Source;
    "database_id", T::SMALLINT, NULL, |s| small(s.database);
    "object_id", T::INT, NULL, |s| int(s.object);
    "index_id", T::INT, NULL, |s| int(s.index);
    "partition_number", T::INT, NULL, |s| int(s.partition);
    "index_type_desc", DESC, NULL, |s| text(s.kind);
    "alloc_unit_type_desc", DESC, NULL, |s| text(unit_name(s.unit));
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
    "forwarded_record_count", T::BIGINT, NULL, |s| match s.heap && s.unit == 1 {
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

pub const VIEW: View = View::new(
    "dm_db_index_physical_stats",
    STATE_OF_OBJECTS,
    COLUMNS,
    rows,
);

fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    let mode = args.get(4).and_then(Value::as_text).unwrap_or_default();
    let scan = match mode.to_ascii_uppercase().as_str() {
        "" | "DEFAULT" | "LIMITED" => Scan::Limited,
        "SAMPLED" => Scan::Sampled,
        "DETAILED" => Scan::Detailed,
        _ => return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&5])),
    };
    let mut rows = Vec::new();
    rowsets::each(cx, args, |found| of_rowset(found, scan, &mut rows))?;
    Ok(rows)
}

fn of_rowset(found: &Found<'_>, scan: Scan, rows: &mut Vec<Row>) -> SqlResult<()> {
    let rowset = found.db.db.rowset(found.def);
    let depth = rowset.depth()?;
    let line = |level: Level, pages: u64, unit: u8| Source {
        database: found.db.db.id.0 as i16,
        object: found.table.id.0,
        index: found.index_id(),
        partition: found.partition,
        kind: match found.index {
            None => "HEAP",
            Some(i) if i.clustered => "CLUSTERED INDEX",
            Some(_) => "NONCLUSTERED INDEX",
        },
        unit,
        depth: if unit == 1 { depth } else { 1 },
        level,
        pages,
        heap: found.index.is_none(),
        hobt: found.def.rowset.0,
    };
    for level in rowset.physical(scan)? {
        let pages = level.pages();
        rows.push(row(&line(level, pages, 1)));
    }
    for (unit, kind) in units(found.def).skip(1) {
        let pages = found.db.db.pages_about(unit)?;
        if pages > 0 {
            rows.push(row(&line(Level::default(), pages, kind)));
        }
    }
    Ok(())
}
