//! Expressions and conditions on which T-SQL and SQLite agree.
//!
//! Left out because the languages differ: division by anything that may be zero (an error here, NULL there), text with
//! capitals or trailing spaces (collations), averages (of integers: an integer here), and sums that leave 32 bits: nested
//! queries keep their numbers small with `%`.

use duramen_os::random::Rng;

use super::both::{Both, fill, list, pair, same};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Text,
}

/// A column that can be named.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// A table both engines have.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
}

/// The columns of every table, with their kinds. `id` is unique.
pub const COLUMNS: [(&str, Kind); 5] = [
    ("id", Kind::Int),
    ("a", Kind::Int),
    ("b", Kind::Int),
    ("c", Kind::Text),
    ("d", Kind::Text),
];

/// Words that data and literals are made of.
pub const WORDS: [&str; 9] = ["", "a", "ab", "b", "ba", "abc", "x1", "0", "zz"];

/// Subqueries within subqueries.
const MOST_NESTED: u32 = 3;

pub struct Gen<'g> {
    pub rng: &'g mut Rng,
    pub tables: &'g [Table],
    pub scope: Vec<Column>,
    /// Not inside an aggregate's argument.
    pub subqueries: bool,
    /// The tables have thousands of rows: joins are by a unique column, and nothing runs once a row.
    pub large: bool,
    /// Tables named in FROM clauses so far, those of subqueries in expressions not counted.
    pub sources: u32,
    /// Subqueries in expressions around this place: each may run once for every row outside.
    pub nested: u32,
    pub names: &'g mut u32,
}

