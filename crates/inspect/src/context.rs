//! Where a statement runs: what views and functions find again behind `Host::session`.

use std::ops::Deref;
use std::sync::Arc;

use duramen_base::{SessionId, SqlResult};
use duramen_core::security::{Caller, Visible, Who};
use duramen_query::execution::ExecutionContext;

use duramen_events::instance::Instance;

/// Where a statement runs; mostly the same for all of a session.
#[derive(Clone)]
pub struct SessionContext {
    pub instance: Arc<Instance>,
    /// Who asks.
    pub who: Arc<Who>,
    /// The current database.
    pub database: Arc<str>,
    pub session: SessionId,
}

/// What views and functions find again behind `Host::session`.
#[derive(Clone)]
pub struct Context {
    pub session_context: Arc<SessionContext>,
    /// What the running statement's reads and writes run in; none while binding.
    pub execution: Option<ExecutionContext>,
}

impl Context {
    /// Who asks, and where.
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            who: &self.who,
            databases: &self.instance.databases,
            database: &self.database,
            session: self.session,
        }
    }

    /// The catalog of the current database, as far as who asks may see it.
    pub fn visible(&self) -> SqlResult<Arc<Visible>> {
        match self.instance.databases.find(&self.database) {
            Some(db) => self.instance.pictures.of(&self.caller(), &db),
            None => Ok(Arc::default()),
        }
    }

    /// The same in another database.
    pub fn within(&self, database: &str) -> Context {
        let mut context = (*self.session_context).clone();
        context.database = database.into();
        Context {
            session_context: Arc::new(context),
            ..self.clone()
        }
    }
}

impl Deref for Context {
    type Target = SessionContext;

    fn deref(&self) -> &SessionContext {
        &self.session_context
    }
}
