//! The one loop that runs programs; what single statements do is in the files below `run/`.

mod administration;
mod app_locks;
mod arguments;
mod audit;
mod backup;
mod bind;
mod bulk;
mod callable;
mod checked;
mod coded;
mod compiled;
mod dbcc;
mod define;
mod describe;
mod describe_parameters;
mod dispatch;
mod done;
mod error_log;
mod event_sessions;
mod exec;
mod failed;
pub(crate) mod failure;
pub(crate) mod first_result_set;
mod grants;
mod insert_exec;
mod into;
mod module;
mod nested;
mod objects;
mod options;
mod owners;
mod partitions;
mod permitted;
mod principals;
mod properties;
mod query;
mod raise;
mod registry;
mod rename;
pub(crate) mod reporting;
mod schemabound;
mod scoped;
mod server;
mod showplan;
mod statistics;
mod synonyms;
mod tables;
mod temp;
mod textsize;
mod transactions;
mod trigger;
mod types;
mod undeclared;
mod unexecuted;
mod users;

use std::cell::Cell;
use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, given_up, messages};
use duramen_observe::Counter;
use duramen_os::memory::{Account, Clerk};
use duramen_os::stack;
use duramen_planner::memory::MemoryTable;
use duramen_program::bound::Plans;
use duramen_program::program::{Op, Program};
use duramen_program::sink::ResultSink;
use duramen_program::statement_stats::{Collected, Running};
use duramen_program::statements::{Kind, command};
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::{SqlType, Value};

pub use self::bulk::BulkSource;
pub(crate) use self::callable::callable;
use self::checked::Early;
pub(crate) use self::describe::{description as describe_column, result_columns};
pub(crate) use self::exec::{Called, Given};
pub(crate) use self::failure::RunResult;
pub(crate) use self::grants::is_all;
pub(crate) use self::query::meta as column_meta;
pub(crate) use self::scoped::scoped_refused;
pub(crate) use self::statistics::Stopwatch;
pub(crate) use self::synonyms::Meaning;
pub(crate) use self::types::TypesOf;
use crate::session::Session;

/// Where to go on.
enum Next {
    Step,
    To(usize),
    /// RETURN, with the status given.
    Return(Option<i32>),
    End(Ended),
}

/// How a run ended, for whoever started it.
pub enum Ended {
    /// At its end, by RETURN (with the status given), or by an error that ends no more than its scope.
    Done(Option<i32>),
    /// Nothing more of the whole request runs.
    Stopped,
    /// With an error for a CATCH block outside.
    Thrown(SqlError),
}

/// Where a run stands among the runs of its request.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The procedure whose body it is, for messages.
    pub procedure: Option<String>,
    /// Somewhere outside a TRY block is open: errors go there.
    pub caught_outside: bool,
}

/// Variables that hold less are not counted.
const LARGE_VALUES: usize = 32 << 10;

pub struct Run<'r> {
    session: &'r mut Session,
    program: &'r Arc<Program>,
    sink: &'r mut dyn ResultSink,
    cancel: &'r CancelToken,
    vars: Vec<Value>,
    bound: Plans,
    /// What its steps have bound before the first of them ran, and not taken up yet.
    early: Early,
    /// Table variables, in the order of the program.
    tables: Vec<Arc<MemoryTable>>,
    /// The TRY blocks that are open: where their CATCH block begins, and how many errors were being handled around them.
    tries: Vec<(usize, usize)>,
    /// The worst severity of the errors that this run has told: what its return status is made of.
    worst: u8,
    /// What `@@ERROR` will be after the statement, though it succeeds: RAISERROR WITH SETERROR.
    set_error: i32,
    place: Place,
    reported: bool,
    /// Of the statement at hand.
    line: i32,
    /// When the statement at hand began, while somebody wants to know.
    clock: Option<Stopwatch>,
    /// Where the statement at hand counts what its operators do, while somebody wants to know.
    profile: Option<Arc<duramen_query::profile::Profile>>,
    /// A step has been bound.
    rebound: bool,
    /// What binding has taken.
    binding: Cell<i64>,
    /// The rows sent so far of a result that has its heading and not its end.
    heading: Option<u64>,
    /// What large values of variables take.
    values: Option<Account>,
    /// Bytes that the variables hold.
    held: usize,
    /// A bulk load whose rows triggers are to see when all have come.
    loaded: Option<bulk::Loaded>,
}

