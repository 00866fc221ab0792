//! Private intents and strong requests under loom: `cargo xtask model`.
//!
//! Not the lock manager's code but its steps in its order, on loom's parts: one resource with its counter, the list of owners
//! and their mutexes, the table's grants. Two owners want a weak lock and one wants a strong one; nobody waits, who is
//! refused goes away. Each rule is left out in turn ([`Rule`]); loom must find the two inside together then.

// Loom's world: one real thread, which plays all others.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as RealArc;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering as Real};

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

const SEQ: Ordering = Ordering::SeqCst;
const OWNERS: usize = 2;

/// What keeps them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// An owner is registered before it looks at the counter.
    RegisterFirst,
    /// The counter is looked at under the owner's mutex.
    LookUnderMutex,
    /// A strong request is counted before it visits.
    CountFirst,
    /// It stays counted while its lock is held.
    CountedWhileHeld,
}

#[derive(Default)]
struct Table {
    weak: [bool; OWNERS],
    strong: bool,
}

struct World {
    without: Option<Rule>,
    counter: AtomicU32,
    registered: Mutex<[bool; OWNERS]>,
    /// Whether the owner has a private lock.
    owners: [Mutex<bool>; OWNERS],
    table: Mutex<Table>,
    /// Who believes to hold a lock.
    weak_inside: AtomicU32,
    strong_inside: AtomicU32,
}

impl World {
    fn new(without: Option<Rule>) -> Arc<World> {
        Arc::new(World {
            without,
            counter: AtomicU32::new(0),
            registered: Mutex::new([false; OWNERS]),
            owners: [Mutex::new(false), Mutex::new(false)],
            table: Mutex::new(Table::default()),
            weak_inside: AtomicU32::new(0),
            strong_inside: AtomicU32::new(0),
        })
    }

    fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn is_open(&self) -> bool {
        self.counter.fetch_add(0, SEQ) == 0
    }

    /// Takes a weak lock, and gives it back.
    fn weak(&self, who: usize) {
        let early = !self.keeps(Rule::LookUnderMutex) && self.is_open();
        let granted = {
            let mut private = self.owners[who].lock().unwrap();
            if self.keeps(Rule::RegisterFirst) {
                self.registered.lock().unwrap()[who] = true;
            }
            let open = match self.keeps(Rule::LookUnderMutex) {
                true => self.is_open(),
                false => early,
            };
            if open {
                *private = true;
                self.registered.lock().unwrap()[who] = true;
            } else {
                let mut table = self.table.lock().unwrap();
                table.weak[who] = !table.strong;
            }
            open || self.table.lock().unwrap().weak[who]
        };
        if !granted {
            return;
        }
        self.weak_inside.fetch_add(1, SEQ);
        assert_eq!(
            self.strong_inside.fetch_add(0, SEQ),
            0,
            "a weak lock beside a strong one"
        );
        self.weak_inside.fetch_sub(1, SEQ);
        let mut private = self.owners[who].lock().unwrap();
        if !std::mem::take(&mut *private) {
            self.table.lock().unwrap().weak[who] = false;
        }
    }

    /// Asks for a strong lock, and gives it back if it was granted.
    fn strong(&self) {
        if self.keeps(Rule::CountFirst) {
            self.counter.fetch_add(1, SEQ);
        }
        let visited = *self.registered.lock().unwrap();
        for who in (0..OWNERS).filter(|who| visited[*who]) {
            let mut private = self.owners[who].lock().unwrap();
            if std::mem::take(&mut *private) {
                self.table.lock().unwrap().weak[who] = true;
            }
        }
        if !self.keeps(Rule::CountFirst) {
            self.counter.fetch_add(1, SEQ);
        }
        let granted = {
            let mut table = self.table.lock().unwrap();
            table.strong = table.weak.iter().all(|weak| !weak);
            table.strong
        };
        if granted {
            if !self.keeps(Rule::CountedWhileHeld) {
                self.counter.fetch_sub(1, SEQ);
            }
            self.strong_inside.fetch_add(1, SEQ);
            assert_eq!(
                self.weak_inside.fetch_add(0, SEQ),
                0,
                "a strong lock beside a weak one"
            );
            self.strong_inside.fetch_sub(1, SEQ);
            self.table.lock().unwrap().strong = false;
        }
        if !granted || self.keeps(Rule::CountedWhileHeld) {
            self.counter.fetch_sub(1, SEQ);
        }
    }
}

fn model(without: Option<Rule>) {
    let world = World::new(without);
    let weak = [0, 1].map(|who| {
        let world = world.clone();
        thread::spawn(move || world.weak(who))
    });
    world.strong();
    for thread in weak {
        thread.join().unwrap();
    }
    assert_eq!(world.counter.load(SEQ), 0);
    let table = world.table.lock().unwrap();
    assert!(
        !table.strong && table.weak.iter().all(|w| !w),
        "a lock was not given back"
    );
}

fn check(without: Option<Rule>) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    let ways = RealArc::new(RealU64::new(0));
    let counted = ways.clone();
    builder.check(move || {
        counted.fetch_add(1, Real::SeqCst);
        model(without);
    });
    ways.load(Real::SeqCst)
}

#[test]
fn intents_and_strong_locks_are_never_held_together() {
    println!("intents: {} ways", check(None));
}

#[test]
fn every_rule_is_needed() {
    for rule in [
        Rule::RegisterFirst,
        Rule::LookUnderMutex,
        Rule::CountFirst,
        Rule::CountedWhileHeld,
    ] {
        let tried = AssertUnwindSafe(|| check(Some(rule)));
        assert!(catch_unwind(tried).is_err(), "{rule:?} is not needed");
    }
}
