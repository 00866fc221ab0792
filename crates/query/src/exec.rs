//! Running plans: operators give out batches of rows until they have none.

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
use crate::key::{RowKey, RowSet, compare_keys};
use crate::merge_join::MergeJoin;
use crate::plan::{JoinKind, Node, Plan, Row, SortKey};
use crate::profile;
use crate::scan::TableScan;
use crate::seek_join::{FEW_ROWS, SeekJoin};
use crate::window;

/// Rows an operator gives out at a time, at most.
pub const BATCH_ROWS: usize = 256;

/// A started plan.
pub enum Operator<'p> {
    Rows(VecDeque<Row>),
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
    Project(Box<Operator<'p>>, &'p [Expr]),
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
        input: Box<Operator<'p>>,
        seen: RowSet,
    },
    Concat {
        inputs: &'p [Plan],
        at: usize,
        current: Option<Box<Operator<'p>>>,
    },
    SetOperation {
        input: Box<Operator<'p>>,
        other: RowSet,
        seen: RowSet,
        keep_common: bool,
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
    if !cx.row_by_row && batch::suits(plan, goal) {
        let needed = vec![true; plan.columns.len()];
        let input = batch::open(plan, &needed, cx)?;
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

fn open_uncounted<'p>(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
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
            if let Operator::Scan(scan) = &mut input
                && scan.take_filter(predicate)
            {
                return Ok(input);
            }
            Operator::Filter(Box::new(input), predicate)
        }
        Node::Project { input, exprs } => {
            Operator::Project(Box::new(open_for(input, goal, cx)?), exprs)
        }
        Node::Assign { input, targets } => Operator::Assign(Box::new(open(input, cx)?), targets),
        Node::Join { .. } => match MergeJoin::open(plan, goal, cx)? {
            Some(join) => Operator::Merge(Box::new(join)),
            None => Operator::Join(Box::new(Join::open(plan, goal, cx)?)),
        },
        Node::Aggregate {
            input,
            groups,
            aggregates,
            kept,
            ordered,
        } => {
            let mut state = Groups::new(groups, aggregates, *kept);
            let mut input = open(input, cx)?;
            while let Some(batch) = input.next(cx)? {
                for row in &batch {
                    state.add(row, cx)?;
                }
            }
            Operator::Rows(state.finish(*ordered)?.into())
        }
        Node::Window { input, calls } if window::by_arrival(calls) => Operator::Number {
            input: Box::new(open_for(input, goal, cx)?),
            columns: calls.len(),
            last: 0,
        },
        Node::Window { input, calls } => Operator::Rows(window::rows(input, calls, cx)?.into()),
        Node::Recursive {
            anchor,
            members,
            id,
            limit,
        } => Operator::Rows(recursion(anchor, members, (*id, *limit), cx)?.into()),
        Node::WorkTable { id } => {
            let rows = cx.work.get(id).map(|r| r.to_vec()).unwrap_or_default();
            Operator::Rows(rows.into())
        }
        Node::Sort { input, keys } => Operator::Rows(sort(input, keys, cx)?.into()),
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
            Operator::Skip {
                input: Box::new(open_for(input, goal, cx)?),
                left,
            }
        }
        Node::Parallel { zone, .. } => open_for(zone, goal, cx)?,
        Node::Distinct { input } => Operator::Distinct {
            input: Box::new(open_for(input, goal, cx)?),
            seen: RowSet::new(&input.columns),
        },
        Node::Concat(inputs) => Operator::Concat {
            inputs,
            at: 0,
            current: None,
        },
        Node::SetOperation {
            left,
            right,
            keep_common,
        } => {
            let mut other = RowSet::new(&left.columns);
            let mut rows = open(right, cx)?;
            while let Some(batch) = rows.next(cx)? {
                for row in batch {
                    other.insert(&row);
                }
            }
            Operator::SetOperation {
                input: Box::new(open(left, cx)?),
                other,
                seen: RowSet::new(&left.columns),
                keep_common: *keep_common,
            }
        }
    })
}

