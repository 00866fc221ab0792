//! The date functions of T-SQL as pure functions: DATEADD, DATEDIFF, DATEPART, DATENAME, DATETRUNC, EOMONTH, the
//! ...FROMPARTS family, SWITCHOFFSET, TODATETIMEOFFSET, ISDATE.
//!
//! Arguments are dates and times; a string argument is converted by the binder first (to datetime for DATEADD, to
//! datetimeoffset or datetime2 for the others). NULL arguments are the caller's. Weeks start on Sunday for DATEDIFF, on
//! DATEFIRST for everything else.

mod bucket;
mod parts;

use duramen_base::messages::{
    CANNOT_CONSTRUCT_TYPE, DATEDIFF_OVERFLOW, DATEPART_NOT_SUPPORTED,
    DATEPART_NOT_SUPPORTED_FOR_TYPE, DATETIME_ADD_OVERFLOW, TIMEZONE_INVALID, TIMEZONE_OVERFLOW,
};
use duramen_base::{SqlError, SqlResult};

use crate::compare::instant;
use crate::convert::{ConvertCtx, convert};
use crate::dateparse::{Family, parse};
use crate::temporal::{
    DAYS_TO_1753, DAYS_TO_1900, DAYS_TO_1970, MAX_DAYS, TICKS_PER_DAY, UNITS_PER_DAY,
    UNITS_PER_SECOND, day_of_year, days_from_ymd, days_in_month, round_units, weekday,
    ymd_from_days,
};
use crate::{
    Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, SqlType, Time, TypeId, Value,
};

pub use bucket::date_bucket;
pub use parts::{
    FromParts, date_from_parts, datetime_from_parts, datetime2_from_parts,
    datetimeoffset_from_parts, smalldatetime_from_parts, time_from_parts,
};

/// A datepart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DatePart {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    WeekDay,
    IsoWeek,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    TzOffset,
}

impl DatePart {
    /// The part a name or abbreviation means, in any case.
    pub fn from_name(name: &str) -> Option<DatePart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yy" | "yyyy" => DatePart::Year,
            "quarter" | "qq" | "q" => DatePart::Quarter,
            "month" | "mm" | "m" => DatePart::Month,
            "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
            "day" | "dd" | "d" => DatePart::Day,
            "week" | "wk" | "ww" => DatePart::Week,
            "weekday" | "dw" | "w" => DatePart::WeekDay,
            "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            "tzoffset" | "tz" => DatePart::TzOffset,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Quarter => "quarter",
            DatePart::Month => "month",
            DatePart::DayOfYear => "dayofyear",
            DatePart::Day => "day",
            DatePart::Week => "week",
            DatePart::WeekDay => "weekday",
            DatePart::IsoWeek => "iso_week",
            DatePart::Hour => "hour",
            DatePart::Minute => "minute",
            DatePart::Second => "second",
            DatePart::Millisecond => "millisecond",
            DatePart::Microsecond => "microsecond",
            DatePart::Nanosecond => "nanosecond",
            DatePart::TzOffset => "tzoffset",
        }
    }

    fn is_time(self) -> bool {
        matches!(
            self,
            DatePart::Hour
                | DatePart::Minute
                | DatePart::Second
                | DatePart::Millisecond
                | DatePart::Microsecond
                | DatePart::Nanosecond
        )
    }

    /// 100 ns units of one; 0 for a nanosecond and for parts that are not of a clock.
    fn units(self) -> i64 {
        match self {
            DatePart::Hour => 3600 * UNITS_PER_SECOND as i64,
            DatePart::Minute => 60 * UNITS_PER_SECOND as i64,
            DatePart::Second => UNITS_PER_SECOND as i64,
            DatePart::Millisecond => 10_000,
            DatePart::Microsecond => 10,
            _ => 0,
        }
    }
}

/// Errors 9806 and 9810.
fn unsupported(part: DatePart, function: &str, ty: Option<&SqlType>) -> SqlError {
    match ty {
        None => SqlError::new(&DATEPART_NOT_SUPPORTED, &[&part.name(), &function]),
        Some(ty) => SqlError::new(
            &DATEPART_NOT_SUPPORTED_FOR_TYPE,
            &[&part.name(), &function, &ty.id.name()],
        ),
    }
}

