-- Who is here, and what they hold.
-- needs: asks
CREATE PROCEDURE sys.sp_who @loginame sysname = NULL
AS
SET NOCOUNT ON
DECLARE @spid smallint
IF @loginame IS NOT NULL AND @loginame NOT LIKE '%[^0-9]%' SET @spid = CONVERT(smallint, @loginame)
ELSE IF @loginame IS NOT NULL AND LOWER(@loginame) <> 'active' AND NOT EXISTS (SELECT * FROM sys.syslogins WHERE name = @loginame)
BEGIN
    RAISERROR(15007, -1, -1, @loginame)
    RETURN 1
END
SELECT p.spid, p.ecid, p.status, CONVERT(nchar(128), p.loginame) AS loginame, p.hostname, CONVERT(char(5), p.blocked) AS blk,
    CONVERT(nvarchar(128), DB_NAME(p.dbid)) AS dbname, CONVERT(nchar(52), p.cmd) AS cmd, p.request_id
FROM sys.sysprocesses AS p
WHERE @loginame IS NULL OR p.spid = @spid OR (@spid IS NULL AND p.loginame = @loginame)
    OR (LOWER(@loginame) = 'active' AND p.cmd <> 'AWAITING COMMAND')
ORDER BY p.spid
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_who2 @loginame sysname = NULL
AS
SET NOCOUNT ON
DECLARE @spid smallint
IF @loginame IS NOT NULL AND @loginame NOT LIKE '%[^0-9]%' SET @spid = CONVERT(smallint, @loginame)
ELSE IF @loginame IS NOT NULL AND LOWER(@loginame) <> 'active' AND NOT EXISTS (SELECT * FROM sys.syslogins WHERE name = @loginame)
BEGIN
    RAISERROR(15007, -1, -1, @loginame)
    RETURN 1
END
SELECT CONVERT(char(5), p.spid) AS SPID,
    CONVERT(nvarchar(30), CASE LOWER(RTRIM(p.status)) WHEN 'sleeping' THEN 'sleeping' ELSE UPPER(RTRIM(p.status)) END) AS Status,
    CONVERT(nvarchar(128), RTRIM(p.loginame)) AS Login,
    CONVERT(nvarchar(128), CASE RTRIM(p.hostname) WHEN '' THEN '  .' ELSE RTRIM(p.hostname) END) AS HostName,
    CONVERT(char(5), CASE p.blocked WHEN 0 THEN '  .' ELSE CONVERT(varchar(5), p.blocked) END) AS BlkBy,
    CONVERT(nvarchar(128), DB_NAME(p.dbid)) AS DBName, CONVERT(nvarchar(52), RTRIM(p.cmd)) AS Command,
    CONVERT(varchar(11), p.cpu) AS CPUTime, CONVERT(varchar(20), p.physical_io) AS DiskIO,
    CONVERT(varchar(14), SUBSTRING(CONVERT(varchar(24), p.last_batch, 111), 6, 5) + ' ' + CONVERT(varchar(8), p.last_batch, 108)) AS LastBatch,
    CONVERT(nvarchar(128), RTRIM(p.program_name)) AS ProgramName, CONVERT(char(5), p.spid) AS SPID,
    CONVERT(char(5), p.request_id) AS REQUESTID
FROM sys.sysprocesses AS p
WHERE @loginame IS NULL OR p.spid = @spid OR (@spid IS NULL AND p.loginame = @loginame)
    OR (LOWER(@loginame) = 'active' AND p.cmd <> 'AWAITING COMMAND')
ORDER BY p.spid
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_configure @configname varchar(35) = NULL, @configvalue int = NULL
AS
SET NOCOUNT ON
DECLARE @advanced int = (SELECT CONVERT(int, value_in_use) FROM sys.configurations WHERE configuration_id = 518)
DECLARE @found int, @exact nvarchar(35)
IF @configname IS NOT NULL
BEGIN
    SELECT @found = COUNT(*) FROM sys.configurations
    WHERE CHARINDEX(LOWER(@configname), LOWER(name)) > 0 AND (is_advanced = 0 OR @advanced = 1)
    SELECT @exact = name FROM sys.configurations WHERE LOWER(name) = LOWER(@configname) AND (is_advanced = 0 OR @advanced = 1)
    IF @found = 0
    BEGIN
        RAISERROR(15123, -1, -1, @configname)
        RETURN 1
    END
    IF @found > 1 AND @exact IS NULL
    BEGIN
        RAISERROR(15124, -1, -1, @configname)
        SELECT DISTINCT name AS duplicate_options FROM sys.configurations
        WHERE CHARINDEX(LOWER(@configname), LOWER(name)) > 0 AND (is_advanced = 0 OR @advanced = 1)
        RETURN 1
    END
END
SELECT name, CONVERT(int, minimum) AS minimum, CONVERT(int, maximum) AS maximum, CONVERT(int, value) AS config_value,
    CONVERT(int, value_in_use) AS run_value
FROM sys.configurations
WHERE (is_advanced = 0 OR @advanced = 1)
    AND (@configname IS NULL OR name = @exact OR @exact IS NULL AND CHARINDEX(LOWER(@configname), LOWER(name)) > 0)
ORDER BY LOWER(name)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_lock @spid1 int = NULL, @spid2 int = NULL
AS
SET NOCOUNT ON
SELECT CONVERT(smallint, l.request_session_id) AS spid, CONVERT(smallint, l.resource_database_id) AS dbid,
    CONVERT(int, CASE l.resource_type WHEN 'OBJECT' THEN l.resource_associated_entity_id ELSE ISNULL(p.object_id, 0) END) AS ObjId,
    CONVERT(smallint, ISNULL(p.index_id, 0)) AS IndId,
    CONVERT(nvarchar(4), CASE l.resource_type WHEN 'DATABASE' THEN 'DB' WHEN 'OBJECT' THEN 'TAB' WHEN 'PAGE' THEN 'PAG'
        WHEN 'KEY' THEN 'KEY' WHEN 'RID' THEN 'RID' WHEN 'EXTENT' THEN 'EXT' WHEN 'METADATA' THEN 'MD'
        WHEN 'HOBT' THEN 'HBT' WHEN 'APPLICATION' THEN 'APP' WHEN 'FILE' THEN 'FIL' ELSE l.resource_type END) AS Type,
    CONVERT(nvarchar(32), l.resource_description) AS Resource, CONVERT(nvarchar(8), l.request_mode) AS Mode,
    CONVERT(nvarchar(5), CASE l.request_status WHEN 'CONVERT' THEN 'CNVT' ELSE l.request_status END) AS Status
FROM sys.dm_tran_locks AS l
    LEFT JOIN sys.partitions AS p ON p.hobt_id = l.resource_associated_entity_id AND l.resource_type IN ('PAGE', 'KEY', 'RID', 'HOBT')
        AND l.resource_database_id = DB_ID()
WHERE @spid1 IS NULL OR l.request_session_id IN (@spid1, @spid2)
ORDER BY spid, dbid, ObjId, IndId
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_databases
AS
SET NOCOUNT ON
SELECT CONVERT(sysname, d.name) AS DATABASE_NAME, CONVERT(int, SUM(CONVERT(bigint, f.size)) * 8) AS DATABASE_SIZE,
    CONVERT(varchar(254), NULL) AS REMARKS
FROM sys.databases AS d JOIN sys.master_files AS f ON f.database_id = d.database_id
WHERE d.state = 0
GROUP BY d.name
ORDER BY 1
RETURN 0
