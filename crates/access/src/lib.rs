//! How a session reaches what is stored: open databases, tables as queries see them, versions of rows, statistics.
//!
//! | module | owns |
//! |---|---|
//! | `open_db` | an open database with what is known of it |
//! | `stored` | a table as the query room sees it: its definition and storage's rowsets |
//! | `versioning` | at which level a read reads, as the options of its database say |
//! | `statistics` | what a database knows of its columns' values |
//! | `usage` | what statements use indexes for |
//! | `database_options` | the options of a database, a bit each |
//! | `fired` | which triggers of a table an event fires |
//! | `identity_insert` | the table of SET IDENTITY_INSERT |
//! | `temporary`, `multipart` | names: of temporary objects, of several parts in a text |
//! | `cancel` | how a running request is asked to end |
//! | `version` | who the server says it is |

#![forbid(unsafe_code)]

pub mod cancel;
pub mod database_options;
pub mod fired;
pub mod identity_insert;
pub mod multipart;
pub mod open_db;
pub mod statistics;
pub mod stored;
pub mod temporary;
pub mod usage;
pub mod version;
pub mod versioning;
