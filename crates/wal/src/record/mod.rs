//! Log records as bytes: the header every record begins with, the page fields, and the packed elements.
//!
//! ```text
//! 0  u16 zero          14 u16 flags           fixed      u16 n, then n element lengths (u16)
//! 2  u16 fixed length  16 6   transaction id  pad to 4
//! 4  10  previous LSN  22 u8  operation       element 0, padded to 4
//!    (same transaction)23 u8  context         element 1, ...
//! ```
//! Page records go on with page and file (24), slot (30), object part (32), the page's previous LSN (36), index part
//! (46), and, when the fixed part is 62 bytes or more, allocation unit (48), offset in row (56), modify size (58) and
//! row flags (60). The layouts are those decoded from real files; fields whose place is not publicly known are ours and
//! described in `docs/format/log.md`.
//!
//! Invariants: (1) [`RecordView::parse`] checks every length, so no accessor of a view can read outside the record;
//! [test: any_bytes_are_parsed_or_refused]
//! (2) a record's length is a multiple of 4 and follows from its own bytes, whatever padding comes after it.
//!    [test: round_trip_with_padding_behind]

mod build;
mod names;
#[cfg(test)]
mod tests;
mod view;

pub use build::{RecordBuilder, datetime_from_unix_ns, recycle};
pub use names::{Lcx, Lop};
pub use view::{ActiveXact, PageFields, RecordView};

/// Bytes of the header that every record has.
pub const HEADER_BYTES: usize = 24;
/// Length of the fixed part of a record that changes a row.
pub const ROW_FIXED: u16 = 62;
/// `Flag Bits` of a record inside a transaction.
pub const FLAG_NORMAL: u16 = 0x0002;
/// `Flag Bits` of a compensation record: redo-only.
pub const FLAG_COMPENSATION: u16 = 0x0003;

/// The next multiple of 4.
pub(crate) const fn align4(n: usize) -> usize {
    (n + 3) & !3
}
