//! Under delayed durability a kill may take acknowledged commits, but only from the end: what survives is a prefix of the
//! order in which transactions committed.
//!
//! That order is not known whole. Known of it: who was acknowledged before another was sent; whose element is before
//! another's in a list; who was read; and, where readers hold what they have read, whose write came after a read. Whatever
//! is thus known to be before a transaction that survived must have survived.

use std::collections::{BTreeMap, BTreeSet};

use super::round::{Outcome, Round};
use super::settle::{Finding, TORN, votes};
use super::steps::{Seen, Step};

/// A transaction that survived came after one that did not.
pub const NO_PREFIX: &str = "no-prefix";

#[derive(Default)]
pub struct Loss {
    pub findings: Vec<Finding>,
    /// Acknowledged commits that the kill has taken.
    pub lost: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    There,
    Gone,
    /// It wrote nothing that could be there.
    Reader,
    Aborted,
}

/// Judges what a kill has left of a round, and takes out of it what is lost and who was told of that.
pub fn cut(round: &mut Round, readers_commit_first: bool) -> Loss {
    let mut loss = Loss::default();
    let fates: Vec<Fate> = round
        .tried
        .iter()
        .map(|one| {
            if matches!(one.outcome, Outcome::Failed(_)) {
                return Fate::Aborted;
            }
            // Deletions by who is lost are no deletions: only what is there counts.
            let votes = votes(one, &round.finals, &BTreeMap::new(), &BTreeSet::new());
            match (votes.contains(&true), votes.contains(&false)) {
                (true, false) => Fate::There,
                (false, true) => Fate::Gone,
                (false, false) => Fate::Reader,
                (true, true) => {
                    loss.findings.push((TORN, format!("{one:?}")));
                    Fate::There
                }
            }
        })
        .collect();
    let before = before(round, &fates, readers_commit_first);
    let reached = reached(round, &fates, &before);
    for (i, one) in round.tried.iter().enumerate() {
        if fates[i] == Fate::Gone && reached.contains(&i) {
            loss.findings.push((NO_PREFIX, format!("{one:?}")));
        }
    }
    let gone = |i: usize| fates[i] == Fate::Gone;
    loss.lost = (0..fates.len())
        .filter(|i| gone(*i) && round.tried[*i].outcome == Outcome::Committed)
        .count();
    // Who read what is gone, or wrote behind it, is not judged.
    let mut out: BTreeSet<usize> = (0..fates.len()).filter(|i| gone(*i)).collect();
    loop {
        let more: Vec<usize> = (0..fates.len())
            .filter(|i| !out.contains(i) && before[*i].iter().any(|b| out.contains(b)))
            .filter(|i| fates[*i] == Fate::Reader)
            .collect();
        if more.is_empty() {
            break;
        }
        out.extend(more);
    }
    let mut place = 0..;
    round
        .tried
        .retain(|_| !out.contains(&place.next().unwrap_or(usize::MAX)));
    loss
}

/// For each transaction, others that have committed before it.
fn before(round: &Round, fates: &[Fate], readers_commit_first: bool) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); fates.len()];
    let mut writers = BTreeMap::new();
    let mut born = BTreeMap::new();
    let mut lists: BTreeMap<u32, &[u32]> = BTreeMap::new();
    for (key, list) in &round.finals.lists {
        lists.insert(*key, list);
    }
    let live = |i: &usize| fates[*i] != Fate::Aborted;
    for i in (0..fates.len()).filter(live) {
        for (step, seen) in &round.tried[i].steps {
            match *step {
                Step::Append { key, value } => {
                    writers.insert((key, value), i);
                }
                Step::Insert { group, slot } => {
                    born.insert((group, slot), i);
                }
                _ => {}
            }
            if let Seen::Lists(seen) = seen {
                for (key, list) in seen {
                    let longest = lists.entry(*key).or_insert(list);
                    if list.len() > longest.len() {
                        *longest = list;
                    }
                }
            }
        }
    }
    let mut link = |first: usize, second: usize| {
        if first != second {
            before[second].push(first);
        }
    };
    for (key, list) in &lists {
        let order: Vec<usize> = list
            .iter()
            .filter_map(|value| writers.get(&(*key, *value)).copied())
            .collect();
        for pair in order.windows(2) {
            link(pair[0], pair[1]);
        }
    }
    for i in (0..fates.len()).filter(live) {
        for (step, seen) in &round.tried[i].steps {
            match (*step, seen) {
                (_, Seen::Lists(seen)) => {
                    for (key, list) in seen {
                        let read = list.iter().filter_map(|v| writers.get(&(*key, *v)));
                        read.for_each(|writer| link(*writer, i));
                        let next = lists[key].get(list.len());
                        let next = next.and_then(|value| writers.get(&(*key, *value)));
                        if let (true, Some(next)) = (readers_commit_first, next) {
                            link(i, *next);
                        }
                    }
                }
                (Step::Range { group } | Step::Count { group }, Seen::Slots(slots)) => {
                    for slot in slots {
                        if let Some(writer) = born.get(&(group, *slot)) {
                            link(*writer, i);
                        }
                    }
                }
                (Step::Delete { group, slot }, Seen::Deleted(true)) => {
                    if let Some(writer) = born.get(&(group, slot)) {
                        link(*writer, i);
                    }
                }
                _ => {}
            }
        }
    }
    before
}

/// Everybody who is known to have committed before one who is there.
fn reached(round: &Round, fates: &[Fate], before: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<usize> = (0..fates.len())
        .filter(|i| fates[*i] == Fate::There)
        .collect();
    let mut latest = 0;
    loop {
        while let Some(i) = pending.pop() {
            if reached.insert(i) {
                latest = latest.max(round.tried[i].began);
                pending.extend(&before[i]);
            }
        }
        pending = (0..fates.len())
            .filter(|i| fates[*i] != Fate::Aborted && !reached.contains(i))
            .filter(|i| round.tried[*i].outcome == Outcome::Committed)
            .filter(|i| round.tried[*i].ended < latest)
            .collect();
        if pending.is_empty() {
            return reached;
        }
    }
}
