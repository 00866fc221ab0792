//! Functions that make a code of a value: HASHBYTES, BINARY_CHECKSUM, STRING_ESCAPE, PARSENAME.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::Param::{Any, Int, Text, TextOrBytes};
use super::{ScalarFunction, doc, int, strict, whole};
use crate::cx::Cx;

/// Bytes that are taken in between two looks at whether somebody still wants the answer.
const PIECE: usize = 1 << 16;

/// The digest of a string or binary value, as its bytes: the code page's for varchar, little-endian UTF-16 for nvarchar.
fn digest<D: Digest>(data: &Value, cx: &Cx<'_>) -> SqlResult<Vec<u8>> {
    let mut digest = D::new();
    match data {
        Value::VarChar(b) | Value::Binary(b) => {
            for piece in b.chunks(PIECE) {
                if b.len() > PIECE {
                    cx.check_cancelled()?;
                }
                digest.update(piece);
            }
        }
        Value::NVarChar(u) => {
            for piece in u.chunks(PIECE) {
                if u.len() > PIECE {
                    cx.check_cancelled()?;
                }
                let bytes: Vec<u8> = piece.iter().flat_map(|u| u.to_le_bytes()).collect();
                digest.update(bytes);
            }
        }
        Value::Spooled(s) => {
            let mut piece = vec![0; PIECE];
            for from in (0..s.len()).step_by(PIECE) {
                cx.check_cancelled()?;
                let n = PIECE.min(s.len() - from);
                s.read(from, &mut piece[..n])?;
                digest.update(&piece[..n]);
            }
        }
        _ => {}
    }
    Ok(digest.finalize().to_vec())
}

pub(super) const TABLE: &[ScalarFunction] = &[
    // What COLLATE becomes: the value, in the code page of the collation.
    strict(
        doc(super::COLLATE, "", ""),
        &[Any],
        |args| args[0].ty,
        |v, args, ty, cx| match args[0].ty.collation.is_utf8() == ty.collation.is_utf8() {
            true => Ok(v[0].clone()),
            false => duramen_types::convert(&v[0], &args[0].ty, ty, None, &cx.convert),
        },
    ),
    // NULL for an algorithm that is not known.
    strict(
        doc("hashbytes", "a digest of bytes", "HASHBYTES('MD5', 'abc')"),
        &[Text, TextOrBytes],
        |_| SqlType::varbinary(8000),
        |v, _, _, cx| {
            let algorithm = v[0].as_text().unwrap_or_default().to_ascii_uppercase();
            let data = &v[1];
            Ok(Value::Binary(match algorithm.as_str() {
                "MD5" => digest::<Md5>(data, cx)?,
                "SHA" | "SHA1" => digest::<Sha1>(data, cx)?,
                "SHA2_256" => digest::<Sha256>(data, cx)?,
                "SHA2_512" => digest::<Sha512>(data, cx)?,
                "MD2" | "MD4" => {
                    let what = format!("HASHBYTES('{algorithm}')");
                    return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
                }
                _ => return Ok(Value::Null),
            }))
        },
    )
    .reads_in_pieces(1)
    .reads_bytes(),
    // Over the bytes of the values, so that case and accents count. *Assumed*: how the values are mixed is not published.
    strict(
        doc(
            "binary_checksum",
            "a checksum of values by their bytes",
            "BINARY_CHECKSUM(1)",
        ),
        &[Any],
        int,
        |v, args, _, cx| {
            let mut sum = 0u32;
            for (value, arg) in v.iter().zip(args) {
                let part = match value {
                    Value::Null => u32::MAX >> 1,
                    Value::VarChar(_) | Value::NVarChar(_) | Value::Binary(_) => {
                        mixed(&bytes(value))
                    }
                    other => match other.as_i64().and_then(|n| i32::try_from(n).ok()) {
                        Some(n) => n as u32,
                        None => {
                            let ty = SqlType::varchar(8000);
                            let text =
                                duramen_types::convert(other, &arg.ty, &ty, None, &cx.convert)?;
                            mixed(&bytes(&text))
                        }
                    },
                };
                sum = sum.rotate_left(4) ^ part;
            }
            Ok(Value::Int(sum as i32))
        },
    )
    .at_most(254)
    .sees_null(),
    strict(
        doc(
            "string_escape",
            "a text with what JSON escapes escaped",
            "STRING_ESCAPE('a\"b', 'json')",
        ),
        &[Text, Text],
        |_| SqlType::NVARCHAR_MAX,
        |v, _, _, _| {
            let kind = v[1].as_text().unwrap_or_default();
            if !kind.eq_ignore_ascii_case("json") {
                let args: [&dyn std::fmt::Display; 2] = [&2, &"string_escape"];
                return Err(SqlError::new(&messages::INVALID_PARAMETER_FOR, &args));
            }
            Ok(Value::nvarchar(&json_escaped(
                &v[0].as_text().unwrap_or_default(),
            )))
        },
    ),
    // Piece 1 is the object, 2 the schema, 3 the database, 4 the server.
    strict(
        doc(
            "parsename",
            "a part of a name, from the last",
            "PARSENAME('db.sch.tab', 2)",
        ),
        &[Text, Int],
        |_| SqlType::SYSNAME,
        |v, _, _, _| {
            let name = v[0].as_text().unwrap_or_default();
            let parts = name_parts(&name).unwrap_or_default();
            let at = whole(&v[1])
                .checked_sub(1)
                .and_then(|n| usize::try_from(n).ok());
            let part = at.and_then(|n| parts.iter().rev().nth(n));
            Ok(part
                .filter(|p| !p.is_empty())
                .map_or(Value::Null, |p| Value::nvarchar(p)))
        },
    ),
];

