//! The scheduler: real threads, one running at a time, chosen by the seed.
//!
//! Each simulated thread is an operating system thread that sleeps on a condition of its own until it is the
//! `current` one. Whoever is current owns the world: it may change what it likes, and it gives the world away only
//! inside [`Here::point`], [`Here::yield_now`], [`Here::block`] and [`Here::sleep`].
//!
//! Invariants
//! 1. Until the simulation stops, exactly one thread that is not asleep is `current`.
//!    [assert: sched/1]
//! 2. A choice depends on the seed, on thread numbers and on virtual time only; addresses are compared for
//!    equality, never ordered in a way that a choice could see.
//!    [test: the_same_seed_gives_the_same_trace; test: a_busy_world_replays]
//! 3. Virtual time moves by a small seeded step at each primitive (so that a loop with a deadline ends), and jumps
//!    to the next deadline when no thread is ready. [test: a_spinning_loop_lets_time_pass]
//! 4. When every thread waits and none has a deadline, the simulation fails with the list of who waits for what.
//!    [test: a_deadlock_is_named_with_its_seed]
//!
//! How it stops: a reason is stored, every thread is woken and unwinds with a private payload. Destructors that run
//! meanwhile find that they are no longer simulated ([`here`] is `None` for them) and use the real primitives, whose
//! holders are unwinding too.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::SimDisk;
use super::pin::Pinned;
use crate::Env;
use crate::rng::Rng;
use crate::sync::inside_global;

/// Simulations that live in this process: zero means that no primitive looks any further.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Simulations that this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// A lock at this address.
    Lock(usize),
    /// A notification of the condition at this address.
    Signal(usize),
    /// The end of a thread.
    Task(usize),
    /// Only time.
    Time,
}

enum TaskState {
    Ready,
    Blocked { on: Wait, deadline: Option<u64> },
    Done,
}

struct Task {
    name: String,
    state: TaskState,
    timed_out: bool,
    wake: Arc<parking_lot::Condvar>,
}

struct State {
    now: u64,
    /// Decides who runs.
    choices: Rng,
    /// What the engine sees as randomness; apart from `choices`, so that drawing a number changes no schedule.
    values: Rng,
    current: usize,
    tasks: Vec<Task>,
    /// How often each lock address is held by threads of this simulation.
    held: BTreeMap<usize, u32>,
    hash: u64,
    steps: u64,
    stop: Option<Stop>,
}

enum Stop {
    /// The process ended.
    Ended,
    Failed(String),
}

struct Core {
    /// What [`world`] says of its threads.
    world: u64,
    seed: u64,
    /// A running thread is preempted at one primitive in this many.
    switch_odds: u64,
    max_steps: u64,
    state: parking_lot::Mutex<State>,
    /// Signalled when a task is done.
    finished: parking_lot::Condvar,
}

/// The payload that unwinds threads at the end of a simulation.
struct Unwind;

/// A thread's place in a simulation.
#[derive(Clone)]
pub(crate) struct Here {
    core: Arc<Core>,
    id: usize,
}

/// Whether this process has a simulation at all: what every primitive asks first, and most processes answer at once.
#[inline(always)]
pub(crate) fn possible() -> bool {
    LIVE.load(Relaxed) != 0
}

/// The simulation this thread runs in, if it does.
///
/// In a simulation that has stopped, a thread that is unwinding is on its own (`None`); any other starts to unwind.
#[inline]
pub(crate) fn here() -> Option<Here> {
    if possible() { here_slow() } else { None }
}

#[cold]
fn here_slow() -> Option<Here> {
    let here = registered()?;
    debug_assert!(
        !inside_global(),
        "a simulated primitive inside a closure of sync::Global"
    );
    if here.core.state.lock().stop.is_some() {
        if std::thread::panicking() {
            return None;
        }
        resume_unwind(Box::new(Unwind));
    }
    Some(here)
}

/// The same for destructors: never unwinds.
#[inline]
pub(crate) fn here_in_drop() -> Option<Here> {
    if possible() { living() } else { None }
}

#[cold]
fn living() -> Option<Here> {
    let here = registered()?;
    let stopped = here.core.state.lock().stop.is_some();
    (!stopped).then_some(here)
}

/// Whether this thread belongs to a simulation that is being taken down.
pub fn ending() -> bool {
    possible() && registered().is_some_and(|h| h.core.state.lock().stop.is_some())
}

/// Whether this thread belongs to a simulation: what depends on other worlds of the process must not be done here.
pub fn is_simulated() -> bool {
    possible() && registered().is_some()
}

/// Which of the worlds of this process the thread belongs to: 0 for the real one, else a number that no other simulation
/// has. Statics are shared by all of them: what is in one for the sake of a world must say whose it is, or another world
/// would run otherwise for finding it there.
#[inline]
pub fn world() -> u64 {
    match LIVE.load(Relaxed) {
        0 => 0,
        _ => registered().map_or(0, |h| h.core.world),
    }
}

