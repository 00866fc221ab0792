//! Allocation: pages by the PFS, mixed extents by the SGAM, the IAM chain of each allocation unit. Where extents come
//! from is `files::fill`, how chains go is `alloc::release`.
//!
//! Everything here runs inside a system transaction, so a crash or an error gives pages back, whatever becomes of the
//! user's transaction. Data pages come from uniform extents; IAM pages, and the first 8 pages of small system tables,
//! come from mixed extents, which the SGAM lists while they have a free page.
//!
//! Order of locks: the unit's `alloc` cursor, then the file's `alloc` mutex, then latches of map pages.

pub(crate) mod dropped;
mod release;

use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, PageId, SqlResult};
use duramen_format::alloc::{
    GAM_EXTENTS, GAM_INTERVAL, IAM_SINGLES, PFS_INTERVAL, bit_find, bit_get, is_fixed_page, pfs,
    pfs_get, pfs_page_of, sgam_page_of,
};
use duramen_format::page::page_type;
use duramen_observe::{Counter, count};
use duramen_pool::DataFile;
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use crate::change::{NEXT_LINK, PageOp, Role};
use crate::engine::{Database, Storage, StorageRoots};

impl Database {
    /// Sets the PFS byte of a page.
    fn set_pfs(&self, sys: &Transaction, page: PageId, value: u8) -> SqlResult<()> {
        let id = PageId::new(page.file, pfs_page_of(page.page));
        let mut p = self.write_page(id)?;
        let old = pfs_get(p.bytes(), page.page);
        if old == value {
            return Ok(());
        }
        debug_assert!(
            !is_fixed_page(page.page),
            "alloc/2: a page at a fixed place is given out or back: {page}"
        );
        debug_assert!(
            (old ^ value) & pfs::ALLOCATED != 0,
            "alloc/2: page {page} is given out or back twice"
        );
        let op = PageOp::Modify {
            slot: 0,
            offset: 4 + (page.page % PFS_INTERVAL) as u16,
            before: &[old],
            after: &[value],
            key: &[],
            fields: &[],
        };
        self.change(sys, id, &mut p, &op, Lcx::PFS, Role::Normal)?;
        Ok(())
    }

    fn pfs_of(&self, page: PageId) -> SqlResult<u8> {
        let id = PageId::new(page.file, pfs_page_of(page.page));
        Ok(pfs_get(self.read_page(id)?.bytes(), page.page))
    }

    /// Whether the page is given out, as the PFS says.
    pub fn is_allocated(&self, page: PageId) -> SqlResult<bool> {
        Ok(self.pfs_of(page)? & pfs::ALLOCATED != 0)
    }

    pub(crate) fn set_bit(
        &self,
        sys: &Transaction,
        map: PageId,
        bit: u32,
        value: bool,
        context: Lcx,
    ) -> SqlResult<()> {
        debug_assert!(
            bit < GAM_EXTENTS,
            "alloc/3: extent {bit} is beyond the interval of its map"
        );
        let mut p = self.write_page(map)?;
        if bit_get(p.bytes(), bit) == value {
            debug_assert!(
                context == Lcx::SGAM,
                "alloc/3: an extent is given out or back twice, {map} says"
            );
            return Ok(());
        }
        let op = PageOp::SetBit {
            bit: bit as u16,
            value,
        };
        self.change(sys, map, &mut p, &op, context, Role::Normal)?;
        Ok(())
    }

    /// A page of a mixed extent, marked with `flags` in the PFS.
    ///
    /// A new extent is taken in a transaction of its own: others take pages of it before `sys` has ended, and the undo of
    /// `sys`, after a crash say, must not give it back under them. Without any of its pages in use it waits, listed as mixed.
    pub(crate) fn take_mixed_page(
        &self,
        sys: &Transaction,
        filegroup: u16,
        au: AllocUnitId,
        flags: u8,
    ) -> SqlResult<PageId> {
        loop {
            for file in &self.files_of(filegroup) {
                let guard = file.alloc.lock();
                if file.closing.load(Ordering::SeqCst) {
                    continue;
                }
                if let Some(e) = self.find_mixed_extent(file)? {
                    let page = self.page_of_mixed(sys, PageId::new(file.id, e * 8), flags)?;
                    drop(guard);
                    if let Some(page) = page {
                        return Ok(page);
                    }
                }
            }
            // All of its pages may be others' by the time it is looked at.
            self.system(sys, "AllocMixedExtent", |own| {
                let extent = self.take_extent(own, filegroup, au)?;
                let file = self.store.expect_file(extent)?;
                let _guard = file.alloc.lock();
                self.set_mixed(own, extent, true)
            })?;
        }
    }

