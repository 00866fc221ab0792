//! Which locks of this room the calling thread holds, in debug builds.
//!
//! A wait that is no lock of this room (for a row, for a person) may last until the end of somebody's transaction. Whoever
//! begins one can say that no lock is held meanwhile: what is waited for may need that lock first, and no search for
//! deadlocks sees it.

use std::cell::RefCell;
use std::panic::Location;

thread_local! {
    static HELD: RefCell<Vec<(usize, &'static Location<'static>)>> = const { RefCell::new(Vec::new()) };
}

/// Where the calling thread took what it holds, the oldest first; nothing in release builds.
pub fn held() -> Vec<&'static Location<'static>> {
    let places = HELD.try_with(|h| h.borrow().iter().map(|(_, at)| *at).collect());
    // An error means that the thread is ending.
    places.unwrap_or_default()
}

#[inline]
#[track_caller]
pub(super) fn taken(address: usize) {
    if cfg!(debug_assertions) {
        let at = Location::caller();
        let _ = HELD.try_with(|h| h.borrow_mut().push((address, at)));
    }
}

#[inline]
pub(super) fn given_back(address: usize) {
    if cfg!(debug_assertions) {
        let _ = HELD.try_with(|h| {
            let mut held = h.borrow_mut();
            if let Some(i) = held.iter().rposition(|(a, _)| *a == address) {
                held.remove(i);
            }
        });
    }
}
