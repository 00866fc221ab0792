//! DATE_BUCKET: the start of the interval that a value lies in, intervals laid end to end from an origin.

use duramen_base::messages::{BUCKET_WIDTH_INVALID, DATETIME_ADD_OVERFLOW};
use duramen_base::{SqlError, SqlResult};

use super::{DatePart, add_months, check_part, local, rebuilt, unsupported};
use crate::temporal::{UNITS_PER_DAY, ymd_from_days};
use crate::{ConvertCtx, SqlType, Value};

/// `width` parts make an interval; `origin` is a value of the same type as `v`, of 1900-01-01 when none is given.
pub fn date_bucket(
    part: DatePart,
    width: i64,
    v: &Value,
    ty: &SqlType,
    origin: &Value,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    if width <= 0 {
        return Err(SqlError::new(&BUCKET_WIDTH_INVALID, &[]));
    }
    let months = match part {
        DatePart::Year => 12,
        DatePart::Quarter => 3,
        DatePart::Month => 1,
        DatePart::Week | DatePart::Day => 0,
        DatePart::Hour | DatePart::Minute | DatePart::Second | DatePart::Millisecond => 0,
        _ => return Err(unsupported(part, "date_bucket", None)),
    };
    check_part(part, "date_bucket", ty)?;
    let overflow = || SqlError::new(&DATETIME_ADD_OVERFLOW, &[&ty.id.name()]);
    let (at, from) = (local(v, ctx), local(origin, ctx));
    let (days, units) = if months > 0 {
        let step = width.checked_mul(months).ok_or_else(overflow)?;
        let (y0, m0, _) = ymd_from_days(from.0);
        let (y, m, _) = ymd_from_days(at.0);
        let between = i64::from(y - y0) * 12 + i64::from(m) - i64::from(m0);
        let mut bucket = between.div_euclid(step) * step;
        let start = |months: i64| add_months(from.0, months).map(|d| (d, from.1));
        // The interval of the month may begin after the value: it lies in the one before.
        if start(bucket).is_none_or(|s| s > at) {
            bucket -= step;
        }
        start(bucket).ok_or_else(overflow)?
    } else {
        let unit = match part {
            DatePart::Week => 7 * UNITS_PER_DAY as i128,
            DatePart::Day => UNITS_PER_DAY as i128,
            _ => i128::from(part.units()),
        };
        let step = unit * i128::from(width);
        let total = |(days, units): (i32, u64)| {
            i128::from(days) * UNITS_PER_DAY as i128 + i128::from(units)
        };
        let start = total(from) + (total(at) - total(from)).div_euclid(step) * step;
        let day = UNITS_PER_DAY as i128;
        let days = i32::try_from(start.div_euclid(day)).map_err(|_| overflow())?;
        (days, start.rem_euclid(day) as u64)
    };
    rebuilt(v, ty, days, units).ok_or_else(overflow)
}
