//! Looking into a server: views, functions that answer from the catalog or of a session, DBCC.
//!
//! | module | owns |
//! |---|---|
//! | `views` | views as a column table and a function from a snapshot to rows |
//! | `functions`, `globals`, `metadata` | functions only a session can answer; `@@` globals; functions of the catalog |
//! | `dbcc` | DBCC |
//! | `context` | where a statement runs: what views and functions find again |
//! | `log_records` | log records outside a server |
//! | `reference` | the lists of this room, for generated tables |

#![forbid(unsafe_code)]

pub mod context;
pub mod dbcc;
pub mod functions;
pub mod globals;
pub mod log_records;
pub mod metadata;
pub mod reference;
pub mod views;
