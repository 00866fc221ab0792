//! INSERT, UPDATE and DELETE: bound once, run any number of times.
//!
//! A statement first finds its rows and computes its values, then changes: it never sees its own changes.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_types::{MAX_LENGTH, SqlType, Target, TypeId, Value};

use crate::bind::{Binder, Scope, same_name, unsupported, wrap};
use crate::cx::Cx;
use crate::exec::eval_all;
use crate::expr::Expr;
use crate::host::{Host, Source, Table};
use crate::locking::{ScanLock, target_lock};
use crate::plan::{Node, Plan, Row};

/// A bound statement that changes rows.
#[derive(Debug)]
pub struct Dml {
    table: Arc<dyn Table>,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Insert {
        source: InsertSource,
        columns: Vec<ColumnValue>,
        lock: ScanLock,
    },
    Update {
        plan: Plan,
        /// Where the target's columns start in the plan's rows.
        offset: usize,
        assignments: Vec<(usize, Expr)>,
        variables: Vec<(usize, Expr)>,
    },
    Delete {
        plan: Plan,
        offset: usize,
    },
}

#[derive(Debug)]
enum InsertSource {
    /// One row of values for the columns named.
    Row(Vec<Expr>),
    Rows(Vec<Vec<Expr>>),
    Query(Box<Plan>),
}

/// Where a column of the new row comes from.
#[derive(Debug)]
enum ColumnValue {
    Given(usize),
    /// A value given for the identity column, under SET IDENTITY_INSERT ON.
    GivenIdentity(usize),
    Identity,
    Expression(Expr),
}

impl Dml {
    /// The table that changes.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Tells the tables that no transaction keeps how the statement ended.
    pub fn statement_ended(&self, succeeded: bool) {
        self.table.statement_ended(succeeded);
    }

    /// Does it; the number of rows affected.
    pub fn run(&self, cx: &mut Cx<'_>) -> SqlResult<u64> {
        match &self.action {
            Action::Insert {
                source,
                columns,
                lock,
            } => {
                self.table.begin_insert(*lock, cx)?;
                self.insert_from(source, columns, cx)
            }
            Action::Update {
                plan,
                offset,
                assignments,
                variables,
            } => self.update((plan, *offset), assignments, variables, cx),
            Action::Delete { plan, offset } => {
                let targets = self.targets(plan, *offset, cx)?;
                let width = self.table.columns().len();
                for (at, row) in &targets {
                    let locator = cx.locators[*at].clone();
                    let old = row[*offset..offset + width].to_vec();
                    self.table.delete(&locator, &old, cx)?;
                }
                cx.locators.clear();
                Ok(targets.len() as u64)
            }
        }
    }

    fn insert_from(
        &self,
        source: &InsertSource,
        columns: &[ColumnValue],
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        match source {
            InsertSource::Row(exprs) => {
                let given = eval_all(exprs, &[], cx)?;
                self.insert(given, columns, cx)?;
                Ok(1)
            }
            InsertSource::Rows(rows) => {
                let mut all = Vec::with_capacity(rows.len());
                for exprs in rows {
                    all.push(eval_all(exprs, &[], cx)?);
                }
                self.insert_all(all, columns, cx)
            }
            InsertSource::Query(plan) => {
                let mut rows = plan.rows(cx)?;
                rows.truncate(usize::try_from(cx.row_limit).unwrap_or(usize::MAX));
                self.insert_all(rows, columns, cx)
            }
        }
    }

    fn insert_all(
        &self,
        rows: Vec<Row>,
        columns: &[ColumnValue],
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        let n = rows.len() as u64;
        for given in rows {
            cx.check_cancelled()?;
            self.insert(given, columns, cx)?;
        }
        Ok(n)
    }

