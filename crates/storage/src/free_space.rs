//! Which pages of a heap or of a LOB unit have room.
//!
//! The PFS keeps a class of fullness for each of their pages: [`crate::format::alloc::pfs::fullness`]. A change that
//! moves a page to another class sets its PFS byte as well, in a record outside every transaction (LOP_SET_FREE_SPACE):
//! after a change, but before the undo of one, so that a crash in between leaves a byte that the undo of the change puts
//! right. Recovery undoes one transaction after the other, not in the order of their records: there the byte is set by
//! every undo, whether that one moves the page to another class or not, since what it replaces may be of no moment at all.
//! The byte is advice: when its record finds no room in the log, the change stands without it.
//!
//! In memory each unit has the pages that are known to have room, by class. They come from deletes, and from the PFS, one
//! IAM page's range at a time, when there is no other page than a new one.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use duramen_base::{PageId, SqlResult};
use duramen_wal::record::Lcx;

use crate::change::PageOp;
use crate::engine::{Database, Storage};
use crate::format::alloc::{Iam, PFS_INTERVAL, is_fixed_page, pfs, pfs_get, pfs_page_of};
use crate::format::page::{BODY_BYTES, PageRef};
use crate::pool::PageWrite;

/// Classes of pages that have any room for sure: 0 to 3.
const CLASSES: usize = 4;
/// Pages remembered per class. More are found again in the PFS.
const MAX_PAGES: usize = 4096;
/// New pages after which pages whose room was reserved for an undo are tried again.
const RETRY: u32 = 8;

/// The class of a heap or text page. Empty slots at the end do not count: undo drops them, redo does not.
pub(crate) fn class_of(p: PageRef<'_>) -> u8 {
    let slots = p.slot_count();
    let empty = (0..slots)
        .rev()
        .take_while(|s| p.slot_offset(*s) == Ok(0))
        .count();
    let free = usize::from(p.free_bytes()) + 2 * empty;
    pfs::fullness(BODY_BYTES.saturating_sub(free))
}

/// Whether rows of this context are on pages with a class.
pub(crate) fn has_class(context: Lcx) -> bool {
    matches!(context, Lcx::HEAP | Lcx::TEXT_MIX | Lcx::TEXT_TREE)
}

/// The pages of one unit that have room.
#[derive(Debug, Default)]
pub(crate) struct FreeSpace {
    classes: [BTreeSet<PageId>; CLASSES],
    /// Their room is kept for an undo.
    waiting: BTreeSet<PageId>,
    new_pages: u32,
    /// Where in the IAM chain the PFS was looked at last: the next IAM page; NULL when all were.
    next_iam: Option<PageId>,
}

impl FreeSpace {
    /// A page that has room for a record of `bytes` and its slot, the fullest kind first. It is taken out.
    pub fn take(&mut self, bytes: usize) -> Option<PageId> {
        let fits = |class: &usize| pfs::free_at_least(*class as u8) >= bytes + 2;
        (0..CLASSES)
            .rev()
            .filter(fits)
            .find_map(|class| self.classes[class].pop_first())
    }

    /// The page is in this class now.
    pub fn put(&mut self, page: PageId, class: u8) {
        for pages in &mut self.classes {
            pages.remove(&page);
        }
        if let Some(pages) = self.classes.get_mut(usize::from(class))
            && pages.len() < MAX_PAGES
        {
            pages.insert(page);
        }
    }

    /// The page has no room as long as somebody may undo what he did there.
    pub fn wait(&mut self, page: PageId) {
        if self.waiting.len() < MAX_PAGES {
            self.waiting.insert(page);
        }
    }

    /// A new page is about to be made: pages that had to wait get another chance now and then. True when there are any.
    pub fn retry(&mut self) -> bool {
        self.new_pages += 1;
        if self.waiting.is_empty() || self.new_pages < RETRY {
            return false;
        }
        self.new_pages = 0;
        // What room they have is seen when they are tried.
        let waiting = std::mem::take(&mut self.waiting);
        self.classes[0].extend(waiting);
        true
    }

    pub fn clear(&mut self) {
        *self = FreeSpace::default();
    }
}

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
            storage.free.lock().put(id, class_of(p));
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
            &mut crate::format::page::PageMut::new(&mut copy),
        )
        .ok()?;
        let after = class_of(PageRef::new(&copy));
        let recovering = self.store.recovering.load(Ordering::SeqCst);
        (recovering || after != class_of(page.page())).then_some(after)
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
            let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_page_that_surely_fits_comes_first() {
        let page = |n| PageId::new(1, n);
        let mut free = FreeSpace::default();
        for (n, class) in [(10, 0), (11, 1), (12, 2), (13, 3), (14, 4)] {
            free.put(page(n), class);
        }
        assert_eq!(free.take(300), Some(page(13)));
        assert_eq!(free.take(300), Some(page(12)));
        free.put(page(12), 2);
        assert_eq!(free.take(2000), Some(page(11)));
        assert_eq!(free.take(5000), Some(page(10)));
        assert_eq!(free.take(5000), None);
        // A page is in one class at a time.
        free.put(page(12), 4);
        assert_eq!(free.take(10), None);
    }
}
