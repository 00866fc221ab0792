//! What the server has done since its start that no performance counter tells: the source of @@PACK_RECEIVED and its kin.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    PacketsReceived,
    PacketsSent,
    /// Streams of bytes that could not be read as packets.
    PacketErrors,
    /// Pages that could not be read or written (823), or contradicted themselves (824).
    DiskErrors,
}

static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Counts `n` more.
pub fn note_activity(activity: Activity, n: u64) {
    COUNTS[activity as usize].fetch_add(n, Relaxed);
}

/// How many there were.
pub fn activity(activity: Activity) -> u64 {
    COUNTS[activity as usize].load(Relaxed)
}

/// Packets of one connection.
#[derive(Debug, Default)]
pub struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    pub fn note_received(&self, packets: u64) {
        self.received.fetch_add(packets, Relaxed);
    }

    pub fn note_sent(&self, packets: u64) {
        self.sent.fetch_add(packets, Relaxed);
    }

    /// Received and sent so far.
    pub fn packets(&self) -> (u64, u64) {
        (self.received.load(Relaxed), self.sent.load(Relaxed))
    }
}
