//! What is committed, and what an operation makes of it.
//!
//! An [`Op`] is a statement's effect with everything decided: applied to the databases as the session sees them it gives
//! what must be there afterwards, or the errors with which the statement must be refused. A transaction is the list of its
//! operations; a savepoint is a length of that list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::define::{alike, define};
use super::rights::{self, Held, Right, Rights};
use super::table::{Check, Column, FORBIDDEN, Foreign, Index, Made, Row, Table, Trigger, Ty, Val};
use super::{disk, keys, others, partitions};

/// Where the model keeps global temporary tables and procedures.
pub const GLOBAL: &str = "##";

/// A table's database and name. Temporary tables of session n are in `#n`, those of everybody in [`GLOBAL`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct At {
    pub db: String,
    pub table: String,
}

/// Instead of a table's name: every table of the database.
pub const EVERY: &str = "*";

/// A row to be inserted: its id, and what columns get.
pub(crate) type Given = (i64, Vec<(String, Val)>);

impl At {
    /// Whether both may be the same table.
    pub fn meets(&self, other: &At) -> bool {
        let every = |at: &At| at.table == EVERY;
        self.db == other.db && (self.table == other.table || every(self) || every(other))
    }

    pub fn sql(&self) -> String {
        match self.db.starts_with('#') {
            true => self.table.clone(),
            false => format!("{}.dbo.{}", self.db, self.table),
        }
    }

    pub fn is_temporary(&self) -> bool {
        self.db.starts_with('#')
    }

    pub fn is_global(&self) -> bool {
        self.db == GLOBAL
    }

    /// Nobody but its session sees it.
    pub fn is_local(&self) -> bool {
        self.is_temporary() && !self.is_global()
    }
}

/// Rows by id: of one session, between two bounds, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    pub low: i64,
    pub high: i64,
    /// Divisor and rest; `None`: everybody's.
    pub of: Option<(i64, i64)>,
}

impl Filter {
    pub fn takes(&self, id: i64) -> bool {
        (self.low..=self.high).contains(&id) && self.of.is_none_or(|(d, r)| id % d == r)
    }

