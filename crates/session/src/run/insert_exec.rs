//! INSERT ... EXECUTE: what a procedure or string would send to the client goes into a table.
//!
//! All of it is one statement: what the procedure changes is undone with the INSERT when that fails. Inside, the
//! transaction around it can be neither committed nor rolled back (3916, 3915), and there is no second one (8164).

use std::cell::Cell;
use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_events::instance::Instance;
use duramen_planner::{Capture, Captured, dml};
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_program::statements::Kind;
use duramen_query::OutColumn;
use duramen_query::host::{Host, Source, TableColumn};
use duramen_tsql::ast;
use duramen_txn::TxnKind;
use duramen_types::Value;

use super::checked::Early;
use super::failure::RunResult;
use super::{Next, Plans, Run};

/// Keeps result sets, and passes everything else on.
struct Taking<'a> {
    inner: &'a mut dyn ResultSink,
    instance: Arc<Instance>,
    sets: Vec<Capture>,
    /// Why a row could not be kept: nobody wants more of them.
    failed: Option<SqlError>,
}

impl ResultSink for Taking<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        let columns = columns.iter().map(|c| OutColumn {
            name: c.name.as_str().into(),
            ..OutColumn::unnamed(c.ty, c.nullable)
        });
        let engine = self.instance.databases.engine.clone();
        self.sets.push(Capture::new(
            columns.collect(),
            self.instance.workspace.clone(),
            Box::new(move || engine.spill_file()),
        ));
    }

    fn row(&mut self, values: &[Value]) {
        if self.failed.is_none()
            && let Some(set) = self.sets.last_mut()
        {
            self.failed = set.put(values).err();
        }
    }

    fn done(&mut self, _done: &Done) {}

    fn error(&mut self, error: &SqlError) {
        self.inner.error(error);
    }

    fn info(&mut self, message: &SqlError) {
        self.inner.info(message);
    }

    fn env_change(&mut self, change: &EnvChange) {
        self.inner.env_change(change);
    }

    fn flush_hint(&mut self) {}

    fn cancelled(&self) -> bool {
        self.failed.is_some() || self.inner.cancelled()
    }
}

impl Run<'_> {
    /// The call and the insert in one transaction, which is this statement's own if none is open.
    pub(super) fn insert_exec(
        &mut self,
        at: usize,
        stmt: &ast::InsertStmt,
        exec: &ast::ExecStmt,
    ) -> RunResult<Next> {
        if self.session.state.insert_exec.is_some() {
            return Err(SqlError::new(&messages::INSERT_EXEC_NESTED, &[]).into());
        }
        self.writable()?;
        self.begin_implicitly()?;
        let own = self.session.transaction.is_none();
        if own {
            let t = self
                .session
                .new_transaction(TxnKind::Explicit, "INSERT EXEC");
            self.session.activity.note_transaction(Some(&t));
            self.session.transaction = Some(t);
        }
        let open = self.session.transaction.clone();
        let mark = self.session.instance.locks.mark(&self.session.owner);
        let point = open.as_ref().map(|t| t.statement_point(mark));
        self.session.state.insert_exec = Some(self.session.trancount());
        let result = self.called_and_inserted(at, stmt, exec);
        self.session.state.insert_exec = None;
        // An error inside may have rolled the transaction back already.
        let still = self.session.transaction.clone();
        let Some(t) = still.filter(|t| open.as_ref().is_some_and(|o| o.id == t.id)) else {
            return result;
        };
        let done = matches!(result, Ok(Next::Step));
        if own {
            self.session.transaction = None;
            self.session.activity.note_transaction(None);
            match done {
                true => self.session.finish(&t, None)?,
                false => {
                    self.session.instance.rollback(&t, None)?;
                }
            }
        } else if !done && !t.is_doomed() {
            self.session.instance.rollback(&t, point.as_ref())?;
        }
        result
    }

    /// What the table that takes the rows is: its columns must be the same when the rows are there.
    fn shape_of(&mut self, target: &ast::Target) -> RunResult<Option<Vec<TableColumn>>> {
        let ast::TargetKind::Table(name) = &target.kind else {
            return Ok(None);
        };
        Ok(match self.ask_host(|h| h.target(name))? {
            Some(Source::Table(table)) => Some(table.columns().to_vec()),
            _ => None,
        })
    }

    /// The rows of every result set are inserted by one statement, after the call has ended.
    fn called_and_inserted(
        &mut self,
        at: usize,
        stmt: &ast::InsertStmt,
        exec: &ast::ExecStmt,
    ) -> RunResult<Next> {
        let target = self.shape_of(&stmt.target)?;
        let mut taking = Taking {
            instance: self.session.instance.clone(),
            inner: &mut *self.sink,
            sets: Vec::new(),
            failed: None,
        };
        let mut run = Run {
            session: &mut *self.session,
            program: self.program,
            sink: &mut taking,
            cancel: self.cancel,
            vars: std::mem::take(&mut self.vars),
            held: self.held,
            bound: Plans::none(self.program.steps.len()),
            early: Early::default(),
            tables: self.tables.clone(),
            tries: self.tries.clone(),
            worst: 0,
            set_error: 0,
            place: self.place.clone(),
            line: 0,
            reported: true,
            clock: None,
            profile: None,
            loaded: None,
            values: None,
            rebound: false,
            binding: Cell::new(0),
            heading: None,
        };
        let next = run.exec(at, exec);
        let (vars, held) = (std::mem::take(&mut run.vars), run.held);
        let Taking { sets, failed, .. } = taking;
        (self.vars, self.held) = (vars, held);
        if let Some(e) = failed {
            return Err(e.into());
        }
        match next? {
            Next::Step => {}
            other => return Ok(other),
        }
        if self.shape_of(&stmt.target)? != target {
            return Err(SqlError::new(&messages::INSERT_EXEC_SCHEMA_CHANGED, &[]).into());
        }
        let sets: Vec<Captured> = sets.into_iter().map(Capture::finish).collect();
        self.bound[at] = None;
        self.change(at, Kind::Insert, |h| dml::insert_rows(h, stmt, &sets))?;
        self.bound[at] = None;
        Ok(Next::Step)
    }
}
