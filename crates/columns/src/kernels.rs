//! Loops over columns. Cells of unusual form go through values and the functions of `types`, which decide everything;
//! the loops beside them only save the detour.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{BytesKind, Column, Data, IntKind};
use duramen_types::collate::{compare_bytes, compare_units};
use duramen_types::{BinaryOp, CollationId, ConvertCtx, LikePattern, POW10, SqlType, Value};

use super::compare::CompareOp;
use super::direct;
use super::vector::{ByRow, Vector, Vectored};

/// A predicate's answers. Where `unknown` says so (it may be empty: nowhere), `holds` is false.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    pub holds: Vec<bool>,
    pub unknown: Vec<bool>,
}

impl Truth {
    pub fn of(answer: bool, n: usize) -> Truth {
        Truth {
            holds: vec![answer; n],
            unknown: Vec::new(),
        }
    }

    fn nothing_known(n: usize) -> Truth {
        Truth {
            holds: vec![false; n],
            unknown: vec![true; n],
        }
    }

    pub fn negated(mut self) -> Truth {
        if self.unknown.is_empty() {
            self.holds.iter_mut().for_each(|b| *b = !*b);
        } else {
            for (b, unknown) in self.holds.iter_mut().zip(&self.unknown) {
                *b = !*b && !unknown;
            }
        }
        self
    }

    pub fn and(mut self, other: Truth) -> Truth {
        if self.unknown.is_empty() && other.unknown.is_empty() {
            for (a, b) in self.holds.iter_mut().zip(&other.holds) {
                *a = *a && *b;
            }
            return self;
        }
        let n = self.holds.len();
        let at = |list: &[bool], i: usize| !list.is_empty() && list[i];
        let mut unknown = vec![false; n];
        for (i, slot) in unknown.iter_mut().enumerate() {
            let (ua, ub) = (at(&self.unknown, i), at(&other.unknown, i));
            let one_fails = !self.holds[i] && !ua || !other.holds[i] && !ub;
            *slot = !one_fails && (ua || ub);
        }
        for (a, b) in self.holds.iter_mut().zip(&other.holds) {
            *a = *a && *b;
        }
        self.unknown = unknown;
        self
    }
}

/// Which rows are NULL on either side; empty when none is.
fn null_on_either(a: &Vector, b: &Vector) -> Vec<bool> {
    let list = |v: &Vector| match v {
        Vector::Column(c) => c.nulls().to_vec(),
        Vector::Const(_) => Vec::new(),
    };
    let (mut x, y) = (list(a), list(b));
    if x.is_empty() {
        return y;
    }
    for (x, y) in x.iter_mut().zip(&y) {
        *x = *x || *y;
    }
    x
}

/// Numbers of one side, where they are machine numbers.
pub enum Numbers<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl<T: Copy> Numbers<'_, T> {
    #[inline]
    pub fn get(&self, i: usize) -> T {
        match self {
            Numbers::Many(v) => v[i],
            Numbers::One(x) => *x,
        }
    }
}

fn int_kind(v: &Vector) -> Option<IntKind> {
    match v {
        Vector::Column(c) => match &c.data {
            Data::Ints(kind, _) => Some(*kind),
            _ => None,
        },
        Vector::Const(v) => IntKind::of_value(v).map(|(kind, _)| kind),
    }
}

pub fn ints(v: &Vector) -> Option<(IntKind, Numbers<'_, i64>)> {
    let kind = int_kind(v)?;
    Some((
        kind,
        match v {
            Vector::Column(c) => match &c.data {
                Data::Ints(_, v) => Numbers::Many(v),
                _ => return None,
            },
            Vector::Const(v) => Numbers::One(kind.number(v)?),
        },
    ))
}

fn floats(v: &Vector) -> Option<Numbers<'_, f64>> {
    match v {
        Vector::Column(c) => match &c.data {
            Data::Floats(v) => Some(Numbers::Many(v)),
            _ => None,
        },
        Vector::Const(Value::Float(f)) => Some(Numbers::One(*f)),
        Vector::Const(_) => None,
    }
}

/// Mantissas and their scale.
fn decimals(v: &Vector) -> Option<(u8, Numbers<'_, i128>)> {
    match v {
        Vector::Column(c) => match &c.data {
            Data::Decimals {
                scale, mantissas, ..
            } => Some((*scale, Numbers::Many(mantissas))),
            _ => None,
        },
        Vector::Const(Value::Decimal(d)) => Some((d.scale(), Numbers::One(d.mantissa()))),
        Vector::Const(_) => None,
    }
}

