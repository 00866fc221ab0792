-- Catalog and dynamic management views that say in another way what others say.
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_partition_stats AS
SELECT p.partition_id, p.object_id, p.index_id, p.partition_number,
    ISNULL(r.data_pages, 0) AS in_row_data_page_count, ISNULL(r.used_pages, 0) AS in_row_used_page_count,
    ISNULL(r.total_pages, 0) AS in_row_reserved_page_count, ISNULL(l.used_pages, 0) AS lob_used_page_count,
    ISNULL(l.total_pages, 0) AS lob_reserved_page_count, ISNULL(o.used_pages, 0) AS row_overflow_used_page_count,
    ISNULL(o.total_pages, 0) AS row_overflow_reserved_page_count,
    ISNULL(r.used_pages, 0) + ISNULL(l.used_pages, 0) + ISNULL(o.used_pages, 0) AS used_page_count,
    ISNULL(r.total_pages, 0) + ISNULL(l.total_pages, 0) + ISNULL(o.total_pages, 0) AS reserved_page_count, ISNULL(p.rows, 0) AS row_count
FROM sys.partitions AS p
    LEFT JOIN sys.allocation_units AS r ON r.container_id = p.hobt_id AND r.type = 1
    LEFT JOIN sys.allocation_units AS l ON l.container_id = p.hobt_id AND l.type = 2
    LEFT JOIN sys.allocation_units AS o ON o.container_id = p.hobt_id AND o.type = 3
GO
-- The system is no Windows: sys.dm_os_host_info says which it is.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_windows_info AS
SELECT CONVERT(nvarchar(256), NULL) AS windows_release, CONVERT(nvarchar(256), NULL) AS windows_service_pack_level,
    CONVERT(int, NULL) AS windows_sku, CONVERT(int, NULL) AS os_language_version
WHERE 1 = 0
GO
-- A worker is the same as its task here.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_workers AS
SELECT t.worker_address, CONVERT(int, 0) AS status, CONVERT(bit, 0) AS is_preemptive, CONVERT(bit, 0) AS is_fiber,
    CONVERT(bit, 0) AS is_sick, CONVERT(bit, 0) AS is_in_cc_exception, CONVERT(bit, 0) AS is_fatal_exception,
    CONVERT(bit, 0) AS is_inside_catch, CONVERT(bit, 0) AS is_in_polling_io_completion_routine,
    CONVERT(int, 0) AS context_switch_count, CONVERT(int, t.pending_io_count) AS pending_io_count,
    t.pending_io_byte_count, CONVERT(bigint, t.pending_io_byte_average) AS pending_io_byte_average,
    CONVERT(bigint, 0) AS wait_started_ms_ticks, CONVERT(bigint, 0) AS wait_resumed_ms_ticks,
    CONVERT(bigint, 0) AS task_bound_ms_ticks, CONVERT(bigint, 0) AS worker_created_ms_ticks,
    CONVERT(int, 0) AS exception_num, CONVERT(int, 0) AS exception_severity, CONVERT(varbinary(8), NULL) AS exception_address,
    CONVERT(int, 0) AS affinity, CONVERT(nvarchar(60), t.task_state) AS state, CONVERT(bigint, NULL) AS start_quantum,
    CONVERT(bigint, NULL) AS end_quantum, CONVERT(nvarchar(60), NULL) AS last_wait_type,
    CONVERT(int, 0) AS return_code, CONVERT(bigint, 0) AS quantum_used, CONVERT(bigint, 0) AS max_quantum,
    CONVERT(int, 0) AS boost_count, CONVERT(int, 0) AS tasks_processed_count, CONVERT(varbinary(8), NULL) AS fiber_address,
    t.task_address, CONVERT(varbinary(8), NULL) AS memory_object_address, t.worker_address AS thread_address,
    CONVERT(varbinary(8), NULL) AS signal_worker_address,
    CONVERT(varbinary(8), CONVERT(binary(8), CONVERT(bigint, t.scheduler_id + 1))) AS scheduler_address,
    CONVERT(smallint, 0) AS processor_group
