//! Dates and times to strings: the styles of CONVERT.

use duramen_base::messages::{INVALID_STYLE, STYLE_NOT_SUPPORTED};
use duramen_base::{SqlError, SqlResult};

use crate::compare::instant;
use crate::temporal::{UNITS_PER_SECOND, ymd_from_days};
use crate::{Language, SqlType, TypeId, Value};

/// The parts of a value that a style may print.
struct Parts {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// The fraction's digits, as the type shows them; empty for date and scale 0.
    fraction: String,
    offset: Option<i16>,
    has_date: bool,
    has_time: bool,
    /// datetime and smalldatetime put a colon before milliseconds in styles 9, 13 and 14.
    old: bool,
    language: Language,
}

fn parts(v: &Value, ty: &SqlType, language: Language) -> Parts {
    let mut offset = None;
    let (days, units) = match v {
        Value::DateTimeOffset(d) => {
            offset = Some(d.offset);
            d.local()
        }
        _ => instant(v),
    };
    let (year, month, day) = ymd_from_days(days);
    let s = (units / UNITS_PER_SECOND) as u32;
    let fraction = match v {
        Value::DateTime(d) => format!("{:03}", d.millis() % 1000),
        Value::SmallDateTime(_) => "000".to_string(),
        Value::Date(_) => String::new(),
        _ => {
            let mut f = format!("{:07}", units % UNITS_PER_SECOND);
            f.truncate(ty.scale.min(7) as usize);
            f
        }
    };
    let s = match v {
        // The shown milliseconds may round into the next second only below; 1/300 s never reaches .9995.
        Value::DateTime(d) => d.ticks / 300,
        _ => s,
    };
    Parts {
        year,
        month,
        day,
        hour: s / 3600,
        minute: s / 60 % 60,
        second: s % 60,
        fraction,
        offset,
        has_date: !matches!(v, Value::Time(_)),
        has_time: !matches!(v, Value::Date(_)),
        old: matches!(ty.id, TypeId::DateTime | TypeId::SmallDateTime),
        language,
    }
}

impl Parts {
    fn month_name(&self) -> &'static str {
        self.language.short_month(self.month)
    }

    fn yy(&self) -> i32 {
        self.year % 100
    }

    fn clock12(&self) -> (u32, &'static str) {
        let h = match self.hour % 12 {
            0 => 12,
            h => h,
        };
        (h, if self.hour < 12 { "AM" } else { "PM" })
    }

    fn hms(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }

    /// The fraction behind its separator, nothing when the type has none.
    fn fraction(&self, old_separator: char) -> String {
        if self.fraction.is_empty() {
            return String::new();
        }
        let separator = if self.old { old_separator } else { '.' };
        format!("{separator}{}", self.fraction)
    }

    fn zone(&self, blank: &str) -> String {
        match self.offset {
            None => String::new(),
            Some(o) => {
                let sign = if o < 0 { '-' } else { '+' };
                let o = o.unsigned_abs();
                format!("{blank}{sign}{:02}:{:02}", o / 60, o % 60)
            }
        }
    }

    /// `date time`, whichever of the two the type has.
    fn join(&self, date: String, time: String) -> String {
        match (self.has_date, self.has_time) {
            (true, true) => format!("{date} {time}{}", self.zone(" ")),
            (true, false) => date,
            _ => time.trim_start().to_string(),
        }
    }
}

/// The style used when none is given: 0 for datetime and smalldatetime, 121 for the newer types.
pub fn default_style(id: TypeId) -> i32 {
    if matches!(id, TypeId::DateTime | TypeId::SmallDateTime) {
        0
    } else {
        121
    }
}

