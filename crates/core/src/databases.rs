//! The databases of an instance: found by name, described, made and taken away.
//!
//! `master` knows the others (`sysdbreg`). How they come and go with the server: `startup`; with statements: `lifecycle`.

mod attach;
mod emergency;
mod lifecycle;
pub mod media;
pub mod restored;
pub mod restored_pages;
mod standby;
mod swap;
mod tempdb;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, FileId, SessionId, SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileEntry, FileKind, Registry, same_name};
use duramen_os::IoError;
use duramen_os::sync::{Mutex, RwLock};
use duramen_pool::{DataFileSpec, FileGrowth};
use duramen_storage::{CreateDatabase, Database, Engine, OpenDatabase};
use duramen_txn::gate::GateHub;
use duramen_txn::{DelayedDurability, IsolationLevel, Transaction, TxnKind};
use duramen_types::CollationId;
use duramen_wal::{Growth, LogFileSpec, LogProfile};

use crate::places::{FilesConfig, resolve};
use crate::unavailable::Unavailable;

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
    /// Places and space for files.
    pub files: FilesConfig,
}

/// A filegroup of CREATE DATABASE; the first is PRIMARY and has no name.
#[derive(Clone, Debug)]
pub struct NewGroup {
    pub name: Option<String>,
    pub default: bool,
    pub files: Vec<NewFile>,
}

/// What CREATE DATABASE makes. The first file of the first group is file 1.
#[derive(Clone, Debug)]
pub struct NewDatabase {
    pub name: String,
    pub groups: Vec<NewGroup>,
    pub log: Vec<NewFile>,
    pub collation: u32,
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
    /// 0: not numbered yet.
    pub file_id: u16,
}

impl NewFile {
    /// A file as master lists it.
    pub fn of(f: &FileEntry) -> NewFile {
        NewFile {
            logical_name: f.logical_name.clone(),
            path: f.path.clone(),
            size: f.size.max(0) as u64 * PAGE,
            max_size: (f.max_size > 0).then(|| f.max_size as u64 * PAGE),
            growth: match (f.growth, f.growth_percent) {
                (0, _) => Growth::None,
                (n, true) => Growth::Percent(n.unsigned_abs()),
                (n, false) => Growth::Bytes(u64::from(n.unsigned_abs()) * PAGE),
            },
            file_id: f.file_id,
        }
    }

    /// The row of master; data files are PRIMARY's.
    pub fn entry(&self, kind: FileKind) -> FileEntry {
        let mut entry = FileEntry {
            file_id: self.file_id,
            kind,
            filegroup: i32::from(kind == FileKind::Data),
            logical_name: self.logical_name.clone(),
            path: self.path.clone(),
            size: (self.size / PAGE) as i32,
            max_size: self.max_size.map_or(-1, |m| (m / PAGE) as i32),
            growth: 0,
            growth_percent: false,
            adding: false,
        };
        set_growth(&mut entry, self.growth);
        entry
    }
}

/// A growth in the form of master's row.
pub fn set_growth(entry: &mut FileEntry, growth: Growth) {
    entry.growth_percent = matches!(growth, Growth::Percent(_));
    entry.growth = match growth {
        Growth::None => 0,
        Growth::Bytes(b) => (b / PAGE) as i32,
        Growth::Percent(p) => p as i32,
    };
}

/// A growth in the form of storage.
pub fn file_growth(growth: Growth) -> FileGrowth {
    match growth {
        Growth::None => FileGrowth::None,
        Growth::Bytes(b) => FileGrowth::Pages((b / PAGE) as u32),
        Growth::Percent(p) => FileGrowth::Percent(p),
    }
}

/// Numbers files as SQL Server does: 1 and 2 are the first data and the first log file, then the others in their order.
pub fn number(data: &mut [&mut NewFile], log: &mut [&mut NewFile]) {
    let mut next = 3;
    let mut rest = |files: &mut [&mut NewFile], first: u16| {
        for (i, f) in files.iter_mut().enumerate() {
            f.file_id = if i == 0 { first } else { next };
            next += u16::from(i > 0);
        }
    };
    rest(data, 1);
    rest(log, 2);
}

