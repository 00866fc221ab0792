//! EXISTS: what the query selects does not matter, only whether it has a row.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_tsql::ast::{self, ExprKind, Literal, QueryExpr, SelectItem};

use duramen_query::plan::Node;
use duramen_query::{Expr, Kind, Plan};
use duramen_types::Value;

use super::{Binder, Scope};

impl Binder<'_> {
    pub(super) fn exists(&mut self, query: &ast::SelectStmt, scope: &Scope<'_>) -> SqlResult<Kind> {
        let plan = self.query(&without_star(query), Some(scope))?;
        let plan = without_list(plan);
        Ok(Kind::Exists(Arc::new(self.nested_exists(plan)?)))
    }
}

/// A query that has a row exactly when `plan` has one, without the work that the values of its select list are made by.
/// The list itself is left to the optimizer, which spares what nobody wants.
fn without_list(mut plan: Plan) -> Plan {
    match &mut plan.node {
        Node::Project { input, exprs } if works(input) => {
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

/// Whether what stands below a select list is there for its values, or for their order.
fn works(below: &Plan) -> bool {
    matches!(
        below.node,
        Node::Aggregate { .. } | Node::Window { .. } | Node::Sort { .. }
    )
}

/// What is below a list that nobody computes: neither order nor groups make or take a row.
fn without_work(plan: Plan) -> Plan {
    match plan.node {
        Node::Sort { input, .. } | Node::Window { input, .. } => without_work(*input),
        // Without GROUP BY there is one row whatever goes in, with it one for each group.
        Node::Aggregate { groups, .. } if groups.is_empty() => Plan::one_row(),
        Node::Aggregate { input, .. } => without_work(*input),
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
