//! What stands below a node of a plan: its inputs and its expressions. Whoever walks plans for something that concerns few
//! kinds of nodes asks here for the others.

use std::sync::Arc;

use crate::expr::{Expr, Kind};
use crate::plan::{Node, Plan, Seek};

/// Calls `$f` with every input of a node, read or changed as the node is; with a zone, which the threads that run it share,
/// `$zone`.
macro_rules! inputs {
    ($node:expr, $f:ident, $zone:expr) => {
        match $node {
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
            | Node::Distinct { input } => $f(input),
            Node::Join { left, right, .. } | Node::SetOperation { left, right, .. } => {
                $f(left);
                $f(right);
            }
            Node::Recursive {
                anchor, members, ..
            } => {
                $f(anchor);
                members.into_iter().for_each($f);
            }
            Node::Parallel { zone, .. } => $zone(zone),
            Node::Concat(inputs) => inputs.into_iter().for_each($f),
        }
    };
}

/// The inputs of a node, in their order.
pub fn each_input<'p>(node: &'p Node, f: &mut dyn FnMut(&'p Plan)) {
    inputs!(node, f, f);
}

/// The same to be changed, zones aside.
pub fn each_input_mut(node: &mut Node, f: &mut dyn FnMut(&mut Plan)) {
    inputs!(node, f, |_: &mut Arc<Plan>| {});
}

/// The node over other inputs: what `f` makes of each, in their order; a zone stays as it is.
pub fn with_inputs(mut node: Node, f: &mut dyn FnMut(Plan) -> Plan) -> Node {
    each_input_mut(&mut node, &mut |p| {
        let input = std::mem::replace(p, Plan::one_row());
        *p = f(input);
    });
    node
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
