//! Rows: FixedVar data rows and index rows, bytes to fields and back.
//!
//! ```text
//! data   | A | B | fixed end u16 | fixed columns | n u16 | null bitmap | v u16 | v end offsets u16 | variable columns |
//! index  | A | fixed columns [| child page 6]    [| n u16 | null bitmap]  [| v u16 | ends u16 | variable columns]
//! ```
//! A field is the bytes of one column; `super::values` goes all the way to values. A *complex* field
//! (top bit of its end offset) is a pointer to bytes outside the row: see `lob`. Trailing empty variable columns are
//! left out, and so is the whole variable part when nothing is in it. Columns that a row does not have (they were
//! added later) read as NULL.

use std::borrow::Cow;

use duramen_base::PageId;
use duramen_types::TypeId;

use super::layout::{CHILD_BYTES, ColumnLayout, RowKind, RowLayout};
use super::page::{
    FORWARDING_STUB_BYTES, STATUS_NULL_BITMAP, STATUS_VARIABLE, kind_of, record_kind,
};
use super::{FormatError, FormatResult, RowFormat, RowRef, u16_at};

/// One column of one row, as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field<'a> {
    Null,
    Inline(Cow<'a, [u8]>),
    /// A pointer to a value outside the row.
    Complex(Cow<'a, [u8]>),
}

impl Field<'_> {
    /// Bytes in the row.
    pub fn len(&self) -> usize {
        match self {
            Field::Null => 0,
            Field::Inline(b) | Field::Complex(b) => b.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Builds a row; `child` for node rows only. Fixed fields must have their exact length.
pub fn encode_fields(
    layout: &RowLayout,
    fields: &[Field<'_>],
    child: Option<PageId>,
) -> FormatResult<Vec<u8>> {
    if fields.len() != layout.columns.len() {
        return Err(FormatError::Corrupt("number of columns"));
    }
    let pminlen = usize::from(layout.pminlen);
    let mut row = vec![0u8; pminlen];
    let mut nulls = vec![0u8; usize::from(layout.null_bits).div_ceil(8)];
    let mut variable: Vec<Option<&Field<'_>>> = vec![None; usize::from(layout.variable_columns)];
    for (c, f) in layout.columns.iter().zip(fields) {
        // A uniquifier that is absent counts as NULL in the bitmap.
        if c.nullbit > 0 && (*f == Field::Null || c.uniquifier && f.is_empty()) {
            let i = usize::from(c.nullbit) - 1;
            nulls[i / 8] |= 1 << (i % 8);
        }
        if let Some(i) = c.variable_index() {
            variable[i] = Some(f);
            continue;
        }
        match f {
            Field::Null => {}
            Field::Inline(b) => put_fixed(&mut row, c, b)?,
            Field::Complex(_) => return Err(FormatError::Corrupt("fixed column (off-row)")),
        }
    }
    let mut status = match layout.kind {
        RowKind::Data => record_kind::PRIMARY << 1,
        RowKind::IndexLeaf | RowKind::IndexNode => record_kind::INDEX << 1,
    };
    if layout.kind == RowKind::Data {
        row[2..4].copy_from_slice(&layout.pminlen.to_le_bytes());
    }
    if layout.kind == RowKind::IndexNode {
        let child = child.ok_or(FormatError::Corrupt("node row (no child)"))?;
        row[pminlen - CHILD_BYTES..].copy_from_slice(&child.to_bytes());
    }
    if layout.has_null_bitmap() {
        status |= STATUS_NULL_BITMAP;
        row.extend(layout.null_bits.to_le_bytes());
        row.extend(&nulls);
    }
    while matches!(variable.last(), Some(None))
        || variable
            .last()
            .is_some_and(|f| f.is_some_and(Field::is_empty))
    {
        variable.pop();
    }
    if !variable.is_empty() {
        status |= STATUS_VARIABLE;
        append_variable(&mut row, &variable)?;
    }
    row[0] = status;
    Ok(row)
}

pub fn append_variable(row: &mut Vec<u8>, variable: &[Option<&Field<'_>>]) -> FormatResult<()> {
    row.extend((variable.len() as u16).to_le_bytes());
    let mut end = row.len() + 2 * variable.len();
    for f in variable {
        end += f.map_or(0, Field::len);
        if end > 0x7fff {
            return Err(FormatError::NoSpace);
        }
        let flag = if matches!(f, Some(Field::Complex(_))) {
            0x8000
        } else {
            0
        };
        row.extend((end as u16 | flag).to_le_bytes());
    }
    for f in variable.iter().flatten() {
        if let Field::Inline(b) | Field::Complex(b) = f {
            row.extend_from_slice(b);
        }
    }
    Ok(())
}

fn put_fixed(row: &mut [u8], c: &ColumnLayout, b: &[u8]) -> FormatResult<()> {
    let at = c.leaf_offset as usize;
    if c.ty.id == TypeId::Bit {
        let byte = row
            .get_mut(at)
            .ok_or(FormatError::Corrupt("column offset"))?;
        if b.first().is_some_and(|v| *v != 0) {
            *byte |= 1 << (c.bitpos & 7);
        }
        return Ok(());
    }
    if b.len() != c.ty.fixed_bytes() {
        return Err(FormatError::Corrupt("fixed column length"));
    }
    row.get_mut(at..at + b.len())
        .ok_or(FormatError::Corrupt("column offset"))?
        .copy_from_slice(b);
    Ok(())
}

/// The parts of a row that do not depend on its columns.
pub struct Parts<'a> {
    pub row: &'a [u8],
    /// Columns that the row has; `None`: it carries no null bitmap, every column is there and not NULL.
    columns: Option<usize>,
    nulls: &'a [u8],
    /// Position of the end offsets, and their number.
    ends_at: usize,
    variable: usize,
}

impl<'a> Parts<'a> {
    #[inline]
    pub fn read(layout: &RowLayout, row: RowRef<'a>) -> FormatResult<Parts<'a>> {
        let RowFormat::FixedVar = row.format();
        let row = row.bytes();
        let status = *row.first().ok_or(FormatError::Corrupt("row (empty)"))?;
        let kind = kind_of(status);
        let mut at = match layout.kind {
            RowKind::Data => usize::from(u16_at(row, 2)?),
            _ => usize::from(layout.pminlen),
        };
        if matches!(kind, record_kind::FORWARDING_STUB | record_kind::BLOB) {
            return Err(FormatError::Corrupt("row status"));
        }
        let (mut columns, mut nulls) = (None, &row[..0]);
        if status & STATUS_NULL_BITMAP != 0 {
            let n = usize::from(u16_at(row, at)?);
            let bytes = n.div_ceil(8);
            nulls = row
                .get(at + 2..at + 2 + bytes)
                .ok_or(FormatError::Corrupt("null bitmap"))?;
            columns = Some(n);
            at += 2 + bytes;
        }
        let mut variable = 0;
        if status & STATUS_VARIABLE != 0 {
            variable = usize::from(u16_at(row, at)?);
            at += 2;
            if at + 2 * variable > row.len() {
                return Err(FormatError::Corrupt("variable column count"));
            }
            // The last variable column of a forwarded row is the pointer back to its stub.
            if kind == record_kind::FORWARDED {
                variable = variable.saturating_sub(1);
            }
        }
        Ok(Parts {
            row,
            columns,
            nulls,
            ends_at: at,
            variable,
        })
    }

    #[inline]
    pub fn is_null(&self, c: &ColumnLayout) -> bool {
        let Some(columns) = self.columns else {
            return false;
        };
        if c.nullbit == 0 {
            return false;
        }
        let i = usize::from(c.nullbit) - 1;
        i >= columns || self.nulls[i / 8] >> (i % 8) & 1 == 1
    }

    /// Whether the row has the column at all: one that was added later it has not.
    pub fn has(&self, c: &ColumnLayout) -> bool {
        self.columns
            .is_none_or(|n| c.nullbit > 0 && usize::from(c.nullbit) <= n)
    }

    /// Where the fixed part and the null bitmap end: the row without its variable columns.
    pub fn fixed_end(&self) -> usize {
        match self.row[0] & STATUS_VARIABLE != 0 {
            true => self.ends_at - 2,
            false => self.ends_at,
        }
    }

    /// Where the null bitmap stands, and how many columns it counts.
    pub fn nulls_at(&self) -> Option<(usize, usize)> {
        let columns = self.columns?;
        Some((self.fixed_end() - self.nulls.len(), columns))
    }

    /// The variable columns that the row has.
    pub fn variable_fields(&self) -> FormatResult<Vec<Field<'a>>> {
        (0..self.variable).map(|i| self.variable_field(i)).collect()
    }

    fn variable_field(&self, i: usize) -> FormatResult<Field<'a>> {
        if i >= self.variable {
            return Ok(Field::Inline(Cow::Borrowed(&[])));
        }
        let raw_end = u16_at(self.row, self.ends_at + 2 * i)?;
        let start = if i == 0 {
            // The offsets end where the data starts: count them all, the back pointer's included.
            let all = usize::from(u16_at(self.row, self.ends_at - 2)?);
            self.ends_at + 2 * all
        } else {
            usize::from(u16_at(self.row, self.ends_at + 2 * (i - 1))? & 0x7fff)
        };
        let bytes = self
            .row
            .get(start..usize::from(raw_end & 0x7fff))
            .ok_or(FormatError::Corrupt("variable column end offset"))?;
        Ok(if raw_end & 0x8000 != 0 {
            Field::Complex(Cow::Borrowed(bytes))
        } else {
            Field::Inline(Cow::Borrowed(bytes))
        })
    }
}

/// Reads one column of a row.
pub fn field<'a>(parts: &Parts<'a>, c: &ColumnLayout) -> FormatResult<Field<'a>> {
    if c.leaf_offset == 0 || parts.is_null(c) {
        return Ok(Field::Null);
    }
    if let Some(i) = c.variable_index() {
        return parts.variable_field(i);
    }
    let at = c.leaf_offset as usize;
    if c.ty.id == TypeId::Bit {
        let byte = *parts
            .row
            .get(at)
            .ok_or(FormatError::Corrupt("column offset"))?;
        let set = byte >> (c.bitpos & 7) & 1 == 1;
        return Ok(Field::Inline(Cow::Borrowed(if set { &[1] } else { &[0] })));
    }
    let bytes = parts
        .row
        .get(at..at + c.ty.fixed_bytes())
        .ok_or(FormatError::Corrupt("row (too short for a column)"))?;
    Ok(Field::Inline(Cow::Borrowed(bytes)))
}

/// The fields of a row, in the order of the layout's columns.
pub fn decode_fields<'a>(layout: &RowLayout, row: RowRef<'a>) -> FormatResult<Vec<Field<'a>>> {
    let parts = Parts::read(layout, row)?;
    layout.columns.iter().map(|c| field(&parts, c)).collect()
}

