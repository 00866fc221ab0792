//! The version of our files, in the mark that each of them carries.
//!
//! The last byte of the mark counts: a change of what stands in a file, or of what a log record means, raises it. A server
//! opens files of its own version and of those before it that it can read or bring up to its own, and refuses newer ones by
//! number (948) before anything is written. `docs/format/versions.md` lists the versions and the marks of other files.

use duramen_base::{SqlError, SqlResult, messages};

use super::PageBytes;
use super::boot;
use super::file_header;
use super::page::{PageRef, Verify, page_type, verify};

const PREFIX: &[u8; 15] = b"DURAMEN-FORMAT-";
/// What this server writes.
pub const FORMAT_VERSION: u8 = 2;

/// The mark of the files that this server makes.
pub const MARK: [u8; 16] = {
    let mut mark = [0; 16];
    let mut i = 0;
    while i < 15 {
        mark[i] = PREFIX[i];
        i += 1;
    }
    mark[15] = b'0' + FORMAT_VERSION;
    mark
};

/// The version in a mark; `None` for what is no mark of ours.
pub fn version_of(mark: &[u8]) -> Option<u8> {
    let last = mark.strip_prefix(PREFIX)?;
    match last {
        [byte] => byte.checked_sub(b'0').filter(|v| *v > 0),
        _ => None,
    }
}

/// Whether a mark is ours, of a version that this server reads.
pub(super) fn is_known(mark: &[u8]) -> bool {
    version_of(mark).is_some_and(|v| v <= FORMAT_VERSION)
}

/// Where a header or boot page has its mark.
fn mark_mut(page: &mut PageBytes) -> Option<&mut [u8]> {
    match PageRef::new(page).page_type() {
        page_type::BOOT => boot::mark_mut(page),
        _ => file_header::mark_mut(page),
    }
}

/// Whether a header or boot page has the mark of an earlier version.
pub fn is_older(page: &PageBytes) -> bool {
    version_by(page).is_some_and(|v| v < FORMAT_VERSION)
}

/// Puts our mark in the place of an earlier one. The page has another checksum then.
pub fn raise(page: &mut PageBytes) {
    if is_older(page)
        && let Some(mark) = mark_mut(page)
    {
        mark.copy_from_slice(&MARK);
    }
}

/// Whether a header page is as it was written, or a mark that was raised has reached the disk in parts: its own sector and
/// that of the checksum are the only ones that are not as before, so the page is sound with another mark.
pub fn is_whole(page: &PageBytes) -> bool {
    let sound_with = |version: u8| {
        let mut page = *page;
        let Some(last) = mark_mut(&mut page).and_then(|m| m.last_mut()) else {
            return false;
        };
        *last = b'0' + version;
        verify(&page) == Verify::Ok
    };
    let known = file_header::mark_of(page).is_some_and(is_known);
    verify(page) == Verify::Ok || known && (1..=FORMAT_VERSION).any(sound_with)
}

/// 948 for a version that is not known yet.
pub fn refuse_newer(name: &str, version: Option<u8>) -> SqlResult<()> {
    too_new(name, version, FORMAT_VERSION)
}

/// The same of a file that counts for itself.
pub fn too_new(name: &str, version: Option<u8>, known: u8) -> SqlResult<()> {
    match version.filter(|v| *v > known) {
        None => Ok(()),
        Some(version) => Err(SqlError::new(
            &messages::DATABASE_VERSION_TOO_NEW,
            &[&name, &version, &known],
        )),
    }
}

/// The version by a header or boot page; `None`: it has no mark.
pub fn version_by(page: &PageBytes) -> Option<u8> {
    let mark = file_header::mark_of(page).or_else(|| boot::mark_of(page));
    mark.and_then(version_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_a_version() {
        assert_eq!(MARK, *b"DURAMEN-FORMAT-2");
        assert_eq!(version_of(&MARK), Some(FORMAT_VERSION));
        assert_eq!(version_of(b"DURAMEN-FORMAT-9"), Some(9));
        assert_eq!(version_of(b"DURAMEN-FORMAT-:"), Some(10));
        for other in [
            &b""[..],
            b"DURAMEN-FORMAT-",
            b"DURAMEN-FORMAT-0",
            b"DURAMEN-FORMAT-11",
            &[0; 16],
        ] {
            assert_eq!(version_of(other), None);
        }
        assert!(refuse_newer("d", Some(FORMAT_VERSION)).is_ok() && refuse_newer("d", None).is_ok());
        let error = refuse_newer("d", Some(FORMAT_VERSION + 1)).unwrap_err();
        assert_eq!((error.number, error.severity), (948, 20));
    }
}
