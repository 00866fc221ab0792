//! CAST, CONVERT and implicit conversion.
//!
//! `convert` is the explicit form: it checks the pair (529), changes the representation, then fits the result into the
//! target's length, cutting strings silently. `assign` is a store: the same change of representation, but a string that
//! does not fit a column is error 2628 or 8152, trailing blanks excepted.
//!
//! Each target family has its file: `number`, `text`, `dates`, `bytes`. NULL converts to NULL everywhere.

mod bytes;
mod dates;
mod long;
mod number;
mod text;

use duramen_base::messages::{
    ARITHMETIC_OVERFLOW, CONVERSION_FAILED, ERROR_CONVERTING, GUID_CONVERSION_FAILED,
    STRING_TRUNCATED, STRING_TRUNCATED_COLUMN, XML_ENCODING_SWITCH,
};
use duramen_base::{SqlError, SqlResult};

use crate::dateparse::DateOrder;
use crate::legal::check_explicit;
use crate::{CollationId, Language, SqlType, TypeId, Value, cp1252};

pub(crate) use dates::datetime_from_ticks;
pub use long::convert_long;
pub(crate) use number::integer;
pub use number::{is_currency, is_numeric};
pub use text::{format_float, format_money, guid_text, parse_guid, to_display};

/// The session settings that conversions look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConvertCtx {
    /// SET DATEFORMAT.
    pub date_order: DateOrder,
    /// SET LANGUAGE: the names of months and days.
    pub language: Language,
    /// ANSI_WARNINGS and ARITHABORT are both OFF: errors of arithmetic give NULL.
    pub lenient: bool,
    /// ANSI_WARNINGS is OFF: strings too long for their column are cut without a word.
    pub cuts_strings: bool,
    /// CONCAT_NULL_YIELDS_NULL is OFF: NULL beside a string is the empty string.
    pub null_is_empty: bool,
    /// NUMERIC_ROUNDABORT is ON: digits lost in a sum, a product or a conversion of decimals are an error.
    pub roundabort: bool,
    /// Compatibility level of the database: 130 made datetime exact, 150 brought error 2628.
    pub level: u8,
}

impl Default for ConvertCtx {
    fn default() -> ConvertCtx {
        ConvertCtx {
            date_order: DateOrder::Mdy,
            language: Language::US_ENGLISH,
            lenient: false,
            cuts_strings: false,
            null_is_empty: false,
            roundabort: false,
            level: 160,
        }
    }
}

/// Where `assign` stores, which decides what happens to a string that is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// A variable or parameter: cut silently.
    Variable,
    /// A column; `table` is the three-part name of error 2628.
    Column { table: &'a str, column: &'a str },
}

/// CAST and CONVERT.
pub fn convert(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    check_explicit(from, to)?;
    match change(v, from, to, style, ctx) {
        Ok(wide) => Ok(cut(wide, to)),
        Err(e) => crate::lenient::forgiven(e, ctx),
    }
}

/// Implicit conversion into a column or variable. The binder has checked the pair (`check_implicit`).
pub fn assign(
    v: Value,
    from: &SqlType,
    to: &SqlType,
    target: Target<'_>,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    if v.is_null() {
        return Ok(v);
    }
    let same = from.id == to.id
        && (from.length, from.precision, from.scale) == (to.length, to.precision, to.scale);
    if same
        && from.collation.is_utf8() == to.collation.is_utf8()
        && !matches!(to.id, TypeId::Char | TypeId::NChar | TypeId::Binary)
    {
        return Ok(v);
    }
    let v = match v {
        Value::Spooled(s) => s.value(0, s.len(), from)?,
        v => v,
    };
    let recoded = from.collation.is_utf8() != to.collation.is_utf8() && from.id.is_char();
    let wide = if from.id == to.id && (from.id.is_string() || from.id.is_binary()) && !recoded {
        v
    } else {
        change(&v, from, to, None, ctx)?
    };
    if let Target::Column { table, column } = target
        && !ctx.cuts_strings
    {
        check_length(&wide, to, table, column, ctx)?;
    }
    Ok(cut(wide, to))
}

