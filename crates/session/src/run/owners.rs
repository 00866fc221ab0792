//! ALTER AUTHORIZATION: who owns a database.
//!
//! The owner of a database is the login whose SID its user `dbo` has; without one it is sa. Other securables have the owner
//! that their schema has.
//! <https://learn.microsoft.com/sql/t-sql/statements/alter-authorization-transact-sql>

use duramen_base::{DbId, SqlError, messages};
use duramen_catalog::now;
use duramen_catalog::security::DBO;
use duramen_program::statements::Kind;
use duramen_tsql::ast;

use super::Run;
use super::failure::RunResult;
use super::principals::cannot;

impl Run<'_> {
    pub(super) fn alter_authorization(
        &mut self,
        class: Option<&str>,
        name: &ast::ObjectName,
        to: Option<&str>,
    ) -> RunResult<()> {
        let (Some("DATABASE"), Some(to)) = (class, to) else {
            // Other classes have been refused when the batch was compiled.
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let database = name.name();
        let instance = self.session.instance.clone();
        let missing = || cannot("find", "database", database);
        let Some(db) = instance.databases.find(database) else {
            let gone = instance.databases.find_unavailable(database);
            return Err(gone.map_or_else(missing, |g| g.refusal()).into());
        };
        // TAKE OWNERSHIP and IMPERSONATE on the login can be given to nobody: they are sysadmin's.
        if !self.session.who.sysadmin {
            return Err(missing().into());
        }
        if matches!(db.db.id, DbId::MASTER | DbId::MODEL | DbId::TEMPDB) {
            return Err(SqlError::new(&messages::SYSTEM_DATABASE_OWNER, &[]).into());
        }
        let master = instance.databases.master()?;
        let logins = master.catalog.snapshot()?;
        let login = logins.security.login(to);
        let sid = login
            .ok_or_else(|| cannot("find", "principal", to))?
            .sid
            .clone();
        self.define_in(database, Kind::AlterAuthorization.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            if snapshot.security.user_of(&sid).is_some_and(|u| u.id != DBO) {
                return Err(SqlError::new(&messages::OWNER_IS_USER, &[]));
            }
            let dbo = snapshot.security.users.get(&DBO);
            let broken = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
            let mut dbo = dbo.ok_or_else(broken)?.clone();
            dbo.sid = Some(sid.clone());
            dbo.modified = now();
            d.db.catalog.put_user(d.tx, &dbo)
        })
    }

    /// 15174 for a login that owns a database.
    pub(super) fn owns_no_database(&self, login: &str, sid: &[u8]) -> RunResult<()> {
        for db in self.session.instance.databases.all() {
            if db.owner()? == sid {
                return Err(SqlError::new(&messages::LOGIN_OWNS_DATABASES, &[&login]).into());
            }
        }
        Ok(())
    }
}
