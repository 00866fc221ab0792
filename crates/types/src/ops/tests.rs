//! Operators: result types of section 2.4 of the T-SQL reference, and its golden values.

use super::*;
use crate::{Decimal, to_display};

const CTX: ConvertCtx = ConvertCtx {
    date_order: crate::dateparse::DateOrder::Mdy,
    language: crate::Language::US_ENGLISH,
    lenient: false,
    cuts_strings: false,
    null_is_empty: false,
    roundabort: false,
    level: 160,
};

/// A decimal literal: its type has the digits it shows.
fn lit(text: &str) -> (Value, SqlType) {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let s = fraction.len() as u8;
    let p = (whole.len() as u8 + s).max(1);
    let m: i128 = format!("0{whole}{fraction}").parse().unwrap();
    let m = if text.starts_with('-') { -m } else { m };
    typed(m, p, s)
}

fn typed(m: i128, p: u8, s: u8) -> (Value, SqlType) {
    (
        Value::Decimal(Decimal::new(m, p, s).unwrap()),
        SqlType::numeric(p, s),
    )
}

fn run(op: BinaryOp, a: (Value, SqlType), b: (Value, SqlType)) -> (String, SqlType) {
    let ty = result_type(op, &a.1, &b.1).unwrap();
    let v = binary(op, &a.0, &a.1, &b.0, &b.1, &CTX).unwrap();
    (to_display(&v, &ty), ty)
}

fn fails(op: BinaryOp, a: (Value, SqlType), b: (Value, SqlType)) -> SqlError {
    binary(op, &a.0, &a.1, &b.0, &b.1, &CTX).unwrap_err()
}

fn int(n: i32) -> (Value, SqlType) {
    (Value::Int(n), SqlType::INT)
}

fn tiny(n: u8) -> (Value, SqlType) {
    (Value::TinyInt(n), SqlType::TINYINT)
}

fn money(m: i64) -> (Value, SqlType) {
    (Value::Money(m), SqlType::MONEY)
}

fn vc(s: &str) -> (Value, SqlType) {
    (Value::varchar(s), SqlType::varchar(s.len().max(1) as u16))
}

#[test]
fn integers_stay_integers() {
    for (op, a, b, expected) in [
        (Div, 7, 2, "3"),
        (Div, -7, 2, "-3"),
        (Mod, -7, 3, "-1"),
        (Mod, 7, -3, "1"),
        (Mod, i32::MIN, -1, "0"),
        (BitAnd, 12, 10, "8"),
        (BitOr, 12, 10, "14"),
        (BitXor, 12, 10, "6"),
    ] {
        assert_eq!(run(op, int(a), int(b)).0, expected);
    }
    let e = fails(Add, int(i32::MAX), int(1));
    assert_eq!(
        e.message,
        "Arithmetic overflow error converting expression to data type int."
    );
    assert_eq!(fails(Div, int(i32::MIN), int(-1)).number, 8115);
    assert_eq!(fails(Div, int(1), int(0)).number, 8134);
    assert_eq!(fails(Mod, int(1), int(0)).number, 8134);
    assert_eq!(fails(Add, tiny(255), tiny(1)).number, 8115);
    assert_eq!(fails(Sub, tiny(1), tiny(2)).number, 8115);
    assert_eq!(run(Add, tiny(255), int(1)), ("256".into(), SqlType::INT));
    let bit = (Value::Bit(true), SqlType::BIT);
    assert_eq!(fails(Add, bit.clone(), bit.clone()).number, 8117);
    assert_eq!(run(BitXor, bit.clone(), bit).0, "0");
    assert_eq!(
        binary(
            Add,
            &Value::Null,
            &SqlType::INT,
            &Value::Int(1),
            &SqlType::INT,
            &CTX
        )
        .unwrap(),
        Value::Null
    );
}

#[test]
fn decimal_facets_and_values() {
    for (op, a, b, value, p, s) in [
        (Div, lit("1.0"), lit("3.0"), "0.333333", 8, 6),
        (Div, lit("1.0"), lit("3"), "0.333333", 7, 6),
        (Div, lit("2.0"), lit("3"), "0.666666", 7, 6),
        (Div, lit("10"), lit("4.0"), "2.500000", 9, 6),
        (Div, lit("-2.0"), lit("3"), "-0.666666", 7, 6),
        (Div, lit("1.0"), int(3), "0.333333333333", 13, 12),
        (Add, lit("1.5"), lit("2.25"), "3.75", 4, 2),
        (Sub, lit("1.5"), int(2), "-0.5", 12, 1),
        (Mul, lit("1.5"), lit("-2.5"), "-3.75", 5, 2),
        (Mod, lit("7.5"), lit("2"), "1.5", 2, 1),
        (Mod, lit("-7.5"), lit("2"), "-1.5", 2, 1),
        (
            Mul,
            typed(9000, 30, 10),
            typed(10i128.pow(10), 30, 10),
            "0.000001",
            38,
            6,
        ),
        (
            Mul,
            typed(90_000_000_000_000, 30, 20),
            typed(10i128.pow(20), 30, 20),
            "0.00000090000000000",
            38,
            17,
        ),
        (
            Div,
            typed(16_757_400_000, 38, 10),
            typed(10i128.pow(14), 38, 10),
            "0.000167",
            38,
            6,
        ),
        (Add, typed(15, 38, 1), typed(2, 38, 0), "4", 38, 0),
        (
            Div,
            typed(10i128.pow(20), 38, 20),
            typed(3 * 10i128.pow(20), 38, 20),
            "0.333333",
            38,
            6,
        ),
    ] {
        let (got, ty) = run(op, a, b);
        assert_eq!((got.as_str(), ty.precision, ty.scale), (value, p, s));
    }
    let big = || typed(10i128.pow(38) - 1, 38, 0);
    assert_eq!(fails(Add, big(), lit("1")).number, 8115);
    assert_eq!(fails(Mul, big(), big()).number, 8115);
    assert_eq!(run(Sub, big(), big()).0, "0");
    assert_eq!(fails(Div, lit("1.0"), lit("0.0")).number, 8134);
}

