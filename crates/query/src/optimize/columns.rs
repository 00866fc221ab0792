//! Columns in expressions: which are read, and what they are called where the expression moves to.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::expr::{Expr, Kind};
use crate::plan::{Node, Plan, Seek};

/// Gives every column of an expression without subqueries another depth and place.
pub fn remap(e: &mut Expr, f: &mut dyn FnMut(&mut usize, &mut usize)) {
    if let Kind::Column { depth, index } = &mut e.kind {
        f(depth, index);
    }
    let _ = e.try_for_each_child(&mut |c| {
        remap(c, f);
        Ok(())
    });
}

/// The expression over a row whose columns of this depth stand elsewhere.
pub fn moved(e: &Expr, to: impl Fn(usize) -> usize) -> Expr {
    let mut e = e.clone();
    remap(&mut e, &mut |depth, index| {
        if *depth == 0 {
            *index = to(*index);
        }
    });
    e
}

/// Whether the value may differ from one look to the next, or the evaluation do something.
pub fn is_volatile(e: &Expr) -> bool {
    e.any(&|e| match &e.kind {
        Kind::Function { function, .. } => {
            matches!(function.name, "newid" | "rand" | "newsequentialid")
        }
        Kind::Session { .. } | Kind::User { .. } => true,
        _ => false,
    })
}

/// Whether it may stand elsewhere in the plan, with its columns called anew.
pub fn is_movable(e: &Expr) -> bool {
    !e.has_subquery() && !is_volatile(e)
}

/// The columns of the row at hand that an expression reads, those that its subqueries read included.
pub fn read_by(e: &Expr, out: &mut BTreeSet<usize>) {
    each_read(e, &mut |c| {
        out.insert(c);
    });
}

/// Names them, some more than once.
pub fn each_read(e: &Expr, f: &mut dyn FnMut(usize)) {
    read_at(e, 0, f);
}

/// Names what is read of the row that is `depth` rows outside of the one at hand.
fn read_at(e: &Expr, depth: usize, f: &mut dyn FnMut(usize)) {
    match &e.kind {
        Kind::Column { depth: d, index } if *d == depth => f(*index),
        Kind::Scalar(p)
        | Kind::Exists(p)
        | Kind::InQuery { plan: p, .. }
        | Kind::Quantified { plan: p, .. } => read_outside(p, depth + 1, f),
        _ => {}
    }
    e.for_each_child(&mut |c| read_at(c, depth, f));
}

/// Names what a plan reads of the row that is `depth` rows outside of its own.
fn read_outside(plan: &Plan, depth: usize, f: &mut dyn FnMut(usize)) {
    each_expr(plan, &mut |e| read_at(e, depth, f));
    match &plan.node {
        Node::Join {
            left, right, apply, ..
        } => {
            read_outside(left, depth, f);
            read_outside(right, depth + usize::from(*apply), f);
        }
        node => each_input(node, &mut |p| read_outside(p, depth, f)),
    }
}

/// Collects what a plan reads of the row that is `depth` rows outside of its own.
pub fn outer_of(plan: &Plan, depth: usize, out: &mut BTreeSet<usize>) {
    read_outside(plan, depth, &mut |c| {
        out.insert(c);
    });
}

fn seek_exprs<'s>(seek: &'s Seek, f: &mut dyn FnMut(&'s Expr)) {
    seek.equal.iter().for_each(&mut *f);
    seek.lower.iter().chain(&seek.upper).for_each(|(e, _)| f(e));
}

