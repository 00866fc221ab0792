//! Cells of base tables: numbers, texts, dates, and what the numbers of some columns mean.

use duramen_types::{DateTime, SqlType, Value};

/// Objects of users have ids from here; base tables are below.
pub(crate) const FIRST_USER_OBJECT: i32 = 100;
/// Rowsets and units of users have ids from here.
pub(crate) const FIRST_USER_ROWSET: i64 = 256 << 48;

/// `syssingleobjrefs.class` of foreign keys: the referenced table and index; the referencing column; the referenced
/// column.
pub(crate) const REF_FK_TABLE: i64 = 27;
pub(crate) const REF_FK_COLUMN: i64 = 28;
pub(crate) const REF_FK_REFERENCED: i64 = 29;
/// `sysobjvalues.valclass` of texts.
pub(crate) const VALUE_TEXT: i64 = 1;

pub(crate) fn int(row: &[Value], at: usize) -> i64 {
    row.get(at).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn text(row: &[Value], at: usize) -> String {
    row.get(at).and_then(Value::as_text).unwrap_or_default()
}

pub(crate) fn date(row: &[Value], at: usize) -> DateTime {
    match row.get(at) {
        Some(Value::DateTime(d)) => *d,
        _ => DateTime { days: 0, ticks: 0 },
    }
}

/// The text of a module or constraint. `value` is 2 when it is code-page text (as in foreign files), 3 (ours) when it is
/// UTF-16 because the code page lacks a character.
pub(crate) fn decode_text(row: &[Value]) -> String {
    let wide = matches!(&row[4], Value::Variant(v) if v.1 == Value::Int(3));
    match &row[5] {
        Value::Binary(b) if wide => {
            let units: Vec<u16> = b
                .chunks_exact(2)
                .map(|c| u16::from_le_bytes([c[0], c[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        Value::Binary(b) => duramen_types::cp1252::decode(b),
        _ => String::new(),
    }
}

/// The `value` and `imageval` of a text.
pub(crate) fn encode_text(text: &str) -> (Value, Value) {
    let narrow = duramen_types::cp1252::encode(text);
    let (kind, bytes) = if duramen_types::cp1252::decode(&narrow) == text {
        (2, narrow)
    } else {
        (3, text.encode_utf16().flat_map(u16::to_le_bytes).collect())
    };
    let kind = Value::Variant(Box::new((SqlType::INT, Value::Int(kind))));
    (kind, Value::Binary(bytes))
}
