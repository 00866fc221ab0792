//! Checkpoints: how they are taken, when, and at what pace.
//!
//! How: BEGIN_CKPT, the active transactions, every page that was dirty then, END_CKPT (made durable), and only then the
//! boot page names the BEGIN_CKPT. So recovery always starts from a checkpoint that was finished: every change before its
//! BEGIN_CKPT is in the data files. The log before it, and before every transaction active then, is let go of, but a
//! decision over several databases only when the commits that follow from it are durable in the other logs.
//!
//! When: on CHECKPOINT and at the end; and by the database's own background thread,
//! - when recovery would take longer than it may: the `recovery interval` (automatic checkpoints), or the database's
//!   TARGET_RECOVERY_TIME when it has one (indirect checkpoints);
//! - when the log is 70 % full, if a checkpoint can free any of it;
//! - after a minute in which pages stayed dirty;
//! - after a recovery that left many pages dirty: nobody waits for that one.
//!
//! How long recovery would take is estimated from the log to be read and the pages to be fetched for it ([`RedoSpeed`]).
//! With a target, pages that have been dirty longest are written between checkpoints as well, so that the pages alone never
//! take more than half of it.
//!
//! Pace: see [`crate::pace`]. CHECKPOINT and the background thread leave room for those who commit; checkpoints that
//! something waits for (the end of a database, a backup's beginning) go at full speed, and so does whatever is under way
//! then.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_base::planted::{self, Bug};
use duramen_base::{Lsn, PageId, SqlResult};
use duramen_format::boot::{BOOT_PAGE, Boot};
use duramen_observe::events::{CheckpointBegin, CheckpointEnd, emit};
use duramen_observe::{Duty, WaitType, background};
use duramen_os::{thread, time};
use duramen_pool::Why;
use duramen_wal::record::{RecordBuilder, datetime_from_unix_ns};

use crate::engine::Database;
use crate::pace::{CheckpointPace, Haste};

/// TARGET_RECOVERY_TIME of new databases, as in SQL Server since 2016.
pub(crate) const NEW_TARGET_SECONDS: u32 = 60;
/// How long the background thread sleeps between looks. A log that fills meanwhile grows.
const STEP: Duration = Duration::from_millis(100);
/// Steps between two ghost cleanups: 5 seconds.
const GHOST_STEPS: u32 = 50;
/// Steps after which dirty pages are written although nothing else asks for it: a minute.
const IDLE_STEPS: u32 = 600;
/// Pages that one step writes ahead of an indirect checkpoint.
const STEP_PAGES: u64 = 1_024;
/// Between two batches of a checkpoint that nobody waits for, and of one that somebody has asked for.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
const ASKED_PAUSE: Duration = Duration::from_millis(20);

fn now() -> [u8; 8] {
    datetime_from_unix_ns(u64::try_from(time::wall().unix_nanos()).unwrap_or(0))
}

impl Database {
    /// A checkpoint at full speed. Returns the pages written.
    pub fn checkpoint(&self) -> SqlResult<u32> {
        self.admit_checkpoint()?;
        self.checkpoint_unasked()
    }

    /// As [`Database::checkpoint`], whatever room there is: the end of a database knows that nobody else needs any.
    pub(crate) fn checkpoint_unasked(&self) -> SqlResult<u32> {
        self.checkpoint_waited_for(Haste::Full)
    }

    /// The same at the end of a recovery.
    pub(crate) fn checkpoint_of_recovery(&self) -> SqlResult<u32> {
        self.checkpoint_waited_for(Haste::OfRecovery)
    }

