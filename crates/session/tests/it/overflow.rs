//! Rows longer than a page, of tables and of indexes: the widest values that are no keys lie outside.

use super::*;

fn begin() -> Alone {
    let mut s = alone();
    quiet(&mut s, "CREATE DATABASE r");
    quiet(&mut s, "USE r");
    quiet(&mut s, "SET NOCOUNT ON");
    s
}

fn whole(s: &mut Session) {
    let said = quiet(s, "DBCC CHECKDB('r') WITH NO_INFOMSGS, ALL_ERRORMSGS");
    assert!(said.is_empty(), "{said:?}");
}

fn units(s: &mut Session, table: &str) -> String {
    let sql = format!(
        "SELECT STRING_AGG(CONCAT(p.index_id, ' ', u.type_desc), ', ') WITHIN GROUP (ORDER BY p.index_id, u.type) FROM sys.partitions p JOIN sys.allocation_units u ON u.container_id = p.hobt_id WHERE p.object_id = OBJECT_ID('{table}')"
    );
    quiet(s, &sql)[1].clone()
}

#[test]
fn a_row_of_long_columns_needs_no_large_type() {
    for key in ["", " PRIMARY KEY"] {
        let mut s = begin();
        quiet(
            &mut s,
            &format!("CREATE TABLE t (id int NOT NULL{key}, a varchar(8000), b nvarchar(4000))"),
        );
        quiet(
            &mut s,
            "INSERT t VALUES (1, REPLICATE('a', 8000), REPLICATE(N'b', 4000)), (2, 'x', N'y'); INSERT t SELECT id + 10, a, b FROM t",
        );
        let heap = i32::from(!key.is_empty());
        assert_eq!(
            units(&mut s, "t"),
            format!("{heap} IN_ROW_DATA, {heap} ROW_OVERFLOW_DATA")
        );
        let sums =
            "SELECT COUNT(*), SUM(LEN(a)), SUM(LEN(b)), MIN(LEFT(a, 1)), MIN(LEFT(b, 1)) FROM t";
        assert_eq!(quiet(&mut s, sums)[1], "4 | 16002 | 8002 | a | b");
        whole(&mut s);
        quiet(
            &mut s,
            "BEGIN TRAN; UPDATE t SET a = REPLICATE('c', 7000), b = REPLICATE(N'd', 3000); DELETE t WHERE id < 10; INSERT t SELECT 5, a, b FROM t WHERE id = 11; ROLLBACK",
        );
        assert_eq!(quiet(&mut s, sums)[1], "4 | 16002 | 8002 | a | b");
        quiet(&mut s, "UPDATE t SET b = N'short' WHERE id = 1");
        assert_eq!(quiet(&mut s, sums)[1], "4 | 16002 | 4007 | a | b");
        quiet(
            &mut s,
            "ALTER TABLE t ADD c varchar(8000) NOT NULL DEFAULT REPLICATE('e', 8000)",
        );
        assert_eq!(quiet(&mut s, "SELECT SUM(LEN(c)) FROM t")[1], "32000");
        whole(&mut s);
    }
}

#[test]
fn an_index_includes_what_is_longer_than_a_page() {
    for clustered in [false, true] {
        let mut s = begin();
        quiet(
            &mut s,
            "CREATE TABLE t (id int NOT NULL, v varchar(max), w varchar(6000)); CREATE INDEX i ON t (id) INCLUDE (v, w)",
        );
        if clustered {
            quiet(&mut s, "CREATE CLUSTERED INDEX c ON t (id)");
        }
        let long = |c: char, n: u32| format!("REPLICATE(CAST('{c}' AS varchar(max)), {n})");
        quiet(
            &mut s,
            &format!(
                "INSERT t VALUES (1, {}, REPLICATE('w', 6000)), (2, {}, 'w'), (3, NULL, NULL); INSERT t SELECT id + 10, v, w FROM t",
                long('v', 9000),
                long('u', 70_000)
            ),
        );
        let by_index =
            "SELECT COUNT(*), SUM(LEN(v)), SUM(LEN(w)), MIN(LEFT(v, 2)) FROM t WITH (INDEX (i))";
        assert_eq!(quiet(&mut s, by_index)[1], "6 | 158000 | 12002 | uu");
        whole(&mut s);
        // It comes after the rows, by parallel threads or not, unique or not.
        quiet(&mut s, "CREATE UNIQUE INDEX u ON t (id) INCLUDE (v)");
        assert_eq!(
            quiet(&mut s, "SELECT SUM(LEN(v)) FROM t WITH (INDEX (u))")[1],
            "158000"
        );
        assert!(
            units(&mut s, "t").ends_with("3 LOB_DATA"),
            "{}",
            units(&mut s, "t")
        );
        whole(&mut s);
        quiet(
            &mut s,
            &format!(
                "BEGIN TRAN; UPDATE t SET v = {} WHERE id = 1; DELETE t WHERE id > 10; UPDATE t SET id = id + 100; ROLLBACK",
                long('x', 30_000)
            ),
        );
        assert_eq!(quiet(&mut s, by_index)[1], "6 | 158000 | 12002 | uu");
        quiet(
            &mut s,
            &format!(
                "UPDATE t SET v = {} WHERE id = 1; DELETE t WHERE id > 10; UPDATE t SET id = id + 100; ALTER INDEX ALL ON t REBUILD",
                long('x', 30_000)
            ),
        );
        assert_eq!(quiet(&mut s, by_index)[1], "3 | 100000 | 6001 | uu");
        whole(&mut s);
        quiet(
            &mut s,
            "DROP INDEX i ON t; DROP INDEX u ON t; TRUNCATE TABLE t",
        );
        whole(&mut s);
    }
}

/// Keys are compared where they are, however long the others are.
#[test]
fn keys_stay_in_their_rows() {
    let mut s = begin();
    let columns: Vec<String> = (0..70).map(|n| format!("c{n} varchar(200)")).collect();
    let values = vec!["REPLICATE('z', 199)"; 70].join(", ");
    quiet(
        &mut s,
        &format!(
            "CREATE TABLE t (k varchar(900) NOT NULL PRIMARY KEY, {})",
            columns.join(", ")
        ),
    );
    for n in 0..30 {
        let sql = format!(
            "INSERT t VALUES (REPLICATE('{:02}', 440), {values})",
            (n * 7) % 30
        );
        quiet(&mut s, &sql);
    }
    for n in 0..30 {
        let sql =
            format!("SELECT COUNT(*) FROM t WHERE k = REPLICATE('{n:02}', 440) AND c69 LIKE 'z%'");
        assert_eq!(quiet(&mut s, &sql)[1], "1", "{n}");
    }
    quiet(&mut s, "DELETE t WHERE k < '15'");
    assert_eq!(
        quiet(&mut s, "SELECT COUNT(*), MIN(LEFT(k, 2)) FROM t")[1],
        "15 | 15"
    );
    whole(&mut s);
}
