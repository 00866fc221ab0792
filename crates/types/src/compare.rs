//! Ordering and hashing of values of the same type. NULL is the lowest value and equal to itself here; three-valued
//! logic is the caller's.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::collate::{compare_bytes, compare_units, hash_bytes, hash_units};
use crate::decimal::POW10;
use crate::{CollationId, Decimal, SqlType, TypeId, Value};

/// Orders two values. Integers of different widths compare by value; decimals of different scales too; other pairs of
/// different variants are ordered by variant, which is arbitrary but total.
pub fn compare(a: &Value, b: &Value, coll: CollationId) -> Ordering {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::BigInt(x), Value::BigInt(y)) => x.cmp(y),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::VarChar(x), Value::VarChar(y)) => compare_bytes(x, y, coll),
        (Value::NVarChar(x), Value::NVarChar(y)) => compare_units(x, y, coll),
        (Value::Decimal(x), Value::Decimal(y)) => compare_decimals(x, y),
        (Value::Money(x), Value::Money(y)) => x.cmp(y),
        (Value::SmallMoney(x), Value::SmallMoney(y)) => x.cmp(y),
        // -0.0 and 0.0 are equal; NaN cannot be stored.
        (Value::Real(x), Value::Real(y)) => x.partial_cmp(y).unwrap_or(Ordering::Equal),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y).unwrap_or(Ordering::Equal),
        (Value::Date(x), Value::Date(y)) => x.cmp(y),
        (Value::Time(x), Value::Time(y)) => x.cmp(y),
        (Value::DateTime(x), Value::DateTime(y)) => x.cmp(y),
        (Value::SmallDateTime(x), Value::SmallDateTime(y)) => x.cmp(y),
        (Value::DateTime2(x), Value::DateTime2(y)) => x.cmp(y),
        // The instant decides, the offset does not.
        (Value::DateTimeOffset(x), Value::DateTimeOffset(y)) => {
            (x.days, x.time).cmp(&(y.days, y.time))
        }
        (Value::Binary(x), Value::Binary(y)) => compare_binary(x, y),
        (Value::Guid(x), Value::Guid(y)) => guid_key(x).cmp(&guid_key(y)),
        (Value::Variant(x), Value::Variant(y)) => compare_variants(x, y),
        _ => match (a.as_i64(), b.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => rank(a).cmp(&rank(b)),
        },
    }
}

/// Compares as if the shorter were padded with zero bytes.
pub fn compare_binary(a: &[u8], b: &[u8]) -> Ordering {
    trimmed_zeros(a).cmp(trimmed_zeros(b))
}

fn trimmed_zeros(b: &[u8]) -> &[u8] {
    let n = b.iter().rposition(|&x| x != 0).map_or(0, |i| i + 1);
    &b[..n]
}

/// uniqueidentifier order: the last group decides first.
pub fn guid_key(g: &[u8; 16]) -> [u8; 16] {
    [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3].map(|i: usize| g[i])
}

/// Exact at any scales: integral parts first, then fractions brought to one scale.
pub fn compare_decimals(a: &Decimal, b: &Decimal) -> Ordering {
    if a.scale() == b.scale() {
        return a.mantissa().cmp(&b.mantissa());
    }
    let (pa, pb) = (POW10[a.scale() as usize], POW10[b.scale() as usize]);
    let whole = (a.mantissa() / pa).cmp(&(b.mantissa() / pb));
    whole.then_with(|| {
        // A fraction has at most `scale` digits, so widening it to the larger scale stays below 10^38.
        let (fa, fb) = (a.mantissa() % pa, b.mantissa() % pb);
        if a.scale() < b.scale() {
            (fa * POW10[(b.scale() - a.scale()) as usize]).cmp(&fb)
        } else {
            fa.cmp(&(fb * POW10[(a.scale() - b.scale()) as usize]))
        }
    })
}

/// Whoever orders values has them in memory: `query::long` sees to it.
const NOT_IN_MEMORY: &str = "a spooled value is compared with others";

fn rank(v: &Value) -> u8 {
    match v {
        Value::Null => 0,
        Value::Bit(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_) => 1,
        Value::SmallMoney(_) => 2,
        Value::Money(_) => 3,
        Value::Decimal(_) => 4,
        Value::Real(_) => 5,
        Value::Float(_) => 6,
        Value::Guid(_) => 7,
        Value::Binary(_) => 8,
        Value::VarChar(_) => 9,
        Value::NVarChar(_) => 10,
        Value::Time(_) => 11,
        Value::Date(_) => 12,
        Value::SmallDateTime(_) => 13,
        Value::DateTime(_) => 14,
        Value::DateTime2(_) => 15,
        Value::DateTimeOffset(_) => 16,
        Value::Variant(_) => 17,
        Value::Spooled(_) => {
            debug_assert!(false, "{NOT_IN_MEMORY}");
            18
        }
    }
}

/// sql_variant families, low to high: uniqueidentifier, binary, characters, exact, approximate, date and time.
fn family(id: TypeId) -> u8 {
    match id {
        TypeId::UniqueIdentifier => 0,
        _ if id.is_binary() => 1,
        _ if id.is_string() => 2,
        _ if id.is_approximate() => 4,
        _ if id.is_temporal() => 5,
        _ => 3,
    }
}

