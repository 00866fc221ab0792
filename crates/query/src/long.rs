//! Long texts and long bytes: copied, changed and put together in pieces, between which the statement may be given up.

use std::borrow::Cow;
use std::cmp::Ordering;

use duramen_base::SqlResult;
use duramen_types::{BinaryOp, Spooled, SqlType, TypeId, Value};

use crate::cx::Cx;
use crate::expr::{Expr, Kind, called};
use crate::functions::ScalarFunction;
use crate::plan::Row;

/// Elements of a text or bytes between two looks at whether somebody still wants it.
const PIECE: usize = 1 << 16;

/// Each element changed.
pub(crate) fn mapped<T, U>(
    from: &[T],
    mut change: impl FnMut(&T) -> U,
    cx: &Cx<'_>,
) -> SqlResult<Vec<U>> {
    let mut out = Vec::with_capacity(from.len());
    for piece in from.chunks(PIECE) {
        if from.len() > PIECE {
            cx.check_cancelled()?;
        }
        out.extend(piece.iter().map(&mut change));
    }
    Ok(out)
}

pub(crate) fn copied<T: Copy>(from: &[T], cx: &Cx<'_>) -> SqlResult<Vec<T>> {
    let mut out = Vec::with_capacity(from.len());
    append(&mut out, from, cx)?;
    Ok(out)
}

pub(crate) fn append<T: Copy>(out: &mut Vec<T>, more: &[T], cx: &Cx<'_>) -> SqlResult<()> {
    // What is long takes no more than it needs: whoever asked for room has asked for that.
    if out.len() + more.len() <= PIECE {
        out.extend_from_slice(more);
        return Ok(());
    }
    out.reserve_exact(more.len());
    for piece in more.chunks(PIECE) {
        cx.check_cancelled()?;
        out.extend_from_slice(piece);
    }
    Ok(())
}

