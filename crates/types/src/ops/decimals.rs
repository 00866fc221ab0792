//! Decimal arithmetic: result facets, and 38-digit results from 256-bit intermediates.

use duramen_base::{SqlError, SqlResult};

use super::{Add, BinaryOp, Div, Mod, Mul, Sub, by_zero, incompatible};
use crate::compare::exact;
use crate::convert::{ConvertCtx, convert, overflow};
use crate::wide::U256;
use crate::{Decimal, POW10, SqlType, TypeId, Value};

/// Precision and scale of `a op b`, by the documented formulas; beyond 38 digits the scale yields.
pub(super) fn result_facets(op: BinaryOp, a: (u8, u8), b: (u8, u8)) -> (u8, u8) {
    let (p1, s1) = (a.0 as i32, a.1 as i32);
    let (p2, s2) = (b.0 as i32, b.1 as i32);
    let (p, s) = match op {
        Mul => (p1 + p2 + 1, s1 + s2),
        Div => {
            let s = 6.max(s1 + p2 + 1);
            (p1 - s1 + s2 + s, s)
        }
        Mod => ((p1 - s1).min(p2 - s2) + s1.max(s2), s1.max(s2)),
        _ => {
            let s = s1.max(s2);
            (s + (p1 - s1).max(p2 - s2) + 1, s)
        }
    };
    if p <= 38 {
        return (p.max(1) as u8, s as u8);
    }
    let s = match op {
        Mul | Div => {
            let whole = p - s;
            if whole < 32 {
                s.min(38 - whole)
            } else {
                s.min(6)
            }
        }
        _ => s.min(38 - (p1 - s1).max(p2 - s2)),
    };
    (38, s.max(0) as u8)
}

/// An operand as a decimal. A string takes the facets of the number beside it.
pub(super) fn operand(
    v: &Value,
    from: &SqlType,
    other: &SqlType,
    ctx: &ConvertCtx,
) -> SqlResult<Decimal> {
    if let Some(d) = exact(v) {
        return Ok(d);
    }
    match convert(v, from, other, None, ctx)? {
        Value::Decimal(d) => Ok(d),
        _ => Err(incompatible(Add, from, other)),
    }
}

#[cold]
fn too_large() -> SqlError {
    overflow("expression", TypeId::Numeric)
}

/// `a op b` with the facets of `ty`.
pub(super) fn compute(op: BinaryOp, a: &Decimal, b: &Decimal, ty: &SqlType) -> SqlResult<Value> {
    if matches!(op, Div | Mod) && b.mantissa() == 0 {
        return Err(by_zero());
    }
    let m = match op {
        Add => sum(a, b.mantissa(), b.scale(), ty.scale),
        Sub => sum(a, -b.mantissa(), b.scale(), ty.scale),
        Mul => product(a, b, ty.scale),
        Div => quotient(a, b, ty.scale),
        Mod => remainder(a, b),
        _ => return Err(incompatible(op, ty, ty)),
    };
    m.and_then(|m| Decimal::new(m, ty.precision, ty.scale))
        .map(Value::Decimal)
        .ok_or_else(too_large)
}

/// Whether the sum or product has digits that `ty` has no room for. A quotient always ends somewhere and does not count
/// (*assumed*).
pub(super) fn loses_digits(op: BinaryOp, a: &Decimal, b: &Decimal, ty: &SqlType) -> bool {
    let (full, scale) = match op {
        Add | Sub => {
            let scale = a.scale().max(b.scale());
            let m = if op == Sub {
                -b.mantissa()
            } else {
                b.mantissa()
            };
            (sum(a, m, b.scale(), scale), scale)
        }
        Mul => {
            let scale = a.scale() + b.scale();
            (product(a, b, scale), scale)
        }
        _ => return false,
    };
    let beyond = usize::from(scale.saturating_sub(ty.scale));
    match (full, POW10.get(beyond)) {
        (Some(m), Some(unit)) => m % unit != 0,
        _ => beyond > 0,
    }
}

/// A magnitude with a sign, when it fits 128 bits.
fn signed(m: U256, negative: bool) -> Option<i128> {
    let m = i128::try_from(m.to_u128()?).ok()?;
    Some(if negative { -m } else { m })
}

fn scaled(m: i128, n: u8) -> Option<U256> {
    U256::new(m.unsigned_abs()).checked_scale(n as u32)
}

fn sum(a: &Decimal, b: i128, b_scale: u8, scale: u8) -> Option<i128> {
    let am = a.mantissa();
    let widest = a.scale().max(b_scale);
    let (up_a, up_b) = (widest - a.scale(), widest - b_scale);
    if scale == widest {
        // The common case: nothing is lost and 128 bits do.
        let x = am.checked_mul(POW10[up_a as usize]);
        let y = b.checked_mul(POW10[up_b as usize]);
        if let (Some(x), Some(y)) = (x, y) {
            return x.checked_add(y);
        }
    }
    let (x, y) = (scaled(am, up_a)?, scaled(b, up_b)?);
    let (m, negative) = if (am < 0) == (b < 0) {
        (x.checked_add(y)?, am < 0)
    } else if x >= y {
        (x.wrapping_sub(y), am < 0)
    } else {
        (y.wrapping_sub(x), b < 0)
    };
    signed(m.round_digits((widest - scale) as u32), negative)
}

fn product(a: &Decimal, b: &Decimal, scale: u8) -> Option<i128> {
    let (x, y) = (a.mantissa(), b.mantissa());
    let drop = a.scale() + b.scale() - scale;
    if drop == 0
        && let Some(m) = x.checked_mul(y)
    {
        return Some(m);
    }
    let m = U256::product(x.unsigned_abs(), y.unsigned_abs());
    signed(m.round_digits(drop as u32), (x < 0) != (y < 0))
}

/// Cut, not rounded: 2.0/3 is 0.666666.
fn quotient(a: &Decimal, b: &Decimal, scale: u8) -> Option<i128> {
    let (x, y) = (a.mantissa(), b.mantissa());
    let up = scale as i32 + b.scale() as i32 - a.scale() as i32;
    let negative = (x < 0) != (y < 0);
    if up < 0 {
        // The cut rule can leave fewer places than the dividend has.
        let divisor = scaled(y, (-up) as u8)?;
        let (q, _) = U256::new(x.unsigned_abs()).checked_div_rem(divisor)?;
        return signed(q, negative);
    }
    if let Some(p) = POW10.get(up as usize)
        && let Some(m) = x.checked_mul(*p)
    {
        return m.checked_div(y);
    }
    // A dividend beyond 256 bits divided by 38 digits is beyond 38 digits as well.
    let dividend = scaled(x, up as u8)?;
    let (q, _) = dividend.checked_div_rem(U256::new(y.unsigned_abs()))?;
    signed(q, negative)
}

fn remainder(a: &Decimal, b: &Decimal) -> Option<i128> {
    let widest = a.scale().max(b.scale());
    let x = scaled(a.mantissa(), widest - a.scale())?;
    let y = scaled(b.mantissa(), widest - b.scale())?;
    let (_, r) = x.checked_div_rem(y)?;
    signed(r, a.mantissa() < 0)
}
