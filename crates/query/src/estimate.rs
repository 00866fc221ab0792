//! How many rows an operator is expected to give out, and what its tree costs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use duramen_columns::CompareOp;
use duramen_columns::statistics::ColumnStatistics;
use duramen_types::Value;

use crate::cost::{self, Cost};
use crate::cx::Cx;
use crate::expr::{Expr, Kind};
use crate::host::{Nowhere, Table};
use crate::plan::{AggregateKind, JoinKind, Node, OutColumn, Plan, Seek};

/// What is expected of one run of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub rows: f64,
    /// Of the operator alone.
    pub own: Cost,
    /// Of the operator and everything below.
    pub cost: f64,
    /// Bytes of a row.
    pub bytes: f64,
}

/// The same without the bytes: the rows of a chain of joins have all its columns at each of its steps, so they are looked
/// at only where they count.
struct Run {
    rows: f64,
    own: Cost,
    cost: f64,
}

/// Shares of rows where nothing is known about a column. Those for ranges and LIKE are SQL Server's published guesses.
pub const GUESS_EQUAL: f64 = 0.1;
pub const GUESS_RANGE: f64 = 0.3;
/// Values of a list that are looked up in the statistics.
const LISTED: usize = 256;
const GUESS_LIKE: f64 = 0.09;
const GUESS_NULL: f64 = 0.1;
const GUESS_OTHER: f64 = 0.5;

/// Bytes that a row of these columns is taken to have: half of what a variable column may hold.
pub fn row_bytes(columns: &[OutColumn]) -> f64 {
    let of = |c: &OutColumn| column_bytes(&c.ty);
    columns.iter().map(of).sum::<f64>() + 7.0
}

pub fn column_bytes(ty: &duramen_types::SqlType) -> f64 {
    match ty.is_variable() {
        true => f64::from(ty.length.min(8000)) / 2.0,
        false => f64::from(ty.length),
    }
}

/// The column of a table that a plan's column is, if it is one.
pub fn origin(plan: &Plan, index: usize) -> Option<(&dyn Table, usize)> {
    match &plan.node {
        Node::Scan { table, .. } => {
            (index < table.def.columns().len()).then_some((&*table.def, index))
        }
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Top { input, .. }
        | Node::Skip { input, .. }
        | Node::Distinct { input }
        | Node::Window { input, .. } => origin(input, index),
        Node::Parallel { zone, .. } => origin(zone, index),
        Node::Project { input, exprs } => match exprs.get(index)?.kind {
            Kind::Column { depth: 0, index } => origin(input, index),
            _ => None,
        },
        Node::Join { left, right, .. } => match index.checked_sub(left.columns.len()) {
            None => origin(left, index),
            Some(index) => origin(right, index),
        },
        Node::Aggregate {
            input,
            groups,
            kept,
            ..
        } => match groups.get(index.checked_sub(*kept)?)?.kind {
            Kind::Column { depth: 0, index } => origin(input, index),
            _ => None,
        },
        _ => None,
    }
}

/// How many rows a table is taken to have; never less than one.
pub fn table_rows(table: &dyn Table) -> f64 {
    (table.size().rows as f64).max(1.0)
}

pub fn table_pages(table: &dyn Table) -> f64 {
    let size = table.size();
    match size.pages {
        0 => {
            let bytes: f64 = table.columns().iter().map(|c| column_bytes(&c.ty)).sum();
            (size.rows as f64 * (bytes + 9.0) / cost::PAGE)
                .ceil()
                .max(1.0)
        }
        n => {
            // A small table has more pages than its rows fill.
            let widest = |c: &crate::host::TableColumn| f64::from(c.ty.length.min(8000));
            let bytes: f64 = table.columns().iter().map(widest).sum();
            let full = (size.rows as f64 * (bytes + 9.0) / cost::PAGE).ceil();
            (n as f64).min(full).max(1.0)
        }
    }
}

