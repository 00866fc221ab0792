//! Loads into heaps: the room of the page that took the last row, then new pages.
//!
//! A batch that does not fill a page goes row by row: single rows use the room that deleted ones have left.

use std::ops::Range;

use duramen_base::{PageId, SqlResult};
use duramen_format::page::{BODY_BYTES, page_type};
use duramen_txn::{LockMode, Transaction};
use duramen_wal::record::Lcx;

use super::batch::{Batch, blank, image};
use super::extent::Extent;
use super::{Load, Logging};
use crate::change::{PageOp, Role};
use crate::def::RowLocator;
use crate::rowset::Rowset;

/// Is told where rows have gone.
type Note<'n> = &'n mut dyn FnMut(PageId, Range<u16>);

impl Load {
    /// Puts in some of the rows from `at` on; how many. 0: the next goes the way of a single row.
    pub(super) fn add_to_heap(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        at: usize,
        located: &mut Vec<RowLocator>,
        locate: bool,
    ) -> SqlResult<usize> {
        let rowset = self.rowset.clone();
        let rows = at..batch.len();
        let mut note = |page: PageId, slots: Range<u16>| {
            if locate {
                located.extend(slots.map(|s| RowLocator::Rid(page, s)));
            }
        };
        if self.logging == Logging::Minimal {
            let start = rows.start;
            let db = rowset.db.clone();
            let allowed = self.allowed(&db);
            let taken = self.fill_open(allowed.as_ref(), batch, rows.clone(), |id, slot, n| {
                let n = rowset.claim_slots(tx, id, slot..slot + n as u16)?;
                note(id, slot..slot + n as u16);
                Ok(n)
            })?;
            // `append_heap_pages` asks again, and a backup may be waiting between.
            drop(allowed);
            let taken = match taken {
                0 => self.append_heap_pages(tx, batch, start..rows.end, true, &mut note)?,
                n => n,
            };
            if taken > 0 {
                return Ok(taken);
            }
            self.settle(tx, true)?;
        }
        let short = batch.fitting(rows.clone(), BODY_BYTES) == rows.len();
        if self.logging == Logging::Rows || short {
            return Ok(0);
        }
        match rowset.fill_last(tx, batch, rows.clone(), &mut note)? {
            Some(0) => self.append_heap_pages(tx, batch, rows, false, &mut note),
            taken => Ok(taken.unwrap_or(0)),
        }
    }

    /// Rows on new pages, `unlogged` where that is allowed.
    fn append_heap_pages(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        unlogged: bool,
        note: Note<'_>,
    ) -> SqlResult<usize> {
        let rowset = self.rowset.clone();
        let db = rowset.db.clone();
        let alone = unlogged && rowset.has_table(tx);
        let allowed = self.allowed(&db).filter(|_| alone);
        if unlogged && allowed.is_none() {
            return Ok(0);
        }
        let seen = rowset.storage.hint();
        let _exclusive = rowset.storage.latch.write();
        // Another has added pages while this one waited: their room comes first.
        if rowset.storage.hint() != seen {
            return Ok(0);
        }
        let pages = batch.pages(rows.clone(), self.pages_at_once(unlogged), 0);
        let extent = rowset.add_pages(tx, "AllocHeapPage", |sys| {
            rowset.heap_pages_for(sys, pages.len(), unlogged)
        })?;
        let operations = &rowset.storage.operations;
        operations.leaf_allocated.add(pages.len() as u64);
        let mut taken = 0;
        for (id, rows) in extent.pages.iter().zip(&pages) {
            let n = rowset.claim_slots(tx, *id, 0..rows.len() as u16)?;
            debug_assert!(
                rowset.storage.latch.try_read().is_none(),
                "load/2: empty pages of a heap can be found"
            );
            if n > 0 && !unlogged {
                rowset.put_image(tx, *id, batch, rows.start..rows.start + n)?;
            }
            if n > 0 {
                rowset.storage.set_hint(*id);
                note(*id, 0..n as u16);
            }
            taken += n;
            if n < rows.len() {
                return Ok(taken);
            }
        }
        if unlogged {
            self.fill_unlogged(tx, batch, extent, &pages)?;
        }
        Ok(taken)
    }
}