    fn checkpoint_waited_for(&self, haste: Haste) -> SqlResult<u32> {
        self.checkpoint_waiters.fetch_add(1, Ordering::SeqCst);
        let result = self.take_checkpoint(haste);
        self.checkpoint_waiters.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// CHECKPOINT: as fast as those who commit meanwhile hardly notice. 9002 in a full log of which little has come since
    /// the last one: it would let go of nothing, and use what is kept back for rollbacks.
    pub fn checkpoint_gently(&self) -> SqlResult<u32> {
        if let Some(log) = self.log.as_ref().filter(|l| l.is_short())
            && self.log_since_checkpoint() <= log.space().total / 10
            && !self.log_holder_has_gone()
        {
            return Err(self.log_full());
        }
        self.admit_checkpoint()?;
        self.take_checkpoint(Haste::Asked(ASKED_PAUSE))
    }

    fn take_checkpoint(&self, haste: Haste) -> SqlResult<u32> {
        let _one = self.checkpoint_lock.lock();
        let database_id = u64::from(self.id.0);
        emit(|| CheckpointBegin { database_id });
        let previous = self.boot.lock().checkpoint_lsn;
        let version = self.boot.lock().version;
        let max_xdes = self.transactions.table.next_xdes();
        // Under the locks of drops and counts: each of them falls before this record or behind it.
        let begin = self.carry_drops(|| {
            self.mark_counts(|| {
                self.access.append(
                    &RecordBuilder::begin_checkpoint(previous, now(), version, max_xdes),
                    0,
                )
            })
        })?;
        debug_assert!(
            begin > previous,
            "checkpoint/1: a checkpoint begins before the one before it"
        );
        // Behind BEGIN_CKPT: who had begun before it and is not listed has ended, and its end is in the log.
        let mut active = self.transactions.table.checkpoint_list();
        debug_assert!(
            active
                .iter()
                .all(|a| a.xdes < self.transactions.table.next_xdes()),
            "checkpoint/2: an active transaction has an id that is still to be given"
        );
        if planted::on(Bug::CheckpointForgetsActive) {
            active.clear();
        }
        for record in RecordBuilder::active_xacts(begin, &active) {
            self.access.append(&record, 0)?;
        }
        // Behind BEGIN_CKPT, too: what was logged before it has its frame marked by now (pool/4).
        let written = match self.store.temporary {
            _ if planted::on(Bug::CheckpointWithoutPages) => 0,
            true => 0,
            false => {
                let mut pace = CheckpointPace::new(self, haste);
                let pool = &self.engine.pool;
                pool.flush_database(self.id, Why::Checkpoint, &mut pace)?
            }
        };
        // Behind the pages: only now the counts at the mark are whole (row_counts/1).
        self.note_counts()?;
        let min = active
            .iter()
            .map(|a| a.begin_lsn)
            .filter(|l| !l.is_null())
            .fold(begin, Lsn::min);
        let end = self.access.append(
            &RecordBuilder::end_checkpoint(begin, now(), version, min, written),
            0,
        )?;
        debug_assert!(
            end > begin,
            "checkpoint/1: a checkpoint ends before it begins"
        );
        debug_assert!(
            min <= begin,
            "checkpoint/2: recovery would begin behind the checkpoint"
        );
        debug_assert!(
            active
                .iter()
                .all(|a| a.begin_lsn.is_null() || a.begin_lsn >= min),
            "checkpoint/2: a transaction begins before what is kept for it"
        );
        // The boot page may name only a checkpoint whose end recovery will find.
        self.access.flush(end)?;
        debug_assert!(
            self.store.temporary || self.access.durable_lsn() >= end,
            "checkpoint/3: a checkpoint counts before it is durable"
        );
        emit(|| CheckpointEnd { database_id });
        if self.store.temporary {
            self.boot.lock().checkpoint_lsn = begin;
        } else {
            self.write_boot_checkpoint(begin)?;
        }
        self.owes_checkpoint.store(false, Ordering::SeqCst);
        // Behind the boot page: until it is on disk, recovery would begin at the checkpoint before.
        self.checkpoint_taken(begin, min);
        self.truncate_log(false);
        // What has failed, for want of log mostly, is tried again: there may be room now.
        self.release_leftovers();
        Ok(written)
    }

    /// The boot page's checkpoint LSN is not logged: it says where the log is to be read from.
    fn write_boot_checkpoint(&self, begin: Lsn) -> SqlResult<()> {
        let next_xdes = self.transactions.table.next_xdes().0;
        self.write_boot_unlogged(|boot| {
            boot.checkpoint_lsn = begin;
            if let Some(own) = &mut boot.own {
                own.next_xdes = next_xdes;
            }
        })
    }

    /// Changes fields of the boot page that say what of the log is needed; durable when it returns.
    pub(crate) fn write_boot_unlogged(&self, f: impl FnOnce(&mut Boot)) -> SqlResult<()> {
        let id = PageId::new(1, BOOT_PAGE);
        {
            let mut boot = self.boot.lock();
            let mut page = self.write_page(id)?;
            f(&mut boot);
            let written = boot.write(page.change().bytes_mut());
            page.page().sound(written)?;
        }
        // Without its latch, which whoever writes pages down asks for.
        self.engine.pool.flush_page(self.id, id)
    }

    /// TARGET_RECOVERY_TIME in seconds; 0 means automatic checkpoints by the server's recovery interval.
    pub fn target_recovery_time(&self) -> u32 {
        let boot = self.boot.lock();
        boot.own.as_ref().map_or(0, |o| o.target_recovery_seconds)
    }

    /// ALTER DATABASE ... SET TARGET_RECOVERY_TIME; kept in the boot page, logged, durable when it returns.
    pub fn set_target_recovery_time(&self, seconds: u32) -> SqlResult<()> {
        self.change_boot("TargetRecoveryTime", |b| {
            if let Some(own) = &mut b.own {
                own.target_recovery_seconds = seconds;
            }
        })
    }

    /// Changes fields of the boot page in a transaction of its own, durable when it returns. Possible in a full log: the end
    /// of a log backup is such a change, and what makes room. 9002, before anything has changed, where it would take what
    /// rollbacks may need.
    pub fn change_boot(&self, name: &'static str, f: impl FnOnce(&mut Boot)) -> SqlResult<()> {
        self.admit_boot_change(false)?;
        self.change_boot_now(name, f)
    }

    /// As [`Database::change_boot`], after the caller has asked for room.
    pub fn change_boot_now(&self, name: &'static str, f: impl FnOnce(&mut Boot)) -> SqlResult<()> {
        let tx = self.own_transaction(name).unreserved();
        match self.update_boot(&tx, f) {
            Ok(()) => self.engine.commit(&tx, None)?,
            Err(e) => {
                self.engine.rollback(&tx, None)?;
                return Err(e);
            }
        };
        self.access.flush(self.access.last_lsn())
    }

    /// How long recovery would take now, in milliseconds: an estimate.
    pub fn estimated_recovery_ms(&self) -> u64 {
        let log = self.log_since_checkpoint();
        let dirty = u64::from(self.engine.pool.dirty_count(self.id));
        self.engine.redo_speed.estimate(log, dirty)
    }

    fn log_since_checkpoint(&self) -> u64 {
        let since = self.boot.lock().checkpoint_lsn;
        self.log.as_ref().map_or(0, |l| l.bytes_since(since))
    }

    pub(crate) fn log_is_fuller_than(&self, percent: u64) -> bool {
        let Some(log) = &self.log else { return false };
        let space = log.space();
        space.used * 100 > space.total * percent
    }

    /// Starts the database's background thread: checkpoints and ghost cleanup. It ends with the database.
    pub fn start_background(self: &Arc<Database>) {
        let weak: Weak<Database> = Arc::downgrade(self);
        let name = format!("checkpoint {}", self.id.0);
        let role = background(Duty::Checkpoint, Some(self.id));
        let thread = thread::try_spawn(&name, move || {
            let mut idle = 0;
            let mut steps = 0u32;
            let mut indirect = false;
            loop {
                {
                    let (duty, idle) = match indirect {
                        true => (Duty::RecoveryWriter, WaitType::DIRTY_PAGE_POLL),
                        false => (Duty::Checkpoint, WaitType::CHECKPOINT_QUEUE),
                    };
                    role.becomes(duty);
                    let _idle = role.waits(idle);
                    thread::sleep(STEP);
                }
                let Some(db) = weak.upgrade() else { return };
                if db.closed.load(Ordering::SeqCst) {
                    return;
                }
                indirect = db.target_recovery_time() > 0;
                steps = steps.wrapping_add(1);
                idle += 1;
                if steps.is_multiple_of(GHOST_STEPS)
                    && let Err(e) = db.clean_ghosts()
                {
                    // Ghosts cost space, not correctness; whoever needs the page meets the error.
                    let _ = e;
                }
                if db.checkpoint_step(idle) {
                    idle = 0;
                }
            }
        });
        // Without the thread there are no automatic checkpoints: the log then grows until somebody asks for one.
        drop(thread);
    }

    /// One look of the background thread, `idle` steps after the last checkpoint; true when it has taken one. A log or a
    /// disk that fails is met by whoever writes next; here it only ends the step.
    pub(crate) fn checkpoint_step(&self, idle: u32) -> bool {
        if self.log.as_ref().is_none_or(|l| l.poisoned()) {
            return false;
        }
        if self.checkpoint_lock.try_lock().is_some() {
            self.calm.look(self.write_pulse());
        }
        if self.owes_checkpoint.load(Ordering::SeqCst) || self.wants_checkpoint(idle) {
            return self.admit_checkpoint().is_ok()
                && self.take_checkpoint(Haste::Gently(LONGEST_PAUSE)).is_ok();
        }
        let target = u64::from(self.target_recovery_time()) * 1000;
        let dirty = u64::from(self.engine.pool.dirty_count(self.id));
        let speed = &self.engine.redo_speed;
        if target > 0 && !self.store.temporary && speed.estimate(0, dirty) > target / 2 {
            let allowed = target / 2 * speed.pages() / 1000;
            let excess = dirty.saturating_sub(allowed / 8 * 7).min(STEP_PAGES);
            // What cannot be written now is looked at again with the next step.
            let _ = self.engine.pool.write_oldest(self.id, excess as usize);
        }
        false
    }

    /// Called before a change, with no latch held. A log that cannot grow and fills gets a checkpoint now instead of when
    /// the background thread looks next: who changes much would meet 9002 before. Where only a log backup lets go of log,
    /// it can then: of what is older than the last checkpoint. What goes wrong here is met by the change.
    pub fn make_log_room(&self) {
        let tight = || self.log.as_ref().is_some_and(|l| l.is_tight());
        if tight() && self.log_is_full() {
            let _one = self.log_room.lock();
            // One for all who have come meanwhile.
            if tight() && self.log_is_full() {
                let _ = self.checkpoint();
            }
        }
    }

    /// The log cannot grow, and 70 % of it are in use or reserved.
    pub(crate) fn log_is_short(&self) -> bool {
        self.log.as_ref().filter(|l| l.is_tight()).is_some_and(|l| {
            let space = l.space();
            (space.used + space.reserved) * 100 > space.total * 70
        })
    }

    /// The log is 70 % full, with what rollbacks have reserved, and much of it is newer than the last checkpoint, or has been
    /// let go of by a transaction since.
    fn log_is_full(&self) -> bool {
        let Some(log) = &self.log else { return false };
        let space = log.space();
        // A transaction may hold a log that is 70 % full: then another tenth must have come.
        (space.used + space.reserved) * 100 > space.total * 70
            && (self.log_since_checkpoint() > space.total / 10 || self.log_holder_has_gone())
    }

    fn wants_checkpoint(&self, idle: u32) -> bool {
        if self.log.is_none() {
            return false;
        }
        let full = self.log_is_full() && (self.store.temporary || self.checkpoints_free_log());
        if self.store.temporary || full {
            return full;
        }
        let since = self.log_since_checkpoint();
        let dirty = self.engine.pool.dirty_count(self.id);
        let longest = match self.target_recovery_time() {
            0 => self.engine.recovery_interval_ms(),
            // Half is for the pages, which are looked after page by page.
            seconds => u64::from(seconds) * 500,
        };
        self.engine.redo_speed.estimate(since, 0) > longest || idle >= IDLE_STEPS && dirty > 0
    }
}
