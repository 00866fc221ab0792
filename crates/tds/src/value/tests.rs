//! Every type survives the wire; bytes seen on real wires are exactly ours; random bytes are refused without a panic.

use super::*;
use crate::typeinfo::put_type_info;
use duramen_types::CollationId;

fn round_trip(ty: SqlType, value: Value) {
    for place in [Place::Column, Place::Parameter] {
        let mut bytes = Vec::new();
        put_type_info(&mut bytes, &ty);
        let mut r = Reader::new(&bytes);
        let info = TypeInfo::parse(&mut r, place).unwrap();
        assert!(r.is_empty());
        for value in [&value, &Value::Null] {
            let mut bytes = Vec::new();
            put_value(&mut bytes, &ty, value, place).unwrap();
            let mut r = Reader::new(&bytes);
            assert_eq!(&parse_value(&mut r, &info).unwrap(), value, "{ty}");
            assert!(r.is_empty());
            // No prefix is mistaken for the value.
            for len in 0..bytes.len() {
                assert_eq!(
                    parse_value(&mut Reader::new(&bytes[..len]), &info),
                    Err(TdsError::Truncated),
                    "{ty} cut at {len}"
                );
            }
        }
    }
}

fn samples() -> Vec<(SqlType, Value)> {
    let decimal = |m, p, s| Value::Decimal(Decimal::new(m, p, s).unwrap());
    vec![
        (SqlType::BIT, Value::Bit(true)),
        (SqlType::TINYINT, Value::TinyInt(255)),
        (SqlType::SMALLINT, Value::SmallInt(-2)),
        (SqlType::INT, Value::Int(i32::MIN)),
        (SqlType::BIGINT, Value::BigInt(i64::MAX)),
        (SqlType::REAL, Value::Real(-1.5)),
        (SqlType::FLOAT, Value::Float(1e300)),
        (SqlType::MONEY, Value::Money(-15_000)),
        (SqlType::SMALLMONEY, Value::SmallMoney(7)),
        (SqlType::decimal(10, 2), decimal(-1234, 10, 2)),
        (SqlType::numeric(38, 0), decimal(10i128.pow(38) - 1, 38, 0)),
        (SqlType::GUID, Value::Guid([7; 16])),
        (SqlType::DATE, Value::Date(Date(719_162))),
        (SqlType::time(0), Value::Time(Time(50_000_000))),
        (SqlType::time(7), Value::Time(Time(UNITS_PER_DAY - 1))),
        (
            SqlType::DATETIME,
            Value::DateTime(DateTime { days: -1, ticks: 3 }),
        ),
        (
            SqlType::SMALLDATETIME,
            Value::SmallDateTime(SmallDateTime {
                days: 9,
                minutes: 1439,
            }),
        ),
        (
            SqlType::datetime2(3),
            Value::DateTime2(DateTime2 {
                days: 737_425,
                time: 110_450_000_000,
            }),
        ),
        (
            SqlType::datetimeoffset(7),
            Value::DateTimeOffset(DateTimeOffset {
                days: 1,
                time: 5,
                offset: -90,
            }),
        ),
        (SqlType::char(3), Value::VarChar(b"ab ".to_vec())),
        (SqlType::varchar(20), Value::VarChar(Vec::new())),
        (SqlType::nchar(2), Value::nvarchar("ü ")),
        (SqlType::nvarchar(10), Value::NVarChar(vec![0xD800, 0x41])),
        (SqlType::NVARCHAR_MAX, Value::nvarchar("lang")),
        (SqlType::VARCHAR_MAX, Value::VarChar(vec![b'x'; 20_000])),
        (SqlType::VARBINARY_MAX, Value::Binary(Vec::new())),
        (SqlType::varbinary(8), Value::Binary(vec![1, 2])),
        (SqlType::binary(3), Value::Binary(vec![1, 2, 0])),
        (SqlType::TEXT, Value::VarChar(b"t".to_vec())),
        (SqlType::NTEXT, Value::nvarchar("n")),
        (SqlType::IMAGE, Value::Binary(vec![9; 300])),
        (SqlType::XML, Value::nvarchar("<a/>")),
    ]
}

#[test]
fn every_type_round_trips() {
    for (ty, value) in samples() {
        if value != Value::VarChar(vec![b'x'; 20_000]) {
            round_trip(ty, value);
        }
    }
}

