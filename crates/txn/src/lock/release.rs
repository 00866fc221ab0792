//! Giving locks back: one of them, those of a statement that is undone, all at the end of a transaction or a session; and
//! the trade of many for one, escalation.

use std::sync::atomic::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, ObjectId, SqlError};
use duramen_observe::events::{LockEscalation, emit};
use duramen_observe::{Counter, count};

use super::held::HeldLock;
use super::owner::{Held, Kept};
use super::resource::Key;
use super::{
    Entity, LockDuration, LockManager, LockMark, LockMode, LockOwner, Resource, reporting,
};

impl LockManager {
    /// Gives back one lock taken with outcome `New` before the transaction ends (read committed, a row that did not
    /// qualify). Nothing happens when the owner meanwhile holds another mode.
    pub fn unlock(&self, owner: &LockOwner, resource: &Resource, mode: LockMode) {
        let key = Key::of(resource);
        let mut held = owner.0.held.lock();
        let Some(lock) = held.locks.get(&key).copied() else {
            return;
        };
        if lock.mode != mode || lock.session.is_some() {
            return;
        }
        held.locks.remove(&key);
        // Before anybody else can have it.
        owner.0.given_back.fetch_add(1, Ordering::SeqCst);
        if lock.entity.object.0 != 0 && resource.is_fine() {
            held.uncount_fine(resource.db(), lock.entity.object);
        }
        self.give_back(&mut held, owner, &key, &lock);
        self.shrank(&mut held);
    }

    /// Gives back what the session holds beyond its transactions on `resource`; what the running transaction needs of
    /// it stays until its end.
    pub fn unlock_session(&self, owner: &LockOwner, resource: &Resource, in_transaction: bool) {
        let key = Key::of(resource);
        let mut held = owner.0.held.lock();
        let Some(lock) = held.locks.get_mut(&key) else {
            return;
        };
        if lock.session.take().is_none() || in_transaction {
            return;
        }
        if let Some(lock) = held.locks.remove(&key) {
            self.give_back(&mut held, owner, &key, &lock);
        }
    }

    /// Lowers what is held on `resource` to `mode`, of which the session keeps `session` beyond its transactions; `None`
    /// is nothing. Neither may be more than what is held.
    pub fn lower(
        &self,
        owner: &LockOwner,
        resource: &Resource,
        mode: Option<LockMode>,
        session: Option<LockMode>,
    ) {
        let key = Key::of(resource);
        let mut held = owner.0.held.lock();
        let Some(lock) = held.locks.get_mut(&key) else {
            return;
        };
        let Some(mode) = mode else {
            if let Some(lock) = held.locks.remove(&key) {
                self.give_back(&mut held, owner, &key, &lock);
            }
            return;
        };
        debug_assert!(lock.mode.covers(mode) && session.is_none_or(|s| mode.covers(s)));
        lock.session = session;
        let before = std::mem::replace(&mut lock.mode, mode);
        if before != mode {
            held.changed(resource, Some(before), Some(mode));
            self.partition(&key).demote(&key, owner, mode);
        }
    }

    /// The end of a transaction: everything goes but what the session keeps.
    pub fn release_all(&self, owner: &LockOwner) {
        let mut held = owner.0.held.lock();
        held.clear_counts();
        held.report_requests();
        if held.locks.is_empty() {
            return;
        }
        let kept = owner.0.for_ever.get();
        let mut locks = std::mem::take(&mut held.locks);
        locks.drain(|key, lock| {
            if kept.is_some_and(|k| k.keeps(&key.resource)) {
                return Some(lock);
            }
            let Some(mode) = lock.session else {
                self.give_back(&mut held, owner, &key, &lock);
                return None;
            };
            if mode != lock.mode {
                held.changed(&key.resource, Some(lock.mode), Some(mode));
                self.partition(&key).demote(&key, owner, mode);
            }
            Some(HeldLock { mode, ..lock })
        });
        held.locks = locks;
        debug_assert!(
            held.locks.iter().all(|(key, lock)| {
                lock.session == Some(lock.mode) || kept.is_some_and(|k| k.keeps(&key.resource))
            }),
            "release/1: a transaction ends and keeps locks"
        );
        self.shrank(&mut held);
    }

    /// What `owner` holds stays held until the process ends: what it protects is in doubt, and only a restart can tell.
    /// Whoever waits for any of it, and who comes to wait, gets `why` as the error.
    pub fn keep_for_ever(&self, owner: &LockOwner, why: &SqlError) {
        self.keep(owner, why, None);
    }

    /// The same for what is held of these databases, which have been shut down, until [`LockManager::forget_database`].
    pub fn keep_of(&self, owner: &LockOwner, why: &SqlError, databases: Vec<DbId>) {
        self.keep(owner, why, Some(databases));
        self.kept.lock().push(owner.clone());
    }

