//! Detaching a database from the server, and attaching its files.
//!
//! What master knows of a database and its files do not say (options, names, growth and limits of log files) goes with it: on
//! the way out it is written into the database's own `sysdbreg` and `sysbrickfiles`, which are empty otherwise, and on the
//! way in it is read, and taken out again when master has it.
//!
//! Order against crashes:
//! * detached: the own rows (durable), the database closed, the row in master away. Before the last step a start opens it.
//! * attached: opened and recovered where it is, the boot page's name and id changed, closed, the row in master (durable),
//!   opened again. Before the row is there the files are a detached database's.
//!
//! Log files that are not named are looked for beside the primary file, by what their header says. A second copy of a database
//! that is here is refused: torn pages are repaired by the database's GUID, and both have the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileEntry, FileKind, Registry};
use duramen_format::boot::{BOOT_PAGE, Boot, FileHeader};
use duramen_format::file_table::{FILE_TABLE_PAGES, FileRow, TableRow, table_rows};
use duramen_format::page::{Verify, verify};
use duramen_format::version::{is_whole, refuse_newer};
use duramen_os::{IoError, OpenOptions, thread, time};
use duramen_storage::version_of_file;
use duramen_storage::{Database, OpenDatabase, RecoveryModel};
use duramen_wal::Growth;

use super::{Databases, NewFile};

type Page = [u8; PAGE_BYTES];

const DEFAULT_GROWTH: Growth = Growth::Bytes(64 << 20);
/// Whoever looks at a database that is closed lets go of it within a step.
const LONGEST_CLOSING: Duration = Duration::from_secs(10);
/// What of a database's state is not taken along.
const LEFT_BEHIND: u64 = option::CREATING
    | option::DROPPING
    | option::OFFLINE
    | option::SINGLE_USER
    | option::RESTRICTED_USER
    | option::RESTORING
    | option::SWAPPING
    | option::STANDBY
    | option::EMERGENCY;

/// A file that was named or found, with its header.
struct Found {
    shown: String,
    path: PathBuf,
    header: FileHeader,
    bytes: u64,
}

impl Found {
    /// Log files belong to no filegroup.
    fn is_log(&self) -> bool {
        self.header.filegroup == 0
    }
}

