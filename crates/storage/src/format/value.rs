//! Values as the bytes of a column, and back.
//!
//! Integers and dates are little-endian; decimals are a sign byte (1 positive) and a magnitude; times are counted in
//! units of their scale. A `sql_variant` carries its type in front of the value: xtype, 1, the facets of that type.
//! Values must already have the column's type (assignment converts); what cannot be written is an error.

use duramen_types::{
    CollationId, Date, DateTime, DateTime2, DateTimeOffset, Decimal, MAX_LENGTH, SmallDateTime,
    SqlType, Time, TypeId, Value, decimal_bytes, time_bytes,
};

use super::{FormatError, FormatResult};

const MISMATCH: FormatError = FormatError::Corrupt("value (not of the column's type)");
const SHORT: FormatError = FormatError::Corrupt("value length");

/// Appends the stored form of `value`, which is not NULL; fixed types give exactly `ty.fixed_bytes()`.
pub fn encode_value(value: &Value, ty: &SqlType, out: &mut Vec<u8>) -> FormatResult<()> {
    match (ty.id, value) {
        (TypeId::Bit, v) => out.push(u8::from(integer(v)? != 0)),
        (TypeId::TinyInt, v) => out.push(narrow(v)?),
        (TypeId::SmallInt, v) => out.extend(narrow::<i16>(v)?.to_le_bytes()),
        (TypeId::Int, v) => out.extend(narrow::<i32>(v)?.to_le_bytes()),
        (TypeId::BigInt, v) => out.extend(integer(v)?.to_le_bytes()),
        (TypeId::Real, Value::Real(v)) => out.extend(v.to_le_bytes()),
        (TypeId::Float, Value::Float(v)) => out.extend(v.to_le_bytes()),
        (TypeId::Decimal | TypeId::Numeric, Value::Decimal(d)) => put_decimal(d, ty, out)?,
        (TypeId::Money, Value::Money(v)) => out.extend(v.to_le_bytes()),
        (TypeId::SmallMoney, Value::SmallMoney(v)) => out.extend(v.to_le_bytes()),
        (TypeId::Date, Value::Date(d)) => put_date(d.0, out),
        (TypeId::Time, Value::Time(t)) => put_time(t.0, ty.scale, out),
        (TypeId::DateTime, Value::DateTime(d)) => {
            out.extend(d.ticks.to_le_bytes());
            out.extend(d.days.to_le_bytes());
        }
        (TypeId::SmallDateTime, Value::SmallDateTime(d)) => {
            out.extend(d.minutes.to_le_bytes());
            out.extend(d.days.to_le_bytes());
        }
        (TypeId::DateTime2, Value::DateTime2(d)) => {
            put_time(d.time, ty.scale, out);
            put_date(d.days, out);
        }
        (TypeId::DateTimeOffset, Value::DateTimeOffset(d)) => {
            put_time(d.time, ty.scale, out);
            put_date(d.days, out);
            out.extend(d.offset.to_le_bytes());
        }
        (TypeId::UniqueIdentifier, Value::Guid(g)) => out.extend(g),
        (TypeId::Char, Value::VarChar(b)) => put_padded(b, ty, b' ', out)?,
        (TypeId::Binary | TypeId::RowVersion, Value::Binary(b)) => put_padded(b, ty, 0, out)?,
        (TypeId::NChar, Value::NVarChar(u)) => put_nchar(u, ty, out)?,
        (TypeId::VarChar | TypeId::Text, Value::VarChar(b)) => out.extend(b),
        (TypeId::NVarChar | TypeId::NText | TypeId::Xml, Value::NVarChar(u)) => {
            out.extend(u.iter().flat_map(|x| x.to_le_bytes()));
        }
        (TypeId::VarBinary | TypeId::Image | TypeId::Udt | TypeId::Xml, Value::Binary(b)) => {
            out.extend(b);
        }
        (TypeId::SqlVariant, Value::Variant(v)) => put_variant(&v.0, &v.1, out)?,
        _ => return Err(MISMATCH),
    }
    Ok(())
}

