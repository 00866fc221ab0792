//! `pcused`, `pcdata` and `pcreserved` of sysallocunits: written when the database is closed.
//!
//! Storage itself counts pages in their maps whenever it is asked. What stands in the rows is for whoever reads the file
//! without a server. Units that have neither taken nor given pages since the rows were written are left alone; after a
//! crash nobody knows which those are.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use duramen_base::{AllocUnitId, PageId, SqlResult, messages};
use duramen_format::row::node_child;
use duramen_wal::record::Lcx;

use crate::anchor::SYSALLOCUNITS;
use crate::change::{PageOp, difference};
use crate::engine::Database;

const UNIT_AT: usize = 4;
const UNIT_TYPE_AT: usize = 12;
const UNIT_OWNER_AT: usize = 13;
/// `pcused`, then `pcdata`, then `pcreserved`: 8 bytes each.
const COUNTS_AT: usize = 45;
const IN_ROW_DATA: u8 = 1;

/// Where a unit's counts are.
struct Place {
    unit: AllocUnitId,
    /// Has its rows in a B-tree: the pages of its inner levels are no data.
    tree: bool,
    page: PageId,
    slot: u16,
    old: Vec<u8>,
}

impl Database {
    /// After recovery: what the rows say may be old.
    pub(crate) fn doubt_page_counts(&self) {
        for storage in self.storages.read().values() {
            storage.pages_changed.store(true, SeqCst);
        }
    }

    /// Before the last checkpoint of a close. False when a page of some unit cannot be read: its old counts stay, and the
    /// next opening must doubt them.
    pub(crate) fn store_page_counts(&self, heaps: &BTreeMap<i64, bool>) -> SqlResult<bool> {
        let mut all = true;
        let mut places = Vec::new();
        self.for_leaf_rows(SYSALLOCUNITS, |page, slot, row| {
            let word = |at: usize| Some(i64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?));
            let (Some(unit), Some(owner)) = (word(UNIT_AT), word(UNIT_OWNER_AT)) else {
                return;
            };
            if let Some(old) = row.get(COUNTS_AT..COUNTS_AT + 24) {
                let in_row = row.get(UNIT_TYPE_AT) == Some(&IN_ROW_DATA);
                places.push(Place {
                    unit: AllocUnitId(unit),
                    tree: in_row && !heaps.get(&owner).copied().unwrap_or(false),
                    page,
                    slot,
                    old: old.to_vec(),
                });
            }
        })?;
        for place in places {
            let storage = self.storage(place.unit);
            if storage.roots.lock().first_iam.is_null() || !storage.pages_changed.load(SeqCst) {
                continue;
            }
            let counted = match self.counts_of(place.unit, place.tree) {
                Err(e)
                    if [messages::IO_ERROR.number, messages::LOGICAL_IO_ERROR.number]
                        .contains(&e.number) =>
                {
                    all = false;
                    continue;
                }
                counted => counted?,
            };
            let new = counted.map(u64::to_le_bytes).concat();
            let (offset, before, after) = difference(&place.old, &new);
            if !after.is_empty() {
                let mut page = self.write_page(place.page)?;
                let op = PageOp::Modify {
                    slot: place.slot,
                    offset: COUNTS_AT as u16 + offset,
                    before,
                    after,
                    key: &[],
                    fields: &[],
                };
                self.change_alone(place.page, &mut page, &op, Lcx::CLUSTERED, false)?;
            }
            storage.pages_changed.store(false, SeqCst);
        }
        Ok(all)
    }

    /// `pcused`, `pcdata` and `pcreserved` as the maps and the tree have them.
    fn counts_of(&self, unit: AllocUnitId, tree: bool) -> SqlResult<[u64; 3]> {
        let (used, reserved) = self.page_counts(unit)?;
        let first_iam = self.storage(unit).roots.lock().first_iam;
        let data = match tree {
            true => self.leaf_count(unit)?,
            false => self.pages_of(first_iam)?.len() as u64,
        };
        Ok([used, data, reserved])
    }

    /// The leaves of a B-tree: the entries of the level above them.
    fn leaf_count(&self, unit: AllocUnitId) -> SqlResult<u64> {
        let mut at = self.storage(unit).roots.lock().root;
        let mut leaves = 0;
        while !at.is_null() {
            let page = self.read_page(at)?;
            let p = page.page();
            at = match p.level() {
                0 => return Ok(1),
                1 => {
                    leaves += u64::from(p.slot_count());
                    p.next_page()
                }
                _ => node_child(p.row(0)?, p.pminlen()).unwrap_or_default(),
            };
        }
        Ok(leaves)
    }
}
