//! What reads and writes of tables find again behind [`crate::host::Host::execution`].

use std::sync::{Arc, OnceLock};

use duramen_txn::gate::SessionDeps;
use duramen_txn::{ReadView, Transaction};

/// The transaction that a statement runs in, and what its session answers for.
#[derive(Clone)]
pub struct ExecutionContext {
    pub transaction: Arc<Transaction>,
    /// READ_COMMITTED_SNAPSHOT: what the running statement sees, from its first look at such a database on.
    pub view: Arc<OnceLock<ReadView>>,
    /// What the session's replies depend on.
    pub deps: Arc<SessionDeps>,
    /// The number of the database that the session has its share of: not the current one within a module of another.
    pub shared: u16,
}
