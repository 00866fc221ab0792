//! Merging sorted runs of rows: from a file, or from other threads. Rows that sort alike come in the order of their runs.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;

use super::{Reader, TOGETHER, Writer};
use crate::batch::{Batch, Column};

/// Bytes of the rows that a merge gives at a time, about.
const BYTES: usize = 512 << 10;

/// Gives the next batch of the run with this number.
type Fetch<'f> = &'f mut dyn FnMut(usize) -> SqlResult<Option<Batch>>;

/// How a row of one run stands to a row of another.
pub trait RowOrder {
    fn compare(&self, a: (&Batch, usize), b: (&Batch, usize)) -> Ordering;
}

/// A run on its way into the merge.
struct Run {
    number: usize,
    batch: Batch,
    row: usize,
    /// Bytes of the batch, and of one of its rows, about.
    bytes: usize,
    row_bytes: usize,
}

impl Run {
    fn new(number: usize, batch: Batch) -> Run {
        let bytes = batch.heap_bytes();
        Run {
            number,
            bytes,
            row_bytes: bytes / batch.rows().max(1),
            batch,
            row: 0,
        }
    }
}

pub struct Merge<O> {
    runs: Vec<Run>,
    /// Places of runs that have rows, as a heap: the one with the least row first.
    heap: Vec<usize>,
    order: O,
    left: usize,
    /// Bytes of the runs' batches.
    bytes: usize,
}

impl<O: RowOrder> Merge<O> {
    /// Of so many runs the first `limit` rows.
    pub fn new(count: usize, order: O, limit: usize, fetch: Fetch<'_>) -> SqlResult<Merge<O>> {
        let mut runs = Vec::with_capacity(count);
        for number in 0..count {
            if let Some(batch) = fetch(number)? {
                runs.push(Run::new(number, batch));
            }
        }
        let mut merge = Merge {
            bytes: runs.iter().map(|run| run.bytes).sum(),
            heap: (0..runs.len()).collect(),
            runs,
            order,
            left: limit,
        };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift(at);
        }
        Ok(merge)
    }

    /// Bytes of memory that it holds, about: a batch of each run, and what it gives next.
    pub fn heap_bytes(&self) -> usize {
        self.bytes + BYTES
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.runs[a], &self.runs[b]);
        match self.order.compare((&x.batch, x.row), (&y.batch, y.row)) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => a < b,
        }
    }

    /// Moves a run down to its place in the heap.
    fn sift(&mut self, mut at: usize) {
        loop {
            let (l, r) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            for child in [l, r] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// At most `rows` of the next rows; `None` at the end.
    pub fn next(&mut self, rows: usize, fetch: Fetch<'_>) -> SqlResult<Option<Batch>> {
        let Some(first) = self.heap.first() else {
            return Ok(None);
        };
        let columns = self.runs[*first].batch.columns();
        let mut out: Vec<Column> = columns.iter().map(|c| c.like()).collect();
        let (most, mut rows, mut bytes) = (rows, 0, 0);
        while rows < most
            && bytes < BYTES
            && self.left > 0
            && let Some(&number) = self.heap.first()
        {
            let run = &mut self.runs[number];
            for (all, column) in out.iter_mut().zip(run.batch.columns()) {
                all.push_from(column, run.row);
            }
            rows += 1;
            bytes += run.row_bytes;
            self.left -= 1;
            run.row += 1;
            if run.row == run.batch.rows() {
                self.bytes -= run.bytes;
                // Its rows have gone before the next ones come.
                run.batch = Batch::default();
                match fetch(run.number)? {
                    Some(batch) => {
                        *run = Run::new(run.number, batch);
                        self.bytes += run.bytes;
                    }
                    None => {
                        self.heap.swap_remove(0);
                    }
                }
            }
            self.sift(0);
        }
        let columns = out.into_iter().map(Arc::new).collect();
        Ok((rows > 0).then(|| Batch::new(rows, columns)))
    }
}

/// Merges runs, so many at a time, into as many fewer ones in the file of `writer`, of each the first `limit` rows.
/// `step` is called between blocks.
pub fn fewer<O: RowOrder + Clone>(
    mut runs: Vec<Reader>,
    (order, limit): (&O, usize),
    mut writer: Writer,
    step: &mut dyn FnMut() -> SqlResult<()>,
) -> SqlResult<Vec<Reader>> {
    for some in runs.chunks_mut(TOGETHER) {
        let part = writer.part();
        let count = some.len();
        let first = &mut |run: usize| some[run].next_block();
        let mut merge = Merge::new(count, order.clone(), limit, first)?;
        while let Some(batch) = merge.next(super::BLOCK_ROWS, &mut |run| some[run].next_block())? {
            step()?;
            let all: Vec<u32> = (0..batch.rows() as u32).collect();
            writer.put(part, batch.columns(), &all)?;
        }
    }
    writer.finish()
}
