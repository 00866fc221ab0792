//! Performance counters of the disk, as Windows names them: sums over the reads and writes of our own files.
//!
//! Kinds and units are those of Windows' LogicalDisk object: a mean time is a sum of 100 ns beside a count of transfers, and
//! a mean queue is the time that all transfers took together (Little's law). Readers take differences of both.

use crate::counters::{CounterKind, CounterObject, CounterValue};
use crate::files::FileIoSnapshot;

/// Its counters have no `SQLServer:` before them.
pub const LOGICAL_DISK: CounterObject = "LogicalDisk";

type Figure = fn(&FileIoSnapshot) -> u64;

/// Name, kind, and what a file adds to it.
pub const DISK_COUNTERS: [(&str, CounterKind, Figure); 10] = {
    use CounterKind::{AverageTimer, Bulk, QueueTime, TimerBase};
    [
        ("Disk Reads/sec", Bulk, |f| f.reads),
        ("Disk Read Bytes/sec", Bulk, |f| f.bytes_read),
        ("Disk Writes/sec", Bulk, |f| f.writes),
        ("Disk Write Bytes/sec", Bulk, |f| f.bytes_written),
        ("Avg. Disk sec/Read", AverageTimer, |f| f.read_nanos / 100),
        ("Avg. Disk sec/Read Base", TimerBase, |f| f.reads),
        ("Avg. Disk sec/Write", AverageTimer, |f| f.write_nanos / 100),
        ("Avg. Disk sec/Write Base", TimerBase, |f| f.writes),
        ("Avg. Disk Read Queue Length", QueueTime, |f| {
            f.read_nanos / 100
        }),
        ("Avg. Disk Write Queue Length", QueueTime, |f| {
            f.write_nanos / 100
        }),
    ]
};

/// The counters over some files.
pub fn disk_counters(files: &[FileIoSnapshot]) -> impl Iterator<Item = CounterValue> {
    DISK_COUNTERS
        .into_iter()
        .map(move |(name, kind, figure)| CounterValue {
            object: LOGICAL_DISK,
            name,
            kind,
            value: files.iter().map(figure).sum::<u64>() as i64,
        })
}
