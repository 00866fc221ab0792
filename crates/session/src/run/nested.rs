//! Programs within programs: what a string or procedure sees of its caller, and what the caller gets back.
//!
//! Inside, SET options, the database and local temporary tables last until the end; variables are the inside's own.

use std::cell::Cell;
use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_planner::memory::MemoryTable;
use duramen_program::program::Program;
use duramen_program::sink::EnvChange;
use duramen_types::Value;

use super::checked::Early;
use super::failure::RunResult;
use super::{Ended, Place, Plans, Run, made_tables};

/// How deep procedures, strings, functions and triggers may be within each other.
const MAX_NESTING: u32 = 32;

/// What comes back from a program inside.
pub(super) struct Inner {
    pub ended: Ended,
    pub vars: Vec<Value>,
    pub bound: Plans,
    /// A step has been bound: what is in `bound` is more or newer than what was. The bytes that binding has taken.
    pub rebound: Option<i64>,
}

impl Run<'_> {
    /// Runs a program within this one, in the database given. `procedure` is its name in messages.
    pub(super) fn nested(
        &mut self,
        program: &Arc<Program>,
        bound: Plans,
        inputs: (Vec<Value>, Vec<Arc<MemoryTable>>),
        place: (Option<String>, Option<String>),
    ) -> RunResult<Inner> {
        let count = self.session.trancount();
        let procedure = place.0.clone();
        let mut inner = self.inside(program, bound, inputs, place)?;
        inner.ended = self.counted(count, procedure, inner.ended);
        Ok(inner)
    }

    /// The same without counting transactions: triggers may end the one they run in.
    #[expect(
        clippy::too_many_lines,
        reason = "what a program within another gets, gives back and leaves, in their order"
    )]
    pub(super) fn inside(
        &mut self,
        program: &Arc<Program>,
        bound: Plans,
        (mut vars, given): (Vec<Value>, Vec<Arc<MemoryTable>>),
        (procedure, database): (Option<String>, Option<String>),
    ) -> RunResult<Inner> {
        if self.session.state.nesting >= MAX_NESTING {
            let limit: [&dyn std::fmt::Display; 1] = [&MAX_NESTING];
            return Err(SqlError::new(&messages::NESTING_LEVEL_EXCEEDED, &limit).into());
        }
        vars.resize(program.variables.len(), Value::Null);
        let mut tables = made_tables(program);
        for (own, given) in tables.iter_mut().zip(given) {
            *own = given;
        }
        let options = self.session.options.clone();
        let identity_insert = self.session.state.identity_insert.clone();
        let options_set = self.session.state.options_set;
        let home = self.session.activity.database();
        self.session.go_within(database.as_deref())?;
        // Procedures of the system open nothing of a database.
        let own = program.stats.module().is_none_or(|m| m.object > 0);
        let chained = database.clone().filter(|_| own && procedure.is_some());
        self.session.state.chain.push(chained);
        let start = self.session.activity.database();
        let instance = &self.session.instance;
        let level = match own {
            true if start == home => self.session.options.level,
            true => instance.databases.language_of(&self.session.database).0,
            // Those of the system are written in the language of today.
            false => 160,
        };
        self.session.options.level = level;
        let scope_identity = self.session.state.scope_identity.take();
        self.session.state.nesting += 1;
        let run_level = self.session.state.nesting;
        debug_assert!(
            run_level <= MAX_NESTING,
            "programs are nested deeper than is let"
        );
        debug_assert!(
            vars.len() >= program.variables.len(),
            "a program has fewer variables than it declares"
        );
        let mut run = Run {
            session: &mut *self.session,
            program,
            sink: &mut *self.sink,
            cancel: self.cancel,
            held: vars.iter().map(Value::heap_bytes).sum(),
            vars,
            bound,
            early: Early::default(),
            tables,
            tries: Vec::new(),
            worst: 0,
            set_error: 0,
            place: Place {
                procedure,
                caught_outside: self.place.caught_outside || !self.tries.is_empty(),
            },
            line: 0,
            reported: false,
            clock: None,
            profile: None,
            loaded: None,
            values: None,
            rebound: false,
            binding: Cell::new(0),
            heading: None,
        };
        let ended = match run.execute() {
            // Errors that it has told make the status of a procedure that gives none: 10 less the worst severity.
            Ended::Done(None) if run.worst > 10 => Ended::Done(Some(10 - i32::from(run.worst))),
            other => other,
        };
        let rebound = run.rebound();
        let (vars, bound) = (run.vars, run.bound);
        debug_assert!(
            run_level == self.session.state.nesting,
            "a program inside has left the level it was called at"
        );
        let chained = self.session.state.chain.pop();
        debug_assert!(
            chained.is_some(),
            "the chain of owners is shorter than the calls"
        );
        self.session.state.scope_identity = scope_identity;
        let level = self.session.state.nesting;
        self.session.drop_temporaries(level);
        self.session.state.nesting = level - 1;
        let before = self.session.database.to_string();
        let moved = self.session.activity.database() != start;
        self.session.come_home();
        if moved {
            let new = self.session.database.to_string();
            self.sink
                .env_change(&EnvChange::Database { old: before, new });
        }
        if let Some(t) = &self.session.transaction
            && options.isolation != self.session.options.isolation
        {
            t.set_isolation(options.isolation);
        }
        self.session.options = options;
        self.session.state.identity_insert = identity_insert;
        if self.session.state.options_set != options_set {
            self.session.activity.note_options(&self.session.options);
        }
        Ok(Inner {
            ended,
            vars,
            bound,
            rebound,
        })
    }

    /// 266: the inside began or ended transactions that it did not end or begin.
    fn counted(&mut self, before: u32, procedure: Option<String>, ended: Ended) -> Ended {
        let after = self.session.trancount();
        // One that IMPLICIT_TRANSACTIONS has begun is nobody's BEGIN.
        let open = self.session.transaction.as_ref().map(|t| t.id);
        let implicit = open.is_some() && open == self.session.state.implicit;
        let own = after - u32::from(before == 0 && implicit);
        if before == own || !matches!(ended, Ended::Done(_)) {
            return ended;
        }
        let message = &messages::TRANSACTION_COUNT_MISMATCH;
        let mut error = SqlError::new(message, &[&before, &after]).with_state(2);
        error.procedure = procedure;
        if self.place.caught_outside || !self.tries.is_empty() {
            return Ended::Thrown(error);
        }
        self.session.state.error = error.number;
        if error.procedure.is_none() {
            error.line = 1;
        }
        duramen_program::outcome::report(self.sink, &error);
        ended
    }
}
