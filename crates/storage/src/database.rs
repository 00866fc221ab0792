//! Making, opening and closing databases; commit and rollback.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, XdesId, messages};
use duramen_format::PageBytes;
use duramen_format::boot::{BOOT_PAGE, Boot, DATABASE_VERSION, OwnBoot};
use duramen_format::page::seal;
use duramen_format::version::refuse_newer;
use duramen_observe::FileIo;
use duramen_os::Env;
use duramen_os::sync::{Mutex, Rank, RwLock};
use duramen_os::time;
use duramen_pool::{DataFile, DataFileSpec, DbStore, PageWaits, logical_error};
use duramen_txn::txlog::{self, TransactionLog};
use duramen_txn::{CommitLsns, FixedHashMap, IsolationLevel, RecordLog, Transaction, TxnKind};
use duramen_wal::{Log, LogConfig, LogFileSpec, LogProfile};

use crate::backups::Backups;
use crate::checkpoint::NEW_TARGET_SECONDS;
use crate::configuration::{first_options, profile_number, profile_of};
use crate::dblog::DbLog;
use crate::engine::{Database, Engine, LogAccess};
use crate::files::DataFileInfo;
use crate::files::log_header::check_log_file;
use crate::files::make::{create_file, find_guid, read_boot, sync_parent};
use crate::files::state::ChangedExtents;
use crate::files::state::FileState;
use crate::files::table::{new_table, open_listed};
use crate::log_files::log_header;
use crate::marks::version_in;
use crate::recovery::{Found, Pass, RecoverySummary};
use crate::recovery_model::{RecoveryModel, Truncation};
use crate::row_counts::noted::CountState;
use crate::tempdb;

/// CREATE DATABASE, as storage needs it.
#[derive(Clone, Debug)]
pub struct CreateDatabase {
    pub id: DbId,
    pub name: String,
    /// Files of PRIMARY; the first is file 1. Other filegroups are added to the database when it is made.
    pub data: Vec<DataFileSpec>,
    pub log: Vec<LogFileSpec>,
    pub profile: LogProfile,
    /// Bytes that log blocks are padded to.
    pub sector: u32,
    /// Sequence number of the first VLF.
    pub first_log_seq: u32,
    pub collation: u32,
    pub compatibility_level: u16,
}

/// An existing database to open. Sizes and growth of data files are read from their headers, the list of data files from
/// the database itself: of `data` only the path of file 1 is needed. The paths of others say where they are now; files
/// that the database does not have (any more) are left out, and deleted when they are leftovers of its own.
#[derive(Clone, Debug)]
pub struct OpenDatabase {
    pub id: DbId,
    pub name: String,
    pub data: Vec<DataFileSpec>,
    pub log: Vec<LogFileSpec>,
    pub sector: u32,
    /// By which its log is let go of, from the first checkpoint on.
    pub model: RecoveryModel,
    /// The files come from a backup: a transaction that was prepared and whose end the backup does not have is undone.
    pub restored: bool,
}

/// Days since 1900-01-01 and ticks of 1/300 s: a `datetime`, as boot pages have it.
pub(crate) fn datetime_now() -> (i32, u32) {
    let now = u64::try_from(time::wall().unix_nanos()).unwrap_or(0);
    let [t0, t1, t2, t3, d0, d1, d2, d3] = duramen_wal::record::datetime_from_unix_ns(now);
    let days = i32::from_le_bytes([d0, d1, d2, d3]);
    (days, u32::from_le_bytes([t0, t1, t2, t3]))
}

