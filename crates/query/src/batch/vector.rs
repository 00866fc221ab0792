//! Expressions over whole batches.
//!
//! The row evaluator ([`Expr::eval`]) is the only one that knows what an expression means. What is here computes the same
//! for many rows at once where nothing can go wrong on the way, and gives up ([`ByRow`]) as soon as something does: a
//! number that does not fit, a division by zero, a conversion that fails. The batch is then evaluated row by row, with
//! the answers and the error that this has. So every part of a CASE or an AND may be computed for all rows: only
//! expressions without side effects come here ([`is_plain`]), and an error in a part that a row does not take is not one.

use std::sync::Arc;

use duramen_os::thread;
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{ConvertCtx, Value};

use duramen_base::SqlResult;
use duramen_columns::kernels::{self, Truth};
use duramen_columns::{ByRow, CompareOp, Vector, Vectored};

use crate::cx::Cx;
use crate::expr::{Expr, Kind};

/// What an expression may read besides its row.
pub struct World<'a> {
    pub vars: &'a [Value],
    pub convert: &'a ConvertCtx,
}

/// Rows that are asked one by one between two looks.
const ROWS: usize = 64;
/// Parts of a long expression between two looks: some microseconds for each of a batch's rows.
const PARTS: usize = 16;

/// After the part with this number: nobody may want the others. Whoever then asks row by row looks first.
fn after_part(number: usize) -> Vectored<()> {
    match number % PARTS == PARTS - 1 && thread::is_given_up() {
        true => Err(ByRow),
        false => Ok(()),
    }
}

/// Whether the expression can be computed for a batch at a time.
pub fn is_plain(e: &Expr) -> bool {
    let own = matches!(
        &e.kind,
        Kind::Const(_)
            | Kind::Column { depth: 0, .. }
            | Kind::Variable(_)
            | Kind::Arithmetic(..)
            | Kind::Negate(_)
            | Kind::BitNot(_)
            | Kind::Convert { style: None, .. }
            | Kind::Case { .. }
            | Kind::Compare(..)
            | Kind::And(_)
            | Kind::Or(_)
            | Kind::Not(_)
            | Kind::IsNull { .. }
            | Kind::In { .. }
            | Kind::Like { escape: None, .. }
    );
    // Of a (max) type each value asks for its room when it is made: row by row. A conversion makes a large one of a large
    // one only; what INSERT puts into a column of characters is of such a type while its length is looked at.
    let makes_large = e.ty.is_max()
        && match &e.kind {
            Kind::Arithmetic(..) | Kind::Case { .. } => true,
            Kind::Convert { input, .. } => input.ty.is_max(),
            _ => false,
        };
    let mut plain = own && !makes_large;
    e.for_each_child(&mut |c| plain = plain && is_plain(c));
    plain
}

/// The values of a plain expression.
pub fn vector(e: &Expr, batch: &Batch, world: &World<'_>) -> Vectored<Vector> {
    let n = batch.rows();
    let column = |c: Column| Ok(Vector::Column(Arc::new(c)));
    match &e.kind {
        Kind::Const(v) => Ok(Vector::Const(v.clone())),
        Kind::Column { depth: 0, index } => match batch.columns().get(*index) {
            Some(c) if !(c.is_absent() || e.ty.is_max() && c.has_spooled()) => {
                Ok(Vector::Column(c.clone()))
            }
            _ => Err(ByRow),
        },
        Kind::Variable(slot) => world
            .vars
            .get(*slot)
            .filter(|v| !matches!(v, Value::Spooled(_)))
            .map(|v| Vector::Const(v.clone()))
            .ok_or(ByRow),
        Kind::Arithmetic(op, l, r) => {
            let a = vector(l, batch, world)?;
            let b = vector(r, batch, world)?;
            kernels::arithmetic(*op, (&a, &l.ty), (&b, &r.ty), &e.ty, n, world.convert)
        }
        Kind::Negate(input) => {
            let a = vector(input, batch, world)?;
            kernels::each(&a, n, &e.ty, |v| {
                duramen_types::negate(v, &input.ty).map_err(|_| ByRow)
            })
        }
        Kind::BitNot(input) => {
            let a = vector(input, batch, world)?;
            kernels::each(&a, n, &e.ty, |v| {
                duramen_types::bit_not(v, &input.ty).map_err(|_| ByRow)
            })
        }
        Kind::Convert {
            input,
            style: None,
            or_null,
        } => {
            let a = vector(input, batch, world)?;
            kernels::convert(&a, &input.ty, &e.ty, *or_null, n, world.convert)
        }
        Kind::Case {
            branches,
            otherwise,
        } => column(case(e, branches, otherwise.as_deref(), batch, world)?),
        _ => {
            let t = truth(e, batch, world)?;
            let bits = t.holds.iter().map(|b| i64::from(*b)).collect();
            column(Column::with_nulls(
                Data::Ints(IntKind::Bit, bits),
                t.unknown,
            ))
        }
    }
}