    /// Says in the SGAM whether a mixed extent has a page to give.
    fn set_mixed(&self, sys: &Transaction, extent: PageId, on: bool) -> SqlResult<()> {
        let map = PageId::new(extent.file, sgam_page_of(extent.page));
        self.set_bit(sys, map, extent.page / 8 % GAM_EXTENTS, on, Lcx::SGAM)
    }

    fn find_mixed_extent(&self, file: &DataFile) -> SqlResult<Option<u32>> {
        let extents = file.size.load(Ordering::SeqCst) / 8;
        for base in (0..extents).step_by(GAM_EXTENTS as usize) {
            let map = self.read_page(PageId::new(file.id, sgam_page_of(base * 8)))?;
            if let Some(e) = bit_find(map.bytes(), 0, extents - base) {
                return Ok(Some(base + e));
            }
        }
        Ok(None)
    }

    fn page_of_mixed(
        &self,
        sys: &Transaction,
        extent: PageId,
        flags: u8,
    ) -> SqlResult<Option<PageId>> {
        let mut free = Vec::new();
        for i in 0..8 {
            let page = PageId::new(extent.file, extent.page + i);
            if !is_fixed_page(page.page) && self.pfs_of(page)? & pfs::ALLOCATED == 0 {
                free.push(page);
            }
        }
        if free.len() <= 1 {
            self.set_mixed(sys, extent, false)?;
        }
        let Some(&page) = free.first() else {
            return Ok(None);
        };
        debug_assert!(
            page.page / 8 * 8 == extent.page,
            "alloc/1: a page of another extent is given"
        );
        self.set_pfs(sys, page, pfs::ALLOCATED | pfs::MIXED | flags)?;
        Ok(Some(page))
    }

    /// Makes the IAM page of `au` for the interval that starts at `start`.
    fn new_iam(
        &self,
        sys: &Transaction,
        storage: &Storage,
        start: PageId,
        sequence: u32,
    ) -> SqlResult<PageId> {
        debug_assert!(
            start.page.is_multiple_of(GAM_INTERVAL),
            "alloc/4: an IAM page begins within an interval"
        );
        let (au, filegroup) = (storage.au, storage.filegroup());
        let id = self.take_mixed_page(sys, filegroup, au, pfs::IAM)?;
        let op = PageOp::Format {
            kind: page_type::IAM,
            level: 0,
            pminlen: 90,
            au,
            start,
            extra: u64::from(sequence),
        };
        let mut page = self.write_new_page(id)?;
        self.change(sys, id, &mut page, &op, Lcx::IAM, Role::Normal)?;
        Ok(id)
    }

    /// The IAM page of the unit that covers `page`, made when there is none.
    pub(crate) fn iam_for(
        &self,
        sys: &Transaction,
        storage: &Storage,
        page: PageId,
    ) -> SqlResult<PageId> {
        let start = PageId::new(page.file, page.page / GAM_INTERVAL * GAM_INTERVAL);
        let mut at = storage.roots.lock().first_iam;
        let mut last = (PageId::NULL, 0);
        while !at.is_null() {
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            debug_assert!(
                p.page().alloc_unit() == storage.au,
                "alloc/4: a chain of IAM pages leads to another unit's"
            );
            debug_assert!(
                last.0.is_null() || iam.sequence() > last.1,
                "alloc/4: the IAM pages of a chain are not numbered on"
            );
            if iam.start() == start {
                return Ok(at);
            }
            last = (at, iam.sequence());
            at = iam.next();
        }
        let new = self.new_iam(sys, storage, start, last.1 + 1)?;
        if !last.0.is_null() {
            let mut p = self.write_page(last.0)?;
            let op = PageOp::Links {
                at: NEXT_LINK,
                before: PageId::NULL,
                after: new,
            };
            self.change(sys, last.0, &mut p, &op, Lcx::IAM, Role::Normal)?;
        }
        Ok(new)
    }

