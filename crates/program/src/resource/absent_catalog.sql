-- More catalog views of what is not there: endpoints of other services, Query Store, ledger, typed XML, spatial indexes, replicas.
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.DOMAIN_CONSTRAINTS AS
SELECT CONVERT(nvarchar(128), NULL) AS CONSTRAINT_CATALOG, CONVERT(nvarchar(128), NULL) AS CONSTRAINT_SCHEMA,
    CONVERT(nvarchar(128), NULL) AS CONSTRAINT_NAME, CONVERT(nvarchar(128), NULL) AS DOMAIN_CATALOG,
    CONVERT(nvarchar(128), NULL) AS DOMAIN_SCHEMA, CONVERT(nvarchar(128), NULL) AS DOMAIN_NAME,
    CONVERT(varchar(2), NULL) AS IS_DEFERRABLE, CONVERT(varchar(2), NULL) AS INITIALLY_DEFERRED
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_replicas AS
SELECT CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(uniqueidentifier, NULL) AS group_id,
    CONVERT(int, NULL) AS replica_metadata_id, CONVERT(nvarchar(256), NULL) AS replica_server_name,
    CONVERT(varbinary(85), NULL) AS owner_sid, CONVERT(nvarchar(256), NULL) AS endpoint_url,
    CONVERT(tinyint, NULL) AS availability_mode, CONVERT(nvarchar(60), NULL) AS availability_mode_desc,
    CONVERT(tinyint, NULL) AS failover_mode, CONVERT(nvarchar(60), NULL) AS failover_mode_desc,
    CONVERT(int, NULL) AS session_timeout, CONVERT(tinyint, NULL) AS primary_role_allow_connections,
    CONVERT(nvarchar(60), NULL) AS primary_role_allow_connections_desc,
    CONVERT(tinyint, NULL) AS secondary_role_allow_connections,
    CONVERT(nvarchar(60), NULL) AS secondary_role_allow_connections_desc, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(int, NULL) AS backup_priority,
    CONVERT(nvarchar(256), NULL) AS read_only_routing_url, CONVERT(nvarchar(256), NULL) AS read_write_routing_url,
    CONVERT(tinyint, NULL) AS seeding_mode, CONVERT(nvarchar(60), NULL) AS seeding_mode_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_xml_schema_collection_usages AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS column_id, CONVERT(int, NULL) AS xml_collection_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_automatic_tuning_configurations AS
SELECT CONVERT(nvarchar(60), NULL) AS [option], CONVERT(nvarchar(60), NULL) AS option_value,
    CONVERT(nvarchar(60), NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_value,
    CONVERT(nvarchar(4000), NULL) AS details, CONVERT(bit, NULL) AS state
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_credentials AS
SELECT CONVERT(int, NULL) AS credential_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(4000), NULL) AS credential_identity, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(nvarchar(100), NULL) AS target_type, CONVERT(int, NULL) AS target_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_filestream_options AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(tinyint, NULL) AS non_transacted_access,
    CONVERT(nvarchar(60), NULL) AS non_transacted_access_desc, CONVERT(nvarchar(256), NULL) AS directory_name
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_ledger_blocks AS
SELECT CONVERT(bigint, NULL) AS block_id, CONVERT(binary(32), NULL) AS transactions_root_hash,
    CONVERT(bigint, NULL) AS block_size, CONVERT(binary(32), NULL) AS previous_block_hash
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_ledger_digest_locations AS
SELECT CONVERT(nvarchar(4000), NULL) AS path, CONVERT(bigint, NULL) AS last_digest_block_id,
    CONVERT(bit, NULL) AS is_current
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_ledger_transactions AS
SELECT CONVERT(bigint, NULL) AS transaction_id, CONVERT(bigint, NULL) AS block_id,
    CONVERT(int, NULL) AS transactional_ordinal, CONVERT(datetime2(7), NULL) AS commit_time,
    CONVERT(sysname, NULL) AS principal_name, CONVERT(varbinary(max), NULL) AS table_hashes
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_mirroring_endpoints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS endpoint_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(tinyint, NULL) AS protocol, CONVERT(nvarchar(60), NULL) AS protocol_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bit, NULL) AS is_admin_endpoint, CONVERT(tinyint, NULL) AS role,
    CONVERT(nvarchar(60), NULL) AS role_desc, CONVERT(bit, NULL) AS is_encryption_enabled,
    CONVERT(tinyint, NULL) AS connection_auth, CONVERT(nvarchar(60), NULL) AS connection_auth_desc,
    CONVERT(int, NULL) AS certificate_id, CONVERT(tinyint, NULL) AS encryption_algorithm,
    CONVERT(nvarchar(60), NULL) AS encryption_algorithm_desc
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.database_query_store_internal_state AS
SELECT CONVERT(bigint, NULL) AS pending_message_count, CONVERT(bigint, NULL) AS messaging_memory_used_mb
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.endpoint_webmethods AS
SELECT CONVERT(int, NULL) AS endpoint_id, CONVERT(nvarchar(384), NULL) AS namespace,
    CONVERT(nvarchar(64), NULL) AS method_alias, CONVERT(nvarchar(776), NULL) AS object_name,
    CONVERT(tinyint, NULL) AS result_schema, CONVERT(nvarchar(60), NULL) AS result_schema_desc,
    CONVERT(tinyint, NULL) AS result_format, CONVERT(nvarchar(60), NULL) AS result_format_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_language_files AS
