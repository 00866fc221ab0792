//! Threads that help the calling one with a load: they wait in its session's name, hear when its work is given up, and what they have read counts as read by it.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::{ThreadWork, UnitReads, WaitType, wait};
use duramen_os::IoError;
use duramen_os::thread::{self, JoinHandle};

pub(super) fn internal() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
}

/// A thread that runs.
pub(super) struct Helper<T>(JoinHandle<(T, ThreadWork, Vec<UnitReads>)>);

/// Starts a helper of the calling thread; `number` counts from 1 within a statement's helpers at one time.
pub(super) fn start<T: Send + 'static>(
    name: &str,
    number: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Helper<T>, IoError> {
    let waits = duramen_observe::current_waits();
    let meters = duramen_observe::metering_reads();
    let flag = thread::given_up_flag();
    let started = thread::try_spawn(name, move || {
        let _listening = flag.map(thread::listen_to);
        let _attached = waits
            .as_ref()
            .map(|w| duramen_observe::attach(w, number as u32));
        let before = duramen_observe::thread_work();
        let cpu = duramen_os::time::thread_cpu();
        if meters {
            duramen_observe::meter_reads();
        }
        let made = work();
        let reads = match meters {
            true => duramen_observe::metered_reads(),
            false => Vec::new(),
        };
        let mut done = duramen_observe::thread_work().since(&before);
        let cpu = duramen_os::time::thread_cpu().saturating_sub(cpu);
        done.helped_cpu_nanos += cpu.as_nanos() as u64;
        (made, done, reads)
    })?;
    Ok(Helper(started))
}

impl<T> Helper<T> {
    /// Waits for its end. An error: it has panicked.
    pub fn join(self) -> SqlResult<T> {
        let _others = thread::others();
        let waiting = (!self.0.is_finished()).then(|| wait(WaitType::CXCONSUMER));
        let (made, work, reads) = self.0.join().map_err(|_| internal())?;
        drop(waiting);
        duramen_observe::add_thread_work(&work);
        if duramen_observe::metering_reads() {
            duramen_observe::add_metered_reads(&reads);
        }
        Ok(made)
    }
}

/// Calls `work` with 0 to `threads` - 1, each on a thread of its own, the first on the calling one; what they make, in order.
/// What has no thread because the system refuses one is done by the calling thread, too. `first`: the number of the first helper.
pub(super) fn on_all<T: Send + 'static>(
    name: &str,
    (first, threads): (usize, usize),
    work: impl Fn(usize) -> T + Send + Sync + 'static,
) -> SqlResult<Vec<T>> {
    let work = Arc::new(work);
    let mut helpers = Vec::with_capacity(threads);
    for n in 1..threads {
        let own = work.clone();
        helpers.push((n, start(name, first + n - 1, move || own(n))));
    }
    let mut made = Vec::with_capacity(threads);
    made.push(work(0));
    for (n, helper) in helpers {
        made.push(match helper {
            Ok(helper) => helper.join()?,
            Err(_) => work(n),
        });
    }
    Ok(made)
}
