//! Undo: walking a transaction's records back, at ROLLBACK and in recovery by the same code.
//!
//! Invariants
//! 1. Each undone record gets a compensation record whose previous LSN is the record to go on with, so undo that is cut
//!    short by a crash never undoes anything twice.
//!    [assert: undo/1; test: a_rollback_that_a_crash_cuts_short_is_finished_and_not_repeated]
//! 2. Rows of B-trees are undone logically: the row is looked for from the page of its record to the right, since splits
//!    only move rows to the right and never away from their order. It is recognised by its key.
//!    [assert: undo/2; test: rollback_brings_back_rows_that_splits_have_moved]
//! 3. What was done to it is undone field by field, on the row as it is now: system transactions write into rows that a
//!    user's transaction has made or changed (where units begin, blocks of identity values), and what they wrote stays.
//!    [test: a_rollback_undoes_it; test: what_was_changed_is_put_back_and_nothing_else]
//! 4. So compensations say what the row is when they are made, never what it was: what they carry was read from the page.
//!    [assert: undo/4]
//! 5. The records themselves name keys and fields (`btree::fields`) where others than the transaction may change a row: in
//!    base tables. In all other tables nobody else does while its lock is held, and a row is its own key. No catalog is
//!    needed, so recovery can undo before anybody can read the catalog. [test: a_crash_undoes_it]
//! 6. Undo never needs room: deleted rows are still there as ghosts, bytes given up by a shrinking row are reserved, and what
//!    was inserted only has to go.
//!    [test: room_for_undo_is_kept_when_rows_move; test: whatever_is_undone_finds_its_room]

mod brought;

use std::sync::atomic::Ordering::SeqCst;

use duramen_base::planted::{self, Bug};
use duramen_base::{AllocUnitId, Lsn, PageId, SqlError, SqlResult, messages};
use duramen_format::boot::BOOT_PAGE;
use duramen_format::{FormatResult, RowRef};
use duramen_pool::PageWrite;
use duramen_txn::Transaction;
use duramen_wal::record::{FLAG_COMPENSATION, Lcx, Lop, RecordBuilder, RecordView};

use crate::alloc::dropped::DroppedChain;
use crate::anchor::{self, SYSALLOCUNITS};
use crate::btree::fields;
use crate::change::{PHYSICAL, PageOp, Role, difference};
use crate::engine::{Database, StorageRoots};
use crate::error::recovery_error;

impl Database {
    /// Undoes what `tx` did here after `keep` (NULL: everything), newest first.
    pub(crate) fn undo(&self, tx: &Transaction, keep: Lsn) -> SqlResult<()> {
        let Some(part) = tx.part(self.id) else {
            return Ok(());
        };
        if self.is_shut_down() {
            return Err(SqlError::new(&messages::LOG_UNAVAILABLE, &[&self.name]));
        }
        if planted::on(Bug::OldestUndoneFirst) {
            return self.undo_oldest_first(tx, part.last_lsn, keep);
        }
        let mut at = part.last_lsn;
        let mut boot = false;
        while !at.is_null() && at > keep {
            let bytes = self.access.read_one(at)?;
            let view = RecordView::parse(&bytes)
                .ok_or_else(|| recovery_error(self.id, at, "the record cannot be read"))?;
            if view.op() == Lop::BEGIN_XACT {
                break;
            }
            let next = view.prev_lsn();
            debug_assert!(
                next < at,
                "undo/1: undo goes on at {next}, which is not before {at}"
            );
            debug_assert!(
                view.xdes() == part.xdes,
                "undo/1: the record at {at} is another transaction's"
            );
            // A compensation leads past what it has undone: it is followed, and never undone itself.
            if !view.is_compensation() {
                let page = view.page().map(|f| f.page).unwrap_or_default();
                self.undo_record(tx, at, &view, next)
                    .map_err(|e| self.undo_failed(at, page, e))?;
            }
            boot |= view.context() == Lcx::BOOT_PAGE;
            tx.note_undone(view.length() as u64);
            at = next;
            if self.store.recovering.load(SeqCst)
                && let Some(progress) = self.engine.recovery_of(self.id)
            {
                progress.advance(view.length() as u64)?;
            }
        }
        if boot {
            self.reload_boot()?;
        }
        Ok(())
    }

