//! What was found.

/// A finding: what kind of one, by which a shorter story is recognised as having the same, and what was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub class: String,
    pub text: String,
}

impl Fault {
    pub fn new(class: impl Into<String>, text: impl Into<String>) -> Fault {
        Fault {
            class: class.into(),
            text: text.into(),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {}", self.class, self.text)
    }
}

/// Findings of checks that are passed over, by number: `DURAMEN_SQL_KNOWN=8964,8952`.
pub fn is_known(number: i64) -> bool {
    let known = std::env::var("DURAMEN_SQL_KNOWN").unwrap_or_default();
    known.split(',').any(|k| k == number.to_string())
}
