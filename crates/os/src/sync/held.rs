//! Which locks of this room the calling thread holds, in debug builds.
//!
//! A wait that is no lock of this room (for a row, for a person) may last until the end of somebody's transaction. Whoever
//! begins one can say that no lock is held meanwhile: what is waited for may need that lock first, and no search for
//! deadlocks sees it.

use std::cell::RefCell;
use std::panic::Location;

#[cfg(debug_assertions)]
use super::{
    Rank,
    order::{self, Class},
};

/// What a lock is among others: nothing in release builds.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    #[cfg(debug_assertions)]
    known: Option<Known>,
}

#[cfg(debug_assertions)]
#[derive(Clone, Copy)]
struct Known {
    rank: Rank,
    made: &'static Location<'static>,
}

impl Place {
    /// That of a lock which the caller makes.
    #[cfg(debug_assertions)]
    #[track_caller]
    pub const fn new(rank: Rank) -> Place {
        let made = Location::caller();
        Place {
            known: Some(Known { rank, made }),
        }
    }
}

/// A lock that the thread holds.
struct Held {
    address: usize,
    #[cfg(debug_assertions)]
    rank: Rank,
    #[cfg(debug_assertions)]
    class: Class,
    at: &'static Location<'static>,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Where the calling thread took what it holds, the oldest first; nothing in release builds.
pub fn held() -> Vec<&'static Location<'static>> {
    let places = HELD.try_with(|h| h.borrow().iter().map(|held| held.at).collect());
    // An error means that the thread is ending.
    places.unwrap_or_default()
}

/// Asserts that the calling thread may wait for a lock of this place: what it holds comes before it in the order.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(super) fn may_wait<T: ?Sized>(_place: Place) {
    debug_assert!(
        !super::inside_global() || std::thread::panicking(),
        "global/1: a lock is waited for in a closure of a Global"
    );
    #[cfg(debug_assertions)]
    if let Some(known) = _place.known.filter(|_| !std::thread::panicking()) {
        let (class, at) = (class_of::<T>(known), Location::caller());
        let _ = HELD.try_with(|h| {
            for held in h.borrow().iter() {
                assert_order(held, known.rank, class, at);
            }
        });
    }
}

#[cfg(debug_assertions)]
fn class_of<T: ?Sized>(known: Known) -> Class {
    Class {
        made: known.made,
        of: std::any::type_name::<T>(),
    }
}

#[cfg(debug_assertions)]
fn assert_order(held: &Held, rank: Rank, class: Class, at: &'static Location<'static>) {
    debug_assert!(
        held.rank.lets_take(rank),
        "{rank:?} is waited for by a thread that took {:?} at {}",
        held.rank,
        held.at
    );
    let against = order::say(held.class, held.at, class, at);
    debug_assert!(
        against.is_none(),
        "order/1: {}",
        against.unwrap_or_default()
    );
}

#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(super) fn taken<T: ?Sized>(_address: usize, _place: Place) {
    #[cfg(debug_assertions)]
    if let Some(known) = _place.known {
        let held = Held {
            address: _address,
            rank: known.rank,
            class: class_of::<T>(known),
            at: Location::caller(),
        };
        let _ = HELD.try_with(|h| h.borrow_mut().push(held));
    }
}

#[inline]
pub(super) fn given_back(address: usize) {
    if cfg!(debug_assertions) {
        let _ = HELD.try_with(|h| {
            let mut held = h.borrow_mut();
            if let Some(i) = held.iter().rposition(|held| held.address == address) {
                held.remove(i);
            }
        });
    }
}
