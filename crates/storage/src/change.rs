//! Changes to pages, as data: the same value is logged, applied, redone and undone.
//!
//! The recipe of every logged change (`Database::change`): the page is latched exclusively; everything that can fail is
//! checked; the frame is marked dirty; the record is appended; the page is changed and stamped with the record's LSN.
//!
//! | operation | undo |
//! |---|---|
//! | Format | nothing: the page is given back by the undo of its allocation |
//! | Image | removes the rows that it brought (`undo::brought`) |
//! | Insert | removes the rows |
//! | Remove | nothing: it is the undo of Image, or of an Insert of many rows |
//! | Delete | puts the row back |
//! | Ghost / Unghost | each other |
//! | Modify | the bytes before |
//! | Links | the pointer before |
//! | SetBit | the other value |
//! | SetFreeSpace | nothing: it stands outside transactions |
//! | DeleteSplit | rows come back from the split's new page |
//!
//! `row_flags` bit 0 says that the undo is physical (same page, same slot): system transactions, heaps, maps. Rows of
//! B-trees are undone logically: a split may have moved them to the right (`undo`). Records of base tables' rows name the
//! row's key and the fields that changed, since others than the transaction may have changed the row meanwhile
//! (`btree::fields`).

use duramen_base::{AllocUnitId, Lsn, PageId};
use duramen_wal::record::{
    FLAG_COMPENSATION, FLAG_NORMAL, Lcx, Lop, PageFields, RecordBuilder, RecordView,
};

use duramen_format::page::{PageMut, PageRef, page_type};
use duramen_format::{FormatError, FormatResult, RowRef, alloc, row};

/// `row_flags`: undo on the same page and slot.
pub(crate) const PHYSICAL: u16 = 1;

#[derive(Clone, Debug)]
pub(crate) enum PageOp<'a> {
    Format {
        kind: u8,
        level: u8,
        pminlen: u16,
        au: AllocUnitId,
        /// Maps: the first page covered. Others: the previous page.
        start: PageId,
        /// IAM: sequence. Bitmaps: 1 = all bits set. Others: the next page, packed (`pack`).
        extra: u64,
    },
    /// All rows of a page that was empty: its bytes up to the last row's end, and its slots. What lies between is zero.
    Image {
        used: &'a [u8],
        slots: &'a [u8],
    },
    Insert {
        slot: u16,
        rows: Vec<&'a [u8]>,
        lock: &'a [u8],
        /// The row's key (`KeyInfo::identity`), where others than its transaction may change the row; else empty.
        key: &'a [u8],
    },
    /// Neighbouring rows go; a compensation, which is never undone and so does not say what they were.
    Remove {
        slot: u16,
        count: u16,
    },
    Delete {
        slot: u16,
        row: &'a [u8],
    },
    Ghost {
        slot: u16,
        row: &'a [u8],
        lock: &'a [u8],
        /// As in Insert.
        key: &'a [u8],
    },
    Unghost {
        slot: u16,
        row: &'a [u8],
    },
    Modify {
        slot: u16,
        offset: u16,
        before: &'a [u8],
        after: &'a [u8],
        key: &'a [u8],
        /// What the changed fields held (`btree::fields`), where others than its transaction may change the row; else empty:
        /// the bytes are put back.
        fields: &'a [u8],
    },
    Links {
        at: u16,
        before: PageId,
        after: PageId,
    },
    SetBit {
        bit: u16,
        value: bool,
    },
    /// The fullness of a page in the PFS; outside transactions.
    SetFreeSpace {
        /// Counted from the first page that the PFS page covers.
        index: u16,
        before: u8,
        after: u8,
    },
    DeleteSplit {
        from: u16,
        count: u16,
        new_page: PageId,
    },
    UndoDeleteSplit {
        from: u16,
        rows: Vec<&'a [u8]>,
    },
}

/// How the record of a change stands in its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Normal,
    /// Undone logically when it must be: a user's B-tree row.
    Logical,
    /// Undoes another record; undo goes on with this one.
    Compensation(Lsn),
}

const HEADER_PREV: u16 = 8;
const HEADER_NEXT: u16 = 16;

/// The link fields of a page header.
pub(crate) const PREV_LINK: u16 = HEADER_PREV;
pub(crate) const NEXT_LINK: u16 = HEADER_NEXT;

fn is_heap(context: Lcx) -> bool {
    matches!(context, Lcx::HEAP | Lcx::TEXT_MIX | Lcx::TEXT_TREE)
}

