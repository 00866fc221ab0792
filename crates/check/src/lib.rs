//! The check of databases: every data file page by page, every log file block by block.
//!
//! There are three doors. [`check_directory`] and [`check_files`] look at the files of a stopped server; [`check_database`] at
//! those of a [`Snapshot`], a copy of a database in use (DBCC); [`check_live`] at the pages of tempdb under locks. Nothing is written,
//! and no catalog is opened: what it says is read off its pages (`schema`).
//!
//! | module | owns |
//! |---|---|
//! | `source` | a file's pages; those that cannot be read, were never written, are another page, or do not fit their checksum: 823, 8909, 8939, 8928 |
//! | `maps` | owners by the allocation maps: 2575, 2577, 2579, 8904, 8910, 8946, 8947, 8948, 8959, 8969, 8998 |
//! | `data` | extents and pages against their owners: 2533, 2534, 8903 to 8906, 8938, 8946, 8948 |
//! | `rows` | what is wrong with slots, records, columns, keys of a page: 2511, 2512, 2537, 2570, 2574, 8927, 8938 to 8944, 8960, 8962, 8970 |
//! | `relations` | trees, forwarded rows, values outside rows: 2531, 8929, 8931 to 8937, 8961, 8964, 8965, 8971 to 8981, 8993, 8994 |
//! | `matching` | tables against their indexes: 8951, 8952, 8955, 8956 |
//! | `catalog` | counts, chains and rows of base tables: 2508, 2575, 8906, 8914, 8992 |
//! | `schema`, `entries` | what tables and indexes are, by the pages of the catalog; what an index should have of a row |
//! | `counted`, `units` | rows and pages of a unit, counted; units as the catalog lists them |
//! | `facts`, `finding` | what pages say of others; what was found |
//! | `usage` | extents and pages by file and unit, for CHECKALLOC |
//! | `live`, `snapshot` | the pages of a database in use, and its copy of a moment |
//! | `inspect` | pages, shown to people |
//!
//! Here: log files (824, 9004), and a file header that is none (5172).
//!
//! 1. What a page says of others is remembered (`facts`) and judged when all pages have been seen.
//! 2. What hangs on something that could not be read is not judged: damage is found where it is.
//! 3. Rows, keys and relations are looked at in files of ours only; of those of others, pages and maps are.
//!
//! A database that was not shut down cleanly has pages that recovery is still going to write: its findings say little,
//! which is why the log file's report tells how the log ends.

#![forbid(unsafe_code)]

// The tests begin with the small database of the room below (`storage/src/tests/fixture.rs`).
#[cfg(test)]
extern crate self as duramen_check;

mod catalog;
mod counted;
mod data;
mod entries;
mod facts;
mod finding;
pub mod inspect;
mod live;
mod maps;
mod matching;
mod relations;
mod rows;
mod schema;
mod snapshot;
mod source;
#[cfg(test)]
mod tests;
mod units;
mod usage;

use std::path::{Path, PathBuf};

use duramen_base::PageId;
use duramen_os::{Disk, IoError};
use duramen_wal::{LogReport, verify_file};

pub use data::{Checked, ObjectPages, Request, check_database};
pub use finding::Finding;
pub use live::check_live;
pub use snapshot::{Snapshot, set_last_good_check};
pub use usage::{FileUse, Share, UnitUse};

use duramen_format::boot::FileHeader;
use source::DataFile;

/// How deep directories are looked into.
const MAX_DEPTH: usize = 8;
/// Findings kept of one file; the rest is counted.
const MAX_FINDINGS: usize = 1000;

/// The numbers of what is found, as SQL Server has them.
pub mod number {
    pub const READ_FAILED: u32 = 823;
    /// Of log files; of data files it is 8939.
    pub const BAD_PAGE: u32 = 824;
    pub const WRONG_COUNT: u32 = 2508;
    pub const PAGE_NOT_SEEN: u32 = 2533;
    pub const IAM_CHAIN: u32 = 2575;
    pub const IAM_SEQUENCE: u32 = 2577;
    pub const BAD_FILE_HEADER: u32 = 5172;
    pub const FREE_AND_MIXED: u32 = 8903;
    pub const TWO_EXTENT_OWNERS: u32 = 8904;
    pub const EXTENT_OF_NOBODY: u32 = 8905;
    pub const PAGE_OF_NOBODY: u32 = 8906;
    pub const WRONG_PAGE_ID: u32 = 8909;
    pub const TWO_PAGE_OWNERS: u32 = 8910;
    pub const WRONG_FREE_SPACE: u32 = 8914;
    pub const BAD_STRUCTURE: u32 = 8939;
    pub const BAD_MAP: u32 = 8946;
    pub const WRONG_PFS: u32 = 8948;
    pub const NOT_CHECKED: u32 = 8998;
    pub const LOG: u32 = 9004;
}

/// What the check of one file gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileReport {
    pub path: PathBuf,
    /// What was looked at, in one line.
    pub summary: String,
    /// Things worth knowing that are no damage.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    /// Findings beyond those kept.
    pub more_findings: usize,
    /// Not for what tempdb has left.
    pub checked: bool,
}

