//! Statements of every kind, cancelled at random moments: each ends soon, leaves nothing half done, and its session goes on.
//!
//! `CANCELS=n` takes n moments of each statement and prints how long each kind went on after the word.

use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_os::{thread, time};

use super::*;

/// What is measured is unoptimised code, on a machine that may have much else to do.
const BOUND: Duration = Duration::from_secs(10);

const SETUP: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, pad char(100) NOT NULL)",
    "INSERT t SELECT value, value % 97, 'x' FROM GENERATE_SERIES(1, 20000)",
    "CREATE TABLE h (id int, a int)",
    "CREATE PROC p AS DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1",
    "BACKUP DATABASE d TO DISK = '/data/d.bak' WITH INIT",
];

/// Each would take long, changes nothing when it is cancelled, and is undone by the second when it was not.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT COUNT(*) FROM t a CROSS JOIN t b", ""),
    (
        "SELECT a.id FROM t a JOIN t b ON a.a = b.a ORDER BY a.pad, b.id DESC",
        "",
    ),
    (
        "SELECT a.pad, SUM(b.id) FROM t a JOIN t b ON a.a = b.a GROUP BY a.pad, a.id",
        "",
    ),
    (
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY pad, id DESC) FROM t",
        "",
    ),
    (
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n OPTION (MAXRECURSION 0)",
        "",
    ),
    ("SELECT DISTINCT a.id + b.id FROM t a CROSS JOIN t b", ""),
    ("DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1", ""),
    (
        "DECLARE @s varchar(max) = 'x'; WHILE LEN(@s) < 100000000 SET @s += REPLICATE('y', 1000)",
        "",
    ),
    ("EXEC p", ""),
    ("WAITFOR DELAY '00:10'", ""),
    (
        "INSERT h SELECT a.id, b.id FROM t a CROSS JOIN t b",
        "TRUNCATE TABLE h",
    ),
    (
        "UPDATE t SET a = a + 0, pad = 'y' WHERE id % 2 = 0",
        "UPDATE t SET pad = 'x' WHERE pad = 'y'",
    ),
    (
        "BEGIN TRAN; DELETE t; ROLLBACK",
        "IF @@TRANCOUNT > 0 ROLLBACK",
    ),
    ("SELECT * INTO w FROM t", "DROP TABLE IF EXISTS w"),
    (
        "CREATE INDEX ix ON t (pad, a)",
        "DROP INDEX IF EXISTS ix ON t",
    ),
    ("ALTER TABLE t REBUILD", ""),
    (
        "ALTER TABLE t ADD more int NOT NULL DEFAULT 5, bc AS a + 1",
        "IF COL_LENGTH('t', 'more') IS NOT NULL EXEC('DECLARE @n sysname = (SELECT name FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID(''t'')); EXEC(''ALTER TABLE t DROP CONSTRAINT '' + @n); ALTER TABLE t DROP COLUMN bc; ALTER TABLE t DROP COLUMN more')",
    ),
    ("UPDATE STATISTICS t WITH FULLSCAN", ""),
    ("DBCC CHECKDB (d) WITH NO_INFOMSGS", ""),
    ("DBCC CHECKTABLE (t) WITH NO_INFOMSGS", ""),
    (
        "BACKUP DATABASE d TO DISK = '/data/other.bak' WITH INIT",
        "",
    ),
    (
        "RESTORE DATABASE e FROM DISK = '/data/d.bak' WITH MOVE 'd' TO '/data/e.mdf', MOVE 'd_log' TO '/data/e.ldf', REPLACE",
        "USE master; DROP DATABASE IF EXISTS e; USE d",
    ),
    ("RESTORE VERIFYONLY FROM DISK = '/data/d.bak'", ""),
    (
        "CREATE DATABASE f ON (NAME = f, FILENAME = '/data/f.mdf', SIZE = 64MB) LOG ON (NAME = f_log, FILENAME = '/data/f.ldf', SIZE = 128MB)",
        "USE master; DROP DATABASE IF EXISTS f; USE d",
    ),
    (
        "ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = 256MB)",
        "DBCC SHRINKFILE (d_log, 8) WITH NO_INFOMSGS",
    ),
    (
        "DECLARE @s nvarchar(max) = N'SELECT 1 WHERE 1 = 1' + REPLICATE(CONVERT(nvarchar(max), N' AND 2 = 2'), 20000); EXEC (@s)",
        "",
    ),
    (
        "DECLARE @s nvarchar(max) = N'WITH c0 AS (SELECT 1 AS x)', @i int = 1; WHILE @i <= 11 SELECT @s += N', c' + CONVERT(nvarchar(10), @i) + N' AS (SELECT a.x FROM c' + CONVERT(nvarchar(10), @i - 1) + N' a CROSS JOIN c' + CONVERT(nvarchar(10), @i - 1) + N' b)', @i += 1; SET @s += N' SELECT COUNT(*) FROM c11'; EXEC (@s)",
        "",
    ),
    ("CHECKPOINT", ""),
    ("SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL)", ""),
];

