//! One partition of the lock table: resources, who holds them, who queues. A plain state machine.
//!
//! Invariants
//! 1. The grants of a resource belong to different owners and are pairwise compatible. [assert: table/1]
//! 2. A queued request is incompatible with the grant of another owner, or with a request queued before it. [assert: table/2]
//! 3. Conversions stand before new requests; within each class the order is that of arrival. [assert: table/3]
//! 4. A resource without grants and requests has no entry. [assert: table/4]
//!
//! Several threads of an owner may ask at once: a grant is joined, never replaced; whoever gives it back gives all of it
//! back. So one that slept looks whether its grant is there still ([`Table::has_granted`]).
//!
//! A new request may pass queued ones that it is compatible with: that delays none of them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use duramen_base::planted::{self, Bug};
use duramen_base::{RowsetId, SqlError};
use duramen_os::sync::{Condvar, Mutex, Rank};
use duramen_os::time::{self, Instant};

use super::mode::{LockMode, ModeSet};
use super::owner::LockOwner;
use super::resource::{Key, Resource};
use crate::hash::FixedHashMap;

/// How a wait stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WaitState {
    Waiting,
    Granted,
    Victim,
    Cancelled,
    /// The holder never gives it back.
    Kept(Box<SqlError>),
}

/// The place where one blocked request sleeps.
#[derive(Debug)]
pub(super) struct Waiter {
    pub state: Mutex<WaitState>,
    pub wake: Condvar,
    /// When the wait was ended by somebody; set before `wake`.
    pub ended: OnceLock<Instant>,
}

impl Waiter {
    pub fn new() -> Arc<Waiter> {
        Arc::new(Waiter {
            state: Mutex::ranked(Rank::LockWait, WaitState::Waiting),
            wake: Condvar::new(),
            ended: OnceLock::new(),
        })
    }

    fn end(&self, state: WaitState) {
        debug_assert!(state != WaitState::Waiting, "a wait ends in an outcome");
        let _ = self.ended.set(time::now());
        let before = std::mem::replace(&mut *self.state.lock(), state);
        debug_assert!(before == WaitState::Waiting, "a wait ends once: {before:?}");
        self.wake.notify_all();
    }
}

#[derive(Debug)]
pub(super) struct Grant {
    pub owner: LockOwner,
    pub mode: LockMode,
    pub rowset: RowsetId,
}

#[derive(Debug)]
pub(super) struct Request {
    pub owner: LockOwner,
    /// What the owner will hold when granted: for a conversion the joined mode.
    pub mode: LockMode,
    pub rowset: RowsetId,
    pub conversion: bool,
    pub instant: bool,
    pub since: Instant,
    pub waiter: Arc<Waiter>,
}

/// The state of one resource. The first grant is kept inline: an uncontended row lock allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Holders {
    first: Option<Grant>,
    more: Vec<Grant>,
    pub queue: VecDeque<Request>,
}

