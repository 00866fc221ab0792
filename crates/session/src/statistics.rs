//! What a database knows of its columns' values: made from a sample of a table when a plan first asks, and made again when
//! the table has changed much.
//!
//! Statistics are kept in memory: they are as quick to make as a few hundred pages are to read, and a start begins without
//! them. UPDATE STATISTICS forgets a table's, so that the next plan looks again.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::ObjectId;
use duramen_catalog::TableDef;
use duramen_os::sync::Mutex;
use duramen_os::time::WallTime;
use duramen_query::statistics::ColumnStatistics;
use duramen_types::{MAX_LENGTH, TypeId};

use crate::databases::OpenDb;

/// Pages that are looked at; a smaller table is read whole.
const PAGES: usize = 128;
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

/// Whether a table has changed so much that its statistics say little: by 500 rows and a fifth, as SQL Server's first rule
/// has it.
fn outdated(then: f64, now: u64) -> bool {
    (now as f64 - then).abs() > 500.0 + then * 0.2
}

impl Statistics {
    /// What is known of a column; looked up in the table when that is nothing and AUTO_CREATE_STATISTICS is on, or old and
    /// AUTO_UPDATE_STATISTICS is.
    pub fn of(&self, db: &OpenDb, table: &TableDef, column: usize) -> Option<Made> {
        let c = table.columns.get(column)?;
        let ordered = !matches!(c.ty.id, TypeId::Xml | TypeId::SqlVariant);
        if !ordered || c.ty.length == MAX_LENGTH {
            return None;
        }
        let key = (table.id, c.id, c.ty.id);
        let known = self.made.lock().get(&key).cloned();
        let rowset = db.db.rowset(&table.data);
        let rows = rowset.row_count().ok()?;
        match known {
            Some(known) if !outdated(known.statistics.rows, rows) => return Some(known),
            Some(known) if !db.has_switch("AUTO_UPDATE_STATISTICS") => return Some(known),
            None if rows == 0 || !db.has_switch("AUTO_CREATE_STATISTICS") => return None,
            _ => {}
        }
        let sample = rowset.sample(PAGES).ok()?;
        let values = sample.rows.into_iter();
        let values = values.filter_map(|mut r| (column < r.len()).then(|| r.swap_remove(column)));
        let statistics = ColumnStatistics::new(values.collect(), rows, c.ty.collation);
        let made = Made {
            statistics: Arc::new(statistics),
            at: duramen_os::time::wall(),
        };
        let mut all = self.made.lock();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, made.clone());
        Some(made)
    }

    /// UPDATE STATISTICS: the next plan looks at the table again.
    pub fn forget(&self, table: ObjectId) {
        self.made.lock().retain(|(id, ..), _| *id != table);
    }
}
