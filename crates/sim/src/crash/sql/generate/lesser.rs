//! What hangs on tables: partitions, triggers, statistics, constraints that are asked or not.

use super::{Generator, Scene};
use crate::crash::sql::model::{At, Op};
use crate::crash::sql::step::{Effect, Stmt};
use crate::crash::sql::table::{Column, FORBIDDEN, Foreign, OnDelete, Table, Trigger, Ty};

fn stmt(sql: String, op: Op) -> Option<Stmt> {
    Some(Stmt {
        sql,
        effect: Effect::Do(op),
    })
}

impl Generator {
    pub(super) fn enable_check(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let check = self.rng.choose(&table.checks)?;
        let (name, enable) = (check.name.clone(), check.disabled);
        let verify = enable && self.rng.one_in(2);
        let word = match (enable, verify) {
            (false, _) => "NOCHECK",
            (true, false) => "CHECK",
            (true, true) => "WITH CHECK CHECK",
        };
        let sql = format!("ALTER TABLE {} {word} CONSTRAINT {name}", at.sql());
        let op = Op::EnableCheck {
            at,
            name,
            enable,
            verify,
        };
        stmt(sql, op)
    }

    pub(super) fn foreign_key(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        if at.db != Self::home(scene.who) {
            return None;
        }
        let columns = table
            .columns
            .iter()
            .filter(|c| c.is_given() && c.ty == Ty::Int);
        let columns: Vec<&Column> = columns.collect();
        let column = (*self.rng.choose(&columns)?).clone();
        let tables = &scene.view.dbs.get(&at.db)?.tables;
        let parents = tables
            .iter()
            .filter(|(n, t)| **n != at.table && t.guards_id());
        let parents: Vec<&String> = parents
            .map(|p| p.0)
            .filter(|n| n.starts_with('t'))
            .collect();
        let parent = (*self.rng.choose(&parents)?).clone();
        let (on_delete, word) = match self.rng.below(3) {
            0 => (OnDelete::NoAction, ""),
            1 if column.nullable => (OnDelete::SetNull, " ON DELETE SET NULL"),
            _ => (OnDelete::Cascade, " ON DELETE CASCADE"),
        };
        let name = self.name("fk");
        let sql = format!(
            "ALTER TABLE {} ADD CONSTRAINT {name} FOREIGN KEY ({}) REFERENCES dbo.{parent} (id){word}",
            at.sql(),
            column.name
        );
        let key = Foreign {
            name,
            column: column.name,
            parent,
            on_delete,
        };
        stmt(sql, Op::AddForeign { at, key })
    }

    pub(super) fn create_statistics(&mut self, at: At) -> Option<Stmt> {
        let name = self.name("st");
        let sql = format!("CREATE STATISTICS {name} ON {} (id)", at.sql());
        let make = true;
        stmt(sql, Op::Statistics { at, name, make })
    }

    pub(super) fn drop_statistics(&mut self, at: At, table: &Table) -> Option<Stmt> {
        let name = self.rng.choose(&table.statistics)?.clone();
        let sql = format!("DROP STATISTICS {}.{name}", at.sql());
        let make = false;
        stmt(sql, Op::Statistics { at, name, make })
    }

    pub(super) fn next_used(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let db = Self::home(scene.who).to_owned();
        let sql = "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]".to_owned();
        stmt(sql, Op::NextUsed { db })
    }

    pub(super) fn boundary(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let db = Self::home(scene.who).to_owned();
        let of = scene.view.dbs.get(&db)?;
        let there: Vec<i64> = of.boundaries.iter().copied().collect();
        let split = there.len() < 3 || of.next_used && self.rng.one_in(2);
        let value = match split {
            true => 20 + 10 * self.rng.below(110) as i64,
            false => *self.rng.choose(&there)?,
        };
        let word = if split { "SPLIT" } else { "MERGE" };
        let sql = format!("ALTER PARTITION FUNCTION pf() {word} RANGE ({value})");
        stmt(sql, Op::Boundary { db, value, split })
    }

