//! The log: files, VLFs, log blocks, records, append, flush, durability, growth, truncation, the end-of-log scan
//! and the reader. It knows no pages and no SQL: a record is a header (the bytes of [`record`]) and bytes.
//!
//! [`Log`] is the door: `append` gives an LSN at once, `flush` makes everything up to an LSN durable, `read` walks over
//! the records whether they are durable yet or not.
//!
//! Invariants, which are promised
//! 1. A record at or below [`Log::durable_lsn`] survives any crash. [test: crash_and_recover]
//! 2. After a crash the log is a prefix of what was appended, never with a hole, never with something that was not
//!    appended. [test: crash_and_recover; test: rot_is_never_read_as_a_record]
//! 3. A failed write ends the log for good ([`LogError::Poisoned`]): nothing is tried again, and what was not durable then is
//!    never reported as durable later. [test: a_failed_write_poisons]

#![deny(unsafe_code)]

mod block;
mod config;
mod log;
mod planted;
pub mod record;
pub mod vlf;

pub use block::{
    BlockError, BlockHeader, MAX_RECORD_BYTES, OpenBlock, OwnFields, claimed_bytes,
    open as open_block,
};
pub use config::{
    DurableState, GrowHook, LogConfig, LogError, LogFileSpec, LogGrowth, LogHolds, LogScan,
    LogShrink, LogSpace, ShrinkLimit, VlfInfo, Watch, WritePulse,
};
pub use log::{
    BlockRange, LaidLog, Log, LogFileReader, LogFinding, LogPreparation, LogReader, LogRecord,
    LogReport, MIN_GROWTH, VlfSlot, verify_file,
};
pub use vlf::{Growth, LogProfile};
