//! Where a statement runs: what tables and views find again behind `Host::session`.

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use duramen_base::{SessionId, SqlResult};
use duramen_txn::gate::SessionDeps;
use duramen_txn::{ReadView, Transaction};
use duramen_types::SqlType;

use crate::instance::Instance;
use crate::security::{Caller, Visible, Who};

/// View, column id, name, type and nullability.
type SystemColumn = (i32, i32, String, SqlType, bool);

/// The columns of the views in the resource room, once they are known.
#[derive(Default)]
pub struct SystemColumns {
    pub columns: OnceLock<Vec<SystemColumn>>,
    pub busy: AtomicBool,
}

/// Where a statement runs; mostly the same for all of a session.
#[derive(Clone)]
pub struct Surroundings {
    pub instance: Arc<Instance>,
    /// What the session's replies depend on.
    pub deps: Arc<SessionDeps>,
    /// Who asks.
    pub who: Arc<Who>,
    /// The current database.
    pub database: Arc<str>,
    /// The number of the one that the session has its seat in: not the current one within a module of another.
    pub seat: u16,
    pub session: SessionId,
}

/// What tables and views find again behind `Host::session`.
#[derive(Clone)]
pub struct Context {
    pub around: Arc<Surroundings>,
    /// The transaction of the running statement; none while binding.
    pub transaction: Option<Arc<Transaction>>,
    /// READ_COMMITTED_SNAPSHOT: what the running statement sees, from its first look at such a database on.
    pub view: Arc<OnceLock<ReadView>>,
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
        let mut surroundings = (*self.around).clone();
        surroundings.database = database.into();
        Context {
            around: Arc::new(surroundings),
            ..self.clone()
        }
    }
}

impl Deref for Context {
    type Target = Surroundings;

    fn deref(&self) -> &Surroundings {
        &self.around
    }
}
