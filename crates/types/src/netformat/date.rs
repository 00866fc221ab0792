//! Format strings of dates: the standard ones, one letter, which stand for a pattern of the culture, and the custom ones;
//! and those of times of day, which .NET formats as lengths of time: there every other character must be escaped.

use super::Culture;
use crate::compare::instant;
use crate::temporal::{UNITS_PER_SECOND, weekday, ymd_from_days};
use crate::{DateTime2, Value};

/// The parts of a moment.
struct Moment {
    days: i32,
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// 100 ns.
    fraction: u32,
    /// Minutes; `None` for types without offset.
    offset: Option<i16>,
}

impl Moment {
    fn of(v: &Value) -> Moment {
        let (days, units) = match v {
            Value::DateTimeOffset(d) => d.local(),
            // .NET gets whole milliseconds of a datetime.
            Value::DateTime(d) => (d.days_since_0001(), u64::from(d.millis()) * 10_000),
            _ => instant(v),
        };
        let offset = match v {
            Value::DateTimeOffset(d) => Some(d.offset),
            _ => None,
        };
        Moment::at(days, units, offset)
    }

    fn at(days: i32, units: u64, offset: Option<i16>) -> Moment {
        let (year, month, day) = ymd_from_days(days);
        let seconds = (units / UNITS_PER_SECOND) as u32;
        Moment {
            days,
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: (units % UNITS_PER_SECOND) as u32,
            offset,
        }
    }
}

/// Formats a date, with or without a time.
pub fn format(v: &Value, format: &str, culture: &Culture) -> Option<String> {
    let moment = Moment::of(v);
    let mut letters = format.chars();
    match (letters.next(), letters.next()) {
        (None, _) => standard('G', v, &moment, culture),
        (Some(letter), None) => standard(letter, v, &moment, culture),
        _ => custom(&moment, format, culture),
    }
}

fn standard(letter: char, v: &Value, m: &Moment, c: &Culture) -> Option<String> {
    let invariant = Culture::invariant();
    let both = |date: &str, time: &str| custom(m, &format!("{date} {time}"), c);
    match letter {
        'd' => custom(m, c.short_date, c),
        'D' => custom(m, c.long_date, c),
        't' => custom(m, c.short_time, c),
        'T' => custom(m, c.long_time, c),
        'f' => both(c.long_date, c.short_time),
        'F' => both(c.long_date, c.long_time),
        'g' => both(c.short_date, c.short_time),
        'G' if m.offset.is_some() => both(c.short_date, &format!("{} zzz", c.long_time)),
        'G' => both(c.short_date, c.long_time),
        'm' | 'M' => custom(m, c.month_day, c),
        'y' | 'Y' => custom(m, c.year_month, c),
        'o' | 'O' => {
            let pattern = "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK";
            custom(m, pattern, invariant)
        }
        'r' | 'R' => {
            let pattern = "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'";
            custom(&utc(v, m), pattern, invariant)
        }
        's' => custom(m, "yyyy'-'MM'-'dd'T'HH':'mm':'ss", invariant),
        'u' => {
            let pattern = "yyyy'-'MM'-'dd HH':'mm':'ss'Z'";
            custom(&utc(v, m), pattern, invariant)
        }
        'U' if m.offset.is_none() => both(c.long_date, c.long_time),
        _ => None,
    }
}

/// A value with an offset as it is at Greenwich; others as they are.
fn utc(v: &Value, m: &Moment) -> Moment {
    match v {
        Value::DateTimeOffset(d) => {
            let there = DateTime2 {
                days: d.days,
                time: d.time,
            };
            Moment::of(&Value::DateTime2(there))
        }
        _ => Moment::at(
            m.days,
            u64::from(m.hour * 3600 + m.minute * 60 + m.second) * UNITS_PER_SECOND
                + u64::from(m.fraction),
            None,
        ),
    }
}

fn custom(m: &Moment, format: &str, culture: &Culture) -> Option<String> {
    let chars: Vec<char> = format.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        let run = chars[i..].iter().take_while(|x| **x == c).count();
        match c {
            'd' | 'f' | 'F' | 'g' | 'h' | 'H' | 'm' | 'M' | 's' | 't' | 'y' | 'z' => {
                specifier(m, c, run, culture, &mut out)?;
                i += run;
            }
            'K' => {
                if let Some(offset) = m.offset {
                    zone(offset, 3, &mut out);
                }
                i += 1;
            }
            ':' => {
                out.push(':');
                i += 1;
            }
            '/' => {
                out.push_str(culture.date_separator);
                i += 1;
            }
            '%' => {
                // A lone specifier follows.
                let next = chars.get(i + 1).filter(|n| **n != '%')?;
                out.push_str(&custom_one(m, *next, culture)?);
                i += 2;
            }
            _ => i = literal(&chars, i, &mut out)?,
        }
    }
    Some(out)
}

fn custom_one(m: &Moment, c: char, culture: &Culture) -> Option<String> {
    let mut out = String::new();
    match c {
        'd' | 'f' | 'F' | 'g' | 'h' | 'H' | 'm' | 'M' | 's' | 't' | 'y' | 'z' => {
            specifier(m, c, 1, culture, &mut out)?;
        }
        'K' => {
            if let Some(offset) = m.offset {
                zone(offset, 3, &mut out);
            }
        }
        '/' => out.push_str(culture.date_separator),
        c => out.push(c),
    }
    Some(out)
}

