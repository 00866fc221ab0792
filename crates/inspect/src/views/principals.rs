//! `sys.server_principals` and its kin: who there is, in which roles, with which permissions.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::security::{DB_OWNER, DBO, GUEST};
use duramen_catalog::security::{REVOKED, SERVER_PUBLIC, SERVER_ROLES};
use duramen_catalog::{LoginDef, PrivilegeDef, Security, UserDef};
use duramen_core::security::visible_logins;
use duramen_program::column::*;
use duramen_program::rights::Right;
use duramen_types::{DateTime, SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1059, &SERVER_PRINCIPALS),
    (-1060, &SQL_LOGINS),
    (-1061, &SERVER_ROLE_MEMBERS),
    (-1062, &SERVER_PERMISSIONS),
    (-1063, &DATABASE_PRINCIPALS),
    (-1064, &DATABASE_ROLE_MEMBERS),
    (-1065, &DATABASE_PERMISSIONS),
];

const SID: T = T::varbinary(85);
const LAST_FIXED_ROLE: i32 = 16_399;

fn logins(cx: &Context) -> SqlResult<Arc<Security>> {
    let master = cx.instance.databases.master()?;
    let all = master.catalog.snapshot()?.security.clone();
    Ok(visible_logins(&cx.who, &all))
}

fn here(cx: &Context) -> SqlResult<Arc<Security>> {
    Ok(cx.visible()?.snapshot.security.clone())
}

/// A login, or a fixed role of the server.
pub enum Server<'a> {
    Login(&'a LoginDef, bool),
    Role(i32, &'static str, DateTime),
}

impl Server<'_> {
    fn login<T>(&self, f: impl FnOnce(&LoginDef) -> T) -> Option<T> {
        match self {
            Server::Login(l, _) => Some(f(l)),
            Server::Role(..) => None,
        }
    }

    fn or_null(&self, f: impl FnOnce(&LoginDef) -> Value) -> Value {
        self.login(f).unwrap_or(Value::Null)
    }

    fn name(&self) -> &str {
        match self {
            Server::Login(l, _) => &l.name,
            Server::Role(_, name, _) => name,
        }
    }

    fn id(&self) -> i32 {
        match self {
            Server::Login(l, _) => l.id,
            Server::Role(id, _, _) => *id,
        }
    }

    fn times(&self) -> (DateTime, DateTime) {
        match self {
            Server::Login(l, _) => (l.created, l.modified),
            Server::Role(_, _, made) => (*made, *made),
        }
    }

    /// That of a role is its number in one byte.
    fn sid(&self) -> Vec<u8> {
        match self {
            Server::Login(l, _) => l.sid.clone(),
            Server::Role(id, _, _) => vec![*id as u8],
        }
    }

    fn is_login(&self) -> bool {
        matches!(self, Server::Login(..))
    }
}

fn servers(security: &Security) -> Vec<Server<'_>> {
    let made = security.logins.get(&1).map(|l| l.created);
    let made = made.unwrap_or(DateTime { days: 0, ticks: 0 });
    let roles = SERVER_ROLES
        .iter()
        .map(|(id, name)| Server::Role(*id, name, made));
    let logins = security.logins.values().map(|l| Server::Login(l, false));
    let mut all: Vec<_> = logins.chain(roles).collect();
    all.sort_by_key(Server::id);
    all
}

mod of_server {
    use super::*;

    columns! { Server<'_>;
        "name", T::SYSNAME, NOT_NULL, |s| text(s.name());
        "principal_id", T::INT, NOT_NULL, |s| int(s.id());
        "sid", SID, NULL, |s| Value::Binary(s.sid());
        "type", T::char(1), NOT_NULL, |s| Value::varchar(if s.is_login() { "S" } else { "R" });
        "type_desc", DESC, NULL, |s| text(if s.is_login() { "SQL_LOGIN" } else { "SERVER_ROLE" });
        "is_disabled", T::BIT, NULL, |s| bit(s.login(|l| l.disabled).unwrap_or(false));
        "create_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.times().0);
        "modify_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.times().1);
        "default_database_name", T::SYSNAME, NULL, |s| s.or_null(|l| text(&l.database));
        "default_language_name", T::SYSNAME, NULL, |s| s.or_null(|l| text(&l.language));
        "credential_id", T::INT, NULL, |_| Value::Null;
        "owning_principal_id", T::INT, NULL, |s| if s.is_login() { Value::Null } else { int(1) };
        "is_fixed_role", T::BIT, NOT_NULL, |s| bit(!s.is_login() && s.id() != SERVER_PUBLIC);
        "tenant_id", T::GUID, NULL, |_| Value::Null;
    }

