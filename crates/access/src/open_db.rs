//! An open database with what is known of it.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::security::{DBO, SID_SA};
use duramen_catalog::{CatalogDb, DatabaseEntry};
use duramen_os::sync::RwLock;
use duramen_storage::Database;

use crate::database_options::{option, switch};
use crate::statistics::Statistics;
use crate::stored::Shapes;

/// An open database with its catalog and its entry in `master`.
pub struct OpenDb {
    pub db: Arc<Database>,
    pub catalog: Arc<CatalogDb>,
    pub entry: RwLock<DatabaseEntry>,
    /// Of its tables' columns.
    pub statistics: Statistics,
    pub shapes: Shapes,
    pub usage: crate::usage::IndexUsage,
}

impl OpenDb {
    pub fn new(db: Arc<Database>, catalog: Arc<CatalogDb>, entry: DatabaseEntry) -> OpenDb {
        OpenDb {
            catalog,
            entry: RwLock::new(entry),
            statistics: Statistics::new(&db.engine.memory),
            shapes: Shapes::default(),
            usage: Default::default(),
            db,
        }
    }

    /// Whether a switch of ALTER DATABASE that is remembered by name is on.
    pub fn has_switch(&self, name: &str) -> bool {
        let options = self.entry.read().options;
        switch(options, name).unwrap_or(false)
    }

    pub fn is_read_only(&self) -> bool {
        self.entry.read().options & option::READ_ONLY != 0
    }

    pub fn is_in_emergency(&self) -> bool {
        self.entry.read().options & option::EMERGENCY != 0
    }

    /// Between two restores.
    pub fn is_standby(&self) -> bool {
        self.entry.read().options & option::STANDBY != 0
    }

    /// The SID of the login that owns it.
    pub fn owner(&self) -> SqlResult<Vec<u8>> {
        let snapshot = self.catalog.snapshot()?;
        let dbo = snapshot.security.users.get(&DBO);
        let sid = dbo.and_then(|u| u.sid.clone());
        Ok(sid.unwrap_or_else(|| SID_SA.to_vec()))
    }

    /// 3908, for whoever would change what it is.
    pub fn check_not_in_emergency(&self) -> SqlResult<()> {
        match self.is_in_emergency() {
            true => self.check_writable(),
            false => Ok(()),
        }
    }

    /// 3908: it is in emergency mode. 3906: it is READ_ONLY, or a standby.
    pub fn check_writable(&self) -> SqlResult<()> {
        let message = match self.entry.read().options {
            bits if bits & option::EMERGENCY != 0 => &messages::DATABASE_EMERGENCY,
            bits if bits & option::READ_ONLY != 0 => &messages::DATABASE_READ_ONLY,
            _ => return Ok(()),
        };
        Err(SqlError::new(message, &[&self.db.name]))
    }
}

/// Whether the database is a single-user one.
pub fn is_single_user(db: &OpenDb) -> bool {
    db.entry.read().options & option::SINGLE_USER != 0
}

/// 924: somebody else is in the single-user database.
pub fn occupied(name: &str) -> SqlError {
    SqlError::new(&messages::DATABASE_SINGLE_USER, &[&name])
}
