//! Start and end of the databases of an instance.
//!
//! A first start makes the system databases and writes a marker last, so that a first start that was cut short begins
//! again. A later start opens `master`, then `model` and `msdb`, and makes `tempdb` anew over the files of its former life:
//! with these a server can work. What else `master` lists is opened after that, side by side, as recovery of one waits for
//! its own disk most of the time; until a database is open it is RECOVERING. Nothing may let go of log before all are open:
//! a database may have to look for a decision in the log of another.

mod damaged;
mod moved;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_access::database_options::option;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, DatabaseEntry, FileEntry, Registry};
use duramen_format::version::{refuse_newer, too_new};
use duramen_os::sync::{Condvar, Mutex, RwLock, channel};
use duramen_os::{Env, IoError, OpenOptions, thread};
use duramen_pool::{DOUBLEWRITE_VERSION, doublewrite_version};
use duramen_storage::version_of_file;
use duramen_storage::{CreateDatabase, Database, Engine, EngineConfig, Notice, remove_old_spills};
use duramen_txn::gate::GateHub;
use duramen_wal::Growth;

use crate::databases::{Databases, NewFile, StorageConfig, build, entry_of, number, os_error};

/// Where the first VLF of a log file begins.
const VLF_AT: u64 = 8192;
const MARKER: &str = "duramen.instance";
/// The marker is this and a number, which goes up when what a data directory consists of changes.
const MARKER_BEGINS: &str = "duramen ";
const MARKER_VERSION: u8 = 1;
const DOUBLEWRITE: &str = "duramen.dwb";
const MB: u64 = 1 << 20;
/// Where the logs of the system databases begin; those of others begin above model's.
const FIRST_LOG_SEQ: u32 = 31;
/// As SQL Server's setup: a data file of tempdb for each processor, but no more than this.
const MOST_TEMPDB_FILES: usize = 8;

type Files = (Vec<NewFile>, Vec<NewFile>);
type Opened = SqlResult<(Arc<Database>, Arc<CatalogDb>)>;
type OpenedMaster = (Arc<Database>, Arc<CatalogDb>, Vec<DatabaseEntry>);
type Job = Box<dyn FnOnce() -> Opened + Send>;

/// The part of the memory that operators may keep rows in; what they do not have pages have.
pub(crate) fn workspace_bytes(memory: u64) -> u64 {
    memory / 4
}

/// Whether databases are still being opened.
#[derive(Default)]
pub(crate) struct Opening {
    over: AtomicBool,
    done: Mutex<bool>,
    changed: Condvar,
}

impl Opening {
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn wait(&self) {
        let mut done = self.done.lock();
        while !*done {
            self.changed.wait(&mut done);
        }
    }

    fn end(&self) {
        *self.done.lock() = true;
        self.changed.notify_all();
    }
}

/// 948 when a newer server has made or upgraded what is in a data directory. Only read: nothing may be written before this is
/// known. A database of users is asked when it is opened.
pub fn refuse_newer_directory(env: &Env, dir: &Path) -> SqlResult<()> {
    let disk = &*env.disk;
    let mark = {
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let mut bytes = [0; 16];
        let mut read = || {
            let file = disk.open(&dir.join(MARKER), &options)?;
            let length = file.len()?.min(bytes.len() as u64) as usize;
            file.read_at(&mut bytes[..length], 0)
        };
        // One that is not there, or not whole yet, says nothing.
        let _ = read();
        bytes
    };
    let text = String::from_utf8_lossy(&mark);
    let number = text.strip_prefix(MARKER_BEGINS);
    let number = number.and_then(|n| n.split(['\n', '\0']).next()?.parse().ok());
    too_new("master", number, MARKER_VERSION)?;
    let doublewrite = dir.join(DOUBLEWRITE);
    let version = doublewrite_version(disk, &doublewrite);
    too_new(DOUBLEWRITE, version, DOUBLEWRITE_VERSION)?;
    for name in ["master", "model", "msdb"] {
        for extension in ["mdf", "ldf"] {
            let path = dir.join(format!("{name}.{extension}"));
            refuse_newer(name, version_of_file(disk, &path))?;
        }
    }
    Ok(())
}

/// What is opened when the server can already work.
#[derive(Default)]
pub struct Later(Vec<DatabaseEntry>);

