-- What there are of statistics, and all of them looked at anew.
-- needs: asks
CREATE PROCEDURE sys.sp_helpstats @objname nvarchar(776), @results nvarchar(5) = 'STATS'
AS
SET NOCOUNT ON
DECLARE @id int, @db sysname
SELECT @id = OBJECT_ID(@objname), @db = DB_NAME()
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
IF NOT EXISTS (SELECT * FROM sys.stats AS s WHERE s.object_id = @id
    AND (UPPER(@results) = 'ALL' OR s.user_created = 1 OR s.auto_created = 1))
BEGIN
    IF UPPER(@results) = 'ALL' RAISERROR(15575, -1, -1)
    ELSE RAISERROR(15574, -1, -1)
    RETURN 0
END
SELECT CONVERT(sysname, s.name) AS statistics_name,
    CONVERT(nvarchar(2078), (SELECT STRING_AGG(c.name, ', ') WITHIN GROUP (ORDER BY k.stats_column_id)
        FROM sys.stats_columns AS k
            JOIN sys.all_columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
        WHERE k.object_id = s.object_id AND k.stats_id = s.stats_id)) AS statistics_keys
FROM sys.stats AS s
WHERE s.object_id = @id AND (UPPER(@results) = 'ALL' OR s.user_created = 1 OR s.auto_created = 1)
ORDER BY statistics_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_updatestats @resample char(8) = 'NO'
AS
SET NOCOUNT ON
DECLARE @id int = 0, @name nvarchar(520), @sql nvarchar(700), @all int
IF UPPER(@resample) NOT IN ('RESAMPLE', 'NO')
BEGIN
    RAISERROR(15600, -1, -1, 'sys.sp_updatestats')
    RETURN 1
END
WHILE 1 = 1
BEGIN
    SELECT @id = MIN(object_id) FROM sys.tables WHERE object_id > @id
    IF @id IS NULL BREAK
    SELECT @name = QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) FROM sys.tables WHERE object_id = @id
    SELECT @all = COUNT(*) FROM sys.stats WHERE object_id = @id
    RAISERROR(15650, -1, -1, @name)
    SET @sql = N'UPDATE STATISTICS ' + @name
    EXEC (@sql)
    RAISERROR(15651, -1, -1, @all, 0)
END
RAISERROR(15005, -1, -1)
RETURN 0
