//! Whose session it is, and what it may do.
//!
//! Members of `sysadmin` may do everything and pay nothing for these checks. For everybody else the answer comes from the
//! rows of the catalogs ([`duramen_catalog::Security`]): the login's user in a database, the roles that it is in, and what
//! was granted or denied to any of them. `docs/decisions/0006-permissions.md` says what is checked and what is not.
//!
//! Invariants
//! 1. What a limited session binds is kept under keys with its login in them: nobody runs a plan that was checked for
//!    somebody else. [test: what_is_others_never_comes_back]
//! 2. Whatever changes the answers changes a catalog's version, and with it every plan that was checked before.
//!    [test: every_row_lets_in_who_holds_its_right_and_nobody_else]

pub mod password;
mod permission;
pub mod set_options;
mod visible;

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, DBO, GUEST};
use duramen_catalog::security::{DBCREATOR, REVOKED, SYSADMIN};
use duramen_catalog::{LoginDef, Security};
use duramen_program::rights::Right;

pub use self::permission::{Caller, Given, On, refused_view};
pub use self::visible::{Pictures, Visible, logins as visible_logins};
use crate::session_core::SessionCore;

/// The login of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub login: i32,
    pub name: String,
    pub sid: Arc<[u8]>,
    pub sysadmin: bool,
    /// What it holds of the server, by grants and by its roles there.
    server: Vec<Right>,
    /// The version of master that this was read at.
    version: u64,
}

/// What the fixed roles of the server are given, but for sysadmin.
/// <https://learn.microsoft.com/sql/relational-databases/security/authentication-access/server-level-roles>
const OF_SERVER_ROLES: &[(&str, &[Right])] = &[
    ("securityadmin", &[Right::AlterAnyLogin]),
    (
        "serveradmin",
        &[
            Right::AlterSettings,
            Right::AlterServerState,
            Right::Shutdown,
        ],
    ),
    (
        "processadmin",
        &[Right::AlterAnyConnection, Right::AlterServerState],
    ),
    ("dbcreator", &[Right::AlterAnyDatabase]),
];

/// What a login holds of the server. What is denied, it does not hold, whoever gives it.
fn held_of_server(login: i32, security: &Security) -> Vec<Right> {
    let roles = security.server_roles_of(login);
    let mut given = Vec::new();
    let mut denied = Vec::new();
    let own = security.privileges.iter();
    for p in own.filter(|p| p.class == 100 && roles.contains(&p.grantee)) {
        let Some(right) = Right::of_code(&p.kind, true) else {
            continue;
        };
        match p.state {
            b'D' => denied.push(right),
            REVOKED => {}
            _ => given.push(right),
        }
    }
    for (id, name) in duramen_catalog::security::SERVER_ROLES {
        let of_role = OF_SERVER_ROLES.iter().find(|(role, _)| role == name);
        if let Some((_, rights)) = of_role.filter(|_| roles.contains(id)) {
            given.extend(*rights);
        }
    }
    let all = Right::ALL.iter().copied().filter(|r| r.is_of_server());
    let held = |r: &Right| {
        let refused = |d: &Right| d == r || *d == Right::ControlServer;
        given.iter().any(|g| g.includes(*r)) && !denied.iter().any(refused)
    };
    all.filter(held).collect()
}

impl Who {
    pub fn of(login: &LoginDef, security: &Security, version: u64) -> Who {
        Who {
            login: login.id,
            name: login.name.clone(),
            sid: login.sid.as_slice().into(),
            sysadmin: security.server_roles_of(login.id).contains(&SYSADMIN),
            server: held_of_server(login.id, security),
            version,
        }
    }
}

/// Whether a login is a sysadmin, or holds all that one does: nobody below it may change it.
pub fn is_above(login: i32, security: &Security) -> bool {
    security.server_roles_of(login).contains(&SYSADMIN)
        || held_of_server(login, security).contains(&Right::ControlServer)
}

impl Who {
    /// The login's principal in a database; `None`: it may not enter.
    pub fn user_in(&self, db: &OpenDb) -> SqlResult<Option<i32>> {
        if self.sysadmin {
            return Ok(Some(DBO));
        }
        let snapshot = db.catalog.snapshot()?;
        let security = &snapshot.security;
        let own = security.user_of(&self.sid).map(|u| u.id);
        // Guests are let into the databases of the system that everybody needs.
        let open = matches!(db.db.id, DbId::MASTER | DbId::TEMPDB | DbId::MSDB);
        let user = own.unwrap_or(GUEST);
        let by_default = own.is_some() || open;
        let roles = |s: &Security| s.roles_of(user);
        let connects = user == DBO
            || self.server_may(Right::ControlServer)
            || security.connects((0, "CO"), user, roles, by_default);
        Ok(connects.then_some(user))
    }

