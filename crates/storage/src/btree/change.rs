//! Changing rows that are there: deleted ones stay as ghosts, others get their new values in place; what undo may need of
//! their pages is kept free.

use std::sync::atomic::Ordering::Relaxed;

use duramen_base::{PageId, SqlResult};
use duramen_observe::events::PageSplitKind;
use duramen_txn::{LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;

use super::{Step, fields, lock_info};
use crate::change::{PageOp, Role, difference};
use crate::format::page::PageRef;
use crate::pool::PageWrite;
use crate::rowset::Rowset;

impl Rowset {
    /// X on a key or a place in a heap until the transaction ends.
    pub(crate) fn lock_row(&self, tx: &Transaction, resource: &Resource) -> SqlResult<()> {
        let kept = (LockMode::X, LockDuration::Normal);
        self.lock_counted(tx, resource, kept, tx.lock_timeout())?;
        Ok(())
    }

    fn lock_key(&self, tx: &Transaction, key: &[Value]) -> SqlResult<Resource> {
        self.lock_object(tx, LockMode::IX)?;
        let resource = self.key_resource(key);
        self.lock_row(tx, &resource)?;
        Ok(resource)
    }

    /// Marks the row with this key deleted. False when there is none.
    pub(crate) fn btree_delete(&self, tx: &Transaction, key: &[Value]) -> SqlResult<bool> {
        let resource = self.lock_key(tx, key)?;
        self.refuse_conflict(tx, || self.key_place(key))?;
        let row = loop {
            let _shared = self.storage.latch.read();
            let Some((id, mut page, slot)) = self.find_for_write(key)? else {
                return Ok(false);
            };
            if let Err(wanted) = self.page_intent(tx, id) {
                drop(page);
                drop(_shared);
                self.wait_for(tx, &wanted, false)?;
                continue;
            }
            let row = page
                .page()
                .expect_record(slot)
                .map_err(|e| self.db.corrupt(id, e))?
                .to_vec();
            self.keep_version(tx, || self.key_place(key), Some(&row))?;
            let named = self.named_key(id, &row)?;
            let op = PageOp::Ghost {
                slot,
                row: &row,
                lock: &lock_info(self.def.object.0, &resource),
                key: &named,
            };
            self.change(tx, id, &mut page, &op, self.leaf_context(), Role::Logical)?;
            break row;
        };
        self.storage.ghosts.fetch_add(1, Relaxed);
        self.storage.operations.ghosted.add(1);
        self.free_lobs(tx, &row)?;
        Ok(true)
    }

    /// Gives the row with this key new values (its key stays). False when there is none.
    pub(crate) fn btree_replace(
        &self,
        tx: &Transaction,
        key: &[Value],
        values: &[Value],
    ) -> SqlResult<bool> {
        self.lock_key(tx, key)?;
        self.refuse_conflict(tx, || self.key_place(key))?;
        let row = self.encode(tx, values)?;
        loop {
            match self.try_replace(tx, key, &row)? {
                Step::Done(Some(old)) => {
                    self.storage.operations.updated.add(1);
                    self.count_pulled_in(&old, &row)?;
                    self.free_lobs(tx, &old)?;
                    return Ok(true);
                }
                Step::Done(None) => return Ok(false),
                Step::Wait(wanted) => {
                    self.wait_for(tx, &wanted, false)?;
                }
                Step::Retry => self.make_room(tx, key, row.len(), PageSplitKind::UPDATE)?,
            }
        }
    }

    fn try_replace(
        &self,
        tx: &Transaction,
        key: &[Value],
        row: &[u8],
    ) -> SqlResult<Step<Option<Vec<u8>>>> {
        let _shared = self.storage.latch.read();
        let Some((id, mut page, slot)) = self.find_for_write(key)? else {
            return Ok(Step::Done(None));
        };
        if let Err(wanted) = self.page_intent(tx, id) {
            return Ok(Step::Wait(wanted));
        }
        let old = page
            .page()
            .expect_record(slot)
            .map_err(|e| self.db.corrupt(id, e))?
            .to_vec();
        let growth = row.len().saturating_sub(old.len());
        if growth > 0 && !self.fits(page.page(), growth, false) {
            return Ok(Step::Retry);
        }
        self.keep_version(tx, || self.key_place(key), Some(&old))?;
        self.modify_row(tx, id, &mut page, slot, &old, row)?;
        Ok(Step::Done(Some(old)))
    }

    /// Whether `bytes` more fit, leaving alone what undo of running transactions may need (`m_reservedCnt`).
    pub(crate) fn fits(&self, p: PageRef<'_>, bytes: usize, new_slot: bool) -> bool {
        let need = bytes + if new_slot { 2 } else { 0 };
        let mut reserved = usize::from(p.reserved_bytes());
        if p.slot_count() <= u16::from(!new_slot) {
            // Alone on its page a row finds the room of its undo whatever becomes of it now, and room is kept for no row of
            // another page: an empty one would be split at the new key, which may be its own separator.
            reserved = 0;
        }
        if reserved > 0
            && self
                .db
                .transactions
                .table
                .active()
                .iter()
                .all(|t| t.xdes > p.xdes())
        {
            reserved = 0;
        }
        need + reserved <= usize::from(p.free_bytes())
    }

    /// Keeps `bytes` free on the page until the running transactions have ended.
    pub(crate) fn reserve(&self, tx: &Transaction, page: &mut PageWrite<'_>, bytes: usize) {
        let xdes = tx.part(self.db.id).map(|p| p.xdes).unwrap_or_default();
        let mut p = page.change();
        let old = p.as_ref();
        let stale = old.reserved_bytes() > 0
            && self
                .db
                .transactions
                .table
                .active()
                .iter()
                .all(|t| t.xdes > old.xdes());
        let kept = if stale {
            0
        } else {
            usize::from(old.reserved_bytes())
        };
        let youngest = old.xdes().max(xdes);
        p.set_reserved_bytes((kept + bytes).min(8096) as u16);
        p.set_xdes(youngest);
    }

    /// The key of a row on `page` as its log records name it: of a base table's, which others may change meanwhile. A row of
    /// any other table is as its transaction has left it, and is known by all its bytes.
    pub(crate) fn named_key(&self, page: PageId, row: &[u8]) -> SqlResult<Vec<u8>> {
        if !self.is_system() {
            return Ok(Vec::new());
        }
        let named = self.keys().identity(&self.def.layout, row);
        named.map_err(|e| self.db.corrupt(page, e))
    }

    /// Logs and makes the change from `old` to `new` of the row at `slot`; the room has been checked.
    pub(crate) fn modify_row(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        slot: u16,
        old: &[u8],
        new: &[u8],
    ) -> SqlResult<()> {
        let (offset, before, after) = difference(old, new);
        if before.is_empty() && after.is_empty() {
            return Ok(());
        }
        let layout = &self.def.layout;
        let identity = self.keys().identity(layout, new);
        let identity = identity.map_err(|e| self.db.corrupt(id, e))?;
        let changed = match self.is_system() {
            true => fields::changed(layout, old, new).map_err(|e| self.db.corrupt(id, e))?,
            false => Vec::new(),
        };
        let op = PageOp::Modify {
            slot,
            offset,
            before,
            after,
            key: &identity,
            fields: &changed,
        };
        self.change(tx, id, page, &op, self.leaf_context(), Role::Logical)?;
        let shrunk = old.len().saturating_sub(new.len());
        if shrunk > 0 {
            self.reserve(tx, page, shrunk);
        }
        Ok(())
    }
}