/// A higher family is greater; within a family the values are brought to one type.
fn compare_variants(a: &(SqlType, Value), b: &(SqlType, Value)) -> Ordering {
    let (fa, fb) = (family(a.0.id), family(b.0.id));
    if fa != fb {
        return fa.cmp(&fb);
    }
    match fa {
        2 => {
            let (x, y) = (wide(&a.1), wide(&b.1));
            // Different collations order by id before value (assumed: LCID, version, flags, sort id).
            a.0.collation
                .0
                .cmp(&b.0.collation.0)
                .then_with(|| compare_units(&x, &y, a.0.collation))
        }
        3 => match (exact(&a.1), exact(&b.1)) {
            (Some(x), Some(y)) => compare_decimals(&x, &y),
            _ => compare(&a.1, &b.1, a.0.collation),
        },
        4 => approximate(&a.1)
            .partial_cmp(&approximate(&b.1))
            .unwrap_or(Ordering::Equal),
        5 => instant(&a.1).cmp(&instant(&b.1)),
        _ => compare(&a.1, &b.1, a.0.collation),
    }
}

fn wide(v: &Value) -> Vec<u16> {
    match v {
        Value::VarChar(b) => crate::cp1252::decode_units(b),
        Value::NVarChar(u) => u.clone(),
        _ => Vec::new(),
    }
}

/// Any exact number as a decimal.
pub(crate) fn exact(v: &Value) -> Option<Decimal> {
    match v {
        Value::Decimal(d) => Some(*d),
        Value::Money(m) => Decimal::new(*m as i128, 19, 4),
        Value::SmallMoney(m) => Decimal::new(*m as i128, 10, 4),
        _ => v.as_i64().map(Decimal::from_i64),
    }
}

fn approximate(v: &Value) -> f64 {
    match v {
        Value::Float(f) => *f,
        Value::Real(f) => *f as f64,
        _ => 0.0,
    }
}

/// Days since 0001-01-01 and 100 ns units of any date or time.
pub(crate) fn instant(v: &Value) -> (i32, u64) {
    use crate::temporal::{DAYS_TO_1900, UNITS_PER_SECOND};
    match v {
        Value::Date(d) => (d.0, 0),
        Value::Time(t) => (DAYS_TO_1900, t.0),
        Value::DateTime(d) => (d.days_since_0001(), d.units()),
        Value::SmallDateTime(d) => (
            d.days as i32 + DAYS_TO_1900,
            d.minutes as u64 * 60 * UNITS_PER_SECOND,
        ),
        Value::DateTime2(d) => (d.days, d.time),
        Value::DateTimeOffset(d) => (d.days, d.time),
        _ => (0, 0),
    }
}

/// Feeds a hasher so that values equal under `compare` hash alike.
pub fn hash_key<H: Hasher>(v: &Value, coll: CollationId, hasher: &mut H) {
    match v {
        Value::Null => hasher.write_u8(0),
        Value::VarChar(b) => hash_bytes(b, coll, hasher),
        Value::NVarChar(u) => hash_units(u, coll, hasher),
        Value::Decimal(d) => hash_decimal(d, hasher),
        Value::Money(m) => hasher.write_i64(*m),
        Value::SmallMoney(m) => hasher.write_i64(*m as i64),
        Value::Real(f) => hasher.write_u32((*f + 0.0).to_bits()),
        Value::Float(f) => hasher.write_u64((*f + 0.0).to_bits()),
        Value::Date(d) => hasher.write_i32(d.0),
        Value::Time(t) => hasher.write_u64(t.0),
        Value::DateTime(d) => hasher.write_u64((d.days as u32 as u64) << 32 | d.ticks as u64),
        Value::SmallDateTime(d) => hasher.write_u32((d.days as u32) << 16 | d.minutes as u32),
        Value::DateTime2(d) => {
            hasher.write_i32(d.days);
            hasher.write_u64(d.time);
        }
        Value::DateTimeOffset(d) => {
            hasher.write_i32(d.days);
            hasher.write_u64(d.time);
        }
        Value::Binary(b) => hasher.write(trimmed_zeros(b)),
        Value::Guid(g) => hasher.write(g),
        Value::Variant(inner) => {
            let family = family(inner.0.id);
            hasher.write_u8(family);
            match family {
                2 => hash_units(&wide(&inner.1), inner.0.collation, hasher),
                3 => match exact(&inner.1) {
                    Some(d) => hash_decimal(&d, hasher),
                    None => hash_key(&inner.1, coll, hasher),
                },
                4 => hasher.write_u64((approximate(&inner.1) + 0.0).to_bits()),
                5 => {
                    let (days, units) = instant(&inner.1);
                    hasher.write_i32(days);
                    hasher.write_u64(units);
                }
                _ => hash_key(&inner.1, coll, hasher),
            }
        }
        Value::Spooled(s) => {
            debug_assert!(false, "{NOT_IN_MEMORY}");
            hasher.write_usize(s.len());
        }
        Value::Bit(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_) => hasher.write_i64(v.as_i64().unwrap_or(0)),
    }
}

/// 1.0 and 1.00 are equal, so trailing zeros must not count.
fn hash_decimal<H: Hasher>(d: &Decimal, hasher: &mut H) {
    let (mut m, mut scale) = (d.mantissa(), d.scale());
    while scale > 0 && m % 10 == 0 {
        m /= 10;
        scale -= 1;
    }
    hasher.write_i128(m);
    hasher.write_u8(scale);
}
