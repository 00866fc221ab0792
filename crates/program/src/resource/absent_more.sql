-- Views of parts that are not there: SQLOS's own memory and dispatchers, tables in memory, audits, the registry. Nothing is
-- kept in a ring, no spinlock is timed, no cache has clock hands: they have SQL Server's columns and no rows.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_allocations AS
SELECT CONVERT(varbinary(8), NULL) AS memory_allocation_address, CONVERT(bigint, NULL) AS size_in_bytes,
    CONVERT(datetime, NULL) AS creation_time, CONVERT(varbinary(8), NULL) AS memory_object_address,
    CONVERT(smallint, NULL) AS memory_node_id, CONVERT(varbinary(8), NULL) AS allocator_stack_address,
    CONVERT(varchar(256), NULL) AS source_file, CONVERT(int, NULL) AS line_num, CONVERT(int, NULL) AS sequence_num,
    CONVERT(int, NULL) AS tag
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_stacks AS
SELECT CONVERT(varbinary(8), NULL) AS stack_address, CONVERT(int, NULL) AS frame_index,
    CONVERT(varbinary(8), NULL) AS frame_address
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_sublatches AS
SELECT CONVERT(varbinary(8), NULL) AS superlatch_address, CONVERT(varbinary(8), NULL) AS sublatch_address,
    CONVERT(int, NULL) AS partition_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_virtual_address_dump AS
SELECT CONVERT(varbinary(8), NULL) AS region_base_address,
    CONVERT(varbinary(8), NULL) AS region_allocation_base_address,
    CONVERT(varbinary(8), NULL) AS region_allocation_protection, CONVERT(bigint, NULL) AS region_size_in_bytes,
    CONVERT(varbinary(8), NULL) AS region_state, CONVERT(varbinary(8), NULL) AS region_current_protection,
    CONVERT(varbinary(8), NULL) AS region_type
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_spinlock_stats AS
SELECT CONVERT(nvarchar(256), NULL) AS name, CONVERT(bigint, NULL) AS collisions, CONVERT(bigint, NULL) AS spins,
    CONVERT(real, NULL) AS spins_per_collision, CONVERT(bigint, NULL) AS sleep_time, CONVERT(int, NULL) AS backoffs
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_dispatchers AS
SELECT CONVERT(varbinary(8), NULL) AS dispatcher_pool_address, CONVERT(varbinary(8), NULL) AS task_address,
    CONVERT(nvarchar(60), NULL) AS state, CONVERT(bigint, NULL) AS wait_duration,
    CONVERT(bigint, NULL) AS current_item_duration, CONVERT(bigint, NULL) AS items_processed,
    CONVERT(int, NULL) AS fade_end_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_dispatcher_pools AS
