//! What the reference says of a function. Every example is run by a test.

/// A function's name and its line of the reference.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// Lower case.
    pub name: &'static str,
    pub gives: &'static str,
    /// What may stand behind SELECT and shows it; nothing where it may not stand there.
    pub example: &'static str,
}

pub const fn doc(name: &'static str, gives: &'static str, example: &'static str) -> Doc {
    Doc {
        name,
        gives,
        example,
    }
}

/// A function as the reference lists it: with its least and most arguments.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub doc: Doc,
    pub min: usize,
    pub max: usize,
}
