//! Pure bytes: what a page, a row and an allocation map look like on disk.
//!
//! Nothing here does I/O, takes a latch or knows a transaction; everything takes byte slices and gives back values or
//! byte slices. The formats are SQL Server's (pages of 8,192 bytes, FixedVar rows, PFS/GAM/SGAM/IAM maps), so the same
//! code reads foreign files and writes ours.
//!
//! | module | owns |
//! |---|---|
//! | `page` | a page: its header, its slots, what protects it |
//! | `row`, `row_ref`, `layout`, `value`, `values`, `pack`, `pack_columns` | rows: what they are, where the columns lie, values from and to their bytes |
//! | `lob` | values outside their row |
//! | `alloc` | allocation maps |
//! | `file_header`, `boot`, `file_table`, `version` | what a file, a database says of itself; our mark |
//! | `foreign` | databases of others, read-only: their catalog, their rows |
//! | `backup`, `xpress` | blocks and pages within backup media, and their compression |
//! | `sound` | whether a page that is written is one |
//!
//! Invariants
//! 1. Bytes are never trusted: every offset and length is checked, a bad one is a [`FormatError`], never a panic.
//!    [test: no_turned_bit_of_a_page_is_silent; assert: format/1]
//! 2. Every page operation is a function of the page's bytes and its arguments only, so that redo repeats it exactly.
//!    [assert: format/2]
//! 3. `free bytes + record bytes + 2 * slots == 8,096` on every page that was built by [`page::PageMut`]. [assert: format/3]

pub mod alloc;
pub mod backup;
pub mod boot;
pub mod file_header;
pub mod file_table;
pub mod foreign;
pub mod layout;
pub mod lob;
pub mod pack;
pub mod pack_columns;
pub mod page;
pub mod row;
mod row_ref;
pub mod sound;
pub mod value;
pub mod values;
pub mod version;
pub mod xpress;

pub use layout::{ColumnLayout, ColumnSpec, RowKind, RowLayout, layout_for, layout_in_order};
pub use row::Field;
pub use row_ref::{RowFormat, RowRef};
pub use value::{decode_value, encode_value};
pub use values::{decode_row, decode_row_with, encode_node_row, encode_row};

use std::fmt;

use duramen_base::{SqlError, messages};

/// Bytes that are not what the format says, or an operation that does not fit the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// The page or record contradicts its own format; the text names the field.
    Corrupt(&'static str),
    /// The record does not fit the page, even after compaction.
    NoSpace,
    /// No such slot.
    NoSlot(u16),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Corrupt(what) => write!(f, "corrupt {what}"),
            FormatError::NoSpace => f.write_str("the record does not fit the page"),
            FormatError::NoSlot(slot) => write!(f, "slot {slot} does not exist"),
        }
    }
}

impl std::error::Error for FormatError {}

/// A client sees that something is inconsistent; the reference number tells which field.
impl From<FormatError> for SqlError {
    fn from(e: FormatError) -> SqlError {
        let reference = match e {
            FormatError::NoSpace => {
                let args: [&dyn fmt::Display; 2] = [&"(unknown)", &page::MAX_RECORD_BYTES];
                return SqlError::new(&messages::ROW_TOO_LARGE, &args);
            }
            FormatError::NoSlot(slot) => u32::from(slot),
            FormatError::Corrupt(what) => what.bytes().fold(0, |n: u32, b| {
                n.wrapping_mul(31).wrapping_add(u32::from(b)) & 0x7fff_ffff
            }),
        };
        SqlError::new(&messages::INCONSISTENCY, &[&reference])
    }
}

pub type FormatResult<T> = Result<T, FormatError>;

/// The bytes of one page.
pub type PageBytes = [u8; duramen_base::PAGE_BYTES];

pub fn u16_at(b: &[u8], at: usize) -> FormatResult<u16> {
    match b.get(at..at + 2) {
        Some(s) => Ok(u16::from_le_bytes([s[0], s[1]])),
        None => Err(FormatError::Corrupt("length (2 bytes expected)")),
    }
}

pub fn u32_at(b: &[u8], at: usize) -> FormatResult<u32> {
    match b.get(at..at + 4) {
        Some(s) => Ok(u32::from_le_bytes([s[0], s[1], s[2], s[3]])),
        None => Err(FormatError::Corrupt("length (4 bytes expected)")),
    }
}

pub fn u64_at(b: &[u8], at: usize) -> FormatResult<u64> {
    Ok(u64::from(u32_at(b, at)?) | u64::from(u32_at(b, at + 4)?) << 32)
}

#[cfg(test)]
pub(crate) mod tests;
