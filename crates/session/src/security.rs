//! Whose session it is, and what it may do.
//!
//! Members of `sysadmin` may do everything and pay nothing for these checks. For everybody else the answer comes from the
//! rows of the catalogs ([`duramen_catalog::Security`]): the login's user in a database, the roles that it is in, and what
//! was granted or denied to any of them. `docs/decisions/0006-permissions.md` says what is checked and what is not.
//!
//! Invariants
//! 1. What a limited session binds is kept under keys with its login in them: nobody runs a plan that was checked for
//!    somebody else.
//! 2. Whatever changes the answers changes a catalog's version, and with it every plan that was checked before.

pub mod password;
mod permission;

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DBCREATOR, SYSADMIN};
use duramen_catalog::{LoginDef, Security};

pub(crate) use self::permission::{On, permission_code, permission_name, permissions};
use crate::databases::{OpenDb, option};
use crate::instance::Instance;
use crate::session::Session;

/// The SID of `sa`.
pub const SID_SA: [u8; 1] = [1];

/// Ids of the principals that every database has.
pub const DBO: i32 = 1;
pub const GUEST: i32 = 2;
pub const DB_OWNER: i32 = 16384;
const DB_DDLADMIN: i32 = 16387;
const DB_DATAREADER: i32 = 16390;
const DB_DATAWRITER: i32 = 16391;
const DB_DENYDATAREADER: i32 = 16392;
const DB_DENYDATAWRITER: i32 = 16393;

/// The login of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub login: i32,
    pub name: String,
    pub sid: Vec<u8>,
    pub sysadmin: bool,
    /// The version of master that this was read at.
    version: u64,
}

impl Who {
    pub fn of(login: &LoginDef, security: &Security, version: u64) -> Who {
        Who {
            login: login.id,
            name: login.name.clone(),
            sid: login.sid.clone(),
            sysadmin: security.server_roles_of(login.id).contains(&SYSADMIN),
            version,
        }
    }
}

impl Who {
    /// The login's principal in a database; `None`: it may not enter.
    pub fn user_in(&self, db: &OpenDb) -> SqlResult<Option<i32>> {
        if self.sysadmin {
            return Ok(Some(DBO));
        }
        let snapshot = db.catalog.snapshot()?;
        let own = snapshot.security.user_of(&self.sid).map(|u| u.id);
        // Guests are let into the databases of the system that everybody needs.
        let open = matches!(db.db.id, DbId::MASTER | DbId::TEMPDB | DbId::MSDB);
        Ok(own.or(open.then_some(GUEST)))
    }

    /// Whether a permission of the server is held: by a role that implies it, or by a grant.
    pub fn server_may(&self, instance: &Instance, kind: &str) -> SqlResult<bool> {
        if self.sysadmin {
            return Ok(true);
        }
        let implied: &[&str] = match kind {
            "ALLG" => &["securityadmin"],
            "CRDB" | "ALDB" => &["dbcreator"],
            "ALCN" => &["processadmin"],
            "ALST" | "SHDN" => &["serveradmin"],
            "VWSS" => &["serveradmin", "processadmin"],
            _ => &[],
        };
        let snapshot = instance.databases.master()?.catalog.snapshot()?;
        let security = &snapshot.security;
        let roles = security.server_roles_of(self.login);
        let held = |state: fn(u8) -> bool| {
            security.privileges.iter().any(|p| {
                let covers = p.kind == kind || p.kind == "CL";
                p.class == 100 && roles.contains(&p.grantee) && covers && state(p.state)
            })
        };
        if held(|s| s == b'D') {
            return Ok(false);
        }
        let named = duramen_catalog::security::SERVER_ROLES.iter();
        let mut own = named.filter(|(id, _)| roles.contains(id));
        Ok(held(|s| s != b'D') || own.any(|(_, name)| implied.contains(name)))
    }
}

impl Session {
    /// Reads anew who the session is when master has changed: a rename, a membership given or taken.
    pub(crate) fn recognise(&mut self) -> SqlResult<()> {
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
    pub(crate) fn key_tag(&self) -> String {
        match self.who.sysadmin {
            true => String::new(),
            false => format!("{}\u{2}", self.who.login),
        }
    }

    /// The session's principal in a database; `None`: it may not enter.
    pub(crate) fn user_in(&self, db: &OpenDb) -> SqlResult<Option<i32>> {
        self.who.user_in(db)
    }

    /// 916: the session has no user in the database. 923: it is RESTRICTED_USER, and the session is none of those.
    pub(crate) fn may_enter(&self, db: &OpenDb) -> SqlResult<()> {
        if self.who.sysadmin {
            return Ok(());
        }
        if self.user_in(db)?.is_none() {
            return Err(self.shut_out(&db.db.name));
        }
        let restricted = db.entry.read().options & option::RESTRICTED_USER != 0;
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
        let args: [&dyn std::fmt::Display; 2] = [&self.who.name, &database];
        SqlError::new(&messages::DATABASE_ACCESS_DENIED, &args)
    }

    /// The roles of the session's user in a database, itself among them.
    pub(crate) fn roles_in(&self, db: &OpenDb) -> SqlResult<BTreeSet<i32>> {
        let Some(user) = self.user_in(db)? else {
            return Ok(BTreeSet::new());
        };
        Ok(db.catalog.snapshot()?.security.roles_of(user))
    }

    /// Whether the session owns the database, as `dbo` or as a member of `db_owner`.
    pub(crate) fn owns(&self, db: &OpenDb) -> SqlResult<bool> {
        let roles = self.roles_in(db)?;
        Ok(roles.contains(&DBO) || roles.contains(&DB_OWNER))
    }

    /// Whether a permission of the server is held.
    pub(crate) fn server_may(&self, kind: &str) -> SqlResult<bool> {
        self.who.server_may(&self.instance, kind)
    }
}
