-- The system tables of SQL Server 2000, as views over the catalog views. A number that nothing counts any more is 0.
-- needs: visible
CREATE VIEW sys.sysobjects AS
SELECT o.name, o.object_id AS id, CONVERT(char(2), CASE o.type WHEN 'UQ' THEN 'K' WHEN 'PK' THEN 'K' ELSE o.type END) AS xtype,
    CONVERT(smallint, o.schema_id) AS uid, CONVERT(smallint, 0) AS info, 0 AS status, 0 AS base_schema_ver, 0 AS replinfo,
    o.parent_object_id AS parent_obj, o.create_date AS crdate, CONVERT(smallint, 0) AS ftcatid, 0 AS schema_ver,
    0 AS stats_schema_ver, CONVERT(char(2), CASE o.type WHEN 'UQ' THEN 'K' WHEN 'PK' THEN 'K' ELSE o.type END) AS type,
    CONVERT(smallint, 0) AS userstat, CONVERT(smallint, 0) AS sysstat, CONVERT(smallint, 0) AS indexdel,
    o.create_date AS refdate, 0 AS version, 0 AS deltrig, 0 AS instrig, 0 AS updtrig, 0 AS seltrig, 0 AS category,
    CONVERT(smallint, 0) AS cache
FROM sys.all_objects AS o
GO
-- needs: visible
CREATE VIEW sys.syscolumns AS
SELECT c.name, c.object_id AS id, c.system_type_id AS xtype, CONVERT(tinyint, 0) AS typestat,
    CONVERT(smallint, c.user_type_id) AS xusertype,
    CONVERT(smallint, c.max_length) AS length, CONVERT(tinyint, 0) AS xprec, CONVERT(tinyint, 0) AS xscale,
    CONVERT(smallint, c.column_id) AS colid, CONVERT(smallint, 0) AS xoffset, CONVERT(tinyint, 0) AS bitpos,
    CONVERT(tinyint, 0) AS reserved,
    CONVERT(smallint, CASE c.is_identity WHEN 1 THEN 128 ELSE 0 END + CASE c.is_nullable WHEN 1 THEN 8 ELSE 0 END) AS colstat,
    c.default_object_id AS cdefault, 0 AS domain, CONVERT(smallint, 0) AS number, CONVERT(smallint, c.column_id) AS colorder,
    CONVERT(varbinary(8000), NULL) AS autoval, CONVERT(smallint, 0) AS offset, 0 AS collationid,
    CONVERT(tinyint, CASE c.is_nullable WHEN 1 THEN 8 ELSE 0 END + CASE c.is_identity WHEN 1 THEN 128 ELSE 0 END) AS status,
    c.system_type_id AS type, CONVERT(smallint, c.user_type_id) AS usertype, CONVERT(varchar(255), NULL) AS printfmt,
    CONVERT(smallint, c.precision) AS prec, CONVERT(int, c.scale) AS scale, CONVERT(int, c.is_computed) AS iscomputed,
    0 AS isoutparam, CONVERT(int, c.is_nullable) AS isnullable, CONVERT(sysname, c.collation_name) AS collation,
    CONVERT(binary(6), NULL) AS tdscollation
FROM sys.all_columns AS c
GO
-- needs: visible
CREATE VIEW sys.systypes AS
SELECT t.name, t.system_type_id AS xtype, CONVERT(tinyint, CASE t.is_nullable WHEN 1 THEN 0 ELSE 1 END) AS status,
    CONVERT(smallint, t.user_type_id) AS xusertype, t.max_length AS length, t.precision AS xprec, t.scale AS xscale,
    0 AS tdefault, 0 AS domain, CONVERT(smallint, t.schema_id) AS uid, CONVERT(smallint, 0) AS reserved,
    CONVERT(int, NULL) AS collationid, CONVERT(smallint, t.user_type_id) AS usertype,
    CONVERT(bit, CASE WHEN t.system_type_id IN (34, 35, 99, 165, 167, 231, 98) THEN 1 ELSE 0 END) AS variable,
    CONVERT(bit, t.is_nullable) AS allownulls, t.system_type_id AS type, CONVERT(varchar(255), NULL) AS printfmt,
    CONVERT(smallint, t.precision) AS prec, t.scale, t.collation_name AS collation