/// Pages of one access path, from the widths of its columns.
pub fn path_pages(table: &dyn Table, path: usize) -> f64 {
    let Some(p) = table.paths().get(path).filter(|p| !p.covers_all) else {
        return table_pages(table);
    };
    let columns = table.columns();
    let of = |i: &usize| columns.get(*i).map_or(8.0, |c| column_bytes(&c.ty));
    let bytes: f64 = p.columns.iter().map(of).sum();
    (table_rows(table) * (bytes + 9.0) / cost::PAGE)
        .ceil()
        .max(1.0)
}

/// Whether no two rows have the same value in a column.
fn is_unique(table: &dyn Table, column: usize) -> bool {
    let mut unique = table.paths().iter().filter(|p| p.unique);
    unique.any(|p| matches!(p.keys[..], [(c, _)] if c == column))
}

/// Different values of a column, guessed from its unique keys.
pub fn distinct_values(table: &dyn Table, column: usize) -> f64 {
    let rows = table_rows(table);
    if is_unique(table, column) {
        return rows;
    }
    match table.statistics(column) {
        Some(s) if s.distinct >= 1.0 => s.distinct.min(rows),
        _ => rows.sqrt().max(rows * 0.0001),
    }
}

/// The value of an expression that is known before the run, for looking it up in statistics.
fn known(e: &Expr) -> Option<Value> {
    if let Kind::Const(v) = &e.kind {
        return Some(v.clone());
    }
    let fixed = e.is_self_contained() && !e.any(&|e| matches!(e.kind, Kind::Variable(_)));
    if !fixed {
        return None;
    }
    let mut vars = Vec::new();
    let mut cx = Cx::new(&Nowhere, &mut vars, duramen_types::ConvertCtx::default());
    e.eval(&[], &mut cx).ok()
}

/// The statistics of the column that an expression is.
fn statistics_of(plan: &Plan, e: &Expr) -> Option<Arc<ColumnStatistics>> {
    let Kind::Column { depth: 0, index } = e.kind else {
        return None;
    };
    let (table, column) = origin(plan, index)?;
    table.statistics(column)
}

/// The share of rows for which a comparison of a column with a known value holds.
fn compared_share(plan: &Plan, op: CompareOp, l: &Expr, r: &Expr) -> Option<f64> {
    let (op, column, value) = match (&l.kind, &r.kind) {
        (Kind::Column { depth: 0, .. }, _) => (op, l, known(r)?),
        (_, Kind::Column { depth: 0, .. }) => (op.mirrored(), r, known(l)?),
        _ => return None,
    };
    if value.is_null() {
        return Some(0.0);
    }
    // Of a key without duplicates one row is known to be there, without a look.
    if op == CompareOp::Eq
        && let Kind::Column { depth: 0, index } = column.kind
        && let Some((table, at)) = origin(plan, index)
        && is_unique(table, at)
    {
        return Some(1.0 / table_rows(table));
    }
    let s = statistics_of(plan, column)?;
    if !s.knows(&value) {
        return None;
    }
    let some = 1.0 - s.nulls / s.rows.max(1.0);
    Some(match op {
        CompareOp::Eq => s.equal_share(&value),
        CompareOp::Ne => some - s.equal_share(&value),
        CompareOp::Lt => s.below_share(&value, false),
        CompareOp::Le => s.below_share(&value, true),
        CompareOp::Gt => some - s.below_share(&value, true),
        CompareOp::Ge => some - s.below_share(&value, false),
    })
}

