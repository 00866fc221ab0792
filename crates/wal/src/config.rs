//! What a log is made from, what it reports, and how it fails.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{DbId, FileId, Lsn, SqlError, messages};
use duramen_os::IoError;
use duramen_os::memory::Broker;

use crate::block::OpenBlock;
use crate::vlf::{Growth, LogProfile};

/// One file of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFileSpec {
    pub path: PathBuf,
    pub file_id: FileId,
    /// Its logical name, which the log itself does not ask for.
    pub name: String,
    /// Size in bytes when it is made; ignored at open (the file says).
    pub size: u64,
    pub max_size: Option<u64>,
    pub growth: Growth,
}

/// Called after a growth, by the thread that needed the room, which may hold latches: it must not append or wait.
pub type GrowHook = Arc<dyn Fn(&LogGrowth) + Send + Sync>;

/// Settings of a log.
#[derive(Clone)]
pub struct LogConfig {
    pub db_name: String,
    pub db_id: DbId,
    /// Until [`crate::Log::set_profile`] says otherwise.
    pub profile: LogProfile,
    /// Blocks are padded to a multiple of this: 512 or 4096.
    pub sector: u32,
    /// Sequence number of the first VLF of a new log: one more than the highest of `model`.
    pub first_seq: u32,
    /// After this long, records are hardened although nobody waits for them.
    pub harden_after: Duration,
    pub on_grow: Option<GrowHook>,
    /// The log dies with the process (tempdb): no call waits for the disk, files are made over what is there.
    pub volatile: bool,
    /// Who is told of what the log has in memory, and how much that may be.
    pub memory: Option<Arc<Broker>>,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            db_name: String::new(),
            db_id: DbId(0),
            profile: LogProfile::Native,
            sector: 4096,
            first_seq: 1,
            harden_after: Duration::from_millis(5),
            on_grow: None,
            volatile: false,
            memory: None,
        }
    }
}

impl fmt::Debug for LogConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogConfig")
            .field("db_name", &self.db_name)
            .field("profile", &self.profile)
            .field("sector", &self.sector)
            .finish_non_exhaustive()
    }
}

/// A growth that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogGrowth {
    pub file_id: FileId,
    pub old_bytes: u64,
    pub new_bytes: u64,
    /// Sizes of the VLFs added.
    pub vlfs: Vec<u64>,
    pub duration: Duration,
    pub automatic: bool,
}

/// What a shrink achieved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogShrink {
    pub old_bytes: u64,
    pub new_bytes: u64,
    pub removed_vlfs: usize,
    /// Why it stopped before the target; `None` when it did not.
    pub limit: Option<ShrinkLimit>,
}

/// What keeps a log file from shrinking further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShrinkLimit {
    /// The VLF at the end of the file is in use (message 9008).
    InUse,
    /// A log has at least two VLFs (message 9006).
    MinimumVlfs,
}

/// One row of `DBCC LOGINFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlfInfo {
    pub file_id: FileId,
    pub size: u64,
    pub offset: u64,
    pub seq: u32,
    /// 2 active, 0 unused or reusable.
    pub status: u8,
    /// 64, 128, or 0 when never used.
    pub parity: u8,
    pub create_lsn: Lsn,
}

/// How full the log is, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogSpace {
    /// The files without their header pages.
    pub total: u64,
    /// Active VLFs up to the write head; without `reserved`.
    pub used: u64,
    /// Set aside so that active transactions can roll back.
    pub reserved: u64,
}

/// Writes of log blocks since the log was opened, and how long they took together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WritePulse {
    pub writes: u64,
    pub nanos: u64,
}

impl WritePulse {
    /// What was written after `before`.
    #[must_use]
    pub fn since(self, before: WritePulse) -> WritePulse {
        WritePulse {
            writes: self.writes.saturating_sub(before.writes),
            nanos: self.nanos.saturating_sub(before.nanos),
        }
    }

    /// Nanoseconds of one write, when there were at least `enough`.
    pub fn mean(self, enough: u64) -> Option<u64> {
        (self.writes >= enough.max(1)).then(|| self.nanos / self.writes)
    }
}

/// What keeps a log from being truncated: from which LSN on it is needed, by whom. NULL: by nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogHolds {
    /// Recovery would begin here.
    pub checkpoint: Lsn,
    /// The oldest transaction that was active then.
    pub transaction: Lsn,
    /// No log backup has taken what follows.
    pub log_backup: Lsn,
    /// A backup is being taken.
    pub backup: Lsn,
}