impl<'a> PageOp<'a> {
    /// The complete record of this change to `page`, before it is applied.
    #[expect(clippy::too_many_lines, reason = "one arm a log record")]
    pub fn record(&self, id: PageId, page: PageRef<'_>, context: Lcx, role: Role) -> Vec<u8> {
        let au = match self {
            PageOp::Format { au, .. } => *au,
            _ => page.alloc_unit(),
        };
        let mut fields = PageFields {
            page: id,
            object: au.object_part(),
            index: au.index_part(),
            prev_page_lsn: page.lsn(),
            alloc_unit: au,
            row_flags: if role == Role::Logical { 0 } else { PHYSICAL },
            ..PageFields::default()
        };
        let start = |op, context| {
            let b = RecordBuilder::new(op, context);
            if matches!(role, Role::Compensation(_)) {
                b.flags(FLAG_COMPENSATION)
            } else {
                b.flags(FLAG_NORMAL)
            }
        };
        match self {
            PageOp::Format {
                kind,
                level,
                pminlen,
                start: first,
                extra,
                ..
            } => start(Lop::FORMAT_PAGE, context)
                .page(&fields)
                .put(62, &[*kind, *level])
                .put(64, &pminlen.to_le_bytes())
                .put(66, &first.to_bytes())
                .put(72, &extra.to_le_bytes())
                .finish(&[]),
            PageOp::Image { used, slots } => {
                fields.modify_size = (slots.len() / 2) as u16;
                start(Lop::FORMAT_PAGE, context)
                    .page(&fields)
                    .put(62, &[page.page_type(), page.level()])
                    .put(64, &page.pminlen().to_le_bytes())
                    .put(66, &page.prev_page().to_bytes())
                    .put(72, &pack(page.next_page()).to_le_bytes())
                    .finish(&[used, slots])
            }
            PageOp::Remove { slot, count } => {
                fields.slot = *slot;
                fields.modify_size = *count;
                start(Lop::DELETE_ROWS, context).page(&fields).finish(&[])
            }
            PageOp::Insert {
                slot,
                rows,
                lock,
                key,
            } => {
                fields.slot = *slot;
                fields.modify_size = rows.len() as u16;
                let b = start(Lop::INSERT_ROWS, context).page(&fields);
                match rows.as_slice() {
                    [row] if !lock.is_empty() => b.finish(&[row, key, lock]),
                    rows => b.finish(rows),
                }
            }
            PageOp::Delete { slot, row } => {
                fields.slot = *slot;
                let lop = if RowRef::new(row).is_ghost() {
                    Lop::EXPUNGE_ROWS
                } else {
                    Lop::DELETE_ROWS
                };
                start(lop, context).page(&fields).finish(&[row])
            }
            PageOp::Ghost {
                slot,
                row,
                lock,
                key,
            } => {
                fields.slot = *slot;
                let b = start(Lop::DELETE_ROWS, Lcx::MARK_AS_GHOST).page(&fields);
                match key.is_empty() {
                    true => b.finish(&[row, lock]),
                    false => b.finish(&[row, lock, key]),
                }
            }
            PageOp::Unghost { slot, row } => {
                fields.slot = *slot;
                start(Lop::INSERT_ROWS, Lcx::MARK_AS_GHOST)
                    .page(&fields)
                    .finish(&[row])
            }
            PageOp::Modify {
                slot,
                offset,
                before,
                after,
                key,
                fields: changed,
            } => {
                fields.slot = *slot;
                fields.offset_in_row = *offset;
                fields.modify_size = after.len() as u16;
                let lop = if context == Lcx::FILE_HEADER {
                    Lop::FILE_HDR_MODIFY
                } else {
                    Lop::MODIFY_ROW
                };
                let b = start(lop, context).page(&fields);
                match (key.is_empty(), changed.is_empty()) {
                    (true, _) => b.finish(&[before, after]),
                    (_, true) => b.finish(&[before, after, key]),
                    _ => b.finish(&[before, after, key, changed]),
                }
            }
            PageOp::Links { at, before, after } => {
                fields.offset_in_row = *at;
                fields.modify_size = 6;
                start(Lop::MODIFY_HEADER, context)
                    .page(&fields)
                    .finish(&[&before.to_bytes(), &after.to_bytes()])
            }
            PageOp::SetBit { bit, value } => start(Lop::SET_BITS, context)
                .page(&fields)
                .fixed_length(54)
                .put(48, &bit.to_le_bytes())
                .put(50, &1u16.to_le_bytes())
                .put(52, &[u8::from(*value), 0])
                .finish(&[&[]]),
            PageOp::SetFreeSpace {
                index,
                before,
                after,
            } => start(Lop::SET_FREE_SPACE, context)
                .page(&fields)
                .fixed_length(52)
                .put(48, &index.to_le_bytes())
                .put(50, &[*after, *before])
                .finish(&[]),
            PageOp::DeleteSplit {
                from,
                count,
                new_page,
            } => {
                fields.slot = *from;
                start(Lop::DELETE_SPLIT, context)
                    .page(&fields)
                    .fixed_length(60)
                    .put(48, &count.to_le_bytes())
                    .put(50, &new_page.to_bytes())
                    .finish(&[])
            }
            PageOp::UndoDeleteSplit { from, rows } => {
                fields.slot = *from;
                start(Lop::UNDO_DELETE_SPLIT, context)
                    .page(&fields)
                    .finish(rows)
            }
        }
    }

