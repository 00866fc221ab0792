//! What is in a database, read through a session, and what is different from what must be there.

use std::collections::{BTreeMap, BTreeSet};

use duramen_session::Session;
use duramen_types::Value;

use super::super::wire::execute;
use super::fault::Fault;
use super::model::Db;
use super::{rights, show};

#[derive(Debug, Default)]
struct FoundTable {
    /// `None` when nobody can read them: the clustered index is disabled.
    rows: Option<Vec<Vec<Value>>>,
}

/// A database as it was read.
#[derive(Debug)]
pub struct Found {
    pub db: String,
    tables: BTreeMap<String, FoundTable>,
    catalog: BTreeSet<String>,
}

fn query(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, Fault> {
    let reply = execute(session, sql);
    match reply.errors.first() {
        Some(e) => Err(Fault::new(
            format!("look error {}", e.number),
            format!("{sql}: {e}"),
        )),
        None => Ok(reply.rows),
    }
}

fn word(v: &Value) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        other => match (other.as_i64(), other.as_text()) {
            (Some(n), _) => n.to_string(),
            (None, Some(t)) => t,
            _ => format!("{other:?}"),
        },
    }
}

/// The views of the catalog, as lines like those of the model.
fn catalog(session: &mut Session, db: &str) -> Result<BTreeSet<String>, Fault> {
    let s = format!("{db}.sys.");
    let queries = [
        format!(
            "SELECT t.name, 'column', c.name, ty.name, c.max_length, CASE c.is_computed WHEN 1 THEN '?' ELSE CONVERT(varchar(1), c.is_nullable) END, c.is_identity, c.is_computed \
             FROM {s}tables t JOIN {s}columns c ON c.object_id = t.object_id JOIN {s}types ty ON ty.user_type_id = c.user_type_id"
        ),
        format!(
            "SELECT t.name, 'default', d.name, c.name FROM {s}default_constraints d JOIN {s}tables t ON t.object_id = d.parent_object_id \
             JOIN {s}columns c ON c.object_id = t.object_id AND c.column_id = d.parent_column_id"
        ),
        format!(
            "SELECT t.name, 'index', i.name, i.type, i.is_unique, i.is_primary_key, i.is_disabled FROM {s}tables t JOIN {s}indexes i ON i.object_id = t.object_id WHERE i.index_id > 0"
        ),
        format!(
            "SELECT t.name, 'index column', i.name, c.name, k.is_included_column FROM {s}tables t JOIN {s}indexes i ON i.object_id = t.object_id \
             JOIN {s}index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id JOIN {s}columns c ON c.object_id = k.object_id AND c.column_id = k.column_id \
             WHERE i.index_id > 0 AND (k.key_ordinal > 0 OR k.is_included_column = 1)"
        ),
        format!(
            "SELECT t.name, 'check', k.name, k.is_disabled FROM {s}check_constraints k JOIN {s}tables t ON t.object_id = k.parent_object_id"
        ),
        format!(
            "SELECT t.name, 'foreign', f.name, c.name, p.name, f.delete_referential_action FROM {s}foreign_keys f JOIN {s}tables t ON t.object_id = f.parent_object_id \
             JOIN {s}tables p ON p.object_id = f.referenced_object_id JOIN {s}foreign_key_columns k ON k.constraint_object_id = f.object_id \
             JOIN {s}columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id"
        ),
        format!(
            "SELECT t.name, 'statistics', x.name FROM {s}stats x JOIN {s}tables t ON t.object_id = x.object_id WHERE x.user_created = 1"
        ),
        format!(
            "SELECT t.name, 'trigger', x.name, x.is_disabled FROM {s}triggers x JOIN {s}tables t ON t.object_id = x.parent_id"
        ),
        format!(
            "SELECT 'boundary', CONVERT(int, r.value) FROM {s}partition_range_values r JOIN {s}partition_functions f ON f.function_id = r.function_id WHERE f.name = 'pf'"
        ),
        format!(
            "SELECT 'object', RTRIM(o.type), o.name, CASE o.type WHEN 'SN' THEN c.name ELSE m.definition END FROM {s}objects o JOIN {s}schemas c ON c.schema_id = o.schema_id LEFT JOIN {s}sql_modules m ON m.object_id = o.object_id WHERE o.is_ms_shipped = 0 AND o.type IN ('P', 'V', 'FN', 'IF', 'TR', 'SN') \
             UNION ALL SELECT 'object', 'type', name, NULL FROM {s}types WHERE is_user_defined = 1 \
             UNION ALL SELECT 'object', 'schema', name, NULL FROM {s}schemas WHERE schema_id BETWEEN 5 AND 16383 \
             UNION ALL SELECT 'object', CASE type WHEN 'R' THEN 'role' ELSE 'user' END, name, default_schema_name FROM {s}database_principals WHERE principal_id BETWEEN 5 AND 16383 \
             UNION ALL SELECT 'object', 'member', r.name + ' ' + u.name, NULL FROM {s}database_role_members m JOIN {s}database_principals r ON r.principal_id = m.role_principal_id JOIN {s}database_principals u ON u.principal_id = m.member_principal_id WHERE r.principal_id BETWEEN 5 AND 16383 \
             UNION ALL SELECT 'object', 'pf', name, NULL FROM {s}partition_functions WHERE name <> 'pf' \
             UNION ALL SELECT 'object', 'ps', s.name, f.name FROM {s}partition_schemes s JOIN {s}partition_functions f ON f.function_id = s.function_id WHERE s.name <> 'ps'"
        ),
        rights(db, "u.principal_id BETWEEN 5 AND 16383"),
    ];
    let mut lines = BTreeSet::new();
    for sql in queries {
        for row in query(session, &sql)? {
            lines.insert(line(&row));
        }
    }
    Ok(lines)
}

