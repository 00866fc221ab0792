//! Binding of queries.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::stack;
use duramen_query::plan::{Aggregate, Node, SortKey};
use duramen_query::{Columns, Expr, Kind, OutColumn, Plan};
use duramen_tsql::ast::{self, QueryExpr, SelectItem, SetOp};
use duramen_types::{SqlType, Value};

use super::expr::mark_correlated;
use super::groups::{Groups, aggregate, over_groups};
use super::window::{Windows, call_exprs, window_columns, windowed};
use super::{Aggregates, Binder, Scope, ScopeSource, unsupported};

/// Elements of a select list at most, as many as a result has columns.
const ITEMS_MAX: usize = 4096;

/// An element of a select list, bound.
pub(super) struct Item {
    pub expr: Expr,
    pub name: Arc<str>,
    identity: bool,
    updatable: bool,
    /// `@x = expr`
    slot: Option<usize>,
}

impl Item {
    fn column(&self) -> OutColumn {
        OutColumn {
            name: self.name.clone(),
            ty: self.expr.ty,
            nullable: self.expr.nullable,
            identity: self.identity,
            updatable: self.updatable,
        }
    }
}

impl Binder<'_> {
    pub(super) fn query(
        &mut self,
        stmt: &ast::SelectStmt,
        parent: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        let line = stmt.line as i32;
        let ctes = self.ctes.len();
        // The target of an UPDATE is a source of its own FROM, not of a query in it.
        let locate = self.locate.take();
        self.ctes.extend(stmt.ctes.iter().cloned());
        let plan = self.deeper(|b| b.query_body(stmt, parent));
        // Behind an error, too: some bind on after one, and names end with their query.
        self.ctes.truncate(ctes);
        self.locate = locate;
        plan.map_err(|e| e.at_line(line))
    }

    pub(super) fn query_body(
        &mut self,
        stmt: &ast::SelectStmt,
        parent: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        refused(stmt)?;
        let mut plan = match &stmt.body {
            QueryExpr::Select(spec) => self.spec(spec, &stmt.order_by, parent)?,
            other => {
                let plan = self.body(other, parent)?;
                self.order_output(plan, &stmt.order_by)?
            }
        };
        if let Some(offset) = &stmt.offset {
            let count = self.scalar(offset)?;
            plan = wrap(plan, |input| Node::Skip { input, count });
        }
        if let Some(fetch) = &stmt.fetch {
            let count = self.scalar(fetch)?;
            plan = wrap(plan, |input| Node::Top {
                input,
                count,
                percent: false,
                fetch: true,
                ties: Vec::new(),
            });
        }
        Ok(plan)
    }

    pub(super) fn body(&mut self, body: &QueryExpr, parent: Option<&Scope<'_>>) -> SqlResult<Plan> {
        match body {
            QueryExpr::Select(spec) => self.spec(spec, &[], parent),
            QueryExpr::Values(rows) => self.values(rows, parent),
            QueryExpr::SetOp {
                op,
                all,
                left,
                right,
            } => {
                let left = stack::deep(|| self.body(left, parent))?;
                let right = stack::deep(|| self.body(right, parent))?;
                self.set_operation(*op, *all, left, right)
            }
        }
    }

    /// `VALUES (..), (..)`: every column of one type.
    fn values(&mut self, rows: &[Vec<ast::Expr>], parent: Option<&Scope<'_>>) -> SqlResult<Plan> {
        let scope = Scope {
            parent,
            ..Scope::default()
        };
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                return Err(SqlError::new(&messages::VALUES_ROW_LENGTHS_DIFFER, &[]));
            }
            let mut exprs = Vec::with_capacity(width);
            for e in row {
                exprs.push(self.over(e, &scope)?);
            }
            bound.push(exprs);
        }
        let mut columns = Vec::with_capacity(width);
        for c in 0..width {
            let column = self.unify(bound.iter().map(|r| r[c].clone()).collect())?;
            let nullable = column.iter().any(|e| e.nullable);
            let ty = widest(&column);
            for (row, e) in bound.iter_mut().zip(column) {
                row[c] = e;
            }
            columns.push(OutColumn::unnamed(ty, nullable));
        }
        Ok(Plan {
            node: Node::Values(bound),
            columns: columns.into(),
            correlated: scope.correlated.get(),
        })
    }

    pub(super) fn set_operation(
        &mut self,
        op: SetOp,
        all: bool,
        left: Plan,
        right: Plan,
    ) -> SqlResult<Plan> {
        if left.columns.len() != right.columns.len() {
            return Err(SqlError::new(&messages::UNION_COLUMN_COUNT, &[]));
        }
        let mut types = Vec::new();
        for (l, r) in left.columns.iter().zip(&*right.columns) {
            let at = types.len();
            types.push(if bare_null(&left, at) {
                r.ty
            } else if bare_null(&right, at) {
                l.ty
            } else {
                let word = match (op, all) {
                    (SetOp::Union, true) => "UNION ALL",
                    (SetOp::Union, false) => "UNION",
                    (SetOp::Intersect, _) => "INTERSECT",
                    (SetOp::Except, _) => "EXCEPT",
                };
                let mut ty = duramen_types::common_type(&l.ty, &r.ty)?;
                if ty.id.is_string() {
                    let own = self.host.collation();
                    ty.collation = super::collation::of_columns(&l.ty, &r.ty, own, word)?;
                }
                ty
            });
        }
        if !all {
            for ty in &types {
                let name = ty.id.name();
                super::types::check_order(ty)
                    .map_err(|_| SqlError::new(&messages::SET_OPERAND_NOT_COMPARABLE, &[&name]))?;
            }
        }
        let nullable: Vec<bool> = left
            .columns
            .iter()
            .zip(&*right.columns)
            .map(|(l, r)| l.nullable || r.nullable)
            .collect();
        let left = self.convert_columns(left, &types)?;
        let right = self.convert_columns(right, &types)?;
        let correlated = left.correlated || right.correlated;
        let mut columns = left.columns.clone();
        for (c, n) in Arc::make_mut(&mut columns).iter_mut().zip(nullable) {
            c.nullable = n;
            c.identity = false;
            c.updatable = false;
        }
        let keep_common = op == SetOp::Intersect;
        let node = match op {
            SetOp::Union => Node::Concat(union_inputs(left, right, all)),
            _ => Node::SetOperation {
                left: Box::new(left),
                right: Box::new(right),
                keep_common,
            },
        };
        let plan = Plan {
            node,
            columns,
            correlated,
        };
        Ok(if op == SetOp::Union && !all {
            wrap(plan, |input| Node::Distinct { input })
        } else {
            plan
        })
    }

    pub(crate) fn convert_columns(&self, plan: Plan, types: &[SqlType]) -> SqlResult<Plan> {
        converted(plan, types)
    }

    /// Whether the columns can be converted so.
    pub(crate) fn check_columns(&self, plan: &Plan, types: &[SqlType]) -> SqlResult<()> {
        converted_columns(plan, types).map(|_| ())
    }

    /// A one-column plan with that column converted.
    pub(super) fn convert_plan(&self, plan: std::sync::Arc<Plan>, ty: SqlType) -> SqlResult<Plan> {
        let plan = std::sync::Arc::try_unwrap(plan)
            .map_err(|_| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?;
        self.convert_columns(plan, &[ty])
    }

    /// One SELECT ... FROM ... HAVING, with the ORDER BY of its statement.
    fn spec(
        &mut self,
        spec: &ast::QuerySpec,
        order_by: &[ast::OrderItem],
        parent: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        let mut scope = Scope {
            parent,
            ..Scope::default()
        };
        self.has_window_clause(spec)?;
        // What windows may do around this query, and what they are called there, is not for this one.
        let outside = std::mem::take(&mut self.windows);
        let names = std::mem::replace(&mut self.window_names, spec.windows.clone());
        let plan = self.spec_body(spec, order_by, &mut scope);
        self.windows = outside;
        self.window_names = names;
        let mut plan = plan?;
        plan.correlated |= scope.correlated.get();
        Ok(plan)
    }

    fn spec_body(
        &mut self,
        spec: &ast::QuerySpec,
        order_by: &[ast::OrderItem],
        scope: &mut Scope<'_>,
    ) -> SqlResult<Plan> {
        let mut plan = self.from(&spec.from, scope)?;
        let scope = &*scope;
        if let Some(condition) = &spec.where_ {
            let predicate = self.over(condition, scope)?;
            plan = wrap(plan, |input| Node::Filter { input, predicate });
        }
        let mut aggregates = Vec::new();
        self.windows = Windows::Collect(Vec::new());
        let mut items = self.items(&spec.items, scope, &mut aggregates)?;
        for (n, item) in items.iter().enumerate() {
            super::collation::check_output(&item.expr, "SELECT", n + 1)?;
        }
        // Behind the list, whose names it may use; before HAVING, where no window may stand.
        let mut order = self.order_items(order_by, &items, scope, &mut aggregates)?;
        let mut calls = match std::mem::take(&mut self.windows) {
            Windows::Collect(calls) => calls,
            _ => Vec::new(),
        };
        let having = match &spec.having {
            Some(h) => Some(self.expr(h, scope, &mut Aggregates::Collect(&mut aggregates))?),
            None => None,
        };
        // Only behind all three is it known whether there are aggregates: they make a group where there is no GROUP BY.
        if spec.group_by.is_some() || !aggregates.is_empty() || having.is_some() {
            let groups = self.groups(spec, scope)?;
            // Subqueries count columns in the row the group was made of: a row of each group goes first.
            let subqueries = items.iter().any(|i| i.expr.has_subquery())
                || order.iter().any(|o| o.0.has_subquery())
                || having.as_ref().is_some_and(Expr::has_subquery);
            let kept = if subqueries { plan.columns.len() } else { 0 };
            let groups = Groups { by: groups, kept };
            // 8118, 8119 and 8126 are those of old versions, for queries without GROUP BY.
            let in_list = &messages::COLUMN_NOT_AGGREGATED;
            let in_order = &messages::ORDER_BY_NOT_AGGREGATED;
            let in_having = &messages::HAVING_NOT_AGGREGATED;
            for item in &mut items {
                over_groups(&mut item.expr, &groups, scope, in_list)?;
                item.identity = false;
                item.updatable = false;
            }
            for (e, _) in &mut order {
                over_groups(e, &groups, scope, in_order)?;
            }
            for e in calls.iter_mut().flat_map(call_exprs) {
                over_groups(e, &groups, scope, in_list)?;
            }
            let mut having = having;
            if let Some(h) = &mut having {
                over_groups(h, &groups, scope, in_having)?;
            }
            plan = aggregate(plan, groups, aggregates);
            if let Some(predicate) = having {
                plan = wrap(plan, |input| Node::Filter { input, predicate });
            }
        }
        if !calls.is_empty() {
            let width = plan.columns.len();
            let items = items.iter_mut().map(|i| &mut i.expr);
            for e in items.chain(order.iter_mut().map(|(e, _)| e)) {
                window_columns(e, width);
            }
            plan = windowed(plan, calls);
        }
        self.finish(plan, spec, items, order)
    }

    /// Sort, project, DISTINCT and TOP, in the order that gives each what it needs.
    fn finish(
        &mut self,
        mut plan: Plan,
        spec: &ast::QuerySpec,
        items: Vec<Item>,
        order: Vec<(Expr, bool)>,
    ) -> SqlResult<Plan> {
        if spec.distinct {
            for item in &items {
                super::types::check_distinct(&item.expr.ty)?;
            }
            let mut keys = Vec::new();
            for (e, descending) in order {
                let at = items.iter().position(|i| i.expr.kind == e.kind);
                let at =
                    at.ok_or_else(|| SqlError::new(&messages::ORDER_BY_NOT_IN_DISTINCT_LIST, &[]))?;
                keys.push(SortKey {
                    expr: Expr::column(at, e.ty, e.nullable),
                    descending,
                });
            }
            plan = wrap(project(plan, items), |input| Node::Distinct { input });
            plan = sorted(plan, keys.clone());
            let ties = keys.into_iter().map(|k| k.expr).collect();
            return self.top(plan, spec.top.as_ref(), ties);
        }
        let keys: Vec<SortKey> = order
            .into_iter()
            .map(|(expr, descending)| SortKey { expr, descending })
            .collect();
        let ties = keys.iter().map(|k| k.expr.clone()).collect();
        plan = sorted(plan, keys);
        plan = self.top(plan, spec.top.as_ref(), ties)?;
        Ok(project(plan, items))
    }

    fn top(&mut self, plan: Plan, top: Option<&ast::Top>, ties: Vec<Expr>) -> SqlResult<Plan> {
        let Some(top) = top else { return Ok(plan) };
        let mut count = self.scalar(&top.count)?;
        if top.percent {
            count = self.coerce(count, SqlType::FLOAT)?;
        } else if !count.ty.id.is_integer() {
            return Err(SqlError::new(&messages::TOP_NOT_INTEGER, &[]));
        }
        if top.with_ties && ties.is_empty() {
            return Err(SqlError::new(&messages::TIES_WITHOUT_ORDER_BY, &[]));
        }
        let ties = if top.with_ties { ties } else { Vec::new() };
        let percent = top.percent;
        Ok(wrap(plan, |input| Node::Top {
            input,
            count,
            percent,
            fetch: false,
            ties,
        }))
    }

    fn items(
        &mut self,
        list: &[SelectItem],
        scope: &Scope<'_>,
        aggregates: &mut Vec<Aggregate>,
    ) -> SqlResult<Vec<Item>> {
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            if items.len() > ITEMS_MAX {
                break;
            }
            match item {
                SelectItem::Star { qualifier, line } => {
                    let starred = self.star(qualifier.as_ref(), scope);
                    items.extend(starred.map_err(|e| e.at_line(*line as i32))?);
                }
                SelectItem::Expr { expr, alias } => {
                    let bound = self.expr(expr, scope, &mut Aggregates::Collect(aggregates))?;
                    let plain = plain_column(&bound, scope);
                    let own = match &expr.kind {
                        ast::ExprKind::Column(n) => n.name(),
                        _ => "",
                    };
                    let name = alias.as_deref().unwrap_or(own);
                    items.push(Item {
                        name: match plain {
                            Some(c) if *c.name == *name => c.name.clone(),
                            _ => name.into(),
                        },
                        identity: plain.is_some_and(|c| c.identity),
                        updatable: plain.is_some_and(|c| c.updatable),
                        expr: bound,
                        slot: None,
                    });
                }
                SelectItem::Assign {
                    variable, op, expr, ..
                } => {
                    let mut bound = self.expr(expr, scope, &mut Aggregates::Collect(aggregates))?;
                    let Some((slot, ty)) = self.host.variable(variable) else {
                        return Err(SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[variable]));
                    };
                    if let Some(op) = op {
                        let current = Expr {
                            kind: Kind::Variable(slot),
                            ty,
                            nullable: true,
                        };
                        bound = super::expr::arithmetic(
                            super::expr::arithmetic_op(*op),
                            current,
                            bound,
                        )?;
                    }
                    let bound = self.coerce(bound, ty)?;
                    items.push(Item {
                        expr: bound,
                        name: variable.as_str().into(),
                        identity: false,
                        updatable: false,
                        slot: Some(slot),
                    });
                }
            }
        }
        if items.len() > ITEMS_MAX {
            return Err(SqlError::new(&messages::TOO_MANY_ITEMS, &[&ITEMS_MAX]));
        }
        Ok(items)
    }

    /// The columns of a star: of all sources at hand, or of the nearest one that its qualifier means.
    fn star(&self, qualifier: Option<&ast::ObjectName>, scope: &Scope<'_>) -> SqlResult<Vec<Item>> {
        let mut items = Vec::new();
        let (mut at, mut depth) = (Some(scope), 0);
        while let Some(s) = at {
            let meant = |source: &&ScopeSource| {
                qualifier.is_none_or(|q| source.exposed.answers_to(&q.parts, self.host))
            };
            for source in s.sources.iter().filter(meant) {
                items.extend(starred(source, depth)?);
            }
            if !items.is_empty() || qualifier.is_none() {
                break;
            }
            at = s.parent;
            depth += 1;
        }
        match (items.is_empty(), qualifier) {
            (true, Some(q)) => {
                let message = &messages::COLUMN_PREFIX_NOT_FOUND;
                return Err(SqlError::new(message, &[&q.display()]));
            }
            (true, None) => return Err(SqlError::new(&messages::SELECT_STAR_WITHOUT_TABLE, &[])),
            _ => {}
        }
        mark_correlated(scope, depth);
        Ok(items)
    }

    /// The list of an OUTPUT clause.
    pub(crate) fn output_list(
        &mut self,
        list: &[SelectItem],
        scope: &Scope<'_>,
    ) -> SqlResult<(Vec<Expr>, Vec<OutColumn>)> {
        let mut aggregates = Vec::new();
        let items = self.items(list, scope, &mut aggregates)?;
        if !aggregates.is_empty() {
            return Err(SqlError::new(&messages::AGGREGATE_IN_OUTPUT, &[]));
        }
        if items.iter().any(|i| i.expr.has_subquery()) {
            return Err(SqlError::new(&messages::SUBQUERY_IN_OUTPUT, &[]));
        }
        if items.iter().any(|i| i.slot.is_some()) {
            return Err(SqlError::new(&messages::SYNTAX_NEAR, &[&"="]));
        }
        let columns = items.iter().map(Item::column).collect();
        Ok((items.into_iter().map(|i| i.expr).collect(), columns))
    }
}

