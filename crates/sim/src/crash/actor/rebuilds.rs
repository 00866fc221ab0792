//! Indexes of the tables that everybody uses, built anew: alone, or in the middle of a transaction that may be undone.

use super::Actor;

/// Tables and their indexes: a clustered one takes the rows along, ALL of a heap its index only.
const INDEXES: &[(&str, &str)] = &[
    ("t", "pk_t"),
    ("t", "t_n"),
    ("t", "ALL"),
    ("h", "h_id"),
    ("h", "ALL"),
    ("l", "pk_l"),
    ("hist", "pk_hist"),
    ("acct", "ALL"),
];

impl Actor {
    /// A statement that changes no row.
    pub(super) fn invent_rebuild(&mut self, db: &str) -> String {
        let (table, index) = INDEXES[self.rng.below(INDEXES.len() as u64) as usize];
        format!("ALTER INDEX {index} ON {db}.dbo.{table} REBUILD")
    }
}
