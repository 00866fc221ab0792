//! How values and rows read in a finding: short, on one line.

use duramen_types::Value;

use super::table::{Row, Val};

/// So many letters of a string are shown.
const SHOWN: usize = 60;

/// A text, or its beginning and its length.
pub fn text(t: &str) -> String {
    match t.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("'{}...' ({})", &t[..end], t.chars().count()),
        None => format!("'{t}'"),
    }
}

/// The beginning of a message that may be of any length.
pub fn head(t: &str, most: usize) -> &str {
    t.char_indices().nth(most).map_or(t, |(end, _)| &t[..end])
}

fn value(v: &Value) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        Value::Decimal(d) => d.to_string(),
        other => match (other.as_i64(), other.as_text()) {
            (Some(n), _) => n.to_string(),
            (None, Some(t)) => text(&t),
            (None, None) => head(&format!("{other:?}"), SHOWN).to_owned(),
        },
    }
}

fn val(v: &Val) -> String {
    match v {
        Val::Null => "NULL".to_owned(),
        Val::Any => "?".to_owned(),
        Val::Int(n) => n.to_string(),
        Val::Day(_) | Val::Guid(_) => v.sql(),
        Val::Run(letter, n) | Val::Bytes(letter, n) | Val::Xml(letter, n) => {
            let shown = char::from(*letter)
                .to_string()
                .repeat(SHOWN.min(*n as usize));
            match *n as usize > SHOWN {
                true => format!("'{shown}...' ({n})"),
                false => format!("'{shown}'"),
            }
        }
    }
}

/// A row as it was read.
pub fn read(row: &[Value]) -> String {
    let all: Vec<String> = row.iter().map(value).collect();
    format!("({})", all.join(", "))
}

/// A row as it must be: its id, and the other columns.
pub fn must(id: i64, row: &Row) -> String {
    let mut all = vec![id.to_string()];
    all.extend(row.iter().map(val));
    format!("({})", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_short_and_says_how_long_its_strings_are() {
        let long = "g".repeat(SHOWN);
        let row = [
            Value::Int(449),
            Value::VarChar(vec![b'g'; 4334]),
            Value::NVarChar(vec![u16::from(b'm')]),
            Value::Null,
        ];
        assert_eq!(read(&row), format!("(449, '{long}...' (4334), 'm', NULL)"));
        let row = vec![Val::Run(b'g', 4334), Val::Run(b'm', 1), Val::Null, Val::Any];
        assert_eq!(
            must(449, &row),
            format!("(449, '{long}...' (4334), 'm', NULL, ?)")
        );
    }
}