/// The columns of a source that is `depth` queries outside, as a star lists them.
fn starred(source: &ScopeSource, depth: usize) -> SqlResult<Vec<Item>> {
    let columns = source.columns.iter().enumerate();
    let shown = columns.filter(|(_, c)| !c.name.starts_with('\0'));
    let item = |(i, c): (usize, &OutColumn)| match super::xml::is_nodes(&c.ty) {
        true => Err(super::xml::nodes_column(&c.name)),
        false => Ok(Item {
            expr: Expr {
                kind: Kind::Column {
                    depth,
                    index: source.offset + i,
                },
                ty: c.ty,
                nullable: c.nullable,
            },
            name: c.name.clone(),
            identity: c.identity && depth == 0,
            updatable: c.updatable && depth == 0,
            slot: None,
        }),
    };
    shown.map(item).collect()
}

/// The inputs of a UNION: a long chain of them is one list, not a tower. What UNION without ALL leaves out once, it need
/// not leave out before.
fn union_inputs(left: Plan, right: Plan, all: bool) -> Vec<Plan> {
    let left = match left.node {
        Node::Distinct { input } if !all && matches!(input.node, Node::Concat(_)) => *input,
        node => Plan { node, ..left },
    };
    match left.node {
        Node::Concat(mut inputs) => {
            inputs.push(right);
            inputs
        }
        node => vec![Plan { node, ..left }, right],
    }
}

