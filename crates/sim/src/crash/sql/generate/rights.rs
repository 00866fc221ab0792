//! GRANT, DENY and REVOKE, and looks at what somebody holds.

use super::{Generator, Scene};
use crate::crash::sql::found;
use crate::crash::sql::model::{At, Db, Op};
use crate::crash::sql::rights::{self, Held, On, Right};
use crate::crash::sql::step::{Batch, Effect, Stmt};
use crate::crash::sql::world::MASTER;

/// Those who may hold rights.
fn principals(db: &Db, kinds: &[&str]) -> Vec<String> {
    let all = db.others.keys();
    let all = all.filter(|w| kinds.contains(&w.0.as_str()));
    all.map(|w| w.1.clone()).collect()
}

impl Generator {
    /// A right in the session's database.
    pub(super) fn grant(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let db = scene.view.dbs.get(Self::home(scene.who))?;
        let to = self.rng.choose(&principals(db, &["user", "role"]))?.clone();
        let on = match self.rng.one_in(3) {
            true => On::Database,
            false => self.rng.choose(&rights::securables(db))?.clone(),
        };
        let (right, held, sql) = self.right(on, to)?;
        let db = Self::home(scene.who).to_owned();
        let effect = Effect::Do(Op::Right { db, right, held });
        Some(Stmt { sql, effect })
    }

    /// A right on the server, which is given from master.
    pub(super) fn grant_on_server(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let to = principals(scene.view.dbs.get(MASTER)?, &["login"]);
        let to = self.rng.choose(&to)?.clone();
        let (right, held, sql) = self.right(On::Server, to)?;
        let db = MASTER.to_owned();
        let effect = Effect::Do(Op::Right { db, right, held });
        let sql = format!("EXEC('USE master; {sql}')");
        Some(Stmt { sql, effect })
    }

    /// GRANT, DENY, or REVOKE of what is held, most likely.
    fn right(&mut self, on: On, to: String) -> Option<(Right, Option<Held>, String)> {
        let permission = *self.rng.choose(on.permissions())?;
        let (word, held) = match self.rng.below(3) {
            0 => ("GRANT", Some(Held::Granted)),
            1 => ("DENY", Some(Held::Denied)),
            _ => ("REVOKE", None),
        };
        let sql = format!("{word} {permission}{} TO {to}", on.sql());
        let right = Right { on, permission, to };
        Some((right, held, sql))
    }

    /// What somebody holds.
    pub(super) fn look_at_rights(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let db = Self::home(scene.who);
        let of = principals(scene.view.dbs.get(db)?, &["user", "role"]);
        let of = self.rng.choose(&of)?.clone();
        let sql = found::rights(db, &format!("u.name = '{of}'"));
        let table = format!("{} {of}", rights::kind_of(&of));
        let db = db.to_owned();
        Some(Batch::plain(sql, Effect::Rights(At { db, table })))
    }
}
