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

/// A function as the reference lists it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub doc: Doc,
    /// Least and most arguments.
    pub min: usize,
    pub max: usize,
    /// What it makes of NULL, where its kind says so.
    pub of_null: Option<&'static str>,
    /// The same arguments give the same value at any time and to everybody.
    pub deterministic: bool,
    /// What it asks of its caller; nothing but its arguments, where it looks at nothing else.
    pub needs: &'static str,
}

/// A function that looks at nothing but its arguments.
pub const fn of_arguments(doc: Doc, (min, max): (usize, usize), of_null: &'static str) -> Entry {
    Entry {
        doc,
        min,
        max,
        of_null: Some(of_null),
        deterministic: true,
        needs: "",
    }
}
