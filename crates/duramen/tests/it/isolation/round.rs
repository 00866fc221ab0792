//! A round: so many transactions over keys of its own, what they told, and what was there at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use duramen_os::random::Rng;

use super::steps::{SLOTS, Seen, Step, in_heap};

/// What a round's transactions work on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Lists and rows found by predicates.
    Lists,
    Registers,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Committed,
    /// Rolled back: at its own wish (0), by an error of this number, or with its connection before COMMIT was sent (-1).
    Failed(i32),
    /// The connection broke when COMMIT was on its way.
    Unknown,
}

/// How a transaction comes to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Travel {
    /// One batch, with its numbers in the text.
    Text,
    /// One message of many calls.
    Message,
    /// Two of them.
    Messages,
    /// Each statement by itself, when the one before has been answered.
    Steps,
}

/// One transaction that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The moments at which it was sent and answered, by a clock that all sessions share.
    pub began: u64,
    pub ended: u64,
    /// Its steps and what they told; those that were not reached are missing.
    pub steps: Vec<(Step, Seen)>,
    pub outcome: Outcome,
}

/// What was there when nobody worked.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Finals {
    pub lists: BTreeMap<u32, Vec<u32>>,
    pub rows: BTreeSet<(u32, u32)>,
    pub registers: BTreeMap<u32, Option<u32>>,
}

pub struct Round {
    pub kind: Kind,
    pub tried: Vec<Tried>,
    pub finals: Finals,
}

/// What sessions share while a round runs: its keys, and the numbers to give out.
pub struct Draft {
    pub kind: Kind,
    /// The first key and the first group.
    pub base: u32,
    pub keys: u32,
    pub groups: u32,
    pub transactions: u32,
    /// Keys, and groups, that are worked on at a time: so many that most transactions meet another, and few a deadlock.
    active: u32,
    active_groups: u32,
    /// Rows are deleted, too.
    deletes: bool,
    taken: AtomicU32,
    value: AtomicU32,
    slots: Vec<AtomicU32>,
    clock: AtomicU64,
    pub done: AtomicU32,
}

/// Keys that are read together.
const TOGETHER: u32 = 5;
/// A key is given up for a new one after so many transactions.
const KEY_SHIFT: u32 = 24;
const GROUP_SHIFT: u32 = 30;

impl Draft {
    pub fn new(kind: Kind, base: u32, transactions: u32, deletes: bool, sessions: u32) -> Draft {
        let (active, active_groups) = (sessions + TOGETHER, sessions / 2 + 3);
        let groups = transactions / GROUP_SHIFT + active_groups;
        Draft {
            kind,
            base,
            keys: transactions / KEY_SHIFT + active,
            groups,
            transactions,
            active,
            active_groups,
            deletes,
            taken: AtomicU32::new(0),
            value: AtomicU32::new(1),
            slots: (0..groups).map(|_| AtomicU32::new(0)).collect(),
            clock: AtomicU64::new(0),
            done: AtomicU32::new(0),
        }
    }

    /// The first number behind the round's keys and groups.
    pub fn end(&self) -> u32 {
        self.base + self.keys.max(self.groups)
    }

