//! The session as binding and evaluation see it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use duramen_base::SqlResult;
use duramen_query::host::{Host, Source, Table, VirtualTable};
use duramen_query::memory::MemoryTable;
use duramen_query::{Binder, Expr};
use duramen_tsql::ast;
use duramen_txn::gate::SessionDeps;
use duramen_txn::{ReadView, Transaction};
use duramen_types::{SqlType, Value};

use crate::instance::Instance;
use crate::program::{Variable, find_variable};
use crate::session::{CancelToken, Session};
use crate::{functions, globals};

/// What tables and views find again behind `Host::session`.
#[derive(Clone)]
pub struct Context {
    pub instance: Arc<Instance>,
    /// The transaction of the running statement; none while binding.
    pub transaction: Option<Arc<Transaction>>,
    /// What the session's replies depend on.
    pub deps: Arc<SessionDeps>,
    /// The current database.
    pub database: String,
    /// READ_COMMITTED_SNAPSHOT: what the running statement sees, from its first look at such a database on.
    pub view: OnceLock<ReadView>,
}

pub struct HostView<'s> {
    session: &'s Session,
    variables: &'s [Variable],
    tables: &'s [Arc<MemoryTable>],
    cancel: &'s CancelToken,
    context: Context,
}

impl<'s> HostView<'s> {
    pub fn new(
        session: &'s Session,
        variables: &'s [Variable],
        tables: &'s [Arc<MemoryTable>],
        transaction: Option<Arc<Transaction>>,
        cancel: &'s CancelToken,
    ) -> HostView<'s> {
        let context = Context {
            instance: session.instance.clone(),
            transaction,
            deps: session.deps.clone(),
            database: session.database.clone(),
            view: OnceLock::new(),
        };
        HostView {
            session,
            variables,
            tables,
            cancel,
            context,
        }
    }
}

impl HostView<'_> {
    /// The database part of a name, as it was created: `Some(None)` without one, `None` for one that is not there.
    fn named_database(&self, name: &ast::ObjectName) -> Option<Option<String>> {
        match name.database() {
            None => Some(None),
            Some(d) => self.session.instance.database_name(d).map(Some),
        }
    }
}

impl Host for HostView<'_> {
    fn source(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        let Some(database) = self.named_database(name) else {
            let databases = &self.session.instance.databases;
            let gone = name.database().and_then(|d| databases.find_unavailable(d));
            return gone.map_or(Ok(None), |gone| Err(gone.refusal()));
        };
        if let Some(v) = crate::views::view(database.as_deref(), name.schema(), name.name()) {
            return Ok(Some(Source::Virtual(v)));
        }
        if crate::run::is_temporary(name) {
            return Ok(self.session.temporary(name)?.map(Source::Table));
        }
        self.session.instance.table(&self.session.database, name)
    }

    fn table_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        let Some(database) = self.named_database(name) else {
            return Ok(None);
        };
        Ok(crate::views::function(
            database.as_deref(),
            name.schema(),
            name.name(),
        ))
    }

    fn function_type(&self, name: &str) -> Option<SqlType> {
        functions::type_of(name)
    }

    fn function(&self, name: &str, args: &[Value]) -> SqlResult<Value> {
        functions::call(self.session, name, args)
    }

    fn global_type(&self, name: &str) -> Option<(&'static str, SqlType)> {
        globals::type_of(name)
    }

    fn global(&self, name: &str) -> SqlResult<Value> {
        Ok(globals::value(self.session, name))
    }

    fn variable(&self, name: &str) -> Option<(usize, SqlType)> {
        find_variable(self.variables, name).map(|slot| (slot, self.variables[slot].ty))
    }

    fn table_variable(&self, name: &str) -> Option<Arc<dyn Table>> {
        let mut tables = self.tables.iter();
        let found = tables.find(|t| crate::program::same(t.name(), name))?;
        Some(found.clone())
    }

    fn now(&self) -> (u64, i16) {
        (
            u64::try_from(duramen_os::time::wall().unix_nanos()).unwrap_or(0),
            0,
        )
    }

    fn random(&self) -> u64 {
        duramen_os::random::next_u64()
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    fn session(&self) -> &dyn Any {
        &self.context
    }

    fn bind_default(&self, text: &str) -> SqlResult<Expr> {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let parsed = duramen_tsql::parse_expression(text, &options)?;
        Binder::new(self).scalar(&parsed)
    }
}
