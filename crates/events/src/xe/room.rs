//! NO_EVENT_LOSS: whoever fires an event that finds the buffers full waits until there is room.
//!
//! The wait cannot be where the event happens: a page may be latched there, a log or the lock manager locked, and the
//! dispatcher needs a log to be hardened before it writes a file. So the event is kept beyond the memory ([`owe`]), and its
//! thread waits where its statement or request is over ([`Xe::settle`]).
//!
//! Why nobody waits for ever
//! 1. The dispatcher needs: the list of sessions, the session's targets and buffer, the list of open databases for reading,
//!    every database's log until it is flushed, the files of targets. It takes no lock of a transaction and no latch of a page.
//! 2. Between two statements of a program, and at the end of a request, a thread holds none of those. Its transaction's locks
//!    it may hold, and when the program is a trigger's or a function's, what the statement around it reads: nobody at 1 asks
//!    for them.
//! 3. A waiting thread waits at most [`PATIENCE`] for the dispatcher and then feeds the targets itself, as whoever reads them
//!    does: a dispatcher that is late, or that could not be started, delays it, and no more.
//! 4. Events that come without a bound between two such places cannot be in such a session (25643, `EventId::cannot_wait`), so
//!    what is kept beyond the memory is a few events of each thread. Threads that work for no session never wait; what they
//!    fire (checkpoints, growths of files) is rare.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_observe::WaitType;
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::time;

use super::Xe;
use super::running::Running;

/// How long a thread waits for the dispatcher.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether an event of this thread was kept although there was no room.
    static OWES: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread has fired an event that found no room.
pub(super) fn owe() {
    // An error means that the thread is ending.
    let _ = OWES.try_with(|o| o.set(true));
}

/// Where threads wait until a session's buffers have room.
#[derive(Default)]
pub(super) struct Room {
    waiters: Mutex<()>,
    here: Condvar,
    /// Nanoseconds that threads have waited.
    blocked: AtomicU64,
}

impl Room {
    /// The buffers were emptied.
    pub fn came(&self) {
        drop(self.waiters.lock());
        self.here.notify_all();
    }

    pub fn blocked(&self) -> Duration {
        Duration::from_nanos(self.blocked.load(Relaxed))
    }
}

impl Xe {
    /// Waits for room, if this thread has fired events that found none. Called where statements and requests end.
    #[inline]
    pub fn settle(&self) {
        if OWES.get() {
            self.wait_for_room();
        }
    }

    #[cold]
    fn wait_for_room(&self) {
        OWES.set(false);
        for running in self.running().iter().filter(|r| r.is_over()) {
            let began = time::now();
            {
                let _wait = duramen_observe::wait(WaitType::XE_BUFFERMGR_FREEBUF_EVENT);
                self.ask_for_room();
                if !await_room(running) {
                    self.feed(running);
                }
            }
            let nanos = began.elapsed().as_nanos() as u64;
            running.room.blocked.fetch_add(nanos, Relaxed);
        }
    }
}

/// Whether there was room in time.
fn await_room(running: &Running) -> bool {
    let until = time::now() + PATIENCE;
    let mut waiters = running.room.waiters.lock();
    while running.is_over() {
        if running.room.here.wait_until(&mut waiters, until) {
            return !running.is_over();
        }
    }
    true
}
