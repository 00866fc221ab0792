//! What types the parameters have that a statement uses and nobody declared, as `sp_describe_undeclared_parameters`
//! deduces them: from what they are compared with, computed with, assigned to or inserted into.
//!
//! Each side that has a type of its own is bound in the statement's own FROM clause, so that whatever the binder
//! understands is understood here. A parameter that stands alone is nvarchar(4000) (*assumed*: SQL Server's rules for
//! such are not all published; drivers fall back on text too).

use duramen_base::{SqlResult, messages};
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_tsql::ast::{self, Expr, ExprKind, QueryExpr, SelectItem, SelectStmt, StatementKind};
use duramen_types::{MAX_LENGTH, SqlType};

use duramen_program::program::same;

/// A statement's parameters and their types, in the order in which the text first names them.
pub(super) type Found = Vec<(String, SqlType)>;

/// What stands alone.
const ALONE: SqlType = SqlType::nvarchar(4000);

/// Where names of columns mean something.
#[derive(Clone, Copy)]
struct Scope<'a> {
    ctes: &'a [ast::Cte],
    from: &'a [ast::TableSource],
}

const NOWHERE: Scope<'static> = Scope {
    ctes: &[],
    from: &[],
};

/// What the deduction asks of the session: the types of a query's columns, and those of a procedure's parameters.
pub(super) struct Asked<'a> {
    pub columns: &'a dyn Fn(&SelectStmt) -> SqlResult<Vec<SqlType>>,
    pub parameters: &'a dyn Fn(&ast::ObjectName) -> SqlResult<Found>,
}

/// The undeclared parameters of a batch.
pub(super) fn deduce(
    batch: &[ast::Statement],
    declared: &[(String, SqlType)],
    asked: Asked<'_>,
) -> SqlResult<Found> {
    let mut deduction = Deduction {
        declared,
        asked,
        found: Vec::new(),
    };
    batch.iter().try_for_each(|s| deduction.statement(s))?;
    Ok(deduction.found)
}

struct Deduction<'a> {
    declared: &'a [(String, SqlType)],
    asked: Asked<'a>,
    found: Found,
}

