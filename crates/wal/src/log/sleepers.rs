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
use super::state::{Durable, State};

/// What a bell says.
#[derive(Debug)]
pub(super) enum Call {
    /// The sleeper's records are durable: it goes its way without the log's mutex, which all who are served would want at
    /// once. Before that it rings for these, who are served too: waking somebody costs more than going to sleep, and who
    /// woke everybody alone would keep the last of 64 waiting for twice as long as a write.
    Served(Vec<Arc<Bell>>),
    /// See what there is to do, or what has failed.
    Look,
}

#[derive(Debug, Default)]
pub(super) struct Bell {
    said: Mutex<Option<Call>>,
    condition: Condvar,
}

impl Bell {
    pub fn ring(&self, call: Call) {
        *self.said.lock() = Some(call);
        self.condition.notify_one();
    }

    /// What is said until the deadline.
    fn wait(&self, deadline: Option<Instant>) -> Option<Call> {
        let mut said = self.said.lock();
        loop {
            if let Some(call) = said.take() {
                return Some(call);
            }
            match deadline {
                None => self.condition.wait(&mut said),
                Some(deadline) => {
                    if self.condition.wait_until(&mut said, deadline) {
                        return said.take();
                    }
                }
            }
        }
    }
}

/// So many are woken by whoever has served them; each of them wakes its part of the others.
const ARMS: usize = 2;

/// Rings for all who are served.
pub(super) fn ring_served(mut served: Vec<Arc<Bell>>) {
    for arms in (1..=ARMS).rev() {
        let Some(first) = served.pop() else { return };
        let part = served.len() / arms;
        let rest = served.split_off(served.len() - part);
        first.ring(Call::Served(rest));
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
        s.durable.sleepers.push_back((lsn, bell.clone()));
        drop(s);
        let call = match bell.wait(deadline) {
            Some(call) => Some(call),
            None => {
                let mut s = self.lock();
                let all = s.durable.sleepers.len();
                s.durable.sleepers.retain(|(_, b)| !Arc::ptr_eq(b, &bell));
                if s.durable.sleepers.len() < all {
                    return Some(s);
                }
                drop(s);
                // Somebody is about to ring, perhaps with others to ring for.
                bell.wait(None)
            }
        };
        match call {
            Some(Call::Served(others)) => {
                ring_served(others);
                None
            }
            _ => Some(self.lock()),
        }
    }
}

impl Durable {
    /// Takes out those whose records are durable.
    pub fn take_served(&mut self) -> Vec<Arc<Bell>> {
        let durable = self.lsn;
        let mut served = Vec::new();
        self.sleepers.retain(|(lsn, bell)| {
            let is_served = *lsn <= durable;
            if is_served {
                served.push(bell.clone());
            }
            !is_served
        });
        served
    }

    /// Takes out the one who has waited longest, to write the next batch.
    pub fn next_sleeper(&mut self) -> Option<Arc<Bell>> {
        let next = self.sleepers.pop_front();
        debug_assert!(
            next.as_ref().is_none_or(|(lsn, _)| *lsn > self.lsn),
            "sleepers/1: who is served is asked to write"
        );
        next.map(|(_, bell)| bell)
    }

    /// Nothing more will be durable: has all look why.
    pub fn rouse(&mut self) {
        for (_, bell) in self.sleepers.drain(..) {
            bell.ring(Call::Look);
        }
    }
}
