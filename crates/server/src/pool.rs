//! Workers: OS threads that wait for sockets and for jobs, and run what comes. Who takes a request from a socket runs it
//! and answers; no thread hands it to another.
//!
//! As few threads work as the machine has processors, so that under load a worker finds the next request ready when it has
//! answered one, and nobody has to be woken. While turns are short only one of them sleeps at the sockets, so that a client
//! that asks at once finds the worker that has just answered, and no other is woken to get in its way. Who finds several
//! sockets ready calls another; long turns, and turns that others have waited for, keep a second one at the sockets.
//!
//! A worker that begins to wait for something (a lock, the disk, the network: whatever the wait statistics count) is made
//! good by another at once; one that computes for long is noticed by [`Pool::tick`]. Those too many become spare when they
//! have answered, and end when they have been spare for a while.
//!
//! When as many threads as may be all wait, requests stay in line (THREADPOOL), but for those that others may be waiting
//! for: these are urgent, and get a thread beyond the limit that ends when it has run them.
//!
//! Invariants
//! 1. As long as there may be more threads, somebody watches the sockets, or will after a short turn, or after two ticks.
//!    [test: no_job_lies_while_workers_sleep]
//! 2. With all threads busy, `tick` itself looks at the sockets, so that an attention always arrives.
//!    [test: long_requests_keep_neither_others_nor_attentions_waiting]
//! 3. Jobs are not forgotten: whoever is about to watch looks for jobs after saying so, and who brings a job looks for
//!    watchers after leaving it. [test: no_job_lies_while_workers_sleep]
//! 4. Beyond the limit nothing but urgent jobs is begun: threads in excess are at most the urgent jobs that wait.
//!    [test: runs_all_and_bounds_the_workers]
//!
//! A connection has at most one job in line that runs something, and one urgent one, so the lines are bounded by the
//! connections.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_os::sync::{Condvar, Mutex};
use duramen_os::time::Instant;
use duramen_os::{thread, time};
use tokio::sync::Notify;

use crate::poller::{Poller, Ready};

/// How long a spare worker waits for a call before it ends.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// How often [`Pool::tick`] wants to be called while requests run.
pub const TICK: Duration = Duration::from_millis(5);
/// So many ticks without a request end the ticking until the next one.
const TICKS_UNTIL_SLEEP: u32 = 200;
/// A turn that takes longer is a reason for another worker to watch meanwhile, and so are those of the next [`SLOW`].
const LONG: Duration = Duration::from_micros(100);
/// The same while one client asks and nobody else: a turn may write the log.
const LONG_ALONE: Duration = Duration::from_millis(1);
/// So many turns in a row for which another connection has waited are a reason too.
const WAITING_TURNS: u32 = 4;
/// A turn that follows so soon has found its socket ready.
const AT_ONCE: Duration = Duration::from_micros(5);
const SLOW: Duration = Duration::from_millis(50);
/// A client that asks again so soon waits for nothing but its answers.
const SOON: Duration = Duration::from_micros(200);
/// How long a worker stays awake for the next request of such a client. To sleep and to be woken takes as long.
const AWAKE: Duration = Duration::from_micros(50);
/// What a worker reads at once.
const READ_BYTES: usize = 16 * 1024;
/// What one tick does at most in the place of the workers.
const LOOKS_OF_A_TICK: usize = 64;

/// What is done with a ready socket. The last parameter: a request may be run here, not only read.
type Serve = Box<dyn Fn(Ready, &mut [u8], bool) + Send + Sync>;

enum Job {
    Run(Box<dyn FnOnce() + Send>),
    /// A connection wants to be looked at.
    Look(Ready),
}

struct State {
    /// What others may be waiting for, taken first, and by threads beyond the limit where it must be.
    urgent: VecDeque<Job>,
    jobs: VecDeque<Job>,
    workers: usize,
    spare: usize,
    /// Spare workers called and not yet awake.
    called: usize,
    closed: bool,
}

/// What [`Pool::tick`] has seen.
#[derive(Default)]
struct Ticks {
    turns: u64,
    quiet: u32,
    /// Workers beyond the processors, for those that compute.
    more: usize,
}

