//! Where batches come from, and where they become rows again.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::SqlType;
use duramen_types::batch::{Batch, Column};

use super::part_scan::PartScan;
use super::{BATCH_ROWS, BatchOperator, Boxed};
use crate::cx::Cx;
use crate::exec::{self, Operator};
use crate::host::RowCursor;
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
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let sized = |ty| Column::sized(ty, self.last);
        let mut columns: Vec<Column> = self.types.iter().map(sized).collect();
        let mut rows = 0;
        while rows < BATCH_ROWS {
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
    let mut columns: Vec<Column> = fresh
        .map(|(c, needed)| match needed {
            true => Column::of(&c.ty),
            false => Column::absent(),
        })
        .collect();
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
    ready: VecDeque<Batch>,
    next_row: usize,
}

impl<'p> Rows<'p> {
    pub fn new(input: Boxed<'p>) -> Rows<'p> {
        Rows {
            input,
            ready: VecDeque::new(),
            next_row: 0,
        }
    }

    /// Some rows; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        if self.ready.is_empty() {
            match self.input.next(cx)? {
                Some(batch) => self.ready.push_back(batch),
                None => return Ok(None),
            }
        }
        let Some(batch) = self.ready.front() else {
            return Ok(None);
        };
        let end = batch.rows().min(self.next_row + exec::BATCH_ROWS);
        let rows = (self.next_row..end).map(|i| batch.row(i)).collect();
        self.next_row = end;
        if end == batch.rows() {
            self.ready.pop_front();
            self.next_row = 0;
        }
        Ok(Some(rows))
    }
}
