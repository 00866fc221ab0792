-- The procedures that were there before CREATE LOGIN and ALTER ROLE: each is one statement of today.
-- needs: asks
CREATE PROCEDURE sys.sp_addlogin @loginame sysname, @passwd sysname = NULL, @defdb sysname = 'master', @deflanguage sysname = NULL, @sid varbinary(16) = NULL AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'CREATE LOGIN ' + QUOTENAME(@loginame) + N' WITH PASSWORD = N''' + REPLACE(ISNULL(@passwd, N''), N'''', N'''''') + N''''
    + N', CHECK_POLICY = OFF, DEFAULT_DATABASE = ' + QUOTENAME(ISNULL(@defdb, 'master'))
    + ISNULL(N', DEFAULT_LANGUAGE = ' + QUOTENAME(@deflanguage), N'') + ISNULL(N', SID = ' + CONVERT(nvarchar(100), @sid, 1), N'')
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_droplogin @loginame sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'DROP LOGIN ' + QUOTENAME(@loginame)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_password @old sysname = NULL, @new sysname, @loginame sysname = NULL AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(ISNULL(@loginame, SUSER_SNAME())) + N' WITH PASSWORD = N''' + REPLACE(@new, N'''', N'''''') + N''''
    + ISNULL(N' OLD_PASSWORD = N''' + REPLACE(@old, N'''', N'''''') + N'''', N'')
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_defaultdb @loginame sysname, @defdb sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_DATABASE = ' + QUOTENAME(@defdb)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_addsrvrolemember @loginame sysname, @rolename sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@loginame)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_dropsrvrolemember @loginame sysname, @rolename sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@loginame)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_addrole @rolename sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'CREATE ROLE ' + QUOTENAME(@rolename)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_droprole @rolename sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'DROP ROLE ' + QUOTENAME(@rolename)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_addrolemember @rolename sysname, @membername sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@membername)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_droprolemember @rolename sysname, @membername sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'ALTER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@membername)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_grantdbaccess @loginame sysname, @name_in_db sysname = NULL AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'CREATE USER ' + QUOTENAME(ISNULL(@name_in_db, @loginame)) + N' FOR LOGIN ' + QUOTENAME(@loginame)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_adduser @loginame sysname, @name_in_db sysname = NULL, @grpname sysname = NULL AS
SET NOCOUNT ON
DECLARE @name sysname = ISNULL(@name_in_db, @loginame)
DECLARE @s nvarchar(max) = N'CREATE USER ' + QUOTENAME(@name) + N' FOR LOGIN ' + QUOTENAME(@loginame)
EXEC (@s)
IF @@ERROR <> 0 RETURN 1
IF @grpname IS NOT NULL
    EXEC sys.sp_addrolemember @grpname, @name
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_revokedbaccess @name_in_db sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@s)
RETURN @@ERROR
GO
-- needs: asks
CREATE PROCEDURE sys.sp_dropuser @name_in_db sysname AS
SET NOCOUNT ON
DECLARE @s nvarchar(max) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@s)
RETURN @@ERROR
