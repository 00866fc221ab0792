//! Statements that define tables, columns, constraints and indexes.

use super::{Generator, Scene};
use crate::crash::sql::model::{At, Op};
use crate::crash::sql::step::{Effect, Stmt};
use crate::crash::sql::table::{Check, Column, Index, Made, Table, Ty};

/// The columns that tables may have: a name has its type.
const POOL: [(&str, Ty); 18] = [
    ("c0", Ty::Int),
    ("c1", Ty::BigInt),
    ("c2", Ty::Decimal),
    ("c3", Ty::Char(30)),
    ("c4", Ty::Varchar(100)),
    ("c5", Ty::NVarchar(60)),
    ("c6", Ty::Max),
    ("c7", Ty::Varchar(3000)),
    ("c8", Ty::Int),
    ("c9", Ty::Varchar(7000)),
    ("e0", Ty::Float),
    ("e1", Ty::Bit),
    ("e2", Ty::DateTime),
    ("e3", Ty::DateTime2),
    ("e4", Ty::Guid),
    ("e5", Ty::NMax),
    ("e6", Ty::BinMax),
    ("e7", Ty::Xml),
];

fn stmt(sql: String, op: Op) -> Option<Stmt> {
    Some(Stmt {
        sql,
        effect: Effect::Do(op),
    })
}

impl Generator {
    /// A statement that defines something.
    pub(super) fn define(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let n = self.rng.below(100);
        if n < 20 {
            return self.create(scene);
        }
        if n < 30 {
            return self.other(scene);
        }
        let Some((at, table)) = self.table(scene) else {
            return self.create(scene);
        };
        match n {
            30..34 if !self.rng.one_in(3) => self.lesser(scene, at, table),
            30..36 => stmt(format!("DROP TABLE {}", at.sql()), Op::Drop { at }),
            36..41 => stmt(format!("TRUNCATE TABLE {}", at.sql()), Op::Truncate { at }),
            41..49 => self.into(scene, at, table),
            49..60 => self.add_column(at, table),
            60..65 => self.drop_column(at, table),
            65..69 => self.alter_column(at, table),
            69..72 => self.add_constraint(at, table),
            72..74 => self.foreign_key(scene, at, table),
            74..79 => self.drop_constraint(at, table),
            79..88 => self.create_index(at, table),
            88..92 => self.drop_index(at, table),
            92..96 => self.rebuild(at, table),
            96..98 => self.rename(scene.who, at),
            _ => self.touch(at, table),
        }
    }

    pub(super) fn column(&mut self, name: &str, ty: Ty) -> Column {
        let nullable = self.rng.below(3) > 0;
        let default = match self.rng.one_in(4) {
            true => Some((self.name("df"), self.value(ty))),
            false => None,
        };
        Column {
            name: name.to_owned(),
            ty,
            nullable,
            made: Made::Plain,
            default,
        }
    }

    fn identity(&mut self) -> Column {
        Column {
            name: "n0".to_owned(),
            ty: if self.rng.one_in(3) {
                Ty::BigInt
            } else {
                Ty::Int
            },
            nullable: false,
            made: Made::Identity,
            default: None,
        }
    }

    fn computed(&mut self, table: &Table) -> Option<Column> {
        let whole = |c: &&Column| matches!(c.ty, Ty::Int | Ty::BigInt) && c.is_given();
        let of: Vec<&Column> = table.columns.iter().filter(whole).collect();
        let of = *self.rng.choose(&of)?;
        let plus = self.rng.below(50) as i64;
        Some(Column {
            name: "k0".to_owned(),
            ty: of.ty,
            nullable: true,
            made: Made::Computed(of.name.clone(), plus, self.rng.one_in(2)),
            default: None,
        })
    }

