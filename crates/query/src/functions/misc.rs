//! Functions that belong to no type: ISNULL, NEWID, CHECKSUM, DATALENGTH.

use duramen_base::SqlResult;
use duramen_types::{SqlType, TypeId, Value};

use super::Param::{Any, Comparable, LongText, Text};
use super::{ScalarFunction, doc, int, strict};
use crate::cx::Cx;
use crate::expr::{Expr, Kind};

fn guid(_: &[Expr]) -> SqlType {
    SqlType::GUID
}

/// ISNULL has its first argument's type; the bare NULL has none of its own.
fn first_typed(args: &[Expr]) -> SqlType {
    match args[0].kind {
        Kind::Const(Value::Null) => args[1].ty,
        _ => args[0].ty,
    }
}

/// int, and bigint for a (max) argument.
fn length_type(args: &[Expr]) -> SqlType {
    match args[0].ty.is_max() {
        true => SqlType::BIGINT,
        false => SqlType::INT,
    }
}

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc(
            "newid",
            "a new random uniqueidentifier",
            "DATALENGTH(NEWID())",
        ),
        &[],
        guid,
        |_, _, _, cx| {
            let (a, b) = (
                cx.host.random().to_le_bytes(),
                cx.host.random().to_le_bytes(),
            );
            let mut g = [0u8; 16];
            g[..8].copy_from_slice(&a);
            g[8..].copy_from_slice(&b);
            // Version 4, as NEWID gives them.
            g[7] = g[7] & 0x0f | 0x40;
            g[8] = g[8] & 0x3f | 0x80;
            Ok(Value::Guid(g))
        },
    )
    .volatile(),
    strict(
        doc(
            "isnull",
            "the second value where the first is NULL",
            "ISNULL(NULL, 'x')",
        ),
        &[Any, Any],
        first_typed,
        |v, args, ty, cx| match &v[0] {
            Value::Null => duramen_types::convert(&v[1], &args[1].ty, ty, None, &cx.convert),
            first => Ok(first.clone()),
        },
    )
    .null_if_all()
    .sees_null(),
    strict(
        doc("datalength", "the bytes of a value", "DATALENGTH(N'ab')"),
        &[Any],
        length_type,
        |v, args, ty, _| {
            let bytes = v[0].data_length(&args[0].ty);
            Ok(bytes.map_or(Value::Null, |n| match ty.id {
                TypeId::BigInt => Value::BigInt(n as i64),
                _ => Value::Int(n as i32),
            }))
        },
    )
    .reads_in_pieces(0),
    strict(
        doc(
            "sql_variant_property",
            "a property of a value's type",
            "SQL_VARIANT_PROPERTY(CAST(1.5 AS decimal(5, 2)), 'Scale')",
        ),
        &[Any, Text],
        |_| SqlType::VARIANT,
        |v, args, _, _| {
            let ty = match &v[0] {
                Value::Variant(inner) => inner.0,
                _ => args[0].ty,
            };
            let name = v[1].as_text().unwrap_or_default().to_lowercase();
            let text = |s: &str| {
                let value = (SqlType::SYSNAME, Value::nvarchar(s));
                Value::Variant(Box::new(value))
            };
            let int = |n: i32| Value::Variant(Box::new((SqlType::INT, Value::Int(n))));
            Ok(match name.as_str() {
                "basetype" => text(ty.id.name()),
                "precision" => int(i32::from(ty.precision)),
                "scale" => int(i32::from(ty.scale)),
                "maxlength" if !ty.is_max() => int(i32::from(ty.length)),
                "collation" if ty.id.is_string() => ty.collation.name().map_or(Value::Null, text),
                _ => Value::Null,
            })
        },
    ),
    strict(
        doc(
            "isnumeric",
            "whether a text is a number",
            "ISNUMERIC('1e3')",
        ),
        &[Any],
        int,
        |v, args, _, _| {
            let yes = match &v[0] {
                Value::Null => false,
                _ if args[0].ty.id.is_numeric() => args[0].ty.id != TypeId::Bit,
                other => other
                    .as_text()
                    .is_some_and(|t| duramen_types::convert::is_numeric(&t)),
            };
            Ok(Value::Int(yes as i32))
        },
    )
    .sees_null(),
    strict(
        doc(
            "isdate",
            "whether a text is a date of datetime",
            "ISDATE('2024-02-30')",
        ),
        &[Any],
        int,
        |v, args, _, cx| {
            let yes = match args[0].ty.id {
                TypeId::DateTime | TypeId::SmallDateTime => !v[0].is_null(),
                _ => v[0]
                    .as_text()
                    .is_some_and(|t| duramen_types::datefn::isdate(&t, &cx.convert)),
            };
            Ok(Value::Int(yes as i32))
        },
    )
    .stable_in_statement()
    .sees_null(),
    // The hash of a string is not SQL Server's, whose algorithm is not published; that of an int is.
    strict(
        doc("checksum", "a checksum of values", "CHECKSUM(1)"),
        &[Comparable],
        int,
        |v, args, _, cx| {
            let mut sum = 0u32;
            for (value, arg) in v.iter().zip(args) {
                sum = sum.rotate_left(4) ^ hash(value, arg, cx)?;
            }
            Ok(Value::Int(sum as i32))
        },
    )
    .at_most(254)
    .sees_null(),
    strict(
        doc(
            "patindex",
            "where a pattern is found first, from 1",
            "PATINDEX('%c%', 'abcd')",
        ),
        &[Text, LongText],
        int,
        |v, args, _, _| {
            let wide = matches!(v[1], Value::NVarChar(_));
            let collation = args[1].ty.collation;
            let pattern = duramen_types::LikePattern::compile(&v[0], None, wide, collation);
            Ok(Value::Int(pattern.position(&v[1])? as i32))
        },
    )
    .compares(),
];

/// Equal values hash alike: strings under their collation.
fn hash(value: &Value, arg: &Expr, cx: &Cx<'_>) -> SqlResult<u32> {
    if let Some(n) = value.as_i64().and_then(|n| i32::try_from(n).ok()) {
        return Ok(n as u32);
    }
    if value.is_null() {
        return Ok(u32::MAX >> 1);
    }
    struct Fnv(u64);
    impl std::hash::Hasher for Fnv {
        fn write(&mut self, bytes: &[u8]) {
            for b in bytes {
                self.0 = (self.0 ^ *b as u64).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        fn finish(&self) -> u64 {
            self.0 ^ self.0 >> 32
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    let mut go_on = || cx.check_cancelled();
    duramen_types::collate::hash_long(value, arg.ty.collation, &mut hasher, &mut go_on)?;
    Ok(std::hash::Hasher::finish(&hasher) as u32)
}
