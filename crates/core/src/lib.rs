//! What a server is and what a session is, below what they do: databases and their states, settings, logins and rights.
//!
//! | module | owns |
//! |---|---|
//! | `instance_core` | the server without its ears: databases, sessions, locks, plans, settings |
//! | `session_core` | a session as its statements and functions see it |
//! | `databases` | the databases of an instance: found, made, attached, restored, taken away |
//! | `startup`, `unavailable`, `restart` | start and end of databases; those that are not open, and why; one whose rollback failed |
//! | `security`, `session_rights` | what a login may do; what a session may |
//! | `settings`, `reconfigure`, `trace_flags`, `registry` | sp_configure, and what follows it; trace flags; what scripts look for in the registry |
//! | `activity`, `kill`, `origin` | what others see of a session; ending it; whose work a thread does |
//! | `session_identity` | SET IDENTITY_INSERT of a session |
//! | `database_shares`, `app_locks`, `session_locks`, `settled` | who is in a database; locks that applications name, and a session's of them; answers that wait for what is not committed |
//! | `memory_grants`, `admission` | memory before a statement runs; how many change rows at once |
//! | `places`, `folders` | where a file may be that a statement names; the folders that files go to |
//! | `health`, `load`, `resource_monitor` | how busy the server has been; what the process has of memory |

#![forbid(unsafe_code)]

pub mod activity;
pub mod admission;
pub mod app_locks;
pub mod database_shares;
pub mod databases;
pub mod folders;
pub mod health;
pub mod instance_core;
pub mod kill;
pub mod load;
pub mod memory_grants;
pub mod origin;
pub mod places;
mod reconfigure;
pub mod registry;
pub mod resource_monitor;
mod restart;
pub mod security;
pub mod session_core;
mod session_identity;
mod session_locks;
mod session_rights;
pub mod settings;
pub mod settled;
pub mod startup;
pub mod trace_flags;
pub mod unavailable;