    pub(super) fn create(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let at = self.place(scene);
        if scene.view.table(&at).is_some() && !self.rng.one_in(15) {
            return None;
        }
        if self.rng.one_in(5)
            && let Some(stmt) = self.twin(scene, &at)
        {
            return Some(stmt);
        }
        let mut table = Table::default();
        for (name, ty) in POOL {
            if self.rng.one_in(4) {
                let c = self.column(name, ty);
                table.columns.push(c);
            }
        }
        if self.rng.one_in(3) {
            let c = self.identity();
            table.columns.push(c);
        }
        if self.rng.one_in(4)
            && let Some(c) = self.computed(&table)
        {
            table.columns.push(c);
        }
        if self.rng.one_in(2) {
            let clustered = self.rng.below(4) > 0;
            let name = self.name("pk");
            table.indexes.push(key(name, "PRIMARY KEY", clustered));
        }
        if self.rng.one_in(8) {
            let name = self.name("uq");
            table.indexes.push(key(name, "UNIQUE", false));
        }
        if self.rng.one_in(6) && table.at("c0").is_some() {
            let (name, limit) = (self.name("ck"), 990);
            table.checks.push(Check {
                name,
                column: "c0".to_owned(),
                limit,
                disabled: false,
            });
        }
        // A default that its check refuses would be refused row by row.
        let schemes = scene.view.dbs.get(&at.db);
        let has_scheme = schemes.is_some_and(|d| !d.boundaries.is_empty());
        table.partitioned = has_scheme && self.rng.one_in(6);
        let on = if table.partitioned { " ON ps (id)" } else { "" };
        let sql = format!("CREATE TABLE {} ({}){on}", at.sql(), table.elements());
        let table = Box::new(table);
        stmt(sql, Op::Create { at, table })
    }

    /// A table with the columns of another, and nothing else: rows can be switched to it.
    fn twin(&mut self, scene: &Scene<'_>, at: &At) -> Option<Stmt> {
        let (other, source) = self.table(scene)?;
        if other.db != at.db || source.rows.is_empty() {
            return None;
        }
        let mut table = Table {
            columns: source.columns.clone(),
            ..Table::default()
        };
        table.columns.iter_mut().for_each(|c| c.default = None);
        let sql = format!("CREATE TABLE {} ({})", at.sql(), table.elements());
        let (at, table) = (at.clone(), Box::new(table));
        stmt(sql, Op::Create { at, table })
    }

    /// Partitions, triggers, statistics, constraints that nobody asks.
    pub(super) fn lesser(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        match self.rng.below(12) {
            0 => self.boundary(scene).or_else(|| self.next_used(scene)),
            1..3 if table.partitioned => {
                let number = 1 + self.rng.below(4) as usize;
                let sql = format!("TRUNCATE TABLE {} WITH (PARTITIONS ({number}))", at.sql());
                stmt(sql, Op::TruncatePart { at, number })
            }
            3..6 => self.switch(scene, at, table),
            6..8 => match (table.triggers.is_empty(), self.rng.below(3)) {
                (true, _) => self.create_trigger(scene, at),
                (_, 0) => self.drop_trigger(scene, at, table),
                (_, 1) => self.alter_trigger(scene, at, table),
                _ => self.enable_trigger(scene, at, table),
            },
            8..10 => self.enable_check(at, table),
            10 if at.db == Self::home(scene.who) => {
                let (column, to) = match table.column("c0").is_some() {
                    true => ("c0".to_owned(), "c8".to_owned()),
                    false => ("c8".to_owned(), "c0".to_owned()),
                };
                let sql = format!(
                    "EXEC sys.sp_rename 'dbo.{}.{column}', '{to}', 'COLUMN'",
                    at.table
                );
                stmt(sql, Op::RenameColumn { at, column, to })
            }
            _ if self.rng.one_in(2) => self.drop_statistics(at, table),
            _ => self.create_statistics(at),
        }
    }

    pub(super) fn into(&mut self, scene: &Scene<'_>, from: At, source: &Table) -> Option<Stmt> {
        let at = self.place(scene);
        if scene.view.table(&at).is_some() {
            return None;
        }
        let columns: Vec<String> = source.columns.iter().map(|c| c.name.clone()).collect();
        let has = columns.iter().any(|c| c == "n0");
        let identity = (!has && self.rng.one_in(4)).then(|| "n0".to_owned());
        let filter = self.filter(scene.who);
        let mut words = vec!["id".to_owned()];
        words.extend(columns.iter().cloned());
        words.extend(
            identity
                .iter()
                .map(|n| format!("IDENTITY(int, 1, 1) AS {n}")),
        );
        let sql = format!(
            "SELECT {} INTO {} FROM {} WHERE {}",
            words.join(", "),
            at.sql(),
            from.sql(),
            filter.sql()
        );
        let op = Op::Into {
            at,
            from,
            columns,
            filter,
            identity,
        };
        stmt(sql, op)
    }

    pub(super) fn add_column(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let has = |name: &str| table.column(name).is_some();
        let column = match self.rng.below(6) {
            0 if !has("n0") => self.identity(),
            1 if !has("k0") => self.computed(table)?,
            _ => {
                let free = POOL.iter().filter(|(n, _)| !has(n));
                let free: Vec<_> = free.collect();
                let (name, ty) = **self.rng.choose(&free)?;
                let mut c = self.column(name, ty);
                // One that is not NULL needs a default, nearly always.
                if !c.nullable && c.default.is_none() && !self.rng.one_in(6) {
                    c.default = Some((self.name("df"), self.value(ty)));
                }
                c
            }
        };
        let sql = format!("ALTER TABLE {} ADD {}", at.sql(), column.sql());
        let column = Box::new(column);
        stmt(sql, Op::AddColumn { at, column })
    }

