//! Views: their columns, and values that can be known from outside.

use crate::{alone, instance, login, run};

/// The heading of a view: names and types in their order.
fn heading(s: &mut duramen_session::Session, from: &str) -> String {
    run(s, &format!("SELECT * FROM {from} WHERE 1 = 0"))[0].clone()
}

#[test]
fn views_have_the_columns_that_scripts_expect() {
    let mut s = alone();
    let columns = |h: &str| h.split(", ").count();
    let h = heading(&mut s, "sys.databases");
    assert!(h.starts_with("(name nvarchar(128), database_id int, source_database_id int, owner_sid varbinary(85), create_date datetime, compatibility_level tinyint, collation_name nvarchar(128), user_access tinyint"), "{h}");
    assert!(
        h.ends_with("is_ledger_on bit, is_change_feed_enabled bit)"),
        "{h}"
    );
    assert_eq!(columns(&h), 89);
    assert_eq!(
        heading(&mut s, "sys.dm_db_log_info(NULL)"),
        "(database_id int, file_id smallint, vlf_begin_offset bigint, vlf_size_mb float, vlf_sequence_number bigint, vlf_active bit, vlf_status int, vlf_parity tinyint, vlf_first_lsn nvarchar(48), vlf_create_lsn nvarchar(48), vlf_encryptor_thumbprint varbinary(20))"
    );
    let files = heading(&mut s, "sys.database_files");
    assert_eq!(columns(&files), 30);
    let master = heading(&mut s, "sys.master_files");
    assert_eq!(
        master,
        format!(
            "(database_id int, {}, credential_id int)",
            &files[1..files.len() - 1]
        )
    );
    let h = heading(&mut s, "fn_dblog(NULL, NULL)");
    assert!(h.starts_with("(Current LSN nvarchar(23), Operation nvarchar(31), Context nvarchar(31), Transaction ID nvarchar(14), LogBlockGeneration bigint, Tag Bits binary(2), Log Record Fixed Length smallint"), "{h}");
    assert_eq!(columns(&h), 130);
    assert_eq!(
        heading(&mut s, "sys.dm_db_log_space_usage"),
        "(database_id smallint, total_log_size_in_bytes bigint, used_log_space_in_bytes bigint, used_log_space_in_percent real, log_space_in_bytes_since_last_backup bigint)"
    );
    let h = heading(&mut s, "sys.dm_db_log_stats(DB_ID())");
    assert_eq!(columns(&h), 19);
    assert_eq!(columns(&heading(&mut s, "sys.dm_exec_requests")), 62);
    assert_eq!(columns(&heading(&mut s, "sys.columns")), 40);
    assert_eq!(columns(&heading(&mut s, "sys.tables")), 48);
    assert_eq!(columns(&heading(&mut s, "sys.indexes")), 23);
}

#[test]
fn the_log_views_agree() {
    let mut s = alone();
    let sql = "SELECT CASE WHEN i.n = st.total_vlf_count AND sp.total_log_size_in_bytes / 1048576.0 = st.total_log_size_mb AND st.active_vlf_count = i.active THEN 1 ELSE 0 END, st.recovery_model, st.log_truncation_holdup_reason FROM (SELECT COUNT(*) AS n, SUM(CAST(vlf_active AS int)) AS active FROM sys.dm_db_log_info(1)) AS i CROSS JOIN sys.dm_db_log_stats(1) AS st CROSS JOIN sys.dm_db_log_space_usage AS sp";
    assert_eq!(run(&mut s, sql)[1], "1 | SIMPLE | NOTHING");
    let sql = "SELECT d.name, COUNT(*) FROM sys.databases AS d CROSS APPLY sys.dm_db_log_info(d.database_id) AS l WHERE d.database_id <= 2 GROUP BY d.name ORDER BY d.name";
    assert_eq!(
        run(&mut s, sql)[1..],
        ["master | 4", "tempdb | 4", "rows 2"]
    );
}

