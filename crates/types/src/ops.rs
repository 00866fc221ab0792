//! Operators: `+ - * / % & | ^`, unary minus and `~`.
//!
//! `result_type` is the binder's half: it decides the type or refuses the pair (402, 8117, 206). `arithmetic` is the
//! executor's: it computes a value of that type. The integer pairs come first and never allocate. NULL in, NULL out.
//!
//! Decimal results follow the documented precision and scale rules. Division cuts the last digit, multiplication rounds it;
//! both keep 256 bits in between.

mod decimals;

use duramen_base::messages::{
    DIVIDE_BY_ZERO, OPERAND_TYPE_CLASH, OPERAND_TYPE_INVALID, TYPES_INCOMPATIBLE,
};
use duramen_base::{SqlError, SqlResult};

use crate::convert::{ConvertCtx, convert, overflow};
use crate::legal::{common_collation, decimal_facets, precedence, string_length};
use crate::temporal::TICKS_PER_DAY;
use crate::{SqlType, TypeId, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BinaryOp {
    /// Addition, and concatenation of strings.
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
}

use BinaryOp::{Add, BitAnd, BitOr, BitXor, Div, Mod, Mul, Sub};

impl BinaryOp {
    /// The name in errors 402 and 8117.
    pub fn name(self) -> &'static str {
        match self {
            Add => "add",
            Sub => "subtract",
            Mul => "multiply",
            Div => "divide",
            Mod => "modulo",
            BitAnd => "'&'",
            BitOr => "'|'",
            BitXor => "'^'",
        }
    }

    fn is_bitwise(self) -> bool {
        matches!(self, BitAnd | BitOr | BitXor)
    }
}

/// Error 8117.
fn invalid(ty: &SqlType, op: &str) -> SqlError {
    SqlError::new(&OPERAND_TYPE_INVALID, &[&ty.id.name(), &op])
}

/// Error 402 for unlike types, 8117 for twice the same.
fn incompatible(op: BinaryOp, a: &SqlType, b: &SqlType) -> SqlError {
    if a.id == b.id {
        return invalid(a, op.name());
    }
    let names = (a.id.name(), b.id.name());
    SqlError::new(&TYPES_INCOMPATIBLE, &[&names.0, &names.1, &op.name()])
}

/// The type of `a op b`.
///
/// An integer literal beside a decimal counts by its digits: pass `SqlType::numeric(digits, 0)` for it.
pub fn result_type(op: BinaryOp, a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    let (ia, ib) = (a.id, b.id);
    if ia.is_integer() && ib.is_integer() {
        let high = if precedence(ia) >= precedence(ib) {
            a
        } else {
            b
        };
        if high.id == TypeId::Bit && !op.is_bitwise() {
            return Err(invalid(high, op.name()));
        }
        return Ok(*high);
    }
    // Types without any operator.
    for ty in [a, b] {
        let none = matches!(
            ty.id,
            TypeId::UniqueIdentifier | TypeId::SqlVariant | TypeId::Xml | TypeId::Udt
        ) || ty.id.is_legacy_lob();
        if none {
            return Err(incompatible(op, a, b));
        }
    }
    if op.is_bitwise() {
        return bitwise_type(op, a, b);
    }
    if ia.is_temporal() || ib.is_temporal() {
        return temporal_type(op, a, b);
    }
    match (ia.is_string(), ib.is_string()) {
        (true, true) if op == Add => return Ok(concatenation(a, b)),
        (true, true) => return Err(incompatible(op, a, b)),
        (true, false) if ib.is_numeric() => return string_and_number(op, b),
        (false, true) if ia.is_numeric() => return string_and_number(op, a),
        (true, false) | (false, true) => return Err(incompatible(op, a, b)),
        (false, false) => {}
    }
    match (ia.is_binary(), ib.is_binary()) {
        (true, true) if op == Add => {
            let bytes = match (a.char_capacity(), b.char_capacity()) {
                (Some(x), Some(y)) => Some((x + y).min(8000)),
                _ => None,
            };
            return Ok(SqlType::varbinary(string_length(TypeId::VarBinary, bytes)));
        }
        (true, true) => return Err(incompatible(op, a, b)),
        (true, false) if ib.is_integer() => return integer_and_binary(op, b),
        (false, true) if ia.is_integer() => return integer_and_binary(op, a),
        (false, false) => {}
        _ => return Err(incompatible(op, a, b)),
    }
    if ia.is_approximate() || ib.is_approximate() {
        if op == Mod {
            return Err(incompatible(op, a, b));
        }
        let float = ia == TypeId::Float || ib == TypeId::Float;
        return Ok(if float { SqlType::FLOAT } else { SqlType::REAL });
    }
    if ia.is_decimal() || ib.is_decimal() {
        return match (decimal_facets(a), decimal_facets(b)) {
            (Some(x), Some(y)) => {
                let (p, s) = decimals::result_facets(op, x, y);
                Ok(SqlType::numeric(p, s))
            }
            _ => Err(incompatible(op, a, b)),
        };
    }
    // What is left has money on one side at least.
    let money = ia == TypeId::Money || ib == TypeId::Money;
    Ok(if money {
        SqlType::MONEY
    } else {
        SqlType::SMALLMONEY
    })
}

