//! Which pages of a heap or of a LOB unit have room.
//!
//! The PFS keeps a class of fullness for each of their pages: [`duramen_format::alloc::pfs::fullness`]. A change that
//! moves a page to another class sets its PFS byte as well, in a record outside every transaction (LOP_SET_FREE_SPACE):
//! after a change, but before the undo of one, so that a crash in between leaves a byte that the undo of the change puts
//! right. Recovery undoes one transaction after the other, not in the order of their records: there the byte is set by
//! every undo, whether that one moves the page to another class or not, since what it replaces may be of no moment at all.
//! The byte is advice: when its record finds no room in the log, the change stands without it.
//!
//! In memory each unit has the pages that are known to have room, by class. They come from deletes, and from the PFS, one
//! IAM page's range at a time, when there is no other page than a new one.

use std::sync::atomic::Ordering;

use duramen_base::{PageId, SqlResult};
use duramen_format::alloc::{PFS_INTERVAL, is_fixed_page, pfs, pfs_get, pfs_page_of};
use duramen_format::page::PageRef;
use duramen_pool::PageWrite;
use duramen_wal::record::Lcx;

use crate::change::PageOp;
use crate::engine::{Database, Storage};
use crate::fullness::{CLASSES, class_of};

impl Database {
    /// Sets the class of a page in the PFS. Called with the page latched.
    pub(crate) fn set_free_space(&self, page: PageId, class: u8) -> SqlResult<()> {
        let id = PageId::new(page.file, pfs_page_of(page.page));
        let mut p = self.write_page(id)?;
        let old = pfs_get(p.bytes(), page.page);
        if old & pfs::FULLNESS == class {
            return Ok(());
        }
        let op = PageOp::SetFreeSpace {
            index: (page.page % PFS_INTERVAL) as u16,
            before: old & pfs::FULLNESS,
            after: class,
        };
        self.change_alone(id, &mut p, &op, Lcx::PFS, false)?;
        Ok(())
    }

    /// A rollback has given a page room, which others find as soon as it has ended. After a recovery they look at the PFS.
    pub(crate) fn room_again(&self, id: PageId, page: &PageWrite<'_>) {
        if !self.store.recovering.load(Ordering::SeqCst) {
            let p = page.page();
            let storage = self.storage(p.alloc_unit());
            storage.free.lock().put(id, class_of(*p));
        }
    }

    /// The class that the page will be in after `op`, when that is another one than now or the PFS may not have this one.
    pub(crate) fn class_after(
        &self,
        id: PageId,
        page: &PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
    ) -> Option<u8> {
        let mut copy = *page.bytes();
        op.apply(
            id,
            context,
            &mut duramen_format::page::PageMut::new(&mut copy),
        )
        .ok()?;
        let after = class_of(PageRef::new(&copy));
        let recovering = self.store.recovering.load(Ordering::SeqCst);
        (recovering || after != class_of(*page.page())).then_some(after)
    }

    /// Looks at the PFS for pages of `storage` that have room, one IAM page's range further; false when there is no more.
    pub(crate) fn find_free_space(&self, storage: &Storage) -> SqlResult<bool> {
        let next = storage.free.lock().next_iam;
        let at = next.unwrap_or_else(|| storage.roots.lock().first_iam);
        if at.is_null() {
            return Ok(false);
        }
        let (pages, next) = {
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            let singles = iam.singles().map(|p| (p, 1));
            let extents = iam.extents().map(|p| (p, 8));
            let pages: Vec<(PageId, u32)> = singles.chain(extents).collect();
            (pages, iam.next())
        };
        let mut found = Vec::new();
        for (first, count) in pages {
            let map = self.read_page(PageId::new(first.file, pfs_page_of(first.page)))?;
            for n in first.page..first.page + count {
                let byte = pfs_get(map.bytes(), n);
                let class = byte & pfs::FULLNESS;
                if byte & pfs::ALLOCATED != 0 && usize::from(class) < CLASSES && !is_fixed_page(n) {
                    found.push((PageId::new(first.file, n), class));
                }
            }
        }
        let hint = storage.hint();
        let mut free = storage.free.lock();
        free.next_iam = Some(next);
        for (page, class) in found {
            if hint != Some(page) {
                free.put(page, class);
            }
        }
        Ok(true)
    }
}