impl Database {
    /// Makes the files with their fixed pages and an empty log, and opens the database. It has no table yet: the
    /// catalog makes sysallocunits first and names it with `set_boot_first_sysallocunits`.
    pub fn create(engine: &Arc<Engine>, spec: &CreateDatabase) -> SqlResult<Arc<Database>> {
        let guid = duramen_os::random::guid();
        let files = spec
            .data
            .iter()
            .map(|f| create_file(engine, spec.id, f, &guid, Lsn::NULL).map(Arc::new))
            .collect::<SqlResult<Vec<_>>>()?;
        let boot = Boot {
            version: DATABASE_VERSION,
            create_version: DATABASE_VERSION,
            status: 0,
            next_object_id: 0,
            created: datetime_now(),
            name: spec.name.clone(),
            database_id: spec.id.0,
            compatibility_level: spec.compatibility_level,
            checkpoint_lsn: Lsn::NULL,
            differential_base_lsn: Lsn::NULL,
            last_backup_lsn: Lsn::NULL,
            collation: spec.collation,
            first_sysallocunits: PageId::NULL,
            own: Some(OwnBoot {
                log_profile: profile_number(spec.profile),
                options: first_options(spec.id, spec.profile),
                database_guid: guid,
                family: guid,
                next_xdes: 1,
                target_recovery_seconds: NEW_TARGET_SECONDS,
                ..OwnBoot::default()
            }),
        };
        let mut page: PageBytes = [0; PAGE_BYTES];
        boot.format(&mut page)?;
        seal(&mut page);
        if let Some(first) = files.first() {
            first.write_page(BOOT_PAGE, &page)?;
            for (n, mut page) in new_table(&files, tempdb::is_temporary(spec.id))? {
                seal(&mut page);
                first.write_page(n, &page)?;
            }
        }
        if !tempdb::is_temporary(spec.id) {
            for file in &files {
                file.sync()?;
                sync_parent(engine, file)?;
            }
        }
        let log = create_log(engine, spec, &guid)?;
        let store = new_store(engine, &engine.env, spec.id, guid, files);
        store.files.read().iter().for_each(|f| f.count_for(spec.id));
        engine.pool.add_store(&store);
        let db = assemble(engine, &store, &spec.name, boot, log, XdesId(1));
        db.store.recovering.store(false, Ordering::SeqCst);
        if let Err(e) = db.count_all_free().and_then(|()| db.checkpoint()) {
            db.detach();
            return Err(e);
        }
        engine.register(&db);
        Ok(db)
    }

    /// Opens a database: torn pages are repaired, the log is replayed, losers are undone, a checkpoint is taken.
    pub fn open(engine: &Arc<Engine>, spec: &OpenDatabase) -> SqlResult<Arc<Database>> {
        Database::open_on(engine, &engine.env, spec)
    }

    /// The same with its files on a disk of its own.
    pub fn open_on(
        engine: &Arc<Engine>,
        env: &Env,
        spec: &OpenDatabase,
    ) -> SqlResult<Arc<Database>> {
        let primary = spec
            .data
            .iter()
            .find(|f| f.file_id == 1)
            .ok_or_else(|| SqlError::new(&messages::FILES_NOT_FOUND, &[]))?;
        let file = DataFile::open(env, primary)?;
        file.take_length()?;
        refuse_newer(&spec.name, version_in(&*file.handle))?;
        let files = vec![Arc::new(file)];
        // The binding in page 0 and the boot page may themselves be torn: the double-write file goes by the GUID that
        // either of them still shows.
        let guid = find_guid(&files, spec.id)?;
        let store = new_store(engine, env, spec.id, guid, files);
        // The list of files must be whole before it is read, and then their pages.
        if !store.standby {
            engine.pool.doublewrite.repair(&store)?;
        }
        open_listed(env, &store, &spec.data)?;
        if !store.standby {
            engine.pool.doublewrite.repair(&store)?;
            engine.pool.doublewrite.forget(&guid);
        }
        store.files.read().iter().for_each(|f| f.count_for(spec.id));
        engine.pool.add_store(&store);
        let progress = engine.begin_recovery(spec.id, &spec.name);
        let opened = Database::open_store(engine, spec, &store);
        progress.end();
        if opened.is_err() {
            // Nothing of it may be written down later: its files may be somebody else's by then.
            engine.pool.drop_store(spec.id);
            // What could not be written waits for the next attempt, which repairs by it.
            engine.pool.doublewrite.release(&guid);
        }
        opened
    }

    /// The rest of [`Database::open`]: the files are open and repaired.
    fn open_store(
        engine: &Arc<Engine>,
        spec: &OpenDatabase,
        store: &Arc<DbStore>,
    ) -> SqlResult<Arc<Database>> {
        let boot = read_boot(store)?;
        let config = log_config(engine, spec, &boot);
        for file in &spec.log {
            check_log_file(&store.env, file, &store.guid)?;
        }
        let mut pass = Pass::new(engine, store, boot.checkpoint_lsn);
        let start = boot.checkpoint_lsn;
        let log = Log::open_watched(&store.env, config, &spec.log, start, &mut pass);
        let found = pass.finish();
        let (log, _) = log.map_err(|e| e.to_sql(&spec.name))?;
        let opened = found.and_then(|found| {
            Database::open_recovered(engine, spec, store, (boot, log.clone()), found)
        });
        if opened.is_err() {
            // Its threads hold it, and with it the files.
            log.abandon();
        }
        opened
    }

