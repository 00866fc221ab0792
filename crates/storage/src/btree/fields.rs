//! Fields of a row as log records name them, so that undo finds and restores them without knowing a definition.
//!
//! Rows of base tables are changed by more than their users' transactions: storage writes where units begin, and the
//! catalog writes blocks of identity values and row versions, in transactions that outlive the rollback of the one that
//! made the row (`catalog::beside`). So the records of such a row name its key, and a change also names the fields that it
//! changed, each with what it held: undo looks for the key and puts those fields back, whatever the others hold by then.
//! Rows of users' tables are changed by nobody but who has locked them; their records stay as short as they are.
//!
//! A field is: place in the row (`leaf_offset`, 2 bytes), null bit (2), bytes of a fixed column (2), kind (1: bit, 2: points
//! out of the row), bit of the byte, length (2; 0xffff: NULL), bytes.

use std::borrow::Cow;

use duramen_types::{SqlType, TypeId};

use duramen_format::layout::{ColumnLayout, RowKind, RowLayout};
use duramen_format::page::{STATUS_NULL_BITMAP, STATUS_VARIABLE, record_kind};
use duramen_format::row::{Field, Parts, append_variable, decode_fields, field};
use duramen_format::{FormatError, FormatResult, RowRef, u16_at};

const BIT: u8 = 1;
const OUTSIDE: u8 = 2;
const NULL: u16 = u16::MAX;
/// The bits of a row's first byte that say what it is.
const KIND_BITS: u8 = 0x0e;

/// Adds a field to a list of them.
pub(crate) fn put(out: &mut Vec<u8>, c: &ColumnLayout, value: &Field<'_>) {
    let fixed = match c.leaf_offset > 0 {
        true => c.ty.fixed_bytes() as u16,
        false => 0,
    };
    let kind = match (c.ty.id == TypeId::Bit, value) {
        (true, _) => BIT,
        (_, Field::Complex(_)) => OUTSIDE,
        _ => 0,
    };
    out.extend(c.leaf_offset.to_le_bytes());
    out.extend(c.nullbit.to_le_bytes());
    out.extend(fixed.to_le_bytes());
    out.extend([kind, c.bitpos]);
    match value {
        Field::Null => out.extend(NULL.to_le_bytes()),
        Field::Inline(b) | Field::Complex(b) => {
            out.extend((b.len() as u16).to_le_bytes());
            out.extend_from_slice(b);
        }
    }
}

/// Takes the next field off a list; `None` at its end.
fn take<'a>(list: &mut &'a [u8]) -> FormatResult<Option<(ColumnLayout, Field<'a>)>> {
    const BAD: FormatError = FormatError::Corrupt("field in a log record");
    if list.is_empty() {
        return Ok(None);
    }
    let (head, rest) = list.split_at_checked(10).ok_or(BAD)?;
    let leaf_offset = u16_at(head, 0)? as i16;
    let column = ColumnLayout {
        ty: match (head[6] == BIT, leaf_offset > 0) {
            (true, _) => SqlType::BIT,
            (false, true) => SqlType::binary(u16_at(head, 4)?),
            (false, false) => SqlType::varbinary(8000),
        },
        leaf_offset,
        nullbit: u16_at(head, 2)?,
        bitpos: head[7],
        nullable: true,
        uniquifier: false,
    };
    let len = u16_at(head, 8)?;
    if len == NULL {
        *list = rest;
        return Ok(Some((column, Field::Null)));
    }
    let (bytes, rest) = rest.split_at_checked(usize::from(len)).ok_or(BAD)?;
    *list = rest;
    let bytes = Cow::Borrowed(bytes);
    let value = match head[6] == OUTSIDE {
        true => Field::Complex(bytes),
        false => Field::Inline(bytes),
    };
    Ok(Some((column, value)))
}

/// What the parts of a leaf row need to know of its page.
fn shape(row: RowRef<'_>, pminlen: u16) -> FormatResult<RowLayout> {
    if row.is_empty() {
        return Err(FormatError::Corrupt("row (empty)"));
    }
    let kind = match row.kind() {
        record_kind::INDEX | record_kind::GHOST_INDEX => RowKind::IndexLeaf,
        _ => RowKind::Data,
    };
    Ok(RowLayout {
        kind,
        columns: Vec::new(),
        pminlen,
        null_bits: 0,
        variable_columns: 0,
    })
}

