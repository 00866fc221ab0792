//! Where batches come from, and where they become rows again.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column};
use duramen_types::{SqlType, Value};

use super::part_scan::PartScan;
use super::{BATCH_BYTES, BATCH_ROWS, BatchOperator, Boxed, is_enough, may_be_wide};
use crate::cx::Cx;
use crate::exec::{self, Operator};
use crate::host::RowCursor;
use crate::passing::{Passing, rows_together};
use crate::plan::{Node, Plan, Row};
use crate::scan::Asked;

/// A table scan that decodes the needed columns only.
struct Scan {
    cursor: Option<Box<dyn RowCursor>>,
    /// The needed columns and their types, by place.
    wanted: Vec<usize>,
    types: Vec<SqlType>,
    width: usize,
    absent: Arc<Column>,
    /// Rows of the batch before: the next has about as many.
    last: usize,
    /// A value may be large; the last ones were.
    may_be_large: bool,
    large: bool,
    /// Many rows may be more than goes into a batch.
    may_be_wide: bool,
}

impl Scan {
    /// Rows with large values, one by one.
    fn fill_large(&mut self, columns: &mut [Column], cx: &mut Cx<'_>) -> SqlResult<usize> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(0);
        };
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH_ROWS && !is_enough(bytes, cx) {
            let Some((_, mut row)) = cursor.next(cx)? else {
                self.cursor = None;
                break;
            };
            for (column, at) in columns.iter_mut().zip(&self.wanted) {
                let value = std::mem::take(&mut row[*at]);
                bytes += value.heap_bytes();
                column.push(value);
            }
            rows += 1;
        }
        self.large = bytes > BATCH_BYTES;
        Ok(rows)
    }
}

pub fn scan<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Scan { table, lock, .. } = &plan.node else {
        return from_rows(plan, needed, cx);
    };
    if let Some(dealt) = &cx.dealt
        && dealt.deals(plan)
    {
        return Ok(Box::new(PartScan::new(plan, dealt.clone(), needed)));
    }
    let cursor = match crate::scan::asked(plan, cx)? {
        Asked::All => Some(table.def.open(None, *lock, cx)?),
        Asked::Within(bounds) => Some(table.def.open(Some(&bounds), *lock, cx)?),
        Asked::Nothing => None,
    };
    let wanted: Vec<usize> = (0..plan.columns.len()).filter(|i| needed[*i]).collect();
    let columns = table.def.columns();
    Ok(Box::new(Scan {
        cursor,
        may_be_large: wanted.iter().any(|i| columns[*i].ty.is_max()),
        may_be_wide: may_be_wide(wanted.iter().map(|i| &columns[*i].ty)),
        large: false,
        types: wanted.iter().map(|i| columns[*i].ty).collect(),
        wanted,
        width: plan.columns.len(),
        absent: Arc::new(Column::absent()),
        last: 0,
    }))
}

impl BatchOperator for Scan {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        if self.cursor.is_none() {
            return Ok(None);
        }
        let sized = |ty| Column::sized(ty, self.last);
        let mut columns: Vec<Column> = self.types.iter().map(sized).collect();
        let mut rows = 0;
        if self.large {
            rows = self.fill_large(&mut columns, cx)?;
        }
        while rows < BATCH_ROWS
            && !self.large
            && let Some(cursor) = &mut self.cursor
        {
            if self.may_be_wide && rows > 0 {
                let bytes: usize = columns.iter().map(Column::heap_bytes).sum();
                if is_enough(bytes, cx) {
                    self.large = self.may_be_large;
                    break;
                }
            }
            match cursor.fill(&self.wanted, &mut columns, cx)? {
                0 => {
                    self.cursor = None;
                    break;
                }
                more => rows += more,
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        self.last = rows;
        let mut all = vec![self.absent.clone(); self.width];
        for (at, column) in self.wanted.iter().zip(columns) {
            all[*at] = Arc::new(column);
        }
        Ok(Some(Batch::new(rows, all)))
    }
}

/// Rows of an operator that knows no columns.
struct FromRows<'p> {
    input: Operator<'p>,
    plan: &'p Plan,
    needed: Vec<bool>,
}

