//! The blocks that a log has in memory: those on their way to the disk, and some that are there already, for readers.
//!
//! Rollback mostly reads what was written a moment ago, so durable blocks stay for a while. How many depends on the memory
//! there is: [`CACHE_BYTES`] at most, a small part of the limit where that is less, and hardly anything where the logs of
//! other databases have a good part of what all may have.
//!
//! Invariants
//! 1. Blocks stand in log order, and only a durable one is let go of. [assert: buffers/1]
//! 2. What is told to the broker is what the blocks, the spare buffers and the write head's two take.
//!    [assert: buffers/2] [test: what_the_buffers_take_is_told_and_given_back]
//! 3. Of durable blocks, no log keeps less than two or more than its cache. [assert: buffers/3]

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::Lsn;
use duramen_os::memory::{Broker, Clerk, Tally};

use crate::block::{MAX_BYTES, UNIT};

/// Durable blocks kept, where there is memory for them.
const CACHE_BYTES: u64 = 2 << 20;
/// One of so many parts of the memory limit is for one log's durable blocks.
const LIMIT_PARTS: u64 = 32;
/// One of so many parts of what all logs may have: durable blocks are kept as far as the others leave of it.
const SHARE_PARTS: u64 = 4;
/// So much is kept wherever it is: a short transaction that rolls back reads it.
const LEAST_BYTES: u64 = 2 * MAX_BYTES as u64;
/// Buffers kept for blocks to come, where there is memory for more than the least.
const SPARE: u64 = 64;
/// The write head fills two in turn.
const HEAD_BYTES: u64 = 2 * MAX_BYTES as u64;

/// A block that takes no more records.
#[derive(Debug)]
pub(super) struct Sealed {
    pub file: usize,
    /// Byte offset in the file.
    pub file_offset: u64,
    pub vlf: u32,
    pub parity: u8,
    pub number: u32,
    /// Bytes on disk.
    pub bytes: usize,
    pub previous_bytes: u16,
    /// Header area and records.
    pub data: Vec<u8>,
    pub offsets: Vec<u16>,
}

impl Sealed {
    /// Record `slot` (from 1) with its padding.
    pub fn record(&self, slot: u16) -> Option<&[u8]> {
        let i = usize::from(slot).checked_sub(1)?;
        let start = usize::from(*self.offsets.get(i)?);
        let end = self
            .offsets
            .get(i + 1)
            .map_or(self.data.len(), |o| usize::from(*o));
        self.data.get(start..end)
    }

    pub fn last_lsn(&self) -> Lsn {
        match self.offsets.len() {
            0 => Lsn::NULL,
            n => Lsn::new(self.vlf, self.number, n as u16),
        }
    }

    /// Position behind the block.
    pub fn end(&self) -> (u32, u32) {
        (self.vlf, self.number + (self.bytes / UNIT) as u32)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Sealed blocks in log order: those not yet durable, and some that are.
    blocks: VecDeque<Arc<Sealed>>,
    /// What their buffers take.
    bytes: u64,
    /// Buffers of blocks that were let go of, for blocks to come.
    spare: Vec<Vec<u8>>,
    memory: Tally,
}

impl Buffers {
    pub fn new() -> Buffers {
        let memory = Tally::new(Clerk::Log);
        memory.add(HEAD_BYTES);
        Buffers {
            blocks: VecDeque::new(),
            bytes: 0,
            spare: Vec::new(),
            memory,
        }
    }

    /// Tells `broker` from now on, and keeps no more than its limit lets.
    pub fn follow(&self, broker: &Arc<Broker>) {
        self.memory.follow(broker);
    }

    /// A buffer for the next block.
    pub fn take_spare(&mut self) -> Option<Vec<u8>> {
        let spare = self.spare.pop()?;
        self.memory.sub(spare.capacity() as u64);
        Some(spare)
    }

    pub fn push(&mut self, block: Arc<Sealed>) {
        debug_assert!(
            self.blocks.back().is_none_or(|b| key(b) < key(&block)),
            "buffers/1: blocks come in log order"
        );
        let bytes = block.data.capacity() as u64;
        self.bytes += bytes;
        self.memory.add(bytes);
        self.blocks.push_back(block);
    }

    /// The block of a VLF's sequence number and its own, if it is here.
    pub fn find(&self, vlf: u32, number: u32) -> Option<&Arc<Sealed>> {
        let at = self.blocks.binary_search_by_key(&(vlf, number), |b| key(b));
        at.ok().map(|i| &self.blocks[i])
    }

