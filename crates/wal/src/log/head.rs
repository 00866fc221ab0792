//! The write head: the open block, to which every session appends at the same time.
//!
//! ```text
//! reserve   one compare-and-swap of (generation, closed, slots, bytes): the LSN is known before a byte is copied
//! copy      into the reserved bytes, beside everybody else who copies
//! publish   the slot's entry, which says where the record begins: before it, nobody reads the record
//! ```
//! A block is one *generation*. Two buffers are enough: a generation is closed, emptied by the [`Sealer`] and the next
//! opened while the log's mutex is held, and an append that meets a closed head goes to that mutex.
//!
//! Invariants
//! 1. An append owns the bytes and the slot that its swap took, and only those; it touches the buffer after the swap.
//!    [test: real_threads_append_while_blocks_are_taken]
//! 2. What belongs to a generation (LSN, limit, buffer) is stored before its word and stays until it is closed *and*
//!    every reserved slot is published. So a swap that succeeds has read the values of its own generation.
//!    [test: blocks_are_whole_whoever_is_copying]
//! 3. `reserved` is raised before the budget is looked at: two appends can never both take the last room.
//!    [test: reserve_is_given_only_within_the_budget]
//! 4. Generations do not repeat within 2^32 blocks, which is longer than a thread can sleep between a load and a swap.
//!    [assert: head/4]
//!
//! Cost: two atomic read-modify-writes that everybody shares (one when nothing is reserved), and the copy.

#[cfg(not(feature = "model"))]
mod buffer;
#[cfg(feature = "model")]
mod model;
mod parts;

use std::sync::Arc;

use duramen_base::Lsn;

use crate::block::{HEADER_BYTES, MAX_BYTES};
use crate::record;
use parts::{
    Access, AtomicBool, AtomicU16, AtomicU32, AtomicU64, Buffer, Ordering, interleave, order,
    yield_now,
};

/// Slots of a block filled with the shortest records.
const MAX_SLOTS: usize = MAX_BYTES / record::HEADER_BYTES;
/// What the first record of a block finds used.
const EMPTY: u64 = (HEADER_BYTES / 8) as u64;

/// generation (32 bits), closed (1), slots (15), used bytes / 8 (16).
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(generation: u32, closed: bool) -> Word {
        Word(u64::from(generation) << 32 | u64::from(closed) << 31 | EMPTY)
    }
    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
    fn side(self) -> usize {
        (self.generation() & 1) as usize
    }
    fn closed(self) -> bool {
        self.0 & CLOSED != 0
    }
    fn slots(self) -> usize {
        (self.0 >> 16 & 0x7FFF) as usize
    }
    fn used(self) -> usize {
        (self.0 & 0xFFFF) as usize * 8
    }
    /// Whether a block of `limit` bytes takes one more record and its mark.
    fn fits(self, padded: usize, limit: u64) -> bool {
        let marks = 2 * (self.slots() + 1);
        self.slots() < MAX_SLOTS && (self.used() + padded + marks) as u64 <= limit
    }
    fn with_record(self, padded: usize) -> Word {
        Word(self.0 + (1 << 16) + (padded / 8) as u64)
    }
}

const CLOSED: u64 = 1 << 31;

/// One of the two buffers, with what belongs to the generation that uses it.
struct Side {
    vlf: AtomicU32,
    number: AtomicU32,
    /// Bytes of records and their 2-byte marks that the block takes.
    limit: AtomicU64,
    /// Bytes that this block's records and everybody's reserve may come to together.
    budget: AtomicU64,
    /// Where each record begins; 0 until it is published.
    entries: Box<[AtomicU16]>,
    buffer: Buffer,
}

impl Side {
    fn new(bytes: usize) -> Side {
        Side {
            vlf: AtomicU32::new(0),
            number: AtomicU32::new(0),
            limit: AtomicU64::new(0),
            budget: AtomicU64::new(0),
            entries: (0..bytes / record::HEADER_BYTES)
                .map(|_| AtomicU16::new(0))
                .collect(),
            buffer: Buffer::new(bytes),
        }
    }

    /// Where the record of a reserved slot lies; waits for whoever is still copying it.
    fn entry(&self, slot: usize) -> u16 {
        loop {
            match self.entries[slot].load(order(Access::Entry, Ordering::Acquire)) {
                0 => yield_now(),
                offset => return offset,
            }
        }
    }
}

/// The shared half: what an append needs.
pub(super) struct Head {
    word: AtomicU64,
    sides: [Side; 2],
    /// Bytes set aside for the records that would undo what is in the log.
    reserved: AtomicU64,
    /// See [`super::room::overhead`].
    overhead: AtomicU64,
    /// The flusher sleeps until something is appended.
    idle: AtomicBool,
}

impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.word();
        f.debug_struct("Head")
            .field("slots", &word.slots())
            .field("used", &word.used())
            .field("closed", &word.closed())
            .finish_non_exhaustive()
    }
}

impl Head {
    /// Appends a record, unless the head is closed, the block full or, for one that asks, the room spoken for.
    pub fn append(&self, record: &[u8], reserve: u64, asks: bool) -> Option<Lsn> {
        // Before the room is looked at (3); a record that is refused gives it back.
        if reserve > 0 {
            self.hold(reserve);
        }
        let lsn = self.take_slot(record, asks);
        if lsn.is_none() && reserve > 0 {
            self.release(reserve);
        }
        lsn
    }

    /// What must stay free so that `reserved` bytes of records surely fit.
    pub fn needed(&self, reserved: u64) -> u64 {
        reserved + reserved / 1024 * self.overhead.load(Ordering::Relaxed) + reserved / 8
    }

    fn take_slot(&self, record: &[u8], asks: bool) -> Option<Lsn> {
        let padded = record.len().next_multiple_of(8);
        let mut word = self.word();
        loop {
            let side = &self.sides[word.side()];
            let (slot, at) = (word.slots(), word.used());
            // What is read of the side may be of another generation by now: then the swap fails (2).
            let budget = side.budget.load(Ordering::Relaxed);
            if word.closed()
                || !word.fits(padded, side.limit.load(Ordering::Relaxed))
                || asks && self.needed(self.reserved()) + (at + padded) as u64 > budget
            {
                return None;
            }
            let next = word.with_record(padded);
            let swapped = self.word.compare_exchange_weak(
                word.0,
                next.0,
                Ordering::SeqCst,
                Ordering::Acquire,
            );
            if let Err(now) = swapped {
                word = Word(now);
                continue;
            }
            let lsn = Lsn::new(
                side.vlf.load(Ordering::Relaxed),
                side.number.load(Ordering::Relaxed),
                slot as u16 + 1,
            );
            interleave();
            #[cfg(not(feature = "model"))]
            debug_assert!(
                self.word().generation() == word.generation() && self.word().slots() > slot,
                "head/4: a generation is over before all of its records are published"
            );
            // SAFETY: the swap succeeded, so `at .. at + padded` of this generation's buffer is ours alone until the
            // entry is stored (invariants 1 and 2); it lies within the buffer, because `used <= limit <= MAX_BYTES`.
            unsafe { side.buffer.write(at, record, padded) };
            side.entries[slot].store(at as u16, order(Access::Publish, Ordering::Release));
            return Some(lsn);
        }
    }

    /// Whether the open block takes a record of `padded` bytes, its reserve left aside.
    pub fn fits(&self, padded: usize) -> bool {
        let word = self.word();
        let limit = self.sides[word.side()].limit.load(Ordering::Relaxed);
        !word.closed() && word.fits(padded, limit)
    }

    fn word(&self) -> Word {
        Word(self.word.load(Ordering::SeqCst))
    }

    /// Records in the open block, those included that are being copied.
    pub fn slots(&self) -> usize {
        self.word().slots()
    }

    /// Bytes of the open block so far, its header included.
    pub fn used(&self) -> usize {
        self.word().used()
    }

    /// The last record of the open block; `None` when it has none.
    pub fn last(&self) -> Option<Lsn> {
        let look = || Word(self.word.load(order(Access::Last, Ordering::SeqCst)));
        let acquire = order(Access::Last, Ordering::Acquire);
        let word = look();
        let side = &self.sides[word.side()];
        let lsn = Lsn::new(
            side.vlf.load(acquire),
            side.number.load(acquire),
            word.slots() as u16,
        );
        // The same generation still: the side was its own all the time.
        let same = look().generation() == word.generation();
        (same && word.slots() > 0).then_some(lsn)
    }

    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::SeqCst)
    }

    /// Sets bytes aside without asking whether they are there.
    pub fn hold(&self, bytes: u64) {
        self.reserved.fetch_add(bytes, Ordering::SeqCst);
    }

    /// So many of each 1024 bytes that are set aside go beside the records.
    pub fn set_overhead(&self, of_1024: u64) {
        self.overhead.store(of_1024, Ordering::Relaxed);
    }

    pub fn release(&self, bytes: u64) {
        let less = |r: u64| Some(r.saturating_sub(bytes));
        // The closure never refuses.
        let _ = self
            .reserved
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// Nothing is appended any more until the sealer opens a generation.
    pub fn close(&self) {
        self.word.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// The next append shall wake the flusher. To be followed by a look at [`Head::slots`].
    pub fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::SeqCst);
    }

    /// Whether the flusher sleeps and nobody else is about to wake it.
    pub fn take_idle(&self) -> bool {
        self.idle.load(Ordering::SeqCst) && self.idle.swap(false, Ordering::SeqCst)
    }
}

