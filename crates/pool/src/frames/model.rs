//! The pool's protocol of pins, latches and eviction under loom: `cargo xtask model`.
//!
//! Not the pool's code but its steps in its order, on loom's parts: a page table under a mutex, one frame with its key, pins
//! and dirty bit, its latch, and a disk that holds one number a page. `find`, `take_out`, `load`, `write_out`, `mark_dirty`
//! stand beside their namesakes of [`super`]. The pool's sequentially consistent accesses are weaker here (loom takes them for
//! acquire and release), so what holds here holds there. Each rule is left out in turn ([`Rule`]); loom must find what
//! goes wrong then.

// Loom's world: one real thread, which plays all others.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as RealArc;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering as Real};

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Mutex, RwLock};
use loom::thread;

const SEQ: Ordering = Ordering::SeqCst;

/// What keeps the pool right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// A frame being written down is pinned by its writer (invariant 2).
    WriterPins,
    /// Who finds a latch taken pins under the lock of the page table (invariant 1).
    WaiterPins,
    /// Eviction looks at the dirty bit under the latch.
    DirtyUnderLatch,
    /// The dirty bit is taken away under the latch under which the page is copied (invariant 4).
    CleanedUnderLatch,
}

#[derive(Default)]
struct Data {
    /// Which page these bytes are of, and what they say.
    page: u64,
    bytes: u64,
}

struct Pool {
    without: Option<Rule>,
    /// The page that the frame is filed under; 0 is none.
    table: Mutex<u64>,
    pins: AtomicU32,
    dirty: AtomicBool,
    data: RwLock<Data>,
    /// What the disk has of pages 1 and 2.
    disk: [AtomicU64; 2],
    turns: AtomicU32,
}

impl Pool {
    /// Page 1 is in the frame and on the disk.
    fn new(without: Option<Rule>) -> Arc<Pool> {
        Arc::new(Pool {
            without,
            table: Mutex::new(1),
            pins: AtomicU32::new(0),
            dirty: AtomicBool::new(false),
            data: RwLock::new(Data { page: 1, bytes: 10 }),
            disk: [AtomicU64::new(10), AtomicU64::new(20)],
            turns: AtomicU32::new(0),
        })
    }

