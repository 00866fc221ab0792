//! Databases that `master` lists and that are not open: the server starts without them and says why.
//!
//! RESTORING ones wait for the next backup, or for RECOVERY (927). OFFLINE ones were closed by ALTER DATABASE and wait for
//! SET ONLINE (942). The others could not be opened. As in SQL Server: files that are missing or are not the database's leave it RECOVERY_PENDING (945 for whoever wants
//! it), as do restored files that have not got their places; a recovery that failed leaves it SUSPECT (926). Nothing is written to its files; the next start tries again.
//! `master` and `model` are not among them: without those there is no server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_access::open_db::OpenDb;
use duramen_backup::Restores;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::DatabaseEntry;
use duramen_os::IoError;
use duramen_storage::Database;

use crate::databases::{Databases, os_error};

/// The states of `sys.databases` that a database of ours can be in, by their numbers there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DatabaseState {
    Online = 0,
    Restoring = 1,
    Recovering = 2,
    RecoveryPending = 3,
    Suspect = 4,
    Emergency = 5,
    Offline = 6,
}

impl DatabaseState {
    /// `sys.databases.state_desc`.
    pub fn name(self) -> &'static str {
        match self {
            DatabaseState::Online => "ONLINE",
            DatabaseState::Restoring => "RESTORING",
            DatabaseState::Recovering => "RECOVERING",
            DatabaseState::RecoveryPending => "RECOVERY_PENDING",
            DatabaseState::Suspect => "SUSPECT",
            DatabaseState::Emergency => "EMERGENCY",
            DatabaseState::Offline => "OFFLINE",
        }
    }

    /// What an error of opening leaves behind: RECOVERY_PENDING when the files are not to be had, SUSPECT when they were
    /// opened and contradict themselves or each other.
    fn after(error: &SqlError) -> DatabaseState {
        let of_files = [
            &messages::CANNOT_OPEN_FILE,
            &messages::CREATE_FILE_OS_ERROR,
            &messages::IO_ERROR,
            &messages::LOG_UNAVAILABLE,
            &messages::NOT_A_PRIMARY_FILE,
            &messages::FILE_HEADER_INVALID,
            &messages::FILES_MISMATCH,
        ];
        match of_files.iter().any(|m| m.number == error.number) {
            true => DatabaseState::RecoveryPending,
            false => DatabaseState::Suspect,
        }
    }
}

/// A database that is not open.
#[derive(Clone, Debug)]
pub struct Unavailable {
    pub entry: DatabaseEntry,
    pub state: DatabaseState,
    /// Why.
    pub error: SqlError,
}

impl Unavailable {
    /// It could not be opened.
    pub fn is_broken(&self) -> bool {
        matches!(
            self.state,
            DatabaseState::RecoveryPending | DatabaseState::Suspect
        )
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "database '{}' is {}: error {}: {}",
            self.entry.name,
            self.state.name(),
            self.error.number,
            self.error.message
        )
    }
}

impl Unavailable {
    /// 942, 922, 945 or 926, for whoever wants to use it.
    pub fn refusal(&self) -> SqlError {
        let message = match self.state {
            DatabaseState::Offline => &messages::DATABASE_OFFLINE,
            DatabaseState::Restoring => &messages::DATABASE_RESTORING,
            DatabaseState::Recovering => &messages::DATABASE_RECOVERING,
            DatabaseState::Suspect => &messages::DATABASE_SUSPECT,
            DatabaseState::Online | DatabaseState::Emergency | DatabaseState::RecoveryPending => {
                &messages::DATABASE_FILES_INACCESSIBLE
            }
        };
        SqlError::new(message, &[&self.entry.name])
    }
}

/// Of a database that is open. A log that has failed takes nothing any more: the next start recovers the database.
fn state_of(db: &OpenDb) -> DatabaseState {
    match db.db.log() {
        _ if db.is_in_emergency() => DatabaseState::Emergency,
        Some(log) if log.poisoned() => DatabaseState::RecoveryPending,
        _ => DatabaseState::Online,
    }
}

impl Databases {
    /// The server can be without this database; it is remembered as one that could not be opened.
    pub(crate) fn set_aside(&self, entry: DatabaseEntry, error: SqlError) -> SqlResult<()> {
        if matches!(entry.id, DbId::MASTER | DbId::MODEL | DbId::TEMPDB) && !self.opening.is_over()
        {
            return Err(error);
        }
        self.put_aside(entry, error);
        Ok(())
    }

