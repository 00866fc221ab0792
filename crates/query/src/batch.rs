//! Operators over batches of columns, for plans that read many rows.
//!
//! # Why
//! A row of three integers costs as a `Vec<Value>` an allocation, 96 bytes and a match for every look at it: 12.8 million
//! of them 1.5 s before anything is computed. By column a cell costs 8 bytes and a loop. The sketch for scan and
//! GROUP BY on one core: 5 ns to find a record and its null bitmap, 1 ns a wanted cell, 4 ns to find the group, 1 ns an
//! aggregate: about 12 ns a row.
//!
//! # How
//! [`open`] takes a plan that [`suits`] says is worth it, and makes a tree of [`BatchOperator`]s; what it has no operator for
//! runs row by row below an adapter ([`source`]), and `exec::Operator::Columns` stands above. Each operator is told which
//! columns are needed above it, so that a scan decodes those only. Columns keep the places that the plan gives them;
//! nobody's columns are absent.
//!
//! # Invariants
//! 1. Answers and errors are those of the row operators. Expressions see to that in [`vector`].
//!    [test: columns_answer_as_rows_do]
//! 2. What reads no more than it needs stays that way: below TOP, and for EXISTS, batches are made only by operators that
//!    must see all their input anyway. [test: what_stops_early_reads_no_further]
//! 3. Between batches a statement can be cancelled. [test: statements_end_soon_after_they_are_cancelled]

mod accumulator;
mod aggregate;
mod built;
mod compared;
mod exchange;
mod grouped;
mod handed;
mod helpers;
mod join;
mod join_blocks;
mod join_groups;
mod kept;
mod keys;
mod lists;
mod merge;
mod order;
mod part_scan;
mod repartition;
mod sort;
mod source;
mod spilled;
mod store;
mod stream;
mod values;
mod vector;
mod windowed;

use duramen_base::SqlResult;
use duramen_os::stack;
use duramen_types::SqlType;
use duramen_types::batch::Batch;

use crate::cx::Cx;
use crate::exec;
use crate::expr::Expr;
use crate::locking::LockIntent;
use crate::passing::rows_within;
use crate::plan::{Node, Plan, Seek};
use crate::profile::counted;
use crate::window;

pub(crate) use built::{Build, Built};
pub(crate) use handed::{Handed, compared, distinct, grouped, joined, sorted, windowed};
pub(crate) use helpers::Dealt;
pub use join::builds_left;
pub use kept::{Keeper, Kept};
pub(crate) use repartition::Incoming;
pub use source::{Rows, batch_of_types};
pub use values::{ValueFile, ValueSorter};

/// Rows that operators gather before they hand them on.
pub const BATCH_ROWS: usize = 1024;
/// Bytes of those, about, where there is more than one row: several batches are on their way at a time, and only the last of
/// them, which waits for the client, is told of.
pub const BATCH_BYTES: usize = 512 << 10;

/// The same while the server is short of memory.
const SHORT_BYTES: usize = 64 << 10;

/// Whether columns of so many bytes make a batch, however few rows they are.
fn is_enough(bytes: usize, cx: &Cx<'_>) -> bool {
    bytes > BATCH_BYTES || bytes > SHORT_BYTES && !cx.host.workspace().has_memory(BATCH_BYTES)
}

/// How many rows go into a batch, where `rows` of them take `bytes`.
pub(crate) fn rows_together(bytes: usize, rows: usize) -> usize {
    rows_within(BATCH_BYTES, (bytes, rows)).min(BATCH_ROWS)
}

/// Whether rows with values of these types may be so wide that fewer than usual go into a batch.
fn may_be_wide<'a>(types: impl Iterator<Item = &'a SqlType>) -> bool {
    let widths = types.map(|ty| match ty.is_max() {
        true => BATCH_BYTES,
        false => usize::from(ty.length),
    });
    widths.sum::<usize>() > BATCH_BYTES / BATCH_ROWS
}

/// A started part of a plan.
pub trait BatchOperator {
    /// The next batch, never empty; `None` at the end.
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>>;
}

type Boxed<'p> = Box<dyn BatchOperator + 'p>;

/// Whether the plan is to run by column. `goal`: somebody above may stop before the end.
pub fn suits(plan: &Plan, goal: bool) -> bool {
    if plan.correlated {
        return false;
    }
    match &plan.node {
        Node::Scan { .. } => !goal && is_wide_scan(plan),
        Node::Filter { input, .. } | Node::Project { input, .. } => suits(input, goal),
        Node::Aggregate { input, .. } | Node::Sort { input, .. } => suits(input, false),
        Node::Window { input, calls } => {
            let streams = goal && window::by_arrival(calls);
            sort::numbers_only(calls) && !streams && suits(input, false)
        }
        Node::Join { left, right, .. } => {
            !goal && joins(&plan.node) && (suits(left, false) || suits(right, false))
        }
        Node::Top {
            input,
            percent: false,
            ties,
            ..
        } => ties.is_empty() && suits(input, true),
        Node::Skip { input, .. } | Node::Distinct { input } => suits(input, goal),
        Node::Parallel { zone, .. } => suits(zone, goal),
        Node::Concat(inputs) => !goal && inputs.iter().any(|p| suits(p, false)),
        Node::SetOperation { left, right, .. } => {
            !goal && (suits(left, false) || suits(right, false))
        }
        _ => false,
    }
}

/// Whether a join is one that can be done by column.
fn joins(node: &Node) -> bool {
    matches!(node, Node::Join { hash, apply: false, .. } if !hash.is_empty())
}

