//! What conditions say of the partitions to be read.

use std::ops::Range;

use duramen_base::SqlResult;
use duramen_columns::CompareOp;
use duramen_query::estimate::{shares, together};
use duramen_query::host::{Limit, Partitioning};
use duramen_query::plan::{Reach, Side};
use duramen_query::{Cx, Expr, Kind, Plan};
use duramen_types::SqlType;

use super::access::bound_of;

/// More alternatives are not looked at one by one.
const MOST: usize = 256;

/// What the parts of a condition say: bounds that all rows keep, and alternatives of which each row keeps one.
pub fn reach_of(scan: &Plan, of: &Partitioning, parts: &[Expr]) -> Option<Reach> {
    let mut said: Vec<&Expr> = Vec::new();
    let ((lower, upper), by) = bounds(parts, of.column, &of.ty);
    said.extend(by);
    let list = parts.iter().find_map(|p| {
        let any = alternatives(p, of.column, &of.ty).filter(|any| any.len() <= MOST)?;
        Some((p, any))
    });
    let any = list.map(|(part, any)| {
        said.push(part);
        any
    });
    if lower.is_none() && upper.is_none() && any.is_none() {
        return None;
    }
    let any = any.unwrap_or_default();
    let least = any.len().max(1) as f64 / (of.boundaries.len() + 1) as f64;
    Some(Reach {
        column: of.column,
        lower,
        upper,
        any,
        // A partition is read whole: half of one too many at each end.
        share: (together(shares(scan, &said)) + least).min(1.0),
    })
}

/// The bounds of the first conditions that give some, and these conditions.
fn bounds<'e>(
    parts: &'e [Expr],
    column: usize,
    ty: &SqlType,
) -> ((Option<Side>, Option<Side>), Vec<&'e Expr>) {
    let found = |wanted: &[CompareOp]| {
        parts.iter().find_map(|p| {
            let (op, e) = bound_of(p, column, ty, wanted)?;
            let mut free = true;
            e.visit_columns(&mut |_, _| free = false);
            let whole = !matches!(op, CompareOp::Lt | CompareOp::Gt);
            free.then_some((p, (e, whole)))
        })
    };
    let equal = found(&[CompareOp::Eq]);
    let low = equal
        .clone()
        .or_else(|| found(&[CompareOp::Gt, CompareOp::Ge]));
    let high = equal.or_else(|| found(&[CompareOp::Lt, CompareOp::Le]));
    let mut by: Vec<&Expr> = Vec::new();
    for (part, _) in low.iter().chain(&high) {
        if !by.iter().any(|s| std::ptr::eq(*s, *part)) {
            by.push(part);
        }
    }
    ((low.map(|(_, e)| e), high.map(|(_, e)| e)), by)
}

/// The bounds of each alternative of IN and OR; `None` when one says nothing of the column.
fn alternatives(
    e: &Expr,
    column: usize,
    ty: &SqlType,
) -> Option<Vec<(Option<Side>, Option<Side>)>> {
    let of_parts = |parts: &[Expr]| {
        let (found, _) = bounds(parts, column, ty);
        (found.0.is_some() || found.1.is_some()).then_some(found)
    };
    match &e.kind {
        Kind::In {
            item,
            list,
            negated: false,
        } => {
            let point = |value: &Expr| {
                let equal = Kind::Compare(CompareOp::Eq, item.clone(), Box::new(value.clone()));
                of_parts(&[Expr::predicate(equal)])
            };
            list.iter().map(point).collect()
        }
        Kind::Or(parts) => {
            let mut out = Vec::new();
            for part in parts {
                let one = match &part.kind {
                    Kind::And(all) => of_parts(all),
                    _ => of_parts(std::slice::from_ref(part)),
                };
                match one {
                    Some(one) => out.push(one),
                    None => out.extend(match &part.kind {
                        Kind::And(all) => all.iter().find_map(|p| alternatives(p, column, ty))?,
                        _ => alternatives(part, column, ty)?,
                    }),
                }
            }
            Some(out)
        }
        _ => None,
    }
}

/// What is asked of a partitioning: the numbers of the partitions that hold values between two limits.
pub type Between<'a> = &'a dyn Fn(&Limit, &Limit) -> Range<usize>;

/// What a condition that is not false says of a row: the partitions that it can be in, where `total` are, when its value in
/// the column is not NULL; and whether NULL makes the condition false. Only comparisons with constants are looked at.
pub fn allowed(
    e: &Expr,
    (column, ty): (usize, &SqlType),
    between: Between<'_>,
    total: usize,
    cx: &mut Cx<'_>,
) -> SqlResult<(Vec<bool>, bool)> {
    let all = || (vec![true; total], false);
    let mut joined = |parts: &[Expr], any: bool| -> SqlResult<(Vec<bool>, bool)> {
        let mut out = (vec![!any; total], any && !parts.is_empty());
        for part in parts {
            let (of_part, rejects) = allowed(part, (column, ty), between, total, cx)?;
            for (one, own) in out.0.iter_mut().zip(of_part) {
                *one = if any { *one || own } else { *one && own };
            }
            out.1 = if any {
                out.1 && rejects
            } else {
                out.1 || rejects
            };
        }
        Ok(out)
    };
    match &e.kind {
        Kind::And(parts) => joined(parts, false),
        Kind::Or(parts) => joined(parts, true),
        Kind::IsNull {
            input,
            negated: true,
        } if matches!(input.kind, Kind::Column { depth: 0, index } if index == column) => {
            Ok((vec![true; total], true))
        }
        Kind::In {
            item,
            list,
            negated: false,
        } => {
            let equal = |value: &Expr| {
                let kind = Kind::Compare(CompareOp::Eq, item.clone(), Box::new(value.clone()));
                Expr::predicate(kind)
            };
            // NULL in the list makes nothing false.
            let parts: Vec<Expr> = list.iter().map(equal).collect();
            let (found, _) = joined(&parts, true)?;
            Ok((found, false))
        }
        Kind::Compare(..) => {
            let wanted = [
                CompareOp::Eq,
                CompareOp::Lt,
                CompareOp::Le,
                CompareOp::Gt,
                CompareOp::Ge,
            ];
            let Some((op, value)) = bound_of(e, column, ty, &wanted) else {
                return Ok(all());
            };
            if !is_constant(&value) {
                return Ok(all());
            }
            let value = value.eval(&[], cx)?;
            if value.is_null() {
                return Ok(all());
            }
            let whole = !matches!(op, CompareOp::Lt | CompareOp::Gt);
            let limit = Some((value, whole));
            let range = match op {
                CompareOp::Eq => between(&limit, &limit),
                CompareOp::Lt | CompareOp::Le => between(&None, &limit),
                _ => between(&limit, &None),
            };
            Ok(((0..total).map(|n| range.contains(&n)).collect(), false))
        }
        _ => Ok(all()),
    }
}

fn is_constant(e: &Expr) -> bool {
    match &e.kind {
        Kind::Const(_) => true,
        Kind::Negate(input) => is_constant(input),
        Kind::Convert {
            input, style: None, ..
        } => is_constant(input),
        _ => false,
    }
}
