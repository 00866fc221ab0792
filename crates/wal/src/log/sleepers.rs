//! Who waits for durability, each on a bell of their own: a finished write wakes those whose records are durable now and
//! one more, who writes the next batch. With one condition for all, 256 commits in line would wake each other 256 times.
//!
//! Nobody is forgotten: a sleeper found somebody else writing (or sealing) when it looked, under the mutex; every write
//! ends in `Log::complete`, which rings for all that is durable and, while there is work left, for one of the others. A
//! failed write rings for all.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::Lsn;
use duramen_os::sync::{Condvar, Mutex, MutexGuard};
use duramen_os::time::Instant;

use super::Log;
use super::state::State;

/// What a bell says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// The sleeper's records are durable: it goes its way without the log's mutex, which all who are served would want at
    /// once.
    Served,
    /// See what there is to do, or what has failed.
    Look,
}

#[derive(Debug, Default)]
pub(super) struct Bell {
    said: Mutex<Option<Call>>,
    condition: Condvar,
}

/// A bell that is going to ring, once the log's mutex is given up.
#[derive(Debug)]
pub(super) struct Ring(Arc<Bell>, Call);

impl Ring {
    pub fn ring(&self) {
        *self.0.said.lock() = Some(self.1);
        self.0.condition.notify_one();
    }
}

impl Bell {
    /// What is said until the deadline.
    fn hear(&self, deadline: Option<Instant>) -> Option<Call> {
        let mut said = self.said.lock();
        while said.is_none() {
            match deadline {
                None => self.condition.wait(&mut said),
                Some(deadline) => {
                    if self.condition.wait_until(&mut said, deadline) {
                        break;
                    }
                }
            }
        }
        *said
    }
}

/// The LSN each waits for.
pub(super) type Sleepers = VecDeque<(Lsn, Arc<Bell>)>;

impl Log {
    /// Sleeps until somebody rings, or the deadline. `None`: `lsn` is durable.
    pub(super) fn sleep_until<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
        lsn: Lsn,
        deadline: Option<Instant>,
    ) -> Option<MutexGuard<'a, State>> {
        let bell = Arc::new(Bell::default());
        s.sleepers.push_back((lsn, bell.clone()));
        drop(s);
        match bell.hear(deadline) {
            Some(Call::Served) => None,
            Some(Call::Look) => Some(self.lock()),
            None => {
                let mut s = self.lock();
                s.sleepers.retain(|(_, b)| !Arc::ptr_eq(b, &bell));
                Some(s)
            }
        }
    }
}

impl State {
    /// Takes out those who need not wait any more: their records are durable, or nothing will ever be.
    pub fn served_sleepers(&mut self) -> Vec<Ring> {
        let (durable, all) = (self.durable, self.poisoned.is_some());
        let mut served = Vec::new();
        self.sleepers.retain(|(lsn, bell)| {
            let call = match *lsn <= durable {
                true => Call::Served,
                false if all => Call::Look,
                false => return true,
            };
            served.push(Ring(bell.clone(), call));
            false
        });
        served
    }

    /// Takes out the one who has waited longest, to write the next batch.
    pub fn next_sleeper(&mut self) -> Option<Ring> {
        let (_, bell) = self.sleepers.pop_front()?;
        Some(Ring(bell, Call::Look))
    }
}