impl Deduction<'_> {
    fn statement(&mut self, statement: &ast::Statement) -> SqlResult<()> {
        match &statement.kind {
            StatementKind::Select(query) => self.query(query, &[]),
            StatementKind::Insert(stmt) => self.insert(stmt),
            StatementKind::Update(stmt) => {
                let own = target(&stmt.target);
                let from = if stmt.from.is_empty() {
                    &own
                } else {
                    &stmt.from
                };
                let scope = Scope {
                    ctes: &stmt.ctes,
                    from,
                };
                for clause in &stmt.set {
                    match clause {
                        ast::SetClause::Column { column, value, .. } => {
                            let column = expr(ExprKind::Column(column.clone()));
                            let wanted = self.type_of(&column, scope)?;
                            self.value(value, wanted, scope)?;
                        }
                        ast::SetClause::Variable { value, .. } => self.value(value, None, scope)?,
                        _ => {}
                    }
                }
                self.sources(from, scope)?;
                self.filter(stmt.where_.as_ref(), scope)
            }
            StatementKind::Delete(stmt) => {
                let own = target(&stmt.target);
                let from = if stmt.from.is_empty() {
                    &own
                } else {
                    &stmt.from
                };
                let scope = Scope {
                    ctes: &stmt.ctes,
                    from,
                };
                self.sources(from, scope)?;
                self.filter(stmt.where_.as_ref(), scope)
            }
            StatementKind::Exec(stmt) => self.call(&stmt.call),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, stmt: &ast::InsertStmt) -> SqlResult<()> {
        let ast::InsertSource::Query(query) = &stmt.source else {
            return Ok(());
        };
        let from = target(&stmt.target);
        let items = match &stmt.columns[..] {
            [] => vec![SelectItem::Star {
                qualifier: None,
                line: 1,
            }],
            named => named
                .iter()
                .map(|c| SelectItem::Expr {
                    expr: expr(ExprKind::Column(ast::ObjectName::single(c, 1))),
                    alias: None,
                })
                .collect(),
        };
        let types = (self.asked.columns)(&select(items, &[], &from))?;
        let wanted: Vec<Option<SqlType>> = types.into_iter().map(Some).collect();
        self.query(query, &wanted)
    }

    fn call(&mut self, call: &ast::ExecCall) -> SqlResult<()> {
        let ast::ExecCall::Procedure { name, args, .. } = call else {
            return Ok(());
        };
        let parameters = (self.asked.parameters)(name)?;
        for (at, arg) in args.iter().enumerate() {
            let parameter = match &arg.name {
                Some(name) => parameters.iter().find(|(n, _)| same(n, name)),
                None => parameters.get(at),
            };
            self.value(&arg.value, parameter.map(|(_, ty)| *ty), NOWHERE)?;
        }
        Ok(())
    }

    /// A query whose columns go where these types are.
    fn query(&mut self, query: &SelectStmt, wanted: &[Option<SqlType>]) -> SqlResult<()> {
        query
            .ctes
            .iter()
            .try_for_each(|c| self.query(&c.query, &[]))?;
        self.body(&query.body, &query.ctes, wanted)?;
        for number in query.offset.iter().chain(&query.fetch) {
            self.value(number, Some(SqlType::BIGINT), NOWHERE)?;
        }
        Ok(())
    }

    fn body(
        &mut self,
        body: &QueryExpr,
        ctes: &[ast::Cte],
        wanted: &[Option<SqlType>],
    ) -> SqlResult<()> {
        let at = |i: usize| wanted.get(i).copied().flatten();
        match body {
            QueryExpr::Values(rows) => rows.iter().try_for_each(|row| {
                let mut cells = row.iter().enumerate();
                cells.try_for_each(|(i, e)| self.value(e, at(i), NOWHERE))
            }),
            QueryExpr::SetOp { left, right, .. } => {
                self.body(left, ctes, wanted)?;
                self.body(right, ctes, wanted)
            }
            QueryExpr::Select(spec) => {
                let scope = Scope {
                    ctes,
                    from: &spec.from,
                };
                if let Some(top) = &spec.top {
                    self.value(&top.count, Some(SqlType::BIGINT), scope)?;
                }
                for (i, item) in spec.items.iter().enumerate() {
                    match item {
                        SelectItem::Expr { expr, .. } => self.value(expr, at(i), scope)?,
                        SelectItem::Assign { expr, .. } => self.value(expr, None, scope)?,
                        SelectItem::Star { .. } => {}
                    }
                }
                self.sources(&spec.from, scope)?;
                let filters = spec.where_.iter().chain(&spec.having);
                filters
                    .into_iter()
                    .try_for_each(|c| self.value(c, None, scope))
            }
        }
    }

    /// Conditions of joins and queries inside a FROM clause.
    fn sources(&mut self, from: &[ast::TableSource], scope: Scope<'_>) -> SqlResult<()> {
        from.iter().try_for_each(|source| match source {
            ast::TableSource::Derived { query, .. } => self.query(query, &[]),
            ast::TableSource::Join(join) => {
                self.sources(std::slice::from_ref(&join.left), scope)?;
                self.sources(std::slice::from_ref(&join.right), scope)?;
                let on = join.on.iter();
                on.into_iter().try_for_each(|c| self.value(c, None, scope))
            }
            ast::TableSource::Function { args, .. } => {
                args.iter().try_for_each(|a| self.value(a, None, scope))
            }
            _ => Ok(()),
        })
    }

    fn filter(&mut self, filter: Option<&ast::DmlWhere>, scope: Scope<'_>) -> SqlResult<()> {
        match filter {
            Some(ast::DmlWhere::Condition(e)) => self.value(e, None, scope),
            _ => Ok(()),
        }
    }

    /// An expression or condition; `wanted` is the type of where it goes.
    fn value(&mut self, e: &Expr, wanted: Option<SqlType>, scope: Scope<'_>) -> SqlResult<()> {
        match &e.kind {
            ExprKind::Variable(name) => self.note(name, wanted),
            ExprKind::Unary { expr, .. } | ExprKind::Collate { expr, .. } => {
                self.value(expr, wanted, scope)
            }
            ExprKind::Not(expr) | ExprKind::IsNull { expr, .. } => self.value(expr, None, scope),
            ExprKind::Binary { left, right, .. } => {
                let (l, r) = (self.type_of(left, scope)?, self.type_of(right, scope)?);
                self.value(left, r.or(wanted), scope)?;
                self.value(right, l.or(wanted), scope)
            }
            ExprKind::Compare { left, right, .. } | ExprKind::IsDistinct { left, right, .. } => {
                self.together(&[left.as_ref(), right.as_ref()], scope)
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.value(left, None, scope)?;
                self.value(right, None, scope)
            }
            ExprKind::Between {
                expr, low, high, ..
            } => self.together(&[expr.as_ref(), low.as_ref(), high.as_ref()], scope),
            ExprKind::InList { expr, list, .. } => {
                let all: Vec<&Expr> = std::iter::once(expr.as_ref()).chain(list).collect();
                self.together(&all, scope)
            }
            ExprKind::Like { expr, pattern, .. } => {
                let ty = self.type_of(expr, scope)?;
                let text = ty.map(|t| match t.id.is_nchar() {
                    true => SqlType::nvarchar(4000),
                    false => SqlType::varchar(8000),
                });
                self.value(expr, text, scope)?;
                self.value(pattern, text, scope)
            }
            ExprKind::InQuery { expr, query, .. } => {
                let columns = (self.asked.columns)(query).unwrap_or_default();
                self.value(expr, columns.first().copied(), scope)?;
                let ty = self.type_of(expr, scope)?;
                self.query(query, &[ty])
            }
            ExprKind::CompareQuantified { left, query, .. } => {
                let columns = (self.asked.columns)(query).unwrap_or_default();
                self.value(left, columns.first().copied(), scope)?;
                self.query(query, &[])
            }
            ExprKind::Exists(query) | ExprKind::Subquery(query) => self.query(query, &[wanted]),
            ExprKind::Cast(cast) => {
                let ty = resolve_type(&cast.ty, TypeSite::Cast)?;
                self.value(&cast.expr, Some(ty), scope)
            }
            ExprKind::Case {
                operand,
                whens,
                otherwise,
            } => {
                if let Some(operand) = operand {
                    let all = std::iter::once(operand.as_ref()).chain(whens.iter().map(|w| &w.0));
                    self.together(&all.collect::<Vec<_>>(), scope)?;
                } else {
                    whens
                        .iter()
                        .try_for_each(|w| self.value(&w.0, None, scope))?;
                }
                let mut ty = wanted;
                let results = || whens.iter().map(|w| &w.1).chain(otherwise.as_deref());
                for result in results() {
                    ty = ty.or(self.type_of(result, scope)?);
                }
                results().try_for_each(|r| self.value(r, ty, scope))
            }
            ExprKind::Function(call) => {
                // COALESCE, ISNULL and their like give the type of what goes in.
                let mut ty = None;
                for arg in &call.args {
                    ty = ty.or(self.type_of(arg, scope)?);
                }
                let alike = ["coalesce", "isnull", "nullif"];
                let ty = match alike
                    .iter()
                    .any(|n| call.name.name().eq_ignore_ascii_case(n))
                {
                    true => ty.or(wanted),
                    false => None,
                };
                call.args.iter().try_for_each(|a| self.value(a, ty, scope))
            }
            _ => Ok(()),
        }
    }

    /// Expressions that are compared with each other: the first type that one has is that of the others.
    fn together(&mut self, all: &[&Expr], scope: Scope<'_>) -> SqlResult<()> {
        let mut ty = None;
        for e in all {
            ty = ty.or(self.type_of(e, scope)?);
        }
        all.iter().try_for_each(|e| self.value(e, ty, scope))
    }

    /// The type of an expression without parameters that nobody declared. Names that are not there are errors.
    fn type_of(&self, e: &Expr, scope: Scope<'_>) -> SqlResult<Option<SqlType>> {
        if let ExprKind::Variable(name) = &e.kind {
            let declared = self.declared.iter().find(|(n, _)| same(n, name));
            return Ok(declared.map(|(_, ty)| *ty));
        }
        if e.kind.is_condition() {
            return Ok(None);
        }
        let item = SelectItem::Expr {
            expr: e.clone(),
            alias: Some("e".to_owned()),
        };
        match (self.asked.columns)(&select(vec![item], scope.ctes, scope.from)) {
            Ok(types) => Ok(types.first().copied()),
            Err(error)
                if [&messages::OBJECT_NOT_FOUND, &messages::INVALID_COLUMN_NAME]
                    .iter()
                    .any(|m| m.number == error.number) =>
            {
                Err(error)
            }
            Err(_) => Ok(None),
        }
    }

    fn note(&mut self, name: &str, ty: Option<SqlType>) -> SqlResult<()> {
        let known = self
            .declared
            .iter()
            .chain(&self.found)
            .any(|(n, _)| same(n, name));
        if !known && !name.starts_with("@@") {
            self.found
                .push((name.to_owned(), ty.map_or(ALONE, parameter_type)));
        }
        Ok(())
    }
}