/// Errors 2628 and 8152, for a value whose significant part is longer than the column.
fn check_length(
    v: &Value,
    to: &SqlType,
    table: &str,
    column: &str,
    ctx: &ConvertCtx,
) -> SqlResult<()> {
    let Some(capacity) = to.char_capacity() else {
        return Ok(());
    };
    let kept = match v {
        Value::VarChar(b) if b.len() > capacity => {
            let rest = &b[capacity..];
            (!rest.iter().all(|&x| x == b' ')).then(|| cp1252::decode(&b[..capacity]))
        }
        Value::NVarChar(u) if u.len() > capacity && to.id.is_nchar() => {
            let rest = &u[capacity..];
            (!rest.iter().all(|&x| x == b' ' as u16))
                .then(|| String::from_utf16_lossy(&u[..capacity]))
        }
        Value::Binary(b) if b.len() > capacity && to.id.is_binary() => {
            // The message shows an empty value for binary data (assumed).
            b[capacity..].iter().any(|&x| x != 0).then(String::new)
        }
        _ => None,
    };
    match kept {
        None => Ok(()),
        Some(kept) if ctx.level >= 150 => Err(SqlError::new(
            &STRING_TRUNCATED_COLUMN,
            &[&table, &column, &kept],
        )),
        Some(_) => Err(SqlError::new(&STRING_TRUNCATED, &[]).with_state(30)),
    }
}

/// Cuts and pads a string or binary value to its declared length. Other values pass.
fn cut(mut v: Value, to: &SqlType) -> Value {
    let Some(capacity) = to.char_capacity() else {
        return v;
    };
    match &mut v {
        Value::VarChar(b) if to.id == TypeId::Char => b.resize(capacity, b' '),
        Value::VarChar(b) => b.truncate(capacity),
        Value::NVarChar(u) if to.id == TypeId::NChar => u.resize(capacity, b' ' as u16),
        Value::NVarChar(u) if to.id.is_nchar() => u.truncate(capacity),
        Value::Binary(b) if matches!(to.id, TypeId::Binary | TypeId::RowVersion) => {
            b.resize(capacity, 0)
        }
        Value::Binary(b) if to.id == TypeId::VarBinary => b.truncate(capacity),
        _ => {}
    }
    v
}

/// The change of representation, before lengths of strings are looked at.
fn change(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    if let Value::Null = v {
        return Ok(Value::Null);
    }
    if let Value::Spooled(s) = v {
        return change(&s.value(0, s.len(), from)?, from, to, style, ctx);
    }
    if let Value::Variant(inner) = v {
        if to.id == TypeId::SqlVariant {
            return Ok(v.clone());
        }
        check_explicit(&inner.0, to)?;
        return change(&inner.1, &inner.0, to, style, ctx);
    }
    match to.id {
        TypeId::Bit | TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt => {
            number::to_integer(v, from, to)
        }
        TypeId::Decimal | TypeId::Numeric => {
            if ctx.roundabort && number::loses_digits(v, to.scale) {
                return Err(overflow(error_name(from.id), to.id));
            }
            number::to_decimal(v, from, to)
        }
        TypeId::Money | TypeId::SmallMoney => number::to_money(v, from, to),
        TypeId::Float | TypeId::Real => number::to_float(v, from, to),
        TypeId::Char | TypeId::VarChar | TypeId::Text => match v {
            Value::VarChar(b) => Ok(Value::VarChar(recode(b, from.collation, to.collation))),
            Value::NVarChar(u) if to.collation.is_utf8() => {
                Ok(Value::VarChar(String::from_utf16_lossy(u).into_bytes()))
            }
            Value::NVarChar(u) => Ok(Value::VarChar(cp1252::encode_units(u))),
            Value::Binary(b) if style.unwrap_or(0) == 0 => Ok(Value::VarChar(b.clone())),
            _ => {
                let text = text::to_text(v, from, to, style, ctx)?;
                Ok(Value::VarChar(match to.collation.is_utf8() {
                    true => text.into_bytes(),
                    false => cp1252::encode(&text),
                }))
            }
        },
        TypeId::NChar | TypeId::NVarChar | TypeId::NText => match v {
            Value::NVarChar(u) => Ok(Value::NVarChar(u.clone())),
            Value::VarChar(b) if from.collation.is_utf8() => Ok(Value::NVarChar(
                String::from_utf8_lossy(b).encode_utf16().collect(),
            )),
            Value::VarChar(b) => Ok(Value::NVarChar(cp1252::decode_units(b))),
            Value::Binary(b) if style.unwrap_or(0) == 0 => Ok(Value::NVarChar(
                b.chunks(2)
                    .map(|c| u16::from_le_bytes([c[0], c.get(1).copied().unwrap_or(0)]))
                    .collect(),
            )),
            _ => Ok(Value::nvarchar(&text::to_text(v, from, to, style, ctx)?)),
        },
        TypeId::Binary | TypeId::VarBinary | TypeId::Image | TypeId::RowVersion => {
            bytes::to_binary(v, from, to, style)
        }
        TypeId::UniqueIdentifier => to_guid(v, from, to),
        TypeId::Date
        | TypeId::Time
        | TypeId::DateTime
        | TypeId::SmallDateTime
        | TypeId::DateTime2
        | TypeId::DateTimeOffset => dates::to_temporal(v, from, to, style, ctx),
        TypeId::SqlVariant => Ok(Value::Variant(Box::new((*from, v.clone())))),
        TypeId::Xml if from.id == TypeId::Xml => Ok(v.clone()),
        TypeId::Xml => {
            let keep_space = matches!(style, Some(1 | 3));
            let text = match v {
                Value::Binary(b) => crate::xml::decoded(b)
                    .ok_or_else(|| SqlError::new(&XML_ENCODING_SWITCH, &[&1, &1]))?,
                _ => text::to_display(v, from),
            };
            Ok(Value::nvarchar(&crate::xml::normalized(&text, keep_space)?))
        }
        TypeId::Udt => match v {
            Value::Binary(b) if from.id == TypeId::Udt => Ok(Value::Binary(b.clone())),
            _ => Err(failed(from, to)),
        },
    }
}