    /// What a planted bug makes of [`Database::undo`].
    #[cold]
    fn undo_oldest_first(&self, tx: &Transaction, last: Lsn, keep: Lsn) -> SqlResult<()> {
        let (mut at, mut records) = (last, Vec::new());
        while !at.is_null() && at > keep {
            let bytes = self.access.read_one(at)?;
            let Some(view) = RecordView::parse(&bytes) else {
                break;
            };
            let (before, done) = (view.prev_lsn(), view.is_compensation());
            let begins = view.op() == Lop::BEGIN_XACT;
            if !done && !begins {
                records.push((at, bytes));
            }
            at = if begins { Lsn::NULL } else { before };
        }
        for (at, bytes) in records.iter().rev() {
            if let Some(view) = RecordView::parse(bytes) {
                self.undo_record(tx, *at, &view, Lsn::NULL)?;
            }
        }
        Ok(())
    }

    fn undo_record(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        view: &RecordView<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        match view.op() {
            Lop::CREATE_ALLOCCHAIN => return self.undo_create_chain(tx, view, next),
            Lop::BULK_EXT_ALLOCATION => return self.undo_extent(tx, lsn, view, next),
            Lop::COUNT_DELTA => return self.undo_count(tx, view, next),
            Lop::HOBT_DDL => return self.cancel_drop(tx, lsn, view, next),
            Lop::CREATE_FILE => return self.undo_create_file(view),
            _ => {}
        }
        let parsed =
            PageOp::parse(view).map_err(|e| recovery_error(self.id, lsn, &e.to_string()))?;
        let Some((page, _, op)) = parsed else {
            return Ok(());
        };
        if let Some(brought) = brought::of(view, &op) {
            return self.undo_brought(tx, lsn, view, &brought, next);
        }
        let flags = view.page().map_or(PHYSICAL, |f| f.row_flags);
        // Records shorter than a row record (SET_BITS, DELETE_SPLIT) have no flags and are always physical.
        if view.fixed_length() >= 62 && flags & PHYSICAL == 0 {
            self.undo_logical(tx, lsn, view, page, &op, next)
        } else {
            self.undo_physical(tx, lsn, view.context(), page, &op, next)
        }
    }

    fn undo_create_chain(
        &self,
        tx: &Transaction,
        view: &RecordView<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let f = view.fixed();
        let page = |at: usize| f.get(at..).and_then(PageId::from_bytes).unwrap_or_default();
        let mut au = [0; 8];
        if let Some(b) = f.get(32..40) {
            au.copy_from_slice(b);
        }
        let storage = self.storage(AllocUnitId(i64::from_le_bytes(au)));
        *storage.roots.lock() = StorageRoots {
            first_iam: page(40),
            root: page(46),
            first: page(52),
        };
        storage.forget();
        let chain = DroppedChain {
            lsn: Lsn::NULL,
            au: storage.au,
            first_iam: page(24),
        };
        let freed = match planted::on(Bug::PagesOfUndoneStay) {
            true => Ok(()),
            false => self.free_chain(tx, chain, None),
        };
        match freed {
            // The log takes nothing more but what undo itself needs: a checkpoint gives the pages back.
            Err(e) if e.number == messages::LOG_FULL.number => self.leave_chain(&chain)?,
            other => other?,
        }
        let mut record = RecordBuilder::new(Lop::CREATE_ALLOCCHAIN, Lcx::NULL)
            .flags(FLAG_COMPENSATION)
            .put(24, &f[24..40])
            .finish(&[]);
        self.transactions
            .append_compensation(tx, &mut record, next, 64)?;
        Ok(())
    }

