//! The order of inner joins, and how each is done.
//!
//! Inner joins next to each other are one block: its inputs, and the conditions between them. The cheapest order is looked
//! for among those that add one input after the other, all of them for few inputs, the best next step for many. Each step
//! is a hash join, with the smaller side in memory, or a loop that seeks the new input for every row so far. Whatever the
//! order, the block gives its columns out as the query wrote them.

use duramen_base::given_up;
use duramen_columns::CompareOp;
use duramen_query::estimate::{GUESS_RANGE, estimate, join_share};
use duramen_query::plan::{JoinKind, Node};
use duramen_query::reads::{each_read, is_movable, moved, remap};
use duramen_query::{Columns, Expr, Kind, Plan, cost};

use super::access::{self, Want};
use super::{Hints, Method, filtered, push};

/// With more inputs than this only the best next step is looked for.
const EXHAUSTIVE: usize = 8;

/// An input of a block.
struct Input {
    plan: Plan,
    /// Where its columns start in the block's rows, and how many there are.
    start: usize,
    width: usize,
    /// The parts of the condition that read it alone, over its own row.
    own: Vec<Expr>,
    /// Its plan is the best one already.
    done: bool,
    rows: f64,
    cost: f64,
    bytes: f64,
}

impl Input {
    fn new(plan: Plan, start: usize) -> Input {
        Input {
            width: plan.columns.len(),
            plan,
            start,
            own: Vec::new(),
            done: false,
            rows: 0.0,
            cost: 0.0,
            bytes: 0.0,
        }
    }
}

/// A condition between inputs, over the block's rows.
struct Between {
    e: Expr,
    inputs: u64,
    share: f64,
}

/// What has been joined so far.
#[derive(Clone)]
struct Step {
    joined: u64,
    rows: f64,
    cost: f64,
    bytes: f64,
    /// The inputs in the order of joining, each with whether it is sought in a loop.
    order: Vec<(usize, bool)>,
}

/// Whether a plan is an inner join that may be part of a block.
pub fn is_inner(plan: &Plan) -> bool {
    matches!(
        plan.node,
        Node::Join {
            kind: JoinKind::Inner,
            apply: false,
            ..
        }
    )
}

/// Takes a tree of inner joins apart: its inputs and its conditions, over rows that start `offset` columns into the block's.
fn flatten(plan: Plan, offset: usize, inputs: &mut Vec<(Plan, usize)>, parts: &mut Vec<Expr>) {
    // A subquery counts columns of the row around it, and cannot be raised to where the block's row begins.
    let anywhere = |e: &Expr| offset == 0 || !e.has_subquery();
    match plan.node {
        Node::Join {
            left,
            right,
            kind: JoinKind::Inner,
            hash,
            on,
            apply: false,
            ..
        } if on.iter().all(anywhere) => {
            let width = left.columns.len();
            flatten(*left, offset, inputs, parts);
            flatten(*right, offset + width, inputs, parts);
            for (l, r) in hash {
                let (l, r) = (raised(l, offset), raised(r, offset + width));
                let equal = Kind::Compare(CompareOp::Eq, Box::new(l), Box::new(r));
                parts.push(Expr::predicate(equal));
            }
            parts.extend(super::parts(on).into_iter().map(|e| raised(e, offset)));
        }
        Node::Filter { input, predicate } if is_inner(&input) && anywhere(&predicate) => {
            flatten(*input, offset, inputs, parts);
            let own = super::parts(Some(predicate)).into_iter();
            parts.extend(own.map(|e| raised(e, offset)));
        }
        _ => inputs.push((plan, offset)),
    }
}

/// The expression over a row in which its own begins `offset` columns in.
fn raised(mut e: Expr, offset: usize) -> Expr {
    if offset > 0 {
        remap(&mut e, &mut |depth, index| {
            *index += if *depth == 0 { offset } else { 0 };
        });
    }
    e
}

/// As many inputs as a set of them can name.
const SET_MAX: usize = 63;

/// The best plan for a tree of inner joins under a condition given in parts.
pub fn block(plan: Plan, condition: Vec<Expr>, hints: &Hints) -> Plan {
    let columns = plan.columns.clone();
    let correlated = plan.correlated;
    let mut found = Vec::new();
    let mut parts = Vec::new();
    flatten(plan, 0, &mut found, &mut parts);
    parts.extend(condition);
    let mut inputs: Vec<Input> = found
        .into_iter()
        .map(|(plan, start)| Input::new(plan, start))
        .collect();
    while inputs.len() > SET_MAX {
        (inputs, parts) = first_joined(inputs, parts, &columns, hints);
    }
    let mut plan = best_of(inputs, parts, &columns, hints);
    plan.correlated = correlated;
    plan
}