    /// Room in the log that its undo may need; `record` is the length of its own record. Rows that came together may have
    /// to go one by one: those of system transactions by records that say what they were.
    pub fn undo_reserve(&self, record: usize, context: Lcx, role: Role) -> u32 {
        /// The record of a `Remove`.
        const REMOVE_BYTES: usize = 72;
        /// The record of a `Delete`, its row left out.
        const DELETE_BYTES: usize = 92;
        /// The record that says how full the page is.
        const CLASS_BYTES: usize = 64;
        /// Rows that a split has moved come back in one record.
        const PAGE_OF_ROWS: usize = 8_300;
        let bytes = match self {
            PageOp::Image { slots, .. } => slots.len() / 2 * REMOVE_BYTES,
            PageOp::DeleteSplit { .. } => PAGE_OF_ROWS,
            PageOp::Insert { rows, .. } if rows.len() > 1 => match role {
                Role::Normal if !is_heap(context) => {
                    rows.iter().map(|r| DELETE_BYTES + r.len()).sum()
                }
                _ => rows.len() * REMOVE_BYTES,
            },
            _ => 0,
        };
        let record = match self {
            PageOp::Image { .. } => 0,
            _ => record,
        };
        let class = match crate::fullness::has_class(context) {
            true => CLASS_BYTES,
            false => 0,
        };
        (record.max(bytes) + class) as u32
    }

    /// Whether records of this operation are about one page. Redo deals them out by it.
    pub fn describes(op: Lop) -> bool {
        matches!(
            op,
            Lop::FORMAT_PAGE
                | Lop::INSERT_ROWS
                | Lop::DELETE_ROWS
                | Lop::EXPUNGE_ROWS
                | Lop::MODIFY_ROW
                | Lop::MODIFY_HEADER
                | Lop::FILE_HDR_MODIFY
                | Lop::SET_BITS
                | Lop::SET_FREE_SPACE
                | Lop::DELETE_SPLIT
                | Lop::UNDO_DELETE_SPLIT
        )
    }

