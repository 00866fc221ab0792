//! The lock manager: who may touch which data until when.
//!
//! ```text
//!   LockOwner (one per session)                 partitions, by hash of the resource
//!   held: resource -> mode         lock()       [ Table ] [ Table ] [ Table ] ...
//!   waiting: resource, waiter   <---------->     resource -> grants, queue of requests
//! ```
//!
//! A request looks into the owner's own list first: what is held already costs no shared access. Otherwise one
//! partition is locked, and an uncontended grant is one insertion. A request that must wait sleeps on its own
//! [`Waiter`](table::Waiter); whoever releases grants to those it unblocks and wakes exactly them.
//!
//! Order of the mutexes: owner's `turn` (held while sleeping; see [`helper`]), owner's `held`, partition (one; all of
//! them in order for the deadlock search), the manager's `waiting`, owner's `waiting`, waiter's state. None of the others is held while sleeping.
//! The ranks of `os::sync` are this order.
//!
//! Deadlocks are found by the blocked themselves. The last request that closes a cycle finds it when it has waited for
//! [`DEADLOCK_FIRST_LOOK`]; a cycle cannot close in any other way, because a lock is only ever granted to an owner that
//! then runs. SQL Server's monitor looks every 5 seconds; this one is sooner, on the same rules for the victim.

mod blocked;
mod cycles;
mod deadlock;
mod granted;
mod held;
mod helper;
mod intents;
mod memory;
mod mode;
mod owner;
mod release;
mod reporting;
mod resource;
mod table;
mod waits;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::{RowsetId, SessionId, SqlError};
use duramen_observe::{Counter, count};
use duramen_os::sync::{Mutex, MutexGuard, Rank};
use duramen_os::time;

pub use blocked::BlockedReport;
pub use deadlock::{DeadlockProcess, DeadlockReport};
pub use helper::{Helping, help};
pub use mode::LockMode;
pub use owner::{ESCALATION_FIRST, ESCALATION_STEP, Entity, LockDuration, LockOwner};
pub use resource::Resource;

use blocked::BlockedHook;
use granted::{Granted, report_grant};
use intents::{Intents, is_strong, is_weak};
use memory::LockMemory;
use owner::Waiting;
use resource::Key;
use table::{Ask, Table, WaitState, Waiter};

/// How long a request has waited when it first looks for a deadlock, and how often it looks again.
pub const DEADLOCK_FIRST_LOOK: Duration = Duration::from_millis(10);
const DEADLOCK_NEXT_LOOK: Duration = Duration::from_secs(1);

/// How often a waiting owner looks at its attention flag where nobody wakes it ([`LockManager::wake`]).
const ATTENTION_LOOK: Duration = Duration::from_millis(100);

const PARTITIONS: usize = 64;

/// What a granted request changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquired {
    /// The owner held nothing on the resource before; giving it back is `unlock`.
    New,
    /// What is held covers it: nothing to give back.
    Already,
    /// A weaker mode was held.
    Converted { from: LockMode },
    /// An instant lock: nothing is held of it.
    Instant,
}

/// A granted request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockOutcome {
    pub acquired: Acquired,
    /// The owner slept for it: what was read before may be stale.
    pub waited: bool,
    /// The statement has taken so many locks of the table that it should call [`LockManager::escalate`].
    pub escalate: bool,
}

impl LockOutcome {
    const ALREADY: LockOutcome = LockOutcome {
        acquired: Acquired::Already,
        waited: false,
        escalate: false,
    };
}

/// Why a lock was not granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockError {
    /// 1222
    Timeout,
    /// 1205; the transaction must be rolled back.
    Deadlock,
    /// The client's attention, or KILL.
    Cancelled,
    /// Its holder never gives it back, for this reason.
    Kept(Box<SqlError>),
    /// 1204: locks take all the memory that they may.
    OutOfMemory,
}

/// One row of `sys.dm_tran_locks`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockInfo {
    pub resource: Resource,
    pub mode: LockMode,
    pub status: LockStatus,
    pub spid: SessionId,
    pub owner: u64,
    pub rowset: RowsetId,
    /// How long the request has been waiting.
    pub waited: Option<Duration>,
    /// Sessions in the way, of a waiting request.
    pub blocked_by: Vec<SessionId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockStatus {
    Grant,
    Wait,
    Convert,
}