fn integer_and_binary(op: BinaryOp, int: &SqlType) -> SqlResult<SqlType> {
    if int.id == TypeId::Bit && !op.is_bitwise() {
        return Err(invalid(int, op.name()));
    }
    Ok(*int)
}

fn bitwise_type(op: BinaryOp, a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    match (a.id.is_integer(), b.id.is_integer()) {
        (true, false) if b.id.is_binary() => Ok(*a),
        (false, true) if a.id.is_binary() => Ok(*b),
        // A string converts to the integer it meets.
        (true, false) if b.id.is_string() => Ok(*a),
        (false, true) if a.id.is_string() => Ok(*b),
        _ => Err(incompatible(op, a, b)),
    }
}

fn string_and_number(op: BinaryOp, number: &SqlType) -> SqlResult<SqlType> {
    if number.id == TypeId::Bit {
        return Err(invalid(number, op.name()));
    }
    if number.id.is_decimal() {
        // The string becomes a decimal of the number's own facets.
        return result_type(op, number, number);
    }
    if number.id.is_approximate() && op == Mod {
        return Err(invalid(number, op.name()));
    }
    Ok(*number)
}

fn concatenation(a: &SqlType, b: &SqlType) -> SqlType {
    let wide = a.id.is_nchar() || b.id.is_nchar();
    let id = if wide {
        TypeId::NVarChar
    } else {
        TypeId::VarChar
    };
    let limit = if wide { 4000 } else { 8000 };
    let chars = match (a.char_capacity(), b.char_capacity()) {
        (Some(x), Some(y)) => Some((x + y).min(limit)),
        _ => None,
    };
    let ty = if wide {
        SqlType::NVARCHAR_MAX
    } else {
        SqlType::VARCHAR_MAX
    };
    SqlType {
        length: string_length(id, chars),
        collation: common_collation(a, b),
        ..ty
    }
}

/// datetime and smalldatetime take numbers, strings and each other in `+` and `-`; the newer types have no arithmetic.
fn temporal_type(op: BinaryOp, a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    let old = |id| matches!(id, TypeId::DateTime | TypeId::SmallDateTime);
    let newer = |id: TypeId| id.is_temporal() && !old(id);
    if newer(a.id) || newer(b.id) {
        let other = if newer(a.id) { b.id } else { a.id };
        if other.is_numeric() {
            let names = (a.id.name(), b.id.name());
            return Err(SqlError::new(&OPERAND_TYPE_CLASH, &[&names.0, &names.1]).with_state(2));
        }
        return Err(incompatible(op, a, b));
    }
    if !matches!(op, Add | Sub) {
        return Err(incompatible(op, a, b));
    }
    if a.id.is_binary() || b.id.is_binary() {
        return Err(incompatible(op, a, b));
    }
    let datetime = a.id == TypeId::DateTime || b.id == TypeId::DateTime;
    Ok(if datetime {
        SqlType::DATETIME
    } else {
        SqlType::SMALLDATETIME
    })
}

