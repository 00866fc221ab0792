//! Statements that define: one step of the open transaction, or a transaction of their own.

use duramen_access::stored;
use duramen_access::temporary::is_temporary;
use duramen_admin::database_ddl::Admin;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::doubt;
use duramen_define::Ddl;
use duramen_planner::Binder;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_program::outcome;
use duramen_program::statements::{Definition, Kind};
use duramen_tsql::ast;
use duramen_txn::TxnKind;
use duramen_types::Value;

use super::Run;
use super::failure::{Failure, RunResult};
use crate::host::HostView;

impl Run<'_> {
    /// 226: statements that cannot be part of a transaction.
    pub(super) fn outside_transaction(&self, name: &str) -> RunResult<()> {
        match self.session.in_transaction() {
            true => {
                Err(SqlError::new(&messages::NOT_IN_MULTI_STATEMENT_TRANSACTION, &[&name]).into())
            }
            false => Ok(()),
        }
    }

    /// 3930: a doomed transaction takes no changes.
    pub(super) fn writable(&self) -> RunResult<()> {
        match &self.session.transaction {
            Some(t) if t.is_doomed() => {
                Err(SqlError::new(&messages::TRANSACTION_DOOMED, &[]).into())
            }
            _ => Ok(()),
        }
    }

    /// CREATE, ALTER or DROP DATABASE. What they tell besides their result goes out first; inside TRY only the last
    /// error of several counts.
    pub(super) fn administer(
        &mut self,
        at: usize,
        work: impl FnOnce(&mut Admin<'_>) -> SqlResult<()>,
    ) -> RunResult<()> {
        let mut admin = Admin::new(self.session.instance.clone(), self.session, self.cancel);
        let result = work(&mut admin);
        for note in std::mem::take(&mut admin.notes) {
            if note.severity <= 10 {
                self.say(&note, at);
            } else if self.tries.is_empty() {
                let line = self.program.steps[at].line as i32;
                outcome::report(self.sink, &note.at_line(line));
            }
        }
        Ok(result?)
    }

    /// A definition, as a statement of the open transaction or of its own.
    pub(super) fn define(
        &mut self,
        definition: Definition,
        work: impl FnOnce(&Ddl<'_>) -> SqlResult<()>,
    ) -> RunResult<()> {
        let database = self.session.database.clone();
        self.define_in(&database, definition, work)
    }

    /// A definition in a database that need not be the current one.
    pub(super) fn define_in(
        &mut self,
        database: &str,
        definition: Definition,
        work: impl FnOnce(&Ddl<'_>) -> SqlResult<()>,
    ) -> RunResult<()> {
        let instance = self.session.instance.clone();
        let Some(db) = instance.databases.find(database) else {
            return Err(instance.databases.not_open(database).into());
        };
        self.writable()?;
        db.check_writable()?;
        self.begin_implicitly()?;
        let transaction = self.statement_transaction(definition.transaction);
        let point = transaction.statement_point(instance.locks.mark(&self.session.owner));
        let shared = self.session.activity.database();
        let host = HostView::new(
            self.session,
            &self.program.variables,
            &self.tables,
            Some(transaction.clone()),
            self.cancel,
        );
        let ddl = Ddl {
            db: &db,
            tx: &transaction,
            text: &self.program.text,
            host: Some(&host),
            notes: Default::default(),
        };
        let work = |ddl: &Ddl<'_>| {
            stored::hold(&db, &transaction, shared)?;
            work(ddl)
        };
        // Where a name may yet mean something else nothing is done: the statement is asked again, when that is known.
        let result = match work(&ddl) {
            _ if doubt::any() => Err(SqlError::new(
                &messages::DEFINITION_CHANGED,
                &[&"of the statement"],
            )),
            result => result,
        };
        let notes = ddl.notes.take();
        drop(host);
        if result.is_err() && transaction.kind != TxnKind::Autocommit {
            instance.rollback(&transaction, Some(&point))?;
        }
        self.end_statement(&transaction, result.is_ok())?;
        let first = match doubt::any() {
            true => Vec::new(),
            false => self.report(notes),
        };
        result.map_err(|e| Box::<Failure>::from(e).after(first))?;
        self.done(None, definition.done, false);
        Ok(())
    }

    /// Messages at once; errors wait for the statement's own.
    fn report(&mut self, notes: Vec<SqlError>) -> Vec<SqlError> {
        let (informational, kept): (Vec<_>, Vec<_>) =
            notes.into_iter().partition(|n| n.severity <= 10);
        for note in informational {
            let line = if note.line == 0 { self.line } else { note.line };
            self.sink.info(&note.at_line(line));
        }
        kept
    }

    /// ALTER TABLE. Defaults that rows get are evaluated once, before.
    pub(super) fn alter_table(&mut self, stmt: &ast::AlterTable) -> RunResult<()> {
        let mut defaults = Vec::new();
        if let ast::AlterTableAction::Add { elements, .. } = &stmt.action {
            for e in elements {
                if let ast::TableElement::Column(c) = e {
                    defaults.push(self.default_of(c)?);
                }
            }
        }
        let mut numbers = (None, None);
        if let ast::AlterTableAction::Switch {
            partition,
            target_partition,
            ..
        } = &stmt.action
        {
            if let Some(e) = partition {
                numbers.0 = Some(self.partition_number(e)?);
            }
            if let Some(e) = target_partition {
                numbers.1 = Some(self.partition_number(e)?);
            }
        }
        let (database, table) = self.session.definition_target(&stmt.table);
        self.columns_not_bound(&database, stmt)?;
        let mut action = stmt.action.clone();
        if let ast::AlterTableAction::Switch { target, .. } = &mut action
            && is_temporary(target)
        {
            *target = self.session.definition_target(target).1;
        }
        let stmt = ast::AlterTable { table, action };
        self.define_in(&database, Kind::AlterTable.definition(), |d| {
            d.alter_table(&stmt, &defaults, numbers)
        })
    }

    /// What rows that are there get in a column that is added: the default's value, for NOT NULL and WITH VALUES.
    fn default_of(&mut self, c: &ast::ColumnDef) -> RunResult<Option<Value>> {
        let (Some(d), Some(ty)) = (&c.default, &c.ty) else {
            return Ok(None);
        };
        if c.nullable != Some(false) && !d.with_values {
            return Ok(None);
        }
        let ty = resolve_type(ty, TypeSite::Column(1, &c.name))?;
        let bound = self.ask_host(|h| Binder::new(h).assigned("", ty, None, &d.expr))?;
        self.evaluate(&bound, |e, cx| e.eval(&[], cx)).map(Some)
    }
}
