//! A database that is in use, as it was at one moment: what DBCC looks at.
//!
//! 1. The log is held and a checkpoint taken, so that little is left to redo.
//! 2. The moment: while no page is on its way down, where the durable log ends is noted, and from then on whatever a data
//!    file is about to lose is kept in an overlay. Files and log are now exactly what a crash at that moment would have left
//!    behind, except that nothing is torn.
//! 3. The log from the checkpoint's oldest transaction to that end is laid into the overlay.
//! 4. The copy is opened there like any database after a crash, in an engine of its own with a small pool: redo, undo of
//!    what was not committed, a checkpoint. Nobody waits for it and it locks nothing of the original.
//!
//! So every run of DBCC is a rehearsal of crash recovery too, and what it says was true of one moment. It needs room for
//! what is overwritten while it lasts; see `overlay` for what happens when there is none.

use std::path::PathBuf;
use std::sync::Arc;

use duramen_base::{DbId, FileId, PageId, SqlError, SqlResult, messages};
use duramen_os::memory::{Account, Clerk};
use duramen_os::{Disk, Env, IoError, thread};
use duramen_wal::{Growth, LaidLog, LogError, LogFileSpec};

use duramen_pool::{DataFile, DataFileSpec, OverlayDisk, OverlayFile, io_error};

use duramen_storage::{Database, Engine, EngineConfig, OpenDatabase, RecoveryModel, log_header};

/// Bytes of the copy's buffer pool at most.
const POOL: u64 = 16 << 20;
const LOG_PIECE: usize = 1 << 20;
/// What the copy's log grows by: it is in the overlay only.
const LOG_GROWTH: u64 = 8 << 20;
/// The least that a copy is looked at with.
const SMALLEST_POOL: u64 = 2 << 20;

/// A sixteenth of the server's memory: what is remembered of the pages has more use for the rest. Less where there is no room
/// for it; the smallest is had in any case.
fn pool_within(held: &mut Account) -> u64 {
    let mut pool = (held.broker().limit() / 16).clamp(SMALLEST_POOL, POOL);
    while pool > SMALLEST_POOL && !held.hold(pool) {
        pool /= 2;
    }
    held.set(pool);
    pool
}

/// No database of a server has such a number.
const COPY: DbId = DbId(0x7ffe);

/// A copy of a database as of one moment.
pub struct Snapshot {
    disk: Arc<OverlayDisk>,
    engine: Arc<Engine>,
    data: Vec<DataFileSpec>,
    log: LogFileSpec,
    name: String,
    sector: u32,
    /// What the original's files are told to keep.
    watched: Vec<(Arc<DataFile>, Arc<OverlayFile>)>,
    /// For the copy's pool.
    _held: Account,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        for (file, watcher) in &self.watched {
            file.handle.unwatch(watcher);
        }
    }
}

/// The log is held as long as this lives.
struct Held<'a>(&'a Database, u64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release_log(self.1);
    }
}

