//! The DIFF map: which extents have changed since the base of differential backups.
//!
//! Before a change to a page is logged, the bit of its extent is set, in a record of its own outside every transaction:
//! a bit too many costs a differential backup 64 KB, one too few would cost it its truth. What was set lately is
//! remembered, so that a change costs one comparison. The extents of the maps themselves have their bit from the
//! beginning. tempdb has no backups and keeps no DIFF map.
//!
//! A full backup clears the bits, of what has not changed since it began: from then on changes are noted here as well, and
//! at its end the maps become what was noted. First the boot page says, durably, that the backup is the base; a crash
//! after that leaves bits that are set for nothing. Who notes an extent does it before he looks at its bit, so the map
//! is either cleared before, and he sets it, or after, with what he has noted.

use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, PageId, SqlResult};
use duramen_format::alloc::{GAM_EXTENTS, GAM_INTERVAL, bit_get, diff_page_of};
use duramen_format::page::page_type;
use duramen_pool::PageWrite;
use duramen_wal::record::Lcx;

use super::state::REMEMBERED;
use crate::change::PageOp;
use crate::engine::Database;

/// Bytes of a record about a map.
pub(super) const MAP_RECORD: u64 = 96;
impl Database {
    /// Says that the extent of `id` changes. Called with the page latched, before its change is logged; 9002 for one that
    /// asks and finds no room in the log.
    pub(crate) fn mark_changed(&self, id: PageId, asks: bool) -> SqlResult<()> {
        let extent = id.page / 8;
        let key = self.changed.epoch() << 48 | u64::from(id.file) << 32 | u64::from(extent);
        let known = &self.changed.known[extent as usize % REMEMBERED];
        if known.load(Ordering::Relaxed) == key || self.store.temporary {
            return Ok(());
        }
        // Their bit was set when they were made, and the DIFF page itself is latched now.
        if extent.is_multiple_of(GAM_EXTENTS) {
            return Ok(());
        }
        if let Some(since) = &mut *self.changed.since.lock() {
            since.insert((id.file, extent));
        }
        let map = PageId::new(id.file, diff_page_of(id.page));
        let bit = id.page % GAM_INTERVAL / 8;
        let set = bit_get(self.read_page(map)?.bytes(), bit);
        if !set {
            let mut page = self.write_page(map)?;
            if !bit_get(page.bytes(), bit) {
                self.set_diff_bit(map, &mut page, bit, asks)?;
            }
        }
        known.store(key, Ordering::Relaxed);
        Ok(())
    }

    fn set_diff_bit(
        &self,
        map: PageId,
        page: &mut PageWrite<'_>,
        bit: u32,
        asks: bool,
    ) -> SqlResult<()> {
        let op = PageOp::SetBit {
            bit: bit as u16,
            value: true,
        };
        self.change_alone(map, page, &op, Lcx::DIFF_MAP, asks)
            .map(|_| ())
    }

    /// The DIFF maps become what has been noted since [`ChangedExtents::begin_notes`]; nothing is noted any more.
    /// What would undo transactions that are active may have to set bits again, for which nothing is set aside: in a log that
    /// cannot grow the bits stay then.
    pub fn clear_diff_maps(&self) -> SqlResult<()> {
        let fixed = self.log.as_ref().is_some_and(|l| l.is_fixed());
        if fixed && !self.transactions.table.is_empty() {
            self.changed.end_notes();
            return Ok(());
        }
        let cleared = self.diff_maps().into_iter().try_for_each(|map| {
            let mut page = self.write_page(map)?;
            let start = map.page / GAM_INTERVAL * GAM_INTERVAL;
            let noted: Vec<u32> = match &*self.changed.since.lock() {
                Some(since) => {
                    let first = start / 8;
                    let range = (map.file, first)..(map.file, first + GAM_EXTENTS);
                    since.range(range).map(|(_, e)| e - first).collect()
                }
                None => return Ok(()),
            };
            // Bits that stay set for nothing cost less than what the log keeps for rollbacks.
            let bytes = MAP_RECORD * (2 + noted.len() as u64);
            if !self.log_lets_in(bytes) {
                return Ok(());
            }
            let op = PageOp::Format {
                kind: page_type::DIFF_MAP,
                level: 0,
                pminlen: 0,
                au: AllocUnitId::from_parts(0, 99),
                start: PageId::new(map.file, start),
                extra: 0,
            };
            self.change_alone(map, &mut page, &op, Lcx::DIFF_MAP, false)?;
            noted
                .into_iter()
                .try_for_each(|bit| self.set_diff_bit(map, &mut page, bit, false))
        });
        self.changed.end_notes();
        cleared
    }

    fn diff_maps(&self) -> Vec<PageId> {
        let mut maps = Vec::new();
        for file in self.store.files.read().iter() {
            let size = file.size.load(Ordering::SeqCst);
            let starts = (0..size).step_by(GAM_INTERVAL as usize);
            let pages = starts.map(diff_page_of).filter(|n| *n < size);
            maps.extend(pages.map(|n| PageId::new(file.id, n)));
        }
        maps
    }
}
