//! Loads into heaps: the room of the page that took the last row, then new pages.
//!
//! A batch that does not fill a page goes row by row: single rows use the room that deleted ones have left.

use std::ops::Range;

use duramen_base::{PageId, SqlResult};
use duramen_txn::Transaction;
use duramen_wal::record::Lcx;

use super::batch::{Batch, image};
use super::{LoadError, Logging, PAGES_AT_ONCE};
use crate::change::{PageOp, Role};
use crate::def::RowLocator;
use crate::format::page::{BODY_BYTES, page_type};
use crate::rowset::Rowset;

impl Rowset {
    /// Puts in some of the rows from `at` on; how many. 0: the next goes the way of a single row.
    pub(super) fn load_heap(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        at: usize,
        logging: Logging,
        located: &mut Vec<RowLocator>,
        locate: bool,
    ) -> Result<usize, LoadError> {
        let rows = at..batch.len();
        if logging == Logging::Rows || batch.fitting(rows.clone(), BODY_BYTES) == rows.len() {
            return Ok(0);
        }
        let mut note = |page: PageId, slots: Range<u16>| {
            if locate {
                located.extend(slots.map(|s| RowLocator::Rid(page, s)));
            }
        };
        let taken = match self.fill_last(tx, batch, rows.clone(), &mut note) {
            Ok(Some(0)) => self.append_heap_pages(tx, batch, rows, &mut note),
            Ok(taken) => Ok(taken.unwrap_or(0)),
            Err(e) => Err(e),
        };
        taken.map_err(|e| LoadError {
            row: at,
            error: e.into(),
        })
    }

    /// Rows into the room of the page that took the last one; `None` when there is no such page, or somebody is in the way.
    fn fill_last(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        note: &mut dyn FnMut(PageId, Range<u16>),
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
        let room = match self.fits(p, usize::from(p.free_bytes()), false) {
            true => usize::from(p.free_bytes()),
            false => 0,
        };
        let n = batch.fitting(rows.clone(), room);
        if n == 0 {
            return Ok(Some(0));
        }
        let first = p.slot_count();
        let n = self.claim_slots(tx, id, first..first + n as u16)?;
        if n == 0 {
            return Ok(None);
        }
        let op = PageOp::Insert {
            slot: first,
            rows: batch.rows(rows.start..rows.start + n).collect(),
            lock: &[],
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
        Ok(n)
    }

    fn append_heap_pages(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        note: &mut dyn FnMut(PageId, Range<u16>),
    ) -> SqlResult<usize> {
        let seen = self.storage.hint();
        let _exclusive = self.storage.latch.write();
        if self.storage.hint() != seen {
            return Ok(0);
        }
        let pages = batch.pages(rows.clone(), PAGES_AT_ONCE);
        let ids = self.add_pages(tx, "AllocHeapPage", |sys| {
            self.heap_pages_for(sys, pages.len())
        })?;
        let mut taken = 0;
        for (id, rows) in ids.iter().zip(&pages) {
            let mut page = self.db.write_page(*id)?;
            let n = self.claim_slots(tx, *id, 0..rows.len() as u16)?;
            if n == 0 {
                break;
            }
            let filled = batch.fill(page.page(), rows.start..rows.start + n);
            let filled = filled.map_err(|e| self.db.corrupt(*id, e))?;
            let op = image(&filled);
            self.db
                .change(tx, *id, &mut page, &op, Lcx::HEAP, Role::Normal)?;
            self.storage.set_hint(*id);
            note(*id, 0..n as u16);
            taken += n;
            if n < rows.len() {
                break;
            }
        }
        Ok(taken)
    }

    /// Empty pages of the heap.
    fn heap_pages_for(&self, sys: &Transaction, pages: usize) -> SqlResult<Vec<PageId>> {
        let mut ids = Vec::with_capacity(pages);
        for _ in 0..pages {
            let id = self.db.allocate_page(sys, &self.storage)?;
            let mut page = self.db.write_new_page(id)?;
            let op = PageOp::Format {
                kind: page_type::DATA,
                level: 0,
                pminlen: self.def.layout.pminlen,
                au: self.storage.au,
                start: PageId::NULL,
                extra: 0,
            };
            self.db
                .change(sys, id, &mut page, &op, Lcx::HEAP, Role::Normal)?;
            ids.push(id);
        }
        Ok(ids)
    }
}
