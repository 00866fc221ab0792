//! Date functions: the clock of the host, and what `duramen_types::datefn` computes.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::datefn::{self, DatePart, FromParts};
use duramen_types::{SqlType, TypeId, Value};

use super::Param::{Date, Int, OldDate, Part, Text};
use super::{ScalarFunction, doc, int, small, strict, whole};
use crate::cx::Cx;
use crate::expr::{Expr, Kind};

fn datetime(_: &[Expr]) -> SqlType {
    SqlType::DATETIME
}

fn smalldatetime(_: &[Expr]) -> SqlType {
    SqlType::SMALLDATETIME
}

fn datetime2(_: &[Expr]) -> SqlType {
    SqlType::datetime2(7)
}

fn datetimeoffset(_: &[Expr]) -> SqlType {
    SqlType::datetimeoffset(7)
}

/// With the fractional digits of the argument.
fn same_digits(args: &[Expr]) -> SqlType {
    let ty = args[0].ty;
    SqlType::datetimeoffset(match ty.id {
        TypeId::DateTimeOffset | TypeId::DateTime2 | TypeId::Time => ty.scale,
        TypeId::DateTime => 3,
        TypeId::SmallDateTime | TypeId::Date => 0,
        _ => 7,
    })
}

fn date(_: &[Expr]) -> SqlType {
    SqlType::DATE
}

fn bigint(_: &[Expr]) -> SqlType {
    SqlType::BIGINT
}

fn nvarchar30(_: &[Expr]) -> SqlType {
    SqlType::nvarchar(30)
}

fn second(args: &[Expr]) -> SqlType {
    args[1].ty
}

fn third(args: &[Expr]) -> SqlType {
    args[2].ty
}

