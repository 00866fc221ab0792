//! `sys.dm_db_database_page_allocations(database_id, object_id, index_id, partition_number, mode)`: the pages that heaps and
//! indexes have. The reference does not describe it; names, types and the order of columns are those that it is known by.
//!
//! LIMITED, which NULL means, reads maps alone; DETAILED reads the header of every page in use. Two pages that are changed
//! while others are read are shown as each was found.

use std::sync::Arc;

use duramen_base::{AllocUnitId, PageId, SqlError, SqlResult, given_up, messages};
use duramen_format::page::page_type;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_query::host::RowStream;
use duramen_storage::{AllocatedPage, Database, PageHead};
use duramen_types::{SqlType as T, Value};

use super::View;
use super::os::page_kind;
use super::page_info::percent;
use super::rowsets::{self, unit_name, units};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5024, &VIEW),
];

pub struct Source {
    database: u16,
    object: i32,
    index: i32,
    partition: i32,
    rowset: i64,
    unit: i64,
    kind: u8,
    page: AllocatedPage,
    head: Option<PageHead>,
}

const WORD: T = T::nvarchar(64);

impl Source {
    fn head(&self, of: impl Fn(&PageHead) -> Value) -> Value {
        self.head.as_ref().map_or(Value::Null, of)
    }

    /// A page that a header points to; none is NULL.
    fn pointer(&self, of: impl Fn(&PageHead) -> PageId, part: impl Fn(PageId) -> Value) -> Value {
        self.head(|h| match of(h) {
            page if page.is_null() => Value::Null,
            page => part(page),
        })
    }
}

columns! { Source;
    "database_id", T::SMALLINT, NULL, |s| small(s.database);
    "object_id", T::INT, NULL, |s| int(s.object);
    "index_id", T::INT, NULL, |s| int(s.index);
    "partition_id", T::INT, NULL, |s| int(s.partition);
    "rowset_id", T::BIGINT, NULL, |s| Value::BigInt(s.rowset);
    "allocation_unit_id", T::BIGINT, NULL, |s| Value::BigInt(s.unit);
    "allocation_unit_type", T::TINYINT, NULL, |s| tiny(s.kind);
    "allocation_unit_type_desc", DESC, NULL, |s| text(unit_name(s.kind));
    "data_clone_id", T::INT, NULL, |_| Value::Null;
    "clone_state", T::TINYINT, NULL, |_| Value::Null;
    "clone_state_desc", DESC, NULL, |_| Value::Null;
    "extent_file_id", T::SMALLINT, NULL, |s| small(s.page.extent().file);
    "extent_page_id", T::INT, NULL, |s| int(s.page.extent().page);
    "allocated_page_iam_file_id", T::SMALLINT, NULL, |s| s.page.iam.map_or(Value::Null, |p| small(p.file));
    "allocated_page_iam_page_id", T::INT, NULL, |s| s.page.iam.map_or(Value::Null, |p| int(p.page));
    "allocated_page_file_id", T::SMALLINT, NULL, |s| small(s.page.page.file);
    "allocated_page_page_id", T::INT, NULL, |s| int(s.page.page.page);
    "is_allocated", T::BIT, NULL, |s| bit(s.page.in_use());
    "is_iam_page", T::BIT, NULL, |s| bit(s.page.iam.is_none());
    "is_mixed_page_allocation", T::BIT, NULL, |s| bit(s.page.mixed);
    "page_free_space_percent", T::INT, NULL, |s| match s.page.in_use() && s.page.iam.is_some() {
        true => int(percent(s.page.pfs)),
        false => Value::Null,
    };
    "page_type", T::INT, NULL, |s| s.head(|h| int(h.kind));
    "page_type_desc", WORD, NULL, |s| s.head(|h| text(page_kind(h.kind)));
    "page_level", T::INT, NULL, |s| s.head(|h| int(h.level));
    "next_page_file_id", T::SMALLINT, NULL, |s| s.pointer(|h| h.next, |p| small(p.file));
    "next_page_page_id", T::INT, NULL, |s| s.pointer(|h| h.next, |p| int(p.page));
    "previous_page_file_id", T::SMALLINT, NULL, |s| s.pointer(|h| h.previous, |p| small(p.file));
    "previous_page_page_id", T::INT, NULL, |s| s.pointer(|h| h.previous, |p| int(p.page));
    "is_page_compressed", T::BIT, NULL, |s| s.head(|_| bit(false));
    "has_ghost_records", T::BIT, NULL, |s| s.head(|h| bit(h.ghosts > 0 && h.kind != page_type::IAM));
}

pub const VIEW: View = View::streamed(
    "dm_db_database_page_allocations",
    STATE_OF_OBJECTS,
    COLUMNS,
    stream,
);

/// An allocation unit whose pages are asked for.
struct Unit {
    db: Arc<Database>,
    object: i32,
    index: i32,
    partition: i32,
    rowset: i64,
    unit: AllocUnitId,
    kind: u8,
}

/// A database has more pages than should be in memory as rows: those of one unit are listed at a time.
struct Pages {
    detailed: bool,
    units: std::vec::IntoIter<Unit>,
    unit: Option<Unit>,
    pages: std::vec::IntoIter<AllocatedPage>,
}

fn stream(cx: &Context, args: &[Value]) -> SqlResult<RowStream> {
    let mode = args.get(4).and_then(Value::as_text).unwrap_or_default();
    let detailed = match mode.to_ascii_uppercase().as_str() {
        "" | "DEFAULT" | "LIMITED" => false,
        "DETAILED" => true,
        _ => return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&5])),
    };
    let mut all = Vec::new();
    rowsets::each(cx, args, |found| {
        all.extend(units(found.def).map(|(unit, kind)| Unit {
            db: found.db.db.clone(),
            object: found.table.id.0,
            index: found.index_id(),
            partition: found.partition,
            rowset: found.def.rowset.0,
            unit,
            kind,
        }));
        Ok(())
    })?;
    Ok(Box::new(Pages {
        detailed,
        units: all.into_iter(),
        unit: None,
        pages: Vec::new().into_iter(),
    }))
}

impl Pages {
    fn next_row(&mut self) -> SqlResult<Option<Row>> {
        loop {
            given_up::check()?;
            if let (Some(unit), Some(page)) = (&self.unit, self.pages.next()) {
                return unit.row(page, self.detailed).map(Some);
            }
            let Some(unit) = self.units.next() else {
                return Ok(None);
            };
            self.pages = unit.db.allocated_pages(unit.unit)?.into_iter();
            self.unit = Some(unit);
        }
    }
}

impl Iterator for Pages {
    type Item = SqlResult<Row>;

    fn next(&mut self) -> Option<SqlResult<Row>> {
        self.next_row().transpose()
    }
}

impl Unit {
    fn row(&self, page: AllocatedPage, detailed: bool) -> SqlResult<Row> {
        let head = match detailed && page.in_use() {
            true => Some(self.db.page_head(page.page)?),
            false => None,
        };
        Ok(row(&Source {
            database: self.db.id.0,
            object: self.object,
            index: self.index,
            partition: self.partition,
            rowset: self.rowset,
            unit: self.unit.0,
            kind: self.kind,
            page,
            head,
        }))
    }
}
