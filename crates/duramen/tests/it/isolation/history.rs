//! Rounds as histories of the `adya` crate.
//!
//! A predicate becomes what it is in theory: a read of every row there could be, of which most are not born. Each row is
//! a list: `[BORN]` when it is inserted, `[BORN, death]` when it is deleted; a predicate that does not find it reads `[]`
//! or, where a deleter had ended before, the whole. Where either could be, the row is left out of that read.

use std::collections::BTreeMap;

use adya::history::{History, Interner, Mop, Op, OpType, ReadValue, Scalar};

use super::round::{Kind, Outcome, Round, Tried};
use super::steps::{SLOTS, Seen, Step};

/// Keys of rows begin here.
pub const ROWS: i64 = 1 << 40;
const BORN: i64 = 0;

/// The key of a row.
pub fn row_key(group: u32, slot: u32) -> i64 {
    ROWS + i64::from(group) * i64::from(SLOTS) + i64::from(slot)
}

/// What of a round a history tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// All of it.
    Whole,
    /// Rows that a predicate did not find are not told.
    ItemsOnly,
    /// Every reading statement is a transaction by itself, its own transaction's writes taken away; transactions write only.
    Statements,
}

/// A row's life: who inserted it, who deleted it for good.
#[derive(Default, Clone, Copy)]
struct Life {
    born: Option<usize>,
    dead: Option<usize>,
}

struct Writer<'r> {
    round: &'r Round,
    view: View,
    lives: BTreeMap<u32, Vec<Life>>,
    interner: Interner,
    /// By moment: invocations and completions.
    events: Vec<(u64, usize, OpType, Vec<Mop>)>,
    processes: usize,
}

/// The history of a part of a round: transactions by their places in `tried`; `end`: with what was there at the end, as
/// one more reader.
pub fn history(round: &Round, view: View, part: &[usize], end: bool) -> History {
    let mut writer = Writer {
        round,
        view,
        lives: lives(round),
        interner: Interner::default(),
        events: Vec::new(),
        processes: 0,
    };
    for &i in part {
        writer.transaction(i);
    }
    if end {
        writer.last_reader();
    }
    writer.finish()
}

fn lives(round: &Round) -> BTreeMap<u32, Vec<Life>> {
    let mut lives: BTreeMap<u32, Vec<Life>> = BTreeMap::new();
    for (i, one) in round.tried.iter().enumerate() {
        if one.outcome != Outcome::Committed {
            continue;
        }
        for (step, seen) in &one.steps {
            let mut life = |group: u32, slot: u32| {
                let group = lives
                    .entry(group)
                    .or_insert_with(|| vec![Life::default(); SLOTS as usize]);
                std::mem::take(&mut group[slot as usize])
            };
            let (group, slot, life) = match (*step, seen) {
                (Step::Insert { group, slot }, _) => {
                    let born = Some(i);
                    (
                        group,
                        slot,
                        Life {
                            born,
                            ..life(group, slot)
                        },
                    )
                }
                (Step::Delete { group, slot }, Seen::Deleted(true)) => {
                    let dead = Some(i);
                    (
                        group,
                        slot,
                        Life {
                            dead,
                            ..life(group, slot)
                        },
                    )
                }
                _ => continue,
            };
            if let Some(group) = lives.get_mut(&group) {
                group[slot as usize] = life;
            }
        }
    }
    lives
}

