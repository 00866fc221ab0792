//! Processor time of what the calling thread does, without asking the system each time, which takes longer than a short
//! statement.
//!
//! Time in which the thread neither waited nor was between two requests counts as processor time for up to a millisecond
//! since the system was last asked; what took longer is what the system says. So a figure is wrong by a millisecond at most,
//! and only where the thread lost its processor meanwhile.

use std::cell::Cell;

use duramen_os::time::{self, Instant};

use crate::work::thread_work;

/// Nanoseconds for which the system is not asked again.
const BELIEVED: u64 = 1_000_000;

/// What is known of the thread, in nanoseconds.
#[derive(Clone, Copy)]
struct Known {
    at: u64,
    /// Its processor time then, and its waits.
    cpu: u64,
    waited: u64,
    /// When the system was asked.
    asked: u64,
}

thread_local! {
    static KNOWN: Cell<Known> = const { Cell::new(Known { at: 0, cpu: 0, waited: 0, asked: 0 }) };
}

fn ask(at: u64, waited: u64) -> Known {
    Known {
        at,
        cpu: time::thread_cpu().as_nanos() as u64,
        waited,
        asked: at,
    }
}

impl Known {
    /// What is known now; whether the thread has `worked` since the last time.
    #[inline]
    fn advance(at: u64, waited: u64, worked: bool) -> Known {
        let before = KNOWN.get();
        // A clock that has gone back is another world's (a simulation's): it begins like the first one.
        let unknown = before.asked == 0 || at < before.at;
        let now = match unknown || at.saturating_sub(before.asked) > BELIEVED {
            true => ask(at, waited),
            false => Known {
                at,
                cpu: before.cpu + u64::from(worked) * before.busy(at, waited),
                waited,
                asked: before.asked,
            },
        };
        KNOWN.set(now);
        now
    }

    /// Time since then in which the thread did not wait.
    #[inline]
    fn busy(&self, at: u64, waited: u64) -> u64 {
        at.saturating_sub(self.at)
            .saturating_sub(waited - self.waited)
    }
}

/// A moment in what the calling thread does.
#[derive(Clone, Copy, Debug)]
pub struct CpuMark {
    at: u64,
    cpu: u64,
    waited: u64,
}

/// What a thread has done since a [`CpuMark`], in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    pub cpu: u64,
    pub elapsed: u64,
    /// Of that, what it did not wait.
    pub busy: u64,
}

impl CpuMark {
    /// A request begins: what the thread has done since the last one is part of neither.
    #[inline]
    pub fn request(at: Instant) -> CpuMark {
        CpuMark::of(Known::advance(
            at.nanos(),
            thread_work().waited_nanos,
            false,
        ))
    }

    /// Something within a request begins.
    #[inline]
    pub fn within(at: Instant) -> CpuMark {
        CpuMark::of(Known::advance(at.nanos(), thread_work().waited_nanos, true))
    }

    fn of(known: Known) -> CpuMark {
        CpuMark {
            at: known.at,
            cpu: known.cpu,
            waited: known.waited,
        }
    }

    pub fn at(&self) -> Instant {
        Instant(self.at)
    }

    /// The thread's processor time at the mark.
    pub fn cpu(&self) -> u64 {
        self.cpu
    }

    /// What has happened `until` now.
    #[inline]
    pub fn spent(&self, until: Instant) -> Spent {
        let (at, waited) = (until.nanos(), thread_work().waited_nanos);
        let now = Known::advance(at, waited, true);
        let elapsed = at.saturating_sub(self.at);
        let busy = elapsed.saturating_sub(waited - self.waited);
        Spent {
            cpu: match busy > BELIEVED {
                true => busy.min(now.cpu.saturating_sub(self.cpu)),
                false => busy,
            },
            elapsed,
            busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn compute(at_least: Duration) {
        let start = time::thread_cpu();
        while time::thread_cpu() - start < at_least {}
    }

    #[test]
    fn computing_counts_and_sleeping_does_not() {
        duramen_os::thread::spawn("counts", || {
            compute(Duration::from_millis(30));
            let mark = CpuMark::request(time::now());
            compute(Duration::from_millis(20));
            // Not a wait that anybody counts: the system knows better.
            duramen_os::thread::sleep(Duration::from_millis(30));
            let spent = mark.spent(time::now());
            let ms = |n: u64| n / 1_000_000;
            assert!((20..30).contains(&ms(spent.cpu)), "{spent:?}");
            assert!(
                ms(spent.elapsed) >= 50 && spent.busy == spent.elapsed,
                "{spent:?}"
            );
            // What is between two requests is nobody's, and nothing takes more than it lasts.
            compute(Duration::from_millis(10));
            let mark = CpuMark::request(time::now());
            let inner = CpuMark::within(time::now());
            let spent = inner.spent(time::now());
            assert!(spent.cpu <= spent.elapsed, "{spent:?}");
            let spent = mark.spent(time::now());
            assert!(ms(spent.cpu) < 5, "{spent:?}");
        })
        .join()
        .unwrap();
    }
}
