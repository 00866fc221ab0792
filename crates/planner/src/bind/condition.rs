//! Binding of conditions: comparisons, of subqueries too, with both sides brought to one type; IN, LIKE, BETWEEN and their
//! like.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_columns::CompareOp;
use duramen_query::{Expr, Kind};
use duramen_tsql::ast::{self, ExprKind};
use duramen_types::{SqlType, TypeId, Value};

use super::called;
use super::expr::{is_null, operand_type};
use super::{Aggregates, Binder, Scope, collation, unsupported};

impl Binder<'_> {
    #[expect(clippy::too_many_lines, reason = "one arm a condition")]
    pub(super) fn condition(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let kind = match &e.kind {
            ExprKind::Compare { op, left, right } => {
                let l = self.expr(left, scope, agg)?;
                let r = self.expr(right, scope, agg)?;
                return self.compare(compare_op(*op), l, r);
            }
            ExprKind::And(l, r) => {
                Kind::And(vec![self.expr(l, scope, agg)?, self.expr(r, scope, agg)?])
            }
            ExprKind::Or(l, r) => {
                Kind::Or(vec![self.expr(l, scope, agg)?, self.expr(r, scope, agg)?])
            }
            ExprKind::Not(inner) => Kind::Not(self.boxed(inner, scope, agg)?),
            ExprKind::IsNull { expr, negated } => Kind::IsNull {
                input: Box::new(self.of_any_kind(expr, scope, agg)?),
                negated: *negated,
            },
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => {
                let item = self.expr(expr, scope, agg)?;
                let low = self.expr(low, scope, agg)?;
                let high = self.expr(high, scope, agg)?;
                let at_least = self.compare(CompareOp::Ge, item.clone(), low)?;
                let at_most = self.compare(CompareOp::Le, item, high)?;
                let both = Kind::And(vec![at_least, at_most]);
                if *negated {
                    Kind::Not(Box::new(Expr::predicate(both)))
                } else {
                    both
                }
            }
            ExprKind::InList {
                expr,
                list,
                negated,
            } => {
                let mut items = vec![self.expr(expr, scope, agg)?];
                for i in list {
                    items.push(self.expr(i, scope, agg)?);
                }
                let decided = collation::decided(&items, "equal to")?;
                let mut items = self.unify(items)?;
                let mut item = Box::new(items.remove(0));
                if item.ty.id.is_string() {
                    item.ty.collation = decided.unwrap_or(item.ty.collation);
                }
                Kind::In {
                    item,
                    list: items,
                    negated: *negated,
                }
            }
            ExprKind::InQuery {
                expr,
                query,
                negated,
            } => {
                let item = self.expr(expr, scope, agg)?;
                let (item, plan) = self.with_subquery(item, query, scope)?;
                Kind::InQuery {
                    item,
                    plan,
                    negated: *negated,
                }
            }
            ExprKind::Exists(query) => self.exists(query, scope)?,
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated,
            } => {
                let mut input = self.as_string(expr, scope, agg)?;
                let pattern = self.as_string(pattern, scope, agg)?;
                let decided = collation::decided([&input, &pattern], "like")?;
                input.ty.collation = decided.unwrap_or(input.ty.collation);
                Kind::Like {
                    input: Box::new(input),
                    pattern: Box::new(pattern),
                    escape: match escape {
                        Some(e) => Some(Box::new(self.as_string(e, scope, agg)?)),
                        None => None,
                    },
                    negated: *negated,
                }
            }
            ExprKind::CompareQuantified {
                op,
                all,
                left,
                query,
            } => {
                let item = self.expr(left, scope, agg)?;
                let (item, plan) = self.with_subquery(item, query, scope)?;
                Kind::Quantified {
                    op: compare_op(*op),
                    all: *all,
                    item,
                    plan,
                }
            }
            ExprKind::IsDistinct {
                left,
                right,
                negated,
            } => {
                let l = self.expr(left, scope, agg)?;
                let r = self.expr(right, scope, agg)?;
                let (both, neither) = (vec![not_null(&l), not_null(&r)], vec![null(&l), null(&r)]);
                let mut equal = both;
                equal.push(self.compare(CompareOp::Eq, l, r)?);
                let same = Kind::Or(vec![
                    Expr::predicate(Kind::And(equal)),
                    Expr::predicate(Kind::And(neither)),
                ]);
                if *negated {
                    same
                } else {
                    Kind::Not(Box::new(Expr::predicate(same)))
                }
            }
            ExprKind::UpdateColumn(column) => {
                let outside = || SqlError::new(&messages::IF_UPDATE_OUTSIDE_TRIGGER, &[]);
                let assigned = self.host.column_assigned(column).ok_or_else(outside)?;
                let one = |n: i32| Box::new(Expr::constant(Value::Int(n), SqlType::INT));
                Kind::Compare(CompareOp::Eq, one(1), one(i32::from(assigned)))
            }
            _ => return Err(unsupported("this expression", e.line)),
        };
        Ok(Expr::predicate(kind))
    }

    /// A value and the subquery it is compared with, brought to one type.
    fn with_subquery(
        &mut self,
        item: Expr,
        query: &ast::SelectStmt,
        scope: &Scope<'_>,
    ) -> SqlResult<(Box<Expr>, Arc<duramen_query::plan::Plan>)> {
        let plan = self.subquery(query, scope)?;
        let own = plan.columns[0].ty;
        let ty = if is_null(&item) {
            own
        } else {
            duramen_types::common_type(&item.ty, &own)?
        };
        // A column of the database's own collation may be a literal's: it gives way.
        let inner = Expr::column(0, own, true);
        let sides = match own.collation == self.host.collation() {
            true => vec![&item],
            false => vec![&item, &inner],
        };
        let decided = collation::decided(sides, "equal to")?;
        let plan = if own.id == ty.id {
            plan
        } else {
            Arc::new(self.convert_plan(plan, ty)?)
        };
        let mut item = self.coerce(item, ty)?;
        if item.ty.id.is_string() {
            item.ty.collation = decided.unwrap_or(item.ty.collation);
        }
        Ok((Box::new(item), plan))
    }

    /// LIKE reads numbers and dates as text.
    fn as_string(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let value = self.expr(e, scope, agg)?;
        if value.ty.id.is_char() && value.ty.collation.is_utf8() {
            let ty = called::wide(&value.ty);
            return self.coerce(value, ty);
        }
        if value.ty.id.is_string() {
            return Ok(value);
        }
        self.coerce(value, SqlType::varchar(8000))
    }

    /// A comparison, both sides brought to one type.
    pub(super) fn compare(&self, op: CompareOp, l: Expr, r: Expr) -> SqlResult<Expr> {
        let (l_ty, r_ty) = (l.ty, r.ty);
        // ANSI_NULLS OFF: = and <> have NULL equal NULL where one side is NULL itself or a variable.
        let is_null_or_variable = |e: &Expr| is_null(e) || matches!(e.kind, Kind::Variable(_));
        let two_valued = matches!(op, CompareOp::Eq | CompareOp::Ne)
            && !self.host.ansi_nulls()
            && (is_null_or_variable(&l) || is_null_or_variable(&r));
        let (l, r) = (fit_literal(l, &r_ty), fit_literal(r, &l_ty));
        let ty = if is_null(&l) {
            r.ty
        } else if is_null(&r) {
            l.ty
        } else {
            duramen_types::common_type(&operand_type(&l, &r.ty), &operand_type(&r, &l.ty))?
        };
        for side in [&l.ty, &r.ty, &ty] {
            super::types::check_order(side)?;
        }
        // Comparing ignores trailing blanks: char beside varchar stays as it is, and its key can be sought.
        let alike =
            (l.ty.id.is_char() && r.ty.id.is_char()) || (l.ty.id.is_nchar() && r.ty.id.is_nchar());
        let decided = match ty.id.is_string() {
            true => collation::decided([&l, &r], collation::operation(op))?,
            false => None,
        };
        let collation = decided.unwrap_or(ty.collation);
        let (mut l, mut r) = if alike {
            (l, r)
        } else {
            (self.coerce(l, ty)?, self.coerce(r, ty)?)
        };
        if ty.id.is_string() {
            l.ty.collation = collation;
            r.ty.collation = collation;
        }
        if two_valued {
            let same = same_or_both_null(l, r);
            return Ok(match op {
                CompareOp::Eq => same,
                _ => Expr::predicate(Kind::Not(Box::new(same))),
            });
        }
        // Unknown whatever stands beside NULL, which therefore is not computed, nor need be of a group.
        if is_always_null(&l) {
            r = l.clone();
        } else if is_always_null(&r) {
            l = r.clone();
        }
        Ok(Expr::predicate(Kind::Compare(op, Box::new(l), Box::new(r))))
    }
}