/// Bytes of one code page in another; only the way into and out of UTF-8 changes anything.
fn recode(b: &[u8], from: CollationId, to: CollationId) -> Vec<u8> {
    match (from.is_utf8(), to.is_utf8()) {
        (true, false) => cp1252::encode(&String::from_utf8_lossy(b)),
        (false, true) => cp1252::decode(b).into_bytes(),
        _ => b.to_vec(),
    }
}

fn to_guid(v: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    match v {
        Value::Guid(g) => Ok(Value::Guid(*g)),
        Value::Binary(b) => {
            let mut g = [0; 16];
            for (to, from) in g.iter_mut().zip(b) {
                *to = *from;
            }
            Ok(Value::Guid(g))
        }
        Value::VarChar(_) | Value::NVarChar(_) => {
            let text = v.as_text().unwrap_or_default();
            parse_guid(&text)
                .map(Value::Guid)
                .ok_or_else(|| SqlError::new(&GUID_CONVERSION_FAILED, &[]).with_state(2))
        }
        _ => Err(failed(from, to)),
    }
}

/// The name of a type in conversion errors: decimal answers as numeric.
fn error_name(id: TypeId) -> &'static str {
    match id {
        TypeId::Decimal => "numeric",
        other => other.name(),
    }
}

/// Error 8114.
fn failed(from: &SqlType, to: &SqlType) -> SqlError {
    let names = (error_name(from.id), error_name(to.id));
    SqlError::new(&ERROR_CONVERTING, &[&names.0, &names.1]).with_state(5)
}

/// Error 245, which shows the offending text.
fn failed_text(text: &str, from: &SqlType, to: &SqlType) -> SqlError {
    let names = (error_name(from.id), error_name(to.id));
    SqlError::new(&CONVERSION_FAILED, &[&names.0, &text, &names.1])
}

/// Error 8115.
pub(crate) fn overflow(what: &str, to: TypeId) -> SqlError {
    let state = match (what, to.is_decimal()) {
        ("float" | "real", true) => 6,
        (_, true) => 8,
        _ => 2,
    };
    SqlError::new(&ARITHMETIC_OVERFLOW, &[&what, &error_name(to)]).with_state(state)
}

#[cfg(test)]
mod tests;
