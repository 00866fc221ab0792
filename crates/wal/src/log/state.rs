//! The state under the log's mutex: VLFs, the place of the open block, the queue of sealed blocks. No I/O here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::Lsn;
use duramen_observe::FileIo;
use duramen_os::DiskFile;

use super::ahead::{Ahead, Demand};
use super::buffers::{Buffers, Sealed};
use super::gather::Gather;
use super::head::{Head, Sealer};
use super::room::{self, usable_bytes};
use super::sleepers::Sleepers;
use super::{EAGER_BYTES, PARALLEL_BYTES};
use crate::block::{self, MAX_BYTES, UNIT};
use crate::config::{LogError, LogFileSpec, LogHolds, LogSpace, VlfInfo};
use crate::vlf::{FORMAT_VERSION, HEADER_BYTES, LogProfile, VlfHeader};

/// Room that only records without reserve may use: commits and a checkpoint must fit a full log, and each flush may
/// waste most of a sector. A sixteenth of the log between these.
const MIN_SLACK: u64 = 64 << 10;
const MAX_SLACK: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct FileState {
    pub spec: LogFileSpec,
    pub file: Arc<dyn DiskFile>,
    pub bytes: u64,
    pub io: Arc<FileIo>,
    pub ahead: Ahead,
}

#[derive(Clone, Debug)]
pub(super) struct Vlf {
    /// Index into the files.
    pub file: usize,
    pub header: VlfHeader,
    pub active: bool,
}

#[derive(Debug)]
pub(super) enum Item {
    Block(Arc<Sealed>),
    /// A VLF is activated: its header must be durable before its blocks are submitted.
    Header {
        file: usize,
        header: VlfHeader,
    },
}

#[derive(Debug)]
pub(super) struct Flight {
    pub id: u64,
    pub bytes: u64,
    /// The last record in it, NULL when there is none.
    pub last: Lsn,
    /// Position behind it; `None` for a VLF header.
    pub end: Option<(u32, u32)>,
    pub done: bool,
}

/// What an append that the head refused can do.
pub(super) enum Room {
    /// Try again.
    Made,
    NeedsSpace,
    QueueFull,
}

#[derive(Debug)]
pub(super) struct State {
    pub sector: usize,
    pub files: Vec<FileState>,
    /// By file and offset.
    pub vlfs: Vec<Vlf>,
    /// Index of the VLF of the write head.
    pub current: usize,
    /// Where the open block begins in it.
    pub offset: u64,
    /// Opens and empties the block that [`Head`] fills.
    pub sealer: Sealer,
    pub previous_bytes: u16,
    /// The last record of a sealed block.
    pub last_sealed: Lsn,
    pub queue: VecDeque<Item>,
    pub queue_bytes: usize,
    pub flights: VecDeque<Flight>,
    pub flight_bytes: u64,
    /// Flights that are not done.
    pub writing: usize,
    pub next_flight: u64,
    /// [`super::PARALLEL_BYTES`], less in tests.
    pub parallel_bytes: usize,
    pub header_in_flight: bool,
    pub sealing: bool,
    /// CRC32C of the last block made ready for the disk.
    pub chain: u32,
    pub epoch: u64,
    pub durable: Lsn,
    pub durable_end: (u32, u32),
    pub buffers: Buffers,
    /// Everything up to here should be made durable.
    pub wanted: Lsn,
    /// Threads that wait for a place in the queue.
    pub waiters: usize,
    /// Threads that wait for durability, first come first.
    pub sleepers: Sleepers,
    /// Who of them will be back soon.
    pub gather: Gather,
    /// The flusher has to be told of something by whoever holds the mutex.
    pub wake_flusher: bool,
    /// Threads that write along with the flusher.
    pub helpers: usize,
    pub free_bytes: u64,
    /// Bytes of the active VLFs, which may be a hundred thousand.
    pub active_bytes: u64,
    pub slack: u64,
    pub growing: bool,
    /// Which file, and whether that began in the background.
    pub growing_file: usize,
    pub preparing: bool,
    /// Threads that wait for a growth.
    pub growth_waiters: usize,
    /// Whose rules growths follow.
    pub profile: LogProfile,
    /// Background growth has been asked for; stays set when it failed, until something is truncated.
    pub prepare: bool,
    /// The flusher shall start it.
    pub start_growth: bool,
    /// Increments per growth: doubles whenever somebody had to wait for one.
    pub ahead: u64,
    pub demand: Demand,
    /// See [`State::note_room`].
    pub tight: Arc<AtomicBool>,
    /// The disk had no room for the last growth.
    pub no_space: bool,
    pub reuse_reason: &'static str,
    pub holds: LogHolds,
    /// Records before this were not needed any more when the log was truncated last; NULL: it has not been since it was
    /// opened.
    pub truncated: Lsn,
    /// Nobody has said yet what of an opened log is needed: until then every VLF counts as active.
    pub needs_unknown: bool,
    pub poisoned: Option<LogError>,
    pub closed: bool,
}

