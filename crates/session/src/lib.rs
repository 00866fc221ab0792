//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.

#![forbid(unsafe_code)]

mod activity;
mod admission;
mod backup;
mod database_ddl;
pub mod databases;
mod dbcc;
mod ddl;
mod functions;
mod functions_of_users;
mod globals;
mod history;
mod host;
mod instance;
mod kill;
pub mod log_records;
mod manager;
mod metadata;
mod names;
mod options;
mod outcome;
mod plan_cache;
mod program;
mod programs;
mod random;
pub mod reference;
mod resource;
mod rpc;
mod run;
mod seats;
mod security;
mod session;
mod sink;
mod spill;
mod startup;
mod statistics;
mod stored;
mod table_types;
mod table_variable;
mod text;
mod unavailable;
pub mod version;
mod versioning;
mod views;

pub use databases::StorageConfig;
pub use duramen_query::cancelled;
pub use instance::{Instance, InstanceConfig};
pub use manager::{Begin, TransactionRequest};
pub use rpc::{RpcOutcome, RpcParameter};
pub use run::BulkSource;
pub use session::{CancelToken, LoginRequest, Session};
pub use sink::{ColumnMeta, Done, EnvChange, ResultSink, Scope};
pub use table_types::RemoteTable;
pub use text::TextSink;
pub use unavailable::{DatabaseState, Unavailable};
