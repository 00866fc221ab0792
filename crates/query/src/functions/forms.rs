//! Texts of a fixed form: names between delimiters, numbers set to the right, the sound of a word.

use duramen_types::Value;

use super::text::units;

/// QUOTENAME: NULL for more than 128 characters or a mark that is none.
pub(super) fn quoted(name: &Value, mark: Option<&Value>) -> Value {
    let text = units(name);
    let mark = mark.map_or(b'[' as u16, |m| {
        units(m).first().copied().unwrap_or(b'[' as u16)
    });
    let (open, close) = match u8::try_from(mark).unwrap_or(0) {
        b'[' | b']' => (b'[', b']'),
        b'(' | b')' => (b'(', b')'),
        b'<' | b'>' => (b'<', b'>'),
        b'{' | b'}' => (b'{', b'}'),
        same @ (b'\'' | b'"' | b'`') => (same, same),
        _ => return Value::Null,
    };
    if text.len() > 128 {
        return Value::Null;
    }
    let mut out = vec![open as u16];
    for u in text {
        if u == close as u16 {
            out.push(u);
        }
        out.push(u);
    }
    out.push(close as u16);
    Value::NVarChar(out)
}

/// STR: right-aligned in `width`, decimals given up for want of room, asterisks when even the whole part has none.
pub(super) fn right_aligned(f: f64, width: usize, decimals: usize) -> String {
    let whole = format!("{:.0}", f.trunc()).len();
    if whole > width {
        return "*".repeat(width);
    }
    let room = width.saturating_sub(whole + 1);
    // Half away from zero, as the other roundings do; formatting alone would round half to even.
    let decimals = decimals.min(16).min(room);
    let unit = 10f64.powi(decimals as i32);
    let scaled = f * unit;
    let rounded = if scaled.abs() < 1e15 {
        scaled.round() / unit
    } else {
        f
    };
    let text = format!("{rounded:.decimals$}");
    if text.len() > width {
        return "*".repeat(width);
    }
    format!("{text:>width$}")
}

/// Four characters: the first letter and the classes of the consonants after it.
pub(super) fn soundex(units: &[u16]) -> String {
    let class = |c: char| match c {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let mut out = String::new();
    let mut last = None;
    for u in units {
        let letter = char::from_u32(*u as u32).map(|c| c.to_ascii_uppercase());
        let Some(c) = letter.filter(char::is_ascii_alphabetic) else {
            break;
        };
        let own = class(c);
        if out.is_empty() {
            out.push(c);
        } else if let Some(d) = own
            && own != last
        {
            out.push(d);
        }
        // H and W do not part two consonants of one class.
        if !matches!(c, 'H' | 'W') {
            last = own;
        }
        if out.len() == 4 {
            break;
        }
    }
    if out.is_empty() {
        return "0000".to_owned();
    }
    while out.len() < 4 {
        out.push('0');
    }
    out
}