fn case(
    e: &Expr,
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    batch: &Batch,
    world: &World<'_>,
) -> Vectored<Column> {
    let n = batch.rows();
    // Which branch each row takes; the last number is that of ELSE.
    let mut taken = vec![branches.len(); n];
    let mut values = Vec::with_capacity(branches.len() + 1);
    for (at, (when, then)) in branches.iter().enumerate() {
        let holds = truth(when, batch, world)?.holds;
        for (slot, holds) in taken.iter_mut().zip(&holds) {
            if *holds && *slot == branches.len() {
                *slot = at;
            }
        }
        values.push(vector(then, batch, world)?);
        after_part(at)?;
    }
    values.push(match otherwise {
        Some(e) => vector(e, batch, world)?,
        None => Vector::Const(Value::Null),
    });
    let mut out = Column::of(&e.ty);
    for (i, at) in taken.into_iter().enumerate() {
        out.push(values[at].get(i));
    }
    Ok(out)
}

/// The truth of a plain predicate.
pub fn truth(e: &Expr, batch: &Batch, world: &World<'_>) -> Vectored<Truth> {
    let n = batch.rows();
    match &e.kind {
        Kind::Compare(op, l, r) => {
            let a = vector(l, batch, world)?;
            let b = vector(r, batch, world)?;
            Ok(kernels::compare(*op, &a, &b, l.ty.collation, n))
        }
        Kind::And(parts) => {
            let mut all = Truth::of(true, n);
            for (i, p) in parts.iter().enumerate() {
                all = all.and(truth(p, batch, world)?);
                after_part(i)?;
            }
            Ok(all)
        }
        Kind::Or(parts) => {
            let mut none = Truth::of(true, n);
            for (i, p) in parts.iter().enumerate() {
                none = none.and(truth(p, batch, world)?.negated());
                after_part(i)?;
            }
            Ok(none.negated())
        }
        Kind::Not(input) => Ok(truth(input, batch, world)?.negated()),
        Kind::IsNull { input, negated } => {
            let v = vector(input, batch, world)?;
            let holds = (0..n).map(|i| v.is_null(i) != *negated).collect();
            Ok(Truth {
                holds,
                unknown: Vec::new(),
            })
        }
        Kind::In {
            item,
            list,
            negated,
        } => {
            let needle = vector(item, batch, world)?;
            let mut none = Truth::of(true, n);
            for (i, e) in list.iter().enumerate() {
                let v = vector(e, batch, world)?;
                let same = kernels::compare(CompareOp::Eq, &needle, &v, item.ty.collation, n);
                none = none.and(same.negated());
                after_part(i)?;
            }
            Ok(if *negated { none } else { none.negated() })
        }
        Kind::Like {
            input,
            pattern,
            escape: None,
            negated,
        } => {
            let text = vector(input, batch, world)?;
            let Vector::Const(pattern) = vector(pattern, batch, world)? else {
                return Err(ByRow);
            };
            // What is given up the rows meet, too.
            kernels::like(&text, &pattern, *negated, input.ty.collation, n).map_err(|_| ByRow)
        }
        _ => {
            let v = vector(e, batch, world)?;
            Ok(kernels::non_zero(&v, n))
        }
    }
}

/// An expression that an operator evaluates batch after batch.
pub struct BatchExpr<'p> {
    pub expr: &'p Expr,
    plain: bool,
}