    /// Lets go of durable blocks beyond what may be kept. `durable` is the last record that is, `durable_end` where the first
    /// block that is not begins.
    pub fn trim(&mut self, durable: Lsn, durable_end: (u32, u32)) {
        let room = self.room();
        debug_assert!(
            (LEAST_BYTES..=CACHE_BYTES).contains(&room),
            "buffers/3: a log keeps {room} bytes"
        );
        let most = SPARE.min(2 * (room - LEAST_BYTES) / MAX_BYTES as u64) as usize;
        while self.spare.len() > most {
            self.take_spare();
        }
        while self.bytes > room {
            match self.blocks.front() {
                Some(b) if key(b) < durable_end => {}
                _ => return,
            }
            if let Some(block) = self.blocks.pop_front() {
                debug_assert!(
                    block.last_lsn() <= durable && block.end() <= durable_end,
                    "buffers/1: a block that is not durable is let go of"
                );
                self.let_go(block, most);
            }
        }
    }

    /// Keeps the block's buffer, of which there are `most` at most.
    fn let_go(&mut self, block: Arc<Sealed>, most: usize) {
        let bytes = block.data.capacity() as u64;
        debug_assert!(
            self.bytes >= bytes,
            "buffers/2: there is less than the blocks take"
        );
        self.bytes -= bytes;
        self.memory.sub(bytes);
        // A reader may still have it.
        if let Some(block) = Arc::into_inner(block)
            && block.data.capacity() >= MAX_BYTES
            && self.spare.len() < most
        {
            self.memory.add(block.data.capacity() as u64);
            self.spare.push(block.data);
        }
    }

    /// Bytes of blocks that may be kept.
    fn room(&self) -> u64 {
        let Some(broker) = self.memory.broker() else {
            return CACHE_BYTES;
        };
        let others = broker.of(Clerk::Log).saturating_sub(self.memory.bytes());
        let share = broker.most(Clerk::Log) / SHARE_PARTS;
        let room = CACHE_BYTES.min(broker.limit() / LIMIT_PARTS);
        room.min(share.saturating_sub(others)).max(LEAST_BYTES)
    }
}

fn key(block: &Sealed) -> (u32, u32) {
    (block.vlf, block.number)
}

#[cfg(test)]
mod tests {
    use duramen_os::memory::STEP;

    use super::*;

    fn block(number: u32) -> Arc<Sealed> {
        Arc::new(Sealed {
            file: 0,
            file_offset: 0,
            vlf: 7,
            parity: 64,
            number,
            bytes: UNIT,
            previous_bytes: 0,
            data: vec![0; MAX_BYTES],
            offsets: Vec::new(),
        })
    }

    fn filled(broker: &Arc<Broker>, blocks: u32) -> Buffers {
        let mut buffers = Buffers::new();
        buffers.follow(broker);
        (1..=blocks).for_each(|n| buffers.push(block(n)));
        buffers
    }

    /// The blocks before `end` are durable.
    fn trim(buffers: &mut Buffers, end: u32) {
        buffers.trim(Lsn::new(7, end, 0), (7, end));
    }

    /// Told to the broker less than a step too little.
    fn reported(broker: &Broker, bytes: u64) -> bool {
        broker.of(Clerk::Log) == bytes / STEP * STEP
    }

    #[test]
    fn what_the_buffers_take_is_told_and_given_back() {
        const BLOCKS: u64 = 100;
        let broker = Broker::new(256 << 20);
        let mut buffers = filled(&broker, BLOCKS as u32);
        let block = MAX_BYTES as u64;
        assert!(reported(&broker, HEAD_BYTES + BLOCKS * block));
        // Nothing is durable: nothing goes.
        trim(&mut buffers, 1);
        assert!(reported(&broker, HEAD_BYTES + BLOCKS * block));
        trim(&mut buffers, 1 + BLOCKS as u32);
        let kept = CACHE_BYTES / block;
        let spare = SPARE.min(BLOCKS - kept);
        assert!(reported(&broker, HEAD_BYTES + (kept + spare) * block));
        assert!(buffers.find(7, 1).is_none() && buffers.find(7, BLOCKS as u32).is_some());
        assert!(buffers.take_spare().is_some());
        assert!(reported(&broker, HEAD_BYTES + (kept + spare - 1) * block));
        drop(buffers);
        assert_eq!(broker.of(Clerk::Log), 0);
    }

    #[test]
    fn a_small_limit_and_many_logs_keep_less() {
        let small = Broker::new(8 << 20);
        let mut buffers = filled(&small, 100);
        trim(&mut buffers, 101);
        let kept = (8 << 20) / LIMIT_PARTS / MAX_BYTES as u64;
        assert!(buffers.find(7, 101 - kept as u32).is_some());
        assert!(buffers.find(7, 100 - kept as u32).is_none());
        let shared = Broker::new(64 << 20);
        let others: Vec<_> = (0..5).map(|_| filled(&shared, 32)).collect();
        let mut buffers = filled(&shared, 32);
        trim(&mut buffers, 33);
        assert!(buffers.find(7, 31).is_some(), "two stay");
        assert!(buffers.find(7, 30).is_none(), "{} others", others.len());
    }
}
