//! How long the keys of an index may be: 900 bytes in a clustered one, 1700 in others.
//!
//! An index whose columns may be longer is made, with a warning (1945); the row that is longer is refused (1946). Only such
//! indexes are looked at when rows are written.
//! <https://learn.microsoft.com/sql/relational-databases/indexes/create-indexes-with-included-columns>

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::TableDef;
use duramen_storage::KeyColumn;
use duramen_types::{SqlType, Value};

const CLUSTERED: usize = 900;
const OTHER: usize = 1700;

/// The keys of an index that may be too long.
pub struct LongKey {
    name: String,
    clustered: bool,
    limit: usize,
    /// The longest that there can be.
    most: usize,
    columns: Vec<(usize, SqlType)>,
}

/// The bytes of a column at most.
fn longest(ty: &SqlType) -> usize {
    match ty.is_variable() {
        true => usize::try_from(ty.catalog_length()).unwrap_or(usize::MAX),
        false => ty.fixed_bytes(),
    }
}

fn bytes(v: &Value, ty: &SqlType) -> usize {
    match v {
        _ if !ty.is_variable() => ty.fixed_bytes(),
        Value::VarChar(b) => b.len(),
        Value::NVarChar(u) => u.len() * 2,
        Value::Binary(b) => b.len(),
        other => other.heap_bytes(),
    }
}

impl LongKey {
    /// `None` for keys that are never too long.
    pub fn of(
        table: &TableDef,
        (name, clustered): (&str, bool),
        keys: &[KeyColumn],
    ) -> Option<LongKey> {
        let columns = keys.iter().map(|k| (k.column, table.columns[k.column].ty));
        let columns: Vec<(usize, SqlType)> = columns.collect();
        let each = columns.iter().map(|(_, ty)| longest(ty));
        let most = each.fold(0, usize::saturating_add);
        let limit = if clustered { CLUSTERED } else { OTHER };
        (most > limit).then(|| LongKey {
            name: name.to_owned(),
            clustered,
            limit,
            most,
            columns,
        })
    }

    /// Those of a table's indexes.
    pub fn all(table: &TableDef) -> Vec<LongKey> {
        let enabled = table.indexes.iter().filter(|i| !i.options.disabled);
        let long = enabled.filter_map(|i| LongKey::of(table, (&i.name, i.clustered), &i.keys));
        long.collect()
    }

    fn kind(&self) -> &'static str {
        match self.clustered {
            true => "clustered",
            false => "nonclustered",
        }
    }

    /// 1944: what is of fixed length alone is too long.
    pub fn always(&self) -> Option<SqlError> {
        let fixed = self.columns.iter().filter(|(_, ty)| !ty.is_variable());
        let least: usize = fixed.map(|(_, ty)| longest(ty)).sum();
        let args: [&dyn Display; 3] = [&self.name, &least, &self.limit];
        let error = || SqlError::new(&messages::INDEX_KEY_TOO_LONG_ALWAYS, &args);
        (least > self.limit).then(error)
    }

    /// 1945
    pub fn warning(&self) -> SqlError {
        let args: [&dyn Display; 4] = [&self.kind(), &self.limit, &self.name, &self.most];
        SqlError::new(&messages::INDEX_KEY_LENGTH_WARNING, &args)
    }

    /// 1946
    pub fn check(&self, row: &[Value]) -> SqlResult<()> {
        let each = self.columns.iter();
        let all: usize = each.map(|(at, ty)| bytes(&row[*at], ty)).sum();
        if all <= self.limit {
            return Ok(());
        }
        let args: [&dyn Display; 4] = [&all, &self.name, &self.limit, &self.kind()];
        Err(SqlError::new(&messages::INDEX_KEY_TOO_LONG, &args).with_state(3))
    }
}
