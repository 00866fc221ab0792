//! Who holds locks: one owner per session, used by one transaction after the other.
//!
//! The owner keeps the list of what it holds, so that asking again for something held, and giving everything back,
//! do not search the shared table. Its mutex is taken by the session's own worker and is not contended.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::{DbId, ObjectId, RowsetId, SessionId, SqlError};
use duramen_observe::{Counter, count};
use duramen_os::sync::{Mutex, Rank};

use super::LockMark;
use super::held::HeldLocks;
use super::mode::LockMode;
use super::resource::{Key, Resource};
use super::table::Waiter;

/// Locks of one table at which a statement first tries to escalate, and the step after which it tries again.
pub const ESCALATION_FIRST: u32 = 5000;
pub const ESCALATION_STEP: u32 = 1250;

/// The table and the HoBT that a fine lock belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entity {
    pub object: ObjectId,
    pub rowset: RowsetId,
}

/// How long a lock is meant to be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockDuration {
    /// Granted and given back in the same moment: "nobody holds anything against it now".
    Instant,
    /// Until unlocked or until the transaction ends.
    Normal,
    /// Until the session gives it back: survives `release_all`.
    Session,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub locks: HeldLocks,
    /// See [`OwnerState::intent`].
    intent: Arc<AtomicU64>,
    pub sequence: u64,
    /// Whether strong requests visit this owner; see [`super::intents`].
    pub registered: bool,
    /// Table locks that stand for fine locks: while there are none, nobody looks for them.
    coarse: u32,
    counts: Vec<FineCount>,
    /// Requests that the server's counter has not been told of.
    requests: u64,
    /// Of [`super::memory`]: the locks that the manager counts, and how many make the next try to escalate.
    pub reported: usize,
    pub next_try: usize,
}

/// So many requests are counted at once: every core counts them, in one place.
const REQUESTS_AT_ONCE: u64 = 32;

#[derive(Debug)]
struct FineCount {
    db: DbId,
    object: ObjectId,
    locks: u32,
    next_try: u32,
}

impl Held {
    /// A request for a lock; the counter is told of it at the end of the transaction at the latest.
    #[inline]
    pub fn count_request(&mut self) {
        self.requests += 1;
        if self.requests == REQUESTS_AT_ONCE {
            self.report_requests();
        }
    }

    pub fn report_requests(&mut self) {
        if self.requests > 0 {
            count(Counter::LockRequests, std::mem::take(&mut self.requests));
        }
    }

    /// Counts a new fine lock of the running statement; true when it is time to try the table lock.
    pub fn count_fine(&mut self, db: DbId, object: ObjectId) -> bool {
        let found = self
            .counts
            .iter_mut()
            .find(|c| c.object == object && c.db == db);
        let count = match found {
            Some(count) => count,
            None => {
                self.counts.push(FineCount {
                    db,
                    object,
                    locks: 0,
                    next_try: ESCALATION_FIRST,
                });
                self.counts.last_mut().expect("just pushed")
            }
        };
        count.locks += 1;
        if count.locks < count.next_try {
            return false;
        }
        count.next_try += ESCALATION_STEP;
        true
    }

    /// A fine lock was given back before the end of the statement.
    pub fn uncount_fine(&mut self, db: DbId, object: ObjectId) {
        if let Some(c) = self
            .counts
            .iter_mut()
            .find(|c| c.object == object && c.db == db)
        {
            c.locks = c.locks.saturating_sub(1);
        }
    }

