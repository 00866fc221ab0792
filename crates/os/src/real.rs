//! The machine's own disk, through system calls on the calling thread.
//!
//! Two descriptors per direct file: one with O_DIRECT for whole sectors, one through the page cache for anything that
//! is not a whole number of sectors (the kernel keeps the two coherent on Linux's local file systems). A buffer at
//! an unaligned address is copied through an aligned one. A file system that refuses O_DIRECT gets one descriptor.
//! A kernel or file system without RWF_DSYNC gets a plain write followed by fdatasync, remembered per file.

mod dir;
mod file;
mod open;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::is_below;
use crate::{Disk, DiskFile, IoError, OpenOptions};

/// The machine's own disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        open::open(path, options)
    }

    fn open_named(
        &self,
        path: &Path,
        options: &OpenOptions,
        below: Option<&[PathBuf]>,
    ) -> Result<Arc<dyn DiskFile>, IoError> {
        let path = self.canonical(path)?;
        if below.is_some_and(|dirs| !is_below(self, &path, dirs)) {
            return Err(IoError::Denied);
        }
        open::open_alone(&path, options, below.is_some())
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError> {
        dir::canonical(path)
    }

    fn same_file(&self, a: &Path, b: &Path) -> bool {
        open::same_file(a, b)
    }

    fn is_open(&self, path: &Path) -> bool {
        open::is_open(path)
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

    fn room(&self, path: &Path) -> Result<u64, IoError> {
        let s = rustix::fs::statvfs(path).map_err(|e| IoError::from_errno(e, "statvfs"))?;
        Ok(dir::room(&s))
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