SELECT CONVERT(varbinary(8), NULL) AS dispatcher_pool_address, CONVERT(nvarchar(256), NULL) AS type,
    CONVERT(nvarchar(256), NULL) AS name, CONVERT(int, NULL) AS dispatcher_count,
    CONVERT(int, NULL) AS dispatcher_ideal_count, CONVERT(int, NULL) AS dispatcher_timeout_ms,
    CONVERT(int, NULL) AS dispatcher_waiting_count, CONVERT(int, NULL) AS queue_length
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_hosts AS
SELECT CONVERT(varbinary(8), NULL) AS host_address, CONVERT(nvarchar(60), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS name, CONVERT(int, NULL) AS enqueued_tasks_count,
    CONVERT(int, NULL) AS active_tasks_count, CONVERT(int, NULL) AS completed_ios_count,
    CONVERT(bigint, NULL) AS completed_ios_in_bytes, CONVERT(int, NULL) AS active_ios_count,
    CONVERT(varbinary(8), NULL) AS default_memory_clerk_address
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_pools AS
SELECT CONVERT(varbinary(8), NULL) AS memory_pool_address, CONVERT(int, NULL) AS pool_id,
    CONVERT(nvarchar(60), NULL) AS type, CONVERT(nvarchar(256), NULL) AS name,
    CONVERT(bigint, NULL) AS max_free_entries_count, CONVERT(bigint, NULL) AS free_entries_count,
    CONVERT(bigint, NULL) AS removed_in_all_rounds_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_cache_clock_hands AS
SELECT CONVERT(varbinary(8), NULL) AS cache_address, CONVERT(nvarchar(256), NULL) AS name,
    CONVERT(nvarchar(60), NULL) AS type, CONVERT(nvarchar(60), NULL) AS clock_hand,
    CONVERT(nvarchar(60), NULL) AS clock_status, CONVERT(bigint, NULL) AS rounds_count,
    CONVERT(bigint, NULL) AS removed_all_rounds_count, CONVERT(bigint, NULL) AS updated_last_round_count,
    CONVERT(bigint, NULL) AS removed_last_round_count, CONVERT(bigint, NULL) AS last_tick_time,
    CONVERT(bigint, NULL) AS round_start_time, CONVERT(bigint, NULL) AS last_round_start_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_cache_hash_tables AS
SELECT CONVERT(varbinary(8), NULL) AS cache_address, CONVERT(nvarchar(256), NULL) AS name,
    CONVERT(nvarchar(60), NULL) AS type, CONVERT(int, NULL) AS table_level, CONVERT(int, NULL) AS buckets_count,
    CONVERT(int, NULL) AS buckets_in_use_count, CONVERT(int, NULL) AS buckets_min_length,
    CONVERT(int, NULL) AS buckets_max_length, CONVERT(int, NULL) AS buckets_avg_length,
    CONVERT(int, NULL) AS buckets_max_length_ever, CONVERT(bigint, NULL) AS hits_count,
    CONVERT(bigint, NULL) AS misses_count, CONVERT(int, NULL) AS buckets_avg_scan_hit_length,
    CONVERT(int, NULL) AS buckets_avg_scan_miss_length
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_cache_entries AS
SELECT CONVERT(varbinary(8), NULL) AS cache_address, CONVERT(nvarchar(256), NULL) AS name,
    CONVERT(nvarchar(60), NULL) AS type, CONVERT(varbinary(8), NULL) AS entry_address,
    CONVERT(varbinary(8), NULL) AS entry_data_address, CONVERT(int, NULL) AS in_use_count,
    CONVERT(bit, NULL) AS is_dirty, CONVERT(int, NULL) AS disk_ios_count, CONVERT(int, NULL) AS context_switches_count,
    CONVERT(int, NULL) AS original_cost, CONVERT(int, NULL) AS current_cost,
    CONVERT(varbinary(8), NULL) AS memory_object_address, CONVERT(bigint, NULL) AS pages_kb,
    CONVERT(nvarchar(3072), NULL) AS entry_data, CONVERT(int, NULL) AS pool_id,
    CONVERT(float, NULL) AS time_to_generate, CONVERT(bigint, NULL) AS use_count,
    CONVERT(float, NULL) AS average_time_between_uses, CONVERT(float, NULL) AS time_since_last_use,
    CONVERT(float, NULL) AS probability_of_reuse, CONVERT(float, NULL) AS value
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_node_access_stats AS
SELECT CONVERT(int, NULL) AS local_node, CONVERT(int, NULL) AS remote_node, CONVERT(nvarchar(60), NULL) AS page_class,
    CONVERT(bigint, NULL) AS read_count, CONVERT(bigint, NULL) AS write_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_exec_query_transformation_stats AS
SELECT CONVERT(varchar(8000), NULL) AS name, CONVERT(bigint, NULL) AS promise_total,
    CONVERT(float, NULL) AS promise_avg, CONVERT(bigint, NULL) AS promised, CONVERT(bigint, NULL) AS built_substitute,
    CONVERT(bigint, NULL) AS succeeded
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_logpool_stats AS
SELECT CONVERT(bigint, NULL) AS hash_hit_total_search_length, CONVERT(bigint, NULL) AS hash_miss_total_search_length,
    CONVERT(bigint, NULL) AS hash_hits, CONVERT(bigint, NULL) AS hash_misses, CONVERT(int, NULL) AS hash_bucket_count,
    CONVERT(bigint, NULL) AS mem_status_stamp, CONVERT(int, NULL) AS mem_status, CONVERT(int, NULL) AS logpoolmgr_count,
    CONVERT(bigint, NULL) AS total_pages, CONVERT(bigint, NULL) AS private_pages
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_logpool_hashentries AS
SELECT CONVERT(int, NULL) AS bucket_no, CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS recovery_unit_id,
    CONVERT(bigint, NULL) AS log_block_id, CONVERT(varbinary(8), NULL) AS cache_buffer
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.dm_audit_actions AS
SELECT CONVERT(varchar(4), NULL) AS action_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(35), NULL) AS class_desc, CONVERT(nvarchar(128), NULL) AS covering_action_name,
    CONVERT(nvarchar(35), NULL) AS parent_class_desc, CONVERT(nvarchar(128), NULL) AS covering_parent_action_name,
    CONVERT(nvarchar(128), NULL) AS configuration_level, CONVERT(nvarchar(128), NULL) AS containing_group_name,
    CONVERT(bit, NULL) AS action_in_log
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.dm_audit_class_type_map AS
SELECT CONVERT(varchar(2), NULL) AS class_type, CONVERT(nvarchar(35), NULL) AS class_type_desc,
    CONVERT(nvarchar(35), NULL) AS securable_class_desc
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.event_notification_event_types AS
SELECT CONVERT(int, NULL) AS type, CONVERT(nvarchar(64), NULL) AS type_name, CONVERT(int, NULL) AS parent_type
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.spatial_reference_systems AS
SELECT CONVERT(int, NULL) AS spatial_reference_id, CONVERT(nvarchar(128), NULL) AS authority_name,
    CONVERT(int, NULL) AS authorized_spatial_reference_id, CONVERT(nvarchar(4000), NULL) AS well_known_text,
    CONVERT(nvarchar(128), NULL) AS unit_of_measure, CONVERT(float, NULL) AS unit_conversion_factor
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.system_components_surface_area_configuration AS
SELECT CONVERT(nvarchar(128), NULL) AS component_name, CONVERT(sysname, NULL) AS database_name,
    CONVERT(nvarchar(128), NULL) AS schema_name, CONVERT(nvarchar(128), NULL) AS object_name,
    CONVERT(tinyint, NULL) AS state, CONVERT(char(2), NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.fulltext_system_stopwords AS
SELECT CONVERT(nvarchar(64), NULL) AS stopword, CONVERT(int, NULL) AS language_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_brokers AS
SELECT CONVERT(int, NULL) AS pool_id, CONVERT(nvarchar(60), NULL) AS memory_broker_type,
    CONVERT(bigint, NULL) AS allocations_kb, CONVERT(bigint, NULL) AS allocations_kb_per_sec,
    CONVERT(bigint, NULL) AS predicted_allocations_kb, CONVERT(bigint, NULL) AS target_allocations_kb,
    CONVERT(bigint, NULL) AS future_allocations_kb, CONVERT(bigint, NULL) AS overall_limit_kb,
    CONVERT(nvarchar(60), NULL) AS last_notification
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_memory_broker_clerks AS
SELECT CONVERT(nvarchar(256), NULL) AS clerk_name, CONVERT(bigint, NULL) AS total_kb,
    CONVERT(bigint, NULL) AS simulated_kb, CONVERT(float, NULL) AS simulation_benefit,
    CONVERT(float, NULL) AS internal_benefit, CONVERT(float, NULL) AS external_benefit,
    CONVERT(float, NULL) AS value_of_memory, CONVERT(bigint, NULL) AS periodic_freed_kb,
    CONVERT(bigint, NULL) AS internal_freed_kb
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_worker_local_storage AS
SELECT CONVERT(varbinary(8), NULL) AS worker_address, CONVERT(varbinary(8), NULL) AS comp_exec_ctxt_address,
    CONVERT(varbinary(8), NULL) AS ec_address, CONVERT(varbinary(8), NULL) AS broker_address,
    CONVERT(varbinary(8), NULL) AS task_proxy_address, CONVERT(varbinary(8), NULL) AS msqlxact_address,
    CONVERT(varbinary(8), NULL) AS sql_prof_address, CONVERT(varbinary(8), NULL) AS stack_checker_address,
    CONVERT(varbinary(8), NULL) AS host_task_address, CONVERT(varbinary(8), NULL) AS sni_error_address,
    CONVERT(varbinary(8), NULL) AS queryscan_address, CONVERT(varbinary(8), NULL) AS diag_address,
    CONVERT(varbinary(8), NULL) AS query_driver_address, CONVERT(varbinary(8), NULL) AS federatedxact_address,
    CONVERT(varbinary(8), NULL) AS filestream_address, CONVERT(varbinary(8), NULL) AS qe_cc_address
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_types AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id, CONVERT(bit, NULL) AS is_abstract,
    CONVERT(bit, NULL) AS allows_mixed_content, CONVERT(bit, NULL) AS is_extension_blocked,
    CONVERT(bit, NULL) AS is_restriction_blocked, CONVERT(bit, NULL) AS is_final_extension,
    CONVERT(bit, NULL) AS is_final_restriction, CONVERT(bit, NULL) AS is_final_list_member,
    CONVERT(bit, NULL) AS is_final_union_member
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_components AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_facets AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS facet_id, CONVERT(char(2), NULL) AS kind,
    CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(bit, NULL) AS is_fixed, CONVERT(nvarchar(4000), NULL) AS value
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.resource_governor_external_resource_pools AS
SELECT CONVERT(int, NULL) AS external_pool_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS max_cpu_percent,
    CONVERT(int, NULL) AS max_memory_percent, CONVERT(int, NULL) AS max_processes, CONVERT(bigint, NULL) AS version
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_gc_cycle_stats AS
SELECT CONVERT(bigint, NULL) AS cycle_id, CONVERT(bigint, NULL) AS ticks_at_cycle_start,
    CONVERT(bigint, NULL) AS ticks_at_cycle_end, CONVERT(bigint, NULL) AS base_generation,
    CONVERT(bigint, NULL) AS xacts_copied_to_local, CONVERT(bigint, NULL) AS xacts_in_gen_0,
    CONVERT(bigint, NULL) AS xacts_in_gen_1, CONVERT(bigint, NULL) AS xacts_in_gen_2,
    CONVERT(bigint, NULL) AS xacts_in_gen_3, CONVERT(bigint, NULL) AS xacts_in_gen_4,
    CONVERT(bigint, NULL) AS xacts_in_gen_5, CONVERT(bigint, NULL) AS xacts_in_gen_6,
    CONVERT(bigint, NULL) AS xacts_in_gen_7, CONVERT(bigint, NULL) AS xacts_in_gen_8,
    CONVERT(bigint, NULL) AS xacts_in_gen_9, CONVERT(bigint, NULL) AS xacts_in_gen_10,
    CONVERT(bigint, NULL) AS xacts_in_gen_11, CONVERT(bigint, NULL) AS xacts_in_gen_12,
    CONVERT(bigint, NULL) AS xacts_in_gen_13, CONVERT(bigint, NULL) AS xacts_in_gen_14,
    CONVERT(bigint, NULL) AS xacts_in_gen_15
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_hash_index_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(bigint, NULL) AS total_bucket_count, CONVERT(bigint, NULL) AS empty_bucket_count,
    CONVERT(bigint, NULL) AS avg_chain_length, CONVERT(bigint, NULL) AS max_chain_length
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_index_stats AS
SELECT CONVERT(bigint, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id, CONVERT(bigint, NULL) AS index_id,
    CONVERT(bigint, NULL) AS scans_started, CONVERT(bigint, NULL) AS scans_retries,
    CONVERT(bigint, NULL) AS rows_returned, CONVERT(bigint, NULL) AS rows_touched,
    CONVERT(bigint, NULL) AS rows_expiring, CONVERT(bigint, NULL) AS rows_expired,
    CONVERT(bigint, NULL) AS rows_expired_removed, CONVERT(bigint, NULL) AS phantom_scans_started,
    CONVERT(bigint, NULL) AS phantom_scans_retries, CONVERT(bigint, NULL) AS phantom_rows_touched,
    CONVERT(bigint, NULL) AS phantom_expiring_rows_encountered,
    CONVERT(bigint, NULL) AS phantom_expired_rows_encountered,
    CONVERT(bigint, NULL) AS phantom_expired_removed_rows_encountered,
    CONVERT(bigint, NULL) AS phantom_expired_rows_removed, CONVERT(varbinary(8), NULL) AS object_address
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_memory_consumers AS
SELECT CONVERT(bigint, NULL) AS memory_consumer_id, CONVERT(int, NULL) AS memory_consumer_type,
    CONVERT(nvarchar(16), NULL) AS memory_consumer_type_desc, CONVERT(nvarchar(64), NULL) AS memory_consumer_desc,
    CONVERT(bigint, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(bigint, NULL) AS allocated_bytes, CONVERT(bigint, NULL) AS used_bytes,
    CONVERT(int, NULL) AS allocation_count, CONVERT(int, NULL) AS partition_count,
    CONVERT(int, NULL) AS sizeclass_count, CONVERT(int, NULL) AS min_sizeclass, CONVERT(int, NULL) AS max_sizeclass,
    CONVERT(varbinary(8), NULL) AS memory_consumer_address
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_nonclustered_index_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(bigint, NULL) AS delta_pages, CONVERT(bigint, NULL) AS internal_pages, CONVERT(bigint, NULL) AS leaf_pages,
    CONVERT(bigint, NULL) AS outstanding_retired_nodes, CONVERT(bigint, NULL) AS page_update_count,
    CONVERT(bigint, NULL) AS page_update_retry_count, CONVERT(bigint, NULL) AS page_consolidation_count,
    CONVERT(bigint, NULL) AS page_consolidation_retry_count, CONVERT(bigint, NULL) AS page_split_count,
    CONVERT(bigint, NULL) AS page_split_retry_count, CONVERT(bigint, NULL) AS key_split_count,
    CONVERT(bigint, NULL) AS key_split_retry_count, CONVERT(bigint, NULL) AS page_merge_count,
    CONVERT(bigint, NULL) AS page_merge_retry_count, CONVERT(bigint, NULL) AS key_merge_count,
    CONVERT(bigint, NULL) AS key_merge_retry_count, CONVERT(bit, NULL) AS uses_key_normalization
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_object_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id,
    CONVERT(bigint, NULL) AS row_insert_attempts, CONVERT(bigint, NULL) AS row_update_attempts,
    CONVERT(bigint, NULL) AS row_delete_attempts, CONVERT(bigint, NULL) AS write_conflicts,
    CONVERT(bigint, NULL) AS unique_constraint_violations, CONVERT(varbinary(8), NULL) AS object_address
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_transactions AS
SELECT CONVERT(bigint, NULL) AS xtp_transaction_id, CONVERT(bigint, NULL) AS transaction_id,
    CONVERT(smallint, NULL) AS session_id, CONVERT(bigint, NULL) AS begin_tsn, CONVERT(bigint, NULL) AS end_tsn,
    CONVERT(int, NULL) AS state, CONVERT(nvarchar(16), NULL) AS state_desc, CONVERT(int, NULL) AS result,
    CONVERT(nvarchar(24), NULL) AS result_desc, CONVERT(bigint, NULL) AS xtp_parent_transaction_node_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_xtp_gc_queue_stats AS
SELECT CONVERT(int, NULL) AS queue_id, CONVERT(bigint, NULL) AS total_enqueues, CONVERT(bigint, NULL) AS total_dequeues,
    CONVERT(bigint, NULL) AS current_queue_depth, CONVERT(bigint, NULL) AS maximum_queue_depth,
    CONVERT(bigint, NULL) AS last_service_ticks
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_xtp_gc_stats AS
SELECT CONVERT(bigint, NULL) AS rows_examined, CONVERT(bigint, NULL) AS rows_no_sweep_needed,
    CONVERT(bigint, NULL) AS rows_first_in_bucket, CONVERT(bigint, NULL) AS rows_first_in_bucket_removed,
    CONVERT(bigint, NULL) AS rows_marked_for_unlink, CONVERT(bigint, NULL) AS parallel_assist_count,
    CONVERT(bigint, NULL) AS idle_worker_count, CONVERT(bigint, NULL) AS sweep_hops_count,
    CONVERT(bigint, NULL) AS sweep_rows_touched
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_xtp_system_memory_consumers AS
SELECT CONVERT(bigint, NULL) AS memory_consumer_id, CONVERT(int, NULL) AS memory_consumer_type,
    CONVERT(nvarchar(16), NULL) AS memory_consumer_type_desc, CONVERT(nvarchar(64), NULL) AS memory_consumer_desc,
    CONVERT(bigint, NULL) AS lookaside_id, CONVERT(bigint, NULL) AS allocated_bytes,
    CONVERT(bigint, NULL) AS used_bytes, CONVERT(int, NULL) AS allocation_count, CONVERT(int, NULL) AS partition_count,
    CONVERT(int, NULL) AS sizeclass_count, CONVERT(int, NULL) AS min_sizeclass, CONVERT(int, NULL) AS max_sizeclass,
    CONVERT(varbinary(8), NULL) AS memory_consumer_address
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_xtp_transaction_stats AS
SELECT CONVERT(bigint, NULL) AS total_count, CONVERT(bigint, NULL) AS read_only_count,
    CONVERT(bigint, NULL) AS total_aborts, CONVERT(bigint, NULL) AS system_aborts,
    CONVERT(bigint, NULL) AS validation_failures, CONVERT(bigint, NULL) AS dependencies_taken,
    CONVERT(bigint, NULL) AS dependencies_failed, CONVERT(bigint, NULL) AS savepoint_create,
    CONVERT(bigint, NULL) AS savepoint_rollbacks, CONVERT(bigint, NULL) AS savepoint_refreshes,
    CONVERT(bigint, NULL) AS log_bytes_written, CONVERT(bigint, NULL) AS log_IO_count,
    CONVERT(bigint, NULL) AS phantom_scans_started, CONVERT(bigint, NULL) AS phantom_scans_retries,
    CONVERT(bigint, NULL) AS phantom_rows_touched, CONVERT(bigint, NULL) AS phantom_rows_expiring,
    CONVERT(bigint, NULL) AS phantom_rows_expired, CONVERT(bigint, NULL) AS phantom_rows_expired_removed,
    CONVERT(bigint, NULL) AS scans_started, CONVERT(bigint, NULL) AS scans_retried,
    CONVERT(bigint, NULL) AS rows_returned, CONVERT(bigint, NULL) AS rows_touched,
    CONVERT(bigint, NULL) AS rows_expiring, CONVERT(bigint, NULL) AS rows_expired,
    CONVERT(bigint, NULL) AS rows_expired_removed, CONVERT(bigint, NULL) AS rows_inserted,
    CONVERT(bigint, NULL) AS rows_updated, CONVERT(bigint, NULL) AS rows_deleted,
    CONVERT(bigint, NULL) AS write_conflicts
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_column_store_object_pool AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(int, NULL) AS partition_number, CONVERT(int, NULL) AS column_id, CONVERT(int, NULL) AS row_group_id,
    CONVERT(smallint, NULL) AS object_type, CONVERT(nvarchar(60), NULL) AS object_type_desc,
    CONVERT(int, NULL) AS access_count, CONVERT(bigint, NULL) AS memory_used_in_bytes,
    CONVERT(datetime, NULL) AS object_load_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_external_script_requests AS
SELECT CONVERT(uniqueidentifier, NULL) AS external_script_request_id, CONVERT(nvarchar(128), NULL) AS language,
    CONVERT(int, NULL) AS degree_of_parallelism, CONVERT(nvarchar(128), NULL) AS external_user_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_external_script_execution_stats AS
SELECT CONVERT(nvarchar(128), NULL) AS language, CONVERT(nvarchar(128), NULL) AS counter_name,
    CONVERT(bigint, NULL) AS counter_value
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_automatic_seeding AS
SELECT CONVERT(datetime, NULL) AS start_time, CONVERT(datetime, NULL) AS completion_time,
    CONVERT(uniqueidentifier, NULL) AS ag_id, CONVERT(uniqueidentifier, NULL) AS ag_db_id,
    CONVERT(uniqueidentifier, NULL) AS ag_remote_replica_id, CONVERT(uniqueidentifier, NULL) AS operation_id,
    CONVERT(bit, NULL) AS is_source, CONVERT(nvarchar(60), NULL) AS current_state,
    CONVERT(bit, NULL) AS performed_seeding, CONVERT(int, NULL) AS failure_state,
    CONVERT(nvarchar(60), NULL) AS failure_state_desc, CONVERT(int, NULL) AS error_code,
    CONVERT(int, NULL) AS number_of_attempts
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_ag_threads AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(nvarchar(128), NULL) AS ag_name,
    CONVERT(int, NULL) AS num_databases, CONVERT(int, NULL) AS num_capture_threads,
    CONVERT(int, NULL) AS num_redo_threads, CONVERT(int, NULL) AS num_parallel_redo_threads
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_db_threads AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(nvarchar(128), NULL) AS ag_name,
    CONVERT(uniqueidentifier, NULL) AS ag_db_id, CONVERT(nvarchar(128), NULL) AS name,
    CONVERT(int, NULL) AS num_capture_threads, CONVERT(int, NULL) AS num_redo_threads,
    CONVERT(int, NULL) AS num_parallel_redo_threads, CONVERT(int, NULL) AS num_hadr_threads
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_tran_persistent_version_store_stats AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(smallint, NULL) AS pvs_filegroup_id,
    CONVERT(bigint, NULL) AS persistent_version_store_size_kb,
    CONVERT(bigint, NULL) AS online_index_version_store_size_kb,
    CONVERT(bigint, NULL) AS current_aborted_transaction_count, CONVERT(bigint, NULL) AS oldest_active_transaction_id,
    CONVERT(bigint, NULL) AS oldest_aborted_transaction_id, CONVERT(bigint, NULL) AS min_transaction_timestamp,
    CONVERT(bigint, NULL) AS online_index_min_transaction_timestamp, CONVERT(bigint, NULL) AS secondary_low_water_mark,
    CONVERT(datetime2(7), NULL) AS offrow_version_cleaner_start_time,
    CONVERT(datetime2(7), NULL) AS offrow_version_cleaner_end_time,
    CONVERT(datetime2(7), NULL) AS aborted_version_cleaner_start_time,
    CONVERT(datetime2(7), NULL) AS aborted_version_cleaner_end_time,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_low_water_mark,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_transaction_not_cleaned,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_oldest_active_xdesid,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_min_useful_xts,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_oldest_snapshot,
    CONVERT(bigint, NULL) AS pvs_off_row_page_skipped_oldest_aborted_xdesid
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_column_encryption_enclave AS
SELECT CONVERT(bigint, NULL) AS current_memory_size_kb, CONVERT(bigint, NULL) AS peak_memory_size_kb
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_tuning_recommendations AS
SELECT CONVERT(nvarchar(4000), NULL) AS name, CONVERT(nvarchar(4000), NULL) AS type,
    CONVERT(nvarchar(4000), NULL) AS reason, CONVERT(datetime2(7), NULL) AS valid_since,
    CONVERT(datetime2(7), NULL) AS last_refresh, CONVERT(nvarchar(4000), NULL) AS state,
    CONVERT(bit, NULL) AS is_executable_action, CONVERT(bit, NULL) AS is_revertable_action,
    CONVERT(datetime2(7), NULL) AS execute_action_start_time, CONVERT(time(7), NULL) AS execute_action_duration,
    CONVERT(nvarchar(4000), NULL) AS execute_action_initiated_by,
    CONVERT(datetime2(7), NULL) AS execute_action_initiated_time,
    CONVERT(datetime2(7), NULL) AS revert_action_start_time, CONVERT(time(7), NULL) AS revert_action_duration,
    CONVERT(nvarchar(4000), NULL) AS revert_action_initiated_by,
    CONVERT(datetime2(7), NULL) AS revert_action_initiated_time, CONVERT(int, NULL) AS score,
    CONVERT(nvarchar(max), NULL) AS details
WHERE 1 = 0
