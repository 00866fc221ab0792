//! Statements that read or change rows.

use std::sync::Arc;

use duramen_access::versioning;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::memory_grants::{Percents, Semaphore};
use duramen_planner::dml::{self, Dml};
use duramen_planner::{Binder, Sizes, Wanted};
use duramen_program::bound::Bound;
use duramen_program::bound::REBINDS;
use duramen_program::program::Op;
use duramen_program::sink::{ColumnMeta, ResultSink};
use duramen_program::statements::Kind;
use duramen_program::statements::into_table;
use duramen_query::{Changed, Cx, Plan};
use duramen_tsql::ast::{self, StatementKind};
use duramen_txn::{Transaction, TxnKind};
use duramen_types::{SqlType, Value};

use super::checked::EarlyBound;
use super::failure::{RunResult, binding};
use super::{Run, command, textsize};
use crate::host::HostView;

/// What a statement changes, which is one that changes rows.
pub(super) fn changes(
    host: &dyn duramen_query::host::Host,
    statement: &StatementKind,
) -> SqlResult<Dml> {
    let internal = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
    dml::bind(host, statement)?.ok_or_else(internal)
}

impl Run<'_> {
    pub(super) fn select(&mut self, at: usize, stmt: &ast::SelectStmt) -> RunResult<()> {
        let assigns = assignments(stmt);
        let assigns = binding(assigns)?;
        if let Some(name) = into_table(stmt) {
            return self.settled(|run| run.select_into(stmt, name));
        }
        let mut sent = None;
        let mut result = self.select_once(at, stmt, assigns, &mut sent);
        for _ in 0..REBINDS {
            if !result
                .as_ref()
                .is_err_and(|f| versioning::is_stale(&f.error))
            {
                break;
            }
            self.bound[at] = None;
            result = self.select_once(at, stmt, assigns, &mut sent);
        }
        result
    }

    /// `sent` is the heading that the client has been given.
    fn select_once(
        &mut self,
        at: usize,
        stmt: &ast::SelectStmt,
        assigns: bool,
        sent: &mut Option<Vec<(Arc<str>, SqlType)>>,
    ) -> RunResult<()> {
        let plan = match self.cached(at) {
            Some(Bound::Plan(p, _)) => p,
            _ => {
                let plan = match self.take_early(at) {
                    Some(EarlyBound::Query(bound)) => self.counting(|| bound.parallel()),
                    _ => self.ask_host(|h| Binder::new(h).parallel_select(stmt)),
                };
                let plan = Arc::new(binding(plan)?.lending());
                let sizes = Arc::new(Sizes::of(&plan));
                self.keep(at, Bound::Plan(plan.clone(), sizes));
                plan
            }
        };
        if !assigns {
            let heading = plan.columns.iter().map(|c| (c.name.clone(), c.ty));
            let heading: Vec<_> = heading.collect();
            match sent {
                None => {
                    let columns: Vec<ColumnMeta> = plan.columns.iter().map(meta).collect();
                    self.sink.columns(&columns);
                    self.heading = Some(0);
                    *sent = Some(heading);
                }
                Some(reported) if *reported == heading => {}
                Some(_) => {
                    let error =
                        SqlError::new(&messages::DEFINITION_CHANGED, &[&"of the statement"]);
                    return Err(error.with_state(2).into());
                }
            }
        }
        if self.session.options.implicit_transactions && !reads_nothing(stmt) {
            self.begin_implicitly()?;
        }
        let transaction = self.statement_transaction("SELECT");
        let granted = self.granted(at, |run| run.rows(at, &plan, assigns, &transaction));
        let result = granted.and_then(|result| result);
        self.end_statement(&transaction, result.is_ok())?;
        let n = result?;
        self.session.state.rowcount = n;
        self.done(Some(n), command::SELECT, false);
        Ok(())
    }

    /// Sends a plan's rows, unless they are assigned to variables on the way.
    pub(super) fn rows(
        &mut self,
        at: usize,
        plan: &Plan,
        assigns: bool,
        transaction: &Arc<Transaction>,
    ) -> RunResult<u64> {
        let limit = self.session.options.row_limit();
        self.show_live(at);
        let long = textsize::cut_columns(plan, self.session.options.textsize);
        let mut n = 0;
        let (result, null_eliminated) = self.with_cx(Some(transaction.clone()), |cx, sink| {
            let result = match (assigns, &long) {
                (true, _) => send(plan, limit, None, &mut n, cx),
                (false, None) => send(plan, limit, Some(sink), &mut n, cx),
                (false, Some(long)) => {
                    let mut cut = textsize::Cut::new(sink, long);
                    send(plan, limit, Some(&mut cut), &mut n, cx)
                }
            };
            (result, cx.null_eliminated)
        });
        if !assigns {
            self.heading = Some(n);
        }
        if null_eliminated && result.is_ok() {
            self.null_eliminated(at);
        }
        Ok(result.map(|()| n)?)
    }

    /// 8153: an aggregate passed over a NULL.
    fn null_eliminated(&mut self, at: usize) {
        if self.session.options.ansi_warnings {
            self.say(&SqlError::new(&messages::NULL_ELIMINATED, &[]), at);
        }
    }

    /// Runs a statement with the memory that its plan is expected to want, which it may have to wait for.
    fn granted<T>(&mut self, at: usize, f: impl FnOnce(&mut Self) -> T) -> RunResult<T> {
        // Within a statement that has been granted memory nobody waits for more.
        if self.session.state.memory.is_some() {
            return Ok(f(self));
        }
        // What is bound has just been looked at, or made.
        let wanted = match &self.bound[at] {
            Some((_, Bound::Plan(_, sizes) | Bound::Dml(_, sizes))) => *sizes.wanted(),
            _ => Wanted::default(),
        };
        let percents = match &self.program.steps[at].op {
            Op::Run(kind) => percents(kind),
            _ => Percents::default(),
        };
        if !Semaphore::is_asked(&wanted, percents) {
            return Ok(f(self));
        }
        let grants = self.session.instance.grants.clone();
        let spid = self.session.spid;
        let grant = grants.ask(spid, &wanted, percents, self.cancel)?;
        self.session.state.memory = Some(grant);
        let result = f(self);
        self.session.state.memory = None;
        Ok(result)
    }

    pub(super) fn change(
        &mut self,
        at: usize,
        kind: Kind,
        bind: impl Fn(&HostView<'_>) -> SqlResult<Dml>,
    ) -> RunResult<()> {
        let mut result = self.change_once(at, kind, &bind);
        for _ in 0..REBINDS {
            if !result
                .as_ref()
                .is_err_and(|f| versioning::is_stale(&f.error))
            {
                break;
            }
            self.bound[at] = None;
            result = self.change_once(at, kind, &bind);
        }
        result
    }

    fn change_once(
        &mut self,
        at: usize,
        kind: Kind,
        bind: impl Fn(&HostView<'_>) -> SqlResult<Dml>,
    ) -> RunResult<()> {
        let known = match self.checked(at) {
            Some(Bound::Dml(d, _)) => Some(d.clone()),
            _ => None,
        };
        let dml = match known {
            Some(dml) => dml,
            None => {
                let dml = match self.take_early(at) {
                    Some(EarlyBound::Change(bound)) => self.counting(|| bound.planned()),
                    _ => self.ask_host(bind),
                };
                let dml = Arc::new(binding(dml)?);
                let sizes = Arc::new(dml.sizes());
                self.keep(at, Bound::Dml(dml.clone(), sizes));
                dml
            }
        };
        self.granted(at, |run| run.change_bound(at, kind, &dml))?
    }

    fn change_bound(&mut self, at: usize, kind: Kind, dml: &Arc<Dml>) -> RunResult<()> {
        if let Some(asked) = self.session.state.write_to_ask.take() {
            let (database, table) = dml.table().place();
            let (schema, table) = table.split_once('.').unwrap_or(("dbo", table));
            let target = ast::ObjectName {
                parts: vec![database.to_owned(), schema.to_owned(), table.to_owned()],
                line: 0,
            };
            self.session.require_on(&target, asked)?;
        }
        self.writable()?;
        self.begin_implicitly()?;
        let triggers = match kind {
            Kind::InsertBulk => Vec::new(),
            _ => dml.table().triggers(dml.event()),
        };
        // A trigger may roll back: its statement needs a transaction.
        let own = !triggers.is_empty() && self.session.transaction.is_none();
        if own {
            let t = self
                .session
                .new_transaction(TxnKind::Explicit, kind.row().transaction);
            self.session.transaction = Some(t);
        }
        let admission = self.session.instance.admission.clone();
        let admitted = admission.enter(self.session.spid);
        let (transaction, locks) = self.begin_statement(kind.row().transaction);
        let point = transaction.statement_point(locks);
        let limit = self.session.options.row_limit();
        self.show_live(at);
        let loaded = self.loaded.as_mut().map(|l| l.rows(dml));
        let done = self.with_cx(Some(transaction.clone()), |cx, sink| {
            cx.row_limit = limit;
            let fires = !triggers.is_empty();
            cx.changed = loaded.or_else(|| fires.then(|| Box::new(Changed::of(&**dml.table()))));
            let result = change_rows(dml, sink, cx);
            (result, cx.identity, cx.changed.take(), cx.duplicate_ignored)
        });
        let (result, identity, mut changed, ignored) = done;
        if let Some(loaded) = &mut self.loaded {
            loaded.changed = changed.take();
        }
        dml.statement_ended(result.is_ok());
        if dml.output_columns().is_some() {
            self.heading = Some(0);
        }
        if kind.row().done == command::INSERT {
            let state = &mut self.session.state;
            state.identity = identity;
            state.scope_identity = identity.or(state.scope_identity);
        }
        let fired = match (&result, changed) {
            (Ok(n), Some(changed)) => self.fire(&triggers, dml, *changed, *n, &transaction),
            _ => Ok(()),
        };
        let succeeded = result.is_ok() && fired.is_ok();
        // A trigger may have ended the transaction.
        let still = |t: &Arc<Transaction>| Arc::ptr_eq(t, &transaction);
        let open = self.session.transaction.as_ref().is_some_and(still);
        if !succeeded && open {
            self.session.instance.rollback(&transaction, Some(&point))?;
        }
        // Who waits for a commit to be hardened runs nothing.
        drop(admitted);
        self.end_statement(&transaction, succeeded)?;
        if own && open {
            self.session.transaction = None;
            match succeeded && !transaction.is_doomed() {
                true => self.session.finish(&transaction, None)?,
                false => self.session.instance.rollback(&transaction, None)?,
            }
        }
        let n = result?;
        fired?;
        if ignored {
            let note = SqlError::new(&messages::DUPLICATE_KEY_IGNORED, &[]);
            self.say(&note.with_state(0), at);
        }
        self.session.state.rowcount = n;
        self.done(Some(n), kind.row().done, false);
        Ok(())
    }
}

/// What the hints of a statement say about its grant.
fn percents(kind: &StatementKind) -> Percents {
    let hints = match kind {
        StatementKind::Select(s) => &s.hints,
        StatementKind::Insert(s) => &s.hints,
        StatementKind::Update(s) => &s.hints,
        StatementKind::Delete(s) => &s.hints,
        _ => return Percents::default(),
    };
    let of = |name: &str| {
        let hint = hints.iter().find(|h| h.name == name)?;
        duramen_planner::bind::grant_percent(hint)
    };
    match hints.is_empty() {
        true => Percents::default(),
        false => Percents {
            least: of("MIN_GRANT_PERCENT"),
            most: of("MAX_GRANT_PERCENT"),
        },
    }
}

/// Gives a plan's rows to the sink, at most `limit`, or only counts them when there is none; `n` is how many.
fn send(
    plan: &Plan,
    limit: u64,
    mut sink: Option<&mut dyn ResultSink>,
    n: &mut u64,
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let mut rows = || {
        let mut operator = plan.start_for(limit, cx)?;
        let mut deliver = |row: &[Value]| {
            if let Some(sink) = &mut sink {
                sink.row(row);
            }
        };
        while *n < limit
            && let Some(given) = operator.each(limit - *n, cx, &mut deliver)?
        {
            *n += given;
        }
        Ok(())
    };
    match rows() {
        Ok(()) => Ok(()),
        // A statement that has told something cannot begin again.
        Err(e) if *n > 0 && versioning::is_stale(&e) => Err(e.with_state(2)),
        Err(e) => Err(e),
    }
}

/// Runs an INSERT, UPDATE or DELETE; what its OUTPUT clause makes for the client goes out when it has succeeded.
fn change_rows(dml: &Dml, sink: &mut dyn ResultSink, cx: &mut Cx<'_>) -> SqlResult<u64> {
    let heading = dml.output_columns();
    if let Some(columns) = &heading {
        let columns: Vec<ColumnMeta> = columns.iter().map(meta).collect();
        sink.columns(&columns);
    }
    let n = dml.run(cx).map_err(|e| {
        let cannot_begin_again = heading.is_some() && versioning::is_stale(&e);
        if cannot_begin_again {
            e.with_state(2)
        } else {
            e
        }
    })?;
    cx.send_output(&mut |row| sink.row(row))?;
    Ok(n)
}

pub(crate) fn meta(c: &duramen_query::OutColumn) -> ColumnMeta {
    let name = if c.name.starts_with('@') {
        String::new()
    } else {
        c.name.to_string()
    };
    ColumnMeta {
        name,
        ty: c.ty,
        nullable: c.nullable,
        identity: c.identity,
        updatable: c.updatable,
    }
}

/// Whether a SELECT assigns to variables: all of its items do, or none.
pub(super) fn assignments(stmt: &ast::SelectStmt) -> SqlResult<bool> {
    let ast::QueryExpr::Select(spec) = &stmt.body else {
        return Ok(false);
    };
    let count = spec
        .items
        .iter()
        .filter(|i| matches!(i, ast::SelectItem::Assign { .. }))
        .count();
    if count > 0 && count != spec.items.len() {
        return Err(SqlError::new(&messages::SELECT_ASSIGN_AND_RETRIEVE, &[]));
    }
    Ok(count > 0)
}

/// `SELECT 1`: no table is named, in no subquery either, so no transaction begins.
fn reads_nothing(stmt: &ast::SelectStmt) -> bool {
    let mut named = false;
    ast::walk::query(stmt, &mut |part| {
        named |= matches!(part, ast::walk::Part::Source(_));
    });
    !named
}
