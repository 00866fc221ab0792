//! Whose log record it is, for the event `transaction_log`.
//!
//! The log knows a record's transaction by its number in the log; who appends knows it by the id that views show. The id is
//! left in a cell of the thread while the record is appended, and only while somebody listens.

use std::cell::Cell;

use duramen_observe::events::{self, EventId};
use duramen_os::time::WallTime;

use crate::transaction::Transaction;

thread_local! {
    static TRANSACTION: Cell<Option<(u64, WallTime)>> = const { Cell::new(None) };
}

/// Does `append` for a transaction.
#[inline]
pub(crate) fn on_behalf_of<T>(tx: &Transaction, append: impl FnOnce() -> T) -> T {
    if !events::is_wanted(EventId::TransactionLog) {
        return append();
    }
    let before = TRANSACTION.replace(Some((tx.id, tx.started)));
    let result = append();
    TRANSACTION.set(before);
    result
}

/// The transaction that the calling thread appends a record of: its id, and when it began.
pub fn appending() -> Option<(u64, WallTime)> {
    TRANSACTION.get()
}
