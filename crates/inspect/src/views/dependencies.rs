//! `sys.sql_expression_dependencies` and `sys.dm_sql_referencing_entities`: which modules name which objects, as their texts say
//! whenever somebody asks. Not told of are constraints and computed columns, types, and of schema-bound modules the columns.
//! <https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-sql-expression-dependencies-transact-sql>

use std::sync::Arc;

use duramen_catalog::{ModuleDef, ObjectKind, Snapshot};
use duramen_program::column::*;
use duramen_tsql::ast::{CreateModule, ObjectName, StatementKind};
use duramen_tsql::names::{self, Use};
use duramen_tsql::{ParseOptions, parse_batch, parse_name};
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1122, &DEPENDENCIES),
    (-5036, &REFERENCING),
];

/// A name in a module.
pub struct Named {
    by: Arc<ModuleDef>,
    schema_bound: bool,
    name: ObjectName,
    of: Use,
    /// What it means in the module's database; of another one's it is found out as it runs.
    id: Option<i32>,
}

impl Named {
    /// A procedure of one part is looked for in the caller's schema first.
    fn caller_decides(&self) -> bool {
        self.of == Use::Procedure && self.name.schema().is_none()
    }
}

fn parsed(module: &ModuleDef) -> Option<CreateModule> {
    let options = ParseOptions {
        quoted_identifier: module.quoted_identifier,
    };
    let batch = parse_batch(&module.text, &options).ok()?;
    match batch.statements.into_iter().next()?.kind {
        StatementKind::CreateModule(stmt) => Some(*stmt),
        _ => None,
    }
}

/// What the server has itself, and what is there for a session or a statement alone.
fn is_passing(name: &ObjectName, of: Use) -> bool {
    let system = ["sys", "INFORMATION_SCHEMA"];
    let schema = name.schema();
    name.name().starts_with('#')
        || schema.is_some_and(|s| system.iter().any(|o| s.eq_ignore_ascii_case(o)))
        || of == Use::Procedure
            && (duramen_program::resource::find(schema, name.name(), ObjectKind::PROCEDURE)
                .is_some()
                || duramen_program::coded::find(schema, name.name()).is_some())
}

fn id_of(snapshot: &Snapshot, name: &ObjectName) -> Option<i32> {
    let schema = snapshot.schema(name.schema().unwrap_or("dbo"))?.id;
    snapshot.find(schema, name.name()).map(|o| o.id.0)
}

fn all(cx: &Context) -> duramen_base::SqlResult<Vec<Named>> {
    let Some(db) = cx.instance.databases.find(&cx.database) else {
        return Ok(Vec::new());
    };
    let visible = cx.visible()?;
    let snapshot = &visible.snapshot;
    let mut found = Vec::new();
    for module in snapshot.modules.values() {
        // What a module names is in its text.
        if visible.text(module.id, "").is_none() {
            continue;
        }
        let Some(stmt) = parsed(module) else { continue };
        let schema_bound = stmt.options.iter().any(|o| o == "SCHEMABINDING");
        let trigger = module.kind == ObjectKind::TRIGGER;
        for (name, of) in names::of_module(&stmt) {
            let pseudo = ["inserted", "deleted"]
                .iter()
                .any(|p| name.name().eq_ignore_ascii_case(p));
            if is_passing(&name, of) || trigger && pseudo && name.parts.len() == 1 {
                continue;
            }
            let here = name.server().is_none()
                && name
                    .database()
                    .is_none_or(|d| d.eq_ignore_ascii_case(&db.db.name));
            let mut named = Named {
                by: module.clone(),
                schema_bound,
                name,
                of,
                id: None,
            };
            if here && !named.caller_decides() {
                named.id = id_of(snapshot, &named.name);
            }
            found.push(named);
        }
    }
    found.sort_by_key(|n| n.by.id.0);
    Ok(found)
}

columns! { Named;
    "referencing_id", T::INT, NOT_NULL, |n| int(n.by.id.0);
    "referencing_minor_id", T::INT, NOT_NULL, |_| int(0);
    "referencing_class", T::TINYINT, NULL, |_| Value::TinyInt(1);
    "referencing_class_desc", T::nvarchar(60), NULL, |_| text("OBJECT_OR_COLUMN");
    "is_schema_bound_reference", T::BIT, NOT_NULL, |n| bit(n.schema_bound);
    "referenced_class", T::TINYINT, NULL, |_| Value::TinyInt(1);
    "referenced_class_desc", T::nvarchar(60), NULL, |_| text("OBJECT_OR_COLUMN");
    "referenced_server_name", T::SYSNAME, NULL, |n| text_or_null(n.name.server());
    "referenced_database_name", T::SYSNAME, NULL, |n| text_or_null(n.name.database());
    "referenced_schema_name", T::SYSNAME, NULL, |n| text_or_null(n.name.schema());
    "referenced_entity_name", T::SYSNAME, NULL, |n| text(n.name.name());
    "referenced_id", T::INT, NULL, |n| n.id.map_or(Value::Null, int);
    "referenced_minor_id", T::INT, NOT_NULL, |_| int(0);
    "is_caller_dependent", T::BIT, NOT_NULL, |n| bit(n.caller_decides());
    "is_ambiguous", T::BIT, NOT_NULL, |_| bit(false);
}

pub const DEPENDENCIES: View =
    View::new("sql_expression_dependencies", VISIBLE, COLUMNS, |cx, _| {
        Ok(all(cx)?.iter().map(row).collect())
    });

pub use referencing::REFERENCING;

mod referencing {
    use super::*;

    pub struct Source {
        named: Named,
        schema: String,
    }

    columns! { Source;
        "referencing_schema_name", T::SYSNAME, NULL, |s| text(&s.schema);
        "referencing_entity_name", T::SYSNAME, NULL, |s| text(&s.named.by.name);
        "referencing_id", T::INT, NULL, |s| int(s.named.by.id.0);
        "referencing_class", T::TINYINT, NULL, |_| Value::TinyInt(1);
        "referencing_class_desc", T::nvarchar(60), NULL, |_| text("OBJECT_OR_COLUMN");
        "is_caller_dependent", T::BIT, NOT_NULL, |s| bit(s.named.caller_decides());
    }

    /// A name with its schema, of the current database; of the class OBJECT.
    pub const REFERENCING: View = View::new(
        "dm_sql_referencing_entities",
        VISIBLE,
        COLUMNS,
        |cx, args| {
            let word = |i: usize| args.get(i).and_then(Value::as_text);
            let (Some(wanted), Some(class)) = (word(0), word(1)) else {
                return Ok(Vec::new());
            };
            let object = class.trim().eq_ignore_ascii_case("OBJECT");
            let (Ok(wanted), true) = (parse_name(&wanted), object) else {
                return Ok(Vec::new());
            };
            let snapshot = cx.visible()?.snapshot.clone();
            let Some(id) = id_of(&snapshot, &wanted).filter(|_| wanted.schema().is_some()) else {
                return Ok(Vec::new());
            };
            let mut rows: Vec<Source> = Vec::new();
            for named in all(cx)? {
                // Whoever leaves it to the caller may mean this one.
                let may =
                    named.caller_decides() && named.name.name().eq_ignore_ascii_case(wanted.name());
                let known = rows.iter().any(|s| s.named.by.id == named.by.id);
                if (named.id == Some(id) || may) && !known {
                    let schema = snapshot.schema_name(named.by.schema).to_owned();
                    rows.push(Source { named, schema });
                }
            }
            Ok(rows.iter().map(row).collect())
        },
    );
}