    /// The change that a record describes; `None` when the record is not about a page.
    pub fn parse(view: &RecordView<'a>) -> FormatResult<Option<(PageId, Lsn, PageOp<'a>)>> {
        const BAD: FormatError = FormatError::Corrupt("log record");
        let op = view.op();
        if !PageOp::describes(op) {
            return Ok(None);
        }
        let f = view.page().ok_or(BAD)?;
        let fixed = view.fixed();
        let element = |i: usize| view.element(i).ok_or(BAD);
        let page_at = |at: usize| fixed.get(at..).and_then(PageId::from_bytes).ok_or(BAD);
        let u16_at = |at: usize| duramen_format::u16_at(fixed, at);
        let ghost = view.context() == Lcx::MARK_AS_GHOST;
        let parsed = match op {
            Lop::FORMAT_PAGE if view.element(0).is_some() => PageOp::Image {
                used: element(0)?,
                slots: element(1)?,
            },
            Lop::FORMAT_PAGE => PageOp::Format {
                kind: *fixed.get(62).ok_or(BAD)?,
                level: *fixed.get(63).ok_or(BAD)?,
                pminlen: u16_at(64)?,
                au: f.alloc_unit,
                start: page_at(66)?,
                extra: duramen_format::u64_at(fixed, 72)?,
            },
            Lop::INSERT_ROWS if ghost => PageOp::Unghost {
                slot: f.slot,
                row: element(0)?,
            },
            Lop::INSERT_ROWS => PageOp::Insert {
                slot: f.slot,
                rows: view
                    .elements()
                    .take(usize::from(f.modify_size.max(1)))
                    .collect(),
                lock: &[],
                key: match f.modify_size {
                    0 | 1 => view.element(1).unwrap_or(&[]),
                    _ => &[],
                },
            },
            Lop::DELETE_ROWS if ghost => PageOp::Ghost {
                slot: f.slot,
                row: element(0)?,
                lock: &[],
                key: view.element(2).unwrap_or(&[]),
            },
            Lop::DELETE_ROWS if view.element(0).is_none() => PageOp::Remove {
                slot: f.slot,
                count: f.modify_size,
            },
            Lop::DELETE_ROWS | Lop::EXPUNGE_ROWS => PageOp::Delete {
                slot: f.slot,
                row: element(0)?,
            },
            Lop::MODIFY_ROW | Lop::FILE_HDR_MODIFY => PageOp::Modify {
                slot: f.slot,
                offset: f.offset_in_row,
                before: element(0)?,
                after: element(1)?,
                key: view.element(2).unwrap_or(&[]),
                fields: view.element(3).unwrap_or(&[]),
            },
            Lop::MODIFY_HEADER => PageOp::Links {
                at: f.offset_in_row,
                before: PageId::from_bytes(element(0)?).ok_or(BAD)?,
                after: PageId::from_bytes(element(1)?).ok_or(BAD)?,
            },
            Lop::SET_BITS => {
                let (bit, _, value) = view.bits().ok_or(BAD)?;
                PageOp::SetBit { bit, value }
            }
            Lop::SET_FREE_SPACE => {
                let (index, after, before) = view.free_space().ok_or(BAD)?;
                PageOp::SetFreeSpace {
                    index,
                    before,
                    after,
                }
            }
            Lop::DELETE_SPLIT => PageOp::DeleteSplit {
                from: f.slot,
                count: u16_at(48)?,
                new_page: page_at(50)?,
            },
            _ => PageOp::UndoDeleteSplit {
                from: f.slot,
                rows: view.elements().collect(),
            },
        };
        Ok(Some((f.page, f.prev_page_lsn, parsed)))
    }

    /// Changes the page.
    #[expect(clippy::too_many_lines, reason = "one arm a log record")]
    pub fn apply(&self, id: PageId, context: Lcx, page: &mut PageMut<'_>) -> FormatResult<()> {
        match self {
            PageOp::Format {
                kind,
                level,
                pminlen,
                au,
                start,
                extra,
            } => match *kind {
                page_type::IAM => {
                    alloc::format_iam(page.bytes_mut(), id, *au, *start, *extra as u32)
                }
                page_type::PFS => alloc::format_pfs(page.bytes_mut(), id),
                page_type::GAM | page_type::SGAM | page_type::DIFF_MAP | page_type::ML_MAP => {
                    alloc::format_bitmap(page.bytes_mut(), id, *kind, *start, *extra != 0)
                }
                _ => {
                    page.format(id, *kind, *au, *level, *pminlen);
                    page.set_prev_page(*start);
                    page.set_next_page(unpack(*extra));
                    Ok(())
                }
            },
            PageOp::Image { used, slots } => page.restore_image(used, slots),
            PageOp::Remove { slot, count } => {
                let slots = *slot..slot.saturating_add(*count);
                if !is_heap(context) {
                    return page.delete_records(slots);
                }
                for at in slots.rev() {
                    page.clear_slot(at)?;
                }
                Ok(())
            }
            PageOp::Insert { slot, rows, .. } if *slot == page.as_ref().slot_count() => {
                page.append_records(rows.iter().copied())?;
                count_ghosts(page, rows);
                Ok(())
            }
            PageOp::Insert { slot, rows, .. } if is_heap(context) => {
                for (i, row) in rows.iter().enumerate() {
                    page.put_record(slot + i as u16, row)?;
                }
                Ok(())
            }
            PageOp::Insert { slot, rows, .. } => {
                page.insert_records(*slot, rows)?;
                count_ghosts(page, rows);
                Ok(())
            }
            PageOp::Delete { slot, .. } => {
                if is_heap(context) {
                    page.clear_slot(*slot)
                } else {
                    let ghost = page.as_ref().record(*slot)?.is_some_and(RowRef::is_ghost);
                    if ghost {
                        let n = page.as_ref().ghost_count();
                        page.set_ghost_count(n.saturating_sub(1));
                    }
                    page.delete_record(*slot)
                }
            }
            PageOp::Ghost { slot, .. } => {
                row::set_ghost(page.record_mut(*slot)?, true);
                let n = page.as_ref().ghost_count();
                page.set_ghost_count(n.saturating_add(1));
                Ok(())
            }
            PageOp::Unghost { slot, .. } => {
                row::set_ghost(page.record_mut(*slot)?, false);
                let n = page.as_ref().ghost_count();
                page.set_ghost_count(n.saturating_sub(1));
                Ok(())
            }
            PageOp::Modify {
                slot,
                offset,
                before,
                after,
                ..
            } => {
                // A row that takes a ghost's place, and the undo of that.
                let was = ghost_at(page, *slot);
                modify(page, *slot, usize::from(*offset), before, after)?;
                let n = page.as_ref().ghost_count();
                match (was, ghost_at(page, *slot)) {
                    (true, false) => page.set_ghost_count(n.saturating_sub(1)),
                    (false, true) => page.set_ghost_count(n.saturating_add(1)),
                    _ => {}
                }
                Ok(())
            }
            PageOp::Links { at, after, .. } => {
                if *at == HEADER_PREV {
                    page.set_prev_page(*after);
                } else {
                    page.set_next_page(*after);
                }
                Ok(())
            }
            PageOp::SetBit { bit, value } => {
                alloc::bit_set(page.bytes_mut(), u32::from(*bit), *value);
                Ok(())
            }
            PageOp::SetFreeSpace { index, after, .. } => {
                let page = page.bytes_mut();
                let byte = alloc::pfs_get(page, u32::from(*index));
                let class = after & alloc::pfs::FULLNESS;
                alloc::pfs_set(
                    page,
                    u32::from(*index),
                    byte & !alloc::pfs::FULLNESS | class,
                );
                Ok(())
            }
            PageOp::DeleteSplit { from, count, .. } => {
                page.delete_records(*from..from.saturating_add(*count))?;
                recount_ghosts(page)
            }
            PageOp::UndoDeleteSplit { from, rows } => {
                for (i, row) in rows.iter().enumerate() {
                    page.insert_record(from + i as u16, row)?;
                }
                recount_ghosts(page)
            }
        }
    }
}

