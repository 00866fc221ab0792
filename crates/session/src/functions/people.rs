//! Logins, users, roles and permissions. There is one login, `sa`, which is `dbo` in every database and may do
//! everything; the fixed roles are known by name.

use duramen_base::SqlResult;
use duramen_types::Value;

use super::{Args, int, text};
use crate::session::{SID_SA, Session};

/// Principal ids of a database: the fixed users, then the fixed roles.
const PRINCIPALS: &[(i32, &str)] = &[
    (0, "public"),
    (1, "dbo"),
    (2, "guest"),
    (3, "INFORMATION_SCHEMA"),
    (4, "sys"),
    (16384, "db_owner"),
    (16385, "db_accessadmin"),
    (16386, "db_securityadmin"),
    (16387, "db_ddladmin"),
    (16389, "db_backupoperator"),
    (16390, "db_datareader"),
    (16391, "db_datawriter"),
    (16392, "db_denydatareader"),
    (16393, "db_denydatawriter"),
];

const SERVER_ROLES: &[&str] = &[
    "sysadmin",
    "securityadmin",
    "serveradmin",
    "setupadmin",
    "processadmin",
    "diskadmin",
    "dbcreator",
    "bulkadmin",
    "public",
];

fn principal(name: &str) -> Option<i32> {
    let found = PRINCIPALS.iter().find(|p| p.1.eq_ignore_ascii_case(name));
    found.map(|p| p.0)
}

/// USER_ID and DATABASE_PRINCIPAL_ID.
pub fn database_principal_id(_: &Session, args: &Args<'_>) -> SqlResult<Value> {
    match args.len() {
        0 => int(Some(1)),
        _ => int(args.text(0).and_then(|n| principal(&n))),
    }
}

pub fn user_name(_: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let id = match args.len() {
        0 => Some(1),
        _ => args.int(0),
    };
    let found = id.and_then(|id| PRINCIPALS.iter().find(|p| p.0 == id));
    text(found.map(|p| p.1))
}

/// The login's own name, or the name given when it is the login's.
fn known<'a>(s: &'a Session, name: &str) -> Option<&'a str> {
    s.login
        .user
        .eq_ignore_ascii_case(name)
        .then_some(s.login.user.as_str())
}

pub fn suser_id(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    match args.len() {
        0 => int(Some(1)),
        _ => int(args.text(0).and_then(|n| known(s, &n)).map(|_| 1)),
    }
}

pub fn suser_name(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    match (args.len(), args.int(0)) {
        (0, _) | (_, Some(1)) => text(Some(&s.login.user)),
        _ => text(None),
    }
}

pub fn suser_sname(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let own = match args.0.first() {
        None => true,
        Some(Value::Binary(sid)) => sid.as_slice() == SID_SA.as_slice(),
        Some(_) => false,
    };
    text(own.then_some(s.login.user.as_str()))
}

pub fn suser_sid(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let own = match args.len() {
        0 => true,
        _ => args.text(0).is_some_and(|n| known(s, &n).is_some()),
    };
    Ok(match own {
        true => Value::Binary(SID_SA.to_vec()),
        false => Value::Null,
    })
}

/// IS_MEMBER: `dbo` is in db_owner and public; of other roles it is no member. NULL for what is no role.
pub fn is_member(_: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let role = args.text(0).and_then(|n| principal(&n));
    int(role
        .filter(|id| *id == 0 || *id >= 16384)
        .map(|id| i32::from(matches!(id, 0 | 16384))))
}

/// IS_ROLEMEMBER(role [, principal]).
pub fn is_rolemember(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    match args.text(1).map(|p| principal(&p)) {
        None | Some(Some(1)) => is_member(s, args),
        Some(Some(_)) => {
            let role = args.text(0).and_then(|n| principal(&n));
            int(role.map(|id| i32::from(id == 0)))
        }
        Some(None) => int(None),
    }
}

/// IS_SRVROLEMEMBER(role [, login]): a sysadmin answers 1 for every fixed server role.
pub fn is_srvrolemember(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let role = args.text(0).unwrap_or_default();
    let role = SERVER_ROLES.iter().any(|r| r.eq_ignore_ascii_case(&role));
    let login = match args.len() {
        2 => args.text(1).is_some_and(|n| known(s, &n).is_some()),
        _ => true,
    };
    int((role && login).then_some(1))
}

pub fn has_dbaccess(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    let found = args.text(0).and_then(|n| s.instance.database_id(&n));
    int(found.map(|_| 1))
}

/// HAS_PERMS_BY_NAME(securable, class, permission): everything is permitted on what exists. NULL for a permission or
/// class that is NULL, 0 for a database that is not there.
pub fn has_perms_by_name(s: &Session, args: &Args<'_>) -> SqlResult<Value> {
    if args.text(2).is_none() || args.len() > 1 && args.0[1].is_null() && !args.0[0].is_null() {
        return int(None);
    }
    let class = args.property(1).unwrap_or_default();
    let found = match (class.as_str(), args.text(0)) {
        ("database", Some(name)) => s.instance.database_id(&name).is_some(),
        ("object", Some(name)) => crate::metadata::object_exists(s, &name)?,
        _ => true,
    };
    int(Some(i32::from(found)))
}
