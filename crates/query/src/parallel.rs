//! Which parts of a plan several threads may run.
//!
//! A *zone* is a scan of a stored table with filters, projections and hash joins over it, and at its top nothing else, a
//! sort, or a grouping whose parts can be put together. It only reads; nothing in it asks the session, calls a user's
//! function, or gives something else each time; its subqueries, EXISTS and IN among them, keep to that too. Under TOP
//! without a sort, under an assignment to variables and where the rows' order was had from an index, rows are not gathered as they come, but a sort or a grouping
//! may still be one. A sum of floats depends on the order of its terms: it is made of each part of the scan, and these are
//! added in their order, so that as many threads always give the same; in the last digits it may be another than one
//! thread's, as in SQL Server.
//!
//! A zone is run by one thread all the same when the statement's cost does not exceed `cost threshold for parallelism`, or
//! MAXDOP says so, which is looked at each time it runs: see `batch::exchange`.

use std::sync::Arc;

use duramen_txn::IsolationLevel;
use duramen_types::TypeId;

use crate::batch::{builds_left, is_wide_scan};
use crate::children::{each_expr, each_input, each_subquery, with_inputs};
use crate::estimate::estimate;
use crate::expr::{Expr, Kind};
use crate::host::Parallelism;
use crate::locking::{LockGrain, LockIntent};
use crate::plan::{Aggregate, AggregateKind, Node, Plan};
use crate::reads::is_volatile;
use crate::seek_join::{FEW_ROWS, SeekJoin};

/// What stands at the top of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    Rows,
    Sorted,
    Groups,
}

pub(crate) fn top(zone: &Plan) -> Top {
    match &zone.node {
        Node::Sort { .. } => Top::Sorted,
        Node::Aggregate { .. } => Top::Groups,
        _ => Top::Rows,
    }
}

/// The scan of a zone whose rows are dealt out.
pub(crate) fn driving(plan: &Plan) -> &Plan {
    match &plan.node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Sort { input, .. }
        | Node::Aggregate { input, .. } => driving(input),
        Node::Join { left, right, .. } => match builds_left(left, right) {
            true => driving(right),
            false => driving(left),
        },
        _ => plan,
    }
}

/// The plan of a query with its zones marked. `in_order`: a sort was left out because rows come in order anyway.
/// `max_degree`: OPTION (MAXDOP n).
pub fn marked(plan: Plan, in_order: bool, max_degree: Option<u64>) -> Plan {
    if max_degree == Some(1) || !has_zone(&plan) {
        return plan;
    }
    let cost = estimate(&plan).cost + cost_of_subqueries(&plan);
    Marker { cost, max_degree }.mark(plan, !in_order)
}

/// What the subqueries in a plan's expressions cost: those that look at a row outside, once for each row.
fn cost_of_subqueries(plan: &Plan) -> f64 {
    let (mut cost, mut rows) = (0.0, 1.0_f64);
    each_input(&plan.node, &mut |p| cost += cost_of_subqueries(p));
    each_expr(plan, &mut |e| {
        each_subquery(e, &mut |p| {
            if p.correlated && rows == 1.0 {
                each_input(&plan.node, &mut |input| {
                    rows = rows.max(estimate(input).rows)
                });
            }
            let times = if p.correlated { rows } else { 1.0 };
            cost += times * (estimate(p).cost + cost_of_subqueries(p));
        });
    });
    cost
}

/// Whether there is anything to look for: most statements are smaller than that.
fn has_zone(plan: &Plan) -> bool {
    let mut found = is_wide_scan(plan);
    each_input(&plan.node, &mut |p| found = found || has_zone(p));
    found
}

struct Marker {
    cost: f64,
    max_degree: Option<u64>,
}

