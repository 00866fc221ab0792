//! The catalog: what a database contains, kept in its base tables, given out as plain snapshots.
//!
//! Invariants
//! 1. The rows of the base tables are the truth. DDL writes rows, as any logged change, under the caller's transaction;
//!    the same change is kept for the snapshots ([`CatalogDb::snapshot`]): that transaction sees it at once, everybody
//!    else from its commit on, and its rollback drops it (`drafts`).
//!    [test: tables_survive_a_restart; test: a_rollback_takes_ddl_back]
//! 2. A snapshot never changes; its version tells whether a plan made from it is still good.
//!    [test: a_shared_batch_follows_the_schema]
//! 3. Where a column stands in a row comes from `sysrscols`, never from its type. [test: columns_and_constraints_come_and_go]
//! 4. Whoever changes an object holds its Sch-M lock, whoever reads one its Sch-S lock. A name is given or taken by one
//!    transaction at a time (`claims`); whoever meets one that another has not yet committed is told ([`doubt`]), waits for
//!    that lock where nothing else is held, and asks again. Finding a name never waits.
//!    [test: nobody_sees_or_uses_what_another_has_not_committed]
//!
//! | module | owns |
//! |---|---|
//! | `catalog` | the catalog of one open database |
//! | `system_tables`, `bootstrap` | the base tables as declared data; their pages in a new database |
//! | `rows` | base tables as rowsets: their definitions, rows read and written with all indexes kept |
//! | `def`, `shape`, `describe` | what a snapshot says about objects; from declared columns to rowsets, and the rows that describe those |
//! | `cells`, `load`, `snapshot` | base table rows become an immutable picture of a database's objects |
//! | `ddl` | creating, changing and dropping objects |
//! | `draft`, `drafts`, `claims`, `doubt` | what open transactions have defined: their own view of it, one transaction a name, whoever must wait for a name |
//! | `system_write`, `identity`, `counter`, `rowversions` | what is written beside a user's transaction and outlives its rollback |
//! | `loads` | many rows into a table at once, its indexes with it |
//! | `partitions`, `partition_rows` | partition functions and schemes |
//! | `properties` | extended properties |
//! | `security`, `principals` | logins, users, roles and permissions |
//! | `registry`, `settings`, `event_sessions` | master's lists: databases, sp_configure, event sessions |
//! | `names`, `weight` | what storage calls an allocation unit; what definitions take in memory |

#![forbid(unsafe_code)]

mod bootstrap;
mod catalog;
mod cells;
mod claims;
mod counter;
mod ddl;
mod def;
mod describe;
pub mod doubt;
mod draft;
mod drafts;
mod event_sessions;
mod identity;
mod load;
pub mod loads;
mod names;
mod partition_rows;
pub mod partitions;
mod principals;
pub mod properties;
mod registry;
pub mod rows;
mod rowversions;
pub mod security;
mod settings;
pub mod shape;
mod snapshot;
pub mod system_tables;
mod system_write;
mod weight;

pub use catalog::{CatalogDb, date_time, now};
pub use ddl::{
    MOST_COLUMNS, NewCheck, NewColumn, NewForeignKey, NewIndex, NewTable, key_text,
    too_many_columns,
};
pub use def::*;
pub use drafts::version_of_draft;
pub use partitions::{PartitionFunctionDef, PartitionSchemeDef, Partitioned, Place};
pub use registry::{DatabaseEntry, FileEntry, FileKind, Registry, broker_guid};
pub use security::{LoginDef, PrivilegeDef, Security, UserDef};
pub use snapshot::Snapshot;
