//! CREATE, ALTER and DROP of procedures, views and functions: text that is checked now and compiled when used.

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_access::temporary::is_temporary;
use duramen_access::temporary::short_name;
use duramen_base::{ObjectId, SqlError, SqlResult, given_up, messages};
use duramen_catalog::{MOST_COLUMNS, ModuleColumn, ModuleDef, ObjectKind};
use duramen_planner::Binder;
use duramen_program::program::{BodyOf, Program, same};
use duramen_program::statements::Kind;
use duramen_program::table_types::NoTableTypes;
use duramen_query::OutColumn;
use duramen_tsql::ast::{self, ModuleKind, ModuleMode};

use super::callable::callable;
use super::checked::look_at;
use super::failure::RunResult;
use super::{Run, trigger};
use crate::functions_of_users::{BodyFunction, body_function};
use crate::host::HostView;
use crate::run::TypesOf;
use crate::session::Session;

impl Session {
    /// The procedure that a name means: one of the system, of the current database, or a `sp_` procedure of master.
    pub(crate) fn procedure_module(
        &self,
        name: &ast::ObjectName,
    ) -> SqlResult<Option<(Arc<OpenDb>, Arc<ModuleDef>)>> {
        let system =
            duramen_program::resource::find(name.schema(), name.name(), ObjectKind::PROCEDURE);
        if let Some(module) = system {
            let database = name.database().unwrap_or(&self.database);
            let db = self.instance.databases.find(database);
            return Ok(db.map(|db| (db, module.clone())));
        }
        let found = self.module(name, &[ObjectKind::PROCEDURE])?;
        let shared = name.database().is_none() && name.name().to_lowercase().starts_with("sp_");
        if found.is_some() || !shared {
            return Ok(found);
        }
        let parts = vec!["master".to_owned(), String::new(), name.name().to_owned()];
        let in_master = ast::ObjectName {
            parts,
            line: name.line,
        };
        self.module(&in_master, &[ObjectKind::PROCEDURE])
    }

    /// The module of one of these kinds that a name means, itself or as a synonym.
    pub(crate) fn module(
        &self,
        name: &ast::ObjectName,
        kinds: &[ObjectKind],
    ) -> SqlResult<Option<(Arc<OpenDb>, Arc<ModuleDef>)>> {
        let found = self.module_itself(name, kinds)?;
        if found.is_some() {
            return Ok(found);
        }
        match self.synonym(name)? {
            Some(meaning) => self.module_itself(&meaning.name, kinds),
            None => Ok(None),
        }
    }

    /// The module of one of these kinds that has this name.
    pub(crate) fn module_itself(
        &self,
        name: &ast::ObjectName,
        kinds: &[ObjectKind],
    ) -> SqlResult<Option<(Arc<OpenDb>, Arc<ModuleDef>)>> {
        let temporary = is_temporary(name) && kinds.contains(&ObjectKind::PROCEDURE);
        let in_tempdb = match temporary {
            true => match self.temporary_procedure(name) {
                Some(there) => Some(there),
                None => return Ok(None),
            },
            false => None,
        };
        let name = in_tempdb.as_ref().unwrap_or(name);
        let database = name.database().unwrap_or(&self.database);
        let Some(db) = self.instance.databases.find(database) else {
            return Ok(None);
        };
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let object = schema.and_then(|s| snapshot.find(s.id, name.name()));
        let object = object.filter(|o| kinds.contains(&o.kind));
        let module = object.and_then(|o| snapshot.module(o.id)).cloned();
        Ok(module.map(|m| (db, m)))
    }
}

/// Where a module is stored, and whether it is a temporary one that is made now.
struct ModulePlace {
    database: String,
    name: ast::ObjectName,
    new: bool,
}

/// What is known of a module before it is stored.
#[derive(Default)]
struct Checked {
    /// Of a view.
    columns: Vec<ModuleColumn>,
    /// The procedures that it calls and that are not there.
    missing: Vec<String>,
}

fn kind_of(kind: &ModuleKind) -> ObjectKind {
    match kind {
        ModuleKind::Procedure { .. } => ObjectKind::PROCEDURE,
        ModuleKind::View { .. } => ObjectKind::VIEW,
        ModuleKind::ScalarFunction { .. } => ObjectKind::SCALAR_FUNCTION,
        ModuleKind::InlineFunction { .. } => ObjectKind::INLINE_FUNCTION,
        ModuleKind::TableFunction { .. } => ObjectKind::TABLE_FUNCTION,
        ModuleKind::Trigger { .. } => ObjectKind::TRIGGER,
    }
}

/// The word of a kind in statements and messages, and the number of its CREATE in DONE tokens.
fn word_of(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::PROCEDURE => "PROCEDURE",
        ObjectKind::VIEW => "VIEW",
        ObjectKind::TRIGGER => "TRIGGER",
        ObjectKind::SYNONYM => "SYNONYM",
        _ => "FUNCTION",
    }
}

