//! Values, headers and messages as sqlcmd prints them: columns as wide as their type's longest text, numbers to the
//! right, dates and decimals in ODBC's form.

use duramen_tds::token::{Column, ServerMessage};
use duramen_types::{ConvertCtx, SqlType, TypeId, Value, convert, to_display};

/// How wide values without a bound are shown.
const MAX_WIDTH: usize = 256;

#[derive(Clone, Debug)]
pub struct Layout {
    columns: Vec<(Column, usize)>,
    separator: String,
    trim: bool,
}

impl Layout {
    pub fn new(columns: Vec<Column>, separator: &str, trim: bool) -> Layout {
        let columns = columns
            .into_iter()
            .map(|column| {
                let width = width_of(&column);
                (column, width)
            })
            .collect();
        Layout {
            columns,
            separator: separator.to_string(),
            trim,
        }
    }

    /// Names and dashes, two lines.
    pub fn header(&self) -> String {
        let mut names = Vec::new();
        let mut dashes = Vec::new();
        for (column, width) in &self.columns {
            let length = column.name.chars().count();
            match self.trim {
                true => {
                    names.push(column.name.clone());
                    dashes.push("-".repeat(length.max(1)));
                }
                false => {
                    names.push(padded(&column.name, *width, false));
                    dashes.push("-".repeat(*width));
                }
            }
        }
        format!(
            "{}\n{}\n",
            names.join(&self.separator),
            dashes.join(&self.separator)
        )
    }

    pub fn row(&self, values: &[Value]) -> String {
        let mut texts = Vec::with_capacity(values.len());
        for ((column, width), value) in self.columns.iter().zip(values) {
            let text = text_of(value, &column.ty);
            texts.push(match self.trim {
                true => text.trim_end().to_string(),
                false => padded(&text, *width, is_number(column.ty.id)),
            });
        }
        let mut line = texts.join(&self.separator);
        line.push('\n');
        line
    }
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let text: String = text.chars().take(width.max(1)).collect();
    match right {
        true => format!("{text:>width$}"),
        false => format!("{text:<width$}"),
    }
}

fn is_number(id: TypeId) -> bool {
    use TypeId::*;
    matches!(
        id,
        Bit | TinyInt
            | SmallInt
            | Int
            | BigInt
            | Decimal
            | Numeric
            | Money
            | SmallMoney
            | Real
            | Float
    )
}

fn width_of(column: &Column) -> usize {
    use TypeId::*;
    let ty = &column.ty;
    let bytes = match ty.length {
        u16::MAX => MAX_WIDTH,
        n => n as usize,
    };
    let width = match ty.id {
        Bit => 1,
        TinyInt => 3,
        SmallInt => 6,
        Int => 11,
        BigInt => 20,
        Real => 14,
        Float => 24,
        Decimal | Numeric => ty.precision as usize + 2,
        Money => 21,
        SmallMoney => 12,
        Date => 16,
        Time => 22,
        DateTime => 23,
        SmallDateTime => 19,
        DateTime2 => 38,
        DateTimeOffset => 45,
        UniqueIdentifier => 36,
        Char | VarChar => bytes,
        NChar | NVarChar if ty.length == u16::MAX => MAX_WIDTH,
        NChar | NVarChar => bytes / 2,
        Binary | VarBinary if ty.length == u16::MAX => MAX_WIDTH,
        Binary | VarBinary => bytes * 2 + 2,
        RowVersion => 18,
        Image | Text | NText | SqlVariant | Xml | Udt => MAX_WIDTH,
    };
    let least = match column.nullable() {
        true => 4,
        false => 1,
    };
    width.max(column.name.chars().count()).max(least)
}

fn text_of(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Variant(inner) => text_of(&inner.1, &inner.0),
        Value::Decimal(_) => without_zero(to_display(value, ty)),
        Value::Money(_) | Value::SmallMoney(_) => without_zero(styled(value, ty, 2)),
        Value::DateTime(_) => styled(value, ty, 121),
        Value::SmallDateTime(_) => styled(value, ty, 120),
        Value::Real(f) => significant(f64::from(*f), 7),
        Value::Float(f) => significant(*f, 17),
        _ => to_display(value, ty),
    }
}

fn styled(value: &Value, ty: &SqlType, style: i32) -> String {
    convert(
        value,
        ty,
        &SqlType::VARCHAR_MAX,
        Some(style),
        &ConvertCtx::default(),
    )
    .map_or_else(
        |_| to_display(value, ty),
        |text| to_display(&text, &SqlType::VARCHAR_MAX),
    )
}

/// ODBC writes `.5`, not `0.5`.
fn without_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with("0.") => format!("-{}", &rest[1..]),
        None if text.starts_with("0.") => text[1..].to_string(),
        _ => text,
    }
}

/// `digits` significant digits, trailing zeros removed, an exponent only for very large and small numbers.
fn significant(f: f64, digits: usize) -> String {
    let text = format!("{f:.*e}", digits - 1);
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |t: &str| match t.contains('.') {
        true => t.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => t.to_string(),
    };
    if (-5..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return trim(&format!("{f:.decimals$}"));
    }
    let sign = match exponent < 0 {
        true => '-',
        false => '+',
    };
    format!("{}E{sign}{:03}", trim(mantissa), exponent.abs())
}

/// An ERROR or INFO: text alone for what is only said, a `Msg` line above it for what has a severity.
pub fn message(m: &ServerMessage) -> String {
    if m.class == 0 {
        return format!("{}\n", m.text);
    }
    let procedure = match m.procedure.as_str() {
        "" => String::new(),
        name => format!(", Procedure {name}"),
    };
    format!(
        "Msg {}, Level {}, State {}, Server {}{procedure}, Line {}\n{}\n",
        m.number, m.class, m.state, m.server, m.line, m.text
    )
}
