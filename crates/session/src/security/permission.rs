//! Whether a principal of a database holds a permission: denials first, then ownership, fixed roles and grants.
//!
//! The order and the coverage (database over schema over object, CONTROL over all) follow Microsoft Learn, "Permissions
//! (Database Engine)", summary of the permission check algorithm.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, SCHEMA_SYS};
use duramen_tsql::ast;

use super::{
    DB_DATAREADER, DB_DATAWRITER, DB_DDLADMIN, DB_DENYDATAREADER, DB_DENYDATAWRITER, DB_OWNER, DBO,
    Who,
};
use crate::databases::OpenDb;
use crate::session::Session;

/// What a permission is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Database,
    Schema(i32),
    Object { id: i32, schema: i32 },
}

/// Permissions by their names, with the codes of `sys.database_permissions.type` and `sys.server_permissions.type`, and
/// whether they are of the server.
const NAMED: &[(&str, &str, bool)] = &[
    ("SELECT", "SL", false),
    ("INSERT", "IN", false),
    ("UPDATE", "UP", false),
    ("DELETE", "DL", false),
    ("EXECUTE", "EX", false),
    ("REFERENCES", "RF", false),
    ("ALTER", "AL", false),
    ("CONTROL", "CL", false),
    ("CONNECT", "CO", false),
    ("VIEW DEFINITION", "VW", false),
    ("VIEW DATABASE STATE", "VWDS", false),
    ("CREATE TABLE", "CRTB", false),
    ("CREATE VIEW", "CRVW", false),
    ("CREATE PROCEDURE", "CRPR", false),
    ("CREATE FUNCTION", "CRFN", false),
    ("CREATE TYPE", "CRTY", false),
    ("CREATE SCHEMA", "CRSM", false),
    ("CREATE ROLE", "CRRL", false),
    ("ALTER ANY USER", "ALUS", false),
    ("ALTER ANY ROLE", "ALRL", false),
    ("ALTER ANY DATASPACE", "ALDS", false),
    ("CONNECT SQL", "COSQ", true),
    ("CONTROL SERVER", "CL", true),
    ("VIEW SERVER STATE", "VWSS", true),
    ("ALTER ANY LOGIN", "ALLG", true),
    ("ALTER ANY DATABASE", "ALDB", true),
    ("CREATE ANY DATABASE", "CRDB", true),
    ("ALTER ANY CONNECTION", "ALCN", true),
    ("ALTER TRACE", "ALTR", true),
];

/// The code of a permission as GRANT names it, and whether it is of the server.
pub(crate) fn permission_code(name: &str) -> Option<(&'static str, bool)> {
    let name = match name {
        "EXEC" => "EXECUTE",
        "CREATE PROC" => "CREATE PROCEDURE",
        other => other,
    };
    let found = NAMED.iter().find(|(n, _, _)| *n == name);
    found.map(|(_, code, server)| (*code, *server))
}

/// Every permission that there is: its name, its code and whether it is of the server.
pub(crate) fn permissions() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    NAMED.iter().copied()
}

/// The name of a permission's code.
pub(crate) fn permission_name(code: &str, server: bool) -> &'static str {
    let found = NAMED.iter().find(|(_, c, s)| *c == code && *s == server);
    found.map_or("", |(name, _, _)| name)
}

/// Whether a permission that somebody has is, or includes, the one that is asked for.
fn includes(held: &str, asked: &str) -> bool {
    held == asked
        || held == "CL"
        || held == "AL" && (asked.starts_with("CR") || asked.starts_with("AL"))
}

impl Who {
    /// Whether the login holds a permission in a database.
    pub fn may(&self, db: &OpenDb, asked: &str, on: On) -> SqlResult<bool> {
        if self.sysadmin {
            return Ok(true);
        }
        let Some(user) = self.user_in(db)? else {
            return Ok(false);
        };
        if user == DBO {
            return Ok(true);
        }
        let snapshot = db.catalog.snapshot()?;
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
                let wanted = match denied {
                    true => p.kind == asked || p.kind == "CL",
                    false => includes(&p.kind, asked),
                };
                there && wanted && roles.contains(&p.grantee) && (p.state == b'D') == denied
            })
        };
        let reads = asked == "SL";
        let writes = matches!(asked, "IN" | "UP" | "DL");
        if held(true)
            || reads && roles.contains(&DB_DENYDATAREADER)
            || writes && roles.contains(&DB_DENYDATAWRITER)
        {
            return Ok(false);
        }
        let owner = schema
            .and_then(|s| snapshot.schemas.get(&s))
            .map(|s| s.owner);
        Ok(roles.contains(&DB_OWNER)
            || owner.is_some_and(|o| o > DBO && roles.contains(&o))
            || reads && roles.contains(&DB_DATAREADER)
            || writes && roles.contains(&DB_DATAWRITER)
            || includes("AL", asked) && roles.contains(&DB_DDLADMIN)
            || held(false))
    }
}