fn ghost_at(page: &PageMut<'_>, slot: u16) -> bool {
    let record = page.as_ref().record(slot);
    matches!(record, Ok(Some(r)) if r.is_ghost())
}

/// Ghosts that came with rows from another page.
fn count_ghosts(page: &mut PageMut<'_>, rows: &[&[u8]]) {
    let ghost = |r: &&&[u8]| RowRef::new(r).is_ghost();
    let came = rows.iter().filter(ghost).count() as u16;
    if came > 0 {
        let n = page.as_ref().ghost_count();
        page.set_ghost_count(n.saturating_add(came));
    }
}

fn recount_ghosts(page: &mut PageMut<'_>) -> FormatResult<()> {
    let p = page.as_ref();
    let mut n = 0;
    for s in 0..p.slot_count() {
        n += u16::from(p.record(s)?.is_some_and(RowRef::is_ghost));
    }
    page.set_ghost_count(n);
    Ok(())
}

fn modify(
    page: &mut PageMut<'_>,
    slot: u16,
    offset: usize,
    before: &[u8],
    after: &[u8],
) -> FormatResult<()> {
    const BAD: FormatError = FormatError::Corrupt("MODIFY_ROW (the row is not as it was)");
    if before.len() == after.len() {
        let row = page.record_mut(slot)?;
        let part = row.get_mut(offset..offset + after.len()).ok_or(BAD)?;
        part.copy_from_slice(after);
        return Ok(());
    }
    let old = page.as_ref().expect_record(slot)?.bytes();
    let head = old.get(..offset).ok_or(BAD)?;
    let tail = old.get(offset + before.len()..).ok_or(BAD)?;
    let new = [head, after, tail].concat();
    page.replace_record(slot, &new)
}

/// The smallest range in which two rows differ: offset, bytes before, bytes after.
pub(crate) fn difference<'r>(old: &'r [u8], new: &'r [u8]) -> (u16, &'r [u8], &'r [u8]) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take(room)
        .take_while(|(a, b)| a == b)
        .count();
    (
        head as u16,
        &old[head..old.len() - tail],
        &new[head..new.len() - tail],
    )
}

/// A page id in the `extra` of a Format.
pub(crate) fn pack(page: PageId) -> u64 {
    u64::from(page.file) << 32 | u64::from(page.page)
}

fn unpack(extra: u64) -> PageId {
    PageId::new((extra >> 32) as u16, extra as u32)
}