/// The shares of conditions that hold together. Two bounds of one column are one range.
pub fn shares(plan: &Plan, parts: &[&Expr]) -> Vec<f64> {
    let bound = |e: &Expr| match &e.kind {
        Kind::Compare(op, l, r) => match (&l.kind, &r.kind) {
            (Kind::Column { depth: 0, index }, Kind::Const(_)) => Some((*index, *op)),
            (Kind::Const(_), Kind::Column { depth: 0, index }) => Some((*index, op.mirrored())),
            _ => None,
        },
        _ => None,
    };
    let low = |op| matches!(op, CompareOp::Gt | CompareOp::Ge);
    let high = |op| matches!(op, CompareOp::Lt | CompareOp::Le);
    // The bounds of each column from below and from above, those that have not been passed.
    let mut bounds: BTreeMap<(usize, bool), VecDeque<usize>> = BTreeMap::new();
    for (i, part) in parts.iter().enumerate() {
        if let Some((column, op)) = bound(part).filter(|(_, op)| low(*op) || high(*op)) {
            bounds.entry((column, low(op))).or_default().push_back(i);
        }
    }
    let mut taken = vec![false; parts.len()];
    let mut out = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        if taken[i] {
            continue;
        }
        let own = share(plan, part);
        let other = bound(part).and_then(|(column, op)| {
            let opposite = (column, high(op));
            let waiting = bounds.get_mut(&opposite).filter(|_| low(op) || high(op))?;
            while waiting.front().is_some_and(|j| *j < i || taken[*j]) {
                waiting.pop_front();
            }
            let later = waiting.front().copied();
            later.filter(|_| statistics_of(plan, &Expr::column(column, part.ty, true)).is_some())
        });
        out.push(match other {
            Some(j) => {
                taken[j] = true;
                // What is above the lower bound and below the upper one.
                (own + share(plan, parts[j]) - 1.0).max(0.000_1)
            }
            None => own,
        });
    }
    out
}

/// The share of rows with one value in a column.
fn equal_share(plan: &Plan, e: &Expr) -> Option<f64> {
    let (table, column) = origin(plan, crate::width::column_of(e)?)?;
    Some(1.0 / distinct_values(table, column).max(1.0))
}

/// The share of a plan's rows for which a condition is expected to hold.
pub fn share(plan: &Plan, e: &Expr) -> f64 {
    let share = match &e.kind {
        Kind::Const(Value::Bit(b)) => f64::from(u8::from(*b)),
        Kind::Const(Value::Null) => 0.0,
        Kind::Compare(op, l, r) => match op {
            _ if let Some(known) = compared_share(plan, *op, l, r) => known,
            CompareOp::Eq => {
                let known = [equal_share(plan, l), equal_share(plan, r)];
                let known = known.into_iter().flatten();
                known.reduce(f64::min).unwrap_or(GUESS_EQUAL)
            }
            CompareOp::Ne => {
                1.0 - equal_share(plan, l)
                    .or(equal_share(plan, r))
                    .unwrap_or(GUESS_EQUAL)
            }
            _ => GUESS_RANGE,
        },
        Kind::And(parts) => together(shares(plan, &parts.iter().collect::<Vec<_>>())),
        Kind::Or(parts) => {
            let none: f64 = parts.iter().map(|p| 1.0 - share(plan, p)).product();
            1.0 - none
        }
        Kind::Not(e) => 1.0 - share(plan, e),
        Kind::IsNull { input, negated } => {
            let share = match (input.nullable, statistics_of(plan, input)) {
                (false, _) => 0.0,
                (true, Some(s)) => s.nulls / s.rows.max(1.0),
                (true, None) => GUESS_NULL,
            };
            if *negated { 1.0 - share } else { share }
        }
        Kind::In {
            item,
            list,
            negated,
        } => {
            let guess = equal_share(plan, item).unwrap_or(GUESS_EQUAL);
            let one = |e| compared_share(plan, CompareOp::Eq, item, e).unwrap_or(guess);
            // Of a long list some stand for all.
            let every = list.len().div_ceil(LISTED);
            let some = list.iter().step_by(every.max(1));
            let share = (some.map(one).sum::<f64>() * every as f64).min(1.0);
            if *negated { 1.0 - share } else { share }
        }
        Kind::Like { negated, .. } => {
            if *negated {
                1.0 - GUESS_LIKE
            } else {
                GUESS_LIKE
            }
        }
        _ => GUESS_OTHER,
    };
    share.clamp(0.0, 1.0)
}

/// Conditions that hold together: the first counts whole, each further one by the root of the one before. Columns of one
/// table are seldom independent.
pub fn together(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    let mut power = 1.0;
    let mut all = 1.0;
    for s in shares.into_iter().take(4) {
        all *= s.powf(power);
        power /= 2.0;
    }
    all
}

