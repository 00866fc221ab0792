//! What is done to rowsets, counted where it is done: the source of `sys.dm_db_index_operational_stats`.
//!
//! Counts are relaxed adds on the rowset's [`Storage`](crate::engine::Storage), which whoever works on it has at hand; the
//! clock is read only by who has waited. The insert of a row adds once: [`Operations::inserted`] stands for the row and for
//! the locks on row and page that its insert asked for. Loads, scans and pieces of large values add once for many.
//!
//! Counts live as long as the storage is known: from the opening of the database, or the making of the rowset, on. Recovery
//! and undo count nothing: what they put back was counted when it went.

use std::time::Duration;

use duramen_base::SqlResult;
use duramen_os::time;
use duramen_txn::{LockDuration, LockMode, LockOutcome, Resource, Transaction};

use crate::engine::lock_error;
use crate::operation_counts::{NANOS_PER_MS, OperationCounts};
use crate::rowset::Rowset;

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