struct Shared {
    state: Mutex<State>,
    call: Condvar,
    quiet: Condvar,
    poller: Poller,
    serve: OnceLock<Serve>,
    /// Length of `State::urgent` and `State::jobs`.
    jobs: AtomicUsize,
    /// Workers in [`Poller::wait`].
    watching: AtomicUsize,
    /// The bell has been rung, and who has heard it has not yet looked for jobs.
    rung: AtomicBool,
    /// Workers that are not spare and wait for nothing but sockets and jobs.
    active: AtomicUsize,
    /// How many may be active.
    target: AtomicUsize,
    /// Sockets and jobs taken.
    turns: AtomicU64,
    ticks: Mutex<Ticks>,
    /// Turns have been long, and a second worker is to watch until then: nanoseconds after `started`.
    slow_until: AtomicU64,
    started: Instant,
    /// Nobody ticks; the next turn asks for it.
    asleep: AtomicBool,
    stir: Notify,
    closed: AtomicBool,
    processors: usize,
    max_workers: usize,
    /// There are more than that; under the lock of `state` it is right, elsewhere it may be late.
    beyond: AtomicBool,
    idle_limit: Duration,
}

/// What a worker remembers of its last turn.
struct LastTurn {
    connection: u64,
    ended: Instant,
    /// Turns in a row for which somebody has waited.
    waiting: u32,
    /// It was for the same connection as the one before, and soon after it.
    alone: bool,
}

#[derive(Clone)]
pub struct Pool(Arc<Shared>);

thread_local! {
    /// The pool whose worker this thread is, and how many waits it is in.
    static WORKER: RefCell<Option<(Arc<Shared>, u32)>> = const { RefCell::new(None) };
}

impl Pool {
    /// Starts as many workers as the machine has processors. An error is the system's refusal.
    pub fn new(max_workers: usize) -> io::Result<Pool> {
        Pool::with_limits(max_workers, thread::available_parallelism(), IDLE_LIMIT)
    }

    fn with_limits(
        max_workers: usize,
        processors: usize,
        idle_limit: Duration,
    ) -> io::Result<Pool> {
        let max_workers = max_workers.max(1);
        let processors = processors.max(2).min(max_workers);
        duramen_observe::on_wait(wait_begins, wait_ends);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                urgent: VecDeque::new(),
                jobs: VecDeque::new(),
                workers: 0,
                spare: 0,
                called: 0,
                closed: false,
            }),
            call: Condvar::new(),
            quiet: Condvar::new(),
            poller: Poller::new()?,
            serve: OnceLock::new(),
            jobs: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
            rung: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            target: AtomicUsize::new(processors),
            turns: AtomicU64::new(0),
            ticks: Mutex::default(),
            slow_until: AtomicU64::new(0),
            started: time::now(),
            asleep: AtomicBool::new(true),
            stir: Notify::new(),
            closed: AtomicBool::new(false),
            processors,
            max_workers,
            beyond: AtomicBool::new(false),
            idle_limit,
        });
        for _ in 0..processors {
            shared.reinforce();
        }
        if shared.state.lock().workers == 0 {
            return Err(io::Error::other("no thread to be had"));
        }
        Ok(Pool(shared))
    }

    /// What happens with ready sockets. Called once, before the first is watched.
    pub fn set_serve(&self, serve: Serve) {
        let _ = self.0.serve.set(serve);
    }

    /// Watches a socket until it is closed.
    pub fn watch(&self, socket: impl AsFd, connection: u64) -> std::io::Result<()> {
        self.0.poller.add(socket, connection)
    }

    /// Whether the calling thread is a worker.
    pub fn is_worker() -> bool {
        WORKER.with_borrow(Option::is_some)
    }

    /// Runs `job` on a worker. After `close` it is dropped.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.0.push([Job::Run(Box::new(job))]);
    }

    /// Runs `job`, for whose end others may be waiting: on a worker, and where all that may be wait, on one more. After
    /// `close` it is dropped.
    pub fn run_urgently(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state.lock();
        if state.closed {
            return;
        }
        state.urgent.push_back(Job::Run(Box::new(job)));
        self.0.jobs.store(state.in_line(), SeqCst);
        drop(state);
        self.0.call_for_jobs();
    }

    /// The calling worker is about to do something that takes a while, as turns of these days do.
    pub fn expect_long(&self) {
        self.0.be_slow(time::now());
        if self.0.watching.load(SeqCst) == 0 {
            self.0.reinforce();
        }
    }

    /// Has a worker look at a connection, soon. May be called under any lock.
    pub fn look(&self, connection: u64) {
        self.0.push([Job::Look(Ready::asked(connection))]);
    }

    /// Jobs that no worker has taken yet.
    pub fn in_line(&self) -> usize {
        self.0.jobs.load(Relaxed)
    }

    /// To be called every [`TICK`] while it says true, and then again after [`Pool::stirred`].
    pub fn tick(&self) -> bool {
        self.0.tick()
    }

    /// Returns when requests come again.
    pub async fn stirred(&self) {
        self.0.stir.notified().await;
    }

    /// Lets workers finish what is queued and end; waits for them, at most so long. True when all have ended.
    pub fn close(&self, limit: Duration) -> bool {
        let mut state = self.0.state.lock();
        state.closed = true;
        self.0.closed.store(true, SeqCst);
        self.0.call.notify_all();
        self.0.poller.ring();
        let start = time::now();
        while state.workers > 0 {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                return false;
            };
            self.0.quiet.wait_for(&mut state, left);
        }
        true
    }
}

