-- What asks a linked server for its catalog. There are none, so that only the server's own name answers (15015); and what is
-- empty because nothing here can make it. Behind them, views of threads, drives and the governor that is not there.
-- needs: asks
CREATE PROCEDURE sys.sp_tables_ex @table_server sysname, @table_name sysname = NULL, @table_schema sysname = NULL, @table_catalog sysname = NULL, @table_type sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_tables @table_name = @table_name, @table_owner = @table_schema, @table_qualifier = @table_catalog, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_ex @table_server sysname, @table_name sysname = NULL, @table_schema sysname = NULL, @table_catalog sysname = NULL, @column_name sysname = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_columns @table_name = @table_name, @table_owner = @table_schema, @table_qualifier = @table_catalog, @column_name = @column_name, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_ex_90 @table_server sysname, @table_name sysname = NULL, @table_schema sysname = NULL, @table_catalog sysname = NULL, @column_name sysname = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_columns_90 @table_name = @table_name, @table_owner = @table_schema, @table_qualifier = @table_catalog, @column_name = @column_name, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_ex_100 @table_server sysname, @table_name sysname = NULL, @table_schema sysname = NULL, @table_catalog sysname = NULL, @column_name sysname = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_columns_100 @table_name = @table_name, @table_owner = @table_schema, @table_qualifier = @table_catalog, @column_name = @column_name, @ODBCVer = @ODBCVer
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_primarykeys @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @table_catalog sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_primary_keys_rowset @table_name = @table_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_catalogs_rowset_rmt @table_server sysname, @catalog_name sysname AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_catalogs_rowset @catalog_name = @catalog_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_tables_rowset @table_name = @table_name, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_columns_rowset @table_name = @table_name, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @index_name sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_indexes_rowset @table_name = @table_name, @table_schema = @table_schema, @index_name = @index_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_90_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_columns_90_rowset @table_name = @table_name, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_90_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @index_name sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_indexes_90_rowset @table_name = @table_name, @table_schema = @table_schema, @index_name = @index_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_primary_keys_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_primary_keys_rowset @table_name = @table_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_foreign_keys_rowset_rmt @table_server sysname, @pk_table_name sysname = NULL, @pk_table_schema sysname = NULL, @foreignkey_tab_name sysname = NULL, @foreignkey_tab_schema sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_foreign_keys_rowset @pk_table_name = @pk_table_name, @pk_table_schema = @pk_table_schema, @foreignkey_tab_name = @foreignkey_tab_name, @foreignkey_tab_schema = @foreignkey_tab_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_privileges_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_table_privileges_rowset @table_name = @table_name, @table_schema = @table_schema, @grantor = @grantor, @grantee = @grantee
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_column_privileges_rowset_rmt @table_server sysname, @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_column_privileges_rowset @table_name = @table_name, @table_schema = @table_schema, @column_name = @column_name, @grantor = @grantor, @grantee = @grantee
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_usertypes_rowset_rmt @table_server sysname, @type_name sysname, @type_schema sysname = NULL AS
SET NOCOUNT ON
IF @table_server <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @table_server)
    RETURN 1
END
EXEC sys.sp_usertypes_rowset @type_name = @type_name, @type_schema = @type_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_assemblies_rowset @assembly_name sysname, @assembly_schema sysname = NULL, @assembly_id int = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS ASSEMBLY_CATALOG, CONVERT(sysname, NULL) AS ASSEMBLY_SCHEMA, CONVERT(sysname, NULL) AS ASSEMBLY_NAME, CONVERT(int, NULL) AS ASSEMBLY_ID, CONVERT(nvarchar(60), NULL) AS PERMISSION_SET, CONVERT(varbinary(max), NULL) AS ASSEMBLY_BINARY WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_assemblies_rowset2 @assembly_schema sysname = NULL, @assembly_id int = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS ASSEMBLY_CATALOG, CONVERT(sysname, NULL) AS ASSEMBLY_SCHEMA, CONVERT(sysname, NULL) AS ASSEMBLY_NAME, CONVERT(int, NULL) AS ASSEMBLY_ID, CONVERT(nvarchar(60), NULL) AS PERMISSION_SET, CONVERT(varbinary(max), NULL) AS ASSEMBLY_BINARY WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_assembly_dependencies_rowset @assembly_id int, @assembly_schema sysname = NULL, @assembly_referenced int = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS ASSEMBLY_CATALOG, CONVERT(sysname, NULL) AS ASSEMBLY_SCHEMA, CONVERT(int, NULL) AS ASSEMBLY_ID, CONVERT(int, NULL) AS REFERENCED_ASSEMBLY_ID WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_assembly_dependencies_rowset2 @assembly_schema sysname = NULL, @assembly_referenced int = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS ASSEMBLY_CATALOG, CONVERT(sysname, NULL) AS ASSEMBLY_SCHEMA, CONVERT(int, NULL) AS ASSEMBLY_ID, CONVERT(int, NULL) AS REFERENCED_ASSEMBLY_ID WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_xml_schema_rowset @collection_name sysname, @schema_name sysname = NULL, @target_namespace sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_CATALOG, CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_SCHEMA, CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_NAME, CONVERT(nvarchar(1000), NULL) AS TARGET_NAMESPACE_URI, CONVERT(nvarchar(max), NULL) AS SCHEMA_CONTENT WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_xml_schema_rowset2 @schema_name sysname = NULL, @target_namespace sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_CATALOG, CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_SCHEMA, CONVERT(sysname, NULL) AS SCHEMA_COLLECTION_NAME, CONVERT(nvarchar(1000), NULL) AS TARGET_NAMESPACE_URI, CONVERT(nvarchar(max), NULL) AS SCHEMA_CONTENT WHERE 1 = 0
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tablecollations @object nvarchar(4000) AS
SET NOCOUNT ON
EXEC sys.sp_tablecollations_100 @object
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tablecollations_90 @object nvarchar(4000) AS
SET NOCOUNT ON
EXEC sys.sp_tablecollations_100 @object
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_catalogs @server_name sysname AS
SET NOCOUNT ON
IF @server_name <> @@SERVERNAME
BEGIN
    RAISERROR(15015, -1, -1, @server_name)
    RETURN 1
