//! FORMAT and PARSE: text by the rules of .NET's cultures.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::netformat::{self, Culture};
use duramen_types::{SqlType, Value};

use super::Param::{Formatted, Text};
use super::{ScalarFunction, doc, strict};
use crate::cx::Cx;

pub(super) const TABLE: &[ScalarFunction] = &[
    // NULL for a format string that is not one.
    strict(
        doc(
            "format",
            "a number or time by a .NET format and a culture",
            "FORMAT(1234567.891, 'N1', 'de-DE')",
        ),
        &[Formatted, Text, Text],
        |_| SqlType::nvarchar(4000),
        |v, args, _, cx| {
            let culture = culture(v.get(2), cx)?;
            let pattern = v[1].as_text().unwrap_or_default();
            let text = netformat::format(&v[0], &args[0].ty, &pattern, culture);
            Ok(text.map_or(Value::Null, |t| {
                let units = t.encode_utf16().take(4000);
                Value::NVarChar(units.collect())
            }))
        },
    )
    .stable_in_statement()
    .at_least(2),
    // The parser makes calls of these two from their own syntax; the type is the one after AS.
    strict(
        doc(
            "parse",
            "a value of a text by a culture",
            "PARSE('1.234,5' AS decimal(10, 2) USING 'de-DE')",
        ),
        &[Text, Text],
        super::same,
        |v, _, ty, cx| parsed(v, ty, cx),
    )
    .at_least(1),
    strict(
        doc(
            "try_parse",
            "the same as PARSE; NULL for what is none",
            "TRY_PARSE('x' AS int)",
        ),
        &[Text, Text],
        super::same,
        |v, _, ty, cx| match parsed(v, ty, cx) {
            Err(e) if e.number == messages::PARSE_FAILED.number => Ok(Value::Null),
            other => other,
        },
    )
    .at_least(1),
];

/// Error 9819 for text that is no value of the type.
fn parsed(v: &[Value], ty: &SqlType, cx: &Cx<'_>) -> SqlResult<Value> {
    let culture = culture(v.get(1), cx)?;
    let text = v[0].as_text().unwrap_or_default();
    netformat::parse(&text, ty, culture).ok_or_else(|| {
        let named = v.get(1).and_then(Value::as_text).unwrap_or_default();
        let args: [&dyn std::fmt::Display; 3] = [&text, &ty.id.name(), &named];
        SqlError::new(&messages::PARSE_FAILED, &args)
    })
}

/// The culture named, or the one of the session's language. Error 9818 for a name that is none.
pub(crate) fn culture(name: Option<&Value>, cx: &Cx<'_>) -> SqlResult<&'static Culture> {
    match name.and_then(Value::as_text) {
        Some(name) => Culture::find(&name)
            .ok_or_else(|| SqlError::new(&messages::CULTURE_NOT_SUPPORTED, &[&name])),
        None => {
            let language = cx.convert.language;
            Culture::of_language(language).ok_or_else(|| {
                let what = format!("FORMAT and PARSE in {}", language.data().alias);
                SqlError::new(&messages::NOT_SUPPORTED, &[&what])
            })
        }
    }
}
