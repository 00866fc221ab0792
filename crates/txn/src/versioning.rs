//! Which readers of a database get row versions: READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION.
//!
//! Writers keep versions as soon as a setting is on or on its way. SNAPSHOT may be used only when every transaction
//! that began without keeping versions has ended: that is what the states in between are for.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// `sys.databases.snapshot_isolation_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum SnapshotState {
    #[default]
    Off = 0,
    On = 1,
    /// Versions are kept, new snapshots refused, until the snapshots in use have ended.
    ToOff = 2,
    /// Versions are kept, snapshots refused, until the transactions that keep none have ended.
    ToOn = 3,
}

impl SnapshotState {
    /// `sys.databases.snapshot_isolation_state_desc`.
    pub fn name(self) -> &'static str {
        match self {
            SnapshotState::Off => "OFF",
            SnapshotState::On => "ON",
            SnapshotState::ToOff => "IN_TRANSITION_TO_OFF",
            SnapshotState::ToOn => "IN_TRANSITION_TO_ON",
        }
    }
}

/// The two settings of one database.
#[derive(Debug, Default)]
pub struct Versioning {
    read_committed: AtomicBool,
    snapshot: AtomicU8,
    /// Snapshots with a lower number are older than the versions that are kept.
    since: AtomicU64,
}

impl Versioning {
    /// Must a writer keep what it changes? Ask only when the transaction is in the database's table of active ones:
    /// whoever switches looks at that table after switching.
    pub fn keeps(&self) -> bool {
        self.read_committed() || self.snapshot_state() != SnapshotState::Off
    }

    pub fn read_committed(&self) -> bool {
        self.read_committed.load(Ordering::SeqCst)
    }

    pub fn set_read_committed(&self, on: bool) {
        self.read_committed.store(on, Ordering::SeqCst);
    }

    pub fn snapshot_state(&self) -> SnapshotState {
        match self.snapshot.load(Ordering::SeqCst) {
            1 => SnapshotState::On,
            2 => SnapshotState::ToOff,
            3 => SnapshotState::ToOn,
            _ => SnapshotState::Off,
        }
    }

    pub fn set_snapshot_state(&self, state: SnapshotState) {
        self.snapshot.store(state as u8, Ordering::SeqCst);
    }

    /// The number of the first snapshot that may be used here.
    pub fn since(&self) -> u64 {
        self.since.load(Ordering::SeqCst)
    }

    pub fn set_since(&self, number: u64) {
        self.since.store(number, Ordering::SeqCst);
    }
}
