//! Whether what the calling thread works on is still wanted. Work forward that takes long asks between its steps, wherever it
//! is done; what undoes never asks.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{SqlError, SqlResult};

thread_local! {
    static GIVEN_UP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    static UNDOES: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// While it lives, the thread works on something that may be given up; dropping it restores what was before.
#[must_use = "the thread forgets the flag when this is dropped"]
#[derive(Debug)]
pub struct Listening {
    before: Option<Arc<AtomicBool>>,
}

/// From now on the calling thread works on something that is given up when `flag` is set.
pub fn listen_to(flag: Arc<AtomicBool>) -> Listening {
    Listening {
        before: GIVEN_UP.replace(Some(flag)),
    }
}

/// Where the calling thread tells that it undoes what it has made, by [`undoing`], while this lives.
#[must_use = "nothing is told any more when this is dropped"]
#[derive(Debug)]
pub struct Telling {
    before: Option<Arc<AtomicBool>>,
}

/// From now on the calling thread tells there when it undoes what no transaction undoes, and when it has heard that its work
/// is given up: what it does from then on is putting away.
pub fn tell_undoing(to: Arc<AtomicBool>) -> Telling {
    to.store(false, Ordering::Relaxed);
    Telling {
        before: UNDOES.replace(Some(to)),
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = UNDOES.try_with(|to| to.replace(before));
    }
}

/// While it lives, what the calling thread does is undoing: nothing goes forward.
#[must_use = "it is told for as long as this lives"]
#[derive(Debug)]
pub struct Undoing {
    told: Option<Arc<AtomicBool>>,
}

/// What has been made and is not to stay is taken back from now on: files, space in them, what lies in memory.
pub fn undoing() -> Undoing {
    let to = UNDOES.try_with(|to| to.borrow().clone()).unwrap_or(None);
    // Within another, that one tells the end.
    let told = to.filter(|to| !to.swap(true, Ordering::Relaxed));
    Undoing { told }
}

impl Drop for Undoing {
    fn drop(&mut self) {
        if let Some(to) = &self.told {
            to.store(false, Ordering::Relaxed);
        }
    }
}

fn tell(undoes: bool) -> bool {
    let set = |to: &RefCell<Option<Arc<AtomicBool>>>| {
        let to = to.borrow();
        to.as_ref()
            .is_some_and(|to| to.swap(undoes, Ordering::Relaxed))
    };
    UNDOES.try_with(set).unwrap_or(false)
}

/// The calling thread has heard.
pub(crate) fn has_heard() {
    if is_given_up() {
        tell(true);
    }
}

/// While it lives, the calling thread waits for others that may not have heard yet: they go forward.
#[must_use = "it is told for as long as this lives"]
#[derive(Debug)]
pub struct Others {
    undoes: bool,
}

/// The calling thread waits for those that help it.
pub fn others() -> Others {
    Others {
        undoes: tell(false),
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        if self.undoes {
            tell(true);
        }
    }
}

/// What the calling thread listens to, for a thread that helps it.
pub fn heard() -> Option<Arc<AtomicBool>> {
    GIVEN_UP
        .try_with(|flag| flag.borrow().clone())
        .unwrap_or(None)
}

/// Whether what the calling thread works on has been given up. Asked between two steps of work forward that takes long and
/// has no better way to know; never while anything is undone.
pub fn is_given_up() -> bool {
    let set = |flag: &RefCell<Option<Arc<AtomicBool>>>| {
        flag.borrow()
            .as_ref()
            .is_some_and(|f| f.load(Ordering::Relaxed))
    };
    GIVEN_UP.try_with(set).unwrap_or(false)
}

/// Between two parts of work forward: an error that no client sees when nobody wants the second.
pub fn check() -> SqlResult<()> {
    match is_given_up() {
        false => Ok(()),
        true => Err(SqlError::given_up()),
    }
}

/// Steps of pure work between two looks.
const STEPS: usize = 1024;

/// After the step with this number: an error that no client sees when nobody wants the next. One step of many looks.
#[inline]
pub fn after_step(number: usize) -> SqlResult<()> {
    match number % STEPS == STEPS - 1 && is_given_up() {
        false => Ok(()),
        true => Err(SqlError::given_up()),
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = GIVEN_UP.try_with(|flag| flag.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_heard_is_told_as_undoing_but_while_others_go_forward() {
        let (wanted, undoes) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let _listening = listen_to(Arc::clone(&wanted));
        let _telling = tell_undoing(Arc::clone(&undoes));
        let told = || undoes.load(Ordering::Relaxed);
        drop(SqlError::given_up());
        assert!(!told(), "nobody has given it up");
        {
            let _undoing = undoing();
            let _inner = undoing();
            assert!(told());
        }
        assert!(!told());
        wanted.store(true, Ordering::Relaxed);
        assert!(after_step(STEPS - 1).is_err());
        assert!(told());
        {
            let _others = others();
            assert!(!told());
        }
        assert!(told());
        drop(undoing());
        assert!(told(), "it stays so until the request ends");
        let _next = tell_undoing(Arc::clone(&undoes));
        assert!(!told());
    }
}
