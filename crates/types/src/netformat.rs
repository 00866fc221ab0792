//! FORMAT: values as text by the format strings of .NET.
//!
//! Two files know the two languages of format strings: `number` the numeric ones, `date` those of dates and times; `culture`
//! has what differs between countries. A format string that .NET refuses makes FORMAT give NULL: here `None`.

pub mod culture;
mod date;
mod number;
mod parse;

pub use culture::Culture;
pub use parse::{makes, parse};

use crate::{SqlType, TypeId, Value};

/// The text of a number, date or time; `None` for a format string that the type does not understand, or a type that FORMAT
/// does not take.
pub fn format(v: &Value, ty: &SqlType, format: &str, culture: &Culture) -> Option<String> {
    match v {
        Value::Time(t) => date::span(t.0, format),
        Value::Date(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => date::format(v, format, culture),
        _ => number::format(v, ty, format, culture),
    }
}

/// The types that FORMAT takes.
pub fn takes(id: TypeId) -> bool {
    id.is_temporal() || id.is_numeric() && id != TypeId::Bit
}

#[cfg(test)]
mod tests;