/// The scale given as a constant last argument of TIMEFROMPARTS and its kin.
fn scale_of(args: &[Expr]) -> u8 {
    match args.last().map(|e| &e.kind) {
        Some(Kind::Const(v)) => v.as_i64().map_or(7, |n| n.clamp(0, 7) as u8),
        Some(Kind::Convert { input, .. }) => match &input.kind {
            Kind::Const(v) => v.as_i64().map_or(7, |n| n.clamp(0, 7) as u8),
            _ => 7,
        },
        _ => 7,
    }
}

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc(
            "getdate",
            "the time, as datetime",
            "DATEDIFF(day, GETDATE(), SYSDATETIME())",
        ),
        &[],
        datetime,
        |_, _, ty, cx| now(cx, true, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "current_timestamp",
            "the time, as GETDATE",
            "DATEDIFF(day, CURRENT_TIMESTAMP, GETDATE())",
        ),
        &[],
        datetime,
        |_, _, ty, cx| now(cx, true, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "getutcdate",
            "the UTC time, as datetime",
            "DATEDIFF(day, GETUTCDATE(), SYSUTCDATETIME())",
        ),
        &[],
        datetime,
        |_, _, ty, cx| now(cx, false, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "sysdatetime",
            "the time, as datetime2(7)",
            "DATEDIFF(day, SYSDATETIME(), GETDATE())",
        ),
        &[],
        datetime2,
        |_, _, ty, cx| now(cx, true, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "sysutcdatetime",
            "the UTC time, as datetime2(7)",
            "DATEDIFF(day, SYSUTCDATETIME(), GETUTCDATE())",
        ),
        &[],
        datetime2,
        |_, _, ty, cx| now(cx, false, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "sysdatetimeoffset",
            "the time with its offset",
            "DATEPART(tzoffset, SYSDATETIMEOFFSET())",
        ),
        &[],
        datetimeoffset,
        |_, _, ty, cx| now(cx, true, ty),
    )
    .stable_in_statement(),
    strict(
        doc(
            "dateadd",
            "a time so many parts later",
            "DATEADD(month, 1, CAST('2024-01-31' AS date))",
        ),
        &[Part, Int, OldDate],
        third,
        |v, _, ty, _| datefn::dateadd(part(&v[0])?, whole(&v[1]), &v[2], ty),
    ),
    strict(
        doc(
            "datediff",
            "how many boundaries of a part lie between two times",
            "DATEDIFF(day, '2024-02-28', '2024-03-01')",
        ),
        &[Part, Date, Date],
        int,
        |v, _, _, cx| datefn::datediff(part(&v[0])?, &v[1], &v[2], &cx.convert).map(Value::Int),
    ),
    strict(
        doc(
            "datediff_big",
            "the same as bigint",
            "DATEDIFF_BIG(second, '2000-01-01', '2100-01-01')",
        ),
        &[Part, Date, Date],
        bigint,
        |v, _, _, cx| {
            datefn::datediff_big(part(&v[0])?, &v[1], &v[2], &cx.convert).map(Value::BigInt)
        },
    ),
    strict(
        doc(
            "datepart",
            "a part of a time as a number",
            "DATEPART(quarter, '2024-05-17')",
        ),
        &[Part, Date],
        int,
        |v, args, _, cx| part_of(part(&v[0])?, &v[1], &args[1], cx),
    ),
    strict(
        doc(
            "datename",
            "a part of a time as text",
            "DATENAME(weekday, '2024-02-29')",
        ),
        &[Part, Date],
        nvarchar30,
        |v, args, _, cx| {
            let first = datefirst(cx);
            let name = datefn::datename(part(&v[0])?, &v[1], &args[1].ty, first, &cx.convert)?;
            Ok(Value::nvarchar(&name))
        },
    )
    .stable_in_statement(),
    strict(
        doc(
            "datetrunc",
            "a time down to a part",
            "DATETRUNC(month, CAST('2024-05-17' AS date))",
        ),
        &[Part, Date],
        second,
        |v, _, ty, cx| datefn::datetrunc(part(&v[0])?, &v[1], ty, datefirst(cx), &cx.convert),
    ),
    // The origin of datetime and of the others is 1900-01-01.
    strict(
        doc(
            "date_bucket",
            "the beginning of the span that a time falls into",
            "DATE_BUCKET(week, 2, CAST('2024-05-17' AS date))",
        ),
        &[Part, Int, Date, Date],
        third,
        |v, args, ty, cx| {
            let origin = match v.get(3) {
                Some(origin) => duramen_types::convert(origin, &args[3].ty, ty, None, &cx.convert)?,
                None => {
                    let text = Value::varchar("1900-01-01");
                    duramen_types::convert(&text, &SqlType::varchar(10), ty, None, &cx.convert)?
                }
            };
            datefn::date_bucket(part(&v[0])?, whole(&v[1]), &v[2], ty, &origin, &cx.convert)
        },
    )
    .at_least(3),
    strict(
        doc("year", "the year", "YEAR('2024-02-29')"),
        &[Date],
        int,
        |v, args, _, cx| part_of(DatePart::Year, &v[0], &args[0], cx),
    ),
    strict(
        doc("month", "the month", "MONTH('2024-02-29')"),
        &[Date],
        int,
        |v, args, _, cx| part_of(DatePart::Month, &v[0], &args[0], cx),
    ),
    strict(
        doc("day", "the day of the month", "DAY('2024-02-29')"),
        &[Date],
        int,
        |v, args, _, cx| part_of(DatePart::Day, &v[0], &args[0], cx),
    ),
    // A missing or NULL number of months is none.
    strict(
        doc(
            "eomonth",
            "the last day of a month",
            "EOMONTH('2024-02-01')",
        ),
        &[Date, Int],
        date,
        |v, _, _, cx| match &v[0] {
            Value::Null => Ok(Value::Null),
            at => datefn::eomonth(at, v.get(1).map_or(0, whole), &cx.convert),
        },
    )
    .at_least(1)
    .sees_null(),
    strict(
        doc(
            "datefromparts",
            "a date of its parts",
            "DATEFROMPARTS(2024, 2, 29)",
        ),
        &[Int, Int, Int],
        date,
        |v, _, _, _| datefn::date_from_parts(&parts(v)?),
    ),
    strict(
        doc(
            "datetimefromparts",
            "a datetime of its parts",
            "DATETIMEFROMPARTS(2024, 2, 29, 1, 2, 3, 500)",
        ),
        &[Int, Int, Int, Int, Int, Int, Int],
        datetime,
        |v, _, _, _| datefn::datetime_from_parts(&parts(v)?),
    ),
    strict(
        doc(
            "smalldatetimefromparts",
            "a smalldatetime of its parts",
            "SMALLDATETIMEFROMPARTS(2024, 2, 29, 1, 2)",
        ),
        &[Int, Int, Int, Int, Int],
        smalldatetime,
        |v, _, _, _| datefn::smalldatetime_from_parts(&parts(v)?),
    ),
    strict(
        doc(
            "datetime2fromparts",
            "a datetime2 of its parts",
            "DATETIME2FROMPARTS(2024, 2, 29, 1, 2, 3, 5, 1)",
        ),
        &[Int, Int, Int, Int, Int, Int, Int, Int],
        |args| SqlType::datetime2(scale_of(args)),
        |v, _, _, _| {
            let precision = precision(&v[7]);
            datefn::datetime2_from_parts(&FromParts {
                precision,
                ..parts(v)?
            })
        },
    ),
    strict(
        doc(
            "datetimeoffsetfromparts",
            "a datetimeoffset of its parts",
            "DATETIMEOFFSETFROMPARTS(2024, 2, 29, 1, 2, 3, 0, 2, 0, 0)",
        ),
        &[Int, Int, Int, Int, Int, Int, Int, Int, Int, Int],
        |args| SqlType::datetimeoffset(scale_of(args)),
        |v, _, _, _| {
            let precision = precision(&v[9]);
            let parts = FromParts {
                precision,
                ..parts(v)?
            };
            datefn::datetimeoffset_from_parts(&parts, small(&v[7])?, small(&v[8])?)
        },
    ),
    strict(
        doc(
            "timefromparts",
            "a time of its parts",
            "TIMEFROMPARTS(1, 2, 3, 5, 1)",
        ),
        &[Int, Int, Int, Int, Int],
        |args| SqlType::time(scale_of(args)),
        |v, _, _, _| {
            datefn::time_from_parts(&FromParts {
                hour: small(&v[0])?,
                minute: small(&v[1])?,
                second: small(&v[2])?,
                fraction: small(&v[3])?,
                precision: precision(&v[4]),
                ..FromParts::default()
            })
        },
    ),
    strict(
        doc(
            "switchoffset",
            "a datetimeoffset at another offset",
            "SWITCHOFFSET(CAST('2024-02-29 12:00 +02:00' AS datetimeoffset(0)), '+00:00')",
        ),
        &[Date, Text],
        same_digits,
        |v, args, ty, cx| {
            let at = duramen_types::convert(&v[0], &args[0].ty, ty, None, &cx.convert)?;
            match at {
                Value::DateTimeOffset(d) => {
                    datefn::switchoffset(&d, offset(&v[1], "switchoffset")?)
                }
                other => Ok(other),
            }
        },
    ),
    strict(
        doc(
            "todatetimeoffset",
            "a time with an offset",
            "TODATETIMEOFFSET(CAST('2024-02-29 12:00' AS datetime2(0)), '+02:00')",
        ),
        &[Date, Text],
        same_digits,
        |v, _, _, cx| {
            datefn::todatetimeoffset(&v[0], offset(&v[1], "todatetimeoffset")?, &cx.convert)
        },
    ),
];