impl Databases {
    /// sp_detach_db. Nobody may be in it.
    pub fn detach(&self, db: &Arc<OpenDb>) -> SqlResult<()> {
        if db.is_in_emergency() {
            return Err(SqlError::new(&messages::CANNOT_DETACH_SUSPECT, &[]));
        }
        let _one = self.admin.lock();
        db.catalog.flush_identities()?;
        let entry = db.entry.read().clone();
        self.in_master(&db.catalog, |own, tx| {
            forget(own, tx)?;
            own.add(tx, &entry)
        })?;
        let closed = db.db.close();
        self.close(db);
        closed?;
        duramen_observe::forget_db(entry.id);
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.remove(tx, entry.id))
    }

    /// Waits until the files of a detached database are closed, for some seconds at most. Others may still be looking at
    /// it, its background thread between two steps or a view that tells of its files, and the last of them closes the
    /// files: who attached them now would be told that they are in use. The caller has let go of the database.
    pub fn await_closed(&self, files: &[FileEntry]) {
        let deadline = time::now() + LONGEST_CLOSING;
        let disk = &self.engine.env.disk;
        for file in files {
            let path = self.resolve(&file.path);
            while disk.is_open(&path) && time::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// CREATE DATABASE ... FOR ATTACH with these files, the primary one first.
    pub fn attach(&self, name: &str, files: &[String], everywhere: bool) -> SqlResult<Arc<OpenDb>> {
        let _one = self.admin.lock();
        if self.is_listed(name) {
            let error = SqlError::new(&messages::DATABASE_ALREADY_EXISTS, &[&name]);
            return Err(error.with_state(3));
        }
        let look = |f: &String| {
            self.may_place(f, everywhere)?;
            self.look(f)
        };
        let named = files.iter().map(look);
        let mut named: Vec<Found> = named.collect::<SqlResult<_>>()?;
        let not_primary = |shown: &str| SqlError::new(&messages::NOT_A_PRIMARY_FILE, &[&shown]);
        let first = named.first().ok_or_else(|| not_primary(name))?;
        if first.header.file_id != 1 || first.is_log() {
            return Err(not_primary(&first.shown));
        }
        let binding = first.header.binding;
        let version = version_of_file(&*self.engine.env.disk, &first.path);
        refuse_newer(name, version)?;
        let boot = self.read_page(&first.shown, &first.path, BOOT_PAGE)?;
        if !first.header.own || Boot::read(&boot).map_or(true, |b| b.own.is_none()) {
            let what = "CREATE DATABASE ... FOR ATTACH of a file that SQL Server has made";
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        }
        if named.iter().any(|f| f.header.binding != binding) {
            return Err(SqlError::new(&messages::FILES_MISMATCH, &[]));
        }
        self.not_here(&binding)?;
        let listed = self.listed_files(first)?;
        let (primary, first_shown) = (first.path.clone(), first.shown.clone());
        if !named.iter().any(Found::is_log) {
            let shown = first_shown.as_str();
            named.extend(self.sibling_logs(shown, &primary, &binding));
        }
        let id = self.next_id();
        let mut entry = DatabaseEntry {
            id,
            name: name.to_owned(),
            created: duramen_catalog::now(),
            compatibility_level: 160,
            options: 0,
            files: data_files(&listed, &named),
        };
        for log in named.iter().filter(|f| f.is_log()) {
            entry.files.push(log_file(log));
        }
        if !named.iter().any(Found::is_log) {
            let what = "CREATE DATABASE ... FOR ATTACH without a log file";
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        }
        self.rebind(&mut entry)?;
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.add(tx, &entry))?;
        self.open_again(entry)?;
        let missing = || SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&name]);
        let open = self.get(id).ok_or_else(missing)?;
        self.in_master(&open.catalog, forget)?;
        Ok(open)
    }

    /// Opens the database, with recovery, makes it this server's, and closes it.
    fn rebind(&self, entry: &mut DatabaseEntry) -> SqlResult<()> {
        let spec = OpenDatabase {
            // What its model is stands in its files: until that is known, nothing that a log backup needs is let go of.
            model: RecoveryModel::Full,
            restored: true,
            ..self.open_spec(entry)
        };
        let db = Database::open(&self.engine, &spec)?;
        let result = (|| {
            let catalog = CatalogDb::open(&db);
            let tx = self.transaction("attach");
            let kept = Registry::new(&catalog).list(&tx);
            self.engine.commit(&tx, None)?;
            if let Some(kept) = kept?.into_iter().next() {
                remember(entry, &kept);
            }
            db.start_recovery_model(duramen_access::database_options::model_of(entry.options));
            self.in_master(&catalog, |_, tx| {
                db.update_boot(tx, |b| {
                    b.name = entry.name.clone();
                    b.database_id = entry.id.0;
                })
            })?;
            super::lifecycle::follow(entry, &db);
            Ok(())
        })();
        match result {
            Ok(()) => db.close(),
            Err(e) => {
                db.detach();
                Err(e)
            }
        }
    }

    /// A file that was named. 5120 when it cannot be opened or is another database's, 5172 when it is no file of a
    /// database.
    fn look(&self, shown: &str) -> SqlResult<Found> {
        let path = self.resolve(shown);
        if self.engine.env.disk.is_open(&path) || self.database_with(&path).is_some() {
            let e = IoError::InUse;
            let args: [&dyn std::fmt::Display; 3] = [&shown, &e.code(), &e];
            return Err(SqlError::new(&messages::CANNOT_OPEN_FILE, &args));
        }
        let page = self.read_page(shown, &path, 0)?;
        let invalid = |property: &str| {
            let args: [&dyn std::fmt::Display; 2] = [&shown, &property];
            SqlError::new(&messages::FILE_HEADER_INVALID, &args)
        };
        let header = FileHeader::read(&page).map_err(|_| invalid("FileType"))?;
        // The double-write file of the server that had it may still be needed for a data file, and is not here.
        let log = header.filegroup == 0 && is_whole(&page);
        if verify(&page) != Verify::Ok && !log {
            return Err(invalid("PageAudit"));
        }
        let bytes = self.engine.env.disk.open(&path, &reading());
        let bytes = bytes.and_then(|f| f.len());
        Ok(Found {
            shown: shown.to_owned(),
            header,
            bytes: bytes.unwrap_or(0),
            path,
        })
    }

    fn read_page(&self, shown: &str, path: &Path, number: u32) -> SqlResult<Page> {
        let mut page: Page = [0; PAGE_BYTES];
        let file = self.engine.env.disk.open(path, &reading());
        let at = u64::from(number) * PAGE_BYTES as u64;
        file.and_then(|f| f.read_at(&mut page, at)).map_err(|e| {
            let args: [&dyn std::fmt::Display; 3] = [&shown, &e.code(), &e];
            SqlError::new(&messages::CANNOT_OPEN_FILE, &args)
        })?;
        Ok(page)
    }

    /// The data files that the primary one lists.
    fn listed_files(&self, primary: &Found) -> SqlResult<Vec<FileRow>> {
        let mut rows = Vec::new();
        for n in FILE_TABLE_PAGES {
            let page = self.read_page(&primary.shown, &primary.path, n)?;
            for (_, row) in table_rows(&page)? {
                if let TableRow::File(file) = row {
                    rows.push(file);
                }
            }
        }
        Ok(rows)
    }

    /// Log files of the database in the primary file's directory, by their numbers; shown as the primary file is.
    fn sibling_logs(&self, shown: &str, primary: &Path, binding: &[u8; 16]) -> Vec<Found> {
        let Some(dir) = primary.parent() else {
            return Vec::new();
        };
        let before = shown.rfind(['/', '\\']).map_or("", |at| &shown[..=at]);
        let all = self.engine.env.disk.list(dir).unwrap_or_default();
        let is_log = |p: &PathBuf| {
            let extension = p.extension().and_then(|e| e.to_str());
            extension.is_some_and(|e| e.eq_ignore_ascii_case("ldf"))
        };
        let names = all.into_iter().filter(is_log);
        let names = names.filter_map(|p| Some(p.file_name()?.to_string_lossy().into_owned()));
        // What is no log of this database is none of our business.
        let found = names.filter_map(|n| self.look(&format!("{before}{n}")).ok());
        let its = |f: &Found| f.is_log() && f.header.binding == *binding;
        let mut found: Vec<Found> = found.filter(its).collect();
        found.sort_by_key(|f| f.header.file_id);
        found
    }

    /// 40517 for a copy of a database that is here.
    fn not_here(&self, binding: &[u8; 16]) -> SqlResult<()> {
        for (entry, _) in self.listed() {
            let Some(primary) = entry.files.iter().find(|f| f.file_id == 1) else {
                continue;
            };
            let page = self.read_page(&primary.path, &self.resolve(&primary.path), 0);
            let header = page.ok().and_then(|p| FileHeader::read(&p).ok());
            if header.is_some_and(|h| h.binding == *binding) {
                let name = &entry.name;
                let what = format!("CREATE DATABASE ... FOR ATTACH of a copy of database '{name}'");
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
        }
        Ok(())
    }
}