impl Writer<'_> {
    fn id(&mut self, n: i64) -> u32 {
        self.interner.intern(Scalar::Int(n))
    }

    fn append(&mut self, key: i64, value: i64) -> Mop {
        let (key, value) = (self.id(key), self.id(value));
        Mop::Append { key, value }
    }

    fn read(&mut self, key: i64, list: &[i64]) -> Mop {
        let value = list.iter().map(|n| self.id(*n)).collect();
        Mop::Read {
            key: self.id(key),
            value: ReadValue::List(value),
        }
    }

    fn push(&mut self, began: u64, ended: u64, kind: OpType, mops: Vec<Mop>) {
        let process = self.processes;
        self.processes += 1;
        self.events
            .push((began, process, OpType::Invoke, mops.clone()));
        self.events.push((ended, process, kind, mops));
    }

    fn transaction(&mut self, i: usize) {
        let round = self.round;
        let one = &round.tried[i];
        let committed = one.outcome == Outcome::Committed;
        let kind = match committed {
            true => OpType::Ok,
            false => OpType::Fail,
        };
        let mut mops = Vec::new();
        for at in 0..one.steps.len() {
            let (step, seen) = &one.steps[at];
            match *step {
                Step::Append { key, value } => {
                    mops.push(self.append(i64::from(key), i64::from(value)));
                }
                Step::Undone { key, value } => {
                    let undone = self.append(i64::from(key), i64::from(value));
                    self.push(one.began, one.ended, OpType::Fail, vec![undone]);
                }
                Step::Insert { group, slot } => {
                    mops.push(self.append(row_key(group, slot), BORN));
                }
                Step::Delete { group, slot } if *seen == Seen::Deleted(true) => {
                    if committed && self.view != View::Statements {
                        mops.push(self.read(row_key(group, slot), &[BORN]));
                    }
                    mops.push(self.append(row_key(group, slot), death(i)));
                }
                Step::Write { key, value } => {
                    let (key, value) = (self.id(i64::from(key)), self.id(i64::from(value)));
                    mops.push(Mop::Write { key, value });
                }
                // What a failed transaction has read is not asked.
                _ if !committed => {}
                _ if self.view == View::Statements => {
                    let alone = self.reads(i, at);
                    if !alone.is_empty() {
                        self.push(one.began, one.ended, OpType::Ok, alone);
                    }
                }
                _ => {
                    let reads = self.reads(i, at);
                    mops.extend(reads);
                }
            }
        }
        if !mops.is_empty() {
            self.push(one.began, one.ended, kind, mops);
        }
    }

    /// What one step of a transaction has read.
    fn reads(&mut self, i: usize, at: usize) -> Vec<Mop> {
        let round = self.round;
        let one = &round.tried[i];
        let (step, seen) = &one.steps[at];
        match seen {
            Seen::Lists(lists) => lists
                .iter()
                .map(|(key, list)| {
                    let list: Vec<i64> = list.iter().map(|n| i64::from(*n)).collect();
                    let shown = match self.view {
                        View::Statements => without_own(one, *key, &list),
                        _ => &list[..],
                    };
                    self.read(i64::from(*key), shown)
                })
                .collect(),
            Seen::Register(value) => {
                let key = match *step {
                    Step::Peek { key } => self.id(i64::from(key)),
                    _ => return Vec::new(),
                };
                let value = match value {
                    Some(n) => ReadValue::Scalar(self.id(i64::from(*n))),
                    None => ReadValue::Nil,
                };
                vec![Mop::Read { key, value }]
            }
            Seen::Slots(slots) => match *step {
                Step::Range { group } | Step::Count { group } => {
                    self.predicate(i, at, group, slots)
                }
                _ => Vec::new(),
            },
            Seen::Nothing | Seen::Deleted(_) => Vec::new(),
        }
    }

    fn predicate(&mut self, i: usize, at: usize, group: u32, found: &[u32]) -> Vec<Mop> {
        let round = self.round;
        let one = &round.tried[i];
        let mut mops = Vec::new();
        let lives = self.lives.get(&group).cloned().unwrap_or_default();
        for slot in 0..SLOTS {
            let row = row_key(group, slot);
            let life = lives.get(slot as usize).copied().unwrap_or_default();
            let own = own_row(&one.steps[..at], group, slot);
            if self.view == View::Statements && own.is_some() {
                continue;
            }
            if found.contains(&slot) {
                mops.push(self.read(row, &[BORN]));
                continue;
            }
            match own {
                Some(Own::Deleted) => continue,
                // It must be seen: `internal` otherwise.
                Some(Own::Inserted) => {
                    mops.push(self.read(row, &[]));
                    continue;
                }
                None => {}
            }
            let Some(born) = life.born else { continue };
            if self.view == View::ItemsOnly {
                continue;
            }
            let begun_after = |other: usize| round.tried[other].began > one.ended;
            let ended_before = |other: usize| round.tried[other].ended < one.began;
            match life.dead {
                None => mops.push(self.read(row, &[])),
                Some(_) if begun_after(born) => mops.push(self.read(row, &[])),
                Some(dead) if dead != i && ended_before(dead) => {
                    mops.push(self.read(row, &[BORN, death(dead)]));
                }
                Some(_) => {}
            }
        }
        mops
    }

    /// What was there at the end, read after everything.
    fn last_reader(&mut self) {
        let round = self.round;
        let mut mops = Vec::new();
        for (key, list) in &round.finals.lists {
            let list: Vec<i64> = list.iter().map(|n| i64::from(*n)).collect();
            mops.push(self.read(i64::from(*key), &list));
        }
        for (key, value) in &round.finals.registers {
            let value = match value {
                Some(n) => ReadValue::Scalar(self.id(i64::from(*n))),
                None => ReadValue::Nil,
            };
            let key = self.id(i64::from(*key));
            mops.push(Mop::Read { key, value });
        }
        for &(group, slot) in &round.finals.rows {
            mops.push(self.read(row_key(group, slot), &[BORN]));
        }
        for (group, rows) in self.lives.clone() {
            for (slot, life) in (0..).zip(rows) {
                let there = round.finals.rows.contains(&(group, slot));
                match (life.born, life.dead) {
                    (Some(_), Some(dead)) if !there => {
                        mops.push(self.read(row_key(group, slot), &[BORN, death(dead)]));
                    }
                    (Some(_), None) if !there => mops.push(self.read(row_key(group, slot), &[])),
                    _ => {}
                }
            }
        }
        self.push(u64::MAX - 1, u64::MAX, OpType::Ok, mops);
    }

    fn finish(mut self) -> History {
        self.events
            .sort_by_key(|(moment, process, kind, _)| (*moment, *process, *kind != OpType::Invoke));
        let ops = self
            .events
            .into_iter()
            .zip(0..)
            .map(|((_, process, kind, value), index)| Op {
                index,
                kind,
                process: Some(process as i64),
                value,
                time: None,
            })
            .collect();
        History::from_ops(ops, self.interner)
    }
}