/// One field of a row.
pub fn decode_field<'a>(
    layout: &RowLayout,
    row: RowRef<'a>,
    column: usize,
) -> FormatResult<Field<'a>> {
    let c = layout
        .columns
        .get(column)
        .ok_or(FormatError::Corrupt("number of columns"))?;
    field(&Parts::read(layout, row)?, c)
}

/// The child page of a node row.
pub fn node_child(row: RowRef<'_>, pminlen: u16) -> FormatResult<PageId> {
    usize::from(pminlen)
        .checked_sub(CHILD_BYTES)
        .and_then(|at| row.bytes().get(at..))
        .and_then(PageId::from_bytes)
        .ok_or(FormatError::Corrupt("child pointer"))
}

/// Points a node row at another child.
pub fn set_node_child(row: &mut [u8], pminlen: u16, child: PageId) -> FormatResult<()> {
    usize::from(pminlen)
        .checked_sub(CHILD_BYTES)
        .and_then(|at| row.get_mut(at..at + CHILD_BYTES))
        .ok_or(FormatError::Corrupt("child pointer"))?
        .copy_from_slice(&child.to_bytes());
    Ok(())
}

/// The record that stays behind when a heap row moves to `page`, `slot`.
pub fn forwarding_stub(page: PageId, slot: u16) -> [u8; FORWARDING_STUB_BYTES] {
    let mut b = [0; FORWARDING_STUB_BYTES];
    b[0] = record_kind::FORWARDING_STUB << 1;
    b[1..7].copy_from_slice(&page.to_bytes());
    b[7..].copy_from_slice(&slot.to_le_bytes());
    b
}

