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
    /// `os`: a file that is open is given to whoever names it in a statement, a backup say.
    OpenFileGiven,
    /// `txn`: packets leave before what they tell is durable.
    GateOpen,
    /// `txn`: a packet that depends on a failed log is kept, for ever.
    HopelessHeld,
    /// `txn`: nobody notes the last commit of a database.
    CommitUnnoted,
    /// `txn`: versions go although snapshots need them.
    VersionsGoEarly,
    /// `txn`: a SNAPSHOT transaction changes what others have changed since (no 3960).
    ConflictUnseen,
    /// `txn`: row locks are given up for a table lock that was not granted.
    EscalationLosesLocks,
    /// `txn`: what is given back stays in the table of locks.
    LocksStay,
    /// `txn`: a lock is granted whatever others hold.
    GrantsMeet,
    /// `txn`: a rollback to a savepoint gives back all locks.
    SavepointLetsGo,
    /// `txn`: a compensation record says that the record it undid is to be undone next.
    UndoNextForgotten,
    /// `storage`: nothing is kept of the room that an open transaction has freed on a page.
    RoomNotKept,
    /// `storage`: deleted rows go before their deleter has ended.
    GhostsGoEarly,
    /// `storage`: the page to the right of a split does not hear of its new neighbour.
    NeighbourUntold,
    /// `storage`: nobody looks at the checksum of a page that is read.
    PageUnverified,
    /// `storage`: nothing is repaired from the double-write file.
    TornStays,
    /// `storage`: undo knows a row that was inserted by all its bytes, whatever a system transaction has written into it since.
    RowKnownByImage,
    /// `storage`: a rollback undoes the oldest change first.
    OldestUndoneFirst,
    /// `storage`: what a CREATE that is rolled back has taken of pages is not given back.
    PagesOfUndoneStay,
    /// `storage`: a load writes what lies outside its rows once for the page, and again for the row that goes alone.
    OutsideTwice,
    /// `storage`: an insert does not ask whether somebody has locked the range that it goes into.
    RangeNotAsked,
    /// `catalog`: a name is everybody's before its lock is taken, and nobody doubts it.
    NameBeforeLock,
    /// `catalog`: who has defined nothing sees what another has defined and not committed.
    DraftShown,
    /// `session`: a plan is used whatever has become of the tables that it was made for.
    PlanOutlivesTable,
    /// `session`: memory that a statement was granted is not given back.
    GrantKept,
    /// `session`: one statement, UPDATE STATISTICS, does not ask for its right.
    RightNotAsked,
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

    /// Those that tests of whole sessions find (`crates/session/tests/it/planted.rs`).
    pub const SESSIONS: [Bug; 5] = [
        Bug::RangeNotAsked,
        Bug::DraftShown,
        Bug::PlanOutlivesTable,
        Bug::GrantKept,
        Bug::RightNotAsked,
    ];

    /// Those that a test finds by name, in the room where they are planted (`planted_tests`).
    pub const TESTED: [Bug; 21] = [
        Bug::OpenFileGiven,
        Bug::GateOpen,
        Bug::HopelessHeld,
        Bug::CommitUnnoted,
        Bug::VersionsGoEarly,
        Bug::ConflictUnseen,
        Bug::EscalationLosesLocks,
        Bug::LocksStay,
        Bug::GrantsMeet,
        Bug::SavepointLetsGo,
        Bug::UndoNextForgotten,
        Bug::RoomNotKept,
        Bug::GhostsGoEarly,
        Bug::NeighbourUntold,
        Bug::PageUnverified,
        Bug::TornStays,
        Bug::RowKnownByImage,
        Bug::OldestUndoneFirst,
        Bug::PagesOfUndoneStay,
        Bug::OutsideTwice,
        Bug::NameBeforeLock,
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

    /// Plants a bug while a test runs that should find it; what the test says then. The hook that tells of panics is quiet
    /// meanwhile.
    pub fn found(bug: Bug, test: fn()) -> Option<String> {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        plant(Some(bug));
        let result = std::panic::catch_unwind(test);
        plant(None);
        std::panic::set_hook(hook);
        let said = result.err()?;
        let text = said.downcast_ref::<String>().cloned();
        let text = text.or_else(|| said.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Some(text.unwrap_or_else(|| "it panics".to_owned()))
    }

    /// Whether this bug is planted.
    pub fn on(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted")]
pub use live::{found, on, plant};

/// Whether this bug is planted: never, in this build.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn on(_: Bug) -> bool {
    false
}
