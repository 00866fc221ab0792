//! Log files of a database besides the first: made with the header page that says whose they are.

use duramen_base::{FileId, PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_wal::LogFileSpec;

use crate::engine::Database;
use crate::format::PageBytes;
use crate::format::boot::FileHeader;
use crate::format::page::seal;

/// The header page of a log file of the database with that GUID.
pub(crate) fn log_header(file: &LogFileSpec, guid: &[u8; 16]) -> SqlResult<PageBytes> {
    let mut page: PageBytes = [0; PAGE_BYTES];
    let FileId(file_id) = file.file_id;
    FileHeader {
        binding: *guid,
        file_id,
        filegroup: 0,
        size: (file.size / PAGE_BYTES as u64) as u32,
        max_size: file.max_size.map(|m| (m / PAGE_BYTES as u64) as u32),
        own: true,
        ..FileHeader::default()
    }
    .format(&mut page)?;
    seal(&mut page);
    Ok(page)
}

impl Database {
    /// REMOVE FILE of a log file: takes it out of use. 5042 while anything in it is needed, or the log cannot do without
    /// it. The caller strikes it off its list, and deletes it after that.
    pub fn remove_log_file(&self, file_id: FileId, name: &str) -> SqlResult<()> {
        let Some(log) = self.log() else {
            return Ok(());
        };
        match log.remove_file(file_id) {
            Ok(true) => Ok(()),
            Ok(false) => Err(SqlError::new(&messages::FILE_NOT_EMPTY, &[&"file", &name])),
            Err(e) => Err(e.to_sql(&self.name)),
        }
    }

    /// ADD LOG FILE: makes the file and takes it into use. It is complete on the disk before the log may write to it.
    /// Whoever opens the database names its log files: the caller keeps the list, and lists this one before the call.
    pub fn add_log_file(&self, spec: &LogFileSpec) -> SqlResult<()> {
        let Some(log) = self.log() else {
            return Ok(());
        };
        let header = log_header(spec, &self.store.guid)?;
        log.add_file(spec, &header)
            .map_err(|e| e.to_sql(&self.name))
    }
}
