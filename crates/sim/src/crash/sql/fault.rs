//! What was found.

/// A finding: what kind of one, by which a shorter story is recognised as having the same, and what was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub class: String,
    pub text: String,
    /// What the model's opinion rests on, where that can be another in a shorter story.
    pub grounds: String,
}

impl Fault {
    pub fn new(class: impl Into<String>, text: impl Into<String>) -> Fault {
        Fault {
            class: class.into(),
            text: text.into(),
            grounds: String::new(),
        }
    }

    /// The same, and what the model's opinion rests on.
    pub fn because(mut self, grounds: String) -> Fault {
        self.grounds = grounds;
        self
    }

    /// Both are the same finding.
    pub fn is_like(&self, other: &Fault) -> bool {
        self.class == other.class && self.grounds == other.grounds
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {}", self.class, self.text)
    }
}
