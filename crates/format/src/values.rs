//! Rows from values and back.

use std::borrow::Cow;

use duramen_base::{PageId, SqlResult};
use duramen_types::{TypeId, Value};

use super::layout::{ColumnLayout, RowLayout};
use super::pack::append_row;
use super::row::{Field, decode_fields};
use super::value::{decode_value, encode_value};
use super::{FormatError, RowRef};

/// The bytes of a value in a row; the uniquifier 0 is absent.
pub fn field_of(c: &ColumnLayout, value: &Value) -> SqlResult<Field<'static>> {
    if value.is_null() || (c.uniquifier && *value == Value::Int(0)) {
        return Ok(Field::Null);
    }
    let mut bytes = Vec::new();
    if c.ty.id == TypeId::Bit {
        bytes.push(u8::from(value.as_i64().is_some_and(|v| v != 0)));
    } else {
        encode_value(value, &c.ty, &mut bytes)?;
    }
    Ok(Field::Inline(Cow::Owned(bytes)))
}

/// The value of an inline field; `Complex` fields must have been resolved to the bytes they point to.
pub fn value_of(c: &ColumnLayout, field: &Field<'_>) -> SqlResult<Value> {
    match field {
        Field::Null if c.uniquifier => Ok(Value::Int(0)),
        Field::Null => Ok(Value::Null),
        Field::Inline(b) if c.uniquifier && b.is_empty() => Ok(Value::Int(0)),
        Field::Inline(b) if c.ty.id == TypeId::Bit => Ok(Value::Bit(b.first() == Some(&1))),
        Field::Inline(b) => Ok(decode_value(&c.ty, b)?),
        Field::Complex(_) => Err(FormatError::Corrupt("column (off-row value not read)").into()),
    }
}

/// Builds a row from values, all of them in the row.
pub fn encode_row(layout: &RowLayout, values: &[Value]) -> SqlResult<Vec<u8>> {
    encode_values(layout, values, None)
}

/// Builds a row of a non-leaf level.
pub fn encode_node_row(layout: &RowLayout, keys: &[Value], child: PageId) -> SqlResult<Vec<u8>> {
    encode_values(layout, keys, Some(child))
}

fn encode_values(
    layout: &RowLayout,
    values: &[Value],
    child: Option<PageId>,
) -> SqlResult<Vec<u8>> {
    let mut row = Vec::with_capacity(usize::from(layout.pminlen) + 64);
    append_row(layout, values, child, &mut row)?;
    Ok(row)
}

/// The values of a row that has no off-row column.
pub fn decode_row(layout: &RowLayout, row: RowRef<'_>) -> SqlResult<Vec<Value>> {
    decode_row_with(layout, row, &mut |_, _| {
        Err(FormatError::Corrupt("column (off-row value not read)").into())
    })
}

/// What a complex field points to.
pub enum Fetched {
    /// The bytes of the value.
    Bytes(Vec<u8>),
    /// The value itself, which may have stayed where it is.
    Value(Value),
}

/// Reads the bytes that a complex field points to.
pub type FetchValue<'a> = dyn FnMut(&ColumnLayout, &[u8]) -> SqlResult<Vec<u8>> + 'a;

/// The values of a row; `fetch` reads the bytes a complex field points to.
pub fn decode_row_with(
    layout: &RowLayout,
    row: RowRef<'_>,
    fetch: &mut FetchValue<'_>,
) -> SqlResult<Vec<Value>> {
    decode_row_fetching(layout, row, &mut |c, pointer| {
        fetch(c, pointer).map(Fetched::Bytes)
    })
}

/// The same where a value may stay where it is.
pub fn decode_row_fetching(
    layout: &RowLayout,
    row: RowRef<'_>,
    fetch: &mut dyn FnMut(&ColumnLayout, &[u8]) -> SqlResult<Fetched>,
) -> SqlResult<Vec<Value>> {
    let mut out = Vec::with_capacity(layout.columns.len());
    for (c, mut f) in layout.columns.iter().zip(decode_fields(layout, row)?) {
        if let Field::Complex(pointer) = &f {
            f = match fetch(c, pointer)? {
                Fetched::Bytes(bytes) => Field::Inline(Cow::Owned(bytes)),
                Fetched::Value(value) => {
                    out.push(value);
                    continue;
                }
            };
        }
        out.push(value_of(c, &f)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
