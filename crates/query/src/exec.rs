//! Running plans: operators give out batches of rows until they have none.
//!
//! Whoever asks for a batch says how many rows it can use (`Cx::wanted`), and below it no more are read: a row that is read is
//! locked and computed, so that a queue's `DELETE TOP (1)` would keep others from the rows behind. Who must see all its input
//! asks for whole batches. [test: whoever_stops_early_gets_a_part_of_the_whole]

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::stack;
use duramen_types::Value;

use crate::aggregate::Groups;
use crate::batch;
use crate::cx::Cx;
use crate::expr::Expr;
use crate::host::RowStream;
use crate::kept::{Held, Leaving, Spool, SpoolReader, row_bytes};
use crate::key::{RowKey, RowSet};
use crate::long;
use crate::merge_join::MergeJoin;
use crate::plan::{Node, Plan, Row};
use crate::profile;
use crate::recursion::{self, Recursion};
use crate::row_join::{self, Join, Step};
use crate::scan::TableScan;
use crate::{sort, window};

/// Rows that an operator gives out at a time where it makes them itself; a scan follows [`Cx::wanted`].
pub const BATCH_ROWS: usize = 256;

/// A started plan.
pub enum Operator<'p> {
    Rows(VecDeque<Row>),
    /// Rows that were kept.
    Leaving(Leaving),
    Recursion(Box<Recursion<'p>>),
    /// The last round of a recursion.
    Work(Option<SpoolReader>),
    /// Rows that were kept, perhaps in a file.
    Spool(SpoolReader),
    Stream(RowStream),
    /// A part of the plan that runs by column.
    Columns(Box<batch::Rows<'p>>),
    /// Rows that were read ahead, then the rest.
    Buffered {
        first: VecDeque<Row>,
        rest: Box<Operator<'p>>,
    },
    Scan(Box<TableScan<'p>>),
    Filter(Box<Operator<'p>>, &'p Expr),
    Project {
        input: Box<Operator<'p>>,
        exprs: &'p [Expr],
        /// Rows that have come and not been looked at.
        waiting: std::vec::IntoIter<Row>,
    },
    Assign(Box<Operator<'p>>, &'p [(usize, Expr)]),
    Join(Box<Join<'p>>),
    /// Numbers rows as they come, in `columns` more columns.
    Number {
        input: Box<Operator<'p>>,
        columns: usize,
        last: i64,
    },
    Merge(Box<MergeJoin<'p>>),
    Top {
        input: Box<Operator<'p>>,
        left: u64,
        ties: &'p [Expr],
        last: Option<Vec<Value>>,
    },
    Skip {
        input: Box<Operator<'p>>,
        left: u64,
    },
    Distinct {
        /// What it reads, and the plan of that.
        input: Box<Operator<'p>>,
        plan: &'p Plan,
        seen: RowSet,
        held: Held,
    },
    Concat {
        inputs: &'p [Plan],
        /// As of [`open_for`].
        goal: bool,
        at: usize,
        current: Option<Box<Operator<'p>>>,
    },
    SetOperation {
        input: Box<Operator<'p>>,
        plan: &'p Plan,
        other: RowSet,
        seen: RowSet,
        keep_common: bool,
        held: Held,
    },
    /// Its rows are counted: `profile`.
    Counted(Box<Operator<'p>>, usize),
}

/// Starts a plan whose rows are all wanted. Operators that must see all their input first (sort, aggregate) do so here.
pub fn open<'p>(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    open_for(plan, false, cx)
}

/// Starts a plan; `goal` when the caller may stop before the end.
pub fn open_for<'p>(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    if !goal && cx.wanted < BATCH_ROWS {
        return cx.asking(u64::MAX, |cx| open_for(plan, goal, cx));
    }
    if !cx.row_by_row && batch::suits(plan, goal) {
        let needed = vec![true; plan.columns.len()];
        let input = cx.asking(u64::MAX, |cx| batch::open(plan, &needed, cx))?;
        return Ok(Operator::Columns(Box::new(batch::Rows::new(input))));
    }
    open_rows_for(plan, goal, cx)
}

/// Starts a plan with a row operator.
pub fn open_rows<'p>(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    open_rows_for(plan, false, cx)
}

fn open_rows_for<'p>(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    let Some(profile) = cx.profile.clone() else {
        return stack::deep(|| open_uncounted(plan, goal, cx));
    };
    let place = profile::place(plan);
    profile.note(place, cx, |counts| counts.executions += 1);
    let watch = profile::Watch::start();
    let input = stack::deep(|| open_uncounted(plan, goal, cx));
    profile.note(place, cx, |counts| watch.add_to(counts));
    Ok(Operator::Counted(Box::new(input?), place))
}

