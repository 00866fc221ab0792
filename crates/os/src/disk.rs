//! The disk as the engine sees it: a few calls, each with a stated promise about crashes.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{IoError, RealDisk};

/// The world a component lives in. Clock, threads and randomness are found through the calling thread
/// ([`crate::time`], [`crate::thread`], [`crate::random`]); the disk is a value, because one process may hold several.
#[derive(Clone, Debug)]
pub struct Env {
    pub disk: Arc<dyn Disk>,
}

impl Env {
    /// The machine's own disk.
    pub fn real() -> Env {
        Env {
            disk: Arc::new(RealDisk),
        }
    }

    pub fn with_disk(disk: Arc<dyn Disk>) -> Env {
        Env { disk }
    }
}

/// How a file is opened. Default: an existing file, for reading and writing, through the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// Make the file when it is not there.
    pub create: bool,
    /// Make the file; it must not be there.
    pub create_new: bool,
    pub read_only: bool,
    /// Past the page cache, where the file system allows it ([`DiskFile::is_direct`] says whether it did).
    pub direct: bool,
}

/// A name space of files.
pub trait Disk: Send + Sync + Debug {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError>;
    /// Opens a file that a user has named, for writing. By whatever name: [`IoError::InUse`] when the process has it
    /// open, and nobody else gets it for writing until this handle is closed. With `below` only inside one of these
    /// directories, links followed: else [`IoError::Denied`], as for everything that is no plain file.
    ///
    /// Nothing is written, cut or created before that is known, but that a new file may be made and taken away again.
    fn open_named(
        &self,
        path: &Path,
        options: &OpenOptions,
        below: Option<&[PathBuf]>,
    ) -> Result<Arc<dyn DiskFile>, IoError> {
        let _ = (path, options, below);
        Err(IoError::Denied)
    }
    /// The one name without links, `.` and `..` that a name stands for; the last part, and only that, need not be there.
    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError> {
        Ok(path.to_owned())
    }
    /// Whether two names are of one file that is there.
    fn same_file(&self, a: &Path, b: &Path) -> bool {
        a == b && self.exists(a)
    }
    /// Whether this process has the file open, by whatever name.
    fn is_open(&self, path: &Path) -> bool {
        let _ = path;
        false
    }
    fn remove(&self, path: &Path) -> Result<(), IoError>;
    /// Replaces `to` when it exists. Atomic; durable after [`Disk::sync_dir`] of the directory.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError>;
    fn exists(&self, path: &Path) -> bool;
    /// The entries of a directory, as full paths in name order.
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError>;
    fn create_dir_all(&self, dir: &Path) -> Result<(), IoError>;
    /// Makes creations, removals and renames in `dir` durable. A new file is not there after a crash without it.
    fn sync_dir(&self, dir: &Path) -> Result<(), IoError>;
    /// Bytes that may still be written below `path`.
    fn free_space(&self, path: &Path) -> Result<u64, IoError>;
    /// What may be taken below `path` by what can be refused: what is free beyond what the volume keeps back for logs and
    /// recovery.
    fn room(&self, path: &Path) -> Result<u64, IoError> {
        self.free_space(path)
    }
    /// Bytes of the volume below `path`; where nobody knows, what is free of it.
    fn total_space(&self, path: &Path) -> Result<u64, IoError> {
        self.free_space(path)
    }
    /// The physical sector of the device below `path`: 512 or 4096 (4096 when nobody knows).
    fn sector_bytes(&self, path: &Path) -> u32;
}

/// Allocated or given back at once where somebody may give up: some milliseconds of a file system's work.
const ALLOCATED_BYTES: u64 = 64 << 20;

/// An open file. All calls may be made from any thread at once; there is no file position.
pub trait DiskFile: Send + Sync + Debug {
    /// Fills `buf` from `offset`; [`IoError::Eof`] when the file ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError>;
    /// Writes all of `data`; durable only after a later [`DiskFile::sync`].
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError>;
    /// Writes all of `data`; durable when it returns (this range, not the file's other writes).
    fn write_durable_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.write_durable_vectored_at(&[data], offset)
    }
    /// The parts one after the other, as one durable write.
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError>;
    /// Every write that returned before this call is durable when it returns. After an error nothing may be
    /// assumed about them, and a second call that succeeds proves nothing.
    fn sync(&self) -> Result<(), IoError>;
    /// The length in bytes.
    fn len(&self) -> Result<u64, IoError>;
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }
    /// Truncates, or extends with zeros that take no space yet. Durable after [`DiskFile::sync`].
    fn set_len(&self, len: u64) -> Result<(), IoError>;
    /// Reserves disk space for the range and extends the file to its end; new bytes read as zeros.
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError>;
    /// The same in steps, between which `wanted` is asked: [`IoError::GivenUp`] when it says no. What an error leaves is the
    /// caller's to give back.
    fn allocate_while(
        &self,
        offset: u64,
        len: u64,
        wanted: &dyn Fn() -> bool,
    ) -> Result<(), IoError> {
        let end = offset.saturating_add(len);
        let mut at = offset;
        while at < end {
            if !wanted() {
                return Err(IoError::GivenUp);
            }
            let step = (end - at).min(ALLOCATED_BYTES);
            self.allocate(at, step)?;
            at += step;
        }
        Ok(())
    }
    /// [`DiskFile::set_len`] to `len` or less, in steps, between which `wanted` is asked: [`IoError::GivenUp`] when it says no.
    fn shrink_while(&self, len: u64, wanted: &dyn Fn() -> bool) -> Result<(), IoError> {
        let mut at = self.len()?;
        while at > len.saturating_add(ALLOCATED_BYTES) {
            if !wanted() {
                return Err(IoError::GivenUp);
            }
            at -= ALLOCATED_BYTES;
            self.set_len(at)?;
        }
        self.set_len(len)
    }
    /// Whether this file goes past the page cache.
    fn is_direct(&self) -> bool;
    /// The operating system's number for the open file, as people see it in `/proc`; a simulated one has its own.
    fn handle(&self) -> u64;
    /// [`Disk::room`] of the volume it is on.
    fn room(&self) -> Result<u64, IoError> {
        Ok(u64::MAX)
    }
    /// Keeps every other process from doing the same until this file is closed; false when one has been faster.
    /// Two servers must not open one data directory.
    fn try_lock(&self) -> Result<bool, IoError>;
}

/// Whether a path without links is inside one of the directories, which may have links; one that is not there holds nothing.
pub(crate) fn is_below(disk: &dyn Disk, path: &Path, dirs: &[PathBuf]) -> bool {
    let inside = |dir: &PathBuf| {
        let dir = disk.canonical(dir);
        dir.is_ok_and(|dir| path != dir && path.starts_with(dir))
    };
    dirs.iter().any(inside)
}