    /// The rest of [`Database::open_store`]: the log is open, and what is in it is known.
    fn open_recovered(
        engine: &Arc<Engine>,
        spec: &OpenDatabase,
        store: &Arc<DbStore>,
        (boot, log): (Boot, Arc<Log>),
        found: Found,
    ) -> SqlResult<Arc<Database>> {
        let first = boot.own.as_ref().map_or(0, |o| o.log_first);
        if first > 0 {
            // Also an older checkpoint's log is there: a backup may have been restored.
            log.truncate(Lsn::new(first, 0, 0).min(found.from));
        }
        let next = XdesId(boot.own.as_ref().map_or(1, |o| o.next_xdes).max(1));
        let db = assemble(engine, store, &spec.name, boot, log, next);
        db.start_recovery_model(spec.model);
        db.raise_marks(&spec.log)?;
        let _ = db.recovered.set(db.recover(found, spec.restored)?);
        for f in &spec.data {
            if db.store.files.read().iter().all(|open| open.path != f.path) {
                db.delete_leftover_file(&f.path, f.file_id);
            }
        }
        engine.register(&db);
        for open in engine.open_databases() {
            let settled = open.resolve_in_doubt();
            // What another database cannot settle it keeps in doubt.
            if open.id == spec.id {
                settled?;
            }
        }
        Ok(db)
    }

    /// What recovery did when the database was opened; `None` for one that was made since.
    pub fn recovery_summary(&self) -> Option<RecoverySummary> {
        self.recovered.get().copied()
    }

    /// Takes a last checkpoint and ends the log. No transaction may be running. tempdb just ends.
    pub fn close(&self) -> SqlResult<()> {
        let result = if self.store.temporary {
            Ok(0)
        } else {
            self.last_checkpoint_of_all()
        };
        self.detach();
        result.map(|_| ())
    }

    /// A full log from which it would let go of nothing is left as it is: the next start recovers.
    fn last_checkpoint_of_all(&self) -> SqlResult<u32> {
        if self.admit_checkpoint().is_err() {
            self.access.flush(self.access.last_lsn())?;
            return Ok(0);
        }
        let closed = self.store_counts()?;
        if let Some(own) = &mut self.boot.lock().own {
            own.closed = closed;
        }
        self.checkpoint_unasked()
    }

    /// Lets go of everything without writing anything: DROP DATABASE, or a database that has failed.
    pub fn detach(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.engine.databases.write().remove(&self.id.0);
        self.engine.pool.drop_store(self.id);
        self.engine.pool.doublewrite.release(&self.store.guid);
        if let Some(log) = &self.log
            && let Err(e) = log.shutdown()
        {
            // The log has failed before: recovery at the next start knows what to do.
            let _ = e;
        }
    }

    /// The data files with their sizes.
    pub fn files(&self) -> Vec<DataFileInfo> {
        let files = self.store.files.read();
        files
            .iter()
            .map(|f| DataFileInfo {
                spec: f.spec.read().clone(),
                size: f.size.load(Ordering::SeqCst),
                free_extents: f.free_extents.load(Ordering::SeqCst),
            })
            .collect()
    }

    /// The reads and writes of each file in use, data and log.
    pub fn file_io(&self) -> Vec<Arc<FileIo>> {
        let files = self.store.files.read();
        let mut all: Vec<_> = files.iter().filter_map(|f| f.io()).collect();
        all.extend(self.log().map(|l| l.file_io()).unwrap_or_default());
        all
    }
}

impl Engine {
    pub(crate) fn register(&self, db: &Arc<Database>) {
        self.databases.write().insert(db.id.0, Arc::downgrade(db));
    }

    pub(crate) fn open_databases(&self) -> Vec<Arc<Database>> {
        let databases = self.databases.read();
        databases.values().filter_map(|d| d.upgrade()).collect()
    }

    /// An open database.
    pub fn database(&self, id: DbId) -> Option<Arc<Database>> {
        self.databases.read().get(&id.0)?.upgrade()
    }

    /// Commits: appends the records, gives dropped pages back, waits where COMMIT_WAIT says so, releases the locks.
    /// Durability is owed to the client up to the LSNs returned. `delayed` is COMMIT's DELAYED_DURABILITY option. An error
    /// with no parts left in `tx` (9001) comes after the decision: the restart knows, nobody may roll back.
    pub fn commit(&self, tx: &Transaction, delayed: Option<bool>) -> SqlResult<CommitLsns> {
        let parts = match tx.has_dropped_pages() {
            true => tx.ids(),
            false => Vec::new(),
        };
        if planted::on(Bug::LocksBeforeCommit) {
            self.locks.release_all(&tx.owner);
            duramen_os::thread::sleep(std::time::Duration::from_micros(200));
        }
        let lsns = match txlog::commit(tx, delayed) {
            Ok(lsns) => lsns,
            Err(e) => {
                if tx.is_in_doubt() {
                    self.locks.keep_for_ever(&tx.owner, &e);
                }
                return Err(e);
            }
        };
        // Before anybody gets at what the transaction has locked.
        if tx.has_defined() {
            tx.take_definitions()
                .iter()
                .for_each(|d| d.committed(&tx.owner));
        }
        for (db, xdes) in parts {
            if let Some(db) = self.database(db)
                && let Err(e) = db.release_chains(tx, xdes)
            {
                // The commit stands whatever happens here: the chains stay noted and go later.
                let _ = e;
            }
        }
        self.locks.release_all(&tx.owner);
        Ok(lsns)
    }
}

