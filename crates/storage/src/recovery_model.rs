//! The recovery model of a database, and who needs its log.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU8;

use duramen_base::Lsn;
use duramen_os::sync::{Mutex, Rank};

/// Numbers as in `sys.databases.recovery_model`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecoveryModel {
    Full = 1,
    BulkLogged = 2,
    Simple = 3,
}

#[derive(Debug)]
pub(crate) struct Truncation {
    pub model: AtomicU8,
    pub state: Mutex<Needs>,
}

impl Default for Truncation {
    fn default() -> Truncation {
        Truncation {
            model: AtomicU8::new(RecoveryModel::Simple as u8),
            state: Mutex::ranked(Rank::Truncation, Needs::default()),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// BEGIN_CKPT of the last checkpoint, and the first record of the oldest transaction active then (or the same).
    pub checkpoint: Lsn,
    pub transaction: Lsn,
    /// By ticket.
    pub backups: BTreeMap<u64, Lsn>,
    pub next: u64,
}
