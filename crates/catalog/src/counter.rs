//! A counter whose numbers are reserved by blocks.

/// The number given out last, and the last that may be given out without writing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub last: i64,
    pub reserved: i64,
}
