//! How many rows a rowset has: kept in memory, in `sysrowsets.rcrows` when the database is closed, and right after a crash.
//!
//! What a change to a page does to the count is decided in one place, [`row_delta`], from the operation alone, so that the
//! running server and recovery count alike. System transactions move rows and count nothing.
//!
//! Invariants
//! 1. A count is kept in two halves: changes whose record is older than the last checkpoint's begin (the *mark*), and the
//!    younger ones. A change is counted while its page is latched, and a checkpoint writes down every page that is dirty at
//!    its begin: when it has, the older half is exactly the count at the mark.
//!    [assert: row_counts/1; test: a_crash_keeps_promised_commits_and_nothing_half_done]
//! 2. A checkpoint notes (LOP_COUNT_DELTA) the older half of every rowset whose count is not what `rcrows` says.
//!    [test: counts_come_back_from_notes_rows_and_log]
//! 3. Recovery takes the note, or `rcrows` where there is none, and adds what the log says after the mark.
//!    [test: counts_come_back_from_notes_rows_and_log; test: undo_of_a_half_made_split_keeps_the_number_of_rows]
//! 4. Closing notes the counts as they are, then writes them to `rcrows`, then takes the last checkpoint.
//!    [assert: row_counts/4; test: counts_come_back_from_notes_rows_and_log]
//! 5. TRUNCATE and minimally logged loads log the difference that they make, and its undo the opposite. No checkpoint
//!    begins between such a record and its count.
//!    [assert: row_counts/5; test: truncate_gives_the_pages_back_or_brings_the_rows_back]

pub(crate) mod noted;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use duramen_base::{AllocUnitId, Lsn, PageId, SqlResult};
use duramen_txn::{Transaction, TxnKind};
use duramen_wal::record::{FLAG_COMPENSATION, FLAG_NORMAL, Lcx, RecordView};

use crate::anchor::SYSALLOCUNITS;
use crate::change::PageOp;
use crate::engine::{Database, Storage};
use noted::{NOTE_BYTES, Note, Recovered, RowCount, parse, record, row_delta};

/// The clustered index of sysrowsets.
pub(crate) const SYSROWSETS: AllocUnitId = AllocUnitId(5 << 16);
/// `rowsetid`, `idminor` and `rcrows` in a row of sysrowsets.
const ROWSET_AT: usize = 4;
const INDEX_ID_AT: usize = 17;
const ROWS_AT: usize = 31;
/// The in-row unit of a rowset, in a row of sysallocunits: `auid`, `type`, `ownerid`.
const UNIT_AT: usize = 4;
const UNIT_TYPE_AT: usize = 12;
const UNIT_OWNER_AT: usize = 13;
const IN_ROW_DATA: u8 = 1;

/// A row of sysrowsets.
struct StoredCount {
    page: PageId,
    slot: u16,
    rows: i64,
    heap: bool,
}

fn i64_at(row: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?))
}

/// Whether recovery knows the transaction as a system transaction: what it does to rows is no change of their number.
fn moves_rows(tx: &Transaction) -> bool {
    tx.kind == TxnKind::System && crate::recovery::is_system_name(&tx.name)
}

impl Database {
    /// Counts a change that was just made to the unit; the page is still latched.
    pub(crate) fn count_change<S: Deref<Target = Storage>>(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        op: &PageOp<'_>,
        context: Lcx,
        unit: impl FnOnce() -> S,
    ) {
        let delta = row_delta(op, context);
        if delta != 0 && !moves_rows(tx) {
            self.count(&unit(), lsn, delta);
        }
    }

    fn count(&self, storage: &Storage, lsn: Lsn, delta: i64) {
        if self.store.recovering.load(SeqCst) {
            let mut recovered = self.counts.recovered.lock();
            *recovered.deltas.entry(storage.au).or_insert(0) += delta;
            return;
        }
        let mark = self.counts.mark.read();
        let half = match lsn < *mark {
            true => &storage.rows.before,
            false => &storage.rows.since,
        };
        half.fetch_add(delta, SeqCst);
        self.hold_note(&storage.rows);
    }

    /// The next checkpoint notes this count, and the end of the database writes it to its row: neither asks for room.
    fn hold_note(&self, rows: &RowCount) {
        if self.store.temporary || rows.held.load(Relaxed) || rows.held.swap(true, SeqCst) {
            return;
        }
        if let Some(log) = &self.log {
            self.counts.held.fetch_add(1, SeqCst);
            log.hold(NOTE_BYTES);
        }
    }

    /// What has been held so far is let go of; counts that change from now on hold anew.
    fn take_held(&self) -> u64 {
        for storage in self.storages.read().values() {
            storage.rows.held.store(false, SeqCst);
        }
        self.counts.held.swap(0, SeqCst) * NOTE_BYTES
    }

