//! Wait statistics of the whole server.

mod idle;
mod list;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_os::time::{self, Instant};

use crate::events;
use crate::session::{self, Pending, SessionWaits};
pub use idle::{IdleWorker, idle_worker};
pub use list::{WaitKind, WaitType};

/// Totals of one wait type; a cache line each, since unrelated waits end at the same time on different cores.
#[repr(align(64))]
struct Totals {
    started: AtomicU64,
    nanos: AtomicU64,
    max_nanos: AtomicU64,
    signal_nanos: AtomicU64,
}

static TOTALS: [Totals; WaitType::COUNT] = [const {
    Totals {
        started: AtomicU64::new(0),
        nanos: AtomicU64::new(0),
        max_nanos: AtomicU64::new(0),
        signal_nanos: AtomicU64::new(0),
    }
}; WaitType::COUNT];

/// One row of `sys.dm_os_wait_stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitStat {
    pub wait_type: WaitType,
    pub name: &'static str,
    pub waiting_tasks_count: u64,
    pub wait_time_ms: u64,
    pub max_wait_time_ms: u64,
    pub signal_wait_time_ms: u64,
}

/// A wait in progress; it ends when this is dropped.
#[must_use = "the wait ends when the guard is dropped"]
#[derive(Debug)]
pub struct WaitGuard {
    wait_type: WaitType,
    pub(crate) start: Instant,
    signalled: Option<Instant>,
    /// The thread's signal time when it began.
    signal_before: Duration,
    /// Where this wait shows in `sys.dm_os_waiting_tasks`, when a session is attached to the thread.
    pending: Option<Pending>,
    /// What is waited for, when there is none.
    resource: String,
}

/// Starts a wait of the calling thread.
pub fn wait(wait_type: WaitType) -> WaitGuard {
    begin(wait_type, String::new(), None)
}

/// The same with what is waited for (`KEY: 5:72057594043432960 (98ec012aa510)`) and the session that blocks.
pub fn wait_on(
    wait_type: WaitType,
    resource: impl Into<String>,
    blocking_session: Option<u16>,
) -> WaitGuard {
    begin(wait_type, resource.into(), blocking_session)
}

/// Who wants to know that a thread begins and ends a wait, on that thread.
static LISTENER: OnceLock<Listener> = OnceLock::new();

#[derive(Debug)]
struct Listener {
    begins: fn(),
    ends: fn(),
}

/// Has `begins` called by every thread that begins a wait, and `ends` when the wait has ended: a pool of threads learns
/// that one of them does nothing. The first call counts; the functions must not block, and may be called under any lock.
pub fn on_wait(begins: fn(), ends: fn()) {
    let _ = LISTENER.set(Listener { begins, ends });
}

fn begin(wait_type: WaitType, resource: String, blocking_session: Option<u16>) -> WaitGuard {
    if !crate::RECORDS {
        // Pools of threads depend on being told.
        if let Some(listener) = LISTENER.get() {
            (listener.begins)();
        }
        return WaitGuard {
            wait_type,
            start: Instant::ZERO,
            signalled: None,
            signal_before: Duration::ZERO,
            pending: None,
            resource: String::new(),
        };
    }
    TOTALS[wait_type as usize].started.fetch_add(1, Relaxed);
    if let Some(listener) = LISTENER.get() {
        (listener.begins)();
    }
    events::wait_begins(wait_type, &resource);
    let start = time::now();
    let (pending, resource) =
        match session::begin_wait(wait_type, start, resource, blocking_session) {
            Ok(pending) => (Some(pending), String::new()),
            Err(resource) => (None, resource),
        };
    WaitGuard {
        wait_type,
        start,
        signalled: None,
        signal_before: duramen_os::sync::signal_time(),
        pending,
        resource,
    }
}

/// Records a wait of a session, if it was one's, that no thread sat through: that of a packet in the gate. The calling
/// thread may be anybody's.
pub fn record_wait(wait_type: WaitType, waited: Duration, of: Option<&Arc<SessionWaits>>) {
    if !crate::RECORDS {
        return;
    }
    TOTALS[wait_type as usize].started.fetch_add(1, Relaxed);
    let waited = nanos(waited);
    add(wait_type, waited, 0);
    if let Some(of) = of {
        of.add(wait_type, waited);
    }
    events::wait_ended(wait_type, waited, of);
}

impl WaitGuard {
    pub fn wait_type(&self) -> WaitType {
        self.wait_type
    }

    /// When the waker woke this waiter: what follows is signal time.
    pub fn signalled_at(&mut self, at: Instant) {
        self.signalled = Some(at);
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Nanoseconds between being signalled and running.
    fn signal(&self, end: Instant) -> u64 {
        if self.wait_type.kind() == WaitKind::External {
            return 0;
        }
        if self.wait_type == WaitType::SOS_SCHEDULER_YIELD {
            return u64::MAX;
        }
        let woken = duramen_os::sync::signal_time().saturating_sub(self.signal_before);
        let stamped = self.signalled.map_or(Duration::ZERO, |at| end - at);
        nanos(woken.max(stamped))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        if !crate::RECORDS {
            if let Some(listener) = LISTENER.get() {
                (listener.ends)();
            }
            return;
        }
        let end = time::now();
        let waited = nanos(end - self.start);
        let signal = self.signal(end).min(waited);
        add(self.wait_type, waited, signal);
        crate::work::waited(waited);
        if let Some(pending) = self.pending.take() {
            self.resource = pending.end(waited, signal);
        }
        if let Some(listener) = LISTENER.get() {
            (listener.ends)();
        }
        events::wait_ends(self.wait_type, waited, signal, &self.resource);
    }
}

fn add(wait_type: WaitType, waited: u64, signal: u64) {
    let totals = &TOTALS[wait_type as usize];
    totals.nanos.fetch_add(waited, Relaxed);
    totals.max_nanos.fetch_max(waited, Relaxed);
    totals.signal_nanos.fetch_add(signal, Relaxed);
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

/// One row per known type, in the order of the list, zeros included.
pub fn wait_stats() -> Vec<WaitStat> {
    WaitType::ALL
        .iter()
        .map(|&wait_type| {
            let totals = &TOTALS[wait_type as usize];
            let (started, nanos, longest) = match wait_type {
                WaitType::SOS_WORK_DISPATCHER => idle::totals(),
                _ => (0, 0, 0),
            };
            WaitStat {
                wait_type,
                name: wait_type.name(),
                waiting_tasks_count: started + totals.started.load(Relaxed),
                wait_time_ms: (nanos + totals.nanos.load(Relaxed)) / NANOS_PER_MS,
                max_wait_time_ms: longest.max(totals.max_nanos.load(Relaxed)) / NANOS_PER_MS,
                signal_wait_time_ms: totals.signal_nanos.load(Relaxed) / NANOS_PER_MS,
            }
        })
        .collect()
}

/// `DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR)`. Waits in progress add to the new totals when they end.
pub fn clear_wait_stats() {
    idle::clear();
    for totals in &TOTALS {
        totals.started.store(0, Relaxed);
        totals.nanos.store(0, Relaxed);
        totals.max_nanos.store(0, Relaxed);
        totals.signal_nanos.store(0, Relaxed);
    }
}