/// A part must exist in the type: no hours in a date, no years in a time.
fn check_part(part: DatePart, function: &str, ty: &SqlType) -> SqlResult<()> {
    let wrong = match ty.id {
        TypeId::Date => part.is_time() || part == DatePart::TzOffset,
        TypeId::Time => !part.is_time(),
        TypeId::DateTimeOffset => false,
        _ => part == DatePart::TzOffset,
    };
    if wrong {
        return Err(unsupported(part, function, Some(ty)));
    }
    Ok(())
}

/// What a function of dates refuses of a value's type, as far as it is known without the value.
pub fn check_date_function(function: &str, part: DatePart, ty: &SqlType) -> SqlResult<()> {
    let fine = matches!(part, DatePart::Microsecond | DatePart::Nanosecond);
    let coarse = matches!(ty.id, TypeId::DateTime | TypeId::SmallDateTime);
    match function {
        "datepart" | "datename" => check_part(part, function, ty),
        "dateadd" if matches!(part, DatePart::TzOffset | DatePart::IsoWeek) => {
            Err(unsupported(part, function, None))
        }
        "dateadd" if fine && coarse => Err(unsupported(part, function, Some(ty))),
        "dateadd" => check_part(part, function, ty),
        _ => Ok(()),
    }
}

/// Local date and time of a value: days since 0001-01-01, 100 ns units. Below level 130 datetime counts in milliseconds.
fn local(v: &Value, ctx: &ConvertCtx) -> (i32, u64) {
    match v {
        Value::DateTimeOffset(d) => d.local(),
        Value::DateTime(d) if ctx.level < 130 => (d.days_since_0001(), d.millis() as u64 * 10_000),
        _ => instant(v),
    }
}

/// A date moved by months, the day clamped to the month's last.
fn add_months(days: i32, months: i64) -> Option<i32> {
    let (y, m, d) = ymd_from_days(days);
    let n = (y as i64 * 12 + m as i64 - 1).checked_add(months)?;
    let year = i32::try_from(n.div_euclid(12)).ok()?;
    if !(1..=9999).contains(&year) {
        return None;
    }
    let month = n.rem_euclid(12) as u32 + 1;
    days_from_ymd(year, month, d.min(days_in_month(year, month)))
}

/// DATEADD: a value of the argument's type, error 517 when it leaves the type's range.
pub fn dateadd(part: DatePart, n: i64, v: &Value, ty: &SqlType) -> SqlResult<Value> {
    check_date_function("dateadd", part, ty)?;
    let overflow = || SqlError::new(&DATETIME_ADD_OVERFLOW, &[&ty.id.name()]);
    added(part, n, v, ty).ok_or_else(overflow)
}

fn added(part: DatePart, n: i64, v: &Value, ty: &SqlType) -> Option<Value> {
    let in_days = |days: i32, n: i64| i32::try_from((days as i64).checked_add(n)?).ok();
    let move_date = |days: i32| match part {
        DatePart::Year => add_months(days, n.checked_mul(12)?),
        DatePart::Quarter => add_months(days, n.checked_mul(3)?),
        DatePart::Month => add_months(days, n),
        DatePart::Week => in_days(days, n.checked_mul(7)?),
        _ => in_days(days, n),
    };
    if let Value::DateTime(d) = v {
        // Whole ticks, so that a value that is only moved keeps its thirds.
        return if part.is_time() {
            let step = n as i128 * part.units() as i128 * 3;
            let ticks = d.days as i128 * TICKS_PER_DAY as i128
                + d.ticks as i128
                + crate::div_round(step, 100_000);
            crate::convert::datetime_from_ticks(ticks, TypeId::DateTime)
        } else {
            let days = move_date(d.days_since_0001())?;
            (DAYS_TO_1753..=MAX_DAYS).contains(&days).then(|| {
                Value::DateTime(DateTime {
                    days: days - DAYS_TO_1900,
                    ticks: d.ticks,
                })
            })
        };
    }
    let (days, units) = match v {
        Value::DateTimeOffset(d) => d.local(),
        _ => instant(v),
    };
    let (days, units) = if part.is_time() {
        let step = match part {
            DatePart::Nanosecond => crate::div_round(n as i128, 100),
            _ => n as i128 * part.units() as i128,
        };
        let total = units as i128 + step;
        let day = UNITS_PER_DAY as i128;
        let moved = in_days(days, i64::try_from(total.div_euclid(day)).ok()?);
        let units = total.rem_euclid(day) as u64;
        match v {
            // A time wraps around midnight.
            Value::Time(_) => (days, units),
            _ => (moved?, units),
        }
    } else {
        (move_date(days)?, units)
    };
    rebuilt(v, ty, days, units)
}