FROM sys.types AS t
GO
-- needs: visible
CREATE VIEW sys.sysindexes AS
SELECT i.object_id AS id, CONVERT(int, CASE WHEN i.is_unique = 1 THEN 2 ELSE 0 END
        + CASE WHEN i.index_id = 1 THEN 16 ELSE 0 END + CASE WHEN i.is_primary_key = 1 THEN 2048 ELSE 0 END
        + CASE WHEN i.is_unique_constraint = 1 THEN 4096 ELSE 0 END) AS status,
    CONVERT(binary(6), NULL) AS first, CONVERT(smallint, i.index_id) AS indid, CONVERT(binary(6), NULL) AS root,
    CONVERT(smallint, 0) AS minlen,
    CONVERT(smallint, (SELECT COUNT(*) FROM sys.index_columns AS k
        WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0)) AS keycnt,
    CONVERT(smallint, i.data_space_id) AS groupid, ISNULL(CONVERT(int, a.data_pages), 0) AS dpages,
    ISNULL(CONVERT(int, a.total_pages), 0) AS reserved, ISNULL(CONVERT(int, a.used_pages), 0) AS used,
    ISNULL(p.rows, 0) AS rowcnt,
    ISNULL(CONVERT(int, (SELECT m.modification_counter FROM sys.dm_db_stats_properties(i.object_id, i.index_id) AS m)), 0) AS rowmodctr, CONVERT(tinyint, 0) AS reserved3, CONVERT(tinyint, 0) AS reserved4,
    CONVERT(smallint, 0) AS xmaxlen, CONVERT(smallint, 0) AS maxirow, i.fill_factor AS OrigFillFactor,
    CONVERT(tinyint, 0) AS StatVersion, 0 AS reserved2, CONVERT(binary(6), NULL) AS FirstIAM,
    CONVERT(smallint, 0) AS impid, CONVERT(smallint, 0) AS lockflags, 0 AS pgmodctr, CONVERT(varbinary(1088), NULL) AS keys,
    CONVERT(sysname, i.name) AS name, CONVERT(image, NULL) AS statblob, 800 AS maxlen,
    ISNULL(CONVERT(int, p.rows), 0) AS rows
FROM sys.indexes AS i
    LEFT JOIN (SELECT object_id, index_id, SUM(rows) AS rows FROM sys.partitions GROUP BY object_id, index_id) AS p
        ON p.object_id = i.object_id AND p.index_id = i.index_id
    LEFT JOIN (SELECT q.object_id, q.index_id, SUM(u.total_pages) AS total_pages, SUM(u.used_pages) AS used_pages,
            SUM(CASE WHEN u.type = 1 THEN u.data_pages ELSE u.used_pages END) AS data_pages
        FROM sys.partitions AS q JOIN sys.allocation_units AS u ON u.container_id = q.partition_id
        GROUP BY q.object_id, q.index_id) AS a
        ON a.object_id = i.object_id AND a.index_id = i.index_id
GO
-- needs: visible
CREATE VIEW sys.sysindexkeys AS
SELECT object_id AS id, CONVERT(smallint, index_id) AS indid, CONVERT(smallint, column_id) AS colid,
    CONVERT(smallint, key_ordinal) AS keyno
FROM sys.index_columns
GO
-- needs: visible
CREATE VIEW sys.syscomments AS
SELECT m.object_id AS id, CONVERT(smallint, CASE WHEN o.type = 'P' THEN 1 ELSE 0 END) AS number, CONVERT(smallint, n.n) AS colid,
    CONVERT(smallint, 0) AS status, CONVERT(varbinary(8000), NULL) AS ctext, CONVERT(smallint, 2) AS texttype,
    CONVERT(smallint, 0) AS language, CONVERT(bit, 0) AS encrypted, CONVERT(bit, 0) AS compressed,
    CONVERT(nvarchar(4000), SUBSTRING(m.definition, (n.n - 1) * 4000 + 1, 4000)) AS text
FROM sys.sql_modules AS m
    JOIN sys.objects AS o ON o.object_id = m.object_id
    CROSS APPLY (SELECT CONVERT(int, ROW_NUMBER() OVER (ORDER BY object_id, column_id)) AS n FROM sys.system_columns) AS n
