//! ALTER TABLE: columns and constraints of tables with rows.

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use crate::{alone, alone_on, run};

fn rows(s: &mut Session, sql: &str) -> String {
    let lines = run(s, sql);
    match lines[0].starts_with('(') {
        true => lines[1..lines.len() - 1].join(";"),
        false => lines.join(";"),
    }
}

fn ok(s: &mut Session, sql: &str) {
    assert_eq!(run(s, sql), Vec::<String>::new(), "{sql}");
}

#[test]
fn columns_are_added_with_values() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (a int PRIMARY KEY, b varchar(5)); CREATE INDEX ix ON t (b); INSERT t VALUES (1, 'x'), (2, 'y')",
    );
    ok(
        &mut s,
        "ALTER TABLE t ADD c int NULL, d varchar(10) NOT NULL CONSTRAINT df_d DEFAULT 'new'",
    );
    ok(
        &mut s,
        "ALTER TABLE t ADD e decimal(9,2) NULL DEFAULT 1.5 WITH VALUES, f int NULL DEFAULT 3, n int IDENTITY(10,5)",
    );
    assert_eq!(
        rows(&mut s, "SELECT * FROM t ORDER BY a"),
        "1 | x | NULL | new | 1.50 | NULL | 10;2 | y | NULL | new | 1.50 | NULL | 15"
    );
    run(&mut s, "INSERT t (a, b) VALUES (3, 'z')");
    assert_eq!(
        rows(&mut s, "SELECT c, d, e, f, n FROM t WHERE b = 'z'"),
        "NULL | new | 1.50 | 3 | 20"
    );
    let lines = run(&mut s, "ALTER TABLE t ADD g int NOT NULL");
    assert!(lines[0].starts_with("Msg 4901"), "{lines:?}");
    assert!(run(&mut s, "ALTER TABLE t ADD a int")[0].starts_with("Msg 2705"));
    assert!(run(&mut s, "ALTER TABLE t ADD m int IDENTITY")[0].starts_with("Msg 2744"));
    assert!(run(&mut s, "ALTER TABLE nothing ADD m int")[0].starts_with("Msg 4902"));
    ok(&mut s, "ALTER TABLE t ADD CHECK (a > 0)");
    let refused = run(&mut s, "ALTER TABLE t ADD CHECK (a > 1)");
    assert!(refused[0].starts_with("Msg 547"), "{refused:?}");
}

#[test]
fn columns_go_unless_something_needs_them() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (a int CONSTRAINT pk PRIMARY KEY, b int DEFAULT 1, c int, d int); CREATE INDEX ix ON t (c); INSERT t VALUES (1, 2, 3, 4)",
    );
    assert!(run(&mut s, "ALTER TABLE t DROP COLUMN b")[0].starts_with("Msg 5074"));
    assert!(
        run(&mut s, "ALTER TABLE t DROP COLUMN c")[0]
            .contains("The index 'ix' is dependent on column 'c'.")
    );
    assert!(run(&mut s, "ALTER TABLE t DROP COLUMN z")[0].starts_with("Msg 4924"));
    ok(&mut s, "ALTER TABLE t DROP COLUMN IF EXISTS z, d");
    run(&mut s, "DROP INDEX ix ON t");
    ok(&mut s, "ALTER TABLE t DROP COLUMN c");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "1 | 2");
    ok(&mut s, "ALTER TABLE t DROP CONSTRAINT pk");
    assert_eq!(
        rows(
            &mut s,
            "SELECT type_desc FROM sys.indexes WHERE object_id = OBJECT_ID('t')"
        ),
        "HEAP"
    );
    assert!(run(&mut s, "ALTER TABLE t DROP CONSTRAINT pk")[0].starts_with("Msg 3728"));
    ok(&mut s, "ALTER TABLE t DROP CONSTRAINT IF EXISTS pk");
}

