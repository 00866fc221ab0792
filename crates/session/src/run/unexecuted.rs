//! SET NOEXEC: the steps of a program one after the other, whatever their conditions would say.

use duramen_base::SqlResult;
use duramen_tsql::ast::{self, StatementKind};

use super::{Next, Run};
use crate::program::Op;

impl Run<'_> {
    /// A step that is not run. What ends this state is.
    pub(super) fn unexecuted(&mut self, at: usize) -> SqlResult<Next> {
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
            _ => Ok(Next::Step),
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
