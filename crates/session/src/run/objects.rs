//! Tables, indexes, statistics and schemas: which database a definition is of, and what it is called there.

use duramen_base::{SqlError, messages};
use duramen_catalog::ObjectKind;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{self, DropKind, ObjectName};

use super::failure::RunResult;
use super::{Run, not_supported, temp};

impl Run<'_> {
    pub(super) fn create_table(&mut self, stmt: &ast::CreateTable) -> RunResult<()> {
        let (database, _) = self.session.definition_target(&stmt.name);
        if self.session.instance.database_id(&database).is_none() {
            let message = &messages::NAMED_DATABASE_DOES_NOT_EXIST;
            return Err(SqlError::new(message, &[&database]).with_state(2).into());
        }
        let definition = Kind::CreateTable.definition();
        self.define_in(&database, definition, |d| d.create_table(stmt))
    }

    pub(super) fn create_index(&mut self, stmt: &ast::CreateIndex) -> RunResult<()> {
        let mut stmt = stmt.clone();
        let database = match &stmt.table {
            Some(name) => {
                let (database, name) = self.session.definition_target(name);
                stmt.table = Some(name);
                database
            }
            None => self.session.database.to_string(),
        };
        let definition = Kind::CreateIndex.definition();
        self.define_in(&database, definition, |d| d.create_index(&stmt))
    }

    pub(super) fn alter_index(&mut self, stmt: &ast::AlterIndex) -> RunResult<()> {
        let (database, table) = self.session.definition_target(&stmt.table);
        let stmt = ast::AlterIndex {
            table,
            ..stmt.clone()
        };
        let partition = match &stmt.partition {
            Some(e) => Some(self.partition_number(e)?),
            None => None,
        };
        let definition = Kind::AlterIndex.definition();
        self.define_in(&database, definition, |d| d.alter_index(&stmt, partition))
    }

    pub(super) fn drop_indexes(
        &mut self,
        if_exists: bool,
        indexes: &[(String, ObjectName)],
    ) -> RunResult<()> {
        indexes.iter().try_for_each(|(index, table)| {
            let (database, table) = self.session.definition_target(table);
            self.define_in(&database, Kind::DropIndex.definition(), |d| {
                d.drop_index(index, &table, if_exists)
            })
        })
    }

    pub(super) fn create_statistics(&mut self, stmt: &ast::CreateStatistics) -> RunResult<()> {
        let (database, table) = self.session.definition_target(&stmt.table);
        self.define_in(&database, Kind::CreateStatistics.definition(), |d| {
            d.create_statistics(&table, stmt)
        })
    }

    pub(super) fn update_statistics(
        &mut self,
        table: &ObjectName,
        names: &[String],
        options: &[ast::NamedOption],
    ) -> RunResult<()> {
        let (database, table) = self.session.definition_target(table);
        self.define_in(&database, Kind::UpdateStatistics.definition(), |d| {
            d.update_statistics(&table, names, options)
        })
    }

    fn drop_statistics(&mut self, full: &ObjectName) -> RunResult<()> {
        let mut table = full.clone();
        let name = table.parts.pop().unwrap_or_default();
        let (database, table) = self.session.definition_target(&table);
        self.define_in(&database, Kind::DropStatistics.definition(), |d| {
            d.drop_statistics(&name, &table)
        })
    }

    pub(super) fn truncate_table(
        &mut self,
        table: &ObjectName,
        partitions: &[(ast::Expr, Option<ast::Expr>)],
    ) -> RunResult<()> {
        let (database, table) = self.session.definition_target(table);
        let parts = self.partition_numbers(partitions)?;
        self.define_in(&database, Kind::TruncateTable.definition(), |d| {
            d.truncate(&table, &parts)
        })
    }

    pub(super) fn create_schema(&mut self, name: &str, owner: Option<&str>) -> RunResult<()> {
        self.may_make_owner(owner)?;
        self.define(Kind::CreateSchema.definition(), |d| {
            d.create_schema(name, owner)
        })
    }

    pub(super) fn alter_schema(&mut self, schema: &str, name: &ObjectName) -> RunResult<()> {
        let definition = Kind::AlterSchema.definition();
        self.define(definition, |d| d.transfer(schema, name))
    }

    fn drop_table(&mut self, name: &ObjectName, if_exists: bool) -> RunResult<()> {
        let (database, target) = self.session.definition_target(name);
        self.not_bound(&database, &target, Kind::DropTable.row().name)?;
        let dropped = self.define_in(&database, Kind::DropTable.definition(), |d| {
            d.drop_table(&target, if_exists)
        });
        dropped.map_err(|f| f.map(|e| temp::shown_as(e, &target, name)))
    }

    /// DROP of what is called by its name alone.
    pub(super) fn drop_objects(
        &mut self,
        kind: DropKind,
        if_exists: bool,
        names: &[ObjectName],
    ) -> RunResult<()> {
        let mut each = names.iter();
        match kind {
            DropKind::Table => each.try_for_each(|n| self.drop_table(n, if_exists)),
            DropKind::Statistics => each.try_for_each(|n| self.drop_statistics(n)),
            DropKind::Schema => each.try_for_each(|n| {
                let definition = Kind::DropSchema.definition();
                self.define(definition, |d| d.drop_schema(n, if_exists))
            }),
            DropKind::Login => each.try_for_each(|n| self.drop_login(n.name())),
            DropKind::User => {
                each.try_for_each(|n| self.drop_principal(false, if_exists, n.name()))
            }
            DropKind::Role => each.try_for_each(|n| self.drop_principal(true, if_exists, n.name())),
            DropKind::Type => self.drop_types(if_exists, names),
            DropKind::View => self.drop_modules(ObjectKind::VIEW, if_exists, names),
            DropKind::Procedure => self.drop_modules(ObjectKind::PROCEDURE, if_exists, names),
            DropKind::Function => self.drop_modules(ObjectKind::SCALAR_FUNCTION, if_exists, names),
            DropKind::Trigger => self.drop_modules(ObjectKind::TRIGGER, if_exists, names),
            DropKind::Synonym => self.drop_modules(ObjectKind::SYNONYM, if_exists, names),
            DropKind::Sequence | DropKind::Default | DropKind::Rule => {
                Err(not_supported(&format!("DROP {kind:?}").to_uppercase()).into())
            }
        }
    }
}
