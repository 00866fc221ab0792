//! INSERT, UPDATE and DELETE: bound once, run any number of times.
//!
//! A statement first finds its rows and computes its values, then changes: it never sees its own changes.

mod bound;
mod cascade;
mod changes;
mod columns;
mod explain;
mod guard;
mod load;
mod modify;
mod output;
mod row;
mod source;
mod statement;
mod target;

pub use bound::BoundDml;
pub use guard::{bind_computed, bind_computed_as, partitions_of_checks, verify_rows};
pub use statement::Dml;

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::exec::eval_all;
use duramen_query::host::{Event, Host, Table};
use duramen_query::locking::{check_hints, target_lock};
use duramen_query::plan::Node;
use duramen_query::rules::Generated;
use duramen_query::{Cx, Expr, Kind, OutColumn, Plan, Row, ScanLock};
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::{SqlType, Value};

use self::bound::{Later, planned};
use self::columns::{
    ColumnValue, assignable, check_width, column_values, named_columns, refuse_generated,
};
use self::guard::{Change, Guard, Pending};
use self::modify::keep_changed;
use self::output::{Has, Output};
use self::row::default_value;
use self::statement::{Action, InsertSource};
use self::target::{Targets, target_rows, top_count, viewed};
use crate::bind::{Binder, Scope, ScopeSource, unsupported};
use crate::captured::Captured;
use crate::optimize::{MissingIndex, Sizes};

impl Dml {
    /// The same without check constraints and foreign keys: what a bulk load leaves untested.
    pub fn unchecked(self) -> Dml {
        Dml {
            guard: Guard::default(),
            ..self
        }
    }

    /// The sizes of the tables that it reads to find its rows.
    pub fn sizes(&self) -> Sizes {
        match &self.action {
            Action::Update { plan, .. } | Action::Delete { plan, .. } => Sizes::of(plan),
            Action::Insert {
                source: InsertSource::Query(plan),
                ..
            } => Sizes::of(plan),
            Action::Insert { .. } => Sizes::default(),
        }
    }

    /// The indexes that it would find its rows more cheaply with.
    pub fn missing_indexes(&self) -> Vec<MissingIndex> {
        match &self.action {
            Action::Update { plan, .. } | Action::Delete { plan, .. } => self.missing_below(plan),
            Action::Insert {
                source: InsertSource::Query(plan),
                ..
            } => self.missing_below(plan),
            Action::Insert { .. } => Vec::new(),
        }
    }

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

    /// What it does, for triggers.
    pub fn event(&self) -> Event {
        match self.action {
            Action::Insert { .. } => Event::Insert,
            Action::Update { .. } => Event::Update,
            Action::Delete { .. } => Event::Delete,
        }
    }

