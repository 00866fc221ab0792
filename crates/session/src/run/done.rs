//! How statements and batches tell that they have ended: DONE tokens, with the rows counted and the command's number.

use duramen_base::{SqlError, messages};
use duramen_program::outcome;
use duramen_program::sink::{Done, Scope};
use duramen_program::statements::command;

use super::Run;

impl Run<'_> {
    /// An error that no statement of a program raised.
    pub(crate) fn report_error(&mut self, error: &SqlError) {
        self.session.state.error = error.number;
        outcome::report(self.sink, error);
        self.done(None, command::EXECUTE, true);
    }

    /// As the end of a batch, but the edge tells of a call's end itself.
    pub(crate) fn end_of_call(&mut self) {
        self.reported = true;
        self.end_of_batch();
    }

    pub(super) fn end_of_batch(&mut self) {
        self.session.instance.admission.leave(self.session.spid);
        if self
            .session
            .transaction
            .as_ref()
            .is_some_and(|t| t.is_doomed())
        {
            let error = SqlError::new(&messages::UNCOMMITTABLE_AT_BATCH_END, &[]).at_line(1);
            let rolled = self.session.rollback_transaction(None, self.sink);
            outcome::report(self.sink, &rolled.err().unwrap_or(error));
            self.done(None, 0, true);
        } else if !self.reported {
            self.done(None, 0, false);
        }
        debug_assert!(
            self.session
                .transaction
                .as_ref()
                .is_none_or(|t| !t.is_doomed()),
            "a batch ends and leaves a doomed transaction"
        );
        debug_assert!(
            self.session.state.nesting == 0 || self.session.state.insert_exec.is_some(),
            "a batch ends inside a procedure"
        );
        debug_assert!(
            self.session.state.triggers.is_empty(),
            "trigger/2: a batch ends and a trigger's rows stay"
        );
        self.session.drop_temporaries(u32::MAX);
    }

    pub(super) fn done(&mut self, rows: Option<u64>, command: u16, error: bool) {
        let scope = match self.session.state.nesting {
            0 => Scope::Batch,
            _ => Scope::Inside,
        };
        self.done_in(scope, rows, command, error);
    }

    /// The end of an EXECUTE: inside a procedure it is a statement like others.
    pub(super) fn done_call(&mut self, status: Option<i32>) {
        let scope = match self.session.state.nesting {
            0 => Scope::Call(status),
            _ => Scope::Inside,
        };
        self.done_in(scope, None, command::EXECUTE, false);
    }

    pub(super) fn done_in(&mut self, scope: Scope, rows: Option<u64>, command: u16, error: bool) {
        self.report_forgiven();
        self.reported = true;
        self.heading = None;
        let quiet = self.session.options.nocount;
        self.sink.done(&Done {
            scope,
            quiet,
            rows: rows.filter(|_| !quiet),
            command,
            error,
            in_transaction: self.session.in_transaction(),
        });
    }

    /// The command of the DONE token of a statement that was not run, or not to its end.
    pub(super) fn command_of(&self, at: usize) -> u16 {
        match self.program.steps[at].kind {
            Some(kind) if kind.row().counts_rows() => kind.row().done,
            _ => command::OTHER,
        }
    }
}
