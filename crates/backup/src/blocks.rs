//! The log blocks of a backup set, one after the other: for whoever shows them, and for whoever looks for a point to stop.

use std::collections::VecDeque;
use std::ops::Deref;

use duramen_base::{Lsn, SqlError, SqlResult};
use duramen_os::thread;
use duramen_wal::record::RecordView;
use duramen_wal::{OpenBlock, claimed_bytes, open_block};

use super::read::{BackupSet, Medium, Run, damaged};

/// Read at once; more than the largest block.
const PIECE: usize = 1 << 20;
const UNIT: u64 = 512;
const LARGEST: u64 = 60 << 10;
/// Parity bits of the first byte of a block.
const PARITY: u8 = 0xC0;

/// Walks over the blocks of a set's log. Ends after the first error, and when what it is for is given up.
#[derive(Debug)]
pub struct LogBlocks<M> {
    medium: M,
    runs: VecDeque<Run>,
    at: u64,
    buf: Vec<u8>,
    /// Place in the run of the buffer's first byte.
    start: u64,
}

impl<M: Deref<Target = Medium>> LogBlocks<M> {
    /// The log blocks of a set, in log order. 3189 for one that is damaged.
    pub fn new(medium: M, set: &BackupSet) -> LogBlocks<M> {
        LogBlocks {
            medium,
            runs: set.log.iter().copied().collect(),
            at: 0,
            buf: Vec::new(),
            start: 0,
        }
    }

    /// The bytes from `at` of the first run, as many as a block may have.
    fn window(&mut self) -> SqlResult<&[u8]> {
        let Some(run) = self.runs.front() else {
            return Ok(&[]);
        };
        let wanted = LARGEST.min(run.bytes - self.at);
        let end = self.start + self.buf.len() as u64;
        if self.at < self.start || self.at + wanted > end {
            let part = Run {
                at: run.at + self.at,
                bytes: (run.bytes - self.at).min(PIECE as u64),
                ..*run
            };
            self.buf.clear();
            self.start = self.at;
            let buf = &mut self.buf;
            self.medium.read_run(&part, PIECE, |piece| {
                buf.extend_from_slice(piece);
                Ok(())
            })?;
        }
        let from = (self.at - self.start) as usize;
        Ok(&self.buf[from..from + wanted as usize])
    }

    fn advance(&mut self) -> SqlResult<Option<OpenBlock>> {
        if thread::is_given_up() {
            return Err(SqlError::given_up());
        }
        while let Some(run) = self.runs.front() {
            if self.at + UNIT > run.bytes {
                self.runs.pop_front();
                self.at = 0;
                self.buf.clear();
                continue;
            }
            let bytes = self.window()?;
            let parity = bytes[0] & PARITY;
            let Some(size) = claimed_bytes(bytes, parity).filter(|n| *n <= bytes.len()) else {
                // What fills a piece of a stream up.
                self.at += UNIT;
                continue;
            };
            let block = open_block(&bytes[..size], parity).map_err(|_| damaged())?;
            self.at += size as u64;
            return Ok(Some(block));
        }
        Ok(None)
    }
}

/// The records of a block, each of which must be one: 3189.
pub(crate) fn records(block: &OpenBlock) -> impl Iterator<Item = SqlResult<(Lsn, RecordView<'_>)>> {
    (1..=block.header.records).map(|slot| {
        let view = block.record(slot).and_then(RecordView::parse);
        Ok((block.lsn(slot), view.ok_or_else(damaged)?))
    })
}

impl<M: Deref<Target = Medium>> Iterator for LogBlocks<M> {
    type Item = SqlResult<OpenBlock>;

    fn next(&mut self) -> Option<SqlResult<OpenBlock>> {
        let next = self.advance();
        if next.is_err() {
            self.runs.clear();
        }
        next.transpose()
    }
}