impl LogHolds {
    /// The oldest record that is needed, NULL when none is, and who needs its VLF. Of several who need the same VLF the
    /// first of this list is named.
    pub fn oldest(&self) -> (Lsn, &'static str) {
        let all = [
            (self.log_backup, "LOG_BACKUP"),
            (self.backup, "ACTIVE_BACKUP_OR_RESTORE"),
            (self.transaction, "ACTIVE_TRANSACTION"),
            (self.checkpoint, "CHECKPOINT"),
        ];
        let needed = all.iter().filter(|(lsn, _)| !lsn.is_null());
        let Some(oldest) = needed.clone().map(|(lsn, _)| *lsn).min() else {
            return (Lsn::NULL, "NOTHING");
        };
        let who = needed.clone().find(|(lsn, _)| lsn.vlf == oldest.vlf);
        (oldest, who.map_or("NOTHING", |(_, who)| who))
    }
}

/// What a log tells those who wait for durability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DurableState {
    /// Everything up to and with this record is durable. Calls may overtake each other: take the maximum.
    Upto(Lsn),
    /// Nothing more will become durable.
    Poisoned,
}

/// What the end-of-log scan found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogScan {
    /// Where the next block begins.
    pub end: Lsn,
    /// The last record, NULL when there is none from the start on.
    pub last_record: Lsn,
    /// The oldest record that is still in the log.
    pub first: Lsn,
}

/// Reads along while the end of a log is looked for: recovery needs every block that the scan reads, and a log of a
/// gigabyte takes a second to read twice.
pub trait Watch {
    /// The scan is at the blocks from the checkpoint on, whose order is not proved yet. True when the watch has seen
    /// enough to say where its work begins.
    fn look(&mut self, block: &OpenBlock) -> bool;
    /// Where the work begins: no later than the checkpoint.
    fn begin(&mut self) -> Lsn;
    /// The bytes of log from where the work begins to the end of the last VLF in use: at least as many as will come.
    fn expect(&mut self, bytes: u64);
    /// The next block, which continues the one before. What was written behind the end of the log is never shown.
    fn block(&mut self, block: Arc<OpenBlock>);
}

/// Why the log refuses. Cheap to clone: one failed write is everybody's answer from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogError {
    /// No reusable VLF and no growth. `reason` is what holds truncation back (`log_reuse_wait_desc`).
    Full {
        db_name: String,
        reason: &'static str,
    },
    /// A write failed earlier: the log takes nothing any more, and what was not durable then never will be.
    Poisoned { db_name: String, cause: IoError },
    /// A read failed, or a file could not be made or opened.
    Io { path: PathBuf, cause: IoError },
    /// Bytes that must be there are not: the log is damaged before its end.
    Damaged {
        db_name: String,
        at: Lsn,
        what: &'static str,
    },
    /// There is no record with this LSN (any more).
    NotFound(Lsn),
    /// The record does not fit a block, or its length does not follow from its bytes.
    BadRecord,
    /// The log is shut down.
    Closed,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Full { db_name, reason } => {
                write!(f, "the log of '{db_name}' is full due to '{reason}'")
            }
            LogError::Poisoned { db_name, cause } => {
                write!(f, "the log of '{db_name}' is not available: {cause}")
            }
            LogError::Io { path, cause } => write!(f, "{}: {cause}", path.display()),
            LogError::Damaged { db_name, at, what } => {
                write!(f, "the log of '{db_name}' is damaged at {at}: {what}")
            }
            LogError::NotFound(lsn) => write!(f, "no log record {lsn}"),
            LogError::BadRecord => f.write_str("not a log record, or longer than a log block"),
            LogError::Closed => f.write_str("the log is shut down"),
        }
    }
}

impl std::error::Error for LogError {}

impl LogError {
    /// The error a client sees.
    pub fn to_sql(&self, db_name: &str) -> SqlError {
        match self {
            LogError::Full { db_name, reason } => {
                SqlError::new(&messages::LOG_FULL, &[db_name, reason])
            }
            LogError::Poisoned { db_name, .. } => {
                SqlError::new(&messages::LOG_UNAVAILABLE, &[db_name])
            }
            LogError::Closed => SqlError::new(&messages::LOG_UNAVAILABLE, &[&db_name]),
            LogError::Io {
                cause: IoError::GivenUp,
                ..
            } => SqlError::given_up(),
            LogError::Io { .. } | LogError::BadRecord => {
                SqlError::new(&messages::LOG_UNAVAILABLE, &[&db_name]).with_state(4)
            }
            LogError::Damaged { db_name, .. } => {
                SqlError::new(&messages::LOG_PROCESSING_ERROR, &[db_name])
            }
            LogError::NotFound(lsn) => SqlError::new(
                &messages::LOG_SCAN_INVALID,
                &[&lsn.to_decimal_text(), &db_name],
            ),
        }
    }
}