#[test]
fn constraints_are_added_and_enforced() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (a int NOT NULL, b int, c int); INSERT t VALUES (1, 1, 1), (2, 1, 2)",
    );
    let lines = run(&mut s, "ALTER TABLE t ADD CONSTRAINT uq UNIQUE (b)");
    assert!(lines[0].starts_with("Msg 1505"), "{lines:?}");
    ok(
        &mut s,
        "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a), CONSTRAINT uq UNIQUE (c)",
    );
    assert!(run(&mut s, "INSERT t VALUES (1, 1, 9)")[0].starts_with("Msg 2627"));
    assert!(run(&mut s, "INSERT t VALUES (3, 1, 1)")[0].starts_with("Msg 2627"));
    assert!(run(&mut s, "ALTER TABLE t ADD PRIMARY KEY (c)")[0].starts_with("Msg 1779"));
    ok(&mut s, "ALTER TABLE t ADD CONSTRAINT df DEFAULT 7 FOR b");
    run(&mut s, "INSERT t (a, c) VALUES (3, 3)");
    assert_eq!(rows(&mut s, "SELECT b FROM t WHERE a = 3"), "7");
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, definition FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('t')"
        ),
        "df | ((7))"
    );
}

#[test]
fn columns_change_their_type() {
    let disk = SimDisk::new(31);
    let mut s = alone_on(&disk.env());
    run(
        &mut s,
        "CREATE TABLE t (a int IDENTITY PRIMARY KEY, b varchar(4) NOT NULL, c int); CREATE INDEX ix ON t (b); INSERT t VALUES ('12', 5), ('34', NULL)",
    );
    ok(&mut s, "ALTER TABLE t ALTER COLUMN b varchar(40) NOT NULL");
    run(&mut s, "INSERT t VALUES ('twelve letters', 1)");
    assert_eq!(
        rows(&mut s, "SELECT a FROM t WHERE b = 'twelve letters'"),
        "3"
    );
    assert!(run(&mut s, "ALTER TABLE t ALTER COLUMN b int")[0].starts_with("Msg 5074"));
    ok(&mut s, "ALTER TABLE t ALTER COLUMN c bigint");
    assert!(run(&mut s, "ALTER TABLE t ALTER COLUMN c bigint NOT NULL")[0].starts_with("Msg 515"));
    run(&mut s, "DROP INDEX ix ON t");
    assert!(run(&mut s, "ALTER TABLE t ALTER COLUMN b int")[0].starts_with("Msg 245"));
    run(&mut s, "DELETE t WHERE a = 3");
    ok(&mut s, "ALTER TABLE t ALTER COLUMN b int NOT NULL");
    let all = "SELECT a, b + 1, c FROM t ORDER BY a";
    assert_eq!(rows(&mut s, all), "1 | 13 | 5;2 | 35 | NULL");
    run(
        &mut s,
        "BEGIN TRAN; ALTER TABLE t ALTER COLUMN b varchar(10); ALTER TABLE t DROP COLUMN c; ROLLBACK",
    );
    assert_eq!(rows(&mut s, all), "1 | 13 | 5;2 | 35 | NULL");
    run(
        &mut s,
        "EXEC sys.sp_flush_log; BEGIN TRAN; ALTER TABLE t ADD z int NOT NULL DEFAULT 1; CHECKPOINT",
    );
    let mut s = alone_on(&disk.crash(3).env());
    assert_eq!(
        rows(&mut s, "SELECT * FROM t ORDER BY a"),
        "1 | 12 | 5;2 | 34 | NULL"
    );
    run(&mut s, "INSERT t VALUES (56, 6)");
    assert_eq!(rows(&mut s, "SELECT COUNT(*), MAX(b) FROM t"), "3 | 56");
}

#[test]
fn temporary_tables_switch_their_rows() {
    let mut s = alone();
    ok(&mut s, "CREATE TABLE #a (x int NULL)");
    ok(&mut s, "CREATE TABLE ##b (x int NULL)");
    run(&mut s, "INSERT #a VALUES (1), (2)");
    ok(&mut s, "ALTER TABLE #a SWITCH TO ##b");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM #a"), "0");
    ok(&mut s, "ALTER TABLE ##b SWITCH TO #a");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM #a"), "2");
}