/// Whether all the input is read before the first row comes out, however few are wanted.
fn reads_all(node: &Node) -> bool {
    match node {
        Node::Aggregate { .. } | Node::Sort { .. } | Node::Top { percent: true, .. } => true,
        Node::Window { calls, .. } => !window::by_arrival(calls),
        _ => false,
    }
}

#[expect(clippy::too_many_lines, reason = "one arm an operator")]
fn open_uncounted<'p>(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    if cx.wanted < BATCH_ROWS && reads_all(&plan.node) {
        return cx.asking(u64::MAX, |cx| open_uncounted(plan, goal, cx));
    }
    Ok(match &plan.node {
        Node::OneRow => Operator::Rows(VecDeque::from([Vec::new()])),
        Node::Values(rows) => {
            let mut out = VecDeque::with_capacity(rows.len());
            for exprs in rows {
                out.push_back(eval_all(exprs, &[], cx)?);
            }
            Operator::Rows(out)
        }
        Node::Scan { .. } => Operator::Scan(Box::new(TableScan::open(plan, cx)?)),
        Node::Virtual { table, args } => {
            let args = eval_all(args, &[], cx)?;
            Operator::Stream(table.rows(cx.host, &args)?)
        }
        Node::Filter { input, predicate } => {
            let mut input = open_for(input, goal, cx)?;
            if let Some(scan) = input.scan()
                && scan.take_filter(predicate)
            {
                return Ok(input);
            }
            Operator::Filter(Box::new(input), predicate)
        }
        Node::Project { input, exprs } => Operator::Project {
            input: Box::new(open_for(input, goal, cx)?),
            exprs,
            waiting: Vec::new().into_iter(),
        },
        Node::Assign { input, targets } => Operator::Assign(Box::new(open(input, cx)?), targets),
        Node::Join { .. } => match MergeJoin::open(plan, goal, cx)? {
            Some(join) => Operator::Merge(Box::new(join)),
            None => row_join::start(plan, goal, cx)?,
        },
        Node::Aggregate {
            input,
            groups,
            aggregates,
            kept,
            ordered,
        } => {
            let mut state = Groups::new(groups, aggregates, *kept);
            let mut rows = open(input, cx)?;
            while let Some(batch) = rows.next(cx)? {
                if !state.add(&batch, cx)? {
                    let rest = batch::Handed::new(input, Leaving::default(), Some(rows));
                    return batch::grouped(plan, state.begun()?, rest, cx);
                }
            }
            Operator::Leaving(state.finish(*ordered, cx)?)
        }
        Node::Window { input, calls } if window::by_arrival(calls) => Operator::Number {
            input: Box::new(open_for(input, goal, cx)?),
            columns: calls.len(),
            last: 0,
        },
        Node::Window { .. } => window::started(plan, cx)?,
        Node::Recursive {
            anchor,
            members,
            id,
            limit,
        } => Operator::Recursion(Box::new(Recursion::new(
            anchor,
            members,
            (*id, *limit),
            cx,
        )?)),
        Node::WorkTable { id } => Operator::Work(recursion::work_table(*id, cx)),
        Node::Sort { input, keys } => sort::sorted(input, keys, cx)?,
        Node::Top {
            input,
            count,
            percent,
            fetch,
            ties,
        } => {
            if *fetch {
                top_count(count, true, cx)?;
            }
            open_top(input, count, *percent, ties, cx)?
        }
        Node::Skip { input, count } => {
            let left = skip_count(count, cx)?;
            let wanted = left.saturating_add(cx.wanted as u64);
            Operator::Skip {
                input: Box::new(cx.asking(wanted, |cx| open_for(input, goal, cx))?),
                left,
            }
        }
        Node::Parallel { zone, .. } => open_for(zone, goal, cx)?,
        Node::Distinct { input } => Operator::Distinct {
            input: Box::new(open_for(input, goal, cx)?),
            plan: input,
            seen: RowSet::new(&input.columns),
            held: Held::default(),
        },
        Node::Concat(inputs) => Operator::Concat {
            inputs,
            goal,
            at: 0,
            current: None,
        },
        Node::SetOperation {
            left,
            right,
            keep_common,
        } => {
            let mut other = RowSet::new(&left.columns);
            let mut held = Held::default();
            let mut rows = open(right, cx)?;
            while let Some(batch) = cx.asking(u64::MAX, |cx| rows.next(cx))? {
                let mut bytes = 0;
                for row in batch {
                    if other.insert(&row) {
                        bytes += kept_bytes(&row);
                    }
                }
                if !held.add(bytes, cx) {
                    let first = Leaving::new(other.into_rows(), held);
                    let other = batch::Handed::new(right, first, Some(rows));
                    let input = (&**left, open(left, cx)?);
                    return batch::compared(input, other, (&left.columns, *keep_common), cx);
                }
            }
            Operator::SetOperation {
                input: Box::new(open_for(left, goal, cx)?),
                plan: left,
                other,
                seen: RowSet::new(&left.columns),
                keep_common: *keep_common,
                held,
            }
        }
    })
}

