//! Whose wait it is: the session a thread works for.
//!
//! A worker attaches to a session's [`SessionWaits`] for the time of a request; its waits then add to that session's
//! statistics and are visible while they last, to threads of the same instance ([`duramen_os::thread::owner`]).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_os::sync::Global;
use duramen_os::time::Instant;

use crate::WaitStat;
use crate::waits::{NANOS_PER_MS, WaitKind, WaitType};

/// The waits of one session; reset when the session is opened or reset by a pool. A wait takes the lock of its own session
/// and no other.
#[derive(Debug)]
pub struct SessionWaits {
    /// Its place among all of the process.
    id: u64,
    session: SessionId,
    owner: u64,
    state: Global<State>,
    switches: SwitchCells,
}

/// Waits of a session since it began, those of its helpers included unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Switches {
    /// A thread has left its processor for a wait.
    pub context: u64,
    /// Of these, the session's own thread.
    pub own: u64,
    /// Calls of the system, during which the thread keeps it.
    pub preemptive: u64,
    pub signal_nanos: u64,
}

#[derive(Debug, Default)]
struct SwitchCells {
    context: AtomicU64,
    own: AtomicU64,
    preemptive: AtomicU64,
    signal_nanos: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    totals: BTreeMap<WaitType, Totals>,
    /// Waits in progress, in the order in which they began.
    pending: BTreeMap<u64, Entry>,
    began: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    started: u64,
    nanos: u64,
    max_nanos: u64,
    signal_nanos: u64,
}

/// One row of `sys.dm_os_waiting_tasks`: a wait that has not ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingTask {
    pub session: SessionId,
    /// 0 for the session's own task, more for its parallel workers.
    pub exec_context: u32,
    pub wait_type: WaitType,
    pub waited: Duration,
    pub resource: String,
    pub blocking_session: Option<u16>,
}

#[derive(Debug)]
struct Entry {
    exec_context: u32,
    wait_type: WaitType,
    start: Instant,
    resource: String,
    blocking_session: Option<u16>,
}

/// Every session there is, and whose it is: nobody holds on to one of another owner, who would see by whom it is dropped.
static SESSIONS: Global<BTreeMap<u64, (u64, Weak<SessionWaits>)>> = Global::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A session of an instance.
type Of = (u64, SessionId);

/// A thread that helps a session.
#[derive(Clone, Copy, Debug)]
struct Helper {
    of: Of,
    number: u32,
    /// The system's number of it, and its processor time when it began to help.
    thread: u32,
    cpu: Duration,
}

/// Threads that help.
static HELPERS: Global<BTreeMap<u64, Helper>> = Global::new(BTreeMap::new());
/// Statements that are run by several threads.
static DEGREES: Global<BTreeMap<u64, (Of, u32)>> = Global::new(BTreeMap::new());

thread_local! {
    static DEGREE: Cell<u32> = const { Cell::new(0) };
    static CURRENT: RefCell<Option<(Arc<SessionWaits>, u32)>> = const { RefCell::new(None) };
}

impl SessionWaits {
    /// A session of the instance that has this number.
    pub fn new(session: SessionId, owner: u64) -> Arc<SessionWaits> {
        let id = NEXT.fetch_add(1, Relaxed);
        let waits = Arc::new(SessionWaits {
            id,
            session,
            owner,
            state: Global::new(State::default()),
            switches: SwitchCells::default(),
        });
        SESSIONS.write(|all| all.insert(id, (owner, Arc::downgrade(&waits))));
        waits
    }

    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The types that this session has waited for, in key order.
    pub fn stats(&self) -> Vec<WaitStat> {
        let row = |(&wait_type, t): (&WaitType, &Totals)| WaitStat {
            wait_type,
            name: wait_type.name(),
            waiting_tasks_count: t.started,
            wait_time_ms: t.nanos / NANOS_PER_MS,
            max_wait_time_ms: t.max_nanos / NANOS_PER_MS,
            signal_wait_time_ms: t.signal_nanos / NANOS_PER_MS,
        };
        self.state.read(|s| s.totals.iter().map(row).collect())
    }