    /// The columns that it assigns to; every column for an INSERT.
    pub fn assigned_columns(&self) -> Vec<usize> {
        match &self.action {
            Action::Update { assignments, .. } => assignments.iter().map(|(c, _)| *c).collect(),
            _ => (0..self.table.columns().len()).collect(),
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
        cx.parallel &= !self.serial;
        match &self.action {
            Action::Insert {
                source,
                columns,
                lock,
            } => {
                self.table.begin_insert(*lock, cx)?;
                self.insert_from(source, columns, *lock, cx)
            }
            Action::Update {
                plan,
                offset,
                assignments,
                variables,
            } => self.update((plan, *offset), assignments, variables, cx),
            Action::Delete { plan, offset } => self.delete((plan, *offset), cx),
        }
    }

    fn insert_from(
        &self,
        source: &InsertSource,
        columns: &[ColumnValue],
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        if let InsertSource::Query(plan) = source
            && self.output.is_none()
            && !self.guard.follows()
            && cx.changed.is_none()
            && let Some(load) = self.table.load(lock, cx)?
        {
            return load::rows(&self.table, &self.guard, (plan, columns), load, cx);
        }
        let mut pending = Pending::default();
        let n = match source {
            InsertSource::Row(exprs) => {
                let given = self.given(exprs, cx)?;
                u64::from(self.insert(given, columns, &mut pending, cx)?)
            }
            InsertSource::Rows(rows) => {
                let mut all = Vec::with_capacity(rows.len());
                for exprs in rows {
                    all.push(self.given(exprs, cx)?);
                }
                self.insert_all(all, columns, &mut pending, cx)?
            }
            InsertSource::Query(plan) => {
                let mut rows = source::Rows::open(plan, &*self.table, cx)?;
                let (mut n, mut left) = (0, cx.row_limit);
                while left > 0
                    && let Some(mut some) = cx.asking(left, |cx| rows.next(cx))?
                {
                    some.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                    left -= some.len() as u64;
                    n += self.insert_all(some, columns, &mut pending, cx)?;
                    pending.count(cx)?;
                }
                n
            }
        };
        if self.guard.follows() {
            pending.verify("INSERT", cx)?;
        }
        Ok(n)
    }

    /// The values of a row of VALUES. Into a table that knows them large ones go unread.
    fn given(&self, exprs: &[Expr], cx: &mut Cx<'_>) -> SqlResult<Row> {
        match exprs.iter().any(|e| e.ty.is_max()) && self.table.takes_spooled() {
            true => duramen_query::long::kept_all(exprs, cx),
            false => eval_all(exprs, &[], cx),
        }
    }

    fn insert_all(
        &self,
        rows: Vec<Row>,
        columns: &[ColumnValue],
        pending: &mut Pending,
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        let mut n = 0;
        for given in rows {
            cx.check_cancelled()?;
            n += u64::from(self.insert(given, columns, pending, cx)?);
        }
        Ok(n)
    }

    /// One row; false when an index leaves duplicates out and this is one.
    fn insert(
        &self,
        given: Row,
        columns: &[ColumnValue],
        pending: &mut Pending,
        cx: &mut Cx<'_>,
    ) -> SqlResult<bool> {
        let row = row::new_row(&self.table, given, columns, &self.guard, cx)?;
        if self.output.is_none() && !self.guard.follows() && cx.changed.is_none() {
            return self.write(row, cx);
        }
        if !self.write(row.clone(), cx)? {
            return Ok(false);
        }
        self.guard.written(&row, pending);
        self.emit(&row, &[], &[], cx)?;
        keep_changed(cx, &[&row], &[])?;
        Ok(true)
    }

    fn write(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<bool> {
        match self.table.insert(row, cx) {
            Ok(()) => Ok(true),
            Err(e) if e.number == messages::DUPLICATE_KEY_IGNORED.number => {
                cx.duplicate_ignored = true;
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }
}

/// Binds a statement that changes rows; `None` for any other. The rows of INSERT ... EXEC are the session's, which gives them
/// to [`insert_rows`].
pub fn bind(host: &dyn Host, statement: &StatementKind) -> SqlResult<Option<Dml>> {
    bound(Binder::new(host), statement)?
        .map(planned)
        .transpose()
}

/// The same with this binder, to be planned when it is reached.
pub fn bound(binder: Binder<'_>, statement: &StatementKind) -> SqlResult<Option<BoundDml>> {
    match statement {
        StatementKind::Insert(stmt) => bound_insert(binder, stmt).map(Some),
        StatementKind::Update(stmt) => bound_update(binder, stmt).map(Some),
        StatementKind::Delete(stmt) => bound_delete(binder, stmt).map(Some),
        _ => Ok(None),
    }
}

/// Whether a statement that changes rows has an OUTPUT clause.
pub fn has_output(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Insert(stmt) => stmt.output.is_some(),
        StatementKind::Update(stmt) => stmt.output.is_some(),
        StatementKind::Delete(stmt) => stmt.output.is_some(),
        _ => false,
    }
}

fn bound_insert(mut binder: Binder<'_>, stmt: &ast::InsertStmt) -> SqlResult<BoundDml> {
    let bound = binder.with_all_names(|b| bind_insert(b, stmt, None));
    bound.map_err(|e| e.at_line(stmt.target.line as i32))
}

/// Binds an INSERT whose rows are there already: result sets with their columns.
pub fn insert_rows(host: &dyn Host, stmt: &ast::InsertStmt, sets: &[Captured]) -> SqlResult<Dml> {
    let bound = bind_insert(&mut Binder::new(host), stmt, Some(sets));
    planned(bound.map_err(|e| e.at_line(stmt.target.line as i32))?)
}

#[expect(
    clippy::too_many_lines,
    reason = "the steps of binding INSERT, in the order of their errors"
)]
fn bind_insert(
    binder: &mut Binder<'_>,
    stmt: &ast::InsertStmt,
    sets: Option<&[Captured]>,
) -> SqlResult<BoundDml> {
    let host = binder.host;
    let line = stmt.target.line;
    let table = match viewed(host, &stmt.target)? {
        Ok(table) => table,
        Err(view) => {
            let (name, columns) = Binder::new(host).insert_through(&view, &stmt.columns)?;
            let mut through = stmt.clone();
            through.target.kind = ast::TargetKind::Table(name);
            if !matches!(stmt.source, ast::InsertSource::DefaultValues) {
                through.columns = columns;
            }
            return bind_insert(binder, &through, sets);
        }
    };
    if let ast::TargetKind::Table(name) = &stmt.target.kind {
        check_hints(&stmt.target.hints, &name.display())?;
    }
    let lock = target_lock(&stmt.target.hints)?;
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
    let named = named_columns(&table, &stmt.columns).map_err(|e| e.at_line(line as i32))?;
    let values = match &stmt.source {
        ast::InsertSource::Query(q) => match &q.body {
            ast::QueryExpr::Values(rows) => Some(rows),
            _ => None,
        },
        _ => None,
    };
    if !matches!(stmt.source, ast::InsertSource::DefaultValues) {
        let is_default = |e: &ast::Expr| matches!(e.kind, ast::ExprKind::Default);
        let default = |i: usize| {
            values.is_some_and(|rows| rows.iter().all(|r| r.get(i).is_some_and(is_default)))
        };
        refuse_generated(&table, &named, default).map_err(|e| e.at_line(line as i32))?;
    }
    let target_type = |i: usize| table.columns()[named[i]].ty;
    let mut later = Later::Nothing;
    let source = match &stmt.source {
        ast::InsertSource::DefaultValues => InsertSource::Row(Vec::new()),
        ast::InsertSource::Exec(_) => {
            let types: Vec<SqlType> = (0..named.len())
                .map(|i| assignable(target_type(i)))
                .collect();
            let mut plans = Vec::new();
            for set in sets.unwrap_or_default() {
                let width = set.columns().len();
                check_width(stmt.columns.is_empty(), named.len(), width, false)?;
                plans.push(binder.convert_columns(set.plan(), &types)?);
            }
            let columns = plans.first().map(|p| p.columns.clone()).unwrap_or_default();
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
                            default_value(host, binder, &table, named[i])?
                        } else {
                            binder.scalar(e)?
                        });
                    }
                    bound.push(exprs);
                }
                // Several rows have one type a column among themselves, before the table's columns are looked at.
                if rows.len() > 1 {
                    unify_rows(binder, rows, &mut bound)?;
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
                let bound = binder.bound_select(query)?;
                let top = match &stmt.top {
                    None => None,
                    Some(top) => Some(top_count(binder, top)?),
                };
                let width = bound.columns().len();
                check_width(stmt.columns.is_empty(), named.len(), width, false)?;
                let types: Vec<SqlType> = (0..named.len())
                    .map(|i| assignable(target_type(i)))
                    .collect();
                binder.check_columns(bound.unplanned(), &types)?;
                later = Later::Query(Box::new(bound), top, types);
                InsertSource::Row(Vec::new())
            }
        },
    };
    let given = !matches!(stmt.source, ast::InsertSource::DefaultValues);
    let columns =
        column_values(host, binder, &table, &named, given).map_err(|e| e.at_line(line as i32))?;
    let output = match &stmt.output {
        Some(o) => {
            let changed = (&table, Has::Inserted);
            Some(output::bind(host, binder, o, changed, &[])?)
        }
        None => None,
    };
    let guard = Guard::bind(host, &table, Change::Insert)?;
    let dml = Dml {
        table,
        guard,
        output,
        action: Action::Insert {
            source,
            columns,
            lock,
        },
        serial: is_serial(&stmt.hints),
    };
    Ok(BoundDml::new(dml, later, binder))
}

