//! How chains of pages go: at the commit of the transaction that dropped them, and never half.
//!
//! DROP and TRUNCATE only note the chain (LOP_HOBT_DDL). Its pages go after the commit, a few extents per system
//! transaction: each takes extents out of the IAM page and gives them to the GAM, so that what is left to do can always
//! be seen in the IAM page. The last one frees the IAM pages and notes that it is done.
//!
//! A crash in between loses nothing: recovery collects the notes of committed transactions that lack their "done" and
//! goes on ([`Doomed`]). A checkpoint carries notes that are still open over to its own range of the log.
//!
//! While extents go, their file's allocation mutex is held until the system transaction has ended: nobody can have
//! taken an extent that an undo wants back.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, Lsn, PageId, SqlResult, XdesId};
use duramen_format::alloc::{
    GAM_EXTENTS, PFS_INTERVAL, gam_page_of, is_fixed_page, pfs, pfs_get, pfs_page_of,
};
use duramen_format::page::page_type;
use duramen_observe::{Counter, count};
use duramen_pool::DataFile;
use duramen_txn::{Transaction, txlog};
use duramen_wal::record::{FLAG_COMPENSATION, FLAG_NORMAL, Lcx, RecordView};

use super::dropped::{DroppedChain, Note, remove_from};
use crate::change::{PageOp, Role};
use crate::engine::Database;

/// Extents given back per system transaction.
const STEP: usize = 32;
/// The record that undoes a chain's beginning, and those by which it is left to a checkpoint to free it.
pub(super) const CHAIN_RESERVE: u32 = 640;

impl Database {
    /// Notes that a chain goes when `tx` commits.
    pub(crate) fn drop_chain(&self, tx: &Transaction, au: AllocUnitId) -> SqlResult<()> {
        let first_iam = self.storage(au).roots.lock().first_iam;
        if first_iam.is_null() {
            return Ok(());
        }
        self.drop_chain_at(tx, au, first_iam)
    }

    fn drop_chain_at(&self, tx: &Transaction, au: AllocUnitId, first_iam: PageId) -> SqlResult<()> {
        let (xdes, _) = self.transactions.begin_if_needed(tx)?;
        let mut chain = DroppedChain {
            lsn: Lsn::NULL,
            au,
            first_iam,
        };
        tx.drops_pages();
        let mut drops = self.drops.lock();
        debug_assert!(
            !drops
                .get(&xdes)
                .is_some_and(|l| l.iter().any(|c| c.same(&chain))),
            "release/1: a transaction drops a chain twice"
        );
        chain.lsn = self.note(tx, chain.record(Note::Drop, xdes))?;
        drops.entry(xdes).or_default().push(chain);
        Ok(())
    }

    /// Notes, for good, that a chain goes as soon as there is room in the log. What it appends is set aside with the
    /// record of the chain's beginning ([`CHAIN_RESERVE`]).
    pub(crate) fn leave_chain(&self, chain: &DroppedChain) -> SqlResult<()> {
        let own = self.own_transaction("DeallocChain").unreserved();
        self.drop_chain_at(&own, chain.au, chain.first_iam)?;
        txlog::commit(&own, None)?;
        Ok(())
    }

    /// Undo of [`Database::drop_chain`].
    pub(crate) fn cancel_drop(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        view: &RecordView<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let Some((chain, xdes, Note::Drop)) = DroppedChain::parse(lsn, view) else {
            return Ok(());
        };
        let mut drops = self.drops.lock();
        let mut record = chain
            .record(Note::Cancelled, xdes)
            .flags(FLAG_COMPENSATION)
            .finish(&[]);
        self.transactions
            .append_compensation(tx, &mut record, next, 64)?;
        if let Some(list) = drops.get_mut(&xdes) {
            list.retain(|c| !c.same(&chain));
            if list.is_empty() {
                drops.remove(&xdes);
            }
        }
        Ok(())
    }

    /// Gives back the chains that the committed transaction `xdes` has dropped. What fails stays noted, and is tried
    /// again after checkpoints.
    pub(crate) fn release_chains(&self, tx: &Transaction, xdes: XdesId) -> SqlResult<()> {
        if !self.drops.lock().contains_key(&xdes) {
            return Ok(());
        }
        let _one = self.releasing.lock();
        let chains = self.drops.lock().get(&xdes).cloned().unwrap_or_default();
        let mut result = Ok(());
        for chain in chains {
            let freed = self.free_chain(tx, chain, Some(xdes));
            if freed.is_ok() {
                self.forget_chain(chain.au, chain.first_iam);
            }
            result = result.and(freed);
        }
        result
    }