    pub fn clear(&self) {
        self.state.write(|s| s.totals.clear());
    }

    /// Its threads' switches so far; nobody resets them.
    pub fn switches(&self) -> Switches {
        let of = &self.switches;
        Switches {
            context: of.context.load(Relaxed),
            own: of.own.load(Relaxed),
            preemptive: of.preemptive.load(Relaxed),
            signal_nanos: of.signal_nanos.load(Relaxed),
        }
    }

    /// Adds a wait that is over, in nanoseconds.
    pub(crate) fn add(&self, wait_type: WaitType, waited: u64) {
        self.state.write(|s| {
            let t = s.totals.entry(wait_type).or_default();
            t.started += 1;
            t.end(waited, 0);
        });
    }

    fn of(&self) -> Of {
        (self.owner, self.session)
    }
}

impl Totals {
    fn end(&mut self, waited: u64, signal: u64) {
        self.nanos += waited;
        self.max_nanos = self.max_nanos.max(waited);
        self.signal_nanos += signal;
    }
}

impl Drop for SessionWaits {
    fn drop(&mut self) {
        SESSIONS.write(|all| all.remove(&self.id));
    }
}

/// While it lives, the thread works for a session; dropping it restores what was before.
#[must_use = "the thread is detached when this is dropped"]
#[derive(Debug)]
pub struct Attached {
    before: Option<(Arc<SessionWaits>, u32)>,
    helper: Option<u64>,
}

/// Makes the calling thread work for a session. `exec_context` is 0 for the session's own task.
pub fn attach(waits: &Arc<SessionWaits>, exec_context: u32) -> Attached {
    let now = Some((waits.clone(), exec_context));
    let helper = (exec_context > 0).then(|| {
        let key = NEXT.fetch_add(1, Relaxed);
        let helper = Helper {
            of: waits.of(),
            number: exec_context,
            thread: duramen_os::thread::system_id(),
            cpu: duramen_os::time::thread_cpu(),
        };
        HELPERS.write(|h| h.insert(key, helper));
        key
    });
    Attached {
        before: CURRENT.with(|c| c.replace(now)),
        helper,
    }
}

/// The threads that help sessions of the calling thread's owner: their numbers, each of a thread that works at this moment.
pub fn helpers() -> Vec<(SessionId, u32)> {
    let owner = duramen_os::thread::owner();
    HELPERS.read(|h| {
        let mine = h.values().filter(|h| h.of.0 == owner);
        mine.map(|h| (h.of.1, h.number)).collect()
    })
}

/// Processor time that those have taken so far that help a session at this moment.
pub fn helpers_cpu(session: SessionId) -> Duration {
    let of = (duramen_os::thread::owner(), session);
    let all: Vec<Helper> = HELPERS.read(|h| h.values().filter(|h| h.of == of).copied().collect());
    let spent = |h: &Helper| {
        let now = duramen_os::time::cpu_of_thread(h.thread)?;
        Some(now.saturating_sub(h.cpu))
    };
    all.iter().filter_map(spent).sum()
}

/// Says while it lives that the session's statement is run by several threads.
#[must_use = "the statement is no longer parallel when this is dropped"]
#[derive(Debug)]
pub struct Parallel(Option<u64>);

/// `threads` threads help the calling one, which works for a session.
pub fn parallel(threads: u32) -> Parallel {
    DEGREE.set(DEGREE.get().max(threads));
    Parallel(current().map(|(waits, _)| {
        let key = NEXT.fetch_add(1, Relaxed);
        DEGREES.write(|d| d.insert(key, (waits.of(), threads)));
        key
    }))
}

impl Drop for Parallel {
    fn drop(&mut self) {
        if let Some(key) = self.0 {
            DEGREES.write(|d| d.remove(&key));
        }
    }
}

