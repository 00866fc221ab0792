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

/// Texts that differ in literals have one query hash, plans over the same indexes one plan hash; a request knows the
/// statement that it is at.
#[test]
fn hashes_say_what_is_alike() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int PRIMARY KEY, x int); CREATE INDEX ix ON t (x); INSERT t VALUES (1, 1)",
    );
    for text in [
        "SELECT x FROM t WHERE id = 1 /* hashed */",
        "select X from [t] where ID = -2 /* hashed */;",
        "SELECT x FROM t WHERE x = 3 /* hashed */",
    ] {
        run(&mut s, text);
    }
    let of = "SELECT COUNT(*), COUNT(DISTINCT query_hash), COUNT(DISTINCT query_plan_hash), COUNT(query_plan_hash) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x WHERE x.text LIKE '%hashed%' AND x.text NOT LIKE '%dm_exec%'";
    assert_eq!(run(&mut s, of)[1], "3 | 2 | 2 | 3");
    let documents = "SELECT COUNT(*) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x CROSS APPLY sys.dm_exec_text_query_plan(q.plan_handle, 0, -1) p
        WHERE x.text LIKE '%hashed%' AND x.text NOT LIKE '%dm_exec%' AND p.query_plan LIKE '%QueryHash=\"' + CONVERT(varchar(20), q.query_hash, 1) + '\" QueryPlanHash=\"' + CONVERT(varchar(20), q.query_plan_hash, 1) + '\"%'";
    assert_eq!(run(&mut s, documents)[1], "3");
    let own = "PRINT 'before'; SELECT SUBSTRING(x.text, r.statement_start_offset / 2 + 1, 6), CASE WHEN r.query_hash IS NOT NULL AND r.plan_handle IS NOT NULL THEN 1 END FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) x WHERE r.session_id = @@SPID";
    assert_eq!(run(&mut s, own)[2], "SELECT | 1");
}

/// A program that names a temporary table keeps no plan, but what it looked like.
#[test]
fn plans_over_temporary_tables_are_shown() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE PROCEDURE p AS CREATE TABLE #w (id int PRIMARY KEY, v int); INSERT #w VALUES (1, 1); SELECT v FROM #w WHERE id = 1",
    );
    run(&mut s, "EXEC p");
    let plan = "SELECT COUNT(*) FROM sys.dm_exec_procedure_stats p CROSS APPLY sys.dm_exec_text_query_plan(p.plan_handle, 0, -1) x WHERE p.object_id = OBJECT_ID('p') AND x.query_plan LIKE '%Clustered Index Seek%' AND x.query_plan LIKE '%Clustered Index Insert%'";
    assert_eq!(run(&mut s, plan)[1], "1");
    let hashes = "SELECT COUNT(DISTINCT query_plan_hash), COUNT(*) FROM sys.dm_exec_query_stats q JOIN sys.dm_exec_procedure_stats p ON p.plan_handle = q.plan_handle WHERE p.object_id = OBJECT_ID('p')";
    assert_eq!(run(&mut s, hashes)[1], "2 | 2");
}
