//! GRANT, DENY and REVOKE on the database, its schemas and objects, and on the server.
//!
//! Microsoft Learn, "GRANT (Transact-SQL)" and its pages by class of securable. Permissions that nothing here asks for are
//! refused by name; so are column permissions (by the parser), WITH GRANT OPTION and AS.

use duramen_base::{DbId, ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, GUEST};
use duramen_catalog::security::{LOGIN_SA, REVOKED};
use duramen_catalog::{ObjectKind, PrivilegeDef, Snapshot};
use duramen_define::Ddl;
use duramen_program::rights::Right;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{PermissionAction, PermissionStmt};

use super::failure::RunResult;
use super::principals::cannot;
use super::{Run, not_supported};

const CLASS_DATABASE: u8 = 0;
const CLASS_OBJECT: u8 = 1;
const CLASS_SCHEMA: u8 = 3;
const CLASS_SERVER: u8 = 100;

impl Run<'_> {
    pub(super) fn permission(&mut self, stmt: &PermissionStmt) -> RunResult<()> {
        let mut rights = Vec::new();
        let all = matches!(&stmt.permissions[..], [one] if is_all(one));
        for name in stmt.permissions.iter().filter(|_| !all) {
            let right = Right::named(name);
            rights.push(right.ok_or_else(|| not_supported(&format!("the permission {name}")))?);
        }
        let server = stmt.on.is_none() && rights.iter().any(|r| r.is_of_server());
        let state = match stmt.action {
            PermissionAction::Grant => Some(b'G'),
            PermissionAction::Deny => Some(b'D'),
            PermissionAction::Revoke => None,
        };
        if server {
            return self.server_permission(stmt, &rights, state);
        }
        if let Some(db) = self.session.instance.databases.find(&self.session.database)
            && !self.session.owns(&db)?
        {
            return Err(match &stmt.on {
                Some((_, name)) => cannot("find", "object", name.name()).into(),
                None => SqlError::new(&messages::PERMISSION_REFUSED, &[]).into(),
            });
        }
        self.define(Kind::Permission.definition(), |d| {
            let (class, of) = securable(d, stmt)?;
            let snapshot = d.db.catalog.snapshot()?;
            let mut grantees = Vec::new();
            for name in &stmt.principals {
                let user = snapshot.security.user(name);
                let user = user.ok_or_else(|| cannot("find", "user", name))?;
                match user.id {
                    DB_OWNER..=16_399 => {
                        return Err(SqlError::new(&messages::GRANT_TO_SPECIAL_ROLE, &[]));
                    }
                    1 | 3 | 4 => return Err(SqlError::new(&messages::GRANT_TO_OWNER, &[])),
                    id => grantees.push(id),
                }
            }
            if all {
                rights = meant_by_all(&snapshot, class, of)?;
                d.note(SqlError::new(&messages::ALL_IS_DEPRECATED, &[]));
            }
            if state != Some(b'G')
                && rights.contains(&Right::Connect)
                && grantees.contains(&GUEST)
                && matches!(d.db.db.id, DbId::MASTER | DbId::TEMPDB)
            {
                return Err(SqlError::new(&messages::GUEST_MUST_CONNECT, &[]));
            }
            for right in &rights {
                if right.is_of_server() || class != CLASS_DATABASE && !right.is_of_objects() {
                    return Err(SqlError::new(
                        &messages::SYNTAX_NEAR,
                        &[&stmt.permissions.join(",")],
                    ));
                }
                for grantee in &grantees {
                    let privilege = PrivilegeDef {
                        class,
                        id: of,
                        grantee: *grantee,
                        grantor: 1,
                        kind: right.code().to_owned(),
                        state: b'G',
                    };
                    // A user connects without a grant; a guest only where the system's databases let it in.
                    let user = snapshot.security.users.get(grantee);
                    let by_default = match *grantee {
                        GUEST => d.db.db.id == DbId::MSDB,
                        _ => user.is_some_and(|u| !u.role),
                    };
                    let revoked = *right == Right::Connect && by_default;
                    let state = state.or(revoked.then_some(REVOKED));
                    d.db.catalog.set_privilege(d.tx, &privilege, state)?;
                }
            }
            Ok(())
        })
    }

    /// On the server: from master only, to logins.
    fn server_permission(
        &mut self,
        stmt: &PermissionStmt,
        rights: &[Right],
        state: Option<u8>,
    ) -> RunResult<()> {
        if !self.session.database.eq_ignore_ascii_case("master") {
            let message = &messages::SERVER_PERMISSION_OUTSIDE_MASTER;
            return Err(SqlError::new(message, &[]).into());
        }
        // Who controls the server holds all of it.
        if !self.session.server_may(Right::ControlServer) {
            return Err(SqlError::new(&messages::PERMISSION_REFUSED, &[]).into());
        }
        self.define(Kind::Permission.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            for name in &stmt.principals {
                let login = snapshot.security.login(name);
                let login = login.ok_or_else(|| cannot("find", "login", name))?;
                if login.id == LOGIN_SA {
                    return Err(SqlError::new(&messages::GRANT_TO_OWNER, &[]));
                }
                for right in rights {
                    let privilege = PrivilegeDef {
                        class: CLASS_SERVER,
                        id: 0,
                        grantee: login.id,
                        grantor: LOGIN_SA,
                        kind: right.code().to_owned(),
                        state: b'G',
                    };
                    // Server roles are not granted to here.
                    let revoked = *right == Right::ConnectSql;
                    let state = state.or(revoked.then_some(REVOKED));
                    d.db.catalog.set_privilege(d.tx, &privilege, state)?;
                }
            }
            Ok(())
        })
    }
}

