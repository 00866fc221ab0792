//! What an expression is over the rows of a batch.

use std::sync::Arc;

use duramen_types::Value;
use duramen_types::batch::Column;

/// What a batch cannot answer: ask row by row.
#[derive(Debug)]
pub struct ByRow;

pub type Vectored<T> = Result<T, ByRow>;

/// The values of an expression for the rows of a batch.
#[derive(Clone, Debug)]
pub enum Vector {
    Column(Arc<Column>),
    /// The same for every row.
    Const(Value),
}

impl Vector {
    pub fn get(&self, i: usize) -> Value {
        match self {
            Vector::Column(c) => c.get(i),
            Vector::Const(v) => v.clone(),
        }
    }

    pub fn is_null(&self, i: usize) -> bool {
        match self {
            Vector::Column(c) => c.is_null(i),
            Vector::Const(v) => v.is_null(),
        }
    }
}
