//! How full pages are, and which of them have room.

use std::collections::BTreeSet;

use duramen_base::PageId;
use duramen_format::alloc::pfs;
use duramen_format::page::{BODY_BYTES, PageRef};
use duramen_wal::record::Lcx;

/// Classes of pages that have any room for sure: 0 to 3.
pub(crate) const CLASSES: usize = 4;
/// Pages remembered per class. More are found again in the PFS.
const MAX_PAGES: usize = 4096;
/// New pages after which pages whose room was reserved for an undo are tried again.
const RETRY: u32 = 8;

/// The class of a heap or text page. Empty slots at the end do not count: undo drops them, redo does not.
pub fn class_of(p: PageRef<'_>) -> u8 {
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
    pub next_iam: Option<PageId>,
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
