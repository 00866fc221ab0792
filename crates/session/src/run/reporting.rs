//! What requests and statements tell of themselves while an event session wants to know.

use duramen_access::cancel::CancelToken;
use duramen_core::activity::Activity;
use duramen_observe::events::{
    self, Attention, ConnectionReset, EventId, Login, Logout, ModuleEnd, ModuleStart, ObjectType,
    Outcome, RecompileCause, RpcCompleted, RpcStarting, SpStatementCompleted, SpStatementStarting,
    SqlBatchCompleted, SqlBatchStarting, SqlStatementCompleted, SqlStatementRecompile,
    SqlStatementStarting, emit,
};
use duramen_observe::{Counter, count};
use duramen_program::program::shown::offset;
use duramen_program::program::{Op, Program, Step};
use duramen_program::secrets;
use duramen_program::sink::ResultSink;
use duramen_program::statement_stats::ModuleId;

use super::failure::RunResult;
use super::{Next, Run, Stopwatch};
use crate::session::Session;

const STATEMENTS: u64 = EventId::SqlStatementStarting.bit()
    | EventId::SqlStatementCompleted.bit()
    | EventId::SpStatementStarting.bit()
    | EventId::SpStatementCompleted.bit();
const MODULES: u64 = EventId::ModuleStart.bit() | EventId::ModuleEnd.bit();
const BATCHES: u64 = EventId::SqlBatchStarting.bit() | EventId::SqlBatchCompleted.bit();
const CALLS: u64 = EventId::RpcStarting.bit() | EventId::RpcCompleted.bit();

#[inline]
pub(crate) fn statements_are_wanted() -> bool {
    events::are_wanted(STATEMENTS)
}

#[inline]
pub(crate) fn batches_are_wanted() -> bool {
    events::are_wanted(BATCHES)
}

#[inline]
pub(crate) fn modules_are_wanted() -> bool {
    events::are_wanted(MODULES)
}

/// The plans that statements have run with.
#[inline]
pub(crate) fn plans_are_wanted() -> bool {
    events::is_wanted(EventId::QueryPostExecutionShowplan)
}

#[inline]
fn calls_are_wanted() -> bool {
    events::are_wanted(CALLS)
}

/// Since nanoseconds of the wall clock.
fn micros_since(start: i64) -> u64 {
    let now = duramen_os::time::wall().unix_nanos() as i64;
    u64::try_from((now - start) / 1000).unwrap_or(0)
}

impl Session {
    fn outcome(&self, cancel: &CancelToken) -> Outcome {
        match (cancel.is_set(), self.state.error) {
            (true, _) => Outcome::Abort,
            (false, 0) => Outcome::Ok,
            (false, _) => Outcome::Error,
        }
    }

    pub(crate) fn report_login(&self) {
        let _working = duramen_core::origin::work_for(&self.activity);
        emit(|| Login {
            is_cached: false,
            database_id: u64::from(self.activity.database()),
        });
    }

    pub(crate) fn report_logout(&self) {
        let _working = duramen_core::origin::work_for(&self.activity);
        emit(|| Logout {
            is_cached: false,
            duration: micros_since(self.activity.login_time),
        });
    }

    /// The client, or KILL, has ended the request at hand.
    pub(crate) fn report_attention(&self) {
        emit(|| Attention {
            duration: micros_since(self.activity.glance().started),
            request_id: 0,
        });
    }

    /// A batch between its two events.
    pub(crate) fn run_reported_batch(
        &mut self,
        text: &str,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) {
        emit(|| SqlBatchStarting {
            batch_text: secrets::shown(text).into_owned(),
        });
        let clock = Stopwatch::start();
        self.run_batch(text, sink, cancel);
        let (cpu_time, duration) = clock.micros();
        let work = clock.work();
        emit(|| SqlBatchCompleted {
            cpu_time,
            duration,
            physical_reads: work.physical_reads,
            logical_reads: work.logical_reads,
            writes: work.logical_writes,
            spills: work.spilled,
            row_count: self.state.rowcount,
            result: self.outcome(cancel),
            batch_text: secrets::shown(text).into_owned(),
        });
    }

