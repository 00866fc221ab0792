//! Loads into B-trees: behind everything else page by page, elsewhere leaf by leaf.

use std::ops::Range;

use duramen_base::{PageId, SqlResult};
use duramen_observe::events::PageSplitKind;
use duramen_observe::{Counter, count};
use duramen_pool::{PageAt, PageWrite};
use duramen_txn::{LockDuration, LockMode, Transaction};
use duramen_types::Value;
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use super::batch::{Batch, blank, image};
use super::extent::Extent;
use super::{Load, Logging};
use crate::btree::lock_info;
use crate::change::{NEXT_LINK, PageOp, Role, pack};
use crate::hints::Wanted;
use crate::rowset::Rowset;

/// What came of rows that may go to the last leaf.
enum AtEdge {
    Taken(usize),
    /// The leaf has no room.
    Full,
    /// They belong further to the left, or have to wait for somebody.
    No,
}

impl Load {
    /// Puts in some of the rows from `at` on; how many. 0: the next goes the way of a single row.
    pub(super) fn add_to_tree(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        at: usize,
    ) -> SqlResult<usize> {
        let rowset = self.rowset.clone();
        let rows = at..batch.ascending(at);
        if self.open_page().is_some() {
            let taken = self.fill_open_leaf(tx, batch, rows.clone())?;
            let taken = match taken {
                0 => self.append_pages(tx, batch, rows.clone())?,
                n => n,
            };
            if taken > 0 {
                return Ok(taken);
            }
            self.settle(tx, true)?;
        }
        if self.inside {
            // Whoever was not at the edge is not there now, mostly.
            let taken = rowset.fill_leaf(tx, batch, rows.clone(), self.logging)?;
            self.inside = taken > 1;
            if taken > 0 {
                return Ok(taken);
            }
        }
        match rowset.fill_edge(tx, batch, rows.clone(), (self.logging, self.spare))? {
            AtEdge::Taken(n) => Ok(n),
            AtEdge::Full if self.logging != Logging::Rows => self.append_pages(tx, batch, rows),
            AtEdge::Full => Ok(0),
            AtEdge::No => {
                let taken = rowset.fill_leaf(tx, batch, rows, self.logging)?;
                self.inside = taken > 1;
                Ok(taken)
            }
        }
    }

    /// Rows into the open page, which is the last leaf.
    fn fill_open_leaf(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
    ) -> SqlResult<usize> {
        let rowset = self.rowset.clone();
        let db = rowset.db.clone();
        let allowed = self.allowed(&db);
        let _shared = rowset.storage.latch.read();
        let key = batch.key(rows.start);
        match rowset.last_leaf(&key)? {
            Some((id, page)) if Some(id) == self.open_page() => drop(page),
            _ => return Ok(0),
        }
        let start = rows.start;
        self.fill_open(allowed.as_ref(), batch, rows, |id, _, n| {
            rowset.claim(tx, batch, start..start + n, &[id])
        })
    }

    /// Whether the first of the rows has no room on a leaf, beside what is spared.
    fn is_full(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        page: &PageWrite<'_>,
    ) -> bool {
        let room = self.rowset.room(tx, *page.page());
        batch.fitting(rows, room.saturating_sub(self.spare)) == 0
    }