/// A small generator with a fixed start: the same moments in every run.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs a statement, cancels it after a while; how long it went on after that, if it had not ended before.
fn cancelled(session: Session, sql: &'static str, after: Duration) -> (Session, Option<Duration>) {
    let cancel = CancelToken::default();
    let of_statement = cancel.clone();
    let runner = thread::spawn("cancelled", move || {
        let mut session = session;
        let mut sink = TextSink::default();
        session.execute_batch(sql, &mut sink, &of_statement);
        (session, time::now())
    });
    thread::sleep(after);
    let said = time::now();
    let running = !runner.is_finished();
    cancel.0.store(true, Ordering::Release);
    let (session, ended) = runner.join().expect("the statement does not panic");
    (session, running.then(|| ended.since(said)))
}

#[test]
fn statements_end_soon_after_they_are_cancelled() {
    let shown = std::env::var("CANCELS").ok();
    let moments = shown.as_deref().and_then(|n| n.parse().ok()).unwrap_or(2);
    let instance = instance();
    let mut s = login(&instance);
    for sql in SETUP {
        run(&mut s, sql);
    }
    let contents = "SELECT COUNT(*), SUM(id), SUM(a), MAX(pad) FROM t";
    let before = run(&mut s, contents);
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut all = Vec::new();
    for (sql, undo) in STATEMENTS {
        let mut took = Vec::new();
        for _ in 0..moments {
            let after = Duration::from_micros(next(&mut state) % 60_000);
            let mut later = login(&instance);
            run(&mut later, "USE d");
            let (mut session, more) = cancelled(later, sql, after);
            assert_eq!(run(&mut session, "SELECT 1")[1..], ["1", "rows 1"], "{sql}");
            for line in run(&mut session, undo) {
                assert!(!line.starts_with("Msg "), "{sql}: {line}");
            }
            assert_eq!(run(&mut session, contents), before, "{sql}");
            took.extend(more);
        }
        took.sort();
        if shown.is_some() {
            let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied();
            eprintln!(
                "{:>4} {:>10.1?} {:>10.1?} {:>10.1?}  {}",
                took.len(),
                at(0.5).unwrap_or_default(),
                at(0.99).unwrap_or_default(),
                took.last().copied().unwrap_or_default(),
                &sql[..sql.len().min(60)]
            );
        }
        if let Some(longest) = took.last() {
            assert!(*longest < BOUND, "{sql}: {longest:?}");
        }
        all.extend(took);
    }
    all.sort();
    if shown.is_some() {
        eprintln!("{} in all, p99 {:?}", all.len(), all[all.len() * 99 / 100]);
    }
}

/// A killed session is shown while it rolls back, and how far it is.
#[test]
fn a_rollback_after_kill_is_shown() {
    let instance = instance();
    let mut s = login(&instance);
    for sql in &SETUP[..4] {
        run(&mut s, sql);
    }
    let mut other = login(&instance);
    run(&mut other, "USE d");
    let spid = other.spid();
    run(
        &mut other,
        "BEGIN TRAN; UPDATE t SET pad = 'y'; UPDATE t SET a = a + 1",
    );
    let killer = instance.0.clone();
    let kill = thread::spawn("killer", move || {
        run(&mut login(&killer), &format!("KILL {spid}"))
    });
    let look = format!(
        "SELECT command, status, CASE WHEN percent_complete BETWEEN 0 AND 100 THEN 1 END FROM sys.dm_exec_requests WHERE session_id = {spid}"
    );
    let status = format!("KILL {spid} WITH STATUSONLY");
    let (mut seen, mut reported) = (Vec::new(), Vec::new());
    while !kill.is_finished() {
        let found = run(&mut s, &look);
        if found.len() > 2 {
            seen.push(found[1].clone());
            reported.extend(run(&mut s, &status));
        }
    }
    assert!(kill.join().is_ok_and(|said| said.is_empty()));
    assert!(
        seen.iter().any(|l| l == "KILLED/ROLLBACK | rollback | 1"),
        "{seen:?}"
    );
    let line = format!("SPID {spid}: Transaction rollback in progress. Estimated rollback");
    assert!(reported.iter().any(|l| l.contains(&line)), "{reported:?}");
    let after = run(&mut s, &status);
    assert!(
        after[0].starts_with("Msg 6120, Level 16, State 1"),
        "{after:?}"
    );
    assert_eq!(
        run(&mut s, "SELECT COUNT(*) FROM t WHERE pad = 'y'")[1],
        "0"
    );
}
