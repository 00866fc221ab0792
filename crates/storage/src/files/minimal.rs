//! The ML map: extents that were filled without a record of what with, since the last log backup.
//!
//! While a chain of log backups goes on, the bit of an extent is set, in a record of its own outside every transaction,
//! before the record that says that it is being filled (`load::extent`). A log backup keeps fills away, writes down what is
//! dirty and copies the extents that have their bit: everything filled before it is in the copy. Then the maps are empty.
//! Without a chain nobody will ask, and no bit is set; a full backup that begins a chain empties the maps first.
//!
//! A bit too many costs a log backup 64 KB and the point to stop at within it; one too few would cost it its rows. Bits
//! stay when extents are freed: records of before that speak of rows there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, EXTENT_PAGES, PageId, SqlResult};
use duramen_format::alloc::{GAM_EXTENTS, GAM_INTERVAL, bit_find, bit_get, ml_page_of};
use duramen_format::page::page_type;
use duramen_pool::DataFile;
use duramen_wal::record::Lcx;

use super::changed::MAP_RECORD;
use crate::change::PageOp;
use crate::engine::Database;

/// Extents by file.
pub(crate) type Extents = Vec<(Arc<DataFile>, BTreeSet<u32>)>;

impl Database {
    /// Says that the extents of these pages are about to be filled without a record. Called with no page latched, while
    /// no backup copies pages.
    pub(crate) fn mark_minimal(&self, pages: &[PageId]) -> SqlResult<()> {
        let chain = !self.log_backup_lsn().is_null();
        if self.store.temporary || !chain {
            return Ok(());
        }
        let mut last = PageId::NULL;
        for id in pages {
            let extent = PageId::new(id.file, id.page / EXTENT_PAGES * EXTENT_PAGES);
            if extent == std::mem::replace(&mut last, extent) {
                continue;
            }
            let map = PageId::new(id.file, ml_page_of(id.page));
            let bit = id.page % GAM_INTERVAL / EXTENT_PAGES;
            if bit_get(self.read_page(map)?.bytes(), bit) {
                continue;
            }
            let mut page = self.write_page(map)?;
            let op = PageOp::SetBit {
                bit: bit as u16,
                value: true,
            };
            self.change_alone(map, &mut page, &op, Lcx::ML_MAP, true)?;
        }
        Ok(())
    }

    /// The extents that the maps name, of files that have any.
    pub fn minimally_logged(&self) -> SqlResult<Extents> {
        let files = self.store.files.read().clone();
        let mut out = Vec::new();
        for file in files {
            let extents = self.minimally_logged_in(&file)?;
            if !extents.is_empty() {
                out.push((file, extents));
            }
        }
        Ok(out)
    }

    /// The extents of a file that its maps name.
    pub(crate) fn minimally_logged_in(&self, file: &DataFile) -> SqlResult<BTreeSet<u32>> {
        let size = file.size.load(Ordering::SeqCst);
        let mut extents = BTreeSet::new();
        for start in (0..size).step_by(GAM_INTERVAL as usize) {
            let map = ml_page_of(start);
            if map >= size {
                break;
            }
            let page = self.read_page(PageId::new(file.id, map))?;
            let count = ((size - start) / EXTENT_PAGES).min(GAM_EXTENTS);
            let mut from = 0;
            while let Some(bit) = bit_find(page.bytes(), from, count) {
                extents.insert(start / EXTENT_PAGES + bit);
                from = bit + 1;
            }
        }
        Ok(extents)
    }

    /// A log backup has the extents: their maps are empty again. Called while no extent gets its bit.
    pub fn clear_ml_maps(&self, marked: &Extents) -> SqlResult<()> {
        for (file, extents) in marked {
            let maps: BTreeSet<u32> = extents
                .iter()
                .map(|e| ml_page_of(e * EXTENT_PAGES))
                .collect();
            for map in maps {
                if !self.log_lets_in(MAP_RECORD) {
                    // Bits that stay set for nothing cost less than what the log keeps for rollbacks.
                    return Ok(());
                }
                let id = PageId::new(file.id, map);
                let op = PageOp::Format {
                    kind: page_type::ML_MAP,
                    level: 0,
                    pminlen: 0,
                    au: AllocUnitId::from_parts(0, 99),
                    start: PageId::new(file.id, map / GAM_INTERVAL * GAM_INTERVAL),
                    extra: 0,
                };
                let mut page = self.write_page(id)?;
                self.change_alone(id, &mut page, &op, Lcx::ML_MAP, false)?;
            }
        }
        Ok(())
    }
}
