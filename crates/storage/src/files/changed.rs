//! The DIFF map: which extents have changed since the base of differential backups.
//!
//! Before a change to a page is logged, the bit of its extent is set, in a record of its own outside every transaction:
//! a bit too many costs a differential backup 64 KB, one too few would cost it its truth. What was set lately is
//! remembered, so that a change costs one comparison. The extents of the maps themselves have their bit from the
//! beginning. tempdb has no backups and keeps no DIFF map.
//!
//! Nothing clears the bits yet: that is for a full backup to do, which has to forget what is remembered here and to keep
//! changes out while it does. The ML map stays empty: no operation is minimally logged.

use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{PageId, SqlResult};
use duramen_wal::record::Lcx;

use crate::change::PageOp;
use crate::engine::Database;
use crate::format::alloc::{GAM_EXTENTS, GAM_INTERVAL, bit_get, diff_page_of};

/// Extents remembered.
const REMEMBERED: usize = 256;

/// Extents whose bit is known to be set, each at the place that its number has: 1 + file << 32 + extent.
#[derive(Debug)]
pub(crate) struct ChangedExtents([AtomicU64; REMEMBERED]);

impl Default for ChangedExtents {
    fn default() -> ChangedExtents {
        ChangedExtents([const { AtomicU64::new(0) }; REMEMBERED])
    }
}

impl Database {
    /// Says that the extent of `id` changes. Called with the page latched, before its change is logged.
    pub(crate) fn mark_changed(&self, id: PageId) -> SqlResult<()> {
        let extent = id.page / 8;
        let key = 1 + (u64::from(id.file) << 32 | u64::from(extent));
        let known = &self.changed.0[extent as usize % REMEMBERED];
        if known.load(Ordering::Relaxed) == key || self.store.temporary {
            return Ok(());
        }
        // Their bit was set when they were made, and the DIFF page itself is latched now.
        if extent.is_multiple_of(GAM_EXTENTS) {
            return Ok(());
        }
        let map = PageId::new(id.file, diff_page_of(id.page));
        let bit = id.page % GAM_INTERVAL / 8;
        let set = bit_get(self.read_page(map)?.bytes(), bit);
        if !set {
            let mut page = self.write_page(map)?;
            if !bit_get(page.bytes(), bit) {
                let op = PageOp::SetBit {
                    bit: bit as u16,
                    value: true,
                };
                self.change_alone(map, &mut page, &op, Lcx::DIFF_MAP)?;
            }
        }
        known.store(key, Ordering::Relaxed);
        Ok(())
    }
}
