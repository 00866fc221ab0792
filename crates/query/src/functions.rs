//! Built-in scalar functions: name, arguments, result type and code, in one table.
//!
//! The bare word of date functions comes as a first, constant argument.

use std::fmt;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{Date, DateTime, DateTime2, SqlType, TypeId, Value, temporal};

use crate::cx::Cx;
use crate::expr::Expr;

pub struct ScalarFunction {
    /// Lower case.
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    pub ty: fn(&[Expr]) -> SqlType,
    pub run: fn(&[Value], &[Expr], &SqlType, &mut Cx<'_>) -> SqlResult<Value>,
    /// NULL in, NULL out.
    pub strict: bool,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The table has one entry a function.
impl PartialEq for ScalarFunction {
    fn eq(&self, other: &ScalarFunction) -> bool {
        self.name == other.name
    }
}

/// The function of that name, in any case.
pub fn find(name: &str) -> Option<&'static ScalarFunction> {
    FUNCTIONS.iter().find(|f| f.name.eq_ignore_ascii_case(name))
}

type Run = fn(&[Value], &[Expr], &SqlType, &mut Cx<'_>) -> SqlResult<Value>;

const fn strict(
    name: &'static str,
    min: usize,
    max: usize,
    ty: fn(&[Expr]) -> SqlType,
    run: Run,
) -> ScalarFunction {
    ScalarFunction {
        name,
        min_args: min,
        max_args: max,
        ty,
        run,
        strict: true,
    }
}

const fn loose(
    name: &'static str,
    min: usize,
    max: usize,
    ty: fn(&[Expr]) -> SqlType,
    run: Run,
) -> ScalarFunction {
    ScalarFunction {
        name,
        min_args: min,
        max_args: max,
        ty,
        run,
        strict: false,
    }
}

fn int(_: &[Expr]) -> SqlType {
    SqlType::INT
}

fn float(_: &[Expr]) -> SqlType {
    SqlType::FLOAT
}

fn datetime(_: &[Expr]) -> SqlType {
    SqlType::DATETIME
}

fn datetime2(_: &[Expr]) -> SqlType {
    SqlType::datetime2(7)
}

fn guid(_: &[Expr]) -> SqlType {
    SqlType::GUID
}

/// The first argument's type, where a string stays of its kind and varies in length.
fn string(args: &[Expr]) -> SqlType {
    let ty = args[0].ty;
    match ty.id {
        TypeId::VarChar | TypeId::NVarChar | TypeId::VarBinary => ty,
        TypeId::Char => SqlType {
            id: TypeId::VarChar,
            ..ty
        },
        TypeId::NChar => SqlType {
            id: TypeId::NVarChar,
            ..ty
        },
        _ => SqlType::varchar(8000),
    }
}

/// Strings that may grow.
fn long_string(args: &[Expr]) -> SqlType {
    let ty = string(args);
    if ty.is_max() {
        ty
    } else {
        SqlType { length: 8000, ..ty }
    }
}

fn one_char(_: &[Expr]) -> SqlType {
    SqlType::char(1)
}

fn one_nchar(_: &[Expr]) -> SqlType {
    SqlType::nchar(1)
}

fn same(args: &[Expr]) -> SqlType {
    args[0].ty
}

fn second_same(args: &[Expr]) -> SqlType {
    // DATEADD(part, n, date): a string is read as a datetime.
    match args[2].ty.id {
        id if id.is_temporal() => args[2].ty,
        _ => SqlType::DATETIME,
    }
}

fn nvarchar30(_: &[Expr]) -> SqlType {
    SqlType::nvarchar(30)
}

const FUNCTIONS: &[ScalarFunction] = &[
    loose("getdate", 0, 0, datetime, |_, _, _, cx| {
        now_datetime(cx, true)
    }),
    loose("current_timestamp", 0, 0, datetime, |_, _, _, cx| {
        now_datetime(cx, true)
    }),
    loose("getutcdate", 0, 0, datetime, |_, _, _, cx| {
        now_datetime(cx, false)
    }),
    loose("sysdatetime", 0, 0, datetime2, |_, _, _, cx| {
        Ok(now_datetime2(cx, true))
    }),
    loose("sysutcdatetime", 0, 0, datetime2, |_, _, _, cx| {
        Ok(now_datetime2(cx, false))
    }),
    loose("newid", 0, 0, guid, |_, _, _, cx| {
        let (a, b) = (
            cx.host.random().to_le_bytes(),
            cx.host.random().to_le_bytes(),
        );
        let mut g = [0u8; 16];
        g[..8].copy_from_slice(&a);
        g[8..].copy_from_slice(&b);
        g[7] = g[7] & 0x0f | 0x40;
        g[8] = g[8] & 0x3f | 0x80;
        Ok(Value::Guid(g))
    }),
    loose("rand", 0, 1, float, |_, _, _, cx| {
        Ok(Value::Float(
            (cx.host.random() >> 11) as f64 / (1u64 << 53) as f64,
        ))
    }),
    loose("isnull", 2, 2, same, |v, args, ty, cx| match &v[0] {
        Value::Null => duramen_types::convert(&v[1], &args[1].ty, ty, None, &cx.convert),
        first => Ok(first.clone()),
    }),
    loose(
        "concat",
        2,
        254,
        |args| concat_type(args),
        |v, args, ty, cx| {
            let mut text = Vec::new();
            for (value, arg) in v.iter().zip(args) {
                let to = SqlType::nvarchar(4001);
                if let Value::NVarChar(u) =
                    duramen_types::convert(value, &arg.ty, &to, None, &cx.convert)?
                {
                    text.extend(u);
                }
            }
            Ok(text_value(&text, ty))
        },
    ),
    strict("len", 1, 1, int, |v, _, _, _| {
        let units = units(&v[0]);
        let end = units.iter().rposition(|u| *u != 32).map_or(0, |i| i + 1);
        Ok(Value::Int(end as i32))
    }),
    strict("datalength", 1, 1, int, |v, args, _, _| {
        Ok(v[0]
            .data_length(&args[0].ty)
            .map_or(Value::Null, |n| Value::Int(n as i32)))
    }),
    strict("upper", 1, 1, string, |v, _, ty, _| {
        Ok(map_text(&v[0], ty, |t| t.to_uppercase()))
    }),
    strict("lower", 1, 1, string, |v, _, ty, _| {
        Ok(map_text(&v[0], ty, |t| t.to_lowercase()))
    }),
    strict("ltrim", 1, 1, string, |v, _, ty, _| {
        Ok(map_text(&v[0], ty, |t| {
            t.trim_start_matches(' ').to_owned()
        }))
    }),
    strict("rtrim", 1, 1, string, |v, _, ty, _| {
        Ok(map_text(&v[0], ty, |t| t.trim_end_matches(' ').to_owned()))
    }),
    strict("trim", 1, 1, string, |v, _, ty, _| {
        Ok(map_text(&v[0], ty, |t| t.trim_matches(' ').to_owned()))
    }),
    strict("reverse", 1, 1, string, |v, _, ty, _| {
        let mut u = units(&v[0]);
        u.reverse();
        Ok(text_value(&u, ty))
    }),
    strict("left", 2, 2, string, |v, _, ty, _| {
        let u = units(&v[0]);
        let n = length(&v[1], "left")?.min(u.len());
        Ok(text_value(&u[..n], ty))
    }),
    strict("right", 2, 2, string, |v, _, ty, _| {
        let u = units(&v[0]);
        let n = length(&v[1], "right")?.min(u.len());
        Ok(text_value(&u[u.len() - n..], ty))
    }),
    strict("substring", 3, 3, string, |v, _, ty, _| {
        let start = v[1].as_i64().unwrap_or(1) - 1;
        let len = v[2].as_i64().unwrap_or(0);
        if len < 0 {
            return Err(SqlError::new(
                &messages::INVALID_LENGTH_SUBSTRING,
                &[&"substring"],
            ));
        }
        let cut = |total: usize| {
            let from = start.clamp(0, total as i64) as usize;
            let to = start.saturating_add(len).clamp(from as i64, total as i64) as usize;
            from..to
        };
        Ok(match &v[0] {
            Value::Binary(b) => Value::Binary(b[cut(b.len())].to_vec()),
            other => {
                let u = units(other);
                text_value(&u[cut(u.len())], ty)
            }
        })
    }),
    strict("replicate", 2, 2, long_string, |v, _, ty, _| {
        let Some(n) = v[1].as_i64().filter(|n| *n >= 0) else {
            return Ok(Value::Null);
        };
        let u = units(&v[0]);
        let limit = if ty.is_max() {
            1 << 30
        } else {
            8000 / if ty.id.is_nchar() { 2 } else { 1 }
        };
        let total = (u.len() as u64).saturating_mul(n as u64).min(limit) as usize;
        Ok(text_value(
            &u.iter().copied().cycle().take(total).collect::<Vec<_>>(),
            ty,
        ))
    }),
    strict(
        "space",
        1,
        1,
        |_| SqlType::varchar(8000),
        |v, _, _, _| {
            Ok(match v[0].as_i64() {
                Some(n) if n >= 0 => Value::VarChar(vec![b' '; n.min(8000) as usize]),
                _ => Value::Null,
            })
        },
    ),
    strict("replace", 3, 3, long_string, |v, _, ty, _| {
        let (text, from, to) = (units(&v[0]), units(&v[1]), units(&v[2]));
        Ok(text_value(&replace(&text, &from, &to), ty))
    }),
    strict("stuff", 4, 4, long_string, |v, _, ty, _| {
        let text = units(&v[0]);
        let (Some(start), Some(len)) = (v[1].as_i64(), v[2].as_i64()) else {
            return Ok(Value::Null);
        };
        if start < 1 || len < 0 || start as usize > text.len() {
            return Ok(Value::Null);
        }
        let from = start as usize - 1;
        let to = (from + len as usize).min(text.len());
        let mut out = text[..from].to_vec();
        out.extend(units(&v[3]));
        out.extend_from_slice(&text[to..]);
        Ok(text_value(&out, ty))
    }),
    strict("charindex", 2, 3, int, |v, _, _, _| {
        let (needle, text) = (fold(&units(&v[0])), fold(&units(&v[1])));
        let from = v.get(2).and_then(Value::as_i64).unwrap_or(1).max(1) as usize - 1;
        let at = (from..text.len()).find(|i| !needle.is_empty() && text[*i..].starts_with(&needle));
        Ok(Value::Int(at.map_or(0, |i| i as i32 + 1)))
    }),
    strict("ascii", 1, 1, int, |v, _, _, _| {
        let first = units(&v[0]).first().copied();
        Ok(first.map_or(Value::Null, |u| {
            Value::Int(duramen_types::cp1252::best_fit(u) as i32)
        }))
    }),
    strict("unicode", 1, 1, int, |v, _, _, _| {
        Ok(units(&v[0])
            .first()
            .map_or(Value::Null, |u| Value::Int(*u as i32)))
    }),
    strict("char", 1, 1, one_char, |v, _, _, _| {
        let code = v[0].as_i64().and_then(|n| u8::try_from(n).ok());
        Ok(code.map_or(Value::Null, |b| Value::VarChar(vec![b])))
    }),
    strict("nchar", 1, 1, one_nchar, |v, _, _, _| {
        let code = v[0].as_i64().and_then(|n| u16::try_from(n).ok());
        Ok(code.map_or(Value::Null, |u| Value::NVarChar(vec![u])))
    }),
    strict(
        "quotename",
        1,
        2,
        |_| SqlType::nvarchar(258),
        |v, _, _, _| {
            let text = v[0].as_text().unwrap_or_default();
            let quote = v
                .get(1)
                .and_then(Value::as_text)
                .unwrap_or_else(|| "[".to_owned());
            let (open, close) = match quote.as_str() {
                "'" => ('\'', '\''),
                "\"" => ('"', '"'),
                _ => ('[', ']'),
            };
            let doubled = text.replace(close, &format!("{close}{close}"));
            Ok(Value::nvarchar(&format!("{open}{doubled}{close}")))
        },
    ),
    strict("abs", 1, 1, same, |v, args, _, _| {
        let negative = match &v[0] {
            Value::Float(f) => *f < 0.0,
            Value::Real(f) => *f < 0.0,
            Value::Decimal(d) => d.mantissa() < 0,
            Value::Money(m) => *m < 0,
            Value::SmallMoney(m) => *m < 0,
            other => other.as_i64().is_some_and(|n| n < 0),
        };
        if negative {
            duramen_types::negate(&v[0], &args[0].ty)
        } else {
            Ok(v[0].clone())
        }
    }),
    strict("floor", 1, 1, same, |v, _, _, _| {
        Ok(round_with(&v[0], f64::floor, i128::div_euclid))
    }),
    strict("ceiling", 1, 1, same, |v, _, _, _| {
        Ok(round_with(&v[0], f64::ceil, |m, d| -(-m).div_euclid(d)))
    }),
    strict(
        "sqrt",
        1,
        1,
        float,
        |v, args, _, cx| match duramen_types::convert(
            &v[0],
            &args[0].ty,
            &SqlType::FLOAT,
            None,
            &cx.convert,
        )? {
            Value::Float(f) if f >= 0.0 => Ok(Value::Float(f.sqrt())),
            _ => Err(SqlError::new(&messages::INVALID_FLOATING_POINT, &[])),
        },
    ),
    strict("datediff", 3, 3, int, |v, args, _, cx| {
        let (a, b) = (
            instant(&v[1], &args[1].ty, cx)?,
            instant(&v[2], &args[2].ty, cx)?,
        );
        let n = datediff(&part(&v[0]), a, b)?;
        i32::try_from(n)
            .map(Value::Int)
            .map_err(|_| SqlError::new(&messages::DATEDIFF_OVERFLOW, &[&"datediff"]))
    }),
    strict(
        "datediff_big",
        3,
        3,
        |_| SqlType::BIGINT,
        |v, args, _, cx| {
            let (a, b) = (
                instant(&v[1], &args[1].ty, cx)?,
                instant(&v[2], &args[2].ty, cx)?,
            );
            datediff(&part(&v[0]), a, b).map(Value::BigInt)
        },
    ),
    strict("dateadd", 3, 3, second_same, |v, args, ty, cx| {
        let from = instant(&v[2], &args[2].ty, cx)?;
        let n = v[1].as_i64().unwrap_or(0);
        let overflow = || SqlError::new(&messages::DATETIME_ADD_OVERFLOW, &[&ty.id.name()]);
        let (days, time) = dateadd(&part(&v[0]), n, from)?.ok_or_else(overflow)?;
        let sum = Value::DateTime2(DateTime2 { days, time });
        duramen_types::convert(&sum, &SqlType::datetime2(7), ty, None, &cx.convert)
    }),
    strict("datepart", 2, 2, int, |v, args, _, cx| {
        let at = instant(&v[1], &args[1].ty, cx)?;
        datepart(&part(&v[0]), at).map(|n| Value::Int(n as i32))
    }),
    strict("year", 1, 1, int, |v, args, _, cx| {
        datepart("year", instant(&v[0], &args[0].ty, cx)?).map(|n| Value::Int(n as i32))
    }),
    strict("month", 1, 1, int, |v, args, _, cx| {
        datepart("month", instant(&v[0], &args[0].ty, cx)?).map(|n| Value::Int(n as i32))
    }),
    strict("day", 1, 1, int, |v, args, _, cx| {
        datepart("day", instant(&v[0], &args[0].ty, cx)?).map(|n| Value::Int(n as i32))
    }),
    strict("datename", 2, 2, nvarchar30, |v, args, _, cx| {
        let at = instant(&v[1], &args[1].ty, cx)?;
        let word = part(&v[0]);
        let n = datepart(&word, at)?;
        Ok(Value::nvarchar(&match canonical(&word) {
            Some("month") => MONTHS[n as usize - 1].to_owned(),
            Some("weekday") => WEEKDAYS[n as usize - 1].to_owned(),
            _ => n.to_string(),
        }))
    }),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Days since 0001-01-01 and 100 ns units of the day.
type Instant = (i32, u64);

fn now(cx: &Cx<'_>, local: bool) -> Instant {
    let (ns, offset) = cx.host.now();
    let minutes = if local { offset as i64 } else { 0 };
    let units = (ns / 100) as i64 + minutes * 60 * temporal::UNITS_PER_SECOND as i64;
    let per_day = temporal::UNITS_PER_DAY as i64;
    const DAYS_TO_1970: i32 = 719_162;
    (
        DAYS_TO_1970 + units.div_euclid(per_day) as i32,
        units.rem_euclid(per_day) as u64,
    )
}

fn now_datetime(cx: &Cx<'_>, local: bool) -> SqlResult<Value> {
    let (days, units) = now(cx, local);
    Ok(DateTime::from_days_units(days, units).map_or(Value::Null, Value::DateTime))
}

fn now_datetime2(cx: &Cx<'_>, local: bool) -> Value {
    let (days, time) = now(cx, local);
    Value::DateTime2(DateTime2 { days, time })
}

fn instant(v: &Value, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Instant> {
    Ok(match v {
        Value::Date(Date(days)) => (*days, 0),
        Value::Time(t) => (temporal::DAYS_TO_1900, t.0),
        Value::DateTime(d) => (d.days_since_0001(), d.units()),
        Value::DateTime2(d) => (d.days, d.time),
        Value::DateTimeOffset(d) => d.local(),
        other => {
            match duramen_types::convert(other, ty, &SqlType::datetime2(7), None, &cx.convert)? {
                Value::DateTime2(d) => (d.days, d.time),
                _ => (temporal::DAYS_TO_1900, 0),
            }
        }
    })
}

fn part(v: &Value) -> String {
    v.as_text().unwrap_or_default()
}

/// The full name of a datepart or one of its abbreviations.
fn canonical(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "year" | "yy" | "yyyy" => "year",
        "quarter" | "qq" | "q" => "quarter",
        "month" | "mm" | "m" => "month",
        "dayofyear" | "dy" | "y" => "dayofyear",
        "day" | "dd" | "d" => "day",
        "week" | "wk" | "ww" => "week",
        "weekday" | "dw" | "w" => "weekday",
        "hour" | "hh" => "hour",
        "minute" | "mi" | "n" => "minute",
        "second" | "ss" | "s" => "second",
        "millisecond" | "ms" => "millisecond",
        "microsecond" | "mcs" => "microsecond",
        "nanosecond" | "ns" => "nanosecond",
        _ => return None,
    })
}

fn unknown_part(word: &str, function: &str) -> SqlError {
    SqlError::new(&messages::INVALID_OPTION_USE, &[&word, &function])
}

/// Boundaries crossed between two instants.
fn datediff(word: &str, a: Instant, b: Instant) -> SqlResult<i64> {
    let name = canonical(word).ok_or_else(|| unknown_part(word, "datediff"))?;
    let ((ya, ma, _), (yb, mb, _)) = (temporal::ymd_from_days(a.0), temporal::ymd_from_days(b.0));
    let months = |y: i32, m: u32| y as i64 * 12 + m as i64 - 1;
    let ticks = |unit: u64| {
        let per_day = (temporal::UNITS_PER_DAY / unit) as i64;
        (b.0 as i64 - a.0 as i64) * per_day + (b.1 / unit) as i64 - (a.1 / unit) as i64
    };
    Ok(match name {
        "year" => (yb - ya) as i64,
        "quarter" => months(yb, mb) / 3 - months(ya, ma) / 3,
        "month" => months(yb, mb) - months(ya, ma),
        "week" => {
            // Weeks begin on Sunday whatever DATEFIRST says; day 0 (0001-01-01) is a Monday.
            (b.0 as i64 + 1).div_euclid(7) - (a.0 as i64 + 1).div_euclid(7)
        }
        "dayofyear" | "day" | "weekday" => b.0 as i64 - a.0 as i64,
        "hour" => ticks(3600 * temporal::UNITS_PER_SECOND),
        "minute" => ticks(60 * temporal::UNITS_PER_SECOND),
        "second" => ticks(temporal::UNITS_PER_SECOND),
        "millisecond" => ticks(10_000),
        "microsecond" => ticks(10),
        _ => ticks(1)
            .checked_mul(100)
            .ok_or_else(|| SqlError::new(&messages::DATEDIFF_OVERFLOW, &[&"datediff"]))?,
    })
}

/// `None` when the result leaves the calendar.
fn dateadd(word: &str, n: i64, from: Instant) -> SqlResult<Option<Instant>> {
    let name = canonical(word).ok_or_else(|| unknown_part(word, "dateadd"))?;
    let months = match name {
        "year" => n.checked_mul(12),
        "quarter" => n.checked_mul(3),
        "month" => Some(n),
        _ => return Ok(add_units(name, n, from)),
    };
    let Some(months) = months else {
        return Ok(None);
    };
    let (y, m, d) = temporal::ymd_from_days(from.0);
    let Some(total) = (y as i64 * 12 + m as i64 - 1).checked_add(months) else {
        return Ok(None);
    };
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
    if !(1..=9999).contains(&year) {
        return Ok(None);
    }
    let day = d.min(temporal::days_in_month(year as i32, month));
    Ok(temporal::days_from_ymd(year as i32, month, day).map(|days| (days, from.1)))
}

fn add_units(name: &str, n: i64, from: Instant) -> Option<Instant> {
    let second = temporal::UNITS_PER_SECOND as i128;
    let n = n as i128;
    let delta = match name {
        "week" => n * 7 * temporal::UNITS_PER_DAY as i128,
        "hour" => n * 3600 * second,
        "minute" => n * 60 * second,
        "second" => n * second,
        "millisecond" => n * 10_000,
        "microsecond" => n * 10,
        "nanosecond" => n / 100,
        _ => n * temporal::UNITS_PER_DAY as i128,
    };
    let per_day = temporal::UNITS_PER_DAY as i128;
    let total = from.0 as i128 * per_day + from.1 as i128 + delta;
    let days = total.div_euclid(per_day);
    (0..=temporal::MAX_DAYS as i128)
        .contains(&days)
        .then(|| (days as i32, total.rem_euclid(per_day) as u64))
}

fn datepart(word: &str, at: Instant) -> SqlResult<i64> {
    let name = canonical(word).ok_or_else(|| unknown_part(word, "datepart"))?;
    let (y, m, d) = temporal::ymd_from_days(at.0);
    let second = temporal::UNITS_PER_SECOND;
    Ok(match name {
        "year" => y as i64,
        "quarter" => (m as i64 - 1) / 3 + 1,
        "month" => m as i64,
        "day" => d as i64,
        "dayofyear" => temporal::day_of_year(at.0) as i64,
        "week" => {
            let first = temporal::days_from_ymd(y, 1, 1).unwrap_or(0) as i64;
            (at.0 as i64 + 1).div_euclid(7) - (first + 1).div_euclid(7) + 1
        }
        "weekday" => (at.0 as i64 + 1).rem_euclid(7) + 1,
        "hour" => (at.1 / (3600 * second)) as i64,
        "minute" => (at.1 / (60 * second) % 60) as i64,
        "second" => (at.1 / second % 60) as i64,
        "millisecond" => (at.1 % second / 10_000) as i64,
        "microsecond" => (at.1 % second / 10) as i64,
        _ => (at.1 % second * 100) as i64,
    })
}

fn concat_type(args: &[Expr]) -> SqlType {
    let national = args.iter().any(|a| a.ty.id.is_nchar());
    let long = args.iter().any(|a| a.ty.is_max());
    match (national, long) {
        (true, true) => SqlType::NVARCHAR_MAX,
        (true, false) => SqlType::nvarchar(4000),
        (false, true) => SqlType::VARCHAR_MAX,
        (false, false) => SqlType::varchar(8000),
    }
}

/// UTF-16 units of a string; other values as their text.
fn units(v: &Value) -> Vec<u16> {
    match v {
        Value::NVarChar(u) => u.clone(),
        Value::VarChar(b) => duramen_types::cp1252::decode_units(b),
        Value::Binary(b) => b.iter().map(|b| *b as u16).collect(),
        other => other
            .as_i64()
            .map(|n| n.to_string().encode_utf16().collect())
            .unwrap_or_default(),
    }
}

fn text_value(units: &[u16], ty: &SqlType) -> Value {
    if ty.id.is_nchar() {
        Value::NVarChar(units.to_vec())
    } else {
        Value::VarChar(duramen_types::cp1252::encode_units(units))
    }
}

fn map_text(v: &Value, ty: &SqlType, f: impl Fn(String) -> String) -> Value {
    let mapped: Vec<u16> = f(String::from_utf16_lossy(&units(v)))
        .encode_utf16()
        .collect();
    text_value(&mapped, ty)
}

fn length(v: &Value, function: &str) -> SqlResult<usize> {
    match v.as_i64() {
        Some(n) if n >= 0 => Ok(n as usize),
        _ => Err(SqlError::new(&messages::INVALID_LENGTH, &[&function])),
    }
}

fn fold(units: &[u16]) -> Vec<u16> {
    units
        .iter()
        .map(|u| {
            char::from_u32(*u as u32)
                .and_then(|c| c.to_lowercase().next())
                .map_or(*u, |c| c as u16)
        })
        .collect()
}

fn replace(text: &[u16], from: &[u16], to: &[u16]) -> Vec<u16> {
    if from.is_empty() {
        return text.to_vec();
    }
    let (folded, needle) = (fold(text), fold(from));
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        if folded[i..].starts_with(&needle) {
            out.extend_from_slice(to);
            i += from.len();
        } else {
            out.push(text[i]);
            i += 1;
        }
    }
    out
}

fn round_with(v: &Value, float: fn(f64) -> f64, exact: fn(i128, i128) -> i128) -> Value {
    match v {
        Value::Float(f) => Value::Float(float(*f)),
        Value::Real(f) => Value::Real(float(*f as f64) as f32),
        Value::Money(m) => Value::Money(exact(*m as i128, 10_000) as i64 * 10_000),
        Value::SmallMoney(m) => Value::SmallMoney(exact(*m as i128, 10_000) as i32 * 10_000),
        Value::Decimal(d) => {
            let unit = duramen_types::POW10[d.scale() as usize];
            let rounded = exact(d.mantissa(), unit) * unit;
            duramen_types::Decimal::new(rounded, 38, d.scale()).map_or(Value::Null, Value::Decimal)
        }
        other => other.clone(),
    }
}

/// Errors 174 and 189: too few or too many arguments.
pub fn check_count(function: &ScalarFunction, given: usize) -> SqlResult<()> {
    let (min, max) = (function.min_args, function.max_args);
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(if min == max {
        SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &[&function.name, &min])
    } else {
        SqlError::new(
            &messages::FUNCTION_ARGUMENT_RANGE,
            &[&function.name, &min, &max],
        )
    })
}
