//! Which parts of a plan several threads may run.
//!
//! A *zone* is a scan of a stored table with filters, projections and hash joins over it, and at its top nothing else, a
//! sort, or a grouping whose parts can be put together. It only reads; nothing in it asks the session, calls a user's
//! function, runs a subquery, or gives something else each time. Under TOP without a sort, under an assignment to
//! variables and where the rows' order was had from an index, rows are not gathered as they come, but a sort or a grouping
//! may still be one. A sum of floats depends on the order of its terms, so it stays with one thread.
//!
//! A zone is run by one thread all the same when the statement's cost does not exceed `cost threshold for parallelism`, or
//! MAXDOP says so, which is looked at each time it runs: see `batch::exchange`.

use std::sync::Arc;

use duramen_types::TypeId;

use crate::batch::{builds_left, is_wide_scan};
use crate::expr::{Expr, Kind};
use crate::locking::{LockGrain, LockIntent};
use crate::optimize::columns::is_movable;
use crate::optimize::estimate::estimate;
use crate::plan::{Aggregate, AggregateKind, JoinKind, Node, Plan};
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
pub(crate) fn marked(plan: Plan, in_order: bool, max_degree: Option<u64>) -> Plan {
    if max_degree == Some(1) || !has_zone(&plan) {
        return plan;
    }
    let cost = estimate(&plan).cost;
    Marker { cost, max_degree }.mark(plan, !in_order)
}

/// Whether there is anything to look for: most statements are smaller than that.
fn has_zone(plan: &Plan) -> bool {
    let mut found = is_wide_scan(plan);
    crate::optimize::columns::each_input(&plan.node, &mut |p| found = found || has_zone(p));
    found
}

struct Marker {
    cost: f64,
    max_degree: Option<u64>,
}

impl Marker {
    /// `rows`: they may come in any order, and all of them are wanted.
    fn mark(&self, plan: Plan, rows: bool) -> Plan {
        if plan.correlated {
            return plan;
        }
        if self.is_zone(&plan, rows) {
            return self.zone(plan);
        }
        let Plan {
            node,
            columns,
            correlated,
        } = plan;
        let boxed = |p: Box<Plan>, rows| Box::new(self.mark(*p, rows));
        let node = match node {
            Node::Filter { input, predicate } => Node::Filter {
                input: boxed(input, rows),
                predicate,
            },
            Node::Project { input, exprs } => Node::Project {
                input: boxed(input, rows),
                exprs,
            },
            Node::Assign { input, targets } => Node::Assign {
                input: boxed(input, false),
                targets,
            },
            Node::Aggregate {
                input,
                groups,
                aggregates,
                kept,
                ordered,
            } => {
                let any_order = !ordered && kept == 0 && aggregates.iter().all(any_order);
                Node::Aggregate {
                    input: boxed(input, any_order),
                    groups,
                    aggregates,
                    kept,
                    ordered,
                }
            }
            Node::Sort { input, keys } => Node::Sort {
                input: boxed(input, true),
                keys,
            },
            Node::Distinct { input } => Node::Distinct {
                input: boxed(input, rows),
            },
            Node::Window { input, calls } => Node::Window {
                input: boxed(input, false),
                calls,
            },
            Node::Top {
                input,
                count,
                percent,
                fetch,
                ties,
            } => Node::Top {
                input: boxed(input, false),
                count,
                percent,
                fetch,
                ties,
            },
            Node::Skip { input, count } => Node::Skip {
                input: boxed(input, false),
                count,
            },
            Node::Concat(inputs) => {
                let inputs = inputs.into_iter();
                Node::Concat(inputs.map(|p| self.mark(p, rows)).collect())
            }
            other => other,
        };
        Plan {
            node,
            columns,
            correlated,
        }
    }

    /// The plan as a zone; the kept sides of its joins may have zones of their own.
    fn zone(&self, plan: Plan) -> Plan {
        let columns = plan.columns.clone();
        Plan {
            node: Node::Parallel {
                zone: Arc::new(self.with_kept_sides(plan)),
                cost: self.cost,
                max_degree: self.max_degree,
            },
            columns,
            correlated: false,
        }
    }

    fn with_kept_sides(&self, plan: Plan) -> Plan {
        let Plan {
            node,
            columns,
            correlated,
        } = plan;
        let within = |p: Box<Plan>| Box::new(self.with_kept_sides(*p));
        let node = match node {
            Node::Filter { input, predicate } => Node::Filter {
                input: within(input),
                predicate,
            },
            Node::Project { input, exprs } => Node::Project {
                input: within(input),
                exprs,
            },
            Node::Sort { input, keys } => Node::Sort {
                input: within(input),
                keys,
            },
            Node::Aggregate {
                input,
                groups,
                aggregates,
                kept,
                ordered,
            } => Node::Aggregate {
                input: within(input),
                groups,
                aggregates,
                kept,
                ordered,
            },
            Node::Join {
                left,
                right,
                kind,
                hash,
                on,
                apply,
                merge,
            } => {
                let seeks = SeekJoin::find(&right, &hash, kind).is_some();
                let (left, right) = match builds_left(&left, &right) {
                    true => (Box::new(self.mark(*left, true)), within(right)),
                    false if seeks => (within(left), right),
                    false => (within(left), Box::new(self.mark(*right, true))),
                };
                Node::Join {
                    left,
                    right,
                    kind,
                    hash,
                    on,
                    apply,
                    merge,
                }
            }
            other => other,
        };
        Plan {
            node,
            columns,
            correlated,
        }
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
                groups.iter().all(is_plain)
                    && aggregates
                        .iter()
                        .all(|a| is_mergeable(a) && a.input.as_ref().is_none_or(is_plain))
                    && streams(input)
            }
            _ => rows && streams(plan) && is_worth_gathering(plan),
        }
    }
}

/// Whether every thread computes it alike, and may.
fn is_plain(e: &Expr) -> bool {
    is_movable(e)
        && !e.any(&|e| matches!(e.kind, Kind::Global(_) | Kind::Column { depth: 1.., .. }))
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
            let probed = match (builds_left(left, right), kind) {
                (true, JoinKind::Inner | JoinKind::Right) => streams(right),
                (false, JoinKind::Inner | JoinKind::Left) => streams(left),
                _ => false,
            };
            !hash.is_empty() && plain && on && !seeks && probed
        }
        Node::Scan { seek, lock, .. } => {
            let seeks = seek.iter().all(|s| {
                let range = s.lower.iter().chain(&s.upper).map(|(e, _)| e);
                !s.backward && s.equal.iter().chain(range).all(is_plain)
            });
            let reads = lock.intent == LockIntent::Read
                && lock.grain != LockGrain::Page
                && !lock.skip_locked;
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
    any_order(a) && !a.distinct && a.list.is_none()
}
