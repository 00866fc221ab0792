//! Where frames come from: growth up to the limit, the free list, the clock; and the lazy writer, who sees to it that
//! others find a free frame at once.
//!
//! The clock forgets slowly and learns slowly. A page starts cold (heat 0) and warms by one for each *tick* in which it
//! is used; ticks are a second, or a quarter of a turn of the hand when that is shorter. So what a scan reads once, however
//! often within a moment, is the first to go, and a page that is used again and again survives up to four turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use duramen_base::{PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_observe::{Counter, WaitType, count, gauge, wait};
use duramen_os::memory::{Broker, Clerk};
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::time::{self, Instant};
use duramen_os::{machine, thread};

use super::write::BATCH;
use super::{Frame, Pool, PoolStats, Why};

/// What a frame costs: the page, the frame itself, its entry in the page table.
pub(super) const FRAME_COST: u64 = PAGE_BYTES as u64 + 128;
pub(super) const MOST_HEAT: u8 = 3;
/// Frames with memory that an idle pool keeps for the next pages.
const IDLE_FREE: usize = 64;
/// How often the lazy writer looks when nobody calls.
const LOOK: Duration = Duration::from_secs(1);
/// How often it asks the machine how it is.
const ASK_MACHINE: Duration = Duration::from_secs(5);
/// A thread that finds no frame for this long gives up: 802.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Free {
    /// Frames with memory.
    warm: Vec<u32>,
    /// Frames whose memory was given back.
    bare: Vec<u32>,
}

struct Watch {
    last_tick: Instant,
    last_ask: Instant,
    /// Evictions when the life expectancy was computed last.
    evicted: u64,
    life_seconds: f64,
    /// What the gauges show.
    shown: [i64; 3],
}

pub(super) struct Replacer {
    /// Who says how many frames may hold memory; what the machine can spare may be less.
    broker: Arc<Broker>,
    spare: AtomicU32,
    /// Frames that hold memory.
    committed: AtomicU32,
    next_unused: AtomicU32,
    free: Mutex<Free>,
    hand: AtomicU32,
    tick: AtomicU32,
    evictions: AtomicU64,
    call: Arc<Call>,
    ended: AtomicBool,
    watch: Mutex<Watch>,
}

/// Frames for which `bytes` suffice.
pub(super) fn frames_of(bytes: u64) -> u32 {
    (bytes / FRAME_COST).clamp(64, 1 << 30) as u32
}

/// The lazy writer is wanted. Apart from the pool, as the broker calls, too.
#[derive(Default)]
struct Call {
    called: Mutex<bool>,
    call: Condvar,
}

impl Call {
    fn call(&self) {
        let mut called = self.called.lock();
        if !*called {
            *called = true;
            self.call.notify_all();
        }
    }
}

enum Look {
    Taken,
    Dirty,
    No,
}

impl Replacer {
    pub fn new(broker: Arc<Broker>) -> Replacer {
        let call = Arc::new(Call::default());
        let on_pressure = call.clone();
        broker.set_on_pressure(Box::new(move || on_pressure.call()));
        let on_lag = call.clone();
        broker.set_on_lag(Box::new(move || {
            on_lag.call();
            let _waits = wait(WaitType::MEMORY_ALLOCATION_EXT);
            thread::sleep(Duration::from_millis(1));
        }));
        Replacer {
            broker,
            spare: AtomicU32::new(u32::MAX),
            committed: AtomicU32::new(0),
            next_unused: AtomicU32::new(0),
            free: Mutex::new(Free::default()),
            hand: AtomicU32::new(0),
            tick: AtomicU32::new(1),
            evictions: AtomicU64::new(0),
            call,
            ended: AtomicBool::new(false),
            watch: Mutex::new(Watch {
                last_tick: Instant::ZERO,
                last_ask: Instant::ZERO,
                evicted: 0,
                life_seconds: 0.0,
                shown: [0; 3],
            }),
        }
    }

    pub fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// A page was found: it warms, once a tick. Races lose a reference, no more.
    #[inline]
    pub fn touch(&self, frame: &Frame) {
        let now = self.tick();
        if frame.tick.load(Ordering::Relaxed) != now {
            frame.tick.store(now, Ordering::Relaxed);
            let heat = frame.heat.load(Ordering::Relaxed);
            if heat < MOST_HEAT {
                frame.heat.store(heat + 1, Ordering::Relaxed);
            }
        }
    }

