//! What a table is and what its rows are, as far as the story follows them.
//!
//! Every table has a column `id int NOT NULL` by which the model knows its rows; a session makes, changes and removes only
//! rows whose id leaves its number when divided by the count of sessions, so that its rows are its own and its pages are not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use super::values::{Ty, Val};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    Plain,
    Identity,
    /// The other column plus a number; PERSISTED or not.
    Computed(String, i64, bool),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub ty: Ty,
    pub nullable: bool,
    pub made: Made,
    /// The constraint's name, and the value.
    pub default: Option<(String, Val)>,
}

impl Column {
    pub fn sql(&self) -> String {
        let mut out = match &self.made {
            Made::Computed(of, plus, persisted) => {
                let kept = if *persisted { " PERSISTED" } else { "" };
                return format!("{} AS ({of} + {plus}){kept}", self.name);
            }
            Made::Identity => format!("{} {} IDENTITY", self.name, self.ty.sql()),
            Made::Plain => format!("{} {}", self.name, self.ty.sql()),
        };
        out += if self.nullable { " NULL" } else { " NOT NULL" };
        if let Some((name, value)) = &self.default {
            let _ = write!(out, " CONSTRAINT {name} DEFAULT {}", value.sql());
        }
        out
    }

    /// Whether an INSERT may name it.
    pub fn is_given(&self) -> bool {
        self.made == Made::Plain
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    pub name: String,
    pub columns: Vec<String>,
    pub include: Vec<String>,
    pub unique: bool,
    pub clustered: bool,
    /// PRIMARY KEY or UNIQUE.
    pub constraint: Option<&'static str>,
    pub disabled: bool,
}

impl Index {
    /// Two rows cannot have one id because of it.
    pub fn guards_id(&self) -> bool {
        self.unique && !self.disabled && self.columns == ["id"]
    }

    pub fn uses(&self, column: &str) -> bool {
        self.columns
            .iter()
            .chain(&self.include)
            .any(|c| c == column)
    }

    /// The constraint as an element of a table.
    pub fn element(&self) -> String {
        let kind = self.constraint.unwrap_or("UNIQUE");
        let shape = if self.clustered {
            "CLUSTERED"
        } else {
            "NONCLUSTERED"
        };
        format!(
            "CONSTRAINT {} {kind} {shape} ({})",
            self.name,
            self.columns.join(", ")
        )
    }
}

/// CHECK (column < limit).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub name: String,
    pub column: String,
    pub limit: i64,
    /// NOCHECK: nobody asks it.
    pub disabled: bool,
}

/// AFTER INSERT: rolls back when an id has this rest, divided by [`FORBIDDEN`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    pub name: String,
    pub text: String,
    pub rest: i64,
    pub disabled: bool,
}

/// What the deletion of a row does to those that refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDelete {
    NoAction,
    Cascade,
    SetNull,
}

/// FOREIGN KEY (column) REFERENCES parent (id)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreign {
    pub name: String,
    pub column: String,
    pub parent: String,
    pub on_delete: OnDelete,
}

/// What ids are divided by to find those that a trigger forbids.
pub const FORBIDDEN: i64 = 53;

/// Values of the columns, in their order.
pub type Row = Vec<Val>;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// All but `id`.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    pub checks: Vec<Check>,
    pub triggers: Vec<Trigger>,
    pub foreign: Vec<Foreign>,
    /// Statistics that somebody has asked for.
    pub statistics: Vec<String>,
    /// On the partition scheme, by id.
    pub partitioned: bool,
    pub rows: BTreeMap<i64, Row>,
}

