//! GROUP BY over rows that come group by group, as an index gives them: nothing is kept but the groups of a batch.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::CollationId;
use duramen_types::batch::Batch;
use duramen_types::batch::Column;

use super::aggregate::{Grouping, Groups};
use super::keys::MAX_ROUNDS;
use super::order::compare_cells;
use super::vector::{self, BatchExpr};
use super::{BatchOperator, Boxed};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::plan::Aggregate;

type Columns = Vec<Arc<Column>>;

pub struct Grouped<'p> {
    input: Option<Boxed<'p>>,
    /// The groups' keys, then every aggregate's arguments.
    exprs: Vec<BatchExpr<'p>>,
    by: &'p [Expr],
    aggregates: &'p [Aggregate],
    kept: usize,
    collations: Vec<CollationId>,
    /// The groups begun since the last have come out.
    state: Grouping<'p>,
    /// The key of the last row, in columns of one row.
    last: Option<Columns>,
    out: Option<Groups<'p>>,
}

/// Groups are never parted among files: their order would be lost, and there are few at a time.
pub(super) const ROUND: u32 = MAX_ROUNDS;

impl<'p> Grouped<'p> {
    pub fn new(
        input: Boxed<'p>,
        exprs: Vec<BatchExpr<'p>>,
        (by, aggregates, kept): (&'p [Expr], &'p [Aggregate], usize),
        cx: &Cx<'_>,
    ) -> Grouped<'p> {
        Grouped {
            input: Some(input),
            exprs,
            collations: by.iter().map(|e| e.ty.collation).collect(),
            state: Grouping::new(by, aggregates, (kept, ROUND), cx),
            by,
            aggregates,
            kept,
            last: None,
            out: None,
        }
    }

    /// Goes on behind a row with this key, with the groups of the rows up to it.
    pub fn after(mut self, state: Grouping<'p>, last: Option<Columns>) -> Self {
        (self.state, self.last) = (state, last);
        self
    }

    /// Lets the groups come out that no further row belongs to.
    fn finish_groups(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let next = Grouping::new(self.by, self.aggregates, (self.kept, ROUND), cx);
        let done = std::mem::replace(&mut self.state, next);
        self.out = Some(done.finish(&mut Vec::new(), cx)?);
        Ok(())
    }

    fn take(&mut self, columns: &Columns, n: usize, cx: &mut Cx<'_>) -> SqlResult<()> {
        let keys = &columns[self.kept..self.kept + self.by.len()];
        let alike = |(l, i): (&[Arc<Column>], usize), (r, j): (&[Arc<Column>], usize)| {
            let mut pairs = l.iter().zip(r).zip(&self.collations);
            pairs.all(|((l, r), collation)| compare_cells(l, i, r, j, *collation).is_eq())
        };
        // Where the last group of the batch begins.
        let mut begin = n - 1;
        while begin > 0 && alike((keys, begin), (keys, begin - 1)) {
            begin -= 1;
        }
        let goes_on = begin == 0
            && self
                .last
                .as_ref()
                .is_none_or(|last| alike((last, 0), (keys, 0)));
        self.last = Some(keys.iter().map(|c| Arc::new(c.slice(n - 1, n))).collect());
        if goes_on {
            return self.state.add(columns, n, cx);
        }
        if begin > 0 {
            self.state.add(&part(columns, 0, begin), begin, cx)?;
        }
        self.finish_groups(cx)?;
        self.state.add(&part(columns, begin, n), n - begin, cx)
    }
}

fn part(columns: &Columns, from: usize, to: usize) -> Columns {
    let one = |c: &Arc<Column>| match c.is_absent() {
        true => c.clone(),
        false => Arc::new(c.slice(from, to)),
    };
    columns.iter().map(one).collect()
}

impl BatchOperator for Grouped<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            if let Some(groups) = &mut self.out {
                if let Some(batch) = groups.next(cx)? {
                    return Ok(Some(batch));
                }
                self.out = None;
            }
            let Some(input) = &mut self.input else {
                return Ok(None);
            };
            match input.next(cx)? {
                Some(batch) => {
                    let mut columns = batch.columns()[..self.kept].to_vec();
                    columns.extend(vector::columns(&self.exprs, &batch, cx)?);
                    self.take(&columns, batch.rows(), cx)?;
                }
                None => {
                    self.input = None;
                    self.finish_groups(cx)?;
                }
            }
        }
    }
}
