//! The engine (one per server) and its databases: what the rest of the room hangs on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use duramen_base::{AllocUnitId, DbId, Lsn, PageId, SqlError, SqlResult, XdesId};
use duramen_format::boot::Boot;
use duramen_format::page::PageRef;
use duramen_os::Env;
use duramen_os::memory::Broker;
use duramen_os::sync::{Mutex, MutexGuard, Rank, RwLock};
use duramen_pool::{DbStore, DoubleWrite, PageRead, PageWrite, Pool, PoolStats, corrupt};
use duramen_txn::txlog::{Decision, TransactionLog};
use duramen_txn::{Entity, LockDuration, LockManager, LockMode, LockOutcome, Resource};
use duramen_txn::{FixedHashMap, RecordLog, Transaction, VersionStore};
use duramen_wal::LogHolds;
use duramen_wal::record::{FLAG_NORMAL, Lcx, RecordBuilder};

use crate::alloc::dropped::DroppedChain;
use crate::backups::Backups;
use crate::def::RowsetDef;
use crate::files::state::{ChangedExtents, FileState, PRIMARY};
use crate::fullness::FreeSpace;
use crate::operation_counts::Operations;
use crate::recovery::progress::Recoveries;
use crate::recovery::summary::RecoverySummary;
use crate::recovery_model::Truncation;
use crate::redo_speed::{CHECKPOINT_DEBT, RedoSpeed};
use crate::row_counts::noted::{CountState, RowCount};
use crate::temp_claims::TempSpace;

/// What the engine is started with.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Bytes that everything together may hold, pages first of all.
    pub memory: u64,
    /// `duramen.dwb`; files for rows that wait are made beside it.
    pub doublewrite_path: PathBuf,
}

/// Of the limit, what row versions may take at most.
const VERSIONS_PART: u64 = 4;

/// Takes a database that was shut down out of use and recovers it; must not wait for the caller.
pub type ShutDownHook = Box<dyn Fn(DbId, &SqlError) + Send + Sync>;

/// The buffer pool, the locks and the double-write file that all databases share.
pub struct Engine {
    pub env: Env,
    /// Everything that grows asks it.
    pub memory: Arc<Broker>,
    pub locks: Arc<LockManager>,
    /// What rows were before running and recent changes.
    pub versions: VersionStore,
    pub pool: Pool,
    pub(crate) databases: RwLock<BTreeMap<u16, Weak<Database>>>,
    pub(crate) instant_file_init: AtomicBool,
    pub(crate) extents_in_turn: AtomicU32,
    /// Minutes; 0 means 1.
    recovery_interval: AtomicU32,
    pub(crate) redo_speed: RedoSpeed,
    pub(crate) recoveries: Arc<Recoveries>,
    /// Dirty pages above which a recovery leaves its checkpoint to the background.
    pub(crate) checkpoint_debt: AtomicU32,
    pub suspects: duramen_pool::SharedSuspects,
    /// Told of a database that was shut down, and why.
    pub(crate) on_shut_down: OnceLock<ShutDownHook>,
    pub(crate) temp_space: TempSpace,
    /// Changes of definitions in all catalogs, and of those the ones in tempdb's.
    definitions: [AtomicU64; 2],
    /// The last number given to definitions that are not committed.
    drafts: AtomicU64,
}

impl Engine {
    /// A catalog says that definitions of `database` are not what they were.
    pub fn definitions_changed(&self, database: DbId) {
        self.definitions[usize::from(database == DbId::TEMPDB)].fetch_add(1, Ordering::AcqRel);
    }

    /// Goes up with every change of a definition in any catalog, those of tempdb counted only where asked for.
    pub fn definitions(&self, temporary: bool) -> u64 {
        let [permanent, tempdb] = &self.definitions;
        let seen = if temporary {
            tempdb.load(Ordering::Acquire)
        } else {
            0
        };
        permanent.load(Ordering::Acquire) + seen
    }

