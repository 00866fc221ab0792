//! Where a batch's results go. The session pushes; the edge turns calls into tokens (or a test into text).

use duramen_base::SqlError;
use duramen_types::{SqlType, Value};

/// One column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    /// Empty for an expression without a name.
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: bool,
    /// False for expressions and computed columns.
    pub updatable: bool,
}

/// Whose end a [`Done`] tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// A statement of the client's batch.
    #[default]
    Batch,
    /// A statement inside a procedure, or inside a string that EXECUTE runs.
    Inside,
    /// An EXECUTE of the client's batch, after everything inside; with the return status, if a procedure gave one.
    Call(Option<i32>),
}

/// The end of one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub scope: Scope,
    /// NOCOUNT is on: nothing is told of a statement inside a procedure, unless it has sent a result set or an error.
    pub quiet: bool,
    /// Rows returned or affected; `None` when the statement counts none or NOCOUNT is on.
    pub rows: Option<u64>,
    /// The current-command number of a DONE token (193 SELECT, 195 INSERT, 196 DELETE, 197 UPDATE...).
    pub command: u16,
    pub error: bool,
    /// A transaction is open after the statement.
    pub in_transaction: bool,
}

/// What changed in the session's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChange {
    Database { old: String, new: String },
    Language { old: String, new: String },
    BeginTran { descriptor: u64 },
    CommitTran { descriptor: u64 },
    RollbackTran { descriptor: u64 },
}

/// Receives results in order. `columns` opens a result set, `done` ends a statement.
///
/// The final `done` of a batch is the edge's own: it knows that no call follows.
pub trait ResultSink {
    fn columns(&mut self, columns: &[ColumnMeta]);
    fn row(&mut self, values: &[Value]);
    fn done(&mut self, done: &Done);
    fn error(&mut self, error: &SqlError);
    /// A message of severity 10 or less: PRINT, `Changed database context`...
    fn info(&mut self, message: &SqlError);
    fn env_change(&mut self, change: &EnvChange);
    /// Send what is there: RAISERROR WITH NOWAIT, or before a long wait.
    fn flush_hint(&mut self) {}
    /// The client is gone or cancelled: producing more rows is useless.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Name, type, nullable.
pub type Columns = &'static [(&'static str, SqlType, bool)];