impl State {
    pub fn new(sector: usize, files: Vec<FileState>, vlfs: Vec<Vlf>) -> State {
        let mut s = State {
            sector,
            files,
            vlfs,
            current: 0,
            offset: HEADER_BYTES,
            sealer: Sealer::new(),
            previous_bytes: 0,
            last_sealed: Lsn::NULL,
            queue: VecDeque::new(),
            queue_bytes: 0,
            flights: VecDeque::new(),
            flight_bytes: 0,
            writing: 0,
            next_flight: 0,
            parallel_bytes: PARALLEL_BYTES,
            header_in_flight: false,
            sealing: false,
            chain: 0,
            epoch: 0,
            durable: Lsn::NULL,
            durable_end: (0, 0),
            buffers: Buffers::new(),
            wanted: Lsn::NULL,
            waiters: 0,
            sleepers: Sleepers::new(),
            gather: Gather::default(),
            wake_flusher: false,
            helpers: 0,
            free_bytes: 0,
            active_bytes: 0,
            slack: MIN_SLACK,
            growing: false,
            growing_file: 0,
            preparing: false,
            growth_waiters: 0,
            profile: LogProfile::Native,
            prepare: false,
            start_growth: false,
            ahead: 1,
            demand: Demand::default(),
            tight: Arc::default(),
            no_space: false,
            reuse_reason: "NOTHING",
            holds: LogHolds::default(),
            truncated: Lsn::NULL,
            needs_unknown: false,
            poisoned: None,
            closed: false,
        };
        s.head().set_overhead(room::overhead(sector));
        s.count_free();
        s
    }

    /// Growth is prepared in the background.
    pub fn native(&self) -> bool {
        self.profile == LogProfile::Native
    }

    pub fn check(&self) -> Result<(), LogError> {
        match &self.poisoned {
            Some(e) => Err(e.clone()),
            None if self.closed => Err(LogError::Closed),
            None => Ok(()),
        }
    }

    /// Counts afresh what depends on the list of VLFs and the sizes of the files.
    pub fn count_free(&mut self) {
        let total: u64 = self.files.iter().map(|f| f.bytes).sum();
        self.slack = (total / 16).clamp(MIN_SLACK, MAX_SLACK);
        self.free_bytes = self
            .vlfs
            .iter()
            .filter(|v| !v.active)
            .map(|v| usable_bytes(v.header.size))
            .sum();
        self.active_bytes = self.sum_active();
        self.sealer.set_budget(self.budget());
        self.note_room();
    }

    /// Tells those who are about to change something whether the log is tight: less than half of it is reusable and no file
    /// can grow.
    pub fn note_room(&self) {
        let total: u64 = self.files.iter().map(|f| f.bytes).sum();
        let short = self.free_bytes < total / 2;
        let grows = || (0..self.files.len()).any(|i| self.can_grow(i));
        self.tight
            .store(short && (self.no_space || !grows()), Ordering::Relaxed);
    }

    fn sum_active(&self) -> u64 {
        let active = self.vlfs.iter().filter(|v| v.active);
        active.map(|v| v.header.size).sum()
    }

    pub fn head(&self) -> &Head {
        self.sealer.head()
    }

