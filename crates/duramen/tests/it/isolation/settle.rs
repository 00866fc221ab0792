//! What the end of a round says of its transactions: those in doubt are there whole or not at all, those acknowledged
//! are there, and what anybody was told of is there.

use std::collections::{BTreeMap, BTreeSet};

use super::round::{Finals, Outcome, Round, Tried};
use super::steps::{Seen, Step};

/// An anomaly: its name and how it was seen.
pub type Finding = (&'static str, String);

/// Acknowledged and not there.
pub const LOST: &str = "lost";
/// Some of a transaction's writes are there and others not.
pub const TORN: &str = "torn";
/// A read told of a write that is not there, and no crash may take it.
pub const TOLD_AND_LOST: &str = "told-and-lost";
/// Two committed transactions have deleted one row.
pub const DELETED_TWICE: &str = "deleted-twice";

/// Which rows were deleted by transactions that may have committed, and how often.
fn deleted(tried: &[Tried]) -> BTreeMap<(u32, u32), usize> {
    let mut deleted = BTreeMap::new();
    for one in tried {
        if matches!(one.outcome, Outcome::Failed(_)) {
            continue;
        }
        for (step, seen) in &one.steps {
            if let (Step::Delete { group, slot }, Seen::Deleted(true)) = (step, seen) {
                *deleted.entry((*group, *slot)).or_default() += 1;
            }
        }
    }
    deleted
}

/// For each write that the end tells something of, whether it is there.
pub fn votes(
    one: &Tried,
    finals: &Finals,
    deleted: &BTreeMap<(u32, u32), usize>,
    read: &BTreeSet<(u32, u32)>,
) -> Vec<bool> {
    let mut votes = Vec::new();
    for (step, seen) in &one.steps {
        match *step {
            Step::Append { key, value } => {
                votes.push(finals.lists.get(&key).is_some_and(|l| l.contains(&value)));
            }
            Step::Insert { group, slot } => {
                let there = finals.rows.contains(&(group, slot));
                if there || !deleted.contains_key(&(group, slot)) {
                    votes.push(there);
                }
            }
            Step::Delete { group, slot } if *seen == Seen::Deleted(true) => {
                let row = (group, slot);
                if finals.rows.contains(&row) {
                    votes.push(false);
                } else if deleted.get(&row) == Some(&1) {
                    votes.push(true);
                }
            }
            // What was overwritten says nothing.
            Step::Write { key, value } => {
                let last = finals.registers.get(&key) == Some(&Some(value));
                if last || read.contains(&(key, value)) {
                    votes.push(true);
                } else if finals.registers.get(&key) == Some(&None) {
                    votes.push(false);
                }
            }
            _ => {}
        }
    }
    votes
}

/// Register values that committed transactions have read.
fn registers_read(tried: &[Tried]) -> BTreeSet<(u32, u32)> {
    let committed = tried.iter().filter(|t| t.outcome == Outcome::Committed);
    let steps = committed.flat_map(|t| &t.steps);
    steps
        .filter_map(|(step, seen)| match (step, seen) {
            (Step::Peek { key }, Seen::Register(Some(value))) => Some((*key, *value)),
            _ => None,
        })
        .collect()
}

/// Gives the transactions in doubt their outcome. `dirty`: reads may tell of what is rolled back.
pub fn settle(round: &mut Round, dirty: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let deleted = deleted(&round.tried);
    // A dirty read of what is rolled back afterwards is no sign that it was there.
    let read = match dirty {
        true => BTreeSet::new(),
        false => registers_read(&round.tried),
    };
    let end = round.tried.iter().map(|t| t.ended).max().unwrap_or(0) + 1;
    let finals = &round.finals;
    for one in &mut round.tried {
        let votes = match one.outcome {
            Outcome::Failed(_) => continue,
            _ => votes(one, finals, &deleted, &read),
        };
        let there = votes.iter().any(|there| *there);
        let all = votes.iter().all(|there| *there);
        match one.outcome {
            Outcome::Committed if !there && !all => {
                findings.push((LOST, format!("{one:?}")));
            }
            _ if there && !all => findings.push((TORN, format!("{one:?}"))),
            _ => {}
        }
        if one.outcome == Outcome::Unknown {
            // It may have committed at any time until the crash.
            one.ended = end;
            one.outcome = match there {
                true => Outcome::Committed,
                false => Outcome::Failed(super::worker::BROKEN),
            };
        }
    }
    for (row, times) in deleted {
        if times > 1 && committed_deletes(&round.tried, row) > 1 {
            findings.push((DELETED_TWICE, format!("row {row:?}")));
        }
    }
    if !dirty {
        findings.extend(told_and_lost(round));
    }
    findings
}

fn committed_deletes(tried: &[Tried], (group, slot): (u32, u32)) -> usize {
    let step = (Step::Delete { group, slot }, Seen::Deleted(true));
    let committed = tried.iter().filter(|t| t.outcome == Outcome::Committed);
    committed.filter(|t| t.steps.contains(&step)).count()
}

/// Whatever an answer told, of whatever became of its transaction, is there at the end: but its own writes.
fn told_and_lost(round: &Round) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in &round.tried {
        let mut own = BTreeSet::new();
        for (step, seen) in &one.steps {
            if let Step::Append { key, value } = *step {
                own.insert((key, value));
            }
            let Seen::Lists(lists) = seen else { continue };
            for (key, list) in lists {
                let last = round.finals.lists.get(key).map_or(&[][..], Vec::as_slice);
                let gone = list
                    .iter()
                    .find(|value| !own.contains(&(*key, **value)) && !last.contains(value));
                if let Some(value) = gone {
                    findings.push((TOLD_AND_LOST, format!("{value} of list {key}: {one:?}")));
                }
            }
        }
    }
    findings
}
