//! Walking the VLF headers of a file.
//!
//! Each header says where the next one stands, so a walk is one small read after the other; a log of 126,399 VLFs would
//! take as many times the latency of the disk. But VLFs that grew by the same rule are of the same size: once a few are known,
//! the next ones are read where they must be if that goes on, many at a time. A guess decides nothing: a header counts
//! only when the walk arrives where it was read, and says that it stands there.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_os::{AlignedBuf, DiskFile, IoError, thread};

use crate::vlf::{HEADER_BYTES, VlfHeader};

/// Bytes of a header that are read: as many as any disk writes whole.
const READ_BYTES: usize = 4096;
/// VLFs of one size in a row, from which on more of them are expected.
const ALIKE: u64 = 64;
/// Headers read ahead at once, and by how many threads.
const AHEAD: u64 = 8192;
const THREADS: u64 = 32;

/// Reads the headers of one file.
pub(super) struct Headers {
    file: Arc<dyn DiskFile>,
    bytes: u64,
    buf: AlignedBuf,
    /// Size of the last VLFs, and how many there were of it.
    alike: (u64, u64),
    ahead: BTreeMap<u64, VlfHeader>,
}

impl Headers {
    /// `bytes` is the length of the file.
    pub fn new(file: &Arc<dyn DiskFile>, bytes: u64) -> Headers {
        Headers {
            file: Arc::clone(file),
            bytes,
            buf: AlignedBuf::zeroed(READ_BYTES),
            alike: (0, 0),
            ahead: BTreeMap::new(),
        }
    }

    /// The header at `at`; `None` when none stands there: then [`Headers::bytes`] are what does.
    pub fn at(&mut self, at: u64) -> Result<Option<VlfHeader>, IoError> {
        let mut found = self.ahead.remove(&at);
        if found.is_none() && self.alike.1 >= ALIKE {
            self.ahead.clear();
            self.alike.1 = 0;
            self.read_ahead(at);
            found = self.ahead.remove(&at);
        }
        if found.is_none() {
            self.file.read_at(&mut self.buf, at)?;
            found = VlfHeader::decode(&self.buf).filter(|h| h.offset == at);
        }
        debug_assert!(
            found.as_ref().is_none_or(|h| h.offset == at),
            "headers/1: a header is taken for that of another place"
        );
        if let Some(h) = &found {
            self.alike = match self.alike {
                (size, n) if size == h.size => (size, n + 1),
                _ => (h.size, 1),
            };
        }
        Ok(found)
    }

    /// What was read last where no header stands.
    pub fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Reads where headers stand if all VLFs from `at` on have the size of the last. What cannot be read, or is none,
    /// is left to the walk.
    fn read_ahead(&mut self, at: u64) {
        let size = self.alike.0;
        let room = (self.bytes - at) / size.max(HEADER_BYTES);
        let count = room.min(AHEAD);
        let readers: Vec<_> = (0..THREADS.min(count))
            .map(|t| {
                let file = Arc::clone(&self.file);
                thread::try_spawn("vlf headers", move || {
                    let mut buf = AlignedBuf::zeroed(READ_BYTES);
                    let mut found = Vec::new();
                    for n in (t..count).step_by(THREADS as usize) {
                        let at = at + n * size;
                        if file.read_at(&mut buf, at).is_ok()
                            && let Some(h) = VlfHeader::decode(&buf)
                            && h.offset == at
                        {
                            found.push((at, h));
                        }
                    }
                    found
                })
            })
            .collect();
        for reader in readers.into_iter().flatten() {
            self.ahead.extend(reader.join().unwrap_or_default());
        }
    }
}
