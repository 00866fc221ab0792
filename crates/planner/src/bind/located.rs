//! UPDATE and DELETE of a common table expression or view: the rows of its one table, found through its query.
//!
//! The query is bound with more columns than it names: behind its own come those of the table, and where the row lies.
//! Whatever it does on the way (TOP, ROW_NUMBER, ORDER BY) carries them along. Their names begin with a NUL, so that
//! nothing can name them. A column of the query may be assigned if it is one of the table's, under whatever name.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::{Source, Table, View};
use duramen_query::locking::inner_target_lock;
use duramen_query::{Plan, ScanLock};
use duramen_tsql::ast::{self, ExprKind, QueryExpr, SelectItem};

use super::{Binder, Exposed, Scope, same_name, unsupported};

/// A query whose rows are rows of a table.
pub(crate) struct Located {
    pub table: Arc<dyn Table>,
    pub plan: Plan,
    /// The names of the plan's columns, hidden ones too.
    pub names: Vec<String>,
    /// The columns that have a name, and which of the table's each is.
    pub columns: Vec<(String, Option<usize>)>,
}

/// Where a statement's target is, when it is a query.
pub(crate) struct Target {
    pub table: Arc<dyn Table>,
    /// As in [`Located`].
    pub columns: Vec<(String, Option<usize>)>,
}

impl Binder<'_> {
    /// Whether a name is that of a common table expression.
    pub(crate) fn is_common(&self, name: &ast::ObjectName) -> bool {
        name.parts.len() == 1 && self.ctes.iter().any(|c| same_name(&c.name, name.name()))
    }

    /// Whether a name is that of a common table expression or view.
    pub(crate) fn is_query(&self, name: &ast::ObjectName) -> SqlResult<bool> {
        if self.is_common(name) {
            return Ok(true);
        }
        Ok(matches!(self.host.target(name)?, Some(Source::View(_))))
    }

    /// FROM of an UPDATE or DELETE whose target is a query that it lists as `alias`; where the table's columns start.
    pub(crate) fn target_query(
        &mut self,
        alias: &str,
        lock: ScanLock,
        from: &[ast::TableSource],
    ) -> SqlResult<(Plan, Scope<'static>, usize, Target)> {
        let mut scope = Scope::default();
        self.locate = Some((alias.to_owned(), lock));
        let plan = self.from(from, &mut scope)?;
        let wrong = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
        let target = self.located_target.take().ok_or_else(wrong)?;
        let source = scope
            .sources
            .iter()
            .find(|s| same_name(&s.exposed.name, alias));
        let offset = source.map_or(0, |s| s.offset) + target.columns.len();
        Ok((plan, scope, offset, target))
    }

    /// Adds the target's rows to `scope`.
    pub(super) fn expose_located(
        &mut self,
        located: Located,
        exposed: Exposed,
        scope: &mut Scope<'_>,
    ) -> SqlResult<Plan> {
        self.located_target = Some(Target {
            table: located.table,
            columns: located.columns,
        });
        self.expose_query(located.plan, exposed, &located.names, scope)
    }

    /// A view as the target, in its own database.
    pub(super) fn located_view(&mut self, view: &View, lock: ScanLock) -> SqlResult<Located> {
        self.inside((&view.database, view.system), |b| {
            b.located_query(&view.query, (&view.name, &view.columns), lock)
        })
    }

    /// The query of a common table expression or view, with the hidden columns; `named` is its own column list.
    pub(super) fn located_query(
        &mut self,
        query: &ast::SelectStmt,
        (name, named): (&str, &[String]),
        lock: ScanLock,
    ) -> SqlResult<Located> {
        let QueryExpr::Select(spec) = &query.body else {
            return Err(SqlError::new(&messages::VIEW_HAS_UNION, &[&name]));
        };
        if spec.distinct || spec.group_by.is_some() || spec.having.is_some() {
            return Err(SqlError::new(&messages::VIEW_AGGREGATES, &[&name]));
        }
        let (table, exposed) = self.only_table(query, spec, name)?;
        let lock = match spec.from.as_slice() {
            [ast::TableSource::Table(source)] => inner_target_lock(&source.hints, lock)?,
            _ => lock,
        };
        let mut columns = own_columns(spec, &exposed, &*table);
        let mut next = query.clone();
        if let QueryExpr::Select(spec) = &mut next.body {
            let own = table.columns().iter().map(|c| c.name.as_str());
            for (i, column) in own.chain(["\0locator"]).enumerate() {
                spec.items.push(hidden(&exposed, column, i, query.line));
            }
        }
        let (ctes, locate) = (self.ctes.len(), self.locate.take());
        self.ctes.extend(query.ctes.iter().cloned());
        self.locate = Some((exposed, lock));
        let plan = self.query_body(&next, None);
        self.ctes.truncate(ctes);
        self.locate = locate;
        let mut plan = plan.map_err(|e| e.at_line(query.line as i32))?;
        let hidden = table.columns().len() + 1;
        let visible = plan.columns.len() - hidden;
        if columns.len() != visible {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        }
        let width = if named.is_empty() {
            visible
        } else {
            named.len()
        };
        if width > visible {
            return Err(SqlError::new(&messages::VIEW_MORE_NAMES, &[&name]));
        }
        if width < visible {
            let keep = (0..width).chain(visible..visible + hidden);
            plan = super::module::picked(plan, keep);
            columns.truncate(width);
        }
        for (c, name) in columns.iter_mut().zip(named) {
            c.0.clone_from(name);
        }
        let mut names: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
        names.extend(plan.columns[width..].iter().map(|c| c.name.to_string()));
        Ok(Located {
            table,
            plan,
            names,
            columns,
        })
    }
}

