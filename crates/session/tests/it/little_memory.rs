//! What a statement keeps that finds no room in memory waits in a file: rows of INSERT ... EXECUTE, of OUTPUT, of triggers,
//! of windows that look around a row. The instance has 8 MB for rows, and each keeps twice as much.

use super::*;

const ROWS: i64 = 40_000;

fn begin() -> Alone {
    let mut s = alone();
    quiet(&mut s, "CREATE DATABASE m");
    for sql in [
        "USE m",
        "SET NOCOUNT ON",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, pad char(200) NOT NULL)",
        "INSERT t SELECT TOP 200 ROW_NUMBER() OVER (ORDER BY object_id), 'x' FROM sys.all_columns",
        "INSERT t SELECT a.id + 200 * b.id, CONCAT('p', a.id) FROM t a CROSS JOIN (SELECT id FROM t WHERE id < 200) AS b",
    ] {
        quiet(&mut s, sql);
    }
    s
}

/// What a statement has spilled shows in what is counted of it.
fn spilled(s: &mut Session, text: &str) -> bool {
    let sql = format!(
        "SELECT MAX(q.max_spills) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t \
         WHERE t.text LIKE '{text}%'"
    );
    quiet(s, &sql)[1].parse::<i64>().is_ok_and(|n| n > 0)
}

#[test]
fn rows_of_a_procedure_wait_in_a_file() {
    let mut s = begin();
    // Wide rows that are narrow where they are written: they come one by one.
    for sql in [
        "CREATE TABLE u (id int, pad varchar(10))",
        "INSERT u EXEC ('SELECT id, CONVERT(char(8000), pad) FROM t WHERE id <= 2000; SELECT id + 1000000, pad FROM t WHERE id <= 10')",
    ] {
        quiet(&mut s, sql);
    }
    let found = quiet(
        &mut s,
        "SELECT COUNT(*), SUM(CONVERT(bigint, id)), COUNT(DISTINCT pad) FROM u",
    );
    let sum = 2000 * 2001 / 2 + 10 * 1_000_000 + 55;
    assert_eq!(found[1], format!("2010 | {sum} | 201"));
    assert!(spilled(&mut s, "INSERT u EXEC"));
    // In the order in which they come, whether they have gone into the file or not.
    for sql in [
        "CREATE TABLE v (n int IDENTITY, id int, pad varchar(10))",
        "INSERT v EXEC ('SELECT id, CONVERT(char(8000), pad) FROM t WHERE id <= 2000 ORDER BY id')",
    ] {
        quiet(&mut s, sql);
    }
    let found = quiet(&mut s, "SELECT COUNT(*), SUM(ABS(n - id)) FROM v");
    assert_eq!(found[1], "2000 | 0");
    assert!(spilled(&mut s, "INSERT v EXEC"));
}

