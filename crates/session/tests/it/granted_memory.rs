//! Memory that a statement was granted comes back however the statement ends.

use super::*;

const SETUP: &str = "CREATE TABLE t (id int PRIMARY KEY, g int NOT NULL, s char(40) NOT NULL); \
     INSERT t SELECT value, value % 900, CONVERT(varchar(9), value * 7919 % 20011) FROM GENERATE_SERIES(1, 3000)";

/// Each is granted a tenth of what there is, but for the last, which can be granted nothing.
const STATEMENTS: &[&str] = &[
    "SELECT TOP (3) id FROM t ORDER BY s DESC OPTION (MIN_GRANT_PERCENT = 10)",
    "SELECT TOP (3) g, COUNT(*) FROM t GROUP BY g ORDER BY 2 DESC, 1 OPTION (MIN_GRANT_PERCENT = 10)",
    // In the middle of its rows.
    "SELECT id / (id - 2000) FROM t ORDER BY s OPTION (MIN_GRANT_PERCENT = 10)",
    "BEGIN TRY SELECT 1 / (id - 2000) FROM t ORDER BY s OPTION (MIN_GRANT_PERCENT = 10) END TRY BEGIN CATCH PRINT 'caught' END CATCH",
    "SET XACT_ABORT ON; BEGIN TRAN; INSERT t SELECT id, g, s FROM t ORDER BY s OPTION (MIN_GRANT_PERCENT = 10)",
    "SET XACT_ABORT OFF; BEGIN TRAN; UPDATE t SET g = g + 1 FROM t JOIN (SELECT s FROM t GROUP BY s) x ON t.s = x.s OPTION (HASH JOIN, MIN_GRANT_PERCENT = 10); ROLLBACK",
    "DECLARE @n int; SELECT @n = COUNT(*) FROM (SELECT DISTINCT s FROM t) x OPTION (MIN_GRANT_PERCENT = 10); PRINT @n",
    "SELECT id FROM t ORDER BY s OPTION (MIN_GRANT_PERCENT = 10); RAISERROR('over', 16, 1); RETURN",
];

#[test]
pub(super) fn what_was_granted_comes_back_however_the_statement_ends() {
    let mut s = alone();
    run(&mut s, SETUP);
    let mut others = login(&s.instance);
    let looks = "SELECT (SELECT COUNT(*) FROM sys.dm_exec_query_memory_grants) + (SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLQERESERVATIONS')";
    let granted = "SELECT max_grant_kb FROM sys.dm_exec_query_stats s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) x WHERE x.text LIKE 'SELECT TOP (3) id%'";
    for sql in STATEMENTS {
        run(&mut s, sql);
        assert_eq!(run(&mut others, looks)[1], "0", "{sql}");
    }
    // They were granted something.
    let kb: u64 = run(&mut others, granted)[1].parse().expect("a number");
    assert!(kb >= 512, "{kb} KB");
}
