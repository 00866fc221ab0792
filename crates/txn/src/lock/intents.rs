//! Intent locks that no table knows: the owner's own list alone has them until somebody asks for what stands against them.
//!
//! Every statement takes Sch-S, IS or IX on its table and on its pages, and these never stand against each other. So:
//!
//! Invariants
//! 1. A *weak* request for a table or a page looks, under the mutex of its owner, who is registered by then, at the counter of
//!    *strong* requests for the resource. While that is zero the lock is entered into the owner's list as *private*,
//!    and that is all. [assert: intents/1; test: every_rule_is_needed]
//! 2. A strong request counts itself first. Then it visits every registered owner, under that owner's mutex, and enters
//!    private locks on its resource into the table. Then it asks the table like any other.
//!    [assert: intents/2; test: intents_and_strong_locks_are_never_held_together]
//! 3. It stays counted until its lock is given back, or until it ends without one.
//!    [assert: intents/3; test: every_rule_is_needed]
//!
//! Either the visit comes after a weak lock was entered, and finds it; or before, and then the weak request sees the
//! counter, because both held the owner's mutex. `intents/model.rs` has the steps under loom.
//!
//! Several resources share a counter: that costs a weak request the way through the table, never correctness.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use duramen_os::sync::{Mutex, Rank};

use super::held::HeldLock;
use super::mode::LockMode;
use super::owner::{Held, LockOwner, OwnerState};
use super::resource::{Key, Resource};
use super::table::Table;
use super::{LockInfo, LockManager, LockStatus};

const COUNTERS: usize = 1024;

pub(super) struct Intents {
    strong: Box<[AtomicU32]>,
    /// Owners that have had private locks.
    owners: Mutex<Vec<Weak<OwnerState>>>,
}

impl Intents {
    pub fn new() -> Intents {
        Intents {
            strong: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
            owners: Mutex::ranked(Rank::LockOwners, Vec::new()),
        }
    }

    fn counter(&self, key: &Key) -> &AtomicU32 {
        &self.strong[(key.hash >> 20) as usize % COUNTERS]
    }

    /// Whether nobody asks for, or has, anything strong on the resource. `held` is the owner's.
    pub fn is_open(&self, key: &Key, owner: &LockOwner, held: &mut Held) -> bool {
        if !held.registered {
            held.registered = true;
            self.owners.lock().push(Arc::downgrade(&owner.0));
        }
        self.counter(key).load(Ordering::SeqCst) == 0
    }

    /// A strong lock, or the request for one, is gone.
    pub fn withdraw(&self, key: &Key) {
        let before = self.counter(key).fetch_sub(1, Ordering::SeqCst);
        debug_assert!(
            before > 0,
            "intents/3: a strong request is withdrawn that nobody has counted"
        );
    }

    /// Every owner there is that has had private locks.
    fn owners(&self) -> Vec<Arc<OwnerState>> {
        let mut owners = self.owners.lock();
        let mut alive = Vec::with_capacity(owners.len());
        owners.retain(|weak| {
            let owner = weak.upgrade();
            alive.extend(owner.clone());
            owner.is_some()
        });
        alive
    }
}

/// Whether locks in this mode on this resource are private while nobody wants a strong one.
pub(super) fn is_weak(resource: &Resource, mode: LockMode) -> bool {
    use LockMode::{IS, IU, IX, SchS};
    is_intended(resource) && matches!(mode, SchS | IS | IU | IX)
}

/// Whether a request in this mode must be counted before it asks.
pub(super) fn is_strong(resource: &Resource, mode: LockMode) -> bool {
    is_intended(resource) && !is_weak(resource, mode)
}

fn is_intended(resource: &Resource) -> bool {
    matches!(resource, Resource::Object(..) | Resource::Page(..))
}

impl LockManager {
    /// A strong request begins: it is counted, and the table knows all that stands against it. No owner's mutex may be held.
    pub(super) fn announce(&self, key: &Key) {
        self.intents.counter(key).fetch_add(1, Ordering::SeqCst);
        for owner in self.intents.owners() {
            debug_assert!(
                self.intents.counter(key).load(Ordering::SeqCst) > 0,
                "intents/2: a strong request visits owners, and is not counted"
            );
            let owner = LockOwner(owner);
            self.publish(&owner, &mut owner.0.held.lock(), key);
        }
    }

    /// Enters a private lock of `owner`, if it has one on the resource, into the table.
    pub(super) fn publish(&self, owner: &LockOwner, held: &mut Held, key: &Key) {
        if let Some(lock) = held.locks.get_mut(key).filter(|l| l.private) {
            debug_assert!(
                is_weak(&key.resource, lock.mode),
                "intents/1: {:?} on {:?} is in no table",
                lock.mode,
                key.resource
            );
            lock.private = false;
            let (mode, rowset) = (lock.mode, lock.entity.rowset);
            Table::enter(&mut self.partition(key), owner, key, mode, rowset);
        }
    }

    /// The private locks of all owners, as `sys.dm_tran_locks` shows them.
    pub(super) fn private(&self) -> Vec<LockInfo> {
        let mut all = Vec::new();
        for owner in self.intents.owners() {
            let info = |(key, lock): (&Key, &HeldLock)| LockInfo {
                resource: key.resource,
                mode: lock.mode,
                status: LockStatus::Grant,
                spid: owner.spid,
                owner: owner.id,
                rowset: lock.entity.rowset,
                waited: None,
                blocked_by: Vec::new(),
            };
            let held = owner.held.lock();
            all.extend(held.locks.iter().filter(|(_, l)| l.private).map(info));
        }
        all
    }
}

#[cfg(all(test, feature = "model"))]
mod model;
