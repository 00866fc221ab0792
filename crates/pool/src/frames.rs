//! The buffer pool: frames for the pages of every database.
//!
//! Invariants
//! 1. A page is in at most one frame; the page table (sharded) says which. Latches are first tried, and pins only grow,
//!    under the shard's lock. [assert: pool/1]
//! 2. A frame that somebody pins or latches is never given to another page. Who finds the latch taken pins and waits; who
//!    has the latch needs no pin. A frame being written down is pinned by its writer. [assert: pool/2]
//! 3. **The write-ahead rule**: no page goes to disk before its log is durable up to the page's LSN (`write`). [assert: pool/3]
//! 4. A frame is marked dirty *before* the record that describes its change is appended, so a checkpoint that begins
//!    after the record sees the frame. It is taken away under the latch, as the page is copied; a write that fails puts it
//!    back, and until then the frame is pinned. [assert: pool/4]
//! 5. Writers of pages take the write lock, and inside it they never wait for a latch: whoever holds a latch may be
//!    waiting for the write lock. [assert: pool/5]
//! 6. Frames with memory are never more than the memory broker leaves room for (but for a room that has just become
//!    smaller: `lazy_step`). [assert: pool/6]
//!
//! What a page costs. Found: shard lock, probe, latch, and the two let go: four locked instructions and two or three
//! cache misses when the page is cold in the processor's cache, some 40 ns when it is not. Not found: a frame from the
//! free list (a lock), one read of 8 KB straight into the frame (60 to 100 us on the disks met so far), the checksum
//! (1 us), two inserts and removals of the table. When no frame is free: a turn of the clock and maybe a batch of writes,
//! which the lazy writer is there to prevent.
//!
//! | part | |
//! |---|---|
//! | here | fix and unfix, the page table, latches |
//! | `page_at` | what a latched page is asked |
//! | `replace` | where frames come from: limit, free list, clock, lazy writer |
//! | `ahead` | neighbouring pages brought in by one read |
//! | `write` | the way down: batches, checkpoints |

mod ahead;
mod contents;
#[cfg(all(test, feature = "model"))]
mod model;
mod page_at;
mod replace;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
#[cfg(debug_assertions)]
use std::sync::atomic::AtomicU16;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::{DbId, PAGE_BYTES, PageId, SqlResult};
use duramen_observe::events::{PhysicalPageRead, emit};
use duramen_observe::{
    Counter, LatchClass, WaitType, count, count_page_dirtied, count_page_read, latch_wait,
    metering_reads, note_page_read, wait_on,
};
use duramen_os::memory::Broker;
use duramen_os::sync::{Mutex, Rank, RwLock, RwLockReadGuard, RwLockWriteGuard};
use duramen_os::time;
use duramen_os::{ArenaPage, PageArena};

use crate::doublewrite::DoubleWrite;
use crate::error::io_error;
use crate::store::DbStore;
pub use ahead::{RUN, ReadRoom};
use duramen_format::PageBytes;
use duramen_format::page::{PageMut, PageRef, page_type};
#[cfg(debug_assertions)]
use duramen_format::sound;
use replace::Replacer;
pub use write::{LARGE_BATCH, Pace, Why, Written};

const SHARDS: usize = 64;
const CHUNK: usize = 256;
/// Database numbers beyond this share a count of dirty pages.
const MAX_DATABASES: usize = 1 << 12;

/// Hashes page keys without a random seed.
#[derive(Default, Clone, Copy)]
pub struct PageHasher(u64);

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

#[derive(Default)]
struct Shard {
    frames: HashMap<u64, u32, BuildHasherDefault<PageHasher>>,
    /// Counted here, where a lock is held anyway; [`Pool::publish`] tells the world.
    lookups: u64,
}

fn key_of(db: DbId, page: PageId) -> u64 {
    u64::from(db.0) << 48 | u64::from(page.file) << 32 | u64::from(page.page)
}

fn page_of(key: u64) -> PageId {
    PageId::new((key >> 32) as u16, key as u32)
}

fn db_of(key: u64) -> u16 {
    (key >> 48) as u16
}

fn shard_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS
}