    pub const VIEW: View = View::new("server_principals", VISIBLE, COLUMNS, |cx, _| {
        Ok(servers(&*logins(cx)?).iter().map(|s| row(s)).collect())
    });
}
pub const SERVER_PRINCIPALS: View = of_server::VIEW;

mod sql_logins {
    use super::*;

    columns! { Server<'_>;
        "name", T::SYSNAME, NOT_NULL, |s| text(s.name());
        "principal_id", T::INT, NOT_NULL, |s| int(s.id());
        "sid", SID, NULL, |s| Value::Binary(s.sid());
        "type", T::char(1), NOT_NULL, |_| Value::varchar("S");
        "type_desc", DESC, NULL, |_| text("SQL_LOGIN");
        "is_disabled", T::BIT, NULL, |s| bit(s.login(|l| l.disabled).unwrap_or(false));
        "create_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.times().0);
        "modify_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.times().1);
        "default_database_name", T::SYSNAME, NULL, |s| s.or_null(|l| text(&l.database));
        "default_language_name", T::SYSNAME, NULL, |s| s.or_null(|l| text(&l.language));
        "credential_id", T::INT, NULL, |_| Value::Null;
        "is_policy_checked", T::BIT, NULL, |s| bit(s.login(|l| l.policy).unwrap_or(false));
        "is_expiration_checked", T::BIT, NULL, |_| bit(false);
        // For administrators; the first password of sa is kept outside of the catalog.
        "password_hash", T::varbinary(256), NULL, |s| match s {
            Server::Login(l, true) => l.hash.clone().map_or(Value::Null, Value::Binary),
            _ => Value::Null,
        };
    }

    pub const VIEW: View = View::new("sql_logins", VISIBLE, COLUMNS, |cx, _| {
        let security = logins(cx)?;
        let shown = cx.who.sysadmin;
        let all = security.logins.values();
        Ok(all.map(|l| row(&Server::Login(l, shown))).collect())
    });
}
pub const SQL_LOGINS: View = sql_logins::VIEW;

mod members {
    use super::*;

    columns! { (i32, i32);
        "role_principal_id", T::INT, NOT_NULL, |m| int(m.0);
        "member_principal_id", T::INT, NOT_NULL, |m| int(m.1);
    }

    pub const SERVER: View = View::new("server_role_members", VISIBLE, COLUMNS, |cx, _| {
        Ok(logins(cx)?.server_members.iter().map(row).collect())
    });

    pub const DATABASE: View = View::new("database_role_members", VISIBLE, COLUMNS, |cx, _| {
        Ok(here(cx)?.members.iter().map(row).collect())
    });
}
pub const SERVER_ROLE_MEMBERS: View = members::SERVER;
pub const DATABASE_ROLE_MEMBERS: View = members::DATABASE;

fn is_fixed_role(u: &UserDef) -> bool {
    u.role && (DB_OWNER..=LAST_FIXED_ROLE).contains(&u.id)
}

/// Whether the user is a login's: those of the system, but for dbo, are nobody's.
fn has_login(u: &UserDef) -> bool {
    u.id == DBO || u.id > 4 && u.sid.as_ref().is_some_and(|s| s.len() == 16)
}

mod users {
    use super::*;

    columns! { UserDef;
        "name", T::SYSNAME, NOT_NULL, |u| text(&u.name);
        "principal_id", T::INT, NOT_NULL, |u| int(u.id);
        "type", T::char(1), NOT_NULL, |u| Value::varchar(if u.role { "R" } else { "S" });
        "type_desc", DESC, NULL, |u| text(if u.role { "DATABASE_ROLE" } else { "SQL_USER" });
        "default_schema_name", T::SYSNAME, NULL, |u| match u.id {
            GUEST => text("guest"),
            _ => text_or_null(Some(u.default_schema.as_str()).filter(|s| !s.is_empty())),
        };
        "create_date", T::DATETIME, NOT_NULL, |u| Value::DateTime(u.created);
        "modify_date", T::DATETIME, NOT_NULL, |u| Value::DateTime(u.modified);
        "owning_principal_id", T::INT, NULL, |u| if u.role { int(DBO) } else { Value::Null };
        "sid", SID, NULL, |u| u.sid.clone().map_or(Value::Null, Value::Binary);
        "is_fixed_role", T::BIT, NOT_NULL, |u| bit(is_fixed_role(u));
        "authentication_type", T::INT, NOT_NULL, |u| int(i32::from(has_login(u)));
        "authentication_type_desc", DESC, NULL, |u| text(if has_login(u) { "INSTANCE" } else { "NONE" });
        "default_language_name", T::SYSNAME, NULL, |_| Value::Null;
        "default_language_lcid", T::INT, NULL, |_| Value::Null;
        "allow_encrypted_value_modifications", T::BIT, NOT_NULL, |_| bit(false);
    }

