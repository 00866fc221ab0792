//! A part of a plan that several threads run: scans dealt out in parts, filters, projections and joins over them, and
//! above them a gathering of rows, of sorted rows, or of groups.
//!
//! The joins' kept sides are made once, before the workers start, and looked up by all. Groups are made by each worker of
//! its rows, and put together by the statement's own thread; sorted rows are merged there. Where a kept side finds no room
//! in memory it is parted into files, as it would be without other threads, and one thread goes on from there. Where a
//! worker's groups find none everything is begun anew by one thread, which can use files: nothing has been given out by then.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column};

use super::aggregate::{self, Partial};
use super::crew::{Crew, Dealt, Task, address};
use super::join::{self, Built, Reads};
use super::{BATCH_ROWS, BatchOperator, Boxed, below_project, need, sort, stream};
use crate::cx::Cx;
use crate::host::{Part, RowCursor};
use crate::optimize::estimate::estimate;
use crate::parallel::{self, Top};
use crate::plan::{Node, Plan};
use crate::scan::{Asked, asked};

/// Parts of the scan for each worker: those that end early take more.
const PARTS_EACH: usize = 16;

/// Starts a parallel part: with several threads where that is worth it and can be done. Only the first `limit` rows of a
/// sort will be asked for.
pub fn open<'p>(
    plan: &'p Plan,
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let Node::Parallel {
        zone,
        cost,
        max_degree,
    } = &plan.node
    else {
        return super::source::from_rows(plan, needed, cx);
    };
    let degree = match cx.dealt {
        Some(_) => 1,
        None => cx.host.parallelism().degree(*cost, *max_degree),
    };
    if degree > 1
        && let Some(opened) = open_parallel(zone, needed, limit, degree, cx)?
    {
        return Ok(opened);
    }
    let opened = super::open_first(zone, needed, limit, cx);
    cx.built.clear();
    opened
}

fn open_parallel<'p>(
    zone: &'p Arc<Plan>,
    needed: &[bool],
    limit: u64,
    degree: usize,
    cx: &mut Cx<'_>,
) -> SqlResult<Option<Boxed<'p>>> {
    let Some(host) = cx.host.for_workers() else {
        return Ok(None);
    };
    if parallel::top(zone) == Top::Groups && !finds_room(zone, degree, cx) {
        return Ok(None);
    }
    let Some(mut dealt) = deal(zone, degree, cx)? else {
        return Ok(None);
    };
    if !share_builds(zone, needed, &mut dealt, cx)? {
        return Ok(None);
    }
    let count = degree.min(dealt.parts()).max(1);
    let task = Task {
        host,
        dealt: Arc::new(dealt),
        vars: cx.vars.clone(),
        convert: cx.convert,
    };
    let (own, wanted) = (zone.clone(), needed.to_vec());
    match parallel::top(zone) {
        Top::Rows => {
            let crew = Crew::start(task, count, false, move |cx, give| {
                let mut input = super::open(&own, &wanted, cx)?;
                while let Some(batch) = input.next(cx)? {
                    give(batch)?;
                }
                Ok(())
            })?;
            Ok(Some(Box::new(Gather(crew))))
        }
        Top::Sorted => {
            let crew = Crew::start(task, count, true, move |cx, give| {
                let Node::Sort { input, keys } = &own.node else {
                    return Ok(());
                };
                sort::run((input, keys), &wanted, limit, cx, give)
            })?;
            Ok(Some(sort::merged(zone, crew, limit)))
        }
        Top::Groups => {
            let crew: Crew<Option<Partial>> = Crew::start(task, count, false, move |cx, give| {
                give(aggregate::partial(&own, &wanted, cx)?)
            })?;
            aggregate::together(zone, crew, cx)
        }
    }
}

/// Whether so many copies of a plan's rows are expected to find room in memory: otherwise one thread does it from the start.
fn finds_room(plan: &Plan, copies: usize, cx: &Cx<'_>) -> bool {
    /// Of a kept row besides its columns, about.
    const ROW_BYTES: f64 = 32.0;
    let expected = estimate(plan);
    let bytes = expected.rows * (expected.bytes + ROW_BYTES) * copies as f64;
    bytes <= cx.host.workspace().limit() as f64 / 2.0
}

