//! Cursors: rows of a rowset one after the other, without holding a latch between calls.
//!
//! Rows are read a page at a time into memory. Under READ COMMITTED a page whose LSN is older than every running
//! transaction holds committed rows only and is read without row locks; on other pages each row's lock is tested while
//! the page is latched, and a row that somebody holds ends the batch: the cursor then waits for that lock with no latch
//! held, and looks again. Cursors that keep locks (REPEATABLE READ, update and exclusive hints) go row by row.
//!
//! A B-tree cursor finds its place again by the key of the row it gave last, so splits between calls do not matter.

use std::collections::VecDeque;

use duramen_base::{PageId, SqlResult};
use duramen_txn::{Acquired, IsolationLevel, LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;

use crate::def::{LockHint, RowLocator, ScanSpec};
use crate::format::page::{PageRef, is_ghost, kind_of, record_kind};
use crate::rowset::Rowset;

type Row = (RowLocator, Vec<Value>);

/// See the module.
pub struct Cursor {
    rowset: Rowset,
    spec: ScanSpec,
    batch: VecDeque<Row>,
    /// B-trees: the key of the last row looked at.
    last: Option<Vec<Value>>,
    /// Where to go on: a page whose neighbour is next; checked against `last`.
    at: PageId,
    done: bool,
    /// Heaps: pages to read, and the next of them.
    pages: Vec<PageId>,
    next_page: usize,
    next_slot: u16,
    /// The U lock of the row given last, to give back when the cursor goes on.
    held: Option<(Resource, LockMode)>,
    keep_locks: bool,
}

/// What reading some of a page came to.
enum Read {
    /// The page is done; go on with this one (NULL: the end).
    Page(PageId),
    /// Enough rows for now; go on behind `last`.
    Enough,
    /// A row that somebody holds.
    Blocked(Resource),
    End,
}

impl Rowset {
    /// The row lock that a read needs: mode and how long. `None`: no lock at all.
    pub(crate) fn read_lock(
        &self,
        tx: &Transaction,
        hint: LockHint,
    ) -> Option<(LockMode, LockDuration)> {
        match hint {
            LockHint::None => None,
            LockHint::Update => Some((LockMode::U, LockDuration::Normal)),
            LockHint::Exclusive => Some((LockMode::X, LockDuration::Normal)),
            LockHint::Read => match tx.isolation() {
                IsolationLevel::ReadUncommitted => None,
                IsolationLevel::ReadCommitted | IsolationLevel::Snapshot => {
                    Some((LockMode::S, LockDuration::Instant))
                }
                IsolationLevel::RepeatableRead | IsolationLevel::Serializable => {
                    Some((LockMode::S, LockDuration::Normal))
                }
            },
        }
    }
}

impl Cursor {
    pub(crate) fn open(rowset: Rowset, tx: &Transaction, spec: ScanSpec) -> SqlResult<Cursor> {
        let serializable = tx.isolation() == IsolationLevel::Serializable;
        match rowset.read_lock(tx, spec.lock) {
            None => {}
            // Ranges are protected by the table lock: coarser than key-range locks, never weaker.
            Some(_) if serializable => rowset.lock_object(tx, LockMode::S)?,
            Some((LockMode::S, _)) => rowset.lock_object(tx, LockMode::IS)?,
            Some(_) => rowset.lock_object(tx, LockMode::IX)?,
        }
        let pages = if rowset.def.is_heap() {
            let iam = rowset.storage.roots.lock().first_iam;
            rowset.db.pages_of(iam)?
        } else {
            Vec::new()
        };
        Ok(Cursor {
            rowset,
            spec,
            batch: VecDeque::new(),
            last: None,
            at: PageId::NULL,
            done: false,
            pages,
            next_page: 0,
            next_slot: 0,
            held: None,
            keep_locks: false,
        })
    }

    /// The row given last will be changed: its update lock stays until the transaction ends.
    pub fn keep(&mut self) {
        self.held = None;
    }

    pub(crate) fn keep_last_lock(&mut self) {
        self.keep_locks = true;
    }

    /// The next row, or `None` at the end.
    pub fn next(&mut self, tx: &Transaction) -> SqlResult<Option<Row>> {
        self.give_back(tx);
        loop {
            if let Some(row) = self.batch.pop_front() {
                return Ok(Some(row));
            }
            if self.done {
                return Ok(None);
            }
            let blocked = if self.rowset.def.is_heap() {
                self.fill_heap(tx)?
            } else {
                self.fill_tree(tx)?
            };
            if let Some(resource) = blocked {
                self.wait_for(tx, &resource)?;
            }
        }
    }

    /// The U lock of a row that was not changed goes when the cursor leaves it.
    fn give_back(&mut self, tx: &Transaction) {
        if let Some((resource, mode)) = self.held.take()
            && !self.keep_locks
            && self.batch.is_empty()
            && tx.owner.holds(&resource) == Some(mode)
        {
            self.rowset
                .db
                .engine
                .locks
                .unlock(&tx.owner, &resource, mode);
        }
    }

    fn wait_for(&self, tx: &Transaction, resource: &Resource) -> SqlResult<()> {
        if let Some((mode, duration)) = self.rowset.read_lock(tx, self.spec.lock) {
            let entity = self.rowset.entity();
            let outcome = self.rowset.db.lock(tx, &entity, resource, mode, duration)?;
            // The row is looked for again: a lock on one that is gone by then is harmless.
            let _ = outcome;
        }
        Ok(())
    }

    /// Whether every row of the page is committed, so that no lock needs to be looked at.
    fn is_quiet(&self, p: PageRef<'_>) -> bool {
        match self.rowset.db.transactions.table.oldest_lsn() {
            Some(oldest) => p.lsn() <= oldest,
            None => true,
        }
    }

    /// How many rows one look may take: one when each row's lock is to be held while the caller works on it.
    fn one_by_one(&self, tx: &Transaction) -> bool {
        matches!(self.spec.lock, LockHint::Update)
            || matches!(
                self.rowset.read_lock(tx, self.spec.lock),
                Some((_, LockDuration::Normal))
            )
    }

    /// Takes the lock of a row under its latch; false when somebody is in the way.
    fn try_row(&mut self, tx: &Transaction, resource: &Resource, quiet: bool) -> bool {
        let Some((mode, duration)) = self.rowset.read_lock(tx, self.spec.lock) else {
            return true;
        };
        if quiet && duration == LockDuration::Instant {
            return true;
        }
        let entity = self.rowset.entity();
        let outcome = self
            .rowset
            .db
            .engine
            .locks
            .try_lock_in(&tx.owner, &entity, resource, mode, duration);
        match outcome {
            None => false,
            Some(outcome) => {
                if mode == LockMode::U && outcome.acquired == Acquired::New {
                    self.held = Some((*resource, mode));
                }
                true
            }
        }
    }

    fn fill_tree(&mut self, tx: &Transaction) -> SqlResult<Option<Resource>> {
        let rowset = self.rowset.clone();
        let _shared = rowset.storage.latch.read();
        let mut at = self.start_page(&rowset)?;
        loop {
            match self.read_leaf(tx, &rowset, at)? {
                Read::Page(next) => {
                    self.at = next;
                    if next.is_null() {
                        self.done = true;
                        return Ok(None);
                    }
                    if !self.batch.is_empty() {
                        return Ok(None);
                    }
                    at = next;
                }
                Read::Enough => return Ok(None),
                Read::Blocked(resource) => {
                    // Rows before it are given first; then the row is met again.
                    return Ok(self.batch.is_empty().then_some(resource));
                }
                Read::End => {
                    self.done = true;
                    return Ok(None);
                }
            }
        }
    }

    /// The page to read next. After the first call it may be the wrong one by now: then the tree is asked again.
    fn start_page(&self, rowset: &Rowset) -> SqlResult<PageId> {
        if let Some(last) = &self.last {
            return rowset.descend(last, self.spec.forward);
        }
        let bound = if self.spec.forward {
            &self.spec.lower
        } else {
            &self.spec.upper
        };
        match bound {
            Some((key, inclusive)) => rowset.descend(key, self.spec.forward != *inclusive),
            None => rowset.edge_leaf(!self.spec.forward),
        }
    }

    /// The slots of a leaf that are still to be read, as a half-open range.
    fn slots(&self, rowset: &Rowset, id: PageId, p: PageRef<'_>) -> SqlResult<(u16, u16)> {
        let (mut from, mut to) = (0, p.slot_count());
        let forward = self.spec.forward;
        if let Some(last) = &self.last {
            if forward {
                from = rowset.leaf_slot(id, p, last, true)?.0;
            } else {
                to = rowset.leaf_slot(id, p, last, false)?.0;
            }
        }
        if let Some((key, inclusive)) = &self.spec.lower {
            from = from.max(rowset.leaf_slot(id, p, key, !inclusive)?.0);
        }
        if let Some((key, inclusive)) = &self.spec.upper {
            to = to.min(rowset.leaf_slot(id, p, key, *inclusive)?.0);
        }
        Ok((from, to))
    }

    fn read_leaf(&mut self, tx: &Transaction, rowset: &Rowset, id: PageId) -> SqlResult<Read> {
        let page = rowset.db.read_page(id)?;
        let p = page.page();
        let (from, to) = self.slots(rowset, id, p)?;
        let quiet = self.is_quiet(p);
        let one = self.one_by_one(tx);
        let layout = &rowset.def.layout;
        let count = to.saturating_sub(from);
        for i in 0..count {
            let slot = if self.spec.forward {
                from + i
            } else {
                to - 1 - i
            };
            let row = p
                .expect_record(slot)
                .map_err(|e| rowset.db.corrupt(id, e))?;
            if is_ghost(row[0]) && (quiet || self.spec.lock == LockHint::None) {
                continue;
            }
            let key = rowset.keys.of_leaf(layout, row)?;
            if !quiet || one {
                let resource = rowset.key_resource(&key);
                if !self.try_row(tx, &resource, quiet) {
                    return Ok(Read::Blocked(resource));
                }
            }
            self.last = Some(key.clone());
            if is_ghost(row[0]) {
                self.give_back(tx);
                continue;
            }
            let values = rowset.decode(row)?;
            self.batch.push_back((RowLocator::Key(key), values));
            if one {
                return Ok(Read::Enough);
            }
        }
        let (limit, next) = if self.spec.forward {
            (to < p.slot_count(), p.next_page())
        } else {
            (from > 0, p.prev_page())
        };
        Ok(if limit { Read::End } else { Read::Page(next) })
    }

    fn fill_heap(&mut self, tx: &Transaction) -> SqlResult<Option<Resource>> {
        let rowset = self.rowset.clone();
        while self.next_page < self.pages.len() {
            let id = self.pages[self.next_page];
            match self.read_heap_page(tx, &rowset, id)? {
                Read::Blocked(resource) => {
                    return Ok(self.batch.is_empty().then_some(resource));
                }
                Read::Enough => return Ok(None),
                Read::Page(_) | Read::End => {
                    self.next_page += 1;
                    self.next_slot = 0;
                    if !self.batch.is_empty() {
                        return Ok(None);
                    }
                }
            }
        }
        // Pages that were added since the scan began.
        let iam = rowset.storage.roots.lock().first_iam;
        let known: std::collections::BTreeSet<PageId> = self.pages.iter().copied().collect();
        let new: Vec<PageId> = rowset
            .db
            .pages_of(iam)?
            .into_iter()
            .filter(|p| !known.contains(p))
            .collect();
        self.done = new.is_empty();
        self.pages.extend(new);
        Ok(None)
    }

    fn read_heap_page(&mut self, tx: &Transaction, rowset: &Rowset, id: PageId) -> SqlResult<Read> {
        let one = self.one_by_one(tx);
        let mut stubs = Vec::new();
        {
            let page = rowset.db.read_page(id)?;
            let p = page.page();
            if p.alloc_unit() != rowset.def.au {
                return Ok(Read::End);
            }
            let quiet = self.is_quiet(p);
            while self.next_slot < p.slot_count() {
                let slot = self.next_slot;
                let resource = rowset.rid(id, slot);
                if (!quiet || one) && !self.try_row(tx, &resource, quiet) {
                    // Stubs found before it come first; this slot is met again.
                    if stubs.is_empty() {
                        return Ok(Read::Blocked(resource));
                    }
                    break;
                }
                let record = p.record(slot).map_err(|e| rowset.db.corrupt(id, e))?;
                self.next_slot += 1;
                let Some(row) = record else {
                    self.give_back(tx);
                    continue;
                };
                match kind_of(row[0]) {
                    record_kind::FORWARDED | record_kind::BLOB => {
                        self.give_back(tx);
                        continue;
                    }
                    record_kind::FORWARDING_STUB => stubs.push(slot),
                    _ if is_ghost(row[0]) => continue,
                    _ => {
                        let values = rowset.decode(row)?;
                        self.batch.push_back((RowLocator::Rid(id, slot), values));
                    }
                }
                if one {
                    break;
                }
            }
            if self.next_slot >= p.slot_count() && stubs.is_empty() && !one {
                return Ok(Read::Page(PageId::NULL));
            }
            if self.next_slot >= p.slot_count() && self.batch.is_empty() && stubs.is_empty() {
                return Ok(Read::Page(PageId::NULL));
            }
        }
        // The far ends are on other pages: read with no latch held here.
        for slot in stubs {
            if let Some(values) = rowset.heap_values(id, slot)? {
                self.batch.push_back((RowLocator::Rid(id, slot), values));
            }
        }
        Ok(Read::Enough)
    }
}
