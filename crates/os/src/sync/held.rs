//! Which locks of this room the calling thread holds, in debug builds.
//!
//! A wait that is no lock of this room (for a row, for a person) may last until the end of somebody's transaction. Whoever
//! begins one can say that no lock is held meanwhile: what is waited for may need that lock first, and no search for
//! deadlocks sees it.

use std::cell::RefCell;
use std::panic::Location;

use super::Rank;

/// A lock that the thread holds.
struct Held {
    address: usize,
    rank: Rank,
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

/// Asserts that the calling thread may wait for a lock of this rank: what it holds comes before it in the order.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(super) fn may_wait(rank: Rank) {
    debug_assert!(
        !super::inside_global() || std::thread::panicking(),
        "global/1: a lock is waited for in a closure of a Global"
    );
    if cfg!(debug_assertions) && rank != Rank::None && !std::thread::panicking() {
        let _ = HELD.try_with(|h| {
            for held in h.borrow().iter().filter(|held| held.rank != Rank::None) {
                debug_assert!(
                    held.rank.lets_take(rank),
                    "{rank:?} is waited for by a thread that took {:?} at {}",
                    held.rank,
                    held.at
                );
            }
        });
    }
}

#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(super) fn taken(address: usize, rank: Rank) {
    if cfg!(debug_assertions) {
        let at = Location::caller();
        let held = Held { address, rank, at };
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
