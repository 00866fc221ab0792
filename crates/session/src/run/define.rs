//! Statements that define: one step of the open transaction, or a transaction of their own.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::TxnKind;

use super::Run;
use crate::ddl::Ddl;

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
