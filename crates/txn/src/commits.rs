//! The last full-durability commit of a database: what its readers depend on.
//!
//! A commit appends its record, *then* is noted here, *then* makes its changes visible by releasing its locks. So
//! whoever sees a change finds, from then on, an LSN here that is not older than the commit that made it. Commits
//! with delayed durability are not noted: their author gave up the promise, and readers must not pay for it.

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn};
use duramen_os::sync::{Mutex, Rank};

#[derive(Debug)]
pub struct CommitTracker {
    db: DbId,
    last_full: Mutex<Lsn>,
}

impl CommitTracker {
    /// `durable` is the end of the log at start: everything before it is on disk already.
    pub fn new(db: DbId, durable: Lsn) -> CommitTracker {
        CommitTracker {
            db,
            last_full: Mutex::ranked(Rank::Commits, durable),
        }
    }

    pub fn db(&self) -> DbId {
        self.db
    }

    /// A fully durable commit record has been appended at `lsn`.
    pub fn note(&self, lsn: Lsn) {
        debug_assert!(!lsn.is_null(), "view/2: a commit without a record is noted");
        if planted::on(Bug::CommitUnnoted) {
            return;
        }
        let mut last = self.last_full.lock();
        *last = (*last).max(lsn);
    }

    pub fn last_full(&self) -> Lsn {
        *self.last_full.lock()
    }
}
