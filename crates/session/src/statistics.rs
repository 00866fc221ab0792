//! What a database knows of its columns' values: made from a sample of a table when a plan first asks, and made again when
//! the table has changed much.
//!
//! What is known of values is kept in memory: it is as quick to make as a few hundred pages are to read, and a start begins
//! without it. The catalog keeps what statistics there are: every index has some, and CREATE STATISTICS makes others. Both
//! show what is known of their first column; statistics that a plan asks for have no row in the catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{ObjectId, SqlResult};
use duramen_catalog::{IndexDef, TableDef};
use duramen_os::sync::Mutex;
use duramen_os::time::WallTime;
use duramen_query::statistics::ColumnStatistics;
use duramen_types::{MAX_LENGTH, TypeId};

use crate::databases::OpenDb;

/// Pages that are looked at; a smaller table is read whole.
const PAGES: usize = 128;
/// As many pages are read in one go, however many are asked for: their rows are in memory meanwhile.
const MOST_PAGES: usize = 16_384;
/// How many columns are known at a time.
const MOST: usize = 4096;

/// A column of a table, of one type: after ALTER COLUMN it is another.
type Key = (ObjectId, i32, TypeId);

/// The statistics of a column, and when they were made.
#[derive(Clone, Debug)]
pub struct Made {
    pub statistics: Arc<ColumnStatistics>,
    pub at: WallTime,
}

#[derive(Default)]
pub struct Statistics {
    made: Mutex<BTreeMap<Key, Made>>,
}

/// How much of a table is looked at: `SAMPLE n PERCENT | ROWS`, `FULLSCAN`. Never fewer pages than a plan would have read.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    Usual,
    Percent(u64),
    Rows(u64),
}

impl Extent {
    fn pages(self, rows: u64, all: usize) -> usize {
        let part = |n: u64, of: u64| {
            let pages = (all as u128 * u128::from(n)).div_ceil(u128::from(of.max(1)));
            usize::try_from(pages).unwrap_or(all)
        };
        let wanted = match self {
            Extent::Usual => PAGES,
            Extent::Percent(n) => part(n, 100),
            Extent::Rows(n) => part(n, rows),
        };
        wanted.clamp(PAGES, MOST_PAGES)
    }
}

/// Whether statistics of the catalog begin with a column, and whether all of those are NORECOMPUTE.
fn declared(table: &TableDef, column: usize) -> (bool, bool) {
    let of_index = |i: &&IndexDef| i.keys.first().is_some_and(|k| k.column == column);
    let indexes = table.indexes.iter().filter(of_index);
    let own = table.statistics.iter();
    let own = own.filter(|s| table.leading(s) == Some(column));
    let kept: Vec<bool> = indexes
        .map(|i| i.options.no_recompute)
        .chain(own.map(|s| s.no_recompute))
        .collect();
    (!kept.is_empty(), !kept.is_empty() && !kept.contains(&false))
}

/// Whether a column has an order that steps could follow, and is in its row.
pub fn has_histogram(table: &TableDef, column: usize) -> bool {
    table.columns.get(column).is_some_and(|c| {
        !matches!(c.ty.id, TypeId::Xml | TypeId::SqlVariant) && c.ty.length != MAX_LENGTH
    })
}

/// The name of statistics that are made without having been asked for: column and table in hexadecimal.
pub fn automatic_name(table: &TableDef, column: usize) -> String {
    format!(
        "_WA_Sys_{:08X}_{:08X}",
        table.columns[column].id, table.id.0
    )
}

/// The column whose automatic statistics have that name.
pub fn automatic(table: &TableDef, name: &str) -> Option<usize> {
    let named = |c: &usize| automatic_name(table, *c).eq_ignore_ascii_case(name);
    (0..table.columns.len()).find(named)
}

/// Whether a table has changed so much that its statistics say little: by 500 rows and a fifth, as SQL Server's first rule
/// has it.
fn outdated(then: f64, now: u64) -> bool {
    (now as f64 - then).abs() > 500.0 + then * 0.2
}

/// Rows of all partitions.
fn rows_of(db: &OpenDb, table: &TableDef) -> SqlResult<u64> {
    let all = table.data_rowsets().iter();
    all.map(|r| db.db.rowset(r).row_count()).sum()
}

impl Statistics {
    /// What is known of a column; looked up in the table when that is nothing and AUTO_CREATE_STATISTICS is on, or old and
    /// AUTO_UPDATE_STATISTICS is.
    pub fn of(&self, db: &OpenDb, table: &TableDef, column: usize) -> Option<Made> {
        if !has_histogram(table, column) {
            return None;
        }
        let (declared, kept) = declared(table, column);
        let known = self.known(table, column);
        let rows = rows_of(db, table).ok()?;
        match known {
            Some(known) if kept || !outdated(known.statistics.rows, rows) => return Some(known),
            Some(known) if !db.has_switch("AUTO_UPDATE_STATISTICS") => return Some(known),
            None if !declared && !db.has_switch("AUTO_CREATE_STATISTICS") => return None,
            _ => {}
        }
        self.make(db, table, &[column], Extent::Usual).ok()?;
        self.known(table, column)
    }

    /// The columns of a table that are known because a plan asked, and that no statistics of the catalog begin with.
    pub fn automatic(&self, table: &TableDef) -> Vec<usize> {
        let made = self.made.lock();
        let own = |at: &usize| {
            let c = &table.columns[*at];
            made.contains_key(&(table.id, c.id, c.ty.id)) && !declared(table, *at).0
        };
        (0..table.columns.len()).filter(own).collect()
    }

    /// What is known of a column by now.
    pub fn known(&self, table: &TableDef, column: usize) -> Option<Made> {
        let c = table.columns.get(column)?;
        let key = (table.id, c.id, c.ty.id);
        self.made.lock().get(&key).cloned()
    }

    /// Looks at the table and keeps what these columns have, in place of what was known; nothing of an empty table.
    pub fn make(
        &self,
        db: &OpenDb,
        table: &TableDef,
        columns: &[usize],
        extent: Extent,
    ) -> SqlResult<()> {
        let rows = rows_of(db, table)?;
        let mut sample = Vec::new();
        for part in table.data_rowsets() {
            let rowset = db.db.rowset(part);
            let own = rowset.row_count()?;
            if own > 0 {
                sample.extend(rowset.sample_part(|all| extent.pages(own, all))?.rows);
            }
        }
        for column in columns.iter().filter(|c| has_histogram(table, **c)) {
            let c = &table.columns[*column];
            let key = (table.id, c.id, c.ty.id);
            if rows == 0 {
                self.made.lock().remove(&key);
                continue;
            }
            let values = sample.iter().filter_map(|r| r.get(*column).cloned());
            let statistics = ColumnStatistics::new(values.collect(), rows, c.ty.collation);
            let made = Made {
                statistics: Arc::new(statistics),
                at: duramen_os::time::wall(),
            };
            let mut all = self.made.lock();
            if all.len() >= MOST {
                all.clear();
            }
            all.insert(key, made);
        }
        Ok(())
    }
}