    /// Rows on new pages behind the last leaf, which has no room.
    fn append_pages(
        &mut self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
    ) -> SqlResult<usize> {
        let rowset = self.rowset.clone();
        let db = rowset.db.clone();
        let allowed = self.allowed(&db).filter(|_| rowset.has_table(tx));
        if allowed.is_none() {
            // The page before the new ones may be open, and rows of these are logged.
            self.settle(tx, true)?;
        }
        let mut exclusive = rowset.storage.latch.write();
        *exclusive += 1;
        let key = batch.key(rows.start);
        let last = match rowset.last_leaf(&key)? {
            Some((id, page)) if self.is_full(tx, batch, rows.clone(), &page) => id,
            // Somebody was faster: the rows go where they belong now.
            _ => return Ok(0),
        };
        let mut pages = batch.pages(
            rows.clone(),
            self.pages_at_once(allowed.is_some()),
            self.spare,
        );
        let end = pages.last().map_or(rows.start, |p| p.end);
        // Before there are pages for them: what cannot be locked at once leaves none behind.
        let claimed = rows.start + rowset.claim(tx, batch, rows.start..end, &[])?;
        pages.retain_mut(|p| {
            p.end = p.end.min(claimed);
            p.start < p.end
        });
        if pages.is_empty() {
            return Ok(0);
        }
        let extent = rowset.add_pages(tx, "SplitPage", |sys| {
            rowset.link(sys, last, batch, &pages, allowed.is_some())
        })?;
        if let Some(id) = extent.pages.last() {
            rowset.storage.set_hint(*id);
        }
        if allowed.is_some() {
            self.fill_unlogged(tx, batch, extent, &pages)?;
            return Ok(claimed - rows.start);
        }
        debug_assert!(
            rowset.storage.latch.try_read().is_none(),
            "load/2: empty pages of a tree can be found"
        );
        let mut filled = blank();
        for (id, rows) in extent.pages.iter().zip(&pages) {
            if !rowset.has_table(tx) {
                // Whoever has locked this page meant another that was here before.
                let _ = rowset.page_intent(tx, *id);
            }
            let mut page = db.write_page(*id)?;
            batch.fill(page.page(), rows.clone(), &mut filled)?;
            let context = rowset.leaf_context();
            db.change(tx, *id, &mut page, &image(&filled), context, Role::Logical)?;
        }
        Ok(claimed - rows.start)
    }
}

impl Rowset {
    /// The last leaf, when `key` belongs behind everything in the tree.
    fn last_leaf(&self, key: &[Value]) -> SqlResult<Option<(PageId, PageWrite<'_>)>> {
        if let Some(found) = self.right_edge(key)? {
            return Ok(Some(found));
        }
        let id = self.descend(key, true)?;
        let page = self.db.write_page(id)?;
        let p = page.page();
        if !p.next_page().is_null() {
            return Ok(None);
        }
        let (slot, found) = self.leaf_slot(p, key, false)?;
        Ok((slot == p.slot_count() && !found).then_some((id, page)))
    }

    /// Rows into the room of the last leaf, of which so many bytes are spared.
    fn fill_edge(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        (logging, spare): (Logging, usize),
    ) -> SqlResult<AtEdge> {
        let _shared = self.storage.latch.read();
        let key = batch.key(rows.start);
        let Some((id, mut page)) = self.last_leaf(&key)? else {
            return Ok(AtEdge::No);
        };
        let room = self.room(tx, *page.page());
        let n = match page.page().slot_count() {
            0 => batch.first_of(rows.clone(), room, spare),
            _ => batch.fitting(rows.clone(), room.saturating_sub(spare)),
        };
        if n == 0 {
            return Ok(AtEdge::Full);
        }
        let n = self.claim(tx, batch, rows.start..rows.start + n, &[id])?;
        if n == 0 {
            return Ok(AtEdge::No);
        }
        let slot = page.page().slot_count();
        self.put(
            tx,
            id,
            &mut page,
            slot,
            batch,
            rows.start..rows.start + n,
            logging,
        )?;
        self.storage.set_hint(id);
        Ok(AtEdge::Taken(n))
    }

    /// Rows beside their neighbours on a leaf within the tree.
    fn fill_leaf(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        logging: Logging,
    ) -> SqlResult<usize> {
        let _shared = self.storage.latch.read();
        let first = batch.key(rows.start);
        let id = self.descend(&first, true)?;
        let mut page = self.db.write_page(id)?;
        let mut at = rows.start;
        while at < rows.end {
            let p = page.page();
            let key = batch.key(at);
            let (slot, found) = self.leaf_slot(p, &key, false)?;
            // Behind the last entry only the row that led here is known to belong to this leaf.
            let behind = slot == p.slot_count();
            if found || behind && at > rows.start {
                break;
            }
            let end = match behind {
                true => at + 1,
                false => self.below(p, slot, batch, at..rows.end)?,
            };
            let n = batch.fitting(at..end, self.room(tx, *p));
            let n = self.claim(tx, batch, at..at + n, &[id])?;
            if n == 0 {
                break;
            }
            self.put(tx, id, &mut page, slot, batch, at..at + n, logging)?;
            at += n;
        }
        Ok(at - rows.start)
    }