    /// Bytes that the open block's records and all reserve may come to together.
    fn budget(&self) -> u64 {
        debug_assert!(
            self.offset >= HEADER_BYTES,
            "log/2: blocks begin behind the VLF's header"
        );
        let kept = self.slack + room::margin(self.sector);
        self.free().saturating_sub(kept)
    }

    /// Bytes of records that fit what is free, the open block's included.
    pub(super) fn free(&self) -> u64 {
        let vlf = self.vlfs[self.current].header.size;
        debug_assert!(self.offset <= vlf, "log/6: the write head is in its VLF");
        let left = vlf - self.offset;
        // The end may be too short for what comes.
        let end = vlf - HEADER_BYTES - room::usable_bytes(vlf);
        self.free_bytes + left.saturating_sub(end)
    }

    /// Bytes of the current VLF that stay empty when a record of `need` bytes goes to the next.
    pub(super) fn lost_by(&self, need: usize) -> u64 {
        if self.head().fits(need) {
            return 0;
        }
        let used = match self.head().slots() {
            0 => 0,
            n => block::bytes_needed(self.head().used(), n, self.sector),
        };
        let left = (self.vlfs[self.current].header.size - self.offset).saturating_sub(used as u64);
        match block::HEADER_BYTES + need + 2 > left as usize {
            true => left,
            false => 0,
        }
    }

    /// Puts the write head at `offset` of the current VLF. At its end the head stays closed.
    pub fn start_block(&mut self, offset: u64) {
        self.offset = offset;
        let vlf = &self.vlfs[self.current].header;
        debug_assert!(offset <= vlf.size, "log/2: a block begins behind its VLF");
        debug_assert!(
            offset.is_multiple_of(UNIT as u64),
            "log/2: a block begins on a sector's boundary"
        );
        debug_assert!(
            self.vlfs[self.current].active,
            "log/6: the write head is in a VLF in use"
        );
        let bytes = (vlf.size - offset).min(MAX_BYTES as u64) as usize;
        if bytes > 0 {
            let (seq, number) = (vlf.seq, self.open_number());
            let budget = self.budget();
            self.sealer.open(seq, number, bytes - bytes / UNIT, budget);
        }
    }

    /// The last record appended.
    pub fn last(&self) -> Lsn {
        match self.head().slots() {
            0 => self.last_sealed,
            n => Lsn::new(
                self.vlfs[self.current].header.seq,
                self.open_number(),
                n as u16,
            ),
        }
    }

    fn open_number(&self) -> u32 {
        (self.offset / UNIT as u64) as u32
    }

    pub fn next_lsn(&self) -> Lsn {
        let vlf = &self.vlfs[self.current].header;
        if self.offset >= vlf.size {
            return Lsn::new(vlf.seq + 1, (HEADER_BYTES / UNIT as u64) as u32, 1);
        }
        Lsn::new(vlf.seq, self.open_number(), self.head().slots() as u16 + 1)
    }

    /// Whether `need` bytes with `reserve` fit while every reservation stays good: what [`Head::append`] asks, too.
    pub fn has_room(&self, need: u64, reserve: u64) -> bool {
        let needed = self.head().needed(self.head().reserved() + reserve);
        self.budget() >= need + self.head().used() as u64 + needed
    }

    /// Bytes that are left beyond what is used and reserved.
    pub fn unreserved(&self) -> u64 {
        let taken = self.head().used() as u64 + self.head().needed(self.head().reserved());
        self.budget().saturating_sub(taken)
    }

    /// Makes room for `need` bytes in a fresh block. False when a new VLF is needed and there is none.
    pub(super) fn next_block(&mut self, need: usize) -> bool {
        self.close_block();
        let left = self.vlfs[self.current].header.size - self.offset;
        let limit = (left as usize).min(MAX_BYTES);
        if left < MAX_BYTES as u64 && block::HEADER_BYTES + need + 2 > limit - limit / UNIT {
            // What is left of the VLF takes no record of this size: an empty block covers it.
            if left > 0 {
                self.queue_block(left as usize, vec![0; block::HEADER_BYTES], Vec::new());
            }
            return self.activate_next();
        }
        self.start_block(self.offset);
        true
    }

    /// Seals the open block at the size its records need, and opens the next.
    pub fn seal_open(&mut self) {
        self.close_block();
        self.start_block(self.offset);
    }

