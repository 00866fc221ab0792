//! Pages that a session's requests have read and changed, as the other sessions see them.
//!
//! The thread that runs a request counts in cells of its own (`observe::ThreadWork`); what it has done so far it leaves
//! here at every statement, and between batches of rows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use duramen_observe::ThreadWork;

/// Pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pages {
    /// From the disk.
    pub reads: u64,
    /// Made dirty.
    pub writes: u64,
    pub logical_reads: u64,
}

#[derive(Debug, Default)]
struct Cells([AtomicU64; 3]);

impl Cells {
    fn set(&self, pages: Pages) {
        let all = [pages.reads, pages.writes, pages.logical_reads];
        for (cell, n) in self.0.iter().zip(all) {
            cell.store(n, Relaxed);
        }
    }

    fn get(&self) -> Pages {
        let [reads, writes, logical_reads] = &self.0;
        Pages {
            reads: reads.load(Relaxed),
            writes: writes.load(Relaxed),
            logical_reads: logical_reads.load(Relaxed),
        }
    }
}

fn of(work: &ThreadWork) -> Pages {
    Pages {
        reads: work.physical_reads,
        writes: work.logical_writes,
        logical_reads: work.logical_reads,
    }
}

impl Pages {
    fn plus(self, more: Pages) -> Pages {
        Pages {
            reads: self.reads.wrapping_add(more.reads),
            writes: self.writes.wrapping_add(more.writes),
            logical_reads: self.logical_reads.wrapping_add(more.logical_reads),
        }
    }

    fn minus(self, less: Pages) -> Pages {
        Pages {
            reads: self.reads.saturating_sub(less.reads),
            writes: self.writes.saturating_sub(less.writes),
            logical_reads: self.logical_reads.saturating_sub(less.logical_reads),
        }
    }
}

/// Written by the session's own thread only.
#[derive(Debug, Default)]
pub(crate) struct SessionWork {
    /// The thread's totals when the request began.
    began: Cells,
    request: Cells,
    earlier: Cells,
}

impl SessionWork {
    /// A request begins on the calling thread.
    pub fn begin(&self) {
        self.began.set(of(&duramen_observe::thread_work()));
        self.request.set(Pages::default());
    }

    /// The request is this far.
    #[inline]
    pub fn note(&self) {
        let now = of(&duramen_observe::thread_work());
        self.request.set(now.minus(self.began.get()));
    }

    /// The request has ended.
    pub fn end(&self) {
        self.note();
        self.earlier
            .set(self.earlier.get().plus(self.request.get()));
        self.request.set(Pages::default());
    }

    /// Of the request at hand.
    pub fn request(&self) -> Pages {
        self.request.get()
    }

    /// Of the session.
    pub fn session(&self) -> Pages {
        self.earlier.get().plus(self.request.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_for_itself_and_then_for_the_session() {
        let work = SessionWork::default();
        duramen_observe::count_page_read(true);
        work.begin();
        duramen_observe::count_page_read(true);
        duramen_observe::count_page_read(false);
        duramen_observe::count_page_dirtied();
        assert_eq!(work.request(), Pages::default());
        work.note();
        let done = Pages {
            reads: 1,
            writes: 1,
            logical_reads: 2,
        };
        assert_eq!((work.request(), work.session()), (done, done));
        work.end();
        assert_eq!((work.request(), work.session()), (Pages::default(), done));
        work.begin();
        duramen_observe::count_page_read(false);
        work.end();
        assert_eq!(work.session().logical_reads, 3);
    }
}
