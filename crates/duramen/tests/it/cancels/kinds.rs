//! Statements of every kind that may take long, as rows: a new one needs a line here.

/// A statement that is cancelled. `{n}` in texts is the number of rows of the tables.
pub struct Kind {
    pub name: &'static str,
    /// Run before each trial, by another session.
    pub before: &'static str,
    pub sql: &'static str,
    /// Takes away what a trial that was not cancelled has left.
    pub undo: &'static str,
}

pub const fn kind(name: &'static str, sql: &'static str) -> Kind {
    undone(name, sql, "")
}

pub const fn undone(name: &'static str, sql: &'static str, undo: &'static str) -> Kind {
    Kind {
        name,
        before: "",
        sql,
        undo,
    }
}

pub const fn after(
    name: &'static str,
    before: &'static str,
    sql: &'static str,
    undo: &'static str,
) -> Kind {
    Kind {
        name,
        before,
        sql,
        undo,
    }
}

/// What all of them find: `t`, `u` rows by key, `hp` a heap of the same, `lob` large values, `h` empty.
pub const SETUP: &[&str] = &[
    "CREATE DATABASE d",
    "ALTER DATABASE d SET RECOVERY SIMPLE",
    "USE d",
    "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, pad char(100) NOT NULL)",
    "INSERT t SELECT value, value % 97, CONVERT(char(100), value * CONVERT(bigint, 7919) % 1000003) FROM GENERATE_SERIES(1, {n})",
    "CREATE TABLE u (id int PRIMARY KEY, a int NOT NULL, pad varchar(200) NOT NULL)",
    "INSERT u SELECT id, a, pad FROM t",
    "CREATE TABLE hp (id int NOT NULL, a int NOT NULL, pad varchar(200) NOT NULL)",
    "INSERT hp SELECT id, a, pad FROM t",
    "CREATE TABLE lob (id int PRIMARY KEY, doc varchar(max) NOT NULL)",
    "INSERT lob SELECT value, REPLICATE(CONVERT(varchar(max), 'lob'), 50000) FROM GENERATE_SERIES(1, {n} / 1000)",
    "CREATE TABLE h (id int, a int)",
    "CREATE TABLE g (id int PRIMARY KEY, a int)",
    "CREATE TABLE tr (id int)",
    "CREATE PROC p AS DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1",
    "CREATE FUNCTION f (@x int) RETURNS int AS BEGIN DECLARE @i int = 0; WHILE @i < 20 SET @i += 1; RETURN @x + @i END",
    "CREATE TRIGGER tr_insert ON tr AFTER INSERT AS DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1",
    "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (1000000)",
    "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
    "CREATE TABLE pt (id int NOT NULL, pad varchar(200) NOT NULL) ON ps (id)",
    "INSERT pt SELECT id, pad FROM t",
    "BACKUP DATABASE d TO DISK = 'd.bak' WITH INIT",
    "CREATE DATABASE held",
    "SELECT 1 AS id INTO held.dbo.locked",
    "CREATE DATABASE full_one",
    "ALTER DATABASE full_one SET RECOVERY FULL",
    "BACKUP DATABASE full_one TO DISK = 'full_one.bak' WITH INIT",
    "SELECT t.* INTO full_one.dbo.t FROM t",
    "BACKUP LOG full_one TO DISK = 'full_one.trn' WITH INIT",
    "INSERT full_one.dbo.t SELECT * FROM t",
    "CREATE TABLE pa (id int PRIMARY KEY)",
    "CREATE TABLE ch (id int PRIMARY KEY, pa int NOT NULL REFERENCES pa (id) ON DELETE CASCADE ON UPDATE CASCADE, pad varchar(100) NOT NULL)",
    "CREATE INDEX ix_pa ON ch (pa)",
    "INSERT pa SELECT id FROM t WHERE id <= {n} / 4",
    "INSERT ch SELECT id, 1 + (id - 1) % ({n} / 4), pad FROM t",
    "CREATE TABLE ti (id int PRIMARY KEY, a int NOT NULL, b AS a * 2 + id PERSISTED, pad varchar(100) NOT NULL)",
    "INSERT ti SELECT id, a, pad FROM t",
    "CREATE INDEX ix_a ON ti (a, pad)",
    "CREATE INDEX ix_b ON ti (b) INCLUDE (pad)",
    "CREATE TRIGGER ti_update ON ti AFTER UPDATE AS DECLARE @n int = (SELECT COUNT(*) FROM inserted i JOIN deleted d ON i.id = d.id WHERE i.pad <> d.pad)",
    "CREATE TABLE ident (id int IDENTITY, pad varchar(100) NOT NULL)",
    "INSERT ident SELECT pad FROM t",
    "CREATE PROCEDURE pn @n int AS IF @n < 30 BEGIN SET @n += 1; EXEC pn @n END ELSE BEGIN DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1 END",
    "CREATE EVENT SESSION many ON SERVER ADD EVENT sqlserver.sql_statement_completed (WHERE sqlserver.session_id > 0) ADD TARGET package0.event_file (SET filename = 'many.xel', max_file_size = 100)",
    "ALTER EVENT SESSION many ON SERVER STATE = START",
    "DECLARE @i int = 0; WHILE @i < {n} / 4 SELECT @i += 1",
    "ALTER EVENT SESSION many ON SERVER STATE = STOP",
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    KINDS
        .iter()
        .chain(super::texts::KINDS)
        .chain(super::administration::KINDS)
}

