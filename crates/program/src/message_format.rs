//! The `printf` of RAISERROR: `%[flags][width][.precision][h|l|I64]type`.
//!
//! Arguments are integers and strings; a missing or NULL one prints as `(null)`.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

/// More arguments than this are refused (2747).
const MAX_ARGUMENTS: usize = 20;
/// A longer text is cut and ends in three dots.
const MAX_LENGTH: usize = 2047;

/// 2747
pub fn check_count(arguments: usize) -> SqlResult<()> {
    match arguments > MAX_ARGUMENTS {
        false => Ok(()),
        true => Err(SqlError::new(
            &messages::RAISERROR_TOO_MANY_PARAMETERS,
            &[&MAX_ARGUMENTS],
        )),
    }
}

/// The text with its arguments filled in.
pub fn format(text: &str, args: &[(SqlType, Value)]) -> SqlResult<String> {
    check_count(args.len())?;
    for (i, (ty, _)) in args.iter().enumerate() {
        if !(ty.id.is_integer() || ty.id.is_string() || ty.id.is_binary()) {
            let args: [&dyn std::fmt::Display; 2] = [&ty.id.name(), &(i + 1)];
            return Err(SqlError::new(&messages::RAISERROR_PARAMETER_TYPE, &args));
        }
    }
    let chars: Vec<char> = text.chars().collect();
    let mut args = Arguments { args, next: 0 };
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        if chars[at] != '%' {
            out.push(chars[at]);
            at += 1;
        } else if chars.get(at + 1) == Some(&'%') {
            out.push('%');
            at += 2;
        } else {
            at = spec(&chars, at, &mut args, &mut out)?;
        }
    }
    if out.encode_utf16().count() > MAX_LENGTH {
        let cut: String = out.chars().take(MAX_LENGTH - 3).collect();
        out = format!("{cut}...");
    }
    Ok(out)
}

struct Arguments<'a> {
    args: &'a [(SqlType, Value)],
    next: usize,
}

impl Arguments<'_> {
    fn take(&mut self) -> Option<&Value> {
        let found = self.args.get(self.next).map(|(_, v)| v);
        self.next += 1;
        found.filter(|v| !v.is_null())
    }

    /// 2786: the argument last taken is not of the type that its place asks for.
    fn mismatch(&self) -> SqlError {
        SqlError::new(&messages::RAISERROR_PARAMETER_MISMATCH, &[&self.next])
    }
}

/// One specification that starts at `start`; where it ends.
fn spec(
    chars: &[char],
    start: usize,
    args: &mut Arguments<'_>,
    out: &mut String,
) -> SqlResult<usize> {
    let mut at = start + 1;
    let mut flags = Vec::new();
    while let Some(c) = chars.get(at).filter(|c| "-+0# ".contains(**c)) {
        flags.push(*c);
        at += 1;
    }
    let mut width = number(chars, &mut at, args)?;
    if width.is_some_and(|w| w < 0) {
        flags.push('-');
        width = width.map(i64::abs);
    }
    let mut precision = None;
    if chars.get(at) == Some(&'.') {
        at += 1;
        precision = Some(number(chars, &mut at, args)?.unwrap_or(0));
    }
    let rest: String = chars[at..].iter().take(3).collect();
    if rest.starts_with("I64") {
        at += 3;
    } else if rest.starts_with(['h', 'l']) {
        at += 1;
    }
    let end = (at + 1).min(chars.len());
    let kind = chars.get(at).copied().unwrap_or(' ');
    let invalid = || {
        let shown: String = chars[start..end].iter().collect();
        SqlError::new(&messages::RAISERROR_FORMAT, &[&shown])
    };
    let body = match kind {
        'd' | 'i' | 'o' | 'u' | 'x' | 'X' => match args.take() {
            None => "(null)".to_owned(),
            Some(v) => {
                let is_text = v.as_i64().is_none() || is_string(v);
                let n = v
                    .as_i64()
                    .filter(|_| !is_text)
                    .ok_or_else(|| args.mismatch())?;
                integer(n, kind, &flags, precision)
            }
        },
        's' => match args.take() {
            None => "(null)".to_owned(),
            Some(v) if !is_string(v) => return Err(args.mismatch()),
            Some(v) => {
                let text = v.as_text().unwrap_or_default();
                match precision.and_then(|p| usize::try_from(p).ok()) {
                    Some(p) => text.chars().take(p).collect(),
                    None => text,
                }
            }
        },
        _ => return Err(invalid()),
    };
    let width = width.and_then(|w| usize::try_from(w).ok()).unwrap_or(0);
    let width = width.min(MAX_LENGTH);
    let zeros = flags.contains(&'0') && !flags.contains(&'-') && kind != 's' && precision.is_none();
    out.push_str(&if flags.contains(&'-') {
        format!("{body:<width$}")
    } else if zeros {
        let (sign, digits) = match body.strip_prefix(['-', '+', ' ']) {
            Some(digits) => body.split_at(body.len() - digits.len()),
            None => ("", body.as_str()),
        };
        format!("{sign}{digits:0>w$}", w = width.saturating_sub(sign.len()))
    } else {
        format!("{body:>width$}")
    });
    Ok(end)
}