    pub fn loaded(&self, frame: &Frame) {
        frame.heat.store(0, Ordering::Relaxed);
        frame.tick.store(self.tick(), Ordering::Relaxed);
    }

    pub fn allowed(&self) -> u32 {
        let room = frames_of(self.broker.pool_room());
        room.min(self.spare.load(Ordering::Relaxed)).max(64)
    }

    /// Reserves the right to one more frame with memory.
    fn commit(&self) -> bool {
        let allowed = self.allowed();
        let more = |n: u32| (n < allowed).then_some(n + 1);
        let order = Ordering::SeqCst;
        let committed = self.committed.fetch_update(order, order, more).is_ok();
        if committed {
            self.broker.take(Clerk::BufferPool, FRAME_COST);
        }
        committed
    }

    fn uncommit(&self) {
        self.committed.fetch_sub(1, Ordering::SeqCst);
        self.broker.give(Clerk::BufferPool, FRAME_COST);
    }

    fn pop_warm(&self) -> Option<u32> {
        self.free.lock().warm.pop()
    }
}

impl Pool {
    pub(super) fn made(&self) -> u32 {
        let made = self.replacer.next_unused.load(Ordering::SeqCst);
        made.min(self.capacity)
    }

    /// A frame that nobody else knows.
    pub(super) fn free_frame(&self) -> SqlResult<u32> {
        let r = &self.replacer;
        if let Some(i) = r.pop_warm() {
            return Ok(i);
        }
        if r.commit() {
            let bare = r.free.lock().bare.pop();
            if let Some(i) = bare.or_else(|| self.new_frame()) {
                return Ok(i);
            }
            r.uncommit();
        }
        count(Counter::FreeListStalls, 1);
        // For those who come next: this one does not wait for it.
        self.call_lazy_writer();
        self.steal()
    }

