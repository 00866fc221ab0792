-- Databases, their files and their space.
-- needs: visible
CREATE VIEW sys.[$helpfile] AS
SELECT f.name, CONVERT(smallint, f.file_id) AS fileid, CONVERT(nchar(260), f.physical_name) AS filename,
    CONVERT(nvarchar(128), g.name) AS filegroup,
    CONVERT(nvarchar(18), CONVERT(nvarchar(15), CONVERT(bigint, f.size) * 8) + ' KB') AS size,
    CONVERT(nvarchar(18), CASE f.max_size WHEN -1 THEN 'Unlimited'
        ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.max_size) * 8) + ' KB' END) AS maxsize,
    CONVERT(nvarchar(18), CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + '%'
        ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.growth) * 8) + ' KB' END) AS growth,
    CONVERT(varchar(9), CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END) AS usage
FROM sys.database_files AS f LEFT JOIN sys.filegroups AS g ON g.data_space_id = f.data_space_id
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpfile @filename sysname = NULL
AS
SET NOCOUNT ON
IF @filename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_files WHERE name = @filename)
BEGIN
    RAISERROR(15325, -1, -1, 'file', @filename)
    RETURN 1
END
SELECT name, fileid, filename, filegroup, size, maxsize, growth, usage FROM sys.[$helpfile]
WHERE @filename IS NULL OR name = @filename
ORDER BY fileid
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpfilegroup @filegroupname sysname = NULL
AS
SET NOCOUNT ON
IF @filegroupname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.filegroups WHERE name = @filegroupname)
BEGIN
    RAISERROR(15325, -1, -1, 'filegroup', @filegroupname)
    RETURN 1
END
SELECT g.name AS groupname, CONVERT(smallint, g.data_space_id) AS groupid,
    (SELECT COUNT(*) FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id) AS filecount
FROM sys.filegroups AS g WHERE @filegroupname IS NULL OR g.name = @filegroupname
ORDER BY groupname
IF @filegroupname IS NOT NULL
    SELECT h.name AS file_in_group, h.fileid, h.filename, h.size, h.maxsize, h.growth
    FROM sys.[$helpfile] AS h WHERE h.filegroup = @filegroupname
    ORDER BY h.fileid
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpdb @dbname sysname = NULL
AS
SET NOCOUNT ON
DECLARE @sql nvarchar(1000)
IF @dbname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.databases WHERE name = @dbname)
BEGIN
    RAISERROR(15010, -1, -1, @dbname)
    RETURN 1
END
SELECT d.name,
    CONVERT(nvarchar(13), STR(SUM(CONVERT(float, f.size)) / 128, 10, 2) + ' MB') AS db_size,
    CONVERT(sysname, ISNULL(SUSER_SNAME(d.owner_sid), '~~UNKNOWN~~')) AS owner, CONVERT(smallint, d.database_id) AS dbid,
    CONVERT(nvarchar(11), d.create_date) AS created,
    CONVERT(nvarchar(600), 'Status=' + d.state_desc + ', Updateability=' + CASE d.is_read_only WHEN 1 THEN 'READ_ONLY' ELSE 'READ_WRITE' END
        + ', UserAccess=' + d.user_access_desc + ', Recovery=' + d.recovery_model_desc
        + ISNULL(', Version=' + CONVERT(nvarchar(128), DATABASEPROPERTYEX(d.name, 'Version')), '')
        + ISNULL(', Collation=' + d.collation_name, '') + ISNULL(', SQLSortOrder=' + CONVERT(nvarchar(128), DATABASEPROPERTYEX(d.name, 'SQLSortOrder')), '')
        + CASE d.is_auto_close_on WHEN 1 THEN ', IsAutoClose' ELSE '' END
        + CASE d.is_auto_shrink_on WHEN 1 THEN ', IsAutoShrink' ELSE '' END
        + CASE d.is_torn WHEN 1 THEN ', IsTornPageDetectionEnabled' ELSE '' END
        + CASE d.is_auto_create_stats_on WHEN 1 THEN ', IsAutoCreateStatistics' ELSE '' END
        + CASE d.is_auto_update_stats_on WHEN 1 THEN ', IsAutoUpdateStatistics' ELSE '' END
        + CASE d.is_ansi_nulls_on WHEN 1 THEN ', IsAnsiNullsEnabled' ELSE '' END
        + CASE d.is_quoted_identifier_on WHEN 1 THEN ', IsQuotedIdentifiersEnabled' ELSE '' END) AS status,
    d.compatibility_level
FROM (SELECT *, CASE page_verify_option WHEN 1 THEN 1 ELSE 0 END AS is_torn FROM sys.databases) AS d
    LEFT JOIN sys.master_files AS f ON f.database_id = d.database_id
WHERE @dbname IS NULL OR d.name = @dbname
GROUP BY d.name, d.owner_sid, d.database_id, d.create_date, d.state_desc, d.is_read_only, d.user_access_desc, d.recovery_model_desc,
    d.collation_name, d.is_auto_close_on, d.is_auto_shrink_on, d.is_torn, d.is_auto_create_stats_on,
    d.is_auto_update_stats_on, d.is_ansi_nulls_on, d.is_quoted_identifier_on, d.compatibility_level
