//! Columns straight into the bytes of rows: what `pack::append_row` makes of each row, byte for byte, without a row of
//! values in between.
//!
//! Rows are laid out first, each as a copy of what all have in common and with its variable part; then every column with a
//! fixed place is written down all rows at once.

use std::sync::Arc;

use duramen_types::batch::{Column, Data, IntKind};
use duramen_types::{TypeId, Value};

use super::layout::{ColumnLayout, RowKind, RowLayout};
use super::page::{STATUS_NULL_BITMAP, STATUS_VARIABLE, record_kind};
use super::value::encode_value;
use super::{FormatError, FormatResult};

const OFFSET: FormatError = FormatError::Corrupt("column offset");

/// Appends `rows` rows to `out`, and where each ends to `ends`. There is a column for each of the layout's. The rows are
/// those of leaves.
pub fn append_rows(
    layout: &RowLayout,
    columns: &[Arc<Column>],
    rows: usize,
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> FormatResult<()> {
    if columns.len() != layout.columns.len()
        || columns.iter().any(|c| !c.is_absent() && c.len() < rows)
    {
        return Err(FormatError::Corrupt("number of columns"));
    }
    let start = out.len();
    let first = ends.len();
    let nulls_at = lay_out(layout, columns, rows, out, ends)?;
    let rows = Rows {
        start,
        ends: &ends[first..],
        bytes: out,
    };
    let mut rows = rows;
    for (c, column) in layout.columns.iter().zip(columns) {
        if c.leaf_offset > 0 && !column.is_absent() {
            rows.put(c, column)?;
        }
        if c.nullbit > 0 && layout.has_null_bitmap() {
            rows.note_nulls(nulls_at, c, column)?;
        }
    }
    Ok(())
}

/// Rows that have their length, and everything but their fixed columns and null bits. Where the null bits are.
fn lay_out(
    layout: &RowLayout,
    columns: &[Arc<Column>],
    rows: usize,
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> FormatResult<usize> {
    let pminlen = usize::from(layout.pminlen);
    let mut common = vec![0; pminlen];
    let kind = match layout.kind {
        RowKind::Data => record_kind::PRIMARY,
        RowKind::IndexLeaf => record_kind::INDEX,
        RowKind::IndexNode => return Err(FormatError::Corrupt("node row (no child)")),
    };
    *common.first_mut().ok_or(OFFSET)? = kind << 1;
    if layout.kind == RowKind::Data {
        let place = common.get_mut(2..4).ok_or(OFFSET)?;
        place.copy_from_slice(&layout.pminlen.to_le_bytes());
    }
    let nulls_at = pminlen + 2;
    if layout.has_null_bitmap() {
        common[0] |= STATUS_NULL_BITMAP;
        common.extend(layout.null_bits.to_le_bytes());
        common.resize(nulls_at + usize::from(layout.null_bits).div_ceil(8), 0);
    }
    ends.reserve(rows);
    if layout.variable_columns == 0 {
        out.reserve(rows * common.len());
        for _ in 0..rows {
            out.extend_from_slice(&common);
            ends.push(out.len());
        }
        return Ok(nulls_at);
    }
    let mut variable: Vec<Option<(&ColumnLayout, &Column)>> =
        vec![None; usize::from(layout.variable_columns)];
    for (c, column) in layout.columns.iter().zip(columns) {
        if let Some(i) = c.variable_index() {
            *variable.get_mut(i).ok_or(OFFSET)? = Some((c, column));
        }
    }
    for row in 0..rows {
        let start = out.len();
        out.extend_from_slice(&common);
        if put_variable(&variable, row, start, out)? {
            out[start] |= STATUS_VARIABLE;
        }
        ends.push(out.len());
    }
    Ok(nulls_at)
}

/// The variable part of a row, if anything is in it: trailing empty columns are left out.
fn put_variable(
    columns: &[Option<(&ColumnLayout, &Column)>],
    row: usize,
    start: usize,
    out: &mut Vec<u8>,
) -> FormatResult<bool> {
    let mut used = columns.len();
    while used > 0 && columns[used - 1].is_none_or(|(c, column)| is_empty(c, column, row)) {
        used -= 1;
    }
    if used == 0 {
        return Ok(false);
    }
    out.extend((used as u16).to_le_bytes());
    let ends = out.len();
    out.resize(ends + 2 * used, 0);
    for (i, column) in columns[..used].iter().enumerate() {
        if let Some((c, column)) = column
            && !is_absent(c, column, row)
        {
            append_cell(c, column, row, out)?;
        }
        let end = u16::try_from(out.len() - start).map_err(|_| FormatError::NoSpace)?;
        if end > 0x7fff {
            return Err(FormatError::NoSpace);
        }
        out[ends + 2 * i..ends + 2 * i + 2].copy_from_slice(&end.to_le_bytes());
    }
    Ok(true)
}

/// The uniquifier 0 is absent, as NULL is.
fn is_absent(c: &ColumnLayout, column: &Column, row: usize) -> bool {
    column.is_null(row) || c.uniquifier && column.get(row) == Value::Int(0)
}

/// Whether the cell takes no bytes.
fn is_empty(c: &ColumnLayout, column: &Column, row: usize) -> bool {
    if is_absent(c, column, row) {
        return true;
    }
    match &column.data {
        Data::Bytes(_, r) => r.get(row).is_empty(),
        Data::Wide(r) => r.get(row).is_empty(),
        Data::Values(v) => match &v[row] {
            Value::VarChar(b) | Value::Binary(b) => b.is_empty(),
            Value::NVarChar(u) => u.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

fn append_cell(
    c: &ColumnLayout,
    column: &Column,
    row: usize,
    out: &mut Vec<u8>,
) -> FormatResult<()> {
    match (&column.data, c.ty.id) {
        (Data::Bytes(..), TypeId::VarChar | TypeId::VarBinary) => {
            // A column of bytes of the one family is never given for the other.
            if let Data::Bytes(kind, r) = &column.data
                && (*kind == duramen_types::batch::BytesKind::VarChar)
                    == (c.ty.id == TypeId::VarChar)
            {
                out.extend_from_slice(r.get(row));
                return Ok(());
            }
        }
        (Data::Wide(r), TypeId::NVarChar) => {
            let from = out.len();
            let units = r.get(row);
            out.resize(from + 2 * units.len(), 0);
            put_units(&mut out[from..], units);
            return Ok(());
        }
        _ => {}
    }
    encode_value(&column.get(row), &c.ty, out)
}

#[inline]
fn put_units(out: &mut [u8], units: &[u16]) {
    for (place, unit) in out.as_chunks_mut::<2>().0.iter_mut().zip(units) {
        *place = unit.to_le_bytes();
    }
}

/// Rows that are laid out.
struct Rows<'o> {
    start: usize,
    ends: &'o [usize],
    bytes: &'o mut Vec<u8>,
}

impl Rows<'_> {
    /// Calls `put` with each row's bytes from `at` on; rows that are too short for `len` of them are an error.
    #[inline]
    fn each(
        &mut self,
        at: usize,
        len: usize,
        mut put: impl FnMut(usize, &mut [u8]) -> FormatResult<()>,
    ) -> FormatResult<()> {
        let mut start = self.start;
        for (i, end) in self.ends.iter().enumerate() {
            let place = self.bytes.get_mut(start + at..start + at + len);
            put(i, place.ok_or(OFFSET)?)?;
            start = *end;
        }
        Ok(())
    }

    /// Whole numbers of `N` bytes, the low ones of each.
    fn numbers<const N: usize>(&mut self, at: usize, numbers: &[i64]) -> FormatResult<()> {
        self.each(at, N, |i, place| {
            place.copy_from_slice(&numbers[i].to_le_bytes()[..N]);
            Ok(())
        })
    }

    /// A column with a fixed place. NULL leaves the place as it is, which is zero.
    fn put(&mut self, c: &ColumnLayout, column: &Column) -> FormatResult<()> {
        let at = c.leaf_offset as usize;
        let fixed = c.ty.fixed_bytes();
        let own = IntKind::of(c.ty.id);
        match &column.data {
            Data::Ints(kind, v) if own == Some(*kind) => match kind {
                // The number of a NULL cell is 0.
                IntKind::Bit => {
                    let bit = 1 << (c.bitpos & 7);
                    return self.each(at, 1, |i, place| {
                        place[0] |= if v[i] != 0 { bit } else { 0 };
                        Ok(())
                    });
                }
                IntKind::TinyInt => return self.numbers::<1>(at, v),
                IntKind::SmallInt => return self.numbers::<2>(at, v),
                IntKind::Date => return self.numbers::<3>(at, v),
                IntKind::Int | IntKind::SmallMoney | IntKind::SmallDateTime => {
                    return self.numbers::<4>(at, v);
                }
                IntKind::BigInt | IntKind::Money | IntKind::DateTime => {
                    return self.numbers::<8>(at, v);
                }
                IntKind::Time | IntKind::DateTime2 => {}
            },
            Data::Wide(r) if c.ty.id == TypeId::NChar => {
                return self.each(at, fixed, |i, place| {
                    let units = r.get(i);
                    if 2 * units.len() == fixed {
                        put_units(place, units);
                        return Ok(());
                    }
                    put_one(c, column, i, place)
                });
            }
            Data::Bytes(..) if matches!(c.ty.id, TypeId::Char | TypeId::Binary) => {
                if let Data::Bytes(kind, r) = &column.data
                    && (*kind == duramen_types::batch::BytesKind::VarChar)
                        == (c.ty.id == TypeId::Char)
                {
                    return self.each(at, fixed, |i, place| {
                        let cell = r.get(i);
                        if cell.len() == fixed {
                            place.copy_from_slice(cell);
                            return Ok(());
                        }
                        put_one(c, column, i, place)
                    });
                }
            }
            _ => {}
        }
        if c.ty.id == TypeId::Bit {
            let bit = 1 << (c.bitpos & 7);
            return self.each(at, 1, |i, place| {
                let set = column.get(i).as_i64().is_some_and(|v| v != 0);
                place[0] |= if set { bit } else { 0 };
                Ok(())
            });
        }
        self.each(at, fixed, |i, place| put_one(c, column, i, place))
    }

    fn note_nulls(&mut self, at: usize, c: &ColumnLayout, column: &Column) -> FormatResult<()> {
        if column.nulls().is_empty()
            && !c.uniquifier
            && !matches!(column.data, Data::Absent | Data::Values(_))
        {
            return Ok(());
        }
        let i = usize::from(c.nullbit) - 1;
        let bit = 1 << (i % 8);
        self.each(at + i / 8, 1, |row, place| {
            place[0] |= if is_absent(c, column, row) { bit } else { 0 };
            Ok(())
        })
    }
}

/// One cell through the codec of values.
fn put_one(c: &ColumnLayout, column: &Column, i: usize, place: &mut [u8]) -> FormatResult<()> {
    let value = column.get(i);
    if value.is_null() {
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(place.len());
    encode_value(&value, &c.ty, &mut bytes)?;
    if bytes.len() != place.len() {
        return Err(FormatError::Corrupt("fixed column length"));
    }
    place.copy_from_slice(&bytes);
    Ok(())
}

#[cfg(test)]
mod tests;
