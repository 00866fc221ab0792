//! What the pool needs to know of a database: its files and its log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::page::{PageRef, Verify, verify};
use duramen_os::sync::RwLock;
use duramen_os::{DiskFile, Env};
use duramen_txn::RecordLog;

use crate::data_file::DataFile;
use crate::error::{io_error, logical_error};
use crate::page_waits::PageWaits;
use crate::suspects::{self, SuspectPage, Suspicion};

/// A database as the buffer pool sees it.
pub struct DbStore {
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
