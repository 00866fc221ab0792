-- What sessions take of the server, as its groups and pools.
-- Pages of tempdb are not counted by session: NULL. What operators spill lies beside tempdb, and takes none of its pages.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_session_space_usage AS
SELECT s.session_id, CONVERT(smallint, 2) AS database_id, CONVERT(bigint, NULL) AS user_objects_alloc_page_count,
    CONVERT(bigint, NULL) AS user_objects_dealloc_page_count, CONVERT(bigint, 0) AS internal_objects_alloc_page_count,
    CONVERT(bigint, 0) AS internal_objects_dealloc_page_count, CONVERT(bigint, NULL) AS user_objects_deferred_dealloc_page_count
FROM sys.dm_exec_sessions AS s
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_task_space_usage AS
SELECT t.task_address, CONVERT(bit, 0) AS is_remote_task, t.session_id, t.request_id, t.exec_context_id,
    CONVERT(int, 2) AS database_id, CONVERT(bigint, NULL) AS user_objects_alloc_page_count,
    CONVERT(bigint, NULL) AS user_objects_dealloc_page_count, CONVERT(bigint, 0) AS internal_objects_alloc_page_count,
    CONVERT(bigint, 0) AS internal_objects_dealloc_page_count
FROM sys.dm_os_tasks AS t
GO
-- Everything is done in the default pool; NULL where nothing is measured.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_resource_governor_resource_pools AS
SELECT p.pool_id, p.name, i.sqlserver_start_time AS statistics_start_time,
    p.here * (i.process_kernel_time_ms + i.process_user_time_ms) AS total_cpu_usage_ms, p.here * m.cache_kb AS cache_memory_kb,
    CONVERT(bigint, NULL) AS compile_memory_kb, p.here * m.workspace_kb AS used_memgrant_kb,
    CONVERT(bigint, 0) AS total_memgrant_count, CONVERT(bigint, 0) AS total_memgrant_timeout_count,
    CONVERT(int, 0) AS active_memgrant_count, CONVERT(bigint, 0) AS active_memgrant_kb, CONVERT(int, 0) AS memgrant_waiter_count,
    CONVERT(bigint, i.committed_target_kb) AS max_memory_kb, p.here * m.all_kb AS used_memory_kb,
    CONVERT(bigint, i.committed_target_kb) AS target_memory_kb, CONVERT(bigint, NULL) AS out_of_memory_count,
    p.min_cpu_percent, p.max_cpu_percent, p.min_memory_percent, p.max_memory_percent, p.cap_cpu_percent,
    CONVERT(int, NULL) AS min_iops_per_volume, CONVERT(int, NULL) AS max_iops_per_volume, CONVERT(int, NULL) AS read_io_queued_total,
    CONVERT(int, NULL) AS read_io_issued_total, CONVERT(int, p.here * f.reads) AS read_io_completed_total,
    CONVERT(int, NULL) AS read_io_throttled_total, p.here * f.bytes_read AS read_bytes_total,
    p.here * f.read_ms AS read_io_stall_total_ms, CONVERT(bigint, NULL) AS read_io_stall_queued_ms,
    CONVERT(int, NULL) AS write_io_queued_total, CONVERT(int, NULL) AS write_io_issued_total,
    CONVERT(int, p.here * f.writes) AS write_io_completed_total, CONVERT(int, NULL) AS write_io_throttled_total,
    p.here * f.bytes_written AS write_bytes_total, p.here * f.write_ms AS write_io_stall_total_ms,
    CONVERT(bigint, NULL) AS write_io_stall_queued_ms, CONVERT(int, NULL) AS io_issue_violations_total,
    CONVERT(bigint, NULL) AS io_issue_delay_total_ms, CONVERT(bigint, NULL) AS io_issue_ahead_total_ms,
    CONVERT(int, NULL) AS reserved_io_limited_by_volume_total, CONVERT(bigint, NULL) AS io_issue_delay_non_throttled_total_ms,
    CONVERT(bigint, NULL) AS total_cpu_delayed_ms, CONVERT(bigint, NULL) AS total_cpu_active_ms,
    CONVERT(bigint, NULL) AS total_cpu_violation_delay_ms, CONVERT(bigint, NULL) AS total_cpu_violation_sec,
    CONVERT(bigint, NULL) AS total_cpu_usage_preemptive_ms
