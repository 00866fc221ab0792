//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION.

use duramen_base::{SqlError, messages};
use duramen_tsql::ast;

use super::failure::RunResult;
use super::{Run, command};

impl Run<'_> {
    pub(super) fn begin(
        &mut self,
        at: usize,
        name: Option<&ast::TranName>,
        mark: Option<&Option<String>>,
    ) -> RunResult<()> {
        let name = self.transaction_name(name)?;
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

    pub(super) fn commit(&mut self, delayed_durability: Option<bool>) -> RunResult<()> {
        self.session
            .commit_transaction(delayed_durability, self.sink)?;
        self.done(None, command::COMMIT, false);
        Ok(())
    }

    pub(super) fn roll_back(&mut self, name: Option<&ast::TranName>) -> RunResult<()> {
        let name = self.transaction_name(name)?;
        self.session
            .rollback_transaction(name.as_deref(), self.sink)?;
        self.done(None, command::ROLLBACK, false);
        Ok(())
    }

    pub(super) fn save(&mut self, name: &ast::TranName) -> RunResult<()> {
        let name = self.transaction_name(Some(name))?.unwrap_or_default();
        self.session.save_transaction(&name)?;
        self.done(None, command::OTHER, false);
        Ok(())
    }

    /// A name given as such or in a variable.
    fn transaction_name(&self, name: Option<&ast::TranName>) -> RunResult<Option<String>> {
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