    fn new_frame(&self) -> Option<u32> {
        let next = |n: u32| (n < self.capacity).then_some(n + 1);
        let unused = &self.replacer.next_unused;
        unused
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, next)
            .ok()
    }

    /// Gives a frame that nobody knows back.
    pub(super) fn put_free(&self, i: u32) {
        self.replacer.free.lock().warm.push(i);
    }

    /// Turns the clock until a frame is found. Dirty ones on the way are written down.
    fn steal(&self) -> SqlResult<u32> {
        let mut since = None;
        loop {
            let mut dirty = Vec::new();
            let turns = u32::from(MOST_HEAT) + 1;
            for _ in 0..self.made().saturating_mul(turns) {
                let i = self.next_hand();
                match self.consider(i) {
                    Look::Taken => return Ok(i),
                    // The clock has been round: once is enough, and a page that changes between would be there twice.
                    Look::Dirty if dirty.contains(&i) => {}
                    Look::Dirty if dirty.len() < BATCH / 2 => dirty.push(i),
                    Look::Dirty => break,
                    Look::No => {}
                }
            }
            if !dirty.is_empty() && self.write_out(&mut dirty, Why::Eviction)?.written > 0 {
                since = None;
            } else if let Some(at) = since {
                let waited = time::now() - at;
                if waited > PATIENCE {
                    return Err(SqlError::new(&messages::BUFFER_POOL_FULL, &[]));
                }
                thread::sleep(Duration::from_millis(1).min(waited));
            } else {
                since = Some(time::now());
            }
            thread::yield_now();
            if let Some(i) = self.replacer.pop_warm() {
                return Ok(i);
            }
        }
    }

    /// Frees the frames of clean pages that nobody uses at the moment (DBCC DROPCLEANBUFFERS). How many.
    pub fn drop_clean(&self) -> u64 {
        let mut dropped = 0;
        for i in 0..self.made() {
            let f = self.frame(i);
            let key = f.key.load(Ordering::SeqCst);
            if key != 0 && !f.dirty.load(Ordering::SeqCst) && self.take_out(i, key, false) {
                self.put_free(i);
                dropped += 1;
            }
        }
        dropped
    }

    fn next_hand(&self) -> u32 {
        let r = &self.replacer;
        let made = self.made().max(1);
        let at = r.hand.fetch_add(1, Ordering::Relaxed);
        if at.is_multiple_of((made / 4).max(16)) {
            r.tick.fetch_add(1, Ordering::Relaxed);
        }
        at % made
    }

    fn consider(&self, i: u32) -> Look {
        let f = self.frame(i);
        let key = f.key.load(Ordering::SeqCst);
        if key == 0 || f.pins.load(Ordering::SeqCst) != 0 {
            return Look::No;
        }
        let heat = f.heat.load(Ordering::Relaxed);
        // Before it is asked whether the page is dirty: one that is used again and again is not worth a write.
        if heat > 0 {
            f.heat.store(heat - 1, Ordering::Relaxed);
            return Look::No;
        }
        if f.dirty.load(Ordering::SeqCst) {
            return Look::Dirty;
        }
        // All of this was seen without the shard's lock, and is asked again under it.
        if !self.take_out(i, key, false) {
            return Look::No;
        }
        self.replacer.evictions.fetch_add(1, Ordering::Relaxed);
        Look::Taken
    }

    /// Frames that may have memory now.
    pub fn frames_allowed(&self) -> usize {
        self.replacer.allowed() as usize
    }

    /// Wakes the lazy writer: the pool may hold more than its room.
    pub fn call_lazy_writer(&self) {
        self.replacer.call.call();
    }

    /// Sleeps until somebody calls for the lazy writer or `d` has passed; false when the pool has ended.
    pub fn wait_for_call(&self, d: Duration) -> bool {
        let r = &self.replacer;
        let mut called = r.call.called.lock();
        if !*called && !r.ended.load(Ordering::SeqCst) {
            r.call.call.wait_for(&mut called, d);
        }
        *called = false;
        !r.ended.load(Ordering::SeqCst)
    }

    /// The lazy writer's thread shall end.
    pub fn end(&self) {
        self.replacer.ended.store(true, Ordering::SeqCst);
        self.call_lazy_writer();
    }

    /// One turn of the lazy writer: gives back what is above the limit, and keeps some frames free when the pool cannot
    /// grow any more. Returns when it wants the next turn.
    pub fn lazy_step(&self, now: Instant) -> SqlResult<Duration> {
        let r = &self.replacer;
        self.watch(now);
        let committed = r.committed.load(Ordering::SeqCst);
        let allowed = r.allowed();
        let free = r.free.lock().warm.len();
        // First what is above the limit: that memory is wanted elsewhere.
        if committed > allowed {
            let mut found = (committed - allowed) as usize;
            // In parts, since what is allowed changes meanwhile.
            found = found.min(4 * BATCH);
            self.release(found);
            return Ok(Duration::ZERO);
        }
        let low = (allowed as usize / 64).clamp(8, 512);
        if committed == allowed && free < low {
            return self.fill(2 * low - free);
        }
        if committed < allowed && free > IDLE_FREE {
            self.release(free - IDLE_FREE);
        }
        Ok(LOOK)
    }

    /// Finds frames and frees them, writing dirty ones down.
    fn fill(&self, want: usize) -> SqlResult<Duration> {
        let mut dirty = Vec::new();
        let mut found = 0;
        let turns = u32::from(MOST_HEAT) + 1;
        for _ in 0..self.made().saturating_mul(turns) {
            if found >= want || dirty.len() >= BATCH {
                break;
            }
            let i = self.next_hand();
            match self.consider(i) {
                Look::Taken => {
                    self.put_free(i);
                    found += 1;
                }
                Look::Dirty => dirty.push(i),
                Look::No => {}
            }
        }
        if !dirty.is_empty() {
            dirty.sort_unstable();
            dirty.dedup();
            self.write_out(&mut dirty, Why::Lazy)?;
            for i in dirty {
                // Clean now; somebody may have found it useful meanwhile.
                if found < want && matches!(self.consider(i), Look::Taken) {
                    self.put_free(i);
                    found += 1;
                }
            }
        }
        // What could not be freed now may be free in a moment.
        Ok(match found {
            0 => Duration::from_millis(20),
            n if n < want => Duration::from_millis(1),
            _ => LOOK,
        })
    }

    /// Gives the memory of `n` frames back: free ones first, then what the clock finds.
    fn release(&self, n: usize) {
        for _ in 0..n {
            let free = self.replacer.pop_warm();
            let Some(i) = free.or_else(|| self.steal().ok()) else {
                return;
            };
            // The memory before the right to have it: the sum is never above what is allowed.
            self.frame(i).data.write().page = None;
            self.replacer.free.lock().bare.push(i);
            self.replacer.uncommit();
        }
    }

    /// Once a second: the tick, the life expectancy, what the machine can spare, the gauges.
    fn watch(&self, now: Instant) {
        let r = &self.replacer;
        let mut w = r.watch.lock();
        let passed = now - w.last_tick;
        if passed < LOOK && w.last_tick != Instant::ZERO {
            return;
        }
        r.tick.fetch_add(1, Ordering::Relaxed);
        let evicted = r.evictions.load(Ordering::Relaxed);
        w.life_seconds = life_seconds(
            w.life_seconds,
            passed.as_secs_f64(),
            evicted - w.evicted,
            r.committed.load(Ordering::Relaxed),
        );
        w.evicted = evicted;
        if now - w.last_ask >= ASK_MACHINE {
            w.last_ask = now;
            let committed = r.committed.load(Ordering::Relaxed);
            let spare = spare_frames(machine::available_bytes(), machine::memory_bytes());
            r.spare
                .store(committed.saturating_add_signed(spare), Ordering::Relaxed);
        }
        w.last_tick = now;
        drop(w);
        self.publish();
    }

    /// Brings the counters of the Buffer Manager up to date.
    pub fn publish(&self) {
        let lookups: u64 = self
            .shards
            .iter()
            .map(|s| std::mem::take(&mut s.lock().lookups))
            .sum();
        count(Counter::PageLookups, lookups);
        let pages: usize = self.shards.iter().map(|s| s.lock().frames.len()).sum();
        let mut w = self.replacer.watch.lock();
        let now = [
            pages as i64,
            i64::from(self.replacer.allowed()),
            w.life_seconds as i64,
        ];
        let gauges = [
            Counter::DatabasePages,
            Counter::TargetPages,
            Counter::PageLifeExpectancy,
        ];
        for ((counter, now), shown) in gauges.into_iter().zip(now).zip(w.shown) {
            gauge(counter, now - shown);
        }
        w.shown = now;
    }

    /// Pages that somebody uses at this moment: none, when nobody is at work.
    pub fn in_use(&self) -> usize {
        let chunks = self.chunks.iter().filter_map(|c| c.get());
        let frames = chunks.flat_map(|c| c.iter());
        let pinned = frames.filter(|f| f.pins.load(Ordering::Relaxed) > 0);
        pinned.count()
    }

    pub fn stats(&self) -> PoolStats {
        let r = &self.replacer;
        let used: usize = self.shards.iter().map(|s| s.lock().frames.len()).sum();
        let dirty = self.dirty.iter().map(|d| d.load(Ordering::Relaxed));
        PoolStats {
            frames: u64::from(r.allowed()),
            committed: u64::from(r.committed.load(Ordering::Relaxed)),
            used: used as u64,
            dirty: dirty.map(u64::from).sum(),
            free: r.free.lock().warm.len() as u64,
            life_expectancy: r.watch.lock().life_seconds as u64,
        }
    }
}

