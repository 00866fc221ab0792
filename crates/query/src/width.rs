//! Comparisons of integers of different widths: the column is widened for the comparison, its key is not.
//!
//! A key is sought by the value brought into the column's range, both ends of a range included: that reads no row too few.
//! The comparison itself stays in the filter above, and decides.

use duramen_types::{SqlType, TypeId, Value};

use duramen_columns::CompareOp;

use crate::expr::{Expr, Kind};

/// The least and the greatest value.
fn range(id: TypeId) -> Option<(i64, i64)> {
    match id {
        TypeId::TinyInt => Some((0, u8::MAX.into())),
        TypeId::SmallInt => Some((i16::MIN.into(), i16::MAX.into())),
        TypeId::Int => Some((i32::MIN.into(), i32::MAX.into())),
        TypeId::BigInt => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// A number as a value of an integer type that has it.
fn integer(n: i64, id: TypeId) -> Option<Value> {
    match id {
        TypeId::TinyInt => u8::try_from(n).ok().map(Value::TinyInt),
        TypeId::SmallInt => i16::try_from(n).ok().map(Value::SmallInt),
        TypeId::Int => i32::try_from(n).ok().map(Value::Int),
        TypeId::BigInt => Some(Value::BigInt(n)),
        _ => None,
    }
}

pub fn is_integer(ty: &SqlType) -> bool {
    range(ty.id).is_some()
}

/// The column of the row at hand that an expression is: as it is, or widened to a greater integer type.
pub fn column_of(e: &Expr) -> Option<usize> {
    match &e.kind {
        Kind::Column { depth: 0, index } => Some(*index),
        _ => widened(e),
    }
}

/// The column of the row at hand that an expression makes a greater integer of.
pub fn widened(e: &Expr) -> Option<usize> {
    let Kind::Convert {
        input,
        style: None,
        or_null: false,
    } = &e.kind
    else {
        return None;
    };
    let Kind::Column { depth: 0, index } = input.kind else {
        return None;
    };
    let ((least, most), (from, to)) = (range(e.ty.id)?, range(input.ty.id)?);
    (least <= from && to <= most).then_some(index)
}

/// The comparison that a column's key is sought with in place of one of the widened column, and its value.
pub fn narrowed(op: CompareOp, value: &Expr, ty: &SqlType) -> Option<(CompareOp, Expr)> {
    let op = match op {
        CompareOp::Gt => CompareOp::Ge,
        CompareOp::Lt => CompareOp::Le,
        same => same,
    };
    let (least, most) = range(ty.id)?;
    if let Kind::Const(known) = &value.kind {
        let within = match known.as_i64() {
            Some(n) => integer(n.clamp(least, most), ty.id)?,
            None => Value::Null,
        };
        return Some((op, Expr::constant(within, *ty)));
    }
    let beyond = |op, limit| {
        let limit = Expr::constant(integer(limit, value.ty.id)?, value.ty);
        let compared = Kind::Compare(op, Box::new(value.clone()), Box::new(limit));
        Some(Expr::predicate(compared))
    };
    let end = |limit| Some(Expr::constant(integer(limit, ty.id)?, *ty));
    let within = Expr {
        kind: Kind::Convert {
            input: Box::new(value.clone()),
            style: None,
            or_null: false,
        },
        ty: *ty,
        nullable: value.nullable,
    };
    let kind = Kind::Case {
        branches: vec![
            (beyond(CompareOp::Lt, least)?, end(least)?),
            (beyond(CompareOp::Gt, most)?, end(most)?),
        ],
        otherwise: Some(Box::new(within)),
    };
    let kept = Expr {
        kind,
        ty: *ty,
        nullable: value.nullable,
    };
    Some((op, kept))
}

/// A value as the column's own type; `None` where the column cannot have it.
pub fn fitted(value: &Value, ty: &SqlType) -> Option<Value> {
    match (value.as_i64(), is_integer(ty)) {
        (Some(n), true) => integer(n, ty.id),
        _ => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_brought_into_the_range_of_the_column() {
        let big = |n| Expr::constant(Value::BigInt(n), SqlType::BIGINT);
        let kept = |op, n| narrowed(op, &big(n), &SqlType::TINYINT).map(|(op, e)| (op, e.kind));
        let is = |op, n| Some((op, Kind::Const(Value::TinyInt(n))));
        assert_eq!(kept(CompareOp::Eq, 7), is(CompareOp::Eq, 7));
        assert_eq!(kept(CompareOp::Lt, 300), is(CompareOp::Le, 255));
        assert_eq!(kept(CompareOp::Gt, -1), is(CompareOp::Ge, 0));
        let variable = Expr {
            kind: Kind::Variable(0),
            ty: SqlType::INT,
            nullable: true,
        };
        let (_, e) = narrowed(CompareOp::Ge, &variable, &SqlType::SMALLINT).expect("integers");
        assert!(matches!(e.kind, Kind::Case { .. }) && e.ty == SqlType::SMALLINT);
    }

    #[test]
    fn only_a_greater_type_widens() {
        let convert = |to: SqlType, from: SqlType| {
            let kind = Kind::Convert {
                input: Box::new(Expr::column(3, from, true)),
                style: None,
                or_null: false,
            };
            widened(&Expr {
                kind,
                ty: to,
                nullable: true,
            })
        };
        assert_eq!(convert(SqlType::BIGINT, SqlType::INT), Some(3));
        assert_eq!(convert(SqlType::SMALLINT, SqlType::TINYINT), Some(3));
        assert_eq!(convert(SqlType::INT, SqlType::BIGINT), None);
        assert_eq!(convert(SqlType::FLOAT, SqlType::INT), None);
    }
}