const FUNCTIONS: &[ObjectKind] = &[
    ObjectKind::SCALAR_FUNCTION,
    ObjectKind::INLINE_FUNCTION,
    ObjectKind::TABLE_FUNCTION,
];

/// The kinds that a DROP or ALTER of this word may meet.
fn family(kind: ObjectKind) -> Vec<ObjectKind> {
    match FUNCTIONS.contains(&kind) {
        true => FUNCTIONS.to_vec(),
        false => vec![kind],
    }
}

impl Run<'_> {
    /// Errors of a definition name the module.
    pub(super) fn create_module(&mut self, stmt: &ast::CreateModule) -> RunResult<()> {
        let missing = self.store_module(stmt).map_err(|mut e| {
            e.error.procedure = Some(stmt.name.name().to_owned());
            e
        })?;
        for name in missing {
            let args: [&dyn std::fmt::Display; 2] = [&stmt.name.name(), &name];
            let warning = SqlError::new(&messages::MODULE_DEPENDS_ON_MISSING, &args);
            self.sink.info(&warning.at_line(self.line));
        }
        Ok(())
    }

    /// The procedures that it calls and that are not there.
    fn store_module(&mut self, stmt: &ast::CreateModule) -> RunResult<Vec<String>> {
        let line = stmt.name.line as i32;
        let kind = kind_of(&stmt.kind);
        if stmt.name.database().is_some() {
            let create = format!("CREATE/ALTER {}", word_of(kind));
            return Err(SqlError::new(&messages::DATABASE_PREFIX_NOT_ALLOWED, &[&create]).into());
        }
        let Checked { columns, missing } = self.check_module(stmt)?;
        let place = self.place_of_module(stmt)?;
        let quoted = self.session.options.quoted_identifier;
        let text = stored_text(&self.program.text, stmt.mode);
        self.define_in(&place.database, Kind::CreateProcedure.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            let schema_name = place.name.schema().unwrap_or("dbo");
            let no_schema =
                || SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&schema_name]).at_line(line);
            let schema = snapshot.schema(schema_name).ok_or_else(no_schema)?;
            let table = trigger::table_of_trigger(d, stmt)?;
            // Modules open the objects of their database to their callers, which only dbo may decide.
            let of_table = table.as_ref().and_then(|t| snapshot.schemas.get(&t.schema));
            if [Some(schema), of_table]
                .iter()
                .flatten()
                .any(|s| s.is_owned())
            {
                let what = format!("{} in a schema that is not dbo's", word_of(kind));
                let error = SqlError::new(&messages::NOT_SUPPORTED, &[&what]);
                return Err(error.at_line(line));
            }
            let attach = |module: &ModuleDef| match &table {
                Some(table) => trigger::attach(d, table, module, stmt),
                None => {
                    let catalog = &d.db.catalog;
                    catalog.set_module_columns(d.tx, module, columns.clone())
                }
            };
            let name = place.name.name();
            let there = snapshot.find(schema.id, name);
            match (there, stmt.mode) {
                (None, ModuleMode::Alter) => {
                    let error =
                        SqlError::new(&messages::INVALID_OBJECT_NAME, &[&stmt.name.display()]);
                    Err(error.with_state(6).at_line(line))
                }
                (None, _) => {
                    let flags = (true, quoted);
                    let parent = table.as_ref().map_or(ObjectId(0), |t| t.id);
                    let module =
                        d.db.catalog
                            .create_module(d.tx, schema.id, name, kind, parent, &text, flags)?;
                    attach(&module)
                }
                (Some(o), ModuleMode::Create) => {
                    let shown = short_name(&o.name);
                    let error = SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&shown]);
                    Err(error.with_state(3).at_line(line))
                }
                (Some(o), _) if o.kind != kind => {
                    let error = SqlError::new(&messages::ALTER_WRONG_KIND, &[&o.name]);
                    Err(error.at_line(line))
                }
                (Some(o), _) => {
                    let module = snapshot.module(o.id);
                    let missing = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
                    let module = module.ok_or_else(missing)?;
                    if let Some(table) = table.as_ref().filter(|t| t.id != module.parent) {
                        let args: [&dyn std::fmt::Display; 2] = [&module.name, &table.name];
                        let error = SqlError::new(&messages::TRIGGER_OTHER_TABLE, &args);
                        return Err(error.at_line(line));
                    }
                    let module = d.db.catalog.alter_module(d.tx, module, &text)?;
                    attach(&module)
                }
            }
        })?;
        if place.new {
            let full = place.name.name().to_owned();
            self.note_temporary(stmt.name.name().to_owned(), full, true)?;
        }
        Ok(missing)
    }

    /// Where a module is stored: a temporary procedure in tempdb.
    fn place_of_module(&mut self, stmt: &ast::CreateModule) -> RunResult<ModulePlace> {
        if !is_temporary(&stmt.name) {
            return Ok(ModulePlace {
                database: self.session.database.to_string(),
                name: stmt.name.clone(),
                new: false,
            });
        }
        let known = match stmt.mode {
            ModuleMode::Create => None,
            _ => self
                .session
                .module_itself(&stmt.name, &[ObjectKind::PROCEDURE])?,
        };
        let (full, new) = match (known, stmt.mode) {
            (Some(_), _) if self.session.is_anothers_procedure(&stmt.name) => {
                return Err(self.not_there(&stmt.name).into());
            }
            (Some((_, module)), _) => (module.name.clone(), false),
            (None, ModuleMode::Alter) => return Err(self.not_there(&stmt.name).into()),
            (None, _) => (
                self.new_temporary(stmt.name.name(), stmt.name.line)
                    .map_err(|f| f.map(|e| e.with_state(3)))?,
                true,
            ),
        };
        Ok(ModulePlace {
            database: "tempdb".to_owned(),
            name: ast::ObjectName::single(&full, stmt.name.line),
            new,
        })
    }

    /// 208 for an ALTER.
    fn not_there(&self, name: &ast::ObjectName) -> SqlError {
        let error = SqlError::new(&messages::INVALID_OBJECT_NAME, &[&name.display()]);
        error.with_state(6).at_line(name.line as i32)
    }

    /// What a definition is refused for before it is stored; the columns of a view.
    fn check_module(&mut self, stmt: &ast::CreateModule) -> RunResult<Checked> {
        let mut checked = Checked::default();
        if is_temporary(&stmt.name) {
            let name = stmt.name.name();
            match &stmt.kind {
                ModuleKind::Procedure { .. } => {}
                ModuleKind::View { .. } => {
                    return Err(SqlError::new(&messages::TEMPORARY_VIEW, &[&name]).into());
                }
                ModuleKind::Trigger { .. } => {
                    return Err(super::not_supported("a temporary trigger").into());
                }
                _ => return Err(SqlError::new(&messages::TEMPORARY_FUNCTION, &[]).into()),
            }
        }
        match &stmt.kind {
            ModuleKind::Procedure { params, body } => {
                let types = TypesOf {
                    session: &*self.session,
                    database: &self.session.database,
                };
                let body = callable(
                    &self.program.text,
                    params,
                    body.clone(),
                    BodyOf::Procedure,
                    &types,
                )?;
                checked.missing = self.bind_body(stmt, &body.program, None)?;
            }
            ModuleKind::View { columns, query, .. } => {
                if stmt.options.iter().any(|o| o == "SCHEMABINDING") {
                    super::schemabound::bindable(stmt.name.name(), query)?;
                }
                checked.columns = self.view_gives(columns, query, stmt.name.name())?;
            }
            ModuleKind::InlineFunction { params, query } => {
                let parameters = callable(
                    &self.program.text,
                    params,
                    Vec::new(),
                    BodyOf::Batch,
                    &NoTableTypes,
                )?;
                self.bind_inline(&parameters.program, query)?;
            }
            ModuleKind::ScalarFunction { .. } | ModuleKind::TableFunction { .. } => {
                let names = (
                    stmt.name.name().to_owned(),
                    self.session.database.to_string(),
                );
                if let Some(function) = body_function(&self.program.text, stmt, names)? {
                    checked.missing = self.bind_body(stmt, function.program(), Some(&function))?;
                }
            }
            ModuleKind::Trigger { .. } => checked.missing = self.check_trigger(stmt)?,
        }
        Ok(checked)
    }

    /// Binds a body as a batch is bound before it runs: every statement whose objects are there. The procedures that it
    /// calls and that are not.
    pub(super) fn bind_body(
        &mut self,
        stmt: &ast::CreateModule,
        program: &Program,
        function: Option<&BodyFunction>,
    ) -> RunResult<Vec<String>> {
        let mut tables = super::made_tables(program);
        tables.extend(function.and_then(BodyFunction::result_table));
        let returns = function.map(duramen_query::host::UserFunction::returns);
        let found = look_at(self.session, program, (&tables, returns), self.cancel);
        given_up::check()?;
        match SqlError::joined(found.errors) {
            Some(error) => Err(error.into()),
            None => Ok(found
                .missing
                .into_iter()
                .filter(|name| !same(name, stmt.name.name()))
                .collect()),
        }
    }

    /// Binds the query of an inline function. 4514 for a column without a name.
    fn bind_inline(&mut self, parameters: &Program, query: &ast::SelectStmt) -> RunResult<()> {
        let variables = &parameters.variables;
        let host = HostView::new(self.session, variables, &[], None, self.cancel);
        let bind = || Binder::checking(&host).bound_select(query);
        let bound = self.session.settled(bind)?;
        let unnamed = bound.columns().iter().position(|c| c.name.is_empty());
        match unnamed {
            None => Ok(()),
            Some(at) => {
                let error = SqlError::new(&messages::FUNCTION_NO_COLUMN_NAME, &[&(at + 1)]);
                Err(error.into())
            }
        }
    }

    pub(super) fn drop_modules(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        names: &[ast::ObjectName],
    ) -> RunResult<()> {
        for name in names {
            let line = name.line as i32;
            if name.database().is_some() {
                let drop = format!("DROP {}", word_of(kind));
                return Err(SqlError::new(&messages::DATABASE_PREFIX_NOT_ALLOWED, &[&drop]).into());
            }
            let found = match self.session.is_anothers_procedure(name) {
                true => None,
                false => self.session.module_itself(name, &family(kind))?,
            };
            let database = match &found {
                Some((db, _)) => db.db.name.clone(),
                None => self.session.database.to_string(),
            };
            if found.is_some() {
                self.not_bound(&database, name, &format!("DROP {}", word_of(kind)))?;
            }
            self.define_in(
                &database,
                Kind::DropProcedure.definition(),
                |d| match &found {
                    Some((_, module)) => d.db.catalog.drop_module(d.tx, module),
                    None if if_exists => Ok(()),
                    None => {
                        let word = word_of(kind).to_lowercase();
                        let args: [&dyn std::fmt::Display; 3] = [&"drop", &word, &name.display()];
                        Err(SqlError::new(&messages::CANNOT_DROP, &args)
                            .with_state(5)
                            .at_line(line))
                    }
                },
            )?;
        }
        Ok(())
    }
}