    /// A new page of the unit, marked allocated and not formatted yet.
    pub(crate) fn allocate_page(&self, sys: &Transaction, storage: &Storage) -> SqlResult<PageId> {
        let flags = pfs::ALLOCATED;
        storage.pages_changed.store(true, Ordering::SeqCst);
        let mut cursor = storage.cursor();
        loop {
            if let Some((extent, next)) = cursor.extent {
                for i in next..8 {
                    let page = PageId::new(extent.file, extent.page + i);
                    if is_fixed_page(page.page) || self.pfs_of(page)? & pfs::ALLOCATED != 0 {
                        continue;
                    }
                    cursor.extent = Some((extent, i + 1));
                    debug_assert!(
                        page.page / 8 * 8 == extent.page,
                        "alloc/1: a page of another extent is given"
                    );
                    self.set_pfs(sys, page, flags)?;
                    count(Counter::PagesAllocated, 1);
                    return Ok(page);
                }
                cursor.extent = None;
            }
            if !cursor.scanned {
                cursor.scanned = true;
                cursor.extent = self.partly_used_extent(storage)?.map(|e| (e, 0));
                if cursor.extent.is_some() {
                    continue;
                }
            }
            if is_small(storage.au)
                && let Some(page) = self.single_page(sys, storage, flags)?
            {
                return Ok(page);
            }
            let extent = self.take_extent(sys, storage.filegroup(), storage.au)?;
            count(Counter::ExtentsAllocated, 1);
            let iam = self.iam_for(sys, storage, extent)?;
            debug_assert!(
                extent.page.is_multiple_of(8),
                "alloc/1: an extent begins at a multiple of eight pages"
            );
            let bit = extent.page / 8 % GAM_EXTENTS;
            self.set_bit(sys, iam, bit, true, Lcx::IAM)?;
            cursor.extent = Some((extent, 0));
        }
    }

    /// A page of a mixed extent for a system table that has fewer than 8.
    fn single_page(
        &self,
        sys: &Transaction,
        storage: &Storage,
        flags: u8,
    ) -> SqlResult<Option<PageId>> {
        let iam = storage.roots.lock().first_iam;
        let free = {
            let p = self.read_page(iam)?;
            let map = p.page().iam()?;
            (0..IAM_SINGLES).find(|i| map.single(*i).is_null())
        };
        let Some(i) = free else { return Ok(None) };
        let filegroup = storage.filegroup();
        let page = self.take_mixed_page(sys, filegroup, storage.au, flags & pfs::FULLNESS)?;
        let mut p = self.write_page(iam)?;
        let op = PageOp::Modify {
            slot: 0,
            offset: (46 + 6 * i) as u16,
            before: &[0; 6],
            after: &page.to_bytes(),
            key: &[],
            fields: &[],
        };
        self.change(sys, iam, &mut p, &op, Lcx::IAM, Role::Normal)?;
        count(Counter::PagesAllocated, 1);
        count(Counter::MixedPageAllocations, 1);
        Ok(Some(page))
    }

    /// An extent of the unit that still has a page to give.
    fn partly_used_extent(&self, storage: &Storage) -> SqlResult<Option<PageId>> {
        // Not under the lock of the roots: who has a page asks for them.
        let first_iam = storage.roots.lock().first_iam;
        for extent in self.extents_of(first_iam)? {
            for i in 0..8 {
                let page = PageId::new(extent.file, extent.page + i);
                if !is_fixed_page(page.page) && self.pfs_of(page)? & pfs::ALLOCATED == 0 {
                    return Ok(Some(extent));
                }
            }
        }
        Ok(None)
    }

    fn extents_of(&self, first_iam: PageId) -> SqlResult<Vec<PageId>> {
        let mut extents = Vec::new();
        let mut at = first_iam;
        while !at.is_null() {
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            extents.extend(iam.extents());
            at = iam.next();
        }
        Ok(extents)
    }