/// A plan with its columns converted to these types.
pub(crate) fn converted(plan: Plan, types: &[SqlType]) -> SqlResult<Plan> {
    if plan.columns.iter().zip(types).all(|(c, t)| c.ty == *t) {
        return Ok(plan);
    }
    let exprs = converted_columns(&plan, types)?;
    let mut columns = plan.columns.clone();
    let own = Arc::make_mut(&mut columns).iter_mut();
    own.zip(types).for_each(|(c, t)| c.ty = *t);
    let correlated = plan.correlated;
    Ok(Plan {
        node: Node::Project {
            input: Box::new(plan),
            exprs,
        },
        columns,
        correlated,
    })
}

fn converted_columns(plan: &Plan, types: &[SqlType]) -> SqlResult<Vec<Expr>> {
    let columns = plan.columns.iter().zip(types).enumerate();
    let converted = columns.map(|(i, (c, t))| match bare_null(plan, i) {
        true => Ok(Expr::constant(Value::Null, *t)),
        false => super::coerced(Expr::column(i, c.ty, c.nullable), *t),
    });
    converted.collect()
}

/// 40517 for FOR clauses.
pub(super) fn refused(stmt: &ast::SelectStmt) -> SqlResult<()> {
    match stmt.for_clause {
        None | Some(ast::ForClause::Browse) => Ok(()),
        Some(_) => Err(unsupported("FOR XML and FOR JSON", stmt.line)),
    }
}