/// The value stored in `b`.
pub fn decode_value(ty: &SqlType, b: &[u8]) -> FormatResult<Value> {
    Ok(match ty.id {
        TypeId::Bit => Value::Bit(array::<1>(b)?[0] != 0),
        TypeId::TinyInt => Value::TinyInt(array::<1>(b)?[0]),
        TypeId::SmallInt => Value::SmallInt(i16::from_le_bytes(array(b)?)),
        TypeId::Int => Value::Int(i32::from_le_bytes(array(b)?)),
        TypeId::BigInt => Value::BigInt(i64::from_le_bytes(array(b)?)),
        TypeId::Real => Value::Real(f32::from_le_bytes(array(b)?)),
        TypeId::Float => Value::Float(f64::from_le_bytes(array(b)?)),
        TypeId::Decimal | TypeId::Numeric => get_decimal(ty, b)?,
        TypeId::Money => Value::Money(i64::from_le_bytes(array(b)?)),
        TypeId::SmallMoney => Value::SmallMoney(i32::from_le_bytes(array(b)?)),
        TypeId::Date => Value::Date(Date(get_date(b)?)),
        TypeId::Time => Value::Time(Time(get_time(ty.scale, b)?)),
        TypeId::DateTime => Value::DateTime(DateTime {
            ticks: u32::from_le_bytes(array(b)?),
            days: i32::from_le_bytes(array(b.get(4..).ok_or(SHORT)?)?),
        }),
        TypeId::SmallDateTime => Value::SmallDateTime(SmallDateTime {
            minutes: u16::from_le_bytes(array(b)?),
            days: u16::from_le_bytes(array(b.get(2..).ok_or(SHORT)?)?),
        }),
        TypeId::DateTime2 => Value::DateTime2(DateTime2 {
            time: get_time(ty.scale, b)?,
            days: get_date(b.get(time_bytes(ty.scale)..).ok_or(SHORT)?)?,
        }),
        TypeId::DateTimeOffset => {
            let rest = b.get(time_bytes(ty.scale)..).ok_or(SHORT)?;
            Value::DateTimeOffset(DateTimeOffset {
                time: get_time(ty.scale, b)?,
                days: get_date(rest)?,
                offset: i16::from_le_bytes(array(rest.get(3..).ok_or(SHORT)?)?),
            })
        }
        TypeId::UniqueIdentifier => Value::Guid(array(b)?),
        TypeId::Char | TypeId::VarChar | TypeId::Text => Value::VarChar(b.to_vec()),
        TypeId::NChar | TypeId::NVarChar | TypeId::NText => Value::NVarChar(units(b)),
        // Foreign files hold binary XML; ours is text.
        TypeId::Xml if b.starts_with(&[0xdf, 0xff]) => Value::Binary(b.to_vec()),
        TypeId::Xml => Value::NVarChar(units(b)),
        TypeId::Binary | TypeId::RowVersion | TypeId::VarBinary | TypeId::Image | TypeId::Udt => {
            Value::Binary(b.to_vec())
        }
        TypeId::SqlVariant => get_variant(b)?,
    })
}

fn array<const N: usize>(b: &[u8]) -> FormatResult<[u8; N]> {
    b.get(..N).and_then(|s| s.try_into().ok()).ok_or(SHORT)
}

fn integer(v: &Value) -> FormatResult<i64> {
    v.as_i64().ok_or(MISMATCH)
}

fn narrow<T: TryFrom<i64>>(v: &Value) -> FormatResult<T> {
    T::try_from(integer(v)?).map_err(|_| MISMATCH)
}

fn units(b: &[u8]) -> Vec<u16> {
    b.chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .collect()
}

fn put_padded(b: &[u8], ty: &SqlType, pad: u8, out: &mut Vec<u8>) -> FormatResult<()> {
    let missing = usize::from(ty.length)
        .checked_sub(b.len())
        .ok_or(MISMATCH)?;
    out.extend(b);
    out.extend(std::iter::repeat_n(pad, missing));
    Ok(())
}

fn put_nchar(u: &[u16], ty: &SqlType, out: &mut Vec<u8>) -> FormatResult<()> {
    let missing = (usize::from(ty.length) / 2)
        .checked_sub(u.len())
        .ok_or(MISMATCH)?;
    out.extend(u.iter().flat_map(|x| x.to_le_bytes()));
    for _ in 0..missing {
        out.extend([b' ', 0]);
    }
    Ok(())
}

fn put_decimal(d: &Decimal, ty: &SqlType, out: &mut Vec<u8>) -> FormatResult<()> {
    let d = if d.scale() == ty.scale {
        *d
    } else {
        d.rescale(ty.precision, ty.scale).ok_or(MISMATCH)?
    };
    let magnitude = d.mantissa().unsigned_abs().to_le_bytes();
    let bytes = decimal_bytes(ty.precision) - 1;
    if magnitude[bytes..].iter().any(|b| *b != 0) {
        return Err(MISMATCH);
    }
    out.push(u8::from(d.mantissa() >= 0));
    out.extend(&magnitude[..bytes]);
    Ok(())
}

