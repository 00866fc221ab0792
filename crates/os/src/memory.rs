//! One broker of an instance's memory: what grows asks it, what shrinks tells it, and the buffer pool has the rest.
//!
//! A [`Broker`] has a limit (`--max-memory`, `max server memory`). Whatever is not a page belongs to a [`Clerk`], who is told
//! in steps of [`STEP`] bytes: an [`Account`] of one owner and a [`Tally`] of many touch what is shared only when they pass a
//! step, so that a short statement touches nothing. What others hold makes the pool's room smaller ([`Broker::pool_room`]),
//! down to a floor; what finds no room at all gets 701 for its statement alone. Before that, caches are asked to give back.
//!
//! It lies in this room because everybody above grows: the log, the locks, the pool, sessions. It is one per instance, not a
//! static: several instances of a process, and simulated ones, have a limit each.
//!
//! Invariants
//! 1. What a clerk says is the sum of what its accounts and tallies have told; each gives back all of it when it goes.
//!    [test: a_clerk_has_a_share]
//! 2. Asking the broker waits for nobody: it is an addition, a comparison and, when there is no room, a turn over the caches.
//!    Who keeps more and has no latch lets the pool shrink for a moment where it lags far behind its room
//!    ([`Broker::await_pool`]): pages that have changed must be written first.
//!    [test: more_than_there_is_is_refused_and_less_is_not; test: who_grows_lets_the_pool_shrink]
//! 3. The limit counts what is held, not what is resident. What the process has beyond that ([`Broker::watch`]) makes the
//!    pool smaller, too, and beyond the allowance everybody's room. [test: what_nobody_counts_takes_room_too]

mod account;
mod clerks;
pub mod meter;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use duramen_base::{SqlError, messages};

pub use account::{Account, Tally};
pub use clerks::{CLERKS, Clerk, ClerkRow};

use crate::sync::Mutex;
use crate::time;

/// Bytes in which accounts and tallies tell.
pub const STEP: u64 = 64 << 10;
/// Of the limit, what the pool keeps however much others want: a quarter, as SQL Server lets no more than three quarters be
/// stolen from its pool.
const POOL_PERCENT: u64 = 25;
/// However small the limit is, so much is given: tests and simulations run with pools of a megabyte.
const LEAST: u64 = 16 << 20;
/// What a process has beside what anybody counts: code, stacks, small tables, crumbs of the allocator.
const ALLOWANCE: u64 = 40 << 20;
/// One of so many parts of the excess is forgotten with each look: half of it after five.
const SLOWLY: u64 = 8;

/// How far the pool may lag behind its room before who grows waits for it: so much, or this part of the limit.
const LAG: u64 = 16 << 20;
const LAG_PART: u64 = 16;
/// For so long at most with each step.
const MOMENT: Duration = Duration::from_millis(25);

/// Gives memory back that it keeps for later.
pub trait Cache: Send + Sync {
    /// Lets go of about `bytes`; how many it was. Takes no lock that anybody may wait under: it tries.
    fn give_back(&self, bytes: u64) -> u64;
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// See the module.
pub struct Broker {
    limit: AtomicU64,
    /// Signed, as one thread may give back what another is about to tell of.
    clerks: [AtomicI64; CLERKS.len()],
    /// What all clerks but the pool's hold.
    held: AtomicI64,
    /// What the process has beyond what is held and allowed.
    excess: AtomicU64,
    /// The same as the pool minds it: what was there a moment ago may come again.
    recent_excess: AtomicU64,
    /// The process has passed its limit although the pool is as small as it gets.
    over: AtomicBool,
    caches: Mutex<Vec<Weak<dyn Cache>>>,
    /// Called when the pool has more than its room.
    on_pressure: OnceLock<Hook>,
    /// Waits a little for the pool to shrink.
    on_lag: OnceLock<Hook>,
    refused: AtomicU64,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Broker({} of {})", self.held(), self.limit())
    }
}

/// 701.
pub fn out_of_memory() -> SqlError {
    SqlError::new(&messages::OUT_OF_MEMORY, &[&"default"])
}

