//! What storage says when it fails: SQL errors ready for the client, and the one case a caller has to word itself.

use std::fmt;

use duramen_base::{DbId, Lsn, ObjectId, SqlError, messages};

/// An error of a row operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StorageError {
    /// The key is there already. The caller knows the names and raises 2627 or 2601.
    DuplicateKey {
        object: ObjectId,
        index_id: u16,
    },
    Sql(SqlError),
}

pub type StorageResult<T> = Result<T, StorageError>;

impl From<SqlError> for StorageError {
    fn from(e: SqlError) -> StorageError {
        StorageError::Sql(e)
    }
}

impl From<StorageError> for SqlError {
    fn from(e: StorageError) -> SqlError {
        match e {
            StorageError::Sql(e) => e,
            // Only a caller without names (a system table) gets here.
            StorageError::DuplicateKey { object, index_id } => SqlError::new(
                &messages::DUPLICATE_KEY_INDEX,
                &[
                    &format!("object {}", object.0),
                    &format!("index {index_id}"),
                    &"(unknown)",
                ],
            ),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SqlError::from(self.clone()).fmt(f)
    }
}

impl std::error::Error for StorageError {}

/// A failed redo or undo: 3456-like, said in words, since the database cannot be opened.
pub(crate) fn recovery_error(db: DbId, lsn: Lsn, what: &str) -> SqlError {
    SqlError {
        number: 3456,
        severity: 21,
        ..SqlError::print(format!(
            "Could not redo or undo log record {}, database ID {}: {what}. Restore from a backup of the database, or repair the database.",
            lsn.to_decimal_text(),
            db.0
        ))
    }
}
