//! Text to tokens.
//!
//! The whole batch is cut before parsing starts. Two things are left to the parser because they depend on where they
//! stand: whether `"x"` is a name or a string (SET QUOTED_IDENTIFIER acts by position), and operators of two
//! characters (`> =` may hold blanks), which come as single characters here.

use std::borrow::Cow;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::memory::meter;

use crate::keywords::is_reserved;

/// The longest name, in UTF-16 units.
const NAME_MAX: usize = 128;
/// The most digits a decimal literal may have.
const DIGITS_MAX: usize = 38;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Tok {
    /// A word without delimiters.
    Word {
        reserved: bool,
    },
    /// `[name]`, doubled brackets undone.
    Bracketed(String),
    /// `"text"`, doubled quotes undone: a name or a string.
    DoubleQuoted(String),
    /// `@x`, `@@x`.
    Variable,
    String {
        value: String,
        national: bool,
    },
    Int(i32),
    Decimal(String),
    Float(f64),
    Money(i64),
    Binary(Vec<u8>),
    /// A single character.
    Op(char),
    End,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub kind: Tok,
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

/// Room for so many tokens at first, at most: a text may be one long literal.
const FIRST_TOKENS: usize = 1 << 14;
/// After so many, whether there is memory for more is asked.
const TOKENS_CHECKED: usize = 256;
/// Bytes of a literal or a comment between two such looks.
const PIECE: usize = 1 << 16;

/// Cuts `sql` into tokens, the last one always `End`.
pub(crate) fn tokenize(sql: &str) -> SqlResult<Vec<Token>> {
    // Offsets are u32; the protocol's limit is far below.
    if u32::try_from(sql.len()).is_err() {
        return Err(SqlError::new(&messages::NESTED_TOO_DEEPLY, &[]).at_line(1));
    }
    let mut lexer = Lexer {
        sql,
        pos: 0,
        line: 1,
        tokens: Vec::with_capacity((sql.len() / 5 + 1).min(FIRST_TOKENS)),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    sql: &'a str,
    pos: usize,
    line: u32,
    tokens: Vec<Token>,
}

fn is_blank(c: char) -> bool {
    matches!(c, '\0'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200b}')
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
        )
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '#' | '@')
}

fn continues_name(c: char) -> bool {
    starts_name(c) || c == '$' || c.is_numeric()
}

fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '\u{a2}'..='\u{a5}' | '\u{9f2}' | '\u{9f3}' | '\u{e3f}' | '\u{17db}' | '\u{20a0}'..='\u{20b1}'
            | '\u{fdfc}' | '\u{fe69}' | '\u{ff04}' | '\u{ffe0}' | '\u{ffe1}' | '\u{ffe5}' | '\u{ffe6}'
    )
}

