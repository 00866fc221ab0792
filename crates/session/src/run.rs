//! The one loop that runs programs; what single statements do is in the files below `run/`.

mod app_locks;
mod audit;
mod backup;
mod bind;
mod bulk;
mod callable;
mod checked;
mod compiled;
mod dbcc;
mod define;
mod describe;
mod describe_parameters;
mod done;
mod error_log;
mod event_sessions;
mod exec;
mod failed;
mod grants;
mod insert_exec;
mod into;
pub(crate) mod message_format;
mod module;
mod nested;
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
mod schemabound;
mod scoped;
mod server;
mod showplan;
mod statistics;
mod synonyms;
mod tables;
pub(crate) mod telling;
mod temp;
mod textsize;
mod trigger;
mod undeclared;
mod unexecuted;
mod users;

use std::cell::Cell;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_catalog::ObjectKind;
use duramen_observe::Counter;
use duramen_os::memory::{Account, Clerk};
use duramen_os::stack;
use duramen_query::dml;
use duramen_query::memory::MemoryTable;
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::{SqlType, Value};

pub(crate) use self::bind::{Bound, Plans};
pub(crate) use self::bulk::Announced;
pub use self::bulk::BulkSource;
pub(crate) use self::callable::callable;
use self::checked::Early;
pub(crate) use self::describe::{description as describe_column, result_columns};
pub(crate) use self::exec::{Called, Given, is_remote};
pub(crate) use self::grants::is_all;
pub(crate) use self::query::meta as column_meta;
pub(crate) use self::query::{REBINDS, into};
pub(crate) use self::schemabound::is_schema_bound;
pub(crate) use self::scoped::scoped_refused;
pub(crate) use self::showplan::{kind_of, sets_showplan};
pub(crate) use self::statistics::Stopwatch;
pub(crate) use self::synonyms::Meaning;
pub(crate) use self::temp::{TemporaryTable, is_temporary, is_temporary_of, short_name};
pub(crate) use self::trigger::{Firing, fired_by};
use crate::program::{Op, Program};
use crate::session::{CancelToken, Session};
use crate::sink::ResultSink;
use crate::statement_stats::{Collected, Running, has_plan};
use crate::statements::{Kind, command};

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
    /// The error at hand is one of binding.
    unbound: bool,
    /// Table variables, in the order of the program.
    tables: Vec<Arc<MemoryTable>>,
    /// The TRY blocks that are open: where their CATCH block begins, and how many errors were being handled around them.
    tries: Vec<(usize, usize)>,
    /// The worst severity of the errors that this run has told: what its return status is made of.
    worst: u8,
    /// What `@@ERROR` will be after the statement, though it succeeds: RAISERROR WITH SETERROR.
    set_error: i32,
    place: Place,
    /// Errors that the statement at hand has beside its last one, which alone can be caught.
    before: Vec<SqlError>,
    /// A trigger that the statement at hand fired has ended the batch.
    stopped: bool,
    /// The error at hand comes from a scope inside, so that names it could not find can be caught here.
    from_inside: bool,
    /// The error at hand comes from THROW, which ends the batch.
    thrown: bool,
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
    fn set_variable(&mut self, slot: usize, value: Value) {
        let grown = value.heap_bytes() as isize;
        let before = std::mem::replace(&mut self.vars[slot], value);
        self.values_grown(grown - before.heap_bytes() as isize);
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
            unbound: false,
            tables: made_tables(program),
            tries: Vec::new(),
            worst: 0,
            set_error: 0,
            place: Place::default(),
            before: Vec::new(),
            stopped: false,
            from_inside: false,
            thrown: false,
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
        let outside = crate::usage::take();
        let module = match telling::modules_are_wanted() {
            true => self.module_begins(),
            false => None,
        };
        let whole = Running::begin();
        let mut collected = Collected::new(&whole);
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
            let counted = has_plan(&self.program.steps[at]).then(Running::begin);
            let step = match telling::statements_are_wanted() {
                false => self.measured_or_not(at),
                true => self.told(at),
            };
            crate::usage::ended();
            if let Some(running) = counted {
                let rows = match &step {
                    Ok(_) => self.session.state.rowcount,
                    Err(_) => 0,
                };
                collected.ended(self.program, at, &running, rows);
            }
            let next = match step {
                Ok(next) => next,
                Err(error) => self.failed(at, error),
            };
            self.tell_forgiven();
            self.session.instance.xe.settle();
            at = match next {
                Next::Step => at + 1,
                Next::To(target) => target,
                Next::Return(status) => break Ended::Done(status),
                Next::End(ended) => break ended,
            };
        };
        self.session.state.caught.truncate(caught);
        collected.flush(self.program);
        crate::usage::put_back(outside);
        self.program.stats.ran(&whole);
        if let Some(module) = module {
            module.ends(self.session.state.rowcount);
        }
        self.session.activity.leave();
        ended
    }

    fn measured_or_not(&mut self, at: usize) -> SqlResult<Next> {
        match self.session.options.measured() || telling::plans_are_wanted() {
            false => self.step(at),
            true => self.measured(at),
        }
    }

    fn step(&mut self, at: usize) -> SqlResult<Next> {
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
                if std::mem::take(&mut self.stopped) {
                    return Ok(Next::End(Ended::Stopped));
                }
                let state = &mut self.session.state;
                state.error = std::mem::take(&mut self.set_error);
                if !kind.row().counts_rows() {
                    state.rowcount = 0;
                }
                Ok(Next::Step)
            }
        }
    }

    /// A statement that defines asks anew until what it has found is in no doubt; one that names several things is several.
    fn run(&mut self, at: usize, (kind, statement): (Kind, &StatementKind)) -> SqlResult<()> {
        let each = |n: &ast::ObjectName| vec![n.clone()];
        match statement {
            StatementKind::Drop {
                kind: what,
                if_exists,
                names,
            } => names.iter().try_for_each(|n| {
                let one = StatementKind::Drop {
                    kind: *what,
                    if_exists: *if_exists,
                    names: each(n),
                };
                self.settled(|run| run.run_once(at, kind, &one))
            }),
            StatementKind::DropIndex { if_exists, indexes } => {
                indexes.iter().try_for_each(|index| {
                    let one = StatementKind::DropIndex {
                        if_exists: *if_exists,
                        indexes: vec![index.clone()],
                    };
                    self.settled(|run| run.run_once(at, kind, &one))
                })
            }
            _ if kind.row().defines() => self.settled(|run| run.run_once(at, kind, statement)),
            _ => self.run_once(at, kind, statement),
        }
    }

    fn run_once(&mut self, at: usize, kind: Kind, statement: &StatementKind) -> SqlResult<()> {
        if !self.session.who.sysadmin {
            self.settled(|run| run.permitted(kind, statement))?;
        }
        if kind.row().stands_alone() {
            self.outside_transaction(kind.row().name)?;
        }
        match statement {
            StatementKind::Select(stmt) => self.select(at, stmt),
            StatementKind::Insert(stmt) => self.change(at, Kind::Insert, |h| dml::insert(h, stmt)),
            StatementKind::InsertBulk(stmt) => self.insert_bulk(stmt),
            StatementKind::Update(stmt) => self.change(at, Kind::Update, |h| dml::update(h, stmt)),
            StatementKind::Delete(stmt) => self.change(at, Kind::Delete, |h| dml::delete(h, stmt)),
            StatementKind::Print(e) => self.print(at, e),
            StatementKind::BeginTran { name, mark, .. } => {
                let name = self.transaction_name(name.as_ref())?;
                let name = name.as_deref().unwrap_or("");
                self.begin_implicitly()?;
                self.session.begin_transaction(name, self.sink)?;
                if let Some(description) = mark
                    && let Some(t) = &self.session.transaction
                    && !t.set_mark(name, description.as_deref().unwrap_or(""))
                {
                    self.say(&SqlError::new(&messages::MARK_ONLY_FIRST, &[]), at);
                }
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
                let line = self.program.steps[at].line as i32;
                self.session.use_database(name, line, self.sink)?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::SetOption(option) => {
                self.set_option(at, option)?;
                self.session.activity.note_options(&self.session.options);
                self.session.state.options_set += 1;
                self.done(None, command::SET, false);
                Ok(())
            }
            StatementKind::WaitFor { kind, value } => self.wait_for(at, *kind, value),
            StatementKind::RaiseError(stmt) => self.raise_error(at, stmt),
            StatementKind::Throw(args) => self.throw(at, args.as_deref()),
            StatementKind::CreateTable(stmt) if temp::is_temporary(&stmt.name) => {
                self.create_temporary(stmt)
            }
            StatementKind::CreateTable(stmt) => {
                let (database, _) = self.session.definition_target(&stmt.name);
                if self.session.instance.database_id(&database).is_none() {
                    let message = &messages::NAMED_DATABASE_DOES_NOT_EXIST;
                    return Err(SqlError::new(message, &[&database]).with_state(2));
                }
                self.define_in(&database, Kind::CreateTable.definition(), |d| {
                    d.create_table(stmt)
                })
            }
            StatementKind::AlterTable(stmt) => self.alter_table(stmt),
            StatementKind::CreateModule(stmt) => self.create_module(stmt),
            StatementKind::CreateType(stmt) => self.create_type(stmt),
            StatementKind::CreateSynonym { name, target } => self.create_synonym(name, target),
            StatementKind::CreateIndex(stmt) => {
                let mut stmt = stmt.clone();
                let database = match &stmt.table {
                    Some(name) => {
                        let (database, name) = self.session.definition_target(name);
                        stmt.table = Some(name);
                        database
                    }
                    None => self.session.database.to_string(),
                };
                self.define_in(&database, Kind::CreateIndex.definition(), |d| {
                    d.create_index(&stmt)
                })
            }
            StatementKind::CreateStatistics(stmt) => {
                let (database, table) = self.session.definition_target(&stmt.table);
                self.define_in(&database, Kind::CreateStatistics.definition(), |d| {
                    d.create_statistics(&table, stmt)
                })
            }
            StatementKind::UpdateStatistics {
                table,
                names,
                options,
            } => {
                let (database, table) = self.session.definition_target(table);
                self.define_in(&database, Kind::UpdateStatistics.definition(), |d| {
                    d.update_statistics(&table, names, options)
                })
            }
            StatementKind::CreateSchema {
                name,
                authorization,
            } => {
                self.may_make_owner(authorization.as_deref())?;
                self.define(Kind::CreateSchema.definition(), |d| {
                    d.create_schema(name, authorization.as_deref())
                })
            }
            StatementKind::AlterAuthorization { class, name, to } => {
                self.alter_authorization(class.as_deref(), name, to.as_deref())
            }
            StatementKind::AlterSchema { schema, name, .. } => {
                self.define(Kind::AlterSchema.definition(), |d| d.transfer(schema, name))
            }
            StatementKind::AlterIndex(stmt) => {
                let (database, table) = self.session.definition_target(&stmt.table);
                let stmt = ast::AlterIndex {
                    table,
                    ..(**stmt).clone()
                };
                let partition = match &stmt.partition {
                    Some(e) => Some(self.partition_number(e)?),
                    None => None,
                };
                self.define_in(&database, Kind::AlterIndex.definition(), |d| {
                    d.alter_index(&stmt, partition)
                })
            }
            StatementKind::TruncateTable { table, partitions } => {
                let (database, table) = self.session.definition_target(table);
                let parts = self.partition_numbers(partitions)?;
                self.define_in(&database, Kind::TruncateTable.definition(), |d| {
                    d.truncate(&table, &parts)
                })
            }
            StatementKind::Partition(stmt) => self.partition(stmt),
            StatementKind::Drop {
                kind,
                if_exists,
                names,
            } => match kind {
                ast::DropKind::Table => names.iter().try_for_each(|n| {
                    let (database, target) = self.session.definition_target(n);
                    self.not_bound(&database, &target, "DROP TABLE")?;
                    let dropped = self.define_in(&database, Kind::DropTable.definition(), |d| {
                        d.drop_table(&target, *if_exists)
                    });
                    dropped.map_err(|e| temp::shown_as(e, &target, n))
                }),
                ast::DropKind::Procedure => {
                    self.drop_modules(ObjectKind::PROCEDURE, *if_exists, names)
                }
                ast::DropKind::Type => self.drop_types(*if_exists, names),
                ast::DropKind::Trigger => self.drop_modules(ObjectKind::TRIGGER, *if_exists, names),
                ast::DropKind::Schema => names.iter().try_for_each(|n| {
                    self.define(Kind::DropSchema.definition(), |d| {
                        d.drop_schema(n, *if_exists)
                    })
                }),
                ast::DropKind::Synonym => self.drop_modules(ObjectKind::SYNONYM, *if_exists, names),
                ast::DropKind::View => self.drop_modules(ObjectKind::VIEW, *if_exists, names),
                ast::DropKind::Function => {
                    self.drop_modules(ObjectKind::SCALAR_FUNCTION, *if_exists, names)
                }
                ast::DropKind::Statistics => names.iter().try_for_each(|n| {
                    let mut table = n.clone();
                    let name = table.parts.pop().unwrap_or_default();
                    let (database, table) = self.session.definition_target(&table);
                    self.define_in(&database, Kind::DropStatistics.definition(), |d| {
                        d.drop_statistics(&name, &table)
                    })
                }),
                ast::DropKind::Login => names.iter().try_for_each(|n| self.drop_login(n.name())),
                ast::DropKind::User => names
                    .iter()
                    .try_for_each(|n| self.drop_principal(false, *if_exists, n.name())),
                ast::DropKind::Role => names
                    .iter()
                    .try_for_each(|n| self.drop_principal(true, *if_exists, n.name())),
                other => Err(not_supported(&format!("DROP {other:?}").to_uppercase())),
            },
            StatementKind::DropIndex { if_exists, indexes } => {
                indexes.iter().try_for_each(|(index, table)| {
                    let (database, table) = self.session.definition_target(table);
                    self.define_in(&database, Kind::DropIndex.definition(), |d| {
                        d.drop_index(index, &table, *if_exists)
                    })
                })
            }
            StatementKind::Principal(stmt) => self.principal(stmt),
            StatementKind::Permission(stmt) => self.permission(stmt),
            StatementKind::CreateDatabase(stmt) => {
                self.administer(at, |a| a.create(stmt))?;
                self.done(None, 0xCB, false);
                Ok(())
            }
            StatementKind::AlterDatabase(stmt) => {
                self.administer(at, |a| a.alter(stmt))?;
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::AlterDatabaseScopedConfiguration(stmt) => self.configure(stmt),
            StatementKind::DropDatabase { if_exists, names } => {
                for n in names {
                    self.administer(at, |a| a.drop_database(n, *if_exists))?;
                }
                self.done(None, 0xCC, false);
                Ok(())
            }
            StatementKind::Checkpoint(_) => {
                let instance = self.session.instance.clone();
                if let Some(d) = instance.databases.find(&self.session.database) {
                    d.db.checkpoint_gently()?;
                }
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::Dbcc(stmt) => self.dbcc(at, stmt),
            StatementKind::Backup(stmt) => self.backup(at, stmt),
            StatementKind::Restore(stmt) => self.restore(at, stmt),
            StatementKind::Kill {
                session,
                status_only,
            } => {
                let spid = self.constant(session)?.as_i64().unwrap_or(0);
                if *status_only {
                    let status = self.session.instance.kill_status(spid)?;
                    self.sink.info(&status);
                    self.done(None, command::OTHER, false);
                    return Ok(());
                }
                if self.session.in_transaction() {
                    return Err(SqlError::new(&messages::KILL_IN_TRANSACTION, &[]));
                }
                self.session.instance.kill(spid, self.session.spid)?;
                let host = &self.session.login.host;
                let args: [&dyn std::fmt::Display; 3] =
                    [&spid, host, &self.session.login.client_pid];
                let killed = SqlError::new(&messages::PROCESS_KILLED, &args);
                self.session.tell_log(&killed.message);
                self.done(None, command::OTHER, false);
                Ok(())
            }
            StatementKind::Reconfigure { with_override } => self.reconfigure(*with_override),
            StatementKind::Shutdown { nowait } => self.shut_down(*nowait),
            StatementKind::CreateEventSession(_)
            | StatementKind::AlterEventSession(_)
            | StatementKind::DropEventSession { .. } => self.event_session(statement),
            _ => Err(not_supported(kind.row().name)),
        }
    }

    /// A name given as such or in a variable.
    fn transaction_name(&self, name: Option<&ast::TranName>) -> SqlResult<Option<String>> {
        match name {
            None => Ok(None),
            Some(ast::TranName::Name(n)) => Ok(Some(n.clone())),
            Some(ast::TranName::Variable(v)) => {
                let slot = self.program.variables.find(v);
                let slot =
                    slot.ok_or_else(|| SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[v]))?;
                let text = self.vars[slot].as_text();
                Ok(text.map(|t| t.chars().take(ast::TranName::MAX).collect()))
            }
        }
    }
}

/// A run's own table variables.
/// The same for a run, which counts them.
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
