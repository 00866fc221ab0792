//! State of the process that outlives simulations: statistics, registries.
//!
//! Such state differs between two runs of one seed (the second finds what the first has left), so no schedule may
//! depend on it: taking this lock is not a scheduling point and is not in the trace. In return it is held for a
//! closure only, and a closure that used another primitive of this room would hold the real lock across a switch of
//! simulated threads; in debug builds that panics.
//!
//! Invariants
//! 1. A closure takes no further lock of this room. So whoever only reads or writes such state waits for nobody who waits
//!    himself. [assert: global/1]

use std::cell::Cell;

/// A value in a static, behind a real lock that simulations do not see.
#[derive(Debug, Default)]
pub struct Global<T> {
    raw: parking_lot::RwLock<T>,
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl<T> Global<T> {
    pub const fn new(value: T) -> Global<T> {
        Global {
            raw: parking_lot::RwLock::new(value),
        }
    }

    /// Calls `f` together with other readers. `f` uses no lock, channel, clock or disk.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let guard = self.raw.read();
        let _inside = Inside::enter();
        f(&guard)
    }

    /// Calls `f` alone. `f` uses no lock, channel, clock or disk.
    pub fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut guard = self.raw.write();
        let _inside = Inside::enter();
        f(&mut guard)
    }
}

/// Marks the thread while it is in a closure.
struct Inside;

impl Inside {
    fn enter() -> Inside {
        if cfg!(debug_assertions) {
            // An error means the thread is ending: nothing is checked any more.
            let _ = INSIDE.try_with(|i| {
                debug_assert!(!i.get(), "global/1: a closure within another's");
                i.set(true);
            });
        }
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            let _ = INSIDE.try_with(|i| i.set(false));
        }
    }
}

/// Whether the calling thread is inside a closure of a [`Global`].
pub(crate) fn inside() -> bool {
    cfg!(debug_assertions) && INSIDE.try_with(Cell::get).unwrap_or(false)
}
