//! Objects that are no tables: procedures, views, functions, types, synonyms, schemas, principals.

use super::{Generator, Scene};
use crate::crash::sql::model::Op;
use crate::crash::sql::step::{Effect, Stmt};

/// Of each kind.
const COUNT: u64 = 2;

impl Generator {
    /// Rights, and the schema that a synonym is in.
    fn belonging(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let db = Self::home(scene.who);
        let others = &scene.view.dbs.get(db)?.others;
        let of = |kind: &str| -> Vec<(String, String)> {
            let all = others.iter().filter(|(w, _)| w.0 == kind);
            all.map(|(w, text)| (w.1.clone(), text.clone())).collect()
        };
        let (principals, schemas, synonyms) = (of("principal"), of("schema"), of("SN"));
        let (kind, name, text, sql) = match self.rng.below(2) {
            0 => {
                let (name, text) = self.rng.choose(&principals)?.clone();
                let word = ["GRANT", "DENY", "REVOKE"][self.rng.below(3) as usize];
                let sql = format!("{word} CREATE TABLE TO {name}");
                ("principal", name, text, sql)
            }
            _ => {
                let (name, from) = self.rng.choose(&synonyms)?.clone();
                let to = match from == "dbo" {
                    true => self.rng.choose(&schemas)?.0.clone(),
                    false => "dbo".to_owned(),
                };
                let sql = format!("ALTER SCHEMA {to} TRANSFER {from}.{name}");
                ("SN", name, to, sql)
            }
        };
        let op = Op::Other {
            db: db.to_owned(),
            what: (kind.to_owned(), name),
            text: Some(text),
            replaces: true,
        };
        Some(Stmt {
            sql,
            effect: Effect::Do(op),
        })
    }

    /// Makes, changes or drops one.
    pub(super) fn other(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        if self.rng.one_in(4) {
            return self.belonging(scene);
        }
        let db = Self::home(scene.who);
        let n = self.rng.below(COUNT);
        let (kind, name, make, drop, is_module) = match self.rng.below(8) {
            0 => (
                "P",
                format!("p{n}"),
                format!("PROCEDURE p{n} AS SELECT {}", self.rng.below(100)),
                "PROCEDURE",
                true,
            ),
            1 => (
                "V",
                format!("v{n}"),
                format!("VIEW v{n} AS SELECT {} AS x", self.rng.below(100)),
                "VIEW",
                true,
            ),
            2 => (
                "FN",
                format!("f{n}"),
                format!(
                    "FUNCTION f{n} (@a int) RETURNS int AS BEGIN RETURN @a + {} END",
                    self.rng.below(100)
                ),
                "FUNCTION",
                true,
            ),
            3 => (
                "type",
                format!("ty{n}"),
                format!("TYPE ty{n} FROM int"),
                "TYPE",
                false,
            ),
            4 => (
                "SN",
                format!("sy{n}"),
                format!("SYNONYM dbo.sy{n} FOR dbo.t{n}"),
                "SYNONYM",
                false,
            ),
            5 => (
                "schema",
                format!("s{n}"),
                format!("SCHEMA s{n}"),
                "SCHEMA",
                false,
            ),
            6 => (
                "principal",
                format!("r{n}"),
                format!("ROLE r{n}"),
                "ROLE",
                false,
            ),
            _ => (
                "principal",
                format!("u{n}"),
                format!("USER u{n} WITHOUT LOGIN"),
                "USER",
                false,
            ),
        };
        let what = (kind.to_owned(), name.clone());
        let is_there = scene
            .view
            .dbs
            .get(db)
            .is_some_and(|d| d.others.contains_key(&what));
        let db = db.to_owned();
        let (sql, text, replaces) = match (is_there, is_module && self.rng.one_in(2)) {
            (true, true) => {
                let sql = format!("ALTER {make}");
                let text = format!("CREATE {make}");
                (sql, Some(text), true)
            }
            (true, false) => {
                let of = scene.view.dbs.get(&db).and_then(|d| d.others.get(&what));
                let schema = match kind {
                    "SN" => of.map(|s| format!("{s}.")).unwrap_or_default(),
                    _ => String::new(),
                };
                (format!("DROP {drop} {schema}{name}"), None, false)
            }
            (false, _) => {
                let sql = format!("CREATE {make}");
                let text = match kind {
                    _ if is_module => sql.clone(),
                    // The schema that it is in.
                    "SN" => "dbo".to_owned(),
                    _ => String::new(),
                };
                (sql, Some(text), false)
            }
        };
        let op = Op::Other {
            db,
            what,
            text,
            replaces,
        };
        Some(Stmt {
            sql,
            effect: Effect::Do(op),
        })
    }
}
