//! Conversions to numbers.
//!
//! Narrowing: decimal and float to integer cut, money to integer rounds, everything to decimal and money rounds half away
//! from zero.

use duramen_base::messages::{
    ARITHMETIC_OVERFLOW_FLOAT, ARITHMETIC_OVERFLOW_VALUE, MONEY_OVERFLOW, MONEY_SYNTAX,
    SMALLMONEY_OVERFLOW, SMALLMONEY_SYNTAX, STRING_TO_INT_OVERFLOW, STRING_TO_SMALL_INT_OVERFLOW,
};
use duramen_base::{SqlError, SqlResult};

use super::{error_name, failed, failed_text, overflow};
use crate::compare::exact;
use crate::decimal::{POW10, div_round, rescale_mantissa};
use crate::temporal::TICKS_PER_DAY;
use crate::{Decimal, SqlType, TypeId, Value};

/// The integer as a value of the type, `None` when out of its range. Any non-zero number is a true bit.
#[inline]
pub(crate) fn integer(v: i64, id: TypeId) -> Option<Value> {
    Some(match id {
        TypeId::Bit => Value::Bit(v != 0),
        TypeId::TinyInt => Value::TinyInt(u8::try_from(v).ok()?),
        TypeId::SmallInt => Value::SmallInt(i16::try_from(v).ok()?),
        TypeId::Int => Value::Int(i32::try_from(v).ok()?),
        _ => Value::BigInt(v),
    })
}

pub(super) fn to_integer(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    if let Some(n) = v.as_i64() {
        return integer(n, to.id).ok_or_else(|| match (from.id, to.id) {
            (TypeId::BigInt, _) | (_, TypeId::Int) => overflow("expression", to.id),
            (_, TypeId::TinyInt) => {
                SqlError::new(&ARITHMETIC_OVERFLOW_VALUE, &[&to.id.name(), &n]).with_state(2)
            }
            _ => SqlError::new(&ARITHMETIC_OVERFLOW_VALUE, &[&to.id.name(), &n]),
        });
    }
    let from_i128 = |n: i128, what: &str| {
        if to.id == TypeId::Bit {
            return Ok(Value::Bit(n != 0));
        }
        i64::try_from(n)
            .ok()
            .and_then(|n| integer(n, to.id))
            .ok_or_else(|| overflow(what, to.id))
    };
    match v {
        Value::Decimal(d) if to.id == TypeId::Bit => Ok(Value::Bit(d.mantissa() != 0)),
        Value::Decimal(d) => from_i128(d.trunc(), "expression"),
        Value::Money(m) if to.id == TypeId::Bit => Ok(Value::Bit(*m != 0)),
        Value::SmallMoney(m) if to.id == TypeId::Bit => Ok(Value::Bit(*m != 0)),
        Value::Money(m) => from_i128(div_round(*m as i128, 10_000), "expression"),
        Value::SmallMoney(m) => from_i128(div_round(*m as i128, 10_000), "expression"),
        Value::Real(_) | Value::Float(_) => {
            let f = float_of(v);
            if to.id == TypeId::Bit {
                return Ok(Value::Bit(f != 0.0));
            }
            let cut = f.trunc();
            // 2^63 itself is out of range, and exact as a float.
            let n = (-(2f64.powi(63)) <= cut && cut < 2f64.powi(63)).then_some(cut as i64);
            n.and_then(|n| integer(n, to.id)).ok_or_else(|| {
                let shown = format!("{f:.6}");
                let state = match to.id {
                    TypeId::Int => 3,
                    TypeId::SmallInt => 2,
                    _ => 1,
                };
                SqlError::new(&ARITHMETIC_OVERFLOW_FLOAT, &[&to.id.name(), &shown])
                    .with_state(state)
            })
        }
        Value::Binary(b) => {
            // The rightmost bytes, big-endian.
            let n = b
                .iter()
                .rev()
                .take(8)
                .rev()
                .fold(0u64, |n, &x| n << 8 | x as u64);
            Ok(match to.id {
                TypeId::Bit => Value::Bit(b.iter().any(|&x| x != 0)),
                TypeId::TinyInt => Value::TinyInt(n as u8),
                TypeId::SmallInt => Value::SmallInt(n as i16),
                TypeId::Int => Value::Int(n as i32),
                _ => Value::BigInt(n as i64),
            })
        }
        Value::DateTime(d) => {
            // Noon and later belong to the next day.
            from_i128(
                d.days as i128 + (d.ticks >= TICKS_PER_DAY / 2) as i128,
                "expression",
            )
        }
        Value::SmallDateTime(d) => {
            from_i128(d.days as i128 + (d.minutes >= 720) as i128, "expression")
        }
        Value::VarChar(_) | Value::NVarChar(_) => {
            integer_of_text(&v.as_text().unwrap_or_default(), from, to)
        }
        _ => Err(failed(from, to)),
    }
}

