//! Parameters as the declarations of a batch: `sp_executesql` in terms of `DECLARE`.
//!
//! Declarations stand on the first line of the text, so line numbers of errors stay those of the statement. Output
//! parameters are read back by a last SELECT under a name that no statement of a client has; a batch that ends early
//! (RETURN, an error that ends it) gives none back.

use duramen_base::{SqlError, messages};
use duramen_types::{SqlType, TypeId, Value};

use crate::backend::ParameterSpec;

/// One declared parameter: `@name`, the type as written, a default as written.
#[derive(Debug, PartialEq)]
struct Declared<'a> {
    name: &'a str,
    ty: &'a str,
    default: Option<&'a str>,
    output: bool,
}

/// The name of the first column of the SELECT that reads outputs back.
pub const OUTPUT_MARK: &str = "\u{1}duramen output\u{1}";

/// A batch made of a statement and its parameters.
#[derive(Debug, PartialEq)]
pub struct Assembled {
    pub text: String,
    /// Which parameters the last SELECT reads back, by their position in the call.
    pub outputs: Vec<usize>,
}

/// The batch that stands for the statement under these parameters. `Err` for a call that does not fit its
/// declarations, or a value that cannot be written as a literal.
pub fn batch(
    text: &str,
    declarations: &str,
    parameters: &[ParameterSpec],
) -> Result<Assembled, SqlError> {
    if declarations.trim().is_empty() {
        return match parameters.first() {
            None => Ok(Assembled {
                text: text.to_owned(),
                outputs: Vec::new(),
            }),
            Some(extra) => Err(SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&format!("parameter {} without a declaration", extra.name)],
            )),
        };
    }
    let mut out = String::from("DECLARE ");
    let declared = split(declarations);
    let (mut outputs, mut names) = (Vec::new(), Vec::new());
    for (at, one) in declared.iter().enumerate() {
        let given = parameters
            .iter()
            .position(|p| p.name.eq_ignore_ascii_case(one.name))
            .or_else(|| parameters.get(at).filter(|p| p.name.is_empty()).map(|_| at));
        if let Some(at) = given.filter(|at| one.output && parameters[*at].output) {
            outputs.push(at);
            names.push(one.name);
        }
        let value = match (given.map(|at| &parameters[at]), one.default) {
            (Some(p), _) if !p.default => literal(&p.value, &p.ty)?,
            (_, Some(default)) => default.to_owned(),
            _ => {
                return Err(SqlError {
                    number: 8178,
                    severity: 16,
                    state: 1,
                    message: format!(
                        "The parameterized query '({declarations}){text}' expects the parameter '{}', which was not supplied.",
                        one.name
                    ),
                    procedure: None,
                    line: 1,
                });
            }
        };
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&format!("{} {} = {value}", one.name, one.ty));
    }
    out.push_str("; ");
    out.push_str(text);
    for (n, name) in names.iter().enumerate() {
        // On a line of its own: the text may end in a comment.
        out.push_str(&match n {
            0 => format!("\nSELECT {name} AS [{OUTPUT_MARK}]"),
            _ => format!(", {name}"),
        });
    }
    Ok(Assembled { text: out, outputs })
}

/// Splits `@a int, @b decimal(10,2) = 1 OUTPUT` at the commas outside parentheses and quotes.
fn split(declarations: &str) -> Vec<Declared<'_>> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut start) = (0usize, false, 0);
    for (at, c) in declarations.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(&declarations[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&declarations[start..]);
    parts.into_iter().filter_map(declared).collect()
}

fn declared(part: &str) -> Option<Declared<'_>> {
    let part = part.trim();
    let (name, rest) = part.split_once(char::is_whitespace)?;
    let mut rest = rest.trim();
    let mut output = false;
    for word in [" OUTPUT", " OUT", " READONLY"] {
        let cut = rest.len().checked_sub(word.len());
        if let Some(cut) = cut
            && rest.is_char_boundary(cut)
            && rest[cut..].eq_ignore_ascii_case(word)
        {
            output = word != " READONLY";
            rest = rest[..cut].trim_end();
            break;
        }
    }
    let (ty, default) = match rest.split_once('=') {
        Some((ty, default)) => (ty.trim(), Some(default.trim())),
        None => (rest, None),
    };
    // `@a AS int` is `@a int`.
    let ty = match ty.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("as ") => ty[3..].trim_start(),
        _ => ty,
    };
    Some(Declared {
        name,
        ty,
        default,
        output,
    })
}

