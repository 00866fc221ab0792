//! Row versions for READ_COMMITTED_SNAPSHOT and SNAPSHOT: what rows were before the changes that a reader must not see.
//!
//! The page holds the newest row. Before a writer changes it (X lock held, change not yet made) it pushes the row's
//! pre-image here. A reader takes the row from the page, then asks [`VersionStore::visible`] *while it still holds the
//! page latch* and gets: the row on the page, an older image, or "the row did not exist".
//!
//! Invariants
//! 1. The entries of a key are in the order of their writers, oldest first; at most the newest has a writer that is active.
//! 2. The pre-image of an entry is the row as every transaction before its writer left it.
//! 3. A writer's commit number is set before the counter that snapshots read is raised: a snapshot sees all of a
//!    transaction or nothing.
//! 4. An aborted entry is never visible and its pre-image equals the row that undo has put back, so it may stay until
//!    readers that saw the unrestored row are gone.
//! 5. An entry goes when every snapshot sees its writer's work (or abort).
//!
//! The store is memory only: snapshots do not survive a restart, so neither need versions.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{DbId, RowsetId};
use duramen_os::sync::Mutex;

use crate::hash::FixedHashMap;

/// A transaction sequence number: taken in the order of first versioned work.
pub type Xsn = u64;

const ACTIVE: u64 = 0;
const ABORTED: u64 = 1 << 63;
const SHARDS: usize = 32;

/// A transaction that pushes versions.
#[derive(Clone, Debug)]
pub struct VersionWriter {
    pub xsn: Xsn,
    /// 0 while active, then the commit number, or the number at its abort with the top bit.
    outcome: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Entry {
    writer: VersionWriter,
    /// `None`: the row did not exist.
    before: Option<Arc<[u8]>>,
}

/// The versions of a rowset: for each key its entries, oldest first.
type Keys = BTreeMap<Box<[u8]>, Vec<Entry>>;

#[derive(Debug, Default)]
struct Shard {
    rowsets: FixedHashMap<(DbId, RowsetId), Keys>,
    entries: u64,
    bytes: u64,
}

/// A moment: everything committed up to it is seen, nothing later.
#[derive(Clone, Debug)]
pub struct Snapshot {
    inner: Arc<SnapshotInner>,
}

#[derive(Debug)]
struct SnapshotInner {
    number: u64,
    store: Arc<Clock>,
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        let mut open = self.store.open.lock();
        if let Some(count) = open.get_mut(&self.number) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.number);
            }
        }
    }
}

impl Snapshot {
    /// The number of the last commit that is seen.
    pub fn number(&self) -> u64 {
        self.inner.number
    }
}

#[derive(Debug, Default)]
struct Clock {
    /// The number of the last commit.
    committed: AtomicU64,
    next_xsn: AtomicU64,
    /// Snapshots in use, by number. Also the lock under which commits are numbered.
    open: Mutex<BTreeMap<u64, usize>>,
}

/// What a reader is to take for a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Visible {
    /// The row on the page (or its absence from the page).
    Current,
    /// An older image.
    Image(Arc<[u8]>),
    /// No row.
    Absent,
}

/// For `sys.dm_tran_version_store_space_usage` and the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VersionStats {
    pub entries: u64,
    pub bytes: u64,
    pub open_snapshots: u64,
}

#[derive(Debug)]
pub struct VersionStore {
    clock: Arc<Clock>,
    shards: Vec<Mutex<Shard>>,
}

impl Default for VersionStore {
    fn default() -> Self {
        VersionStore::new()
    }
}

