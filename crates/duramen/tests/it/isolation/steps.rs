//! What transactions are made of: lists that grow, registers, and rows that predicates find.
//!
//! A list is a text that UPDATE appends a number to; a read gives it whole. A register is overwritten. A row of a group is
//! inserted once, deleted at most once and found by a predicate on its group: as the rows of a range, or by COUNT and a
//! SUM of powers of two, which tells by its bits which rows were counted.

use duramen_types::Value;

/// Rows that a group may have: one bit each.
pub const SLOTS: u32 = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Append {
        key: u32,
        value: u32,
    },
    /// Appends, and rolls that back to a savepoint.
    Undone {
        key: u32,
        value: u32,
    },
    Read {
        key: u32,
    },
    /// Lists in one statement, by a range of keys.
    ReadMany {
        from: u32,
        to: u32,
    },
    Write {
        key: u32,
        value: u32,
    },
    Peek {
        key: u32,
    },
    Insert {
        group: u32,
        slot: u32,
    },
    Delete {
        group: u32,
        slot: u32,
    },
    Range {
        group: u32,
    },
    Count {
        group: u32,
    },
}

/// What a step has told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Seen {
    #[default]
    Nothing,
    Lists(Vec<(u32, Vec<u32>)>),
    Register(Option<u32>),
    /// The rows of a group.
    Slots(Vec<u32>),
    /// Whether DELETE has found its row.
    Deleted(bool),
}

/// The table of a list: one in four lies in a heap with an index, the others in a clustered index.
fn list_table(key: u32) -> &'static str {
    if in_heap(key) { "list_heap" } else { "list" }
}

pub fn in_heap(key: u32) -> bool {
    key % 4 == 3
}

/// The table of a group: found by its clustered index, by a nonclustered one, or by a scan of a heap.
pub fn row_table(group: u32) -> &'static str {
    match group % 8 {
        0 | 2 | 4 => "row_clustered",
        7 => "row_heap",
        _ => "row_indexed",
    }
}

pub const TABLES: [&str; 8] = [
    "CREATE TABLE list (k int NOT NULL PRIMARY KEY, v varchar(8000) NOT NULL)",
    "CREATE TABLE list_heap (k int NOT NULL, v varchar(8000) NOT NULL)",
    "CREATE UNIQUE INDEX list_heap_key ON list_heap (k)",
    "CREATE TABLE register (k int NOT NULL PRIMARY KEY, v int NULL)",
    "CREATE TABLE row_clustered (grp int NOT NULL, slot int NOT NULL, bit bigint NOT NULL, PRIMARY KEY (grp, slot))",
    "CREATE TABLE row_indexed (id int IDENTITY PRIMARY KEY, grp int NOT NULL, slot int NOT NULL, bit bigint NOT NULL)",
    "CREATE INDEX row_indexed_group ON row_indexed (grp)",
    "CREATE TABLE row_heap (grp int NOT NULL, slot int NOT NULL, bit bigint NOT NULL)",
];

impl Step {
    /// The statement, with `@a` and `@b` as its numbers.
    pub fn sql(self) -> String {
        match self {
            Step::Append { key, .. } => append(key),
            Step::Undone { key, .. } => {
                format!("SAVE TRAN s; {}; ROLLBACK TRAN s", append(key))
            }
            Step::Read { key } => format!("SELECT k, v FROM {} WHERE k = @a", list_table(key)),
            Step::ReadMany { .. } => "SELECT k, v FROM list WHERE k BETWEEN @a AND @b".to_owned(),
            Step::Write { .. } => "UPDATE register SET v = @b WHERE k = @a".to_owned(),
            Step::Peek { .. } => "SELECT v FROM register WHERE k = @a".to_owned(),
            Step::Insert { group, .. } => format!(
                "INSERT {} (grp, slot, bit) VALUES (@a, @b, POWER(CONVERT(bigint, 2), @b))",
                row_table(group)
            ),
            Step::Delete { group, .. } => format!(
                "DELETE {} WHERE grp = @a AND slot = @b; SELECT @@ROWCOUNT",
                row_table(group)
            ),
            Step::Range { group } => {
                format!("SELECT slot FROM {} WHERE grp = @a", row_table(group))
            }
            Step::Count { group } => format!(
                "SELECT COUNT(*), SUM(bit) FROM {} WHERE grp = @a",
                row_table(group)
            ),
        }
    }

