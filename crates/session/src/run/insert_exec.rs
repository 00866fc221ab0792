//! INSERT ... EXECUTE: what a procedure or string would send to the client goes into a table.

use duramen_base::{SqlError, SqlResult};
use duramen_query::{OutColumn, Row, dml};
use duramen_tsql::ast;
use duramen_types::Value;

use super::{Next, Run, command};
use crate::sink::{ColumnMeta, Done, EnvChange, ResultSink};

/// Keeps result sets, and passes everything else on.
struct Capture<'a> {
    inner: &'a mut dyn ResultSink,
    sets: Vec<(Vec<OutColumn>, Vec<Row>)>,
}

impl ResultSink for Capture<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        let columns = columns.iter().map(|c| OutColumn {
            name: c.name.clone(),
            ty: c.ty,
            nullable: c.nullable,
            identity: false,
            updatable: false,
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
    /// The rows of every result set are inserted by one statement, after the call has ended.
    pub(super) fn insert_exec(
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
            bound: vec![None; self.program.steps.len()],
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
