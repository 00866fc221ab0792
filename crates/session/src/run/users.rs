//! CREATE, ALTER and DROP of users and roles of the current database.
//!
//! Texts and numbers: Microsoft Learn, "CREATE USER", "DROP USER", "CREATE ROLE", "ALTER ROLE", "DROP ROLE".

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::now;
use duramen_catalog::security::DB_OWNER;
use duramen_catalog::{Security, UserDef};
use duramen_core::security::On;
use duramen_define::Ddl;
use duramen_program::rights::Right;
use duramen_program::statements::Kind;
use duramen_tsql::ast;

use super::failure::RunResult;
use super::principals::{cannot, word};
use super::{Run, not_supported};

/// Roles of SQL Server have ids up to here.
const LAST_FIXED_ROLE: i32 = 16_399;

fn is_fixed(user: &UserDef) -> bool {
    user.id < 5 || (DB_OWNER..=LAST_FIXED_ROLE).contains(&user.id)
}

impl Run<'_> {
    /// 15247 unless the session owns the database or holds a permission there.
    fn may_change_principals(
        &self,
        asked: Right,
        refused: impl FnOnce() -> SqlError,
    ) -> RunResult<()> {
        let Some(db) = self.session.instance.databases.find(&self.session.database) else {
            return Ok(());
        };
        match self.session.may(&db, asked, On::Database)? {
            true => Ok(()),
            false => Err(refused().into()),
        }
    }

    pub(super) fn create_user(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let denied = || SqlError::new(&messages::USER_PERMISSION_DENIED, &[]);
        self.may_change_principals(Right::AlterAnyUser, denied)?;
        let mut login = stmt.name.clone();
        let mut without = false;
        for o in &stmt.options {
            match o.name.as_str() {
                "FOR LOGIN" | "FROM LOGIN" => login = word(o),
                "WITHOUT LOGIN" => without = true,
                "DEFAULT_SCHEMA" => default_schema(o)?,
                other => return Err(not_supported(&format!("CREATE USER ... {other}")).into()),
            }
        }
        let master = self.session.instance.databases.master()?;
        let sid = match without {
            true => {
                let mut sid = vec![0; 28];
                duramen_os::random::fill(&mut sid);
                sid
            }
            false => {
                let snapshot = master.catalog.snapshot()?;
                let found = snapshot.security.login(&login);
                let found = found.filter(|l| l.id != duramen_catalog::security::LOGIN_SA);
                match (found, login.eq_ignore_ascii_case("sa")) {
                    (Some(l), _) => l.sid.clone(),
                    (None, true) => {
                        return Err(SqlError::new(&messages::SPECIAL_PRINCIPAL, &[&"sa"]).into());
                    }
                    (None, false) => {
                        return Err(SqlError::new(&messages::NOT_A_LOGIN, &[&login]).into());
                    }
                }
            }
        };
        let name = stmt.name.clone();
        self.define(Kind::CreateUser.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            if snapshot.security.user(&name).is_some() {
                return Err(SqlError::new(&messages::PRINCIPAL_ALREADY_EXISTS, &[&name]));
            }
            if snapshot.security.user_of(&sid).is_some() {
                return Err(SqlError::new(&messages::LOGIN_HAS_USER, &[]));
            }
            new_principal(d, &name, Some(sid))
        })
    }

    pub(super) fn alter_user(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let refused = || cannot("alter", "user", &stmt.name);
        self.may_change_principals(Right::AlterAnyUser, refused)?;
        // Who could make a user another login's would be that user.
        if stmt.options.iter().any(|o| o.name == "LOGIN") {
            self.may_change_principals(Right::Control, refused)?;
        }
        let master = self.session.instance.databases.master()?;
        let logins = master.catalog.snapshot()?;
        self.define(Kind::AlterUser.definition(), |d| {
            let mut user = made(d, &stmt.name, false).ok_or_else(refused)?;
            for o in &stmt.options {
                match o.name.as_str() {
                    "NAME" => user.name = free_name(d, &user, word(o))?,
                    "DEFAULT_SCHEMA" => default_schema(o)?,
                    "LOGIN" => {
                        let login = word(o);
                        let found = logins.security.login(&login);
                        let missing = || SqlError::new(&messages::NOT_A_LOGIN, &[&login]);
                        let sid = &found.ok_or_else(missing)?.sid;
                        let security = &d.db.catalog.snapshot()?.security;
                        if security.user_of(sid).is_some_and(|u| u.id != user.id) {
                            return Err(SqlError::new(&messages::LOGIN_HAS_USER, &[]));
                        }
                        user.sid = Some(sid.clone());
                    }
                    other => return Err(not_supported(&format!("ALTER USER ... {other}"))),
                }
            }
            user.modified = now();
            d.db.catalog.put_user(d.tx, &user)
        })
    }

    pub(super) fn create_role(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let denied = || SqlError::new(&messages::USER_PERMISSION_DENIED, &[]);
        self.may_change_principals(Right::CreateRole, denied)?;
        for o in &stmt.options {
            match (o.name.as_str(), word(o).to_ascii_lowercase().as_str()) {
                ("AUTHORIZATION", "dbo") => {}
                (other, _) => return Err(not_supported(&format!("CREATE ROLE ... {other}")).into()),
            }
        }
        let name = stmt.name.clone();
        self.define(Kind::CreateRole.definition(), |d| {
            if d.db.catalog.snapshot()?.security.user(&name).is_some() {
                return Err(SqlError::new(&messages::PRINCIPAL_ALREADY_EXISTS, &[&name]));
            }
            new_principal(d, &name, None)
        })
    }

    /// ALTER ROLE ... ADD MEMBER | DROP MEMBER | WITH NAME.
    pub(super) fn alter_role(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let refused = || cannot("alter", "role", &stmt.name);
        let database = self.session.database.to_string();
        let fixed = ["db_owner", "db_securityadmin", "db_accessadmin"];
        let high = fixed.iter().any(|r| r.eq_ignore_ascii_case(&stmt.name))
            || stmt.name.to_ascii_lowercase().starts_with("db_");
        let owns = match self.session.instance.databases.find(&database) {
            Some(db) => self.session.owns(&db)?,
            None => true,
        };
        // Only owners give away the fixed roles.
        if high && !owns {
            return Err(refused().into());
        }
        self.may_change_principals(Right::AlterAnyRole, refused)?;
        self.define(Kind::AlterRole.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            let security = &snapshot.security;
            let role = security.user(&stmt.name).filter(|r| r.role);
            let role = role.ok_or_else(refused)?;
            if !owns && gives_more(security, role.id) {
                return Err(refused());
            }
            for o in &stmt.options {
                let add = match o.name.as_str() {
                    "ADD MEMBER" => true,
                    "DROP MEMBER" => false,
                    "NAME" if !is_fixed(role) => {
                        let mut named = role.clone();
                        named.name = free_name(d, role, word(o))?;
                        named.modified = now();
                        d.db.catalog.put_user(d.tx, &named)?;
                        continue;
                    }
                    other => return Err(not_supported(&format!("ALTER ROLE ... {other}"))),
                };
                if role.id == 0 {
                    return Err(SqlError::new(&messages::PUBLIC_MEMBERSHIP, &[]));
                }
                let name = word(o);
                let verb = if add { "add" } else { "drop" };
                let member = security.user(&name);
                let member = member.ok_or_else(|| cannot(verb, "principal", &name))?;
                if member.id < 5 || is_fixed(member) && member.role {
                    return Err(SqlError::new(&messages::SPECIAL_PRINCIPAL, &[&member.name]));
                }
                if add && security.roles_of(role.id).contains(&member.id) {
                    return Err(SqlError::new(&messages::ROLE_MEMBER_OF_ITSELF, &[]));
                }
                d.db.catalog
                    .set_member(d.tx, false, (role.id, member.id), add)?;
            }
            Ok(())
        })
    }

    /// DROP USER and DROP ROLE.
    pub(super) fn drop_principal(
        &mut self,
        role: bool,
        if_exists: bool,
        name: &str,
    ) -> RunResult<()> {
        let what = if role { "role" } else { "user" };
        let refused = || cannot("drop", what, name);
        let asked = if role {
            Right::AlterAnyRole
        } else {
            Right::AlterAnyUser
        };
        self.may_change_principals(asked, refused)?;
        self.define(Kind::DropUser.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            let security = &snapshot.security;
            let user = match security.user(name).filter(|u| u.role == role) {
                Some(u) => u,
                None if if_exists => return Ok(()),
                None => return Err(refused()),
            };
            if is_fixed(user) {
                let args: [&dyn Display; 3] = [&"drop", &what, &name];
                return Err(SqlError::new(&messages::CANNOT_ACT_ON, &args));
            }
            if snapshot.schemas.values().any(|s| s.owner == user.id) {
                let message = &messages::PRINCIPAL_OWNS_OBJECT;
                return Err(SqlError::new(message, &[&"schema"]));
            }
            if security.members.iter().any(|(r, _)| *r == user.id) {
                return Err(SqlError::new(&messages::ROLE_HAS_MEMBERS, &[]));
            }
            d.db.catalog.drop_user(d.tx, user.id)
        })
    }
}