fn registered() -> Option<Here> {
    HERE.try_with(|h| h.borrow().clone()).ok().flatten()
}

fn set_here(here: Option<Here>) {
    // An error means the thread's locals are gone, and with them the registration.
    let _ = HERE.try_with(|h| *h.borrow_mut() = here);
}

impl Here {
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    pub(crate) fn now(&self) -> u64 {
        let mut s = self.core.state.lock();
        s.now += 20;
        s.now
    }

    pub(crate) fn random(&self) -> u64 {
        self.core.state.lock().values.next_u64()
    }

    /// Adds something that happened to the trace.
    pub(crate) fn trace(&self, what: u64) {
        self.core.state.lock().mix(what);
    }

    /// A primitive is about to happen: perhaps somebody else goes first.
    pub(crate) fn point(&self) {
        let mut s = self.core.state.lock();
        self.step(&mut s);
        if s.tasks.len() > 1 && s.choices.one_in(self.core.switch_odds) {
            self.switch(s, None);
        }
    }

    pub(crate) fn yield_now(&self) {
        let mut s = self.core.state.lock();
        self.step(&mut s);
        s.now += 1_000;
        let other = s.pick(Some(self.id));
        self.switch(s, other);
    }

    pub(crate) fn sleep(&self, d: Duration) {
        self.block(Wait::Time, Some(nanos(d)));
    }

    /// Waits for `on`, for at most `limit` nanoseconds; true when the time ran out.
    pub(crate) fn block(&self, on: Wait, limit: Option<u64>) -> bool {
        let mut s = self.core.state.lock();
        self.step(&mut s);
        let deadline = limit.map(|l| s.now.saturating_add(l));
        let me = &mut s.tasks[self.id];
        me.state = TaskState::Blocked { on, deadline };
        me.timed_out = false;
        self.switch(s, None);
        self.core.state.lock().tasks[self.id].timed_out
    }

    pub(crate) fn acquired(&self, address: usize) {
        *self.core.state.lock().held.entry(address).or_insert(0) += 1;
    }

    pub(crate) fn released(&self, address: usize) {
        let mut s = self.core.state.lock();
        if let Some(n) = s.held.get_mut(&address) {
            *n -= 1;
            if *n == 0 {
                s.held.remove(&address);
            }
        }
        s.wake_all(Wait::Lock(address));
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
        self.core.state.lock().held.contains_key(&address)
    }

    pub(crate) fn signal_all(&self, address: usize) {
        self.core.state.lock().wake_all(Wait::Signal(address));
    }

    pub(crate) fn signal_one(&self, address: usize) {
        let mut s = self.core.state.lock();
        let on = Wait::Signal(address);
        let waiting = s.tasks.iter().filter(|t| t.waits_for(on)).count() as u64;
        let chosen = s.choices.below(waiting) as usize;
        if let Some(task) = s.tasks.iter_mut().filter(|t| t.waits_for(on)).nth(chosen) {
            task.state = TaskState::Ready;
        }
    }

    /// Makes room for a new thread, ready to run.
    pub(crate) fn register(&self, name: &str) -> Here {
        let mut s = self.core.state.lock();
        s.tasks.push(Task::new(name));
        Here {
            core: self.core.clone(),
            id: s.tasks.len() - 1,
        }
    }

    /// The registered thread could not be started.
    pub(crate) fn forget(&self, id: usize) {
        self.core.state.lock().tasks[id].state = TaskState::Done;
    }

    pub(crate) fn is_done(&self, id: usize) -> bool {
        matches!(self.core.state.lock().tasks[id].state, TaskState::Done)
    }

