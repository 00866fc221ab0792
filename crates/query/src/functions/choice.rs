//! GREATEST and LEAST: binding has brought all arguments to one type; NULL does not count.

use std::cmp::Ordering;

use duramen_types::Value;

use super::Param::Comparable;
use super::{ScalarFunction, doc, same, strict};
use crate::expr::Expr;

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc("greatest", "the greatest of values", "GREATEST(1, 3, 2)"),
        &[Comparable],
        same,
        |v, args, _, _| Ok(outermost(v, args, Ordering::Greater)),
    )
    .compares()
    .unifies()
    .at_most(254)
    .sees_null(),
    strict(
        doc("least", "the least of values", "LEAST(3, 1, 2)"),
        &[Comparable],
        same,
        |v, args, _, _| Ok(outermost(v, args, Ordering::Less)),
    )
    .compares()
    .unifies()
    .at_most(254)
    .sees_null(),
];

fn outermost(values: &[Value], args: &[Expr], wanted: Ordering) -> Value {
    let collation = args[0].ty.collation;
    let mut best = &Value::Null;
    for v in values.iter().filter(|v| !v.is_null()) {
        if best.is_null() || duramen_types::compare(v, best, collation) == wanted {
            best = v;
        }
    }
    best.clone()
}