    /// Tries again what has failed before.
    pub(crate) fn release_leftovers(&self) {
        let ids: Vec<XdesId> = self.drops.lock().keys().copied().collect();
        for xdes in ids {
            let active = self.transactions.table.active();
            if active.iter().any(|a| a.xdes == xdes) {
                continue;
            }
            let tx = self.own_transaction("DeallocChain");
            if self.release_chains(&tx, xdes).is_err() {
                // Still no log space, say: the note stays.
                return;
            }
        }
    }

    /// A chain is gone: what was remembered of it is forgotten, unless the unit has a new chain (TRUNCATE).
    fn forget_chain(&self, au: AllocUnitId, first_iam: PageId) {
        let mut storages = self.storages.write();
        if storages
            .get(&au)
            .is_some_and(|s| s.roots.lock().first_iam == first_iam)
        {
            if let Some(storage) = storages.remove(&au) {
                storage.goes();
            }
            self.store.page_waits.forget(au);
        }
    }

    /// Begins a checkpoint with `begin` and says again which chains are still to go.
    pub(crate) fn carry_drops(&self, begin: impl FnOnce() -> SqlResult<Lsn>) -> SqlResult<Lsn> {
        let drops = self.drops.lock();
        let lsn = begin()?;
        for (xdes, chains) in drops.iter() {
            for chain in chains {
                let mut record = chain
                    .record(Note::Carried, *xdes)
                    .flags(FLAG_NORMAL)
                    .finish(&[]);
                record[14..16].fill(0);
                self.access.append(&record, 0)?;
            }
        }
        Ok(lsn)
    }

    /// Gives every page of a chain back. A chain that has gone already is no error.
    pub(crate) fn free_chain(
        &self,
        tx: &Transaction,
        chain: DroppedChain,
        dropped_by: Option<XdesId>,
    ) -> SqlResult<()> {
        if !self.is_iam_of(chain.first_iam, chain.au)? {
            if let Some(xdes) = dropped_by {
                self.remove_drop(xdes, &chain);
            }
            return Ok(());
        }
        let mut iams = Vec::new();
        let mut pages = Vec::new();
        let mut at = chain.first_iam;
        while !at.is_null() {
            while self.free_some_extents(tx, at)? {}
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            pages.extend(iam.singles());
            iams.push(at);
            at = iam.next();
        }
        pages.extend(iams);
        self.free_last_pages(tx, &pages, chain, dropped_by)
    }

    /// Whether `id` is an IAM page of `au` now.
    fn is_iam_of(&self, id: PageId, au: AllocUnitId) -> SqlResult<bool> {
        const IAM: u8 = pfs::ALLOCATED | pfs::IAM;
        let there = self
            .store
            .file(id.file)
            .is_some_and(|f| id.page < f.size.load(Ordering::SeqCst));
        if id.is_null() || !there || self.pfs_of(id)? & IAM != IAM {
            return Ok(false);
        }
        let page = self.read_page(id)?;
        let p = page.page();
        Ok(p.page_type() == page_type::IAM && p.alloc_unit() == au)
    }