fn reading() -> OpenOptions {
    OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    }
}

/// Empties a database's own list.
fn forget(own: &Registry<'_>, tx: &duramen_txn::Transaction) -> SqlResult<()> {
    let ids: Vec<DbId> = own.list(tx)?.iter().map(|e| e.id).collect();
    ids.into_iter().try_for_each(|id| own.remove(tx, id))
}

/// The rows of data files: where they were named, or else where they were.
fn data_files(listed: &[FileRow], named: &[Found]) -> Vec<FileEntry> {
    let row = |f: &FileRow| {
        let its = |n: &&Found| !n.is_log() && n.header.file_id == f.file_id;
        let found = named.iter().find(its);
        let file = NewFile {
            logical_name: f.logical_name.clone(),
            path: found.map_or_else(|| f.shown_path.clone(), |n| n.shown.clone()),
            size: found.map_or(0, |n| n.bytes),
            max_size: None,
            growth: DEFAULT_GROWTH,
            file_id: f.file_id,
        };
        file.entry(FileKind::Data)
    };
    listed.iter().map(row).collect()
}

/// The row of a log file, as far as the file itself tells.
fn log_file(found: &Found) -> FileEntry {
    let stem = found.path.file_stem().map(|s| s.to_string_lossy());
    let file = NewFile {
        logical_name: stem.unwrap_or_default().into_owned(),
        path: found.shown.clone(),
        size: found.bytes,
        max_size: None,
        growth: DEFAULT_GROWTH,
        file_id: found.header.file_id,
    };
    file.entry(FileKind::Log)
}

/// Takes over what was known of the database when it was detached.
fn remember(entry: &mut DatabaseEntry, kept: &DatabaseEntry) {
    entry.compatibility_level = kept.compatibility_level;
    entry.options = kept.options & !LEFT_BEHIND;
    for f in &mut entry.files {
        let old = kept.files.iter().find(|o| o.file_id == f.file_id);
        let Some(old) = old.filter(|o| o.kind == f.kind) else {
            continue;
        };
        f.logical_name = old.logical_name.clone();
        f.max_size = old.max_size;
        f.growth = old.growth;
        f.growth_percent = old.growth_percent;
        f.size = old.size;
    }
}
