//! The bytes of a block that is being filled: written by many at once, read and taken by one.
//!
//! The rules of who may touch what are the head's (`super`, invariants 1 and 2); this is the small `unsafe` that they
//! allow. `model.rs` has a twin in which loom watches every access.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) struct Buffer {
    /// `bytes`' bytes, for those who may not borrow it.
    start: AtomicPtr<u8>,
    /// Borrowed only by the sealer, and only while no append can touch it.
    bytes: UnsafeCell<Vec<u8>>,
}

// SAFETY: `bytes` is the only part that is not Sync by itself. Appends write to disjoint parts of it through `start`,
// readers read what is published, and the sealer, of which there is one, borrows it when nobody else can reach it: the
// callers of the functions below promise it.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        Buffer {
            start: AtomicPtr::new(std::ptr::null_mut()),
            bytes: UnsafeCell::new(vec![0; bytes]),
        }
    }

    /// Before the generation begins that uses the buffer.
    ///
    /// # Safety
    /// Nobody else reaches the buffer, and whoever does later has seen the generation begin.
    pub unsafe fn open(&self) {
        // SAFETY: the caller's promise.
        let bytes = unsafe { &mut *self.bytes.get() };
        self.start.store(bytes.as_mut_ptr(), Ordering::Relaxed);
    }

    /// Copies `record` to `at` and zeros to `at + padded`.
    ///
    /// # Safety
    /// The buffer is open, `at .. at + padded` lies in it and is the caller's alone; `padded` is `record`'s length to the
    /// next multiple of 8, and not 0.
    #[inline]
    pub unsafe fn write(&self, at: usize, record: &[u8], padded: usize) {
        // SAFETY: the caller's promise. The last eight bytes are zero first, where the record does not reach.
        unsafe {
            let to = self.start.load(Ordering::Relaxed).add(at);
            to.add(padded - 8).cast::<u64>().write_unaligned(0);
            std::ptr::copy_nonoverlapping(record.as_ptr(), to, record.len());
        }
    }

    /// A copy of what lies from `from` to `to`; zeros when the buffer was never open.
    ///
    /// # Safety
    /// Nobody writes there, and nobody takes the buffer meanwhile.
    pub unsafe fn read(&self, from: usize, to: usize) -> Vec<u8> {
        let start = self.start.load(Ordering::Relaxed);
        if start.is_null() {
            return vec![0; to - from];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.add(from), to - from) }.to_vec()
    }

    /// The first `used` bytes. A large block's buffer is given away and replaced by `spare`; a small one is copied out, or a
    /// thousand small commits would hold 60 MB.
    ///
    /// # Safety
    /// As for [`Buffer::open`].
    pub unsafe fn take(&self, used: usize, spare: impl FnOnce() -> Option<Vec<u8>>) -> Vec<u8> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { &mut *self.bytes.get() };
        if used <= bytes.len() / 4 {
            return bytes[..used].to_vec();
        }
        let mut fresh = spare().unwrap_or_default();
        fresh.resize(bytes.len(), 0);
        let mut full = std::mem::replace(bytes, fresh);
        full.truncate(used);
        full
    }
}
