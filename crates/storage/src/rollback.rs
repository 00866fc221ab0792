//! Rolling back, and what becomes of a database in which that fails.
//!
//! What a transaction has changed is on the pages until it is undone. Where undo fails nobody may see them any more, and only
//! a recovery can make them right: it begins from the files and the log as they are, and forgets whatever memory holds. So
//! the database is *shut down*: everything appended so far is made durable, the log takes nothing more (9001 for whoever
//! comes), and the room above is told (`Engine::set_on_shut_down`): it ends the sessions, closes the database and opens it
//! again. Until it is closed the locks of the transactions that were lost in it stay, and who waits for them gets 9001.
//! Other databases of the same transactions are rolled back as ever.
//!
//! A log that cannot be written is another matter: no restart within this process may look at what the disk has made of it.
//! Locks then stay until the process ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{Lsn, PageId, SqlError, SqlResult, messages};
use duramen_txn::{SavePoint, Transaction, txlog};

use crate::engine::{Database, Engine, ShutDownHook};

impl Engine {
    /// Rolls back: everything, ending the transaction and releasing its locks, or what came after `to`. 3314 where undo
    /// fails: the database is shut down, and the transaction is over everywhere. Where its log cannot be written any more
    /// (9001) the locks stay until the process ends, in all databases it wrote, and who waits for them gets the same error.
    pub fn rollback(&self, tx: &Transaction, to: Option<&SavePoint>) -> SqlResult<()> {
        self.rollback_then(tx, to, || ())
    }

    /// `rollback`, with something to be done when the changes are undone and before anybody gets a lock.
    pub fn rollback_then(
        &self,
        tx: &Transaction,
        to: Option<&SavePoint>,
        undone: impl FnOnce(),
    ) -> SqlResult<()> {
        let mut failed = Vec::new();
        for part in tx.parts() {
            let Some(db) = self.database(part.db) else {
                continue;
            };
            let keep = to.map_or(Lsn::NULL, |p| p.lsn(part.db));
            if let Err(e) = db.undo(tx, keep) {
                failed.push((db, e));
            }
        }
        if let Some((_, e)) = failed.iter().find(|(db, _)| db.log_has_failed()) {
            if to.is_none() {
                forget_definitions(tx, None);
            }
            if to.is_none() && !planted::on(Bug::LostKeepsNoLocks) {
                self.locks.keep_for_ever(&tx.owner, e);
            }
            return Err(e.clone());
        }
        if let Some((_, e)) = failed.first() {
            let e = e.clone();
            let result = self.lose(tx, failed, to.is_some());
            forget_definitions(tx, None);
            undone();
            self.locks.release_all(&tx.owner);
            return Err(result.err().unwrap_or(e));
        }
        match to {
            Some(point) => {
                tx.rolled_back_to(point);
                forget_definitions(tx, to);
                undone();
            }
            None => {
                txlog::abort(tx);
                forget_definitions(tx, None);
                undone();
                self.locks.release_all(&tx.owner);
            }
        }
        Ok(())
    }

    /// The transaction could not be undone in these databases: they are shut down, and it ends in the others. `partly`: those
    /// are undone to a point only, so far.
    fn lose(
        &self,
        tx: &Transaction,
        failed: Vec<(Arc<Database>, SqlError)>,
        partly: bool,
    ) -> SqlResult<()> {
        let Some((first, _)) = failed.first() else {
            return Ok(());
        };
        let why = SqlError::new(&messages::LOG_UNAVAILABLE, &[&first.name]);
        let ids = failed.iter().map(|(db, _)| db.id).collect();
        self.locks.keep_of(&tx.owner, &why, ids);
        for (db, _) in &failed {
            txlog::lose(tx, db.id);
        }
        let mut result = Ok(());
        if partly {
            for part in tx.parts() {
                let Some(db) = self.database(part.db) else {
                    continue;
                };
                if let Err(e) = db.undo(tx, Lsn::NULL) {
                    // A second failure after the first: only a restart knows.
                    self.locks.keep_for_ever(&tx.owner, &e);
                    result = result.and(Err(e));
                }
            }
        }
        txlog::abort(tx);
        for (db, e) in failed {
            db.shut_down(&e);
        }
        result
    }

    /// Who takes databases out of use that were shut down; the first call counts.
    pub fn set_on_shut_down(&self, hook: ShutDownHook) {
        let _ = self.on_shut_down.set(hook);
    }
}

impl Database {
    /// Whether the log cannot be written any more.
    fn log_has_failed(&self) -> bool {
        self.log.as_ref().is_none_or(|l| l.poisoned())
    }

    /// Whether nothing of it is used any more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Whether a rollback has failed here.
    pub fn is_shut_down(&self) -> bool {
        self.shut.load(Ordering::SeqCst)
    }

    /// Nothing is done here any more, because of this error; said once.
    fn shut_down(&self, why: &SqlError) {
        if self.shut.swap(true, Ordering::SeqCst) {
            return;
        }
        // What was appended may have been promised. A log that cannot be written says so to who waits.
        if let Some(log) = &self.log {
            let _ = log.shutdown();
        }
        if let Some(hook) = self.engine.on_shut_down.get() {
            hook(self.id, why);
        }
    }

    /// Undoes a system transaction that could not be made, and ends it. Half of it cannot stay: the database is shut down
    /// where that fails.
    pub(crate) fn undo_inner(&self, inner: &Transaction) -> SqlResult<()> {
        if let Err(e) = self.undo(inner, Lsn::NULL) {
            if !self.log_has_failed() && !self.store.recovering.load(Ordering::SeqCst) {
                self.shut_down(&e);
            }
            return Err(e);
        }
        txlog::abort(inner);
        Ok(())
    }

    /// 3314 for what went wrong at the record `lsn`, which the server log tells; an error of the log stays what it is.
    pub(crate) fn undo_failed(&self, lsn: Lsn, page: PageId, e: SqlError) -> SqlError {
        let passes = [
            messages::LOG_UNAVAILABLE.number,
            messages::UNDO_FAILED.number,
        ];
        // An interrupted recovery, as at the end of the server, has no number.
        if passes.contains(&e.number) || e.number == 0 {
            return e;
        }
        self.say_error(&e);
        let args: [&dyn std::fmt::Display; 3] = [&self.name, &page, &lsn.to_decimal_text()];
        SqlError::new(&messages::UNDO_FAILED, &args)
    }

    fn say_error(&self, e: &SqlError) {
        let head = format!(
            "Error: {}, Severity: {}, State: {}.",
            e.number, e.severity, e.state
        );
        self.engine.notice(&head);
        self.engine.notice(&e.message);
    }
}

/// The catalogs forget what the transaction has defined, after `to` when that is given.
fn forget_definitions(tx: &Transaction, to: Option<&SavePoint>) {
    if !tx.has_defined() {
        return;
    }
    let definitions = match to {
        Some(_) => tx.definitions(),
        None => tx.take_definitions(),
    };
    definitions.iter().for_each(|d| d.undone(&tx.owner, to));
}