    /// A call between its two events: the procedure, and the text that stands for the call.
    pub(crate) fn report_call<T>(
        &mut self,
        (object_name, statement): (&str, &dyn Fn() -> String),
        cancel: &CancelToken,
        run: impl FnOnce(&mut Session) -> T,
    ) -> T {
        if !calls_are_wanted() {
            return run(self);
        }
        let statement = secrets::shown(&statement()).into_owned();
        emit(|| RpcStarting {
            object_name: object_name.to_owned(),
            statement: statement.clone(),
        });
        let clock = Stopwatch::start();
        let connection_reset_option = match self.state.reset_by {
            None => ConnectionReset::NONE,
            Some(false) => ConnectionReset::RESET,
            Some(true) => ConnectionReset::KEEPS_TRANSACTION,
        };
        let result = run(self);
        let (cpu_time, duration) = clock.micros();
        let work = clock.work();
        emit(|| RpcCompleted {
            cpu_time,
            duration,
            physical_reads: work.physical_reads,
            logical_reads: work.logical_reads,
            writes: work.logical_writes,
            result: self.outcome(cancel),
            row_count: self.state.rowcount,
            connection_reset_option,
            object_name: object_name.to_owned(),
            statement,
            data_stream: Vec::new(),
            output_parameters: String::new(),
        });
        result
    }
}

/// The statement that has called the innermost program; empty for a call by name.
fn calling(who: &Activity) -> String {
    let stack = who.stack();
    let found = stack.get(1).and_then(|(program, at)| {
        let (from, to) = program.steps.get((*at)?)?.span;
        Some(program.shown_part((from, to)).into_owned())
    });
    found.unwrap_or_default()
}

/// A module between its two events.
pub(crate) struct ReportedModule {
    of: ModuleId,
    name: String,
    /// What calls it.
    statement: String,
    clock: Stopwatch,
}

impl ReportedModule {
    /// `None` when the program, which has been entered, is no module's.
    pub fn begins(program: &Program, name: &str, who: &Activity) -> Option<ReportedModule> {
        let reported = ReportedModule {
            of: program.stats.module()?,
            name: name.to_owned(),
            statement: calling(who),
            clock: Stopwatch::start(),
        };
        emit(|| ModuleStart {
            source_database_id: u64::from(reported.of.database),
            object_id: i64::from(reported.of.object),
            object_type: ObjectType::of(reported.of.kind),
            object_name: reported.name.clone(),
            statement: reported.statement.clone(),
        });
        Some(reported)
    }

    pub fn ends(self, row_count: u64) {
        let (_, duration) = self.clock.micros();
        emit(|| ModuleEnd {
            source_database_id: u64::from(self.of.database),
            object_id: i64::from(self.of.object),
            object_type: ObjectType::of(self.of.kind),
            duration,
            row_count,
            object_name: self.name,
            statement: self.statement,
        });
    }
}

/// Whether a step is a statement with events; steps that only lead on have none.
pub(crate) fn is_reported(step: &Step) -> bool {
    matches!(
        step.op,
        Op::Run(_) | Op::Assign { .. } | Op::Return(Some(_))
    )
}

/// A statement between its two events.
pub(crate) struct ReportedStatement<'p> {
    program: &'p Program,
    at: usize,
    /// The module that it is of.
    module: Option<String>,
    nest_level: u64,
    clock: Stopwatch,
}

