//! Conversions: the golden cases of the T-SQL reference, and the odd strings of its section 2.3.

use super::*;
use crate::check_implicit;

const CTX: ConvertCtx = ConvertCtx {
    date_order: DateOrder::Mdy,
    language: crate::Language::US_ENGLISH,
    lenient: false,
    cuts_strings: false,
    null_is_empty: false,
    roundabort: false,
    level: 160,
};

fn cast(v: Value, from: SqlType, to: SqlType, style: i32) -> SqlResult<Value> {
    let style = (style >= 0).then_some(style);
    convert(&v, &from, &to, style, &CTX)
}

/// CAST of a varchar literal, as text.
fn text(s: &str, to: SqlType) -> String {
    match cast(Value::varchar(s), SqlType::varchar(100), to, -1) {
        Ok(v) => to_display(&v, &to),
        Err(e) => format!("!{}", e.number),
    }
}

/// CONVERT of a value to varchar(60) in a style.
fn shown(v: Value, from: SqlType, style: i32) -> String {
    match cast(v, from, SqlType::varchar(60), style) {
        Ok(v) => v.as_text().unwrap(),
        Err(e) => format!("!{}", e.number),
    }
}

fn dec(m: i128, p: u8, s: u8) -> Value {
    Value::Decimal(crate::Decimal::new(m, p, s).unwrap())
}

#[test]
fn strings_to_numbers() {
    for (s, int, bigint, decimal, float, money) in [
        ("", "0", "0", "!8114", "0", "0.00"),
        ("  ", "0", "0", "!8114", "0", "0.00"),
        ("-", "0", "0", "!8114", "!8114", "0.00"),
        ("1.0", "!245", "!8114", "1.00", "1", "1.00"),
        ("1e3", "!245", "!8114", "!8114", "1000", "!235"),
        ("$5", "!245", "!8114", "!8114", "!8114", "5.00"),
        ("1,000", "!245", "!8114", "!8114", "!8114", "1000.00"),
        (" 5 ", "5", "5", "5.00", "5", "5.00"),
        ("0x1F", "!245", "!8114", "!8114", "!8114", "!235"),
        (
            "-2147483648",
            "-2147483648",
            "-2147483648",
            "!8115",
            "-2.14748e+009",
            "-2147483648.00",
        ),
        (
            "3000000000",
            "!248",
            "3000000000",
            "!8115",
            "3e+009",
            "3000000000.00",
        ),
        ("inf", "!245", "!8114", "!8114", "!8114", "!235"),
    ] {
        assert_eq!(text(s, SqlType::INT), int, "{s:?} int");
        assert_eq!(text(s, SqlType::BIGINT), bigint, "{s:?} bigint");
        assert_eq!(text(s, SqlType::decimal(5, 2)), decimal, "{s:?} decimal");
        assert_eq!(text(s, SqlType::FLOAT), float, "{s:?} float");
        assert_eq!(text(s, SqlType::MONEY), money, "{s:?} money");
    }
    assert_eq!(text("300", SqlType::TINYINT), "!244");
    assert_eq!(text("TRUE", SqlType::BIT), "1");
    assert_eq!(text("-7", SqlType::BIT), "1");
    assert_eq!(text("1.005", SqlType::decimal(5, 2)), "1.01");
    let e = cast(Value::varchar("a"), SqlType::varchar(1), SqlType::INT, -1).unwrap_err();
    assert_eq!(
        e.message,
        "Conversion failed when converting the varchar value 'a' to data type int."
    );
}