/// The degree of parallelism of what a session of the calling thread's owner does now; 1 when nobody helps.
pub fn degree(session: SessionId) -> u32 {
    let session = (duramen_os::thread::owner(), session);
    DEGREES.read(|d| {
        let own = d.values().filter(|(of, _)| *of == session);
        own.map(|(_, threads)| *threads).max().unwrap_or(1)
    })
}

/// The highest degree of what the calling thread has done since it was asked last.
pub fn take_degree() -> u32 {
    DEGREE.replace(0).max(1)
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(key) = self.helper {
            HELPERS.write(|h| h.remove(&key));
        }
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = CURRENT.try_with(|c| c.replace(before));
    }
}

/// The session the calling thread works for.
pub fn current_session() -> Option<SessionId> {
    current().map(|(waits, _)| waits.session)
}

/// Its waits, for a thread that is to help this one.
pub fn current_waits() -> Option<Arc<SessionWaits>> {
    current().map(|(waits, _)| waits)
}

/// The calling thread's number among those that work for its session: 0 for the session's own.
pub fn current_context() -> u32 {
    current().map_or(0, |(_, context)| context)
}

fn current() -> Option<(Arc<SessionWaits>, u32)> {
    CURRENT.try_with(|c| c.borrow().clone()).ok().flatten()
}

/// Every wait in progress of threads that work for a session of the calling thread's owner, longest first.
pub fn waiting_tasks() -> Vec<WaitingTask> {
    let now = duramen_os::time::now();
    let owner = duramen_os::thread::owner();
    let all: Vec<_> = SESSIONS.read(|all| {
        let mine = all.values().filter(|(of, _)| *of == owner);
        mine.filter_map(|(_, w)| w.upgrade()).collect()
    });
    let mut tasks = Vec::new();
    for waits in &all {
        let task = |e: &Entry| WaitingTask {
            session: waits.session,
            exec_context: e.exec_context,
            wait_type: e.wait_type,
            waited: now.since(e.start),
            resource: e.resource.clone(),
            blocking_session: e.blocking_session,
        };
        tasks.extend(
            waits
                .state
                .read(|s| s.pending.values().map(task).collect::<Vec<_>>()),
        );
    }
    tasks.sort_by_key(|t| std::cmp::Reverse(t.waited));
    tasks
}

/// A wait that is visible in [`waiting_tasks`].
#[derive(Debug)]
pub(crate) struct Pending {
    key: u64,
    waits: Arc<SessionWaits>,
    wait_type: WaitType,
}

/// A wait of the calling thread begins; gives the resource back when it works for no session.
pub(crate) fn begin_wait(
    wait_type: WaitType,
    start: Instant,
    resource: String,
    blocking_session: Option<u16>,
) -> Result<Pending, String> {
    let Some((waits, exec_context)) = current() else {
        return Err(resource);
    };
    let entry = Entry {
        exec_context,
        wait_type,
        start,
        resource,
        blocking_session,
    };
    match wait_type.kind() {
        WaitKind::External => waits.switches.preemptive.fetch_add(1, Relaxed),
        _ => {
            let own = u64::from(exec_context == 0);
            waits.switches.own.fetch_add(own, Relaxed);
            waits.switches.context.fetch_add(1, Relaxed)
        }
    };
    let key = waits.state.write(|s| {
        s.totals.entry(wait_type).or_default().started += 1;
        s.began += 1;
        s.pending.insert(s.began, entry);
        s.began
    });
    Ok(Pending {
        key,
        waits,
        wait_type,
    })
}

impl Pending {
    /// Gives back what was waited for.
    pub(crate) fn end(self, waited: u64, signal: u64) -> String {
        let signals = &self.waits.switches.signal_nanos;
        signals.fetch_add(signal, Relaxed);
        let entry = self.waits.state.write(|s| {
            s.totals
                .entry(self.wait_type)
                .or_default()
                .end(waited, signal);
            s.pending.remove(&self.key)
        });
        entry.map_or_else(String::new, |e| e.resource)
    }
}
