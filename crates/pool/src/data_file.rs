//! A data file: read and written by pages, made longer.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::{DbId, FileId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_observe::{FileIo, Transfer, WaitType};
use duramen_os::sync::{Mutex, Rank, RwLock};
use duramen_os::{AlignedBuf, DiskFile, Env, IoError, OpenOptions};

use crate::error::io_error;
use crate::watched::Watched;

/// Growth is rounded to whole extents of 64 KB.
const ROUND: u32 = 8;
/// Zeros written at once.
const ZEROS: usize = 1 << 20;

/// How a file grows when it is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileGrowth {
    None,
    Pages(u32),
    Percent(u32),
}

/// A data file of CREATE DATABASE, or an existing one to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileSpec {
    pub path: PathBuf,
    /// The form in which the user wrote the path.
    pub shown_path: String,
    pub logical_name: String,
    pub file_id: u16,
    pub filegroup: u16,
    /// Pages.
    pub size: u32,
    pub max_size: Option<u32>,
    pub growth: FileGrowth,
}

#[derive(Debug)]
pub struct DataFile {
    pub id: u16,
    pub handle: Arc<Watched>,
    pub path: PathBuf,
    pub spec: RwLock<DataFileSpec>,
    /// Pages that may be used.
    pub size: AtomicU32,
    /// Serialises allocation in this file; the extent where the search for a free one begins.
    pub alloc: Mutex<u32>,
    /// Free extents, for proportional fill.
    pub free_extents: AtomicU32,
    /// Gives no extent any more: it is being removed.
    pub closing: AtomicBool,
    /// Log records before it are about another file of this id.
    pub create_lsn: Lsn,
    /// What is read and written, once the file is in use.
    io: OnceLock<Arc<FileIo>>,
}

impl DataFile {
    /// Opens an existing file; 5120.
    pub fn open(env: &Env, spec: &DataFileSpec) -> SqlResult<DataFile> {
        let options = OpenOptions {
            direct: true,
            ..OpenOptions::default()
        };
        let handle = env.disk.open(&spec.path, &options).map_err(|e| {
            let shown = spec.path.display();
            SqlError::new(&messages::CANNOT_OPEN_FILE, &[&shown, &e.code(), &e])
        })?;
        Ok(DataFile::new(spec, handle))
    }

    /// Makes a file that is not there yet: 5123.
    pub fn create(env: &Env, spec: &DataFileSpec) -> SqlResult<DataFile> {
        let options = OpenOptions {
            create_new: true,
            direct: true,
            ..OpenOptions::default()
        };
        let handle = env.disk.open(&spec.path, &options).map_err(|e| {
            let code = format!("{}({e})", e.code());
            SqlError::new(&messages::CREATE_FILE_OS_ERROR, &[&code, &spec.shown_path])
        })?;
        Ok(DataFile::new(spec, handle))
    }

    pub fn new(spec: &DataFileSpec, handle: Arc<dyn DiskFile>) -> DataFile {
        DataFile {
            id: spec.file_id,
            handle: Arc::new(Watched::new(handle)),
            path: spec.path.clone(),
            size: AtomicU32::new(spec.size),
            spec: RwLock::new(spec.clone()),
            alloc: Mutex::ranked(Rank::FileMaps, 0),
            free_extents: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            create_lsn: Lsn::NULL,
            io: OnceLock::new(),
        }
    }

    /// From now on reads and writes of pages count for this database's file: `sys.dm_io_virtual_file_stats`.
    pub fn count_for(&self, db: DbId) {
        self.io
            .get_or_init(|| Arc::new(FileIo::new(db, FileId(self.id), self.handle.handle())));
    }

    /// Its reads and writes, if they are counted.
    pub fn io(&self) -> Option<Arc<FileIo>> {
        self.io.get().cloned()
    }

    /// Does one write, counted.
    fn write(&self, page: u32, bytes: &[u8]) -> SqlResult<()> {
        let at = u64::from(page) * PAGE_BYTES as u64;
        let size = bytes.len() as u64;
        let transfer = self.io.get().map(|io| io.begin_write(at, size));
        self.handle
            .write_at(bytes, at)
            .map_err(|e| io_error(&e, "write", PageId::new(self.id, page), &self.name()))?;
        if let Some(transfer) = transfer {
            transfer.has_written(bytes);
        }
        Ok(())
    }