/// A value of the same type at another local date and time; `None` outside the type's range.
fn rebuilt(v: &Value, ty: &SqlType, days: i32, units: u64) -> Option<Value> {
    if !(0..=MAX_DAYS).contains(&days) {
        return None;
    }
    let rounded = round_units(units, ty.scale);
    let (days, time) = match v {
        Value::DateTime2(_) | Value::DateTimeOffset(_) if rounded >= UNITS_PER_DAY => {
            (days + 1, rounded - UNITS_PER_DAY)
        }
        _ => (days, rounded),
    };
    if days > MAX_DAYS {
        return None;
    }
    Some(match v {
        Value::Date(_) => Value::Date(Date(days)),
        Value::Time(_) => Value::Time(Time(time % UNITS_PER_DAY)),
        Value::DateTime(_) => Value::DateTime(DateTime::from_days_units(days, units)?),
        Value::SmallDateTime(_) => {
            let minutes = (units + 30 * UNITS_PER_SECOND) / (60 * UNITS_PER_SECOND);
            let days = days - DAYS_TO_1900 + (minutes / 1440) as i32;
            Value::SmallDateTime(SmallDateTime {
                days: u16::try_from(days).ok()?,
                minutes: (minutes % 1440) as u16,
            })
        }
        Value::DateTime2(_) => Value::DateTime2(DateTime2 { days, time }),
        Value::DateTimeOffset(d) => {
            Value::DateTimeOffset(DateTimeOffset::from_local(days, time, d.offset)?)
        }
        _ => return None,
    })
}

/// DATEDIFF_BIG: boundaries of `part` crossed between `a` and `b`. Offsets do not count: instants are compared in UTC.
pub fn datediff_big(part: DatePart, a: &Value, b: &Value, ctx: &ConvertCtx) -> SqlResult<i64> {
    difference(part, a, b, ctx, "datediff_big")?.ok_or_else(|| too_far("datediff_big"))
}

/// DATEDIFF: the same as an int; error 535 when it does not fit.
pub fn datediff(part: DatePart, a: &Value, b: &Value, ctx: &ConvertCtx) -> SqlResult<i32> {
    difference(part, a, b, ctx, "datediff")?
        .and_then(|n| i32::try_from(n).ok())
        .ok_or_else(|| too_far("datediff"))
}

fn too_far(function: &str) -> SqlError {
    SqlError::new(&DATEDIFF_OVERFLOW, &[&function, &function]).with_state(0)
}

fn difference(
    part: DatePart,
    a: &Value,
    b: &Value,
    ctx: &ConvertCtx,
    function: &str,
) -> SqlResult<Option<i64>> {
    let at = |v: &Value| match v {
        Value::DateTimeOffset(d) => (d.days, d.time),
        _ => local(v, ctx),
    };
    let ((d1, t1), (d2, t2)) = (at(a), at(b));
    let months = |d| {
        let (y, m, _) = ymd_from_days(d);
        (y as i64, m as i64)
    };
    let ((y1, m1), (y2, m2)) = (months(d1), months(d2));
    Ok(Some(match part {
        DatePart::Year => y2 - y1,
        DatePart::Quarter => (y2 * 4 + (m2 - 1) / 3) - (y1 * 4 + (m1 - 1) / 3),
        DatePart::Month => (y2 * 12 + m2) - (y1 * 12 + m1),
        DatePart::DayOfYear | DatePart::Day | DatePart::WeekDay => d2 as i64 - d1 as i64,
        // A new week begins on Sunday, whatever DATEFIRST says.
        DatePart::Week => ((d2 + 1).div_euclid(7) - (d1 + 1).div_euclid(7)) as i64,
        DatePart::IsoWeek | DatePart::TzOffset => return Err(unsupported(part, function, None)),
        DatePart::Nanosecond => {
            let day = UNITS_PER_DAY as i128;
            let n = (d2 - d1) as i128 * day + t2 as i128 - t1 as i128;
            return Ok(i64::try_from(n * 100).ok());
        }
        _ => {
            let unit = part.units();
            let per_day = UNITS_PER_DAY as i64 / unit;
            (d2 as i64 - d1 as i64) * per_day + t2 as i64 / unit - t1 as i64 / unit
        }
    }))
}

