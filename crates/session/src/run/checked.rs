//! A program is bound whole before its first statement runs: what is wrong with a statement all of whose objects exist
//! refuses all of it.
//!
//! Invariants
//! 1. Binding is not planning: what a statement has bound is planned when the statement is reached, and bound again if
//!    anything that it depends on has changed by then. [test: a_shared_batch_follows_the_schema]
//! 2. A statement that names what does not exist yet is left whole to its turn ([`is_deferred`]).
//!    [test: random_batches_are_refused_whole_or_run_to_their_turn]
//! 3. A program that was found in order is not looked at again while the schema stays as it is; one of a single statement
//!    is never looked at, since nothing runs before that. [test: random_batches_are_refused_whole_or_run_to_their_turn]

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_access::identity_insert::IdentityInsert;
use duramen_access::temporary::is_temporary;
use duramen_base::given_up::Bulky;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::heap;
use duramen_planner::dml::{self, BoundDml};
use duramen_planner::memory::MemoryTable;
use duramen_planner::{Binder, BoundQuery};
use duramen_program::message_format;
use duramen_program::outcome;
use duramen_program::program::{Op, Program, same};
use duramen_program::statements::into_table;
use duramen_query::Expr;
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::SqlType;

use super::{Ended, Run, into, query};
use crate::host::HostView;
use crate::session::Session;

/// What a step has bound before its turn.
pub(super) enum EarlyBound {
    Query(Box<BoundQuery>),
    Change(Box<BoundDml>),
    Expr(Expr),
}

/// What steps have bound before their turn, and what it holds for.
#[derive(Default)]
pub(super) struct Early {
    steps: Bulky<Option<(u64, EarlyBound)>>,
    meant: Meant,
}

/// What else than the schema decides what a text is bound to.
#[derive(Default, PartialEq)]
struct Meant {
    ansi_nulls: bool,
    identity_insert: Option<IdentityInsert>,
}

impl Meant {
    fn by(session: &Session) -> Meant {
        Meant {
            ansi_nulls: session.options.ansi_nulls,
            identity_insert: session.state.identity_insert.clone(),
        }
    }
}

/// What was found out about a program.
#[derive(Default)]
pub(super) struct Findings {
    /// In the order of the text.
    pub errors: Vec<SqlError>,
    steps: Bulky<Option<(u64, EarlyBound)>>,
    /// Procedures that it calls and that are not there.
    pub missing: Vec<String>,
}

/// Errors that tell how things stand, not what is wrong with a text: its statement is tried again at its turn.
const DEFERRED: &[i32] = &[
    // Names: objects, what synonyms stand for, indexes.
    208, 5313, 308, 202, // Permissions.
    229, 230, 262, 297, 300, 916, 15247, // Databases that are there and cannot be used.
    902, 904, 905, 921, 922, 923, 924, 926, 927, 942, 945, 946, 947, 952, 954, 976,
    // SET IDENTITY_INSERT, which may come before it.
    544, 545, // Locks.
    1204, 1205, 1222, 3960, 3961,
];

pub(super) fn is_deferred(error: &SqlError) -> bool {
    error.number == 0 || error.severity > 16 || DEFERRED.contains(&error.number)
}

impl Run<'_> {
    /// Whether the program has to be looked at as a whole before it runs.
    pub(super) fn is_unchecked(&self) -> bool {
        self.program.steps.len() > 1
            && self.bound.checked != Some(self.program_version())
            // What the system brings along is in order.
            && self.program.stats.module().is_none_or(|m| m.object > 0)
    }

    /// The schema version that the program as a whole was looked at. A module's own temporary tables are made anew by
    /// every call: they change nothing about it.
    fn program_version(&self) -> u64 {
        match self.program.stats.module() {
            Some(_) => self.session.instance.schema_version(false),
            None => self.version(),
        }
    }

    /// Binds the whole program; how its run ends when something is wrong with it.
    #[cold]
    pub(super) fn check(&mut self) -> Option<Ended> {
        let version = self.program_version();
        let before = heap::of_thread();
        let found = look_at(
            self.session,
            self.program,
            (&self.tables, None),
            self.cancel,
        );
        self.count_binding(before);
        if self.cancel.is_set() {
            return Some(Ended::Stopped);
        }
        let procedure = self.place.procedure.clone();
        let errors = found.errors.into_iter().map(|mut e| {
            e.procedure = e.procedure.or_else(|| procedure.clone());
            e
        });
        if let Some(error) = SqlError::joined(errors.collect()) {
            return Some(self.not_compiled(error));
        }
        self.early = Early {
            steps: found.steps,
            meant: Meant::by(self.session),
        };
        self.bound.checked = Some(version);
        // Whoever keeps the program learns that it is in order.
        self.rebound = true;
        None
    }

    /// Nothing of the program runs: the scope that called it goes on, or catches it.
    fn not_compiled(&mut self, error: SqlError) -> Ended {
        let error = self.program.guarded(error);
        self.session.state.error = error.number;
        self.session.state.rowcount = 0;
        if self.place.caught_outside && outcome::catchable(&error, true) {
            return Ended::Thrown(error);
        }
        outcome::report(self.sink, &error);
        self.worst = self.worst.max(error.severity);
        self.done(None, 0, true);
        Ended::Done(None)
    }

    /// What a step has bound before its turn, if that still holds.
    pub(super) fn take_early(&mut self, at: usize) -> Option<EarlyBound> {
        let (version, bound) = self.early.steps.get_mut(at)?.take()?;
        let holds = version == self.version() && self.early.meant == Meant::by(self.session);
        holds.then_some(bound)
    }
}