    /// Gives the first extents of an IAM page back; false when it has none left.
    fn free_some_extents(&self, tx: &Transaction, at: PageId) -> SqlResult<bool> {
        let extents: Vec<PageId> = {
            let p = self.read_page(at)?;
            let iam = p.page().iam()?;
            iam.extents().take(STEP).collect()
        };
        let Some(first) = extents.first() else {
            return Ok(false);
        };
        let file = self.store.expect_file(*first)?;
        let mut from = file.alloc.lock();
        if self.store.temporary {
            // The first that is free is given first: the end of the file stays empty, and can be cut off.
            *from = (*from).min(first.page / 8);
        }
        self.dealloc(tx, |sys| {
            for extent in &extents {
                self.clear_extent(sys, *extent)?;
                let bit = extent.page / 8 % GAM_EXTENTS;
                self.set_bit(sys, at, bit, false, Lcx::IAM)?;
                let gam = PageId::new(extent.file, gam_page_of(extent.page));
                self.set_bit(sys, gam, bit, true, Lcx::GAM)?;
                // Undo takes it back, as it does with the bit.
                file.free_extents.fetch_add(1, Ordering::SeqCst);
                count(Counter::ExtentDeallocations, 1);
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Marks the pages of an extent as free in the PFS; those at fixed places stay.
    fn clear_extent(&self, sys: &Transaction, extent: PageId) -> SqlResult<()> {
        let id = PageId::new(extent.file, pfs_page_of(extent.page));
        let mut p = self.write_page(id)?;
        let old: Vec<u8> = (0..8)
            .map(|i| pfs_get(p.bytes(), extent.page + i))
            .collect();
        let new: Vec<u8> = (0..8)
            .map(|i| match is_fixed_page(extent.page + i) {
                true => old[i as usize],
                false => 0,
            })
            .collect();
        if old == new {
            return Ok(());
        }
        let pages = old.iter().zip(&new).filter(|(o, n)| o != n).count();
        count(Counter::PageDeallocations, pages as u64);
        let op = PageOp::Modify {
            slot: 0,
            offset: 4 + (extent.page % PFS_INTERVAL) as u16,
            before: &old,
            after: &new,
            key: &[],
            fields: &[],
        };
        self.change(sys, id, &mut p, &op, Lcx::PFS, Role::Normal)?;
        Ok(())
    }

    /// Gives single pages and IAM pages back, and says that the chain has gone.
    fn free_last_pages(
        &self,
        tx: &Transaction,
        pages: &[PageId],
        chain: DroppedChain,
        dropped_by: Option<XdesId>,
    ) -> SqlResult<()> {
        debug_assert!(
            pages.contains(&chain.first_iam),
            "release/2: a chain goes and leaves its first IAM page"
        );
        // A checkpoint must not carry the note over once the chain has gone.
        let mut drops = self.drops.lock();
        let files: BTreeMap<u16, _> = pages
            .iter()
            .map(|p| Ok((p.file, self.store.expect_file(*p)?)))
            .collect::<SqlResult<_>>()?;
        let _guards: Vec<_> = files.values().map(|f| f.alloc.lock()).collect();
        self.dealloc(tx, |sys| {
            for page in pages {
                self.free_mixed(sys, *page, &files[&page.file])?;
            }
            if let Some(xdes) = dropped_by {
                self.note(sys, chain.record(Note::Done, xdes))?;
            }
            Ok(())
        })?;
        if let Some(xdes) = dropped_by {
            remove_from(&mut drops, xdes, &chain);
        }
        Ok(())
    }

    fn remove_drop(&self, xdes: XdesId, chain: &DroppedChain) {
        remove_from(&mut self.drops.lock(), xdes, chain);
    }

    /// A system transaction that gives pages back. Unlike `system`, its failure makes nobody forget what he knows:
    /// nobody else knew of these pages.
    fn dealloc(
        &self,
        tx: &Transaction,
        work: impl FnOnce(&Transaction) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let inner = tx.system("DeallocChain");
        let result = work(&inner);
        if let Err(e) = result {
            self.undo_inner(&inner)?;
            return Err(e);
        }
        if inner.has_written() {
            duramen_txn::txlog::commit(&inner, None)?;
        }
        Ok(())
    }

    /// Gives a page of a mixed extent back, and the extent with the last of its pages.
    fn free_mixed(&self, sys: &Transaction, page: PageId, file: &DataFile) -> SqlResult<()> {
        self.set_pfs(sys, page, 0)?;
        count(Counter::PageDeallocations, 1);
        let extent = PageId::new(page.file, page.page / 8 * 8);
        for i in 0..8 {
            let other = PageId::new(page.file, extent.page + i);
            if !is_fixed_page(other.page) && self.pfs_of(other)? & pfs::ALLOCATED != 0 {
                return self.set_mixed(sys, extent, true);
            }
        }
        // The extents of header, maps and boot page are never free.
        if extent.page < 8 || extent.page == 8 && extent.file == 1 {
            return self.set_mixed(sys, extent, true);
        }
        self.set_mixed(sys, extent, false)?;
        let gam = PageId::new(extent.file, gam_page_of(extent.page));
        let bit = extent.page / 8 % GAM_EXTENTS;
        self.set_bit(sys, gam, bit, true, Lcx::GAM)?;
        file.free_extents.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