/// A value of a column or variable of that type, for whoever keeps it.
#[inline]
pub(crate) fn own(v: &Value, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Value> {
    match ty.is_max() {
        false => Ok(v.clone()),
        true => copy(v, ty, cx),
    }
}

fn copy(v: &Value, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Value> {
    cx.room_for(v.heap_bytes())?;
    Ok(match v {
        Value::Spooled(s) => return in_memory(s, ty, cx),
        Value::VarChar(b) => Value::VarChar(copied(b, cx)?),
        Value::NVarChar(u) => Value::NVarChar(copied(u, cx)?),
        Value::Binary(b) => Value::Binary(copied(b, cx)?),
        other => other.clone(),
    })
}

/// A spooled value as one in memory, where there is room for it.
pub fn in_memory(s: &Spooled, ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Value> {
    cx.room_for(s.len())?;
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(s.len()).is_err() {
        return Err(crate::kept::out_of_memory());
    }
    let mut piece = vec![0; PIECE * 4];
    while bytes.len() < s.len() {
        cx.check_cancelled()?;
        let n = piece.len().min(s.len() - bytes.len());
        s.read(bytes.len(), &mut piece[..n])?;
        bytes.extend_from_slice(&piece[..n]);
    }
    cx.made(match ty.id {
        id if id.is_nchar() => {
            let (units, _) = bytes.as_chunks::<2>();
            Value::NVarChar(mapped(units, |u| u16::from_le_bytes(*u), cx)?)
        }
        id if id.is_char() => Value::VarChar(bytes),
        _ => Value::Binary(bytes),
    })
}

/// The value of an expression for a variable or for a row on its way into a table: one that is spooled stays so.
pub fn kept(e: &Expr, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
    match &e.kind {
        Kind::Variable(slot) if matches!(cx.vars[*slot], Value::Spooled(_)) => {
            Ok(cx.vars[*slot].clone())
        }
        Kind::Column { depth: 0, index } if matches!(row[*index], Value::Spooled(_)) => {
            Ok(row[*index].clone())
        }
        Kind::Convert {
            input,
            style: None,
            or_null: false,
        } if e.ty.is_max() && e.ty.id == input.ty.id && e.ty.collation == input.ty.collation => {
            kept(input, row, cx)
        }
        _ => e.eval(row, cx),
    }
}

/// The values of a projection: a column that is not in memory goes on as it is. It comes from a scan that lends only where
/// whoever takes the rows knows such values.
pub(crate) fn projected(exprs: &[Expr], row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Row> {
    let mut out = Vec::with_capacity(exprs.len());
    for e in exprs {
        out.push(match &e.kind {
            Kind::Column { depth: 0, .. } if e.ty.is_max() => kept(e, row, cx)?,
            _ => e.eval(row, cx)?,
        });
    }
    Ok(out)
}

/// The value of an expression for a variable, which keeps it longer than the statement runs.
#[inline]
pub fn assigned(e: &Expr, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
    match e.ty.is_max() {
        true => settled(e, row, cx),
        false => e.eval(row, cx),
    }
}

#[cold]
fn settled(e: &Expr, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
    let value = kept(e, row, cx)?;
    if let Value::Spooled(s) = &value {
        s.settle()?;
    }
    Ok(value)
}

/// The values of a row on its way into a table.
pub fn kept_all(exprs: &[Expr], cx: &mut Cx<'_>) -> SqlResult<Row> {
    exprs.iter().map(|e| kept(e, &[], cx)).collect()
}

/// The order of two values of a binary type, when one of them is spooled: by pieces, the shorter one padded with zeros.
fn binary_order(a: &Value, b: &Value, cx: &Cx<'_>) -> SqlResult<Ordering> {
    let len = |v: &Value| v.data_length(&SqlType::VARBINARY_MAX).unwrap_or(0);
    let read = |v: &Value, at: usize, out: &mut [u8]| -> SqlResult<()> {
        out.fill(0);
        let n = len(v).saturating_sub(at).min(out.len());
        match v {
            Value::Spooled(s) => s.read(at, &mut out[..n]),
            Value::Binary(b) => {
                out[..n].copy_from_slice(&b[at..at + n]);
                Ok(())
            }
            _ => Ok(()),
        }
    };
    let (mut x, mut y) = (vec![0; PIECE], vec![0; PIECE]);
    for at in (0..len(a).max(len(b))).step_by(PIECE) {
        cx.check_cancelled()?;
        // What begins behind the end is all zeros.
        read(a, at.min(len(a)), &mut x)?;
        read(b, at.min(len(b)), &mut y)?;
        match x.cmp(&y) {
            Ordering::Equal => {}
            unequal => return Ok(unequal),
        }
    }
    Ok(Ordering::Equal)
}

/// The order of two expressions of which one is a spooled variable or column of a binary type; `None` when none is, or a side is NULL
/// (`Some(None)`).
#[cold]
pub(crate) fn compared(
    l: &Expr,
    r: &Expr,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Option<Option<Ordering>>> {
    let spooled = |e: &Expr, cx: &Cx<'_>| match e.kind {
        Kind::Variable(slot) => matches!(cx.vars[slot], Value::Spooled(_)),
        Kind::Column { depth: 0, index } => matches!(row[index], Value::Spooled(_)),
        _ => false,
    };
    if !l.ty.id.is_binary() || !(spooled(l, cx) || spooled(r, cx)) {
        return Ok(None);
    }
    let (a, b) = (kept(l, row, cx)?, kept(r, row, cx)?);
    match a.is_null() || b.is_null() {
        true => Ok(Some(None)),
        false => binary_order(&a, &b, cx).map(|o| Some(Some(o))),
    }
}

/// Whether the argument of a function is a variable or a column that is not copied for it.
#[inline]
pub(crate) fn is_lent(argument: &Expr) -> bool {
    argument.ty.is_max()
        && matches!(
            argument.kind,
            Kind::Variable(_) | Kind::Column { depth: 0, .. }
        )
}

/// Calls a function of which some argument is a large variable: those are its arguments themselves while it
/// runs. One that is named twice is copied for the second place.
#[cold]
pub(crate) fn lending(
    function: &ScalarFunction,
    args: &[Expr],
    ty: &SqlType,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Value> {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        values.push(match arg.kind {
            Kind::Variable(_) if is_lent(arg) => Value::Null,
            Kind::Column { depth: 0, .. } if is_lent(arg) => kept(arg, row, cx)?,
            _ => arg.eval(row, cx)?,
        });
    }
    let takes_spooled = |at: usize| function.reads_spooled(at);
    let lent = |at: usize| match args[at].kind {
        Kind::Variable(slot) if is_lent(&args[at]) => Some(slot),
        _ => None,
    };
    let mut owners: Vec<(usize, usize)> = Vec::new();
    let mut copied = Ok(());
    for at in 0..args.len() {
        let Some(slot) = lent(at) else { continue };
        match owners.iter().find(|(s, _)| *s == slot) {
            None => {
                values[at] = std::mem::take(&mut cx.vars[slot]);
                owners.push((slot, at));
            }
            Some((_, first)) => match copy(&values[*first], &args[at].ty, cx) {
                Ok(second) => values[at] = second,
                Err(e) => copied = Err(e),
            },
        }
    }
    // What takes no spooled value gets it in memory, and the variable keeps what it was.
    let mut spooled = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if let Value::Spooled(s) = &values[at]
            && !takes_spooled(at)
        {
            let s = s.clone();
            match in_memory(&s, &arg.ty, cx) {
                Ok(v) => values[at] = v,
                Err(e) => copied = Err(e),
            }
            spooled.push((at, s));
        }
    }
    let value = copied.and_then(|()| called(function, args, &values, ty, cx));
    for (at, s) in spooled {
        values[at] = Value::Spooled(s);
    }
    for (slot, at) in owners {
        cx.vars[slot] = std::mem::take(&mut values[at]);
    }
    value
}

/// CAST and CONVERT; of a long value once there is room for what comes of it.
pub(crate) fn converted(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    style: Option<i32>,
    cx: &Cx<'_>,
) -> SqlResult<Value> {
    if to.is_max() {
        let doubled = usize::from(to.id.is_nchar() && matches!(v, Value::VarChar(_)));
        cx.room_for(v.heap_bytes().saturating_mul(1 + doubled))?;
    }
    let mut go_on = || cx.check_cancelled();
    duramen_types::convert_long(v, from, to, style, &cx.convert, &mut go_on)
}

/// Bytes of two texts behind each other, about.
fn joined_bytes(a: &Value, b: &Value, ty: &SqlType) -> usize {
    let bytes = |v: &Value| match v {
        Value::VarChar(t) if ty.id.is_nchar() => t.len().saturating_mul(2),
        Value::VarChar(t) | Value::Binary(t) => t.len(),
        Value::NVarChar(t) => t.len() * 2,
        _ => 0,
    };
    bytes(a).saturating_add(bytes(b))
}

/// The column or variable that an operand is, if it is in memory: it is read where it lies.
fn at_hand<'r>(e: &Expr, row: &'r [Value], cx: &'r Cx<'_>) -> Option<&'r Value> {
    let value = match e.kind {
        Kind::Column { depth: 0, index } => &row[index],
        Kind::Variable(slot) => &cx.vars[slot],
        _ => return None,
    };
    (!matches!(value, Value::Spooled(_))).then_some(value)
}

/// `a + b` of a (max) type. What needs no conversion is put behind the first; what lies in a row or a variable is not copied
/// before there is room for both.
pub(crate) fn arithmetic(
    op: BinaryOp,
    (first, second): (&Expr, &Expr),
    row: &[Value],
    ty: &SqlType,
    cx: &mut Cx<'_>,
) -> SqlResult<Value> {
    if let (Some(a), Some(b)) = (at_hand(first, row, cx), at_hand(second, row, cx)) {
        let a = (Cow::Borrowed(a), first);
        return joined(op, a, (b, &second.ty), ty, cx);
    }
    let a = (Cow::Owned(first.eval(row, cx)?), first);
    if let Some(b) = at_hand(second, row, cx) {
        return joined(op, a, (b, &second.ty), ty, cx);
    }
    let b = second.eval(row, cx)?;
    joined(op, a, (&b, &second.ty), ty, cx)
}

/// Bytes of an operand's value that are counted already: of one that the statement has made itself.
fn counted(value: &Value, operand: &Expr, cx: &Cx<'_>) -> usize {
    let read = matches!(
        operand.kind,
        Kind::Const(_) | Kind::Variable(_) | Kind::Column { .. }
    );
    match value.heap_bytes() {
        bytes if !read && cx.values_made() >= bytes => bytes,
        _ => 0,
    }
}

fn joined(
    op: BinaryOp,
    (a, first): (Cow<'_, Value>, &Expr),
    (b, of_b): (&Value, &SqlType),
    ty: &SqlType,
    cx: &Cx<'_>,
) -> SqlResult<Value> {
    let all = joined_bytes(&a, b, ty);
    // What lies in a row or a variable stays beside what is made of it.
    let made = match &a {
        Cow::Owned(a) => counted(a, first, cx),
        Cow::Borrowed(_) => 0,
    };
    cx.make(all, all.saturating_sub(made))?;
    match (op, ty.id, &*a, b) {
        (BinaryOp::Add, TypeId::VarChar, Value::VarChar(_), Value::VarChar(_))
        | (BinaryOp::Add, TypeId::NVarChar, Value::NVarChar(_), Value::NVarChar(_))
        | (BinaryOp::Add, TypeId::VarBinary, Value::Binary(_), Value::Binary(_)) => {
            let mut out = match a {
                Cow::Owned(a) => a,
                Cow::Borrowed(a) => with_room(a, b, cx)?,
            };
            extend(&mut out, b, cx)?;
            Ok(out)
        }
        _ => duramen_types::arithmetic(op, &a, &first.ty, b, of_b, ty, &cx.convert),
    }
}

/// A copy of a text or bytes with room for others behind.
fn with_room(a: &Value, b: &Value, cx: &Cx<'_>) -> SqlResult<Value> {
    let mut out = match (a, b) {
        (Value::NVarChar(a), Value::NVarChar(b)) => {
            Value::NVarChar(Vec::with_capacity(a.len() + b.len()))
        }
        (Value::Binary(a), Value::Binary(b)) => {
            Value::Binary(Vec::with_capacity(a.len() + b.len()))
        }
        (Value::VarChar(a), Value::VarChar(b)) => {
            Value::VarChar(Vec::with_capacity(a.len() + b.len()))
        }
        _ => return Ok(a.clone()),
    };
    extend(&mut out, a, cx)?;
    Ok(out)
}

/// Puts a text or bytes behind others of their kind.
fn extend(out: &mut Value, more: &Value, cx: &Cx<'_>) -> SqlResult<()> {
    match (out, more) {
        (Value::VarChar(out), Value::VarChar(more)) | (Value::Binary(out), Value::Binary(more)) => {
            append(out, more, cx)
        }
        (Value::NVarChar(out), Value::NVarChar(more)) => append(out, more, cx),
        _ => Ok(()),
    }
}
