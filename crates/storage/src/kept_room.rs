//! Room that open transactions have freed on a page: their undo wants it back, so nobody else may take it.
//!
//! The page header says how much: `m_reservedCnt` bytes in all, `m_xactReserved` of them for `m_xdesId`, the youngest
//! transaction that has freed any; the others are for transactions that are older. So a commit need not come back to the
//! page: whose share it was is seen when somebody looks for room, by what is active then ([`Standing`]):
//!
//! | `m_xdesId` | kept |
//! |---|---|
//! | active | everything; for others than itself |
//! | ended, an older one is active | what is not its own |
//! | ended, and no older one is active | nothing |
//!
//! Invariants
//! 1. The free bytes of a page are at least what the undo of all open transactions may take at any moment, in whatever
//!    order they go back. Of one transaction that is the most that it has freed from any of its changes to its last.
//!    `m_reservedCnt` is that or more: what a transaction fills of its own room it gives up, and gets again when it is
//!    undone. Only in heaps: rows of a B-tree may be on another page when they are undone. And a new slot takes none of
//!    it: slots stay when an insert is undone. [assert: kept_room/1]
//! 2. As long as a transaction may put a record back into a slot of a heap, at least one byte is kept for it: empty slots
//!    are dropped from a page only where nothing is. [assert: kept_room/2]
//! 3. The fields belong to the change that frees or fills: redo makes them as the change did, except that it takes
//!    everybody for active. What is kept then is more, until somebody looks.
//!    [test: slots_that_a_rollback_took_away_are_taken_away_by_redo]
//!
//! Rows that are alone on a leaf need nothing of this: whatever becomes of one, it fits. System transactions that move
//! rows from one page to another hold the tree.

use duramen_base::XdesId;
use duramen_base::planted::{self, Bug};
use duramen_format::page::{BODY_BYTES, PageMut, PageRef, page_type};
use duramen_txn::{Standing, Transaction};
use duramen_wal::record::Lcx;

use crate::change::PageOp;
use crate::fullness::has_class;
use crate::rowset::Rowset;

/// The bytes of a page that a change takes some of, or gives some to; `None` where neither is its transaction's.
///
/// In heaps these are all bytes that are in no record. On a leaf, only what rows give up that get shorter: what is taken of
/// it may be given back on another page, after a split.
pub(crate) fn bytes_for(
    op: &PageOp<'_>,
    context: Lcx,
    compensation: bool,
    p: PageRef<'_>,
) -> Option<u16> {
    let sizes = matches!(
        op,
        PageOp::Insert { .. }
            | PageOp::Remove { .. }
            | PageOp::Delete { .. }
            | PageOp::Modify { .. }
    );
    match context {
        Lcx::HEAP | Lcx::TEXT_MIX | Lcx::TEXT_TREE if sizes => {
            let slots = p.slot_count().saturating_mul(2);
            Some(p.free_bytes().saturating_add(slots))
        }
        Lcx::CLUSTERED | Lcx::INDEX_LEAF if !compensation => {
            matches!(op, PageOp::Modify { .. }).then(|| p.free_bytes())
        }
        _ => None,
    }
}

/// What is kept on a page.
#[derive(Clone, Copy)]
struct Kept {
    /// For transactions older than the youngest.
    older: u16,
    /// For the youngest.
    own: u16,
    youngest: XdesId,
}

impl Kept {
    fn on(p: PageRef<'_>) -> Kept {
        let all = p.reserved_bytes();
        let own = p.xact_reserved().min(all);
        Kept {
            older: all - own,
            own,
            youngest: p.xdes(),
        }
    }

    /// Without the shares of those that have ended; `asks` is active.
    fn now(mut self, asks: XdesId, standing: impl Fn(XdesId) -> Standing) -> Kept {
        debug_assert!(
            self.youngest != asks || asks.0 == 0 || standing(asks) == Standing::Active,
            "kept_room/1: who asks is active"
        );
        if self.youngest == asks {
            if self.older > 0 && standing(XdesId(asks.0.saturating_sub(1))) == Standing::Gone {
                self.older = 0;
            }
            return self;
        }
        match standing(self.youngest) {
            Standing::Gone => (self.older, self.own) = (0, 0),
            Standing::Ended => self.own = 0,
            Standing::Active => {}
        }
        self
    }

    /// With `bytes` more for `xdes`. No share is more than a page has; together they may be, where too much is kept.
    fn and(mut self, xdes: XdesId, bytes: u16) -> Kept {
        let sum = |a: u16, b: u16| a.saturating_add(b).min(BODY_BYTES as u16);
        if self.youngest < xdes || sum(self.older, self.own) == 0 {
            (self.older, self.own) = (sum(self.older, self.own), 0);
            self.youngest = xdes;
        }
        match self.youngest == xdes {
            true => self.own = sum(self.own, bytes),
            false => self.older = sum(self.older, bytes),
        }
        self
    }

    fn write(self, p: &mut PageMut<'_>) {
        debug_assert!(
            self.own <= BODY_BYTES as u16 && self.older <= BODY_BYTES as u16,
            "kept_room/1: no share is more than a page has"
        );
        debug_assert!(
            self.older + self.own == 0 || self.youngest.0 != 0,
            "kept_room/1: room is kept for nobody"
        );
        p.set_reserved_bytes(self.older.saturating_add(self.own));
        p.set_xact_reserved(self.own);
        p.set_xdes(self.youngest);
    }
}

