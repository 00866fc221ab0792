//! From trees to answers: binding against the catalog, plans, operators, one expression evaluator, DML.
//!
//! What a statement may touch comes in through [`host::Host`] and [`host::Table`]; this room knows no session.
//!
//! | module | owns |
//! |---|---|
//! | `bind` | names become slots and types, a tree becomes a plan |
//! | `plan`, `children`, `expr`, `walk` | plans and bound expressions, the one evaluator, and how both are walked |
//! | `optimize`, `statistics`, `in_list` | how a bound query runs, by what is known of its columns |
//! | `host`, `execution` | what is asked of the world around: tables, variables, the transaction |
//! | `exec`, `cx`, `passing` | operators by rows: opened, asked for batches, what they carry |
//! | `scan`, `seek_join`, `merge_join`, `row_join`, `recursion`, `sort`, `window`, `aggregate`, `table_functions` | one operator each, by rows |
//! | `batch` | operators by columns |
//! | `parallel` | which parts of a plan several threads may run |
//! | `spill`, `kept` | memory for rows, and files where it does not suffice |
//! | `key`, `hash`, `rare` | rows as keys, hashing, maps that stay empty |
//! | `functions`, `long` | scalar functions; texts so long that they are worked on in pieces |
//! | `dml`, `rules`, `output`, `captured` | INSERT, UPDATE and DELETE: bound once; constraints, OUTPUT, INSERT ... EXECUTE |
//! | `memory` | tables in memory: table variables |
//! | `locking` | table hints |
//! | `profile`, `showplan` | what operators did, and what they are estimated to do |

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
pub use functions::{Doc, Entry as FunctionEntry, doc, names as function_names};
pub use kept::Spooled;
pub use locking::{LockGrain, LockIntent, ScanLock};
pub use optimize::{MissingIndex, Sizes, Wanted, missing_indexes};
pub use plan::{Columns, OutColumn, Plan, Row};
