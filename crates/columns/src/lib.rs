//! Columns of values, computed as a whole: no plan and no expression is known here.
//!
//! | module | owns |
//! |---|---|
//! | `vector` | what an expression is over the rows of a batch |
//! | `kernels`, `direct` | loops over columns |
//! | `compare` | comparisons as predicates |
//! | `steps` | sorting, in steps between which it can be cancelled |
//! | `hash` | hashing of keys, and maps that grow in small steps |
//! | `statistics` | what is known of a column's values |

#![forbid(unsafe_code)]

mod compare;
pub mod direct;
pub mod hash;
pub mod kernels;
pub mod statistics;
pub mod steps;
mod vector;

pub use compare::CompareOp;
pub use vector::{ByRow, Vector, Vectored};