fn get_decimal(ty: &SqlType, b: &[u8]) -> FormatResult<Value> {
    let bytes = decimal_bytes(ty.precision) - 1;
    let mut magnitude = [0; 16];
    magnitude[..bytes].copy_from_slice(b.get(1..1 + bytes).ok_or(SHORT)?);
    let m = i128::from_le_bytes(magnitude);
    let m = if b[0] == 0 { -m } else { m };
    Decimal::new(m, ty.precision, ty.scale)
        .map(Value::Decimal)
        .ok_or(FormatError::Corrupt("decimal"))
}

fn put_date(days: i32, out: &mut Vec<u8>) {
    out.extend(&days.to_le_bytes()[..3]);
}

fn get_date(b: &[u8]) -> FormatResult<i32> {
    let d = array::<3>(b)?;
    Ok(i32::from_le_bytes([d[0], d[1], d[2], 0]))
}

fn unit_of(scale: u8) -> u64 {
    10u64.pow(7 - u32::from(scale.min(7)))
}

fn put_time(units: u64, scale: u8, out: &mut Vec<u8>) {
    out.extend(&(units / unit_of(scale)).to_le_bytes()[..time_bytes(scale)]);
}

fn get_time(scale: u8, b: &[u8]) -> FormatResult<u64> {
    let n = time_bytes(scale);
    let mut wide = [0; 8];
    wide[..n].copy_from_slice(b.get(..n).ok_or(SHORT)?);
    u64::from_le_bytes(wide)
        .checked_mul(unit_of(scale))
        .ok_or(FormatError::Corrupt("time"))
}

/// Facets in front of a variant's value, by base type.
fn put_variant(ty: &SqlType, value: &Value, out: &mut Vec<u8>) -> FormatResult<()> {
    out.extend([ty.id.xtype(), 1]);
    match ty.id {
        TypeId::Decimal | TypeId::Numeric => out.extend([ty.precision, ty.scale]),
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => out.push(ty.scale),
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            out.extend(ty.length.to_le_bytes());
            out.extend(ty.collation.0.to_le_bytes());
        }
        TypeId::Binary | TypeId::VarBinary => out.extend(ty.length.to_le_bytes()),
        TypeId::SqlVariant => return Err(MISMATCH),
        _ => {}
    }
    encode_value(value, ty, out)
}

fn get_variant(b: &[u8]) -> FormatResult<Value> {
    let head = array::<2>(b)?;
    let id = TypeId::from_xtype(head[0]).ok_or(FormatError::Corrupt("sql_variant type"))?;
    let b = &b[2..];
    let mut ty = SqlType {
        id,
        length: 0,
        precision: 0,
        scale: 0,
        collation: CollationId::NONE,
    };
    let rest = match id {
        TypeId::Decimal | TypeId::Numeric => {
            let facets = array::<2>(b)?;
            ty = SqlType {
                id,
                ..SqlType::numeric(facets[0], facets[1])
            };
            &b[2..]
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            let scale = array::<1>(b)?[0].min(7);
            ty = match id {
                TypeId::Time => SqlType::time(scale),
                TypeId::DateTime2 => SqlType::datetime2(scale),
                _ => SqlType::datetimeoffset(scale),
            };
            &b[1..]
        }
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            ty.length = u16::from_le_bytes(array(b)?);
            ty.collation = CollationId(u32::from_le_bytes(array(b.get(2..).ok_or(SHORT)?)?));
            &b[6..]
        }
        TypeId::Binary | TypeId::VarBinary => {
            ty.length = u16::from_le_bytes(array(b)?);
            &b[2..]
        }
        TypeId::SqlVariant => return Err(FormatError::Corrupt("sql_variant type")),
        _ => {
            ty = plain_type(id);
            b
        }
    };
    let value = decode_value(&ty, rest)?;
    Ok(Value::Variant(Box::new((ty, value))))
}

/// A type without facets of its own.
fn plain_type(id: TypeId) -> SqlType {
    match id {
        TypeId::Bit => SqlType::BIT,
        TypeId::TinyInt => SqlType::TINYINT,
        TypeId::SmallInt => SqlType::SMALLINT,
        TypeId::Int => SqlType::INT,
        TypeId::BigInt => SqlType::BIGINT,
        TypeId::Real => SqlType::REAL,
        TypeId::Float => SqlType::FLOAT,
        TypeId::Money => SqlType::MONEY,
        TypeId::SmallMoney => SqlType::SMALLMONEY,
        TypeId::Date => SqlType::DATE,
        TypeId::DateTime => SqlType::DATETIME,
        TypeId::SmallDateTime => SqlType::SMALLDATETIME,
        TypeId::UniqueIdentifier => SqlType::GUID,
        _ => SqlType {
            id,
            length: MAX_LENGTH,
            precision: 0,
            scale: 0,
            collation: CollationId::NONE,
        },
    }
}

#[cfg(test)]
mod tests;
