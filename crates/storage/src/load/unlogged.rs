//! Minimal logging: pages whose rows are in no record.
//!
//! Invariants
//! 1. Only under SIMPLE or BULK_LOGGED, and only while no backup copies pages: a copy made before a page was filled has
//!    nothing to fill it from. Whoever fills pages holds the room's lock for as long; a backup waits for it once, and from
//!    then on rows are logged (`Backups::copying`). Pages that are open then take rows with records only, for ever.
//!    While a chain of log backups goes on, their extents are marked for the next one first (`files::minimal`).
//!    [test: a_log_backup_has_the_pages_that_no_record_has; test: a_load_that_is_open_during_a_log_backup_is_undone_in_the_copy]
//! 2. Before a page is filled, the user's transaction has a record that says so (`extent`), whose LSN the page gets.
//!    [test: what_is_loaded_without_records_is_kept_by_a_commit_alone]
//! 3. A page is on disk before anything but links changes it with a record, and before its statement ends: redo of such a
//!    record finds the rows that it expects. Until then it is *open*, and only its own load puts rows there.
//!    [test: what_is_loaded_without_records_is_kept_by_a_commit_alone]
//! 4. The number of rows is noted when pages are written down (`row_counts`).
//!    [test: what_is_loaded_without_records_is_kept_by_a_commit_alone]

use duramen_base::{PageId, SqlResult};
use duramen_os::sync::RwLockReadGuard;
use duramen_txn::Transaction;

use super::batch::Batch;
use super::extent::Extent;
use super::{Load, Logging};
use crate::engine::Database;
use crate::fullness::class_of;
use crate::recovery_model::RecoveryModel;

/// Pages that may be open before all but the last are written down: 2 MB.
const MOST_OPEN: usize = 256;

/// What a load has filled without a record.
#[derive(Debug, Default)]
pub(super) struct Unlogged {
    /// In order; the last may have room.
    open: Vec<PageId>,
    /// Not noted yet.
    rows: i64,
    began: bool,
    /// The backups that had begun to copy when the last of `open` was marked.
    backups: u64,
}

/// No backup begins to copy pages while this is held.
pub(super) type Allowed<'a> = RwLockReadGuard<'a, u32>;

impl Database {
    /// Whether rows may stay out of the log now.
    fn unlogged_allowed(&self) -> Option<Allowed<'_>> {
        let copying = self.backups.copying.read();
        (*copying == 0 && self.minimal_model()).then_some(copying)
    }

    /// Whether nobody will want to make the rows of a load again from the log alone.
    pub(super) fn minimal_model(&self) -> bool {
        self.recovery_model() != RecoveryModel::Full
    }
}

impl Load {
    pub(super) fn allowed<'d>(&self, db: &'d Database) -> Option<Allowed<'d>> {
        match self.logging {
            Logging::Minimal => db.unlogged_allowed(),
            _ => None,
        }
    }

    /// The page that has taken the last rows, while it is open.
    pub(super) fn open_page(&self) -> Option<PageId> {
        self.unlogged.open.last().copied()
    }

    /// Rows into the room of the open page; how many. `allowed` is asked for before the tree or heap is latched, as by
    /// whoever fills new pages: one order of the two.
    pub(super) fn fill_open(
        &mut self,
        allowed: Option<&Allowed<'_>>,
        batch: &Batch<'_>,
        rows: std::ops::Range<usize>,
        claim: impl FnOnce(PageId, u16, usize) -> SqlResult<usize>,
    ) -> SqlResult<usize> {
        let db = self.rowset.db.clone();
        let (Some(_), Some(id)) = (allowed, self.open_page()) else {
            return Ok(0);
        };
        // A backup has begun since the page was filled, and may have copied it as it was: the log would lack the rows.
        if self.unlogged.backups != db.backups.begun() || db.log_is_spent() {
            // What the map of free space is told takes room in the log as well.
            return Ok(0);
        }
        let mut page = db.write_page(id)?;
        let p = page.page();
        let free = usize::from(p.free_bytes()).saturating_sub(self.spare);
        let n = batch.fitting(rows.clone(), free);
        let n = claim(id, p.slot_count(), n)?;
        if n > 0 {
            db.mark_changed(id, true)?;
            let rows = batch.rows(rows.start..rows.start + n);
            let put = page.change().append_records(rows);
            page.page().sound(put)?;
            self.unlogged.rows += n as i64;
            if self.rowset.def.is_heap() {
                let class = class_of(*page.page());
                db.set_free_space(id, class)?;
            }
        }
        Ok(n)
    }

    /// Fills new pages, which stand in the tree or heap, empty; `rows` says which rows each of them gets.
    pub(super) fn fill_unlogged(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        mut extent: Extent,
        rows: &[std::ops::Range<usize>],
    ) -> SqlResult<()> {
        let db = self.rowset.db.clone();
        extent.first = !std::mem::replace(&mut self.unlogged.began, true);
        self.unlogged.backups = db.backups.begun();
        // The map, the record, the rows: whatever a crash leaves of these, what is there is known of.
        db.mark_minimal(&extent.pages)?;
        db.begin_unlogged(tx, &extent)?;
        let mut classes = Vec::with_capacity(rows.len());
        for (id, rows) in extent.pages.iter().zip(rows) {
            let mut page = db.write_page(*id)?;
            let put = page.change().append_records(batch.rows(rows.clone()));
            page.page().sound(put)?;
            classes.push((*id, class_of(*page.page())));
            self.unlogged.rows += rows.len() as i64;
            self.unlogged.open.push(*id);
        }
        if self.rowset.def.is_heap() {
            db.set_classes(&classes)?;
        }
        Ok(())
    }

    /// Writes open pages down: all, or when there are many all but the last.
    pub(super) fn settle(&mut self, tx: &Transaction, all: bool) -> SqlResult<()> {
        let db = &self.rowset.db;
        let open = &mut self.unlogged.open;
        if open.is_empty() || !all && open.len() < MOST_OPEN {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.unlogged.rows);
        db.note_count(tx, self.rowset.def.au, rows)?;
        let kept = if all { None } else { open.pop() };
        let pages = std::mem::take(open);
        open.extend(kept);
        match db.store.temporary {
            true => Ok(()),
            false => db.engine.pool.write_pages(db.id, &pages),
        }
    }
}
