//! Allocation: extents from the GAM, pages by the PFS, the IAM chain of each allocation unit, growth of files.
//!
//! Everything here runs inside a system transaction, so a crash or an error gives pages back, whatever becomes of the
//! user's transaction. Data pages come from uniform extents; IAM pages, and the first 8 pages of small system tables,
//! come from mixed extents, which the SGAM lists while they have a free page.
//!
//! Order of locks: the unit's `alloc` cursor, then the file's `alloc` mutex, then latches of map pages.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, PageId, SqlResult};
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use crate::change::{NEXT_LINK, PageOp, Role, difference};
use crate::engine::{Database, Storage, StorageRoots};
use crate::files::{DataFile, FileGrowth, filegroup_full};
use crate::format::alloc::{
    GAM_EXTENTS, GAM_INTERVAL, IAM_SINGLES, Iam, PFS_INTERVAL, bit_count, bit_find, bit_get,
    gam_page_of, is_fixed_page, pfs, pfs_get, pfs_page_of, sgam_page_of,
};
use crate::format::boot::FileHeader;
use crate::format::page::page_type;

impl Database {
    /// Sets the PFS byte of a page.
    fn set_pfs(&self, sys: &Transaction, page: PageId, value: u8) -> SqlResult<()> {
        let id = PageId::new(page.file, pfs_page_of(page.page));
        let mut p = self.write_page(id)?;
        let old = pfs_get(p.bytes(), page.page);
        if old == value {
            return Ok(());
        }
        let op = PageOp::Modify {
            slot: 0,
            offset: 4 + (page.page % PFS_INTERVAL) as u16,
            before: &[old],
            after: &[value],
            key: &[],
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

    fn set_bit(
        &self,
        sys: &Transaction,
        map: PageId,
        bit: u32,
        value: bool,
        context: Lcx,
    ) -> SqlResult<()> {
        let mut p = self.write_page(map)?;
        if bit_get(p.bytes(), bit) == value {
            return Ok(());
        }
        let op = PageOp::SetBit {
            bit: bit as u16,
            value,
        };
        self.change(sys, map, &mut p, &op, context, Role::Normal)?;
        Ok(())
    }

    /// Counts the free extents of a file from its GAM pages.
    pub(crate) fn count_free(&self, file: &DataFile) -> SqlResult<u32> {
        let extents = file.size.load(Ordering::SeqCst) / 8;
        let mut free = 0;
        let mut first = 0;
        while first < extents {
            let map = self.read_page(PageId::new(file.id, gam_page_of(first * 8)))?;
            free += bit_count(map.bytes(), extents - first);
            first += GAM_EXTENTS;
        }
        Ok(free)
    }

    /// The file that gives the next extent: each in proportion to its free space.
    fn pick_file(&self) -> Option<Arc<DataFile>> {
        let files = self.store.files.read();
        let free = |f: &DataFile| i64::from(f.free_extents.load(Ordering::SeqCst));
        let total: i64 = files.iter().map(|f| free(f)).sum();
        if total == 0 {
            return None;
        }
        let mut credit = self.fill.lock();
        let mut best: Option<(&Arc<DataFile>, i64)> = None;
        for f in files.iter().filter(|f| free(f) > 0) {
            let c = credit.entry(f.id).or_insert(0);
            *c += free(f);
            if best.is_none_or(|(_, b)| *c > b) {
                best = Some((f, *c));
            }
        }
        let chosen = best?.0.clone();
        if let Some(c) = credit.get_mut(&chosen.id) {
            *c -= total;
        }
        Some(chosen)
    }

    /// Takes a free extent out of the GAM; its first page.
    fn take_extent(&self, sys: &Transaction) -> SqlResult<PageId> {
        loop {
            let Some(file) = self.pick_file() else {
                self.grow(sys)?;
                continue;
            };
            let mut from = file.alloc.lock();
            match self.find_free_extent(&file, *from)? {
                Some(extent) => {
                    let page = PageId::new(file.id, extent * 8);
                    let map = PageId::new(file.id, gam_page_of(page.page));
                    self.set_bit(sys, map, extent % GAM_EXTENTS, false, Lcx::GAM)?;
                    file.free_extents.fetch_sub(1, Ordering::SeqCst);
                    *from = extent + 1;
                    return Ok(page);
                }
                None if *from > 0 => *from = 0,
                None => file.free_extents.store(0, Ordering::SeqCst),
            }
        }
    }

    fn find_free_extent(&self, file: &DataFile, from: u32) -> SqlResult<Option<u32>> {
        let extents = file.size.load(Ordering::SeqCst) / 8;
        let mut at = from;
        while at < extents {
            let base = at / GAM_EXTENTS * GAM_EXTENTS;
            let map = self.read_page(PageId::new(file.id, gam_page_of(base * 8)))?;
            if let Some(e) = bit_find(map.bytes(), at - base, extents - base) {
                return Ok(Some(base + e));
            }
            at = base + GAM_EXTENTS;
        }
        Ok(None)
    }

    /// A page of a mixed extent, marked with `flags` in the PFS.
    fn take_mixed_page(&self, sys: &Transaction, flags: u8) -> SqlResult<PageId> {
        let files = self.store.files.read().clone();
        for file in &files {
            let guard = file.alloc.lock();
            let extents = file.size.load(Ordering::SeqCst) / 8;
            let map = PageId::new(file.id, sgam_page_of(0));
            let found = bit_find(self.read_page(map)?.bytes(), 0, extents);
            if let Some(e) = found {
                let page = self.page_of_mixed(sys, PageId::new(file.id, e * 8), map, e, flags)?;
                drop(guard);
                if let Some(page) = page {
                    return Ok(page);
                }
            }
        }
        let extent = self.take_extent(sys)?;
        let map = PageId::new(extent.file, sgam_page_of(extent.page));
        let bit = extent.page / 8 % GAM_EXTENTS;
        let file = self.store.expect_file(extent)?;
        let _guard = file.alloc.lock();
        self.set_bit(sys, map, bit, true, Lcx::SGAM)?;
        match self.page_of_mixed(sys, extent, map, bit, flags)? {
            Some(page) => Ok(page),
            None => Err(filegroup_full("", &self.name)),
        }
    }

    fn page_of_mixed(
        &self,
        sys: &Transaction,
        extent: PageId,
        map: PageId,
        bit: u32,
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
            self.set_bit(sys, map, bit, false, Lcx::SGAM)?;
        }
        let Some(&page) = free.first() else {
            return Ok(None);
        };
        self.set_pfs(sys, page, pfs::ALLOCATED | pfs::MIXED | flags)?;
        Ok(Some(page))
    }

    /// Makes the IAM page of `au` for the interval that starts at `start`.
    fn new_iam(
        &self,
        sys: &Transaction,
        au: AllocUnitId,
        start: PageId,
        sequence: u32,
    ) -> SqlResult<PageId> {
        let id = self.take_mixed_page(sys, pfs::IAM)?;
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
    fn iam_for(&self, sys: &Transaction, storage: &Storage, page: PageId) -> SqlResult<PageId> {
        let start = PageId::new(page.file, page.page / GAM_INTERVAL * GAM_INTERVAL);
        let mut at = storage.roots.lock().first_iam;
        let mut last = (PageId::NULL, 0);
        while !at.is_null() {
            let p = self.read_page(at)?;
            let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
            if iam.start() == start {
                return Ok(at);
            }
            last = (at, iam.sequence());
            at = iam.next();
        }
        let new = self.new_iam(sys, storage.au, start, last.1 + 1)?;
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
    pub(crate) fn allocate_page(
        &self,
        sys: &Transaction,
        storage: &Storage,
        full: bool,
    ) -> SqlResult<PageId> {
        let flags = pfs::ALLOCATED | if full { 4 } else { 0 };
        let mut cursor = storage.alloc.lock();
        loop {
            if let Some((extent, next)) = cursor.extent {
                for i in next..8 {
                    let page = PageId::new(extent.file, extent.page + i);
                    if is_fixed_page(page.page) || self.pfs_of(page)? & pfs::ALLOCATED != 0 {
                        continue;
                    }
                    cursor.extent = Some((extent, i + 1));
                    self.set_pfs(sys, page, flags)?;
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
            let extent = self.take_extent(sys)?;
            let iam = self.iam_for(sys, storage, extent)?;
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
            let map = Iam::new(p.bytes()).map_err(|e| self.corrupt(iam, e))?;
            (0..IAM_SINGLES).find(|i| map.single(*i).is_null())
        };
        let Some(i) = free else { return Ok(None) };
        let page = self.take_mixed_page(sys, flags & pfs::FULLNESS)?;
        let mut p = self.write_page(iam)?;
        let op = PageOp::Modify {
            slot: 0,
            offset: (46 + 6 * i) as u16,
            before: &[0; 6],
            after: &page.to_bytes(),
            key: &[],
        };
        self.change(sys, iam, &mut p, &op, Lcx::IAM, Role::Normal)?;
        Ok(Some(page))
    }

    /// An extent of the unit that still has a page to give.
    fn partly_used_extent(&self, storage: &Storage) -> SqlResult<Option<PageId>> {
        for extent in self.extents_of(storage.roots.lock().first_iam)? {
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
            let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
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
                let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
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

    /// Used and reserved pages of an allocation unit, IAM pages included: what sp_spaceused shows.
    pub fn page_counts(&self, au: AllocUnitId) -> SqlResult<(u64, u64)> {
        let first = self.roots(au).first_iam;
        let mut used = self.pages_of(first)?.len() as u64;
        let mut reserved = self.extents_of(first)?.len() as u64 * 8;
        let mut at = first;
        while !at.is_null() {
            let p = self.read_page(at)?;
            let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
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
        kind: u8,
        pminlen: u16,
    ) -> SqlResult<StorageRoots> {
        let storage = self.storage(au);
        let old = *storage.roots.lock();
        storage.forget();
        let roots = self.system(tx, "AllocFirstPage", |sys| {
            let file = self.store.expect_file(PageId::new(1, 0))?;
            let iam = self.new_iam(sys, au, PageId::new(file.id, 0), 0)?;
            let mut roots = StorageRoots {
                first_iam: iam,
                ..StorageRoots::default()
            };
            *storage.roots.lock() = roots;
            let first = self.allocate_page(sys, &storage, false)?;
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
        // The user's transaction owns the chain: its undo (see `undo`) frees it and brings the old roots back.
        let record = RecordBuilder::new(Lop::CREATE_ALLOCCHAIN, Lcx::NULL)
            .put(24, &roots.first_iam.to_bytes())
            .put(32, &au.0.to_le_bytes())
            .put(40, &old.first_iam.to_bytes())
            .put(46, &old.root.to_bytes())
            .put(52, &old.first.to_bytes());
        self.note(tx, record)?;
        Ok(roots)
    }

    /// Gives every page of a chain back.
    pub(crate) fn free_chain(&self, tx: &Transaction, first_iam: PageId) -> SqlResult<()> {
        if first_iam.is_null() {
            return Ok(());
        }
        self.system(tx, "DeallocChain", |sys| {
            let mut at = first_iam;
            while !at.is_null() {
                let (singles, extents, next) = {
                    let p = self.read_page(at)?;
                    let iam = Iam::new(p.bytes()).map_err(|e| self.corrupt(at, e))?;
                    let singles: Vec<_> = iam.singles().collect();
                    (singles, iam.extents().collect::<Vec<_>>(), iam.next())
                };
                for extent in extents {
                    self.free_extent(sys, extent)?;
                }
                for page in singles.into_iter().chain([at]) {
                    self.free_mixed(sys, page)?;
                }
                at = next;
            }
            Ok(())
        })
    }

    fn free_extent(&self, sys: &Transaction, extent: PageId) -> SqlResult<()> {
        for i in 0..8 {
            let page = PageId::new(extent.file, extent.page + i);
            if !is_fixed_page(page.page) {
                self.set_pfs(sys, page, 0)?;
            }
        }
        let file = self.store.expect_file(extent)?;
        let _guard = file.alloc.lock();
        let map = PageId::new(extent.file, gam_page_of(extent.page));
        self.set_bit(sys, map, extent.page / 8 % GAM_EXTENTS, true, Lcx::GAM)?;
        file.free_extents.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn free_mixed(&self, sys: &Transaction, page: PageId) -> SqlResult<()> {
        let file = self.store.expect_file(page)?;
        let _guard = file.alloc.lock();
        self.set_pfs(sys, page, 0)?;
        let map = PageId::new(page.file, sgam_page_of(page.page));
        self.set_bit(sys, map, page.page / 8 % GAM_EXTENTS, true, Lcx::SGAM)
    }

    /// Makes a file larger: 1105 when none may grow.
    pub(crate) fn grow(&self, sys: &Transaction) -> SqlResult<()> {
        let files = self.store.files.read().clone();
        for file in &files {
            let spec = file.spec.read().clone();
            let size = file.size.load(Ordering::SeqCst);
            let wanted = match spec.growth {
                FileGrowth::None => continue,
                FileGrowth::Pages(n) => n.max(8),
                FileGrowth::Percent(p) => (u64::from(size) * u64::from(p) / 100).max(8) as u32,
            };
            let wanted = (wanted + 7) & !7;
            let limit = spec.max_size.unwrap_or(u32::MAX - 8) & !7;
            let to = size.saturating_add(wanted).min(limit);
            if to <= size {
                continue;
            }
            match self.grow_to(sys, file, to) {
                Ok(()) => return Ok(()),
                Err(e) if e.number == 823 => continue,
                Err(e) => return Err(e),
            }
        }
        Err(filegroup_full("dbo.(object)", &self.name))
    }

    /// Makes `file` `to` pages long: first on the disk, then in the log.
    pub(crate) fn grow_to(&self, sys: &Transaction, file: &DataFile, to: u32) -> SqlResult<()> {
        let _guard = file.alloc.lock();
        let size = file.size.load(Ordering::SeqCst);
        if to <= size {
            return Ok(());
        }
        file.extend(to)?;
        file.size.store(to, Ordering::SeqCst);
        self.system(sys, "FileGrow", |sys| {
            for page in size..to {
                self.format_map_page(sys, PageId::new(file.id, page))?;
            }
            let id = PageId::new(file.id, 0);
            let mut p = self.write_page(id)?;
            let mut header = FileHeader::read(p.bytes()).map_err(|e| self.corrupt(id, e))?;
            header.size = to;
            let old = p
                .page()
                .expect_record(0)
                .map_err(|e| self.corrupt(id, e))?
                .to_vec();
            let new = header
                .changed_row(p.bytes())
                .map_err(|e| self.corrupt(id, e))?;
            let (offset, before, after) = difference(&old, &new);
            let op = PageOp::Modify {
                slot: 0,
                offset,
                before,
                after,
                key: &[],
            };
            self.change(sys, id, &mut p, &op, Lcx::FILE_HEADER, Role::Normal)?;
            Ok(())
        })?;
        file.free_extents
            .fetch_add((to - size) / 8, Ordering::SeqCst);
        Ok(())
    }

    /// Formats `page` when it is an allocation map of its interval.
    fn format_map_page(&self, sys: &Transaction, id: PageId) -> SqlResult<()> {
        let n = id.page;
        let (kind, context, extra) = if n.is_multiple_of(PFS_INTERVAL) {
            (page_type::PFS, Lcx::PFS, 0)
        } else if n < GAM_INTERVAL {
            return Ok(());
        } else {
            match n % GAM_INTERVAL {
                0 => (page_type::GAM, Lcx::GAM, 1),
                1 => (page_type::SGAM, Lcx::SGAM, 0),
                6 => (page_type::DIFF_MAP, Lcx::DIFF_MAP, 0),
                7 => (page_type::ML_MAP, Lcx::ML_MAP, 0),
                _ => return Ok(()),
            }
        };
        let op = PageOp::Format {
            kind,
            level: 0,
            pminlen: 0,
            au: AllocUnitId::from_parts(0, 99),
            start: PageId::new(id.file, n / GAM_INTERVAL * GAM_INTERVAL),
            extra,
        };
        let mut page = self.write_new_page(id)?;
        self.change(sys, id, &mut page, &op, context, Role::Normal)?;
        Ok(())
    }
}

/// System tables begin in mixed extents: most of them stay tiny.
fn is_small(au: AllocUnitId) -> bool {
    au.index_part() < 256 && au.object_part() < 256
}
