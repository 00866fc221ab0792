//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.
//!
//! Rooms, bottom up; `cargo xtask rooms` holds every import against this table.
//!
//! | room | owns | may import | modules |
//! |---|---|---|---|
//! | `access` | tables as queries see them, open databases, versions of rows, statistics | - | cancel database_options fired multipart open_db statistics stored temporary usage version versioning |
//! | `program` | texts made programs and kept, the statement table, the columns of results | access | bound coded column compatibility event_classes exceptions live_plan login message_format missing_indexes named names normal options outcome plan_cache plan_xml program programs random refused resource rights schema_bound sink statement_stats statements table_types table_variable text timestamp variables work |
//! | `core` | databases and their states, settings, logins and rights, what others see of a session | access program | activity admission app_locks context databases folders health load memory_grants origin places registry secrets security settings settled startup trace_flags unavailable |
//! | `events` | Extended Events, the default trace, the error log | access program core | error_log trace xe |
//! | `define` | definitions of tables, indexes, types | access program core | ddl |
//! | `admin` | backups, restores, ALTER DATABASE, the history in msdb | access program core | backup database_ddl history suspect_pages |
//! | `inspect` | views, functions of metadata, DBCC | access program core events define admin | dbcc functions globals log_records metadata reference views |
//! | `session` | sessions and the loop that runs programs; the instance | access program core events define admin inspect | functions_of_users host instance kill manager parallel partition_number resource_monitor rpc run seats session spool unsupported |
//!
//! What still goes against it:
//!
//! | file | imports | because |
//! |---|---|---|
//! | `stored.rs` `stored/cut.rs` | context | the statement's part of `Context` is not apart from the session's |
//! | `versioning.rs` | instance session | ALTER DATABASE's part waits for sessions |
//! | `context.rs` `databases/restart.rs` `registry.rs` `settings.rs` | instance | `Instance` is not cut in what lies below and above the events |
//! | `app_locks.rs` `security.rs` `security/permission.rs` `settled.rs` | session | methods of `Session` that a `Caller` would do for |
//! | `database_ddl.rs` `history.rs` `suspect_pages.rs` | instance session | `Admin` takes the whole session |
//! | `ddl.rs` | host | `Ddl` takes the session's host where any would do |
//! | `views/memory.rs` `views/query_stats.rs` `views/rowsets.rs` | instance | they read `Context::instance` by its type |
//! | `dbcc.rs` `dbcc/identity.rs` `functions.rs` `functions/app_locks.rs` `functions/people.rs` `functions/permissions.rs` `functions/server.rs` `functions/session_context.rs` `globals.rs` `metadata.rs` `metadata/databases.rs` `metadata/properties.rs` | session | they take `Session` where a `Caller` would do |
//! | `dbcc/trace.rs` | instance session | as DBCC |
//! | `views/first_result_set.rs` | host run | it compiles and binds |

#![forbid(unsafe_code)]

mod activity;
mod admission;
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
mod folders;
mod functions;
mod functions_of_users;
mod globals;
mod health;
mod history;
mod host;
mod instance;
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
mod settings;
mod settled;
mod sink;
mod spool;
mod startup;
mod statement_stats;
mod statements;
mod statistics;
mod stored;
mod suspect_pages;
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
pub use instance::{Instance, InstanceConfig, StopServer};
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
