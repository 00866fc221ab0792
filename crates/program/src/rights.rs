//! What may be granted, and what each statement, view, function and procedure needs of it: the words alone.

pub mod needs;
mod right;

pub use self::needs::{Need, Needs, Of};
pub use self::right::Right;
