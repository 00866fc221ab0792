//! Choosing how a bound query runs.
//!
//! Binding makes a plan that says what a query means, read from left to right. What happens here changes how it is found,
//! never what: conditions go as far down as they mean the same, inner joins are put in the cheapest order, each table is
//! read the cheapest way, sorts go where rows come in order anyway.
//!
//! Invariants
//! 1. A rewritten plan gives out the same columns at the same places: expressions above it and subqueries beside it stay
//!    as they are. [assert: optimize/1]
//! 2. An expression with a subquery, or one whose value changes from look to look, stays over the row it was bound to.
//!    [assert: optimize/2]
//! 3. A scan for rows to change gives each row out once: it has one place. It is opened once, or once for each of different
//!    values of a key. [test: lists_and_prefixes_are_sought_for_changes_too]
//! 4. A condition stays in a filter above the scan that a seek narrows by it. [test: a_seek_finds_what_a_scan_finds]

mod access;
mod grouping;
mod joins;
pub(crate) mod like;
mod lists;
pub(crate) mod merge;
mod missing;
mod needed;
mod order;
mod reach;
mod simplify;
mod sizes;
mod spared;
mod wanted;

pub use missing::{MissingIndex, missing_indexes};
pub use reach::{Between, allowed as allowed_partitions};
pub use sizes::Sizes;
pub use wanted::Wanted;

use std::cell::Cell;
use std::collections::BTreeSet;

use duramen_base::given_up;
use duramen_columns::CompareOp;
use duramen_os::stack;
use duramen_query::children::with_inputs;
use duramen_query::plan::{AggregateKind, JoinKind, Node};
use duramen_query::reads::{is_movable, moved};
use duramen_query::{Expr, Kind, Plan};
use duramen_types::Value;

use self::access::Want;

/// A join method that a hint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Loop,
    Hash,
    Merge,
}

/// What OPTION (...) and the hints of joins say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub force_order: bool,
    pub method: Option<Method>,
    /// Set when no plan follows a table's hint.
    pub impossible: Cell<bool>,
    /// Set when a sort was left out because rows come in order anyway.
    pub in_order: Cell<bool>,
    /// MAXDOP
    pub max_degree: Option<u64>,
}

impl Hints {
    /// Whether a join may seek one side for each row of the other.
    fn may_loop(&self) -> bool {
        !matches!(self.method, Some(Method::Hash | Method::Merge))
    }
}

/// The plan for a query, of which all columns are wanted.
pub(crate) fn optimize(plan: Plan, hints: &Hints) -> Plan {
    let wanted = (0..plan.columns.len()).collect();
    optimize_for(plan, &wanted, hints)
}

/// The plan for a query, of which these columns are wanted.
pub(crate) fn optimize_for(mut plan: Plan, wanted: &BTreeSet<usize>, hints: &Hints) -> Plan {
    needed::note(&mut plan, wanted);
    let given: Vec<duramen_types::SqlType> = plan.columns.iter().map(|c| c.ty).collect();
    let made = push(plan, Vec::new(), &Want::default(), hints);
    debug_assert!(
        made.columns.iter().map(|c| c.ty).eq(given),
        "optimize/1: a plan gives out other columns than it was bound with"
    );
    made
}

/// The plan for a query of which only the existence of rows is wanted.
pub(crate) fn optimize_exists(mut plan: Plan, hints: &Hints) -> Plan {
    needed::note(&mut plan, &Default::default());
    let want = Want {
        limit: Some(1.0),
        ..Want::default()
    };
    push(plan, Vec::new(), &want, hints)
}

/// The parts of a condition that must all hold.
fn parts(e: Option<Expr>) -> Vec<Expr> {
    crate::bind::conjuncts(e)
}

/// One condition of its parts.
fn all_of(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Expr::predicate(Kind::And(parts))),
    }
}

/// A plan under a condition in parts.
fn filtered(plan: Plan, parts: Vec<Expr>) -> Plan {
    match all_of(parts) {
        None => plan,
        Some(predicate) => over(plan, |input| Node::Filter { input, predicate }),
    }
}

