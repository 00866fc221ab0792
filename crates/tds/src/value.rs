//! Values on the wire, in rows, parameters and variants.

use duramen_types::temporal::{DAYS_TO_1900, MAX_DAYS, TICKS_PER_DAY, UNITS_PER_DAY};
use duramen_types::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, SmallDateTime, SqlType, Time, TypeId,
    Value, decimal_bytes, time_bytes,
};

use crate::bytes::{Reader, TdsError, TdsResult, put_u16, put_u32, put_u64, put_units, to_units};
use crate::typeinfo::{Layout, Place, TypeInfo, collation, layout_of};

pub(crate) const PLP_NULL: u64 = u64::MAX;
pub(crate) const PLP_UNKNOWN: u64 = u64::MAX - 1;
/// Chunk of a large value; clients read any size.
const PLP_CHUNK_BYTES: usize = 1 << 20;
/// The most a value may hold: 2 GB - 1, as declared for the (max) types.
pub const MAX_VALUE_BYTES: u64 = 0x7FFF_FFFF;

/// FreeTDS recognises this pointer and does not try to use it with WRITETEXT.
const TEXT_POINTER: &[u8; 16] = b"dummy textptr\0\0\0";
const TEXT_TIMESTAMP: &[u8; 8] = b"dummyTS\0";

const MISMATCH: TdsError = TdsError::Malformed("value of another type than its column");

/// Appends `value` declared as `ty`. On an error nothing usable has been appended; the caller cuts it off.
pub fn put_value(out: &mut Vec<u8>, ty: &SqlType, value: &Value, place: Place) -> TdsResult<()> {
    let layout = layout_of(ty, place);
    if value.is_null() {
        put_null(out, layout);
        return Ok(());
    }
    match layout {
        Layout::Byte => {
            let at = out.len();
            out.push(0);
            put_plain(out, ty, value)?;
            out[at] = (out.len() - at - 1) as u8;
        }
        Layout::Short => {
            let at = out.len();
            out.extend_from_slice(&[0, 0]);
            put_string(out, ty, value)?;
            let len = out.len() - at - 2;
            if len > 8000 {
                return Err(TdsError::TooLarge("string value"));
            }
            out[at..at + 2].copy_from_slice(&(len as u16).to_le_bytes());
        }
        Layout::Plp => {
            let mut data = Vec::new();
            let bytes = string_bytes(value, &mut data)?;
            put_plp(out, bytes);
        }
        Layout::TextPointer | Layout::Long => {
            if layout == Layout::TextPointer {
                out.push(16);
                out.extend_from_slice(TEXT_POINTER);
                out.extend_from_slice(TEXT_TIMESTAMP);
            }
            let mut data = Vec::new();
            let bytes = string_bytes(value, &mut data)?;
            if bytes.len() as u64 > MAX_VALUE_BYTES {
                return Err(TdsError::TooLarge("text value"));
            }
            put_u32(out, bytes.len() as u32);
            out.extend_from_slice(bytes);
        }
        Layout::Variant => put_variant(out, value)?,
        Layout::Fixed(_) | Layout::Null => put_plain(out, ty, value)?,
    }
    Ok(())
}

/// A value that is written piece by piece, as it need not be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPieces {
    chunked: bool,
}

impl InPieces {
    /// Begins a value of `bytes` bytes, of a type whose values may be long. Where chunks follow, their sum is not told: the value
    /// may end before all of it has been sent, when nobody wants the rest.
    pub fn begin(out: &mut Vec<u8>, ty: &SqlType, bytes: u64) -> TdsResult<InPieces> {
        let layout = layout_of(ty, Place::Column);
        match layout {
            Layout::Plp => put_u64(out, PLP_UNKNOWN),
            Layout::TextPointer | Layout::Long => {
                let bytes = u32::try_from(bytes).map_err(|_| TdsError::TooLarge("text value"))?;
                if layout == Layout::TextPointer {
                    out.push(16);
                    out.extend_from_slice(TEXT_POINTER);
                    out.extend_from_slice(TEXT_TIMESTAMP);
                }
                put_u32(out, bytes);
            }
            _ => return Err(MISMATCH),
        }
        Ok(InPieces {
            chunked: layout == Layout::Plp,
        })
    }

    /// More of the value: some bytes at least.
    pub fn put(self, out: &mut Vec<u8>, bytes: &[u8]) {
        if self.chunked && !bytes.is_empty() {
            put_u32(out, bytes.len() as u32);
        }
        out.extend_from_slice(bytes);
    }

    /// Whether the value may end before all of it has been put.
    pub fn may_end(self) -> bool {
        self.chunked
    }

