//! What is done to rowsets, counted where it is done: the source of `sys.dm_db_index_operational_stats`.
//!
//! Counts are relaxed adds on the rowset's [`Storage`](crate::engine::Storage), which whoever works on it has at hand; the
//! clock is read only by who has waited. The insert of a row adds once: [`Operations::inserted`] stands for the row and for
//! the locks on row and page that its insert asked for. Loads, scans and pieces of large values add once for many.
//!
//! Counts live as long as the storage is known: from the opening of the database, or the making of the rowset, on. Recovery
//! and undo count nothing: what they put back was counted when it went.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::{AllocUnitId, SqlResult};
use duramen_os::sync::Mutex;
use duramen_os::time;
use duramen_txn::{LockDuration, LockMode, LockOutcome, Resource, Transaction};

use crate::engine::lock_error;
use crate::format::page::PageRef;
use crate::rowset::Rowset;

/// A count that many may add to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    fn get(&self) -> u64 {
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

/// Waits for pages: PAGELATCH and PAGEIOLATCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatchWaits {
    pub count: u64,
    pub in_ms: u64,
    pub io_count: u64,
    pub io_in_ms: u64,
}

const NANOS_PER_MS: u64 = 1_000_000;

/// Counts and nanoseconds: latch, then I/O latch.
#[derive(Clone, Copy, Debug, Default)]
struct Waited([(u64, u64); 2]);

impl Waited {
    fn shown(self) -> LatchWaits {
        let [latch, io] = self.0;
        LatchWaits {
            count: latch.0,
            in_ms: latch.1 / NANOS_PER_MS,
            io_count: io.0,
            io_in_ms: io.1 / NANOS_PER_MS,
        }
    }
}

/// Waits for the pages of a database, by unit: the leaves, and what is above them. The buffer pool adds here after a wait.
#[derive(Debug, Default)]
pub(crate) struct PageWaits(Mutex<BTreeMap<AllocUnitId, [Waited; 2]>>);

impl PageWaits {
    /// Somebody has waited for this page, `io`: for the disk.
    #[cold]
    pub fn add(&self, page: PageRef<'_>, io: bool, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        let mut all = self.0.lock();
        let unit = all.entry(page.alloc_unit()).or_default();
        let sum = &mut unit[usize::from(page.level() > 0)].0[usize::from(io)];
        *sum = (sum.0 + 1, sum.1.saturating_add(nanos));
    }

    /// A unit is gone.
    pub fn forget(&self, unit: AllocUnitId) {
        self.0.lock().remove(&unit);
    }

    /// On all levels, and above the leaves.
    fn of(&self, unit: AllocUnitId) -> (LatchWaits, LatchWaits) {
        let [leaves, above] = self.0.lock().get(&unit).copied().unwrap_or_default();
        let mut all = leaves;
        for (sum, more) in all.0.iter_mut().zip(above.0) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
        (all.shown(), above.shown())
    }
}

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

    fn waited(&self, resource: &Resource, waited: Duration) {
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

impl Rowset {
    /// Locks for `tx` and counts it, waiting no longer than `timeout`. Never with a latch held.
    pub(crate) fn lock_counted(
        &self,
        tx: &Transaction,
        resource: &Resource,
        (mode, duration): (LockMode, LockDuration),
        timeout: Option<Duration>,
    ) -> SqlResult<LockOutcome> {
        let (locks, entity) = (&self.db.engine.locks, self.entity());
        let operations = &self.storage.operations;
        operations.asked(resource);
        let outcome = match locks.try_lock_in(&tx.owner, &entity, resource, mode, duration) {
            Some(outcome) => outcome,
            None => {
                let began = time::now();
                let got = locks.lock_in(&tx.owner, &entity, resource, mode, duration, timeout);
                if timeout != Some(Duration::ZERO) {
                    operations.waited(resource, began.elapsed());
                }
                got.map_err(|e| lock_error(e, tx))?
            }
        };
        self.escalate_if(tx, &outcome);
        Ok(outcome)
    }

    /// Trades fine locks for the table's when the lock manager says that there are many.
    pub(crate) fn escalate_if(&self, tx: &Transaction, outcome: &LockOutcome) {
        if outcome.escalate {
            let operations = &self.storage.operations;
            operations.escalations_tried.add(1);
            let locks = &self.db.engine.locks;
            if locks.escalate(&tx.owner, self.db.id, self.def.object) {
                operations.escalations.add(1);
            }
        }
    }

    /// What was done to it since its database was opened.
    pub fn operation_counts(&self) -> OperationCounts {
        let o = &self.storage.operations;
        let (latch, tree_latch) = self.db.store.page_waits.of(self.def.au);
        OperationCounts {
            leaf_insert_count: o.inserted.get() + o.loaded.get(),
            leaf_delete_count: o.deleted.get(),
            leaf_update_count: o.updated.get(),
            leaf_ghost_count: o.ghosted.get(),
            nonleaf_insert_count: o.nonleaf_inserted.get(),
            leaf_allocation_count: o.leaf_allocated.get(),
            nonleaf_allocation_count: o.nonleaf_allocated.get(),
            range_scan_count: o.scans.get(),
            singleton_lookup_count: o.lookups.get(),
            forwarded_fetch_count: o.forwarded.get(),
            lob_fetch_in_pages: o.lob_pages.get(),
            lob_fetch_in_bytes: o.lob_bytes.get(),
            row_overflow_fetch_in_pages: o.overflow_pages.get(),
            row_overflow_fetch_in_bytes: o.overflow_bytes.get(),
            column_value_push_off_row_count: o.pushed_out.get(),
            column_value_pull_in_row_count: o.pulled_in.get(),
            row_lock_count: o.inserted.get() + o.row_locks.get(),
            row_lock_wait_count: o.row_waits.get(),
            row_lock_wait_in_ms: o.row_waited.get() / NANOS_PER_MS,
            page_lock_count: o.inserted.get() + o.page_locks.get(),
            page_lock_wait_count: o.page_waits.get(),
            page_lock_wait_in_ms: o.page_waited.get() / NANOS_PER_MS,
            index_lock_promotion_attempt_count: o.escalations_tried.get(),
            index_lock_promotion_count: o.escalations.get(),
            latch,
            tree_latch,
        }
    }
}
