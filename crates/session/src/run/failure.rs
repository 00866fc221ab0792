//! An error on its way to the step that meets it ([`super::failed`]), with what decides its fate.

use duramen_base::{SqlError, SqlResult};

/// Where an error comes from, as far as that says what it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// The statement at hand.
    Statement,
    /// What it means: binding that was put off until its turn.
    Binding,
    /// A scope inside, so that names it could not find can be caught here.
    Inside,
    /// THROW, which ends the batch.
    Throw,
    /// A trigger that it fired has ended the batch, and has said so.
    Trigger,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub error: SqlError,
    /// Errors that the statement has beside this one, which alone can be caught.
    pub before: Vec<SqlError>,
    pub origin: Origin,
}

/// What a run has done, or how it failed.
pub(crate) type RunResult<T> = Result<T, Box<Failure>>;

impl Failure {
    pub fn of(error: SqlError, origin: Origin) -> Box<Failure> {
        Box::new(Failure {
            error,
            before: Vec::new(),
            origin,
        })
    }

    /// With the error itself changed: what names its procedure, its line or its state.
    pub fn map(mut self: Box<Self>, f: impl FnOnce(SqlError) -> SqlError) -> Box<Failure> {
        self.error = f(self.error);
        self
    }

    /// With errors that come before it.
    pub fn after(mut self: Box<Self>, mut first: Vec<SqlError>) -> Box<Failure> {
        first.append(&mut self.before);
        self.before = first;
        self
    }
}

impl From<SqlError> for Box<Failure> {
    fn from(error: SqlError) -> Box<Failure> {
        Failure::of(error, Origin::Statement)
    }
}

/// An error of binding ends more than its statement.
pub(crate) fn binding<T>(bound: SqlResult<T>) -> RunResult<T> {
    bound.map_err(|e| Failure::of(e, Origin::Binding))
}
