//! Mathematical functions. Those of ABS's kind keep the exact types; the transcendental ones compute in float.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{Decimal, POW10, SqlType, TypeId, Value, rescale_mantissa};

use super::Param::{Float, Int, Number};
use super::{ScalarFunction, doc, overflow, same, small, strict};
use crate::cx::Cx;
use crate::expr::Expr;

fn float(_: &[Expr]) -> SqlType {
    SqlType::FLOAT
}

/// What a numeric argument is computed in.
pub fn number_type(ty: &SqlType) -> SqlType {
    match ty.id {
        TypeId::Bit | TypeId::TinyInt | TypeId::SmallInt | TypeId::Int => SqlType::INT,
        TypeId::BigInt | TypeId::Decimal | TypeId::Numeric | TypeId::Money => *ty,
        TypeId::SmallMoney => SqlType::MONEY,
        _ => SqlType::FLOAT,
    }
}

/// FLOOR and CEILING of a decimal have no decimals.
fn integral(args: &[Expr]) -> SqlType {
    let ty = args[0].ty;
    if ty.id.is_decimal() {
        SqlType { scale: 0, ..ty }
    } else {
        ty
    }
}

fn real(v: &Value) -> f64 {
    match v {
        Value::Float(f) => *f,
        _ => 0.0,
    }
}

/// A float that is a number (3623 for what is not).
fn finite(f: f64) -> SqlResult<Value> {
    if f.is_nan() {
        Err(SqlError::new(&messages::INVALID_FLOATING_POINT, &[]))
    } else if f.is_infinite() {
        Err(overflow(TypeId::Float))
    } else {
        Ok(Value::Float(f))
    }
}

macro_rules! of_float {
    ($doc:expr, $f:expr) => {
        strict($doc, &[Float], float, |v, _, _, _| {
            let f: fn(f64) -> f64 = $f;
            finite(f(real(&v[0])))
        })
    };
}

