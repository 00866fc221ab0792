//! Numeric format strings: the standard ones (`C2`, `N`, `X4`) and the custom ones (`#,##0.00;(0)`).
//!
//! A number is first a sign and decimal digits around a point; rounding is half away from zero. Floats have the fifteen
//! digits that .NET gives them, reals seven.

use super::Culture;
use crate::compare::exact;
use crate::{SqlType, Value};

/// A custom format asks for at most this many places; FORMAT gives nvarchar(4000).
const LONGEST: usize = 4000;

/// `0.digits * 10^point`, digits without leading zeros.
#[derive(Clone, Debug)]
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    fn of(v: &Value) -> Option<Digits> {
        match v {
            Value::Float(f) => Some(Digits::of_float(*f, 15)),
            Value::Real(f) => Some(Digits::of_float(f64::from(*f), 7)),
            _ => {
                let d = exact(v)?;
                let text = d.mantissa().unsigned_abs().to_string();
                let digits: Vec<u8> = text.bytes().map(|b| b - b'0').collect();
                let point = digits.len() as i32 - i32::from(d.scale());
                Some(
                    Digits {
                        negative: d.mantissa() < 0,
                        digits,
                        point,
                    }
                    .trimmed(),
                )
            }
        }
    }

    fn of_float(f: f64, significant: usize) -> Digits {
        let text = format!("{:.*e}", significant - 1, f.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = mantissa
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|b| b - b'0');
        Digits {
            negative: f < 0.0,
            digits: digits.collect(),
            point: exponent.parse::<i32>().unwrap_or(0) + 1,
        }
        .trimmed()
    }

    fn trimmed(mut self) -> Digits {
        let zeros = self.digits.iter().take_while(|d| **d == 0).count();
        self.digits.drain(..zeros);
        self.point -= zeros as i32;
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.point = 0;
        }
        self
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Rounded to `places` after the point.
    fn rounded(mut self, places: i32) -> Digits {
        let keep = self.point.saturating_add(places);
        if keep < 0 {
            self.digits.clear();
        } else if (keep as usize) < self.digits.len() {
            let up = self.digits[keep as usize] >= 5;
            self.digits.truncate(keep as usize);
            if up {
                self.increment();
            }
        }
        self.trimmed()
    }

    fn increment(&mut self) {
        for d in self.digits.iter_mut().rev() {
            if *d < 9 {
                *d += 1;
                return;
            }
            *d = 0;
        }
        self.digits.insert(0, 1);
        self.point += 1;
    }

    /// The digit at a place: 0 is the last before the point, -1 the first after it.
    fn at(&self, place: i32) -> u8 {
        let i = self.point - 1 - place;
        let digit = usize::try_from(i).ok().and_then(|i| self.digits.get(i));
        digit.copied().unwrap_or(0)
    }

    /// `whole.fraction` with exactly `places` decimals and groups of three.
    fn fixed(&self, places: usize, decimal: &str, group: &str) -> String {
        let whole = self.point.max(1);
        let mut out = String::new();
        for place in (0..whole).rev() {
            out.push((b'0' + self.at(place)) as char);
            if place > 0 && place % 3 == 0 {
                out.push_str(group);
            }
        }
        if places > 0 {
            out.push_str(decimal);
            for place in 1..=places as i32 {
                out.push((b'0' + self.at(-place)) as char);
            }
        }
        out
    }

    /// `d.ddde+xxx`, the exponent of at least `width` digits.
    fn scientific(&self, places: usize, e: char, width: usize, decimal: &str) -> String {
        let exponent = if self.is_zero() { 0 } else { self.point - 1 };
        let mut out = String::new();
        out.push((b'0' + self.at(exponent)) as char);
        if places > 0 {
            out.push_str(decimal);
            for i in 1..=places as i32 {
                out.push((b'0' + self.at(exponent - i)) as char);
            }
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push(e);
        out.push(sign);
        out.push_str(&format!("{:0width$}", exponent.unsigned_abs()));
        out
    }
}