#[test]
fn numbers_narrow_as_documented() {
    let int = |v, from| match cast(v, from, SqlType::INT, -1) {
        Ok(Value::Int(n)) => n,
        other => panic!("{other:?}"),
    };
    assert_eq!(int(dec(106496, 6, 4), SqlType::numeric(6, 4)), 10);
    assert_eq!(int(dec(-106496, 6, 4), SqlType::numeric(6, 4)), -10);
    assert_eq!(int(Value::Money(25_000), SqlType::MONEY), 3);
    assert_eq!(int(Value::Float(-2.9), SqlType::FLOAT), -2);
    assert_eq!(
        int(Value::Binary(vec![1, 0, 0, 1, 0]), SqlType::varbinary(5)),
        256
    );
    let number = |v, from, to| cast(v, from, to, -1).map_err(|e| e.number);
    assert_eq!(
        number(
            dec(106496, 6, 4),
            SqlType::numeric(6, 4),
            SqlType::decimal(18, 0)
        ),
        Ok(dec(11, 18, 0))
    );
    assert_eq!(
        number(Value::Int(1000), SqlType::INT, SqlType::TINYINT),
        Err(220)
    );
    assert_eq!(
        number(Value::BigInt(1 << 40), SqlType::BIGINT, SqlType::INT),
        Err(8115)
    );
    assert_eq!(
        number(Value::Float(3e9), SqlType::FLOAT, SqlType::INT),
        Err(232)
    );
    assert_eq!(
        number(Value::Float(9.3e18), SqlType::FLOAT, SqlType::BIGINT),
        Err(232)
    );
    assert_eq!(
        number(Value::Int(100), SqlType::INT, SqlType::decimal(4, 2)),
        Err(8115)
    );
    assert_eq!(
        number(Value::Float(1e300), SqlType::FLOAT, SqlType::REAL),
        Err(232)
    );
    assert_eq!(
        number(Value::Date(crate::Date(1)), SqlType::DATE, SqlType::INT),
        Err(529)
    );
}

#[test]
fn numbers_to_strings() {
    let cut = |v, from, to| match cast(v, from, to, -1) {
        Ok(v) => v.as_text().unwrap(),
        Err(e) => format!("!{}", e.number),
    };
    assert_eq!(
        cut(Value::Int(12345), SqlType::INT, SqlType::varchar(3)),
        "*"
    );
    assert_eq!(
        cut(Value::Int(12345), SqlType::INT, SqlType::nvarchar(3)),
        "!8115"
    );
    assert_eq!(
        cut(Value::Money(1), SqlType::MONEY, SqlType::varchar(3)),
        "!234"
    );
    assert_eq!(
        cut(Value::Guid([0; 16]), SqlType::GUID, SqlType::char(30)),
        "!8170"
    );
    assert_eq!(cut(Value::Int(7), SqlType::INT, SqlType::char(3)), "7  ");
    assert_eq!(
        cut(dec(50, 2, 2), SqlType::numeric(2, 2), SqlType::varchar(9)),
        "0.50"
    );
    let m = Value::Money(12_345_678);
    assert_eq!(shown(m.clone(), SqlType::MONEY, 0), "1234.57");
    assert_eq!(shown(m.clone(), SqlType::MONEY, 1), "1,234.57");
    assert_eq!(shown(m, SqlType::MONEY, 2), "1234.5678");
}

#[test]
fn float_text() {
    for (f, style, expected) in [
        (1234567.0, 0, "1.23457e+006"),
        (1e15, 0, "1e+015"),
        (0.1 + 0.2, 0, "0.3"),
        (100000.0, 0, "100000"),
        (1e-5, 0, "1e-005"),
        (0.0001, 0, "0.0001"),
        (999999.5, 0, "1e+006"),
        (-0.0, 0, "0"),
        (1234567.0, 2, "1.234567000000000e+006"),
        (1.0, 1, "1.0000000e+000"),
        (0.1, 3, "1.0000000000000001e-001"),
    ] {
        assert_eq!(shown(Value::Float(f), SqlType::FLOAT, style), expected);
    }
}

fn datetime(s: &str) -> Value {
    cast(
        Value::varchar(s),
        SqlType::varchar(60),
        SqlType::DATETIME,
        -1,
    )
    .unwrap()
}