impl Databases {
    /// Opens the system databases, with recovery where it is due; a first start makes them. [`Databases::open_later`] must
    /// follow. Lines for the server log go to `notice`.
    pub fn start(
        env: &Env,
        config: StorageConfig,
        notice: Option<Notice>,
    ) -> SqlResult<(Databases, Later)> {
        let disk = &env.disk;
        let dir = config.data_dir.clone();
        disk.create_dir_all(&dir).map_err(|e| os_error(&e, &dir))?;
        let marker = dir.join(MARKER);
        let fresh = !disk.exists(&marker);
        if fresh {
            for name in ["master", "model", "msdb"] {
                remove_files(env, &dir, name)?;
            }
        }
        remove_old_spills(env, &dir)?;
        let engine_config = EngineConfig {
            memory: config.memory,
            doublewrite_path: dir.join(DOUBLEWRITE),
        };
        let engine = Engine::new(env, &engine_config)?;
        engine.set_instant_file_init(config.instant_file_init);
        if let Some(notice) = notice {
            engine.set_notices(notice);
        }
        engine.start_background();
        let all = Databases {
            engine,
            gate: GateHub::new(),
            config,
            open: Arc::default(),
            unavailable: RwLock::new(BTreeMap::new()),
            admin: Mutex::new(()),
            generation: AtomicU64::new(1),
            opening: Opening::default(),
            stand_in: AtomicBool::new(false),
            tempdb_limits: OnceLock::new(),
        };
        let later = match fresh {
            true => all.make_system(env, &marker).map(|()| Later::default())?,
            false => all.open_system()?,
        };
        Ok((all, later))
    }

    fn file(&self, logical: &str, file: &str, mb: u64) -> NewFile {
        let path = self.config.data_dir.join(file);
        NewFile {
            path: path.to_string_lossy().into_owned(),
            logical_name: logical.to_owned(),
            size: mb * MB,
            max_size: None,
            growth: Growth::Bytes(64 * MB),
            file_id: 0,
        }
    }

    /// Data and log of master, model and msdb.
    pub fn system_files(&self, name: &str) -> Files {
        let (data, log) = match name {
            "master" => ("master", "mastlog"),
            "model" => ("modeldev", "modellog"),
            _ => ("MSDBData", "MSDBLog"),
        };
        numbered((
            vec![self.file(data, &format!("{name}.mdf"), 4)],
            vec![self.file(log, &format!("{name}.ldf"), 4)],
        ))
    }

    /// `tempdev`, `temp2`, ... and `templog`, named as SQL Server's setup names them.
    pub(crate) fn tempdb_files(&self) -> Files {
        let count = thread::available_parallelism().clamp(1, MOST_TEMPDB_FILES);
        let data = (1..=count)
            .map(|n| match n {
                1 => self.file("tempdev", "tempdb.mdf", 8),
                n => self.file(&format!("temp{n}"), &format!("tempdb_mssql_{n}.ndf"), 8),
            })
            .collect();
        numbered((data, vec![self.file("templog", "templog.ldf", 8)]))
    }

    /// As master lists it, or as at a first start.
    fn tempdb_spec(
        &self,
        kept: Option<&DatabaseEntry>,
    ) -> SqlResult<(CreateDatabase, DatabaseEntry)> {
        let mut files = kept.map_or_else(|| self.tempdb_files(), Databases::tempdb_listed);
        self.limit_tempdb(&mut files);
        let spec = self.create_spec(DbId::TEMPDB, "tempdb", (&files.0, &files.1), FIRST_LOG_SEQ)?;
        let entry = entry_of(DbId::TEMPDB, "tempdb", &files.0, &files.1);
        if kept.is_some() {
            self.note_tempdb(&entry);
        }
        Ok((spec, entry))
    }

    /// tempdb again, over its old files.
    pub(crate) fn make_tempdb_again(&self, old: DatabaseEntry) -> SqlResult<()> {
        let (spec, entry) = self.tempdb_spec(Some(&old))?;
        match self.build_job(spec)() {
            Ok((db, catalog)) => {
                self.admit(db, catalog, entry);
                self.unavailable.write().remove(&DbId::TEMPDB);
                Ok(())
            }
            Err(e) => {
                self.put_aside(old, e.clone());
                Err(e)
            }
        }
    }

