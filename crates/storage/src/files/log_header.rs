//! The header page of a log file, looked at when the database is opened: the log itself knows no pages.

use duramen_base::{FileId, PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_os::{Env, OpenOptions};
use duramen_wal::LogFileSpec;

use crate::format::PageBytes;
use crate::format::boot::FileHeader;
use crate::format::page::{Verify, verify};
use crate::format::version::{refuse_newer, version_in};

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
    if !matches!(verify(&page), Verify::Ok) {
        return Err(invalid("PageAudit"));
    }
    let header = FileHeader::read(&page).map_err(|_| invalid("FileType"))?;
    if FileId(header.file_id) != spec.file_id || header.binding != *binding {
        return Err(SqlError::new(&messages::FILES_MISMATCH, &[]));
    }
    Ok(())
}
