//! Definitions that a transaction has changed, until it ends: whose they are, and who is told of the end.
//!
//! A catalog keeps what an open transaction has defined apart from what is committed, and shows it to that transaction's
//! owner alone. Whoever looks is known by the thread: a session says at the beginning of its work in whose name it looks.

use std::cell::RefCell;

use crate::lock::LockOwner;
use crate::transaction::SavePoint;

thread_local! {
    static VIEWER: RefCell<Option<LockOwner>> = const { RefCell::new(None) };
}

/// Who keeps uncommitted definitions. Told of the end of the transaction before it gives its locks back.
pub trait Definitions: std::fmt::Debug + Send + Sync {
    /// What the owner has defined is committed: everybody sees it from now on.
    fn committed(&self, owner: &LockOwner);

    /// What the owner has defined, after `to` when that is given, is undone.
    fn undone(&self, owner: &LockOwner, to: Option<&SavePoint>);
}

/// While it lives, the thread looks at definitions in somebody's name; dropping it restores what was before.
#[must_use = "the thread looks for itself when this is dropped"]
#[derive(Debug)]
pub struct Viewing {
    before: Option<LockOwner>,
}

/// The calling thread sees the uncommitted definitions of `owner` from now on.
pub fn view_as(owner: &LockOwner) -> Viewing {
    Viewing {
        before: VIEWER.replace(Some(owner.clone())),
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = VIEWER.try_with(|v| v.replace(before));
    }
}

/// In whose name the calling thread looks; `None`: it sees what is committed.
pub fn viewer() -> Option<LockOwner> {
    VIEWER.try_with(|v| v.borrow().clone()).ok().flatten()
}

/// [`LockOwner::id`] of the viewer, 0 for none.
pub fn viewer_id() -> u64 {
    let id = VIEWER.try_with(|v| v.borrow().as_ref().map_or(0, LockOwner::id));
    id.unwrap_or(0)
}

/// [`LockOwner::draft`] of the viewer.
#[inline]
pub fn viewer_draft(temporary: bool) -> u64 {
    let draft = VIEWER.try_with(|v| v.borrow().as_ref().map_or(0, |o| o.draft(temporary)));
    draft.unwrap_or(0)
}