/// `a op b`, the type decided on the way. Executors that know the type call `arithmetic`.
pub fn binary(
    op: BinaryOp,
    a: &Value,
    ta: &SqlType,
    b: &Value,
    tb: &SqlType,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    let ty = result_type(op, ta, tb)?;
    arithmetic(op, a, ta, b, tb, &ty, ctx)
}

/// `a op b` as a value of `ty`, which `result_type` gave.
#[inline]
pub fn arithmetic(
    op: BinaryOp,
    a: &Value,
    ta: &SqlType,
    b: &Value,
    tb: &SqlType,
    ty: &SqlType,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    let result = match (a, b) {
        (Value::Int(x), Value::Int(y)) => int32(op, *x, *y),
        (Value::BigInt(x), Value::BigInt(y)) => integers(op, *x, *y, TypeId::BigInt),
        (Value::Null, _) | (_, Value::Null) if ctx.null_is_empty && ty.id.is_string() => {
            let empty = |v: &Value, t: &SqlType| match v {
                Value::Null => (Value::VarChar(Vec::new()), SqlType::varchar(1)),
                v => (v.clone(), *t),
            };
            let ((a, ta), (b, tb)) = (empty(a, ta), empty(b, tb));
            general(op, &a, &ta, &b, &tb, ty, ctx)
        }
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        _ => general(op, a, ta, b, tb, ty, ctx),
    };
    match result {
        Ok(v) => Ok(v),
        Err(e) => crate::lenient::forgiven(e, ctx),
    }
}

#[inline]
fn int32(op: BinaryOp, x: i32, y: i32) -> SqlResult<Value> {
    let v = match op {
        Add => x.checked_add(y),
        Sub => x.checked_sub(y),
        Mul => x.checked_mul(y),
        Div if y == 0 => return Err(by_zero()),
        Mod if y == 0 => return Err(by_zero()),
        Div => x.checked_div(y),
        Mod => Some(x.wrapping_rem(y)),
        BitAnd => Some(x & y),
        BitOr => Some(x | y),
        BitXor => Some(x ^ y),
    };
    match v {
        Some(v) => Ok(Value::Int(v)),
        None => Err(overflow("expression", TypeId::Int)),
    }
}

#[cold]
fn by_zero() -> SqlError {
    SqlError::new(&DIVIDE_BY_ZERO, &[])
}

fn integers(op: BinaryOp, x: i64, y: i64, id: TypeId) -> SqlResult<Value> {
    let v = match op {
        Add => x.checked_add(y),
        Sub => x.checked_sub(y),
        Mul => x.checked_mul(y),
        Div | Mod if y == 0 => return Err(by_zero()),
        Div => x.checked_div(y),
        Mod => Some(x.wrapping_rem(y)),
        BitAnd => Some(x & y),
        BitOr => Some(x | y),
        BitXor => Some(x ^ y),
    };
    v.and_then(|v| crate::convert::integer(v, id))
        .ok_or_else(|| overflow("expression", id))
}

