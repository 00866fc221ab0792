//! Many readers or one writer.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{Rank, held};
use crate::sim::sched::{self, Wait};

/// A readers-writer lock around a value. Not recursive: a thread that reads twice may wait for a writer between.
pub struct RwLock<T: ?Sized> {
    #[cfg(debug_assertions)]
    place: held::Place,
    raw: parking_lot::RwLock<T>,
}

/// Shared access; released when dropped.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    address: usize,
    raw: Option<parking_lot::RwLockReadGuard<'a, T>>,
}

/// Exclusive access; released when dropped.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    address: usize,
    raw: Option<parking_lot::RwLockWriteGuard<'a, T>>,
}

impl<T> RwLock<T> {
    #[cfg_attr(debug_assertions, track_caller)]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock::ranked(Rank::None, value)
    }

    /// A lock with a place in the order of [`Rank`].
    #[cfg_attr(not(debug_assertions), expect(unused_variables))]
    #[cfg_attr(debug_assertions, track_caller)]
    pub const fn ranked(rank: Rank, value: T) -> RwLock<T> {
        RwLock {
            #[cfg(debug_assertions)]
            place: held::Place::new(rank),
            raw: parking_lot::RwLock::new(value),
        }
    }

    pub fn into_inner(self) -> T {
        self.raw.into_inner()
    }
}

impl<T: Default> Default for RwLock<T> {
    #[cfg_attr(debug_assertions, track_caller)]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized> RwLock<T> {
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
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let address = self.address();
        held::may_wait::<T>(self.place());
        let raw = match sched::possible() {
            false => self.raw.read(),
            true => take(address, || self.raw.try_read(), || self.raw.read()),
        };
        held::taken::<T>(address, self.place());
        RwLockReadGuard {
            address,
            raw: Some(raw),
        }
    }

    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let address = self.address();
        held::may_wait::<T>(self.place());
        let raw = match sched::possible() {
            false => self.raw.write(),
            true => take(address, || self.raw.try_write(), || self.raw.write()),
        };
        held::taken::<T>(address, self.place());
        RwLockWriteGuard {
            address,
            raw: Some(raw),
        }
    }

    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let here = sched::here();
        if let Some(here) = &here {
            here.point();
        }
        let raw = self.raw.try_read()?;
        let address = self.address();
        if let Some(here) = &here {
            here.acquired(address);
        }
        held::taken::<T>(address, self.place());
        Some(RwLockReadGuard {
            address,
            raw: Some(raw),
        })
    }

    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let here = sched::here();
        if let Some(here) = &here {
            here.point();
        }
        let raw = self.raw.try_write()?;
        let address = self.address();
        if let Some(here) = &here {
            here.acquired(address);
        }
        held::taken::<T>(address, self.place());
        Some(RwLockWriteGuard {
            address,
            raw: Some(raw),
        })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.raw.get_mut()
    }
}

/// In a process that has a simulation: by attempts in it, by waiting outside.
#[cold]
fn take<G>(address: usize, attempt: impl Fn() -> Option<G>, wait: impl FnOnce() -> G) -> G {
    let Some(here) = sched::here() else {
        return wait();
    };
    here.point();
    loop {
        if let Some(raw) = attempt() {
            here.acquired(address);
            return raw;
        }
        if here.holds(address) {
            here.block(Wait::Lock(address), None);
        } else {
            // A thread outside the simulation has it.
            std::thread::yield_now();
        }
    }
}

const HELD: &str = "a guard holds its lock until it is dropped";

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.raw.as_ref().expect(HELD)
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.raw.as_ref().expect(HELD)
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.raw.as_mut().expect(HELD)
    }
}

#[inline]
fn let_go(address: usize) {
    held::given_back(address);
    if sched::possible()
        && let Some(here) = sched::here_in_drop()
    {
        here.released(address);
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw = None;
        let_go(self.address);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw = None;
        let_go(self.address);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
