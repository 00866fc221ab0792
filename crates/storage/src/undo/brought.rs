//! The undo of a record that brought many rows at once: an image of a page, or neighbouring rows of a load.
//!
//! The rows go in runs: as many as still stand side by side where the first of them is found, in one record that names
//! slots and no contents. Mostly that is all of them. In a heap rows stay where they were put; in a B-tree a split may
//! have moved them to the right, so each run is looked for like a single row's (`undo`).
//!
//! All records but that of the last run leave the undone record to be undone. A crash in between finds some of the rows
//! gone, so a row that is not there is one that has been undone already.

use duramen_base::{AllocUnitId, Lsn, PageId, SqlResult};
use duramen_format::page::{PageRef, record_len};
use duramen_format::{FormatError, FormatResult, RowRef};
use duramen_pool::PageWrite;
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, RecordView};

use crate::change::{PHYSICAL, PageOp, Role};
use crate::engine::Database;
use crate::error::recovery_error;

/// Rows as a record has them.
pub(super) struct Brought<'a> {
    page: PageId,
    slot: u16,
    unit: AllocUnitId,
    heap: bool,
    rows: Vec<&'a [u8]>,
}

/// The rows that a record of a load has brought; `None` for all other records.
pub(super) fn of<'a>(view: &RecordView<'a>, op: &PageOp<'a>) -> Option<Brought<'a>> {
    let fields = view.page()?;
    let heap = view.context() == Lcx::HEAP;
    let rows = match op {
        PageOp::Image { used, slots } => rows_of_image(used, slots).ok()?,
        // What a split has moved is put back by the undo of its other half.
        PageOp::Insert { rows, .. }
            if rows.len() > 1 && (heap || fields.row_flags & PHYSICAL == 0) =>
        {
            rows.clone()
        }
        _ => return None,
    };
    Some(Brought {
        page: fields.page,
        slot: fields.slot,
        unit: fields.alloc_unit,
        heap,
        rows,
    })
}

fn rows_of_image<'a>(used: &'a [u8], slots: &[u8]) -> FormatResult<Vec<&'a [u8]>> {
    let pminlen = duramen_format::u16_at(used, 14)?;
    let mut rows = Vec::with_capacity(slots.len() / 2);
    for slot in slots.rchunks_exact(2) {
        let at = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
        let rest = used.get(at..).ok_or(FormatError::Corrupt("page image"))?;
        rows.push(&rest[..record_len(rest, pminlen)?]);
    }
    Ok(rows)
}

impl Brought<'_> {
    /// How many of the rows from `first` on stand side by side from `slot` on.
    fn run(&self, p: PageRef<'_>, first: usize, slot: u16) -> u16 {
        let there = |(row, slot): (&&[u8], u16)| {
            slot < p.slot_count()
                && matches!(p.record(slot), Ok(Some(have)) if have.bytes() == *row)
        };
        let both = self.rows[first..].iter().zip(slot..);
        both.take_while(|pair| there(*pair)).count() as u16
    }
}

impl Database {
    /// Takes out the rows that the record at `lsn` has brought; undo then goes on with `next`.
    pub(super) fn undo_brought(
        &self,
        tx: &Transaction,
        lsn: Lsn,
        view: &RecordView<'_>,
        brought: &Brought<'_>,
        next: Lsn,
    ) -> SqlResult<()> {
        let context = view.context();
        let storage = self.storage(brought.unit);
        let _shared = storage.latch.read();
        let mut from = brought.page;
        let mut at = 0;
        while at < brought.rows.len() {
            let Some((id, mut page, slot)) = self.find_brought(brought, at, from)? else {
                at += 1;
                continue;
            };
            let count = brought.run(*page.page(), at, slot);
            if count == 0 {
                return Err(recovery_error(
                    self.id,
                    lsn,
                    "the rows to undo have changed",
                ));
            }
            at += usize::from(count);
            let done = at == brought.rows.len();
            let role = Role::Compensation(if done { next } else { lsn });
            let op = PageOp::Remove { slot, count };
            let trims = brought.heap && self.may_trim(&page);
            self.change(tx, id, &mut page, &op, context, role)?;
            if trims {
                page.change().trim_slots();
            }
            from = id;
        }
        Ok(())
    }

    /// Where the row with this number stands now.
    fn find_brought(
        &self,
        brought: &Brought<'_>,
        number: usize,
        from: PageId,
    ) -> SqlResult<Option<(PageId, PageWrite<'_>, u16)>> {
        let slot = brought.slot + number as u16;
        if !brought.heap {
            let wanted = |row: RowRef<'_>, _: u16| row.bytes() == brought.rows[number];
            let hint = if from == brought.page { slot } else { 0 };
            return self.find_right(brought.unit, from, hint, &wanted);
        }
        let page = self.write_page(brought.page)?;
        let ours = page.page().alloc_unit() == brought.unit;
        let there = ours && brought.run(*page.page(), number, slot) > 0;
        Ok(there.then_some((brought.page, page, slot)))
    }
}