    pub(super) fn drop_column(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let column = self.rng.choose(&table.columns)?.name.clone();
        let sql = format!("ALTER TABLE {} DROP COLUMN {column}", at.sql());
        stmt(sql, Op::DropColumn { at, column })
    }

    pub(super) fn alter_column(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let plain: Vec<&Column> = table
            .columns
            .iter()
            .filter(|c| c.is_given() && c.default.is_none() && c.ty != Ty::Xml)
            .collect();
        let c = *self.rng.choose(&plain)?;
        let ty = match c.ty {
            Ty::Int => Ty::BigInt,
            Ty::Varchar(n) if n < 1000 => Ty::Varchar(n + 50),
            Ty::NVarchar(n) => Ty::NVarchar(n + 10),
            other => other,
        };
        let nullable = c.nullable || self.rng.one_in(2);
        let null = if nullable { "NULL" } else { "NOT NULL" };
        let column = c.name.clone();
        let sql = format!(
            "ALTER TABLE {} ALTER COLUMN {column} {} {null}",
            at.sql(),
            ty.sql()
        );
        stmt(
            sql,
            Op::AlterColumn {
                at,
                column,
                ty,
                nullable,
            },
        )
    }

    pub(super) fn add_constraint(&mut self, at: At, table: &Table) -> Option<Stmt> {
        match self.rng.below(3) {
            0 => {
                let key_is_there = table
                    .indexes
                    .iter()
                    .any(|i| i.constraint == Some("PRIMARY KEY"));
                let kind = if key_is_there {
                    "UNIQUE"
                } else {
                    "PRIMARY KEY"
                };
                let clustered = table.clustered().is_none() && self.rng.one_in(2);
                let name = self.name("pk");
                let index = Box::new(key(name, kind, clustered));
                let sql = format!("ALTER TABLE {} ADD {}", at.sql(), index.element());
                stmt(sql, Op::AddIndex { at, index })
            }
            1 => {
                let plain: Vec<&Column> = table.columns.iter().filter(|c| c.is_given()).collect();
                let c = *self.rng.choose(&plain)?;
                let (name, value) = (self.name("df"), self.value(c.ty));
                let column = c.name.clone();
                let sql = format!(
                    "ALTER TABLE {} ADD CONSTRAINT {name} DEFAULT {} FOR {column}",
                    at.sql(),
                    value.sql()
                );
                stmt(
                    sql,
                    Op::AddDefault {
                        at,
                        column,
                        name,
                        value,
                    },
                )
            }
            _ => {
                let numbers: Vec<&Column> = table
                    .columns
                    .iter()
                    .filter(|c| c.ty.is_number() && c.is_given())
                    .collect();
                let column = self.rng.choose(&numbers)?.name.clone();
                let limit = if self.rng.one_in(4) { 900 } else { 5000 };
                let name = self.name("ck");
                let sql = format!(
                    "ALTER TABLE {} ADD CONSTRAINT {name} CHECK ({column} < {limit})",
                    at.sql()
                );
                let check = Check {
                    name,
                    column,
                    limit,
                    disabled: false,
                };
                stmt(sql, Op::AddCheck { at, check })
            }
        }
    }

    pub(super) fn drop_constraint(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let mut all: Vec<String> = table.checks.iter().map(|c| c.name.clone()).collect();
        all.extend(
            table
                .columns
                .iter()
                .filter_map(|c| c.default.as_ref().map(|d| d.0.clone())),
        );
        all.extend(
            table
                .indexes
                .iter()
                .filter(|i| i.constraint.is_some())
                .map(|i| i.name.clone()),
        );
        all.extend(table.foreign.iter().map(|f| f.name.clone()));
        let name = self.rng.choose(&all)?.clone();
        let sql = format!("ALTER TABLE {} DROP CONSTRAINT {name}", at.sql());
        stmt(sql, Op::DropConstraint { at, name })
    }

