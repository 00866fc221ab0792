//! The prepared statements of a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_os::memory::{Account, Broker, Clerk};

/// A client that never unprepares is refused beyond this.
pub const MAX_PREPARED: usize = 16_384;

#[derive(Clone)]
pub struct Statement {
    pub text: String,
    pub declarations: String,
}

impl Statement {
    /// About what it takes under its handle.
    pub fn bytes(&self) -> u64 {
        (self.text.len() + self.declarations.len() + 128) as u64
    }
}

/// The prepared statements of a connection.
#[derive(Default)]
pub struct Prepared {
    pub statements: BTreeMap<i32, Statement>,
    pub last: i32,
    pub bytes: u64,
    /// What is told of them; `None` where nobody counts.
    memory: Option<Account>,
}

impl Prepared {
    pub fn new(memory: Option<&Arc<Broker>>) -> Prepared {
        Prepared {
            memory: memory.map(|broker| broker.account(Clerk::Connections)),
            ..Prepared::default()
        }
    }

    pub fn clear(&mut self) {
        self.statements.clear();
        // Less is always granted.
        let _ = self.hold(0);
    }

    /// 701 when the server has no memory for so many bytes.
    pub fn hold(&mut self, bytes: u64) -> Result<(), SqlError> {
        if let Some(memory) = &mut self.memory {
            memory.need(bytes)?;
        }
        self.bytes = bytes;
        Ok(())
    }

    pub fn remove(&mut self, handle: i32) -> Option<Statement> {
        let removed = self.statements.remove(&handle)?;
        let _ = self.hold(self.bytes - removed.bytes());
        Some(removed)
    }

    pub fn add(&mut self, statement: Statement) -> Result<i32, SqlError> {
        if self.statements.len() >= MAX_PREPARED {
            return Err(SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&"more than 16384 prepared statements of a session"],
            ));
        }
        self.hold(self.bytes + statement.bytes())?;
        // Handles are not reused while the session lives.
        self.last = self.last.wrapping_add(1).max(1);
        self.statements.insert(self.last, statement);
        Ok(self.last)
    }

    pub fn get(&self, handle: i32) -> Result<Statement, SqlError> {
        self.statements
            .get(&handle)
            .cloned()
            .ok_or_else(|| unknown(handle))
    }
}

pub fn unknown(handle: i32) -> SqlError {
    SqlError::new(&messages::PREPARED_HANDLE_NOT_FOUND, &[&handle])
}
