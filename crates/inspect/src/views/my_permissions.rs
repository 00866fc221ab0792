//! `sys.fn_my_permissions(securable, class)`: what the caller may do, of the permissions that this server knows. Classes are
//! SERVER, DATABASE, SCHEMA and OBJECT; of others, and of what is not there, there are no rows.
//! <https://learn.microsoft.com/sql/relational-databases/system-functions/sys-fn-my-permissions-transact-sql>

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::SqlResult;
use duramen_catalog::{ObjectKind, Snapshot};
use duramen_core::security::On;
use duramen_program::column::*;
use duramen_program::rights::Right;
use duramen_tsql::ast::ObjectName;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5033, &VIEW),
];

pub struct Held {
    entity: String,
    /// A column.
    part: String,
    permission: &'static str,
}

columns! { Held;
    "entity_name", T::SYSNAME, NULL, |h| text(&h.entity);
    "subentity_name", T::SYSNAME, NULL, |h| text(&h.part);
    "permission_name", T::nvarchar(60), NULL, |h| text(h.permission);
}

/// What is granted on single columns.
const OF_COLUMNS: [Right; 3] = [Right::Select, Right::Update, Right::References];

/// Whether a permission is one on schemas, where a kind of object is given one on such objects.
pub(crate) fn applies(right: Right, kind: Option<ObjectKind>) -> bool {
    use Right::*;
    let reads = [Select, Insert, Update, Delete, References].contains(&right);
    [Alter, Control, ViewDefinition].contains(&right)
        || match kind {
            None => reads || right == Execute,
            Some(ObjectKind::PROCEDURE) => right == Execute,
            Some(ObjectKind::SCALAR_FUNCTION) => [Execute, References].contains(&right),
            Some(_) => reads,
        }
}

fn server(cx: &Context) -> SqlResult<Vec<Held>> {
    let mut all = Vec::new();
    for right in Right::ALL.iter().filter(|r| r.is_of_server()) {
        let permission = right.name();
        // Who is there may connect.
        if *right == Right::ConnectSql || cx.who.server_may(*right) {
            all.push(Held {
                entity: "server".to_owned(),
                part: String::new(),
                permission,
            });
        }
    }
    Ok(all)
}

fn held(
    cx: &Context,
    db: &OpenDb,
    (entity, on): (&str, On),
    applies: impl Fn(Right) -> bool,
) -> SqlResult<Vec<Held>> {
    let mut all = Vec::new();
    let of_databases = Right::ALL.iter().filter(|r| !r.is_of_server());
    for right in of_databases.filter(|r| applies(**r)) {
        let permission = right.name();
        let enters = *right == Right::Connect && cx.who.user_in(db)?.is_some();
        if enters || cx.who.may(db, *right, on)? {
            all.push(Held {
                entity: entity.to_owned(),
                part: String::new(),
                permission,
            });
        }
    }
    Ok(all)
}

/// Id, schema and kind of an object, and its columns.
type Found = (i32, i32, ObjectKind, Vec<String>);

fn object(snapshot: &Arc<Snapshot>, name: &ObjectName) -> Option<Found> {
    let schema = snapshot.schema(name.schema().unwrap_or("dbo"))?.id;
    if let Some(t) = snapshot.find_table(schema, name.name()) {
        let columns = t.columns.iter().map(|c| c.name.clone()).collect();
        return Some((t.id.0, schema, ObjectKind::TABLE, columns));
    }
    let found = snapshot.find(schema, name.name())?;
    Some((found.id.0, schema, found.kind, Vec::new()))
}

fn objects(cx: &Context, securable: &str) -> SqlResult<Vec<Held>> {
    let Ok(name) = duramen_tsql::parse_name(securable) else {
        return Ok(Vec::new());
    };
    let database = name.database().unwrap_or(&cx.database);
    let Some(db) = cx.instance.databases.find(database) else {
        return Ok(Vec::new());
    };
    let of_system = name.schema().is_some_and(|s| s.eq_ignore_ascii_case("sys"));
    let snapshot = db.catalog.snapshot()?;
    if of_system {
        // What everybody may look at, and what the caller may, as far as no argument decides.
        let declared = super::by_name(name.name()).map(|l| l.view.needs);
        let module = duramen_program::resource::object(Some("sys"), name.name());
        let needs = declared.or_else(|| module.map(|m| duramen_program::resource::needs(m)));
        let caller = cx.caller();
        let refused = || duramen_base::SqlError::print(String::new());
        let may = needs.is_some_and(|n| caller.require(&n, &[], |_| refused()).is_ok());
        let one = Held {
            entity: securable.to_owned(),
            part: String::new(),
            permission: "SELECT",
        };
        return Ok(may.then_some(one).into_iter().collect());
    }
    let Some((id, schema, kind, columns)) = object(&snapshot, &name) else {
        return Ok(Vec::new());
    };
    let on = On::Object { id, schema };
    let mut all = held(cx, &db, (securable, on), |right| applies(right, Some(kind)))?;
    let whole: Vec<&'static str> = all.iter().map(|h| h.permission).collect();
    for column in columns {
        let of_columns = OF_COLUMNS.iter().map(|r| r.name());
        let of_columns = of_columns.filter(|p| whole.contains(p));
        all.extend(of_columns.map(|permission| Held {
            entity: securable.to_owned(),
            part: column.clone(),
            permission,
        }));
    }
    Ok(all)
}

pub const VIEW: View = View::new("fn_my_permissions", OWN, COLUMNS, |cx, args| {
    let word = |i: usize| args.get(i).and_then(Value::as_text);
    let securable = word(0);
    let class = word(1).unwrap_or_else(|| "SERVER".to_owned());
    let here = |name: Option<&str>| cx.instance.databases.find(name.unwrap_or(&cx.database));
    let all = match (class.trim().to_ascii_uppercase().as_str(), &securable) {
        ("SERVER", _) => server(cx)?,
        ("DATABASE", name) => match here(name.as_deref()) {
            Some(db) => held(cx, &db, ("database", On::Database), |_| true)?,
            None => Vec::new(),
        },
        ("SCHEMA", Some(name)) => {
            let Some(db) = here(None) else {
                return Ok(Vec::new());
            };
            let schema = db.catalog.snapshot()?.schema(name).map(|s| s.id);
            match schema {
                Some(id) => held(cx, &db, (name, On::Schema(id)), |right| {
                    applies(right, None)
                })?,
                None => Vec::new(),
            }
        }
        ("OBJECT", Some(name)) => objects(cx, name)?,
        _ => Vec::new(),
    };
    Ok(all.iter().map(row).collect())
});
