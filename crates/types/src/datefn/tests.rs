//! Date functions: documented examples, boundaries, and the calendar against a slow count.

use super::*;
use crate::to_display;

fn ctx() -> ConvertCtx {
    ConvertCtx::default()
}

fn val(s: &str, ty: SqlType) -> Value {
    convert(&Value::varchar(s), &SqlType::varchar(60), &ty, None, &ctx()).unwrap()
}

fn dt(s: &str) -> Value {
    val(s, SqlType::DATETIME)
}

fn d2(s: &str) -> Value {
    val(s, SqlType::datetime2(7))
}

fn show(v: &Value, ty: &SqlType) -> String {
    let to = SqlType::varchar(60);
    convert(v, ty, &to, Some(121), &ctx())
        .unwrap()
        .as_text()
        .unwrap()
}

#[test]
fn the_calendar_agrees_with_counting() {
    let (mut y, mut m, mut d) = (1, 1, 1);
    for days in 0..=MAX_DAYS {
        assert_eq!(ymd_from_days(days), (y, m, d));
        if d == 1 {
            assert_eq!(days_from_ymd(y, m, d), Some(days));
        }
        d += 1;
        if d > days_in_month(y, m) {
            (m, d) = (m + 1, 1);
        }
        if m > 12 {
            (y, m) = (y + 1, 1);
        }
    }
    assert_eq!(days_from_ymd(1900, 1, 1), Some(DAYS_TO_1900));
    assert_eq!(days_from_ymd(1753, 1, 1), Some(DAYS_TO_1753));
    assert_eq!(days_from_ymd(2023, 2, 29), None);
}

#[test]
fn dateadd_clamps_and_keeps_the_type() {
    let ty = SqlType::DATETIME;
    let add = |part, n, s| show(&dateadd(part, n, &dt(s), &ty).unwrap(), &ty);
    assert_eq!(
        add(DatePart::Month, 1, "20240131"),
        "2024-02-29 00:00:00.000"
    );
    assert_eq!(
        add(DatePart::Year, -1, "20240229"),
        "2023-02-28 00:00:00.000"
    );
    assert_eq!(
        add(DatePart::Quarter, 1, "20231130"),
        "2024-02-29 00:00:00.000"
    );
    assert_eq!(
        add(DatePart::Week, -1, "20240103"),
        "2023-12-27 00:00:00.000"
    );
    assert_eq!(
        add(DatePart::Second, -1, "20240101"),
        "2023-12-31 23:59:59.000"
    );
    assert_eq!(
        add(DatePart::Millisecond, 1, "20240101"),
        "2024-01-01 00:00:00.000"
    );
    assert_eq!(
        add(DatePart::Millisecond, 2, "20240101"),
        "2024-01-01 00:00:00.003"
    );
    assert_eq!(
        add(DatePart::Day, 1, "20240101 23:59:59.997"),
        "2024-01-02 23:59:59.997"
    );
    let number = |part, n, v: Value, ty| dateadd(part, n, &v, &ty).map_err(|e| e.number);
    assert_eq!(number(DatePart::Day, 1, dt("99991231"), ty), Err(517));
    assert_eq!(number(DatePart::Year, -300, dt("20240101"), ty), Err(517));
    assert_eq!(
        number(DatePart::Day, i64::MAX, dt("20240101"), ty),
        Err(517)
    );
    let date = val("20240101", SqlType::DATE);
    assert_eq!(number(DatePart::Hour, 1, date, SqlType::DATE), Err(9810));
    assert_eq!(
        number(DatePart::Microsecond, 1, dt("20240101"), ty),
        Err(9810)
    );
    let time = val("23:30", SqlType::time(0));
    let wrapped = dateadd(DatePart::Hour, 1, &time, &SqlType::time(0)).unwrap();
    assert_eq!(show(&wrapped, &SqlType::time(0)), "00:30:00");
    let small = val("20240101 10:00", SqlType::SMALLDATETIME);
    let up = dateadd(DatePart::Second, 30, &small, &SqlType::SMALLDATETIME).unwrap();
    assert_eq!(
        show(&up, &SqlType::SMALLDATETIME),
        "2024-01-01 10:01:00.000"
    );
}

#[test]
fn datediff_counts_boundaries() {
    let diff = |part, a, b| datediff(part, &d2(a), &d2(b), &ctx()).map_err(|e| e.number);
    assert_eq!(diff(DatePart::Year, "20231231", "20240101"), Ok(1));
    assert_eq!(diff(DatePart::Month, "20240131", "20240201"), Ok(1));
    assert_eq!(diff(DatePart::Quarter, "20240401", "20240331"), Ok(-1));
    // 2024-01-06 is a Saturday.
    assert_eq!(diff(DatePart::Week, "20240106", "20240107"), Ok(1));
    assert_eq!(diff(DatePart::Week, "20240107", "20240113"), Ok(0));
    assert_eq!(
        diff(
            DatePart::Hour,
            "20240101 00:59:59.9999999",
            "20240101 01:00"
        ),
        Ok(1)
    );
    assert_eq!(diff(DatePart::Second, "19000101", "20240101"), Err(535));
    assert_eq!(diff(DatePart::IsoWeek, "19000101", "20240101"), Err(9806));
    let big = datediff_big(
        DatePart::Nanosecond,
        &d2("20240101"),
        &d2("20240102"),
        &ctx(),
    );
    assert_eq!(big, Ok(86_400_000_000_000));
    let all = datediff_big(
        DatePart::Nanosecond,
        &d2("00010101"),
        &d2("99991231"),
        &ctx(),
    );
    assert_eq!(all.unwrap_err().number, 535);
}

