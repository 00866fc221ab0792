//! Where the stacks of threads lie, and how much of them is memory: the kernel says which pages are there.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;

use crate::stack::OF_THREAD;

/// Addresses near the upper ends.
static ENDS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// A thread's stack is listed while it lives.
pub(super) struct Listed(usize);

impl Listed {
    pub fn new() -> Listed {
        let mark = 0_u8;
        let at = std::ptr::from_ref(&mark).addr();
        ENDS.lock().insert(at);
        Listed(at)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        ENDS.lock().remove(&self.0);
    }
}

/// Pages that are looked at together, from a stack's end on: what lies below a gap of so many was never used.
const TOGETHER: usize = 64;
/// An entry of the kernel's map of pages; its highest bit says that the page is there.
const ENTRY: usize = 8;

/// Bytes of all stacks that are memory; 0 where the kernel does not say.
pub(super) fn resident() -> u64 {
    let Ok(map) = std::fs::File::open("/proc/self/pagemap") else {
        return 0;
    };
    let page = rustix::param::page_size();
    let mut entries = [0; TOGETHER * ENTRY];
    let mut pages = 0;
    let ends = ENDS.lock().clone();
    for end in ends {
        let mut last = end / page + 1;
        for _ in 0..OF_THREAD / page / TOGETHER {
            let first = last.saturating_sub(TOGETHER);
            if map
                .read_exact_at(&mut entries, (first * ENTRY) as u64)
                .is_err()
            {
                break;
            }
            let present = |entry: &&[u8]| entry[ENTRY - 1] & 0x80 != 0;
            let found = entries.chunks_exact(ENTRY).filter(present).count();
            pages += found;
            last = first;
            if found == 0 {
                break;
            }
        }
    }
    (pages * page) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of its own: what is part of the thread's first one may lie above the mark.
    #[inline(never)]
    fn deep() -> u64 {
        let mut frame = [1_u8; 1 << 20];
        std::hint::black_box(&mut frame);
        let used = resident();
        std::hint::black_box(&mut frame);
        used
    }

    #[test]
    fn a_stack_that_is_used_is_counted() {
        let before = resident();
        let thread = crate::thread::spawn("deep", || std::hint::black_box(deep as fn() -> u64)());
        let used = thread.join().unwrap();
        assert!(
            used >= before.saturating_sub(1 << 19) + (1 << 20),
            "{before} {used}"
        );
    }
}
