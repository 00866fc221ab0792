//! Memory for the pages of a buffer pool: address space first, memory when a page is used, given back when it is not.
//!
//! An allocator keeps what it is given back for a next time; a server that promises a limit, and promises to leave the
//! machine its memory, must hand pages to the kernel itself. Pages are aligned, so direct I/O takes them without a copy.
//!
//! Invariants
//! 1. A page has one owner: its bit in `taken` is set by [`PageArena::take`] and cleared when the [`ArenaPage`] goes.
//!    [test: a_page_has_one_owner_and_begins_with_zeros]
//! 2. The mapping lives as long as any page of it: every page holds the arena. [test: memory_is_taken_by_use_and_given_back]
//! 3. A page that is taken reads as zeros: the kernel gives zeros at the first touch after the mapping or a release.
//!    [test: a_page_has_one_owner_and_begins_with_zeros]

#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use duramen_base::PAGE_BYTES;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::IoError;

/// Address space for a number of pages.
pub struct PageArena {
    base: NonNull<u8>,
    pages: usize,
    taken: Box<[AtomicU64]>,
    /// The kernel has been asked for the memory of all pages below.
    populated: AtomicUsize,
}

/// Pages whose memory is asked for together when pages are taken for the first time, one behind the other: a fault for
/// every 4 KB costs more than the memory itself.
const TOGETHER: usize = 8;

// SAFETY: the arena itself reads and writes no page; `taken` is atomic, `base` and `pages` never change.
unsafe impl Send for PageArena {}
// SAFETY: as above.
unsafe impl Sync for PageArena {}

impl PageArena {
    /// Reserves address space for `pages` pages; no memory yet. The error is the system's refusal.
    pub fn new(pages: usize) -> Result<Arc<PageArena>, IoError> {
        let pages = pages.max(1);
        let bytes = pages.checked_mul(PAGE_BYTES).ok_or(IoError::NoSpace)?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|e| IoError::from_errno(e, "mmap"))?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(IoError::NoSpace)?;
        Ok(Arc::new(PageArena {
            base,
            pages,
            populated: AtomicUsize::new(0),
            taken: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }))
    }

    /// The page with this number, zeroed; `None` when somebody has it, or there is none.
    pub fn take(self: &Arc<Self>, index: usize) -> Option<ArenaPage> {
        if index >= self.pages {
            return None;
        }
        let bit = 1u64 << (index % 64);
        if self.taken[index / 64].fetch_or(bit, Ordering::AcqRel) & bit != 0 {
            return None;
        }
        self.populate(index);
        // SAFETY: `index < pages`, so the offset lies within the mapping.
        let at = unsafe { self.base.add(index * PAGE_BYTES) };
        Some(ArenaPage {
            at: at.cast(),
            arena: Arc::clone(self),
        })
    }

    /// Asks for the memory of the next pages, where `index` is the first that nobody has asked for.
    fn populate(&self, index: usize) {
        let next = (index + TOGETHER).min(self.pages);
        let order = Ordering::AcqRel;
        if self
            .populated
            .compare_exchange(index, next, order, Ordering::Relaxed)
            .is_err()
        {
            return;
        }
        // SAFETY: the range lies within the mapping; to populate it changes no byte. A kernel that does not know how
        // gives the memory when it is touched.
        let _ = unsafe {
            let at = self.base.add(index * PAGE_BYTES);
            let bytes = (next - index) * PAGE_BYTES;
            madvise(at.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite)
        };
    }

    /// Pages that are taken now.
    pub fn taken(&self) -> usize {
        let count = |w: &AtomicU64| w.load(Ordering::Relaxed).count_ones() as usize;
        self.taken.iter().map(count).sum()
    }
}

impl Drop for PageArena {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`, and no page of it is left (each would hold the arena). A refusal
        // (there is no reason for one) leaves address space behind, nothing worse.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.pages * PAGE_BYTES) };
    }
}

impl fmt::Debug for PageArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageArena({} of {} pages)", self.taken(), self.pages)
    }
}

/// One page of an arena. Its memory goes back to the kernel when it is dropped.
pub struct ArenaPage {
    at: NonNull<[u8; PAGE_BYTES]>,
    arena: Arc<PageArena>,
}

// SAFETY: the page is owned by this value alone (invariant 1); bytes may move between threads.
unsafe impl Send for ArenaPage {}
// SAFETY: `&ArenaPage` gives only `&[u8]`.
unsafe impl Sync for ArenaPage {}

impl Deref for ArenaPage {
    type Target = [u8; PAGE_BYTES];
    #[inline]
    fn deref(&self) -> &Self::Target {
        // SAFETY: within a live mapping (invariant 2), aligned to the byte, always initialised (invariant 3), and only
        // `&mut self` gives a mutable reference.
        unsafe { self.at.as_ref() }
    }
}

impl DerefMut for ArenaPage {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as in `deref`; this value is the only owner of the page.
        unsafe { self.at.as_mut() }
    }
}

impl Drop for ArenaPage {
    fn drop(&mut self) {
        let index = (self.at.as_ptr().addr() - self.arena.base.as_ptr().addr()) / PAGE_BYTES;
        // SAFETY: the range is this page, which nobody can see any more. If the kernel refuses, the page is cleared
        // instead: whoever takes it next finds zeros all the same.
        if unsafe { madvise(self.at.as_ptr().cast(), PAGE_BYTES, Advice::LinuxDontNeed) }.is_err() {
            self.fill(0);
        }
        self.arena.taken[index / 64].fetch_and(!(1 << (index % 64)), Ordering::AcqRel);
    }
}

impl fmt::Debug for ArenaPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArenaPage")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_owner_and_begins_with_zeros() {
        let arena = PageArena::new(100).unwrap();
        let mut page = arena.take(99).unwrap();
        assert!(arena.take(99).is_none() && arena.take(100).is_none());
        page.fill(7);
        drop(page);
        assert_eq!(arena.taken(), 0);
        let page = arena.take(99).unwrap();
        assert!(page.iter().all(|b| *b == 0));
        drop(arena);
        assert_eq!(page[PAGE_BYTES - 1], 0, "the page keeps its mapping");
    }

    #[test]
    fn memory_is_taken_by_use_and_given_back() {
        let resident = || crate::machine::resident_bytes().unwrap_or(0) as i64;
        let arena = PageArena::new(1 << 20).unwrap();
        let before = resident();
        let mut pages: Vec<_> = (0..32_768).map(|i| arena.take(i).unwrap()).collect();
        pages.iter_mut().for_each(|p| p.fill(1));
        let used = resident() - before;
        drop(pages);
        let after = resident() - before;
        // 256 MB; other tests take and give back some 40 MB meanwhile.
        assert!(used > 160 << 20 && after < 96 << 20, "{used} then {after}");
    }
}
