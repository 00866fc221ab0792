//! Statements that change rows, and looks at them.

use std::fmt::Write as _;

use super::{Generator, Scene};
use crate::crash::sql::disk::DATABASES;
use crate::crash::sql::model::{At, Filter, Op, Set};
use crate::crash::sql::step::{Batch, Effect, Form, Level, Load, Stmt};
use crate::crash::sql::table::{Column, Table, Ty, Val};
use crate::crash::sql::world::SESSIONS;

/// Keys of what a session inserts by hand.
const KEYS: u64 = 300;
/// Rows of a table after which more are removed than added.
const MANY: usize = 400;

type Given = Vec<(String, Val)>;

impl Generator {
    /// A statement that changes rows.
    pub(super) fn rows(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let Some((at, table)) = self.table(scene) else {
            return self.define(scene);
        };
        self.rows_of(scene, at, table)
    }

    /// The same, of this table.
    pub(super) fn rows_of(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        if table.rows.len() > MANY && self.rng.one_in(2) {
            return Some(self.delete(scene, at));
        }
        match self.rng.below(20) {
            0..6 => self.insert(scene, at, table),
            6..9 => self.load(scene, at, table),
            9..11 => self.insert_select(scene, at, table),
            11..16 => self.update(scene, at, table),
            16..19 => Some(self.delete(scene, at)),
            _ => self.stray(scene),
        }
    }

    pub(super) fn value(&mut self, ty: Ty) -> Val {
        if ty.is_number() {
            return Val::Int(self.rng.below(1000) as i64);
        }
        match ty {
            Ty::Bit => return Val::Int(self.rng.below(2) as i64),
            Ty::DateTime | Ty::DateTime2 => return Val::Day(1 + self.rng.below(28) as u8),
            Ty::Guid => return Val::Guid(self.rng.below(1_000_000) as u32),
            _ => {}
        }
        let letter = b'a' + self.rng.below(26) as u8;
        let most = u64::from(ty.most());
        let long = match ty {
            large if large.is_large() => [30, 3_000, 9_000, 24_000][self.rng.below(4) as usize],
            _ => [8, most][self.rng.below(2) as usize],
        };
        let count = self.rng.below(long.min(most) + 1) as u32;
        match ty {
            Ty::BinMax => Val::Bytes(letter, count),
            Ty::Xml => Val::Xml(letter, count.max(1)),
            _ => Val::Run(letter, count),
        }
    }

    /// Values of some of the columns: of all that need one, nearly always.
    fn given(&mut self, table: &Table) -> Given {
        let mut out = Vec::new();
        for c in table.columns.iter().filter(|c| c.is_given()) {
            let needed = !c.nullable && c.default.is_none();
            if needed && !self.rng.one_in(60) || self.rng.below(5) < 4 {
                out.push((c.name.clone(), self.one(c)));
            }
        }
        out
    }

    /// What columns of a table may refer to: rows of the session's own.
    pub(super) fn look_up_parents(&mut self, scene: &Scene<'_>, at: &At, table: &Table) {
        self.parents.clear();
        for f in &table.foreign {
            let of = At {
                db: at.db.clone(),
                table: f.parent.clone(),
            };
            let own = |id: &i64| id % SESSIONS as i64 == scene.who as i64;
            let rows = scene
                .view
                .table(&of)
                .into_iter()
                .flat_map(|t| t.rows.keys());
            let mut ids: Vec<i64> = rows.copied().filter(own).collect();
            // One that is not there, most likely.
            ids.push((self.rng.below(KEYS) * SESSIONS as u64 + scene.who as u64) as i64);
            self.parents.push((f.column.clone(), ids));
        }
    }

    fn one(&mut self, c: &Column) -> Val {
        if let Some((_, ids)) = self.parents.iter().find(|p| p.0 == c.name) {
            return match c.nullable && self.rng.one_in(4) {
                true => Val::Null,
                false => self.rng.choose(ids).map_or(Val::Null, |id| Val::Int(*id)),
            };
        }
        match c.nullable && self.rng.one_in(6) {
            true => Val::Null,
            false => self.value(c.ty),
        }
    }

    /// An id of the session's that the table has not.
    fn fresh(&mut self, who: usize, table: &Table) -> Option<i64> {
        (0..20)
            .map(|_| (self.rng.below(KEYS) * SESSIONS as u64 + who as u64) as i64)
            .find(|id| !table.rows.contains_key(id))
    }

