//! Reading blocks from files, and the end-of-log scan.
//!
//! The end of the log is stored nowhere. The scan walks block by block from a known start; the log ends before the first
//! place where no block stands that continues it: right parity in every sector, sound checksums, this VLF's sequence
//! number and this position, an epoch not older than the block before, and the CRC32C of that block.
//!
//! A torn tail and damage in the middle look alike at that place. What tells them apart is what lies behind: every block
//! names the position before which everything was durable when it was sealed. If a sound block behind the end, of the
//! same epoch or a later one, says that more was durable than the scan could read, then acknowledged records are
//! missing, and the log is refused instead of cut. And a write that was cut leaves a sector as it was: where all sectors
//! of a block are there and the block is unsound, or a sector begins as none can, bytes have changed by themselves
//! ([`ChunkReader::has_rotted`]).

use std::sync::Arc;

use duramen_base::Lsn;
use duramen_os::{AlignedBuf, DiskFile, IoError};

use super::WINDOW;
use super::state::{FileState, Vlf};
use crate::block::{self, OpenBlock, Sector, UNIT};
use crate::config::{LogError, Watch};
use crate::planted::{Bug, Planted};
use crate::vlf::HEADER_BYTES;

const CHUNK_BYTES: u64 = 1 << 20;
/// Enough for any block, wherever it begins.
const BLOCK_BYTES: u64 = 64 << 10;
const ALIGN: u64 = 4096;
const UNIT64: u64 = UNIT as u64;

/// Reads a file forward in large pieces.
pub(super) struct ChunkReader {
    /// Bytes that one read takes.
    piece: u64,
    buf: AlignedBuf,
    file: usize,
    start: u64,
    bytes: usize,
}

impl ChunkReader {
    pub fn new() -> ChunkReader {
        ChunkReader::of(CHUNK_BYTES)
    }

    /// For one block: nothing that lies ahead is wanted.
    pub fn one_block() -> ChunkReader {
        ChunkReader::of(BLOCK_BYTES)
    }

    fn of(piece: u64) -> ChunkReader {
        ChunkReader {
            piece,
            buf: AlignedBuf::zeroed(0),
            file: usize::MAX,
            start: 0,
            bytes: 0,
        }
    }

    /// Forgets what was read: it may have been written since.
    pub fn forget(&mut self) {
        self.bytes = 0;
    }

    /// `bytes` bytes at `at`, which with its neighbours up to `limit` may be read ahead.
    fn get(
        &mut self,
        index: usize,
        file: &Arc<dyn DiskFile>,
        at: u64,
        bytes: usize,
        limit: u64,
    ) -> Result<&[u8], IoError> {
        let held = self.file == index
            && self.start <= at
            && at + bytes as u64 <= self.start + self.bytes as u64;
        if !held {
            let start = at / ALIGN * ALIGN;
            let end = limit.min(start + self.piece).max(at + bytes as u64);
            let want = (end - start) as usize;
            if self.buf.len() < want {
                self.buf = AlignedBuf::zeroed(want.next_multiple_of(ALIGN as usize));
            }
            self.bytes = 0;
            file.read_at(&mut self.buf[..want], start)?;
            (self.file, self.start, self.bytes) = (index, start, want);
        }
        let from = (at - self.start) as usize;
        Ok(&self.buf[from..from + bytes])
    }

    /// The block at `offset` of a VLF, when there is a sound one that belongs there.
    pub fn block(
        &mut self,
        file: &Arc<dyn DiskFile>,
        vlf: &Vlf,
        offset: u64,
        check: bool,
    ) -> Result<Option<OpenBlock>, IoError> {
        let header = &vlf.header;
        let limit = header.offset + header.size;
        let at = header.offset + offset;
        if offset < HEADER_BYTES || offset + UNIT64 > header.size || header.seq == 0 {
            return Ok(None);
        }
        let parity = header.parity();
        let first = self.get(vlf.file, file, at, UNIT, limit)?;
        let Some(bytes) = block::claimed_bytes(first, parity) else {
            return Ok(None);
        };
        if at + bytes as u64 > limit {
            return Ok(None);
        }
        let raw = self.get(vlf.file, file, at, bytes, limit)?;
        let Ok(found) = block::open_checked(raw, parity, check) else {
            return Ok(None);
        };
        let here =
            found.header.vlf == header.seq && u64::from(found.header.number) * UNIT64 == offset;
        Ok(here.then_some(found))
    }

