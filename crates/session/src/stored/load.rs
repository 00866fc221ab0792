//! A stored table that takes many rows at once.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_catalog::loads::{RowError, TableLoad};
use duramen_query::host::Load;
use duramen_query::{Cx, LockGrain, Row, ScanLock};
use duramen_txn::Transaction;
use duramen_types::batch::Column;

use super::{StoredTable, transaction};

struct StoredLoad<'t> {
    table: &'t StoredTable,
    tx: Arc<Transaction>,
    load: TableLoad,
}

impl StoredTable {
    /// Who takes the rows of a statement that inserts many. Where an index leaves duplicates out, each row is asked for.
    pub(super) fn loader(
        &self,
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Box<dyn Load + '_>>> {
        self.check_writable()?;
        if self.shape.ignores {
            return Ok(None);
        }
        let locked = lock.grain == LockGrain::Table;
        Ok(Some(Box::new(StoredLoad {
            table: self,
            tx: transaction(cx)?,
            load: TableLoad::new(&self.db.db, &self.def, locked, cx.parallel)?,
        })))
    }
}

impl StoredLoad<'_> {
    fn named(&self, e: RowError) -> SqlError {
        self.table.named(e.error, &e.row)
    }
}

impl Load for StoredLoad<'_> {
    fn put(&mut self, row: Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let row = self.table.stored(row);
        let added = self.load.add(&self.tx, row);
        added.map_err(|e| self.named(*e))
    }

    fn put_columns(
        &mut self,
        columns: &[Arc<Column>],
        rows: usize,
        _cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let added = self.load.add_columns(&self.tx, columns, rows);
        added.map_err(|e| self.named(*e))
    }

    fn held(&self) -> usize {
        self.load.held()
    }

    fn settle(&mut self, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let written = self.load.settle(&self.tx);
        written.map_err(|e| self.named(*e))
    }

    fn finish(&mut self, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let written = self.load.finish(&self.tx);
        written.map_err(|e| self.named(*e))
    }
}
