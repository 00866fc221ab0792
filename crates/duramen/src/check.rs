//! `duramen check DIR`: are the data files of a stopped server whole?
//!
//! Every allocated page is read and compared with its address and its checksum; then, for files that fit in memory,
//! the catalog is read and every row of every table decoded. Nothing is written. A file that was in use when its
//! server died may show torn pages that recovery repairs at the next start: that is said, not hidden.

use std::path::{Path, PathBuf};

use duramen_base::{PAGE_BYTES, PageId};
use duramen_os::{DiskFile, Env, IoError, OpenOptions};
use duramen_storage::format::PageBytes;
use duramen_storage::format::alloc::{pfs, pfs_get, pfs_page_of};
use duramen_storage::format::foreign::ForeignDatabase;
use duramen_storage::format::page::{PageRef, Verify, page_type, verify};

const USAGE: &str = "\
usage: duramen check DIR

Checks the data files (*.mdf, *.ndf) in DIR and below DIR/drives. The server must be stopped.
Exit code 0: whole; 1: damage found; 2: could not check.
";
/// Larger files have their pages checked, not their rows.
const MAX_DECODED_BYTES: u64 = 1 << 30;
const READ_PAGES: usize = 64;
/// So many bad pages are named; all are counted.
const NAMED: usize = 20;
/// How deep below DIR/drives files are looked for.
const MAX_DEPTH: usize = 8;

/// The exit code.
pub fn run(args: &[String]) -> u8 {
    let [dir] = args else {
        eprint!("{USAGE}");
        return 2;
    };
    if matches!(dir.as_str(), "--help" | "-h") {
        print!("{USAGE}");
        return 0;
    }
    match check(&Env::real(), Path::new(dir)) {
        Ok(0) => 0,
        Ok(_) => 1,
        Err(message) => {
            eprintln!("duramen: {message}");
            2
        }
    }
}

/// Counts what is damaged.
fn check(env: &Env, dir: &Path) -> Result<usize, String> {
    let mut files = Vec::new();
    find(env, dir, 0, &mut files).map_err(|e| format!("{}: {e}", dir.display()))?;
    let drives = dir.join("drives");
    if env.disk.exists(&drives) {
        find(env, &drives, MAX_DEPTH, &mut files)
            .map_err(|e| format!("{}: {e}", drives.display()))?;
    }
    if files.is_empty() {
        return Err(format!("no data files in {}", dir.display()));
    }
    let mut damage = 0;
    for path in files {
        match file(env, &path) {
            Ok(report) => {
                damage += report.bad.len() + report.tables.len();
                report.print(&path);
            }
            Err(error) => {
                damage += 1;
                println!("{}: {error}", path.display());
            }
        }
    }
    Ok(damage)
}

/// Data files, in name order; `depth` levels of directories below.
fn find(env: &Env, dir: &Path, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), IoError> {
    for path in env.disk.list(dir)? {
        match path.extension().and_then(|e| e.to_str()) {
            Some("mdf" | "ndf" | "MDF" | "NDF") => out.push(path),
            // What cannot be listed is a file.
            None if depth > 0 => {
                let _ = find(env, &path, depth - 1, out);
            }
            _ => {}
        }
    }
    Ok(())
}

#[derive(Default)]
struct Report {
    allocated: usize,
    unprotected: usize,
    bad: Vec<(PageId, &'static str)>,
    /// Tables read, rows in them.
    read: (usize, usize),
    /// What could not be read.
    tables: Vec<String>,
}

impl Report {
    fn print(&self, path: &Path) {
        println!(
            "{}: {} pages in use, {} bad, {} without a checksum; {} tables, {} rows read",
            path.display(),
            self.allocated,
            self.bad.len(),
            self.unprotected,
            self.read.0,
            self.read.1
        );
        for (page, what) in self.bad.iter().take(NAMED) {
            println!("  page {page}: {what}");
        }
        for what in self.tables.iter().take(NAMED) {
            println!("  {what}");
        }
        if self.bad.iter().any(|(_, what)| *what == CHECKSUM) {
            println!("  (after a crash, the next start repairs pages that were being written)");
        }
    }
}

const CHECKSUM: &str = "the checksum is wrong";

fn file(env: &Env, path: &Path) -> Result<Report, String> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options).map_err(|e| e.to_string())?;
    let len = file.len().map_err(|e| e.to_string())?;
    if len < PAGE_BYTES as u64 {
        return Err("shorter than a page".to_owned());
    }
    let mut report = pages(file.as_ref(), len / PAGE_BYTES as u64).map_err(|e| e.to_string())?;
    let primary = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("mdf"));
    if primary && len <= MAX_DECODED_BYTES {
        let mut bytes = vec![0; len as usize];
        file.read_at(&mut bytes, 0).map_err(|e| e.to_string())?;
        rows(&bytes, &mut report);
    }
    Ok(report)
}

/// Every allocated page, in file order. A PFS page comes before the pages it speaks of (all but page 0).
fn pages(file: &dyn DiskFile, count: u64) -> Result<Report, IoError> {
    let mut report = Report::default();
    let mut map: Option<Box<PageBytes>> = None;
    let mut number = None;
    let mut buffer = vec![0; READ_PAGES * PAGE_BYTES];
    let mut at = 0;
    while at < count {
        let n = (count - at).min(READ_PAGES as u64) as usize;
        file.read_at(&mut buffer[..n * PAGE_BYTES], at * PAGE_BYTES as u64)?;
        for (i, bytes) in buffer[..n * PAGE_BYTES]
            .chunks_exact(PAGE_BYTES)
            .enumerate()
        {
            let Ok(page) = <&PageBytes>::try_from(bytes) else {
                continue;
            };
            let index = at as u32 + i as u32;
            // The header page says which file of the database this is.
            let file_id = *number.get_or_insert(PageRef::new(page).page_id().file);
            if index == pfs_page_of(index) {
                map = (PageRef::new(page).page_type() == page_type::PFS).then(|| Box::new(*page));
                if map.is_none() {
                    report
                        .bad
                        .push((PageId::new(file_id, index), "not a PFS page"));
                }
            }
            let used = map
                .as_ref()
                .is_some_and(|map| pfs_get(map, index) & pfs::ALLOCATED != 0);
            // Pages 4 and 5 are reserved and never written.
            if index == 0 || !used || index == 4 || index == 5 {
                continue;
            }
            report.allocated += 1;
            let id = PageId::new(file_id, index);
            let at_home = PageRef::new(page).page_id() == id;
            match verify(page) {
                Verify::BadChecksum { .. } => report.bad.push((id, CHECKSUM)),
                Verify::Torn => report.bad.push((id, "the page is torn")),
                _ if !at_home => report.bad.push((id, "the header names another page")),
                Verify::Unprotected => report.unprotected += 1,
                Verify::Ok => {}
            }
        }
        at += n as u64;
    }
    Ok(report)
}

/// The catalog and the rows of every table.
fn rows(bytes: &[u8], report: &mut Report) {
    let database = match ForeignDatabase::from_mdf(bytes) {
        Ok(database) => database,
        Err(error) => {
            report
                .tables
                .push(format!("the catalog cannot be read: {}", error.message));
            return;
        }
    };
    for table in database.user_tables() {
        match database.table_rows(table.id) {
            Ok(rows) => {
                report.read.0 += 1;
                report.read.1 += rows.len();
            }
            Err(error) => report
                .tables
                .push(format!("table {}: {}", table.name, error.message)),
        }
    }
}
