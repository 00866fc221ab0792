//! Reading records: from memory while they are young, from the file after that.

use std::sync::Arc;

use duramen_base::Lsn;
use duramen_observe::DbCounter;

use super::Log;
use super::buffers::Sealed;
use super::scan::ChunkReader;
use crate::block::{OpenBlock, UNIT};
use crate::config::LogError;
use crate::record::RecordView;
use crate::vlf::HEADER_BYTES;

/// A record and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRecord {
    pub lsn: Lsn,
    pub bytes: Vec<u8>,
}

enum Held {
    Memory(Arc<Sealed>),
    File(Arc<OpenBlock>),
}

impl Held {
    fn record(&self, slot: u16) -> Option<&[u8]> {
        let raw = match self {
            Held::Memory(b) => b.record(slot),
            Held::File(b) => b.record(slot),
        }?;
        // Padding belongs to the block.
        RecordView::parse(raw).map_or(Some(raw), |v| Some(v.bytes()))
    }

    fn records(&self) -> u16 {
        match self {
            Held::Memory(b) => b.offsets.len() as u16,
            Held::File(b) => b.header.records,
        }
    }

    fn units(&self) -> u32 {
        match self {
            Held::Memory(b) => (b.bytes / UNIT) as u32,
            Held::File(b) => u32::from(b.header.bytes) / UNIT as u32,
        }
    }
}

/// Walks over the records from an LSN to the one that was last when it was made. Ends after the first error.
pub struct LogReader {
    log: Arc<Log>,
    next: Lsn,
    last: Lsn,
    held: Option<Held>,
    chunk: ChunkReader,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader")
            .field("next", &self.next)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

const FIRST_BLOCK: u32 = (HEADER_BYTES / UNIT as u64) as u32;

impl LogReader {
    pub(super) fn new(log: Arc<Log>, from: Lsn) -> LogReader {
        let (next, last) = {
            let s = log.lock();
            let active = s.space.vlfs.iter().filter(|v| v.active);
            let (seq, block) = active
                .map(|v| (v.header.seq, v.header.first_block))
                .min()
                .unwrap_or_default();
            let oldest = Lsn::new(seq, block.max(FIRST_BLOCK), 1);
            (from.max(oldest), s.last())
        };
        let next = Lsn {
            block: next.block.max(FIRST_BLOCK),
            slot: next.slot.max(1),
            ..next
        };
        LogReader {
            log,
            next,
            last,
            held: None,
            chunk: ChunkReader::new(),
        }
    }

    fn step(&mut self) -> Result<Option<LogRecord>, LogError> {
        while self.next <= self.last {
            let held = match self.held.take() {
                Some(held) => held,
                None => fetch(&self.log, self.next, &mut self.chunk)?,
            };
            if let Some(bytes) = held.record(self.next.slot) {
                let record = LogRecord {
                    lsn: self.next,
                    bytes: bytes.to_vec(),
                };
                self.next.slot += 1;
                self.held = Some(held);
                return Ok(Some(record));
            }
            debug_assert!(held.records() < self.next.slot);
            let block = self.next.block + held.units();
            let size = self
                .log
                .vlf_bytes(self.next.vlf)
                .ok_or(LogError::NotFound(self.next))?;
            self.next = if u64::from(block) * UNIT as u64 >= size {
                Lsn::new(self.next.vlf + 1, FIRST_BLOCK, 1)
            } else {
                Lsn::new(self.next.vlf, block, 1)
            };
        }
        Ok(None)
    }
}

impl Iterator for LogReader {
    type Item = Result<LogRecord, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.step();
        if !matches!(result, Ok(Some(_))) {
            self.last = Lsn::NULL;
            self.held = None;
        }
        result.transpose()
    }
}

impl Log {
    fn vlf_bytes(&self, seq: u32) -> Option<u64> {
        let s = self.lock();
        let vlf = s.space.vlfs.iter().find(|v| v.header.seq == seq)?;
        Some(vlf.header.size)
    }
}