impl LockStatus {
    /// `sys.dm_tran_locks.request_status`.
    pub fn name(self) -> &'static str {
        match self {
            LockStatus::Grant => "GRANT",
            LockStatus::Wait => "WAIT",
            LockStatus::Convert => "CONVERT",
        }
    }
}

/// What the manager has counted since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockStats {
    pub waits: u64,
    pub timeouts: u64,
    pub deadlocks: u64,
    pub escalations: u64,
}

/// A point in the sequence of an owner's locks; see [`LockManager::release_to`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockMark(u64);

#[repr(align(64))]
#[derive(Debug)]
struct Partition(Mutex<Table>);

impl Default for Partition {
    fn default() -> Partition {
        Partition(Mutex::ranked(Rank::LockTable, Table::default()))
    }
}

type DeadlockHook = Box<dyn Fn(&DeadlockReport) + Send + Sync>;

pub struct LockManager {
    partitions: Vec<Partition>,
    next_owner: AtomicU64,
    waits: AtomicU64,
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
    escalations: AtomicU64,
    /// Key-range locks held: while there are none, an insert asks nobody about ranges.
    ranges: AtomicU64,
    intents: Intents,
    memory: LockMemory,
    /// Deadlock searches begun; changed with all partitions locked.
    searches: AtomicU64,
    /// Held by who searches until it has reported what it has found.
    reporting: Mutex<()>,
    /// Owners that sleep in the manager, by id.
    waiting: Mutex<BTreeMap<u64, LockOwner>>,
    /// Who has left locks of databases that were shut down.
    kept: Mutex<Vec<LockOwner>>,
    on_deadlock: OnceLock<DeadlockHook>,
    /// Milliseconds; 0: blocked requests are not reported.
    blocked_after: AtomicU64,
    on_blocked: OnceLock<BlockedHook>,
}

impl std::fmt::Debug for LockManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockManager")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Default for LockManager {
    fn default() -> Self {
        LockManager::new()
    }
}

impl LockManager {
    pub fn new() -> LockManager {
        LockManager {
            partitions: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            next_owner: AtomicU64::new(1),
            waits: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            escalations: AtomicU64::new(0),
            ranges: AtomicU64::new(0),
            intents: Intents::new(),
            memory: LockMemory::default(),
            searches: AtomicU64::new(0),
            reporting: Mutex::default(),
            waiting: Mutex::ranked(Rank::LockWaiting, BTreeMap::new()),
            kept: Mutex::default(),
            on_deadlock: OnceLock::new(),
            blocked_after: AtomicU64::new(0),
            on_blocked: OnceLock::new(),
        }
    }

    /// A new holder of locks, normally one for each session.
    pub fn owner(&self, spid: SessionId) -> LockOwner {
        LockOwner::new(self.next_owner.fetch_add(1, Ordering::Relaxed), spid)
    }

    /// Called with every deadlock found, by the thread that found it. Only the first call sets it.
    pub fn set_on_deadlock(&self, hook: DeadlockHook) {
        let _ = self.on_deadlock.set(hook);
    }

