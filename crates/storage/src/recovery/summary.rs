//! What a recovery did.

use std::time::Duration;

/// What recovery did, for the error log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecoverySummary {
    pub rolled_forward: u64,
    pub rolled_back: u64,
    /// Splits, allocations and the like that were cut in two.
    pub system_undone: u64,
    pub records: u64,
    /// Bytes of log that were read for it.
    pub log_bytes: u64,
    /// Threads that have repeated changes: one for a short log.
    pub threads: u32,
    /// Finding out where to begin. Who was active is noted during redo.
    pub analysis: Duration,
    pub redo: Duration,
    /// All of it, and what of it were splits, allocations and the like that were cut in two.
    pub undo: Duration,
    pub system_undo: Duration,
}

impl RecoverySummary {
    /// Whether the server log speaks of it.
    pub(super) fn did_something(&self) -> bool {
        self.rolled_forward + self.rolled_back > 0
    }
}
