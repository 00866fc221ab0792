//! sp_rename and sp_refreshview: names and columns that the catalog keeps are made to fit.

use std::fmt::Display;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ModuleColumn, ModuleDef, ObjectDef, ObjectKind, Snapshot, TableDef};
use duramen_planner::Binder;
use duramen_program::program::same;
use duramen_program::statements::Definition;
use duramen_tsql::ast::{self, ModuleKind, StatementKind};
use duramen_txn::LockMode;

use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;
use super::{Run, not_supported};

/// What a name to be changed means.
enum Item {
    Object(Arc<ObjectDef>),
    Column(Arc<TableDef>, i32),
    Index(Arc<TableDef>, u16),
}

impl Run<'_> {
    /// `sp_rename @objname, @newname [, @objtype]`.
    pub(super) fn rename(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let needed = |name| args.text(name).ok_or_else(|| args.missing(name));
        let (old, new) = (needed("@objname")?, needed("@newname")?);
        let kind = args.text("@objtype").map(|k| k.trim().to_ascii_uppercase());
        let result = match kind.as_deref() {
            Some("DATABASE") => {
                let sql = format!(
                    "ALTER DATABASE {} MODIFY NAME = {}",
                    bracketed(&old),
                    bracketed(&new)
                );
                return self.call_text(&sql, "", Vec::new());
            }
            Some(other @ ("STATISTICS" | "USERDATATYPE")) => {
                Err(not_supported(&format!("sp_rename of {other}")).into())
            }
            None | Some("OBJECT" | "COLUMN" | "INDEX") => self.renamed(&old, &new, kind.as_deref()),
            Some(other) => {
                let error = SqlError::new(&messages::OBJNAME_AMBIGUOUS, &[&other]);
                Err(error.into())
            }
        };
        result?;
        let caution = SqlError::new(&messages::RENAME_CAUTION, &[]);
        self.sink.info(&args.row.error(caution));
        Ok(Called::with_status(0))
    }

    fn renamed(&mut self, old: &str, new: &str, kind: Option<&str>) -> RunResult<()> {
        let wrong = || SqlError::new(&messages::OBJNAME_AMBIGUOUS, &[&kind.unwrap_or("(null)")]);
        let name = duramen_tsql::parse_name(old).map_err(|_| wrong())?;
        let database = self.session.database.to_string();
        let no_item = || {
            let shown = kind.unwrap_or("(null)");
            let args: [&dyn Display; 3] = [&old, &database, &shown];
            SqlError::new(&messages::ITEM_NOT_FOUND, &args)
        };
        self.define(Definition::of_procedure("sp_rename"), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            // The name of the current database may stand in front.
            let within = match &name.parts[..] {
                [first, _, rest @ ..] if !rest.is_empty() && same(first, &database) => {
                    &name.parts[1..]
                }
                all => all,
            };
            let found = item(&snapshot, &name.parts, kind);
            let found =
                found
                    .or_else(|| item(&snapshot, within, kind))
                    .ok_or_else(|| match kind {
                        None | Some("OBJECT") => no_item(),
                        Some(_) => wrong(),
                    })?;
            let taken = |what: &str| {
                let args: [&dyn Display; 2] = [&new, &what];
                SqlError::new(&messages::NEW_NAME_IN_USE, &args)
            };
            match found {
                Item::Object(o) => {
                    let there = snapshot.find(o.schema, new);
                    if there.is_some_and(|t| t.id != o.id) {
                        return Err(taken("object"));
                    }
                    self::lock_parent(d, &snapshot, &o)?;
                    d.db.catalog.rename_object(d.tx, &o, new)
                }
                Item::Column(table, column) => {
                    let there = table.column(new).map(|at| table.columns[at].id);
                    if there.is_some_and(|id| id != column) {
                        return Err(taken("COLUMN"));
                    }
                    d.lock(&table, LockMode::SchM)?;
                    d.db.catalog.rename_column(d.tx, &table, column, new)
                }
                Item::Index(table, index) => {
                    if table.index(new).is_some_and(|i| i.id != index) {
                        return Err(taken("INDEX"));
                    }
                    d.lock(&table, LockMode::SchM)?;
                    match table.indexes.iter().find(|i| i.id == index) {
                        Some(i) => d.db.catalog.rename_index(d.tx, &table, i, new),
                        None => Ok(()),
                    }
                }
            }
        })
    }

    /// sp_refreshview and sp_refreshsqlmodule: a view's columns are what its query gives now.
    pub(super) fn refresh_module(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let named = args.text("@viewname").or_else(|| args.text("@name"));
        let shown = named.unwrap_or_default();
        let not_found = || {
            let database = self.session.database.to_string();
            let args: [&dyn Display; 2] = [&shown, &database];
            SqlError::new(&messages::OBJECT_NOT_IN_DATABASE, &args)
        };
        let name = duramen_tsql::parse_name(&shown).map_err(|_| not_found())?;
        if !self.session.who.sysadmin {
            self.may_alter(&name).map_err(|_| not_found())?;
        }
        let kinds = [
            ObjectKind::VIEW,
            ObjectKind::PROCEDURE,
            ObjectKind::SCALAR_FUNCTION,
            ObjectKind::INLINE_FUNCTION,
            ObjectKind::TABLE_FUNCTION,
        ];
        let found = self.session.module_itself(&name, &kinds)?;
        let (_, module) = found.ok_or_else(not_found)?;
        if module.kind != ObjectKind::VIEW {
            // Other modules remember nothing of what they read.
            return Ok(Called::with_status(0));
        }
        let columns = self.columns_of_view(&module)?;
        self.define(Definition::of_procedure("sp_refreshview"), |d| {
            d.db.catalog
                .set_module_columns(d.tx, &module, columns.clone())
        })?;
        Ok(Called::with_status(0))
    }

    /// The columns that a view's text gives now.
    fn columns_of_view(&mut self, module: &ModuleDef) -> RunResult<Vec<ModuleColumn>> {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: module.quoted_identifier,
        };
        let batch = duramen_tsql::parse_batch(&module.text, &options)?;
        let first = batch.statements.into_iter().next().map(|s| s.kind);
        let Some(StatementKind::CreateModule(stmt)) = first else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        match &stmt.kind {
            ModuleKind::View { columns, query, .. } => {
                self.view_gives(columns, query, &module.name)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The columns of a view of this query, named as its list says.
    pub(super) fn view_gives(
        &mut self,
        named: &[String],
        query: &ast::SelectStmt,
        view: &str,
    ) -> RunResult<Vec<ModuleColumn>> {
        let plan = self.ask_host(|h| Binder::new(h).select(query))?;
        super::module::view_columns(&plan.columns, named, view)?;
        let columns = plan.columns.iter().enumerate().map(|(i, c)| ModuleColumn {
            name: named.get(i).map_or(&*c.name, String::as_str).to_owned(),
            ty: c.ty,
            nullable: c.nullable,
        });
        Ok(columns.collect())
    }
}

fn bracketed(name: &str) -> String {
    format!(
        "[{}]",
        name.trim_start_matches('[')
            .trim_end_matches(']')
            .replace(']', "]]")
    )
}

/// Sch-M on the table that an object is or belongs to.
fn lock_parent(d: &duramen_define::Ddl<'_>, snapshot: &Snapshot, o: &ObjectDef) -> SqlResult<()> {
    let table = snapshot
        .tables
        .get(&o.id)
        .or_else(|| snapshot.tables.get(&o.parent));
    table.map_or(Ok(()), |t| d.lock(t, LockMode::SchM))
}

/// What a name means: `[schema.]object`, `[schema.]table.column`, `[schema.]table.index`.
fn item(snapshot: &Snapshot, parts: &[String], kind: Option<&str>) -> Option<Item> {
    let object = |parts: &[String]| {
        let (name, schema) = match parts {
            [name] => (name, "dbo"),
            [schema, name] => (name, schema.as_str()),
            _ => return None,
        };
        let schema = snapshot.schema(schema)?;
        snapshot.find(schema.id, name).cloned()
    };
    let table = |parts: &[String]| snapshot.tables.get(&object(parts)?.id).cloned();
    let within = || parts.split_last().filter(|(_, rest)| !rest.is_empty());
    let column = || {
        let (last, rest) = within()?;
        let table = table(rest)?;
        let id = table.columns.get(table.column(last)?)?.id;
        Some(Item::Column(table, id))
    };
    let index = || {
        let (last, rest) = within()?;
        let table = table(rest)?;
        let id = table.index(last)?.id;
        Some(Item::Index(table, id))
    };
    match kind {
        Some("COLUMN") => column(),
        Some("INDEX") => index(),
        Some(_) => object(parts).map(Item::Object),
        None => object(parts)
            .map(Item::Object)
            .or_else(column)
            .or_else(index),
    }
}
