//! Row versions for READ_COMMITTED_SNAPSHOT and SNAPSHOT: what rows were before the changes that a reader must not see.
//!
//! The page holds the newest row. Before a writer changes it (X lock held, change not yet made) it pushes the row's
//! pre-image here. A reader takes the row from the page, then asks [`VersionStore::visible`], and gets: the row on the
//! page, an older image, or "the row did not exist".
//!
//! Invariants
//! 1. The entries of a key are in the order of their writers, oldest first; at most the newest has a writer that is active.
//!    [assert: versions/1]
//! 2. The pre-image of an entry is the row as every transaction before its writer left it. [assert: versions/2]
//! 3. A writer's commit number is set before the counter that snapshots read is raised: a snapshot sees all of a
//!    transaction or nothing. [assert: versions/3]
//! 4. A push comes before the change it is for. So a reader who first takes the row and then asks never takes a
//!    changed row for a current one; a reader who asks under the row's page latch gets both from one moment.
//!    [assert: versions/4]
//! 5. An aborted entry is never visible and its pre-image equals the row that undo has put back. [test: agrees_with_the_model]
//! 6. An entry goes when every snapshot sees its writer's work (or abort). [assert: versions/6]
//!
//! Cleaning costs what was pushed, not what is kept: a writer remembers its keys, and when it ends they queue by its
//! number. Whoever commits takes a little more from the queue's head than it adds; a background pass takes the rest.
//! Images are bounded too: beyond the limit a key is marked as lost, and a reader who needs it gets error 3958. Beyond a
//! little more not even keys are kept: a writer marks whole rowsets ([`blind`]), of which nobody whose snapshot does not see
//! the writer's work can be told anything.
//!
//! The store is memory only: snapshots do not survive a restart, so neither need versions.

mod blind;

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, RowsetId};
use duramen_os::memory::{Broker, Clerk, Tally};
use duramen_os::sync::{Mutex, Rank};

use self::blind::Blind;
use crate::hash::{FixedHashMap, FixedHasher};

/// A transaction sequence number: taken in the order of first versioned work.
pub type Xsn = u64;

const ACTIVE: u64 = 0;
const ABORTED: u64 = 1 << 63;
const SHARDS: usize = 32;
/// What an entry costs beside its image and its key: itself in a chain of its own, the key's place in the map and in its
/// writer's list, and what the allocator adds to each.
const ENTRY_BYTES: u64 = 256;
/// Beyond the limit of images, keys without one take so many parts of it.
const KEYS_PART: u64 = 4;
/// Entries that a commit takes from the queue beyond what it adds.
const CLEAN_MORE: usize = 16;

/// A row as it was: the record's bytes and the values that lay outside it, in the order of their columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowImage {
    pub row: Box<[u8]>,
    pub off_row: Vec<KeptValue>,
}

/// A value that lay outside its row.
#[derive(Clone, Debug)]
pub enum KeptValue {
    Bytes(Box<[u8]>),
    /// Whoever keeps versions knows where.
    Elsewhere(Arc<dyn Any + Send + Sync>),
}