#[test]
fn date_styles() {
    let d = datetime("2024-03-05T14:07:09.123");
    for (style, expected) in [
        (-1, "Mar  5 2024  2:07PM"),
        (0, "Mar  5 2024  2:07PM"),
        (1, "03/05/24"),
        (101, "03/05/2024"),
        (102, "2024.03.05"),
        (103, "05/03/2024"),
        (104, "05.03.2024"),
        (105, "05-03-2024"),
        (106, "05 Mar 2024"),
        (107, "Mar 05, 2024"),
        (108, "14:07:09"),
        (109, "Mar  5 2024  2:07:09:123PM"),
        (110, "03-05-2024"),
        (111, "2024/03/05"),
        (112, "20240305"),
        (12, "240305"),
        (113, "05 Mar 2024 14:07:09:123"),
        (114, "14:07:09:123"),
        (120, "2024-03-05 14:07:09"),
        (121, "2024-03-05 14:07:09.123"),
        (22, "03/05/24  2:07:09 PM"),
        (23, "2024-03-05"),
        (126, "2024-03-05T14:07:09.123"),
        (99, "!281"),
    ] {
        assert_eq!(
            shown(d.clone(), SqlType::DATETIME, style),
            expected,
            "style {style}"
        );
    }
    assert_eq!(
        shown(datetime("20240305"), SqlType::DATETIME, 126),
        "2024-03-05T00:00:00"
    );
    let dt2 = |n| {
        cast(
            Value::varchar("2024-03-05 14:07:09.1234567"),
            SqlType::varchar(60),
            SqlType::datetime2(n),
            -1,
        )
        .unwrap()
    };
    assert_eq!(
        shown(dt2(7), SqlType::datetime2(7), -1),
        "2024-03-05 14:07:09.1234567"
    );
    assert_eq!(
        shown(dt2(3), SqlType::datetime2(3), -1),
        "2024-03-05 14:07:09.123"
    );
    assert_eq!(
        shown(dt2(0), SqlType::datetime2(0), 109),
        "Mar  5 2024  2:07:09PM"
    );
    assert_eq!(shown(dt2(7), SqlType::datetime2(7), 99), "!9809");
    let dto = SqlType::datetimeoffset(0);
    let v = cast(
        Value::varchar("2024-03-05 23:30:00 -01:00"),
        SqlType::varchar(60),
        dto,
        -1,
    )
    .unwrap();
    assert_eq!(shown(v.clone(), dto, -1), "2024-03-05 23:30:00 -01:00");
    assert_eq!(shown(v, dto, 127), "2024-03-06T00:30:00Z");
}

#[test]
fn date_strings() {
    let old = |s| match cast(
        Value::varchar(s),
        SqlType::varchar(60),
        SqlType::DATETIME,
        -1,
    ) {
        Ok(v) => shown(v, SqlType::DATETIME, 121),
        Err(e) => format!("!{}", e.number),
    };
    for (s, expected) in [
        ("", "1900-01-01 00:00:00.000"),
        ("19980101 23:59:59.999", "1998-01-02 00:00:00.000"),
        ("19980101 23:59:59.994", "1998-01-01 23:59:59.993"),
        ("20240230", "!242"),
        ("03/05/2024", "2024-03-05 00:00:00.000"),
        ("3.5.24", "2024-03-05 00:00:00.000"),
        ("Mar 5 2024", "2024-03-05 00:00:00.000"),
        ("5 March 2024", "2024-03-05 00:00:00.000"),
        ("2024 Mar", "2024-03-01 00:00:00.000"),
        ("5-Mar-50", "1950-03-05 00:00:00.000"),
        ("240305", "2024-03-05 00:00:00.000"),
        ("2024", "2024-01-01 00:00:00.000"),
        ("10:00", "1900-01-01 10:00:00.000"),
        ("10am", "1900-01-01 10:00:00.000"),
        ("2024-03-05 12:30 am", "2024-03-05 00:30:00.000"),
        ("2024-03-05T10:00:00Z", "2024-03-05 10:00:00.000"),
        ("Mar  5 2024  2:07:09:123PM", "2024-03-05 14:07:09.123"),
        ("2024-13-05", "!242"),
        ("1752-12-31", "!242"),
        ("2024-03-05 10:00:00.1234567", "!241"),
        ("2024-03-05 25:00", "!242"),
        ("hello", "!241"),
        ("1/2", "!241"),
        ("-", "!241"),
        ("99999999999999", "!241"),
    ] {
        assert_eq!(old(s), expected, "{s:?}");
    }
    let new = |s| text(s, SqlType::datetime2(1));
    assert_eq!(
        new("2024-03-05 10:00:00.16 +02:00"),
        "2024-03-05 10:00:00.2"
    );
    assert_eq!(new("0001-01-01"), "0001-01-01 00:00:00.0");
    assert_eq!(new("20240230"), "!241");
    assert_eq!(new("2024-03-05 +02:00"), "!241");
    assert_eq!(new("9999-12-31 23:59:59.99"), "!8115");
    assert_eq!(text("23:59:59.96", SqlType::time(1)), "00:00:00.0");
    assert_eq!(
        text("2024-01-01 00:00:29.998", SqlType::SMALLDATETIME),
        "Jan  1 2024 12:00AM"
    );
    assert_eq!(
        text("2024-01-01 00:00:29.999", SqlType::SMALLDATETIME),
        "Jan  1 2024 12:01AM"
    );
    assert_eq!(text("2080-01-01", SqlType::SMALLDATETIME), "!242");
    assert_eq!(text("x", SqlType::SMALLDATETIME), "!295");
}

