//! A stored table that takes many rows at once.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::TableDef;
use duramen_catalog::loads::{RowError, TableLoad};
use duramen_query::host::Load;
use duramen_query::{Cx, LockGrain, Row, ScanLock};
use duramen_txn::Transaction;
use duramen_types::batch::Column;

use super::{StoredTable, transaction};

/// Partitions, at most, that a statement gathers rows for: each keeps some of them.
const MOST: usize = 64;

struct StoredLoad<'t> {
    table: &'t StoredTable,
    tx: Arc<Transaction>,
    /// Of the table, or of each of its partitions.
    loads: Vec<TableLoad>,
}

impl StoredTable {
    /// Who takes the rows of a statement that inserts many. Where an index leaves duplicates out, each row is asked for;
    /// where indexes have other partitions than the table, each row is sent to its own.
    pub(super) fn loader(
        &self,
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Box<dyn Load + '_>>> {
        self.check_writable()?;
        let parts = self.def.data_rowsets().len();
        if self.shape.ignores
            || !self.shape.long_keys.is_empty()
            || !self.def.is_aligned()
            || parts > MOST
        {
            return Ok(None);
        }
        let locked = lock.grain == LockGrain::Table;
        let load = |def: &Arc<TableDef>| TableLoad::new(&self.db.db, def, locked, cx.parallel);
        let loads = match self.def.partitioned {
            None => vec![load(&self.def)?],
            Some(_) => {
                let slices = (0..parts).filter_map(|n| self.def.slice(n));
                slices
                    .map(|s| load(&Arc::new(s)))
                    .collect::<SqlResult<_>>()?
            }
        };
        Ok(Some(Box::new(StoredLoad {
            table: self,
            tx: transaction(cx)?.clone(),
            loads,
        })))
    }
}

impl StoredLoad<'_> {
    fn named(&self, e: RowError) -> SqlError {
        self.table.named(e.error, &e.row)
    }

    fn each(
        &mut self,
        work: impl Fn(&mut TableLoad, &Transaction) -> Result<(), Box<RowError>>,
    ) -> SqlResult<()> {
        let tx = self.tx.clone();
        let done = self.loads.iter_mut().try_for_each(|l| work(l, &tx));
        done.map_err(|e| self.named(*e))
    }
}

impl Load for StoredLoad<'_> {
    fn put(&mut self, row: Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let row = self.table.stored(row);
        let partitioned = self.table.def.partitioned.as_ref();
        let number = partitioned.map_or(0, |p| p.number_of(&row));
        let Some(load) = self.loads.get_mut(number) else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let added = load.add(&self.tx, row);
        added.map_err(|e| self.named(*e))?;
        self.table.changes().rows(1);
        Ok(())
    }

    fn put_columns(
        &mut self,
        columns: &[Arc<Column>],
        rows: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let [load] = &mut self.loads[..] else {
            for i in 0..rows {
                self.put(columns.iter().map(|c| c.get(i)).collect(), cx)?;
            }
            return Ok(());
        };
        let added = load.add_columns(&self.tx, columns, rows);
        added.map_err(|e| self.named(*e))?;
        self.table.changes().rows(rows);
        Ok(())
    }

    fn held(&self) -> usize {
        self.loads.iter().map(TableLoad::held).sum()
    }

    fn settle(&mut self, _cx: &mut Cx<'_>) -> SqlResult<()> {
        self.each(TableLoad::settle)
    }

    fn finish(&mut self, _cx: &mut Cx<'_>) -> SqlResult<()> {
        self.each(TableLoad::finish)
    }
}
