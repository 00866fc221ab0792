//! The databases of an instance: made, opened, found by name.
//!
//! `master` knows the others (`sysdbreg`). How they come and go with the server: `startup`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{DbId, FileId, SessionId, SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileEntry, FileKind, Registry};
use duramen_os::IoError;
use duramen_os::sync::RwLock;
use duramen_storage::{CreateDatabase, DataFileSpec, Database, Engine, FileGrowth, OpenDatabase};
use duramen_txn::gate::GateHub;
use duramen_txn::{DelayedDurability, IsolationLevel, Transaction, TxnKind};
use duramen_types::CollationId;
use duramen_wal::{Growth, LogFileSpec, LogProfile};

use crate::unavailable::Unavailable;

/// Bits of `DatabaseEntry::options`, ours.
pub mod option {
    pub const RECOVERY_FULL: u64 = 1;
    pub const DELAYED_ALLOWED: u64 = 2;
    pub const DELAYED_FORCED: u64 = 4;
    pub const READ_COMMITTED_SNAPSHOT: u64 = 1 << 32;
    pub const ALLOW_SNAPSHOT: u64 = 1 << 33;
    /// What a new database takes over from model.
    pub const INHERITED: u64 = READ_COMMITTED_SNAPSHOT | ALLOW_SNAPSHOT;
}

const PAGE: u64 = 8192;

/// What `serve` was told about storage.
#[derive(Clone, Debug)]
pub struct StorageConfig {
    pub data_dir: PathBuf,
    /// `X:` paths of scripts.
    pub drives: BTreeMap<char, PathBuf>,
    /// Bytes of the buffer pool.
    pub memory: u64,
    pub profile: LogProfile,
    /// Log sector bytes: 512 or 4096.
    pub sector: u32,
    /// Whether the space of data files is only allocated, not written, when they are made and when they grow.
    pub instant_file_init: bool,
}

/// An open database with its catalog and its entry in `master`.
pub struct OpenDb {
    pub db: Arc<Database>,
    pub catalog: Arc<CatalogDb>,
    pub entry: RwLock<DatabaseEntry>,
}

/// A file as CREATE DATABASE describes it.
#[derive(Clone, Debug)]
pub struct NewFile {
    pub logical_name: String,
    /// As written.
    pub path: String,
    pub size: u64,
    pub max_size: Option<u64>,
    pub growth: Growth,
}

pub struct Databases {
    pub engine: Arc<Engine>,
    pub gate: Arc<GateHub>,
    pub config: StorageConfig,
    pub(crate) open: RwLock<BTreeMap<DbId, Arc<OpenDb>>>,
    /// Listed in `master`, and not to be opened.
    pub(crate) unavailable: RwLock<BTreeMap<DbId, Arc<Unavailable>>>,
    /// Goes up with every database made or dropped.
    pub(crate) generation: AtomicU64,
}

impl Databases {
    /// How an entry of `master` is opened.
    pub(crate) fn open_spec(&self, entry: &DatabaseEntry) -> OpenDatabase {
        let (mut data, mut log) = (Vec::new(), Vec::new());
        for f in &entry.files {
            let file = NewFile {
                logical_name: f.logical_name.clone(),
                path: f.path.clone(),
                size: f.size.max(0) as u64 * PAGE,
                max_size: (f.max_size > 0).then(|| f.max_size as u64 * PAGE),
                growth: match (f.growth, f.growth_percent) {
                    (0, _) => Growth::None,
                    (n, true) => Growth::Percent(n.unsigned_abs()),
                    (n, false) => Growth::Bytes(u64::from(n.unsigned_abs()) * PAGE),
                },
            };
            match f.kind {
                FileKind::Data => data.push(self.data_spec(&file, f.file_id)),
                FileKind::Log => log.push(self.log_spec(&file, f.file_id)),
            }
        }
        OpenDatabase {
            id: entry.id,
            name: entry.name.clone(),
            data,
            log,
            sector: self.config.sector,
        }
    }

    pub(crate) fn admit(
        &self,
        db: Arc<Database>,
        catalog: Arc<CatalogDb>,
        entry: DatabaseEntry,
    ) -> Arc<OpenDb> {
        if let Some(log) = db.log() {
            self.gate.attach(db.id, log);
        }
        // Without a log backup chain, which nothing can begin yet, FULL truncates at checkpoints as SIMPLE does.
        db.set_truncate_on_checkpoint(true);
        db.transactions
            .set_delayed_durability(durability_of(entry.options));
        crate::versioning::admit(&db, entry.options);
        db.start_background();
        let open = Arc::new(OpenDb {
            db,
            catalog,
            entry: RwLock::new(entry),
        });
        self.open.write().insert(open.db.id, open.clone());
        self.generation.fetch_add(1, Ordering::AcqRel);
        open
    }

