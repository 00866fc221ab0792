//! Reads and writes of each database file: the source of `sys.dm_io_virtual_file_stats`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::{DbId, FileId};
use duramen_os::sync::Global;

/// What has been done to one file since it was opened. Whoever does the I/O holds it and adds to it.
#[derive(Debug, Default)]
pub struct FileIo {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    read_nanos: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    write_nanos: AtomicU64,
}

/// A moment of [`FileIo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIoSnapshot {
    pub db: DbId,
    pub file: FileId,
    pub reads: u64,
    pub bytes_read: u64,
    pub read_stall_ms: u64,
    pub writes: u64,
    pub bytes_written: u64,
    pub write_stall_ms: u64,
}

type Files = BTreeMap<(DbId, FileId), Arc<FileIo>>;

static FILES: Global<Files> = Global::new(BTreeMap::new());

/// The statistics of a file from now on: starts them afresh. Called when the file is opened.
pub fn file_io(db: DbId, file: FileId) -> Arc<FileIo> {
    let io = Arc::new(FileIo::default());
    FILES.write(|files| files.insert((db, file), io.clone()));
    io
}

/// Every file whose statistics are still held by somebody.
pub fn file_io_stats() -> Vec<FileIoSnapshot> {
    FILES.write(|files| {
        files.retain(|_, io| Arc::strong_count(io) > 1);
        files
            .iter()
            .map(|(&(db, file), io)| io.snapshot(db, file))
            .collect()
    })
}

impl FileIo {
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

    fn snapshot(&self, db: DbId, file: FileId) -> FileIoSnapshot {
        FileIoSnapshot {
            db,
            file,
            reads: self.reads.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            read_stall_ms: self.read_nanos.load(Relaxed) / 1_000_000,
            writes: self.writes.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            write_stall_ms: self.write_nanos.load(Relaxed) / 1_000_000,
        }
    }
}