/// A node over a plan that gives out the same columns.
fn over(plan: Plan, node: impl FnOnce(Box<Plan>) -> Node) -> Plan {
    crate::bind::wrap(plan, node)
}

/// No rows.
fn empty(plan: Plan) -> Plan {
    Plan {
        node: Node::Values(Vec::new()),
        ..plan
    }
}

fn sub(plan: Plan, hints: &Hints) -> Plan {
    push(plan, Vec::new(), &Want::default(), hints)
}

/// The best plan for `plan` under a condition in parts, over its columns.
fn push(plan: Plan, condition: Vec<Expr>, want: &Want, hints: &Hints) -> Plan {
    stack::deep(|| push_into(plan, condition, want, hints))
}

#[expect(clippy::too_many_lines, reason = "one arm an operator")]
fn push_into(plan: Plan, mut condition: Vec<Expr>, want: &Want, hints: &Hints) -> Plan {
    if given_up::is_given_up() {
        // As it is: nobody wants it any more, which whoever asked for it says.
        return filtered(plan, condition);
    }
    for e in &mut condition {
        simplify::simplify(e);
    }
    if simplify::never(&mut condition) && !gives_places(&plan) {
        return empty(plan);
    }
    if joins::is_inner(&plan) {
        return joins::block(plan, condition, hints);
    }
    let Plan {
        node,
        columns,
        correlated,
    } = plan;
    let made = |node| Plan {
        node,
        columns: columns.clone(),
        correlated,
    };
    match node {
        Node::Scan { .. } => {
            let mut scan = made(node);
            if let Some(listed) = lists::seek_list(&scan, &condition, want) {
                return listed;
            }
            if !access::choose(&mut scan, &condition, want) {
                hints.impossible.set(true);
            }
            filtered(scan, condition)
        }
        Node::Filter { input, predicate } => {
            // What stands below is asked first.
            let mut all = parts(Some(predicate));
            all.extend(condition);
            push(*input, all, want, hints)
        }
        Node::Project { input, exprs } => {
            let (down, stay) = through(&exprs, condition);
            let want = want_below(&exprs, want);
            let input = Box::new(push(*input, down, &want, hints));
            filtered(made(Node::Project { input, exprs }), stay)
        }
        Node::Join { .. } => outer_join(made(node), condition, hints),
        Node::Aggregate {
            input,
            groups,
            aggregates,
            kept,
            ..
        } => {
            let (down, stay) = match groups.is_empty() {
                true => (Vec::new(), condition),
                false => below_groups(&groups, kept, condition),
            };
            let wanted = want;
            let want = extreme(&input, &groups, &aggregates);
            let mut input = Box::new(push(*input, down, &want, hints));
            let ordered = grouping::by_order(&mut input, &groups, kept, wanted);
            if !want.order.is_empty() && order::of(&input).gives(&want.order) {
                let count = Expr::constant(Value::BigInt(1), duramen_types::SqlType::BIGINT);
                let only = |input| Node::Top {
                    input,
                    count,
                    percent: false,
                    fetch: false,
                    ties: Vec::new(),
                };
                input = Box::new(over(*input, only));
            }
            let node = Node::Aggregate {
                input,
                groups,
                aggregates,
                kept,
                ordered,
            };
            filtered(made(node), stay)
        }
        Node::Sort { input, keys } => {
            let order = order::columns_of(&keys);
            let below = Want {
                order: order.clone().unwrap_or_default(),
                limit: want.limit,
            };
            let input = push(*input, condition, &below, hints);
            if order.is_some_and(|o| order::of(&input).gives(&o)) {
                hints.in_order.set(true);
                return Plan {
                    columns,
                    correlated,
                    ..input
                };
            }
            made(Node::Sort {
                input: Box::new(input),
                keys,
            })
        }
        Node::Top {
            ref count,
            percent,
            ref ties,
            ..
        } => {
            let limit = match (&count.kind, percent) {
                (Kind::Const(v), false) => v.as_i64().map(|n| n as f64),
                _ => None,
            };
            let below = Want {
                limit: limit.filter(|_| ties.is_empty()),
                order: Vec::new(),
            };
            let node = with_inputs(node, &mut |p| push(p, Vec::new(), &below, hints));
            filtered(made(node), condition)
        }
        Node::Distinct { .. } | Node::Concat(_) => {
            let (down, stay): (Vec<Expr>, Vec<Expr>) = condition.into_iter().partition(is_movable);
            let want = Want::default();
            let node = with_inputs(node, &mut |p| push(p, down.clone(), &want, hints));
            filtered(made(node), stay)
        }
        Node::Assign { .. } => made(with_inputs(node, &mut |p| {
            push(p, Vec::new(), want, hints)
        })),
        Node::Skip { .. }
        | Node::SetOperation { .. }
        | Node::Window { .. }
        | Node::Recursive { .. }
        | Node::OneRow
        | Node::Values(_)
        | Node::Virtual { .. }
        | Node::WorkTable { .. }
        // Zones are marked in plans that are done.
        | Node::Parallel { .. } => {
            let node = with_inputs(node, &mut |p| sub(p, hints));
            filtered(made(node), condition)
        }
    }
}

