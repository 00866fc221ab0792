//! What the model's opinion of a statement rests on: a shorter story must be wrong for the same reason.

use std::collections::BTreeSet;

use super::disk::DATABASES;
use super::kinds::{self, KINDS};
use super::life::{Life, allowed};
use super::model::{At, GLOBAL, No};
use super::step::{Effect, Stmt};

/// The statement's kinds, what it must come to, and of the tables that it names which are there, have been there or never were.
pub fn of(life: &Life<'_>, who: usize, stmt: &Stmt) -> String {
    let view = life.view(who);
    // Whether it is in a string is left to the shorter story.
    let kinds = kinds::of(&stmt.sql).into_iter().map(|k| KINDS[k].name);
    let kinds: Vec<&str> = kinds.filter(|k| *k != "EXECUTE").collect();
    let must = match &stmt.effect {
        Effect::Do(op) => match allowed(&view, op) {
            Ok(()) => "is done".to_owned(),
            Err(No::Refused(n)) => format!("is refused with {n:?}"),
            Err(No::Unknown) => "is unknown".to_owned(),
        },
        Effect::Fails(n) => format!("fails with {n:?}"),
        _ => "is taken".to_owned(),
    };
    let tables: BTreeSet<&str> = named(&stmt.sql, who)
        .iter()
        .map(|at| match view.table(at) {
            Some(_) => "there",
            None if life.world.known.contains(at) => "gone",
            None => "never made",
        })
        .collect();
    format!("{kinds:?} {must}, of tables {tables:?}")
}

/// The tables that a text names.
fn named(sql: &str, who: usize) -> Vec<At> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_.#".contains(c);
    let words = sql.split(|c| !part(c));
    words
        .filter_map(|word| {
            let (db, table) = match word.split_once(".dbo.") {
                Some((db, table)) => (db, table),
                None => (
                    DATABASES[who % 2],
                    word.strip_prefix("dbo.").unwrap_or(word),
                ),
            };
            let qualified = word.contains("dbo.");
            let at = |db: &str, table: &str| At {
                db: db.to_owned(),
                table: table.to_owned(),
            };
            match table.strip_prefix('#') {
                Some(rest) if rest.starts_with('#') => Some(at(GLOBAL, table)),
                Some(_) => Some(at(&format!("#{who}"), table)),
                None => qualified.then(|| at(db, table)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_their_names_in_a_text() {
        let sql = "EXEC('INSERT a.dbo.t1 (id) SELECT id + 1.5 FROM #x0 t, dbo.t2')";
        let all: Vec<String> = named(sql, 1)
            .iter()
            .map(|at| format!("{}:{}", at.db, at.table))
            .collect();
        assert_eq!(all, ["a:t1", "#1:#x0", "b:t2"]);
    }
}