impl<'p> BatchExpr<'p> {
    pub fn new(expr: &'p Expr) -> BatchExpr<'p> {
        BatchExpr {
            expr,
            plain: is_plain(expr),
        }
    }

    pub fn all(exprs: impl IntoIterator<Item = &'p Expr>) -> Vec<BatchExpr<'p>> {
        exprs.into_iter().map(BatchExpr::new).collect()
    }

    fn vector(&self, batch: &Batch, cx: &Cx<'_>) -> Vectored<Vector> {
        let world = World {
            vars: cx.vars,
            convert: &cx.convert,
        };
        match self.plain {
            // A column that goes on as it is may have values that are not in memory.
            true if let Kind::Column { depth: 0, index } = self.expr.kind => {
                match batch.columns().get(index) {
                    Some(c) if !c.is_absent() => Ok(Vector::Column(c.clone())),
                    _ => Err(ByRow),
                }
            }
            true => vector(self.expr, batch, &world),
            false => Err(ByRow),
        }
    }
}

/// A column of each expression. Those that must be evaluated row by row are, all of them for one row before the next.
pub fn columns(
    exprs: &[BatchExpr<'_>],
    batch: &Batch,
    cx: &mut Cx<'_>,
) -> SqlResult<Vec<Arc<Column>>> {
    let n = batch.rows();
    let mut out: Vec<Option<Arc<Column>>> = Vec::with_capacity(exprs.len());
    for e in exprs {
        out.push(match e.vector(batch, cx) {
            Ok(Vector::Column(c)) => Some(c),
            Ok(Vector::Const(v)) => Some(Arc::new(kernels::repeated(&v, &e.expr.ty, n))),
            Err(ByRow) => None,
        });
    }
    if out.iter().any(Option::is_none) {
        let mut slow: Vec<Column> = Vec::new();
        let late: Vec<&Expr> = exprs
            .iter()
            .zip(&out)
            .filter(|(_, done)| done.is_none())
            .map(|(e, _)| e.expr)
            .collect();
        slow.extend(late.iter().map(|e| Column::of(&e.ty)));
        for i in 0..n {
            if i % ROWS == 0 {
                cx.check_cancelled()?;
            }
            let row = batch.row(i);
            for (column, e) in slow.iter_mut().zip(&late) {
                column.push(e.eval(&row, cx)?);
            }
        }
        let mut slow = slow.into_iter();
        for slot in out.iter_mut().filter(|slot| slot.is_none()) {
            *slot = slow.next().map(Arc::new);
        }
    }
    Ok(out.into_iter().flatten().collect())
}

/// The rows of a batch for which a predicate holds.
pub fn select(predicate: &BatchExpr<'_>, batch: &Batch, cx: &mut Cx<'_>) -> SqlResult<Vec<u32>> {
    let world = World {
        vars: cx.vars,
        convert: &cx.convert,
    };
    let known = match predicate.plain {
        true => truth(predicate.expr, batch, &world),
        false => Err(ByRow),
    };
    let mut rows = Vec::with_capacity(batch.rows());
    match known {
        Ok(t) => {
            let holds = t.holds.iter().enumerate();
            rows.extend(holds.filter(|(_, holds)| **holds).map(|(i, _)| i as u32));
        }
        Err(ByRow) => {
            for i in 0..batch.rows() {
                if i % ROWS == 0 {
                    cx.check_cancelled()?;
                }
                if predicate.expr.test(&batch.row(i), cx)? == Some(true) {
                    rows.push(i as u32);
                }
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use duramen_types::SqlType;

    use super::*;

    /// What INSERT makes of a column of characters goes by column, what may be large row by row.
    #[test]
    fn a_conversion_to_max_is_plain_where_no_value_is_large() {
        let converted = |from: SqlType| Expr {
            kind: Kind::Convert {
                input: Box::new(Expr::column(0, from, true)),
                style: None,
                or_null: false,
            },
            ty: SqlType::VARCHAR_MAX,
            nullable: true,
        };
        assert!(is_plain(&converted(SqlType::varchar(8000))));
        assert!(!is_plain(&converted(SqlType::VARCHAR_MAX)));
        assert!(!is_plain(&converted(SqlType::XML)));
    }
}
