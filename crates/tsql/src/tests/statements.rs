//! One accepted text of every family of statements, and the shape of some.

use super::*;

#[test]
#[expect(clippy::too_many_lines, reason = "a list of texts")]
fn every_family_parses() {
    for sql in [
        "WITH a AS (SELECT 1 x), b(y) AS (SELECT x FROM a UNION ALL SELECT 2) SELECT TOP (3) WITH TIES * FROM b ORDER BY y DESC OPTION (MAXDOP 1, RECOMPILE)",
        "SELECT a, COUNT(*), SUM(b) OVER (PARTITION BY c ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t GROUP BY a HAVING COUNT(*) > 1",
        "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP(a, b), ())",
        "SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x LEFT HASH JOIN d ON 1 = 1, e CROSS APPLY f(e.x) AS g",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y) WHERE x IN (SELECT 1) AND y NOT LIKE 'a!%' ESCAPE '!'",
        "SELECT * FROM ((SELECT 1 x) UNION (SELECT 2)) AS u",
        "SELECT * FROM ((SELECT 1 x) AS a CROSS JOIN (SELECT 2 y) AS b)",
        "SELECT ((SELECT 1) UNION SELECT 1), ((SELECT 1) + 1)",
        "SELECT * FROM t WITH (NOLOCK, INDEX(1)), u (nolock), v x (TABLOCKX)",
        "SELECT * FROM fn_dblog(NULL, NULL) WHERE [Current LSN] > '1' ORDER BY 1 OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
        "SELECT * FROM sys.databases AS d CROSS APPLY sys.dm_db_log_info(d.database_id) AS li",
        "SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN a IS NOT NULL THEN 1 END, IIF(a > 1, 2, 3), NULLIF(a, b)",
        "SELECT CAST(1 AS decimal(15, 2)), CONVERT(varchar(max), x, 121), TRY_CONVERT(int, 'a'), TRY_CAST('1' AS int)",
        "SELECT DATEADD(day, 1, GETDATE()), CURRENT_TIMESTAMP, x COLLATE Latin1_General_BIN2, d AT TIME ZONE 'UTC'",
        "SELECT @@ROWCOUNT, @@SERVERNAME, db_name(), {ts '2024-01-01 00:00:00'}, {fn NOW()}",
        "SELECT TOP 10 PERCENT IDENTITY(int, 1, 1) AS id, x INTO #t FROM u",
        "SELECT STRING_AGG(x, ',') WITHIN GROUP (ORDER BY x), FIRST_VALUE(x) IGNORE NULLS OVER (ORDER BY y) FROM t",
        "SELECT * FROM t PIVOT (SUM(a) FOR b IN ([1], [2])) AS p",
        "SELECT 1 WHERE EXISTS (SELECT * FROM t) AND a > ALL (SELECT b FROM u) AND c IS DISTINCT FROM d",
        "INSERT t DEFAULT VALUES",
        "INSERT INTO dbo.t (a, b) OUTPUT inserted.a INTO @o VALUES (1, DEFAULT), (2, NULL)",
        "INSERT TOP (5) t SELECT * FROM u OPTION (MAXDOP 1)",
        "INSERT #t EXEC sp_executesql N'DBCC LOGINFO([db])'",
        "INSERT t WITH (TABLOCK) (a) SELECT 1",
        "UPDATE TOP (5) t SET a = 1, b += 2, @v = c = d, e.WRITE('x', 0, 1) OUTPUT deleted.* FROM t JOIN u ON 1 = 1 WHERE a = 1",
        "DELETE FROM x OUTPUT deleted.a FROM t AS x JOIN u ON x.a = u.a WHERE u.b = 1",
        "DELETE t WHERE CURRENT OF c",
        "MERGE INTO t WITH (HOLDLOCK) AS a USING (SELECT 1 x) AS s ON a.x = s.x WHEN MATCHED AND a.y > 1 THEN UPDATE SET y = 2 WHEN NOT MATCHED BY TARGET THEN INSERT (x) VALUES (s.x) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action;",
        "TRUNCATE TABLE t",
        "CREATE TABLE t (a int IDENTITY(1, 1) NOT NULL CONSTRAINT pk PRIMARY KEY CLUSTERED, b varchar(10) COLLATE Latin1_General_BIN NULL DEFAULT ('x'), c AS a + 1 PERSISTED, timestamp, d int REFERENCES u(x) ON DELETE CASCADE, CHECK (a > 0), CONSTRAINT uq UNIQUE (b ASC, d DESC) WITH (FILLFACTOR = 80), INDEX ix (a)) ON [PRIMARY] WITH (DATA_COMPRESSION = PAGE)",
        "ALTER TABLE t ADD x int NULL, CONSTRAINT df DEFAULT 1 FOR x",
        "ALTER TABLE t WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES u (b)",
        "ALTER TABLE t ALTER COLUMN x nvarchar(20) NOT NULL",
        "ALTER TABLE t DROP CONSTRAINT IF EXISTS df, pk",
        "ALTER TABLE t DROP COLUMN x",
        "ALTER TABLE t NOCHECK CONSTRAINT ALL",
        "CREATE UNIQUE CLUSTERED INDEX i ON dbo.t (a DESC, b) INCLUDE (c) WHERE c > 1 WITH (ONLINE = ON, FILLFACTOR = 90) ON fg",
        "ALTER INDEX ALL ON t REBUILD WITH (FILLFACTOR = 80)",
        "DROP INDEX IF EXISTS i ON t",
        "DROP INDEX t.i",
        "DROP TABLE IF EXISTS a, b.c, #d",
        "CREATE STATISTICS s ON t (a) WITH FULLSCAN",
        "UPDATE STATISTICS t s WITH SAMPLE 10 PERCENT",
        "CREATE SCHEMA s AUTHORIZATION dbo",
        "CREATE SEQUENCE s AS bigint START WITH 1 INCREMENT BY 1 NO CACHE",
        "CREATE TYPE t FROM varchar(20) NOT NULL",
        "CREATE SYNONYM s FOR a.b.c",
        "CREATE LOGIN x WITH PASSWORD = 'p', DEFAULT_DATABASE = master",
        "CREATE USER x FOR LOGIN y WITH DEFAULT_SCHEMA = dbo",
        "ALTER ROLE db_owner ADD MEMBER x",
        "GRANT SELECT, INSERT ON SCHEMA::dbo TO public WITH GRANT OPTION",
        "CREATE PROC dbo.p @a int = 1, @b varchar(10) OUTPUT WITH RECOMPILE AS BEGIN SET @b = 'x' END SELECT 1",
        "CREATE OR ALTER VIEW v (a) WITH SCHEMABINDING AS WITH c AS (SELECT 1 x) SELECT x FROM c WITH CHECK OPTION",
        "CREATE FUNCTION f (@a int) RETURNS int AS BEGIN RETURN @a + 1 END",
        "CREATE FUNCTION f () RETURNS TABLE AS RETURN (SELECT 1 AS a)",
        "CREATE FUNCTION f () RETURNS @t TABLE (a int) AS BEGIN INSERT @t VALUES (1) RETURN END",
        "CREATE TRIGGER tr ON t AFTER INSERT, UPDATE AS IF UPDATE(a) PRINT 'x'",
        "CREATE DATABASE [x] ON PRIMARY (NAME = 'a', FILENAME = 'C:\\a.mdf', SIZE = 200MB, MAXSIZE = UNLIMITED, FILEGROWTH = 10%), FILEGROUP fg (NAME = b, FILENAME = 'b.ndf') LOG ON (NAME = 'l', FILENAME = 'l.ldf', SIZE = 1) COLLATE Latin1_General_CI_AS WITH TRUSTWORTHY ON",
        "CREATE DATABASE x ON (FILENAME = 'a.mdf') FOR ATTACH",
        "ALTER DATABASE x SET RECOVERY SIMPLE, READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK AFTER 5 SECONDS",
        "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED",
        "ALTER DATABASE x SET TARGET_RECOVERY_TIME = 2 MINUTES",
        "ALTER DATABASE x SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
        "ALTER DATABASE x MODIFY FILE (NAME = a, SIZE = 10GB, FILEGROWTH = 0)",
        "ALTER DATABASE x ADD LOG FILE (NAME = l2, FILENAME = 'l2.ldf')",
        "ALTER DATABASE x ADD FILE (NAME = f) TO FILEGROUP [PRIMARY]",
        "ALTER DATABASE x REMOVE FILE f",
        "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT",
        "DROP DATABASE IF EXISTS a, [b]",
        "BACKUP DATABASE x TO DISK = N'a.bak', DISK = @p WITH INIT, COMPRESSION, STATS = 10, NAME = N'x'",
        "BACKUP LOG x TO DISK = 'NUL'",
        "RESTORE DATABASE x FROM DISK = 'a' WITH MOVE 'a' TO 'b', REPLACE, NORECOVERY",
        "RESTORE FILELISTONLY FROM DISK = 'a'",
        "RESTORE LOG x FROM DISK = 'a' WITH STOPAT = '2024-01-01'",
        "RESTORE DATABASE x WITH RECOVERY",
        "DECLARE @a int = 1, @b AS nvarchar(max), @c CURSOR",
        "DECLARE @t TABLE (a int PRIMARY KEY, b int)",
        "DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT 1 OPEN c FETCH NEXT FROM c INTO @a, @b CLOSE c DEALLOCATE c",
        "DECLARE c CURSOR FOR SELECT a FROM t FOR UPDATE OF a",
        "SET NOCOUNT, XACT_ABORT ON",
        "SET STATISTICS IO, TIME ON SET IDENTITY_INSERT dbo.t OFF SET LOCK_TIMEOUT -1 SET DATEFORMAT dmy SET ROWCOUNT @n",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "IF @a = 1 SELECT 1; ELSE IF @a = 2 SELECT 2 ELSE SELECT 3",
        "WHILE 1 = 1 BEGIN IF @a > 1 BREAK CONTINUE END",
        "BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH THROW END CATCH",
        "THROW 50001, 'm', 1",
        "RAISERROR ('x %d', 16, 1, @a, 'b') WITH NOWAIT, LOG",
        "WAITFOR DELAY '00:00:05'",
        "BEGIN TRANSACTION @n WITH MARK 'x' SAVE TRAN s ROLLBACK TRAN s COMMIT TRAN x WITH (DELAYED_DURABILITY = ON)",
        "EXEC @rc = dbo.p 1, -2, N'x', abc, DEFAULT, @o OUTPUT",
        "EXEC ('SELECT ' + @x) EXECUTE (@sql)",
        "EXECUTE AS USER = 'x' REVERT",
        "DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR) DBCC LOGINFO DBCC TRACEON (3604, -1) WITH NO_INFOMSGS DBCC PAGE (x, 1, 9, 3) WITH TABLERESULTS",
        "DBCC SHRINKFILE (N'l', 1) DBCC CHECKDB ([x]) DBCC LOGINFO ([db]) DBCC CHECKIDENT ('t', RESEED, 5)",
        "CHECKPOINT 5 CHECKPOINT",
        "KILL 55 WITH STATUSONLY",
        "RECONFIGURE WITH OVERRIDE",
        "SHUTDOWN WITH NOWAIT",
        "USE [master]",
        "CREATE EVENT SESSION [s] ON SERVER ADD EVENT sqlserver.x (SET a = 1 ACTION (sqlserver.sql_text) WHERE ([d] = 5)), ADD EVENT y.z ADD TARGET package0.ring_buffer WITH (MAX_MEMORY = 4 MB, MAX_DISPATCH_LATENCY = 5 SECONDS)",
        "ALTER EVENT SESSION [s] ON SERVER STATE = STOP",
        "DROP EVENT SESSION s ON SERVER",
        "ENABLE TRIGGER tr ON t",
        "SELECT NEXT VALUE FOR dbo.s",
        "SELECT * FROM ::fn_dblog(NULL, NULL)",
        "SELECT a FROM t WHERE ((a = 1)) AND ((a) + 1) * 2 = 3 AND (SELECT 1) = 1",
    ] {
        assert!(!ok(sql).is_empty());
    }
}