/// The databases that are open; shared with who names them in events.
pub type OpenDatabases = Arc<RwLock<BTreeMap<DbId, Arc<OpenDb>>>>;

pub struct Databases {
    pub engine: Arc<Engine>,
    pub gate: Arc<GateHub>,
    pub config: StorageConfig,
    pub open: OpenDatabases,
    /// Listed in `master`, and not open.
    pub(crate) unavailable: RwLock<BTreeMap<DbId, Arc<Unavailable>>>,
    /// One change of the list at a time.
    pub admin: Mutex<()>,
    /// Goes up with every database made or dropped.
    pub(crate) generation: AtomicU64,
    pub(crate) opening: crate::startup::Opening,
    /// See `startup::damaged`.
    pub(crate) stand_in: std::sync::atomic::AtomicBool,
    /// Of tempdb's files that have none of their own.
    pub(crate) tempdb_limits: OnceLock<tempdb::Limits>,
}

impl Databases {
    /// Where files of events are written and found.
    /// Where files without a path go, with the separator behind it: `SERVERPROPERTY('InstanceDefaultDataPath')`.
    pub fn data_dir_shown(&self) -> String {
        let dir = self.config.data_dir.to_string_lossy().into_owned();
        match dir.ends_with(std::path::MAIN_SEPARATOR) {
            true => dir,
            false => dir + std::path::MAIN_SEPARATOR_STR,
        }
    }

    pub fn event_folders(&self) -> crate::folders::Folders {
        let (config, disk) = (self.config.clone(), self.engine.env.disk.clone());
        crate::folders::Folders {
            disk: disk.clone(),
            log: self.config.data_dir.join("log"),
            resolve: Arc::new(move |path| resolve(&config, &*disk, path)),
        }
    }

    /// How an entry of `master` is opened.
    pub fn open_spec(&self, entry: &DatabaseEntry) -> OpenDatabase {
        let (mut data, mut log) = (Vec::new(), Vec::new());
        for f in &entry.files {
            let file = NewFile::of(f);
            match f.kind {
                FileKind::Data => data.push(self.data_spec(&file)),
                FileKind::Log => log.push(self.log_spec(&file)),
            }
        }
        OpenDatabase {
            id: entry.id,
            name: entry.name.clone(),
            data,
            log,
            sector: self.config.sector,
            model: duramen_access::database_options::model_of(entry.options),
            restored: false,
        }
    }

