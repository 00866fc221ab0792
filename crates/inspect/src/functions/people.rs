//! Logins, users, roles and permissions, as functions tell of them.

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::SqlResult;
use duramen_catalog::security::{DB_OWNER, DBO};
use duramen_catalog::security::{SERVER_ROLES, SYSADMIN};
use duramen_catalog::{Security, Snapshot};
use duramen_core::security::{On, password};
use duramen_core::session_core::SessionCore;
use duramen_program::rights::Right;
use duramen_types::Value;

use super::{Args, int, text};

/// The current database, and its catalog as the caller may see it.
pub(super) fn here(s: &SessionCore) -> Option<(Arc<OpenDb>, Arc<Snapshot>)> {
    let db = s.instance.databases.find(&s.database)?;
    let snapshot = s.visible(&db).ok()?.snapshot.clone();
    Some((db, snapshot))
}

fn logins(s: &SessionCore) -> Option<Arc<Security>> {
    let master = s.instance.databases.master().ok()?;
    Some(master.catalog.snapshot().ok()?.security.clone())
}

/// The id of the session's user in the current database.
fn own_id(s: &SessionCore) -> Option<i32> {
    let (db, _) = here(s)?;
    s.user_in(&db).ok()?
}

fn name_of(s: &SessionCore, id: i32) -> Option<String> {
    let (_, snapshot) = here(s)?;
    Some(snapshot.security.users.get(&id)?.name.clone())
}

fn id_of(s: &SessionCore, name: &str) -> Option<i32> {
    let (_, snapshot) = here(s)?;
    Some(snapshot.security.user(name)?.id)
}

/// USER_ID and DATABASE_PRINCIPAL_ID.
pub fn database_principal_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    match args.len() {
        0 => int(own_id(s)),
        _ => int(args.name(0).and_then(|n| id_of(s, &n))),
    }
}

pub fn user_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let id = match args.len() {
        0 => own_id(s),
        _ => args.int(0),
    };
    text(id.and_then(|id| name_of(s, id)).as_deref())
}

/// USER, CURRENT_USER and SESSION_USER.
pub fn current_user(s: &SessionCore, _: &Args<'_>) -> SqlResult<Value> {
    text(own_id(s).and_then(|id| name_of(s, id)).as_deref())
}

pub fn suser_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    if args.len() == 0 {
        return int(Some(s.who.login));
    }
    let Some(name) = args.name(0) else {
        return int(None);
    };
    let login = logins(s).and_then(|l| Some(l.login(&name)?.id));
    let role = SERVER_ROLES
        .iter()
        .find(|(_, r)| r.eq_ignore_ascii_case(&name));
    int(login.or(role.map(|(id, _)| *id)))
}

/// SUSER_NAME(id): of a login or a role of the server.
pub fn suser_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    if args.len() == 0 {
        return text(Some(&s.who.name));
    }
    let id = args.int(0);
    let login = logins(s).and_then(|l| Some(l.logins.get(&id?)?.name.clone()));
    let role = SERVER_ROLES.iter().find(|(r, _)| Some(*r) == id);
    text(login.as_deref().or(role.map(|(_, name)| *name)))
}

pub fn suser_sname(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    match args.0.first() {
        None => text(Some(&s.who.name)),
        Some(Value::Binary(sid)) => {
            let found = logins(s).and_then(|l| Some(l.login_of(sid)?.name.clone()));
            text(found.as_deref())
        }
        Some(_) => text(None),
    }
}

pub fn suser_sid(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let sid = match args.len() {
        0 => Some(s.who.sid.to_vec()),
        _ => args
            .text(0)
            .and_then(|n| Some(logins(s)?.login(&n)?.sid.clone())),
    };
    Ok(sid.map_or(Value::Null, Value::Binary))
}

/// A role of the current database by its name.
fn role(snapshot: &Snapshot, name: &str) -> Option<i32> {
    let found = snapshot.security.user(name)?;
    found.role.then_some(found.id)
}

/// Whether a principal is in a role; `dbo` is in `db_owner` and `public` only.
fn is_in(snapshot: &Snapshot, principal: i32, role: i32) -> i32 {
    let within = snapshot.security.roles_of(principal).contains(&role);
    i32::from(within || principal == DBO && role == DB_OWNER)
}

/// IS_MEMBER. NULL for what is no role.
pub fn is_member(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let found = || {
        let (_, snapshot) = here(s)?;
        let role = role(&snapshot, &args.name(0)?)?;
        Some(is_in(&snapshot, own_id(s)?, role))
    };
    int(found())
}

/// IS_ROLEMEMBER(role [, principal]).
pub fn is_rolemember(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    if args.len() < 2 {
        return is_member(s, args);
    }
    let found = || {
        let (_, snapshot) = here(s)?;
        let role = role(&snapshot, &args.name(0)?)?;
        let principal = snapshot.security.user(&args.name(1)?)?.id;
        Some(is_in(&snapshot, principal, role))
    };
    int(found())
}

