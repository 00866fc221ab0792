//! The ground under everything else: clock, disk, threads, synchronisation and randomness, real and simulated.
//!
//! Every room above takes these things from here and from nowhere else, so that the whole engine can be run in a
//! world that a seed decides ([`sim`]): one thread at a time, virtual time, a disk that loses, tears and reorders
//! what was not synced. Same seed, same trace.
//!
//! Each primitive asks one question first: "is this thread part of a simulation?". The question costs one relaxed
//! load of a static while no simulation lives in the process, so the real server pays next to nothing for it.
//!
//! Invariants
//! 1. No primitive panics in the real world. In a simulation the only unwinding is the simulation's own end.
//!    [test: errors_name_the_situation; test: a_deadlock_is_named_with_its_seed]
//! 2. A write that returned from [`DiskFile::write_durable_at`] survives a crash; one that returned from
//!    [`DiskFile::write_at`] survives only after a later [`DiskFile::sync`] returned.
//!    [test: synced_and_durable_writes_survive_every_crash]
//! 3. A file that a user has named is opened by [`Disk::open_named`], which finds out by the opened file itself whether it
//!    is one that the process has open, and refuses it then. [test: a_file_that_is_open_is_known_by_every_name]
//! 4. Alignment is the business of this room: callers may pass any buffer, offset and length.
//!    [test: writes_of_any_shape_come_back]
//!
//! | module | owns |
//! |---|---|
//! | `disk`, `real`, `error` | the disk as the engine sees it, the machine's own, and what can go wrong |
//! | `sparing`, `volatile`, `open_files` | files that leave room alone, files that may be lost, which are open |
//! | `aligned`, `pages` | memory for direct writes and for a buffer pool |
//! | `memory`, `heap` | one broker of an instance's memory, and what the process has allocated |
//! | `machine`, `time`, `random`, `rng` | facts of the machine, clocks, random numbers |
//! | `thread`, `sync`, `stack` | threads, locks and channels, the stack that is left |
//! | `sim` | a world decided by a seed: threads, time, randomness and disk |

// `pages` and `heap` are the exceptions.
#![deny(unsafe_code)]
// This room is the one place that may touch what it wraps.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod aligned;
mod disk;
mod error;
pub mod heap;
pub mod machine;
pub mod memory;
mod open_files;
mod pages;
pub mod random;
mod real;
mod rng;
pub mod sim;
mod sparing;
pub mod stack;
pub mod sync;
pub mod thread;
pub mod time;
mod volatile;

pub use aligned::AlignedBuf;
pub use disk::{Disk, DiskFile, Env, OpenOptions};
pub use error::IoError;
pub use pages::{ArenaPage, PageArena};
pub use real::RealDisk;
pub use sparing::{KEPT_PERCENT, keep_back, sparing};
pub use volatile::volatile;