#[test]
fn rows_of_triggers_and_of_output_wait_in_a_file() {
    let mut s = begin();
    for sql in [
        "CREATE TABLE u (id int PRIMARY KEY, pad char(200))",
        "CREATE TABLE told (n int, s bigint, d int)",
        "CREATE TRIGGER tr ON u AFTER INSERT, UPDATE AS \
         INSERT told SELECT COUNT(*), SUM(CONVERT(bigint, i.id)), (SELECT COUNT(*) FROM deleted d WHERE d.pad < 'zz') FROM inserted i",
        "INSERT u SELECT id, pad FROM t",
        "UPDATE u SET pad = 'y' WHERE id % 2 = 0",
    ] {
        quiet(&mut s, sql);
    }
    let reported = quiet(&mut s, "SELECT n, s, d FROM told ORDER BY n DESC");
    let (all, even) = (ROWS * (ROWS + 1) / 2, ROWS / 2 * (ROWS / 2 + 1));
    assert_eq!(
        reported[1..3],
        [
            format!("{ROWS} | {all} | 0"),
            format!("{} | {even} | {}", ROWS / 2, ROWS / 2)
        ]
    );
    let mut rows = quiet(&mut s, "DELETE t OUTPUT deleted.id, deleted.pad");
    rows.retain(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    let sum: i64 = rows
        .iter()
        .filter_map(|r| r.split(" | ").next()?.parse::<i64>().ok())
        .sum();
    assert_eq!((rows.len() as i64, sum), (ROWS, all));
}

#[test]
fn windows_that_look_around_a_row_wait_in_a_file() {
    let mut s = begin();
    let found = quiet(
        &mut s,
        "SELECT SUM(id - before), SUM(after - id), SUM(CONVERT(bigint, around)), MAX(tile), SUM(CONVERT(bigint, first)), \
         COUNT(DISTINCT pad), MAX(most) FROM (SELECT id, pad, LAG(id, 3000) OVER (ORDER BY id) AS before, \
         LEAD(id) OVER (ORDER BY id) AS after, SUM(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS around, \
         NTILE(7) OVER (ORDER BY id) AS tile, FIRST_VALUE(id) OVER (ORDER BY id DESC) AS first, \
         CUME_DIST() OVER (ORDER BY id) AS most FROM t) AS w",
    );
    let n = ROWS;
    let around: i64 = (1..=n)
        .map(|id| {
            (id - 2..=id + 1)
                .filter(|i| (1..=n).contains(i))
                .sum::<i64>()
        })
        .sum();
    let expected = format!(
        "{} | {} | {around} | 7 | {} | 201 | 1",
        3000 * (n - 3000),
        n - 1,
        n * n
    );
    assert_eq!(found[1], expected);
}

const DOUBLES: &str = "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'x'), 1000), @n int = 0; \
     WHILE @n < 20 BEGIN SET @n = @n + 1; SET @s = @s + @s END";

/// The rest of its batch is not run, and the session goes on.
#[test]
fn a_batch_ends_where_there_is_no_memory() {
    let mut s = begin();
    let said = run(&mut s, &format!("{DOUBLES}; SELECT 'not reached'"));
    assert!(said[0].starts_with("Msg 701, Level 17"), "{said:?}");
    assert!(!said.iter().any(|l| l.contains("not reached")), "{said:?}");
    let caught = quiet(
        &mut s,
        &format!("BEGIN TRY {DOUBLES}; END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"),
    );
    assert_eq!(caught[1], "701");
}

/// Its pages are written and logged once each, from the first to the last, though its rows came as several sorted runs.
#[test]
fn an_index_of_more_rows_than_memory_holds_is_one_run() {
    let mut s = begin();
    let inserts = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) \
                   WHERE Operation = 'LOP_INSERT_ROWS' AND Context = 'LCX_INDEX_LEAF'";
    let before: i64 = quiet(&mut s, inserts)[1].parse().unwrap();
    quiet(&mut s, "CREATE INDEX i ON t (pad)");
    let after: i64 = quiet(&mut s, inserts)[1].parse().unwrap();
    assert!(
        after - before < 100,
        "{before} records of rows, then {after}"
    );
    let stats = "SELECT page_count, CONVERT(int, avg_fragmentation_in_percent), CONVERT(int, avg_page_space_used_in_percent) \
                 FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('t'), 2, NULL, 'DETAILED') WHERE index_level = 0";
    let line = quiet(&mut s, stats)[1].clone();
    let n: Vec<i64> = line.split(" | ").map(|n| n.parse().unwrap()).collect();
    assert!(n[0] > 1000 && n[1] < 10 && n[2] > 90, "{line}");
    let said = quiet(&mut s, "DBCC CHECKDB('m') WITH NO_INFOMSGS, ALL_ERRORMSGS");
    assert!(said.is_empty(), "{said:?}");
}

