//! The locks that one owner holds: a short list, and a map once it is long. Most statements hold a handful.

use super::mode::LockMode;
use super::owner::Entity;
use super::resource::Key;
use crate::hash::FixedHashMap;

/// So many are looked through one after the other.
const FEW: usize = 16;

/// How much room is kept for the next transaction.
const KEPT: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(super) struct HeldLock {
    pub mode: LockMode,
    /// The part of `mode` that the session keeps beyond the transaction.
    pub session: Option<LockMode>,
    pub entity: Entity,
    pub sequence: u64,
    /// No table knows of it; see [`super::intents`].
    pub private: bool,
    /// Its strong request is counted.
    pub strong: bool,
}

/// Invariant: while there are more than [`FEW`], and until there are none, all are in `many`; else all are in `few`.
#[derive(Debug, Default)]
pub(super) struct HeldLocks {
    few: Vec<(Key, HeldLock)>,
    many: FixedHashMap<Key, HeldLock>,
}

impl HeldLocks {
    pub fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, key: &Key) -> Option<&HeldLock> {
        if self.many.is_empty() {
            return self.few.iter().find(|(k, _)| k == key).map(|(_, l)| l);
        }
        self.many.get(key)
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut HeldLock> {
        if self.many.is_empty() {
            let found = self.few.iter_mut().find(|(k, _)| k == key);
            return found.map(|(_, l)| l);
        }
        self.many.get_mut(key)
    }

    /// Adds what is not held yet.
    pub fn insert(&mut self, key: Key, lock: HeldLock) {
        debug_assert!(
            self.get(&key).is_none(),
            "held/1: the first lock on a resource is entered twice"
        );
        if self.many.is_empty() && self.few.len() < FEW {
            return self.few.push((key, lock));
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key, lock);
        debug_assert!(self.few.is_empty(), "held/1: all are in one of the two");
    }

    pub fn remove(&mut self, key: &Key) -> Option<HeldLock> {
        if self.many.is_empty() {
            let at = self.few.iter().position(|(k, _)| k == key)?;
            return Some(self.few.swap_remove(at).1);
        }
        self.many.remove(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &HeldLock)> {
        let few = self.few.iter().map(|(k, l)| (k, l));
        few.chain(self.many.iter())
    }

    /// Hands out all there is, and leaves nothing. What `give_back` returns is kept.
    pub fn drain(&mut self, mut give_back: impl FnMut(Key, HeldLock) -> Option<HeldLock>) {
        self.few
            .retain_mut(|(key, lock)| match give_back(*key, *lock) {
                Some(kept) => {
                    *lock = kept;
                    true
                }
                None => false,
            });
        if self.many.is_empty() {
            return;
        }
        let mut kept = Vec::new();
        for (key, lock) in self.many.drain() {
            kept.extend(give_back(key, lock).map(|l| (key, l)));
        }
        self.many.shrink_to(KEPT);
        for (key, lock) in kept {
            self.insert(key, lock);
        }
    }
}