/// Whether the rows of a node's inputs may come in any order, one input after the other, where its own may as `rows` says.
/// `None` where the inputs have to stay as they are.
fn orders(node: &Node, rows: bool) -> Option<[bool; 2]> {
    Some(match node {
        Node::Filter { .. } | Node::Project { .. } | Node::Distinct { .. } | Node::Concat(_) => {
            [rows; 2]
        }
        Node::Aggregate {
            aggregates,
            kept,
            ordered,
            ..
        } => [!ordered && *kept == 0 && aggregates.iter().all(any_order); 2],
        Node::Sort { .. } => [true; 2],
        // What may be sought in stays as it is.
        Node::Join {
            right,
            kind,
            hash,
            apply: false,
            merge: false,
            ..
        } if !hash.is_empty() && SeekJoin::find(right, hash, *kind).is_none() => [rows; 2],
        // The right side is only looked up in.
        Node::SetOperation { .. } => [rows, true],
        Node::Assign { .. } | Node::Window { .. } | Node::Top { .. } | Node::Skip { .. } => {
            [false; 2]
        }
        _ => return None,
    })
}

impl Marker {
    /// `rows`: they may come in any order, and all of them are wanted.
    fn mark(&self, plan: Plan, rows: bool) -> Plan {
        if plan.correlated {
            return plan;
        }
        if self.is_zone(&plan, rows) {
            return self.zone(plan, rows);
        }
        let Some(orders) = orders(&plan.node, rows) else {
            return plan;
        };
        let all = matches!(plan.node, Node::Concat(_));
        let mut orders = orders.into_iter();
        self.over(plan, &mut |p| {
            let rows = if all {
                rows
            } else {
                orders.next().unwrap_or(false)
            };
            self.mark(p, rows)
        })
    }

    /// The same plan over what becomes of its inputs.
    fn over(&self, plan: Plan, f: &mut dyn FnMut(Plan) -> Plan) -> Plan {
        Plan {
            node: with_inputs(plan.node, f),
            ..plan
        }
    }

    /// The plan as a zone; the kept sides of its joins may have zones of their own.
    fn zone(&self, plan: Plan, rows: bool) -> Plan {
        let columns = plan.columns.clone();
        Plan {
            node: Node::Parallel {
                zone: Arc::new(self.with_kept_sides(plan)),
                cost: self.cost,
                max_degree: self.max_degree,
                any_order: rows,
            },
            columns,
            correlated: false,
        }
    }

    fn with_kept_sides(&self, plan: Plan) -> Plan {
        // What is kept of a join, and what may be sought in: the one by place, the other stays as it is.
        let (kept, sought) = match &plan.node {
            Node::Join {
                left,
                right,
                kind,
                hash,
                ..
            } => match builds_left(left, right) {
                true => (Some(0), false),
                false => (Some(1), SeekJoin::find(right, hash, *kind).is_some()),
            },
            _ => (None, false),
        };
        let mut place = 0;
        self.over(plan, &mut |p| {
            let own = kept == Some(place);
            place += 1;
            match own {
                true if sought => p,
                true => self.mark(p, true),
                false => self.with_kept_sides(p),
            }
        })
    }

    fn is_zone(&self, plan: &Plan, rows: bool) -> bool {
        match &plan.node {
            Node::Sort { input, keys } => keys.iter().all(|k| is_plain(&k.expr)) && streams(input),
            Node::Aggregate {
                input,
                groups,
                aggregates,
                kept: 0,
                ordered: false,
            } => {
                let sent = rows && !groups.is_empty() && aggregates.iter().all(is_sendable);
                groups.iter().all(is_plain)
                    && aggregates
                        .iter()
                        .all(|a| a.input.as_ref().is_none_or(is_plain))
                    && (sent || aggregates.iter().all(is_mergeable))
                    && streams(input)
            }
            _ => rows && streams(plan) && is_worth_gathering(plan),
        }
    }
}

/// Whether every thread computes it alike, and may. A subquery is run by each thread that comes to it: one that reads
/// stored tables and nothing of the session's.
fn is_plain(e: &Expr) -> bool {
    computes_alike(e, 0)
}

