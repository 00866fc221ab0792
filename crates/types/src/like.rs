//! LIKE and PATINDEX: `%`, `_`, `[a-f]`, `[^a]` and ESCAPE under a collation.
//!
//! A pattern is compiled once and matched many times. Every token but `%` eats exactly one character, so one retry point
//! (the last `%`) is enough and matching is never exponential.
//!
//! Trailing blanks of the pattern count. Trailing blanks of the value are ignored for varchar and count for nvarchar. An
//! unclosed `[` and an escape character at the very end match nothing.

use duramen_base::{SqlResult, given_up};

use crate::collate::{byte_key, unit_key};
use crate::{CollationId, Value, cp1252};

/// A character's place in the order; equal keys are the same character to the collation.
type Key = (u32, u16, u8, bool);

#[derive(Clone, PartialEq, Debug)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    Literal(Key),
    /// Ranges, inclusive; true: must not be in any.
    Set(bool, Vec<(Key, Key)>),
}

/// A compiled pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct LikePattern {
    /// `None`: matches nothing.
    tokens: Option<Vec<Token>>,
    collation: CollationId,
    /// nvarchar rules: either side is nvarchar.
    wide: bool,
}

/// A string value as UTF-16 units.
fn units(v: &Value) -> Vec<u16> {
    match v {
        Value::NVarChar(u) => u.clone(),
        Value::VarChar(b) => cp1252::decode_units(b),
        _ => Vec::new(),
    }
}

impl LikePattern {
    /// Compiles a varchar or nvarchar pattern. `wide` says that the matched values are nvarchar.
    pub fn compile(
        pattern: &Value,
        escape: Option<u16>,
        wide: bool,
        collation: CollationId,
    ) -> LikePattern {
        let wide = wide || matches!(pattern, Value::NVarChar(_));
        let key = |u| key_of(u, wide, collation);
        LikePattern {
            tokens: tokens(&units(pattern), escape, &key),
            collation,
            wide,
        }
    }

    /// Whether the whole value matches. NULL, and anything but a string, does not. A long value can be given up.
    pub fn matches(&self, v: &Value) -> SqlResult<bool> {
        let Some(tokens) = &self.tokens else {
            return Ok(false);
        };
        let found = match v {
            Value::VarChar(b) if !self.wide => return self.matches_bytes(b),
            Value::VarChar(_) | Value::NVarChar(_) => {
                let u = units(v);
                let key = |i: usize| unit_key(u[i], self.collation);
                // nvarchar: a trailing blank is a character like any other.
                run(tokens, u.len(), &key, &|_| false)?
            }
            _ => Found::NotHere,
        };
        Ok(found == Found::Here)
    }

    /// The same of a varchar, by a pattern that was not read as nvarchar.
    pub fn matches_bytes(&self, b: &[u8]) -> SqlResult<bool> {
        debug_assert!(!self.wide, "like: a wide pattern over bytes");
        let Some(tokens) = &self.tokens else {
            return Ok(false);
        };
        let key = |i: usize| byte_key(b[i], self.collation);
        Ok(run(tokens, b.len(), &key, &|i| b[i] == b' ')? == Found::Here)
    }

    /// PATINDEX: where the first match begins, from 1; 0 for none. Only a leading `%` lets a match begin later than at 1.
    pub fn position(&self, v: &Value) -> SqlResult<usize> {
        let Some(tokens) = &self.tokens else {
            return Ok(0);
        };
        let lead = tokens.iter().take_while(|t| **t == Token::Any).count();
        if lead == 0 {
            return Ok(usize::from(self.matches(v)?));
        }
        let u = units(v);
        let rest = &tokens[lead..];
        if rest.is_empty() {
            return Ok(1);
        }
        for start in 0..=u.len() {
            given_up::after_step(start)?;
            let key = |i: usize| key_of(u[start + i], self.wide, self.collation);
            let blank = |i: usize| !self.wide && u[start + i] == b' ' as u16;
            match run(rest, u.len() - start, &key, &blank)? {
                Found::Here => return Ok(start + 1),
                Found::NotHere => {}
                Found::Nowhere => return Ok(0),
            }
        }
        Ok(0)
    }

