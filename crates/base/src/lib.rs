//! The bottom floor: ids, units, limits, errors and the message catalogue, checksums.

#![forbid(unsafe_code)]

mod error;
pub mod given_up;
mod ids;
mod lsn;
pub mod messages;
pub mod planted;
pub mod utf16;

pub use error::{SqlError, SqlResult};
pub use ids::{AllocUnitId, DbId, FileId, ObjectId, PageId, RowsetId, SessionId, SlotId, XdesId};
pub use lsn::Lsn;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 8192;
/// Pages of an extent.
pub const EXTENT_PAGES: u32 = 8;
