-- Roles, members, logins, servers and triggers as their sp_help procedures show them; the loops over databases and tables; what
-- drivers of 2005 call.
-- needs: asks
CREATE PROCEDURE sys.sp_helprole @rolename sysname = NULL AS
SET NOCOUNT ON
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @rolename)
    RETURN 1
END
SELECT name AS RoleName, CONVERT(smallint, principal_id) AS RoleId, CONVERT(int, 0) AS IsAppRole FROM sys.database_principals
WHERE type = 'R' AND (@rolename IS NULL OR name = @rolename) ORDER BY principal_id
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helprolemember @rolename sysname = NULL AS
SET NOCOUNT ON
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @rolename)
    RETURN 1
END
SELECT r.name AS DbRole, u.name AS MemberName, u.sid AS MemberSID
FROM sys.database_role_members AS m JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
WHERE @rolename IS NULL OR r.name = @rolename ORDER BY 1, 2
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpsrvrole @srvrolename sysname = NULL AS
SET NOCOUNT ON
IF @srvrolename NOT IN (N'sysadmin', N'securityadmin', N'serveradmin', N'setupadmin', N'processadmin', N'diskadmin', N'dbcreator', N'bulkadmin')
BEGIN
    RAISERROR(15412, -1, -1, @srvrolename)
    RETURN 1
END
SELECT CONVERT(sysname, r.name) AS ServerRole, CONVERT(sysname, r.description) AS Description
FROM (VALUES (N'sysadmin', N'System Administrators'), (N'securityadmin', N'Security Administrators'),
    (N'serveradmin', N'Server Administrators'), (N'setupadmin', N'Setup Administrators'), (N'processadmin', N'Process Administrators'),
    (N'diskadmin', N'Disk Administrators'), (N'dbcreator', N'Database Creators'), (N'bulkadmin', N'Bulk Insert Administrators')) AS r (name, description)
WHERE @srvrolename IS NULL OR r.name = @srvrolename
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpsrvrolemember @srvrolename sysname = NULL AS
SET NOCOUNT ON
IF @srvrolename NOT IN (N'sysadmin', N'securityadmin', N'serveradmin', N'setupadmin', N'processadmin', N'diskadmin', N'dbcreator', N'bulkadmin')
BEGIN
    RAISERROR(15412, -1, -1, @srvrolename)
    RETURN 1
END
SELECT r.name AS ServerRole, l.name AS MemberName, l.sid AS MemberSID
FROM sys.server_role_members AS m JOIN sys.server_principals AS r ON r.principal_id = m.role_principal_id
    JOIN sys.server_principals AS l ON l.principal_id = m.member_principal_id
WHERE @srvrolename IS NULL OR r.name = @srvrolename ORDER BY 1, 2
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpdbfixedrole @rolename sysname = NULL AS
SET NOCOUNT ON
IF @rolename NOT IN (N'db_owner', N'db_accessadmin', N'db_securityadmin', N'db_ddladmin', N'db_backupoperator', N'db_datareader',
    N'db_datawriter', N'db_denydatareader', N'db_denydatawriter')
BEGIN
    RAISERROR(15412, -1, -1, @rolename)
    RETURN 1
END
SELECT CONVERT(sysname, r.name) AS DbFixedRole, CONVERT(sysname, r.description) AS Description
FROM (VALUES (N'db_owner', N'DB Owners'), (N'db_accessadmin', N'DB Access Administrators'), (N'db_securityadmin', N'DB Security Administrators'),
    (N'db_ddladmin', N'DB DDL Administrators'), (N'db_backupoperator', N'DB Backup Operator'), (N'db_datareader', N'DB Data Reader'),
    (N'db_datawriter', N'DB Data Writer'), (N'db_denydatareader', N'DB Deny Data Reader'), (N'db_denydatawriter', N'DB Deny Data Writer')) AS r (name, description)
