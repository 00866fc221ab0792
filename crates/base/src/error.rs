//! What a client sees when something fails: data from the start.

use std::fmt;

use crate::messages::{Message, format_message};

/// An error as SQL Server reports it. `severity` decides what dies (see `SqlError::ends_connection`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    pub number: i32,
    pub severity: u8,
    pub state: u8,
    pub message: String,
    pub procedure: Option<String>,
    /// 1-based line in the batch; 0 until the session fills it in.
    pub line: i32,
    /// What else was found wrong: told before this one, which alone can be caught.
    pub earlier: Vec<SqlError>,
}

pub type SqlResult<T> = Result<T, SqlError>;

impl SqlError {
    /// An error from the catalogue, `args` filling its printf-like places in order.
    pub fn new(message: &Message, args: &[&dyn fmt::Display]) -> SqlError {
        SqlError {
            number: message.number,
            severity: message.severity,
            state: 1,
            message: format_message(message.text, args),
            procedure: None,
            line: 0,
            earlier: Vec::new(),
        }
    }

    /// Information without a number: what PRINT sends.
    pub fn print(message: String) -> SqlError {
        SqlError {
            number: 0,
            severity: 0,
            state: 1,
            message,
            procedure: None,
            line: 0,
            earlier: Vec::new(),
        }
    }

    /// What carries the end of a request that was given up: it is never sent to the client.
    pub fn given_up() -> SqlError {
        crate::given_up::has_heard();
        SqlError {
            severity: 11,
            state: 0,
            ..SqlError::print("Query was canceled by user.".to_owned())
        }
    }

    /// Several errors as one: the last, with the others before it.
    pub fn joined(errors: Vec<SqlError>) -> Option<SqlError> {
        let mut all = Vec::with_capacity(errors.len());
        for mut e in errors {
            all.append(&mut e.earlier);
            all.push(e);
        }
        let mut last = all.pop()?;
        last.earlier = all;
        Some(last)
    }

    pub fn with_state(mut self, state: u8) -> SqlError {
        self.state = state;
        self
    }

    pub fn at_line(mut self, line: i32) -> SqlError {
        if self.line == 0 {
            self.line = line;
        }
        self
    }

    /// Severity 20 and above ends the connection.
    pub fn ends_connection(&self) -> bool {
        self.severity >= 20
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for SqlError {}
