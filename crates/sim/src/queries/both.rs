//! A piece of SQL in T-SQL and in SQLite's language.

/// The same meaning twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Both {
    pub ours: String,
    pub theirs: String,
}

/// Text that both languages write alike.
pub fn same(text: impl Into<String>) -> Both {
    let ours = text.into();
    let theirs = ours.clone();
    Both { ours, theirs }
}

/// `{0}`, `{1}`... of a template replaced by parts.
pub fn fill(template: &str, parts: &[&Both]) -> Both {
    pair(template, template, parts)
}

/// A template for each language.
pub fn pair(ours: &str, theirs: &str, parts: &[&Both]) -> Both {
    Both {
        ours: replace(ours, parts, |b| &b.ours),
        theirs: replace(theirs, parts, |b| &b.theirs),
    }
}

/// Pieces with a separator between them.
pub fn list(items: &[Both], separator: &str) -> Both {
    let join = |f: fn(&Both) -> &str| {
        let texts: Vec<&str> = items.iter().map(f).collect();
        texts.join(separator)
    };
    Both {
        ours: join(|b| &b.ours),
        theirs: join(|b| &b.theirs),
    }
}

fn replace<'b>(template: &str, parts: &[&'b Both], side: fn(&'b Both) -> &'b String) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digit = from.as_bytes().get(1).map_or(0, |b| b.wrapping_sub(b'0'));
        match parts.get(usize::from(digit)) {
            Some(part) => out.push_str(side(part)),
            None => out.push_str(&from[..3.min(from.len())]),
        }
        rest = &from[3.min(from.len())..];
    }
    out.push_str(rest);
    out
}
