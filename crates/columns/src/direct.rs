//! What many cells take on as they are, or nearly: conversions that change nothing, and days added to a datetime. The loops
//! of `kernels` would make a value of each cell and ask `types`; both must say the same.

use duramen_types::batch::{Data, IntKind};
use duramen_types::{BinaryOp, SqlType, TypeId, is_datetime};

use super::kernels::{Numbers, ints};
use super::vector::{ByRow, Vector, Vectored};

/// Whether every value of `from` is a value of `to`: strings of one kind and code page that get no shorter and no longer.
pub fn keeps_all(from: &SqlType, to: &SqlType) -> bool {
    let kind = match to.id {
        TypeId::VarChar => {
            matches!(from.id, TypeId::Char | TypeId::VarChar)
                && from.collation.is_utf8() == to.collation.is_utf8()
        }
        TypeId::NVarChar => matches!(from.id, TypeId::NChar | TypeId::NVarChar),
        TypeId::VarBinary => matches!(from.id, TypeId::Binary | TypeId::VarBinary),
        _ => false,
    };
    kind && match (from.char_capacity(), to.char_capacity()) {
        (_, None) => true,
        (Some(from), Some(to)) => from <= to,
        (None, Some(_)) => false,
    }
}

/// A datetime and a whole number of days; `None` for everything else.
pub fn datetimes(
    op: BinaryOp,
    a: &Vector,
    b: &Vector,
    ty: &SqlType,
    n: usize,
    nulls: &[bool],
) -> Vectored<Option<Data>> {
    let (Some((k, x)), Some((l, y))) = (ints(a), ints(b)) else {
        return Ok(None);
    };
    let whole = |kind: IntKind| kind.is_integer() && kind != IntKind::Bit;
    if ty.id != TypeId::DateTime || !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
        return Ok(None);
    }
    let (when, days): (Numbers<'_, i64>, Numbers<'_, i64>) = match (k, l, op) {
        (IntKind::DateTime, l, _) if whole(l) => (x, y),
        (k, IntKind::DateTime, BinaryOp::Add) if whole(k) => (y, x),
        _ => return Ok(None),
    };
    let mut out = Vec::with_capacity(n);
    for i in 0..n {
        let (at, by) = (when.get(i), days.get(i));
        let day = match op {
            BinaryOp::Sub => (at >> 32).checked_sub(by),
            _ => (at >> 32).checked_add(by),
        };
        let day = day.and_then(|d| i32::try_from(d).ok());
        out.push(match day.filter(|d| is_datetime(*d, at as u32)) {
            Some(d) => i64::from(d) << 32 | at & 0xffff_ffff,
            None if !nulls.is_empty() && nulls[i] => 0,
            None => return Err(ByRow),
        });
    }
    Ok(Some(Data::Ints(IntKind::DateTime, out)))
}