impl Session {
    /// Whether the session holds a permission in a database.
    pub(crate) fn may(&self, db: &OpenDb, asked: &str, on: On) -> SqlResult<bool> {
        self.who.may(db, asked, on)
    }

    /// A procedure, trigger or view of `dbo` is running whose objects in its own database are open to it: ownership
    /// chaining (Microsoft Learn, "Ownership chains").
    fn is_chained(&self, database: &str) -> bool {
        let innermost = self.state.chain.last();
        let of = innermost.and_then(|c| c.as_deref());
        of.is_some_and(|d| d.eq_ignore_ascii_case(database))
    }

    /// 229 unless the session holds a permission on an object by its name; 916 where it may not enter the database.
    /// Names of nothing, temporary tables and what is reached through a chain of ownership are let through.
    pub(crate) fn require_on(&self, name: &ast::ObjectName, asked: &str) -> SqlResult<()> {
        if self.who.sysadmin || crate::run::is_temporary(name) {
            return Ok(());
        }
        let database = name.database().unwrap_or(&self.database);
        if self.is_chained(database) {
            return Ok(());
        }
        let Some(db) = self.instance.databases.find(database) else {
            return Ok(());
        };
        self.may_enter(&db)?;
        let snapshot = db.catalog.snapshot()?;
        let Some(schema) = snapshot.schema(name.schema().unwrap_or("dbo")) else {
            return Ok(());
        };
        let on = match snapshot.find(schema.id, name.name()) {
            Some(o) => On::Object {
                id: o.id.0,
                schema: schema.id,
            },
            // Base tables of the system are for administrators.
            None if schema.id == SCHEMA_SYS
                && snapshot.find_table(SCHEMA_SYS, name.name()).is_some() =>
            {
                return Err(denied(asked, name.name(), &db.db.name, "sys"));
            }
            None => return Ok(()),
        };
        match self.may(&db, asked, on)? {
            true => Ok(()),
            false => Err(denied(asked, name.name(), &db.db.name, &schema.name)),
        }
    }
}

impl Session {
    /// 229 unless the session may execute a procedure or function.
    pub(crate) fn require_execute(&self, db: &OpenDb, module: &ModuleDef) -> SqlResult<()> {
        if self.who.sysadmin || self.is_chained(&db.db.name) {
            return Ok(());
        }
        self.may_enter(db)?;
        let on = On::Object {
            id: module.id.0,
            schema: module.schema,
        };
        if self.may(db, "EX", on)? {
            return Ok(());
        }
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema_name(module.schema);
        Err(denied("EX", &module.name, &db.db.name, schema))
    }

    /// 15247 unless the session owns the current database.
    pub(crate) fn require_owner(&self) -> SqlResult<()> {
        let db = self.instance.databases.find(&self.database);
        match db {
            Some(db) if !self.owns(&db)? => {
                Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]))
            }
            _ => Ok(()),
        }
    }

    /// 300 unless the session may see the state of the server: what the views and functions `dm_...` show. One's own
    /// sessions, and for its owner what a database shows, are exempt.
    pub(crate) fn require_state(&self, view: &str) -> SqlResult<()> {
        let name = view.to_ascii_lowercase();
        // These show one's own sessions to everybody.
        let own = [
            "dm_exec_sessions",
            "dm_exec_session_wait_stats",
            // What the text needs is asked.
            "dm_exec_describe_first_result_set",
            // Metadata is everybody's to see.
            "dm_sql_referencing_entities",
        ];
        let functions = ["fn_dblog", "fn_dump_dblog", "fn_pagerescracker"];
        let looks = name.starts_with("dm_") || functions.contains(&name.as_str());
        if self.who.sysadmin || !looks || own.contains(&name.as_str()) {
            return Ok(());
        }
        if (name.starts_with("dm_db_") || name == "fn_dblog")
            && let Some(db) = self.instance.databases.find(&self.database)
            && self.may(&db, "VWDS", On::Database)?
        {
            return Ok(());
        }
        match self.server_may("VWSS")? {
            true => Ok(()),
            false => {
                let args: [&dyn std::fmt::Display; 3] =
                    [&"VIEW SERVER STATE", &"server", &"master"];
                Err(SqlError::new(&messages::SERVER_PERMISSION_DENIED, &args))
            }
        }
    }
}

fn denied(asked: &str, object: &str, database: &str, schema: &str) -> SqlError {
    let named = NAMED.iter().find(|(_, code, _)| *code == asked);
    let shown = named.map_or(asked, |(name, _, _)| name);
    let args: [&dyn std::fmt::Display; 4] = [&shown, &object, &database, &schema];
    SqlError::new(&messages::OBJECT_PERMISSION_DENIED, &args).with_state(5)
}
