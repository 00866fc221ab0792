//! Statements that insert many rows at once: INSERT ... SELECT, SELECT INTO, the rebuilding of an index.
//!
//! Loaded rows of the shared tables have the session's ids from [`ROWS`] on, which single statements leave alone.

use std::collections::BTreeMap;

use super::{Actor, pad};
use crate::crash::actor::ROWS;
use crate::crash::model::{IDS, Part};

impl Actor {
    /// A load into a table that all sessions share, or the end of what was loaded there.
    pub(super) fn invent_load(&mut self, db: &str, table: &str, part: &mut Part) -> Option<String> {
        let low = (self.n as i32 + 1) * IDS;
        let row = self.row();
        let first = low + ROWS + self.rng.below((IDS - ROWS) as u64) as i32;
        let last = (first + self.rng.below(60) as i32).min(low + IDS - 1);
        let gone = self.rng.one_in(4);
        let hint = self.hint();
        let rows = match table {
            "t" => &mut part.t,
            _ => &mut part.h,
        };
        if gone {
            rows.retain(|id, _| !(low + ROWS..low + IDS).contains(id));
            let from = low + ROWS;
            return Some(format!(
                "DELETE {db}.dbo.{table} WHERE id >= {from} AND id < {}",
                low + IDS
            ));
        }
        let new: Vec<i32> = (first..=last).filter(|id| !rows.contains_key(id)).collect();
        let values = values(&new)?;
        rows.extend(new.iter().map(|id| (*id, row.clone())));
        let n = row.n.map_or("NULL".to_owned(), |n| n.to_string());
        Some(format!(
            "INSERT {db}.dbo.{table}{hint} SELECT v.i, {}, {n}, '{}' FROM {values}",
            pad(row.pad),
            row.f
        ))
    }

    /// A load into the session's own table.
    pub(super) fn invent_own_load(
        &mut self,
        db: &str,
        table: &str,
        rows: &mut BTreeMap<i32, u32>,
    ) -> Option<String> {
        let hint = self.hint();
        let (values, length) = self.own_rows(rows)?;
        Some(format!(
            "INSERT {db}.dbo.{table}{hint} SELECT v.i, REPLICATE('o', {length}) FROM {values}"
        ))
    }

    /// The session's own table, made by SELECT INTO.
    pub(super) fn invent_into(
        &mut self,
        table: &str,
        rows: &mut BTreeMap<i32, u32>,
    ) -> Option<String> {
        let (values, length) = self.own_rows(rows)?;
        Some(format!(
            "SELECT ISNULL(v.i, 0) AS id, CAST(REPLICATE('o', {length}) AS varchar(2000)) AS pad INTO {table} FROM {values}"
        ))
    }

    fn own_rows(&mut self, rows: &mut BTreeMap<i32, u32>) -> Option<(String, u32)> {
        let first = rows.keys().last().map_or(1, |i| i + 1);
        let count = 1 + self.rng.below(80) as i32;
        let long = self.rng.one_in(3);
        let length = self.rng.below(if long { 2000 } else { 100 }) as u32;
        let new: Vec<i32> = (first..first + count).collect();
        rows.extend(new.iter().map(|id| (*id, length)));
        Some((values(&new)?, length))
    }

    fn hint(&mut self) -> &'static str {
        match self.rng.one_in(3) {
            true => " WITH (TABLOCK)",
            false => "",
        }
    }
}

/// Numbers as a source of FROM; `None` when there are none.
fn values(numbers: &[i32]) -> Option<String> {
    let each: Vec<String> = numbers.iter().map(|i| format!("({i})")).collect();
    (!each.is_empty()).then(|| format!("(VALUES {}) AS v(i)", each.join(", ")))
}
