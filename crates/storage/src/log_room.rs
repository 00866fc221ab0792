//! What may begin in a log that cannot grow and is full for changes: checkpoints, changes of the boot page, backups.
//!
//! They use what the log keeps back (`wal::log::room`), and leave half of it for rollbacks that are flushed more often than
//! was foreseen, unless they are sure to let go of a VLF: that is more than they take. Whoever is not let in gets 9002
//! before anything has changed.

use duramen_base::{Lsn, SqlError, SqlResult, messages};
use duramen_wal::Log;

use crate::engine::Database;

/// What a checkpoint says of a transaction or of a chain of pages that goes.
const LISTED: u64 = 96;
/// BEGIN_CKPT and END_CKPT.
const ENDS: u64 = 256;
/// A transaction that changes the boot page, before and after its record of 1,440 bytes.
const BOOT_CHANGE: u64 = 4_096;

/// Room that is kept for the end of something long.
pub struct Kept<'a> {
    log: Option<&'a Log>,
    bytes: u64,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.log {
            log.release_reserve(self.bytes);
        }
    }
}

impl Database {
    /// Whether something of so many bytes may take what the log keeps back.
    pub(crate) fn log_lets_in(&self, bytes: u64) -> bool {
        self.log.as_ref().is_none_or(|l| l.lets_in(bytes))
    }

    /// The log cannot grow, and changes find no room.
    pub(crate) fn log_is_spent(&self) -> bool {
        self.log.as_ref().is_some_and(|l| l.is_short())
    }

    pub(crate) fn log_full(&self) -> SqlError {
        let reason = self.log.as_ref().map_or("NOTHING", |l| l.reuse_reason());
        SqlError::new(&messages::LOG_FULL, &[&self.name, &reason])
    }

    /// What a checkpoint appends and loses with its flushes. What it notes of rowsets is set aside when they change.
    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        let flush = self.log.as_ref().map_or(0, |l| u64::from(l.flush_bytes()));
        let listed = self.transactions.table.len() + self.drops.lock().len();
        ENDS + LISTED * listed as u64 + 3 * flush
    }

    fn boot_bytes(&self) -> u64 {
        let flush = self.log.as_ref().map_or(0, |l| u64::from(l.flush_bytes()));
        BOOT_CHANGE + 2 * flush
    }

    /// Whether a VLF is let go of when nothing before `from` is needed any more but by transactions and backups.
    fn lets_go(&self, from: Lsn) -> bool {
        let Some(log) = &self.log else { return true };
        let active = self.transactions.table.oldest_lsn().unwrap_or(Lsn::MAX);
        let oldest = from.min(active).min(self.held_log());
        oldest.vlf > log.oldest_block().vlf
    }

    /// 9002 when a checkpoint would take what rollbacks may need.
    pub(crate) fn admit_checkpoint(&self) -> SqlResult<()> {
        let Some(log) = &self.log else { return Ok(()) };
        if !log.is_tight() || log.lets_in(self.checkpoint_bytes()) {
            return Ok(());
        }
        let frees = self.store.temporary || self.checkpoints_free_log();
        match frees && self.lets_go(log.next_lsn()) {
            true => Ok(()),
            false => Err(self.log_full()),
        }
    }

    /// 9002 when a change of the boot page would; `frees`: it lets go of the log before the last checkpoint.
    pub(crate) fn admit_boot_change(&self, frees: bool) -> SqlResult<()> {
        let (checkpoint, transaction) = self.last_checkpoint();
        let from = checkpoint.min(transaction);
        match self.log_lets_in(self.boot_bytes()) || frees && self.lets_go(from) {
            true => Ok(()),
            false => Err(self.log_full()),
        }
    }

    /// Room for the checkpoint and the end of a backup of pages, or 9002. It only takes.
    pub fn admit_backup(&self) -> SqlResult<Kept<'_>> {
        match self.log_lets_in(self.checkpoint_bytes() + self.boot_bytes()) {
            true => Ok(self.keep(self.boot_bytes())),
            false => Err(self.log_full()),
        }
    }

    /// Room for the end of a log backup, which lets go of log unless it only copies: then it changes nothing.
    pub fn admit_log_backup(&self, copies: bool) -> SqlResult<Kept<'_>> {
        if copies {
            return Ok(self.keep(0));
        }
        self.admit_boot_change(true)?;
        Ok(self.keep(self.boot_bytes()))
    }

    fn keep(&self, bytes: u64) -> Kept<'_> {
        let log = self.log.as_deref();
        if let Some(log) = log {
            log.hold(bytes);
        }
        Kept { log, bytes }
    }
}