WHERE n.n <= (LEN(m.definition) + 3999) / 4000
UNION ALL
SELECT object_id, 0, 1, 0, NULL, 2, 0, 0, 0, CONVERT(nvarchar(4000), definition) FROM sys.default_constraints
UNION ALL
SELECT object_id, 0, 1, 0, NULL, 2, 0, 0, 0, CONVERT(nvarchar(4000), definition) FROM sys.check_constraints
GO
-- needs: visible
CREATE VIEW sys.sysforeignkeys AS
SELECT constraint_object_id AS constid, parent_object_id AS fkeyid, referenced_object_id AS rkeyid,
    CONVERT(smallint, parent_column_id) AS fkey, CONVERT(smallint, referenced_column_id) AS rkey,
    CONVERT(smallint, constraint_column_id) AS keyno
FROM sys.foreign_key_columns
GO
-- needs: visible
CREATE VIEW sys.sysreferences AS
SELECT object_id AS constid, parent_object_id AS fkeyid, referenced_object_id AS rkeyid,
    CONVERT(smallint, key_index_id) AS rkeyindid,
    CONVERT(smallint, (SELECT COUNT(*) FROM sys.foreign_key_columns AS c WHERE c.constraint_object_id = f.object_id)) AS keycnt
FROM sys.foreign_keys AS f
GO
-- needs: visible
CREATE VIEW sys.sysusers AS
SELECT CONVERT(smallint, p.principal_id) AS uid, CONVERT(smallint, CASE WHEN p.type = 'S' AND p.principal_id > 2 THEN 0 ELSE 2 END) AS status,
    p.name, p.sid, CONVERT(varbinary(2048), NULL) AS roles, p.create_date AS createdate, p.modify_date AS updatedate,
    CONVERT(smallint, 0) AS altuid, CONVERT(varbinary(256), NULL) AS password,
    CONVERT(smallint, CASE WHEN p.type = 'R' THEN p.principal_id ELSE 0 END) AS gid, CONVERT(varchar(85), NULL) AS environ,
    CONVERT(int, CASE WHEN p.name = 'dbo' THEN 1 ELSE 0 END) AS hasdbaccess, CONVERT(int, CASE p.type WHEN 'R' THEN 0 ELSE 1 END) AS islogin,
    0 AS isntname, 0 AS isntgroup, 0 AS isntuser, CONVERT(int, CASE p.type WHEN 'R' THEN 0 ELSE 1 END) AS issqluser,
    0 AS isaliased, CONVERT(int, CASE p.type WHEN 'R' THEN 1 ELSE 0 END) AS issqlrole, 0 AS isapprole
FROM sys.database_principals AS p
GO
-- needs: visible
CREATE VIEW sys.sysmembers AS
SELECT CONVERT(smallint, member_principal_id) AS memberuid, CONVERT(smallint, role_principal_id) AS groupuid
FROM sys.database_role_members
GO
-- needs: visible
CREATE VIEW sys.sysdatabases AS
SELECT d.name, CONVERT(smallint, d.database_id) AS dbid, d.owner_sid AS sid, CONVERT(smallint, 0) AS mode,
    CONVERT(int, CASE d.recovery_model WHEN 3 THEN 8 ELSE 0 END + CASE d.is_read_only WHEN 1 THEN 1024 ELSE 0 END
        + CASE d.state WHEN 6 THEN 512 ELSE 0 END + CASE d.user_access WHEN 1 THEN 4096 WHEN 2 THEN 2048 ELSE 0 END
        + 65536) AS status,
    1090519040 AS status2, d.create_date AS crdate, CONVERT(datetime, '19000101') AS reserved, 0 AS category,
    d.compatibility_level AS cmptlevel, CONVERT(nvarchar(260), f.physical_name) AS filename, CONVERT(smallint, NULL) AS version
FROM sys.databases AS d LEFT JOIN sys.master_files AS f ON f.database_id = d.database_id AND f.file_id = 1
GO
-- needs: visible
CREATE VIEW sys.sysfiles AS
SELECT CONVERT(smallint, file_id) AS fileid, CONVERT(smallint, data_space_id) AS groupid, size, max_size AS maxsize, growth,
    CONVERT(int, CASE type WHEN 1 THEN 66 ELSE 2 END + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END) AS status,
    0 AS perf, name, CONVERT(nvarchar(260), physical_name) AS filename
FROM sys.database_files
GO
-- needs: visible
CREATE VIEW sys.sysaltfiles AS
SELECT CONVERT(smallint, file_id) AS fileid, CONVERT(smallint, data_space_id) AS groupid, size, max_size AS maxsize, growth,
    CONVERT(int, CASE type WHEN 1 THEN 66 ELSE 2 END + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END) AS status,
    0 AS perf, CONVERT(smallint, database_id) AS dbid, name, CONVERT(nvarchar(260), physical_name) AS filename
