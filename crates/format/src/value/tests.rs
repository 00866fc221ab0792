//! Known bytes of values, and round trips.

use duramen_types::{CollationId, DateTime, DateTime2, DateTimeOffset, Decimal, Time, TypeId};

use super::*;

fn round_trip(ty: SqlType, value: Value) -> Vec<u8> {
    let mut b = Vec::new();
    encode_value(&value, &ty, &mut b).expect("encodes");
    assert_eq!(decode_value(&ty, &b), Ok(value));
    b
}

#[test]
fn known_bytes() {
    assert_eq!(
        round_trip(SqlType::INT, Value::Int(-2)),
        [0xfe, 0xff, 0xff, 0xff]
    );
    let d = Decimal::new(-12345, 9, 2).expect("fits");
    assert_eq!(
        round_trip(SqlType::decimal(9, 2), Value::Decimal(d)),
        [0, 0x39, 0x30, 0, 0]
    );
    let dt = DateTime {
        days: 1,
        ticks: 0x0203,
    };
    assert_eq!(
        round_trip(SqlType::DATETIME, Value::DateTime(dt)),
        [3, 2, 0, 0, 1, 0, 0, 0]
    );
    assert_eq!(
        round_trip(SqlType::time(0), Value::Time(Time(10_000_000))),
        [1, 0, 0]
    );
    assert_eq!(
        round_trip(SqlType::varchar(10), Value::varchar("ab")),
        b"ab"
    );
    let v = Value::Variant(Box::new((SqlType::INT, Value::Int(7))));
    assert_eq!(round_trip(SqlType::VARIANT, v), [56, 1, 7, 0, 0, 0]);
}

#[test]
fn fixed_strings_are_padded() {
    let mut b = Vec::new();
    encode_value(&Value::varchar("ab"), &SqlType::char(4), &mut b).expect("encodes");
    assert_eq!(b, b"ab  ");
    b.clear();
    encode_value(&Value::nvarchar("a"), &SqlType::nchar(2), &mut b).expect("encodes");
    assert_eq!(b, b"a\0 \0");
    assert!(encode_value(&Value::varchar("abcde"), &SqlType::char(4), &mut b).is_err());
}

#[test]
fn the_wrong_type_and_short_bytes_are_errors() {
    let mut b = Vec::new();
    assert!(encode_value(&Value::varchar("x"), &SqlType::INT, &mut b).is_err());
    assert!(encode_value(&Value::BigInt(1 << 40), &SqlType::INT, &mut b).is_err());
    for id in TypeId::ALL {
        let ty = SqlType {
            id,
            length: 8,
            precision: 20,
            scale: 3,
            collation: CollationId::NONE,
        };
        for n in 0..20 {
            let _ = decode_value(&ty, &vec![0xee; n]);
            let _ = decode_value(
                &SqlType::VARIANT,
                &[&[id.xtype(), 1][..], &vec![3; n]].concat(),
            );
        }
    }
}

#[test]
fn wide_values_round_trip() {
    round_trip(
        SqlType::datetimeoffset(3),
        Value::DateTimeOffset(DateTimeOffset {
            days: 737_000,
            time: 123_450_000,
            offset: -120,
        }),
    );
    round_trip(
        SqlType::datetime2(7),
        Value::DateTime2(DateTime2 {
            days: 5,
            time: 863_999_999_999,
        }),
    );
    let big = Decimal::new(10i128.pow(38) - 1, 38, 10).expect("fits");
    round_trip(SqlType::decimal(38, 10), Value::Decimal(big));
}
