//! CREATE, ALTER and DROP DATABASE, CHECKPOINT and KILL.

use std::fmt::Display;

use duramen_base::{SqlError, messages};
use duramen_program::statements::Kind;
use duramen_tsql::ast;

use super::failure::RunResult;
use super::{Run, command};

impl Run<'_> {
    pub(super) fn create_database(
        &mut self,
        at: usize,
        stmt: &ast::CreateDatabase,
    ) -> RunResult<()> {
        self.administer(at, |a| a.create(stmt))?;
        self.done(None, Kind::CreateDatabase.row().done, false);
        Ok(())
    }

    pub(super) fn alter_database(&mut self, at: usize, stmt: &ast::AlterDatabase) -> RunResult<()> {
        self.administer(at, |a| a.alter(stmt))?;
        self.done(None, Kind::AlterDatabase.row().done, false);
        Ok(())
    }

    pub(super) fn drop_databases(
        &mut self,
        at: usize,
        if_exists: bool,
        names: &[String],
    ) -> RunResult<()> {
        for name in names {
            self.administer(at, |a| a.drop_database(name, if_exists))?;
        }
        self.done(None, Kind::DropDatabase.row().done, false);
        Ok(())
    }

    pub(super) fn checkpoint(&mut self) -> RunResult<()> {
        let instance = self.session.instance.clone();
        if let Some(d) = instance.databases.find(&self.session.database) {
            d.db.checkpoint_gently()?;
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }

    pub(super) fn kill(&mut self, session: &ast::Expr, status_only: bool) -> RunResult<()> {
        let spid = self.constant(session)?.as_i64().unwrap_or(0);
        if status_only {
            let status = self.session.instance.kill_status(spid)?;
            self.sink.info(&status);
            self.done(None, command::OTHER, false);
            return Ok(());
        }
        if self.session.in_transaction() {
            return Err(SqlError::new(&messages::KILL_IN_TRANSACTION, &[]).into());
        }
        self.session.instance.kill(spid, self.session.spid)?;
        let login = &self.session.login;
        let args: [&dyn Display; 3] = [&spid, &login.host, &login.client_pid];
        let killed = SqlError::new(&messages::PROCESS_KILLED, &args);
        self.session.instance.log_of(self.session, &killed.message);
        self.done(None, command::OTHER, false);
        Ok(())
    }
}
