//! Strings to dates and times.
//!
//! Two families read the same text differently: datetime and smalldatetime follow DATEFORMAT even for `2024-03-05`, the
//! newer types take a leading four-digit year as year-month-day. ISO 8601 with `T`, and bare `yyyymmdd`, mean the same to
//! everybody. Month names are those of the session's language.

use crate::Language;
use crate::temporal::{DAYS_TO_1900, UNITS_PER_SECOND, days_from_ymd};

/// SET DATEFORMAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
    Ydm,
    Myd,
    Dym,
}

impl DateOrder {
    pub fn from_name(name: &str) -> Option<DateOrder> {
        Some(match name.to_ascii_lowercase().as_str() {
            "mdy" => DateOrder::Mdy,
            "dmy" => DateOrder::Dmy,
            "ymd" => DateOrder::Ymd,
            "ydm" => DateOrder::Ydm,
            "myd" => DateOrder::Myd,
            "dym" => DateOrder::Dym,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            DateOrder::Mdy => "mdy",
            DateOrder::Dmy => "dmy",
            DateOrder::Ymd => "ymd",
            DateOrder::Ydm => "ydm",
            DateOrder::Myd => "myd",
            DateOrder::Dym => "dym",
        }
    }

    /// Whether the day comes before the month.
    fn day_first(self) -> bool {
        matches!(self, DateOrder::Dmy | DateOrder::Ydm | DateOrder::Dym)
    }

    /// Where year, month and day stand among three numbers.
    fn places(self) -> (usize, usize, usize) {
        match self {
            DateOrder::Mdy => (2, 0, 1),
            DateOrder::Dmy => (2, 1, 0),
            DateOrder::Ymd => (0, 1, 2),
            DateOrder::Ydm => (0, 2, 1),
            DateOrder::Myd => (1, 0, 2),
            DateOrder::Dym => (1, 2, 0),
        }
    }
}

/// What a string says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// Days since 0001-01-01; 1900-01-01 when the string has no date.
    pub days: i32,
    /// 100 ns units, local.
    pub units: u64,
    /// Minutes, when the string has an offset.
    pub offset: Option<i16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateError {
    /// Not a date at all (241).
    Syntax,
    /// A date that does not exist (242 for datetime, 241 for the newer types).
    Range,
}

/// Which rules apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// datetime, smalldatetime
    Old,
    /// date, time, datetime2, datetimeoffset
    New,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    language: Language,
}

