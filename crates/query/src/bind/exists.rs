//! EXISTS: what the query selects does not matter, only whether it has a row.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_tsql::ast::{self, ExprKind, Literal, QueryExpr, SelectItem};

use duramen_types::Value;

use super::{Binder, Scope};
use crate::expr::{Expr, Kind};
use crate::plan::{Node, Plan};

impl Binder<'_> {
    pub(super) fn exists(&mut self, query: &ast::SelectStmt, scope: &Scope<'_>) -> SqlResult<Kind> {
        let plan = self.query(&without_star(query), Some(scope))?;
        let plan = without_list(plan);
        Ok(Kind::Exists(Arc::new(self.nested_exists(plan)?)))
    }
}

/// A query that has a row exactly when `plan` has one, and computes nothing of its select list: what is in the list is
/// bound and never evaluated. The columns stay, without their values.
fn without_list(mut plan: Plan) -> Plan {
    match &mut plan.node {
        Node::Project { input, exprs } if computes(input, exprs) => {
            for e in exprs.iter_mut() {
                *e = Expr::constant(Value::Null, e.ty);
            }
            let below = std::mem::replace(&mut **input, Plan::one_row());
            **input = without_work(below);
            plan
        }
        // One of several rows that are alike is a row.
        Node::Distinct { input } => {
            let below = std::mem::replace(&mut **input, Plan::one_row());
            let below = without_list(below);
            Plan {
                correlated: plan.correlated | below.correlated,
                ..below
            }
        }
        Node::Concat(inputs) => {
            let bare = std::mem::take(inputs).into_iter().map(without_list);
            *inputs = bare.collect();
            plan
        }
        _ => plan,
    }
}

/// Whether a select list over `input` is more than columns and constants.
fn computes(input: &Plan, list: &[Expr]) -> bool {
    let plain = |e: &Expr| matches!(e.kind, Kind::Column { .. } | Kind::Const(_));
    let below = match &input.node {
        Node::Aggregate { .. } | Node::Window { .. } | Node::Sort { .. } => true,
        Node::Filter { input, .. } => matches!(input.node, Node::Aggregate { .. }),
        _ => false,
    };
    below || !list.iter().all(plain)
}

/// What is below a list that nobody computes: neither order nor groups make or take a row.
fn without_work(plan: Plan) -> Plan {
    match plan.node {
        Node::Sort { input, .. } | Node::Window { input, .. } => without_work(*input),
        // Without GROUP BY there is one row whatever goes in, with it one for each group.
        Node::Aggregate { groups, .. } if groups.is_empty() => Plan::one_row(),
        Node::Aggregate { input, .. } => without_work(*input),
        // HAVING: groups that it does not look at are made all the same, their values are not.
        Node::Filter {
            mut input,
            predicate,
        } => {
            if let Node::Aggregate {
                groups,
                aggregates,
                kept,
                ..
            } = &mut input.node
            {
                let before = *kept + groups.len();
                let mut read = Vec::new();
                predicate.visit_columns(&mut |depth, index| read.push((depth, index)));
                let unread = |i: usize| !read.contains(&(0, before + i));
                let subquery = predicate.has_subquery();
                for (i, a) in aggregates.iter_mut().enumerate() {
                    if unread(i)
                        && !subquery
                        && let Some(e) = &mut a.input
                    {
                        *e = Expr::constant(Value::Null, e.ty);
                    }
                }
            }
            Plan {
                node: Node::Filter { input, predicate },
                ..plan
            }
        }
        _ => plan,
    }
}

/// `SELECT * WHERE ...` has no table whose columns the star could mean: within EXISTS that is no error (263), since nobody
/// asks for the columns.
fn without_star(query: &ast::SelectStmt) -> Cow<'_, ast::SelectStmt> {
    let is_star = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Star {
                qualifier: None,
                ..
            }
        )
    };
    match &query.body {
        QueryExpr::Select(spec) if spec.from.is_empty() && spec.items.iter().any(is_star) => {}
        _ => return Cow::Borrowed(query),
    }
    let mut query = query.clone();
    if let QueryExpr::Select(spec) = &mut query.body {
        for item in spec.items.iter_mut().filter(|i| is_star(i)) {
            *item = SelectItem::Expr {
                expr: ast::Expr {
                    kind: ExprKind::Literal(Literal::Int(1)),
                    line: query.line,
                },
                alias: None,
            };
        }
    }
    Cow::Owned(query)
}