/// Everything but the two hot pairs.
fn general(
    op: BinaryOp,
    a: &Value,
    ta: &SqlType,
    b: &Value,
    tb: &SqlType,
    ty: &SqlType,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    match ty.id {
        TypeId::Bit | TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt => {
            let x = integer_operand(a, ta, ty, ctx)?;
            let y = integer_operand(b, tb, ty, ctx)?;
            integers(op, x, y, ty.id)
        }
        TypeId::Decimal | TypeId::Numeric => {
            let x = decimals::operand(a, ta, tb, ctx)?;
            let y = decimals::operand(b, tb, ta, ctx)?;
            if ctx.roundabort && decimals::loses_digits(op, &x, &y, ty) {
                return Err(overflow("numeric", ty.id));
            }
            decimals::compute(op, &x, &y, ty)
        }
        TypeId::Money | TypeId::SmallMoney => {
            let x = money_operand(a, ta, ctx)?;
            let y = money_operand(b, tb, ctx)?;
            money(op, x, y, ty)
        }
        TypeId::Float | TypeId::Real => {
            let x = float_operand(a, ta, ctx)?;
            let y = float_operand(b, tb, ctx)?;
            float(op, x, y, ty)
        }
        TypeId::VarChar | TypeId::NVarChar => concatenate(a, ta, b, tb, ty, ctx),
        TypeId::VarBinary => match (a, b) {
            (Value::Binary(x), Value::Binary(y)) => {
                let mut out = Vec::with_capacity(x.len() + y.len());
                out.extend_from_slice(x);
                out.extend_from_slice(y);
                out.truncate(ty.char_capacity().unwrap_or(usize::MAX));
                Ok(Value::Binary(out))
            }
            _ => Err(incompatible(op, ta, tb)),
        },
        TypeId::DateTime | TypeId::SmallDateTime => {
            let x = ticks_operand(a, ta, ctx)?;
            let y = ticks_operand(b, tb, ctx)?;
            let sum = if op == Sub { x - y } else { x + y };
            crate::convert::datetime_from_ticks(sum, ty.id)
                .ok_or_else(|| overflow("expression", ty.id))
        }
        _ => Err(incompatible(op, ta, tb)),
    }
}

fn integer_operand(v: &Value, from: &SqlType, ty: &SqlType, ctx: &ConvertCtx) -> SqlResult<i64> {
    match v.as_i64() {
        Some(n) => Ok(n),
        None => Ok(convert(v, from, ty, None, ctx)?.as_i64().unwrap_or(0)),
    }
}

fn float_operand(v: &Value, from: &SqlType, ctx: &ConvertCtx) -> SqlResult<f64> {
    Ok(match v {
        Value::Float(f) => *f,
        Value::Real(f) => *f as f64,
        _ => match convert(v, from, &SqlType::FLOAT, None, ctx)? {
            Value::Float(f) => f,
            _ => 0.0,
        },
    })
}

fn float(op: BinaryOp, x: f64, y: f64, ty: &SqlType) -> SqlResult<Value> {
    let v = match op {
        Add => x + y,
        Sub => x - y,
        Mul => x * y,
        Div if y == 0.0 => return Err(by_zero()),
        Div => x / y,
        _ => return Err(invalid(ty, op.name())),
    };
    if ty.id == TypeId::Real {
        let v = v as f32;
        if v.is_finite() {
            return Ok(Value::Real(v));
        }
    } else if v.is_finite() {
        return Ok(Value::Float(v));
    }
    Err(overflow("expression", ty.id))
}

fn money_operand(v: &Value, from: &SqlType, ctx: &ConvertCtx) -> SqlResult<i64> {
    Ok(match v {
        Value::Money(m) => *m,
        Value::SmallMoney(m) => *m as i64,
        _ => match convert(v, from, &SqlType::MONEY, None, ctx)? {
            Value::Money(m) => m,
            _ => 0,
        },
    })
}

/// Every step keeps four places: products are rounded, quotients cut.
fn money(op: BinaryOp, x: i64, y: i64, ty: &SqlType) -> SqlResult<Value> {
    let (x, y) = (x as i128, y as i128);
    let v = match op {
        Add => x + y,
        Sub => x - y,
        Mul => crate::div_round(x * y, 10_000),
        Div | Mod if y == 0 => return Err(by_zero()),
        Div => x * 10_000 / y,
        Mod => x % y,
        _ => return Err(invalid(ty, op.name())),
    };
    let value = match ty.id {
        TypeId::Money => i64::try_from(v).ok().map(Value::Money),
        _ => i32::try_from(v).ok().map(Value::SmallMoney),
    };
    value.ok_or_else(|| overflow("expression", ty.id))
}

