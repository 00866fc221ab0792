//! What a client sees when something fails: data from the start.

use std::fmt;

use crate::messages::{Message, by_number, format_message};

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
    /// It was raised by a text that holds a password, which the message may quote: only the client is told it.
    pub quotes_secret: bool,
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
            quotes_secret: false,
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
            quotes_secret: false,
        }
    }

    /// What carries the end of a request that was given up: it is never sent to the client.
    pub fn given_up() -> SqlError {
        crate::given_up::acknowledge();
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

    /// The same, and the errors before it, as raised by a text that holds a password.
    pub fn quoting_secret(mut self) -> SqlError {
        let earlier = self.earlier.iter_mut();
        earlier.for_each(|e| e.quotes_secret = true);
        self.quotes_secret = true;
        self
    }

    /// The message as anybody may read it: of one that may quote a password its form, without what it was about.
    pub fn public_message(&self) -> &str {
        match (self.quotes_secret, by_number(self.number)) {
            (false, _) => &self.message,
            (true, Some(form)) => form.text,
            (true, None) => "",
        }
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
