//! Whose log record it is, for the event `transaction_log`.
//!
//! The log knows a record's transaction by its number in the log; who appends knows it by the id that views show. The id is
//! left in a cell of the thread while the record is appended, and only while somebody listens.

use std::cell::Cell;

use duramen_observe::events::{self, EventId};

thread_local! {
    static ID: Cell<u64> = const { Cell::new(0) };
}

/// Does `append` for the transaction of that id.
#[inline]
pub(crate) fn on_behalf_of<T>(id: u64, append: impl FnOnce() -> T) -> T {
    if !events::is_wanted(EventId::TransactionLog) {
        return append();
    }
    let before = ID.replace(id);
    let result = append();
    ID.set(before);
    result
}

/// The id of the transaction that the calling thread appends a record of; 0: of none.
pub fn appending() -> u64 {
    ID.get()
}