impl Broker {
    /// A broker of `limit` bytes.
    pub fn new(limit: u64) -> Arc<Broker> {
        Arc::new(Broker {
            limit: AtomicU64::new(limit),
            clerks: [const { AtomicI64::new(0) }; CLERKS.len()],
            held: AtomicI64::new(0),
            excess: AtomicU64::new(0),
            recent_excess: AtomicU64::new(0),
            over: AtomicBool::new(false),
            caches: Mutex::new(Vec::new()),
            on_pressure: OnceLock::new(),
            on_lag: OnceLock::new(),
            refused: AtomicU64::new(0),
        })
    }

    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Another limit. What is held above it comes back as its owners end; caches and the pool give theirs back now.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
        self.relieve(self.held().saturating_sub(self.room_of_others()));
        self.press();
    }

    /// What all clerks but the buffer pool's hold.
    pub fn held(&self) -> u64 {
        u64::try_from(self.held.load(Relaxed)).unwrap_or(0)
    }

    /// What a clerk's accounts and tallies have told.
    pub fn of(&self, clerk: Clerk) -> u64 {
        u64::try_from(self.clerks[clerk as usize].load(Relaxed)).unwrap_or(0)
    }

    /// Bytes that the buffer pool may hold at this moment.
    pub fn pool_room(&self) -> u64 {
        let limit = self.limit();
        let others = self.held() + self.recent_excess.load(Relaxed);
        limit.saturating_sub(others).max(limit / 100 * POOL_PERCENT)
    }

    /// What everybody but the pool may hold together.
    fn room_of_others(&self) -> u64 {
        let limit = self.limit();
        (limit - limit / 100 * POOL_PERCENT).max(LEAST)
    }

    /// What a clerk may hold.
    pub fn most(&self, clerk: Clerk) -> u64 {
        (self.limit() / 100 * clerk.row().most_percent).max(LEAST)
    }

    /// How often somebody was refused since the start.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Whether the process has passed its limit although nothing that can be given back is left: who has taken much gives up.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Asks for `bytes` more: true when they are granted. Whoever holds a latch or a lock of a cache asks [`Broker::try_take`].
    pub fn ask(&self, clerk: Clerk, bytes: u64) -> bool {
        if self.try_take(clerk, bytes) {
            return true;
        }
        let fits = self.of(clerk).saturating_add(bytes) <= self.most(clerk);
        let all = self.held() + self.excess.load(Relaxed);
        let all = all.saturating_add(bytes);
        let lacking = all.saturating_sub(self.room_of_others());
        if fits && self.relieve(lacking) > 0 && self.try_take(clerk, bytes) {
            return true;
        }
        self.refused.fetch_add(1, Relaxed);
        false
    }

    /// The same without asking the caches.
    pub fn try_take(&self, clerk: Clerk, bytes: u64) -> bool {
        let fits = self.fits(clerk, bytes);
        if fits {
            self.take(clerk, bytes);
        }
        fits
    }

    /// Whether so many more would be granted now.
    pub fn fits(&self, clerk: Clerk, bytes: u64) -> bool {
        let own = self.of(clerk).saturating_add(bytes);
        let all = self.held() + self.excess.load(Relaxed);
        own <= self.most(clerk) && all.saturating_add(bytes) <= self.room_of_others()
    }

    /// Takes `bytes` whether there is room or not: what is there already is told of.
    pub fn take(&self, clerk: Clerk, bytes: u64) {
        debug_assert!(
            !crate::sync::inside_global(),
            "global/1: a clerk is told of memory in a closure of a Global"
        );
        self.change(clerk, i64::try_from(bytes).unwrap_or(i64::MAX));
        if clerk != Clerk::BufferPool {
            self.press();
        }
    }

    pub fn give(&self, clerk: Clerk, bytes: u64) {
        self.change(clerk, i64::try_from(bytes).map_or(i64::MIN, |n| -n));
    }

    fn change(&self, clerk: Clerk, by: i64) {
        self.clerks[clerk as usize].fetch_add(by, Relaxed);
        if clerk != Clerk::BufferPool {
            self.held.fetch_add(by, Relaxed);
        }
    }

    /// An account of `clerk`, with nothing in it.
    pub fn account(self: &Arc<Self>, clerk: Clerk) -> Account {
        Account::new(self.clone(), clerk)
    }

    /// A tally of `clerk`, at nothing.
    pub fn tally(self: &Arc<Self>, clerk: Clerk) -> Tally {
        let tally = Tally::new(clerk);
        tally.follow(self);
        tally
    }

    /// A cache that is asked when there is no room.
    pub fn add_cache(&self, cache: Weak<dyn Cache>) {
        let mut caches = self.caches.lock();
        caches.retain(|c| c.strong_count() > 0);
        caches.push(cache);
    }

    /// Who is called when the pool has more than its room; the first one stays.
    pub fn set_on_pressure(&self, hook: Hook) {
        let _ = self.on_pressure.set(hook);
    }

    /// Who waits a little for the pool; the first one stays.
    pub fn set_on_lag(&self, hook: Hook) {
        let _ = self.on_lag.set(hook);
    }

    /// The pool lags far behind the room that it has.
    fn is_lagging(&self) -> bool {
        let lag = LAG.max(self.limit() / LAG_PART);
        self.of(Clerk::BufferPool) > self.pool_room().saturating_add(lag)
    }

    /// Lets the pool shrink for a moment, where it lags: memory is granted as fast as the pool gives it back. For whoever
    /// keeps more and holds no latch; owners of accounts come here by themselves.
    pub fn await_pool(&self) {
        if !self.is_lagging() {
            return;
        }
        if let Some(wait) = self.on_lag.get() {
            let until = time::now() + MOMENT;
            while self.is_lagging() && time::now() < until {
                wait();
            }
        }
    }

    /// Asks the caches for `bytes`; how many they gave.
    fn relieve(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let caches: Vec<_> = match self.caches.try_lock() {
            Some(caches) => caches.iter().filter_map(Weak::upgrade).collect(),
            None => return 0,
        };
        let mut given = 0;
        for cache in caches {
            if given >= bytes {
                break;
            }
            given += cache.give_back(bytes - given);
        }
        given
    }

    fn press(&self) {
        if self.of(Clerk::BufferPool) > self.pool_room()
            && let Some(hook) = self.on_pressure.get()
        {
            hook();
        }
    }

    /// Whether a process with so many resident bytes has more than what is held and allowed, or than its limit.
    pub fn exceeds(&self, resident: u64) -> bool {
        let counted = self.held() + self.of(Clerk::BufferPool);
        resident > (counted + ALLOWANCE).min(self.limit() + ALLOWANCE / 2)
    }

    /// Looks at the process, whose resident bytes are `resident`: what it has beside what is held and allowed takes room from
    /// the pool. Where that is not enough, caches give back, and [`Broker::is_over`] says so.
    pub fn watch(&self, resident: u64) {
        let counted = self.held() + self.of(Clerk::BufferPool);
        let excess = resident.saturating_sub(counted + ALLOWANCE);
        self.excess.store(excess, Relaxed);
        let recent = self.recent_excess.load(Relaxed);
        let recent = excess.max(recent - recent.div_ceil(SLOWLY));
        self.recent_excess.store(recent, Relaxed);
        let lacking = self.lacking(resident);
        self.over.store(lacking > 0, Relaxed);
        self.relieve(lacking);
        self.press();
    }

    /// What a process with so many resident bytes has beyond its limit when the pool has given back what it can.
    pub fn lacking(&self, resident: u64) -> u64 {
        let limit = self.limit();
        let passed = resident.saturating_sub(limit + ALLOWANCE);
        let least = limit / 100 * POOL_PERCENT;
        let pool = self.of(Clerk::BufferPool).saturating_sub(least);
        passed.saturating_sub(pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    struct Kept(Arc<Broker>, Mutex<u64>);

    impl Cache for Kept {
        fn give_back(&self, bytes: u64) -> u64 {
            let mut kept = self.1.lock();
            let given = bytes.min(*kept);
            *kept -= given;
            self.0.give(Clerk::SqlPlans, given);
            given
        }
    }

    #[test]
    fn what_others_hold_the_pool_has_not() {
        let broker = Broker::new(100 * MB);
        assert_eq!(broker.pool_room(), 100 * MB);
        assert!(broker.ask(Clerk::Workspace, 40 * MB));
        assert_eq!((broker.pool_room(), broker.held()), (60 * MB, 40 * MB));
        broker.take(Clerk::Values, 80 * MB);
        assert!(broker.pool_room() >= 24 * MB, "the floor");
        broker.give(Clerk::Values, 80 * MB);
        broker.give(Clerk::Workspace, 40 * MB);
        assert_eq!((broker.pool_room(), broker.held()), (100 * MB, 0));
    }

    #[test]
    fn more_than_there_is_is_refused_and_less_is_not() {
        let broker = Broker::new(100 * MB);
        assert!(broker.ask(Clerk::Workspace, 70 * MB));
        assert!(!broker.ask(Clerk::Packets, 6 * MB), "75 in all");
        assert!(broker.ask(Clerk::Packets, 4 * MB));
        assert!(!broker.ask(Clerk::Workspace, 6 * MB));
        assert_eq!(broker.refused(), 2);
        let small = Broker::new(MB);
        assert!(
            small.ask(Clerk::Workspace, 8 * MB),
            "a little is given always"
        );
    }

    #[test]
    fn a_clerk_has_a_share() {
        let broker = Broker::new(1000 * MB);
        assert!(broker.ask(Clerk::SqlPlans, 250 * MB));
        assert!(!broker.ask(Clerk::SqlPlans, MB));
        assert!(broker.ask(Clerk::ObjectPlans, MB));
    }

    #[test]
    fn caches_give_back_before_anybody_is_refused() {
        let broker = Broker::new(100 * MB);
        let kept = Arc::new(Kept(broker.clone(), Mutex::new(20 * MB)));
        broker.take(Clerk::SqlPlans, 20 * MB);
        let cache: Arc<dyn Cache> = kept.clone();
        broker.add_cache(Arc::downgrade(&cache));
        assert!(broker.ask(Clerk::Workspace, 60 * MB));
        assert!(*kept.1.lock() < 20 * MB);
        assert!(broker.ask(Clerk::Workspace, 10 * MB));
        assert!(!broker.ask(Clerk::Values, 50 * MB));
        assert_eq!(*kept.1.lock(), 0);
    }

    #[test]
    fn the_pool_is_called_when_it_has_too_much() {
        let broker = Broker::new(100 * MB);
        let called = Arc::new(AtomicU64::new(0));
        let reported = called.clone();
        broker.set_on_pressure(Box::new(move || {
            reported.fetch_add(1, Relaxed);
        }));
        broker.take(Clerk::BufferPool, 60 * MB);
        assert!(broker.ask(Clerk::Workspace, 30 * MB));
        assert_eq!(called.load(Relaxed), 0);
        assert!(broker.ask(Clerk::Workspace, 30 * MB));
        assert_eq!(called.load(Relaxed), 1);
        broker.set_limit(60 * MB);
        assert_eq!(called.load(Relaxed), 2);
    }

    #[test]
    fn who_grows_lets_the_pool_shrink() {
        let broker = Broker::new(100 * MB);
        let shrinks = Arc::downgrade(&broker);
        broker.set_on_lag(Box::new(move || {
            let broker = shrinks.upgrade().expect("somebody waits");
            broker.give(Clerk::BufferPool, MB);
        }));
        broker.take(Clerk::BufferPool, 90 * MB);
        let mut account = broker.account(Clerk::Loads);
        account.need(25 * MB).unwrap();
        assert_eq!(broker.of(Clerk::BufferPool), 90 * MB, "15 too many: no lag");
        account.need(40 * MB).unwrap();
        let pool = broker.of(Clerk::BufferPool);
        assert!(
            (75 * MB..=76 * MB).contains(&pool),
            "60 and the lag: {pool}"
        );
        assert!(broker.ask(Clerk::Workspace, 10 * MB));
        assert_eq!(
            broker.of(Clerk::BufferPool),
            pool,
            "who asks the broker may have a latch"
        );
    }

    #[test]
    fn what_nobody_counts_takes_room_too() {
        let broker = Broker::new(1000 * MB);
        broker.take(Clerk::BufferPool, 500 * MB);
        broker.watch(500 * MB + ALLOWANCE);
        assert_eq!(broker.pool_room(), 1000 * MB);
        broker.watch(500 * MB + ALLOWANCE + 600 * MB);
        assert_eq!(broker.pool_room(), 400 * MB);
        assert!(!broker.is_over(), "the pool can give more");
        assert!(!broker.ask(Clerk::Workspace, 200 * MB));
        broker.watch(1000 * MB + ALLOWANCE + 600 * MB);
        assert!(broker.is_over());
        broker.watch(500 * MB + ALLOWANCE);
        assert!(
            !broker.is_over() && broker.pool_room() < 500 * MB,
            "it may come again"
        );
        assert!(broker.ask(Clerk::Workspace, 200 * MB));
        (0..300).for_each(|_| broker.watch(500 * MB + ALLOWANCE));
        assert_eq!(broker.pool_room(), 800 * MB);
    }
}
