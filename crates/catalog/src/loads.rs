//! Many rows into a table at once, its indexes with it.
//!
//! Rows are gathered by column until there are enough of them, so that pages fill whole. What each nonclustered index has
//! to get is kept until the statement's last row has come, or until memory is wanted back ([`TableLoad::settle`]): put in
//! the index's order then, most entries find their neighbours beside them, and each leaf is visited once.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_storage::{
    Database, Fill, Load, LoadError, RowLocator, Rowset, RowsetDef, Sorter, StorageError, Unsorted,
    write_sorted,
};
use duramen_txn::Transaction;
use duramen_types::Value;
use duramen_types::batch::Column;

use crate::def::{IndexDef, TableDef};
use crate::shape::IndexSource;

/// Rows, and bytes, that are gathered before they are written: what a core's cache holds twice.
const ROWS: usize = 8192;
const BYTES: usize = 1 << 20;

/// Rows on their way into a table.
pub struct TableLoad {
    table: Arc<TableDef>,
    data: Load,
    indexes: Vec<Entries>,
    /// One for each column of the rows as stored, the uniquifier's included.
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
    parallel: bool,
}

/// What one index has to get.
struct Entries {
    load: Load,
    columns: Vec<Column>,
    rows: usize,
}

/// A row that could not be written.
#[derive(Debug)]
pub struct RowError {
    /// As stored. Of a row that an index refused only what the index holds is there; of an error that is the table's as a
    /// whole, nothing.
    pub row: Vec<Value>,
    pub error: StorageError,
}

impl RowError {
    fn of_table(error: impl Into<StorageError>) -> Box<RowError> {
        Box::new(RowError {
            row: Vec::new(),
            error: error.into(),
        })
    }
}

/// Empty columns for rows of a rowset.
fn empty(def: &RowsetDef) -> Vec<Column> {
    let columns = def.layout.columns.iter();
    columns.map(|c| Column::of(&c.ty)).collect()
}

impl TableLoad {
    /// `table_locked`: the statement has the whole table to itself. `parallel`: it may use a second thread.
    pub fn new(
        db: &Arc<Database>,
        table: &Arc<TableDef>,
        table_locked: bool,
        parallel: bool,
    ) -> SqlResult<TableLoad> {
        db.make_log_room();
        let load = |def: &Arc<RowsetDef>| -> SqlResult<Load> {
            let rowset = db.rowset(def);
            Ok(rowset.load(rowset.logging(table_locked)?))
        };
        let entries = |i: &IndexDef| -> SqlResult<Entries> {
            Ok(Entries {
                load: load(&i.rowset)?,
                columns: empty(&i.rowset),
                rows: 0,
            })
        };
        Ok(TableLoad {
            data: load(&table.data)?,
            indexes: table.maintained().map(entries).collect::<SqlResult<_>>()?,
            columns: empty(&table.data),
            table: table.clone(),
            rows: 0,
            bytes: 0,
            parallel,
        })
    }

