//! Batches that wait in a spill file, in parts: sorted runs, or rows parted by the hash of a key.

use std::sync::Arc;

use duramen_base::SqlResult;

use super::{SpillFile, damaged};
use crate::Spooled;
use crate::batch::{Batch, Column};

/// Rows of a block, at most.
pub const BLOCK_ROWS: usize = 1024;
/// Rows of a part are written when they take so many bytes, however few they are: there are many parts, and many blocks are
/// in memory while their runs are merged.
pub const BLOCK_BYTES: usize = 64 << 10;
/// Rows of a part whose size nobody knows yet that are gathered together.
const FIRST_ROWS: usize = 32;

/// Where a block of rows lies in the file.
#[derive(Clone, Copy)]
struct Block {
    at: u64,
    bytes: usize,
    /// Rows of the part that stand before it.
    first: usize,
}

/// The blocks of one part, and the rows that do not fill one yet.
#[derive(Default)]
struct Part {
    blocks: Vec<Block>,
    /// Rows in them.
    written: usize,
    pending: Vec<Column>,
    rows: usize,
    /// Bytes of memory that they take.
    bytes: usize,
    /// So many are gathered together: wide ones make no large block.
    together: usize,
}

/// Parts that are being written.
pub struct Writer {
    file: Box<dyn SpillFile>,
    parts: Vec<Part>,
    /// Values whose bytes are somewhere else already.
    spooled: Vec<Spooled>,
    /// Bytes of memory that rows take which fill no block yet.
    waiting: usize,
}

impl Writer {
    pub fn new(file: Box<dyn SpillFile>) -> Writer {
        Writer {
            file,
            parts: Vec::new(),
            spooled: Vec::new(),
            waiting: 0,
        }
    }

    /// Bytes of memory that rows take which fill no block yet.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// A new part's number.
    pub fn part(&mut self) -> usize {
        self.parts.push(Part::default());
        self.parts.len() - 1
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Adds rows of `columns`: those at `rows`, in that order.
    pub fn put(&mut self, part: usize, columns: &[Arc<Column>], rows: &[u32]) -> SqlResult<()> {
        let mut rest = rows;
        while !rest.is_empty() {
            let p = &self.parts[part];
            let together = if p.together == 0 {
                FIRST_ROWS
            } else {
                p.together
            };
            let room = together.saturating_sub(p.rows).max(1);
            let (some, later) = rest.split_at(room.min(rest.len()));
            self.add(part, columns, some)?;
            rest = later;
        }
        Ok(())
    }

    fn add(&mut self, part: usize, columns: &[Arc<Column>], rows: &[u32]) -> SqlResult<()> {
        let p = &mut self.parts[part];
        if p.pending.is_empty() {
            p.pending = columns.iter().map(|c| c.like()).collect();
        }
        for (all, new) in p.pending.iter_mut().zip(columns) {
            match p.rows == 0 {
                true => *all = new.gather(rows),
                false => all.append(&new.gather(rows)),
            }
        }
        p.rows += rows.len();
        let before = p.bytes;
        p.bytes = p.pending.iter().map(Column::heap_bytes).sum();
        p.together = (BLOCK_BYTES * p.rows / p.bytes.max(1)).clamp(1, BLOCK_ROWS);
        self.waiting = self.waiting - before + p.bytes;
        match p.rows >= p.together {
            true => self.flush(part),
            false => Ok(()),
        }
    }

    fn flush(&mut self, part: usize) -> SqlResult<()> {
        let p = &mut self.parts[part];
        if p.rows == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(p.rows as u32).to_le_bytes());
        let spooled = &mut self.spooled;
        p.pending.iter().for_each(|c| c.write(&mut bytes, spooled));
        let at = self.file.append(&bytes)?;
        p.blocks.push(Block {
            at,
            bytes: bytes.len(),
            first: p.written,
        });
        p.written += p.rows;
        p.pending = p.pending.iter().map(Column::like).collect();
        p.rows = 0;
        self.waiting -= std::mem::take(&mut p.bytes);
        Ok(())
    }

    /// Everything is written: each part can be read, by its number.
    pub fn finish(mut self) -> SqlResult<Vec<Reader>> {
        for part in 0..self.parts.len() {
            self.flush(part)?;
        }
        let file: Arc<dyn SpillFile> = Arc::from(self.file);
        let spooled: Arc<[Spooled]> = self.spooled.into();
        let parts = self.parts.into_iter();
        Ok(parts
            .map(|p| Reader {
                file: file.clone(),
                spooled: spooled.clone(),
                columns: p.pending.len(),
                blocks: p.blocks.into(),
                next: 0,
            })
            .collect())
    }
}

/// One part, read from its beginning to its end.
pub struct Reader {
    file: Arc<dyn SpillFile>,
    /// Of all parts.
    spooled: Arc<[Spooled]>,
    blocks: Arc<[Block]>,
    columns: usize,
    next: usize,
}

impl Reader {
    /// Begins again.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Another reader of the same part, at its beginning.
    pub fn again(&self) -> Reader {
        Reader {
            file: self.file.clone(),
            spooled: self.spooled.clone(),
            blocks: self.blocks.clone(),
            columns: self.columns,
            next: 0,
        }
    }

    /// The next block; `None` at the end.
    pub fn next_block(&mut self) -> SqlResult<Option<Batch>> {
        let Some(block) = self.blocks.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        self.block(block).map(Some)
    }

    /// The block that has the part's row with this number, and the number of its first row.
    pub fn block_of(&self, row: usize) -> SqlResult<(usize, Batch)> {
        let after = self.blocks.partition_point(|b| b.first <= row);
        let block = after.checked_sub(1).and_then(|at| self.blocks.get(at));
        let block = block.ok_or_else(damaged)?;
        Ok((block.first, self.block(block)?))
    }

    fn block(&self, block: &Block) -> SqlResult<Batch> {
        let mut bytes = vec![0; block.bytes];
        self.file.read(block.at, &mut bytes)?;
        let (head, mut rest) = bytes.split_at_checked(4).ok_or_else(damaged)?;
        let rows = u32::from_le_bytes(head.try_into().map_err(|_| damaged())?) as usize;
        let mut columns = Vec::with_capacity(self.columns);
        for _ in 0..self.columns {
            let column = Column::read(&mut rest, &self.spooled).map_err(|_| damaged())?;
            if !column.is_absent() && column.len() != rows {
                return Err(damaged());
            }
            columns.push(Arc::new(column));
        }
        Ok(Batch::new(rows, columns))
    }
}