    fn undo_physical(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        context: Lcx,
        id: PageId,
        op: &PageOp<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let fail = |e: duramen_format::FormatError| recovery_error(self.id, lsn, &e.to_string());
        if self.store.file(id.file).is_none() {
            // Removed when nothing was left in it.
            return Ok(());
        }
        // The rows that a split moved are on its new page: copied before this page is latched.
        let moved: Vec<Vec<u8>> = match op {
            PageOp::DeleteSplit {
                count, new_page, ..
            } => {
                let p = self.read_page(*new_page)?;
                (0..*count)
                    .map(|s| p.page().expect_record(s).map(RowRef::to_vec))
                    .collect::<FormatResult<_>>()
                    .map_err(fail)?
            }
            _ => Vec::new(),
        };
        let mut page = self.write_page(id)?;
        let role = Role::Compensation(next);
        let inverse = match op {
            PageOp::Format { .. }
            | PageOp::Image { .. }
            | PageOp::Remove { .. }
            | PageOp::UndoDeleteSplit { .. }
            | PageOp::SetFreeSpace { .. } => return Ok(()),
            PageOp::Insert { slot, rows, .. } => {
                // Asked before the rows go: what they free is kept, which would forbid it. Redo asks as early.
                let trims = context == Lcx::HEAP && self.may_trim(&page);
                // From the last one: in a tree the others stay at the slots that the record names.
                for (i, row) in rows.iter().enumerate().rev() {
                    let slot = slot + i as u16;
                    // All but the last step leave this record to be undone: the rest is found again.
                    let op = PageOp::Delete { slot, row };
                    let role = Role::Compensation(if i == 0 { next } else { lsn });
                    // Of several, one that is not there went before a crash; a single one is undone once.
                    if page.page().record(slot).map_err(fail)? == Some(RowRef::new(row))
                        || rows.len() == 1
                    {
                        self.change(tx, id, &mut page, &op, context, role)?;
                    }
                }
                if trims {
                    page.change().trim_slots();
                }
                return Ok(());
            }
            PageOp::Delete { slot, row } => PageOp::Insert {
                slot: *slot,
                rows: vec![row],
                lock: &[],
                key: &[],
            },
            PageOp::Modify {
                slot,
                offset,
                before,
                after,
                ..
            } => PageOp::Modify {
                slot: *slot,
                offset: *offset,
                before: after,
                after: before,
                key: &[],
                fields: &[],
            },
            PageOp::Links { at, before, after } => PageOp::Links {
                at: *at,
                before: *after,
                after: *before,
            },
            PageOp::SetBit { bit, value } => PageOp::SetBit {
                bit: *bit,
                value: !value,
            },
            PageOp::DeleteSplit { from, .. } => PageOp::UndoDeleteSplit {
                from: *from,
                rows: moved.iter().map(Vec::as_slice).collect(),
            },
            PageOp::Ghost { slot, row, .. } => PageOp::Unghost { slot: *slot, row },
            PageOp::Unghost { slot, row } => PageOp::Ghost {
                slot: *slot,
                row,
                lock: &[],
                key: &[],
            },
        };
        debug_assert!(
            // The mark on the boot page has been raised since, if an earlier version has written the record.
            id.page == BOOT_PAGE || says_what_is(&page, &inverse),
            "undo/4: page {id} has another row than its compensation says"
        );
        self.change(tx, id, &mut page, &inverse, context, role)?;
        if context == Lcx::GAM
            && let (PageOp::SetBit { value, .. }, Some(file)) = (op, self.store.file(id.file))
        {
            let delta = if *value { u32::MAX } else { 1 };
            file.free_extents.fetch_add(delta, SeqCst);
        }
        Ok(())
    }

    /// Whether empty slots at the end of a heap's page may go: a slot may be the place of versions of an older row, and
    /// that of a row which somebody may put back (`kept_room`).
    fn may_trim(&self, page: &PageWrite<'_>) -> bool {
        page.page().reserved_bytes() == 0 && !self.transactions.versioning.keeps()
    }

    fn undo_logical(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        view: &RecordView<'_>,
        start: PageId,
        op: &PageOp<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let au = view.page().map(|f| f.alloc_unit).unwrap_or_default();
        let storage = self.storage(au);
        // As whoever walks pages: no split is half made meanwhile.
        let _shared = storage.latch.read();
        let hint = view.page().map_or(0, |f| f.slot);
        let wanted = |row: RowRef<'_>, pminlen: u16| is_row_of(op, au, row, pminlen);
        let Some((id, mut page, slot)) = self.find_right(au, start, hint, &wanted)? else {
            return Err(recovery_error(self.id, lsn, "the row to undo is not there"));
        };
        let context = match view.context() {
            Lcx::MARK_AS_GHOST => Lcx::CLUSTERED,
            other => other,
        };
        let role = Role::Compensation(next);
        debug_assert!(
            page.page().alloc_unit() == au && page.page().level() == 0,
            "undo/2: the row to undo is found outside the leaves of its tree"
        );
        let row = page.page().row(slot)?.to_vec();
        let restored;
        let op = match op {
            // For good, not as a ghost: nobody else has a lock on it, and no view sees it.
            PageOp::Insert { .. } => PageOp::Delete { slot, row: &row },
            PageOp::Ghost { .. } => PageOp::Unghost { slot, row: &row },
            PageOp::Modify {
                offset,
                before,
                after,
                fields: [],
                ..
            } => modify(slot, *offset, now(&row, *offset, before, after), before),
            PageOp::Modify {
                offset,
                before,
                fields,
                ..
            } => {
                // A change from the first byte on made a row of a ghost.
                let status = before.first().copied().filter(|_| *offset == 0);
                let p = page.page();
                let back = fields::restored(RowRef::new(&row), p.pminlen(), fields, status);
                restored = p.sound(back)?;
                let (offset, before, after) = difference(&row, &restored);
                modify(slot, offset, before, after)
            }
            _ => return Ok(()),
        };
        debug_assert!(
            says_what_is(&page, &op),
            "undo/4: page {id} has another row than its compensation says"
        );
        self.change(tx, id, &mut page, &op, context, role)?;
        Ok(())
    }

