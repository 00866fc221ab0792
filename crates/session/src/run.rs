//! The one loop that runs programs.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::{Binder, Cx, Expr, Plan, dml, dml::Dml};
use duramen_tsql::ast::{self, StatementKind};
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::{ConvertCtx, Value};

use crate::ddl::Ddl;
use crate::host::HostView;
use crate::outcome::{self, Reach};
use crate::program::{Op, Program};
use crate::session::{CancelToken, Session};
use crate::sink::{ColumnMeta, Done, ResultSink};

/// What a step has bound, kept while the schema stays as it is: a statement in a loop is bound once.
#[derive(Clone)]
enum Bound {
    Expr(Arc<Expr>),
    Plan(Arc<Plan>),
    Dml(Arc<Dml>),
}

/// Where to go on.
enum Next {
    Step,
    To(usize),
    End,
}

/// Command numbers of DONE tokens.
mod command {
    pub const SELECT: u16 = 0xC1;
    pub const INSERT: u16 = 0xC3;
    pub const DELETE: u16 = 0xC4;
    pub const UPDATE: u16 = 0xC5;
    pub const SET: u16 = 0xBE;
    pub const BEGIN: u16 = 0xD4;
    pub const COMMIT: u16 = 0xD5;
    pub const ROLLBACK: u16 = 0xD2;
    pub const OTHER: u16 = 0xFD;
}

pub struct Run<'r> {
    session: &'r mut Session,
    program: &'r Program,
    sink: &'r mut dyn ResultSink,
    cancel: &'r CancelToken,
    vars: Vec<Value>,
    bound: Vec<Option<(u64, Bound)>>,
    /// CATCH targets of the TRY blocks that are open.
    tries: Vec<usize>,
    reported: bool,
}