/// The rows of a recursive common table expression.
fn recursion(
    anchor: &Plan,
    members: &[Plan],
    (id, limit): (u64, u64),
    cx: &mut Cx<'_>,
) -> SqlResult<Vec<Row>> {
    let mut last = anchor.rows(cx)?;
    let mut all = last.clone();
    let mut rounds = 0;
    let outside = cx.work.remove(&id);
    while !last.is_empty() {
        cx.work.insert(id, Arc::new(std::mem::take(&mut last)));
        for member in members {
            last.extend(member.rows(cx)?);
        }
        if !last.is_empty() {
            rounds += 1;
            if limit > 0 && rounds > limit {
                return Err(SqlError::new(&messages::MAXRECURSION_EXHAUSTED, &[&limit]));
            }
        }
        all.extend_from_slice(&last);
    }
    cx.work.remove(&id);
    if let Some(rows) = outside {
        cx.work.insert(id, rows);
    }
    Ok(all)
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
        return Ok(Operator::Top {
            input: Box::new(open_for(input, true, cx)?),
            left,
            ties,
            last: None,
        });
    }
    let share = match value {
        Value::Float(f) if (0.0..=100.0).contains(&f) => f,
        _ => return Err(SqlError::new(&messages::PERCENT_OUT_OF_RANGE, &[])),
    };
    let rows = input.rows(cx)?;
    let left = (rows.len() as f64 * share / 100.0).ceil() as u64;
    Ok(Operator::Top {
        input: Box::new(Operator::Rows(rows.into())),
        left,
        ties,
        last: None,
    })
}

fn sort(input: &Plan, keys: &[SortKey], cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
    let mut keyed = Vec::new();
    let mut input = open(input, cx)?;
    while let Some(batch) = input.next(cx)? {
        for row in batch {
            let mut key = Vec::with_capacity(keys.len());
            for k in keys {
                key.push(k.expr.eval(&row, cx)?);
            }
            keyed.push((key, row));
        }
    }
    keyed.sort_by(|(a, _), (b, _)| compare_keys(keys, a, b));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

impl Operator<'_> {
    /// The next batch, never empty; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        cx.check_cancelled()?;
        stack::deep(|| self.next_of_kind(cx))
    }

    fn next_of_kind(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        match self {
            Operator::Stream(rows) => {
                let batch: Vec<Row> = rows.take(BATCH_ROWS).collect::<SqlResult<_>>()?;
                Ok((!batch.is_empty()).then_some(batch))
            }
            Operator::Columns(rows) => rows.next(cx),
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
                let n = rows.len().min(BATCH_ROWS);
                Ok((n > 0).then(|| rows.drain(..n).collect()))
            }
            Operator::Buffered { first, rest } => {
                let n = first.len().min(BATCH_ROWS);
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
            Operator::Project(input, exprs) => {
                let Some(batch) = input.next(cx)? else {
                    return Ok(None);
                };
                let mut out = Vec::with_capacity(batch.len());
                for row in &batch {
                    out.push(eval_all(exprs, row, cx)?);
                }
                Ok(Some(out))
            }
            Operator::Assign(input, targets) => {
                let Some(batch) = input.next(cx)? else {
                    return Ok(None);
                };
                for row in &batch {
                    for (slot, e) in *targets {
                        let value = e.eval(row, cx)?;
                        cx.vars[*slot] = value;
                    }
                }
                Ok(Some(vec![Vec::new(); batch.len()]))
            }
            Operator::Join(join) => join.next(cx),
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
            Operator::Skip { input, left } => {
                while let Some(mut batch) = input.next(cx)? {
                    let drop = (*left).min(batch.len() as u64);
                    *left -= drop;
                    batch.drain(..drop as usize);
                    if !batch.is_empty() {
                        return Ok(Some(batch));
                    }
                }
                Ok(None)
            }
            Operator::Distinct { input, seen } => next_kept(input, cx, |row| seen.insert(row)),
            Operator::SetOperation {
                input,
                other,
                seen,
                keep_common,
            } => {
                let keep = *keep_common;
                next_kept(input, cx, |row| {
                    other.contains(row) == keep && seen.insert(row)
                })
            }
            Operator::Concat {
                inputs,
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
                *current = Some(Box::new(open(plan, cx)?));
            },
        }
    }
}