/// A column that is the word NULL, which has no type of its own.
fn bare_null(plan: &Plan, column: usize) -> bool {
    match &plan.node {
        Node::Project { exprs, .. } => exprs
            .get(column)
            .is_some_and(|e| e.kind == Kind::Const(Value::Null)),
        _ => false,
    }
}

/// The column that an expression is, and nothing else.
fn plain_column<'s>(e: &Expr, scope: &'s Scope<'_>) -> Option<&'s OutColumn> {
    let Kind::Column { depth: 0, index } = e.kind else {
        return None;
    };
    let source = scope.sources.iter().rev().find(|s| s.offset <= index)?;
    source.columns.get(index - source.offset)
}

fn widest(column: &[Expr]) -> SqlType {
    let longest = column.iter().map(|e| e.ty).max_by_key(|t| t.length);
    longest.unwrap_or(SqlType::INT)
}

/// A node over `plan` that gives out the same columns.
pub(crate) fn wrap(plan: Plan, node: impl FnOnce(Box<Plan>) -> Node) -> Plan {
    let columns = plan.columns.clone();
    let correlated = plan.correlated;
    Plan {
        node: node(Box::new(plan)),
        columns,
        correlated,
    }
}

pub(super) fn sorted(plan: Plan, keys: Vec<SortKey>) -> Plan {
    if keys.is_empty() {
        plan
    } else {
        wrap(plan, |input| Node::Sort { input, keys })
    }
}

fn project(plan: Plan, items: Vec<Item>) -> Plan {
    if !items.is_empty() && items.iter().all(|i| i.slot.is_some()) {
        let targets = items
            .into_iter()
            .filter_map(|i| Some((i.slot?, i.expr)))
            .collect();
        let correlated = plan.correlated;
        let node = Node::Assign {
            input: Box::new(plan),
            targets,
        };
        return Plan {
            node,
            columns: Columns::default(),
            correlated,
        };
    }
    let columns = items.iter().map(Item::column).collect();
    let correlated = plan.correlated;
    let exprs = items.into_iter().map(|i| i.expr).collect();
    Plan {
        node: Node::Project {
            input: Box::new(plan),
            exprs,
        },
        columns,
        correlated,
    }
}
