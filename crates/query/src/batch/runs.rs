//! Merging sorted runs of rows, whose keys stand behind their columns: from a file, or from other threads.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column};

use super::BATCH_ROWS;
use super::order::compare_cells;
use super::sort::Direction;

/// Gives the next batch of the run with this number.
type Fetch<'f> = &'f mut dyn FnMut(usize) -> SqlResult<Option<Batch>>;

/// A run on its way into the merge.
struct Run {
    number: usize,
    batch: Batch,
    row: usize,
}

pub(super) struct Merge {
    runs: Vec<Run>,
    /// Places of runs that have rows, as a heap: the one with the least row first.
    heap: Vec<usize>,
    directions: Vec<Direction>,
    left: usize,
}

impl Merge {
    pub fn new(
        count: usize,
        directions: Vec<Direction>,
        left: usize,
        fetch: Fetch<'_>,
    ) -> SqlResult<Merge> {
        let mut runs = Vec::with_capacity(count);
        for number in 0..count {
            if let Some(batch) = fetch(number)? {
                runs.push(Run {
                    number,
                    batch,
                    row: 0,
                });
            }
        }
        let mut merge = Merge {
            heap: (0..runs.len()).collect(),
            runs,
            directions,
            left,
        };
        for at in (0..merge.heap.len()).rev() {
            merge.sift(at);
        }
        Ok(merge)
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (x, y) = (&self.runs[a], &self.runs[b]);
        let first = x.batch.columns().len() - self.directions.len();
        for (i, d) in self.directions.iter().enumerate() {
            let (p, q) = (&x.batch.columns()[first + i], &y.batch.columns()[first + i]);
            let o = compare_cells(p, x.row, q, y.row, d.collation);
            let o = if d.descending { o.reverse() } else { o };
            if o.is_ne() {
                return o;
            }
        }
        a.cmp(&b)
    }

    /// Moves a run down to its place in the heap.
    fn sift(&mut self, mut at: usize) {
        loop {
            let (l, r) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            for child in [l, r] {
                if child < self.heap.len()
                    && self.compare(self.heap[child], self.heap[least]).is_lt()
                {
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

    /// The next rows, with their keys; `None` at the end.
    pub fn next(&mut self, fetch: Fetch<'_>) -> SqlResult<Option<Batch>> {
        let Some(first) = self.heap.first() else {
            return Ok(None);
        };
        let columns = self.runs[*first].batch.columns();
        let mut out: Vec<Column> = columns.iter().map(|c| c.like()).collect();
        let mut rows = 0;
        while rows < BATCH_ROWS
            && self.left > 0
            && let Some(&number) = self.heap.first()
        {
            let run = &mut self.runs[number];
            for (all, column) in out.iter_mut().zip(run.batch.columns()) {
                all.push_from(column, run.row);
            }
            rows += 1;
            self.left -= 1;
            run.row += 1;
            if run.row == run.batch.rows() {
                run.row = 0;
                match fetch(run.number)? {
                    Some(batch) => run.batch = batch,
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