/// As `wait_resource` shows a page: `5:1:103`.
fn resource_of(key: u64) -> String {
    let page = page_of(key);
    format!("{}:{}:{}", db_of(key), page.file, page.page)
}

#[derive(Debug, Default)]
pub(crate) struct FrameData {
    page: Option<ArenaPage>,
    /// The page's bytes are there (a failed read leaves it false).
    valid: bool,
}

/// A cache line each: neighbours are used by different threads.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Frame {
    /// The page table key; 0 when free.
    key: AtomicU64,
    pins: AtomicU32,
    /// The tick of the last reference that counted.
    tick: AtomicU32,
    /// The tick in which it became dirty.
    dirty_since: AtomicU32,
    /// References in different ticks, 0 to [`replace::MOST_HEAT`].
    heat: AtomicU8,
    dirty: AtomicBool,
    /// Its page is being read: who finds the latch taken waits for the disk, not for another user of the page.
    loading: AtomicBool,
    /// The rules of [`sound`] that its page broke when it came from the disk.
    #[cfg(debug_assertions)]
    broken: AtomicU16,
    data: RwLock<FrameData>,
}

impl Frame {
    /// Asserts of a page that is on its way down what held when it came up.
    fn assert_sound(&self, _page: PageRef<'_>, _key: u64) {
        #[cfg(debug_assertions)]
        {
            let faults = sound::faults(_page) & !self.broken.load(Ordering::Relaxed);
            debug_assert!(
                faults == 0,
                "format/3: page {} has been spoilt here: {:?}",
                resource_of(_key),
                sound::broken_rules(faults)
            );
            let id = _page.page_id();
            debug_assert!(
                id.is_null() || id == page_of(_key),
                "pool/1: the frame of page {} has page {id}",
                resource_of(_key)
            );
        }
    }

    /// Notes what a page breaks that has just been read: nothing, where all pages are ours.
    fn has_read(&self, _page: PageRef<'_>) {
        #[cfg(debug_assertions)]
        {
            let faults = sound::faults(_page);
            debug_assert!(
                faults == 0 || !sound::must_be_own(),
                "format/3: page {} comes from the disk as nobody writes it: {:?}",
                _page.page_id(),
                sound::broken_rules(faults)
            );
            self.broken.store(faults, Ordering::Relaxed);
        }
    }

    /// A page is made here, whatever there was.
    fn is_new(&self) {
        #[cfg(debug_assertions)]
        self.broken.store(0, Ordering::Relaxed);
    }
}

impl Default for Frame {
    fn default() -> Frame {
        Frame {
            key: AtomicU64::default(),
            pins: AtomicU32::default(),
            tick: AtomicU32::default(),
            dirty_since: AtomicU32::default(),
            heat: AtomicU8::default(),
            dirty: AtomicBool::default(),
            loading: AtomicBool::default(),
            #[cfg(debug_assertions)]
            broken: AtomicU16::default(),
            data: RwLock::ranked(Rank::Page, FrameData::default()),
        }
    }
}

struct Pin<'a>(&'a Frame);

impl<'a> Pin<'a> {
    fn new(frame: &'a Frame) -> Pin<'a> {
        frame.pins.fetch_add(1, Ordering::SeqCst);
        Pin(frame)
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let before = self.0.pins.fetch_sub(1, Ordering::Release);
        debug_assert!(
            before > 0,
            "pool/2: a frame is let go of that nobody had pinned"
        );
    }
}

/// A page under a shared latch.
pub struct PageRead<'a> {
    guard: RwLockReadGuard<'a, FrameData>,
    /// That of the frame.
    key: u64,
}

pub use contents::BufferedPage;
pub use page_at::PageAt;

static ZERO_PAGE: PageBytes = [0; PAGE_BYTES];

impl PageRead<'_> {
    pub fn bytes(&self) -> &PageBytes {
        self.guard.page.as_deref().unwrap_or(&ZERO_PAGE)
    }
    #[inline]
    pub fn page(&self) -> PageAt<'_> {
        PageAt::new(PageRef::new(self.bytes()), self.key)
    }
}

/// A page under an exclusive latch. Changes go through [`PageWrite::change`], which marks the frame dirty.
pub struct PageWrite<'a> {
    guard: RwLockWriteGuard<'a, FrameData>,
    frame: &'a Frame,
    pool: &'a Pool,
    /// That of the frame.
    key: u64,
}

