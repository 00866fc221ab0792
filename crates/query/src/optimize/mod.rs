//! Choosing how a bound query runs: what it is expected to read and give out, and what that costs.

pub(crate) mod cost;
pub(crate) mod estimate;

use crate::expr::{CompareOp, Expr, Kind};
use crate::plan::{Node, Plan};

/// Whether the seek of the scan below gives out only rows for which this part of the condition above it holds.
pub(crate) fn answered(below: &Plan, part: &Expr) -> bool {
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
