//! The data files of a database, and what the buffer pool needs to know of a database: its files and its log.

mod admin;
pub(crate) mod changed;
mod cut;
pub(crate) mod fill;
pub(crate) mod grow;
pub(crate) mod log_header;
pub(crate) mod make;
pub(crate) mod minimal;
mod raise;
pub(crate) mod table;
pub(crate) mod watched;

pub use admin::{FileChange, FilegroupChange, FilegroupInfo};
pub use fill::ObjectNames;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, FileId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_observe::{FileIo, Transfer};
use duramen_os::sync::{Mutex, Rank, RwLock};
use duramen_os::{DiskFile, Env, OpenOptions};
use duramen_txn::RecordLog;

use crate::error::{io_error, logical_error};
use crate::format::PageBytes;
use crate::format::page::{PageRef, Verify, verify};
use crate::operations::PageWaits;
use crate::recovery::Progress;
use crate::suspects::{self, SuspectPage, Suspicion};

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

/// What catalog views show of a data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileInfo {
    pub spec: DataFileSpec,
    pub size: u32,
    pub free_extents: u32,
}

#[derive(Debug)]
pub(crate) struct DataFile {
    pub id: u16,
    pub handle: Arc<watched::Watched>,
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
            handle: Arc::new(watched::Watched::new(handle)),
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

    fn name(&self) -> String {
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
}

/// A database as the buffer pool sees it.
pub(crate) struct DbStore {
    pub id: DbId,
    /// Where its files are: the engine's disk, or one over it (`backup::standby`).
    pub env: Env,
    /// Tells this database's pages in the double-write file from those of others.
    pub guid: [u8; 16],
    pub files: RwLock<Vec<Arc<DataFile>>>,
    pub log: OnceLock<Arc<dyn RecordLog>>,
    /// tempdb: nothing of it outlives the process, so no write of it waits for a log or a disk.
    pub temporary: bool,
    /// A standby: what is written of it lies over files that stay as they are, and must not reach them by way of the
    /// double-write file.
    pub standby: bool,
    /// While recovery runs, pages that were never written may be read.
    pub recovering: AtomicBool,
    /// How far recovery has come.
    pub progress: OnceLock<Arc<Progress>>,
    /// Told of pages that could not be read.
    pub suspects: suspects::Shared,
    /// What was waited for its pages.
    pub page_waits: PageWaits,
}

impl DbStore {
    pub fn file(&self, id: u16) -> Option<Arc<DataFile>> {
        self.files.read().iter().find(|f| f.id == id).cloned()
    }

    pub fn expect_file(&self, page: PageId) -> SqlResult<Arc<DataFile>> {
        self.file(page.file)
            .ok_or_else(|| logical_error("no such file", "read", self.id, page, ""))
    }

    /// Whether writing a page with this LSN would flush a log that is short of room: part of a sector is lost with it.
    pub fn spares_flush(&self, lsn: Lsn) -> bool {
        let log = self.log.get().filter(|l| !self.temporary && l.is_short());
        log.is_some_and(|l| l.durable_lsn() < lsn)
    }

    /// Makes the log durable up to `lsn`.
    pub fn flush_log(&self, lsn: Lsn) -> SqlResult<()> {
        match self.log.get() {
            Some(log) if !self.temporary && !lsn.is_null() && log.durable_lsn() < lsn => {
                log.flush(lsn)
            }
            _ => Ok(()),
        }
    }

    /// Whether the log is durable up to `lsn`, or is not asked.
    pub fn is_logged(&self, lsn: Lsn) -> bool {
        let log = self.log.get().filter(|_| !self.temporary);
        log.is_none_or(|l| l.durable_lsn() >= lsn.min(l.last_lsn()))
    }

    /// Reads a page and checks what it says about itself: 823 and 824.
    pub fn read_page(&self, page: PageId, into: &mut PageBytes) -> SqlResult<()> {
        let file = self.expect_file(page)?;
        if page.page >= file.size.load(Ordering::SeqCst) {
            return Err(logical_error(
                "incorrect pageid (beyond the end of the file)",
                "read",
                self.id,
                page,
                &file.name(),
            ));
        }
        let read = self.read_raw(page, into);
        if read.is_err() {
            self.suspect(page, Suspicion::Failed);
            return read;
        }
        let sound = check_page(self, page, into, &file.path);
        if sound.is_err()
            && let Some(why) = suspects::suspicion(into, page)
        {
            self.suspect(page, why);
        }
        sound
    }

    /// Leaves a note of a page that cannot be used. What recovery meets it may be about to write anew.
    fn suspect(&self, page: PageId, why: Suspicion) {
        if !self.recovering.load(Ordering::SeqCst) {
            let db = self.id;
            self.suspects.note(SuspectPage { db, page, why });
        }
    }

    /// Pages of the file from this one to its end.
    pub fn pages_from(&self, page: PageId) -> SqlResult<usize> {
        let size = self.expect_file(page)?.size.load(Ordering::SeqCst);
        Ok(size.saturating_sub(page.page) as usize)
    }

    /// Reads neighbouring pages, the first of which is `first`; nothing is checked.
    pub fn read_raw(&self, first: PageId, into: &mut [u8]) -> SqlResult<()> {
        let file = self.expect_file(first)?;
        let transfer = file.begin_read(first.page, into.len());
        file.handle
            .read_at(into, u64::from(first.page) * PAGE_BYTES as u64)
            .map_err(|e| io_error(&e, "read", first, &file.name()))?;
        if let Some(transfer) = transfer {
            transfer.has_read(into);
        }
        Ok(())
    }

    /// What [`DbStore::read_page`] checks.
    pub fn check_read(&self, page: PageId, bytes: &PageBytes) -> SqlResult<()> {
        let file = self.expect_file(page)?;
        check_page(self, page, bytes, &file.path)
    }
}

fn check_page(store: &DbStore, page: PageId, bytes: &PageBytes, path: &Path) -> SqlResult<()> {
    let fail =
        |problem: &str| logical_error(problem, "read", store.id, page, &path.display().to_string());
    match verify(bytes) {
        _ if planted::on(Bug::PageUnverified) => {}
        Verify::BadChecksum { expected, actual } => {
            return Err(fail(&format!(
                "incorrect checksum (expected: {expected:#010x}; actual: {actual:#010x})"
            )));
        }
        Verify::Torn => return Err(fail("torn page")),
        Verify::Ok | Verify::Unprotected => {}
    }
    let p = PageRef::new(bytes);
    if p.page_id() == page {
        return Ok(());
    }
    // Space that was never written reads as zeros; recovery is about to format it.
    if store.recovering.load(Ordering::SeqCst) && bytes.iter().all(|b| *b == 0) {
        return Ok(());
    }
    Err(fail(&format!(
        "incorrect pageid (expected {}:{}; actual {}:{})",
        page.file,
        page.page,
        p.page_id().file,
        p.page_id().page
    )))
}
