//! Conversions to dates and times.

use duramen_base::messages::{
    DATETIME_CONVERSION_FAILED, DATETIME_OUT_OF_RANGE, SMALLDATETIME_CONVERSION_FAILED,
    SMALLDATETIME_OVERFLOW, STYLE_NOT_SUPPORTED, YDM_NOT_SUPPORTED,
};
use duramen_base::{SqlError, SqlResult};

use super::{ConvertCtx, failed, number, overflow};
use crate::compare::{exact, instant};
use crate::dateparse::{DateError, DateOrder, Family, Parsed, parse};
use crate::decimal::div_round;
use crate::temporal::{
    DAYS_TO_1753, DAYS_TO_1900, MAX_DAYS, TICKS_PER_DAY, UNITS_PER_DAY, UNITS_PER_SECOND,
    round_units,
};
use crate::{
    Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, SqlType, Time, TypeId, Value,
};

pub(super) fn to_temporal(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    match v {
        Value::VarChar(_) | Value::NVarChar(_) => {
            from_text(&v.as_text().unwrap_or_default(), from, to, style, ctx)
        }
        Value::Binary(b) => from_binary(b, from, to),
        Value::DateTimeOffset(d) if to.id == TypeId::DateTimeOffset => {
            // Rounding happens on the UTC time, which differs from the local one by whole minutes.
            let (days, time) = carry(d.days, round_units(d.time, to.scale));
            in_calendar(days, to)?;
            Ok(Value::DateTimeOffset(DateTimeOffset {
                days,
                time,
                offset: d.offset,
            }))
        }
        Value::DateTimeOffset(d) => {
            let (days, units) = d.local();
            build(days, units, from, to)
        }
        Value::DateTime(d) => {
            if to.id == TypeId::DateTime {
                return Ok(v.clone());
            }
            // Level 130 made the thirds of a tick visible.
            let units = if ctx.level >= 130 {
                d.units()
            } else {
                d.millis() as u64 * 10_000
            };
            build(d.days_since_0001(), units, from, to)
        }
        Value::Date(_) | Value::Time(_) | Value::SmallDateTime(_) | Value::DateTime2(_) => {
            let (days, units) = instant(v);
            build(days, units, from, to)
        }
        _ => from_number(v, from, to),
    }
}

fn carry(days: i32, units: u64) -> (i32, u64) {
    if units >= UNITS_PER_DAY {
        (days + 1, units - UNITS_PER_DAY)
    } else {
        (days, units)
    }
}

fn in_calendar(days: i32, to: &SqlType) -> SqlResult<()> {
    if (0..=MAX_DAYS).contains(&days) {
        Ok(())
    } else {
        Err(overflow("expression", to.id))
    }
}

/// A local date and time as a value of the target type, rounded to its grain.
fn build(days: i32, units: u64, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let out_of_range = || {
        let names = (from.id.name(), to.id.name());
        SqlError::new(&DATETIME_OUT_OF_RANGE, &[&names.0, &names.1]).with_state(3)
    };
    Ok(match to.id {
        TypeId::Date => Value::Date(Date(days)),
        // A time that rounds up to midnight starts over.
        TypeId::Time => Value::Time(Time(round_units(units, to.scale) % UNITS_PER_DAY)),
        TypeId::DateTime => {
            Value::DateTime(DateTime::from_days_units(days, units).ok_or_else(out_of_range)?)
        }
        TypeId::SmallDateTime => {
            let value = small(days, units);
            Value::SmallDateTime(value.ok_or_else(|| match from.id {
                TypeId::DateTime => SqlError::new(&SMALLDATETIME_OVERFLOW, &[]),
                _ => out_of_range(),
            })?)
        }
        TypeId::DateTime2 => {
            let (days, time) = carry(days, round_units(units, to.scale));
            in_calendar(days, to)?;
            Value::DateTime2(DateTime2 { days, time })
        }
        _ => {
            let (days, time) = carry(days, round_units(units, to.scale));
            in_calendar(days, to)?;
            Value::DateTimeOffset(DateTimeOffset {
                days,
                time,
                offset: 0,
            })
        }
    })
}

/// The nearest minute; 29.998 seconds go down, 29.999 up, which is what rounding to ticks first gives.
fn small(days: i32, units: u64) -> Option<SmallDateTime> {
    let ticks = (units * 3 + 50_000) / 100_000;
    let minutes = (ticks + 9_000) / 18_000;
    let days = days - DAYS_TO_1900 + (minutes / 1440) as i32;
    Some(SmallDateTime {
        days: u16::try_from(days).ok()?,
        minutes: (minutes % 1440) as u16,
    })
}

/// The order of day, month and year a style prescribes to a string.
fn style_order(style: i32) -> Option<Option<DateOrder>> {
    Some(match style {
        0 | 100 => None,
        1 | 7 | 9 | 10 | 22 | 101 | 107 | 109 | 110 => Some(DateOrder::Mdy),
        3 | 4 | 5 | 6 | 13 | 103 | 104 | 105 | 106 | 113 => Some(DateOrder::Dmy),
        2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => {
            Some(DateOrder::Ymd)
        }
        8 | 14 | 24 | 108 | 114 => None,
        _ => return None,
    })
}

