//! What a reader that does not lock looks at: a moment in the history of the server, and what its replies owe for it.
//!
//! The moment of a SNAPSHOT transaction is its first access to data; that of a statement under
//! READ_COMMITTED_SNAPSHOT is the statement's first look at a table of such a database.
//!
//! Invariants
//! 1. Every transaction with a record up to `quiet` in the home database has ended, and been published, before the
//!    snapshot was taken: a page that is not younger holds exactly what the snapshot sees. That is why `quiet` is read
//!    first and the snapshot taken after it, and why a transaction leaves its table only when it is published.
//!    [assert: view/1; test: a_view_owes_what_was_committed_when_it_was_taken_and_knows_quiet_pages]
//! 2. What is owed for a database is at least its last full-durability commit that the snapshot sees: commits are
//!    noted before they are published, and the note is read after the snapshot was taken. [assert: view/2]

use std::sync::Arc;

use duramen_base::{DbId, Lsn};
use duramen_os::sync::Mutex;

use crate::txlog::TransactionLog;
use crate::versions::{Snapshot, VersionStore};

/// See the module. Clones are the same view.
#[derive(Clone, Debug)]
pub struct ReadView(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    snapshot: Snapshot,
    home: DbId,
    quiet: Lsn,
    owed: Mutex<Vec<(DbId, Lsn)>>,
}

impl ReadView {
    /// A view of now. `home` is the database about to be read; others may be read through the view too.
    pub fn now(store: &VersionStore, home: &TransactionLog) -> ReadView {
        // In this order: see invariant 1. What begins between the two reads logs behind `last`.
        let last = home.log.last_lsn();
        let quiet = home
            .table
            .oldest_lsn()
            .map_or(last, |oldest| oldest.min(last));
        ReadView(Arc::new(Inner {
            snapshot: store.snapshot(),
            home: home.db,
            quiet,
            owed: Mutex::default(),
        }))
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    /// Pages of this database that are not younger are as the view sees them.
    pub fn quiet(&self, db: DbId) -> Lsn {
        if db == self.0.home {
            self.0.quiet
        } else {
            Lsn::NULL
        }
    }

    /// What a reply owes that tells of rows read in the database: fixed at the first call.
    pub fn owes(&self, log: &TransactionLog) -> Lsn {
        let mut owed = self.0.owed.lock();
        if let Some((_, lsn)) = owed.iter().find(|(db, _)| *db == log.db) {
            return *lsn;
        }
        let lsn = log.commits.last_full();
        owed.push((log.db, lsn));
        lsn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockManager;
    use crate::testing::MemoryLog;
    use crate::transaction::{IsolationLevel, Transaction, TxnKind};
    use crate::txlog::commit;
    use duramen_base::{SessionId, XdesId};
    use duramen_wal::record::{Lcx, Lop, RecordBuilder};

    fn row() -> Vec<u8> {
        RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP).finish(&[b"row"])
    }

    #[test]
    fn a_view_owes_what_was_committed_when_it_was_taken_and_knows_quiet_pages() {
        let log = TransactionLog::new(DbId(5), Arc::new(MemoryLog::default()), XdesId(1));
        let locks = LockManager::new();
        let store = VersionStore::new();
        let begin = |spid| {
            let owner = locks.owner(SessionId(spid));
            Transaction::new(&owner, TxnKind::Explicit, "t", IsolationLevel::Snapshot)
        };
        let first = begin(51);
        let early = log.append(&first, &mut row(), 10).expect("append");
        commit(&first, None).expect("commit");
        let open = begin(52);
        let dirty = log.append(&open, &mut row(), 10).expect("append");
        let view = ReadView::now(&store, &log);
        assert!(view.quiet(DbId(5)) >= early && view.quiet(DbId(5)) < dirty);
        assert_eq!(view.quiet(DbId(6)), Lsn::NULL);
        let owed = view.owes(&log);
        assert!(owed > early && owed < dirty);
        commit(&open, None).expect("commit");
        assert!(log.commits.last_full() > owed);
        assert_eq!(view.owes(&log), owed);
    }
}
