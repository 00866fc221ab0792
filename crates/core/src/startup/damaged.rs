//! A start without `master` or `model`: whatever has become of their files, the server comes up.
//!
//! * `master` that cannot be opened stays as it is. A *stand-in* is made beside it, anew at each such start: nobody's logins
//!   but sa's, with the password that the server was given, and no databases but those of the system. In it master can be
//!   restored: RESTORE DATABASE master takes the damaged files out of the way, puts those of the backup in their place and
//!   ends the server, as SQL Server does; the next start finds them. Without a backup, databases can be attached.
//! * `model` that cannot be opened is taken out of the way and made anew: it is what new databases begin with, no more.
//!
//! Files that are taken out of the way keep their names with `.damaged` behind them; nothing is deleted.

use std::path::Path;
use std::sync::atomic::Ordering;

use duramen_access::database_options::option;
use duramen_base::{DbId, SqlError, SqlResult};
use duramen_catalog::DatabaseEntry;
use duramen_os::IoError;

use super::{FIRST_LOG_SEQ, Files, Later, numbered, remove_files};
use crate::databases::{Databases, entry_of, os_error};

/// The stand-in's files, without their extensions.
const STAND_IN: &str = "master~standin";
const TAKEN_AWAY: &str = ".damaged";
/// What logins are told while it is there.
const WARNING: &str = "The master database could not be opened and a stand-in takes its place: logins, databases and settings that are made now are gone at the next start (files of databases stay). Run RESTORE DATABASE master FROM DISK = 'backup of master'.";

impl Databases {
    /// Whether the server works with a stand-in for `master`.
    pub fn has_stand_in(&self) -> bool {
        self.stand_in.load(Ordering::SeqCst)
    }

    /// What every login is told of the server's state: what is kept in a stand-in for `master` is not kept long.
    pub fn warning(&self) -> Option<&'static str> {
        self.has_stand_in().then_some(WARNING)
    }

    /// Starts with a stand-in for `master`, which cannot be opened for this reason.
    pub(super) fn start_with_stand_in(&self, why: &SqlError) -> SqlResult<Later> {
        self.stand_in.store(true, Ordering::SeqCst);
        self.say_error(why);
        self.engine.notice(
            "The master database cannot be opened. Its files are left as they are, and the server has started with an empty stand-in for it: the only login is sa, and no user databases are listed. To restore master, log in as sa and run RESTORE DATABASE master FROM DISK = 'backup of master'; the server then ends, and its next start uses the restored master. Without a backup, attach the databases with CREATE DATABASE ... FOR ATTACH."
        );
        remove_files(&self.engine.env, &self.config.data_dir, STAND_IN)?;
        let (data, log) = self.stand_in_files();
        let spec = self.create_spec(DbId::MASTER, "master", (&data, &log), FIRST_LOG_SEQ)?;
        let (master, catalog) = self.build_job(spec)()?;
        let entry = entry_of(DbId::MASTER, "master", &data, &log);
        self.admit(master, catalog.clone(), entry.clone());
        self.in_master(&catalog, |r, tx| r.add(tx, &entry))?;
        let (tempdb, tempdb_entry) = self.tempdb_spec(None)?;
        let (db, own) = self.build_job(tempdb)()?;
        self.admit(db, own, tempdb_entry);
        for (id, name) in [(DbId::MODEL, "model"), (DbId::MSDB, "msdb")] {
            let (data, log) = self.system_files(name);
            let mut entry = entry_of(id, name, &data, &log);
            if id == DbId::MODEL {
                entry.options |= option::RECOVERY_FULL;
            }
            self.in_master(&catalog, |r, tx| r.add(tx, &entry))?;
            match self.open_job(&entry)() {
                Ok((db, own)) => {
                    self.admit(db, own, entry);
                }
                Err(e) => self.without(entry, e)?,
            }
        }
        Ok(Later::default())
    }

    fn stand_in_files(&self) -> Files {
        numbered((
            vec![self.file("master", &format!("{STAND_IN}.mdf"), 4)],
            vec![self.file("mastlog", &format!("{STAND_IN}.ldf"), 4)],
        ))
    }

    /// A system database could not be opened: model is made anew, the server is without any other.
    pub(super) fn without(&self, entry: DatabaseEntry, error: SqlError) -> SqlResult<()> {
        if entry.id != DbId::MODEL {
            return self.set_aside(entry, error);
        }
        self.say_error(&error);
        self.engine.notice(
            "The model database cannot be opened: it is made anew. Its old files keep their names with .damaged behind them.",
        );
        for f in &entry.files {
            self.take_away(&f.path)?;
        }
        let (data, log) = self.system_files("model");
        let spec = self.create_spec(DbId::MODEL, "model", (&data, &log), FIRST_LOG_SEQ)?;
        let (db, catalog) = self.build_job(spec)()?;
        let mut fresh = entry_of(DbId::MODEL, "model", &data, &log);
        fresh.options = entry.options;
        self.admit(db, catalog, fresh);
        Ok(())
    }

    /// Renames a file that is in the way, if it is there.
    pub fn take_away(&self, shown: &str) -> SqlResult<()> {
        let path = self.resolve(shown);
        let disk = &self.engine.env.disk;
        let to = |n: u32| match n {
            1 => format!("{}{TAKEN_AWAY}", path.display()),
            n => format!("{}{TAKEN_AWAY}{n}", path.display()),
        };
        let free = (1..=u32::MAX).map(to).find(|p| !disk.exists(Path::new(p)));
        let Some(free) = free else {
            return Ok(());
        };
        match disk.rename(&path, Path::new(&free)) {
            Ok(()) => {}
            Err(IoError::NotFound) => return Ok(()),
            Err(e) => return Err(os_error(&e, &path)),
        }
        let dir = path.parent().unwrap_or(Path::new("/"));
        disk.sync_dir(dir).map_err(|e| os_error(&e, &path))
    }

    /// An error in the server log, as SQL Server has it there.
    pub(crate) fn say_error(&self, e: &SqlError) {
        let (number, severity, state) = (e.number, e.severity, e.state);
        let head = format!("Error: {number}, Severity: {severity}, State: {state}.");
        self.engine.notice(&head);
        self.engine.notice(&e.message);
    }
}