#[test]
fn money_keeps_four_places() {
    let (third, ty) = {
        let v = binary(
            Div,
            &Value::Money(10_000),
            &SqlType::MONEY,
            &Value::Money(30_000),
            &SqlType::MONEY,
            &CTX,
        );
        (v.unwrap(), SqlType::MONEY)
    };
    let v = binary(Mul, &third, &ty, &Value::Money(30_000), &ty, &CTX).unwrap();
    assert_eq!(v, Value::Money(9_999));
    assert_eq!(run(Div, money(10_000), int(3)).1, SqlType::MONEY);
    assert_eq!(
        run(Add, money(10_000), lit("0.5")).1,
        SqlType::numeric(20, 4)
    );
    assert_eq!(fails(Add, money(i64::MAX), money(1)).number, 8115);
}

#[test]
fn strings_add_or_yield() {
    assert_eq!(run(Add, vc("5"), int(3)).0, "8");
    assert_eq!(
        run(Add, vc("1"), vc("1")),
        ("11".into(), SqlType::varchar(2))
    );
    assert_eq!(fails(Add, vc("a"), int(1)).number, 245);
    assert_eq!(fails(Sub, vc("a"), vc("b")).number, 8117);
    let (v, ty) = run(Add, vc("é"), (Value::nvarchar("x"), SqlType::nvarchar(1)));
    assert_eq!(v, "éx");
    assert_eq!(ty.id, TypeId::NVarChar);
    assert_eq!(
        result_type(Add, &SqlType::varchar(8000), &SqlType::varchar(8000))
            .unwrap()
            .length,
        8000
    );
    assert!(
        result_type(Add, &SqlType::varchar(8000), &SqlType::VARCHAR_MAX)
            .unwrap()
            .is_max()
    );
    let bytes = (Value::Binary(vec![1]), SqlType::varbinary(1));
    assert_eq!(fails(Add, vc("a"), bytes.clone()).number, 402);
    assert_eq!(run(Add, bytes, int(1)), ("2".into(), SqlType::INT));
    let text = (Value::varchar("a"), SqlType::TEXT);
    assert_eq!(
        fails(Add, text, vc("b")).message,
        "The data types text and varchar are incompatible in the add operator."
    );
}

#[test]
fn floats_are_finite() {
    let f = |f| (Value::Float(f), SqlType::FLOAT);
    assert_eq!(fails(Div, f(0.0), f(0.0)).number, 8134);
    assert_eq!(fails(Mul, f(1e300), f(1e300)).number, 8115);
    assert_eq!(fails(Mod, f(1.0), int(1)).number, 402);
    assert_eq!(run(Add, f(0.5), lit("0.5")).0, "1");
    let r = (Value::Real(0.5), SqlType::REAL);
    assert_eq!(run(Add, r, int(1)).1, SqlType::REAL);
}

#[test]
fn dates_add_days() {
    let date = |s: &str, ty: SqlType| {
        let v = convert(&Value::varchar(s), &SqlType::varchar(30), &ty, None, &CTX).unwrap();
        (v, ty)
    };
    let dt = |s| date(s, SqlType::DATETIME);
    assert_eq!(
        run(Add, dt("20240101"), lit("1.5")).0,
        "Jan  2 2024 12:00PM"
    );
    assert_eq!(
        run(Sub, dt("20240103"), dt("20240101")).0,
        "Jan  3 1900 12:00AM"
    );
    assert_eq!(run(Add, int(1), dt("20240101")).0, "Jan  2 2024 12:00AM");
    let e = fails(Add, date("20240101", SqlType::DATE), int(1));
    assert_eq!(
        e.message,
        "Operand type clash: date is incompatible with int"
    );
    let e = fails(Add, dt("20240101"), date("10:00", SqlType::time(7)));
    assert_eq!(
        e.message,
        "The data types datetime and time are incompatible in the add operator."
    );
    let d2 = date("20240101", SqlType::datetime2(7));
    assert_eq!(fails(Sub, d2.clone(), d2).number, 8117);
    assert_eq!(fails(Mul, dt("20240101"), int(2)).number, 402);
    assert_eq!(fails(Add, dt("99991231"), int(1)).number, 8115);
}

#[test]
fn unary_operators() {
    assert_eq!(negate_type(&SqlType::TINYINT).unwrap(), SqlType::SMALLINT);
    assert_eq!(
        negate(&Value::TinyInt(255), &SqlType::SMALLINT).unwrap(),
        Value::SmallInt(-255)
    );
    assert_eq!(
        negate(&Value::SmallInt(i16::MIN), &SqlType::SMALLINT)
            .unwrap_err()
            .number,
        8115
    );
    assert_eq!(negate_type(&SqlType::BIT).unwrap_err().number, 8117);
    assert_eq!(
        bit_not(&Value::Int(0), &SqlType::INT).unwrap(),
        Value::Int(-1)
    );
    assert!(bit_not(&Value::Float(0.0), &SqlType::FLOAT).is_err());
}