#[expect(clippy::too_many_lines, reason = "one arm a format")]
pub fn format(v: &Value, ty: &SqlType, format: &str, culture: &Culture) -> Option<String> {
    let digits = Digits::of(v)?;
    let mut letters = format.chars();
    let first = letters.next().unwrap_or('G');
    let rest = letters.as_str();
    let standard =
        first.is_ascii_alphabetic() && rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_digit());
    if !standard {
        return custom(digits, format, culture);
    }
    let precision = rest.parse::<usize>().ok();
    let minus = if digits.negative { "-" } else { "" };
    let integer = v.as_i64();
    let scale = match v {
        Value::Float(_) | Value::Real(_) => None,
        _ => Some(crate::decimal_facets(ty).map_or(0, |f| usize::from(f.1))),
    };
    Some(match first.to_ascii_uppercase() {
        'C' => {
            let text = rounded_text(&digits, precision.unwrap_or(2), culture);
            pattern(
                &text,
                culture.currency,
                culture.currency_positive,
                culture.currency_negative,
            )
        }
        'N' => {
            let (negative, text) = rounded_text(&digits, precision.unwrap_or(2), culture);
            format!("{}{text}", if negative { "-" } else { "" })
        }
        'P' => {
            let mut hundred = digits;
            if !hundred.is_zero() {
                hundred.point += 2;
            }
            let text = rounded_text(&hundred, precision.unwrap_or(2), culture);
            pattern(
                &text,
                "",
                culture.percent_positive,
                culture.percent_negative,
            )
        }
        'F' => {
            let places = precision.unwrap_or(2);
            let rounded = digits.rounded(places as i32);
            let minus = if rounded.negative && !rounded.is_zero() {
                "-"
            } else {
                ""
            };
            format!("{minus}{}", rounded.fixed(places, culture.decimal, ""))
        }
        'E' => {
            let places = precision.unwrap_or(6);
            let from_point = places as i32 + 1 - digits.point;
            let rounded = digits.rounded(from_point);
            format!(
                "{minus}{}",
                rounded.scientific(places, first, 3, culture.decimal)
            )
        }
        'D' => {
            let n = integer?;
            format!(
                "{minus}{:0w$}",
                n.unsigned_abs(),
                w = precision.unwrap_or(1)
            )
        }
        'X' => {
            let n = integer?;
            let bits = match v {
                Value::BigInt(_) => n as u64,
                Value::Int(_) => u64::from(n as i32 as u32),
                Value::SmallInt(_) => u64::from(n as i16 as u16),
                _ => n as u64,
            };
            let w = precision.unwrap_or(1);
            match first {
                'x' => format!("{bits:0w$x}"),
                _ => format!("{bits:0w$X}"),
            }
        }
        'G' => general(&digits, first, precision.filter(|p| *p > 0), scale, culture),
        // Round trip: as many digits as tell the value from its neighbours.
        'R' => {
            let shortest = match v {
                Value::Float(f) => format!("{f:e}"),
                Value::Real(f) => format!("{f:e}"),
                _ => return None,
            };
            let significant = shortest
                .bytes()
                .take_while(|b| *b != b'e')
                .filter(u8::is_ascii_digit);
            let f = match v {
                Value::Real(f) => f64::from(*f),
                Value::Float(f) => *f,
                _ => 0.0,
            };
            let digits = Digits::of_float(f, significant.count().max(1));
            general(&digits, 'G', Some(17), None, culture)
        }
        _ => return None,
    })
}

/// Whether the rounded number is below zero, and its digits in groups.
fn rounded_text(digits: &Digits, places: usize, culture: &Culture) -> (bool, String) {
    let rounded = digits.clone().rounded(places as i32);
    let negative = rounded.negative && !rounded.is_zero();
    (
        negative,
        rounded.fixed(places, culture.decimal, culture.group),
    )
}

fn pattern((negative, text): &(bool, String), symbol: &str, above: &str, below: &str) -> String {
    let pattern = if *negative { below } else { above };
    let mut out = String::new();
    for c in pattern.chars() {
        match c {
            'n' => out.push_str(text),
            '$' => out.push_str(symbol),
            c => out.push(c),
        }
    }
    out
}

