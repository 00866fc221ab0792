//! Who finds room in a log that cannot grow.
//!
//! ```text
//! | in use, open block included | set aside, and what it costs beside | slack | one flush more |
//!                                                                     ^ changes end here
//! ```
//! A change asks: it is made when it fits together with everything that is set aside, the record that would undo it
//! included. What is never refused does not ask, and uses what is kept for it:
//! - compensation records and ends of transactions: what their changes and beginnings have set aside. The end of a
//!   transaction may be flushed alone, so its beginning sets a sector aside ([`Log::flush_bytes`]);
//! - checkpoints, and changes of the boot page that let go of log: the slack, of which they leave half unless they are
//!   sure to let go of a VLF ([`Log::lets_in`]).
//!
//! Invariants
//! 1. While changes are let in, what is free holds the open block sealed as it is, and everything set aside with its
//!    headers, marks and ends of VLFs, and the slack beyond that. [test: a_full_log_is_error_9002_and_rolls_back]
//! 2. Flushes that nobody needs do not happen while the log is short: the rest of a sector is lost with each. What pages
//!    need on their way down is counted with what is set aside ([`overhead`]); pages that would need one are passed over
//!    as long as there are others. [test: the_flusher_hardens_what_nobody_waits_for]
//!
//! Not counted: more crashes in the middle of one undo than half the slack has sectors.

use super::state::{Room, State};
use super::{HEADER_BYTES, Log};
use crate::config::LogError;

/// Records beside a change that do not ask: how full its page is now, and the count of a rowset's rows that the next
/// checkpoint notes.
pub(super) const BOOKKEEPING_BYTES: u64 = 512;
/// No record that does not ask is longer: a page of rows. The end of a VLF may be too short for it.
const LONGEST_KEPT: u64 = 8_400;

/// Bytes of records that a VLF of `size` bytes takes, with allowance for block headers, marks, padding, and an end that
/// is too short for the record that comes.
pub(super) fn usable_bytes(size: u64) -> u64 {
    let body = size.saturating_sub(HEADER_BYTES);
    body.saturating_sub((body / 32).max(LONGEST_KEPT.min(body / 8)))
}

/// How many of each 1024 bytes set aside go beside the records, with blocks that pages on their way down need: with
/// 4096-byte sectors a quarter as much again.
pub(super) fn overhead(sector: usize) -> u64 {
    (sector / 16) as u64
}

/// What stays free beside the slack, so that a change may be flushed, and what comes beside it, too.
pub(super) fn margin(sector: usize) -> u64 {
    2 * sector as u64 + BOOKKEEPING_BYTES
}

impl Log {
    /// What a flush of one record may cost beside it: the header of its block and the rest of its sector.
    pub fn flush_bytes(&self) -> u32 {
        match self.cfg.volatile {
            true => 0,
            false => self.cfg.sector.max(512) + 80,
        }
    }

    /// Whether something of so many bytes that does not ask may begin: beyond it half of the slack is left, or the log
    /// can grow.
    pub fn lets_in(&self, bytes: u64) -> bool {
        if !self.is_tight() {
            return true;
        }
        let s = self.state.lock();
        s.left() >= bytes + s.space.slack / 2
    }

    /// Whether no file of it can grow.
    pub fn is_fixed(&self) -> bool {
        let s = self.state.lock();
        s.growth.no_space || !s.space.grows()
    }

    /// Sets bytes aside for a record that will not ask, without asking: they are part of what a change leaves free.
    pub fn hold(&self, bytes: u64) {
        self.head.hold(bytes);
    }

    /// Sets bytes aside when they are there, or can be after a growth.
    pub fn reserve(&self, bytes: u64) -> Result<(), LogError> {
        loop {
            let mut s = self.state.lock();
            s.check()?;
            if s.has_room(0, bytes) {
                self.head.hold(bytes);
                return Ok(());
            }
            s = self.make_space(s)?;
            drop(s);
        }
    }

    /// Whether the log cannot grow and changes find no room: nothing is flushed then that nobody waits for.
    pub fn is_short(&self) -> bool {
        self.is_tight() && self.state.lock().unreserved() == 0
    }
}

impl State {
    /// Bytes left beyond what is used and set aside, slack included.
    pub(super) fn left(&self) -> u64 {
        let taken = self.head().used() as u64 + self.head().needed(self.head().reserved());
        self.space.free().saturating_sub(taken)
    }

    /// Makes room for a record of `need` bytes that the head did not take. The end of a VLF that it does not fit is lost,
    /// so one that asks must find room beside that.
    pub fn make_room(&mut self, need: usize, reserve: u64, asks: bool) -> Result<Room, LogError> {
        self.check()?;
        let lost = if asks { self.lost_by(need) } else { 0 };
        if asks && !self.has_room(need as u64 + lost, reserve) {
            return Ok(Room::NeedsSpace);
        }
        if self.head().fits(need) {
            return Ok(Room::Made);
        }
        if self.queue.bytes > super::QUEUE_BYTES {
            return Ok(Room::QueueFull);
        }
        match self.next_block(need) {
            true => Ok(Room::Made),
            false => Ok(Room::NeedsSpace),
        }
    }
}