fn compare_all<T: PartialOrd + Copy>(
    op: CompareOp,
    a: &Numbers<'_, T>,
    b: &Numbers<'_, T>,
    n: usize,
) -> Vec<bool> {
    fn run<T: Copy>(
        a: &Numbers<'_, T>,
        b: &Numbers<'_, T>,
        n: usize,
        holds: impl Fn(T, T) -> bool,
    ) -> Vec<bool> {
        match (a, b) {
            (Numbers::Many(x), Numbers::Many(y)) => {
                x.iter().zip(*y).map(|(x, y)| holds(*x, *y)).collect()
            }
            (Numbers::Many(x), Numbers::One(y)) => x.iter().map(|x| holds(*x, *y)).collect(),
            (Numbers::One(x), Numbers::Many(y)) => y.iter().map(|y| holds(*x, *y)).collect(),
            (Numbers::One(x), Numbers::One(y)) => vec![holds(*x, *y); n],
        }
    }
    match op {
        CompareOp::Eq => run(a, b, n, |x, y| x == y),
        CompareOp::Ne => run(a, b, n, |x, y| x != y),
        CompareOp::Lt => run(a, b, n, |x, y| x < y),
        CompareOp::Le => run(a, b, n, |x, y| x <= y),
        CompareOp::Gt => run(a, b, n, |x, y| x > y),
        CompareOp::Ge => run(a, b, n, |x, y| x >= y),
    }
}

/// `a op b`, row by row; NULL on either side is unknown.
pub fn compare(op: CompareOp, a: &Vector, b: &Vector, collation: CollationId, n: usize) -> Truth {
    if matches!(a, Vector::Const(Value::Null)) || matches!(b, Vector::Const(Value::Null)) {
        return Truth::nothing_known(n);
    }
    let unknown = null_on_either(a, b);
    let mut holds = compare_known(op, a, b, collation, n);
    for (holds, unknown) in holds.iter_mut().zip(&unknown) {
        *holds = *holds && !unknown;
    }
    Truth { holds, unknown }
}

/// The comparison without regard to NULLs: what it says of them does not count.
fn compare_known(
    op: CompareOp,
    a: &Vector,
    b: &Vector,
    collation: CollationId,
    n: usize,
) -> Vec<bool> {
    if let (Some((k, x)), Some((l, y))) = (ints(a), ints(b))
        && (k == l || k.is_integer() && l.is_integer())
    {
        return compare_all(op, &x, &y, n);
    }
    if let (Some(x), Some(y)) = (floats(a), floats(b)) {
        return compare_all(op, &x, &y, n);
    }
    if let (Some((s, x)), Some((t, y))) = (decimals(a), decimals(b))
        && s == t
    {
        return compare_all(op, &x, &y, n);
    }
    if let (Some(x), Some(y)) = (texts(a), texts(b)) {
        return (0..n)
            .map(|i| op.holds(compare_bytes(x(i), y(i), collation)))
            .collect();
    }
    if let (Some(x), Some(y)) = (wides(a), wides(b)) {
        return (0..n)
            .map(|i| op.holds(compare_units(x(i), y(i), collation)))
            .collect();
    }
    (0..n)
        .map(|i| {
            let order: Ordering = duramen_types::compare(&a.get(i), &b.get(i), collation);
            op.holds(order)
        })
        .collect()
}

fn texts<'a>(v: &'a Vector) -> Option<Box<dyn Fn(usize) -> &'a [u8] + 'a>> {
    match v {
        Vector::Column(c) => match &c.data {
            Data::Bytes(BytesKind::VarChar, r) => Some(Box::new(|i| r.get(i))),
            _ => None,
        },
        Vector::Const(Value::VarChar(b)) => Some(Box::new(move |_| b)),
        Vector::Const(_) => None,
    }
}

fn wides<'a>(v: &'a Vector) -> Option<Box<dyn Fn(usize) -> &'a [u16] + 'a>> {
    match v {
        Vector::Column(c) => match &c.data {
            Data::Wide(r) => Some(Box::new(|i| r.get(i))),
            _ => None,
        },
        Vector::Const(Value::NVarChar(u)) => Some(Box::new(move |_| u)),
        Vector::Const(_) => None,
    }
}

/// A value as a condition: zero fails.
pub fn non_zero(v: &Vector, n: usize) -> Truth {
    let unknown: Vec<bool> = (0..n).map(|i| v.is_null(i)).collect();
    let holds = (0..n).map(|i| v.get(i).as_i64().is_some_and(|x| x != 0));
    Truth {
        holds: holds.collect(),
        unknown,
    }
}