/// The shorter of fixed and scientific: scientific below 1e-5 and where the digits asked for do not reach the point.
/// Exact numbers without a precision keep all their decimals.
fn general(
    digits: &Digits,
    letter: char,
    precision: Option<usize>,
    scale: Option<usize>,
    culture: &Culture,
) -> String {
    let minus = if digits.negative { "-" } else { "" };
    if let (None, Some(scale)) = (precision, scale) {
        return format!("{minus}{}", digits.fixed(scale, culture.decimal, ""));
    }
    let significant = precision.unwrap_or(15) as i32;
    let rounded = digits.clone().rounded(significant - digits.point);
    let places = (rounded.digits.len() as i32 - rounded.point).max(0) as usize;
    if rounded.is_zero() || (-3..=significant).contains(&rounded.point) {
        return format!("{minus}{}", rounded.fixed(places, culture.decimal, ""));
    }
    let e = if letter == 'g' { 'e' } else { 'E' };
    let places = rounded.digits.len() - 1;
    format!(
        "{minus}{}",
        rounded.scientific(places, e, 2, culture.decimal)
    )
}

/// A piece of a section of a custom format.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// `0` or `#`.
    Place {
        zero: bool,
    },
    Point,
    Comma,
    Percent,
    PerMille,
    /// `E+00`: letter, sign always, least digits.
    Exponent(char, bool, usize),
    Literal(char),
}

/// The sections between semicolons outside quotes.
fn sections(format: &str) -> Vec<Vec<Token>> {
    let chars: Vec<char> = format.chars().collect();
    let mut out = vec![Vec::new()];
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        i += 1;
        let token = match c {
            ';' => {
                out.push(Vec::new());
                continue;
            }
            '0' | '#' => Token::Place { zero: c == '0' },
            '.' => Token::Point,
            ',' => Token::Comma,
            '%' => Token::Percent,
            '‰' => Token::PerMille,
            'E' | 'e' => {
                let sign = chars.get(i).copied().filter(|c| matches!(c, '+' | '-'));
                let from = i + usize::from(sign.is_some());
                let zeros = chars[from.min(chars.len())..]
                    .iter()
                    .take_while(|c| **c == '0')
                    .count();
                if zeros == 0 {
                    Token::Literal(c)
                } else {
                    i = from + zeros;
                    Token::Exponent(c, sign == Some('+'), zeros.min(10))
                }
            }
            '\\' => match chars.get(i) {
                Some(escaped) => {
                    i += 1;
                    Token::Literal(*escaped)
                }
                None => continue,
            },
            '\'' | '"' => {
                let section = out.last_mut();
                let quoted = chars[i..].iter().take_while(|q| **q != c);
                let text: Vec<char> = quoted.copied().collect();
                i += text.len() + 1;
                if let Some(section) = section {
                    section.extend(text.into_iter().map(Token::Literal));
                }
                continue;
            }
            c => Token::Literal(c),
        };
        if let Some(section) = out.last_mut() {
            section.push(token);
        }
    }
    out
}

fn custom(digits: Digits, format: &str, culture: &Culture) -> Option<String> {
    let sections = sections(format);
    if sections.iter().map(Vec::len).sum::<usize>() > LONGEST {
        return None;
    }
    let filled = |i: usize| sections.get(i).filter(|s| !s.is_empty());
    let positive = &sections[0];
    let shown = |section: &[Token], unsigned: bool| {
        let mut number = digits.clone();
        number.negative &= !unsigned;
        section_text(number, section, culture)
    };
    // A number that rounds to zero is shown by the section for zero.
    let (text, zero) = match digits.negative && !digits.is_zero() {
        true => match filled(1) {
            Some(section) => shown(section, true),
            None => shown(positive, false),
        },
        false => shown(positive, true),
    };
    match filled(2) {
        Some(section) if zero || digits.is_zero() => Some(shown(section, true).0),
        _ if zero && digits.negative => Some(shown(positive, true).0),
        _ => Some(text),
    }
}

