//! INSERT BULK between its text and its rows.

use duramen_query::host::{StoredId, TableColumn};
use duramen_tsql::ast;

/// What an INSERT BULK has announced.
#[derive(Clone, Debug)]
pub struct Announced {
    /// The columns the rows bring.
    pub columns: Vec<TableColumn>,
    /// The DEFAULT that a NULL of the column turns into, as text.
    pub defaults: Vec<Option<String>>,
    /// `INSERT table (columns) SELECT ... FROM @bulk`.
    pub text: String,
    /// The table, when its identity column is among the columns.
    pub identity_of: Option<StoredId>,
    /// The table whose constraints are not tested.
    pub unchecked: Option<ast::ObjectName>,
    /// ORDER: columns of the rows, and whether each descends.
    pub order: Vec<(usize, bool)>,
    /// FIRE_TRIGGERS.
    pub fires: bool,
    pub line: u32,
}