/// 4505, 4511 and 4506: each column of a view has a name of its own.
pub(super) fn view_columns(found: &[OutColumn], named: &[String], view: &str) -> SqlResult<()> {
    if !named.is_empty() && named.len() != found.len() {
        let message = match named.len() > found.len() {
            true => &messages::MORE_COLUMNS_THAN_LIST,
            false => &messages::FEWER_COLUMNS_THAN_LIST,
        };
        return Err(SqlError::new(message, &[&view]));
    }
    let name = |i: usize| named.get(i).map_or(&*found[i].name, String::as_str);
    if found.len() > MOST_COLUMNS {
        let args: [&dyn std::fmt::Display; 3] = [&name(MOST_COLUMNS), &view, &MOST_COLUMNS];
        return Err(SqlError::new(&messages::VIEW_TOO_MANY_COLUMNS, &args));
    }
    for i in 0..found.len() {
        if name(i).is_empty() {
            return Err(SqlError::new(&messages::VIEW_NO_COLUMN_NAME, &[&(i + 1)]));
        }
        let twice = (0..i).any(|o| name(o).to_lowercase() == name(i).to_lowercase());
        if twice {
            let args: [&dyn std::fmt::Display; 2] = [&name(i), &view];
            return Err(SqlError::new(&messages::VIEW_DUPLICATE_COLUMN, &args));
        }
    }
    Ok(())
}