impl Database {
    /// A transaction for work of the engine's own.
    pub(crate) fn own_transaction(&self, name: &'static str) -> Transaction {
        let owner = self.engine.locks.owner(duramen_base::SessionId(0));
        Transaction::new(&owner, TxnKind::System, name, IsolationLevel::ReadCommitted)
    }
}

pub(crate) fn new_store(
    engine: &Engine,
    env: &Env,
    id: DbId,
    guid: [u8; 16],
    files: Vec<Arc<DataFile>>,
) -> Arc<DbStore> {
    Arc::new(DbStore {
        id,
        env: env.clone(),
        guid,
        files: RwLock::ranked(Rank::Files, files),
        log: OnceLock::new(),
        temporary: tempdb::is_temporary(id),
        standby: !Arc::ptr_eq(&env.disk, &engine.env.disk),
        recovering: AtomicBool::new(true),
        suspects: engine.suspects.clone(),
        page_waits: PageWaits::default(),
    })
}

pub(crate) fn assemble(
    engine: &Arc<Engine>,
    store: &Arc<DbStore>,
    name: &str,
    boot: Boot,
    log: Arc<Log>,
    next: XdesId,
) -> Arc<Database> {
    let id = store.id;
    let access = Arc::new(DbLog {
        log: log.clone(),
        name: name.to_owned(),
    });
    let _ = store.log.set(access.clone() as Arc<dyn RecordLog>);
    let db = Arc::new(Database {
        engine: engine.clone(),
        id,
        name: name.to_owned(),
        store: store.clone(),
        access: access.clone() as Arc<dyn LogAccess>,
        transactions: TransactionLog::new(id, access, next),
        boot: Mutex::ranked(Rank::Boot, boot),
        storages: RwLock::ranked(Rank::Units, FixedHashMap::default()),
        file_state: FileState::new(tempdb::is_temporary(id)),
        changed: ChangedExtents::default(),
        counts: CountState::default(),
        drops: Mutex::ranked(Rank::Drops, BTreeMap::new()),
        releasing: Mutex::ranked(Rank::Releasing, ()),
        lendings: crate::lendings::Lendings::default(),
        checkpoint_lock: Mutex::ranked(Rank::Checkpoint, ()),
        log_room: Mutex::new(()),
        calm: crate::calm::Calm::default(),
        owes_checkpoint: AtomicBool::new(false),
        checkpoint_waiters: AtomicU32::new(0),
        recovered: OnceLock::new(),
        truncate_on_checkpoint: AtomicBool::new(true),
        truncation: Truncation::default(),
        backups: Backups::default(),
        in_doubt: Mutex::new(Vec::new()),
        resolving: Mutex::new(()),
        closed: AtomicBool::new(false),
        shut: AtomicBool::new(false),
        log: Some(log),
    });
    db.follow_configuration();
    db
}

/// How the log of a database with this boot page is written.
pub(crate) fn log_config(engine: &Engine, spec: &OpenDatabase, boot: &Boot) -> LogConfig {
    let profile = boot.own.as_ref().map_or(0, |o| o.log_profile);
    LogConfig {
        db_name: spec.name.clone(),
        db_id: spec.id,
        profile: profile_of(profile),
        sector: spec.sector,
        memory: Some(engine.memory.clone()),
        ..LogConfig::default()
    }
}

fn create_log(engine: &Engine, spec: &CreateDatabase, guid: &[u8; 16]) -> SqlResult<Arc<Log>> {
    let config = LogConfig {
        db_name: spec.name.clone(),
        db_id: spec.id,
        profile: spec.profile,
        sector: spec.sector,
        first_seq: spec.first_log_seq.max(1),
        volatile: tempdb::is_temporary(spec.id),
        memory: Some(engine.memory.clone()),
        ..LogConfig::default()
    };
    let Some(first) = spec.log.first() else {
        return Err(logical_error(
            "no log file",
            "create",
            spec.id,
            PageId::NULL,
            "",
        ));
    };
    let log = Log::create(&engine.env, config, first, &log_header(first, guid)?)
        .map_err(|e| e.to_sql(&spec.name))?;
    let add = |file: &LogFileSpec| {
        let added = log.add_file(file, &log_header(file, guid)?);
        added.map_err(|e| e.to_sql(&spec.name))
    };
    match spec.log[1..].iter().try_for_each(add) {
        Ok(()) => Ok(log),
        Err(e) => {
            log.abandon();
            Err(e)
        }
    }
}