impl Holders {
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.first.iter().chain(self.more.iter())
    }

    fn grant_of(&mut self, owner: &LockOwner) -> Option<&mut Grant> {
        self.first
            .iter_mut()
            .chain(self.more.iter_mut())
            .find(|g| g.owner == *owner)
    }

    fn push(&mut self, grant: Grant) {
        if self.first.is_none() {
            self.first = Some(grant);
        } else {
            self.more.push(grant);
        }
    }

    fn remove(&mut self, owner: &LockOwner) -> bool {
        if self.first.as_ref().is_some_and(|g| g.owner == *owner) {
            self.first = self.more.pop();
            return true;
        }
        match self.more.iter().position(|g| g.owner == *owner) {
            Some(at) => {
                self.more.swap_remove(at);
                true
            }
            None => false,
        }
    }

    fn free_of_others(&self, owner: &LockOwner, mode: LockMode) -> bool {
        planted::on(Bug::GrantsMeet)
            || self
                .grants()
                .all(|g| g.owner == *owner || g.mode.compatible(mode))
    }

    /// Why a request in `mode` is never granted: a holder in its way whose locks stay for ever.
    fn kept(&self, owner: &LockOwner, resource: &Resource, mode: LockMode) -> Option<SqlError> {
        self.grants()
            .filter(|g| g.owner != *owner && !g.mode.compatible(mode))
            .find_map(|g| g.owner.kept(resource).cloned())
    }

    /// Who keeps the queued request `at` from being granted.
    pub fn blockers(&self, at: usize) -> impl Iterator<Item = LockOwner> {
        self.queue.get(at).into_iter().flat_map(move |request| {
            let holders = self
                .grants()
                .filter(|g| g.owner != request.owner && !g.mode.compatible(request.mode))
                .map(|g| g.owner.clone());
            let ahead = self
                .queue
                .iter()
                .take(at)
                .filter(|r| !r.mode.compatible(request.mode))
                .map(|r| r.owner.clone());
            holders.chain(ahead)
        })
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.queue.is_empty()
    }

    /// The invariants, of a resource with so few that looking at each pair costs little.
    #[cfg(debug_assertions)]
    fn assert_sound(&self) {
        const FEW: usize = 8;
        debug_assert!(
            self.first.is_some() || self.more.is_empty(),
            "table/1: the grant kept inline is used first"
        );
        if self.more.len() >= FEW || self.queue.len() >= FEW {
            return;
        }
        for (at, grant) in self.grants().enumerate() {
            for other in self.grants().skip(at + 1) {
                debug_assert!(grant.owner != other.owner, "table/1: one owner, two grants");
                debug_assert!(
                    grant.mode.compatible(other.mode),
                    "table/1: {:?} beside {:?}",
                    grant.mode,
                    other.mode
                );
            }
        }
        for (at, request) in self.queue.iter().enumerate() {
            debug_assert!(
                self.blockers(at).next().is_some(),
                "table/2: {:?} waits for nobody",
                request.mode
            );
            debug_assert!(
                !request.conversion || self.queue.iter().take(at).all(|r| r.conversion),
                "table/3: a conversion stands behind a new request"
            );
            let later = self.queue.iter().skip(at + 1);
            debug_assert!(
                later
                    .filter(|r| r.conversion == request.conversion)
                    .all(|r| r.since >= request.since),
                "table/3: who came later stands before"
            );
        }
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    fn assert_sound(&self) {}

    /// Grants every queued request that nothing stands against, in order.
    fn grant_queued(&mut self) {
        let mut at = 0;
        // What those who stay have asked for.
        let mut ahead = ModeSet::default();
        while at < self.queue.len() && !ahead.stands_against_all() {
            let request = &self.queue[at];
            let free =
                ahead.compatible(request.mode) && self.free_of_others(&request.owner, request.mode);
            if !free {
                ahead.add(request.mode);
                at += 1;
                continue;
            }
            let Some(request) = self.queue.remove(at) else {
                return;
            };
            if !request.instant {
                match self.grant_of(&request.owner) {
                    Some(grant) => grant.mode = grant.mode.join(request.mode),
                    None => self.push(Grant {
                        owner: request.owner.clone(),
                        mode: request.mode,
                        rowset: request.rowset,
                    }),
                }
            }
            *request.owner.0.waiting.lock() = None;
            request.waiter.end(WaitState::Granted);
        }
        self.assert_sound();
    }
}

/// Entries that a table keeps room for, however few there are.
const KEPT: usize = 256;

/// What a request asks for.
pub(super) struct Ask<'a> {
    pub owner: &'a LockOwner,
    pub key: &'a Key,
    /// The mode to hold afterwards (joined with what is held).
    pub mode: LockMode,
    pub rowset: RowsetId,
    pub conversion: bool,
    pub instant: bool,
    /// It joins what another thread of its owner has been granted and not yet entered into the owner's list.
    pub joins: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub map: FixedHashMap<Key, Holders>,
}

impl Table {
    /// Enters what `owner` was granted without this table, and which stands against no grant here. Another thread of the
    /// owner's may have been granted something here that its list does not have yet.
    pub fn enter(&mut self, owner: &LockOwner, key: &Key, mode: LockMode, rowset: RowsetId) {
        let holders = self.map.entry(*key).or_default();
        debug_assert!(
            holders.free_of_others(owner, mode),
            "table/1: {mode:?} was granted without the table, against what is in it"
        );
        match holders.grant_of(owner) {
            Some(grant) => grant.mode = grant.mode.join(mode),
            None => holders.push(Grant {
                owner: owner.clone(),
                mode,
                rowset,
            }),
        }
    }

    /// Grants at once where possible; never queues.
    pub fn try_grant(&mut self, ask: &Ask<'_>) -> bool {
        match self.map.entry(*ask.key) {
            Entry::Vacant(vacant) => {
                if !ask.instant {
                    vacant.insert(Holders {
                        first: Some(Grant {
                            owner: ask.owner.clone(),
                            mode: ask.mode,
                            rowset: ask.rowset,
                        }),
                        ..Holders::default()
                    });
                }
                true
            }
            Entry::Occupied(mut occupied) => {
                let holders = occupied.get_mut();
                if !ask.joins && holders.grant_of(ask.owner).is_some() {
                    return false;
                }
                let free = holders.free_of_others(ask.owner, ask.mode)
                    && (ask.conversion
                        || holders.queue.iter().all(|r| r.mode.compatible(ask.mode)));
                if free && !ask.instant {
                    match holders.grant_of(ask.owner) {
                        Some(grant) => grant.mode = grant.mode.join(ask.mode),
                        None => holders.push(Grant {
                            owner: ask.owner.clone(),
                            mode: ask.mode,
                            rowset: ask.rowset,
                        }),
                    }
                    holders.assert_sound();
                }
                free
            }
        }
    }

