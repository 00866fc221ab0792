//! Batches and procedures whose plans sessions share answer as if each were compiled anew.

use super::*;

#[test]
fn a_shared_batch_follows_the_schema() {
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
