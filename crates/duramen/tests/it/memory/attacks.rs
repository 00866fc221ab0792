//! Statements that try to take more memory than there is.

/// What a refusal may say: memory (701, 802, 1204, 8623, 8645, 8657), a value's size (7119), disk (1101, 1105, 9002), versions
/// (3958), another backup (3023, 3013).
pub const REFUSALS: [i32; 14] = [
    701, 802, 1101, 1105, 1204, 3013, 3023, 3958, 7119, 8623, 8631, 8645, 8657, 9002,
];

/// What a session runs in its round; `at` makes texts differ.
pub type Attack = (&'static str, fn(at: u64) -> String);

pub const ATTACKS: &[Attack] = &[
    ("texts that come once", |at| {
        format!("SELECT COUNT(*) AS n{at} FROM sys.objects o{at} WHERE o{at}.object_id = {at}")
    }),
    ("a pool that is full", |_| {
        "SELECT COUNT(*), MAX(pad) FROM d.dbo.wide".into()
    }),
    ("doubling common table expressions", |_| {
        let mut sql = "WITH c0 AS (SELECT 1 AS a UNION ALL SELECT 1)".to_owned();
        for n in 1..14 {
            let of = n - 1;
            sql += &format!(", c{n} AS (SELECT x.a FROM c{of} x CROSS JOIN c{of} y)");
        }
        sql + " SELECT COUNT(*) FROM (SELECT TOP 100000 a FROM c13) AS t"
    }),
    ("a sort of much", |_| {
        "SELECT MAX(pad) FROM (SELECT a.pad, ROW_NUMBER() OVER (ORDER BY b.id, a.id DESC) AS r FROM d.dbo.wide a \
         CROSS JOIN d.dbo.few b) AS t WHERE r > 60000"
            .into()
    }),
    ("a group for each row", |_| {
        "SELECT COUNT(*) FROM (SELECT MAX(a.pad) AS pad, a.id, b.id AS of_few FROM d.dbo.wide a CROSS JOIN d.dbo.few b \
         GROUP BY a.id, b.id HAVING MAX(a.pad) > 'A') AS t"
            .into()
    }),
    ("a table variable", |_| {
        "DECLARE @t TABLE (id int, pad varchar(4000)); \
         INSERT @t SELECT a.id, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b; SELECT COUNT(*) FROM @t"
            .into()
    }),
    ("a string that doubles", |_| {
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'x'), 1000), @n int = 0; \
         WHILE @n < 14 BEGIN SET @n = @n + 1; SET @s = @s + @s END; SELECT LEN(@s)"
            .into()
    }),
    ("a request of megabytes", |at| {
        format!(
            "DECLARE @s varchar(max) = '{at}{}'; SELECT LEN(@s)",
            "y".repeat(6 << 20)
        )
    }),
    ("a batch of many statements", |at| {
        format!(
            "DECLARE @a bigint; {} SELECT @a",
            format!("SET @a = {at} + 1; ").repeat(20_000)
        )
    }),
    // 701 ends a batch: what it has made is still there when the next begins.
    ("a procedure's rows into a table", |_| {
        "DROP TABLE IF EXISTS #t; CREATE TABLE #t (id int, pad varchar(4000)); INSERT #t EXEC ('SELECT TOP 20000 a.id, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b'); \
         SELECT COUNT(*) FROM #t; DROP TABLE #t"
            .into()
    }),
    ("windows that look around", |_| {
        "SELECT MAX(x), MAX(y) FROM (SELECT LAG(a.pad, 5) OVER (ORDER BY b.id, a.id) AS x, MAX(a.pad) OVER (ORDER BY b.id, a.id \
         ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS y FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8) AS t"
            .into()
    }),
    ("rows that changed, to the client", |_| {
        "DROP TABLE IF EXISTS #t; BEGIN TRY SELECT a.id, a.pad INTO #t FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8; \
         UPDATE #t SET id = 0 OUTPUT inserted.id, deleted.pad; DROP TABLE #t END TRY BEGIN CATCH THROW END CATCH"
            .into()
    }),
    ("a join of one key", |_| {
        // Few rows on one side: each pair is compared.
        "SELECT COUNT(*) FROM (SELECT a.id % 1 AS k, a.pad FROM d.dbo.wide a WHERE a.id <= 100) AS x \
         FULL JOIN (SELECT id % 1 AS k, pad FROM d.dbo.wide) AS y ON x.k = y.k AND LEN(x.pad) + LEN(y.pad) < 0"
            .into()
    }),
    ("an index of wide rows", |_| {
        // What refuses the table is told, and not that there is none then.
        "DROP TABLE IF EXISTS #t; BEGIN TRY SELECT a.id, a.pad INTO #t FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8; \
         CREATE INDEX i ON #t (id) INCLUDE (pad); DROP TABLE #t END TRY BEGIN CATCH THROW END CATCH"
            .into()
    }),
    ("a backup with many buffers", |_| {
        "BACKUP DATABASE d TO DISK = 'nul' WITH COPY_ONLY, BUFFERCOUNT = 400, MAXTRANSFERSIZE = 4194304".into()
    }),
    ("many locks", |_| {
        "BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 10000 BEGIN INSERT d.dbo.t VALUES (@@SPID, 'l'); SET @i = @i + 1 END; ROLLBACK"
            .into()
    }),
    ("contexts with many keys", |at| {
        format!(
            "DECLARE @i int = 0, @k nvarchar(128); WHILE @i < 3000 BEGIN \
             SET @k = CONCAT('{at}', '-', @i); EXEC sp_set_session_context @k, 1; SET @i = @i + 1 END"
        )
    }),
    ("common table expressions that double 24 times", |_| {
        let mut sql = "WITH c0 AS (SELECT 1 AS a UNION ALL SELECT 1)".to_owned();
        for n in 1..24 {
            let of = n - 1;
            sql += &format!(", c{n} AS (SELECT x.a FROM c{of} x CROSS JOIN c{of} y)");
        }
        sql + " SELECT COUNT(*) FROM (SELECT TOP 100000 a FROM c23) AS t"
    }),
    ("a column that doubles 30 times", |_| {
        let mut sql =
            "WITH c0 AS (SELECT CONVERT(varchar(max), id) AS a FROM d.dbo.wide WHERE id < 3)"
                .to_owned();
        for n in 1..30 {
            sql += &format!(", c{n} AS (SELECT a + a AS a FROM c{})", n - 1);
        }
        sql + " SELECT LEN(a) FROM c29"
    }),
];