    pub(super) fn create_index(&mut self, at: At, table: &Table) -> Option<Stmt> {
        if table.indexes.len() > 4 {
            return self.drop_index(at, table);
        }
        let keys: Vec<&Column> = table
            .columns
            .iter()
            .filter(|c| c.ty.is_key())
            .filter(|c| !matches!(c.made, Made::Computed(_, _, false)))
            .collect();
        let mut columns: Vec<String> = self
            .rng
            .choose(&keys)
            .map(|c| c.name.clone())
            .into_iter()
            .collect();
        let mut unique = false;
        if columns.is_empty() || self.rng.one_in(3) {
            columns.push("id".to_owned());
            unique = self.rng.one_in(2);
        }
        if self.rng.one_in(4) {
            columns = vec!["id".to_owned()];
            unique = self.rng.one_in(2);
        }
        let clustered = table.clustered().is_none() && self.rng.one_in(4);
        let include: Vec<String> = match clustered || !self.rng.one_in(3) {
            true => Vec::new(),
            false => {
                let free = table
                    .columns
                    .iter()
                    .filter(|c| !columns.contains(&c.name) && c.ty != Ty::Xml)
                    .filter(|c| !matches!(c.made, Made::Computed(_, _, false)));
                let free: Vec<&Column> = free.collect();
                self.rng
                    .choose(&free)
                    .map(|c| c.name.clone())
                    .into_iter()
                    .collect()
            }
        };
        let name = self.name("ix");
        let words = format!(
            "{}{}",
            if unique { "UNIQUE " } else { "" },
            if clustered { "CLUSTERED " } else { "" }
        );
        let also = match include.is_empty() {
            true => String::new(),
            false => format!(" INCLUDE ({})", include.join(", ")),
        };
        let sql = format!(
            "CREATE {words}INDEX {name} ON {} ({}){also}",
            at.sql(),
            columns.join(", ")
        );
        let index = Box::new(Index {
            name,
            columns,
            include,
            unique,
            clustered,
            constraint: None,
            disabled: false,
        });
        stmt(sql, Op::AddIndex { at, index })
    }

    pub(super) fn drop_index(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let name = self.rng.choose(&table.indexes)?.name.clone();
        let sql = format!("DROP INDEX {name} ON {}", at.sql());
        stmt(sql, Op::DropIndex { at, name })
    }

    pub(super) fn rebuild(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let index = self.rng.choose(&table.indexes);
        let disabled = table.indexes.iter().any(|i| i.disabled);
        match (index, self.rng.below(6)) {
            (Some(i), 0..2) => {
                let name = i.name.clone();
                let sql = format!("ALTER INDEX {name} ON {} REBUILD", at.sql());
                let name = Some(name);
                stmt(sql, Op::Rebuild { at, name })
            }
            (Some(i), 2) if !i.clustered && i.constraint.is_none() => {
                let name = i.name.clone();
                let sql = format!("ALTER INDEX {name} ON {} DISABLE", at.sql());
                stmt(sql, Op::Disable { at, name })
            }
            (Some(_), 3) if !disabled => {
                let sql = format!("ALTER INDEX ALL ON {} REORGANIZE", at.sql());
                let defines = true;
                stmt(sql, Op::Touch { at, defines })
            }
            (Some(_), 4) => {
                let sql = format!("ALTER INDEX ALL ON {} REBUILD", at.sql());
                stmt(sql, Op::Rebuild { at, name: None })
            }
            _ => self.create_index(at, table),
        }
    }

    fn rename(&mut self, who: usize, at: At) -> Option<Stmt> {
        if at.db != Self::home(who) {
            return None;
        }
        let to = format!("t{}", self.rng.below(super::SLOTS));
        if to == at.table {
            return None;
        }
        let sql = format!("EXEC sys.sp_rename 'dbo.{}', '{to}'", at.table);
        stmt(sql, Op::Rename { at, to })
    }

    /// What leaves everything as it is.
    fn touch(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let defines = true;
        let sql = match self.rng.below(3) {
            0 if table.columns.iter().any(|c| c.made == Made::Identity) => {
                match self.rng.one_in(2) {
                    true => format!("DBCC CHECKIDENT ('{}') WITH NO_INFOMSGS", at.sql()),
                    false => format!(
                        "DBCC CHECKIDENT ('{}', RESEED, {}) WITH NO_INFOMSGS",
                        at.sql(),
                        self.rng.below(100_000)
                    ),
                }
            }
            _ => format!("UPDATE STATISTICS {}", at.sql()),
        };
        stmt(sql, Op::Touch { at, defines })
    }
}

fn key(name: String, kind: &'static str, clustered: bool) -> Index {
    Index {
        name,
        columns: vec!["id".to_owned()],
        include: Vec::new(),
        unique: true,
        clustered,
        constraint: Some(kind),
        disabled: false,
    }
}
