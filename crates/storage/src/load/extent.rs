//! New pages for a load, an extent at a time, and the two records that speak of several pages at once.
//!
//! | record | in | says | undo |
//! |---|---|---|---|
//! | LOP_BULK_EXT_ALLOCATION, LCX_HEAP, LCX_CLUSTERED or LCX_INDEX_LEAF | the system transaction that adds the pages | the pages are formatted, empty, one behind the other | nothing: they are given back |
//! | LOP_BULK_EXT_ALLOCATION, LCX_BULK_OPERATION_PAGE | the user's transaction | the pages are filled without a record of what with | they are formatted again, their links kept |
//!
//! Both move the LSN of their pages: what is filled in afterwards goes to disk only when the second is durable.

use duramen_base::{AllocUnitId, DbId, Lsn, PageId, SqlResult};
use duramen_format::alloc::{GAM_EXTENTS, PFS_INTERVAL, is_fixed_page, pfs, pfs_get, pfs_page_of};
use duramen_format::page::{PageMut, page_type};
use duramen_format::{FormatError, FormatResult};
use duramen_observe::{Counter, count};
use duramen_pool::PageWrite;
use duramen_txn::Transaction;
use duramen_wal::record::{FLAG_NORMAL, Lcx, Lop, PageFields, RecordBuilder, RecordView};

use crate::change::{PageOp, Role, pack};
use crate::engine::{Database, Storage};
use crate::error::recovery_error;
use crate::recovery::{LoosePages, Redo};

/// Bytes of the record that formats a page again.
const FORMAT_BYTES: u32 = 88;

/// The pages that one of the records is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub unit: AllocUnitId,
    pub kind: u8,
    pub pminlen: u16,
    /// In B-trees: the page before the first.
    pub left: PageId,
    pub pages: Vec<PageId>,
    /// The first pages that a load has filled: everything to the right of them is the load's, too.
    pub first: bool,
}

impl Extent {
    fn record(&self, context: Lcx) -> RecordBuilder {
        let fields = PageFields {
            page: self.pages[0],
            object: self.unit.object_part(),
            index: self.unit.index_part(),
            alloc_unit: self.unit,
            ..PageFields::default()
        };
        RecordBuilder::new(Lop::BULK_EXT_ALLOCATION, context)
            .flags(FLAG_NORMAL)
            .page(&fields)
            .put(62, &[self.kind, u8::from(self.first)])
            .put(64, &self.pminlen.to_le_bytes())
            .put(66, &self.left.to_bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        self.pages.iter().flat_map(|p| p.to_bytes()).collect()
    }

    /// What a record says; `None` when it is another one.
    pub fn parse(view: &RecordView<'_>) -> FormatResult<Option<Extent>> {
        const BAD: FormatError = FormatError::Corrupt("LOP_BULK_EXT_ALLOCATION");
        if view.op() != Lop::BULK_EXT_ALLOCATION {
            return Ok(None);
        }
        let fields = view.page().ok_or(BAD)?;
        let fixed = view.fixed();
        let at = |i: usize| fixed.get(i).copied().ok_or(BAD);
        let pages = view.element(0).ok_or(BAD)?.chunks_exact(6);
        Ok(Some(Extent {
            unit: fields.alloc_unit,
            kind: at(62)?,
            pminlen: u16::from_le_bytes([at(64)?, at(65)?]),
            left: fixed.get(66..).and_then(PageId::from_bytes).ok_or(BAD)?,
            pages: pages.filter_map(PageId::from_bytes).collect(),
            first: at(63)? != 0,
        }))
    }

    /// Makes one of the pages empty.
    fn format(&self, number: usize, page: &mut PageMut<'_>) {
        page.format(self.pages[number], self.kind, self.unit, 0, self.pminlen);
        if !self.left.is_null() {
            let before = match number {
                0 => self.left,
                n => self.pages[n - 1],
            };
            page.set_prev_page(before);
            let after = self.pages.get(number + 1).copied();
            page.set_next_page(after.unwrap_or(PageId::NULL));
        }
    }
}

impl Database {
    /// New pages of a unit, allocated and not formatted: whole extents when that many are asked for.
    pub(super) fn take_pages(
        &self,
        sys: &Transaction,
        storage: &Storage,
        n: usize,
    ) -> SqlResult<Vec<PageId>> {
        let mut pages = Vec::with_capacity(n);
        while pages.len() + super::PAGES_AT_ONCE <= n {
            pages.extend(self.take_whole_extent(sys, storage)?);
        }
        while pages.len() < n {
            pages.push(self.allocate_page(sys, storage)?);
        }
        Ok(pages)
    }

