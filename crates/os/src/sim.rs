//! A world decided by a seed: threads, time, randomness and disk.
//!
//! ```
//! use duramen_os::{sim::Simulation, thread};
//! let sum = Simulation::new(42).run(|sim| {
//!     let _disk = sim.disk();
//!     let other = thread::spawn("other", || 40);
//!     2 + other.join().unwrap()
//! });
//! assert_eq!(sum, 42);
//! ```
//!
//! The closure is the process: when it returns, the process is gone, whatever its threads were doing. What the disk
//! keeps of it is decided by `SimDisk::crash`. Threads are real, but one runs at a time, and at every primitive of
//! this room the seed chooses whether it goes on or another one does. Time stands still while code runs and jumps
//! when everybody waits.
//!
//! Rules for code that is simulated
//! 1. Everything that waits, waits through this room. A loop that spins calls [`crate::thread::yield_now`].
//! 2. No result may depend on addresses, on the order of a randomly seeded map, or on threads outside.
//! 3. `catch_unwind` must let [`ending`] through: a simulation ends by unwinding its threads.

mod disk;
mod pin;
pub(crate) mod sched;

pub use disk::{DiskOp, Fault, SimDisk};
pub use sched::{Sim, Simulation, ending, is_simulated, world};

/// The seeds a test runs: the one in the environment variable `DURAMEN_SEED`, or `first..first + count`.
pub fn seeds(first: u64, count: u64) -> impl Iterator<Item = u64> {
    let given = std::env::var("DURAMEN_SEED")
        .ok()
        .and_then(|s| s.trim().parse().ok());
    match given {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    }
}

#[cfg(test)]
mod tests;
