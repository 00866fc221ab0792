//! Every row by itself, as everybody, where it is a user, where it is a guest, and from outside.

use std::collections::BTreeMap;

use duramen_inspect::reference;
use duramen_session::Session;

use super::people::{IDENTITIES, Identity, Place, enter, id_of, set_up};
use super::probes::{Names, probe};
use super::table::{Line, table, within};
use super::{failure, refusal};
use crate::{instance, run};

#[test]
fn every_row_needs_what_the_documentation_says() {
    let table = table();
    let said: BTreeMap<(&str, &str), &Line> = table
        .iter()
        .map(|l| ((l.kind.as_str(), l.name.as_str()), l))
        .collect();
    assert_eq!(said.len(), table.len(), "a line is there twice");
    let mut wrong = Vec::new();
    let rows = reference::permissions();
    for row in &rows {
        let Some(line) = said.get(&(row.kind, row.name.as_str())) else {
            wrong.push(format!("{} {} has no line", row.kind, row.name));
            continue;
        };
        let (right, of) = (line.rights.join(" or "), line.of.join(" or "));
        if row.right != right || right != "none" && row.of != of {
            wrong.push(format!(
                "{} {}: {right} of {of} in the table, {} of {} in the code",
                row.kind, row.name, row.right, row.of
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(rows.len(), table.len(), "a line is of nothing");
    for line in within() {
        let of = table.iter().find(|l| l.name == line.name);
        assert!(
            of.is_some_and(Line::is_public),
            "{} is of nothing",
            line.name
        );
    }
}

/// The lines of rows, each with the one that says what is really asked.
pub fn asked() -> Vec<(Line, Line)> {
    let within = within();
    let rows = table().into_iter().zip(table());
    let mut rows: Vec<(Line, Line)> = rows.collect();
    for line in within {
        let row = rows.iter_mut().find(|(l, _)| l.name == line.name);
        row.expect("a row").1 = line;
    }
    rows
}

/// What cannot be rolled back, or not be within a transaction.
const ALONE: &[&str] = &[
    "ALTER DATABASE",
    "CREATE DATABASE",
    "DROP DATABASE",
    "BACKUP",
    "RESTORE",
    "CHECKPOINT",
    "RECONFIGURE",
    "CREATE EVENT SESSION",
    "ALTER EVENT SESSION",
    "DROP EVENT SESSION",
    "sys.sp_attach",
    "sys.sp_changedbowner",
    "sys.sp_detach_db",
    "sys.sp_renamedb",
    "sp_configure",
    "KILL",
];

/// Whether a row is tried within a transaction that is rolled back.
pub fn is_rolled_back(line: &Line) -> bool {
    let kinds = ["statement", "procedure", "SET"];
    kinds.contains(&line.kind.as_str()) && !ALONE.iter().any(|h| line.name.starts_with(h))
}

/// What an administrator does before a row is tried, where what was done before cannot be taken back.
const BEFORE: &[(&str, &str)] = &[
    (
        "CREATE EVENT SESSION",
        "IF EXISTS (SELECT * FROM sys.server_event_sessions WHERE name = 'made') DROP EVENT SESSION made ON SERVER",
    ),
    (
        "DROP EVENT SESSION",
        "IF NOT EXISTS (SELECT * FROM sys.server_event_sessions WHERE name = 'made') \
         CREATE EVENT SESSION made ON SERVER ADD EVENT sqlserver.login",
    ),
    (
        "ALTER EVENT SESSION",
        "ALTER EVENT SESSION system_health ON SERVER STATE = STOP",
    ),
];

/// Runs a batch, and takes back what it has done.
pub fn attempt(sa: &mut Session, s: &mut Session, line: &Line, sql: &str) -> Vec<String> {
    let before = BEFORE.iter().find(|(name, _)| *name == line.name);
    if let Some((_, before)) = before {
        run(sa, before);
    }
    let back = is_rolled_back(line) && !line.is_refused();
    if back {
        run(s, "BEGIN TRAN");
    }
    let lines = run(s, sql);
    if line.kind == "SET" {
        run(s, "SET SHOWPLAN_XML OFF");
        run(s, "SET SHOWPLAN_TEXT OFF");
        run(s, "SET SHOWPLAN_ALL OFF");
        run(
            s,
            "SET STATISTICS XML OFF; SET STATISTICS PROFILE OFF; SET IDENTITY_INSERT dbo.t OFF",
        );
        run(s, "SET IDENTITY_INSERT o.t OFF");
    }
    if back {
        run(s, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
    lines
}

/// What fails for who may do everything, and with which number: the row is asked, but there is nothing to do it to.
const FAILS: &[(&str, i32)] = &[
    ("CREATE DATABASE", 1801),
    ("DROP DATABASE", 3702),
    ("INSERT BULK", 40517),
    ("KILL", 6106),
    ("RESTORE DATABASE", 3201),
    ("RESTORE LOG", 3201),
    ("RESTORE HEADERONLY", 3201),
    ("RESTORE FILELISTONLY", 3201),
    ("RESTORE LABELONLY", 3201),
    ("RESTORE VERIFYONLY", 3201),
    ("RESTORE REWINDONLY", 3216),
    ("SHUTDOWN", 40517),
    ("FLUSHPROCINDB", 2521),
    ("SHRINKFILE", 8985),
    ("sys.sp_attach_db", 5120),
    ("sys.sp_attach_single_file_db", 5120),
    ("sys.sp_detach_db", 3703),
    ("sys.sp_renamedb", 1801),
    ("sys.fn_dump_dblog", 3201),
    ("sys.fn_trace_gettable", 567),
    ("sys.fn_xe_file_target_read_file", 25718),
    // Only over the wire.
    ("sys.sp_execute", 40517),
    ("sys.sp_prepare", 40517),
    ("sys.sp_prepexec", 40517),
    ("sys.sp_prepexecrpc", 40517),
    ("sys.sp_unprepare", 40517),
    // Of a linked server that is not there.
    ("sys.sp_catalogs", 15015),
    ("sys.sp_catalogs_rowset_rmt", 15015),
    ("sys.sp_column_privileges_rowset_rmt", 15015),
    ("sys.sp_columns_90_rowset_rmt", 15015),
    ("sys.sp_columns_ex", 15015),
    ("sys.sp_columns_ex_100", 15015),
    ("sys.sp_columns_ex_90", 15015),
    ("sys.sp_columns_rowset_rmt", 15015),
    ("sys.sp_foreign_keys_rowset_rmt", 15015),
    ("sys.sp_indexes_90_rowset_rmt", 15015),
    ("sys.sp_indexes_rowset_rmt", 15015),
    ("sys.sp_primary_keys_rowset_rmt", 15015),
    ("sys.sp_primarykeys", 15015),
    ("sys.sp_table_privileges_rowset_rmt", 15015),
    ("sys.sp_tables_ex", 15015),
    ("sys.sp_tables_rowset_rmt", 15015),
    ("sys.sp_usertypes_rowset_rmt", 15015),
];

/// Functions that have no row for whom they refuse, as their pages say, and rows for all others.
const EMPTY: &[&str] = &["sys.dm_db_stats_properties", "sys.dm_db_stats_histogram"];

/// Whether a row was refused.
pub fn is_refused(line: &Line, lines: &[String]) -> bool {
    let empty = EMPTY.contains(&line.name.as_str()) && lines.get(1).is_some_and(|l| l == "0");
    empty || refusal(lines).is_some()
}

/// Whether it fails for everybody.
pub fn fails(line: &Line) -> bool {
    FAILS.iter().any(|(name, _)| *name == line.name)
}

/// Whether nothing was said against it but what is said to everybody.
pub fn is_done(line: &Line, lines: &[String]) -> bool {
    let Some(said) = failure(lines) else {
        return true;
    };
    let mut known = FAILS.iter().filter(|(name, _)| *name == line.name);
    known.any(|(_, number)| said.starts_with(&format!("Msg {number},")))
}

/// The texts by which somebody outside tries a row of the database that is named.
fn from_outside(line: &Line, text: &str, names: Names<'_>) -> Vec<String> {
    let far = Names { far: true, ..names };
    let mut all = Vec::new();
    match line.kind.as_str() {
        "view" | "function" | "procedure" => all.push(far.put(text)),
        _ => {
            let here = names.put(text).replace('\'', "''");
            all.push(format!("EXEC {}.sys.sp_executesql N'{here}'", names.db));
            if text.contains("{o}") {
                all.push(far.put(text));
            }
        }
    }
    if text.contains("{db}") && !line.is_public() {
        all.push(names.put(text));
    }
    all
}

/// A name with a database is not allowed there, or it is not done from a text: nothing of the other database was asked.
const NOT_SO_FAR: &[i32] = &[102, 117, 166, 4610, 40517];

/// What was wrong with a row in a place.
fn try_place(
    (sa, s): (&mut Session, &mut Session),
    who: &Identity,
    place: &Place,
    (line, asked): (&Line, &Line),
    id: i32,
) -> Vec<String> {
    let text = probe(line);
    let names = Names {
        db: place.names,
        schema: "dbo",
        far: false,
        id,
    };
    let of_code = ["view", "function"].contains(&line.kind.as_str());
    let texts = match place.held {
        Some(_) => vec![names.put(&text)],
        // The same as at home.
        None if asked.is_of_server() && !of_code => return Vec::new(),
        None if line.is_refused() => return Vec::new(),
        None => from_outside(line, &text, names),
    };
    let mut wrong = Vec::new();
    for sql in texts {
        let home = format!("USE {}", place.home);
        run(s, &home);
        let lines = attempt(sa, s, line, &sql);
        let refused = is_refused(line, &lines);
        let ok = if line.is_refused() {
            lines.iter().any(|l| l.starts_with("Msg 40517"))
        } else if place.held.is_none() {
            let so_far = super::numbers(&lines).any(|n| NOT_SO_FAR.contains(&n));
            (who.holds(asked, place) && !of_code) != refused || so_far
        } else {
            let all = who.name != "sysad" || is_done(line, &lines);
            who.holds(asked, place) != refused && all
        };
        if !ok {
            let said = failure(&lines).or(lines.first());
            wrong.push(format!(
                "{} as {} in {}: {sql}: {said:?}",
                line.name, who.name, place.home
            ));
        }
    }
    wrong
}

#[test]
pub fn every_row_lets_in_who_holds_its_right_and_nobody_else() {
    let instance = instance();
    let mut sa = set_up(&instance);
    let rows = asked();
    let mut wrong = Vec::new();
    for who in IDENTITIES {
        let mut s = enter(&instance, who.name);
        for place in who.places() {
            let id = id_of(&mut sa, place.names, "dbo");
            for (line, asked) in &rows {
                wrong.extend(try_place((&mut sa, &mut s), who, &place, (line, asked), id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