/// How long a page stays when nobody uses it: the pool divided by what leaves it in a second (*assumed*: SQL Server does
/// not say how it computes its figure). It never rises faster than time, as users know it.
fn life_seconds(before: f64, passed: f64, evicted: u64, frames: u32) -> f64 {
    let longest = before + passed;
    if evicted == 0 {
        return longest;
    }
    longest.min(f64::from(frames) * passed / evicted as f64)
}

/// Frames that may be added (or must go) so that a twentieth of the machine's memory stays available. A machine that does
/// not say what it has is not asked for anything.
fn spare_frames(available: u64, total: u64) -> i32 {
    if available == 0 {
        return 1 << 28;
    }
    let keep = (total / 20).min(1 << 30);
    let spare = (i128::from(available) - i128::from(keep)) / i128::from(FRAME_COST);
    spare.clamp(i128::from(-(1 << 28)), i128::from(1 << 28)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn life_expectancy_rises_with_time_and_falls_with_evictions() {
        assert_eq!(life_seconds(100.0, 1.0, 0, 1000), 101.0);
        assert_eq!(life_seconds(100.0, 1.0, 100, 1000), 10.0);
        assert_eq!(life_seconds(5.0, 1.0, 1, 1000), 6.0);
    }

    #[test]
    fn a_machine_in_need_gets_frames_back() {
        assert!(spare_frames(1 << 30, 4 << 30) > 0);
        assert!(spare_frames(1 << 20, 4 << 30) < 0);
    }
}