    /// Takes a row as it is stored, room for the uniquifier included; writes what has been gathered when that is enough.
    /// An error may be an earlier row's.
    pub fn add(&mut self, tx: &Transaction, row: Vec<Value>) -> Result<(), Box<RowError>> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.bytes += value.heap_bytes();
            column.push(value);
        }
        self.rows += 1;
        self.write_enough(tx)
    }

    /// Takes `rows` rows by column: one for each column of the table, as stored.
    pub fn add_columns(
        &mut self,
        tx: &Transaction,
        columns: &[Arc<Column>],
        rows: usize,
    ) -> Result<(), Box<RowError>> {
        let bytes: usize = columns.iter().map(|c| c.heap_bytes()).sum();
        let enough = rows >= ROWS / 2 || bytes >= BYTES / 2;
        if self.rows == 0 && enough && columns.len() == self.columns.len() {
            return self.write(tx, columns, rows);
        }
        let mut columns = columns.iter();
        for own in &mut self.columns {
            match columns.next() {
                Some(new) if !new.is_absent() => own.append(new),
                _ => (0..rows).for_each(|_| own.push_null()),
            }
        }
        self.bytes += bytes;
        self.rows += rows;
        self.write_enough(tx)
    }

    /// Bytes that are kept for the indexes.
    pub fn held(&self) -> usize {
        let columns = self.indexes.iter().flat_map(|i| &i.columns);
        columns.map(Column::heap_bytes).sum()
    }

    /// Writes everything that has been gathered. A second thread puts entries in order while others are written, where
    /// there are many, and that is allowed.
    pub fn settle(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        self.write_gathered(tx)?;
        let unsorted: Vec<Unsorted> = self.indexes.iter_mut().map(Entries::take).collect();
        let (table, indexes) = (&self.table, &mut self.indexes);
        write_sorted(
            unsorted,
            if self.parallel { 2 } else { 1 },
            |number, columns, rows| {
                let Some(index) = table.maintained().nth(number) else {
                    return Ok(());
                };
                let load = &mut indexes[number].load;
                let written = load.add_columns(tx, columns, rows, false);
                written
                    .map(drop)
                    .map_err(|e| refused(table, index, columns, e))
            },
        )
    }

    /// The last row has been given.
    pub fn finish(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        self.settle(tx)?;
        let loads = self.indexes.iter_mut().map(|i| &mut i.load);
        for load in std::iter::once(&mut self.data).chain(loads) {
            load.finish(tx).map_err(RowError::of_table)?;
        }
        Ok(())
    }

    fn write_enough(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        match self.rows >= ROWS || self.bytes >= BYTES {
            true => self.write_gathered(tx),
            false => Ok(()),
        }
    }

    fn write_gathered(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = std::mem::replace(&mut self.columns, empty(&self.table.data));
        let columns: Vec<Arc<Column>> = columns.into_iter().map(Arc::new).collect();
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.write(tx, &columns, rows)
    }

    fn write(
        &mut self,
        tx: &Transaction,
        columns: &[Arc<Column>],
        rows: usize,
    ) -> Result<(), Box<RowError>> {
        let indexed = !self.indexes.is_empty();
        let named = self.table.is_heap() || self.table.data.has_uniquifier();
        let located = self.data.add_columns(tx, columns, rows, indexed && named);
        let located = located.map_err(|e| {
            let row = columns.iter().map(|c| c.get(e.row)).collect();
            Box::new(RowError {
                row,
                error: e.error,
            })
        })?;
        for (index, entries) in self.table.maintained().zip(&mut self.indexes) {
            entries.gather(index, columns, rows, &located);
        }
        Ok(())
    }
}

impl Entries {
    /// Keeps the entries of rows that are written.
    fn gather(
        &mut self,
        index: &IndexDef,
        columns: &[Arc<Column>],
        rows: usize,
        located: &[RowLocator],
    ) {
        for (own, source) in self.columns.iter_mut().zip(&index.sources) {
            match source {
                IndexSource::Column(i) => match columns.get(*i) {
                    Some(c) if !c.is_absent() => own.append(c),
                    _ => (0..rows).for_each(|_| own.push_null()),
                },
                IndexSource::Rid => located.iter().for_each(|at| match at {
                    RowLocator::Rid(page, slot) => {
                        own.push(Value::Binary(RowLocator::rid_bytes(*page, *slot).to_vec()));
                    }
                    RowLocator::Key(_) => own.push_null(),
                }),
                IndexSource::Uniquifier => located.iter().for_each(|at| match at {
                    RowLocator::Key(key) => own.push(key.last().cloned().unwrap_or_default()),
                    RowLocator::Rid(..) => own.push_null(),
                }),
            }
        }
        self.rows += rows;
    }

