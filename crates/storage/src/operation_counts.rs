//! What is done to a rowset, counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_pool::LatchWaits;
use duramen_txn::Resource;

/// A count that many may add to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What was done to a rowset. Nanoseconds where it is a time.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    /// Rows that came one by one, each with a request for its own lock and one for its page's.
    pub inserted: Count,
    /// Other requests, one for each time that the lock manager was asked.
    pub row_locks: Count,
    pub page_locks: Count,
    pub updated: Count,
    /// Rows that a load has put in.
    pub loaded: Count,
    /// Rows of a heap that were removed.
    pub deleted: Count,
    /// Rows of a B-tree that were marked deleted.
    pub ghosted: Count,
    pub nonleaf_inserted: Count,
    pub leaf_allocated: Count,
    pub nonleaf_allocated: Count,
    /// Scans of a range or of everything.
    pub scans: Count,
    /// Rows asked for by their whole unique key or their place in a heap.
    pub lookups: Count,
    pub forwarded: Count,
    pub lob_pages: Count,
    pub lob_bytes: Count,
    pub overflow_pages: Count,
    pub overflow_bytes: Count,
    pub pushed_out: Count,
    pub pulled_in: Count,
    pub row_waits: Count,
    pub row_waited: Count,
    pub page_waits: Count,
    pub page_waited: Count,
    pub escalations_tried: Count,
    pub escalations: Count,
}

/// The same as `sys.dm_db_index_operational_stats` names it; times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    pub leaf_insert_count: u64,
    pub leaf_delete_count: u64,
    pub leaf_update_count: u64,
    pub leaf_ghost_count: u64,
    pub nonleaf_insert_count: u64,
    pub leaf_allocation_count: u64,
    pub nonleaf_allocation_count: u64,
    pub range_scan_count: u64,
    pub singleton_lookup_count: u64,
    pub forwarded_fetch_count: u64,
    pub lob_fetch_in_pages: u64,
    pub lob_fetch_in_bytes: u64,
    pub row_overflow_fetch_in_pages: u64,
    pub row_overflow_fetch_in_bytes: u64,
    pub column_value_push_off_row_count: u64,
    pub column_value_pull_in_row_count: u64,
    pub row_lock_count: u64,
    pub row_lock_wait_count: u64,
    pub row_lock_wait_in_ms: u64,
    pub page_lock_count: u64,
    pub page_lock_wait_count: u64,
    pub page_lock_wait_in_ms: u64,
    pub index_lock_promotion_attempt_count: u64,
    pub index_lock_promotion_count: u64,
    /// Of pages on all levels.
    pub latch: LatchWaits,
    /// Of pages above the leaves.
    pub tree_latch: LatchWaits,
}

pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

impl Operations {
    /// A lock was asked for.
    #[inline]
    pub fn asked(&self, resource: &Resource) {
        match resource {
            Resource::Key(..) | Resource::Rid(..) => self.row_locks.add(1),
            Resource::Page(..) => self.page_locks.add(1),
            _ => {}
        }
    }

    pub fn waited(&self, resource: &Resource, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        let (count, time) = match resource {
            Resource::Key(..) | Resource::Rid(..) => (&self.row_waits, &self.row_waited),
            Resource::Page(..) => (&self.page_waits, &self.page_waited),
            _ => return,
        };
        count.add(1);
        time.add(nanos);
    }
}
