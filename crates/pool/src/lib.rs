//! The buffer pool: pages of data files in memory, and their way to the disk and back.
//!
//! | module | owns |
//! |---|---|
//! | `frames` | frames, latches, eviction, the write-ahead rule, checkpoints' batches |
//! | `doublewrite` | pages that a power loss has torn, and their copies |
//! | `data_file`, `store` | a data file; a database as the pool sees it: its files and its log |
//! | `watched`, `overlay` | files as they were at a moment, under which the real ones go on |
//! | `suspects` | pages that cannot be read or contradict themselves |
//! | `page_waits` | what was waited for pages |
//! | `error` | 823 and 824 |

#![forbid(unsafe_code)]

mod data_file;
mod doublewrite;
mod error;
mod frames;
mod overlay;
mod page_waits;
mod store;
mod suspects;
mod watched;

pub use data_file::{DataFile, DataFileSpec, FileGrowth};
pub use doublewrite::{DOUBLEWRITE_VERSION, DoubleWrite, doublewrite_version};
pub use error::{corrupt, io_error, logical_error};
pub use frames::{
    BufferedPage, LARGE_BATCH, Pace, PageAt, PageHasher, PageRead, PageWrite, Pool, PoolStats, RUN,
    ReadRoom, Why, Written,
};
pub use overlay::{OverlayDisk, OverlayFile};
pub use page_waits::{LatchWaits, PageWaits};
pub use store::DbStore;
pub use suspects::{Shared as SharedSuspects, SuspectPage, Suspects, Suspicion, suspicion};