    /// Whether what stands at `offset`, where no sound block of the VLF begins, cannot be the work of a write that was
    /// cut. Not told of blocks of other programs, nor while sectors of an older use may have this use's parity.
    pub fn has_rotted(
        &mut self,
        file: &Arc<dyn DiskFile>,
        vlf: &Vlf,
        offset: u64,
    ) -> Result<bool, IoError> {
        let header = &vlf.header;
        if header.mixed > 0 || offset < HEADER_BYTES {
            return Ok(false);
        }
        let limit = header.offset + header.size;
        let mut claimed = usize::MAX;
        for n in 0..block::MAX_BYTES / UNIT {
            let at = header.offset + offset + n as u64 * UNIT64;
            if at + UNIT64 > limit {
                break;
            }
            let sector = self.get(vlf.file, file, at, UNIT, limit)?;
            match block::sector_of(sector, header.parity(), n == 0) {
                Sector::Written { last } => {
                    if n == 0 {
                        match block::claims(sector, header.seq, (offset / UNIT64) as u32) {
                            Some(bytes) => claimed = bytes / UNIT,
                            None => return Ok(false),
                        }
                    }
                    if last || n + 1 == claimed {
                        return Ok(true);
                    }
                }
                Sector::Old => return Ok(false),
                Sector::Odd => return Ok(true),
            }
        }
        Ok(true)
    }
}

/// Where the log ends and what the next block continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// Index of the VLF and offset in it; the offset may be the VLF's size.
    pub vlf: usize,
    pub offset: u64,
    pub epoch: u64,
    pub chain: u32,
    pub previous_bytes: u16,
    pub last: Lsn,
    pub first: Lsn,
}

impl FileState {
    fn failed(&self, cause: IoError) -> LogError {
        LogError::Io {
            path: self.spec.path.clone(),
            cause,
        }
    }
}

pub(super) struct Scan<'a> {
    pub db_name: &'a str,
    pub files: &'a [FileState],
    pub vlfs: &'a [Vlf],
    pub planted: Planted,
    /// A restored log ends here, whatever stands behind: NULL for others.
    pub stop: Lsn,
}

