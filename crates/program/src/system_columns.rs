//! The columns of the system's views that are T-SQL texts: they are bound when somebody first asks for them.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use duramen_types::SqlType;

/// View, column id, name, type and nullability.
type SystemColumn = (i32, i32, String, SqlType, bool);

/// The columns of the views in the resource room, once they are known.
#[derive(Default)]
pub struct SystemColumns {
    pub columns: OnceLock<Vec<SystemColumn>>,
    pub busy: AtomicBool,
}