    pub fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }

    /// The next transaction's steps, and how they travel; `None` when the round is over.
    pub fn next(&self, rng: &mut Rng) -> Option<(Vec<Step>, Travel)> {
        let n = self.taken.fetch_add(1, Relaxed);
        if n >= self.transactions {
            return None;
        }
        let travel = match rng.below(20) {
            0 => Travel::Text,
            1..12 => Travel::Message,
            12..17 => Travel::Messages,
            _ => Travel::Steps,
        };
        let mut steps = Vec::new();
        for _ in 0..1 + rng.below(4) {
            match self.kind {
                Kind::Lists => self.of_lists(n, rng, travel, &mut steps),
                Kind::Registers => self.of_registers(n, rng, &mut steps),
            }
        }
        Some((steps, travel))
    }

    fn key(&self, n: u32, rng: &mut Rng) -> u32 {
        self.base + n / KEY_SHIFT + rng.below(u64::from(self.active)) as u32
    }

    fn value(&self) -> u32 {
        self.value.fetch_add(1, Relaxed)
    }

    fn of_lists(&self, n: u32, rng: &mut Rng, travel: Travel, steps: &mut Vec<Step>) {
        let key = self.key(n, rng);
        let offset = n / GROUP_SHIFT + rng.below(u64::from(self.active_groups)) as u32;
        let group = self.base + offset;
        let append = |key| Step::Append {
            key,
            value: self.value(),
        };
        match rng.below(100) {
            0..24 => steps.push(append(key)),
            24..34 => steps.extend([Step::Read { key }, append(key)]),
            // The first of the two is an intermediate version.
            34..38 => steps.extend([append(key), append(key)]),
            38..41 => steps.push(Step::Undone {
                key,
                value: self.value(),
            }),
            41..58 => steps.push(Step::Read { key }),
            58..68 => {
                let from = rng.below(u64::from(self.active - TOGETHER + 1)) as u32;
                let from = self.base + n / KEY_SHIFT + from;
                let to = from + TOGETHER - 1;
                steps.push(Step::ReadMany { from, to });
            }
            68..80 => {
                let slot = self.slots[offset as usize].fetch_add(1, Relaxed);
                if slot < SLOTS {
                    steps.push(Step::Insert { group, slot });
                } else {
                    steps.push(Step::Count { group });
                }
            }
            // Whether a row was found is told by an answer: not in a message whose answer may get lost with its COMMIT.
            80..87 if self.deletes && travel == Travel::Steps => {
                let used = self.slots[offset as usize].load(Relaxed).min(SLOTS);
                let slot = rng.below(u64::from(used.max(1))) as u32;
                steps.push(Step::Delete { group, slot });
            }
            80..91 => steps.push(Step::Range { group }),
            _ => steps.push(Step::Count { group }),
        }
    }

    fn of_registers(&self, n: u32, rng: &mut Rng, steps: &mut Vec<Step>) {
        let key = self.key(n, rng);
        let write = Step::Write {
            key,
            value: self.value(),
        };
        match rng.below(10) {
            0..3 => steps.push(write),
            3..6 => steps.extend([Step::Peek { key }, write]),
            _ => steps.push(Step::Peek { key }),
        }
    }
}

/// The keys of a range that `ReadMany` must find: all have a list from the start.
pub fn listed(from: u32, to: u32) -> impl Iterator<Item = u32> {
    (from..=to).filter(|key| !in_heap(*key))
}

impl Round {
    /// How many transactions have met another: both were under way at one time, with a key in common that one of them has
    /// written, or a group.
    pub fn meetings(&self) -> usize {
        let mut uses: BTreeMap<(bool, u32), Vec<Use>> = BTreeMap::new();
        for (transaction, tried) in self.tried.iter().enumerate() {
            for (step, _) in &tried.steps {
                let (rows, keys, writes) = step.keys();
                for key in keys {
                    uses.entry((rows, key)).or_default().push(Use {
                        began: tried.began,
                        ended: tried.ended,
                        transaction,
                        writes,
                    });
                }
            }
        }
        let mut met = BTreeSet::new();
        for of_key in uses.values_mut() {
            of_key.sort_unstable();
            let mut running: Vec<Use> = Vec::new();
            for &one in of_key.iter() {
                running.retain(|other| other.ended > one.began);
                for other in &running {
                    if other.transaction != one.transaction && (other.writes || one.writes) {
                        met.extend([other.transaction, one.transaction]);
                    }
                }
                running.push(one);
            }
        }
        met.len()
    }
}

/// A transaction's use of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    began: u64,
    ended: u64,
    transaction: usize,
    writes: bool,
}

impl Step {
    /// Of rows or of lists and registers; which; whether it writes them.
    fn keys(self) -> (bool, Vec<u32>, bool) {
        match self {
            Step::Append { key, .. } | Step::Undone { key, .. } | Step::Write { key, .. } => {
                (false, vec![key], true)
            }
            Step::Read { key } | Step::Peek { key } => (false, vec![key], false),
            Step::ReadMany { from, to } => (false, listed(from, to).collect(), false),
            Step::Insert { group, .. } | Step::Delete { group, .. } => (true, vec![group], true),
            Step::Range { group } | Step::Count { group } => (true, vec![group], false),
        }
    }
}
