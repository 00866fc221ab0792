//! One processor for all threads of a simulation. They run one at a time and hand the world over at every other
//! primitive: on one processor that is a switch of threads, across two it wakes a processor that has gone to sleep.
//!
//! A hint, no more: where the system refuses it, the simulation runs as it is, slower. No choice of a simulation sees it.

use std::sync::Mutex;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// How many simulations of this process are on each processor; those beyond the last are not counted.
static BUSY: Mutex<[u16; CpuSet::MAX_CPU]> = Mutex::new([0; CpuSet::MAX_CPU]);

/// While it lives, the calling thread and the threads that it starts stay on one processor.
pub(super) struct Pinned {
    before: CpuSet,
    at: usize,
}

impl Pinned {
    /// On the permitted processor with the fewest simulations of this process; among those, where the thread is now.
    pub(super) fn new() -> Option<Pinned> {
        let before = sched_getaffinity(None).ok()?;
        let here = sched_getcpu();
        let mut busy = BUSY.lock().ok()?;
        let at = (0..CpuSet::MAX_CPU)
            .filter(|cpu| before.is_set(*cpu))
            .min_by_key(|cpu| (busy[*cpu], *cpu != here))?;
        let mut only = CpuSet::new();
        only.set(at);
        sched_setaffinity(None, &only).ok()?;
        busy[at] += 1;
        Some(Pinned { before, at })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Ok(mut busy) = BUSY.lock() {
            busy[self.at] -= 1;
        }
        // Refused only when the processors the process may use have changed meanwhile: it then stays where it is.
        let _ = sched_setaffinity(None, &self.before);
    }
}
