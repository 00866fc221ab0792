//! No figure of the dynamic management views is an untrue zero: after a workload of every kind every numeric column of every
//! view with rows is something else than 0 or NULL in some row, or `tests/may_be_zero.tsv` says why not.

use duramen_inspect::reference;
use duramen_os::thread;

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// View and column, and why the column may be 0 here.
fn allowed() -> BTreeMap<(String, String), String> {
    let text = include_str!("../../../../tests/may_be_zero.tsv");
    let lines = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let mut all = BTreeMap::new();
    for line in lines {
        let [view, column, reason] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            panic!("three fields: {line}");
        };
        assert!(reason.len() > 3, "a reason: {line}");
        let before = all.insert((view.to_owned(), column.to_owned()), reason.to_owned());
        assert!(before.is_none(), "twice: {line}");
    }
    all
}

/// Work of every kind that the views count.
fn work(instance: &Arc<Instance>) -> Vec<Session> {
    let mut s = login(instance);
    for text in [
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'cost threshold for parallelism', 0; EXEC sp_configure 'max degree of parallelism', 2; RECONFIGURE",
        "CREATE DATABASE w",
        "ALTER DATABASE w SET ALLOW_SNAPSHOT_ISOLATION ON",
        "USE w",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int, pad varchar(200), l varchar(max)); CREATE INDEX iv ON t (v); CREATE TABLE h (a int, b varchar(400))",
        "INSERT t SELECT value, value % 100, REPLICATE('x', 100), NULL FROM GENERATE_SERIES(1, 60000)",
        "INSERT t VALUES (100001, 1, 'l', REPLICATE(CONVERT(varchar(max), 'z'), 20000))",
        "INSERT h SELECT value, 'a' FROM GENERATE_SERIES(1, 3000)",
        "UPDATE h SET b = REPLICATE('b', 400)",
        "CREATE TABLE log (id int IDENTITY PRIMARY KEY, n int); CREATE TABLE open_for_long (n int)",
        "CREATE PROCEDURE p @n int AS SET NOCOUNT ON; SELECT COUNT(*) FROM t WHERE v = @n; SELECT MAX(pad) FROM t WHERE v = @n AND id < 500; INSERT log (n) VALUES (@n)",
        "CREATE FUNCTION f (@a int) RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM h WHERE a = @a) END",
        "CREATE TRIGGER tr ON h AFTER INSERT AS SET NOCOUNT ON; INSERT log (n) SELECT COUNT(*) FROM inserted",
        "EXEC p 5; EXEC p 6; INSERT h VALUES (-1, 'one'); SELECT dbo.f(7)",
        "SELECT v, pad FROM t WITH (INDEX (iv)) WHERE v = 3",
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.v = b.id",
        "SELECT TOP 10 pad FROM t ORDER BY l, pad DESC, v",
        "SELECT COUNT(*) FROM t WHERE pad = 'nothing' AND v > 3",
        "DELETE t WHERE id % 7 = 0",
        "CHECKPOINT",
        "DBCC DROPCLEANBUFFERS",
        "EXEC p 7",
        "CHECKPOINT; DBCC DROPCLEANBUFFERS",
        "INSERT h VALUES (-2, 'two')",
        "CHECKPOINT; DBCC DROPCLEANBUFFERS",
        "SELECT dbo.f(8)",
        "SELECT COUNT(*) FROM t; SELECT l FROM t WHERE id = 100001",
        "BACKUP DATABASE w TO DISK = 'w.bak'",
        "SELECT * FROM nothing_of_that_name",
    ] {
        run(&mut s, text);
    }
    // Somebody waits, and is still there to be seen.
    let (mut waits, mut versions) = (login(instance), login(instance));
    run(&mut waits, "USE w");
    run(
        &mut versions,
        "USE w; SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
    );
    run(&mut versions, "BEGIN TRAN; SELECT COUNT(*) FROM h");
    run(
        &mut s,
        "BEGIN TRAN; UPDATE t SET v = v + 1 WHERE id < 50; UPDATE h SET a = a + 1 WHERE a < 20",
    );
    // Its snapshot is taken while the change is under way; its table is nobody else's, since it stays open beside `contend`.
    let mut later = login(instance);
    run(
        &mut later,
        "USE w; SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; INSERT open_for_long VALUES (0)",
    );
    let blocked = waits.spid();
    let _runs = thread::spawn("waits", move || {
        run(
            &mut waits,
            "SET LOCK_TIMEOUT 20000; SELECT COUNT(*) FROM t WHERE id < 60 OPTION (MAXDOP 1)",
        );
        waits
    });
    let waiting =
        format!("SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE session_id = {blocked}");
    while run(&mut s, &waiting)[1] == "0" {
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(Duration::from_millis(30));
    // What was there before the change is found behind it.
    run(&mut versions, "SELECT COUNT(*) FROM h WHERE a < 30");
    vec![s, versions, later]
}

