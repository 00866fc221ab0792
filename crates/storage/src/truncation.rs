//! What of the log is let go of, and who keeps the rest.
//!
//! The log is needed from the oldest of these: where recovery would begin (the last finished checkpoint, and the oldest
//! transaction that was active then); where the next log backup begins, when the database keeps its log for one; what a
//! backup copies that is being taken. Attempts are made by checkpoints and by log backups; each records who kept a VLF
//! from becoming reusable (`log_reuse_wait_desc`), and that is what is shown until the next attempt, as in SQL Server. A
//! log that runs short of room while a backup is what it waits for says so at once.
//!
//! While a database keeps its log for log backups, checkpoints let go of nothing: a log backup does, of what it and the last
//! checkpoint have made superfluous.
//!
//! A database under FULL or BULK_LOGGED whose chain of log backups has not begun (no full backup since) is treated as
//! under SIMPLE.

use std::sync::atomic::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{Lsn, SqlResult};
use duramen_format::boot::OwnBoot;
use duramen_wal::LogHolds;

use crate::engine::Database;
use crate::recovery_model::RecoveryModel;

impl Database {
    /// The model by which the log is let go of.
    pub fn recovery_model(&self) -> RecoveryModel {
        match self.truncation.model.load(Ordering::SeqCst) {
            1 => RecoveryModel::Full,
            2 => RecoveryModel::BulkLogged,
            _ => RecoveryModel::Simple,
        }
    }

    /// The model of a database that has just been opened.
    pub fn start_recovery_model(&self, model: RecoveryModel) {
        self.truncation.model.store(model as u8, Ordering::SeqCst);
    }

    /// ALTER DATABASE ... SET RECOVERY. SIMPLE ends the chain of log backups, durably; when it is left, no chain of before
    /// is taken for one.
    pub fn set_recovery_model(&self, model: RecoveryModel) -> SqlResult<()> {
        let before = self.recovery_model();
        let simple = [before, model].contains(&RecoveryModel::Simple);
        let ends_chain = simple && !self.log_backup_lsn().is_null();
        if ends_chain {
            self.admit_boot_change(true)?;
            self.change_boot_now("LogBackup", |b| {
                if let Some(own) = &mut b.own {
                    own.log_backup_lsn = Lsn::NULL;
                }
            })?;
        }
        // Not before the chain has ended on disk: under the new model log would go that it still promises.
        self.truncation.model.store(model as u8, Ordering::SeqCst);
        if ends_chain {
            // What was kept for a log backup goes at once.
            self.truncate_log(false);
        }
        Ok(())
    }

    /// Where the next log backup begins; NULL without a chain of log backups.
    pub fn log_backup_lsn(&self) -> Lsn {
        let boot = self.boot.lock();
        boot.own.as_ref().map_or(Lsn::NULL, |o| o.log_backup_lsn)
    }

    /// When the last log backup was taken, in days since 1900-01-01 and ticks of 1/300 s; `None` before the first.
    pub fn log_backed_up(&self) -> Option<(i32, u32)> {
        let boot = self.boot.lock();
        let when = boot.own.as_ref().map(|o| o.log_backed_up);
        when.filter(|w| *w != (0, 0))
    }

    /// A log backup has been taken and the next one begins at `next`. The caller has asked for room.
    pub fn log_backup_taken(&self, next: Lsn) -> SqlResult<()> {
        let now = crate::database::datetime_now();
        self.change_boot_now("LogBackup", |b| {
            if let Some(own) = &mut b.own {
                own.log_backup_lsn = next;
                own.log_backed_up = now;
            }
        })
    }

    /// Whether checkpoints let go of log at all: not before every database is open.
    pub fn set_truncate_on_checkpoint(&self, on: bool) {
        self.truncate_on_checkpoint.store(on, Ordering::SeqCst);
    }

    /// Whether a checkpoint can let go of log at all: not while log backups do it.
    pub(crate) fn checkpoints_free_log(&self) -> bool {
        let simple = self.recovery_model() == RecoveryModel::Simple;
        self.truncate_on_checkpoint.load(Ordering::SeqCst)
            && (simple || self.log_backup_lsn().is_null())
    }

    /// The last finished checkpoint and the oldest record that recovery from it would need.
    pub fn last_checkpoint(&self) -> (Lsn, Lsn) {
        let needs = self.truncation.state.lock();
        (needs.checkpoint, needs.transaction)
    }

    /// Whether the transaction has ended since that kept log when the last checkpoint was taken.
    pub(crate) fn log_holder_has_gone(&self) -> bool {
        let (checkpoint, transaction) = self.last_checkpoint();
        let now = self.transactions.table.oldest_lsn();
        transaction < checkpoint && now.is_none_or(|oldest| oldest > transaction)
    }

