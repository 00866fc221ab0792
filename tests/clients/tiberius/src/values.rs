//! The values of `types.tsv`, and a driver's value in the same spelling.

use tiberius::ColumnData;

/// A line of the list.
pub struct Listed {
    pub case: String,
    pub ty: String,
    pub label: String,
    pub kind: String,
    pub expression: String,
    /// The value, escapes resolved; UTF-16, as half an emoji is among them.
    pub text: Vec<u16>,
}

impl Listed {
    pub fn name(&self) -> String {
        format!("{} {}", self.ty, self.label)
    }

    /// The value as text; a lone surrogate is lost.
    pub fn lossy(&self) -> String {
        String::from_utf16_lossy(&self.text)
    }

    /// Digits behind the point.
    fn scale(&self) -> usize {
        let text = self.lossy();
        let rest = text.split_once('.').map_or("", |(_, rest)| rest);
        rest.chars().take_while(char::is_ascii_digit).count()
    }
}

pub fn read(path: &str) -> Vec<Listed> {
    let text = std::fs::read_to_string(path).expect("types.tsv is readable");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [case, ty, label, kind, expression, value] = cells[..] else {
                panic!("six cells in {line:?}");
            };
            Listed {
                case: case.to_owned(),
                ty: ty.to_owned(),
                label: label.to_owned(),
                kind: kind.to_owned(),
                expression: expression.to_owned(),
                text: expand(value),
            }
        })
        .collect()
}

/// `@REP(x,n)` and `\uXXXX` resolved.
fn expand(text: &str) -> Vec<u16> {
    if let Some((before, rest)) = text.split_once("@REP(") {
        let (inside, after) = rest.split_once(')').expect("@REP ends");
        let (what, times) = inside.rsplit_once(',').expect("@REP has a count");
        let times: usize = times.parse().expect("a count");
        let mut out = expand(before);
        out.extend(expand(what).repeat(times));
        out.extend(expand(after));
        return out;
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u") {
        out.extend(before.encode_utf16());
        out.push(u16::from_str_radix(&after[..4], 16).expect("four hex digits"));
        rest = &after[4..];
    }
    out.extend(rest.encode_utf16());
    out
}

/// Days since 0001-01-01 as a date (civil calendar).
fn date(days: i64) -> String {
    // Counted from 0000-03-01, so that the leap day ends a year.
    let days = days + 306;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A time of day of `increments` of 10^-scale seconds, with `digits` behind the point.
fn clock(increments: u64, scale: u32, digits: usize) -> String {
    let unit = 10u64.pow(scale);
    let seconds = increments / unit;
    let mut text = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if digits > 0 {
        let fraction = format!("{:0w$}", increments % unit, w = scale as usize);
        let fraction = if scale == 0 { String::new() } else { fraction };
        text.push('.');
        text.push_str(&format!("{fraction:0<digits$}")[..digits]);
    }
    text
}

fn datetime2(value: &tiberius::time::DateTime2, digits: usize, minutes: i64) -> String {
    let time = value.time();
    let unit = 10i64.pow(u32::from(time.scale()));
    let day = 86_400 * unit;
    let total = i64::from(value.date().days()) * day
        + i64::try_from(time.increments()).expect("a time of day")
        + minutes * 60 * unit;
    let clock = clock(
        total.rem_euclid(day) as u64,
        u32::from(time.scale()),
        digits,
    );
    format!("{} {clock}", date(total.div_euclid(day)))
}

fn or_null<T>(value: &Option<T>, f: impl Fn(&T) -> String) -> String {
    value.as_ref().map_or("NULL".to_owned(), f)
}

/// Days from 0001-01-01 to 1900-01-01.
const TO_1900: i64 = 693_595;

/// A value as the list spells it.
pub fn spelled(value: &ColumnData<'_>, wanted: &Listed) -> String {
    let digits = wanted.scale();
    match value {
        ColumnData::U8(v) => or_null(v, u8::to_string),
        ColumnData::I16(v) => or_null(v, i16::to_string),
        ColumnData::I32(v) => or_null(v, i32::to_string),
        ColumnData::I64(v) => or_null(v, i64::to_string),
        ColumnData::Bit(v) => or_null(v, |b| u8::from(*b).to_string()),
        ColumnData::F32(v) => or_null(v, |f| format!("{f:e}")),
        // Money comes as a float: what it can hold of four digits.
        ColumnData::F64(v) if wanted.kind == "decimal" => or_null(v, |f| format!("{f:.4}")),
        ColumnData::F64(v) => or_null(v, |f| format!("{f:e}")),
        ColumnData::String(v) => or_null(v, |s| s.to_string()),
        ColumnData::Xml(v) => or_null(v, |x| x.to_string()),
        ColumnData::Guid(v) => or_null(v, |g| g.to_string().to_uppercase()),
        ColumnData::Binary(v) => or_null(v, |b| {
            let hex: String = b.iter().map(|b| format!("{b:02X}")).collect();
            format!("0x{hex}")
        }),
        ColumnData::Numeric(v) => or_null(v, |n| {
            let scale = usize::from(n.scale());
            let digits = format!("{:0w$}", n.value().unsigned_abs(), w = scale + 1);
            let (whole, rest) = digits.split_at(digits.len() - scale);
            let sign = if n.value() < 0 { "-" } else { "" };
            let point = if scale > 0 { "." } else { "" };
            format!("{sign}{whole}{point}{rest}")
        }),
        ColumnData::Date(v) => or_null(v, |d| date(i64::from(d.days()))),
        ColumnData::Time(v) => or_null(v, |t| clock(t.increments(), u32::from(t.scale()), digits)),
        ColumnData::DateTime(v) => or_null(v, |d| {
            let milliseconds = (u64::from(d.seconds_fragments()) * 10 + 1) / 3;
            let clock = clock(milliseconds, 3, digits);
            format!("{} {clock}", date(i64::from(d.days()) + TO_1900))
        }),
        ColumnData::SmallDateTime(v) => or_null(v, |d| {
            let clock = clock(u64::from(d.seconds_fragments()) * 60, 0, 0);
            format!("{} {clock}", date(i64::from(d.days()) + TO_1900))
        }),
        ColumnData::DateTime2(v) => or_null(v, |d| datetime2(d, digits, 0)),
        ColumnData::DateTimeOffset(v) => or_null(v, |d| {
            let minutes = i64::from(d.offset());
            let sign = if minutes < 0 { '-' } else { '+' };
            let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
            let local = datetime2(&d.datetime2(), digits, minutes);
            format!("{local} {sign}{hours:02}:{rest:02}")
        }),
    }
}

/// What the driver can hold of the listed value.
pub fn known(wanted: &Listed) -> String {
    let text = wanted.lossy();
    if text == "NULL" {
        return text;
    }
    match wanted.kind.as_str() {
        "real" => format!("{:e}", text.parse::<f32>().expect("a real")),
        "float" => format!("{:e}", text.parse::<f64>().expect("a float")),
        "decimal" if wanted.ty.contains("money") => {
            format!("{:.4}", text.parse::<f64>().expect("an amount"))
        }
        _ => text,
    }
}
