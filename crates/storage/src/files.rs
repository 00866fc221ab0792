//! The data files of a database: made, listed, filled in proportion, grown, changed, removed.

mod admin;
pub(crate) mod changed;
mod cut;
pub(crate) mod fill;
pub(crate) mod grow;
pub(crate) mod log_header;
pub(crate) mod make;
pub(crate) mod minimal;
mod raise;
pub(crate) mod state;
pub(crate) mod table;

pub use admin::{FileChange, FilegroupChange, FilegroupInfo};

use duramen_pool::DataFileSpec;

/// What catalog views show of a data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileInfo {
    pub spec: DataFileSpec,
    pub size: u32,
    pub free_extents: u32,
}
