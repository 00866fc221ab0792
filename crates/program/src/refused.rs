//! What SQL Server itself refuses by a statement's text alone, with messages of its own.

pub mod elements;
mod triggers;

pub use self::elements::{reads_itself, table_variable};
pub(crate) use self::triggers::in_trigger;
