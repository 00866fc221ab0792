//! How a page is changed: logged first, then made; what is kept beside it.

use duramen_base::planted::{self, Bug};
use duramen_base::{Lsn, PageId, SqlResult, XdesId};
use duramen_pool::PageWrite;
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, recycle};

use crate::change::{PageOp, Role};
use crate::engine::Database;
use crate::fullness::{class_of, has_class};
use crate::kept_room;

impl Database {
    /// Logs a change and makes it: see `change` for the order and why. The caller has checked that it fits.
    pub(crate) fn change(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
        role: Role,
    ) -> SqlResult<Lsn> {
        let lsn = self.change_page(tx, id, page, op, context, role)?;
        let unit = page.page().alloc_unit();
        self.count_change(tx, lsn, op, context, || self.storage(unit));
        Ok(lsn)
    }

    /// `change`, but who calls counts the rows.
    pub(crate) fn change_page(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
        role: Role,
    ) -> SqlResult<Lsn> {
        debug_assert!(
            matches!(op, PageOp::Format { .. })
                || page.page().page_id() == id
                || page.page().page_id().is_null(),
            "change/1: a record names page {id}, and page {} is changed",
            page.page().page_id()
        );
        // Before the mark: maps that are cleared between it and the change are noticed behind the change.
        let epoch = self.changed.epoch();
        let asks = tx.asks() && !matches!(role, Role::Compensation(_));
        // It may be refused for want of room in the log: nothing has changed yet. Undo never asks.
        self.mark_changed(id, asks)?;
        let mut class = None;
        // Undo sets the byte now, a change at the end: see `free_space`. What is formatted had no class.
        if has_class(context) && !matches!(op, PageOp::Format { .. }) {
            if matches!(role, Role::Compensation(_)) {
                if let Some(after) = self.class_after(id, page, op, context) {
                    // Advice: see `free_space`.
                    let _ = self.set_free_space(id, after);
                }
            } else {
                class = Some(class_of(*page.page()));
            }
        }
        // Made while the page is as it was: redo wants to find the LSN that the record has found.
        let mut record = op.record(id, *page.page(), context, role);
        // A checkpoint that begins behind the record must find the frame dirty: redo from there never sees it.
        page.mark_dirty();
        let lsn = match role {
            Role::Compensation(_) if planted::on(Bug::NoCompensation) => page.page().lsn(),
            Role::Compensation(undo_next) => {
                let reserve = record.len() as u32;
                self.transactions
                    .append_compensation(tx, &mut record, undo_next, reserve)?
            }
            _ => {
                let reserve = op.undo_reserve(record.len(), context, role);
                self.transactions.append(tx, &mut record, reserve)?
            }
        };
        let undoes = matches!(role, Role::Compensation(_));
        // The record has its transaction's id only since it was appended: a first change begins the transaction there.
        let before = kept_room::bytes_for(op, context, undoes, *page.page()).map(|bytes| {
            let mut xdes = [0; 8];
            xdes[..6].copy_from_slice(&record[16..22]);
            (XdesId(u64::from_le_bytes(xdes)), bytes)
        });
        recycle(record);
        self.apply(id, page, op, context, lsn)?;
        // No record tells of kept room: redo makes it of this very change, and so it is made under its latch.
        if let Some((xdes, before)) = before
            && let Some(after) = kept_room::bytes_for(op, context, undoes, *page.page())
        {
            let table = &self.transactions.table;
            let p = &mut page.change();
            kept_room::account(p, xdes, (before, after), context, |x| table.standing(x));
            if undoes && has_class(context) {
                // Behind the account: whoever is told of the page finds on it what is kept.
                self.room_again(id, page);
            }
        }
        // The mark may have gone with the old maps. The change is made: this one is not refused any more.
        if self.changed.epoch() != epoch {
            self.mark_changed(id, false)?;
        }
        // Advice, as above: the change stands without it.
        if let Some(before) = class {
            let after = class_of(*page.page());
            if after != before {
                let _ = self.set_free_space(id, after);
            }
        }
        Ok(lsn)
    }

    /// A logged change outside any transaction: never undone. One that does not ask for room in the log takes what is
    /// kept for it.
    pub(crate) fn change_alone(
        &self,
        id: PageId,
        page: &mut PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
        asks: bool,
    ) -> SqlResult<Lsn> {
        let epoch = self.changed.epoch();
        self.mark_changed(id, asks)?;
        let mut record = op.record(id, *page.page(), context, Role::Normal);
        record[14..16].fill(0);
        page.mark_dirty();
        let lsn = match asks {
            true => self.access.append_asking(&record, 0)?,
            false => self.access.append(&record, 0)?,
        };
        self.apply(id, page, op, context, lsn)?;
        if self.changed.epoch() != epoch {
            self.mark_changed(id, false)?;
        }
        Ok(lsn)
    }

    fn apply(
        &self,
        id: PageId,
        page: &mut PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
        lsn: Lsn,
    ) -> SqlResult<Lsn> {
        if let (PageOp::SetBit { bit, value: true }, Lcx::GAM) = (op, context) {
            self.backups.extent_freed(id, *bit);
        }
        debug_assert!(
            lsn > page.page().lsn() || lsn.is_null() || planted::on(Bug::NoCompensation),
            "pool/3: page {id} goes back from {} to {lsn}",
            page.page().lsn()
        );
        let mut p = page.change();
        op.apply(id, context, &mut p)
            .map_err(|e| self.corrupt(id, e))?;
        debug_assert!(
            !matches!(op, PageOp::Format { .. }) || p.as_ref().page_id() == id,
            "change/1: a page is formatted as another"
        );
        if !(planted::on(Bug::ForgottenPageLsn) && matches!(op, PageOp::Modify { .. })) {
            p.set_lsn(lsn);
        }
        Ok(lsn)
    }

    /// Puts `new` in the place of a record, by a change of the bytes that differ; does nothing when none does.
    pub(crate) fn replace_record(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        (slot, old, new): (u16, &[u8], &[u8]),
        context: Lcx,
    ) -> SqlResult<()> {
        let (offset, before, after) = crate::change::difference(old, new);
        if before.is_empty() && after.is_empty() {
            return Ok(());
        }
        let op = PageOp::Modify {
            slot,
            offset,
            before,
            after,
            key: &[],
            fields: &[],
        };
        self.change(tx, id, page, &op, context, Role::Normal)?;
        Ok(())
    }
}
