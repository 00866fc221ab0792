//! What statements do to a database as a whole: made, taken away, closed, opened, its row in master rewritten.
//!
//! Order against crashes (each step durable before the next):
//! * made: the row with CREATING, the files, the row without it. A start that finds CREATING deletes the files.
//! * dropped: the row with DROPPING, the files away, the row away. A start that finds DROPPING goes on.
//! * a log file added: its row marked as being added, the file, the mark away; only then does the log use it. A start
//!   that finds the mark keeps the file if it is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileKind, fold};
use duramen_os::{IoError, thread};
use duramen_pool::FileGrowth;
use duramen_storage::{Database, FilegroupChange};
use duramen_types::CollationId;

use crate::unavailable::{DatabaseState, Unavailable};

use super::{Databases, NewDatabase, NewFile, build, entry_of, number};

impl Databases {
    /// Makes a database, with nothing left behind when it fails.
    pub fn make(&self, new: &NewDatabase) -> SqlResult<Arc<OpenDb>> {
        let _one = self.admin.lock();
        if self.is_listed(&new.name) {
            return Err(SqlError::new(
                &messages::DATABASE_ALREADY_EXISTS,
                &[&new.name],
            ));
        }
        let mut new = new.clone();
        let mut data: Vec<&mut NewFile> =
            new.groups.iter_mut().flat_map(|g| &mut g.files).collect();
        number(&mut data, &mut new.log.iter_mut().collect::<Vec<_>>());
        self.check_distinct(&new)?;
        let Some(primary) = new.groups.first() else {
            return Err(SqlError::new(&messages::FILES_NOT_FOUND, &[]));
        };
        let id = self.next_id();
        let others: Vec<NewFile> = new
            .groups
            .iter()
            .skip(1)
            .flat_map(|g| g.files.clone())
            .collect();
        for f in &others {
            super::os_exists(self, &f.path)?;
        }
        let files = (primary.files.as_slice(), new.log.as_slice());
        let mut spec = self.create_spec(id, &new.name, files, self.first_log_seq())?;
        spec.collation = new.collation;
        let all: Vec<NewFile> = primary.files.iter().chain(&others).cloned().collect();
        let mut entry = entry_of(id, &new.name, &all, &new.log);
        entry.options = option::CREATING;
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.add(tx, &entry))?;
        let made = build(&self.engine, &spec).and_then(|(db, catalog)| {
            match self.make_groups(&db, &new) {
                Ok(()) => Ok((db, catalog)),
                Err(e) => {
                    db.detach();
                    Err(e)
                }
            }
        });
        let (db, catalog) = match made {
            Ok(made) => made,
            Err(e) => {
                self.delete_files(&entry);
                self.in_master(&master.catalog, |r, tx| r.remove(tx, id))?;
                return Err(e);
            }
        };
        entry.options = self.inherited();
        follow(&mut entry, &db);
        if let Err(e) = self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry)) {
            db.detach();
            return Err(e);
        }
        Ok(self.admit(db, catalog, entry))
    }

    /// Option bits that a new database takes over from model.
    fn inherited(&self) -> u64 {
        let model = self.get(duramen_base::DbId::MODEL);
        let bits = model.map_or(0, |m| m.entry.read().options);
        bits & option::INHERITED
    }

    /// 1828 for a logical name given twice, 5104 for a path given twice.
    fn check_distinct(&self, new: &NewDatabase) -> SqlResult<()> {
        let files = new.groups.iter().flat_map(|g| &g.files).chain(&new.log);
        let (mut names, mut paths) = (Vec::new(), Vec::<std::path::PathBuf>::new());
        for f in files {
            if names.contains(&fold(&f.logical_name)) {
                let name = &f.logical_name;
                return Err(SqlError::new(&messages::LOGICAL_FILE_NAME_IN_USE, &[name]));
            }
            let path = self.resolve(&f.path);
            if paths.iter().any(|p| self.same_place(p, &path)) {
                return Err(SqlError::new(&messages::FILE_ALREADY_USED, &[&f.path]));
            }
            names.push(fold(&f.logical_name));
            paths.push(path);
        }
        Ok(())
    }

    /// The filegroups besides PRIMARY, with their files.
    fn make_groups(&self, db: &Arc<Database>, new: &NewDatabase) -> SqlResult<()> {
        for g in new.groups.iter().skip(1) {
            let id = match &g.name {
                Some(name) => db.add_filegroup(name)?,
                None => 1,
            };
            for f in &g.files {
                let mut spec = self.data_spec(f);
                spec.filegroup = id;
                db.add_data_file(&spec)?;
            }
            if let (true, Some(name)) = (g.default, &g.name) {
                db.modify_filegroup(name, &FilegroupChange::Default)?;
            }
        }
        Ok(())
    }

    /// Drops a database and its files. Nobody may be in it.
    pub fn remove(&self, db: &Arc<OpenDb>) -> SqlResult<()> {
        let _one = self.admin.lock();
        let mut entry = db.entry.read().clone();
        entry.options |= option::DROPPING;
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        self.close(db);
        db.db.detach();
        self.delete_files(&entry);
        duramen_observe::forget_db(entry.id);
        self.in_master(&master.catalog, |r, tx| r.remove(tx, entry.id))
    }

    pub fn close(&self, db: &OpenDb) {
        self.open.write().remove(&db.db.id);
        self.gate.detach(db.db.id);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Deletes the files of an entry, as far as they are there. A file that cannot be deleted is left: the database is
    /// gone either way.
    pub(crate) fn delete_files(&self, entry: &DatabaseEntry) {
        for f in &entry.files {
            self.delete_file(&f.path);
        }
    }

    pub fn delete_file(&self, shown: &str) {
        // Of what has been given up, or of what was to go: then nobody can give that up any more.
        let _undoing = thread::is_given_up().then(thread::undoing);
        let path = self.resolve(shown);
        let disk = &self.engine.env.disk;
        let gone = match disk.remove(&path) {
            // Whoever was here before may not have made it durable; and soon no list has the file any more.
            Ok(()) | Err(IoError::NotFound) => {
                path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir))
            }
            Err(e) => Err(e),
        };
        match gone {
            // Nothing depends on it: a start that finds the file deletes it again.
            Ok(()) | Err(IoError::NotFound) => {}
            Err(_) => {}
        }
    }

    /// Rewrites a database's row in master: `change` on what is known, data files as the database itself has them.
    pub fn write_entry(
        &self,
        db: &OpenDb,
        change: impl FnOnce(&mut DatabaseEntry),
    ) -> SqlResult<()> {
        let _one = self.admin.lock();
        let mut entry = db.entry.read().clone();
        change(&mut entry);
        follow(&mut entry, &db.db);
        let master = self.master()?;
        let row = self.without_tempdb_limits(&entry);
        self.in_master(&master.catalog, |r, tx| r.replace(tx, &row))?;
        if db.db.id == duramen_base::DbId::TEMPDB {
            self.note_tempdb(&entry);
        }
        *db.entry.write() = entry;
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Closes a database and opens it again with what `change` makes of its row. Nobody may be in it.
    pub fn reopen(&self, db: &OpenDb, change: impl FnOnce(&mut DatabaseEntry)) -> SqlResult<()> {
        db.catalog.flush_identities()?;
        {
            let tx = self.transaction("rename");
            let mut entry = db.entry.read().clone();
            change(&mut entry);
            db.db.update_boot(&tx, |b| b.name = entry.name.clone())?;
            self.engine.commit(&tx, None)?;
            self.write_entry(db, |e| *e = entry)?;
        }
        db.db.close()?;
        self.close(db);
        let entry = db.entry.read().clone();
        self.open_again(entry)
    }

    pub(crate) fn open_again(&self, entry: DatabaseEntry) -> SqlResult<()> {
        let opened = Database::open(&self.engine, &self.open_spec(&entry));
        match opened {
            Ok(db) => {
                if let Some(error) = self.in_doubt(&db) {
                    db.detach();
                    self.set_aside(entry, error.clone())?;
                    return Err(error);
                }
                let catalog = CatalogDb::open(&db);
                // Listed at every moment.
                let id = entry.id;
                self.admit(db, catalog, entry);
                self.unavailable.write().remove(&id);
                Ok(())
            }
            Err(e) => {
                self.set_aside(entry, e.clone())?;
                Err(e)
            }
        }
    }

    /// SET OFFLINE. Nobody may be in it.
    pub fn take_offline(&self, db: &OpenDb) -> SqlResult<()> {
        if db.is_in_emergency() {
            let mut entry = self.close_emergency(db)?;
            entry.options |= option::OFFLINE;
            self.write_row(&entry)?;
            self.set_offline(entry);
            return Ok(());
        }
        db.catalog.flush_identities()?;
        self.write_entry(db, |e| e.options |= option::OFFLINE)?;
        let result = db.db.close();
        self.close(db);
        let entry = db.entry.read().clone();
        self.set_offline(entry);
        result
    }

    /// SET ONLINE of a database that is not open.
    pub fn bring_online(&self, gone: &Unavailable) -> SqlResult<()> {
        if gone.state == DatabaseState::Recovering {
            return Err(gone.refusal());
        }
        let mut entry = gone.entry.clone();
        entry.options &= !(option::OFFLINE | option::EMERGENCY);
        if gone.is_swapping() {
            let _one = self.admin.lock();
            return self.end_swap(entry);
        }
        self.write_row(&entry)?;
        self.open_again(entry)
    }

    /// The row of a database that is not open.
    pub(super) fn write_row(&self, entry: &DatabaseEntry) -> SqlResult<()> {
        let _one = self.admin.lock();
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.replace(tx, entry))
    }

    /// The collation of columns that name none.
    pub fn set_collation(db: &OpenDb, collation: CollationId) -> SqlResult<()> {
        let owner = db.db.engine.locks.owner(duramen_base::SessionId(0));
        let tx = duramen_txn::Transaction::new(
            &owner,
            duramen_txn::TxnKind::Autocommit,
            "ALTER DATABASE",
            duramen_txn::IsolationLevel::ReadCommitted,
        );
        db.db.update_boot(&tx, |b| b.collation = collation.0)?;
        db.db.engine.commit(&tx, None).map(|_| ())
    }

    /// Bytes of model's data and log.
    pub fn model_sizes(&self) -> (u64, u64) {
        let Some(model) = self.get(duramen_base::DbId::MODEL) else {
            return (0, 0);
        };
        let data = model
            .db
            .files()
            .first()
            .map_or(0, |f| u64::from(f.size) * 8192);
        let log = model
            .db
            .log()
            .map_or(0, |l| l.file_sizes().iter().map(|f| f.1).sum());
        (data, log)
    }
}