/// `inside`: of how many subqueries.
fn computes_alike(e: &Expr, inside: usize) -> bool {
    let mut plain = match &e.kind {
        Kind::Global(_) => false,
        Kind::Column { depth, .. } => *depth <= inside,
        Kind::Scalar(p)
        | Kind::Exists(p)
        | Kind::InQuery { plan: p, .. }
        | Kind::Quantified { plan: p, .. } => reads_alike(p, inside + 1),
        _ => !is_volatile(e),
    };
    e.for_each_child(&mut |c| plain = plain && computes_alike(c, inside));
    plain
}

fn reads_alike(plan: &Plan, inside: usize) -> bool {
    let mut alike = match &plan.node {
        // Locks that stay are taken by the statement's own thread.
        Node::Scan { lock, .. } => {
            let stays = matches!(
                lock.level,
                Some(IsolationLevel::RepeatableRead | IsolationLevel::Serializable)
            );
            lock.intent == LockIntent::Read && lock.grain == LockGrain::Row && !stays
        }
        Node::Virtual { .. }
        | Node::WorkTable { .. }
        | Node::Recursive { .. }
        | Node::Assign { .. }
        | Node::Parallel { .. } => false,
        _ => true,
    };
    each_expr(plan, &mut |e| alike = alike && computes_alike(e, inside));
    match &plan.node {
        Node::Join {
            left, right, apply, ..
        } => alike && reads_alike(left, inside) && reads_alike(right, inside + usize::from(*apply)),
        node => {
            each_input(node, &mut |p| alike = alike && reads_alike(p, inside));
            alike
        }
    }
}

/// Whether rows of a scan reach here one by one, on whichever thread.
fn streams(plan: &Plan) -> bool {
    if plan.correlated {
        return false;
    }
    match &plan.node {
        Node::Filter { input, predicate } => is_plain(predicate) && streams(input),
        Node::Project { input, exprs } => exprs.iter().all(is_plain) && streams(input),
        Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            apply: false,
            merge: false,
        } => {
            let plain = hash.iter().all(|(l, r)| is_plain(l) && is_plain(r));
            let on = on.as_ref().is_none_or(is_plain);
            let few = estimate(left).rows <= FEW_ROWS as f64;
            let seeks = few && SeekJoin::find(right, hash, *kind).is_some();
            let probed = match builds_left(left, right) {
                true => streams(right),
                false => streams(left),
            };
            !hash.is_empty() && plain && on && !seeks && probed
        }
        Node::Scan { seek, lock, .. } => {
            let seeks = seek.iter().all(|s| {
                let range = s.lower.iter().chain(&s.upper).map(|(e, _)| e);
                !s.backward && s.equal.iter().chain(range).all(is_plain)
            });
            let reads = lock.intent == LockIntent::Read && !lock.skip_locked;
            is_wide_scan(plan) && seeks && reads
        }
        _ => false,
    }
}

/// Whether gathering the rows costs less than two threads save: a join, or a filter that lets half of them through at
/// most. *Assumed.*
fn is_worth_gathering(plan: &Plan) -> bool {
    fn joins(plan: &Plan) -> bool {
        match &plan.node {
            // A subquery is dearer than a row.
            Node::Filter { predicate, .. } if predicate.has_subquery() => true,
            Node::Filter { input, .. } | Node::Project { input, .. } => joins(input),
            Node::Join { .. } => true,
            _ => false,
        }
    }
    let read = match &driving(plan).node {
        Node::Scan { table, .. } => table.def.size().rows as f64,
        _ => 0.0,
    };
    joins(plan) || estimate(plan).rows * 2.0 <= read
}

/// Whether the values may come in any order.
fn any_order(a: &Aggregate) -> bool {
    let float = matches!(a.ty.id, TypeId::Float | TypeId::Real);
    match a.kind {
        AggregateKind::CountStar
        | AggregateKind::Count
        | AggregateKind::Min
        | AggregateKind::Max => true,
        AggregateKind::Sum | AggregateKind::Avg => !float,
        _ => false,
    }
}