/// Any operand of date arithmetic as ticks since 1900-01-01.
fn ticks_operand(v: &Value, from: &SqlType, ctx: &ConvertCtx) -> SqlResult<i128> {
    let per_day = TICKS_PER_DAY as i128;
    if let Some(n) = v.as_i64() {
        return Ok(n as i128 * per_day);
    }
    if let Value::SmallDateTime(d) = v {
        return Ok(d.days as i128 * per_day + d.minutes as i128 * 18_000);
    }
    let converted;
    let v = match v {
        Value::DateTime(_) => v,
        _ => {
            converted = convert(v, from, &SqlType::DATETIME, None, ctx)?;
            &converted
        }
    };
    Ok(match v {
        Value::DateTime(d) => d.days as i128 * per_day + d.ticks as i128,
        _ => 0,
    })
}

fn concatenate(
    a: &Value,
    ta: &SqlType,
    b: &Value,
    tb: &SqlType,
    ty: &SqlType,
    ctx: &ConvertCtx,
) -> SqlResult<Value> {
    let limit = ty.char_capacity().unwrap_or(usize::MAX);
    match (a, b) {
        (Value::VarChar(x), Value::VarChar(y)) if ty.id == TypeId::VarChar => {
            let mut out = Vec::with_capacity(x.len() + y.len());
            out.extend_from_slice(x);
            out.extend_from_slice(y);
            out.truncate(limit);
            Ok(Value::VarChar(out))
        }
        (Value::NVarChar(x), Value::NVarChar(y)) => {
            let mut out = Vec::with_capacity(x.len() + y.len());
            out.extend_from_slice(x);
            out.extend_from_slice(y);
            out.truncate(limit);
            Ok(Value::NVarChar(out))
        }
        _ => {
            let wide = if ty.id == TypeId::NVarChar {
                SqlType::NVARCHAR_MAX
            } else {
                SqlType::VARCHAR_MAX
            };
            let x = convert(a, ta, &wide, None, ctx)?;
            let y = convert(b, tb, &wide, None, ctx)?;
            match (&x, &y) {
                (Value::VarChar(_), Value::VarChar(_))
                | (Value::NVarChar(_), Value::NVarChar(_)) => {
                    concatenate(&x, &wide, &y, &wide, ty, ctx)
                }
                _ => Err(incompatible(Add, ta, tb)),
            }
        }
    }
}

/// The type of `-x`: the operand's, except that tinyint becomes smallint.
pub fn negate_type(ty: &SqlType) -> SqlResult<SqlType> {
    match ty.id {
        TypeId::TinyInt => Ok(SqlType::SMALLINT),
        TypeId::Bit => Err(invalid(ty, "minus")),
        _ if ty.id.is_numeric() => Ok(*ty),
        _ => Err(invalid(ty, "minus")),
    }
}

/// `-x`, of the type `negate_type` gives.
pub fn negate(v: &Value, ty: &SqlType) -> SqlResult<Value> {
    let value = match v {
        Value::Null => Some(Value::Null),
        Value::TinyInt(n) => Some(Value::SmallInt(-(*n as i16))),
        Value::SmallInt(n) => n.checked_neg().map(Value::SmallInt),
        Value::Int(n) => n.checked_neg().map(Value::Int),
        Value::BigInt(n) => n.checked_neg().map(Value::BigInt),
        Value::Real(f) => Some(Value::Real(-f)),
        Value::Float(f) => Some(Value::Float(-f)),
        Value::Money(m) => m.checked_neg().map(Value::Money),
        Value::SmallMoney(m) => m.checked_neg().map(Value::SmallMoney),
        Value::Decimal(d) => {
            crate::Decimal::new(-d.mantissa(), d.precision(), d.scale()).map(Value::Decimal)
        }
        _ => return Err(invalid(ty, "minus")),
    };
    value.ok_or_else(|| overflow("expression", ty.id))
}

/// `~x`, of the operand's type.
pub fn bit_not(v: &Value, ty: &SqlType) -> SqlResult<Value> {
    Ok(match v {
        Value::Null => Value::Null,
        Value::Bit(b) => Value::Bit(!b),
        Value::TinyInt(n) => Value::TinyInt(!n),
        Value::SmallInt(n) => Value::SmallInt(!n),
        Value::Int(n) => Value::Int(!n),
        Value::BigInt(n) => Value::BigInt(!n),
        _ => return Err(invalid(ty, "'~'")),
    })
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
