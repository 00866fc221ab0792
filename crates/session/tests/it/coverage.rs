//! Every function, every error that a client can get and every kind of statement occurs in a golden script.
//!
//! What cannot, or would differ from run to run, is listed with the reason; a list that says so of something that does
//! occur is wrong too.

// The scripts and sources are files of the repository.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::path::Path;

use duramen_base::messages;
use duramen_tsql::ParseOptions;

/// Damage, full disks and lost power have tests of their own, on simulated disks.
const DISK: &str =
    "needs a disk that fails, is full or was damaged: tests of storage and `session::full`";
const TIMES: &str = "its text has times, numbers of sessions or of pages";
const TWO: &str = "needs sessions at the same moment: `isolation`, `waiting`, `database_files`";
const WIRE: &str = "comes with calls of the wire: tests of server and `describe`";
const RECOVERING: &str = "needs a database that is being recovered: `recovering`";
const START: &str = "a line of the server's log at its start";

const LOGGED: &str = "a line of the error log: `error_log.slt` reads it";

const MESSAGES: &[(i32, &str)] = &[
    (500, WIRE),
    (802, "needs a buffer pool in which every frame is pinned"),
    (823, DISK),
    (824, DISK),
    (922, RECOVERING),
    (926, DISK),
    (945, DISK),
    (948, "needs a file of a newer server: `format_fixtures`"),
    (1101, DISK),
    (1105, DISK),
    (
        1204,
        "needs more locks than memory has room for: tests of txn",
    ),
    (1205, TWO),
    (2533, "a finding of `duramen check`: tests of storage"),
    (2801, TWO),
    (3314, DISK),
    (3406, START),
    (3407, START),
    (3408, START),
    (3414, DISK),
    (3421, START),
    (3450, START),
    (3454, START),
    (3612, TIMES),
    (3613, TIMES),
    (3707, "needs a database whose file is gone: `attach`"),
    (3932, "needs a request of a transaction manager"),
    (3956, TWO),
    (3957, TWO),
    (3958, "needs more row versions than memory: tests of txn"),
    (4815, WIRE),
    (4819, WIRE),
    (4816, WIRE),
    (5033, "needs thousands of files"),
    (5042, TIMES),
    (5060, TIMES),
    (5064, TWO),
    (5084, LOGGED),
    (5102, "names what a caller inside the server has done wrong"),
    (5145, "needs a disk that is slow"),
    (5149, DISK),
    (5172, DISK),
    (5243, DISK),
    (6005, RECOVERING),
    (6006, "needs a server that may end: `duramen serve`"),
    (7968, TIMES),
    (7970, TIMES),
    (7971, TIMES),
    (7972, TIMES),
    (7974, TIMES),
    (7975, TIMES),
    (7977, TIMES),
    (7978, TIMES),
    (11513, "in a row of describe_function.slt"),
    (8003, WIRE),
    (8023, WIRE),
    (8179, WIRE),
    (8180, WIRE),
    (8624, "names a fault of the server"),
    (
        8645,
        "needs memory that others hold for a minute: `memory_grants`",
    ),
    (
        8657,
        "needs hundreds of operators that keep rows: `memory_grants`",
    ),
    (9001, DISK),
    (9003, DISK),
    (9004, DISK),
    (9006, TIMES),
    (9008, TIMES),
    (
        15647,
        "the last line of sp_help of a table, whose other results have dates",
    ),
    (17053, DISK),
    (17058, DISK),
    (18100, TWO),
    (18264, LOGGED),
    (18265, LOGGED),
    (18267, LOGGED),
    (18268, LOGGED),
    (18270, LOGGED),
    (18271, LOGGED),
    (25717, DISK),
    (25722, "its text has the name of a file, which has a time"),
    (17809, "needs 32,000 connections"),
    (17810, WIRE),
];

/// What DBCC finds in damaged databases, which no script has: `check_planted` has them. Places and counts that depend on
/// everything else as well.
fn is_finding(number: i32) -> bool {
    matches!(
        number,
        2508 | 2511 | 2512 | 2531 | 2533 | 2534 | 2537..=2539 | 2570 | 2574..=2579 | 3853
            | 8903..=8914 | 8927..=8998
    )
}

/// What BACKUP and RESTORE say has its own tests, with files to read: `session::backups`.
fn is_of_backup(number: i32) -> bool {
    matches!(number, 927 | 1834 | 3000..3300 | 4035 | 4200..4400)
}

/// Functions whose name does not occur.
const FUNCTIONS: &[(&str, &str)] = &[];

/// Kinds of statements.
const STATEMENTS: &[(&str, &str)] = &[("InsertBulk", WIRE)];

fn texts(dir: &Path, extension: &str, out: &mut String) {
    for entry in std::fs::read_dir(dir).expect("a directory of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts(&path, extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push_str(&std::fs::read_to_string(&path).expect("a text"));
            out.push('\n');
        }
    }
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden() -> String {
    let mut out = String::new();
    texts(&root().join("tests/golden"), "slt", &mut out);
    out
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '@')
        .collect()
}

