//! How far the recovery of each database has come: for whoever waits for it.
//!
//! The work of a recovery is counted in bytes of log: those that are read for redo, and those of the losers' records. How
//! many losers there are is known when redo is over; until then it is taken that there are none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_os::sync::{Mutex, RwLock};
use duramen_os::thread;
use duramen_os::time::{self, Instant, WallTime};

/// A recovery that has taken this long is reported, and again whenever [`AGAIN`] has passed or a phase begins (*assumed*:
/// SQL Server does not say when it does).
const FIRST: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_secs(5);

/// Is told a line of the server log.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// The recoveries that are under way in an engine.
#[derive(Default)]
pub(crate) struct Recoveries {
    pub(super) under_way: Mutex<BTreeMap<u16, Arc<Progress>>>,
    pub(super) notice: RwLock<Option<Notice>>,
    pub(super) interrupted: AtomicBool,
    /// They end when what their thread works on is given up.
    pub(super) of_askers: AtomicBool,
}

/// What a recovery looks like from outside.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovering {
    pub db: DbId,
    pub name: String,
    pub started: WallTime,
    /// 1: looking for the beginning, 2: redo, 3: undo and the checkpoint.
    pub phase: u8,
    /// 0 to 100.
    pub percent: f32,
    /// As long as the rest takes at the speed so far.
    pub remaining: Duration,
}

/// One recovery.
pub struct Progress {
    all: Arc<Recoveries>,
    db: DbId,
    name: String,
    started: WallTime,
    begun: Instant,
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    /// Hundredths of a percent: what was told never goes back.
    reported: AtomicU32,
    /// When the next line is due.
    due: Mutex<Duration>,
}

impl Recoveries {
    pub(super) fn notice(&self, text: &str) {
        let notice = self.notice.read().clone();
        if let Some(notice) = notice {
            notice(text);
        }
    }
}

impl Progress {
    /// One begins, among those of its engine.
    pub(super) fn begin(all: &Arc<Recoveries>, db: DbId, name: &str) -> Arc<Progress> {
        let progress = Arc::new(Progress {
            all: all.clone(),
            db,
            name: name.to_owned(),
            started: time::wall(),
            begun: time::now(),
            phase: AtomicU8::new(1),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            reported: AtomicU32::new(0),
            due: Mutex::new(FIRST),
        });
        all.under_way.lock().insert(db.0, progress.clone());
        progress
    }

    /// The next phase begins, with so much more to be done.
    pub fn enter(&self, phase: u8, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
        if self.begun.elapsed() >= FIRST {
            self.report();
        }
    }

    /// What was expected and is not there needs no time.
    pub fn redone(&self) {
        let done = self.done.load(Ordering::Relaxed);
        self.total.store(done, Ordering::Relaxed);
    }

    /// So much is done. The error says that nobody waits any more.
    pub fn advance(&self, bytes: u64) -> SqlResult<()> {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if self.all.interrupted.load(Ordering::Relaxed) {
            return Err(SqlError::new(&messages::SHUTDOWN_IN_PROGRESS, &[]));
        }
        if self.all.of_askers.load(Ordering::Relaxed) && thread::is_given_up() {
            return Err(SqlError::given_up());
        }
        if self.begun.elapsed() >= *self.due.lock() {
            self.report();
        }
        Ok(())
    }

    pub(super) fn look(&self) -> Recovering {
        let (done, total) = (
            self.done.load(Ordering::Relaxed) as f64,
            self.total.load(Ordering::Relaxed).max(1) as f64,
        );
        // The checkpoint at the end is not counted.
        let now = ((done / total).min(1.0) * 9_900.0) as u32;
        let reported = self.reported.fetch_max(now, Ordering::Relaxed).max(now);
        let took = self.begun.elapsed().as_secs_f64();
        let rest = match reported {
            0 => 0.0,
            n => took * (10_000.0 - f64::from(n)) / f64::from(n),
        };
        Recovering {
            db: self.db,
            name: self.name.clone(),
            started: self.started,
            phase: self.phase.load(Ordering::Relaxed),
            percent: reported as f32 / 100.0,
            remaining: Duration::from_secs_f64(rest.min(1e9)),
        }
    }

    fn report(&self) {
        *self.due.lock() = self.begun.elapsed() + AGAIN;
        let now = self.look();
        let (percent, seconds) = (now.percent as u32, now.remaining.as_secs());
        let args: [&dyn std::fmt::Display; 5] =
            [&self.name, &self.db.0, &percent, &seconds, &now.phase];
        let text = SqlError::new(&messages::RECOVERY_PROGRESS, &args).message;
        self.all.notice(&text);
    }

    pub fn took(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn end(&self) {
        self.all.under_way.lock().remove(&self.db.0);
    }
}