/// Where a forwarding stub points.
pub fn forwarding_target(stub: RowRef<'_>) -> FormatResult<(PageId, u16)> {
    if stub.kind() != record_kind::FORWARDING_STUB {
        return Err(FormatError::Corrupt("forwarding stub"));
    }
    let bytes = stub.bytes();
    let page = bytes
        .get(1..)
        .and_then(PageId::from_bytes)
        .ok_or(FormatError::Corrupt("forwarding stub"))?;
    Ok((page, u16_at(bytes, 7)?))
}

/// Turns a data row into a forwarded one, whose last variable column points back to the stub.
pub fn to_forwarded(
    layout: &RowLayout,
    row: RowRef<'_>,
    page: PageId,
    slot: u16,
) -> FormatResult<Vec<u8>> {
    let parts = Parts::read(layout, row)?;
    let mut fields = parts.variable_fields()?;
    let mut back = vec![0, 4];
    back.extend(page.to_bytes());
    back.extend(slot.to_le_bytes());
    fields.push(Field::Complex(Cow::Owned(back)));
    let mut out = row
        .bytes()
        .get(..parts.fixed_end())
        .filter(|head| head.len() >= 4)
        .ok_or(FormatError::Corrupt("row (too short)"))?
        .to_vec();
    out[0] = (row.status() & !0x0e) | STATUS_VARIABLE | record_kind::FORWARDED << 1;
    let refs: Vec<Option<&Field<'_>>> = fields.iter().map(Some).collect();
    append_variable(&mut out, &refs)?;
    Ok(out)
}

