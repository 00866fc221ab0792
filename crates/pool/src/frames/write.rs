//! The way down: dirty frames in batches, log first, then the double-write file, then in place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::page::{PageRef, Verify, seal, verify};
use duramen_observe::events::{self, EventId, PhysicalPageWrite, emit};
use duramen_observe::{Counter, count};
use duramen_os::{DiskFile, IoError, time};

use super::contents::seal_copy;
use super::{Pin, Pool, db_of, key_of, page_of, shard_of};
use crate::data_file::DataFile;
use crate::doublewrite::Batch;
use crate::error::io_error;
use crate::store::DbStore;

/// Pages of one write batch.
pub(super) const BATCH: usize = LARGE_BATCH;

/// Pages of a batch when nobody waits for a disk: one megabyte, which most disks take at their full speed.
pub const LARGE_BATCH: usize = 128;

/// How fast the pages of a database go down.
pub trait Pace {
    /// Pages of the next batch.
    fn batch(&self) -> usize;
    /// A batch of `n` pages took `took`, `left` are left: pauses. The error says that nobody waits for the rest.
    fn after(&mut self, took: std::time::Duration, n: usize, left: usize) -> SqlResult<()>;
}

/// On whose account pages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Somebody needs the frame now.
    Eviction,
    /// The lazy writer.
    Lazy,
    Checkpoint,
    /// Pages that have been dirty for too long, ahead of an indirect checkpoint.
    Background,
}

/// The memory of a batch: pages that are synced, and those of tempdb.
#[derive(Default)]
pub(super) struct Room {
    lasting: Batch,
    temporary: Batch,
}

impl Room {
    fn clear(&mut self) {
        self.lasting.clear();
        self.temporary.clear();
    }
}

/// What came of a batch.
#[derive(Debug, Default)]
pub struct Written {
    pub written: u32,
    /// Frames whose latch was taken: still dirty.
    pub skipped: Vec<u32>,
}

/// Frames on their way down.
#[derive(Default)]
struct Taken<'p> {
    pins: Vec<Pin<'p>>,
    /// By database: how far its log must be durable first.
    flush_to: BTreeMap<u16, (Arc<DbStore>, Lsn)>,
    /// Their latch was taken.
    busy: Vec<u32>,
    /// Their log is not durable and short of room.
    ahead: Vec<u32>,
}

impl Pool {
    /// Writes dirty frames down, at most [`BATCH`] of them; sorts them on the way, so that neighbours go together.
    /// Frames that are clean, or have another page meanwhile, are left out.
    pub fn write_out(&self, frames: &mut [u32], why: Why) -> SqlResult<Written> {
        debug_assert!(
            frames.iter().collect::<BTreeSet<_>>().len() == frames.len(),
            "doublewrite/1: a frame is to be written down twice, and may change between"
        );
        self.in_page_order(frames);
        let mut room = self.write_lock.lock();
        let result = self.write_with(&mut room, frames, why);
        room.clear();
        result
    }

    fn write_with(&self, room: &mut Room, frames: &[u32], why: Why) -> SqlResult<Written> {
        let mut result = Written::default();
        let mut taken = Taken::default();
        self.take(room, frames, true, &mut taken);
        if taken.pins.is_empty() {
            // There is nothing else: then the log is flushed for these.
            let ahead = std::mem::take(&mut taken.ahead);
            self.take(room, &ahead, false, &mut taken);
        }
        let Taken {
            pins,
            flush_to,
            busy,
            ahead,
        } = taken;
        result.skipped = busy;
        result.skipped.extend(ahead);
        let written = self.write_batches(room, flush_to.into_values());
        if let Err(e) = written {
            // While they are pinned: a frame that looks clean could be given to another page.
            for pin in &pins {
                self.dirtied(pin.0);
            }
            return Err(e);
        }
        debug_assert!(
            pins.iter().all(|pin| pin.0.pins.load(Ordering::SeqCst) > 0),
            "pool/2: a frame being written down is pinned by its writer"
        );
        debug_assert!(
            pins.len() + result.skipped.len() <= frames.len(),
            "pool/5: more frames are written than were asked for"
        );
        result.written = pins.len() as u32;
        count(Counter::PageWrites, u64::from(result.written));
        if events::is_wanted(EventId::PhysicalPageWrite) {
            for pin in &pins {
                let key = pin.0.key.load(Ordering::SeqCst);
                emit(|| PhysicalPageWrite::of(DbId(db_of(key)), page_of(key)));
            }
        }
        let account = match why {
            Why::Eviction => None,
            Why::Lazy => Some(Counter::LazyWrites),
            Why::Checkpoint => Some(Counter::CheckpointPages),
            Why::Background => Some(Counter::BackgroundWriterPages),
        };
        if let Some(counter) = account {
            count(counter, u64::from(result.written));
        }
        Ok(result)
    }

