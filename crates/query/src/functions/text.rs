//! String functions. They work on UTF-16 units; what they look for is compared under the collation of the text.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{CollationId, SqlType, TypeId, Value, collate, cp1252};

use super::Param::{Any, Float, Int, OnlyText, OnlyTextOrBytes, Position, Text, TextOrBytes};
use super::{ScalarFunction, int, small, strict, whole};
use crate::cx::Cx;
use crate::expr::Expr;

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
    strict("concat", &[Any, Any], joined_type, |v, args, ty, cx| {
        let mut out = Vec::new();
        for (value, arg) in v.iter().zip(args) {
            out.extend(text_of(value, arg, cx)?);
        }
        Ok(text_value(&out, ty))
    })
    .at_most(254)
    .sees_null(),
    strict("concat_ws", &[Text, Any], joined_type, |v, args, ty, cx| {
        let between = units(&v[0]);
        let mut out = Vec::new();
        let mut first = true;
        for (value, arg) in v.iter().zip(args).skip(1).filter(|(v, _)| !v.is_null()) {
            if !std::mem::take(&mut first) {
                out.extend_from_slice(&between);
            }
            out.extend(text_of(value, arg, cx)?);
        }
        Ok(text_value(&out, ty))
    })
    .at_least(3)
    .at_most(254)
    .sees_null(),
    // Under an _SC collation the two halves of a supplementary character are one.
    strict("len", &[TextOrBytes], count_type, |v, args, ty, _| {
        let end = match &v[0] {
            Value::Binary(b) => b.len(),
            text => {
                let units = units(text);
                let end = units.iter().rposition(|u| *u != 32).map_or(0, |i| i + 1);
                match args[0].ty.collation.is_supplementary() {
                    true => char::decode_utf16(units[..end].iter().copied()).count(),
                    false => end,
                }
            }
        };
        Ok(match ty.id {
            TypeId::BigInt => Value::BigInt(end as i64),
            _ => Value::Int(end as i32),
        })
    }),
    strict("upper", &[Text], string, |v, _, ty, _| {
        Ok(map_units(&v[0], ty, |c| one(c.to_uppercase())))
    }),
    strict("lower", &[Text], string, |v, _, ty, _| {
        Ok(map_units(&v[0], ty, |c| one(c.to_lowercase())))
    }),
    strict("ltrim", &[Text, Text], string, |v, args, ty, _| {
        Ok(trimmed(v, args, ty, true, false))
    })
    .at_least(1),
    strict("rtrim", &[Text, Text], string, |v, args, ty, _| {
        Ok(trimmed(v, args, ty, false, true))
    })
    .at_least(1),
    strict("trim", &[OnlyText, OnlyText], string, |v, args, ty, _| {
        Ok(trimmed(v, args, ty, true, true))
    })
    .at_least(1),
    strict("reverse", &[Text], string, |v, _, ty, _| {
        let mut u = units(&v[0]);
        u.reverse();
        Ok(text_value(&u, ty))
    }),
    strict("left", &[Text, Int], string, |v, _, ty, _| {
        let u = units(&v[0]);
        let n = length(&v[1], "left")?.min(u.len());
        Ok(text_value(&u[..n], ty))
    }),
    strict("right", &[Text, Int], string, |v, _, ty, _| {
        let u = units(&v[0]);
        let n = length(&v[1], "right")?.min(u.len());
        Ok(text_value(&u[u.len() - n..], ty))
    }),
    strict(
        "substring",
        &[OnlyTextOrBytes, Position, Position],
        string,
        |v, _, ty, _| {
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
            Ok(match &v[0] {
                Value::Binary(b) => Value::Binary(b[cut(b.len())].to_vec()),
                other => {
                    let u = units(other);
                    text_value(&u[cut(u.len())], ty)
                }
            })
        },
    ),
    strict("replicate", &[Text, Int], long_string, |v, _, ty, cx| {
        let n = whole(&v[1]);
        if n < 0 {
            return Ok(Value::Null);
        }
        let u = units(&v[0]);
        let limit = ty.char_capacity().map_or(1 << 30, |n| n.min(1 << 30));
        let total = |part: usize| (part as u64).saturating_mul(n as u64).min(limit as u64) as usize;
        Ok(match ty.id.is_nchar() {
            true => Value::NVarChar(repeated(&u, total(u.len()), cx)?),
            false => {
                let bytes = cp1252::encode_units(&u);
                Value::VarChar(repeated(&bytes, total(bytes.len()), cx)?)
            }
        })
    }),
    strict(
        "space",
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
        "replace",
        &[Text, Text, Text],
        long_string,
        |v, args, ty, _| {
            let collation = args[0].ty.collation;
            let (text, from, to) = (units(&v[0]), units(&v[1]), units(&v[2]));
            Ok(text_value(&replace(&text, &from, &to, collation), ty))
        },
    ),
    strict(
        "stuff",
        &[Text, Position, Position, Text],
        long_string,
        |v, _, ty, _| {
            // Only what is put in may be NULL: that is nothing.
            if v[..3].iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            let text = units(&v[0]);
            let (start, len) = (small(&v[1])?, small(&v[2])?);
            if start < 1 || len < 0 || start as u64 > text.len() as u64 {
                return Ok(Value::Null);
            }
            let from = start as usize - 1;
            let to = from.saturating_add(len as usize).min(text.len());
            let mut out = text[..from].to_vec();
            out.extend(units(&v[3]));
            out.extend_from_slice(&text[to..]);
            Ok(text_value(&out, ty))
        },
    )
    .sees_null(),
    strict(
        "translate",
        &[Text, Text, Text],
        string,
        |v, args, ty, _| {
            let collation = args[0].ty.collation;
            let (from, to) = (units(&v[1]), units(&v[2]));
            if from.len() != to.len() {
                return Err(SqlError::new(&messages::TRANSLATE_LENGTHS_DIFFER, &[]));
            }
            let keys = keys(&from, collation);
            let out: Vec<u16> = units(&v[0])
                .into_iter()
                .map(|u| {
                    let key = collate::unit_key(u, collation);
                    keys.iter().position(|k| *k == key).map_or(u, |i| to[i])
                })
                .collect();
            Ok(text_value(&out, ty))
        },
    ),
    strict("charindex", &[Text, Text, Int], int, |v, args, _, _| {
        let collation = args[1].ty.collation;
        let needle = keys(&units(&v[0]), collation);
        let text = keys(&units(&v[1]), collation);
        let from = v.get(2).map_or(1, whole).max(1) as usize - 1;
        let at = (from..text.len()).find(|i| !needle.is_empty() && text[*i..].starts_with(&needle));
        Ok(Value::Int(at.map_or(0, |i| i as i32 + 1)))
    })
    .at_least(2),
    strict("ascii", &[Text], int, |v, _, _, _| {
        let first = units(&v[0]).first().copied();
        Ok(first.map_or(Value::Null, |u| Value::Int(cp1252::best_fit(u) as i32)))
    }),
    strict("unicode", &[Text], int, |v, _, _, _| {
        let first = units(&v[0]).first().copied();
        Ok(first.map_or(Value::Null, |u| Value::Int(u as i32)))
    }),
    strict(
        "char",
        &[Int],
        |_| SqlType::char(1),
        |v, _, _, _| {
            let code = u8::try_from(whole(&v[0])).ok();
            Ok(code.map_or(Value::Null, |b| Value::VarChar(vec![b])))
        },
    ),
    strict(
        "nchar",
        &[Int],
        |_| SqlType::nchar(1),
        |v, _, _, _| {
            let code = u16::try_from(whole(&v[0])).ok();
            Ok(code.map_or(Value::Null, |u| Value::NVarChar(vec![u])))
        },
    ),
    strict(
        "quotename",
        &[Text, Text],
        |_| SqlType::nvarchar(258),
        |v, _, _, _| Ok(quoted(&v[0], v.get(1))),
    )
    .at_least(1),
    strict(
        "str",
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
        "soundex",
        &[Text],
        |_| SqlType::varchar(4),
        |v, _, _, _| Ok(Value::varchar(&soundex(&units(&v[0])))),
    ),
    strict("difference", &[Text, Text], int, |v, _, _, _| {
        let (a, b) = (soundex(&units(&v[0])), soundex(&units(&v[1])));
        let same = a.chars().zip(b.chars()).filter(|(x, y)| x == y).count();
        Ok(Value::Int(same as i32))
    }),
];

