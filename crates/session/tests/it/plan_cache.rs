//! Batches and procedures whose plans sessions share answer as if each were compiled anew.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;

#[test]
pub(super) fn a_shared_batch_follows_the_schema() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE TABLE t (x int); INSERT t VALUES (1)");
    let text = "SELECT * FROM t";
    assert_eq!(run(&mut a, text), ["(x int)", "1", "rows 1"]);
    assert_eq!(run(&mut b, text), ["(x int)", "1", "rows 1"]);
    run(&mut b, "ALTER TABLE t ADD y int NOT NULL DEFAULT 2");
    assert_eq!(run(&mut a, text)[1], "1 | 2");
    assert_eq!(run(&mut b, text)[1], "1 | 2");
    run(&mut a, "DROP TABLE t");
    assert!(run(&mut b, text)[0].starts_with("Msg 208"));
    run(&mut a, "CREATE TABLE t (z char(1)); INSERT t VALUES ('z')");
    assert_eq!(run(&mut b, text), ["(z char(1))", "z", "rows 1"]);
}

#[test]
fn temporary_tables_and_table_variables_stay_apart() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE TABLE #t (x int); INSERT #t VALUES (1)");
    run(
        &mut b,
        "CREATE TABLE #t (y char(2)); INSERT #t VALUES ('bb')",
    );
    for _ in 0..2 {
        assert_eq!(run(&mut a, "SELECT * FROM #t"), ["(x int)", "1", "rows 1"]);
        assert_eq!(
            run(&mut b, "SELECT * FROM #t"),
            ["(y char(2))", "bb", "rows 1"]
        );
    }
    let text = "DECLARE @v TABLE (x int); INSERT @v VALUES (1); SELECT COUNT(*) AS n FROM @v";
    for session in [&mut a, &mut b, &mut login(&instance)] {
        assert_eq!(run(session, text)[2], "1");
        assert_eq!(run(session, text)[2], "1");
    }
}

#[test]
fn identity_insert_is_each_sessions_own() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE TABLE t (id int IDENTITY, x int)");
    let text = "INSERT t (id, x) VALUES (10, 1)";
    run(&mut a, "SET IDENTITY_INSERT t ON");
    assert_eq!(run(&mut a, text), ["rows 1"]);
    assert!(run(&mut b, text)[0].starts_with("Msg 544"));
    run(&mut a, "SET IDENTITY_INSERT t OFF");
    assert!(run(&mut a, text)[0].starts_with("Msg 544"));
    let text = "INSERT t VALUES (2)";
    assert_eq!(run(&mut b, text), ["rows 1"]);
    run(&mut a, "SET IDENTITY_INSERT t ON");
    assert!(run(&mut a, text)[0].starts_with("Msg 545"));
}

#[test]
fn databases_and_options_are_part_of_what_a_text_means() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE DATABASE other");
    run(&mut a, "CREATE TABLE t (x int); INSERT t VALUES (1)");
    run(&mut b, "USE other");
    run(&mut b, "CREATE TABLE t (x int); INSERT t VALUES (2)");
    assert_eq!(run(&mut a, "SELECT x FROM t")[1], "1");
    assert_eq!(run(&mut b, "SELECT x FROM t")[1], "2");
    let text = "SELECT \"x\" AS c FROM t";
    assert_eq!(run(&mut a, text)[1], "1");
    run(&mut a, "SET QUOTED_IDENTIFIER OFF");
    assert_eq!(run(&mut a, text)[1], "x");
    run(&mut b, "USE master");
    run(&mut b, "DROP DATABASE other");
    run(&mut b, "CREATE DATABASE other");
    run(&mut b, "USE other");
    assert!(run(&mut b, "SELECT x FROM t")[0].starts_with("Msg 208"));
}

