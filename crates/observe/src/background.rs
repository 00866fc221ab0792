//! The server's own threads, as `sys.dm_exec_sessions` and `sys.dm_exec_requests` list them.
//!
//! A thread says when it starts what it does ([`background`]); it is listed until that is dropped. It has the number of a
//! session, the lowest from 1 to [`LAST`] that none of its owner's has; where none is free (dozens of databases have two
//! threads each) it is not listed. What it waits for is a store and no more: it holds up nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::{DbId, SessionId};
use duramen_os::sync::Global;
use duramen_os::time::{self, Instant, WallTime};

use crate::waits::{WaitGuard, WaitType, wait};

/// The last number of the system's sessions.
pub const LAST: u16 = 50;

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    LogWriter,
    LazyWriter,
    /// Automatic checkpoints and ghosts of a database.
    Checkpoint,
    /// The same where the database has a TARGET_RECOVERY_TIME.
    RecoveryWriter,
    XeDispatcher,
    ResourceMonitor,
}

impl Duty {
    const ALL: [Duty; 6] = [
        Duty::LogWriter,
        Duty::LazyWriter,
        Duty::Checkpoint,
        Duty::RecoveryWriter,
        Duty::XeDispatcher,
        Duty::ResourceMonitor,
    ];

    /// `sys.dm_exec_requests.command`
    pub fn command(self) -> &'static str {
        match self {
            Duty::LogWriter => "LOG WRITER",
            Duty::LazyWriter => "LAZY WRITER",
            Duty::Checkpoint => "CHECKPOINT",
            Duty::RecoveryWriter => "RECOVERY WRITER",
            Duty::XeDispatcher => "XE DISPATCHER",
            Duty::ResourceMonitor => "RESOURCE MONITOR",
        }
    }
}

#[derive(Debug)]
struct Role {
    duty: AtomicU8,
    db: Option<DbId>,
    since: WallTime,
    /// The system's number of the thread, once it has waited; 0: not known.
    thread: AtomicU32,
    /// The wait's key and one; 0: none.
    waits_for: AtomicU64,
    /// When it began to, in nanoseconds of the clock.
    waits_since: AtomicU64,
}

/// Of an owner, by their numbers.
static ROLES: Global<BTreeMap<(u64, u16), Arc<Role>>> = Global::new(BTreeMap::new());

/// The calling thread works for the server while this lives.
#[must_use = "the thread is listed while this lives"]
#[derive(Debug)]
pub struct Background {
    /// None: there was no number for it.
    key: Option<(u64, u16)>,
    role: Arc<Role>,
}

/// The calling thread begins its duty; `db`: for this database alone.
pub fn background(duty: Duty, db: Option<DbId>) -> Background {
    let role = Arc::new(Role {
        duty: AtomicU8::new(duty as u8),
        db,
        since: time::wall(),
        thread: AtomicU32::new(0),
        waits_for: AtomicU64::new(0),
        waits_since: AtomicU64::new(0),
    });
    let owner = duramen_os::thread::owner();
    let key = ROLES.write(|all| {
        let free = (1..=LAST).find(|n| !all.contains_key(&(owner, *n)))?;
        all.insert((owner, free), role.clone());
        Some((owner, free))
    });
    Background { key, role }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            ROLES.write(|all| all.remove(&key));
        }
    }
}

/// A wait of such a thread; it ends when this is dropped.
#[must_use = "the wait ends when the guard is dropped"]
#[derive(Debug)]
pub struct Idle<'b> {
    role: &'b Role,
    _wait: WaitGuard,
}

impl Background {
    /// It goes on with another duty.
    pub fn becomes(&self, duty: Duty) {
        self.role.duty.store(duty as u8, Relaxed);
    }

    /// It waits, and that counts as a wait.
    pub fn waits(&self, wait_type: WaitType) -> Idle<'_> {
        let wait = wait(wait_type);
        if self.role.thread.load(Relaxed) == 0 {
            let own = duramen_os::thread::system_id();
            self.role.thread.store(own, Relaxed);
        }
        self.role.waits_since.store(wait.start.nanos(), Relaxed);
        let key = u64::from(wait_type.key()) + 1;
        self.role.waits_for.store(key, Relaxed);
        Idle {
            role: &self.role,
            _wait: wait,
        }
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.role.waits_for.store(0, Relaxed);
    }
}

/// A thread of the server's own.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundTask {
    pub session: SessionId,
    pub duty: Duty,
    pub db: Option<DbId>,
    pub since: WallTime,
    pub wait: Option<(WaitType, Duration)>,
    /// The system's number of the thread; 0: not known.
    pub thread: u32,
}

/// Those of the calling thread's owner, by their numbers.
pub fn background_tasks() -> Vec<BackgroundTask> {
    let owner = duramen_os::thread::owner();
    let now = time::now();
    let task = |number: u16, role: &Role| {
        let key = role.waits_for.load(Relaxed);
        let since = Instant(role.waits_since.load(Relaxed));
        let waits_for = WaitType::ALL.iter().find(|w| u64::from(w.key()) + 1 == key);
        let duty = role.duty.load(Relaxed);
        let duty = Duty::ALL.iter().find(|d| **d as u8 == duty);
        BackgroundTask {
            session: SessionId(number),
            duty: duty.copied().unwrap_or(Duty::Checkpoint),
            db: role.db,
            since: role.since,
            wait: waits_for.map(|w| (*w, now.since(since))),
            thread: role.thread.load(Relaxed),
        }
    };
    ROLES.read(|all| {
        let own = all.range((owner, 0)..=(owner, LAST));
        own.map(|((_, number), role)| task(*number, role)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_listed_while_it_works() {
        let _own = duramen_os::thread::own(0xBAC6);
        let log = background(Duty::LogWriter, Some(DbId(5)));
        let other = background(Duty::Checkpoint, None);
        other.becomes(Duty::RecoveryWriter);
        let idle = other.waits(WaitType::DIRTY_PAGE_POLL);
        let reported = || {
            let all = background_tasks();
            let one = |t: &BackgroundTask| (t.session.0, t.duty.command(), t.wait.map(|w| w.0));
            all.iter().map(one).collect::<Vec<_>>()
        };
        let poll = Some(WaitType::DIRTY_PAGE_POLL);
        assert_eq!(
            reported(),
            [(1, "LOG WRITER", None), (2, "RECOVERY WRITER", poll)]
        );
        drop(idle);
        drop(log);
        assert_eq!(reported(), [(2, "RECOVERY WRITER", None)]);
        let many: Vec<_> = (0..60)
            .map(|_| background(Duty::LazyWriter, None))
            .collect();
        assert_eq!(reported().len(), usize::from(LAST));
        assert_eq!(reported()[0], (1, "LAZY WRITER", None));
        drop(many);
        assert_eq!(reported().len(), 1);
        // Another owner has its own.
        let elsewhere = duramen_os::thread::own(0xBAC7);
        assert!(reported().is_empty());
        drop(elsewhere);
        assert_eq!(reported().len(), 1);
    }
}
