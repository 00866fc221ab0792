//! What statements have taken, found again by their handles.

use crate::{alone, run};

#[test]
fn statements_are_counted_and_their_texts_found() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int IDENTITY PRIMARY KEY, x char(2000))",
    );
    run(
        &mut s,
        "CREATE PROCEDURE fill @n int AS SET NOCOUNT ON; WHILE @n > 0 BEGIN INSERT t VALUES ('many'); SET @n -= 1 END",
    );
    run(&mut s, "EXEC fill 40");
    run(&mut s, "EXEC fill 2");
    for _ in 0..3 {
        run(&mut s, "SELECT COUNT(*) FROM t /* counted */");
    }
    let of = |text: &str| {
        format!(
            "SELECT q.execution_count, q.total_rows, q.max_rows, CASE WHEN q.total_logical_reads > 0 THEN 'reads' END, CASE WHEN q.total_logical_writes > 0 THEN 'writes' END, CASE WHEN q.total_elapsed_time >= q.total_worker_time AND q.max_elapsed_time >= q.min_elapsed_time THEN 'timed' END, SUBSTRING(x.text, q.statement_start_offset / 2 + 1, (q.statement_end_offset - q.statement_start_offset) / 2), x.objectid - OBJECT_ID('fill'), p.objtype FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x JOIN sys.dm_exec_cached_plans p ON p.plan_handle = q.plan_handle WHERE x.text LIKE '%{text}%' AND x.text NOT LIKE '%dm_exec%'"
        )
    };
    assert_eq!(
        run(&mut s, &of("INSERT t VALUES"))[1],
        "42 | 42 | 1 | reads | writes | timed | INSERT t VALUES ('many') | 0 | Proc"
    );
    let counted = &run(&mut s, &of("counted"))[1];
    assert!(
        counted.starts_with("3 | 3 | 1 | reads | NULL | timed | SELECT COUNT(*) FROM t")
            && counted.ends_with(" | NULL | Adhoc"),
        "{counted}"
    );
    let procedures = "SELECT execution_count, CASE WHEN total_logical_writes > 0 THEN 'writes' END, type_desc FROM sys.dm_exec_procedure_stats WHERE database_id = DB_ID() AND object_id = OBJECT_ID('fill')";
    assert_eq!(
        run(&mut s, procedures)[1],
        "2 | writes | SQL_STORED_PROCEDURE"
    );
    let uses = "SELECT p.usecounts FROM sys.dm_exec_cached_plans p CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) x WHERE x.text LIKE 'SELECT COUNT(*) FROM t%'";
    assert_eq!(run(&mut s, uses)[1], "3");
    // The batch that asks finds itself.
    let own = "SELECT x.text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) x WHERE r.session_id = @@SPID";
    assert_eq!(run(&mut s, own)[1], own);
    assert_eq!(
        run(&mut s, "SELECT COUNT(*) FROM sys.dm_exec_sql_text(0x02)")[1],
        "0"
    );
}
