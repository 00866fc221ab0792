//! Who is in a database: every session holds S on the database it is in, whoever changes its state needs X.
//!
//! `master` and `tempdb` are everybody's: nobody has a share of them. The only share of a single-user database is taken
//! with X, so that the second session finds it occupied (924) instead of waiting.

use std::sync::Arc;
use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_access::open_db::OpenDb;
use duramen_access::open_db::is_single_user;
use duramen_access::open_db::occupied;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, DBO};
use duramen_catalog::security::{DBCREATOR, SYSADMIN};
use duramen_os::{thread, time};
use duramen_tsql::ast::Termination;
use duramen_txn::{LockDuration, LockError, LockInfo, LockMode, LockOwner, Resource};

use crate::activity::Activity;
use crate::session_core::{Home, SessionCore};

/// How long a wait for sessions to leave looks away.
const LOOK: Duration = Duration::from_millis(10);

fn share(db: DbId) -> Option<Resource> {
    (!matches!(db, DbId::MASTER | DbId::TEMPDB)).then_some(Resource::Database(db))
}

impl SessionCore {
    /// A program begins within the one that runs, which goes on in its own database afterwards whatever USE says until then: it
    /// keeps its share there. Follow it with [`SessionCore::come_home`].
    pub fn go_within(&mut self, database: Option<&str>) -> SqlResult<()> {
        let home = Home {
            database: self.database.clone(),
            shared: self.current(),
        };
        self.state.homes.push(home);
        let Some(database) = database.filter(|d| **d != *self.database) else {
            return Ok(());
        };
        let moved = self.move_to(database);
        if moved.is_err() {
            self.state.homes.pop();
        }
        moved.map(|_| ())
    }

    /// The program that has called goes on.
    pub fn come_home(&mut self) {
        let Some(home) = self.state.homes.pop() else {
            debug_assert!(false, "a program ends that has not begun");
            return;
        };
        let left = self.current();
        if left != home.shared {
            self.activity.set_database(home.shared.0);
            self.leave_unless_home(left);
        }
        self.database = home.database;
    }

    /// Another database becomes the current one: a share there first, then the old one is left. Gives the name of the old one.
    pub fn move_to(&mut self, database: &str) -> SqlResult<Arc<str>> {
        debug_assert!(!database.is_empty(), "a session is in a database");
        let id = || self.instance.database_id(database);
        let missing = || self.instance.databases.not_open(database);
        let new = id().ok_or_else(missing)?;
        let old = self.current();
        if new != old {
            if !self.is_home(new) {
                self.take_share(new)?;
                // It may have gone while this has waited for who was alone in it.
                if id() != Some(new) {
                    self.leave_share(new);
                    return Err(missing());
                }
            }
            self.activity.set_database(new.0);
            self.leave_unless_home(old);
        }
        Ok(std::mem::replace(&mut self.database, database.into()))
    }

    /// Is the session in this database, now or when a program that runs has ended?
    pub fn is_in(&self, db: DbId) -> bool {
        self.current() == db || self.is_home(db)
    }

    /// The session has one share of this database while `work` is done.
    pub fn sharing<T>(&self, db: DbId, work: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        if self.is_in(db) {
            return work();
        }
        self.take_share(db)?;
        let result = work();
        self.leave_share(db);
        result
    }

    /// The database has a new name.
    pub fn call_home(&mut self, db: DbId, name: &str) {
        if self.current() == db {
            self.database = name.into();
        }
        for home in self.state.homes.iter_mut().filter(|h| h.shared == db) {
            home.database = name.into();
        }
    }

    /// A database that closes is left for master. False when the session was not in it.
    pub fn leave_for_master(&mut self, db: DbId) -> bool {
        if !self.is_in(db) {
            return false;
        }
        let master: Arc<str> = "master".into();
        if self.current() == db {
            self.database = master.clone();
            self.activity.set_database(DbId::MASTER.0);
        }
        for home in self.state.homes.iter_mut().filter(|h| h.shared == db) {
            home.database = master.clone();
            home.shared = DbId::MASTER;
        }
        self.leave_share(db);
        true
    }

    /// Between two requests a session has one share, of the database that is current.
    pub fn has_share(&self) -> bool {
        let named = self.instance.database_id(&self.database);
        self.state.homes.is_empty() && named.is_none_or(|id| id == self.current())
    }

    fn current(&self) -> DbId {
        DbId(self.activity.database())
    }

    fn is_home(&self, db: DbId) -> bool {
        self.state.homes.iter().any(|h| h.shared == db)
    }

    fn leave_unless_home(&self, db: DbId) {
        if !self.is_home(db) {
            self.leave_share(db);
        }
    }

    /// The session is in this database from now on.
    pub fn take_share(&self, db: DbId) -> SqlResult<()> {
        let Some(resource) = share(db) else {
            return Ok(());
        };
        let open = self.instance.databases.get(db);
        let alone = open.as_deref().is_some_and(is_single_user);
        let (mode, timeout) = match alone {
            true => (LockMode::X, Some(Duration::ZERO)),
            false => (LockMode::S, None),
        };
        let locks = &self.instance.locks;
        match locks.lock(&self.owner, &resource, mode, LockDuration::Session, timeout) {
            Ok(_) => Ok(()),
            Err(LockError::Timeout) => {
                let name = open.map_or_else(String::new, |d| d.db.name.clone());
                Err(occupied(&name))
            }
            Err(e) => Err(refused(e, &self.owner)),
        }
    }