    /// Makes a database and lists it in `master`.
    pub fn make(
        &self,
        id: DbId,
        name: &str,
        files: &(Vec<NewFile>, Vec<NewFile>),
    ) -> SqlResult<Arc<OpenDb>> {
        let spec = self.create_spec(id, name, files, self.first_log_seq())?;
        let (db, catalog) = build(&self.engine, &spec)?;
        let mut entry = entry_of(id, name, &files.0, &files.1);
        if let Some(model) = self.get(DbId::MODEL) {
            entry.options |= model.entry.read().options & option::INHERITED;
        }
        let master = self.master()?.catalog.clone();
        if let Err(e) = self.in_master(&master, |r, tx| r.add(tx, &entry)) {
            db.detach();
            return Err(e);
        }
        Ok(self.admit(db, catalog, entry))
    }

    /// How a new database is made; its files must not be there yet, their directories must.
    pub(crate) fn create_spec(
        &self,
        id: DbId,
        name: &str,
        files: &(Vec<NewFile>, Vec<NewFile>),
        first_log_seq: u32,
    ) -> SqlResult<CreateDatabase> {
        let (data, log) = files;
        let data_ids = (0..data.len()).map(|i| if i == 0 { 1 } else { i + 2 } as u16);
        let data_specs: Vec<DataFileSpec> = data
            .iter()
            .zip(data_ids)
            .map(|(f, n)| self.data_spec(f, n))
            .collect();
        let log_ids = (0..log.len()).map(|i| if i == 0 { 2 } else { data.len() + i + 1 } as u16);
        let log_specs: Vec<LogFileSpec> = log
            .iter()
            .zip(log_ids)
            .map(|(f, n)| self.log_spec(f, n))
            .collect();
        for path in data_specs
            .iter()
            .map(|d| &d.path)
            .chain(log_specs.iter().map(|l| &l.path))
        {
            let parent = path.parent().unwrap_or(Path::new("/"));
            if !self.engine.env.disk.exists(parent) {
                let args: [&dyn std::fmt::Display; 2] = [
                    &path.display(),
                    &"2(The system cannot find the file specified.)",
                ];
                return Err(SqlError::new(&messages::DIRECTORY_LOOKUP_FAILED, &args));
            }
            if id != DbId::TEMPDB && self.engine.env.disk.exists(path) {
                return Err(SqlError::new(
                    &messages::FILE_ALREADY_EXISTS,
                    &[&path.display()],
                ));
            }
        }
        Ok(CreateDatabase {
            id,
            name: name.to_owned(),
            data: data_specs,
            log: log_specs,
            profile: self.config.profile,
            sector: self.config.sector,
            first_log_seq,
            collation: CollationId::DEFAULT.0,
            compatibility_level: 160,
        })
    }

    /// A new log begins one above the highest sequence number of model's.
    fn first_log_seq(&self) -> u32 {
        let model = self.get(DbId::MODEL);
        let highest = model.and_then(|m| {
            m.db.log()
                .map(|l| l.vlfs().iter().map(|v| v.seq).max().unwrap_or(0))
        });
        highest.unwrap_or(30) + 1
    }

