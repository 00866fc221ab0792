//! What operators did in one execution of a statement: how many rows they gave, how often they were started and how long
//! that took. Counted while somebody asks for it (SET STATISTICS XML, SET STATISTICS PROFILE): without a [`Profile`] in the
//! context no operator is wrapped, and nothing is counted.
//!
//! An operator is known by the place of its plan in memory, which is that of the plan that is shown afterwards, and by the
//! thread that ran it. The ways by which rows come from other threads have places of their own behind it ([`way_to`]).
//!
//! Times are those of the operator with everything below it on the same thread, as SQL Server's of row mode are: from
//! its call to its answer, for each batch of rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::SqlResult;
use duramen_os::sync::Mutex;
use duramen_os::time::{self, Instant};
use duramen_types::batch::Batch;

use crate::batch::BatchOperator;
use crate::cx::Cx;
use crate::plan::Plan;

/// Of one operator in one thread, or in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: u64,
    pub executions: u64,
    /// Executions that came to their end.
    pub ends: u64,
    pub elapsed: Duration,
    pub cpu: Duration,
}

/// What an operator did, by thread: 0 is the statement's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actual(pub Vec<(u32, Counts)>);

impl Actual {
    /// Of all threads.
    pub fn total(&self) -> Counts {
        let mut all = Counts::default();
        for (_, c) in &self.0 {
            all.rows += c.rows;
            all.executions += c.executions;
            all.ends += c.ends;
            all.elapsed = all.elapsed.max(c.elapsed);
            all.cpu += c.cpu;
        }
        all
    }
}

/// Of the operators of a statement, by the places of their plans and the threads.
#[derive(Debug, Default)]
pub struct Profile(Mutex<BTreeMap<(usize, u32), Counts>>);

/// By what a plan is known.
pub fn place(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

/// The place of the way by which the rows of an input come to an operator from other threads. No plan has one so near to
/// another.
pub fn way_to(plan: &Plan, input: usize) -> usize {
    place(plan) + 1 + input
}

impl Profile {
    /// What the operator did; `None` when nobody has counted.
    pub fn of(&self, place: usize) -> Option<Actual> {
        let all = self.0.lock();
        let own = all.range((place, 0)..=(place, u32::MAX));
        let own: Vec<_> = own.map(|((_, thread), c)| (*thread, *c)).collect();
        (!own.is_empty()).then_some(Actual(own))
    }

    /// Adds to what an operator has done in a thread.
    pub(crate) fn note(&self, place: usize, cx: &Cx<'_>, note: impl FnOnce(&mut Counts)) {
        note(self.0.lock().entry((place, cx.thread)).or_default());
    }

    /// So many rows have come; `None`: that was the end.
    pub(crate) fn gives(&self, place: usize, rows: Option<usize>, cx: &Cx<'_>) {
        self.note(place, cx, |counts| match rows {
            Some(n) => counts.rows += n as u64,
            None => counts.ends += 1,
        });
    }
}

/// Since when an operator has been at work.
pub(crate) struct Watch {
    start: Instant,
    cpu: Duration,
}

impl Watch {
    pub fn start() -> Watch {
        Watch {
            start: time::now(),
            cpu: time::thread_cpu(),
        }
    }

    pub fn add_to(&self, counts: &mut Counts) {
        counts.elapsed += self.start.elapsed();
        counts.cpu += time::thread_cpu().saturating_sub(self.cpu);
    }
}

/// An operator over columns whose rows are counted.
pub(crate) struct Counted<'p> {
    input: Box<dyn BatchOperator + 'p>,
    profile: Arc<Profile>,
    place: usize,
    ended: bool,
}

/// Starts an operator over columns with `open`, and counts what it does when somebody asks.
pub(crate) fn counted<'p>(
    plan: &Plan,
    cx: &mut Cx<'_>,
    open: impl FnOnce(&mut Cx<'_>) -> SqlResult<Box<dyn BatchOperator + 'p>>,
) -> SqlResult<Box<dyn BatchOperator + 'p>> {
    let Some(profile) = cx.profile.clone() else {
        return open(cx);
    };
    let place = place(plan);
    profile.note(place, cx, |counts| counts.executions += 1);
    let watch = Watch::start();
    let input = open(cx);
    profile.note(place, cx, |counts| watch.add_to(counts));
    Ok(Box::new(Counted {
        input: input?,
        profile,
        place,
        ended: false,
    }))
}

/// Does with `work` all that an operator has to do, and counts it when somebody asks; `work` tells how many rows it gives.
pub(crate) fn whole(
    plan: &Plan,
    cx: &mut Cx<'_>,
    work: impl FnOnce(&mut Cx<'_>, &mut usize) -> SqlResult<()>,
) -> SqlResult<()> {
    let mut rows = 0;
    let Some(profile) = cx.profile.clone() else {
        return work(cx, &mut rows);
    };
    let watch = Watch::start();
    let done = work(cx, &mut rows);
    profile.note(place(plan), cx, |counts| {
        watch.add_to(counts);
        counts.rows += rows as u64;
        counts.executions += 1;
        counts.ends += u64::from(done.is_ok());
    });
    done
}

impl BatchOperator for Counted<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let watch = Watch::start();
        let batch = self.input.next(cx);
        self.profile.note(self.place, cx, |counts| {
            watch.add_to(counts);
            match &batch {
                Ok(Some(batch)) => counts.rows += batch.rows() as u64,
                Ok(None) if !self.ended => {
                    self.ended = true;
                    counts.ends += 1;
                }
                _ => {}
            }
        });
        batch
    }
}