/// Binds every statement of a program, as its session stands now. RETURN gives a status, or that type.
pub(super) fn look_at(
    session: &mut Session,
    program: &Program,
    (tables, returns): (&[Arc<MemoryTable>], Option<SqlType>),
    cancel: &CancelToken,
) -> Findings {
    let home = session.database.clone();
    let level = session.options.level;
    let mut look = Look {
        session,
        program,
        tables,
        returns: returns.unwrap_or(SqlType::INT),
        cancel,
        made: Vec::new(),
        found: Findings::default(),
    };
    look.found.steps.reserve_exact(program.steps.len());
    for at in 0..program.steps.len() {
        let step = &program.steps[at];
        if cancel.is_set() || !look.used(at) {
            break;
        }
        let bound = look.step(&step.op);
        let bound = match bound {
            Ok(bound) => bound,
            Err(e) if is_deferred(&e) => None,
            // A function that is being made may call itself.
            Err(e) if returns.is_some() && e.number == messages::FUNCTION_NOT_FOUND.number => None,
            Err(e) => {
                look.found.errors.push(e.at_line(step.line as i32));
                None
            }
        };
        let temporary = program.temporary || &*look.session.database == "tempdb";
        let version = look.session.instance.schema_version(temporary);
        look.found.steps.push(bound.map(|b| (version, b)));
    }
    let found = look.found;
    session.database = home;
    session.options.level = level;
    found
}

struct Look<'l> {
    session: &'l mut Session,
    program: &'l Program,
    tables: &'l [Arc<MemoryTable>],
    /// What RETURN gives.
    returns: SqlType,
    cancel: &'l CancelToken,
    /// The temporary tables that the program makes.
    made: Vec<String>,
    found: Findings,
}

