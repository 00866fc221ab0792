//! Batches that wait in a spill file, in parts: sorted runs, or rows parted by the hash of a key.

use std::rc::Rc;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::events::{HashWarning, HashWarningType, SortWarning, SortWarningType, emit};
use duramen_observe::{Counter, count};
use duramen_types::CollationId;
use duramen_types::batch::{Batch, Column};

use super::BATCH_ROWS;
use super::keys::PARTS;
use crate::cx::Cx;
use crate::spill::SpillFile;

/// Where a block of rows lies in the file.
#[derive(Clone, Copy)]
struct Block {
    at: u64,
    bytes: usize,
}

/// The blocks of one part, and the rows that do not fill one yet.
#[derive(Default)]
struct Part {
    blocks: Vec<Block>,
    pending: Vec<Column>,
    rows: usize,
}

/// Parts that are being written.
pub struct Writer {
    file: Box<dyn SpillFile>,
    parts: Vec<Part>,
}

/// For what rows are written.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// A hash table's, which reads what was written so often.
    Hash(u32),
    /// The other input of one that has told already.
    Other,
    Sort,
    /// Rows that are read more than once.
    Spool,
}

impl Purpose {
    /// Counts the file, and tells of memory that did not suffice.
    fn told(self) {
        match self {
            Purpose::Hash(round) => {
                count(Counter::Workfiles, 1);
                emit(|| HashWarning {
                    hash_warning_type: HashWarningType::RECURSION,
                    recursion_level: u64::from(round),
                });
            }
            Purpose::Other => count(Counter::Workfiles, 1),
            Purpose::Sort => {
                count(Counter::Worktables, 1);
                emit(|| SortWarning {
                    sort_warning_type: SortWarningType::SINGLE_PASS,
                });
            }
            Purpose::Spool => count(Counter::Worktables, 1),
        }
    }
}

impl Writer {
    pub fn new(purpose: Purpose, cx: &Cx<'_>) -> SqlResult<Writer> {
        purpose.told();
        Ok(Writer {
            file: cx.host.spill_file()?,
            parts: Vec::new(),
        })
    }

    /// A new part's number.
    pub fn part(&mut self) -> usize {
        self.parts.push(Part::default());
        self.parts.len() - 1
    }

    /// Adds rows of `columns`: those at `rows`, in that order.
    pub fn put(&mut self, part: usize, columns: &[Arc<Column>], rows: &[u32]) -> SqlResult<()> {
        let p = &mut self.parts[part];
        if p.pending.is_empty() {
            p.pending = columns.iter().map(|c| c.like()).collect();
        }
        for (all, new) in p.pending.iter_mut().zip(columns) {
            match all.is_absent() && !new.is_absent() && p.rows == 0 {
                true => *all = new.gather(rows),
                false => all.append(&new.gather(rows)),
            }
        }
        p.rows += rows.len();
        match p.rows >= BATCH_ROWS {
            true => self.flush(part),
            false => Ok(()),
        }
    }

    /// Adds `n` rows of `columns`, each to the part of its key: the first [`PARTS`] parts are for that.
    pub fn put_by_key(
        &mut self,
        columns: &[Arc<Column>],
        (keys, collations): (&[Arc<Column>], &[CollationId]),
        n: usize,
        round: u32,
    ) -> SqlResult<()> {
        while self.parts.len() < PARTS {
            self.part();
        }
        let parts = super::keys::parts(keys, collations, n, round);
        for (part, rows) in parts.iter().enumerate() {
            if !rows.is_empty() {
                self.put(part, columns, rows)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, part: usize) -> SqlResult<()> {
        let p = &mut self.parts[part];
        if p.rows == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(p.rows as u32).to_le_bytes());
        p.pending.iter().for_each(|c| c.write(&mut bytes));
        let at = self.file.append(&bytes)?;
        p.blocks.push(Block {
            at,
            bytes: bytes.len(),
        });
        p.pending = p.pending.iter().map(Column::like).collect();
        p.rows = 0;
        Ok(())
    }

    /// As `finish`, with all the parts of keys, whether any row came or not.
    pub fn finish_all(mut self) -> SqlResult<Vec<Reader>> {
        while self.parts.len() < PARTS {
            self.part();
        }
        self.finish()
    }

    /// Everything is written: each part can be read, by its number.
    pub fn finish(mut self) -> SqlResult<Vec<Reader>> {
        for part in 0..self.parts.len() {
            self.flush(part)?;
        }
        let file: Rc<dyn SpillFile> = Rc::from(self.file);
        let parts = self.parts.into_iter();
        Ok(parts
            .map(|p| Reader {
                file: file.clone(),
                columns: p.pending.len(),
                blocks: p.blocks,
                next: 0,
            })
            .collect())
    }
}

/// One part, read from its beginning to its end.
pub struct Reader {
    file: Rc<dyn SpillFile>,
    blocks: Vec<Block>,
    columns: usize,
    next: usize,
}

impl Reader {
    /// Begins again.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    pub fn next(&mut self) -> SqlResult<Option<Batch>> {
        let Some(block) = self.blocks.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        let mut bytes = vec![0; block.bytes];
        self.file.read(block.at, &mut bytes)?;
        let damaged = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
        let (head, mut rest) = bytes.split_at_checked(4).ok_or_else(damaged)?;
        let rows = u32::from_le_bytes(head.try_into().map_err(|_| damaged())?) as usize;
        let mut columns = Vec::with_capacity(self.columns);
        for _ in 0..self.columns {
            let column = Column::read(&mut rest).map_err(|_| damaged())?;
            if !column.is_absent() && column.len() != rows {
                return Err(damaged());
            }
            columns.push(Arc::new(column));
        }
        Ok(Some(Batch::new(rows, columns)))
    }
}
