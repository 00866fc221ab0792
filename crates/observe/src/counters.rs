//! Performance counters, declared once: those of the server and those of each database.
//!
//! A counter is here when some room counts it. Counters that are derived when asked for (sizes, ratios, totals over
//! databases) belong to the view that shows them, not to this list.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use duramen_base::DbId;
use duramen_os::sync::Global;
use duramen_os::thread::owner;

/// `cntr_type` of `sys.dm_os_performance_counters`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterKind {
    /// A value at a moment: 65792.
    Raw,
    /// A total that only rises; scripts take differences: 272696576.
    Bulk,
    /// A dividend, to be read with its base: 1073874176.
    Average,
    /// A part, to be read with its base, as percent: 537003264 (PERF_LARGE_RAW_FRACTION).
    Fraction,
    /// The base of an average or a fraction: 1073939712.
    Base,
    /// A sum of 100 ns that is read with its base, as seconds each: 805438464 (PERF_AVERAGE_TIMER).
    AverageTimer,
    /// The base of one: 1073939458.
    TimerBase,
    /// A sum of 100 ns; divided by the time between two looks it is the mean length of a queue: 5571840
    /// (PERF_COUNTER_100NS_QUEUELEN_TYPE).
    QueueTime,
}

impl CounterKind {
    pub const fn cntr_type(self) -> i32 {
        match self {
            CounterKind::Raw => 65_792,
            CounterKind::Bulk => 272_696_576,
            CounterKind::Average => 1_073_874_176,
            CounterKind::Fraction => 537_003_264,
            CounterKind::Base => 1_073_939_712,
            CounterKind::AverageTimer => 805_438_464,
            CounterKind::TimerBase => 1_073_939_458,
            CounterKind::QueueTime => 5_571_840,
        }
    }
}

/// `object_name` without its `SQLServer:`, which all but LogicalDisk have.
pub type CounterObject = &'static str;

/// A counter and what it stands at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterValue {
    pub object: CounterObject,
    pub name: &'static str,
    pub kind: CounterKind,
    pub value: i64,
}

macro_rules! counters {
    ($(#[$doc:meta])* $enum:ident { $($object:literal: $($id:ident = $name:literal $kind:ident,)*)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum $enum { $($($id,)*)* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($($enum::$id,)*)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The name in `sys.dm_os_performance_counters`.
            pub const fn name(self) -> &'static str {
                match self { $($($enum::$id => $name,)*)* }
            }

            pub const fn object(self) -> CounterObject {
                match self { $($($enum::$id)|* => $object,)* }
            }

            pub const fn kind(self) -> CounterKind {
                match self { $($($enum::$id => CounterKind::$kind,)*)* }
            }

            fn valued(self, value: i64) -> CounterValue {
                CounterValue { object: self.object(), name: self.name(), kind: self.kind(), value }
            }
        }
    };
}

counters! {
    /// Counters of the server.
    Counter {
        "Buffer Manager":
            CheckpointPages = "Checkpoint pages/sec" Bulk,
            LazyWrites = "Lazy writes/sec" Bulk,
            BackgroundWriterPages = "Background writer pages/sec" Bulk,
            FreeListStalls = "Free list stalls/sec" Bulk,
            PageReads = "Page reads/sec" Bulk,
            PageWrites = "Page writes/sec" Bulk,
            PageLookups = "Page lookups/sec" Bulk,
            ReadaheadPages = "Readahead pages/sec" Bulk,
            DatabasePages = "Database pages" Raw,
            TargetPages = "Target pages" Raw,
            PageLifeExpectancy = "Page life expectancy" Raw,
        "Access Methods":
            PagesAllocated = "Pages Allocated/sec" Bulk,
            PageSplits = "Page Splits/sec" Bulk,
            ExtentsAllocated = "Extents Allocated/sec" Bulk,
            ExtentDeallocations = "Extent Deallocations/sec" Bulk,
            PageDeallocations = "Page Deallocations/sec" Bulk,
            MixedPageAllocations = "Mixed page allocations/sec" Bulk,
            FullScans = "Full Scans/sec" Bulk,
            RangeScans = "Range Scans/sec" Bulk,
            ProbeScans = "Probe Scans/sec" Bulk,
            IndexSearches = "Index Searches/sec" Bulk,
            ForwardedRecords = "Forwarded Records/sec" Bulk,
            Workfiles = "Workfiles Created/sec" Bulk,
            Worktables = "Worktables Created/sec" Bulk,
            SkippedGhostedRecords = "Skipped Ghosted Records/sec" Bulk,
            TableLockEscalations = "Table Lock Escalations/sec" Bulk,
        "General Statistics":
            UserConnections = "User Connections" Raw,
            LogicalConnections = "Logical Connections" Raw,
            Logins = "Logins/sec" Bulk,
            Logouts = "Logouts/sec" Bulk,
            ConnectionResets = "Connection Reset/sec" Bulk,
            TempTablesCreated = "Temp Tables Creation Rate" Bulk,
        "SQL Statistics":
            BatchRequests = "Batch Requests/sec" Bulk,
            SqlCompilations = "SQL Compilations/sec" Bulk,
            SqlRecompilations = "SQL Re-Compilations/sec" Bulk,
            SqlAttentions = "SQL Attention rate" Bulk,
        "Latches":
            LatchWaits = "Latch Waits/sec" Bulk,
            LatchWaitTimeMs = "Total Latch Wait Time (ms)" Bulk,
            LatchWaitTimeAverage = "Average Latch Wait Time (ms)" Average,
            LatchWaitTimeBase = "Average Latch Wait Time Base" Base,
        "Locks":
            LockRequests = "Lock Requests/sec" Bulk,
            LockWaits = "Lock Waits/sec" Bulk,
            LockWaitTimeMs = "Lock Wait Time (ms)" Bulk,
            LockTimeouts = "Lock Timeouts/sec" Bulk,
            LockTimeoutsPositive = "Lock Timeouts (timeout > 0)/sec" Bulk,
            Deadlocks = "Number of Deadlocks/sec" Bulk,
            LockWaitTimeAverage = "Average Wait Time (ms)" Average,
            LockWaitTimeBase = "Average Wait Time Base" Base,
        "SQL Errors":
            ErrorsInfo = "Info Errors" Bulk,
            ErrorsUser = "User Errors" Bulk,
            ErrorsKillConnection = "Kill Connection Errors" Bulk,
    }
}

