//! What tempdb and the rows that queries spill beside it may take of the disk together: `--max-tempdb`.
//!
//! A file of tempdb stops growing at its own maximum, which the ceiling is divided into; what spills counts beside the
//! files. Whoever finds no room has 1105, and only its statement ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{DbId, PAGE_BYTES, SqlError, messages};
use duramen_os::{DiskFile, IoError};

use crate::engine::{Database, Engine};
use crate::files::DataFile;

#[derive(Debug)]
pub(crate) struct TempSpace {
    /// Where files for rows that wait are made.
    dir: PathBuf,
    ceiling: AtomicU64,
    /// Bytes in files that rows have spilled to.
    spilled: AtomicU64,
}

impl TempSpace {
    pub fn new(dir: &Path) -> TempSpace {
        TempSpace {
            dir: dir.to_owned(),
            ceiling: AtomicU64::new(u64::MAX),
            spilled: AtomicU64::new(0),
        }
    }
}

impl TempSpace {
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Engine {
    /// Bytes that tempdb's files and what spills may take together.
    pub fn set_max_tempdb(&self, bytes: u64) {
        self.temp_space.ceiling.store(bytes, Ordering::Relaxed);
    }

    pub fn max_tempdb(&self) -> u64 {
        self.temp_space.ceiling.load(Ordering::Relaxed)
    }

    /// Bytes of tempdb's files.
    fn tempdb_bytes(&self) -> u64 {
        let all = self.open_databases();
        let tempdb = all.iter().find(|db| db.id == DbId::TEMPDB);
        tempdb.map_or(0, |db| db.file_bytes())
    }

    /// A file that rows spill to grows by so much: 1105 when there is no room. `number` is the file's, for the message.
    pub fn take_spill(&self, bytes: u64, number: u64) -> Result<(), SqlError> {
        let spilled = &self.temp_space.spilled;
        let now = spilled.fetch_add(bytes, Ordering::AcqRel) + bytes;
        let ceiling = self.max_tempdb();
        if ceiling == u64::MAX || now.saturating_add(self.tempdb_bytes()) <= ceiling {
            return Ok(());
        }
        self.give_spill(bytes);
        Err(no_room_to_spill(number))
    }

    /// So much of it is gone.
    pub fn give_spill(&self, bytes: u64) {
        self.temp_space.spilled.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// 1105 for a file that rows spill to.
pub fn no_room_to_spill(number: u64) -> SqlError {
    let object = format!("<temporary system object: {number}>");
    let args: [&dyn std::fmt::Display; 4] = [&object, &"", &"tempdb", &"PRIMARY"];
    SqlError::new(&messages::FILEGROUP_FULL, &args).with_state(2)
}

impl Database {
    /// Bytes of all its files.
    fn file_bytes(&self) -> u64 {
        let data: u64 = self
            .store
            .files
            .read()
            .iter()
            .map(|f| u64::from(f.size.load(Ordering::SeqCst)) * PAGE_BYTES as u64)
            .sum();
        let log = self.log.as_ref();
        data + log.map_or(0, |l| l.file_sizes().iter().map(|f| f.1).sum())
    }

    /// Whether a data file may take so much more: of what its volume does not keep back, and in tempdb below the ceiling.
    pub(crate) fn may_take(&self, file: &DataFile, bytes: u64) -> Result<(), IoError> {
        let space = &self.engine.temp_space;
        let full = || {
            let now = self.file_bytes() + space.spilled.load(Ordering::Acquire);
            now.saturating_add(bytes) > self.engine.max_tempdb()
        };
        match file.handle.room()? < bytes || self.store.temporary && full() {
            true => Err(IoError::NoSpace),
            false => Ok(()),
        }
    }
}
