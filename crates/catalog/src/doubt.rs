//! A name that an open transaction of somebody else has made, changed or taken away: what it means is not known before
//! that transaction ends.
//!
//! Looking a name up never waits: it may happen anywhere. It notes its doubt for the thread, and whoever asked on a
//! statement's behalf waits where nothing is held, and asks again.

use std::cell::Cell;

use duramen_txn::Resource;

/// Why what was found may not be relied upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// Until Sch-S can be had on this.
    Until(Resource),
    /// What was found has become something else meanwhile.
    Over,
}

thread_local! {
    static DOUBT: Cell<Option<Doubt>> = const { Cell::new(None) };
}

/// Notes a doubt; the first one counts.
pub(crate) fn note(doubt: Doubt) {
    if DOUBT.get().is_none() {
        DOUBT.set(Some(doubt));
    }
}

/// Notes what was taken.
pub fn put_back(doubt: Option<Doubt>) {
    if let Some(doubt) = doubt {
        note(doubt);
    }
}

/// What was found is looked for again at once: a doubt that is over is none.
pub fn dismiss() {
    if DOUBT.get() == Some(Doubt::Over) {
        DOUBT.set(None);
    }
}

/// Whether there is a doubt.
pub fn any() -> bool {
    DOUBT.get().is_some()
}

/// Forgets what was noted: a new question begins.
pub fn clear() {
    DOUBT.set(None);
}

/// What the calling thread has come to doubt since [`clear`].
pub fn take() -> Option<Doubt> {
    DOUBT.take()
}
