//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.
//!
//! | module | owns |
//! |---|---|
//! | `start` | the server's start, from the first file to the first session, and logins |
//! | `session` | a session: a batch, a call, a reset, an end |
//! | `run` | the loop that runs a program, an arm a statement |
//! | `host`, `parallel` | what a query asks of its session; threads that help it |
//! | `rpc`, `manager` | calls by name or handle; requests of the transaction manager |
//! | `functions_of_users`, `partition_number` | functions in T-SQL; `$PARTITION` |
//! | `spool` | long requests, in a file while they come in |
//! | `unsupported` | what is refused by name when a batch is compiled |

#![forbid(unsafe_code)]

mod functions_of_users;
mod host;
mod manager;
mod parallel;
mod partition_number;
mod rpc;
mod run;
mod session;
mod spool;
mod start;
mod unsupported;

pub use duramen_query::cancelled;
pub use manager::{Begin, TransactionRequest};
pub use rpc::{RpcOutcome, RpcParameter};
pub use run::BulkSource;
pub use session::Session;
pub use spool::{Spool, value_in};
pub use start::{login, start, start_early};