    /// What `@a` and `@b` are.
    pub fn numbers(self) -> (u32, u32) {
        match self {
            Step::Append { key, value } | Step::Undone { key, value } => (key, value),
            Step::Write { key, value } => (key, value),
            Step::Read { key } | Step::Peek { key } => (key, 0),
            Step::ReadMany { from, to } => (from, to),
            Step::Insert { group, slot } | Step::Delete { group, slot } => (group, slot),
            Step::Range { group } | Step::Count { group } => (group, 0),
        }
    }

    /// The statement with its numbers in it.
    pub fn text(self) -> String {
        let (a, b) = self.numbers();
        let sql = self.sql().replace("@a", &a.to_string());
        sql.replace("@b", &b.to_string())
    }

    /// It gives a result set.
    pub fn answers(self) -> bool {
        !matches!(
            self,
            Step::Append { .. } | Step::Undone { .. } | Step::Write { .. } | Step::Insert { .. }
        )
    }

    /// Reads what its result set says. An error is no isolation anomaly but a wrong answer.
    pub fn seen(self, rows: &[Vec<Value>]) -> Result<Seen, String> {
        let wrong = || format!("{self:?} gave {rows:?}");
        let seen = match self {
            Step::Read { .. } | Step::ReadMany { .. } => {
                let lists: Option<Vec<_>> = rows
                    .iter()
                    .map(|row| Some((number(&row[0])?, list(&row[1])?)))
                    .collect();
                Seen::Lists(lists.ok_or_else(wrong)?)
            }
            Step::Peek { .. } => match rows {
                [row] if row[0] == Value::Null => Seen::Register(None),
                [row] => Seen::Register(Some(number(&row[0]).ok_or_else(wrong)?)),
                _ => return Err(wrong()),
            },
            Step::Range { .. } => {
                let slots: Option<Vec<_>> = rows.iter().map(|row| number(&row[0])).collect();
                let mut slots = slots.ok_or_else(wrong)?;
                slots.sort_unstable();
                if slots.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(wrong());
                }
                Seen::Slots(slots)
            }
            Step::Count { .. } => {
                let [row] = rows else { return Err(wrong()) };
                let bits = row[1].as_i64().unwrap_or(0);
                let slots: Vec<u32> = (0..SLOTS).filter(|slot| bits >> slot & 1 == 1).collect();
                if row[0].as_i64() != Some(slots.len() as i64) || bits >> SLOTS != 0 {
                    return Err(wrong());
                }
                Seen::Slots(slots)
            }
            Step::Delete { .. } => match rows {
                [row] => Seen::Deleted(number(&row[0]).ok_or_else(wrong)? == 1),
                _ => return Err(wrong()),
            },
            _ => Seen::Nothing,
        };
        Ok(seen)
    }
}

fn append(key: u32) -> String {
    let table = list_table(key);
    format!("UPDATE {table} SET v = v + CONVERT(varchar(10), @b) + ',' WHERE k = @a")
}

pub fn number(value: &Value) -> Option<u32> {
    value.as_i64().and_then(|n| u32::try_from(n).ok())
}

/// `3,17,4,` as numbers.
pub fn list(value: &Value) -> Option<Vec<u32>> {
    let text = value.as_text()?;
    let mut numbers = text.split(',').collect::<Vec<_>>();
    (numbers.pop() == Some("")).then_some(())?;
    numbers.iter().map(|word| word.parse().ok()).collect()
}