    pub fn sql(&self) -> String {
        let own = self
            .of
            .map(|(d, r)| format!(" AND id % {d} = {r}"))
            .unwrap_or_default();
        if self.low == self.high {
            return format!("id = {}", self.low);
        }
        format!("id BETWEEN {} AND {}{own}", self.low, self.high)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Set {
    To(Val),
    Plus(i64),
}

/// What is no table: kind and name, see [`others`].
pub type Other = (String, String);

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A bulk load fires no trigger.
    Insert {
        at: At,
        rows: Vec<(i64, Vec<(String, Val)>)>,
        bulk: bool,
    },
    InsertSelect {
        at: At,
        from: At,
        columns: Vec<String>,
        filter: Filter,
        add: i64,
    },
    Into {
        at: At,
        from: At,
        columns: Vec<String>,
        filter: Filter,
        identity: Option<String>,
    },
    Update {
        at: At,
        filter: Filter,
        set: Vec<(String, Set)>,
    },
    Delete {
        at: At,
        filter: Filter,
    },
    Truncate {
        at: At,
    },
    Create {
        at: At,
        table: Box<Table>,
    },
    Drop {
        at: At,
    },
    AddColumn {
        at: At,
        column: Box<Column>,
    },
    DropColumn {
        at: At,
        column: String,
    },
    AlterColumn {
        at: At,
        column: String,
        ty: Ty,
        nullable: bool,
    },
    AddDefault {
        at: At,
        column: String,
        name: String,
        value: Val,
    },
    AddCheck {
        at: At,
        check: Check,
    },
    /// A constraint of any kind.
    DropConstraint {
        at: At,
        name: String,
    },
    /// CREATE INDEX, or ADD CONSTRAINT of a key.
    AddIndex {
        at: At,
        index: Box<Index>,
    },
    DropIndex {
        at: At,
        name: String,
    },
    /// REBUILD of one index or of all; or DISABLE of one.
    Rebuild {
        at: At,
        name: Option<String>,
    },
    Disable {
        at: At,
        name: String,
    },
    Rename {
        at: At,
        to: String,
    },
    RenameColumn {
        at: At,
        column: String,
        to: String,
    },
    /// A partition only, by number.
    TruncatePart {
        at: At,
        number: usize,
    },
    /// SWITCH of the whole table, or of a partition of it, to an empty one.
    Switch {
        at: At,
        to: At,
        number: Option<usize>,
    },
    /// The partition scheme knows where the next partition goes.
    NextUsed {
        db: String,
    },
    /// SPLIT or MERGE of the partition function.
    Boundary {
        db: String,
        value: i64,
        split: bool,
    },
    /// CREATE or ALTER.
    CreateTrigger {
        at: At,
        trigger: Trigger,
        replaces: bool,
    },
    DropTrigger {
        at: At,
        name: String,
    },
    EnableTrigger {
        at: At,
        name: String,
        enable: bool,
    },
    AddForeign {
        at: At,
        key: Foreign,
    },
    /// NOCHECK, CHECK, or WITH CHECK CHECK of a constraint.
    EnableCheck {
        at: At,
        name: String,
        enable: bool,
        verify: bool,
    },
    Statistics {
        at: At,
        name: String,
        make: bool,
    },
    /// The table is there, and as before afterwards.
    Touch {
        at: At,
        defines: bool,
    },
    /// A database becomes what a backup of it holds.
    Becomes {
        db: String,
        state: Box<Db>,
    },
    /// Makes (with its text) or drops what is no table.
    Other {
        db: String,
        what: Other,
        text: Option<String>,
        replaces: bool,
    },
    /// GRANT or DENY; REVOKE.
    Right {
        db: String,
        right: Right,
        held: Option<Held>,
    },
}

/// Errors of what has no such name, or has one already.
pub const NAMES: &[i32] = &[
    2501, 208, 207, 1752, 4902, 3701, 1088, 4701, 4924, 1911, 2714, 3728, 15248, 15225, 3703, 2727,
    218, 15151, 2760, 4922, 5074, 1913, 1759, 4916, 213, 2705, 102, 15335, 219, 3729, 1779, 1781,
    1902, 2812, 1801, 3727, 4917, 4920, 4121, 3739, 308, 911, 1768, 8197, 15014, 15023, 15025,
    2702,
];

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Db {
    pub tables: BTreeMap<String, Arc<Table>>,
    pub others: BTreeMap<Other, String>,
    pub rights: Rights,
    /// Of the partition function.
    pub boundaries: BTreeSet<i64>,
    /// Its scheme has a place for one more partition.
    pub next_used: bool,
}

impl Db {
    /// Whether there is something of this kind and name that is no table.
    pub fn has(&self, kind: &str, name: &str) -> bool {
        self.others
            .contains_key(&(kind.to_owned(), name.to_owned()))
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    pub dbs: BTreeMap<String, Db>,
}

/// Why an operation is not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum No {
    /// The statement must be refused, with one of these numbers.
    Refused(Vec<i32>),
    /// The model does not say what would come: such a statement is not to be run.
    Unknown,
}

type Done = Result<(), No>;

pub fn refused(numbers: &[i32]) -> No {
    No::Refused(numbers.to_vec())
}

pub fn missing() -> No {
    refused(NAMES)
}

impl Op {
    /// The tables that it touches, and whether their definition.
    pub fn touches(&self) -> Vec<(At, bool)> {
        match self {
            Op::Insert { at, .. } | Op::Update { at, .. } | Op::Delete { at, .. } => {
                vec![(at.clone(), false)]
            }
            Op::InsertSelect { at, from, .. } => vec![(at.clone(), false), (from.clone(), false)],
            Op::Into { at, from, .. } => vec![(at.clone(), true), (from.clone(), false)],
            Op::Rename { at, to } => vec![
                (at.clone(), true),
                (
                    At {
                        db: at.db.clone(),
                        table: to.clone(),
                    },
                    true,
                ),
            ],
            Op::Truncate { at }
            | Op::Create { at, .. }
            | Op::Drop { at }
            | Op::AddColumn { at, .. }
            | Op::DropColumn { at, .. }
            | Op::AlterColumn { at, .. }
            | Op::AddDefault { at, .. }
            | Op::AddCheck { at, .. }
            | Op::DropConstraint { at, .. }
            | Op::AddIndex { at, .. }
            | Op::DropIndex { at, .. }
            | Op::Rebuild { at, .. }
            | Op::Disable { at, .. }
            | Op::RenameColumn { at, .. } => vec![(at.clone(), true)],
            Op::TruncatePart { at, .. }
            | Op::CreateTrigger { at, .. }
            | Op::DropTrigger { at, .. }
            | Op::EnableTrigger { at, .. }
            | Op::EnableCheck { at, .. }
            | Op::Statistics { at, .. } => vec![(at.clone(), true)],
            Op::Switch { at, to, .. } => vec![(at.clone(), true), (to.clone(), true)],
            Op::AddForeign { at, key } => {
                let (db, table) = (at.db.clone(), key.parent.clone());
                vec![(at.clone(), true), (At { db, table }, true)]
            }
            Op::NextUsed { db } | Op::Boundary { db, .. } | Op::Becomes { db, .. } => vec![(
                At {
                    db: db.clone(),
                    table: EVERY.to_owned(),
                },
                true,
            )],
            Op::Touch { at, defines } => vec![(at.clone(), *defines)],
            Op::Other { db, what, text, .. } => others::touches(db, what, text.as_ref()),
            Op::Right { db, right, .. } => rights::touches(db, right),
        }
    }

