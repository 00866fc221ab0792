//! tempdb: the database that is made anew at every start and dies with the process.
//!
//! Invariants, which follow from that
//! 1. Nothing of it is ever synced, and nobody waits for its log: a flush of it returns at once, commits in it owe the
//!    client nothing (`txn::gate`), and it takes no part in a decision over several databases (`txn::txlog`).
//!    [test: lives_without_a_sync_and_is_born_empty]
//! 2. Its files lie in the page cache and are made over those of the former life, in place: making it costs no I/O worth
//!    speaking of. What a page held before does not matter, because a page is formatted before it is read.
//!    [test: lives_without_a_sync_and_is_born_empty]
//! 3. A checkpoint of it only lets go of log. Its pages leave memory when the frames are needed, without a copy in the
//!    double-write file. [test: lives_without_a_sync_and_is_born_empty]

use std::path::{Path, PathBuf};

use duramen_base::{DbId, PAGE_BYTES, PageId, SqlResult};
use duramen_os::{Disk, Env, IoError, OpenOptions, volatile};

use duramen_pool::{DataFile, DataFileSpec, io_error};

/// Database 2, as everywhere.
pub(crate) fn is_temporary(id: DbId) -> bool {
    id == DbId::TEMPDB
}

/// Makes a data file, over the one of the former life when there is one.
pub(crate) fn make_file(env: &Env, spec: &DataFileSpec) -> SqlResult<DataFile> {
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let name = spec.path.display().to_string();
    let fail = |e| io_error(&e, "create", PageId::NULL, &name);
    let file = env.disk.open(&spec.path, &options).map_err(fail)?;
    let handle = volatile(file);
    let bytes = u64::from(spec.size) * PAGE_BYTES as u64;
    if handle.len().map_err(fail)? > bytes {
        handle.set_len(bytes).map_err(fail)?;
    }
    Ok(DataFile::new(spec, handle))
}

/// The list of tempdb's files that is in a data directory, a path a line: for whoever looks at the directory's files without a
/// server. It is there once somebody has changed them.
const LIST: &str = "duramen.tempdb";
/// No list is longer: 32,767 files would be.
const LONGEST_LIST: u64 = 16 << 20;

/// Writes the list.
pub fn note_files(disk: &dyn Disk, dir: &Path, paths: &[PathBuf]) -> Result<(), IoError> {
    let mut text = String::new();
    for path in paths {
        let shown = path.strip_prefix(dir).unwrap_or(path);
        text.push_str(&shown.to_string_lossy());
        text.push('\n');
    }
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = disk.open(&dir.join(LIST), &options)?;
    file.set_len(text.len() as u64)?;
    file.write_at(text.as_bytes(), 0)
}

/// The paths of the list; none where there is no list.
pub fn noted_files(disk: &dyn Disk, dir: &Path) -> Vec<PathBuf> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let read = || -> Result<Vec<u8>, IoError> {
        let file = disk.open(&dir.join(LIST), &options)?;
        let mut bytes = vec![0; file.len()?.min(LONGEST_LIST) as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(|line| dir.join(line)).collect()
}