    /// A read of so many bytes begins, if the file's reads and writes are counted.
    pub fn begin_read(&self, page: u32, bytes: usize) -> Option<Transfer<'_>> {
        let at = u64::from(page) * PAGE_BYTES as u64;
        self.io.get().map(|io| io.begin_read(at, bytes as u64))
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn write_page(&self, page: u32, bytes: &PageBytes) -> SqlResult<()> {
        self.write(page, bytes)
    }

    /// Writes neighbouring pages, the first of which is `page`.
    pub fn write_pages(&self, page: u32, bytes: &[u8]) -> SqlResult<()> {
        self.write(page, bytes)
    }

    pub fn sync(&self) -> SqlResult<()> {
        self.handle
            .sync()
            .map_err(|e| io_error(&e, "sync", PageId::new(self.id, 0), &self.name()))
    }

    /// Takes the file's length on the disk as its size, until its header can be read.
    pub fn take_length(&self) -> SqlResult<()> {
        let name = self.name();
        let bytes = self
            .handle
            .len()
            .map_err(|e| io_error(&e, "open", PageId::new(self.id, 0), &name))?;
        let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        self.size.store(pages, Ordering::SeqCst);
        Ok(())
    }
}

impl FileGrowth {
    /// The size after one growth, when there is a larger one below `max`. Pages.
    pub fn next_size(self, size: u32, max: Option<u32>) -> Option<u32> {
        let wanted = match self {
            FileGrowth::None | FileGrowth::Pages(0) | FileGrowth::Percent(0) => return None,
            FileGrowth::Pages(n) => u64::from(n),
            FileGrowth::Percent(p) => (u64::from(size) * u64::from(p)).div_ceil(100),
        };
        let limit = max.unwrap_or(u32::MAX) / ROUND * ROUND;
        let to = (u64::from(size) + wanted).next_multiple_of(u64::from(ROUND));
        let to = u32::try_from(to).unwrap_or(u32::MAX).min(limit);
        (to > size).then_some(to)
    }
}

impl DataFile {
    /// Makes the file `pages` long, on the disk for sure when it returns. Without `instant` the new space is written.
    pub fn extend(&self, pages: u32, instant: bool) -> Result<(), IoError> {
        self.extend_while(pages, instant, &|| true)
    }

    /// The same for a statement whose work it is: what it has given up ends between two writes.
    pub fn extend_asked(&self, pages: u32, instant: bool) -> Result<(), IoError> {
        self.extend_while(pages, instant, &|| !duramen_os::thread::is_given_up())
    }

    fn extend_while(
        &self,
        pages: u32,
        instant: bool,
        wanted: &dyn Fn() -> bool,
    ) -> Result<(), IoError> {
        let to = u64::from(pages) * PAGE_BYTES as u64;
        let have = self.handle.len()?;
        if to > have {
            let _wait = duramen_observe::wait(WaitType::PREEMPTIVE_OS_FILEOPS);
            let allocated = self.handle.allocate_while(have, to - have, wanted);
            if let Err(IoError::NoSpace | IoError::GivenUp) = allocated {
                let _undoing = duramen_os::thread::undoing();
                // Others may want the space; if it cannot be given back, the next growth takes it.
                let _ = self.handle.set_len(have);
            }
            allocated?;
        }
        if !instant {
            // From the size that counts: what lies behind it may be the rest of a growth that was cut short.
            let from = u64::from(self.size.load(Ordering::SeqCst)) * PAGE_BYTES as u64;
            self.write_zeros(if from < to { from } else { 0 }, to, wanted)?;
        }
        let _wait = duramen_observe::wait(WaitType::PREEMPTIVE_OS_FLUSHFILEBUFFERS);
        self.handle.sync()
    }

    fn write_zeros(&self, from: u64, to: u64, wanted: &dyn Fn() -> bool) -> Result<(), IoError> {
        let zeros = AlignedBuf::zeroed(ZEROS);
        let _wait = duramen_observe::wait(WaitType::PREEMPTIVE_OS_WRITEFILEGATHER);
        let zeroing = duramen_observe::Zeroing::begin(&self.path, from, to);
        let mut at = from;
        while at < to {
            if !wanted() {
                return Err(IoError::GivenUp);
            }
            let n = (to - at).min(ZEROS as u64);
            self.handle.write_at(&zeros[..n as usize], at)?;
            at += n;
            zeroing.at(at - from);
        }
        Ok(())
    }
}
