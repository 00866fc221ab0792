//! RESTORE ... WITH STANDBY: between two restores the database is open for reading.
//!
//! master knows it as RESTORING all the time; that it can be read stands in its files (`duramen_storage::backup`). Every
//! RESTORE of it closes it first; one that fails leaves it as it was.

use std::path::Path;
use std::time::Duration;

use duramen_access::database_options::option;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, fold};
use duramen_storage::backup::UndoOwner;
use duramen_storage::{Database, OpenDatabase};

use super::Statement;
use super::known::{RESTORE, RESTORE_OPTIONS};
use crate::database_ddl::Admin;
use crate::databases::{Databases, os_exists};
use crate::unavailable::DatabaseState;

impl Admin<'_> {
    /// RESTORE, with what becomes of a standby before and behind it.
    pub(super) fn restore_between(
        &mut self,
        log: bool,
        what: &str,
        stmt: &Statement,
    ) -> SqlResult<()> {
        stmt.options.check(what, RESTORE_OPTIONS, RESTORE)?;
        let undo = stmt
            .options
            .has("STANDBY")
            .then(|| stmt.options.text("STANDBY"));
        let before = self.leave_standby(stmt, undo.as_deref())?;
        let result = self.restore_checked(log, what, stmt);
        let instance = self.instance();
        let databases = &instance.databases;
        match (&result, &undo) {
            (Ok(()), Some(undo)) => databases.enter_standby(&stmt.database, undo)?,
            (Ok(()), None) => databases.forget_standby(&stmt.database)?,
            (Err(_), _) => {
                if let Some(before) = before {
                    // Where that fails, it goes on waiting for the next RESTORE.
                    let _ = databases.enter_standby(&stmt.database, &before);
                }
            }
        }
        result
    }

    /// A standby is closed, when nobody is in it: 3102, 3101. Its undo file's name. 5133 and 5170 for a new one that cannot
    /// be made.
    fn leave_standby(&mut self, stmt: &Statement, undo: Option<&str>) -> SqlResult<Option<String>> {
        let instance = self.instance();
        let databases = &instance.databases;
        let found = databases.find(&stmt.database).filter(|d| d.is_standby());
        let noted = match &found {
            Some(db) => {
                let files = databases.restore_files(&db.entry.read());
                databases.engine.standby_note(&files)?
            }
            None => None,
        };
        if let Some(undo) = undo.filter(|u| noted.as_deref() != Some(u)) {
            databases.may_place(undo, self.session().who.sysadmin)?;
            databases.undo_place(&stmt.database, undo)?;
        }
        let Some(db) = found else { return Ok(None) };
        if self.session().is_in(db.db.id) {
            let args: [&dyn std::fmt::Display; 2] = [&"RESTORE", &stmt.database];
            return Err(SqlError::new(&messages::RESTORE_IN_USE_BY_SESSION, &args));
        }
        if self.session().try_alone(&db, Some(Duration::ZERO)).is_err() {
            return Err(SqlError::new(&messages::EXCLUSIVE_ACCESS, &[]));
        }
        let mut entry = db.entry.read().clone();
        entry.options &= !(option::STANDBY | option::READ_ONLY);
        databases.close(&db);
        db.db.detach();
        databases.set_restoring(entry);
        self.session().among_others();
        Ok(noted)
    }
}

impl Databases {
    /// Where the undo file of a database is to be made: 5133 without the directory, 5170 when anything else is there than
    /// an undo file that this database has left behind. SQL Server writes over any file of that name (*assumed*); here one
    /// that may be somebody's stays.
    fn undo_place(&self, database: &str, undo: &str) -> SqlResult<()> {
        let there = match os_exists(self, undo) {
            Err(e) if e.number == messages::FILE_ALREADY_EXISTS.number => e,
            other => return other,
        };
        let path = self.resolve(undo);
        let own = self.undo_owner(database)?;
        let taken = self.all().iter().any(|d| {
            let noted = || {
                let files = self.restore_files(&d.entry.read());
                self.engine.standby_note(&files).ok().flatten()
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
    fn enter_standby(&self, name: &str, undo: &str) -> SqlResult<()> {
        let gone = self.find_unavailable(name);
        let Some(gone) = gone.filter(|g| g.state == DatabaseState::Restoring) else {
            return Ok(());
        };
        let files = self.restore_files(&gone.entry);
        self.engine.note_standby(&files, Some(undo))?;
        self.open_standby(gone.entry.clone(), &self.resolve(undo))
    }

    /// NORECOVERY: nothing is to be read any more. A database that has recovered has no note left.
    fn forget_standby(&self, name: &str) -> SqlResult<()> {
        let gone = self.find_unavailable(name);
        match gone.filter(|g| g.state == DatabaseState::Restoring) {
            Some(gone) => self
                .engine
                .note_standby(&self.restore_files(&gone.entry), None),
            None => Ok(()),
        }
    }

    fn open_standby(&self, mut entry: DatabaseEntry, undo: &Path) -> SqlResult<()> {
        let files = self.restore_files(&entry);
        self.engine.end_restore(&files)?;
        let spec = OpenDatabase {
            restored: true,
            ..self.open_spec(&entry)
        };
        let owner = self.undo_owner(&entry.name)?;
        let db = Database::open_standby(&self.engine, &spec, (undo, owner))?;
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
            let Ok(Some(undo)) = self.engine.standby_note(&files) else {
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
