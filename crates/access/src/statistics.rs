//! What a database knows of its columns' values: made from a sample of a table when a plan first asks, and made again when
//! the table has changed much.
//!
//! What is known of values is kept in memory: it is as quick to make as a few hundred pages are to read, and a start begins
//! without it. The catalog keeps what statistics there are: every index has some, and CREATE STATISTICS makes others. Both
//! show what is known of their first column; statistics that a plan asks for have no row in the catalog.
//!
//! Changes are counted from when the database was opened, column by column: a row that comes or goes changes all of them, an
//! UPDATE those whose values are others. *Assumed*: that what is rolled back counts; that one UPDATE of a key column counts
//! once. Rows that go or come as whole partitions or with TRUNCATE TABLE are not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use duramen_base::given_up::{self, Bulky};
use duramen_base::{ObjectId, SqlResult};
use duramen_catalog::{IndexDef, TableDef};
use duramen_columns::statistics::ColumnStatistics;
use duramen_os::memory::{Broker, Clerk, Tally};
use duramen_os::sync::Mutex;
use duramen_os::time::WallTime;
use duramen_types::{MAX_LENGTH, TypeId, Value};

use crate::open_db::OpenDb;
use crate::usage::forget_dropped;

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
    /// Changes of the column until then.
    changes: u64,
}

/// How often rows of a table have changed, and columns of rows that stayed.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    rows: Arc<AtomicU64>,
    /// In the order of the table's columns.
    columns: Vec<Arc<AtomicU64>>,
}

impl Changes {
    /// So many rows have come or gone.
    pub fn rows(&self, n: usize) {
        self.rows.fetch_add(n as u64, Relaxed);
    }

    /// A row has other values.
    pub fn row(&self, old: &[Value], new: &[Value]) {
        for ((old, new), column) in old.iter().zip(new).zip(&self.columns) {
            if old != new {
                column.fetch_add(1, Relaxed);
            }
        }
    }
}

/// Of a table, and of its columns by their ids.
#[derive(Debug, Default)]
struct Counted {
    rows: Arc<AtomicU64>,
    columns: BTreeMap<i32, Arc<AtomicU64>>,
}

pub struct Statistics {
    made: Mutex<BTreeMap<Key, Made>>,
    /// Bytes of those, counted while they are locked.
    held: Tally,
    changes: Mutex<BTreeMap<ObjectId, Counted>>,
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

/// Whether a table has changed so much that its statistics say little: by 500 rows and a fifth, from level 130 on by the root
/// of a thousand times its rows where that is less; rows there are more or fewer of, or changes that were counted.
fn outdated(then: f64, now: u64, changes: u64, level: u8) -> bool {
    let more = (now as f64 - then).abs().max(changes as f64);
    let fifth = 500.0 + then * 0.2;
    let most = match level {
        130.. => fifth.min((then * 1000.0).sqrt().max(500.0)),
        _ => fifth,
    };
    more > most
}

/// Rows of all partitions.
fn rows_of(db: &OpenDb, table: &TableDef) -> SqlResult<u64> {
    let all = table.data_rowsets().iter();
    all.map(|r| db.db.rowset(r).row_count()).sum()
}

impl Made {
    /// What it takes, with its place in a map.
    fn bytes(&self) -> u64 {
        (size_of::<(Key, Made)>() + self.statistics.bytes()) as u64
    }
}

impl Statistics {
    /// Of a database of which nothing is known yet.
    pub fn new(broker: &Arc<Broker>) -> Statistics {
        Statistics {
            made: Mutex::default(),
            held: broker.tally(Clerk::Schemas),
            changes: Mutex::default(),
        }
    }

    /// Keeps what was found out in the place of what was known, if there is memory for it: else the column is looked up again
    /// when somebody asks.
    fn keep(&self, key: Key, made: Option<Made>) {
        let mut all = self.made.lock();
        if let Some(old) = all.remove(&key) {
            self.held.sub(old.bytes());
        }
        let Some(made) = made else { return };
        let bytes = made.bytes();
        if all.len() >= MOST || !self.held.fits(bytes) {
            all.clear();
            self.held.sub(self.held.bytes());
        }
        if self.held.fits(bytes) {
            self.held.add(bytes);
            all.insert(key, made);
        }
    }

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
            Some(known)
                if kept
                    || !outdated(
                        known.statistics.rows,
                        rows,
                        self.changes_since(table, column, &known),
                        db.entry.read().compatibility_level,
                    ) =>
            {
                return Some(known);
            }
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

    /// Where changes of a table are counted. `tables`: the ids of those there are, asked for when some may have to go.
    pub(crate) fn changes(
        &self,
        table: &TableDef,
        tables: impl FnOnce() -> Option<BTreeSet<i32>>,
    ) -> Changes {
        let mut all = self.changes.lock();
        forget_dropped(&mut all, |id| id.0, tables);
        let counted = all.entry(table.id).or_default();
        let columns = table.columns.iter();
        Changes {
            rows: counted.rows.clone(),
            columns: columns
                .map(|c| counted.columns.entry(c.id).or_default().clone())
                .collect(),
        }
    }

    /// Changes of a column since the database was opened.
    fn changed(&self, table: &TableDef, column: usize) -> u64 {
        let all = self.changes.lock();
        let Some(counted) = all.get(&table.id) else {
            return 0;
        };
        let id = table.columns.get(column).map(|c| c.id);
        let own = id.and_then(|id| counted.columns.get(&id));
        counted.rows.load(Relaxed) + own.map_or(0, |n| n.load(Relaxed))
    }

    /// The same since its statistics were made: `modification_counter`.
    pub fn changes_since(&self, table: &TableDef, column: usize, made: &Made) -> u64 {
        self.changed(table, column).saturating_sub(made.changes)
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
        // What changes while the table is looked at may not be seen.
        let changes: Vec<u64> = columns.iter().map(|c| self.changed(table, *c)).collect();
        let rows = rows_of(db, table)?;
        let mut sample = Bulky(Vec::new());
        for part in table.data_rowsets() {
            let rowset = db.db.rowset(part);
            let own = rowset.row_count()?;
            if own > 0 {
                sample.extend(rowset.sample_part(|all| extent.pages(own, all))?.rows);
            }
        }
        let columns = columns.iter().zip(changes);
        for (column, changes) in columns.filter(|(c, _)| has_histogram(table, **c)) {
            let c = &table.columns[*column];
            let key = (table.id, c.id, c.ty.id);
            if rows == 0 {
                self.keep(key, None);
                continue;
            }
            let mut values = Vec::with_capacity(sample.len());
            for (n, row) in sample.iter().enumerate() {
                given_up::after_step(n)?;
                values.extend(row.get(*column).cloned());
            }
            let statistics = ColumnStatistics::new(values, rows, c.ty.collation)?;
            let made = Made {
                statistics: Arc::new(statistics),
                at: duramen_os::time::wall(),
                changes,
            };
            self.keep(key, Some(made));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::outdated;

    #[test]
    fn large_tables_are_looked_at_again_sooner_from_130_on() {
        let changes = |then: f64, n: u64, level| outdated(then, then as u64, n, level);
        // 500 and a fifth of a million; the root of a thousand millions.
        assert!(!changes(1e6, 200_500, 120) && changes(1e6, 200_501, 120));
        assert!(!changes(1e6, 31_600, 130) && changes(1e6, 31_700, 130));
        // Small tables are alike at all levels.
        for level in [100, 130, 160] {
            assert!(!changes(0.0, 500, level) && changes(0.0, 501, level));
            assert!(!changes(1000.0, 700, level) && changes(1000.0, 701, level));
        }
    }
}