pub(super) fn not_null(e: &Expr) -> Expr {
    Expr::predicate(Kind::IsNull {
        input: Box::new(e.clone()),
        negated: true,
    })
}

fn is_always_null(e: &Expr) -> bool {
    match &e.kind {
        Kind::Convert { input, .. } => is_always_null(input),
        _ => is_null(e),
    }
}

/// IS NOT DISTINCT FROM: never UNKNOWN.
fn same_or_both_null(l: Expr, r: Expr) -> Expr {
    let neither = vec![null(&l), null(&r)];
    let both = vec![
        not_null(&l),
        not_null(&r),
        Expr::predicate(Kind::Compare(CompareOp::Eq, Box::new(l), Box::new(r))),
    ];
    Expr::predicate(Kind::Or(vec![
        Expr::predicate(Kind::And(both)),
        Expr::predicate(Kind::And(neither)),
    ]))
}

fn null(e: &Expr) -> Expr {
    Expr::predicate(Kind::IsNull {
        input: Box::new(e.clone()),
        negated: false,
    })
}

fn compare_op(op: ast::CompareOp) -> CompareOp {
    match op {
        ast::CompareOp::Eq => CompareOp::Eq,
        ast::CompareOp::Ne => CompareOp::Ne,
        ast::CompareOp::Lt => CompareOp::Lt,
        ast::CompareOp::Le => CompareOp::Le,
        ast::CompareOp::Gt => CompareOp::Gt,
        ast::CompareOp::Ge => CompareOp::Ge,
    }
}

/// An integer literal beside a small integer column takes the column's type when it fits, so that a key can be sought.
fn fit_literal(e: Expr, other: &SqlType) -> Expr {
    let value = match (&e.kind, other.id) {
        (Kind::Const(Value::Int(n)), TypeId::SmallInt) => {
            i16::try_from(*n).ok().map(Value::SmallInt)
        }
        (Kind::Const(Value::Int(n)), TypeId::TinyInt) => u8::try_from(*n).ok().map(Value::TinyInt),
        _ => None,
    };
    value.map_or(e, |v| Expr::constant(v, *other))
}