/// Cuts the scan that the workers share; `None` where it has to stay whole, or gives nothing anyway.
fn deal(zone: &Plan, degree: usize, cx: &mut Cx<'_>) -> SqlResult<Option<Dealt>> {
    let scan = parallel::driving(zone);
    let Node::Scan { table, lock, .. } = &scan.node else {
        return Ok(None);
    };
    let bounds = match asked(scan, cx)? {
        Asked::All => None,
        Asked::Within(bounds) => Some(*bounds),
        Asked::Nothing => return Ok(None),
    };
    let wanted = degree * PARTS_EACH;
    let parts = table.def.parts(bounds.as_ref(), *lock, wanted, cx)?;
    Ok(parts
        .filter(|p| !p.is_empty())
        .map(|parts| Dealt::new(scan, bounds, parts)))
}

/// Makes the kept sides of the joins on the way down to the scan. False when one finds no room: `Cx::built` has what there is.
fn share_builds(
    plan: &Plan,
    needed: &[bool],
    dealt: &mut Dealt,
    cx: &mut Cx<'_>,
) -> SqlResult<bool> {
    match &plan.node {
        Node::Filter { input, predicate } => {
            let mut below = needed.to_vec();
            need(predicate, &mut below);
            share_builds(input, &below, dealt, cx)
        }
        Node::Project { input, exprs } => {
            let used = stream::used(exprs, needed);
            share_builds(input, &below_project(input, exprs, &used), dealt, cx)
        }
        Node::Sort { input, keys } => {
            let mut below = needed.to_vec();
            keys.iter().for_each(|k| need(&k.expr, &mut below));
            share_builds(input, &below, dealt, cx)
        }
        Node::Aggregate { input, .. } => {
            share_builds(input, &aggregate::below(plan, needed), dealt, cx)
        }
        Node::Join {
            left,
            right,
            hash,
            on,
            ..
        } => {
            let reads = Reads::of(needed, left.columns.len(), hash, on.as_ref());
            let build = match join::shared(plan, &reads, cx)? {
                Built::All(build) => build,
                parted => {
                    // One thread goes on from here, with everything that is made.
                    cx.built = dealt.take_builds();
                    cx.built.insert(address(plan), parted);
                    return Ok(false);
                }
            };
            dealt.share(plan, build);
            match join::builds_left(left, right) {
                true => share_builds(right, &reads.right_needed, dealt, cx),
                false => share_builds(left, &reads.left_needed, dealt, cx),
            }
        }
        _ => Ok(true),
    }
}

/// Rows as the workers have them.
struct Gather(Crew<Batch>);

impl BatchOperator for Gather {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        self.0.next(0, cx)
    }
}

/// A worker's share of a scan: part after part.
pub(super) struct PartScan<'p> {
    plan: &'p Plan,
    dealt: Arc<Dealt>,
    cursor: Option<Box<dyn RowCursor>>,
    wanted: Vec<usize>,
    absent: Arc<Column>,
    last: usize,
}

impl<'p> PartScan<'p> {
    pub fn new(plan: &'p Plan, dealt: Arc<Dealt>, needed: &[bool]) -> PartScan<'p> {
        PartScan {
            wanted: (0..plan.columns.len()).filter(|i| needed[*i]).collect(),
            plan,
            dealt,
            cursor: None,
            absent: Arc::new(Column::absent()),
            last: 0,
        }
    }

    fn open(&self, part: &Part, cx: &mut Cx<'_>) -> SqlResult<Option<Box<dyn RowCursor>>> {
        let Node::Scan { table, lock, .. } = &self.plan.node else {
            return Ok(None);
        };
        let bounds = self.dealt.bounds.as_ref();
        table.def.open_part(part, bounds, *lock, cx).map(Some)
    }
}

impl BatchOperator for PartScan<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        let Node::Scan { table, .. } = &self.plan.node else {
            return Ok(None);
        };
        let types = table.def.columns();
        let sized = |at: &usize| Column::sized(&types[*at].ty, self.last);
        let mut columns: Vec<Column> = self.wanted.iter().map(sized).collect();
        let mut rows = 0;
        while rows < BATCH_ROWS {
            if self.cursor.is_none() {
                let dealt = self.dealt.clone();
                match dealt.next_part() {
                    Some(part) => self.cursor = self.open(part, cx)?,
                    None => break,
                }
            }
            let Some(cursor) = &mut self.cursor else {
                break;
            };
            match cursor.fill(&self.wanted, &mut columns, cx)? {
                0 => self.cursor = None,
                more => rows += more,
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        self.last = rows;
        let mut all = vec![self.absent.clone(); self.plan.columns.len()];
        for (at, column) in self.wanted.iter().zip(columns) {
            all[*at] = Arc::new(column);
        }
        Ok(Some(Batch::new(rows, all)))
    }
}