    pub const VIEW: View = View::new("database_principals", VISIBLE, COLUMNS, |cx, _| {
        Ok(here(cx)?.users.values().map(row).collect())
    });
}
pub const DATABASE_PRINCIPALS: View = users::VIEW;

mod permissions {
    use super::*;

    fn class(p: &PrivilegeDef) -> &'static str {
        match p.class {
            0 => "DATABASE",
            1 => "OBJECT_OR_COLUMN",
            3 => "SCHEMA",
            _ => "SERVER",
        }
    }

    fn state(p: &PrivilegeDef) -> &'static str {
        match p.state {
            b'D' => "DENY",
            b'W' => "GRANT_WITH_GRANT_OPTION",
            _ => "GRANT",
        }
    }

    columns! { PrivilegeDef;
        "class", T::TINYINT, NOT_NULL, |p| tiny(p.class);
        "class_desc", DESC, NULL, |p| text(class(p));
        "major_id", T::INT, NOT_NULL, |p| int(p.id);
        "minor_id", T::INT, NOT_NULL, |_| int(0);
        "grantee_principal_id", T::INT, NOT_NULL, |p| int(p.grantee);
        "grantor_principal_id", T::INT, NOT_NULL, |p| int(p.grantor);
        "type", T::char(4), NOT_NULL, |p| Value::varchar(&format!("{:4}", p.kind));
        "permission_name", T::nvarchar(128), NULL, |p| text(Right::of_code(&p.kind, p.class == 100).map_or("", Right::name));
        "state", T::char(1), NOT_NULL, |p| Value::varchar(&char::from(p.state).to_string());
        "state_desc", DESC, NULL, |p| text(state(p));
    }

    /// CONNECT, which everybody who is there has.
    fn connect(class: u8, grantee: i32) -> PrivilegeDef {
        PrivilegeDef {
            class,
            id: 0,
            grantee,
            grantor: 1,
            kind: if class == 100 { "COSQ" } else { "CO" }.to_owned(),
            state: b'G',
        }
    }

    fn rows(
        of: Vec<i32>,
        class: u8,
        security: &Security,
        wanted: fn(&&PrivilegeDef) -> bool,
    ) -> Vec<Vec<Value>> {
        let connect = of.into_iter().map(|id| connect(class, id));
        let kept = security.privileges.iter().filter(wanted).cloned();
        let kept = kept.filter(|p| p.state != REVOKED);
        let explicit = |p: &PrivilegeDef| {
            let kind = connect_kind(class);
            !security
                .privileges
                .iter()
                .any(|q| q.class == class && q.grantee == p.grantee && q.kind == kind)
        };
        let mut all: Vec<_> = connect.filter(explicit).chain(kept).collect();
        all.sort_by_key(|p| (p.class, p.id, p.grantee));
        all.iter().map(row).collect()
    }

    fn connect_kind(class: u8) -> &'static str {
        if class == 100 { "COSQ" } else { "CO" }
    }

    pub const DATABASE: View = View::new("database_permissions", VISIBLE, COLUMNS, |cx, _| {
        let security = here(cx)?;
        let users = security.users.values();
        let users = users.filter(|u| !u.role && (u.id == DBO || u.id > 4));
        let users = users.map(|u| u.id).collect();
        Ok(rows(users, 0, &security, |p| p.class < 100))
    });

    pub const SERVER: View = View::new("server_permissions", VISIBLE, COLUMNS, |cx, _| {
        let security = logins(cx)?;
        let of = security.logins.keys().copied().collect();
        Ok(rows(of, 100, &security, |p| p.class == 100))
    });
}
pub const DATABASE_PERMISSIONS: View = permissions::DATABASE;
pub const SERVER_PERMISSIONS: View = permissions::SERVER;
