//! Reading ahead: a scan that goes from neighbour to neighbour has the next ones brought with one read.
//!
//! A heap's scan knows its pages. A tree's knows only where it goes next; but leaves that were filled in order stand beside
//! each other, at least to the end of their extent, where another object's may follow. So a walk that has met neighbours
//! asks for more of them, twice as many each time, and one that has read whole extents asks for each extent as it comes
//! to it. A wrong guess costs a longer read, never an answer.

use duramen_base::PageId;
use duramen_observe::{Counter, count, metering_reads, note_read_ahead};
use duramen_pool::{RUN, ReadRoom};

use crate::rowset::Rowset;

/// Pages of an extent.
const EXTENT: u32 = 8;
/// Scans for which the pool must have frames at a time.
const READERS: usize = 64;

#[derive(Default)]
pub(super) struct Ahead {
    /// The page met last, and how many before it stood one behind the other.
    last: Option<PageId>,
    row: u32,
    /// As many stood in a row before the walk went elsewhere.
    row_before: u32,
    /// Up to here, exclusively, pages have been asked for.
    until: u32,
    room: ReadRoom,
}

impl std::fmt::Debug for Ahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead")
            .field("last", &self.last)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Ahead {
    /// A tree's scan is about to read the leaf `page`. No page is latched.
    pub(super) fn leaf(&mut self, rowset: &Rowset, page: PageId) {
        if let Some(n) = self.wanted(page) {
            let pages = (0..n).map(|i| PageId::new(page.file, page.page + i));
            self.bring(rowset, &pages.collect::<Vec<_>>());
        }
    }

    /// A heap's scan is about to read the first of `pages`, which are in order. No page is latched.
    pub(super) fn pages(&mut self, rowset: &Rowset, at: usize, pages: &[PageId]) {
        if at.is_multiple_of(RUN) && pages.len() > 1 {
            self.bring(rowset, &pages[..pages.len().min(RUN)]);
        }
    }

    /// How many pages from `page` on are worth asking for.
    fn wanted(&mut self, page: PageId) -> Option<u32> {
        let last = self.last.replace(page);
        if last == Some(page) {
            // A lock was waited for.
            return None;
        }
        let follows = last.is_some_and(|l| l.file == page.file && l.page + 1 == page.page);
        match follows {
            true => self.row += 1,
            false => {
                self.row_before = std::mem::take(&mut self.row);
                self.until = page.page;
            }
        }
        if page.page < self.until {
            return None;
        }
        let whole_extents = self.row_before + 1 >= EXTENT && page.page.is_multiple_of(EXTENT);
        let n = match self.row {
            0 if whole_extents => EXTENT,
            0 => return None,
            // An extent's end, until one has been passed.
            row if row < EXTENT => (2 * row).min(EXTENT - page.page % EXTENT),
            _ => RUN as u32,
        };
        self.until = page.page.checked_add(n)?;
        (n > 1).then_some(n)
    }

    fn bring(&mut self, rowset: &Rowset, pages: &[PageId]) {
        let db = &rowset.db;
        let pool = &db.engine.pool;
        let run = pool.share_of(READERS).min(RUN);
        if run < 2 || db.store.temporary {
            return;
        }
        let brought = pool.bring(&db.store, pages, run, &mut self.room);
        count(Counter::ReadaheadPages, brought);
        if brought > 0 && metering_reads() {
            note_read_ahead(db.id, rowset.def.au, brought);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for as the walk meets `pages` of file 1.
    fn asked(pages: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
        let mut ahead = Ahead::default();
        let mut all = Vec::new();
        for page in pages {
            all.extend(ahead.wanted(PageId::new(1, page)).map(|n| (page, n)));
        }
        all
    }

    #[test]
    fn neighbours_are_asked_for_in_growing_runs() {
        let expected = [(101, 2), (104, 8), (112, 16), (128, 16), (144, 16)];
        assert_eq!(asked(100..150), expected);
    }

    #[test]
    fn extents_between_those_of_others_are_asked_for_one_by_one() {
        let extents = [0u32, 4, 8, 12].map(|e| (e * 8..e * 8 + 8).collect::<Vec<_>>());
        let asked = asked(extents.concat());
        assert_eq!(asked, [(1, 2), (3, 5), (32, 8), (64, 8), (96, 8)]);
    }

    #[test]
    fn a_walk_from_place_to_place_asks_for_nothing() {
        assert_eq!(asked([7, 900, 16, 15, 14, 13, 400, 8, 3000]), []);
    }
}