    fn partition(&self, key: &Key) -> MutexGuard<'_, Table> {
        self.partitions[partition_of(key)].0.lock()
    }

    /// Locks `resource` for `owner`, waiting while others are in the way: for ever with `timeout` `None`, not at all
    /// with zero. What an owner holds is joined: S and then IX gives SIX.
    pub fn lock(
        &self,
        owner: &LockOwner,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
        timeout: Option<Duration>,
    ) -> Result<LockOutcome, LockError> {
        self.lock_in(owner, &Entity::default(), resource, mode, duration, timeout)
    }

    /// `lock` for a row, key or page of a table: counts towards escalation and tells `sys.dm_tran_locks` the HoBT.
    pub fn lock_in(
        &self,
        owner: &LockOwner,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
        timeout: Option<Duration>,
    ) -> Result<LockOutcome, LockError> {
        if let Some(outcome) = self.try_lock_in(owner, entity, resource, mode, duration) {
            return Ok(outcome);
        }
        if resource.is_fine() && self.refuses(owner, resource) {
            return Err(LockError::OutOfMemory);
        }
        if timeout == Some(Duration::ZERO) {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
            count(Counter::LockTimeouts, 1);
            if reporting::timeouts_are_wanted() {
                let asked = (mode, duration == LockDuration::Session);
                reporting::timed_out(owner, entity.rowset, resource, asked, Duration::ZERO);
            }
            return Err(LockError::Timeout);
        }
        self.lock_slow(owner, entity, resource, mode, duration, timeout)
    }

    /// Locks without waiting; `None` when somebody is in the way. Safe to call with a page latch held.
    pub fn try_lock_in(
        &self,
        owner: &LockOwner,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
    ) -> Option<LockOutcome> {
        if duration == LockDuration::Normal && owner.has_intent(resource, mode) {
            return Some(LockOutcome::ALREADY);
        }
        let held = owner.0.held.lock();
        self.try_under(owner, held, entity, resource, (mode, duration))
            .1
    }

    /// A page's intent and a row's lock until the transaction ends, without waiting: how that of the page came out, and,
    /// where it was granted, that of the row.
    pub fn try_lock_row(
        &self,
        owner: &LockOwner,
        entity: &Entity,
        page: (&Resource, LockMode),
        row: (&Resource, LockMode),
    ) -> (Option<LockOutcome>, Option<LockOutcome>) {
        let normal = LockDuration::Normal;
        let held = owner.0.held.lock();
        let (held, first) = self.try_under(owner, held, entity, page.0, (page.1, normal));
        if first.is_none() {
            return (None, None);
        }
        let (_held, second) = self.try_under(owner, held, entity, row.0, (row.1, normal));
        (first, second)
    }

    /// [`LockManager::try_lock_in`] with the owner's list at hand.
    fn try_under<'o>(
        &self,
        owner: &'o LockOwner,
        mut held: MutexGuard<'o, owner::Held>,
        entity: &Entity,
        resource: &Resource,
        (mode, duration): (LockMode, LockDuration),
    ) -> (MutexGuard<'o, owner::Held>, Option<LockOutcome>) {
        let key = Key::of(resource);
        if held.is_covered(entity, resource, mode) {
            return (held, Some(LockOutcome::ALREADY));
        }
        let mut before = held.locks.get(&key).copied();
        let target = before.map_or(mode, |b| b.mode.join(mode));
        if let Some(b) = before
            && b.mode == target
            && duration != LockDuration::Session
        {
            let acquired = match duration {
                LockDuration::Instant => Acquired::Instant,
                _ => Acquired::Already,
            };
            let outcome = LockOutcome {
                acquired,
                ..LockOutcome::ALREADY
            };
            return (held, Some(outcome));
        }
        let stays = duration != LockDuration::Instant;
        if before.is_none() && stays && resource.is_fine() && self.is_full_for(&held) {
            return (held, None);
        }
        let mut how = Granted::default();
        if before.is_none_or(|b| b.mode != target) {
            held.count_request();
            how.private = duration == LockDuration::Normal
                && is_weak(resource, target)
                && before.is_none_or(|b| b.private)
                && self.intents.is_open(&key, owner, &mut held);
            if !how.private {
                how.strong = is_strong(resource, target);
                if how.strong {
                    drop(held);
                    self.announce(&key);
                    held = owner.0.held.lock();
                    // Another thread of the owner may have been faster.
                    before = held.locks.get(&key).copied();
                } else if before.is_some() {
                    self.publish(owner, &mut held, &key);
                }
                let mut ask = ask(owner, entity, &key, mode, duration, before.map(|b| b.mode));
                // A thread of the owner that has waited has a grant that is in no list yet. Who joined it here would give
                // it back with his own: he waits for his turn, and finds it in the list.
                ask.joins = before.is_some();
                if !self.partition(&key).try_grant(&ask) {
                    if how.strong {
                        self.intents.withdraw(&key);
                    }
                    return (held, None);
                }
            }
        }
        let outcome = match before {
            None => self.record_first(&mut held, entity, &key, mode, duration, how),
            Some(_) => self.record(&mut held, entity, &key, mode, duration, how),
        };
        if outcome.acquired != Acquired::Already {
            report_grant(owner, entity, &key, (mode, duration), Duration::ZERO);
        }
        (held, Some(outcome))
    }

    /// Whether there is no memory for one more lock of an owner who has many.
    pub fn is_full(&self, owner: &LockOwner) -> bool {
        self.is_full_for(&owner.0.held.lock())
    }

    /// The same for a lock on this.
    fn refuses(&self, owner: &LockOwner, resource: &Resource) -> bool {
        let held = owner.0.held.lock();
        self.is_full_for(&held) && held.locks.get(&Key::of(resource)).is_none()
    }

    /// Whether anybody holds a key-range lock. Ask with the page latched that the new key goes to: who takes range
    /// locks does so with the page latched too, so one of the two sees the other.
    pub fn any_ranges(&self) -> bool {
        self.ranges.load(Ordering::SeqCst) > 0
    }

    fn lock_slow(
        &self,
        owner: &LockOwner,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
        timeout: Option<Duration>,
    ) -> Result<LockOutcome, LockError> {
        let _turn = owner.0.turn.lock();
        let key = Key::of(resource);
        let began = time::now();
        let (mut waited, mut left) = (false, timeout);
        loop {
            let before = owner.mode_on(&key);
            let ask = ask(owner, entity, &key, mode, duration, before);
            let strong = is_strong(resource, ask.mode);
            if strong {
                self.announce(&key);
            }
            let result = self.wait_for(&ask, left);
            if strong && result.is_err() {
                self.intents.withdraw(&key);
            }
            waited |= result?;
            let mut held = owner.0.held.lock();
            if !ask.instant && !self.partition(&key).has_granted(&ask) {
                // It had joined what another thread of the owner's has given back meanwhile, whole.
                drop(held);
                if strong {
                    self.intents.withdraw(&key);
                }
                left = timeout.map(|limit| limit.saturating_sub(began.elapsed()));
                continue;
            }
            // While this thread waited another of the owner's may have entered the lock as a private one. It joins the
            // grant that the table has now: one that is private is not given back there.
            self.publish(owner, &mut held, &key);
            let how = Granted {
                waited,
                private: false,
                strong,
            };
            let outcome = self.record(&mut held, entity, &key, mode, duration, how);
            report_grant(owner, entity, &key, (mode, duration), began.elapsed());
            return Ok(outcome);
        }
    }

    /// Waits until the table grants it; whether that took a sleep.
    fn wait_for(&self, ask: &Ask<'_>, timeout: Option<Duration>) -> Result<bool, LockError> {
        let (owner, key) = (ask.owner, ask.key);
        let (waiter, blocker) = {
            let mut table = self.partition(key);
            if table.try_grant(ask) {
                return Ok(false);
            }
            if let Some(why) = table.kept(ask) {
                return Err(LockError::Kept(Box::new(why)));
            }
            let (waiter, blocker) = table.enqueue(ask, time::now());
            *owner.0.waiting.lock() = Some(Waiting {
                key: *key,
                waiter: waiter.clone(),
            });
            (waiter, blocker)
        };
        self.waits.fetch_add(1, Ordering::Relaxed);
        debug_assert!(
            duramen_os::sync::held().len() <= 1,
            "lock/7: {:?} is waited for with more than the owner's turn: {:?}",
            key.resource,
            duramen_os::sync::held()
        );
        if let Some(hook) = owner.0.before_wait.get() {
            hook();
        }
        let other = self.waiting.lock().insert(owner.id(), owner.clone());
        debug_assert!(other.is_none(), "an owner waits for one thing at a time");
        let mut timed = waits::start(ask.mode, &key.resource, blocker.map(|b| b.spid()));
        let result = self.sleep(owner, key, &waiter, timeout);
        self.waiting.lock().remove(&owner.id());
        debug_assert!(
            *waiter.state.lock() != WaitState::Waiting,
            "who wakes has been granted or refused"
        );
        timed.woken(waiter.ended.get().copied());
        if result == Err(LockError::Timeout) && reporting::timeouts_are_wanted() {
            let waited = timeout.unwrap_or_default();
            reporting::timed_out(owner, ask.rowset, &key.resource, (ask.mode, false), waited);
        }
        result.map(|()| true)
    }

    fn sleep(
        &self,
        owner: &LockOwner,
        key: &Key,
        waiter: &Arc<Waiter>,
        timeout: Option<Duration>,
    ) -> Result<(), LockError> {
        let deadline = timeout.map(|limit| time::now() + limit);
        let mut next_look = time::now() + DEADLOCK_FIRST_LOOK;
        // Of those searches that saw this request none has looked yet.
        let mut searched = self.searches.load(Ordering::Acquire);
        let mut reported = 0;
        let attention = owner.0.attention.lock().clone();
        let stop = helper::stop_flag();
        loop {
            if owner.0.cancelled.load(Ordering::SeqCst)
                || helper::is_set(attention.as_ref())
                || helper::is_set(stop.as_ref())
            {
                self.partition(key)
                    .withdraw(key, waiter, WaitState::Cancelled);
            }
            let state = {
                let mut state = waiter.state.lock();
                // A wake that came before this lock was taken would be missed.
                if *state == WaitState::Waiting && !helper::is_set(attention.as_ref()) {
                    let mut until = deadline.map_or(next_look, |d| d.min(next_look));
                    let now = time::now();
                    if attention.is_some() || stop.is_some() {
                        until = until.min(now + ATTENTION_LOOK);
                    }
                    if until > now {
                        waiter.wake.wait_for(&mut state, until.since(now));
                    }
                }
                state.clone()
            };
            match state {
                WaitState::Granted => return Ok(()),
                WaitState::Victim => {
                    drop(self.reporting.lock());
                    return Err(LockError::Deadlock);
                }
                WaitState::Cancelled => return Err(LockError::Cancelled),
                WaitState::Kept(why) => return Err(LockError::Kept(why)),
                WaitState::Waiting => {}
            }
            let now = time::now();
            if deadline.is_some_and(|d| d <= now) {
                // Granted in the meantime? Then `withdraw` finds nothing and the loop sees the state.
                if self
                    .partition(key)
                    .withdraw(key, waiter, WaitState::Cancelled)
                {
                    self.timeouts.fetch_add(1, Ordering::Relaxed);
                    count(Counter::LockTimeouts, 1);
                    count(Counter::LockTimeoutsPositive, 1);
                    return Err(LockError::Timeout);
                }
            } else if next_look <= now {
                next_look = now + DEADLOCK_NEXT_LOOK;
                searched = self.search_deadlock(owner, searched);
                self.report_blocked(owner, key, waiter, &mut reported);
            }
        }
    }

    /// Ends a wait of `owner`, and every wait it starts until its `clear_cancel`.
    pub fn cancel(&self, owner: &LockOwner) {
        owner.0.cancelled.store(true, Ordering::SeqCst);
        let waiting = owner.0.waiting.lock().clone();
        if let Some(w) = waiting {
            self.partition(&w.key)
                .withdraw(&w.key, &w.waiter, WaitState::Cancelled);
        }
    }

    /// Has an owner that waits look at its attention flag now, which has just been set.
    pub fn wake(&self, owner: &LockOwner) {
        let waiting = owner.0.waiting.lock().clone();
        if let Some(w) = waiting {
            let _state = w.waiter.state.lock();
            w.waiter.wake.notify_all();
        }
    }

    /// Every lock and every request. Owners and partitions are copied one after the other.
    pub fn snapshot(&self) -> Vec<LockInfo> {
        let now = time::now();
        let mut all = self.private();
        for partition in &self.partitions {
            let table = partition.0.lock();
            for (Key { resource, .. }, holders) in &table.map {
                all.extend(holders.grants().map(|g| LockInfo {
                    resource: *resource,
                    mode: g.mode,
                    status: LockStatus::Grant,
                    spid: g.owner.spid(),
                    owner: g.owner.id(),
                    rowset: g.rowset,
                    waited: None,
                    blocked_by: Vec::new(),
                }));
                all.extend(holders.queue.iter().enumerate().map(|(at, r)| LockInfo {
                    resource: *resource,
                    mode: r.mode,
                    status: if r.conversion {
                        LockStatus::Convert
                    } else {
                        LockStatus::Wait
                    },
                    spid: r.owner.spid(),
                    owner: r.owner.id(),
                    rowset: r.rowset,
                    waited: Some(now.since(r.since)),
                    blocked_by: holders.blockers(at).map(|o| o.spid()).collect(),
                }));
            }
        }
        all.sort_by_key(|l| (l.resource, l.owner));
        // One that was entered into a table meanwhile is there twice.
        all.dedup_by_key(|l| (l.resource, l.owner, l.status == LockStatus::Grant));
        all
    }

    pub fn stats(&self) -> LockStats {
        LockStats {
            waits: self.waits.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
            escalations: self.escalations.load(Ordering::Relaxed),
        }
    }
}

fn partition_of(key: &Key) -> usize {
    (key.hash >> 40) as usize % PARTITIONS
}

fn ask<'a>(
    owner: &'a LockOwner,
    entity: &Entity,
    key: &'a Key,
    mode: LockMode,
    duration: LockDuration,
    before: Option<LockMode>,
) -> Ask<'a> {
    let instant = duration == LockDuration::Instant;
    Ask {
        owner,
        key,
        mode: match before {
            Some(before) if !instant => before.join(mode),
            _ => mode,
        },
        rowset: entity.rowset,
        conversion: before.is_some(),
        instant,
        joins: true,
    }
}

#[cfg(test)]
pub(crate) mod tests;
