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

/// The position in this list is a part of the view's object id: new ones go to the end.
const VIEWS: &[&View] = &[
    &wait_stats::WAIT_STATS,
    &exec::SESSIONS,
    &databases::VIEW,
    &database_files::DATABASE_FILES,
    &objects::TABLES,
    &objects::OBJECTS,
    &columns::COLUMNS_VIEW,
    &objects::SCHEMAS,
    &indexes::INDEXES,
    &database_files::MASTER_FILES,
    &wait_stats::LATCH_STATS,
    &wait_stats::WAITING_TASKS,
    &file_space::VIEW,
    &log_space::VIEW,
    &counters::VIEW,
    &locks::VIEW,
    &version_store::VIEW,
    &exec::REQUESTS,
    &exec::CONNECTIONS,
    &objects::ALL_OBJECTS,
    &objects::SYSTEM_OBJECTS,
    &columns::ALL_COLUMNS,
    &columns::SYSTEM_COLUMNS,
    &columns::IDENTITY_COLUMNS,
    &columns::TYPES,
    &indexes::INDEX_COLUMNS,
    &indexes::PARTITIONS,
    &partitions::PARTITION_FUNCTIONS,
    &partitions::PARTITION_PARAMETERS,
    &partitions::PARTITION_RANGE_VALUES,
    &partitions::PARTITION_SCHEMES,
    &partitions::DESTINATION_DATA_SPACES,
    &indexes::ALLOCATION_UNITS,
    &constraints::KEY_CONSTRAINTS,
    &constraints::DEFAULT_CONSTRAINTS,
    &constraints::CHECK_CONSTRAINTS,
    &constraints::FOREIGN_KEYS,
    &constraints::FOREIGN_KEY_COLUMNS,
    &constraints::SQL_MODULES,
    &spaces::DATA_SPACES,
    &spaces::FILEGROUPS,
    &database_scoped_configurations::VIEW,
    &transactions::ACTIVE,
    &transactions::SESSIONS,
    &transactions::DATABASES,
    &parameters::PARAMETERS,
    &parameters::ALL_PARAMETERS,
    &parameters::SYSTEM_PARAMETERS,
    &constraints::SYSTEM_SQL_MODULES,
    &languages::VIEW,
    &character_sets::VIEW,
    &objects::SYNONYMS,
    &objects::TRIGGERS,
    &objects::TRIGGER_EVENTS,
    &columns::COMPUTED_COLUMNS,
    &messages::VIEW,
    &stats::STATS,
    &stats::STATS_COLUMNS,
    &principals::SERVER_PRINCIPALS,
    &principals::SQL_LOGINS,
    &principals::SERVER_ROLE_MEMBERS,
    &principals::SERVER_PERMISSIONS,
    &principals::DATABASE_PRINCIPALS,
    &principals::DATABASE_ROLE_MEMBERS,
    &principals::DATABASE_PERMISSIONS,
    &properties::VIEW,
    &configurations::VIEW,
    &columns::TABLE_TYPES,
    &recovery_status::VIEW,
    &log_preparation::VIEW,
    &event_sessions::SESSIONS,
    &event_sessions::EVENTS,
    &event_sessions::ACTIONS,
    &event_sessions::TARGETS,
    &event_sessions::FIELDS,
    &xe_sessions::SESSIONS,
    &xe_sessions::TARGETS,
    &xe_sessions::EVENTS,
    &xe_sessions::ACTIONS,
    &xe_sessions::COLUMNS,
    &xe_objects::PACKAGES,
    &xe_objects::OBJECTS,
    &xe_objects::COLUMNS,
    &xe_objects::MAP_VALUES,
    &os::SYS_INFO,
    &os::SYS_MEMORY,
    &os::PROCESS_MEMORY,
    &os::SCHEDULERS,
    &os::NODES,
    &os::MEMORY_NODES,
    &memory::MEMORY_CLERKS,
    &os::BUFFERS,
    &os::HOST_INFO,
    &os::SERVICES,
    &trace::TRACES,
    &trace::EVENTS,
    &trace::CATEGORIES,
    &trace::FIELDS,
    &trace::SUBCLASSES,
    &query_stats::QUERY_STATS,
    &query_stats::CACHED_PLANS,
    &query_stats::PROCEDURE_STATS,
    &index_usage::VIEW,
    &pending_io::VIEW,
    &query_stats::TRIGGER_STATS,
    &query_stats::FUNCTION_STATS,
    &tasks::TASKS,
    &memory_grants::MEMORY_GRANTS,
    &memory_grants::SEMAPHORES,
    &wait_stats::SESSION_WAIT_STATS,
    &server_registry::REGISTRY,
    &server_registry::LISTENERS,
    &ring_buffers::VIEW,
    &missing_indexes::DETAILS,
    &missing_indexes::GROUPS,
    &missing_indexes::STATS,
    &missing_indexes::BY_QUERY,
    &version_store::VERSIONS,
    &version_store::ACTIVE,
    &version_store::CURRENT,
    &live_plans::PROFILES,
    &dependencies::DEPENDENCIES,
];

