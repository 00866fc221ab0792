//! What the calling thread has done since it began: pages and waits. Cells of its own, always counted, so cheap that nobody
//! asks whether somebody wants to know.

use std::cell::Cell;

/// Totals of a thread, or the difference of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadWork {
    pub waited_nanos: u64,
    /// Pages that the buffer pool was asked for, and those of them that came from the disk.
    pub logical_reads: u64,
    pub physical_reads: u64,
    /// Pages that became dirty.
    pub logical_writes: u64,
    /// Processor time of threads that have helped this one.
    pub helped_cpu_nanos: u64,
    /// Pages of 8 KB of rows that operators have put into files.
    pub spilled: u64,
}

/// What a statement was granted of the memory for rows, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Granted {
    /// With what it was lent beyond its grant.
    pub granted: u64,
    /// The most that its operators had of it.
    pub used: u64,
    /// What it was expected to want.
    pub ideal: u64,
}

thread_local! {
    static GRANTED: Cell<Granted> = const { Cell::new(Granted { granted: 0, used: 0, ideal: 0 }) };
    static WORK: Cell<ThreadWork> = const { Cell::new(ThreadWork {
        waited_nanos: 0,
        logical_reads: 0,
        physical_reads: 0,
        logical_writes: 0,
        helped_cpu_nanos: 0,
        spilled: 0,
    }) };
}

impl ThreadWork {
    /// What has been done since `earlier`.
    pub fn since(&self, earlier: &ThreadWork) -> ThreadWork {
        ThreadWork {
            waited_nanos: self.waited_nanos - earlier.waited_nanos,
            logical_reads: self.logical_reads - earlier.logical_reads,
            physical_reads: self.physical_reads - earlier.physical_reads,
            logical_writes: self.logical_writes - earlier.logical_writes,
            helped_cpu_nanos: self.helped_cpu_nanos - earlier.helped_cpu_nanos,
            spilled: self.spilled - earlier.spilled,
        }
    }
}

/// The thread's totals.
#[inline]
pub fn thread_work() -> ThreadWork {
    WORK.get()
}

#[inline]
fn change(f: impl FnOnce(&mut ThreadWork)) {
    let mut work = WORK.get();
    f(&mut work);
    WORK.set(work);
}

/// The pool has given this thread a page.
#[inline]
pub fn count_page_read(from_disk: bool) {
    change(|w| {
        w.logical_reads += 1;
        w.physical_reads += u64::from(from_disk);
    });
}

/// This thread has made a page dirty.
#[inline]
pub fn count_page_dirtied() {
    change(|w| w.logical_writes += 1);
}

/// An operator of this thread has put so many bytes of rows into a file.
pub fn count_spilled(bytes: u64) {
    change(|w| w.spilled += bytes.div_ceil(8192));
}

/// A statement of this thread has given back what it was granted.
pub fn note_grant(granted: Granted) {
    GRANTED.set(granted);
}

/// What the statement has been granted that has run since it was asked last.
#[inline]
pub fn take_grant() -> Granted {
    GRANTED.take()
}

pub(crate) fn waited(nanos: u64) {
    change(|w| w.waited_nanos += nanos);
}

/// Work that another thread has done for what this one does; what the other waited, it waited beside this one.
pub fn add_thread_work(work: &ThreadWork) {
    change(|w| {
        w.logical_reads += work.logical_reads;
        w.physical_reads += work.physical_reads;
        w.logical_writes += work.logical_writes;
        w.helped_cpu_nanos += work.helped_cpu_nanos;
        w.spilled += work.spilled;
    });
}
