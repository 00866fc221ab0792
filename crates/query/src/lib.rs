//! From trees to answers: binding against the catalog, plans, operators, one expression evaluator, DML.
//!
//! What a statement may touch comes in through [`host::Host`] and [`host::Table`]; this room knows no session.

#![forbid(unsafe_code)]

mod aggregate;
mod batch;
pub mod bind;
mod captured;
mod children;
mod cx;
pub mod dml;
mod exec;
pub mod execution;
mod expr;
mod functions;
mod hash;
pub mod host;
mod in_list;
mod kept;
mod key;
mod locking;
mod long;
pub mod memory;
mod merge_join;
mod optimize;
mod output;
mod parallel;
mod passing;
mod plan;
pub mod profile;
mod rare;
mod recursion;
mod row_join;
pub mod rules;
mod scan;
mod seek_join;
pub mod showplan;
mod sort;
pub mod spill;
pub mod statistics;
mod table_functions;
mod walk;
mod window;

pub use bind::{Binder, BoundQuery};
pub use captured::{Capture, Captured};
pub use cx::{Changed, Cx, assign, cancelled};
pub use exec::Operator;
pub use expr::{CompareOp, Expr, Kind};
pub use functions::names as function_names;
pub use kept::Spooled;
pub use locking::{LockGrain, LockIntent, ScanLock};
pub use optimize::{MissingIndex, Sizes, Wanted, missing_indexes};
pub use plan::{Columns, OutColumn, Plan, Row};