/// The element that a deletion appends: each transaction its own.
fn death(transaction: usize) -> i64 {
    transaction as i64 + 1
}

/// What a transaction itself has done to a row before.
enum Own {
    Inserted,
    Deleted,
}

fn own_row(before: &[(Step, Seen)], group: u32, slot: u32) -> Option<Own> {
    let mut own = None;
    for (step, seen) in before {
        if *step == (Step::Insert { group, slot }) {
            own = Some(Own::Inserted);
        }
        if *step == (Step::Delete { group, slot }) && *seen == Seen::Deleted(true) {
            own = Some(Own::Deleted);
        }
    }
    own
}

/// A list without what the reader itself has appended, which is its end.
fn without_own<'l>(one: &Tried, key: u32, list: &'l [i64]) -> &'l [i64] {
    let own = |value: i64| {
        one.steps
            .iter()
            .any(|(step, _)| matches!(*step, Step::Append { key: k, value: v } if k == key && i64::from(v) == value))
    };
    let kept = list.iter().rposition(|value| !own(*value));
    &list[..kept.map_or(0, |at| at + 1)]
}

/// Of what the `adya` crate is told.
pub fn workload(kind: Kind) -> adya::Workload {
    match kind {
        Kind::Lists => adya::Workload::ListAppend,
        Kind::Registers => adya::Workload::RwRegister,
    }
}
