//! storage: pages, allocation, buffer pool, rows, heaps, B-trees, checkpoint and recovery.
//!
//! | module | owns |
//! |---|---|
//! | `engine`, `database` | the engine and its databases: made, opened, committed, rolled back |
//! | `change`, `changing` | changes to pages as data; how one is logged and made |
//! | `files` | data files and filegroups: made, filled in proportion, grown, added, removed |
//! | `alloc`, `anchor` | pages and how chains of them go; where allocation units begin |
//! | `row_counts`, `page_counts`, `counts` | how many rows a rowset has, and how many pages |
//! | `rowset`, `open`, `heap`, `btree`, `lob`, `cursor` | rows, and rowsets that are kept open for them |
//! | `load` | many rows at once, page by page |
//! | `spill` | files for rows that wait, beside tempdb's |
//! | `fullness`, `free_space` | how full pages are; which heap and text pages have room |
//! | `kept_room` | room that open transactions have freed, which stays their own |
//! | `tempdb` | what is different about the database that dies with the process |
//! | `hints`, `reading`, `versioned` | how a read is asked to lock, and how it does; rows as of a moment |
//! | `checkpoint` | how, when and at what pace pages go down |
//! | `recovery_model`, `truncation` | what of the log is let go of, and who keeps the rest |
//! | `backups`, `identity` | the backups of a database that run now; which file it is in every copy |
//! | `undo`, `recovery` | rollback, crash recovery |
//! | `suspects` | pages that could not be read, for `msdb.dbo.suspect_pages` |
//! | `ghosts` | cleanup of deleted B-tree rows |
//! | `configuration` | what a database is told about itself |
//! | `dblog`, `log_files`, `log_room` | a database's log as the room uses it, its further files, what may begin when it is full |
//! | `def`, `lendings`, `lent`, `sample` | what a caller says of a rowset; large values read where they lie; some rows for statistics |
//! | `emergency` | a database opened without recovery |
//! | `marks` | the version that a file's mark says |
//! | `error` | what storage says when it fails |
//! | `allocated`, `physical`, `file_space`, `operation_counts`, `operations` | what views tell of pages, indexes, files and the work on them |
//! | `calm`, `pace`, `redo_speed` | how a checkpoint leaves room for others; how long a recovery would take |
//! | `rollback` | rolling back, and a database in which that fails |
//! | `temp_claims`, `temp_space` | what tempdb and spills take of the disk, and may |
//!
//! Order of what is waited for: a row lock (never with anything below held), a tree latch, a unit's allocation cursor, a
//! file's allocation mutex, page latches, the pool's write lock, the log.

#![forbid(unsafe_code)]

// Tests here and in the rooms above begin with the same file (`tests/fixture.rs`).
#[cfg(test)]
extern crate self as duramen_storage;

mod alloc;
mod allocated;
mod anchor;
mod backups;
mod btree;
mod calm;
mod change;
mod changing;
mod checkpoint;
mod configuration;
mod counts;
mod cursor;
mod database;
mod dblog;
mod def;
mod emergency;
mod engine;
mod error;
mod file_space;
mod files;
mod free_space;
mod fullness;
mod ghosts;
mod heap;
mod hints;
mod identity;
mod kept_room;
mod lendings;
mod lent;
mod load;
mod lob;
mod log_files;
mod log_room;
mod marks;
mod open;
mod operation_counts;
mod operations;
mod pace;
mod page_counts;
mod physical;
mod reading;
mod recovery;
mod recovery_model;
mod redo_speed;
mod rollback;
mod row_counts;
mod rowset;
mod sample;
mod spill;
mod suspects;
mod temp_claims;
mod temp_space;
mod tempdb;
#[cfg(test)]
mod tests;
mod truncation;
mod undo;
mod versioned;

pub use allocated::{AllocatedPage, PageHead};
pub use anchor::SYSALLOCUNITS;
pub use btree::keys::KeyInfo;
pub use configuration::default_commit_wait;
pub use counts::PageCounts;
pub use cursor::{Cursor, NOTHING, RID, ScanPart};
pub use database::{CreateDatabase, OpenDatabase};
pub use def::{KeyColumn, RowLocator, RowsetDef, RowsetKind, ScanSpec};
pub use engine::{Database, Engine, EngineConfig, ShutDownHook, StorageRoots, lock_error};
pub use error::{StorageError, StorageResult};
pub use file_space::FileSpace;
pub use files::grow::expand_error;
pub use files::log_header::raise_log_files;
pub use files::make::{find_guid, sync_parent};
pub use files::state::ObjectNames;
pub use files::{DataFileInfo, FileChange, FilegroupChange, FilegroupInfo};
pub use fullness::class_of;
pub use hints::{Grain, LockHint, Reading};
pub use identity::{file_guid, log_files_created};
pub use load::{Build, BuildError, Fill, Load, LoadError, Logging, Sorter, Unsorted, write_sorted};
pub use log_files::log_header;
pub use marks::version_of_file;
pub use open::OpenRowsets;
pub use operation_counts::OperationCounts;
pub use physical::{Level, Records, Scan};
pub use recovery::{LoosePages, Notice, Recovering, RecoverySummary, pages_of, repeat_on};
pub use recovery_model::RecoveryModel;
pub use rowset::Rowset;
pub use spill::remove_old_spills;
pub use tempdb::{note_files as note_tempdb_files, noted_files as noted_tempdb_files};