/// DATEPART. `datefirst` is @@DATEFIRST: 1 Monday to 7 Sunday.
pub fn datepart(
    part: DatePart,
    v: &Value,
    ty: &SqlType,
    datefirst: u8,
    ctx: &ConvertCtx,
) -> SqlResult<i32> {
    check_part(part, "datepart", ty)?;
    Ok(part_of(part, v, datefirst, ctx))
}

fn part_of(part: DatePart, v: &Value, datefirst: u8, ctx: &ConvertCtx) -> i32 {
    let (days, units) = local(v, ctx);
    let (y, m, d) = ymd_from_days(days);
    let second = (units / UNITS_PER_SECOND) as i32;
    let fraction = (units % UNITS_PER_SECOND) as i32;
    match part {
        DatePart::Year => y,
        DatePart::Quarter => (m as i32 + 2) / 3,
        DatePart::Month => m as i32,
        DatePart::DayOfYear => day_of_year(days) as i32,
        DatePart::Day => d as i32,
        DatePart::Week => {
            // 1 January is in week 1; a week starts on DATEFIRST.
            let doy = day_of_year(days) as i32;
            let first = weekday_from(days - doy + 1, datefirst);
            (doy - 1 + first) / 7 + 1
        }
        DatePart::WeekDay => weekday_from(days, datefirst) + 1,
        DatePart::IsoWeek => iso_week(days),
        DatePart::Hour => second / 3600,
        DatePart::Minute => second / 60 % 60,
        DatePart::Second => second % 60,
        DatePart::Millisecond => fraction / 10_000,
        DatePart::Microsecond => fraction / 10,
        DatePart::Nanosecond => fraction * 100,
        DatePart::TzOffset => match v {
            Value::DateTimeOffset(d) => d.offset as i32,
            _ => 0,
        },
    }
}

/// 0 for the first day of the week.
fn weekday_from(days: i32, datefirst: u8) -> i32 {
    (weekday(days) as i32 + 7 - datefirst.clamp(1, 7) as i32) % 7
}

/// ISO 8601: the week of the year's first Thursday is week 1, weeks start on Monday.
fn iso_week(days: i32) -> i32 {
    let thursday = days - weekday_from(days, 1) + 3;
    (day_of_year(thursday) as i32 - 1) / 7 + 1
}

/// DATENAME: month and weekday by name, the rest as a number.
pub fn datename(
    part: DatePart,
    v: &Value,
    ty: &SqlType,
    datefirst: u8,
    ctx: &ConvertCtx,
) -> SqlResult<String> {
    check_part(part, "datename", ty)?;
    let (days, _) = local(v, ctx);
    Ok(match part {
        DatePart::Month => {
            let (_, m, _) = ymd_from_days(days);
            ctx.language.month(m).to_string()
        }
        DatePart::WeekDay => ctx.language.weekday(weekday(days)).to_string(),
        DatePart::TzOffset => {
            let n = part_of(part, v, datefirst, ctx);
            let sign = if n < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", n.abs() / 60, n.abs() % 60)
        }
        _ => part_of(part, v, datefirst, ctx).to_string(),
    })
}

/// DATETRUNC: the start of the part the value lies in, of the same type.
pub fn datetrunc(
    part: DatePart,
    v: &Value,
    ty: &SqlType,
    datefirst: u8,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    let never = matches!(
        part,
        DatePart::WeekDay | DatePart::TzOffset | DatePart::Nanosecond
    );
    if never {
        return Err(unsupported(part, "datetrunc", None));
    }
    check_part(part, "datetrunc", ty)?;
    // Of the old types even a thousandth is no whole number of ticks; datetime rounds to it.
    let too_fine = match ty.id {
        TypeId::DateTime => part == DatePart::Microsecond,
        TypeId::SmallDateTime => matches!(part, DatePart::Millisecond | DatePart::Microsecond),
        _ => false,
    };
    if too_fine {
        return Err(unsupported(part, "datetrunc", Some(ty)));
    }
    let (days, units) = local(v, ctx);
    let (y, m, _) = ymd_from_days(days);
    let first = |month| days_from_ymd(y, month, 1).unwrap_or(days);
    let (days, units) = match part {
        DatePart::Year => (first(1), 0),
        DatePart::Quarter => (first((m - 1) / 3 * 3 + 1), 0),
        DatePart::Month => (first(m), 0),
        DatePart::Week => (days - weekday_from(days, datefirst), 0),
        DatePart::IsoWeek => (days - weekday_from(days, 1), 0),
        DatePart::DayOfYear | DatePart::Day => (days, 0),
        _ => {
            let unit = part.units().max(1) as u64;
            (days, units / unit * unit)
        }
    };
    let overflow = || SqlError::new(&DATETIME_ADD_OVERFLOW, &[&ty.id.name()]);
    rebuilt(v, ty, days, units).ok_or_else(overflow)
}