    /// Every allocated page of a chain, IAM pages left out, in IAM order.
    pub(crate) fn pages_of(&self, first_iam: PageId) -> SqlResult<Vec<PageId>> {
        let mut pages = Vec::new();
        let mut at = first_iam;
        while !at.is_null() {
            let (singles, extents, next) = {
                let p = self.read_page(at)?;
                let iam = p.page().iam()?;
                let singles: Vec<_> = iam.singles().collect();
                (singles, iam.extents().collect::<Vec<_>>(), iam.next())
            };
            pages.extend(singles);
            for extent in extents {
                for i in 0..8 {
                    let page = PageId::new(extent.file, extent.page + i);
                    if !is_fixed_page(page.page) && self.pfs_of(page)? & pfs::ALLOCATED != 0 {
                        pages.push(page);
                    }
                }
            }
            at = next;
        }
        Ok(pages)
    }

    /// About how many pages an allocation unit has, from its IAM pages alone: whole extents and single pages.
    pub fn pages_about(&self, au: AllocUnitId) -> SqlResult<u64> {
        let first = self.roots(au).first_iam;
        let mut pages = self.extents_of(first)?.len() as u64 * 8;
        if !first.is_null() {
            let p = self.read_page(first)?;
            let iam = p.page().iam()?;
            pages += iam.singles().count() as u64;
        }
        Ok(pages)
    }

    /// Used and reserved pages of an allocation unit, IAM pages included: what sp_spaceused shows.
    pub fn page_counts(&self, au: AllocUnitId) -> SqlResult<(u64, u64)> {
        let first = self.roots(au).first_iam;
        let mut used = self.pages_of(first)?.len() as u64;
        let mut reserved = self.extents_of(first)?.len() as u64 * 8;
        let mut at = first;
        while !at.is_null() {
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            used += 1;
            reserved += 1 + iam.singles().count() as u64;
            at = iam.next();
        }
        Ok((used, reserved))
    }

    /// Makes the IAM page and the first page of a unit, under `tx`: a rollback gives them back.
    pub(crate) fn create_chain(
        &self,
        tx: &Transaction,
        au: AllocUnitId,
        filegroup: u16,
        kind: u8,
        pminlen: u16,
    ) -> SqlResult<StorageRoots> {
        let storage = self.storage(au);
        storage.set_filegroup(filegroup);
        let old = *storage.roots.lock();
        storage.forget();
        let roots = self.system(tx, "AllocFirstPage", |sys| {
            let small = is_small(au);
            let extent = if small {
                PageId::new(1, 0)
            } else {
                self.take_extent(sys, filegroup, au)?
            };
            let start = PageId::new(extent.file, extent.page / GAM_INTERVAL * GAM_INTERVAL);
            let iam = self.new_iam(sys, &storage, start, 0)?;
            if !small {
                let bit = extent.page / 8 % GAM_EXTENTS;
                self.set_bit(sys, iam, bit, true, Lcx::IAM)?;
                storage.cursor().extent = Some((extent, 0));
            }
            let mut roots = StorageRoots {
                first_iam: iam,
                ..StorageRoots::default()
            };
            *storage.roots.lock() = roots;
            let first = self.allocate_page(sys, &storage)?;
            let op = PageOp::Format {
                kind,
                level: 0,
                pminlen,
                au,
                start: PageId::NULL,
                extra: 0,
            };
            let mut page = self.write_new_page(first)?;
            self.change(sys, first, &mut page, &op, Lcx::NULL, Role::Normal)?;
            roots.root = first;
            roots.first = first;
            // The user's transaction owns the chain: its undo (see `undo`) frees it and brings the old roots back. Logged
            // before this transaction commits, so that no crash leaves a chain without owner.
            let record = RecordBuilder::new(Lop::CREATE_ALLOCCHAIN, Lcx::NULL)
                .put(24, &roots.first_iam.to_bytes())
                .put(32, &au.0.to_le_bytes())
                .put(40, &old.first_iam.to_bytes())
                .put(46, &old.root.to_bytes())
                .put(52, &old.first.to_bytes());
            self.note_reserving(tx, record, release::CHAIN_RESERVE)?;
            Ok(roots)
        });
        let roots = match roots {
            Ok(roots) => roots,
            Err(e) => {
                *storage.roots.lock() = old;
                return Err(e);
            }
        };
        *storage.roots.lock() = roots;
        Ok(roots)
    }
}

/// System tables begin in mixed extents: most of them stay tiny.
fn is_small(au: AllocUnitId) -> bool {
    au.index_part() < 256 && au.object_part() < 256
}
