//! Plans and what runs them: bound expressions with their one evaluator, operators by rows and by columns.
//!
//! What a statement may touch comes in through [`host::Host`] and [`host::Table`]; this room knows no session and no text.
//!
//! | module | owns |
//! |---|---|
//! | `plan`, `children`, `expr`, `walk`, `reads` | plans and bound expressions, the one evaluator, and how both are walked |
//! | `estimate`, `cost`, `width` | how many rows a plan gives and what it costs, by what is known of its columns |
//! | `lent`, `in_list` | where large values may stay where they are; long lists of an IN |
//! | `host`, `execution` | what is asked of the world around: tables, variables, the transaction |
//! | `exec`, `cx`, `passing` | operators by rows: opened, asked for batches, what they carry |
//! | `scan`, `seek_join`, `merge_join`, `row_join`, `recursion`, `sort`, `window`, `aggregate` | one operator each, by rows |
//! | `batch` | operators by columns |
//! | `parallel` | which parts of a plan several threads may run |
//! | `spill`, `kept` | memory for rows, and files where it does not suffice |
//! | `key`, `rare` | rows as keys, maps that stay empty |
//! | `functions`, `long` | scalar functions; texts so long that they are worked on in pieces |
//! | `rules` | what a table's constraints say |
//! | `locking` | table hints |
//! | `profile` | what operators did |

#![forbid(unsafe_code)]

mod aggregate;
pub mod batch;
pub mod children;
pub mod cost;
pub mod cx;
pub mod estimate;
pub mod exec;
pub mod execution;
pub mod expr;
pub mod functions;
pub mod host;
mod in_list;
pub mod kept;
pub mod key;
pub mod lent;
pub mod locking;
pub mod long;
mod merge_join;
pub mod parallel;
pub mod passing;
pub mod plan;
pub mod profile;
mod rare;
pub mod reads;
mod recursion;
mod row_join;
pub mod rules;
mod scan;
pub mod seek_join;
mod sort;
pub mod spill;
mod walk;
pub mod width;
mod window;

pub use cx::{Changed, Cx, assign, cancelled};
pub use exec::Operator;
pub use expr::{Expr, Kind};
pub use functions::{Doc, Entry as FunctionEntry, doc};
pub use kept::Spooled;
pub use locking::{LockGrain, LockIntent, ScanLock};
pub use plan::{Columns, OutColumn, Plan, Row};