    /// The database that a DROP DATABASE is about.
    pub fn drops_database(&self) -> Option<&str> {
        match self {
            Op::Other { what, text, .. } if what.0 == "DB" && text.is_none() => Some(&what.1),
            _ => None,
        }
    }
}

impl Model {
    pub fn table(&self, at: &At) -> Option<&Arc<Table>> {
        self.dbs.get(&at.db)?.tables.get(&at.table)
    }

    fn db(&mut self, name: &str) -> &mut Db {
        self.dbs.entry(name.to_owned()).or_default()
    }

    fn open(&mut self, at: &At) -> Result<&mut Table, No> {
        let table = self.db(&at.db).tables.get_mut(&at.table);
        table.map(Arc::make_mut).ok_or_else(missing)
    }

    /// The same effect without its source: a transaction does not keep others from changing what it has read.
    pub fn settled(&self, op: &Op) -> Op {
        let settled = match op {
            Op::InsertSelect {
                at,
                from,
                columns,
                filter,
                add,
            } => {
                let rows = self.selected(from, columns, filter, *add);
                rows.ok().map(|rows| Op::Insert {
                    at: at.clone(),
                    rows,
                    bulk: false,
                })
            }
            Op::Into { at, .. } => {
                let mut after = self.clone();
                let done = after.apply(op).is_ok();
                let table = after.table(at).filter(|_| done);
                table.map(|table| Op::Create {
                    at: at.clone(),
                    table: Box::new((**table).clone()),
                })
            }
            _ => None,
        };
        settled.unwrap_or_else(|| op.clone())
    }

    /// Does it, whole or not at all.
    pub fn apply(&mut self, op: &Op) -> Done {
        let before = self.clone();
        let done = self.attempt(op);
        if done.is_err() {
            *self = before;
        }
        done
    }

    /// A database that comes and goes is there.
    fn has_databases(&self, op: &Op) -> bool {
        let all = op.touches();
        let mut made = all
            .iter()
            .filter(|(at, _)| at.table != EVERY && disk::MADE.contains(&at.db.as_str()));
        made.all(|(at, _)| self.dbs.contains_key(&at.db))
    }

