//! Literals and their types.

use duramen_base::{SqlResult, given_up};
use duramen_tsql::ast::Literal;
use duramen_types::{Decimal, SqlType, Value, cp1252};

use duramen_query::Expr;

/// A long one can be given up.
pub(super) fn literal(l: &Literal) -> SqlResult<Expr> {
    Ok(match l {
        Literal::Null => Expr::constant(Value::Null, SqlType::INT),
        Literal::Int(n) => Expr::constant(Value::Int(*n), SqlType::INT),
        Literal::Float(f) => Expr::constant(Value::Float(*f), SqlType::FLOAT),
        Literal::Money(m) => Expr::constant(Value::Money(*m), SqlType::MONEY),
        Literal::Decimal(text) => decimal(text),
        Literal::Binary(b) => Expr::constant(
            Value::Binary(b.clone()),
            SqlType::varbinary(b.len().clamp(1, 8000) as u16),
        ),
        Literal::String(s) if s.national => {
            let mut units = Vec::with_capacity(s.value.len());
            for piece in given_up::pieces(&s.value) {
                units.extend(piece?.encode_utf16());
            }
            let ty = SqlType::nvarchar(units.len().clamp(1, 4001) as u16);
            Expr::constant(Value::NVarChar(units), ty)
        }
        Literal::String(s) => {
            let mut bytes = Vec::with_capacity(s.value.len());
            for piece in given_up::pieces(&s.value) {
                cp1252::encode_into(piece?, &mut bytes);
            }
            let ty = if bytes.len() > 8000 {
                SqlType::VARCHAR_MAX
            } else {
                SqlType::varchar(bytes.len().max(1) as u16)
            };
            Expr::constant(Value::VarChar(bytes), ty)
        }
    })
}

/// Digits with at most one point; more than 38 digits are cut to a float, as the value cannot be exact.
fn decimal(text: &str) -> Expr {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let scale = text.find('.').map_or(0, |at| text.len() - at - 1);
    let precision = digits.len().max(1);
    let value = digits.parse::<i128>().ok();
    match value.and_then(|m| Decimal::new(m, precision.min(38) as u8, scale.min(38) as u8)) {
        Some(d) if precision <= 38 => Expr::constant(
            Value::Decimal(d),
            SqlType::numeric(precision as u8, scale as u8),
        ),
        _ => Expr::constant(
            Value::Float(text.parse().unwrap_or(f64::INFINITY)),
            SqlType::FLOAT,
        ),
    }
}
