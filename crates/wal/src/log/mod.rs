//! A log at work.
//!
//! ```text
//! append -> open block -> sealed queue -> flights (up to four writes at once) -> durable prefix
//!           (memory)      (memory, <= 8 MB)  any order of completion             in log order
//! ```
//! Appends go to the open block beside each other, without a lock ([`head`]). One mutex guards everything else; an append
//! comes to it when its block is full. No file is touched while it is held.
//! Whoever needs durability writes: [`Log::flush`] takes the next batch itself when no write is in flight (or
//! much waits), and otherwise waits; one flusher thread per log does the same for those who only asked ([`Log::request_flush`])
//! and for records that nobody asked for within `harden_after`, and has up to two helpers while megabytes wait.
//!
//! Invariants
//! 1. The queue and the flights are in log order; the durable LSN moves only over the completed front of the flights.
//!    [assert: log/1]
//! 2. A block is written once. Its VLF's header is durable before the block is submitted. [assert: log/2]
//! 3. Flights hold at most [`WINDOW`] bytes, so that nothing of the current generation lies further beyond the end of
//!    the log than that: recovery clears this much before it appends ([`open`]). [assert: log/3]
//! 4. The chain (previous block's CRC32C) is made in log order: only one thread seals at a time (`sealing`). [assert: log/4]
//! 5. An error of a write or sync poisons: `poisoned` is set once, the durable LSN stays where it is for ever. [assert: log/5]
//! 6. `free_bytes` is the room of the reusable VLFs, and an append that could not be undone within the room that is
//!    left is refused (or grows the log) before it is made. [assert: log/6]

mod ahead;
mod buffers;
mod copy;
mod flush;
mod gather;
mod grow;
#[allow(unsafe_code, reason = "appends copy into disjoint parts of one buffer")]
mod head;
mod headers;
mod lay;
mod open;
mod outside;
mod read;
mod remove;
mod room;
mod scan;
mod shrink;
mod sleepers;
mod state;
mod verify;

#[cfg(test)]
mod ahead_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod exhaustive_tests;
#[cfg(test)]
mod flip_tests;
#[cfg(test)]
mod gather_tests;
#[cfg(test)]
mod many_tests;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use duramen_base::{FileId, Lsn};
use duramen_observe::events::{
    DatabasesLogFileUsedSizeChanged, DatabasesLogFlushWait, LogFlushRequested, LogTruncation, emit,
};
use duramen_observe::{DbCounter, DbCounters, FileIo, WaitType, wait};
use duramen_os::sync::{Condvar, Mutex, MutexGuard, RwLock};
use duramen_os::{Env, thread};

use crate::block::MAX_RECORD_BYTES;
use crate::config::{
    DurableState, LogConfig, LogError, LogFileSpec, LogHolds, LogScan, LogSpace, VlfInfo, Watch,
    WritePulse,
};
use crate::planted::{Bug, Planted};
use crate::record::RecordView;
use crate::vlf::HEADER_BYTES;

pub use ahead::LogPreparation;
pub use copy::{BlockRange, VlfSlot};
pub use grow::MIN_GROWTH;
use head::Head;
pub use lay::LaidLog;
use open::Bounds;
pub use outside::LogFileReader;
pub use read::{LogReader, LogRecord};
use state::{Room, State};
pub use verify::{LogFinding, LogReport, verify_file};

/// Writes in flight at once.
const DEPTH: usize = 4;
/// A second write starts beside another only when this much waits. Measured: small writes side by side gain nothing (a
/// device with a volatile cache flushes one after the other) and make smaller groups; large ones double the bandwidth.
const PARALLEL_BYTES: usize = 64 << 10;
/// Most bytes in flight, completed ones behind an incomplete one included.
pub(crate) const WINDOW: u64 = 8 << 20;
/// Most bytes of one write.
const BATCH_BYTES: usize = 1 << 20;
/// Sealed blocks that wait: beyond this, appends wait for the disk (LOGBUFFER).
const QUEUE_BYTES: usize = 8 << 20;
/// Sealed bytes from which the flusher starts although nobody asked.
const EAGER_BYTES: usize = 512 << 10;

type Subscriber = Box<dyn Fn(DurableState) + Send + Sync>;