/// Names that may start with `$`.
const DOLLAR_NAMES: &[&str] = &[
    "$action",
    "$identity",
    "$rowguid",
    "$partition",
    "$node_id",
    "$edge_id",
    "$from_id",
    "$to_id",
];

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.sql[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.sql
            .as_bytes()
            .get(self.pos + ahead)
            .copied()
            .unwrap_or(0)
    }

    fn error(
        &self,
        message: &messages::Message,
        args: &[&dyn std::fmt::Display],
        line: u32,
    ) -> SqlError {
        SqlError::new(message, args).at_line(line as i32)
    }

    fn run(&mut self) -> SqlResult<()> {
        while let Some(c) = self.peek() {
            if c == '\n' {
                self.line += 1;
                self.pos += 1;
                continue;
            }
            if is_blank(c) {
                self.pos += c.len_utf8();
                continue;
            }
            if self.rest().starts_with("--") {
                let rest = self.rest();
                self.pos += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            if self.rest().starts_with("/*") {
                self.block_comment()?;
                continue;
            }
            let (start, line) = (self.pos, self.line);
            let kind = self.token(c)?;
            self.tokens.push(Token {
                kind,
                start: start as u32,
                end: self.pos as u32,
                line,
            });
            if self.tokens.len().is_multiple_of(TOKENS_CHECKED) {
                meter::check()?;
            }
        }
        self.tokens.push(Token {
            kind: Tok::End,
            start: self.sql.len() as u32,
            end: self.sql.len() as u32,
            line: self.line,
        });
        Ok(())
    }

    /// Block comments nest; nothing else is seen inside them.
    fn block_comment(&mut self) -> SqlResult<()> {
        let line = self.line;
        let mut depth = 0usize;
        loop {
            match (self.byte(0), self.byte(1)) {
                _ if self.pos >= self.sql.len() => {
                    return Err(self.error(&messages::MISSING_END_COMMENT, &[], line));
                }
                (b'/', b'*') => {
                    depth += 1;
                    self.pos += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.pos += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (b, _) => {
                    self.line += u32::from(b == b'\n');
                    self.pos += 1;
                    if self.pos.is_multiple_of(PIECE) {
                        meter::check()?;
                    }
                }
            }
        }
    }

    fn token(&mut self, c: char) -> SqlResult<Tok> {
        match c {
            '\'' => {
                let value = self.quoted('\'', '\'', true)?;
                Ok(Tok::String {
                    value,
                    national: false,
                })
            }
            'N' | 'n' if self.byte(1) == b'\'' => {
                self.pos += 1;
                let value = self.quoted('\'', '\'', true)?;
                Ok(Tok::String {
                    value,
                    national: true,
                })
            }
            '"' => Ok(Tok::DoubleQuoted(self.quoted('"', '"', true)?)),
            '[' => {
                let (line, name) = (self.line, self.quoted('[', ']', false)?);
                self.check_name(&name, line)?;
                Ok(Tok::Bracketed(name))
            }
            '0' if matches!(self.byte(1), b'x' | b'X') => Ok(self.binary()),
            '0'..='9' => self.number(),
            '.' if self.byte(1).is_ascii_digit() => self.number(),
            '@' => {
                self.name()?;
                Ok(Tok::Variable)
            }
            '$' if self.peek_second().is_some_and(|c| c.is_ascii_alphabetic()) => {
                self.dollar_name()
            }
            c if is_currency(c) => self.money(),
            c if starts_name(c) => {
                let word = self.name()?;
                let reserved = is_reserved(word);
                Ok(Tok::Word { reserved })
            }
            c => {
                self.pos += c.len_utf8();
                Ok(Tok::Op(c))
            }
        }
    }

    fn name(&mut self) -> SqlResult<&'a str> {
        let rest = self.rest();
        let mut end = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        if end == 0 {
            end = rest.chars().next().map_or(0, char::len_utf8);
        }
        let word = &rest[..end];
        self.pos += end;
        self.check_name(word, self.line)?;
        Ok(word)
    }

    fn check_name(&self, name: &str, line: u32) -> SqlResult<()> {
        if name.len() > NAME_MAX && name.encode_utf16().count() > NAME_MAX {
            let shown: String = name.chars().take(NAME_MAX).collect();
            let error = self.error(
                &messages::NAME_TOO_LONG,
                &[&"identifier", &shown, &NAME_MAX],
                line,
            );
            return Err(error.with_state(4));
        }
        Ok(())
    }

    /// The text between `open` (here) and `close`, a doubled `close` standing for one. In strings, a backslash before
    /// a line end removes both.
    fn quoted(&mut self, open: char, close: char, continuation: bool) -> SqlResult<String> {
        let line = self.line;
        self.pos += open.len_utf8();
        let from = self.pos;
        let mut value = String::new();
        loop {
            let rest = self.rest();
            // Of a long literal a piece at a time.
            if let Some(piece) = rest.as_bytes().get(..PIECE)
                && !piece
                    .iter()
                    .any(|b| [close as u8, b'\n', b'\\'].contains(b))
            {
                meter::check()?;
                let end = rest.floor_char_boundary(PIECE);
                value.push_str(&rest[..end]);
                self.pos += end;
                continue;
            }
            let Some(at) = rest.find([close, '\n', '\\']) else {
                let shown: String = self.sql[from..].chars().take(NAME_MAX).collect();
                return Err(self.error(&messages::UNCLOSED_QUOTE, &[&shown], line));
            };
            value.push_str(&rest[..at]);
            self.pos += at;
            match rest.as_bytes()[at] {
                b'\n' => {
                    self.line += 1;
                    value.push('\n');
                    self.pos += 1;
                }
                b'\\' => {
                    let skip = match (continuation, self.byte(1), self.byte(2)) {
                        (true, b'\n', _) => 2,
                        (true, b'\r', b'\n') => 3,
                        _ => 0,
                    };
                    if skip > 0 {
                        self.line += 1;
                        self.pos += skip;
                    } else {
                        value.push('\\');
                        self.pos += 1;
                    }
                }
                _ => {
                    self.pos += 1;
                    if self.peek() != Some(close) {
                        return Ok(value);
                    }
                    value.push(close);
                    self.pos += 1;
                }
            }
        }
    }

    /// `0x...`; an odd number of digits gets a leading zero; backslash and line end continue it.
    fn binary(&mut self) -> Tok {
        self.pos += 2;
        let mut digits = Vec::new();
        loop {
            let b = self.byte(0);
            if let Some(d) = (b as char).to_digit(16) {
                digits.push(d as u8);
                self.pos += 1;
                continue;
            }
            match (b, self.byte(1), self.byte(2)) {
                (b'\\', b'\n', _) => self.pos += 2,
                (b'\\', b'\r', b'\n') => self.pos += 3,
                _ => break,
            }
            self.line += 1;
        }
        if digits.len() % 2 == 1 {
            digits.insert(0, 0);
        }
        Tok::Binary(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
    }

    fn digits(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        self.pos += end;
        &rest[..end]
    }

    fn number(&mut self) -> SqlResult<Tok> {
        let start = self.pos;
        let whole = self.digits();
        let mut fraction = None;
        if self.byte(0) == b'.' {
            self.pos += 1;
            fraction = Some(self.digits());
        }
        if matches!(self.byte(0), b'e' | b'E') && !self.exponent_is_word() {
            return self.float(start);
        }
        let text = &self.sql[start..self.pos];
        if fraction.is_none()
            && let Ok(value) = whole.parse::<i32>()
        {
            return Ok(Tok::Int(value));
        }
        let whole = whole.trim_start_matches('0');
        let digits = whole.len() + fraction.map_or(0, str::len);
        if digits > DIGITS_MAX {
            return Err(self.error(
                &messages::NUMBER_OUT_OF_RANGE,
                &[&"number", &text],
                self.line,
            ));
        }
        Ok(Tok::Decimal(match fraction {
            Some(f) if whole.is_empty() && f.is_empty() => "0.".to_string(),
            Some(f) => format!("{whole}.{f}"),
            None => whole.to_string(),
        }))
    }

    /// Digits after `e` are optional, so `1e` is a float, but `1ex` is `1` with the alias `ex`.
    fn exponent_is_word(&self) -> bool {
        let mut after = self.rest()[1..].chars();
        after
            .next()
            .is_some_and(|c| continues_name(c) && !c.is_ascii_digit())
    }

    fn float(&mut self, start: usize) -> SqlResult<Tok> {
        self.pos += 1;
        if matches!(self.byte(0), b'+' | b'-') {
            self.pos += 1;
        }
        let exponent = self.digits();
        let text = &self.sql[start..self.pos];
        let full: Cow<str> = if exponent.is_empty() {
            format!("{}0", text.trim_end_matches(['+', '-'])).into()
        } else {
            text.into()
        };
        match full.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Tok::Float(value)),
            _ => Err(self.error(
                &messages::FLOAT_LITERAL_OUT_OF_RANGE,
                &[&text, &8],
                self.line,
            )),
        }
    }

    fn dollar_name(&mut self) -> SqlResult<Tok> {
        let start = self.pos;
        self.pos += 1;
        let rest = self.rest();
        let end = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        self.pos += end;
        let word = &self.sql[start..self.pos];
        if DOLLAR_NAMES.iter().any(|n| n.eq_ignore_ascii_case(word)) {
            return Ok(Tok::Word { reserved: false });
        }
        self.pos = start + 1;
        Ok(Tok::Money(0))
    }

    /// A currency sign, an optional sign, digits; rounded to ten-thousandths.
    fn money(&mut self) -> SqlResult<Tok> {
        let start = self.pos;
        self.pos += self.peek().map_or(0, char::len_utf8);
        let negative = self.byte(0) == b'-' && matches!(self.byte(1), b'0'..=b'9' | b'.');
        if negative || (self.byte(0) == b'+' && self.byte(1).is_ascii_digit()) {
            self.pos += 1;
        }
        let whole = self.digits();
        let mut fraction = "";
        if self.byte(0) == b'.' {
            self.pos += 1;
            fraction = self.digits();
        }
        let text = &self.sql[start..self.pos];
        let value = money_value(whole, fraction, negative);
        value
            .map(Tok::Money)
            .ok_or_else(|| self.error(&messages::INVALID_MONEY, &[&text], self.line))
    }
}

fn money_value(whole: &str, fraction: &str, negative: bool) -> Option<i64> {
    let mut value: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut digits = fraction.bytes().map(|b| i128::from(b - b'0'));
    for _ in 0..4 {
        value = value
            .checked_mul(10)?
            .checked_add(digits.next().unwrap_or(0))?;
    }
    value += i128::from(digits.next().unwrap_or(0) >= 5);
    i64::try_from(if negative { -value } else { value }).ok()
}