/// One group of STRING_AGG keeps its texts and what they are sorted by: far more than the value that is made of them.
#[test]
fn the_texts_of_a_list_wait_in_a_file() {
    let mut s = begin();
    let made = "SELECT STRING_AGG(CONVERT(varchar(max), id), ',') WITHIN GROUP (ORDER BY RIGHT(CONVERT(varchar(9), id), 1), pad, id DESC) AS l";
    let mut expected: Vec<i64> = (1..=ROWS).collect();
    let pad = |id: i64| match id {
        1..=200 => "x".to_owned(),
        id => format!("p{}", (id - 1) % 200 + 1),
    };
    expected.sort_by_key(|id| (id % 10, pad(*id), -id));
    let expected: Vec<String> = expected.iter().map(i64::to_string).collect();
    let expected = expected.join(",");
    let found = quiet(&mut s, &format!("{made} FROM t"));
    assert!(found[1] == expected, "{} characters", found[1].len());
    assert!(spilled(&mut s, "SELECT STRING_AGG"));
    // Several groups, of which each waits with the others; two lists, one of them in the order of the rows.
    let found = quiet(
        &mut s,
        "SELECT id % 3 AS g, COUNT(*), STRING_AGG(CONVERT(varchar(max), id), N'; ') WITHIN GROUP (ORDER BY pad DESC, id), \
         MAX(pad), STRING_AGG(CONVERT(varchar(max), 'z'), '') FROM t GROUP BY id % 3 HAVING MIN(id) > 0 ORDER BY g",
    );
    for (g, line) in found[1..4].iter().enumerate() {
        let mut ids: Vec<i64> = (1..=ROWS).filter(|id| id % 3 == g as i64).collect();
        ids.sort_by(|a, b| pad(*b).cmp(&pad(*a)).then(a.cmp(b)));
        let list: Vec<String> = ids.iter().map(i64::to_string).collect();
        let parts: Vec<&str> = line.split(" | ").collect();
        assert_eq!(parts[1], ids.len().to_string());
        assert!(parts[2] == list.join("; "), "group {g}");
        assert_eq!(parts[4].trim_end().len(), ids.len());
    }
    let cut = run(
        &mut s,
        "SELECT STRING_AGG(CONVERT(varchar(9), id), ',') WITHIN GROUP (ORDER BY pad) FROM t",
    );
    assert!(cut.iter().any(|l| l.starts_with("Msg 9829")), "{cut:?}");
}

/// Both kinds of IN, with and without a NULL in the list.
#[test]
fn values_behind_in_wait_in_a_file() {
    let mut s = begin();
    let list = "SELECT CONVERT(varchar(400), CONCAT(id * 2, REPLICATE('-', 300))) FROM t";
    let item = "CONVERT(varchar(400), CONCAT(id, REPLICATE('-', 300)))";
    let sql = format!("SELECT COUNT(*) FROM t WHERE {item} IN ({list}) OR id = -1");
    assert_eq!(quiet(&mut s, &sql)[1], (ROWS / 2).to_string());
    assert!(spilled(&mut s, "SELECT COUNT(*) FROM t WHERE"));
    let sql = format!("SELECT COUNT(*) FROM t WHERE {item} NOT IN ({list}) OR id = -1");
    assert_eq!(quiet(&mut s, &sql)[1], (ROWS / 2).to_string());
    let sql = format!(
        "SELECT COUNT(*) FROM t WHERE {item} NOT IN ({list} UNION ALL SELECT NULL) OR id = -1"
    );
    assert_eq!(quiet(&mut s, &sql)[1], "0");
    let sql = format!(
        "SELECT COUNT(*) FROM t WHERE CASE WHEN id % 2 = 0 THEN NULL ELSE {item} END IN ({list}) OR id = 2"
    );
    assert_eq!(quiet(&mut s, &sql)[1], "1");
}