/// The log of one database.
pub struct Log {
    env: Env,
    cfg: LogConfig,
    planted: Planted,
    counters: DbCounters,
    read_last: Mutex<Option<read::ReadLast>>,
    head: Arc<Head>,
    tight: Arc<AtomicBool>,
    state: Mutex<State>,
    /// Something became durable, or failed, or there is room again.
    progress: Condvar,
    /// There is work for the flusher.
    work: Condvar,
    subscribers: RwLock<Vec<Subscriber>>,
    flusher: Mutex<Option<thread::JoinHandle<()>>>,
    /// Those who write along while much waits.
    helpers: Mutex<Vec<thread::JoinHandle<()>>>,
    pulse: Pulse,
    /// Bytes that the background growth under way has written.
    written: AtomicU64,
    /// The background growth that was started last.
    grower: Mutex<Option<thread::JoinHandle<()>>>,
}

/// Behind [`Log::write_pulse`].
#[derive(Default)]
struct Pulse {
    writes: AtomicU64,
    nanos: AtomicU64,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("cfg", &self.cfg)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Makes a log file and the log in it. `header_page` is the caller's page 0.
    pub fn create(
        env: &Env,
        cfg: LogConfig,
        spec: &LogFileSpec,
        header_page: &[u8; 8192],
    ) -> Result<Arc<Log>, LogError> {
        Log::create_planted(env, cfg, spec, header_page, Planted::default())
    }

    /// Opens a log: finds its end, starts a new epoch, clears what was in flight. `start` is the LSN of the boot page's
    /// checkpoint; NULL scans from the oldest record.
    pub fn open(
        env: &Env,
        cfg: LogConfig,
        files: &[LogFileSpec],
        start: Lsn,
    ) -> Result<(Arc<Log>, LogScan), LogError> {
        Log::open_planted(env, cfg, files, start, Lsn::NULL, Planted::default())
    }

    /// [`Log::open`] with somebody who reads along, from as far before `start` as the watch wants to begin.
    pub fn open_watched(
        env: &Env,
        cfg: LogConfig,
        files: &[LogFileSpec],
        start: Lsn,
        watch: &mut dyn Watch,
    ) -> Result<(Arc<Log>, LogScan), LogError> {
        let bounds = Bounds {
            start,
            stop: Lsn::NULL,
        };
        Log::open_within(env, cfg, files, bounds, Planted::default(), Some(watch))
    }

    /// [`Log::open`] of a restored log: it ends before the block of `stop`, whatever an interrupted restore has left
    /// behind it. `Damaged` when it does not reach that far.
    pub fn open_restored(
        env: &Env,
        cfg: LogConfig,
        files: &[LogFileSpec],
        start: Lsn,
        stop: Lsn,
    ) -> Result<(Arc<Log>, LogScan), LogError> {
        Log::open_planted(env, cfg, files, start, stop, Planted::default())
    }

    /// Appends a complete record (see [`crate::record`]) and gives its LSN; it is not yet durable.
    ///
    /// `undo_reserve` bytes are set aside for the record that would undo it, until [`Log::release_reserve`]. A record
    /// without reserve (compensation, commit, checkpoint) may use what others reserved, so that rollback never fails
    /// for want of room. May wait for a growth or for the disk when eight megabytes are queued.
    pub fn append(&self, record: &[u8], undo_reserve: u32) -> Result<Lsn, LogError> {
        self.append_record(record, undo_reserve, undo_reserve > 0)
    }

    /// As [`Log::append`], for a record that asks even when nothing is to be set aside: it is refused where it would take
    /// what is kept for others.
    pub fn append_asking(&self, record: &[u8], undo_reserve: u32) -> Result<Lsn, LogError> {
        self.append_record(record, undo_reserve, true)
    }

    fn append_record(&self, record: &[u8], undo_reserve: u32, asks: bool) -> Result<Lsn, LogError> {
        if RecordView::parse(record).map(|v| v.length()) != Some(record.len()) {
            return Err(LogError::BadRecord);
        }
        if record.len() > MAX_RECORD_BYTES {
            return Err(LogError::BadRecord);
        }
        let reserve = u64::from(undo_reserve);
        loop {
            if let Some(lsn) = self.head.append(record, reserve, asks) {
                if self.head.take_idle() {
                    // The flusher looks at the head under the mutex before it sleeps.
                    drop(self.state.lock());
                    self.work.notify_one();
                }
                return Ok(lsn);
            }
            // Others may take what is made before this one does: it asks again.
            self.make_room(record.len().next_multiple_of(8), reserve, asks)?;
        }
    }

    /// The head refused a record: a new block, VLF or growth, or a wait for the disk.
    fn make_room(&self, need: usize, reserve: u64, asks: bool) -> Result<(), LogError> {
        let mut s = self.state.lock();
        match s.make_room(need, reserve, asks)? {
            Room::Made => {}
            Room::NeedsSpace => s = self.make_space(s)?,
            Room::QueueFull => s = self.wait_for_queue(s),
        }
        if std::mem::take(&mut s.wake_flusher) {
            drop(s);
            self.work.notify_one();
        }
        Ok(())
    }

