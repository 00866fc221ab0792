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

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DBO, GUEST};
use duramen_catalog::security::{REVOKED, SYSADMIN};
use duramen_catalog::{LoginDef, Security};
use duramen_program::rights::Right;

pub(crate) use self::permission::denied;
pub use self::permission::{Caller, Given, On, refused_view};
pub use self::visible::{Pictures, Visible, logins as visible_logins};

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
    pub(crate) version: u64,
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