impl Snapshot {
    /// The database as it is now; see the module. The log is let go of before it returns.
    pub fn take(db: &Database) -> SqlResult<Snapshot> {
        let Some(log) = db.log.as_ref().filter(|_| !db.store.temporary) else {
            let what = "A snapshot of tempdb";
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        };
        let log_failed = |e: LogError| e.to_sql(&db.name);
        let held = Held(db, db.hold_log());
        db.checkpoint()?;
        let (_, first) = db.last_checkpoint();
        db.hold_log_from(held.1, first);
        let log_file = log.file_paths().into_iter().next();
        let (log_id, log_path) = log_file.unwrap_or((FileId(2), PathBuf::new()));
        let spill = match db.store.files.read().first() {
            Some(f) => {
                let mut name = f.path.clone().into_os_string();
                name.push("_MSSQL_DBCC");
                PathBuf::from(name)
            }
            None => PathBuf::new(),
        };
        let mut held = db.engine.memory.account(Clerk::Utilities);
        let pool = pool_within(&mut held);
        let disk = OverlayDisk::new(&db.engine.env.disk, &spill);
        disk.follow(&db.engine.memory);
        let copy_env = Env::with_disk(disk.clone());
        let mut snapshot = Snapshot {
            disk: disk.clone(),
            engine: Engine::new(
                &copy_env,
                &EngineConfig {
                    memory: pool,
                    doublewrite_path: PathBuf::from("duramen.dwb"),
                },
            )?,
            data: Vec::new(),
            log: LogFileSpec {
                name: String::new(),
                path: log_path.clone(),
                file_id: log_id,
                size: 0,
                max_size: None,
                growth: Growth::Bytes(LOG_GROWTH),
            },
            name: db.name.clone(),
            sector: 512,
            // From the first one on the snapshot is there: whatever fails, its end lets go of the files.
            watched: Vec::new(),
            _held: held,
        };
        let watched = &mut snapshot.watched;
        // Files neither come nor go at the moment.
        let files = db.file_state.admin.lock();
        let end = db.engine.pool.at_rest(|| {
            let end = log.durable_end();
            for file in db.store.files.read().iter() {
                let made = file.handle.watch(|base| disk.put(&file.path, base));
                watched.push((file.clone(), made?));
            }
            Ok(end)
        });
        drop(files);
        snapshot.engine.recover_for_askers();
        let end = end.map_err(|e| io_error(&e, "open", PageId::NULL, &db.name))?;
        snapshot.data = db.files().into_iter().map(|f| f.spec).collect();
        // The VLFs that are needed, one behind the other in one file.
        let ranges = log.block_ranges(first, end).map_err(log_failed)?;
        let mut slots = Vec::new();
        let mut at = duramen_base::PAGE_BYTES as u64;
        for range in &ranges {
            let mut slot = range.slot;
            slot.file_id = log_id;
            slot.header.offset = at;
            at += slot.header.size;
            slots.push(slot);
        }
        snapshot.log.size = at;
        let header = log_header(&snapshot.log, &db.store.guid)?;
        let files = [(snapshot.log.clone(), header)];
        let mut laid = LaidLog::make(&copy_env, &files, &slots).map_err(log_failed)?;
        for (i, (range, slot)) in ranges.iter().zip(&slots).enumerate() {
            let begins = i == 0 && range.first_block > 16;
            let first_block = if begins { range.first_block } else { 0 };
            laid.place(slot, first_block).map_err(log_failed)?;
            let mut block = range.first_block;
            log.read_blocks(range, LOG_PIECE, |bytes| {
                if thread::is_given_up() {
                    let (path, cause) = (log_path.clone(), IoError::GivenUp);
                    return Err(LogError::Io { path, cause });
                }
                laid.write(slot.header.seq, block, bytes)?;
                block += (bytes.len() / 512) as u32;
                Ok::<(), LogError>(())
            })
            .map_err(log_failed)?;
        }
        Ok(snapshot)
    }

    /// Recovers the copy. It is to be closed before its pages are looked at.
    pub fn open(&self) -> SqlResult<Arc<Database>> {
        Database::open(
            &self.engine,
            &OpenDatabase {
                id: COPY,
                name: self.name.clone(),
                data: self.data.clone(),
                log: vec![self.log.clone()],
                sector: self.sector,
                model: RecoveryModel::Simple,
                restored: true,
            },
        )
    }

    /// Recovers the copy and closes it: from then on its files are what there was at the moment.
    pub fn recover(&self) -> SqlResult<()> {
        self.open()?.close()
    }

    /// Its files.
    pub fn disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    /// Paths of its data files, the first one first.
    pub fn data_paths(&self) -> Vec<PathBuf> {
        self.data.iter().map(|f| f.path.clone()).collect()
    }

    /// 5128 when something that was overwritten could not be kept: nothing that was found may be believed.
    pub fn still_good(&self) -> SqlResult<()> {
        match self.disk.is_broken() {
            false => Ok(()),
            true => {
                let e = duramen_os::IoError::NoSpace;
                Err(io_error(&e, "write", PageId::NULL, &self.name))
            }
        }
    }
}

/// A check that began at this moment (days since 1900-01-01 and ticks of 1/300 s) has found nothing.
pub fn set_last_good_check(db: &Database, when: (i32, u32)) -> SqlResult<()> {
    db.change_boot("DBCC", |b| {
        if let Some(own) = &mut b.own {
            own.last_good_check = when;
        }
    })
}
