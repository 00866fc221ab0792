//! A data file as a row of pages, and what every page must fulfil by itself.

use std::path::Path;
use std::sync::Arc;

use duramen_base::messages::{self};
use duramen_base::{PAGE_BYTES, PageId};
use duramen_format::PageBytes;
use duramen_format::boot::FileHeader;
use duramen_format::page::{PageRef, Verify, restore_torn_bits, verify};
use duramen_os::{AlignedBuf, Disk, DiskFile, IoError, OpenOptions};

use super::facts::Facts;
use super::finding::{Finding, Whose};
use super::{FileReport, number};

/// Pages read at once.
pub(super) const CHUNK_PAGES: u32 = 128;

pub(super) struct DataFile {
    file: Arc<dyn DiskFile>,
    pub header: FileHeader,
    /// Pages that the header counts and the file has.
    pub pages: u32,
    pub report: FileReport,
}

fn open(disk: &dyn Disk, path: &Path) -> Result<Arc<dyn DiskFile>, IoError> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    disk.open(path, &options)
}

/// The first page of any database file.
pub(super) fn read_header(disk: &dyn Disk, path: &Path) -> Result<Box<PageBytes>, IoError> {
    let mut page = Box::new([0; PAGE_BYTES]);
    open(disk, path)?.read_at(&mut page[..], 0)?;
    Ok(page)
}

impl DataFile {
    /// Opens a file and reads its header; without one there is nothing to go by, so that the report is all there is.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<DataFile, Box<FileReport>> {
        let mut report = FileReport::new(path);
        let opened = read_header(disk, path)
            .and_then(|page| Ok((page, open(disk, path)?)))
            .and_then(|(page, file)| Ok((page, file.len()?, file)));
        let (mut page, bytes, file) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                let text = format!("The file header page cannot be read: {e}.");
                report.add(number::READ_FAILED, None, text);
                return Err(Box::new(report));
            }
        };
        let id = PageRef::new(&page).page_id();
        let sound = verify_page(&mut report, &page, PageId::new(id.file, 0), false);
        restore_torn_bits(&mut page);
        let header = match FileHeader::read(&page) {
            Ok(header) if sound && header.file_id == id.file && header.file_id != 0 => header,
            other => {
                let text = match other {
                    Ok(_) => "The file header page names no file, or another one.".to_owned(),
                    Err(e) => format!("The file header page is not one: {e}."),
                };
                report.add(number::BAD_FILE_HEADER, Some(id), text);
                return Err(Box::new(report));
            }
        };
        let there = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        if there < header.size {
            let text = format!(
                "The file has {there} pages, its header counts {}.",
                header.size
            );
            report.add(number::BAD_FILE_HEADER, Some(id), text);
        }
        Ok(DataFile {
            file,
            pages: header.size.min(there),
            header,
            report,
        })
    }

    pub fn id(&self) -> u16 {
        self.header.file_id
    }

    pub fn page_id(&self, page: u32) -> PageId {
        PageId::new(self.id(), page)
    }

    /// One page, its displaced bits put back where it has some; nothing is reported.
    pub fn read(&self, page: u32) -> Option<Box<PageBytes>> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        let at = u64::from(page) * PAGE_BYTES as u64;
        if page >= self.pages || self.file.read_at(&mut bytes[..], at).is_err() {
            return None;
        }
        if !matches!(verify(&bytes), Verify::Ok | Verify::Unprotected) {
            return None;
        }
        restore_torn_bits(&mut bytes);
        Some(bytes)
    }

    /// One page, its displaced bits put back, when it is there and sound; otherwise that is reported.
    pub fn sound_page(&mut self, page: u32) -> Option<Box<PageBytes>> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        let id = self.page_id(page);
        if let Err(e) = self
            .file
            .read_at(&mut bytes[..], u64::from(page) * PAGE_BYTES as u64)
        {
            let text = format!("Page {id} cannot be read: {e}.");
            self.report.add(number::READ_FAILED, Some(id), text);
            return None;
        }
        if let Some(found) = faults_of(&bytes, id, self.header.own, None) {
            found.into_iter().for_each(|f| self.report.push(f));
            return None;
        }
        restore_torn_bits(&mut bytes);
        Some(bytes)
    }

    /// Calls `each` with every page that `wanted` names of the [`CHUNK_PAGES`] from `first` on, in order.
    pub fn for_pages(
        &self,
        first: u32,
        buf: &mut AlignedBuf,
        wanted: impl Fn(u32) -> bool,
        facts: &mut Facts,
        mut each: impl FnMut(&mut Facts, u32, &mut PageBytes),
    ) {
        let count = CHUNK_PAGES.min(self.pages.saturating_sub(first));
        if !(first..first + count).any(&wanted) {
            return;
        }
        let bytes = &mut buf[..count as usize * PAGE_BYTES];
        let at = u64::from(first) * PAGE_BYTES as u64;
        let whole = self.file.read_at(bytes, at);
        for (i, page) in bytes.chunks_exact_mut(PAGE_BYTES).enumerate() {
            let n = first + i as u32;
            let Ok(page) = <&mut PageBytes>::try_from(page) else {
                continue;
            };
            if !wanted(n) {
                continue;
            }
            // A chunk that cannot be read whole is read page by page, so that one bad page costs one page.
            let at = u64::from(n) * PAGE_BYTES as u64;
            if whole.is_err()
                && let Err(e) = self.file.read_at(&mut page[..], at)
            {
                let id = self.page_id(n);
                facts.findings.push(read_failed(id, &e));
                continue;
            }
            each(facts, n, page);
        }
    }
}

