//! From the queue to the disk: batches, writes, the durable prefix, the flusher.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::Lsn;
use duramen_observe::events::{
    DatabasesLogFlush, FileTime, LogFlushComplete, LogFlushStart, LogGenerateStall, emit,
};
use duramen_observe::{Background, DbCounter, Duty, WaitType, background, wait};
use duramen_os::sync::MutexGuard;
use duramen_os::{AlignedBuf, DiskFile, IoError, thread, time};

use super::buffers::Sealed;
use super::sleepers::{Call, ring_served};
use super::state::{Flight, Item, State};
use super::{BATCH_BYTES, DEPTH, Log, WINDOW};
use crate::block::{self, OwnFields, SealInfo};
use crate::config::{DurableState, LogError};
use crate::planted::Bug;
use crate::vlf::{HEADER_BYTES, VlfHeader};

/// Below this a batch is made ready under the mutex: cheaper than taking it twice.
const SEAL_INLINE_BYTES: usize = 16 << 10;

/// Threads beside the flusher and whoever waits, and how many times the least parallel write must wait for one to start.
const HELPERS: usize = 2;
const HELP_FROM: usize = 16;
/// How long a helper waits for a batch before it looks again.
const HELPER_WAITS: Duration = Duration::from_millis(1);

/// The operating system's number of an error; 1 for one that has none.
pub(super) fn error_number(error: &IoError) -> u64 {
    match error {
        IoError::Os { code, .. } => u64::from(code.unsigned_abs()),
        _ => 1,
    }
}

/// What one write consists of.
pub(super) enum Batch {
    Header {
        file: usize,
        header: VlfHeader,
    },
    /// Neighbours on disk.
    Blocks(Vec<Arc<Sealed>>),
}

impl State {
    /// Takes the next batch when one may be submitted now. The open block is sealed when somebody wants what is in it.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let saturated = self.flights.writing >= DEPTH
            || self.flights.writing > 0
                && self.queue.bytes + self.head().used() < self.flights.parallel_bytes;
        let held = self.durable.gather.holds() && self.queue.bytes < self.flights.parallel_bytes;
        if self.poisoned.is_some()
            || self.queue.sealing
            || self.flights.has_header
            || saturated
            || held
        {
            return None;
        }
        // Sealed only where somebody asks for it: else it goes on filling, and no rest of a sector is lost.
        if self.queue.bytes < BATCH_BYTES
            && self.head().slots() > 0
            && self.durable.wanted > self.space.before_open()
        {
            self.seal_open();
        }
        match self.queue.items.front()? {
            Item::Header { file, header } => {
                let batch = Batch::Header {
                    file: *file,
                    header: *header,
                };
                self.queue.items.pop_front();
                // Nothing else goes until it is durable: the blocks behind it are in its VLF.
                self.flights.has_header = true;
                Some(batch)
            }
            Item::Block(_) => {
                let blocks = self.queue.take_blocks(self.flights.bytes);
                debug_assert!(
                    blocks.is_empty() || !self.flights.has_header,
                    "log/2: blocks are written while their VLF's header is on its way"
                );
                (!blocks.is_empty()).then_some(Batch::Blocks(blocks))
            }
        }
    }

    /// Whether one more thread would have a large write to do.
    fn wants_helper(&self) -> bool {
        self.has_much() && self.flights.helpers < HELPERS
    }

    fn has_much(&self) -> bool {
        self.queue.bytes >= (self.flights.parallel_bytes * HELP_FROM).max(1)
    }

    /// Whether a batch could be taken if there were room for it.
    fn has_work(&self) -> bool {
        (!self.queue.items.is_empty() || self.head().slots() > 0)
            && self.durable.wanted > self.durable.lsn
    }
}

/// When a write began that has taken so long.
fn started(took: Duration) -> FileTime {
    let nanos = time::wall().unix_nanos() - took.as_nanos() as i128;
    FileTime::of(time::WallTime(nanos))
}

