//! String functions. They work on UTF-16 units; what they look for is compared under the collation of the text.

use std::ops::Range;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{CollationId, Spooled, SqlType, TypeId, Value, collate, cp1252};

use super::Param::{
    Any, Float, Int, LongText, OnlyText, OnlyTextOrBytes, Position, Text, TextOrBytes,
};
use super::forms::{quoted, right_aligned, soundex};
use super::{ScalarFunction, doc, int, small, strict, whole};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::long;

/// The first argument's type, where a string stays of its kind and varies in length.
fn string(args: &[Expr]) -> SqlType {
    let ty = args[0].ty;
    let id = match ty.id {
        TypeId::Char | TypeId::VarChar => TypeId::VarChar,
        TypeId::NChar | TypeId::NVarChar => TypeId::NVarChar,
        TypeId::Binary | TypeId::VarBinary => TypeId::VarBinary,
        TypeId::NText => return SqlType::nvarchar(4000).with_collation(ty.collation),
        TypeId::Text => return SqlType::varchar(8000).with_collation(ty.collation),
        TypeId::Image | TypeId::RowVersion => return SqlType::varbinary(8000),
        _ => return SqlType::varchar(8000),
    };
    SqlType { id, ..ty }
}

/// Strings that may grow.
fn long_string(args: &[Expr]) -> SqlType {
    let ty = string(args);
    if ty.is_max() {
        ty
    } else {
        SqlType { length: 8000, ..ty }
    }
}

/// int, and bigint for a (max) argument.
fn count_type(args: &[Expr]) -> SqlType {
    match args[0].ty.is_max() {
        true => SqlType::BIGINT,
        false => SqlType::INT,
    }
}

/// nvarchar when any argument is, max when any is.
fn joined_type(args: &[Expr]) -> SqlType {
    let national = args.iter().any(|a| a.ty.id.is_nchar());
    let long = args.iter().any(|a| a.ty.is_max());
    match (national, long) {
        (true, true) => SqlType::NVARCHAR_MAX,
        (true, false) => SqlType::nvarchar(4000),
        (false, true) => SqlType::VARCHAR_MAX,
        (false, false) => SqlType::varchar(8000),
    }
}