impl VersionStore {
    pub fn new() -> VersionStore {
        VersionStore {
            clock: Arc::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, db: DbId, rowset: RowsetId) -> &Mutex<Shard> {
        let h = (rowset.0 as u64 ^ ((db.0 as u64) << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(h >> 50) as usize % SHARDS]
    }

    /// A snapshot of now.
    pub fn snapshot(&self) -> Snapshot {
        let mut open = self.clock.open.lock();
        let number = self.clock.committed.load(Ordering::Relaxed);
        *open.entry(number).or_insert(0) += 1;
        Snapshot {
            inner: Arc::new(SnapshotInner {
                number,
                store: Arc::clone(&self.clock),
            }),
        }
    }

    /// A transaction begins to write rows that have versions.
    pub fn writer(&self) -> VersionWriter {
        VersionWriter {
            xsn: self.clock.next_xsn.fetch_add(1, Ordering::Relaxed) + 1,
            outcome: Arc::new(AtomicU64::new(ACTIVE)),
        }
    }

    /// Before `writer` changes the row with this key: what it was. A second change by the same writer adds nothing.
    pub fn push(
        &self,
        db: DbId,
        rowset: RowsetId,
        key: &[u8],
        writer: &VersionWriter,
        before: Option<&[u8]>,
    ) {
        let mut shard = self.shard(db, rowset).lock();
        let chain = shard
            .rowsets
            .entry((db, rowset))
            .or_default()
            .entry(key.into())
            .or_default();
        if chain.last().is_some_and(|e| e.writer.xsn == writer.xsn) {
            return;
        }
        chain.push(Entry {
            writer: writer.clone(),
            before: before.map(Arc::from),
        });
        shard.entries += 1;
        shard.bytes += before.map_or(0, |b| b.len() as u64);
    }

    /// Everything `writer` pushed becomes visible at once, to snapshots taken from now on. Call it after the COMMIT
    /// record is appended and before the locks are released.
    pub fn commit(&self, writer: &VersionWriter) {
        let _numbering = self.clock.open.lock();
        let number = self.clock.committed.load(Ordering::Relaxed) + 1;
        writer.outcome.store(number, Ordering::Release);
        self.clock.committed.store(number, Ordering::Release);
    }

    /// After `writer`'s changes are undone, before its locks are released.
    pub fn abort(&self, writer: &VersionWriter) {
        let _numbering = self.clock.open.lock();
        let number = self.clock.committed.load(Ordering::Relaxed) + 1;
        writer.outcome.store(number | ABORTED, Ordering::Release);
        self.clock.committed.store(number, Ordering::Release);
    }

    /// Which state of the row `snapshot` sees. `own` is the reader's own writer, whose work it sees.
    pub fn visible(
        &self,
        db: DbId,
        rowset: RowsetId,
        key: &[u8],
        snapshot: &Snapshot,
        own: Option<&VersionWriter>,
    ) -> Visible {
        let shard = self.shard(db, rowset).lock();
        shard
            .rowsets
            .get(&(db, rowset))
            .and_then(|keys| keys.get(key))
            .map_or(Visible::Current, |chain| {
                resolve(chain, snapshot.number(), own)
            })
    }

    /// Has somebody changed the row since the snapshot (3960 for a SNAPSHOT transaction that wants to change it)?
    /// Call it with the row's X lock.
    pub fn conflicts(
        &self,
        db: DbId,
        rowset: RowsetId,
        key: &[u8],
        snapshot: &Snapshot,
        own: Option<&VersionWriter>,
    ) -> bool {
        let shard = self.shard(db, rowset).lock();
        let Some(chain) = shard
            .rowsets
            .get(&(db, rowset))
            .and_then(|keys| keys.get(key))
        else {
            return false;
        };
        chain.iter().any(|e| {
            let outcome = e.writer.outcome.load(Ordering::Acquire);
            let mine = own.is_some_and(|o| o.xsn == e.writer.xsn);
            !mine && outcome & ABORTED == 0 && (outcome == ACTIVE || outcome > snapshot.number())
        })
    }

    /// The keys of a rowset between two bounds whose state for `snapshot` is not what the page holds: a scan merges
    /// them in, since a deleted row has left its page.
    pub fn changed(
        &self,
        db: DbId,
        rowset: RowsetId,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        snapshot: &Snapshot,
        own: Option<&VersionWriter>,
    ) -> Vec<(Box<[u8]>, Visible)> {
        if range_is_empty(&range) {
            return Vec::new();
        }
        let shard = self.shard(db, rowset).lock();
        let Some(keys) = shard.rowsets.get(&(db, rowset)) else {
            return Vec::new();
        };
        keys.range::<[u8], _>(range)
            .map(|(key, chain)| (key.clone(), resolve(chain, snapshot.number(), own)))
            .filter(|(_, v)| *v != Visible::Current)
            .collect()
    }

    /// Does the row have versions (a ghost of it must stay)?
    pub fn has_versions(&self, db: DbId, rowset: RowsetId, key: &[u8]) -> bool {
        let shard = self.shard(db, rowset).lock();
        shard
            .rowsets
            .get(&(db, rowset))
            .is_some_and(|keys| keys.contains_key(key))
    }

    /// Drops what no snapshot needs; gives the number of versions dropped. A background task calls it.
    pub fn clean(&self) -> u64 {
        let oldest = {
            let open = self.clock.open.lock();
            let committed = self.clock.committed.load(Ordering::Relaxed);
            open.keys().next().copied().unwrap_or(committed)
        };
        let mut dropped = 0;
        for shard in &self.shards {
            let mut shard = shard.lock();
            let Shard {
                rowsets,
                entries,
                bytes,
            } = &mut *shard;
            for keys in rowsets.values_mut() {
                keys.retain(|_, chain| {
                    chain.retain(|e| {
                        let outcome = e.writer.outcome.load(Ordering::Acquire);
                        let keep = outcome == ACTIVE || outcome & !ABORTED > oldest;
                        if !keep {
                            dropped += 1;
                            *entries -= 1;
                            *bytes -= e.before.as_ref().map_or(0, |b| b.len() as u64);
                        }
                        keep
                    });
                    !chain.is_empty()
                });
            }
            rowsets.retain(|_, keys| !keys.is_empty());
        }
        dropped
    }

    /// The rowset is gone.
    pub fn forget_rowset(&self, db: DbId, rowset: RowsetId) {
        let mut shard = self.shard(db, rowset).lock();
        if let Some(keys) = shard.rowsets.remove(&(db, rowset)) {
            for e in keys.into_values().flatten() {
                shard.entries -= 1;
                shard.bytes -= e.before.as_ref().map_or(0, |b| b.len() as u64);
            }
        }
    }

    pub fn stats(&self) -> VersionStats {
        let mut stats = VersionStats {
            open_snapshots: self
                .clock
                .open
                .lock()
                .values()
                .map(|&count| count as u64)
                .sum(),
            ..VersionStats::default()
        };
        for shard in &self.shards {
            let shard = shard.lock();
            stats.entries += shard.entries;
            stats.bytes += shard.bytes;
        }
        stats
    }
}

fn resolve(chain: &[Entry], number: u64, own: Option<&VersionWriter>) -> Visible {
    let mut seen = Visible::Current;
    for entry in chain.iter().rev() {
        let outcome = entry.writer.outcome.load(Ordering::Acquire);
        let mine = own.is_some_and(|o| o.xsn == entry.writer.xsn);
        let committed = outcome != ACTIVE && outcome & ABORTED == 0 && outcome <= number;
        if mine || committed {
            break;
        }
        seen = match &entry.before {
            Some(image) => Visible::Image(Arc::clone(image)),
            None => Visible::Absent,
        };
    }
    seen
}

fn range_is_empty(range: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match range {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a), Bound::Excluded(b))
        | (Bound::Excluded(a), Bound::Included(b))
        | (Bound::Excluded(a), Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