/// A run of digits.
#[derive(Clone, Copy)]
struct Number {
    value: u32,
    digits: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, b: u8) -> bool {
        let hit = self.peek() == Some(b);
        self.at += hit as usize;
        hit
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// datetime takes blanks around what separates the parts of a date.
    fn blanks_before_separator(&mut self, family: Family) {
        let before = self.at;
        self.blanks();
        let separates = matches!(self.peek(), Some(b'/' | b'-' | b'.'));
        if family != Family::Old || !separates {
            self.at = before;
        }
    }

    fn blanks_after_separator(&mut self, family: Family) {
        if family == Family::Old {
            self.blanks();
        }
    }

    fn number(&mut self) -> Option<Number> {
        let start = self.at;
        let mut value = 0u32;
        while let Some(b @ b'0'..=b'9') = self.peek() {
            value = value.saturating_mul(10).saturating_add((b - b'0') as u32);
            self.at += 1;
        }
        let digits = self.at - start;
        (1..=9)
            .contains(&digits)
            .then_some(Number { value, digits })
    }

    /// Letters; all that is not ASCII counts as one.
    fn word(&mut self) -> &[u8] {
        let start = self.at;
        while self.peek().is_some_and(is_letter) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// The month that the next word names.
    fn month(&mut self) -> Option<u32> {
        let language = self.language;
        month_of(self.word(), language)
    }

    /// AM or PM after optional blanks: hours to add, `None` when there is neither.
    fn meridiem(&mut self) -> Option<bool> {
        let before = self.at;
        self.blanks();
        let word = self.word();
        let pm = word.eq_ignore_ascii_case(b"pm");
        if pm || word.eq_ignore_ascii_case(b"am") {
            return Some(pm);
        }
        self.at = before;
        None
    }
}

fn is_letter(b: u8) -> bool {
    b.is_ascii_alphabetic() || b >= 0x80
}

fn month_of(word: &[u8], language: Language) -> Option<u32> {
    language.month_of(std::str::from_utf8(word).ok()?)
}

/// `two digit year cutoff` at its default: 0-49 is 20xx, 50-99 is 19xx.
fn full_year(n: Number) -> i32 {
    match n {
        Number {
            value,
            digits: 1 | 2,
        } if value < 50 => 2000 + value as i32,
        Number {
            value,
            digits: 1 | 2,
        } => 1900 + value as i32,
        _ => n.value as i32,
    }
}

/// Reads `text`. `order` is DATEFORMAT, or what the CONVERT style prescribes; months have the names of `language`.
pub fn parse(
    text: &str,
    order: DateOrder,
    family: Family,
    language: Language,
) -> Result<Parsed, DateError> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\0');
    if text.is_empty() {
        return Ok(Parsed {
            days: DAYS_TO_1900,
            units: 0,
            offset: None,
        });
    }
    let mut s = Scanner {
        text: text.as_bytes(),
        at: 0,
        language,
    };
    let mut date: Option<i32> = None;
    let mut time: Option<u64> = None;
    let mut offset = None;
    let mut month = None;
    let mut bare: Vec<Number> = Vec::new();
    loop {
        while s
            .peek()
            .is_some_and(|b| b.is_ascii_whitespace() || b == b',')
        {
            s.at += 1;
        }
        let Some(b) = s.peek() else { break };
        match b {
            b'0'..=b'9' => {
                let n = s.number().ok_or(DateError::Syntax)?;
                if date.is_none() && time.is_none() {
                    s.blanks_before_separator(family);
                }
                match s.peek() {
                    Some(b':') if time.is_none() => time = Some(clock(&mut s, n, family)?),
                    Some(b'/' | b'-' | b'.')
                        if date.is_none() && month.is_none() && bare.is_empty() =>
                    {
                        let (days, iso) = separated(&mut s, n, order, family)?;
                        date = Some(days);
                        if iso && s.eat(b'T') {
                            let n = s.number().ok_or(DateError::Syntax)?;
                            if n.digits != 2 || s.peek() != Some(b':') {
                                return Err(DateError::Syntax);
                            }
                            time = Some(clock(&mut s, n, family)?);
                            // `Z` is welcome to datetime too in this form only.
                            if s.eat(b'Z') {
                                offset = Some(0);
                            }
                        }
                    }
                    _ => match s.meridiem() {
                        Some(pm) if time.is_none() => {
                            time = Some(hour12(n, pm)? as u64 * 3600 * UNITS_PER_SECOND)
                        }
                        Some(_) => return Err(DateError::Syntax),
                        None => bare.push(n),
                    },
                }
            }
            b'+' | b'-' if time.is_some() && offset.is_none() && family == Family::New => {
                s.at += 1;
                offset = Some(zone(&mut s, b == b'-')?);
            }
            _ if is_letter(b) => {
                let word = s.word();
                if word.eq_ignore_ascii_case(b"z")
                    && time.is_some()
                    && offset.is_none()
                    && family == Family::New
                {
                    offset = Some(0);
                } else if month.is_none() && date.is_none() {
                    month = Some(month_of(word, language).ok_or(DateError::Syntax)?);
                    // A full stop may follow an abbreviation.
                    s.eat(b'.');
                } else {
                    return Err(DateError::Syntax);
                }
            }
            _ => return Err(DateError::Syntax),
        }
    }
    if let Some(m) = month {
        date = Some(named(&bare, m)?);
    } else if !bare.is_empty() {
        if date.is_some() || bare.len() > 1 {
            return Err(DateError::Syntax);
        }
        date = Some(unseparated(bare[0])?);
    }
    if offset.is_some() && time.is_none() {
        return Err(DateError::Syntax);
    }
    Ok(Parsed {
        days: date.unwrap_or(DAYS_TO_1900),
        units: time.unwrap_or(0),
        offset,
    })
}

fn ymd(year: i32, month: u32, day: u32) -> Result<i32, DateError> {
    days_from_ymd(year, month, day).ok_or(DateError::Range)
}

/// `a/b/c` after `a`: the date, and whether it is exactly `yyyy-mm-dd` (which alone may go on with `T`).
fn separated(
    s: &mut Scanner<'_>,
    a: Number,
    order: DateOrder,
    family: Family,
) -> Result<(i32, bool), DateError> {
    let first = s.peek();
    s.at += 1;
    s.blanks_after_separator(family);
    if s.peek().is_some_and(is_letter) {
        // 5-Mar-2024
        let month = s.month().ok_or(DateError::Syntax)?;
        s.at += matches!(s.peek(), Some(b'/' | b'-' | b'.')) as usize;
        let c = s.number().ok_or(DateError::Syntax)?;
        return named(&[a, c], month).map(|d| (d, false));
    }
    let b = s.number().ok_or(DateError::Syntax)?;
    s.blanks_before_separator(family);
    if !matches!(s.peek(), Some(b'/' | b'-' | b'.')) {
        return Err(DateError::Syntax);
    }
    let second = s.peek();
    s.at += 1;
    s.blanks_after_separator(family);
    let c = s.number().ok_or(DateError::Syntax)?;
    let n = [a, b, c];
    let iso = first == Some(b'-')
        && second == first
        && (a.digits, b.digits, c.digits) == (4, 2, 2)
        && (s.peek() == Some(b'T') || family == Family::New);
    if iso {
        return Ok((ymd(a.value as i32, b.value, c.value)?, true));
    }
    let long = n.iter().filter(|x| x.digits > 2).count();
    if long > 1 || n.iter().any(|x| x.digits > 4 || x.digits == 3) {
        return Err(DateError::Syntax);
    }
    let (y, m, d) = match n.iter().position(|x| x.digits == 4) {
        Some(at) => {
            // The year shows itself; the order decides between the other two.
            let rest: Vec<Number> = (0..3).filter(|i| *i != at).map(|i| n[i]).collect();
            let day_first = order.day_first() && !(at == 0 && family == Family::New);
            let (m, d) = if day_first {
                (rest[1], rest[0])
            } else {
                (rest[0], rest[1])
            };
            (n[at], m, d)
        }
        None => {
            let (y, m, d) = order.places();
            (n[y], n[m], n[d])
        }
    };
    Ok((ymd(full_year(y), m.value, d.value)?, false))
}

