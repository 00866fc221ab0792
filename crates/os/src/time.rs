//! Time: monotonic for measuring, wall for what users see. Virtual in a simulation.

use std::ops::{Add, AddAssign, Sub};
use std::sync::OnceLock;
use std::time::Duration;

use crate::sim::sched::{self, nanos};

/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;

/// Nanoseconds on a clock that never goes back; 0 is about the start of the process (or of the simulation).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    pub const ZERO: Instant = Instant(0);

    pub fn elapsed(self) -> Duration {
        now() - self
    }

    /// Time from `earlier` to this; zero when `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub fn nanos(self) -> u64 {
        self.0
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Saturates at zero.
    fn sub(self, earlier: Instant) -> Duration {
        self.since(earlier)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    /// Saturates: a deadline too far to express is never.
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(d)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

/// Wall clock time in nanoseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WallTime(pub i128);

impl WallTime {
    pub fn unix_nanos(self) -> i128 {
        self.0
    }

    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000_000) as i64
    }

    /// The part below a second.
    pub fn subsec_nanos(self) -> u32 {
        self.0.rem_euclid(1_000_000_000) as u32
    }
}

impl Add<Duration> for WallTime {
    type Output = WallTime;
    fn add(self, d: Duration) -> WallTime {
        WallTime(self.0 + nanos(d) as i128)
    }
}

/// Where simulated wall clocks start: 2026-01-01 00:00:00 UTC.
pub(crate) const SIM_EPOCH_UNIX_NS: i128 = 1_767_225_600_000_000_000;

/// The system's monotonic clock when it was asked first.
static START: OnceLock<u64> = OnceLock::new();

/// The system's monotonic clock. A statement asks some forty times: `std`'s way checks and normalizes what cannot be wrong.
fn monotonic() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * NANOS + t.tv_nsec as u64
}

/// The monotonic clock.
pub fn now() -> Instant {
    if let Some(here) = sched::here() {
        return Instant(here.now());
    }
    let start = *START.get_or_init(monotonic);
    Instant(monotonic().saturating_sub(start))
}

/// The wall clock, UTC.
pub fn wall() -> WallTime {
    if let Some(here) = sched::here() {
        return WallTime(SIM_EPOCH_UNIX_NS + here.now() as i128);
    }
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    WallTime(i128::from(t.tv_sec) * i128::from(NANOS) + i128::from(t.tv_nsec))
}

/// Processor time that the calling thread has used; zero-based at its start. In a simulation the virtual clock, so that
/// whatever depends on it replays.
pub fn thread_cpu() -> Duration {
    if let Some(here) = sched::here() {
        return Duration::from_nanos(here.now());
    }
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Processor time that a thread of this process has used, by its [`crate::thread::system_id`]; what it has used since its
/// processor was interrupted last may be missing (some milliseconds). `None`: it has ended, or the system does not tell.
pub fn cpu_of_thread(system_id: u32) -> Option<Duration> {
    if let Some(here) = sched::here() {
        return Some(Duration::from_nanos(here.now()));
    }
    if system_id == crate::thread::system_id() {
        return Some(thread_cpu());
    }
    crate::machine::thread_cpu(system_id)
}

/// Processor time that the process has used, in all its threads. In a simulation the virtual clock.
pub fn process_cpu() -> Duration {
    if let Some(here) = sched::here() {
        return Duration::from_nanos(here.now());
    }
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Minutes between the server's local time and UTC: always none, as in containers; `GETDATE` equals `GETUTCDATE`.
pub const LOCAL_OFFSET_MINUTES: i16 = 0;