/// A date or time in a CONVERT style; `to` names the target type in errors, months have the names of `language`.
pub fn format_temporal(
    v: &Value,
    ty: &SqlType,
    style: Option<i32>,
    to: &SqlType,
    language: Language,
) -> SqlResult<String> {
    let style = style.unwrap_or_else(|| default_style(ty.id));
    let p = parts(v, ty, language);
    let unsupported = || {
        if p.old {
            SqlError::new(&INVALID_STYLE, &[&style, &ty.id.name()])
        } else {
            SqlError::new(
                &STYLE_NOT_SUPPORTED,
                &[&style, &ty.id.name(), &to.id.name()],
            )
        }
    };
    let date = |s: String| {
        if p.has_date {
            Ok(s)
        } else {
            Err(unsupported())
        }
    };
    let time = |s: String| {
        if p.has_time {
            Ok(s)
        } else {
            Err(unsupported())
        }
    };
    let (y, m, d, yy, mon) = (p.year, p.month, p.day, p.yy(), p.month_name());
    let (h12, ampm) = p.clock12();
    match style {
        0 | 100 => Ok(p.join(
            format!("{mon} {d:2} {y:04}"),
            format!("{h12:2}:{:02}{ampm}", p.minute),
        )),
        1 => date(format!("{m:02}/{d:02}/{yy:02}")),
        101 => date(format!("{m:02}/{d:02}/{y:04}")),
        2 => date(format!("{yy:02}.{m:02}.{d:02}")),
        102 => date(format!("{y:04}.{m:02}.{d:02}")),
        3 => date(format!("{d:02}/{m:02}/{yy:02}")),
        103 => date(format!("{d:02}/{m:02}/{y:04}")),
        4 => date(format!("{d:02}.{m:02}.{yy:02}")),
        104 => date(format!("{d:02}.{m:02}.{y:04}")),
        5 => date(format!("{d:02}-{m:02}-{yy:02}")),
        105 => date(format!("{d:02}-{m:02}-{y:04}")),
        6 => date(format!("{d:02} {mon} {yy:02}")),
        106 => date(format!("{d:02} {mon} {y:04}")),
        7 => date(format!("{mon} {d:02}, {yy:02}")),
        107 => date(format!("{mon} {d:02}, {y:04}")),
        8 | 24 | 108 => time(p.hms()),
        9 | 109 => Ok(p.join(
            format!("{mon} {d:2} {y:04}"),
            format!(
                "{h12:2}:{:02}:{:02}{}{ampm}",
                p.minute,
                p.second,
                p.fraction(':')
            ),
        )),
        10 => date(format!("{m:02}-{d:02}-{yy:02}")),
        110 => date(format!("{m:02}-{d:02}-{y:04}")),
        11 => date(format!("{yy:02}/{m:02}/{d:02}")),
        111 => date(format!("{y:04}/{m:02}/{d:02}")),
        12 => date(format!("{yy:02}{m:02}{d:02}")),
        112 => date(format!("{y:04}{m:02}{d:02}")),
        13 | 113 => Ok(p.join(
            format!("{d:02} {mon} {y:04}"),
            format!("{}{}", p.hms(), p.fraction(':')),
        )),
        14 | 114 => time(format!("{}{}{}", p.hms(), p.fraction(':'), p.zone(" "))),
        20 | 120 => Ok(p.join(format!("{y:04}-{m:02}-{d:02}"), p.hms())),
        21 | 25 | 121 => Ok(p.join(
            format!("{y:04}-{m:02}-{d:02}"),
            format!("{}{}", p.hms(), p.fraction('.')),
        )),
        22 => Ok(p.join(
            format!("{m:02}/{d:02}/{yy:02}"),
            format!("{h12:2}:{:02}:{:02} {ampm}", p.minute, p.second),
        )),
        23 => date(format!("{y:04}-{m:02}-{d:02}")),
        126 | 127 => Ok(iso(v, ty, &p, style)),
        _ => Err(unsupported()),
    }
}

/// ISO 8601. The old types drop a zero fraction; style 127 moves an offset to UTC.
fn iso(v: &Value, ty: &SqlType, p: &Parts, style: i32) -> String {
    if let (127, Value::DateTimeOffset(d)) = (style, v) {
        let utc = Value::DateTime2(crate::DateTime2 {
            days: d.days,
            time: d.time,
        });
        let ty = SqlType::datetime2(ty.scale);
        let p = parts(&utc, &ty, p.language);
        return iso(&utc, &ty, &p, 126) + "Z";
    }
    let fraction = if p.fraction.bytes().all(|b| b == b'0') && p.old {
        String::new()
    } else {
        p.fraction('.')
    };
    let date = format!("{:04}-{:02}-{:02}", p.year, p.month, p.day);
    let time = format!("{}{fraction}{}", p.hms(), p.zone(""));
    match (p.has_date, p.has_time) {
        (true, true) => format!("{date}T{time}"),
        (true, false) => date,
        _ => time,
    }
}
