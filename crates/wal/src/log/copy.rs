//! Blocks as they stand on the disk, for backups: whole, with marks and checksums, in log order.
//!
//! Blocks tile a VLF, and what is durable never changes while its VLF is in use, so a range of the log is a few ranges of
//! files. Who copies keeps the log from being truncated meanwhile; what is copied says of itself where it belongs.

use duramen_base::{FileId, Lsn};
use duramen_os::AlignedBuf;

use super::Log;
use crate::block::UNIT;
use crate::config::LogError;
use crate::vlf::{HEADER_BYTES, VlfHeader};

/// A VLF and the file that has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlfSlot {
    pub file_id: FileId,
    pub header: VlfHeader,
}

/// Neighbouring blocks of one VLF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    pub slot: VlfSlot,
    /// Its place in the VLF, in units of 512 bytes.
    pub first_block: u32,
    pub bytes: u64,
}

const FIRST_BLOCK: u32 = (HEADER_BYTES / UNIT as u64) as u32;
/// Direct reads begin and end at multiples of this.
const ALIGN: u64 = 4096;

impl Log {
    /// Where the first block begins that is not durable yet: everything before is.
    pub fn durable_end(&self) -> Lsn {
        let (vlf, block) = self.lock().durable.end;
        Lsn::new(vlf, block, 1)
    }

    /// Where the oldest block begins that is still in the log.
    pub fn oldest_block(&self) -> Lsn {
        let s = self.lock();
        let oldest = s.space.vlfs.iter().filter(|v| v.active);
        match oldest.min_by_key(|v| v.header.seq) {
            Some(v) => Lsn::new(v.header.seq, v.header.first_block.max(FIRST_BLOCK), 1),
            None => Lsn::NULL,
        }
    }

    /// Where the active log begins: the first record that somebody needed when the log was truncated last. The records
    /// before it in its VLF stay until that is reused.
    pub fn active_from(&self) -> Lsn {
        let truncated = self.lock().needs.truncated;
        self.oldest_block().max(truncated)
    }

    /// Every VLF, by file and offset. Those that hold nothing anybody needs have sequence number 0.
    pub fn vlf_slots(&self) -> Vec<VlfSlot> {
        let s = self.lock();
        let slot = |v: &super::state::Vlf| {
            let mut header = v.header;
            if !v.active {
                header.seq = 0;
            }
            VlfSlot {
                file_id: s.space.files[v.file].spec.file_id,
                header,
            }
        };
        s.space.vlfs.iter().map(slot).collect()
    }

    /// The blocks from that of `from` to before that of `to`, which is not beyond [`Log::durable_end`].
    pub fn block_ranges(&self, from: Lsn, to: Lsn) -> Result<Vec<BlockRange>, LogError> {
        let slots = self.vlf_slots();
        let mut out = Vec::new();
        for seq in from.vlf..=to.vlf {
            let first_block = match seq == from.vlf {
                true => from.block.max(FIRST_BLOCK),
                false => FIRST_BLOCK,
            };
            let start = u64::from(first_block) * UNIT as u64;
            let found = slots.iter().find(|s| s.header.seq == seq);
            let end = match seq == to.vlf {
                true => u64::from(to.block) * UNIT as u64,
                false => found.map_or(u64::MAX, |s| s.header.size),
            };
            if end <= start {
                continue;
            }
            let slot = found.ok_or(LogError::NotFound(Lsn::new(seq, first_block, 1)))?;
            if end > slot.header.size {
                return Err(LogError::NotFound(to));
            }
            out.push(BlockRange {
                slot: *slot,
                first_block,
                bytes: end - start,
            });
        }
        Ok(out)
    }

    /// Reads a range in pieces of at most `piece` bytes, a multiple of 4096.
    pub fn read_blocks<E: From<LogError>>(
        &self,
        range: &BlockRange,
        piece: usize,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (file, path) = {
            let s = self.lock();
            let state = s.space.files.iter().filter(|f| !f.is_gone());
            let mut found = state.filter(|f| f.spec.file_id == range.slot.file_id);
            match found.next() {
                Some(f) => (f.file.clone(), f.spec.path.clone()),
                None => return Err(LogError::NotFound(Lsn::NULL).into()),
            }
        };
        let start = range.slot.header.offset + u64::from(range.first_block) * UNIT as u64;
        let end = start + range.bytes;
        let mut buf = AlignedBuf::zeroed(piece);
        let mut at = start;
        while at < end {
            let low = at / ALIGN * ALIGN;
            let high = (low + piece as u64).min(end.next_multiple_of(ALIGN));
            let n = (high - low) as usize;
            file.read_at(&mut buf[..n], low)
                .map_err(|cause| LogError::Io {
                    path: path.clone(),
                    cause,
                })?;
            let stop = high.min(end);
            each(&buf[(at - low) as usize..(stop - low) as usize])?;
            at = stop;
        }
        Ok(())
    }
}
