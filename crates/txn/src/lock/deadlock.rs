//! The deadlock search: is the owner that waits here waiting for itself?
//!
//! All partitions are locked, in order, so the graph that is searched is the graph as it is: no cycle is imagined.
//! That stops the lock manager for microseconds, and only for requests that have already waited long.
//!
//! One search looks at all who wait ([`super::cycles`]), so that thousands in one line search once a second together, not each
//! for itself. The search wait by wait is for those alone who are in a cycle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::{RowsetId, SessionId};
use duramen_observe::events::{LockDeadlock, emit};
use duramen_observe::{Counter, count};
use duramen_os::sync::MutexGuard;
use duramen_os::time;

use super::resource::Key;
use super::table::{Table, WaitState};
use super::{LockManager, LockMode, LockOwner, Resource, cycles, partition_of};

/// One member of a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockProcess {
    pub spid: SessionId,
    pub owner: u64,
    pub priority: i8,
    pub log_used: u64,
    pub resource: Resource,
    /// The rowset that a row, key or page is of; 0: not known.
    pub rowset: RowsetId,
    pub mode: LockMode,
    pub waited: Duration,
    /// Its transaction's id.
    pub transaction: u64,
    /// In what mode the next one of the cycle holds the resource; `None`: that one waits for it, too, before this one.
    pub held: Option<LockMode>,
}

/// A deadlock that was found: each process waits for the next one, the last for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    pub victim: SessionId,
    pub victim_owner: u64,
    pub processes: Vec<DeadlockProcess>,
}

struct Frozen<'a> {
    tables: Vec<MutexGuard<'a, Table>>,
}

impl Frozen<'_> {
    fn table(&mut self, key: &Key) -> &mut Table {
        &mut self.tables[partition_of(key)]
    }

    /// Whom a waiting owner waits for.
    fn blockers(&mut self, owner: &LockOwner) -> Vec<LockOwner> {
        let Some(waiting) = owner.0.waiting.lock().clone() else {
            return Vec::new();
        };
        let Some(holders) = self.table(&waiting.key).map.get(&waiting.key) else {
            return Vec::new();
        };
        let at = holders
            .queue
            .iter()
            .position(|r| std::sync::Arc::ptr_eq(&r.waiter, &waiting.waiter));
        at.map_or_else(Vec::new, |at| holders.blockers(at).collect())
    }

    /// Those who wait for themselves, `first` before the others.
    fn in_cycles(&mut self, waiting: &BTreeMap<u64, LockOwner>, first: u64) -> Vec<LockOwner> {
        let mut waits = cycles::Waits::new();
        for (id, owner) in waiting {
            let at = owner.0.waiting.lock().clone();
            let Some(at) = at.filter(|_| !waits.contains_key(id)) else {
                continue;
            };
            if let Some(holders) = self.table(&at.key).map.get(&at.key) {
                cycles::add_queue(&mut waits, holders);
            }
        }
        let mut found = cycles::in_cycles(&waits);
        found.sort_by_key(|id| *id != first);
        let found = found.iter().filter_map(|id| waiting.get(id));
        found.cloned().collect()
    }

    /// A shortest cycle through `start`, in waiting order.
    fn cycle(&mut self, start: &LockOwner) -> Option<Vec<LockOwner>> {
        // Breadth first; `came_from` marks what has been seen and gives the way back.
        let mut came_from: BTreeMap<u64, LockOwner> = BTreeMap::new();
        let mut open = VecDeque::from([start.clone()]);
        while let Some(owner) = open.pop_front() {
            for next in self.blockers(&owner) {
                if next == *start {
                    let mut path = vec![owner.clone()];
                    let mut at = owner.id();
                    while at != start.id() {
                        let before = came_from.get(&at)?.clone();
                        at = before.id();
                        path.push(before);
                    }
                    path.reverse();
                    debug_assert!(
                        path.first() == Some(start) && path.len() <= came_from.len() + 1,
                        "deadlock/1: a cycle does not lead back to where it begins"
                    );
                    return Some(path);
                }
                if let std::collections::btree_map::Entry::Vacant(new) = came_from.entry(next.id())
                {
                    new.insert(owner.clone());
                    open.push_back(next);
                }
            }
        }
        None
    }

    fn process(&mut self, owner: &LockOwner, next: &LockOwner) -> Option<DeadlockProcess> {
        let waiting = owner.0.waiting.lock().clone()?;
        let holders = self.table(&waiting.key).map.get(&waiting.key)?;
        let request = holders
            .queue
            .iter()
            .find(|r| std::sync::Arc::ptr_eq(&r.waiter, &waiting.waiter))?;
        Some(DeadlockProcess {
            spid: owner.spid(),
            owner: owner.id(),
            priority: owner.deadlock_priority(),
            log_used: owner.log_used(),
            resource: waiting.key.resource,
            mode: request.mode,
            waited: time::now().since(request.since),
            rowset: request.rowset,
            transaction: owner.transaction(),
            held: holders.grants().find(|g| g.owner == *next).map(|g| g.mode),
        })
    }
}

