//! Threads that help a session's own with one statement: they wait for locks in its name.
//!
//! An owner waits for one lock at a time, which is what the deadlock search goes by: where several threads of an owner
//! have to wait, one of them stands in the queue and the others wait for their turn. A cycle through one of those is found
//! as soon as it stands there itself.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// While it lives, the thread's waits for locks end when the flag is set.
#[must_use = "the flag counts no more when this is dropped"]
#[derive(Debug)]
pub struct Helping(());

/// Makes the calling thread's waits for locks end, as an attention ends them, when somebody sets `stop`.
pub fn help(stop: Arc<AtomicBool>) -> Helping {
    STOP.with_borrow_mut(|s| *s = Some(stop));
    Helping(())
}

impl Drop for Helping {
    fn drop(&mut self) {
        // An error means that the thread is ending.
        let _ = STOP.try_with(|s| s.take());
    }
}

/// The flag that ends this thread's waits.
pub(super) fn stop_flag() -> Option<Arc<AtomicBool>> {
    STOP.with_borrow(Clone::clone)
}

pub(super) fn is_set(flag: Option<&Arc<AtomicBool>>) -> bool {
    flag.is_some_and(|f| f.load(Ordering::SeqCst))
}