#[test]
fn fn_dblog_tells_a_transaction_whole() {
    let mut s = alone();
    run(&mut s, "CREATE DATABASE d");
    run(
        &mut s,
        "USE d; CREATE TABLE dbo.t (id int PRIMARY KEY, c char(10)); CHECKPOINT",
    );
    run(
        &mut s,
        "BEGIN TRAN work; INSERT t VALUES (1, 'a'); SAVE TRAN half; DELETE t; COMMIT",
    );
    let sql = "SELECT Operation, Context, [Transaction Name], [AllocUnitName], [Savepoint Name], [SPID], [Description] FROM fn_dblog(NULL, NULL) WHERE [Transaction ID] = (SELECT MAX([Transaction ID]) FROM fn_dblog(NULL, NULL) WHERE [Transaction Name] = 'work')";
    let lines = run(&mut s, sql);
    let pk = run(
        &mut s,
        "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('t')",
    )[1]
    .clone();
    assert_eq!(
        lines[1],
        "LOP_BEGIN_XACT | LCX_NULL | work | NULL | NULL | 51 | work;0x01"
    );
    let unit = format!("LOP_INSERT_ROWS | LCX_CLUSTERED | NULL | dbo.t.{pk} | NULL | NULL | ");
    assert!(lines.contains(&unit), "{lines:?}");
    assert!(
        lines.contains(&"LOP_MARK_SAVEPOINT | LCX_NULL | NULL | NULL | half | NULL | ".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|l| l.starts_with("LOP_COMMIT_XACT")),
        "{lines:?}"
    );
    let sql = "SELECT TOP (1) CASE WHEN [Begin Time] LIKE '20[0-9][0-9]/[0-9][0-9]/[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]:[0-9][0-9][0-9]' OR [Begin Time] LIKE '19%' THEN 1 END FROM fn_dblog(NULL, NULL) WHERE [Transaction Name] = 'work'";
    assert_eq!(run(&mut s, sql)[1], "1");
    let sql = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_INSERT_ROWS' AND [Log Reserve] > 0 AND [Lock Information] LIKE 'HoBt %:ACQUIRE_LOCK_IX OBJECT: 5:%ACQUIRE_LOCK_X KEY: 5:%'";
    assert_ne!(run(&mut s, sql)[1], "0");
}

#[test]
fn the_catalog_describes_tables() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int IDENTITY(5,2) CONSTRAINT pk_t PRIMARY KEY, a varchar(20) NOT NULL DEFAULT 'x', b decimal(9,2) NULL); CREATE INDEX ix ON t (a DESC) INCLUDE (b); INSERT t DEFAULT VALUES; INSERT t DEFAULT VALUES",
    );
    let mut one = |sql: &str| {
        let lines = run(&mut s, sql);
        match lines[0].starts_with("Msg") {
            true => lines[0].clone(),
            false => lines[1..].join(";"),
        }
    };
    assert_eq!(
        one(
            "SELECT name, type, type_desc, is_ms_shipped FROM sys.objects WHERE parent_object_id = OBJECT_ID('dbo.t') AND type = 'PK' OR name = 't'"
        ),
        "t | U  | USER_TABLE | 0;pk_t | PK | PRIMARY_KEY_CONSTRAINT | 0;rows 2"
    );
    assert_eq!(
        one(
            "SELECT c.name, ty.name, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity FROM sys.columns AS c JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('t') ORDER BY c.column_id"
        ),
        "id | int | 4 | 10 | 0 | 0 | 1;a | varchar | 20 | 0 | 0 | 0 | 0;b | decimal | 5 | 9 | 2 | 1 | 0;rows 3"
    );
    assert_eq!(
        one(
            "SELECT i.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column, COL_NAME(ic.object_id, ic.column_id) FROM sys.indexes AS i JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id WHERE i.object_id = OBJECT_ID('t') AND i.index_id > 1 ORDER BY ic.index_column_id"
        ),
        "ix | 1 | 1 | 0 | a;ix | 0 | 0 | 1 | b;rows 2"
    );
    assert_eq!(
        one(
            "SELECT p.index_id, p.rows, a.type_desc, a.used_pages, a.data_pages FROM sys.partitions AS p JOIN sys.allocation_units AS a ON a.container_id = p.hobt_id WHERE p.object_id = OBJECT_ID('t') ORDER BY p.index_id"
        ),
        "1 | 2 | IN_ROW_DATA | 2 | 1;2 | 2 | IN_ROW_DATA | 2 | 1;rows 2"
    );
    assert_eq!(
        one(
            "SELECT seed_value, increment_value, last_value FROM sys.identity_columns WHERE object_id = OBJECT_ID('t')"
        ),
        "5 | 2 | 7;rows 1"
    );
    assert_eq!(
        one(
            "SELECT definition, is_system_named FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('t')"
        ),
        "('x') | 1;rows 1"
    );
    assert_eq!(
        one(
            "SELECT name, unique_index_id, is_system_named FROM sys.key_constraints WHERE parent_object_id = OBJECT_ID('t')"
        ),
        "pk_t | 1 | 0;rows 1"
    );
    assert_eq!(
        one(
            "SELECT COUNT(*) FROM sys.all_columns WHERE object_id = OBJECT_ID('sys.dm_db_log_info')"
        ),
        "11;rows 1"
    );
    assert_eq!(
        one("SELECT name FROM msdb.sys.database_files ORDER BY file_id"),
        "MSDBData;MSDBLog;rows 2"
    );
    assert!(one("SELECT 1 FROM nowhere.sys.tables").starts_with("Msg 208"));
}

