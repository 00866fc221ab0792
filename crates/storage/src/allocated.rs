//! The pages of an allocation unit, as its IAM pages give them out: what DBCC IND and
//! `sys.dm_db_database_page_allocations` list.

use duramen_base::{AllocUnitId, PageId, SqlResult, given_up};
use duramen_format::alloc::{pfs, pfs_get, pfs_page_of};
use duramen_format::page::PageRef;

use crate::engine::Database;

const EXTENT_PAGES: u32 = 8;

/// A page that an allocation unit has, in use or free within an extent of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedPage {
    pub page: PageId,
    /// The IAM page that gives it out; `None` for an IAM page, which nothing but the chain does.
    pub iam: Option<PageId>,
    /// Its byte in the PFS.
    pub pfs: u8,
    /// Of an extent that is not the unit's alone.
    pub mixed: bool,
}

impl AllocatedPage {
    pub fn in_use(&self) -> bool {
        self.pfs & pfs::ALLOCATED != 0
    }

    /// The first page of its extent.
    pub fn extent(&self) -> PageId {
        let page = self.page.page;
        PageId::new(self.page.file, page - page % EXTENT_PAGES)
    }
}

/// What a page says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHead {
    pub kind: u8,
    pub level: u8,
    pub next: PageId,
    pub previous: PageId,
    pub ghosts: u16,
}

impl Database {
    /// The pages of a unit, IAM pages first in their chain, each followed by what it gives out.
    pub fn allocated_pages(&self, unit: AllocUnitId) -> SqlResult<Vec<AllocatedPage>> {
        let mut pages = Vec::new();
        let mut at = self.roots(unit).first_iam;
        while !at.is_null() {
            let (singles, extents, next) = {
                let page = self.read_page(at)?;
                let iam = page.page().iam()?;
                let singles: Vec<_> = iam.singles().collect();
                (singles, iam.extents().collect::<Vec<_>>(), iam.next())
            };
            pages.push(self.allocated_page(at, None, true)?);
            for page in singles {
                pages.push(self.allocated_page(page, Some(at), true)?);
            }
            for extent in extents {
                given_up::check()?;
                for i in 0..EXTENT_PAGES {
                    let page = PageId::new(extent.file, extent.page + i);
                    pages.push(self.allocated_page(page, Some(at), false)?);
                }
            }
            at = next;
        }
        Ok(pages)
    }

    fn allocated_page(
        &self,
        page: PageId,
        iam: Option<PageId>,
        mixed: bool,
    ) -> SqlResult<AllocatedPage> {
        let map = PageId::new(page.file, pfs_page_of(page.page));
        let pfs = pfs_get(self.read_page(map)?.bytes(), page.page);
        Ok(AllocatedPage {
            page,
            iam,
            pfs,
            mixed,
        })
    }

    /// The header of a page in use.
    pub fn page_head(&self, page: PageId) -> SqlResult<PageHead> {
        let read = self.read_page(page)?;
        let head = PageRef::new(read.bytes());
        Ok(PageHead {
            kind: head.page_type(),
            level: head.level(),
            next: head.next_page(),
            previous: head.prev_page(),
            ghosts: head.ghost_count(),
        })
    }
}
