//! Rows on their way into a table: where their values come from, whether they fit, and in which order they are written.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::{Host, Table};
use duramen_query::{Cx, Expr, Row};
use duramen_types::{Target, Value};

use super::columns::{ColumnValue, assignable};
use super::guard::Guard;
use crate::bind::Binder;

/// A new row made of the values given, ready to be inserted.
pub(super) fn new_row(
    table: &Arc<dyn Table>,
    mut given: Row,
    columns: &[ColumnValue],
    guard: &Guard,
    cx: &mut Cx<'_>,
) -> SqlResult<Row> {
    let mut row = Vec::with_capacity(columns.len());
    for source in columns {
        row.push(match source {
            ColumnValue::Given(i) | ColumnValue::GivenIdentity(i) => std::mem::take(&mut given[*i]),
            ColumnValue::Identity => table.next_identity(cx)?,
            ColumnValue::Expression(e) => e.eval(&[], cx)?,
            ColumnValue::Generated => Value::Null,
        });
    }
    store(table, &mut row, "INSERT", cx)?;
    guard.check(&**table, &row, "INSERT", cx)?;
    for (value, source) in row.iter().zip(columns) {
        match source {
            ColumnValue::Identity => cx.identity = value.as_whole(),
            ColumnValue::GivenIdentity(_) => {
                cx.identity = value.as_whole();
                table.note_identity(value, cx)?;
            }
            _ => {}
        }
    }
    Ok(row)
}

/// Inserts a row into a table without constraints but its keys.
pub(crate) fn insert_row(
    table: &Arc<dyn Table>,
    given: Row,
    columns: &[ColumnValue],
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let row = new_row(table, given, columns, &Guard::default(), cx)?;
    match table.insert(row, cx) {
        Err(e) if e.number == messages::DUPLICATE_KEY_IGNORED.number => {
            cx.duplicate_ignored = true;
            Ok(())
        }
        other => other,
    }
}

/// Checks that the values fit their columns (NULL, length), and has the table make the values that it makes itself.
pub(super) fn store(
    table: &Arc<dyn Table>,
    row: &mut Row,
    statement: &str,
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let columns = table.columns();
    let fit = |value: &mut Value, column: &duramen_query::host::TableColumn, cx: &Cx<'_>| {
        if value.is_null() {
            if !column.nullable {
                let args: [&dyn std::fmt::Display; 3] =
                    [&column.name, &table.full_name(), &statement];
                return Err(SqlError::new(&messages::NULL_NOT_ALLOWED, &args).with_state(2));
            }
            return Ok(());
        }
        if !(column.ty.id.is_string() || column.ty.id.is_binary()) {
            return Ok(());
        }
        let target = Target::Column {
            table: table.full_name(),
            column: &column.name,
        };
        let given = std::mem::take(value);
        let from = assignable(column.ty);
        *value = duramen_types::assign(given, &from, &column.ty, target, &cx.convert)?;
        Ok(())
    };
    if !table.generates() {
        for (value, column) in row.iter_mut().zip(columns) {
            fit(value, column, cx)?;
        }
        return Ok(());
    }
    // What the table makes is made from values that fit, and has to fit itself.
    for computed in [false, true] {
        if computed {
            table.generate(row, cx)?;
        }
        for (value, column) in row.iter_mut().zip(columns) {
            if column.is_generated() == computed {
                fit(value, column, cx)?;
            }
        }
    }
    Ok(())
}

/// What a column gets that no value is given for.
pub(super) fn default_value(
    host: &dyn Host,
    binder: &Binder<'_>,
    table: &Arc<dyn Table>,
    column: usize,
) -> SqlResult<Expr> {
    let c = &table.columns()[column];
    match &c.default {
        Some(text) => binder.coerce(host.bind_default(text)?, assignable(c.ty)),
        None => Ok(Expr::constant(Value::Null, c.ty)),
    }
}

/// Whether a column that gets new values is part of a unique key.
pub(super) fn moves_keys(table: &dyn Table, assigned: &[usize]) -> bool {
    let mut unique = table.paths().iter().filter(|p| p.unique);
    unique.any(|p| p.keys.iter().any(|(key, _)| assigned.contains(key)))
}
