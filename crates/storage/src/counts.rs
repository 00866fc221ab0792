//! How many pages an allocation unit has: what `sys.allocation_units` shows.

use duramen_base::{AllocUnitId, SqlResult};

use crate::def::RowsetKind;
use crate::engine::Database;
use crate::rowset::Rowset;

/// Pages of one allocation unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageCounts {
    /// Reserved: whole extents, single pages, IAM pages.
    pub total: u64,
    /// Allocated, IAM pages and inner pages of a B-tree included.
    pub used: u64,
    /// Those with rows or parts of values.
    pub data: u64,
}

impl Database {
    /// The filegroup that an allocation unit takes its extents from.
    pub fn filegroup_of(&self, au: AllocUnitId) -> u16 {
        self.storage(au).filegroup()
    }
}

impl Rowset {
    /// The pages of one of the rowset's allocation units. The leaves of a B-tree are counted in the pages above them,
    /// so that a large table is not read for it.
    pub fn page_counts(&self, au: AllocUnitId) -> SqlResult<PageCounts> {
        let db = self.database();
        let first_iam = db.roots(au).first_iam;
        if first_iam.is_null() {
            return Ok(PageCounts::default());
        }
        let (used, total) = db.page_counts(au)?;
        let in_tree = au == self.def().au && self.def().kind != RowsetKind::Heap;
        let data = if in_tree {
            self.leaf_pages()?
        } else {
            db.pages_of(first_iam)?.len() as u64
        };
        Ok(PageCounts { total, used, data })
    }

    /// The leaves of a B-tree: the entries of its lowest inner level.
    fn leaf_pages(&self) -> SqlResult<u64> {
        let db = self.database();
        let _shared = self.storage.latch.read();
        let mut at = self.root()?;
        loop {
            let page = db.read_page(at)?;
            let p = page.page();
            match p.level() {
                0 => return Ok(1),
                1 => break,
                _ => at = self.child_at(p, 0)?,
            }
        }
        let mut leaves = 0;
        while !at.is_null() {
            let page = db.read_page(at)?;
            let p = page.page();
            leaves += u64::from(p.slot_count());
            at = p.next_page();
        }
        Ok(leaves)
    }
}
