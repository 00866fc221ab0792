//! The bit functions of 2022: LEFT_SHIFT, RIGHT_SHIFT, BIT_COUNT, GET_BIT, SET_BIT.
//!
//! They take integers and binary values; bit 0 is the lowest bit of the last byte. Shifts are logical: what comes in is
//! zero, also to the right of a negative number, and a negative distance shifts the other way.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, TypeId, Value};

use super::Param::{Any, Int};
use super::{ScalarFunction, doc, same, strict, whole};
use crate::expr::Expr;

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc(
            "left_shift",
            "the bits moved to the left",
            "LEFT_SHIFT(1, 4)",
        ),
        &[Any, Int],
        same,
        |v, args, _, _| shift("left_shift", v, args, whole(&v[1])),
    ),
    strict(
        doc(
            "right_shift",
            "the bits moved to the right",
            "RIGHT_SHIFT(16, 4)",
        ),
        &[Any, Int],
        same,
        |v, args, _, _| shift("right_shift", v, args, whole(&v[1]).saturating_neg()),
    ),
    strict(
        doc("bit_count", "how many bits are set", "BIT_COUNT(7)"),
        &[Any],
        |_| SqlType::BIGINT,
        |v, args, _, _| {
            let bytes = bytes("bit_count", &v[0], &args[0].ty)?;
            Ok(Value::BigInt(
                bytes.iter().map(|b| i64::from(b.count_ones())).sum(),
            ))
        },
    ),
    strict(
        doc("get_bit", "the bit at a place, from 0", "GET_BIT(5, 2)"),
        &[Any, Int],
        |_| SqlType::BIT,
        |v, args, _, _| {
            let bytes = bytes("get_bit", &v[0], &args[0].ty)?;
            let (byte, mask) = place("get_bit", &bytes, &args[0].ty, whole(&v[1]))?;
            Ok(Value::Bit(bytes[byte] & mask != 0))
        },
    ),
    strict(
        doc(
            "set_bit",
            "a number with the bit at a place set or cleared",
            "SET_BIT(0, 3)",
        ),
        &[Any, Int, Int],
        same,
        |v, args, _, _| {
            let mut bytes = bytes("set_bit", &v[0], &args[0].ty)?;
            let (byte, mask) = place("set_bit", &bytes, &args[0].ty, whole(&v[1]))?;
            match v.get(2).map_or(1, whole) {
                0 => bytes[byte] &= !mask,
                1 => bytes[byte] |= mask,
                _ => {
                    let parameters: [&dyn std::fmt::Display; 2] = [&3, &"set_bit"];
                    return Err(SqlError::new(&messages::INVALID_PARAMETER_FOR, &parameters));
                }
            }
            Ok(value(&v[0], bytes))
        },
    )
    .at_least(2),
];

/// The bytes of a value, highest first. Types without bits to count are error 8116.
fn bytes(function: &str, v: &Value, ty: &SqlType) -> SqlResult<Vec<u8>> {
    Ok(match v {
        Value::Bit(b) => vec![u8::from(*b)],
        Value::TinyInt(n) => vec![*n],
        Value::SmallInt(n) => n.to_be_bytes().to_vec(),
        Value::Int(n) => n.to_be_bytes().to_vec(),
        Value::BigInt(n) => n.to_be_bytes().to_vec(),
        Value::Binary(b) => b.clone(),
        _ => {
            let args: [&dyn std::fmt::Display; 3] = [&ty.id.name(), &1, &function];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
    })
}

/// A value of the kind of `like`, of as many bytes.
fn value(like: &Value, bytes: Vec<u8>) -> Value {
    let n = bytes.iter().fold(0u64, |n, b| (n << 8) | u64::from(*b));
    match like {
        Value::Bit(_) => Value::Bit(n & 1 != 0),
        Value::TinyInt(_) => Value::TinyInt(n as u8),
        Value::SmallInt(_) => Value::SmallInt(n as i16),
        Value::Int(_) => Value::Int(n as i32),
        Value::BigInt(_) => Value::BigInt(n as i64),
        _ => Value::Binary(bytes),
    }
}

/// `distance` bits to the left; to the right when it is negative.
fn shift(function: &str, v: &[Value], args: &[Expr], distance: i64) -> SqlResult<Value> {
    let old = bytes(function, &v[0], &args[0].ty)?;
    let bits = width(&args[0].ty, &old) as i64;
    let mut new = vec![0u8; old.len()];
    let top = old.len() as i64 * 8;
    for i in 0..bits {
        let to = i.saturating_add(distance);
        let set = old[((top - 1 - i) / 8) as usize] & (1 << (i % 8)) != 0;
        if set && (0..bits).contains(&to) {
            new[((top - 1 - to) / 8) as usize] |= 1 << (to % 8);
        }
    }
    Ok(value(&v[0], new))
}

fn width(ty: &SqlType, bytes: &[u8]) -> usize {
    if ty.id == TypeId::Bit {
        1
    } else {
        bytes.len() * 8
    }
}

/// The byte and mask of a bit; one outside the value is error 1023 (*assumed*: the page says that an error is raised).
fn place(function: &str, bytes: &[u8], ty: &SqlType, offset: i64) -> SqlResult<(usize, u8)> {
    let inside = usize::try_from(offset)
        .ok()
        .filter(|o| *o < width(ty, bytes));
    let Some(offset) = inside else {
        let args: [&dyn std::fmt::Display; 2] = [&2, &function];
        return Err(SqlError::new(&messages::INVALID_PARAMETER_FOR, &args));
    };
    Ok((bytes.len() - 1 - offset / 8, 1 << (offset % 8)))
}
