//! The machine's own disk, through system calls on the calling thread.
//!
//! Two descriptors per direct file: one with O_DIRECT for whole sectors, one through the page cache for anything that
//! is not a whole number of sectors (the kernel keeps the two coherent on Linux's local file systems). A buffer at
//! an unaligned address is copied through an aligned one. A file system that refuses O_DIRECT gets one descriptor.
//! A kernel or file system without RWF_DSYNC gets a plain write followed by fdatasync, remembered per file.

mod dir;
mod file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{Disk, DiskFile, IoError, OpenOptions};
use file::RealFile;

/// The machine's own disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        let mut flags = OFlags::CLOEXEC;
        flags |= if options.read_only {
            OFlags::RDONLY
        } else {
            OFlags::RDWR
        };
        let mut first = flags;
        if options.create || options.create_new {
            first |= OFlags::CREATE;
        }
        if options.create_new {
            first |= OFlags::EXCL;
        }
        let mode = Mode::from_raw_mode(0o640);
        let open = |flags| loop {
            match rustix::fs::open(path, flags, mode) {
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
                Ok(fd) => return Ok(fd),
            }
        };
        let buffered = open(first).map_err(|e| IoError::from_errno(e, "open"))?;
        let direct = if options.direct {
            // EINVAL is how file systems refuse; any other refusal still leaves a file that works.
            open(flags | OFlags::DIRECT).ok()
        } else {
            None
        };
        Ok(Arc::new(RealFile::new(buffered, direct)))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        std::fs::remove_file(path).map_err(|e| IoError::from_std(&e, "unlink"))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        std::fs::rename(from, to).map_err(|e| IoError::from_std(&e, "rename"))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let err = |e| IoError::from_std(&e, "readdir");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(err)? {
            names.push(entry.map_err(err)?.path());
        }
        names.sort();
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<(), IoError> {
        dir::create_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        dir::sync(dir)
    }

    fn free_space(&self, path: &Path) -> Result<u64, IoError> {
        let s = rustix::fs::statvfs(path).map_err(|e| IoError::from_errno(e, "statvfs"))?;
        Ok(s.f_bavail.saturating_mul(s.f_frsize))
    }

    fn total_space(&self, path: &Path) -> Result<u64, IoError> {
        let s = rustix::fs::statvfs(path).map_err(|e| IoError::from_errno(e, "statvfs"))?;
        Ok(s.f_blocks.saturating_mul(s.f_frsize))
    }

    fn sector_bytes(&self, path: &Path) -> u32 {
        dir::physical_sector(path).unwrap_or(4096)
    }
}

#[cfg(test)]
mod tests;
