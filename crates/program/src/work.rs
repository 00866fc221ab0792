//! Pages that a session's requests have read and changed, and the time that they took, as the other sessions see them.
//!
//! The thread that runs a request counts in cells of its own (`observe::ThreadWork`); what it has done so far it leaves
//! here at every statement, and between batches of rows. The same of the time that requests have taken: of one that runs
//! who looks asks the system for what its thread has taken so far.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use duramen_base::SessionId;
use duramen_observe::{CpuMark, ThreadWork};
use duramen_os::time::{self, Instant};

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

/// Nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Of processors, those of helpers included.
    pub cpu: u64,
    pub elapsed: u64,
    /// Of that, what was not waited; of a request that runs, what it has computed.
    pub scheduled: u64,
}

impl Times {
    fn plus(self, more: Times) -> Times {
        Times {
            cpu: self.cpu + more.cpu,
            elapsed: self.elapsed + more.elapsed,
            scheduled: self.scheduled + more.scheduled,
        }
    }
}

/// The time of a session's requests.
#[derive(Debug, Default)]
struct Clocks {
    /// Of the request at hand: the system's number of its thread; 0: none runs.
    thread: AtomicU32,
    began: AtomicU64,
    /// What its thread had computed when it began, and what others had computed for it.
    cpu: AtomicU64,
    helped: AtomicU64,
    /// What helpers that have ended have computed for this request.
    helped_now: AtomicU64,
    /// Waits of the session's own thread before.
    switches: AtomicU64,
    /// Of earlier requests.
    earlier: [AtomicU64; 3],
}

impl Clocks {
    fn earlier(&self) -> Times {
        let [cpu, elapsed, scheduled] = &self.earlier;
        Times {
            cpu: cpu.load(Relaxed),
            elapsed: elapsed.load(Relaxed),
            scheduled: scheduled.load(Relaxed),
        }
    }

    fn add(&self, times: Times) {
        let sum = self.earlier().plus(times);
        let all = [sum.cpu, sum.elapsed, sum.scheduled];
        for (cell, n) in self.earlier.iter().zip(all) {
            cell.store(n, Relaxed);
        }
    }

    /// Of the request that runs now; `None`: none does, or it ended meanwhile.
    fn running(&self, session: SessionId) -> Option<Times> {
        let thread = self.thread.load(Relaxed);
        let (began, before) = (self.began.load(Relaxed), self.cpu.load(Relaxed));
        if thread == 0 {
            return None;
        }
        let own = time::cpu_of_thread(thread)?.as_nanos() as u64;
        let helpers = duramen_observe::helpers_cpu(session).as_nanos() as u64;
        let elapsed = (time::now() - Instant(began)).as_nanos() as u64;
        let same = self.thread.load(Relaxed) == thread && self.began.load(Relaxed) == began;
        let own = own.saturating_sub(before).min(elapsed);
        same.then(|| Times {
            cpu: own + helpers + self.helped_now.load(Relaxed),
            elapsed,
            scheduled: own,
        })
    }
}

/// Written by the session's own thread only.
#[derive(Debug, Default)]
pub struct SessionWork {
    clocks: Clocks,
    /// The thread's totals when the request began.
    began: Cells,
    request: Cells,
    earlier: Cells,
}

impl SessionWork {
    /// A request begins on the calling thread; its session's has waited so often before.
    pub fn begin(&self, switches: u64) -> CpuMark {
        let work = duramen_observe::thread_work();
        self.began.set(of(&work));
        self.request.set(Pages::default());
        let mark = CpuMark::request(time::now());
        let clocks = &self.clocks;
        clocks.began.store(mark.at().nanos(), Relaxed);
        clocks.cpu.store(mark.cpu(), Relaxed);
        clocks.helped.store(work.helped_cpu_nanos, Relaxed);
        clocks.helped_now.store(0, Relaxed);
        clocks.switches.store(switches, Relaxed);
        clocks.thread.store(own_number(), Relaxed);
        mark
    }

    /// The request is this far.
    #[inline]
    pub fn note(&self) {
        let work = duramen_observe::thread_work();
        self.request.set(of(&work).minus(self.began.get()));
        let helped = self.clocks.helped.load(Relaxed);
        if work.helped_cpu_nanos != helped {
            let now = work.helped_cpu_nanos - helped;
            self.clocks.helped_now.store(now, Relaxed);
        }
    }

    /// The request that began at this mark has ended.
    pub fn end(&self, mark: &CpuMark) {
        self.note();
        let spent = mark.spent(time::now());
        self.clocks.thread.store(0, Relaxed);
        self.clocks.add(Times {
            cpu: spent.cpu + self.clocks.helped_now.load(Relaxed),
            elapsed: spent.elapsed,
            scheduled: spent.busy,
        });
        self.earlier
            .set(self.earlier.get().plus(self.request.get()));
        self.request.set(Pages::default());
    }

    /// The session has computed so much outside of requests.
    pub fn computed(&self, nanos: u64) {
        self.clocks.add(Times {
            cpu: nanos,
            elapsed: nanos,
            scheduled: nanos,
        });
    }

    /// The time of the request at hand, and of the session with it.
    pub fn times(&self, session: SessionId) -> (Times, Times) {
        let now = self.clocks.running(session).unwrap_or_default();
        (now, self.clocks.earlier().plus(now))
    }

    /// How often the session's own thread had waited when the request at hand began.
    pub fn switches_before(&self) -> u64 {
        self.clocks.switches.load(Relaxed)
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

thread_local! {
    static OWN_NUMBER: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// The system's number of the calling thread, asked for once.
fn own_number() -> u32 {
    match OWN_NUMBER.get() {
        0 => {
            let number = duramen_os::thread::system_id().max(1);
            OWN_NUMBER.set(number);
            number
        }
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_for_itself_and_then_for_the_session() {
        let work = SessionWork::default();
        duramen_observe::count_page_read(true);
        let mark = work.begin(0);
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
        work.end(&mark);
        assert_eq!((work.request(), work.session()), (Pages::default(), done));
        let mark = work.begin(0);
        duramen_observe::count_page_read(false);
        work.end(&mark);
        assert_eq!(work.session().logical_reads, 3);
    }
    #[test]
    fn time_is_a_requests_and_then_the_sessions() {
        let work = SessionWork::default();
        let session = SessionId(77);
        let mark = work.begin(0);
        let start = time::thread_cpu();
        while time::thread_cpu() - start < std::time::Duration::from_millis(20) {}
        duramen_os::thread::sleep(std::time::Duration::from_millis(5));
        let (now, all) = work.times(session);
        let ms = |n: u64| n / 1_000_000;
        assert!(
            (20..25).contains(&ms(now.cpu)) && ms(now.elapsed) >= 25,
            "{now:?}"
        );
        assert_eq!(all.cpu, now.cpu);
        work.end(&mark);
        let (none, all) = work.times(session);
        assert_eq!(none, Times::default());
        assert!(
            (20..26).contains(&ms(all.cpu)) && ms(all.scheduled) >= 25,
            "{all:?}"
        );
    }
}