    /// Whether the owner still has what was granted.
    pub fn has_granted(&self, ask: &Ask<'_>) -> bool {
        let holders = self.map.get(ask.key);
        let mut grants = holders.into_iter().flat_map(Holders::grants);
        grants.any(|g| g.owner == *ask.owner && g.mode.covers(ask.mode))
    }

    /// Queues a request that `try_grant` has just refused (under the same hold of the partition's lock). Gives also
    /// one of those in the way.
    pub fn enqueue(&mut self, ask: &Ask<'_>, since: Instant) -> (Arc<Waiter>, Option<LockOwner>) {
        let waiter = Waiter::new();
        let holders = self.map.entry(*ask.key).or_default();
        let queue = &mut holders.queue;
        let at = if ask.conversion {
            queue.iter().take_while(|r| r.conversion).count()
        } else {
            queue.len()
        };
        queue.insert(
            at,
            Request {
                owner: ask.owner.clone(),
                mode: ask.mode,
                rowset: ask.rowset,
                conversion: ask.conversion,
                instant: ask.instant,
                since,
                waiter: Arc::clone(&waiter),
            },
        );
        let blocker = holders.blockers(at).next();
        debug_assert!(
            blocker.is_some(),
            "table/2: nobody is in the way of what queues"
        );
        (waiter, blocker)
    }

    /// Why waiting for this would never end, if that is so.
    pub fn kept(&self, ask: &Ask<'_>) -> Option<SqlError> {
        self.map
            .get(ask.key)?
            .kept(ask.owner, &ask.key.resource, ask.mode)
    }

    /// Ends the waits of all whom a holder is in the way of that never gives back what it has.
    pub fn refuse_waiters(&mut self, key: &Key) {
        let Some(holders) = self.map.get_mut(key) else {
            return;
        };
        let mut at = 0;
        while let Some(request) = holders.queue.get(at) {
            let Some(why) = holders.kept(&request.owner, &key.resource, request.mode) else {
                at += 1;
                continue;
            };
            if let Some(request) = holders.queue.remove(at) {
                *request.owner.0.waiting.lock() = None;
                request.waiter.end(WaitState::Kept(Box::new(why)));
            }
        }
        self.settle(key);
    }

    /// Takes a queued request out and ends its wait; false when it is not queued any more.
    pub fn withdraw(&mut self, key: &Key, waiter: &Arc<Waiter>, why: WaitState) -> bool {
        let Some(holders) = self.map.get_mut(key) else {
            return false;
        };
        let Some(at) = holders
            .queue
            .iter()
            .position(|r| Arc::ptr_eq(&r.waiter, waiter))
        else {
            return false;
        };
        if let Some(request) = holders.queue.remove(at) {
            *request.owner.0.waiting.lock() = None;
            request.waiter.end(why);
        }
        self.settle(key);
        true
    }

    pub fn release(&mut self, key: &Key, owner: &LockOwner) {
        let Entry::Occupied(mut occupied) = self.map.entry(*key) else {
            return;
        };
        let holders = occupied.get_mut();
        debug_assert!(!holders.is_empty(), "table/4: an entry for nobody");
        let held = holders.remove(owner);
        debug_assert!(held, "table/1: what is given back was granted here");
        debug_assert!(
            holders.grants().all(|g| g.owner != *owner),
            "table/1: a second grant stays behind"
        );
        if !holders.queue.is_empty() {
            holders.grant_queued();
        }
        if holders.is_empty() {
            occupied.remove();
            self.shrink();
        }
    }

    /// Gives back the room of many locks when few are left.
    #[inline]
    fn shrink(&mut self) {
        let room = self.map.capacity();
        if room > KEPT && self.map.len() < room / 16 {
            self.map.shrink_to(KEPT / 2);
        }
    }

    /// Lowers what `owner` holds.
    pub fn demote(&mut self, key: &Key, owner: &LockOwner, mode: LockMode) {
        if let Some(holders) = self.map.get_mut(key) {
            if let Some(grant) = holders.grant_of(owner) {
                debug_assert!(
                    grant.mode.join(mode) == grant.mode,
                    "a grant is lowered to what it has in it: {:?} to {mode:?}",
                    grant.mode
                );
                grant.mode = mode;
            }
            self.settle(key);
        }
    }

    fn settle(&mut self, key: &Key) {
        if let Entry::Occupied(mut occupied) = self.map.entry(*key) {
            occupied.get_mut().grant_queued();
            if occupied.get().is_empty() {
                occupied.remove();
            }
        }
    }
}
