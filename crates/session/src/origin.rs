//! Whose work a thread does: what events say of the session that they are part of.

use std::cell::RefCell;
use std::sync::Arc;

use crate::activity::Activity;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Activity>>> = const { RefCell::new(None) };
}

/// While it lives, the thread works for a session; dropping it restores what was before.
#[must_use = "the thread works for nobody when this is dropped"]
pub(crate) struct Working {
    before: Option<Arc<Activity>>,
}

/// The calling thread works for this session from now on.
pub(crate) fn work_for(activity: &Arc<Activity>) -> Working {
    let now = Some(activity.clone());
    Working {
        before: CURRENT.with(|c| c.replace(now)),
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = CURRENT.try_with(|c| c.replace(before));
    }
}

/// The session that the calling thread works for.
pub(crate) fn current() -> Option<Arc<Activity>> {
    CURRENT.try_with(|c| c.borrow().clone()).ok().flatten()
}