impl FileReport {
    fn new(path: &Path) -> FileReport {
        FileReport {
            path: path.to_owned(),
            summary: String::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            more_findings: 0,
            checked: true,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, number: u32, page: Option<PageId>, text: impl Into<String>) {
        self.push(Finding {
            number,
            severity: 16,
            state: 1,
            page,
            object: None,
            unit: None,
            text: text.into(),
        });
    }

    fn push(&mut self, finding: Finding) {
        if self.findings.len() >= MAX_FINDINGS {
            self.more_findings += 1;
            return;
        }
        self.findings.push(finding);
    }
}

/// Checks every `.mdf`, `.ndf` and `.ldf` below `dir`, in path order. The error is for a directory that cannot be read.
/// What tempdb has left is named and not looked at: nothing in it is meant to be whole.
pub fn check_directory(disk: &dyn Disk, dir: &Path) -> Result<Vec<FileReport>, IoError> {
    let mut paths = Vec::new();
    collect(disk, disk.list(dir)?, 0, &mut paths);
    let noted = duramen_storage::noted_tempdb_files(disk, dir);
    let (left_over, paths): (Vec<_>, Vec<_>) = paths
        .into_iter()
        .partition(|p| noted.contains(p) || is_tempdb(disk, dir, p));
    let mut reports = check_files(disk, &paths);
    for path in left_over {
        let mut report = FileReport::new(&path);
        report.checked = false;
        report.summary = "tempdb, made anew at every start: not checked".to_owned();
        reports.push(report);
    }
    reports.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(reports)
}

/// Whether a file is one of tempdb's, by the names they have in a server's data directory.
fn is_tempdb(disk: &dyn Disk, dir: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = matches!(&*name, "tempdb.mdf" | "templog.ldf")
        || name.starts_with("tempdb_mssql_") && name.ends_with(".ndf");
    named && path.parent() == Some(dir) && disk.exists(&dir.join("master.mdf"))
}

/// Checks these files; data files of one database are checked together.
pub fn check_files(disk: &dyn Disk, paths: &[PathBuf]) -> Vec<FileReport> {
    let mut reports = Vec::new();
    let mut groups: Vec<Vec<DataFile>> = Vec::new();
    for path in paths {
        if extension(path) == "ldf" {
            reports.push(check_log(disk, path));
            continue;
        }
        match DataFile::open(disk, path) {
            Ok(file) => {
                // A copy of a database beside the original has the same binding and the same file ids.
                let home = groups.iter_mut().find(|g| {
                    file.header.binding != [0; 16]
                        && g[0].header.binding == file.header.binding
                        && g.iter().all(|f| f.id() != file.id())
                });
                match home {
                    Some(group) => group.push(file),
                    None => groups.push(vec![file]),
                }
            }
            Err(report) => reports.push(*report),
        }
    }
    for group in groups {
        reports.extend(data::check(group));
    }
    reports.sort_by(|a, b| a.path.cmp(&b.path));
    reports
}

/// The disk does not say what is a directory: what can be listed is one.
fn collect(disk: &dyn Disk, entries: Vec<PathBuf>, depth: usize, out: &mut Vec<PathBuf>) {
    for path in entries {
        if matches!(extension(&path).as_str(), "mdf" | "ndf" | "ldf") {
            out.push(path);
        } else if depth < MAX_DEPTH
            && let Ok(below) = disk.list(&path)
        {
            collect(disk, below, depth + 1, out);
        }
    }
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_ascii_lowercase()
}

fn check_log(disk: &dyn Disk, path: &Path) -> FileReport {
    let mut report = FileReport::new(path);
    match source::read_header(disk, path) {
        Ok(page) => {
            let id = PageId::new(PageId::from_bytes(&page[32..]).unwrap_or_default().file, 0);
            source::verify_page(&mut report, &page, id, false);
            if let Err(e) = FileHeader::read(&page) {
                let text = format!("The file header page is not one: {e}.");
                report.add(number::BAD_FILE_HEADER, Some(id), text);
            }
        }
        Err(e) => {
            let text = format!("The file header page cannot be read: {e}.");
            report.add(number::READ_FAILED, None, text);
            return report;
        }
    }
    match verify_file(disk, path) {
        Ok(log) => add_log(&mut report, &log),
        Err(e) => report.add(number::READ_FAILED, None, format!("{e}.")),
    }
    report
}

fn add_log(report: &mut FileReport, log: &LogReport) {
    let dialect = if log.own || log.blocks == 0 {
        ""
    } else {
        "foreign "
    };
    report.summary = format!(
        "{dialect}log: {} VLFs ({} used), {} blocks, {} records",
        log.vlfs, log.used_vlfs, log.blocks, log.records
    );
    if let Some(at) = log.torn {
        let note = format!("an incomplete block at offset {at:#x}, where the log ends");
        report.notes.push(note);
    }
    if log.unfinished_growth > 0 {
        let note = format!("{} bytes of an unfinished growth", log.unfinished_growth);
        report.notes.push(note);
    }
    if log.records > 0 && !log.ends_with_checkpoint {
        let note = "does not end with a checkpoint: recovery may still have pages to write";
        report.notes.push(note.to_owned());
    }
    for f in &log.findings {
        let place = if f.at.is_null() {
            String::new()
        } else {
            format!(" ({})", f.at)
        };
        let text = format!("Log damaged at offset {:#x}{place}: {}.", f.offset, f.what);
        report.add(number::LOG, None, text);
    }
}