/// More inputs than the search can hold: the first of them, joined by what is asked of them alone, are one from now on.
fn first_joined(
    mut inputs: Vec<Input>,
    parts: Vec<Expr>,
    columns: &Columns,
    hints: &Hints,
) -> (Vec<Input>, Vec<Expr>) {
    let rest = inputs.split_off(SET_MAX);
    let width = rest.first().map_or(columns.len(), |i| i.start);
    let own = |e: &Expr| {
        let mut own = is_movable(e);
        each_read(e, &mut |c| own &= c < width);
        own
    };
    let (own, parts): (Vec<Expr>, Vec<Expr>) = parts.into_iter().partition(own);
    let correlated = inputs.iter().any(|i| i.plan.correlated);
    let columns: Columns = columns[..width].into();
    let mut plan = best_of(inputs, own, &columns, hints);
    plan.correlated = correlated;
    let first = Input {
        done: true,
        ..Input::new(plan, 0)
    };
    (std::iter::once(first).chain(rest).collect(), parts)
}

/// The best plan for at most [`SET_MAX`] inputs.
fn best_of(mut inputs: Vec<Input>, mut parts: Vec<Expr>, columns: &Columns, hints: &Hints) -> Plan {
    spread(&mut parts);
    let mut above = Vec::new();
    let mut between = Vec::new();
    for e in parts {
        let set = set_of(&inputs, &e);
        if !is_movable(&e) || set == 0 {
            above.push(e);
        } else if set.is_power_of_two() {
            let input = &mut inputs[set.trailing_zeros() as usize];
            let start = input.start;
            input.own.push(moved(&e, |c| c - start));
        } else {
            between.push(Between {
                e,
                inputs: set,
                share: 1.0,
            });
        }
    }
    for input in &mut inputs {
        let raw = std::mem::replace(&mut input.plan, Plan::one_row());
        let own = input.own.clone();
        input.plan = match input.done {
            true => filtered(raw, own),
            false => push(raw, own, &Want::default(), hints),
        };
        // Of the plan under its own conditions: these are the rows that a join gets.
        let e = estimate(&input.plan);
        (input.rows, input.cost, input.bytes) = (e.rows.max(1.0), e.cost, e.bytes);
    }
    for b in &mut between {
        b.share = share_of(&b.e, &inputs);
    }
    let order = search(&inputs, &between, hints);
    let joined = build(inputs, between, &order, columns, hints);
    filtered(restored(joined, columns), above)
}

/// The inputs that an expression reads.
fn set_of(inputs: &[Input], e: &Expr) -> u64 {
    let mut set = 0;
    each_read(e, &mut |c| {
        let own = |i: &Input| (i.start..i.start + i.width).contains(&c);
        set |= inputs.iter().position(own).map_or(0, |at| 1 << at);
    });
    set
}

/// Of more conditions none is made from two others: each would be held against each.
const SPREAD_MAX: usize = 200;

/// `a = b AND b = 5`: then `a = 5` too, which a key of a's table may answer.
fn spread(parts: &mut Vec<Expr>) {
    if parts.len() > SPREAD_MAX {
        return;
    }
    let column = |e: &Expr| match e.kind {
        Kind::Column { depth: 0, index } => Some(index),
        _ => None,
    };
    let mut more = Vec::new();
    for equal in parts.iter() {
        let Kind::Compare(CompareOp::Eq, l, r) = &equal.kind else {
            continue;
        };
        let (Some(a), Some(b)) = (column(l), column(r)) else {
            continue;
        };
        for known in parts.iter() {
            let Kind::Compare(op, x, y) = &known.kind else {
                continue;
            };
            let (op, at, value) = match (column(x), column(y)) {
                (Some(c), None) => (*op, c, y),
                (None, Some(c)) => (op.mirrored(), c, x),
                _ => continue,
            };
            let mut free = op != CompareOp::Ne && is_movable(value);
            value.visit_columns(&mut |depth, _| free &= depth > 0);
            let other = match at {
                at if at == a => r,
                at if at == b => l,
                _ => continue,
            };
            if free && other.ty == l.ty && other.ty == r.ty {
                let e = Expr::predicate(Kind::Compare(op, other.clone(), value.clone()));
                if !parts.contains(&e) && !more.contains(&e) {
                    more.push(e);
                }
            }
        }
    }
    parts.extend(more);
}

