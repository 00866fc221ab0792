//! Who waits for durability, each on a bell of their own: a finished write wakes those whose records are durable now and
//! one more, who writes the next batch. With one condition for all, 256 commits in line would wake each other 256 times.
//!
//! Nobody is forgotten: a sleeper found somebody else writing (or sealing) when it looked, under the mutex; every write
//! ends in `Log::complete`, which rings for all that is durable and, while there is work left, for one of the others. A
//! failed write rings for all.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::Lsn;
use duramen_os::sync::{Condvar, MutexGuard};

use super::state::State;

#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    condition: Condvar,
}

impl Bell {
    /// Not under the log's mutex, where that can be helped: the sleeper needs it first thing.
    pub fn ring(&self) {
        self.condition.notify_one();
    }
}

/// The LSN each waits for.
pub(super) type Sleepers = VecDeque<(Lsn, Arc<Bell>)>;

/// Waiting gives the mutex up, so it needs the guard.
pub(super) trait Sleep {
    /// Until somebody rings; `lsn` may or may not be durable then.
    fn sleep_until(&mut self, lsn: Lsn);
}

impl Sleep for MutexGuard<'_, State> {
    fn sleep_until(&mut self, lsn: Lsn) {
        let bell = Arc::new(Bell::default());
        self.sleepers.push_back((lsn, bell.clone()));
        while !bell.rung.load(Ordering::Relaxed) {
            bell.condition.wait(self);
        }
    }
}

impl State {
    /// Takes out those who need not wait any more: their records are durable, or nothing will ever be.
    pub fn served_sleepers(&mut self) -> Vec<Arc<Bell>> {
        let (durable, all) = (self.durable, self.poisoned.is_some());
        let mut served = Vec::new();
        self.sleepers.retain(|(lsn, bell)| {
            let wait = *lsn > durable && !all;
            if !wait {
                bell.rung.store(true, Ordering::Relaxed);
                served.push(bell.clone());
            }
            wait
        });
        served
    }

    /// Takes out the one who has waited longest, to write the next batch.
    pub fn next_sleeper(&mut self) -> Option<Arc<Bell>> {
        let (_, bell) = self.sleepers.pop_front()?;
        bell.rung.store(true, Ordering::Relaxed);
        Some(bell)
    }
}
