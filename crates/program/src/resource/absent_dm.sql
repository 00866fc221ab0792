-- Dynamic management views of what is not there: Service Broker, full-text search, change data capture, replication, replicas.
-- No statement is left to a background job.
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_broker_activated_tasks AS
SELECT CONVERT(int, NULL) AS spid, CONVERT(smallint, NULL) AS database_id, CONVERT(int, NULL) AS queue_id,
    CONVERT(nvarchar(325), NULL) AS procedure_name, CONVERT(int, NULL) AS execute_as
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_broker_connections AS
SELECT CONVERT(uniqueidentifier, NULL) AS connection_id, CONVERT(uniqueidentifier, NULL) AS transport_stream_id,
    CONVERT(smallint, NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc,
    CONVERT(datetime, NULL) AS connect_time, CONVERT(datetime, NULL) AS login_time,
    CONVERT(nvarchar(128), NULL) AS authentication_method, CONVERT(nvarchar(128), NULL) AS principal_name,
    CONVERT(nvarchar(128), NULL) AS remote_user_name, CONVERT(datetime, NULL) AS last_activity_time,
    CONVERT(bit, NULL) AS is_accept, CONVERT(smallint, NULL) AS login_state,
    CONVERT(nvarchar(60), NULL) AS login_state_desc, CONVERT(int, NULL) AS peer_certificate_id,
    CONVERT(smallint, NULL) AS encryption_algorithm, CONVERT(nvarchar(60), NULL) AS encryption_algorithm_desc,
    CONVERT(smallint, NULL) AS receives_posted, CONVERT(bit, NULL) AS is_receive_flow_controlled,
    CONVERT(smallint, NULL) AS sends_posted, CONVERT(bit, NULL) AS is_send_flow_controlled,
    CONVERT(bigint, NULL) AS total_bytes_sent, CONVERT(bigint, NULL) AS total_bytes_received,
    CONVERT(bigint, NULL) AS total_fragments_sent, CONVERT(bigint, NULL) AS total_fragments_received,
    CONVERT(bigint, NULL) AS total_sends, CONVERT(bigint, NULL) AS total_receives,
    CONVERT(uniqueidentifier, NULL) AS peer_arbitration_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_broker_forwarded_messages AS
SELECT CONVERT(uniqueidentifier, NULL) AS conversation_id, CONVERT(bit, NULL) AS is_initiator,
    CONVERT(nvarchar(256), NULL) AS to_service_name, CONVERT(nvarchar(256), NULL) AS to_broker_instance,
    CONVERT(nvarchar(256), NULL) AS from_service_name, CONVERT(nvarchar(256), NULL) AS from_broker_instance,
    CONVERT(nvarchar(256), NULL) AS adjacent_broker_address, CONVERT(bigint, NULL) AS message_sequence_number,
    CONVERT(int, NULL) AS message_fragment_number, CONVERT(tinyint, NULL) AS hops_remaining,
    CONVERT(int, NULL) AS time_to_live, CONVERT(int, NULL) AS time_consumed,
    CONVERT(uniqueidentifier, NULL) AS message_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_broker_queue_monitors AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS queue_id, CONVERT(nvarchar(32), NULL) AS state,
    CONVERT(datetime, NULL) AS last_empty_rowset_time, CONVERT(datetime, NULL) AS last_activated_time,
    CONVERT(int, NULL) AS tasks_waiting
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_cdc_errors AS
SELECT CONVERT(int, NULL) AS session_id, CONVERT(int, NULL) AS phase_number, CONVERT(datetime, NULL) AS entry_time,
    CONVERT(int, NULL) AS error_number, CONVERT(int, NULL) AS error_severity, CONVERT(int, NULL) AS error_state,
    CONVERT(nvarchar(1025), NULL) AS error_message, CONVERT(nvarchar(24), NULL) AS start_lsn,
    CONVERT(nvarchar(24), NULL) AS begin_lsn, CONVERT(nvarchar(24), NULL) AS sequence_value
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_cdc_log_scan_sessions AS
SELECT CONVERT(int, NULL) AS session_id, CONVERT(datetime, NULL) AS start_time, CONVERT(datetime, NULL) AS end_time,
    CONVERT(int, NULL) AS duration, CONVERT(nvarchar(200), NULL) AS scan_phase, CONVERT(int, NULL) AS error_count,
    CONVERT(nvarchar(24), NULL) AS start_lsn, CONVERT(nvarchar(24), NULL) AS current_lsn,
    CONVERT(nvarchar(24), NULL) AS end_lsn, CONVERT(bigint, NULL) AS tran_count,
    CONVERT(nvarchar(24), NULL) AS last_commit_lsn, CONVERT(datetime, NULL) AS last_commit_time,
    CONVERT(bigint, NULL) AS log_record_count, CONVERT(int, NULL) AS schema_change_count,
    CONVERT(bigint, NULL) AS command_count, CONVERT(nvarchar(24), NULL) AS first_begin_cdc_lsn,
    CONVERT(nvarchar(24), NULL) AS last_commit_cdc_lsn, CONVERT(datetime, NULL) AS last_commit_cdc_time,
    CONVERT(int, NULL) AS latency, CONVERT(int, NULL) AS empty_scan_count, CONVERT(int, NULL) AS failed_sessions_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_cryptographic_provider_properties AS
SELECT CONVERT(int, NULL) AS provider_id, CONVERT(uniqueidentifier, NULL) AS guid,
    CONVERT(nvarchar(128), NULL) AS provider_version, CONVERT(nvarchar(128), NULL) AS sqlcrypt_version,
    CONVERT(nvarchar(1024), NULL) AS friendly_name, CONVERT(nvarchar(128), NULL) AS authentication_type,
    CONVERT(tinyint, NULL) AS symmetric_key_support, CONVERT(tinyint, NULL) AS symmetric_key_persistance,
    CONVERT(tinyint, NULL) AS symmetric_key_export, CONVERT(tinyint, NULL) AS symmetric_key_import,
    CONVERT(tinyint, NULL) AS asymmetric_key_support, CONVERT(tinyint, NULL) AS asymmetric_key_persistance,
    CONVERT(tinyint, NULL) AS asymmetric_key_export, CONVERT(tinyint, NULL) AS asymmetric_key_import
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_fts_index_physical_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS fulltext_index_page_count,
    CONVERT(bigint, NULL) AS keyphrase_index_page_count, CONVERT(bigint, NULL) AS similarity_index_page_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_mirroring_past_actions AS
SELECT CONVERT(uniqueidentifier, NULL) AS mirroring_guid, CONVERT(nvarchar(60), NULL) AS state_machine_name,
    CONVERT(nvarchar(60), NULL) AS action_type, CONVERT(nvarchar(60), NULL) AS name,
    CONVERT(nvarchar(60), NULL) AS current_state, CONVERT(int, NULL) AS action_sequence
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_persisted_sku_features AS
SELECT CONVERT(nvarchar(4000), NULL) AS feature_name, CONVERT(int, NULL) AS feature_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.dm_db_uncontained_entities AS
SELECT CONVERT(int, NULL) AS class, CONVERT(nvarchar(60), NULL) AS class_desc, CONVERT(int, NULL) AS major_id,
    CONVERT(int, NULL) AS statement_line_number, CONVERT(int, NULL) AS statement_offset_begin,
    CONVERT(int, NULL) AS statement_offset_end, CONVERT(nvarchar(256), NULL) AS statement_type,
    CONVERT(nvarchar(128), NULL) AS feature_name, CONVERT(nvarchar(128), NULL) AS feature_type_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_exec_background_job_queue AS
SELECT CONVERT(datetime, NULL) AS time_queued, CONVERT(int, NULL) AS job_id, CONVERT(int, NULL) AS database_id,
    CONVERT(int, NULL) AS object_id1, CONVERT(int, NULL) AS object_id2, CONVERT(int, NULL) AS object_id3,
    CONVERT(int, NULL) AS object_id4, CONVERT(int, NULL) AS error_code, CONVERT(smallint, NULL) AS request_type,
    CONVERT(smallint, NULL) AS retry_count, CONVERT(smallint, NULL) AS in_progress,
    CONVERT(smallint, NULL) AS session_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_filestream_file_io_handles AS
SELECT CONVERT(varbinary(8), NULL) AS handle_context_address, CONVERT(int, NULL) AS creation_request_id,
    CONVERT(int, NULL) AS creation_irp_id, CONVERT(int, NULL) AS handle_id,
    CONVERT(varbinary(8), NULL) AS creation_client_thread_id, CONVERT(varbinary(8), NULL) AS creation_client_process_id,
    CONVERT(varbinary(128), NULL) AS filestream_transaction_id, CONVERT(nvarchar(60), NULL) AS access_type,
    CONVERT(nvarchar(256), NULL) AS logical_path, CONVERT(nvarchar(256), NULL) AS physical_path
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_filestream_non_transacted_handles AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS handle_id,
    CONVERT(int, NULL) AS file_object_type, CONVERT(nvarchar(60), NULL) AS file_object_type_desc,
    CONVERT(varbinary(8), NULL) AS correlation_process_id, CONVERT(varbinary(8), NULL) AS correlation_thread_id,
    CONVERT(varbinary(8), NULL) AS file_context, CONVERT(int, NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc,
    CONVERT(int, NULL) AS current_workitem_type, CONVERT(nvarchar(60), NULL) AS current_workitem_type_desc,
    CONVERT(bigint, NULL) AS fcb_id, CONVERT(varbinary(892), NULL) AS item_id, CONVERT(bit, NULL) AS is_directory,
    CONVERT(nvarchar(256), NULL) AS item_name, CONVERT(nvarchar(256), NULL) AS opened_file_name,
    CONVERT(nvarchar(256), NULL) AS database_directory_name, CONVERT(nvarchar(256), NULL) AS table_directory_name,
    CONVERT(nvarchar(256), NULL) AS remaining_file_name, CONVERT(datetime, NULL) AS open_time,
    CONVERT(int, NULL) AS flags, CONVERT(int, NULL) AS login_id, CONVERT(nvarchar(256), NULL) AS login_name,
    CONVERT(varbinary(85), NULL) AS login_sid, CONVERT(bit, NULL) AS read_access, CONVERT(bit, NULL) AS write_access,
    CONVERT(bit, NULL) AS delete_access, CONVERT(bit, NULL) AS share_read, CONVERT(bit, NULL) AS share_write,
    CONVERT(bit, NULL) AS share_delete, CONVERT(int, NULL) AS create_disposition
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_active_catalogs AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS catalog_id,
    CONVERT(varbinary(8), NULL) AS memory_address, CONVERT(nvarchar(4000), NULL) AS name,
    CONVERT(bit, NULL) AS is_paused, CONVERT(int, NULL) AS status, CONVERT(nvarchar(64), NULL) AS status_description,
    CONVERT(int, NULL) AS previous_status, CONVERT(nvarchar(64), NULL) AS previous_status_description,
    CONVERT(int, NULL) AS worker_count, CONVERT(int, NULL) AS active_fts_index_count,
    CONVERT(int, NULL) AS auto_population_count, CONVERT(int, NULL) AS manual_population_count,
    CONVERT(int, NULL) AS full_incremental_population_count, CONVERT(int, NULL) AS row_count_in_thousands,
    CONVERT(bit, NULL) AS is_importing
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_fdhosts AS
SELECT CONVERT(int, NULL) AS fdhost_id, CONVERT(nvarchar(128), NULL) AS fdhost_name,
    CONVERT(int, NULL) AS fdhost_process_id, CONVERT(nvarchar(64), NULL) AS fdhost_type,
    CONVERT(int, NULL) AS max_thread, CONVERT(int, NULL) AS batch_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_index_population AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS catalog_id, CONVERT(int, NULL) AS table_id,
    CONVERT(varbinary(8), NULL) AS memory_address, CONVERT(int, NULL) AS population_type,
    CONVERT(nvarchar(64), NULL) AS population_type_description, CONVERT(bit, NULL) AS is_clustered_index_scan,
    CONVERT(int, NULL) AS range_count, CONVERT(int, NULL) AS completed_range_count,
    CONVERT(int, NULL) AS outstanding_batch_count, CONVERT(int, NULL) AS status,
    CONVERT(nvarchar(64), NULL) AS status_description, CONVERT(int, NULL) AS completion_type,
    CONVERT(nvarchar(64), NULL) AS completion_type_description, CONVERT(int, NULL) AS worker_count,
    CONVERT(int, NULL) AS queued_population_type, CONVERT(nvarchar(64), NULL) AS queued_population_type_description,
    CONVERT(datetime, NULL) AS start_time, CONVERT(binary(8), NULL) AS incremental_timestamp
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_memory_buffers AS
SELECT CONVERT(int, NULL) AS pool_id, CONVERT(varbinary(8), NULL) AS memory_address,
    CONVERT(nvarchar(4000), NULL) AS name, CONVERT(bit, NULL) AS is_free, CONVERT(int, NULL) AS row_count,
    CONVERT(int, NULL) AS bytes_used, CONVERT(int, NULL) AS percent_used
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_memory_pools AS
SELECT CONVERT(int, NULL) AS pool_id, CONVERT(int, NULL) AS buffer_size, CONVERT(int, NULL) AS min_buffer_limit,
    CONVERT(int, NULL) AS max_buffer_limit, CONVERT(int, NULL) AS buffer_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_outstanding_batches AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS catalog_id, CONVERT(int, NULL) AS table_id,
    CONVERT(int, NULL) AS batch_id, CONVERT(varbinary(8), NULL) AS memory_address,
    CONVERT(varbinary(8), NULL) AS crawl_memory_address, CONVERT(varbinary(8), NULL) AS memregion_memory_address,
    CONVERT(int, NULL) AS hr_batch, CONVERT(bit, NULL) AS is_retry_batch, CONVERT(int, NULL) AS retry_hints,
    CONVERT(nvarchar(64), NULL) AS retry_hints_description, CONVERT(bigint, NULL) AS doc_failed,
    CONVERT(binary(8), NULL) AS batch_timestamp
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_population_ranges AS
SELECT CONVERT(varbinary(8), NULL) AS memory_address, CONVERT(varbinary(8), NULL) AS parent_memory_address,
    CONVERT(bit, NULL) AS is_retry, CONVERT(smallint, NULL) AS session_id, CONVERT(int, NULL) AS processed_row_count,
    CONVERT(int, NULL) AS error_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_fts_semantic_similarity_population AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS catalog_id, CONVERT(int, NULL) AS table_id,
    CONVERT(bigint, NULL) AS document_count, CONVERT(bigint, NULL) AS document_processed_count,
    CONVERT(int, NULL) AS completion_type, CONVERT(nvarchar(64), NULL) AS completion_type_description,
    CONVERT(int, NULL) AS worker_count, CONVERT(int, NULL) AS status, CONVERT(nvarchar(64), NULL) AS status_description,
    CONVERT(datetime, NULL) AS start_time, CONVERT(binary(8), NULL) AS incremental_timestamp
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_availability_replica_cluster_nodes AS
SELECT CONVERT(nvarchar(256), NULL) AS group_name, CONVERT(nvarchar(256), NULL) AS replica_server_name,
    CONVERT(nvarchar(256), NULL) AS node_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_availability_replica_cluster_states AS
SELECT CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(nvarchar(256), NULL) AS replica_server_name,
    CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(tinyint, NULL) AS join_state,
    CONVERT(nvarchar(60), NULL) AS join_state_desc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_database_replica_cluster_states AS
SELECT CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(uniqueidentifier, NULL) AS group_database_id,
    CONVERT(sysname, NULL) AS database_name, CONVERT(bit, NULL) AS is_failover_ready,
    CONVERT(bit, NULL) AS is_pending_secondary_suspend, CONVERT(bit, NULL) AS is_database_joined,
    CONVERT(numeric(25,0), NULL) AS recovery_lsn, CONVERT(numeric(25,0), NULL) AS truncation_lsn
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_database_replica_states AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(uniqueidentifier, NULL) AS group_id,
    CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(uniqueidentifier, NULL) AS group_database_id,
    CONVERT(bit, NULL) AS is_local, CONVERT(bit, NULL) AS is_primary_replica, CONVERT(tinyint, NULL) AS synchronization_state,
    CONVERT(nvarchar(60), NULL) AS synchronization_state_desc, CONVERT(bit, NULL) AS is_commit_participant,
    CONVERT(tinyint, NULL) AS synchronization_health, CONVERT(nvarchar(60), NULL) AS synchronization_health_desc,
    CONVERT(tinyint, NULL) AS database_state, CONVERT(nvarchar(60), NULL) AS database_state_desc,
    CONVERT(bit, NULL) AS is_suspended, CONVERT(tinyint, NULL) AS suspend_reason,
    CONVERT(nvarchar(60), NULL) AS suspend_reason_desc, CONVERT(numeric(25,0), NULL) AS recovery_lsn,
    CONVERT(numeric(25,0), NULL) AS truncation_lsn, CONVERT(numeric(25,0), NULL) AS last_sent_lsn,
    CONVERT(datetime, NULL) AS last_sent_time, CONVERT(numeric(25,0), NULL) AS last_received_lsn,
    CONVERT(datetime, NULL) AS last_received_time, CONVERT(numeric(25,0), NULL) AS last_hardened_lsn,
    CONVERT(datetime, NULL) AS last_hardened_time, CONVERT(numeric(25,0), NULL) AS last_redone_lsn,
    CONVERT(datetime, NULL) AS last_redone_time, CONVERT(bigint, NULL) AS log_send_queue_size,
    CONVERT(bigint, NULL) AS log_send_rate, CONVERT(bigint, NULL) AS redo_queue_size,
    CONVERT(bigint, NULL) AS redo_rate, CONVERT(bigint, NULL) AS filestream_send_rate,
    CONVERT(numeric(25,0), NULL) AS end_of_log_lsn, CONVERT(numeric(25,0), NULL) AS last_commit_lsn,
    CONVERT(datetime, NULL) AS last_commit_time, CONVERT(bigint, NULL) AS low_water_mark_for_ghosts,
    CONVERT(bigint, NULL) AS secondary_lag_seconds, CONVERT(numeric(25,0), NULL) AS quorum_commit_lsn,
    CONVERT(datetime, NULL) AS quorum_commit_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_instance_node_map AS
SELECT CONVERT(nvarchar(256), NULL) AS ag_resource_id, CONVERT(nvarchar(256), NULL) AS instance_name,
    CONVERT(nvarchar(256), NULL) AS node_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_io_backup_tapes AS
SELECT CONVERT(nvarchar(260), NULL) AS physical_device_name, CONVERT(nvarchar(128), NULL) AS logical_device_name,
    CONVERT(int, NULL) AS status, CONVERT(nvarchar(260), NULL) AS status_desc,
    CONVERT(datetime, NULL) AS mount_request_time, CONVERT(datetime, NULL) AS mount_expiration_time,
    CONVERT(sysname, NULL) AS database_name, CONVERT(int, NULL) AS spid, CONVERT(int, NULL) AS command,
    CONVERT(nvarchar(60), NULL) AS command_desc, CONVERT(int, NULL) AS media_family_id,
    CONVERT(nvarchar(128), NULL) AS media_set_name, CONVERT(uniqueidentifier, NULL) AS media_set_guid,
    CONVERT(int, NULL) AS media_sequence_number, CONVERT(int, NULL) AS tape_operation,
    CONVERT(nvarchar(60), NULL) AS tape_operation_desc, CONVERT(int, NULL) AS mount_request_type,
    CONVERT(nvarchar(60), NULL) AS mount_request_type_desc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_child_instances AS
SELECT CONVERT(nvarchar(256), NULL) AS owning_principal_name, CONVERT(nvarchar(256), NULL) AS owning_principal_sid,
    CONVERT(varbinary(85), NULL) AS owning_principal_sid_binary, CONVERT(nvarchar(128), NULL) AS instance_name,
    CONVERT(nvarchar(260), NULL) AS instance_pipe_name, CONVERT(int, NULL) AS OS_process_id,
    CONVERT(datetime, NULL) AS OS_process_creation_date, CONVERT(nvarchar(5), NULL) AS heart_beat
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_cluster_properties AS
SELECT CONVERT(bigint, NULL) AS VerboseLogging, CONVERT(bigint, NULL) AS SqlDumperDumpFlags,
    CONVERT(nvarchar(260), NULL) AS SqlDumperDumpPath, CONVERT(bigint, NULL) AS SqlDumperDumpTimeOut,
    CONVERT(bigint, NULL) AS FailureConditionLevel, CONVERT(bigint, NULL) AS HealthCheckTimeout
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_qn_subscriptions AS
SELECT CONVERT(int, NULL) AS id, CONVERT(int, NULL) AS database_id, CONVERT(varbinary(85), NULL) AS sid,
    CONVERT(int, NULL) AS object_id, CONVERT(datetime, NULL) AS created, CONVERT(int, NULL) AS timeout,
    CONVERT(int, NULL) AS status
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_repl_articles AS
SELECT CONVERT(varbinary(8), NULL) AS artcache_db_address, CONVERT(varbinary(8), NULL) AS artcache_table_address,
    CONVERT(varbinary(8), NULL) AS artcache_schema_address, CONVERT(varbinary(8), NULL) AS artcache_article_address,
    CONVERT(int, NULL) AS artid, CONVERT(int, NULL) AS artfilter, CONVERT(int, NULL) AS artobjid,
    CONVERT(int, NULL) AS artpubid, CONVERT(tinyint, NULL) AS artstatus, CONVERT(tinyint, NULL) AS arttype,
    CONVERT(nvarchar(256), NULL) AS wszArtdesttable, CONVERT(nvarchar(256), NULL) AS wszArtdesttableowner,
    CONVERT(nvarchar(258), NULL) AS wszArtinscmd, CONVERT(int, NULL) AS cmdTypeIns,
    CONVERT(nvarchar(258), NULL) AS wszArtdelcmd, CONVERT(int, NULL) AS cmdTypeDel,
    CONVERT(nvarchar(258), NULL) AS wszArtupdcmd, CONVERT(int, NULL) AS cmdTypeUpd,
    CONVERT(nvarchar(258), NULL) AS wszArtpartialupdcmd, CONVERT(int, NULL) AS cmdTypePartialUpd,
    CONVERT(int, NULL) AS numcol, CONVERT(tinyint, NULL) AS artcmdtype, CONVERT(nvarchar(4000), NULL) AS artgeninscmd,
    CONVERT(nvarchar(4000), NULL) AS artgendelcmd, CONVERT(nvarchar(4000), NULL) AS artgenupdcmd,
    CONVERT(nvarchar(4000), NULL) AS artpartialupdcmd, CONVERT(nvarchar(4000), NULL) AS artupdtxtcmd,
    CONVERT(nvarchar(4000), NULL) AS artgenins2cmd, CONVERT(nvarchar(4000), NULL) AS artgendel2cmd,
    CONVERT(tinyint, NULL) AS fInReconcile, CONVERT(tinyint, NULL) AS fPubAllowUpdate,
    CONVERT(int, NULL) AS intPublicationOptions
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_repl_schemas AS
SELECT CONVERT(varbinary(8), NULL) AS artcache_schema_address, CONVERT(int, NULL) AS tabid,
    CONVERT(smallint, NULL) AS indexid, CONVERT(int, NULL) AS idSch, CONVERT(nvarchar(256), NULL) AS tabschema,
    CONVERT(smallint, NULL) AS ccTabschema, CONVERT(nvarchar(256), NULL) AS tabname,
    CONVERT(smallint, NULL) AS ccTabname, CONVERT(bigint, NULL) AS rowsetid_delete,
    CONVERT(bigint, NULL) AS rowsetid_insert, CONVERT(int, NULL) AS num_pk_cols, CONVERT(varbinary(8), NULL) AS pcitee,
    CONVERT(int, NULL) AS re_numtextcols, CONVERT(nvarchar(24), NULL) AS re_schema_lsn_begin,
    CONVERT(nvarchar(24), NULL) AS re_schema_lsn_end, CONVERT(int, NULL) AS re_numcols, CONVERT(int, NULL) AS re_colid,
    CONVERT(nvarchar(256), NULL) AS re_awcName, CONVERT(smallint, NULL) AS re_ccName,
    CONVERT(smallint, NULL) AS re_colattr, CONVERT(smallint, NULL) AS re_maxlen, CONVERT(tinyint, NULL) AS re_prec,
    CONVERT(tinyint, NULL) AS re_scale, CONVERT(int, NULL) AS re_collatid, CONVERT(tinyint, NULL) AS re_xvtype,
    CONVERT(int, NULL) AS re_offset, CONVERT(tinyint, NULL) AS re_bitpos, CONVERT(tinyint, NULL) AS re_fNullable,
    CONVERT(tinyint, NULL) AS re_fAnsiTrim, CONVERT(int, NULL) AS re_computed, CONVERT(bigint, NULL) AS se_rowsetid,
    CONVERT(nvarchar(24), NULL) AS se_schema_lsn_begin, CONVERT(nvarchar(24), NULL) AS se_schema_lsn_end,
    CONVERT(int, NULL) AS se_numcols, CONVERT(int, NULL) AS se_colid, CONVERT(smallint, NULL) AS se_maxlen,
    CONVERT(tinyint, NULL) AS se_prec, CONVERT(tinyint, NULL) AS se_scale, CONVERT(int, NULL) AS se_collatid,
    CONVERT(tinyint, NULL) AS se_xvtype, CONVERT(int, NULL) AS se_offset, CONVERT(tinyint, NULL) AS se_bitpos,
    CONVERT(tinyint, NULL) AS se_fNullable, CONVERT(tinyint, NULL) AS se_fAnsiTrim,
    CONVERT(tinyint, NULL) AS se_computed, CONVERT(smallint, NULL) AS se_nullBitInLeafRows
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_repl_tranhash AS
SELECT CONVERT(int, NULL) AS buckets, CONVERT(int, NULL) AS hashed_trans, CONVERT(int, NULL) AS completed_trans,
    CONVERT(int, NULL) AS compensated_trans, CONVERT(nvarchar(24), NULL) AS first_begin_lsn,
    CONVERT(nvarchar(24), NULL) AS last_commit_lsn
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_repl_traninfo AS
SELECT CONVERT(tinyint, NULL) AS fp2p_pub_exists, CONVERT(int, NULL) AS db_ver,
    CONVERT(varbinary(8), NULL) AS comp_range_address, CONVERT(varbinary(8), NULL) AS textinfo_address,
    CONVERT(varbinary(8), NULL) AS fsinfo_address, CONVERT(nvarchar(24), NULL) AS begin_lsn,
    CONVERT(nvarchar(24), NULL) AS commit_lsn, CONVERT(smallint, NULL) AS dbid, CONVERT(int, NULL) AS rows,
    CONVERT(nvarchar(24), NULL) AS xdesid, CONVERT(varbinary(8), NULL) AS artcache_table_address,
    CONVERT(nvarchar(256), NULL) AS server, CONVERT(int, NULL) AS server_len_in_bytes,
    CONVERT(nvarchar(256), NULL) AS [database], CONVERT(int, NULL) AS db_len_in_bytes,
    CONVERT(nvarchar(256), NULL) AS originator, CONVERT(int, NULL) AS originator_len_in_bytes,
    CONVERT(nvarchar(256), NULL) AS orig_db, CONVERT(int, NULL) AS orig_db_len_in_bytes,
    CONVERT(int, NULL) AS cmds_in_tran, CONVERT(tinyint, NULL) AS is_boundedupdate_singleton,
    CONVERT(nvarchar(24), NULL) AS begin_update_lsn, CONVERT(nvarchar(24), NULL) AS delete_lsn,
    CONVERT(nvarchar(24), NULL) AS last_end_lsn, CONVERT(tinyint, NULL) AS fcomplete,
    CONVERT(tinyint, NULL) AS fcompensated, CONVERT(tinyint, NULL) AS fprocessingtext,
    CONVERT(int, NULL) AS max_cmds_in_tran, CONVERT(datetime, NULL) AS begin_time,
    CONVERT(datetime, NULL) AS commit_time, CONVERT(int, NULL) AS session_id,
    CONVERT(nvarchar(200), NULL) AS session_phase, CONVERT(tinyint, NULL) AS is_known_cdc_tran,
    CONVERT(int, NULL) AS error_count
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_resource_governor_resource_pool_affinity AS
SELECT CONVERT(int, NULL) AS pool_id, CONVERT(smallint, NULL) AS processor_group,
    CONVERT(bigint, NULL) AS scheduler_mask
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_server_memory_dumps AS
SELECT CONVERT(nvarchar(256), NULL) AS filename, CONVERT(datetimeoffset(7), NULL) AS creation_time,
    CONVERT(bigint, NULL) AS size_in_bytes
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_tran_commit_table AS
SELECT CONVERT(bigint, NULL) AS commit_ts, CONVERT(bigint, NULL) AS xdes_id, CONVERT(bigint, NULL) AS commit_lbn,
    CONVERT(bigint, NULL) AS commit_csn, CONVERT(datetime, NULL) AS commit_time
WHERE 1 = 0
