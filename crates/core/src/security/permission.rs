//! Whether a principal of a database holds a permission: denials first, then ownership, fixed roles and grants.
//!
//! The order and the coverage (server over database over schema over object, CONTROL over all) follow Microsoft Learn,
//! "Permissions (Database Engine)", summary of the permission check algorithm.

use std::fmt::Display;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SessionId, SqlError, SqlResult, messages};
use duramen_catalog::Snapshot;
use duramen_catalog::security::{
    DB_ACCESSADMIN, DB_BACKUPOPERATOR, DB_DATAREADER, DB_DATAWRITER, DB_DDLADMIN,
    DB_DENYDATAREADER, DB_DENYDATAWRITER, DB_OWNER, DB_SECURITYADMIN, DBO, REVOKED,
};
use duramen_program::rights::{Need, Needs, Of, Right};
use duramen_types::Value;

use super::Who;
use crate::databases::Databases;

/// What a permission is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Database,
    Schema(i32),
    Object { id: i32, schema: i32 },
}

/// Whether a fixed role of a database gives a permission there.
/// <https://learn.microsoft.com/sql/relational-databases/security/authentication-access/database-level-roles>
fn fixed_role_gives(role: i32, asked: Right) -> bool {
    use Right::*;
    match role {
        DB_OWNER => true,
        DB_ACCESSADMIN => matches!(asked, AlterAnyUser | CreateSchema),
        DB_SECURITYADMIN => matches!(
            asked,
            AlterAnyRole | CreateRole | CreateSchema | ViewDefinition
        ),
        DB_DDLADMIN => {
            asked.makes_objects()
                || matches!(
                    asked,
                    Alter
                        | AlterAnySchema
                        | CreateSchema
                        | AlterAnyDataspace
                        | Checkpoint
                        | References
                )
        }
        DB_BACKUPOPERATOR => matches!(asked, BackupDatabase | BackupLog | Checkpoint),
        DB_DATAREADER => asked == Select,
        DB_DATAWRITER => matches!(asked, Insert | Update | Delete),
        _ => false,
    }
}

/// Whether a fixed role refuses it to its members, whatever else they hold.
fn fixed_role_refuses(role: i32, asked: Right) -> bool {
    use Right::*;
    match role {
        DB_DENYDATAREADER => asked == Select,
        DB_DENYDATAWRITER => matches!(asked, Insert | Update | Delete),
        _ => false,
    }
}

impl Who {
    /// Whether the login holds a permission in a database.
    pub fn may(&self, db: &OpenDb, asked: Right, on: On) -> SqlResult<bool> {
        if self.sysadmin {
            return Ok(true);
        }
        let Some(user) = self.user_in(db)? else {
            return Ok(false);
        };
        if user == DBO {
            return Ok(true);
        }
        Ok(self.holds(&*db.catalog.snapshot()?, user, asked, on))
    }

    /// The same of a user, by a picture of its database.
    pub fn holds(&self, snapshot: &Snapshot, user: i32, asked: Right, on: On) -> bool {
        if user == DBO {
            return true;
        }
        let security = &snapshot.security;
        let roles = security.roles_of(user);
        let (object, schema) = match on {
            On::Database => (None, None),
            On::Schema(id) => (None, Some(id)),
            On::Object { id, schema } => (Some(id), Some(schema)),
        };
        let held = |denied: bool| {
            security.privileges.iter().any(|p| {
                let there = match p.class {
                    0 => true,
                    1 => object == Some(p.id),
                    3 => schema == Some(p.id),
                    _ => false,
                };
                there
                    && roles.contains(&p.grantee)
                    && p.state != REVOKED
                    && (p.state == b'D') == denied
                    && Right::of_code(&p.kind, false).is_some_and(|r| match denied {
                        true => r == asked || r == Right::Control,
                        false => r.includes(asked),
                    })
            })
        };
        if held(true) || roles.iter().any(|r| fixed_role_refuses(*r, asked)) {
            return false;
        }
        let owner = schema.and_then(|s| snapshot.schemas.get(&s));
        let owner = owner.map(|s| s.owner);
        roles.iter().any(|r| fixed_role_gives(*r, asked))
            || owner.is_some_and(|o| o > DBO && roles.contains(&o))
            || self.reaches(asked)
            || held(false)
    }
}

/// An argument, as far as it names what a right is asked of.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Nothing,
    Id(i64),
    Name(String),
}

impl Given {
    pub fn of(value: &Value) -> Given {
        match (value, value.as_i64()) {
            (Value::VarChar(_) | Value::NVarChar(_), _) | (_, None) => {
                value.as_text().map_or(Given::Nothing, Given::Name)
            }
            (_, Some(n)) => Given::Id(n),
        }
    }
}

/// Who asks, and where.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub who: &'a Who,
    pub databases: &'a Databases,
    /// The database that unqualified names are of.
    pub database: &'a str,
    pub session: SessionId,
}