/// The expressions of a node itself.
pub fn each_expr<'p>(plan: &'p Plan, f: &mut dyn FnMut(&'p Expr)) {
    match &plan.node {
        Node::OneRow | Node::WorkTable { .. } | Node::Recursive { .. } | Node::Parallel { .. } => {}
        Node::Distinct { .. } | Node::Concat(_) | Node::SetOperation { .. } => {}
        Node::Values(rows) => rows.iter().flatten().for_each(f),
        Node::Scan { seek, reach, .. } => {
            if let Some(s) = seek {
                seek_exprs(s, f);
            }
            reach.iter().flat_map(|r| r.values()).for_each(f);
        }
        Node::Virtual { args, .. } => args.iter().for_each(f),
        Node::Filter { predicate, .. } => f(predicate),
        Node::Project { exprs, .. } => exprs.iter().for_each(f),
        Node::Assign { targets, .. } => targets.iter().for_each(|(_, e)| f(e)),
        Node::Join { hash, on, .. } => {
            for (l, r) in hash {
                f(l);
                f(r);
            }
            on.iter().for_each(f);
        }
        Node::Aggregate {
            groups, aggregates, ..
        } => {
            groups.iter().for_each(&mut *f);
            for a in aggregates {
                a.input.iter().for_each(&mut *f);
                if let Some((separator, keys)) = &a.list {
                    f(separator);
                    keys.iter().for_each(|k| f(&k.expr));
                }
            }
        }
        Node::Window { calls, .. } => {
            for call in calls {
                call.args.iter().for_each(&mut *f);
                call.partition.iter().for_each(&mut *f);
                call.order.iter().for_each(|k| f(&k.expr));
            }
        }
        Node::Sort { keys, .. } => keys.iter().for_each(|k| f(&k.expr)),
        Node::Top { count, ties, .. } => {
            f(count);
            ties.iter().for_each(f);
        }
        Node::Skip { count, .. } => f(count),
    }
}

/// The plans of an expression's subqueries, those within them not.
pub fn each_subquery<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Arc<Plan>)) {
    match &e.kind {
        Kind::Scalar(p)
        | Kind::Exists(p)
        | Kind::InQuery { plan: p, .. }
        | Kind::Quantified { plan: p, .. } => f(p),
        _ => {}
    }
    e.for_each_child(&mut |c| each_subquery(c, f));
}

/// The inputs of a node.
pub fn each_input<'p>(node: &'p Node, f: &mut dyn FnMut(&'p Plan)) {
    match node {
        Node::OneRow
        | Node::Values(_)
        | Node::Scan { .. }
        | Node::Virtual { .. }
        | Node::WorkTable { .. } => {}
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Assign { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Window { input, .. }
        | Node::Sort { input, .. }
        | Node::Top { input, .. }
        | Node::Skip { input, .. }
        | Node::Distinct { input } => f(input),
        Node::Join { left, right, .. } | Node::SetOperation { left, right, .. } => {
            f(left);
            f(right);
        }
        Node::Recursive {
            anchor, members, ..
        } => {
            f(anchor);
            members.iter().for_each(f);
        }
        Node::Parallel { zone, .. } => f(zone),
        Node::Concat(inputs) => inputs.iter().for_each(f),
    }
}

/// The node over other inputs: what `f` makes of each, in their order.
pub fn with_inputs(node: Node, f: &mut dyn FnMut(Plan) -> Plan) -> Node {
    let mut one = |p: Box<Plan>| Box::new(f(*p));
    match node {
        Node::OneRow
        | Node::Values(_)
        | Node::Scan { .. }
        | Node::Virtual { .. }
        | Node::WorkTable { .. }
        // Shared with the threads that run it.
        | Node::Parallel { .. } => node,
        Node::Filter { input, predicate } => Node::Filter {
            input: one(input),
            predicate,
        },
        Node::Project { input, exprs } => Node::Project {
            input: one(input),
            exprs,
        },
        Node::Assign { input, targets } => Node::Assign {
            input: one(input),
            targets,
        },
        Node::Aggregate {
            input,
            groups,
            aggregates,
            kept,
            ordered,
        } => Node::Aggregate {
            input: one(input),
            groups,
            aggregates,
            kept,
            ordered,
        },
        Node::Window { input, calls } => Node::Window {
            input: one(input),
            calls,
        },
        Node::Sort { input, keys } => Node::Sort {
            input: one(input),
            keys,
        },
        Node::Top {
            input,
            count,
            percent,
            fetch,
            ties,
        } => Node::Top {
            input: one(input),
            count,
            percent,
            fetch,
            ties,
        },
        Node::Skip { input, count } => Node::Skip {
            input: one(input),
            count,
        },
        Node::Distinct { input } => Node::Distinct { input: one(input) },
        Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            apply,
            merge,
        } => Node::Join {
            left: one(left),
            right: one(right),
            kind,
            hash,
            on,
            apply,
            merge,
        },
        Node::SetOperation {
            left,
            right,
            keep_common,
        } => Node::SetOperation {
            left: one(left),
            right: one(right),
            keep_common,
        },
        Node::Recursive {
            anchor,
            members,
            id,
            limit,
        } => Node::Recursive {
            anchor: one(anchor),
            members: members.into_iter().map(f).collect(),
            id,
            limit,
        },
        Node::Concat(inputs) => Node::Concat(inputs.into_iter().map(f).collect()),
    }
}