    fn build_job(&self, spec: CreateDatabase) -> Job {
        let engine = self.engine.clone();
        Box::new(move || {
            if spec.id == DbId::TEMPDB {
                engine.notice("Clearing tempdb database.");
            }
            engine.notice(&format!("Starting up database '{}'.", spec.name));
            let built = build(&engine, &spec);
            if spec.id == DbId::TEMPDB {
                let files = spec.data.len();
                engine.notice(&format!("The tempdb database has {files} data file(s)."));
            }
            built
        })
    }

    fn open_job(&self, entry: &DatabaseEntry) -> Job {
        let (engine, spec) = (self.engine.clone(), self.open_spec(entry));
        Box::new(move || {
            engine.notice(&format!("Starting up database '{}'.", spec.name));
            let db = Database::open(&engine, &spec)?;
            let catalog = CatalogDb::open(&db);
            Ok((db, catalog))
        })
    }

    fn make_system(&self, env: &Env, marker: &Path) -> SqlResult<()> {
        let mut jobs = Vec::new();
        let mut entries = Vec::new();
        for (id, name) in [
            (DbId::MASTER, "master"),
            (DbId::MODEL, "model"),
            (DbId::MSDB, "msdb"),
        ] {
            let files = self.system_files(name);
            jobs.push(self.build_job(self.create_spec(
                id,
                name,
                (&files.0, &files.1),
                FIRST_LOG_SEQ,
            )?));
            let mut entry = entry_of(id, name, &files.0, &files.1);
            if id == DbId::MODEL {
                // What new databases begin with, as in every edition but Express.
                // <https://learn.microsoft.com/sql/relational-databases/databases/model-database>
                entry.options |= option::RECOVERY_FULL;
            }
            entries.push(entry);
        }
        let (spec, entry) = self.tempdb_spec(None)?;
        jobs.push(self.build_job(spec));
        entries.push(entry);
        let made = in_parallel("create database", jobs)
            .into_iter()
            .collect::<SqlResult<Vec<_>>>()?;
        for ((db, catalog), entry) in made.into_iter().zip(entries) {
            let open = self.admit(db, catalog, entry.clone());
            if open.db.id != DbId::TEMPDB {
                let master = self.master()?;
                self.in_master(&master.catalog, |r, tx| r.add(tx, &entry))?;
            }
        }
        let options = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = env
            .disk
            .open(marker, &options)
            .map_err(|e| os_error(&e, marker))?;
        let text = format!("{MARKER_BEGINS}{MARKER_VERSION}\n");
        file.write_at(text.as_bytes(), 0)
            .map_err(|e| os_error(&e, marker))?;
        file.sync().map_err(|e| os_error(&e, marker))?;
        env.disk
            .sync_dir(&self.config.data_dir)
            .map_err(|e| os_error(&e, marker))
    }

