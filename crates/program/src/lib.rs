//! A batch of text becomes a flat program: what its statements are and need is known before any of them runs.
//!
//! | module | owns |
//! |---|---|
//! | `program` | a batch as a flat program, one operation a statement |
//! | `statements` | the statement table: a row a kind, before any of it runs |
//! | `refused` | what is refused by a statement's text alone |
//! | `variables` | variables that a text uses and does not declare |
//! | `bound`, `plan_cache`, `programs` | what the steps have bound; plans of all sessions, programs of one |
//! | `planned`, `plan_xml`, `live_plan`, `statement_stats`, `missing_indexes`, `work` | what is shown of plans and of those that run |
//! | `outcome`, `exceptions`, `message_format` | what an error ends; the errors lately met; the `printf` of RAISERROR |
//! | `secrets` | texts that hold a password are shown to nobody |
//! | `rights`, `options`, `compatibility` | rights as words; SET options; what compatibility levels change |
//! | `table_types`, `table_variable`, `system_columns`, `column` | tables that texts declare; columns of views as data |
//! | `coded`, `resource`, `event_classes` | the system's procedures, as code and as text; the classes of SQL Trace |
//! | `normal`, `schema_bound`, `names`, `named` | expressions in normal form; modules with SCHEMABINDING; names and lists of them |
//! | `sink`, `text`, `login`, `announced` | where results go; what a login says; INSERT BULK before its rows |
//! | `session_context`, `firing`, `random`, `timestamp` | what a session keeps for its statements |

#![forbid(unsafe_code)]

pub mod announced;
pub mod bound;
pub mod coded;
pub mod column;
pub mod compatibility;
pub mod event_classes;
pub mod exceptions;
pub mod firing;
pub mod live_plan;
pub mod login;
pub mod message_format;
pub mod missing_indexes;
pub mod named;
pub mod names;
pub mod normal;
pub mod options;
pub mod outcome;
pub mod plan_cache;
pub mod plan_xml;
pub mod planned;
pub mod program;
pub mod programs;
pub mod random;
pub mod refused;
pub mod resource;
pub mod rights;
pub mod schema_bound;
pub mod secrets;
pub mod session_context;
pub mod sink;
pub mod statement_stats;
pub mod statements;
pub mod system_columns;
pub mod table_types;
pub mod table_variable;
pub mod text;
pub mod timestamp;
pub mod variables;
pub mod work;
