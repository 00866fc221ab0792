//! What the process has allocated: counted as it happens, by thread and altogether, and given back to the system on demand.
//!
//! The program that wants it counted says `#[global_allocator] static HEAP: Counted = Counted;`. The C library's allocator does
//! the work; each call adds to a number of its thread, which tells all others of it in steps. So whoever does something whose
//! memory nobody can foresee, such as compiling a batch, finds out what it has taken by two looks at one number
//! ([`of_thread`]), and the broker learns what nobody has told it.
//!
//! Invariants
//! 1. Counting allocates nothing, takes no lock and cannot fail.
//!    [test: blocks_are_counted_as_the_allocator_lays_them_out]
//! 2. Bytes are those of the blocks as the C library lays them out (its header and rounding), not those that were asked for.
//!    [test: blocks_are_counted_as_the_allocator_lays_them_out]
//! 3. A thread of [`crate::thread`] tells its rest when it ends. Memory that another thread frees is that one's to subtract:
//!    the number of a thread is exact only for what it both allocates and frees. [test: a_thread_that_ends_tells_its_rest]

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// Bytes that a thread keeps to itself.
const STEP: i64 = 64 << 10;

static ALL: AtomicI64 = AtomicI64::new(0);
static COUNTED: AtomicBool = AtomicBool::new(false);
/// The process has more than it may have, and nothing that it could give back.
static PRESSED: AtomicBool = AtomicBool::new(false);

/// What a thread may have taken since [`mark`] when [`is_pressed_here`] asks.
const LITTLE: i64 = 8 << 20;

thread_local! {
    /// Allocated less freed by this thread since it told of it last.
    static REST: Cell<i64> = const { Cell::new(0) };
    /// What it has told of.
    static REPORTED: Cell<i64> = const { Cell::new(0) };
    /// [`of_thread`] when the thread began with what it does.
    static MARK: Cell<i64> = const { Cell::new(0) };
}

/// The C library's allocator, counted.
#[derive(Debug)]
pub struct Counted;

/// What a block takes: the C library puts eight bytes before it and rounds to sixteen. It gives no less than 32, which those of up
/// to eight bytes are not worth a comparison for.
#[inline(always)]
fn block(bytes: usize) -> i64 {
    (bytes.wrapping_add(23) & !15) as i64
}

#[inline(always)]
fn change(by: i64) {
    // A thread that is ending may have no numbers any more: what it frees then is little.
    let _ = REST.try_with(|rest| {
        let now = rest.get().wrapping_add(by);
        rest.set(now);
        if now.wrapping_add(STEP) as u64 > 2 * STEP as u64 {
            report(rest);
        }
    });
}

#[cold]
#[inline(never)]
fn report(rest: &Cell<i64>) {
    let more = rest.replace(0);
    let _ = REPORTED.try_with(|reported| reported.set(reported.get().wrapping_add(more)));
    ALL.fetch_add(more, Relaxed);
    COUNTED.store(true, Relaxed);
}

// SAFETY: every call goes to `System` with the arguments it came with, and its result comes back unchanged; counting
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counted {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(block(layout.size()));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        change(block(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        change(-block(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        change(block(size).wrapping_sub(block(layout.size())));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Bytes that the calling thread has allocated and not freed, as far as both were its own doing: only the difference of two
/// looks means something. Always 0 in a program that does not count.
#[inline]
pub fn of_thread() -> i64 {
    REST.try_with(Cell::get).unwrap_or(0) + REPORTED.try_with(Cell::get).unwrap_or(0)
}

/// Bytes allocated by all threads; `None` in a program that does not count, and in simulations.
pub fn allocated() -> Option<u64> {
    if !COUNTED.load(Relaxed) || crate::sim::sched::here().is_some() {
        return None;
    }
    u64::try_from(ALL.load(Relaxed)).ok()
}

/// The calling thread begins with something: a request of a client.
pub fn mark() {
    let _ = MARK.try_with(|mark| mark.set(of_thread()));
}

/// Whether the process has more than it may have. Said by whoever answers for the memory of the whole process.
pub fn press(pressed: bool) {
    PRESSED.store(pressed, Relaxed);
}

/// Whether what the calling thread does should give up for want of memory: the process has too much, and much of it is what
/// this thread has taken since its [`mark`]. A relaxed load, while there is enough.
#[inline]
pub fn is_pressed_here() -> bool {
    PRESSED.load(Relaxed) && of_thread() - MARK.try_with(Cell::get).unwrap_or(0) > LITTLE
}

/// Tells the rest when the thread ends.
pub(crate) struct OfThread;

impl Drop for OfThread {
    fn drop(&mut self) {
        let _ = REST.try_with(report);
    }
}

/// Blocks of so many bytes are mapped one by one and go back to the system when they are freed. The C library would by itself
/// raise this to 32 MB, and keep what is below.
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = 2 << 20;

/// From now on large blocks do not stay with the allocator when they are freed.
pub fn give_large_blocks_back() {
    if crate::sim::sched::here().is_some() {
        return;
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers and changes a parameter of the allocator, under the allocator's lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
    }
}

/// Gives what the allocator keeps for a next time back to the system, page by page wherever it lies. Takes the locks of its
/// arenas one after the other.
pub fn trim() {
    if crate::sim::sched::here().is_some() {
        return;
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number and touches nothing but the allocator's own free memory, under the allocator's locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static HEAP: Counted = Counted;

    #[test]
    fn what_a_thread_takes_is_seen_and_given_back() {
        let before = of_thread();
        let taken = vec![1_u8; 3 << 20];
        assert!(of_thread() - before >= 3 << 20);
        assert!(allocated().is_some_and(|all| all > 2 << 20));
        drop(taken);
        assert!((of_thread() - before).abs() < 1 << 10);
        let grown = {
            let mut v: Vec<u8> = Vec::with_capacity(10);
            v.resize(1 << 20, 0);
            v
        };
        assert!(of_thread() - before >= 1 << 20);
        drop(grown);
        assert!((of_thread() - before).abs() < 1 << 10);
        trim();
    }

    #[test]
    fn blocks_are_counted_as_the_allocator_lays_them_out() {
        assert_eq!([16, 24, 25, 40, 41].map(block), [32, 32, 48, 48, 64]);
    }

    #[test]
    fn a_thread_that_ends_tells_its_rest() {
        // Other tests take and free meanwhile: a rest that is lost is lost every time, what they do is not there every time.
        let reported = || {
            let sum = || ALL.load(Relaxed);
            let before = sum();
            let kept: Vec<Vec<u8>> = (0..400)
                .map(|_| {
                    let thread = crate::thread::spawn("takes", || vec![0_u8; 30 << 10]);
                    thread.join().unwrap()
                })
                .collect();
            let reported = sum() - before;
            drop(kept);
            reported
        };
        assert!((0..10).any(|_| reported() > 10 << 20));
    }
}