    /// Opens `master`, then side by side the other system databases, and makes tempdb. The rest is for later.
    fn open_system(&self) -> SqlResult<Later> {
        let (data, log) = self.system_files("master");
        let entry = entry_of(DbId::MASTER, "master", &data, &log);
        let (master, catalog, listed) = match self.open_master(&entry) {
            Ok(opened) => opened,
            Err(why) => return self.start_with_stand_in(&why),
        };
        let listed = self.follow_moved(&catalog, listed)?;
        let kept = listed.iter().find(|e| e.id == DbId::TEMPDB);
        let (tempdb, tempdb_entry) = self.tempdb_spec(kept)?;
        let mut master_entry = entry;
        let mut jobs = vec![self.build_job(tempdb)];
        let mut entries = vec![tempdb_entry];
        let (mut unfinished, mut emergencies) = (Vec::new(), Vec::new());
        let mut swapped = Vec::new();
        let mut later = Vec::new();
        for mut entry in listed {
            let bits = entry.options;
            // A log file that was being added counts if it was begun; the log has used it only if it was whole.
            let begun = |f: &FileEntry| !f.adding || self.log_file_begun(&f.path);
            entry
                .files
                .iter()
                .filter(|f| !begun(f))
                .for_each(|f| self.delete_file(&f.path));
            entry.files.retain(begun);
            entry.files.iter_mut().for_each(|f| f.adding = false);
            if bits & option::SWAPPING != 0 {
                if let Err(e) = self.swap_files(&entry) {
                    self.put_pending(entry, e);
                    continue;
                }
                entry.options &= !option::SWAPPING;
                swapped.push(entry.clone());
            }
            match entry.id {
                DbId::MASTER => master_entry = entry,
                DbId::TEMPDB => {}
                _ if bits & (option::CREATING | option::DROPPING) != 0 => unfinished.push(entry),
                _ if bits & option::RESTORING != 0 => self.set_restoring(entry),
                _ if bits & option::OFFLINE != 0 => self.set_offline(entry),
                _ if bits & option::EMERGENCY != 0 => emergencies.push(entry),
                id if id.0 > DbId::MSDB.0 => {
                    self.set_recovering(entry.clone());
                    later.push(entry);
                }
                _ => {
                    jobs.push(self.open_job(&entry));
                    entries.push(entry);
                }
            }
        }
        let opened = in_parallel("recover database", jobs);
        self.admit(master, catalog.clone(), master_entry);
        for (opened, entry) in opened.into_iter().zip(entries) {
            match opened {
                Ok((db, catalog)) => {
                    self.admit(db, catalog, entry);
                }
                Err(error) => self.without(entry, error)?,
            }
        }
        for entry in emergencies {
            self.open_emergency_at_start(entry);
        }
        // The files of another restore that does not come to its end would take their places at the next start.
        for entry in swapped {
            self.in_master(&catalog, |r, tx| r.replace(tx, &entry))?;
        }
        for entry in unfinished {
            self.delete_files(&entry);
            self.in_master(&catalog, |r, tx| r.remove(tx, entry.id))?;
        }
        Ok(Later(later))
    }

    /// `master`, and what it lists.
    fn open_master(&self, entry: &DatabaseEntry) -> SqlResult<OpenedMaster> {
        let (master, catalog) = self.open_job(entry)()?;
        let tx = self.transaction("startup");
        let listed = Registry::new(&catalog).list(&tx);
        self.engine.locks.release_all(&tx.owner);
        match listed {
            Ok(listed) => Ok((master, catalog, listed)),
            Err(e) => {
                master.detach();
                Err(e)
            }
        }
    }

    /// Opens what is left. Each database can be used as soon as it is open, but for those that wait for what another one's
    /// log says.
    pub fn open_later(&self, later: Later) {
        let mut entries: BTreeMap<usize, DatabaseEntry> = later.0.into_iter().enumerate().collect();
        let jobs = entries.values().map(|e| self.open_job(e)).collect();
        let mut waiting = Vec::new();
        run_side_by_side("recover database", jobs, &mut |at, opened| {
            let Some(entry) = entries.remove(&at) else {
                return;
            };
            match opened {
                Ok((db, catalog)) if db.waits_for().is_some() => waiting.push((db, catalog, entry)),
                Ok((db, catalog)) => self.opened(db, catalog, entry),
                Err(error) => self.not_opened(entry, error),
            }
        });
        for (db, catalog, entry) in waiting {
            match self.in_doubt(&db) {
                None => self.opened(db, catalog, entry),
                Some(error) => {
                    db.detach();
                    self.not_opened(entry, error);
                }
            }
        }
        for entry in entries.into_values() {
            self.not_opened(entry, panicked("recover database"));
        }
        self.open_standbys();
        self.opening.over.store(true, Ordering::SeqCst);
        for open in self.all() {
            open.db.set_truncate_on_checkpoint(true);
            // What the last checkpoints have made superfluous: restarts in quick succession would fill a log.
            open.db.truncate_log(false);
        }
        let complete = SqlError::new(&messages::RECOVERY_COMPLETE, &[]);
        self.engine.notice(&complete.message);
        self.opening.end();
    }

    fn opened(&self, db: Arc<Database>, catalog: Arc<CatalogDb>, entry: DatabaseEntry) {
        let id = entry.id;
        self.admit(db, catalog, entry);
        self.unavailable.write().remove(&id);
    }

    fn not_opened(&self, entry: DatabaseEntry, error: SqlError) {
        // Only what a server cannot be without is refused here, and that has been opened before.
        let _ = self.set_aside(entry, error);
    }

    /// Returns when every database is open, or known not to be.
    pub fn wait_until_open(&self) {
        self.opening.wait();
    }

