//! Threads that do the pieces of a job side by side, and the buffers that go round between them.
//!
//! Invariants
//! 1. Pieces are given out in order and results come back in order, whoever is ready first.
//!    [test: results_come_in_order_whoever_is_ready_first]
//! 2. Who takes a piece has a buffer for it already, so the oldest piece under way never waits for a younger one. As many
//!    pieces are under way as there are buffers. [test: as_many_buffers_are_made_as_there_is_memory_for]
//! 3. Threads are gone when the team is: whoever gives a medium up may cut it then. [test: a_team_that_is_given_up_ends]

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{PageId, SqlError, SqlResult};
use duramen_os::memory::{Account, Broker, Clerk};
use duramen_os::sync::{Condvar, Mutex, Receiver, channel};
use duramen_os::thread::{JoinHandle, try_spawn};
use duramen_os::{AlignedBuf, IoError};
use duramen_pool::io_error;

use super::copy::EXTENT_BYTES;

/// What the system says when it refuses a thread, or when one has died.
pub(super) fn no_thread(e: &IoError) -> SqlError {
    io_error(e, "start a thread for", PageId::NULL, "a backup or restore")
}

/// How much is read and written at once, and how often side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// MAXTRANSFERSIZE: whole extents.
    pub bytes: usize,
    /// BUFFERCOUNT: at most so many are under way. Buffers are made when there is work for them.
    pub buffers: usize,
}

impl Default for Transfer {
    fn default() -> Transfer {
        Transfer {
            bytes: 1 << 20,
            buffers: 8,
        }
    }
}

impl Transfer {
    pub(super) fn room(self, memory: &Arc<Broker>) -> Arc<Buffers> {
        Buffers::new(self.buffers, self.bytes.max(EXTENT_BYTES), memory)
    }
}

/// Buffers of one size, made when they are needed and there is memory for them; who finds none waits for one that is given
/// back. The first is there whatever others hold.
pub(super) struct Buffers {
    state: Mutex<Free>,
    given: Condvar,
    bytes: usize,
    most: usize,
}

struct Free {
    free: Vec<AlignedBuf>,
    made: usize,
    closed: bool,
    held: Account,
}

impl Free {
    /// Whether there is memory for one more.
    fn may_make(&mut self, bytes: usize) -> bool {
        let all = (self.made as u64 + 1) * bytes as u64;
        match self.made {
            0 => self.held.set(all),
            _ if !self.held.hold(all) => return false,
            _ => {}
        }
        self.made += 1;
        true
    }
}

impl Buffers {
    /// At most `most` buffers of `bytes` bytes.
    pub fn new(most: usize, bytes: usize, memory: &Arc<Broker>) -> Arc<Buffers> {
        Arc::new(Buffers {
            state: Mutex::new(Free {
                free: Vec::new(),
                made: 0,
                closed: false,
                held: memory.account(Clerk::Backup),
            }),
            given: Condvar::new(),
            bytes,
            most: most.max(1),
        })
    }

    /// `None` when they are closed.
    pub fn take(&self) -> Option<AlignedBuf> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(buf) = state.free.pop() {
                return Some(buf);
            }
            if state.made < self.most && state.may_make(self.bytes) {
                drop(state);
                return Some(AlignedBuf::zeroed(self.bytes));
            }
            self.given.wait(&mut state);
        }
    }

    pub fn give(&self, buf: AlignedBuf) {
        self.state.lock().free.push(buf);
        self.given.notify_one();
    }

    /// Nobody gets one any more.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.given.notify_all();
    }
}

struct Pieces<I> {
    rest: I,
    given: usize,
}

/// Threads at work on the pieces of one job.
pub(super) struct Team<R> {
    results: Option<Receiver<(usize, R)>>,
    early: BTreeMap<usize, R>,
    next: usize,
    /// How many pieces were given out so far.
    given: Box<dyn Fn() -> usize + Send>,
    buffers: Arc<Buffers>,
    ended: bool,
    threads: Vec<JoinHandle<()>>,
}

