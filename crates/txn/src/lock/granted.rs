//! What the table has granted gets into its owner's list.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::held::HeldLock;
use super::intents::is_weak;
use super::owner::Held;
use super::resource::Key;
use super::{
    Acquired, Entity, LockDuration, LockManager, LockMode, LockOutcome, LockOwner, reporting,
};

/// How a request came to be granted.
#[derive(Clone, Copy, Default)]
pub(super) struct Granted {
    /// The owner slept for it.
    pub waited: bool,
    /// No table was asked; see [`super::intents`].
    pub private: bool,
    /// It is counted among the strong ones.
    pub strong: bool,
}

impl LockManager {
    /// Enters a granted request into the owner's list.
    pub(super) fn record(
        &self,
        held: &mut Held,
        entity: &Entity,
        key: &Key,
        mode: LockMode,
        duration: LockDuration,
        how: Granted,
    ) -> LockOutcome {
        if duration == LockDuration::Instant {
            return self.record_first(held, entity, key, mode, duration, how);
        }
        let Some(lock) = held.locks.get_mut(key) else {
            return self.record_first(held, entity, key, mode, duration, how);
        };
        let from = lock.mode;
        lock.mode = from.join(mode);
        if duration == LockDuration::Session {
            lock.session = Some(lock.session.map_or(mode, |s| s.join(mode)));
        }
        // A lock counts once, however often it became stronger.
        if how.strong && std::mem::replace(&mut lock.strong, true) {
            self.intents.withdraw(key);
        }
        let to = lock.mode;
        debug_assert!(
            to.join(mode) == to,
            "what is recorded has what was asked for in it"
        );
        debug_assert!(
            lock.session.is_none_or(|s| to.join(s) == to),
            "what a session keeps is part of what it holds"
        );
        held.sequence += 1;
        let mut acquired = Acquired::Already;
        if to != from {
            if to.is_range() && !from.is_range() {
                self.ranges.fetch_add(1, Ordering::SeqCst);
            }
            held.changed(&key.resource, Some(from), Some(to));
            acquired = Acquired::Converted { from };
        }
        LockOutcome {
            acquired,
            waited: how.waited,
            escalate: false,
        }
    }

    /// `record` where the owner holds nothing on the resource, or is to hold nothing.
    pub(super) fn record_first(
        &self,
        held: &mut Held,
        entity: &Entity,
        key: &Key,
        mode: LockMode,
        duration: LockDuration,
        how: Granted,
    ) -> LockOutcome {
        let mut outcome = LockOutcome {
            acquired: Acquired::New,
            waited: how.waited,
            escalate: false,
        };
        if duration == LockDuration::Instant {
            if how.strong {
                self.intents.withdraw(key);
            }
            outcome.acquired = Acquired::Instant;
            return outcome;
        }
        debug_assert!(
            !(how.private && how.strong),
            "a strong lock is in a table, never in its owner's list alone"
        );
        debug_assert!(
            !how.private || is_weak(&key.resource, mode),
            "only weak locks stay in their owner's list: {mode:?}"
        );
        held.sequence += 1;
        let lock = HeldLock {
            mode,
            session: (duration == LockDuration::Session).then_some(mode),
            entity: *entity,
            sequence: held.sequence,
            private: how.private,
            strong: how.strong,
        };
        held.locks.insert(*key, lock);
        held.changed(&key.resource, None, Some(mode));
        if mode.is_range() {
            self.ranges.fetch_add(1, Ordering::SeqCst);
        }
        if entity.object.0 != 0 && key.resource.is_fine() {
            outcome.escalate = held.count_fine(key.resource.db(), entity.object);
            outcome.escalate |= self.grew(held);
        }
        outcome
    }
}

/// Tells of a lock that was granted.
#[inline]
pub(super) fn report_grant(
    owner: &LockOwner,
    entity: &Entity,
    key: &Key,
    how: (LockMode, LockDuration),
    waited: Duration,
) {
    if reporting::grants_are_wanted() {
        reporting::acquired(owner, entity, &key.resource, how, waited);
    }
    if how.1 == LockDuration::Instant && reporting::releases_are_wanted() {
        let lock = HeldLock {
            mode: how.0,
            session: None,
            entity: *entity,
            sequence: 0,
            private: false,
            strong: false,
        };
        reporting::released(owner, &key.resource, &lock);
    }
}