    /// Closes the head and queues what is in it.
    fn close_block(&mut self) {
        let buffers = &mut self.buffers;
        let (data, offsets) = self.sealer.take(|| buffers.take_spare());
        if !offsets.is_empty() {
            let bytes = block::bytes_needed(data.len(), offsets.len(), self.sector);
            self.queue_block(bytes, data, offsets);
        }
    }

    fn queue_block(&mut self, bytes: usize, data: Vec<u8>, offsets: Vec<u16>) {
        let vlf = &self.vlfs[self.current];
        debug_assert!(
            self.offset + bytes as u64 <= vlf.header.size,
            "log/2: a block ends in its VLF"
        );
        debug_assert!(
            bytes.is_multiple_of(UNIT),
            "block/1: a block is whole sectors: {bytes}"
        );
        debug_assert!(
            bytes <= MAX_BYTES,
            "block/1: a block has at most {MAX_BYTES} bytes"
        );
        debug_assert!(
            data.len() >= block::HEADER_BYTES,
            "block/1: a block has a header"
        );
        debug_assert!(
            block::bytes_needed(data.len(), offsets.len(), UNIT) <= bytes,
            "block/2: a block is too small for its records"
        );
        debug_assert!(
            offsets.is_sorted(),
            "block/2: records stand in the order of appending"
        );
        debug_assert!(
            offsets.last().is_none_or(|o| usize::from(*o) < data.len()),
            "block/2: a record begins behind the last byte"
        );
        debug_assert!(
            self.last_sealed.is_null()
                || self.last_sealed < Lsn::new(vlf.header.seq, self.open_number(), 1),
            "log/1: blocks are queued in log order"
        );
        let sealed = Arc::new(Sealed {
            file: vlf.file,
            file_offset: vlf.header.offset + self.offset,
            vlf: vlf.header.seq,
            parity: vlf.header.parity(),
            number: self.open_number(),
            bytes,
            previous_bytes: self.previous_bytes,
            data,
            offsets,
        });
        self.last_sealed = self.last_sealed.max(sealed.last_lsn());
        self.previous_bytes = bytes as u16;
        self.queue_bytes += bytes;
        self.buffers.push(sealed.clone());
        self.queue.push_back(Item::Block(sealed));
        self.offset += bytes as u64;
        self.demand.note(bytes as u64);
        if self.queue_bytes > EAGER_BYTES {
            self.wake_flusher = true;
            self.wanted = self.wanted.max(self.last_sealed);
        }
        if self.native() && !self.prepare && !self.growing && self.runs_short() {
            self.prepare = true;
            self.start_growth = true;
            self.wake_flusher = true;
        }
    }

    /// Moves the write head to the next reusable VLF: the next in physical order, else the first from the front.
    fn activate_next(&mut self) -> bool {
        let n = self.vlfs.len();
        let Some(next) = (1..n)
            .map(|step| (self.current + step) % n)
            .find(|i| !self.vlfs[*i].active)
        else {
            return false;
        };
        let seq = self.vlfs[self.current].header.seq + 1;
        self.activate(next, seq);
        true
    }

    /// Activates a VLF with a sequence number and puts the write head at its start.
    pub fn activate(&mut self, index: usize, seq: u32) {
        debug_assert!(
            self.vlfs.iter().all(|v| !v.active || v.header.seq < seq),
            "vlf/3: a sequence number is given again: {seq}"
        );
        debug_assert!(seq != 0, "vlf/3: a VLF in use has a sequence number");
        let vlf = &mut self.vlfs[index];
        let parity = vlf.header.parity();
        if !vlf.active {
            self.active_bytes += vlf.header.size;
        }
        vlf.active = true;
        vlf.header.version = u16::from(FORMAT_VERSION);
        vlf.header.seq = seq;
        vlf.header.use_count += 1;
        debug_assert!(
            vlf.header.parity() != parity,
            "vlf/2: two uses that follow each other have one parity"
        );
        vlf.header.first_block = 0;
        vlf.header.mixed = vlf.header.mixed.saturating_sub(1);
        self.free_bytes = self
            .free_bytes
            .saturating_sub(usable_bytes(vlf.header.size));
        self.queue.push_back(Item::Header {
            file: vlf.file,
            header: vlf.header,
        });
        self.current = index;
        self.note_room();
        self.start_block(HEADER_BYTES);
    }

