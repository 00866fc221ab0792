//! The server as a whole: databases, sessions, locks. One value; everything a session shares hangs from it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{DbId, SessionId, SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_query::host::Source;
use duramen_tsql::ast;
use duramen_txn::{CommitLsns, LockManager, SavePoint, Transaction, txlog};

use crate::session::{LoginRequest, Session};

/// User sessions start here, as those below belong to the system.
const FIRST_USER_SESSION: u16 = 51;

#[derive(Clone, Debug)]
pub struct InstanceConfig {
    pub sa_password: String,
    pub server_name: String,
}

/// A session as the DMVs show it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    pub spid: SessionId,
    pub login: LoginRequest,
    /// Nanoseconds since 1970.
    pub login_time: i128,
}

pub struct Instance {
    config: InstanceConfig,
    pub(crate) locks: LockManager,
    sessions: Mutex<BTreeMap<SessionId, SessionInfo>>,
    schema_version: AtomicU64,
}

impl Instance {
    pub fn start(config: InstanceConfig) -> Arc<Instance> {
        Arc::new(Instance {
            config,
            locks: LockManager::new(),
            sessions: Mutex::new(BTreeMap::new()),
            schema_version: AtomicU64::new(1),
        })
    }

    pub fn server_name(&self) -> &str {
        &self.config.server_name
    }

    /// Opens a session: 18456 for a wrong name or password, 4060 for a database that is not there.
    pub fn login(self: &Arc<Instance>, request: &LoginRequest) -> SqlResult<Session> {
        let known = request.user.eq_ignore_ascii_case("sa");
        if !known
            || !same_secret(
                request.password.as_bytes(),
                self.config.sa_password.as_bytes(),
            )
        {
            return Err(SqlError::new(
                &messages::LOGIN_FAILED,
                &[&request.user, &"", &""],
            ));
        }
        let database = match request.database.as_str() {
            "" => "master".to_owned(),
            wanted => self
                .database_name(wanted)
                .ok_or_else(|| SqlError::new(&messages::CANNOT_OPEN_DATABASE_LOGIN, &[&wanted]))?,
        };
        let spid = self.admit(request)?;
        let mut login = request.clone();
        login.password.clear();
        login.database = database.clone();
        Ok(Session::new(self.clone(), spid, login, database))
    }

    /// The lowest free session id.
    fn admit(&self, request: &LoginRequest) -> SqlResult<SessionId> {
        let mut sessions = self.sessions.lock();
        let free = (FIRST_USER_SESSION..=32767)
            .map(SessionId)
            .find(|id| !sessions.contains_key(id));
        let spid =
            free.ok_or_else(|| SqlError::new(&messages::TOO_MANY_CONNECTIONS, &[&32767, &""]))?;
        let mut login = request.clone();
        login.password.clear();
        let login_time = duramen_os::time::wall().unix_nanos();
        sessions.insert(
            spid,
            SessionInfo {
                spid,
                login,
                login_time,
            },
        );
        Ok(spid)
    }

    pub(crate) fn session_ended(&self, spid: SessionId) {
        self.sessions.lock().remove(&spid);
    }

    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Plans are valid while this number stays.
    pub(crate) fn schema_version(&self) -> u64 {
        self.schema_version.load(Ordering::Acquire)
    }

    /// The name of a database as it was created, whatever the case it is asked in.
    pub(crate) fn database_name(&self, name: &str) -> Option<String> {
        self.database_id(name)
            .and_then(|id| self.database_name_of(id.0 as i64))
    }

    pub(crate) fn database_id(&self, name: &str) -> Option<DbId> {
        name.eq_ignore_ascii_case("master").then_some(DbId::MASTER)
    }

    pub(crate) fn database_name_of(&self, id: i64) -> Option<String> {
        (id == DbId::MASTER.0 as i64).then(|| "master".to_owned())
    }

    pub(crate) fn default_database(&self, wanted: &str) -> String {
        self.database_name(wanted)
            .unwrap_or_else(|| "master".to_owned())
    }

    /// A table or view that is stored in a database.
    pub(crate) fn table(
        &self,
        _database: &str,
        _name: &ast::ObjectName,
    ) -> SqlResult<Option<Source>> {
        Ok(None)
    }

    pub(crate) fn commit(
        &self,
        t: &Arc<Transaction>,
        delayed: Option<bool>,
    ) -> SqlResult<CommitLsns> {
        let lsns = txlog::commit(t, delayed)?;
        self.locks.release_all(&t.owner);
        Ok(lsns)
    }

    /// Undoes back to `point`, or everything and gives the locks back.
    pub(crate) fn rollback(
        &self,
        t: &Arc<Transaction>,
        point: Option<&SavePoint>,
    ) -> SqlResult<()> {
        match point {
            Some(p) => {
                t.rolled_back_to(p);
                self.locks.release_to(&t.owner, p.locks);
            }
            None => self.locks.release_all(&t.owner),
        }
        Ok(())
    }
}

/// Compares without telling by its time where the difference is.
fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}