#[test]
fn sessions_and_locks_show_who_does_what() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(
        &mut a,
        "CREATE TABLE t (id int PRIMARY KEY); BEGIN TRAN; INSERT t VALUES (1)",
    );
    let lines = run(
        &mut b,
        "SELECT session_id, status, open_transaction_count, database_id, login_name FROM sys.dm_exec_sessions WHERE is_user_process = 1 ORDER BY session_id",
    );
    assert_eq!(
        lines[1..],
        [
            "51 | sleeping | 1 | 1 | sa",
            "52 | running | 0 | 1 | sa",
            "rows 2"
        ]
    );
    assert_eq!(
        run(
            &mut b,
            "SELECT session_id, command, status FROM sys.dm_exec_requests WHERE session_id > 50"
        )[1..],
        ["52 | SELECT | running", "rows 1"]
    );
    let locks = run(
        &mut b,
        "SELECT resource_type, request_mode, request_status, request_session_id FROM sys.dm_tran_locks WHERE resource_type IN ('OBJECT', 'PAGE', 'KEY') AND request_session_id = 51 ORDER BY resource_type DESC",
    );
    assert_eq!(
        locks[1..],
        [
            "PAGE | IX | GRANT | 51",
            "OBJECT | IX | GRANT | 51",
            "KEY | X | GRANT | 51",
            "rows 3"
        ]
    );
    let sql = "SELECT RTRIM(counter_name), cntr_type FROM sys.dm_os_performance_counters WHERE object_name = 'SQLServer:Databases' AND instance_name = 'master' AND counter_name = 'Percent Log Used'";
    assert_eq!(run(&mut b, sql)[1], "Percent Log Used | 65792");
}

#[test]
fn a_killed_session_is_undone_and_says_so() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(
        &mut a,
        "CREATE TABLE t (id int PRIMARY KEY); INSERT t VALUES (1)",
    );
    run(&mut a, "BEGIN TRAN; DELETE t");
    assert!(run(&mut b, "KILL 52")[0].starts_with("Msg 6104"));
    assert!(run(&mut b, "KILL 99")[0].starts_with("Msg 6106"));
    assert_eq!(run(&mut b, "KILL 51"), Vec::<String>::new());
    assert_eq!(run(&mut b, "SELECT COUNT(*) FROM t")[1], "1");
    assert!(run(&mut a, "SELECT 1")[0].starts_with("Msg 596, Level 21"));
    drop(a);
    assert_eq!(
        run(
            &mut b,
            "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id > 50"
        )[1],
        "1"
    );
}

#[test]
fn reads_and_writes_of_every_file_are_counted() {
    let mut s = alone();
    let stats = "SELECT file_id, CASE WHEN num_of_writes > 0 AND num_of_bytes_written >= 8192 * num_of_writes THEN 1 ELSE 0 END, size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(DB_ID('d'), NULL) ORDER BY file_id";
    run(&mut s, "CREATE DATABASE d");
    run(
        &mut s,
        "USE d; CREATE TABLE t (a char(8000)); INSERT t VALUES ('x'), ('y'); CHECKPOINT",
    );
    assert_eq!(run(&mut s, stats)[1], "1 | 1 | 8388608");
    assert_eq!(run(&mut s, stats).len(), 4);
    let one = "SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(DB_ID('d'), 2)";
    assert_eq!(run(&mut s, one)[1], "1");
}

#[test]
fn open_transactions_show_what_they_have_logged() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE DATABASE d");
    run(&mut a, "USE d; CREATE TABLE t (x int, c char(1000))");
    run(&mut a, "BEGIN TRAN work");
    let sql = "SELECT s.session_id, a.name, d.database_transaction_state, d.database_transaction_log_record_count, CASE WHEN d.database_transaction_log_bytes_used BETWEEN 2000 AND 8000 AND d.database_transaction_log_bytes_reserved > 2000 THEN 1 ELSE 0 END, CASE WHEN d.database_transaction_begin_lsn IS NULL THEN 0 ELSE 1 END FROM sys.dm_tran_session_transactions AS s JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = s.transaction_id JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = s.transaction_id WHERE d.database_id = DB_ID('d')";
    assert_eq!(run(&mut b, sql)[1], "51 | work | 3 | 0 | 0 | 0");
    run(&mut a, "INSERT t VALUES (1, 'a'), (2, 'b')");
    // The same from outside and from within.
    assert_eq!(run(&mut b, sql)[1], "51 | work | 4 | 3 | 1 | 1");
    assert_eq!(run(&mut a, sql)[1], "51 | work | 4 | 3 | 1 | 1");
    run(&mut a, "COMMIT");
    assert_eq!(run(&mut b, sql)[1], "rows 0");
}

