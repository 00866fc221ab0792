//! How long threads that have been woken wait until they run: the difference between a notification and the return from the
//! wait. It costs a clock at a notification that somebody waits for and one at each wake-up, and nothing elsewhere.

use std::cell::Cell;
use std::time::Duration;

use crate::time::{self, Instant};

thread_local! {
    static NANOS: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's total since it began. Only waits for a [`super::Condvar`], so also for channels, are in it: who lets
/// go of a lock does not know whom it wakes. In a simulation it stays 0: a thread that may run does.
pub fn signal_time() -> Duration {
    Duration::from_nanos(NANOS.try_with(Cell::get).unwrap_or(0))
}

/// The thread runs again, after what happened `at` that moment.
pub(super) fn woken(at: Instant) {
    let nanos = crate::sim::sched::nanos(time::now() - at);
    // An error means that the thread is ending.
    let _ = NANOS.try_with(|n| n.set(n.get().saturating_add(nanos)));
}
