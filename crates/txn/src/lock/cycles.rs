//! Who is in a cycle at all: the strongly connected parts of the graph of waits, found in one pass over the queues.
//!
//! A queue of n requests for one row has n(n-1)/2 waits in it, and thousands may queue. Only reachability matters here, so
//! a request's walk towards the head of its queue ends at the first request that is blocked by all that blocks itself: the
//! rest is reached through that one. What is in a part of two or more owners is then looked at wait by wait
//! ([`super::deadlock`]); without a deadlock nobody is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::Holders;

/// Waits: an owner's id, and the ids that all it waits for can be reached through.
pub(super) type Waits = BTreeMap<u64, Arc<[u64]>>;

/// Adds what the queue of one resource says.
pub(super) fn add_queue(waits: &mut Waits, holders: &Holders) {
    let queue = &holders.queue;
    for (at, request) in queue.iter().enumerate() {
        // Of two new requests in one mode, which do not stand against each other, the same is true.
        let twin = at.checked_sub(1).map(|before| &queue[before]).filter(|b| {
            b.mode == request.mode
                && b.mode.compatible(b.mode)
                && !b.conversion
                && !request.conversion
        });
        let known = twin.and_then(|b| waits.get(&b.owner.id())).cloned();
        let reached = known.unwrap_or_else(|| reach(holders, at));
        waits.insert(request.owner.id(), reached);
    }
}

fn reach(holders: &Holders, at: usize) -> Arc<[u64]> {
    let request = &holders.queue[at];
    let mut reached = Vec::new();
    for ahead in holders.queue.iter().take(at).rev() {
        if ahead.mode.compatible(request.mode) {
            continue;
        }
        reached.push(ahead.owner.id());
        if ahead.mode.stands_against_all_of(request.mode) {
            return reached.into();
        }
    }
    let others = holders
        .grants()
        .filter(|g| g.owner != request.owner && !g.mode.compatible(request.mode));
    reached.extend(others.map(|g| g.owner.id()));
    reached.into()
}

/// One owner on the way of the depth-first walk.
struct Visit {
    owner: u64,
    next: usize,
}

#[derive(Clone, Copy)]
struct Mark {
    number: u64,
    low: u64,
    /// Its part is not complete yet.
    open: bool,
}

/// The owners that wait for themselves, in order of their ids: Tarjan's algorithm, without recursion.
pub(super) fn in_cycles(waits: &Waits) -> Vec<u64> {
    let mut marks: BTreeMap<u64, Mark> = BTreeMap::new();
    let (mut part, mut found) = (Vec::new(), Vec::new());
    for &root in waits.keys() {
        if marks.contains_key(&root) {
            continue;
        }
        let mut way = vec![enter(root, &mut marks, &mut part)];
        while let Some(visit) = way.last_mut() {
            let owner = visit.owner;
            let next = waits.get(&owner).and_then(|w| w.get(visit.next)).copied();
            visit.next += 1;
            match next {
                Some(next) => match marks.get(&next).copied() {
                    None => way.push(enter(next, &mut marks, &mut part)),
                    Some(mark) if mark.open => lower(&mut marks, owner, mark.number),
                    Some(_) => {}
                },
                None => {
                    way.pop();
                    let low = marks.get(&owner).map_or(0, |m| m.low);
                    if let Some(before) = way.last() {
                        lower(&mut marks, before.owner, low);
                    }
                    complete(owner, &mut marks, &mut part, &mut found);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

fn enter(owner: u64, marks: &mut BTreeMap<u64, Mark>, part: &mut Vec<u64>) -> Visit {
    let number = marks.len() as u64;
    let mark = Mark {
        number,
        low: number,
        open: true,
    };
    marks.insert(owner, mark);
    part.push(owner);
    Visit { owner, next: 0 }
}

fn lower(marks: &mut BTreeMap<u64, Mark>, owner: u64, to: u64) {
    if let Some(mark) = marks.get_mut(&owner) {
        mark.low = mark.low.min(to);
    }
}

/// All that is reached from `owner` has been seen: where nothing leads further back, what was entered since is one part.
fn complete(
    owner: u64,
    marks: &mut BTreeMap<u64, Mark>,
    part: &mut Vec<u64>,
    found: &mut Vec<u64>,
) {
    if marks.get(&owner).is_none_or(|m| m.low != m.number) {
        return;
    }
    let from = part.iter().rposition(|o| *o == owner).unwrap_or(0);
    for member in &part[from..] {
        if let Some(mark) = marks.get_mut(member) {
            mark.open = false;
        }
    }
    if part.len() - from > 1 {
        found.extend_from_slice(&part[from..]);
    }
    part.truncate(from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_os::random::Rng;

    /// Who reaches itself, by asking each.
    fn by_reaching(waits: &Waits) -> Vec<u64> {
        let reaches = |from: u64| {
            let (mut seen, mut open) = (Vec::new(), vec![from]);
            while let Some(at) = open.pop() {
                for next in waits.get(&at).into_iter().flat_map(|w| w.iter()) {
                    if !seen.contains(next) {
                        seen.push(*next);
                        open.push(*next);
                    }
                }
            }
            seen.contains(&from)
        };
        waits.keys().copied().filter(|o| reaches(*o)).collect()
    }

    #[test]
    fn those_who_wait_for_themselves_are_found() {
        let mut random = Rng::new(11);
        for _ in 0..3000 {
            let owners = 2 + random.below(9);
            let mut waits = Waits::new();
            for owner in 0..owners {
                let edges = (0..random.below(3)).map(|_| random.below(owners));
                let edges: Vec<u64> = edges.filter(|to| *to != owner).collect();
                if !edges.is_empty() {
                    waits.insert(owner, edges.into());
                }
            }
            assert_eq!(in_cycles(&waits), by_reaching(&waits), "{waits:?}");
        }
    }

    #[test]
    fn a_long_line_is_walked_without_depth() {
        let line = |n: u64| (n, Arc::from([n + 1]));
        let mut waits: Waits = (0..100_000).map(line).collect();
        assert_eq!(in_cycles(&waits), []);
        waits.insert(100_000, Arc::from([99_998]));
        assert_eq!(in_cycles(&waits), [99_998, 99_999, 100_000]);
    }
}