/// After a change of a page by `xdes`, which made of `before` bytes ([`bytes_for`]) `after`: says what is kept for it now.
/// `standing` tells how transactions stand; it is asked only where room is kept for others.
pub(crate) fn account(
    p: &mut PageMut<'_>,
    xdes: XdesId,
    (before, after): (u16, u16),
    context: Lcx,
    standing: impl Fn(XdesId) -> Standing,
) {
    if after == before || xdes.0 == 0 || planted::on(Bug::RoomNotKept) {
        return;
    }
    let mut kept = Kept::on(p.as_ref());
    if after > before {
        if kept.older + kept.own > 0 {
            kept = kept.now(xdes, standing);
        }
        let more = kept.and(xdes, after - before);
        debug_assert!(
            more.older.saturating_add(more.own) >= (after - before).min(BODY_BYTES as u16),
            "kept_room/1: less is kept than was freed"
        );
        more.write(p);
    } else if kept.own > 1 && kept.youngest == xdes && has_class(context) {
        // Its own room, all but a byte: see the second invariant.
        kept.own -= (before - after).min(kept.own - 1);
        debug_assert!(
            kept.own > 0,
            "kept_room/2: the last byte of a slot's room is given up"
        );
        kept.write(p);
    }
}

/// Rows of a page that have come from another one, where room may be kept for them: everything, as long as one is active
/// that may be their writer.
pub(crate) fn keep_all(p: &mut PageMut<'_>, xdes: XdesId) {
    let kept = Kept {
        older: BODY_BYTES as u16,
        own: 0,
        youngest: xdes,
    };
    kept.write(p);
}

/// Rows have gone from one page to another: on either side there is room for the undo of all of them.
pub(crate) fn copy(from: PageRef<'_>, to: &mut PageMut<'_>) {
    if from.reserved_bytes() > 0 {
        Kept::on(from).write(to);
    }
}

/// No row is left that anybody may want room for.
pub(crate) fn clear(p: &mut PageMut<'_>) {
    if p.as_ref().reserved_bytes() > 0 {
        p.set_reserved_bytes(0);
        p.set_xact_reserved(0);
    }
}

/// Bytes of a page that others than `asks` may want back, and those that it may itself.
fn shares(p: PageRef<'_>, asks: XdesId, standing: impl Fn(XdesId) -> Standing) -> (usize, usize) {
    let kept = Kept::on(p).now(asks, standing);
    let (older, own) = (usize::from(kept.older), usize::from(kept.own));
    match kept.youngest == asks {
        true => (older, own),
        false => (older + own, 0),
    }
}

/// Whether a record of `bytes` fits on a page of a heap: in a slot that is there, or in a new one.
fn fits(p: PageRef<'_>, (others, own): (usize, usize), bytes: usize, new_slot: bool) -> bool {
    let free = usize::from(p.free_bytes());
    bytes + 2 + others <= free && (!new_slot || 2 + others + own <= free)
}

impl Rowset {
    fn kept(&self, tx: &Transaction, p: PageRef<'_>) -> (usize, usize) {
        if p.reserved_bytes() == 0 {
            return (0, 0);
        }
        let table = &self.db.transactions.table;
        let asks = tx.part(self.db.id).map(|part| part.xdes);
        shares(p, asks.unwrap_or_default(), |xdes| table.standing(xdes))
    }

    /// A page of a B-tree: not of its values outside rows.
    fn is_leaf(&self, p: PageRef<'_>) -> bool {
        !self.def.is_heap() && p.page_type() != page_type::TEXT_MIX
    }

    /// Whether a row of `bytes` fits on a leaf.
    pub(crate) fn takes(&self, tx: &Transaction, p: PageRef<'_>, bytes: usize) -> bool {
        bytes + 2 <= self.room(tx, p)
    }

    /// Whether a record of `bytes` fits on a page of a heap, or of values outside rows: in a slot that is there, or in a new
    /// one.
    pub(crate) fn takes_record(
        &self,
        tx: &Transaction,
        p: PageRef<'_>,
        bytes: usize,
        new_slot: bool,
    ) -> bool {
        fits(p, self.kept(tx, p), bytes, new_slot)
    }

    /// Whether the row at some slot may grow by so many bytes.
    pub(crate) fn grows(&self, tx: &Transaction, p: PageRef<'_>, bytes: usize) -> bool {
        let (others, own) = match p.slot_count() == 1 && self.is_leaf(p) {
            // Alone on its leaf a row finds the room of its undo whatever becomes of it now.
            true => (0, 0),
            false => self.kept(tx, p),
        };
        let kept = match self.is_leaf(p) {
            true => others + own,
            false => others,
        };
        bytes + kept <= usize::from(p.free_bytes())
    }

    /// Bytes of a page that new rows and their slots may take.
    pub(crate) fn room(&self, tx: &Transaction, p: PageRef<'_>) -> usize {
        let (others, own) = match p.slot_count() == 0 && self.is_leaf(p) {
            // Kept for no row of another page: an empty leaf would be split at the new key, which may be its own separator.
            true => (0, 0),
            false => self.kept(tx, p),
        };
        usize::from(p.free_bytes()).saturating_sub(others + own)
    }
}

#[cfg(test)]
pub(crate) mod tests;