/// A string or binary value as its bytes: the code page's for varchar, little-endian UTF-16 for nvarchar.
pub(super) fn bytes(v: &Value) -> Vec<u8> {
    match v {
        Value::VarChar(b) | Value::Binary(b) => b.clone(),
        Value::NVarChar(u) => u.iter().flat_map(|u| u.to_le_bytes()).collect(),
        _ => Vec::new(),
    }
}

/// Each byte turned into the sum of those before it.
fn mixed(bytes: &[u8]) -> u32 {
    let fold = |sum: u32, b: &u8| sum.rotate_left(4) ^ u32::from(*b);
    bytes.iter().fold(0, fold)
}

/// RFC 8259, section 7; the slash is escaped too.
fn json_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// At most four names between dots, brackets and double quotes taken away; `None` for what is not a name.
fn name_parts(name: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut chars = name.chars().peekable();
    loop {
        let mut part = String::new();
        let close = match chars.peek() {
            Some('[') => Some(']'),
            Some('"') => Some('"'),
            _ => None,
        };
        if let Some(close) = close {
            chars.next();
            loop {
                match chars.next()? {
                    c if c == close && chars.peek() == Some(&close) => {
                        chars.next();
                        part.push(close);
                    }
                    c if c == close => break,
                    c => part.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != '.') {
                part.push(c);
            }
        }
        if part.encode_utf16().count() > 128 {
            return None;
        }
        parts.push(part);
        match chars.next() {
            None => break,
            Some('.') => {}
            Some(_) => return None,
        }
    }
    (parts.len() <= 4).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart() {
        let of = |s: &str| name_parts(s).map(|p| p.join("|"));
        assert_eq!(of("s.d..t").as_deref(), Some("s|d||t"));
        assert_eq!(of("[a.b].\"c\"").as_deref(), Some("a.b|c"));
        assert_eq!(of("a.b.c.d.e"), None);
        assert_eq!(of("[a"), None);
        assert_eq!(of(&"x".repeat(129)), None);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(json_escaped("a\"\\/\n\u{1}é"), "a\\\"\\\\\\/\\n\\u0001é");
    }
}