/// Rows that follow a key wait in a file between being found and being changed.
#[test]
fn rows_of_a_cascade_wait_in_a_file() {
    let mut s = begin();
    for sql in [
        "CREATE TABLE p (k int PRIMARY KEY)",
        "INSERT p SELECT id FROM t WHERE id <= 3",
        "CREATE TABLE c (id int PRIMARY KEY, k int NULL REFERENCES p (k) ON DELETE CASCADE ON UPDATE CASCADE, pad char(1000), INDEX ik (k))",
        "INSERT c SELECT id, id % 3 + 1, pad FROM t WHERE id <= 9000",
        "UPDATE p SET k = 7 WHERE k = 1",
    ] {
        quiet(&mut s, sql);
    }
    let count = "SELECT k, COUNT(*) FROM c GROUP BY k ORDER BY k";
    assert_eq!(
        quiet(&mut s, count)[1..4],
        ["2 | 3000", "3 | 3000", "7 | 3000"]
    );
    quiet(&mut s, "DELETE p WHERE k <> 2");
    assert_eq!(quiet(&mut s, count)[1], "2 | 3000");
    assert!(spilled(&mut s, "DELETE p"));
}

/// Keys that follow keys that follow, each row's former key another's new one.
#[test]
fn keys_that_move_over_several_tables_are_looked_at_together() {
    let mut s = begin();
    for sql in [
        "CREATE TABLE p (k int PRIMARY KEY)",
        "INSERT p SELECT id FROM t WHERE id <= 3",
        "CREATE TABLE c (id int, k int REFERENCES p (k) ON UPDATE CASCADE, pad char(1000), PRIMARY KEY (k, id))",
        "CREATE TABLE d (id int PRIMARY KEY, k int, of_id int, FOREIGN KEY (k, of_id) REFERENCES c (k, id) ON UPDATE CASCADE)",
        "INSERT c SELECT id, id % 3 + 1, pad FROM t WHERE id <= 9000",
        "INSERT d SELECT id, k, id FROM c",
        "UPDATE p SET k = k + 1",
        "UPDATE c SET id = id + 1",
    ] {
        quiet(&mut s, sql);
    }
    let found = quiet(
        &mut s,
        "SELECT d.k, COUNT(*), MIN(d.of_id - d.id), MAX(d.of_id - d.id) FROM d JOIN c ON c.k = d.k AND c.id = d.of_id GROUP BY d.k ORDER BY d.k",
    );
    assert_eq!(
        found[1..4],
        ["2 | 3000 | 1 | 1", "3 | 3000 | 1 | 1", "4 | 3000 | 1 | 1"]
    );
    assert!(spilled(&mut s, "UPDATE c"));
}

/// Of the rows that a comparison with all or any of them has to do with, few decide.
#[test]
fn comparisons_with_many_rows_need_few() {
    let mut s = begin();
    let wide = "SELECT CONVERT(varchar(200), CONCAT(id, pad)) FROM t";
    let number = "SELECT CASE WHEN id = 30000 THEN NULL ELSE id END FROM t WHERE pad > ''";
    for (condition, expected) in [
        (format!("'a' > ALL ({wide})"), "1"),
        (format!("'5' > ALL ({wide})"), "0"),
        (format!("'0' < ALL ({wide})"), "1"),
        (format!("'0' >= ANY ({wide})"), "0"),
        (format!("'2' <> ANY ({wide})"), "1"),
        (format!("'2' = ALL ({wide})"), "0"),
        (format!("'202p2' = ANY ({wide})"), "1"),
        (format!("'202p3' <> ALL ({wide})"), "1"),
        (format!("50000 > ALL ({number})"), "0"),
        (format!("NOT 50000 > ALL ({number})"), "0"),
        (format!("NOT 40000 > ALL ({number})"), "1"),
        (format!("50000 > ANY ({number})"), "1"),
        (format!("50000 > ALL ({number} AND id < 0)"), "1"),
        (format!("50000 > ANY ({number} AND id < 0)"), "0"),
    ] {
        let sql = format!("SELECT CASE WHEN {condition} THEN 1 ELSE 0 END");
        assert_eq!(quiet(&mut s, &sql)[1], expected, "{condition}");
    }
    let said = run(&mut s, &format!("SELECT ({wide})"));
    assert!(said[1].starts_with("Msg 512"), "{said:?}");
}