/// What a row takes that a set keeps, about.
fn kept_bytes(row: &Row) -> usize {
    row_bytes(row) + 32
}

pub fn eval_all(exprs: &[Expr], row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Row> {
    let mut out = Vec::with_capacity(exprs.len());
    for e in exprs {
        out.push(e.eval(row, cx)?);
    }
    Ok(out)
}

/// The argument of TOP, or of FETCH, which takes at least one row.
pub fn top_count(count: &Expr, fetch: bool, cx: &mut Cx<'_>) -> SqlResult<u64> {
    let value = count.eval(&[], cx)?;
    if fetch && value.as_i64().is_none_or(|n| n < 1) {
        return Err(SqlError::new(&messages::FETCH_NOT_POSITIVE, &[]));
    }
    row_count(&value)
}

/// The argument of OFFSET.
pub fn skip_count(count: &Expr, cx: &mut Cx<'_>) -> SqlResult<u64> {
    let left = count.eval(&[], cx)?.as_i64();
    let left = left.and_then(|n| u64::try_from(n).ok());
    left.ok_or_else(|| SqlError::new(&messages::OFFSET_NEGATIVE, &[]))
}

/// The argument of TOP and OFFSET.
fn row_count(value: &Value) -> SqlResult<u64> {
    match value.as_i64() {
        Some(n) if n >= 0 => Ok(n as u64),
        _ => Err(SqlError::new(&messages::TOP_NEGATIVE, &[])),
    }
}

fn open_top<'p>(
    input: &'p Plan,
    count: &'p Expr,
    percent: bool,
    ties: &'p [Expr],
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let value = count.eval(&[], cx)?;
    if !percent {
        let left = row_count(&value)?;
        let wanted = left.min(cx.wanted as u64);
        return Ok(Operator::Top {
            input: Box::new(cx.asking(wanted, |cx| open_for(input, true, cx))?),
            left,
            ties,
            last: None,
        });
    }
    let share = match value {
        Value::Float(f) if (0.0..=100.0).contains(&f) => f,
        _ => return Err(SqlError::new(&messages::PERCENT_OUT_OF_RANGE, &[])),
    };
    let mut all = Spool::new(&input.columns);
    let mut rows = open(input, cx)?;
    while let Some(batch) = rows.next(cx)? {
        all.put(batch, cx)?;
    }
    let all = Arc::new(all.finish()?);
    let left = (all.len() as f64 * share / 100.0).ceil() as u64;
    Ok(Operator::Top {
        input: Box::new(Operator::Spool(SpoolReader::new(all))),
        left,
        ties,
        last: None,
    })
}

