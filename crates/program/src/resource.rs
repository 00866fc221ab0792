//! The resource room: procedures and views of the system that are T-SQL themselves.
//!
//! SQL Server keeps such modules in a hidden database of its own, as text over the catalog views, and so does this
//! room, in the files below `resource/`: modules cut apart by lines that say GO. They need no code here, print in
//! `sys.all_sql_modules` what they are, and run with the caller's database as their context.
//!
//! Invariants:
//! 1. A module's name is written on its first line, `CREATE VIEW schema.name AS` or `CREATE PROCEDURE schema.name`; the line
//!    before says what it needs of its caller, `-- needs: ` and one of [`NEEDS`]. [test: every_text_is_a_module_of_its_own]
//! 2. Its id is made of its name, so that it stays when others come or go. [test: every_text_is_a_module_of_its_own]
//! 3. A procedure of this room goes before one of a user with the same name; `sp_` procedures of master come after.
//!    [test: names_answer_where_they_once_were]
//! 4. `DB_NAME()` in a view is the database whose view it is, `other.INFORMATION_SCHEMA.TABLES` included; no other
//!    function in a view may depend on the current database. [test: views_ask_for_no_database_but_their_own]

use std::sync::{Arc, OnceLock};

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, ObjectKind};
use duramen_query::host;
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, ModuleKind, StatementKind};

use crate::rights::{Needs, needs};

const FILES: &[&str] = &[
    include_str!("resource/information_schema.sql"),
    include_str!("resource/routines.sql"),
    include_str!("resource/principals.sql"),
    include_str!("resource/lists.sql"),
    include_str!("resource/compatibility.sql"),
    include_str!("resource/help.sql"),
    include_str!("resource/help_more.sql"),
    include_str!("resource/attach.sql"),
    include_str!("resource/server.sql"),
    include_str!("resource/drivers.sql"),
    include_str!("resource/bulk.sql"),
    include_str!("resource/statistics.sql"),
    include_str!("resource/absent.sql"),
    include_str!("resource/absent_catalog.sql"),
    include_str!("resource/absent_dm.sql"),
    include_str!("resource/absent_more.sql"),
    include_str!("resource/more_views.sql"),
    include_str!("resource/rowsets.sql"),
    include_str!("resource/help_people.sql"),
    include_str!("resource/remote.sql"),
    include_str!("resource/workload.sql"),
    include_str!("resource/diagnostic.sql"),
];

/// The schema id of INFORMATION_SCHEMA.
const SCHEMA_INFORMATION: i32 = 3;

/// A module, and what it needs of whoever names it.
struct Listed {
    module: Arc<ModuleDef>,
    needs: Needs,
}

/// What a module may say that it needs.
const NEEDS: &[(&str, Needs)] = &[
    ("visible", needs::VISIBLE),
    ("facts", needs::FACTS),
    ("own sessions", needs::OWN_SESSIONS),
    ("asks", needs::ASKS),
    ("VIEW SERVER STATE", needs::SERVER_STATE),
    ("VIEW DATABASE STATE", needs::DATABASE_STATE),
    ("ALTER ANY LOGIN", needs::LOGINS),
    ("sysadmin", Needs::Sysadmin),
];

/// Every module that is for users, in the order of the files.
pub fn listed() -> impl Iterator<Item = &'static Arc<ModuleDef>> {
    all().filter(|m| !m.name.starts_with('$'))
}

fn rows() -> &'static [Listed] {
    static ALL: OnceLock<Vec<Listed>> = OnceLock::new();
    ALL.get_or_init(|| {
        let texts = FILES.iter().flat_map(|f| f.split("\nGO\n"));
        texts.filter_map(module).collect()
    })
}

/// Every module, in the order of the files; a name that begins with `$` is for other modules only.
pub fn all() -> impl Iterator<Item = &'static Arc<ModuleDef>> {
    rows().iter().map(|l| &l.module)
}

/// What a module needs of whoever names it.
pub fn needs(module: &ModuleDef) -> Needs {
    let found = rows().iter().find(|l| l.module.id == module.id);
    found.map_or(Needs::Sysadmin, |l| l.needs)
}