impl Caller<'_> {
    /// The refusal, unless what a thing needs is held; 916 for a database that the caller may not enter.
    pub fn require(
        &self,
        needs: &Needs,
        args: &[Given],
        refused: impl FnOnce(Option<(Need, &str)>) -> SqlError,
    ) -> SqlResult<()> {
        if self.who.sysadmin {
            return Ok(());
        }
        let all = match needs {
            // What is not here is refused with its name where it would run.
            Needs::Public(_) | Needs::NotHere => return Ok(()),
            Needs::Sysadmin | Needs::Members(_) => return Err(refused(None)),
            Needs::AnyOf(all) => *all,
        };
        for need in all {
            if self.holds(need, args)? {
                return Ok(());
            }
        }
        let first = all.first().copied();
        let everywhere = |of: Of| match of {
            Of::DatabasesInArgument(n) => self.argument(n, args).is_none(),
            _ => false,
        };
        let of = first.filter(|n| !everywhere(n.of));
        let of = of.and_then(|n| self.database_of(n.of, args));
        let name = of.map_or(String::new(), |db| db.db.name.clone());
        Err(refused(first.map(|n| (n, name.as_str()))))
    }

    fn holds(&self, need: &Need, args: &[Given]) -> SqlResult<bool> {
        let on = match need.of {
            Of::Server => return Ok(self.who.server_may(need.right)),
            Of::DatabasesInArgument(n) if self.argument(n, args).is_none() => {
                return Ok(self.who.server_may(Right::ViewServerState));
            }
            Of::ObjectInArgument(n) => match args.get(n) {
                Some(Given::Name(name)) => return self.may_on_name(name, need.right),
                Some(Given::Id(id)) => self.object_by_id(*id, &[])?.unwrap_or(On::Database),
                Some(Given::Nothing) | None => On::Database,
            },
            Of::ObjectOfDatabase => match args.get(1) {
                Some(Given::Id(id)) if *id != 0 => match self.object_by_id(*id, args)? {
                    Some(on) => on,
                    None => return Ok(false),
                },
                _ => return Ok(false),
            },
            _ => On::Database,
        };
        let Some(db) = self.database_of(need.of, args) else {
            // What is not there tells nothing of anybody, but that it is not there.
            return Ok(true);
        };
        self.enters(&db)?;
        self.who.may(&db, need.right, on)
    }

    fn enters(&self, db: &OpenDb) -> SqlResult<()> {
        match self.who.user_in(db)? {
            Some(_) => Ok(()),
            None => Err(self.who.shut_out(&db.db.name)),
        }
    }

    fn argument<'g>(&self, n: usize, args: &'g [Given]) -> Option<&'g Given> {
        let given = args.get(n);
        given.filter(|g| !matches!(g, Given::Nothing | Given::Id(0)))
    }

    fn database_of(&self, of: Of, args: &[Given]) -> Option<Arc<OpenDb>> {
        let n = match of {
            Of::DatabaseInArgument(n) | Of::DatabasesInArgument(n) => n,
            Of::ObjectOfDatabase => 0,
            Of::Master => return self.databases.find("master"),
            _ => return self.databases.find(self.database),
        };
        match self.argument(n, args) {
            None | Some(Given::Nothing) => self.databases.find(self.database),
            Some(Given::Name(name)) => self.databases.find(name),
            Some(Given::Id(id)) => {
                let id = u16::try_from(*id).ok()?;
                self.databases.get(DbId(id))
            }
        }
    }

    fn object_by_id(&self, id: i64, args: &[Given]) -> SqlResult<Option<On>> {
        let Some(db) = self.database_of(Of::DatabaseInArgument(0), args) else {
            return Ok(None);
        };
        let id = i32::try_from(id).unwrap_or(0);
        let snapshot = db.catalog.snapshot()?;
        let found = snapshot.objects.get(&duramen_base::ObjectId(id));
        Ok(found.map(|o| On::Object {
            id,
            schema: o.schema,
        }))
    }

    fn may_on_name(&self, name: &str, right: Right) -> SqlResult<bool> {
        // As the functions and statements that take such a name cut it.
        let Some(parts) = duramen_access::multipart::parts(name) else {
            return Ok(false);
        };
        let part = |n: usize| parts.get(n).map(String::as_str).filter(|p| !p.is_empty());
        let object = part(0).unwrap_or_default();
        if object.starts_with('#') {
            return Ok(true);
        }
        let Some(db) = self.databases.find(part(2).unwrap_or(self.database)) else {
            return Ok(true);
        };
        self.enters(&db)?;
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(part(1).unwrap_or("dbo"));
        let found = schema.and_then(|s| snapshot.find(s.id, object));
        let on = found.map_or(On::Database, |o| On::Object {
            id: o.id.0,
            schema: o.schema,
        });
        self.who.may(&db, right, on)
    }
}

/// The refusal of a view or function of the system.
pub fn refused_view(name: &str, first: Option<(Need, &str)>) -> SqlError {
    let Some((need, database)) = first else {
        return denied(Right::Select, name, "mssqlsystemresource", "sys");
    };
    let right = need.right.name();
    match (need.right, need.of) {
        (Right::AlterTrace, _) => {
            let shown = name.to_uppercase();
            SqlError::new(&messages::NO_PERMISSION_TO_RUN, &[&shown]).with_state(6)
        }
        (Right::Control | Right::ControlServer, _) => {
            denied(Right::Select, name, "mssqlsystemresource", "sys")
        }
        (_, Of::Server) => {
            let args: [&dyn Display; 3] = [&right, &"server", &"master"];
            SqlError::new(&messages::SERVER_PERMISSION_DENIED, &args)
        }
        (Right::ViewDatabaseState, Of::DatabasesInArgument(_)) if database.is_empty() => {
            let right = Right::ViewServerState.name();
            let args: [&dyn Display; 3] = [&right, &"server", &"master"];
            SqlError::new(&messages::SERVER_PERMISSION_DENIED, &args)
        }
        _ => {
            let args: [&dyn Display; 2] = [&right, &database];
            SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args)
        }
    }
}

pub(crate) fn denied(asked: Right, object: &str, database: &str, schema: &str) -> SqlError {
    let args: [&dyn Display; 4] = [&asked.name(), &object, &database, &schema];
    SqlError::new(&messages::OBJECT_PERMISSION_DENIED, &args).with_state(5)
}
