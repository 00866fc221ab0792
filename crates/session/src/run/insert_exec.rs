//! INSERT ... EXECUTE: what a procedure or string would send to the client goes into a table.
//!
//! All of it is one statement: what the procedure changes is undone with the INSERT when that fails. Inside, the
//! transaction around it can be neither committed nor rolled back (3916, 3915), and there is no second one (8164).

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::{OutColumn, Row, dml};
use duramen_tsql::ast;
use duramen_txn::TxnKind;
use duramen_types::Value;

use super::checked::Early;
use super::{Next, Plans, Run, command};
use crate::sink::{ColumnMeta, Done, EnvChange, ResultSink};

/// Keeps result sets, and passes everything else on.
struct Capture<'a> {
    inner: &'a mut dyn ResultSink,
    sets: Vec<(Vec<OutColumn>, Vec<Row>)>,
}

impl ResultSink for Capture<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        let columns = columns.iter().map(|c| OutColumn {
            name: c.name.as_str().into(),
            ..OutColumn::unnamed(c.ty, c.nullable)
        });
        self.sets.push((columns.collect(), Vec::new()));
    }

    fn row(&mut self, values: &[Value]) {
        if let Some((_, rows)) = self.sets.last_mut() {
            rows.push(values.to_vec());
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
        self.inner.cancelled()
    }
}

impl Run<'_> {
    /// The call and the insert in one transaction, which is this statement's own if none is open.
    pub(super) fn insert_exec(
        &mut self,
        at: usize,
        stmt: &ast::InsertStmt,
        exec: &ast::ExecStmt,
    ) -> SqlResult<Next> {
        if self.session.state.insert_exec.is_some() {
            return Err(SqlError::new(&messages::INSERT_EXEC_NESTED, &[]));
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

    /// The rows of every result set are inserted by one statement, after the call has ended.
    fn called_and_inserted(
        &mut self,
        at: usize,
        stmt: &ast::InsertStmt,
        exec: &ast::ExecStmt,
    ) -> SqlResult<Next> {
        let mut capture = Capture {
            inner: &mut *self.sink,
            sets: Vec::new(),
        };
        let mut run = Run {
            session: &mut *self.session,
            program: self.program,
            sink: &mut capture,
            cancel: self.cancel,
            vars: std::mem::take(&mut self.vars),
            bound: Plans::none(self.program.steps.len()),
            early: Early::default(),
            unbound: false,
            tables: self.tables.clone(),
            tries: self.tries.clone(),
            worst: 0,
            set_error: 0,
            place: self.place.clone(),
            before: Vec::new(),
            stopped: false,
            from_inside: false,
            thrown: false,
            line: 0,
            reported: true,
            clock: None,
            profile: None,
            rebound: false,
        };
        let next = run.exec(at, exec);
        let (vars, from_inside) = (std::mem::take(&mut run.vars), run.from_inside);
        let sets = capture.sets;
        self.vars = vars;
        self.from_inside = from_inside;
        match next? {
            Next::Step => {}
            other => return Ok(other),
        }
        self.bound[at] = None;
        self.change(at, command::INSERT, "INSERT", |h| {
            dml::insert_rows(h, stmt, sets.clone())
        })?;
        self.bound[at] = None;
        Ok(Next::Step)
    }
}
