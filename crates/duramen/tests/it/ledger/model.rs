//! What a session writes, and what it must find: rows that follow from the number of its last transaction.

use std::collections::BTreeMap;
use std::fmt::Write;

use duramen_os::random::Rng;

/// Transactions of a session that are kept; each further one deletes the oldest.
const LIVE_MAX: usize = 60;
pub const TOTALS: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Three rows in a clustered table, two in a heap with an index.
    One,
    /// Two rows in either database.
    Two,
}

/// What a session's transactions have left: by number, the kind and how often the rows were updated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    pub live: BTreeMap<i64, (Kind, i32)>,
    /// Number of the last transaction.
    pub last: i64,
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct Change {
    pub number: i64,
    pub kind: Kind,
    pub delete: Option<i64>,
    pub touch: Option<i64>,
    pub rollback: bool,
    /// Statements travel one by one instead of in one batch.
    pub stepwise: bool,
}

impl Model {
    /// The next transaction; one in `over_two` writes into both databases.
    pub fn next(&self, rng: &mut Rng, over_two: u64) -> Change {
        let oldest = self.live.keys().next().copied();
        let middle = self.live.keys().nth(self.live.len() / 2).copied();
        Change {
            number: self.last + 1,
            kind: if rng.one_in(over_two) {
                Kind::Two
            } else {
                Kind::One
            },
            delete: oldest.filter(|_| self.live.len() >= LIVE_MAX),
            touch: middle.filter(|_| rng.one_in(2)),
            rollback: rng.one_in(8),
            stepwise: rng.one_in(3),
        }
    }

    pub fn apply(&mut self, change: &Change) {
        if let Some(number) = change.delete {
            self.live.remove(&number);
        }
        if let Some((_, version)) = change.touch.and_then(|number| self.live.get_mut(&number)) {
            *version += 1;
        }
        self.live.insert(change.number, (change.kind, 0));
        self.last = change.number;
    }

    /// The rows that must be there: table, number, part, version, text.
    pub fn rows(&self, session: usize) -> Vec<(&'static str, i64, i32, i32, String)> {
        let mut out = Vec::new();
        for (&number, &(kind, version)) in &self.live {
            for (table, parts) in tables(kind) {
                for part in 0..parts {
                    let text = text(session, number, part);
                    out.push((table, number, part, version, text));
                }
            }
        }
        out.sort();
        out
    }
}

fn tables(kind: Kind) -> [(&'static str, i32); 2] {
    match kind {
        Kind::One => [("la.dbo.entry", 3), ("la.dbo.mirror", 2)],
        Kind::Two => [("la.dbo.entry", 2), ("lb.dbo.entry", 2)],
    }
}

/// A text of many lengths, so that pages split, updates move rows, and some are kept outside their rows.
fn text(session: usize, number: i64, part: i32) -> String {
    let length = match (number % 23, number % 17) {
        (_, 9) => 20_000,
        (0, _) => 2500,
        (n, _) => (n * 37 + i64::from(part) * 11) % 300,
    };
    let mut text = format!("{session}.{number}.{part}.");
    text.extend(std::iter::repeat_n('x', length as usize));
    text
}

/// The statements of a transaction; the last one ends it.
pub fn statements(session: usize, change: &Change) -> Vec<String> {
    let n = change.number;
    let mut out = vec!["BEGIN TRANSACTION".to_owned()];
    for (table, parts) in tables(change.kind) {
        let mut sql = format!("INSERT INTO {table} (session, number, part, version, text) VALUES ");
        for part in 0..parts {
            let comma = if part == 0 { "" } else { ", " };
            let text = text(session, n, part);
            let _ = write!(sql, "{comma}({session}, {n}, {part}, 0, '{text}')");
        }
        out.push(sql);
    }
    let everywhere = ["la.dbo.entry", "la.dbo.mirror", "lb.dbo.entry"];
    if let Some(old) = change.touch {
        out.extend(everywhere.map(|table| {
            format!("UPDATE {table} SET version = version + 1 WHERE session = {session} AND number = {old}")
        }));
    }
    if let Some(old) = change.delete {
        out.extend(everywhere.map(|table| {
            format!("DELETE FROM {table} WHERE session = {session} AND number = {old}")
        }));
    }
    out.push(format!(
        "UPDATE la.dbo.counter SET value = {n} WHERE session = {session}"
    ));
    let total = n as u64 % TOTALS;
    out.push(format!(
        "UPDATE la.dbo.total SET value = value + 1 WHERE id = {total}"
    ));
    if n % 5 == 0 {
        // In an order of its own: some of these end as deadlock victims.
        let step = if session.is_multiple_of(2) {
            1
        } else {
            TOTALS - 1
        };
        let total = (total + step) % TOTALS;
        out.push(format!(
            "UPDATE la.dbo.total SET value = value WHERE id = {total}"
        ));
    }
    let end = if change.rollback {
        "ROLLBACK"
    } else {
        "COMMIT"
    };
    out.push(format!("{end} TRANSACTION"));
    out
}
