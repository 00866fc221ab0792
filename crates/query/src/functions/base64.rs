//! BASE64_ENCODE and BASE64_DECODE of 2025.

use duramen_types::base64::{Decoder, encode};
use duramen_types::{SqlType, Value};

use super::Param::{Int, OnlyBytes, Text};
use super::text::units;
use super::{ScalarFunction, doc, strict, whole};

/// More bytes than this may not come to 8,000 characters.
const SHORT: u16 = 6000;

/// Characters between two looks at whether the statement is wanted.
const PIECE: usize = 1 << 16;

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc(
            "base64_encode",
            "bytes as a text in base64",
            "BASE64_ENCODE(0xA9)",
        ),
        &[OnlyBytes, Int],
        |args| match args[0].ty.is_max() || args[0].ty.length > SHORT {
            true => SqlType::VARCHAR_MAX,
            false => SqlType::varchar(8000),
        },
        |v, _, _, cx| {
            let Value::Binary(bytes) = &v[0] else {
                return Ok(Value::Null);
            };
            let for_addresses = v.get(1).is_some_and(|flag| whole(flag) != 0);
            let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
            for piece in bytes.chunks(3 * PIECE) {
                cx.check_cancelled()?;
                encode(piece, for_addresses, &mut out);
            }
            Ok(Value::VarChar(out))
        },
    )
    .at_least(1),
    strict(
        doc(
            "base64_decode",
            "the bytes of a text in base64",
            "BASE64_DECODE('qQ==')",
        ),
        &[Text],
        |args| match args[0].ty.is_max() {
            true => SqlType::VARBINARY_MAX,
            false => SqlType::varbinary(8000),
        },
        |v, _, _, cx| {
            let units = units(&v[0]);
            let mut out = Vec::with_capacity(units.len() / 4 * 3);
            let mut decoder = Decoder::default();
            for piece in units.chunks(PIECE) {
                cx.check_cancelled()?;
                decoder.take(piece, &mut out)?;
            }
            decoder.end()?;
            Ok(Value::Binary(out))
        },
    ),
];
