//! Counts of rows as the log tells them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

use duramen_base::{AllocUnitId, Lsn};
use duramen_format::RowRef;
use duramen_format::page::record_kind;
use duramen_os::sync::{Mutex, Rank, RwLock};
use duramen_wal::record::{Lcx, Lop, RecordBuilder, RecordView};

use crate::change::PageOp;

/// A LOP_COUNT_DELTA, and the record that writes the count to its row.
pub(super) const NOTE_BYTES: u64 = 224;

/// What a LOP_COUNT_DELTA says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// The count at the begin of the checkpoint that says so.
    AtMark = 0,
    /// The count now.
    Now = 1,
    /// The count has changed by this.
    Delta = 2,
}

/// One rowset's count.
#[derive(Debug, Default)]
pub(crate) struct RowCount {
    /// Changes with records before the mark, on top of what was there.
    pub(super) before: AtomicI64,
    pub(super) since: AtomicI64,
    /// What `rcrows` says.
    pub(super) stored: AtomicI64,
    /// Whether anybody knows what was there in the beginning.
    pub(super) known: AtomicBool,
    /// Room is set aside for the note of it.
    pub(super) held: AtomicBool,
}

impl RowCount {
    pub fn get(&self) -> Option<i64> {
        let rows = self.before.load(SeqCst) + self.since.load(SeqCst);
        self.known.load(SeqCst).then_some(rows)
    }

    pub fn set(&self, rows: i64) {
        self.since.store(0, SeqCst);
        self.before.store(rows, SeqCst);
        self.known.store(true, SeqCst);
    }
}

/// What a database remembers for its counts.
#[derive(Debug)]
pub(crate) struct CountState {
    /// The begin of the last checkpoint.
    pub(super) mark: RwLock<Lsn>,
    /// Notes for which room is set aside.
    pub(super) held: AtomicU64,
    /// While recovery runs: what it has found and what undo changes.
    pub(super) recovered: Mutex<Recovered>,
}

impl Default for CountState {
    fn default() -> CountState {
        CountState {
            mark: RwLock::ranked(Rank::RowCounts, Lsn::NULL),
            held: AtomicU64::default(),
            recovered: Mutex::default(),
        }
    }
}

/// Counts as recovery reads the log.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(super) deltas: BTreeMap<AllocUnitId, i64>,
    /// `deltas` at the last LOP_BEGIN_CKPT.
    pub(super) at_mark: BTreeMap<AllocUnitId, i64>,
    /// A count that was noted, and the delta at that moment.
    pub(super) noted: BTreeMap<AllocUnitId, (i64, i64)>,
}

impl Recovered {
    /// Looks at a record from the mark on. `system`: of a system transaction.
    pub fn see(&mut self, view: &RecordView<'_>, system: bool) {
        match view.op() {
            Lop::BEGIN_CKPT => self.at_mark = self.deltas.clone(),
            Lop::COUNT_DELTA => {
                let Some((unit, value, note)) = parse(view) else {
                    return;
                };
                let now = self.deltas.get(&unit).copied().unwrap_or(0);
                match note {
                    Note::AtMark => {
                        let then = self.at_mark.get(&unit).copied().unwrap_or(0);
                        self.noted.insert(unit, (value, then));
                    }
                    Note::Now => {
                        self.noted.insert(unit, (value, now));
                    }
                    Note::Delta => *self.deltas.entry(unit).or_insert(0) += value,
                }
            }
            _ if system => {}
            _ => {
                if let Ok(Some((_, _, op))) = PageOp::parse(view)
                    && let Some(unit) = view.page().map(|f| f.alloc_unit)
                {
                    let delta = row_delta(&op, view.context());
                    if delta != 0 {
                        *self.deltas.entry(unit).or_insert(0) += delta;
                    }
                }
            }
        }
    }

    pub(super) fn count(&self, unit: AllocUnitId, stored: i64) -> i64 {
        let delta = self.deltas.get(&unit).copied().unwrap_or(0);
        match self.noted.get(&unit) {
            Some((value, then)) => value + delta - then,
            None => stored + delta,
        }
    }
}

/// What an operation does to the count of its unit. Whoever adds an operation on rows says it here.
pub(crate) fn row_delta(op: &PageOp<'_>, context: Lcx) -> i64 {
    // Two records are one row where a heap row has moved: the stub counts.
    let is_row: fn(RowRef<'_>) -> bool = match context {
        Lcx::HEAP => |r| !r.is_empty() && r.kind() != record_kind::FORWARDED,
        Lcx::CLUSTERED | Lcx::INDEX_LEAF => |r| !r.is_empty() && !r.is_ghost(),
        _ => |_| false,
    };
    let is_row = |bytes: &[u8]| is_row(RowRef::new(bytes));
    match op {
        PageOp::Insert { rows, .. } => rows.iter().filter(|r| is_row(r)).count() as i64,
        PageOp::Image { slots, .. } => (slots.len() / 2) as i64,
        PageOp::Remove { count, .. } => -i64::from(*count),
        PageOp::Delete { row, .. } => -i64::from(is_row(row)),
        PageOp::Ghost { .. } => -1,
        PageOp::Unghost { .. } => 1,
        // A ghost's place that is taken again, and given back.
        PageOp::Modify {
            offset: 0,
            before,
            after,
            ..
        } if context != Lcx::HEAP && !before.is_empty() && !after.is_empty() => {
            i64::from(is_row(after)) - i64::from(is_row(before))
        }
        _ => 0,
    }
}

pub(super) fn record(unit: AllocUnitId, value: i64, note: Note) -> RecordBuilder {
    RecordBuilder::new(Lop::COUNT_DELTA, Lcx::NULL)
        .put(24, &unit.0.to_le_bytes())
        .put(32, &value.to_le_bytes())
        .put(40, &[note as u8])
}

pub(super) fn parse(view: &RecordView<'_>) -> Option<(AllocUnitId, i64, Note)> {
    let f = view.fixed();
    let word = |at: usize| Some(i64::from_le_bytes(f.get(at..at + 8)?.try_into().ok()?));
    let note = match f.get(40)? {
        0 => Note::AtMark,
        1 => Note::Now,
        2 => Note::Delta,
        _ => return None,
    };
    Some((AllocUnitId(word(24)?), word(32)?, note))
}