    /// Copies those of the frames that are dirty, and marks them clean. `spares`: pages that would need a flush of a log that
    /// is short of room are left for later.
    fn take<'p>(&'p self, room: &mut Room, frames: &[u32], spares: bool, taken: &mut Taken<'p>) {
        for &i in frames {
            let f = self.frame(i);
            let key = f.key.load(Ordering::SeqCst);
            let Some(store) = self.stores.read().get(&db_of(key)).cloned() else {
                continue;
            };
            // From here on the frame keeps its page: pins only grow under the shard's lock.
            let pin = {
                let shard = self.shards[shard_of(key)].lock();
                if shard.frames.get(&key) != Some(&i) {
                    continue;
                }
                Pin::new(f)
            };
            // Never waited for: who has it may be waiting for the write lock (pool/5).
            let Some(guard) = f.data.try_read() else {
                taken.busy.push(i);
                continue;
            };
            let Some(bytes) = guard.page.as_deref().filter(|_| guard.valid) else {
                continue;
            };
            if !f.dirty.load(Ordering::SeqCst) {
                continue;
            }
            if spares && store.spares_flush(PageRef::new(bytes).lsn()) {
                taken.ahead.push(i);
                continue;
            }
            f.assert_sound(PageRef::new(bytes), key);
            debug_assert!(
                f.pins.load(Ordering::SeqCst) > 0,
                "pool/2: a frame that is written down is not pinned"
            );
            debug_assert!(
                f.key.load(Ordering::SeqCst) == key,
                "pool/1: a frame was given to another page under its latch"
            );
            // Under the latch, with the copy: who changes the page behind it makes the frame dirty again.
            self.cleaned(f);
            let batch = match store.temporary || store.standby {
                true => &mut room.temporary,
                false => &mut room.lasting,
            };
            let copy = batch.push(&store, page_of(key), bytes);
            // The copy is sealed, not the page: nobody has to wait for that.
            drop(guard);
            let lsn = PageRef::new(copy).lsn();
            seal(copy);
            debug_assert!(
                verify(copy) == Verify::Ok,
                "format/1: a page is sealed with a checksum that is not its own"
            );
            debug_assert!(
                PageRef::new(copy).lsn() == lsn,
                "pool/3: sealing changes the page's LSN"
            );
            let to = taken
                .flush_to
                .entry(store.id.0)
                .or_insert_with(|| (store, Lsn::NULL));
            to.1 = to.1.max(lsn);
            taken.pins.push(pin);
        }
    }

    fn write_batches(
        &self,
        room: &mut Room,
        flush_to: impl Iterator<Item = (Arc<DbStore>, Lsn)>,
    ) -> SqlResult<()> {
        // Every log before any page: a page in the double-write file may come back, too.
        for (store, lsn) in flush_to {
            if !planted::on(Bug::PageBeforeLog) {
                store.flush_log(lsn)?;
            }
            debug_assert!(
                store.is_logged(lsn),
                "pool/3: a page goes down before its log: {lsn}"
            );
        }
        self.doublewrite.place(&room.temporary)?;
        self.doublewrite.write_batch(&mut room.lasting)
    }

    /// Reads pages as they stand on the disk, none of them half written: writers wait, other readers do not. What the file
    /// does not have yet reads as zeros.
    pub fn read_quietly(&self, file: &DataFile, first: u32, into: &mut [u8]) -> SqlResult<()> {
        let _rest = self.doublewrite.at_rest();
        let id = PageId::new(file.id, first);
        let name = file.path.display().to_string();
        let fail = |e| io_error(&e, "read", id, &name);
        let at = u64::from(first) * PAGE_BYTES as u64;
        let there = file.handle.len().map_err(fail)?.saturating_sub(at);
        let n = usize::try_from(there).unwrap_or(into.len()).min(into.len());
        into[n..].fill(0);
        let transfer = file.begin_read(first, n);
        file.handle.read_at(&mut into[..n], at).map_err(fail)?;
        if let Some(transfer) = transfer {
            transfer.has_read(&into[..n]);
        }
        Ok(())
    }

    /// A page as it is now, sealed: from its frame, or from the disk where it is in none. No frame is taken for it, and
    /// what was never written is zeros.
    pub fn copy_now(
        &self,
        store: &DbStore,
        file: &DataFile,
        page: u32,
        into: &mut PageBytes,
    ) -> Result<(), IoError> {
        let key = key_of(store.id, PageId::new(file.id, page));
        let pin = {
            let shard = self.shards[shard_of(key)].lock();
            shard.frames.get(&key).map(|i| Pin::new(self.frame(*i)))
        };
        if let Some(pin) = pin {
            let guard = match pin.0.data.try_read() {
                Some(guard) => guard,
                None => Self::wait_latch(pin.0, key, false, || pin.0.data.read()).0,
            };
            if let Some(bytes) = guard.page.as_deref().filter(|_| guard.valid) {
                into.copy_from_slice(bytes);
                seal_copy(into);
                return Ok(());
            }
        }
        let _rest = self.doublewrite.at_rest();
        file.handle
            .read_at(into, u64::from(page) * PAGE_BYTES as u64)
    }

    /// Does something while no page is on its way down.
    pub fn at_rest<T>(&self, what: impl FnOnce() -> T) -> T {
        let _writers = self.write_lock.lock();
        what()
    }

    /// Writes one page, if it is dirty. Must not be called with its latch held.
    pub fn flush_page(&self, db: DbId, page: PageId) -> SqlResult<()> {
        let key = key_of(db, page);
        loop {
            let found = self.shards[shard_of(key)].lock().frames.get(&key).copied();
            let Some(i) = found else { return Ok(()) };
            let result = self.write_out(&mut [i], Why::Checkpoint)?;
            if result.skipped.is_empty() {
                return Ok(());
            }
            duramen_os::thread::yield_now();
        }
    }

    /// Writes those of these pages that are dirty. Must not be called with a latch held.
    pub fn write_pages(&self, db: DbId, pages: &[PageId]) -> SqlResult<()> {
        // A batch that is being written down right now has its frames marked clean: let it end.
        drop(self.write_lock.lock());
        let frame = |page: &PageId| {
            let key = key_of(db, *page);
            self.shards[shard_of(key)].lock().frames.get(&key).copied()
        };
        let mut left: Vec<u32> = pages.iter().filter_map(frame).collect();
        left.sort_unstable();
        left.dedup();
        while !left.is_empty() {
            let mut again = Vec::new();
            for batch in left.chunks_mut(BATCH) {
                again.extend(self.write_out(batch, Why::Eviction)?.skipped);
            }
            left = again;
            if !left.is_empty() {
                duramen_os::thread::yield_now();
            }
        }
        Ok(())
    }

    /// The frames of a database that are dirty now.
    fn dirty_frames(&self, db: DbId) -> Vec<u32> {
        (0..self.made())
            .filter(|i| {
                let f = self.frame(*i);
                f.dirty.load(Ordering::SeqCst) && db_of(f.key.load(Ordering::SeqCst)) == db.0
            })
            .collect()
    }

    /// Neighbours go to the disk together. Frames change their pages meanwhile, and an order in which two elements change
    /// places is a panic of the sort: each is asked once.
    fn in_page_order(&self, frames: &mut [u32]) {
        frames.sort_by_cached_key(|i| self.frame(*i).key.load(Ordering::SeqCst));
    }

    /// Writes every page of `db` that is dirty now, in batches of which `pace` says how large they are; after each it may
    /// sleep. Must not be called with a latch held.
    pub fn flush_database(&self, db: DbId, why: Why, pace: &mut dyn Pace) -> SqlResult<u32> {
        // A batch that is being written down has its frames marked clean, and makes them dirty again if it fails. So they
        // are listed while nobody writes: a checkpoint that misses one lets go of the log that would repeat it.
        let mut left = {
            let _nobody_writes = self.write_lock.lock();
            self.dirty_frames(db)
        };
        let mut written = 0;
        self.in_page_order(&mut left);
        while !left.is_empty() {
            let mut again = Vec::new();
            let mut to_go = &mut left[..];
            while !to_go.is_empty() {
                let n = pace.batch().min(to_go.len());
                let (batch, rest) = to_go.split_at_mut(n);
                let started = time::now();
                let result = self.write_out(batch, why)?;
                written += result.written;
                again.extend(result.skipped);
                pace.after(started.elapsed(), n, rest.len())?;
                to_go = rest;
            }
            left = again;
            if !left.is_empty() {
                duramen_os::thread::yield_now();
            }
        }
        Ok(written)
    }

    /// Writes about `n` pages of `db`, those first that have been dirty longest. Returns how many.
    pub fn write_oldest(&self, db: DbId, n: usize) -> SqlResult<u32> {
        let now = self.replacer.tick();
        let age = |i: u32| {
            let since = self.frame(i).dirty_since.load(Ordering::Relaxed);
            (std::cmp::Reverse(now.wrapping_sub(since)), i)
        };
        let mut dirty: Vec<_> = self.dirty_frames(db).into_iter().map(age).collect();
        let n = n.min(dirty.len());
        if n == 0 {
            return Ok(0);
        }
        dirty.select_nth_unstable(n - 1);
        let mut dirty: Vec<u32> = dirty[..n].iter().map(|(_, i)| *i).collect();
        self.in_page_order(&mut dirty);
        let mut written = 0;
        for batch in dirty.chunks_mut(BATCH) {
            written += self.write_out(batch, Why::Background)?.written;
        }
        Ok(written)
    }
}
