//! Conversions to strings, and the text of every value.

use duramen_base::messages::{GUID_RESULT_SPACE, INVALID_STYLE, MONEY_RESULT_SPACE};
use duramen_base::{SqlError, SqlResult};

use super::{ConvertCtx, bytes, error_name, overflow};
use crate::dateformat::format_temporal;
use crate::{Language, SqlType, Value, cp1252};

/// The text of a value in a style. Numbers that do not fit the target are errors, except integers in code-page strings,
/// which become `*`; dates are cut.
pub(super) fn to_text(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
) -> SqlResult<String> {
    let capacity = to.char_capacity().unwrap_or(usize::MAX);
    let text = match v {
        Value::Money(m) => return money(*m, style, to, capacity),
        Value::SmallMoney(m) => return money(*m as i64, style, to, capacity),
        Value::Real(f) => format_float(*f as f64, style.unwrap_or(0)),
        Value::Float(f) => format_float(*f, style.unwrap_or(0)),
        Value::Guid(g) => {
            if capacity < 36 {
                return Err(SqlError::new(&GUID_RESULT_SPACE, &[]).with_state(2));
            }
            guid_text(g)
        }
        Value::Binary(b) => return bytes::hex_text(b, style.unwrap_or(0), capacity),
        // Before level 120 dates were told in English to everybody.
        Value::Date(_) if ctx.level < 120 => {
            return format_temporal(v, from, style, to, Language::US_ENGLISH);
        }
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => return format_temporal(v, from, style, to, ctx.language),
        _ => to_display(v, from),
    };
    if text.len() > capacity {
        return match v.as_i64() {
            Some(_) if to.id.is_char() => Ok("*".to_string()),
            Some(_) => Err(overflow("expression", to.id)),
            None => Err(overflow(error_name(from.id), to.id)),
        };
    }
    Ok(text)
}

fn money(m: i64, style: Option<i32>, to: &SqlType, capacity: usize) -> SqlResult<String> {
    let style = style.unwrap_or(0);
    if !matches!(style, 0 | 1 | 2 | 126) {
        return Err(SqlError::new(&INVALID_STYLE, &[&style, &"money"]));
    }
    let text = format_money(m, style);
    if text.len() > capacity {
        return Err(SqlError::new(&MONEY_RESULT_SPACE, &[&to.id.name()]).with_state(2));
    }
    Ok(text)
}

/// Style 0: two decimals, rounded; 1: with commas; 2 and 126: four decimals.
pub fn format_money(m: i64, style: i32) -> String {
    let sign = if m < 0 { "-" } else { "" };
    let a = m.unsigned_abs();
    if style == 2 || style == 126 {
        return format!("{sign}{}.{:04}", a / 10_000, a % 10_000);
    }
    let cents = (a + 50) / 100;
    let whole = (cents / 100).to_string();
    let sign = if cents == 0 { "" } else { sign };
    if style != 1 {
        return format!("{sign}{whole}.{:02}", cents % 100);
    }
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{sign}{grouped}.{:02}", cents % 100)
}

/// Style 0: six significant digits; 1, 2, 3: 8, 16, 17 digits, always scientific. Exponents have three digits.
pub fn format_float(f: f64, style: i32) -> String {
    // -0.0 prints as 0.
    let f = if f == 0.0 { 0.0 } else { f };
    let digits: usize = match style {
        1 => 8,
        2 => 16,
        3 | 126 | 128 | 129 => 17,
        _ => 6,
    };
    let scientific = format!("{f:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if digits != 6 {
        return with_exponent(mantissa, exponent);
    }
    if (-4..6).contains(&exponent) {
        let fixed = format!("{f:.*}", (5 - exponent).max(0) as usize);
        return without_zeros(&fixed).to_string();
    }
    with_exponent(without_zeros(mantissa), exponent)
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.unsigned_abs())
}

fn without_zeros(t: &str) -> &str {
    if t.contains('.') {
        t.trim_end_matches('0').trim_end_matches('.')
    } else {
        t
    }
}

/// Upper-case, the first three groups stored little-endian.
pub fn guid_text(g: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (i, at) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]
        .into_iter()
        .enumerate()
    {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{:02X}", g[at as usize]));
    }
    out
}

/// The inverse: braces are allowed, and anything after the 36th character is ignored.
pub fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let t = text.trim_start();
    let braced = t.starts_with('{');
    let t = if braced { &t[1..] } else { t };
    let body = t.as_bytes().get(..36)?;
    if braced && t.as_bytes().get(36) != Some(&b'}') {
        return None;
    }
    let mut digits = [0u8; 32];
    let mut n = 0;
    for (i, b) in body.iter().enumerate() {
        if matches!(i, 8 | 13 | 18 | 23) {
            if *b != b'-' {
                return None;
            }
            continue;
        }
        *digits.get_mut(n)? = (*b as char).to_digit(16)? as u8;
        n += 1;
    }
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut g = [0; 16];
    for (i, at) in order.into_iter().enumerate() {
        g[at as usize] = digits[i * 2] << 4 | digits[i * 2 + 1];
    }
    Some(g)
}

/// The text CAST to an unlimited varchar gives: for PRINT, error messages, string concatenation. NULL is `NULL`.
pub fn to_display(v: &Value, ty: &SqlType) -> String {
    match v {
        Value::Null => "NULL".to_string(),
        Value::Bit(b) => if *b { "1" } else { "0" }.to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::Real(f) => format_float(*f as f64, 0),
        Value::Float(f) => format_float(*f, 0),
        Value::Decimal(d) => d.to_string(),
        Value::Money(m) => format_money(*m, 0),
        Value::SmallMoney(m) => format_money(*m as i64, 0),
        Value::VarChar(b) if ty.collation.is_utf8() => String::from_utf8_lossy(b).into_owned(),
        Value::VarChar(b) => cp1252::decode(b),
        Value::NVarChar(u) => duramen_base::utf16::text(u),
        Value::Binary(b) => {
            let mut out = String::from("0x");
            bytes::push_hex(b, &mut out);
            out
        }
        Value::Guid(g) => guid_text(g),
        Value::Variant(inner) => to_display(&inner.1, &inner.0),
        // Of what cannot be read there is no text.
        Value::Spooled(s) => match s.value(0, s.len(), ty) {
            Ok(v) => to_display(&v, ty),
            Err(_) => String::new(),
        },
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => {
            format_temporal(v, ty, None, &SqlType::VARCHAR_MAX, Language::US_ENGLISH)
                .unwrap_or_default()
        }
    }
}