fn read_failed(id: PageId, e: &IoError) -> Finding {
    Finding {
        number: number::READ_FAILED,
        severity: 16,
        state: 1,
        page: Some(id),
        object: None,
        unit: None,
        text: format!("Page {id} cannot be read: {e}."),
    }
}

/// What is wrong with a data file's page whatever it holds, as DBCC says it: 8909, or 8939 and 8928. `None`: nothing.
pub(super) fn faults_of(
    page: &PageBytes,
    id: PageId,
    own: bool,
    owner: Option<Whose>,
) -> Option<Vec<Finding>> {
    let header = PageRef::new(page);
    let own_id = header.page_id();
    let protection = match verify(page) {
        Verify::BadChecksum { .. } | Verify::Torn => false,
        Verify::Unprotected => !own,
        Verify::Ok => true,
    };
    // What a page says of itself is not believed when it is damaged.
    let whose = owner.unwrap_or_else(|| Whose::unknown(header.alloc_unit()));
    let mut out = Vec::new();
    if page.iter().all(|b| *b == 0) || own_id != id && protection {
        let unknown = Whose::unknown(header.alloc_unit());
        let args: [&dyn std::fmt::Display; 2] = [&id, &own_id];
        out.push(unknown.finding(&messages::PAGE_HEADER_WRONG, Some(id), &args));
    } else if !protection {
        let test = "IS_OFF (BUF_IOERR, pBUF->bstat)";
        let args: [&dyn std::fmt::Display; 4] = [&id, &test, &12_716_041, &-4];
        out.push(whose.finding(&messages::PAGE_TEST_FAILED, Some(id), &args));
    } else {
        return None;
    }
    if owner.is_some() {
        out.push(whose.finding(&messages::PAGE_NOT_PROCESSED, Some(id), &[&id]));
    }
    Some(out)
}

/// Checks protection and self id. `own`: pages of our files always carry a checksum.
pub(super) fn verify_page(
    report: &mut FileReport,
    page: &PageBytes,
    id: PageId,
    own: bool,
) -> bool {
    if page.iter().all(|b| *b == 0) {
        let text = format!("Page {id} is in use and was never written.");
        report.add(number::WRONG_PAGE_ID, Some(id), text);
        return false;
    }
    let text = match verify(page) {
        Verify::BadChecksum { expected, actual } => format!(
            "Page {id}: incorrect checksum (expected: {expected:#010x}; actual: {actual:#010x})."
        ),
        Verify::Torn => format!("Page {id}: torn page."),
        Verify::Unprotected if own => format!("Page {id} carries no checksum."),
        Verify::Ok | Verify::Unprotected => String::new(),
    };
    if !text.is_empty() {
        report.add(number::BAD_PAGE, Some(id), text);
        return false;
    }
    let own_id = PageRef::new(page).page_id();
    if own_id != id {
        let text = format!("Page {id} has the page id {own_id} in its header.");
        report.add(number::WRONG_PAGE_ID, Some(id), text);
        return false;
    }
    true
}