END
EXEC sys.sp_catalogs_rowset2
RETURN 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_threads AS
SELECT w.thread_address, CONVERT(bit, 1) AS started_by_sqlservr, CONVERT(int, 0) AS os_thread_id, w.status,
    CONVERT(varbinary(8), NULL) AS instruction_address, CONVERT(datetime, NULL) AS creation_time, CONVERT(bigint, NULL) AS kernel_time,
    CONVERT(bigint, NULL) AS usermode_time, CONVERT(varbinary(8), 0x0000000000000000) AS stack_base_address,
    CONVERT(varbinary(8), NULL) AS stack_end_address, CONVERT(int, 0) AS stack_bytes_committed, CONVERT(int, NULL) AS stack_bytes_used,
    CONVERT(bigint, 0) AS affinity, CONVERT(int, NULL) AS priority, CONVERT(int, 0) AS locale, CONVERT(varbinary(8), NULL) AS token,
    CONVERT(int, 0) AS is_impersonating, CONVERT(int, 0) AS is_waiting_on_loader_lock, CONVERT(varbinary(8), NULL) AS fiber_data,
    CONVERT(varbinary(8), NULL) AS thread_handle, CONVERT(varbinary(8), NULL) AS event_handle, w.scheduler_address, w.worker_address,
    CONVERT(varbinary(8), NULL) AS fiber_context_address, CONVERT(varbinary(8), NULL) AS self_address, w.processor_group
FROM sys.dm_os_workers AS w
GO
-- needs: visible
CREATE VIEW sys.resource_governor_resource_pools AS
SELECT CONVERT(int, p.pool_id) AS pool_id, CONVERT(sysname, p.name) AS name, CONVERT(int, 0) AS min_cpu_percent,
    CONVERT(int, 100) AS max_cpu_percent, CONVERT(int, 0) AS min_memory_percent, CONVERT(int, 100) AS max_memory_percent,
    CONVERT(int, 100) AS cap_cpu_percent, CONVERT(int, 0) AS min_iops_per_volume, CONVERT(int, 0) AS max_iops_per_volume
FROM (VALUES (1, N'internal'), (2, N'default')) AS p (pool_id, name)
GO
-- needs: visible
CREATE VIEW sys.resource_governor_workload_groups AS
SELECT CONVERT(int, g.group_id) AS group_id, CONVERT(sysname, g.name) AS name, CONVERT(sysname, N'Medium') AS importance,
    CONVERT(int, 25) AS request_max_memory_grant_percent, CONVERT(int, 0) AS request_max_cpu_time_sec,
    CONVERT(int, 0) AS request_memory_grant_timeout_sec, CONVERT(int, 0) AS max_dop, CONVERT(int, 0) AS group_max_requests,
    CONVERT(int, g.group_id) AS pool_id, CONVERT(int, 2) AS external_pool_id,
    CONVERT(float, 25) AS request_max_memory_grant_percent_numeric
FROM (VALUES (1, N'internal'), (2, N'default')) AS g (group_id, name)
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_enumerate_fixed_drives AS
SELECT DISTINCT CONVERT(nvarchar(256), v.volume_mount_point) AS fixed_drive_path, CONVERT(int, 3) AS drive_type,
    CONVERT(nvarchar(256), N'DRIVE_FIXED') AS drive_type_desc, v.available_bytes AS free_space_in_bytes
FROM sys.master_files AS f CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v
