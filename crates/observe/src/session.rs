//! Whose wait it is: the session a thread works for.
//!
//! A worker attaches to a session's [`SessionWaits`] for the time of a request; its waits then add to that session's
//! statistics and are visible while they last, to threads of the same instance ([`duramen_os::thread::owner`]).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_os::sync::Global;
use duramen_os::time::Instant;

use crate::WaitStat;
use crate::waits::{NANOS_PER_MS, WaitType};

/// The waits of one session; reset when the session is opened or reset by a pool.
#[derive(Debug)]
pub struct SessionWaits {
    session: SessionId,
    owner: u64,
    totals: Global<BTreeMap<WaitType, Totals>>,
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

struct Entry {
    owner: u64,
    session: SessionId,
    exec_context: u32,
    wait_type: WaitType,
    start: Instant,
    resource: String,
    blocking_session: Option<u16>,
}

/// Waits in progress, by order of start.
static WAITING: Global<BTreeMap<u64, Entry>> = Global::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Threads that help, by session and number.
static HELPERS: Global<BTreeMap<u64, (SessionId, u32)>> = Global::new(BTreeMap::new());
/// Statements that are run by several threads.
static DEGREES: Global<BTreeMap<u64, (SessionId, u32)>> = Global::new(BTreeMap::new());

thread_local! {
    static DEGREE: Cell<u32> = const { Cell::new(0) };
    static CURRENT: RefCell<Option<(Arc<SessionWaits>, u32)>> = const { RefCell::new(None) };
}

impl SessionWaits {
    /// A session of the instance that is the calling thread's owner.
    pub fn new(session: SessionId) -> Arc<SessionWaits> {
        Arc::new(SessionWaits {
            session,
            owner: duramen_os::thread::owner(),
            totals: Global::new(BTreeMap::new()),
        })
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
        self.totals.read(|t| t.iter().map(row).collect())
    }

    pub fn clear(&self) {
        self.totals.write(BTreeMap::clear);
    }

    /// Adds a wait that no thread sat through (a finished request held by the packet gate).
    pub fn add(&self, wait_type: WaitType, waited: Duration, signal: Duration) {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        self.start(wait_type);
        self.finish(wait_type, nanos(waited), nanos(signal));
    }

    fn start(&self, wait_type: WaitType) {
        self.totals
            .write(|totals| totals.entry(wait_type).or_default().started += 1);
    }

    fn finish(&self, wait_type: WaitType, waited: u64, signal: u64) {
        self.totals.write(|totals| {
            let t = totals.entry(wait_type).or_default();
            t.nanos += waited;
            t.max_nanos = t.max_nanos.max(waited);
            t.signal_nanos += signal;
        });
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
        HELPERS.write(|h| h.insert(key, (waits.session, exec_context)));
        key
    });
    Attached {
        before: CURRENT.with(|c| c.replace(now)),
        helper,
    }
}

/// The threads that help a session's own: their numbers, each of a thread that works at this moment.
pub fn helpers() -> Vec<(SessionId, u32)> {
    HELPERS.read(|h| h.values().copied().collect())
}

/// Says while it lives that the session's statement is run by several threads.
#[must_use = "the statement is no longer parallel when this is dropped"]
#[derive(Debug)]
pub struct Parallel(Option<u64>);

/// `threads` threads help the calling one, which works for a session.
pub fn parallel(threads: u32) -> Parallel {
    DEGREE.set(DEGREE.get().max(threads));
    Parallel(current_session().map(|session| {
        let key = NEXT.fetch_add(1, Relaxed);
        DEGREES.write(|d| d.insert(key, (session, threads)));
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

/// The degree of parallelism of what a session does now; 1 when nobody helps.
pub fn degree(session: SessionId) -> u32 {
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

fn current() -> Option<(Arc<SessionWaits>, u32)> {
    CURRENT.try_with(|c| c.borrow().clone()).ok().flatten()
}

/// Every wait in progress of threads that work for a session of the calling thread's owner, longest first.
pub fn waiting_tasks() -> Vec<WaitingTask> {
    let now = duramen_os::time::now();
    let row = |e: &Entry| WaitingTask {
        session: e.session,
        exec_context: e.exec_context,
        wait_type: e.wait_type,
        waited: now - e.start,
        resource: e.resource.clone(),
        blocking_session: e.blocking_session,
    };
    let owner = duramen_os::thread::owner();
    let mine = |e: &&Entry| e.owner == owner;
    WAITING.read(|waiting| waiting.values().filter(mine).map(row).collect())
}

/// A wait that is visible in [`waiting_tasks`].
#[derive(Debug)]
pub(crate) struct Pending {
    key: u64,
    waits: Arc<SessionWaits>,
    wait_type: WaitType,
}

pub(crate) fn begin_wait(
    wait_type: WaitType,
    start: Instant,
    resource: String,
    blocking_session: Option<u16>,
) -> Option<Pending> {
    let (waits, exec_context) = current()?;
    let key = NEXT.fetch_add(1, Relaxed);
    waits.start(wait_type);
    let entry = Entry {
        owner: waits.owner,
        session: waits.session,
        exec_context,
        wait_type,
        start,
        resource,
        blocking_session,
    };
    WAITING.write(|waiting| waiting.insert(key, entry));
    Some(Pending {
        key,
        waits,
        wait_type,
    })
}

impl Pending {
    pub(crate) fn end(self, waited: u64, signal: u64) {
        WAITING.write(|waiting| waiting.remove(&self.key));
        self.waits.finish(self.wait_type, waited, signal);
    }
}

pub(crate) fn add_finished(wait_type: WaitType, waited: u64, signal: u64) {
    if let Some((waits, _)) = current() {
        waits.start(wait_type);
        waits.finish(wait_type, waited, signal);
    }
}
