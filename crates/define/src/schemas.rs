//! CREATE and DROP SCHEMA.

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;

use super::{Ddl, refuse};

/// Schemas of users have ids between those of the fixed principals.
const FIRST: i32 = 5;
const LAST: i32 = 16_383;

impl Ddl<'_> {
    /// A schema without objects in its statement; it belongs to dbo or to whom AUTHORIZATION names.
    pub fn create_schema(&self, name: &str, authorization: Option<&str>) -> SqlResult<()> {
        let owner = match authorization {
            None => 1,
            Some(owner) => {
                let snapshot = self.db.catalog.snapshot()?;
                let found = snapshot.security.user(owner).map(|u| u.id);
                found.ok_or_else(|| {
                    let args: [&dyn Display; 3] = [&"find", &"user", &owner];
                    SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args)
                })?
            }
        };
        match self.db.catalog.create_schema(self.tx, name, owner) {
            Ok(_) => Ok(()),
            Err(e) if e.number == messages::OBJECT_ALREADY_EXISTS.number => {
                Err(self.after(e.with_state(6), &messages::CREATE_SCHEMA_FAILED))
            }
            Err(e) => Err(e),
        }
    }

    /// ALTER SCHEMA ... TRANSFER of an object (Microsoft Learn, "ALTER SCHEMA"): 15151 for what is not there, 15347 for
    /// what belongs to another object, 15348 for what is schema-bound, 15530 where the name is taken. What was granted
    /// on it is gone.
    pub fn transfer(&self, schema: &str, name: &ast::ObjectName) -> SqlResult<()> {
        let line = name.line as i32;
        let snapshot = self.db.catalog.snapshot()?;
        let missing = |what: &str, name: &str| {
            let args: [&dyn Display; 3] = [&"find", &what, &name];
            SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args).at_line(line)
        };
        let target = snapshot.schema(schema);
        let target = target.filter(|s| s.id == 1 || (FIRST..=LAST).contains(&s.id));
        let target = target.ok_or_else(|| missing("schema", schema))?;
        let from = snapshot.schema(name.schema().unwrap_or("dbo"));
        let object = from.and_then(|s| snapshot.find(s.id, name.name()));
        let object = object.ok_or_else(|| missing("object", name.name()))?;
        if object.parent.0 != 0 {
            return Err(SqlError::new(&messages::TRANSFER_OWNED_BY_PARENT, &[]).at_line(line));
        }
        let module = snapshot.module(object.id);
        if module.is_some_and(|m| duramen_program::schema_bound::is_schema_bound(m)) {
            return Err(SqlError::new(&messages::TRANSFER_SCHEMA_BOUND, &[]).at_line(line));
        }
        let modules = module.is_some() || snapshot.triggers(object.id).next().is_some();
        if modules && target.is_owned() {
            return Err(refuse("modules in a schema that is not dbo's", name.line));
        }
        if object.schema == target.id {
            return Ok(());
        }
        if snapshot.find(target.id, &object.name).is_some() {
            let args: [&dyn Display; 2] = [&"object", &object.name];
            let error = SqlError::new(&messages::TRANSFER_NAME_TAKEN, &args);
            return Err(error.at_line(line));
        }
        if let Some(table) = snapshot.table(object.id) {
            self.lock(table, duramen_txn::LockMode::SchM)?;
        }
        self.db.catalog.transfer(self.tx, object, target)
    }

    /// 15151 for one that is not there, 3729 while something is in it.
    pub fn drop_schema(&self, name: &ast::ObjectName, if_exists: bool) -> SqlResult<()> {
        let snapshot = self.db.catalog.snapshot()?;
        let line = name.line as i32;
        let schema = match snapshot.schema(name.name()) {
            Some(s) if (FIRST..=LAST).contains(&s.id) => s.id,
            None if if_exists => return Ok(()),
            Some(_) => return Err(refuse("DROP SCHEMA of a schema of the system", name.line)),
            None => {
                let args: [&dyn Display; 3] = [&"drop", &"schema", &name.name()];
                let error = SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args);
                return Err(error.at_line(line));
            }
        };
        let object = snapshot.objects.values().find(|o| o.schema == schema);
        let object = object.map(|o| o.name.clone());
        let ty = snapshot.types.values().find(|t| t.schema == schema);
        if let Some(inside) = object.or(ty.map(|t| t.name.clone())) {
            let args: [&dyn Display; 3] = [&"drop schema", &name.name(), &inside];
            return Err(SqlError::new(&messages::OBJECT_REFERENCED, &args).at_line(line));
        }
        self.db.catalog.drop_schema(self.tx, schema)
    }
}