/// Asks for the rights that some of the principals of a database hold.
pub fn rights(db: &str, whose: &str) -> String {
    let s = format!("{db}.sys.");
    format!(
        "SELECT 'right', CASE p.class WHEN 0 THEN 'database' WHEN 1 THEN 'object ' + o.name WHEN 3 THEN 'schema ' + c.name END, p.permission_name, u.name, RTRIM(p.state) \
         FROM {s}database_permissions p JOIN {s}database_principals u ON u.principal_id = p.grantee_principal_id \
         LEFT JOIN {s}objects o ON p.class = 1 AND o.object_id = p.major_id LEFT JOIN {s}schemas c ON p.class = 3 AND c.schema_id = p.major_id WHERE {whose}"
    )
}

/// A row of words as a line.
pub fn line(row: &[Value]) -> String {
    let words: Vec<String> = row.iter().map(word).collect();
    words.join(" ")
}

/// The databases and logins that come and go.
pub fn of_server(session: &mut Session) -> Result<Found, Fault> {
    let sql = "SELECT 'object DB ' + name + ' NULL' FROM sys.databases WHERE name LIKE 'd[0-9]' AND state_desc = 'ONLINE' \
               UNION ALL SELECT CONCAT('object login ', name, ' ', CONVERT(int, is_disabled)) FROM sys.server_principals WHERE name LIKE 'lg[0-9]' \
               UNION ALL SELECT 'object srvmember ' + r.name + ' ' + l.name + ' NULL' FROM sys.server_role_members m JOIN sys.server_principals r ON r.principal_id = m.role_principal_id JOIN sys.server_principals l ON l.principal_id = m.member_principal_id WHERE l.name LIKE 'lg[0-9]' \
               UNION ALL SELECT CONCAT('right server ', p.permission_name, ' ', l.name, ' ', RTRIM(p.state)) FROM sys.server_permissions p JOIN sys.server_principals l ON l.principal_id = p.grantee_principal_id WHERE l.name LIKE 'lg[0-9]'";
    let rows = query(session, sql)?;
    Ok(Found {
        db: "master".to_owned(),
        tables: BTreeMap::new(),
        catalog: rows.iter().map(|r| word(&r[0])).collect(),
    })
}

/// Reads a database.
pub fn read(session: &mut Session, db: &str) -> Result<Found, Fault> {
    let catalog = catalog(session, db)?;
    let names = query(
        session,
        &format!(
            "SELECT t.name, i.is_disabled FROM {db}.sys.tables t JOIN {db}.sys.indexes i ON i.object_id = t.object_id WHERE i.index_id < 2"
        ),
    )?;
    let mut tables = BTreeMap::new();
    for row in names {
        let name = word(&row[0]);
        let rows = match word(&row[1]) == "1" {
            true => None,
            false => Some(query(session, &format!("SELECT * FROM {db}.dbo.{name}"))?),
        };
        tables.insert(name, FoundTable { rows });
    }
    Ok(Found {
        db: db.to_owned(),
        tables,
        catalog,
    })
}

impl Found {
    /// The first thing that is not as it must be.
    pub fn difference(&self, must: &Db) -> Option<Fault> {
        let mut lines = BTreeSet::new();
        let mut all = Vec::new();
        for (name, table) in &must.tables {
            table.catalogued(name, &mut all);
        }
        for ((kind, name), text) in &must.others {
            let text = if text.is_empty() { "NULL" } else { text };
            all.push(format!("object {kind} {name} {text}"));
        }
        rights::catalogued(must, &mut all);
        all.extend(must.boundaries.iter().map(|b| format!("boundary {b}")));
        lines.extend(all);
        if let Some(line) = lines.difference(&self.catalog).next() {
            let text = format!("{}: the catalog has not: {line}", self.db);
            return Some(Fault::new("catalog lacks", text));
        }
        if let Some(line) = self.catalog.difference(&lines).next() {
            let text = format!("{}: the catalog has: {line}", self.db);
            return Some(Fault::new("catalog has more", text));
        }
        for (name, table) in &must.tables {
            let Some(rows) = self.tables.get(name).and_then(|f| f.rows.as_ref()) else {
                continue;
            };
            let at = format!("{}.{name}", self.db);
            if let Some(fault) = differ(&at, rows, table.rows.iter()) {
                return Some(fault);
            }
        }
        None
    }
}

/// Compares rows as read, `id` first, with those that must be there.
pub fn differ<'a>(
    at: &str,
    rows: &[Vec<Value>],
    must: impl Iterator<Item = (&'a i64, &'a super::table::Row)>,
) -> Option<Fault> {
    let mut read: BTreeMap<i64, &Vec<Value>> = BTreeMap::new();
    for row in rows {
        let id = row.first().and_then(Value::as_i64).unwrap_or(i64::MIN);
        if read.insert(id, row).is_some() {
            return Some(Fault::new(
                "row twice",
                format!("{at} has the row {id} twice"),
            ));
        }
    }
    for (id, row) in must {
        let Some(found) = read.remove(id) else {
            return Some(Fault::new(
                "row missing",
                format!("{at} has not the row {}", show::must(*id, row)),
            ));
        };
        let same =
            found.len() == row.len() + 1 && row.iter().zip(&found[1..]).all(|(m, r)| m.fits(r));
        if !same {
            return Some(Fault::new(
                "row differs",
                format!(
                    "{at} has {}, and must have {}",
                    show::read(found),
                    show::must(*id, row)
                ),
            ));
        }
    }
    let (_, row) = read.iter().next()?;
    let text = format!("{at} has the row {}", show::read(row));
    Some(Fault::new("row too many", text))
}
