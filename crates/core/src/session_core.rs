//! A session as its statements and functions see it: who it is, where it is, what it has set. The loop that runs its programs
//! is above ([`crate::session`]).

use std::borrow::Cow;
use std::sync::Arc;

use duramen_access::database_options::switch;
use duramen_access::identity_insert::IdentityInsert;
use duramen_access::temporary::TemporaryTable;
use duramen_base::{DbId, SessionId, SqlError, SqlResult};
use duramen_catalog::fold;
use duramen_program::announced::Announced;
use duramen_program::firing::Firing;
use duramen_program::login::LoginRequest;
use duramen_program::options::Options;
use duramen_program::program::same;
use duramen_program::programs::ProgramCache;
use duramen_program::random::Sequence;
use duramen_program::rights::Right;
use duramen_program::session_context::SessionContext;
use duramen_txn::gate::SessionDeps;
use duramen_txn::{CommitLsns, LockOwner, Transaction, TxnKind};

use crate::activity::Activity;
use crate::instance_core::InstanceCore;
use crate::memory_grants::MemoryGrant;
use crate::security::Who;

pub struct SessionCore {
    pub instance: Arc<InstanceCore>,
    pub spid: SessionId,
    pub login: LoginRequest,
    /// The login itself, and what it may.
    pub who: Arc<Who>,
    /// Shared with the context of every step.
    pub database: Arc<str>,
    pub options: Options,
    pub state: State,
    pub owner: LockOwner,
    pub transaction: Option<Arc<Transaction>>,
    /// What the session's replies depend on.
    pub deps: Arc<SessionDeps>,
    /// What others see of this session.
    pub activity: Arc<Activity>,
}

impl SessionCore {
    pub fn new(
        instance: Arc<InstanceCore>,
        activity: Arc<Activity>,
        login: LoginRequest,
        who: Arc<Who>,
    ) -> SessionCore {
        SessionCore {
            spid: activity.spid,
            database: login.database.as_str().into(),
            login,
            who,
            options: Options::default(),
            state: State::default(),
            owner: activity.owner.clone(),
            activity,
            transaction: None,
            deps: instance.databases.gate.session_deps(),
            instance,
        }
    }

    /// `@@TRANCOUNT`.
    pub fn trancount(&self) -> u32 {
        self.transaction.as_ref().map_or(0, |t| t.nesting())
    }

    pub fn in_transaction(&self) -> bool {
        self.trancount() > 0
    }

    pub fn new_transaction(
        &self,
        kind: TxnKind,
        name: impl Into<Cow<'static, str>>,
    ) -> Arc<Transaction> {
        let sid = Some(&self.who.sid);
        let t = Transaction::of(&self.owner, kind, name, self.options.isolation, sid);
        t.set_lock_timeout(self.options.lock_timeout);
        Arc::new(t)
    }

    /// Commits in every database the transaction wrote, notes what replies depend on, gives the locks back.
    pub fn finish(&self, t: &Arc<Transaction>, delayed: Option<bool>) -> SqlResult<()> {
        self.committed(t, delayed).map(drop)
    }

    /// The same; where the commits lie in their logs.
    pub fn committed(&self, t: &Arc<Transaction>, delayed: Option<bool>) -> SqlResult<CommitLsns> {
        if t.waits_at_commit() {
            self.instance.admission.leave(self.spid);
        }
        match self.instance.commit(t, delayed) {
            Ok(lsns) => {
                debug_assert!(
                    lsns.parts.iter().all(|(_, lsn)| !lsn.is_null()),
                    "a commit without a place in its log"
                );
                if lsns.durability == duramen_txn::Durability::Full {
                    for (db, lsn) in &lsns.parts {
                        self.deps.note_commit(*db, *lsn);
                    }
                }
                Ok(lsns)
            }
            Err(e) => {
                self.instance.rollback(t, None)?;
                Err(e)
            }
        }
    }