impl Gen<'_> {
    pub fn pick(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    pub fn name(&mut self, prefix: &str) -> String {
        *self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn column(&mut self, kind: Kind) -> Option<Both> {
        let fitting: Vec<&Column> = self.scope.iter().filter(|c| c.kind == kind).collect();
        self.rng.choose(&fitting).map(|c| same(c.name.clone()))
    }

    pub fn of(&mut self, kind: Kind, depth: u32) -> Both {
        match kind {
            Kind::Int => self.int(depth),
            Kind::Text => self.text(depth),
        }
    }

    pub fn constant(&mut self) -> Both {
        match self.pick(12) {
            0 => same("CAST(NULL AS int)"),
            1 => same("(-3)"),
            n => same((n as i64 - 2).to_string()),
        }
    }

    pub fn int(&mut self, depth: u32) -> Both {
        if depth == 0 || self.rng.one_in(4) {
            let column = self.column(Kind::Int);
            return match column {
                Some(c) if !self.rng.one_in(4) => c,
                _ => self.constant(),
            };
        }
        let d = depth - 1;
        match self.pick(14) {
            0 | 1 => fill("({0} + {1})", &[&self.int(d), &self.int(d)]),
            2 => fill("({0} - {1})", &[&self.int(d), &self.int(d)]),
            3 => {
                let factor = same((2 + self.pick(5)).to_string());
                fill("({0} * {1})", &[&self.int(d), &factor])
            }
            4 => {
                let by = same((2 + self.pick(5)).to_string());
                let op = if self.rng.one_in(2) {
                    "({0} / {1})"
                } else {
                    "({0} % {1})"
                };
                fill(op, &[&self.int(d), &by])
            }
            5 => fill("(-{0})", &[&self.int(d)]),
            6 => fill("ABS({0})", &[&self.int(d)]),
            7 => self.case(Kind::Int, d),
            8 => fill("COALESCE({0}, {1})", &[&self.int(d), &self.int(d)]),
            9 => fill("NULLIF({0}, {1})", &[&self.int(d), &self.int(d)]),
            10 => pair("LEN({0})", "LENGTH({0})", &[&self.text(d)]),
            11 => pair(
                "CHARINDEX({0}, {1})",
                "INSTR({1}, {0})",
                &[&self.word(), &self.text(d)],
            ),
            12 => fill(
                "IIF({0}, {1}, {2})",
                &[&self.condition(d), &self.int(d), &self.int(d)],
            ),
            _ => self.scalar(Kind::Int, d),
        }
    }

    /// A text literal that is not empty.
    fn word(&mut self) -> Both {
        let at = 1 + self.pick(WORDS.len() as u64 - 1) as usize;
        same(format!("'{}'", WORDS[at]))
    }

    pub fn text(&mut self, depth: u32) -> Both {
        if depth == 0 || self.rng.one_in(3) {
            let column = self.column(Kind::Text);
            return match column {
                Some(c) if !self.rng.one_in(4) => c,
                _ if self.rng.one_in(8) => same("CAST(NULL AS varchar(20))"),
                _ => {
                    let at = self.pick(WORDS.len() as u64) as usize;
                    same(format!("'{}'", WORDS[at]))
                }
            };
        }
        let d = depth - 1;
        match self.pick(9) {
            0 | 1 => pair(
                "({0} + {1})",
                "({0} || {1})",
                &[&self.text(d), &self.text(d)],
            ),
            2 => {
                let (from, count) = (1 + self.pick(3), self.pick(4));
                let (from, count) = (same(from.to_string()), same(count.to_string()));
                pair(
                    "SUBSTRING({0}, {1}, {2})",
                    "SUBSTR({0}, {1}, {2})",
                    &[&self.text(d), &from, &count],
                )
            }
            3 => {
                let (from, to) = (self.word(), self.word());
                fill("REPLACE({0}, {1}, {2})", &[&self.text(d), &from, &to])
            }
            4 => {
                let count = same(self.pick(4).to_string());
                pair(
                    "LEFT({0}, {1})",
                    "SUBSTR({0}, 1, {1})",
                    &[&self.text(d), &count],
                )
            }
            5 => self.case(Kind::Text, d),
            6 => fill("COALESCE({0}, {1})", &[&self.text(d), &self.text(d)]),
            7 => pair(
                "CAST({0} AS varchar(12))",
                "CAST({0} AS TEXT)",
                &[&self.int(d)],
            ),
            _ => self.scalar(Kind::Text, d),
        }
    }

    fn case(&mut self, kind: Kind, d: u32) -> Both {
        let (p, q) = (self.condition(d), self.condition(d));
        let (x, y, z) = (self.of(kind, d), self.of(kind, d), self.of(kind, d));
        match self.pick(3) {
            0 => fill("CASE WHEN {0} THEN {1} ELSE {2} END", &[&p, &x, &y]),
            1 => fill(
                "CASE WHEN {0} THEN {2} WHEN {1} THEN {3} ELSE {4} END",
                &[&p, &q, &x, &y, &z],
            ),
            _ => {
                let (on, a) = (self.int(d), self.constant());
                fill(
                    "CASE {0} WHEN {1} THEN {2} ELSE {3} END",
                    &[&on, &a, &x, &y],
                )
            }
        }
    }

    fn may_nest(&self) -> bool {
        self.subqueries && self.nested < MOST_NESTED
    }

    /// A table of its own for a subquery: its FROM and the condition, with the outer columns in scope.
    fn inner(&mut self, depth: u32) -> (String, Both, usize) {
        self.nested += 1;
        let table = self.rng.choose(self.tables).map(|t| t.name.clone());
        let alias = self.name("s");
        let outside = self.scope.len();
        for (name, kind) in COLUMNS {
            let name = format!("{alias}.{name}");
            self.scope.push(Column { name, kind });
        }
        let from = format!("{} AS {alias}", table.unwrap_or_default());
        let condition = self.condition(depth);
        self.nested -= 1;
        (from, condition, outside)
    }

    /// A scalar subquery, always of one row; a plain expression where none may stand.
    fn scalar(&mut self, kind: Kind, d: u32) -> Both {
        if !self.may_nest() {
            return self.of(kind, d.saturating_sub(1));
        }
        let (from, condition, outside) = self.inner(d.min(1));
        let own: Vec<Column> = self.scope[outside..].to_vec();
        let before = std::mem::replace(&mut self.scope, own);
        let item = self.column(kind).unwrap_or_else(|| same("1"));
        self.scope = before;
        self.scope.truncate(outside);
        let function = match (kind, self.pick(3)) {
            (Kind::Int, 0) => "COUNT",
            (_, 1) => "MIN",
            _ => "MAX",
        };
        fill(
            "(SELECT {0}({1}) FROM {2} WHERE {3})",
            &[&same(function), &item, &same(from), &condition],
        )
    }

    pub fn condition(&mut self, depth: u32) -> Both {
        let d = depth.saturating_sub(1);
        let kind = if self.rng.one_in(3) {
            Kind::Text
        } else {
            Kind::Int
        };
        if depth > 0 && self.rng.one_in(3) {
            return match self.pick(5) {
                0 | 1 => fill("({0} AND {1})", &[&self.condition(d), &self.condition(d)]),
                2 | 3 => fill("({0} OR {1})", &[&self.condition(d), &self.condition(d)]),
                _ => fill("(NOT {0})", &[&self.condition(d)]),
            };
        }
        match self.pick(12) {
            0..=4 => {
                let op = ["=", "<>", "<", "<=", ">", ">="][self.pick(6) as usize];
                let (l, r) = (self.of(kind, d), self.of(kind, d));
                fill("({0} {1} {2})", &[&l, &same(op), &r])
            }
            5 => fill("({0} IS NULL)", &[&self.of(kind, d)]),
            6 => fill("({0} IS NOT NULL)", &[&self.of(kind, d)]),
            7 => {
                let not = same(["", "NOT "][self.pick(2) as usize]);
                let (x, l, h) = (self.of(kind, d), self.of(kind, 0), self.of(kind, 0));
                fill("({0} {1}BETWEEN {2} AND {3})", &[&x, &not, &l, &h])
            }
            8 => {
                let not = same(["", "NOT "][self.pick(2) as usize]);
                let items: Vec<Both> = (0..1 + self.pick(3)).map(|_| self.of(kind, 0)).collect();
                let x = self.of(kind, d);
                fill("({0} {1}IN ({2}))", &[&x, &not, &list(&items, ", ")])
            }
            9 => {
                let patterns = ["'a%'", "'%b'", "'%b%'", "'_'", "'a_'", "''", "'%'"];
                let not = same(["", "NOT "][self.pick(2) as usize]);
                let pattern = same(patterns[self.pick(7) as usize]);
                fill("({0} {1}LIKE {2})", &[&self.text(d), &not, &pattern])
            }
            _ if !self.may_nest() => fill("({0} = {1})", &[&self.of(kind, d), &self.of(kind, 0)]),
            10 => {
                let not = same(["", "NOT "][self.pick(2) as usize]);
                let (from, condition, outside) = self.inner(d.min(1));
                self.scope.truncate(outside);
                fill(
                    "({0}EXISTS (SELECT 1 FROM {1} WHERE {2}))",
                    &[&not, &same(from), &condition],
                )
            }
            _ => {
                let not = same(["", "NOT "][self.pick(2) as usize]);
                let (from, condition, outside) = self.inner(d.min(1));
                let item = self.of(kind, 1);
                self.scope.truncate(outside);
                let x = self.of(kind, d);
                fill(
                    "({0} {1}IN (SELECT {2} FROM {3} WHERE {4}))",
                    &[&x, &not, &item, &same(from), &condition],
                )
            }
        }
    }
}
