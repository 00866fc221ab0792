//! Many rows into a table at once, its indexes with it.
//!
//! Rows are gathered until there are enough of them: pages then fill whole, and the entries of each index, put in its order
//! first, find most of their neighbours beside them.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_storage::{Database, Load, LoadError, RowLocator, Rowset, RowsetDef, StorageError};
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::def::{IndexDef, TableDef};

/// Rows, and bytes of values beyond them, that are gathered before they are written.
const ROWS: usize = 8192;
const BYTES: usize = 4 << 20;

/// Rows on their way into a table.
pub struct TableLoad {
    table: Arc<TableDef>,
    data: Load,
    indexes: Vec<Load>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

/// A row that could not be written.
#[derive(Debug)]
pub struct RowError {
    pub row: Vec<Value>,
    pub error: StorageError,
}

impl TableLoad {
    /// `table_locked`: the statement has the whole table to itself.
    pub fn new(
        db: &Arc<Database>,
        table: &Arc<TableDef>,
        table_locked: bool,
    ) -> SqlResult<TableLoad> {
        let load = |def: &Arc<RowsetDef>| -> SqlResult<Load> {
            let rowset = db.rowset(def);
            Ok(rowset.load(rowset.logging(table_locked)?))
        };
        let indexes = table.maintained().map(|i| load(&i.rowset));
        Ok(TableLoad {
            data: load(&table.data)?,
            indexes: indexes.collect::<SqlResult<_>>()?,
            table: table.clone(),
            rows: Vec::new(),
            bytes: 0,
        })
    }

    /// Takes a row as it is stored, uniquifier included; writes what has been gathered when that is enough. An error may
    /// be an earlier row's.
    pub fn add(&mut self, tx: &Transaction, row: Vec<Value>) -> Result<(), Box<RowError>> {
        self.bytes += row.iter().map(Value::heap_bytes).sum::<usize>();
        self.rows.push(row);
        match self.rows.len() >= ROWS || self.bytes >= BYTES {
            true => self.write(tx),
            false => Ok(()),
        }
    }

    /// The last row has been given.
    pub fn finish(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        self.write(tx)?;
        for load in std::iter::once(&mut self.data).chain(&mut self.indexes) {
            load.finish(tx).map_err(|e| {
                let (row, error) = (Vec::new(), e.into());
                Box::new(RowError { row, error })
            })?;
        }
        Ok(())
    }

    fn write(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        let mut rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let result = self.write_rows(tx, &mut rows);
        match result {
            Ok(()) => {
                rows.clear();
                self.rows = rows;
                Ok(())
            }
            Err(e) => Err(Box::new(RowError {
                // There is none when what failed is the table as a whole.
                row: rows.get_mut(e.row).map(std::mem::take).unwrap_or_default(),
                error: e.error,
            })),
        }
    }

    fn write_rows(&mut self, tx: &Transaction, rows: &mut [Vec<Value>]) -> Result<(), LoadError> {
        let locate = !self.indexes.is_empty();
        let located = self.data.add(tx, rows, locate)?;
        for (index, load) in self.table.maintained().zip(&mut self.indexes) {
            insert_entries(tx, index, load, rows, &located)?;
        }
        Ok(())
    }
}

/// The entries of rows into one index, in its order.
fn insert_entries(
    tx: &Transaction,
    index: &IndexDef,
    load: &mut Load,
    rows: &[Vec<Value>],
    located: &[RowLocator],
) -> Result<(), LoadError> {
    let mut entries: Vec<(Vec<Value>, usize)> = rows
        .iter()
        .zip(located)
        .enumerate()
        .map(|(i, (row, at))| (index.entry(row, at), i))
        .collect();
    entries.sort_by(|(a, _), (b, _)| load.rowset().compare_rows(a, b));
    let (entries, from): (Vec<Vec<Value>>, Vec<usize>) = entries.into_iter().unzip();
    let inserted = load.add(tx, &entries, false);
    inserted.map(|_| ()).map_err(|e| LoadError {
        row: from[e.row],
        error: e.error,
    })
}

/// Entries of one index that is being built, gathered and put in order.
pub(crate) struct IndexLoad {
    load: Load,
    entries: Vec<Vec<Value>>,
    bytes: usize,
}

/// Bytes of entries that are put in order together. More come as several ordered runs.
const SORTED_BYTES: usize = 256 << 20;

impl IndexLoad {
    pub fn new(rowset: &Rowset) -> IndexLoad {
        IndexLoad {
            load: rowset.load(rowset.logging_of_build()),
            entries: Vec::new(),
            bytes: 0,
        }
    }

    pub fn add(&mut self, tx: &Transaction, entry: Vec<Value>) -> Result<(), Box<RowError>> {
        let own = size_of::<Vec<Value>>() + entry.len() * size_of::<Value>();
        self.bytes += own + entry.iter().map(Value::heap_bytes).sum::<usize>();
        self.entries.push(entry);
        match self.bytes >= SORTED_BYTES {
            true => self.write(tx),
            false => Ok(()),
        }
    }

    /// The last entry has been given.
    pub fn finish(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        self.write(tx)?;
        self.load.finish(tx).map_err(|e| {
            let (row, error) = (Vec::new(), e.into());
            Box::new(RowError { row, error })
        })
    }

    fn write(&mut self, tx: &Transaction) -> Result<(), Box<RowError>> {
        let mut entries = std::mem::take(&mut self.entries);
        self.bytes = 0;
        let rowset = self.load.rowset().clone();
        let ordered = |a: &Vec<Value>, b: &Vec<Value>| rowset.compare_rows(a, b);
        if !entries.is_sorted_by(|a, b| ordered(a, b) != Ordering::Greater) {
            entries.sort_by(ordered);
        }
        for chunk in entries.chunks_mut(ROWS) {
            let inserted = self.load.add(tx, chunk, false);
            inserted.map_err(|e| {
                Box::new(RowError {
                    row: std::mem::take(&mut chunk[e.row]),
                    error: e.error,
                })
            })?;
        }
        Ok(())
    }
}

impl From<Box<RowError>> for duramen_base::SqlError {
    fn from(e: Box<RowError>) -> duramen_base::SqlError {
        e.error.into()
    }
}
