//! The buffer pool: a fixed number of frames for the pages of every database.
//!
//! Invariants
//! 1. A page is in at most one frame; the page table (sharded) says which. Pins grow only under the shard's lock.
//! 2. A frame with pins is never given to another page. A frame being written down is pinned by its writer.
//! 3. **The write-ahead rule**: no page goes to disk before its log is durable up to the page's LSN (`write_out`).
//! 4. A frame is marked dirty *before* the record that describes its change is appended, so a checkpoint that begins
//!    after the record sees the frame.
//! 5. Writers of pages take the write lock, and inside it they never wait for a latch: whoever holds a latch may be
//!    waiting for the write lock.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult};
use duramen_os::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::doublewrite::DoubleWrite;
use crate::files::DbStore;
use crate::format::PageBytes;
use crate::format::page::{PageMut, PageRef, seal};

const SHARDS: usize = 64;
const CHUNK: usize = 256;
/// Pages of one write batch.
const BATCH: usize = 64;

/// Hashes page keys without a random seed.
#[derive(Default, Clone, Copy)]
pub(crate) struct PageHasher(u64);

impl std::hash::Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, v: u64) {
        let h = (self.0 ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = h ^ (h >> 29);
    }
}

type Shard = HashMap<u64, u32, BuildHasherDefault<PageHasher>>;

fn key_of(db: DbId, page: PageId) -> u64 {
    u64::from(db.0) << 48 | u64::from(page.file) << 32 | u64::from(page.page)
}

fn shard_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS
}

#[derive(Debug, Default)]
pub(crate) struct FrameData {
    page: Option<Box<PageBytes>>,
    /// The page's bytes are there (a failed read leaves it false).
    valid: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// The page table key; 0 when free.
    key: AtomicU64,
    pins: AtomicU32,
    used: AtomicBool,
    dirty: AtomicBool,
    data: RwLock<FrameData>,
}

struct Pin<'a>(&'a Frame);

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.0.pins.fetch_sub(1, Ordering::Release);
    }
}

/// A page under a shared latch.
pub(crate) struct PageRead<'a> {
    guard: RwLockReadGuard<'a, FrameData>,
    _pin: Pin<'a>,
}

static ZERO_PAGE: PageBytes = [0; PAGE_BYTES];

impl PageRead<'_> {
    pub fn bytes(&self) -> &PageBytes {
        self.guard.page.as_deref().unwrap_or(&ZERO_PAGE)
    }
    pub fn page(&self) -> PageRef<'_> {
        PageRef::new(self.bytes())
    }
}

/// A page under an exclusive latch. Changes go through [`PageWrite::change`], which marks the frame dirty.
pub(crate) struct PageWrite<'a> {
    guard: RwLockWriteGuard<'a, FrameData>,
    pin: Pin<'a>,
}

impl PageWrite<'_> {
    pub fn bytes(&self) -> &PageBytes {
        self.guard.page.as_deref().unwrap_or(&ZERO_PAGE)
    }
    pub fn page(&self) -> PageRef<'_> {
        PageRef::new(self.bytes())
    }
    /// Must be called before the log record of a change is appended (invariant 4).
    pub fn mark_dirty(&self) {
        self.pin.0.dirty.store(true, Ordering::SeqCst);
    }
    /// The bytes to change; the frame is dirty from here on.
    pub fn change(&mut self) -> PageMut<'_> {
        self.mark_dirty();
        PageMut::new(
            self.guard
                .page
                .get_or_insert_with(|| Box::new([0; PAGE_BYTES])),
        )
    }
}

pub(crate) struct Pool {
    chunks: Vec<OnceLock<Box<[Frame]>>>,
    capacity: u32,
    next_unused: AtomicU32,
    free: Mutex<Vec<u32>>,
    hand: AtomicU32,
    shards: Vec<Mutex<Shard>>,
    stores: RwLock<BTreeMap<u16, Arc<DbStore>>>,
    write_lock: Mutex<()>,
    pub doublewrite: DoubleWrite,
}

/// What the pool has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    pub frames: u64,
    pub used: u64,
    pub dirty: u64,
}

