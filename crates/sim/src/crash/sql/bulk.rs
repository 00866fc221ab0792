//! The rows of bulk loads as a client sends them.

use duramen_types::{SqlType, Value};

use super::seat::Rows;
use super::step::Load;
use super::values::sent::{sql_type, value};

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
