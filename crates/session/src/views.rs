//! Views computed from the engine's state. Each is a column table and a function from a snapshot to rows.

mod database_files;
mod database_scoped_configurations;
mod databases;
mod dblog;
mod exec_sessions;
mod log_info;
mod tables;
mod wait_stats;

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_query::Row;
use duramen_query::host::{Host, TableColumn, VirtualTable};
use duramen_types::{SqlType, Value};

use crate::host::Context;

/// The declaration of a view.
pub struct View {
    pub name: &'static str,
    /// Name, type, nullable.
    pub columns: &'static [(&'static str, SqlType, bool)],
    pub rows: fn(&Context, &[Value]) -> SqlResult<Vec<Row>>,
}

const VIEWS: &[&View] = &[
    &wait_stats::VIEW,
    &exec_sessions::VIEW,
    &databases::VIEW,
    &database_files::VIEW,
    &database_scoped_configurations::VIEW,
    &tables::TABLES,
    &tables::OBJECTS,
    &tables::COLUMNS,
    &tables::SCHEMAS,
    &tables::INDEXES,
];

/// Table-valued functions.
const FUNCTIONS: &[&View] = &[&log_info::VIEW, &dblog::VIEW];

#[derive(Debug)]
struct Declared {
    name: &'static str,
    columns: Vec<TableColumn>,
    rows: fn(&Context, &[Value]) -> SqlResult<Vec<Row>>,
}

/// The view of that name; all of them live in the schema `sys`.
pub fn view(schema: Option<&str>, name: &str) -> Option<Arc<dyn VirtualTable>> {
    let found = schema.is_some_and(|s| s.eq_ignore_ascii_case("sys"));
    declared(
        VIEWS
            .iter()
            .find(|v| found && v.name.eq_ignore_ascii_case(name))?,
    )
}

/// The function of that name; those that begin with `fn_` need no schema.
pub fn function(schema: Option<&str>, name: &str) -> Option<Arc<dyn VirtualTable>> {
    let found = match schema {
        Some(s) => s.eq_ignore_ascii_case("sys"),
        None => name.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("fn_")),
    };
    declared(
        FUNCTIONS
            .iter()
            .find(|v| found && v.name.eq_ignore_ascii_case(name))?,
    )
}

fn declared(view: &View) -> Option<Arc<dyn VirtualTable>> {
    let column = |(name, ty, nullable): &(&str, SqlType, bool)| TableColumn {
        name: (*name).to_owned(),
        ty: *ty,
        nullable: *nullable,
        identity: false,
        default: None,
    };
    let columns = view.columns.iter().map(column).collect();
    Some(Arc::new(Declared {
        name: view.name,
        columns,
        rows: view.rows,
    }))
}

impl VirtualTable for Declared {
    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn rows(&self, host: &dyn Host, args: &[Value]) -> SqlResult<Vec<Row>> {
        match host.session().downcast_ref::<Context>() {
            Some(context) => (self.rows)(context, args),
            None => Ok(Vec::new()),
        }
    }
}