/// Starts a plan row by row, and takes its rows apart.
pub fn from_rows<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    of_operator(exec::open_rows(plan, cx)?, plan, needed)
}

/// The rows of a started operator, taken apart.
pub fn of_operator<'p>(
    input: Operator<'p>,
    plan: &'p Plan,
    needed: &[bool],
) -> SqlResult<Boxed<'p>> {
    Ok(Box::new(FromRows {
        input,
        plan,
        needed: needed.to_vec(),
    }))
}

/// Batches that were read ahead, then the rest.
pub struct Again<'p> {
    first: VecDeque<Batch>,
    rest: Boxed<'p>,
}

impl<'p> Again<'p> {
    pub fn new(first: Vec<Batch>, rest: Boxed<'p>) -> Again<'p> {
        Again {
            first: first.into(),
            rest,
        }
    }
}

impl BatchOperator for Again<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        match self.first.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.rest.next(cx),
        }
    }
}

impl BatchOperator for FromRows<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(rows) = self.input.next(cx)? else {
            return Ok(None);
        };
        Ok(Some(batch_of(rows, self.plan, &self.needed)))
    }
}

/// The needed columns of some rows of a plan.
pub fn batch_of(rows: Vec<Row>, plan: &Plan, needed: &[bool]) -> Batch {
    let fresh = plan.columns.iter().zip(needed);
    let columns = fresh.map(|(c, needed)| match needed {
        true => Column::of(&c.ty),
        false => Column::absent(),
    });
    filled(rows, columns.collect())
}

/// Rows whose values are of these types.
pub fn batch_of_types(rows: Vec<Row>, types: &[SqlType]) -> Batch {
    filled(rows, types.iter().map(Column::of).collect())
}

fn filled(rows: Vec<Row>, mut columns: Vec<Column>) -> Batch {
    let n = rows.len();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            if !column.is_absent() {
                column.push(value);
            }
        }
    }
    Batch::new(n, columns.into_iter().map(Arc::new).collect())
}

/// Batches as rows, for operators and clients that take those.
pub struct Rows<'p> {
    input: Boxed<'p>,
    ready: Option<Batch>,
    next_row: usize,
    /// Of the batch at hand, and how many of its rows go on together.
    passing: Passing,
    together: usize,
}

impl<'p> Rows<'p> {
    pub fn new(input: Boxed<'p>) -> Rows<'p> {
        Rows {
            input,
            ready: None,
            next_row: 0,
            passing: Passing::of([].iter()),
            together: exec::BATCH_ROWS,
        }
    }

    /// Some rows; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        self.some(exec::BATCH_ROWS, cx, |batch, which| {
            which.map(|i| batch.row(i)).collect()
        })
    }

    /// Gives some rows to `to`, at most `most`, each in the place of the one before; how many, `None` at the end.
    pub fn each(
        &mut self,
        most: usize,
        cx: &mut Cx<'_>,
        to: &mut dyn FnMut(&[Value]),
    ) -> SqlResult<Option<usize>> {
        self.some(most.min(exec::BATCH_ROWS), cx, |batch, which| {
            let n = which.len();
            let mut row = Vec::with_capacity(batch.columns().len());
            for i in which {
                batch.row_into(i, &mut row);
                to(&row);
            }
            n
        })
    }

    fn some<T>(
        &mut self,
        most: usize,
        cx: &mut Cx<'_>,
        take: impl FnOnce(&Batch, Range<usize>) -> T,
    ) -> SqlResult<Option<T>> {
        if self.ready.is_none() {
            self.ready = self.input.next(cx)?;
            self.took_batch(cx);
        }
        let Some(batch) = &self.ready else {
            return Ok(None);
        };
        let end = batch.rows().min(self.next_row + most.min(self.together));
        let taken = take(batch, self.next_row..end);
        self.next_row = end;
        if end == batch.rows() {
            self.ready = None;
            self.next_row = 0;
        }
        Ok(Some(taken))
    }

    /// Another batch is at hand.
    fn took_batch(&mut self, cx: &Cx<'_>) {
        if let Some(batch) = &self.ready {
            let bytes = batch.heap_bytes();
            self.together = rows_together(bytes, batch.rows());
            self.passing.hold(bytes, cx);
        }
    }
}
