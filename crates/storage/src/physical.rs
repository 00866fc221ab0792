//! How a heap or index lies on its pages: what `sys.dm_db_index_physical_stats` tells.
//!
//! Which pages a level has, and in which order, is read off the level above it, under the latch that keeps splits away;
//! what is on the pages is read afterwards, page by page, without locks: a level changes meanwhile, and the figures are
//! those of some moment for each page.

use duramen_base::{PageId, SqlResult};
use duramen_format::page::record_kind;

use crate::rowset::Rowset;

/// How much is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scan {
    /// The pages above the leaves; of a heap its maps.
    Limited,
    /// Every hundredth page of the leaf level as well; all of them where there are fewer than 10,000.
    Sampled,
    /// Every page of every level.
    Detailed,
}

/// Pages below which a sample is everything.
const SMALL: usize = 10_000;
/// One of so many pages is a sample.
const STEP: usize = 100;
/// Bytes of a page that records and their slots can take.
const ROOM: u16 = 8096;

/// One level of a B-tree, or a heap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// 0 for the leaves.
    pub level: u8,
    pages: Vec<PageId>,
    pub fragments: u64,
    /// Percent of the pages (of a heap: of the extents) that do not follow the one before.
    pub fragmentation: f64,
    /// What is on the pages, where they were read.
    pub records: Option<Records>,
}

impl Level {
    pub fn pages(&self) -> u64 {
        self.pages.len() as u64
    }
}

/// What is on the pages of a level; of a sample, multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Records {
    pub count: u64,
    pub ghosts: u64,
    /// Rows of a heap that have moved.
    pub forwarded: u64,
    /// Bytes.
    pub least: u64,
    pub most: u64,
    pub average: f64,
    /// Percent.
    pub space_used: f64,
}

impl Rowset {
    /// The levels from the leaves up; the leaves alone unless everything is read.
    pub fn physical(&self, scan: Scan) -> SqlResult<Vec<Level>> {
        let heap = self.def.is_heap();
        let levels = match heap {
            true => vec![self.heap_pages()?],
            false => self.tree_levels()?,
        };
        let wanted = if scan == Scan::Detailed {
            levels.len()
        } else {
            1
        };
        let mut out = Vec::with_capacity(wanted);
        for (level, pages) in levels.into_iter().enumerate().take(wanted) {
            let (fragments, fragmentation) = match heap {
                true => of_extents(&pages),
                false => of_pages(&pages),
            };
            let step = match scan {
                Scan::Sampled if pages.len() >= SMALL => STEP,
                _ => 1,
            };
            out.push(Level {
                level: level as u8,
                records: match scan {
                    Scan::Limited => None,
                    _ => Some(self.records(&pages, step, level as u8)?),
                },
                pages,
                fragments,
                fragmentation,
            });
        }
        Ok(out)
    }

    /// How many levels there are; a heap has one.
    pub fn depth(&self) -> SqlResult<u8> {
        if self.def.is_heap() {
            return Ok(1);
        }
        let _shared = self.storage.latch.read();
        let root = self.root()?;
        Ok(self.db.read_page(root)?.page().level() + 1)
    }

    /// The pages of a tree, level by level from the leaves up, each level in the order of its keys.
    fn tree_levels(&self) -> SqlResult<Vec<Vec<PageId>>> {
        let _shared = self.storage.latch.read();
        let root = self.root()?;
        let depth = self.db.read_page(root)?.page().level();
        let mut levels = vec![vec![root]];
        for _ in 0..depth {
            let mut below = Vec::new();
            for id in levels.last().into_iter().flatten() {
                let page = self.db.read_page(*id)?;
                let p = page.page();
                for slot in 0..p.slot_count() {
                    below.push(self.child_at(p, slot)?);
                }
            }
            levels.push(below);
        }
        levels.reverse();
        Ok(levels)
    }

    fn records(&self, pages: &[PageId], step: usize, level: u8) -> SqlResult<Records> {
        let mut r = Records {
            least: u64::MAX,
            ..Records::default()
        };
        let (mut bytes, mut used, mut read) = (0u64, 0u64, 0u64);
        for id in pages.iter().step_by(step) {
            let page = self.db.read_page(*id)?;
            let p = page.page();
            // It has gone since the level was looked at.
            if p.alloc_unit() != self.def.au || p.level() != level {
                continue;
            }
            read += 1;
            used += u64::from(ROOM - p.free_bytes().min(ROOM));
            for slot in 0..p.slot_count() {
                let Some(row) = p.row_or_none(slot)? else {
                    continue;
                };
                if level == 0 && row.is_ghost() {
                    r.ghosts += 1;
                    continue;
                }
                if self.def.is_heap() && row.kind() == record_kind::FORWARDED {
                    r.forwarded += 1;
                }
                r.count += 1;
                bytes += row.len() as u64;
                r.least = r.least.min(row.len() as u64);
                r.most = r.most.max(row.len() as u64);
            }
        }
        if r.count == 0 {
            r.least = 0;
        } else {
            r.average = bytes as f64 / r.count as f64;
        }
        if read > 0 {
            r.space_used = used as f64 * 100.0 / (read as f64 * f64::from(ROOM));
            let times = pages.len() as u64 / read;
            r.count *= times;
            r.ghosts *= times;
            r.forwarded *= times;
        }
        Ok(r)
    }
}

/// Runs of pages next to each other, and the percentage of pages that are not followed by the index's next one on disk.
fn of_pages(pages: &[PageId]) -> (u64, f64) {
    let mut sorted = pages.to_vec();
    sorted.sort_unstable();
    let place = |id: &PageId| sorted.binary_search(id).unwrap_or(0);
    let mut fragments = u64::from(!pages.is_empty());
    let mut out_of_order = 0u64;
    for pair in pages.windows(2) {
        let next_to = pair[0].file == pair[1].file && pair[0].page + 1 == pair[1].page;
        fragments += u64::from(!next_to);
        out_of_order += u64::from(place(&pair[0]) + 1 != place(&pair[1]));
    }
    (fragments, percent(out_of_order, pages.len()))
}

/// The same of a heap's extents: its pages have no order of their own.
fn of_extents(pages: &[PageId]) -> (u64, f64) {
    let mut extents: Vec<_> = pages.iter().map(|p| (p.file, p.page / 8)).collect();
    extents.sort_unstable();
    extents.dedup();
    let gaps = extents
        .windows(2)
        .filter(|pair| pair[0].0 != pair[1].0 || pair[0].1 + 1 != pair[1].1)
        .count();
    let fragments = u64::from(!extents.is_empty()) + gaps as u64;
    (fragments, percent(gaps as u64, extents.len()))
}

fn percent(part: u64, of: usize) -> f64 {
    match of {
        0 => 0.0,
        of => part as f64 * 100.0 / of as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(numbers: &[u32]) -> Vec<PageId> {
        let page = |n: &u32| PageId { file: 1, page: *n };
        numbers.iter().map(page).collect()
    }

    #[test]
    fn pages_are_out_of_order_when_another_one_comes_next_on_the_disk() {
        assert_eq!(of_pages(&pages(&[8, 9, 10, 16])), (2, 0.0));
        assert_eq!(of_pages(&pages(&[8, 16, 9, 10])), (3, 50.0));
        assert_eq!(of_pages(&pages(&[])), (0, 0.0));
        assert_eq!(of_extents(&pages(&[8, 9, 24, 16, 40])), (2, 25.0));
    }
}
