//! A row where it lies: its bytes and the format that they are in.
//!
//! Whoever has a row asks it what it is ([`RowRef::kind`], [`RowRef::is_ghost`]) instead of looking at its bytes, which say
//! so in another place in another format.

use super::page::{kind_of, record_kind};

/// How a row's columns are laid out in its bytes. Compressed (CD) records will be the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// Fixed columns, a null bitmap, then the variable ones: see `row`.
    FixedVar,
}

/// A row as it lies on a page or in a log record. Bytes may follow that are not the row's, where its length does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRef<'a> {
    bytes: &'a [u8],
    format: RowFormat,
}

impl<'a> RowRef<'a> {
    /// Bytes that are a FixedVar row; they are not looked at.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> RowRef<'a> {
        RowRef {
            bytes,
            format: RowFormat::FixedVar,
        }
    }

    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub fn to_vec(self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    #[inline]
    pub fn len(self) -> usize {
        self.bytes.len()
    }

    /// Never on a page: there a record has a first byte at least.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    pub fn format(self) -> RowFormat {
        self.format
    }

    /// Status A, the byte that says what the row is and which parts it has; 0 where there are no bytes.
    #[inline]
    pub fn status(self) -> u8 {
        match self.bytes.first() {
            Some(status) => *status,
            None => 0,
        }
    }

    /// One of [`record_kind`].
    #[inline]
    pub fn kind(self) -> u8 {
        kind_of(self.status())
    }

    /// Whether the row is deleted but still in its slot.
    #[inline]
    pub fn is_ghost(self) -> bool {
        matches!(
            self.kind(),
            record_kind::GHOST_INDEX | record_kind::GHOST_DATA | record_kind::GHOST_VERSION
        )
    }
}
