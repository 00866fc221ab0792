//! What is written beside a user's transaction and outlives its rollback: blocks of identity values and row versions.
//!
//! Such a number is given out under a mutex, and it is on its way to the log before anybody has it. Whoever waits for a
//! lock may wait for a transaction that needs the same mutex next, and no search for deadlocks sees a mutex. So nobody waits
//! for a lock with one:
//!
//! 1. The row is written in a transaction of its own that waits for no lock.
//! 2. Where a lock is in the way, the mutex is given back, and the row locked for the user's transaction: it may have the
//!    lock already (it has made the table), and its waits are those that the search for deadlocks knows.
//! 3. Then all begins again under the mutex, and the row is written under the user's locks.
//!
//! Nor does anybody make room in the log, which can be a checkpoint, with one: that comes before each attempt.
//!
//! The locks of step 1 end with the write; those of step 2 with the user's transaction.

use duramen_base::{SqlResult, messages};
use duramen_txn::{IsolationLevel, Transaction};
use duramen_types::Value;

use crate::catalog::{CatalogDb, system_transaction};
use crate::rows::Base;

/// How a write beside `tx` goes on.
pub(crate) struct SystemWrite<'a> {
    catalog: &'a CatalogDb,
    tx: &'a Transaction,
    name: &'static str,
    /// `tx` has locked the row.
    locked: bool,
}

impl<'a> SystemWrite<'a> {
    pub fn new(catalog: &'a CatalogDb, tx: &'a Transaction, name: &'static str) -> SystemWrite<'a> {
        SystemWrite {
            catalog,
            tx,
            name,
            locked: false,
        }
    }

    /// Writes and commits; false when somebody's lock is in the way, and then nothing was written: give the mutex back, call
    /// [`SystemWrite::lock`] and begin again.
    pub fn write(&self, work: &dyn Fn(&Base<'_>) -> SqlResult<()>) -> SqlResult<bool> {
        let db = self.catalog.database();
        if self.locked {
            db.system(self.tx, self.name, |inner| work(&Base { db, tx: inner }))?;
            return Ok(true);
        }
        let own = system_transaction(db, self.name);
        own.set_lock_timeout(0);
        match work(&Base { db, tx: &own }) {
            Ok(()) => db.engine.commit(&own, None).map(|_| true),
            Err(e) => {
                db.engine.rollback(&own, None)?;
                match e.number == messages::LOCK_TIMEOUT.number {
                    true => Ok(false),
                    false => Err(e),
                }
            }
        }
    }

    /// Waits until the user's transaction has the row with this key of a base table, or where there is none the right to
    /// insert it.
    pub fn lock(&mut self, table: i32, key: &[Value]) -> SqlResult<()> {
        let inner = self.tx.system(self.name);
        // It wants this row, and no range of keys.
        inner.set_isolation(IsolationLevel::ReadCommitted);
        let db = self.catalog.database();
        Base { db, tx: &inner }.lock(table, key)?;
        self.locked = true;
        Ok(())
    }
}