impl PageWrite<'_> {
    pub fn bytes(&self) -> &PageBytes {
        self.guard.page.as_deref().unwrap_or(&ZERO_PAGE)
    }
    #[inline]
    pub fn page(&self) -> PageAt<'_> {
        PageAt::new(PageRef::new(self.bytes()), self.key)
    }
    /// Must be called before the log record of a change is appended (invariant 4).
    pub fn mark_dirty(&self) {
        debug_assert!(
            self.guard.valid,
            "pool/2: a page is changed that is not there"
        );
        debug_assert!(
            self.frame.key.load(Ordering::SeqCst) != 0,
            "pool/2: a latched frame has no page"
        );
        if !self.frame.dirty.load(Ordering::SeqCst) {
            self.pool.dirtied(self.frame);
        }
    }
    /// The bytes to change; the frame is dirty from here on.
    pub fn change(&mut self) -> PageMut<'_> {
        self.mark_dirty();
        debug_assert!(
            self.frame.dirty.load(Ordering::SeqCst),
            "pool/4: a page is changed before its frame is dirty"
        );
        let page = self.guard.page.as_deref_mut();
        PageMut::new(page.expect("a latched frame has memory"))
    }
}

pub struct Pool {
    chunks: Vec<OnceLock<Box<[Frame]>>>,
    arena: Arc<PageArena>,
    /// Frames that there is address space for.
    capacity: u32,
    shards: Vec<Mutex<Shard>>,
    stores: RwLock<BTreeMap<u16, Arc<DbStore>>>,
    /// Dirty frames of each database.
    dirty: Box<[AtomicU32]>,
    /// Who writes pages holds it; inside is the memory that batches are put together in, which stays warm.
    write_lock: Mutex<write::Room>,
    pub doublewrite: DoubleWrite,
    replacer: Replacer,
}

/// What the pool has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Frames that the limit allows.
    pub frames: u64,
    /// Frames that hold memory.
    pub committed: u64,
    /// Frames that hold a page.
    pub used: u64,
    pub dirty: u64,
    /// Frames with memory that wait for a page.
    pub free: u64,
    /// Seconds that a page is expected to stay without being used.
    pub life_expectancy: u64,
}

enum Found<G, P> {
    Latched(G),
    Taken(P),
    Missing,
}

impl Pool {
    /// A pool in the room that `broker` leaves it; its limit may be raised to `most` bytes later.
    pub fn new(broker: &Arc<Broker>, most: u64, doublewrite: DoubleWrite) -> SqlResult<Pool> {
        let limit = replace::frames_of(broker.limit());
        let mut capacity = replace::frames_of(most).max(limit);
        // A machine that counts address space against its memory may refuse what is only held in reserve.
        let arena = loop {
            match PageArena::new(capacity as usize) {
                Ok(arena) => break arena,
                Err(_) if capacity > limit => capacity = (capacity / 2).max(limit),
                Err(e) => return Err(io_error(&e, "reserve", PageId::NULL, "the buffer pool")),
            }
        };
        Ok(Pool {
            chunks: (0..(capacity as usize).div_ceil(CHUNK))
                .map(|_| OnceLock::new())
                .collect(),
            arena,
            capacity,
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            stores: RwLock::new(BTreeMap::new()),
            dirty: (0..MAX_DATABASES).map(|_| AtomicU32::new(0)).collect(),
            write_lock: Mutex::ranked(Rank::PageWriter, write::Room::default()),
            doublewrite,
            replacer: Replacer::new(broker.clone()),
        })
    }

    pub fn add_store(&self, store: &Arc<DbStore>) {
        self.stores.write().insert(store.id.0, store.clone());
    }

    /// Forgets a database: its frames become free without being written. Nobody works in it any more; whoever still looks
    /// at one of its pages (background work) is waited for.
    pub fn drop_store(&self, db: DbId) {
        self.stores.write().remove(&db.0);
        self.drop_frames(|key| key >> 48 == u64::from(db.0));
    }