/// Whether a role's members are owners, or of another fixed role, or control the database: who may only change roles
/// could make itself that. SQL Server lets members of db_securityadmin do so.
fn gives_more(security: &Security, role: i32) -> bool {
    let roles = security.roles_of(role);
    let fixed = roles
        .iter()
        .any(|r| (DB_OWNER..=LAST_FIXED_ROLE).contains(r));
    let mut given = security.privileges.iter();
    fixed
        || given.any(|p| {
            let right = Right::of_code(&p.kind, false);
            let much = right.is_some_and(|r| {
                matches!(
                    r,
                    Right::Control | Right::Alter | Right::AlterAnyRole | Right::AlterAnyUser
                )
            });
            p.class == 0 && p.state != b'D' && much && roles.contains(&p.grantee)
        })
}

/// A user or role that somebody has made.
fn made(d: &Ddl<'_>, name: &str, role: bool) -> Option<UserDef> {
    let snapshot = d.db.catalog.snapshot().ok()?;
    let found = snapshot.security.user(name).cloned();
    found.filter(|u| u.role == role && !is_fixed(u))
}

fn free_name(d: &Ddl<'_>, of: &UserDef, name: String) -> SqlResult<String> {
    let snapshot = d.db.catalog.snapshot()?;
    match snapshot.security.user(&name) {
        Some(other) if other.id != of.id => {
            Err(SqlError::new(&messages::PRINCIPAL_ALREADY_EXISTS, &[&name]))
        }
        _ => Ok(name),
    }
}

/// A user, or a role, which has no SID. They share their numbers.
fn new_principal(d: &Ddl<'_>, name: &str, sid: Option<Vec<u8>>) -> SqlResult<()> {
    let time = now();
    let id = d.db.catalog.next_user_id()?;
    let user = UserDef {
        id,
        name: name.to_owned(),
        role: sid.is_none(),
        default_schema: if sid.is_some() { "dbo" } else { "" }.to_owned(),
        sid,
        created: time,
        modified: time,
    };
    d.db.catalog.put_user(d.tx, &user)
}

/// Names without a schema are looked for in `dbo` alone.
fn default_schema(o: &ast::NamedOption) -> SqlResult<()> {
    match word(o).eq_ignore_ascii_case("dbo") {
        true => Ok(()),
        false => Err(not_supported("DEFAULT_SCHEMA other than dbo")),
    }
}
