//! Values as bytes of a row (real-files reference, section 3), little-endian throughout.
//!
//! Fixed types occupy exactly `SqlType::fixed_bytes`; variable types are their bytes. Rows pack bits themselves: here a
//! bit is one byte, 0 or 1. NULL is the row's business (its bitmap); a NULL of a fixed type encodes as zeros.
//!
//! Invariants
//! 1. `decode(encode(v)) == v` for every value that fits the type.
//!    [test: fixed_types_have_the_servers_bytes; test: variants_keep_type_and_value]
//! 2. Decoding foreign bytes never panics and never yields a value outside its type's range: a bad one is error 5243,
//!    which ends the connection. [test: foreign_bytes_are_refused_not_trusted]

use duramen_base::messages::INCONSISTENCY;
use duramen_base::{SqlError, SqlResult};

use crate::sqltype::{decimal_bytes, time_bytes};
use crate::temporal::{MAX_DAYS, UNITS_PER_DAY, is_datetime};
use crate::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, SmallDateTime, SqlType, Time, TypeId, Value,
};

/// Reference numbers of error 5243, to tell the cases apart in a report.
const BAD_LENGTH: i32 = 1;
const BAD_VALUE: i32 = 2;
const BAD_PAIR: i32 = 3;

fn inconsistent(reference: i32) -> SqlError {
    SqlError::new(&INCONSISTENCY, &[&reference])
}

/// The first `N` bytes of `b`.
fn head<const N: usize>(b: &[u8]) -> SqlResult<[u8; N]> {
    match b.first_chunk::<N>() {
        Some(chunk) => Ok(*chunk),
        None => Err(inconsistent(BAD_LENGTH)),
    }
}

/// A little-endian unsigned number of up to 8 bytes.
fn le(b: &[u8]) -> u64 {
    b.iter().rev().fold(0, |n, &x| n << 8 | x as u64)
}

fn check(ok: bool) -> SqlResult<()> {
    if ok {
        Ok(())
    } else {
        Err(inconsistent(BAD_VALUE))
    }
}

/// 100 ns units to the stored count of `10^-scale` seconds.
fn pack_time(units: u64, scale: u8, out: &mut Vec<u8>) {
    let n = units / 10u64.pow(7 - scale.min(7) as u32);
    out.extend_from_slice(&n.to_le_bytes()[..time_bytes(scale)]);
}

fn unpack_time(b: &[u8], scale: u8) -> SqlResult<u64> {
    let b = b
        .get(..time_bytes(scale))
        .ok_or_else(|| inconsistent(BAD_LENGTH))?;
    let units = le(b) * 10u64.pow(7 - scale.min(7) as u32);
    check(units < UNITS_PER_DAY)?;
    Ok(units)
}

fn unpack_days(b: &[u8]) -> SqlResult<i32> {
    let days = le(&head::<3>(b)?) as i32;
    check((0..=MAX_DAYS).contains(&days))?;
    Ok(days)
}

fn pad(out: &mut Vec<u8>, data: &[u8], length: usize, fill: u8) -> SqlResult<()> {
    check(data.len() <= length)?;
    out.extend_from_slice(data);
    out.resize(out.len() + length - data.len(), fill);
    Ok(())
}

