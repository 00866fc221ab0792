//! What tempdb and spills have claimed of the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use duramen_os::sync::Mutex;

#[derive(Debug)]
pub(crate) struct TempSpace {
    /// Where files for rows that wait are made.
    dir: PathBuf,
    pub ceiling: AtomicU64,
    /// The log's part of it, which nobody else takes.
    pub log_part: AtomicU64,
    pub claims: Mutex<Claims>,
}

/// What counts beside the files as long as they are.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Bytes in files that rows have spilled to.
    pub spilled: u64,
    /// Bytes that the disk is about to give to data files, or to take back.
    pub growing: u64,
}

/// Bytes of a data file that count beside what it says of its size: while it grows, and while it gets shorter.
pub(crate) struct Growing<'e> {
    pub space: &'e TempSpace,
    pub bytes: u64,
}

impl Drop for Growing<'_> {
    fn drop(&mut self) {
        self.space.claims.lock().growing -= self.bytes;
    }
}

impl TempSpace {
    pub fn new(dir: &Path) -> TempSpace {
        TempSpace {
            dir: dir.to_owned(),
            ceiling: AtomicU64::new(u64::MAX),
            log_part: AtomicU64::new(0),
            claims: Mutex::new(Claims::default()),
        }
    }
}

impl TempSpace {
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