/// Makes the rows of data files what the database itself says; their sizes of before stay.
pub(crate) fn follow(entry: &mut DatabaseEntry, db: &Database) {
    let before = std::mem::take(&mut entry.files);
    for f in db.files() {
        let old = before
            .iter()
            .find(|o| o.kind == FileKind::Data && o.file_id == f.spec.file_id);
        let file = NewFile {
            logical_name: f.spec.logical_name.clone(),
            path: old.map_or_else(|| f.spec.shown_path.clone(), |o| o.path.clone()),
            size: u64::from(f.spec.size) * 8192,
            max_size: f.spec.max_size.map(|m| u64::from(m) * 8192),
            growth: match f.spec.growth {
                FileGrowth::None => duramen_wal::Growth::None,
                FileGrowth::Pages(n) => duramen_wal::Growth::Bytes(u64::from(n) * 8192),
                FileGrowth::Percent(p) => duramen_wal::Growth::Percent(p),
            },
            file_id: f.spec.file_id,
        };
        let mut row = file.entry(FileKind::Data);
        row.filegroup = i32::from(f.spec.filegroup);
        row.size = old.map_or(row.size, |o| o.size);
        entry.files.push(row);
    }
    entry
        .files
        .extend(before.into_iter().filter(|f| f.kind == FileKind::Log));
    entry.files.sort_by_key(|f| f.file_id);
}
