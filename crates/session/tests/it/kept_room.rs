//! Room that an open transaction has freed stays its own, whoever fills pages meanwhile; and a commit gives it back.

use super::*;

fn quiet(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    let wrong: Vec<&String> = lines.iter().filter(|l| l.starts_with("Msg ")).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {sql}");
    lines
}

fn whole(s: &mut Session) {
    let said = quiet(s, "DBCC CHECKDB('r') WITH NO_INFOMSGS, ALL_ERRORMSGS");
    assert!(said.is_empty(), "{said:?}");
}

/// Two sessions in a database of their own.
fn two(instance: &Arc<Instance>) -> (Session, Session) {
    let (mut a, mut b) = (login(instance), login(instance));
    run(&mut a, "CREATE DATABASE r");
    for s in [&mut a, &mut b] {
        run(s, "USE r; SET NOCOUNT ON; SET LOCK_TIMEOUT 0");
    }
    (a, b)
}

/// Rows of a table that another session changes, and then wants back as they were.
#[test]
fn loads_leave_the_room_of_what_may_come_back() {
    let instance = instance();
    let (mut a, mut b) = two(&instance);
    let mut tables = 0;
    for key in ["INDEX", "UNIQUE CLUSTERED INDEX"] {
        for (width, change) in [
            (40, "DELETE t WHERE a >= 10"),
            (40, "UPDATE t SET p = ''"),
            (4_500, "DELETE t WHERE a % 2 = 0"),
            (4_500, "UPDATE t SET p = ''"),
        ] {
            tables += 1;
            let t = format!("t{tables}");
            let change = change.replace("DELETE t", &format!("DELETE {t}"));
            let change = change.replace("UPDATE t", &format!("UPDATE {t}"));
            quiet(
                &mut a,
                &format!(
                    "CREATE TABLE {t} (a int NOT NULL, p varchar(8000)); CREATE {key} i ON {t} (a);
                     DECLARE @i int = 0; WHILE @i < 20 BEGIN INSERT {t} VALUES (@i, REPLICATE('x', {width})); SET @i += 1 END;
                     BEGIN TRAN; {change}"
                ),
            );
            // Alone, a few, and as many as fill pages.
            for sql in [
                "VALUES (100, REPLICATE('y', 10)), (101, REPLICATE('y', 3000))",
                "SELECT a.v * 8 + b.v + 200, REPLICATE('y', a.v * 20) FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7)) a(v) CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7)) b(v)",
                "SELECT a.v + 400, REPLICATE('y', 4000) FROM (VALUES (0), (1), (2), (3), (4), (5), (6)) a(v)",
            ] {
                quiet(&mut b, &format!("INSERT {t} {sql}"));
            }
            quiet(&mut a, "ROLLBACK");
            let there = format!(
                "SELECT COUNT(*), SUM(CASE WHEN a < 20 AND p = REPLICATE('x', {width}) THEN 1 ELSE 0 END) FROM {t}"
            );
            assert_eq!(quiet(&mut a, &there)[1], "93 | 20", "{key}, {change}");
        }
    }
    whole(&mut a);
}

/// A commit does not come back to the pages; whose room it was is seen when somebody looks for it, even while an older
/// transaction is open that keeps none of it.
#[test]
fn a_thousand_commits_give_the_room_back() {
    let instance = instance();
    let (mut a, mut old) = two(&instance);
    quiet(
        &mut a,
        "CREATE TABLE other (a int); CREATE TABLE t (a int NOT NULL, p char(400)); CREATE INDEX i ON t (a)",
    );
    quiet(
        &mut a,
        "DECLARE @i int = 0; WHILE @i < 60 BEGIN INSERT t VALUES (@i, 'x'); SET @i += 1 END",
    );
    quiet(&mut old, "BEGIN TRAN; INSERT other VALUES (1)");
    let pages = "SELECT in_row_data_page_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('t') AND index_id = 0";
    let before: u64 = quiet(&mut a, pages)[1].parse().unwrap();
    quiet(
        &mut a,
        "DECLARE @i int = 0; WHILE @i < 1000 BEGIN DELETE t WHERE a = @i; INSERT t VALUES (@i + 60, 'y'); SET @i += 1 END",
    );
    let after: u64 = quiet(&mut a, pages)[1].parse().unwrap();
    assert!(after <= before + 2, "{before} pages, then {after}");
    // In one transaction, too: what it has freed it may fill.
    quiet(
        &mut a,
        "BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 1000 BEGIN DELETE t WHERE a = @i + 1000; INSERT t VALUES (@i + 1060, 'z'); SET @i += 1 END",
    );
    let own: u64 = quiet(&mut a, pages)[1].parse().unwrap();
    assert!(own <= after + 3, "{after} pages, then {own}");
    quiet(&mut a, "ROLLBACK");
    quiet(&mut old, "COMMIT");
    let there = quiet(
        &mut a,
        "SELECT COUNT(*), MIN(a), MAX(a) FROM t WHERE p = 'y'",
    );
    assert_eq!(there[1], "60 | 1000 | 1059");
    whole(&mut a);
}

/// Somebody's rollback drops slots at the end of a page only where nobody wants to put a row back.
#[test]
fn a_rollback_leaves_the_slots_of_others() {
    let instance = instance();
    let (mut a, mut b) = two(&instance);
    quiet(
        &mut a,
        "CREATE TABLE t (a int NOT NULL, p varchar(8000)); CREATE INDEX i ON t (a)",
    );
    quiet(
        &mut a,
        "INSERT t SELECT v, REPLICATE('x', 100) FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) x(v)",
    );
    quiet(&mut a, "BEGIN TRAN; DELETE t WHERE a > 1");
    quiet(&mut b, "BEGIN TRAN; INSERT t VALUES (20, 'y'); ROLLBACK");
    // To the last byte that is free.
    let fill = "DECLARE @n int = 7900; WHILE @n > 0 BEGIN INSERT t VALUES (100 + @n, REPLICATE('z', @n)); SET @n -= CASE WHEN @n > 400 THEN 400 ELSE 7 END END";
    quiet(&mut b, fill);
    quiet(&mut a, "ROLLBACK");
    assert_eq!(
        quiet(
            &mut a,
            "SELECT COUNT(*) FROM t WHERE a < 10 AND p = REPLICATE('x', 100)"
        )[1],
        "10"
    );
    whole(&mut a);
}