FROM sys.master_files
GO
-- needs: visible
CREATE VIEW sys.sysfilegroups AS
SELECT CONVERT(smallint, data_space_id) AS groupid, CONVERT(smallint, 0) AS allocpolicy,
    CONVERT(int, CASE is_read_only WHEN 1 THEN 8 ELSE 0 END + CASE is_default WHEN 1 THEN 16 ELSE 0 END) AS status,
    name AS groupname
FROM sys.filegroups
GO
-- needs: visible
CREATE VIEW sys.syslogins AS
SELECT p.sid, CONVERT(smallint, CASE p.is_disabled WHEN 1 THEN 137 ELSE 9 END) AS status, p.create_date AS createdate,
    p.modify_date AS updatedate, p.create_date AS accdate,
    0 AS totcpu, 0 AS totio, 0 AS spacelimit, 0 AS timelimit, 0 AS resultlimit, p.name, p.default_database_name AS dbname,
    CONVERT(nvarchar(128), NULL) AS password, p.default_language_name AS language, 0 AS denylogin, 1 AS hasaccess,
    0 AS isntname, 0 AS isntgroup, 0 AS isntuser,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 3), 0) AS sysadmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 4), 0) AS securityadmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 5), 0) AS serveradmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 6), 0) AS setupadmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 7), 0) AS processadmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 8), 0) AS diskadmin,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 9), 0) AS dbcreator,
    ISNULL((SELECT 1 FROM sys.server_role_members AS m WHERE m.member_principal_id = p.principal_id AND m.role_principal_id = 10), 0) AS bulkadmin,
    p.name AS loginname
FROM sys.server_principals AS p WHERE p.type = 'S'
GO
-- needs: own sessions
CREATE VIEW sys.sysprocesses AS
SELECT s.session_id AS spid, CONVERT(smallint, 0) AS kpid, CONVERT(smallint, ISNULL(r.blocking_session_id, 0)) AS blocked,
    CONVERT(binary(2), 0) AS waittype, CONVERT(bigint, ISNULL(r.wait_time, 0)) AS waittime,
    CONVERT(nchar(32), ISNULL(r.wait_type, CASE WHEN r.session_id IS NULL THEN 'MISCELLANEOUS' ELSE '' END)) AS lastwaittype,
    CONVERT(nchar(256), ISNULL(r.wait_resource, '')) AS waitresource, CONVERT(smallint, s.database_id) AS dbid,
    CONVERT(smallint, 1) AS uid, CONVERT(int, s.cpu_time) AS cpu, CONVERT(bigint, s.reads + s.writes) AS physical_io,
    CONVERT(int, s.memory_usage) AS memusage, s.login_time, ISNULL(s.last_request_start_time, s.login_time) AS last_batch,
    CONVERT(smallint, 0) AS ecid, CONVERT(smallint, s.open_transaction_count) AS open_tran,
    CONVERT(nchar(30), ISNULL(r.status, s.status)) AS status, CONVERT(binary(86), 0x01) AS sid,
    CONVERT(nchar(128), ISNULL(s.host_name, '')) AS hostname, CONVERT(nchar(128), ISNULL(s.program_name, '')) AS program_name,
    CONVERT(nchar(10), ISNULL(CONVERT(nvarchar(10), s.host_process_id), '')) AS hostprocess,
    CONVERT(nchar(52), ISNULL(r.command, 'AWAITING COMMAND')) AS cmd, CONVERT(nchar(128), '') AS nt_domain,
    CONVERT(nchar(128), '') AS nt_username, CONVERT(nchar(12), '') AS net_address, CONVERT(nchar(12), CASE WHEN c.session_id IS NULL THEN '' ELSE 'TCP/IP' END) AS net_library,
    CONVERT(nchar(128), s.login_name) AS loginame, CONVERT(binary(128), NULL) AS context_info,
    CONVERT(binary(20), ISNULL(r.sql_handle, c.most_recent_sql_handle)) AS sql_handle,
    CONVERT(int, ISNULL(r.statement_start_offset, 0)) AS stmt_start, CONVERT(int, ISNULL(r.statement_end_offset, 0)) AS stmt_end,
    CONVERT(int, ISNULL(r.request_id, 0)) AS request_id, r.page_resource
