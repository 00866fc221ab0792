//! What the extents of data files are used for: `sys.dm_db_file_space_usage`.
//!
//! The GAM pages' count of free extents is kept with the file; whole extents of tables are those that IAM pages list, and the
//! PFS says which pages are IAM pages. Nothing is locked: a file that grows or is written meanwhile is counted as it
//! was found, part by part. A page of the PFS is read for every 64 MB.

use std::collections::BTreeMap;

use duramen_base::{PageId, SqlResult};
use duramen_format::alloc::{
    GAM_INTERVAL, Iam, PFS_INTERVAL, bit_count, diff_page_of, pfs, pfs_get, pfs_page_of,
};

use crate::engine::Database;

const EXTENT_PAGES: u32 = 8;

/// Of one data file, in pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSpace {
    pub file_id: u16,
    pub filegroup: u16,
    pub pages: u64,
    /// In extents that nobody has.
    pub unallocated: u64,
    /// In whole extents of tables and indexes, used or not.
    pub uniform: u64,
    /// In extents that have changed since the last full backup.
    pub modified: u64,
}

impl FileSpace {
    /// In extents that somebody has.
    pub fn allocated(&self) -> u64 {
        self.pages - self.unallocated
    }

    /// In extents that are no table's alone: IAM pages, the file's own pages and maps.
    pub fn mixed(&self) -> u64 {
        self.allocated().saturating_sub(self.uniform)
    }
}

impl Database {
    /// The space of all data files, in the order of their ids.
    pub fn file_space(&self) -> SqlResult<Vec<FileSpace>> {
        let mut uniform: BTreeMap<u16, u64> = BTreeMap::new();
        let files = self.files();
        for file in &files {
            for iam in self.iam_pages(file.spec.file_id, file.size)? {
                let page = self.read_page(iam)?;
                // One that has just been given out may not look like one yet.
                let Ok(iam) = Iam::new(page.bytes()) else {
                    continue;
                };
                *uniform.entry(iam.start().file).or_default() += iam.extents().count() as u64;
            }
        }
        let mut spaces = Vec::new();
        for file in &files {
            let id = file.spec.file_id;
            let free = u64::from(file.free_extents) * u64::from(EXTENT_PAGES);
            let pages = u64::from(file.size);
            let whole = uniform.get(&id).copied().unwrap_or(0) * u64::from(EXTENT_PAGES);
            let unallocated = free.min(pages);
            spaces.push(FileSpace {
                file_id: id,
                filegroup: file.spec.filegroup,
                pages,
                unallocated,
                uniform: whole.min(pages - unallocated),
                modified: self.modified(id, file.size)?,
            });
        }
        spaces.sort_by_key(|s| s.file_id);
        Ok(spaces)
    }

    fn iam_pages(&self, file: u16, pages: u32) -> SqlResult<Vec<PageId>> {
        const IAM: u8 = pfs::IAM | pfs::ALLOCATED;
        let mut found = Vec::new();
        for start in (0..pages).step_by(PFS_INTERVAL as usize) {
            let map = self.read_page(PageId::new(file, pfs_page_of(start)))?;
            let end = pages.min(start.saturating_add(PFS_INTERVAL));
            let iams = (start..end).filter(|n| pfs_get(map.bytes(), *n) & IAM == IAM);
            found.extend(iams.map(|n| PageId::new(file, n)));
        }
        Ok(found)
    }

    fn modified(&self, file: u16, pages: u32) -> SqlResult<u64> {
        let mut extents = 0;
        for start in (0..pages).step_by(GAM_INTERVAL as usize) {
            let map = self.read_page(PageId::new(file, diff_page_of(start)))?;
            extents += u64::from(bit_count(map.bytes(), (pages - start) / EXTENT_PAGES));
        }
        Ok(extents * u64::from(EXTENT_PAGES))
    }
}