pub(super) const TABLE: &[ScalarFunction] = &[
    strict(
        doc(
            "concat",
            "the texts of values one behind the other; NULL is the empty text",
            "CONCAT('a', NULL, 1)",
        ),
        &[Any, Any],
        joined_type,
        |v, args, ty, cx| {
            let mut out = Vec::new();
            for (value, arg) in v.iter().zip(args) {
                append_text(&mut out, value, arg, cx)?;
            }
            long_value(out, ty, cx)
        },
    )
    .at_most(254)
    .sees_null(),
    strict(
        doc(
            "concat_ws",
            "the same with a separator between those that are not NULL",
            "CONCAT_WS('-', 'a', NULL, 'b')",
        ),
        &[Text, Any],
        joined_type,
        |v, args, ty, cx| {
            let between = units(&v[0]);
            let mut out = Vec::new();
            let mut first = true;
            for (value, arg) in v.iter().zip(args).skip(1).filter(|(v, _)| !v.is_null()) {
                if !std::mem::take(&mut first) {
                    out.extend_from_slice(&between);
                }
                append_text(&mut out, value, arg, cx)?;
            }
            long_value(out, ty, cx)
        },
    )
    .at_least(3)
    .at_most(254)
    .sees_null(),
    // Under an _SC collation the two halves of a supplementary character are one.
    strict(
        doc(
            "len",
            "the characters, without blanks at the end",
            "LEN('ab  ')",
        ),
        &[TextOrBytes],
        count_type,
        |v, args, ty, cx| {
            let end = match &v[0] {
                Value::Binary(b) => b.len(),
                Value::Spooled(s) => spooled_length(s, &args[0].ty, cx)?,
                text => {
                    let end = match text {
                        Value::VarChar(b) => b.iter().rposition(|b| *b != b' '),
                        Value::NVarChar(u) => u.iter().rposition(|u| *u != b' ' as u16),
                        _ => None,
                    };
                    let end = end.map_or(0, |i| i + 1);
                    match (args[0].ty.collation.is_supplementary(), text) {
                        (true, Value::NVarChar(u)) => {
                            char::decode_utf16(u[..end].iter().copied()).count()
                        }
                        _ => end,
                    }
                }
            };
            Ok(match ty.id {
                TypeId::BigInt => Value::BigInt(end as i64),
                _ => Value::Int(end as i32),
            })
        },
    )
    .reads_in_pieces(0),
    strict(
        doc("upper", "in upper case", "UPPER('abc')"),
        &[Text],
        string,
        |v, _, ty, cx| map_units(&v[0], ty, |c| one(c.to_uppercase()), cx),
    ),
    strict(
        doc("lower", "in lower case", "LOWER('ABC')"),
        &[Text],
        string,
        |v, _, ty, cx| map_units(&v[0], ty, |c| one(c.to_lowercase()), cx),
    ),
    strict(
        doc(
            "ltrim",
            "without blanks, or characters, at the beginning",
            "LTRIM('  a ') + '|'",
        ),
        &[Text, Text],
        string,
        |v, args, ty, cx| trimmed(v, args, ty, (true, false), cx),
    )
    .compares()
    .at_least(1),
    strict(
        doc(
            "rtrim",
            "without blanks, or characters, at the end",
            "RTRIM('a  ') + '|'",
        ),
        &[Text, Text],
        string,
        |v, args, ty, cx| trimmed(v, args, ty, (false, true), cx),
    )
    .compares()
    .at_least(1),
    strict(
        doc(
            "trim",
            "without blanks, or characters, at both ends",
            "TRIM('  a ') + '|'",
        ),
        &[OnlyText, OnlyText],
        string,
        |v, args, ty, cx| trimmed(v, args, ty, (true, true), cx),
    )
    .compares()
    .at_least(1),
    strict(
        doc("reverse", "the characters from the last", "REVERSE('abc')"),
        &[Text],
        string,
        |v, _, ty, cx| {
            if let (Value::VarChar(b), false) = (&v[0], ty.id.is_nchar()) {
                return Ok(Value::VarChar(reversed(b, cx)?));
            }
            long_value(reversed(&long_units(&v[0], cx)?, cx)?, ty, cx)
        },
    ),
    strict(
        doc("left", "the first characters", "LEFT('abcdef', 2)"),
        &[Text, Int],
        string,
        |v, args, ty, cx| {
            let n = length(&v[1], "left")?;
            part(&v[0], args, |total| 0..n.min(total), ty, cx)
        },
    )
    .reads_in_pieces(0),
    strict(
        doc("right", "the last characters", "RIGHT('abcdef', 2)"),
        &[Text, Int],
        string,
        |v, args, ty, cx| {
            let n = length(&v[1], "right")?;
            part(&v[0], args, |total| total - n.min(total)..total, ty, cx)
        },
    )
    .reads_in_pieces(0),
    strict(
        doc(
            "substring",
            "so many characters from a place on, from 1",
            "SUBSTRING('abcdef', 2, 3)",
        ),
        &[OnlyTextOrBytes, Position, Position],
        string,
        |v, args, ty, cx| {
            let (start, len) = (whole(&v[1]).saturating_sub(1), whole(&v[2]));
            if len < 0 {
                let error = SqlError::new(&messages::INVALID_LENGTH_SUBSTRING, &[]);
                return Err(error.with_state(3));
            }
            let cut = |total: usize| {
                let from = start.clamp(0, total as i64);
                let to = start.saturating_add(len).clamp(from, total as i64);
                from as usize..to as usize
            };
            part(&v[0], args, cut, ty, cx)
        },
    )
    .reads_in_pieces(0),
    strict(
        doc("replicate", "a text so many times", "REPLICATE('ab', 3)"),
        &[Text, Int],
        long_string,
        |v, _, ty, cx| {
            let n = whole(&v[1]);
            if n < 0 {
                return Ok(Value::Null);
            }
            let u = units(&v[0]);
            let limit = ty.char_capacity().unwrap_or(usize::MAX);
            let total = |part: usize| part.saturating_mul(n as usize).min(limit);
            Ok(match ty.id.is_nchar() {
                true => Value::NVarChar(repeated(&u, total(u.len()), cx)?),
                false => {
                    let bytes = cp1252::encode_units(&u);
                    Value::VarChar(repeated(&bytes, total(bytes.len()), cx)?)
                }
            })
        },
    ),
    strict(
        doc("space", "so many blanks", "SPACE(2) + '|'"),
        &[Int],
        |_| SqlType::varchar(8000),
        |v, _, _, _| {
            Ok(match whole(&v[0]) {
                n if n >= 0 => Value::VarChar(vec![b' '; n.min(8000) as usize]),
                _ => Value::Null,
            })
        },
    ),
    strict(
        doc(
            "replace",
            "a text with every occurrence of another replaced",
            "REPLACE('abcb', 'b', 'x')",
        ),
        &[Text, Text, Text],
        long_string,
        |v, args, ty, cx| {
            let collation = args[0].ty.collation;
            let text = long_units(&v[0], cx)?;
            let (from, to) = (long_units(&v[1], cx)?, long_units(&v[2], cx)?);
            long_value(replace(&text, &from, &to, collation, cx)?, ty, cx)
        },
    )
    .compares(),
    strict(
        doc(
            "stuff",
            "a text with characters at a place replaced by others",
            "STUFF('abcdef', 2, 3, 'X')",
        ),
        &[Text, Position, Position, Text],
        long_string,
        |v, _, ty, cx| {
            // Only what is put in may be NULL: that is nothing.
            if v[..3].iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            let text = long_units(&v[0], cx)?;
            let (start, len) = (small(&v[1])?, small(&v[2])?);
            if start < 1 || len < 0 || start as u64 > text.len() as u64 {
                return Ok(Value::Null);
            }
            let from = start as usize - 1;
            let to = from.saturating_add(len as usize).min(text.len());
            let mut out = long::copied(&text[..from], cx)?;
            long::append(&mut out, &long_units(&v[3], cx)?, cx)?;
            long::append(&mut out, &text[to..], cx)?;
            long_value(out, ty, cx)
        },
    )
    .sees_null(),
    strict(
        doc(
            "translate",
            "a text with characters replaced one by one",
            "TRANSLATE('2*[3+4]', '[]', '()')",
        ),
        &[Text, Text, Text],
        string,
        |v, args, ty, cx| {
            let collation = args[0].ty.collation;
            let (from, to) = (units(&v[1]), units(&v[2]));
            if from.len() != to.len() {
                return Err(SqlError::new(&messages::TRANSLATE_LENGTHS_DIFFER, &[]));
            }
            let keys = keys(&from, collation);
            let translate = |u: &u16| {
                let key = collate::unit_key(*u, collation);
                keys.iter().position(|k| *k == key).map_or(*u, |i| to[i])
            };
            let out = long::mapped(&long_units(&v[0], cx)?, translate, cx)?;
            long_value(out, ty, cx)
        },
    )
    .compares(),
    strict(
        doc(
            "charindex",
            "where a text begins in another, from 1; 0 if it does not",
            "CHARINDEX('b', 'abcb', 3)",
        ),
        &[Text, LongText, Int],
        int,
        |v, args, _, cx| {
            let text = long_units(&v[1], cx)?;
            let mut search = Search::new(&units(&v[0]), text.len(), args[1].ty.collation, cx);
            let from = v.get(2).map_or(1, whole).max(1) as usize - 1;
            for at in from..text.len() {
                if search.is_at(&text[at..])? {
                    return Ok(Value::Int(at as i32 + 1));
                }
            }
            Ok(Value::Int(0))
        },
    )
    .compares()
    .at_least(2),
    strict(
        doc("ascii", "the code of the first character", "ASCII('A')"),
        &[Text],
        int,
        |v, _, _, _| {
            let first = units(&v[0]).first().copied();
            Ok(first.map_or(Value::Null, |u| Value::Int(cp1252::best_fit(u) as i32)))
        },
    ),
    strict(
        doc(
            "unicode",
            "the code of the first UTF-16 unit or code point",
            "UNICODE(N'€')",
        ),
        &[Text],
        int,
        |v, _, _, _| {
            let first = units(&v[0]).first().copied();
            Ok(first.map_or(Value::Null, |u| Value::Int(u as i32)))
        },
    ),
    strict(
        doc("char", "the character of a code", "CHAR(65)"),
        &[Int],
        |_| SqlType::char(1),
        |v, _, _, _| {
            let code = u8::try_from(whole(&v[0])).ok();
            Ok(code.map_or(Value::Null, |b| Value::VarChar(vec![b])))
        },
    ),
    strict(
        doc(
            "nchar",
            "the character of a UTF-16 unit or code point",
            "NCHAR(8364)",
        ),
        &[Int],
        |_| SqlType::nchar(1),
        |v, _, _, _| {
            let code = u16::try_from(whole(&v[0])).ok();
            Ok(code.map_or(Value::Null, |u| Value::NVarChar(vec![u])))
        },
    ),
    strict(
        doc("quotename", "a name between delimiters", "QUOTENAME('a]b')"),
        &[Text, Text],
        |_| SqlType::nvarchar(258),
        |v, _, _, _| Ok(quoted(&v[0], v.get(1))),
    )
    .at_least(1),
    strict(
        doc(
            "str",
            "a number as text of so many characters",
            "STR(123.45, 6, 1)",
        ),
        &[Float, Int, Int],
        |_| SqlType::varchar(8000),
        |v, _, _, _| {
            let Value::Float(f) = v[0] else {
                return Ok(Value::Null);
            };
            let width = v.get(1).map_or(10, whole);
            let decimals = v.get(2).map_or(0, whole);
            if !(1..=8000).contains(&width) || decimals < 0 {
                return Ok(Value::Null);
            }
            Ok(Value::varchar(&right_aligned(
                f,
                width as usize,
                decimals as usize,
            )))
        },
    )
    .at_least(1),
    strict(
        doc(
            "soundex",
            "how an English word sounds, as four characters",
            "SOUNDEX('Smith')",
        ),
        &[Text],
        |_| SqlType::varchar(4),
        |v, _, _, _| Ok(Value::varchar(&soundex(&units(&v[0])))),
    ),
    strict(
        doc(
            "difference",
            "how alike two texts sound, 0 to 4",
            "DIFFERENCE('Smith', 'Smyth')",
        ),
        &[Text, Text],
        int,
        |v, _, _, _| {
            let (a, b) = (soundex(&units(&v[0])), soundex(&units(&v[1])));
            let same = a.chars().zip(b.chars()).filter(|(x, y)| x == y).count();
            Ok(Value::Int(same as i32))
        },
    ),
];

