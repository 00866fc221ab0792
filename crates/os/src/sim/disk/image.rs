//! The content of a file: sparse, shared between copies, copied where it is written.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Unit of sharing; one page of the engine.
const CHUNK: usize = 8192;

type Chunk = [u8; CHUNK];

/// Bytes of a file. Missing chunks are zeros; bytes beyond `len` are zeros in every chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    len: u64,
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

impl Image {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buf` from `offset`; zeros beyond the end.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) {
        for_each_chunk(offset, buf.len(), |chunk, within, part| {
            let out = &mut buf[part];
            match self.chunks.get(&chunk) {
                Some(c) => out.copy_from_slice(&c[within..within + out.len()]),
                None => out.fill(0),
            }
        });
    }

    /// Writes without regard to the length; the caller has extended it.
    pub(super) fn write(&mut self, data: &[u8], offset: u64) {
        debug_assert!(offset + data.len() as u64 <= self.len);
        for_each_chunk(offset, data.len(), |chunk, within, part| {
            let data = &data[part];
            let c = self
                .chunks
                .entry(chunk)
                .or_insert_with(|| Arc::new([0; CHUNK]));
            Arc::make_mut(c)[within..within + data.len()].copy_from_slice(data);
        });
    }

    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let keep = len.div_ceil(CHUNK as u64);
            self.chunks.split_off(&keep);
            let within = (len % CHUNK as u64) as usize;
            if within != 0
                && let Some(c) = self.chunks.get_mut(&(keep - 1))
            {
                Arc::make_mut(c)[within..].fill(0);
            }
        }
        self.len = len;
    }
}

/// Calls `f(chunk number, offset in it, range of the caller's buffer)` for each chunk that the range touches.
fn for_each_chunk(offset: u64, len: usize, mut f: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < len {
        let at = offset + done as u64;
        let within = (at % CHUNK as u64) as usize;
        let n = (CHUNK - within).min(len - done);
        f(at / CHUNK as u64, within, done..done + n);
        done += n;
    }
}