    /// The rows that come before the entry at `slot`: where they end.
    fn below(
        &self,
        p: PageAt<'_>,
        slot: u16,
        batch: &Batch<'_>,
        rows: Range<usize>,
    ) -> SqlResult<usize> {
        let key = self.keys().of_leaf(&self.def.layout, p.row(slot)?)?;
        Ok(rows.start + 1 + batch.below(rows.start + 1..rows.end, &key))
    }

    /// Locks and versions of rows that go to these pages, which are latched or known to nobody. How many rows may go.
    fn claim(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        pages: &[PageId],
    ) -> SqlResult<usize> {
        // Ranges are asked for with the next key, as single rows do. Nobody has one in a table that is ours as a whole.
        if self.db.engine.locks.any_ranges() && !self.has_table(tx) {
            return Ok(0);
        }
        let n = self.lock_rows(tx, batch, rows.clone(), pages);
        // In the table of active ones before it asks: who turns versions on waits for those.
        self.db.transactions.begin_if_needed(tx)?;
        if self.db.transactions.versioning.keeps() {
            for row in rows.start..rows.start + n {
                let place = self.key_place(&batch.key(row));
                self.refuse_conflict(tx, || place.clone())?;
                self.keep_version(tx, || place, None)?;
            }
        }
        Ok(n)
    }

    fn lock_rows(
        &self,
        tx: &Transaction,
        batch: &Batch<'_>,
        rows: Range<usize>,
        pages: &[PageId],
    ) -> usize {
        if self.has_table(tx) {
            return rows.len();
        }
        if pages.iter().any(|id| self.page_intent(tx, *id).is_err()) {
            return 0;
        }
        let lock = |row: &usize| {
            let wanted = Wanted {
                resource: self.key_resource(&batch.key(*row)),
                mode: LockMode::X,
                duration: LockDuration::Normal,
            };
            self.try_uncounted(tx, wanted).is_ok()
        };
        let n = rows.take_while(lock).count();
        self.storage.operations.row_locks.add(n as u64);
        n
    }

    /// Logs and makes the change that puts rows at `slot`.
    #[allow(clippy::too_many_arguments)]
    fn put(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        slot: u16,
        batch: &Batch<'_>,
        rows: Range<usize>,
        logging: Logging,
    ) -> SqlResult<()> {
        debug_assert!(
            self.has_table(tx)
                || rows.clone().all(|i| {
                    let held = tx.owner.holds(&self.key_resource(&batch.key(i)));
                    held.is_some_and(|m| m.covers(LockMode::X))
                }),
            "load/3: a row is put in without its lock"
        );
        let context = self.leaf_context();
        if logging != Logging::Rows && rows.len() > 1 {
            let op = PageOp::Insert {
                slot,
                rows: batch.rows(rows).collect(),
                lock: &[],
                key: &[],
            };
            self.db.change(tx, id, page, &op, context, Role::Logical)?;
            return Ok(());
        }
        for (slot, i) in (slot..).zip(rows) {
            let resource = self.key_resource(&batch.key(i));
            let op = PageOp::Insert {
                slot,
                rows: vec![batch.row(i)],
                lock: &lock_info(self.def.object.0, &resource),
                key: &[],
            };
            self.db.change(tx, id, page, &op, context, Role::Logical)?;
        }
        Ok(())
    }

