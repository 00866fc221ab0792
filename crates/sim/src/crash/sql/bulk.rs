//! The rows of bulk loads as a client sends them.

use duramen_types::{Decimal, SqlType, Value};

use super::seat::Rows;
use super::step::Load;
use super::table::{Ty, Val};

/// The rows, `id` first.
pub fn rows(load: &Load) -> Rows {
    let mut types = vec![SqlType::INT];
    types.extend(load.columns.iter().map(|(_, ty)| sql_type(*ty)));
    let rows: Vec<Vec<Value>> = load
        .rows
        .iter()
        .map(|(id, row)| {
            let mut out = vec![Value::Int(*id as i32)];
            let typed = row.iter().zip(&load.columns);
            out.extend(typed.map(|(v, (_, ty))| value(v, *ty)));
            out
        })
        .collect();
    Rows {
        types,
        rows: rows.into_iter(),
    }
}

fn sql_type(ty: Ty) -> SqlType {
    match ty {
        Ty::Int => SqlType::INT,
        Ty::BigInt => SqlType::BIGINT,
        Ty::Decimal => SqlType::decimal(18, 2),
        Ty::Char(n) => SqlType::char(n as u16),
        Ty::Varchar(n) => SqlType::varchar(n as u16),
        Ty::NVarchar(n) => SqlType::nvarchar(n as u16),
        Ty::Max => SqlType::VARCHAR_MAX,
    }
}

fn value(v: &Val, ty: Ty) -> Value {
    match (v, ty) {
        (Val::Null | Val::Any, _) => Value::Null,
        (Val::Int(n), Ty::BigInt) => Value::BigInt(*n),
        (Val::Int(n), Ty::Decimal) => Value::Decimal(Decimal::from_i64(*n)),
        (Val::Int(n), _) => Value::Int(*n as i32),
        (Val::Run(c, n), Ty::NVarchar(_)) => Value::NVarChar(vec![u16::from(*c); *n as usize]),
        (Val::Run(c, n), _) => Value::VarChar(vec![*c; *n as usize]),
    }
}