FROM sys.dm_exec_sessions AS s LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
LEFT JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id
GO
-- The older names of CREATE TYPE and DROP TYPE.
-- needs: asks
CREATE PROCEDURE sys.sp_addtype @typename sysname, @phystype sysname, @nulltype varchar(8) = NULL, @owner sysname = NULL
AS
SET NOCOUNT ON
DECLARE @nulls varchar(8) = UPPER(LTRIM(RTRIM(ISNULL(@nulltype, 'NULL'))))
IF @nulls NOT IN ('NULL', 'NOT NULL', 'NONULL')
BEGIN
    RAISERROR (15600, -1, -1, 'sys.sp_addtype')
    RETURN 1
END
DECLARE @statement nvarchar(max) = 'CREATE TYPE ' + ISNULL(QUOTENAME(@owner) + '.', '') + QUOTENAME(@typename)
    + ' FROM ' + @phystype + CASE @nulls WHEN 'NULL' THEN ' NULL' ELSE ' NOT NULL' END
EXEC (@statement)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_droptype @typename sysname
AS
SET NOCOUNT ON
DECLARE @statement nvarchar(max) = 'DROP TYPE ' + QUOTENAME(@typename)
EXEC (@statement)
RETURN 0
GO
-- needs: facts
CREATE VIEW sys.sysmessages AS
SELECT message_id AS error, severity, CONVERT(smallint, CASE is_event_logged WHEN 1 THEN 128 ELSE 0 END) AS dlevel,
    CONVERT(nvarchar(255), text) AS description, language_id AS msglangid
FROM sys.messages
GO
-- needs: facts
CREATE VIEW sys.sysconfigures AS
SELECT CONVERT(int, c.value) AS value, c.configuration_id AS config, CONVERT(nvarchar(255), c.description) AS comment,
    CONVERT(smallint, CONVERT(int, c.is_dynamic) + 2 * CONVERT(int, c.is_advanced)) AS status
FROM sys.configurations AS c
GO
-- needs: facts
CREATE VIEW sys.syscurconfigs AS
SELECT CONVERT(int, c.value_in_use) AS value, c.configuration_id AS config, CONVERT(nvarchar(255), c.description) AS comment,
    CONVERT(smallint, CONVERT(int, c.is_dynamic) + 2 * CONVERT(int, c.is_advanced)) AS status
FROM sys.configurations AS c
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.sysperfinfo AS
SELECT CONVERT(nchar(128), p.object_name) AS object_name, CONVERT(nchar(128), p.counter_name) AS counter_name,
    CONVERT(nchar(128), p.instance_name) AS instance_name, p.cntr_value, p.cntr_type
FROM sys.dm_os_performance_counters AS p
GO
-- needs: visible
CREATE VIEW sys.database_mirroring AS
SELECT d.database_id, CONVERT(uniqueidentifier, NULL) AS mirroring_guid, CONVERT(tinyint, NULL) AS mirroring_state,
    CONVERT(nvarchar(60), NULL) AS mirroring_state_desc, CONVERT(tinyint, NULL) AS mirroring_role,
    CONVERT(nvarchar(60), NULL) AS mirroring_role_desc, CONVERT(int, NULL) AS mirroring_role_sequence,
    CONVERT(tinyint, NULL) AS mirroring_safety_level, CONVERT(nvarchar(60), NULL) AS mirroring_safety_level_desc,
    CONVERT(int, NULL) AS mirroring_safety_sequence, CONVERT(nvarchar(128), NULL) AS mirroring_partner_name,
    CONVERT(nvarchar(128), NULL) AS mirroring_partner_instance, CONVERT(nvarchar(128), NULL) AS mirroring_witness_name,
    CONVERT(tinyint, NULL) AS mirroring_witness_state, CONVERT(nvarchar(60), NULL) AS mirroring_witness_state_desc,
    CONVERT(numeric(25, 0), NULL) AS mirroring_failover_lsn, CONVERT(int, NULL) AS mirroring_connection_timeout,
    CONVERT(int, NULL) AS mirroring_redo_queue, CONVERT(nvarchar(60), NULL) AS mirroring_redo_queue_type,
    CONVERT(numeric(25, 0), NULL) AS mirroring_end_of_log_lsn, CONVERT(numeric(25, 0), NULL) AS mirroring_replication_lsn
FROM sys.databases AS d
