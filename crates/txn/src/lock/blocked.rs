//! Requests that have waited for longer than 'blocked process threshold (s)': `blocked_process_report`.
//!
//! The blocked find out themselves, as they look for deadlocks: once a second, with no lock of the manager held. A request
//! is reported when it has waited for the threshold, and again each time it has waited for as long once more.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use duramen_base::SessionId;
use duramen_observe::events::{self, EventId};
use duramen_os::time;

use super::deadlock::DeadlockProcess;
use super::resource::Key;
use super::table::Waiter;
use super::{LockManager, LockOwner};

/// A request that has waited for too long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockedReport {
    pub blocked: DeadlockProcess,
    /// The first of those in its way.
    pub blocking: SessionId,
    /// How often a report was due before this one.
    pub round: u64,
}

pub(super) type BlockedHook = Box<dyn Fn(&BlockedReport) + Send + Sync>;

impl LockManager {
    /// Requests that wait for so long are reported; `None`: none are.
    pub fn set_blocked_threshold(&self, threshold: Option<Duration>) {
        let millis = threshold.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
        self.blocked_after.store(millis, Relaxed);
    }

    /// Called with every report, on the thread of the blocked. Only the first call sets it.
    pub fn set_on_blocked(&self, hook: BlockedHook) {
        let _ = self.on_blocked.set(hook);
    }

    /// Reports a request that sleeps, if that is due; `reported` says how many reports of it were due so far.
    pub(super) fn report_blocked(
        &self,
        owner: &LockOwner,
        key: &Key,
        waiter: &Arc<Waiter>,
        reported: &mut u64,
    ) {
        let after = self.blocked_after.load(Relaxed);
        if after == 0 || !events::is_wanted(EventId::BlockedProcessReport) {
            return;
        }
        let Some(hook) = self.on_blocked.get() else {
            return;
        };
        let report = {
            let table = self.partition(key);
            let Some(holders) = table.map.get(key) else {
                return;
            };
            let mut queue = holders.queue.iter();
            let Some(at) = queue.position(|r| Arc::ptr_eq(&r.waiter, waiter)) else {
                return;
            };
            let request = &holders.queue[at];
            let waited = time::now().since(request.since);
            let due = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) / after;
            if due <= *reported {
                return;
            }
            *reported = due;
            let Some(blocking) = holders.blockers(at).next().map(|o| o.spid()) else {
                return;
            };
            BlockedReport {
                blocked: DeadlockProcess {
                    spid: owner.spid(),
                    owner: owner.id(),
                    priority: owner.deadlock_priority(),
                    log_used: owner.log_used(),
                    resource: key.resource,
                    mode: request.mode,
                    waited,
                    rowset: request.rowset,
                    transaction: owner.transaction(),
                    held: None,
                },
                blocking,
                round: due - 1,
            }
        };
        hook(&report);
    }
}
