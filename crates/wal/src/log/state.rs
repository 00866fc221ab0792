//! The state under the log's mutex: its parts, and what needs several of them. No I/O here.

mod durable;
mod flights;
mod growth;
mod needs;
mod queue;
mod space;

use std::sync::Arc;

use duramen_base::Lsn;

use super::EAGER_BYTES;
use super::buffers::{Buffers, Sealed};
use super::head::{Head, Sealer};
use super::room;
use crate::block::{self, MAX_BYTES, UNIT};
use crate::config::{LogError, LogHolds, LogSpace};
use crate::vlf::{HEADER_BYTES, LogProfile};

use flights::Flights;
use growth::Growth;
use needs::Needs;
use queue::Queue;

pub(super) use durable::Durable;
pub(super) use flights::Flight;
pub(super) use queue::Item;
pub(super) use space::{FileState, Space, Vlf};

/// What an append that the head refused can do.
pub(super) enum Room {
    /// Try again.
    Made,
    NeedsSpace,
    QueueFull,
}

/// The log under its mutex.
#[derive(Debug)]
pub(super) struct State {
    pub space: Space,
    pub needs: Needs,
    /// Opens and empties the block that [`Head`] fills.
    pub sealer: Sealer,
    pub queue: Queue,
    pub flights: Flights,
    pub durable: Durable,
    pub buffers: Buffers,
    pub growth: Growth,
    /// Whose rules growths follow.
    pub profile: LogProfile,
    pub epoch: u64,
    /// The flusher has to be told of something by whoever holds the mutex.
    pub wake_flusher: bool,
    pub poisoned: Option<LogError>,
    pub closed: bool,
}

