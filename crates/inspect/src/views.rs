//! Views computed from the engine's state. Each is a column table and a function from a snapshot to rows.
//!
//! All of them live in the schema `sys` of every database. `db.sys.view` shows the view as that database sees it.

mod character_sets;
mod collations;
mod columns;
mod configurations;
mod constraints;
mod counters;
mod database_files;
pub mod database_scoped_configurations;
mod databases;
pub(crate) mod dblog;
mod dependencies;
pub(crate) mod dump_dblog;
mod event_files;
mod event_sessions;
mod exec;
mod file_space;
pub mod first_result_set;
mod index_operations;
mod index_physical;
mod index_usage;
mod indexes;
mod input_buffer;
mod io_stats;
mod languages;
mod list;
mod list_properties;
mod live_plans;
mod locks;
mod log_info;
mod log_preparation;
mod log_space;
mod log_stats;
pub(crate) mod memory;
mod memory_grants;
mod messages;
mod missing_indexes;
pub(crate) mod my_permissions;
mod no_rows;
mod objects;
mod os;
mod page_allocations;
mod page_info;
mod page_resource;
mod parameters;
mod partitions;
mod pending_io;
mod plan_attributes;
mod principals;
mod properties;
pub mod query_stats;
mod recovery_status;
mod ring_buffers;
pub(crate) mod rowsets;
mod server_registry;
mod spaces;
mod stats;
mod stats_values;
mod tasks;
mod trace;
mod transactions;
mod version_store;
mod wait_stats;
mod xe_objects;
mod xe_sessions;

pub use columns::{type_by_id, type_by_name};
pub use list::{Listed, by_id, by_name, every};

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlResult};
use duramen_core::security::{Caller, Given, refused_view};
use duramen_program::rights::{Need, Needs, Of};
use duramen_query::Row;
use duramen_query::host::{Host, RowStream, TableColumn, VirtualTable};
use duramen_types::{SqlType, Value};

use crate::context::Context;

/// Name, type, nullable.
type ViewColumns = &'static [(&'static str, SqlType, bool)];

/// Where the rows of a view come from.
#[derive(Clone, Copy)]
enum Rows {
    All(fn(&Context, &[Value]) -> SqlResult<Vec<Row>>),
    Each(fn(&Context, &[Value]) -> SqlResult<RowStream>),
    /// Of whoever binds and runs statements.
    Host(fn(&dyn Host, &[Value]) -> SqlResult<RowStream>),
}

/// The declaration of a view.
pub struct View {
    pub name: &'static str,
    pub needs: Needs,
    pub columns: ViewColumns,
    rows: Rows,
    /// Found under `dbo`, too: a table of old times.
    of_dbo: bool,
}

impl View {
    const fn new(
        name: &'static str,
        needs: Needs,
        columns: ViewColumns,
        rows: fn(&Context, &[Value]) -> SqlResult<Vec<Row>>,
    ) -> View {
        let rows = Rows::All(rows);
        View {
            name,
            needs,
            columns,
            rows,
            of_dbo: false,
        }
    }

    /// A view with more rows than should be in memory at once.
    const fn streamed(
        name: &'static str,
        needs: Needs,
        columns: ViewColumns,
        rows: fn(&Context, &[Value]) -> SqlResult<RowStream>,
    ) -> View {
        let rows = Rows::Each(rows);
        View {
            name,
            needs,
            columns,
            rows,
            of_dbo: false,
        }
    }

    /// The same, found under `dbo` as well.
    const fn of_dbo(self) -> View {
        View {
            of_dbo: true,
            ..self
        }
    }
}

impl View {
    /// A function that asks the host itself.
    const fn of_host(
        name: &'static str,
        needs: Needs,
        columns: ViewColumns,
        rows: fn(&dyn Host, &[Value]) -> SqlResult<RowStream>,
    ) -> View {
        let rows = Rows::Host(rows);
        View {
            name,
            needs,
            columns,
            rows,
            of_dbo: false,
        }
    }
}

#[derive(Debug)]
pub struct Declared {
    name: &'static str,
    needs: Needs,
    /// Whoever looks is asked; inside a view of the system nobody is.
    asked: bool,
    columns: Vec<TableColumn>,
    rows: Rows,
    /// The database named before the schema.
    database: Option<String>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rows")
    }
}

/// Whether `dbo` has a system view of that name.
pub fn is_of_dbo(name: &str) -> bool {
    by_name(name).is_some_and(|l| l.view.of_dbo)
}

