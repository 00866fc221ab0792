//! PARSE: numbers and dates out of text as .NET reads them under a culture.
//!
//! The styles are those the page of PARSE lists: Number for exact numbers, Float for approximate ones, Currency for money;
//! dates in the culture's order, a day's name before them allowed.

use super::Culture;
use crate::dateparse::{Family, parse as parse_date};
use crate::temporal::weekday;
use crate::{ConvertCtx, DateTime2, DateTimeOffset, SqlType, TypeId, Value, convert};

/// The value that `text` has in `culture`; `None` when it has none of that type.
pub fn parse(text: &str, to: &SqlType, culture: &Culture) -> Option<Value> {
    let ctx = ConvertCtx::default();
    if to.id.is_temporal() {
        let (v, from) = moment(text, culture)?;
        return convert(&v, &from, to, None, &ctx).ok();
    }
    let plain = number(text, to, culture)?;
    let from = SqlType::varchar(8000);
    let whole = to.id.is_integer();
    if whole {
        // `12.00` is an integer, `12.5` is none.
        let (integral, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        if fraction.bytes().any(|b| b != b'0') {
            return None;
        }
        return convert(&Value::varchar(integral), &from, to, None, &ctx).ok();
    }
    convert(&Value::varchar(&plain), &from, to, None, &ctx).ok()
}

/// The number in digits, with a minus and a point, as CAST reads it.
fn number(text: &str, to: &SqlType, culture: &Culture) -> Option<String> {
    let currency = to.id.is_money();
    let approximate = to.id.is_approximate();
    let mut rest = text.trim();
    let mut negative = false;
    if currency && rest.starts_with('(') && rest.ends_with(')') {
        negative = true;
        rest = rest[1..rest.len() - 1].trim();
    }
    // Sign and currency may stand at either end, once.
    let mut signed = negative;
    let mut marked = !currency;
    loop {
        let before = rest;
        if !signed {
            for (sign, minus) in [('-', true), ('+', false)] {
                let end = (!approximate).then(|| rest.strip_suffix(sign)).flatten();
                if let Some(r) = rest.strip_prefix(sign).or(end) {
                    rest = r.trim();
                    (signed, negative) = (true, minus);
                    break;
                }
            }
        }
        if !marked
            && let Some(r) = rest
                .strip_prefix(culture.currency)
                .or_else(|| rest.strip_suffix(culture.currency))
        {
            rest = r.trim();
            marked = true;
        }
        if rest == before {
            break;
        }
    }
    let mut out = String::from(if negative { "-" } else { "" });
    let mut digits = 0;
    let mut point = false;
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_digit() {
            out.push(c);
            digits += 1;
        } else if let Some(r) = rest.strip_prefix(culture.decimal).filter(|_| !point) {
            point = true;
            out.push('.');
            rest = r;
            continue;
        } else if let Some(r) = rest.strip_prefix(culture.group)
            && !approximate
            && !point
            && digits > 0
        {
            rest = r;
            continue;
        } else if matches!(c, 'e' | 'E') && approximate && digits > 0 {
            let exponent = &rest[1..];
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            out.push('e');
            out.push_str(exponent);
            return Some(out);
        } else {
            return None;
        }
        rest = &rest[c.len_utf8()..];
    }
    (digits > 0).then_some(out)
}

fn moment(text: &str, culture: &Culture) -> Option<(Value, SqlType)> {
    let mut rest = text.trim();
    let mut named = None;
    for day in 0..7 {
        for name in [culture.weekday(day), culture.short_weekday(day)] {
            let head = rest.get(..name.len());
            if head.is_some_and(|h| h.to_lowercase() == name.to_lowercase()) {
                named = Some(day);
                rest = rest[name.len()..].trim_start_matches([',', ' ']);
            }
        }
    }
    if rest.is_empty() {
        return None;
    }
    // The full stop behind a German day or a French month belongs to neither.
    let cleaned = rest.replace(". ", " ");
    let parsed = parse_date(&cleaned, culture.order, Family::New, culture.language()).ok()?;
    // A day that the date does not fall on is an error.
    if named.is_some_and(|day| day != weekday(parsed.days)) {
        return None;
    }
    Some(match parsed.offset {
        Some(offset) => {
            let at = DateTimeOffset::from_local(parsed.days, parsed.units, offset)?;
            (Value::DateTimeOffset(at), SqlType::datetimeoffset(7))
        }
        None => {
            let at = DateTime2 {
                days: parsed.days,
                time: parsed.units,
            };
            (Value::DateTime2(at), SqlType::datetime2(7))
        }
    })
}

/// Whether PARSE makes values of the type: numbers and dates.
pub fn makes(id: TypeId) -> bool {
    id.is_temporal() || id.is_numeric() && id != TypeId::Bit
}
