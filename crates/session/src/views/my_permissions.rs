//! `sys.fn_my_permissions(securable, class)`: what the caller may do, of the permissions that this server knows. Classes are
//! SERVER, DATABASE, SCHEMA and OBJECT; of others, and of what is not there, there are no rows.
//! <https://learn.microsoft.com/sql/relational-databases/system-functions/sys-fn-my-permissions-transact-sql>

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::{ObjectKind, Snapshot};
use duramen_tsql::ast::ObjectName;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;
use crate::databases::OpenDb;
use crate::host::Context;
use crate::security::{On, permissions};

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
const OF_COLUMNS: [&str; 3] = ["SL", "UP", "RF"];

/// Whether a permission is one on schemas, where a kind of object is given one on such objects.
fn applies(code: &str, kind: Option<ObjectKind>) -> bool {
    const ALWAYS: [&str; 3] = ["AL", "CL", "VW"];
    let reads = ["SL", "IN", "UP", "DL", "RF"].contains(&code);
    ALWAYS.contains(&code)
        || match kind {
            None => reads || code == "EX",
            Some(ObjectKind::PROCEDURE) => code == "EX",
            Some(ObjectKind::SCALAR_FUNCTION) => ["EX", "RF"].contains(&code),
            Some(_) => reads,
        }
}

fn server(cx: &Context) -> SqlResult<Vec<Held>> {
    let mut all = Vec::new();
    for (permission, code, _) in permissions().filter(|p| p.2) {
        // Who is there may connect.
        if code == "COSQ" || cx.who.server_may(&cx.instance, code)? {
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
    applies: impl Fn(&str) -> bool,
) -> SqlResult<Vec<Held>> {
    let mut all = Vec::new();
    for (permission, code, _) in permissions().filter(|p| !p.2 && applies(p.1)) {
        let enters = code == "CO" && cx.who.user_in(db)?.is_some();
        if enters || cx.who.may(db, code, on)? {
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
        // What is everybody's to read, or of who may view the server's state.
        let there = super::declared_object(name.name()).is_some()
            || crate::resource::object(Some("sys"), name.name()).is_some();
        let dynamic = name.name().to_ascii_lowercase().starts_with("dm_");
        let may = there && (!dynamic || cx.who.server_may(&cx.instance, "VWSS")?);
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
    let mut all = held(cx, &db, (securable, on), |code| applies(code, Some(kind)))?;
    let whole: Vec<&'static str> = all.iter().map(|h| h.permission).collect();
    for column in columns {
        let of_columns =
            permissions().filter(|p| OF_COLUMNS.contains(&p.1) && whole.contains(&p.0));
        all.extend(of_columns.map(|(permission, _, _)| Held {
            entity: securable.to_owned(),
            part: column.clone(),
            permission,
        }));
    }
    Ok(all)
}

pub const VIEW: View = View::new("fn_my_permissions", COLUMNS, |cx, args| {
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
                Some(id) => held(cx, &db, (name, On::Schema(id)), |code| applies(code, None))?,
                None => Vec::new(),
            }
        }
        ("OBJECT", Some(name)) => objects(cx, name)?,
        _ => Vec::new(),
    };
    Ok(all.iter().map(row).collect())
});
