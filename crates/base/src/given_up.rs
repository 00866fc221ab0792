//! Whether what the calling thread works on is still wanted. Work forward that takes long asks between its steps, wherever it
//! is done; what undoes never asks.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::{SqlError, SqlResult};

thread_local! {
    static GIVEN_UP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    static CONDUCT: RefCell<Option<Arc<Conduct>>> = const { RefCell::new(None) };
}

const FORWARD: u8 = 0;
const PUTS_AWAY: u8 = 1;
const UNDOES: u8 = 2;

/// What a thread tells of itself while it works on a request: that it goes forward, at first.
#[derive(Default, Debug)]
pub struct Conduct(AtomicU8);

impl Conduct {
    /// Whether nothing goes forward in a request that has been given up, or has not.
    pub fn undoes(&self, is_given_up: bool) -> bool {
        match self.0.load(Ordering::Relaxed) {
            FORWARD => false,
            PUTS_AWAY => is_given_up,
            _ => true,
        }
    }

    /// What it was before.
    fn replace(&self, conduct: u8) -> u8 {
        self.0.swap(conduct, Ordering::Relaxed)
    }
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

/// Does what is to be done whether anybody wants what the calling thread works on or not.
pub fn regardless<T>(work: impl FnOnce() -> T) -> T {
    let _listening = Listening {
        before: GIVEN_UP.take(),
    };
    work()
}

/// Where the calling thread tells what it does, while this lives.
#[must_use = "nothing is told any more when this is dropped"]
#[derive(Debug)]
pub struct Reporting {
    before: Option<Arc<Conduct>>,
}

/// From now on the calling thread tells there when it undoes what no transaction undoes, when it puts away, and when it has
/// heard that its work is given up: what it does from then on is putting away.
pub fn report_undoing(to: Arc<Conduct>) -> Reporting {
    to.replace(FORWARD);
    Reporting {
        before: CONDUCT.replace(Some(to)),
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        let before = self.before.take();
        // An error means that the thread is ending.
        let _ = CONDUCT.try_with(|to| to.replace(before));
    }
}

/// While it lives, what the calling thread does is undoing: nothing goes forward.
#[must_use = "it is told for as long as this lives"]
#[derive(Debug)]
pub struct Undoing {
    reported: Option<(Arc<Conduct>, u8)>,
}

/// Tells `conduct` where less is told now.
fn begin(conduct: u8) -> Undoing {
    let to = CONDUCT.try_with(|to| to.borrow().clone()).unwrap_or(None);
    // Within another, that one tells the end.
    let reported = to.and_then(|to| {
        let before = to.0.fetch_max(conduct, Ordering::Relaxed);
        (before < conduct).then_some((to, before))
    });
    Undoing { reported }
}

/// What has been made and is not to stay is taken back from now on: files, space in them, what lies in memory.
pub fn undoing() -> Undoing {
    begin(UNDOES)
}

impl Drop for Undoing {
    fn drop(&mut self) {
        if let Some((to, before)) = &self.reported {
            to.replace(*before);
        }
    }
}

/// Fewer are put away in no time.
const FEW: usize = 256;

/// A list that may be long, and takes its time to put away: whoever gives up meanwhile has nothing to wait for.
#[derive(Clone, Debug)]
pub struct Bulky<T>(pub Vec<T>);

impl<T> Default for Bulky<T> {
    fn default() -> Bulky<T> {
        Bulky(Vec::new())
    }
}

impl<T> std::ops::Deref for Bulky<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> std::ops::DerefMut for Bulky<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Drop for Bulky<T> {
    fn drop(&mut self) {
        if self.0.len() > FEW {
            let _putting_away = begin(PUTS_AWAY);
            self.0 = Vec::new();
        }
    }
}

/// Tells `conduct`, whatever is told now; whether the thread undid.
fn report(conduct: u8) -> bool {
    let set = |to: &RefCell<Option<Arc<Conduct>>>| {
        let to = to.borrow();
        to.as_ref().is_some_and(|to| to.replace(conduct) == UNDOES)
    };
    CONDUCT.try_with(set).unwrap_or(false)
}

/// The calling thread has heard.
pub(crate) fn acknowledge() {
    if is_given_up() {
        report(UNDOES);
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
        undoes: report(FORWARD),
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        if self.undoes {
            report(UNDOES);
        }
    }
}

/// What the calling thread listens to, for a thread that helps it.
pub fn given_up_flag() -> Option<Arc<AtomicBool>> {
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

/// Bytes of a text that are worked on without a look.
const PIECE: usize = 1 << 20;

/// A text in pieces, for work of which each piece can be given up; a short one is one piece, without a look.
pub fn pieces(text: &str) -> impl Iterator<Item = SqlResult<&str>> {
    let mut rest = text;
    let mut first = true;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if !std::mem::take(&mut first)
            && let Err(e) = check()
        {
            return Some(Err(e));
        }
        let (piece, next) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = next;
        Some(Ok(piece))
    })
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
    use std::rc::Rc;

    use super::*;

    /// Tells what was told when it was dropped.
    struct Witness(Arc<Conduct>, Rc<RefCell<Vec<[bool; 2]>>>);

    impl Drop for Witness {
        fn drop(&mut self) {
            let reported = [false, true].map(|is_given_up| self.0.undoes(is_given_up));
            self.1.borrow_mut().push(reported);
        }
    }

    #[test]
    fn who_puts_a_long_list_away_goes_forward_only_where_it_is_wanted() {
        let conduct = Arc::new(Conduct::default());
        let _reporting = report_undoing(Arc::clone(&conduct));
        for (number, reported) in [(FEW, [false, false]), (FEW + 1, [false, true])] {
            let seen = Rc::default();
            let one = |_| Witness(Arc::clone(&conduct), Rc::clone(&seen));
            drop(Bulky((0..number).map(one).collect()));
            assert_eq!(*seen.borrow(), vec![reported; number]);
            assert!(!conduct.undoes(true), "it goes on");
        }
    }

    #[test]
    fn who_has_heard_is_told_as_undoing_but_while_others_go_forward() {
        let (wanted, conduct) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Conduct::default()),
        );
        let _listening = listen_to(Arc::clone(&wanted));
        let _reporting = report_undoing(Arc::clone(&conduct));
        let reported = || conduct.undoes(wanted.load(Ordering::Relaxed));
        drop(SqlError::given_up());
        assert!(!reported(), "nobody has given it up");
        {
            let _undoing = undoing();
            let _inner = undoing();
            assert!(reported());
        }
        assert!(!reported());
        wanted.store(true, Ordering::Relaxed);
        assert!(after_step(STEPS - 1).is_err());
        assert!(reported());
        {
            let _others = others();
            assert!(!reported());
        }
        assert!(reported());
        drop(undoing());
        assert!(reported(), "it stays so until the request ends");
        let _next = report_undoing(Arc::clone(&conduct));
        assert!(!reported());
    }
}