/// The share of rows within the bounds of a seek, where they are known.
fn range_share(s: &ColumnStatistics, seek: &Seek) -> Option<f64> {
    let side = |bound: &Option<(Expr, bool)>, up_to: bool| match bound {
        None => Some(None),
        Some((e, inclusive)) => {
            let v = known(e).filter(|v| s.knows(v))?;
            Some(Some(s.below_share(&v, *inclusive == up_to)))
        }
    };
    let low = side(&seek.lower, false)?.unwrap_or(0.0);
    let high = side(&seek.upper, true)?.unwrap_or(1.0 - s.nulls / s.rows.max(1.0));
    Some((high - low).max(0.0))
}

/// The share of a table's rows that a seek reads.
pub fn seek_share(table: &dyn Table, seek: &Seek) -> f64 {
    let rows = table_rows(table);
    let Some(path) = table.paths().get(seek.index) else {
        return 1.0;
    };
    if path.unique && seek.equal.len() == path.keys.len() {
        return 1.0 / rows;
    }
    let keys = path.keys.iter().zip(&seek.equal);
    let equal = |((column, _), e): (&(usize, bool), &Expr)| {
        let statistics = table.statistics(*column);
        match (known(e), statistics) {
            (Some(v), Some(s)) if s.knows(&v) => s.equal_share(&v),
            _ => 1.0 / distinct_values(table, *column),
        }
    };
    let mut shares: Vec<f64> = keys.map(equal).collect();
    let range = path.keys.get(seek.equal.len()).map(|(column, _)| *column);
    let between = range.and_then(|c| range_share(&*table.statistics(c)?, seek));
    match (&seek.lower, &seek.upper) {
        (None, None) => {}
        _ if let Some(share) = between => shares.push(share),
        (Some(_), Some(_)) => shares.push(GUESS_RANGE * GUESS_RANGE),
        _ => shares.push(GUESS_RANGE),
    }
    together(shares).max(1.0 / rows)
}

/// Whether a scan reads its rows from the table after finding them in an index.
pub fn looks_up(table: &dyn Table, seek: Option<&Seek>) -> bool {
    let path = seek.filter(|s| !s.covering);
    let path = path.and_then(|s| table.paths().get(s.index));
    path.is_some_and(|p| !p.covers_all)
}

/// The rows that LIMIT-like operators let through.
fn constant(e: &Expr) -> Option<f64> {
    match &e.kind {
        Kind::Const(v) => v.as_i64().map(|n| n as f64),
        Kind::Convert { input, .. } => constant(input),
        _ => None,
    }
}

/// What one run of the plan is expected to give and to cost.
pub fn estimate(plan: &Plan) -> Estimate {
    let Run { rows, own, cost } = one_run(plan);
    Estimate {
        rows,
        own,
        cost,
        bytes: row_bytes(&plan.columns),
    }
}

