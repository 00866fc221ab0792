//! storage: pages, allocation, buffer pool, rows, heaps, B-trees, checkpoint and recovery.
//!
//! | module | owns |
//! |---|---|
//! | `format` | bytes: pages, rows, maps, boot page |
//! | `engine`, `database` | the engine and its databases: made, opened, committed, rolled back |
//! | `pool`, `doublewrite` | frames, latches, the write-ahead rule, torn pages |
//! | `change` | changes to pages as data: logged, applied, redone, undone |
//! | `files` | data files and filegroups: made, filled in proportion, grown, added, removed |
//! | `alloc`, `anchor` | pages and how chains of them go; where allocation units begin |
//! | `row_counts`, `page_counts`, `counts` | how many rows a rowset has, and how many pages |
//! | `rowset`, `open`, `heap`, `btree`, `lob`, `cursor` | rows, and rowsets that are kept open for them |
//! | `load` | many rows at once, page by page |
//! | `spill` | files for rows that wait, beside tempdb's |
//! | `free_space` | which heap and text pages have room |
//! | `kept_room` | room that open transactions have freed, which stays their own |
//! | `tempdb` | what is different about the database that dies with the process |
//! | `reading`, `versioned` | how a read locks; rows as of a moment |
//! | `checkpoint` | how, when and at what pace pages go down |
//! | `truncation` | what of the log is let go of, and who keeps the rest |
//! | `backup` | backup sets: taken while others work, read, restored |
//! | `undo`, `recovery` | rollback, crash recovery |
//! | `suspects` | pages that could not be read, for `msdb.dbo.suspect_pages` |
//! | `ghosts` | cleanup of deleted B-tree rows |
//! | `configuration` | what a database is told about itself |
//! | `dblog`, `log_files`, `log_room` | a database's log as the room uses it, its further files, what may begin when it is full |
//! | `def`, `lent`, `sample` | what a caller says of a rowset; large values read where they lie; some rows for statistics |
//! | `check`, `inspect` | CHECKDB; pages shown to people |
//! | `emergency` | a database opened without recovery |
//! | `error` | what storage says when it fails |
//! | `allocated`, `physical`, `file_space`, `operations` | what views tell of pages, indexes, files and the work on them |
//! | `pace` | how a checkpoint leaves room for others |
//! | `rollback` | rolling back, and a database in which that fails |
//! | `temp_space` | what tempdb and spills may take of the disk |
//!
//! Order of what is waited for: a row lock (never with anything below held), a tree latch, a unit's allocation cursor, a
//! file's allocation mutex, page latches, the pool's write lock, the log.

#![forbid(unsafe_code)]

mod alloc;
mod allocated;
mod anchor;
pub mod backup;
mod btree;
mod change;
pub mod check;
mod checkpoint;
mod configuration;
mod counts;
mod cursor;
mod database;
mod dblog;
mod def;
mod doublewrite;
mod emergency;
mod engine;
mod error;
mod file_space;
mod files;
pub mod format;
mod free_space;
mod ghosts;
mod heap;
pub mod inspect;
mod kept_room;
mod lent;
mod load;
mod lob;
mod log_files;
mod log_room;
mod open;
mod operations;
mod pace;
mod page_counts;
mod physical;
mod pool;
mod reading;
mod recovery;
mod rollback;
mod row_counts;
mod rowset;
mod sample;
mod spill;
mod suspects;
mod temp_space;
mod tempdb;
#[cfg(test)]
mod tests;
mod truncation;
mod undo;
mod versioned;

pub use allocated::{AllocatedPage, PageHead};
pub use anchor::SYSALLOCUNITS;
pub use configuration::default_commit_wait;
pub use counts::PageCounts;
pub use cursor::{Cursor, NOTHING, RID, ScanPart};
pub use database::{CreateDatabase, OpenDatabase};
pub use def::{KeyColumn, LockHint, RowLocator, RowsetDef, RowsetKind, ScanSpec};
pub use doublewrite::{DOUBLEWRITE_VERSION, doublewrite_version};
pub use engine::{Database, Engine, EngineConfig, ShutDownHook, StorageRoots, lock_error};
pub use error::{StorageError, StorageResult};
pub use file_space::FileSpace;
pub use files::{
    DataFileInfo, DataFileSpec, FileChange, FileGrowth, FilegroupChange, FilegroupInfo, ObjectNames,
};
pub use load::{Build, BuildError, Fill, Load, LoadError, Logging, Sorter, Unsorted, write_sorted};
pub use open::OpenRowsets;
pub use operations::{LatchWaits, OperationCounts};
pub use physical::{Level, Records, Scan};
pub use pool::{BufferedPage, PoolStats};
pub use reading::{Grain, Reading};
pub use recovery::{Notice, Recovering, RecoverySummary};
pub use rowset::Rowset;
pub use spill::remove_old_spills;
pub use suspects::{SuspectPage, Suspicion};
pub use tempdb::note_files as note_tempdb_files;
pub use truncation::RecoveryModel;