/// Table-valued functions; the same of their positions.
const FUNCTIONS: &[&View] = &[
    &log_info::VIEW,
    &dblog::VIEW,
    &log_stats::VIEW,
    &io_stats::VIEW,
    &dump_dblog::VIEW,
    &event_files::VIEW,
    &os::VOLUMES,
    &trace::TABLE,
    &trace::INFO,
    &query_stats::SQL_TEXT,
    &query_stats::PLAN,
    &query_stats::PLAN_TEXT,
    &no_rows::CURSORS,
    &no_rows::XML_HANDLES,
    &missing_indexes::COLUMNS_OF,
    &no_rows::INCREMENTAL,
    &no_rows::DISABLED,
    &no_rows::KEYWORDS,
    &no_rows::KEYWORDS_BY_DOCUMENT,
    &no_rows::NODES,
    &no_rows::DRIVES,
    &no_rows::FILE_STATS,
    &index_physical::VIEW,
    &page_allocations::VIEW,
    &index_operations::VIEW,
    &stats_values::PROPERTIES,
    &stats_values::HISTOGRAM,
    &input_buffer::VIEW,
    &page_info::VIEW,
    &page_resource::VIEW,
    &plan_attributes::VIEW,
    &collations::VIEW,
    &my_permissions::VIEW,
    &first_result_set::VIEW,
    &live_plans::STATISTICS_XML,
    &dependencies::REFERENCING,
    &list_properties::VIEW,
];

/// Every declared view and function with its object id, and whether it is a function.
pub fn every() -> impl Iterator<Item = (i32, &'static View, bool)> {
    let views = (1..).zip(VIEWS).map(|(n, v)| (-1000 - n, *v, false));
    let functions = (1..).zip(FUNCTIONS).map(|(n, v)| (-5000 - n, *v, true));
    views.chain(functions)
}

/// The object id of a declared view or function, and how many columns it has by which names: OBJECT_ID, COL_LENGTH.
pub fn declared_object(name: &str) -> Option<(i32, &'static View, bool)> {
    every().find(|(_, v, _)| v.name.eq_ignore_ascii_case(name))
}

/// The declared view or function of that object id.
pub fn declared_by_id(id: i32) -> Option<&'static View> {
    every().find(|(n, _, _)| *n == id).map(|(_, v, _)| v)
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
    let mut old = VIEWS.iter().filter(|v| v.of_dbo);
    old.any(|v| v.name.eq_ignore_ascii_case(name))
}

/// The view of that name, as `database` sees it.
pub fn view(
    database: Option<&str>,
    schema: Option<&str>,
    name: &str,
    asked: bool,
) -> Option<Arc<Declared>> {
    let found = schema.is_some_and(|s| s.eq_ignore_ascii_case("sys"));
    let view = VIEWS
        .iter()
        .find(|v| found && v.name.eq_ignore_ascii_case(name))?;
    Some(declared(view, database, asked))
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
    let view = FUNCTIONS
        .iter()
        .find(|v| found && v.name.eq_ignore_ascii_case(name))?;
    Some(declared(view, database, asked))
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
            let declared = declared_object(&m.name);
            assert!(declared.is_none(), "{} is declared twice", m.name);
        }
    }

    #[test]
    fn a_view_has_every_column_once() {
        for (_, v, _) in every() {
            let mut names: Vec<String> = v.columns.iter().map(|c| c.0.to_lowercase()).collect();
            names.sort();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", v.name);
        }
    }
}