    pub(super) fn switch(&mut self, scene: &Scene<'_>, at: At, table: &Table) -> Option<Stmt> {
        let db = scene.view.dbs.get(&at.db)?;
        let free = db
            .tables
            .iter()
            .filter(|(n, t)| **n != at.table && t.rows.is_empty());
        let free: Vec<String> = free.map(|(n, _)| n.clone()).collect();
        let to = At {
            db: at.db.clone(),
            table: self.rng.choose(&free)?.clone(),
        };
        let number = table.partitioned.then(|| 1 + self.rng.below(4) as usize);
        let part = number
            .map(|n| format!(" PARTITION {n}"))
            .unwrap_or_default();
        let sql = format!("ALTER TABLE {} SWITCH{part} TO {}", at.sql(), to.sql());
        stmt(sql, Op::Switch { at, to, number })
    }

    /// Modules are made in the database that the session is in.
    fn may_have_triggers(scene: &Scene<'_>, at: &At) -> bool {
        !at.is_temporary() && at.db == Self::home(scene.who)
    }

    fn trigger(&mut self, name: String, at: &At) -> Trigger {
        let rest = self.rng.below(FORBIDDEN as u64) as i64;
        let text = format!(
            "CREATE TRIGGER {name} ON dbo.{} AFTER INSERT AS IF EXISTS (SELECT * FROM inserted WHERE id % {FORBIDDEN} = {rest}) ROLLBACK",
            at.table
        );
        Trigger {
            name,
            text,
            rest,
            disabled: false,
        }
    }

    pub(super) fn create_trigger(&mut self, scene: &Scene<'_>, at: At) -> Option<Stmt> {
        if !Self::may_have_triggers(scene, &at) {
            return None;
        }
        let name = self.name("tr");
        let trigger = self.trigger(name, &at);
        made(at, trigger, false)
    }

    pub(super) fn alter_trigger(
        &mut self,
        scene: &Scene<'_>,
        at: At,
        table: &Table,
    ) -> Option<Stmt> {
        if !Self::may_have_triggers(scene, &at) {
            return None;
        }
        // Whether one that is disabled stays so is nowhere said.
        let enabled = table.triggers.iter().filter(|t| !t.disabled);
        let enabled: Vec<&Trigger> = enabled.collect();
        let name = self.rng.choose(&enabled)?.name.clone();
        let trigger = self.trigger(name, &at);
        made(at, trigger, true)
    }

    pub(super) fn drop_trigger(
        &mut self,
        scene: &Scene<'_>,
        at: At,
        table: &Table,
    ) -> Option<Stmt> {
        if !Self::may_have_triggers(scene, &at) {
            return None;
        }
        let name = self.rng.choose(&table.triggers)?.name.clone();
        stmt(format!("DROP TRIGGER {name}"), Op::DropTrigger { at, name })
    }

    pub(super) fn enable_trigger(
        &mut self,
        scene: &Scene<'_>,
        at: At,
        table: &Table,
    ) -> Option<Stmt> {
        if !Self::may_have_triggers(scene, &at) {
            return None;
        }
        let t = self.rng.choose(&table.triggers)?.clone();
        let (name, enable) = (t.name, t.disabled);
        let word = if enable { "ENABLE" } else { "DISABLE" };
        let sql = format!("ALTER TABLE {} {word} TRIGGER {name}", at.sql());
        stmt(sql, Op::EnableTrigger { at, name, enable })
    }
}

/// CREATE TRIGGER, or ALTER TRIGGER of one that this one replaces.
fn made(at: At, trigger: Trigger, replaces: bool) -> Option<Stmt> {
    let sql = match replaces {
        true => trigger.text.replacen("CREATE", "ALTER", 1),
        false => trigger.text.clone(),
    };
    let op = Op::CreateTrigger {
        at,
        trigger,
        replaces,
    };
    stmt(sql, op)
}