pub(super) const TABLE: &[ScalarFunction] = &[
    of_float!(doc("sqrt", "the square root", "SQRT(16)"), f64::sqrt),
    of_float!(doc("square", "the square", "SQUARE(3)"), |x| x * x),
    of_float!(doc("exp", "e to a power", "EXP(0)"), f64::exp),
    of_float!(
        doc("sin", "the sine of an angle in radians", "SIN(0)"),
        f64::sin
    ),
    of_float!(
        doc("cos", "the cosine of an angle in radians", "COS(0)"),
        f64::cos
    ),
    of_float!(
        doc("tan", "the tangent of an angle in radians", "TAN(0)"),
        f64::tan
    ),
    of_float!(
        doc(
            "cot",
            "the cotangent of an angle in radians",
            "ROUND(COT(1), 4)"
        ),
        |x| 1.0 / x.tan()
    ),
    of_float!(
        doc("asin", "the angle of a sine, in radians", "ASIN(0)"),
        f64::asin
    ),
    of_float!(
        doc("acos", "the angle of a cosine, in radians", "ACOS(1)"),
        f64::acos
    ),
    of_float!(
        doc("atan", "the angle of a tangent, in radians", "ATAN(0)"),
        f64::atan
    ),
    strict(
        doc("atn2", "the angle of a point, in radians", "ATN2(0, 1)"),
        &[Float, Float],
        float,
        |v, _, _, _| finite(real(&v[0]).atan2(real(&v[1]))),
    ),
    strict(
        doc("log", "the logarithm, natural or to a base", "LOG(8, 2)"),
        &[Float, Float],
        float,
        |v, _, _, _| {
            let x = positive(real(&v[0]))?;
            finite(match v.get(1) {
                None => x.ln(),
                Some(base) => x.ln() / positive(real(base))?.ln(),
            })
        },
    )
    .at_least(1),
    strict(
        doc("log10", "the decimal logarithm", "LOG10(1000)"),
        &[Float],
        float,
        |v, _, _, _| finite(positive(real(&v[0]))?.log10()),
    ),
    strict(
        doc("pi", "pi", "ROUND(PI(), 6)"),
        &[],
        float,
        |_, _, _, _| Ok(Value::Float(std::f64::consts::PI)),
    ),
    // One number for all rows of a statement: kept under the address of the call.
    strict(
        doc(
            "rand",
            "a random number from 0 to 1; of a seed always the same",
            "FLOOR(RAND(1))",
        ),
        &[Int],
        float,
        |v, _, ty, cx| {
            let call = std::ptr::from_ref(ty) as usize;
            if v.is_empty()
                && let Some(rows) = cx.cached.get(&call)
            {
                return Ok(rows[0][0].clone());
            }
            let seed = v.first().map(|s| super::whole(s) as i32);
            let drawn = Value::Float(cx.host.rand(seed));
            if v.is_empty() {
                cx.cached
                    .insert(call, std::sync::Arc::new(vec![vec![drawn.clone()]]));
            }
            Ok(drawn)
        },
    )
    .volatile()
    .at_least(0)
    .sees_null(),
    strict(
        doc("abs", "the absolute value", "ABS(-3.5)"),
        &[Number],
        same,
        |v, args, _, _| {
            if sign(&v[0]) < 0 {
                duramen_types::negate(&v[0], &args[0].ty)
            } else {
                Ok(v[0].clone())
            }
        },
    ),
    strict(
        doc("sign", "-1, 0 or 1", "SIGN(-2)"),
        &[Number],
        same,
        |v, _, ty, cx| {
            let n = Value::Int(sign(&v[0]));
            duramen_types::convert(&n, &SqlType::INT, ty, None, &cx.convert)
        },
    ),
    strict(
        doc(
            "floor",
            "the greatest whole number that is not above",
            "FLOOR(1.8)",
        ),
        &[Number],
        integral,
        |v, _, ty, _| round_with(&v[0], ty, f64::floor, i128::div_euclid),
    ),
    strict(
        doc(
            "ceiling",
            "the least whole number that is not below",
            "CEILING(1.2)",
        ),
        &[Number],
        integral,
        |v, _, ty, _| round_with(&v[0], ty, f64::ceil, |m, d| -(-m).div_euclid(d)),
    ),
    strict(
        doc(
            "round",
            "rounded, or cut with a third argument",
            "ROUND(123.456, 1)",
        ),
        &[Number, Int, Int],
        same,
        |v, _, ty, _| {
            let cut = v.get(2).is_some_and(|f| super::whole(f) != 0);
            round(&v[0], small(&v[1])?, cut, ty)
        },
    )
    .at_least(2),
    strict(
        doc("power", "a power", "POWER(2, 10)"),
        &[Number, Float],
        power_type,
        |v, args, ty, cx| {
            let base =
                duramen_types::convert(&v[0], &args[0].ty, &SqlType::FLOAT, None, &cx.convert)?;
            let raised = finite(real(&base).powf(real(&v[1])))?;
            duramen_types::convert(&raised, &SqlType::FLOAT, ty, None, &cx.convert)
        },
    ),
    strict(
        doc("degrees", "an angle in degrees", "DEGREES(PI())"),
        &[Number],
        angle,
        |v, args, ty, cx| turned(&v[0], args, ty, cx, f64::to_degrees),
    ),
    strict(
        doc("radians", "an angle in radians", "RADIANS(180.0)"),
        &[Number],
        angle,
        |v, args, ty, cx| turned(&v[0], args, ty, cx, f64::to_radians),
    ),
];

/// DEGREES and RADIANS keep the kind of number. *Assumed*: the decimals of a decimal.
fn angle(args: &[Expr]) -> SqlType {
    match number_type(&args[0].ty) {
        ty if ty.id.is_decimal() => SqlType::numeric(38, 18),
        ty => ty,
    }
}