impl<'p> Operator<'p> {
    /// The scan that it is, counted or not: what is locked does not depend on whether somebody counts.
    fn scan(&mut self) -> Option<&mut TableScan<'p>> {
        match self {
            Operator::Scan(scan) => Some(scan),
            Operator::Counted(input, _) => input.scan(),
            _ => None,
        }
    }

    /// Goes on in another way where the one begun with serves no longer: by column where there is no more memory for the rows
    /// that have come out; with the right side kept where a join has sought for many rows.
    fn hand_over(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let nothing = Operator::Rows(VecDeque::new());
        *self = match std::mem::replace(self, nothing) {
            Operator::Distinct {
                input,
                plan,
                seen,
                held,
            } => {
                let seen = Leaving::new(seen.into_rows(), held);
                batch::distinct(seen, (plan, *input), cx)?
            }
            Operator::SetOperation {
                input,
                plan,
                mut other,
                seen,
                keep_common,
                held,
            } => {
                // What has come out does not come again: for EXCEPT as if the other side had it, too.
                for (at, row) in seen.into_rows().iter().enumerate() {
                    cx.check_at(at)?;
                    if keep_common {
                        other.remove(row);
                    } else {
                        other.insert(row);
                    }
                }
                let first = Leaving::new(other.into_rows(), held);
                let other = batch::Handed::new(plan, first, None);
                batch::compared((plan, *input), other, (&plan.columns, keep_common), cx)?
            }
            Operator::Join(join) => join.keep(cx)?,
            other => other,
        };
        Ok(())
    }

    /// The next batch, never empty; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        cx.check_cancelled()?;
        stack::deep(|| self.next_of_kind(cx))
    }

    /// Gives the rows of the next batch to `to`, at most `most` of them; how many, `None` at the end.
    pub fn each(
        &mut self,
        most: u64,
        cx: &mut Cx<'_>,
        to: &mut dyn FnMut(&[Value]),
    ) -> SqlResult<Option<u64>> {
        let rows = usize::try_from(most).unwrap_or(usize::MAX);
        if let Operator::Columns(columns) = self {
            cx.check_cancelled()?;
            let given = stack::deep(|| cx.asking(u64::MAX, |cx| columns.each(rows, cx, to)))?;
            return Ok(given.map(|n| n as u64));
        }
        let Some(batch) = cx.asking(most, |cx| self.next(cx))? else {
            return Ok(None);
        };
        let given = batch.len().min(rows);
        batch.iter().take(given).for_each(|row| to(row));
        Ok(Some(given as u64))
    }

    #[expect(clippy::too_many_lines, reason = "one arm an operator")]
    fn next_of_kind(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        match self {
            Operator::Stream(rows) => {
                let batch: Vec<Row> = rows.take(cx.wanted).collect::<SqlResult<_>>()?;
                Ok((!batch.is_empty()).then_some(batch))
            }
            // Whatever it is, it reads all of its input.
            Operator::Columns(rows) => cx.asking(u64::MAX, |cx| rows.next(cx)),
            Operator::Counted(input, place) => {
                let watch = profile::Watch::start();
                let batch = input.next(cx)?;
                if let Some(profile) = &cx.profile {
                    profile.gives(*place, batch.as_ref().map(Vec::len), cx);
                    profile.note(*place, cx, |counts| watch.add_to(counts));
                }
                Ok(batch)
            }
            Operator::Rows(rows) => {
                let n = rows.len().min(cx.wanted);
                Ok((n > 0).then(|| rows.drain(..n).collect()))
            }
            Operator::Leaving(rows) => Ok(match rows.is_empty() {
                true => None,
                false => Some(rows.take(cx.wanted)),
            }),
            Operator::Recursion(recursion) => recursion.next(cx),
            Operator::Work(reader) => recursion::next_of(reader),
            Operator::Spool(reader) => reader.next(cx.wanted),
            Operator::Buffered { first, rest } => {
                let n = first.len().min(cx.wanted);
                match n {
                    0 => rest.next(cx),
                    n => Ok(Some(first.drain(..n).collect())),
                }
            }
            Operator::Scan(scan) => scan.next(cx),
            Operator::Filter(input, predicate) => {
                while let Some(batch) = input.next(cx)? {
                    let mut kept = Vec::with_capacity(batch.len());
                    for row in batch {
                        if predicate.test(&row, cx)? == Some(true) {
                            kept.push(row);
                        }
                    }
                    if !kept.is_empty() {
                        return Ok(Some(kept));
                    }
                }
                Ok(None)
            }
            Operator::Project {
                input,
                exprs,
                waiting,
            } => {
                cx.values_gone();
                if waiting.as_slice().is_empty() {
                    let Some(batch) = input.next(cx)? else {
                        return Ok(None);
                    };
                    *waiting = batch.into_iter();
                }
                let mut out = Vec::with_capacity(waiting.len());
                for row in waiting.by_ref() {
                    out.push(long::projected(exprs, &row, cx)?);
                    // Large values go on at once: as few as can be are there together.
                    if cx.values_made() > 0 {
                        break;
                    }
                }
                Ok(Some(out))
            }
            Operator::Assign(input, targets) => {
                let Some(batch) = input.next(cx)? else {
                    return Ok(None);
                };
                for row in &batch {
                    for (slot, e) in *targets {
                        let value = long::assigned(e, row, cx)?;
                        cx.set_variable(*slot, value);
                    }
                    cx.values_gone();
                }
                Ok(Some(vec![Vec::new(); batch.len()]))
            }
            Operator::Join(join) => match join.next(cx)? {
                Step::Rows(rows) => Ok(rows),
                Step::Keep => {
                    self.hand_over(cx)?;
                    self.next_of_kind(cx)
                }
            },
            Operator::Number {
                input,
                columns,
                last,
            } => {
                let Some(mut batch) = input.next(cx)? else {
                    return Ok(None);
                };
                for row in &mut batch {
                    *last += 1;
                    row.resize(row.len() + *columns, Value::BigInt(*last));
                }
                Ok(Some(batch))
            }
            Operator::Merge(join) => join.next(cx),
            Operator::Top {
                input,
                left,
                ties,
                last,
            } => next_top(input, left, ties, last, cx),
            Operator::Skip { input, left } => loop {
                let wanted = left.saturating_add(cx.wanted as u64);
                let Some(mut batch) = cx.asking(wanted, |cx| input.next(cx))? else {
                    return Ok(None);
                };
                let drop = (*left).min(batch.len() as u64);
                *left -= drop;
                batch.drain(..drop as usize);
                if !batch.is_empty() {
                    return Ok(Some(batch));
                }
            },
            Operator::Distinct {
                input, seen, held, ..
            } => {
                let (kept, fits) = next_kept(input, held, cx, |row| {
                    seen.insert(row).then(|| kept_bytes(row))
                })?;
                if !fits {
                    self.hand_over(cx)?;
                }
                Ok(kept)
            }
            Operator::SetOperation {
                input,
                other,
                seen,
                keep_common,
                held,
                ..
            } => {
                let keep = *keep_common;
                let (kept, fits) = next_kept(input, held, cx, |row| {
                    let comes = other.contains(row) == keep && seen.insert(row);
                    comes.then(|| kept_bytes(row))
                })?;
                if !fits {
                    self.hand_over(cx)?;
                }
                Ok(kept)
            }
            Operator::Concat {
                inputs,
                goal,
                at,
                current,
            } => loop {
                if let Some(op) = current {
                    if let Some(batch) = op.next(cx)? {
                        return Ok(Some(batch));
                    }
                    *current = None;
                    *at += 1;
                }
                let Some(plan) = inputs.get(*at) else {
                    return Ok(None);
                };
                *current = Some(Box::new(open_for(plan, *goal, cx)?));
            },
        }
    }
}