    fn insert(&self, mut given: Row, columns: &[ColumnValue], cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut row = Vec::with_capacity(columns.len());
        for source in columns {
            row.push(match source {
                ColumnValue::Given(i) | ColumnValue::GivenIdentity(i) => {
                    std::mem::take(&mut given[*i])
                }
                ColumnValue::Identity => self.table.next_identity(cx)?,
                ColumnValue::Expression(e) => e.eval(&[], cx)?,
            });
        }
        self.store(&mut row, "INSERT", cx)?;
        for (value, source) in row.iter().zip(columns) {
            match source {
                ColumnValue::Identity => cx.identity = value.as_i64(),
                ColumnValue::GivenIdentity(_) => {
                    cx.identity = value.as_i64();
                    self.table.note_identity(value, cx)?;
                }
                _ => {}
            }
        }
        self.table.insert(row, cx)
    }

    /// Checks that the values fit their columns: NULL, length.
    fn store(&self, row: &mut Row, statement: &str, cx: &Cx<'_>) -> SqlResult<()> {
        for (value, column) in row.iter_mut().zip(self.table.columns()) {
            if value.is_null() {
                if !column.nullable {
                    let table = self.table.full_name();
                    let args: [&dyn std::fmt::Display; 3] = [&column.name, &table, &statement];
                    return Err(SqlError::new(&messages::NULL_NOT_ALLOWED, &args).with_state(2));
                }
                continue;
            }
            if !(column.ty.id.is_string() || column.ty.id.is_binary()) {
                continue;
            }
            let full = self.table.full_name();
            let target = Target::Column {
                table: &full,
                column: &column.name,
            };
            let given = std::mem::take(value);
            *value = duramen_types::assign(
                given,
                &assignable(column.ty),
                &column.ty,
                target,
                &cx.convert,
            )?;
        }
        Ok(())
    }

    /// The rows to change, each with the number of its locator, in the order found. A row that joins several times is
    /// there once; one that an outer join made up is not.
    fn targets(&self, plan: &Plan, offset: usize, cx: &mut Cx<'_>) -> SqlResult<Vec<(usize, Row)>> {
        cx.locators.clear();
        let locator = offset + self.table.columns().len();
        let mut seen = std::collections::BTreeSet::new();
        let mut out = Vec::new();
        for row in plan.rows(cx)? {
            if out.len() as u64 == cx.row_limit {
                break;
            }
            let at = row.get(locator).and_then(Value::as_i64);
            if let Some(at) = at
                && seen.insert(at)
            {
                out.push((at as usize, row));
            }
        }
        Ok(out)
    }

    /// Whether an assigned column is part of a unique key.
    fn moves_keys(&self, assignments: &[(usize, Expr)]) -> bool {
        let mut unique = self.table.paths().iter().filter(|p| p.unique);
        unique.any(|p| {
            let mut keys = p.keys.iter();
            keys.any(|(key, _)| assignments.iter().any(|(column, _)| column == key))
        })
    }

    fn update(
        &self,
        (plan, offset): (&Plan, usize),
        assignments: &[(usize, Expr)],
        variables: &[(usize, Expr)],
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        let width = self.table.columns().len();
        let mut changes: Vec<(usize, Row, Row)> = Vec::new();
        for (at, full) in self.targets(plan, offset, cx)? {
            let old = full[offset..offset + width].to_vec();
            let mut new = old.clone();
            for (column, e) in assignments {
                new[*column] = e.eval(&full, cx)?;
            }
            for (slot, e) in variables {
                let v = e.eval(&full, cx)?;
                cx.vars[*slot] = v;
            }
            self.store(&mut new, "UPDATE", cx)?;
            changes.push((at, old, new));
        }
        let n = changes.len() as u64;
        if n > 1 && self.moves_keys(assignments) {
            // Key values may pass from row to row: all old rows leave before the new ones come.
            for (at, old, _) in &changes {
                let locator = cx.locators[*at].clone();
                self.table.delete(&locator, old, cx)?;
            }
            for (_, _, new) in changes {
                self.table.insert(new, cx)?;
            }
        } else {
            for (at, old, new) in changes {
                let locator = cx.locators[at].clone();
                self.table.update(&locator, &old, new, cx)?;
            }
        }
        cx.locators.clear();
        Ok(n)
    }
}