/// A month name with the numbers around it: `Mar 5 2024`, `5 March 24`, `2024 Mar`, `Mar 2024`.
fn named(numbers: &[Number], month: u32) -> Result<i32, DateError> {
    match numbers {
        [y] => ymd(full_year(*y), month, 1),
        [a, b] if a.digits > 2 => ymd(a.value as i32, month, b.value),
        [a, b] => ymd(full_year(*b), month, a.value),
        _ => Err(DateError::Syntax),
    }
}

/// `yyyymmdd`, `yymmdd`, `yyyy`.
fn unseparated(n: Number) -> Result<i32, DateError> {
    let v = n.value;
    match n.digits {
        8 => ymd((v / 10_000) as i32, v / 100 % 100, v % 100),
        6 => {
            let year = full_year(Number {
                value: v / 10_000,
                digits: 2,
            });
            ymd(year, v / 100 % 100, v % 100)
        }
        4 => ymd(v as i32, 1, 1),
        _ => Err(DateError::Syntax),
    }
}

fn hour12(n: Number, pm: bool) -> Result<u32, DateError> {
    match n.value {
        0 if !pm => Ok(0),
        12 => Ok(if pm { 12 } else { 0 }),
        1..=11 => Ok(n.value + if pm { 12 } else { 0 }),
        // 13:00PM is accepted, 13:00AM is not.
        13..=23 if pm => Ok(n.value),
        _ => Err(DateError::Range),
    }
}

/// `hh:mm[:ss[.fraction]] [AM|PM]` after `hh`, at the first colon.
fn clock(s: &mut Scanner<'_>, hour: Number, family: Family) -> Result<u64, DateError> {
    s.at += 1;
    let minute = s.number().ok_or(DateError::Syntax)?;
    let mut second = Number {
        value: 0,
        digits: 1,
    };
    let mut fraction = 0u64;
    if s.eat(b':') {
        second = s.number().ok_or(DateError::Syntax)?;
        if s.eat(b'.') {
            fraction = digits_of_fraction(s, family)?;
        } else if s.eat(b':') {
            // Milliseconds, counted.
            let ms = s.number().ok_or(DateError::Syntax)?;
            if ms.digits > 3 {
                return Err(DateError::Syntax);
            }
            fraction = ms.value as u64 * 10_000;
        }
    }
    if hour.digits > 2 || minute.digits > 2 || second.digits > 2 {
        return Err(DateError::Syntax);
    }
    let hour = match s.meridiem() {
        Some(pm) => hour12(hour, pm)?,
        None => hour.value,
    };
    if hour > 23 || minute.value > 59 || second.value > 59 {
        return Err(DateError::Range);
    }
    let seconds = (hour * 3600 + minute.value * 60 + second.value) as u64;
    Ok(seconds * UNITS_PER_SECOND + fraction)
}

/// Up to 3 digits for datetime, 7 for the newer types; 100 ns units.
fn digits_of_fraction(s: &mut Scanner<'_>, family: Family) -> Result<u64, DateError> {
    let n = s.number().ok_or(DateError::Syntax)?;
    let limit = if family == Family::Old { 3 } else { 7 };
    if n.digits > limit {
        return Err(DateError::Syntax);
    }
    Ok(n.value as u64 * 10u64.pow(7 - n.digits as u32))
}

/// `hh:mm` after the sign; at most 14 hours.
fn zone(s: &mut Scanner<'_>, negative: bool) -> Result<i16, DateError> {
    let h = s.number().ok_or(DateError::Syntax)?;
    if !s.eat(b':') {
        return Err(DateError::Syntax);
    }
    let m = s.number().ok_or(DateError::Syntax)?;
    let minutes = h.value.saturating_mul(60).saturating_add(m.value);
    if m.value > 59 || minutes > 840 {
        return Err(DateError::Range);
    }
    Ok(if negative {
        -(minutes as i16)
    } else {
        minutes as i16
    })
}