    /// Forgets a file in which nothing is left.
    pub fn drop_file(&self, db: DbId, file: u16) {
        let start = key_of(db, PageId::new(file, 0));
        self.drop_frames(|key| key >> 32 == start >> 32);
    }

    /// Forgets the pages of a file from `first` on, which it is about to lose: nobody has anything there.
    pub fn drop_pages_from(&self, db: DbId, first: PageId) {
        let start = key_of(db, first);
        self.drop_frames(|key| key >> 32 == start >> 32 && key >= start);
    }

    fn drop_frames(&self, wanted: impl Fn(u64) -> bool) {
        // A batch that is on its way down ends first. The lock is not kept: see invariant 5.
        drop(self.write_lock.lock());
        for i in 0..self.made() {
            let f = self.frame(i);
            let key = f.key.load(Ordering::SeqCst);
            while key != 0 && wanted(key) && f.key.load(Ordering::SeqCst) == key {
                if self.take_out(i, key, true) {
                    self.put_free(i);
                    break;
                }
                duramen_os::thread::yield_now();
            }
        }
    }

    fn frame(&self, i: u32) -> &Frame {
        let chunk = self.chunks[i as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Frame::default()).collect());
        &chunk[i as usize % CHUNK]
    }

    /// Looks a page up and tries its latch; a frame whose latch is taken is pinned.
    fn find<'a, G>(
        &'a self,
        key: u64,
        latch: impl FnOnce(&'a Frame) -> Option<G>,
    ) -> Found<(G, &'a Frame), Pin<'a>> {
        let mut shard = self.shards[shard_of(key)].lock();
        shard.lookups += 1;
        let Some(&i) = shard.frames.get(&key) else {
            return Found::Missing;
        };
        let frame = self.frame(i);
        self.replacer.touch(frame);
        match latch(frame) {
            Some(guard) => Found::Latched((guard, frame)),
            None => Found::Taken(Pin::new(frame)),
        }
    }

    /// Waits for a latch that is taken: PAGELATCH, or PAGEIOLATCH while its page is on its way from the disk. Whether it
    /// was that, and how long it took.
    fn wait_latch<G>(
        frame: &Frame,
        key: u64,
        exclusive: bool,
        latch: impl FnOnce() -> G,
    ) -> (G, Option<(bool, Duration)>) {
        let resource = resource_of(key);
        let began = time::now();
        if frame.loading.load(Ordering::Relaxed) {
            let _wait = wait_on(io_latch(exclusive), resource, None);
            return (latch(), Some((true, began.elapsed())));
        }
        let kind = match exclusive {
            true => WaitType::PAGELATCH_EX,
            false => WaitType::PAGELATCH_SH,
        };
        let _wait = latch_wait(LatchClass::BUFFER, kind, &resource);
        (latch(), Some((false, began.elapsed())))
    }

    pub fn read(&self, store: &DbStore, page: PageId) -> SqlResult<PageRead<'_>> {
        let key = key_of(store.id, page);
        let mut from_disk = false;
        loop {
            let (guard, waited) = match self.find(key, |f| f.data.try_read()) {
                Found::Latched((guard, _)) => (guard, None),
                Found::Taken(pin) => Self::wait_latch(pin.0, key, false, || pin.0.data.read()),
                Found::Missing => {
                    drop(self.load(store, page, Some(false))?);
                    from_disk = true;
                    continue;
                }
            };
            if guard.valid {
                let read = PageRead { guard, key };
                if let Some((io, waited)) = waited {
                    store.page_waits.add(*read.page(), io, waited);
                }
                count_page_read(from_disk);
                if metering_reads() {
                    note_read(store.id, *read.page(), from_disk);
                }
                return Ok(read);
            }
            // Its read has failed: it is being taken out.
            drop(guard);
            duramen_os::thread::yield_now();
        }
    }

    pub fn write(&self, store: &DbStore, page: PageId) -> SqlResult<PageWrite<'_>> {
        self.latch_for_change(store, page, true)
    }

    /// A page that is about to be formatted: what the disk has there does not matter.
    pub fn write_new(&self, store: &DbStore, page: PageId) -> SqlResult<PageWrite<'_>> {
        self.latch_for_change(store, page, false)
    }

    fn latch_for_change(
        &self,
        store: &DbStore,
        page: PageId,
        read: bool,
    ) -> SqlResult<PageWrite<'_>> {
        let key = key_of(store.id, page);
        loop {
            let (guard, frame, waited) = match self.find(key, |f| f.data.try_write()) {
                Found::Latched((guard, frame)) => (guard, frame, None),
                Found::Taken(pin) => {
                    let latch = || pin.0.data.write();
                    let (guard, waited) = Self::wait_latch(pin.0, key, true, latch);
                    (guard, pin.0, waited)
                }
                Found::Missing => match self.load(store, page, read.then_some(true))? {
                    Some(loaded) => {
                        if read {
                            count_page_read(true);
                        }
                        if read && metering_reads() {
                            note_read(store.id, *loaded.page(), true);
                        }
                        return Ok(loaded);
                    }
                    None => continue,
                },
            };
            if guard.valid {
                let write = PageWrite {
                    guard,
                    frame,
                    pool: self,
                    key,
                };
                if let Some((io, waited)) = waited {
                    store.page_waits.add(*write.page(), io, waited);
                }
                if read {
                    count_page_read(false);
                }
                if read && metering_reads() {
                    note_read(store.id, *write.page(), false);
                }
                return Ok(write);
            }
            drop(guard);
            duramen_os::thread::yield_now();
        }
    }

    /// Puts a page that is in no frame into one; `None` when somebody else did meanwhile. `read` says whether what the
    /// disk has is wanted, and whether to change it.
    fn load(
        &self,
        store: &DbStore,
        page: PageId,
        read: Option<bool>,
    ) -> SqlResult<Option<PageWrite<'_>>> {
        let key = key_of(store.id, page);
        let Some((index, mut guard)) = self.claim(key, read.is_some())? else {
            return Ok(None);
        };
        let frame = self.frame(index);
        let bytes = guard.page.as_deref_mut();
        let bytes = bytes.expect("a frame's memory is nobody else's");
        let began = read.map(|_| time::now());
        let result = match read {
            Some(exclusive) => {
                let _wait = wait_on(io_latch(exclusive), resource_of(key), None);
                count(Counter::PageReads, 1);
                store.read_page(page, bytes)
            }
            None => {
                bytes.fill(0);
                Ok(())
            }
        };
        frame.loading.store(false, Ordering::Relaxed);
        match result {
            Ok(()) => {
                if let Some(began) = began {
                    emit(|| PhysicalPageRead::of(store.id, page));
                    let read = PageRef::new(guard.page.as_deref().unwrap_or(&ZERO_PAGE));
                    store.page_waits.add(read, true, began.elapsed());
                    frame.has_read(read);
                } else {
                    frame.is_new();
                }
                debug_assert!(
                    frame.key.load(Ordering::SeqCst) == key,
                    "pool/1: a frame is given to another page while its page is read"
                );
                debug_assert!(
                    !guard.valid,
                    "pool/1: a page is read into a frame that has one"
                );
                guard.valid = true;
                Ok(Some(PageWrite {
                    guard,
                    frame,
                    pool: self,
                    key,
                }))
            }
            Err(e) => {
                self.unload(index, key, guard);
                Err(e)
            }
        }
    }

    /// A frame for a page that is in none: latched, in the page table, without the page's bytes. `None` when somebody else
    /// was faster.
    fn claim(
        &self,
        key: u64,
        loading: bool,
    ) -> SqlResult<Option<(u32, RwLockWriteGuard<'_, FrameData>)>> {
        let index = self.free_frame()?;
        let frame = self.frame(index);
        // Nobody else knows this frame.
        let mut guard = frame.data.write();
        if guard.page.is_none() {
            guard.page = self.arena.take(index as usize);
        }
        let mut shard = self.shards[shard_of(key)].lock();
        // Several may have missed the page at once: the first to come here has it.
        if shard.frames.contains_key(&key) {
            drop(shard);
            drop(guard);
            self.put_free(index);
            return Ok(None);
        }
        debug_assert!(
            frame.key.load(Ordering::SeqCst) == 0,
            "pool/1: a frame that is given out has a page"
        );
        debug_assert!(
            !frame.dirty.load(Ordering::SeqCst),
            "pool/4: a frame that is given out has changes"
        );
        debug_assert!(
            guard.page.is_some(),
            "pool/6: a frame that is given out has no memory"
        );
        frame.key.store(key, Ordering::SeqCst);
        frame.loading.store(loading, Ordering::Relaxed);
        self.replacer.loaded(frame);
        guard.valid = false;
        let other = shard.frames.insert(key, index);
        debug_assert!(other.is_none(), "pool/1: a page is in two frames");
        drop(shard);
        Ok(Some((index, guard)))
    }

    /// Frees a frame whose page could not be read. Whoever waits for the latch finds the frame not valid and looks again.
    fn unload(&self, index: u32, key: u64, guard: RwLockWriteGuard<'_, FrameData>) {
        let frame = self.frame(index);
        let taken = self.shards[shard_of(key)].lock().frames.remove(&key);
        debug_assert!(taken == Some(index), "pool/1: a page was in another frame");
        debug_assert!(
            !frame.dirty.load(Ordering::SeqCst),
            "pool/4: a page that was never there has changes"
        );
        frame.key.store(0, Ordering::SeqCst);
        drop(guard);
        // They wait for the latch of a page that is gone: only without them the frame may get another.
        while frame.pins.load(Ordering::SeqCst) != 0 {
            duramen_os::thread::yield_now();
        }
        self.put_free(index);
    }

    /// Takes a frame without users out of the page table, if it still has that page; a dirty one only when `dirty` says
    /// that its changes do not matter any more.
    fn take_out(&self, i: u32, key: u64, dirty: bool) -> bool {
        let f = self.frame(i);
        let mut shard = self.shards[shard_of(key)].lock();
        // Nobody comes to the frame while the shard is locked: who has no pin or latch now gets none.
        if shard.frames.get(&key) != Some(&i) || f.pins.load(Ordering::SeqCst) != 0 {
            return false;
        }
        let Some(_latch) = f.data.try_write() else {
            return false;
        };
        if f.dirty.load(Ordering::SeqCst) {
            if !dirty {
                return false;
            }
            self.cleaned(f);
        }
        debug_assert!(
            f.key.load(Ordering::SeqCst) == key,
            "pool/1: the page table and the frame disagree"
        );
        debug_assert!(
            f.pins.load(Ordering::SeqCst) == 0,
            "pool/2: a frame is taken from whoever has pinned it"
        );
        debug_assert!(
            !f.dirty.load(Ordering::SeqCst),
            "pool/4: a frame is taken with changes that nobody has written"
        );
        shard.frames.remove(&key);
        f.key.store(0, Ordering::SeqCst);
        true
    }

    fn dirtied(&self, frame: &Frame) {
        let tick = self.replacer.tick();
        if !frame.dirty.swap(true, Ordering::SeqCst) {
            count_page_dirtied();
            let db = db_of(frame.key.load(Ordering::SeqCst));
            frame.dirty_since.store(tick, Ordering::Relaxed);
            self.dirty[usize::from(db) % MAX_DATABASES].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn cleaned(&self, frame: &Frame) {
        if frame.dirty.swap(false, Ordering::SeqCst) {
            let db = db_of(frame.key.load(Ordering::SeqCst));
            let before =
                self.dirty[usize::from(db) % MAX_DATABASES].fetch_sub(1, Ordering::Relaxed);
            debug_assert!(before > 0, "pool/4: more frames get clean than were dirty");
        }
    }

    /// Dirty frames of a database.
    pub fn dirty_count(&self, db: DbId) -> u32 {
        self.dirty[usize::from(db.0) % MAX_DATABASES].load(Ordering::Relaxed)
    }
}

/// For SET STATISTICS IO, which counts no allocation pages.
#[cold]
fn note_read(db: DbId, page: PageRef<'_>, from_disk: bool) {
    if page.page_type() == page_type::IAM {
        return;
    }
    let lob = matches!(page.page_type(), page_type::TEXT_MIX | page_type::TEXT_TREE);
    note_page_read(db, page.alloc_unit(), lob, from_disk);
}

fn io_latch(exclusive: bool) -> WaitType {
    match exclusive {
        true => WaitType::PAGEIOLATCH_EX,
        false => WaitType::PAGEIOLATCH_SH,
    }
}
