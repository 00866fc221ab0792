//! What locks take of the server's memory: beyond a share of it owners trade their fine locks for table locks, whatever the
//! number of their statement's; beyond a greater one who holds many gets no more of them (1204).
//!
//! An owner tells the manager of its locks in steps, so that a transaction of a few locks touches nothing that is shared.
//! <https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide>, "Lock
//! escalation": 24 percent is SQL Server's share of the memory that begins it. Its pool of locks may grow to 60 percent; ours,
//! which the buffer pool does not make room for, to half of that (*assumed* to be enough for whoever cannot escalate).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use duramen_os::memory::{Broker, Clerk, Tally};

use super::LockManager;
use super::owner::Held;

/// A lock in its owner's list and in the table, as 3,000,000 of them have been measured.
const LOCK_BYTES: u64 = 400;
/// Locks that an owner holds without anybody counting them, and between two times that it tells.
pub(super) const STEP: usize = 64;
const ESCALATE_PERCENT: u64 = 24;
const REFUSE_PERCENT: u64 = 30;
/// However little memory there is, so many locks do not escalate for want of it, and four times as many are not refused.
const LEAST: u64 = 5000;
/// Who could not escalate tries again when it holds so much more.
const NEXT_TRY_PERCENT: usize = 125;

/// What all owners have told.
pub(super) struct LockMemory {
    held: Tally,
    escalate_at: AtomicU64,
    refuse_at: AtomicU64,
    /// So many are held that who holds many gets no more.
    full: AtomicBool,
}

impl Default for LockMemory {
    fn default() -> LockMemory {
        LockMemory {
            held: Tally::new(Clerk::Locks),
            escalate_at: AtomicU64::new(u64::MAX),
            refuse_at: AtomicU64::new(u64::MAX),
            full: AtomicBool::new(false),
        }
    }
}

impl LockMemory {
    fn change(&self, from: usize, to: usize) {
        match to.checked_sub(from) {
            Some(more) => {
                self.held.add(more as u64 * LOCK_BYTES);
            }
            None => self.held.sub((from - to) as u64 * LOCK_BYTES),
        }
        let full = self.locks() >= self.refuse_at.load(Relaxed);
        self.full.store(full, Relaxed);
    }

    fn locks(&self) -> u64 {
        self.held.bytes() / LOCK_BYTES
    }
}

impl LockManager {
    /// The memory that shares are of.
    pub fn set_memory_limit(&self, bytes: u64) {
        let locks = |percent: u64| bytes / 100 * percent / LOCK_BYTES;
        let escalate = locks(ESCALATE_PERCENT).max(LEAST);
        let refuse = locks(REFUSE_PERCENT).max(LEAST * 4);
        self.memory.escalate_at.store(escalate, Relaxed);
        self.memory.refuse_at.store(refuse, Relaxed);
        self.memory.change(0, 0);
    }

    /// Tells `broker` what locks take.
    pub fn follow(&self, broker: &Arc<Broker>) {
        self.memory.held.follow(broker);
        self.set_memory_limit(broker.limit());
    }

    /// Bytes that locks take, but for the few of each owner that are not told of.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.held.bytes()
    }

    /// Who holds `held` many locks gets no more fine ones.
    #[inline]
    pub(super) fn is_full_for(&self, held: &Held) -> bool {
        self.memory.full.load(Relaxed) && held.locks.len() >= STEP
    }

    /// After an owner's list has become longer: true when it should escalate.
    #[inline]
    pub(super) fn grew(&self, held: &mut Held) -> bool {
        held.locks.len() >= held.reported + STEP && self.report_grown(held)
    }

    #[cold]
    fn report_grown(&self, held: &mut Held) -> bool {
        let now = held.locks.len();
        self.memory.change(held.reported, now);
        held.reported = now;
        let pressed = self.memory.locks() >= self.memory.escalate_at.load(Relaxed);
        if !pressed || now < held.next_try {
            return false;
        }
        held.next_try = now / 100 * NEXT_TRY_PERCENT + STEP;
        true
    }

    /// After it has become shorter.
    #[inline]
    pub(super) fn shrank(&self, held: &mut Held) {
        let now = held.locks.len();
        if held.reported > 0 && (now == 0 || now + STEP <= held.reported) {
            self.memory.change(held.reported, now);
            held.reported = now;
            held.next_try = held.next_try.min(now / 100 * NEXT_TRY_PERCENT + STEP);
        }
    }
}
