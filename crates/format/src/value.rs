//! Values as the bytes of a column, and back: the codec of `types`, with this room's errors.
//!
//! Values must already have the column's type (assignment converts); what cannot be written is an error. Bytes that
//! are no value of the type (a foreign or damaged file) are an error too, never a value out of its range.

use duramen_types::{SqlType, Value};

use super::{FormatError, FormatResult};

const MISMATCH: FormatError = FormatError::Corrupt("value (not of the column's type)");
const DAMAGED: FormatError = FormatError::Corrupt("value (not a value of the column's type)");

/// Appends the stored form of `value`, which is not NULL; fixed types give exactly `ty.fixed_bytes()`.
pub fn encode_value(value: &Value, ty: &SqlType, out: &mut Vec<u8>) -> FormatResult<()> {
    if value.is_null() {
        return Err(MISMATCH);
    }
    value.encode_var(ty, out).map_err(|_| MISMATCH)
}

/// The value stored in `b`.
pub fn decode_value(ty: &SqlType, b: &[u8]) -> FormatResult<Value> {
    Value::decode_var(ty, b).map_err(|_| DAMAGED)
}

#[cfg(test)]
mod tests;