/// What strings mean before their digits are looked at: blanks around are dropped.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c'))
}

fn integer_of_text(text: &str, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let t = trim(text);
    if to.id == TypeId::Bit {
        if t.eq_ignore_ascii_case("true") {
            return Ok(Value::Bit(true));
        }
        if t.eq_ignore_ascii_case("false") {
            return Ok(Value::Bit(false));
        }
    }
    let wrong = || match to.id {
        TypeId::BigInt => failed(from, to),
        _ => failed_text(text, from, to),
    };
    let too_large = || match to.id {
        TypeId::BigInt => overflow("expression", to.id),
        TypeId::Int | TypeId::Bit => {
            SqlError::new(&STRING_TO_INT_OVERFLOW, &[&from.id.name(), &text])
        }
        other => {
            let column = if other == TypeId::SmallInt {
                "INT2"
            } else {
                "INT1"
            };
            SqlError::new(
                &STRING_TO_SMALL_INT_OVERFLOW,
                &[&from.id.name(), &text, &column],
            )
        }
    };
    let (negative, digits) = sign(t);
    // Blanks may stand between the sign and the digits; a lone sign is zero.
    let digits = trim(digits);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let mut n = 0i128;
    for b in digits.bytes() {
        n = n * 10 + (b - b'0') as i128;
        if n > 1 << 64 {
            return Err(too_large());
        }
    }
    let n = if negative { -n } else { n };
    i64::try_from(n)
        .ok()
        .and_then(|n| integer(n, to.id))
        .ok_or_else(too_large)
}

/// Splits a leading sign off; true for minus.
fn sign(t: &str) -> (bool, &str) {
    match t.as_bytes().first() {
        Some(b'-') => (true, &t[1..]),
        Some(b'+') => (false, &t[1..]),
        _ => (false, t),
    }
}

fn float_of(v: &Value) -> f64 {
    match v {
        Value::Float(f) => *f,
        Value::Real(f) => *f as f64,
        _ => 0.0,
    }
}

/// Whether an exact number has digits beyond that many decimals.
pub(super) fn loses_digits(v: &Value, scale: u8) -> bool {
    exact(v).is_some_and(|d| {
        let beyond = d.scale().saturating_sub(scale);
        d.mantissa() % POW10[usize::from(beyond)] != 0
    })
}

pub(super) fn to_decimal(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let (p, s) = (to.precision, to.scale);
    let d = match v {
        Value::Real(_) | Value::Float(_) => decimal_of_float(float_of(v), p, s),
        Value::DateTime(d) => {
            let ticks = d.days as i128 * TICKS_PER_DAY as i128 + d.ticks as i128;
            day_fraction(ticks, TICKS_PER_DAY as i128, p, s)
        }
        Value::SmallDateTime(d) => {
            day_fraction(d.days as i128 * 1440 + d.minutes as i128, 1440, p, s)
        }
        Value::Binary(b) => {
            let d = decimal_of_bytes(b).ok_or_else(|| failed(from, to))?;
            d.rescale(p, s)
        }
        Value::VarChar(_) | Value::NVarChar(_) => {
            let text = v.as_text().unwrap_or_default();
            let parsed = parse_decimal(trim(&text), s).ok_or_else(|| failed(from, to))?;
            parsed.and_then(|m| Decimal::new(m, p, s))
        }
        _ => exact(v).and_then(|d| d.rescale(p, s)),
    };
    d.map(Value::Decimal)
        .ok_or_else(|| overflow(error_name(from.id), to.id))
}

