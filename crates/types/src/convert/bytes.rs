//! Conversions to binary, and hex text.
//!
//! Numbers are big-endian and are cut or padded on the left; everything else on the right.

use duramen_base::messages::{INVALID_STYLE, STYLE_NOT_SUPPORTED};
use duramen_base::{SqlError, SqlResult, given_up};

use super::{failed, number};
use crate::{SqlType, TypeId, Value};

pub(super) fn to_binary(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
) -> SqlResult<Value> {
    let style = style.unwrap_or(0);
    if is_text(v) && !(0..=2).contains(&style) {
        let names = (from.id.name(), to.id.name());
        return Err(SqlError::new(
            &STYLE_NOT_SUPPORTED,
            &[&style, &names.0, &names.1],
        ));
    }
    let number = |b: &[u8]| Ok(Value::Binary(left(b, to)));
    match v {
        Value::Binary(b) => Ok(Value::Binary(b.clone())),
        Value::VarChar(_) | Value::NVarChar(_) if style == 1 || style == 2 => {
            let text = v.as_text().unwrap_or_default();
            given_up::check()?;
            hex_bytes(&text, style == 1)?
                .map(Value::Binary)
                .ok_or_else(|| failed(from, to))
        }
        Value::VarChar(b) => Ok(Value::Binary(b.clone())),
        Value::NVarChar(u) => Ok(Value::Binary(
            u.iter().flat_map(|x| x.to_le_bytes()).collect(),
        )),
        Value::Bit(b) => number(&[*b as u8]),
        Value::TinyInt(n) => number(&[*n]),
        Value::SmallInt(n) => number(&n.to_be_bytes()),
        Value::Int(n) => number(&n.to_be_bytes()),
        Value::BigInt(n) => number(&n.to_be_bytes()),
        Value::Real(f) => number(&f.to_be_bytes()),
        Value::Float(f) => number(&f.to_be_bytes()),
        Value::Money(m) => number(&m.to_be_bytes()),
        Value::SmallMoney(m) => number(&m.to_be_bytes()),
        Value::DateTime(d) => {
            let mut b = d.days.to_be_bytes().to_vec();
            b.extend_from_slice(&d.ticks.to_be_bytes());
            number(&b)
        }
        Value::SmallDateTime(d) => {
            let mut b = d.days.to_be_bytes().to_vec();
            b.extend_from_slice(&d.minutes.to_be_bytes());
            number(&b)
        }
        Value::Decimal(d) => Ok(Value::Binary(number::decimal_to_bytes(d))),
        Value::Guid(g) => Ok(Value::Binary(g.to_vec())),
        Value::Date(_) => {
            let mut b = Vec::new();
            v.encode_fixed(from, &mut b)?;
            Ok(Value::Binary(b))
        }
        Value::Time(_) | Value::DateTime2(_) | Value::DateTimeOffset(_) => {
            // The scale goes first, then the stored bytes.
            let mut b = vec![from.scale];
            v.encode_fixed(from, &mut b)?;
            Ok(Value::Binary(b))
        }
        _ => Err(failed(from, to)),
    }
}

fn is_text(v: &Value) -> bool {
    matches!(v, Value::VarChar(_) | Value::NVarChar(_))
}

/// Fits big-endian bytes into the target: cut on the left, and padded there when the target is fixed.
fn left(b: &[u8], to: &SqlType) -> Vec<u8> {
    let Some(n) = to.char_capacity() else {
        return b.to_vec();
    };
    if b.len() >= n {
        return b[b.len() - n..].to_vec();
    }
    if to.id == TypeId::VarBinary {
        return b.to_vec();
    }
    let mut out = vec![0; n - b.len()];
    out.extend_from_slice(b);
    out
}

/// Bytes that are written without a look at whether they are still wanted.
const HEX_TOGETHER: usize = 1 << 20;

pub(super) fn push_hex(b: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(b.len() * 2);
    for x in b {
        out.push(DIGITS[(x >> 4) as usize] as char);
        out.push(DIGITS[(x & 15) as usize] as char);
    }
}

/// Binary to text in style 1 (`0x` in front) or 2; whole bytes that fit.
pub(super) fn hex_text(b: &[u8], style: i32, capacity: usize) -> SqlResult<String> {
    let mut out = String::new();
    match style {
        1 => out.push_str("0x"),
        2 => {}
        _ => {
            return Err(SqlError::new(&INVALID_STYLE, &[&style, &"varbinary"]));
        }
    }
    let fits = capacity.saturating_sub(out.len()) / 2;
    for some in b[..b.len().min(fits)].chunks(HEX_TOGETHER) {
        given_up::check()?;
        push_hex(some, &mut out);
    }
    Ok(out)
}

/// An even number of hex digits, behind `0x` when `prefix`; `None`: it is something else. A long one can be given up.
fn hex_bytes(text: &str, prefix: bool) -> SqlResult<Option<Vec<u8>>> {
    let digits = match prefix {
        true => match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => digits,
            None => return Ok(None),
        },
        false => text,
    };
    if !digits.len().is_multiple_of(2) {
        return Ok(None);
    }
    let digit = |c: u8| (c as char).to_digit(16);
    let mut out = Vec::with_capacity(digits.len() / 2);
    for some in digits.as_bytes().chunks(2 * HEX_TOGETHER) {
        given_up::check()?;
        for c in some.chunks_exact(2) {
            let (Some(high), Some(low)) = (digit(c[0]), digit(c[1])) else {
                return Ok(None);
            };
            out.push((high << 4 | low) as u8);
        }
    }
    Ok(Some(out))
}
