//! Workers: OS threads that run requests. Threads are made when a job finds nobody idle, up to a bound; beyond it
//! jobs wait in line (every connection has at most one, so the line is bounded by the connections). A worker that has had
//! nothing to do for a while ends, so that a burst leaves no threads behind.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use duramen_os::sync::{Condvar, Mutex};
use duramen_os::{thread, time};

/// How long a worker waits for a job before it ends.
const IDLE_LIMIT: Duration = Duration::from_secs(30);

type Job = Box<dyn FnOnce() + Send>;

struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    workers: usize,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    quiet: Condvar,
    max_workers: usize,
    idle_limit: Duration,
}

#[derive(Clone)]
pub struct Pool(Arc<Shared>);

impl Pool {
    pub fn new(max_workers: usize) -> Pool {
        Pool::with_idle_limit(max_workers, IDLE_LIMIT)
    }

    fn with_idle_limit(max_workers: usize, idle_limit: Duration) -> Pool {
        Pool(Arc::new(Shared {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                idle: 0,
                workers: 0,
                closed: false,
            }),
            work: Condvar::new(),
            quiet: Condvar::new(),
            max_workers: max_workers.max(1),
            idle_limit,
        }))
    }

    /// Runs `job` on a worker. After `close` it is dropped.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state.lock();
        if state.closed {
            return;
        }
        state.jobs.push_back(Box::new(job));
        if state.idle >= state.jobs.len() || state.workers >= self.0.max_workers {
            drop(state);
            self.0.work.notify_one();
            return;
        }
        state.workers += 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        if thread::try_spawn("worker", move || work(&shared)).is_err() {
            // No thread to be had: a running worker takes the job when it is done with its own.
            self.0.state.lock().workers -= 1;
            self.0.work.notify_one();
        }
    }

    /// Lets workers finish what is queued and end; waits for them, at most so long. True when all have ended.
    pub fn close(&self, limit: Duration) -> bool {
        let mut state = self.0.state.lock();
        state.closed = true;
        self.0.work.notify_all();
        let start = time::now();
        while state.workers > 0 {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                return false;
            };
            self.0.quiet.wait_for(&mut state, left);
        }
        true
    }
}

fn work(shared: &Shared) {
    let mut state = shared.state.lock();
    loop {
        if let Some(job) = state.jobs.pop_front() {
            drop(state);
            // A request that panics is a defect, but one connection's: its guard closes it, the worker goes on.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            state = shared.state.lock();
        } else if state.closed {
            state.workers -= 1;
            shared.quiet.notify_all();
            return;
        } else {
            let since = time::now();
            state.idle += 1;
            shared.work.wait_for(&mut state, shared.idle_limit);
            state.idle -= 1;
            if state.jobs.is_empty() && since.elapsed() >= shared.idle_limit {
                state.workers -= 1;
                shared.quiet.notify_all();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Jobs run, more at once than there are idle workers, and `close` waits for them.
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn runs_all_and_bounds_the_workers() {
        let pool = Pool::new(3);
        let (now, most, ran) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
        );
        for _ in 0..20 {
            let (now, most, ran) = (now.clone(), most.clone(), ran.clone());
            pool.run(move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(std::time::Duration::from_millis(2));
                now.fetch_sub(1, Ordering::SeqCst);
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        assert!(pool.close(Duration::from_secs(10)));
        assert_eq!(ran.load(Ordering::SeqCst), 20);
        assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
    }

    #[test]
    fn idle_workers_end_and_new_ones_come() {
        let pool = Pool::with_idle_limit(4, Duration::from_millis(5));
        let ran = Arc::new(AtomicUsize::new(0));
        for round in 1..=3 {
            for _ in 0..4 {
                let ran = ran.clone();
                pool.run(move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                });
            }
            let limit = time::now() + Duration::from_secs(20);
            while ran.load(Ordering::SeqCst) < 4 * round || pool.0.state.lock().workers > 0 {
                assert!(time::now() < limit, "round {round}");
                thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(pool.close(Duration::from_secs(1)));
    }
}