impl<'r> Run<'r> {
    /// Gives a variable its next value.
    #[inline]
    fn set_variable(&mut self, slot: usize, value: Value) {
        let grown = duramen_query::assign(&mut self.vars[slot], value);
        if grown != 0 {
            self.values_grown(grown);
        }
    }

    /// Tells of what the variables hold, when that is much. Counted as they change: a text may have many, and each may get
    /// its value in a statement of its own.
    fn values_grown(&mut self, bytes: isize) {
        if bytes == 0 {
            return;
        }
        self.held = self.held.saturating_add_signed(bytes);
        if self.held >= LARGE_VALUES || self.values.is_some() {
            self.count_large(self.held as u64);
        }
    }

    /// They are there already: whoever makes the next large one is asked whether there is room for it.
    #[cold]
    fn count_large(&mut self, bytes: u64) {
        let memory = &self.session.instance.databases.engine.memory;
        let account = self
            .values
            .get_or_insert_with(|| memory.account(Clerk::Values));
        account.set(bytes);
    }

    /// What binding has taken, if a step has been bound.
    fn rebound(&self) -> Option<i64> {
        self.rebound.then(|| self.binding.get())
    }

    pub fn new(
        session: &'r mut Session,
        program: &'r Arc<Program>,
        sink: &'r mut dyn ResultSink,
        cancel: &'r CancelToken,
    ) -> Run<'r> {
        Run {
            session,
            program,
            sink,
            cancel,
            vars: vec![Value::Null; program.variables.len()],
            bound: Plans::none(program.steps.len()),
            early: Early::default(),
            tables: made_tables(program),
            tries: Vec::new(),
            worst: 0,
            set_error: 0,
            place: Place::default(),
            reported: false,
            line: 0,
            clock: None,
            profile: None,
            values: None,
            held: 0,
            loaded: None,
            rebound: false,
            binding: Cell::new(0),
            heading: None,
        }
    }

    /// Runs a batch of the client to its end, with what its steps have bound before; gives back what they have now,
    /// and, where that is more or newer, the bytes that binding it has taken.
    pub fn batch(mut self, bound: Plans) -> (Plans, Option<i64>) {
        self.bound = bound;
        let _ = self.execute();
        self.end_of_batch();
        let rebound = self.rebound();
        (self.bound, rebound)
    }

    /// Runs the program to its end.
    fn execute(&mut self) -> Ended {
        stack::deep(|| self.steps())
    }

    fn steps(&mut self) -> Ended {
        if self.is_unchecked()
            && let Some(refused) = self.check()
        {
            return refused;
        }
        if self.is_shown() {
            return self.show();
        }
        let caught = self.session.state.caught.len();
        self.session.activity.enter(self.program);
        // Of the statement that calls this program.
        let outside = duramen_access::usage::take();
        let module = match reporting::modules_are_wanted() {
            true => self.module_begins(),
            false => None,
        };
        let whole = Running::begin();
        let program = self.program;
        let mut collected = Collected::new(&program.stats, program.steps.len(), &whole);
        let mut at = 0;
        let ended = loop {
            if at >= self.program.steps.len() {
                break Ended::Done(None);
            }
            if self.cancel.is_set() {
                // What follows puts away.
                let _ = given_up::check();
                self.session.state.given_up = true;
                break Ended::Stopped;
            }
            self.line = self.program.steps[at].line as i32;
            let counted = self.program.steps[at].has_plan().then(Running::begin);
            let step = match reporting::statements_are_wanted() {
                false => self.measured_or_not(at),
                true => self.run_reported(at),
            };
            duramen_access::usage::ended();
            if let Some(running) = counted {
                let rows = match &step {
                    Ok(_) => self.session.state.rowcount,
                    Err(_) => 0,
                };
                collected.ended(at, &running, rows);
            }
            let next = match step {
                Ok(next) => next,
                Err(failure) => self.failed(at, *failure),
            };
            self.report_forgiven();
            self.session.instance.xe.settle();
            at = match next {
                Next::Step => at + 1,
                Next::To(target) => target,
                Next::Return(status) => break Ended::Done(status),
                Next::End(ended) => break ended,
            };
        };
        self.session.state.caught.truncate(caught);
        collected.flush();
        duramen_access::usage::put_back(outside);
        self.program.stats.ran(&whole);
        if let Some(module) = module {
            module.ends(self.session.state.rowcount);
        }
        self.session.activity.leave();
        ended
    }

    fn measured_or_not(&mut self, at: usize) -> RunResult<Next> {
        match self.session.options.measured() || reporting::plans_are_wanted() {
            false => self.step(at),
            true => self.measured(at),
        }
    }

    fn step(&mut self, at: usize) -> RunResult<Next> {
        if self.session.options.fmtonly {
            return self.described(at);
        }
        let program = self.program;
        if self.session.options.noexec {
            return self.unexecuted(at);
        }
        match &program.steps[at].op {
            Op::Jump(target) => Ok(Next::To(*target)),
            Op::BranchUnless { condition, target } => {
                let holds = self.condition(at, condition)?;
                self.session.state.rowcount = 0;
                Ok(if holds == Some(true) {
                    Next::Step
                } else {
                    Next::To(*target)
                })
            }
            Op::Assign {
                slot, op, value, ..
            } => {
                let value = self.assigned(at, *slot, *op, value)?;
                self.set_variable(*slot, value);
                let state = &mut self.session.state;
                (state.error, state.rowcount) = (0, 1);
                Ok(Next::Step)
            }
            Op::EnterTry { catch } => {
                self.tries.push((*catch, self.session.state.caught.len()));
                Ok(Next::Step)
            }
            Op::LeaveTry { after } => {
                self.tries.pop();
                Ok(Next::To(*after))
            }
            Op::Unwind { tries, catches } => {
                let open = self.tries.len().saturating_sub(*tries);
                self.tries.truncate(open);
                let caught = &mut self.session.state.caught;
                caught.truncate(caught.len().saturating_sub(*catches));
                Ok(Next::Step)
            }
            Op::EndCatch => {
                self.session.state.caught.pop();
                Ok(Next::Step)
            }
            Op::Return(None) => Ok(Next::Return(None)),
            Op::Return(Some(e)) => {
                let bound = self.expr(at, |b| {
                    let e = b.scalar(e)?;
                    b.coerce(e, SqlType::INT)
                })?;
                let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                if value.is_null() {
                    let name = self.place.procedure.clone().unwrap_or_default();
                    self.say(&SqlError::new(&messages::NULL_STATUS, &[&name]), at);
                }
                let status = value.as_i64().and_then(|n| i32::try_from(n).ok());
                Ok(Next::Return(Some(status.unwrap_or(0))))
            }
            Op::Run(StatementKind::Exec(stmt)) => {
                self.session.activity.at_step(program, at);
                self.exec(at, stmt)
            }
            Op::Run(StatementKind::Insert(stmt))
                if matches!(stmt.source, ast::InsertSource::Exec(_)) =>
            {
                match &stmt.source {
                    ast::InsertSource::Exec(exec) => {
                        self.session.activity.at_step(program, at);
                        self.insert_exec(at, stmt, exec)
                    }
                    _ => Ok(Next::Step),
                }
            }
            Op::Run(statement) => {
                let kind = program.steps[at]
                    .kind
                    .unwrap_or_else(|| Kind::of(statement));
                self.session.activity.at_statement(kind);
                self.session.activity.at_step(self.program, at);
                self.run(at, (kind, statement))?;
                self.audit(at, (kind, statement));
                let state = &mut self.session.state;
                state.error = std::mem::take(&mut self.set_error);
                if !kind.row().counts_rows() {
                    state.rowcount = 0;
                }
                Ok(Next::Step)
            }
        }
    }
}

/// Table variables of a run, which counts them.
pub(crate) fn made_tables(program: &Program) -> Vec<Arc<MemoryTable>> {
    let tables = tables_of(program);
    if !tables.is_empty() {
        duramen_observe::count(Counter::TempTablesCreated, tables.len() as u64);
    }
    tables
}

pub(crate) fn tables_of(program: &Program) -> Vec<Arc<MemoryTable>> {
    let defs = program.tables.iter();
    defs.map(|d| Arc::new(MemoryTable::new(d.clone())))
        .collect()
}

fn not_supported(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}
