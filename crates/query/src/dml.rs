//! INSERT, UPDATE and DELETE: bound once, run any number of times.
//!
//! A statement first finds its rows and computes its values, then changes: it never sees its own changes.

mod explain;
mod target;

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_types::{MAX_LENGTH, SqlType, Target, TypeId, Value};

use self::target::{Targets, target_rows, top_rows};
use crate::bind::{Binder, Scope, ScopeSource, same_name, unsupported};
use crate::cx::Cx;
use crate::exec::eval_all;
use crate::expr::{Expr, Kind};
use crate::host::{Host, Source, Table};
use crate::locking::{ScanLock, target_lock};
use crate::output::{self, Has, Output};
use crate::plan::{Node, OutColumn, Plan, Row};

/// A bound statement that changes rows.
#[derive(Debug)]
pub struct Dml {
    table: Arc<dyn Table>,
    output: Option<Output>,
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
pub(crate) enum ColumnValue {
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
        if let Some(o) = &self.output {
            o.statement_ended(succeeded);
        }
    }

    /// The columns that its OUTPUT clause sends to the client; the rows are in `Cx::output` after the run.
    pub fn output_columns(&self) -> Option<&[OutColumn]> {
        self.output.as_ref().and_then(Output::columns)
    }

    fn emit(
        &self,
        new: &[Value],
        old: &[Value],
        found: &[Value],
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        match &self.output {
            Some(o) => o.emit([new, old, found], cx),
            None => Ok(()),
        }
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
                    self.emit(&[], &old, row, cx)?;
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

    fn insert(&self, given: Row, columns: &[ColumnValue], cx: &mut Cx<'_>) -> SqlResult<()> {
        let Some(output) = &self.output else {
            return insert_row(&self.table, given, columns, cx);
        };
        let row = new_row(&self.table, given, columns, cx)?;
        self.table.insert(row.clone(), cx)?;
        output.emit([&row, &[], &[]], cx)
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
        let mut found: Vec<Row> = Vec::new();
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
            store(&self.table, &mut new, "UPDATE", cx)?;
            if self.output.is_some() {
                found.push(full);
            }
            changes.push((at, old, new));
        }
        for ((_, old, new), full) in changes.iter().zip(&found) {
            self.emit(new, old, full, cx)?;
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

/// A new row made of the values given, ready to be inserted.
fn new_row(
    table: &Arc<dyn Table>,
    mut given: Row,
    columns: &[ColumnValue],
    cx: &mut Cx<'_>,
) -> SqlResult<Row> {
    let mut row = Vec::with_capacity(columns.len());
    for source in columns {
        row.push(match source {
            ColumnValue::Given(i) | ColumnValue::GivenIdentity(i) => std::mem::take(&mut given[*i]),
            ColumnValue::Identity => table.next_identity(cx)?,
            ColumnValue::Expression(e) => e.eval(&[], cx)?,
        });
    }
    store(table, &mut row, "INSERT", cx)?;
    for (value, source) in row.iter().zip(columns) {
        match source {
            ColumnValue::Identity => cx.identity = value.as_i64(),
            ColumnValue::GivenIdentity(_) => {
                cx.identity = value.as_i64();
                table.note_identity(value, cx)?;
            }
            _ => {}
        }
    }
    Ok(row)
}

pub(crate) fn insert_row(
    table: &Arc<dyn Table>,
    given: Row,
    columns: &[ColumnValue],
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let row = new_row(table, given, columns, cx)?;
    table.insert(row, cx)
}

/// Checks that the values fit their columns: NULL, length.
fn store(table: &Arc<dyn Table>, row: &mut Row, statement: &str, cx: &Cx<'_>) -> SqlResult<()> {
    for (value, column) in row.iter_mut().zip(table.columns()) {
        if value.is_null() {
            if !column.nullable {
                let table = table.full_name();
                let args: [&dyn std::fmt::Display; 3] = [&column.name, &table, &statement];
                return Err(SqlError::new(&messages::NULL_NOT_ALLOWED, &args).with_state(2));
            }
            continue;
        }
        if !(column.ty.id.is_string() || column.ty.id.is_binary()) {
            continue;
        }
        let target = Target::Column {
            table: table.full_name(),
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

fn target_table(host: &dyn Host, target: &ast::Target) -> SqlResult<Arc<dyn Table>> {
    let line = target.line as i32;
    match &target.kind {
        ast::TargetKind::Table(name) => match host.source(name)? {
            Some(Source::Table(t)) => Ok(t),
            Some(Source::View(_)) => Err(unsupported("changing rows through a view", target.line)),
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

/// The table of OUTPUT ... INTO.
pub(crate) fn into_table(host: &dyn Host, kind: &ast::TargetKind) -> SqlResult<Arc<dyn Table>> {
    let target = ast::Target {
        kind: kind.clone(),
        hints: Vec::new(),
        line: 0,
    };
    target_table(host, &target)
}

/// Binds an INSERT. INSERT ... EXEC is the session's, which gives the rows to [`insert_rows`].
pub fn insert(host: &dyn Host, stmt: &ast::InsertStmt) -> SqlResult<Dml> {
    bind_insert(host, stmt, None).map_err(|e| e.at_line(stmt.target.line as i32))
}

/// Binds an INSERT whose rows are there already: result sets with their columns.
pub fn insert_rows(
    host: &dyn Host,
    stmt: &ast::InsertStmt,
    sets: Vec<(Vec<OutColumn>, Vec<Row>)>,
) -> SqlResult<Dml> {
    bind_insert(host, stmt, Some(sets)).map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_insert(
    host: &dyn Host,
    stmt: &ast::InsertStmt,
    sets: Option<Vec<(Vec<OutColumn>, Vec<Row>)>>,
) -> SqlResult<Dml> {
    let line = stmt.target.line;
    let table = target_table(host, &stmt.target)?;
    let lock = target_lock(&stmt.target.hints)?;
    let mut binder = Binder::new(host);
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
    let named = named_columns(&table, &stmt.columns).map_err(|e| e.at_line(line as i32))?;
    let target_type = |i: usize| table.columns()[named[i]].ty;
    let source = match &stmt.source {
        ast::InsertSource::DefaultValues => InsertSource::Row(Vec::new()),
        ast::InsertSource::Exec(_) => {
            let types: Vec<SqlType> = (0..named.len())
                .map(|i| assignable(target_type(i)))
                .collect();
            let mut plans = Vec::new();
            for (columns, rows) in sets.unwrap_or_default() {
                check_width(stmt.columns.is_empty(), named.len(), columns.len(), false)?;
                plans.push(binder.convert_columns(constant_rows(columns, rows), &types)?);
            }
            let columns = plans.first().map_or(Vec::new(), |p| p.columns.clone());
            InsertSource::Query(Box::new(Plan {
                node: Node::Concat(plans),
                columns,
                correlated: false,
            }))
        }
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
                        exprs.push(if matches!(e.kind, ast::ExprKind::Default) {
                            default_value(host, &binder, &table, named[i])?
                        } else {
                            binder.scalar(e)?
                        });
                    }
                    bound.push(exprs);
                }
                // Several rows have one type a column among themselves, before the table's columns are looked at.
                if rows.len() > 1 {
                    unify_rows(&binder, rows, &mut bound)?;
                }
                for (row, given) in bound.iter_mut().zip(rows) {
                    for (i, e) in given.iter().enumerate() {
                        let ty = assignable(target_type(i));
                        let value = std::mem::replace(&mut row[i], Expr::constant(Value::Null, ty));
                        row[i] = match e.kind {
                            ast::ExprKind::Default => value,
                            _ => binder
                                .coerce(value, ty)
                                .map_err(|x| x.at_line(e.line as i32))?,
                        };
                    }
                }
                if stmt.top.is_some() {
                    return Err(unsupported("INSERT TOP with VALUES", line));
                }
                if bound.len() == 1 {
                    InsertSource::Row(bound.remove(0))
                } else {
                    InsertSource::Rows(bound)
                }
            }
            _ => {
                let mut plan = binder.select(query)?;
                if let Some(top) = &stmt.top {
                    plan = top_rows(&mut binder, top, plan)?;
                }
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
    let columns =
        column_values(host, &binder, &table, &named, given).map_err(|e| e.at_line(line as i32))?;
    let output = match &stmt.output {
        Some(o) => {
            let changed = (&table, Has::Inserted);
            Some(output::bind(host, &mut binder, o, changed, &[])?)
        }
        None => None,
    };
    Ok(Dml {
        table,
        output,
        action: Action::Insert {
            source,
            columns,
            lock,
        },
    })
}

/// Brings the values of each column to one type, DEFAULT aside.
fn unify_rows(
    binder: &Binder<'_>,
    rows: &[Vec<ast::Expr>],
    bound: &mut [Vec<Expr>],
) -> SqlResult<()> {
    let width = rows.first().map_or(0, Vec::len);
    for column in 0..width {
        let given = |row: &Vec<ast::Expr>| !matches!(row[column].kind, ast::ExprKind::Default);
        let places: Vec<usize> = (0..rows.len()).filter(|r| given(&rows[*r])).collect();
        let alike = places
            .windows(2)
            .all(|p| bound[p[0]][column].ty == bound[p[1]][column].ty);
        if alike {
            continue;
        }
        let values = places.iter().map(|r| bound[*r][column].clone()).collect();
        for (row, value) in places.iter().zip(binder.unify(values)?) {
            bound[*row][column] = value;
        }
    }
    Ok(())
}

/// Rows that are there already, as a plan.
fn constant_rows(columns: Vec<OutColumn>, rows: Vec<Row>) -> Plan {
    let constant = |(v, c): (Value, &OutColumn)| Expr::constant(v, c.ty);
    let rows = rows.into_iter();
    let rows = rows.map(|r| r.into_iter().zip(&columns).map(constant).collect());
    Plan {
        node: Node::Values(rows.collect()),
        columns,
        correlated: false,
    }
}

/// Where each column of a new row comes from when `named` columns are given (`given` false: none is).
pub(crate) fn column_values(
    host: &dyn Host,
    binder: &Binder<'_>,
    table: &Arc<dyn Table>,
    named: &[usize],
    given: bool,
) -> SqlResult<Vec<ColumnValue>> {
    let mut values = Vec::new();
    for (i, column) in table.columns().iter().enumerate() {
        let at = named.iter().position(|n| *n == i).filter(|_| given);
        let explicit = column.identity && identity_insert(host, table);
        let refused = |message| Err(SqlError::new(message, &[&table.name()]));
        values.push(match at {
            Some(_) if column.identity && !explicit => {
                return refused(&messages::IDENTITY_INSERT_OFF);
            }
            Some(at) if column.identity => ColumnValue::GivenIdentity(at),
            None if explicit => return refused(&messages::IDENTITY_VALUE_REQUIRED),
            Some(at) => ColumnValue::Given(at),
            None if column.identity => ColumnValue::Identity,
            None => ColumnValue::Expression(default_value(host, binder, table, i)?),
        });
    }
    Ok(values)
}

/// The table of SET IDENTITY_INSERT ON is asked of the session as a global: its full name.
fn identity_insert(host: &dyn Host, table: &Arc<dyn Table>) -> bool {
    let on = host.global("identity_insert").ok();
    on.and_then(|v| v.as_text())
        .is_some_and(|name| same_name(&name, table.full_name()))
}

pub(crate) fn named_columns(table: &Arc<dyn Table>, names: &[String]) -> SqlResult<Vec<usize>> {
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
pub(crate) fn assignable(ty: SqlType) -> SqlType {
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

/// Binds an UPDATE.
pub fn update(host: &dyn Host, stmt: &ast::UpdateStmt) -> SqlResult<Dml> {
    bind_update(host, stmt).map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_update(host: &dyn Host, stmt: &ast::UpdateStmt) -> SqlResult<Dml> {
    let mut binder = Binder::new(host);
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
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
                name, op, value, ..
            } => {
                let mut bound = binder.over(value, &scope)?;
                if let (Some(op), Some((slot, ty))) = (op, host.variable(name)) {
                    let current = Expr {
                        kind: Kind::Variable(slot),
                        ty,
                        nullable: true,
                    };
                    bound = crate::bind::combine(*op, current, bound)?;
                }
                variables.push(variable_target(host, &binder, name, bound)?);
            }
            ast::SetClause::Write { line, .. } => return Err(unsupported(".WRITE", *line)),
        }
    }
    let output = match &stmt.output {
        Some(o) => {
            let sources = others(&scope, offset);
            let changed = (&table, Has::Both);
            Some(output::bind(host, &mut binder, o, changed, &sources)?)
        }
        None => None,
    };
    Ok(Dml {
        table,
        output,
        action: Action::Update {
            plan,
            offset,
            assignments,
            variables,
        },
    })
}

/// The sources of FROM that OUTPUT may read beside `inserted` and `deleted`: all but the target.
fn others(scope: &Scope<'_>, offset: usize) -> Vec<ScopeSource> {
    let sources = scope.sources.iter().filter(|s| s.offset != offset);
    sources.cloned().collect()
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
    let mut binder = Binder::new(host);
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
    let found = target_rows(
        &mut binder,
        &stmt.target,
        &stmt.from,
        stmt.where_.as_ref(),
        stmt.top.as_ref(),
    )?;
    let output = match &stmt.output {
        Some(o) => {
            let sources = others(&found.scope, found.offset);
            let changed = (&found.table, Has::Deleted);
            Some(output::bind(host, &mut binder, o, changed, &sources)?)
        }
        None => None,
    };
    Ok(Dml {
        table: found.table,
        output,
        action: Action::Delete {
            plan: found.plan,
            offset: found.offset,
        },
    })
}
