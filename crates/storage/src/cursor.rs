//! Cursors: rows of a rowset one after the other, without holding a latch between calls.
//!
//! Rows are read a page at a time into memory. Under READ COMMITTED a page whose LSN is older than every running
//! transaction holds committed rows only and is read without row locks; on other pages each row's lock is tested while
//! the page is latched, and a row that somebody holds ends the batch: the cursor then waits for that lock with no latch
//! held, and looks again. Cursors that keep locks (REPEATABLE READ, update and exclusive hints) go row by row.
//!
//! Under SERIALIZABLE every entry met is locked with the range below it, ghosts too, and so is the entry behind the
//! last (or the end of the index): whoever inserts asks for the range that the new key falls into.
//!
//! With a view nothing is locked: each row is taken as `versioned` says. A page that is not younger than the view's
//! quiet point holds what the view sees.
//!
//! A B-tree cursor finds its place again by the key of the row it gave last, so splits between calls do not matter; while
//! there was none it knows its leaf.

mod ahead;
mod columns;
mod parts;

use std::collections::VecDeque;

use duramen_base::{PageId, SqlResult};
use duramen_format::RowRef;
use duramen_format::page::{PageRef, record_kind};
use duramen_observe::Counter;
use duramen_pool::PageAt;
use duramen_txn::{Acquired, LockDuration, LockMode, Resource, Transaction, Visible};
use duramen_types::Value;

use crate::def::{RowLocator, RowsetKind, ScanSpec};
use crate::hints::{LockHint, Locking, Reading, Wanted};
use crate::rowset::Rowset;

use self::ahead::Ahead;
use self::columns::Sink;
pub use self::columns::{NOTHING, RID};
pub use self::parts::ScanPart;

type Row = (RowLocator, Vec<Value>);

/// See the module.
pub struct Cursor {
    rowset: Rowset,
    spec: ScanSpec,
    locking: Locking,
    batch: VecDeque<Row>,
    /// B-trees: the key of the last row looked at.
    last: Option<Vec<Value>>,
    /// B-trees: the leaf to go on with, while the tree's structure is as it was then.
    next: Option<(PageId, u64)>,
    done: bool,
    /// Heaps: pages to read, and the next of them.
    pages: Vec<PageId>,
    next_page: usize,
    next_slot: u16,
    /// The U lock of the row given last, to give back when the cursor goes on.
    held: Option<(Resource, LockMode)>,
    keep_locks: bool,
    /// Only these pages: a part of a heap.
    only: bool,
    ahead: Ahead,
}

/// What reading some of a page came to.
enum Read {
    /// The page is done; go on with this one (NULL: the end).
    Page(PageId),
    /// As many rows as one look takes; go on behind `last`.
    Enough,
    /// Something that somebody holds.
    Blocked(Wanted),
    End,
}

/// What is to be done with a row under its latch.
enum Take {
    Row(Vec<Value>),
    /// No row, or none to be seen.
    Nothing,
    Blocked(Wanted),
}

impl Cursor {
    pub(crate) fn open(rowset: Rowset, tx: &Transaction, spec: ScanSpec) -> SqlResult<Cursor> {
        let mut locking = rowset.locking(tx, &spec.reading);
        if locking.range && !spec.forward {
            // A scan downwards would have to lock the entry above its first: the table's S lock is simpler.
            locking.range = false;
            locking.object = locking.object.map(|(m, _)| (m.join(LockMode::S), true));
            locking.row = locking.point();
        }
        if locking.range && is_point(&rowset, &spec) {
            locking.row = locking.point();
        }
        rowset.lock_for_read(tx, &locking, &spec.reading)?;
        let point = is_point(&rowset, &spec);
        let operations = &rowset.storage.operations;
        match point {
            true => operations.lookups.add(1),
            false => operations.scans.add(1),
        }
        if duramen_observe::metering_reads() {
            duramen_observe::note_scan(rowset.db.id, rowset.def.au, point);
        }
        let pages = match rowset.def.is_heap() {
            true => rowset.heap_pages()?,
            false => Vec::new(),
        };
        Ok(Cursor::new(rowset, spec, locking, pages))
    }