    /// A number for definitions that only one transaction sees: no others have had it.
    pub fn next_draft(&self) -> u64 {
        self.drafts.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn new(env: &Env, config: &EngineConfig) -> SqlResult<Arc<Engine>> {
        let doublewrite = DoubleWrite::open(env, &config.doublewrite_path)?;
        let memory = Broker::new(config.memory);
        let versions = VersionStore::new();
        versions.set_limit(config.memory / VERSIONS_PART);
        versions.follow(&memory);
        let locks = LockManager::new();
        locks.follow(&memory);
        let most = duramen_os::machine::memory_bytes();
        let directory = config.doublewrite_path.parent();
        let directory = directory.unwrap_or(Path::new(""));
        Ok(Arc::new(Engine {
            env: env.clone(),
            locks: Arc::new(locks),
            versions,
            pool: Pool::new(&memory, most, doublewrite)?,
            memory,
            databases: RwLock::new(BTreeMap::new()),
            instant_file_init: AtomicBool::new(true),
            definitions: Default::default(),
            drafts: AtomicU64::new(0),
            extents_in_turn: AtomicU32::new(1),
            recovery_interval: AtomicU32::new(0),
            redo_speed: RedoSpeed::default(),
            recoveries: Arc::default(),
            suspects: Arc::default(),
            on_shut_down: OnceLock::new(),
            temp_space: TempSpace::new(directory),
            checkpoint_debt: AtomicU32::new(CHECKPOINT_DEBT),
        }))
    }

    pub fn pool_stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// Pages of the pool that somebody uses at this moment.
    pub fn pages_in_use(&self) -> usize {
        self.pool.in_use()
    }

    /// The pages in memory, of all databases, in their order.
    pub fn buffered_pages(&self) -> Vec<duramen_pool::BufferedPage> {
        self.pool.contents()
    }

    /// Brings the counters of the Buffer Manager up to date; the lazy writer does it once a second.
    pub fn publish_counters(&self) {
        self.pool.publish();
    }

    /// Lets clean pages that nobody uses go: the next who wants them reads them from the disk. How many went.
    pub fn drop_clean_pages(&self) -> u64 {
        self.pool.drop_clean()
    }

    /// Bytes that everything together may hold from now on (`max server memory`); the pool gives what is above back in the
    /// background.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.memory.set_limit(bytes);
        self.versions.set_limit(bytes / VERSIONS_PART);
        self.locks.set_memory_limit(bytes);
        self.pool.call_lazy_writer();
    }

    /// `recovery interval (min)`: how long recovery of a database without a target may take; 0 is one minute.
    pub fn set_recovery_interval(&self, minutes: u32) {
        self.recovery_interval.store(minutes, Ordering::Relaxed);
    }

    pub(crate) fn recovery_interval_ms(&self) -> u64 {
        u64::from(self.recovery_interval.load(Ordering::Relaxed).max(1)) * 60_000
    }

    /// One turn of the lazy writer; returns when the next is due. The thread of [`Engine::start_background`] calls it.
    pub fn lazy_step(&self, now: duramen_os::time::Instant) -> SqlResult<Duration> {
        self.pool.lazy_step(now)
    }

    /// Starts the lazy writer's thread. It ends with [`Engine::stop_background`] or with the engine.
    pub fn start_background(self: &Arc<Engine>) {
        let weak = Arc::downgrade(self);
        let role = duramen_observe::background(duramen_observe::Duty::LazyWriter, None);
        let thread = duramen_os::thread::try_spawn("lazy writer", move || {
            let mut wait = Duration::ZERO;
            loop {
                let Some(engine) = weak.upgrade() else { return };
                if wait > Duration::ZERO {
                    let _idle = role.waits(duramen_observe::WaitType::LAZYWRITER_SLEEP);
                    if !engine.pool.wait_for_call(wait) {
                        return;
                    }
                }
                // A log or a disk that fails is met by whoever needs the frame; here it is tried again later.
                let step = engine.lazy_step(duramen_os::time::now());
                wait = step.unwrap_or(Duration::from_secs(1));
            }
        });
        // Without the thread whoever needs a frame finds one himself.
        drop(thread);
    }

    /// The lazy writer's thread ends soon.
    pub fn stop_background(&self) {
        self.pool.end();
    }
}