impl Table {
    pub fn at(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|i| i.name == name)
    }

    pub fn clustered(&self) -> Option<&Index> {
        self.indexes.iter().find(|i| i.clustered)
    }

    /// Its clustered index is disabled: nobody reads or writes it.
    pub fn is_shut(&self) -> bool {
        self.clustered().is_some_and(|i| i.disabled)
    }

    pub fn guards_id(&self) -> bool {
        self.indexes.iter().any(Index::guards_id)
    }

    /// The elements of CREATE TABLE.
    pub fn elements(&self) -> String {
        let mut all = vec!["id int NOT NULL".to_owned()];
        all.extend(self.columns.iter().map(Column::sql));
        all.extend(
            self.indexes
                .iter()
                .filter(|i| i.constraint.is_some())
                .map(Index::element),
        );
        all.extend(
            self.checks
                .iter()
                .map(|c| format!("CONSTRAINT {} CHECK ({} < {})", c.name, c.column, c.limit)),
        );
        all.join(", ")
    }

    /// A row of which these columns are given; `Err` with the numbers of what refuses it.
    pub fn row(&self, given: &[(String, Val)]) -> Result<Row, Vec<i32>> {
        let mut row: Row = Vec::with_capacity(self.columns.len());
        for (name, _) in given {
            match self.column(name) {
                Some(c) if c.is_given() => {}
                Some(_) => return Err(vec![271, 544]),
                None => return Err(vec![207]),
            }
        }
        for c in &self.columns {
            let given = given
                .iter()
                .find(|(n, _)| *n == c.name)
                .map(|(_, v)| v.clone());
            let value = match (&c.made, given) {
                (Made::Identity, _) => Val::Any,
                (Made::Computed(..), _) => Val::Null,
                (Made::Plain, Some(v)) => v,
                (Made::Plain, None) => c.default.as_ref().map_or(Val::Null, |(_, v)| v.clone()),
            };
            row.push(value);
        }
        self.compute(&mut row);
        self.permitted(&row, None)?;
        Ok(row)
    }

    /// Sets the computed columns.
    pub fn compute(&self, row: &mut Row) {
        for (n, c) in self.columns.iter().enumerate() {
            if let Made::Computed(of, plus, _) = &c.made {
                row[n] = match self.at(of).map(|i| row[i].clone()) {
                    Some(Val::Int(v)) => Val::Int(v + plus),
                    Some(Val::Any) => Val::Any,
                    _ => Val::Null,
                };
            }
        }
    }

    /// NOT NULL, lengths and checks: of those only the ones that are about `changed` columns, where a row changes.
    pub fn permitted(&self, row: &Row, changed: Option<&[usize]>) -> Result<(), Vec<i32>> {
        for (c, v) in self.columns.iter().zip(row) {
            let computed = matches!(c.made, Made::Computed(..));
            if !c.nullable && !computed && *v == Val::Null {
                return Err(vec![515]);
            }
            if let Val::Run(_, n) = v
                && !c.ty.is_large()
                && *n > c.ty.most()
            {
                return Err(vec![2628, 8152]);
            }
        }
        for check in self.checks.iter().filter(|c| !c.disabled) {
            if let Some(at) = self.at(&check.column)
                && let Val::Int(v) = &row[at]
                && *v >= check.limit
                && changed.is_none_or(|changed| self.follows(at, changed))
            {
                return Err(vec![547]);
            }
        }
        Ok(())
    }

    /// Whether a column is among these, or computed from one of them.
    fn follows(&self, at: usize, changed: &[usize]) -> bool {
        let of = match &self.columns[at].made {
            Made::Computed(of, ..) => self.at(of),
            _ => None,
        };
        changed.contains(&at) || of.is_some_and(|of| changed.contains(&of))
    }

    /// What the catalog views say of it, line by line.
    pub fn catalogued(&self, name: &str, out: &mut Vec<String>) {
        out.push(format!("{name} column id int 4 0 0 0"));
        for c in &self.columns {
            let (ty, length) = c.ty.catalogued();
            let computed = matches!(c.made, Made::Computed(..));
            let nullable = match computed {
                true => "?".to_owned(),
                false => i32::from(c.nullable).to_string(),
            };
            out.push(format!(
                "{name} column {} {ty} {length} {nullable} {} {}",
                c.name,
                i32::from(c.made == Made::Identity),
                i32::from(computed)
            ));
            if let Some((d, _)) = &c.default {
                out.push(format!("{name} default {d} {}", c.name));
            }
        }
        for i in &self.indexes {
            let kind = if i.clustered { 1 } else { 2 };
            let key = i32::from(i.constraint == Some("PRIMARY KEY"));
            out.push(format!(
                "{name} index {} {kind} {} {key} {}",
                i.name,
                i32::from(i.unique),
                i32::from(i.disabled)
            ));
            for (columns, what) in [(&i.columns, 0), (&i.include, 1)] {
                for c in columns {
                    out.push(format!("{name} index column {} {c} {what}", i.name));
                }
            }
        }
        for c in &self.checks {
            let disabled = i32::from(c.disabled);
            out.push(format!("{name} check {} {disabled}", c.name));
        }
        for f in &self.foreign {
            let (action, parent) = (f.on_delete as i32, &f.parent);
            out.push(format!(
                "{name} foreign {} {} {parent} {action}",
                f.name, f.column
            ));
        }
        for s in &self.statistics {
            out.push(format!("{name} statistics {s}"));
        }
        for t in &self.triggers {
            out.push(format!("object TR {} {}", t.name, t.text));
            out.push(format!(
                "{name} trigger {} {}",
                t.name,
                i32::from(t.disabled)
            ));
        }
    }
}