FROM (SELECT r.pool_id, r.name, r.min_cpu_percent, r.max_cpu_percent, r.min_memory_percent, r.max_memory_percent, r.cap_cpu_percent,
        CONVERT(bigint, CASE r.pool_id WHEN 2 THEN 1 ELSE 0 END) AS here FROM sys.resource_governor_resource_pools AS r) AS p
    CROSS JOIN sys.dm_os_sys_info AS i
    CROSS JOIN (SELECT SUM(c.pages_kb) AS all_kb, SUM(CASE WHEN c.type LIKE 'CACHESTORE%' THEN c.pages_kb ELSE 0 END) AS cache_kb,
        SUM(CASE c.type WHEN 'MEMORYCLERK_SQLQERESERVATIONS' THEN c.pages_kb ELSE 0 END) AS workspace_kb
        FROM sys.dm_os_memory_clerks AS c) AS m
    CROSS JOIN (SELECT SUM(v.num_of_reads) AS reads, SUM(v.num_of_bytes_read) AS bytes_read, SUM(v.io_stall_read_ms) AS read_ms,
        SUM(v.num_of_writes) AS writes, SUM(v.num_of_bytes_written) AS bytes_written, SUM(v.io_stall_write_ms) AS write_ms
        FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v) AS f
GO
-- Counts are those of sys.dm_os_performance_counters: requests that are batches, compilations, waits for locks.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_resource_governor_workload_groups AS
SELECT g.group_id, g.name, g.pool_id, g.external_pool_id, i.sqlserver_start_time AS statistics_start_time,
    g.here * c.requests AS total_request_count, CONVERT(bigint, 0) AS total_queued_request_count,
    CONVERT(int, CASE g.group_id WHEN 1 THEN r.own WHEN 2 THEN r.requests ELSE 0 END) AS active_request_count, CONVERT(int, 0) AS queued_request_count,
    CONVERT(bigint, 0) AS total_cpu_limit_violation_count,
    g.here * (i.process_kernel_time_ms + i.process_user_time_ms) AS total_cpu_usage_ms,
    CONVERT(bigint, NULL) AS max_request_cpu_time_ms, CONVERT(int, g.here * r.blocked) AS blocked_task_count,
    g.here * c.lock_waits AS total_lock_wait_count, g.here * c.lock_wait_ms AS total_lock_wait_time_ms,
    g.here * c.compilations AS total_query_optimization_count, CONVERT(bigint, 0) AS total_suboptimal_plan_generation_count,
    CONVERT(bigint, 0) AS total_reduced_memgrant_count, CONVERT(bigint, 0) AS max_request_grant_memory_kb,
    CONVERT(bigint, NULL) AS active_parallel_thread_count, g.importance, g.request_max_memory_grant_percent,
    g.request_max_cpu_time_sec, g.request_memory_grant_timeout_sec, g.group_max_requests, g.max_dop,
    CONVERT(int, CASE o.dop WHEN 0 THEN i.cpu_count ELSE o.dop END) AS effective_max_dop,
    CONVERT(bigint, NULL) AS total_cpu_usage_preemptive_ms, g.request_max_memory_grant_percent_numeric
FROM (SELECT w.group_id, w.name, w.pool_id, w.external_pool_id, w.importance, w.request_max_memory_grant_percent,
        w.request_max_cpu_time_sec, w.request_memory_grant_timeout_sec, w.group_max_requests, w.max_dop,
        w.request_max_memory_grant_percent_numeric, CONVERT(bigint, CASE w.group_id WHEN 2 THEN 1 ELSE 0 END) AS here
        FROM sys.resource_governor_workload_groups AS w) AS g
    CROSS JOIN sys.dm_os_sys_info AS i
    CROSS JOIN (SELECT SUM(CASE WHEN p.counter_name = 'Batch Requests/sec' THEN p.cntr_value ELSE 0 END) AS requests,
        SUM(CASE WHEN p.counter_name = 'SQL Compilations/sec' THEN p.cntr_value ELSE 0 END) AS compilations,
        SUM(CASE WHEN p.counter_name = 'Lock Waits/sec' AND p.instance_name = '_Total' THEN p.cntr_value ELSE 0 END) AS lock_waits,
        SUM(CASE WHEN p.counter_name = 'Lock Wait Time (ms)' AND p.instance_name = '_Total' THEN p.cntr_value ELSE 0 END) AS lock_wait_ms
        FROM sys.dm_os_performance_counters AS p) AS c
    CROSS JOIN (SELECT SUM(CASE q.group_id WHEN 2 THEN 1 ELSE 0 END) AS requests,
        SUM(CASE q.group_id WHEN 1 THEN 1 ELSE 0 END) AS own, SUM(CASE WHEN q.blocking_session_id <> 0 THEN 1 ELSE 0 END) AS blocked
        FROM sys.dm_exec_requests AS q) AS r
    CROSS JOIN (SELECT CONVERT(int, s.value_in_use) AS dop FROM sys.configurations AS s WHERE s.name = 'max degree of parallelism') AS o