#[test]
fn sizes_and_settings_keep_their_units() {
    let batch = ok("CREATE DATABASE d ON (NAME = a, SIZE = 200MB, FILEGROWTH = 10%, MAXSIZE = 5)");
    let StatementKind::CreateDatabase(database) = &batch[0].kind else {
        panic!()
    };
    let file = &database.filegroups[0].files[0];
    assert_eq!(file.size.and_then(|s| s.bytes()), Some(200 << 20));
    assert_eq!(file.growth.map(|s| s.unit), Some(SizeUnit::Percent));
    assert_eq!(file.max_size.map(|s| s.unit), Some(SizeUnit::Default));
    let batch = ok("ALTER DATABASE d SET RECOVERY FULL WITH NO_WAIT");
    let StatementKind::AlterDatabase(alter) = &batch[0].kind else {
        panic!()
    };
    let AlterDatabaseAction::Set {
        options,
        termination,
    } = &alter.action
    else {
        panic!()
    };
    assert_eq!(options[0].name, "RECOVERY");
    assert_eq!(options[0].value, Some(OptionValue::Word("FULL".into())));
    assert_eq!(*termination, Some(Termination::NoWait));
}

#[test]
fn intersect_binds_tighter_than_union() {
    let batch = ok("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4");
    let StatementKind::Select(query) = &batch[0].kind else {
        panic!()
    };
    let QueryExpr::SetOp {
        op: SetOp::Except,
        left,
        ..
    } = &query.body
    else {
        panic!()
    };
    let QueryExpr::SetOp {
        op: SetOp::Union,
        right,
        ..
    } = &**left
    else {
        panic!()
    };
    assert!(matches!(
        **right,
        QueryExpr::SetOp {
            op: SetOp::Intersect,
            ..
        }
    ));
    assert_eq!(error("SELECT 1 EXCEPT ALL SELECT 2"), (324, 1));
}

#[test]
fn a_procedure_swallows_the_rest_of_the_batch() {
    let batch = ok("-- why\nCREATE PROCEDURE p AS BEGIN SELECT 1 END\nSELECT 2");
    assert_eq!(batch.len(), 1);
    let StatementKind::CreateModule(module) = &batch[0].kind else {
        panic!()
    };
    let ModuleKind::Procedure { body, .. } = &module.kind else {
        panic!()
    };
    assert_eq!(body.len(), 2);
    assert_eq!(body[1].line, 3);
    assert_eq!(module.source.start, 0);
}

#[test]
fn source_spans_hold_the_text_of_defaults() {
    let sql = "CREATE TABLE t (a int DEFAULT (1 + 2) NOT NULL, CHECK (a > 0))";
    let batch = ok(sql);
    let StatementKind::CreateTable(table) = &batch[0].kind else {
        panic!()
    };
    let TableElement::Column(column) = &table.elements[0] else {
        panic!()
    };
    let span = column
        .default
        .as_ref()
        .map(|d| d.source)
        .unwrap_or_default();
    assert_eq!(&sql[span.start as usize..span.end as usize], "(1 + 2)");
    assert_eq!(column.nullable, Some(false));
}