/// UTF-16 units of a string that is short, or of which little is looked at.
pub(super) fn units(v: &Value) -> Vec<u16> {
    match v {
        Value::NVarChar(u) => u.clone(),
        Value::VarChar(b) => cp1252::decode_units(b),
        _ => Vec::new(),
    }
}

/// UTF-16 units of a string that may be long.
fn long_units(v: &Value, cx: &Cx<'_>) -> SqlResult<Vec<u16>> {
    match v {
        Value::NVarChar(u) => long::copied(u, cx),
        Value::VarChar(b) => long::mapped(b, |b| cp1252::to_utf16(*b), cx),
        _ => Ok(Vec::new()),
    }
}

/// Any value as text, behind what is there; NULL is empty.
fn append_text(out: &mut Vec<u16>, v: &Value, arg: &Expr, cx: &Cx<'_>) -> SqlResult<()> {
    let to = match v {
        Value::Null => return Ok(()),
        Value::NVarChar(u) => return long::append(out, u, cx),
        Value::VarChar(b) if b.len() <= LONG && !arg.ty.collation.is_utf8() => {
            out.extend(b.iter().map(|b| cp1252::to_utf16(*b)));
            return Ok(());
        }
        Value::VarChar(_) => SqlType::NVARCHAR_MAX,
        _ => SqlType::nvarchar(4000),
    };
    match long::converted(v, &arg.ty, &to, None, cx)? {
        Value::NVarChar(u) => long::append(out, &u, cx),
        _ => Ok(()),
    }
}