    /// A lock on `resource` went from one mode to another (`None`: not held).
    pub fn changed(&mut self, resource: &Resource, from: Option<LockMode>, to: Option<LockMode>) {
        if let Resource::Object(db, object) = *resource {
            let coarse = |m: Option<LockMode>| m.is_some_and(|m| m.covers_below(LockMode::S));
            self.coarse += u32::from(coarse(to));
            self.coarse -= u32::from(coarse(from));
            let table = packed(db, object);
            if to.is_some_and(|m| m.covers(LockMode::IX)) {
                self.intent.store(table, Ordering::Relaxed);
            } else if self.intent.load(Ordering::Relaxed) == table {
                self.intent.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Whether the owner's lock on the table makes this fine lock needless.
    pub fn is_covered(&self, entity: &Entity, resource: &Resource, mode: LockMode) -> bool {
        self.coarse > 0
            && entity.object.0 != 0
            && resource.is_fine()
            && self
                .locks
                .get(&Key::of(&Resource::Object(resource.db(), entity.object)))
                .is_some_and(|table| table.mode.covers_below(mode))
    }

    pub fn clear_counts(&mut self) {
        self.counts.clear();
    }
}

/// Never 0 for an object.
fn packed(db: DbId, object: ObjectId) -> u64 {
    1 << 63 | u64::from(db.0) << 32 | u64::from(object.0 as u32)
}

/// What an owner is waiting for, as the deadlock search sees it.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub key: Key,
    pub waiter: Arc<Waiter>,
}

pub(super) struct OwnerState {
    pub id: u64,
    pub spid: SessionId,
    pub priority: AtomicI8,
    pub log_used: AtomicU64,
    /// The session's transaction that runs, or ran last.
    pub transaction: AtomicU64,
    /// See [`LockOwner::draft`].
    pub drafts: [AtomicU64; 2],
    pub cancelled: AtomicBool,
    pub held: Mutex<Held>,
    /// A table on which IX or more is held, packed; 0: look into `held`. Set and cleared under its mutex, by those who
    /// work for the owner; so whoever of them finds its table here need not take it.
    intent: Arc<AtomicU64>,
    /// See [`LockOwner::given_back`].
    pub given_back: AtomicU64,
    /// Held by the one thread of the owner that waits.
    pub turn: Mutex<()>,
    /// Set and cleared only under the lock of the partition that holds the request.
    pub waiting: Mutex<Option<Waiting>>,
    pub before_wait: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What of the held locks is not given back, and the error of whoever asks for it.
    pub for_ever: OnceLock<Kept>,
    /// Set by an attention; looked at while waiting.
    pub attention: Mutex<Option<Arc<AtomicBool>>>,
}

/// Locks that outlive their transaction and its session.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub why: SqlError,
    /// Those of databases that have been shut down; `None`: all, until the process ends.
    pub of: Option<Vec<DbId>>,
}

impl Kept {
    pub fn keeps(&self, resource: &Resource) -> bool {
        let of = self.of.as_ref();
        of.is_none_or(|of| of.contains(&resource.db()))
    }
}

/// A holder of locks. Cheap to clone; all clones are the same owner.
#[derive(Clone)]
pub struct LockOwner(pub(super) Arc<OwnerState>);

impl LockOwner {
    pub(super) fn new(id: u64, spid: SessionId) -> LockOwner {
        let held = Held::default();
        LockOwner(Arc::new(OwnerState {
            intent: held.intent.clone(),
            held: Mutex::ranked(Rank::LocksHeld, held),
            id,
            spid,
            priority: AtomicI8::new(0),
            log_used: AtomicU64::new(0),
            transaction: AtomicU64::new(0),
            drafts: Default::default(),
            cancelled: AtomicBool::new(false),
            given_back: AtomicU64::new(0),
            turn: Mutex::ranked(Rank::LockTurn, ()),
            waiting: Mutex::ranked(Rank::OwnerWaiting, None),
            before_wait: OnceLock::new(),
            for_ever: OnceLock::new(),
            attention: Mutex::new(None),
        }))
    }

    pub fn id(&self) -> u64 {
        self.0.id
    }

    pub fn spid(&self) -> SessionId {
        self.0.spid
    }

    /// The id of the transaction that takes locks in this owner's name.
    pub fn transaction(&self) -> u64 {
        self.0.transaction.load(Ordering::Relaxed)
    }

    /// What stands for the definitions that the owner's transaction has changed and not committed: a number that comes but
    /// once, and another with each change; 0 while there are none. Those of tempdb count only where they are asked for.
    #[inline]
    pub fn draft(&self, temporary: bool) -> u64 {
        let [permanent, tempdb] = &self.0.drafts;
        let own = permanent.load(Ordering::Relaxed);
        match temporary {
            true => own.max(tempdb.load(Ordering::Relaxed)),
            false => own,
        }
    }

    /// Definitions that only this owner sees have become others; 0: there are none any more.
    pub fn set_draft(&self, temporary: bool, stamp: u64) {
        self.0.drafts[usize::from(temporary)].store(stamp, Ordering::Relaxed);
    }

    pub(crate) fn set_transaction(&self, id: u64) {
        self.0.transaction.store(id, Ordering::Relaxed);
    }

    /// SET DEADLOCK_PRIORITY, -10 to 10; the lowest is the first victim.
    pub fn set_deadlock_priority(&self, priority: i8) {
        self.0
            .priority
            .store(priority.clamp(-10, 10), Ordering::Relaxed);
    }