/// Whether a leaf row holds all of these fields. `pminlen` is its page's.
pub(crate) fn holds(row: RowRef<'_>, pminlen: u16, mut fields: &[u8]) -> FormatResult<bool> {
    let shape = shape(row, pminlen)?;
    let parts = Parts::read(&shape, row)?;
    while let Some((column, wanted)) = take(&mut fields)? {
        let equal = match (field(&parts, &column)?, wanted) {
            (Field::Null, wanted) => wanted == Field::Null,
            (Field::Inline(a) | Field::Complex(a), Field::Inline(b) | Field::Complex(b)) => a == b,
            (_, Field::Null) => false,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The fields in which `new` differs from `old`, as they are in `old`.
pub(crate) fn changed(
    layout: &RowLayout,
    old: RowRef<'_>,
    new: RowRef<'_>,
) -> FormatResult<Vec<u8>> {
    let mut out = Vec::new();
    let (old, new) = (decode_fields(layout, old)?, decode_fields(layout, new)?);
    for ((c, before), after) in layout.columns.iter().zip(&old).zip(&new) {
        if before != after && c.leaf_offset != 0 {
            put(&mut out, c, before);
        }
    }
    Ok(out)
}

/// The row with these fields put back. `status`: the first byte that the row had, where the change was one from a ghost
/// to a row.
pub(crate) fn restored(
    row: RowRef<'_>,
    pminlen: u16,
    mut fields: &[u8],
    status: Option<u8>,
) -> FormatResult<Vec<u8>> {
    const SHORT: FormatError = FormatError::Corrupt("row (too short for a field)");
    let shape = shape(row, pminlen)?;
    let parts = Parts::read(&shape, row)?;
    let mut variable = parts.variable_fields()?;
    // All up to the variable columns: what stands there is put back in place.
    let mut out = row.bytes().get(..parts.fixed_end()).ok_or(SHORT)?.to_vec();
    let nulls = parts.nulls_at();
    while let Some((c, value)) = take(&mut fields)? {
        if c.nullbit > 0 {
            let i = usize::from(c.nullbit) - 1;
            match (nulls, value == Field::Null) {
                (Some((at, n)), null) if i < n => {
                    let byte = out.get_mut(at + i / 8).ok_or(SHORT)?;
                    *byte = *byte & !(1 << (i % 8)) | u8::from(null) << (i % 8);
                }
                // A row that has no bit for it cannot hold anything of it.
                (Some(_), false) => return Err(SHORT),
                _ => {}
            }
        }
        if let Some(i) = c.variable_index() {
            if variable.len() <= i {
                variable.resize(i + 1, Field::Inline(Cow::Borrowed(&[])));
            }
            variable[i] = value;
            continue;
        }
        put_back(&mut out, &c, &value).ok_or(SHORT)?;
    }
    while variable.last().is_some_and(Field::is_empty) {
        variable.pop();
    }
    out[0] &= !STATUS_VARIABLE;
    if !variable.is_empty() {
        out[0] |= STATUS_VARIABLE;
        let all: Vec<Option<&Field<'_>>> = variable.iter().map(Some).collect();
        append_variable(&mut out, &all)?;
    }
    if let Some(status) = status {
        out[0] = out[0] & !KIND_BITS | status & KIND_BITS;
    }
    debug_assert_eq!(
        out[0] & STATUS_NULL_BITMAP,
        row.status() & STATUS_NULL_BITMAP
    );
    Ok(out)
}

/// Puts a fixed field's bytes back; those of a NULL are zero. `None`: it lies outside the row.
fn put_back(row: &mut [u8], c: &ColumnLayout, value: &Field<'_>) -> Option<()> {
    let at = usize::try_from(c.leaf_offset).ok()?;
    let bytes: &[u8] = match value {
        Field::Null => &[],
        Field::Inline(b) | Field::Complex(b) => b,
    };
    if c.ty.id == TypeId::Bit {
        let byte = row.get_mut(at)?;
        let on = bytes.first().is_some_and(|b| *b != 0);
        let bit = c.bitpos & 7;
        *byte = *byte & !(1 << bit) | u8::from(on) << bit;
        return Some(());
    }
    let place = row.get_mut(at..at + c.ty.fixed_bytes())?;
    match value {
        Field::Null => place.fill(0),
        _ if bytes.len() == place.len() => place.copy_from_slice(bytes),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests;
