//! What has left the open block and waits for a write.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::Lsn;

use crate::log::buffers::Sealed;
use crate::log::{BATCH_BYTES, WINDOW};
use crate::vlf::VlfHeader;

#[derive(Debug)]
pub(in crate::log) enum Item {
    Block(Arc<Sealed>),
    /// A VLF is activated: its header must be durable before its blocks are submitted.
    Header {
        file: usize,
        header: VlfHeader,
    },
}

/// Sealed blocks on their way to the disk, in log order, and the chain that they get as they leave.
#[derive(Debug)]
pub(in crate::log) struct Queue {
    pub items: VecDeque<Item>,
    /// Of its blocks.
    pub bytes: usize,
    /// Bytes of the block that came last, still here or not.
    pub previous_bytes: u16,
    /// The last record of a block that came here, still here or not.
    pub last: Lsn,
    /// Somebody makes blocks ready for the disk without the mutex.
    pub sealing: bool,
    /// CRC32C of the last block made ready for the disk.
    pub chain: u32,
    /// Threads that wait for a place.
    pub waiters: usize,
}

impl Queue {
    pub fn new() -> Queue {
        Queue {
            items: VecDeque::new(),
            bytes: 0,
            previous_bytes: 0,
            last: Lsn::NULL,
            sealing: false,
            chain: 0,
            waiters: 0,
        }
    }

    pub fn push_block(&mut self, block: Arc<Sealed>) {
        debug_assert!(
            self.last.is_null() || self.last < Lsn::new(block.vlf, block.number, 1),
            "log/1: blocks are queued in log order"
        );
        self.last = self.last.max(block.last_lsn());
        self.previous_bytes = block.bytes as u16;
        self.bytes += block.bytes;
        self.items.push_back(Item::Block(block));
    }

    /// Takes the next blocks, neighbours on disk, as far as one write and the window take them beside `in_flight` bytes.
    pub fn take_blocks(&mut self, in_flight: u64) -> Vec<Arc<Sealed>> {
        let mut taken: Vec<Arc<Sealed>> = Vec::new();
        let mut bytes = 0;
        while let Some(Item::Block(next)) = self.items.front() {
            let neighbour = taken.last().is_none_or(|l| {
                l.file == next.file && l.file_offset + l.bytes as u64 == next.file_offset
            });
            let fits = bytes + next.bytes <= BATCH_BYTES
                && in_flight + (bytes + next.bytes) as u64 <= WINDOW;
            if !neighbour || !fits {
                break;
            }
            bytes += next.bytes;
            taken.push(next.clone());
            self.items.pop_front();
        }
        debug_assert!(
            taken.is_sorted_by(|a, b| (a.vlf, a.number) < (b.vlf, b.number)),
            "log/1: blocks leave the queue in log order"
        );
        debug_assert!(
            self.bytes >= bytes,
            "log/1: the queue is smaller than its blocks"
        );
        self.bytes -= bytes;
        taken
    }
}