fn now(cx: &Cx<'_>, local: bool, ty: &SqlType) -> SqlResult<Value> {
    let (nanos, offset) = cx.host.now();
    let offset = if local { offset } else { 0 };
    match datefn::wall_clock(nanos as i128, offset) {
        Some(clock) => datefn::now_as(&clock, ty, &cx.convert),
        None => Err(SqlError::new(
            &messages::DATETIME_ADD_OVERFLOW,
            &[&ty.id.name()],
        )),
    }
}

fn part(v: &Value) -> SqlResult<DatePart> {
    let word = v.as_text().unwrap_or_default();
    DatePart::from_name(&word)
        .ok_or_else(|| SqlError::new(&messages::UNRECOGNIZED_OPTION, &[&word, &"datepart"]))
}

/// @@DATEFIRST; Sunday when the host has none.
fn datefirst(cx: &Cx<'_>) -> u8 {
    let set = cx.host.global("datefirst").ok().and_then(|v| v.as_i64());
    set.map_or(7, |n| n.clamp(1, 7) as u8)
}

fn part_of(part: DatePart, v: &Value, arg: &Expr, cx: &Cx<'_>) -> SqlResult<Value> {
    datefn::datepart(part, v, &arg.ty, datefirst(cx), &cx.convert).map(Value::Int)
}

/// Year, month, day, hour, minute, second, fraction, as many as there are.
fn parts(v: &[Value]) -> SqlResult<FromParts> {
    let at = |i: usize| v.get(i).map_or(Ok(0), small);
    Ok(FromParts {
        year: at(0)?,
        month: at(1)?,
        day: at(2)?,
        hour: at(3)?,
        minute: at(4)?,
        second: at(5)?,
        fraction: at(6)?,
        precision: 0,
    })
}

/// A precision no type has makes the value impossible (289).
fn precision(v: &Value) -> u8 {
    u8::try_from(whole(v)).unwrap_or(u8::MAX)
}

/// Minutes, or `+hh:mm`.
fn offset(v: &Value, function: &str) -> SqlResult<i32> {
    let text = v.as_text().unwrap_or_default();
    let minutes = text.trim().parse().ok();
    minutes
        .or_else(|| datefn::parse_offset(&text))
        .ok_or_else(|| SqlError::new(&messages::TIMEZONE_INVALID, &[&function]))
}