GO
-- There is no query store: OFF, with what SQL Server 2022 would begin with (the policy belongs to capture mode CUSTOM).
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.database_query_store_options AS
SELECT CONVERT(smallint, 0) AS desired_state, CONVERT(nvarchar(60), N'OFF') AS desired_state_desc,
    CONVERT(smallint, 0) AS actual_state, CONVERT(nvarchar(60), N'OFF') AS actual_state_desc, CONVERT(int, 0) AS readonly_reason,
    CONVERT(bigint, 0) AS current_storage_size_mb, CONVERT(bigint, 900) AS flush_interval_seconds,
    CONVERT(bigint, 60) AS interval_length_minutes, CONVERT(bigint, 1000) AS max_storage_size_mb,
    CONVERT(bigint, 30) AS stale_query_threshold_days, CONVERT(bigint, 200) AS max_plans_per_query,
    CONVERT(smallint, 2) AS query_capture_mode, CONVERT(nvarchar(60), N'AUTO') AS query_capture_mode_desc,
    CONVERT(int, NULL) AS capture_policy_execution_count, CONVERT(bigint, NULL) AS capture_policy_total_compile_cpu_time_ms,
    CONVERT(bigint, NULL) AS capture_policy_total_execution_cpu_time_ms, CONVERT(int, NULL) AS capture_policy_stale_threshold_hours,
    CONVERT(smallint, 1) AS size_based_cleanup_mode, CONVERT(nvarchar(60), N'AUTO') AS size_based_cleanup_mode_desc,
    CONVERT(smallint, 1) AS wait_stats_capture_mode, CONVERT(nvarchar(60), N'ON') AS wait_stats_capture_mode_desc,
    CONVERT(nvarchar(4000), N'') AS actual_state_additional_info
GO
-- Plans are never forced by the server itself.
-- needs: visible
CREATE VIEW sys.database_automatic_tuning_options AS
SELECT CONVERT(nvarchar(128), N'FORCE_LAST_GOOD_PLAN') AS name, CONVERT(smallint, 0) AS desired_state,
    CONVERT(nvarchar(60), N'OFF') AS desired_state_desc, CONVERT(smallint, 0) AS actual_state,
    CONVERT(nvarchar(60), N'OFF') AS actual_state_desc, CONVERT(smallint, NULL) AS reason, CONVERT(nvarchar(60), NULL) AS reason_desc
GO
-- No hardware works for the server but processors.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_server_accelerator_status AS
SELECT CONVERT(nvarchar(60), NULL) AS accelerator, CONVERT(nvarchar(60), NULL) AS accelerator_desc,
    CONVERT(bit, NULL) AS config, CONVERT(bit, NULL) AS config_in_use, CONVERT(tinyint, NULL) AS mode,
    CONVERT(nvarchar(60), NULL) AS mode_desc, CONVERT(tinyint, NULL) AS mode_reason,
    CONVERT(nvarchar(60), NULL) AS mode_reason_desc, CONVERT(tinyint, NULL) AS accelerator_hardware_detected,
    CONVERT(nvarchar(60), NULL) AS accelerator_library_version, CONVERT(nvarchar(60), NULL) AS accelerator_driver_version
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_tran_top_version_generators AS
SELECT TOP (256) CONVERT(int, v.database_id) AS database_id, v.rowset_id,
    CONVERT(int, IIF(v.bytes > 2147483647, 2147483647, v.bytes)) AS aggregated_record_length_in_bytes
FROM (SELECT database_id, rowset_id,
        SUM(CONVERT(bigint, record_length_first_part_in_bytes) + record_length_second_part_in_bytes) AS bytes
    FROM sys.dm_tran_version_store GROUP BY database_id, rowset_id) AS v
ORDER BY v.bytes DESC