impl State {
    pub fn new(sector: usize, files: Vec<FileState>, vlfs: Vec<Vlf>) -> State {
        let mut s = State {
            space: Space::new(sector, files, vlfs),
            needs: Needs::new(),
            sealer: Sealer::new(),
            queue: Queue::new(),
            flights: Flights::new(),
            durable: Durable::new(),
            buffers: Buffers::new(),
            growth: Growth::new(),
            profile: LogProfile::Native,
            epoch: 0,
            wake_flusher: false,
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
        self.space.count();
        self.tell_room();
    }

    /// Room was made, or taken, while the block is open.
    fn tell_room(&mut self) {
        self.sealer.set_budget(self.space.budget());
        self.note_room();
    }

    /// See [`Space::note_room`].
    pub fn note_room(&self) {
        self.space.note_room(self.growth.no_space);
    }

    pub fn head(&self) -> &Head {
        self.sealer.head()
    }

    /// Bytes of the current VLF that stay empty when a record of `need` bytes goes to the next.
    pub(super) fn lost_by(&self, need: usize) -> u64 {
        if self.head().fits(need) {
            return 0;
        }
        let used = match self.head().slots() {
            0 => 0,
            n => block::bytes_needed(self.head().used(), n, self.space.sector),
        };
        let left = (self.space.vlf().header.size - self.space.offset).saturating_sub(used as u64);
        match block::HEADER_BYTES + need + 2 > left as usize {
            true => left,
            false => 0,
        }
    }

    /// Puts the write head at `offset` of the current VLF. At its end the head stays closed.
    pub fn start_block(&mut self, offset: u64) {
        self.space.offset = offset;
        let vlf = self.space.vlf();
        debug_assert!(
            offset <= vlf.header.size,
            "log/2: a block begins behind its VLF"
        );
        debug_assert!(
            offset.is_multiple_of(UNIT as u64),
            "log/2: a block begins on a sector's boundary"
        );
        debug_assert!(vlf.active, "log/6: the write head is in a VLF in use");
        let bytes = (vlf.header.size - offset).min(MAX_BYTES as u64) as usize;
        if bytes > 0 {
            let (seq, number) = (vlf.header.seq, self.space.open_number());
            let budget = self.space.budget();
            self.sealer.open(seq, number, bytes - bytes / UNIT, budget);
        }
    }

    /// The last record appended.
    pub fn last(&self) -> Lsn {
        match self.head().slots() {
            0 => self.queue.last,
            n => Lsn::new(
                self.space.vlf().header.seq,
                self.space.open_number(),
                n as u16,
            ),
        }
    }

    pub fn next_lsn(&self) -> Lsn {
        let vlf = &self.space.vlf().header;
        if self.space.offset >= vlf.size {
            return Lsn::new(vlf.seq + 1, (HEADER_BYTES / UNIT as u64) as u32, 1);
        }
        let slot = self.head().slots() as u16 + 1;
        Lsn::new(vlf.seq, self.space.open_number(), slot)
    }

    /// Whether `need` bytes with `reserve` fit while every reservation stays good: what [`Head::append`] asks, too.
    pub fn has_room(&self, need: u64, reserve: u64) -> bool {
        let needed = self.head().needed(self.head().reserved() + reserve);
        self.space.budget() >= need + self.head().used() as u64 + needed
    }

    /// Bytes that are left beyond what is used and reserved.
    pub fn unreserved(&self) -> u64 {
        let taken = self.head().used() as u64 + self.head().needed(self.head().reserved());
        self.space.budget().saturating_sub(taken)
    }

    /// Makes room for `need` bytes in a fresh block. False when a new VLF is needed and there is none.
    pub(super) fn next_block(&mut self, need: usize) -> bool {
        self.close_block();
        let left = self.space.vlf().header.size - self.space.offset;
        let limit = (left as usize).min(MAX_BYTES);
        if left < MAX_BYTES as u64 && block::HEADER_BYTES + need + 2 > limit - limit / UNIT {
            // What is left of the VLF takes no record of this size: an empty block covers it.
            if left > 0 {
                self.queue_block(left as usize, vec![0; block::HEADER_BYTES], Vec::new());
            }
            return self.activate_next();
        }
        self.start_block(self.space.offset);
        true
    }

    /// Seals the open block at the size its records need, and opens the next.
    pub fn seal_open(&mut self) {
        self.close_block();
        self.start_block(self.space.offset);
    }

    /// Closes the head and queues what is in it.
    fn close_block(&mut self) {
        let buffers = &mut self.buffers;
        let (data, offsets) = self.sealer.take(|| buffers.take_spare());
        if !offsets.is_empty() {
            let bytes = block::bytes_needed(data.len(), offsets.len(), self.space.sector);
            self.queue_block(bytes, data, offsets);
        }
    }

    fn queue_block(&mut self, bytes: usize, data: Vec<u8>, offsets: Vec<u16>) {
        let vlf = self.space.vlf();
        debug_assert!(
            self.space.offset + bytes as u64 <= vlf.header.size,
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
        let sealed = Arc::new(Sealed {
            file: vlf.file,
            file_offset: vlf.header.offset + self.space.offset,
            vlf: vlf.header.seq,
            parity: vlf.header.parity(),
            number: self.space.open_number(),
            bytes,
            previous_bytes: self.queue.previous_bytes,
            data,
            offsets,
        });
        self.buffers.push(sealed.clone());
        self.queue.push_block(sealed);
        self.space.offset += bytes as u64;
        self.growth.demand.note(bytes as u64);
        if self.queue.bytes > EAGER_BYTES {
            self.wake_flusher = true;
            self.durable.want(self.queue.last);
        }
        if self.native() && !self.growth.prepare && !self.growth.running && self.runs_short() {
            self.growth.ask();
            self.wake_flusher = true;
        }
    }

    /// Moves the write head to the start of the next reusable VLF, if there is one.
    fn activate_next(&mut self) -> bool {
        let Some(next) = self.space.next_reusable() else {
            return false;
        };
        let seq = self.space.vlf().header.seq + 1;
        self.space.activate(next, seq);
        let vlf = self.space.vlf();
        // In front of the VLF's first block, which waits until this is durable (log/2).
        self.queue.items.push_back(Item::Header {
            file: vlf.file,
            header: vlf.header,
        });
        self.note_room();
        self.start_block(HEADER_BYTES);
        true
    }

    /// `too_far`: a planted bug.
    pub fn truncate(&mut self, min_lsn: Lsn, too_far: bool) -> usize {
        let head = self.space.vlf().header.seq;
        // Kept as well: the write head's VLF, and those whose blocks are still in the queue or on their way.
        let keep = min_lsn.vlf.min(head).min(self.durable.end.0);
        self.needs.unknown = false;
        let below = if too_far { head.min(keep + 1) } else { keep };
        let freed = self.space.free_before(below);
        debug_assert!(
            self.space
                .vlfs
                .iter()
                .all(|v| v.active || v.header.seq < keep)
                || freed == 0
                || too_far,
            "log/6: truncation frees what is needed from {min_lsn} on"
        );
        if min_lsn <= self.last() {
            self.needs.truncated = self.needs.truncated.max(min_lsn);
        }
        self.tell_room();
        self.growth.prepare &= freed == 0;
        freed
    }

    /// What is needed of the log from now on, and who keeps it from letting go of more.
    pub fn note_holds(&mut self, holds: LogHolds) {
        self.needs.holds = holds;
        self.needs.reuse_reason = self.needs.holder(self.space.vlf().header.seq);
    }

    /// See [`Needs::note_shortage`].
    pub fn note_shortage(&mut self) {
        self.needs.note_shortage(self.space.vlf().header.seq);
    }

    /// Lets go of durable blocks beyond what may be kept.
    pub fn trim_buffers(&mut self) {
        self.buffers.trim(self.durable.lsn, self.durable.end);
    }

    pub fn log_space(&self) -> LogSpace {
        let files = self.space.files.iter();
        let total: u64 = files.map(|f| f.bytes.saturating_sub(HEADER_BYTES)).sum();
        let behind = self.space.active_behind();
        debug_assert!(
            self.space.active_bytes <= total,
            "log/6: more of the log is in use than there is"
        );
        LogSpace {
            total,
            used: behind + self.space.offset + self.head().used() as u64,
            reserved: self.head().reserved(),
        }
    }

    pub fn bytes_since(&self, lsn: Lsn) -> u64 {
        let current = self.space.vlf().header.seq;
        let ahead: u64 = self
            .space
            .vlfs
            .iter()
            .filter(|v| v.active && v.header.seq >= lsn.vlf && v.header.seq < current)
            .map(|v| v.header.size)
            .sum();
        let head = ahead + self.space.offset + self.head().used() as u64;
        head.saturating_sub(u64::from(lsn.block) * UNIT as u64)
    }
}