    pub(crate) fn admit(
        &self,
        db: Arc<Database>,
        catalog: Arc<CatalogDb>,
        mut entry: DatabaseEntry,
    ) -> Arc<OpenDb> {
        lifecycle::follow(&mut entry, &db);
        if let Some(log) = db.log() {
            self.gate.attach(db.id, log);
        }
        db.start_recovery_model(duramen_access::database_options::model_of(entry.options));
        db.set_truncate_on_checkpoint(self.opening.is_over() || db.id == DbId::TEMPDB);
        db.transactions
            .set_delayed_durability(durability_of(entry.options));
        duramen_access::versioning::admit(&db, entry.options);
        db.start_background();
        let open = Arc::new(OpenDb::new(db, catalog, entry));
        self.open.write().insert(open.db.id, open.clone());
        if self.opening.is_over() {
            open.db.set_truncate_on_checkpoint(true);
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        open
    }

    /// How a new database is made; its files must not be there yet, their directories must.
    pub(crate) fn create_spec(
        &self,
        id: DbId,
        name: &str,
        (data, log): (&[NewFile], &[NewFile]),
        first_log_seq: u32,
    ) -> SqlResult<CreateDatabase> {
        if id != DbId::TEMPDB {
            for f in data.iter().chain(log) {
                os_exists(self, &f.path)?;
            }
        }
        Ok(CreateDatabase {
            id,
            name: name.to_owned(),
            data: data.iter().map(|f| self.data_spec(f)).collect(),
            log: log.iter().map(|f| self.log_spec(f)).collect(),
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
                Err(e)
            }
        }
    }

    pub fn master(&self) -> SqlResult<Arc<OpenDb>> {
        self.get(DbId::MASTER)
            .ok_or_else(|| SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&"master"]))
    }

    pub fn transaction(&self, name: &'static str) -> Transaction {
        let owner = self.engine.locks.owner(SessionId(0));
        Transaction::new(
            &owner,
            TxnKind::Autocommit,
            name,
            IsolationLevel::ReadCommitted,
        )
    }

    pub fn data_spec(&self, f: &NewFile) -> DataFileSpec {
        DataFileSpec {
            path: self.resolve(&f.path),
            shown_path: f.path.clone(),
            logical_name: f.logical_name.clone(),
            file_id: f.file_id,
            filegroup: 1,
            size: (f.size / PAGE) as u32,
            max_size: f.max_size.map(|m| (m / PAGE) as u32),
            growth: file_growth(f.growth),
        }
    }

    pub fn log_spec(&self, f: &NewFile) -> LogFileSpec {
        LogFileSpec {
            name: f.logical_name.clone(),
            path: self.resolve(&f.path),
            file_id: FileId(f.file_id),
            size: f.size,
            max_size: f.max_size,
            growth: f.growth,
        }
    }

    /// `X:\a\b` through the drive map; any other letter is a folder of the data directory.
    pub fn resolve(&self, path: &str) -> PathBuf {
        resolve(&self.config, &*self.engine.env.disk, path)
    }

    pub fn get(&self, id: DbId) -> Option<Arc<OpenDb>> {
        self.open.read().get(&id).cloned()
    }

    pub fn find(&self, name: &str) -> Option<Arc<OpenDb>> {
        self.open
            .read()
            .values()
            .find(|d| same_name(&d.db.name, name))
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
        let mut all: Vec<_> = open.chain(gone.map(|u| (u.entry.clone(), None))).collect();
        all.sort_by_key(|(entry, _)| entry.id);
        all
    }

    /// Whether there is a database of that name, open or not.
    pub fn is_listed(&self, name: &str) -> bool {
        self.find(name).is_some() || self.find_unavailable(name).is_some()
    }

    pub fn next_id(&self) -> DbId {
        let (open, unavailable) = (self.open.read(), self.unavailable.read());
        (5..)
            .map(DbId)
            .find(|id| !open.contains_key(id) && !unavailable.contains_key(id))
            .unwrap_or(DbId(u16::MAX))
    }

    /// Goes up with every database made, dropped or taken offline.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Goes up with every schema change anywhere, those of tempdb counted only for who may see its tables.
    /// The compatibility level of a database, and its options.
    pub fn language_of(&self, name: &str) -> (u8, u64) {
        self.find(name).map_or((160, 0), |db| {
            let entry = db.entry.read();
            (entry.compatibility_level, entry.options)
        })
    }

    pub fn version(&self, temporary: bool) -> u64 {
        self.engine.definitions(temporary) + self.generation.load(Ordering::Acquire) * 1_000_000_007
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
    let data = data.iter().map(|f| f.entry(FileKind::Data));
    let log = log.iter().map(|f| f.entry(FileKind::Log));
    DatabaseEntry {
        id,
        name: name.to_owned(),
        created: duramen_catalog::now(),
        compatibility_level: 160,
        options: 0,
        files: data.chain(log).collect(),
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

/// 5133 when the directory of a new file is not there, 5170 when the file is, 1834 when it is a database's that has it not.
pub fn os_exists(databases: &Databases, shown: &str) -> SqlResult<()> {
    let path = databases.resolve(shown);
    let disk = &databases.engine.env.disk;
    if !disk.exists(path.parent().unwrap_or(Path::new("/"))) {
        let args: [&dyn std::fmt::Display; 2] =
            [&shown, &"2(The system cannot find the file specified.)"];
        return Err(SqlError::new(&messages::DIRECTORY_LOOKUP_FAILED, &args));
    }
    if disk.exists(&path) {
        return Err(SqlError::new(&messages::FILE_ALREADY_EXISTS, &[&shown]));
    }
    // Also a file that is not there may be a database's: tempdb's of the next start, one of a database that is offline.
    match databases.database_with(&path) {
        Some(name) => Err(SqlError::new(
            &messages::FILE_IN_USE_BY_DATABASE,
            &[&shown, &name],
        )),
        None => Ok(()),
    }
}