/// A reader's scan that may meet many rows.
pub(crate) fn is_wide_scan(plan: &Plan) -> bool {
    let Node::Scan {
        table, seek, lock, ..
    } = &plan.node
    else {
        return false;
    };
    let point = |seek: &Seek| {
        let path = table.def.paths().get(seek.index);
        path.is_none_or(|p| p.unique && seek.equal.len() >= p.keys.len())
    };
    lock.intent == LockIntent::Read
        && plan.columns.len() == table.def.columns().len()
        && !seek.as_ref().is_some_and(point)
}

/// Starts a plan, of whose columns `needed` are read.
pub fn open<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    if !suits(plan, false) {
        return source::from_rows(plan, needed, cx);
    }
    counted(plan, cx, |cx| {
        stack::deep(|| open_uncounted(plan, needed, cx))
    })
}

fn open_uncounted<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    match &plan.node {
        Node::Scan { .. } => source::scan(plan, needed, cx),
        Node::Filter { input, predicate } => {
            let mut below = needed.to_vec();
            need(predicate, &mut below);
            let input = open(input, &below, cx)?;
            Ok(Box::new(stream::Filter::new(input, predicate)))
        }
        Node::Project { input, exprs } => project(input, exprs, needed, u64::MAX, cx),
        Node::Aggregate { .. } => aggregate::open(plan, needed, cx),
        Node::Join { merge: true, .. } => merge::open(plan, needed, cx),
        Node::Join { .. } => join::open(plan, needed, cx),
        Node::Window { .. } => sort::window(plan, needed, cx),
        Node::Sort { input, keys } => sort::open((input, keys), needed, u64::MAX, cx),
        Node::Top { .. } | Node::Skip { .. } => slice(plan, needed, cx),
        Node::Parallel { .. } => exchange::open(plan, needed, u64::MAX, cx),
        Node::Distinct { input } => {
            let all = vec![true; input.columns.len()];
            let input = open(input, &all, cx)?;
            Ok(Box::new(stream::Distinct::new(input, &plan.columns, cx)))
        }
        Node::Concat(inputs) => Ok(Box::new(stream::Concat::new(inputs, needed))),
        Node::SetOperation {
            left,
            right,
            keep_common,
        } => {
            let all = vec![true; left.columns.len()];
            let other = open(right, &all, cx)?;
            let input = open(left, &all, cx)?;
            let columns = &left.columns;
            let compared = compared::Compared::new(input, columns, other, *keep_common, cx)?;
            Ok(Box::new(compared))
        }
        _ => source::from_rows(plan, needed, cx),
    }
}

/// Starts a plan of which all rows and columns are wanted, by column whatever it reads: a projection above operators that
/// know no columns is still computed a batch at a time.
pub fn open_whole<'p>(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let needed = vec![true; plan.columns.len()];
    match &plan.node {
        Node::Project { input, exprs } if !plan.correlated => {
            counted(plan, cx, |cx| project(input, exprs, &needed, u64::MAX, cx))
        }
        _ => open(plan, &needed, cx),
    }
}

/// TOP and OFFSET. A sort below learns how many of its rows are wanted.
fn slice<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let (mut skip, mut left) = (0u64, u64::MAX);
    let mut at = plan;
    loop {
        match &at.node {
            Node::Top {
                input,
                count,
                fetch,
                percent: false,
                ties,
            } if ties.is_empty() && skip == 0 => {
                left = left.min(exec::top_count(count, *fetch, cx)?);
                at = input;
            }
            Node::Skip { input, count } if skip == 0 => {
                skip = exec::skip_count(count, cx)?;
                at = input;
            }
            _ => break,
        }
    }
    let input = open_first(at, needed, skip.saturating_add(left), cx)?;
    Ok(Box::new(stream::Slice { input, skip, left }))
}

/// Starts a plan of which only the first `limit` rows will be asked for.
fn open_first<'p>(
    plan: &'p Plan,
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    if !suits(plan, false) {
        return open(plan, needed, cx);
    }
    match &plan.node {
        Node::Sort { input, keys } => {
            counted(plan, cx, |cx| sort::open((input, keys), needed, limit, cx))
        }
        Node::Project { input, exprs } => {
            counted(plan, cx, |cx| project(input, exprs, needed, limit, cx))
        }
        Node::Parallel { .. } => counted(plan, cx, |cx| exchange::open(plan, needed, limit, cx)),
        _ => open(plan, needed, cx),
    }
}

fn project<'p>(
    input: &'p Plan,
    exprs: &'p [Expr],
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let used = stream::used(exprs, needed);
    let below = below_project(input, exprs, &used);
    let input = open_first(input, &below, limit, cx)?;
    Ok(Box::new(stream::Project::new(input, exprs, &used)))
}

/// The columns that the used ones of some expressions read.
fn below_project(input: &Plan, exprs: &[Expr], used: &[bool]) -> Vec<bool> {
    let mut below = vec![false; input.columns.len()];
    for (e, used) in exprs.iter().zip(used) {
        if *used {
            need(e, &mut below);
        }
    }
    below
}

/// Marks the columns that an expression reads. A subquery may read any.
fn need(e: &Expr, needed: &mut [bool]) {
    if e.has_subquery() {
        needed.fill(true);
        return;
    }
    e.visit_columns(&mut |depth, index| {
        if depth == 0
            && let Some(slot) = needed.get_mut(index)
        {
            *slot = true;
        }
    });
}