impl Rowset {
    /// Rows into the room of the page that took the last one; `None` when there is no such page, or somebody is in the way.
    fn fill_last(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        note: Note<'_>,
    ) -> SqlResult<Option<usize>> {
        let _shared = self.storage.latch.read();
        let Some(id) = self.storage.hint() else {
            return Ok(None);
        };
        let mut page = self.db.write_page(id)?;
        let p = page.page();
        if p.alloc_unit() != self.storage.au {
            return Ok(None);
        }
        let n = batch.fitting(rows.clone(), self.room(tx, *p));
        if n == 0 {
            return Ok(Some(0));
        }
        let first = p.slot_count();
        let n = self.claim_slots(tx, id, first..first + n as u16)?;
        if n == 0 {
            return Ok(None);
        }
        debug_assert!(
            self.has_table(tx)
                || (first..first + n as u16).all(|slot| {
                    let held = tx.owner.holds(&self.rid(id, slot));
                    held.is_some_and(|m| m.covers(LockMode::X))
                }),
            "load/3: a row is put in without its lock"
        );
        let op = PageOp::Insert {
            slot: first,
            rows: batch.rows(rows.start..rows.start + n).collect(),
            lock: &[],
            key: &[],
        };
        self.db
            .change(tx, id, &mut page, &op, Lcx::HEAP, Role::Normal)?;
        note(id, first..first + n as u16);
        Ok(Some(n))
    }

    /// Locks and versions of rows in new slots of a page; of how many. Nobody else can wait for a slot of a new page.
    fn claim_slots(&self, tx: &Transaction, id: PageId, slots: Range<u16>) -> SqlResult<usize> {
        let all = self.has_table(tx);
        let mut n = 0;
        for slot in slots {
            if !all && !self.lock_rid(tx, id, slot) {
                break;
            }
            self.keep_version(tx, || Self::rid_place(id, slot).to_vec(), None)?;
            n += 1;
        }
        if !all {
            self.storage.operations.row_locks.add(n as u64);
            self.storage.operations.page_locks.add(n as u64);
        }
        Ok(n)
    }

    /// Logs and makes the change of an empty page to one with these rows.
    fn put_image(
        &self,
        tx: &Transaction,
        id: PageId,
        batch: &Batch<'_>,
        rows: Range<usize>,
    ) -> SqlResult<()> {
        let mut page = self.db.write_page(id)?;
        let mut filled = blank();
        batch.fill(page.page(), rows, &mut filled)?;
        let op = image(&filled);
        self.db
            .change(tx, id, &mut page, &op, Lcx::HEAP, Role::Normal)?;
        Ok(())
    }

    /// Empty pages of the heap, formatted `at_once` or each by a record.
    fn heap_pages_for(&self, sys: &Transaction, n: usize, at_once: bool) -> SqlResult<Extent> {
        let extent = Extent {
            unit: self.def.au,
            kind: page_type::DATA,
            pminlen: self.def.layout.pminlen,
            left: PageId::NULL,
            pages: self.db.take_pages(sys, &self.storage, n)?,
            first: false,
        };
        if at_once {
            self.db.format_extent(sys, &extent, Lcx::HEAP)?;
            return Ok(extent);
        }
        for id in &extent.pages {
            let mut page = self.db.write_new_page(*id)?;
            let op = PageOp::Format {
                kind: extent.kind,
                level: 0,
                pminlen: extent.pminlen,
                au: extent.unit,
                start: PageId::NULL,
                extra: 0,
            };
            self.db
                .change(sys, *id, &mut page, &op, Lcx::HEAP, Role::Normal)?;
        }
        Ok(extent)
    }
}