    /// Whether a trace flag is on for this session or for the server.
    pub fn has_trace_flag(&self, flag: i64) -> bool {
        self.activity.trace.has(flag) || self.instance.trace.has(flag)
    }

    /// The name in tempdb of the innermost local table that can be seen under this name, or of a global one.
    pub fn temporary_name(&self, name: &str) -> Option<&str> {
        let mut known = self.state.temporary.iter().rev();
        known.find(|t| same(&t.name, name)).map(|t| t.full.as_str())
    }
}

/// What the globals show of the last statement.
#[derive(Debug, Default)]
pub struct State {
    pub rowcount: u64,
    pub error: i32,
    /// The errors of the running CATCH blocks, innermost last.
    pub caught: Vec<SqlError>,
    /// INSERT ... EXECUTE runs: `@@TRANCOUNT` when it began.
    pub insert_exec: Option<u32>,
    /// The transaction that IMPLICIT_TRANSACTIONS has begun last.
    pub implicit: Option<u64>,
    /// How many procedures and strings are running within each other: `@@NESTLEVEL`.
    pub nesting: u32,
    /// The last identity value made in the running scope: SCOPE_IDENTITY().
    pub scope_identity: Option<i64>,
    /// The last identity value made in any scope: `@@IDENTITY`.
    pub identity: Option<i64>,
    /// The table of SET IDENTITY_INSERT ON.
    pub identity_insert: Option<IdentityInsert>,
    /// The triggers that are running within each other, innermost last.
    pub triggers: Vec<Firing>,
    /// Temporary tables and procedures that nobody can see any more, to be dropped when no transaction is open.
    pub hidden: Vec<TemporaryTable>,
    /// How many local temporary tables and procedures the session has made: a part of their names in tempdb.
    pub made: u32,
    /// Temporary tables and procedures that can be seen, oldest first.
    pub temporary: Vec<TemporaryTable>,
    /// What an INSERT BULK has announced: the next request brings the rows, or they do not come.
    pub bulk: Option<Announced>,
    /// Programs of procedures and of parameterised statements.
    pub programs: ProgramCache,
    /// SET CONTEXT_INFO and sp_set_session_context.
    pub context: SessionContext,
    /// For sessions with limited rights: the permission to ask for when the statement's target is known.
    pub write_to_ask: Option<Right>,
    /// The databases of the modules that are running within each other; a string in between has none.
    pub chain: Vec<Option<String>>,
    /// Where the programs around the running one go on, outermost first.
    pub homes: Vec<Home>,
    /// How often SET has set an option: who has called looks whether to tell of its own again.
    pub options_set: u64,
    /// The session was reset before the request at hand, and kept its transaction or not.
    pub reset_by: Option<bool>,
    /// An attention has cut the running request short.
    pub given_up: bool,
    /// What the running statement was granted of the memory for rows; those within it use the same.
    pub memory: Option<MemoryGrant>,
    /// Where RAND stands.
    pub random: Sequence,
}

/// Where a program goes on when what it has called ends.
#[derive(Debug)]
pub struct Home {
    pub database: Arc<str>,
    /// The database of the share that is kept for it.
    pub shared: DbId,
}

/// Whether a column that says neither NULL nor NOT NULL allows NULL: by ANSI_NULL_DFLT_ON and _OFF, and where both are OFF
/// by the database's ANSI_NULL_DEFAULT.
pub fn null_by_default(session: &SessionCore, database: &str) -> bool {
    let options = &session.options;
    match (options.ansi_null_dflt_on, options.ansi_null_dflt_off) {
        (true, _) => true,
        (_, true) => false,
        _ => {
            let all = session.instance.databases.listed();
            let meant = all.iter().find(|(e, _)| fold(&e.name) == fold(database));
            meant.is_some_and(|(e, _)| switch(e.options, "ANSI_NULL_DEFAULT") == Some(true))
        }
    }
}