pub fn like(
    text: &Vector,
    pattern: &Value,
    negated: bool,
    collation: CollationId,
    n: usize,
) -> SqlResult<Truth> {
    if pattern.is_null() {
        return Ok(Truth::nothing_known(n));
    }
    // Whether a text is wide decides how the pattern is read, and may differ from row to row.
    let mut compiled: [Option<LikePattern>; 2] = [None, None];
    let mut out = Truth::of(false, n);
    out.unknown = vec![false; n];
    if let (Vector::Column(c), Value::VarChar(_)) = (text, pattern)
        && let Data::Bytes(BytesKind::VarChar, cells) = &c.data
    {
        let p = LikePattern::compile(pattern, None, false, collation);
        for i in 0..n {
            match c.is_null(i) {
                true => out.unknown[i] = true,
                false => out.holds[i] = p.matches_bytes(cells.get(i))? != negated,
            }
        }
        return Ok(out);
    }
    for i in 0..n {
        let value = text.get(i);
        if value.is_null() {
            out.unknown[i] = true;
            continue;
        }
        let wide = matches!(value, Value::NVarChar(_));
        let slot = &mut compiled[usize::from(wide)];
        let p = slot.get_or_insert_with(|| LikePattern::compile(pattern, None, wide, collation));
        out.holds[i] = p.matches(&value)? != negated;
    }
    Ok(out)
}

/// `n` cells of one value.
pub fn repeated(value: &Value, ty: &SqlType, n: usize) -> Column {
    Column::repeated(value, ty, n)
}

/// A function of one value, cell by cell.
pub fn each(
    a: &Vector,
    n: usize,
    ty: &SqlType,
    f: impl Fn(&Value) -> Vectored<Value>,
) -> Vectored<Vector> {
    match a {
        Vector::Const(v) => Ok(Vector::Const(f(v)?)),
        Vector::Column(c) => {
            let mut out = Column::of(ty);
            for i in 0..n {
                out.push(f(&c.get(i))?);
            }
            Ok(Vector::Column(Arc::new(out)))
        }
    }
}

/// `a op b` as values of `ty`.
pub fn arithmetic(
    op: BinaryOp,
    (a, ta): (&Vector, &SqlType),
    (b, tb): (&Vector, &SqlType),
    ty: &SqlType,
    n: usize,
    convert: &ConvertCtx,
) -> Vectored<Vector> {
    if convert.null_is_empty && ty.id.is_string() {
        return Err(ByRow);
    }
    if let (Vector::Const(x), Vector::Const(y)) = (a, b) {
        let value = duramen_types::arithmetic(op, x, ta, y, tb, ty, convert);
        return value.map(Vector::Const).map_err(|_| ByRow);
    }
    if matches!(a, Vector::Const(Value::Null)) || matches!(b, Vector::Const(Value::Null)) {
        return Ok(Vector::Const(Value::Null));
    }
    let nulls = null_on_either(a, b);
    if let Some(data) = fast_arithmetic(op, a, b, ty, n, &nulls)? {
        return Ok(Vector::Column(Arc::new(Column::with_nulls(data, nulls))));
    }
    if let Some(data) = direct::datetimes(op, a, b, ty, n, &nulls)? {
        return Ok(Vector::Column(Arc::new(Column::with_nulls(data, nulls))));
    }
    let mut out = Column::of(ty);
    for i in 0..n {
        let value = duramen_types::arithmetic(op, &a.get(i), ta, &b.get(i), tb, ty, convert);
        out.push(value.map_err(|_| ByRow)?);
    }
    Ok(Vector::Column(Arc::new(out)))
}

/// The pairs of machine numbers; `None` for everything else.
fn fast_arithmetic(
    op: BinaryOp,
    a: &Vector,
    b: &Vector,
    ty: &SqlType,
    n: usize,
    nulls: &[bool],
) -> Vectored<Option<Data>> {
    let null = |i: usize| !nulls.is_empty() && nulls[i];
    if let (Some((k, x)), Some((l, y)), Some(kind)) = (ints(a), ints(b), IntKind::of(ty.id))
        && k.is_integer()
        && l.is_integer()
        && kind.is_integer()
    {
        let (low, high) = kind.range();
        let mut out = Vec::with_capacity(n);
        for i in 0..n {
            let (x, y) = (x.get(i), y.get(i));
            let v = match op {
                BinaryOp::Add => x.checked_add(y),
                BinaryOp::Sub => x.checked_sub(y),
                BinaryOp::Mul => x.checked_mul(y),
                BinaryOp::Div => x.checked_div(y),
                BinaryOp::Mod if y == 0 => None,
                BinaryOp::Mod => Some(x.wrapping_rem(y)),
                BinaryOp::BitAnd => Some(x & y),
                BinaryOp::BitOr => Some(x | y),
                BinaryOp::BitXor => Some(x ^ y),
            };
            out.push(match v {
                Some(v) if low <= v && v <= high => v,
                _ if null(i) => 0,
                _ => return Err(ByRow),
            });
        }
        return Ok(Some(Data::Ints(kind, out)));
    }
    if let (Some(x), Some(y)) = (floats(a), floats(b))
        && ty.id == duramen_types::TypeId::Float
    {
        let mut out = Vec::with_capacity(n);
        for i in 0..n {
            let (x, y) = (x.get(i), y.get(i));
            let v = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                _ => return Ok(None),
            };
            out.push(match v.is_finite() {
                true => v,
                false if null(i) => 0.0,
                false => return Err(ByRow),
            });
        }
        return Ok(Some(Data::Floats(out)));
    }
    let (Some((s, x)), Some((t, y))) = (decimals(a), decimals(b)) else {
        return Ok(None);
    };
    exact(op, (s, x), (t, y), ty, n)
}

