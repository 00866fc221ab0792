//! What the head is made of. With the feature `model` it is loom's: then only the tests of `model.rs` can run.

#[cfg(not(feature = "model"))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

    pub use duramen_os::thread::{interleave, yield_now};

    /// The ordering of an access that a model may weaken.
    #[inline(always)]
    pub const fn order(_of: super::Access, order: Ordering) -> Ordering {
        order
    }
}

#[cfg(not(feature = "model"))]
pub(super) use super::buffer::Buffer;
#[cfg(not(feature = "model"))]
pub(super) use real::*;

#[cfg(feature = "model")]
pub(super) use super::model::{Buffer, parts::*};

/// Accesses without whose ordering the head would be wrong; `model.rs` weakens each and finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// The entry of a record that has been copied.
    Publish,
    /// The sealer's look at an entry.
    Entry,
    /// The word of a generation that begins.
    Begin,
    /// The looks of whoever asks for the last record at the word and at what belongs to its generation.
    Last,
}
