//! Loads: many rows at once, laid out page by page.
//!
//! INSERT ... SELECT, SELECT INTO, bulk loads and the building of an index give their rows here, a batch after the other.
//! Rows that go behind everything in a B-tree, or on new pages of a heap, are packed into whole pages; all others are put
//! beside their neighbours, as many as one latch of a leaf allows. What no such way fits (a key that is there already, a
//! lock that somebody holds, a leaf that has to be split) goes the way of a single row, one row at a time.
//!
//! What is logged (`docs/decisions/0008-bulk-pages.md`):
//!
//! | [`Logging`] | rows on pages that were there | rows on new pages |
//! |---|---|---|
//! | `Rows` | a LOP_INSERT_ROWS each | the same |
//! | `Pages` | a LOP_INSERT_ROWS for neighbours | a LOP_FORMAT_PAGE with the page's contents |
//! | `Minimal` | as `Pages` | nothing but that the pages are new (`unlogged`) |
//!
//! Invariants
//! 1. New pages come into the tree or heap empty, in a system transaction that stands for itself. Their rows are the
//!    user's: the record that brings them is undone by taking them out (`undo::brought`), and empty pages stay.
//!    [test: loads_in_any_order_give_the_table_that_single_rows_give]
//! 2. From the first of these records to the last the tree latch is held exclusively: nobody finds the empty pages.
//!    [assert: load/2]
//! 3. Every row has its X lock, or the table's, and where versions are kept its version, before its page is changed: for
//!    other sessions the rows of a load are as locked and as invisible as any. [assert: load/3]

mod batch;
mod build;
mod extent;
mod external;
mod heap;
mod helpers;
mod order;
mod parts;
mod sorted;
mod tree;
mod unlogged;
mod words;

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_base::planted::{self, Bug};
use duramen_format::page::BODY_BYTES;
use duramen_txn::{LockMode, Resource, Transaction};
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};
use duramen_wal::LogProfile;

use crate::def::RowLocator;
use crate::error::StorageError;
use crate::rowset::Rowset;
use batch::Batch;
pub use build::{Build, BuildError};
pub use external::Sorter;
pub use sorted::{Unsorted, write_sorted};
use unlogged::Unlogged;

/// What the rows of a load leave in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logging {
    /// A record for each row.
    Rows,
    /// The contents of new pages, as a whole.
    Pages,
    /// That there are new pages, and nothing of what is on them. The table is locked as a whole.
    Minimal,
}

/// A row that could not be put in.
#[derive(Debug)]
pub struct LoadError {
    /// Its place among the rows that were given.
    pub row: usize,
    pub error: StorageError,
}

/// Pages that one system transaction adds: an extent.
const PAGES_AT_ONCE: usize = 8;
/// Pages that one adds for rows without records.
const MOST_AT_ONCE: usize = 32;

/// Rows on their way into one heap or B-tree.
pub struct Load {
    pub(crate) rowset: Rowset,
    logging: Logging,
    unlogged: Unlogged,
    /// The last rows went beside others, within the tree.
    inside: bool,
    /// Rows come with their uniquifiers: nothing else is in the tree.
    numbered: bool,
    /// Bytes of each leaf that rows leave free.
    spare: usize,
}

/// How far pages of a B-tree are filled when it is made.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fill {
    /// FILLFACTOR: percent of a leaf, but for a row that is larger; 0 is 100.
    pub percent: u8,
    /// PAD_INDEX: the same of the pages above, but for their first two entries.
    pub padded: bool,
}

impl Fill {
    /// Bytes of a page that stay free.
    fn spare(self) -> usize {
        match self.percent {
            percent @ 1..100 => BODY_BYTES * (100 - usize::from(percent)) / 100,
            _ => 0,
        }
    }
}

impl Load {
    /// How far the pages of a B-tree are filled.
    pub fn fill_to(mut self, fill: Fill) -> Load {
        if !self.rowset.def.is_heap() {
            self.spare = fill.spare();
            self.rowset.node_spare = match fill.padded {
                true => self.spare,
                false => 0,
            };
        }
        self
    }

    /// Inserts rows, which come in any order; for a B-tree, ascending keys are best. Gives their locators when `locate`.
    pub fn add(
        &mut self,
        tx: &Transaction,
        rows: &[Vec<Value>],
        locate: bool,
    ) -> Result<Vec<RowLocator>, LoadError> {
        let layout = &self.rowset.def.layout;
        let mut columns: Vec<Column> = layout.columns.iter().map(|c| Column::of(&c.ty)).collect();
        for row in rows {
            for (i, column) in columns.iter_mut().enumerate() {
                column.push(row.get(i).cloned().unwrap_or_default());
            }
        }
        let columns: Vec<Arc<Column>> = columns.into_iter().map(Arc::new).collect();
        self.add_columns(tx, &columns, rows.len(), locate)
    }

