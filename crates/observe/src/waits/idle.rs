//! `SOS_WORK_DISPATCHER`: workers without work, whose waits may have no end.
//!
//! A worker that waits for the next request of anybody would add its time only when one comes: hours later on a quiet
//! server. So its time counts as it goes by: `done + waiting * now - begun`, where `begun` is the sum of when each of
//! those who wait began. Three counters, because requests pass through here.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use duramen_os::time;

static WAITING: AtomicI64 = AtomicI64::new(0);
static BEGUN: AtomicI64 = AtomicI64::new(0);
static DONE: AtomicI64 = AtomicI64::new(0);
static STARTED: AtomicU64 = AtomicU64::new(0);
static LONGEST: AtomicU64 = AtomicU64::new(0);
/// What had gone by when the statistics were cleared.
static CLEARED: AtomicI64 = AtomicI64::new(0);

/// A worker without work; it has some when this is dropped.
#[must_use = "the worker has work when the guard is dropped"]
#[derive(Debug)]
pub struct IdleWorker {
    since: i64,
}

fn now() -> i64 {
    i64::try_from(time::now().nanos()).unwrap_or(i64::MAX)
}

/// The calling worker has nothing to do. Nobody who counts waits hears of it: see [`crate::on_wait`].
pub fn idle_worker() -> IdleWorker {
    let since = now();
    STARTED.fetch_add(1, Relaxed);
    BEGUN.fetch_add(since, Relaxed);
    WAITING.fetch_add(1, Relaxed);
    IdleWorker { since }
}

impl Drop for IdleWorker {
    fn drop(&mut self) {
        let waited = now() - self.since;
        WAITING.fetch_sub(1, Relaxed);
        BEGUN.fetch_sub(self.since, Relaxed);
        DONE.fetch_add(waited, Relaxed);
        LONGEST.fetch_max(waited.unsigned_abs(), Relaxed);
    }
}

fn elapsed() -> i64 {
    let going_on = WAITING.load(Relaxed).saturating_mul(now()) - BEGUN.load(Relaxed);
    DONE.load(Relaxed) + going_on
}

/// Waits begun, nanoseconds, and the longest that has ended.
pub(super) fn totals() -> (u64, u64, u64) {
    let nanos = (elapsed() - CLEARED.load(Relaxed)).max(0);
    (
        STARTED.load(Relaxed),
        nanos.unsigned_abs(),
        LONGEST.load(Relaxed),
    )
}

pub(super) fn clear() {
    STARTED.store(0, Relaxed);
    LONGEST.store(0, Relaxed);
    CLEARED.store(elapsed(), Relaxed);
}
