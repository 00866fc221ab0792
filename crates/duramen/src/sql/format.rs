//! Values, headers and messages as sqlcmd prints them: columns as wide as their type's longest text, numbers to the
//! right, dates and decimals in ODBC's form.

use std::time::Duration;

use duramen_tds::token::{Column, ServerMessage};
use duramen_types::{ConvertCtx, SqlType, TypeId, Value, convert, to_display};

use super::args::Options;

/// How values become lines.
#[derive(Clone, Debug)]
pub struct Style {
    separator: String,
    trim: bool,
    /// How wide values without a bound are shown; 0: whole, and without headers.
    max_width: usize,
    /// The same of other text; 0: as wide as the type.
    fixed_width: usize,
    /// Where lines wrap; 0: nowhere.
    screen_width: usize,
    control: u8,
}

impl Style {
    pub fn of(options: &Options) -> Style {
        Style {
            separator: options.separator.clone(),
            trim: options.trim,
            max_width: options.max_width,
            fixed_width: options.fixed_width,
            screen_width: options.screen_width,
            control: options.control,
        }
    }

    /// A line, cut where it is wider than the screen.
    fn wrapped(&self, line: String) -> String {
        if self.screen_width == 0 {
            return line + "\n";
        }
        let mut out = String::with_capacity(line.len() + 8);
        for (i, c) in line.chars().enumerate() {
            if i > 0 && i % self.screen_width == 0 {
                out.push('\n');
            }
            out.push(c);
        }
        out.push('\n');
        out
    }

    /// `-k`: blanks for control characters.
    fn controlled(&self, text: String) -> String {
        if self.control == 0 || !text.contains(char::is_control) {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut last = false;
        for c in text.chars() {
            let control = c.is_control();
            match control {
                true if self.control == 2 && last => {}
                true => out.push(' '),
                false => out.push(c),
            }
            last = control;
        }
        out
    }
}

#[derive(Clone, Debug)]
pub struct Layout {
    columns: Vec<(Column, usize)>,
    style: Style,
}

impl Layout {
    pub fn new(columns: Vec<Column>, style: Style) -> Layout {
        let columns = columns
            .into_iter()
            .map(|column| {
                let width = width_of(&column, &style);
                (column, width)
            })
            .collect();
        Layout { columns, style }
    }

    /// Values that are shown whole have no headers above them.
    pub fn has_header(&self) -> bool {
        self.style.max_width > 0
    }

    /// Names and dashes, two lines.
    pub fn header(&self) -> String {
        let mut names = Vec::new();
        let mut dashes = Vec::new();
        for (column, width) in &self.columns {
            let length = column.name.chars().count();
            match self.style.trim {
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
        let line = |parts: Vec<String>| self.style.wrapped(parts.join(&self.style.separator));
        line(names) + &line(dashes)
    }

    pub fn row(&self, values: &[Value]) -> String {
        let mut texts = Vec::with_capacity(values.len());
        for ((column, width), value) in self.columns.iter().zip(values) {
            let text = self.style.controlled(text_of(value, &column.ty));
            texts.push(match self.style.trim {
                true => text.trim_end().to_string(),
                false => padded(&text, *width, is_number(column.ty.id)),
            });
        }
        self.style.wrapped(texts.join(&self.style.separator))
    }
}

/// A width of 0 leaves the text as it is.
fn padded(text: &str, width: usize, right: bool) -> String {
    if width == 0 {
        return text.to_string();
    }
    let text: String = text.chars().take(width).collect();
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

fn width_of(column: &Column, style: &Style) -> usize {
    use TypeId::*;
    let ty = &column.ty;
    let unbounded = match ty.id {
        Char | VarChar | NChar | NVarChar | Binary | VarBinary => ty.length == u16::MAX,
        id => matches!(id, Image | Text | NText | Xml | Udt),
    };
    if unbounded && style.max_width == 0 {
        return 0;
    }
    let bytes = usize::from(ty.length);
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
        _ if unbounded => style.max_width,
        Char | VarChar => fixed(bytes, style),
        NChar | NVarChar => fixed(bytes / 2, style),
        Binary | VarBinary => fixed(bytes * 2 + 2, style),
        RowVersion => 18,
        SqlVariant => fixed(VARIANT_WIDTH, style),
        Image | Text | NText | Xml | Udt => style.max_width,
    };
    if style.fixed_width > 0 && width == style.fixed_width {
        return width;
    }
    let least = match column.nullable() {
        true => 4,
        false => 1,
    };
    width.max(column.name.chars().count()).max(least)
}

/// How wide a `sql_variant` is shown.
const VARIANT_WIDTH: usize = 256;

/// The width of text with a bound: `-Y` may make it smaller.
fn fixed(width: usize, style: &Style) -> usize {
    match style.fixed_width {
        0 => width,
        most => width.min(most),
    }
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

/// What `-p` tells after a batch that ran so often, all in `time`.
pub fn statistics(colons: bool, packet_bytes: usize, count: u64, time: Duration) -> String {
    let total = time.as_secs_f64() * 1000.0;
    let average = total / count.max(1) as f64;
    let rate = if total > 0.0 {
        count as f64 * 1000.0 / total
    } else {
        0.0
    };
    match colons {
        true => format!("\n{packet_bytes}:{count}:{total:.0}:{average:.1}:{rate:.1}\n"),
        false => format!(
            "\nNetwork packet size (bytes): {packet_bytes}\n{count} xact[s]:\nClock Time (ms.): total {total:9.0}  avg {average:6.1} ({rate:.1} xacts per sec.)\n"
        ),
    }
}
