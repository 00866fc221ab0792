//! 823 and 824: a page that cannot be read or written, and one that contradicts itself.

use duramen_base::{DbId, PageId, SqlError, messages};
use duramen_format::FormatError;
use duramen_observe::{Activity, note_activity};
use duramen_os::IoError;

fn offset_of(page: PageId) -> String {
    format!("{:#018x}", u64::from(page.page) * 8192)
}

/// 823: the operating system refused.
pub fn io_error(error: &IoError, what: &str, page: PageId, file: &str) -> SqlError {
    note_activity(Activity::DiskErrors, 1);
    SqlError::new(
        &messages::IO_ERROR,
        &[
            &format!("{}({error})", error.code()),
            &what,
            &offset_of(page),
            &file,
        ],
    )
}

/// 824: the page contradicts itself.
pub fn logical_error(problem: &str, what: &str, db: DbId, page: PageId, file: &str) -> SqlError {
    note_activity(Activity::DiskErrors, 1);
    SqlError::new(
        &messages::LOGICAL_IO_ERROR,
        &[&problem, &what, &page, &db.0, &offset_of(page), &file],
    )
}

/// 824 for a page in memory whose bytes do not add up.
pub fn corrupt(db: DbId, page: PageId, error: FormatError) -> SqlError {
    logical_error(&error.to_string(), "read", db, page, "")
}