    /// Reads a part of a scan whose locks are held.
    fn of(rowset: Rowset, tx: &Transaction, spec: ScanSpec, pages: Option<Vec<PageId>>) -> Cursor {
        let locking = rowset.locking(tx, &spec.reading);
        let mut cursor = Cursor::new(rowset, spec, locking, Vec::new());
        if let Some(pages) = pages {
            cursor.pages = pages;
            cursor.only = true;
        }
        cursor
    }

    fn new(rowset: Rowset, spec: ScanSpec, locking: Locking, pages: Vec<PageId>) -> Cursor {
        Cursor {
            rowset,
            spec,
            locking,
            batch: VecDeque::new(),
            last: None,
            next: None,
            done: false,
            pages,
            next_page: 0,
            next_slot: 0,
            held: None,
            keep_locks: false,
            only: false,
            ahead: Ahead::default(),
        }
    }

    /// The row given last will be changed: its update lock stays until the transaction ends.
    pub fn keep(&mut self) {
        self.held = None;
    }

    pub(crate) fn keep_last_lock(&mut self) {
        self.keep_locks = true;
    }

    fn reading(&self) -> &Reading {
        &self.spec.reading
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
            if let Some(wanted) = self.advance(tx, None)? {
                // What is behind it is looked for again: a lock on what is gone by then is harmless.
                self.rowset.wait_for(tx, &wanted, self.reading().no_wait)?;
            }
        }
    }

    /// Reads on: into the batch, or into `sink` where whole pages can be taken. What stands in the way, if anything.
    fn advance(
        &mut self,
        tx: &Transaction,
        sink: Option<&mut Sink<'_>>,
    ) -> SqlResult<Option<Wanted>> {
        if self.rowset.def.is_heap() {
            self.fill_heap(tx, sink)
        } else {
            self.fill_tree(tx, sink)
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

    /// Whether everything on the page is as this cursor is to see it, so that no row needs a look at locks or versions.
    fn is_quiet(&self, p: PageRef<'_>) -> bool {
        if let Some(view) = &self.reading().view {
            return p.lsn() <= view.quiet(self.rowset.db.id);
        }
        match self.rowset.db.transactions.table.oldest_lsn() {
            Some(oldest) => p.lsn() <= oldest,
            None => true,
        }
    }

    /// How many rows one look may take: one when each row's lock is to be held while the caller works on it.
    fn one_by_one(&self) -> bool {
        matches!(self.locking.row, Some((_, LockDuration::Normal)))
    }

    /// Whether rows are locked to be changed: a SNAPSHOT transaction learns of a conflict now.
    fn may_change(&self) -> bool {
        matches!(self.reading().lock, LockHint::Update | LockHint::Exclusive)
    }

    /// Takes a page's lock under its latch.
    fn try_page(&self, tx: &Transaction, id: PageId) -> Result<(), Wanted> {
        let Some((mode, duration)) = self.locking.page else {
            return Ok(());
        };
        let resource = Resource::Page(self.rowset.db.id, id);
        self.rowset.try_wanted(
            tx,
            Wanted {
                resource,
                mode,
                duration,
            },
        )?;
        Ok(())
    }

    /// Takes the lock of a row under its latch.
    fn try_row(
        &mut self,
        tx: &Transaction,
        resource: &Resource,
        quiet: bool,
    ) -> Result<(), Wanted> {
        let Some((mode, duration)) = self.locking.row else {
            return Ok(());
        };
        if quiet && duration == LockDuration::Instant {
            return Ok(());
        }
        let acquired = self.rowset.try_wanted(
            tx,
            Wanted {
                resource: *resource,
                mode,
                duration,
            },
        )?;
        if mode == LockMode::U && acquired == Acquired::New && !self.locking.keeps {
            self.held = Some((*resource, mode));
        }
        Ok(())
    }

    fn fill_tree(
        &mut self,
        tx: &Transaction,
        mut sink: Option<&mut Sink<'_>>,
    ) -> SqlResult<Option<Wanted>> {
        let rowset = self.rowset.clone();
        let structure = rowset.storage.latch.read();
        let mut at = match self.next.take() {
            // Under SERIALIZABLE what came in behind `last` meanwhile must be met.
            Some((page, then)) if then == *structure && !self.locking.range => page,
            _ => self.start_page(&rowset)?,
        };
        loop {
            if self.spec.forward {
                self.ahead.leaf(&rowset, at);
            }
            match self.read_leaf(tx, &rowset, at, sink.as_deref_mut())? {
                Read::Page(next) => {
                    if next.is_null() {
                        self.done = true;
                        return Ok(None);
                    }
                    if !self.batch.is_empty() || sink.as_ref().is_some_and(|s| s.rows > 0) {
                        self.next = Some((next, *structure));
                        return Ok(None);
                    }
                    at = next;
                }
                Read::Enough => {
                    self.next = Some((at, *structure));
                    return Ok(None);
                }
                Read::Blocked(wanted) => {
                    // Rows before it are given first; then the row is met again.
                    return Ok(self.batch.is_empty().then_some(wanted));
                }
                Read::End => {
                    self.done = true;
                    return Ok(None);
                }
            }
        }
    }

    /// The page to read next, asked of the tree.
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
    fn slots(&self, rowset: &Rowset, p: PageAt<'_>) -> SqlResult<(u16, u16)> {
        let (mut from, mut to) = (0, p.slot_count());
        let forward = self.spec.forward;
        if let Some(last) = &self.last {
            if forward {
                from = rowset.leaf_slot(p, last, true)?.0;
            } else {
                to = rowset.leaf_slot(p, last, false)?.0;
            }
        }
        if let Some((key, inclusive)) = &self.spec.lower {
            from = from.max(rowset.leaf_slot(p, key, !inclusive)?.0);
        }
        if let Some((key, inclusive)) = &self.spec.upper {
            to = to.min(rowset.leaf_slot(p, key, *inclusive)?.0);
        }
        Ok((from, to))
    }

    fn read_leaf(
        &mut self,
        tx: &Transaction,
        rowset: &Rowset,
        id: PageId,
        sink: Option<&mut Sink<'_>>,
    ) -> SqlResult<Read> {
        let page = rowset.db.read_page(id)?;
        let p = page.page();
        if let Err(wanted) = self.try_page(tx, id) {
            return Ok(match self.reading().skip_locked {
                true => Read::Page(p.next_page()),
                false => Read::Blocked(wanted),
            });
        }
        let (from, to) = self.slots(rowset, p)?;
        let quiet = self.is_quiet(*p);
        let one = self.one_by_one();
        let mut count = to.saturating_sub(from);
        if let Some(sink) = sink
            && self.takes_pages(quiet)
        {
            self.take_leaf(rowset, p, (from, to), sink)?;
            count = 0;
        }
        for i in 0..count {
            let slot = if self.spec.forward {
                from + i
            } else {
                to - 1 - i
            };
            let row = p.row(slot)?;
            if row.is_ghost() && self.skips_ghosts(quiet) {
                duramen_observe::count(Counter::SkippedGhostedRecords, 1);
                continue;
            }
            let key = rowset.keys().of_leaf(&rowset.def.layout, row)?;
            let taken = match &self.reading().view {
                Some(_) => self.as_of(tx, rowset, &key, row, quiet)?,
                None => self.take_locked(tx, rowset, &key, row, quiet)?,
            };
            match taken {
                Take::Blocked(wanted) => return Ok(Read::Blocked(wanted)),
                Take::Nothing => {
                    self.last = Some(key);
                    self.give_back(tx);
                    continue;
                }
                Take::Row(values) => {
                    self.last = Some(key.clone());
                    self.batch.push_back((RowLocator::Key(key), values));
                }
            }
            if one {
                return Ok(Read::Enough);
            }
        }
        let (limit, next) = if self.spec.forward {
            (to < p.slot_count(), p.next_page())
        } else {
            (from > 0, p.prev_page())
        };
        if self.locking.range
            && let Err(wanted) = self.lock_behind(tx, rowset, p, to)?
        {
            return Ok(Read::Blocked(wanted));
        }
        Ok(if limit { Read::End } else { Read::Page(next) })
    }

    /// Whether a ghost can be passed without a look: not where it stands for a range or a version.
    fn skips_ghosts(&self, quiet: bool) -> bool {
        !self.locking.range
            && (quiet || self.reading().view.is_none() && self.locking.row.is_none())
    }

    /// A row whose lock is asked for.
    fn take_locked(
        &mut self,
        tx: &Transaction,
        rowset: &Rowset,
        key: &[Value],
        row: RowRef<'_>,
        quiet: bool,
    ) -> SqlResult<Take> {
        if !quiet || self.one_by_one() {
            let resource = rowset.key_resource(key);
            if let Err(wanted) = self.try_row(tx, &resource, quiet) {
                return Ok(match self.reading().skip_locked {
                    true => Take::Nothing,
                    false => Take::Blocked(wanted),
                });
            }
            if self.may_change() {
                rowset.refuse_conflict(tx, || rowset.key_place(key))?;
            }
        }
        if row.is_ghost() {
            return Ok(Take::Nothing);
        }
        rowset.decode(row, self.reading().lends).map(Take::Row)
    }

    /// A row as the view sees it.
    fn as_of(
        &self,
        tx: &Transaction,
        rowset: &Rowset,
        key: &[Value],
        row: RowRef<'_>,
        quiet: bool,
    ) -> SqlResult<Take> {
        let seen = match &self.reading().view {
            Some(view) if !quiet => rowset.visible(tx, view, &rowset.key_place(key))?,
            _ => Visible::Current,
        };
        Ok(match seen {
            Visible::Current if row.is_ghost() => Take::Nothing,
            Visible::Current => Take::Row(rowset.decode(row, self.reading().lends)?),
            Visible::Image(image) => Take::Row(rowset.decode_image(&image, self.reading().lends)?),
            Visible::Absent | Visible::Lost => Take::Nothing,
        })
    }

    /// SERIALIZABLE, at the end of a page's part of the range: locks the entry that ends the range, if the range ends
    /// here. A row found by its whole unique key needs none.
    fn lock_behind(
        &self,
        tx: &Transaction,
        rowset: &Rowset,
        p: PageAt<'_>,
        to: u16,
    ) -> SqlResult<Result<(), Wanted>> {
        let Some((mode, duration)) = self.locking.row else {
            return Ok(Ok(()));
        };
        if self.last.is_some() && is_point(rowset, &self.spec) {
            return Ok(Ok(()));
        }
        let resource = if to < p.slot_count() {
            rowset.key_resource(&rowset.keys().of_leaf(&rowset.def.layout, p.row(to)?)?)
        } else if p.next_page().is_null() {
            rowset.end_resource()
        } else {
            return Ok(Ok(()));
        };
        let mode = match mode {
            LockMode::S => LockMode::RangeSS,
            LockMode::U => LockMode::RangeSU,
            LockMode::X => LockMode::RangeXX,
            other => other,
        };
        let wanted = Wanted {
            resource,
            mode,
            duration,
        };
        Ok(rowset.try_wanted(tx, wanted).map(|_| ()))
    }

    fn fill_heap(
        &mut self,
        tx: &Transaction,
        mut sink: Option<&mut Sink<'_>>,
    ) -> SqlResult<Option<Wanted>> {
        let rowset = self.rowset.clone();
        while self.next_page < self.pages.len() {
            let id = self.pages[self.next_page];
            if self.next_slot == 0 {
                let pages = &self.pages[self.next_page..];
                self.ahead.pages(&rowset, self.next_page, pages);
            }
            match self.read_heap_page(tx, &rowset, id, sink.as_deref_mut())? {
                Read::Blocked(wanted) => {
                    return Ok(self.batch.is_empty().then_some(wanted));
                }
                Read::Enough => return Ok(None),
                Read::Page(_) | Read::End => {
                    self.next_page += 1;
                    self.next_slot = 0;
                    if !self.batch.is_empty() || sink.as_ref().is_some_and(|s| s.rows > 0) {
                        return Ok(None);
                    }
                }
            }
        }
        if self.only {
            self.done = true;
            return Ok(None);
        }
        // Pages that were added since the scan began.
        let known: std::collections::BTreeSet<PageId> = self.pages.iter().copied().collect();
        let new: Vec<PageId> = rowset
            .heap_pages()?
            .into_iter()
            .filter(|p| !known.contains(p))
            .collect();
        self.done = new.is_empty();
        self.pages.extend(new);
        Ok(None)
    }

    fn read_heap_page(
        &mut self,
        tx: &Transaction,
        rowset: &Rowset,
        id: PageId,
        sink: Option<&mut Sink<'_>>,
    ) -> SqlResult<Read> {
        let one = self.one_by_one();
        let mut stubs = Vec::new();
        {
            let page = rowset.db.read_page(id)?;
            let p = page.page();
            if p.alloc_unit() != rowset.def.au {
                return Ok(Read::End);
            }
            if let Err(wanted) = self.try_page(tx, id) {
                return Ok(match self.reading().skip_locked {
                    true => Read::End,
                    false => Read::Blocked(wanted),
                });
            }
            let quiet = self.is_quiet(*p);
            if let Some(sink) = sink
                && self.takes_pages(quiet)
            {
                self.take_heap_page(rowset, p, &mut stubs, sink)?;
            }
            while self.next_slot < p.slot_count() {
                let slot = self.next_slot;
                if !quiet && self.heap_slot_as_of(tx, rowset, id, slot)? {
                    continue;
                }
                let resource = rowset.rid(id, slot);
                if (!quiet || one)
                    && let Err(wanted) = self.try_row(tx, &resource, quiet)
                {
                    if self.reading().skip_locked {
                        self.next_slot += 1;
                        continue;
                    }
                    // Stubs found before it come first; this slot is met again.
                    if stubs.is_empty() {
                        return Ok(Read::Blocked(wanted));
                    }
                    break;
                }
                let record = p.row_or_none(slot)?;
                self.next_slot += 1;
                if self.may_change() {
                    rowset.refuse_conflict(tx, || Rowset::rid_place(id, slot).to_vec())?;
                }
                let Some(row) = record else {
                    self.give_back(tx);
                    continue;
                };
                match row.kind() {
                    record_kind::FORWARDED | record_kind::BLOB => {
                        self.give_back(tx);
                        continue;
                    }
                    record_kind::FORWARDING_STUB => stubs.push(slot),
                    _ if row.is_ghost() => continue,
                    _ => {
                        let values = rowset.decode(row, self.reading().lends)?;
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
            let values = match (&self.spec.reading.view, self.locking.row) {
                (Some(view), _) => {
                    let lends = self.reading().lends;
                    rowset.heap_fetch_as_of(tx, view, (id, slot), lends)?
                }
                // That the stub's page is quiet says nothing of the far end.
                (None, Some(row)) if row.1 == LockDuration::Instant => {
                    rowset.heap_values_locked(tx, (id, slot), row, &self.spec.reading)?
                }
                _ => rowset.heap_values(id, slot, self.reading().lends)?,
            };
            if let Some(values) = values {
                self.batch.push_back((RowLocator::Rid(id, slot), values));
            }
        }
        Ok(Read::Enough)
    }

    /// A slot whose row the view does not take from the page; false when it does (or there is no view).
    fn heap_slot_as_of(
        &mut self,
        tx: &Transaction,
        rowset: &Rowset,
        id: PageId,
        slot: u16,
    ) -> SqlResult<bool> {
        let Some(view) = &self.spec.reading.view else {
            return Ok(false);
        };
        match rowset.visible(tx, view, &Rowset::rid_place(id, slot))? {
            Visible::Current => return Ok(false),
            Visible::Image(image) => {
                let values = rowset.decode_image(&image, self.reading().lends)?;
                self.batch.push_back((RowLocator::Rid(id, slot), values));
            }
            Visible::Absent | Visible::Lost => {}
        }
        self.next_slot += 1;
        Ok(true)
    }
}

/// Whether the scan looks for one entry by its whole unique key.
fn is_point(rowset: &Rowset, spec: &ScanSpec) -> bool {
    let unique = matches!(
        rowset.def.kind,
        RowsetKind::Clustered { unique: true } | RowsetKind::NonClustered { unique: true }
    );
    match (&spec.lower, &spec.upper) {
        (Some((low, true)), Some((high, true))) => {
            unique && low.len() == rowset.keys().column_count() && low == high
        }
        _ => false,
    }
}