    #[expect(clippy::too_many_lines, reason = "one arm an operation")]
    fn attempt(&mut self, op: &Op) -> Done {
        if !self.has_databases(op) {
            return Err(missing());
        }
        match op {
            Op::Insert { at, rows, bulk } => self.insert(at, rows, *bulk),
            Op::InsertSelect {
                at,
                from,
                columns,
                filter,
                add,
            } => {
                let rows = self.selected(from, columns, filter, *add)?;
                // Also where there is no row to look at.
                let target = self.open(at)?;
                let known = columns.iter().all(|c| target.at(c).is_some());
                known.then_some(()).ok_or_else(missing)?;
                self.insert(at, &rows, false)
            }
            Op::Into {
                at,
                from,
                columns,
                filter,
                identity,
            } => self.into(at, from, columns, filter, identity.as_deref()),
            Op::Update { at, filter, set } => {
                update(self.open(at)?, filter, set)?;
                self.refers(at, |id| filter.takes(id))
            }
            Op::Delete { at, filter } => {
                let table = self.open(at)?;
                shut(table)?;
                let gone = table.rows.keys().copied().filter(|id| filter.takes(*id));
                let gone: Vec<i64> = gone.collect();
                table.rows.retain(|id, _| !filter.takes(*id));
                keys::gone(self.db(&at.db), &at.table, &gone)
            }
            Op::AddForeign { at, key } => keys::add(self.db(&at.db), &at.table, key),
            Op::Truncate { at } => {
                let referred = self.db(&at.db).is_referred_to(&at.table);
                let table = self.open(at)?;
                if referred {
                    return Err(refused(&[4712]));
                }
                shut(table)?;
                table.rows.clear();
                Ok(())
            }
            Op::TruncatePart { at, number } => {
                if self.db(&at.db).is_referred_to(&at.table) {
                    return Err(No::Unknown);
                }
                let bounds = self.db(&at.db).partition(*number);
                let table = self.open(at)?;
                let (low, high) = bounds.filter(|_| table.partitioned).ok_or(No::Unknown)?;
                shut(table)?;
                if table.indexes.iter().any(|i| i.disabled) {
                    return Err(No::Unknown);
                }
                table.rows.retain(|id, _| !(low..high).contains(id));
                Ok(())
            }
            Op::Switch { at, to, number } => self.switch(at, to, *number),
            Op::NextUsed { db } => {
                self.db(db).next_used = true;
                Ok(())
            }
            Op::Boundary { db, value, split } => partitions::boundary(self.db(db), *value, *split),
            Op::Becomes { db, state } => {
                self.dbs.insert(db.clone(), (**state).clone());
                Ok(())
            }
            Op::Create { at, table } => self.make(at, (**table).clone()),
            Op::Drop { at } => {
                if self.db(&at.db).is_referred_to(&at.table) {
                    return Err(refused(&[3726]));
                }
                let db = self.db(&at.db);
                let gone = db.tables.remove(&at.table);
                rights::follow(db);
                gone.map(|_| ()).ok_or_else(missing)
            }
            Op::Rename { at, to } => {
                let db = self.db(&at.db);
                if db.tables.contains_key(to) && *to != at.table {
                    return Err(refused(&[15335]));
                }
                let table = db.tables.remove(&at.table).ok_or_else(missing)?;
                db.tables.insert(to.clone(), table);
                rights::renamed(db, &at.table, to);
                for table in db.tables.values_mut() {
                    if table.foreign.iter().any(|f| f.parent == at.table) {
                        let table = Arc::make_mut(table);
                        let mine = table.foreign.iter_mut().filter(|f| f.parent == at.table);
                        mine.for_each(|f| f.parent.clone_from(to));
                    }
                }
                Ok(())
            }
            Op::Other {
                db,
                what,
                text,
                replaces,
            } => {
                let db = self.db(db);
                others::change(&mut db.others, what, text.as_ref(), *replaces)?;
                rights::follow(db);
                match (what.0.as_str(), text) {
                    ("DB", Some(_)) => drop(self.dbs.insert(what.1.clone(), Db::default())),
                    ("DB", None) => drop(self.dbs.remove(&what.1)),
                    _ => {}
                }
                Ok(())
            }
            Op::Right { db, right, held } => rights::change(self.db(db), right, *held),
            _ => {
                let at = op_at(op);
                let referred = self.db(&at.db).is_referred_to(&at.table);
                let table = self.open(at)?;
                match referred && ends_key(table, op) {
                    true => Err(No::Unknown),
                    false => define(table, op),
                }
            }
        }
    }