fn next_kept(
    input: &mut Operator<'_>,
    cx: &mut Cx<'_>,
    mut keep: impl FnMut(&Row) -> bool,
) -> SqlResult<Option<Vec<Row>>> {
    while let Some(mut batch) = input.next(cx)? {
        batch.retain(&mut keep);
        if !batch.is_empty() {
            return Ok(Some(batch));
        }
    }
    Ok(None)
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
    let Some(batch) = input.next(cx)? else {
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

/// Joins: the right side is kept in memory and hashed when there are equalities; APPLY runs it anew per row.
pub struct Join<'p> {
    left: Operator<'p>,
    right_plan: &'p Plan,
    right: Vec<Row>,
    right_matched: Vec<bool>,
    table: Option<crate::key::KeyIndex>,
    seek: Option<SeekJoin<'p>>,
    hash: &'p [(Expr, Expr)],
    on: Option<&'p Expr>,
    kind: JoinKind,
    apply: bool,
    left_width: usize,
    right_width: usize,
    pending: VecDeque<Row>,
    /// Rows of the left side that have come and not been joined yet.
    waiting: VecDeque<Row>,
    probing: Option<Probing>,
    left_done: bool,
}

/// A left row on its way through its partners: whoever wants few rows pays for few, however many partners there are.
struct Probing {
    left: Row,
    /// Places in `right` that may fit; `None`: all of them.
    candidates: Option<Vec<usize>>,
    at: usize,
    matched: bool,
}

/// Starts a join whose left input is running already.
pub fn join<'p>(plan: &'p Plan, left: Operator<'p>, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    Ok(Operator::Join(Box::new(Join::over(plan, left, cx)?)))
}

impl<'p> Join<'p> {
    fn open(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Join<'p>> {
        let Node::Join { left, .. } = &plan.node else {
            unreachable!("Join::open is called for join nodes")
        };
        let left = open_for(left, goal, cx)?;
        Join::over(plan, left, cx)
    }

    fn over(plan: &'p Plan, mut input: Operator<'p>, cx: &mut Cx<'_>) -> SqlResult<Join<'p>> {
        let Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            apply,
            ..
        } = &plan.node
        else {
            unreachable!("Join::over is called for join nodes")
        };
        let mut seek = match *apply {
            true => None,
            false => SeekJoin::find(right, hash, *kind),
        };
        if seek.is_some() {
            let mut first = VecDeque::new();
            let mut ended = false;
            while first.len() <= FEW_ROWS && !ended {
                match input.next(cx)? {
                    Some(batch) => first.extend(batch),
                    None => ended = true,
                }
            }
            if ended {
                input = Operator::Rows(first);
            } else {
                seek = None;
                input = Operator::Buffered {
                    first,
                    rest: Box::new(input),
                };
            }
        }
        let rows = match *apply || seek.is_some() {
            true => Vec::new(),
            false => right.rows(cx)?,
        };
        let mut table = None;
        if !hash.is_empty() && seek.is_none() {
            let mut index = crate::key::KeyIndex::default();
            for (i, row) in rows.iter().enumerate() {
                let mut key = Vec::with_capacity(hash.len());
                for (_, r) in hash {
                    key.push(r.eval(row, cx)?);
                }
                if !key.iter().any(Value::is_null) {
                    index.add(RowKey::of_exprs(&key, hash.iter().map(|h| &h.1)), i);
                }
            }
            table = Some(index);
        }
        Ok(Join {
            left: input,
            seek,
            right_plan: right,
            right_matched: vec![false; rows.len()],
            right: rows,
            table,
            hash,
            on: on.as_ref(),
            kind: *kind,
            apply: *apply,
            left_width: left.columns.len(),
            right_width: right.columns.len(),
            pending: VecDeque::new(),
            waiting: VecDeque::new(),
            probing: None,
            left_done: false,
        })
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        while self.pending.len() < BATCH_ROWS {
            if let Some(probing) = self.probing.take() {
                self.probe(probing, cx)?;
            } else if let Some(left) = self.waiting.pop_front() {
                self.probing = Some(self.begin(left, cx)?);
            } else if self.left_done {
                break;
            } else {
                match self.left.next(cx)? {
                    Some(batch) => self.waiting.extend(batch),
                    None => self.end_of_left(),
                }
            }
        }
        let n = self.pending.len().min(BATCH_ROWS);
        Ok((n > 0).then(|| self.pending.drain(..n).collect()))
    }