/// The next rows of which `keep` says how many bytes are kept of them, and whether those are lent.
fn next_kept(
    input: &mut Operator<'_>,
    held: &mut Held,
    cx: &mut Cx<'_>,
    mut keep: impl FnMut(&Row) -> Option<usize>,
) -> SqlResult<(Option<Vec<Row>>, bool)> {
    while let Some(mut batch) = input.next(cx)? {
        let mut bytes = 0;
        batch.retain(|row| {
            let kept = keep(row);
            bytes += kept.unwrap_or(0);
            kept.is_some()
        });
        if !batch.is_empty() {
            let fits = held.add(bytes, cx);
            return Ok((Some(batch), fits));
        }
    }
    Ok((None, true))
}

fn next_top(
    input: &mut Operator<'_>,
    left: &mut u64,
    ties: &[Expr],
    last: &mut Option<Vec<Value>>,
    cx: &mut Cx<'_>,
) -> SqlResult<Option<Vec<Row>>> {
    if *left == 0 && (ties.is_empty() || last.is_none()) {
        return Ok(None);
    }
    // Behind the last one that counts, rows are looked at one by one for whether they are tied with it.
    let wanted = (*left).min(cx.wanted as u64);
    let Some(batch) = cx.asking(wanted, |cx| input.next(cx))? else {
        return Ok(None);
    };
    let mut out = Vec::with_capacity(batch.len());
    for row in batch {
        if *left > 0 {
            *left -= 1;
            if *left == 0 && !ties.is_empty() {
                *last = Some(eval_all(ties, &row, cx)?);
            }
            out.push(row);
        } else if let Some(key) = last {
            let own = eval_all(ties, &row, cx)?;
            if RowKey::of(&own, ties) != RowKey::of(key, ties) {
                *last = None;
                break;
            }
            out.push(row);
        } else {
            break;
        }
    }
    Ok((!out.is_empty()).then_some(out))
}