    pub(super) fn insert(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        let given = self.given(table);
        let names: Vec<String> = given.iter().map(|g| g.0.clone()).collect();
        let mut rows: Vec<(i64, Given)> = Vec::new();
        let count = 1 + self
            .rng
            .below([1, 1, 6][self.rng.clone().below(3) as usize]);
        for _ in 0..count {
            let id = self.fresh(scene.who, table)?;
            if rows.iter().any(|r| r.0 == id) {
                continue;
            }
            let values: Given = table
                .columns
                .iter()
                .filter(|c| names.contains(&c.name))
                .map(|c| (c.name.clone(), self.one(c)))
                .collect();
            rows.push((id, values));
        }
        // A key that is there.
        if table.guards_id() && self.rng.one_in(15) {
            let own = table
                .rows
                .keys()
                .find(|id| **id % SESSIONS as i64 == scene.who as i64);
            rows[0].0 = *own?;
        }
        let mut sql = format!("INSERT {} ({}) VALUES ", at.sql(), list(&names));
        for (n, (id, values)) in rows.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let _ = write!(sql, "{comma}({id}");
            for (_, v) in values {
                let _ = write!(sql, ", {}", v.sql());
            }
            sql.push(')');
        }
        Some(Stmt {
            sql,
            effect: Effect::Do(Op::Insert {
                at,
                rows,
                bulk: false,
            }),
        })
    }

    /// Many rows by INSERT ... SELECT.
    pub(super) fn load(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        let given = self.given(table);
        let ids = self.ids(scene.who, table)?;
        let each: Vec<String> = ids.iter().map(|i| format!("({i})")).collect();
        let values: String = given
            .iter()
            .map(|(_, v)| format!(", {}", v.sql()))
            .collect();
        let names: Vec<String> = given.iter().map(|g| g.0.clone()).collect();
        let hint = if self.rng.one_in(4) {
            " WITH (TABLOCK)"
        } else {
            ""
        };
        let sql = format!(
            "INSERT {}{hint} ({}) SELECT v.i{values} FROM (VALUES {}) AS v(i)",
            at.sql(),
            list(&names),
            each.join(", ")
        );
        let rows = ids.into_iter().map(|id| (id, given.clone())).collect();
        Some(Stmt {
            sql,
            effect: Effect::Do(Op::Insert {
                at,
                rows,
                bulk: false,
            }),
        })
    }

    /// Ids for a load; `None` when there are none.
    fn ids(&mut self, who: usize, table: &Table) -> Option<Vec<i64>> {
        let first = self.rng.below(KEYS);
        let count = 1 + self.rng.below([10, 60][self.rng.clone().below(2) as usize]);
        let ids: Vec<i64> = (first..first + count)
            .map(|k| (k * SESSIONS as u64 + who as u64) as i64)
            .filter(|id| !table.rows.contains_key(id))
            .collect();
        (!ids.is_empty()).then_some(ids)
    }

    fn insert_select(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        let (from, source) = self.table(scene)?;
        let columns: Vec<String> = table
            .columns
            .iter()
            .filter(|c| c.is_given() && source.column(&c.name).is_some_and(|s| s.is_given()))
            .map(|c| c.name.clone())
            .filter(|n| table.foreign.iter().all(|f| f.column != *n))
            .collect();
        let filter = self.filter(scene.who);
        let add = (SESSIONS as u64 * (KEYS + self.rng.below(4000))) as i64;
        let names = columns.iter().map(|c| format!(", {c}")).collect::<String>();
        let sql = format!(
            "INSERT {} ({}) SELECT id + {add}{names} FROM {} WHERE {}",
            at.sql(),
            list(&columns),
            from.sql(),
            filter.sql()
        );
        let op = Op::InsertSelect {
            at,
            from,
            columns,
            filter,
            add,
        };
        Some(Stmt {
            sql,
            effect: Effect::Do(op),
        })
    }

    pub(super) fn update(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        let filter = self.some(scene.who, table);
        let mut set = Vec::new();
        for c in table.columns.iter().filter(|c| c.is_given()) {
            if self.rng.one_in(2) {
                let refers = self.parents.iter().any(|p| p.0 == c.name);
                let how = match c.ty.is_number() && !refers && self.rng.one_in(3) {
                    true => Set::Plus(self.rng.below(9) as i64),
                    false => Set::To(self.one(c)),
                };
                set.push((c.name.clone(), how));
            }
        }
        if set.is_empty() {
            return None;
        }
        let words: Vec<String> = set
            .iter()
            .map(|(c, how)| match how {
                Set::To(v) => format!("{c} = {}", v.sql()),
                Set::Plus(n) => format!("{c} = {c} + {n}"),
            })
            .collect();
        let sql = format!(
            "UPDATE {} SET {} WHERE {}",
            at.sql(),
            words.join(", "),
            filter.sql()
        );
        Some(Stmt {
            sql,
            effect: Effect::Do(Op::Update { at, filter, set }),
        })
    }

    pub(super) fn delete(&mut self, scene: &Scene<'_>, at: At) -> Stmt {
        let filter = match scene.view.table(&at) {
            Some(table) => self.some(scene.who, table),
            None => self.filter(scene.who),
        };
        Stmt {
            sql: format!("DELETE {} WHERE {}", at.sql(), filter.sql()),
            effect: Effect::Do(Op::Delete { at, filter }),
        }
    }

    /// One row, or a range.
    fn some(&mut self, who: usize, table: &Table) -> Filter {
        let own: Vec<i64> = table
            .rows
            .keys()
            .copied()
            .filter(|id| id % SESSIONS as i64 == who as i64)
            .collect();
        match self.rng.choose(&own) {
            Some(id) if self.rng.one_in(2) => Filter {
                low: *id,
                high: *id,
                of: Some((SESSIONS as i64, who as i64)),
            },
            _ => self.filter(who),
        }
    }

    /// An INSERT into a table that may not be there: it is another's, or nobody's.
    fn stray(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let at = self.place(scene);
        if scene.view.table(&at).is_some() {
            return None;
        }
        let id = (self.rng.below(KEYS) * SESSIONS as u64 + scene.who as u64) as i64;
        Some(Stmt {
            sql: format!("INSERT {} (id) VALUES ({id})", at.sql()),
            effect: Effect::Do(Op::Insert {
                at,
                rows: vec![(id, Vec::new())],
                bulk: false,
            }),
        })
    }

    pub(super) fn look(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let (at, _) = self.table(scene)?;
        let mut filter = self.filter(scene.who);
        let by_versions = scene.versioned && at.db == DATABASES[1];
        let whole = match scene.level {
            Level::ReadCommitted => by_versions,
            Level::RepeatableRead => false,
            Level::Serializable | Level::Snapshot => scene.depth > 0 && !at.is_local(),
        };
        if whole && self.rng.below(4) > 0 {
            filter.of = None;
        }
        let sql = format!("SELECT * FROM {} WHERE {}", at.sql(), filter.sql());
        Some(Batch::plain(sql, Effect::Look { at, filter }))
    }

    /// A bulk load.
    pub(super) fn bulk(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let (at, table) = self.table(scene)?;
        let columns: Vec<(String, Ty)> = table
            .columns
            .iter()
            .filter(|c| c.is_given())
            .map(|c| (c.name.clone(), c.ty))
            .collect();
        let mut rows = Vec::new();
        for id in self.ids(scene.who, table)? {
            let given = table.columns.iter().filter(|c| c.is_given());
            let values: Vec<Val> = given
                .cloned()
                .collect::<Vec<_>>()
                .iter()
                .map(|c| self.one(c))
                .collect();
            rows.push((id, values));
        }
        let types: String = columns
            .iter()
            .map(|(n, ty)| format!(", {n} {}", ty.sql()))
            .collect();
        let hint = match self.rng.below(3) {
            0 => " WITH (TABLOCK, CHECK_CONSTRAINTS, KEEP_NULLS)",
            _ => " WITH (CHECK_CONSTRAINTS, KEEP_NULLS)",
        };
        let op = Op::Insert {
            at: at.clone(),
            bulk: true,
            rows: rows
                .iter()
                .map(|(id, row)| {
                    let names = columns.iter().map(|c| c.0.clone());
                    (*id, names.zip(row.iter().cloned()).collect())
                })
                .collect(),
        };
        Some(Batch {
            stmts: vec![Stmt {
                sql: format!("INSERT BULK {} (id int{types}){hint}", at.sql()),
                effect: Effect::Do(op),
            }],
            form: Form::Bulk(Load { columns, rows }),
        })
    }
}

fn list(columns: &[String]) -> String {
    let mut out = "id".to_owned();
    for c in columns {
        let _ = write!(out, ", {c}");
    }
    out
}
