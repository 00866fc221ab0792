//! Threads: the system's, or a simulation's when the caller is part of one.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

pub use duramen_base::given_up::{
    Conduct, Listening, Others, Reporting, Undoing, given_up_flag, is_given_up, listen_to, others,
    report_undoing, undoing,
};

use crate::IoError;
use crate::sim::sched::{self, Here, Wait};

mod stacks;

thread_local! {
    static OWNER: Cell<u64> = const { Cell::new(0) };
}

/// Whose thread the calling one is: a number that the program gives to each of its instances, 0 for none. Threads that it
/// starts are the same one's.
pub fn owner() -> u64 {
    OWNER.try_with(Cell::get).unwrap_or(0)
}

/// While it lives, the thread is somebody's; dropping it restores what was before.
#[must_use = "the thread is given back when this is dropped"]
#[derive(Debug)]
pub struct Owned {
    before: u64,
}

/// The calling thread is `owner`'s from now on.
pub fn own(owner: u64) -> Owned {
    Owned {
        before: OWNER.replace(owner),
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // An error means that the thread is ending.
        let _ = OWNER.try_with(|o| o.set(self.before));
    }
}

/// A running thread. Dropping the handle lets it run on.
#[derive(Debug)]
pub struct JoinHandle<T> {
    real: std::thread::JoinHandle<T>,
    sim: Option<(Here, usize)>,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread; an error is the payload of its panic.
    pub fn join(self) -> std::thread::Result<T> {
        if let (Some((_, id)), Some(here)) = (&self.sim, sched::here()) {
            while !here.is_done(*id) {
                here.block(Wait::Task(*id), None);
            }
        }
        self.real.join()
    }

    pub fn is_finished(&self) -> bool {
        match (&self.sim, sched::here()) {
            (Some((_, id)), Some(here)) => here.is_done(*id),
            _ => self.real.is_finished(),
        }
    }
}

/// Starts a thread. The error is the system's refusal (limits, memory).
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, IoError> {
    let builder = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(crate::stack::OF_THREAD);
    let owner = owner();
    let f = move || {
        OWNER.set(owner);
        let _heap = crate::heap::OfThread;
        let _stack = stacks::Listed::new();
        f()
    };
    let spawned = match sched::here() {
        None => builder.spawn(f).map(|real| JoinHandle { real, sim: None }),
        Some(here) => {
            let child = here.register(name);
            let id = child.id();
            let spawned = builder.spawn(move || child.run(f));
            if spawned.is_err() {
                here.forget(id);
            } else {
                here.point();
            }
            spawned.map(|real| JoinHandle {
                real,
                sim: Some((here, id)),
            })
        }
    };
    spawned.map_err(|e| IoError::from_std(&e, "clone"))
}

/// Starts a thread; for the fixed threads of start-up, where a refusal leaves nothing to do.
///
/// # Panics
/// When the system refuses. Threads made on demand (workers) use [`try_spawn`].
pub fn spawn<T: Send + 'static>(
    name: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match try_spawn(name, f) {
        Ok(handle) => handle,
        Err(e) => panic!("cannot start thread {name}: {e}"),
    }
}

/// Blocks the thread for at least `d`.
pub fn sleep(d: Duration) {
    match sched::here() {
        Some(here) => here.sleep(d),
        None if sched::ending() => {}
        None => std::thread::sleep(d),
    }
}

/// Lets another thread run; every spinning loop calls it.
pub fn yield_now() {
    match sched::here() {
        Some(here) => here.yield_now(),
        None => std::thread::yield_now(),
    }
}

/// Between two steps of a lock-free algorithm: in a simulation another thread may run here, otherwise nothing happens.
#[inline]
pub fn interleave() {
    if let Some(here) = sched::here() {
        here.point();
    }
}

/// The system's number of the calling thread; in a simulation the thread's place in it.
pub fn system_id() -> u32 {
    match sched::here() {
        Some(here) => u32::try_from(here.id()).unwrap_or(u32::MAX),
        None => rustix::thread::gettid().as_raw_nonzero().get() as u32,
    }
}

/// The processor on which the calling thread runs at this moment; a simulation has one.
pub fn processor() -> u32 {
    match sched::here() {
        Some(_) => 0,
        None => u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0),
    }
}

/// The name given to [`spawn`], or nothing.
pub fn current_name() -> Option<Arc<str>> {
    std::thread::current().name().map(Arc::from)
}

/// Bytes of memory that the stacks of the threads of this room occupy; the first thread's is not among them.
pub fn stack_bytes() -> u64 {
    match sched::here() {
        Some(_) => 0,
        None => stacks::resident(),
    }
}

/// Processors this process may use.
pub fn available_parallelism() -> usize {
    if sched::here().is_some() {
        return 4;
    }
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
