//! What a table's constraints say, as plain data: a table gives them out when a statement that changes it is bound.

use duramen_tsql::ast;

/// A check constraint that is enabled.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRule {
    pub name: String,
    /// The condition.
    pub text: String,
    /// The only column it reads, for messages.
    pub column: Option<String>,
}

/// What happens to the rows that refer to a row that goes away or changes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

impl KeyAction {
    /// As the catalog numbers them.
    pub fn from_number(n: u8) -> KeyAction {
        match n {
            1 => KeyAction::Cascade,
            2 => KeyAction::SetNull,
            3 => KeyAction::SetDefault,
            _ => KeyAction::NoAction,
        }
    }
}

/// A foreign key that is enabled, seen from one of its two tables.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRule {
    pub name: String,
    /// The other table, with its database; the table itself when it refers to itself.
    pub other: ast::ObjectName,
    pub same_table: bool,
    /// Positions of the columns here and in the other table.
    pub columns: Vec<(usize, usize)>,
    pub on_delete: KeyAction,
    pub on_update: KeyAction,
}

/// The enabled constraints that a change of a table must keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub checks: Vec<CheckRule>,
    /// Its own foreign keys: the other table is the one referred to.
    pub references: Vec<KeyRule>,
    /// The foreign keys that refer to it: the other table is the one that refers.
    pub referenced_by: Vec<KeyRule>,
}

impl Rules {
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.references.is_empty() && self.referenced_by.is_empty()
    }
}

/// Who makes the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generated {
    /// Statements, or its default or identity.
    #[default]
    No,
    /// Its expression: error 271 for whoever assigns to it.
    Computed,
    /// The database's counter, with every change of the row: errors 272 and 273.
    RowVersion,
}