/// The module that a text begins; `None` for one that is no module or does not say what it needs, which a test refuses.
fn module(text: &str) -> Option<Listed> {
    let start = match text.starts_with("CREATE ") {
        true => 0,
        false => text.find("\nCREATE ")? + 1,
    };
    let (before, text) = text.split_at(start);
    let said = before.trim_end().rsplit('\n').next()?;
    let said = said.strip_prefix("-- needs: ")?.trim();
    let (_, needs) = NEEDS.iter().find(|(name, _)| *name == said)?;
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(');
    let (_, word, name) = (words.next(), words.next()?, words.next()?);
    let (schema, name) = name.split_once('.')?;
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let kind = match word {
        "VIEW" => ObjectKind::VIEW,
        "PROCEDURE" => ObjectKind::PROCEDURE,
        _ => return None,
    };
    let schema = match schema {
        "sys" => duramen_catalog::SCHEMA_SYS,
        _ => SCHEMA_INFORMATION,
    };
    let module = ModuleDef {
        columns: Vec::new(),
        id: ObjectId(id_of(schema, name)),
        schema,
        name: name.to_owned(),
        kind,
        parent: ObjectId(0),
        text: text.trim_end().to_owned(),
        ansi_nulls: true,
        quoted_identifier: true,
        version: 0,
    };
    Some(Listed {
        module: Arc::new(module),
        needs: *needs,
    })
}

/// A negative number, as the ids of SQL Server's system objects are (FNV-1a).
pub(crate) fn id_of(schema: i32, name: &str) -> i32 {
    let start = 0x811C_9DC5 ^ schema as u32;
    let hash = name.bytes().fold(start, |h, b| {
        (h ^ u32::from(b.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    -(0x1000_0000 + (hash & 0x0FFF_FFFF) as i32)
}

fn schema_of(name: &str) -> Option<i32> {
    match name {
        n if n.eq_ignore_ascii_case("sys") => Some(duramen_catalog::SCHEMA_SYS),
        n if n.eq_ignore_ascii_case("INFORMATION_SCHEMA") => Some(SCHEMA_INFORMATION),
        _ => None,
    }
}

/// The name of a module's schema.
pub fn schema_name(module: &ModuleDef) -> &'static str {
    match module.schema {
        SCHEMA_INFORMATION => "INFORMATION_SCHEMA",
        _ => "sys",
    }
}

/// The module of one of these kinds that a name means. What was once in `dbo` (`sysobjects`, `sp_help`) answers
/// there and without a schema too.
pub fn find(schema: Option<&str>, name: &str, kind: ObjectKind) -> Option<&'static Arc<ModuleDef>> {
    let once: &[&str] = match kind {
        ObjectKind::PROCEDURE => &["sp_", "xp_"],
        _ => &["sys"],
    };
    let prefixed = name
        .get(..3)
        .is_some_and(|p| once.iter().any(|o| p.eq_ignore_ascii_case(o)));
    let wanted = match schema.filter(|s| !s.is_empty()) {
        Some(s) if !s.eq_ignore_ascii_case("dbo") => schema_of(s)?,
        _ if prefixed => duramen_catalog::SCHEMA_SYS,
        _ => return None,
    };
    all().find(|m| m.schema == wanted && m.kind == kind && m.name.eq_ignore_ascii_case(name))
}

/// The object of that name, whatever its kind.
pub fn object(schema: Option<&str>, name: &str) -> Option<&'static Arc<ModuleDef>> {
    let view = find(schema, name, ObjectKind::VIEW);
    view.or_else(|| find(schema, name, ObjectKind::PROCEDURE))
}

/// The module of that id.
pub fn by_id(id: i32) -> Option<&'static Arc<ModuleDef>> {
    all().find(|m| m.id.0 == id)
}

/// A view as `database` has it.
pub fn view(module: &ModuleDef, database: &str) -> SqlResult<host::View> {
    let wrong = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
    let own = format!("CONVERT(sysname, N'{}')", database.replace('\'', "''"));
    let text = module.text.replace("DB_NAME()", &own);
    let options = ParseOptions {
        quoted_identifier: true,
    };
    let batch = duramen_tsql::parse_batch(&text, &options)?;
    let statement = batch.statements.into_iter().next().map(|s| s.kind);
    let Some(StatementKind::CreateModule(stmt)) = statement else {
        return Err(wrong());
    };
    let ast::CreateModule { kind, .. } = *stmt;
    let ModuleKind::View { columns, query, .. } = kind else {
        return Err(wrong());
    };
    Ok(host::View {
        name: module.name.clone(),
        database: database.to_owned(),
        columns,
        query: *query,
        system: true,
    })
}

#[cfg(test)]
mod tests;