/// A column's type as a parameter has it: no rowversion, and texts of the old kind as their successors.
fn parameter_type(ty: SqlType) -> SqlType {
    use duramen_types::TypeId;
    match ty.id {
        TypeId::RowVersion => SqlType::varbinary(8),
        TypeId::Text => SqlType::varchar(MAX_LENGTH),
        TypeId::NText => SqlType::nvarchar(MAX_LENGTH),
        TypeId::Image => SqlType::varbinary(MAX_LENGTH),
        _ => ty,
    }
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, line: 1 }
}

fn target(target: &ast::Target) -> Vec<ast::TableSource> {
    match &target.kind {
        ast::TargetKind::Table(name) => vec![ast::TableSource::Table(ast::TableRef {
            name: name.clone(),
            alias: None,
            hints: Vec::new(),
            sample: None,
            line: target.line,
        })],
        ast::TargetKind::Variable(name) => vec![ast::TableSource::Variable {
            name: name.clone(),
            alias: None,
            hints: Vec::new(),
            line: target.line,
        }],
    }
}

fn select(items: Vec<SelectItem>, ctes: &[ast::Cte], from: &[ast::TableSource]) -> SelectStmt {
    SelectStmt {
        ctes: ctes.to_vec(),
        body: QueryExpr::Select(Box::new(ast::QuerySpec {
            distinct: false,
            top: None,
            items,
            into: None,
            from: from.to_vec(),
            where_: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            line: 1,
        })),
        order_by: Vec::new(),
        offset: None,
        fetch: None,
        hints: Vec::new(),
        for_clause: None,
        line: 1,
        span: ast::Span::default(),
    }
}
