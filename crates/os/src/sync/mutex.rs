//! Mutual exclusion.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{Rank, held};
use crate::sim::sched::{self, Here, Wait};

/// A lock around a value.
pub struct Mutex<T: ?Sized> {
    #[cfg(debug_assertions)]
    place: held::Place,
    raw: parking_lot::Mutex<T>,
}

type RawGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

/// Exclusive access to the value; released when dropped.
pub struct MutexGuard<'a, T: ?Sized> {
    owner: &'a Mutex<T>,
    /// Empty only inside [`super::Condvar::wait`].
    raw: Option<RawGuard<'a, T>>,
}

impl<T> Mutex<T> {
    #[cfg_attr(debug_assertions, track_caller)]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex::ranked(Rank::None, value)
    }

    /// A lock with a place in the order of [`Rank`].
    #[cfg_attr(not(debug_assertions), expect(unused_variables))]
    #[cfg_attr(debug_assertions, track_caller)]
    pub const fn ranked(rank: Rank, value: T) -> Mutex<T> {
        Mutex {
            #[cfg(debug_assertions)]
            place: held::Place::new(rank),
            raw: parking_lot::Mutex::new(value),
        }
    }

    pub fn into_inner(self) -> T {
        self.raw.into_inner()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized> Mutex<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.raw).addr()
    }

    #[inline]
    fn place(&self) -> held::Place {
        #[cfg(debug_assertions)]
        return self.place;
        #[cfg(not(debug_assertions))]
        held::Place::default()
    }

    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        held::may_wait::<T>(self.place());
        let raw = match sched::possible() {
            false => self.raw.lock(),
            true => self.lock_here(),
        };
        held::taken::<T>(self.address(), self.place());
        MutexGuard {
            owner: self,
            raw: Some(raw),
        }
    }

    /// `lock` in a process that has a simulation, be this thread in it or not.
    #[cold]
    fn lock_here(&self) -> RawGuard<'_, T> {
        match sched::here() {
            None => self.raw.lock(),
            Some(here) => {
                here.point();
                self.lock_simulated(&here)
            }
        }
    }

    /// `None` when the lock is taken.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let here = sched::here();
        if let Some(here) = &here {
            here.point();
        }
        let raw = self.raw.try_lock()?;
        if let Some(here) = &here {
            here.acquired(self.address());
        }
        held::taken::<T>(self.address(), self.place());
        Some(MutexGuard {
            owner: self,
            raw: Some(raw),
        })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.raw.get_mut()
    }

    fn lock_simulated(&self, here: &Here) -> RawGuard<'_, T> {
        let at = self.address();
        loop {
            if let Some(raw) = self.raw.try_lock() {
                here.acquired(at);
                return raw;
            }
            if here.holds(at) {
                here.block(Wait::Lock(at), None);
            } else {
                // A thread outside the simulation has it.
                std::thread::yield_now();
            }
        }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The real guard, for a wait on the real condition.
    pub(super) fn raw_mut(&mut self) -> Option<&mut RawGuard<'a, T>> {
        self.raw.as_mut()
    }

    pub(super) fn release_simulated(&mut self, here: &Here) {
        self.raw = None;
        here.released(self.owner.address());
    }

    #[cold]
    fn give_back_here(&mut self) {
        if self.raw.take().is_some()
            && let Some(here) = sched::here_in_drop()
        {
            here.released(self.owner.address());
        }
    }

    pub(super) fn relock_simulated(&mut self, here: &Here) {
        self.raw = Some(self.owner.lock_simulated(here));
    }
}

const HELD: &str = "a guard holds its lock outside of Condvar::wait";

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.raw.as_ref().expect(HELD)
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.raw.as_mut().expect(HELD)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::given_back(self.owner.address());
        if sched::possible() {
            self.give_back_here();
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
