-- Databases from files and their owners: statements as procedures.
-- needs: asks
CREATE PROCEDURE sys.sp_attach_db @dbname sysname, @filename1 nvarchar(260), @filename2 nvarchar(260) = NULL,
    @filename3 nvarchar(260) = NULL, @filename4 nvarchar(260) = NULL, @filename5 nvarchar(260) = NULL,
    @filename6 nvarchar(260) = NULL, @filename7 nvarchar(260) = NULL, @filename8 nvarchar(260) = NULL,
    @filename9 nvarchar(260) = NULL, @filename10 nvarchar(260) = NULL, @filename11 nvarchar(260) = NULL,
    @filename12 nvarchar(260) = NULL, @filename13 nvarchar(260) = NULL, @filename14 nvarchar(260) = NULL,
    @filename15 nvarchar(260) = NULL, @filename16 nvarchar(260) = NULL
AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_attach_db')
    RETURN 1
END
DECLARE @files nvarchar(max)
SELECT @files = STRING_AGG('(FILENAME = N''' + REPLACE(CONVERT(nvarchar(max), f.name), '''', '''''') + ''')', ', ')
FROM (VALUES (@filename1), (@filename2), (@filename3), (@filename4), (@filename5), (@filename6), (@filename7), (@filename8),
    (@filename9), (@filename10), (@filename11), (@filename12), (@filename13), (@filename14), (@filename15), (@filename16)) AS f (name)
WHERE f.name IS NOT NULL
DECLARE @sql nvarchar(max)
SET @sql = 'CREATE DATABASE ' + QUOTENAME(@dbname) + ' ON ' + @files + ' FOR ATTACH'
EXEC (@sql)
IF @@ERROR <> 0 RETURN 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_attach_single_file_db @dbname sysname, @physname nvarchar(260)
AS
SET NOCOUNT ON
DECLARE @status int
EXEC @status = sys.sp_attach_db @dbname, @physname
RETURN @status
GO
-- needs: asks
CREATE PROCEDURE sys.sp_changedbowner @loginame sysname, @map varchar(5) = NULL
AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_changedbowner')
    RETURN 1
END
DECLARE @sql nvarchar(1000)
SET @sql = 'ALTER AUTHORIZATION ON DATABASE::' + QUOTENAME(DB_NAME()) + ' TO ' + QUOTENAME(@loginame)
EXEC (@sql)
IF @@ERROR <> 0 RETURN 1
RETURN 0