/// Whether a plan gives out the places of rows to change: whoever changes them looks for that column.
fn gives_places(plan: &Plan) -> bool {
    plan.columns.iter().any(|c| c.name.starts_with('\0'))
}

/// The parts of a condition over a projection that may be asked below it, over its input; and those that stay.
fn through(exprs: &[Expr], condition: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let mut down = Vec::new();
    let mut stay = Vec::new();
    for e in condition {
        let mut plain = is_movable(&e);
        e.visit_columns(&mut |depth, index| {
            plain &= depth > 0
                || exprs
                    .get(index)
                    .is_some_and(|x| matches!(x.kind, Kind::Column { .. } | Kind::Const(_)));
        });
        debug_assert!(
            !plain || !e.has_subquery(),
            "optimize/2: a condition with a subquery goes below its row"
        );
        match plain {
            true => down.push(substituted(e, exprs)),
            false => stay.push(e),
        }
    }
    (down, stay)
}

/// The expression with the columns of a projection replaced by what they are.
fn substituted(mut e: Expr, exprs: &[Expr]) -> Expr {
    fn walk(e: &mut Expr, exprs: &[Expr]) {
        if let Kind::Column { depth: 0, index } = e.kind {
            if let Some(x) = exprs.get(index) {
                *e = x.clone();
            }
            return;
        }
        let _ = e.try_for_each_child(&mut |c| {
            walk(c, exprs);
            Ok(())
        });
    }
    walk(&mut e, exprs);
    e
}

fn want_below(exprs: &[Expr], want: &Want) -> Want {
    let place = |(c, d): &(usize, bool)| match exprs.get(*c)?.kind {
        Kind::Column { depth: 0, index } => Some((index, *d)),
        _ => None,
    };
    let order: Option<Vec<_>> = want.order.iter().map(place).collect();
    match order {
        Some(order) => Want {
            order,
            limit: want.limit,
        },
        None => Want::default(),
    }
}

/// The parts of a condition over groups that read keys alone, over the rows that are grouped; and the others.
fn below_groups(groups: &[Expr], kept: usize, condition: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let (mut down, mut stay) = (Vec::new(), Vec::new());
    for e in condition {
        let mut keys = is_movable(&e);
        e.visit_columns(&mut |depth, index| {
            let key = index.checked_sub(kept).and_then(|i| groups.get(i));
            keys &=
                depth > 0 || key.is_some_and(|g| matches!(g.kind, Kind::Column { depth: 0, .. }));
        });
        match keys {
            true => down.push(substituted(moved(&e, |c| c - kept), groups)),
            false => stay.push(e),
        }
    }
    (down, stay)
}