/// Whether OPTION (MAXDOP 1) is there.
fn is_serial(hints: &[ast::QueryHint]) -> bool {
    let serial =
        |h: &ast::QueryHint| h.name == "MAXDOP" && matches!(h.value, Some(ast::Literal::Int(1)));
    hints.iter().any(serial)
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

fn bound_update(mut binder: Binder<'_>, stmt: &ast::UpdateStmt) -> SqlResult<BoundDml> {
    let bound = binder.with_all_names(|b| bind_update(b, stmt));
    bound.map_err(|e| e.at_line(stmt.target.line as i32))
}

#[expect(
    clippy::too_many_lines,
    reason = "the steps of binding UPDATE, in the order of their errors"
)]
fn bind_update(binder: &mut Binder<'_>, stmt: &ast::UpdateStmt) -> SqlResult<BoundDml> {
    let host = binder.host;
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
    let Targets {
        table,
        plan,
        scope,
        offset,
        exposed,
        columns,
    } = target_rows(
        binder,
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
                target::qualified(binder, &exposed, &stmt.target, column)
                    .map_err(|e| e.at_line(*line as i32))?;
                let at = target::assigned(&table, columns.as_deref(), &stmt.target, column.name())
                    .map_err(|e| e.at_line(*line as i32))?;
                let c = &table.columns()[at];
                let refused = match c.generated {
                    Generated::No => None,
                    Generated::Computed => Some(&messages::COLUMN_NOT_MODIFIABLE),
                    Generated::RowVersion => Some(&messages::TIMESTAMP_UPDATE),
                };
                if let Some(message) = refused {
                    return Err(SqlError::new(message, &[&c.name]).at_line(*line as i32));
                }
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
                    ast::ExprKind::Default => default_value(host, binder, &table, at)?,
                    _ => binder.over_one(value, &scope, &messages::AGGREGATE_IN_UPDATE_SET)?,
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
                    variables.push(variable_target(host, binder, v, bound.clone())?);
                }
                assignments.push((at, bound));
            }
            ast::SetClause::Variable {
                name, op, value, ..
            } => {
                let mut bound =
                    binder.over_one(value, &scope, &messages::AGGREGATE_IN_UPDATE_SET)?;
                if let (Some(op), Some((slot, ty))) = (op, host.variable(name)) {
                    let current = Expr {
                        kind: Kind::Variable(slot),
                        ty,
                        nullable: true,
                    };
                    bound = crate::bind::combine(*op, current, bound)?;
                }
                variables.push(variable_target(host, binder, name, bound)?);
            }
            ast::SetClause::Write { line, .. } => return Err(unsupported(".WRITE", *line)),
        }
    }
    let output = match &stmt.output {
        Some(o) => {
            let sources = others(&scope, offset);
            let changed = (&table, Has::Both);
            Some(output::bind(host, binder, o, changed, &sources)?)
        }
        None => None,
    };
    let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
    let guard = Guard::bind(host, &table, Change::Update(&assigned))?;
    let dml = Dml {
        table,
        guard,
        output,
        action: Action::Update {
            plan,
            offset,
            assignments,
            variables,
        },
        serial: true,
    };
    let later = Later::Rows(Box::new(binder.take_hints()));
    Ok(BoundDml::new(dml, later, binder))
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