/// The text that is kept: as written, but always beginning with CREATE.
fn stored_text(text: &str, mode: ModuleMode) -> String {
    let start = first_word(text);
    let rest = &text[start..];
    match mode {
        ModuleMode::Create => text.to_owned(),
        ModuleMode::Alter => {
            let rest = rest.get("ALTER".len()..).unwrap_or_default();
            format!("{}CREATE{rest}", &text[..start])
        }
        ModuleMode::CreateOrAlter => {
            let upper = rest.to_ascii_uppercase();
            let after = upper.find("ALTER").map_or(0, |at| at + "ALTER".len());
            format!("{}CREATE{}", &text[..start], &rest[after..])
        }
    }
}

/// Where the first word after blanks and comments begins.
fn first_word(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.starts_with(b"--") {
            at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            let mut depth = 0;
            while at < bytes.len() {
                if bytes[at..].starts_with(b"/*") {
                    depth += 1;
                    at += 2;
                } else if bytes[at..].starts_with(b"*/") {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        break;
                    }
                } else {
                    at += 1;
                }
            }
        } else if bytes[at].is_ascii_alphabetic() {
            return at;
        } else {
            at += 1;
        }
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_begins_with_create() {
        let alter = "/* CREATE or ALTER */ -- x\n  alter proc p as select 1";
        assert_eq!(
            stored_text(alter, ModuleMode::Alter),
            "/* CREATE or ALTER */ -- x\n  CREATE proc p as select 1"
        );
        let both = "CREATE  OR  ALTER VIEW v AS SELECT 1 AS a";
        assert_eq!(
            stored_text(both, ModuleMode::CreateOrAlter),
            "CREATE VIEW v AS SELECT 1 AS a"
        );
    }
}
