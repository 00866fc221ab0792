//! Memory that a direct write accepts: its address is a multiple of [`AlignedBuf::ALIGN`].
//!
//! Done without unsafe code: the vector is a little too long and the buffer starts at its first aligned byte. The
//! vector never grows, so its address never changes.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A byte buffer whose address is a multiple of 4096. Dereferences to `[u8]`.
pub struct AlignedBuf {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuf {
    /// Enough for every device met so far: direct I/O asks for the logical sector, 512 or 4096.
    pub const ALIGN: usize = 4096;

    pub fn zeroed(len: usize) -> AlignedBuf {
        let bytes = vec![0; len + Self::ALIGN];
        let start = bytes.as_ptr().align_offset(Self::ALIGN);
        // `align_offset` may give up (it never does for bytes); then the buffer is merely not aligned.
        let start = if start <= Self::ALIGN { start } else { 0 };
        AlignedBuf { bytes, start, len }
    }

    pub fn from_slice(data: &[u8]) -> AlignedBuf {
        let mut buf = Self::zeroed(data.len());
        buf.copy_from_slice(data);
        buf
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}