/// IS_SRVROLEMEMBER(role [, login]): a sysadmin is in every fixed role of the server.
pub fn is_srvrolemember(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let found = || {
        let name = args.name(0)?;
        let (role, _) = SERVER_ROLES
            .iter()
            .find(|(_, r)| r.eq_ignore_ascii_case(&name))?;
        let logins = logins(s)?;
        let login = match args.len() {
            2 => logins.login(&args.name(1)?)?.id,
            _ => s.who.login,
        };
        let roles = logins.server_roles_of(login);
        Some(i32::from(roles.contains(role) || roles.contains(&SYSADMIN)))
    };
    int(found())
}

pub fn has_dbaccess(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.name(0).unwrap_or_default();
    let Some(db) = s.instance.databases.find(&name) else {
        return int(s
            .instance
            .database_id(&name)
            .map(|_| i32::from(s.who.sysadmin)));
    };
    int(Some(i32::from(s.may_enter(&db).is_ok())))
}

/// Classes of securables beside the server, databases, schemas and objects: what is asked of one is asked of its database.
const IN_DATABASES: [&str; 4] = ["type", "user", "role", "xml schema collection"];

/// HAS_PERMS_BY_NAME(securable, class, permission). NULL for a permission or class that is NULL or not known here, 0 for
/// what is not there.
pub fn has_perms_by_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(wanted), false) = (
        args.name(2),
        args.len() > 1 && args.0[1].is_null() && !args.0[0].is_null(),
    ) else {
        return int(None);
    };
    let class = args.property(1).unwrap_or_default();
    let name = args.name(0);
    let there = match (class.as_str(), &name) {
        ("" | "server", _) => true,
        ("database", Some(name)) => s.instance.database_id(name).is_some(),
        ("object", Some(name)) => crate::metadata::object_exists(s, name)?,
        ("schema", Some(name)) => schema_named(s, name)?.is_some(),
        ("database" | "object" | "schema", None) => true,
        (other, _) if IN_DATABASES.contains(&other) => true,
        _ => return int(None),
    };
    if !there || s.who.sysadmin {
        return int(Some(i32::from(there)));
    }
    let wanted = wanted.trim().to_ascii_uppercase();
    let right = match Right::named(&wanted) {
        Some(right) => right,
        // Any permission at all.
        None if wanted == "ANY" => Right::Connect,
        None => return int(None),
    };
    let db = match (class.as_str(), &name) {
        ("database", Some(name)) => s.instance.databases.find(name),
        _ => s.instance.databases.find(&s.database),
    };
    let Some(db) = db else { return int(Some(0)) };
    let may = match class.as_str() {
        "" | "server" => s.server_may(right),
        "object" => {
            let parsed = duramen_tsql::parse_name(&name.unwrap_or_default());
            match parsed {
                Ok(name) => s.require_through(&name, right, None).is_ok(),
                Err(_) => false,
            }
        }
        "schema" => match schema_named(s, &name.unwrap_or_default())? {
            Some((db, id)) => s.may(&db, right, On::Schema(id))?,
            None => false,
        },
        _ if right == Right::Connect => s.may_enter(&db).is_ok(),
        _ => s.may(&db, right, On::Database)?,
    };
    int(Some(i32::from(may)))
}

/// The schema of a name of one or two parts, and its database.
fn schema_named(s: &SessionCore, name: &str) -> SqlResult<Option<(Arc<OpenDb>, i32)>> {
    let Ok(name) = duramen_tsql::parse_name(name) else {
        return Ok(None);
    };
    let database = name.schema().unwrap_or(&s.database);
    let Some(db) = s.instance.databases.find(database) else {
        return Ok(None);
    };
    let id = db.catalog.snapshot()?.schema(name.name()).map(|s| s.id);
    Ok(id.map(|id| (db, id)))
}

/// LOGINPROPERTY(login, property). The hash is for administrators.
pub fn login_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let found = || {
        let logins = logins(s)?;
        let login = logins.login(&args.name(0)?)?.clone();
        let value = match args.property(1)?.as_str() {
            "passwordhash" if s.who.sysadmin => Value::Binary(login.hash?),
            "passwordhashalgorithm" => Value::Int(i32::from(login.hash.is_some()) * 2),
            "defaultdatabase" => Value::nvarchar(&login.database),
            "defaultlanguage" => Value::nvarchar(&login.language),
            "isexpired" | "islocked" | "ismustchange" | "badpasswordcount" | "historylength" => {
                Value::Int(0)
            }
            _ => return None,
        };
        let ty = match &value {
            Value::Binary(_) => duramen_types::SqlType::varbinary(256),
            Value::Int(_) => duramen_types::SqlType::INT,
            _ => duramen_types::SqlType::SYSNAME,
        };
        Some(Value::Variant(Box::new((ty, value))))
    };
    Ok(found().unwrap_or(Value::Null))
}

/// PWDENCRYPT: the hash of a password, with a salt of its own.
pub fn pwdencrypt(_: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let hash = args.text(0).map(|p| password::hash(&p));
    Ok(hash.map_or(Value::Null, Value::Binary))
}

/// PWDCOMPARE(password, hash [, version]).
pub fn pwdcompare(_: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let hash = match args.0.get(1) {
        Some(Value::Binary(b)) => Some(b),
        _ => None,
    };
    int(match (args.text(0), hash) {
        (Some(p), Some(h)) => Some(i32::from(password::matches(&p, h))),
        _ => None,
    })
}
