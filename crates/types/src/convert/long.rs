//! Conversions of texts and bytes so long that nobody may want them any more before they are done: in pieces.
//!
//! Each piece is converted as a whole value would be, so pieces end where that changes nothing: between characters.

use duramen_base::SqlResult;

use super::{ConvertCtx, change, cut};
use crate::{CollationId, SqlType, TypeId, Value};

/// Elements (bytes, UTF-16 units) that are converted between two looks.
const PIECE: usize = 1 << 16;

/// CAST and CONVERT, as [`super::convert`]; `go_on` is asked before each piece of a long text or of long bytes, and its
/// error ends the conversion.
pub fn convert_long(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
    go_on: &mut dyn FnMut() -> SqlResult<()>,
) -> SqlResult<Value> {
    match elements(v) > PIECE && by_pieces(from, to, style) {
        true => {
            crate::legal::check_explicit(from, to)?;
            let style = style.filter(|s| *s != 0 && crosses(from, to));
            in_pieces(v, from, to, style, PIECE, ctx, go_on)
        }
        false => super::convert(v, from, to, style, ctx),
    }
}

fn is_bytes(ty: &SqlType) -> bool {
    matches!(ty.id, TypeId::Binary | TypeId::VarBinary | TypeId::Image)
}

fn crosses(from: &SqlType, to: &SqlType) -> bool {
    is_bytes(from) != is_bytes(to)
}

/// Whether each element stands for itself: between texts, and between texts and bytes; where those are hex digits, each two,
/// and what takes all of them.
fn by_pieces(from: &SqlType, to: &SqlType, style: Option<i32>) -> bool {
    let text = |ty: &SqlType| ty.id.is_string() && ty.id != TypeId::Xml;
    let both = |ty: &SqlType| is_bytes(ty) || text(ty);
    let hex = matches!(style, Some(1 | 2)) && to.is_max();
    both(from) && both(to) && (!crosses(from, to) || style.unwrap_or(0) == 0 || hex)
}

fn in_pieces(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    piece: usize,
    ctx: &ConvertCtx,
    go_on: &mut dyn FnMut() -> SqlResult<()>,
) -> SqlResult<Value> {
    let wanted = to.char_capacity().unwrap_or(usize::MAX);
    let (mut out, mut at) = (Value::Null, 0);
    while at < elements(v) && elements(&out) < wanted {
        go_on()?;
        let end = boundary(v, at, piece, from.collation);
        // Only the first digits have `0x` in front.
        let style = style.map(|s| if at == 0 { s } else { 2 });
        let made = change(&slice(v, at, end), from, to, style, ctx)?;
        out = joined(out, made);
        at = end;
    }
    if out.is_null() {
        out = change(v, from, to, style, ctx)?;
    }
    Ok(cut(out, to))
}

fn elements(v: &Value) -> usize {
    match v {
        Value::VarChar(b) | Value::Binary(b) => b.len(),
        Value::NVarChar(u) => u.len(),
        _ => 0,
    }
}

fn slice(v: &Value, at: usize, end: usize) -> Value {
    match v {
        Value::VarChar(b) => Value::VarChar(b[at..end].to_vec()),
        Value::Binary(b) => Value::Binary(b[at..end].to_vec()),
        Value::NVarChar(u) => Value::NVarChar(u[at..end].to_vec()),
        _ => Value::Null,
    }
}

/// Where the piece from `at` ends, `piece` elements further or a few more.
fn boundary(v: &Value, at: usize, piece: usize, collation: CollationId) -> usize {
    let end = at.saturating_add(piece).min(elements(v));
    match v {
        // Two bytes are one unit of UTF-16.
        Value::Binary(b) => end.next_multiple_of(2).min(b.len()),
        // A surrogate stays with its other half.
        Value::NVarChar(u) if end < u.len() => {
            let pair = (0xd800..0xdc00).contains(&u[end - 1]) && (0xdc00..0xe000).contains(&u[end]);
            end + usize::from(pair)
        }
        // A character of UTF-8 has at most three bytes behind its first.
        Value::VarChar(b) if collation.is_utf8() => {
            let inner = b[end..].iter().take(3);
            end + inner.take_while(|byte| **byte & 0xc0 == 0x80).count()
        }
        _ => end,
    }
}

fn joined(head: Value, tail: Value) -> Value {
    match (head, tail) {
        (Value::VarChar(mut a), Value::VarChar(b)) => {
            a.extend_from_slice(&b);
            Value::VarChar(a)
        }
        (Value::Binary(mut a), Value::Binary(b)) => {
            a.extend_from_slice(&b);
            Value::Binary(a)
        }
        (Value::NVarChar(mut a), Value::NVarChar(b)) => {
            a.extend_from_slice(&b);
            Value::NVarChar(a)
        }
        (_, tail) => tail,
    }
}

