//! The enabled constraints of a stored table, as the query room binds them.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ForeignKeyDef, TableDef};
use duramen_query::rules::{CheckRule, KeyAction, KeyRule, Rules};
use duramen_tsql::ast::ObjectName;

use crate::open_db::OpenDb;

pub(super) fn of(db: &OpenDb, def: &TableDef) -> SqlResult<Rules> {
    let mut rules = Rules::default();
    for c in def.checks.iter().filter(|c| !c.state.disabled) {
        let column = def.columns.iter().find(|d| d.id == c.column);
        rules.checks.push(CheckRule {
            name: c.name.clone(),
            text: c.text.clone(),
            column: column.map(|d| d.name.clone()),
        });
    }
    if def.foreign_keys.is_empty() && def.referenced_by.is_empty() {
        return Ok(rules);
    }
    let snapshot = db.catalog.snapshot()?;
    for key in def.foreign_keys.iter().filter(|f| !f.state.disabled) {
        let other = snapshot.table(key.referenced).ok_or_else(lost)?;
        let pairs = key.columns.iter().map(|(here, there)| (*here, *there));
        rules.references.push(rule(db, key, (def, other), pairs)?);
    }
    for (table, key) in def.referenced_by.iter().filter(|(_, f)| !f.state.disabled) {
        let other = snapshot.table(*table).ok_or_else(lost)?;
        let pairs = key.columns.iter().map(|(there, here)| (*here, *there));
        rules
            .referenced_by
            .push(rule(db, key, (def, other), pairs)?);
    }
    Ok(rules)
}

/// A key from the side of the first table.
fn rule(
    db: &OpenDb,
    key: &ForeignKeyDef,
    (here, there): (&TableDef, &TableDef),
    pairs: impl Iterator<Item = (i32, i32)>,
) -> SqlResult<KeyRule> {
    let at = |table: &TableDef, id: i32| {
        let found = table.columns.iter().position(|c| c.id == id);
        found.ok_or_else(lost)
    };
    let mut columns = Vec::new();
    for (a, b) in pairs {
        columns.push((at(here, a)?, at(there, b)?));
    }
    let parts = [&*db.db.name, &there.schema_name, &there.name];
    Ok(KeyRule {
        name: key.name.clone(),
        other: ObjectName {
            parts: parts.map(str::to_owned).to_vec(),
            line: 0,
        },
        same_table: here.id == there.id,
        columns,
        on_delete: KeyAction::from_number(key.on_delete),
        on_update: KeyAction::from_number(key.on_update),
    })
}

/// The catalog refers to what it does not have.
fn lost() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
}
