//! Conditions made simpler before they are placed: constants computed, columns freed of conversions, contradictions found.

use std::collections::BTreeMap;
use std::ops::Range;

use duramen_columns::CompareOp;
use duramen_types::{SqlType, TypeId, Value};

use duramen_query::host::Nowhere;
use duramen_query::{Cx, Expr, Kind};

/// Makes an expression simpler; its value stays the same.
pub fn simplify(e: &mut Expr) {
    let _ = e.try_for_each_child(&mut |c| {
        simplify(c);
        Ok(())
    });
    narrowed(e);
    folded(e);
}

/// Whether conversions of this type depend on nothing that a session sets.
fn is_plain_number(ty: &SqlType) -> bool {
    matches!(
        ty.id,
        TypeId::Bit
            | TypeId::TinyInt
            | TypeId::SmallInt
            | TypeId::Int
            | TypeId::BigInt
            | TypeId::Float
    )
}

fn constant(e: &Expr) -> Option<&Value> {
    match &e.kind {
        Kind::Const(v) => Some(v),
        _ => None,
    }
}

/// Operations on numbers that are known are done once. One that fails is left for the run to fail.
fn folded(e: &mut Expr) {
    let number = |e: &Expr| constant(e).is_some() && is_plain_number(&e.ty);
    let known = match &e.kind {
        Kind::Arithmetic(_, l, r) => number(l) && number(r),
        Kind::Compare(_, l, r) => number(l) && number(r),
        Kind::Negate(x) => number(x),
        Kind::Convert {
            input, style: None, ..
        } => number(input) && is_plain_number(&e.ty),
        _ => false,
    };
    if !known {
        return;
    }
    let mut vars = Vec::new();
    let mut cx = Cx::new(&Nowhere, &mut vars, duramen_types::ConvertCtx::default());
    if let Ok(v) = e.eval(&[], &mut cx) {
        e.nullable = v.is_null();
        e.kind = Kind::Const(v);
    }
}

fn integer(v: i64, id: TypeId) -> Option<Value> {
    match id {
        TypeId::TinyInt => u8::try_from(v).ok().map(Value::TinyInt),
        TypeId::SmallInt => i16::try_from(v).ok().map(Value::SmallInt),
        TypeId::Int => i32::try_from(v).ok().map(Value::Int),
        TypeId::BigInt => Some(Value::BigInt(v)),
        _ => None,
    }
}

/// `CONVERT(int, smallint_column) = 5` is `smallint_column = 5`: what a key of the column can answer.
fn narrowed(e: &mut Expr) {
    let Kind::Compare(_, l, r) = &mut e.kind else {
        return;
    };
    let (column, value) = if constant(r).is_some() {
        (l, r)
    } else {
        (r, l)
    };
    let Kind::Convert {
        input, style: None, ..
    } = &column.kind
    else {
        return;
    };
    let whole = |id: TypeId| {
        matches!(
            id,
            TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt
        )
    };
    if !matches!(input.kind, Kind::Column { .. }) || !whole(input.ty.id) || !whole(column.ty.id) {
        return;
    }
    let narrow = constant(value)
        .and_then(Value::as_i64)
        .and_then(|v| integer(v, input.ty.id));
    // A narrower type than the column's own would lose values of the column, not of the constant.
    if let Some(v) = narrow.filter(|_| input.ty.length < column.ty.length) {
        let ty = input.ty;
        let freed = (**input).clone();
        **column = freed;
        **value = Expr::constant(v, ty);
    }
}

/// Takes away what always holds; whether the whole condition never does.
pub fn never(parts: &mut Vec<Expr>) -> bool {
    parts.retain(|e| !matches!(e.kind, Kind::Const(Value::Bit(true))));
    let none = |e: &Expr| {
        matches!(e.kind, Kind::Const(Value::Bit(false)))
            || e.is_predicate() && matches!(e.kind, Kind::Const(Value::Null))
    };
    parts.iter().any(none) || contradict(parts)
}

/// `a = 1 AND a = 2`
fn contradict(parts: &[Expr]) -> bool {
    let fixed = |e: &Expr| match &e.kind {
        Kind::Compare(CompareOp::Eq, l, r) => match (&l.kind, constant(r)) {
            (Kind::Column { depth: 0, index }, Some(v)) if is_plain_number(&l.ty) => {
                Some((*index, l.ty, v.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    let mut first: BTreeMap<usize, Value> = BTreeMap::new();
    let known = parts.iter().filter_map(fixed).filter(|k| !k.2.is_null());
    // Values of one column: if any two differ, one differs from the first.
    known.into_iter().any(|(column, ty, v)| {
        let first = first.entry(column).or_insert_with(|| v.clone());
        duramen_types::compare(&v, first, ty.collation).is_ne()
    })
}

/// Whether a condition cannot hold for a row whose columns in the range are all NULL.
pub fn refuses_null(e: &Expr, range: Range<usize>) -> bool {
    let strict = |e: &Expr| is_null_of(e, &range);
    match &e.kind {
        Kind::Compare(_, l, r) => strict(l) || strict(r),
        Kind::IsNull {
            input,
            negated: true,
        } => strict(input),
        Kind::Like { input, .. } => strict(input),
        Kind::In {
            item,
            negated: false,
            ..
        } => strict(item),
        Kind::And(parts) => parts.iter().any(|p| refuses_null(p, range.clone())),
        Kind::Or(parts) => parts.iter().all(|p| refuses_null(p, range.clone())),
        _ => false,
    }
}

/// Whether the value is NULL when the columns in the range are.
fn is_null_of(e: &Expr, range: &Range<usize>) -> bool {
    match &e.kind {
        Kind::Column { depth: 0, index } => range.contains(index),
        Kind::Arithmetic(_, l, r) => is_null_of(l, range) || is_null_of(r, range),
        Kind::Negate(e) | Kind::BitNot(e) => is_null_of(e, range),
        Kind::Convert { input, .. } => is_null_of(input, range),
        _ => false,
    }
}