/// The stub of a forwarded row.
pub fn back_pointer(row: RowRef<'_>) -> FormatResult<(PageId, u16)> {
    if row.kind() != record_kind::FORWARDED {
        return Err(FormatError::Corrupt("forwarded row"));
    }
    let columns = super::file_header::variable_columns(row.bytes())?;
    let b = columns
        .last()
        .filter(|b| b.len() == 10)
        .ok_or(FormatError::Corrupt("back pointer"))?;
    let page = PageId::from_bytes(&b[2..]).ok_or(FormatError::Corrupt("back pointer"))?;
    Ok((page, u16_at(b, 8)?))
}

/// Marks a record deleted but still there, or takes the mark back.
pub fn set_ghost(record: &mut [u8], ghost: bool) {
    let Some(status) = record.first_mut() else {
        return;
    };
    let kind = match (kind_of(*status), ghost) {
        (record_kind::PRIMARY, true) => record_kind::GHOST_DATA,
        (record_kind::INDEX, true) => record_kind::GHOST_INDEX,
        (record_kind::GHOST_DATA, false) => record_kind::PRIMARY,
        (record_kind::GHOST_INDEX, false) => record_kind::INDEX,
        (same, _) => same,
    };
    *status = (*status & !0x0e) | kind << 1;
}

#[cfg(test)]
mod tests;
