//! Date functions: the clock of the host, and what `duramen_types::datefn` computes.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::datefn::{self, DatePart, FromParts};
use duramen_types::{SqlType, TypeId, Value};

use super::Param::{Date, Int, OldDate, Part, Text};
use super::{ScalarFunction, int, small, strict, whole};
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
    strict("getdate", &[], datetime, |_, _, ty, cx| now(cx, true, ty)),
    strict("current_timestamp", &[], datetime, |_, _, ty, cx| {
        now(cx, true, ty)
    }),
    strict("getutcdate", &[], datetime, |_, _, ty, cx| {
        now(cx, false, ty)
    }),
    strict("sysdatetime", &[], datetime2, |_, _, ty, cx| {
        now(cx, true, ty)
    }),
    strict("sysutcdatetime", &[], datetime2, |_, _, ty, cx| {
        now(cx, false, ty)
    }),
    strict("sysdatetimeoffset", &[], datetimeoffset, |_, _, ty, cx| {
        now(cx, true, ty)
    }),
    strict("dateadd", &[Part, Int, OldDate], third, |v, _, ty, _| {
        datefn::dateadd(part(&v[0])?, whole(&v[1]), &v[2], ty)
    }),
    strict("datediff", &[Part, Date, Date], int, |v, _, _, cx| {
        datefn::datediff(part(&v[0])?, &v[1], &v[2], &cx.convert).map(Value::Int)
    }),
    strict(
        "datediff_big",
        &[Part, Date, Date],
        bigint,
        |v, _, _, cx| {
            datefn::datediff_big(part(&v[0])?, &v[1], &v[2], &cx.convert).map(Value::BigInt)
        },
    ),
    strict("datepart", &[Part, Date], int, |v, args, _, cx| {
        part_of(part(&v[0])?, &v[1], &args[1], cx)
    }),
    strict("datename", &[Part, Date], nvarchar30, |v, args, _, cx| {
        let first = datefirst(cx);
        let name = datefn::datename(part(&v[0])?, &v[1], &args[1].ty, first, &cx.convert)?;
        Ok(Value::nvarchar(&name))
    }),
    strict("datetrunc", &[Part, Date], second, |v, _, ty, cx| {
        datefn::datetrunc(part(&v[0])?, &v[1], ty, datefirst(cx), &cx.convert)
    }),
    // The origin of datetime and of the others is 1900-01-01.
    strict(
        "date_bucket",
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
    strict("year", &[Date], int, |v, args, _, cx| {
        part_of(DatePart::Year, &v[0], &args[0], cx)
    }),
    strict("month", &[Date], int, |v, args, _, cx| {
        part_of(DatePart::Month, &v[0], &args[0], cx)
    }),
    strict("day", &[Date], int, |v, args, _, cx| {
        part_of(DatePart::Day, &v[0], &args[0], cx)
    }),
    // A missing or NULL number of months is none.
    strict("eomonth", &[Date, Int], date, |v, _, _, cx| match &v[0] {
        Value::Null => Ok(Value::Null),
        at => datefn::eomonth(at, v.get(1).map_or(0, whole), &cx.convert),
    })
    .at_least(1)
    .sees_null(),
    strict("datefromparts", &[Int, Int, Int], date, |v, _, _, _| {
        datefn::date_from_parts(&parts(v)?)
    }),
    strict(
        "datetimefromparts",
        &[Int, Int, Int, Int, Int, Int, Int],
        datetime,
        |v, _, _, _| datefn::datetime_from_parts(&parts(v)?),
    ),
    strict(
        "smalldatetimefromparts",
        &[Int, Int, Int, Int, Int],
        smalldatetime,
        |v, _, _, _| datefn::smalldatetime_from_parts(&parts(v)?),
    ),
    strict(
        "datetime2fromparts",
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
        "datetimeoffsetfromparts",
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
        "timefromparts",
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
        "switchoffset",
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
        "todatetimeoffset",
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