fn target_table(host: &dyn Host, target: &ast::Target) -> SqlResult<Arc<dyn Table>> {
    let line = target.line as i32;
    match &target.kind {
        ast::TargetKind::Table(name) => match host.source(name)? {
            Some(Source::Table(t)) => Ok(t),
            Some(Source::Virtual(_)) => {
                Err(SqlError::new(&messages::CATALOG_UPDATE_NOT_ALLOWED, &[]).at_line(line))
            }
            None => {
                Err(SqlError::new(&messages::INVALID_OBJECT_NAME, &[&name.display()]).at_line(line))
            }
        },
        ast::TargetKind::Variable(name) => host.table_variable(name).ok_or_else(|| {
            SqlError::new(&messages::TABLE_VARIABLE_NOT_DECLARED, &[name])
                .with_state(2)
                .at_line(line)
        }),
    }
}

/// Binds an INSERT. INSERT ... EXEC is the session's.
pub fn insert(host: &dyn Host, stmt: &ast::InsertStmt) -> SqlResult<Dml> {
    bind_insert(host, stmt).map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_insert(host: &dyn Host, stmt: &ast::InsertStmt) -> SqlResult<Dml> {
    let line = stmt.target.line;
    if stmt.output.is_some() {
        return Err(unsupported("OUTPUT", line));
    }
    if stmt.top.is_some() {
        return Err(unsupported("INSERT TOP", line));
    }
    if !stmt.ctes.is_empty() {
        return Err(unsupported("WITH before INSERT", line));
    }
    let table = target_table(host, &stmt.target)?;
    let lock = target_lock(&stmt.target.hints)?;
    let mut binder = Binder::new(host);
    let named = named_columns(&table, &stmt.columns).map_err(|e| e.at_line(line as i32))?;
    let target_type = |i: usize| table.columns()[named[i]].ty;
    let mut defaults = Vec::new();
    let source = match &stmt.source {
        ast::InsertSource::DefaultValues => InsertSource::Row(Vec::new()),
        ast::InsertSource::Exec(_) => return Err(unsupported("INSERT EXEC", line)),
        ast::InsertSource::Query(query) => match &query.body {
            ast::QueryExpr::Values(rows) if query.order_by.is_empty() => {
                let mut bound = Vec::with_capacity(rows.len());
                for row in rows {
                    let explicit = !stmt.columns.is_empty();
                    if !explicit && row.len() == table.columns().len() && row.len() > named.len() {
                        let message = &messages::IDENTITY_NEEDS_COLUMN_LIST;
                        return Err(SqlError::new(message, &[&table.name()]));
                    }
                    check_width(!explicit, named.len(), row.len(), true)?;
                    let mut exprs = Vec::with_capacity(row.len());
                    for (i, e) in row.iter().enumerate() {
                        let ty = target_type(i);
                        exprs.push(if matches!(e.kind, ast::ExprKind::Default) {
                            default_value(host, &binder, &table, named[i])?
                        } else {
                            let bound = binder.scalar(e)?;
                            binder
                                .coerce(bound, assignable(ty))
                                .map_err(|x| x.at_line(e.line as i32))?
                        });
                    }
                    bound.push(exprs);
                }
                if bound.len() == 1 {
                    InsertSource::Row(bound.remove(0))
                } else {
                    InsertSource::Rows(bound)
                }
            }
            _ => {
                let plan = binder.select(query)?;
                check_width(
                    stmt.columns.is_empty(),
                    named.len(),
                    plan.columns.len(),
                    false,
                )?;
                let types: Vec<SqlType> = (0..named.len())
                    .map(|i| assignable(target_type(i)))
                    .collect();
                InsertSource::Query(Box::new(binder.convert_columns(plan, &types)?))
            }
        },
    };
    let given = !matches!(stmt.source, ast::InsertSource::DefaultValues);
    for (i, column) in table.columns().iter().enumerate() {
        let at = named.iter().position(|n| *n == i).filter(|_| given);
        defaults.push(match at {
            Some(_) if column.identity && !identity_insert(host, &table) => {
                let error = SqlError::new(&messages::IDENTITY_INSERT_OFF, &[&table.name()]);
                return Err(error.at_line(line as i32));
            }
            Some(at) if column.identity => ColumnValue::GivenIdentity(at),
            None if column.identity && identity_insert(host, &table) => {
                let error = SqlError::new(&messages::IDENTITY_VALUE_REQUIRED, &[&table.name()]);
                return Err(error.at_line(line as i32));
            }
            Some(at) => ColumnValue::Given(at),
            None if column.identity => ColumnValue::Identity,
            None => ColumnValue::Expression(default_value(host, &binder, &table, i)?),
        });
    }
    Ok(Dml {
        table,
        action: Action::Insert {
            source,
            columns: defaults,
            lock,
        },
    })
}

/// The table of SET IDENTITY_INSERT ON is asked of the session as a global: its full name.
fn identity_insert(host: &dyn Host, table: &Arc<dyn Table>) -> bool {
    let on = host.global("identity_insert").ok();
    on.and_then(|v| v.as_text())
        .is_some_and(|name| same_name(&name, &table.full_name()))
}

fn named_columns(table: &Arc<dyn Table>, names: &[String]) -> SqlResult<Vec<usize>> {
    let columns = table.columns();
    if names.is_empty() {
        return Ok((0..columns.len())
            .filter(|i| !columns[*i].identity)
            .collect());
    }
    let mut out = Vec::with_capacity(names.len());
    for n in names {
        let at = columns.iter().position(|c| same_name(&c.name, n));
        let at = at.ok_or_else(|| SqlError::new(&messages::INVALID_COLUMN_NAME, &[n]))?;
        if out.contains(&at) {
            return Err(SqlError::new(&messages::COLUMN_ASSIGNED_TWICE, &[n]));
        }
        out.push(at);
    }
    Ok(out)
}

fn check_width(implicit: bool, wanted: usize, got: usize, values: bool) -> SqlResult<()> {
    if wanted == got {
        return Ok(());
    }
    let message = match (implicit, values, got < wanted) {
        (true, ..) => &messages::INSERT_COLUMN_MISMATCH,
        (_, true, true) => &messages::INSERT_MORE_COLUMNS_THAN_VALUES,
        (_, true, false) => &messages::INSERT_FEWER_COLUMNS_THAN_VALUES,
        (_, false, true) => &messages::INSERT_SELECT_FEWER,
        (_, false, false) => &messages::INSERT_SELECT_MORE,
    };
    Err(SqlError::new(message, &[]))
}

/// Strings are converted without a length, so that truncation is found when the row is stored (2628).
fn assignable(ty: SqlType) -> SqlType {
    let id = match ty.id {
        TypeId::Char | TypeId::VarChar => TypeId::VarChar,
        TypeId::NChar | TypeId::NVarChar => TypeId::NVarChar,
        TypeId::Binary | TypeId::VarBinary => TypeId::VarBinary,
        _ => return ty,
    };
    SqlType {
        id,
        length: MAX_LENGTH,
        ..ty
    }
}

fn default_value(
    host: &dyn Host,
    binder: &Binder<'_>,
    table: &Arc<dyn Table>,
    column: usize,
) -> SqlResult<Expr> {
    let c = &table.columns()[column];
    match &c.default {
        Some(text) => binder.coerce(host.bind_default(text)?, assignable(c.ty)),
        None => Ok(Expr::constant(Value::Null, c.ty)),
    }
}

/// What an UPDATE or DELETE is about, bound.
struct Targets {
    table: Arc<dyn Table>,
    plan: Plan,
    scope: Scope<'static>,
    offset: usize,
}

/// The rows of the target, beside those of the other sources of FROM.
fn target_rows(
    binder: &mut Binder<'_>,
    target: &ast::Target,
    from: &[ast::TableSource],
    where_: Option<&ast::DmlWhere>,
    top: Option<&ast::Top>,
) -> SqlResult<Targets> {
    let (real, alias, listed) = resolve_from(target, from)?;
    let table = target_table(binder.host, &real)?;
    let lock = target_lock(&real.hints)?;
    let (mut plan, scope, offset) = binder.target_from(&table, (&alias, listed), lock, from)?;
    match where_ {
        None => {}
        Some(ast::DmlWhere::Condition(e)) => {
            let predicate = binder.over(e, &scope)?;
            crate::bind::narrow(&mut plan, &predicate);
            plan = wrap(plan, |input| Node::Filter { input, predicate });
        }
        Some(ast::DmlWhere::CurrentOf(_)) => return Err(unsupported("WHERE CURRENT OF", 0)),
    }
    if let Some(top) = top {
        let count = binder.scalar(&top.count)?;
        let percent = top.percent;
        plan = wrap(plan, |input| Node::Top {
            input,
            count,
            percent,
            ties: Vec::new(),
        });
    }
    Ok(Targets {
        table,
        plan,
        scope,
        offset,
    })
}

fn target_alias(target: &ast::Target) -> String {
    match &target.kind {
        ast::TargetKind::Table(name) => name.name().to_owned(),
        ast::TargetKind::Variable(name) => name.clone(),
    }
}

/// Finds the target among the sources of FROM: by the name it is exposed under, or as a table that is there once.
/// Gives the table meant, its exposed name and whether FROM lists it.
fn resolve_from(
    target: &ast::Target,
    from: &[ast::TableSource],
) -> SqlResult<(ast::Target, String, bool)> {
    let alias = target_alias(target);
    let mut refs = Vec::new();
    from.iter().for_each(|s| listed_tables(s, &mut refs));
    let by_alias = refs.iter().find(|t| same_name(t.exposed, &alias));
    let mut by_name = refs.iter().filter(|t| same_name(t.name, &alias));
    let found = match (by_alias, by_name.next(), by_name.next()) {
        (Some(t), ..) | (None, Some(t), None) => t,
        (None, Some(_), Some(_)) => {
            return Err(SqlError::new(&messages::TABLE_AMBIGUOUS, &[&alias]));
        }
        (None, None, _) => return Ok((target.clone(), alias, false)),
    };
    let mut hints = found.hints.to_vec();
    hints.extend(target.hints.iter().cloned());
    let real = ast::Target {
        kind: found.kind.clone(),
        hints,
        line: target.line,
    };
    Ok((real, found.exposed.to_owned(), true))
}

/// A table or table variable that FROM lists.
struct Listed<'t> {
    /// Its alias, or its name.
    exposed: &'t str,
    name: &'t str,
    kind: ast::TargetKind,
    hints: &'t [ast::TableHint],
}