    pub(crate) fn checkpoint_taken(&self, begin: Lsn, min: Lsn) {
        let mut needs = self.truncation.state.lock();
        debug_assert!(
            begin >= needs.checkpoint,
            "truncation/2: a checkpoint at {begin} comes after one at {}",
            needs.checkpoint
        );
        debug_assert!(
            min <= begin,
            "truncation/2: recovery from the checkpoint at {begin} begins behind it"
        );
        (needs.checkpoint, needs.transaction) = (begin, min);
    }

    /// Keeps everything that is in the log now until [`Database::release_log`].
    pub fn hold_log(&self) -> u64 {
        let mut needs = self.truncation.state.lock();
        // In the hold that truncation needs as well: nothing goes between this look and the ticket.
        let oldest = self.log.as_ref().map_or(Lsn::NULL, |l| l.oldest_block());
        needs.next += 1;
        let ticket = needs.next;
        needs.backups.insert(ticket, oldest);
        ticket
    }

    /// What comes before `from` is not needed any more by the holder.
    pub fn hold_log_from(&self, ticket: u64, from: Lsn) {
        if let Some(lsn) = self.truncation.state.lock().backups.get_mut(&ticket) {
            debug_assert!(
                from >= *lsn,
                "truncation/3: a backup asks for log that it has let go of"
            );
            *lsn = from;
        }
    }

    /// What a backup needs of the log that is being taken; `MAX` when there is none.
    pub(crate) fn held_log(&self) -> Lsn {
        let needs = self.truncation.state.lock();
        needs.backups.values().copied().min().unwrap_or(Lsn::MAX)
    }

    pub fn release_log(&self, ticket: u64) {
        self.truncation.state.lock().backups.remove(&ticket);
    }

    /// One attempt, by a log backup or by a checkpoint. What it finds is recorded.
    pub fn truncate_log(&self, by_backup: bool) {
        let may = self.store.temporary || self.truncate_on_checkpoint.load(Ordering::SeqCst);
        // Recovery of others may need decisions of this log, unless what follows from those is durable there.
        let settled = || {
            let others = self.engine.open_databases();
            let mut others = others.iter().filter(|o| o.id != self.id);
            others.all(|o| o.access.flush(o.transactions.commits.last_full()).is_ok())
        };
        // Before the lock: it waits for the disks of other databases.
        let free = may && (self.store.temporary || settled());
        let needs = self.truncation.state.lock();
        let chain = match self.recovery_model() {
            RecoveryModel::Simple => Lsn::NULL,
            _ => self.log_backup_lsn(),
        };
        let waits = !chain.is_null() && !by_backup;
        // Also one that has begun since holds its VLF; whether it is named is all that it changes.
        let now = self.transactions.table.oldest_lsn();
        let now = now.filter(|l| by_backup && !l.is_null());
        let then = Some(needs.transaction).filter(|l| *l < needs.checkpoint);
        let oldest = self.log.as_ref().map_or(Lsn::NULL, |l| l.oldest_block());
        let mut holds = LogHolds {
            checkpoint: needs.checkpoint,
            transaction: then.into_iter().chain(now).min().unwrap_or(Lsn::NULL),
            log_backup: if waits { oldest } else { chain },
            backup: needs.backups.values().copied().min().unwrap_or(Lsn::NULL),
        };
        if planted::on(Bug::TruncatedTooFar) {
            holds.transaction = Lsn::NULL;
        }
        debug_assert!(
            planted::on(Bug::TruncatedTooFar)
                || now.is_none_or(|l| holds.transaction.is_null() || holds.transaction <= l),
            "truncation/1: the log of an active transaction is let go of"
        );
        // Durable before anything is let go of; what cannot be noted stays.
        let free = free && !waits && self.note_first(holds).is_ok();
        self.access.truncate(holds, free);
    }

    /// What is let go of is promised to others, at once or when the log cannot grow any more: a recovery must know of it, or
    /// it would find less room than the undo of the losers had been promised.
    fn note_first(&self, holds: LogHolds) -> SqlResult<()> {
        let first = holds.oldest().0.vlf;
        if self.store.temporary {
            return Ok(());
        }
        let known = |own: &OwnBoot| own.log_first;
        if self.boot.lock().own.as_ref().map_or(u32::MAX, known) >= first {
            return Ok(());
        }
        self.write_boot_unlogged(|boot| {
            if let Some(own) = &mut boot.own {
                own.log_first = first;
            }
        })
    }
}