impl PartialEq for KeptValue {
    fn eq(&self, other: &KeptValue) -> bool {
        match (self, other) {
            (KeptValue::Bytes(a), KeptValue::Bytes(b)) => a == b,
            (KeptValue::Elsewhere(a), KeptValue::Elsewhere(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for KeptValue {}

impl RowImage {
    /// A row without values outside it.
    pub fn of(row: &[u8]) -> RowImage {
        RowImage {
            row: row.into(),
            off_row: Vec::new(),
        }
    }

    fn bytes(&self) -> u64 {
        let off_row = self.off_row.iter().map(|v| match v {
            KeptValue::Bytes(b) => b.len(),
            KeptValue::Elsewhere(_) => 0,
        });
        (self.row.len() + off_row.sum::<usize>()) as u64
    }
}

/// What a key was before a writer came.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Before {
    /// No row.
    Absent,
    Image(Arc<RowImage>),
    /// There was no room to keep it.
    Lost,
}

impl Before {
    fn bytes(&self) -> u64 {
        match self {
            Before::Image(image) => image.bytes(),
            _ => 0,
        }
    }
}

#[derive(Debug)]
struct Entry {
    writer: VersionWriter,
    /// Which of its writer's it is, from 1.
    sequence: u64,
    before: Before,
}

impl Entry {
    fn held(&self, key: &[u8]) -> u64 {
        self.before.bytes() + ENTRY_BYTES + key.len() as u64
    }
}

type Key = Arc<[u8]>;
type Chains = FixedHashMap<Key, Vec<Entry>>;

#[derive(Debug, Default)]
struct Shard {
    rowsets: FixedHashMap<(DbId, RowsetId), Chains>,
}

/// A key that a writer has pushed.
#[derive(Debug)]
struct Pushed {
    db: DbId,
    rowset: RowsetId,
    key: Key,
}

/// A transaction that pushes versions. All clones are the same writer.
#[derive(Clone, Debug)]
pub struct VersionWriter(Arc<Writer>);

#[derive(Debug)]
struct Writer {
    xsn: Xsn,
    /// 0 while active, then the commit number, or the number at its abort with the top bit.
    outcome: AtomicU64,
    pushed: Mutex<Vec<Pushed>>,
    /// How many it has pushed.
    count: AtomicU64,
    store: Arc<Shared>,
}

impl VersionWriter {
    pub fn xsn(&self) -> Xsn {
        self.0.xsn
    }

    fn outcome(&self) -> u64 {
        self.0.outcome.load(Ordering::Acquire)
    }

    /// Everything pushed becomes visible at once, to snapshots taken from now on. Call it after the COMMIT record is
    /// appended and before the locks are released.
    pub fn commit(&self) {
        self.end(0);
    }

    /// After the changes are undone, before the locks are released.
    pub fn abort(&self) {
        self.end(ABORTED);
    }

    fn end(&self, mark: u64) {
        let pushed = std::mem::take(&mut *self.0.pushed.lock());
        debug_assert!(self.outcome() == ACTIVE, "versions/3: a writer ends once");
        debug_assert!(
            pushed.len() as u64 == self.0.count.load(Ordering::Relaxed),
            "versions/6: a writer remembers every key that it has pushed"
        );
        let work = pushed.len() + CLEAN_MORE;
        {
            let mut clock = self.0.store.clock.lock();
            // In one hold of the clock: a snapshot with the new number finds the outcome, too.
            clock.number += 1;
            self.0.outcome.store(clock.number | mark, Ordering::Release);
            let number = clock.number;
            debug_assert!(
                number & ABORTED == 0,
                "versions/3: numbers stay below the mark"
            );
            debug_assert!(
                clock.retired.back().is_none_or(|r| r.number < number),
                "versions/6: writers retire in the order of their numbers"
            );
            debug_assert!(
                clock.open.keys().next_back().is_none_or(|s| *s < number),
                "versions/3: a snapshot sees a number that nobody had yet"
            );
            clock.retired.push_back(Retired {
                number,
                writer: self.0.xsn,
                keys: pushed,
            });
        }
        self.0.store.clean(work);
    }
}

impl PartialEq for VersionWriter {
    fn eq(&self, other: &VersionWriter) -> bool {
        self.0.xsn == other.0.xsn
    }
}

impl Eq for VersionWriter {}

/// A moment: everything committed up to it is seen, nothing later.
#[derive(Clone, Debug)]
pub struct Snapshot {
    inner: Arc<SnapshotInner>,
}

#[derive(Debug)]
struct SnapshotInner {
    number: u64,
    /// The last writer that had begun.
    last_writer: Xsn,
    store: Arc<Shared>,
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        let mut clock = self.store.clock.lock();
        debug_assert!(
            clock.open.get(&self.number).is_some_and(|n| *n > 0),
            "versions/6: a snapshot that nobody counts"
        );
        if let Some(count) = clock.open.get_mut(&self.number) {
            *count -= 1;
            if *count == 0 {
                clock.open.remove(&self.number);
            }
        }
    }
}

impl Snapshot {
    /// The number of the last commit that is seen.
    pub fn number(&self) -> u64 {
        self.inner.number
    }

    /// The last writer that had begun when it was taken.
    pub fn last_writer(&self) -> Xsn {
        self.inner.last_writer
    }

    /// The writers that had begun when it was taken and have ended since, in order.
    pub fn ended_since(&self) -> Vec<Xsn> {
        let clock = self.inner.store.clock.lock();
        let later = clock.retired.iter().filter(|r| r.number > self.number());
        let begun = later.map(|r| r.writer).filter(|w| *w <= self.last_writer());
        let mut all: Vec<Xsn> = begun.collect();
        all.sort_unstable();
        all
    }
}

/// A version of a row: what it was before a writer came.
#[derive(Clone, Debug)]
pub struct RowVersion {
    pub writer: Xsn,
    /// Which of its writer's it is, from 1.
    pub sequence: u64,
    pub db: DbId,
    pub rowset: RowsetId,
    pub image: Arc<RowImage>,
}

/// An ended writer whose entries somebody may still need.
#[derive(Debug)]
struct Retired {
    number: u64,
    writer: Xsn,
    keys: Vec<Pushed>,
}

#[derive(Debug, Default)]
struct Clock {
    /// The number of the last commit or abort.
    number: u64,
    /// Snapshots in use, by number.
    open: BTreeMap<u64, usize>,
    /// In the order of their numbers.
    retired: VecDeque<Retired>,
}

impl Clock {
    /// Every snapshot in use, and every one to come, sees what is numbered up to here.
    fn seen_by_all(&self) -> u64 {
        if planted::on(Bug::VersionsGoEarly) {
            return self.number;
        }
        self.open.keys().next().copied().unwrap_or(self.number)
    }
}

#[derive(Debug)]
struct Shared {
    clock: Mutex<Clock>,
    blind: Blind,
    next_xsn: AtomicU64,
    entries: AtomicU64,
    bytes: Tally,
    lost: AtomicU64,
    /// Bytes of images beyond which they are not kept.
    limit: AtomicU64,
    shards: Vec<Mutex<Shard>>,
}

/// What a reader is to take for a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Visible {
    /// The row on the page (or its absence from the page).
    Current,
    /// An older image.
    Image(Arc<RowImage>),
    /// No row.
    Absent,
    /// An older image that was not kept: error 3958.
    Lost,
}

/// For `sys.dm_tran_version_store_space_usage` and the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VersionStats {
    pub entries: u64,
    pub bytes: u64,
    pub open_snapshots: u64,
    /// Pre-images that were not kept since the start.
    pub lost: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct VersionStore(Arc<Shared>);

impl Default for VersionStore {
    fn default() -> Self {
        VersionStore::new()
    }
}

impl VersionStore {
    pub fn new() -> VersionStore {
        VersionStore(Arc::new(Shared {
            clock: Mutex::ranked(Rank::VersionClock, Clock::default()),
            blind: Blind::default(),
            next_xsn: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            bytes: Tally::new(Clerk::Versions),
            lost: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            shards: (0..SHARDS)
                .map(|_| Mutex::ranked(Rank::Versions, Shard::default()))
                .collect(),
        }))
    }

    /// Tells `broker` what is kept.
    pub fn follow(&self, broker: &Arc<Broker>) {
        self.0.bytes.follow(broker);
    }

    /// Bytes of images to keep at most.
    pub fn set_limit(&self, bytes: u64) {
        self.0.limit.store(bytes, Ordering::Relaxed);
    }

    /// A snapshot of now.
    pub fn snapshot(&self) -> Snapshot {
        let mut clock = self.0.clock.lock();
        let number = clock.number;
        debug_assert!(
            clock.open.keys().next_back().is_none_or(|s| *s <= number),
            "versions/3: an older snapshot sees more"
        );
        // In the same hold as its number is read: cleaning must not come between.
        *clock.open.entry(number).or_insert(0) += 1;
        drop(clock);
        Snapshot {
            inner: Arc::new(SnapshotInner {
                number,
                last_writer: self.0.next_xsn.load(Ordering::Relaxed),
                store: Arc::clone(&self.0),
            }),
        }
    }

    /// The number of the last commit.
    pub fn now(&self) -> u64 {
        self.0.clock.lock().number
    }

    /// Whether a snapshot taken up to `number` is in use.
    pub fn has_snapshots_up_to(&self, number: u64) -> bool {
        let clock = self.0.clock.lock();
        clock
            .open
            .keys()
            .next()
            .is_some_and(|first| *first <= number)
    }

    /// A transaction begins to write rows that have versions.
    pub fn writer(&self) -> VersionWriter {
        VersionWriter(Arc::new(Writer {
            xsn: self.0.next_xsn.fetch_add(1, Ordering::Relaxed) + 1,
            outcome: AtomicU64::new(ACTIVE),
            pushed: Mutex::ranked(Rank::VersionsPushed, Vec::new()),
            count: AtomicU64::new(0),
            store: Arc::clone(&self.0),
        }))
    }

    /// Whether `writer` has yet to push what the key was: its second change of a row pushes nothing.
    pub fn wants(&self, db: DbId, rowset: RowsetId, key: &[u8], writer: &VersionWriter) -> bool {
        if self.0.blind.has(db, rowset, writer) {
            return false;
        }
        self.0
            .with_chain(db, rowset, key, |chain| {
                chain.last().is_none_or(|e| e.writer != *writer)
            })
            .unwrap_or(true)
    }

    /// Before `writer` changes the row with this key: what it was (`None`: it was not there). A second push by the same
    /// writer adds nothing. The writer holds the row's X lock, so nobody else pushes it.
    pub fn push(
        &self,
        db: DbId,
        rowset: RowsetId,
        key: &[u8],
        writer: &VersionWriter,
        before: Option<RowImage>,
    ) {
        let shared = &self.0;
        if shared.is_full() {
            return shared.blind.mark(db, rowset, writer);
        }
        let before = match before {
            None => Before::Absent,
            Some(image) => {
                let held = shared.bytes.bytes();
                if held.saturating_add(image.bytes()) > shared.limit.load(Ordering::Relaxed) {
                    shared.lost.fetch_add(1, Ordering::Relaxed);
                    Before::Lost
                } else {
                    Before::Image(Arc::new(image))
                }
            }
        };
        let mut shard = shared.shard(rowset, key).lock();
        let chains = shard.rowsets.entry((db, rowset)).or_default();
        let kept: Key = match chains.get_key_value(key) {
            Some((kept, chain)) => {
                if chain.last().is_some_and(|e| e.writer == *writer) {
                    return;
                }
                Arc::clone(kept)
            }
            None => Arc::from(key),
        };
        let bytes = before.bytes() + ENTRY_BYTES + key.len() as u64;
        // Before the row is changed: who reads the changed row must not find zero here and go by.
        shared.entries.fetch_add(1, Ordering::SeqCst);
        shared.bytes.add(bytes);
        let sequence = writer.0.count.fetch_add(1, Ordering::Relaxed) + 1;
        debug_assert!(
            writer.outcome() == ACTIVE,
            "versions/4: a writer that has ended changes a row"
        );
        let chain = chains.entry(Arc::clone(&kept)).or_default();
        debug_assert!(
            chain.iter().all(|e| e.writer != *writer),
            "versions/2: one writer, two states of a row before it"
        );
        chain.push(Entry {
            writer: writer.clone(),
            sequence,
            before,
        });
        debug_assert!(
            chain
                .iter()
                .rev()
                .skip(1)
                .all(|e| e.writer.outcome() != ACTIVE),
            "versions/1: two active writers of a row"
        );
        drop(shard);
        writer.0.pushed.lock().push(Pushed {
            db,
            rowset,
            key: kept,
        });
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
        // A blind writer leaves no entry: its mark is asked before a chain, or the lack of one, is believed.
        if self.0.blind.hides(db, rowset, snapshot.number(), own) {
            return Visible::Lost;
        }
        self.0
            .with_chain(db, rowset, key, |chain| {
                resolve(chain, snapshot.number(), own)
            })
            .unwrap_or(Visible::Current)
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
        if self.0.blind.hides(db, rowset, snapshot.number(), own) {
            return true;
        }
        let newest = |chain: &[Entry]| {
            if planted::on(Bug::ConflictUnseen) {
                return false;
            }
            for e in chain.iter().rev() {
                let outcome = e.writer.outcome();
                // Its first change of the row has asked; since then the lock has kept others away.
                if own == Some(&e.writer) {
                    return false;
                }
                // One that was undone has changed nothing: the entry below it decides.
                if outcome & ABORTED == 0 {
                    return outcome == ACTIVE || outcome > snapshot.number();
                }
            }
            false
        };
        self.0.with_chain(db, rowset, key, newest).unwrap_or(false)
    }

    /// Does the row have versions (a ghost of it must stay, a slot of it must not be given to another row)?
    pub fn has_versions(&self, db: DbId, rowset: RowsetId, key: &[u8]) -> bool {
        self.0.blind.has_any(db, rowset) || self.0.with_chain(db, rowset, key, |_| ()).is_some()
    }

    /// Drops up to `limit` versions that no snapshot needs; gives the number dropped. A background task calls it.
    pub fn clean(&self, limit: usize) -> usize {
        self.0.clean(limit)
    }

    /// Bytes held for each database that has versions, keys and bookkeeping included. Looks at every version.
    pub fn usage(&self) -> BTreeMap<DbId, u64> {
        let mut all = BTreeMap::new();
        for shard in &self.0.shards {
            for ((db, _), chains) in &shard.lock().rowsets {
                let sum: u64 = chains
                    .iter()
                    .flat_map(|(key, chain)| chain.iter().map(|e| e.held(key)))
                    .sum();
                *all.entry(*db).or_insert(0) += sum;
            }
        }
        all
    }

    /// Every version that is a row: neither those of keys that were not there, nor those that found no room.
    pub fn rows(&self) -> Vec<RowVersion> {
        let mut all = Vec::new();
        for shard in &self.0.shards {
            for ((db, rowset), chains) in &shard.lock().rowsets {
                for e in chains.values().flatten() {
                    if let Before::Image(image) = &e.before {
                        all.push(RowVersion {
                            writer: e.writer.xsn(),
                            sequence: e.sequence,
                            db: *db,
                            rowset: *rowset,
                            image: image.clone(),
                        });
                    }
                }
            }
        }
        all.sort_by_key(|v| (v.writer, v.sequence));
        all
    }

    pub fn stats(&self) -> VersionStats {
        VersionStats {
            entries: self.0.entries.load(Ordering::Relaxed),
            bytes: self.0.bytes.bytes(),
            lost: self.0.lost.load(Ordering::Relaxed),
            open_snapshots: self
                .0
                .clock
                .lock()
                .open
                .values()
                .map(|&count| count as u64)
                .sum(),
        }
    }
}

impl Shared {
    fn shard(&self, rowset: RowsetId, key: &[u8]) -> &Mutex<Shard> {
        let mut h = FixedHasher::default();
        rowset.0.hash(&mut h);
        h.write(key);
        &self.shards[(h.finish() >> 50) as usize % SHARDS]
    }

    fn with_chain<T>(
        &self,
        db: DbId,
        rowset: RowsetId,
        key: &[u8],
        look: impl FnOnce(&[Entry]) -> T,
    ) -> Option<T> {
        if self.entries.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let shard = self.shard(rowset, key).lock();
        let chain = shard.rowsets.get(&(db, rowset))?.get(key)?;
        Some(look(chain))
    }

    fn uncount(&self, key: &[u8], e: &Entry) {
        let entries = self.entries.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(entries > 0, "versions/6: more entries go than have come");
        self.bytes.sub(e.held(key));
    }

    /// Not even keys are kept any more.
    fn is_full(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        self.bytes.bytes() > limit.saturating_add(limit / KEYS_PART)
    }

    fn clean(&self, limit: usize) -> usize {
        if !self.blind.is_empty() {
            let seen = self.clock.lock().seen_by_all();
            self.blind.clean(seen);
        }
        let mut done = 0;
        while done < limit {
            // The clock is held for one writer at a time: whoever commits wants it.
            let retired = {
                let mut clock = self.clock.lock();
                let seen = clock.seen_by_all();
                debug_assert!(
                    seen <= clock.number,
                    "versions/6: what nobody has done is seen"
                );
                match clock.retired.pop_front() {
                    Some(r) if r.number <= seen => r,
                    Some(r) => {
                        clock.retired.push_front(r);
                        return done;
                    }
                    None => return done,
                }
            };
            let Retired {
                number,
                writer,
                mut keys,
            } = retired;
            while done < limit
                && let Some(key) = keys.pop()
            {
                self.drop_entry(writer, &key);
                done += 1;
            }
            if !keys.is_empty() {
                self.clock.lock().retired.push_front(Retired {
                    number,
                    writer,
                    keys,
                });
            }
        }
        done
    }

    fn drop_entry(&self, writer: Xsn, at: &Pushed) {
        let mut shard = self.shard(at.rowset, &at.key).lock();
        let Some(chains) = shard.rowsets.get_mut(&(at.db, at.rowset)) else {
            return;
        };
        let Some(chain) = chains.get_mut(&at.key[..]) else {
            return;
        };
        if let Some(i) = chain.iter().position(|e| e.writer.xsn() == writer) {
            let gone = chain.remove(i);
            debug_assert!(
                gone.writer.outcome() != ACTIVE,
                "versions/6: an entry goes whose writer is active"
            );
            self.uncount(&at.key, &gone);
        }
        if chain.is_empty() {
            chains.remove(&at.key[..]);
        }
    }
}

fn resolve(chain: &[Entry], number: u64, own: Option<&VersionWriter>) -> Visible {
    debug_assert!(
        !chain.is_empty(),
        "versions/6: a key without entries is kept"
    );
    // From the newest down to the first that is seen: the row is what the one above that found.
    let mut seen = Visible::Current;
    for entry in chain.iter().rev() {
        let outcome = entry.writer.outcome();
        debug_assert!(
            own != Some(&entry.writer) || outcome == ACTIVE,
            "versions/3: a reader's own writer has ended before it"
        );
        let committed = outcome != ACTIVE && outcome & ABORTED == 0 && outcome <= number;
        if own == Some(&entry.writer) || committed {
            break;
        }
        seen = match &entry.before {
            Before::Image(image) => Visible::Image(Arc::clone(image)),
            Before::Absent => Visible::Absent,
            Before::Lost => Visible::Lost,
        };
    }
    seen
}

#[cfg(test)]
pub(crate) mod tests;
