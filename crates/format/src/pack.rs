//! Values straight into the bytes of a row, without a buffer for each column: the way of every row that has nothing
//! outside itself. The result is that of `row::encode_fields`, byte for byte.

use duramen_base::{PageId, SqlResult};
use duramen_types::{TypeId, Value};

use super::layout::{CHILD_BYTES, ColumnLayout, RowKind, RowLayout};
use super::page::{STATUS_NULL_BITMAP, STATUS_VARIABLE, record_kind};
use super::value::encode_value;
use super::{FormatError, FormatResult};

/// Appends a row to `out`; `child` for node rows only. After an error `out` is as it was.
pub fn append_row(
    layout: &RowLayout,
    values: &[Value],
    child: Option<PageId>,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let start = out.len();
    let result = write_row(layout, values, child, out);
    if result.is_err() {
        out.truncate(start);
    }
    Ok(result?)
}

fn write_row(
    layout: &RowLayout,
    values: &[Value],
    child: Option<PageId>,
    out: &mut Vec<u8>,
) -> FormatResult<()> {
    if values.len() != layout.columns.len() {
        return Err(FormatError::Corrupt("number of columns"));
    }
    let start = out.len();
    let pminlen = usize::from(layout.pminlen);
    out.resize(start + pminlen, 0);
    for (c, v) in layout.columns.iter().zip(values) {
        if c.leaf_offset > 0 && !v.is_null() {
            put_fixed(out, start, c, v)?;
        }
    }
    let mut status = match layout.kind {
        RowKind::Data => record_kind::PRIMARY << 1,
        RowKind::IndexLeaf | RowKind::IndexNode => record_kind::INDEX << 1,
    };
    if layout.kind == RowKind::Data {
        out[start + 2..start + 4].copy_from_slice(&layout.pminlen.to_le_bytes());
    }
    if layout.kind == RowKind::IndexNode {
        let child = child.ok_or(FormatError::Corrupt("node row (no child)"))?;
        let end = start + pminlen;
        out[end - CHILD_BYTES..end].copy_from_slice(&child.to_bytes());
    }
    if layout.has_null_bitmap() {
        status |= STATUS_NULL_BITMAP;
        put_nulls(layout, values, out);
    }
    if layout.variable_columns > 0 && put_variable(layout, values, start, out)? {
        status |= STATUS_VARIABLE;
    }
    out[start] = status;
    Ok(())
}

/// The uniquifier 0 is absent, as NULL is.
fn absent(c: &ColumnLayout, v: &Value) -> bool {
    v.is_null() || c.uniquifier && *v == Value::Int(0)
}

fn put_fixed(out: &mut Vec<u8>, start: usize, c: &ColumnLayout, v: &Value) -> FormatResult<()> {
    const BAD: FormatError = FormatError::Corrupt("column offset");
    let at = start + c.leaf_offset as usize;
    if c.ty.id == TypeId::Bit {
        if v.as_i64().is_some_and(|v| v != 0) {
            *out.get_mut(at).ok_or(BAD)? |= 1 << (c.bitpos & 7);
        }
        return Ok(());
    }
    let end = out.len();
    match v {
        Value::Int(v) if c.ty.id == TypeId::Int && at + 4 <= end => {
            out[at..at + 4].copy_from_slice(&v.to_le_bytes());
            return Ok(());
        }
        Value::BigInt(v) if c.ty.id == TypeId::BigInt && at + 8 <= end => {
            out[at..at + 8].copy_from_slice(&v.to_le_bytes());
            return Ok(());
        }
        _ => {}
    }
    // Written at the end first: the codec only appends.
    encode_value(v, &c.ty, out)?;
    let len = out.len() - end;
    if len != c.ty.fixed_bytes() {
        return Err(FormatError::Corrupt("fixed column length"));
    }
    if at + len > end {
        return Err(BAD);
    }
    out.copy_within(end.., at);
    out.truncate(end);
    Ok(())
}

fn put_nulls(layout: &RowLayout, values: &[Value], out: &mut Vec<u8>) {
    out.extend(layout.null_bits.to_le_bytes());
    let at = out.len();
    out.resize(at + usize::from(layout.null_bits).div_ceil(8), 0);
    for (c, v) in layout.columns.iter().zip(values) {
        if c.nullbit > 0 && absent(c, v) {
            let i = usize::from(c.nullbit) - 1;
            out[at + i / 8] |= 1 << (i % 8);
        }
    }
}

/// The variable part, if anything is in it: trailing empty columns are left out.
fn put_variable(
    layout: &RowLayout,
    values: &[Value],
    start: usize,
    out: &mut Vec<u8>,
) -> FormatResult<bool> {
    let mut by_index = vec![None; usize::from(layout.variable_columns)];
    for (c, v) in layout.columns.iter().zip(values) {
        if let Some(i) = c.variable_index() {
            by_index[i] = Some((c, v)).filter(|(c, v)| !absent(c, v));
        }
    }
    let head = out.len();
    let ends = head + 2;
    out.resize(ends + 2 * by_index.len(), 0);
    let mut used = 0;
    for (i, column) in by_index.iter().enumerate() {
        let before = out.len();
        if let Some((c, v)) = column {
            encode_value(v, &c.ty, out)?;
        }
        if out.len() > before {
            used = i + 1;
        }
        // Ends count from the row's start and without the places of the columns that are left out: see below.
        let end = out.len() - start;
        let end = u16::try_from(end).map_err(|_| FormatError::NoSpace)?;
        out[ends + 2 * i..ends + 2 * i + 2].copy_from_slice(&end.to_le_bytes());
    }
    if used == 0 {
        out.truncate(head);
        return Ok(false);
    }
    let spare = 2 * (by_index.len() - used);
    if spare > 0 {
        let body = ends + 2 * by_index.len();
        out.copy_within(body.., body - spare);
        out.truncate(out.len() - spare);
    }
    for i in 0..used {
        let at = ends + 2 * i;
        let end = u16::from_le_bytes([out[at], out[at + 1]]) - spare as u16;
        if end > 0x7fff {
            return Err(FormatError::NoSpace);
        }
        out[at..at + 2].copy_from_slice(&end.to_le_bytes());
    }
    out[head..ends].copy_from_slice(&(used as u16).to_le_bytes());
    Ok(true)
}
