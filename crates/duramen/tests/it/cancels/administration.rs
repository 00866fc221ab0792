//! Databases, their files, checks, and what the server tells of itself.

use super::kinds::{Kind, after, kind, undone};

pub const KINDS: &[Kind] = &[
    // Files.
    undone(
        "ALTER DATABASE ADD FILE",
        "ALTER DATABASE d ADD FILE (NAME = d2, FILENAME = '{dir}/d2.ndf', SIZE = 512MB)",
        "IF FILE_ID('d2') IS NOT NULL ALTER DATABASE d REMOVE FILE d2",
    ),
    undone(
        "ALTER DATABASE ADD LOG FILE",
        "ALTER DATABASE d ADD LOG FILE (NAME = d3, FILENAME = '{dir}/d3.ldf', SIZE = 512MB)",
        "CHECKPOINT; IF FILE_ID('d3') IS NOT NULL ALTER DATABASE d REMOVE FILE d3",
    ),
    after(
        "DBCC SHRINKFILE of a log",
        "ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = 1536MB)",
        "CHECKPOINT; DBCC SHRINKFILE (d_log, 8) WITH NO_INFOMSGS",
        "CHECKPOINT; DBCC SHRINKFILE (d_log, 8) WITH NO_INFOMSGS",
    ),
    // Databases.
    after(
        "DROP DATABASE",
        "DROP DATABASE IF EXISTS gr; CREATE DATABASE gr; SELECT * INTO gr.dbo.t FROM t",
        "USE master; DROP DATABASE gr",
        "DROP DATABASE IF EXISTS gr",
    ),
    undone(
        "ALTER DATABASE SET, others there",
        "ALTER DATABASE held SET READ_COMMITTED_SNAPSHOT ON",
        "",
    ),
    undone(
        "ALTER DATABASE SET SINGLE_USER, others there",
        "ALTER DATABASE held SET SINGLE_USER",
        "",
    ),
    after(
        "ALTER DATABASE SET READ_ONLY",
        "DROP DATABASE IF EXISTS gr; CREATE DATABASE gr; SELECT * INTO gr.dbo.t FROM t",
        "ALTER DATABASE gr SET READ_ONLY; ALTER DATABASE gr SET READ_WRITE; ALTER DATABASE gr SET OFFLINE; ALTER DATABASE gr SET ONLINE",
        "ALTER DATABASE gr SET ONLINE; DROP DATABASE IF EXISTS gr",
    ),
    // Backups.
    kind(
        "BACKUP DATABASE, several files",
        "BACKUP DATABASE d TO DISK = 'o1.bak', DISK = 'o2.bak', DISK = 'o3.bak' WITH FORMAT, CHECKSUM",
    ),
    kind(
        "BACKUP DATABASE, differential",
        "UPDATE t SET a = a WHERE id % 3 = 0; BACKUP DATABASE d TO DISK = 'diff.bak' WITH DIFFERENTIAL, FORMAT",
    ),
    kind(
        "BACKUP DATABASE to nowhere",
        "BACKUP DATABASE d TO DISK = 'NUL' WITH COMPRESSION, COPY_ONLY",
    ),
    kind(
        "RESTORE HEADERONLY",
        "RESTORE HEADERONLY FROM DISK = 'd.bak'; RESTORE FILELISTONLY FROM DISK = 'd.bak'; RESTORE LABELONLY FROM DISK = 'd.bak'",
    ),
    kind(
        "RESTORE VERIFYONLY of a log",
        "RESTORE VERIFYONLY FROM DISK = 'full_one.trn'",
    ),
    // DBCC.
    kind(
        "DBCC CHECKFILEGROUP",
        "DBCC CHECKFILEGROUP WITH NO_INFOMSGS",
    ),
    kind("DBCC CHECKCATALOG", "DBCC CHECKCATALOG WITH NO_INFOMSGS"),
    kind(
        "DBCC CHECKIDENT",
        "DBCC CHECKIDENT (ident) WITH NO_INFOMSGS",
    ),
    kind(
        "DBCC CHECKTABLE in tempdb",
        "SELECT * INTO #c FROM t; CREATE INDEX ix ON #c (pad); USE tempdb; DBCC CHECKDB WITH NO_INFOMSGS",
    ),
    kind("DBCC IND", "DBCC IND (d, 't', -1)"),
    kind("DBCC LOG", "DBCC LOG (full_one, 3)"),
    kind(
        "DBCC DROPCLEANBUFFERS",
        "SELECT COUNT(*) FROM t; CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS",
    ),
    after(
        "DBCC FREEPROCCACHE",
        "DECLARE @s nvarchar(max), @i int = 0; WHILE @i < 5000 BEGIN SET @s = N'SELECT TOP 0 a FROM t WHERE id = ' + CONVERT(nvarchar(10), @i) + N' OR pad = ''x'''; EXEC (@s); SET @i += 1 END",
        "DBCC FREEPROCCACHE WITH NO_INFOMSGS; DBCC FREESYSTEMCACHE ('ALL') WITH NO_INFOMSGS",
        "",
    ),
    undone(
        "RECONFIGURE",
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'max server memory (MB)', 256; RECONFIGURE",
        "EXEC sp_configure 'max server memory (MB)', 512; RECONFIGURE",
    ),
    // What the server tells.
    kind(
        "fn_xe_file_target_read_file",
        "SELECT COUNT(*) FROM sys.fn_xe_file_target_read_file('many*.xel', NULL, NULL, NULL) WHERE event_data LIKE '%zzz%'",
    ),
    kind(
        "fn_xe_file_target_read_file, xml",
        "SELECT COUNT(*) FROM (SELECT CONVERT(xml, event_data) x FROM sys.fn_xe_file_target_read_file('many*.xel', NULL, NULL, NULL)) e WHERE x.value('(/event/data[@name=\"duration\"]/value)[1]', 'bigint') > 100",
    ),
    kind(
        "fn_dump_dblog",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM sys.fn_dump_dblog(NULL, NULL, N''DISK'', 1, N''full_one.trn''' + REPLICATE(CONVERT(nvarchar(max), N', DEFAULT'), 63) + N')'; EXEC (@s)",
    ),
    kind(
        "buffer descriptors",
        "SELECT COUNT(*) FROM sys.dm_os_buffer_descriptors a JOIN sys.dm_os_buffer_descriptors b ON a.page_id = b.page_id",
    ),
    kind(
        "catalog views",
        "SELECT COUNT(*) FROM sys.all_columns a JOIN sys.all_columns b ON a.name = b.name JOIN sys.all_objects c ON c.object_id = b.object_id",
    ),
    kind(
        "plan cache",
        "SELECT COUNT(*) FROM sys.dm_exec_query_stats a CROSS APPLY sys.dm_exec_sql_text(a.sql_handle) t CROSS APPLY sys.dm_exec_query_plan(a.plan_handle) p CROSS JOIN sys.dm_exec_cached_plans c",
    ),
    kind(
        "sys.messages",
        "SELECT COUNT(*) FROM sys.messages a JOIN sys.messages b ON a.text LIKE b.text",
    ),
    kind("sp_updatestats", "EXEC sp_updatestats"),
    kind(
        "sp_spaceused",
        "EXEC sp_spaceused; EXEC sp_spaceused 't'; EXEC sp_MSforeachtable 'SELECT COUNT(*) FROM ?'",
    ),
    kind(
        "definitions in a loop",
        "DECLARE @i int = 0; WHILE @i < 100000 BEGIN CREATE TABLE #m (a int PRIMARY KEY, b varchar(10) DEFAULT 'x'); DROP TABLE #m; SET @i += 1 END",
    ),
];
