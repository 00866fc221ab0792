//! Reads and writes of each database file: the source of `sys.dm_io_virtual_file_stats`, of
//! `sys.dm_io_pending_io_requests` and of the events that tell of files.
//!
//! Whoever reads or writes holds a [`Transfer`] meanwhile. A file remembers as many of them as it has slots: more are
//! counted, but not listed while they last. The figures belong to the database that has the file open: several servers of
//! one process do not mix.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::{DbId, FileId};
use duramen_os::time::{self, Instant};

use crate::events::{
    AsyncIoCompleted, AsyncIoRequested, FileIoMode, FilePointer, FileRead, FileReadCompleted,
    FileWriteCompleted, FileWritten, emit, io_data,
};

/// Transfers of a file that are remembered while they last.
const SLOTS: usize = 16;

/// What has been done to one file since it was opened. Whoever has the file open holds it and adds to it.
#[derive(Debug)]
pub struct FileIo {
    db: DbId,
    file: FileId,
    /// The operating system's number for it.
    handle: u64,
    pending: [Slot; SLOTS],
    reads: AtomicU64,
    bytes_read: AtomicU64,
    read_nanos: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    write_nanos: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    /// Nanoseconds on the monotonic clock; 0: nobody's.
    since: AtomicU64,
    offset: AtomicU64,
}

/// A read or write that lasts; dropped without a word when it fails.
#[must_use = "the transfer is over when this is dropped"]
#[derive(Debug)]
pub struct Transfer<'f> {
    io: &'f FileIo,
    slot: Option<&'f Slot>,
    offset: u64,
    started: Instant,
}

/// One row of `sys.dm_io_pending_io_requests`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingIo {
    pub file: FileId,
    pub handle: u64,
    /// Bytes from the file's beginning.
    pub offset: u64,
    pub waited: Duration,
}

/// A moment of [`FileIo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIoSnapshot {
    pub file: FileId,
    /// The operating system's number for it.
    pub handle: u64,
    pub reads: u64,
    pub bytes_read: u64,
    pub read_stall_ms: u64,
    pub writes: u64,
    pub bytes_written: u64,
    pub write_stall_ms: u64,
    /// The stalls, finer.
    pub read_nanos: u64,
    pub write_nanos: u64,
}

impl Transfer<'_> {
    /// These bytes were read: how long that took.
    pub fn has_read(self, data: &[u8]) -> Duration {
        let took = self.started.elapsed();
        self.io.read(data.len() as u64, took);
        emit(|| FileReadCompleted {
            mode: FileIoMode::CONTIGUOUS,
            duration: took.as_millis() as u64,
            file_handle: FilePointer(self.io.handle),
            offset: self.offset,
            database_id: u64::from(self.io.db.0),
            file_id: u64::from(self.io.file.0),
            size: data.len() as u64,
            io_data: io_data(data),
        });
        took
    }

    /// These bytes were written: how long that took.
    pub fn has_written(self, data: &[u8]) -> Duration {
        let took = self.started.elapsed();
        self.io.write(data.len() as u64, took);
        emit(|| FileWriteCompleted {
            mode: FileIoMode::CONTIGUOUS,
            duration: took.as_millis() as u64,
            file_handle: FilePointer(self.io.handle),
            offset: self.offset,
            database_id: u64::from(self.io.db.0),
            file_id: u64::from(self.io.file.0),
            size: data.len() as u64,
            io_data: io_data(data),
        });
        took
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        emit(|| AsyncIoCompleted {
            file_handle: FilePointer(self.io.handle),
        });
        if let Some(slot) = self.slot {
            slot.since.store(0, Relaxed);
        }
    }
}

impl FileIo {
    /// The statistics of a file that is being opened; `handle` is the operating system's number for it.
    pub fn new(db: DbId, file: FileId, handle: u64) -> FileIo {
        FileIo {
            db,
            file,
            handle,
            pending: [const {
                Slot {
                    since: AtomicU64::new(0),
                    offset: AtomicU64::new(0),
                }
            }; SLOTS],
            reads: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            read_nanos: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            write_nanos: AtomicU64::new(0),
        }
    }

    /// A read of so many bytes at `offset` begins.
    pub fn begin_read(&self, offset: u64, size: u64) -> Transfer<'_> {
        emit(|| FileRead {
            mode: FileIoMode::CONTIGUOUS,
            file_handle: FilePointer(self.handle),
            offset,
            database_id: u64::from(self.db.0),
            file_id: u64::from(self.file.0),
            size,
        });
        self.begin(offset)
    }

    /// A write of so many bytes at `offset` begins.
    pub fn begin_write(&self, offset: u64, size: u64) -> Transfer<'_> {
        emit(|| FileWritten {
            mode: FileIoMode::CONTIGUOUS,
            file_handle: FilePointer(self.handle),
            offset,
            database_id: u64::from(self.db.0),
            file_id: u64::from(self.file.0),
            size,
        });
        self.begin(offset)
    }

    fn begin(&self, offset: u64) -> Transfer<'_> {
        emit(|| AsyncIoRequested {
            file_handle: FilePointer(self.handle),
        });
        let started = time::now();
        let since = started.nanos().max(1);
        let free = |slot: &&Slot| {
            slot.since
                .compare_exchange(0, since, Relaxed, Relaxed)
                .is_ok()
        };
        let slot = match crate::RECORDS {
            true => self.pending.iter().find(free),
            false => None,
        };
        if let Some(slot) = slot {
            slot.offset.store(offset, Relaxed);
        }
        Transfer {
            io: self,
            slot,
            offset,
            started,
        }
    }

    pub fn read(&self, bytes: u64, took: Duration) {
        if !crate::RECORDS {
            return;
        }
        self.reads.fetch_add(1, Relaxed);
        self.bytes_read.fetch_add(bytes, Relaxed);
        self.read_nanos.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    pub fn write(&self, bytes: u64, took: Duration) {
        if !crate::RECORDS {
            return;
        }
        self.writes.fetch_add(1, Relaxed);
        self.bytes_written.fetch_add(bytes, Relaxed);
        self.write_nanos.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    /// Reads and writes under way.
    pub fn pending(&self) -> Vec<PendingIo> {
        let now = time::now().nanos();
        let row = |slot: &Slot| {
            let since = slot.since.load(Relaxed);
            (since != 0).then(|| PendingIo {
                file: self.file,
                handle: self.handle,
                offset: slot.offset.load(Relaxed),
                waited: Duration::from_nanos(now.saturating_sub(since)),
            })
        };
        self.pending.iter().filter_map(row).collect()
    }

    pub fn snapshot(&self) -> FileIoSnapshot {
        FileIoSnapshot {
            file: self.file,
            handle: self.handle,
            reads: self.reads.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            read_stall_ms: self.read_nanos.load(Relaxed) / 1_000_000,
            writes: self.writes.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            write_stall_ms: self.write_nanos.load(Relaxed) / 1_000_000,
            read_nanos: self.read_nanos.load(Relaxed),
            write_nanos: self.write_nanos.load(Relaxed),
        }
    }
}