    /// Whether the login may come to the server: CONNECT SQL.
    pub fn connects(&self, security: &Security) -> bool {
        let roles = |s: &Security| s.server_roles_of(self.login);
        self.sysadmin || security.connects((100, "COSQ"), self.login, roles, true)
    }

    /// 916
    pub fn shut_out(&self, database: &str) -> SqlError {
        let args: [&dyn std::fmt::Display; 2] = [&self.name, &database];
        SqlError::new(&messages::DATABASE_ACCESS_DENIED, &args)
    }

    /// Whether a permission of the server is held: by a role that implies it, or by a grant.
    pub fn server_may(&self, asked: Right) -> bool {
        self.sysadmin || self.server.contains(&asked)
    }

    /// Whether what is held of the server includes a permission of every database.
    fn reaches(&self, asked: Right) -> bool {
        self.server.iter().any(|r| r.reaches(asked))
    }
}

impl SessionCore {
    /// Reads anew who the session is when master has changed: a rename, a membership given or taken.
    pub fn recognise(&mut self) -> SqlResult<()> {
        let master = self.instance.databases.master()?;
        let version = master.catalog.version();
        if version == self.who.version {
            return Ok(());
        }
        let snapshot = master.catalog.snapshot()?;
        if let Some(login) = snapshot.security.logins.get(&self.who.login) {
            self.who = Arc::new(Who::of(login, &snapshot.security, version));
        }
        Ok(())
    }

    /// What the keys of programs begin with, so that plans checked for a login stay with it.
    pub fn key_tag(&self) -> String {
        match self.who.sysadmin {
            true => String::new(),
            false => format!("{}\u{2}", self.who.login),
        }
    }

    /// The session's principal in a database; `None`: it may not enter.
    pub fn user_in(&self, db: &OpenDb) -> SqlResult<Option<i32>> {
        self.who.user_in(db)
    }

    /// 916: the session has no user in the database. 923: it is RESTRICTED_USER, and the session is none of those.
    pub fn may_enter(&self, db: &OpenDb) -> SqlResult<()> {
        if self.who.sysadmin {
            return Ok(());
        }
        // What is not recovered may show what was never committed: *assumed* number for whoever is no sysadmin.
        let options = db.entry.read().options;
        if options & option::EMERGENCY != 0 || self.user_in(db)?.is_none() {
            return Err(self.shut_out(&db.db.name));
        }
        let restricted = options & option::RESTRICTED_USER != 0;
        match restricted && !self.owns(db)? && !self.creates_databases()? {
            true => Err(SqlError::new(
                &messages::DATABASE_RESTRICTED,
                &[&db.db.name],
            )),
            false => Ok(()),
        }
    }

    /// Whether the login is a member of dbcreator.
    fn creates_databases(&self) -> SqlResult<bool> {
        let snapshot = self.instance.databases.master()?.catalog.snapshot()?;
        let roles = snapshot.security.server_roles_of(self.who.login);
        Ok(roles.contains(&DBCREATOR))
    }

    pub(crate) fn shut_out(&self, database: &str) -> SqlError {
        self.who.shut_out(database)
    }

    /// The roles of the session's user in a database, itself among them.
    pub fn roles_in(&self, db: &OpenDb) -> SqlResult<BTreeSet<i32>> {
        let Some(user) = self.user_in(db)? else {
            return Ok(BTreeSet::new());
        };
        Ok(db.catalog.snapshot()?.security.roles_of(user))
    }

    /// Whether the session owns the database, as `dbo` or as a member of `db_owner`, or controls the server.
    pub fn owns(&self, db: &OpenDb) -> SqlResult<bool> {
        let roles = self.roles_in(db)?;
        let above = self.server_may(Right::ControlServer);
        Ok(roles.contains(&DBO) || roles.contains(&DB_OWNER) || above)
    }

    /// Whether a permission of the server is held.
    pub fn server_may(&self, asked: Right) -> bool {
        self.who.server_may(asked)
    }
}
