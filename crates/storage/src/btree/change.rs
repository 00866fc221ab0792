//! Changing rows that are there: deleted ones stay as ghosts, others get their new values in place; what undo may need of
//! their pages is kept free.

use std::sync::atomic::Ordering::Relaxed;

use duramen_base::{PageId, SqlResult};
use duramen_format::RowRef;
use duramen_observe::events::PageSplitKind;
use duramen_pool::{PageAt, PageWrite};
use duramen_txn::{LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;

use super::{Step, fields, lock_info};
use crate::change::{PageOp, Role, difference};
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
            let row = page.page().row(slot)?.to_vec();
            self.keep_version(tx, || self.key_place(key), Some(RowRef::new(&row)))?;
            let named = self.named_key(page.page(), RowRef::new(&row))?;
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
        self.free_lobs(tx, RowRef::new(&row))?;
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
        let kept = match self.may_stay(values) {
            true => self.current_pointers(key)?,
            false => Vec::new(),
        };
        let row = self.encode_over(tx, values, &kept)?;
        loop {
            match self.try_replace(tx, key, &row)? {
                Step::Done(Some(old)) => {
                    self.storage.operations.updated.add(1);
                    let (old, new) = (RowRef::new(&old), RowRef::new(&row));
                    self.count_pulled_in(old, new)?;
                    self.free_replaced(tx, old, new, &kept)?;
                    return Ok(true);
                }
                Step::Done(None) => {
                    // Nobody will point to what was written for it.
                    self.free_lobs_but(tx, RowRef::new(&row), &kept)?;
                    return Ok(false);
                }
                Step::Wait(wanted) => {
                    self.wait_for(tx, &wanted, false)?;
                }
                Step::Retry => self.make_room(tx, key, row.len(), PageSplitKind::UPDATE)?,
            }
        }
    }

    /// The pointers of the row with this key, which is locked.
    fn current_pointers(&self, key: &[Value]) -> SqlResult<Vec<Vec<u8>>> {
        let _shared = self.storage.latch.read();
        let Some((_, page, slot)) = self.find_for_write(key)? else {
            return Ok(Vec::new());
        };
        self.pointers(page.page().row(slot)?)
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
        let old = page.page().row(slot)?.to_vec();
        let growth = row.len().saturating_sub(old.len());
        if growth > 0 && !self.grows(tx, *page.page(), growth) {
            return Ok(Step::Retry);
        }
        self.keep_version(tx, || self.key_place(key), Some(RowRef::new(&old)))?;
        self.modify_row(tx, id, &mut page, slot, &old, row)?;
        Ok(Step::Done(Some(old)))
    }

    /// The key of a row on `page` as its log records name it: of a base table's, which others may change meanwhile. A row of
    /// any other table is as its transaction has left it, and is known by all its bytes.
    pub(crate) fn named_key(&self, page: PageAt<'_>, row: RowRef<'_>) -> SqlResult<Vec<u8>> {
        if !self.is_system() {
            return Ok(Vec::new());
        }
        page.sound(self.keys().identity(&self.def.layout, row))
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
        let p = page.page();
        let identity = p.sound(self.keys().identity(layout, RowRef::new(new)))?;
        let changed = match self.is_system() {
            true => p.sound(fields::changed(layout, RowRef::new(old), RowRef::new(new)))?,
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
        Ok(())
    }
}
