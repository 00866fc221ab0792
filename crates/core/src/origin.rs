//! Whose work a thread does: what events say of the session that they are part of.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use duramen_os::thread::Owned;
use duramen_txn::definitions::{Viewing, view_as};

use crate::activity::Activity;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Activity>>> = const { RefCell::new(None) };
    static TASK: Cell<Option<Task>> = const { Cell::new(None) };
}

/// What a thread does for one request, as TRACK_CAUSALITY names it.
#[derive(Clone, Copy)]
struct Task {
    id: [u8; 16],
    /// Events that sessions with TRACK_CAUSALITY have taken of it.
    events: u32,
    /// The last one's number in the process: several sessions may take it.
    last: u64,
}

/// The name of an event that the calling thread fires: its task and which of the task's events it is.
pub fn event_of_task(sequence: u64) -> String {
    let mut task = TASK.get().unwrap_or_else(|| Task {
        id: duramen_os::random::guid(),
        events: 0,
        last: 0,
    });
    if task.last != sequence {
        task.events = task.events.saturating_add(1);
        task.last = sequence;
    }
    TASK.set(Some(task));
    let id = duramen_types::convert::guid_text(&task.id);
    format!("{id}-{}", task.events)
}

/// While it lives, the thread works for a session; dropping it restores what was before.
#[must_use = "the thread works for nobody when this is dropped"]
pub struct Working {
    before: Option<Arc<Activity>>,
    _owned: Owned,
    _viewing: Viewing,
}

/// The calling thread works for this session from now on.
pub fn work_for(activity: &Arc<Activity>) -> Working {
    let now = Some(activity.clone());
    TASK.set(None);
    Working {
        before: CURRENT.with(|c| c.replace(now)),
        _owned: duramen_os::thread::own(activity.instance),
        _viewing: view_as(&activity.owner),
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
pub fn current() -> Option<Arc<Activity>> {
    CURRENT.try_with(|c| c.borrow().clone()).ok().flatten()
}

/// Whether an event on the calling thread, in the work of `who`, is this instance's business: its session's, or that of its
/// own threads. What nobody's thread does is everybody's.
pub fn concerns(instance: u64, who: Option<&Activity>) -> bool {
    match who {
        Some(who) => who.instance == instance,
        None => [0, instance].contains(&duramen_os::thread::owner()),
    }
}