impl Scan<'_> {
    /// Finds the end of the log, scanning from `start`, or from as far before it as `watch` wants.
    pub fn run(&self, start: Lsn, mut watch: Option<&mut dyn Watch>) -> Result<End, LogError> {
        let run = self.contiguous_run()?;
        let checkpoint = start;
        let mut reader = ChunkReader::new();
        let mut start = start;
        if let Some(watch) = &mut watch
            && !start.is_null()
        {
            self.look(&run, start, &mut reader, *watch)?;
            start = watch.begin().min(start);
        }
        let Some(&oldest) = run.first() else {
            return Err(self.damaged(start, "no VLF has ever been used"));
        };
        let first = Lsn::new(self.seq(oldest), (HEADER_BYTES / UNIT64) as u32, 1);
        let mut at = 0;
        let mut offset = HEADER_BYTES;
        if !start.is_null() {
            at = run
                .iter()
                .position(|i| self.seq(*i) == start.vlf)
                .ok_or_else(|| self.damaged(start, "the VLF of the checkpoint is missing"))?;
            offset = u64::from(start.block) * UNIT64;
        }
        let check = !self.planted.on(Bug::SkipCrc);
        let chained = !self.planted.on(Bug::NoEpochBump);
        if let Some(watch) = &mut watch {
            let bytes = run[at..].iter().map(|i| self.vlfs[*i].header.size);
            watch.expect(bytes.sum::<u64>().saturating_sub(offset));
        }
        let mut end = End {
            vlf: run[at],
            offset,
            epoch: 0,
            chain: 0,
            previous_bytes: 0,
            last: Lsn::NULL,
            first,
        };
        let mut blocks = 0u64;
        loop {
            if end.offset >= self.vlfs[end.vlf].header.size {
                at += 1;
                let Some(&next) = run.get(at) else { break };
                (end.vlf, end.offset) = (next, HEADER_BYTES);
            }
            if !self.stop.is_null() && self.place(&end) >= (self.stop.vlf, self.stop.block) {
                break;
            }
            let Some(found) = self.read(&mut reader, end.vlf, end.offset, check)? else {
                let vlf = &self.vlfs[end.vlf];
                let file = &self.files[vlf.file];
                let rotted = reader.has_rotted(&file.file, vlf, end.offset);
                let reports_rot = chained && !self.planted.on(Bug::RotIsTorn);
                if reports_rot && rotted.map_err(|cause| file.failed(cause))? {
                    let at = Lsn::new(vlf.header.seq, (end.offset / UNIT64) as u32, 1);
                    return Err(self.damaged(at, "a log block is unreadable, and was not torn"));
                }
                break;
            };
            let Some(own) = found.header.own else {
                return Err(self.damaged(found.lsn(1), "written by another program"));
            };
            let continues =
                own.epoch >= end.epoch && (blocks == 0 || own.previous_crc == end.chain);
            if chained && !continues {
                break;
            }
            blocks += 1;
            end.epoch = end.epoch.max(own.epoch);
            end.chain = found.crc;
            end.previous_bytes = found.header.bytes;
            if found.header.records > 0 {
                end.last = found.lsn(found.header.records);
            }
            end.offset += u64::from(found.header.bytes);
            if let Some(watch) = &mut watch {
                watch.block(Arc::new(found));
            }
        }
        if !start.is_null() && (blocks == 0 || start < checkpoint && end.last < checkpoint) {
            return Err(self.damaged(start, "the checkpoint's record is missing"));
        }
        if !self.stop.is_null() {
            // At the end of a VLF the next block's place is in the one after.
            let full = end.offset >= self.vlfs[end.vlf].header.size;
            let next = (self.seq(end.vlf) + 1, (HEADER_BYTES / UNIT64) as u32);
            let stop = (self.stop.vlf, self.stop.block);
            if self.place(&end) < stop && !(full && next == stop) {
                return Err(self.damaged(self.stop, "the log was not restored whole"));
            }
        } else if chained && !self.planted.on(Bug::LooksNotBehind) {
            self.look_behind(&run[at.min(run.len() - 1)..], &end, &mut reader)?;
        }
        Ok(end)
    }

    /// Shows `watch` the blocks from the checkpoint on until it has seen enough.
    fn look(
        &self,
        run: &[usize],
        start: Lsn,
        reader: &mut ChunkReader,
        watch: &mut dyn Watch,
    ) -> Result<(), LogError> {
        let from = run.iter().skip_while(|i| self.seq(**i) < start.vlf);
        let mut offset = u64::from(start.block) * UNIT64;
        for &vlf in from {
            while offset < self.vlfs[vlf].header.size {
                let Some(found) = self.read(reader, vlf, offset, true)? else {
                    return Ok(());
                };
                offset += u64::from(found.header.bytes);
                if watch.look(&found) {
                    return Ok(());
                }
            }
            offset = HEADER_BYTES;
        }
        Ok(())
    }

    /// Damage or torn tail? Looks at what lies behind the end, twice the window far.
    fn look_behind(
        &self,
        rest: &[usize],
        end: &End,
        reader: &mut ChunkReader,
    ) -> Result<(), LogError> {
        let here = (self.seq(end.vlf), (end.offset / UNIT64) as u32);
        let mut budget = 2 * WINDOW;
        for &vlf in rest {
            let size = self.vlfs[vlf].header.size;
            let mut offset = if vlf == end.vlf {
                end.offset
            } else {
                HEADER_BYTES
            };
            while offset < size && budget > 0 {
                if let Some(found) = self.read(reader, vlf, offset, true)?
                    && let Some(own) = found.header.own
                    && own.epoch >= end.epoch
                    && own.durable > here
                {
                    return Err(self.damaged(
                        Lsn::new(here.0, here.1, 1),
                        "records that were durable are missing",
                    ));
                }
                offset += UNIT64;
                budget = budget.saturating_sub(UNIT64);
            }
        }
        Ok(())
    }

    /// The VLFs whose sequence numbers run without a gap up to the highest, oldest first.
    fn contiguous_run(&self) -> Result<Vec<usize>, LogError> {
        let ours = |i: &usize| {
            // A restore that was cut short may have left VLFs behind the end, and not all of them.
            self.seq(*i) != 0 && (self.stop.is_null() || self.seq(*i) <= self.stop.vlf)
        };
        let mut used: Vec<usize> = (0..self.vlfs.len()).filter(ours).collect();
        used.sort_by_key(|i| self.seq(*i));
        if let Some(pair) = used.windows(2).find(|p| self.seq(p[0]) == self.seq(p[1])) {
            let at = Lsn::new(self.seq(pair[0]), 0, 0);
            return Err(self.damaged(at, "two VLFs have the same sequence number"));
        }
        let mut from = used.len().saturating_sub(1);
        while from > 0 && self.seq(used[from - 1]) + 1 == self.seq(used[from]) {
            from -= 1;
        }
        Ok(used.split_off(from))
    }

    fn read(
        &self,
        reader: &mut ChunkReader,
        vlf: usize,
        offset: u64,
        check: bool,
    ) -> Result<Option<OpenBlock>, LogError> {
        let vlf = &self.vlfs[vlf];
        let file = &self.files[vlf.file];
        reader
            .block(&file.file, vlf, offset, check)
            .map_err(|cause| file.failed(cause))
    }

    fn place(&self, end: &End) -> (u32, u32) {
        (self.seq(end.vlf), (end.offset / UNIT64) as u32)
    }

    fn seq(&self, vlf: usize) -> u32 {
        self.vlfs[vlf].header.seq
    }

    fn damaged(&self, at: Lsn, what: &'static str) -> LogError {
        LogError::Damaged {
            db_name: self.db_name.to_string(),
            at,
            what,
        }
    }
}
