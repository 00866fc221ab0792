//! Waiting for a change of what a mutex protects.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::{MutexGuard, signal};
use crate::sim::sched::{self, Wait};
use crate::time;

/// A condition. Wake-ups may be spurious: wait in a loop.
#[derive(Debug, Default)]
pub struct Condvar {
    raw: parking_lot::Condvar,
    /// Threads that wait; changed under the mutex, so that who has changed what they wait for sees them.
    waiting: AtomicU32,
    /// When it was notified last while somebody waited, in nanoseconds of the clock.
    notified: AtomicU64,
}

/// How long a wait lasts while a simulation unwinds its threads: nobody is left to notify.
const ENDING_WAIT: Duration = Duration::from_millis(1);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar {
            raw: parking_lot::Condvar::new(),
            waiting: AtomicU32::new(0),
            notified: AtomicU64::new(0),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Lets go of the lock, waits for a notification, takes the lock again.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_limited(guard, None);
    }

    /// The same for at most `limit`; true when the time ran out.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> bool {
        self.wait_limited(guard, Some(limit))
    }

    /// The same until a moment; true when it passed.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: time::Instant,
    ) -> bool {
        self.wait_limited(guard, Some(deadline - time::now()))
    }

    /// Waits while `condition` holds.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    fn wait_limited<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        limit: Option<Duration>,
    ) -> bool {
        if let Some(here) = sched::here() {
            guard.release_simulated(&here);
            let timed_out = here.block(
                Wait::Signal(self.address()),
                limit.map(crate::sim::sched::nanos),
            );
            guard.relock_simulated(&here);
            return timed_out;
        }
        let limit = if sched::ending() {
            Some(ENDING_WAIT)
        } else {
            limit
        };
        let Some(raw) = guard.raw_mut() else {
            return false;
        };
        self.waiting.fetch_add(1, Relaxed);
        let began = limit.map(|_| time::now());
        let before = self.notified.load(Relaxed);
        let timed_out = match limit {
            None => {
                self.raw.wait(raw);
                false
            }
            Some(limit) => self.raw.wait_for(raw, limit).timed_out(),
        };
        self.waiting.fetch_sub(1, Relaxed);
        let notified = self.notified.load(Relaxed);
        match (timed_out, began.zip(limit)) {
            (true, Some((began, limit))) => signal::woken(began + limit),
            _ if notified != before => signal::woken(time::Instant(notified)),
            _ => {}
        }
        timed_out
    }

    fn note_notified(&self) {
        if self.waiting.load(Relaxed) > 0 {
            self.notified.store(time::now().nanos(), Relaxed);
        }
    }

    pub fn notify_one(&self) {
        match sched::here_in_drop() {
            Some(here) => here.signal_one(self.address()),
            None => {
                self.note_notified();
                self.raw.notify_one();
            }
        }
    }

    pub fn notify_all(&self) {
        match sched::here_in_drop() {
            Some(here) => here.signal_all(self.address()),
            None => {
                self.note_notified();
                self.raw.notify_all();
            }
        }
    }
}