impl<R: Send + 'static> Team<R> {
    /// Starts `threads` threads, each of which does piece after piece in a buffer that `work` gives back, or somebody else
    /// who gets it from there. A team that is given up before its end closes the buffers.
    pub fn start<I>(
        name: &str,
        threads: usize,
        pieces: I,
        buffers: &Arc<Buffers>,
        work: impl Fn(AlignedBuf, I::Item) -> R + Send + Sync + 'static,
    ) -> SqlResult<Team<R>>
    where
        I: Iterator + Send + 'static,
        I::Item: 'static,
    {
        let (sender, results) = channel(2 * threads);
        let pieces = Arc::new(Mutex::new(Pieces {
            rest: pieces,
            given: 0,
        }));
        let work = Arc::new(work);
        let counted = pieces.clone();
        let mut team = Team {
            results: Some(results),
            early: BTreeMap::new(),
            next: 0,
            given: Box::new(move || counted.lock().given),
            buffers: buffers.clone(),
            ended: false,
            threads: Vec::new(),
        };
        for _ in 0..threads.max(1) {
            let (sender, pieces) = (sender.clone(), pieces.clone());
            let (buffers, work) = (buffers.clone(), work.clone());
            let thread = try_spawn(name, move || {
                while let Some(buf) = buffers.take() {
                    let taken = {
                        let mut pieces = pieces.lock();
                        let piece = pieces.rest.next();
                        pieces.given += usize::from(piece.is_some());
                        piece.map(|p| (pieces.given - 1, p))
                    };
                    let Some((number, piece)) = taken else {
                        return buffers.give(buf);
                    };
                    if sender.send((number, work(buf, piece))).is_err() {
                        return;
                    }
                }
            });
            match thread {
                Ok(thread) => team.threads.push(thread),
                // One does everything, if slowly.
                Err(_) if !team.threads.is_empty() => break,
                Err(e) => return Err(no_thread(&e)),
            }
        }
        Ok(team)
    }

    /// The result of the next piece; `None` behind the last. What somebody has given up goes no further.
    pub fn next(&mut self) -> SqlResult<Option<R>> {
        loop {
            if duramen_os::thread::is_given_up() {
                return Err(SqlError::given_up());
            }
            if let Some(result) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(Some(result));
            }
            let received = self.results.as_ref().and_then(|r| r.recv().ok());
            match received {
                Some((number, result)) => {
                    self.early.insert(number, result);
                }
                None if (self.given)() == self.next => {
                    self.ended = true;
                    return Ok(None);
                }
                // A thread has died over its piece.
                None => return Err(no_thread(&IoError::device("clone"))),
            }
        }
    }
}

impl<R> Drop for Team<R> {
    fn drop(&mut self) {
        let _others = duramen_os::thread::others();
        // Who has a result for nobody ends, and who waits for a buffer that will not come.
        self.results = None;
        if !self.ended {
            self.buffers.close();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use duramen_os::sim::{Simulation, seeds};
    use duramen_os::{thread, time};

    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_ready_first() {
        for seed in seeds(1, 50) {
            Simulation::new(seed).run(|_| {
                let buffers = Buffers::new(1 + seed as usize % 4, 8, &Broker::new(1 << 20));
                let team = Team::start("test", 3, 0..40u64, &buffers, |buf, n| {
                    thread::sleep(Duration::from_micros(n * 7 % 11));
                    (buf, n)
                });
                let mut team = team.unwrap();
                for expected in 0..40 {
                    let (buf, n) = team.next().unwrap().unwrap();
                    assert_eq!(n, expected, "seed {seed}");
                    buffers.give(buf);
                }
                assert!(team.next().unwrap().is_none());
            });
        }
    }

    /// A medium's BUFFERCOUNT is a wish: what there is no memory for is not made, and the work is done with fewer.
    #[test]
    fn as_many_buffers_are_made_as_there_is_memory_for() {
        Simulation::new(1).run(|_| {
            let memory = Broker::new(1 << 20);
            let most = memory.most(Clerk::Backup);
            let buffers = Buffers::new(1000, 1 << 20, &memory);
            let team = Team::start("test", 3, 0..200u64, &buffers, |buf, n| (buf, n));
            let mut team = team.unwrap();
            for expected in 0..200 {
                let (buf, n) = team.next().unwrap().unwrap();
                assert_eq!(n, expected);
                assert!(memory.of(Clerk::Backup) <= most);
                buffers.give(buf);
            }
            drop((team, buffers));
            assert_eq!(memory.of(Clerk::Backup), 0);
            // The first is there though others hold everything.
            memory.take(Clerk::Backup, most);
            let buffers = Buffers::new(3, 1 << 20, &memory);
            assert!(buffers.take().is_some() && !buffers.state.lock().may_make(1 << 20));
        });
    }

    #[test]
    fn a_team_that_is_given_up_ends() {
        for seed in seeds(1, 50) {
            Simulation::new(seed).run(|_| {
                let buffers = Buffers::new(2, 8, &Broker::new(1 << 20));
                let began = time::now();
                let team = Team::start("test", 3, 0u64.., &buffers, |buf, n| (buf, n));
                let mut team = team.unwrap();
                let (_, n) = team.next().unwrap().unwrap();
                assert_eq!(n, 0);
                drop(team);
                assert!(began.elapsed() < Duration::from_secs(1));
            });
        }
    }
}
