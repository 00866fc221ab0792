//! Columns of views as tables: name, type, nullability and where the value comes from, one line each.
//!
//! A value is made by a function from the view's row source, so a column cannot be declared without saying what is in
//! it, and the order in the file is the order users see.

use duramen_base::Lsn;
use duramen_types::{DateTime, DateTime2, Decimal, SqlType, Value, temporal};

pub use crate::rights::needs::*;

/// Nullability in a column table.
pub const NOT_NULL: bool = false;
pub const NULL: bool = true;

/// `nvarchar(60)`, the type of most `_desc` columns.
pub const DESC: SqlType = SqlType::nvarchar(60);
/// An LSN as a number.
pub const LSN: SqlType = SqlType::numeric(25, 0);

/// Declares `COLUMNS` and `row`: lines of `"name", type, NOT_NULL | NULL, |source| value;`.
#[macro_export]
macro_rules! columns {
    ($source:ty; $($name:literal, $ty:expr, $null:expr, $value:expr;)*) => {
        pub const COLUMNS: &[(&str, duramen_types::SqlType, bool)] = &[$(($name, $ty, $null)),*];

        pub fn row(source: &$source) -> Vec<duramen_types::Value> {
            vec![$({
                let value: fn(&$source) -> duramen_types::Value = $value;
                value(source)
            }),*]
        }
    };
}
pub use crate::columns;

pub fn text(s: &str) -> Value {
    Value::nvarchar(s)
}

pub fn text_or_null(s: Option<&str>) -> Value {
    s.map_or(Value::Null, Value::nvarchar)
}

pub fn int(n: impl Into<i64>) -> Value {
    Value::Int(n.into().clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
}

pub fn small(n: impl Into<i64>) -> Value {
    Value::SmallInt(n.into().clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16)
}

pub fn tiny(n: u8) -> Value {
    Value::TinyInt(n)
}

/// Counts and sizes; none reaches 2^63.
pub fn big(n: u64) -> Value {
    Value::BigInt(n as i64)
}

pub fn bit(on: bool) -> Value {
    Value::Bit(on)
}

/// Bytes as megabytes.
pub fn mb(bytes: u64) -> Value {
    Value::Float(bytes as f64 / 1_048_576.0)
}

pub fn lsn_number(lsn: Lsn) -> Value {
    i128::try_from(lsn.to_numeric())
        .ok()
        .and_then(|n| Decimal::new(n, 25, 0))
        .map_or(Value::Null, Value::Decimal)
}

/// NULL for the null LSN.
pub fn lsn_text(lsn: Lsn) -> Value {
    if lsn.is_null() {
        Value::Null
    } else {
        text(&lsn.to_string())
    }
}

/// Nanoseconds since 1970 as a datetime.
pub fn unix_time(nanos: i128) -> Value {
    const DAYS_TO_1970: i128 = 719_162;
    let units = nanos / 100;
    let per_day = temporal::UNITS_PER_DAY as i128;
    let days = (DAYS_TO_1970 + units.div_euclid(per_day)) as i32;
    DateTime::from_days_units(days, units.rem_euclid(per_day) as u64)
        .map_or(Value::Null, Value::DateTime)
}

/// The same as a datetime2(7).
pub fn unix_time2(nanos: i128) -> Value {
    const DAYS_TO_1970: i128 = 719_162;
    let units = nanos / 100;
    let per_day = temporal::UNITS_PER_DAY as i128;
    Value::DateTime2(DateTime2 {
        days: (DAYS_TO_1970 + units.div_euclid(per_day)) as i32,
        time: units.rem_euclid(per_day) as u64,
    })
}