#[test]
fn dateparts() {
    let v = d2("2024-03-05 14:07:09.1234567");
    let ty = SqlType::datetime2(7);
    for (part, expected) in [
        (DatePart::Year, 2024),
        (DatePart::Quarter, 1),
        (DatePart::Month, 3),
        (DatePart::DayOfYear, 65),
        (DatePart::Day, 5),
        (DatePart::Week, 10),
        (DatePart::WeekDay, 3),
        (DatePart::IsoWeek, 10),
        (DatePart::Hour, 14),
        (DatePart::Minute, 7),
        (DatePart::Second, 9),
        (DatePart::Millisecond, 123),
        (DatePart::Microsecond, 123_456),
        (DatePart::Nanosecond, 123_456_700),
    ] {
        assert_eq!(datepart(part, &v, &ty, 7, &ctx()), Ok(expected), "{part:?}");
        assert_eq!(DatePart::from_name(part.name()), Some(part));
    }
    assert_eq!(datepart(DatePart::WeekDay, &v, &ty, 1, &ctx()), Ok(2));
    assert_eq!(
        datename(DatePart::WeekDay, &v, &ty, 7, &ctx()).unwrap(),
        "Tuesday"
    );
    assert_eq!(
        datename(DatePart::Month, &v, &ty, 7, &ctx()).unwrap(),
        "March"
    );
    let iso = |s| datepart(DatePart::IsoWeek, &d2(s), &ty, 7, &ctx()).unwrap();
    assert_eq!(
        (iso("20210103"), iso("20241230"), iso("20240101")),
        (53, 1, 1)
    );
    let third = dt("2021-11-09T13:52:29.187");
    let ms = |level| {
        let ctx = ConvertCtx { level, ..ctx() };
        datepart(DatePart::Millisecond, &third, &SqlType::DATETIME, 7, &ctx)
    };
    assert_eq!((ms(130), ms(120)), (Ok(186), Ok(187)));
    let time = val("10:00", SqlType::time(0));
    let e = datepart(DatePart::Year, &time, &SqlType::time(0), 7, &ctx()).unwrap_err();
    assert_eq!(
        e.message,
        "The datepart year is not supported by date function datepart for data type time."
    );
}

#[test]
fn ends_truncations_and_constructors() {
    let date = SqlType::DATE;
    let eo = |s, n| to_display(&eomonth(&dt(s), n, &ctx()).unwrap(), &date);
    assert_eq!(eo("20240115", 0), "2024-01-31");
    assert_eq!(eo("20240131", 1), "2024-02-29");
    assert_eq!(eomonth(&dt("99991201"), 1, &ctx()).unwrap_err().number, 517);
    let ty = SqlType::datetime2(7);
    let v = d2("2024-08-07 14:07:09.1234567");
    let tr = |part| show(&datetrunc(part, &v, &ty, 7, &ctx()).unwrap(), &ty);
    assert_eq!(tr(DatePart::Quarter), "2024-07-01 00:00:00.0000000");
    assert_eq!(tr(DatePart::Week), "2024-08-04 00:00:00.0000000");
    assert_eq!(tr(DatePart::IsoWeek), "2024-08-05 00:00:00.0000000");
    assert_eq!(tr(DatePart::Minute), "2024-08-07 14:07:00.0000000");
    let p = FromParts {
        year: 2024,
        month: 2,
        day: 29,
        hour: 23,
        minute: 59,
        second: 59,
        fraction: 5,
        precision: 1,
    };
    assert_eq!(
        show(&datetime2_from_parts(&p).unwrap(), &SqlType::datetime2(1)),
        "2024-02-29 23:59:59.5"
    );
    assert_eq!(
        show(
            &datetime_from_parts(&FromParts { fraction: 997, ..p }).unwrap(),
            &SqlType::DATETIME
        ),
        "2024-02-29 23:59:59.997"
    );
    assert_eq!(
        to_display(&date_from_parts(&p).unwrap(), &date),
        "2024-02-29"
    );
    let e = date_from_parts(&FromParts { day: 30, ..p }).unwrap_err();
    assert_eq!(
        e.message,
        "Cannot construct data type date, some of the arguments have values which are not valid."
    );
    assert_eq!(
        time_from_parts(&FromParts { fraction: 10, ..p })
            .unwrap_err()
            .number,
        289
    );
    assert_eq!(
        datetimeoffset_from_parts(&p, 1, -30).unwrap_err().number,
        289
    );
}

#[test]
fn offsets_and_the_clock() {
    let ty = SqlType::datetimeoffset(0);
    let d = match val("2024-01-01 00:30:00 +01:00", ty) {
        Value::DateTimeOffset(d) => d,
        other => panic!("{other:?}"),
    };
    let moved = switchoffset(&d, parse_offset("-05:30").unwrap()).unwrap();
    assert_eq!(show(&moved, &ty), "2023-12-31 18:00:00 -05:30");
    assert_eq!(switchoffset(&d, 900).unwrap_err().number, 9812);
    let to = todatetimeoffset(&d2("2024-01-01"), 60, &ctx()).unwrap();
    assert_eq!(show(&to, &ty), "2024-01-01 00:00:00 +01:00");
    assert_eq!(parse_offset("+15:00"), None);
    assert_eq!(parse_offset("05:00"), None);
    let clock = wall_clock(1_704_067_200_123_456_789, 0).unwrap();
    let now = now_as(&clock, &SqlType::datetime2(7), &ctx()).unwrap();
    assert_eq!(
        show(&now, &SqlType::datetime2(7)),
        "2024-01-01 00:00:00.1234567"
    );
    assert!(isdate("2024-02-29", &ctx()));
    assert!(!isdate("2023-02-29", &ctx()));
    assert!(!isdate("", &ctx()));
    assert!(!isdate("17521231", &ctx()));
}