impl Pool {
    pub fn new(memory: u64, doublewrite: DoubleWrite) -> Pool {
        let capacity = (memory / PAGE_BYTES as u64).clamp(64, 1 << 28) as u32;
        let chunks = (capacity as usize).div_ceil(CHUNK);
        Pool {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            capacity,
            next_unused: AtomicU32::new(0),
            free: Mutex::new(Vec::new()),
            hand: AtomicU32::new(0),
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            stores: RwLock::new(BTreeMap::new()),
            write_lock: Mutex::new(()),
            doublewrite,
        }
    }

    pub fn add_store(&self, store: &Arc<DbStore>) {
        self.stores.write().insert(store.id.0, store.clone());
    }

    /// Forgets a database: its frames become free without being written.
    pub fn drop_store(&self, db: DbId) {
        self.stores.write().remove(&db.0);
        self.drop_frames(|key| key >> 48 == u64::from(db.0));
    }

    /// Forgets a file in which nothing is left.
    pub fn drop_file(&self, db: DbId, file: u16) {
        let start = key_of(db, PageId::new(file, 0));
        self.drop_frames(|key| key >> 32 == start >> 32);
    }

    fn drop_frames(&self, wanted: impl Fn(u64) -> bool) {
        let _writers = self.write_lock.lock();
        for i in 0..self.made() {
            let f = self.frame(i);
            let key = f.key.load(Ordering::SeqCst);
            if key == 0 || !wanted(key) {
                continue;
            }
            let mut shard = self.shards[shard_of(key)].lock();
            if f.pins.load(Ordering::SeqCst) == 0 && shard.remove(&key).is_some() {
                f.key.store(0, Ordering::SeqCst);
                f.dirty.store(false, Ordering::SeqCst);
                self.free.lock().push(i);
            }
        }
    }

    pub fn stats(&self) -> PoolStats {
        let used = self.made();
        let mut s = PoolStats {
            frames: u64::from(self.capacity),
            ..PoolStats::default()
        };
        for i in 0..used {
            let f = self.frame(i);
            s.used += u64::from(f.key.load(Ordering::Relaxed) != 0);
            s.dirty += u64::from(f.dirty.load(Ordering::Relaxed));
        }
        s
    }

    fn made(&self) -> u32 {
        self.next_unused.load(Ordering::SeqCst).min(self.capacity)
    }

