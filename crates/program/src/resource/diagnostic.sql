-- What collections of diagnostic queries read of a server besides, in few words.
-- The buffer pool has no extension on a faster disk: the row that SQL Server has then.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_buffer_pool_extension_configuration AS
SELECT CONVERT(nvarchar(256), NULL) AS path, CONVERT(int, 0) AS file_id, CONVERT(int, 0) AS state,
    CONVERT(nvarchar(60), N'BUFFER POOL EXTENSION DISABLED') AS state_description, CONVERT(bigint, 0) AS current_size_in_kb
GO
-- Plans are never forced by the server itself.
-- needs: visible
CREATE VIEW sys.database_automatic_tuning_mode AS
SELECT CONVERT(smallint, 0) AS desired_state, CONVERT(nvarchar(60), N'OFF') AS desired_state_desc,
    CONVERT(smallint, 0) AS actual_state, CONVERT(nvarchar(60), N'OFF') AS actual_state_desc
GO
-- What xp_fixeddrives and xp_msver tell everybody, of views that are not everybody's.
-- needs: facts
CREATE VIEW sys.[$drives] AS
SELECT fixed_drive_path, free_space_in_bytes FROM sys.dm_os_enumerate_fixed_drives
GO
-- needs: facts
CREATE VIEW sys.[$machine] AS
SELECT cpu_count, physical_memory_kb FROM sys.dm_os_sys_info
GO
-- A path that begins with no letter is on the drive that paths without one are shown on.
-- needs: asks
CREATE PROCEDURE sys.xp_fixeddrives
AS
SET NOCOUNT ON
SELECT CONVERT(char(1), CASE WHEN d.fixed_drive_path LIKE '[A-Za-z]:%' THEN UPPER(LEFT(d.fixed_drive_path, 1)) ELSE 'C' END) AS drive,
    CONVERT(int, d.free_space_in_bytes / 1048576) AS [MB free]
FROM sys.[$drives] AS d ORDER BY 1
GO
-- Versions and the machine; NULL stands for what is not told here.
-- needs: asks
CREATE PROCEDURE sys.xp_msver @optname sysname = NULL
AS
SET NOCOUNT ON
DECLARE @version nvarchar(128), @processors int, @memory bigint
SELECT @version = CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion'))
SELECT @processors = cpu_count, @memory = physical_memory_kb FROM sys.[$machine]
SELECT CONVERT(smallint, v.i) AS [Index], v.name AS Name, v.number AS Internal_Value, v.value AS Character_Value
FROM (SELECT 1, N'ProductName', CONVERT(int, NULL), CONVERT(nvarchar(512), N'Microsoft SQL Server')
    UNION ALL SELECT 2, N'ProductVersion', CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) * 65536
        + CONVERT(int, SERVERPROPERTY('ProductMinorVersion')), @version
    UNION ALL SELECT 3, N'Language', 1033, N'English (United States)'
    UNION ALL SELECT 4, N'Platform', NULL, host_platform + N' ' + host_architecture FROM sys.dm_os_host_info
    UNION ALL SELECT 5, N'Comments', NULL, CONVERT(nvarchar(512), SERVERPROPERTY('Edition'))
    UNION ALL SELECT 6, N'CompanyName', NULL, NULL
    UNION ALL SELECT 7, N'FileDescription', NULL, NULL
    UNION ALL SELECT 8, N'FileVersion', NULL, @version
    UNION ALL SELECT 9, N'InternalName', NULL, NULL
    UNION ALL SELECT 10, N'LegalCopyright', NULL, NULL
    UNION ALL SELECT 11, N'LegalTrademarks', NULL, NULL
    UNION ALL SELECT 12, N'OriginalFilename', NULL, NULL
    UNION ALL SELECT 13, N'PrivateBuild', NULL, NULL
    UNION ALL SELECT 14, N'SpecialBuild', NULL, NULL
    UNION ALL SELECT 15, N'WindowsVersion', NULL, host_release FROM sys.dm_os_host_info
    UNION ALL SELECT 16, N'ProcessorCount', @processors, CONVERT(nvarchar(20), @processors)
    UNION ALL SELECT 17, N'ProcessorActiveMask', NULL, NULL
    UNION ALL SELECT 18, N'ProcessorType', NULL, NULL
    UNION ALL SELECT 19, N'PhysicalMemory', CONVERT(int, @memory / 1024),
        CONVERT(nvarchar(20), @memory / 1024) + N' (' + CONVERT(nvarchar(20), @memory * 1024) + N')'
    UNION ALL SELECT 20, N'Product ID', NULL, NULL) AS v (i, name, number, value)
WHERE @optname IS NULL OR v.name = @optname
ORDER BY v.i