/// What one look at the views has found.
#[derive(Default)]
struct Found {
    /// View and column, where some row says something.
    reported: BTreeSet<(String, String)>,
    /// Those that could.
    all: BTreeSet<(String, String)>,
    empty: BTreeSet<String>,
}

fn look(s: &mut Session) -> Found {
    let mut found = Found::default();
    for view in reference::views().filter(|v| v.name.starts_with("dm_") && !v.is_function) {
        let numeric = |c: &&(&'static str, duramen_types::SqlType, bool)| {
            c.1.id.is_numeric() && c.1.id != duramen_types::TypeId::Bit
        };
        let columns: Vec<&str> = view.columns.iter().filter(numeric).map(|c| c.0).collect();
        if columns.is_empty() {
            continue;
        }
        let asked: Vec<String> = columns
            .iter()
            .map(|c| format!("MAX(CASE WHEN [{c}] <> 0 THEN 1 ELSE 0 END)"))
            .collect();
        let query = format!(
            "SELECT COUNT(*), {} FROM sys.{}",
            asked.join(", "),
            view.name
        );
        let lines = run(s, &query);
        let values: Vec<&str> = lines
            .get(1)
            .map_or("", String::as_str)
            .split(" | ")
            .collect();
        assert_eq!(values.len(), columns.len() + 1, "{}: {lines:?}", view.name);
        if values[0] == "0" {
            found.empty.insert(view.name.to_owned());
            continue;
        }
        for (column, value) in columns.iter().zip(&values[1..]) {
            let key = (view.name.to_owned(), (*column).to_owned());
            if *value == "1" {
                found.reported.insert(key.clone());
            }
            found.all.insert(key);
        }
    }
    found
}

/// Several looks: what a moment does not show another one may.
const LOOKS: usize = 12;

#[test]
fn every_figure_is_true_or_says_why_it_is_nothing() {
    let instance = instance();
    let allowed = allowed();
    let (mut reported, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut empty: Option<BTreeSet<String>> = None;
    let mut untrue = Vec::new();
    let mut sessions = work(&instance);
    for _ in 0..LOOKS {
        let found = look(&mut sessions[0]);
        reported.extend(found.reported);
        all.extend(found.all);
        empty = Some(match empty {
            Some(before) => before.intersection(&found.empty).cloned().collect(),
            None => found.empty,
        });
        let columns = all.difference(&reported).cloned();
        let views = empty.iter().flatten().map(|v| (v.clone(), "*".to_owned()));
        let silent = columns
            .chain(views)
            .filter(|key| !allowed.contains_key(key));
        untrue = silent.map(|(v, c)| format!("{v}\t{c}")).collect();
        if untrue.is_empty() {
            break;
        }
        sessions.extend(contend(&instance));
    }
    assert!(
        untrue.is_empty(),
        "0 without a reason:\n{}",
        untrue.join("\n")
    );
    // The list names nothing that is not there.
    let seen = |(view, column): &(String, String)| {
        all.contains(&(view.clone(), column.clone()))
            || empty.iter().flatten().any(|v| v == view)
            || column == "*"
    };
    let unknown: Vec<_> = allowed.keys().filter(|key| !seen(key)).collect();
    assert!(unknown.is_empty(), "no such column: {unknown:?}");
}

/// Threads in each other's way.
fn contend(instance: &Arc<Instance>) -> Vec<Session> {
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let mut s = login(instance);
            thread::spawn("contends", move || {
                run(&mut s, "USE w");
                for i in 0..40 {
                    run(&mut s, &format!("INSERT log (n) VALUES ({n}); UPDATE log SET n = {i} WHERE id = 1; SELECT COUNT(*) FROM log"));
                }
                s
            })
        })
        .collect();
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}