    fn keep(&self, owner: &LockOwner, why: &SqlError, of: Option<Vec<DbId>>) {
        let why = why.clone();
        let _ = owner.0.for_ever.set(Kept { why, of });
        let held: Vec<Key> = owner.0.held.lock().locks.iter().map(|l| *l.0).collect();
        for key in held {
            if owner.kept(&key.resource).is_some() {
                self.partition(&key).refuse_waiters(&key);
            }
        }
    }

    /// A database that was shut down is closed, and nobody is in it any more: what was kept of it is given back.
    pub fn forget_database(&self, db: DbId) {
        let owners = self.kept.lock().clone();
        for owner in &owners {
            let mut held = owner.0.held.lock();
            self.release_some(&mut held, owner, |resource, _| resource.db() == db);
        }
        // Those of whom nothing is left.
        let is_left = |o: &LockOwner| {
            let held = o.0.held.lock();
            held.locks
                .iter()
                .any(|(key, _)| o.kept(&key.resource).is_some())
        };
        let left: Vec<LockOwner> = owners.into_iter().filter(is_left).collect();
        *self.kept.lock() = left;
    }

    /// The end of a session.
    pub fn release_session(&self, owner: &LockOwner) {
        let mut held = owner.0.held.lock();
        held.clear_counts();
        held.report_requests();
        let kept = owner.0.for_ever.get();
        let mut locks = std::mem::take(&mut held.locks);
        locks.drain(|key, lock| {
            if kept.is_some_and(|k| k.keeps(&key.resource)) {
                return Some(lock);
            }
            self.give_back(&mut held, owner, &key, &lock);
            None
        });
        held.locks = locks;
        debug_assert!(
            kept.is_some() || held.locks.is_empty(),
            "release/2: a session ends and keeps locks"
        );
        self.shrank(&mut held);
    }

    /// The point to which a rollback to a savepoint may give locks back.
    pub fn mark(&self, owner: &LockOwner) -> LockMark {
        LockMark(owner.0.held.lock().sequence)
    }

    /// Gives back locks that were first taken after `mark`. Conversions of older locks stay.
    pub fn release_to(&self, owner: &LockOwner, mark: LockMark) {
        self.release_some(&mut owner.0.held.lock(), owner, |_, lock| {
            (lock.sequence > mark.0 || planted::on(Bug::SavepointLetsGo)) && lock.session.is_none()
        });
    }

    /// Trades the owner's row and page locks of a table for one lock on the table (X when one of them is stronger
    /// than S). False, and nothing changed, when another owner is in the way: the caller goes on with fine locks.
    pub fn escalate(&self, owner: &LockOwner, db: DbId, object: ObjectId) -> bool {
        let mine = |resource: &Resource, lock: &HeldLock| {
            resource.is_fine() && resource.db() == db && lock.entity.object == object
        };
        // Of all of them, before any is given up: one lock has to stand for each.
        let mode = {
            let held = owner.0.held.lock();
            let write = held
                .locks
                .iter()
                .any(|(k, l)| mine(&k.resource, l) && !LockMode::S.covers_below(l.mode));
            if write { LockMode::X } else { LockMode::S }
        };
        let table = Resource::Object(db, object);
        // First: at no moment are the rows without a lock. Without waiting: the caller may hold a latch.
        let granted = self.try_lock_in(
            owner,
            &Entity::default(),
            &table,
            mode,
            LockDuration::Normal,
        );
        if granted.is_none() && !planted::on(Bug::EscalationLosesLocks) {
            return false;
        }
        // What the session keeps outlives the table's lock, which ends with the transaction.
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

    /// Gives back what went from its owner's list.
    fn give_back(&self, held: &mut Held, owner: &LockOwner, key: &Key, lock: &HeldLock) {
        if reporting::releases_are_wanted() {
            reporting::released(owner, &key.resource, lock);
        }
        held.changed(&key.resource, Some(lock.mode), None);
        if lock.mode.is_range() {
            let before = self.ranges.fetch_sub(1, Ordering::SeqCst);
            debug_assert!(
                before > 0,
                "release/3: a range is given back that nobody has counted"
            );
        }
        if !lock.private && !planted::on(Bug::LocksStay) {
            self.partition(key).release(key, owner);
        }
        if lock.strong {
            self.intents.withdraw(key);
        }
    }

    fn release_some(
        &self,
        held: &mut Held,
        owner: &LockOwner,
        which: impl Fn(&Resource, &HeldLock) -> bool,
    ) -> usize {
        let going: Vec<(Key, HeldLock)> = held
            .locks
            .iter()
            .filter(|(key, lock)| which(&key.resource, lock))
            .map(|(key, lock)| (*key, *lock))
            .collect();
        for (key, lock) in &going {
            held.locks.remove(key);
            self.give_back(held, owner, key, lock);
        }
        self.shrank(held);
        going.len()
    }
}