    /// `add` for rows that are kept by column: one for each of the layout's, the uniquifier's included, whatever it holds.
    pub fn add_columns(
        &mut self,
        tx: &Transaction,
        columns: &[Arc<Column>],
        rows: usize,
        locate: bool,
    ) -> Result<Vec<RowLocator>, LoadError> {
        let rowset = self.rowset.clone();
        let fail = |row: usize| move |error| LoadError { row, error };
        let failed = |row: usize| move |e: duramen_base::SqlError| fail(row)(e.into());
        let mut numbered = Vec::new();
        let mut columns = columns;
        if rowset.def.has_uniquifier()
            && !self.numbered
            && let Some((_, own)) = columns.split_last()
        {
            // The one that they have unless their key is there already.
            let zero = Column::repeated(&Value::Int(0), &SqlType::INT, rows);
            numbered.extend_from_slice(own);
            numbered.push(Arc::new(zero));
            columns = &numbered;
        }
        let mut located = Vec::with_capacity(if locate { rows } else { 0 });
        rowset.lock_object(tx, LockMode::IX).map_err(failed(0))?;
        let batch = Batch::pack(&rowset, tx, columns, rows).map_err(|(row, e)| failed(row)(e))?;
        let mut at = 0;
        while at < rows {
            tx.check_given_up().map_err(failed(at))?;
            let taken = match rowset.def.is_heap() {
                true => self.add_to_heap(tx, &batch, at, &mut located, locate),
                false => self.add_to_tree(tx, &batch, at),
            };
            let taken = taken.map_err(failed(at))?;
            if taken == 0 {
                self.settle(tx, true).map_err(failed(at))?;
                if planted::on(Bug::OutsideTwice) {
                    let row: Vec<Value> = columns.iter().map(|c| c.get(at)).collect();
                    rowset.encode(tx, &row).map_err(failed(at))?;
                }
                // As it is packed: what is outside the row has been written for it.
                let one = rowset.insert_made(tx, || batch.key(at), batch.row(at));
                let one = one.map_err(fail(at))?;
                if locate {
                    located.push(one);
                }
                at += 1;
                continue;
            }
            self.settle(tx, false).map_err(failed(at))?;
            rowset.storage.operations.loaded.add(taken as u64);
            if locate && !rowset.def.is_heap() {
                located.extend((at..at + taken).map(|r| RowLocator::Key(batch.key(r))));
            }
            at += taken;
        }
        Ok(located)
    }

    pub fn rowset(&self) -> &Rowset {
        &self.rowset
    }

    /// Pages that the next system transaction may add; `unlogged`: their rows are in no record, and all of them are latched
    /// at once, which is no more than a small part of the pool.
    fn pages_at_once(&self, unlogged: bool) -> usize {
        let small = self.rowset.db.engine.pool.frames_allowed() / 128;
        match unlogged {
            true => small.clamp(PAGES_AT_ONCE, MOST_AT_ONCE) / PAGES_AT_ONCE * PAGES_AT_ONCE,
            false => PAGES_AT_ONCE,
        }
    }

    /// The last row has been given. A load that fails need not come here: it is rolled back.
    pub fn finish(&mut self, tx: &Transaction) -> SqlResult<()> {
        self.settle(tx, true)
    }
}

impl Rowset {
    /// A load of rows into this rowset.
    pub fn load(&self, logging: Logging) -> Load {
        Load {
            rowset: self.clone(),
            logging,
            unlogged: Unlogged::default(),
            inside: false,
            numbered: false,
            spare: 0,
        }
    }

    /// How two rows of a B-tree stand in its order.
    pub fn compare_rows(&self, a: &[Value], b: &[Value]) -> Ordering {
        self.keys().cmp_rows(a, b)
    }

    /// How the rows of an INSERT ... SELECT are logged: page by page under the profile `native`, and elsewhere when the
    /// table is locked as a whole (TABLOCK) and they cannot meet rows that are there: in a heap, or in an empty index. In
    /// that case the recovery model may allow minimal logging.
    pub fn logging(&self, table_locked: bool) -> SqlResult<Logging> {
        let native = self.db.log_profile() == LogProfile::Native;
        let alone = table_locked && (self.def.is_heap() || self.row_count()? == 0);
        Ok(match (alone, native) {
            (true, _) => self.logging_of_build(),
            (false, true) => Logging::Pages,
            (false, false) => Logging::Rows,
        })
    }

    /// How the rows of an index or a table that is being built are logged.
    pub fn logging_of_build(&self) -> Logging {
        match self.db.minimal_model() {
            true => Logging::Minimal,
            false => Logging::Pages,
        }
    }

    /// Whether the transaction has the whole table to itself: its rows need no locks of their own.
    fn has_table(&self, tx: &Transaction) -> bool {
        let table = Resource::Object(self.db.id, self.def.object);
        let held = tx.owner.holds(&table);
        held.is_some_and(|m| m.covers_below(LockMode::X))
    }

    /// The system transaction in which pages are added: undone as a whole when any of it fails.
    fn add_pages<T>(
        &self,
        tx: &Transaction,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let before = *self.storage.roots.lock();
        let result = self.db.system(tx, name, |sys| {
            let made = work(sys)?;
            let after = *self.storage.roots.lock();
            if after != before {
                self.db.persist_roots(sys, self.def.au, after)?;
            }
            Ok(made)
        });
        if result.is_err() {
            *self.storage.roots.lock() = before;
        }
        result
    }
}
