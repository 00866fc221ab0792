//! Making room: page splits, as system transactions of their own.
//!
//! A split at the right edge of a level moves nothing: it links an empty page behind the last one. A split in the middle
//! moves the upper half in one INSERT_ROWS of many rows and one DELETE_SPLIT. Parents are split the same way, from the
//! level above, before they take the new entry. All of it runs under the exclusive tree latch, so no latch order matters.

use std::cmp::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{PageId, SqlResult};
use duramen_format::page::{PageRef, page_type};
use duramen_format::{FormatError, FormatResult, RowRef};
use duramen_observe::events::{PageSplit, PageSplitKind, emit};
use duramen_observe::{Counter, count};
use duramen_pool::PageAt;
use duramen_txn::{LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use crate::change::{NEXT_LINK, PREV_LINK, PageOp, Role, pack};
use crate::rowset::Rowset;

impl Rowset {
    /// Makes it likely that a row of `len` bytes with this key fits: by expunging ghosts, or by a split.
    pub(crate) fn make_room(
        &self,
        tx: &Transaction,
        key: &[Value],
        len: usize,
        kind: PageSplitKind,
    ) -> SqlResult<()> {
        let mut exclusive = self.storage.latch.write();
        *exclusive += 1;
        let leaf = self.descend(key, true)?;
        // Another may have split the leaf while this one waited for the latch. Ghosts cost no page, so they go first.
        if self.has_room(tx, leaf, key, len)?
            || self.expunge_ghosts(tx, leaf)? > 0 && self.has_room(tx, leaf, key, len)?
        {
            return Ok(());
        }
        // A split that fails is undone on the pages alone: memory gets these back.
        let before = *self.storage.roots.lock();
        let result = self.db.system(tx, "SplitPage", |sys| {
            self.split(sys, leaf, key, kind)?;
            // In the same transaction: after a crash root and row agree, whichever tree it leaves.
            let after = *self.storage.roots.lock();
            if after != before {
                self.db.persist_roots(sys, self.def.au, after)?;
            }
            Ok(())
        });
        if result.is_err() {
            *self.storage.roots.lock() = before;
        }
        result
    }

    /// Whether a row of `len` bytes with this key fits on the leaf. One that is there alone grows where it is: split off, it
    /// would leave an empty page behind, and the parent two entries of one key.
    fn has_room(
        &self,
        tx: &Transaction,
        leaf: PageId,
        key: &[Value],
        len: usize,
    ) -> SqlResult<bool> {
        let page = self.db.read_page(leaf)?;
        let p = page.page();
        let is_alone = p.slot_count() == 1 && self.leaf_slot(p, key, false)?.1;
        Ok(is_alone || self.takes(tx, *p, len))
    }

    /// Removes the ghosts of ended transactions from a leaf, and says how many. The tree latch is held.
    pub(crate) fn expunge_ghosts(&self, tx: &Transaction, leaf: PageId) -> SqlResult<u64> {
        // Transactions in doubt hold no locks that would tell whose ghosts these are.
        if !self.db.in_doubt.lock().is_empty() {
            return Ok(0);
        }
        if self.db.log.as_ref().is_some_and(|l| l.is_short()) {
            // The records would take what is kept back for rollbacks.
            return Ok(0);
        }
        let owner = &tx.owner;
        let table = Resource::Object(self.db.id, self.def.object);
        if owner.holds(&table).is_some_and(|m| m.covers(LockMode::X)) {
            // Our own row locks may have been given up for the table lock: we cannot tell our ghosts from others.
            return Ok(0);
        }
        let mut page = self.db.write_page(leaf)?;
        let mut removed = 0;
        // From the end: what goes leaves the slots in front of it where they are.
        for slot in (0..page.page().slot_count()).rev() {
            let row = page.page().row(slot)?;
            if !row.is_ghost() {
                continue;
            }
            let row = row.to_vec();
            let key = self.keys().of_leaf(&self.def.layout, RowRef::new(&row))?;
            let resource = self.key_resource(&key);
            let entity = self.entity();
            // Ours may still be undone, and a version looked for in its place.
            // Else an X lock that is had at once says that the deleter has ended.
            let stays = owner.holds(&resource).is_some()
                || self.has_versions(&self.key_place(&key))
                || !self
                    .db
                    .try_lock(tx, &entity, &resource, LockMode::X, LockDuration::Instant);
            if stays && !planted::on(Bug::GhostsGoEarly) {
                continue;
            }
            let op = PageOp::Delete { slot, row: &row };
            self.db
                .change_alone(leaf, &mut page, &op, self.leaf_context(), true)?;
            removed += 1;
        }
        Ok(removed)
    }

    /// Event sessions hear that `new` has become the right neighbour of `old`.
    pub(crate) fn report_split(&self, old: PageId, new: PageId, kind: PageSplitKind) {
        emit(|| PageSplit {
            file_id: u64::from(old.file),
            page_id: u64::from(old.page),
            database_id: u64::from(self.db.id.0),
            rowset_id: self.def.rowset.0 as u64,
            splitOperation: kind,
            new_page_file_id: u64::from(new.file),
            new_page_page_id: u64::from(new.page),
        });
    }

    /// Splits the page `id` for an entry with `key`; `kind` says for what, on the leaf level.
    #[expect(
        clippy::too_many_lines,
        reason = "the steps of a split under one set of latches"
    )]
    fn split(
        &self,
        sys: &Transaction,
        id: PageId,
        key: &[Value],
        kind: PageSplitKind,
    ) -> SqlResult<()> {
        let (separator, level, new) = {
            count(Counter::PageSplits, 1);
            // Before a page is latched: a file's allocation comes before latches in the order of what is waited for.
            let new = self.db.allocate_page(sys, &self.storage)?;
            let mut page = self.db.write_page(id)?;
            let p = page.page();
            let (level, count, next) = (p.level(), p.slot_count(), p.next_page());
            let context = if level == 0 {
                self.leaf_context()
            } else {
                Lcx::INDEX_INTERIOR
            };
            let position = self.position(p, key)?;
            // Behind all of its rows nothing moves: those that come in order leave full pages behind them.
            let from = if position == count {
                count
            } else {
                p.sound(middle(*p, position))?
            };
            // The page's bytes as they are: its rows are read while it changes.
            let whole = Box::new(*p.bytes());
            let moved: Vec<RowRef<'_>> = (from..count)
                .map(|s| p.sound(PageRef::new(&whole).expect_record(s)))
                .collect::<SqlResult<_>>()?;
            let separator = match moved.first() {
                Some(row) if level == 0 => self.keys().of_leaf(&self.def.layout, *row)?,
                Some(row) => self.keys().of_node(*row)?,
                None => key.to_vec(),
            };
            debug_assert!(
                from <= count && (from > 0 || count == 0 || position == 0),
                "btree/5: a split leaves nothing on the left"
            );
            debug_assert!(new != id, "btree/4: a page is split into itself");
            let (page_kind, pminlen) = (p.page_type(), p.pminlen());
            self.db.note(
                sys,
                RecordBuilder::new(Lop::HOBT_DELTA, Lcx::NULL)
                    .put(24, &self.def.rowset.0.to_le_bytes())
                    .put(32, &1i32.to_le_bytes()),
            )?;
            let mut right = self.db.write_new_page(new)?;
            let format = PageOp::Format {
                kind: page_kind,
                level,
                pminlen,
                au: self.def.au,
                start: id,
                extra: pack(next),
            };
            self.db
                .change(sys, new, &mut right, &format, context, Role::Normal)?;
            if !moved.is_empty() {
                // To the new page before they leave the old one: undo, which goes back, takes them from there.
                let rows = PageOp::Insert {
                    slot: 0,
                    rows: moved.iter().map(|row| row.bytes()).collect(),
                    lock: &[],
                    key: &[],
                };
                self.db
                    .change(sys, new, &mut right, &rows, context, Role::Normal)?;
                let cut = PageOp::DeleteSplit {
                    from,
                    count: count - from,
                    new_page: new,
                };
                self.db
                    .change(sys, id, &mut page, &cut, context, Role::Normal)?;
                debug_assert!(
                    page.page().slot_count() + right.page().slot_count() == count,
                    "btree/2: rows are lost between the halves of a page"
                );
                // Rows whose undo will need room may be on either side now.
                crate::kept_room::copy(*page.page(), &mut right.change());
                if from == 0 {
                    crate::kept_room::clear(&mut page.change());
                }
            }
            let link = PageOp::Links {
                at: NEXT_LINK,
                before: next,
                after: new,
            };
            self.db
                .change(sys, id, &mut page, &link, context, Role::Normal)?;
            debug_assert!(
                page.page().next_page() == new && right.page().prev_page() == id,
                "btree/2: the halves of a page are not neighbours"
            );
            debug_assert!(
                right.page().next_page() == next,
                "btree/2: the right half has another neighbour than the whole"
            );
            debug_assert!(
                right.page().level() == page.page().level(),
                "btree/2: the halves of a page are on two levels"
            );
            drop(page);
            drop(right);
            if !next.is_null() && !planted::on(Bug::NeighbourUntold) {
                let mut neighbour = self.db.write_page(next)?;
                debug_assert!(
                    neighbour.page().prev_page() == id,
                    "btree/2: the right neighbour has another on its left"
                );
                debug_assert!(
                    neighbour.page().level() == level,
                    "btree/2: neighbours are on two levels"
                );
                let link = PageOp::Links {
                    at: PREV_LINK,
                    before: id,
                    after: new,
                };
                self.db
                    .change(sys, next, &mut neighbour, &link, context, Role::Normal)?;
            } else if level == 0 {
                self.storage.set_hint(new);
            }
            let kind = match level {
                0 => kind,
                _ => PageSplitKind::INTERNAL,
            };
            self.report_split(id, new, kind);
            match level {
                0 => self.storage.operations.leaf_allocated.add(1),
                _ => self.storage.operations.nonleaf_allocated.add(1),
            }
            (separator, level, new)
        };
        self.insert_in_parent(sys, id, level, &separator, new)
    }

    /// Where an entry with `key` belongs on a page of any level.
    fn position(&self, p: PageAt<'_>, key: &[Value]) -> SqlResult<u16> {
        if p.level() == 0 {
            Ok(self.leaf_slot(p, key, false)?.0)
        } else {
            Ok(self.child_slot(p, key, true)? + 1)
        }
    }

    /// Gives `new` an entry on the level above; makes a new root when there is none.
    pub(crate) fn insert_in_parent(
        &self,
        sys: &Transaction,
        left: PageId,
        level: u8,
        separator: &[Value],
        new: PageId,
    ) -> SqlResult<()> {
        loop {
            let root = self.root()?;
            if root == left {
                return self.new_root(sys, left, level, separator, new);
            }
            let parent = self.page_at_level(separator, level + 1)?;
            let row = self.keys().node_row(separator, new)?;
            let mut page = self.db.write_page(parent)?;
            let p = page.page();
            debug_assert!(
                p.level() == level + 1,
                "btree/2: an entry goes to a page that is not one level above"
            );
            debug_assert!(
                p.alloc_unit() == self.def.au,
                "btree/4: an entry goes to a page of another tree"
            );
            let spare = match p.slot_count() {
                // However little is to be filled.
                0 | 1 => 0,
                _ => self.node_spare,
            };
            if p.fits(row.len() + spare, true) {
                // A node that a split at the right edge has just made is empty: this is its first entry.
                let slot = match p.slot_count() {
                    0 => 0,
                    _ => self.child_slot(p, separator, true)? + 1,
                };
                let op = PageOp::Insert {
                    slot,
                    rows: vec![&row],
                    lock: &[],
                    key: &[],
                };
                self.db.change(
                    sys,
                    parent,
                    &mut page,
                    &op,
                    Lcx::INDEX_INTERIOR,
                    Role::Normal,
                )?;
                self.storage.operations.nonleaf_inserted.add(1);
                return Ok(());
            }
            // The parent is split like any page; then the place is looked for anew: it may be on the other half.
            drop(page);
            self.split(sys, parent, separator, PageSplitKind::INTERNAL)?;
        }
    }

    fn new_root(
        &self,
        sys: &Transaction,
        left: PageId,
        level: u8,
        separator: &[Value],
        new: PageId,
    ) -> SqlResult<()> {
        let id = self.db.allocate_page(sys, &self.storage)?;
        let mut page = self.db.write_new_page(id)?;
        let format = PageOp::Format {
            kind: page_type::INDEX,
            level: level + 1,
            pminlen: self.keys().node.pminlen,
            au: self.def.au,
            start: PageId::NULL,
            extra: 0,
        };
        let context = Lcx::INDEX_INTERIOR;
        self.db
            .change(sys, id, &mut page, &format, context, Role::Normal)?;
        let first = self.keys().node_row(separator, left)?;
        let second = self.keys().node_row(separator, new)?;
        let rows = PageOp::Insert {
            slot: 0,
            rows: vec![&first, &second],
            lock: &[],
            key: &[],
        };
        self.db
            .change(sys, id, &mut page, &rows, context, Role::Normal)?;
        debug_assert!(
            page.page().slot_count() == 2 && page.page().level() == level + 1,
            "btree/2: a new root has two children, a level below"
        );
        drop(page);
        // In memory at once: the rest of the split goes down from it. Its row follows when the split is done.
        let old = {
            let mut roots = self.storage.roots.lock();
            std::mem::replace(&mut roots.root, id)
        };
        self.report_split(old, id, PageSplitKind::ROOT);
        self.storage.operations.nonleaf_allocated.add(1);
        self.storage.operations.nonleaf_inserted.add(2);
        self.db.note(
            sys,
            RecordBuilder::new(Lop::ROOT_CHANGE, Lcx::CLUSTERED)
                .put(24, &old.to_bytes())
                .put(30, &id.to_bytes())
                .put(48, &self.def.au.0.to_le_bytes()),
        )?;
        Ok(())
    }

    pub(crate) fn page_at_level(&self, key: &[Value], level: u8) -> SqlResult<PageId> {
        let mut at = self.root()?;
        for _ in 0..64 {
            let page = self.db.read_page(at)?;
            let p = page.page();
            if p.level() <= level {
                return Ok(at);
            }
            let slot = self.child_slot(p, key, true)?;
            at = self.child_at(p, slot)?;
        }
        Err(self.db.corrupt(at, FormatError::Corrupt("B-tree depth")))
    }

    /// Checks order, links and levels of the whole tree; the number of rows. For tests and DBCC.
    pub fn check_tree(&self) -> SqlResult<u64> {
        let _exclusive = self.storage.latch.write();
        let mut rows = 0;
        let mut at = self.edge_leaf(false)?;
        let mut prev = PageId::NULL;
        let mut last_key: Option<Vec<Value>> = None;
        while !at.is_null() {
            let page = self.db.read_page(at)?;
            let p = page.page();
            let fail = |what| p.corrupt(FormatError::Corrupt(what));
            p.sound(p.check())?;
            if p.prev_page() != prev {
                return Err(fail("previous page link"));
            }
            for s in 0..p.slot_count() {
                let row = p.row(s)?;
                let key = self.keys().of_leaf(&self.def.layout, row)?;
                if let Some(last) = &last_key
                    && self.keys().cmp_values(last, &key) != Ordering::Less
                {
                    return Err(fail("key order"));
                }
                if self.descend(&key, true)? != at {
                    return Err(fail("key (its parents lead elsewhere)"));
                }
                rows += u64::from(!row.is_ghost());
                last_key = Some(key);
            }
            prev = at;
            at = p.next_page();
        }
        Ok(rows)
    }
}

/// The slot where the upper half begins: by bytes, leaving at least one row on each side where there are two.
fn middle(p: PageRef<'_>, position: u16) -> FormatResult<u16> {
    let count = p.slot_count();
    if count < 2 {
        return Ok(position.min(count));
    }
    let mut sums = Vec::with_capacity(usize::from(count));
    let mut total = 0;
    for s in 0..count {
        total += p.expect_record(s)?.len() + 2;
        sums.push(total);
    }
    if let Some(s) = sums.iter().position(|sum| sum * 2 >= total) {
        return Ok((s as u16 + 1).clamp(1, count - 1));
    }
    Ok(count - 1)
}
