//! Errors of a run's steps: what each ends, who is told, and where to go on.

use duramen_base::{SqlError, messages};
use duramen_program::outcome::{self, Reach};
use duramen_program::program::Op;
use duramen_tsql::ast::StatementKind;

use super::failure::{Failure, Origin};
use super::{Ended, Next, Run, checked};

impl Run<'_> {
    /// An error at a step: what it ends, and where to go on.
    pub(super) fn failed(&mut self, at: usize, failure: Failure) -> Next {
        let Failure {
            error,
            before,
            origin,
        } = failure;
        if origin == Origin::Trigger {
            return Next::End(Ended::Stopped);
        }
        let (inside, thrown) = (origin == Origin::Inside, origin == Origin::Throw);
        let line = self.program.steps[at].line as i32;
        let error = self.program.guarded(error);
        // Binding that was put off until now ends what it would have ended before the first statement.
        let unbound = origin == Origin::Binding && !checked::is_deferred(&error);
        // An error of a call itself has line 0 of the procedure.
        let mut error = match inside && error.procedure.is_some() {
            true => error,
            false => error.at_line(line),
        };
        if !inside && error.procedure.is_none() {
            error.procedure = self.place.procedure.clone();
        }
        if error.number == 0 && self.cancel.is_set() {
            self.session.state.given_up = true;
            return Next::End(Ended::Stopped);
        }
        self.session.state.error = error.number;
        self.session.state.rowcount = 0;
        let defined = matches!(
            self.program.steps[at].op,
            Op::Run(StatementKind::AlterTable(_))
        );
        let reach = match outcome::reach(&error, self.session.options.xact_abort) {
            Reach::Statement if thrown && self.session.options.xact_abort => {
                Reach::BatchAndTransaction
            }
            // ANSI_WARNINGS OFF with ARITHABORT ON: an error of arithmetic ends the batch.
            Reach::Statement
                if !self.session.options.ansi_warnings
                    && duramen_types::lenient::is_arithmetic(&error) =>
            {
                Reach::BatchAndTransaction
            }
            // Rows that a new constraint does not hold for: unlike a change of rows, ALTER TABLE ends the batch.
            Reach::Statement if defined && error.number == messages::CONSTRAINT_CONFLICT.number => {
                Reach::BatchAndTransaction
            }
            Reach::Statement if unbound && self.session.options.xact_abort => {
                Reach::BatchAndTransaction
            }
            Reach::Statement if unbound => Reach::Batch,
            reach => reach,
        };
        if outcome::catchable(&error, inside)
            && !unbound
            && let Some((catch, caught)) = self.tries.pop()
        {
            self.end_heading(at);
            // An error within a CATCH block ends the handling of the one before.
            self.session.state.caught.truncate(caught);
            if reach == Reach::BatchAndTransaction
                && let Some(t) = &self.session.transaction
            {
                t.doom();
            }
            self.session.state.caught.push(error);
            return Next::To(catch);
        }
        if self.place.caught_outside && outcome::catchable(&error, true) {
            self.end_heading(at);
            return Next::End(Ended::Thrown(error));
        }
        let fatal = messages::PROCESS_RAISED_FATAL.number;
        let raised_fatal = before.iter().any(|e| e.number == fatal);
        for mut first in before {
            first.procedure = error.procedure.clone();
            first.quotes_secret = error.quotes_secret;
            outcome::report(self.sink, &first.at_line(line));
        }
        outcome::report(self.sink, &error);
        if raised_fatal {
            outcome::report(self.sink, &SqlError::new(&messages::SESSION_KILLED, &[]));
        }
        self.worst = self.worst.max(error.severity);
        if reach == Reach::BatchAndTransaction || reach == Reach::Connection {
            if let Err(e) = self.session.rollback_and_report(self.sink) {
                outcome::report(self.sink, &e);
            }
        } else if outcome::says_terminated(&error, reach) && self.writes(at) {
            self.sink.info(
                &SqlError::new(&messages::STATEMENT_TERMINATED, &[])
                    .with_state(0)
                    .at_line(line),
            );
        }
        self.done(None, self.command_of(at), true);
        match reach {
            Reach::Statement if thrown => Next::End(Ended::Stopped),
            Reach::Statement => Next::To(at + 1),
            Reach::Batch => Next::End(Ended::Done(None)),
            Reach::BatchAndTransaction | Reach::Connection => Next::End(Ended::Stopped),
        }
    }

    /// A result whose error is caught has begun, and ends before whatever the CATCH block sends.
    fn end_heading(&mut self, at: usize) {
        if let Some(rows) = self.heading.take() {
            self.done(Some(rows), self.command_of(at), false);
        }
    }

    fn writes(&self, at: usize) -> bool {
        let kind = &self.program.steps[at].op;
        matches!(
            kind,
            Op::Run(StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_))
        )
    }
}