    /// Rows of a table refer to rows that are there.
    fn refers(&mut self, at: &At, which: impl Fn(i64) -> bool + Copy) -> Done {
        let table = self.table(at).ok_or_else(missing)?.clone();
        let rows = table.rows.iter().filter(|(id, _)| which(**id));
        keys::refer(self.db(&at.db), &table, rows)
    }

    fn make(&mut self, at: &At, table: Table) -> Done {
        let db = self.db(&at.db);
        if db.tables.contains_key(&at.table) {
            return Err(refused(&[2714]));
        }
        db.tables.insert(at.table.clone(), Arc::new(table));
        Ok(())
    }

    fn insert(&mut self, at: &At, rows: &[(i64, Vec<(String, Val)>)], bulk: bool) -> Done {
        let table = self.open(at)?;
        shut(table)?;
        // A trigger that rolls back: the batch ends with 3609.
        let forbidden = |id: &i64| {
            let fires = |t: &Trigger| !t.disabled && id % FORBIDDEN == t.rest;
            table.triggers.iter().any(fires)
        };
        let stopped = !bulk && rows.iter().any(|(id, _)| forbidden(id));
        for (id, given) in rows {
            let row = table.row(given).map_err(No::Refused)?;
            if table.rows.contains_key(id) {
                return Err(match table.guards_id() {
                    true => refused(&[2627, 2601]),
                    false => No::Unknown,
                });
            }
            table.rows.insert(*id, row);
        }
        self.refers(at, |id| rows.iter().any(|(given, _)| *given == id))?;
        match stopped {
            true => Err(refused(&[3609])),
            false => Ok(()),
        }
    }

    fn switch(&mut self, at: &At, to: &At, number: Option<usize>) -> Done {
        let bounds = match number {
            None => Some((i64::MIN, i64::MAX)),
            Some(n) => self.db(&at.db).partition(n),
        };
        let (low, high) = bounds.ok_or(No::Unknown)?;
        let from = self.table(at).ok_or_else(missing)?.clone();
        let target = self.table(to).ok_or_else(missing)?.clone();
        let fits = at.db == to.db
            && at != to
            && target.rows.is_empty()
            && !target.partitioned
            && from.partitioned == number.is_some()
            && alike(&from, &target)
            && !self.db(&at.db).is_referred_to(&at.table)
            && !self.db(&at.db).is_referred_to(&to.table);
        if !fits {
            return Err(No::Unknown);
        }
        let moved: BTreeMap<i64, Row> = from
            .rows
            .iter()
            .filter(|(id, _)| (low..high).contains(*id))
            .map(|(id, row)| (*id, row.clone()))
            .collect();
        self.open(at)?.rows.retain(|id, _| !moved.contains_key(id));
        self.open(to)?.rows = moved;
        Ok(())
    }

    /// Rows of a table as rows to insert.
    fn selected(
        &self,
        from: &At,
        columns: &[String],
        filter: &Filter,
        add: i64,
    ) -> Result<Vec<Given>, No> {
        let source = self.table(from).ok_or_else(missing)?;
        shut(source)?;
        let places: Option<Vec<usize>> = columns.iter().map(|c| source.at(c)).collect();
        let places = places.ok_or_else(missing)?;
        let rows = source.rows.iter().filter(|(id, _)| filter.takes(**id));
        Ok(rows
            .map(|(id, row)| {
                let values = places.iter().map(|p| row[*p].clone());
                (id + add, columns.iter().cloned().zip(values).collect())
            })
            .collect())
    }

