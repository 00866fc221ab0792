//! SET EMERGENCY: a database is opened as its files are, for sysadmin to read what can be read.
//!
//! It is the way to what is left of a database whose recovery has failed. Nothing is redone or undone and nothing of the
//! files changes (`duramen_storage`, emergency), so SET ONLINE tries the recovery again as if nobody had looked. master's row
//! says EMERGENCY; that nothing may be written is known to the open database alone, and what READ_ONLY was before stays.
//!
//! <https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options>, EMERGENCY: read-only, logging
//! disabled, limited to sysadmin.

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, Registry};
use duramen_storage::Database;

use super::Databases;
use crate::unavailable::Unavailable;

impl Databases {
    /// Of a database that is open. Nobody may be in it. One that cannot be opened so is opened as before.
    pub fn enter_emergency(&self, db: &OpenDb) -> SqlResult<()> {
        debug_assert!(!db.is_in_emergency(), "what it is to be it is not yet");
        // A log that has failed takes neither identities nor a checkpoint: then the files are read as they are.
        let _ = db.catalog.flush_identities();
        let _ = db.db.close();
        self.close(db);
        let entry = db.entry.read().clone();
        self.set_recovering(entry.clone());
        self.open_emergency(entry.clone()).or_else(|e| {
            self.open_again(entry)?;
            Err(e)
        })
    }

    /// Of one that could not be opened, which stays so when its files cannot be read.
    pub fn open_broken(&self, gone: &Unavailable) -> SqlResult<()> {
        let entry = {
            let _one = self.admin.lock();
            self.swapped(gone.entry.clone())?
        };
        self.open_emergency(entry)
    }

    /// What is read stays as it is; the row in master follows when it can be read.
    fn open_emergency(&self, mut entry: DatabaseEntry) -> SqlResult<()> {
        let db = Database::open_unrecovered(&self.engine, &self.open_spec(&entry))?;
        let catalog = CatalogDb::open(&db);
        entry.options |= option::EMERGENCY;
        let row = catalog.snapshot().and_then(|_| self.write_row(&entry));
        if let Err(e) = row {
            db.detach();
            return Err(e);
        }
        entry.options |= option::READ_ONLY;
        let id = entry.id;
        self.admit(db, catalog, entry);
        self.unavailable.write().remove(&id);
        Ok(())
    }

    /// One that was so when the server ended. Where its files cannot be read any more it waits, and the log says why.
    pub(crate) fn open_emergency_at_start(&self, entry: DatabaseEntry) {
        if let Err(e) = self.open_emergency(entry.clone()) {
            self.put_aside(entry, e);
        }
    }

    /// SET ONLINE: recovered like after a crash. Nobody may be in it.
    pub fn leave_emergency(&self, db: &OpenDb) -> SqlResult<()> {
        let entry = self.close_emergency(db)?;
        self.set_recovering(entry.clone());
        self.write_row(&entry)?;
        self.open_again(entry)
    }

    /// Lets go of the files; the row as it was before.
    pub(super) fn close_emergency(&self, db: &OpenDb) -> SqlResult<DatabaseEntry> {
        debug_assert!(db.is_in_emergency(), "its real log was never opened");
        let master = self.master()?;
        let tx = self.transaction("registry");
        let listed = Registry::new(&master.catalog).list(&tx);
        self.engine.locks.release_all(&tx.owner);
        let row = listed?.into_iter().find(|e| e.id == db.db.id);
        let missing = || SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&db.db.name]);
        let mut entry = row.ok_or_else(missing)?;
        entry.options &= !option::EMERGENCY;
        self.close(db);
        db.db.detach();
        Ok(entry)
    }
}
