//! Statements and procedures that name another database than the session's.

use super::*;

fn begin() -> Alone {
    let mut s = alone();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE e",
        "USE d",
        "CREATE TABLE d.dbo.t (x int)",
        "CREATE TABLE e.dbo.t (x int)",
    ] {
        run(&mut s, sql);
    }
    s
}

/// A procedure of the system that is code runs where its name says, like those that are text.
#[test]
fn a_system_procedure_runs_in_the_database_of_its_name() {
    let mut s = begin();
    for (call, there) in [
        ("EXEC e.sys.sp_rename 'dbo.t', 'u'", "u"),
        ("EXEC e..sp_rename 'u', 'v'", "v"),
        ("EXEC e.dbo.sp_rename 'dbo.v', 'w'", "w"),
    ] {
        run(&mut s, call);
        let sql = format!(
            "SELECT OBJECT_ID('e.dbo.{there}') - OBJECT_ID('e.dbo.{there}'), DB_NAME(), OBJECT_ID('d.dbo.t') - OBJECT_ID('d.dbo.t')"
        );
        assert_eq!(run(&mut s, &sql)[1], "0 | d | 0", "{call}");
    }
    let said = run(
        &mut s,
        "EXEC e.sys.sp_executesql N'SELECT DB_NAME()'; SELECT DB_NAME()",
    );
    assert!(
        said.contains(&"e".to_owned()) && said.contains(&"d".to_owned()),
        "{said:?}"
    );
    let said = run(&mut s, "EXEC nosuch.sys.sp_rename 't', 'u'");
    assert!(said[0].starts_with("Msg 2812"), "{said:?}");
    run(
        &mut s,
        "EXEC e.sys.sp_addextendedproperty 'n', 1, 'SCHEMA', 'dbo', 'TABLE', 'w'",
    );
    let sql = "SELECT COUNT(*) FROM e.sys.extended_properties UNION ALL SELECT COUNT(*) FROM d.sys.extended_properties";
    assert_eq!(run(&mut s, sql)[1..3], ["1", "0"]);
}

/// The last part is the statistics' name: no server is named.
#[test]
fn statistics_and_indexes_have_a_part_more_than_their_table() {
    let mut s = begin();
    for sql in [
        "CREATE STATISTICS st ON e.dbo.t (x)",
        "DROP STATISTICS e.dbo.t.st",
        "CREATE INDEX i ON e.dbo.t (x)",
        "DROP INDEX e.dbo.t.i",
    ] {
        let said = run(&mut s, sql);
        assert!(
            !said.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {said:?}"
        );
    }
    let sql = "SELECT COUNT(*) FROM e.sys.stats WHERE name IN ('st', 'i')";
    assert_eq!(run(&mut s, sql)[1], "0");
}

/// A temporary table has no database in its name.
#[test]
fn dbcc_finds_temporary_tables() {
    let mut s = begin();
    run(&mut s, "CREATE TABLE #t (n int IDENTITY, x int)");
    for name in ["#t", "dbo.#t", "tempdb..#t", "tempdb.dbo.#t"] {
        let said = run(&mut s, &format!("DBCC CHECKIDENT ('{name}', NORESEED)"));
        assert!(said[0].starts_with("Checking identity"), "{name}: {said:?}");
    }
    run(&mut s, "DBCC CHECKIDENT ('#t', RESEED, 40)");
    run(&mut s, "INSERT #t (x) VALUES (1)");
    assert_eq!(run(&mut s, "SELECT n FROM #t")[1], "40");
}
