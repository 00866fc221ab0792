//! The active transactions of one database: what a checkpoint writes down and what holds truncation back.
//!
//! An entry is made *before* its BEGIN_XACT is appended, with the log's end as a floor of the begin LSN, so a
//! truncation or a checkpoint never misses a transaction whose first record is on its way.
//!
//! The last LSNs of [`TxnTable::active`] may lag behind appends that run at the same moment, and a transaction that is
//! just ending may still be listed. Recovery therefore starts its analysis at the oldest begin LSN of the list, not at
//! the checkpoint: reading from there it sees every record of every listed transaction, the end included.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use duramen_base::{Lsn, XdesId};
use duramen_os::sync::{Mutex, Rank};
use duramen_wal::record::ActiveXact;

/// One active transaction of a database.
///
/// Its one writer is whoever holds the transaction's state; it stores, and whoever lists the table reads again when it was
/// in the middle of that (a sequence lock: every record of every transaction comes by here).
#[derive(Debug)]
pub struct ActiveTxn {
    pub xdes: XdesId,
    /// Odd while the LSNs change.
    sequence: AtomicU32,
    begin: [AtomicU64; 2],
    last: [AtomicU64; 2],
    prepared: AtomicBool,
}

/// The two halves of an LSN: the VLF and the block, the record.
fn halves(lsn: Lsn) -> [u64; 2] {
    [
        u64::from(lsn.vlf) << 32 | u64::from(lsn.block),
        u64::from(lsn.slot),
    ]
}

fn whole([place, slot]: [u64; 2]) -> Lsn {
    Lsn::new((place >> 32) as u32, place as u32, slot as u16)
}

impl ActiveTxn {
    fn new(xdes: XdesId, begin: Lsn, last: Lsn) -> ActiveTxn {
        ActiveTxn {
            xdes,
            sequence: AtomicU32::new(0),
            begin: halves(begin).map(AtomicU64::new),
            last: halves(last).map(AtomicU64::new),
            prepared: AtomicBool::new(false),
        }
    }

    pub(crate) fn began(&self, lsn: Lsn) {
        self.write(&[&self.begin, &self.last], lsn);
    }

    pub(crate) fn logged(&self, lsn: Lsn) {
        debug_assert!(
            whole(self.last.each_ref().map(|a| a.load(Ordering::Relaxed))) < lsn,
            "a transaction's records ascend"
        );
        self.write(&[&self.last], lsn);
    }

    pub(crate) fn prepared(&self) {
        let before = self.prepared.swap(true, Ordering::AcqRel);
        debug_assert!(!before, "view/1: a transaction is prepared twice");
    }

    #[inline]
    fn write(&self, fields: &[&[AtomicU64; 2]], lsn: Lsn) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        debug_assert!(
            sequence.is_multiple_of(2),
            "a transaction's line has one writer"
        );
        self.sequence
            .store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        for field in fields {
            for (half, value) in field.iter().zip(halves(lsn)) {
                half.store(value, Ordering::Relaxed);
            }
        }
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    fn info(&self) -> ActiveInfo {
        let read = |field: &[AtomicU64; 2]| {
            whole([
                field[0].load(Ordering::Relaxed),
                field[1].load(Ordering::Relaxed),
            ])
        };
        loop {
            let sequence = self.sequence.load(Ordering::Acquire);
            let (begin_lsn, last_lsn) = (read(&self.begin), read(&self.last));
            fence(Ordering::Acquire);
            if sequence.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == sequence {
                debug_assert!(begin_lsn <= last_lsn, "a transaction ends before it begins");
                return ActiveInfo {
                    xdes: self.xdes,
                    begin_lsn,
                    last_lsn,
                    prepared: self.prepared.load(Ordering::Acquire),
                };
            }
            duramen_os::thread::yield_now();
        }
    }
}

/// A line of [`TxnTable::active`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveInfo {
    pub xdes: XdesId,
    /// The BEGIN_XACT, or a record before it.
    pub begin_lsn: Lsn,
    pub last_lsn: Lsn,
    pub prepared: bool,
}

/// How a transaction stands, and those that are older.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Active,
    /// An older one is active.
    Ended,
    /// No older one is, either.
    Gone,
}

/// The transactions of one database that have logged something and not ended.
#[derive(Debug)]
pub struct TxnTable {
    next: AtomicU64,
    active: Mutex<BTreeMap<XdesId, Arc<ActiveTxn>>>,
}

impl TxnTable {
    /// `next` is the first id to give out: above every id in the log.
    pub fn new(next: XdesId) -> TxnTable {
        TxnTable {
            next: AtomicU64::new(next.0.max(1)),
            active: Mutex::ranked(Rank::Active, BTreeMap::new()),
        }
    }

    /// The id that the next transaction gets.
    pub fn next_xdes(&self) -> XdesId {
        XdesId(self.next.load(Ordering::Relaxed))
    }

    /// Enters a transaction whose records will all come after `floor`.
    pub fn begin(&self, floor: Lsn) -> Arc<ActiveTxn> {
        let xdes = XdesId(self.next.fetch_add(1, Ordering::Relaxed));
        self.enter(xdes, floor, floor)
    }

    /// Enters a transaction that recovery has found.
    pub fn adopt(&self, xdes: XdesId, begin: Lsn, last: Lsn) -> Arc<ActiveTxn> {
        self.next.fetch_max(xdes.0 + 1, Ordering::Relaxed);
        self.enter(xdes, begin, last)
    }

    fn enter(&self, xdes: XdesId, begin: Lsn, last: Lsn) -> Arc<ActiveTxn> {
        let entry = Arc::new(ActiveTxn::new(xdes, begin, last));
        debug_assert!(
            xdes.0 < self.next.load(Ordering::Relaxed),
            "an id is given again"
        );
        let other = self.active.lock().insert(xdes, Arc::clone(&entry));
        debug_assert!(other.is_none(), "two transactions with one id");
        entry
    }

    pub fn end(&self, xdes: XdesId) {
        let entry = self.active.lock().remove(&xdes);
        debug_assert!(
            entry.is_some(),
            "view/1: a transaction leaves its table twice"
        );
    }

    /// Whether it is in the table.
    pub fn is_active(&self, xdes: XdesId) -> bool {
        self.active.lock().contains_key(&xdes)
    }

    pub fn active(&self) -> Vec<ActiveInfo> {
        let active = self.active.lock();
        active.values().map(|entry| entry.info()).collect()
    }

    /// How a transaction stands that is or was in the table.
    pub fn standing(&self, xdes: XdesId) -> Standing {
        let active = self.active.lock();
        match active.range(..=xdes).next_back() {
            Some((youngest, _)) if *youngest == xdes => Standing::Active,
            Some(_) => Standing::Ended,
            None => Standing::Gone,
        }
    }

    /// The list in the form of LOP_XACT_CKPT.
    pub fn checkpoint_list(&self) -> Vec<ActiveXact> {
        self.active()
            .into_iter()
            .map(|t| ActiveXact {
                xdes: t.xdes,
                begin_lsn: t.begin_lsn,
                last_lsn: t.last_lsn,
            })
            .collect()
    }

    /// The oldest LSN that undo may need; `None` without active transactions.
    pub fn oldest_lsn(&self) -> Option<Lsn> {
        self.active().iter().map(|t| t.begin_lsn).min()
    }

    pub fn is_empty(&self) -> bool {
        self.active.lock().is_empty()
    }

    pub fn len(&self) -> usize {
        self.active.lock().len()
    }
}