impl LockManager {
    /// Breaks every cycle, unless somebody has since the search of number `seen`; gives the number of the last search.
    /// The victim of each is the member with the lowest priority, then the least log to roll back, then the youngest owner.
    pub(super) fn search_deadlock(&self, caller: &LockOwner, seen: u64) -> u64 {
        let mut reports = Vec::new();
        let number;
        // A victim does not go on before it is told what it did.
        let _reporting = self.reporting.lock();
        {
            let first = self.partitions.iter().take(1).map(|p| p.0.lock());
            let mut tables: Vec<_> = first.collect();
            // Who wanted the same has waited for that mutex meanwhile.
            number = self.searches.load(Ordering::Acquire);
            if number != seen {
                return number;
            }
            tables.extend(self.partitions.iter().skip(1).map(|p| p.0.lock()));
            // With all of them locked: who sleeps on the number before has its request where this search sees it.
            self.searches.store(number + 1, Ordering::Release);
            let mut frozen = Frozen { tables };
            let waiting = self.waiting.lock().clone();
            for start in frozen.in_cycles(&waiting, caller.id()) {
                self.break_cycles(&mut frozen, &start, &mut reports);
            }
        }
        self.report(&reports);
        number + 1
    }

    /// Breaks every cycle that `start` is part of.
    fn break_cycles(
        &self,
        frozen: &mut Frozen<'_>,
        start: &LockOwner,
        reports: &mut Vec<DeadlockReport>,
    ) {
        // Without the victim another cycle may still lead through here.
        while let Some(cycle) = frozen.cycle(start) {
            let victim = cycle.iter().min_by_key(|o| {
                (
                    o.deadlock_priority(),
                    o.log_used(),
                    std::cmp::Reverse(o.id()),
                )
            });
            let Some(victim) = victim else { break };
            let next = cycle.iter().cycle().skip(1);
            let pairs = cycle.iter().zip(next);
            // Before the victim is withdrawn: then nothing says what it waited for.
            let processes = pairs.filter_map(|(o, n)| frozen.process(o, n)).collect();
            let Some(waiting) = victim.0.waiting.lock().clone() else {
                break;
            };
            frozen
                .table(&waiting.key)
                .withdraw(&waiting.key, &waiting.waiter, WaitState::Victim);
            reports.push(DeadlockReport {
                victim: victim.spid(),
                victim_owner: victim.id(),
                processes,
            });
        }
    }

    fn report(&self, reports: &[DeadlockReport]) {
        for report in reports {
            self.deadlocks.fetch_add(1, Ordering::Relaxed);
            count(Counter::Deadlocks, 1);
            emit(|| LockDeadlock {
                cycle_length: report.processes.len() as u64,
                victim_session_id: u64::from(report.victim.0),
            });
            if let Some(hook) = self.on_deadlock.get() {
                hook(report);
            }
        }
    }
}