impl State {
    fn in_line(&self) -> usize {
        self.urgent.len() + self.jobs.len()
    }
}

impl Shared {
    fn push(self: &Arc<Shared>, jobs: impl IntoIterator<Item = Job>) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        state.jobs.extend(jobs);
        self.jobs.store(state.in_line(), SeqCst);
        drop(state);
        self.call_for_jobs();
    }

    /// Rings for one of those who watch, unless that has been done and nobody has woken yet.
    fn ring(&self) {
        if !self.rung.swap(true, SeqCst) {
            self.poller.ring();
        }
    }

    /// After [`Poller::wait`], before the look for jobs: the next who brings one rings again. Those brought meanwhile without
    /// a ring are for others when the caller is `busy` with what it has found.
    fn woken(self: &Arc<Shared>, busy: bool) {
        self.rung.store(false, SeqCst);
        if busy && self.jobs.load(SeqCst) > 0 {
            self.call_for_jobs();
        }
    }

    /// Somebody should see to the jobs.
    fn call_for_jobs(self: &Arc<Shared>) {
        if self.watching.load(SeqCst) > 0 {
            self.ring();
        } else {
            self.reinforce();
        }
    }

    fn take_job(self: &Arc<Shared>) -> Option<Job> {
        if self.jobs.load(SeqCst) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let mut job = state.urgent.pop_front();
        if job.is_none() && state.workers <= self.max_workers {
            job = state.jobs.pop_front();
        }
        let left = state.in_line();
        self.jobs.store(left, SeqCst);
        drop(state);
        if left > 0 && job.is_some() {
            // Several may have come before the one who was rung for awoke.
            self.call_for_jobs();
        }
        job
    }

    /// Makes one more worker active, if there are too few.
    fn reinforce(self: &Arc<Shared>) {
        if self.active.load(SeqCst) >= self.target.load(SeqCst) {
            return;
        }
        let mut state = self.state.lock();
        if state.closed || self.active.load(SeqCst) >= self.target.load(SeqCst) {
            return;
        }
        if state.spare > state.called {
            state.called += 1;
            self.active.fetch_add(1, SeqCst);
            drop(state);
            self.call.notify_one();
        } else if state.workers < self.max_workers || !state.urgent.is_empty() {
            state.workers += 1;
            self.beyond.store(state.workers > self.max_workers, Relaxed);
            self.active.fetch_add(1, SeqCst);
            drop(state);
            let shared = Arc::clone(self);
            if thread::try_spawn("worker", move || work(&shared)).is_err() {
                // No thread to be had: those there are go on, and the next tick tries again.
                self.active.fetch_sub(1, SeqCst);
                self.leave(&mut self.state.lock());
            }
        }
    }

    /// A worker does something, for a connection if there is one.
    fn turn(self: &Arc<Shared>, last: &mut LastTurn, connection: u64, turn: impl FnOnce()) {
        self.turns.fetch_add(1, SeqCst);
        if self.asleep.load(SeqCst) && self.asleep.swap(false, SeqCst) {
            self.stir.notify_one();
        }
        let begun = time::now();
        // A client that asks again while its answer is still being sent has not waited for others.
        let waited = connection != last.connection && begun - last.ended < AT_ONCE;
        last.waiting = if waited { last.waiting + 1 } else { 0 };
        last.alone = connection == last.connection && begun - last.ended < SOON;
        if last.waiting >= WAITING_TURNS {
            last.waiting = 0;
            self.be_slow(begun);
        }
        if !self.is_brisk(begun) && self.watching.load(SeqCst) == 0 {
            self.reinforce();
        }
        guarded(turn);
        let ended = time::now();
        let long = if last.alone { LONG_ALONE } else { LONG };
        if ended - begun > long {
            self.be_slow(ended);
        }
        last.connection = connection;
        last.ended = ended;
    }

    /// Waits for sockets or the bell; awake at first, if that is likely to be short.
    fn watch(&self, found: &mut Vec<Ready>, awake: bool) {
        let until = time::now() + AWAKE;
        while awake && time::now() < until {
            // Who has heard the bell goes back and says so, whatever has become of the job: until then nobody rings again.
            let rung = self.poller.wait(found, Some(Duration::ZERO));
            if rung || !found.is_empty() || self.jobs.load(SeqCst) > 0 || self.closed.load(SeqCst) {
                return;
            }
        }
        let _rung = self.poller.wait(found, None);
    }

    fn be_slow(&self, now: Instant) {
        let until = nanos(now + SLOW - self.started);
        self.slow_until.fetch_max(until, Relaxed);
    }

    /// Turns are short these days: one worker at the sockets is enough, since it is soon back.
    fn is_brisk(&self, now: Instant) -> bool {
        nanos(now - self.started) >= self.slow_until.load(Relaxed)
    }

    /// Whether one worker less would do.
    fn has_too_many(&self) -> bool {
        self.active.load(SeqCst) > self.target.load(SeqCst)
            || self.watching.load(SeqCst) > 0 && self.is_brisk(time::now())
    }

    /// Waits while there are enough others. False when this worker is to end.
    fn stand_by(&self) -> bool {
        let mut state = self.state.lock();
        if state.closed || state.in_line() > 0 || !self.has_too_many() {
            return true;
        }
        self.active.fetch_sub(1, SeqCst);
        state.spare += 1;
        let _idle = duramen_observe::idle_worker();
        loop {
            let late = self.call.wait_for(&mut state, self.idle_limit);
            if state.called > 0 {
                // Who called has counted this one as active.
                state.called -= 1;
                state.spare -= 1;
                return true;
            }
            if state.closed || late {
                state.spare -= 1;
                self.leave(&mut state);
                return false;
            }
        }
    }

    /// There are more workers than may be, and nothing urgent: this one ends. True when it has left.
    fn leaves_beyond(&self) -> bool {
        if !self.beyond.load(Relaxed) {
            return false;
        }
        let mut state = self.state.lock();
        let leaves = state.workers > self.max_workers && state.urgent.is_empty();
        if leaves {
            self.active.fetch_sub(1, SeqCst);
            self.leave(&mut state);
        }
        leaves
    }

    fn leave(&self, state: &mut State) {
        state.workers -= 1;
        self.beyond.store(state.workers > self.max_workers, Relaxed);
        self.quiet.notify_all();
        if state.closed {
            // The next who watches is to see it too.
            self.poller.ring();
        }
    }

    fn serve(&self, ready: Ready, buffer: &mut [u8], run: bool) {
        if let Some(serve) = self.serve.get() {
            serve(ready, buffer, run);
        }
    }

    fn tick(self: &Arc<Shared>) -> bool {
        let mut ticks = self.ticks.lock();
        let turns = self.turns.load(SeqCst);
        let moved = turns != ticks.turns;
        ticks.turns = turns;
        let watching = self.watching.load(SeqCst);
        if watching > 0 {
            let busy = self.active.load(SeqCst).saturating_sub(watching);
            if busy < self.processors && ticks.more > 0 {
                ticks.more -= 1;
                self.target.store(self.processors + ticks.more, SeqCst);
            }
            ticks.quiet = if moved { 0 } else { ticks.quiet + 1 };
            if ticks.quiet < TICKS_UNTIL_SLEEP {
                return true;
            }
            ticks.quiet = 0;
            self.asleep.store(true, SeqCst);
            // Who takes something after this wakes the ticks; who did so before is seen here.
            let taken = self.turns.load(SeqCst) != turns || self.watching.load(SeqCst) == 0;
            return taken && self.asleep.swap(false, SeqCst);
        }
        ticks.quiet = 0;
        if moved {
            return true;
        }
        // All compute, or wait for what nobody counts.
        if self.active.load(SeqCst) >= self.target.load(SeqCst) {
            ticks.more = (ticks.more + 1).min(self.max_workers);
            self.target.store(self.processors + ticks.more, SeqCst);
        }
        drop(ticks);
        self.reinforce();
        let mut state = self.state.lock();
        if state.workers >= self.max_workers && state.spare == 0 {
            // Nobody else is left to read.
            let mut found = Vec::new();
            state.jobs.retain(|job| match job {
                Job::Look(ready) => {
                    found.push(*ready);
                    false
                }
                Job::Run(_) => true,
            });
            self.jobs.store(state.in_line(), SeqCst);
            drop(state);
            let mut buffer = vec![0; READ_BYTES];
            for _ in 0..LOOKS_OF_A_TICK {
                if self.poller.wait(&mut found, Some(Duration::ZERO)) {
                    self.woken(true);
                }
                if found.is_empty() {
                    break;
                }
                for ready in found.drain(..) {
                    self.serve(ready, &mut buffer, false);
                }
            }
        }
        true
    }
}

