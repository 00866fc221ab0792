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
//! Order of the mutexes: owner's `held`, partition (one; all of them in order for the deadlock search), owner's
//! `waiting`, waiter's state. None is held while sleeping.
//!
//! Deadlocks are found by the blocked themselves. The last request that closes a cycle finds it when it has waited for
//! [`DEADLOCK_FIRST_LOOK`]; a cycle cannot close in any other way, because a lock is only ever granted to an owner that
//! then runs. SQL Server's monitor looks every 5 seconds; this one is sooner, on the same rules for the victim.

mod deadlock;
mod mode;
mod owner;
mod resource;
mod table;
mod waits;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::{DbId, ObjectId, RowsetId, SessionId, SqlError};
use duramen_observe::events::{LockEscalation, emit};
use duramen_observe::{Counter, count};
use duramen_os::sync::{Mutex, MutexGuard};
use duramen_os::time;

pub use deadlock::{DeadlockProcess, DeadlockReport};
pub use mode::LockMode;
pub use owner::{ESCALATION_FIRST, ESCALATION_STEP, Entity, LockDuration, LockOwner};
pub use resource::Resource;

use owner::{HeldLock, Waiting};
use table::{Ask, Table, WaitState, Waiter};

/// How long a request has waited when it first looks for a deadlock, and how often it looks again.
pub const DEADLOCK_FIRST_LOOK: Duration = Duration::from_millis(10);
const DEADLOCK_NEXT_LOOK: Duration = Duration::from_secs(1);

