//! A scan that several threads share, as one of them runs it: part after part, each of which it takes from the common list.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column};

use super::helpers::Dealt;
use super::{BATCH_ROWS, BatchOperator, is_enough, may_be_wide};
use crate::cx::Cx;
use crate::host::{Part, RowCursor};
use crate::plan::{Node, Plan};

pub(super) struct PartScan<'p> {
    plan: &'p Plan,
    dealt: Arc<Dealt>,
    cursor: Option<Box<dyn RowCursor>>,
    wanted: Vec<usize>,
    absent: Arc<Column>,
    last: usize,
    may_be_wide: bool,
    /// The number of the part at hand.
    part: usize,
}

impl<'p> PartScan<'p> {
    pub fn new(plan: &'p Plan, dealt: Arc<Dealt>, needed: &[bool]) -> PartScan<'p> {
        let wanted: Vec<usize> = (0..plan.columns.len()).filter(|i| needed[*i]).collect();
        PartScan {
            may_be_wide: may_be_wide(wanted.iter().map(|i| &plan.columns[*i].ty)),
            wanted,
            plan,
            dealt,
            cursor: None,
            absent: Arc::new(Column::absent()),
            last: 0,
            part: 0,
        }
    }

    fn open(&self, part: &Part, cx: &mut Cx<'_>) -> SqlResult<Option<Box<dyn RowCursor>>> {
        let Node::Scan { table, lock, .. } = &self.plan.node else {
            return Ok(None);
        };
        let bounds = self.dealt.bounds.as_ref();
        table.def.open_part(part, bounds, *lock, cx).map(Some)
    }
}

impl BatchOperator for PartScan<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        let Node::Scan { table, .. } = &self.plan.node else {
            return Ok(None);
        };
        let types = table.def.columns();
        let sized = |at: &usize| Column::sized(&types[*at].ty, self.last);
        let mut columns: Vec<Column> = self.wanted.iter().map(sized).collect();
        let mut rows = 0;
        while rows < BATCH_ROWS {
            if self.may_be_wide && rows > 0 {
                let bytes: usize = columns.iter().map(Column::heap_bytes).sum();
                if is_enough(bytes, cx) {
                    break;
                }
            }
            if self.cursor.is_none() {
                let dealt = self.dealt.clone();
                if dealt.by_part && rows > 0 {
                    break;
                }
                match dealt.next_part() {
                    Some((at, part)) => {
                        self.cursor = self.open(part, cx)?;
                        self.part = at;
                    }
                    None => break,
                }
            }
            let Some(cursor) = &mut self.cursor else {
                break;
            };
            match cursor.fill(&self.wanted, &mut columns, cx)? {
                0 => self.cursor = None,
                more => rows += more,
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        self.last = rows;
        cx.part = self.part;
        let mut all = vec![self.absent.clone(); self.plan.columns.len()];
        for (at, column) in self.wanted.iter().zip(columns) {
            all[*at] = Arc::new(column);
        }
        Ok(Some(Batch::new(rows, all)))
    }
}