    /// The row for which `wanted` holds, on `start` or to the right of it.
    fn find_right(
        &self,
        au: AllocUnitId,
        start: PageId,
        hint: u16,
        wanted: &dyn Fn(RowRef<'_>, u16) -> bool,
    ) -> SqlResult<Option<(PageId, PageWrite<'_>, u16)>> {
        let mut id = start;
        while !id.is_null() {
            let page = self.write_page(id)?;
            let p = page.page();
            if p.alloc_unit() != au {
                return Ok(None);
            }
            let hit = |s: u16| matches!(p.record(s), Ok(Some(row)) if wanted(row, p.pminlen()));
            // Mostly it is where it was put.
            if hint < p.slot_count() && hit(hint) {
                return Ok(Some((id, page, hint)));
            }
            if let Some(slot) = (0..p.slot_count()).find(|s| hit(*s)) {
                return Ok(Some((id, page, slot)));
            }
            id = p.next_page();
        }
        Ok(None)
    }
}

/// Whether a row of a B-tree is the one that a record is about.
fn is_row_of(op: &PageOp<'_>, au: AllocUnitId, row: RowRef<'_>, pminlen: u16) -> bool {
    let has = |key: &[u8]| fields::holds(row, pminlen, key).unwrap_or(false);
    let ghost = row.is_ghost();
    match op {
        PageOp::Insert { key: [], rows, .. } => match rows.first() {
            Some(own) if au == SYSALLOCUNITS => {
                !ghost && anchor::key_of(RowRef::new(own)).is_some_and(|key| has(&key))
            }
            own => own == Some(&row.bytes()),
        },
        PageOp::Insert { rows, .. } if planted::on(Bug::RowKnownByImage) => {
            rows.first() == Some(&row.bytes())
        }
        PageOp::Insert { key, .. } => !ghost && has(key),
        PageOp::Ghost {
            key: [],
            row: image,
            ..
        } => ghost && row.len() == image.len() && row.bytes()[1..] == image[1..],
        PageOp::Ghost { key, .. } => ghost && has(key),
        PageOp::Modify { key, .. } => has(key),
        _ => false,
    }
}

/// What stands where `before` is put back. Fields of a fixed length (where a unit begins) may hold what a system transaction
/// has written there since; all else is what the transaction has left.
fn now<'r>(row: &'r [u8], offset: u16, before: &[u8], after: &'r [u8]) -> &'r [u8] {
    let at = usize::from(offset);
    let fixed = before.len() == after.len();
    let there = row.get(at..at + after.len()).filter(|_| fixed);
    there.unwrap_or(after)
}

/// Whether the page has what a compensation says that it takes from there: only debug builds ask.
fn says_what_is(page: &PageWrite<'_>, op: &PageOp<'_>) -> bool {
    let (slot, at, said) = match op {
        PageOp::Delete { slot, row } | PageOp::Unghost { slot, row } => (*slot, 0, *row),
        PageOp::Ghost { slot, row, .. } => (*slot, 0, *row),
        PageOp::Modify {
            slot,
            offset,
            before,
            ..
        } => (*slot, usize::from(*offset), *before),
        _ => return true,
    };
    let row = page.page().expect_record(slot);
    let row = row.map(RowRef::bytes).unwrap_or_default();
    row.get(at..).is_some_and(|rest| rest.starts_with(said))
}

fn modify<'a>(slot: u16, offset: u16, before: &'a [u8], after: &'a [u8]) -> PageOp<'a> {
    PageOp::Modify {
        slot,
        offset,
        before,
        after,
        key: &[],
        fields: &[],
    }
}