fn is_string(v: &Value) -> bool {
    matches!(v, Value::VarChar(_) | Value::NVarChar(_) | Value::Binary(_))
}

/// Digits, or `*` for the next argument.
fn number(chars: &[char], at: &mut usize, args: &mut Arguments<'_>) -> SqlResult<Option<i64>> {
    if chars.get(*at) == Some(&'*') {
        *at += 1;
        let n = args.take().and_then(Value::as_i64);
        return n.map(Some).ok_or_else(|| args.mismatch());
    }
    let digits: String = chars[*at..]
        .iter()
        .take_while(|c| c.is_ascii_digit())
        .collect();
    *at += digits.len();
    Ok(digits.parse().ok())
}

fn integer(n: i64, kind: char, flags: &[char], precision: Option<i64>) -> String {
    // Unsigned forms show the bits of an int where it is one.
    let bits = match i32::try_from(n) {
        Ok(n) => u64::from(n as u32),
        Err(_) => n as u64,
    };
    let alternate = flags.contains(&'#');
    let (prefix, digits) = match kind {
        'o' => (if alternate { "0" } else { "" }, format!("{bits:o}")),
        'u' => ("", bits.to_string()),
        'x' => (if alternate { "0x" } else { "" }, format!("{bits:x}")),
        'X' => (if alternate { "0X" } else { "" }, format!("{bits:X}")),
        _ => {
            let sign = match (n < 0, flags.contains(&'+'), flags.contains(&' ')) {
                (true, ..) => "-",
                (_, true, _) => "+",
                (_, _, true) => " ",
                _ => "",
            };
            (sign, n.unsigned_abs().to_string())
        }
    };
    let least = precision.and_then(|p| usize::try_from(p).ok()).unwrap_or(0);
    format!("{prefix}{digits:0>w$}", w = least.min(MAX_LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format_text: &str, args: &[(SqlType, Value)]) -> String {
        format(format_text, args).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn places_are_filled_as_documented() {
        let int = |n| (SqlType::INT, Value::Int(n));
        let str = |s: &str| (SqlType::varchar(20), Value::varchar(s));
        assert_eq!(text("<<%7.3s>>", &[str("abcde")]), "<<    abc>>");
        assert_eq!(
            text("<<%*.*s>>", &[int(7), int(3), str("abcde")]),
            "<<    abc>>"
        );
        assert_eq!(
            text("%d%% %i %u", &[int(50), int(-1), int(-1)]),
            "50% -1 4294967295"
        );
        assert_eq!(
            text(
                "%05d|%-5d|%+d|%x|%#X",
                &[int(-42), int(7), int(7), int(255), int(255)]
            ),
            "-0042|7    |+7|ff|0XFF"
        );
        assert_eq!(text("%s %d", &[]), "(null) (null)");
        assert!(text("%q", &[str("a")]).contains("'%q'"));
        assert!(text("%d", &[str("a")]).starts_with("Msg 2786"));
    }
}