/// Whether what several threads have made of it can be put together.
fn is_mergeable(a: &Aggregate) -> bool {
    (any_order(a) || is_rounded(a)) && !a.distinct && a.list.is_none()
}

/// Whether one thread can make it of all values of a group, as they come.
fn is_sendable(a: &Aggregate) -> bool {
    any_order(a) && a.list.is_none()
}

/// Whether the order of the values shows in the last digits.
fn is_rounded(a: &Aggregate) -> bool {
    match a.kind {
        AggregateKind::Sum | AggregateKind::Avg => {
            matches!(a.ty.id, TypeId::Float | TypeId::Real)
        }
        AggregateKind::StDev | AggregateKind::StDevP | AggregateKind::Var | AggregateKind::VarP => {
            true
        }
        _ => false,
    }
}

/// Whether a zone's groups are made of each part of its scan, and put together in the order of the parts.
pub(crate) fn is_by_part(zone: &Plan) -> bool {
    matches!(&zone.node, Node::Aggregate { aggregates, .. } if aggregates.iter().any(is_rounded))
}

/// Whether the rows of a zone's groups may be sent to the threads of their keys.
pub(crate) fn may_send_groups(zone: &Plan, any_order: bool) -> bool {
    match &zone.node {
        Node::Aggregate {
            groups, aggregates, ..
        } => any_order && !groups.is_empty() && aggregates.iter().all(is_sendable),
        _ => false,
    }
}

/// Whether they have to: what threads have made of a group each cannot be put together.
fn has_to_send_groups(zone: &Plan) -> bool {
    matches!(&zone.node, Node::Aggregate { aggregates, .. } if !aggregates.iter().all(is_mergeable))
}

/// Where rows of a zone change threads, when `degree` of them run it: at its groups, or at one of its joins. See
/// `batch::repartition` for what that costs.
pub fn repartition_point<'p>(
    zone: &'p Plan,
    degree: usize,
    any_order: bool,
    allowed: &Parallelism,
) -> Option<&'p Plan> {
    let least = allowed.sent_from;
    let degree = degree as f64;
    let below: &Plan = match &zone.node {
        Node::Aggregate { .. } if has_to_send_groups(zone) => return Some(zone),
        Node::Aggregate { input, .. } => {
            let groups = estimate(zone).rows;
            // 30 ns for a group of each thread's, by one; 10 ns for a row, by all.
            let dear = groups * degree * degree * 3.0 > estimate(input).rows;
            if groups >= least && dear && may_send_groups(zone, any_order) {
                return Some(zone);
            }
            if is_by_part(zone) {
                return None;
            }
            input
        }
        Node::Sort { input, .. } => input,
        _ if any_order => zone,
        _ => return None,
    };
    sent_join(below, degree, least)
}

/// The part of a join's kept side that several threads can read, each some of it: all of it, or nothing.
pub(crate) fn read_by_many(side: &Plan) -> Option<&Plan> {
    match &side.node {
        Node::Parallel { zone, .. } => (top(zone) == Top::Rows).then_some(&**zone),
        _ => streams(side).then_some(side),
    }
}

/// The first join whose kept side is dearer to make by one thread (40 ns a row) than to send, with the other, by all (10 ns
/// a row), and can be read by several.
fn sent_join(plan: &Plan, degree: f64, least: f64) -> Option<&Plan> {
    match &plan.node {
        Node::Filter { input, .. } | Node::Project { input, .. } => sent_join(input, degree, least),
        Node::Join { left, right, .. } => {
            let (kept, probing) = match builds_left(left, right) {
                true => (left, right),
                false => (right, left),
            };
            let (rows, others) = (estimate(kept).rows, estimate(probing).rows);
            let dear = 4.0 * rows * (degree - 1.0) > rows + others;
            match rows >= least && dear && read_by_many(kept).is_some() {
                true => Some(plan),
                false => sent_join(probing, degree, least),
            }
        }
        _ => None,
    }
}