    /// Counts what a record says that is about no page. No latch makes a checkpoint wait until it is counted, so none
    /// begins between the record and the count: it could note the count without it.
    fn count_logged(
        &self,
        unit: AllocUnitId,
        delta: i64,
        append: impl FnOnce() -> SqlResult<Lsn>,
    ) -> SqlResult<()> {
        if self.store.recovering.load(SeqCst) {
            let lsn = append()?;
            self.count(&self.storage(unit), lsn, delta);
            return Ok(());
        }
        let storage = self.storage(unit);
        let mark = self.counts.mark.read();
        let lsn = append()?;
        debug_assert!(
            lsn > *mark,
            "row_counts/5: a checkpoint has begun between a record at {lsn} and its count"
        );
        storage.rows.since.fetch_add(delta, SeqCst);
        drop(mark);
        self.hold_note(&storage.rows);
        Ok(())
    }

    /// Begins a checkpoint with `begin`: from now on its LSN is the mark.
    pub(crate) fn mark_counts(&self, begin: impl FnOnce() -> SqlResult<Lsn>) -> SqlResult<Lsn> {
        let mut mark = self.counts.mark.write();
        let begun = begin()?;
        debug_assert!(
            begun > *mark,
            "row_counts/1: a checkpoint begins at {begun}, before the last one"
        );
        *mark = begun;
        for storage in self.storages.read().values() {
            let since = storage.rows.since.swap(0, SeqCst);
            storage.rows.before.fetch_add(since, SeqCst);
        }
        Ok(*mark)
    }

    /// Notes the counts at the mark. Every page that was dirty at the mark has been written down.
    pub(crate) fn note_counts(&self) -> SqlResult<()> {
        if self.store.temporary {
            return Ok(());
        }
        // Before the counts are looked at: one that changes meanwhile is noted by this checkpoint or holds for the next.
        let held = self.take_held();
        for (unit, rows) in self.changed_counts(|c| c.before.load(SeqCst)) {
            self.append_note(unit, rows, Note::AtMark)?;
        }
        if let Some(log) = &self.log {
            log.release_reserve(held);
        }
        Ok(())
    }

    fn changed_counts(&self, rows: impl Fn(&RowCount) -> i64) -> Vec<(AllocUnitId, i64)> {
        let storages = self.storages.read();
        let known = storages.values().filter(|s| s.rows.known.load(SeqCst));
        let mut changed: Vec<_> = known
            .map(|s| (s.au, rows(&s.rows), s.rows.stored.load(SeqCst)))
            .filter(|(_, now, stored)| now != stored)
            .map(|(unit, now, _)| (unit, now))
            .collect();
        changed.sort_unstable();
        changed
    }

    fn append_note(&self, unit: AllocUnitId, rows: i64, note: Note) -> SqlResult<Lsn> {
        let mut bytes = record(unit, rows, note).flags(FLAG_NORMAL).finish(&[]);
        bytes[14..16].fill(0);
        self.access.append(&bytes, 0)
    }

    /// The rowset is empty from here on, for `tx`.
    pub(crate) fn reset_count(&self, tx: &Transaction, unit: AllocUnitId) -> SqlResult<()> {
        let storage = self.storage(unit);
        let Some(rows) = storage.rows.get() else {
            // Never counted: it is a new one, or its old rows are nobody's to know.
            storage.rows.set(0);
            return Ok(());
        };
        if rows != 0 {
            self.count_logged(unit, -rows, || {
                self.note(tx, record(unit, -rows, Note::Delta))
            })?;
        }
        Ok(())
    }

    /// Rows have come that no record tells of.
    pub(crate) fn note_count(
        &self,
        tx: &Transaction,
        unit: AllocUnitId,
        rows: i64,
    ) -> SqlResult<()> {
        if rows != 0 {
            self.count_logged(unit, rows, || {
                self.note(tx, record(unit, rows, Note::Delta))
            })?;
        }
        Ok(())
    }

    /// Undo of [`Database::reset_count`] and [`Database::note_count`].
    pub(crate) fn undo_count(
        &self,
        tx: &Transaction,
        view: &RecordView<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        if let Some((unit, value, Note::Delta)) = parse(view) {
            let mut bytes = record(unit, -value, Note::Delta)
                .flags(FLAG_COMPENSATION)
                .finish(&[]);
            self.count_logged(unit, -value, || {
                self.transactions
                    .append_compensation(tx, &mut bytes, next, 64)
            })?;
        }
        Ok(())
    }

    /// Keeps what recovery has read, until undo has added to it and the units are known.
    pub(crate) fn keep_recovered_counts(&self, found: Recovered) {
        *self.counts.recovered.lock() = found;
    }

