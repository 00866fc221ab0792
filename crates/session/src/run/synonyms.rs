//! CREATE SYNONYM, DROP SYNONYM, and what a synonym stands for.
//!
//! A synonym is an object of type SN whose text, kept where the texts of modules are, is the name of another object, each
//! part in brackets. What that name means is looked up whenever the synonym is used: the object may come and go, or never be
//! there. Who may use the synonym may use what it stands for in the same database, whose owner is the same; an object of
//! another database is asked for its own permission.
//! <https://learn.microsoft.com/sql/t-sql/statements/create-synonym-transact-sql>

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::ObjectKind;
use duramen_program::statements::Kind;
use duramen_tsql::ast;

use super::bulk::quoted;
use super::failure::RunResult;
use super::{Run, not_supported};
use crate::session::Session;

/// What a synonym stands for.
pub(crate) struct Meaning {
    /// With its database.
    pub name: ast::ObjectName,
    /// It is in another database than the synonym.
    pub elsewhere: bool,
}

impl Session {
    /// What a name stands for if it is a synonym's.
    pub(crate) fn synonym(&self, name: &ast::ObjectName) -> SqlResult<Option<Meaning>> {
        let Some((db, synonym)) = self.module_itself(name, &[ObjectKind::SYNONYM])? else {
            return Ok(None);
        };
        let broken = |_| SqlError::new(&messages::SYNONYM_INVALID, &[&synonym.name]);
        let target = duramen_tsql::parse_name(&synonym.text).map_err(broken)?;
        let own = &db.db.name;
        let database = target.database().unwrap_or(own);
        let schema = target.schema().unwrap_or_default();
        Ok(Some(Meaning {
            elsewhere: !database.eq_ignore_ascii_case(own),
            name: ast::ObjectName {
                parts: [database, schema, target.name()]
                    .map(str::to_owned)
                    .to_vec(),
                line: name.line,
            },
        }))
    }

    /// 5313, for a synonym whose object is not there.
    pub(crate) fn synonym_invalid(&self, name: &ast::ObjectName) -> SqlError {
        SqlError::new(&messages::SYNONYM_INVALID, &[&name.display()])
    }
}

impl Run<'_> {
    pub(super) fn create_synonym(
        &mut self,
        name: &ast::ObjectName,
        target: &ast::ObjectName,
    ) -> RunResult<()> {
        let line = name.line as i32;
        if name.database().is_some() {
            let message = &messages::DATABASE_PREFIX_NOT_ALLOWED;
            return Err(SqlError::new(message, &[&Kind::CreateSynonym.row().name])
                .at_line(line)
                .into());
        }
        let parts: Vec<String> = target.parts.iter().map(|p| quoted(p)).collect();
        let text = parts.join(".");
        self.define(Kind::CreateSynonym.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            let shown = name.schema().unwrap_or("dbo");
            let missing = || SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&shown]).at_line(line);
            let schema = snapshot.schema(shown).ok_or_else(missing)?;
            if schema.is_owned() {
                return Err(not_supported("SYNONYM in a schema that is not dbo's"));
            }
            if let Some(there) = snapshot.find(schema.id, name.name()) {
                let error = SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&there.name]);
                return Err(error.with_state(2).at_line(line));
            }
            let (kind, none) = (ObjectKind::SYNONYM, ObjectId(0));
            let (catalog, flags) = (&d.db.catalog, (false, false));
            catalog.create_module(d.tx, schema.id, name.name(), kind, none, &text, flags)?;
            Ok(())
        })
    }
}
