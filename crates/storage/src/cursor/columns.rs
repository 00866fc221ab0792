//! Reading by column: the cells that are wanted go from the page's bytes into columns, with no row in between.
//!
//! What is read, locked and seen is what [`Cursor::next`] reads, locks and sees. A page goes in bulk when no row on it needs
//! a look of its own: every row is taken as it stands, and no lock is asked for or the page is quiet. Other pages go row
//! by row, and their rows are taken apart afterwards.

use std::ops::Range;

use duramen_base::SqlResult;
use duramen_format::layout::ColumnLayout;
use duramen_format::page::{PageRef, record_kind};
use duramen_format::row::{Field, Parts, field};
use duramen_format::values::value_of;
use duramen_format::{FormatError, FormatResult, RowRef};
use duramen_observe::Counter;
use duramen_pool::PageAt;
use duramen_txn::Transaction;
use duramen_types::batch::Column;
use duramen_types::{Spooled, SqlType, TypeId, Value};

use super::Cursor;
use crate::def::RowLocator;
use crate::lent::OffRow;
use crate::rowset::Rowset;

/// In place of a column of a heap: the row's RID, as indexes hold it.
pub const RID: usize = usize::MAX;
/// In place of a column: NULLs.
pub const NOTHING: usize = usize::MAX - 1;

/// The columns that a caller wants filled.
pub(super) struct Sink<'a> {
    /// Positions in the rowset's layout, [`RID`] or [`NOTHING`].
    wanted: &'a [usize],
    /// One for each of `wanted`.
    out: &'a mut [Column],
    pub(super) rows: usize,
    /// [`crate::hints::Reading::lends`]
    lends: bool,
}

impl Cursor {
    /// Appends the next rows to `out`, one column for each of `wanted` (positions in the layout): some rows, about a
    /// page of them. How many; 0 at the end.
    pub fn fill(
        &mut self,
        tx: &Transaction,
        wanted: &[usize],
        out: &mut [Column],
    ) -> SqlResult<usize> {
        self.give_back(tx);
        let mut sink = Sink {
            wanted,
            out,
            rows: 0,
            lends: self.reading().lends,
        };
        loop {
            while let Some((at, row)) = self.batch.pop_front() {
                sink.push(&at, row);
            }
            if sink.rows > 0 || self.done {
                return Ok(sink.rows);
            }
            if let Some(wanted) = self.advance(tx, Some(&mut sink))? {
                self.rowset.wait_for(tx, &wanted, self.reading().no_wait)?;
            }
        }
    }

    /// Whether a page's rows can be taken as they stand.
    pub(super) fn takes_pages(&self, quiet: bool) -> bool {
        let unlocked = self.reading().view.is_none() && self.locking.row.is_none();
        (quiet || unlocked) && !self.one_by_one() && !self.locking.range && !self.may_change()
    }

    /// The rows of `count` slots of a leaf, upwards from `from` or downwards from the slot before `to`.
    pub(super) fn take_leaf(
        &mut self,
        rowset: &Rowset,
        p: PageAt<'_>,
        (from, to): (u16, u16),
        sink: &mut Sink<'_>,
    ) -> SqlResult<()> {
        if to <= from {
            return Ok(());
        }
        let forward = self.spec.forward;
        let mut rows = Vec::with_capacity(usize::from(to - from));
        // What is wrong with a page gets its error once, not a look at each row.
        let ghosts = p.sound(rows_of(&p, (from, to), forward, &mut rows))?;
        sink.take(rowset, p, &rows, &[])?;
        if ghosts > 0 {
            duramen_observe::count(Counter::SkippedGhostedRecords, ghosts);
        }
        let last = p.row(if forward { to - 1 } else { from })?;
        self.last = Some(rowset.keys().of_leaf(&rowset.def.layout, last)?);
        Ok(())
    }