    /// Makes empty leaves behind `last`, each with an entry above it.
    fn link(
        &self,
        sys: &Transaction,
        last: PageId,
        batch: &Batch<'_>,
        pages: &[Range<usize>],
        at_once: bool,
    ) -> SqlResult<Extent> {
        count(Counter::PageSplits, pages.len() as u64);
        let operations = &self.storage.operations;
        operations.leaf_allocated.add(pages.len() as u64);
        let ids = self.db.take_pages(sys, &self.storage, pages.len())?;
        self.db.note(
            sys,
            RecordBuilder::new(Lop::HOBT_DELTA, Lcx::NULL)
                .put(24, &self.def.rowset.0.to_le_bytes())
                .put(32, &(ids.len() as i32).to_le_bytes()),
        )?;
        let (kind, pminlen) = {
            let page = self.db.read_page(last)?;
            (page.page().page_type(), page.page().pminlen())
        };
        let context = self.leaf_context();
        let extent = Extent {
            unit: self.def.au,
            kind,
            pminlen,
            left: last,
            pages: ids,
            first: false,
        };
        let ids = &extent.pages;
        for (old, new) in std::iter::once(&last).chain(ids).zip(ids) {
            self.report_split(*old, *new, PageSplitKind::INSERT);
        }
        if at_once {
            self.db.format_extent(sys, &extent, context)?;
        }
        let mut left = last;
        for (i, id) in ids.iter().enumerate().filter(|_| !at_once) {
            let format = PageOp::Format {
                kind,
                level: 0,
                pminlen,
                au: self.def.au,
                start: left,
                extra: pack(ids.get(i + 1).copied().unwrap_or(PageId::NULL)),
            };
            let mut page = self.db.write_new_page(*id)?;
            self.db
                .change(sys, *id, &mut page, &format, context, Role::Normal)?;
            left = *id;
        }
        let link = PageOp::Links {
            at: NEXT_LINK,
            before: PageId::NULL,
            after: ids[0],
        };
        let mut page = self.db.write_page(last)?;
        self.db
            .change(sys, last, &mut page, &link, context, Role::Normal)?;
        drop(page);
        let entries = ids.iter().zip(pages);
        let entries = entries.map(|(id, rows)| (batch.key(rows.start), *id));
        let entries: Vec<(Vec<Value>, PageId)> = entries.collect();
        let (mut left, mut at) = (last, 0);
        while at < entries.len() {
            let taken = self.append_in_parent(sys, left, &entries[at..])?;
            if taken == 0 {
                let (separator, id) = &entries[at];
                self.insert_in_parent(sys, left, 0, separator, *id)?;
            }
            at += taken.max(1);
            left = entries[at - 1].1;
        }
        Ok(extent)
    }

    /// Gives leaves behind everything their entries on the level above, in one record, as many as have room behind the
    /// last; how many.
    fn append_in_parent(
        &self,
        sys: &Transaction,
        left: PageId,
        entries: &[(Vec<Value>, PageId)],
    ) -> SqlResult<usize> {
        let root = self.storage.roots.lock().root;
        let Some((first, _)) = entries.first().filter(|_| root != left) else {
            return Ok(0);
        };
        let parent = self.page_at_level(first, 1)?;
        let mut page = self.db.write_page(parent)?;
        let p = page.page();
        let slot = p.slot_count();
        // Only behind the last entry do all of them belong side by side.
        if slot == 0 || self.child_slot(p, first, true)? + 1 != slot {
            return Ok(0);
        }
        let mut free = usize::from(p.free_bytes()).saturating_sub(self.node_spare);
        let mut rows = Vec::with_capacity(entries.len());
        for (separator, id) in entries {
            let row = self.keys().node_row(separator, *id)?;
            let Some(left) = free.checked_sub(row.len() + 2) else {
                break;
            };
            free = left;
            rows.push(row);
        }
        let op = PageOp::Insert {
            slot,
            rows: rows.iter().map(Vec::as_slice).collect(),
            lock: &[],
            key: &[],
        };
        if !rows.is_empty() {
            let context = Lcx::INDEX_INTERIOR;
            self.db
                .change(sys, parent, &mut page, &op, context, Role::Normal)?;
            let operations = &self.storage.operations;
            operations.nonleaf_inserted.add(rows.len() as u64);
        }
        Ok(rows.len())
    }
}