fn bound_delete(mut binder: Binder<'_>, stmt: &ast::DeleteStmt) -> SqlResult<BoundDml> {
    let bound = binder.with_all_names(|b| bind_delete(b, stmt));
    bound.map_err(|e| e.at_line(stmt.target.line as i32))
}

fn bind_delete(binder: &mut Binder<'_>, stmt: &ast::DeleteStmt) -> SqlResult<BoundDml> {
    let host = binder.host;
    binder.hints(&stmt.hints)?;
    binder.with(&stmt.ctes);
    let found = target_rows(
        binder,
        &stmt.target,
        &stmt.from,
        stmt.where_.as_ref(),
        stmt.top.as_ref(),
    )?;
    let output = match &stmt.output {
        Some(o) => {
            let sources = others(&found.scope, found.offset);
            let changed = (&found.table, Has::Deleted);
            Some(output::bind(host, binder, o, changed, &sources)?)
        }
        None => None,
    };
    let guard = Guard::bind(host, &found.table, Change::Delete)?;
    let dml = Dml {
        table: found.table,
        guard,
        output,
        action: Action::Delete {
            plan: found.plan,
            offset: found.offset,
        },
        serial: true,
    };
    let later = Later::Rows(Box::new(binder.take_hints()));
    Ok(BoundDml::new(dml, later, binder))
}
