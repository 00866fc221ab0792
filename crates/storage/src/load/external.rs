//! More rows than there is memory for: what fits is put in order and written to a spill file as a *run*, and at the end the
//! runs are merged. Whoever takes the rows sees one run, however many rows there are.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::memory::{Account, Clerk};
use duramen_txn::Transaction;
use duramen_types::Value;
use duramen_types::batch::Column;
use duramen_types::batch::spill::{self, BLOCK_ROWS, Merge, TOGETHER, Writer};

use super::order::TreeOrder;
use super::sorted::{self, ROWS};
use crate::rowset::Rowset;

/// Bytes of rows that are put in order together, at most and at least.
const MOST_TOGETHER: u64 = 256 << 20;
pub(super) const LEAST_TOGETHER: u64 = 256 << 10;
/// They take no more of the server's memory than one of so many parts.
const PART_OF_MEMORY: u64 = 4;
/// Bytes that sorting takes for each row besides its columns.
pub(super) const ORDER_BYTES: usize = 32;
/// Bytes of one run's rows that are in memory while it is merged, about.
const MERGED_BYTES: u64 = 2 * spill::BLOCK_BYTES as u64;

/// Bytes of rows of `rowset` that are put in order together.
pub(super) fn together(rowset: &Rowset) -> u64 {
    let limit = rowset.db.engine.memory.limit();
    (limit / PART_OF_MEMORY).clamp(LEAST_TOGETHER, MOST_TOGETHER)
}

/// Bytes of memory that rows by column take while they are put in order.
pub(super) fn sorting_bytes(columns: &[Column], rows: usize) -> usize {
    columns.iter().map(Column::heap_bytes).sum::<usize>() + rows * ORDER_BYTES
}

/// Sorted runs of the rows of one B-tree, in a file.
pub(super) struct Runs {
    rowset: Rowset,
    writer: Writer,
}

impl Runs {
    pub fn new(rowset: &Rowset) -> SqlResult<Runs> {
        Ok(Runs {
            writer: Writer::new(rowset.db.engine.spill_file()?),
            rowset: rowset.clone(),
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.writer.parts()
    }

    /// Bytes of memory that merging them takes, about.
    pub fn merge_bytes(&self) -> u64 {
        MERGED_BYTES * self.count().min(TOGETHER) as u64 + sorted::ON_THEIR_WAY as u64
    }

    /// Puts rows in order and writes them behind what is there.
    pub fn add(
        &mut self,
        tx: &Transaction,
        columns: Vec<Column>,
        rows: usize,
        threads: usize,
    ) -> SqlResult<()> {
        let columns = Arc::new(columns.into_iter().map(Arc::new).collect::<Vec<_>>());
        let order = self.rowset.order_of(&columns, rows, threads)?;
        let part = self.writer.part();
        for some in order.chunks(BLOCK_ROWS) {
            tx.check_given_up()?;
            self.writer.put(part, &columns, some)?;
        }
        Ok(())
    }

    /// Gives all rows in order to `give`, until that says no more; some at a time.
    pub fn merge(
        self,
        tx: &Transaction,
        give: &mut dyn FnMut(Vec<Column>, usize) -> bool,
    ) -> SqlResult<bool> {
        let engine = self.rowset.db.engine.clone();
        let order = TreeOrder(self.rowset);
        let mut runs = self.writer.finish()?;
        while runs.len() > TOGETHER {
            let writer = Writer::new(engine.spill_file()?);
            let step = &mut || tx.check_given_up();
            runs = spill::fewer(runs, (&order, usize::MAX), writer, step)?;
        }
        let count = runs.len();
        let mut merge = Merge::new(count, order, usize::MAX, &mut |n| runs[n].next_block())?;
        while let Some(batch) = merge.next(ROWS, &mut |n| runs[n].next_block())? {
            tx.check_given_up()?;
            let rows = batch.rows();
            let columns = batch.into_columns().into_iter();
            if !give(columns.map(Arc::unwrap_or_clone).collect(), rows) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Rows of one rowset that come one by one in any order, and leave in its own.
pub struct Sorter {
    rowset: Rowset,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
    held: Account,
    pub(crate) together: usize,
    runs: Option<Runs>,
}

impl Sorter {
    pub fn new(rowset: &Rowset) -> Sorter {
        Sorter {
            columns: empty(rowset),
            rows: 0,
            bytes: 0,
            held: rowset.db.engine.memory.account(Clerk::Loads),
            together: together(rowset) as usize,
            runs: None,
            rowset: rowset.clone(),
        }
    }

    pub fn add(&mut self, tx: &Transaction, row: Vec<Value>) -> SqlResult<()> {
        // Columns grow by doubling.
        let cells = row.len() * size_of::<u64>();
        self.bytes += ORDER_BYTES + 2 * (cells + row.iter().map(Value::heap_bytes).sum::<usize>());
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
        // Who gets no more writes what there is.
        match self.bytes >= self.together || !self.held.hold(self.bytes as u64) {
            true => self.spill(tx),
            false => Ok(()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0 && self.runs.is_none()
    }

    fn spill(&mut self, tx: &Transaction) -> SqlResult<()> {
        let runs = match &mut self.runs {
            Some(runs) => runs,
            none => none.insert(Runs::new(&self.rowset)?),
        };
        let columns = std::mem::replace(&mut self.columns, empty(&self.rowset));
        runs.add(tx, columns, std::mem::take(&mut self.rows), 1)?;
        self.bytes = 0;
        self.held.set(0);
        Ok(())
    }

    /// The last row has come: gives all of them to `write`, some at a time.
    pub fn finish<E: From<duramen_base::SqlError>>(
        mut self,
        tx: &Transaction,
        mut write: impl FnMut(&[Arc<Column>], usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_some() && self.rows > 0 {
            self.spill(tx)?;
        }
        let mut done = Ok(());
        let mut give = |columns: Vec<Column>, rows: usize| {
            let columns: Vec<Arc<Column>> = columns.into_iter().map(Arc::new).collect();
            done = write(&columns, rows);
            done.is_ok()
        };
        if let Some(runs) = self.runs.take() {
            self.held.set(runs.merge_bytes());
            let merged = runs.merge(tx, &mut give);
            done?;
            merged?;
            return Ok(());
        }
        let columns: Vec<Arc<Column>> = self.columns.into_iter().map(Arc::new).collect();
        let columns = Arc::new(columns);
        let together = sorted::together(self.bytes, self.rows);
        let order = self.rowset.order_of(&columns, self.rows, 1)?;
        for some in order.chunks(together) {
            if !give(columns.iter().map(|c| c.gather(some)).collect(), some.len()) {
                break;
            }
        }
        done
    }
}

/// Columns without rows, one for each of the rowset's.
pub(super) fn empty(rowset: &Rowset) -> Vec<Column> {
    let columns = rowset.def.layout.columns.iter();
    columns.map(|c| Column::of(&c.ty)).collect()
}