/// What a session of its own holds meanwhile.
pub const HELD: &str =
    "USE held; BEGIN TRAN; UPDATE locked SET id = 2; EXEC sp_getapplock 'named', 'Exclusive'";

/// Contents that trials must leave as they were.
pub const CONTENTS: &str = "SELECT (SELECT SUM(CONVERT(bigint, CHECKSUM(id, a, pad))) FROM t), (SELECT COUNT(*) FROM t), \
     (SELECT SUM(CONVERT(bigint, CHECKSUM(id, a, pad))) FROM u), (SELECT COUNT(*) FROM u), \
     (SELECT SUM(CONVERT(bigint, CHECKSUM(id, a, pad))) FROM hp), (SELECT COUNT(*) FROM hp), \
     (SELECT SUM(DATALENGTH(doc)) FROM lob), (SELECT COUNT(*) FROM h), (SELECT COUNT(*) FROM pt)";

/// Each statement whose row says that it may take long, and the kinds that try it; what all others may wait for is tried by
/// "a lock".
pub const TRIED: &[(&str, &[&str])] = &[
    (
        "ALTER DATABASE",
        &[
            "growth of a log",
            "growth of a data file",
            "ALTER DATABASE ADD FILE",
            "ALTER DATABASE ADD LOG FILE",
            "ALTER DATABASE SET, others there",
            "ALTER DATABASE SET SINGLE_USER, others there",
            "ALTER DATABASE SET READ_ONLY",
        ],
    ),
    (
        "ALTER INDEX",
        &["ALTER INDEX REBUILD", "ALTER INDEX REORGANIZE"],
    ),
    ("ALTER PARTITION FUNCTION", &["ALTER PARTITION FUNCTION"]),
    (
        "ALTER TABLE",
        &[
            "ALTER TABLE ADD",
            "ALTER TABLE ALTER COLUMN",
            "ALTER TABLE ADD CHECK",
            "ALTER TABLE ADD FOREIGN KEY",
        ],
    ),
    (
        "BACKUP DATABASE",
        &[
            "BACKUP DATABASE",
            "BACKUP, COMPRESSION",
            "BACKUP DATABASE, several files",
            "BACKUP DATABASE, differential",
        ],
    ),
    ("BACKUP LOG", &["BACKUP LOG"]),
    ("BEGIN TRANSACTION", &["INSERT by rows"]),
    ("CHECKPOINT", &["CHECKPOINT"]),
    ("COMMIT", &["INSERT by rows"]),
    ("CREATE DATABASE", &["CREATE DATABASE"]),
    (
        "CREATE INDEX",
        &[
            "CREATE INDEX",
            "CREATE INDEX, much",
            "CREATE CLUSTERED INDEX",
        ],
    ),
    ("CREATE PROCEDURE", &["CREATE PROCEDURE, long"]),
    ("CREATE STATISTICS", &["CREATE STATISTICS"]),
    ("CREATE TABLE", &["many columns"]),
    ("CREATE VIEW", &["CREATE VIEW, long"]),
    (
        "DBCC",
        &[
            "DBCC CHECKDB",
            "DBCC CHECKTABLE",
            "DBCC CHECKALLOC",
            "DBCC CHECKFILEGROUP",
            "DBCC CHECKCATALOG",
            "DBCC CHECKIDENT",
            "DBCC SHRINKFILE of a log",
            "DBCC IND",
            "DBCC LOG",
            "DBCC DROPCLEANBUFFERS",
            "DBCC FREEPROCCACHE",
        ],
    ),
    ("DECLARE", &["string that grows", "REPLICATE", "xml"]),
    (
        "DELETE",
        &["DELETE", "DELETE, cascade", "DELETE of large values"],
    ),
    // Its files go once nobody can give it up.
    ("DROP DATABASE", &["DROP DATABASE"]),
    ("DROP INDEX", &["DROP INDEX, clustered"]),
    ("DROP TABLE", &["DROP TABLE"]),
    ("EXECUTE", &["procedure", "dynamic", "a named lock"]),
    (
        "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY",
        &["loop", "many statements"],
    ),
    (
        "INSERT",
        &[
            "INSERT of a SELECT, heap",
            "INSERT of a SELECT, key",
            "INSERT of large values",
            "INSERT, trigger",
            "table variable",
            "temporary table",
        ],
    ),
    // Its rows come with a message of their own, which an attention cuts: `server` tries that.
    ("RECONFIGURE", &["RECONFIGURE"]),
    ("RESTORE DATABASE", &["RESTORE DATABASE"]),
    ("RESTORE HEADERONLY", &["RESTORE HEADERONLY"]),
    ("RESTORE LOG", &["RESTORE LOG"]),
    ("RESTORE VERIFYONLY", &["RESTORE VERIFYONLY"]),
    ("ROLLBACK", &["INSERT by rows"]),
    ("SAVE TRANSACTION", &["INSERT by rows"]),
    (
        "SELECT",
        &[
            "scan, filtered",
            "hash join, sort",
            "many conditions",
            "many values",
            "large values",
            "conversion",
            "fn_dblog",
        ],
    ),
    ("SELECT INTO", &["SELECT INTO"]),
    ("SET @variable", &["loop"]),
    ("TRUNCATE TABLE", &["TRUNCATE TABLE"]),
    (
        "UPDATE",
        &["UPDATE", "UPDATE that grows rows", "UPDATE of keys"],
    ),
    ("UPDATE STATISTICS", &["UPDATE STATISTICS"]),
    ("WAITFOR", &["WAITFOR"]),
];