fn work(shared: &Arc<Shared>) {
    WORKER.set(Some((Arc::clone(shared), 0)));
    let mut buffer = vec![0; READ_BYTES];
    let mut found = Vec::new();
    let mut last = LastTurn {
        connection: 0,
        ended: shared.started,
        waiting: 0,
        alone: false,
    };
    loop {
        if let Some(job) = shared.take_job() {
            let connection = match &job {
                Job::Run(_) => 0,
                Job::Look(ready) => ready.connection,
            };
            shared.turn(&mut last, connection, || match job {
                Job::Run(job) => job(),
                Job::Look(ready) => shared.serve(ready, &mut buffer, true),
            });
            continue;
        }
        if shared.closed.load(SeqCst) {
            shared.active.fetch_sub(1, SeqCst);
            shared.leave(&mut shared.state.lock());
            return;
        }
        if shared.leaves_beyond() {
            return;
        }
        if shared.has_too_many() && !shared.stand_by() {
            return;
        }
        shared.watching.fetch_add(1, SeqCst);
        if shared.jobs.load(SeqCst) == 0 && !shared.closed.load(SeqCst) {
            let _idle = duramen_observe::idle_worker();
            shared.watch(&mut found, last.alone);
        }
        shared.watching.fetch_sub(1, SeqCst);
        shared.woken(!found.is_empty());
        let mut ready = found.drain(..);
        let Some(first) = ready.next() else {
            continue;
        };
        if ready.len() > 0 {
            // For whoever is free first.
            shared.push(ready.map(Job::Look));
        } else {
            drop(ready);
        }
        shared.turn(&mut last, first.connection, || {
            shared.serve(first, &mut buffer, true);
        });
    }
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// A request that panics is a defect, but one connection's: its guard closes it, the worker goes on.
fn guarded(turn: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(turn));
    // A panic may have left waits open.
    WORKER.with_borrow_mut(|worker| {
        if let Some((shared, waits)) = worker
            && std::mem::take(waits) > 0
        {
            shared.active.fetch_add(1, SeqCst);
        }
    });
}

/// The calling thread begins to wait: if it is a worker, another takes its place.
fn wait_begins() {
    let first = WORKER.try_with(|worker| {
        let mut worker = worker.try_borrow_mut().ok()?;
        let (shared, waits) = worker.as_mut()?;
        *waits += 1;
        (*waits == 1).then(|| Arc::clone(shared))
    });
    if let Ok(Some(shared)) = first {
        shared.active.fetch_sub(1, SeqCst);
        if shared.watching.load(SeqCst) == 0 {
            shared.reinforce();
        }
    }
}

fn wait_ends() {
    let _ = WORKER.try_with(|worker| {
        if let Ok(mut worker) = worker.try_borrow_mut()
            && let Some((shared, waits)) = worker.as_mut()
            && *waits > 0
        {
            *waits -= 1;
            if *waits == 0 {
                shared.active.fetch_add(1, SeqCst);
            }
        }
    });
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
