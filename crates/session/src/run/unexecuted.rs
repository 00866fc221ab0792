//! SET NOEXEC: the steps of a program one after the other, whatever their conditions would say. Each is compiled, so that
//! its errors are told; the first of them ends the batch, as an error of compilation does. What names a missing object is
//! left to the execution that does not come (docs: SET NOEXEC, Deferred name resolution and compilation).

use duramen_base::messages;
use duramen_program::outcome;
use duramen_program::program::Op;
use duramen_tsql::ast::{self, StatementKind};

use super::failure::RunResult;
use super::{Ended, Next, Run, command};

impl Run<'_> {
    /// A step that is not run. What ends this state is.
    pub(super) fn unexecuted(&mut self, at: usize) -> RunResult<Next> {
        let program = self.program;
        match &program.steps[at].op {
            Op::Run(StatementKind::SetOption(option)) if ends(option) => {
                self.set_option(at, option)?;
                Ok(Next::Step)
            }
            // Blocks are entered and left as ever: execution may begin again inside.
            Op::EnterTry { catch } => {
                self.tries.push((*catch, self.session.state.caught.len()));
                Ok(Next::Step)
            }
            Op::LeaveTry { after } => {
                self.tries.pop();
                Ok(Next::To(*after))
            }
            _ => Ok(self.compiled_alone(at)),
        }
    }

    fn compiled_alone(&mut self, at: usize) -> Next {
        let line = self.program.steps[at].line as i32;
        match self.compiled(at) {
            Ok(_) => Next::Step,
            Err(f) if f.error.number == messages::INVALID_OBJECT_NAME.number => Next::Step,
            Err(f) => {
                let error = f.error.at_line(line);
                self.session.state.error = error.number;
                outcome::report(self.sink, &error);
                self.done(None, command::OTHER, true);
                Next::End(Ended::Stopped)
            }
        }
    }
}

/// Whether the option says that statements are run again.
fn ends(option: &ast::SetOption) -> bool {
    match option {
        ast::SetOption::OnOff { names, .. } => names.iter().any(|n| n == "NOEXEC"),
        _ => false,
    }
}