WHERE @rolename IS NULL OR r.name = @rolename
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpuser @name_in_db sysname = NULL AS
SET NOCOUNT ON
SELECT u.name AS UserName, ISNULL(r.name, 'public') AS RoleName, l.name AS LoginName, l.default_database_name AS DefDBName,
    u.default_schema_name AS DefSchemaName, CONVERT(char(10), u.principal_id) AS UserID, u.sid AS SID
FROM sys.database_principals AS u LEFT JOIN sys.database_role_members AS m ON m.member_principal_id = u.principal_id
    LEFT JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    LEFT JOIN sys.server_principals AS l ON l.sid = u.sid
WHERE u.type <> 'R' AND (@name_in_db IS NULL OR u.name = @name_in_db) ORDER BY 1, 2
RETURN 0
GO
-- needs: ALTER ANY LOGIN
CREATE PROCEDURE sys.sp_helplogins @LoginNamePattern sysname = NULL AS
SET NOCOUNT ON
SELECT l.name AS LoginName, l.sid AS SID, l.default_database_name AS DefDBName, l.default_language_name AS DefLangName,
    CONVERT(char(5), CASE WHEN EXISTS (SELECT * FROM sys.database_principals AS u WHERE u.sid = l.sid) THEN 'yes' ELSE 'no' END) AS AUser,
    CONVERT(char(7), 'no') AS ARemote
FROM sys.server_principals AS l WHERE l.type = 'S' AND (@LoginNamePattern IS NULL OR l.name = @LoginNamePattern) ORDER BY 1
SELECT l.name AS LoginName, CONVERT(sysname, DB_NAME()) AS DBName, u.name AS UserName, CONVERT(char(8), 'User') AS UserOrAlias
FROM sys.server_principals AS l JOIN sys.database_principals AS u ON u.sid = l.sid
WHERE l.type = 'S' AND (@LoginNamePattern IS NULL OR l.name = @LoginNamePattern) ORDER BY 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helptrigger @tabname nvarchar(776), @triggertype char(6) = NULL AS
SET NOCOUNT ON
IF OBJECT_ID(@tabname) IS NULL
BEGIN
    DECLARE @db nvarchar(128) = DB_NAME()
    RAISERROR(15009, -1, -1, @tabname, @db)
    RETURN 1
END
SELECT t.name AS trigger_name, CONVERT(sysname, 'dbo') AS trigger_owner,
    CONVERT(int, ISNULL((SELECT 1 FROM sys.trigger_events AS e WHERE e.object_id = t.object_id AND e.type = 2), 0)) AS isupdate,
    CONVERT(int, ISNULL((SELECT 1 FROM sys.trigger_events AS e WHERE e.object_id = t.object_id AND e.type = 3), 0)) AS isdelete,
    CONVERT(int, ISNULL((SELECT 1 FROM sys.trigger_events AS e WHERE e.object_id = t.object_id AND e.type = 1), 0)) AS isinsert,
    CONVERT(int, 1 - t.is_instead_of_trigger) AS isafter, CONVERT(int, t.is_instead_of_trigger) AS isinsteadof,
    CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS trigger_schema
FROM sys.triggers AS t JOIN sys.objects AS o ON o.object_id = t.object_id WHERE t.parent_id = OBJECT_ID(@tabname) ORDER BY 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helplanguage @language sysname = NULL AS
SET NOCOUNT ON
SELECT langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid
FROM sys.syslanguages WHERE @language IS NULL OR name = @language OR alias = @language
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpserver @server sysname = NULL, @optname varchar(35) = NULL, @show_topology varchar(1) = NULL AS
SET NOCOUNT ON
SELECT s.name, CONVERT(char(30), s.name) AS network_name, CONVERT(varchar(70), 'rpc,rpc out,use remote collation') AS status,
    CONVERT(char(4), s.server_id) AS id, CONVERT(sysname, NULL) AS collation_name, s.connect_timeout, s.query_timeout