    /// After recovery: every count from its note or from `rcrows`, and from the log. The roots are loaded.
    pub(crate) fn load_counts(&self) -> SqlResult<()> {
        let found = std::mem::take(&mut *self.counts.recovered.lock());
        let stored = self.stored_counts()?;
        for (unit, owner) in self.unit_owners()? {
            if let Some(place) = stored.get(&owner) {
                let count = &self.storage(unit).rows;
                count.set(found.count(unit, place.rows));
                count.stored.store(place.rows, SeqCst);
            }
        }
        Ok(())
    }

    /// Before the last checkpoint of a close: nobody changes anything any more. False when a transaction is still open:
    /// its undo, after the next opening, must find rows of base tables as it knows them. False as well when the pages of
    /// some unit cannot be counted.
    pub(crate) fn store_counts(&self) -> SqlResult<bool> {
        if !self.transactions.table.is_empty() || !self.in_doubt.lock().is_empty() {
            return Ok(false);
        }
        let changed = self.changed_counts(|c| c.before.load(SeqCst) + c.since.load(SeqCst));
        let owners: BTreeMap<_, _> = self.unit_owners()?.into_iter().collect();
        let places = self.stored_counts()?;
        let heaps = places.iter().map(|(rowset, p)| (*rowset, p.heap)).collect();
        let all_counted = self.store_page_counts(&heaps)?;
        for (unit, rows) in &changed {
            self.append_note(*unit, *rows, Note::Now)?;
        }
        for (unit, rows) in changed {
            let Some(place) = owners.get(&unit).and_then(|o| places.get(o)) else {
                continue;
            };
            let mut page = self.write_page(place.page)?;
            let op = PageOp::Modify {
                slot: place.slot,
                offset: ROWS_AT as u16,
                before: &place.rows.to_le_bytes(),
                after: &rows.to_le_bytes(),
                key: &[],
                fields: &[],
            };
            self.change_alone(place.page, &mut page, &op, Lcx::CLUSTERED, false)?;
            drop(page);
            self.storage(unit).rows.stored.store(rows, SeqCst);
        }
        debug_assert!(
            self.counts_are_stored(&owners, &places),
            "row_counts/4: a database is closed with counts that its rows do not have"
        );
        Ok(all_counted)
    }

    /// Whether every count that is known is in its row: only debug builds ask.
    fn counts_are_stored(
        &self,
        owners: &BTreeMap<AllocUnitId, i64>,
        places: &BTreeMap<i64, StoredCount>,
    ) -> bool {
        let now = self.changed_counts(|c| c.before.load(SeqCst) + c.since.load(SeqCst));
        now.iter().all(|(unit, _)| {
            owners
                .get(unit)
                .is_none_or(|owner| !places.contains_key(owner))
        })
    }

    /// The in-row units with their rowsets.
    fn unit_owners(&self) -> SqlResult<Vec<(AllocUnitId, i64)>> {
        let mut out = Vec::new();
        self.for_leaf_rows(SYSALLOCUNITS, |_, _, row| {
            if row.get(UNIT_TYPE_AT) == Some(&IN_ROW_DATA)
                && let (Some(unit), Some(owner)) =
                    (i64_at(row, UNIT_AT), i64_at(row, UNIT_OWNER_AT))
            {
                out.push((AllocUnitId(unit), owner));
            }
        })?;
        Ok(out)
    }

    /// Where `rcrows` of each rowset is, and what it says. Nothing in a database that has no sysrowsets.
    fn stored_counts(&self) -> SqlResult<BTreeMap<i64, StoredCount>> {
        let mut out = BTreeMap::new();
        self.for_leaf_rows(SYSROWSETS, |page, slot, row| {
            if let (Some(rowset), Some(rows)) = (i64_at(row, ROWSET_AT), i64_at(row, ROWS_AT)) {
                let heap = row.get(INDEX_ID_AT..INDEX_ID_AT + 4) == Some(&[0; 4]);
                let place = StoredCount {
                    page,
                    slot,
                    rows,
                    heap,
                };
                out.insert(rowset, place);
            }
        })?;
        Ok(out)
    }

    pub(crate) fn for_leaf_rows(
        &self,
        unit: AllocUnitId,
        mut each: impl FnMut(PageId, u16, &[u8]),
    ) -> SqlResult<()> {
        let may_come_back = self.ghosts_may_come_back();
        let mut at = self.storage(unit).roots.lock().first;
        while !at.is_null() {
            let page = self.read_page(at)?;
            let p = page.page();
            for slot in 0..p.slot_count() {
                let row = p.row(slot)?;
                if !row.is_ghost() || may_come_back {
                    each(at, slot, row.bytes());
                }
            }
            at = p.next_page();
        }
        Ok(())
    }
}