    /// The rows of a heap page from `next_slot` on; the slots of those that have moved away are left to the caller.
    pub(super) fn take_heap_page(
        &mut self,
        rowset: &Rowset,
        p: PageAt<'_>,
        stubs: &mut Vec<u16>,
        sink: &mut Sink<'_>,
    ) -> SqlResult<()> {
        let slots = self.next_slot..p.slot_count();
        let mut rows = Vec::with_capacity(slots.len());
        let mut taken = Vec::with_capacity(slots.len());
        for slot in slots {
            let Some(row) = p.row_or_none(slot)? else {
                continue;
            };
            match row.kind() {
                record_kind::FORWARDED | record_kind::BLOB => {}
                record_kind::FORWARDING_STUB => stubs.push(slot),
                _ if row.is_ghost() => {}
                _ => {
                    rows.push(row);
                    taken.push(slot);
                }
            }
        }
        self.next_slot = p.slot_count().max(self.next_slot);
        sink.take(rowset, p, &rows, &taken)
    }
}

impl Sink<'_> {
    fn push(&mut self, at: &RowLocator, mut row: Vec<Value>) {
        for (column, wanted) in self.out.iter_mut().zip(self.wanted) {
            match (row.get_mut(*wanted), at) {
                (Some(value), _) => column.push(std::mem::take(value)),
                (None, RowLocator::Rid(page, slot)) if *wanted == RID => {
                    column.push(Value::Binary(RowLocator::rid_bytes(*page, *slot).to_vec()));
                }
                _ => column.push_null(),
            }
        }
        self.rows += 1;
    }

    /// Takes the wanted cells of rows of one page; of a heap, their slots are known.
    fn take(
        &mut self,
        rowset: &Rowset,
        page: PageAt<'_>,
        rows: &[RowRef<'_>],
        slots: &[u16],
    ) -> SqlResult<()> {
        let layout = &rowset.def.layout;
        let mut parts = Vec::with_capacity(rows.len());
        for row in rows {
            parts.push(page.sound(Parts::read(layout, *row))?);
        }
        for (column, at) in self.out.iter_mut().zip(self.wanted) {
            if *at == RID && slots.len() == rows.len() {
                for slot in slots {
                    let rid = RowLocator::rid_bytes(page.id(), *slot);
                    column.push_stored(&SqlType::binary(8), Some(&rid))?;
                }
                continue;
            }
            let Some(c) = layout.columns.get(*at) else {
                parts.iter().for_each(|_| column.push_null());
                continue;
            };
            if c.leaf_offset > 0 && !c.uniquifier && c.ty.id != TypeId::Bit {
                let place = c.leaf_offset as usize;
                let place = place..place + c.ty.fixed_bytes();
                let cells = parts.iter().map(|p| fixed_cell(page, p, c, &place));
                column.append_fixed(&c.ty, cells)?;
                continue;
            }
            for p in &parts {
                let cell = page.sound(field(p, c))?;
                if c.uniquifier {
                    column.push(value_of(c, &cell)?);
                    continue;
                }
                match cell {
                    Field::Null => column.push_null(),
                    Field::Inline(b) => column.push_stored(&c.ty, Some(&b))?,
                    Field::Complex(pointer) => match rowset.off_row(c, &pointer, self.lends)? {
                        OffRow::Bytes(bytes) => column.push_stored(&c.ty, Some(&bytes))?,
                        OffRow::Lent(lent) => column.push(Value::Spooled(Spooled::new(lent))),
                    },
                }
            }
        }
        self.rows += rows.len();
        Ok(())
    }
}

/// The rows of the slots from `from` to before `to`, upwards or downwards; gives how many ghosts there were.
fn rows_of<'a>(
    page: &PageRef<'a>,
    (from, to): (u16, u16),
    forward: bool,
    rows: &mut Vec<RowRef<'a>>,
) -> FormatResult<u64> {
    let mut ghosts = 0;
    for i in 0..to - from {
        let slot = if forward { from + i } else { to - 1 - i };
        let row = page.expect_record(slot)?;
        match row.is_ghost() {
            true => ghosts += 1,
            false => rows.push(row),
        }
    }
    Ok(ghosts)
}

/// The bytes of a fixed-length cell that is no bit; `None` for NULL.
#[inline]
fn fixed_cell<'a>(
    page: PageAt<'_>,
    parts: &Parts<'a>,
    c: &ColumnLayout,
    place: &Range<usize>,
) -> SqlResult<Option<&'a [u8]>> {
    if parts.is_null(c) {
        return Ok(None);
    }
    match parts.row.get(place.clone()) {
        Some(cell) => Ok(Some(cell)),
        None => Err(page.corrupt(FormatError::Corrupt("row (too short for a column)"))),
    }
}
