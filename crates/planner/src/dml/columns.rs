//! The columns of an INSERT: which are named, what each gets, and which may be given values at all.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::Expr;
use duramen_query::host::{Host, Table};
use duramen_query::rules::Generated;
use duramen_types::{MAX_LENGTH, SqlType, TypeId};

use super::row::default_value;
use crate::bind::{Binder, same_name};

/// Where a column of the new row comes from.
#[derive(Debug)]
pub(crate) enum ColumnValue {
    Given(usize),
    /// A value given for the identity column, under SET IDENTITY_INSERT ON.
    GivenIdentity(usize),
    Identity,
    Expression(Expr),
    /// The table makes it.
    Generated,
}

/// Where each column of a new row comes from when `named` columns are given (`given` false: none is).
pub(crate) fn column_values(
    host: &dyn Host,
    binder: &Binder<'_>,
    table: &Arc<dyn Table>,
    named: &[usize],
    given: bool,
) -> SqlResult<Vec<ColumnValue>> {
    let mut values = Vec::new();
    for (i, column) in table.columns().iter().enumerate() {
        let at = named.iter().position(|n| *n == i).filter(|_| given);
        let explicit = column.identity && host.identity_insert(&**table);
        let refused = |message| Err(SqlError::new(message, &[&table.name()]));
        if column.is_generated() {
            values.push(ColumnValue::Generated);
            continue;
        }
        values.push(match at {
            Some(_) if column.identity && !explicit => {
                return refused(&messages::IDENTITY_INSERT_OFF);
            }
            Some(at) if column.identity => ColumnValue::GivenIdentity(at),
            None if explicit => return refused(&messages::IDENTITY_VALUE_REQUIRED),
            Some(at) => ColumnValue::Given(at),
            None if column.identity => ColumnValue::Identity,
            None => ColumnValue::Expression(default_value(host, binder, table, i)?),
        });
    }
    Ok(values)
}

/// 271 and 273: values are given for a column that the table makes itself. `default` says which of the named columns
/// are given nothing but DEFAULT.
pub(crate) fn refuse_generated(
    table: &Arc<dyn Table>,
    named: &[usize],
    default: impl Fn(usize) -> bool,
) -> SqlResult<()> {
    for (i, column) in named.iter().enumerate() {
        let column = &table.columns()[*column];
        match column.generated {
            Generated::Computed => {
                let message = &messages::COLUMN_NOT_MODIFIABLE;
                return Err(SqlError::new(message, &[&column.name]));
            }
            Generated::RowVersion if !default(i) => {
                return Err(SqlError::new(&messages::TIMESTAMP_INSERT, &[]));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn named_columns(table: &Arc<dyn Table>, names: &[String]) -> SqlResult<Vec<usize>> {
    let columns = table.columns();
    if names.is_empty() {
        return Ok((0..columns.len())
            .filter(|i| !columns[*i].identity && columns[*i].generated != Generated::Computed)
            .collect());
    }
    let mut out = Vec::with_capacity(names.len());
    for n in names {
        let at = columns.iter().position(|c| same_name(&c.name, n));
        let at = at.ok_or_else(|| SqlError::new(&messages::INVALID_COLUMN_NAME, &[n]))?;
        if out.contains(&at) {
            return Err(SqlError::new(&messages::COLUMN_ASSIGNED_TWICE, &[n]));
        }
        out.push(at);
    }
    Ok(out)
}

pub(super) fn check_width(
    implicit: bool,
    wanted: usize,
    got: usize,
    values: bool,
) -> SqlResult<()> {
    if wanted == got {
        return Ok(());
    }
    let message = match (implicit, values, got < wanted) {
        (true, ..) => &messages::INSERT_COLUMN_MISMATCH,
        (_, true, true) => &messages::INSERT_MORE_COLUMNS_THAN_VALUES,
        (_, true, false) => &messages::INSERT_FEWER_COLUMNS_THAN_VALUES,
        (_, false, true) => &messages::INSERT_SELECT_FEWER,
        (_, false, false) => &messages::INSERT_SELECT_MORE,
    };
    Err(SqlError::new(message, &[]))
}

/// Strings are converted without a length, so that truncation is found when the row is stored (2628).
pub(crate) fn assignable(ty: SqlType) -> SqlType {
    let id = match ty.id {
        TypeId::Char | TypeId::VarChar => TypeId::VarChar,
        TypeId::NChar | TypeId::NVarChar => TypeId::NVarChar,
        TypeId::Binary | TypeId::VarBinary => TypeId::VarBinary,
        _ => return ty,
    };
    SqlType {
        id,
        length: MAX_LENGTH,
        ..ty
    }
}