/// The fraction of days `n / per_day` at a scale.
fn day_fraction(n: i128, per_day: i128, p: u8, s: u8) -> Option<Decimal> {
    let scaled = n.checked_mul(POW10[s as usize])?;
    Decimal::new(div_round(scaled, per_day), p, s)
}

fn decimal_of_float(f: f64, p: u8, s: u8) -> Option<Decimal> {
    if f.abs() >= 1e38 {
        return None;
    }
    // The exact decimal expansion, rounded once.
    let text = format!("{f:.*}", s as usize);
    let m = parse_decimal(&text, s)??;
    Decimal::new(m, p, s)
}

/// Digits with at most one point, to a mantissa at `scale`, rounded half away from zero. `None`: not a number;
/// `Some(None)`: more than 38 digits.
pub(crate) fn parse_decimal(t: &str, scale: u8) -> Option<Option<i128>> {
    let (negative, digits) = sign(t);
    let digits = digits.trim_start_matches(' ');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if !whole
        .bytes()
        .chain(fraction.bytes())
        .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let kept = &fraction[..fraction.len().min(scale as usize)];
    let mut m = 0i128;
    for b in whole.bytes().chain(kept.bytes()) {
        m = m * 10 + (b - b'0') as i128;
        if m >= POW10[38] {
            return Some(None);
        }
    }
    let up = fraction
        .as_bytes()
        .get(kept.len())
        .is_some_and(|b| *b >= b'5');
    let m = rescale_mantissa(m, kept.len() as u8, scale).and_then(|m| m.checked_add(up as i128));
    Some(m.map(|m| if negative { -m } else { m }))
}

/// The binary form of a decimal: precision, scale, 0, sign, magnitude.
pub(super) fn decimal_to_bytes(d: &Decimal) -> Vec<u8> {
    let m = d.mantissa();
    let mut out = vec![d.precision(), d.scale(), 0, (m >= 0) as u8];
    let n = crate::decimal_bytes(d.precision()) - 1;
    out.extend_from_slice(&m.unsigned_abs().to_le_bytes()[..n]);
    out
}

fn decimal_of_bytes(b: &[u8]) -> Option<Decimal> {
    let (head, digits) = b.split_at_checked(4)?;
    let mut magnitude = [0u8; 16];
    magnitude.get_mut(..digits.len())?.copy_from_slice(digits);
    let m = i128::try_from(u128::from_le_bytes(magnitude)).ok()?;
    Decimal::new(if head[3] == 0 { -m } else { m }, head[0], head[1])
}

pub(super) fn to_money(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let small = to.id == TypeId::SmallMoney;
    let is_text = matches!(v, Value::VarChar(_) | Value::NVarChar(_));
    let m: Option<i128> = match v {
        Value::Real(_) | Value::Float(_) => {
            let f = float_of(v) * 10_000.0;
            (f.abs() < 1e19).then(|| f.round() as i128)
        }
        Value::DateTime(_) | Value::SmallDateTime(_) => {
            let d = to_decimal(v, from, &SqlType::numeric(19, 4))?;
            exact(&d).map(|d| d.mantissa())
        }
        Value::Binary(b) => {
            let n = b
                .iter()
                .rev()
                .take(8)
                .rev()
                .fold(0u64, |n, &x| n << 8 | x as u64);
            Some(if small {
                n as i32 as i128
            } else {
                n as i64 as i128
            })
        }
        Value::VarChar(_) | Value::NVarChar(_) => {
            let text = v.as_text().unwrap_or_default();
            let message = if small {
                &SMALLMONEY_SYNTAX
            } else {
                &MONEY_SYNTAX
            };
            parse_money(trim(&text)).ok_or_else(|| SqlError::new(message, &[]).with_state(0))?
        }
        _ => exact(v).and_then(|d| rescale_mantissa(d.mantissa(), d.scale(), 4)),
    };
    let value = m.and_then(|m| {
        Some(if small {
            Value::SmallMoney(i32::try_from(m).ok()?)
        } else {
            Value::Money(i64::try_from(m).ok()?)
        })
    });
    value.ok_or_else(|| match (is_text, small) {
        (true, true) => SqlError::new(&SMALLMONEY_OVERFLOW, &[]).with_state(0),
        (true, false) => SqlError::new(&MONEY_OVERFLOW, &[]).with_state(0),
        _ => overflow(error_name(from.id), to.id),
    })
}