/// What ends when it is given up, or refused. Whatever transaction is left is rolled back by whoever runs it.
pub const ENDLESS: &[Attack] = &[
    ("a recursion without end", |_| {
        "WITH r AS (SELECT 1 AS n UNION ALL SELECT CASE n WHEN 1000 THEN 1 ELSE n + 1 END FROM r) \
         SELECT COUNT_BIG(*) FROM r OPTION (MAXRECURSION 0)"
            .into()
    }),
    ("a recursion that doubles", |_| {
        "WITH r AS (SELECT 1 AS n, CONVERT(varchar(200), REPLICATE('r', 200)) AS pad UNION ALL SELECT r.n + 1, r.pad FROM r \
         CROSS JOIN (SELECT 1 AS a UNION ALL SELECT 2) AS two) SELECT COUNT_BIG(*), MAX(pad) FROM r OPTION (MAXRECURSION 0)"
            .into()
    }),
    // Several sessions at once: none of them can have the table's lock, so that it is locks or 1204.
    ("inserts of one transaction", |_| {
        "BEGIN TRAN; WHILE @@ERROR = 0 INSERT d.dbo.t VALUES (@@SPID, 'l')".into()
    }),
    ("savepoints of one transaction", |_| {
        "BEGIN TRAN; INSERT d.dbo.t VALUES (@@SPID, 's'); \
         WHILE @@ERROR = 0 SAVE TRAN a_savepoint_with_a_long_name_ab"
            .into()
    }),
];

/// What listens to the whole server, and so makes every other attack slow: several sessions run each of them, and nothing else.
pub const LISTENERS: &[Attack] = &[
    // Each target keeps what it is given in a way of its own. None is read: as text it is as much again.
    ("events that are kept", |at| {
        format!(
            "DECLARE @n sysname = CONCAT('held', @@SPID), @i int = 0, @s nvarchar(max); \
             IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = @n) EXEC ('DROP EVENT SESSION ' + @n + ' ON SERVER'); \
             EXEC ('CREATE EVENT SESSION ' + @n + ' ON SERVER ADD EVENT sqlserver.sql_statement_starting, \
             ADD EVENT sqlserver.sql_statement_completed ADD TARGET package0.ring_buffer(SET max_memory = 1000000), \
             ADD TARGET package0.histogram(SET slots = 1000000, source = ''statement'', source_type = 0, \
             filtering_event_name = ''sqlserver.sql_statement_completed''), \
             ADD TARGET package0.pair_matching(SET begin_event = ''sqlserver.sql_statement_starting'', \
             begin_matching_columns = ''statement'', end_event = ''sqlserver.sql_batch_completed'', \
             end_matching_columns = ''batch_text'', max_orphans = 1000000) \
             WITH (MAX_MEMORY = 1000 MB, MAX_DISPATCH_LATENCY = 1 SECONDS)'); \
             EXEC ('ALTER EVENT SESSION ' + @n + ' ON SERVER STATE = START'); \
             WHILE @i < 600 BEGIN SET @i = @i + 1; SET @s = CONCAT('DECLARE @x int = ', @i, ' /* {at} ', @i, \
             REPLICATE(CONVERT(nvarchar(max), 'e'), 30000), ' */ + 1'); EXEC (@s) END; \
             EXEC ('DROP EVENT SESSION ' + @n + ' ON SERVER')"
        )
    }),
    // The default trace keeps the text of each until its file has it.
    ("audited statements of a megabyte", |at| {
        format!(
            "DECLARE @i int = 0; WHILE @i < 400 BEGIN SET @i = @i + 1; DBCC /* {at} {} */ TRACESTATUS WITH NO_INFOMSGS END",
            "z".repeat(1 << 20)
        )
    }),
];