#[test]
fn variants_round_trip() {
    for (ty, value) in samples() {
        if ty.is_max() {
            continue;
        }
        let value = Value::Variant(Box::new((ty, value)));
        let mut bytes = Vec::new();
        put_value(&mut bytes, &SqlType::VARIANT, &value, Place::Column).unwrap();
        let info = TypeInfo::of(SqlType::VARIANT, Place::Column);
        assert_eq!(parse_value(&mut Reader::new(&bytes), &info), Ok(value));
    }
    let mut bytes = Vec::new();
    let five = Value::Variant(Box::new((SqlType::INT, Value::Int(5))));
    put_value(&mut bytes, &SqlType::VARIANT, &five, Place::Column).unwrap();
    assert_eq!(bytes, [6, 0, 0, 0, 0x38, 0, 5, 0, 0, 0]);
}

#[test]
fn bytes_as_seen_on_the_wire() {
    let bytes = |ty: SqlType, value: Value| {
        let mut out = Vec::new();
        put_value(&mut out, &ty, &value, Place::Column).unwrap();
        out
    };
    let decimal = Value::Decimal(Decimal::new(1234, 10, 2).unwrap());
    assert_eq!(
        bytes(SqlType::numeric(10, 2), decimal),
        [9, 1, 0xD2, 4, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        bytes(SqlType::MONEY, Value::Money(15_000)),
        [8, 0, 0, 0, 0, 0x98, 0x3A, 0, 0]
    );
    assert_eq!(
        bytes(
            SqlType::DATE,
            Value::Date(Date::from_ymd(1970, 1, 1).unwrap())
        ),
        [3, 0x3A, 0xF9, 0x0A]
    );
    let days = Date::from_ymd(2020, 1, 2).unwrap().0;
    let time = Time::from_hms(3, 4, 5, 0).unwrap().0;
    assert_eq!(
        bytes(
            SqlType::datetime2(3),
            Value::DateTime2(DateTime2 { days, time })
        ),
        [7, 0x88, 0x88, 0xA8, 0, 0x91, 0x40, 0x0B]
    );
    assert_eq!(
        bytes(SqlType::char(3), Value::VarChar(b"a".to_vec())),
        [3, 0, b'a', b' ', b' ']
    );
    let mut declared = Vec::new();
    put_type_info(&mut declared, &SqlType::nvarchar(20));
    assert_eq!(declared, [0xE7, 40, 0, 9, 4, 0xD0, 0, 0x34]);
}

#[test]
fn decimals_of_another_length_are_read_by_their_length() {
    let info = TypeInfo::of(SqlType::decimal(10, 2), Place::Parameter);
    let mut wide = vec![17, 1, 0xD2, 4];
    wide.resize(18, 0);
    let expected = Value::Decimal(Decimal::new(1234, 10, 2).unwrap());
    assert_eq!(parse_value(&mut Reader::new(&wide), &info), Ok(expected));
}

#[test]
fn large_values_in_chunks_of_unknown_total() {
    let info = TypeInfo::of(SqlType::VARBINARY_MAX, Place::Parameter);
    let mut bytes = PLP_UNKNOWN.to_le_bytes().to_vec();
    for chunk in [&[1u8, 2][..], &[3]] {
        put_u32(&mut bytes, chunk.len() as u32);
        bytes.extend_from_slice(chunk);
    }
    put_u32(&mut bytes, 0);
    assert_eq!(
        parse_value(&mut Reader::new(&bytes), &info),
        Ok(Value::Binary(vec![1, 2, 3]))
    );
}

#[test]
fn mismatched_values_are_refused() {
    let mut out = Vec::new();
    for (ty, value) in [
        (SqlType::INT, Value::varchar("x")),
        (SqlType::INT, Value::BigInt(1 << 40)),
        (SqlType::FLOAT, Value::Float(f64::NAN)),
        (SqlType::varchar(5), Value::VarChar(vec![0; 9_000])),
        (SqlType::VARIANT, Value::Int(1)),
    ] {
        assert!(put_value(&mut out, &ty, &value, Place::Column).is_err());
    }
    assert_ne!(CollationId::DEFAULT, CollationId::NONE);
}
