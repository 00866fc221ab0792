//! Locks, conditions and channels: the system's, or a simulation's when the caller is part of one.
//!
//! There is no poisoning: a panic that unwinds through a guard releases the lock, and whoever catches the panic
//! decides what the state is worth.
//!
//! In a simulation the real locks are still taken (so the borrow rules hold by the same means), but never waited
//! for: the scheduler runs one thread at a time, and a thread that finds a lock taken is parked until its holder
//! lets go. A lock held by a thread outside the simulation (a static shared by two tests of one process) is the one
//! exception: it is waited for in real time, since that thread does not depend on ours.

mod channel;
mod condvar;
mod global;
mod held;
mod mutex;
#[cfg(debug_assertions)]
mod order;
mod rank;
mod rwlock;
mod signal;

pub use channel::{
    Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryRecvError, TrySendError, channel,
};
pub use condvar::Condvar;
pub use global::Global;
pub(crate) use global::inside as inside_global;
pub use held::held;
pub use mutex::{Mutex, MutexGuard};
pub use rank::Rank;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use signal::signal_time;

#[cfg(test)]
mod tests;
