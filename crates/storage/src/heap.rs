//! Heaps: rows wherever there is room, found again by page and slot.
//!
//! Invariants
//! 1. A slot is given to a new row only under an X lock on its RID, and a deleted row's bytes stay reserved on the page
//!    (`m_reservedCnt`) until its deleter has ended: undo finds slot and room as they were. [assert: heap/1]
//! 2. A row that outgrows its page moves and leaves a stub; its RID stays. The far end points back, and moves again by
//!    re-pointing the stub, before the old end goes: chains are never longer than one step, and never broken.
//!    [test: heaps_forward_rows_and_keep_their_rids]
//! 3. A row is read under its lock: tested under the latch that it is read under, or held while its far end is read.
//!    [test: a_row_found_by_its_rid_is_read_committed]

use duramen_base::{PageId, SqlResult};
use duramen_format::page::{BODY_BYTES, page_type, record_kind};
use duramen_format::row::{back_pointer, forwarding_stub, forwarding_target, to_forwarded};
use duramen_format::{FormatError, RowRef};
use duramen_observe::{Counter, count};
use duramen_pool::PageWrite;
use duramen_txn::{Acquired, LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;
use duramen_wal::record::Lcx;

use crate::btree::lock_info;
use crate::change::{PageOp, Role};
use crate::def::RowLocator;
use crate::engine::Storage;
use crate::fullness::class_of;
use crate::hints::{Reading, Wanted};
use crate::rowset::Rowset;

impl Rowset {
    pub(crate) fn rid(&self, page: PageId, slot: u16) -> Resource {
        Resource::Rid(self.db.id, page, slot)
    }

    pub(crate) fn heap_insert(&self, tx: &Transaction, values: &[Value]) -> SqlResult<RowLocator> {
        self.lock_object(tx, LockMode::IX)?;
        let row = self.encode(tx, values)?;
        self.heap_insert_made(tx, &row)
    }

    /// `heap_insert` of a row whose bytes have been made.
    pub(crate) fn heap_insert_made(&self, tx: &Transaction, row: &[u8]) -> SqlResult<RowLocator> {
        let (page, slot) = self.put_row(tx, &self.storage, row, Lcx::HEAP)?;
        Ok(RowLocator::Rid(page, slot))
    }

    /// Puts a record on some page of `storage`, a heap's or a LOB unit's.
    pub(crate) fn put_row(
        &self,
        tx: &Transaction,
        storage: &Storage,
        row: &[u8],
        context: Lcx,
    ) -> SqlResult<(PageId, u16)> {
        let mut tries = 0;
        loop {
            let found = if tries < 4 {
                tries += 1;
                storage.free.lock().take(row.len())
            } else {
                None
            };
            let reuse = found.is_some();
            let (id, mut page) = match found.or_else(|| storage.hint()) {
                Some(id) => (id, self.db.write_page(id)?),
                None => {
                    self.add_page(tx, storage, context)?;
                    continue;
                }
            };
            let p = page.page();
            let empty = match reuse {
                true => p.first_free_slot(),
                false => p.slot_count(),
            };
            let new_slot = empty == p.slot_count();
            if p.alloc_unit() != storage.au || !self.takes_record(tx, *p, row.len(), new_slot) {
                let (ours, class) = (p.alloc_unit() == storage.au, class_of(*p));
                drop(page);
                let mut free = storage.free.lock();
                match reuse {
                    true if ours => free.wait(id),
                    true => {}
                    // Smaller rows may fit. A page that has rows of this size only has none to give to them.
                    false if ours && class < 3 && row.len() < BODY_BYTES / 4 => free.put(id, class),
                    false => {}
                }
                drop(free);
                if !reuse && !self.add_page(tx, storage, context)? {
                    tries = 0;
                }
                continue;
            }
            let mut slot = p.slot_count();
            if !new_slot
                && !self.has_versions(&Self::rid_place(id, empty))
                && self.lock_new(tx, (id, empty), context)
            {
                slot = empty;
            }
            if slot != empty && !self.takes_record(tx, *p, row.len(), true) {
                drop(page);
                storage.free.lock().wait(id);
                continue;
            }
            if !self.lock_new(tx, (id, slot), context) {
                drop(page);
                match self.db.engine.locks.is_full(&tx.owner) {
                    // There is no memory for one more lock: those that there are become the table's, or it is error 1204.
                    true => {
                        let locks = &self.db.engine.locks;
                        locks.escalate(&tx.owner, self.db.id, self.def.object);
                        self.lock_row(tx, &self.rid(id, slot))?;
                    }
                    // Somebody waits for a slot that is not there yet: another page will do.
                    false => {
                        self.add_page(tx, storage, context)?;
                    }
                }
                continue;
            }
            let info = lock_info(self.def.object.0, &self.rid(id, slot));
            let is_row = context == Lcx::HEAP && RowRef::new(row).kind() != record_kind::FORWARDED;
            if is_row {
                self.keep_version(tx, || Self::rid_place(id, slot).to_vec(), None)?;
            }
            debug_assert!(
                page.page().alloc_unit() == storage.au,
                "heap/1: a row goes to a page of another heap"
            );
            debug_assert!(
                slot == page.page().slot_count() || page.page().slot_offset(slot) == Ok(0),
                "heap/1: a slot is given to a new row that has one"
            );
            let op = PageOp::Insert {
                slot,
                rows: vec![row],
                lock: &info[..20],
                key: &[],
            };
            self.db
                .change(tx, id, &mut page, &op, context, Role::Normal)?;
            if reuse {
                storage.free.lock().put(id, class_of(*page.page()));
            }
            let operations = &self.storage.operations;
            match is_row {
                true => operations.inserted.add(1),
                // The far end of a stub, or a piece of a large value: no row of its own.
                false => {
                    operations.row_locks.add(1);
                    operations.page_locks.add(1);
                }
            }
            return Ok((id, slot));
        }
    }

    /// Locks the place of a new record. Nobody but its maker finds the way to a piece of a large value before its row is there:
    /// that it is nobody's is enough. (Two locks for each of a hundred thousand pieces are all that there is memory for.)
    fn lock_new(&self, tx: &Transaction, (page, slot): (PageId, u16), context: Lcx) -> bool {
        match context == Lcx::TEXT_MIX || context == Lcx::TEXT_TREE {
            true => self.db.try_lock(
                tx,
                &self.entity(),
                &self.rid(page, slot),
                LockMode::X,
                LockDuration::Instant,
            ),
            false => self.lock_rid(tx, page, slot),
        }
    }

    pub(crate) fn lock_rid(&self, tx: &Transaction, page: PageId, slot: u16) -> bool {
        let wanted = |resource, mode| Wanted {
            resource,
            mode,
            duration: LockDuration::Normal,
        };
        let page_lock = wanted(Resource::Page(self.db.id, page), LockMode::IX);
        self.try_uncounted(tx, page_lock).is_ok()
            && self
                .try_uncounted(tx, wanted(self.rid(page, slot), LockMode::X))
                .is_ok()
    }

    /// A new page for rows: the next inserts go there.
    ///
    /// False when old pages were found that may have room instead.
    fn add_page(&self, tx: &Transaction, storage: &Storage, context: Lcx) -> SqlResult<bool> {
        let seen = storage.hint();
        if seen.is_some() && storage.free.lock().retry() {
            return Ok(false);
        }
        let _exclusive = storage.latch.write();
        if storage.hint() != seen {
            return Ok(true);
        }
        // Nobody is adding a page now: every one that is allocated is formatted too.
        if seen.is_some() && self.db.find_free_space(storage)? {
            return Ok(false);
        }
        let first = storage.roots.lock().first;
        if seen.is_none() && !first.is_null() && self.last_page_hint(storage)? {
            return Ok(true);
        }
        let (kind, pminlen) = if context == Lcx::HEAP {
            (page_type::DATA, self.def.layout.pminlen)
        } else {
            (page_type::TEXT_MIX, 0)
        };
        let id = self.db.system(tx, "AllocHeapPage", |sys| {
            let id = self.db.allocate_page(sys, storage)?;
            let mut page = self.db.write_new_page(id)?;
            let op = PageOp::Format {
                kind,
                level: 0,
                pminlen,
                au: storage.au,
                start: PageId::NULL,
                extra: 0,
            };
            self.db
                .change(sys, id, &mut page, &op, context, Role::Normal)?;
            Ok(id)
        })?;
        storage.set_hint(id);
        if context == Lcx::HEAP {
            storage.operations.leaf_allocated.add(1);
        }
        Ok(true)
    }

    /// After opening: goes on with the last page of the chain. False when there is none.
    fn last_page_hint(&self, storage: &Storage) -> SqlResult<bool> {
        let iam = storage.roots.lock().first_iam;
        match self.db.pages_of(iam)?.last() {
            Some(page) => {
                storage.set_hint(*page);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The pages of a heap. Not while one is being added: that is allocated, and formatted only then.
    pub(crate) fn heap_pages(&self) -> SqlResult<Vec<PageId>> {
        let _shared = self.storage.latch.read();
        let iam = self.storage.roots.lock().first_iam;
        self.db.pages_of(iam)
    }

    /// The record at a RID and where it really is, when it is a row.
    pub(crate) fn resolve(
        &self,
        page: PageId,
        slot: u16,
    ) -> SqlResult<Option<(PageId, u16, Vec<u8>)>> {
        let mut before = None;
        loop {
            let record = {
                let p = self.db.read_page(page)?;
                if p.page().alloc_unit() != self.def.au {
                    return Ok(None);
                }
                match p.page().record(slot) {
                    Ok(Some(r)) => r.to_vec(),
                    _ => return Ok(None),
                }
            };
            let stub = RowRef::new(&record);
            if stub.kind() != record_kind::FORWARDING_STUB {
                return Ok(Some((page, slot, record)));
            }
            count(Counter::ForwardedRecords, 1);
            self.storage.operations.forwarded.add(1);
            let target = forwarding_target(stub).map_err(|e| self.db.corrupt(page, e))?;
            let far = {
                let p = self.db.read_page(target.0)?;
                let far = p.page().expect_record(target.1);
                far.and_then(|far| back_pointer(far).map(|home| (home, far.to_vec())))
            };
            match far {
                Ok((home, far)) if home == (page, slot) => {
                    return Ok(Some((target.0, target.1, far)));
                }
                // Who reads without a lock may find the far end gone: the stub then says where to, and is looked at again.
                _ if before != Some(target) => before = Some(target),
                Ok(_) => return Err(self.db.corrupt(page, FormatError::Corrupt("back pointer"))),
                Err(e) => return Err(self.db.corrupt(target.0, e)),
            }
        }
    }

    pub(crate) fn heap_fetch(
        &self,
        tx: &Transaction,
        page: PageId,
        slot: u16,
        reading: &Reading,
    ) -> SqlResult<Option<Vec<Value>>> {
        let locking = self.locking(tx, reading);
        self.lock_for_read(tx, &locking, reading)?;
        if let Some(view) = &reading.view {
            return self.heap_fetch_as_of(tx, view, (page, slot), reading.lends);
        }
        let Some((mode, duration)) = locking.row else {
            return self.heap_values(page, slot, reading.lends);
        };
        if duration == LockDuration::Instant {
            // Tested under the latch that the row is read under: between the two nobody changes it.
            let p = self.db.read_page(page)?;
            if p.page().alloc_unit() != self.def.au {
                return Ok(None);
            }
            let wanted = Wanted {
                resource: self.rid(page, slot),
                mode,
                duration,
            };
            if self.try_wanted(tx, wanted).is_ok() {
                match p.page().record(slot) {
                    Ok(Some(row)) if row.kind() != record_kind::FORWARDING_STUB => {
                        return self.decode(row, reading.lends).map(Some);
                    }
                    Ok(Some(_)) => {}
                    _ => return Ok(None),
                }
            }
        }
        self.heap_values_locked(tx, (page, slot), (mode, duration), reading)
    }

    /// The row at a RID under its lock. One that is only tested is held meanwhile all the same: the far end lies on a
    /// page of its own, which a writer changes without a look at the stub's.
    pub(crate) fn heap_values_locked(
        &self,
        tx: &Transaction,
        (page, slot): (PageId, u16),
        (mode, duration): (LockMode, LockDuration),
        reading: &Reading,
    ) -> SqlResult<Option<Vec<Value>>> {
        let resource = self.rid(page, slot);
        let wanted = Wanted {
            resource,
            mode,
            duration: LockDuration::Normal,
        };
        loop {
            let given_back = tx.owner.given_back();
            let acquired = match reading.skip_locked {
                true => match self.try_wanted(tx, wanted) {
                    Ok(acquired) => acquired,
                    Err(_) => return Ok(None),
                },
                false => self.wait_for(tx, &wanted, reading.no_wait)?,
            };
            let values = self.heap_values(page, slot, reading.lends);
            if duration != LockDuration::Instant {
                return values;
            }
            match acquired {
                Acquired::New => self.db.engine.locks.unlock(&tx.owner, &resource, mode),
                // Another thread of the statement had the lock, and may have given it back while this one read.
                _ if tx.owner.given_back() != given_back => continue,
                _ => {}
            }
            return values;
        }
    }

    pub(crate) fn heap_values(
        &self,
        page: PageId,
        slot: u16,
        lends: bool,
    ) -> SqlResult<Option<Vec<Value>>> {
        match self.resolve(page, slot)? {
            Some((_, _, row)) => self.decode(RowRef::new(&row), lends).map(Some),
            None => Ok(None),
        }
    }

    fn remove(
        &self,
        tx: &Transaction,
        storage: &Storage,
        (id, slot): (PageId, u16),
        context: Lcx,
    ) -> SqlResult<()> {
        // Whoever inserted the far end of a stub or a piece of a large value has ended, and his lock with him. The slot
        // is the deleter's until he has ended too: undo puts the record back where it was.
        self.lock_row(tx, &self.rid(id, slot))?;
        let mut page = self.db.write_page(id)?;
        let row = page.page().row(slot)?.to_vec();
        let op = PageOp::Delete { slot, row: &row };
        self.db
            .change(tx, id, &mut page, &op, context, Role::Normal)?;
        debug_assert!(
            slot >= page.page().slot_count() || page.page().slot_offset(slot) == Ok(0),
            "heap/1: a deleted row is still in its slot"
        );
        debug_assert!(
            usize::from(page.page().reserved_bytes()) >= row.len(),
            "heap/1: the room of a deleted row is not kept for its undo"
        );
        storage.free.lock().put(id, class_of(*page.page()));
        Ok(())
    }

    pub(crate) fn heap_delete(&self, tx: &Transaction, page: PageId, slot: u16) -> SqlResult<bool> {
        self.lock_object(tx, LockMode::IX)?;
        self.lock_row(tx, &self.rid(page, slot))?;
        self.lock_page(tx, page)?;
        self.refuse_conflict(tx, || Self::rid_place(page, slot).to_vec())?;
        let Some((real_page, real_slot, row)) = self.resolve(page, slot)? else {
            return Ok(false);
        };
        let deleted = RowRef::new(&row);
        self.keep_version(tx, || Self::rid_place(page, slot).to_vec(), Some(deleted))?;
        // The stub goes before the far end, which it must lead to for those who read without a lock.
        self.remove(tx, &self.storage, (page, slot), Lcx::HEAP)?;
        if (real_page, real_slot) != (page, slot) {
            self.remove(tx, &self.storage, (real_page, real_slot), Lcx::HEAP)?;
        }
        self.storage.operations.deleted.add(1);
        // After the row: whoever reads the row under its latch finds what it points to.
        self.free_lobs(tx, deleted)?;
        Ok(true)
    }

    /// A record of a LOB unit that is not needed any more.
    pub(crate) fn remove_text(
        &self,
        tx: &Transaction,
        storage: &Storage,
        page: PageId,
        slot: u16,
    ) -> SqlResult<()> {
        self.remove(tx, storage, (page, slot), Lcx::TEXT_MIX)
    }

    pub(crate) fn heap_update(
        &self,
        tx: &Transaction,
        page: PageId,
        slot: u16,
        values: &[Value],
    ) -> SqlResult<bool> {
        self.lock_object(tx, LockMode::IX)?;
        self.lock_row(tx, &self.rid(page, slot))?;
        self.lock_page(tx, page)?;
        self.refuse_conflict(tx, || Self::rid_place(page, slot).to_vec())?;
        let Some((real_page, real_slot, old)) = self.resolve(page, slot)? else {
            return Ok(false);
        };
        let old = RowRef::new(&old);
        let kept = match self.may_stay(values) {
            true => self.pointers(old)?,
            false => Vec::new(),
        };
        let row = self.encode_over(tx, values, &kept)?;
        let new = RowRef::new(&row);
        self.keep_version(tx, || Self::rid_place(page, slot).to_vec(), Some(old))?;
        let forwarded = (real_page, real_slot) != (page, slot);
        let moved = to_forwarded(&self.def.layout, new, page, slot)
            .map_err(|e| self.db.corrupt(page, e))?;
        let in_place = if forwarded { &moved } else { &row };
        self.count_pulled_in(old, new)?;
        self.storage.operations.updated.add(1);
        if self.heap_replace(tx, real_page, real_slot, in_place)? {
            self.free_replaced(tx, old, new, &kept)?;
            return Ok(true);
        }
        let (new_page, new_slot) = self.put_row(tx, &self.storage, &moved, Lcx::HEAP)?;
        if !self.heap_replace(tx, page, slot, &forwarding_stub(new_page, new_slot))? {
            // No row is shorter than a stub.
            return Err(self.db.corrupt(page, FormatError::NoSpace));
        }
        // Only now: for those who read without a lock the stub always leads to the row.
        if forwarded {
            self.remove(tx, &self.storage, (real_page, real_slot), Lcx::HEAP)?;
        }
        self.free_replaced(tx, old, new, &kept)?;
        Ok(true)
    }

    /// IX on the page of a row that is about to change.
    fn lock_page(&self, tx: &Transaction, page: PageId) -> SqlResult<()> {
        if let Err(wanted) = self.page_intent(tx, page) {
            self.wait_for(tx, &wanted, false)?;
        }
        Ok(())
    }

    /// Puts `new` in the place of a record; false when it does not fit.
    fn heap_replace(&self, tx: &Transaction, id: PageId, slot: u16, new: &[u8]) -> SqlResult<bool> {
        let mut page: PageWrite<'_> = self.db.write_page(id)?;
        let old = page.page().row(slot)?.to_vec();
        let growth = new.len().saturating_sub(old.len());
        if growth > 0 && !self.grows(tx, *page.page(), growth) {
            return Ok(false);
        }
        self.db
            .replace_record(tx, id, &mut page, (slot, &old, new), Lcx::HEAP)?;
        Ok(true)
    }
}