/// The log as recovery and undo read it, besides what transactions need of it.
pub trait LogAccess: RecordLog {
    fn read_one(&self, lsn: Lsn) -> SqlResult<Vec<u8>>;
    /// Calls `each` with the records from `from` on, in order, until it says false.
    fn scan_while(
        &self,
        from: Lsn,
        each: &mut dyn FnMut(Lsn, &[u8]) -> SqlResult<bool>,
    ) -> SqlResult<()>;
    /// Lets go of what nobody holds; with `free` false only says who holds what.
    fn truncate(&self, holds: LogHolds, free: bool);
}

/// First pages of an allocation unit, as sysallocunits has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StorageRoots {
    pub first_iam: PageId,
    pub root: PageId,
    pub first: PageId,
}

/// Where the next page of an allocation unit comes from.
#[derive(Debug, Default)]
pub(crate) struct AllocCursor {
    /// The extent in use: its first page and the next page to try.
    pub extent: Option<(PageId, u32)>,
    /// Extents found in the IAM chain have been looked at for free pages.
    pub scanned: bool,
    /// What `Storage::forgotten` was when this began.
    since: u64,
}

/// One allocation unit in memory.
#[derive(Debug)]
pub(crate) struct Storage {
    pub au: AllocUnitId,
    /// Structure: shared by everybody who walks the tree, exclusive for splits. How often it was exclusive: as long as
    /// that is the same, a leaf that was found is still the one.
    pub latch: RwLock<u64>,
    pub roots: Mutex<StorageRoots>,
    filegroup: AtomicU16,
    alloc: Mutex<AllocCursor>,
    /// How often what is remembered has become doubtful.
    forgotten: AtomicU64,
    /// The rightmost leaf, or the heap page that took the last row (page id packed); 0: unknown.
    pub hint: AtomicU64,
    pub rows: RowCount,
    /// The unit's chain has gone, and with it what is known here.
    gone: AtomicBool,
    /// Pages came or went since sysallocunits was told how many there are.
    pub pages_changed: AtomicBool,
    /// Heap and text pages that have room.
    pub free: Mutex<FreeSpace>,
    /// Rows marked deleted since the last cleanup.
    pub ghosts: AtomicU64,
    /// What was done to it.
    pub operations: Operations,
    /// The definition that was used last, and its address: what is kept here has no other's.
    def: Mutex<Option<Arc<RowsetDef>>>,
    def_at: AtomicUsize,
}

impl Storage {
    pub fn new(au: AllocUnitId, roots: StorageRoots) -> Storage {
        Storage {
            au,
            latch: RwLock::ranked(Rank::Tree, 0),
            roots: Mutex::ranked(Rank::Roots, roots),
            filegroup: AtomicU16::new(PRIMARY),
            alloc: Mutex::ranked(Rank::Allocation, AllocCursor::default()),
            forgotten: AtomicU64::new(0),
            hint: AtomicU64::new(0),
            rows: RowCount::default(),
            gone: AtomicBool::new(false),
            pages_changed: AtomicBool::new(false),
            free: Mutex::new(FreeSpace::default()),
            ghosts: AtomicU64::new(0),
            operations: Operations::default(),
            def: Mutex::new(None),
            def_at: AtomicUsize::new(0),
        }
    }

    /// Where its extents come from.
    pub fn filegroup(&self) -> u16 {
        self.filegroup.load(Ordering::Relaxed)
    }

    pub fn set_filegroup(&self, id: u16) {
        self.filegroup.store(id, Ordering::Relaxed);
    }

    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Whoever keeps it open looks for the unit again.
    pub fn goes(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// The definition that was used last.
    pub fn known_def(&self) -> Option<Arc<RowsetDef>> {
        self.def.lock().clone()
    }

    /// The unit is used under this definition.
    pub fn used_as(&self, def: &Arc<RowsetDef>) {
        let at = Arc::as_ptr(def).addr();
        if self.def_at.load(Ordering::Relaxed) != at {
            let mut known = self.def.lock();
            *known = Some(def.clone());
            self.def_at.store(at, Ordering::Relaxed);
        }
    }

    pub fn hint(&self) -> Option<PageId> {
        let h = self.hint.load(Ordering::Relaxed);
        (h != 0).then(|| PageId::new((h >> 32) as u16, h as u32))
    }

    pub fn set_hint(&self, page: PageId) {
        let packed = u64::from(page.file) << 32 | u64::from(page.page);
        self.hint.store(packed, Ordering::Relaxed);
    }

    /// Where the next page comes from, for whoever takes one. A cursor from before the last [`Storage::forget`] is empty.
    pub fn cursor(&self) -> MutexGuard<'_, AllocCursor> {
        let mut cursor = self.alloc.lock();
        let now = self.forgotten.load(Ordering::SeqCst);
        if cursor.since != now {
            *cursor = AllocCursor {
                since: now,
                ..AllocCursor::default()
            };
        }
        cursor
    }

