//! What a database remembers about its files besides the files themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::AllocUnitId;
use duramen_format::file_table::FilegroupRow;
use duramen_os::sync::{Mutex, Rank, RwLock};

/// The primary filegroup's id.
pub const PRIMARY: u16 = 1;

/// What an allocation unit is called in messages: its object with schema, and the index unless it is a heap.
pub type ObjectNames =
    Arc<dyn Fn(AllocUnitId) -> Option<(String, Option<String>)> + Send + Sync + 'static>;

/// What a database remembers about its files besides the files themselves.
///
/// Order of locks: `admin`, then `growth`, then as `lib` says from a file's allocation mutex on.
pub struct FileState {
    pub filegroups: RwLock<Vec<FilegroupRow>>,
    /// Credit of each file.
    pub(super) credit: Mutex<BTreeMap<u16, i64>>,
    /// Which file a filegroup's turn is at, and for how many more extents.
    pub(super) turns: Mutex<BTreeMap<u16, (u16, u32)>>,
    /// One growth at a time; for each filegroup the file that grew last.
    pub growth: Mutex<BTreeMap<u16, u16>>,
    /// One change of the file list at a time.
    pub admin: Mutex<()>,
    pub names: OnceLock<ObjectNames>,
}

/// PRIMARY as it is made. All files of tempdb grow together.
pub(crate) fn primary_filegroup(temporary: bool) -> FilegroupRow {
    FilegroupRow {
        id: PRIMARY,
        name: "PRIMARY".to_owned(),
        is_default: true,
        autogrow_all: temporary,
    }
}

impl FileState {
    pub fn new(temporary: bool) -> FileState {
        FileState {
            filegroups: RwLock::new(vec![primary_filegroup(temporary)]),
            credit: Mutex::new(BTreeMap::new()),
            turns: Mutex::new(BTreeMap::new()),
            growth: Mutex::ranked(Rank::Growth, BTreeMap::new()),
            admin: Mutex::new(()),
            names: OnceLock::new(),
        }
    }
}

/// Extents remembered.
pub(super) const REMEMBERED: usize = 256;

/// Extents whose bit is known to be set, each at the place that its number has.
#[derive(Debug)]
pub struct ChangedExtents {
    pub(super) known: [AtomicU64; REMEMBERED],
    /// Goes up when nothing that is remembered may be believed any more: what was remembered before has another key.
    pub(super) epoch: AtomicU64,
    /// What has changed since a full backup began; `None` when none runs.
    pub(super) since: Mutex<Option<BTreeSet<(u16, u32)>>>,
}

impl Default for ChangedExtents {
    fn default() -> ChangedExtents {
        ChangedExtents {
            known: [const { AtomicU64::new(0) }; REMEMBERED],
            epoch: AtomicU64::new(1),
            since: Mutex::new(None),
        }
    }
}

impl ChangedExtents {
    /// A change that was marked in one epoch and made in another has to be marked again, before its page's latch goes.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// From now on every extent that changes is noted, whatever was remembered.
    pub fn begin_notes(&self) {
        *self.since.lock() = Some(BTreeSet::new());
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    pub fn end_notes(&self) {
        *self.since.lock() = None;
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }
}