counters! {
    /// Counters of each database.
    DbCounter {
        "Databases":
            Transactions = "Transactions/sec" Bulk,
            WriteTransactions = "Write Transactions/sec" Bulk,
            LogBytesFlushed = "Log Bytes Flushed/sec" Bulk,
            LogFlushes = "Log Flushes/sec" Bulk,
            LogFlushWaits = "Log Flush Waits/sec" Bulk,
            LogFlushWaitTimeMs = "Log Flush Wait Time" Raw,
            LogFlushWriteTimeMs = "Log Flush Write Time (ms)" Raw,
            LogGrowths = "Log Growths" Raw,
            LogShrinks = "Log Shrinks" Raw,
            LogTruncations = "Log Truncations" Raw,
            LogCacheReads = "Log Cache Reads/sec" Bulk,
            LogPoolRequests = "Log Pool Requests/sec" Bulk,
            LogPoolCacheMisses = "Log Pool Cache Misses/sec" Bulk,
            LogPoolDiskReads = "Log Pool Disk Reads/sec" Bulk,
            BulkCopyRows = "Bulk Copy Rows/sec" Bulk,
            BackupRestoreBytes = "Backup/Restore Throughput/sec" Bulk,
            DbccScanBytes = "DBCC Logical Scan Bytes/sec" Bulk,
    }
}

/// Apart from its neighbours: lock requests and page lookups are counted from every core.
#[repr(align(64))]
struct Cell(AtomicI64);

static SERVER: [Cell; Counter::COUNT] = [const { Cell(AtomicI64::new(0)) }; Counter::COUNT];

#[derive(Default)]
struct DbCells([AtomicI64; DbCounter::COUNT]);

/// By owner ([`duramen_os::thread::owner`]) and database: instances of one process count apart.
static DATABASES: Global<BTreeMap<(u64, DbId), Arc<DbCells>>> = Global::new(BTreeMap::new());

/// Adds to a counter of the server.
#[inline]
pub fn count(counter: Counter, n: u64) {
    if !crate::RECORDS {
        return;
    }
    SERVER[counter as usize].0.fetch_add(n as i64, Relaxed);
}

/// Moves a value up or down (`Raw` counters).
#[inline]
pub fn gauge(counter: Counter, by: i64) {
    SERVER[counter as usize].0.fetch_add(by, Relaxed);
}

pub fn counter(counter: Counter) -> i64 {
    SERVER[counter as usize].0.load(Relaxed)
}

/// Every counter of the server.
pub fn counters() -> Vec<CounterValue> {
    let value = |&c: &Counter| c.valued(counter(c));
    Counter::ALL.iter().map(value).collect()
}

/// The counters of one database, for those who count often: no look-up.
#[derive(Clone)]
pub struct DbCounters(Arc<DbCells>);

impl std::fmt::Debug for DbCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DbCounters").finish_non_exhaustive()
    }
}

impl DbCounters {
    pub fn of(db: DbId) -> DbCounters {
        let key = (owner(), db);
        let found = DATABASES.read(|all| all.get(&key).cloned());
        let make = || DATABASES.write(|all| all.entry(key).or_default().clone());
        DbCounters(found.unwrap_or_else(make))
    }

    #[inline]
    pub fn count(&self, counter: DbCounter, n: u64) {
        self.gauge(counter, n as i64);
    }

    #[inline]
    pub fn gauge(&self, counter: DbCounter, by: i64) {
        if !crate::RECORDS {
            return;
        }
        self.0.0[counter as usize].fetch_add(by, Relaxed);
    }
}

/// Adds to a counter of a database.
pub fn count_db(db: DbId, counter: DbCounter, n: u64) {
    DbCounters::of(db).count(counter, n);
}

pub fn db_counter(db: DbId, counter: DbCounter) -> i64 {
    let load = |cells: &Arc<DbCells>| cells.0[counter as usize].load(Relaxed);
    DATABASES.read(|all| all.get(&(owner(), db)).map_or(0, load))
}

/// Every counter of every database of the calling thread's owner that has counted something.
pub fn db_counters() -> Vec<(DbId, Vec<CounterValue>)> {
    let owner = owner();
    let values = |(&(_, db), cells): (&(u64, DbId), &Arc<DbCells>)| {
        let value = |&c: &DbCounter| c.valued(cells.0[c as usize].load(Relaxed));
        (db, DbCounter::ALL.iter().map(value).collect())
    };
    DATABASES.read(|all| {
        all.iter()
            .filter(|((of, _), _)| *of == owner)
            .map(values)
            .collect()
    })
}

/// A database is gone; its number may come back for another one.
pub fn forget_db(db: DbId) {
    DATABASES.write(|all| all.remove(&(owner(), db)));
}
