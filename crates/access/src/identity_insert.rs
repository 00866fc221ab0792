//! SET IDENTITY_INSERT: the table that a session gives values for its identity column.

use std::sync::{Arc, Weak};

use duramen_query::host::StoredId;

use crate::open_db::OpenDb;

/// The table of SET IDENTITY_INSERT ON: an object, whatever it is called by now. One that gets its name or its number after
/// it is another.
#[derive(Clone, Debug)]
pub struct IdentityInsert {
    pub table: StoredId,
    /// As it is open: another database may get its number when this one is gone.
    database: Weak<OpenDb>,
}

impl PartialEq for IdentityInsert {
    fn eq(&self, other: &IdentityInsert) -> bool {
        self.table == other.table && self.database.ptr_eq(&other.database)
    }
}

impl IdentityInsert {
    pub fn new(database: &Arc<OpenDb>, table: StoredId) -> IdentityInsert {
        IdentityInsert {
            table,
            database: Arc::downgrade(database),
        }
    }

    /// `None`: it has been closed.
    pub fn database(&self) -> Option<Arc<OpenDb>> {
        self.database.upgrade()
    }
}
