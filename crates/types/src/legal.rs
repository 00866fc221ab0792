//! Which type converts to which: implicitly, explicitly or never; and the precedence that decides who yields.

use duramen_base::messages::{
    EXPLICIT_CONVERSION_NOT_ALLOWED, IMPLICIT_CONVERSION_NOT_ALLOWED, OPERAND_TYPE_CLASH,
};
use duramen_base::{SqlError, SqlResult};

use crate::{CollationId, MAX_LENGTH, SqlType, TypeId};

/// How a conversion may happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Conversion {
    Never,
    /// With CAST or CONVERT only.
    Explicit,
    Implicit,
}

use Conversion::{Explicit, Implicit, Never};

/// The conversion chart of the documentation.
pub fn conversion(from: TypeId, to: TypeId) -> Conversion {
    use TypeId as T;
    if from == to || from.is_decimal() && to.is_decimal() {
        return Implicit;
    }
    match (from, to) {
        (T::Udt, _) | (_, T::Udt) => Never,
        (_, T::SqlVariant) => match from {
            T::Text | T::NText | T::Image | T::RowVersion | T::Xml => Never,
            _ => Implicit,
        },
        (T::SqlVariant, _) => match to {
            T::Text | T::NText | T::Image | T::RowVersion | T::Xml => Never,
            _ => Explicit,
        },
        (T::Xml, _) if to.is_string() || to.is_binary() && to != T::RowVersion => Explicit,
        (T::Xml, _) => Never,
        (_, T::Xml) if from.is_string() || from.is_binary() && from != T::RowVersion => Implicit,
        (_, T::Xml) => Never,
        // The old large types convert within their family only.
        (T::Text, _) if to.is_string() => Implicit,
        (T::NText, _) if to.is_string() => Implicit,
        (T::Image, T::Binary | T::VarBinary | T::RowVersion) => Implicit,
        (T::Text | T::NText | T::Image, _) => Never,
        (_, T::Text | T::NText) if from.is_string() => Implicit,
        (_, T::Image) if from.is_binary() => Implicit,
        (_, T::Image) if from.is_string() => Explicit,
        (_, T::Text | T::NText | T::Image) => Never,
        (T::RowVersion, T::NChar | T::NVarChar) => Never,
        (T::RowVersion, T::Real | T::Float | T::UniqueIdentifier) => Never,
        (T::RowVersion, T::Date | T::Time | T::DateTime2 | T::DateTimeOffset) => Never,
        (T::RowVersion, _) => Implicit,
        _ if from.is_string() => {
            if to.is_binary() {
                Explicit
            } else {
                Implicit
            }
        }
        (T::Binary | T::VarBinary, _) => match to {
            T::Real | T::Float => Never,
            T::Date | T::Time | T::DateTime2 | T::DateTimeOffset => Explicit,
            _ => Implicit,
        },
        (T::UniqueIdentifier, _) => {
            if to.is_string() || matches!(to, T::Binary | T::VarBinary) {
                Implicit
            } else {
                Never
            }
        }
        (_, T::UniqueIdentifier) => Never,
        (T::Real | T::Float, T::RowVersion) => Never,
        _ if from.is_numeric() => match to {
            T::Date | T::Time | T::DateTime2 | T::DateTimeOffset => Never,
            _ => Implicit,
        },
        (T::DateTime | T::SmallDateTime, _) => {
            if to.is_numeric() || to.is_binary() {
                Explicit
            } else {
                Implicit
            }
        }
        (T::Date, T::Time) | (T::Time, T::Date) => Never,
        _ if from.is_temporal() => match to {
            T::RowVersion => Never,
            _ if to.is_binary() => Explicit,
            _ if to.is_numeric() => Never,
            _ => Implicit,
        },
        _ => Never,
    }
}

/// The chart, and that a value of a (max) type is no `sql_variant`.
fn between(from: &SqlType, to: &SqlType) -> Conversion {
    if to.id == TypeId::SqlVariant && from.is_max() && !from.id.is_legacy_lob() {
        return Never;
    }
    conversion(from.id, to.id)
}

fn shown(ty: &SqlType) -> String {
    let max = ty.is_max() && !ty.id.is_legacy_lob() && ty.id != TypeId::Xml;
    format!("{}{}", ty.id.name(), if max { "(max)" } else { "" })
}

/// Errors 257 and 206: a conversion nobody asked for in so many words.
pub fn check_implicit(from: &SqlType, to: &SqlType) -> SqlResult<()> {
    let (message, state) = match between(from, to) {
        Implicit => return Ok(()),
        Explicit => (&IMPLICIT_CONVERSION_NOT_ALLOWED, 3),
        Never => (&OPERAND_TYPE_CLASH, 2),
    };
    Err(SqlError::new(message, &[&shown(from), &to.id.name()]).with_state(state))
}