    pub fn end(self, out: &mut Vec<u8>) {
        if self.chunked {
            put_u32(out, 0);
        }
    }
}

fn put_null(out: &mut Vec<u8>, layout: Layout) {
    match layout {
        Layout::Byte | Layout::TextPointer => out.push(0),
        Layout::Short => put_u16(out, 0xFFFF),
        Layout::Variant => put_u32(out, 0),
        Layout::Long => put_u32(out, u32::MAX),
        Layout::Plp => put_u64(out, PLP_NULL),
        Layout::Fixed(_) | Layout::Null => {}
    }
}

fn put_plp(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    for chunk in bytes.chunks(PLP_CHUNK_BYTES) {
        put_u32(out, chunk.len() as u32);
        out.extend_from_slice(chunk);
    }
    put_u32(out, 0);
}

/// The bytes of a character or binary value; UTF-16 is laid out in `scratch`.
fn string_bytes<'a>(value: &'a Value, scratch: &'a mut Vec<u8>) -> TdsResult<&'a [u8]> {
    match value {
        Value::VarChar(bytes) | Value::Binary(bytes) => Ok(bytes),
        Value::NVarChar(units) => {
            put_units(scratch, units);
            Ok(scratch)
        }
        _ => Err(MISMATCH),
    }
}

/// A short string or binary, fixed ones padded to their length.
fn put_string(out: &mut Vec<u8>, ty: &SqlType, value: &Value) -> TdsResult<()> {
    let at = out.len();
    match (ty.id, value) {
        (TypeId::Char | TypeId::VarChar, Value::VarChar(bytes))
        | (TypeId::Binary | TypeId::VarBinary | TypeId::RowVersion, Value::Binary(bytes)) => {
            out.extend_from_slice(bytes);
        }
        (TypeId::NChar | TypeId::NVarChar, Value::NVarChar(units)) => put_units(out, units),
        _ => return Err(MISMATCH),
    }
    let end = at + ty.length as usize;
    match ty.id {
        TypeId::Char if out.len() < end => out.resize(end, b' '),
        TypeId::Binary if out.len() < end => out.resize(end, 0),
        TypeId::NChar => {
            while out.len() + 1 < end {
                out.extend_from_slice(&[b' ', 0]);
            }
        }
        _ => {}
    }
    Ok(())
}

fn put_time(out: &mut Vec<u8>, units: u64, scale: u8) {
    let scale = scale.min(7);
    let scaled = units / 10u64.pow(7 - scale as u32);
    out.extend_from_slice(&scaled.to_le_bytes()[..time_bytes(scale)]);
}

fn put_days(out: &mut Vec<u8>, days: i32) {
    out.extend_from_slice(&days.to_le_bytes()[..3]);
}