    /// The session has left this database.
    pub fn leave_share(&self, db: DbId) {
        if let Some(resource) = share(db) {
            let locks = &self.instance.locks;
            locks.unlock_session(&self.owner, &resource, self.transaction.is_some());
        }
    }

    /// X on the database for the rest of the statement: waits until the other sessions have left it, or ends them as
    /// the WITH clause says. The caller gives it back with [`SessionCore::among_others`]. True when sessions were ended.
    pub fn be_alone(&self, db: &OpenDb, termination: Option<Termination>) -> SqlResult<bool> {
        let first = match termination {
            None => None,
            Some(Termination::NoWait | Termination::RollbackImmediate) => Some(Duration::ZERO),
            Some(Termination::RollbackAfter(s)) => Some(Duration::from_secs(u64::from(s))),
        };
        match self.try_alone(db, first) {
            Ok(()) => Ok(false),
            Err(LockError::Timeout) if termination == Some(Termination::NoWait) => {
                let name = &db.db.name;
                Err(SqlError::new(&messages::DATABASE_STATE_IN_USE, &[name]).with_state(2))
            }
            Err(LockError::Timeout) => {
                self.end_others(db)?;
                // A session that runs ends itself as soon as it looks.
                self.try_alone(db, None)
                    .map_err(|e| refused(e, &self.owner))?;
                Ok(true)
            }
            Err(e) => Err(refused(e, &self.owner)),
        }
    }

    /// The same for who gives up at once when somebody is there.
    pub fn try_alone(&self, db: &OpenDb, wait: Option<Duration>) -> Result<(), LockError> {
        let resource = Resource::Database(db.db.id);
        let locks = &self.instance.locks;
        let outcome = locks.lock(
            &self.owner,
            &resource,
            LockMode::X,
            LockDuration::Normal,
            wait,
        );
        outcome.map(|_| ())
    }

    /// Waits until the sessions in the database that RESTRICTED_USER keeps out have left it, or ends them as the WITH
    /// clause says. True when sessions were ended.
    pub fn be_among_owners(
        &self,
        db: &OpenDb,
        termination: Option<Termination>,
        cancel: &CancelToken,
    ) -> SqlResult<bool> {
        let until = match termination {
            Some(Termination::RollbackAfter(s)) => {
                Some(time::now() + Duration::from_secs(u64::from(s)))
            }
            _ => None,
        };
        let mut ended = false;
        loop {
            let others = self.shut_out_by_restriction(db)?;
            if others.is_empty() {
                return Ok(ended);
            }
            match termination {
                Some(Termination::NoWait) => {
                    let name = &db.db.name;
                    return Err(
                        SqlError::new(&messages::DATABASE_STATE_IN_USE, &[name]).with_state(2)
                    );
                }
                Some(_) if !ended && until.is_none_or(|t| time::now() >= t) => {
                    for activity in &others {
                        self.instance.end(activity)?;
                    }
                    ended = true;
                }
                _ if cancel.is_set() => return Err(duramen_query::cancelled()),
                _ => thread::sleep(LOOK),
            }
        }
    }

    /// Other sessions in the database whose login neither owns it nor is of sysadmin or dbcreator.
    fn shut_out_by_restriction(&self, db: &OpenDb) -> SqlResult<Vec<Arc<Activity>>> {
        let resource = Resource::Database(db.db.id);
        let held = self.instance.locks.snapshot();
        let server = self.instance.databases.master()?.catalog.snapshot()?;
        let own = db.catalog.snapshot()?;
        let owner = |activity: &Activity| {
            let user = own.security.user_of(&activity.sid).map(|u| u.id);
            let roles = user.map(|u| own.security.roles_of(u)).unwrap_or_default();
            let server_roles = server.security.server_roles_of(activity.principal);
            roles.contains(&DBO)
                || roles.contains(&DB_OWNER)
                || server_roles.contains(&SYSADMIN)
                || server_roles.contains(&DBCREATOR)
        };
        let mut others = self.instance.sessions();
        others.retain(|activity| {
            let there = |l: &LockInfo| l.resource == resource && l.spid == activity.spid;
            activity.spid != self.spid && held.iter().any(there) && !owner(activity)
        });
        Ok(others)
    }

    /// Gives back what [`SessionCore::be_alone`] took; a share of the session's own stays.
    pub fn among_others(&self) {
        self.instance.locks.release_all(&self.owner);
    }

    /// Ends every other session that holds or wants the database.
    fn end_others(&self, db: &OpenDb) -> SqlResult<()> {
        let resource = Resource::Database(db.db.id);
        let held = self.instance.locks.snapshot();
        let mut others = self.instance.sessions();
        others.retain(|activity| {
            let there = |l: &LockInfo| l.resource == resource && l.spid == activity.spid;
            activity.spid != self.spid && held.iter().any(there)
        });
        // Those that wait for one of them first: what it lets go of is not theirs any more.
        // Asked once each: a sort panics where an answer changes under it.
        others.sort_by_cached_key(|activity| !activity.is_running());
        others
            .iter()
            .try_for_each(|activity| self.instance.end(activity))
    }
}

fn refused(e: LockError, owner: &LockOwner) -> SqlError {
    duramen_txn::errors::lock_error(e, owner.spid()).unwrap_or_else(duramen_query::cancelled)
}