/// EOMONTH: the last day of the month `months` later, a date.
pub fn eomonth(v: &Value, months: i64, ctx: &ConvertCtx) -> SqlResult<Value> {
    let overflow = || SqlError::new(&DATETIME_ADD_OVERFLOW, &[&"date"]);
    let (days, _) = local(v, ctx);
    let moved = add_months(days, months).ok_or_else(overflow)?;
    let (y, m, _) = ymd_from_days(moved);
    let last = days_from_ymd(y, m, days_in_month(y, m)).ok_or_else(overflow)?;
    Ok(Value::Date(Date(last)))
}

/// SWITCHOFFSET: the same instant at another offset.
pub fn switchoffset(d: &DateTimeOffset, offset: i32) -> SqlResult<Value> {
    let moved = DateTimeOffset {
        offset: checked_offset(offset, "switchoffset")?,
        ..*d
    };
    if !(0..=MAX_DAYS).contains(&moved.local().0) {
        return Err(SqlError::new(&TIMEZONE_OVERFLOW, &[&"switchoffset"]));
    }
    Ok(Value::DateTimeOffset(moved))
}

/// TODATETIMEOFFSET: a local date and time given an offset.
pub fn todatetimeoffset(v: &Value, offset: i32, ctx: &ConvertCtx) -> SqlResult<Value> {
    let (days, units) = local(v, ctx);
    let offset = checked_offset(offset, "todatetimeoffset")?;
    DateTimeOffset::from_local(days, units, offset)
        .map(Value::DateTimeOffset)
        .ok_or_else(|| SqlError::new(&TIMEZONE_OVERFLOW, &[&"todatetimeoffset"]))
}

fn checked_offset(offset: i32, function: &str) -> SqlResult<i16> {
    if (-840..=840).contains(&offset) {
        Ok(offset as i16)
    } else {
        Err(SqlError::new(&TIMEZONE_INVALID, &[&function]))
    }
}

/// `+hh:mm` as the offset arguments take it; minutes.
pub fn parse_offset(text: &str) -> Option<i32> {
    let t = text.trim();
    let (negative, t) = match t.strip_prefix('-') {
        Some(t) => (true, t),
        None => (false, t.strip_prefix('+')?),
    };
    let (h, m) = t.split_once(':')?;
    let two = |s: &str| {
        let digits = (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
        if digits { s.parse::<i32>().ok() } else { None }
    };
    let minutes = two(h)? * 60 + two(m).filter(|m| *m < 60)?;
    (minutes <= 840).then_some(if negative { -minutes } else { minutes })
}

/// ISDATE: whether a string converts to datetime.
pub fn isdate(text: &str, ctx: &ConvertCtx) -> bool {
    !text.trim().is_empty()
        && parse(text, ctx.date_order, Family::Old, ctx.language)
            .is_ok_and(|p| (DAYS_TO_1753..=MAX_DAYS).contains(&p.days))
}

/// The clock of the machine as SYSDATETIME, GETDATE and SYSDATETIMEOFFSET show it. `nanos` counts from 1970-01-01 UTC;
/// `offset` is the machine's, in minutes.
pub fn wall_clock(nanos: i128, offset: i16) -> Option<DateTimeOffset> {
    let units = nanos.div_euclid(100);
    let day = UNITS_PER_DAY as i128;
    let days = i32::try_from(i128::from(DAYS_TO_1970) + units.div_euclid(day)).ok()?;
    (0..=MAX_DAYS).contains(&days).then_some(DateTimeOffset {
        days,
        time: units.rem_euclid(day) as u64,
        offset,
    })
}

/// GETDATE and its kin from the clock: the local time as a value of `to`.
pub fn now_as(clock: &DateTimeOffset, to: &SqlType, ctx: &ConvertCtx) -> SqlResult<Value> {
    let from = SqlType::datetimeoffset(7);
    convert(&Value::DateTimeOffset(*clock), &from, to, None, ctx)
}

/// Error 289.
fn cannot_construct(ty: &str) -> SqlError {
    SqlError::new(&CANNOT_CONSTRUCT_TYPE, &[&ty])
}

#[cfg(test)]
mod tests;
