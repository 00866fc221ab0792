//! What a session keeps for its own statements: CONTEXT_INFO and SESSION_CONTEXT.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

/// All keys with their values may not be larger.
const LIMIT_BYTES: usize = 1 << 20;

/// SET CONTEXT_INFO and sp_set_session_context.
#[derive(Debug, Default)]
pub struct SessionContext {
    /// 128 bytes once set.
    pub info: Option<Vec<u8>>,
    /// Key, type, value, read only.
    pub entries: Vec<(String, SqlType, Value, bool)>,
    bytes: usize,
}

impl SessionContext {
    /// SET CONTEXT_INFO: cut or padded with zeros to 128 bytes.
    pub fn set_info(&mut self, mut bytes: Vec<u8>) {
        bytes.resize(128, 0);
        self.info = Some(bytes);
    }

    /// sp_set_session_context: error 15664 for a key that was set read-only, 15665 for too much.
    pub fn set(&mut self, key: &str, ty: SqlType, value: Value, read_only: bool) -> SqlResult<()> {
        let at = self.entries.iter().position(|e| e.0 == key);
        if at.is_some_and(|i| self.entries[i].3) {
            return Err(SqlError::new(&messages::SESSION_CONTEXT_READ_ONLY, &[&key]));
        }
        let before = at.map_or(0, |i| bytes_of(&self.entries[i].0, &self.entries[i].2));
        let held = self.bytes - before + bytes_of(key, &value);
        if held > LIMIT_BYTES {
            return Err(SqlError::new(&messages::SESSION_CONTEXT_FULL, &[&key]));
        }
        let entry = (key.to_owned(), ty, value, read_only);
        match at {
            Some(i) => self.entries[i] = entry,
            None => self.entries.push(entry),
        }
        self.bytes = held;
        Ok(())
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A key counts, too: there may be any number of them with small values.
fn bytes_of(key: &str, value: &Value) -> usize {
    key.len() + value.heap_bytes() + size_of::<(String, SqlType, Value, bool)>()
}