    /// The last record that is durable together with all before it.
    pub fn durable_lsn(&self) -> Lsn {
        self.state.lock().durable.lsn
    }

    /// The last record appended.
    pub fn last_lsn(&self) -> Lsn {
        self.head.last().unwrap_or_else(|| self.state.lock().last())
    }

    /// Where the next record will be at the earliest; for checkpoints that need a position, not a record.
    pub fn next_lsn(&self) -> Lsn {
        self.state.lock().next_lsn()
    }

    /// Asks for everything up to `lsn` to become durable soon; does not wait.
    pub fn request_flush(&self, lsn: Lsn) {
        let mut s = self.state.lock();
        let lsn = lsn.min(s.last());
        if lsn > s.durable.lsn && lsn > s.durable.wanted {
            s.durable.wanted = lsn;
            drop(s);
            self.work.notify_one();
            self.report_request(lsn);
        }
    }

    /// Somebody asks for what is not durable yet.
    fn report_request(&self, lsn: Lsn) {
        emit(|| LogFlushRequested {
            database_id: u64::from(self.cfg.db_id.0),
            log_block_id: u64::from(lsn.vlf) << 32 | u64::from(lsn.block),
        });
    }

    /// As [`Log::request_flush`], by a caller who has nothing else to do: writes a batch itself when nobody else writes,
    /// which saves the hand-over to the flusher. Returns when that batch is written, or at once.
    pub fn help_flush(&self, lsn: Lsn) {
        let mut s = self.state.lock();
        let lsn = lsn.min(s.last());
        if lsn <= s.durable.lsn || s.poisoned.is_some() || s.closed || self.cfg.volatile {
            return;
        }
        let news = lsn > s.durable.wanted;
        s.durable.want(lsn);
        if s.flights.writing == 0
            && let Some(batch) = s.take_batch()
        {
            self.write_batch(s, batch, Lsn::MAX);
            return;
        }
        drop(s);
        if news {
            self.work.notify_one();
        }
    }

    /// Returns when everything up to `lsn` is durable, writing it itself when nobody else does. An `lsn` beyond the
    /// last record means the last record. A volatile log has nothing to wait for.
    pub fn flush(&self, lsn: Lsn) -> Result<(), LogError> {
        let s = self.state.lock();
        let lsn = lsn.min(s.last());
        if s.durable.lsn >= lsn {
            return Ok(());
        }
        s.check()?;
        if self.cfg.volatile {
            return Ok(());
        }
        self.counters.count(DbCounter::LogFlushWaits, 1);
        let wait = wait(WaitType::WRITELOG);
        self.report_request(lsn);
        emit(|| DatabasesLogFlushWait {
            database_id: u64::from(self.cfg.db_id.0),
            count: 1,
        });
        let result = self.flush_locked(s, lsn);
        let waited = wait.elapsed().as_millis() as u64;
        self.counters.count(DbCounter::LogFlushWaitTimeMs, waited);
        result
    }

    /// [`Log::flush`] of everything appended so far.
    pub fn flush_all(&self) -> Result<(), LogError> {
        self.flush(Lsn::MAX)
    }

    /// `f` is called with every move of the durable LSN and once when the log is poisoned, by the thread that saw it;
    /// it must be quick and must not call back into the log.
    pub fn subscribe_durable(&self, f: Subscriber) {
        self.subscribers.write().push(f);
    }

    /// Marks the VLFs reusable that hold only records before `min_lsn`. Writes nothing. Returns how many.
    pub fn truncate(&self, min_lsn: Lsn) -> usize {
        let too_far = self.planted.on(Bug::TruncatesNeeded);
        let mut state = self.state.lock();
        let before = state.log_space().used;
        let freed = state.truncate(min_lsn, too_far);
        let less = before.saturating_sub(state.log_space().used);
        drop(state);
        if freed > 0 {
            self.report_used(-(less as i64));
            self.counters.count(DbCounter::LogTruncations, 1);
            emit(|| LogTruncation {
                database_id: u64::from(self.cfg.db_id.0),
                count: freed as u64,
            });
            self.progress.notify_all();
        }
        freed
    }

    /// By how many bytes more, or less, of the log is in use.
    fn report_used(&self, change: i64) {
        emit(|| DatabasesLogFileUsedSizeChanged {
            database_id: u64::from(self.cfg.db_id.0),
            count: change / 1024,
        });
    }