/// A value as T-SQL text that converts back to it without loss.
fn literal(value: &Value, ty: &SqlType) -> Result<String, SqlError> {
    let display = |ty: &SqlType| duramen_types::to_display(value, ty);
    Ok(match value {
        Value::Null => "NULL".to_owned(),
        Value::Bit(v) => (*v as u8).to_string(),
        Value::TinyInt(v) => v.to_string(),
        Value::SmallInt(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::BigInt(v) => format!("CAST({v} AS bigint)"),
        Value::Real(v) => format!("CAST({v:e} AS real)"),
        Value::Float(v) => format!("{v:e}"),
        Value::Decimal(v) => format!("CAST({v} AS decimal({},{}))", v.precision(), v.scale()),
        Value::Money(v) => format!("CAST({} AS money)", ten_thousandths(*v as i128)),
        Value::SmallMoney(v) => format!("CAST({} AS smallmoney)", ten_thousandths(*v as i128)),
        Value::Date(_) | Value::Time(_) | Value::DateTime2(_) | Value::DateTimeOffset(_) => {
            format!("CAST('{}' AS {ty})", display(ty))
        }
        Value::DateTime(v) => format!("CAST(0x{:08X}{:08X} AS datetime)", v.days, v.ticks),
        Value::SmallDateTime(v) => {
            format!("CAST(0x{:04X}{:04X} AS smalldatetime)", v.days, v.minutes)
        }
        Value::VarChar(bytes) => {
            // As Unicode: the bytes are of the client's code page, the text is what counts.
            format!(
                "N'{}'",
                duramen_types::cp1252::decode(bytes).replace('\'', "''")
            )
        }
        Value::NVarChar(units) => match String::from_utf16(units) {
            Ok(text) => format!("N'{}'", text.replace('\'', "''")),
            Err(_) => {
                let bytes: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
                format!("CAST({} AS nvarchar(max))", hex(&bytes))
            }
        },
        Value::Binary(bytes) => hex(bytes),
        Value::Guid(_) => format!("CAST('{}' AS uniqueidentifier)", display(&SqlType::GUID)),
        Value::Variant(inner) if inner.0.id != TypeId::SqlVariant => literal(&inner.1, &inner.0)?,
        Value::Variant(_) => {
            return Err(SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&"this sql_variant parameter"],
            ));
        }
    })
}

fn ten_thousandths(v: i128) -> String {
    let sign = if v < 0 { "-" } else { "" };
    let a = v.unsigned_abs();
    format!("{sign}{}.{:04}", a / 10_000, a % 10_000)
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 2);
    out.push_str("0x");
    for byte in bytes {
        out.push_str(&format!("{byte:02X}"));
    }
    out
}

#[cfg(test)]
mod tests {
    //! Declarations are split where they are, values survive as literals, misfits are refused.
    use super::*;

    fn spec(name: &str, ty: SqlType, value: Value) -> ParameterSpec {
        ParameterSpec {
            name: name.into(),
            ty,
            value,
            output: false,
            default: false,
        }
    }

    #[test]
    fn a_batch_with_its_parameters_in_front() {
        let parameters = [
            spec("", SqlType::INT, Value::Int(-7)),
            spec("@c", SqlType::nvarchar(10), Value::nvarchar("it's")),
        ];
        let got = batch(
            "SELECT 1\nFROM t",
            "@a int,@b decimal(10, 2) = 1.5, @c AS nvarchar(4000)",
            &parameters,
        );
        assert_eq!(
            got.unwrap().text,
            "DECLARE @a int = -7, @b decimal(10, 2) = 1.5, @c nvarchar(4000) = N'it''s'; SELECT 1\nFROM t"
        );
        assert_eq!(batch("SELECT 1", "", &[]).unwrap().text, "SELECT 1");
    }

    #[test]
    fn outputs_are_read_back_at_the_end() {
        let mut output = spec("@b", SqlType::INT, Value::Null);
        output.output = true;
        let parameters = [spec("@a", SqlType::INT, Value::Int(1)), output];
        let got = batch("SET @b = @a -- so", "@a int, @b int OUTPUT", &parameters).unwrap();
        assert_eq!(got.outputs, [1]);
        assert_eq!(
            got.text,
            format!(
                "DECLARE @a int = 1, @b int = NULL; SET @b = @a -- so\nSELECT @b AS [{OUTPUT_MARK}]"
            )
        );
    }

    #[test]
    fn misfits_are_refused() {
        let missing = batch("SELECT @a", "@a int", &[]).unwrap_err();
        assert_eq!(missing.number, 8178);
        let extra = spec("@x", SqlType::INT, Value::Int(1));
        assert!(batch("SELECT 1", "", &[extra]).is_err());
    }

    #[test]
    fn literals() {
        let text = |ty: SqlType, value: Value| literal(&value, &ty).unwrap();
        assert_eq!(
            text(SqlType::MONEY, Value::Money(-15_000)),
            "CAST(-1.5000 AS money)"
        );
        assert_eq!(
            text(SqlType::varbinary(2), Value::Binary(vec![1, 0xAB])),
            "0x01AB"
        );
        assert_eq!(text(SqlType::INT, Value::Null), "NULL");
        assert_eq!(
            text(SqlType::nvarchar(1), Value::NVarChar(vec![0xD800])),
            "CAST(0x00D8 AS nvarchar(max))"
        );
    }
}
