//! Operators that hand each batch on: filter and projection.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column};

use super::vector::{self, BatchExpr, is_plain};
use super::{BatchOperator, Boxed};
use crate::cx::Cx;
use crate::expr::Expr;

pub struct Filter<'p> {
    input: Boxed<'p>,
    predicate: BatchExpr<'p>,
}

impl<'p> Filter<'p> {
    pub fn new(input: Boxed<'p>, predicate: &'p Expr) -> Filter<'p> {
        Filter {
            input,
            predicate: BatchExpr::new(predicate),
        }
    }
}

impl BatchOperator for Filter<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        while let Some(batch) = self.input.next(cx)? {
            let rows = vector::select(&self.predicate, &batch, cx)?;
            if rows.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !rows.is_empty() {
                return Ok(Some(batch.gather(&rows)));
            }
        }
        Ok(None)
    }
}

/// Which expressions a projection computes: those that are read, and those that might do more than compute.
pub fn used(exprs: &[Expr], needed: &[bool]) -> Vec<bool> {
    let pairs = exprs.iter().zip(needed);
    pairs.map(|(e, needed)| *needed || !is_plain(e)).collect()
}

pub struct Project<'p> {
    input: Boxed<'p>,
    /// The computed expressions, and where each stands.
    exprs: Vec<BatchExpr<'p>>,
    places: Vec<usize>,
    width: usize,
    absent: Arc<Column>,
}

impl<'p> Project<'p> {
    pub fn new(input: Boxed<'p>, exprs: &'p [Expr], used: &[bool]) -> Project<'p> {
        let places: Vec<usize> = (0..exprs.len()).filter(|i| used[*i]).collect();
        Project {
            input,
            exprs: places.iter().map(|i| BatchExpr::new(&exprs[*i])).collect(),
            places,
            width: exprs.len(),
            absent: Arc::new(Column::absent()),
        }
    }
}

impl BatchOperator for Project<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else {
            return Ok(None);
        };
        let columns = vector::columns(&self.exprs, &batch, cx)?;
        let mut all = vec![self.absent.clone(); self.width];
        for (at, column) in self.places.iter().zip(columns) {
            all[*at] = column;
        }
        Ok(Some(Batch::new(batch.rows(), all)))
    }
}