    /// The pages of a fresh extent, all of them allocated by one record.
    fn take_whole_extent(&self, sys: &Transaction, storage: &Storage) -> SqlResult<Vec<PageId>> {
        storage
            .pages_changed
            .store(true, std::sync::atomic::Ordering::SeqCst);
        let _cursor = storage.cursor();
        let extent = self.take_extent(sys, storage.filegroup(), storage.au)?;
        count(Counter::ExtentsAllocated, 1);
        let iam = self.iam_for(sys, storage, extent)?;
        let bit = extent.page / 8 % GAM_EXTENTS;
        self.set_bit(sys, iam, bit, true, Lcx::IAM)?;
        let all = (0..8).map(|i| PageId::new(extent.file, extent.page + i));
        let pages: Vec<PageId> = all.filter(|p| !is_fixed_page(p.page)).collect();
        let fresh = pages
            .iter()
            .map(|p| (*p, pfs::ALLOCATED))
            .collect::<Vec<_>>();
        let (map, mut page, before, after) = self.pfs_bytes(extent, &fresh)?;
        let op = pfs_change(extent, &before, &after);
        self.change(sys, map, &mut page, &op, Lcx::PFS, Role::Normal)?;
        count(Counter::PagesAllocated, pages.len() as u64);
        Ok(pages)
    }

    /// The PFS page of an extent, its bytes for the extent, and what they are to be.
    fn pfs_bytes(
        &self,
        extent: PageId,
        set: &[(PageId, u8)],
    ) -> SqlResult<(PageId, PageWrite<'_>, [u8; 8], [u8; 8])> {
        let map = PageId::new(extent.file, pfs_page_of(extent.page));
        let page = self.write_page(map)?;
        let mut before = [0; 8];
        for (i, byte) in before.iter_mut().enumerate() {
            *byte = pfs_get(page.bytes(), extent.page + i as u32);
        }
        let mut after = before;
        for (id, byte) in set {
            after[(id.page - extent.page) as usize] = *byte;
        }
        Ok((map, page, before, after))
    }

    /// Says how full the pages of an extent are, in one record outside transactions.
    pub(super) fn set_classes(&self, pages: &[(PageId, u8)]) -> SqlResult<()> {
        let mut at = 0;
        while at < pages.len() {
            let extent = PageId::new(pages[at].0.file, pages[at].0.page / 8 * 8);
            let same =
                |(id, _): &&(PageId, u8)| id.file == extent.file && id.page / 8 * 8 == extent.page;
            let n = pages[at..].iter().take_while(same).count();
            let set: Vec<(PageId, u8)> = pages[at..at + n]
                .iter()
                .map(|(id, class)| (*id, pfs::ALLOCATED | class))
                .collect();
            let (map, mut page, before, after) = self.pfs_bytes(extent, &set)?;
            if before != after {
                let op = pfs_change(extent, &before, &after);
                self.change_alone(map, &mut page, &op, Lcx::PFS, true)?;
            }
            at += n;
        }
        Ok(())
    }

    /// Formats new pages, one behind the other, by one record.
    pub(super) fn format_extent(
        &self,
        sys: &Transaction,
        extent: &Extent,
        context: Lcx,
    ) -> SqlResult<()> {
        let mut latched = Vec::with_capacity(extent.pages.len());
        for id in &extent.pages {
            let page = self.write_new_page(*id)?;
            self.mark_changed(*id, sys.asks())?;
            page.mark_dirty();
            latched.push(page);
        }
        let mut record = extent.record(context).finish(&[&extent.bytes()]);
        let lsn = self.transactions.append(sys, &mut record, 0)?;
        for (i, page) in latched.iter_mut().enumerate() {
            let mut p = page.change();
            extent.format(i, &mut p);
            p.set_lsn(lsn);
        }
        Ok(())
    }

    /// Says that empty pages are about to be filled by `tx` without a record of what with.
    pub(super) fn begin_unlogged(&self, tx: &Transaction, extent: &Extent) -> SqlResult<()> {
        // Dirty and latched until they have the LSN: written down between, they would be clean for a checkpoint
        // that begins behind the record.
        let mut latched = Vec::with_capacity(extent.pages.len());
        for id in &extent.pages {
            let page = self.write_page(*id)?;
            self.mark_changed(*id, tx.asks())?;
            page.mark_dirty();
            latched.push(page);
        }
        let record = extent.record(Lcx::BULK_OPERATION_PAGE);
        let mut record = record.finish(&[&extent.bytes()]);
        // Splits may have made as many pages again; and the record that says that all are empty.
        let reserve = 2 * FORMAT_BYTES * extent.pages.len() as u32 + 256;
        let lsn = self.transactions.append(tx, &mut record, reserve)?;
        for page in &mut latched {
            page.change().set_lsn(lsn);
        }
        Ok(())
    }

