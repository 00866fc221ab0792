//! Waiting for a change of what a mutex protects.

use std::time::Duration;

use super::MutexGuard;
use crate::sim::sched::{self, Wait};
use crate::time;

/// A condition. Wake-ups may be spurious: wait in a loop.
#[derive(Debug, Default)]
pub struct Condvar {
    raw: parking_lot::Condvar,
}

/// How long a wait lasts while a simulation unwinds its threads: nobody is left to notify.
const ENDING_WAIT: Duration = Duration::from_millis(1);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar {
            raw: parking_lot::Condvar::new(),
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
            let timed_out = here.block(Wait::Signal(self.address()), limit.map(time::nanos));
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
        match limit {
            None => {
                self.raw.wait(raw);
                false
            }
            Some(limit) => self.raw.wait_for(raw, limit).timed_out(),
        }
    }

    pub fn notify_one(&self) {
        match sched::here_in_drop() {
            Some(here) => here.signal_one(self.address()),
            None => {
                self.raw.notify_one();
            }
        }
    }

    pub fn notify_all(&self) {
        match sched::here_in_drop() {
            Some(here) => here.signal_all(self.address()),
            None => {
                self.raw.notify_all();
            }
        }
    }
}
