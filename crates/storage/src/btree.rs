//! B-trees: finding, inserting, marking deleted, changing in place.
//!
//! Invariants
//! 1. The tree latch (`Storage::latch`) is shared while anyone walks pages and exclusive while pages split, so the shape
//!    stands still under a walker. It is never held across a lock wait. [assert: lock/7]
//! 2. Every non-ghost and ghost entry's full key differs from all others; a leaf's entries are in key order; all
//!    entries of a leaf are below those of its right neighbour. [assert: btree/2]
//! 3. A deleted row stays as a ghost, in its place, until its deleter has ended: undo never needs room.
//!    [test: ghosts_go_when_their_deleter_has_ended_and_not_before]
//! 4. Pages leave a tree only as a whole (drop, truncate), so a remembered page is at worst not the right one: it is
//!    checked (unit, level, neighbours) before it is used. [assert: btree/4]
//! 5. A row never moves to the left: undo looks for it from its old page to the right. [assert: btree/5]

mod change;
pub(crate) mod fields;
pub mod keys;
mod split;

use std::borrow::Cow;
use std::cmp::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{PageId, SqlResult};
use duramen_format::page::PageRef;
use duramen_format::row::node_child;
use duramen_format::{FormatError, FormatResult, RowRef};
use duramen_observe::events::PageSplitKind;
use duramen_pool::{PageAt, PageRead, PageWrite};
use duramen_txn::{LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;
use duramen_wal::record::Lcx;

use crate::change::{PageOp, Role};
use crate::def::{RowLocator, RowsetKind};
use crate::error::{StorageError, StorageResult};
use crate::hints::{Reading, Wanted};
use crate::rowset::Rowset;

/// What kept an operation from going on: try again from the root.
pub(crate) enum Step<T> {
    Done(T),
    /// With room made, or after a split.
    Retry,
    /// With this lock.
    Wait(Wanted),
}

impl Rowset {
    pub(crate) fn leaf_context(&self) -> Lcx {
        match self.def.kind {
            RowsetKind::NonClustered { .. } => Lcx::INDEX_LEAF,
            _ => Lcx::CLUSTERED,
        }
    }

    pub(crate) fn key_resource(&self, key: &[Value]) -> Resource {
        Resource::Key(self.db.id, self.def.rowset, self.keys().hash(key))
    }

    fn is_own_leaf(&self, p: PageRef<'_>) -> bool {
        p.level() == 0 && p.alloc_unit() == self.def.au && matches!(p.page_type(), 1 | 2)
    }

    /// Whether `key` belongs at `slot` of a leaf: above its left neighbour, below its right one.
    fn stands_between(&self, p: PageRef<'_>, slot: u16, key: &[Value]) -> bool {
        let cmp = |s: u16| {
            let row = entry(p, s).ok()?;
            self.keys().cmp_leaf(&self.def.layout, row, key).ok()
        };
        let left = slot == 0 || cmp(slot - 1).is_none_or(|o| o == Ordering::Less);
        left && (slot >= p.slot_count() || cmp(slot).is_none_or(|o| o == Ordering::Greater))
    }

    /// The child to follow for `probe`: the last whose key is below it (or equal, when `or_equal`).
    pub(crate) fn child_slot(
        &self,
        p: PageAt<'_>,
        probe: &[Value],
        or_equal: bool,
    ) -> SqlResult<u16> {
        // Slot 0 stands for everything below slot 1: its key means nothing.
        let (mut low, mut high) = (1, p.slot_count());
        while low < high {
            let mid = (low + high) / 2;
            let row = p.sound(entry(*p, mid))?;
            let goes_left = match self.keys().cmp_node(row, probe)? {
                Ordering::Less => true,
                Ordering::Equal => or_equal,
                Ordering::Greater => false,
            };
            if goes_left {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        debug_assert!(
            low >= 1 && low <= p.slot_count().max(1),
            "btree/2: a search ends outside its page"
        );
        Ok(low - 1)
    }

    pub(crate) fn child_at(&self, p: PageAt<'_>, slot: u16) -> SqlResult<PageId> {
        p.sound(node_child(p.row(slot)?, p.pminlen()))
    }

    /// The leaf that `probe` leads to. `or_equal`: the rightmost that may hold an equal entry, else the leftmost.
    pub(crate) fn descend(&self, probe: &[Value], or_equal: bool) -> SqlResult<PageId> {
        duramen_observe::count(duramen_observe::Counter::IndexSearches, 1);
        let mut at = self.root()?;
        for _ in 0..64 {
            let page = self.db.read_page(at)?;
            let p = page.page();
            if p.level() == 0 {
                return Ok(at);
            }
            let slot = self.child_slot(p, probe, or_equal)?;
            let child = self.child_at(p, slot)?;
            debug_assert!(
                child != at,
                "btree/2: an entry of page {at} leads to itself"
            );
            at = child;
        }
        Err(self.db.corrupt(at, FormatError::Corrupt("B-tree depth")))
    }

    /// The first (or last) leaf.
    pub(crate) fn edge_leaf(&self, last: bool) -> SqlResult<PageId> {
        let mut at = self.root()?;
        for _ in 0..64 {
            let page = self.db.read_page(at)?;
            let p = page.page();
            if p.level() == 0 {
                return Ok(at);
            }
            let slot = if last {
                p.slot_count().saturating_sub(1)
            } else {
                0
            };
            at = self.child_at(p, slot)?;
        }
        Err(self.db.corrupt(at, FormatError::Corrupt("B-tree depth")))
    }

    pub(crate) fn root(&self) -> SqlResult<PageId> {
        let root = self.storage.roots.lock().root;
        if root.is_null() {
            return Err(self.db.corrupt(root, FormatError::Corrupt("root page")));
        }
        Ok(root)
    }

    /// The first slot whose entry is not below `probe`, and whether it is equal. `after`: the first above it.
    pub(crate) fn leaf_slot(
        &self,
        p: PageAt<'_>,
        probe: &[Value],
        after: bool,
    ) -> SqlResult<(u16, bool)> {
        let (mut low, mut high) = (0, p.slot_count());
        let mut found = false;
        while low < high {
            let mid = (low + high) / 2;
            let row = p.sound(entry(*p, mid))?;
            let below = match self.keys().cmp_leaf(&self.def.layout, row, probe)? {
                Ordering::Less => true,
                Ordering::Equal => {
                    found = true;
                    after
                }
                Ordering::Greater => false,
            };
            if below {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        Ok((low, found))
    }

    /// The remembered rightmost leaf, when `key` belongs behind everything on it.
    pub(crate) fn right_edge(&self, key: &[Value]) -> SqlResult<Option<(PageId, PageWrite<'_>)>> {
        let Some(id) = self.storage.hint() else {
            return Ok(None);
        };
        let page = self.db.write_page(id)?;
        let p = page.page();
        if !self.is_own_leaf(*p) || !p.next_page().is_null() || p.slot_count() == 0 {
            return Ok(None);
        }
        let last = p.sound(entry(*p, p.slot_count() - 1))?;
        if self.keys().cmp_leaf(&self.def.layout, last, key)? == Ordering::Less {
            return Ok(Some((id, page)));
        }
        Ok(None)
    }

    /// Inserts a row whose bytes have been made, the table's lock held. A uniquifier that is taken is replaced by the next.
    pub(crate) fn btree_insert(
        &self,
        tx: &Transaction,
        mut key: Vec<Value>,
        mut row: Cow<'_, [u8]>,
    ) -> StorageResult<RowLocator> {
        loop {
            match self.try_insert(tx, &key, &row)? {
                Inserted::Done => return Ok(RowLocator::Key(key)),
                Inserted::Wait(wanted) => {
                    self.wait_for(tx, &wanted, false)?;
                }
                Inserted::NeedsRoom => {
                    self.make_room(tx, &key, row.len(), PageSplitKind::INSERT)?;
                }
                Inserted::NextUniquifier(n) => {
                    if let Some(last) = key.last_mut() {
                        *last = Value::Int(n);
                    }
                    row = Cow::Owned(self.renumber(tx, RowRef::new(&row), n)?);
                }
            }
        }
    }

    fn try_insert(&self, tx: &Transaction, key: &[Value], row: &[u8]) -> StorageResult<Inserted> {
        let _shared = self.storage.latch.read();
        let edge = self.right_edge(key)?;
        let at_edge = edge.is_some();
        let (id, mut page) = match edge {
            Some(found) => found,
            None => {
                let id = self.descend(key, true)?;
                (id, self.db.write_page(id)?)
            }
        };
        let p = page.page();
        let (slot, found) = if at_edge {
            (p.slot_count(), false)
        } else {
            self.leaf_slot(p, key, false)?
        };
        if found {
            match self.judge(tx, p.row(slot)?)? {
                Equal::Ghost => return self.insert_over_ghost(tx, id, page, slot, key, row),
                Equal::Row if self.def.has_uniquifier() => {
                    drop(page);
                    return Ok(Inserted::NextUniquifier(self.next_uniquifier(key)?));
                }
                Equal::Row => {
                    return Err(StorageError::DuplicateKey {
                        object: self.def.object,
                        index_id: self.def.index_id,
                    });
                }
                Equal::Locked(resource) => {
                    return Ok(Inserted::Wait(Wanted {
                        resource,
                        mode: LockMode::S,
                        duration: LockDuration::Instant,
                    }));
                }
            }
        }
        let resource = self.key_resource(key);
        let mode = match self.ask_range(tx, p, slot)? {
            Ok(mode) => mode,
            Err(wanted) => return Ok(Inserted::Wait(wanted)),
        };
        if let Err(wanted) = self.lock_row_latched(tx, id, &resource, mode) {
            self.storage.operations.asked(&wanted.resource);
            return Ok(Inserted::Wait(wanted));
        }
        if !self.takes(tx, *p, row.len()) {
            return Ok(Inserted::NeedsRoom);
        }
        debug_assert!(
            self.is_own_leaf(*p),
            "btree/4: a row goes to a page of another tree"
        );
        debug_assert!(
            self.stands_between(*p, slot, key),
            "btree/2: a row goes to the wrong place on page {id}"
        );
        self.refuse_conflict(tx, || self.key_place(key))?;
        self.keep_version(tx, || self.key_place(key), None)?;
        let named = self.named_key(p, RowRef::new(row))?;
        let op = PageOp::Insert {
            slot,
            rows: vec![row],
            lock: &lock_info(self.def.object.0, &resource),
            key: &named,
        };
        if p.next_page().is_null() && slot == p.slot_count() && !at_edge {
            self.storage.set_hint(id);
        }
        self.change(tx, id, &mut page, &op, self.leaf_context(), Role::Logical)?;
        self.storage.operations.inserted.add(1);
        Ok(Inserted::Done)
    }

    /// X on the key and IX on its page, without waiting. Whoever inserts counts both with the row.
    fn lock_row_latched(
        &self,
        tx: &Transaction,
        page: PageId,
        resource: &Resource,
        mode: LockMode,
    ) -> Result<(), Wanted> {
        let intent = self.page_wanted(page);
        let locks = &self.db.engine.locks;
        let (on_page, on_row) = locks.try_lock_row(
            &tx.owner,
            &self.entity(),
            (&intent.resource, intent.mode),
            (resource, mode),
        );
        for granted in on_page.iter().chain(&on_row) {
            self.escalate_if(tx, granted);
        }
        if on_page.is_none() {
            return Err(intent);
        }
        on_row.map(|_| ()).ok_or(Wanted {
            resource: *resource,
            mode,
            duration: LockDuration::Normal,
        })
    }

    fn page_wanted(&self, page: PageId) -> Wanted {
        Wanted {
            resource: Resource::Page(self.db.id, page),
            mode: LockMode::IX,
            duration: LockDuration::Normal,
        }
    }

    /// IX on a page where a row is about to change, without waiting.
    pub(crate) fn page_intent(&self, tx: &Transaction, page: PageId) -> Result<(), Wanted> {
        self.try_wanted(tx, self.page_wanted(page)).map(|_| ())
    }

    /// Before a new key goes to `slot`: asks whether somebody holds the range it falls into, which is locked with the
    /// entry above it. Gives the mode for the new key: who holds the range itself must hold both halves of it.
    fn ask_range(
        &self,
        tx: &Transaction,
        p: PageAt<'_>,
        slot: u16,
    ) -> SqlResult<Result<LockMode, Wanted>> {
        let locks = &self.db.engine.locks;
        if !locks.any_ranges() {
            return Ok(Ok(LockMode::X));
        }
        let key_at = |p: PageAt<'_>, slot| -> SqlResult<Resource> {
            let key = self.keys().of_leaf(&self.def.layout, p.row(slot)?)?;
            Ok(self.key_resource(&key))
        };
        let mut above = None;
        if slot < p.slot_count() {
            above = Some(key_at(p, slot)?);
        }
        // To the right only: nobody holds two leaves in the other order.
        let mut next = p.next_page();
        while above.is_none() && !next.is_null() {
            let page = self.db.read_page(next)?;
            if page.page().slot_count() > 0 {
                above = Some(key_at(page.page(), 0)?);
            }
            next = page.page().next_page();
        }
        let resource = above.unwrap_or_else(|| self.end_resource());
        let wanted = Wanted {
            resource,
            mode: LockMode::RangeIN,
            duration: LockDuration::Instant,
        };
        if planted::on(Bug::RangeNotAsked) {
            return Ok(Ok(LockMode::X));
        }
        let own = tx.owner.holds(&resource).is_some_and(|m| m.is_range());
        Ok(self.try_wanted(tx, wanted).map(|_| match own {
            true => LockMode::RangeXX,
            false => LockMode::X,
        }))
    }

    /// What an entry with an equal key means for an insert. S tells whether it is committed, and is what the caller waits
    /// for when it is not: a stronger mode here than there would let it spin on a reader's lock.
    fn judge(&self, tx: &Transaction, row: RowRef<'_>) -> SqlResult<Equal> {
        let key = self.keys().of_leaf(&self.def.layout, row)?;
        let resource = self.key_resource(&key);
        let e = self.entity();
        self.storage.operations.asked(&resource);
        if !self
            .db
            .try_lock(tx, &e, &resource, LockMode::S, LockDuration::Instant)
        {
            return Ok(Equal::Locked(resource));
        }
        Ok(if row.is_ghost() {
            Equal::Ghost
        } else {
            Equal::Row
        })
    }

    /// A ghost with the same key becomes the new row: one change, undone as one.
    fn insert_over_ghost(
        &self,
        tx: &Transaction,
        id: PageId,
        mut page: PageWrite<'_>,
        slot: u16,
        key: &[Value],
        row: &[u8],
    ) -> StorageResult<Inserted> {
        let resource = self.key_resource(key);
        if let Err(wanted) = self.lock_row_latched(tx, id, &resource, LockMode::X) {
            self.storage.operations.asked(&wanted.resource);
            return Ok(Inserted::Wait(wanted));
        }
        let old = page.page().row(slot)?.to_vec();
        let growth = row.len().saturating_sub(old.len());
        if !self.grows(tx, *page.page(), growth) {
            return Ok(Inserted::NeedsRoom);
        }
        self.refuse_conflict(tx, || self.key_place(key))?;
        self.keep_version(tx, || self.key_place(key), None)?;
        self.modify_row(tx, id, &mut page, slot, &old, row)?;
        self.storage.operations.inserted.add(1);
        Ok(Inserted::Done)
    }

    /// The uniquifier after the largest among the rows that share the declared key.
    fn next_uniquifier(&self, key: &[Value]) -> SqlResult<i32> {
        let declared = &key[..key.len() - 1];
        let mut leaf = self.descend(declared, true)?;
        let mut largest = 0;
        // The rightmost leaf that may hold an equal entry; the largest is there, or on the next to the left that has any.
        while !leaf.is_null() {
            let page: PageRead<'_> = self.db.read_page(leaf)?;
            let p = page.page();
            let (slot, _) = self.leaf_slot(p, declared, true)?;
            if slot > 0 {
                let have = self.keys().of_leaf(&self.def.layout, p.row(slot - 1)?)?;
                if self.keys().cmp_values(&have[..declared.len()], declared) == Ordering::Equal
                    && let Some(Value::Int(n)) = have.last()
                {
                    largest = largest.max(*n);
                }
                break;
            }
            leaf = p.prev_page();
        }
        Ok(largest.saturating_add(1))
    }

    /// The entry with this full key, if it is there and not a ghost: page latched exclusively, slot.
    pub(crate) fn find_for_write(
        &self,
        key: &[Value],
    ) -> SqlResult<Option<(PageId, PageWrite<'_>, u16)>> {
        let mut id = self.descend(key, false)?;
        while !id.is_null() {
            let page = self.db.write_page(id)?;
            let p = page.page();
            let (slot, _) = self.leaf_slot(p, key, false)?;
            if slot < p.slot_count() {
                let row = p.row(slot)?;
                let hit = self.keys().cmp_leaf(&self.def.layout, row, key)? == Ordering::Equal
                    && !row.is_ghost();
                return Ok(hit.then_some((id, page, slot)));
            }
            id = p.next_page();
        }
        Ok(None)
    }

    /// The row with this full key, read as `reading` says.
    pub(crate) fn btree_fetch(
        &self,
        tx: &Transaction,
        key: &[Value],
        reading: &Reading,
    ) -> SqlResult<Option<Vec<Value>>> {
        let locking = self.locking(tx, reading);
        self.lock_for_read(tx, &locking, reading)?;
        if let Some(view) = &reading.view {
            return self.btree_fetch_as_of(tx, view, key, reading.lends);
        }
        let resource = self.key_resource(key);
        let wanted = locking.point().map(|(mode, duration)| Wanted {
            resource,
            mode,
            duration,
        });
        loop {
            {
                let _shared = self.storage.latch.read();
                let mut id = self.descend(key, false)?;
                while !id.is_null() {
                    let page = self.db.read_page(id)?;
                    let p = page.page();
                    let (slot, found) = self.leaf_slot(p, key, false)?;
                    if slot == p.slot_count() {
                        id = p.next_page();
                        continue;
                    }
                    if !found && wanted.is_none_or(|w| w.duration == LockDuration::Instant) {
                        return Ok(None);
                    }
                    if wanted.is_some_and(|w| self.try_wanted(tx, w).is_err()) {
                        break;
                    }
                    if !found {
                        return Ok(None);
                    }
                    let row = p.row(slot)?;
                    if row.is_ghost() {
                        return Ok(None);
                    }
                    return self.decode(row, reading.lends).map(Some);
                }
                if id.is_null() {
                    return Ok(None);
                }
            }
            if let Some(wanted) = &wanted {
                if reading.skip_locked {
                    return Ok(None);
                }
                self.wait_for(tx, wanted, reading.no_wait)?;
            }
        }
    }
}

/// An entry with all bytes from its start on, whatever its length: comparing needs no more, and finding the length costs
/// as much as comparing.
fn entry(p: PageRef<'_>, slot: u16) -> FormatResult<RowRef<'_>> {
    match usize::from(p.slot_offset(slot)?) {
        0 => Err(FormatError::NoSlot(slot)),
        at => Ok(RowRef::new(&p.bytes()[at..])),
    }
}

enum Inserted {
    Done,
    /// Try again with this lock.
    Wait(Wanted),
    NeedsRoom,
    NextUniquifier(i32),
}

enum Equal {
    Ghost,
    Row,
    Locked(Resource),
}

/// The lock element of row records: 26 bytes naming the object and the key.
pub(crate) fn lock_info(object: i32, resource: &Resource) -> [u8; 26] {
    let mut b = [0; 26];
    b[..4].copy_from_slice(&object.to_le_bytes());
    match resource {
        Resource::Key(_, rowset, hash) => {
            b[4] = 7;
            b[8..16].copy_from_slice(&rowset.0.to_le_bytes());
            b[16..22].copy_from_slice(&hash.to_le_bytes()[..6]);
        }
        Resource::Rid(_, page, slot) => {
            b[4] = 9;
            b[8..14].copy_from_slice(&page.to_bytes());
            b[14..16].copy_from_slice(&slot.to_le_bytes());
        }
        _ => {}
    }
    b
}
