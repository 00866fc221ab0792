//! The names of temporary tables and procedures: `#t`, `##t`, and what a local one is called in tempdb.

use duramen_base::{ObjectId, SessionId};
use duramen_tsql::ast;

/// Room for the user's part of a local temporary name.
pub const NAME_LIMIT: usize = 116;

/// How many digits stand behind it.
const DIGITS: usize = 12;

/// A temporary table or procedure of the session.
#[derive(Clone, Debug)]
pub struct TemporaryTable {
    /// As the user wrote it, with the `#`.
    pub name: String,
    /// Its name in tempdb.
    pub full: String,
    /// What it was there when it was made: others may give a global one's name to something else.
    pub id: ObjectId,
    /// The nesting level that made it; it is dropped when that ends.
    pub level: u32,
    pub procedure: bool,
}

impl TemporaryTable {
    /// Nobody else sees it: no other session gives its name in tempdb to anything.
    pub fn is_local(&self) -> bool {
        !self.name.starts_with("##")
    }
}

/// Whether a name is one of a temporary table.
pub fn is_temporary(name: &ast::ObjectName) -> bool {
    name.name().starts_with('#')
}

/// What stands behind the written name of a session's local objects in tempdb, before their numbers.
pub fn owner_mark(session: SessionId) -> String {
    format!("{:04X}", session.0)
}

/// Whether an object of tempdb is a local one of that session.
pub fn is_temporary_of(full: &str, session: SessionId) -> bool {
    let behind = full.len().checked_sub(DIGITS).and_then(|at| full.get(at..));
    let local = full.starts_with('#') && !full.starts_with("##");
    local && behind.is_some_and(|digits| digits.starts_with(&owner_mark(session)))
}

/// A table's name without what makes a local temporary one unique in tempdb.
pub fn short_name(name: &str) -> &str {
    let local = name.starts_with('#') && !name.starts_with("##") && name.len() > NAME_LIMIT;
    match name.get(..name.len().saturating_sub(DIGITS)) {
        Some(padded) if local => padded.trim_end_matches('_'),
        _ => name,
    }
}

/// What stands for a local temporary name that means nothing to the session: no object has it, since all names of local
/// objects in tempdb are longer. Whoever has found another session's name there gets no further with it.
pub fn nobodys(name: &str) -> String {
    name.chars().take(NAME_LIMIT).collect()
}