fn turned(
    v: &Value,
    args: &[Expr],
    ty: &SqlType,
    cx: &Cx<'_>,
    by: fn(f64) -> f64,
) -> SqlResult<Value> {
    let given = duramen_types::convert(v, &args[0].ty, &SqlType::FLOAT, None, &cx.convert)?;
    let turned = finite(by(real(&given)))?;
    duramen_types::convert(&turned, &SqlType::FLOAT, ty, None, &cx.convert)
}

fn power_type(args: &[Expr]) -> SqlType {
    let ty = args[0].ty;
    if ty.id.is_decimal() {
        SqlType::numeric(38, ty.scale)
    } else {
        ty
    }
}

fn positive(f: f64) -> SqlResult<f64> {
    if f > 0.0 {
        Ok(f)
    } else {
        Err(SqlError::new(&messages::INVALID_FLOATING_POINT, &[]))
    }
}

fn sign(v: &Value) -> i32 {
    match v {
        Value::Float(f) if *f > 0.0 => 1,
        Value::Float(f) if *f < 0.0 => -1,
        Value::Float(_) => 0,
        Value::Decimal(d) => d.mantissa().signum() as i32,
        Value::Money(m) => m.signum() as i32,
        other => super::whole(other).signum() as i32,
    }
}

fn decimal(mantissa: Option<i128>, ty: &SqlType) -> SqlResult<Value> {
    mantissa
        .and_then(|m| Decimal::new(m, ty.precision, ty.scale))
        .map(Value::Decimal)
        .ok_or_else(|| overflow(ty.id))
}

fn round_with(
    v: &Value,
    ty: &SqlType,
    float: fn(f64) -> f64,
    exact: fn(i128, i128) -> i128,
) -> SqlResult<Value> {
    match v {
        Value::Float(f) => Ok(Value::Float(float(*f))),
        Value::Money(m) => {
            let rounded = exact(*m as i128, 10_000) * 10_000;
            let rounded = i64::try_from(rounded).map_err(|_| overflow(TypeId::Money))?;
            Ok(Value::Money(rounded))
        }
        Value::Decimal(d) => {
            let whole = exact(d.mantissa(), POW10[d.scale() as usize]);
            decimal(rescale_mantissa(whole, 0, ty.scale), ty)
        }
        other => Ok(other.clone()),
    }
}

/// A mantissa of `scale` decimals rounded (or cut) at `digits` after the point, or before it when negative.
fn at_digit(m: i128, scale: i32, digits: i32, cut: bool) -> i128 {
    let drop = scale.saturating_sub(digits);
    if drop <= 0 {
        return m;
    }
    let Some(unit) = POW10.get(drop as usize) else {
        return 0;
    };
    if cut {
        m / unit * unit
    } else {
        duramen_types::div_round(m, *unit).saturating_mul(*unit)
    }
}

fn round(v: &Value, digits: i32, cut: bool, ty: &SqlType) -> SqlResult<Value> {
    match v {
        Value::Int(n) => i32::try_from(at_digit(*n as i128, 0, digits, cut))
            .map(Value::Int)
            .map_err(|_| overflow(TypeId::Int)),
        Value::BigInt(n) => i64::try_from(at_digit(*n as i128, 0, digits, cut))
            .map(Value::BigInt)
            .map_err(|_| overflow(TypeId::BigInt)),
        Value::Money(m) => i64::try_from(at_digit(*m as i128, 4, digits, cut))
            .map(Value::Money)
            .map_err(|_| overflow(TypeId::Money)),
        Value::Decimal(d) => decimal(
            Some(at_digit(d.mantissa(), d.scale() as i32, digits, cut)),
            ty,
        ),
        Value::Float(f) => {
            let unit = 10f64.powi(digits.clamp(-308, 308));
            let scaled = f * unit;
            let whole = if cut { scaled.trunc() } else { scaled.round() };
            // Beyond the digits a float has there is nothing to round.
            Ok(Value::Float(if scaled.is_finite() && scaled.abs() < 1e16 {
                whole / unit
            } else {
                *f
            }))
        }
        other => Ok(other.clone()),
    }
}
