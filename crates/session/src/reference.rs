//! The lists of this room, for the generated tables below `docs/reference`.

use duramen_types::SqlType;

use crate::{dbcc, views};

/// A view or table-valued function of the schema `sys`.
pub struct ViewEntry {
    pub name: &'static str,
    /// Name, type, nullable.
    pub columns: &'static [(&'static str, SqlType, bool)],
    pub is_function: bool,
}

/// Every declared view and function.
pub fn views() -> impl Iterator<Item = ViewEntry> {
    views::every().map(|(_, view, is_function)| ViewEntry {
        name: view.name,
        columns: view.columns,
        is_function,
    })
}

/// Every DBCC statement and its options besides NO_INFOMSGS.
pub fn dbcc() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    dbcc::statements()
}

/// Every built-in function: name, least and most arguments.
pub fn functions() -> impl Iterator<Item = (&'static str, usize, usize)> {
    let mine = crate::functions::every().map(|f| (f.name, f.min, f.max));
    let mut all: Vec<_> = duramen_query::function_names().chain(mine).collect();
    all.sort_unstable();
    all.into_iter()
}

/// Every `@@` global: name and type.
pub fn globals() -> impl Iterator<Item = (&'static str, SqlType)> {
    let mut all: Vec<_> = crate::globals::every().collect();
    all.sort_unstable_by_key(|g| g.0);
    all.into_iter()
}
