//! Waits, counters and events: cheap to record, plain snapshots out. Written by every room, reads nobody.
//!
//! Law: what is measured is real. A wait is the time a worker (or a finished request held by the packet gate) was
//! blocked in the primitive it names; a counter counts the thing it names. Names are SQL Server's; the lists
//! ([`WaitType`], [`Counter`], [`events::EventId`]) are declared once and everything else is made from them.
//!
//! Invariants
//! 1. `waiting_tasks_count` rises when a wait starts; the times are added when it ends.
//!    [test: a_wait_is_counted_at_its_start_and_timed_at_its_end]
//! 2. `wait_time` holds the whole wait; `signal_wait_time` is the part of it after somebody woke the waiter: of waits for
//!    conditions ([`duramen_os::sync::signal_time`]) and where the waker stamped the moment ([`WaitGuard::signalled_at`]).
//!    Who yields is signalled at once: SOS_SCHEDULER_YIELD is all signal. External waits have none, nor do those for a
//!    latch or the disk, whose end nobody announces.
//!    [test: an_external_wait_has_no_signal_part]
//! 3. Recording never blocks on anything that a waiter could hold, and never fails. [assert: global/1]
//!
//! | module | owns |
//! |---|---|
//! | `waits`, `session` | waits of the server, and whose they are |
//! | `work`, `cpu`, `reads` | what the calling thread has done: pages, waits, processor time, reads by table |
//! | `counters`, `activity`, `disk` | performance counters, and what no counter tells |
//! | `files`, `latches`, `zeroing` | reads and writes by file, latches by class, space that is filled |
//! | `events` | Extended Events, recorded where something happens |
//! | `background` | the server's own threads |

#![forbid(unsafe_code)]

mod activity;
mod background;
mod counters;
mod cpu;
mod disk;
pub mod events;
mod files;
mod latches;
mod reads;
mod session;
mod waits;
mod work;
mod zeroing;

pub use activity::{Activity, Traffic, activity, note_activity};
pub use background::{Background, BackgroundTask, Duty, Idle, background, background_tasks};
pub use counters::{
    Counter, CounterKind, CounterObject, CounterValue, DbCounter, DbCounters, count, count_db,
    counter, counters, db_counter, db_counters, forget_db, gauge,
};
pub use cpu::{CpuMark, Spent};
pub use disk::{DISK_COUNTERS, LOGICAL_DISK, disk_counters};
pub use files::{FileIo, FileIoSnapshot, PendingIo, Transfer};
pub use latches::{LatchClass, LatchGuard, LatchStat, clear_latch_stats, latch_stats, latch_wait};
pub use reads::{
    UnitReads, add_metered_reads, meter_reads, metered_reads, metering_reads, note_page_read,
    note_read_ahead, note_scan,
};
pub use session::{
    Attached, Parallel, SessionWaits, Switches, WaitingTask, attach, current_context,
    current_session, current_waits, degree, helpers, helpers_cpu, parallel, take_degree,
    waiting_tasks,
};
pub use waits::{
    IdleWorker, WaitGuard, WaitKind, WaitStat, WaitType, clear_wait_stats, idle_worker, on_wait,
    record_wait, wait, wait_on, wait_stats,
};
pub use work::{
    Granted, ThreadWork, add_thread_work, count_page_dirtied, count_page_read, count_spilled,
    note_grant, take_grant, thread_work,
};
pub use zeroing::Zeroing;

/// False in a build that measures what recording costs (feature `silent`).
const RECORDS: bool = !cfg!(feature = "silent");

#[cfg(test)]
mod tests;
