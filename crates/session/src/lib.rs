//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.
//!
//! Rooms, bottom up; `cargo xtask rooms` holds every import against this table.
//!
//! | room | owns | may import | modules |
//! |---|---|---|---|
//! | `access` | tables as queries see them, open databases, versions of rows, statistics | - | cancel database_options fired multipart open_db statistics stored temporary usage version versioning |
//! | `program` | texts made programs and kept, the statement table, the columns of results | access | announced bound coded column compatibility event_classes exceptions firing live_plan login message_format missing_indexes named names normal options outcome plan_cache plan_xml program programs random refused resource rights schema_bound session_context sink statement_stats statements system_columns table_types table_variable text timestamp variables work |
//! | `core` | databases and their states, settings, logins and rights, what others see of a session | access program | activity admission app_locks databases folders health instance_core kill load memory_grants origin places registry seats secrets security session_core settings settled startup trace_flags unavailable |
//! | `events` | Extended Events, the default trace, the error log; the instance | access program core | error_log instance trace xe |
//! | `define` | definitions of tables, indexes, types | access program core | ddl |
//! | `admin` | backups, restores, ALTER DATABASE, the history in msdb | access program core events | backup database_ddl history suspect_pages |
//! | `inspect` | views, functions of metadata, DBCC | access program core events define admin | context dbcc functions globals log_records metadata reference views |
//! | `session` | sessions and the loop that runs programs; the start | access program core events define admin inspect | functions_of_users host manager parallel partition_number resource_monitor rpc run session spool start unsupported |

#![forbid(unsafe_code)]

mod activity;
mod admission;
mod announced;
mod app_locks;
mod backup;
mod bound;
mod cancel;
mod coded;
mod column;
mod compatibility;
mod context;
mod database_ddl;
mod database_options;
pub mod databases;
mod dbcc;
mod ddl;
mod error_log;
mod event_classes;
mod exceptions;
mod fired;
mod firing;
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
mod live_plan;
mod load;
pub mod log_records;
mod login;
mod manager;
mod memory_grants;
mod message_format;
mod metadata;
mod missing_indexes;
mod multipart;
mod named;
mod names;
mod normal;
mod open_db;
mod options;
mod origin;
mod outcome;
mod parallel;
mod partition_number;
mod places;
mod plan_cache;
mod plan_xml;
mod program;
mod programs;
mod random;
pub mod reference;
mod refused;
mod registry;
mod resource;
mod resource_monitor;
mod rights;
mod rpc;
mod run;
mod schema_bound;
mod seats;
mod secrets;
mod security;
mod session;
mod session_context;
mod session_core;
mod settings;
mod settled;
mod sink;
mod spool;
mod start;
mod startup;
mod statement_stats;
mod statements;
mod statistics;
mod stored;
mod suspect_pages;
mod system_columns;
mod table_types;
mod table_variable;
mod temporary;
mod text;
mod timestamp;
mod trace;
mod trace_flags;
mod unavailable;
mod unsupported;
mod usage;
mod variables;
pub mod version;
mod versioning;
mod views;
mod work;
mod xe;

pub use cancel::CancelToken;
pub use databases::StorageConfig;
pub use duramen_query::cancelled;
pub use error_log::{Echo, ErrorLog};
pub use instance::{Instance, StopServer};
pub use instance_core::InstanceConfig;
pub use login::LoginRequest;
pub use manager::{Begin, TransactionRequest};
pub use open_db::OpenDb;
pub use places::FilesConfig;
pub use rpc::{RpcOutcome, RpcParameter};
pub use run::BulkSource;
pub use session::Session;
pub use sink::{ColumnMeta, Done, EnvChange, ResultSink, Scope};
pub use spool::{Spool, value_in};
pub use startup::refuse_newer_directory;
pub use table_types::RemoteTable;
pub use text::TextSink;
pub use unavailable::{DatabaseState, Unavailable};