/// The two sides of an equality with the inputs that each reads.
fn sides<'e>(e: &'e Expr, inputs: &[Input]) -> Option<[(&'e Expr, u64); 2]> {
    let Kind::Compare(CompareOp::Eq, l, r) = &e.kind else {
        return None;
    };
    Some([(&**l, set_of(inputs, l)), (&**r, set_of(inputs, r))])
}

fn share_of(e: &Expr, inputs: &[Input]) -> f64 {
    let one = |set: u64| {
        set.is_power_of_two()
            .then(|| &inputs[set.trailing_zeros() as usize])
    };
    match sides(e, inputs) {
        Some([(l, a), (r, b)]) if a & b == 0 => match (one(a), one(b)) {
            (Some(x), Some(y)) => join_share(
                &x.plan,
                &moved(l, |c| c - x.start),
                &y.plan,
                &moved(r, |c| c - y.start),
            ),
            _ => 0.1,
        },
        _ => GUESS_RANGE,
    }
}

/// The scan that an input is, if a loop may seek it: not one for rows to change, whose places are counted once.
fn sought(input: &Plan) -> Option<&Plan> {
    match &input.node {
        Node::Scan { table, .. } => {
            (input.columns.len() == table.def.columns().len()).then_some(input)
        }
        Node::Filter { input, predicate } if is_movable(predicate) => match &input.node {
            Node::Scan { .. } => sought(input),
            _ => None,
        },
        _ => None,
    }
}

/// The parts of an input's condition when `before` is joined already and stands in the row around it.
fn inside(inputs: &[Input], between: &[Between], before: u64, at: usize) -> Vec<Expr> {
    let input = &inputs[at];
    let mut parts: Vec<Expr> = input.own.iter().map(deeper).collect();
    for b in between {
        let ready = b.inputs & !(before | 1 << at) == 0;
        if ready && b.inputs & (1 << at) != 0 && b.inputs & before != 0 {
            let mut e = b.e.clone();
            remap(&mut e, &mut |depth, index| {
                let own = *depth == 0 && (input.start..input.start + input.width).contains(index);
                match own {
                    true => *index -= input.start,
                    false => *depth += 1,
                }
            });
            parts.push(e);
        }
    }
    parts
}

/// An input's own condition, one row further in: its own columns stay.
fn deeper(e: &Expr) -> Expr {
    let mut e = e.clone();
    remap(&mut e, &mut |depth, _| {
        if *depth > 0 {
            *depth += 1;
        }
    });
    e
}

/// Adds an input to what is joined; the cheapest way, if there is one.
fn add(step: &Step, at: usize, inputs: &[Input], between: &[Between], hints: &Hints) -> Step {
    let input = &inputs[at];
    let mut equal = false;
    let mut shares = Vec::new();
    for b in between {
        let joined = step.joined | 1 << at;
        if b.inputs & !joined == 0 && b.inputs & (1 << at) != 0 {
            shares.push(b.share);
            equal |= sides(&b.e, inputs).is_some_and(|[(_, x), (_, y)]| x & y == 0);
        }
    }
    let rows = (step.rows * input.rows * shares.iter().product::<f64>()).max(1.0);
    let (small, large) = match input.rows <= step.rows {
        true => ((input.rows, input.bytes), step.rows),
        false => ((step.rows, step.bytes), input.rows),
    };
    // Read as a whole and joined; a loop that seeks pays for its looks instead, not for that.
    let mut own = input.cost
        + match equal {
            true => cost::hash(small.0, large, small.1).total(),
            false => step.rows * input.rows * 0.000_004_18,
        };
    let mut looped = false;
    if hints.may_loop()
        && step.joined != 0
        && let Some(scan) = sought(&input.plan)
    {
        let parts = inside(inputs, between, step.joined, at);
        if let Some(way) = access::best(scan, &parts, &Want::default())
            && way.seek.as_ref().is_some_and(reads_outside)
        {
            // Only the first seek comes to pages that nobody has read.
            let again = (way.cost - cost::RANDOM_PAGE + cost::LOOKUP_PAGE).max(cost::NEXT_ROW);
            let cost = way.cost + (step.rows - 1.0).max(0.0) * again;
            if cost < own || hints.method == Some(Method::Loop) {
                own = cost;
                looped = true;
            }
        }
    }
    let mut order = step.order.clone();
    order.push((at, looped));
    Step {
        joined: step.joined | 1 << at,
        rows,
        cost: step.cost + own,
        bytes: step.bytes + input.bytes,
        order,
    }
}

/// Whether a seek looks for something of the row outside.
fn reads_outside(seek: &duramen_query::plan::Seek) -> bool {
    let bounds = seek.lower.iter().chain(&seek.upper).map(|(e, _)| e);
    let mut found = false;
    for e in seek.equal.iter().chain(bounds) {
        e.visit_columns(&mut |depth, _| found |= depth == 1);
    }
    found
}

fn first(at: usize, inputs: &[Input]) -> Step {
    Step {
        joined: 1 << at,
        rows: inputs[at].rows,
        cost: inputs[at].cost,
        bytes: inputs[at].bytes,
        order: vec![(at, false)],
    }
}

/// Whether an input is tied by some condition to what is joined.
fn tied(step: &Step, at: usize, between: &[Between]) -> bool {
    between
        .iter()
        .any(|b| b.inputs & (1 << at) != 0 && b.inputs & step.joined != 0)
}

/// The order of the inputs.
fn search(inputs: &[Input], between: &[Between], hints: &Hints) -> Vec<(usize, bool)> {
    let n = inputs.len();
    if hints.force_order || n < 2 {
        let mut step = first(0, inputs);
        for at in 1..n {
            step = add(&step, at, inputs, between, hints);
        }
        return step.order;
    }
    if n > EXHAUSTIVE {
        return greedy(inputs, between, hints);
    }
    let mut best: Vec<Option<Step>> = vec![None; 1 << n];
    for at in 0..n {
        best[1 << at] = Some(first(at, inputs));
    }
    // What a set is made of has a smaller number: its best is known when its turn comes.
    for set in 1..(1usize << n) {
        let Some(step) = best[set].clone() else {
            continue;
        };
        let rest: Vec<usize> = (0..n).filter(|at| set & (1 << at) == 0).collect();
        // Products of what nothing ties together come last.
        let any = rest.iter().any(|at| tied(&step, *at, between));
        for at in rest {
            if any && !tied(&step, at, between) {
                continue;
            }
            let next = add(&step, at, inputs, between, hints);
            let slot = &mut best[set | 1 << at];
            if slot.as_ref().is_none_or(|b| next.cost < b.cost) {
                *slot = Some(next);
            }
        }
    }
    let last = best.pop().flatten();
    last.map_or_else(|| (0..n).map(|at| (at, false)).collect(), |s| s.order)
}

fn greedy(inputs: &[Input], between: &[Between], hints: &Hints) -> Vec<(usize, bool)> {
    let by_rows = |a: &usize, b: &usize| inputs[*a].rows.total_cmp(&inputs[*b].rows);
    let start = (0..inputs.len()).min_by(by_rows).unwrap_or(0);
    let mut step = first(start, inputs);
    while step.order.len() < inputs.len() {
        let rest = (0..inputs.len()).filter(|at| step.joined & (1 << at) == 0);
        if given_up::is_given_up() {
            // Any order will do: nobody wants it.
            step.order.extend(rest.map(|at| (at, false)));
            break;
        }
        // What nothing ties comes last; of much the same cost the smaller result, which all later steps read.
        let next = rest
            .map(|at| {
                (
                    !tied(&step, at, between),
                    add(&step, at, inputs, between, hints),
                )
            })
            .min_by(|(a, x), (b, y)| {
                a.cmp(b)
                    .then((x.cost + x.rows * 0.000_01).total_cmp(&(y.cost + y.rows * 0.000_01)))
            });
        match next {
            Some((_, next)) => step = next,
            None => break,
        }
    }
    step.order
}

/// Joins the inputs in order. The row's columns follow the inputs as they are placed; which input stands where comes back
/// as the block's column of each.
fn build(
    inputs: Vec<Input>,
    between: Vec<Between>,
    order: &[(usize, bool)],
    columns: &Columns,
    hints: &Hints,
) -> (Plan, Vec<usize>) {
    // Those of the block are made already.
    let known = |places: &[usize]| {
        let all = places.len() == columns.len() && is_in_order(places);
        all.then(|| columns.clone())
    };
    let mut joined = 0u64;
    let mut plans: Vec<Option<Plan>> = Vec::new();
    let mut inputs = inputs;
    for input in &mut inputs {
        plans.push(Some(std::mem::replace(&mut input.plan, Plan::one_row())));
    }
    let mut current: Option<Plan> = None;
    // The block's column at each place of the current row.
    let mut places: Vec<usize> = Vec::new();
    for (at, looped) in order {
        let Some(plan) = plans[*at].take() else {
            continue;
        };
        let input = &inputs[*at];
        let own = input.start..input.start + input.width;
        let Some(left) = current.take() else {
            places.extend(own);
            joined |= 1 << at;
            current = Some(plan);
            continue;
        };
        if *looped {
            let mut parts = inside(&inputs, &between, joined, *at);
            for e in &mut parts {
                remap(e, &mut |depth, index| {
                    if *depth == 1 {
                        *index = place(&places, *index);
                    }
                });
            }
            let right = inner_side(plan, parts);
            places.extend(own);
            let columns = known(&places);
            current = Some(inner_join(left, right, None, true, columns));
            joined |= 1 << at;
            continue;
        }
        // The smaller side stands on the right, where it is built.
        let swap = estimate(&plan).rows > estimate(&left).rows;
        let (l, r) = if swap { (plan, left) } else { (left, plan) };
        match swap {
            true => {
                places.splice(0..0, own);
            }
            false => places.extend(own),
        }
        let before = joined;
        joined |= 1 << at;
        let ready = between.iter().filter(|b| {
            b.inputs & !joined == 0 && b.inputs & (1 << at) != 0 && b.inputs & before != 0
        });
        let parts: Vec<Expr> = ready.map(|b| moved(&b.e, |c| place(&places, c))).collect();
        let join = inner_join(l, r, super::all_of(parts), false, known(&places));
        current = Some(super::merge::decided(join, hints));
    }
    (current.unwrap_or_else(Plan::one_row), places)
}

fn place(places: &[usize], column: usize) -> usize {
    places.iter().position(|c| *c == column).unwrap_or(column)
}

fn is_in_order(places: &[usize]) -> bool {
    places.iter().enumerate().all(|(i, c)| i == *c)
}

/// An inner join, with its columns if somebody knows them.
fn inner_join(
    left: Plan,
    right: Plan,
    on: Option<Expr>,
    apply: bool,
    columns: Option<Columns>,
) -> Plan {
    let kind = JoinKind::Inner;
    let columns = columns.unwrap_or_else(|| crate::bind::joined_columns(&left, &right, kind));
    crate::bind::join_with(left, right, kind, on, apply, columns)
}

/// The row in the query's own order.
fn restored((plan, places): (Plan, Vec<usize>), columns: &Columns) -> Plan {
    if is_in_order(&places) {
        return Plan {
            columns: columns.clone(),
            ..plan
        };
    }
    let mut at = vec![0; columns.len()];
    for (i, c) in places.iter().enumerate() {
        at[*c] = i;
    }
    let exprs = at.into_iter().map(|at| {
        let column = &plan.columns[at];
        Expr::column(at, column.ty, column.nullable)
    });
    Plan {
        columns: columns.clone(),
        correlated: plan.correlated,
        node: Node::Project {
            exprs: exprs.collect(),
            input: Box::new(plan),
        },
    }
}

/// A left outer join as a loop that seeks the right side, where that is cheaper than reading it whole.
pub fn outer_loop(left: &Plan, right: &Plan, on: &[Expr], hints: &Hints) -> Option<Vec<Expr>> {
    if !hints.may_loop() || !on.iter().all(is_movable) {
        return None;
    }
    let scan = sought(right)?;
    let width = left.columns.len();
    let mut parts: Vec<Expr> = Vec::new();
    for e in on {
        let mut e = e.clone();
        remap(
            &mut e,
            &mut |depth, index| match *depth == 0 && *index >= width {
                true => *index -= width,
                false => *depth += 1,
            },
        );
        parts.push(e);
    }
    if let Node::Filter { predicate, .. } = &right.node {
        parts.extend(super::parts(Some(predicate.clone())).iter().map(deeper));
    }
    let way = access::best(scan, &parts, &Want::default())?;
    let rows = estimate(left).rows.max(1.0);
    if !way.seek.as_ref().is_some_and(reads_outside) {
        return None;
    }
    let again = (way.cost - cost::RANDOM_PAGE + cost::LOOKUP_PAGE).max(cost::NEXT_ROW);
    let looped = way.cost + (rows - 1.0) * again;
    let r = estimate(right);
    let whole = r.cost + cost::hash(r.rows, rows, r.bytes).total();
    (looped < whole || hints.method == Some(Method::Loop)).then_some(parts)
}

/// The right side of a loop: its scan, under a condition that sees the left row around it.
pub fn inner_side(right: Plan, parts: Vec<Expr>) -> Plan {
    let mut scan = match right.node {
        Node::Filter { input, .. } => *input,
        _ => right,
    };
    access::choose(&mut scan, &parts, &Want::default());
    let mut right = filtered(scan, parts);
    right.correlated = true;
    right
}
