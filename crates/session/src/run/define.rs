//! Statements that define: one step of the open transaction, or a transaction of their own.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::TxnKind;

use super::Run;
use crate::database_ddl::Admin;
use crate::ddl::Ddl;
use crate::outcome;

impl Run<'_> {
    /// 226: statements that cannot be part of a transaction.
    pub(super) fn outside_transaction(&self, name: &str) -> SqlResult<()> {
        match self.session.in_transaction() {
            true => Err(SqlError::new(
                &messages::NOT_IN_MULTI_STATEMENT_TRANSACTION,
                &[&name],
            )),
            false => Ok(()),
        }
    }

    /// 3930: a doomed transaction takes no changes.
    pub(super) fn writable(&self) -> SqlResult<()> {
        match &self.session.transaction {
            Some(t) if t.is_doomed() => Err(SqlError::new(&messages::TRANSACTION_DOOMED, &[])),
            _ => Ok(()),
        }
    }

    /// CREATE, ALTER or DROP DATABASE. What they tell besides their result goes out first; inside TRY only the last
    /// error of several counts.
    pub(super) fn administer(
        &mut self,
        at: usize,
        work: impl FnOnce(&mut Admin<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut admin = Admin::new(self.session, self.cancel);
        let result = work(&mut admin);
        for note in std::mem::take(&mut admin.notes) {
            if note.severity <= 10 {
                self.say(&note, at);
            } else if self.tries.is_empty() {
                let line = self.program.steps[at].line as i32;
                outcome::report(self.sink, &note.at_line(line));
            }
        }
        result
    }

    /// A definition, as a statement of the open transaction or of its own.
    pub(super) fn define(
        &mut self,
        command: u16,
        name: &str,
        work: impl FnOnce(&Ddl<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let database = self.session.database.clone();
        self.define_in(&database, command, name, work)
    }

    /// A definition in a database that need not be the current one.
    pub(super) fn define_in(
        &mut self,
        database: &str,
        command: u16,
        name: &str,
        work: impl FnOnce(&Ddl<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let instance = self.session.instance.clone();
        let Some(db) = instance.databases.find(database) else {
            let error = SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&database]);
            return Err(error);
        };
        self.writable()?;
        if db.is_read_only() {
            let name = &db.db.name;
            return Err(SqlError::new(&messages::DATABASE_READ_ONLY, &[name]));
        }
        self.begin_implicitly()?;
        let transaction = self.statement_transaction(name);
        let point = transaction.statement_point(instance.locks.mark(&self.session.owner));
        let result = work(&Ddl {
            db: &db,
            tx: &transaction,
            text: &self.program.text,
        });
        if result.is_err() {
            if transaction.kind != TxnKind::Autocommit {
                instance.rollback(&transaction, Some(&point))?;
            }
        } else if transaction.kind != TxnKind::Autocommit {
            self.session.defined = true;
        }
        self.end_statement(transaction, result.is_ok())?;
        if result.is_err() {
            db.catalog.invalidate();
        }
        result?;
        self.done(None, command, false);
        Ok(())
    }
}
