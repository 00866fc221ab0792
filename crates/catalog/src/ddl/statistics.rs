//! Statistics that users make: a name and columns. What they say of the values is not kept here.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::Transaction;

use crate::catalog::CatalogDb;
use crate::def::{StatisticsDef, TableDef};
use crate::describe;

impl CatalogDb {
    /// Adds statistics of these columns, by their ids. The caller has checked the columns; 1927 when an index or
    /// statistics of the table have the name.
    pub fn create_statistics(
        &self,
        tx: &Transaction,
        table: &TableDef,
        name: &str,
        columns: Vec<i32>,
        no_recompute: bool,
    ) -> SqlResult<Arc<TableDef>> {
        if table.index(name).is_some() || table.statistics(name).is_some() {
            let args: [&dyn std::fmt::Display; 2] = [&table.name, &name];
            return Err(SqlError::new(&messages::STATISTICS_ALREADY_EXIST, &args));
        }
        let made = StatisticsDef {
            id: table.next_index_id(),
            name: name.to_owned(),
            columns,
            no_recompute,
        };
        describe::statistics_rows(&self.base(tx), table, &made)?;
        let mut next = table.clone();
        next.statistics.push(made);
        self.publish(tx, next)
    }

    /// Drops statistics that are no index's; 3701 when there are none of that name.
    pub fn drop_statistics(
        &self,
        tx: &Transaction,
        table: &TableDef,
        name: &str,
    ) -> SqlResult<Arc<TableDef>> {
        let Some(found) = table.statistics(name) else {
            let args: [&dyn std::fmt::Display; 3] = [&"drop", &"statistics", &name];
            return Err(SqlError::new(&messages::CANNOT_DROP, &args));
        };
        self.delete_index_rows(&self.base(tx), table, found.id)?;
        let mut next = table.clone();
        next.statistics.retain(|s| s.id != found.id);
        self.publish(tx, next)
    }
}
