//! IDENTITY of a column, and what it cannot have beside a default.

use std::fmt::Display;

use duramen_base::messages::{self, Message};
use duramen_base::{SqlError, SqlResult};
use duramen_catalog::Identity;
use duramen_program::table_variable::may_count;
use duramen_tsql::ast;
use duramen_types::{SqlType, TypeId, Value};

use super::refuse;

/// IDENTITY of a column of that type: 2749, 8147, 2752 and 2753; 1754 and 1755 for a default where none can be.
pub(super) fn of(c: &ast::ColumnDef, ty: &SqlType, table: &str) -> SqlResult<Option<Identity>> {
    let wrong = |message: &'static Message, args: &[&dyn Display]| {
        Err(SqlError::new(message, args).at_line(c.line as i32))
    };
    let Some(spec) = &c.identity else {
        return match ty.id == TypeId::RowVersion && c.default.is_some() {
            true => wrong(&messages::DEFAULT_ON_TIMESTAMP, &[&table, &c.name]),
            false => Ok(None),
        };
    };
    if !may_count(ty) {
        return wrong(&messages::IDENTITY_COLUMN_TYPE, &[&c.name]);
    }
    if c.nullable == Some(true) {
        return wrong(&messages::IDENTITY_NULLABLE, &[&c.name, &table]);
    }
    if c.default.is_some() {
        return wrong(&messages::DEFAULT_ON_IDENTITY, &[&table, &c.name]);
    }
    let beyond = |_| refuse("IDENTITY beyond bigint", c.line);
    let seed: i64 = spec.seed.parse().map_err(beyond)?;
    let increment: i64 = spec.increment.parse().map_err(beyond)?;
    if Value::whole(seed, ty).is_none() {
        return wrong(&messages::IDENTITY_SEED_INVALID, &[&c.name]);
    }
    if increment == 0 {
        return wrong(&messages::IDENTITY_INCREMENT_INVALID, &[&c.name]);
    }
    Ok(Some(Identity { seed, increment }))
}
