//! How many statements change rows at the same time.
//!
//! A page latch is held for a microsecond; when hundreds of workers want the same few (the last page of a table that all
//! insert into), two processors spend their time on putting workers to sleep and waking them, one row at a time. So while
//! more workers are at it than there are processors for, a statement that changes rows needs a *turn*. A turn lasts for
//! [`QUANTUM`], over as many statements as fit, and then goes to whoever has waited longest; that is one wake-up for
//! dozens of rows.
//!
//! Invariants
//! 1. Turns are advice: nothing is protected by them. So a turn whose holder sleeps (on a lock, on its client) is taken
//!    over when its time is up, and nobody can deadlock on one.
//!    [assert: admission/1; test: everybody_gets_through_though_some_sleep_on_their_turn]
//! 2. A worker waits for its turn before its statement holds any latch. [assert: admission/2]
//! 3. Who waits for a commit to be hardened, or is done with its batch, gives its turn back. [assert: admission/3]
//! 4. Everybody in line is either rung for or looks again by itself after the time its place in the line should take.
//!    [assert: admission/4]
//!
//! The wait has no name in SQL Server's list that fits better than SOS_SCHEDULER_YIELD: a worker that has used up its
//! quantum and waits for a scheduler.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_observe::WaitType;
use duramen_os::sync::{Condvar, Mutex, MutexGuard};
use duramen_os::time::{self, Instant};

/// SQL Server's quantum.
const QUANTUM: Duration = Duration::from_millis(4);

#[derive(Debug)]
struct Turn {
    session: SessionId,
    ends: Instant,
}

#[derive(Debug, Default)]
struct Line {
    turns: Vec<Turn>,
    waiting: VecDeque<(SessionId, Arc<Condvar>)>,
}

#[derive(Debug)]
pub struct Admission {
    /// Turns at once.
    places: usize,
    /// Statements that run or wait in line.
    active: AtomicUsize,
    /// How many have a turn.
    held: AtomicUsize,
    line: Mutex<Line>,
}

/// A statement that was let in.
pub struct Admitted<'a>(&'a Admission);

impl Admission {
    /// For a machine with so many processors.
    pub fn new(processors: usize) -> Admission {
        Admission {
            places: processors.max(1),
            active: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            line: Mutex::new(Line::default()),
        }
    }

    /// Before a statement changes rows; no latch is held.
    pub fn enter(&self, session: SessionId) -> Admitted<'_> {
        if self.active.fetch_add(1, Ordering::Relaxed) >= 2 * self.places {
            self.take_turn(session);
        }
        Admitted(self)
    }

    /// The session will not change anything for a while.
    pub fn leave(&self, session: SessionId) {
        if self.held.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut line = self.line.lock();
        let before = line.turns.len();
        line.turns.retain(|t| t.session != session);
        debug_assert!(
            line.turns.iter().all(|t| t.session != session),
            "admission/3: who is done has a turn"
        );
        if line.turns.len() < before {
            self.call_next(&mut line);
            self.held.store(line.turns.len(), Ordering::Relaxed);
        }
    }

    fn take_turn(&self, session: SessionId) {
        debug_assert!(
            duramen_os::sync::held().is_empty(),
            "admission/2: a turn is waited for with a latch or a lock held: {:?}",
            duramen_os::sync::held()
        );
        let now = time::now();
        let mut line = self.line.lock();
        self.wait_for_turn(&mut line, session, now);
        self.held.store(line.turns.len(), Ordering::Relaxed);
    }

    fn wait_for_turn(&self, line: &mut MutexGuard<'_, Line>, session: SessionId, now: Instant) {
        match line.turns.iter().position(|t| t.session == session) {
            Some(at) if line.turns[at].ends > now || line.waiting.is_empty() => return,
            Some(at) => {
                line.turns.swap_remove(at);
                self.call_next(line);
            }
            None if self.free_place(line, now) && line.waiting.is_empty() => {
                line.turns.push(Turn::new(session, now));
                return;
            }
            None => {}
        }
        let _wait = duramen_observe::wait(WaitType::SOS_SCHEDULER_YIELD);
        debug_assert!(
            line.turns.iter().all(|t| t.session != session),
            "admission/4: who has a turn stands in line"
        );
        let bell = Arc::new(Condvar::new());
        line.waiting.push_back((session, bell.clone()));
        loop {
            let before = line.waiting.len().div_ceil(self.places) as u32 + 2;
            bell.wait_for(line, QUANTUM * before);
            if !line.is_waiting(&bell) {
                return;
            }
            // Not rung for: whoever had a turn may be asleep. The line goes on without them.
            self.free_place(line, time::now());
            self.call_next(line);
            if !line.is_waiting(&bell) {
                return;
            }
        }
    }

    /// Ends the turns whose time is up; whether there is room for one more.
    fn free_place(&self, line: &mut Line, now: Instant) -> bool {
        if line.turns.len() >= self.places {
            line.turns.retain(|t| t.ends > now);
        }
        line.turns.len() < self.places
    }

    /// Gives free places to those who have waited longest.
    fn call_next(&self, line: &mut Line) {
        while line.turns.len() < self.places {
            let Some((session, bell)) = line.waiting.pop_front() else {
                return;
            };
            line.turns.push(Turn::new(session, time::now()));
            bell.notify_one();
        }
        debug_assert!(
            line.turns.len() >= self.places || line.waiting.is_empty(),
            "admission/4: a place is free and somebody stands in line"
        );
    }
}

impl Line {
    /// Who is out of the line was called. Their turn may be over before they wake up: they go on all the same.
    fn is_waiting(&self, bell: &Arc<Condvar>) -> bool {
        self.waiting.iter().any(|(_, b)| Arc::ptr_eq(b, bell))
    }
}

impl Turn {
    fn new(session: SessionId, now: Instant) -> Turn {
        Turn {
            session,
            ends: now + QUANTUM,
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let before = self.0.active.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(
            before > 0,
            "admission/1: more statements end than have begun"
        );
    }
}

#[cfg(test)]
mod tests;