impl Log {
    /// Writes and waits until `lsn` is durable.
    pub(super) fn flush_locked<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
        lsn: Lsn,
    ) -> Result<(), LogError> {
        s.durable.want(lsn);
        // Before it looks for a batch: the last to come back is the one who writes.
        s.durable.gather.back(time::now());
        loop {
            if s.durable.lsn >= lsn {
                return Ok(());
            }
            if let Some(e) = &s.poisoned {
                return Err(e.clone());
            }
            match s.take_batch() {
                Some(batch) => {
                    if self.write_batch(s, batch, lsn) {
                        return Ok(());
                    }
                    s = self.lock();
                }
                None => {
                    let watch = s.durable.gather.watch();
                    match self.sleep_until(s, lsn, watch) {
                        Some(guard) => s = guard,
                        None => return Ok(()),
                    }
                    if watch.is_some() {
                        s.durable.gather.watched(time::now());
                    }
                }
            }
        }
    }

    /// The queue is full: writes a part of it, or waits until others have.
    pub(super) fn wait_for_queue<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        let last = s.last();
        emit(|| LogGenerateStall {
            database_id: u64::from(self.cfg.db_id.0),
            log_block_id: u64::from(last.vlf) << 32 | u64::from(last.block),
        });
        let _wait = wait(WaitType::LOGBUFFER);
        let goal = s.last();
        s.durable.want(goal);
        match s.take_batch() {
            Some(batch) => {
                self.write_batch(s, batch, Lsn::MAX);
                self.lock()
            }
            None => {
                if s.poisoned.is_none() && !s.closed {
                    s.queue.waiters += 1;
                    self.progress.wait(&mut s);
                    s.queue.waiters -= 1;
                }
                s
            }
        }
    }

    /// Makes a batch ready, writes it, and moves the durable prefix. The caller waits for `own`, or for nothing (`MAX`);
    /// true when that is durable now.
    pub(super) fn write_batch(&self, mut s: MutexGuard<'_, State>, batch: Batch, own: Lsn) -> bool {
        debug_assert!(s.poisoned.is_none(), "log/5: a poisoned log writes");
        debug_assert!(!s.queue.sealing, "log/4: two threads seal");
        // In the hold in which the batch left the queue: so flights stand in the order of the log.
        let id = s.flights.begin();
        let log_block_id = match &batch {
            Batch::Header { header, .. } => u64::from(header.seq) << 32,
            Batch::Blocks(blocks) => u64::from(blocks[0].vlf) << 32 | u64::from(blocks[0].number),
        };
        let (file_index, offset, buf, s) = match batch {
            Batch::Header { file, header } => {
                s.flights.push(Flight {
                    id,
                    bytes: HEADER_BYTES,
                    last: Lsn::NULL,
                    end: None,
                    done: self.planted.on(Bug::HeaderNotAwaited),
                });
                if self.planted.on(Bug::HeaderNotAwaited) {
                    s.flights.has_header = false;
                }
                let mut buf = AlignedBuf::zeroed(HEADER_BYTES as usize);
                header.encode(&mut buf);
                (file, header.offset, buf, s)
            }
            Batch::Blocks(blocks) => self.prepare_blocks(s, id, &blocks),
        };
        let file = s.space.files[file_index].file.clone();
        let io = s.space.files[file_index].io.clone();
        let mut s = s;
        // Before the write, not after it: a second one may go beside this one.
        let more = s.has_work() && s.flights.writing < DEPTH;
        let second = if more { s.durable.next_sleeper() } else { None };
        let more = more && second.is_none() && s.queue.waiters > 0;
        let (pending_writes, pending_bytes) = (s.flights.writing as u64, s.flights.bytes);
        drop(s);
        if let Some(bell) = second {
            bell.ring(Call::Look);
        }
        if more {
            self.progress.notify_one();
        }
        let (database_id, write_size) = (u64::from(self.cfg.db_id.0), buf.len() as u64);
        emit(|| LogFlushStart {
            database_id,
            log_block_id,
            write_size,
            pending_writes,
            pending_bytes,
        });
        let transfer = io.begin_write(offset, write_size);
        let result = self.write_once(&*file, &buf, offset);
        let took = transfer.has_written(&buf);
        emit(|| LogFlushComplete {
            database_id,
            log_block_id,
            duration: took.as_millis() as u64,
            start_timestamp: started(took),
            write_size,
            pending_writes,
            error: result.as_ref().err().map_or(0, error_number),
        });
        emit(|| DatabasesLogFlush {
            database_id,
            count: 1,
        });
        self.pulse.writes.fetch_add(1, Ordering::Relaxed);
        let nanos = took.as_nanos() as u64;
        self.pulse.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.counters.count(DbCounter::LogFlushes, 1);
        self.counters
            .count(DbCounter::LogBytesFlushed, buf.len() as u64);
        self.report_used(buf.len() as i64);
        let wrote = took.as_millis() as u64;
        self.counters.count(DbCounter::LogFlushWriteTimeMs, wrote);
        self.complete(id, took, own, result)
    }

    /// Copies the blocks into one aligned buffer and seals them there, chain and all.
    fn prepare_blocks<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
        id: u64,
        blocks: &[Arc<Sealed>],
    ) -> (usize, u64, AlignedBuf, MutexGuard<'a, State>) {
        let bytes: usize = blocks.iter().map(|b| b.bytes).sum();
        let last = blocks
            .iter()
            .map(|b| b.last_lsn())
            .max()
            .unwrap_or_default();
        let (file, offset) = (blocks[0].file, blocks[0].file_offset);
        s.flights.push(Flight {
            id,
            bytes: bytes as u64,
            last,
            end: blocks.last().map(|b| b.end()),
            done: false,
        });
        debug_assert!(
            s.flights.bytes <= WINDOW + HEADER_BYTES,
            "log/3: {} bytes are in flight",
            s.flights.bytes
        );
        debug_assert!(
            last.is_null() || last > s.durable.lsn,
            "log/2: what is durable is written again"
        );
        debug_assert!(
            blocks.iter().all(|b| b.end() > s.durable.end),
            "log/2: a block is written before the end of what is durable"
        );
        if self.planted.on(Bug::AckBeforeDurable) {
            s.durable.lsn = s.durable.lsn.max(last);
        }
        let mut chain = s.queue.chain;
        let own_chain = chain;
        let own = OwnFields {
            epoch: s.epoch,
            previous_crc: 0,
            durable: s.durable.end,
        };
        let mut s = Some(s);
        if bytes > SEAL_INLINE_BYTES
            && let Some(mut guard) = s.take()
        {
            // The rest is done without the mutex. Nobody else seals meanwhile, so the chain stands still.
            guard.queue.sealing = true;
        }
        let mut buf = AlignedBuf::zeroed(bytes);
        let mut at = 0;
        for b in blocks {
            let out = &mut buf[at..at + b.bytes];
            out[..b.data.len()].copy_from_slice(&b.data);
            let info = SealInfo {
                parity: b.parity,
                vlf: b.vlf,
                number: b.number,
                previous_bytes: b.previous_bytes,
                own: OwnFields {
                    previous_crc: chain,
                    ..own
                },
            };
            chain = block::seal(out, b.data.len(), &b.offsets, &info);
            at += b.bytes;
        }
        let mut guard = match s {
            Some(guard) => guard,
            None => {
                let mut guard = self.lock();
                debug_assert!(guard.queue.sealing, "log/4: another has sealed meanwhile");
                debug_assert!(
                    guard.queue.chain == own_chain,
                    "log/4: the chain has moved meanwhile"
                );
                guard.queue.sealing = false;
                guard
            }
        };
        guard.queue.chain = chain;
        (file, offset, buf, guard)
    }

    fn write_once(&self, file: &dyn DiskFile, buf: &[u8], offset: u64) -> Result<(), IoError> {
        let result = file.write_durable_at(buf, offset);
        if result.is_err() && self.planted.on(Bug::RetriedSync) {
            return file.sync();
        }
        result
    }

    /// A write has ended: moves the durable prefix, or poisons the log. Whether `own` is durable; who is served has no
    /// business with the mutex any more, which those it wakes want.
    fn complete(&self, id: u64, took: Duration, own: Lsn, result: Result<(), IoError>) -> bool {
        let mut s = self.lock();
        debug_assert!(
            s.flights.writing > 0,
            "log/1: a write ends that nobody began"
        );
        s.flights.writing -= 1;
        let before = s.durable.lsn;
        let was_sound = s.poisoned.is_none();
        match result {
            Ok(()) => {
                if let Some(flight) = s.flights.all.iter_mut().find(|f| f.id == id) {
                    debug_assert!(
                        !flight.done || self.planted.on(Bug::HeaderNotAwaited),
                        "log/2: a write ends twice"
                    );
                    flight.done = true;
                    if flight.end.is_none() {
                        s.flights.has_header = false;
                    }
                }
                self.move_prefix(&mut s);
            }
            Err(cause) => self.poison(&mut s, cause),
        }
        s.trim_buffers();
        debug_assert!(
            was_sound || s.durable.lsn == before,
            "log/5: the durable LSN of a poisoned log moves"
        );
        debug_assert!(s.durable.lsn >= before, "log/1: the durable LSN moves back");
        debug_assert!(
            s.durable.lsn <= s.last(),
            "log/1: more is durable than has been appended"
        );
        let moved = (s.durable.lsn > before).then_some(s.durable.lsn);
        let poisoned = was_sound && s.poisoned.is_some();
        let bells = s.durable.take_served();
        let is_served = own <= s.durable.lsn;
        let served = bells.len() + usize::from(is_served);
        // Before anybody is woken: who comes back then counts in the new round.
        s.durable.gather.begin(time::now(), took, served);
        let work = s.has_work();
        let held = s.durable.gather.holds();
        let leader = if work && !held {
            s.durable.next_sleeper()
        } else {
            None
        };
        // What is held the flusher watches over, for those who sleep since before.
        let wake_flusher = std::mem::take(&mut s.wake_flusher)
            || work && leader.is_none() && (s.queue.waiters == 0 || held);
        let wake_waiters = s.queue.waiters > 0;
        drop(s);
        // Who writes next first: the disk is idle until then.
        if let Some(bell) = leader {
            bell.ring(Call::Look);
        }
        ring_served(bells);
        if wake_waiters {
            self.progress.notify_all();
        }
        if wake_flusher {
            self.work.notify_one();
        }
        if poisoned {
            self.publish(DurableState::Poisoned);
        } else if let Some(lsn) = moved {
            self.publish(DurableState::Upto(lsn));
        }
        is_served
    }

    fn move_prefix(&self, s: &mut State) {
        if s.poisoned.is_some() {
            return;
        }
        if self.planted.on(Bug::WrongPrefix) {
            let done = s.flights.all.iter().filter(|f| f.done);
            let reached = done.map(|f| f.last).max();
            s.durable.lsn = s.durable.lsn.max(reached.unwrap_or_default());
        }
        while let Some(flight) = s.flights.pop_done() {
            debug_assert!(
                flight.last.is_null() || flight.last > s.durable.lsn || self.planted.is_any(),
                "log/1: the durable LSN moves over a flight that is behind it"
            );
            s.durable.lsn = s.durable.lsn.max(flight.last);
            if let Some(end) = flight.end {
                debug_assert!(end > s.durable.end, "log/1: the durable end moves back");
                s.durable.end = end;
                s.growth.demand.note_write(flight.bytes);
            }
        }
    }

    /// A write failed: nothing is tried again. Everybody who waits learns the cause.
    pub(super) fn poison(&self, s: &mut State, cause: IoError) {
        if s.poisoned.is_none() {
            s.poisoned = Some(LogError::Poisoned {
                db_name: self.cfg.db_name.clone(),
                cause,
            });
        }
        self.head.close();
        s.durable.rouse();
        self.work.notify_all();
        self.progress.notify_all();
    }

    /// Starts the flusher thread; it keeps the log alive until [`Log::shutdown`] or [`Log::abandon`].
    pub(super) fn start_flusher(self: &Arc<Log>) {
        let log = self.clone();
        let harden_after = self.cfg.harden_after;
        let role = background(Duty::LogWriter, Some(self.cfg.db_id));
        let handle = thread::spawn(
            "log writer",
            move || {
                while log.flusher_step(harden_after, &role) {}
            },
        );
        *self.flusher.lock() = Some(handle);
    }

    /// More waits than this thread and whoever fills the log can write: another one writes along, so that the disk has
    /// as many requests as it can use, and ends when it finds nothing.
    fn start_helper(self: &Arc<Log>) {
        let log = self.clone();
        let help = move || {
            let mut s = log.lock();
            while !s.closed && s.poisoned.is_none() && s.has_much() {
                match s.take_batch() {
                    Some(batch) => {
                        log.write_batch(s, batch, Lsn::MAX);
                        s = log.lock();
                    }
                    None => {
                        // Somebody makes a batch ready, or there are writes enough.
                        s.queue.waiters += 1;
                        log.progress.wait_for(&mut s, HELPER_WAITS);
                        s.queue.waiters -= 1;
                    }
                }
            }
            s.flights.helpers -= 1;
        };
        let mut helpers = self.helpers.lock();
        helpers.retain(|h| !h.is_finished());
        match thread::try_spawn("log helper", help) {
            Ok(handle) => helpers.push(handle),
            // Then those who are there write it all.
            Err(_) => self.lock().flights.helpers = DEPTH,
        }
    }

    /// One turn of the flusher: writes a batch, or waits for work. False when the log has ended.
    fn flusher_step(self: &Arc<Log>, harden_after: Duration, role: &Background) -> bool {
        let mut s = self.lock();
        if s.closed || s.poisoned.is_some() {
            return false;
        }
        // Before a write, which takes long: room is wanted soon.
        if s.growth.start {
            s.growth.start = false;
            drop(s);
            let log = self.clone();
            let handle = thread::spawn("log growth", move || log.prepare_growth());
            *self.grower.lock() = Some(handle);
            return true;
        }
        if s.wants_helper() {
            s.flights.helpers += 1;
            drop(s);
            self.start_helper();
            return true;
        }
        if s.has_work()
            && let Some(batch) = s.take_batch()
        {
            self.write_batch(s, batch, Lsn::MAX);
            return true;
        }
        if s.has_work() {
            // Others write; a completion wakes us when it leaves work behind. Or it is held.
            match s.durable.gather.watch() {
                Some(deadline) => {
                    self.work.wait_until(&mut s, deadline);
                    s.durable.gather.watched(time::now());
                }
                None => drop(self.work.wait_for(&mut s, harden_after)),
            }
        } else if s.last() > s.durable.lsn {
            let goal = s.last();
            // In a log that is short the rest of a sector would be lost: who commits then asks for the flush.
            let short = s.space.tight.load(Ordering::Relaxed) && s.unreserved() == 0;
            if self.work.wait_for(&mut s, harden_after) && !short {
                s.durable.want(goal);
            }
        } else {
            self.head.set_idle(true);
            // An append that did not see the flag is seen here.
            if s.last() <= s.durable.lsn {
                let _idle = role.waits(WaitType::LOGMGR_QUEUE);
                self.work.wait(&mut s);
            }
            self.head.set_idle(false);
        }
        true
    }
}
