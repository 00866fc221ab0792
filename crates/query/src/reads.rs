//! Columns in expressions: which are read, and what they are called where the expression moves to.

use std::collections::BTreeSet;

use crate::children::{each_expr, each_input};
use crate::expr::{Expr, Kind};
use crate::functions::Stability;
use crate::plan::{Node, Plan};

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
        Kind::Function { function, .. } => function.stability == Stability::Never,
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
