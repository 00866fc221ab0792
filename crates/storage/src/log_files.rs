//! Log files of a database besides the first: made with the header page that says whose they are.

use duramen_base::{FileId, Lsn, PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_format::boot::FileHeader;
use duramen_format::page::seal;
use duramen_wal::{Growth, LogFileSpec};

use crate::engine::Database;

/// The header page of a log file of the database with that GUID.
pub fn log_header(file: &LogFileSpec, guid: &[u8; 16]) -> SqlResult<PageBytes> {
    let mut page: PageBytes = [0; PAGE_BYTES];
    let FileId(file_id) = file.file_id;
    let pages = |bytes: u64| (bytes / PAGE_BYTES as u64) as u32;
    let (growth, growth_percent) = match file.growth {
        Growth::None => (0, false),
        Growth::Bytes(n) => (pages(n), false),
        Growth::Percent(p) => (p, true),
    };
    FileHeader {
        binding: *guid,
        file_id,
        filegroup: 0,
        size: pages(file.size),
        max_size: file.max_size.map(pages),
        growth,
        growth_percent,
        min_size: pages(file.size),
        create_lsn: Lsn::NULL,
        guid: duramen_os::random::guid(),
        logical_name: file.name.clone(),
        own: true,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As page 0 of a real log file of 504 KB that grows by 10 percent.
    #[test]
    fn the_header_of_a_log_file_has_its_name_and_growth() {
        let spec = LogFileSpec {
            path: "/pubs_log.ldf".into(),
            file_id: FileId(2),
            name: "pubs_log".to_owned(),
            size: 63 * PAGE_BYTES as u64,
            max_size: None,
            growth: Growth::Percent(10),
        };
        let page = log_header(&spec, &[7; 16]).expect("fits");
        let header = FileHeader::read(&page).expect("a header");
        assert_eq!(header.logical_name, "pubs_log");
        assert_eq!((header.growth, header.growth_percent), (10, true));
        assert_eq!((header.size, header.min_size), (63, 63));
        assert_eq!((header.file_id, header.filegroup), (2, 0));
        assert_eq!(header.max_size, None);
        assert_ne!(header.guid, [0; 16]);
        let bytes = LogFileSpec {
            growth: Growth::Bytes(1 << 20),
            max_size: Some(1 << 24),
            ..spec
        };
        let page = log_header(&bytes, &[7; 16]).expect("fits");
        let header = FileHeader::read(&page).expect("a header");
        assert_eq!((header.growth, header.growth_percent), (128, false));
        assert_eq!(header.max_size, Some(2048));
    }
}