/// Elements that a long text is made of between two looks at whether somebody still wants it.
const CHUNK: usize = 1 << 17;
/// A text so long is looked after from its beginning: many of them may follow each other.
const LONG: usize = 1 << 16;

/// The first `total` elements of `part` over and over; 701 where there is no memory for them.
fn repeated<T: Copy>(part: &[T], total: usize, cx: &Cx<'_>) -> SqlResult<Vec<T>> {
    cx.room_for(total.saturating_mul(size_of::<T>()))?;
    let mut out: Vec<T> = Vec::new();
    if out.try_reserve_exact(total).is_err() {
        return Err(SqlError::new(&messages::OUT_OF_MEMORY, &[&"default"]));
    }
    while out.len() < total {
        if out.is_empty() {
            out.extend_from_slice(&part[..part.len().min(total)]);
        }
        // What is there is a whole number of parts, so it can be appended to itself.
        let whole = out.len().min(CHUNK / part.len().max(1) * part.len());
        let more = whole.max(part.len()).min(total - out.len());
        out.extend_from_within(..more);
        cx.check_cancelled()?;
    }
    Ok(out)
}

fn text_value(units: &[u16], ty: &SqlType) -> Value {
    if ty.id.is_nchar() {
        Value::NVarChar(units.to_vec())
    } else {
        Value::VarChar(cp1252::encode_units(units))
    }
}

