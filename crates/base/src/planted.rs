//! Bugs planted on purpose, to show that the simulator would find them.
//!
//! Each is a question at the place that it breaks. Without the feature `planted`, which only the simulator's own tests
//! turn on, the answer is a constant and the compiler takes question and bug away.

/// A way to break the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Bug {
    /// `wal`: records count as durable when their write begins.
    AckBeforeDurable = 1,
    /// `wal`: recovery starts no new epoch, clears nothing that was in flight, and nobody checks the chain of blocks.
    NoEpochBump,
    /// `wal`: after a failed write a sync that succeeds is taken for success.
    RetriedSync,
    /// `txn`: a reply depends on what its session has committed, not on what it has read.
    ReaderNotGated,
    /// `txn`: a packet that depends on two databases leaves when the first is durable.
    GateSeesOneDatabase,
    /// `txn`: COMMIT over two databases is one record in each, without prepare and decision.
    DecisionSkipped,
    /// `storage`: a page is repaired from the double-write file only where its checksum is wrong.
    ChecksumTrusted,
    /// `storage`: a change of part of a row does not move the page's LSN.
    ForgottenPageLsn,
    /// `storage`: pages are written down without waiting for their log.
    PageBeforeLog,
    /// `storage`: locks are released, and a commit so made visible, before its record is appended.
    LocksBeforeCommit,
    /// `storage`: undo changes pages and writes no compensation records.
    NoCompensation,
    /// `storage`: a checkpoint frees log that active transactions need for undo.
    TruncatedTooFar,
    /// `storage`: a checkpoint is noted although its pages have not been written.
    CheckpointWithoutPages,
    /// `storage`: a checkpoint does not write down who is active.
    CheckpointForgetsActive,
    /// `storage`: recovery undoes prepared transactions without asking who decided.
    PreparedIsAborted,
    /// `storage`: a transaction that cannot be rolled back (its log has failed) gives its locks back with its session.
    LostKeepsNoLocks,
    /// `txn`: COMMIT over two databases is decided before what was prepared is on disk.
    DecisionBeforePrepared,
}

impl Bug {
    pub const ALL: [Bug; 17] = [
        Bug::AckBeforeDurable,
        Bug::NoEpochBump,
        Bug::RetriedSync,
        Bug::ReaderNotGated,
        Bug::GateSeesOneDatabase,
        Bug::DecisionSkipped,
        Bug::ChecksumTrusted,
        Bug::ForgottenPageLsn,
        Bug::PageBeforeLog,
        Bug::LocksBeforeCommit,
        Bug::NoCompensation,
        Bug::TruncatedTooFar,
        Bug::CheckpointWithoutPages,
        Bug::CheckpointForgetsActive,
        Bug::PreparedIsAborted,
        Bug::LostKeepsNoLocks,
        Bug::DecisionBeforePrepared,
    ];
}

#[cfg(feature = "planted")]
mod live {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// Plants a bug in this process, in place of the one before; `None` heals.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |b| b as u8), Ordering::Relaxed);
    }

    /// Whether this bug is planted.
    pub fn on(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted")]
pub use live::{on, plant};

/// Whether this bug is planted: never, in this build.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn on(_: Bug) -> bool {
    false
}
