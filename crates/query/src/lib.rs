//! From trees to answers: binding against the catalog, plans, operators, one expression evaluator, DML.
//!
//! What a statement may touch comes in through [`host::Host`] and [`host::Table`]; this room knows no session.

#![forbid(unsafe_code)]

mod aggregate;
mod batch;
pub mod bind;
mod children;
mod cx;
pub mod dml;
mod exec;
mod expr;
mod functions;
mod hash;
pub mod host;
mod key;
mod locking;
pub mod memory;
mod merge_join;
mod optimize;
mod output;
mod parallel;
mod plan;
pub mod profile;
pub mod rules;
mod scan;
mod seek_join;
pub mod showplan;
pub mod spill;
pub mod statistics;
mod table_functions;
mod walk;
mod window;

pub use bind::{Binder, BoundQuery};
pub use cx::{Changed, Cx, cancelled};
pub use exec::Operator;
pub use expr::{CompareOp, Expr, Kind};
pub use functions::names as function_names;
pub use locking::{LockGrain, LockIntent, ScanLock};
pub use optimize::{MissingIndex, Sizes, missing_indexes};
pub use plan::{Columns, OutColumn, Plan, Row};