    /// Gives back reserve that is no longer needed: at commit, or as compensation records are written.
    pub fn release_reserve(&self, bytes: u64) {
        self.head.release(bytes);
    }

    /// Says what is needed of the log, lets go of the rest and records what kept it from letting go of more.
    /// Returns how many VLFs have become reusable.
    pub fn truncate_to(&self, holds: LogHolds) -> usize {
        self.state.lock().needs.holds = holds;
        let freed = self.truncate(holds.oldest().0);
        self.note_holds(holds);
        freed
    }

    /// As [`Log::truncate_to`], and lets go of nothing.
    pub fn note_holds(&self, holds: LogHolds) {
        self.state.lock().note_holds(holds);
    }

    /// What kept the log from being truncated when that was tried last (`log_reuse_wait_desc`); 9002 names it.
    pub fn reuse_reason(&self) -> &'static str {
        self.state.lock().needs.reuse_reason
    }

    /// Every VLF, by file and offset.
    pub fn vlfs(&self) -> Vec<VlfInfo> {
        self.state.lock().space.vlf_infos()
    }

    pub fn space(&self) -> LogSpace {
        self.state.lock().log_space()
    }

    /// Whether less than half of it is reusable while no file can grow. Costs one relaxed load.
    pub fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// How many writes there have been, and how long they took: whoever writes elsewhere sees how much that costs here.
    pub fn write_pulse(&self) -> WritePulse {
        WritePulse {
            writes: self.pulse.writes.load(Ordering::Relaxed),
            nanos: self.pulse.nanos.load(Ordering::Relaxed),
        }
    }

    /// Where its files are.
    pub fn file_paths(&self) -> Vec<(FileId, PathBuf)> {
        let s = self.lock();
        let here = s.space.files.iter().filter(|f| !f.is_gone());
        here.map(|f| (f.spec.file_id, f.spec.path.clone()))
            .collect()
    }

    /// Size of each file in bytes.
    pub fn file_sizes(&self) -> Vec<(FileId, u64)> {
        let s = self.state.lock();
        let there = s.space.files.iter().filter(|f| !f.is_gone());
        there.map(|f| (f.spec.file_id, f.bytes)).collect()
    }

    /// The reads and writes of each file.
    pub fn file_io(&self) -> Vec<Arc<FileIo>> {
        let s = self.state.lock();
        let there = s.space.files.iter().filter(|f| !f.is_gone());
        there.map(|f| f.io.clone()).collect()
    }

    /// Bytes of log from `lsn` to the write head, headers and padding included.
    pub fn bytes_since(&self, lsn: Lsn) -> u64 {
        self.state.lock().bytes_since(lsn)
    }

    /// Whether a write has failed: the log takes nothing any more.
    pub fn poisoned(&self) -> bool {
        self.state.lock().poisoned.is_some()
    }

    /// The epoch of the blocks written now.
    pub fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    pub fn config(&self) -> &LogConfig {
        &self.cfg
    }

    /// Makes everything durable, ends the flusher and refuses further appends.
    pub fn shutdown(&self) -> Result<(), LogError> {
        let flushed = self.flush_all();
        self.abandon();
        flushed
    }

    /// Ends the flusher without a last flush, as a crash would: for tests, and after a log is poisoned.
    pub fn abandon(&self) {
        let mut s = self.state.lock();
        s.closed = true;
        self.head.close();
        drop(s);
        self.work.notify_all();
        self.progress.notify_all();
        // The flusher starts growths, so it ends first. One that panicked has nothing to tell that the log does not.
        let flusher = self.flusher.lock().take();
        if let Some(handle) = flusher {
            let _ = handle.join();
        }
        let helpers = std::mem::take(&mut *self.helpers.lock());
        for handle in helpers {
            let _ = handle.join();
        }
        let grower = self.grower.lock().take();
        if let Some(handle) = grower {
            let _ = handle.join();
        }
    }

    /// Reads the records from `from` (or the first after it) to the last one appended when this is called.
    pub fn read(self: &Arc<Log>, from: Lsn) -> LogReader {
        LogReader::new(self.clone(), from)
    }

    /// One record, durable or not.
    pub fn read_one(self: &Arc<Log>, lsn: Lsn) -> Result<Vec<u8>, LogError> {
        read::read_one(self, lsn)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn damaged(&self, at: Lsn, what: &'static str) -> LogError {
        LogError::Damaged {
            db_name: self.cfg.db_name.clone(),
            at,
            what,
        }
    }

    fn publish(&self, state: DurableState) {
        for f in self.subscribers.read().iter() {
            f(state);
        }
    }
}