/// The text, and whether every digit shown is zero.
#[expect(clippy::too_many_lines, reason = "one arm a placeholder")]
fn section_text(mut number: Digits, section: &[Token], culture: &Culture) -> (String, bool) {
    let point = section
        .iter()
        .position(|t| *t == Token::Point)
        .unwrap_or(section.len());
    let exponent = section.iter().find(|t| matches!(t, Token::Exponent(..)));
    let is_place = |t: &&Token| matches!(t, Token::Place { .. });
    let before = section[..point].iter().filter(is_place).count() as i32;
    let after = section[point..].iter().filter(is_place).count() as i32;
    // Commas right before the point divide by a thousand each; between places they ask for groups.
    let mut scaling = 0;
    let mut groups = false;
    let last_place = section[..point]
        .iter()
        .rposition(|t| matches!(t, Token::Place { .. }));
    let first_place = section
        .iter()
        .position(|t| matches!(t, Token::Place { .. }));
    for (i, t) in section[..point].iter().enumerate() {
        if *t == Token::Comma {
            match (first_place, last_place) {
                (Some(first), Some(last)) if first < i && i < last => groups = true,
                (_, Some(last)) if i > last => scaling += 3,
                _ => {}
            }
        }
    }
    for t in section {
        match t {
            Token::Percent => scaling -= 2,
            Token::PerMille => scaling -= 3,
            _ => {}
        }
    }
    if !number.is_zero() && exponent.is_none() {
        number.point -= scaling;
    }
    let mut power = 0;
    if exponent.is_some() && !number.is_zero() {
        // As many digits before the point as there are places.
        let significant = before + after;
        let from_point = significant - number.point;
        number = number.rounded(from_point);
        power = number.point - before;
        number.point = before;
    }
    let number = number.rounded(after);
    let zero = number.is_zero();
    let mut out = String::new();
    if number.negative && !zero {
        out.push('-');
    }
    // From here on places count down from the highest that is shown.
    let first_zero = section[..point]
        .iter()
        .filter(is_place)
        .position(|t| *t == Token::Place { zero: true })
        .map_or(0, |i| before - i as i32);
    let last_zero = section[point..]
        .iter()
        .filter(is_place)
        .enumerate()
        .filter(|(_, t)| **t == Token::Place { zero: true })
        .last()
        .map_or(0, |(i, _)| i as i32 + 1);
    let wanted = number.point.max(first_zero);
    let fraction = (number.digits.len() as i32 - number.point)
        .max(last_zero)
        .min(after);
    let digit = |out: &mut String, place: i32| {
        out.push((b'0' + number.at(place)) as char);
        if groups && place > 0 && place % 3 == 0 {
            out.push_str(culture.group);
        }
    };
    let (mut left, mut right) = (before, 0);
    let mut in_fraction = false;
    for t in section {
        match t {
            Token::Place { .. } if !in_fraction => {
                left -= 1;
                // The first place takes all digits that stand before it too.
                let from = if left == before - 1 {
                    wanted.max(left + 1)
                } else {
                    left + 1
                };
                for place in (left..from).rev() {
                    if place < wanted {
                        digit(&mut out, place);
                    }
                }
            }
            Token::Place { .. } => {
                right += 1;
                if right <= fraction {
                    digit(&mut out, -right);
                }
            }
            Token::Point if !in_fraction => {
                in_fraction = true;
                if before == 0 && number.point > 0 {
                    for place in (0..number.point).rev() {
                        digit(&mut out, place);
                    }
                }
                if fraction > 0 {
                    out.push_str(culture.decimal);
                }
            }
            Token::Point | Token::Comma => {}
            Token::Percent => out.push('%'),
            Token::PerMille => out.push('‰'),
            Token::Exponent(letter, always, width) => {
                out.push(*letter);
                match power < 0 {
                    true => out.push('-'),
                    false if *always => out.push('+'),
                    false => {}
                }
                out.push_str(&format!("{:0w$}", power.unsigned_abs(), w = *width));
            }
            Token::Literal(c) => out.push(*c),
        }
    }
    (out, zero)
}