impl<'r> Run<'r> {
    pub fn new(
        session: &'r mut Session,
        program: &'r Program,
        sink: &'r mut dyn ResultSink,
        cancel: &'r CancelToken,
    ) -> Run<'r> {
        Run {
            session,
            program,
            sink,
            cancel,
            vars: vec![Value::Null; program.variables.len()],
            bound: vec![None; program.steps.len()],
            tries: Vec::new(),
            reported: false,
        }
    }

    /// Runs to the end of the batch.
    pub fn batch(mut self) {
        let mut at = 0;
        while at < self.program.steps.len() {
            if self.cancel.is_set() {
                break;
            }
            let step = self.step(at);
            at = match step {
                Ok(Next::Step) => at + 1,
                Ok(Next::To(target)) => target,
                Ok(Next::End) => break,
                Err(error) => match self.failed(at, error) {
                    Some(next) => next,
                    None => break,
                },
            };
        }
        self.end_of_batch();
        self.session.state.caught.clear();
    }

    fn end_of_batch(&mut self) {
        if self
            .session
            .transaction
            .as_ref()
            .is_some_and(|t| t.is_doomed())
        {
            let error = SqlError::new(&messages::UNCOMMITTABLE_AT_BATCH_END, &[]);
            let rolled = self.session.rollback_transaction(None, self.sink);
            self.sink.error(&rolled.err().unwrap_or(error));
            self.done(None, 0, true);
        } else if !self.reported {
            self.done(None, 0, false);
        }
    }

    fn done(&mut self, rows: Option<u64>, command: u16, error: bool) {
        self.reported = true;
        let rows = rows.filter(|_| !self.session.options.nocount);
        self.sink.done(&Done {
            rows,
            command,
            error,
            in_transaction: self.session.in_transaction(),
        });
    }

    /// An error at a step: what it ends, and where to go on; `None` ends the batch.
    fn failed(&mut self, at: usize, error: SqlError) -> Option<usize> {
        let line = self.program.steps[at].line as i32;
        let error = error.at_line(line);
        if error.number == 0 && self.cancel.is_set() {
            return None;
        }
        self.session.state.error = error.number;
        self.session.state.rowcount = 0;
        let reach = outcome::reach(&error, self.session.options.xact_abort);
        if outcome::catchable(&error)
            && let Some(catch) = self.tries.pop()
        {
            if reach == Reach::BatchAndTransaction
                && let Some(t) = &self.session.transaction
            {
                t.doom();
            }
            self.session.state.caught.push(error);
            return Some(catch);
        }
        self.sink.error(&error);
        if reach == Reach::BatchAndTransaction || reach == Reach::Connection {
            if let Err(e) = self.session.rollback_all() {
                self.sink.error(&e);
            }
        } else if outcome::says_terminated(&error, reach) && self.writes(at) {
            self.sink
                .info(&SqlError::new(&messages::STATEMENT_TERMINATED, &[]).at_line(line));
        }
        self.done(None, self.command_of(at), true);
        (reach == Reach::Statement).then_some(at + 1)
    }

    fn writes(&self, at: usize) -> bool {
        let kind = &self.program.steps[at].op;
        matches!(
            kind,
            Op::Run(StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_))
        )
    }

    fn command_of(&self, at: usize) -> u16 {
        match &self.program.steps[at].op {
            Op::Run(StatementKind::Select(_)) => command::SELECT,
            Op::Run(StatementKind::Insert(_)) => command::INSERT,
            Op::Run(StatementKind::Update(_)) => command::UPDATE,
            Op::Run(StatementKind::Delete(_)) => command::DELETE,
            _ => command::OTHER,
        }
    }

    fn step(&mut self, at: usize) -> SqlResult<Next> {
        let program = self.program;
        match &program.steps[at].op {
            Op::Jump(target) => Ok(Next::To(*target)),
            Op::BranchUnless { condition, target } => {
                let condition = self.expr(at, |b| b.scalar(condition))?;
                let holds = self.evaluate(&condition, |e, cx| e.test(&[], cx))?;
                Ok(if holds == Some(true) {
                    Next::Step
                } else {
                    Next::To(*target)
                })
            }
            Op::Assign {
                slot, op, value, ..
            } => {
                let ty = program.variables[*slot].ty;
                let name = &program.variables[*slot].name;
                let bound = self.expr(at, |b| b.assigned(name, ty, *op, value))?;
                let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                self.vars[*slot] = value;
                self.session.state.error = 0;
                Ok(Next::Step)
            }
            Op::EnterTry { catch } => {
                self.tries.push(*catch);
                Ok(Next::Step)
            }
            Op::LeaveTry { after } => {
                self.tries.pop();
                Ok(Next::To(*after))
            }
            Op::EndCatch => {
                self.session.state.caught.pop();
                Ok(Next::Step)
            }
            Op::Return(None) => Ok(Next::End),
            Op::Return(Some(_)) => Err(SqlError::new(&messages::RETURN_VALUE_NOT_ALLOWED, &[])),
            Op::Run(kind) => {
                self.run(at, kind)?;
                self.session.state.error = 0;
                Ok(Next::Step)
            }
        }
    }

    fn run(&mut self, at: usize, kind: &StatementKind) -> SqlResult<()> {
        match kind {
            StatementKind::Select(stmt) => self.select(at, stmt),
            StatementKind::Insert(stmt) => {
                self.change(at, command::INSERT, "INSERT", |h| dml::insert(h, stmt))
            }
            StatementKind::Update(stmt) => {
                self.change(at, command::UPDATE, "UPDATE", |h| dml::update(h, stmt))
            }
            StatementKind::Delete(stmt) => {
                self.change(at, command::DELETE, "DELETE", |h| dml::delete(h, stmt))
            }
            StatementKind::Print(e) => {
                let bound = self.expr(at, |b| b.as_text(e))?;
                let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                let message = value.as_text().unwrap_or_default();
                let line = self.program.steps[at].line as i32;
                let info = SqlError {
                    number: 0,
                    severity: 0,
                    state: 1,
                    message,
                    procedure: None,
                    line,
                };
                self.sink.info(&info);
                Ok(())
            }
            StatementKind::BeginTran {
                name,
                mark,
                distributed,
            } => {
                if mark.is_some() || *distributed {
                    return Err(not_supported(
                        "BEGIN TRANSACTION WITH MARK and BEGIN DISTRIBUTED TRANSACTION",
                    ));
                }
                let name = self.transaction_name(name.as_ref())?;
                self.session
                    .begin_transaction(name.as_deref().unwrap_or(""), self.sink)?;
                self.done(None, command::BEGIN, false);
                Ok(())
            }
            StatementKind::Commit {
                delayed_durability, ..
            } => {
                self.session
                    .commit_transaction(*delayed_durability, self.sink)?;
                self.done(None, command::COMMIT, false);
                Ok(())
            }
            StatementKind::Rollback { name } => {
                let name = self.transaction_name(name.as_ref())?;
                self.session
                    .rollback_transaction(name.as_deref(), self.sink)?;
                self.done(None, command::ROLLBACK, false);
                Ok(())
            }
            StatementKind::SaveTran { name } => {
                let name = self.transaction_name(Some(name))?.unwrap_or_default();
                self.session.save_transaction(&name)?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::Use(name) => {
                self.session.use_database(name, self.sink)?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::SetOption(option) => {
                self.set_option(at, option)?;
                self.done(None, command::SET, false);
                Ok(())
            }
            StatementKind::WaitFor { kind, value } => self.wait_for(at, *kind, value),
            StatementKind::RaiseError(stmt) => self.raise_error(at, stmt),
            StatementKind::Throw(args) => self.throw(at, args.as_deref()),
            StatementKind::CreateTable(stmt) => {
                self.define(0xC6, "CREATE TABLE", |d| d.create_table(stmt))
            }
            StatementKind::CreateIndex(stmt) => {
                self.define(0xC8, "CREATE INDEX", |d| d.create_index(stmt))
            }
            StatementKind::TruncateTable { table } => {
                self.define(command::OTHER, "TRUNCATE TABLE", |d| d.truncate(table))
            }
            StatementKind::Drop {
                kind: ast::DropKind::Table,
                if_exists,
                names,
            } => {
                let drop_all =
                    |d: &Ddl<'_>| names.iter().try_for_each(|n| d.drop_table(n, *if_exists));
                self.define(0xC7, "DROPOBJ", drop_all)
            }
            StatementKind::DropIndex { if_exists, indexes } => {
                let drop_all = |d: &Ddl<'_>| {
                    indexes
                        .iter()
                        .try_for_each(|(i, t)| d.drop_index(i, t, *if_exists))
                };
                self.define(0xC9, "DROP INDEX", drop_all)
            }
            StatementKind::CreateDatabase(stmt) => {
                self.outside_transaction("CREATE DATABASE")?;
                self.session.instance.databases.create_database(stmt)?;
                self.done(None, 0xCB, false);
                Ok(())
            }
            StatementKind::AlterDatabase(stmt) => {
                self.outside_transaction("ALTER DATABASE")?;
                self.session
                    .instance
                    .databases
                    .alter_database(stmt, &self.session.database)?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::DropDatabase { if_exists, names } => {
                self.outside_transaction("DROP DATABASE")?;
                for n in names {
                    self.session.instance.databases.drop_database(
                        n,
                        *if_exists,
                        &self.session.database,
                    )?;
                }
                self.done(None, 0xCC, false);
                Ok(())
            }
            StatementKind::Checkpoint(_) => {
                let instance = self.session.instance.clone();
                if let Some(d) = instance.databases.find(&self.session.database) {
                    d.db.checkpoint()?;
                }
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::Exec(stmt) => self.exec(stmt),
            other => Err(not_supported(crate::names::statement_name(other))),
        }
    }

    /// 226: statements that cannot be part of a transaction.
    fn outside_transaction(&self, name: &str) -> SqlResult<()> {
        match self.session.in_transaction() {
            true => Err(SqlError::new(
                &messages::NOT_IN_MULTI_STATEMENT_TRANSACTION,
                &[&name],
            )),
            false => Ok(()),
        }
    }

    /// A definition, as a statement of the open transaction or of its own.
    fn define(
        &mut self,
        command: u16,
        name: &str,
        work: impl FnOnce(&Ddl<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let instance = self.session.instance.clone();
        let Some(db) = instance.databases.find(&self.session.database) else {
            return Err(SqlError::new(
                &messages::DATABASE_DOES_NOT_EXIST,
                &[&self.session.database],
            ));
        };
        self.begin_implicitly()?;
        let transaction = self.statement_transaction(name);
        let point = transaction.statement_point(instance.locks.mark(&self.session.owner));
        let result = work(&Ddl {
            db: &db,
            tx: &transaction,
            text: &self.program.text,
        });
        if result.is_err() {
            if transaction.kind != TxnKind::Autocommit {
                instance.rollback(&transaction, Some(&point))?;
            }
        } else {
            self.session.defined = true;
        }
        self.end_statement(transaction, result.is_ok())?;
        if result.is_err() {
            db.catalog.invalidate();
        }
        result?;
        self.done(None, command, false);
        Ok(())
    }

    /// System procedures that are there; others are unknown by name.
    fn exec(&mut self, stmt: &ast::ExecStmt) -> SqlResult<()> {
        let ast::ExecCall::Procedure { name, .. } = &stmt.call else {
            return Err(not_supported("EXECUTE of a string or variable"));
        };
        if !name.name().eq_ignore_ascii_case("sp_flush_log") {
            return Err(SqlError::new(
                &messages::PROCEDURE_NOT_FOUND,
                &[&name.display()],
            ));
        }
        let db = self.session.instance.databases.find(&self.session.database);
        if let Some(log) = db.as_ref().and_then(|d| d.db.log()) {
            log.flush_all()
                .map_err(|e| e.to_sql(&self.session.database))?;
        }
        self.done(None, 0xE0, false);
        Ok(())
    }

    /// A name given as such or in a variable.
    fn transaction_name(&self, name: Option<&ast::TranName>) -> SqlResult<Option<String>> {
        match name {
            None => Ok(None),
            Some(ast::TranName::Name(n)) => Ok(Some(n.clone())),
            Some(ast::TranName::Variable(v)) => {
                let slot = crate::program::find_variable(&self.program.variables, v);
                let slot =
                    slot.ok_or_else(|| SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[v]))?;
                Ok(self.vars[slot].as_text())
            }
        }
    }

    fn select(&mut self, at: usize, stmt: &ast::SelectStmt) -> SqlResult<()> {
        // A hint that asks for what is done anyway: plans are serial and bound when their schema changes.
        let done_anyway = |h: &&ast::QueryHint| !matches!(h.name.as_str(), "RECOMPILE" | "MAXDOP");
        if let Some(hint) = stmt.hints.iter().find(done_anyway) {
            return Err(not_supported(&format!("OPTION ({})", hint.name)));
        }
        let assigns = assignments(stmt)?;
        if into(stmt) {
            return Err(not_supported("SELECT INTO"));
        }
        let plan = match self.cached(at) {
            Some(Bound::Plan(p)) => p,
            _ => {
                let plan = self.with_host(None, |h| Binder::new(h).select(stmt))?;
                let plan = Arc::new(plan);
                self.keep(at, Bound::Plan(plan.clone()));
                plan
            }
        };
        if !assigns {
            let columns: Vec<ColumnMeta> = plan.columns.iter().map(meta).collect();
            self.sink.columns(&columns);
        }
        if !reads_nothing(stmt) {
            self.begin_implicitly()?;
        }
        let transaction = self.statement_transaction("SELECT");
        let result = self.rows(&plan, assigns, &transaction);
        self.end_statement(transaction, result.is_ok())?;
        let n = result?;
        self.session.state.rowcount = n;
        self.done(Some(n), command::SELECT, false);
        Ok(())
    }

    /// Sends a plan's rows, unless they are assigned to variables on the way.
    fn rows(
        &mut self,
        plan: &Plan,
        assigns: bool,
        transaction: &Arc<Transaction>,
    ) -> SqlResult<u64> {
        let mut vars = std::mem::take(&mut self.vars);
        let host = HostView::new(
            self.session,
            &self.program.variables,
            Some(transaction.clone()),
            self.cancel,
        );
        let mut cx = Cx::new(&host, &mut vars, ConvertCtx::default());
        let sink = &mut *self.sink;
        let result = (|| {
            let mut n = 0;
            let mut operator = plan.start(&mut cx)?;
            while let Some(batch) = operator.next(&mut cx)? {
                n += batch.len() as u64;
                if !assigns {
                    batch.iter().for_each(|row| sink.row(row));
                }
            }
            Ok(n)
        })();
        drop(cx);
        self.vars = vars;
        result
    }

    fn change(
        &mut self,
        at: usize,
        command: u16,
        name: &str,
        bind: impl FnOnce(&HostView<'_>) -> SqlResult<Dml>,
    ) -> SqlResult<()> {
        let dml = match self.cached(at) {
            Some(Bound::Dml(d)) => d,
            _ => {
                let dml = Arc::new(self.with_host(None, bind)?);
                self.keep(at, Bound::Dml(dml.clone()));
                dml
            }
        };
        if self
            .session
            .transaction
            .as_ref()
            .is_some_and(|t| t.is_doomed())
        {
            return Err(SqlError::new(&messages::TRANSACTION_DOOMED, &[]));
        }
        self.begin_implicitly()?;
        let transaction = self.statement_transaction(name);
        let point =
            transaction.statement_point(self.session.instance.locks.mark(&self.session.owner));
        let mut vars = std::mem::take(&mut self.vars);
        let host = HostView::new(
            self.session,
            &self.program.variables,
            Some(transaction.clone()),
            self.cancel,
        );
        let mut cx = Cx::new(&host, &mut vars, ConvertCtx::default());
        let result = dml.run(&mut cx);
        drop(cx);
        self.vars = vars;
        if result.is_err() && transaction.kind != TxnKind::Autocommit {
            self.session.instance.rollback(&transaction, Some(&point))?;
        }
        self.end_statement(transaction, result.is_ok())?;
        let n = result?;
        self.session.state.rowcount = n;
        self.done(Some(n), command, false);
        Ok(())
    }

    /// SET IMPLICIT_TRANSACTIONS ON: a statement that reads or changes tables opens a transaction if none is open.
    fn begin_implicitly(&mut self) -> SqlResult<()> {
        if self.session.options.implicit_transactions && self.session.transaction.is_none() {
            self.session
                .begin_transaction("implicit_transaction", self.sink)?;
        }
        Ok(())
    }

    /// The open transaction, or one for this statement alone.
    fn statement_transaction(&self, name: &str) -> Arc<Transaction> {
        self.session.owner.statement_start();
        match &self.session.transaction {
            Some(t) => t.clone(),
            None => self.session.new_transaction(TxnKind::Autocommit, name),
        }
    }

    fn end_statement(&mut self, transaction: Arc<Transaction>, succeeded: bool) -> SqlResult<()> {
        if transaction.kind != TxnKind::Autocommit {
            return Ok(());
        }
        if succeeded {
            self.session.finish(&transaction, None)
        } else {
            self.session.instance.rollback(&transaction, None)
        }
    }

    fn cached(&self, at: usize) -> Option<Bound> {
        let version = self.session.instance.schema_version();
        self.bound[at]
            .as_ref()
            .filter(|(v, _)| *v == version)
            .map(|(_, b)| b.clone())
    }

    fn keep(&mut self, at: usize, bound: Bound) {
        self.bound[at] = Some((self.session.instance.schema_version(), bound));
    }

    fn with_host<T>(
        &self,
        transaction: Option<Arc<Transaction>>,
        f: impl FnOnce(&HostView<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        f(&HostView::new(
            self.session,
            &self.program.variables,
            transaction,
            self.cancel,
        ))
    }

    /// The step's expression, bound at its first run.
    fn expr(
        &mut self,
        at: usize,
        bind: impl FnOnce(&mut Binder<'_>) -> SqlResult<Expr>,
    ) -> SqlResult<Arc<Expr>> {
        if let Some(Bound::Expr(e)) = self.cached(at) {
            return Ok(e);
        }
        let bound = Arc::new(self.with_host(None, |h| bind(&mut Binder::new(h)))?);
        self.keep(at, Bound::Expr(bound.clone()));
        Ok(bound)
    }

    fn evaluate<T>(
        &mut self,
        e: &Expr,
        f: impl FnOnce(&Expr, &mut Cx<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let transaction = e
            .reads_tables()
            .then(|| self.statement_transaction("SELECT"));
        let mut vars = std::mem::take(&mut self.vars);
        let host = HostView::new(
            self.session,
            &self.program.variables,
            transaction.clone(),
            self.cancel,
        );
        let mut cx = Cx::new(&host, &mut vars, ConvertCtx::default());
        let result = f(e, &mut cx);
        drop(cx);
        self.vars = vars;
        if let Some(t) = transaction {
            self.end_statement(t, result.is_ok())?;
        }
        result
    }

    fn constant(&mut self, e: &ast::Expr) -> SqlResult<Value> {
        let bound = self.with_host(None, |h| Binder::new(h).scalar(e))?;
        self.evaluate(&bound, |e, cx| e.eval(&[], cx))
    }

    fn set_option(&mut self, _at: usize, option: &ast::SetOption) -> SqlResult<()> {
        match option {
            ast::SetOption::OnOff { names, on } => names
                .iter()
                .try_for_each(|n| self.session.options.set_switch(n, *on)),
            ast::SetOption::IsolationLevel(level) => {
                let level = match level {
                    ast::IsolationLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
                    ast::IsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
                    ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
                    ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
                    ast::IsolationLevel::Snapshot => {
                        return Err(not_supported("ISOLATION LEVEL SNAPSHOT"));
                    }
                };
                self.session.options.isolation = level;
                if let Some(t) = &self.session.transaction {
                    t.set_isolation(level);
                }
                Ok(())
            }
            ast::SetOption::Value { name, value } => {
                let value = self.constant(value)?;
                self.set_value(name, &value)
            }
            ast::SetOption::Statistics { names, on: false } if !names.is_empty() => Ok(()),
            ast::SetOption::Statistics { names, .. } => Err(not_supported(&format!(
                "SET STATISTICS {}",
                names.join(", ")
            ))),
            ast::SetOption::IdentityInsert { .. } => Err(not_supported("SET IDENTITY_INSERT")),
        }
    }

    fn set_value(&mut self, name: &str, value: &Value) -> SqlResult<()> {
        let options = &mut self.session.options;
        match (name, value.as_i64(), value.as_text()) {
            ("LOCK_TIMEOUT", Some(ms), _) => {
                options.lock_timeout = ms;
                if let Some(t) = &self.session.transaction {
                    t.set_lock_timeout(ms);
                }
            }
            ("TEXTSIZE", Some(n), _) => options.textsize = n as i32,
            ("ROWCOUNT", Some(0), _) => options.rowcount = 0,
            ("DATEFIRST", Some(7), _) => options.datefirst = 7,
            ("DATEFIRST", Some(n), _) if !(1..=7).contains(&n) => {
                return Err(SqlError::new(&messages::DATEFIRST_OUT_OF_RANGE, &[&n]));
            }
            ("DATEFORMAT", _, Some(f)) if f.eq_ignore_ascii_case("mdy") => {
                options.dateformat = "mdy".to_owned()
            }
            ("LANGUAGE", _, Some(l))
                if l.eq_ignore_ascii_case("us_english") || l.eq_ignore_ascii_case("english") =>
            {
                options.language = "us_english".to_owned();
            }
            ("DEADLOCK_PRIORITY", n, word) => {
                let priority = match word.map(|w| w.to_ascii_uppercase()).as_deref() {
                    Some("LOW") => -5,
                    Some("NORMAL") => 0,
                    Some("HIGH") => 5,
                    _ => n.unwrap_or(0).clamp(-10, 10) as i8,
                };
                options.deadlock_priority = priority;
                self.session.owner.set_deadlock_priority(priority);
            }
            _ => return Err(not_supported(&format!("SET {name}"))),
        }
        Ok(())
    }

    fn wait_for(&mut self, _at: usize, kind: ast::WaitForKind, value: &ast::Expr) -> SqlResult<()> {
        let value = self.constant(value)?;
        if kind == ast::WaitForKind::Time {
            return Err(not_supported("WAITFOR TIME"));
        }
        let text = value.as_text().unwrap_or_default();
        let bad = || SqlError::new(&messages::WAITFOR_TIME_SYNTAX, &[&text]);
        let wait = crate::names::parse_delay(&text).ok_or_else(bad)?;
        self.sink.flush_hint();
        let _wait = duramen_observe::wait(duramen_observe::WaitType::WAITFOR);
        let until = duramen_os::time::now().nanos() + wait.as_nanos() as u64;
        while duramen_os::time::now().nanos() < until && !self.cancel.is_set() {
            let left = until.saturating_sub(duramen_os::time::now().nanos());
            duramen_os::thread::sleep(std::time::Duration::from_nanos(left.min(20_000_000)));
        }
        Ok(())
    }

    fn raise_error(&mut self, at: usize, stmt: &ast::RaiseError) -> SqlResult<()> {
        let message = self.constant(&stmt.message)?;
        let severity = self
            .constant(&stmt.severity)?
            .as_i64()
            .unwrap_or(0)
            .clamp(0, 25) as u8;
        let state = self
            .constant(&stmt.state)?
            .as_i64()
            .unwrap_or(1)
            .clamp(0, 255) as u8;
        let Some(text) = message.as_text() else {
            return Err(not_supported("RAISERROR with a message number"));
        };
        if !stmt.args.is_empty() {
            return Err(not_supported("RAISERROR with arguments"));
        }
        if severity > 18 {
            return Err(SqlError::new(&messages::RAISERROR_SEVERITY, &[]));
        }
        let line = self.program.steps[at].line as i32;
        let number = 50_000;
        let error = SqlError {
            number,
            severity,
            state,
            message: text,
            procedure: None,
            line,
        };
        if severity > 10 {
            return Err(error);
        }
        self.sink.info(&error);
        if stmt.options.iter().any(|o| o == "NOWAIT") {
            self.sink.flush_hint();
        }
        Ok(())
    }

    fn throw(
        &mut self,
        at: usize,
        args: Option<&(ast::Expr, ast::Expr, ast::Expr)>,
    ) -> SqlResult<()> {
        let Some((number, message, state)) = args else {
            let caught = self.session.state.caught.last().cloned();
            return Err(
                caught.unwrap_or_else(|| SqlError::new(&messages::THROW_OUTSIDE_CATCH, &[]))
            );
        };
        let number = self.constant(number)?.as_i64().unwrap_or(0);
        if !(50_000..=i32::MAX as i64).contains(&number) {
            return Err(SqlError::new(&messages::THROW_NUMBER_INVALID, &[&number]));
        }
        let message = self.constant(message)?.as_text().unwrap_or_default();
        let state = self.constant(state)?.as_i64().unwrap_or(1).clamp(0, 255) as u8;
        let line = self.program.steps[at].line as i32;
        Err(SqlError {
            number: number as i32,
            severity: 16,
            state,
            message,
            procedure: None,
            line,
        })
    }
}

fn not_supported(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

fn meta(c: &duramen_query::OutColumn) -> ColumnMeta {
    let name = if c.name.starts_with('@') {
        String::new()
    } else {
        c.name.clone()
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
fn assignments(stmt: &ast::SelectStmt) -> SqlResult<bool> {
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

/// `SELECT 1`: no table is named, so no transaction begins.
fn reads_nothing(stmt: &ast::SelectStmt) -> bool {
    matches!(&stmt.body, ast::QueryExpr::Select(spec) if spec.from.is_empty())
}

fn into(stmt: &ast::SelectStmt) -> bool {
    matches!(&stmt.body, ast::QueryExpr::Select(spec) if spec.into.is_some())
}