/// How often a waiting owner looks at its attention flag.
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
#[derive(Debug, Default)]
struct Partition(Mutex<Table>);

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
    on_deadlock: OnceLock<DeadlockHook>,
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
            on_deadlock: OnceLock::new(),
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

    fn partition(&self, resource: &Resource) -> MutexGuard<'_, Table> {
        let at = (resource.hash64() >> 40) as usize % PARTITIONS;
        self.partitions[at].0.lock()
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
        if timeout == Some(Duration::ZERO) {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
            count(Counter::LockTimeouts, 1);
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
        let mut held = owner.0.held.lock();
        if held.is_covered(entity, resource, mode) {
            return Some(LockOutcome {
                acquired: Acquired::Already,
                waited: false,
                escalate: false,
            });
        }
        let before = held.map.get(resource).map(|h| h.mode);
        let target = before.map_or(mode, |b| b.join(mode));
        let covered = before == Some(target);
        if !covered {
            let ask = ask(owner, entity, resource, mode, duration, before);
            count(Counter::LockRequests, 1);
            if !self.partition(resource).try_grant(&ask) {
                return None;
            }
        }
        Some(self.record(&mut held, entity, resource, mode, duration, false))
    }

    /// Whether anybody holds a key-range lock. Ask with the page latched that the new key goes to: who takes range
    /// locks does so with the page latched too, so one of the two sees the other.
    pub fn any_ranges(&self) -> bool {
        self.ranges.load(Ordering::SeqCst) > 0
    }

    /// A lock goes from its owner's list.
    fn dropped(&self, held: &mut owner::Held, resource: &Resource, mode: LockMode) {
        held.changed(resource, Some(mode), None);
        if mode.is_range() {
            self.ranges.fetch_sub(1, Ordering::SeqCst);
        }
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
        let before = owner.holds(resource);
        let ask = ask(owner, entity, resource, mode, duration, before);
        let waiter = {
            let mut table = self.partition(resource);
            if table.try_grant(&ask) {
                None
            } else {
                if let Some(why) = table.kept(&ask) {
                    return Err(LockError::Kept(Box::new(why)));
                }
                let (waiter, blocker) = table.enqueue(&ask, time::now());
                *owner.0.waiting.lock() = Some(Waiting {
                    resource: *resource,
                    waiter: waiter.clone(),
                });
                Some((waiter, blocker))
            }
        };
        let waited = waiter.is_some();
        if let Some((waiter, blocker)) = waiter {
            self.waits.fetch_add(1, Ordering::Relaxed);
            if let Some(hook) = owner.0.before_wait.get() {
                hook();
            }
            let mut timed = waits::start(mode, resource, blocker.map(|b| b.spid()));
            let result = self.sleep(owner, resource, &waiter, timeout);
            timed.woken(waiter.ended.get().copied());
            result?;
        }
        let mut held = owner.0.held.lock();
        Ok(self.record(&mut held, entity, resource, mode, duration, waited))
    }

    fn sleep(
        &self,
        owner: &LockOwner,
        resource: &Resource,
        waiter: &Arc<Waiter>,
        timeout: Option<Duration>,
    ) -> Result<(), LockError> {
        let deadline = timeout.map(|limit| time::now() + limit);
        let mut next_look = time::now() + DEADLOCK_FIRST_LOOK;
        let attention = owner.0.attention.lock().clone();
        loop {
            if owner.0.cancelled.load(Ordering::SeqCst)
                || attention.as_ref().is_some_and(|a| a.load(Ordering::SeqCst))
            {
                self.partition(resource)
                    .withdraw(resource, waiter, WaitState::Cancelled);
            }
            let state = {
                let mut state = waiter.state.lock();
                if *state == WaitState::Waiting {
                    let mut until = deadline.map_or(next_look, |d| d.min(next_look));
                    let now = time::now();
                    if attention.is_some() {
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
                WaitState::Victim => return Err(LockError::Deadlock),
                WaitState::Cancelled => return Err(LockError::Cancelled),
                WaitState::Kept(why) => return Err(LockError::Kept(why)),
                WaitState::Waiting => {}
            }
            let now = time::now();
            if deadline.is_some_and(|d| d <= now) {
                // Granted in the meantime? Then `withdraw` finds nothing and the loop sees the state.
                if self
                    .partition(resource)
                    .withdraw(resource, waiter, WaitState::Cancelled)
                {
                    self.timeouts.fetch_add(1, Ordering::Relaxed);
                    count(Counter::LockTimeouts, 1);
                    count(Counter::LockTimeoutsPositive, 1);
                    return Err(LockError::Timeout);
                }
            } else if next_look <= now {
                next_look = now + DEADLOCK_NEXT_LOOK;
                self.search_deadlock(owner);
            }
        }
    }

    /// Gives back one lock taken with outcome `New` before the transaction ends (read committed, a row that did not
    /// qualify). Nothing happens when the owner meanwhile holds another mode.
    pub fn unlock(&self, owner: &LockOwner, resource: &Resource, mode: LockMode) {
        let mut held = owner.0.held.lock();
        let Some(lock) = held.map.get(resource) else {
            return;
        };
        if lock.mode != mode || lock.session.is_some() {
            return;
        }
        let object = lock.entity.object;
        held.map.remove(resource);
        self.dropped(&mut held, resource, mode);
        if object.0 != 0 && resource.is_fine() {
            held.uncount_fine(resource.db(), object);
        }
        self.partition(resource).release(resource, owner);
    }

    /// Gives back what the session holds beyond its transactions on `resource`; what the running transaction needs of
    /// it stays until its end.
    pub fn unlock_session(&self, owner: &LockOwner, resource: &Resource, in_transaction: bool) {
        let mut held = owner.0.held.lock();
        let Some(lock) = held.map.get_mut(resource) else {
            return;
        };
        let mode = lock.mode;
        if lock.session.take().is_none() || in_transaction {
            return;
        }
        held.map.remove(resource);
        self.dropped(&mut held, resource, mode);
        self.partition(resource).release(resource, owner);
    }

    /// The end of a transaction: everything goes but what the session keeps.
    pub fn release_all(&self, owner: &LockOwner) {
        let mut held = owner.0.held.lock();
        held.clear_counts();
        if held.map.is_empty() || owner.kept_for_ever().is_some() {
            return;
        }
        let mut kept = Vec::new();
        let mut map = std::mem::take(&mut held.map);
        for (resource, mut lock) in map.drain() {
            match lock.session {
                None => {
                    self.dropped(&mut held, &resource, lock.mode);
                    self.partition(&resource).release(&resource, owner);
                }
                Some(mode) => {
                    if mode != lock.mode {
                        held.changed(&resource, Some(lock.mode), Some(mode));
                        lock.mode = mode;
                        self.partition(&resource).demote(&resource, owner, mode);
                    }
                    kept.push((resource, lock));
                }
            }
        }
        if map.capacity() <= 4096 {
            held.map = map;
        }
        held.map.extend(kept);
    }

    /// What `owner` holds stays held until the process ends: what it protects is in doubt, and only a restart can tell.
    /// Whoever waits for any of it, and who comes to wait, gets `why` as the error.
    pub fn keep_for_ever(&self, owner: &LockOwner, why: &SqlError) {
        let _ = owner.0.for_ever.set(why.clone());
        let held: Vec<Resource> = owner.0.held.lock().map.keys().copied().collect();
        for resource in held {
            self.partition(&resource).refuse_waiters(&resource);
        }
    }

    /// The end of a session.
    pub fn release_session(&self, owner: &LockOwner) {
        let mut held = owner.0.held.lock();
        held.clear_counts();
        if owner.kept_for_ever().is_some() {
            return;
        }
        for (resource, lock) in std::mem::take(&mut held.map) {
            self.dropped(&mut held, &resource, lock.mode);
            self.partition(&resource).release(&resource, owner);
        }
    }

    /// The point to which a rollback to a savepoint may give locks back.
    pub fn mark(&self, owner: &LockOwner) -> LockMark {
        LockMark(owner.0.held.lock().sequence)
    }

    /// Gives back locks that were first taken after `mark`. Conversions of older locks stay.
    pub fn release_to(&self, owner: &LockOwner, mark: LockMark) {
        self.release_some(&mut owner.0.held.lock(), owner, |_, lock| {
            lock.sequence > mark.0 && lock.session.is_none()
        });
    }

    /// Trades the owner's row and page locks of a table for one lock on the table (X when one of them is stronger
    /// than S). False, and nothing changed, when another owner is in the way: the caller goes on with fine locks.
    pub fn escalate(&self, owner: &LockOwner, db: DbId, object: ObjectId) -> bool {
        let mine = |resource: &Resource, lock: &HeldLock| {
            resource.is_fine() && resource.db() == db && lock.entity.object == object
        };
        let mode = {
            let held = owner.0.held.lock();
            let write = held
                .map
                .iter()
                .any(|(r, l)| mine(r, l) && !LockMode::S.covers_below(l.mode));
            if write { LockMode::X } else { LockMode::S }
        };
        let table = Resource::Object(db, object);
        let granted = self.try_lock_in(
            owner,
            &Entity::default(),
            &table,
            mode,
            LockDuration::Normal,
        );
        if granted.is_none() {
            return false;
        }
        let traded = self.release_some(&mut owner.0.held.lock(), owner, |resource, lock| {
            mine(resource, lock) && lock.session.is_none()
        });
        self.escalations.fetch_add(1, Ordering::Relaxed);
        count(Counter::TableLockEscalations, 1);
        emit(|| LockEscalation {
            database_id: u64::from(db.0),
            object_id: u64::from(object.0.unsigned_abs()),
            escalated_lock_count: traded as u64,
        });
        true
    }

    fn release_some(
        &self,
        held: &mut owner::Held,
        owner: &LockOwner,
        which: impl Fn(&Resource, &HeldLock) -> bool,
    ) -> usize {
        let going: Vec<(Resource, LockMode)> = held
            .map
            .iter()
            .filter(|(resource, lock)| which(resource, lock))
            .map(|(resource, lock)| (*resource, lock.mode))
            .collect();
        for (resource, mode) in &going {
            held.map.remove(resource);
            self.dropped(held, resource, *mode);
            self.partition(resource).release(resource, owner);
        }
        going.len()
    }

    /// Enters a granted request into the owner's list.
    fn record(
        &self,
        held: &mut owner::Held,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
        waited: bool,
    ) -> LockOutcome {
        use std::collections::hash_map::Entry;
        let mut outcome = LockOutcome {
            acquired: Acquired::New,
            waited,
            escalate: false,
        };
        if duration == LockDuration::Instant {
            outcome.acquired = Acquired::Instant;
            return outcome;
        }
        let session = duration == LockDuration::Session;
        held.sequence += 1;
        let sequence = held.sequence;
        match held.map.entry(*resource) {
            Entry::Occupied(mut occupied) => {
                let lock = occupied.get_mut();
                let from = lock.mode;
                lock.mode = from.join(mode);
                if session {
                    lock.session = Some(lock.session.map_or(mode, |s| s.join(mode)));
                }
                let to = lock.mode;
                outcome.acquired = if to == from {
                    Acquired::Already
                } else {
                    if to.is_range() && !from.is_range() {
                        self.ranges.fetch_add(1, Ordering::SeqCst);
                    }
                    held.changed(resource, Some(from), Some(to));
                    Acquired::Converted { from }
                };
            }
            Entry::Vacant(vacant) => {
                vacant.insert(HeldLock {
                    mode,
                    session: session.then_some(mode),
                    entity: *entity,
                    sequence,
                });
                held.changed(resource, None, Some(mode));
                if mode.is_range() {
                    self.ranges.fetch_add(1, Ordering::SeqCst);
                }
                if entity.object.0 != 0 && resource.is_fine() {
                    outcome.escalate = held.count_fine(resource.db(), entity.object);
                }
            }
        }
        outcome
    }

    /// Ends a wait of `owner`, and every wait it starts until its `clear_cancel`.
    pub fn cancel(&self, owner: &LockOwner) {
        owner.0.cancelled.store(true, Ordering::SeqCst);
        let waiting = owner.0.waiting.lock().clone();
        if let Some(w) = waiting {
            self.partition(&w.resource)
                .withdraw(&w.resource, &w.waiter, WaitState::Cancelled);
        }
    }

    /// Every lock and every request. Partitions are copied one after the other.
    pub fn snapshot(&self) -> Vec<LockInfo> {
        let now = time::now();
        let mut all = Vec::new();
        for partition in &self.partitions {
            let table = partition.0.lock();
            for (resource, holders) in &table.map {
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
                    blocked_by: holders.blockers(at).iter().map(|o| o.spid()).collect(),
                }));
            }
        }
        all.sort_by_key(|l| (l.resource, l.owner));
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

fn ask<'a>(
    owner: &'a LockOwner,
    entity: &Entity,
    resource: &'a Resource,
    mode: LockMode,
    duration: LockDuration,
    before: Option<LockMode>,
) -> Ask<'a> {
    let instant = duration == LockDuration::Instant;
    Ask {
        owner,
        resource,
        mode: match before {
            Some(before) if !instant => before.join(mode),
            _ => mode,
        },
        rowset: entity.rowset,
        conversion: before.is_some(),
        instant,
    }
}

#[cfg(test)]
mod tests;