    fn into(
        &mut self,
        at: &At,
        from: &At,
        columns: &[String],
        filter: &Filter,
        identity: Option<&str>,
    ) -> Done {
        let rows = self.selected(from, columns, filter, 0)?;
        let source = self.table(from).ok_or_else(missing)?;
        let mut table = Table::default();
        for name in columns {
            let c = source.column(name).ok_or_else(missing)?;
            let computed = matches!(c.made, Made::Computed(..));
            table.columns.push(Column {
                made: match c.made {
                    Made::Identity if identity.is_none() => Made::Identity,
                    _ => Made::Plain,
                },
                default: None,
                nullable: c.nullable || computed,
                ..c.clone()
            });
        }
        table.columns.extend(identity.map(|name| Column {
            name: name.to_owned(),
            ty: Ty::Int,
            nullable: false,
            made: Made::Identity,
            default: None,
        }));
        for (id, given) in rows {
            let mut row: Row = given.into_iter().map(|(_, v)| v).collect();
            row.extend(identity.map(|_| Val::Any));
            table.rows.insert(id, row);
        }
        self.make(at, table)
    }
}

/// It takes away what a key refers to, or may.
fn ends_key(table: &Table, op: &Op) -> bool {
    match op {
        Op::DropIndex { name, .. } | Op::DropConstraint { name, .. } | Op::Disable { name, .. } => {
            let mut guards = table.indexes.iter().filter(|i| i.columns == ["id"]);
            guards.any(|i| i.name == *name)
        }
        _ => false,
    }
}

fn op_at(op: &Op) -> &At {
    match op {
        Op::Insert { at, .. }
        | Op::InsertSelect { at, .. }
        | Op::Into { at, .. }
        | Op::Update { at, .. }
        | Op::Delete { at, .. }
        | Op::Truncate { at }
        | Op::Create { at, .. }
        | Op::Drop { at }
        | Op::AddColumn { at, .. }
        | Op::DropColumn { at, .. }
        | Op::AlterColumn { at, .. }
        | Op::AddDefault { at, .. }
        | Op::AddCheck { at, .. }
        | Op::DropConstraint { at, .. }
        | Op::AddIndex { at, .. }
        | Op::DropIndex { at, .. }
        | Op::Rebuild { at, .. }
        | Op::Disable { at, .. }
        | Op::Rename { at, .. }
        | Op::Touch { at, .. }
        | Op::TruncatePart { at, .. }
        | Op::Switch { at, .. }
        | Op::CreateTrigger { at, .. }
        | Op::DropTrigger { at, .. }
        | Op::EnableTrigger { at, .. }
        | Op::EnableCheck { at, .. }
        | Op::Statistics { at, .. }
        | Op::AddForeign { at, .. }
        | Op::RenameColumn { at, .. } => at,
        Op::Other { .. }
        | Op::Right { .. }
        | Op::NextUsed { .. }
        | Op::Boundary { .. }
        | Op::Becomes { .. } => {
            unreachable!("is no table's")
        }
    }
}

pub fn shut(table: &Table) -> Done {
    match table.is_shut() {
        true => Err(refused(&[8655])),
        false => Ok(()),
    }
}

fn update(table: &mut Table, filter: &Filter, set: &[(String, Set)]) -> Done {
    shut(table)?;
    let mut places = Vec::new();
    for (name, set) in set {
        let at = table.at(name).ok_or_else(missing)?;
        if !table.columns[at].is_given() {
            return Err(refused(&[271, 8102]));
        }
        places.push((at, set));
    }
    let changed: Vec<usize> = places.iter().map(|(at, _)| *at).collect();
    let mut rows = std::mem::take(&mut table.rows);
    for (_, row) in rows.iter_mut().filter(|(id, _)| filter.takes(**id)) {
        for (at, set) in &places {
            row[*at] = match (set, &row[*at]) {
                (Set::To(v), _) => v.clone(),
                (Set::Plus(n), Val::Int(v)) => Val::Int(v + n),
                (Set::Plus(_), other) => other.clone(),
            };
        }
        table.compute(row);
        table.permitted(row, Some(&changed)).map_err(No::Refused)?;
    }
    table.rows = rows;
    Ok(())
}