    /// Loom does not order an attempt to latch against the end of a latch both ways; a word that all write makes it.
    fn interleave(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    fn keeps(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// Reads page 1; `None` when it is in no frame.
    fn read(&self) -> Option<u64> {
        let table = self.table.lock().unwrap();
        if *table != 1 {
            return None;
        }
        self.interleave();
        if let Ok(data) = self.data.try_read() {
            drop(table);
            assert_eq!(data.page, 1, "another page's bytes");
            return Some(data.bytes);
        }
        if self.keeps(Rule::WaiterPins) {
            self.pins.fetch_add(1, SEQ);
        }
        drop(table);
        self.interleave();
        let data = self.data.read().unwrap();
        assert_eq!(data.page, 1, "another page's bytes");
        let bytes = data.bytes;
        drop(data);
        if self.keeps(Rule::WaiterPins) {
            self.pins.fetch_sub(1, Ordering::Release);
        }
        Some(bytes)
    }

    /// Changes page 1 if its latch is free; whether it was.
    fn change(&self, bytes: u64) -> bool {
        let table = self.table.lock().unwrap();
        if *table != 1 {
            return false;
        }
        let Ok(mut data) = self.data.try_write() else {
            return false;
        };
        drop(table);
        self.dirty.store(true, SEQ);
        data.bytes = bytes;
        true
    }

    /// Latches page 1 for a change, and makes none.
    fn hold(&self) {
        let table = self.table.lock().unwrap();
        if *table == 1
            && let Ok(data) = self.data.try_write()
        {
            drop(table);
            self.interleave();
            drop(data);
        }
    }

    /// Writes page 1 down, if it is dirty and its latch is free.
    fn write_out(&self) {
        {
            let table = self.table.lock().unwrap();
            if *table != 1 {
                return;
            }
            if self.keeps(Rule::WriterPins) {
                self.pins.fetch_add(1, SEQ);
            }
        }
        let copy = match self.data.try_read() {
            Ok(data) if self.dirty.load(SEQ) => {
                if self.keeps(Rule::CleanedUnderLatch) {
                    self.dirty.swap(false, SEQ);
                }
                Some(data.bytes)
            }
            _ => None,
        };
        if let Some(bytes) = copy {
            if !self.keeps(Rule::CleanedUnderLatch) {
                self.dirty.swap(false, SEQ);
            }
            self.disk[0].store(bytes, SEQ);
        }
        if self.keeps(Rule::WriterPins) {
            self.pins.fetch_sub(1, Ordering::Release);
        }
    }

    /// Takes page 1 out of its frame, if nobody uses it and it is clean, and puts `page` there.
    fn evict(&self, page: u64) -> bool {
        let early = self.dirty.load(SEQ);
        {
            let mut table = self.table.lock().unwrap();
            if *table != 1 || self.pins.load(SEQ) != 0 {
                return false;
            }
            self.interleave();
            let latch = self.data.try_write();
            if latch.is_err() {
                return false;
            }
            let dirty = match self.keeps(Rule::DirtyUnderLatch) {
                true => self.dirty.load(SEQ),
                false => early,
            };
            if dirty {
                return false;
            }
            *table = 0;
        }
        // The frame is nobody's now: `load` of another page, or of the same again.
        let mut data = self.data.write().unwrap();
        let mut table = self.table.lock().unwrap();
        *table = page;
        drop(table);
        data.page = page;
        data.bytes = self.disk[page as usize - 1].load(SEQ);
        true
    }
}

/// Somebody latches a page, somebody reads it, the frame is given to another page: who reads gets the page asked for.
fn readers_and_eviction(without: Option<Rule>) {
    let pool = Pool::new(without);
    let holder = thread::spawn({
        let pool = pool.clone();
        move || pool.hold()
    });
    let reader = thread::spawn({
        let pool = pool.clone();
        move || pool.read()
    });
    pool.evict(2);
    holder.join().unwrap();
    let read = reader.join().unwrap();
    assert!(read.is_none_or(|b| b == 10), "{read:?}");
}

/// A page is changed while it is written down and evicted: the change is in the frame or on the disk, and who reads the page
/// into the frame again finds it.
fn changes_and_writers(without: Option<Rule>) {
    let pool = Pool::new(without);
    assert!(pool.change(11));
    let writer = thread::spawn({
        let pool = pool.clone();
        move || pool.write_out()
    });
    let changer = thread::spawn({
        let pool = pool.clone();
        move || pool.change(12)
    });
    pool.evict(1);
    writer.join().unwrap();
    let last = if changer.join().unwrap() { 12 } else { 11 };
    let data = pool.data.read().unwrap();
    assert_eq!(data.bytes, last, "the frame has lost a change");
    if !pool.dirty.load(SEQ) {
        assert_eq!(pool.disk[0].load(SEQ), last, "the disk has lost a change");
    }
}

fn check(model: fn(Option<Rule>), without: Option<Rule>) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    let ways = RealArc::new(RealU64::new(0));
    let counted = ways.clone();
    builder.check(move || {
        counted.fetch_add(1, Real::SeqCst);
        model(without);
    });
    ways.load(Real::SeqCst)
}

#[test]
fn pins_and_latches_keep_pages_where_they_are() {
    println!(
        "readers and eviction: {} ways",
        check(readers_and_eviction, None)
    );
    println!(
        "changes and writers: {} ways",
        check(changes_and_writers, None)
    );
}

#[test]
fn every_rule_is_needed() {
    let found = |model: fn(Option<Rule>), rule| {
        let tried = AssertUnwindSafe(|| check(model, Some(rule)));
        assert!(catch_unwind(tried).is_err(), "{rule:?} is not needed");
    };
    found(readers_and_eviction, Rule::WaiterPins);
    found(changes_and_writers, Rule::WriterPins);
    found(changes_and_writers, Rule::DirtyUnderLatch);
    found(changes_and_writers, Rule::CleanedUnderLatch);
}