ORDER BY d.name
IF @dbname IS NOT NULL AND CONVERT(nvarchar(128), DATABASEPROPERTYEX(@dbname, 'Status')) = 'ONLINE'
BEGIN
    SET @sql = N'SELECT name, fileid, filename, filegroup, size, maxsize, growth, usage FROM ' + QUOTENAME(@dbname)
        + N'.sys.[$helpfile] ORDER BY fileid'
    EXEC sp_executesql @sql
END
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_spaceused @objname nvarchar(776) = NULL, @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL',
    @oneresultset bit = 0, @include_total_xtp_storage bit = 0
AS
SET NOCOUNT ON
DECLARE @id int, @type char(2), @db sysname, @reserved bigint, @used bigint, @data bigint, @rows bigint, @size bigint, @log bigint
SELECT @db = DB_NAME(), @updateusage = LOWER(@updateusage)
IF @updateusage NOT IN ('true', 'false')
BEGIN
    RAISERROR(15143, -1, -1, @updateusage)
    RETURN 1
END
IF @objname IS NOT NULL
BEGIN
    SELECT @id = object_id, @type = type FROM sys.all_objects WHERE object_id = OBJECT_ID(@objname)
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @db)
        RETURN 1
    END
    IF @type NOT IN ('U', 'S', 'V', 'IT', 'SQ')
    BEGIN
        RAISERROR(15234, -1, -1)
        RETURN 1
    END
END
SELECT @reserved = ISNULL(SUM(u.total_pages), 0), @used = ISNULL(SUM(u.used_pages), 0),
    @data = ISNULL(SUM(CASE WHEN p.index_id > 1 THEN 0 WHEN u.type = 1 THEN u.data_pages ELSE u.used_pages END), 0)
FROM sys.partitions AS p JOIN sys.allocation_units AS u ON u.container_id = p.partition_id
WHERE @id IS NULL OR p.object_id = @id
IF @id IS NOT NULL
BEGIN
    SELECT @rows = ISNULL(SUM(rows), 0) FROM sys.partitions WHERE object_id = @id AND index_id < 2
    SELECT CONVERT(nvarchar(128), o.name) AS name, CONVERT(char(20), @rows) AS rows,
        CONVERT(varchar(18), CONVERT(varchar(15), @reserved * 8) + ' KB') AS reserved,
        CONVERT(varchar(18), CONVERT(varchar(15), @data * 8) + ' KB') AS data,
        CONVERT(varchar(18), CONVERT(varchar(15), (@used - @data) * 8) + ' KB') AS index_size,
        CONVERT(varchar(18), CONVERT(varchar(15), (@reserved - @used) * 8) + ' KB') AS unused
    FROM sys.all_objects AS o WHERE o.object_id = @id
    RETURN 0
END
SELECT @size = SUM(CASE WHEN type <> 1 THEN CONVERT(bigint, size) ELSE 0 END), @log = SUM(CASE WHEN type = 1 THEN CONVERT(bigint, size) ELSE 0 END)
FROM sys.database_files
IF @oneresultset = 1
BEGIN
    SELECT CONVERT(nvarchar(128), @db) AS database_name,
        CONVERT(varchar(18), LTRIM(STR((@size + @log) / 128.0, 15, 2)) + ' MB') AS database_size,
        CONVERT(varchar(18), LTRIM(STR(CASE WHEN @size > @reserved THEN @size - @reserved ELSE 0 END / 128.0, 15, 2)) + ' MB') AS [unallocated space],
        CONVERT(varchar(18), CONVERT(varchar(15), @reserved * 8) + ' KB') AS reserved,
        CONVERT(varchar(18), CONVERT(varchar(15), @data * 8) + ' KB') AS data,
        CONVERT(varchar(18), CONVERT(varchar(15), (@used - @data) * 8) + ' KB') AS index_size,
        CONVERT(varchar(18), CONVERT(varchar(15), (@reserved - @used) * 8) + ' KB') AS unused
    RETURN 0
END
SELECT CONVERT(nvarchar(128), @db) AS database_name,
    CONVERT(varchar(18), LTRIM(STR((@size + @log) / 128.0, 15, 2)) + ' MB') AS database_size,
    CONVERT(varchar(18), LTRIM(STR(CASE WHEN @size > @reserved THEN @size - @reserved ELSE 0 END / 128.0, 15, 2)) + ' MB') AS [unallocated space]
SELECT CONVERT(varchar(18), CONVERT(varchar(15), @reserved * 8) + ' KB') AS reserved,
    CONVERT(varchar(18), CONVERT(varchar(15), @data * 8) + ' KB') AS data,
    CONVERT(varchar(18), CONVERT(varchar(15), (@used - @data) * 8) + ' KB') AS index_size,
    CONVERT(varchar(18), CONVERT(varchar(15), (@reserved - @used) * 8) + ' KB') AS unused
RETURN 0
