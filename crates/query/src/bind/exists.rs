//! EXISTS: what the query selects does not matter, only whether it has a row.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_tsql::ast::{self, ExprKind, Literal, QueryExpr, SelectItem};

use super::{Binder, Scope};
use crate::expr::Kind;

impl Binder<'_> {
    pub(super) fn exists(&mut self, query: &ast::SelectStmt, scope: &Scope<'_>) -> SqlResult<Kind> {
        let plan = self.query(&without_star(query), Some(scope))?;
        Ok(Kind::Exists(Arc::new(self.optimized_exists(plan)?)))
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
