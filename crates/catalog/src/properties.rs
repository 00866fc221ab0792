//! Extended properties: names with values on the database, its schemas, objects, columns and indexes (`sysxprops`).
//!
//! What a property is on goes with it: the rows are deleted where objects, columns, indexes and schemas are.

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cells::{int, text};
use crate::rows::{Base, id};

/// Classes of `sys.extended_properties`.
pub mod class {
    pub const DATABASE: u8 = 0;
    pub const OBJECT: u8 = 1;
    pub const SCHEMA: u8 = 3;
    pub const INDEX: u8 = 7;
}

/// A property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyDef {
    pub class: u8,
    /// The object or schema; 0 for the database.
    pub id: i32,
    /// The column or index; 0 for the whole.
    pub part: i32,
    pub name: String,
    /// A `sql_variant`, or NULL.
    pub value: Value,
}

pub(crate) fn load(base: &Base<'_>) -> SqlResult<Vec<PropertyDef>> {
    let rows = base.rows(id::XPROPS, &[])?;
    let of = |row: &Vec<Value>| PropertyDef {
        class: int(row, 0) as u8,
        id: int(row, 1) as i32,
        part: int(row, 2) as i32,
        name: text(row, 3),
        value: row.get(4).cloned().unwrap_or(Value::Null),
    };
    Ok(rows.iter().map(of).collect())
}

pub(crate) fn key(class: u8, of: i32) -> [Value; 2] {
    [Value::TinyInt(class), Value::Int(of)]
}