FROM sys.dm_os_tasks AS t
GO
-- needs: visible
CREATE VIEW sys.servers AS
SELECT CONVERT(int, 0) AS server_id, CONVERT(sysname, @@SERVERNAME) AS name, CONVERT(sysname, 'SQL Server') AS product,
    CONVERT(sysname, 'SQLNCLI') AS provider, CONVERT(nvarchar(4000), @@SERVERNAME) AS data_source,
    CONVERT(nvarchar(4000), NULL) AS location, CONVERT(nvarchar(4000), NULL) AS provider_string,
    CONVERT(sysname, NULL) AS catalog, CONVERT(int, 0) AS connect_timeout, CONVERT(int, 0) AS query_timeout,
    CONVERT(bit, 0) AS is_linked, CONVERT(bit, 1) AS is_remote_login_enabled, CONVERT(bit, 1) AS is_rpc_out_enabled,
    CONVERT(bit, 0) AS is_data_access_enabled, CONVERT(bit, 0) AS is_collation_compatible,
    CONVERT(bit, 1) AS uses_remote_collation, CONVERT(sysname, NULL) AS collation_name,
    CONVERT(bit, 0) AS lazy_schema_validation, CONVERT(bit, 0) AS is_system, CONVERT(bit, 0) AS is_publisher,
    CONVERT(bit, 0) AS is_subscriber, CONVERT(bit, 0) AS is_distributor, CONVERT(bit, 0) AS is_nonsql_subscriber,
    CONVERT(bit, 1) AS is_remote_proc_transaction_promotion_enabled,
    (SELECT MIN(create_date) FROM sys.databases WHERE name = 'master') AS modify_date, CONVERT(bit, 0) AS is_rda_server
GO
-- needs: visible
CREATE VIEW sys.endpoints AS
SELECT CONVERT(sysname, e.name) AS name, CONVERT(int, e.id) AS endpoint_id, CONVERT(int, 1) AS principal_id,
    CONVERT(tinyint, 2) AS protocol, CONVERT(nvarchar(60), 'TCP') AS protocol_desc, CONVERT(tinyint, 2) AS type,
    CONVERT(nvarchar(60), 'TSQL') AS type_desc, CONVERT(tinyint, 0) AS state, CONVERT(nvarchar(60), 'STARTED') AS state_desc,
    CONVERT(bit, e.is_admin) AS is_admin_endpoint
FROM (VALUES ('Dedicated Admin Connection', 1, 1), ('TSQL Default TCP', 4, 0)) AS e(name, id, is_admin)
GO
-- needs: visible
CREATE VIEW sys.tcp_endpoints AS
SELECT e.*, CONVERT(int, 0) AS port, CONVERT(bit, 1) AS is_dynamic_port, CONVERT(nvarchar(45), NULL) AS ip_address
FROM sys.endpoints AS e WHERE e.protocol = 2
GO
-- needs: visible
CREATE VIEW sys.login_token AS
SELECT p.principal_id, p.sid, p.name, CONVERT(nvarchar(128), CASE p.type WHEN 'R' THEN 'SERVER ROLE' ELSE 'SQL LOGIN' END) AS type,
    CONVERT(nvarchar(128), 'GRANT OR DENY') AS usage
FROM sys.server_principals AS p
WHERE p.name = SUSER_SNAME() OR p.name = 'public' OR p.principal_id IN
    (SELECT m.role_principal_id FROM sys.server_role_members AS m JOIN sys.server_principals AS l
        ON l.principal_id = m.member_principal_id WHERE l.name = SUSER_SNAME())
GO
-- needs: visible
CREATE VIEW sys.column_type_usages AS
SELECT object_id, column_id, user_type_id FROM sys.columns WHERE user_type_id > 256
GO
-- needs: visible
CREATE VIEW sys.parameter_type_usages AS
SELECT object_id, parameter_id, user_type_id FROM sys.parameters WHERE user_type_id > 256
GO
-- needs: facts
CREATE VIEW sys.extended_procedures AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date,
    o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published, CONVERT(nvarchar(260), NULL) AS dll_name
FROM sys.objects AS o WHERE o.type = 'X'
GO
-- needs: visible
CREATE VIEW sys.events AS
SELECT t.object_id, t.type, t.type_desc, t.is_trigger_event, t.event_group_type, t.event_group_type_desc
FROM sys.trigger_events AS t
GO
-- needs: visible
CREATE VIEW sys.server_events AS
SELECT t.object_id, t.type, t.type_desc, t.is_trigger_event, t.event_group_type, t.event_group_type_desc
FROM sys.trigger_events AS t WHERE 1 = 0
GO
-- The events that a trigger here can be for.
-- needs: facts
CREATE VIEW sys.trigger_event_types AS
SELECT CONVERT(int, e.type) AS type, CONVERT(nvarchar(64), e.type_name) AS type_name, CONVERT(int, NULL) AS parent_type
FROM (VALUES (1, N'INSERT'), (2, N'UPDATE'), (3, N'DELETE')) AS e (type, type_name)
GO
-- needs: facts
CREATE VIEW sys.securable_classes AS
SELECT CONVERT(nvarchar(60), c.class_desc) AS class_desc, CONVERT(tinyint, c.class) AS class
FROM (VALUES (N'DATABASE', 0), (N'OBJECT', 1), (N'SCHEMA', 3), (N'USER', 4), (N'TYPE', 6), (N'SERVER', 100), (N'LOGIN', 101)) AS c (class_desc, class)
GO
-- needs: visible
CREATE VIEW sys.sysconstraints AS
SELECT o.object_id AS constid, o.parent_object_id AS id, CONVERT(smallint, 0) AS colid, CONVERT(tinyint, 0) AS spare1,
    CONVERT(int, CASE o.type WHEN 'PK' THEN 1 WHEN 'UQ' THEN 2 WHEN 'F' THEN 3 WHEN 'C' THEN 4 ELSE 5 END
        + CASE o.type WHEN 'D' THEN 16 ELSE 32 END) AS status,
    CONVERT(int, 4096) AS actions, CONVERT(int, 0) AS error