    /// `too_far`: a planted bug.
    pub fn truncate(&mut self, min_lsn: Lsn, too_far: bool) -> usize {
        let keep = min_lsn
            .vlf
            .min(self.vlfs[self.current].header.seq)
            .min(self.durable_end.0);
        self.needs_unknown = false;
        let head = self.vlfs[self.current].header.seq;
        let below = if too_far { head.min(keep + 1) } else { keep };
        let mut freed = 0;
        for vlf in &mut self.vlfs {
            if vlf.active && vlf.header.seq < below {
                vlf.active = false;
                self.free_bytes += usable_bytes(vlf.header.size);
                self.active_bytes -= vlf.header.size;
                freed += 1;
            }
        }
        debug_assert!(
            self.vlfs[self.current].active,
            "log/6: truncation leaves the VLF of the write head"
        );
        debug_assert!(
            self.vlfs.iter().all(|v| v.active || v.header.seq < keep) || freed == 0 || too_far,
            "log/6: truncation frees what is needed from {min_lsn} on"
        );
        debug_assert!(
            self.active_bytes == self.sum_active(),
            "log/6: active bytes are those of the active VLFs"
        );
        if min_lsn <= self.last() {
            self.truncated = self.truncated.max(min_lsn);
        }
        self.sealer.set_budget(self.budget());
        self.note_room();
        self.prepare &= freed == 0;
        freed
    }

    /// Who keeps a whole VLF from being reused, now: what is needed of the current one alone keeps nothing.
    pub fn holder(&self) -> &'static str {
        let (oldest, who) = self.holds.oldest();
        match oldest.vlf < self.vlfs[self.current].header.seq {
            true => who,
            false => "NOTHING",
        }
    }

    /// The log is short of room: an attempt to truncate it would find this. Only a checkpoint knows of transactions.
    pub fn note_shortage(&mut self) {
        let who = self.holder();
        let unknown = self.reuse_reason == "NOTHING";
        if unknown || matches!(who, "LOG_BACKUP" | "ACTIVE_BACKUP_OR_RESTORE") {
            self.reuse_reason = who;
        }
    }

    /// Lets go of durable blocks beyond what may be kept.
    pub fn trim_buffers(&mut self) {
        self.buffers.trim(self.durable, self.durable_end);
    }

    pub fn vlf_infos(&self) -> Vec<VlfInfo> {
        let info = |v: &Vlf| VlfInfo {
            file_id: self.files[v.file].spec.file_id,
            size: v.header.size,
            offset: v.header.offset,
            seq: v.header.seq,
            status: if v.active { 2 } else { 0 },
            parity: v.header.parity(),
            create_lsn: v.header.create_lsn,
        };
        self.vlfs.iter().map(info).collect()
    }

    pub fn space(&self) -> LogSpace {
        let total: u64 = self
            .files
            .iter()
            .map(|f| f.bytes.saturating_sub(HEADER_BYTES))
            .sum();
        debug_assert_eq!(
            self.active_bytes,
            self.sum_active(),
            "log/6: active bytes are those of the active VLFs"
        );
        debug_assert!(
            self.active_bytes <= total,
            "log/6: more of the log is in use than there is"
        );
        let behind = self.active_bytes - self.vlfs[self.current].header.size;
        LogSpace {
            total,
            used: behind + self.offset + self.head().used() as u64,
            reserved: self.head().reserved(),
        }
    }

    pub fn bytes_since(&self, lsn: Lsn) -> u64 {
        let current = self.vlfs[self.current].header.seq;
        let ahead: u64 = self
            .vlfs
            .iter()
            .filter(|v| v.active && v.header.seq >= lsn.vlf && v.header.seq < current)
            .map(|v| v.header.size)
            .sum();
        let head = ahead + self.offset + self.head().used() as u64;
        head.saturating_sub(u64::from(lsn.block) * UNIT as u64)
    }
}