impl Look<'_> {
    /// Follows USE. False when nobody can say in which database the rest will run.
    fn used(&mut self, at: usize) -> bool {
        let step = &self.program.steps[at];
        let Op::Run(StatementKind::Use(name)) = &step.op else {
            return true;
        };
        let instance = self.session.instance.clone();
        match instance.database_name(name) {
            Some(found) if *found == *self.session.database => true,
            Some(found) => {
                self.session.options.level = instance.databases.language_of(&found).0;
                self.session.database = found.as_str().into();
                is_always_reached(self.program, at)
            }
            None => {
                if instance.databases.find_unavailable(name).is_none() {
                    let error = SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[name]);
                    self.found.errors.push(error.at_line(step.line as i32));
                }
                false
            }
        }
    }

    /// What the host answers once the names that it has looked up are in no doubt.
    fn host<T>(&self, f: impl Fn(&HostView<'_>) -> SqlResult<T>) -> SqlResult<T> {
        let host = HostView::new(
            self.session,
            &self.program.variables,
            self.tables,
            None,
            self.cancel,
        );
        self.session.settled(|| f(&host))
    }

    fn step(&mut self, op: &Op) -> SqlResult<Option<EarlyBound>> {
        match op {
            Op::Run(kind) => self.statement(kind),
            Op::Assign { slot, op, value } => {
                let variable = &self.program.variables[*slot];
                self.expr(|b| b.assigned(&variable.name, variable.ty, *op, value))
            }
            Op::BranchUnless { condition, .. } => self.expr(|b| b.scalar(condition)),
            Op::Return(Some(e)) => self.expr(|b| {
                let e = b.scalar(e)?;
                b.coerce(e, self.returns)
            }),
            _ => Ok(None),
        }
    }

    fn expr(
        &self,
        bind: impl Fn(&mut Binder<'_>) -> SqlResult<Expr>,
    ) -> SqlResult<Option<EarlyBound>> {
        self.host(|h| {
            let mut binder = Binder::checking(h);
            let bound = bind(&mut binder)?;
            Ok((!binder.is_incomplete()).then_some(EarlyBound::Expr(bound)))
        })
    }

    /// Values that a statement computes when it runs.
    fn values<'e>(&self, all: impl IntoIterator<Item = &'e ast::Expr>) -> SqlResult<()> {
        all.into_iter()
            .try_for_each(|e| self.expr(|b| b.scalar(e)).map(|_| ()))
    }

    fn statement(&mut self, kind: &StatementKind) -> SqlResult<Option<EarlyBound>> {
        match kind {
            StatementKind::Select(stmt) => self.select(stmt),
            StatementKind::Insert(stmt) => {
                if let ast::InsertSource::Exec(exec) = &stmt.source {
                    self.call(exec)?;
                    self.host(|h| dml::bound(Binder::checking(h), kind))?;
                    return Ok(None);
                }
                self.change(kind)
            }
            StatementKind::Update(_) | StatementKind::Delete(_) => self.change(kind),
            StatementKind::Print(e) => self.expr(|b| b.as_text(e)),
            StatementKind::Exec(exec) => {
                self.call(exec)?;
                match &exec.call {
                    ast::ExecCall::Text { text, .. } => self.expr(|b| b.scalar(text)),
                    _ => Ok(None),
                }
            }
            StatementKind::RaiseError(stmt) => {
                message_format::check_count(stmt.args.len())?;
                self.values([&stmt.message, &stmt.severity, &stmt.state])?;
                self.values(&stmt.args)?;
                Ok(None)
            }
            StatementKind::Throw(Some(args)) => {
                self.values([&args.0, &args.1, &args.2])?;
                Ok(None)
            }
            StatementKind::WaitFor { value, .. }
            | StatementKind::Kill { session: value, .. }
            | StatementKind::SetOption(ast::SetOption::Value { value, .. }) => {
                self.values([value])?;
                Ok(None)
            }
            StatementKind::CreateTable(stmt) => self.makes(&stmt.name).map(|()| None),
            _ => Ok(None),
        }
    }

    fn select(&mut self, stmt: &ast::SelectStmt) -> SqlResult<Option<EarlyBound>> {
        query::assignments(stmt)?;
        if let Some(name) = into_table(stmt) {
            self.makes(name)?;
            let (stmt, _) = into::without_identity(stmt)?;
            self.host(|h| Binder::checking(h).bound_select(&stmt))?;
            return Ok(None);
        }
        self.host(|h| {
            let mut binder = Binder::checking(h);
            let bound = binder.bound_select(stmt)?;
            Ok((!binder.is_incomplete()).then_some(EarlyBound::Query(Box::new(bound))))
        })
    }

    fn change(&self, statement: &StatementKind) -> SqlResult<Option<EarlyBound>> {
        self.host(|h| {
            let bound = dml::bound(Binder::checking(h), statement)?;
            let whole = bound.filter(|b| !b.is_incomplete());
            Ok(whole.map(|b| EarlyBound::Change(Box::new(b))))
        })
    }

    /// The arguments of a call. That it is there is asked when it is made.
    fn call(&mut self, exec: &ast::ExecStmt) -> SqlResult<()> {
        let args = match &exec.call {
            ast::ExecCall::Procedure { name, args, .. } => {
                if self.is_missing(name)? {
                    self.found.missing.push(name.display());
                }
                args
            }
            ast::ExecCall::ProcedureVariable { args, .. } => args,
            ast::ExecCall::Text { .. } => return Ok(()),
        };
        let values = args.iter().map(|a| &a.value);
        self.values(
            values
                .filter(|v| !matches!(v.kind, ast::ExprKind::Default | ast::ExprKind::Variable(_))),
        )
    }

    /// Whether a procedure of this database is called and not there. Those of the system are not all modules.
    fn is_missing(&self, name: &ast::ObjectName) -> SqlResult<bool> {
        let own = name.name().to_ascii_lowercase();
        let system = ["sp_", "xp_", "#"].iter().any(|p| own.starts_with(p));
        let elsewhere = name
            .database()
            .is_some_and(|d| !d.eq_ignore_ascii_case(&self.session.database));
        if system || elsewhere {
            return Ok(false);
        }
        Ok(self.session.procedure_module(name)?.is_none())
    }

    /// 2714: no two statements of a program make the same temporary table, whichever of them runs.
    fn makes(&mut self, name: &ast::ObjectName) -> SqlResult<()> {
        let local = is_temporary(name) && !name.name().starts_with("##");
        if !local {
            return Ok(());
        }
        let name = name.name();
        if self.made.iter().any(|m| same(m, name)) {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        self.made.push(name.to_owned());
        Ok(())
    }
}

/// Whether every run that comes behind a step has been at the step, once.
fn is_always_reached(program: &Program, at: usize) -> bool {
    program.steps.iter().enumerate().all(|(from, step)| {
        let to = match &step.op {
            Op::BranchUnless { target, .. } | Op::Jump(target) => *target,
            Op::EnterTry { catch } => *catch,
            Op::LeaveTry { after } => *after,
            _ => return true,
        };
        let (first, last) = (from.min(to), from.max(to));
        !(first < at && at < last || to < from && (first..=last).contains(&at))
    })
}