FROM sys.objects AS o WHERE o.type IN ('C', 'D', 'F', 'PK', 'UQ')
GO
-- needs: visible
CREATE VIEW sys.sysservers AS
SELECT CONVERT(smallint, s.server_id) AS srvid, CONVERT(smallint, 1089) AS srvstatus, s.name AS srvname,
    CONVERT(nvarchar(128), s.product) AS srvproduct, CONVERT(nvarchar(128), s.provider) AS providername,
    s.data_source AS datasource, s.location, s.provider_string AS providerstring, s.modify_date AS schemadate,
    CONVERT(int, 0) AS topologyx, CONVERT(int, 0) AS topologyy, s.catalog, CONVERT(nvarchar(128), NULL) AS srvcollation,
    s.connect_timeout AS connecttimeout, s.query_timeout AS querytimeout, CONVERT(char(30), s.name) AS srvnetname,
    CONVERT(bit, 1) AS isremote, CONVERT(bit, 1) AS rpc, CONVERT(bit, 0) AS pub, CONVERT(bit, 0) AS sub,
    CONVERT(bit, 0) AS dist, CONVERT(bit, 0) AS dpub, CONVERT(bit, 1) AS rpcout, CONVERT(bit, 0) AS dataaccess,
    CONVERT(bit, 0) AS collationcompatible, CONVERT(bit, 0) AS system, CONVERT(bit, 1) AS useremotecollation,
    CONVERT(bit, 0) AS lazyschemavalidation, CONVERT(bit, 0) AS collation, CONVERT(bit, 0) AS nonsqlsub
FROM sys.servers AS s
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_tran_current_transaction AS
SELECT t.transaction_id, CONVERT(bigint, 0) AS transaction_sequence_num, CONVERT(bit, 0) AS transaction_is_snapshot,
    CONVERT(bigint, NULL) AS first_snapshot_sequence_num, CONVERT(bigint, NULL) AS last_transaction_sequence_num,
    CONVERT(bigint, NULL) AS first_useful_sequence_num
FROM sys.dm_tran_session_transactions AS t WHERE t.session_id = @@SPID
GO
-- There is one group of sessions, and no governor.
-- needs: visible
CREATE VIEW sys.resource_governor_configuration AS
SELECT CONVERT(int, 0) AS classifier_function_id, CONVERT(bit, 0) AS is_enabled, CONVERT(int, 0) AS max_outstanding_io_per_volume
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_resource_governor_configuration AS
SELECT CONVERT(int, 0) AS classifier_function_id, CONVERT(bit, 0) AS is_reconfiguration_pending, CONVERT(int, 0) AS max_outstanding_io_per_volume
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_server_diagnostics_log_configurations AS
SELECT CONVERT(bit, 0) AS is_enabled, CONVERT(nvarchar(260), NULL) AS path, CONVERT(int, NULL) AS max_size, CONVERT(int, NULL) AS max_files
GO
-- needs: visible
CREATE VIEW sys.xml_schema_collections AS
SELECT CONVERT(int, 1) AS xml_collection_id, CONVERT(int, 4) AS schema_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(sysname, 'sys') AS name, CONVERT(datetime, '2009-04-13T12:59:13.390') AS create_date,
    CONVERT(datetime, '2009-04-13T12:59:13.390') AS modify_date
GO
-- needs: visible
CREATE VIEW sys.system_internals_allocation_units AS
SELECT a.allocation_unit_id, a.type, a.type_desc, a.container_id, CONVERT(smallint, a.data_space_id) AS filegroup_id,
    a.total_pages, a.used_pages, a.data_pages, b.pgfirst AS first_page, b.pgroot AS root_page, b.pgfirstiam AS first_iam_page
FROM sys.allocation_units AS a JOIN sys.sysallocunits AS b ON b.auid = a.allocation_unit_id
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_cache_counters AS
SELECT c.memory_clerk_address AS cache_address, c.name, c.type, c.pages_kb, CONVERT(bigint, 0) AS pages_in_use_kb,
    CONVERT(bigint, NULL) AS entries_count, CONVERT(bigint, NULL) AS entries_in_use_count
FROM sys.dm_os_memory_clerks AS c WHERE c.type LIKE 'CACHESTORE%'
