//! DATEFROMPARTS and its family. A part out of range is error 289.

use duramen_base::SqlResult;

use super::cannot_construct;
use crate::temporal::{DAYS_TO_1753, DAYS_TO_1900, UNITS_PER_SECOND, days_from_ymd};
use crate::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time, Value};

/// The arguments as they come; `fraction` counts in `10^-precision` seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct FromParts {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub fraction: i32,
    pub precision: u8,
}

impl FromParts {
    fn days(&self) -> Option<i32> {
        let month = u32::try_from(self.month).ok()?;
        days_from_ymd(self.year, month, u32::try_from(self.day).ok()?)
    }

    fn units(&self) -> Option<u64> {
        if self.precision > 7 {
            return None;
        }
        let fraction = u64::try_from(self.fraction).ok()?;
        let fraction = fraction * 10u64.pow(7 - self.precision as u32);
        if fraction >= UNITS_PER_SECOND {
            return None;
        }
        Some(
            Time::from_hms(
                u32::try_from(self.hour).ok()?,
                u32::try_from(self.minute).ok()?,
                u32::try_from(self.second).ok()?,
                fraction as u32,
            )?
            .0,
        )
    }
}

pub fn date_from_parts(p: &FromParts) -> SqlResult<Value> {
    let days = p.days().ok_or_else(|| cannot_construct("date"))?;
    Ok(Value::Date(Date(days)))
}

pub fn time_from_parts(p: &FromParts) -> SqlResult<Value> {
    let units = p.units().ok_or_else(|| cannot_construct("time"))?;
    Ok(Value::Time(Time(units)))
}

/// `fraction` are milliseconds, rounded to the tick.
pub fn datetime_from_parts(p: &FromParts) -> SqlResult<Value> {
    let p = FromParts { precision: 3, ..*p };
    let value = p.days().zip(p.units()).and_then(|(days, units)| {
        (days >= DAYS_TO_1753).then_some(())?;
        DateTime::from_days_units(days, units)
    });
    value
        .map(Value::DateTime)
        .ok_or_else(|| cannot_construct("datetime"))
}

/// Seconds do not count.
pub fn smalldatetime_from_parts(p: &FromParts) -> SqlResult<Value> {
    let p = FromParts {
        second: 0,
        fraction: 0,
        ..*p
    };
    let value = p.days().zip(p.units()).and_then(|(days, units)| {
        Some(SmallDateTime {
            days: u16::try_from(days - DAYS_TO_1900).ok()?,
            minutes: (units / (60 * UNITS_PER_SECOND)) as u16,
        })
    });
    value
        .map(Value::SmallDateTime)
        .ok_or_else(|| cannot_construct("smalldatetime"))
}

pub fn datetime2_from_parts(p: &FromParts) -> SqlResult<Value> {
    let value = p.days().zip(p.units());
    value
        .map(|(days, time)| Value::DateTime2(DateTime2 { days, time }))
        .ok_or_else(|| cannot_construct("datetime2"))
}

/// The offset's hours and minutes carry the same sign.
pub fn datetimeoffset_from_parts(p: &FromParts, hours: i32, minutes: i32) -> SqlResult<Value> {
    let valid = (-14..=14).contains(&hours)
        && (-59..=59).contains(&minutes)
        && hours.signum() * minutes.signum() >= 0
        && (hours * 60 + minutes).abs() <= 840;
    let value = p.days().zip(p.units()).filter(|_| valid);
    value
        .and_then(|(days, units)| {
            DateTimeOffset::from_local(days, units, (hours * 60 + minutes) as i16)
        })
        .map(Value::DateTimeOffset)
        .ok_or_else(|| cannot_construct("datetimeoffset"))
}
