//! How fast a recovery is taken to be.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A recovery tells the speed of redo when it has read this much log.
const LEAST_BYTES: u64 = 16 << 20;
/// One megabyte: a recovery that leaves more to be written than this is over before it is written.
pub(crate) const CHECKPOINT_DEBT: u32 = 128;

/// How fast redo is taken to be: log read and repeated in a second, and pages fetched. The beginning is on the slow side
/// of what was measured; a recovery of some length puts its own figure in place of the first.
#[derive(Debug)]
pub(crate) struct RedoSpeed {
    bytes: AtomicU64,
    pages: AtomicU64,
}

impl Default for RedoSpeed {
    fn default() -> RedoSpeed {
        RedoSpeed::new(64 << 20, 8_000)
    }
}

impl RedoSpeed {
    pub fn new(bytes: u64, pages: u64) -> RedoSpeed {
        RedoSpeed {
            bytes: AtomicU64::new(bytes),
            pages: AtomicU64::new(pages),
        }
    }

    /// Other figures from now on, per second.
    #[cfg(test)]
    pub fn set(&self, bytes: u64, pages: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.pages.store(pages, Ordering::Relaxed);
    }

    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed).max(1)
    }

    /// Milliseconds that redo would take.
    pub fn estimate(&self, log_bytes: u64, dirty_pages: u64) -> u64 {
        let bytes = self.bytes.load(Ordering::Relaxed).max(1);
        log_bytes.saturating_mul(1000) / bytes + dirty_pages * 1000 / self.pages()
    }

    /// A recovery has read so much log in this time.
    pub fn learn(&self, bytes: u64, took: Duration) {
        if bytes >= LEAST_BYTES {
            let rate = bytes as f64 / took.as_secs_f64().max(0.001);
            let rate = (rate as u64).clamp(4 << 20, 1 << 30);
            self.bytes.store(rate, Ordering::Relaxed);
        }
    }
}