    /// After a rollback of structure changes: nothing remembered may be believed. Waits for no cursor: whoever rolls back
    /// may hold one, because a file that had to grow for it could not.
    pub fn forget(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.hint.store(0, Ordering::Relaxed);
        self.free.lock().clear();
    }
}

/// One open database.
pub struct Database {
    pub engine: Arc<Engine>,
    pub id: DbId,
    pub name: String,
    pub store: Arc<DbStore>,
    pub access: Arc<dyn LogAccess>,
    /// The transactions of this database and the log they are written to.
    pub transactions: Arc<TransactionLog>,
    pub boot: Mutex<Boot>,
    pub(crate) storages: RwLock<FixedHashMap<AllocUnitId, Arc<Storage>>>,
    pub file_state: FileState,
    pub changed: ChangedExtents,
    pub(crate) counts: CountState,
    /// Page chains that go when their transaction commits, and those that have not gone yet: see `alloc::release`.
    pub(crate) drops: Mutex<BTreeMap<XdesId, Vec<DroppedChain>>>,
    /// One at a time gives chains back.
    pub(crate) releasing: Mutex<()>,
    /// Large values that are read where they lie.
    pub(crate) lendings: crate::lendings::Lendings,
    pub(crate) checkpoint_lock: Mutex<()>,
    /// Held by who makes room in a log that cannot grow.
    pub(crate) log_room: Mutex<()>,
    pub(crate) calm: crate::calm::Calm,
    /// Recovery has left its checkpoint to the background thread.
    pub(crate) owes_checkpoint: AtomicBool,
    /// Somebody waits for a checkpoint: one that is under way hurries.
    pub(crate) checkpoint_waiters: AtomicU32,
    pub(crate) recovered: OnceLock<RecoverySummary>,
    pub(crate) truncate_on_checkpoint: AtomicBool,
    pub(crate) truncation: Truncation,
    pub backups: Backups,
    /// Prepared transactions that recovery has found and whose coordinator was not open yet.
    pub(crate) in_doubt: Mutex<Vec<(Transaction, Decision)>>,
    /// Held while those are asked about: whoever comes meanwhile, because it has just opened the coordinator, finds what
    /// is left of them.
    pub(crate) resolving: Mutex<()>,
    pub(crate) closed: AtomicBool,
    /// A rollback has failed: nothing more is done here.
    pub(crate) shut: AtomicBool,
    pub log: Option<Arc<duramen_wal::Log>>,
}

