//! Files of databases that are being restored: where they may lie, how they are laid, and how what is in them becomes the database.
//!
//! The order against crashes stands in the head of `backup::restore`.

use std::path::Path;

use duramen_access::database_options::{model_of, option};
use duramen_backup::{
    BackupSet, Medium, RestoreFiles, Restores, Tolerance, Transfer, after_restore,
};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileEntry, FileKind};
use duramen_storage::{Database, OpenDatabase};

use super::swap::RESTORING_SUFFIX;
use super::{Databases, NewFile};
use crate::unavailable::{DatabaseState, Unavailable};

/// How a full backup is restored.
pub struct How {
    pub no_recovery: bool,
    pub transfer: Transfer,
    pub tolerance: Tolerance,
}

impl Databases {
    /// The files of an entry, as a restore knows them.
    pub fn restore_files(&self, entry: &DatabaseEntry) -> RestoreFiles {
        let of = |kind| entry.files.iter().filter(move |f| f.kind == kind);
        RestoreFiles {
            name: entry.name.clone(),
            id: entry.id.0,
            data: of(FileKind::Data)
                .map(|f| self.data_spec(&NewFile::of(f)))
                .collect(),
            log: of(FileKind::Log)
                .map(|f| self.log_spec(&NewFile::of(f)))
                .collect(),
            tolerance: Tolerance::default(),
        }
    }

    /// 1834 for a file of another database, 5123 where it may not be, 5133 for a directory that is not there, 3142 for a file that is nobody's.
    pub fn place_is_free(
        &self,
        shown: &str,
        path: &Path,
        replaced: Option<&DatabaseEntry>,
        everywhere: bool,
    ) -> SqlResult<()> {
        for (entry, _) in self.listed() {
            let same = |f: &FileEntry| self.same_place(&self.resolve(&f.path), path);
            let its = entry.files.iter().any(same);
            if its && replaced.is_some_and(|r| r.id == entry.id) {
                return Ok(());
            }
            if its {
                let args: [&dyn std::fmt::Display; 2] = [&shown, &entry.name];
                return Err(SqlError::new(&messages::FILE_IN_USE_BY_DATABASE, &args));
            }
        }
        self.may_place(shown, everywhere)?;
        match crate::databases::os_exists(self, shown) {
            Err(e) if e.number == messages::FILE_ALREADY_EXISTS.number => {
                let args: [&dyn std::fmt::Display; 2] = [&shown, &shown];
                Err(SqlError::new(&messages::RESTORE_OVER_FILE, &args))
            }
            other => other,
        }
    }

    /// A full backup, to new files; see the order in this module's head.
    pub fn restore_full(
        &self,
        name: &str,
        (medium, set): (&Medium, &BackupSet),
        files: &[FileEntry],
        replaced: Option<&DatabaseEntry>,
        how: How,
        progress: &mut dyn FnMut(u32) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let no_recovery = how.no_recovery;
        let _one = self.admin.lock();
        let disk = &self.engine.env.disk;
        let header = &set.header;
        let mut laid = DatabaseEntry {
            id: self.next_id(),
            name: match replaced {
                Some(_) => format!("{name}{RESTORING_SUFFIX}"),
                None => name.to_owned(),
            },
            created: duramen_catalog::now(),
            compatibility_level: header.compatibility_level.max(100),
            options: option::CREATING,
            files: files.to_vec(),
        };
        let mut swaps = false;
        // Of a restore that did not come to its end: nothing but this one's files may wait there.
        self.delete_restoring_files(&laid);
        for f in &mut laid.files {
            if disk.exists(&self.resolve(&f.path)) {
                f.path.push_str(RESTORING_SUFFIX);
                swaps = true;
            }
        }
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.add(tx, &laid))?;
        let made = self.lay_and_recover(name, (medium, set), &laid, how, progress);
        if let Err(e) = made {
            self.delete_files(&laid);
            self.in_master(&master.catalog, |r, tx| r.remove(tx, laid.id))?;
            return Err(e);
        }
        let mut entry = DatabaseEntry {
            id: replaced.map_or(laid.id, |r| r.id),
            name: name.to_owned(),
            files: files.to_vec(),
            options: header.options,
            ..laid.clone()
        };
        entry.options |= if no_recovery { option::RESTORING } else { 0 };
        entry.options |= if swaps { option::SWAPPING } else { 0 };
        self.replace_by_restored(&laid, entry, replaced)
    }

    fn lay_and_recover(
        &self,
        name: &str,
        (medium, set): (&Medium, &BackupSet),
        laid: &DatabaseEntry,
        how: How,
        progress: &mut dyn FnMut(u32) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut files = self.restore_files(laid);
        files.name = name.to_owned();
        files.tolerance = how.tolerance;
        let restores = Restores::new(&self.engine, &files);
        restores.lay_backup(medium, set, how.transfer, progress)?;
        if how.no_recovery {
            return Ok(());
        }
        let spec = OpenDatabase {
            restored: true,
            name: name.to_owned(),
            model: model_of(set.header.options),
            ..self.open_spec(laid)
        };
        let state = restores.end_restore()?;
        let db = Database::open(&self.engine, &spec)?;
        // The catalog is looked at, so that what cannot be used is not taken for a database.
        let catalog = CatalogDb::open(&db);
        let settled = catalog.snapshot().and_then(|_| after_restore(&db, &state));
        let closed = settled.and_then(|()| db.close());
        if closed.is_err() {
            db.detach();
        }
        duramen_observe::forget_db(laid.id);
        closed?;
        restores.forget_restore()
    }

    /// RECOVERY of a database that is RESTORING, for few only when it says RESTRICTED_USER.
    pub fn recover_restored(&self, gone: &Unavailable, restricted: bool) -> SqlResult<()> {
        let files = self.restore_files(&gone.entry);
        let restores = Restores::new(&self.engine, &files);
        if restricted && restores.page_restore()?.is_some() {
            let what = "RESTRICTED_USER in a RESTORE of pages or files";
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        }
        if self.recover_pages(gone)?.is_some() {
            return Ok(());
        }
        let state = restores.end_restore()?;
        let mut entry = gone.entry.clone();
        entry.options &= !option::RESTORING;
        entry.options |= if restricted {
            option::RESTRICTED_USER
        } else {
            0
        };
        {
            let _one = self.admin.lock();
            let master = self.master()?;
            self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        }
        let spec = OpenDatabase {
            restored: true,
            ..self.open_spec(&entry)
        };
        let opened = Database::open(&self.engine, &spec).and_then(|db| {
            after_restore(&db, &state)?;
            db.close()
        });
        if let Err(e) = opened {
            self.unavailable.write().remove(&entry.id);
            self.set_aside(entry, e.clone())?;
            return Err(e);
        }
        restores.forget_restore()?;
        self.open_again(entry)
    }

    /// Remembers a database as one that is being restored.
    pub fn set_restoring(&self, entry: DatabaseEntry) {
        let error = SqlError::new(&messages::DATABASE_RESTORING, &[&entry.name]);
        let unavailable = Unavailable {
            state: DatabaseState::Restoring,
            error,
            entry,
        };
        let id = unavailable.entry.id;
        self.unavailable
            .write()
            .insert(id, std::sync::Arc::new(unavailable));
        self.generation
            .fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    }
}