    /// The life of a simulated thread.
    pub(crate) fn run<T>(self, f: impl FnOnce() -> T) -> T {
        set_here(Some(self.clone()));
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.wait_for_turn(self.core.state.lock());
            f()
        }));
        set_here(None);
        let mut s = self.core.state.lock();
        s.tasks[self.id].state = TaskState::Done;
        s.wake_all(Wait::Task(self.id));
        match result {
            Ok(value) => {
                self.hand_over(&mut s);
                value
            }
            Err(payload) => {
                if s.stop.is_none() {
                    let name = &s.tasks[self.id].name;
                    let why = format!("thread {name} panicked: {}", panic_text(&*payload));
                    s.stop_all(Stop::Failed(why));
                }
                self.core.finished.notify_all();
                drop(s);
                resume_unwind(payload)
            }
        }
    }

    fn hand_over(&self, s: &mut State) {
        self.core.finished.notify_all();
        if s.stop.is_some() {
            return;
        }
        match s.pick(None) {
            Some(next) => s.run_next(next),
            None => s.stop_all(Stop::Failed(s.deadlock())),
        }
    }

    fn step(&self, s: &mut State) {
        s.steps += 1;
        s.now += 20 + (s.choices.next_u64() & 255);
        if s.steps > self.core.max_steps && s.stop.is_none() {
            let why = format!("still running after {} steps", self.core.max_steps);
            s.stop_all(Stop::Failed(why));
        }
    }

    /// Gives the world to `next`, or to a thread that the seed chooses, and comes back when it is our turn again.
    fn switch(&self, mut s: parking_lot::MutexGuard<'_, State>, next: Option<usize>) {
        if s.stop.is_none() {
            match next.or_else(|| s.pick(None)) {
                Some(next) if next == self.id => {
                    s.current = next;
                    return;
                }
                Some(next) => s.run_next(next),
                None => {
                    let why = s.deadlock();
                    s.stop_all(Stop::Failed(why));
                }
            }
        }
        self.wait_for_turn(s);
    }

    fn wait_for_turn(&self, mut s: parking_lot::MutexGuard<'_, State>) {
        let wake = s.tasks[self.id].wake.clone();
        while s.current != self.id && s.stop.is_none() {
            wake.wait(&mut s);
        }
        if s.stop.is_some() {
            drop(s);
            if !std::thread::panicking() {
                resume_unwind(Box::new(Unwind));
            }
        }
    }
}

impl Task {
    fn new(name: &str) -> Task {
        Task {
            name: name.to_owned(),
            state: TaskState::Ready,
            timed_out: false,
            wake: Arc::new(parking_lot::Condvar::new()),
        }
    }

    fn waits_for(&self, what: Wait) -> bool {
        matches!(self.state, TaskState::Blocked { on, .. } if on == what)
    }

    fn is_ready(&self) -> bool {
        matches!(self.state, TaskState::Ready)
    }
}

impl State {
    fn mix(&mut self, what: u64) {
        self.hash = (self.hash ^ what)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }

    fn wake_all(&mut self, what: Wait) {
        for task in self.tasks.iter_mut().filter(|t| t.waits_for(what)) {
            task.state = TaskState::Ready;
        }
    }

    fn run_next(&mut self, next: usize) {
        debug_assert!(
            self.tasks[next].is_ready(),
            "sched/1: a thread that waits is given the world"
        );
        self.current = next;
        self.mix((next as u64) << 48 ^ self.now);
        self.tasks[next].wake.notify_all();
    }

    fn stop_all(&mut self, why: Stop) {
        if self.stop.is_none() {
            self.stop = Some(why);
        }
        for task in &self.tasks {
            task.wake.notify_all();
        }
    }

    /// A ready thread other than `not` (that one only when there is no other); time jumps when none is ready.
    fn pick(&mut self, not: Option<usize>) -> Option<usize> {
        loop {
            let now = self.now;
            let mut next_deadline: Option<u64> = None;
            let mut ready = 0;
            for (id, task) in self.tasks.iter_mut().enumerate() {
                if let TaskState::Blocked {
                    deadline: Some(at), ..
                } = task.state
                {
                    if at <= now {
                        task.state = TaskState::Ready;
                        task.timed_out = true;
                    } else {
                        next_deadline = Some(next_deadline.map_or(at, |d| d.min(at)));
                    }
                }
                if task.is_ready() && Some(id) != not {
                    ready += 1;
                }
            }
            if ready > 0 {
                let nth = self.choices.below(ready) as usize;
                return self
                    .tasks
                    .iter()
                    .enumerate()
                    .filter(|(id, t)| t.is_ready() && Some(*id) != not)
                    .map(|(id, _)| id)
                    .nth(nth);
            }
            if not.is_some() {
                return not;
            }
            self.now = next_deadline?;
        }
    }

    fn deadlock(&self) -> String {
        let mut text = "deadlock, every thread waits:".to_owned();
        for task in &self.tasks {
            if let TaskState::Blocked { on, .. } = task.state {
                let what = match on {
                    Wait::Lock(_) => "a lock",
                    Wait::Signal(_) => "a condition",
                    Wait::Task(id) => &format!("the end of {}", self.tasks[id].name),
                    Wait::Time => "time",
                };
                let _ = write!(text, " [{} for {what}]", task.name);
            }
        }
        text
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "simulated thread {} of seed {}", self.id, self.core.seed)
    }
}

/// A simulation about to run.
#[derive(Debug)]
pub struct Simulation {
    seed: u64,
    max_steps: u64,
    start: u64,
    disk: Option<Arc<SimDisk>>,
}

/// The running simulation, as its first thread sees it.
#[derive(Debug)]
pub struct Sim {
    here: Here,
    disk: Arc<SimDisk>,
}

/// How long the threads of an ended simulation may take to unwind, in real time.
const UNWIND_LIMIT: Duration = Duration::from_secs(20);