impl Binder<'_> {
    /// The one table that a query reads, and its exposed name.
    fn only_table(
        &self,
        query: &ast::SelectStmt,
        spec: &ast::QuerySpec,
        name: &str,
    ) -> SqlResult<(Arc<dyn Table>, String)> {
        let over =
            |what: &str| unsupported(&format!("changing rows of a query over {what}"), query.line);
        match spec.from.as_slice() {
            [ast::TableSource::Table(source)] => {
                let inner_cte = |c: &ast::Cte| same_name(&c.name, source.name.name());
                let nested = source.name.parts.len() == 1
                    && (self.ctes.iter().any(inner_cte) || query.ctes.iter().any(inner_cte));
                let exposed = source.alias.clone();
                let exposed = exposed.unwrap_or_else(|| source.name.name().to_owned());
                match self.host.source(&source.name)? {
                    Some(Source::Table(table)) if !nested => Ok((table, exposed)),
                    None if !nested => {
                        let shown = source.name.display();
                        Err(SqlError::new(&messages::INVALID_OBJECT_NAME, &[&shown]))
                    }
                    _ => Err(over("a query")),
                }
            }
            [ast::TableSource::Variable { name, alias, .. }] => {
                let table = self.host.table_variable(name).ok_or_else(|| {
                    SqlError::new(&messages::TABLE_VARIABLE_NOT_DECLARED, &[name]).with_state(2)
                })?;
                Ok((table, alias.clone().unwrap_or_else(|| name.clone())))
            }
            [] => Err(over("no table")),
            [_, _, ..] | [ast::TableSource::Join(_)] => {
                Err(SqlError::new(&messages::VIEW_MULTIPLE_TABLES, &[&name]))
            }
            [_] => Err(over("no table")),
        }
    }

    /// An INSERT into a view as one into its table: the table's name, and the columns that are meant; `listed` are
    /// those that the statement names.
    pub(crate) fn insert_through(
        &self,
        view: &View,
        listed: &[String],
    ) -> SqlResult<(ast::ObjectName, Vec<String>)> {
        let other = self.host.within(&view.database, view.system);
        let inner = Binder::new(other.as_deref().unwrap_or(self.host));
        let QueryExpr::Select(spec) = &view.query.body else {
            return Err(SqlError::new(&messages::VIEW_HAS_UNION, &[&view.name]));
        };
        if spec.distinct || spec.group_by.is_some() || spec.having.is_some() {
            return Err(SqlError::new(&messages::VIEW_AGGREGATES, &[&view.name]));
        }
        let (table, exposed) = inner.only_table(&view.query, spec, &view.name)?;
        let [ast::TableSource::Table(source)] = spec.from.as_slice() else {
            return Err(unsupported("INSERT into such a view", view.query.line));
        };
        let mut columns = own_columns(spec, &exposed, &*table);
        if !view.columns.is_empty() {
            columns.truncate(view.columns.len());
        }
        for (c, name) in columns.iter_mut().zip(&view.columns) {
            c.0.clone_from(name);
        }
        let derived = || SqlError::new(&messages::VIEW_DERIVED_FIELD, &[&view.name]);
        let named = |name: &String| {
            let found = columns.iter().find(|(n, _)| same_name(n, name));
            let missing = || SqlError::new(&messages::INVALID_COLUMN_NAME, &[name]);
            found.ok_or_else(missing)?.1.ok_or_else(derived)
        };
        let positions: SqlResult<Vec<usize>> = match listed.is_empty() {
            true => columns
                .iter()
                .map(|(_, at)| at.ok_or_else(derived))
                .collect(),
            false => listed.iter().map(named).collect(),
        };
        let names = positions?
            .iter()
            .map(|i| table.columns()[*i].name.clone())
            .collect();
        let schema = source.name.schema().unwrap_or_default();
        let database = source.name.database().unwrap_or(&view.database);
        let parts = [database, schema, source.name.name()]
            .map(str::to_owned)
            .to_vec();
        let line = source.name.line;
        Ok((ast::ObjectName { parts, line }, names))
    }
}

/// The items of a query over one table: their names, and which of its columns each is.
fn own_columns(
    spec: &ast::QuerySpec,
    exposed: &str,
    table: &dyn Table,
) -> Vec<(String, Option<usize>)> {
    let mut out = Vec::new();
    for item in &spec.items {
        match item {
            SelectItem::Star { .. } => {
                let all = table.columns().iter().enumerate();
                out.extend(all.map(|(i, c)| (c.name.clone(), Some(i))));
            }
            SelectItem::Expr { expr, alias } => {
                let column = match &expr.kind {
                    ExprKind::Column(n) => {
                        let mine = n.schema().is_none_or(|q| same_name(q, exposed));
                        let mut all = table.columns().iter();
                        let at = all.position(|c| same_name(&c.name, n.name()));
                        Some((n.name().to_owned(), at.filter(|_| mine)))
                    }
                    _ => None,
                };
                let (own, at) = column.unwrap_or_default();
                out.push((alias.clone().unwrap_or(own), at));
            }
            SelectItem::Assign { .. } => {}
        }
    }
    out
}

/// A column of the table under a name that nothing can be called.
fn hidden(exposed: &str, column: &str, number: usize, line: u32) -> SelectItem {
    let name = ast::ObjectName {
        parts: vec![exposed.to_owned(), column.to_owned()],
        line,
    };
    SelectItem::Expr {
        expr: ast::Expr {
            kind: ExprKind::Column(name),
            line,
        },
        alias: Some(format!("\0{number}")),
    }
}