fn listed_tables<'t>(source: &'t ast::TableSource, out: &mut Vec<Listed<'t>>) {
    match source {
        ast::TableSource::Table(t) => out.push(Listed {
            exposed: t.alias.as_deref().unwrap_or(t.name.name()),
            name: t.name.name(),
            kind: ast::TargetKind::Table(t.name.clone()),
            hints: &t.hints,
        }),
        ast::TableSource::Variable {
            name, alias, hints, ..
        } => out.push(Listed {
            exposed: alias.as_deref().unwrap_or(name),
            name,
            kind: ast::TargetKind::Variable(name.clone()),
            hints,
        }),
        ast::TableSource::Join(j) => {
            listed_tables(&j.left, out);
            listed_tables(&j.right, out);
        }
        _ => {}
    }
}

/// Binds an UPDATE.
pub fn update(host: &dyn Host, stmt: &ast::UpdateStmt) -> SqlResult<Dml> {
    bind_update(host, stmt).map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_update(host: &dyn Host, stmt: &ast::UpdateStmt) -> SqlResult<Dml> {
    let line = stmt.target.line;
    if stmt.output.is_some() || !stmt.ctes.is_empty() {
        return Err(unsupported("OUTPUT or WITH in UPDATE", line));
    }
    let mut binder = Binder::new(host);
    let Targets {
        table,
        plan,
        scope,
        offset,
    } = target_rows(
        &mut binder,
        &stmt.target,
        &stmt.from,
        stmt.where_.as_ref(),
        stmt.top.as_ref(),
    )?;
    let mut assignments: Vec<(usize, Expr)> = Vec::new();
    let mut variables = Vec::new();
    for clause in &stmt.set {
        match clause {
            ast::SetClause::Column {
                variable,
                column,
                op,
                value,
                line,
            } => {
                let at = table
                    .columns()
                    .iter()
                    .position(|c| same_name(&c.name, column.name()));
                let at = at
                    .ok_or_else(|| SqlError::new(&messages::INVALID_COLUMN_NAME, &[&column.name()]))
                    .map_err(|e| e.at_line(*line as i32))?;
                let c = &table.columns()[at];
                if c.identity {
                    return Err(
                        SqlError::new(&messages::IDENTITY_UPDATE, &[&c.name]).at_line(*line as i32)
                    );
                }
                if assignments.iter().any(|(i, _)| *i == at) {
                    return Err(SqlError::new(&messages::COLUMN_ASSIGNED_TWICE, &[&c.name])
                        .at_line(*line as i32));
                }
                let mut bound = match value.kind {
                    ast::ExprKind::Default => default_value(host, &binder, &table, at)?,
                    _ => binder.over(value, &scope)?,
                };
                if let Some(op) = op {
                    bound = crate::bind::combine(
                        *op,
                        Expr::column(offset + at, c.ty, c.nullable),
                        bound,
                    )?;
                }
                let bound = binder
                    .coerce(bound, assignable(c.ty))
                    .map_err(|e| e.at_line(*line as i32))?;
                if let Some(v) = variable {
                    variables.push(variable_target(host, &binder, v, bound.clone())?);
                }
                assignments.push((at, bound));
            }
            ast::SetClause::Variable {
                name,
                op: None,
                value,
                ..
            } => {
                let bound = binder.over(value, &scope)?;
                variables.push(variable_target(host, &binder, name, bound)?);
            }
            ast::SetClause::Variable { line, .. } => {
                return Err(unsupported("compound assignment in UPDATE", *line));
            }
            ast::SetClause::Write { line, .. } => return Err(unsupported(".WRITE", *line)),
        }
    }
    Ok(Dml {
        table,
        action: Action::Update {
            plan,
            offset,
            assignments,
            variables,
        },
    })
}

fn variable_target(
    host: &dyn Host,
    binder: &Binder<'_>,
    name: &str,
    value: Expr,
) -> SqlResult<(usize, Expr)> {
    let (slot, ty) = host
        .variable(name)
        .ok_or_else(|| SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[&name]))?;
    Ok((slot, binder.coerce(value, ty)?))
}

/// Binds a DELETE.
pub fn delete(host: &dyn Host, stmt: &ast::DeleteStmt) -> SqlResult<Dml> {
    bind_delete(host, stmt).map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_delete(host: &dyn Host, stmt: &ast::DeleteStmt) -> SqlResult<Dml> {
    if stmt.output.is_some() || !stmt.ctes.is_empty() {
        return Err(unsupported("OUTPUT or WITH in DELETE", stmt.target.line));
    }
    let mut binder = Binder::new(host);
    let found = target_rows(
        &mut binder,
        &stmt.target,
        &stmt.from,
        stmt.where_.as_ref(),
        stmt.top.as_ref(),
    )?;
    Ok(Dml {
        table: found.table,
        action: Action::Delete {
            plan: found.plan,
            offset: found.offset,
        },
    })
}
