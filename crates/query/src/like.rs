//! LIKE: `%` any run, `_` any character, `[a-z]` and `[^a-z]` sets; an escape character makes the next one plain.

use duramen_types::CollationId;

enum Part {
    Any,
    One,
    Char(char),
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

pub struct LikePattern {
    parts: Vec<Part>,
    fold: bool,
}

impl LikePattern {
    pub fn new(pattern: &str, escape: Option<char>, collation: CollationId) -> LikePattern {
        let fold = collation.ignores_case();
        let mut parts = Vec::new();
        let chars: Vec<char> = pattern.chars().collect();
        let mut i = 0;
        while i < chars.len() {
            let c = chars[i];
            i += 1;
            if Some(c) == escape && i < chars.len() {
                parts.push(Part::Char(folded(chars[i], fold)));
                i += 1;
                continue;
            }
            match c {
                '%' => parts.push(Part::Any),
                '_' => parts.push(Part::One),
                '[' => match chars[i..].iter().position(|c| *c == ']') {
                    Some(len) if len > 0 => {
                        parts.push(set(&chars[i..i + len], fold));
                        i += len + 1;
                    }
                    // An unclosed or empty set matches nothing.
                    _ => parts.push(Part::Set {
                        ranges: Vec::new(),
                        negated: false,
                    }),
                },
                c => parts.push(Part::Char(folded(c, fold))),
            }
        }
        LikePattern { parts, fold }
    }

    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().map(|c| folded(c, self.fold)).collect();
        // One backtrack point suffices: a later `%` makes earlier ones irrelevant.
        let (mut t, mut p) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let advanced = match self.parts.get(p) {
                None if t == text.len() => return true,
                Some(Part::Any) => {
                    p += 1;
                    retry = Some((p, t));
                    continue;
                }
                Some(part) => text.get(t).is_some_and(|c| accepts(part, *c)),
                None => false,
            };
            if advanced {
                t += 1;
                p += 1;
            } else {
                match retry {
                    Some((rp, rt)) if rt < text.len() => {
                        retry = Some((rp, rt + 1));
                        (p, t) = (rp, rt + 1);
                    }
                    // Trailing blanks of the text do not matter.
                    _ => {
                        return p == self.parts.len()
                            && text[t.min(text.len())..].iter().all(|c| *c == ' ');
                    }
                }
            }
        }
    }
}

fn accepts(part: &Part, c: char) -> bool {
    match part {
        Part::Any => true,
        Part::One => true,
        Part::Char(p) => *p == c,
        Part::Set { ranges, negated } => {
            ranges.iter().any(|(a, b)| (*a..=*b).contains(&c)) != *negated
        }
    }
}

fn folded(c: char, fold: bool) -> char {
    if fold {
        c.to_lowercase().next().unwrap_or(c)
    } else {
        c
    }
}

fn set(body: &[char], fold: bool) -> Part {
    let (negated, body) = match body {
        ['^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut ranges = Vec::new();
    let mut i = 0;
    while i < body.len() {
        if i + 2 < body.len() && body[i + 1] == '-' {
            ranges.push((folded(body[i], fold), folded(body[i + 2], fold)));
            i += 3;
        } else {
            ranges.push((folded(body[i], fold), folded(body[i], fold)));
            i += 1;
        }
    }
    Part::Set { ranges, negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, None, CollationId::DEFAULT).matches(text)
    }

    #[test]
    fn patterns_of_the_language() {
        assert!(like("abc", "a%"));
        assert!(like("ABC", "%b_"));
        assert!(like("abc", "abc"));
        assert!(like("abc  ", "abc"));
        assert!(!like("abc", "ab"));
        assert!(like("a5", "a[0-9]"));
        assert!(!like("ax", "a[0-9]"));
        assert!(like("ax", "a[^0-9]"));
        assert!(like("50%", "50[%]"));
        assert!(like("aXbXc", "%x%x%"));
        assert!(!like("", "_"));
        assert!(like("", "%"));
        assert!(LikePattern::new("5!%", Some('!'), CollationId::DEFAULT).matches("5%"));
    }
}