/// Sums and products of decimals that lose no digit.
fn exact(
    op: BinaryOp,
    (s, x): (u8, Numbers<'_, i128>),
    (t, y): (u8, Numbers<'_, i128>),
    ty: &SqlType,
    n: usize,
) -> Vectored<Option<Data>> {
    let widest = s.max(t);
    let fits = match op {
        BinaryOp::Add | BinaryOp::Sub => ty.scale == widest,
        BinaryOp::Mul => ty.scale == s + t,
        _ => false,
    };
    if !fits || !ty.id.is_decimal() || ty.precision == 0 {
        return Ok(None);
    }
    let (up_x, up_y) = match op {
        BinaryOp::Mul => (1, 1),
        _ => (
            POW10[usize::from(widest - s)],
            POW10[usize::from(widest - t)],
        ),
    };
    let limit = POW10[usize::from(ty.precision)];
    let mut mantissas = Vec::with_capacity(n);
    for i in 0..n {
        let (x, y) = (x.get(i).checked_mul(up_x), y.get(i).checked_mul(up_y));
        let v = match (op, x, y) {
            (BinaryOp::Add, Some(x), Some(y)) => x.checked_add(y),
            (BinaryOp::Sub, Some(x), Some(y)) => x.checked_sub(y),
            (BinaryOp::Mul, Some(x), Some(y)) => x.checked_mul(y),
            _ => None,
        };
        match v {
            Some(v) if -limit < v && v < limit => mantissas.push(v),
            _ => return Ok(None),
        }
    }
    Ok(Some(Data::Decimals {
        precision: ty.precision,
        scale: ty.scale,
        mantissas,
    }))
}

/// CAST and the implicit conversions.
pub fn convert(
    a: &Vector,
    from: &SqlType,
    to: &SqlType,
    or_null: bool,
    n: usize,
    ctx: &ConvertCtx,
) -> Vectored<Vector> {
    if let Vector::Column(c) = a
        && matches!(c.data, Data::Bytes(..) | Data::Wide(_))
        && direct::keeps_all(from, to)
    {
        return Ok(Vector::Column(c.clone()));
    }
    if let Vector::Column(c) = a
        && let Data::Ints(kind, v) = &c.data
        && kind.is_integer()
        && let Some(data) = widened(v, to)
    {
        return Ok(Vector::Column(Arc::new(Column::with_nulls(
            data,
            c.nulls().to_vec(),
        ))));
    }
    each(a, n, to, |v| {
        // As the row evaluator has it: a NULL goes into any type.
        if v.is_null() {
            return Ok(Value::Null);
        }
        match duramen_types::convert(v, from, to, None, ctx) {
            Ok(v) => Ok(v),
            Err(_) if or_null => Ok(Value::Null),
            Err(_) => Err(ByRow),
        }
    })
}

/// Integers in a type that has room for all of them; `None` where one has none, or for another type.
fn widened(v: &[i64], to: &SqlType) -> Option<Data> {
    if to.id == duramen_types::TypeId::Float {
        return Some(Data::Floats(v.iter().map(|n| *n as f64).collect()));
    }
    if to.id.is_decimal() && to.precision > 0 {
        let (up, limit) = (
            POW10[usize::from(to.scale)],
            POW10[usize::from(to.precision)],
        );
        let mantissas: Option<Vec<i128>> = v
            .iter()
            .map(|n| {
                let m = i128::from(*n).checked_mul(up)?;
                (-limit < m && m < limit).then_some(m)
            })
            .collect();
        return Some(Data::Decimals {
            precision: to.precision,
            scale: to.scale,
            mantissas: mantissas?,
        });
    }
    let kind = IntKind::of(to.id).filter(|k| k.is_integer() && *k != IntKind::Bit)?;
    let (low, high) = kind.range();
    let fits = v.iter().all(|n| low <= *n && *n <= high);
    fits.then(|| Data::Ints(kind, v.to_vec()))
}
