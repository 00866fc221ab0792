//! The version that a file's mark says.

use std::path::Path;

use duramen_base::PAGE_BYTES;
use duramen_format::PageBytes;
use duramen_format::boot::BOOT_PAGE;
use duramen_format::version::version_by;
use duramen_os::{Disk, DiskFile, OpenOptions};

/// The version of a file by its header page, or by its boot page where it has one: one of them may be torn.
pub(crate) fn version_in(file: &dyn DiskFile) -> Option<u8> {
    let mut page: PageBytes = [0; PAGE_BYTES];
    let versions = [0, BOOT_PAGE].map(|number| {
        let at = u64::from(number) * PAGE_BYTES as u64;
        file.read_at(&mut page, at).ok()?;
        version_by(&page)
    });
    versions.into_iter().flatten().max()
}

/// The version of a data or log file that may be there; `None` for one that is not there or not ours.
pub fn version_of_file(disk: &dyn Disk, path: &Path) -> Option<u8> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    version_in(&*disk.open(path, &options).ok()?)
}