#[cfg(test)]
mod tests {
    use duramen_base::SqlError;

    use super::*;

    /// Pieces of every size give what the whole gives, malformed text included.
    #[test]
    fn pieces_are_the_whole() {
        let utf8 = CollationId::from_name("Latin1_General_100_CI_AS_SC_UTF8").unwrap();
        let types = [
            SqlType::VARCHAR_MAX,
            SqlType::NVARCHAR_MAX,
            SqlType::VARBINARY_MAX,
            SqlType::varbinary(9),
            SqlType::VARCHAR_MAX.with_collation(utf8),
            SqlType::char(7),
            SqlType::nchar(5),
        ];
        let text = "aé€😀ž\u{fffd}x";
        let mut bytes: Vec<u8> = text.bytes().collect();
        bytes.extend([
            0xf0, 0x9f, 0x98, b'a', 0x80, 0x80, 0x80, 0x80, 0x80, 0xc3, 0xe2, 0x82,
        ]);
        let mut units: Vec<u16> = text.encode_utf16().collect();
        units.extend([0xd83d, 0xd83d, 0xde00, 0xde00, 0x41, 0xd83d]);
        let ctx = ConvertCtx::default();
        for from in &types {
            let v = match from.id {
                id if id.is_binary() => Value::Binary(bytes.clone()),
                id if id.is_nchar() => Value::NVarChar(units.clone()),
                _ => Value::VarChar(bytes.clone()),
            };
            for to in &types {
                let whole = super::super::convert(&v, from, to, None, &ctx).unwrap();
                for piece in 1..bytes.len() + 2 {
                    let made = in_pieces(&v, from, to, None, piece, &ctx, &mut || Ok(()));
                    assert_eq!(made.unwrap(), whole, "{from:?} to {to:?} by {piece}");
                }
            }
        }
    }

    #[test]
    fn pieces_of_hex_digits_are_the_whole() {
        let ctx = ConvertCtx::default();
        let bytes = Value::Binary((0..=255).collect());
        let binary = SqlType::VARBINARY_MAX;
        let convert = |v: &Value, from: &SqlType, to: &SqlType, s| {
            super::super::convert(v, from, to, s, &ctx)
        };
        for text in [SqlType::VARCHAR_MAX, SqlType::NVARCHAR_MAX] {
            for style in [Some(1), Some(2)] {
                let digits = convert(&bytes, &binary, &text, style).unwrap();
                for piece in (2..600).step_by(2) {
                    let go_on = &mut || Ok(());
                    let made = in_pieces(&bytes, &binary, &text, style, piece, &ctx, go_on);
                    assert_eq!(made.unwrap(), digits, "{style:?} by {piece}");
                    let back = in_pieces(&digits, &text, &binary, style, piece, &ctx, go_on);
                    assert_eq!(back.unwrap(), bytes, "{style:?} by {piece}");
                }
                // An odd digit, another character and a prefix too many are what they are to the whole.
                let digits = digits.as_text().unwrap();
                for wrong in [
                    format!("{digits}a"),
                    digits.replace("7F", "7G"),
                    digits.replace("7F", "0x"),
                ] {
                    let wrong = Value::varchar(&wrong);
                    let from = SqlType::VARCHAR_MAX;
                    let whole = convert(&wrong, &from, &binary, style).unwrap_err();
                    let made = in_pieces(&wrong, &from, &binary, style, 32, &ctx, &mut || Ok(()));
                    assert_eq!(made.unwrap_err().message, whole.message);
                }
            }
        }
    }

    #[test]
    fn a_conversion_that_is_given_up_converts_no_further_piece() {
        let long = Value::NVarChar(vec![0x20ac; 40 * PIECE]);
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            match asked < 3 {
                true => Ok(()),
                false => Err(SqlError::given_up()),
            }
        };
        let (from, to) = (SqlType::NVARCHAR_MAX, SqlType::VARCHAR_MAX);
        let ctx = ConvertCtx::default();
        assert!(convert_long(&long, &from, &to, None, &ctx, &mut go_on).is_err());
        assert_eq!(asked, 3);
        // What holds little is filled by the first piece.
        asked = 0;
        let mut go_on = || {
            asked += 1;
            Ok(())
        };
        let to = SqlType::varchar(10);
        convert_long(&long, &from, &to, None, &ctx, &mut go_on).unwrap();
        assert_eq!(asked, 1);
    }
}