#[expect(clippy::too_many_lines, reason = "one arm an operator")]
fn one_run(plan: &Plan) -> Run {
    let made = |rows: f64, own: Cost, below: f64| Run {
        rows,
        own,
        cost: own.total() + below,
    };
    let bytes = |plan: &Plan| row_bytes(&plan.columns);
    match &plan.node {
        Node::OneRow => made(1.0, cost::per_row(1.0, 0.000_001_157), 0.0),
        Node::Values(rows) => {
            let n = rows.len() as f64;
            made(n, cost::per_row(n, 0.000_001_157), 0.0)
        }
        Node::Scan {
            table, seek, reach, ..
        } => {
            let table = &*table.def;
            let all = table_rows(table);
            let Some(seek) = seek else {
                let part = reach.as_ref().map_or(1.0, |r| r.share);
                let pages = (table_pages(table) * part).max(1.0);
                return made(all, cost::scan(pages, all * part), 0.0);
            };
            let share = seek_share(table, seek);
            let rows = all * share;
            let own = cost::scan(
                (path_pages(table, seek.index) * share).ceil().max(1.0),
                rows,
            );
            match looks_up(table, Some(seek)) {
                true => made(rows, own, cost::lookups(rows).total()),
                false => made(rows, own, 0.0),
            }
        }
        Node::Virtual { .. } => made(1000.0, cost::scan(1.0, 1000.0), 0.0),
        Node::Filter { input, predicate } => {
            let below = one_run(input);
            let all;
            let parts = match &predicate.kind {
                Kind::And(parts) => parts,
                _ => {
                    all = [predicate.clone()];
                    &all[..]
                }
            };
            // What the seek below answers is counted there.
            let sought = |p: &&Expr| !answered(input, p);
            let rest: Vec<&Expr> = parts.iter().filter(sought).collect();
            let rows = below.rows * together(shares(input, &rest));
            made(rows, cost::per_row(below.rows, 0.000_000_48), below.cost)
        }
        Node::Project { input, exprs } => {
            let below = one_run(input);
            let computed = exprs.iter().any(|e| !matches!(e.kind, Kind::Column { .. }));
            let each = if computed { 0.000_000_1 } else { 0.0 };
            made(below.rows, cost::per_row(below.rows, each), below.cost)
        }
        Node::Assign { input, .. } => {
            let below = one_run(input);
            made(
                below.rows,
                cost::per_row(below.rows, 0.000_000_1),
                below.cost,
            )
        }
        Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            apply,
            merge,
        } => {
            let (l, r) = (one_run(left), one_run(right));
            let cross = l.rows * r.rows;
            let mut rows = if *apply {
                cross
            } else {
                let shares = hash.iter().map(|(a, b)| join_share(left, a, right, b));
                cross * shares.product::<f64>()
            };
            if on.is_some() {
                rows *= GUESS_RANGE;
            }
            rows = match kind {
                JoinKind::Inner => rows,
                JoinKind::Left => rows.max(l.rows),
                JoinKind::Right => rows.max(r.rows),
                JoinKind::Full => rows.max(l.rows + r.rows),
            };
            if *apply {
                let again = (l.rows - 1.0).max(0.0) * again(right, &r);
                let own = cost::per_row(cross, 0.000_004_18);
                return made(rows, own, l.cost + r.cost + again);
            }
            let own = match (*merge, hash.is_empty()) {
                (true, _) => cost::merge(l.rows, r.rows),
                (false, true) => cost::per_row(cross, 0.000_004_18),
                (false, false) => cost::hash(r.rows, l.rows, bytes(right)),
            };
            made(rows, own, l.cost + r.cost)
        }
        Node::Aggregate {
            input,
            groups,
            aggregates,
            ordered,
            ..
        } => {
            let below = one_run(input);
            if groups.is_empty() {
                let each = 0.000_000_6 * aggregates.len().max(1) as f64;
                return made(1.0, cost::per_row(below.rows, each), below.cost);
            }
            let rows = group_count(input, groups, below.rows);
            let own = match ordered {
                true => cost::stream(below.rows),
                false => cost::hash(rows, below.rows, bytes(plan)),
            };
            made(rows, own, below.cost)
        }
        Node::Window { input, .. } => {
            let below = one_run(input);
            made(below.rows, cost::sort(below.rows, bytes(input)), below.cost)
        }
        Node::Recursive {
            anchor, members, ..
        } => {
            let first = one_run(anchor);
            let below: f64 = members.iter().map(|m| one_run(m).cost).sum();
            made(
                first.rows * 10.0,
                cost::per_row(first.rows, 0.000_001),
                first.cost + below,
            )
        }
        Node::WorkTable { .. } => made(10.0, cost::scan(1.0, 10.0), 0.0),
        Node::Sort { input, .. } => {
            let below = one_run(input);
            made(below.rows, cost::sort(below.rows, bytes(input)), below.cost)
        }
        Node::Top {
            input,
            count,
            percent,
            ..
        } => {
            let below = one_run(input);
            let rows = match constant(count) {
                Some(n) if *percent => below.rows * n / 100.0,
                Some(n) => below.rows.min(n),
                None => below.rows.min(100.0),
            };
            made(rows, cost::per_row(rows, 0.000_000_1), below.cost)
        }
        Node::Skip { input, count } => {
            let below = one_run(input);
            let rows = (below.rows - constant(count).unwrap_or(0.0)).max(1.0);
            made(rows, cost::per_row(below.rows, 0.000_000_1), below.cost)
        }
        Node::Parallel { zone, .. } => one_run(zone),
        Node::Distinct { input } => {
            let below = one_run(input);
            let all: Vec<Expr> = (0..input.columns.len())
                .map(|i| Expr::column(i, input.columns[i].ty, true))
                .collect();
            let rows = group_count(input, &all, below.rows);
            made(rows, cost::hash(rows, below.rows, bytes(input)), below.cost)
        }
        Node::Concat(inputs) => {
            let all: Vec<Run> = inputs.iter().map(one_run).collect();
            let rows = all.iter().map(|e| e.rows).sum();
            let below = all.iter().map(|e| e.cost).sum();
            made(rows, cost::per_row(rows, 0.000_000_1), below)
        }
        Node::SetOperation { left, right, .. } => {
            let (l, r) = (one_run(left), one_run(right));
            let own = cost::hash(r.rows, l.rows, bytes(right));
            made(l.rows * GUESS_OTHER, own, l.cost + r.cost)
        }
    }
}