SELECT CONVERT(int, NULL) AS external_language_id, CONVERT(varbinary(max), NULL) AS content,
    CONVERT(sysname, NULL) AS file_name, CONVERT(tinyint, NULL) AS platform,
    CONVERT(nvarchar(60), NULL) AS platform_desc, CONVERT(sysname, NULL) AS parameters,
    CONVERT(sysname, NULL) AS environment_variables
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_languages AS
SELECT CONVERT(int, NULL) AS external_language_id, CONVERT(sysname, NULL) AS language,
    CONVERT(datetime2(7), NULL) AS create_date, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_library_files AS
SELECT CONVERT(int, NULL) AS external_library_id, CONVERT(varbinary(max), NULL) AS content,
    CONVERT(tinyint, NULL) AS platform, CONVERT(nvarchar(60), NULL) AS platform_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_tables AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS schema_id, CONVERT(int, NULL) AS parent_object_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_published,
    CONVERT(bit, NULL) AS is_schema_published, CONVERT(int, NULL) AS max_column_id_used,
    CONVERT(bit, NULL) AS uses_ansi_nulls, CONVERT(int, NULL) AS data_source_id, CONVERT(int, NULL) AS file_format_id,
    CONVERT(nvarchar(4000), NULL) AS location, CONVERT(tinyint, NULL) AS reject_type,
    CONVERT(float, NULL) AS reject_value, CONVERT(int, NULL) AS reject_sample_value,
    CONVERT(int, NULL) AS distribution_type, CONVERT(nvarchar(120), NULL) AS distribution_desc,
    CONVERT(int, NULL) AS sharding_column_id, CONVERT(sysname, NULL) AS remote_schema_name,
    CONVERT(sysname, NULL) AS remote_object_name
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.filetable_system_defined_objects AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS parent_object_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_index_catalog_usages AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(int, NULL) AS fulltext_catalog_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_semantic_language_statistics_database AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(datetime, NULL) AS register_date, CONVERT(int, NULL) AS registered_by,
    CONVERT(nvarchar(128), NULL) AS version
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.fulltext_semantic_languages AS
SELECT CONVERT(int, NULL) AS lcid, CONVERT(sysname, NULL) AS name
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.function_order_columns AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS order_column_id, CONVERT(int, NULL) AS column_id,
    CONVERT(bit, NULL) AS is_descending
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.http_endpoints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS endpoint_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(tinyint, NULL) AS protocol, CONVERT(nvarchar(60), NULL) AS protocol_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bit, NULL) AS is_admin_endpoint,
    CONVERT(nvarchar(128), NULL) AS site, CONVERT(nvarchar(4000), NULL) AS url_path,
    CONVERT(bit, NULL) AS is_clear_port_enabled, CONVERT(int, NULL) AS clear_port,
    CONVERT(bit, NULL) AS is_ssl_port_enabled, CONVERT(int, NULL) AS ssl_port,
    CONVERT(bit, NULL) AS is_anonymous_enabled, CONVERT(bit, NULL) AS is_basic_auth_enabled,
    CONVERT(bit, NULL) AS is_digest_auth_enabled, CONVERT(bit, NULL) AS is_kerberos_auth_enabled,
    CONVERT(bit, NULL) AS is_ntlm_auth_enabled, CONVERT(bit, NULL) AS is_integrated_auth_enabled,
    CONVERT(nvarchar(128), NULL) AS authorization_realm, CONVERT(nvarchar(128), NULL) AS default_logon_domain,
    CONVERT(bit, NULL) AS is_compression_enabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.index_resumable_operations AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(max), NULL) AS sql_text, CONVERT(smallint, NULL) AS last_max_dop_used,
    CONVERT(int, NULL) AS partition_number, CONVERT(tinyint, NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc,
    CONVERT(datetime, NULL) AS start_time, CONVERT(datetime, NULL) AS last_pause_time,
    CONVERT(int, NULL) AS total_execution_time, CONVERT(real, NULL) AS percent_complete,
    CONVERT(bigint, NULL) AS page_count
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.internal_partitions AS
SELECT CONVERT(bigint, NULL) AS partition_id, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(int, NULL) AS partition_number, CONVERT(tinyint, NULL) AS internal_object_type,
    CONVERT(nvarchar(60), NULL) AS internal_object_type_desc, CONVERT(int, NULL) AS Row_group_id,
    CONVERT(bigint, NULL) AS hobt_id, CONVERT(bigint, NULL) AS rows, CONVERT(tinyint, NULL) AS data_compression,
    CONVERT(nvarchar(60), NULL) AS data_compression_desc, CONVERT(bit, NULL) AS optimize_for_sequential_key
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.internal_tables AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS schema_id, CONVERT(int, NULL) AS parent_object_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_published,
    CONVERT(bit, NULL) AS is_schema_published, CONVERT(tinyint, NULL) AS internal_type,
    CONVERT(nvarchar(60), NULL) AS internal_type_desc, CONVERT(int, NULL) AS parent_id,
    CONVERT(int, NULL) AS parent_minor_id, CONVERT(int, NULL) AS lob_data_space_id,
    CONVERT(int, NULL) AS filestream_data_space_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.ledger_column_history AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS column_id, CONVERT(sysname, NULL) AS column_name,
    CONVERT(tinyint, NULL) AS operation_type, CONVERT(nvarchar(60), NULL) AS operation_type_desc,
    CONVERT(bigint, NULL) AS transaction_id, CONVERT(bigint, NULL) AS sequence_number
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.ledger_table_history AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(sysname, NULL) AS schema_name, CONVERT(sysname, NULL) AS table_name,
    CONVERT(sysname, NULL) AS ledger_view_schema_name, CONVERT(sysname, NULL) AS ledger_view_name,
    CONVERT(tinyint, NULL) AS operation_type, CONVERT(nvarchar(60), NULL) AS operation_type_desc,
    CONVERT(bigint, NULL) AS transaction_id, CONVERT(bigint, NULL) AS sequence_number
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.master_key_passwords AS
SELECT CONVERT(int, NULL) AS credential_id, CONVERT(uniqueidentifier, NULL) AS family_guid
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.memory_optimized_tables_internal_attributes AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS xtp_object_id, CONVERT(int, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(int, NULL) AS minor_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.message_type_xml_schema_collection_usages AS
SELECT CONVERT(int, NULL) AS message_type_id, CONVERT(int, NULL) AS xml_collection_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.module_assembly_usages AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS assembly_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.openkeys AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(sysname, NULL) AS database_name, CONVERT(int, NULL) AS key_id,
    CONVERT(nvarchar(128), NULL) AS key_name, CONVERT(uniqueidentifier, NULL) AS key_guid,
    CONVERT(datetime, NULL) AS opened_date, CONVERT(smallint, NULL) AS status
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.parameter_xml_schema_collection_usages AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS parameter_id, CONVERT(int, NULL) AS xml_collection_id
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_context_settings AS
SELECT CONVERT(bigint, NULL) AS context_settings_id, CONVERT(varbinary(8), NULL) AS set_options,
    CONVERT(smallint, NULL) AS language_id, CONVERT(smallint, NULL) AS date_format,
    CONVERT(tinyint, NULL) AS date_first, CONVERT(varbinary(2), NULL) AS status,
    CONVERT(int, NULL) AS required_cursor_options, CONVERT(int, NULL) AS acceptable_cursor_options,
    CONVERT(smallint, NULL) AS merge_action_type, CONVERT(int, NULL) AS default_schema_id,
    CONVERT(bit, NULL) AS is_replication_specific, CONVERT(varbinary(1), NULL) AS is_contained
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_plan AS
SELECT CONVERT(bigint, NULL) AS plan_id, CONVERT(bigint, NULL) AS query_id, CONVERT(bigint, NULL) AS plan_group_id,
    CONVERT(nvarchar(32), NULL) AS engine_version, CONVERT(smallint, NULL) AS compatibility_level,
    CONVERT(binary(8), NULL) AS query_plan_hash, CONVERT(nvarchar(max), NULL) AS query_plan,
    CONVERT(bit, NULL) AS is_online_index_plan, CONVERT(bit, NULL) AS is_trivial_plan,
    CONVERT(bit, NULL) AS is_parallel_plan, CONVERT(bit, NULL) AS is_forced_plan,
    CONVERT(bit, NULL) AS is_natively_compiled, CONVERT(bigint, NULL) AS force_failure_count,
    CONVERT(int, NULL) AS last_force_failure_reason, CONVERT(nvarchar(128), NULL) AS last_force_failure_reason_desc,
    CONVERT(bigint, NULL) AS count_compiles, CONVERT(datetimeoffset(7), NULL) AS initial_compile_start_time,
    CONVERT(datetimeoffset(7), NULL) AS last_compile_start_time,
    CONVERT(datetimeoffset(7), NULL) AS last_execution_time, CONVERT(float, NULL) AS avg_compile_duration,
    CONVERT(bigint, NULL) AS last_compile_duration, CONVERT(int, NULL) AS plan_forcing_type,
    CONVERT(nvarchar(60), NULL) AS plan_forcing_type_desc, CONVERT(bit, NULL) AS has_compile_replay_script,
    CONVERT(bit, NULL) AS is_optimized_plan_forcing_disabled, CONVERT(int, NULL) AS plan_type,
    CONVERT(nvarchar(120), NULL) AS plan_type_desc
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_query AS
SELECT CONVERT(bigint, NULL) AS query_id, CONVERT(bigint, NULL) AS query_text_id,
    CONVERT(bigint, NULL) AS context_settings_id, CONVERT(bigint, NULL) AS object_id,
    CONVERT(varbinary(64), NULL) AS batch_sql_handle, CONVERT(binary(8), NULL) AS query_hash,
    CONVERT(bit, NULL) AS is_internal_query, CONVERT(tinyint, NULL) AS query_parameterization_type,
    CONVERT(nvarchar(60), NULL) AS query_parameterization_type_desc,
    CONVERT(datetimeoffset(7), NULL) AS initial_compile_start_time,
    CONVERT(datetimeoffset(7), NULL) AS last_compile_start_time,
    CONVERT(datetimeoffset(7), NULL) AS last_execution_time,
    CONVERT(varbinary(64), NULL) AS last_compile_batch_sql_handle,
    CONVERT(bigint, NULL) AS last_compile_batch_offset_start, CONVERT(bigint, NULL) AS last_compile_batch_offset_end,
    CONVERT(bigint, NULL) AS count_compiles, CONVERT(float, NULL) AS avg_compile_duration,
    CONVERT(bigint, NULL) AS last_compile_duration, CONVERT(float, NULL) AS avg_bind_duration,
    CONVERT(bigint, NULL) AS last_bind_duration, CONVERT(float, NULL) AS avg_bind_cpu_time,
    CONVERT(bigint, NULL) AS last_bind_cpu_time, CONVERT(float, NULL) AS avg_optimize_duration,
    CONVERT(bigint, NULL) AS last_optimize_duration, CONVERT(float, NULL) AS avg_optimize_cpu_time,
    CONVERT(bigint, NULL) AS last_optimize_cpu_time, CONVERT(float, NULL) AS avg_compile_memory_kb,
    CONVERT(bigint, NULL) AS last_compile_memory_kb, CONVERT(bigint, NULL) AS max_compile_memory_kb,
    CONVERT(bit, NULL) AS is_clouddb_internal_query
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_query_hints AS
SELECT CONVERT(bigint, NULL) AS query_hint_id, CONVERT(bigint, NULL) AS query_id,
    CONVERT(nvarchar(max), NULL) AS query_hint_text, CONVERT(int, NULL) AS last_query_hint_failure_reason,
    CONVERT(nvarchar(128), NULL) AS last_query_hint_failure_reason_desc,
    CONVERT(bigint, NULL) AS query_hint_failure_count, CONVERT(int, NULL) AS source,
    CONVERT(nvarchar(128), NULL) AS source_desc, CONVERT(nvarchar(max), NULL) AS comment,
    CONVERT(tinyint, NULL) AS query_hint_scope
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_query_text AS
SELECT CONVERT(bigint, NULL) AS query_text_id, CONVERT(nvarchar(max), NULL) AS query_sql_text,
    CONVERT(varbinary(64), NULL) AS statement_sql_handle, CONVERT(bit, NULL) AS is_part_of_encrypted_module,
    CONVERT(bit, NULL) AS has_restricted_text
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_query_variant AS
SELECT CONVERT(bigint, NULL) AS query_variant_query_id, CONVERT(bigint, NULL) AS parent_query_id,
    CONVERT(bigint, NULL) AS dispatcher_plan_id
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_runtime_stats AS
SELECT CONVERT(bigint, NULL) AS runtime_stats_id, CONVERT(bigint, NULL) AS plan_id,
    CONVERT(bigint, NULL) AS runtime_stats_interval_id, CONVERT(tinyint, NULL) AS execution_type,
    CONVERT(nvarchar(128), NULL) AS execution_type_desc, CONVERT(datetimeoffset(7), NULL) AS first_execution_time,
    CONVERT(datetimeoffset(7), NULL) AS last_execution_time, CONVERT(bigint, NULL) AS count_executions,
    CONVERT(float, NULL) AS avg_duration, CONVERT(bigint, NULL) AS last_duration, CONVERT(bigint, NULL) AS min_duration,
    CONVERT(bigint, NULL) AS max_duration, CONVERT(float, NULL) AS stdev_duration, CONVERT(float, NULL) AS avg_cpu_time,
    CONVERT(bigint, NULL) AS last_cpu_time, CONVERT(bigint, NULL) AS min_cpu_time,
    CONVERT(bigint, NULL) AS max_cpu_time, CONVERT(float, NULL) AS stdev_cpu_time,
    CONVERT(float, NULL) AS avg_logical_io_reads, CONVERT(bigint, NULL) AS last_logical_io_reads,
    CONVERT(bigint, NULL) AS min_logical_io_reads, CONVERT(bigint, NULL) AS max_logical_io_reads,
    CONVERT(float, NULL) AS stdev_logical_io_reads, CONVERT(float, NULL) AS avg_logical_io_writes,
    CONVERT(bigint, NULL) AS last_logical_io_writes, CONVERT(bigint, NULL) AS min_logical_io_writes,
    CONVERT(bigint, NULL) AS max_logical_io_writes, CONVERT(float, NULL) AS stdev_logical_io_writes,
    CONVERT(float, NULL) AS avg_physical_io_reads, CONVERT(bigint, NULL) AS last_physical_io_reads,
    CONVERT(bigint, NULL) AS min_physical_io_reads, CONVERT(bigint, NULL) AS max_physical_io_reads,
    CONVERT(float, NULL) AS stdev_physical_io_reads, CONVERT(float, NULL) AS avg_clr_time,
    CONVERT(bigint, NULL) AS last_clr_time, CONVERT(bigint, NULL) AS min_clr_time,
    CONVERT(bigint, NULL) AS max_clr_time, CONVERT(float, NULL) AS stdev_clr_time, CONVERT(float, NULL) AS avg_dop,
    CONVERT(bigint, NULL) AS last_dop, CONVERT(bigint, NULL) AS min_dop, CONVERT(bigint, NULL) AS max_dop,
    CONVERT(float, NULL) AS stdev_dop, CONVERT(float, NULL) AS avg_query_max_used_memory,
    CONVERT(bigint, NULL) AS last_query_max_used_memory, CONVERT(bigint, NULL) AS min_query_max_used_memory,
    CONVERT(bigint, NULL) AS max_query_max_used_memory, CONVERT(float, NULL) AS stdev_query_max_used_memory,
    CONVERT(float, NULL) AS avg_rowcount, CONVERT(bigint, NULL) AS last_rowcount, CONVERT(bigint, NULL) AS min_rowcount,
    CONVERT(bigint, NULL) AS max_rowcount, CONVERT(float, NULL) AS stdev_rowcount,
    CONVERT(float, NULL) AS avg_num_physical_io_reads, CONVERT(bigint, NULL) AS last_num_physical_io_reads,
    CONVERT(bigint, NULL) AS min_num_physical_io_reads, CONVERT(bigint, NULL) AS max_num_physical_io_reads,
    CONVERT(float, NULL) AS avg_log_bytes_used, CONVERT(bigint, NULL) AS last_log_bytes_used,
    CONVERT(bigint, NULL) AS min_log_bytes_used, CONVERT(bigint, NULL) AS max_log_bytes_used,
    CONVERT(float, NULL) AS stdev_log_bytes_used, CONVERT(float, NULL) AS avg_tempdb_space_used,
    CONVERT(bigint, NULL) AS last_tempdb_space_used, CONVERT(bigint, NULL) AS min_tempdb_space_used,
    CONVERT(bigint, NULL) AS max_tempdb_space_used, CONVERT(float, NULL) AS stdev_tempdb_space_used,
    CONVERT(float, NULL) AS avg_page_server_io_reads, CONVERT(bigint, NULL) AS last_page_server_io_reads,
    CONVERT(bigint, NULL) AS min_page_server_io_reads, CONVERT(bigint, NULL) AS max_page_server_io_reads,
    CONVERT(float, NULL) AS stdev_page_server_io_reads, CONVERT(bigint, NULL) AS replica_group_id
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_runtime_stats_interval AS
SELECT CONVERT(bigint, NULL) AS runtime_stats_interval_id, CONVERT(datetimeoffset(7), NULL) AS start_time,
    CONVERT(datetimeoffset(7), NULL) AS end_time, CONVERT(nvarchar(32), NULL) AS comment
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.query_store_wait_stats AS
SELECT CONVERT(bigint, NULL) AS wait_stats_id, CONVERT(bigint, NULL) AS plan_id,
    CONVERT(bigint, NULL) AS runtime_stats_interval_id, CONVERT(tinyint, NULL) AS wait_category,
    CONVERT(nvarchar(128), NULL) AS wait_category_desc, CONVERT(tinyint, NULL) AS execution_type,
    CONVERT(nvarchar(128), NULL) AS execution_type_desc, CONVERT(bigint, NULL) AS total_query_wait_time_ms,
    CONVERT(float, NULL) AS avg_query_wait_time_ms, CONVERT(bigint, NULL) AS last_query_wait_time_ms,
    CONVERT(bigint, NULL) AS min_query_wait_time_ms, CONVERT(bigint, NULL) AS max_query_wait_time_ms,
    CONVERT(float, NULL) AS stdev_query_wait_time_ms, CONVERT(bigint, NULL) AS replica_group_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.registered_search_properties AS
SELECT CONVERT(int, NULL) AS property_list_id, CONVERT(int, NULL) AS property_id,
    CONVERT(nvarchar(256), NULL) AS property_name, CONVERT(uniqueidentifier, NULL) AS property_set_guid,
    CONVERT(int, NULL) AS property_int_id, CONVERT(nvarchar(512), NULL) AS property_description
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.registered_search_property_lists AS
SELECT CONVERT(int, NULL) AS property_list_id, CONVERT(sysname, NULL) AS name, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.resource_governor_resource_pool_affinity AS
SELECT CONVERT(int, NULL) AS pool_id, CONVERT(smallint, NULL) AS processor_group,
    CONVERT(bigint, NULL) AS scheduler_mask
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.selective_xml_index_namespaces AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(bit, NULL) AS is_default_uri,
    CONVERT(nvarchar(4000), NULL) AS uri, CONVERT(nvarchar(128), NULL) AS prefix
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.selective_xml_index_paths AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(int, NULL) AS path_id,
    CONVERT(nvarchar(4000), NULL) AS path, CONVERT(sysname, NULL) AS name, CONVERT(tinyint, NULL) AS path_type,
    CONVERT(nvarchar(128), NULL) AS path_type_desc, CONVERT(int, NULL) AS xml_component_id,
    CONVERT(nvarchar(4000), NULL) AS xquery_type_description, CONVERT(bit, NULL) AS is_xquery_type_inferred,
    CONVERT(int, NULL) AS xquery_max_length, CONVERT(bit, NULL) AS is_xquery_max_length_inferred,
    CONVERT(bit, NULL) AS is_node, CONVERT(tinyint, NULL) AS system_type_id, CONVERT(tinyint, NULL) AS user_type_id,
    CONVERT(smallint, NULL) AS max_length, CONVERT(tinyint, NULL) AS precision, CONVERT(tinyint, NULL) AS scale,
    CONVERT(nvarchar(128), NULL) AS collation_name, CONVERT(bit, NULL) AS is_singleton
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_assembly_modules AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS assembly_id,
    CONVERT(nvarchar(128), NULL) AS assembly_class, CONVERT(nvarchar(128), NULL) AS assembly_method,
    CONVERT(int, NULL) AS execute_as_principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_principal_credentials AS
SELECT CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS credential_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_broker_endpoints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS endpoint_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(tinyint, NULL) AS protocol, CONVERT(nvarchar(60), NULL) AS protocol_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bit, NULL) AS is_admin_endpoint,
    CONVERT(bit, NULL) AS is_message_forwarding_enabled, CONVERT(int, NULL) AS message_forwarding_size,
    CONVERT(tinyint, NULL) AS connection_auth, CONVERT(nvarchar(60), NULL) AS connection_auth_desc,
    CONVERT(int, NULL) AS certificate_id, CONVERT(tinyint, NULL) AS encryption_algorithm,
    CONVERT(nvarchar(60), NULL) AS encryption_algorithm_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.soap_endpoints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS endpoint_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(tinyint, NULL) AS protocol, CONVERT(nvarchar(60), NULL) AS protocol_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bit, NULL) AS is_admin_endpoint,
    CONVERT(bit, NULL) AS is_sql_language_enabled, CONVERT(nvarchar(776), NULL) AS wsdl_generator_procedure,
    CONVERT(nvarchar(128), NULL) AS default_database, CONVERT(nvarchar(384), NULL) AS default_namespace,
    CONVERT(tinyint, NULL) AS default_result_schema, CONVERT(nvarchar(60), NULL) AS default_result_schema_desc,
    CONVERT(bit, NULL) AS is_xml_charset_enforced, CONVERT(bit, NULL) AS is_session_enabled,
    CONVERT(int, NULL) AS session_timeout, CONVERT(nvarchar(60), NULL) AS login_type, CONVERT(int, NULL) AS header_limit
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.spatial_index_tessellations AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id,
    CONVERT(nvarchar(60), NULL) AS tessellation_scheme, CONVERT(float, NULL) AS bounding_box_xmin,
    CONVERT(float, NULL) AS bounding_box_ymin, CONVERT(float, NULL) AS bounding_box_xmax,
    CONVERT(float, NULL) AS bounding_box_ymax, CONVERT(smallint, NULL) AS level_1_grid,
    CONVERT(nvarchar(60), NULL) AS level_1_grid_desc, CONVERT(smallint, NULL) AS level_2_grid,
    CONVERT(nvarchar(60), NULL) AS level_2_grid_desc, CONVERT(smallint, NULL) AS level_3_grid,
    CONVERT(nvarchar(60), NULL) AS level_3_grid_desc, CONVERT(smallint, NULL) AS level_4_grid,
    CONVERT(nvarchar(60), NULL) AS level_4_grid_desc, CONVERT(int, NULL) AS cells_per_object
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.spatial_indexes AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS index_id,
    CONVERT(tinyint, NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(bit, NULL) AS is_unique,
    CONVERT(int, NULL) AS data_space_id, CONVERT(bit, NULL) AS ignore_dup_key, CONVERT(bit, NULL) AS is_primary_key,
    CONVERT(bit, NULL) AS is_unique_constraint, CONVERT(tinyint, NULL) AS fill_factor, CONVERT(bit, NULL) AS is_padded,
    CONVERT(bit, NULL) AS is_disabled, CONVERT(bit, NULL) AS is_hypothetical, CONVERT(bit, NULL) AS allow_row_locks,
    CONVERT(bit, NULL) AS allow_page_locks, CONVERT(int, NULL) AS spatial_index_type,
    CONVERT(nvarchar(60), NULL) AS spatial_index_type_desc, CONVERT(nvarchar(60), NULL) AS tessellation_scheme,
    CONVERT(bit, NULL) AS has_filter, CONVERT(nvarchar(max), NULL) AS filter_definition
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.syscursorcolumns AS
SELECT CONVERT(int, NULL) AS cursor_handle, CONVERT(nvarchar(128), NULL) AS column_name,
    CONVERT(int, NULL) AS ordinal_position, CONVERT(int, NULL) AS column_characteristics_flags,
    CONVERT(int, NULL) AS column_size, CONVERT(int, NULL) AS data_type_sql, CONVERT(tinyint, NULL) AS column_precision,
    CONVERT(tinyint, NULL) AS column_scale, CONVERT(int, NULL) AS order_position,
    CONVERT(nvarchar(1), NULL) AS order_direction, CONVERT(smallint, NULL) AS hidden_column,
    CONVERT(int, NULL) AS columnid, CONVERT(int, NULL) AS objectid, CONVERT(int, NULL) AS dbid,
    CONVERT(nvarchar(128), NULL) AS dbname
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.syscursorrefs AS
SELECT CONVERT(nvarchar(128), NULL) AS reference_name, CONVERT(tinyint, NULL) AS cursor_scope,
    CONVERT(int, NULL) AS cursor_handl
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.syscursors AS
SELECT CONVERT(int, NULL) AS cursor_handle, CONVERT(nvarchar(128), NULL) AS cursor_name, CONVERT(int, NULL) AS status,
    CONVERT(tinyint, NULL) AS model, CONVERT(tinyint, NULL) AS concurrency, CONVERT(tinyint, NULL) AS scrollable,
    CONVERT(tinyint, NULL) AS open_status, CONVERT(numeric(10,0), NULL) AS cursor_rows,
    CONVERT(smallint, NULL) AS fetch_status, CONVERT(smallint, NULL) AS column_count,
    CONVERT(numeric(10,0), NULL) AS row_count, CONVERT(tinyint, NULL) AS last_operation
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.syscursortables AS
SELECT CONVERT(int, NULL) AS cursor_handle, CONVERT(nvarchar(128), NULL) AS table_owner,
    CONVERT(nvarchar(128), NULL) AS table_name, CONVERT(smallint, NULL) AS optimizer_hint,
    CONVERT(smallint, NULL) AS lock_type, CONVERT(nvarchar(128), NULL) AS server_name, CONVERT(int, NULL) AS objectid,
    CONVERT(int, NULL) AS dbid, CONVERT(nvarchar(128), NULL) AS dbname
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sysdevices AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS size, CONVERT(int, NULL) AS low,
    CONVERT(int, NULL) AS high, CONVERT(smallint, NULL) AS status, CONVERT(smallint, NULL) AS cntrltype,
    CONVERT(nvarchar(260), NULL) AS phyname
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sysfulltextcatalogs AS
SELECT CONVERT(smallint, NULL) AS ftcatid, CONVERT(sysname, NULL) AS name, CONVERT(smallint, NULL) AS status,
    CONVERT(nvarchar(260), NULL) AS path
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sysoledbusers AS
SELECT CONVERT(smallint, NULL) AS rmtsrvid, CONVERT(nvarchar(128), NULL) AS rmtloginame,
    CONVERT(nvarchar(128), NULL) AS rmtpassword, CONVERT(varbinary(85), NULL) AS loginsid,
    CONVERT(smallint, NULL) AS status, CONVERT(datetime, NULL) AS changedate
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sysopentapes AS
SELECT CONVERT(nvarchar(64), NULL) AS openTape
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sysremotelogins AS
SELECT CONVERT(smallint, NULL) AS remoteserverid, CONVERT(nvarchar(128), NULL) AS remoteusername,
    CONVERT(smallint, NULL) AS status, CONVERT(varbinary(85), NULL) AS sid, CONVERT(datetime, NULL) AS changedate
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.type_assembly_usages AS
SELECT CONVERT(int, NULL) AS user_type_id, CONVERT(int, NULL) AS assembly_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.via_endpoints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS endpoint_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(tinyint, NULL) AS protocol, CONVERT(nvarchar(60), NULL) AS protocol_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bit, NULL) AS is_admin_endpoint,
    CONVERT(nvarchar(128), NULL) AS discriminator
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_indexes AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS index_id,
    CONVERT(tinyint, NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(bit, NULL) AS is_unique,
    CONVERT(int, NULL) AS data_space_id, CONVERT(bit, NULL) AS ignore_dup_key, CONVERT(bit, NULL) AS is_primary_key,
    CONVERT(bit, NULL) AS is_unique_constraint, CONVERT(tinyint, NULL) AS fill_factor, CONVERT(bit, NULL) AS is_padded,
    CONVERT(bit, NULL) AS is_disabled, CONVERT(bit, NULL) AS is_hypothetical, CONVERT(bit, NULL) AS allow_row_locks,
    CONVERT(bit, NULL) AS allow_page_locks, CONVERT(int, NULL) AS using_xml_index_id,
    CONVERT(char(1), NULL) AS secondary_type, CONVERT(nvarchar(60), NULL) AS secondary_type_desc,
    CONVERT(bit, NULL) AS has_filter, CONVERT(nvarchar(max), NULL) AS filter_definition,
    CONVERT(tinyint, NULL) AS xml_index_type, CONVERT(nvarchar(60), NULL) AS xml_index_type_description,
    CONVERT(int, NULL) AS path_id, CONVERT(int, NULL) AS compression_delay,
    CONVERT(bit, NULL) AS suppress_dup_key_messages, CONVERT(bit, NULL) AS auto_created,
    CONVERT(bit, NULL) AS optimize_for_sequential_key
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_attributes AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id, CONVERT(bit, NULL) AS is_default_fixed,
    CONVERT(bit, NULL) AS must_be_qualified, CONVERT(nvarchar(4000), NULL) AS default_value
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_component_placements AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS placement_id,
    CONVERT(int, NULL) AS placed_xml_component_id, CONVERT(bit, NULL) AS is_default_fixed,
    CONVERT(int, NULL) AS min_occurences, CONVERT(int, NULL) AS max_occurences,
    CONVERT(nvarchar(4000), NULL) AS default_value
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_elements AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id, CONVERT(bit, NULL) AS is_default_fixed,
    CONVERT(bit, NULL) AS is_abstract, CONVERT(bit, NULL) AS is_nillable, CONVERT(bit, NULL) AS must_be_qualified,
    CONVERT(bit, NULL) AS is_extension_blocked, CONVERT(bit, NULL) AS is_restriction_blocked,
    CONVERT(bit, NULL) AS is_substitution_blocked, CONVERT(bit, NULL) AS is_final_extension,
    CONVERT(bit, NULL) AS is_final_restriction, CONVERT(nvarchar(4000), NULL) AS default_value
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_model_groups AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id, CONVERT(char(1), NULL) AS compositor,
    CONVERT(nvarchar(60), NULL) AS compositor_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_wildcard_namespaces AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(nvarchar(4000), NULL) AS namespace
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.xml_schema_wildcards AS
SELECT CONVERT(int, NULL) AS xml_component_id, CONVERT(int, NULL) AS xml_collection_id,
    CONVERT(int, NULL) AS xml_namespace_id, CONVERT(bit, NULL) AS is_qualified, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(char(1), NULL) AS symbol_space, CONVERT(nvarchar(60), NULL) AS symbol_space_desc,
    CONVERT(char(1), NULL) AS kind, CONVERT(nvarchar(60), NULL) AS kind_desc, CONVERT(char(1), NULL) AS derivation,
    CONVERT(nvarchar(60), NULL) AS derivation_desc, CONVERT(int, NULL) AS base_xml_component_id,
    CONVERT(int, NULL) AS scoping_xml_component_id, CONVERT(char(1), NULL) AS process_content,
    CONVERT(nvarchar(60), NULL) AS process_content_desc, CONVERT(bit, NULL) AS disallow_namespaces
WHERE 1 = 0