    /// Whether a log file has its first VLF.
    fn log_file_begun(&self, shown: &str) -> bool {
        let mut header = [0; 512];
        let file = self
            .engine
            .env
            .disk
            .open(&self.resolve(shown), &OpenOptions::default());
        let read = file.and_then(|f| f.read_at(&mut header, VLF_AT));
        read.is_ok() && header.iter().any(|b| *b != header[0])
    }

    /// Checkpoints and closes everything: what users made first, then the system databases, tempdb last.
    ///
    /// Recoveries that are still under way are left to the next start.
    pub fn shutdown(&self) -> SqlResult<()> {
        self.engine.interrupt_recoveries();
        self.opening.wait();
        let mut all = self.all();
        all.sort_by_key(|d| match d.db.id {
            DbId::TEMPDB => (2, 0),
            DbId::MASTER => (1, 1),
            DbId(id @ ..=4) => (1, 6 - id),
            DbId(id) => (0, id),
        });
        let mut result = Ok(());
        for d in all {
            let closed = d.catalog.flush_identities().and_then(|()| d.db.close());
            result = result.and(closed);
        }
        self.open.write().clear();
        self.engine.stop_background();
        result
    }
}

fn numbered((mut data, mut log): Files) -> Files {
    number(
        &mut data.iter_mut().collect::<Vec<_>>(),
        &mut log.iter_mut().collect::<Vec<_>>(),
    );
    (data, log)
}

/// Runs the jobs on a few threads; the results are in the order of the jobs.
fn in_parallel(name: &str, jobs: Vec<Job>) -> Vec<Opened> {
    let count = jobs.len();
    let threads = count.min(2 * thread::available_parallelism());
    let queue: VecDeque<(usize, Job)> = jobs.into_iter().enumerate().collect();
    let queue = Arc::new(Mutex::new(queue));
    let results: Arc<Mutex<BTreeMap<usize, Opened>>> = Arc::default();
    let work = {
        let (queue, results) = (queue.clone(), results.clone());
        move || {
            loop {
                // The guard must not live as long as the job.
                let next = queue.lock().pop_front();
                let Some((at, job)) = next else { return };
                let result = job();
                results.lock().insert(at, result);
            }
        }
    };
    let handles: Vec<_> = (1..threads)
        .filter_map(|_| thread::try_spawn(name, work.clone()).ok())
        .collect();
    // The calling thread works too: also where no thread could be started, everything is done.
    work();
    for handle in handles {
        // A job that panicked has left no result.
        let _ = handle.join();
    }
    let mut results = std::mem::take(&mut *results.lock());
    (0..count)
        .map(|at| results.remove(&at).unwrap_or_else(|| Err(panicked(name))))
        .collect()
}

/// Runs the jobs on a few threads; the calling one is given each result as it comes. The result of a job that panicked
/// does not come.
fn run_side_by_side(name: &str, jobs: Vec<Job>, each: &mut dyn FnMut(usize, Opened)) {
    let threads = jobs.len().min(2 * thread::available_parallelism());
    let queue: VecDeque<(usize, Job)> = jobs.into_iter().enumerate().collect();
    let (sender, receiver) = channel(queue.len());
    let queue = Arc::new(Mutex::new(queue));
    let next = {
        let queue = queue.clone();
        move || queue.lock().pop_front()
    };
    let started = (0..threads).filter(|_| {
        let (next, sender) = (next.clone(), sender.clone());
        let work = move || {
            while let Some((at, job)) = next() {
                if sender.send((at, job())).is_err() {
                    return;
                }
            }
        };
        thread::try_spawn(name, work).is_ok()
    });
    let started = started.count();
    drop(sender);
    while started > 0
        && let Ok((at, opened)) = receiver.recv()
    {
        each(at, opened);
    }
    while let Some((at, job)) = next() {
        each(at, job());
    }
}

fn panicked(what: &str) -> SqlError {
    SqlError::new(&messages::RECOVERY_ERROR, &[&what, &0, &0])
}

fn remove_files(env: &Env, dir: &Path, name: &str) -> SqlResult<()> {
    for extension in ["mdf", "ldf"] {
        let path = dir.join(format!("{name}.{extension}"));
        match env.disk.remove(&path) {
            Ok(()) | Err(IoError::NotFound) => {}
            Err(e) => return Err(os_error(&e, &path)),
        }
    }
    Ok(())
}
