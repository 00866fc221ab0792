//! The one loop that runs programs; what single statements do is in the files below `run/`.

mod bind;
mod dbcc;
mod define;
mod options;
mod query;
mod raise;
mod scoped;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::dml;
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::Value;

use self::bind::Bound;
use crate::ddl::Ddl;
use crate::outcome::{self, Reach};
use crate::program::{Op, Program};
use crate::session::{CancelToken, Session};
use crate::sink::{Done, ResultSink};

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
            outcome::report(self.sink, &rolled.err().unwrap_or(error));
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
        outcome::report(self.sink, &error);
        if reach == Reach::BatchAndTransaction || reach == Reach::Connection {
            if let Err(e) = self.session.rollback_all() {
                outcome::report(self.sink, &e);
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
                self.session.activity.at_statement(kind);
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
            StatementKind::Print(e) => self.print(at, e),
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
                self.session.activity.note_options(&self.session.options);
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
            StatementKind::AlterDatabaseScopedConfiguration(stmt) => self.configure(stmt),
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
            StatementKind::Dbcc(stmt) => self.dbcc(at, stmt),
            StatementKind::Kill {
                session,
                status_only,
            } => {
                if *status_only {
                    return Err(not_supported("KILL WITH STATUSONLY"));
                }
                let spid = self.constant(session)?.as_i64().unwrap_or(0);
                self.outside_transaction("KILL")?;
                self.session.instance.kill(spid, self.session.spid)?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::Exec(stmt) => self.exec(stmt),
            other => Err(not_supported(crate::names::statement_name(other))),
        }
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
}

fn not_supported(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}
