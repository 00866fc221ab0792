//! Alias types: CREATE TYPE ... FROM, what columns declared with them are, DROP TYPE.

use std::fmt::Display;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::TypeDef;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_program::table_types::alias_without_width;
use duramen_tsql::ast;
use duramen_types::{SqlType, TypeId};

use super::{Ddl, refuse};

impl Ddl<'_> {
    /// The type that a column is declared with: the system's, or an alias of the database.
    pub(super) fn declared_type(
        &self,
        ty: &ast::DataType,
        (nth, column): (usize, &str),
    ) -> SqlResult<(SqlType, Option<Arc<TypeDef>>)> {
        match resolve_type(ty, TypeSite::Column(nth, column)) {
            Ok(resolved) => Ok((resolved, None)),
            Err(e) => match self.alias(&ty.name)? {
                Some(def) => Ok((alias_without_width(ty, def.ty, nth)?, Some(def))),
                None => Err(e),
            },
        }
    }

    fn alias(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<TypeDef>>> {
        let snapshot = self.db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let found = schema.and_then(|s| snapshot.find_type(s.id, name.name()));
        Ok(found.cloned())
    }

    pub fn create_alias(
        &self,
        name: &ast::ObjectName,
        base: &ast::DataType,
        nullable: bool,
    ) -> SqlResult<()> {
        let line = name.line as i32;
        let snapshot = self.db.catalog.snapshot()?;
        let schema_name = name.schema().unwrap_or("dbo");
        let missing = || SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&schema_name]).at_line(line);
        let schema = snapshot.schema(schema_name).ok_or_else(missing)?;
        let mut ty = resolve_type(base, TypeSite::Variable(0)).map_err(|e| e.at_line(line))?;
        if matches!(ty.id, TypeId::RowVersion | TypeId::Xml) {
            let what = format!("CREATE TYPE ... FROM {}", ty.id.name());
            return Err(refuse(&what, name.line));
        }
        self.collate(&mut ty, None, name.line)?;
        let table_type = duramen_program::table_types::object_name(name.name());
        if snapshot.find(schema.id, &table_type).is_some() {
            let full = format!("{schema_name}.{}", name.name());
            return Err(SqlError::new(&messages::TYPE_ALREADY_EXISTS, &[&full]));
        }
        self.db
            .catalog
            .create_type(self.tx, schema.id, name.name(), ty, nullable)
            .map_err(|e| e.at_line(line))?;
        Ok(())
    }

    /// Drops an alias type; false when there is none of that name. 3732 while a column has it.
    pub fn drop_alias(&self, name: &ast::ObjectName) -> SqlResult<bool> {
        let Some(def) = self.alias(name)? else {
            return Ok(false);
        };
        let snapshot = self.db.catalog.snapshot()?;
        let mut tables = snapshot.tables.values();
        let user = tables.find(|t| t.columns.iter().any(|c| c.user_type == def.id));
        if let Some(table) = user {
            let args: [&dyn Display; 2] = [&name.display(), &table.name];
            let error = SqlError::new(&messages::TYPE_REFERENCED, &args);
            return Err(error.at_line(name.line as i32));
        }
        self.db.catalog.drop_type(self.tx, def.id)?;
        Ok(true)
    }
}
