//! How a checkpoint leaves room for those who work meanwhile.
//!
//! What a commit feels of a checkpoint is that its log write takes longer beside the writes of pages. So the pace goes by
//! that: between checkpoints the background thread notes how long log writes take ([`Calm`]); during one, each batch of
//! pages is followed by a pause that is the longer, the more log writes took beside that batch. The pauses are so long that on
//! the average of batch and pause commits lose [`BUDGET`] of their speed. Batches are small while somebody commits, because
//! a commit that meets one waits for all of it; nobody commits: large ones, and no pauses.
//!
//! A checkpoint that frees log must end before the log is full: while more of the room is used than pages are written, the
//! pauses are shorter, down to none when it is twice as much.

use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::{SqlResult, given_up};
use duramen_observe::{WaitType, wait};
use duramen_os::thread;
use duramen_pool::{LARGE_BATCH, Pace};
use duramen_wal::WritePulse;

use crate::engine::Database;

/// Pages of a batch while others commit: a quarter of a megabyte.
const SMALL: usize = 32;
/// Fewer log writes than this in a batch and its pause are the checkpoint's own.
const BUSY: u64 = 3;
/// How full the log may become, in percent, while a checkpoint that will free it is under way.
const FULL: u64 = 85;

/// How much of a hurry a checkpoint is in, and who waits for it.
#[derive(Clone, Copy, Debug)]
pub enum Haste {
    /// At full speed, whoever waits.
    Full,
    /// At full speed, at the end of a recovery: a recovery that is given up needs no checkpoint.
    OfRecovery,
    /// With pauses up to so long.
    Gently(Duration),
    /// The same, for a CHECKPOINT that may be given up.
    Asked(Duration),
}

/// The pace of one checkpoint.
pub struct CheckpointPace<'a> {
    db: &'a Database,
    /// The longest pause; `None`: full speed.
    longest: Option<Duration>,
    /// All pages, once the first batch is written.
    pages: usize,
    /// Bytes of the log, and those used, when it began.
    size: u64,
    used: u64,
    last: WritePulse,
    /// Somebody else writes the log.
    busy: bool,
    /// Who asked for it may leave meanwhile, and needs none of it.
    asked: bool,
}

impl<'a> CheckpointPace<'a> {
    pub fn new(db: &'a Database, haste: Haste) -> CheckpointPace<'a> {
        let space = db.log.as_ref().map(|l| l.space()).unwrap_or_default();
        CheckpointPace {
            db,
            longest: match haste {
                Haste::Gently(longest) | Haste::Asked(longest) => Some(longest),
                Haste::Full | Haste::OfRecovery => None,
            },
            pages: 0,
            size: space.total,
            used: space.used,
            last: db.write_pulse(),
            busy: true,
            asked: matches!(haste, Haste::Asked(_) | Haste::OfRecovery),
        }
    }

    /// The part of a pause that the log leaves time for, 0 to 1.
    fn patience(&self, left: usize) -> f64 {
        let Some(log) = &self.db.log else { return 1.0 };
        let space = log.space();
        if space.used > space.total / 100 * 95 {
            return 0.0;
        }
        match self.db.checkpoints_free_log() {
            false => 1.0,
            // It grows while it waits for this checkpoint, and need not.
            true if space.total > self.size => 0.0,
            true => {
                let room = (space.total / 100 * FULL).saturating_sub(self.used);
                let filled = space.used.saturating_sub(self.used) as f64 / room.max(1) as f64;
                let written = 1.0 - left as f64 / self.pages.max(1) as f64;
                (2.0 * written / filled.max(1e-9) - 1.0).clamp(0.0, 1.0)
            }
        }
    }
}

impl Pace for CheckpointPace<'_> {
    fn batch(&self) -> usize {
        match self.longest.is_some() && self.busy {
            true => SMALL,
            false => LARGE_BATCH,
        }
    }

    fn after(&mut self, took: Duration, n: usize, left: usize) -> SqlResult<()> {
        if self.asked {
            given_up::check()?;
        }
        self.pages = self.pages.max(n + left);
        let Some(longest) = self.longest else {
            return Ok(());
        };
        let meanwhile = self.db.write_pulse().since(self.last);
        let patience = match left > 0 && self.busy && !self.db.hurries() {
            true => self.patience(left),
            false => 0.0,
        };
        if patience > 0.0 {
            let calm = &self.db.calm;
            let pause = calm.pause(took, meanwhile.mean(1)).min(longest);
            let pause = pause.mul_f64(patience);
            let before = self.db.write_pulse();
            {
                let _wait = wait(WaitType::SLEEP_BPOOL_FLUSH);
                thread::sleep(pause);
            }
            calm.learn(self.db.write_pulse().since(before));
        }
        let now = self.db.write_pulse();
        self.busy = now.since(self.last).writes >= BUSY;
        self.last = now;
        // The background thread must not take these for undisturbed ones.
        *self.db.calm.seen.lock() = now;
        Ok(())
    }
}

impl Database {
    /// What has been written to the log so far.
    pub(crate) fn write_pulse(&self) -> WritePulse {
        self.log
            .as_ref()
            .map_or(WritePulse::default(), |l| l.write_pulse())
    }

    /// Somebody waits for the end of the checkpoint.
    fn hurries(&self) -> bool {
        self.checkpoint_waiters.load(Ordering::SeqCst) > 0 || self.closed.load(Ordering::SeqCst)
    }
}
