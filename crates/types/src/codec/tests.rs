//! Stored bytes: known examples, round trips, and refusal of bytes no value has.

use super::*;

fn fixed(v: Value, ty: SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    v.encode_fixed(&ty, &mut out).unwrap();
    assert_eq!(out.len(), ty.fixed_bytes(), "{ty}");
    assert_eq!(Value::decode_fixed(&ty, &out).unwrap(), v, "{ty}");
    out
}

#[test]
fn fixed_types_have_the_servers_bytes() {
    assert_eq!(
        fixed(Value::Int(-2), SqlType::INT),
        [0xfe, 0xff, 0xff, 0xff]
    );
    let d = Decimal::new(-12345, 9, 2).unwrap();
    assert_eq!(
        fixed(Value::Decimal(d), SqlType::decimal(9, 2)),
        [0, 0x39, 0x30, 0, 0]
    );
    // 2000-01-01 00:00:01: 36524 days, 300 ticks.
    let dt = DateTime {
        days: 36524,
        ticks: 300,
    };
    assert_eq!(
        fixed(Value::DateTime(dt), SqlType::DATETIME),
        [0x2c, 1, 0, 0, 0xac, 0x8e, 0, 0]
    );
    assert_eq!(
        fixed(Value::Date(Date(MAX_DAYS)), SqlType::DATE),
        [0xda, 0xb9, 0x37]
    );
    assert_eq!(
        fixed(Value::Time(Time(10_000_000)), SqlType::time(0)),
        [1, 0, 0]
    );
    fixed(
        Value::DateTimeOffset(DateTimeOffset {
            days: 700_000,
            time: 123_400,
            offset: -90,
        }),
        SqlType::datetimeoffset(5),
    );
    fixed(Value::VarChar(b"ab  ".to_vec()), SqlType::char(4));
    fixed(Value::NVarChar(vec![65, 32]), SqlType::nchar(2));
    let big = Decimal::new(10i128.pow(38) - 1, 38, 10).unwrap();
    fixed(Value::Decimal(big), SqlType::decimal(38, 10));
}

#[test]
fn short_values_of_fixed_strings_are_padded() {
    let mut out = Vec::new();
    Value::varchar("a")
        .encode_fixed(&SqlType::char(3), &mut out)
        .unwrap();
    Value::Binary(vec![1])
        .encode_fixed(&SqlType::binary(2), &mut out)
        .unwrap();
    assert_eq!(out, *b"a  \x01\0");
}

#[test]
fn variants_keep_type_and_value() {
    for (ty, v) in [
        (SqlType::INT, Value::Int(7)),
        (
            SqlType::numeric(5, 2),
            Value::Decimal(Decimal::new(12345, 5, 2).unwrap()),
        ),
        (SqlType::nvarchar(10), Value::nvarchar("häß")),
        (
            SqlType::datetime2(3),
            Value::DateTime2(DateTime2 {
                days: 1,
                time: 10_000,
            }),
        ),
    ] {
        let variant = Value::Variant(Box::new((ty, v)));
        let mut out = Vec::new();
        variant.encode_var(&SqlType::VARIANT, &mut out).unwrap();
        assert_eq!(Value::decode_var(&SqlType::VARIANT, &out).unwrap(), variant);
    }
}

#[test]
fn foreign_bytes_are_refused_not_trusted() {
    for ty in TypeId::ALL {
        let ty = SqlType::from_catalog(ty.xtype(), 4, 38, 7, 0).unwrap();
        for n in 0..24 {
            // Errors are fine, panics are not.
            let _ = Value::decode_fixed(&ty, &vec![0xff; n]);
            let _ = Value::decode_var(&ty, &vec![0xff; n]);
            let _ = Value::decode_var(
                &SqlType::VARIANT,
                &[vec![ty.id.xtype(), 1], vec![0; n]].concat(),
            );
        }
    }
    let e = Value::decode_fixed(&SqlType::DATETIME, &[0xff; 8]).unwrap_err();
    assert_eq!((e.number, e.ends_connection()), (5243, true));
    assert!(
        Value::Int(1)
            .encode_fixed(&SqlType::DATE, &mut Vec::new())
            .is_err()
    );
}