    /// Remembers a database as one that could not be opened; a recovery that failed is said in the server log.
    pub(crate) fn put_aside(&self, entry: DatabaseEntry, error: SqlError) {
        let state = DatabaseState::after(&error);
        if state == DatabaseState::Suspect {
            let args: [&dyn fmt::Display; 3] = [&entry.name, &entry.id.0, &0];
            let failed = SqlError::new(&messages::RECOVERY_ERROR, &args);
            self.say_error(&error);
            self.say_error(&failed);
        }
        let unavailable = Unavailable {
            entry,
            state,
            error,
        };
        let id = unavailable.entry.id;
        self.unavailable.write().insert(id, Arc::new(unavailable));
    }

    /// Remembers a database as RECOVERY_PENDING, and says why in the server log.
    pub(crate) fn put_pending(&self, entry: DatabaseEntry, error: SqlError) {
        self.say_error(&error);
        let unavailable = Unavailable {
            state: DatabaseState::RecoveryPending,
            error,
            entry,
        };
        let id = unavailable.entry.id;
        self.unavailable.write().insert(id, Arc::new(unavailable));
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Why a database that has been recovered cannot be used yet: a transaction over several databases is prepared in it
    /// and the log that has the decision is not to be had. Nobody may see its changes before that log can be asked.
    pub(crate) fn in_doubt(&self, db: &Database) -> Option<SqlError> {
        let coordinator = db.waits_for()?;
        let name = match self.get(coordinator) {
            Some(open) => open.db.name.clone(),
            None => match self.unavailable.read().get(&coordinator) {
                Some(gone) => gone.entry.name.clone(),
                None => db.name.clone(),
            },
        };
        Some(SqlError::new(&messages::LOG_UNAVAILABLE, &[&name]))
    }

    /// Remembers a database as one that ALTER DATABASE has closed.
    pub(crate) fn set_offline(&self, entry: DatabaseEntry) {
        let error = SqlError::new(&messages::DATABASE_OFFLINE, &[&entry.name]);
        let unavailable = Unavailable {
            state: DatabaseState::Offline,
            error,
            entry,
        };
        let id = unavailable.entry.id;
        self.unavailable.write().insert(id, Arc::new(unavailable));
    }

    /// Remembers a database as one that is being opened.
    pub(crate) fn set_recovering(&self, entry: DatabaseEntry) {
        let error = SqlError::new(&messages::DATABASE_RECOVERING, &[&entry.name]);
        let unavailable = Unavailable {
            state: DatabaseState::Recovering,
            error,
            entry,
        };
        let id = unavailable.entry.id;
        self.unavailable.write().insert(id, Arc::new(unavailable));
    }

    /// The databases that are not open.
    pub fn unavailable(&self) -> Vec<Arc<Unavailable>> {
        self.unavailable.read().values().cloned().collect()
    }

    /// The state of a database that is listed.
    pub fn state(&self, id: DbId) -> DatabaseState {
        // What an open one is asks its entry, which nobody does with a list locked.
        let gone = self.unavailable.read().get(&id).map(|gone| gone.state);
        match (self.get(id), gone) {
            (Some(open), _) => state_of(&open),
            (None, Some(state)) => state,
            (None, None) => DatabaseState::Online,
        }
    }

    /// Why nobody can use what is called so: 942, 922, 945 or 926, or 911 where there is no such database.
    pub fn not_open(&self, name: &str) -> SqlError {
        match self.find_unavailable(name) {
            Some(gone) => gone.refusal(),
            None => SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&name]),
        }
    }

    pub fn find_unavailable(&self, name: &str) -> Option<Arc<Unavailable>> {
        let all = self.unavailable.read();
        let name = name.to_lowercase();
        all.values()
            .find(|u| u.entry.name.to_lowercase() == name)
            .cloned()
    }

    /// DROP DATABASE of one that is not open. Files that could not be reached, and those of an offline one, stay.
    pub fn remove_unavailable(&self, gone: &Unavailable) -> SqlResult<()> {
        if gone.state == DatabaseState::Recovering {
            return Err(gone.refusal());
        }
        let _one = self.admin.lock();
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.remove(tx, gone.entry.id))?;
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.unavailable.write().remove(&gone.entry.id);
        if gone.is_swapping() {
            self.delete_restoring_files(&gone.entry);
        }
        if matches!(
            gone.state,
            DatabaseState::Suspect | DatabaseState::Restoring
        ) {
            for f in &gone.entry.files {
                let path = self.resolve(&f.path);
                match self.engine.env.disk.remove(&path) {
                    Ok(()) | Err(IoError::NotFound) => {}
                    Err(e) => return Err(os_error(&e, &path)),
                }
            }
            let files = self.restore_files(&gone.entry);
            Restores::new(&self.engine, &files).forget_page_restore()?;
        }
        Ok(())
    }
}