/// The same of units that may be many.
fn long_value(units: Vec<u16>, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Value> {
    Ok(match ty.id.is_nchar() {
        true => Value::NVarChar(units),
        false if units.len() <= LONG => Value::VarChar(cp1252::encode_units(&units)),
        false => Value::VarChar(long::mapped(&units, |u| cp1252::best_fit(*u), cx)?),
    })
}

/// The one character of a case mapping; those that become several stay as they are.
fn one(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

fn map_units(
    v: &Value,
    ty: &SqlType,
    f: impl Fn(char) -> Option<char>,
    cx: &Cx<'_>,
) -> SqlResult<Value> {
    let mut mapped = long_units(v, cx)?;
    let long = mapped.len() > LONG;
    for some in mapped.chunks_mut(CHUNK) {
        if long {
            cx.check_cancelled()?;
        }
        for u in some {
            let c = char::from_u32(*u as u32).and_then(&f);
            *u = c.and_then(|c| u16::try_from(c as u32).ok()).unwrap_or(*u);
        }
    }
    long_value(mapped, ty, cx)
}

/// A part of a string, of which `cut` is told the length.
fn part(
    v: &Value,
    args: &[Expr],
    cut: impl Fn(usize) -> Range<usize>,
    ty: &SqlType,
    cx: &Cx<'_>,
) -> SqlResult<Value> {
    Ok(match v {
        Value::Spooled(s) => {
            let of = &args[0].ty;
            let size = if of.id.is_nchar() { 2 } else { 1 };
            let cut = cut(s.len() / size);
            cx.room_for(cut.len() * size)?;
            return s.value(cut.start * size, cut.len() * size, of);
        }
        Value::Binary(b) => Value::Binary(long::copied(&b[cut(b.len())], cx)?),
        Value::VarChar(b) if !ty.id.is_nchar() => {
            Value::VarChar(long::copied(&b[cut(b.len())], cx)?)
        }
        Value::VarChar(b) => {
            let units = long::mapped(&b[cut(b.len())], |b| cp1252::to_utf16(*b), cx)?;
            long_value(units, ty, cx)?
        }
        Value::NVarChar(u) => long_value(long::copied(&u[cut(u.len())], cx)?, ty, cx)?,
        _ => text_value(&[], ty),
    })
}

/// Characters of a value that is not in memory, without blanks at its end.
fn spooled_length(s: &Spooled, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<usize> {
    if ty.id.is_binary() {
        return Ok(s.len());
    }
    let wide = ty.id.is_nchar();
    let size = if wide { 2 } else { 1 };
    let mut piece = vec![0; LONG * size];
    let mut end = s.len() - s.len() % size;
    loop {
        let from = end.saturating_sub(piece.len());
        let last = &mut piece[..end - from];
        s.read(from, last)?;
        cx.check_cancelled()?;
        let blank = |c: &[u8]| c[0] == b' ' && c[1..].iter().all(|b| *b == 0);
        match last.chunks(size).rposition(|c| !blank(c)) {
            Some(at) => end = from + (at + 1) * size,
            None if from > 0 => {
                end = from;
                continue;
            }
            None => return Ok(0),
        }
        break;
    }
    if !wide || !ty.collation.is_supplementary() {
        return Ok(end / size);
    }
    // Two surrogates that belong together are one character.
    let (mut pairs, mut high) = (0, false);
    for from in (0..end).step_by(piece.len()) {
        cx.check_cancelled()?;
        let some = piece.len().min(end - from);
        s.read(from, &mut piece[..some])?;
        for unit in piece[..some].chunks_exact(2) {
            let unit = u16::from_le_bytes([unit[0], unit[1]]);
            pairs += usize::from(high && (0xDC00..0xE000).contains(&unit));
            high = (0xD800..0xDC00).contains(&unit);
        }
    }
    Ok(end / 2 - pairs)
}

fn reversed<T: Copy>(elements: &[T], cx: &Cx<'_>) -> SqlResult<Vec<T>> {
    let mut out = Vec::with_capacity(elements.len());
    for piece in elements.rchunks(LONG) {
        if elements.len() > LONG {
            cx.check_cancelled()?;
        }
        out.extend(piece.iter().rev());
    }
    Ok(out)
}

/// Without the characters of the second argument at the ends; without it, without blanks.
fn trimmed(
    v: &[Value],
    args: &[Expr],
    ty: &SqlType,
    (start, end): (bool, bool),
    cx: &Cx<'_>,
) -> SqlResult<Value> {
    let u = long_units(&v[0], cx)?;
    let collation = args[0].ty.collation;
    let dropped = v.get(1).map(|set| keys(&units(set), collation));
    let keeps = |u: &u16| match &dropped {
        None => *u != b' ' as u16,
        Some(set) => !set.contains(&collate::unit_key(*u, collation)),
    };
    let from = if start {
        u.iter().position(keeps).unwrap_or(u.len())
    } else {
        0
    };
    let to = if end {
        u.iter().rposition(keeps).map_or(from, |i| i + 1)
    } else {
        u.len()
    };
    long_value(long::copied(&u[from..to], cx)?, ty, cx)
}

fn length(v: &Value, function: &str) -> SqlResult<usize> {
    usize::try_from(whole(v)).map_err(|_| match function {
        "left" => SqlError::new(&messages::INVALID_LENGTH_SUBSTRING, &[]).with_state(2),
        _ => SqlError::new(&messages::INVALID_LENGTH, &[&function]).with_state(4),
    })
}

type Key = (u32, u16, u8, bool);

fn keys(units: &[u16], collation: CollationId) -> Vec<Key> {
    let key = |u: &u16| collate::unit_key(*u, collation);
    units.iter().map(key).collect()
}

/// What is looked for in a text that may be long.
struct Search<'c> {
    needle: Vec<Key>,
    collation: CollationId,
    cx: &'c Cx<'c>,
    /// Characters that are still compared before somebody is asked whether the answer is wanted.
    left: usize,
}

impl<'c> Search<'c> {
    /// Looks for `needle` in a text of so many characters.
    fn new(needle: &[u16], n: usize, collation: CollationId, cx: &'c Cx<'_>) -> Search<'c> {
        Search {
            needle: keys(needle, collation),
            collation,
            cx,
            left: if n > LONG { 0 } else { CHUNK },
        }
    }

    /// Whether the text begins with it; nothing begins with nothing.
    fn is_at(&mut self, text: &[u16]) -> SqlResult<bool> {
        let mut same = 0;
        for (key, unit) in self.needle.iter().zip(text) {
            if collate::unit_key(*unit, self.collation) != *key {
                break;
            }
            same += 1;
        }
        self.did(same + 1)?;
        Ok(same > 0 && same == self.needle.len())
    }

    /// So many characters have been looked at, or written.
    fn did(&mut self, characters: usize) -> SqlResult<()> {
        if self.left < characters {
            self.cx.check_cancelled()?;
            self.left = CHUNK.max(characters);
        }
        self.left -= characters;
        Ok(())
    }
}

fn replace(
    text: &[u16],
    from: &[u16],
    to: &[u16],
    collation: CollationId,
    cx: &Cx<'_>,
) -> SqlResult<Vec<u16>> {
    let mut search = Search::new(from, text.len(), collation, cx);
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        if search.is_at(&text[i..])? {
            search.did(to.len())?;
            out.extend_from_slice(to);
            i += from.len();
        } else {
            out.push(text[i]);
            i += 1;
        }
    }
    Ok(out)
}
