//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.
//!
//! Rooms, bottom up; `cargo xtask rooms` holds every import against this table.
//!
//! | room | owns | may import | modules |
//! |---|---|---|---|
//! | `core` | databases and their states, settings, logins and rights, what others see of a session | - | activity admission app_locks databases folders health instance_core kill load memory_grants origin places registry seats security session_core settings settled startup trace_flags unavailable |
//! | `events` | Extended Events, the default trace, the error log; the instance | core | error_log instance trace xe |
//! | `define` | definitions of tables, indexes, types | core | ddl |
//! | `admin` | backups, restores, ALTER DATABASE, the history in msdb | core events | backup database_ddl history suspect_pages |
//! | `inspect` | views, functions of metadata, DBCC | core events define admin | context dbcc functions globals log_records metadata reference views |
//! | `session` | sessions and the loop that runs programs; the start | core events define admin inspect | functions_of_users host manager parallel partition_number resource_monitor rpc run session spool start unsupported |

#![forbid(unsafe_code)]

mod activity;
mod admission;
mod app_locks;
mod backup;
mod context;
mod database_ddl;
pub mod databases;
mod dbcc;
mod ddl;
mod error_log;
mod folders;
mod functions;
mod functions_of_users;
mod globals;
mod health;
mod history;
mod host;
mod instance;
mod instance_core;
mod kill;
mod load;
pub mod log_records;
mod manager;
mod memory_grants;
mod metadata;
mod origin;
mod parallel;
mod partition_number;
mod places;
pub mod reference;
mod registry;
mod resource_monitor;
mod rpc;
mod run;
mod seats;
mod security;
mod session;
mod session_core;
mod settings;
mod settled;
mod spool;
mod start;
mod startup;
mod suspect_pages;
mod trace;
mod trace_flags;
mod unavailable;
mod unsupported;
mod views;
mod xe;

pub use databases::StorageConfig;
pub use duramen_query::cancelled;
pub use error_log::{Echo, ErrorLog};
pub use instance::{Instance, StopServer};
pub use instance_core::InstanceConfig;
pub use manager::{Begin, TransactionRequest};
pub use places::FilesConfig;
pub use rpc::{RpcOutcome, RpcParameter};
pub use run::BulkSource;
pub use session::Session;
pub use spool::{Spool, value_in};
pub use startup::refuse_newer_directory;
pub use unavailable::{DatabaseState, Unavailable};
