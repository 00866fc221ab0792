//! What a session may do: the rights of its login in the databases that it names, and through chains of ownership.

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, DBCREATOR, DBO};
use duramen_catalog::{ModuleDef, SCHEMA_SYS};
use duramen_program::rights::Right;
use duramen_tsql::ast;

use crate::security::{Caller, On, Visible, Who, denied};
use crate::session_core::SessionCore;

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

impl SessionCore {
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            who: &self.who,
            databases: &self.instance.databases,
            database: &self.database,
            session: self.spid,
        }
    }

    /// The catalog of a database, as far as the session may see it.
    pub fn visible(&self, db: &OpenDb) -> SqlResult<Arc<Visible>> {
        self.instance.pictures.of(&self.caller(), db)
    }

    /// Whether the session holds a permission in a database.
    pub fn may(&self, db: &OpenDb, asked: Right, on: On) -> SqlResult<bool> {
        self.who.may(db, asked, on)
    }

    /// The database whose objects are open to what runs, as far as their owners are those of the procedure or trigger
    /// that is running: ownership chaining (Microsoft Learn, "Ownership chains").
    pub fn chain(&self) -> Option<&str> {
        self.state.chain.last().and_then(|c| c.as_deref())
    }

    /// 229 unless the session holds a permission on an object by its name; 916 where it may not enter the database.
    /// Names of nothing, temporary tables and what is reached through a chain of ownership are let through.
    pub fn require_on(&self, name: &ast::ObjectName, asked: Right) -> SqlResult<()> {
        self.require_through(name, asked, self.chain())
    }

    /// The same within a module of the database `chain`.
    pub fn require_through(
        &self,
        name: &ast::ObjectName,
        asked: Right,
        chain: Option<&str>,
    ) -> SqlResult<()> {
        if self.who.sysadmin || duramen_access::temporary::is_temporary(name) {
            return Ok(());
        }
        let database = name.database().unwrap_or(&self.database);
        let Some(db) = self.instance.databases.find(database) else {
            return Ok(());
        };
        let chained = chain.is_some_and(|d| d.eq_ignore_ascii_case(database));
        if !chained {
            self.may_enter(&db)?;
        }
        let snapshot = db.catalog.snapshot()?;
        let Some(schema) = snapshot.schema(name.schema().unwrap_or("dbo")) else {
            return Ok(());
        };
        let on = match snapshot.find(schema.id, name.name()) {
            // Modules are all of dbo: what is of somebody else breaks the chain.
            Some(_) if chained && schema.owner == DBO => return Ok(()),
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

impl SessionCore {
    /// 229 unless the session may execute a procedure or function.
    pub fn require_execute(&self, db: &OpenDb, module: &ModuleDef) -> SqlResult<()> {
        if self.who.sysadmin {
            return Ok(());
        }
        let snapshot = db.catalog.snapshot()?;
        let owner = snapshot.schemas.get(&module.schema).map(|s| s.owner);
        let chain = self.chain();
        if chain.is_some_and(|d| d.eq_ignore_ascii_case(&db.db.name)) && owner == Some(DBO) {
            return Ok(());
        }
        self.may_enter(db)?;
        let on = On::Object {
            id: module.id.0,
            schema: module.schema,
        };
        if self.may(db, Right::Execute, on)? {
            return Ok(());
        }
        let schema = snapshot.schema_name(module.schema);
        Err(denied(Right::Execute, &module.name, &db.db.name, schema))
    }
}