/// Values without a length of their own.
fn put_plain(out: &mut Vec<u8>, ty: &SqlType, value: &Value) -> TdsResult<()> {
    match (ty.id, value) {
        (TypeId::Bit, Value::Bit(v)) => out.push(*v as u8),
        (TypeId::TinyInt, Value::TinyInt(v)) => out.push(*v),
        (TypeId::SmallInt, Value::SmallInt(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeId::Int, Value::Int(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeId::BigInt, Value::BigInt(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeId::Real, Value::Real(v)) if v.is_finite() => {
            out.extend_from_slice(&v.to_le_bytes());
        }
        (TypeId::Float, Value::Float(v)) if v.is_finite() => {
            out.extend_from_slice(&v.to_le_bytes());
        }
        (TypeId::Money, Value::Money(v)) => {
            // High half first.
            put_u32(out, (*v >> 32) as u32);
            put_u32(out, *v as u32);
        }
        (TypeId::SmallMoney, Value::SmallMoney(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeId::Decimal | TypeId::Numeric, Value::Decimal(v)) => put_decimal(out, ty, v)?,
        (TypeId::UniqueIdentifier, Value::Guid(v)) => out.extend_from_slice(v),
        (TypeId::Date, Value::Date(v)) => put_days(out, v.0),
        (TypeId::Time, Value::Time(v)) => put_time(out, v.0, ty.scale),
        (TypeId::DateTime, Value::DateTime(v)) => {
            out.extend_from_slice(&v.days.to_le_bytes());
            put_u32(out, v.ticks);
        }
        (TypeId::SmallDateTime, Value::SmallDateTime(v)) => {
            put_u16(out, v.days);
            put_u16(out, v.minutes);
        }
        (TypeId::DateTime2, Value::DateTime2(v)) => {
            put_time(out, v.time, ty.scale);
            put_days(out, v.days);
        }
        (TypeId::DateTimeOffset, Value::DateTimeOffset(v)) => {
            put_time(out, v.time, ty.scale);
            put_days(out, v.days);
            put_u16(out, v.offset as u16);
        }
        _ => {
            // The engine may hand a narrower integer than the column says; widening loses nothing.
            let widened = value.as_i64().ok_or(MISMATCH)?;
            return put_integer(out, ty, widened);
        }
    }
    Ok(())
}

fn put_integer(out: &mut Vec<u8>, ty: &SqlType, value: i64) -> TdsResult<()> {
    match ty.id {
        TypeId::Bit => out.push((value != 0) as u8),
        TypeId::TinyInt => out.push(u8::try_from(value).map_err(|_| MISMATCH)?),
        TypeId::SmallInt => {
            let value = i16::try_from(value).map_err(|_| MISMATCH)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        TypeId::Int => {
            let value = i32::try_from(value).map_err(|_| MISMATCH)?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        TypeId::BigInt => out.extend_from_slice(&value.to_le_bytes()),
        _ => return Err(MISMATCH),
    }
    Ok(())
}

fn put_decimal(out: &mut Vec<u8>, ty: &SqlType, value: &Decimal) -> TdsResult<()> {
    let value = value.rescale(ty.precision, ty.scale).ok_or(MISMATCH)?;
    let mantissa = value.mantissa();
    out.push((mantissa >= 0) as u8);
    let bytes = decimal_bytes(ty.precision) - 1;
    out.extend_from_slice(&mantissa.unsigned_abs().to_le_bytes()[..bytes]);
    Ok(())
}

fn put_variant(out: &mut Vec<u8>, value: &Value) -> TdsResult<()> {
    let Value::Variant(inner) = value else {
        return Err(MISMATCH);
    };
    let (ty, value) = (&inner.0, &inner.1);
    if ty.is_max() {
        return Err(MISMATCH);
    }
    let at = out.len();
    put_u32(out, 0);
    match ty.id {
        TypeId::Decimal | TypeId::Numeric => {
            let byte = if ty.id == TypeId::Decimal { 0x6A } else { 0x6C };
            out.extend_from_slice(&[byte, 2, ty.precision, ty.scale]);
            put_plain(out, ty, value)?;
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            let byte = match ty.id {
                TypeId::Time => 0x29,
                TypeId::DateTime2 => 0x2A,
                _ => 0x2B,
            };
            out.extend_from_slice(&[byte, 1, ty.scale]);
            put_plain(out, ty, value)?;
        }
        TypeId::Binary | TypeId::VarBinary | TypeId::RowVersion => {
            let byte = if ty.id == TypeId::VarBinary {
                0xA5
            } else {
                0xAD
            };
            out.extend_from_slice(&[byte, 2]);
            put_u16(out, ty.length);
            put_string(out, ty, value)?;
        }
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            let byte = match ty.id {
                TypeId::Char => 0xAF,
                TypeId::VarChar => 0xA7,
                TypeId::NChar => 0xEF,
                _ => 0xE7,
            };
            out.extend_from_slice(&[byte, 7]);
            out.extend_from_slice(&collation(ty));
            put_u16(out, ty.length);
            put_string(out, ty, value)?;
        }
        _ => {
            let byte = match ty.id {
                TypeId::Bit => 0x32,
                TypeId::TinyInt => 0x30,
                TypeId::SmallInt => 0x34,
                TypeId::Int => 0x38,
                TypeId::BigInt => 0x7F,
                TypeId::Real => 0x3B,
                TypeId::Float => 0x3E,
                TypeId::Money => 0x3C,
                TypeId::SmallMoney => 0x7A,
                TypeId::DateTime => 0x3D,
                TypeId::SmallDateTime => 0x3A,
                TypeId::UniqueIdentifier => 0x24,
                TypeId::Date => 0x28,
                _ => return Err(MISMATCH),
            };
            out.extend_from_slice(&[byte, 0]);
            put_plain(out, ty, value)?;
        }
    }
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Reads a value declared by `info`.
pub fn parse_value(r: &mut Reader<'_>, info: &TypeInfo) -> TdsResult<Value> {
    match info.layout {
        Layout::Null => Ok(Value::Null),
        Layout::Fixed(len) => plain(&info.ty, r.take(len)?),
        Layout::Byte => {
            let len = r.u8()? as usize;
            // Zero is NULL, but the old short strings may not be empty, so it is NULL there too.
            if len == 0 {
                return Ok(Value::Null);
            }
            let bytes = r.take(len)?;
            if info.ty.id.is_string() || info.ty.id.is_binary() {
                string(&info.ty, bytes)
            } else {
                plain(&info.ty, bytes)
            }
        }
        Layout::Short => {
            let len = r.u16()?;
            if len == 0xFFFF {
                return Ok(Value::Null);
            }
            string(&info.ty, r.take(len as usize)?)
        }
        Layout::Long => {
            let len = r.u32()?;
            if len == u32::MAX {
                return Ok(Value::Null);
            }
            string(&info.ty, r.take(len as usize)?)
        }
        Layout::TextPointer => {
            let pointer = r.u8()? as usize;
            if pointer == 0 {
                return Ok(Value::Null);
            }
            r.take(pointer + 8)?;
            let len = r.u32()? as usize;
            string(&info.ty, r.take(len)?)
        }
        Layout::Plp => match plp(r)? {
            None => Ok(Value::Null),
            Some(bytes) => match info.ty.id {
                TypeId::Xml => Ok(Value::NVarChar(to_units(&bytes))),
                _ => string_value(&info.ty, bytes),
            },
        },
        Layout::Variant => variant(r),
    }
}

fn plp(r: &mut Reader<'_>) -> TdsResult<Option<Vec<u8>>> {
    let total = r.u64()?;
    if total == PLP_NULL {
        return Ok(None);
    }
    if total != PLP_UNKNOWN && total > MAX_VALUE_BYTES {
        return Err(TdsError::TooLong);
    }
    let mut out = Vec::new();
    loop {
        let len = r.u32()? as usize;
        if len == 0 {
            break;
        }
        out.extend_from_slice(r.take(len)?);
        if out.len() as u64 > MAX_VALUE_BYTES {
            return Err(TdsError::TooLong);
        }
    }
    if total != PLP_UNKNOWN && total != out.len() as u64 {
        return Err(TdsError::Malformed("length of a large value"));
    }
    Ok(Some(out))
}

fn string(ty: &SqlType, bytes: &[u8]) -> TdsResult<Value> {
    string_value(ty, bytes.to_vec())
}

/// The bytes of a string or binary value as the value.
pub(crate) fn string_value(ty: &SqlType, bytes: Vec<u8>) -> TdsResult<Value> {
    Ok(match ty.id {
        TypeId::Char | TypeId::VarChar | TypeId::Text => Value::VarChar(bytes),
        TypeId::NChar | TypeId::NVarChar | TypeId::NText => {
            if !bytes.len().is_multiple_of(2) {
                return Err(TdsError::Malformed("UTF-16 text of odd length"));
            }
            Value::NVarChar(to_units(&bytes))
        }
        TypeId::Binary | TypeId::VarBinary | TypeId::Image | TypeId::RowVersion | TypeId::Udt => {
            Value::Binary(bytes)
        }
        _ => return Err(MISMATCH),
    })
}

const RANGE: TdsError = TdsError::Invalid("date or time out of range");

fn time(bytes: &[u8], scale: u8) -> TdsResult<u64> {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(raw)
        .checked_mul(10u64.pow(7 - scale.min(7) as u32))
        .filter(|units| *units < UNITS_PER_DAY)
        .ok_or(RANGE)
}

fn days(bytes: &[u8]) -> TdsResult<i32> {
    let days = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    if days > MAX_DAYS {
        return Err(RANGE);
    }
    Ok(days)
}

/// A value whose bytes are all there. Integers are read by the bytes that came, in case a client sends narrower ones.
fn plain(ty: &SqlType, bytes: &[u8]) -> TdsResult<Value> {
    const LENGTH: TdsError = TdsError::Malformed("length of a value");
    let mut r = Reader::new(bytes);
    let time_len = time_bytes(ty.scale);
    let value = match ty.id {
        TypeId::Bit => Value::Bit(r.u8()? != 0),
        TypeId::TinyInt => Value::TinyInt(r.u8()?),
        TypeId::SmallInt => Value::SmallInt(r.u16()? as i16),
        TypeId::Int => Value::Int(r.i32()?),
        TypeId::BigInt => Value::BigInt(r.u64()? as i64),
        TypeId::Real => {
            let v = f32::from_le_bytes(r.array()?);
            if !v.is_finite() {
                return Err(TdsError::Invalid("float value"));
            }
            Value::Real(v)
        }
        TypeId::Float => {
            let v = f64::from_le_bytes(r.array()?);
            if !v.is_finite() {
                return Err(TdsError::Invalid("float value"));
            }
            Value::Float(v)
        }
        TypeId::Money => {
            let high = r.u32()? as u64;
            let low = r.u32()? as u64;
            Value::Money((high << 32 | low) as i64)
        }
        TypeId::SmallMoney => Value::SmallMoney(r.i32()?),
        TypeId::UniqueIdentifier => Value::Guid(r.array()?),
        TypeId::Decimal | TypeId::Numeric => decimal(ty, r.rest())?,
        TypeId::Date => Value::Date(Date(days(r.take(3)?)?)),
        TypeId::Time => Value::Time(Time(time(r.take(time_len)?, ty.scale)?)),
        TypeId::DateTime => {
            let (days, ticks) = (r.i32()?, r.u32()?);
            let absolute = days.checked_add(DAYS_TO_1900).ok_or(RANGE)?;
            if !(0..=MAX_DAYS).contains(&absolute) || ticks >= TICKS_PER_DAY {
                return Err(RANGE);
            }
            Value::DateTime(DateTime { days, ticks })
        }
        TypeId::SmallDateTime => {
            let (days, minutes) = (r.u16()?, r.u16()?);
            if minutes >= 1440 {
                return Err(RANGE);
            }
            Value::SmallDateTime(SmallDateTime { days, minutes })
        }
        TypeId::DateTime2 => Value::DateTime2(DateTime2 {
            time: time(r.take(time_len)?, ty.scale)?,
            days: days(r.take(3)?)?,
        }),
        TypeId::DateTimeOffset => {
            let value = DateTimeOffset {
                time: time(r.take(time_len)?, ty.scale)?,
                days: days(r.take(3)?)?,
                offset: r.u16()? as i16,
            };
            if !(-840..=840).contains(&value.offset) {
                return Err(RANGE);
            }
            Value::DateTimeOffset(value)
        }
        _ => return Err(MISMATCH),
    };
    if !r.is_empty() {
        return Err(LENGTH);
    }
    Ok(value)
}

fn decimal(ty: &SqlType, bytes: &[u8]) -> TdsResult<Value> {
    const VALUE: TdsError = TdsError::Invalid("decimal value");
    let (sign, magnitude) = bytes.split_first().ok_or(VALUE)?;
    if magnitude.is_empty() || magnitude.len() > 16 {
        return Err(VALUE);
    }
    let mut raw = [0; 16];
    raw[..magnitude.len()].copy_from_slice(magnitude);
    let magnitude = i128::try_from(u128::from_le_bytes(raw)).map_err(|_| VALUE)?;
    let mantissa = if *sign == 0 { -magnitude } else { magnitude };
    Decimal::new(mantissa, ty.precision, ty.scale)
        .map(Value::Decimal)
        .ok_or(VALUE)
}

fn variant(r: &mut Reader<'_>) -> TdsResult<Value> {
    let total = r.u32()? as usize;
    if total == 0 {
        return Ok(Value::Null);
    }
    let mut body = Reader::new(r.take(total)?);
    let byte = body.u8()?;
    let property_len = body.u8()? as usize;
    let properties = body.take(property_len)?;
    // A variant's properties are the tail of TYPE_INFO in another order: rebuild it and read that.
    let mut declared = vec![byte];
    match (byte, properties) {
        (0xAF | 0xA7 | 0xEF | 0xE7, [c @ .., l0, l1]) if c.len() == 5 => {
            declared.extend_from_slice(&[*l0, *l1]);
            declared.extend_from_slice(c);
        }
        (0xAD | 0xA5, [_, _]) => declared.extend_from_slice(properties),
        (0x6A | 0x6C, [precision, scale]) => declared.extend_from_slice(&[17, *precision, *scale]),
        (0x29..=0x2B, [scale]) => declared.push(*scale),
        (0x24, []) => declared.push(16),
        (0x28 | 0x30..=0x3E | 0x7A | 0x7F, []) => {}
        _ => return Err(TdsError::Malformed("sql_variant properties")),
    }
    let mut type_bytes = Reader::new(&declared);
    let info = TypeInfo::parse(&mut type_bytes, Place::Parameter)
        .map_err(|_| TdsError::Malformed("sql_variant base type"))?;
    if info.layout == Layout::Plp {
        return Err(TdsError::Malformed("sql_variant base type"));
    }
    let data = body.rest();
    let value = if info.ty.id.is_string() || info.ty.id.is_binary() {
        string(&info.ty, data)?
    } else {
        plain(&info.ty, data).map_err(|error| match error {
            // The body is whole: short data is wrong data, not a stream that goes on.
            TdsError::Truncated => TdsError::Malformed("sql_variant value"),
            other => other,
        })?
    };
    Ok(Value::Variant(Box::new((info.ty, value))))
}

#[cfg(test)]
mod tests;
