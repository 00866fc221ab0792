//! What of the log is still needed, and by whom.

use duramen_base::Lsn;

use crate::config::LogHolds;

/// What keeps VLFs from being reused.
#[derive(Debug)]
pub(in crate::log) struct Needs {
    pub holds: LogHolds,
    /// Nobody has said yet what of an opened log is needed: until then every VLF counts as active.
    pub unknown: bool,
    /// Records before this were not needed any more when the log was truncated last; NULL: it has not been since it was
    /// opened.
    pub truncated: Lsn,
    /// What kept the log from being truncated when that was tried last.
    pub reuse_reason: &'static str,
}

impl Needs {
    pub fn new() -> Needs {
        Needs {
            holds: LogHolds::default(),
            unknown: false,
            truncated: Lsn::NULL,
            reuse_reason: "NOTHING",
        }
    }

    /// Who keeps a whole VLF from being reused, now: what is needed of the `current` one alone keeps nothing.
    pub fn holder(&self, current: u32) -> &'static str {
        let (oldest, who) = self.holds.oldest();
        match oldest.vlf < current {
            true => who,
            false => "NOTHING",
        }
    }

    /// The log is short of room: an attempt to truncate it would find this. Only a checkpoint knows of transactions.
    pub fn note_shortage(&mut self, current: u32) {
        let who = self.holder(current);
        let unknown = self.reuse_reason == "NOTHING";
        if unknown || matches!(who, "LOG_BACKUP" | "ACTIVE_BACKUP_OR_RESTORE") {
            self.reuse_reason = who;
        }
    }
}