#[test]
fn a_call_is_a_request_like_a_batch() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    let call = |s: &mut duramen_session::Session, sql: &str| {
        let mut sink = duramen_program::text::TextSink::default();
        let cancel = duramen_access::cancel::CancelToken::default();
        s.execute_sql(sql, "", &[], &mut sink, &cancel);
        sink.lines
    };
    let lines = call(
        &mut a,
        "SELECT status, session_id FROM sys.dm_exec_requests WHERE session_id > 50",
    );
    assert_eq!(lines[1], "running | 51");
    run(
        &mut a,
        "CREATE TABLE t (x int); BEGIN TRAN; INSERT t VALUES (1)",
    );
    assert_eq!(run(&mut b, "KILL 51; SELECT COUNT(*) FROM t")[1], "0");
    assert!(call(&mut a, "SELECT 1")[0].starts_with("Msg 596, Level 21"));
}

#[test]
fn every_listed_view_can_be_read() {
    let mut s = alone();
    let listed = run(
        &mut s,
        "SELECT SCHEMA_NAME(schema_id) + '.' + name FROM sys.all_objects WHERE type = 'V' AND is_ms_shipped = 1 AND OBJECT_ID(SCHEMA_NAME(schema_id) + '.' + name) = object_id AND OBJECT_NAME(object_id) = name",
    );
    let views = &listed[1..listed.len() - 1];
    assert!(views.len() > 200, "{}", views.len());
    for view in views {
        let lines = run(&mut s, &format!("SELECT COUNT(*) FROM {view}"));
        assert!(
            lines.iter().all(|l| !l.starts_with("Msg ")),
            "{view}: {lines:?}"
        );
    }
}

#[test]
fn how_indexes_lie_on_their_pages() {
    let mut s = alone();
    run(&mut s, "CREATE DATABASE d");
    run(&mut s, "USE d");
    run(
        &mut s,
        "CREATE TABLE t (id int PRIMARY KEY, filler char(1000) NOT NULL); CREATE TABLE h (n int); \
         INSERT t SELECT value * 2, '' FROM GENERATE_SERIES(1, 400); INSERT h SELECT id FROM t",
    );
    let stats = |s: &mut duramen_session::Session, table: &str, mode: &str, columns: &str| {
        run(
            s,
            &format!(
                "SELECT {columns} FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('{table}'), NULL, NULL, {mode}) \
                 ORDER BY index_level"
            ),
        )
    };
    let shape =
        "index_id, index_type_desc, alloc_unit_type_desc, index_depth, index_level, record_count";
    let limited = stats(&mut s, "t", "NULL", shape);
    assert_eq!(
        limited[1],
        "1 | CLUSTERED INDEX | IN_ROW_DATA | 2 | 0 | NULL"
    );
    assert_eq!(limited.len(), 3);
    let detailed = stats(&mut s, "t", "'DETAILED'", shape);
    assert_eq!(
        detailed[1],
        "1 | CLUSTERED INDEX | IN_ROW_DATA | 2 | 0 | 400"
    );
    // 7 rows of 1,011 bytes fit a page, and the root has an entry for each.
    assert_eq!(
        detailed[2],
        "1 | CLUSTERED INDEX | IN_ROW_DATA | 2 | 1 | 58"
    );
    let sizes =
        "page_count, min_record_size_in_bytes, max_record_size_in_bytes, ghost_record_count";
    assert_eq!(
        stats(&mut s, "t", "'SAMPLED'", sizes)[1],
        "58 | 1011 | 1011 | 0"
    );
    let heap = stats(&mut s, "h", "'DETAILED'", shape);
    assert_eq!(heap[1], "0 | HEAP | IN_ROW_DATA | 1 | 0 | 400");
    let loose = "CASE WHEN avg_fragmentation_in_percent > 30 THEN 1 ELSE 0 END";
    assert_eq!(stats(&mut s, "t", "'LIMITED'", loose)[1], "0");
    // Rows between the others part pages wherever they come.
    run(
        &mut s,
        "INSERT t SELECT value * 2 + 1, '' FROM GENERATE_SERIES(1, 399) ORDER BY value % 7",
    );
    assert_eq!(stats(&mut s, "t", "'LIMITED'", loose)[1], "1");
    let refused = stats(&mut s, "t", "'WHOLE'", loose);
    assert!(
        refused.iter().any(|l| l.starts_with("Msg 2560")),
        "{refused:?}"
    );
}
