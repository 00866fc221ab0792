//! What the rows of statements say of the places where they may stand is so: in a transaction, in a read-only database, in a
//! function and in a trigger.

use duramen_inspect::reference::{self, StatementEntry};

use super::people::{fine, set_up};
use super::probes::{Names, statement};
use crate::*;

/// A transaction is open: 226 for all that stand alone, 3021, 574 and 6115 for some in words of their own.
const OF_TRANSACTIONS: &[&str] = &["226", "3021", "574", "6115"];
/// The database cannot be written.
const OF_READ_ONLY: &[&str] = &["3906"];

/// What is not tried: it would end the server, or nothing could be read afterwards.
const NOT_TRIED: &[&str] = &["SHUTDOWN"];

fn text_of(row: &StatementEntry) -> String {
    let names = Names {
        db: "d",
        schema: "dbo",
        far: false,
        id: 0,
    };
    names.put(&statement(row.name))
}

fn has_one_of(lines: &[String], numbers: &[&str]) -> bool {
    let number = |l: &String| {
        let rest = l.strip_prefix("Msg ")?;
        Some(rest.split(',').next().unwrap_or_default().to_owned())
    };
    let mut all = lines.iter().filter_map(number);
    all.any(|n| numbers.contains(&n.as_str()))
}

#[test]
fn statements_are_refused_where_their_rows_say() {
    let instance = instance();
    let mut sa = set_up(&instance);
    let tried = || reference::statements().filter(|r| r.runs && !NOT_TRIED.contains(&r.name));
    let mut wrong = Vec::new();
    for row in tried() {
        let text = text_of(&row);
        fine(&mut sa, "USE d; BEGIN TRANSACTION");
        let lines = run(&mut sa, &text);
        run(&mut sa, "IF @@TRANCOUNT > 0 ROLLBACK");
        if has_one_of(&lines, OF_TRANSACTIONS) == row.in_transactions {
            wrong.push(format!("in a transaction: {text}: {lines:?}"));
        }
        let body = text.replace('\'', "''");
        let trigger = format!(
            "EXEC('CREATE TRIGGER places ON dbo.for_all AFTER DELETE AS {}')",
            body
        );
        fine(&mut sa, "BEGIN TRANSACTION");
        let lines = run(&mut sa, &trigger);
        run(&mut sa, "IF @@TRANCOUNT > 0 ROLLBACK");
        if has_one_of(&lines, &["287"]) == row.in_triggers {
            wrong.push(format!("in a trigger: {text}: {lines:?}"));
        }
    }
    fine(&mut sa, "USE master; ALTER DATABASE d SET READ_ONLY; USE d");
    for row in tried() {
        // What announces rows is refused when they come.
        if row.name == "INSERT BULK" {
            continue;
        }
        let text = text_of(&row);
        if row.in_transactions {
            fine(&mut sa, "BEGIN TRANSACTION");
        }
        let lines = run(&mut sa, &text);
        run(&mut sa, "IF @@TRANCOUNT > 0 ROLLBACK; USE d");
        if has_one_of(&lines, OF_READ_ONLY) == row.in_read_only {
            wrong.push(format!("in a read-only database: {text}: {lines:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