    /// Changes the registry in a transaction of its own, durable when it returns.
    pub fn in_master(
        &self,
        master: &CatalogDb,
        change: impl FnOnce(&Registry<'_>, &Transaction) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let tx = self.transaction("registry");
        match change(&Registry::new(master), &tx) {
            Ok(()) => {
                self.engine.commit(&tx, None)?;
                match master.database().log() {
                    Some(log) => log.flush_all().map_err(|e| e.to_sql("master")),
                    None => Ok(()),
                }
            }
            Err(e) => {
                self.engine.rollback(&tx, None)?;
                master.invalidate();
                Err(e)
            }
        }
    }

    pub fn master(&self) -> SqlResult<Arc<OpenDb>> {
        self.get(DbId::MASTER)
            .ok_or_else(|| SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&"master"]))
    }

    pub(crate) fn transaction(&self, name: &str) -> Transaction {
        let owner = self.engine.locks.owner(SessionId(0));
        Transaction::new(
            &owner,
            TxnKind::Autocommit,
            name,
            IsolationLevel::ReadCommitted,
        )
    }

    fn data_spec(&self, f: &NewFile, file_id: u16) -> DataFileSpec {
        DataFileSpec {
            path: self.resolve(&f.path),
            shown_path: f.path.clone(),
            logical_name: f.logical_name.clone(),
            file_id,
            filegroup: 1,
            size: (f.size / PAGE) as u32,
            max_size: f.max_size.map(|m| (m / PAGE) as u32),
            growth: match f.growth {
                Growth::None => FileGrowth::None,
                Growth::Bytes(b) => FileGrowth::Pages((b / PAGE) as u32),
                Growth::Percent(p) => FileGrowth::Percent(p),
            },
        }
    }

    fn log_spec(&self, f: &NewFile, file_id: u16) -> LogFileSpec {
        LogFileSpec {
            path: self.resolve(&f.path),
            file_id: FileId(file_id),
            size: f.size,
            max_size: f.max_size,
            growth: f.growth,
        }
    }

    /// `X:\a\b` through the drive map; any other letter is a folder of the data directory.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let mut chars = path.chars();
        let (Some(letter), Some(':')) = (chars.next(), chars.next()) else {
            return PathBuf::from(path);
        };
        let letter = letter.to_ascii_uppercase();
        let root = match self.config.drives.get(&letter) {
            Some(dir) => dir.clone(),
            None => self.config.data_dir.join("drives").join(letter.to_string()),
        };
        let rest = chars.as_str().replace('\\', "/");
        let full = root.join(rest.trim_start_matches('/'));
        if let Some(parent) = full.parent() {
            // A directory that cannot be made is found missing when the file is made.
            let _ = self.engine.env.disk.create_dir_all(parent);
        }
        full
    }

    pub fn get(&self, id: DbId) -> Option<Arc<OpenDb>> {
        self.open.read().get(&id).cloned()
    }

    pub fn find(&self, name: &str) -> Option<Arc<OpenDb>> {
        self.open
            .read()
            .values()
            .find(|d| d.db.name.to_lowercase() == name.to_lowercase())
            .cloned()
    }

    pub fn all(&self) -> Vec<Arc<OpenDb>> {
        self.open.read().values().cloned().collect()
    }

    /// Every database with what is known of it; those that are not open have no second part.
    pub fn listed(&self) -> Vec<(DatabaseEntry, Option<Arc<OpenDb>>)> {
        let entry = |d: Arc<OpenDb>| (d.entry.read().clone(), Some(d.clone()));
        let open = self.all().into_iter().map(entry);
        let gone = self.unavailable().into_iter();
        open.chain(gone.map(|u| (u.entry.clone(), None))).collect()
    }

    pub fn next_id(&self) -> DbId {
        let (open, unavailable) = (self.open.read(), self.unavailable.read());
        (5..)
            .map(DbId)
            .find(|id| !open.contains_key(id) && !unavailable.contains_key(id))
            .unwrap_or(DbId(u16::MAX))
    }

    /// Drops a database and its files.
    pub fn remove(&self, db: &Arc<OpenDb>) -> SqlResult<()> {
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.remove(tx, db.db.id))?;
        self.open.write().remove(&db.db.id);
        self.gate.detach(db.db.id);
        db.db.detach();
        for f in &db.entry.read().files {
            let path = self.resolve(&f.path);
            match self.engine.env.disk.remove(&path) {
                Ok(()) | Err(IoError::NotFound) => {}
                Err(e) => return Err(os_error(&e, &path)),
            }
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Goes up with every schema change anywhere.
    pub fn version(&self) -> u64 {
        let schema: u64 = self.open.read().values().map(|d| d.catalog.version()).sum();
        schema + self.generation.load(Ordering::Acquire) * 1_000_000_007
    }
}

pub fn durability_of(options: u64) -> DelayedDurability {
    if options & option::DELAYED_FORCED != 0 {
        DelayedDurability::Forced
    } else if options & option::DELAYED_ALLOWED != 0 {
        DelayedDurability::Allowed
    } else {
        DelayedDurability::Disabled
    }
}

pub(crate) fn entry_of(id: DbId, name: &str, data: &[NewFile], log: &[NewFile]) -> DatabaseEntry {
    let entry = |f: &NewFile, file_id: usize, kind: FileKind| FileEntry {
        file_id: file_id as u16,
        kind,
        filegroup: i32::from(kind == FileKind::Data),
        logical_name: f.logical_name.clone(),
        path: f.path.clone(),
        size: (f.size / PAGE) as i32,
        max_size: f.max_size.map_or(-1, |m| (m / PAGE) as i32),
        growth: match f.growth {
            Growth::None => 0,
            Growth::Bytes(b) => (b / PAGE) as i32,
            Growth::Percent(p) => p as i32,
        },
        growth_percent: matches!(f.growth, Growth::Percent(_)),
    };
    let mut files = Vec::new();
    files.extend(
        data.iter()
            .enumerate()
            .map(|(i, f)| entry(f, if i == 0 { 1 } else { i + 2 }, FileKind::Data)),
    );
    files.extend(log.iter().enumerate().map(|(i, f)| {
        entry(
            f,
            if i == 0 { 2 } else { data.len() + i + 1 },
            FileKind::Log,
        )
    }));
    DatabaseEntry {
        id,
        name: name.to_owned(),
        created: duramen_catalog::now(),
        compatibility_level: 160,
        options: 0,
        files,
    }
}

/// The files of a new database, with an empty catalog.
pub(crate) fn build(
    engine: &Arc<Engine>,
    spec: &CreateDatabase,
) -> SqlResult<(Arc<Database>, Arc<CatalogDb>)> {
    let db = Database::create(engine, spec)?;
    let made = CatalogDb::create(&db).and_then(|catalog| db.checkpoint().map(|_| catalog));
    match made {
        Ok(catalog) => Ok((db, catalog)),
        Err(e) => {
            db.detach();
            Err(e)
        }
    }
}

/// 5123: the operating system refused.
pub fn os_error(e: &IoError, path: &Path) -> SqlError {
    let code = format!("{}({e})", e.code());
    SqlError::new(&messages::CREATE_FILE_OS_ERROR, &[&code, &path.display()])
}