impl Value {
    /// Appends exactly `ty.fixed_bytes()` bytes. The value must be of the type; integers of another width are accepted
    /// when they fit, everything else is an internal error.
    pub fn encode_fixed(&self, ty: &SqlType, out: &mut Vec<u8>) -> SqlResult<()> {
        match (ty.id, self) {
            (_, Value::Null) => out.resize(out.len() + ty.fixed_bytes(), 0),
            (TypeId::Int, Value::Int(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (TypeId::BigInt, Value::BigInt(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (
                TypeId::Bit | TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt,
                v,
            ) => {
                let v = v.as_i64().ok_or_else(|| inconsistent(BAD_PAIR))?;
                let fits = match ty.id {
                    TypeId::Bit => (0..=1).contains(&v),
                    TypeId::TinyInt => u8::try_from(v).is_ok(),
                    TypeId::SmallInt => i16::try_from(v).is_ok(),
                    TypeId::Int => i32::try_from(v).is_ok(),
                    _ => true,
                };
                check(fits)?;
                out.extend_from_slice(&v.to_le_bytes()[..ty.fixed_bytes().min(8)]);
            }
            (TypeId::Real, Value::Real(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (TypeId::Float, Value::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (TypeId::Decimal | TypeId::Numeric, Value::Decimal(d)) => {
                let rescaled = match d.scale() == ty.scale {
                    true => Some(*d),
                    false => d.rescale(ty.precision, ty.scale),
                };
                let m = rescaled.ok_or_else(|| inconsistent(BAD_VALUE))?.mantissa();
                let magnitude = m.unsigned_abs().to_le_bytes();
                let (kept, beyond) = magnitude.split_at(decimal_bytes(ty.precision) - 1);
                check(beyond.iter().all(|b| *b == 0))?;
                out.push((m >= 0) as u8);
                out.extend_from_slice(kept);
            }
            (TypeId::Money, Value::Money(v)) => {
                // Two 32-bit halves would be the wire's order; rows hold a plain i64.
                out.extend_from_slice(&v.to_le_bytes());
            }
            (TypeId::SmallMoney, Value::SmallMoney(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (TypeId::Date, Value::Date(d)) => out.extend_from_slice(&d.0.to_le_bytes()[..3]),
            (TypeId::Time, Value::Time(t)) => pack_time(t.0, ty.scale, out),
            (TypeId::DateTime, Value::DateTime(d)) => {
                out.extend_from_slice(&d.ticks.to_le_bytes());
                out.extend_from_slice(&d.days.to_le_bytes());
            }
            (TypeId::SmallDateTime, Value::SmallDateTime(d)) => {
                out.extend_from_slice(&d.minutes.to_le_bytes());
                out.extend_from_slice(&d.days.to_le_bytes());
            }
            (TypeId::DateTime2, Value::DateTime2(d)) => {
                pack_time(d.time, ty.scale, out);
                out.extend_from_slice(&d.days.to_le_bytes()[..3]);
            }
            (TypeId::DateTimeOffset, Value::DateTimeOffset(d)) => {
                pack_time(d.time, ty.scale, out);
                out.extend_from_slice(&d.days.to_le_bytes()[..3]);
                out.extend_from_slice(&d.offset.to_le_bytes());
            }
            (TypeId::UniqueIdentifier, Value::Guid(g)) => out.extend_from_slice(g),
            (TypeId::Char, Value::VarChar(b)) => pad(out, b, ty.length as usize, b' ')?,
            (TypeId::Binary | TypeId::RowVersion, Value::Binary(b)) => {
                pad(out, b, ty.length as usize, 0)?
            }
            (TypeId::NChar, Value::NVarChar(u)) => {
                let n = ty.length as usize / 2;
                check(u.len() <= n)?;
                for i in 0..n {
                    let unit = u.get(i).copied().unwrap_or(b' ' as u16);
                    out.extend_from_slice(&unit.to_le_bytes());
                }
            }
            _ => return Err(inconsistent(BAD_PAIR)),
        }
        Ok(())
    }

    /// Reads a value of a fixed type from the start of `b`.
    pub fn decode_fixed(ty: &SqlType, b: &[u8]) -> SqlResult<Value> {
        let whole = |n: usize| b.get(..n).ok_or_else(|| inconsistent(BAD_LENGTH));
        Ok(match ty.id {
            TypeId::Bit => Value::Bit(head::<1>(b)?[0] != 0),
            TypeId::TinyInt => Value::TinyInt(head::<1>(b)?[0]),
            TypeId::SmallInt => Value::SmallInt(i16::from_le_bytes(head(b)?)),
            TypeId::Int => Value::Int(i32::from_le_bytes(head(b)?)),
            TypeId::BigInt => Value::BigInt(i64::from_le_bytes(head(b)?)),
            TypeId::Real => {
                let v = f32::from_le_bytes(head(b)?);
                check(v.is_finite())?;
                Value::Real(v)
            }
            TypeId::Float => {
                let v = f64::from_le_bytes(head(b)?);
                check(v.is_finite())?;
                Value::Float(v)
            }
            TypeId::Decimal | TypeId::Numeric => {
                let b = whole(decimal_bytes(ty.precision))?;
                decode_decimal(b, ty.precision, ty.scale)?
            }
            TypeId::Money => Value::Money(i64::from_le_bytes(head(b)?)),
            TypeId::SmallMoney => Value::SmallMoney(i32::from_le_bytes(head(b)?)),
            TypeId::Date => Value::Date(Date(unpack_days(b)?)),
            TypeId::Time => Value::Time(Time(unpack_time(b, ty.scale)?)),
            TypeId::DateTime => {
                let [t0, t1, t2, t3, d0, d1, d2, d3] = head::<8>(b)?;
                let ticks = u32::from_le_bytes([t0, t1, t2, t3]);
                let days = i32::from_le_bytes([d0, d1, d2, d3]);
                check(is_datetime(days, ticks))?;
                Value::DateTime(DateTime { days, ticks })
            }
            TypeId::SmallDateTime => {
                let [m0, m1, d0, d1] = head::<4>(b)?;
                let minutes = u16::from_le_bytes([m0, m1]);
                check(minutes < 1440)?;
                Value::SmallDateTime(SmallDateTime {
                    days: u16::from_le_bytes([d0, d1]),
                    minutes,
                })
            }
            TypeId::DateTime2 => {
                let time = unpack_time(b, ty.scale)?;
                let days = unpack_days(&b[time_bytes(ty.scale)..])?;
                Value::DateTime2(DateTime2 { days, time })
            }
            TypeId::DateTimeOffset => {
                let time = unpack_time(b, ty.scale)?;
                let rest = &b[time_bytes(ty.scale)..];
                let days = unpack_days(rest)?;
                let offset = i16::from_le_bytes(head(&rest[3..])?);
                check((-840..=840).contains(&offset))?;
                Value::DateTimeOffset(DateTimeOffset { days, time, offset })
            }
            TypeId::UniqueIdentifier => Value::Guid(head(b)?),
            TypeId::Char => Value::VarChar(whole(ty.length as usize)?.to_vec()),
            TypeId::NChar => Value::NVarChar(units(whole(ty.length as usize)?)?),
            TypeId::Binary | TypeId::RowVersion => {
                Value::Binary(whole(ty.length as usize)?.to_vec())
            }
            _ => return Err(inconsistent(BAD_PAIR)),
        })
    }

    /// Appends the bytes of a variable-length value (those of fixed types too, for sql_variant and keys).
    pub fn encode_var(&self, ty: &SqlType, out: &mut Vec<u8>) -> SqlResult<()> {
        match (ty.id, self) {
            (_, Value::Null) => {}
            (TypeId::VarChar | TypeId::Text, Value::VarChar(b)) => out.extend_from_slice(b),
            (TypeId::NVarChar | TypeId::NText | TypeId::Xml, Value::NVarChar(u)) => {
                out.reserve(u.len() * 2);
                for unit in u {
                    out.extend_from_slice(&unit.to_le_bytes());
                }
            }
            (TypeId::VarBinary | TypeId::Image | TypeId::Udt | TypeId::Xml, Value::Binary(b)) => {
                out.extend_from_slice(b)
            }
            (TypeId::SqlVariant, Value::Variant(v)) => encode_variant(&v.0, &v.1, out)?,
            _ if !ty.is_variable() => self.encode_fixed(ty, out)?,
            _ => return Err(inconsistent(BAD_PAIR)),
        }
        Ok(())
    }

    /// The value whose bytes `b` is, all of it.
    pub fn decode_var(ty: &SqlType, b: &[u8]) -> SqlResult<Value> {
        Ok(match ty.id {
            TypeId::VarChar | TypeId::Text => Value::VarChar(b.to_vec()),
            TypeId::NVarChar | TypeId::NText => Value::NVarChar(units(b)?),
            // xml is stored in a binary form of its own; written by us it is UTF-16 text.
            TypeId::Xml if b.first_chunk() == Some(&[0xdf, 0xff]) => Value::Binary(b.to_vec()),
            TypeId::Xml => Value::NVarChar(units(b)?),
            TypeId::VarBinary | TypeId::Image | TypeId::Udt => Value::Binary(b.to_vec()),
            TypeId::SqlVariant => decode_variant(b)?,
            _ => Value::decode_fixed(ty, b)?,
        })
    }
}

fn decode_decimal(b: &[u8], precision: u8, scale: u8) -> SqlResult<Value> {
    let mut magnitude = [0u8; 16];
    let digits = b.get(1..).unwrap_or_default();
    check(digits.len() <= 16 && !digits.is_empty())?;
    magnitude[..digits.len()].copy_from_slice(digits);
    let m = u128::from_le_bytes(magnitude);
    let m = i128::try_from(m).map_err(|_| inconsistent(BAD_VALUE))?;
    let m = if b[0] == 0 { -m } else { m };
    Decimal::new(m, precision, scale)
        .map(Value::Decimal)
        .ok_or_else(|| inconsistent(BAD_VALUE))
}

/// UTF-16LE bytes as units; an odd length is an inconsistency.
fn units(b: &[u8]) -> SqlResult<Vec<u16>> {
    check(b.len().is_multiple_of(2))?;
    Ok(b.chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .collect())
}

/// sql_variant: base type, version 1, the facets the base type needs, then the value.
fn encode_variant(ty: &SqlType, v: &Value, out: &mut Vec<u8>) -> SqlResult<()> {
    out.push(ty.id.xtype());
    out.push(1);
    match ty.id {
        TypeId::Decimal | TypeId::Numeric => out.extend_from_slice(&[ty.precision, ty.scale]),
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => out.push(ty.scale),
        TypeId::Binary | TypeId::VarBinary => out.extend_from_slice(&ty.length.to_le_bytes()),
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            out.extend_from_slice(&ty.length.to_le_bytes());
            out.extend_from_slice(&ty.collation.0.to_le_bytes());
        }
        _ => {}
    }
    v.encode_var(ty, out)
}

fn decode_variant(b: &[u8]) -> SqlResult<Value> {
    let [xtype, version] = head::<2>(b)?;
    check(version == 1)?;
    let id = TypeId::from_xtype(xtype).ok_or_else(|| inconsistent(BAD_VALUE))?;
    let b = &b[2..];
    let (ty, skip) = match id {
        TypeId::Decimal | TypeId::Numeric => {
            let [precision, scale] = head::<2>(b)?;
            check((1..=38).contains(&precision) && scale <= precision)?;
            let ty = SqlType::numeric(precision, scale);
            (SqlType { id, ..ty }, 2)
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            let scale = head::<1>(b)?[0];
            check(scale <= 7)?;
            let ty = match id {
                TypeId::Time => SqlType::time(scale),
                TypeId::DateTime2 => SqlType::datetime2(scale),
                _ => SqlType::datetimeoffset(scale),
            };
            (ty, 1)
        }
        TypeId::Binary | TypeId::VarBinary => {
            let length = u16::from_le_bytes(head(b)?);
            let ty = SqlType::varbinary(length);
            (SqlType { id, ..ty }, 2)
        }
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            let [l0, l1, c @ ..] = head::<6>(b)?;
            let ty = SqlType::varchar(u16::from_le_bytes([l0, l1]))
                .with_collation(crate::CollationId(u32::from_le_bytes(c)));
            (SqlType { id, ..ty }, 6)
        }
        TypeId::Bit => (SqlType::BIT, 0),
        TypeId::TinyInt => (SqlType::TINYINT, 0),
        TypeId::SmallInt => (SqlType::SMALLINT, 0),
        TypeId::Int => (SqlType::INT, 0),
        TypeId::BigInt => (SqlType::BIGINT, 0),
        TypeId::Real => (SqlType::REAL, 0),
        TypeId::Float => (SqlType::FLOAT, 0),
        TypeId::Money => (SqlType::MONEY, 0),
        TypeId::SmallMoney => (SqlType::SMALLMONEY, 0),
        TypeId::Date => (SqlType::DATE, 0),
        TypeId::DateTime => (SqlType::DATETIME, 0),
        TypeId::SmallDateTime => (SqlType::SMALLDATETIME, 0),
        TypeId::UniqueIdentifier => (SqlType::GUID, 0),
        _ => return Err(inconsistent(BAD_VALUE)),
    };
    let data = b.get(skip..).ok_or_else(|| inconsistent(BAD_LENGTH))?;
    let v = Value::decode_var(&ty, data)?;
    Ok(Value::Variant(Box::new((ty, v))))
}

#[cfg(test)]
mod tests;
