//! The errors a client sees when a lock or a snapshot is refused.

use duramen_base::{SessionId, SqlError, messages};

use crate::lock::{LockError, Resource};

/// The client's form of a lock failure. `None` for a cancelled wait: an attention has no error of its own.
pub fn lock_error(error: LockError, spid: SessionId) -> Option<SqlError> {
    match error {
        LockError::Timeout => Some(SqlError::new(&messages::LOCK_TIMEOUT, &[]).with_state(51)),
        LockError::Deadlock => {
            Some(SqlError::new(&messages::DEADLOCK_VICTIM, &[&spid.0, &"lock"]).with_state(51))
        }
        LockError::Cancelled => None,
        LockError::Kept(why) => Some(*why),
        LockError::OutOfMemory => Some(SqlError::new(&messages::OUT_OF_LOCKS, &[])),
    }
}

/// 3960: a SNAPSHOT transaction wants to change a row that changed after its snapshot.
pub fn update_conflict(table: &str, database: &str) -> SqlError {
    SqlError::new(&messages::SNAPSHOT_UPDATE_CONFLICT, &[&table, &database]).with_state(2)
}

/// What a waiting request shows as its resource.
pub fn wait_resource(resource: &Resource) -> String {
    resource.to_string()
}