/// UTF-16 units of a string.
fn units(v: &Value) -> Vec<u16> {
    match v {
        Value::NVarChar(u) => u.clone(),
        Value::VarChar(b) => cp1252::decode_units(b),
        _ => Vec::new(),
    }
}

/// Any value as text; NULL is empty.
fn text_of(v: &Value, arg: &Expr, cx: &crate::cx::Cx<'_>) -> SqlResult<Vec<u16>> {
    match v {
        Value::Null => Ok(Vec::new()),
        Value::VarChar(b) if arg.ty.collation.is_utf8() => {
            Ok(String::from_utf8_lossy(b).encode_utf16().collect())
        }
        Value::NVarChar(_) | Value::VarChar(_) => Ok(units(v)),
        other => {
            let text = duramen_types::convert(
                other,
                &arg.ty,
                &SqlType::nvarchar(4000),
                None,
                &cx.convert,
            )?;
            Ok(units(&text))
        }
    }
}

/// Elements that a long text is made of between two looks at whether somebody still wants it.
const CHUNK: usize = 1 << 20;

/// The first `total` elements of `part` over and over; 701 where there is no memory for them.
fn repeated<T: Copy>(part: &[T], total: usize, cx: &Cx<'_>) -> SqlResult<Vec<T>> {
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

/// The one character of a case mapping; those that become several stay as they are.
fn one(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

fn map_units(v: &Value, ty: &SqlType, f: impl Fn(char) -> Option<char>) -> Value {
    let mapped: Vec<u16> = units(v)
        .into_iter()
        .map(|u| {
            let c = char::from_u32(u as u32).and_then(&f);
            c.and_then(|c| u16::try_from(c as u32).ok()).unwrap_or(u)
        })
        .collect();
    text_value(&mapped, ty)
}

/// Without the characters of the second argument at the ends; without it, without blanks.
fn trimmed(v: &[Value], args: &[Expr], ty: &SqlType, start: bool, end: bool) -> Value {
    let u = units(&v[0]);
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
    text_value(&u[from..to], ty)
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

fn replace(text: &[u16], from: &[u16], to: &[u16], collation: CollationId) -> Vec<u16> {
    if from.is_empty() {
        return text.to_vec();
    }
    let (folded, needle) = (keys(text, collation), keys(from, collation));
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        if folded[i..].starts_with(&needle) {
            out.extend_from_slice(to);
            i += from.len();
        } else {
            out.push(text[i]);
            i += 1;
        }
    }
    out
}

/// QUOTENAME: NULL for more than 128 characters or a mark that is none.
fn quoted(name: &Value, mark: Option<&Value>) -> Value {
    let text = units(name);
    let mark = mark.map_or(b'[' as u16, |m| {
        units(m).first().copied().unwrap_or(b'[' as u16)
    });
    let (open, close) = match u8::try_from(mark).unwrap_or(0) {
        b'[' | b']' => (b'[', b']'),
        b'(' | b')' => (b'(', b')'),
        b'<' | b'>' => (b'<', b'>'),
        b'{' | b'}' => (b'{', b'}'),
        same @ (b'\'' | b'"' | b'`') => (same, same),
        _ => return Value::Null,
    };
    if text.len() > 128 {
        return Value::Null;
    }
    let mut out = vec![open as u16];
    for u in text {
        if u == close as u16 {
            out.push(u);
        }
        out.push(u);
    }
    out.push(close as u16);
    Value::NVarChar(out)
}

/// STR: right-aligned in `width`, decimals given up for want of room, asterisks when even the whole part has none.
fn right_aligned(f: f64, width: usize, decimals: usize) -> String {
    let whole = format!("{:.0}", f.trunc()).len();
    if whole > width {
        return "*".repeat(width);
    }
    let room = width.saturating_sub(whole + 1);
    // Half away from zero, as the other roundings do; formatting alone would round half to even.
    let decimals = decimals.min(16).min(room);
    let unit = 10f64.powi(decimals as i32);
    let scaled = f * unit;
    let rounded = if scaled.abs() < 1e15 {
        scaled.round() / unit
    } else {
        f
    };
    let text = format!("{rounded:.decimals$}");
    if text.len() > width {
        return "*".repeat(width);
    }
    format!("{text:>width$}")
}

/// Four characters: the first letter and the classes of the consonants after it.
fn soundex(units: &[u16]) -> String {
    let class = |c: char| match c {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let mut out = String::new();
    let mut last = None;
    for u in units {
        let letter = char::from_u32(*u as u32).map(|c| c.to_ascii_uppercase());
        let Some(c) = letter.filter(char::is_ascii_alphabetic) else {
            break;
        };
        let own = class(c);
        if out.is_empty() {
            out.push(c);
        } else if let Some(d) = own
            && own != last
        {
            out.push(d);
        }
        // H and W do not part two consonants of one class.
        if !matches!(c, 'H' | 'W') {
            last = own;
        }
        if out.len() == 4 {
            break;
        }
    }
    if out.is_empty() {
        return "0000".to_owned();
    }
    while out.len() < 4 {
        out.push('0');
    }
    out
}