/// Whether ALL stands in place of a list of permissions.
pub(crate) fn is_all(name: &str) -> bool {
    matches!(name, "ALL" | "ALL PRIVILEGES")
}

/// What ALL stands for, as its page says: less than all that there is. 4623 where it stands for nothing.
fn meant_by_all(snapshot: &Snapshot, class: u8, of: i32) -> SqlResult<Vec<Right>> {
    const DATABASE: &[&str] = &[
        "BACKUP DATABASE",
        "BACKUP LOG",
        "CREATE DATABASE",
        "CREATE DEFAULT",
        "CREATE FUNCTION",
        "CREATE PROCEDURE",
        "CREATE RULE",
        "CREATE TABLE",
        "CREATE VIEW",
    ];
    const ROWS: &[&str] = &["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"];
    let names = match class {
        CLASS_DATABASE => DATABASE,
        CLASS_OBJECT => match snapshot.module(ObjectId(of)).map(|m| m.kind) {
            Some(ObjectKind::PROCEDURE) => &["EXECUTE"][..],
            Some(ObjectKind::SCALAR_FUNCTION) => &["EXECUTE", "REFERENCES"][..],
            _ => ROWS,
        },
        _ => return Err(SqlError::new(&messages::ALL_NOT_AVAILABLE, &[])),
    };
    // Of those that nothing here asks for there is nothing to grant.
    let known = names.iter().filter_map(|n| Right::named(n));
    Ok(known.filter(|r| !r.is_of_server()).collect())
}

/// Class and id of what ON names.
fn securable(d: &Ddl<'_>, stmt: &PermissionStmt) -> SqlResult<(u8, i32)> {
    let Some((class, name)) = &stmt.on else {
        return Ok((CLASS_DATABASE, 0));
    };
    let snapshot = d.db.catalog.snapshot()?;
    match class.as_deref() {
        None | Some("OBJECT") => {
            let database = name.database().unwrap_or(&d.db.db.name);
            if !database.eq_ignore_ascii_case(&d.db.db.name) {
                return Err(SqlError::new(&messages::GRANT_ELSEWHERE, &[]));
            }
            let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
            let found = schema.and_then(|s| snapshot.find(s.id, name.name()));
            match found {
                Some(o) => Ok((CLASS_OBJECT, o.id.0)),
                None => Err(cannot("find", "object", name.name())),
            }
        }
        Some("SCHEMA") => match snapshot.schema(name.name()) {
            Some(s) => Ok((CLASS_SCHEMA, s.id)),
            None => Err(cannot("find", "schema", name.name())),
        },
        Some("DATABASE") => match name.name().eq_ignore_ascii_case(&d.db.db.name) {
            true => Ok((CLASS_DATABASE, 0)),
            false => Err(cannot("find", "database", name.name())),
        },
        Some(other) => Err(not_supported(&format!("GRANT ON {other}::"))),
    }
}