/// Error 529: CAST or CONVERT between types that have nothing in common.
pub fn check_explicit(from: &SqlType, to: &SqlType) -> SqlResult<()> {
    if between(from, to) == Never {
        let (a, b) = (shown(from), to.id.name());
        return Err(SqlError::new(&EXPLICIT_CONVERSION_NOT_ALLOWED, &[&a, &b]).with_state(2));
    }
    Ok(())
}

/// Precedence, higher wins.
pub fn precedence(id: TypeId) -> u8 {
    use TypeId as T;
    match id {
        T::Udt => 31,
        T::SqlVariant => 30,
        T::Xml => 29,
        T::DateTimeOffset => 28,
        T::DateTime2 => 27,
        T::DateTime => 26,
        T::SmallDateTime => 25,
        T::Date => 24,
        T::Time => 23,
        T::Float => 22,
        T::Real => 21,
        T::Decimal | T::Numeric => 20,
        T::Money => 19,
        T::SmallMoney => 18,
        T::BigInt => 17,
        T::Int => 16,
        T::SmallInt => 15,
        T::TinyInt => 14,
        T::Bit => 13,
        T::NText => 12,
        T::Text => 11,
        T::Image => 10,
        T::RowVersion => 9,
        T::UniqueIdentifier => 8,
        T::NVarChar => 7,
        T::NChar => 6,
        T::VarChar => 5,
        T::Char => 4,
        T::VarBinary => 3,
        T::Binary => 2,
    }
}

/// Any exact number seen as a decimal: `(precision, scale)`.
pub fn decimal_facets(ty: &SqlType) -> Option<(u8, u8)> {
    match ty.id {
        TypeId::Bit => Some((1, 0)),
        TypeId::TinyInt => Some((3, 0)),
        TypeId::SmallInt => Some((5, 0)),
        TypeId::Int => Some((10, 0)),
        TypeId::BigInt => Some((19, 0)),
        TypeId::Money => Some((19, 4)),
        TypeId::SmallMoney => Some((10, 4)),
        TypeId::Decimal | TypeId::Numeric => Some((ty.precision, ty.scale)),
        _ => None,
    }
}

/// The type both operands of a comparison, and all branches of CASE, COALESCE, UNION and VALUES, are brought to.
/// Error 206 or 257 when the lower one does not convert.
pub fn common_type(a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    if a == b {
        return Ok(*a);
    }
    let (high, low) = if precedence(a.id) >= precedence(b.id) {
        (a, b)
    } else {
        (b, a)
    };
    if conversion(low.id, high.id) != Implicit {
        // The names come in the order of the operands.
        check_implicit(a, b)?;
        check_implicit(b, a)?;
    }
    let mut ty = *high;
    match high.id {
        TypeId::Decimal | TypeId::Numeric => {
            if let Some((p2, s2)) = decimal_facets(low) {
                let (p1, s1) = (high.precision, high.scale);
                let whole = (p1 - s1).max(p2 - s2);
                let scale = s1.max(s2).min(38 - whole);
                let id = high.id;
                ty = SqlType::numeric(whole + scale, scale);
                ty.id = id;
            }
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            let scale = match low.id {
                TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => low.scale,
                TypeId::DateTime => 3,
                _ => 0,
            };
            let scale = scale.max(high.scale);
            ty = match high.id {
                TypeId::Time => SqlType::time(scale),
                TypeId::DateTime2 => SqlType::datetime2(scale),
                _ => SqlType::datetimeoffset(scale),
            };
        }
        _ if high.id.is_string() && low.id.is_string() && !high.id.is_legacy_lob() => {
            let chars = match (high.char_capacity(), low.char_capacity()) {
                (Some(x), Some(y)) => Some(x.max(y)),
                _ => None,
            };
            ty.length = string_length(high.id, chars);
            if ty.is_max() {
                ty.id = if high.id.is_nchar() {
                    TypeId::NVarChar
                } else {
                    TypeId::VarChar
                };
            }
            ty.collation = common_collation(a, b);
        }
        TypeId::VarBinary | TypeId::Binary if low.id.is_binary() => {
            ty.length = high.length.max(low.length);
        }
        _ => {}
    }
    Ok(ty)
}

/// Bytes of a string type of that many characters; beyond the limit, or `None`, it is (max).
pub(crate) fn string_length(id: TypeId, chars: Option<usize>) -> u16 {
    let unit = if id.is_nchar() { 2 } else { 1 };
    match chars {
        Some(n) if n * unit <= 8000 => (n * unit) as u16,
        _ => MAX_LENGTH,
    }
}

/// The collation of a result of two strings. Labels (explicit, implicit, default) are the binder's; here the first
/// operand that has a collation other than the default wins.
pub(crate) fn common_collation(a: &SqlType, b: &SqlType) -> CollationId {
    match (a.collation, b.collation) {
        (CollationId::NONE, c) | (c, CollationId::NONE) => c,
        (CollationId::DEFAULT, c) | (c, CollationId::DEFAULT) => c,
        (c, _) => c,
    }
}