/// The view of that name, as `database` sees it.
pub fn view(
    database: Option<&str>,
    schema: Option<&str>,
    name: &str,
    asked: bool,
) -> Option<Arc<Declared>> {
    let found = schema.is_some_and(|s| s.eq_ignore_ascii_case("sys"));
    let listed = by_name(name).filter(|l| found && !l.is_function)?;
    Some(declared(listed.view, database, asked))
}

/// The function of that name; those that begin with `fn_` need no schema.
pub fn function(
    database: Option<&str>,
    schema: Option<&str>,
    name: &str,
    asked: bool,
) -> Option<Arc<Declared>> {
    let found = match schema {
        Some(s) => s.eq_ignore_ascii_case("sys"),
        None => name.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("fn_")),
    };
    let listed = by_name(name).filter(|l| found && l.is_function)?;
    Some(declared(listed.view, database, asked))
}

fn declared(view: &View, database: Option<&str>, asked: bool) -> Arc<Declared> {
    let column = |(name, ty, nullable): &(&str, SqlType, bool)| TableColumn {
        name: (*name).to_owned(),
        ty: *ty,
        nullable: *nullable,
        identity: false,
        default: None,
        generated: Default::default(),
    };
    Arc::new(Declared {
        name: view.name,
        needs: view.needs,
        asked,
        columns: view.columns.iter().map(column).collect(),
        rows: view.rows,
        database: database.map(str::to_owned),
    })
}

/// Whether what is asked of is known only with the arguments.
fn of_arguments(needs: &Needs) -> bool {
    let of = |n: &Need| {
        matches!(
            n.of,
            Of::DatabaseInArgument(_)
                | Of::DatabasesInArgument(_)
                | Of::ObjectInArgument(_)
                | Of::ObjectOfDatabase
        )
    };
    matches!(needs, Needs::AnyOf(all) if all.iter().any(of))
}

impl Declared {
    /// The database named before the schema.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The refusal of whoever may not look, unless that depends on arguments.
    pub fn require(&self, caller: &Caller<'_>) -> SqlResult<()> {
        match of_arguments(&self.needs) {
            true => Ok(()),
            false => caller.require(&self.needs, &[], |n| refused_view(self.name, n)),
        }
    }

    /// The same with the arguments; false: there is nothing to see for the caller.
    fn require_with(&self, context: &Context, args: &[Value]) -> SqlResult<bool> {
        if !self.asked || !of_arguments(&self.needs) {
            return Ok(true);
        }
        let given: Vec<Given> = args.iter().map(Given::of).collect();
        let caller = context.caller();
        let asked = caller.require(&self.needs, &given, |n| refused_view(self.name, n));
        match (self.needs.first().map(|n| n.of), asked) {
            // Of one object that may not be read there are no rows.
            (Some(Of::ObjectInArgument(_)), Err(_)) => Ok(false),
            (_, asked) => asked.map(|()| true),
        }
    }
}

impl VirtualTable for Declared {
    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn rows(&self, host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
        let Some(context) = host.session().downcast_ref::<Context>() else {
            return Ok(Box::new(std::iter::empty()));
        };
        let elsewhere = self.database.as_ref().map(|d| context.within(d));
        let context = elsewhere.as_ref().unwrap_or(context);
        if !self.require_with(context, args)? {
            return Ok(Box::new(std::iter::empty()));
        }
        match self.rows {
            Rows::All(f) => Ok(Box::new(f(context, args)?.into_iter().map(Ok))),
            Rows::Each(f) => f(context, args),
            Rows::Host(f) => f(host, args),
        }
    }
}

/// The database that a function's first argument names by id; without one, or for NULL, the current one.
fn database_argument(cx: &Context, args: &[Value]) -> Option<Arc<OpenDb>> {
    match args.first().and_then(Value::as_i64) {
        Some(id) => cx.instance.databases.get(DbId(u16::try_from(id).ok()?)),
        None => cx.instance.databases.find(&cx.database),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_view_is_in_code_and_a_text_too() {
        let texts = duramen_program::resource::all();
        for m in texts.filter(|m| m.schema == duramen_catalog::SCHEMA_SYS) {
            let declared = by_name(&m.name);
            assert!(declared.is_none(), "{} is declared twice", m.name);
        }
    }

    #[test]
    fn a_view_has_every_column_once() {
        for v in every().map(|l| l.view) {
            let mut names: Vec<String> = v.columns.iter().map(|c| c.0.to_lowercase()).collect();
            names.sort();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", v.name);
        }
    }
}
