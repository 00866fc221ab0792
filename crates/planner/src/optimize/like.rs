//! `column LIKE 'prefix%'`: the range of a key that holds every string with that prefix.
//!
//! The range may hold more than those; LIKE itself stays in the filter above. It never holds less: both ends follow from
//! how `types::collate` orders strings, by the first level of one character after the other, as if each went on in blanks.
//! - Only ASCII letters and digits count as prefix. Each is one element of the first level, and what matches one in LIKE has
//!   its place there.
//! - The upper end has a character of a later place instead of the prefix's last one.
//! - What follows the prefix may come before a blank (a tab does). So the lower end is the prefix followed by the first
//!   character of all, as often as the column is long.

use duramen_types::collate::byte_key;
use duramen_types::{CollationId, SqlType, Value};

use duramen_query::{Expr, Kind};

/// Longer columns are no keys; their ranges are not looked for.
const LONGEST: usize = 1700;

/// The ends of the range, the lower one inclusive and the upper one, where there is one, not.
pub fn range(e: &Expr, column: usize, ty: &SqlType) -> Option<(Expr, Option<Expr>)> {
    let Kind::Like {
        input,
        pattern,
        escape: None,
        negated: false,
    } = &e.kind
    else {
        return None;
    };
    let own = matches!(input.kind, Kind::Column { depth: 0, index } if index == column);
    if !own || !ty.id.is_string() || input.ty.collation != ty.collation {
        return None;
    }
    let wide = ty.id.is_nchar();
    let text: Vec<u16> = match &pattern.kind {
        Kind::Const(Value::VarChar(b)) => b.iter().map(|b| u16::from(*b)).collect(),
        // varchar is compared by other rules beside nvarchar than its key is ordered by.
        Kind::Const(Value::NVarChar(u)) if wide => u.clone(),
        _ => return None,
    };
    let plain = |u: &u16| u8::try_from(*u).ok().filter(u8::is_ascii_alphanumeric);
    let prefix: Vec<u8> = text.iter().map_while(plain).collect();
    let most = usize::from(ty.length) / if wide { 2 } else { 1 };
    if prefix.is_empty() || most > LONGEST || prefix.len() > most {
        return None;
    }
    let constant = |text: &[u8]| {
        let value = match wide {
            true => Value::NVarChar(text.iter().map(|b| u16::from(*b)).collect()),
            false => Value::VarChar(text.to_vec()),
        };
        Expr::constant(value, *ty)
    };
    let mut low = prefix.clone();
    low.resize(most, first_of_all(ty.collation, wide));
    let high = after(&prefix, ty.collation);
    Some((constant(&low), high.map(|h| constant(&h))))
}

/// A lower end as plans show it: without what fills it up.
pub fn shown(e: &Expr) -> Expr {
    let mut e = e.clone();
    if let Kind::Const(value) = &mut e.kind {
        match value {
            Value::VarChar(b) => {
                let length = b.iter().rposition(|c| *c >= b' ').map_or(0, |at| at + 1);
                b.truncate(length);
            }
            Value::NVarChar(u) => {
                let length = u.iter().rposition(|c| *c >= 32).map_or(0, |at| at + 1);
                u.truncate(length);
            }
            _ => {}
        }
    }
    e
}

/// The character that comes before all others.
fn first_of_all(collation: CollationId, wide: bool) -> u8 {
    match (collation.is_binary(), wide || collation.is_utf8()) {
        (true, _) => 0,
        // Of the characters that weigh anything.
        (false, true) => b'\t',
        (false, false) => {
            let first = (0..=u8::MAX).min_by_key(|b| byte_key(*b, collation));
            first.unwrap_or(0)
        }
    }
}

/// A string that comes after all with this prefix; `None` where no string of letters and digits does.
fn after(prefix: &[u8], collation: CollationId) -> Option<Vec<u8>> {
    let mut out = prefix.to_vec();
    while let Some(last) = out.pop() {
        let next = match last {
            _ if collation.is_binary() => Some(last + 1),
            b'9' => Some(b'a'),
            b'z' | b'Z' => None,
            c => Some(c + 1),
        };
        if let Some(next) = next {
            out.push(next);
            return Some(out);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_types::compare;

    fn like(pattern: &str, ty: SqlType) -> Expr {
        let pattern = Value::VarChar(pattern.as_bytes().to_vec());
        Expr::predicate(Kind::Like {
            input: Box::new(Expr::column(0, ty, true)),
            pattern: Box::new(Expr::constant(pattern, SqlType::varchar(30))),
            escape: None,
            negated: false,
        })
    }

    /// Every string of up to two characters behind a prefix, and each other case or accent of the prefix that LIKE takes
    /// for it, lies within the range.
    #[test]
    fn no_string_with_the_prefix_is_outside() {
        let names = [
            "SQL_Latin1_General_CP1_CI_AS",
            "SQL_Latin1_General_CP1_CS_AS",
            "Latin1_General_CI_AI",
            "Latin1_General_BIN",
            "Latin1_General_BIN2",
        ];
        let mut looked = 0;
        for name in names {
            let collation = CollationId::from_name(name).expect(name);
            for wide in [false, true] {
                let mut ty = match wide {
                    true => SqlType::nvarchar(12),
                    false => SqlType::varchar(12),
                };
                ty.collation = collation;
                for prefix in ["a", "Az", "z", "9", "b9", "t", "s", "o", "zz9", "d"] {
                    let e = like(&format!("{prefix}%"), ty);
                    let (low, high) = range(&e, 0, &ty).expect("a range");
                    let end = |e: &Expr| match &e.kind {
                        Kind::Const(v) => v.clone(),
                        _ => Value::Null,
                    };
                    let (low, high) = (end(&low), high.as_ref().map(end));
                    let mut check = |text: Vec<u16>| {
                        let s = match wide {
                            true => Value::NVarChar(text),
                            false => Value::VarChar(text.iter().map(|u| *u as u8).collect()),
                        };
                        let case = format!("{name} {prefix} {s:?}");
                        assert!(compare(&low, &s, collation).is_le(), "low: {case}");
                        if let Some(high) = &high {
                            assert!(compare(&s, high, collation).is_lt(), "high: {case}");
                        }
                        looked += 1;
                    };
                    let own: Vec<u16> = prefix.encode_utf16().collect();
                    for x in 0..=255u16 {
                        check([&own[..], &[x]].concat());
                        check([&own[..], &[x, 9, x]].concat());
                        check([&own[..], &[9, x]].concat());
                        check([&own[..], &[x, 255, 254, 0]].concat());
                    }
                    if collation.ignores_case() {
                        let other = prefix.to_uppercase();
                        let other: Vec<u16> = other.encode_utf16().collect();
                        for x in 0..=255u16 {
                            check([&other[..], &[x]].concat());
                        }
                    }
                }
            }
        }
        assert!(looked > 100_000);
    }

    #[test]
    fn other_patterns_have_no_range() {
        let ty = SqlType::varchar(12);
        for pattern in ["%a", "_a%", "[a]%", "", "-a%", "averyverylongprefix%"] {
            assert!(range(&like(pattern, ty), 0, &ty).is_none(), "{pattern}");
        }
        assert!(range(&like("a%", ty), 1, &ty).is_none());
    }
}
