//! Transactions: locks, deadlocks, commit and rollback in the log, what a commit owes to whom, snapshots.
//!
//! | module | owns |
//! |---|---|
//! | [`lock`] | the lock manager |
//! | [`transaction`] | a transaction's state, its parts in databases, savepoints |
//! | [`txlog`] | its records: lazy BEGIN, chain of previous LSNs, COMMIT, ABORT, two phases |
//! | [`table`] | the active transactions of a database, for checkpoints and truncation |
//! | [`commits`], [`durability`], [`gate`] | when the world may hear of a commit |
//! | [`versions`], [`view`], [`versioning`] | row versions for readers that do not lock |
//! | [`definitions`] | definitions that a transaction has changed, until it ends |
//! | [`errors`] | what a client sees when a lock or a snapshot is refused |
//! | [`log`], [`appender`] | what transactions need of a log, and whose a record is |
//! | [`hash`] | maps without a random seed |

#![forbid(unsafe_code)]

mod appender;
pub mod commits;
pub mod definitions;
pub mod durability;
pub mod errors;
pub mod gate;
mod hash;
pub mod lock;
pub mod log;
#[cfg(all(test, feature = "planted"))]
mod planted_tests;
pub mod table;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod txlog;
pub mod versioning;
pub mod versions;
pub mod view;

pub use appender::appending;
pub use commits::CommitTracker;
pub use durability::{CommitWait, DelayedDurability, Durability, decide};
pub use hash::FixedHashMap;
pub use lock::{
    Acquired, Entity, LockDuration, LockError, LockInfo, LockManager, LockMode, LockOutcome,
    LockOwner, Resource,
};
pub use log::RecordLog;
pub use table::{Standing, TxnTable};
pub use transaction::{DbPart, IsolationLevel, SavePoint, Transaction, TxnKind, XactState};
pub use txlog::{ABORT_RESERVE, CommitLsns, TransactionLog};
pub use versioning::{SnapshotState, Versioning};
pub use versions::{KeptValue, RowImage, Snapshot, VersionStore, VersionWriter, Visible};
pub use view::ReadView;