impl Simulation {
    pub fn new(seed: u64) -> Simulation {
        Simulation {
            seed,
            max_steps: 100_000_000,
            start: 0,
            disk: None,
        }
    }

    /// Starts on a disk that survived; a new one of the same seed otherwise.
    pub fn on_disk(mut self, disk: Arc<SimDisk>) -> Simulation {
        self.disk = Some(disk);
        self
    }

    /// The simulation fails when it has made this many steps (a step is one primitive).
    pub fn max_steps(mut self, steps: u64) -> Simulation {
        self.max_steps = steps;
        self
    }

    /// Where the clock starts; a restart after a crash goes on from [`Sim::elapsed`].
    pub fn starting_at(mut self, since_epoch: Duration) -> Simulation {
        self.start = nanos(since_epoch);
        self
    }

    /// Runs `process` as the first thread. Returns when it does; its other threads end where they are.
    ///
    /// # Panics
    /// When a thread panics, when all wait for each other, when `max_steps` is exceeded; the text has the seed. Also
    /// when the caller is part of a simulation already.
    pub fn run<T>(self, process: impl FnOnce(&Sim) -> T) -> T {
        assert!(registered().is_none(), "a simulation inside a simulation");
        let seed = self.seed;
        let _pinned = Pinned::new();
        let here = Here {
            core: self.core(),
            id: 0,
        };
        LIVE.fetch_add(1, Relaxed);
        set_here(Some(here.clone()));
        let disk = self.disk.unwrap_or_else(|| SimDisk::new(seed));
        let sim = Sim {
            here: here.clone(),
            disk,
        };
        let result = catch_unwind(AssertUnwindSafe(|| process(&sim)));
        let stuck = here.finish();
        set_here(None);
        LIVE.fetch_sub(1, Relaxed);
        let failure = match &here.core.state.lock().stop {
            Some(Stop::Failed(why)) => Some(why.clone()),
            _ => None,
        };
        match (failure, result) {
            (Some(why), _) => panic_any(format!("simulation with seed {seed} failed: {why}")),
            (None, Err(payload)) => {
                eprintln!("simulation with seed {seed} failed (DURAMEN_SEED={seed} repeats it)");
                resume_unwind(payload)
            }
            (None, Ok(_)) if !stuck.is_empty() => {
                panic_any(format!("seed {seed}: threads that do not unwind: {stuck}"))
            }
            (None, Ok(value)) => value,
        }
    }

    fn core(&self) -> Arc<Core> {
        let mut choices = Rng::new(self.seed);
        let values = Rng::new(choices.next_u64());
        // Some bugs need many preemptions, some need one in an unlucky place.
        let switch_odds = [2, 4, 16, 64, 256][choices.below(5) as usize];
        Arc::new(Core {
            world: BEGUN.fetch_add(1, Relaxed) + 1,
            seed: self.seed,
            switch_odds,
            max_steps: self.max_steps,
            state: parking_lot::Mutex::new(State {
                now: self.start,
                choices,
                values,
                current: 0,
                tasks: vec![Task::new("main")],
                held: BTreeMap::new(),
                hash: self.seed,
                steps: 0,
                stop: None,
            }),
            finished: parking_lot::Condvar::new(),
        })
    }
}

impl Here {
    /// Stops everything and waits for the other threads; the names of those that do not end.
    fn finish(&self) -> String {
        let mut s = self.core.state.lock();
        s.tasks[0].state = TaskState::Done;
        s.stop_all(Stop::Ended);
        loop {
            let living = s
                .tasks
                .iter()
                .filter(|t| !matches!(t.state, TaskState::Done));
            let names: Vec<&str> = living.map(|t| t.name.as_str()).collect();
            if names.is_empty() {
                return String::new();
            }
            let names = names.join(", ");
            let timed_out = self
                .core
                .finished
                .wait_for(&mut s, UNWIND_LIMIT)
                .timed_out();
            if timed_out {
                return names;
            }
        }
    }
}

impl Sim {
    /// The disk of this world.
    pub fn disk(&self) -> Arc<SimDisk> {
        self.disk.clone()
    }

    /// The environment to start the engine in.
    pub fn env(&self) -> Env {
        self.disk.env()
    }

    pub fn seed(&self) -> u64 {
        self.here.core.seed
    }

    /// Virtual time since the simulated epoch.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.here.core.state.lock().now)
    }

    /// A digest of every switch of threads and every disk operation so far: equal for equal seeds.
    pub fn trace_hash(&self) -> u64 {
        self.here.core.state.lock().hash
    }

    /// Primitives executed so far.
    pub fn steps(&self) -> u64 {
        self.here.core.state.lock().steps
    }
}

/// A duration in nanoseconds; the longest where there are more.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}