    /// The entries that are kept, which go.
    fn take(&mut self) -> Unsorted {
        let rowset = self.load.rowset().clone();
        let columns = std::mem::replace(&mut self.columns, empty(rowset.def()));
        Unsorted {
            rowset,
            columns: columns.into_iter().map(Arc::new).collect(),
            rows: std::mem::take(&mut self.rows),
        }
    }
}

/// An entry that its index does not take: the row, as far as the index has it.
fn refused(
    table: &TableDef,
    index: &IndexDef,
    entries: &[Arc<Column>],
    e: LoadError,
) -> Box<RowError> {
    let mut row = vec![Value::Null; table.data.layout.columns.len()];
    for (column, source) in entries.iter().zip(&index.sources) {
        if let IndexSource::Column(i) = source
            && let Some(value) = row.get_mut(*i)
        {
            *value = column.get(e.row);
        }
    }
    Box::new(RowError {
        row,
        error: e.error,
    })
}

/// Entries of one rowset that is being built, which come one by one.
///
/// As long as they come in its order they are written as they come; from the first that does not, they are sorted as a whole.
pub(crate) struct IndexLoad {
    load: Load,
    /// Entries that come in order, and the last of those before.
    entries: Vec<Vec<Value>>,
    bytes: usize,
    last: Option<Vec<Value>>,
    rest: Option<Sorter>,
}

impl IndexLoad {
    pub fn new(rowset: &Rowset) -> IndexLoad {
        IndexLoad {
            load: rowset.load(rowset.logging_of_build()),
            entries: Vec::new(),
            bytes: 0,
            last: None,
            rest: None,
        }
    }

    /// How far pages are filled.
    pub fn fill_to(mut self, fill: Fill) -> IndexLoad {
        self.load = self.load.fill_to(fill);
        self
    }

    pub fn add(&mut self, tx: &Transaction, entry: Vec<Value>) -> Result<(), Box<RowError>> {
        if let Some(rest) = &mut self.rest {
            return Ok(rest.add(tx, entry)?);
        }
        self.bytes += entry.iter().map(Value::heap_bytes).sum::<usize>();
        self.entries.push(entry);
        match self.entries.len() >= ROWS || self.bytes >= BYTES {
            true => self.write_or_sort(tx),
            false => Ok(()),
        }
    }

    /// The last entry has been given.
    pub fn finish(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        self.write_or_sort(tx)?;
        if let Some(rest) = self.rest.take() {
            let load = &mut self.load;
            rest.finish(tx, |columns, rows| {
                let written = load.add_columns(tx, columns, rows, false);
                written.map(drop).map_err(|e| {
                    Box::new(RowError {
                        row: columns.iter().map(|c| c.get(e.row)).collect(),
                        error: e.error,
                    })
                })
            })?;
        }
        self.load.finish(tx).map_err(RowError::of_table)
    }

    /// What has been gathered goes to its pages if it is in order, and else to the rest.
    fn write_or_sort(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        let mut entries = std::mem::take(&mut self.entries);
        self.bytes = 0;
        let rowset = self.load.rowset().clone();
        let ordered = |a: &Vec<Value>, b: &Vec<Value>| rowset.compare_rows(a, b).is_le();
        let behind = |first: &Vec<Value>| self.last.as_ref().is_none_or(|l| ordered(l, first));
        if !entries.is_sorted_by(ordered) || !entries.first().is_none_or(behind) {
            let rest = self.rest.insert(Sorter::new(&rowset));
            for entry in entries {
                rest.add(tx, entry)?;
            }
            return Ok(());
        }
        let inserted = self.load.add(tx, &entries, false);
        inserted.map_err(|e| {
            Box::new(RowError {
                row: std::mem::take(&mut entries[e.row]),
                error: e.error,
            })
        })?;
        self.last = entries.pop();
        Ok(())
    }
}

impl From<SqlError> for Box<RowError> {
    fn from(e: SqlError) -> Box<RowError> {
        RowError::of_table(e)
    }
}

impl From<Box<RowError>> for SqlError {
    fn from(e: Box<RowError>) -> SqlError {
        e.error.into()
    }
}
