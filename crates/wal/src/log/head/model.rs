//! The head under loom, which tries every interleaving of a few threads and every value that a weakly ordered load may
//! give: `cargo xtask model`.
//!
//! What is modelled: reserve, copy, publish, close, take, open, copy-out, `last`. What is not: the sleep of the flusher
//! (`set_idle`), which needs sequential consistency over two words, and loom takes SeqCst for AcqRel. That each ordering is
//! needed is shown by weakening it: loom must find what goes wrong then.

/// What `parts` gives the head here.
#[allow(clippy::disallowed_types, clippy::disallowed_methods)]
pub(super) mod parts {
    use std::sync::atomic::{AtomicU8, Ordering as Real};

    pub use loom::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
    pub use loom::thread::yield_now;

    use super::super::parts::Access;

    /// One more than the access that is weakened. Only one model runs at a time.
    pub static WEAKENED: AtomicU8 = AtomicU8::new(0);

    pub fn order(of: Access, order: Ordering) -> Ordering {
        match WEAKENED.load(Real::SeqCst) == of as u8 + 1 {
            true => Ordering::Relaxed,
            false => order,
        }
    }

    loom::lazy_static! {
        static ref TURNS: AtomicU64 = AtomicU64::new(0);
    }

    /// Loom orders two threads both ways where both write the same thing. That one of them only reads while the other reads
    /// and then writes it does not see; so both come here.
    pub fn interleave() {
        TURNS.fetch_add(1, Ordering::Relaxed);
    }
}

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};

const UNIT: usize = 8;

/// The twin of `buffer::Buffer`: loom watches every eight bytes, and a buffer that was given away is another one.
pub(super) struct Buffer {
    /// Which of `lives` those who append write into.
    start: AtomicUsize,
    /// The same for the sealer.
    current: UnsafeCell<usize>,
    lives: [Vec<UnsafeCell<[u8; UNIT]>>; 2],
}

// SAFETY: loom fails when two threads reach a cell without an order between them.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let units = || (0..bytes / UNIT).map(|_| UnsafeCell::new([0; UNIT]));
        Buffer {
            start: AtomicUsize::new(0),
            current: UnsafeCell::new(0),
            lives: [units().collect(), units().collect()],
        }
    }

    /// # Safety
    /// As in `buffer`; loom looks whether it is so.
    pub unsafe fn open(&self) {
        // SAFETY: loom checks the access.
        let current = self.current.with(|c| unsafe { *c });
        self.start.store(current, Ordering::Relaxed);
    }

    /// # Safety
    /// As in `buffer`.
    pub unsafe fn write(&self, at: usize, record: &[u8], padded: usize) {
        let life = &self.lives[self.start.load(Ordering::Relaxed)];
        for n in 0..padded / UNIT {
            let bytes = std::array::from_fn(|i| record.get(n * UNIT + i).copied().unwrap_or(0));
            // SAFETY: loom checks the access.
            life[at / UNIT + n].with_mut(|unit| unsafe { *unit = bytes });
        }
    }

    /// # Safety
    /// As in `buffer`.
    pub unsafe fn read(&self, from: usize, to: usize) -> Vec<u8> {
        let life = &self.lives[self.start.load(Ordering::Relaxed)];
        let units = life[from / UNIT..to / UNIT].iter();
        // SAFETY: loom checks the access.
        units
            .flat_map(|u| u.with(|unit| unsafe { *unit }))
            .collect()
    }

    /// # Safety
    /// As in `buffer`.
    pub unsafe fn take(&self, used: usize, _: impl FnOnce() -> Option<Vec<u8>>) -> Vec<u8> {
        // SAFETY: loom checks the access.
        let current = self.current.with_mut(|c| unsafe {
            *c = 1 - *c;
            1 - *c
        });
        let units = self.lives[current][..used / UNIT].iter();
        // SAFETY: loom checks the access, as a write: nobody may read meanwhile either.
        let unit = |u: &UnsafeCell<[u8; UNIT]>| u.with_mut(|unit| unsafe { *unit });
        units.flat_map(unit).collect()
    }
}

#[cfg(test)]
mod tests;
