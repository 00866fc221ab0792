//! The lists of this room, for the generated tables below `docs/reference`.

use duramen_catalog::ObjectKind;
use duramen_core::security::set_options;
use duramen_program::rights::{Needs, Right};
use duramen_program::{coded, resource, statements};
use duramen_query::FunctionEntry;
use duramen_types::SqlType;

use crate::{dbcc, views};
pub use duramen_program::compatibility::{DIFFERENCES, Difference, Followed};

/// A view or table-valued function of the schema `sys`.
pub struct ViewEntry {
    pub name: &'static str,
    /// Name, type, nullable.
    pub columns: &'static [(&'static str, SqlType, bool)],
    pub is_function: bool,
}

/// Every declared view and function.
pub fn views() -> impl Iterator<Item = ViewEntry> {
    views::every().map(|l| ViewEntry {
        name: l.view.name,
        columns: l.view.columns,
        is_function: l.is_function,
    })
}

/// What a kind of statement is and where it may stand.
pub struct StatementEntry {
    pub name: &'static str,
    pub does: &'static str,
    /// It runs; what does not is refused with 40517.
    pub runs: bool,
    pub in_transactions: bool,
    pub in_triggers: bool,
    pub in_functions: bool,
    pub in_read_only: bool,
}

/// Every kind of statement that the parser knows.
pub fn statements() -> impl Iterator<Item = StatementEntry> {
    statements::ROWS.iter().map(|row| StatementEntry {
        name: row.name,
        does: row.does,
        runs: row.needs != Needs::NotHere,
        in_transactions: !row.refused_in_transactions(),
        in_triggers: !row.refused_in_triggers(),
        in_functions: row.allowed_in_functions(),
        in_read_only: !row.writes(),
    })
}

/// Every DBCC statement and its options besides NO_INFOMSGS.
pub fn dbcc() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    dbcc::statements()
}

/// The procedures of the system that are text, with their schema.
pub fn procedures_of_text() -> impl Iterator<Item = String> {
    let texts = resource::listed().filter(|m| m.kind == ObjectKind::PROCEDURE);
    texts.map(|m| format!("{}.{}", resource::schema_name(m), m.name))
}

/// Every trace flag that is accepted, and what it does.
pub fn trace_flags() -> impl Iterator<Item = (i64, &'static str)> {
    dbcc::trace_flags()
}

/// What something needs of whoever names it.
pub struct PermissionEntry {
    /// `statement`, `SET`, `DBCC`, `view`, `function` or `procedure`.
    pub kind: &'static str,
    pub name: String,
    /// The right, or that there is none.
    pub right: String,
    /// What it is asked of, or why there is none.
    pub of: String,
}

/// Every row that declares a right: statements, SET options, DBCC, views and functions of the system, system procedures.
pub fn permissions() -> Vec<PermissionEntry> {
    let statements = statements::ROWS.iter();
    let statements = statements.map(|r| ("statement", r.name.to_owned(), r.needs));
    let options = set_options::OPTIONS.iter();
    let options = options.map(|o| ("SET", o.name.to_owned(), o.needs));
    let dbcc = dbcc::needs().map(|(name, needs)| ("DBCC", name.to_owned(), needs));
    let declared = views::every().map(|l| {
        let kind = if l.is_function { "function" } else { "view" };
        (kind, format!("sys.{}", l.view.name), l.view.needs)
    });
    let modules = resource::listed().map(|m| {
        let kind = match m.kind {
            ObjectKind::VIEW => "view",
            _ => "procedure",
        };
        let name = format!("{}.{}", resource::schema_name(m), m.name);
        (kind, name, resource::needs(m))
    });
    let coded = coded::all().map(|c| ("procedure", format!("sys.{}", c.name), c.needs));
    let (configures, needs) = coded::CONFIGURES;
    let configures = std::iter::once(("procedure", configures.to_owned(), needs));
    let all = statements
        .chain(options)
        .chain(dbcc)
        .chain(declared)
        .chain(modules)
        .chain(coded)
        .chain(configures);
    let entry = |(kind, name, needs): (&'static str, String, Needs)| {
        let (right, of) = needs.shown();
        PermissionEntry {
            kind,
            name,
            right,
            of,
        }
    };
    all.map(entry).collect()
}

/// Every permission that GRANT knows, with its code and the widest thing that it is given on.
pub fn rights() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    Right::ALL.iter().map(|r| {
        let level = match (r.is_of_server(), r.is_of_objects()) {
            (true, _) => "server",
            (_, true) => "database, schema, object",
            _ => "database",
        };
        (r.name(), r.code(), level)
    })
}

/// Every built-in function, by name.
pub fn functions() -> impl Iterator<Item = FunctionEntry> {
    let mine = crate::functions::every().map(|f| FunctionEntry {
        doc: f.doc,
        min: f.min,
        max: f.max,
        of_null: None,
        deterministic: false,
        needs: f.needs.in_a_word(),
    });
    let mut all: Vec<_> = duramen_planner::function_names().chain(mine).collect();
    all.sort_unstable_by_key(|f| f.doc.name);
    all.into_iter()
}

/// Every `@@` global: name, type and what it gives.
pub fn globals() -> impl Iterator<Item = (&'static str, SqlType, &'static str)> {
    let mut all: Vec<_> = crate::globals::every().collect();
    all.sort_unstable_by_key(|g| g.0);
    all.into_iter()
}