impl Database {
    pub fn read_page(&self, page: PageId) -> SqlResult<PageRead<'_>> {
        self.engine.pool.read(&self.store, page)
    }

    pub(crate) fn write_page(&self, page: PageId) -> SqlResult<PageWrite<'_>> {
        self.engine.pool.write(&self.store, page)
    }

    pub(crate) fn write_new_page(&self, page: PageId) -> SqlResult<PageWrite<'_>> {
        self.engine.pool.write_new(&self.store, page)
    }

    /// 824 for a page that is not latched here, or is being changed; any other says so itself ([`duramen_pool::PageAt`]).
    pub(crate) fn corrupt(&self, page: PageId, e: duramen_format::FormatError) -> SqlError {
        corrupt(self.id, page, e)
    }

    /// Runs `work` as a system transaction under `tx`: committed on its own, or undone when it fails.
    pub fn system<T>(
        &self,
        tx: &Transaction,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let inner = tx.system(name);
        match work(&inner) {
            Ok(value) => {
                if inner.has_written() {
                    duramen_txn::txlog::commit(&inner, None)?;
                }
                Ok(value)
            }
            Err(e) => {
                // What remembers pages may remember pages that are given back now.
                for storage in self.storages.read().values() {
                    storage.forget();
                }
                self.undo_inner(&inner)?;
                Err(e)
            }
        }
    }

    /// The allocation unit in memory; made on the first use.
    pub(crate) fn storage(&self, au: AllocUnitId) -> Arc<Storage> {
        if let Some(s) = self.storages.read().get(&au) {
            return s.clone();
        }
        self.storages
            .write()
            .entry(au)
            .or_insert_with(|| Arc::new(Storage::new(au, StorageRoots::default())))
            .clone()
    }

    /// First pages of an allocation unit: what its sysallocunits row must say.
    pub fn roots(&self, au: AllocUnitId) -> StorageRoots {
        *self.storage(au).roots.lock()
    }

    /// The fields of the boot page.
    pub fn boot(&self) -> Boot {
        self.boot.lock().clone()
    }

    /// Changes fields of the boot page; logged.
    pub fn update_boot(&self, tx: &Transaction, f: impl FnOnce(&mut Boot)) -> SqlResult<()> {
        let id = PageId::new(1, duramen_format::boot::BOOT_PAGE);
        let mut boot = self.boot.lock();
        let mut page = self.write_page(id)?;
        let mut copy = *page.bytes();
        f(&mut boot);
        let p = page.page();
        p.sound(boot.write(&mut copy))?;
        let old = p.row(0)?.to_vec();
        let new = p.sound(PageRef::new(&copy).expect_record(0))?;
        let change = (0, old.as_slice(), new.bytes());
        self.replace_record(tx, id, &mut page, change, Lcx::BOOT_PAGE)
    }

    /// Says where sysallocunits begins: the anchor of the whole catalog.
    pub fn set_boot_first_sysallocunits(&self, tx: &Transaction, page: PageId) -> SqlResult<()> {
        self.update_boot(tx, |b| b.first_sysallocunits = page)
    }

    /// The next object part of an allocation unit id; never given twice, not even when `tx` is rolled back.
    pub fn next_alloc_unit(&self, tx: &Transaction) -> SqlResult<u32> {
        let mut given = 0;
        self.system(tx, "AllocUnitId", |sys| {
            self.update_boot(sys, |b| {
                if let Some(own) = &mut b.own {
                    own.next_alloc_unit = own.next_alloc_unit.max(256) + 1;
                    given = own.next_alloc_unit as u32;
                }
            })
        })?;
        Ok(given)
    }

    /// The log of the database.
    pub fn log(&self) -> Option<&Arc<duramen_wal::Log>> {
        self.log.as_ref()
    }

    /// Locks for `tx`, waiting as its LOCK_TIMEOUT allows. Never with a latch held.
    pub(crate) fn lock(
        &self,
        tx: &Transaction,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
    ) -> SqlResult<LockOutcome> {
        let outcome = self
            .engine
            .locks
            .lock_in(
                &tx.owner,
                entity,
                resource,
                mode,
                duration,
                tx.lock_timeout(),
            )
            .map_err(|e| lock_error(e, tx))?;
        if outcome.escalate {
            self.engine
                .locks
                .escalate(&tx.owner, self.id, entity.object);
        }
        Ok(outcome)
    }

    /// Locks without waiting; false when somebody is in the way. Allowed with a latch held.
    pub(crate) fn try_lock(
        &self,
        tx: &Transaction,
        entity: &Entity,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
    ) -> bool {
        self.engine
            .locks
            .try_lock_in(&tx.owner, entity, resource, mode, duration)
            .is_some()
    }

    /// A BEGIN-less record of `tx` about something that is not a page.
    pub(crate) fn note(&self, tx: &Transaction, record: RecordBuilder) -> SqlResult<Lsn> {
        self.note_reserving(tx, record, 192)
    }

    /// With so many bytes set aside for its undo.
    pub(crate) fn note_reserving(
        &self,
        tx: &Transaction,
        record: RecordBuilder,
        undo_reserve: u32,
    ) -> SqlResult<Lsn> {
        let mut bytes = record.flags(FLAG_NORMAL).finish(&[]);
        self.transactions.append(tx, &mut bytes, undo_reserve)
    }
}

/// The client's form of a lock failure, a cancelled wait among them.
pub fn lock_error(e: duramen_txn::LockError, tx: &Transaction) -> SqlError {
    duramen_txn::errors::lock_error(e, tx.spid()).unwrap_or_else(SqlError::given_up)
}