    fn frame(&self, i: u32) -> &Frame {
        let chunk = self.chunks[i as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Frame::default()).collect());
        &chunk[i as usize % CHUNK]
    }

    /// Finds the frame of a page and pins it.
    fn lookup(&self, key: u64) -> Option<&Frame> {
        let shard = self.shards[shard_of(key)].lock();
        let f = self.frame(*shard.get(&key)?);
        f.pins.fetch_add(1, Ordering::Acquire);
        if !f.used.load(Ordering::Relaxed) {
            f.used.store(true, Ordering::Relaxed);
        }
        Some(f)
    }

    pub fn read(&self, store: &DbStore, page: PageId) -> SqlResult<PageRead<'_>> {
        let key = key_of(store.id, page);
        loop {
            if let Some(frame) = self.lookup(key) {
                let pin = Pin(frame);
                let guard = frame.data.read();
                if guard.valid {
                    return Ok(PageRead { guard, _pin: pin });
                }
                drop(guard);
                drop(pin);
                duramen_os::thread::yield_now();
            }
            if let Some(loaded) = self.load(store, page, true)? {
                drop(loaded);
            }
        }
    }

    pub fn write(&self, store: &DbStore, page: PageId) -> SqlResult<PageWrite<'_>> {
        let key = key_of(store.id, page);
        loop {
            if let Some(frame) = self.lookup(key) {
                let pin = Pin(frame);
                let guard = frame.data.write();
                if guard.valid {
                    return Ok(PageWrite { guard, pin });
                }
                drop(guard);
                drop(pin);
                duramen_os::thread::yield_now();
            }
            if let Some(loaded) = self.load(store, page, true)? {
                return Ok(loaded);
            }
        }
    }

    /// A page that is about to be formatted: what the disk has there does not matter.
    pub fn write_new(&self, store: &DbStore, page: PageId) -> SqlResult<PageWrite<'_>> {
        let key = key_of(store.id, page);
        loop {
            if let Some(frame) = self.lookup(key) {
                let pin = Pin(frame);
                let mut guard = frame.data.write();
                if frame.key.load(Ordering::SeqCst) == key {
                    guard.valid = true;
                    guard.page.get_or_insert_with(|| Box::new([0; PAGE_BYTES]));
                    return Ok(PageWrite { guard, pin });
                }
            }
            if let Some(loaded) = self.load(store, page, false)? {
                return Ok(loaded);
            }
        }
    }

    /// Puts a page that is in no frame into one; `None` when somebody else did meanwhile.
    fn load(&self, store: &DbStore, page: PageId, read: bool) -> SqlResult<Option<PageWrite<'_>>> {
        let key = key_of(store.id, page);
        let index = self.free_frame()?;
        let frame = self.frame(index);
        let pin = Pin(frame);
        let mut guard = frame.data.write();
        {
            let mut shard = self.shards[shard_of(key)].lock();
            if shard.contains_key(&key) {
                drop(shard);
                drop(guard);
                drop(pin);
                self.free.lock().push(index);
                return Ok(None);
            }
            frame.key.store(key, Ordering::SeqCst);
            frame.dirty.store(false, Ordering::SeqCst);
            frame.used.store(true, Ordering::Relaxed);
            guard.valid = false;
            shard.insert(key, index);
        }
        let bytes = guard.page.get_or_insert_with(|| Box::new([0; PAGE_BYTES]));
        let result = if read {
            store.read_page(page, bytes)
        } else {
            bytes.fill(0);
            Ok(())
        };
        match result {
            Ok(()) => {
                guard.valid = true;
                Ok(Some(PageWrite { guard, pin }))
            }
            Err(e) => {
                // Whoever waits for the latch finds the frame not valid and looks again.
                self.shards[shard_of(key)].lock().remove(&key);
                frame.key.store(0, Ordering::SeqCst);
                drop(guard);
                drop(pin);
                self.free_when_unpinned(index);
                Err(e)
            }
        }
    }

    fn free_when_unpinned(&self, index: u32) {
        let frame = self.frame(index);
        while frame.pins.load(Ordering::SeqCst) != 0 {
            duramen_os::thread::yield_now();
        }
        self.free.lock().push(index);
    }

    /// A frame that nobody else knows, with one pin.
    fn free_frame(&self) -> SqlResult<u32> {
        let taken = self.free.lock().pop();
        if let Some(i) = taken {
            self.frame(i).pins.fetch_add(1, Ordering::SeqCst);
            return Ok(i);
        }
        if self.next_unused.load(Ordering::SeqCst) < self.capacity {
            let i = self.next_unused.fetch_add(1, Ordering::SeqCst);
            if i < self.capacity {
                self.frame(i).pins.fetch_add(1, Ordering::SeqCst);
                return Ok(i);
            }
        }
        loop {
            let mut dirty = Vec::new();
            for _ in 0..2 * self.capacity {
                let i = self.hand.fetch_add(1, Ordering::Relaxed) % self.capacity;
                let f = self.frame(i);
                if f.pins.load(Ordering::SeqCst) != 0 || f.used.swap(false, Ordering::Relaxed) {
                    continue;
                }
                if f.dirty.load(Ordering::SeqCst) {
                    dirty.push(i);
                    if dirty.len() >= BATCH {
                        break;
                    }
                    continue;
                }
                if self.take_clean(i) {
                    return Ok(i);
                }
            }
            if dirty.is_empty() {
                duramen_os::thread::yield_now();
            } else {
                self.write_out(&dirty)?;
            }
            let taken = self.free.lock().pop();
            if let Some(i) = taken {
                self.frame(i).pins.fetch_add(1, Ordering::SeqCst);
                return Ok(i);
            }
        }
    }

    /// Takes a clean frame without pins out of the page table.
    fn take_clean(&self, i: u32) -> bool {
        let f = self.frame(i);
        let key = f.key.load(Ordering::SeqCst);
        if key == 0 {
            return false;
        }
        let mut shard = self.shards[shard_of(key)].lock();
        if shard.get(&key) != Some(&i)
            || f.pins.load(Ordering::SeqCst) != 0
            || f.dirty.load(Ordering::SeqCst)
        {
            return false;
        }
        shard.remove(&key);
        f.key.store(0, Ordering::SeqCst);
        f.pins.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Writes dirty frames down: log first, then the double-write file, then in place. Frames whose latch is taken
    /// stay dirty and are given back in the second part; the first is the number of pages written.
    pub fn write_out(&self, frames: &[u32]) -> SqlResult<(u32, Vec<u32>)> {
        let _writers = self.write_lock.lock();
        let mut skipped = Vec::new();
        let stores = self.stores.read().clone();
        let mut copies: Vec<(Arc<DbStore>, PageId, Box<PageBytes>)> = Vec::new();
        let mut pins = Vec::new();
        let mut flush_to: BTreeMap<u16, Lsn> = BTreeMap::new();
        for &i in frames {
            let f = self.frame(i);
            let key = f.key.load(Ordering::SeqCst);
            let Some(store) = stores.get(&((key >> 48) as u16)) else {
                continue;
            };
            {
                let shard = self.shards[shard_of(key)].lock();
                if shard.get(&key) != Some(&i) {
                    continue;
                }
                f.pins.fetch_add(1, Ordering::SeqCst);
            }
            let pin = Pin(f);
            let Some(guard) = f.data.try_read() else {
                skipped.push(i);
                continue;
            };
            if !guard.valid || !f.dirty.swap(false, Ordering::SeqCst) {
                continue;
            }
            let Some(bytes) = &guard.page else { continue };
            let mut copy = bytes.clone();
            drop(guard);
            let lsn = PageRef::new(&copy).lsn();
            let to = flush_to.entry(store.id.0).or_insert(Lsn::NULL);
            *to = (*to).max(lsn);
            seal(&mut copy);
            let page = PageId::new((key >> 32) as u16, key as u32);
            copies.push((store.clone(), page, copy));
            pins.push(pin);
        }
        let result = self.write_copies(&copies, &flush_to, &stores);
        if result.is_err() {
            for pin in &pins {
                pin.0.dirty.store(true, Ordering::SeqCst);
            }
        }
        result.map(|()| (copies.len() as u32, skipped))
    }

    fn write_copies(
        &self,
        copies: &[(Arc<DbStore>, PageId, Box<PageBytes>)],
        flush_to: &BTreeMap<u16, Lsn>,
        stores: &BTreeMap<u16, Arc<DbStore>>,
    ) -> SqlResult<()> {
        if copies.is_empty() {
            return Ok(());
        }
        for (db, lsn) in flush_to {
            if let Some(store) = stores.get(db)
                && !planted::on(Bug::PageBeforeLog)
            {
                store.flush_log(*lsn)?;
            }
        }
        for (store, page, bytes) in copies.iter().filter(|c| c.0.temporary) {
            store.expect_file(*page)?.write_page(page.page, bytes)?;
        }
        self.doublewrite.write_batch(copies)
    }

    /// Writes one page, if it is dirty. Must not be called with its latch held.
    pub fn flush_page(&self, db: DbId, page: PageId) -> SqlResult<()> {
        let key = key_of(db, page);
        loop {
            let found = self.shards[shard_of(key)].lock().get(&key).copied();
            let Some(i) = found else { return Ok(()) };
            if self.write_out(&[i])?.1.is_empty() {
                return Ok(());
            }
            duramen_os::thread::yield_now();
        }
    }

    /// The frames of a database that are dirty now.
    fn dirty_frames(&self, db: DbId) -> Vec<u32> {
        (0..self.made())
            .filter(|i| {
                let f = self.frame(*i);
                f.dirty.load(Ordering::SeqCst)
                    && f.key.load(Ordering::SeqCst) >> 48 == u64::from(db.0)
            })
            .collect()
    }

    pub fn dirty_count(&self, db: DbId) -> usize {
        self.dirty_frames(db).len()
    }

    /// Writes every page of `db` that is dirty now. Must not be called with a latch held.
    pub fn flush_database(&self, db: DbId) -> SqlResult<u32> {
        // A batch that is being written down right now has its frames marked clean: let it end.
        drop(self.write_lock.lock());
        let mut written = 0;
        let mut left = self.dirty_frames(db);
        // In page order: neighbours go to the disk together.
        left.sort_unstable_by_key(|i| self.frame(*i).key.load(Ordering::SeqCst));
        while !left.is_empty() {
            let mut again = Vec::new();
            for batch in left.chunks(BATCH) {
                let (n, skipped) = self.write_out(batch)?;
                written += n;
                again.extend(skipped);
            }
            left = again;
            if !left.is_empty() {
                duramen_os::thread::yield_now();
            }
        }
        Ok(written)
    }
}
