//! A database between two restores that is open for reading: its undo file, and how it is opened and closed as one.

use std::path::Path;

use duramen_access::database_options::option;
use duramen_backup::{Restores, UndoOwner};
use duramen_base::{SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, fold};
use duramen_storage::OpenDatabase;

use super::{Databases, os_exists};
use crate::unavailable::DatabaseState;

impl Databases {
    /// Where the undo file of a database is to be made: 5133 without the directory, 5170 when anything else is there than
    /// an undo file that this database has left behind. SQL Server writes over any file of that name (*assumed*); here one
    /// that may be somebody's stays.
    pub fn undo_place(&self, database: &str, undo: &str) -> SqlResult<()> {
        let there = match os_exists(self, undo) {
            Err(e) if e.number == messages::FILE_ALREADY_EXISTS.number => e,
            other => return other,
        };
        let path = self.resolve(undo);
        let own = self.undo_owner(database)?;
        let taken = self.all().iter().any(|d| {
            let noted = || {
                let files = self.restore_files(&d.entry.read());
                Restores::new(&self.engine, &files)
                    .standby_note()
                    .ok()
                    .flatten()
            };
            let other = d.is_standby() && fold(&d.db.name) != fold(database);
            other && noted().is_some_and(|n| self.resolve(&n) == path)
        });
        match !taken && own.may_make(&*self.engine.env.disk, &path) {
            true => Ok(()),
            false => Err(there),
        }
    }

    fn undo_owner<'a>(&self, database: &'a str) -> SqlResult<UndoOwner<'a>> {
        Ok(UndoOwner {
            server: self.master()?.db.family(),
            database,
        })
    }

    /// What has been restored is opened for reading.
    pub fn enter_standby(&self, name: &str, undo: &str) -> SqlResult<()> {
        let gone = self.find_unavailable(name);
        let Some(gone) = gone.filter(|g| g.state == DatabaseState::Restoring) else {
            return Ok(());
        };
        let files = self.restore_files(&gone.entry);
        Restores::new(&self.engine, &files).note_standby(Some(undo))?;
        self.open_standby(gone.entry.clone(), &self.resolve(undo))
    }

    /// NORECOVERY: nothing is to be read any more. A database that has recovered has no note left.
    pub fn forget_standby(&self, name: &str) -> SqlResult<()> {
        let gone = self.find_unavailable(name);
        match gone.filter(|g| g.state == DatabaseState::Restoring) {
            Some(gone) => {
                Restores::new(&self.engine, &self.restore_files(&gone.entry)).note_standby(None)
            }
            None => Ok(()),
        }
    }

    fn open_standby(&self, mut entry: DatabaseEntry, undo: &Path) -> SqlResult<()> {
        let files = self.restore_files(&entry);
        Restores::new(&self.engine, &files).end_restore()?;
        let spec = OpenDatabase {
            restored: true,
            ..self.open_spec(&entry)
        };
        let owner = self.undo_owner(&entry.name)?;
        let db = duramen_backup::open_standby(&self.engine, &spec, (undo, owner))?;
        let catalog = CatalogDb::open(&db);
        let usable = match self.in_doubt(&db) {
            Some(error) => Err(error),
            None => catalog.snapshot().map(|_| ()),
        };
        if let Err(e) = usable {
            db.detach();
            return Err(e);
        }
        entry.options |= option::STANDBY | option::READ_ONLY;
        self.unavailable.write().remove(&entry.id);
        self.admit(db, catalog, entry);
        Ok(())
    }

    /// At a start: those that were standbys are again. One that cannot be opened goes on waiting for the next RESTORE.
    pub(crate) fn open_standbys(&self) {
        for gone in self.unavailable() {
            if gone.state != DatabaseState::Restoring {
                continue;
            }
            let files = self.restore_files(&gone.entry);
            let Ok(Some(undo)) = Restores::new(&self.engine, &files).standby_note() else {
                continue;
            };
            let name = &gone.entry.name;
            self.engine
                .notice(&format!("Starting up database '{name}'."));
            if let Err(e) = self.open_standby(gone.entry.clone(), &self.resolve(&undo)) {
                self.engine.notice(&e.message);
            }
        }
    }
}