/// Quoted text, an escaped character, or a character that stands for itself; where it ends.
fn literal(chars: &[char], at: usize, out: &mut String) -> Option<usize> {
    match chars[at] {
        '\\' => {
            out.push(*chars.get(at + 1)?);
            Some(at + 2)
        }
        quote @ ('\'' | '"') => {
            let mut i = at + 1;
            loop {
                match chars.get(i)? {
                    c if *c == quote => return Some(i + 1),
                    '\\' => {
                        out.push(*chars.get(i + 1)?);
                        i += 2;
                    }
                    c => {
                        out.push(*c);
                        i += 1;
                    }
                }
            }
        }
        c => {
            out.push(c);
            Some(at + 1)
        }
    }
}

fn specifier(m: &Moment, c: char, run: usize, culture: &Culture, out: &mut String) -> Option<()> {
    let number = |out: &mut String, n: u32| match run {
        1 => out.push_str(&n.to_string()),
        _ => out.push_str(&format!("{n:02}")),
    };
    let clock = match m.hour % 12 {
        0 => 12,
        h => h,
    };
    match (c, run) {
        ('d', 1 | 2) => number(out, m.day),
        ('d', 3) => out.push_str(&culture.short_weekday(weekday(m.days))),
        ('d', _) => out.push_str(&culture.weekday(weekday(m.days))),
        ('M', 1 | 2) => number(out, m.month),
        ('M', 3) => out.push_str(&culture.short_month(m.month)),
        ('M', _) => out.push_str(&culture.month(m.month)),
        ('y', 1) => out.push_str(&(m.year % 100).to_string()),
        ('y', 2) => out.push_str(&format!("{:02}", m.year % 100)),
        ('y', n) => out.push_str(&format!("{:0n$}", m.year)),
        ('h', _) => number(out, clock),
        ('H', _) => number(out, m.hour),
        ('m', _) => number(out, m.minute),
        ('s', _) => number(out, m.second),
        ('f' | 'F', 8..) => return None,
        ('f', n) => out.push_str(&format!("{:07}", m.fraction)[..n]),
        ('F', n) => {
            let digits = &format!("{:07}", m.fraction)[..n];
            let kept = digits.trim_end_matches('0');
            // A point before a fraction that vanishes goes with it.
            if kept.is_empty() && out.ends_with('.') {
                out.pop();
            }
            out.push_str(kept);
        }
        ('g', _) => out.push_str("A.D."),
        ('t', n) => {
            let word = if m.hour < 12 { culture.am } else { culture.pm };
            match n {
                1 => out.extend(word.chars().take(1)),
                _ => out.push_str(word),
            }
        }
        // Without an offset the server's own stands there: it keeps UTC.
        ('z', n) => zone(m.offset.unwrap_or(0), n, out),
        _ => return None,
    }
    Some(())
}

fn zone(offset: i16, run: usize, out: &mut String) {
    let sign = if offset < 0 { '-' } else { '+' };
    let (h, min) = (offset.unsigned_abs() / 60, offset.unsigned_abs() % 60);
    out.push_str(&match run {
        1 => format!("{sign}{h}"),
        2 => format!("{sign}{h:02}"),
        _ => format!("{sign}{h:02}:{min:02}"),
    });
}

/// A time of day, `units` of 100 ns, as .NET formats a length of time.
pub fn span(units: u64, format: &str) -> Option<String> {
    let m = Moment::at(0, units, None);
    let long = |m: &Moment| format!("{:02}:{:02}:{:02}", m.hour, m.minute, m.second);
    let mut letters = format.chars();
    match (letters.next(), letters.next()) {
        (None, _) | (Some('c' | 't' | 'T'), None) => {
            return Some(match m.fraction {
                0 => long(&m),
                f => format!("{}.{f:07}", long(&m)),
            });
        }
        (Some('g'), None) => {
            let text = format!("{}:{:02}:{:02}", m.hour, m.minute, m.second);
            let fraction = format!("{:07}", m.fraction);
            return Some(match fraction.trim_end_matches('0') {
                "" => text,
                f => format!("{text}.{f}"),
            });
        }
        (Some('G'), None) => return Some(format!("0:{}.{:07}", long(&m), m.fraction)),
        (Some(_), None) => return None,
        _ => {}
    }
    let chars: Vec<char> = format.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        let run = chars[i..].iter().take_while(|x| **x == c).count();
        let number = |n: u32, widest: usize| match run {
            n_run if n_run > widest => None,
            w => Some(format!("{n:0w$}")),
        };
        match c {
            'h' => out.push_str(&number(m.hour, 2)?),
            'm' => out.push_str(&number(m.minute, 2)?),
            's' => out.push_str(&number(m.second, 2)?),
            'd' => out.push_str(&number(0, 8)?),
            'f' | 'F' => {
                specifier(&m, c, run, Culture::invariant(), &mut out)?;
            }
            '%' => {
                i += 1;
                continue;
            }
            '\\' | '\'' | '"' => {
                i = literal(&chars, i, &mut out)?;
                continue;
            }
            _ => return None,
        }
        i += run;
    }
    Some(out)
}