    /// The literal characters the pattern starts with, for a range on an index; their count.
    pub fn literal_prefix(&self) -> usize {
        let tokens = self.tokens.as_deref().unwrap_or_default();
        tokens
            .iter()
            .take_while(|t| matches!(t, Token::Literal(_)))
            .count()
    }
}

fn key_of(u: u16, wide: bool, collation: CollationId) -> Key {
    match cp1252::from_utf16(u) {
        Some(b) if !wide => byte_key(b, collation),
        _ => unit_key(u, collation),
    }
}

fn tokens(pattern: &[u16], escape: Option<u16>, key: &dyn Fn(u16) -> Key) -> Option<Vec<Token>> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut at = 0;
    while let Some(&u) = pattern.get(at) {
        at += 1;
        if Some(u) == escape {
            // The escape character is dropped, the next one means itself.
            out.push(Token::Literal(key(*pattern.get(at)?)));
            at += 1;
            continue;
        }
        out.push(match u8::try_from(u) {
            Ok(b'%') => Token::Any,
            Ok(b'_') => Token::One,
            Ok(b'[') => {
                let (set, next) = set(pattern, at, escape, key)?;
                at = next;
                set
            }
            _ => Token::Literal(key(u)),
        });
    }
    Some(out)
}

/// A set after its `[`: the token and where the pattern goes on; `None` when it is never closed.
fn set(
    pattern: &[u16],
    mut at: usize,
    escape: Option<u16>,
    key: &dyn Fn(u16) -> Key,
) -> Option<(Token, usize)> {
    let negated = pattern.get(at) == Some(&(b'^' as u16));
    at += negated as usize;
    let mut ranges: Vec<(Key, Key)> = Vec::new();
    loop {
        let mut u = *pattern.get(at)?;
        at += 1;
        let mut literal = false;
        if Some(u) == escape {
            u = *pattern.get(at)?;
            at += 1;
            literal = true;
        }
        if u == b']' as u16 && !literal {
            return Some((Token::Set(negated, ranges), at));
        }
        let low = key(u);
        // `a-f`; a hyphen before the bracket is itself.
        let ranged = pattern.get(at) == Some(&(b'-' as u16))
            && pattern.get(at + 1).is_some_and(|&c| c != b']' as u16);
        if !ranged {
            ranges.push((low, low));
            continue;
        }
        at += 1;
        let mut high = *pattern.get(at)?;
        at += 1;
        if Some(high) == escape {
            high = *pattern.get(at)?;
            at += 1;
        }
        ranges.push((low, key(high)));
    }
}

/// Whether characters match, or could from a later one on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Here,
    NotHere,
    /// What follows a `%` is not among them, so that it is not among fewer of them either.
    Nowhere,
}

/// Matches `tokens` against `n` characters. `blank` says which may be left over at the end. What takes long is trying again
/// after a `%`: there it can be given up.
fn run(
    tokens: &[Token],
    n: usize,
    key: &dyn Fn(usize) -> Key,
    blank: &dyn Fn(usize) -> bool,
) -> SqlResult<Found> {
    let (mut t, mut i) = (0, 0);
    // Where to go on when a match fails after a `%`: the token after it, and the character it gives up next.
    let mut retry: Option<(usize, usize)> = None;
    let not = |retry: Option<_>| match retry {
        Some(_) => Found::Nowhere,
        None => Found::NotHere,
    };
    loop {
        let hit = match tokens.get(t) {
            None if (i..n).all(blank) => return Ok(Found::Here),
            None => false,
            Some(Token::Any) => {
                t += 1;
                if t == tokens.len() {
                    return Ok(Found::Here);
                }
                retry = Some((t, i));
                continue;
            }
            Some(_) if i == n => return Ok(not(retry)),
            Some(Token::One) => true,
            Some(Token::Literal(k)) => key(i) == *k,
            Some(Token::Set(negated, ranges)) => {
                let k = key(i);
                ranges.iter().any(|(a, b)| *a <= k && k <= *b) != *negated
            }
        };
        if hit {
            t += 1;
            i += 1;
            continue;
        }
        match retry {
            Some((token, from)) if from < n => {
                given_up::after_step(from)?;
                retry = Some((token, from + 1));
                t = token;
                i = from + 1;
            }
            _ => return Ok(not(retry)),
        }
    }
}

#[cfg(test)]
mod tests;