FROM sys.servers AS s WHERE @server IS NULL OR s.name = @server
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpdevice @devname sysname = NULL AS
SET NOCOUNT ON
SELECT name AS device_name, phyname AS physical_name, CONVERT(nvarchar(255), '') AS description, CONVERT(int, status) AS status,
    CONVERT(smallint, cntrltype) AS cntrltype, size FROM sys.sysdevices WHERE @devname IS NULL OR name = @devname
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpextendedproc @funcname sysname = NULL AS
SET NOCOUNT ON
SELECT name, dll_name AS dll FROM sys.extended_procedures WHERE @funcname IS NULL OR name = @funcname ORDER BY 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpsort AS
SET NOCOUNT ON
SELECT CONVERT(nvarchar(1024), DATABASEPROPERTYEX('master', 'Collation')) AS [Server default collation]
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpremotelogin @remoteserver sysname = NULL, @remotename sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS server, CONVERT(sysname, NULL) AS local_user_name, CONVERT(sysname, NULL) AS remote_user_name, CONVERT(sysname, NULL) AS options WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helplinkedsrvlogin @rmtsrvname sysname = NULL, @locallogin sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS [Linked Server], CONVERT(sysname, NULL) AS [Local Login], CONVERT(smallint, NULL) AS [Is Self Mapping], CONVERT(sysname, NULL) AS [Remote Login] WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_linkedservers AS
SET NOCOUNT ON
SELECT name AS SRV_NAME, provider AS SRV_PROVIDERNAME, CONVERT(nvarchar(128), product) AS SRV_PRODUCT, data_source AS SRV_DATASOURCE,
    provider_string AS SRV_PROVIDERSTRING, location AS SRV_LOCATION, catalog AS SRV_CAT FROM sys.servers ORDER BY 1
RETURN 0
GO
-- needs: ALTER ANY LOGIN
CREATE PROCEDURE sys.sp_validatelogins AS
SET NOCOUNT ON
SELECT CONVERT(varbinary(85), NULL) AS SID, CONVERT(sysname, NULL) AS [NT Login] WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_renamedb @dbname sysname, @newname sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(600) = N'ALTER DATABASE ' + QUOTENAME(@dbname) + N' MODIFY NAME = ' + QUOTENAME(@newname)
EXEC (@s)
IF @@ERROR <> 0 RETURN 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_changeobjectowner @objname nvarchar(776), @newowner sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(1000) = N'ALTER SCHEMA ' + QUOTENAME(@newowner) + N' TRANSFER ' + @objname
EXEC (@s)
IF @@ERROR <> 0 RETURN 1
RETURN 0
GO
-- needs: sysadmin
CREATE PROCEDURE sys.sp_monitor AS
SET NOCOUNT ON
DECLARE @started datetime = (SELECT sqlserver_start_time FROM sys.dm_os_sys_info)
SELECT @started AS last_run, GETDATE() AS current_run, CONVERT(int, DATEDIFF(second, @started, GETDATE())) AS seconds
SELECT CONVERT(varchar(40), CONVERT(varchar(20), process_user_time_ms / 1000)) AS cpu_busy FROM sys.dm_os_sys_info
SELECT CONVERT(bigint, SUM(num_of_reads)) AS total_read, CONVERT(bigint, SUM(num_of_writes)) AS total_write,
    (SELECT COUNT(*) FROM sys.dm_exec_connections) AS connections FROM sys.dm_io_virtual_file_stats(NULL, NULL)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_MSforeachdb @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
