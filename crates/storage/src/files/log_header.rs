//! The header page of a log file, looked at when the database is opened: the log itself knows no pages.
//!
//! It is written when the file is made, and once more when its mark is raised. The double-write file has no pages of log
//! files; it needs none, since all that changes then is the mark and the page's checksum, each within a sector: a sector is
//! written as a whole or not at all, and a header of which only one has reached the disk is still known for what it is
//! (`version::is_whole`).

use duramen_base::{FileId, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_format::boot::FileHeader;
use duramen_format::page::{Verify, seal, verify};
use duramen_format::version::{is_older, is_whole, raise, refuse_newer};
use duramen_os::{Env, OpenOptions};
use duramen_pool::io_error;
use duramen_wal::LogFileSpec;

use crate::marks::version_in;

/// 5120 when the file cannot be read, 5172 when the header is damaged, 5173 when the file belongs to another database.
pub(crate) fn check_log_file(env: &Env, spec: &LogFileSpec, binding: &[u8; 16]) -> SqlResult<()> {
    let shown = spec.path.display();
    let invalid =
        |property: &str| SqlError::new(&messages::FILE_HEADER_INVALID, &[&shown, &property]);
    let mut page: PageBytes = [0; PAGE_BYTES];
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(&spec.path, &options);
    let read = file.and_then(|file| {
        file.read_at(&mut page, 0)?;
        Ok(version_in(&*file))
    });
    let version =
        read.map_err(|e| SqlError::new(&messages::CANNOT_OPEN_FILE, &[&shown, &e.code(), &e]))?;
    refuse_newer(&shown.to_string(), version)?;
    if !is_whole(&page) {
        return Err(invalid("PageAudit"));
    }
    let header = FileHeader::read(&page).map_err(|_| invalid("FileType"))?;
    if FileId(header.file_id) != spec.file_id || header.binding != *binding {
        return Err(SqlError::new(&messages::FILES_MISMATCH, &[]));
    }
    Ok(())
}

/// Raises the marks of log files of an earlier version; durable when it returns. Headers that a crash has left with a half of
/// that are made whole.
pub fn raise_log_files(env: &Env, log: &[LogFileSpec]) -> SqlResult<()> {
    for spec in log {
        let name = spec.path.display().to_string();
        let fail = |what: &'static str| {
            let name = name.clone();
            move |e| io_error(&e, what, PageId::new(spec.file_id.0, 0), &name)
        };
        let mut page: PageBytes = [0; PAGE_BYTES];
        let file = env.disk.open(&spec.path, &OpenOptions::default());
        let file = file.map_err(fail("open"))?;
        file.read_at(&mut page, 0).map_err(fail("read"))?;
        let sound = verify(&page) == Verify::Ok;
        if !is_whole(&page) || sound && !is_older(&page) {
            continue;
        }
        raise(&mut page);
        seal(&mut page);
        file.write_durable_at(&page, 0).map_err(fail("write"))?;
    }
    Ok(())
}
