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
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{Lsn, XdesId};
use duramen_os::sync::Mutex;
use duramen_wal::record::ActiveXact;

#[derive(Clone, Copy, Debug)]
struct Progress {
    begin: Lsn,
    last: Lsn,
    prepared: bool,
}

/// One active transaction of a database.
#[derive(Debug)]
pub struct ActiveTxn {
    pub xdes: XdesId,
    progress: Mutex<Progress>,
}

impl ActiveTxn {
    pub(crate) fn began(&self, lsn: Lsn) {
        let mut p = self.progress.lock();
        p.begin = lsn;
        p.last = lsn;
    }

    pub(crate) fn logged(&self, lsn: Lsn) {
        self.progress.lock().last = lsn;
    }

    pub(crate) fn prepared(&self) {
        self.progress.lock().prepared = true;
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
            active: Mutex::new(BTreeMap::new()),
        }
    }

    /// The id that the next transaction gets.
    pub fn next_xdes(&self) -> XdesId {
        XdesId(self.next.load(Ordering::Relaxed))
    }

    /// Enters a transaction whose records will all come after `floor`.
    pub fn begin(&self, floor: Lsn) -> Arc<ActiveTxn> {
        let xdes = XdesId(self.next.fetch_add(1, Ordering::Relaxed));
        self.adopt(xdes, floor, floor)
    }

    /// Enters a transaction that recovery has found.
    pub fn adopt(&self, xdes: XdesId, begin: Lsn, last: Lsn) -> Arc<ActiveTxn> {
        self.next.fetch_max(xdes.0 + 1, Ordering::Relaxed);
        let entry = Arc::new(ActiveTxn {
            xdes,
            progress: Mutex::new(Progress {
                begin,
                last,
                prepared: false,
            }),
        });
        self.active.lock().insert(xdes, Arc::clone(&entry));
        entry
    }

    pub fn end(&self, xdes: XdesId) {
        self.active.lock().remove(&xdes);
    }

    pub fn active(&self) -> Vec<ActiveInfo> {
        let active = self.active.lock();
        active
            .values()
            .map(|entry| {
                let p = *entry.progress.lock();
                ActiveInfo {
                    xdes: entry.xdes,
                    begin_lsn: p.begin,
                    last_lsn: p.last,
                    prepared: p.prepared,
                }
            })
            .collect()
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