    pub fn deadlock_priority(&self) -> i8 {
        self.0.priority.load(Ordering::Relaxed)
    }

    /// Bytes of log that rolling back the running transaction would have to read: among equals the cheaper dies.
    pub fn set_log_used(&self, bytes: u64) {
        self.0.log_used.store(bytes, Ordering::Relaxed);
    }

    /// Those who log for an owner mostly do so one after the other: what gets lost when they do not is an estimate's.
    pub fn add_log_used(&self, bytes: u64) {
        self.set_log_used(self.log_used() + bytes);
    }

    pub(crate) fn sub_log_used(&self, bytes: u64) {
        self.set_log_used(self.log_used().saturating_sub(bytes));
    }

    pub fn log_used(&self) -> u64 {
        self.0.log_used.load(Ordering::Relaxed)
    }

    /// Called once before every lock wait, with no lock of the manager held: the place to ask for the flush of what
    /// the session has committed (whoever blocks asks first). Only the first call sets it.
    pub fn set_before_wait(&self, hook: Box<dyn Fn() + Send + Sync>) {
        let _ = self.0.before_wait.set(hook);
    }

    /// A flag that ends the waits of this owner when somebody sets it: the running request's attention.
    pub fn set_attention(&self, flag: Arc<AtomicBool>) {
        *self.0.attention.lock() = Some(flag);
    }

    /// Whether the running request has been given up: work that waits for no lock looks here between its steps.
    pub fn is_given_up(&self) -> bool {
        let attention = self.0.attention.lock();
        attention
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// A new request begins: an attention of the previous one no longer counts.
    pub fn clear_cancel(&self) {
        self.0.cancelled.store(false, Ordering::SeqCst);
    }

    /// Why a lock stays beyond the owner's end, if it does; see [`LockManager::keep_for_ever`] and
    /// [`LockManager::keep_of`].
    ///
    /// [`LockManager::keep_for_ever`]: super::LockManager::keep_for_ever
    /// [`LockManager::keep_of`]: super::LockManager::keep_of
    pub fn kept(&self, resource: &Resource) -> Option<&SqlError> {
        let kept = self.0.for_ever.get()?;
        kept.keeps(resource).then_some(&kept.why)
    }

    /// A new statement begins: escalation counts start again. The point to which its undoing gives locks back.
    pub fn statement_start(&self) -> LockMark {
        let mut held = self.0.held.lock();
        held.clear_counts();
        LockMark(held.sequence)
    }

    /// Whether anything of the database is held or waited for.
    pub fn holds_of(&self, db: DbId) -> bool {
        let waits = |w: &Waiting| w.key.resource.db() == db;
        if self.0.waiting.lock().as_ref().is_some_and(waits) {
            return true;
        }
        let held = self.0.held.lock();
        held.locks.iter().any(|(key, _)| key.resource.db() == db)
    }

    /// How many locks are held.
    pub fn held_count(&self) -> usize {
        self.0.held.lock().locks.len()
    }

    /// Whether `mode` on `resource` is IX on a table that is known to be held so.
    #[inline]
    pub(super) fn has_intent(&self, resource: &Resource, mode: LockMode) -> bool {
        match *resource {
            Resource::Object(db, object) => {
                mode == LockMode::IX && self.0.intent.load(Ordering::Relaxed) == packed(db, object)
            }
            _ => false,
        }
    }

    /// The mode held on `resource`.
    pub fn holds(&self, resource: &Resource) -> Option<LockMode> {
        self.mode_on(&Key::of(resource))
    }

    /// How many locks the owner's threads have given back before their transaction's end. Who joined a lock that another
    /// thread had taken was under it all the time if this is as it was before he asked.
    pub fn given_back(&self) -> u64 {
        self.0.given_back.load(Ordering::SeqCst)
    }

    pub(super) fn mode_on(&self, key: &Key) -> Option<LockMode> {
        self.0.held.lock().locks.get(key).map(|h| h.mode)
    }

    /// What is waited for right now.
    pub fn waiting_for(&self) -> Option<Resource> {
        self.0.waiting.lock().as_ref().map(|w| w.key.resource)
    }
}

impl PartialEq for LockOwner {
    fn eq(&self, other: &LockOwner) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for LockOwner {}

impl fmt::Debug for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockOwner({}, spid {})", self.0.id, self.0.spid.0)
    }
}
