//! What operators cost, in the unit that estimated plans show: about a second of a machine of long ago.
//!
//! The constants of scans, seeks and lookups are those that SQL Server's published plans show: 0.003125 for a page out of
//! turn, 0.00074074 for the next page in turn, 0.0000011 for each further row. Ours are marked *assumed*.

/// Rows that a page is taken to hold where nobody knows.
pub const PAGE: f64 = 8096.0;

/// A page out of turn.
pub const RANDOM_PAGE: f64 = 0.003_125;
/// The page after it.
pub const NEXT_PAGE: f64 = 0.000_740_741;
/// The first row of a scan or seek.
pub const FIRST_ROW: f64 = 0.000_157;
/// Each further row.
pub const NEXT_ROW: f64 = 0.000_001_1;
/// A row found again by its key or place, after the first: most pages above it are in memory. *Assumed.*
pub const LOOKUP_PAGE: f64 = 0.000_3;

/// An operator's own cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub io: f64,
    pub cpu: f64,
}

impl Cost {
    pub fn total(self) -> f64 {
        self.io + self.cpu
    }
}

/// Reading `rows` of an index or heap of `pages`, in turn.
pub fn scan(pages: f64, rows: f64) -> Cost {
    Cost {
        io: RANDOM_PAGE + NEXT_PAGE * (pages - 1.0).max(0.0),
        cpu: FIRST_ROW + NEXT_ROW * (rows - 1.0).max(0.0),
    }
}

/// Finding `rows` of an index again and again: `executions` times in all.
pub fn seeks(executions: f64, pages: f64, rows: f64) -> Cost {
    let one = scan(pages, rows);
    let again = (executions - 1.0).max(0.0);
    Cost {
        io: one.io + again * (LOOKUP_PAGE + NEXT_PAGE * (pages - 1.0).max(0.0)),
        cpu: executions.max(1.0) * one.cpu,
    }
}

/// Finding `rows` rows of a table from the entries of an index.
pub fn lookups(rows: f64) -> Cost {
    seeks(rows.max(1.0), 1.0, 1.0)
}

/// Putting rows in order. *Assumed.*
pub fn sort(rows: f64, bytes: f64) -> Cost {
    let n = rows.max(2.0);
    Cost {
        io: 0.011_261,
        cpu: 0.000_1 + n * n.log2() * 0.000_000_7 + rows * bytes * 0.000_000_001,
    }
}

/// Filling a hash table with `build` rows and asking it for `probe`. *Assumed.*
pub fn hash(build: f64, probe: f64, bytes: f64) -> Cost {
    Cost {
        io: 0.0,
        cpu: 0.017_7 + build * (0.000_008 + bytes * 0.000_000_01) + probe * 0.000_004,
    }
}

/// Grouping rows that come group by group. *Assumed.*
pub fn stream(rows: f64) -> Cost {
    Cost {
        io: 0.0,
        cpu: 0.000_1 + rows * 0.000_001_5,
    }
}

/// Going through two inputs in order side by side. *Assumed.*
pub fn merge(left: f64, right: f64) -> Cost {
    Cost {
        io: 0.0,
        cpu: 0.005_6 + (left + right) * 0.000_002_5,
    }
}

/// Putting a condition or an expression to each row.
pub fn per_row(rows: f64, each: f64) -> Cost {
    Cost {
        io: 0.0,
        cpu: rows * each,
    }
}