#[test]
fn dateformat_rules_the_old_types_only() {
    let ctx = ConvertCtx {
        date_order: DateOrder::Dmy,
        ..CTX
    };
    let v = Value::varchar("2024-03-05");
    let from = SqlType::varchar(10);
    let d = convert(&v, &from, &SqlType::DATETIME, None, &ctx).unwrap();
    assert_eq!(shown(d, SqlType::DATETIME, 23), "2024-05-03");
    let d = convert(&v, &from, &SqlType::DATE, None, &ctx).unwrap();
    assert_eq!(shown(d, SqlType::DATE, 23), "2024-03-05");
}

#[test]
fn datetime_thirds_by_level() {
    let d = datetime("2024-01-01T00:00:00.003");
    let at = |level| {
        let ctx = ConvertCtx { level, ..CTX };
        let to = SqlType::datetime2(7);
        let v = convert(&d, &SqlType::DATETIME, &to, None, &ctx).unwrap();
        to_display(&v, &to)
    };
    assert_eq!(at(130), "2024-01-01 00:00:00.0033333");
    assert_eq!(at(120), "2024-01-01 00:00:00.0030000");
}

#[test]
fn numbers_are_days() {
    let v = cast(dec(15, 2, 1), SqlType::numeric(2, 1), SqlType::DATETIME, -1).unwrap();
    assert_eq!(shown(v, SqlType::DATETIME, 121), "1900-01-02 12:00:00.000");
    let v = cast(
        datetime("1900-01-02 12:00"),
        SqlType::DATETIME,
        SqlType::INT,
        -1,
    )
    .unwrap();
    assert_eq!(v, Value::Int(2));
    assert!(cast(Value::Int(i32::MAX), SqlType::INT, SqlType::DATETIME, -1).is_err());
}

#[test]
fn binary_conversions() {
    let b = |v, from, to, style| match cast(v, from, to, style) {
        Ok(v) => to_display(&v, &to),
        Err(e) => format!("!{}", e.number),
    };
    let vc = SqlType::varchar(20);
    assert_eq!(
        b(Value::Int(258), SqlType::INT, SqlType::binary(1), -1),
        "0x02"
    );
    assert_eq!(
        b(Value::Int(258), SqlType::INT, SqlType::binary(6), -1),
        "0x000000000102"
    );
    assert_eq!(
        b(Value::varchar("abc"), vc, SqlType::binary(5), -1),
        "0x6162630000"
    );
    assert_eq!(
        b(Value::varchar("0x0aFF"), vc, SqlType::varbinary(4), 1),
        "0x0AFF"
    );
    assert_eq!(
        b(Value::varchar("0x0aF"), vc, SqlType::varbinary(4), 1),
        "!8114"
    );
    assert_eq!(
        shown(Value::Binary(vec![10, 255]), SqlType::varbinary(2), 2),
        "0AFF"
    );
    assert_eq!(
        shown(Value::Binary(vec![10, 255]), SqlType::varbinary(2), 1),
        "0x0AFF"
    );
    assert_eq!(
        b(
            dec(150, 5, 2),
            SqlType::numeric(5, 2),
            SqlType::varbinary(20),
            -1
        ),
        "0x0502000196000000"
    );
    let d = datetime("2024-03-05 14:07:09.123");
    let bin = cast(d.clone(), SqlType::DATETIME, SqlType::varbinary(8), -1).unwrap();
    assert_eq!(
        cast(bin, SqlType::varbinary(8), SqlType::DATETIME, -1).unwrap(),
        d
    );
}