#[test]
fn procedures_are_shared_until_they_are_altered() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE PROCEDURE p @n int AS SELECT @n + 1 AS n");
    assert_eq!(run(&mut a, "EXEC p 1")[1], "2");
    assert_eq!(run(&mut b, "EXEC p 2")[1], "3");
    run(&mut b, "ALTER PROCEDURE p @n int AS SELECT @n * 10 AS n");
    assert_eq!(run(&mut a, "EXEC p 1")[1], "10");
    run(
        &mut a,
        "CREATE PROCEDURE down @n int AS BEGIN IF @n > 0 BEGIN SET @n -= 1; EXEC down @n END ELSE SELECT @n AS n END",
    );
    assert_eq!(run(&mut a, "EXEC down 5")[1], "0");
    assert_eq!(run(&mut b, "EXEC down 3")[1], "0");
}

/// Sessions that meet a text for the first time at once compile it at once: all of their executions are counted, and with
/// those of the modules that it runs.
#[test]
fn every_execution_counts_when_sessions_compile_at_once() {
    const SESSIONS: usize = 6;
    const RUNS: usize = 25;
    let instance = instance();
    let mut s = login(&instance);
    for text in [
        "CREATE TABLE w (id int IDENTITY PRIMARY KEY, x int)",
        "CREATE FUNCTION f (@a int) RETURNS int AS BEGIN RETURN @a + 1 END",
        "CREATE TRIGGER tr ON w AFTER INSERT AS SET NOCOUNT ON; DECLARE @n int; SELECT @n = COUNT(*) FROM inserted",
        "CREATE PROCEDURE p @a int AS INSERT w (x) VALUES (@a)",
    ] {
        run(&mut s, text);
    }
    for round in 0..4 {
        run(&mut s, "DBCC FREEPROCCACHE");
        let there = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..SESSIONS)
            .map(|_| {
                let (there, mut s) = (there.clone(), login(&instance));
                duramen_os::thread::spawn("runs", move || {
                    there.fetch_add(1, SeqCst);
                    while there.load(SeqCst) < SESSIONS {
                        duramen_os::thread::yield_now();
                    }
                    for _ in 0..RUNS {
                        run(
                            &mut s,
                            &format!("SELECT COUNT(*) FROM w /* batch {round} */"),
                        );
                        run(
                            &mut s,
                            &format!(
                                "EXEC sp_executesql N'SELECT @a + {round} /* text */', N'@a int', 1"
                            ),
                        );
                        run(&mut s, "EXEC p 7");
                        run(&mut s, "DECLARE @r int = dbo.f(1); SELECT @r AS called");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let all = (SESSIONS * RUNS).to_string();
        for (of, count) in [
            (
                "x.text LIKE 'SELECT COUNT(*) FROM w /* batch%'",
                all.clone(),
            ),
            (
                "x.text LIKE '%/* text */%' AND x.text NOT LIKE '%sp_executesql%'",
                all.clone(),
            ),
            ("x.text LIKE '%CREATE PROCEDURE p %'", all.clone()),
            ("x.text LIKE 'DECLARE @r int = dbo.f%'", all.clone()),
        ] {
            let uses = format!(
                "SELECT SUM(c.usecounts) FROM sys.dm_exec_cached_plans c CROSS APPLY sys.dm_exec_sql_text(c.plan_handle) x WHERE {of} AND x.text NOT LIKE '%dm_exec%'"
            );
            assert_eq!(run(&mut s, &uses)[1], count, "{of}");
        }
        let executions = "SELECT SUM(q.execution_count) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x WHERE x.text LIKE '%CREATE PROCEDURE p %' AND x.text NOT LIKE '%dm_exec%'";
        assert_eq!(run(&mut s, executions)[1], all);
        let modules = "SELECT (SELECT SUM(execution_count) FROM sys.dm_exec_function_stats), (SELECT SUM(execution_count) FROM sys.dm_exec_trigger_stats)";
        assert_eq!(run(&mut s, modules)[1], format!("{all} | {all}"));
    }
}
