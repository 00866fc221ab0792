//! `sys.dm_db_index_operational_stats(database_id, object_id, index_id, partition_number)`: what was done to heaps and
//! indexes since their database was opened, or since they were made: see `storage::operations` for where it is counted.
//!
//! | column | counts |
//! |---|---|
//! | `leaf_insert_count` | rows put in, those of loads included |
//! | `leaf_delete_count` | rows removed from a heap; those of an index become ghosts |
//! | `leaf_ghost_count` | rows of an index marked deleted |
//! | `leaf_update_count` | rows changed in their place, or moved within a heap |
//! | `nonleaf_insert_count` | entries put in above the leaves |
//! | `*_allocation_count` | pages added by splits, at the end, by loads |
//! | `range_scan_count` | scans begun that look for more than one whole unique key |
//! | `singleton_lookup_count` | rows asked for by a whole unique key or a RID |
//! | `lob_*`, `row_overflow_*` | pages and bytes of values read from outside their rows |
//! | `row_lock_*`, `page_lock_*` | requests to the lock manager, each time; those that were blocked; for how long |
//! | `index_lock_promotion_*` | tries of trading fine locks for the table's, that began and that succeeded |
//! | `page_latch_*`, `page_io_latch_*` | waits for pages in memory and from the disk; `tree_*`: those above the leaves |
//!
//! What cannot occur is 0: entries above the leaves are not changed or removed one by one, pages leave an index only with all
//! others (no merge), no page is compressed, no load leaves orphans of large values, and versions of rows are in memory:
//! neither in rows nor in pages of their own. SQL Server has no row for what it has not in its cache; here every rowset has.

use duramen_base::SqlResult;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_storage::OperationCounts;
use duramen_types::{SqlType as T, Value};

use super::{View, rowsets};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5025, &VIEW),
];

pub struct Source {
    database: u16,
    object: i32,
    index: i32,
    partition: i32,
    hobt: i64,
    counts: OperationCounts,
}

columns! { Source;
    "database_id", T::SMALLINT, NOT_NULL, |s| small(s.database);
    "object_id", T::INT, NOT_NULL, |s| int(s.object);
    "index_id", T::INT, NOT_NULL, |s| int(s.index);
    "partition_number", T::INT, NOT_NULL, |s| int(s.partition);
    "hobt_id", T::BIGINT, NOT_NULL, |s| Value::BigInt(s.hobt);
    "leaf_insert_count", T::BIGINT, NOT_NULL, |s| big(s.counts.leaf_insert_count);
    "leaf_delete_count", T::BIGINT, NOT_NULL, |s| big(s.counts.leaf_delete_count);
    "leaf_update_count", T::BIGINT, NOT_NULL, |s| big(s.counts.leaf_update_count);
    "leaf_ghost_count", T::BIGINT, NOT_NULL, |s| big(s.counts.leaf_ghost_count);
    "nonleaf_insert_count", T::BIGINT, NOT_NULL, |s| big(s.counts.nonleaf_insert_count);
    "nonleaf_delete_count", T::BIGINT, NOT_NULL, |_| big(0);
    "nonleaf_update_count", T::BIGINT, NOT_NULL, |_| big(0);
    "leaf_allocation_count", T::BIGINT, NOT_NULL, |s| big(s.counts.leaf_allocation_count);
    "nonleaf_allocation_count", T::BIGINT, NOT_NULL, |s| big(s.counts.nonleaf_allocation_count);
    "leaf_page_merge_count", T::BIGINT, NOT_NULL, |_| big(0);
    "nonleaf_page_merge_count", T::BIGINT, NOT_NULL, |_| big(0);
    "range_scan_count", T::BIGINT, NOT_NULL, |s| big(s.counts.range_scan_count);
    "singleton_lookup_count", T::BIGINT, NOT_NULL, |s| big(s.counts.singleton_lookup_count);
    "forwarded_fetch_count", T::BIGINT, NOT_NULL, |s| big(s.counts.forwarded_fetch_count);
    "lob_fetch_in_pages", T::BIGINT, NOT_NULL, |s| big(s.counts.lob_fetch_in_pages);
    "lob_fetch_in_bytes", T::BIGINT, NOT_NULL, |s| big(s.counts.lob_fetch_in_bytes);
    "lob_orphan_create_count", T::BIGINT, NOT_NULL, |_| big(0);
    "lob_orphan_insert_count", T::BIGINT, NOT_NULL, |_| big(0);
    "row_overflow_fetch_in_pages", T::BIGINT, NOT_NULL, |s| big(s.counts.row_overflow_fetch_in_pages);
    "row_overflow_fetch_in_bytes", T::BIGINT, NOT_NULL, |s| big(s.counts.row_overflow_fetch_in_bytes);
    "column_value_push_off_row_count", T::BIGINT, NOT_NULL, |s| big(s.counts.column_value_push_off_row_count);
    "column_value_pull_in_row_count", T::BIGINT, NOT_NULL, |s| big(s.counts.column_value_pull_in_row_count);
    "row_lock_count", T::BIGINT, NOT_NULL, |s| big(s.counts.row_lock_count);
    "row_lock_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.row_lock_wait_count);
    "row_lock_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.row_lock_wait_in_ms);
    "page_lock_count", T::BIGINT, NOT_NULL, |s| big(s.counts.page_lock_count);
    "page_lock_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.page_lock_wait_count);
    "page_lock_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.page_lock_wait_in_ms);
    "index_lock_promotion_attempt_count", T::BIGINT, NOT_NULL, |s| big(s.counts.index_lock_promotion_attempt_count);
    "index_lock_promotion_count", T::BIGINT, NOT_NULL, |s| big(s.counts.index_lock_promotion_count);
    "page_latch_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.latch.count);
    "page_latch_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.latch.in_ms);
    "page_io_latch_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.latch.io_count);
    "page_io_latch_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.latch.io_in_ms);
    "tree_page_latch_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.tree_latch.count);
    "tree_page_latch_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.tree_latch.in_ms);
    "tree_page_io_latch_wait_count", T::BIGINT, NOT_NULL, |s| big(s.counts.tree_latch.io_count);
    "tree_page_io_latch_wait_in_ms", T::BIGINT, NOT_NULL, |s| big(s.counts.tree_latch.io_in_ms);
    "page_compression_attempt_count", T::BIGINT, NOT_NULL, |_| big(0);
    "page_compression_success_count", T::BIGINT, NOT_NULL, |_| big(0);
    "version_generated_inrow", T::BIGINT, NOT_NULL, |_| big(0);
    "version_generated_offrow", T::BIGINT, NOT_NULL, |_| big(0);
    "ghost_version_inrow", T::BIGINT, NOT_NULL, |_| big(0);
    "ghost_version_offrow", T::BIGINT, NOT_NULL, |_| big(0);
    "insert_over_ghost_version_inrow", T::BIGINT, NOT_NULL, |_| big(0);
    "insert_over_ghost_version_offrow", T::BIGINT, NOT_NULL, |_| big(0);
}

pub const VIEW: View = View::new(
    "dm_db_index_operational_stats",
    STATE_OF_OBJECTS,
    COLUMNS,
    rows,
);

fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    let mut rows = Vec::new();
    rowsets::each(cx, args, |found| {
        rows.push(row(&Source {
            database: found.db.db.id.0,
            object: found.table.id.0,
            index: found.index_id(),
            partition: found.partition,
            hobt: found.def.rowset.0,
            counts: found.db.db.rowset(found.def).operation_counts(),
        }));
        Ok(())
    })?;
    Ok(rows)
}
