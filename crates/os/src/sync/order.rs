//! The order of locks as threads take them, in debug builds: who holds one lock and waits for another says that the first
//! comes before the second. All that is said in a process must be an order, whether or not anybody is in the way.
//!
//! Locks made at one place of the source, around values of one type, are one class. What is said of classes holds for every
//! world of a process: it is about the code. Two locks of one class say nothing here ([`super::Rank`] may). What is only
//! tried cannot wait, but who holds what it has tried says what comes behind.
//!
//! Invariants
//! 1. What is seen has no circle: no two locks are waited for in both orders, be it by way of others.
//!    [assert: order/1; test: what_is_seen_is_an_order]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

type Place = &'static Location<'static>;

/// Locks that are made at one place, of values of one type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Class {
    pub made: Place,
    pub of: &'static str,
}

/// Where a lock was held, and where the next was waited for.
type Pair = (Place, Place);

/// What comes behind each class, and who has said so.
static SEEN: parking_lot::Mutex<BTreeMap<Class, BTreeMap<Class, Pair>>> =
    parking_lot::Mutex::new(BTreeMap::new());

thread_local! {
    /// What this thread has said already.
    static SAID: RefCell<BTreeSet<[usize; 4]>> = const { RefCell::new(BTreeSet::new()) };
}

/// The calling thread waits, at `at`, for a lock of one class, and holds one of another since it was at `since`. What
/// contradicts that, if anything does.
pub(super) fn say(held: Class, since: Place, next: Class, at: Place) -> Option<String> {
    if held == next || is_said(held, next) {
        return None;
    }
    let mut seen = SEEN.lock();
    let mut way = Vec::new();
    if is_behind(&seen, next, held, &mut way, &mut BTreeSet::new()) {
        return Some(describe(held, since, next, at, &way));
    }
    let behind = seen.entry(held).or_default();
    behind.entry(next).or_insert((since, at));
    None
}

fn is_said(held: Class, next: Class) -> bool {
    let place = |p: Place| std::ptr::from_ref(p).addr();
    let pair = [
        place(held.made),
        held.of.as_ptr().addr(),
        place(next.made),
        next.of.as_ptr().addr(),
    ];
    // An error means that the thread is ending: nothing is looked at any more.
    SAID.try_with(|s| !s.borrow_mut().insert(pair))
        .unwrap_or(true)
}

/// Whether `to` comes behind `from`; `way` is how.
fn is_behind(
    seen: &BTreeMap<Class, BTreeMap<Class, Pair>>,
    from: Class,
    to: Class,
    way: &mut Vec<Pair>,
    looked: &mut BTreeSet<Class>,
) -> bool {
    for (next, pair) in seen.get(&from).into_iter().flatten() {
        if !looked.insert(*next) {
            continue;
        }
        way.push(*pair);
        if *next == to || is_behind(seen, *next, to, way, looked) {
            return true;
        }
        way.pop();
    }
    false
}

fn describe(held: Class, since: Place, next: Class, at: Place, way: &[Pair]) -> String {
    let mut text = format!("{next:?} is waited for at {at} by who took {held:?} at {since};");
    for (since, at) in way {
        text.push_str(&format!(" but at {at} it was waited behind {since};"));
    }
    text
}