/// MIN and MAX of one column of one table, nothing else asked: the first row in the right order has it.
fn extreme(input: &Plan, groups: &[Expr], aggregates: &[duramen_query::plan::Aggregate]) -> Want {
    let mut below = input;
    while let Node::Filter { input, .. } = &below.node {
        below = input;
    }
    let [only] = aggregates else {
        return Want::default();
    };
    let (Node::Scan { .. }, true, Some(e)) = (&below.node, groups.is_empty(), &only.input) else {
        return Want::default();
    };
    let Kind::Column { depth: 0, index } = e.kind else {
        return Want::default();
    };
    // NULL comes first in order, and is no minimum.
    let descending = match only.kind {
        AggregateKind::Max => true,
        AggregateKind::Min if !e.nullable => false,
        _ => return Want::default(),
    };
    Want {
        order: vec![(index, descending)],
        limit: Some(1.0),
    }
}

/// A join that is no part of a block: outer joins and APPLY.
#[expect(
    clippy::too_many_lines,
    reason = "what may move through an outer join, side by side"
)]
fn outer_join(plan: Plan, condition: Vec<Expr>, hints: &Hints) -> Plan {
    let Plan {
        node,
        columns,
        correlated,
    } = plan;
    let Node::Join {
        left,
        right,
        mut kind,
        hash,
        on,
        apply,
        ..
    } = node
    else {
        return Plan::one_row();
    };
    let width = left.columns.len();
    // A condition that no row made up by the join can meet: then none needs to be made up.
    if kind == JoinKind::Left
        && condition
            .iter()
            .any(|e| simplify::refuses_null(e, width..usize::MAX))
    {
        kind = JoinKind::Inner;
        if !apply {
            let node = Node::Join {
                left,
                right,
                kind,
                hash,
                on,
                apply,
                merge: false,
            };
            let inner = Plan {
                node,
                columns: columns.clone(),
                correlated,
            };
            let plan = push(inner, condition, &Want::default(), hints);
            return Plan { columns, ..plan };
        }
    }
    let keeps_left = matches!(kind, JoinKind::Left | JoinKind::Inner);
    let (mut down, mut stay) = (Vec::new(), Vec::new());
    for e in condition {
        let mut left_alone = keeps_left && is_movable(&e);
        e.visit_columns(&mut |depth, index| left_alone &= depth > 0 || index < width);
        match left_alone {
            true => down.push(e),
            false => stay.push(e),
        }
    }
    let left = Box::new(push(*left, down, &Want::default(), hints));
    let mut on = parts(on);
    // What ON asks of the right side alone is asked there.
    let mut of_right = Vec::new();
    if kind == JoinKind::Left && !apply {
        on.retain(|e| {
            let mut alone = is_movable(e);
            let mut reads = false;
            e.visit_columns(&mut |depth, index| {
                alone &= depth > 0 || index >= width;
                reads |= depth == 0;
            });
            if alone && reads {
                of_right.push(moved(e, |c| c - width));
            }
            !(alone && reads)
        });
    }
    let right = push(*right, of_right, &Want::default(), hints);
    if kind == JoinKind::Left && !apply {
        let mut all = on.clone();
        for (l, r) in &hash {
            let r = moved(r, |c| c + width);
            let equal = Kind::Compare(CompareOp::Eq, Box::new(l.clone()), Box::new(r));
            all.push(Expr::predicate(equal));
        }
        if let Some(parts) = joins::outer_loop(&left, &right, &all, hints) {
            let node = Node::Join {
                left,
                right: Box::new(joins::inner_side(right, parts)),
                kind,
                hash: Vec::new(),
                on: None,
                apply: true,
                merge: false,
            };
            let plan = Plan {
                node,
                columns,
                correlated,
            };
            return filtered(plan, stay);
        }
    }
    let node = Node::Join {
        left,
        right: Box::new(right),
        kind,
        hash,
        on: all_of(on),
        apply,
        merge: false,
    };
    let plan = Plan {
        node,
        columns,
        correlated,
    };
    filtered(merge::decided(plan, hints), stay)
}