/// The signs that may introduce money.
pub fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '¢'..='¥' | '\u{9f2}' | '\u{9f3}' | '\u{e3f}' | '\u{17db}' | '\u{20a0}'..='\u{20b1}' | '\u{fdfc}'
            | '\u{fe69}' | '\u{ff04}' | '\u{ffe0}' | '\u{ffe1}' | '\u{ffe5}' | '\u{ffe6}'
    )
}

/// Money text: an optional sign and currency in either order, commas anywhere in the whole part. Empty, a lone sign and
/// a lone currency are zero.
pub(crate) fn parse_money(t: &str) -> Option<Option<i128>> {
    let mut rest = t;
    let (mut negative, mut signed, mut currency) = (false, false, false);
    loop {
        rest = rest.trim_start_matches(' ');
        let Some(c) = rest.chars().next() else { break };
        match c {
            '-' | '+' if !signed => {
                signed = true;
                negative = c == '-';
            }
            c if is_currency(c) && !currency => currency = true,
            _ => break,
        }
        rest = &rest[c.len_utf8()..];
    }
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let digits: String = whole.chars().filter(|c| *c != ',').collect();
    if digits.is_empty() && fraction.is_empty() {
        return whole.chars().all(|c| c == ',').then_some(Some(0));
    }
    let m = parse_decimal(&format!("{digits}.{fraction}"), 4)?;
    Some(m.map(|m| if negative { -m } else { m }))
}

pub(super) fn to_float(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let f = match v {
        Value::Real(f) if to.id == TypeId::Real => return Ok(Value::Real(*f)),
        Value::Real(_) | Value::Float(_) => float_of(v),
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::SmallMoney(m) => *m as f64 / 10_000.0,
        Value::DateTime(d) => d.days as f64 + d.ticks as f64 / TICKS_PER_DAY as f64,
        Value::SmallDateTime(d) => d.days as f64 + d.minutes as f64 / 1440.0,
        Value::VarChar(_) | Value::NVarChar(_) => {
            let text = v.as_text().unwrap_or_default();
            let f = parse_float(trim(&text)).ok_or_else(|| failed(from, to))?;
            if f.is_infinite() {
                return Err(overflow(error_name(from.id), to.id));
            }
            f
        }
        _ => match v.as_i64() {
            Some(n) => n as f64,
            None => return Err(failed(from, to)),
        },
    };
    if to.id == TypeId::Float {
        return Ok(Value::Float(f));
    }
    let narrow = f as f32;
    if narrow.is_infinite() {
        let shown = format!("{f:.6}");
        return Err(SqlError::new(
            &ARITHMETIC_OVERFLOW_FLOAT,
            &[&to.id.name(), &shown],
        ));
    }
    Ok(Value::Real(narrow))
}

/// A float literal in a string; blank is zero, words such as `inf` are not numbers.
pub(crate) fn parse_float(t: &str) -> Option<f64> {
    if t.is_empty() {
        return Some(0.0);
    }
    let plain = t
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E' | b'd' | b'D'));
    if !plain {
        return None;
    }
    let t = t.replace(['d', 'D'], "e");
    t.parse().ok()
}

/// ISNUMERIC of a string: whether it converts to some numeric type. Lone signs, points, commas and currency marks do
/// (they are money), blanks alone do not, other white space does.
pub fn is_numeric(text: &str) -> bool {
    let t = trim(text);
    if t.is_empty() {
        return text.chars().any(|c| c != ' ');
    }
    parse_money(t).is_some() || parse_float(t).is_some_and(f64::is_finite)
}