SET NOCOUNT ON
DECLARE @id int = 0, @name nvarchar(256), @s nvarchar(4000)
IF @precommand IS NOT NULL EXEC (@precommand)
WHILE 1 = 1
BEGIN
    SELECT @id = MIN(database_id) FROM sys.databases WHERE database_id > @id AND state = 0
    IF @id IS NULL BREAK
    SELECT @name = REPLACE(name, N'''', N'''''') FROM sys.databases WHERE database_id = @id
    SET @s = REPLACE(@command1, @replacechar, @name)
    EXEC (@s)
    SET @s = REPLACE(@command2, @replacechar, @name)
    IF @s IS NOT NULL EXEC (@s)
    SET @s = REPLACE(@command3, @replacechar, @name)
    IF @s IS NOT NULL EXEC (@s)
END
IF @postcommand IS NOT NULL EXEC (@postcommand)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_MSforeachtable @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @whereand nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
SET NOCOUNT ON
DECLARE @id int = 0, @name nvarchar(520), @s nvarchar(4000)
IF @whereand IS NOT NULL
BEGIN
    RAISERROR('sp_MSforeachtable with @whereand is not supported.', 16, 1)
    RETURN 1
END
IF @precommand IS NOT NULL EXEC (@precommand)
SET @id = -2147483648
WHILE 1 = 1
BEGIN
    SELECT @id = MIN(object_id) FROM sys.tables WHERE object_id > @id AND is_ms_shipped = 0
    IF @id IS NULL BREAK
    SELECT @name = QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) FROM sys.tables WHERE object_id = @id
    SET @s = REPLACE(@command1, @replacechar, @name)
    EXEC (@s)
    SET @s = REPLACE(@command2, @replacechar, @name)
    IF @s IS NOT NULL EXEC (@s)
    SET @s = REPLACE(@command3, @replacechar, @name)
    IF @s IS NOT NULL EXEC (@s)
END
IF @postcommand IS NOT NULL EXEC (@postcommand)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_help_fulltext_catalogs AS
SET NOCOUNT ON
SELECT CONVERT(smallint, NULL) AS fulltext_catalog_id, CONVERT(sysname, NULL) AS NAME, CONVERT(nvarchar(260), NULL) AS PATH, CONVERT(int, NULL) AS STATUS, CONVERT(int, NULL) AS NUMBER_FULLTEXT_TABLES WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_help_fulltext_tables AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS TABLE_OWNER, CONVERT(sysname, NULL) AS TABLE_NAME, CONVERT(sysname, NULL) AS FULLTEXT_KEY_INDEX_NAME, CONVERT(int, NULL) AS FULLTEXT_KEY_COLID, CONVERT(int, NULL) AS FULLTEXT_INDEX_ACTIVE, CONVERT(sysname, NULL) AS FULLTEXT_CATALOG_NAME WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_help_fulltext_columns AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS TABLE_OWNER, CONVERT(int, NULL) AS TABLE_ID, CONVERT(sysname, NULL) AS TABLE_NAME, CONVERT(sysname, NULL) AS FULLTEXT_COLUMN_NAME, CONVERT(int, NULL) AS FULLTEXT_COLID, CONVERT(sysname, NULL) AS FULLTEXT_BLOBTP_COLNAME, CONVERT(int, NULL) AS FULLTEXT_BLOBTP_COLID, CONVERT(sysname, NULL) AS FULLTEXT_LANGUAGE WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_90 @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON
EXEC sys.sp_columns @table_name = @table_name, @table_owner = @table_owner, @table_qualifier = @table_qualifier, @column_name = @column_name, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_special_columns_90 @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL, @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2 AS
SET NOCOUNT ON
EXEC sys.sp_special_columns @table_name = @table_name, @table_owner = @table_owner, @qualifier = @table_qualifier, @col_type = @col_type, @scope = @scope, @nullable = @nullable, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_sproc_columns_90 @procedure_name nvarchar(390) = N'%', @procedure_owner nvarchar(384) = NULL, @procedure_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON
EXEC sys.sp_sproc_columns @procedure_name = @procedure_name, @procedure_owner = @procedure_owner, @procedure_qualifier = @procedure_qualifier, @column_name = @column_name, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_datatype_info_90 @data_type int = 0, @ODBCVer tinyint = 2 AS
SET NOCOUNT ON
EXEC sys.sp_datatype_info @data_type = @data_type, @ODBCVer = @ODBCVer
RETURN 0