    /// Undo of the user's record: its pages are empty again. Those of the first of a load, and all to the right of them:
    /// splits may have moved rows there, and nobody else could put any there before the load's transaction has ended.
    pub(crate) fn undo_extent(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        view: &RecordView<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let fail = |e: FormatError| recovery_error(self.id, lsn, &e.to_string());
        let parsed = Extent::parse(view).map_err(fail)?;
        let Some(extent) = parsed.filter(|_| view.context() == Lcx::BULK_OPERATION_PAGE) else {
            return Ok(());
        };
        let storage = self.storage(extent.unit);
        let _shared = storage.latch.read();
        for id in extent.pages.iter().rev() {
            self.empty_page(tx, *id, &extent, lsn)?;
        }
        if extent.first && !extent.left.is_null() {
            let mut at = extent.pages[0];
            while !at.is_null() {
                self.empty_page(tx, at, &extent, lsn)?;
                at = self.read_page(at)?.page().next_page();
            }
        }
        // The last: until it is there a crash finds this record again, and some pages empty already.
        let mut record = extent
            .record(Lcx::BULK_OPERATION_PAGE)
            .flags(duramen_wal::record::FLAG_COMPENSATION)
            .finish(&[&[]]);
        self.transactions
            .append_compensation(tx, &mut record, next, 0)?;
        Ok(())
    }

    /// Formats a page of the unit again, unless it is empty.
    fn empty_page(&self, tx: &Transaction, id: PageId, extent: &Extent, lsn: Lsn) -> SqlResult<()> {
        let mut page = self.write_page(id)?;
        let p = page.page();
        if p.alloc_unit() != extent.unit || p.level() != 0 {
            return Ok(());
        }
        let heap = extent.left.is_null();
        if heap && extent.kind == page_type::DATA {
            // Before the undo: see `free_space`. The byte may be on disk where the rows are not.
            let _ = self.set_free_space(id, 0);
        }
        if p.slot_count() == 0 {
            return Ok(());
        }
        let op = PageOp::Format {
            kind: extent.kind,
            level: 0,
            pminlen: extent.pminlen,
            au: extent.unit,
            start: p.prev_page(),
            extra: pack(p.next_page()),
        };
        let context = match heap {
            true => Lcx::HEAP,
            false => Lcx::CLUSTERED,
        };
        let role = Role::Compensation(lsn);
        self.change(tx, id, &mut page, &op, context, role)?;
        if heap && extent.kind == page_type::DATA {
            self.room_again(id, &page);
        }
        Ok(())
    }
}

impl Redo {
    /// Redo of both records, on the pages that are `mine`.
    pub(crate) fn extent(
        &self,
        lsn: Lsn,
        view: &RecordView<'_>,
        mine: &dyn Fn(PageId) -> bool,
    ) -> SqlResult<()> {
        let fail = |e: FormatError| recovery_error(self.store.id, lsn, &e.to_string());
        let Some(extent) = Extent::parse(view).map_err(fail)? else {
            return Ok(());
        };
        let formats = view.context() != Lcx::BULK_OPERATION_PAGE;
        for (i, id) in extent.pages.iter().enumerate() {
            if !mine(*id) || !self.concerns(*id, lsn) {
                continue;
            }
            let mut page = self.page(*id, formats)?;
            if page.page().lsn() >= lsn {
                continue;
            }
            let mut p = page.change();
            if formats {
                extent.format(i, &mut p);
            }
            p.set_lsn(lsn);
        }
        Ok(())
    }
}

impl Redo {
    /// The pages that such a record is about.
    pub(crate) fn extent_pages(
        db: DbId,
        lsn: Lsn,
        view: &RecordView<'_>,
    ) -> SqlResult<Vec<PageId>> {
        let extent = Extent::parse(view);
        let extent = extent.map_err(|e| recovery_error(db, lsn, &e.to_string()))?;
        Ok(extent.map_or_else(Vec::new, |e| e.pages))
    }

    /// The same on pages that are in no pool.
    pub(crate) fn extent_on(
        pages: &mut LoosePages,
        db: DbId,
        lsn: Lsn,
        view: &RecordView<'_>,
    ) -> SqlResult<()> {
        let fail = |e: FormatError| recovery_error(db, lsn, &e.to_string());
        let Some(extent) = Extent::parse(view).map_err(fail)? else {
            return Ok(());
        };
        for (i, id) in extent.pages.iter().enumerate() {
            let Some(page) = pages.get_mut(id) else {
                continue;
            };
            let mut p = PageMut::new(page);
            if p.as_ref().lsn() >= lsn {
                continue;
            }
            if view.context() != Lcx::BULK_OPERATION_PAGE {
                extent.format(i, &mut p);
            }
            p.set_lsn(lsn);
        }
        Ok(())
    }
}

/// The change of an extent's bytes on its PFS page.
fn pfs_change<'b>(extent: PageId, before: &'b [u8; 8], after: &'b [u8; 8]) -> PageOp<'b> {
    PageOp::Modify {
        slot: 0,
        offset: 4 + (extent.page % PFS_INTERVAL) as u16,
        before,
        after,
        key: &[],
        fields: &[],
    }
}