/// The statements; a trial's session stands in `d`.
const KINDS: &[Kind] = &[
    // Reading.
    kind(
        "scan, filtered",
        "SELECT COUNT(*) FROM t WHERE pad LIKE '%7%1%9%3%' OR a < 0",
    ),
    kind("cross join", "SELECT COUNT(*) FROM t a CROSS JOIN t b"),
    kind(
        "loop join",
        "SELECT COUNT(*) FROM t a JOIN t b ON a.id < b.id AND a.pad > b.pad",
    ),
    kind(
        "hash join, sort",
        "SELECT MAX(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.pad, b.id DESC) r FROM t a JOIN t b ON a.a = b.a) x",
    ),
    kind(
        "hash join, much",
        "SELECT COUNT(*) FROM t a JOIN hp b ON a.pad = b.pad JOIN u c ON c.pad = b.pad",
    ),
    kind(
        "merge join",
        "SELECT COUNT(*) FROM t a JOIN hp b ON a.pad = b.pad OPTION (MERGE JOIN)",
    ),
    kind(
        "group",
        "SELECT COUNT(*) FROM (SELECT a.pad, b.a, SUM(b.id) s FROM t a JOIN u b ON a.a = b.a GROUP BY a.pad, b.a) x",
    ),
    kind(
        "group, much",
        "SELECT COUNT(*) FROM (SELECT a.id, a.pad, COUNT(*) s FROM t a CROSS JOIN (VALUES (1), (2), (3)) v (x) GROUP BY a.id, a.pad, v.x) x",
    ),
    kind(
        "sort, much",
        "SELECT MAX(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.pad, a.id DESC) r FROM t a CROSS JOIN (VALUES (1), (2), (3), (4)) v (x)) x",
    ),
    kind(
        "distinct",
        "SELECT COUNT(*) FROM (SELECT DISTINCT a.id + b.id * 1000 x FROM t a CROSS JOIN t b) x",
    ),
    kind(
        "window",
        "SELECT MAX(s) FROM (SELECT SUM(CONVERT(bigint, id)) OVER (PARTITION BY a ORDER BY pad ROWS 100 PRECEDING) s FROM t) x",
    ),
    kind(
        "window of all",
        "SELECT MAX(s) FROM (SELECT COUNT(*) OVER (ORDER BY a, id RANGE UNBOUNDED PRECEDING) + LAG(id, 1000) OVER (ORDER BY pad) s FROM t) x",
    ),
    kind(
        "top of a sort",
        "SELECT MAX(id) FROM (SELECT TOP 100000 a.id FROM t a CROSS JOIN (VALUES (1), (2), (3)) v (x) ORDER BY a.pad DESC, v.x) x",
    ),
    kind(
        "recursion",
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n OPTION (MAXRECURSION 0)",
    ),
    kind(
        "union",
        "SELECT COUNT(*) FROM (SELECT pad FROM t UNION SELECT pad FROM u UNION SELECT pad + 'x' FROM hp) x",
    ),
    kind(
        "intersect",
        "SELECT COUNT(*) FROM (SELECT id, pad FROM t INTERSECT SELECT id, pad FROM u) x",
    ),
    kind(
        "correlated",
        "SELECT COUNT(*) FROM t a WHERE EXISTS (SELECT 1 FROM hp b WHERE b.pad = a.pad AND b.id > a.id + 5)",
    ),
    kind(
        "function of rows",
        "SELECT SUM(CONVERT(bigint, dbo.f(id))) FROM t",
    ),
    kind(
        "large values",
        "SELECT SUM(LEN(REPLACE(doc, 'o', 'oo'))) FROM lob",
    ),
    kind(
        "STRING_AGG",
        "SELECT LEN(STRING_AGG(CONVERT(varchar(max), pad), ',')) FROM t",
    ),
    kind(
        "series",
        "SELECT COUNT(*) FROM GENERATE_SERIES(CONVERT(bigint, 1), CONVERT(bigint, 100000000))",
    ),
    kind(
        "rows to a client",
        "SELECT * FROM t a CROSS JOIN (VALUES (1), (2), (3), (4)) v (x)",
    ),
    kind(
        "apply",
        "SELECT COUNT(*) FROM t a CROSS APPLY (SELECT TOP (3) b.id FROM hp b WHERE b.a = a.a ORDER BY b.pad DESC) x",
    ),
    kind(
        "full join",
        "SELECT COUNT(*) FROM t a FULL JOIN hp b ON a.pad = b.pad + 'x'",
    ),
    kind(
        "COUNT DISTINCT",
        "SELECT COUNT(DISTINCT pad), COUNT(DISTINCT id), MAX(a) FROM hp",
    ),
    kind(
        "recursion over a table",
        "WITH n AS (SELECT id, a, 1 AS l FROM t WHERE id <= 100 UNION ALL SELECT t.id, t.a, l + 1 FROM n JOIN t ON t.a = n.a WHERE l < 3) SELECT COUNT(*) FROM n",
    ),
    kind(
        "NTILE and ranks",
        "SELECT MAX(a + b + c) FROM (SELECT NTILE(100) OVER (ORDER BY pad) a, RANK() OVER (ORDER BY pad, a) b, DENSE_RANK() OVER (PARTITION BY a ORDER BY pad) c FROM t) x",
    ),
    kind(
        "FIRST_VALUE of a moving frame",
        "SELECT MAX(s) FROM (SELECT MAX(pad) OVER (ORDER BY id ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING) s FROM t) x",
    ),
    kind(
        "sorted to a client",
        "SELECT id, pad FROM hp ORDER BY pad, id DESC",
    ),
    // Programs and values.
    kind("procedures within procedures", "EXEC pn 0"),
    kind(
        "loop",
        "DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1",
    ),
    kind("procedure", "EXEC p"),
    kind(
        "dynamic",
        "EXEC('DECLARE @i int = 0; WHILE @i < 100000000 SET @i += 1')",
    ),
    kind(
        "string that grows",
        "DECLARE @s varchar(max) = 'x'; WHILE LEN(@s) < 100000000 SET @s += REPLICATE('y', 1000)",
    ),
    kind(
        "REPLICATE",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'ab'), 20000000); SELECT LEN(REVERSE(@s)), LEN(UPPER(@s))",
    ),
    kind(
        "REPLACE",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'ab'), 5000000); SELECT LEN(REPLACE(@s, 'a', 'ccc')), CHARINDEX('zzz', @s)",
    ),
    kind(
        "LIKE",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'a'), 3000000); SELECT PATINDEX('%a%a%a%a%b%', @s)",
    ),
    kind(
        "HASHBYTES",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'a'), 30000000); SELECT HASHBYTES('SHA2_512', @s), CHECKSUM(@s)",
    ),
    kind(
        "conversion",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'12'), 10000000); SELECT DATALENGTH(CONVERT(varchar(max), @s)), DATALENGTH(CONVERT(varbinary(max), @s))",
    ),
    kind(
        "STRING_SPLIT",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'ab,'), 1000000); SELECT COUNT(*), MAX(value) FROM STRING_SPLIT(@s, ',')",
    ),
    kind(
        "xml",
        "DECLARE @x xml = '<a>' + REPLICATE(CONVERT(varchar(max), '<b c=\"1\">x</b>'), 200000) + '</a>'; SELECT COUNT(*) FROM @x.nodes('/a/b') n (r) WHERE r.value('@c', 'int') = 1",
    ),
    kind(
        "table variable",
        "DECLARE @v TABLE (id int PRIMARY KEY, pad varchar(200)); INSERT @v SELECT id, pad FROM t; UPDATE @v SET pad = pad + 'x'",
    ),
    kind(
        "temporary table",
        // Of a batch of its own: it goes with that, whatever has ended it.
        "EXEC('CREATE TABLE #x (id int PRIMARY KEY, pad varchar(200)); INSERT #x SELECT id, pad FROM t; CREATE INDEX ix ON #x (pad)')",
    ),
    // Waiting.
    kind("WAITFOR", "WAITFOR DELAY '00:10'"),
    kind("a lock", "SELECT COUNT(*) FROM held.dbo.locked"),
    kind(
        "a named lock",
        "USE held; BEGIN TRAN; EXEC sp_getapplock 'named', 'Exclusive'; ROLLBACK",
    ),
    // Changing.
    undone(
        "INSERT of a SELECT, heap",
        // As many as are undone in seconds: minutes of undoing would say nothing of the word.
        "INSERT h SELECT TOP (3000000) a.id, b.id FROM t a CROSS JOIN t b",
        "TRUNCATE TABLE h",
    ),
    undone(
        "INSERT of a SELECT, key",
        "INSERT g SELECT a.id * 8 + v.x, a.a FROM hp a CROSS JOIN (VALUES (0), (1), (2), (3)) v (x)",
        "TRUNCATE TABLE g",
    ),
    undone(
        "INSERT of large values",
        "INSERT lob SELECT id + 1000000, doc FROM lob",
        "DELETE lob WHERE id > 1000000",
    ),
    undone(
        "INSERT by rows",
        "DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 1000000 BEGIN INSERT h VALUES (@i, @i); SET @i += 1 END; COMMIT",
        "TRUNCATE TABLE h",
    ),
    undone(
        "INSERT, trigger",
        "INSERT tr VALUES (1)",
        "TRUNCATE TABLE tr",
    ),
    undone(
        "UPDATE",
        "BEGIN TRAN; UPDATE t SET a = a + 1, pad = 'y'; ROLLBACK",
        "IF @@TRANCOUNT > 0 ROLLBACK",
    ),
    undone(
        "UPDATE that grows rows",
        "BEGIN TRAN; UPDATE u SET pad = pad + REPLICATE('y', 50); ROLLBACK",
        "",
    ),
    undone(
        "UPDATE of keys",
        "BEGIN TRAN; UPDATE u SET id = -id; ROLLBACK",
        "",
    ),
    undone("DELETE", "BEGIN TRAN; DELETE t; ROLLBACK", ""),
    undone(
        "SELECT INTO",
        "SELECT * INTO w FROM t",
        "DROP TABLE IF EXISTS w",
    ),
    undone("DELETE, cascade", "BEGIN TRAN; DELETE pa; ROLLBACK", ""),
    undone(
        "UPDATE, cascade",
        "BEGIN TRAN; UPDATE pa SET id = id + 10000000; ROLLBACK",
        "",
    ),
    undone(
        "UPDATE, trigger and indexes",
        "BEGIN TRAN; UPDATE ti SET a = a + 1, pad = 'x' + pad; ROLLBACK",
        "",
    ),
    undone(
        "UPDATE, OUTPUT",
        "BEGIN TRAN; UPDATE u SET a = a + 1 OUTPUT inserted.id, deleted.pad; ROLLBACK",
        "",
    ),
    undone(
        "UPDATE of large values",
        "BEGIN TRAN; UPDATE lob SET doc = doc + doc; ROLLBACK",
        "",
    ),
    undone(
        "DELETE of large values",
        "BEGIN TRAN; DELETE lob; ROLLBACK",
        "",
    ),
    undone(
        "DELETE in portions",
        "BEGIN TRAN; WHILE 1 = 1 BEGIN DELETE TOP (1000) hp; IF @@ROWCOUNT = 0 BREAK END; ROLLBACK",
        "",
    ),
    undone(
        "INSERT of an EXECUTE",
        "INSERT h EXEC('SELECT TOP (2000000) a.id, b.id FROM t a CROSS JOIN t b')",
        "TRUNCATE TABLE h",
    ),
    undone(
        "INSERT where not there",
        "INSERT g SELECT x.id, 1 FROM (SELECT a.id + {n} * v.x id FROM t a CROSS JOIN (VALUES (0), (1)) v (x)) x WHERE NOT EXISTS (SELECT 1 FROM g WHERE g.id = x.id)",
        "TRUNCATE TABLE g",
    ),
    after(
        "DROP TABLE of large values",
        "DROP TABLE IF EXISTS w; SELECT * INTO w FROM lob",
        "DROP TABLE w",
        "DROP TABLE IF EXISTS w",
    ),
    after(
        "DROP TABLE",
        "DROP TABLE IF EXISTS w; SELECT * INTO w FROM t",
        "DROP TABLE w",
        "DROP TABLE IF EXISTS w",
    ),
    after(
        "TRUNCATE TABLE",
        "DROP TABLE IF EXISTS w; SELECT * INTO w FROM t",
        "TRUNCATE TABLE w",
        "DROP TABLE IF EXISTS w",
    ),
    // Definitions.
    undone(
        "CREATE INDEX",
        "CREATE INDEX ix ON t (pad, a)",
        "DROP INDEX IF EXISTS ix ON t",
    ),
    undone(
        "CREATE INDEX, much",
        "CREATE INDEX ix ON hp (pad, id) INCLUDE (a)",
        "DROP INDEX IF EXISTS ix ON hp",
    ),
    undone(
        "CREATE CLUSTERED INDEX",
        "CREATE CLUSTERED INDEX cx ON hp (pad)",
        "DROP INDEX IF EXISTS cx ON hp",
    ),
    after(
        "DROP INDEX, clustered",
        "DROP TABLE IF EXISTS w; SELECT * INTO w FROM t; CREATE CLUSTERED INDEX cx ON w (id)",
        "DROP INDEX cx ON w",
        "DROP TABLE IF EXISTS w",
    ),
    undone(
        "ALTER TABLE ADD PRIMARY KEY",
        "ALTER TABLE hp ADD CONSTRAINT pk PRIMARY KEY NONCLUSTERED (id)",
        "ALTER TABLE hp DROP CONSTRAINT IF EXISTS pk",
    ),
    undone(
        "ALTER TABLE ADD, computed",
        "ALTER TABLE t ADD more AS a * 2 + id PERSISTED",
        "ALTER TABLE t DROP COLUMN IF EXISTS more",
    ),
    undone(
        "CREATE INDEX, computed",
        "CREATE INDEX ix ON ti (b, pad DESC)",
        "DROP INDEX IF EXISTS ix ON ti",
    ),
    kind(
        "ALTER INDEX REORGANIZE, large values",
        "ALTER INDEX ALL ON lob REORGANIZE",
    ),
    kind("ALTER INDEX REBUILD", "ALTER INDEX ALL ON t REBUILD"),
    kind("ALTER INDEX REORGANIZE", "ALTER INDEX ALL ON u REORGANIZE"),
    undone(
        "ALTER TABLE ADD",
        "ALTER TABLE t ADD more varchar(50) NOT NULL CONSTRAINT df_more DEFAULT NEWID()",
        "IF COL_LENGTH('t', 'more') IS NOT NULL EXEC('ALTER TABLE t DROP CONSTRAINT df_more; ALTER TABLE t DROP COLUMN more')",
    ),
    undone(
        "ALTER TABLE ALTER COLUMN",
        "ALTER TABLE hp ALTER COLUMN a bigint NOT NULL",
        "ALTER TABLE hp ALTER COLUMN a int NOT NULL",
    ),
    undone(
        "ALTER TABLE ADD CHECK",
        "ALTER TABLE t ADD CONSTRAINT ck CHECK (pad LIKE '%' OR a < 1000)",
        "ALTER TABLE t DROP CONSTRAINT IF EXISTS ck",
    ),
    undone(
        "ALTER TABLE ADD FOREIGN KEY",
        "ALTER TABLE hp ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES t (id)",
        "ALTER TABLE hp DROP CONSTRAINT IF EXISTS fk",
    ),
    undone(
        "ALTER PARTITION FUNCTION",
        "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf () SPLIT RANGE (1000)",
        "IF EXISTS (SELECT 1 FROM sys.partition_range_values WHERE CONVERT(int, value) = 1000) ALTER PARTITION FUNCTION pf () MERGE RANGE (1000)",
    ),
    kind("UPDATE STATISTICS", "UPDATE STATISTICS t WITH FULLSCAN"),
    undone(
        "CREATE STATISTICS",
        "CREATE STATISTICS st ON hp (pad, a) WITH FULLSCAN",
        "IF EXISTS (SELECT 1 FROM sys.stats WHERE name = 'st') DROP STATISTICS hp.st",
    ),
    // Databases.
    kind("DBCC CHECKDB", "DBCC CHECKDB (d) WITH NO_INFOMSGS"),
    kind("DBCC CHECKTABLE", "DBCC CHECKTABLE (hp) WITH NO_INFOMSGS"),
    kind("DBCC CHECKALLOC", "DBCC CHECKALLOC (d) WITH NO_INFOMSGS"),
    kind(
        "BACKUP DATABASE",
        "BACKUP DATABASE d TO DISK = 'other.bak' WITH INIT",
    ),
    kind(
        "BACKUP, COMPRESSION",
        "BACKUP DATABASE d TO DISK = 'small.bak' WITH FORMAT, COMPRESSION, CHECKSUM",
    ),
    kind(
        "BACKUP LOG",
        "BACKUP LOG full_one TO DISK = 'other.trn' WITH INIT, COPY_ONLY",
    ),
    undone(
        "RESTORE DATABASE",
        "RESTORE DATABASE e FROM DISK = 'd.bak' WITH MOVE 'd' TO '{dir}/e.mdf', MOVE 'd_log' TO '{dir}/e.ldf', REPLACE",
        "USE master; DROP DATABASE IF EXISTS e; USE d",
    ),
    after(
        "RESTORE LOG",
        "USE master; DROP DATABASE IF EXISTS e; RESTORE DATABASE e FROM DISK = 'full_one.bak' WITH MOVE 'full_one' TO '{dir}/e.mdf', MOVE 'full_one_log' TO '{dir}/e.ldf', NORECOVERY; USE d",
        "RESTORE LOG e FROM DISK = 'full_one.trn'",
        "USE master; DROP DATABASE IF EXISTS e; USE d",
    ),
    kind(
        "RESTORE VERIFYONLY",
        "RESTORE VERIFYONLY FROM DISK = 'd.bak'",
    ),
    undone(
        "CREATE DATABASE",
        "CREATE DATABASE f ON (NAME = f, FILENAME = '{dir}/f.mdf', SIZE = 256MB) LOG ON (NAME = f_log, FILENAME = '{dir}/f.ldf', SIZE = 512MB)",
        "USE master; DROP DATABASE IF EXISTS f; USE d",
    ),
    undone(
        "growth of a log",
        "ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = 1024MB)",
        "CHECKPOINT; DBCC SHRINKFILE (d_log, 8) WITH NO_INFOMSGS",
    ),
    after(
        "growth of a data file",
        "DROP DATABASE IF EXISTS gr; CREATE DATABASE gr",
        "ALTER DATABASE gr MODIFY FILE (NAME = gr, SIZE = 1024MB)",
        "DROP DATABASE IF EXISTS gr",
    ),
    kind(
        "CHECKPOINT",
        "UPDATE t SET pad = pad + '' WHERE id % 10 = 0; CHECKPOINT",
    ),
    kind(
        "fn_dblog",
        "SELECT COUNT(*) FROM full_one.sys.fn_dblog(NULL, NULL)",
    ),
    kind(
        "physical statistics",
        "SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'DETAILED')",
    ),
    kind(
        "page allocations",
        "SELECT COUNT(*) FROM sys.dm_db_database_page_allocations(DB_ID(), NULL, NULL, NULL, 'DETAILED')",
    ),
    // Compiling.
    kind(
        "many conditions",
        "DECLARE @s nvarchar(max) = N'SELECT 1 WHERE 1 = 1' + REPLICATE(CONVERT(nvarchar(max), N' AND 2 = 2'), 100000); EXEC (@s)",
    ),
    kind(
        "many values",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM t WHERE id IN (0' + REPLICATE(CONVERT(nvarchar(max), N', 12'), 100000) + N')'; EXEC (@s)",
    ),
    kind(
        "many statements",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'IF 1 = 2 SELECT COUNT(*) FROM t a JOIN u b ON a.id = b.id WHERE a.a = 3; '), 20000); EXEC (@s)",
    ),
    kind(
        "many SELECTs",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM (SELECT id FROM t WHERE id = 1' + REPLICATE(CONVERT(nvarchar(max), N' UNION ALL SELECT id FROM t WHERE id = 2'), 2000) + N') x'; EXEC (@s)",
    ),
    kind(
        "many joins",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM t t0', @i int = 1; WHILE @i <= 60 SELECT @s += N' JOIN u t' + CONVERT(nvarchar(10), @i) + N' ON t' + CONVERT(nvarchar(10), @i) + N'.id = t' + CONVERT(nvarchar(10), @i - 1) + N'.a', @i += 1; EXEC (@s)",
    ),
    kind(
        "doubling expressions",
        "DECLARE @s nvarchar(max) = N'WITH c0 AS (SELECT 1 AS x)', @i int = 1; WHILE @i <= 11 SELECT @s += N', c' + CONVERT(nvarchar(10), @i) + N' AS (SELECT a.x FROM c' + CONVERT(nvarchar(10), @i - 1) + N' a CROSS JOIN c' + CONVERT(nvarchar(10), @i - 1) + N' b)', @i += 1; SET @s += N' SELECT COUNT(*) FROM c11'; EXEC (@s)",
    ),
    undone(
        "many columns",
        "DECLARE @s nvarchar(max) = N'CREATE TABLE wide (c0 int', @i int = 1; WHILE @i < 1000 SELECT @s += N', c' + CONVERT(nvarchar(10), @i) + N' varchar(20) DEFAULT ''x'' CHECK (c' + CONVERT(nvarchar(10), @i) + N' > '''')', @i += 1; SET @s += N')'; EXEC (@s)",
        "DROP TABLE IF EXISTS wide",
    ),
];