#[test]
fn guids() {
    let s = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    let g = parse_guid(s).unwrap();
    assert_eq!(g[..4], [0xff, 0x19, 0x96, 0x6f]);
    assert_eq!(guid_text(&g), s);
    assert_eq!(parse_guid(&format!("{s}tail")), Some(g));
    assert_eq!(parse_guid(&format!("{{{s}}}")), Some(g));
    assert_eq!(parse_guid("6F9619FF8B86-D011-B42D-00C04FC964FF0"), None);
    assert_eq!(text("x", SqlType::GUID), "!8169");
}

#[test]
fn storing_strings_checks_length() {
    let to = SqlType::varchar(5);
    let from = SqlType::varchar(20);
    let column = Target::Column {
        table: "db.dbo.t",
        column: "v",
    };
    let put = |s: &str, target, level| {
        let ctx = ConvertCtx { level, ..CTX };
        assign(Value::varchar(s), &from, &to, target, &ctx)
    };
    assert_eq!(
        put("abcde   ", column, 160).unwrap(),
        Value::varchar("abcde")
    );
    let e = put("abcdef", column, 160).unwrap_err();
    assert_eq!(
        e.message,
        "String or binary data would be truncated in table 'db.dbo.t', column 'v'. Truncated value: 'abcde'."
    );
    assert_eq!(put("abcdef", column, 140).unwrap_err().number, 8152);
    assert_eq!(
        put("abcdef", Target::Variable, 160).unwrap(),
        Value::varchar("abcde")
    );
    let ch = assign(Value::varchar("a"), &from, &SqlType::char(3), column, &CTX).unwrap();
    assert_eq!(ch, Value::varchar("a  "));
    let n = assign(Value::varchar("é"), &from, &SqlType::nchar(2), column, &CTX).unwrap();
    assert_eq!(n, Value::nvarchar("é "));
}

#[test]
fn legality() {
    let number = |a: SqlType, b: SqlType| check_implicit(&a, &b).map_err(|e| e.number);
    assert_eq!(number(SqlType::DATETIME, SqlType::INT), Err(257));
    assert_eq!(number(SqlType::DATE, SqlType::INT), Err(206));
    assert_eq!(number(SqlType::varchar(9), SqlType::varbinary(9)), Err(257));
    assert_eq!(number(SqlType::INT, SqlType::DATETIME), Ok(()));
    assert_eq!(number(SqlType::INT, SqlType::GUID), Err(206));
    assert_eq!(number(SqlType::DATE, SqlType::time(7)), Err(206));
    let ty = crate::common_type(&SqlType::numeric(5, 2), &SqlType::INT).unwrap();
    assert_eq!((ty.precision, ty.scale), (12, 2));
    let ty = crate::common_type(&SqlType::varchar(9), &SqlType::nvarchar(3)).unwrap();
    assert_eq!(ty, SqlType::nvarchar(9));
}

#[test]
fn variants_unwrap_on_the_way_out() {
    let v = cast(Value::Int(5), SqlType::INT, SqlType::VARIANT, -1).unwrap();
    assert_eq!(
        cast(v.clone(), SqlType::VARIANT, SqlType::varchar(9), -1).unwrap(),
        Value::varchar("5")
    );
    assert_eq!(
        cast(v, SqlType::VARIANT, SqlType::GUID, -1)
            .unwrap_err()
            .number,
        529
    );
}

#[test]
fn isnumeric_takes_anything_some_number_takes() {
    for t in [
        "-", "+", ".", ",", "$", "€", "1e5", "1d5", "1,2,3", "-$5", "\t", "$.", " 7 ",
    ] {
        assert!(is_numeric(t), "{t:?}");
    }
    for t in ["", " ", "0x1", "1 2", "e5", "abc", "1e999"] {
        assert!(!is_numeric(t), "{t:?}");
    }
}
