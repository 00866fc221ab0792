//! ORDER BY: what its elements mean, and what they may not be.

use std::collections::BTreeSet;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::plan::{Aggregate, SortKey};
use duramen_query::{Expr, Kind, Plan};
use duramen_tsql::ast::{self, ExprKind, Literal};

use super::select::{Item, sorted};
use super::{Aggregates, Binder, Scope, same_name};

/// What a list is ordered by so far: a column twice is 169. *Assumed*: two elements of the select list are two, even when
/// both are the same column.
#[derive(Default)]
struct Ordered {
    /// Elements of the select list, by their places.
    items: BTreeSet<usize>,
    /// The columns that those are, by depth and place.
    through: BTreeSet<(usize, usize)>,
    /// Columns that the list itself names.
    named: BTreeSet<(usize, usize)>,
}

impl Ordered {
    fn add(&mut self, item: Option<usize>, e: &Expr) -> SqlResult<()> {
        let column = match e.kind {
            Kind::Column { depth, index } => Some((depth, index)),
            _ => None,
        };
        let new = match (item, column) {
            (Some(i), Some(c)) => {
                self.through.insert(c);
                self.items.insert(i) && !self.named.contains(&c)
            }
            (Some(i), None) => self.items.insert(i),
            (None, Some(c)) => self.named.insert(c) && !self.through.contains(&c),
            (None, None) => true,
        };
        match new {
            true => Ok(()),
            false => Err(SqlError::new(&messages::ORDER_BY_DUPLICATE, &[])),
        }
    }
}

impl Binder<'_> {
    /// The ORDER BY of a SELECT: positions, aliases of the select list, or expressions over the sources.
    pub(super) fn order_items(
        &mut self,
        order_by: &[ast::OrderItem],
        items: &[Item],
        scope: &Scope<'_>,
        aggregates: &mut Vec<Aggregate>,
    ) -> SqlResult<Vec<(Expr, bool)>> {
        let mut out = Vec::with_capacity(order_by.len());
        let mut seen = Ordered::default();
        for o in order_by {
            let line = o.expr.line as i32;
            let item = named_item(&o.expr, items).map_err(|e| e.at_line(line))?;
            let bound = match item {
                Some(i) => items[i].expr.clone(),
                None => {
                    let bound = self.expr(&o.expr, scope, &mut Aggregates::Collect(aggregates))?;
                    refuse_constant(&bound, out.len() + 1).map_err(|e| e.at_line(line))?;
                    bound
                }
            };
            seen.add(item, &bound).map_err(|e| e.at_line(line))?;
            super::types::check_order(&bound.ty)?;
            super::collation::check_output(&bound, "ORDER BY", out.len() + 1)?;
            out.push((bound, o.desc));
        }
        Ok(out)
    }

    /// ORDER BY over a set operation: output columns by position or name.
    pub(super) fn order_output(
        &mut self,
        plan: Plan,
        order_by: &[ast::OrderItem],
    ) -> SqlResult<Plan> {
        let mut keys = Vec::with_capacity(order_by.len());
        let mut seen = Ordered::default();
        for o in order_by {
            let at = match &o.expr.kind {
                ExprKind::Literal(Literal::Int(n)) => position(*n, plan.columns.len())?,
                ExprKind::Column(name) => plan
                    .columns
                    .iter()
                    .position(|c| same_name(&c.name, name.name()))
                    .ok_or_else(|| SqlError::new(&messages::ORDER_BY_NOT_IN_UNION_LIST, &[]))?,
                _ => return Err(SqlError::new(&messages::ORDER_BY_NOT_IN_UNION_LIST, &[])),
            };
            let c = &plan.columns[at];
            let expr = Expr::column(at, c.ty, c.nullable);
            let added = seen.add(Some(at), &expr);
            added.map_err(|e| e.at_line(o.expr.line as i32))?;
            super::types::check_order(&c.ty)?;
            keys.push(SortKey {
                expr,
                descending: o.desc,
            });
        }
        Ok(sorted(plan, keys))
    }
}

/// The element of the select list that a position or a name means.
fn named_item(e: &ast::Expr, items: &[Item]) -> SqlResult<Option<usize>> {
    match &e.kind {
        ExprKind::Literal(Literal::Int(n)) => position(*n, items.len()).map(Some),
        ExprKind::Column(name) if name.parts.len() == 1 => {
            let named = |i: &Item| same_name(&i.name, name.name());
            Ok(items.iter().position(named))
        }
        _ => Ok(None),
    }
}

fn position(n: i32, count: usize) -> SqlResult<usize> {
    usize::try_from(n - 1)
        .ok()
        .filter(|i| *i < count)
        .ok_or_else(|| SqlError::new(&messages::ORDER_BY_POSITION_OUT_OF_RANGE, &[&n]))
}

/// 408 for an element made of literals alone, 1008 for one that variables make. Functions, which may give another value
/// each time, and subqueries are neither; *assumed* of functions that always give the same.
fn refuse_constant(e: &Expr, position: usize) -> SqlResult<()> {
    let (mut varies, mut variable) = (false, false);
    look_through(e, &mut |kind| match kind {
        Kind::Variable(_) => variable = true,
        Kind::Const(_)
        | Kind::Arithmetic(..)
        | Kind::Negate(_)
        | Kind::BitNot(_)
        | Kind::Convert { .. }
        | Kind::Case { .. }
        | Kind::Compare(..) => {}
        _ => varies = true,
    });
    match (varies, variable) {
        (true, _) => Ok(()),
        (false, true) => Err(SqlError::new(&messages::ORDER_BY_VARIABLE, &[&position])),
        (false, false) => Err(SqlError::new(&messages::ORDER_BY_CONSTANT, &[&position])),
    }
}

fn look_through(e: &Expr, see: &mut dyn FnMut(&Kind)) {
    see(&e.kind);
    e.for_each_child(&mut |c| look_through(c, see));
}
