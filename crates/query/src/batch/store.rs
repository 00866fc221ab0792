//! Many batches put together: what an operator keeps that must see all its input.

use std::sync::Arc;

use duramen_types::batch::{Batch, Column, NO_ROW};

use crate::plan::OutColumn;

/// Rows by column, as many as come.
pub struct Store {
    columns: Vec<Column>,
    rows: usize,
}

impl Store {
    /// For the columns that `kept` marks.
    pub fn new(columns: &[OutColumn], kept: &[bool]) -> Store {
        let fresh = columns.iter().zip(kept).map(|(c, kept)| match kept {
            true => Column::of(&c.ty),
            false => Column::absent(),
        });
        Store {
            columns: fresh.collect(),
            rows: 0,
        }
    }

    /// Bytes of memory held, about.
    pub fn heap_bytes(&self) -> usize {
        self.columns.iter().map(Column::heap_bytes).sum()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn append(&mut self, batch: &Batch) {
        for (all, new) in self.columns.iter_mut().zip(batch.columns()) {
            all.append(new);
        }
        self.rows += batch.rows();
    }

    /// The rows at these places; [`NO_ROW`] gives a row of NULLs.
    pub fn gather(&self, rows: &[u32]) -> Vec<Arc<Column>> {
        let columns = self.columns.iter();
        columns.map(|c| Arc::new(c.gather(rows))).collect()
    }

    /// The columns, which go: others may come.
    pub fn take_columns(&mut self) -> Vec<Arc<Column>> {
        self.rows = 0;
        let absent = Arc::new(Column::absent());
        let columns = self.columns.iter_mut();
        let take = |c: &mut Column| match c.is_absent() {
            true => absent.clone(),
            false => {
                let empty = c.like();
                Arc::new(std::mem::replace(c, empty))
            }
        };
        columns.map(take).collect()
    }

    /// Keeps the rows at these places, in that order.
    pub fn keep(&mut self, rows: &[u32]) {
        for column in &mut self.columns {
            *column = column.gather(rows);
        }
        self.rows = rows.len();
    }
}

/// `n` rows of NULLs in the marked columns.
pub fn nothing(columns: &[OutColumn], kept: &[bool], n: usize) -> Vec<Arc<Column>> {
    let none = vec![NO_ROW; n];
    let absent = Arc::new(Column::absent());
    let fresh = columns.iter().zip(kept).map(|(c, kept)| match kept {
        true => Arc::new(Column::of(&c.ty).gather(&none)),
        false => absent.clone(),
    });
    fresh.collect()
}
