//! The table and alias types of a database, as a program that is compiled asks for them.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::ObjectKind;
use duramen_program::table_types::{TableType, TableTypes, object_name, type_name};
use duramen_program::table_variable;
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, CreateTypeKind, StatementKind};
use duramen_types::SqlType;

use crate::session::Session;

/// The types of one database.
pub struct TypesOf<'s> {
    pub session: &'s Session,
    pub database: &'s str,
}

impl TableTypes for TypesOf<'_> {
    fn table_type(&self, name: &ast::ObjectName) -> SqlResult<Option<TableType>> {
        if name.database().is_some() {
            return Ok(None);
        }
        self.session.table_type(self.database, name)
    }

    fn alias_type(&self, name: &ast::ObjectName) -> SqlResult<Option<SqlType>> {
        let db = self.session.instance.databases.find(self.database);
        let Some(db) = db.filter(|_| name.database().is_none()) else {
            return Ok(None);
        };
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let found = schema.and_then(|s| snapshot.find_type(s.id, name.name()));
        Ok(found.map(|t| t.ty))
    }
}

impl Session {
    pub(crate) fn table_type(
        &self,
        database: &str,
        name: &ast::ObjectName,
    ) -> SqlResult<Option<TableType>> {
        let schema = name.schema().unwrap_or("dbo");
        let object = ast::ObjectName {
            parts: vec![
                database.to_owned(),
                schema.to_owned(),
                object_name(name.name()),
            ],
            line: name.line,
        };
        let Some((_, module)) = self.module_itself(&object, &[ObjectKind::TABLE_TYPE])? else {
            return Ok(None);
        };
        let batch = duramen_tsql::parse_batch(&module.text, &ParseOptions::default())?;
        let created = batch.statements.into_iter().find_map(|s| match s.kind {
            StatementKind::CreateType(created) => Some(created),
            _ => None,
        });
        let Some(CreateTypeKind::Table(elements)) = created.map(|c| c.kind) else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let own = type_name(&module.name);
        Ok(Some(TableType {
            name: format!("{schema}.{own}").to_lowercase(),
            def: table_variable::definition(&module.text, "", &elements)?,
        }))
    }
}