    /// Fetches the partners of a row by the right side's key.
    fn sought(&mut self, left: &Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.right.clear();
        let mut key = Vec::with_capacity(self.hash.len());
        for (l, _) in self.hash {
            key.push(l.eval(left, cx)?);
        }
        if let Some(seek) = &self.seek
            && !key.iter().any(Value::is_null)
        {
            let wanted = RowKey::of_exprs(&key, self.hash.iter().map(|h| &h.0));
            for row in seek.rows(&key, cx)? {
                let mut own = Vec::with_capacity(self.hash.len());
                for (_, r) in self.hash {
                    own.push(r.eval(&row, cx)?);
                }
                let same = wanted == RowKey::of_exprs(&own, self.hash.iter().map(|h| &h.1));
                if same && !own.iter().any(Value::is_null) {
                    self.right.push(row);
                }
            }
        }
        self.right_matched = vec![false; self.right.len()];
        Ok(())
    }

    /// After the last left row: the right rows that nobody joined.
    fn end_of_left(&mut self) {
        self.left_done = true;
        if !matches!(self.kind, JoinKind::Right | JoinKind::Full) {
            return;
        }
        for (row, matched) in self.right.iter().zip(&self.right_matched) {
            if !matched {
                let mut out = vec![Value::Null; self.left_width];
                out.extend_from_slice(row);
                self.pending.push_back(out);
            }
        }
    }

    /// Finds the partners that a left row may have.
    fn begin(&mut self, left: Row, cx: &mut Cx<'_>) -> SqlResult<Probing> {
        if self.apply {
            cx.push_outer(&left);
            let rows = self.right_plan.rows(cx);
            cx.pop_outer();
            self.right = rows?;
            self.right_matched = vec![false; self.right.len()];
        }
        if self.seek.is_some() {
            self.sought(&left, cx)?;
        }
        let mut candidates = None;
        if let Some(index) = &self.table {
            let mut key = Vec::with_capacity(self.hash.len());
            for (l, _) in self.hash {
                key.push(l.eval(&left, cx)?);
            }
            let wanted = RowKey::of_exprs(&key, self.hash.iter().map(|h| &h.0));
            candidates = Some(match key.iter().any(Value::is_null) {
                true => Vec::new(),
                false => index.get(&wanted).to_vec(),
            });
        }
        Ok(Probing {
            left,
            candidates,
            at: 0,
            matched: false,
        })
    }

    /// Joins a left row with its partners, as far as a batch has room.
    fn probe(&mut self, mut probing: Probing, cx: &mut Cx<'_>) -> SqlResult<()> {
        let count = match &probing.candidates {
            Some(list) => list.len(),
            None => self.right.len(),
        };
        while probing.at < count {
            if self.pending.len() >= BATCH_ROWS {
                self.probing = Some(probing);
                return Ok(());
            }
            let i = match &probing.candidates {
                Some(list) => list[probing.at],
                None => probing.at,
            };
            probing.at += 1;
            let mut joined = Vec::with_capacity(self.left_width + self.right_width);
            joined.extend_from_slice(&probing.left);
            joined.extend_from_slice(&self.right[i]);
            let holds = match self.on {
                Some(on) => on.test(&joined, cx)? == Some(true),
                None => true,
            };
            if holds {
                probing.matched = true;
                self.right_matched[i] = true;
                self.pending.push_back(joined);
            }
        }
        if !probing.matched && matches!(self.kind, JoinKind::Left | JoinKind::Full) {
            let mut out = probing.left;
            out.resize(self.left_width + self.right_width, Value::Null);
            self.pending.push_back(out);
        }
        Ok(())
    }
}