/// What the inner side of a loop costs when it runs again: its upper pages are in memory then.
fn again(plan: &Plan, once: &Run) -> f64 {
    let saved = match &plan.node {
        Node::Scan { seek: Some(_), .. } => cost::RANDOM_PAGE - cost::LOOKUP_PAGE,
        Node::Filter { input, .. } | Node::Project { input, .. } => {
            return again(input, &one_run(input)) + once.own.total();
        }
        _ => 0.0,
    };
    (once.cost - saved).max(cost::NEXT_ROW)
}

/// The share of the pairs of rows that agree in one equality of a join.
pub fn join_share(left: &Plan, l: &Expr, right: &Plan, r: &Expr) -> f64 {
    let share = match (equal_share(left, l), equal_share(right, r)) {
        (Some(a), Some(b)) => a.min(b),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => GUESS_EQUAL,
    };
    share.clamp(0.0, 1.0)
}

/// How many groups rows fall into.
pub fn group_count(input: &Plan, groups: &[Expr], rows: f64) -> f64 {
    let kinds = groups.iter().map(|g| match equal_share(input, g) {
        Some(share) => 1.0 / share.max(f64::MIN_POSITIVE),
        None => rows.sqrt().max(1.0),
    });
    kinds.product::<f64>().min(rows).max(1.0)
}

/// The name that plans give an aggregate.
pub fn aggregate_name(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::CountStar | AggregateKind::Count => "COUNT",
        AggregateKind::Sum => "SUM",
        AggregateKind::Avg => "AVG",
        AggregateKind::Min => "MIN",
        AggregateKind::Max => "MAX",
        AggregateKind::StDev => "STDEV",
        AggregateKind::StDevP => "STDEVP",
        AggregateKind::Var => "VAR",
        AggregateKind::VarP => "VARP",
        AggregateKind::StringAgg => "STRING_AGG",
    }
}

/// Whether the seek of the scan below gives out only rows for which this part of the condition above it holds.
pub fn answered(below: &Plan, part: &Expr) -> bool {
    let Node::Scan {
        table,
        seek: Some(seek),
        ..
    } = &below.node
    else {
        return false;
    };
    let Kind::Compare(op, l, r) = &part.kind else {
        return false;
    };
    let column = |e: &Expr| match e.kind {
        Kind::Column { depth: 0, index } => Some(index),
        _ => None,
    };
    let (op, column, value) = match (column(l), column(r)) {
        (Some(c), None) => (*op, c, r),
        (None, Some(c)) => (op.mirrored(), c, l),
        _ => return false,
    };
    let Some(path) = table.def.paths().get(seek.index) else {
        return false;
    };
    let Some(key) = path.keys.iter().position(|(c, _)| *c == column) else {
        return false;
    };
    if let Some(e) = seek.equal.get(key) {
        return op == CompareOp::Eq && *e == **value;
    }
    let side = |bound: &Option<(Expr, bool)>, or_equal, without| match bound {
        Some((e, inclusive)) => *e == **value && op == if *inclusive { or_equal } else { without },
        None => false,
    };
    key == seek.equal.len()
        && (side(&seek.lower, CompareOp::Ge, CompareOp::Gt)
            || side(&seek.upper, CompareOp::Le, CompareOp::Lt))
}