impl<'p> ReportedStatement<'p> {
    pub fn begins(
        program: &'p Program,
        at: usize,
        module: Option<String>,
        nest_level: u32,
    ) -> ReportedStatement<'p> {
        let reported = ReportedStatement {
            program,
            at,
            module,
            nest_level: u64::from(nest_level),
            clock: Stopwatch::start(),
        };
        let (offset, offset_end) = reported.place();
        match &reported.module {
            None => emit(|| SqlStatementStarting {
                line_number: reported.line(),
                offset,
                offset_end,
                statement: reported.statement(),
            }),
            Some(name) => emit(|| SpStatementStarting {
                nest_level: reported.nest_level,
                line_number: reported.line(),
                offset,
                offset_end,
                object_name: name.clone(),
                statement: reported.statement(),
            }),
        }
        reported
    }

    fn line(&self) -> u64 {
        u64::from(self.program.steps[self.at].line)
    }

    fn place(&self) -> (u64, u64) {
        let (from, to) = self.program.steps[self.at].span;
        let text = &self.program.text;
        (offset(text, from) as u64, offset(text, to) as u64)
    }

    fn statement(&self) -> String {
        let (from, to) = self.program.steps[self.at].span;
        self.program.shown_part((from, to)).into_owned()
    }

    pub fn ends(self, row_count: u64) {
        let (cpu_time, duration) = self.clock.micros();
        let work = self.clock.work();
        let of = self.program.stats.module();
        let (offset, offset_end) = self.place();
        match &self.module {
            None => emit(|| SqlStatementCompleted {
                duration,
                cpu_time,
                physical_reads: work.physical_reads,
                logical_reads: work.logical_reads,
                writes: work.logical_writes,
                spills: work.spilled,
                row_count,
                last_row_count: row_count,
                line_number: self.line(),
                offset,
                offset_end,
                statement: self.statement(),
                parameterized_plan_handle: Vec::new(),
            }),
            Some(object_name) => emit(|| SpStatementCompleted {
                source_database_id: of.map_or(0, |m| u64::from(m.database)),
                object_id: of.map_or(0, |m| i64::from(m.object)),
                object_type: ObjectType::of(of.map_or([0; 2], |m| m.kind)),
                duration,
                cpu_time,
                physical_reads: work.physical_reads,
                logical_reads: work.logical_reads,
                writes: work.logical_writes,
                row_count,
                last_row_count: row_count,
                nest_level: self.nest_level,
                line_number: self.line(),
                offset,
                offset_end,
                object_name: object_name.clone(),
                statement: self.statement(),
            }),
        }
    }
}

impl Run<'_> {
    /// The program is a module's, and begins: its end is told with what this says.
    pub(super) fn module_begins(&self) -> Option<ReportedModule> {
        let name = self.place.procedure.as_deref().unwrap_or_default();
        ReportedModule::begins(self.program, name, &self.session.activity)
    }

    /// A statement is bound anew.
    pub(super) fn report_recompile(&self, at: usize, recompile_cause: RecompileCause) {
        count(Counter::SqlRecompilations, 1);
        let program = self.program;
        let step = &program.steps[at];
        if !is_reported(step) {
            return;
        }
        emit(|| {
            let of = program.stats.module();
            let (from, to) = step.span;
            SqlStatementRecompile {
                recompile_cause,
                source_database_id: of.map_or(0, |m| u64::from(m.database)),
                object_id: of.map_or(0, |m| i64::from(m.object)),
                object_type: ObjectType::of(of.map_or([0; 2], |m| m.kind)),
                offset: offset(&program.text, from) as u64,
                offset_end: offset(&program.text, to) as u64,
                nest_level: u64::from(self.session.state.nesting),
                line_number: u64::from(step.line),
                object_name: self.place.procedure.clone().unwrap_or_default(),
                statement: program.shown_part((from, to)).into_owned(),
            }
        });
    }

    /// A step between the events of its statement.
    pub(super) fn run_reported(&mut self, at: usize) -> RunResult<Next> {
        let program = self.program;
        if !is_reported(&program.steps[at]) {
            return self.measured_or_not(at);
        }
        let module = self.place.procedure.clone();
        let reported = ReportedStatement::begins(program, at, module, self.session.state.nesting);
        let next = self.measured_or_not(at);
        reported.ends(match &next {
            Ok(_) => self.session.state.rowcount,
            Err(_) => 0,
        });
        next
    }
}