/// Numbers that scripts expect.
fn expected(golden: &str) -> BTreeSet<i32> {
    let number = |line: &str| {
        let first = ["Msg ", "Info ", "statement error ", "refused "];
        let rest = first.iter().find_map(|f| line.strip_prefix(f))?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    golden.lines().filter_map(number).collect()
}

/// Constants of the catalogue that code uses, and numbers that procedures raise.
fn used() -> (BTreeSet<String>, String) {
    let mut code = String::new();
    for room in std::fs::read_dir(root().join("crates")).expect("rooms") {
        let room = room.expect("a room").path();
        if room.file_name().is_some_and(|n| n != "base") {
            texts(&room.join("src"), "rs", &mut code);
        }
    }
    let mut procedures = String::new();
    for dir in ["crates/program/src/resource", "crates/admin/src/history"] {
        texts(&root().join(dir), "sql", &mut procedures);
    }
    let all = words(&code).into_iter().map(str::to_owned).collect();
    (all, procedures)
}

#[test]
fn every_error_is_in_a_golden_script() {
    let golden = golden();
    let expected = expected(&golden);
    let (code, procedures) = used();
    let raised = procedures.split("RAISERROR").skip(1);
    let raised: BTreeSet<&str> = raised
        .filter_map(|r| {
            r.trim_start_matches([' ', '('])
                .split(|c: char| !c.is_ascii_digit())
                .next()
        })
        .collect();
    let mut catalogue = String::new();
    texts(
        &root().join("crates/base/src/messages"),
        "rs",
        &mut catalogue,
    );
    let (mut wrong, mut read) = (Vec::new(), 0);
    for line in catalogue.lines() {
        let Some((name, rest)) = line.trim().split_once(" = ") else {
            continue;
        };
        let Some(number) = rest.split(',').next().and_then(|n| n.parse::<i32>().ok()) else {
            continue;
        };
        read += 1;
        let can = code.contains(name) || raised.contains(number.to_string().as_str());
        if is_of_backup(number) || is_finding(number) {
            continue;
        }
        let excepted = MESSAGES.iter().any(|(n, _)| *n == number);
        match (can, expected.contains(&number), excepted) {
            (true, false, false) => wrong.push(format!("{number} {name} is in no golden script")),
            (_, true, true) => wrong.push(format!("{number} {name} is no exception any more")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(read >= messages::ALL.len(), "{read} entries were read");
}

#[test]
fn every_function_is_in_a_golden_script() {
    let golden = golden().to_lowercase();
    let said = words(&golden);
    let page = std::fs::read_to_string(root().join("docs/reference/functions.md"));
    let page = page.expect("the list of functions");
    let rows = page.lines().filter(|l| l.starts_with("| ")).skip(1);
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows {
        let name = row.split('|').nth(1).unwrap_or_default().trim();
        let name = name
            .split('(')
            .next()
            .unwrap_or_default()
            .trim()
            .to_lowercase();
        count += 1;
        let excepted = FUNCTIONS.iter().any(|(n, _)| *n == name);
        if said.contains(name.as_str()) == excepted {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "no golden script calls {wrong:?}");
    assert!(count > 200, "the list is read");
}

#[test]
fn every_statement_is_in_a_golden_script() {
    let golden = golden();
    let mut said = String::new();
    let options = ParseOptions {
        quoted_identifier: true,
    };
    for record in golden.split("\n\n") {
        let lines = record.lines().filter(|l| !l.starts_with('#'));
        let mut lines = lines.skip_while(|l| {
            !["batch", "statement", "query"]
                .iter()
                .any(|d| l.starts_with(d))
        });
        if lines.next().is_none() {
            continue;
        }
        let sql: Vec<&str> = lines.take_while(|l| *l != "----").collect();
        if let Ok(batch) = duramen_tsql::parse_batch(&sql.join("\n"), &options) {
            said += &format!("{batch:?}\n");
        }
    }
    let said = words(&said);
    let source = root().join("crates/tsql/src/ast/statement.rs");
    let source = std::fs::read_to_string(source).expect("the tree of statements");
    let kinds = source
        .split("pub enum StatementKind {")
        .nth(1)
        .expect("the kinds");
    let kinds = kinds.split("\n}").next().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in kinds.lines() {
        let Some(rest) = line.strip_prefix("    ") else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        if !name.starts_with(|c: char| c.is_uppercase()) {
            continue;
        }
        count += 1;
        let excepted = STATEMENTS.iter().any(|(n, _)| *n == name);
        if said.contains(name.as_str()) == excepted {
            wrong.push(name);
        }
    }
    assert!(
        wrong.is_empty(),
        "statements without a golden script, or exceptions with one: {wrong:?}"
    );
    assert!(count > 50, "the kinds are read");
}