/// One record. A rollback walks backwards over many of the same block: the open one is not copied whole for each of
/// them, and one that had to come from the file is kept until another one has to.
pub(super) fn read_one(log: &Arc<Log>, lsn: Lsn) -> Result<Vec<u8>, LogError> {
    let key = (lsn.vlf, lsn.block);
    if let Some(record) = open_record(log, lsn) {
        return Ok(record);
    }
    let kept = log.read_last.lock().clone();
    let held = match kept.filter(|k| k.key == key) {
        Some(kept) => Held::File(kept.block),
        None => fetch(log, lsn, &mut ChunkReader::one_block())?,
    };
    if let Held::File(block) = &held {
        *log.read_last.lock() = Some(ReadLast {
            key,
            block: block.clone(),
        });
    }
    held.record(lsn.slot)
        .map(<[u8]>::to_vec)
        .ok_or(LogError::NotFound(lsn))
}

/// A record of the block that is being filled.
fn open_record(log: &Log, lsn: Lsn) -> Option<Vec<u8>> {
    let s = log.lock();
    let head = s.next_lsn();
    if (lsn.vlf, lsn.block) != (head.vlf, head.block) {
        return None;
    }
    let mut record = s.sealer.record(lsn.slot)?;
    if let Some(length) = RecordView::parse(&record).map(|v| v.length()) {
        record.truncate(length);
    }
    Some(record)
}

/// The block that was last read from a file for a single record. What stands at a sequence number and block never
/// changes while the log is open.
#[derive(Clone)]
pub(super) struct ReadLast {
    key: (u32, u32),
    block: Arc<OpenBlock>,
}

/// The block of `at`.
fn fetch(log: &Arc<Log>, at: Lsn, chunk: &mut ChunkReader) -> Result<Held, LogError> {
    log.counters.count(DbCounter::LogPoolRequests, 1);
    let s = log.lock();
    let key = (at.vlf, at.block);
    let head = s.next_lsn();
    if key == (head.vlf, head.block) && s.head().slots() > 0 {
        let vlf = s.space.vlf();
        let (data, offsets) = s.sealer.copy();
        return Ok(Held::Memory(Arc::new(Sealed {
            file: vlf.file,
            file_offset: 0,
            vlf: at.vlf,
            parity: vlf.header.parity(),
            number: at.block,
            bytes: 0,
            previous_bytes: 0,
            data,
            offsets,
        })));
    }
    if let Some(block) = s.buffers.find(key.0, key.1) {
        log.counters.count(DbCounter::LogCacheReads, 1);
        return Ok(Held::Memory(block.clone()));
    }
    let vlf = s
        .space
        .vlfs
        .iter()
        .find(|v| v.header.seq == at.vlf && at.vlf != 0)
        .ok_or(LogError::NotFound(at))?
        .clone();
    let file = s.space.files[vlf.file].file.clone();
    let path = s.space.files[vlf.file].spec.path.clone();
    let beyond = key >= s.durable.end;
    drop(s);
    if beyond {
        return Err(LogError::NotFound(at));
    }
    log.counters.count(DbCounter::LogPoolCacheMisses, 1);
    log.counters.count(DbCounter::LogPoolDiskReads, 1);
    let offset = u64::from(at.block) * UNIT as u64;
    let io = |cause| LogError::Io {
        path: path.clone(),
        cause,
    };
    if let Some(found) = chunk.block(&file, &vlf, offset, true).map_err(io)? {
        return Ok(Held::File(Arc::new(found)));
    }
    // What was read ahead may be older than what has been written since.
    chunk.forget();
    if let Some(found) = chunk.block(&file, &vlf, offset, true).map_err(io)? {
        return Ok(Held::File(Arc::new(found)));
    }
    // The VLF may have been reused under our feet, or the LSN may point into the middle of a block.
    if log.vlf_bytes(at.vlf).is_none() {
        return Err(LogError::NotFound(at));
    }
    Err(log.damaged(at, "no sound block stands here"))
}