/// The other half: opens and empties blocks. There is one, under the log's mutex.
#[derive(Debug)]
pub(super) struct Sealer {
    head: Arc<Head>,
}

impl Sealer {
    /// A closed, empty head.
    pub fn new() -> Sealer {
        Sealer::of(MAX_BYTES)
    }

    /// For blocks of at most so many bytes.
    fn of(bytes: usize) -> Sealer {
        let head = Head {
            word: AtomicU64::new(Word::new(0, true).0),
            sides: [Side::new(bytes), Side::new(bytes)],
            reserved: AtomicU64::new(0),
            overhead: AtomicU64::new(0),
            idle: AtomicBool::new(false),
        };
        Sealer {
            head: Arc::new(head),
        }
    }

    pub fn head(&self) -> &Arc<Head> {
        &self.head
    }

    /// Opens the block `vlf:number`, which takes `limit` bytes. The head must be closed and empty.
    pub fn open(&mut self, vlf: u32, number: u32, limit: usize, budget: u64) {
        let word = self.head.word();
        debug_assert!(
            word.closed() && word.slots() == 0 && limit <= MAX_BYTES,
            "head/2: a block is opened over one that is not over"
        );
        let next = Word::new(word.generation().wrapping_add(1), false);
        let side = &self.head.sides[next.side()];
        // Released, so that whoever sees them also sees that the generation before is over ([`Head::last`]).
        side.vlf.store(vlf, Ordering::Release);
        side.number.store(number, Ordering::Release);
        side.limit.store(limit as u64, Ordering::Relaxed);
        side.budget.store(budget, Ordering::Relaxed);
        // SAFETY: the generation that used this side is over (invariant 2) and the new one has not begun.
        unsafe { side.buffer.open() };
        // Last: with this word appends begin, and find all the rest.
        let begin = order(Access::Begin, Ordering::SeqCst);
        self.head.word.store(next.0, begin);
    }

    /// Room that was made, or taken, while the block is open.
    pub fn set_budget(&mut self, budget: u64) {
        let side = &self.head.sides[self.head.word().side()];
        side.budget.store(budget, Ordering::Relaxed);
    }

    /// A copy of record `slot` (from 1) of the open block, with its padding.
    pub fn record(&self, slot: u16) -> Option<Vec<u8>> {
        let word = self.head.word();
        let index = usize::from(slot).checked_sub(1)?;
        if index >= word.slots() {
            return None;
        }
        let side = &self.head.sides[word.side()];
        let from = usize::from(side.entry(index));
        let to = match index + 1 < word.slots() {
            true => usize::from(side.entry(index + 1)),
            false => word.used(),
        };
        // SAFETY: record `index` is published and ends at `to <= used`; as in `copy`, nobody takes the buffer away or
        // writes below `used` again.
        Some(unsafe { side.buffer.read(from, to) })
    }

    /// A copy of the open block's records, and where each begins.
    pub fn copy(&self) -> (Vec<u8>, Vec<u16>) {
        let word = self.head.word();
        let side = &self.head.sides[word.side()];
        let offsets = published(side, word);
        // SAFETY: everything below `used` is published, and the sealer, which alone would take the buffer away, is
        // borrowed here; later appends write beyond `used`.
        let bytes = unsafe { side.buffer.read(0, word.used()) };
        (bytes, offsets)
    }

    /// Closes the head and takes what is in it, the buffer too when it is large ([`Buffer::take`]).
    pub fn take(&mut self, spare: impl FnOnce() -> Option<Vec<u8>>) -> (Vec<u8>, Vec<u16>) {
        let before = self.head.word.fetch_or(CLOSED, Ordering::SeqCst);
        let word = Word(before | CLOSED);
        let side = &self.head.sides[word.side()];
        // Closed before it is waited for: no slot is added to those that are still copied into.
        let offsets = published(side, word);
        // SAFETY: the head is closed and all of its slots are published: nobody else reaches the buffer until the next
        // generation but one is opened, by this very sealer.
        let data = unsafe { side.buffer.take(word.used(), spare) };
        debug_assert!(
            offsets.is_sorted() && offsets.last().is_none_or(|o| usize::from(*o) < word.used()),
            "head/1: records do not stand one behind the other"
        );
        // 0 says that a slot is not published: the next generation on this side begins with that.
        for entry in &side.entries[..word.slots()] {
            entry.store(0, Ordering::Relaxed);
        }
        let empty = Word::new(word.generation(), true);
        self.head.word.store(empty.0, Ordering::SeqCst);
        (data, offsets)
    }
}

/// Where the records of a word's slots begin, once all of them are published.
fn published(side: &Side, word: Word) -> Vec<u16> {
    (0..word.slots()).map(|slot| side.entry(slot)).collect()
}

#[cfg(all(test, not(feature = "model")))]
mod tests;