fn from_text(
    text: &str,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    let family = if matches!(to.id, TypeId::DateTime | TypeId::SmallDateTime) {
        Family::Old
    } else {
        Family::New
    };
    let prescribed = match style {
        None => None,
        Some(style) => style_order(style).ok_or_else(|| {
            let names = (from.id.name(), to.id.name());
            SqlError::new(&STYLE_NOT_SUPPORTED, &[&style, &names.0, &names.1])
        })?,
    };
    let order = prescribed.unwrap_or(ctx.date_order);
    let syntax = || match to.id {
        TypeId::SmallDateTime => SqlError::new(&SMALLDATETIME_CONVERSION_FAILED, &[]).with_state(3),
        _ => SqlError::new(&DATETIME_CONVERSION_FAILED, &[]),
    };
    let range = || match family {
        Family::Old => {
            let names = (from.id.name(), to.id.name());
            SqlError::new(&DATETIME_OUT_OF_RANGE, &[&names.0, &names.1]).with_state(3)
        }
        Family::New => syntax(),
    };
    let parsed: Parsed = match parse(text, order, family, ctx.language) {
        Ok(p) => p,
        Err(DateError::Syntax) => return Err(syntax()),
        Err(DateError::Range) => return Err(range()),
    };
    if family == Family::New && order == DateOrder::Ydm && ambiguous(text) {
        return Err(SqlError::new(&YDM_NOT_SUPPORTED, &[]));
    }
    if to.id == TypeId::DateTimeOffset {
        let (days, units) = carry(parsed.days, round_units(parsed.units, to.scale));
        let value = DateTimeOffset::from_local(days, units, parsed.offset.unwrap_or(0));
        return value.map(Value::DateTimeOffset).ok_or_else(syntax);
    }
    // The other types keep the local time and drop the offset.
    match build(parsed.days, parsed.units, from, to) {
        Ok(v) => Ok(v),
        Err(_) if family == Family::Old => Err(range()),
        Err(e) => Err(e),
    }
}

/// A date in numbers with separators that does not start with a four-digit year.
fn ambiguous(text: &str) -> bool {
    let t = text.trim_start();
    let digits = t.bytes().take_while(u8::is_ascii_digit).count();
    digits < 3 && matches!(t.as_bytes().get(digits), Some(b'/' | b'-' | b'.')) && digits > 0
}

fn from_binary(b: &[u8], from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    // Big-endian for the old types, rightmost bytes; scale and stored bytes for the newer ones.
    let right = |n: usize| {
        let mut out = vec![0; n.saturating_sub(b.len())];
        out.extend_from_slice(&b[b.len().saturating_sub(n)..]);
        out
    };
    let value = match to.id {
        TypeId::DateTime => {
            let mut r = right(8);
            r.reverse();
            Value::decode_fixed(to, &r)
        }
        TypeId::SmallDateTime => {
            let mut r = right(4);
            r.reverse();
            Value::decode_fixed(to, &r)
        }
        TypeId::Date => Value::decode_fixed(to, b),
        _ => {
            let (scale, data) = match b.split_first() {
                Some((s, data)) if *s <= 7 => (*s, data),
                _ => return Err(failed(from, to)),
            };
            let stored = match to.id {
                TypeId::Time => SqlType::time(scale),
                TypeId::DateTime2 => SqlType::datetime2(scale),
                _ => SqlType::datetimeoffset(scale),
            };
            let v = Value::decode_fixed(&stored, data).map_err(|_| failed(from, to))?;
            return to_temporal(&v, &stored, to, None, &ConvertCtx::default());
        }
    };
    value.map_err(|_| failed(from, to))
}

/// A number is days since 1900-01-01, its fraction a time.
fn from_number(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    if !matches!(to.id, TypeId::DateTime | TypeId::SmallDateTime) {
        return Err(failed(from, to));
    }
    let ticks = match v {
        Value::Float(_) | Value::Real(_) => {
            let f = match number::to_float(v, from, &SqlType::FLOAT)? {
                Value::Float(f) => f * TICKS_PER_DAY as f64,
                _ => 0.0,
            };
            (f.abs() < 1e18).then(|| f.round() as i128)
        }
        _ => exact(v).and_then(|d| {
            // Days and the rest apart: a mantissa of 38 digits leaves no room for the ticks of all of them. Of the rest,
            // twenty digits are more than a tick can tell.
            let one = crate::POW10[d.scale() as usize];
            let (days, rest) = (d.mantissa() / one, d.mantissa() % one);
            let cut = crate::POW10[usize::from(d.scale()).saturating_sub(20)];
            let ticks = (rest / cut).checked_mul(TICKS_PER_DAY as i128)?;
            days.checked_mul(TICKS_PER_DAY as i128)?
                .checked_add(div_round(ticks, one / cut))
        }),
    };
    let value = ticks.and_then(|t| datetime_from_ticks(t, to.id));
    value.ok_or_else(|| overflow("expression", to.id))
}

/// A count of ticks since 1900-01-01 as a datetime or smalldatetime.
pub(crate) fn datetime_from_ticks(ticks: i128, id: TypeId) -> Option<Value> {
    let per_day = TICKS_PER_DAY as i128;
    let days = i32::try_from(ticks.div_euclid(per_day)).ok()?;
    let ticks = ticks.rem_euclid(per_day) as u32;
    if id == TypeId::SmallDateTime {
        let units = ticks as u64 * UNITS_PER_SECOND / 300;
        return small(days.checked_add(DAYS_TO_1900)?, units).map(Value::SmallDateTime);
    }
    (DAYS_TO_1753 - DAYS_TO_1900..=MAX_DAYS - DAYS_TO_1900)
        .contains(&days)
        .then_some(Value::DateTime(DateTime { days, ticks }))
}
