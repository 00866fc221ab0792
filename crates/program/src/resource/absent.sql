-- Catalog views of things that are not there: nothing here can make one, so they have the columns of SQL Server 2022 and no rows.
-- Programs of the common language runtime.
-- needs: visible
CREATE VIEW sys.assemblies AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS assembly_id,
    CONVERT(nvarchar(4000), NULL) AS clr_name, CONVERT(tinyint, NULL) AS permission_set,
    CONVERT(nvarchar(60), NULL) AS permission_set_desc, CONVERT(bit, NULL) AS is_visible,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date, CONVERT(bit, NULL) AS is_user_defined
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.assembly_files AS
SELECT CONVERT(int, NULL) AS assembly_id, CONVERT(nvarchar(260), NULL) AS name, CONVERT(int, NULL) AS file_id,
    CONVERT(varbinary(max), NULL) AS content
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.assembly_modules AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS assembly_id, CONVERT(sysname, NULL) AS assembly_class,
    CONVERT(sysname, NULL) AS assembly_method, CONVERT(bit, NULL) AS null_on_null_input,
    CONVERT(int, NULL) AS execute_as_principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.assembly_references AS
SELECT CONVERT(int, NULL) AS assembly_id, CONVERT(int, NULL) AS referenced_assembly_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.trusted_assemblies AS
SELECT CONVERT(varbinary(8000), NULL) AS hash, CONVERT(nvarchar(4000), NULL) AS description,
    CONVERT(datetime2(7), NULL) AS create_date, CONVERT(sysname, NULL) AS created_by
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_clr_appdomains AS
SELECT CONVERT(varbinary(8), NULL) AS appdomain_address, CONVERT(int, NULL) AS appdomain_id,
    CONVERT(varchar(386), NULL) AS appdomain_name, CONVERT(datetime, NULL) AS creation_time, CONVERT(int, NULL) AS db_id,
    CONVERT(int, NULL) AS user_id, CONVERT(nvarchar(128), NULL) AS state, CONVERT(int, NULL) AS strong_refcount,
    CONVERT(int, NULL) AS weak_refcount, CONVERT(int, NULL) AS cost, CONVERT(int, NULL) AS value,
    CONVERT(int, NULL) AS compatibility_level, CONVERT(bigint, NULL) AS total_processor_time_ms,
    CONVERT(bigint, NULL) AS total_allocated_memory_kb, CONVERT(bigint, NULL) AS survived_memory_kb
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_clr_loaded_assemblies AS
SELECT CONVERT(int, NULL) AS assembly_id, CONVERT(varbinary(8), NULL) AS appdomain_address,
    CONVERT(datetime, NULL) AS load_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_clr_properties AS
SELECT CONVERT(nvarchar(128), NULL) AS name, CONVERT(nvarchar(128), NULL) AS value
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_clr_tasks AS
SELECT CONVERT(varbinary(8), NULL) AS task_address, CONVERT(varbinary(8), NULL) AS sos_task_address,
    CONVERT(varbinary(8), NULL) AS appdomain_address, CONVERT(nvarchar(128), NULL) AS state,
    CONVERT(nvarchar(128), NULL) AS abort_state, CONVERT(nvarchar(128), NULL) AS type, CONVERT(int, NULL) AS affinity_count,
    CONVERT(int, NULL) AS forced_yield_count
WHERE 1 = 0
GO
-- Keys and certificates.
-- needs: visible
CREATE VIEW sys.asymmetric_keys AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS asymmetric_key_id,
    CONVERT(char(2), NULL) AS pvt_key_encryption_type, CONVERT(nvarchar(60), NULL) AS pvt_key_encryption_type_desc,
    CONVERT(varbinary(32), NULL) AS thumbprint, CONVERT(char(2), NULL) AS algorithm,
    CONVERT(nvarchar(60), NULL) AS algorithm_desc, CONVERT(int, NULL) AS key_length, CONVERT(varbinary(85), NULL) AS sid,
    CONVERT(nvarchar(128), NULL) AS string_sid, CONVERT(varbinary(max), NULL) AS public_key,
    CONVERT(nvarchar(260), NULL) AS attested_by, CONVERT(nvarchar(120), NULL) AS provider_type,
    CONVERT(uniqueidentifier, NULL) AS cryptographic_provider_guid, CONVERT(sql_variant, NULL) AS cryptographic_provider_algid
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.certificates AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS certificate_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(char(2), NULL) AS pvt_key_encryption_type, CONVERT(nvarchar(60), NULL) AS pvt_key_encryption_type_desc,
    CONVERT(bit, NULL) AS is_active_for_begin_dialog, CONVERT(nvarchar(442), NULL) AS issuer_name,
    CONVERT(nvarchar(64), NULL) AS cert_serial_number, CONVERT(varbinary(85), NULL) AS sid,
    CONVERT(nvarchar(128), NULL) AS string_sid, CONVERT(nvarchar(4000), NULL) AS subject,
    CONVERT(datetime, NULL) AS expiry_date, CONVERT(datetime, NULL) AS start_date,
    CONVERT(varbinary(32), NULL) AS thumbprint, CONVERT(nvarchar(260), NULL) AS attested_by,
    CONVERT(datetime, NULL) AS pvt_key_last_backup_date, CONVERT(int, NULL) AS key_length
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.symmetric_keys AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS symmetric_key_id,
    CONVERT(int, NULL) AS key_length, CONVERT(char(2), NULL) AS key_algorithm, CONVERT(nvarchar(60), NULL) AS algorithm_desc,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(uniqueidentifier, NULL) AS key_guid, CONVERT(sql_variant, NULL) AS key_thumbprint,
    CONVERT(nvarchar(120), NULL) AS provider_type, CONVERT(uniqueidentifier, NULL) AS cryptographic_provider_guid,
    CONVERT(sql_variant, NULL) AS cryptographic_provider_algid
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.credentials AS
SELECT CONVERT(int, NULL) AS credential_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(4000), NULL) AS credential_identity, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(nvarchar(100), NULL) AS target_type, CONVERT(int, NULL) AS target_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_scoped_credentials AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS credential_id,
    CONVERT(nvarchar(4000), NULL) AS credential_identity, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(nvarchar(100), NULL) AS target_type, CONVERT(int, NULL) AS target_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.key_encryptions AS
SELECT CONVERT(int, NULL) AS key_id, CONVERT(varbinary(32), NULL) AS thumbprint, CONVERT(char(4), NULL) AS crypt_type,
    CONVERT(nvarchar(60), NULL) AS crypt_type_desc, CONVERT(varbinary(max), NULL) AS crypt_property
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.crypt_properties AS
SELECT CONVERT(tinyint, NULL) AS class, CONVERT(nvarchar(60), NULL) AS class_desc, CONVERT(int, NULL) AS major_id,
    CONVERT(varbinary(32), NULL) AS thumbprint, CONVERT(char(4), NULL) AS crypt_type,
    CONVERT(nvarchar(60), NULL) AS crypt_type_desc, CONVERT(varbinary(max), NULL) AS crypt_property
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.cryptographic_providers AS
SELECT CONVERT(int, NULL) AS provider_id, CONVERT(sysname, NULL) AS name, CONVERT(uniqueidentifier, NULL) AS guid,
    CONVERT(nvarchar(24), NULL) AS version, CONVERT(nvarchar(520), NULL) AS dll_path, CONVERT(bit, NULL) AS is_enabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_master_keys AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS column_master_key_id, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(sysname, NULL) AS key_store_provider_name,
    CONVERT(nvarchar(4000), NULL) AS key_path, CONVERT(bit, NULL) AS allow_enclave_computations,
    CONVERT(varbinary(max), NULL) AS signature
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_encryption_keys AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS column_encryption_key_id,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_encryption_key_values AS
SELECT CONVERT(int, NULL) AS column_encryption_key_id, CONVERT(int, NULL) AS column_master_key_id,
    CONVERT(varbinary(8000), NULL) AS encrypted_value, CONVERT(sysname, NULL) AS encryption_algorithm_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_database_encryption_keys AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS encryption_state, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS regenerate_date, CONVERT(datetime, NULL) AS modify_date, CONVERT(datetime, NULL) AS set_date,
    CONVERT(datetime, NULL) AS opened_date, CONVERT(nvarchar(32), NULL) AS key_algorithm, CONVERT(int, NULL) AS key_length,
    CONVERT(varbinary(20), NULL) AS encryptor_thumbprint, CONVERT(nvarchar(32), NULL) AS encryptor_type,
    CONVERT(real, NULL) AS percent_complete, CONVERT(nvarchar(32), NULL) AS encryption_state_desc,
    CONVERT(int, NULL) AS encryption_scan_state, CONVERT(nvarchar(32), NULL) AS encryption_scan_state_desc,
    CONVERT(datetime, NULL) AS encryption_scan_modify_date
WHERE 1 = 0
GO
-- Availability groups, mirroring, log shipping, clusters.
-- needs: visible
CREATE VIEW sys.availability_groups AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(40), NULL) AS resource_id, CONVERT(nvarchar(40), NULL) AS resource_group_id,
    CONVERT(int, NULL) AS failure_condition_level, CONVERT(int, NULL) AS health_check_timeout,
    CONVERT(tinyint, NULL) AS automated_backup_preference, CONVERT(nvarchar(60), NULL) AS automated_backup_preference_desc,
    CONVERT(smallint, NULL) AS version, CONVERT(bit, NULL) AS basic_features, CONVERT(bit, NULL) AS dtc_support,
    CONVERT(bit, NULL) AS db_failover, CONVERT(bit, NULL) AS is_distributed, CONVERT(tinyint, NULL) AS cluster_type,
    CONVERT(nvarchar(60), NULL) AS cluster_type_desc, CONVERT(int, NULL) AS required_synchronized_secondaries_to_commit,
    CONVERT(bigint, NULL) AS sequence_number, CONVERT(bit, NULL) AS is_contained
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_groups_cluster AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(sysname, NULL) AS name,
    CONVERT(nvarchar(40), NULL) AS resource_id, CONVERT(nvarchar(40), NULL) AS resource_group_id,
    CONVERT(int, NULL) AS failure_condition_level, CONVERT(int, NULL) AS health_check_timeout,
    CONVERT(tinyint, NULL) AS automated_backup_preference, CONVERT(nvarchar(60), NULL) AS automated_backup_preference_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_databases_cluster AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(uniqueidentifier, NULL) AS group_database_id,
    CONVERT(sysname, NULL) AS database_name, CONVERT(numeric(25, 0), NULL) AS truncation_lsn
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_group_listeners AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(nvarchar(36), NULL) AS listener_id,
    CONVERT(nvarchar(63), NULL) AS dns_name, CONVERT(int, NULL) AS port, CONVERT(bit, NULL) AS is_conformant,
    CONVERT(nvarchar(max), NULL) AS ip_configuration_string_from_cluster, CONVERT(bit, NULL) AS is_distributed_network_name
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_group_listener_ip_addresses AS
SELECT CONVERT(nvarchar(36), NULL) AS listener_id, CONVERT(nvarchar(48), NULL) AS ip_address,
    CONVERT(nvarchar(15), NULL) AS ip_subnet_mask, CONVERT(bit, NULL) AS is_dhcp,
    CONVERT(nvarchar(48), NULL) AS network_subnet_ip, CONVERT(int, NULL) AS network_subnet_prefix_length,
    CONVERT(nvarchar(15), NULL) AS network_subnet_ipv4_mask, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.availability_read_only_routing_lists AS
SELECT CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(int, NULL) AS routing_priority,
    CONVERT(uniqueidentifier, NULL) AS read_only_replica_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_availability_group_states AS
SELECT CONVERT(uniqueidentifier, NULL) AS group_id, CONVERT(nvarchar(128), NULL) AS primary_replica,
    CONVERT(tinyint, NULL) AS primary_recovery_health, CONVERT(nvarchar(60), NULL) AS primary_recovery_health_desc,
    CONVERT(tinyint, NULL) AS secondary_recovery_health, CONVERT(nvarchar(60), NULL) AS secondary_recovery_health_desc,
    CONVERT(tinyint, NULL) AS synchronization_health, CONVERT(nvarchar(60), NULL) AS synchronization_health_desc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_availability_replica_states AS
SELECT CONVERT(uniqueidentifier, NULL) AS replica_id, CONVERT(uniqueidentifier, NULL) AS group_id,
    CONVERT(bit, NULL) AS is_local, CONVERT(tinyint, NULL) AS role, CONVERT(nvarchar(60), NULL) AS role_desc,
    CONVERT(tinyint, NULL) AS operational_state, CONVERT(nvarchar(60), NULL) AS operational_state_desc,
    CONVERT(tinyint, NULL) AS connected_state, CONVERT(nvarchar(60), NULL) AS connected_state_desc,
    CONVERT(tinyint, NULL) AS recovery_health, CONVERT(nvarchar(60), NULL) AS recovery_health_desc,
    CONVERT(tinyint, NULL) AS synchronization_health, CONVERT(nvarchar(60), NULL) AS synchronization_health_desc,
    CONVERT(int, NULL) AS last_connect_error_number, CONVERT(nvarchar(1024), NULL) AS last_connect_error_description,
    CONVERT(datetime, NULL) AS last_connect_error_timestamp, CONVERT(bigint, NULL) AS write_lease_remaining_ticks,
    CONVERT(datetime, NULL) AS current_configuration_commit_start_time_utc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_cluster AS
SELECT CONVERT(nvarchar(128), NULL) AS cluster_name, CONVERT(tinyint, NULL) AS quorum_type,
    CONVERT(nvarchar(60), NULL) AS quorum_type_desc, CONVERT(tinyint, NULL) AS quorum_state,
    CONVERT(nvarchar(60), NULL) AS quorum_state_desc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_cluster_members AS
SELECT CONVERT(nvarchar(128), NULL) AS member_name, CONVERT(tinyint, NULL) AS member_type,
    CONVERT(nvarchar(60), NULL) AS member_type_desc, CONVERT(tinyint, NULL) AS member_state,
    CONVERT(nvarchar(60), NULL) AS member_state_desc, CONVERT(int, NULL) AS number_of_quorum_votes
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_cluster_networks AS
SELECT CONVERT(nvarchar(128), NULL) AS member_name, CONVERT(nvarchar(48), NULL) AS network_subnet_ip,
    CONVERT(nvarchar(45), NULL) AS network_subnet_ipv4_mask, CONVERT(int, NULL) AS network_subnet_prefix_length,
    CONVERT(bit, NULL) AS is_public, CONVERT(bit, NULL) AS is_ipv4
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_auto_page_repair AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS file_id, CONVERT(bigint, NULL) AS page_id,
    CONVERT(smallint, NULL) AS error_type, CONVERT(tinyint, NULL) AS page_status, CONVERT(datetime, NULL) AS modification_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_hadr_name_id_map AS
SELECT CONVERT(nvarchar(256), NULL) AS ag_name, CONVERT(uniqueidentifier, NULL) AS ag_id,
    CONVERT(nvarchar(256), NULL) AS ag_resource_id, CONVERT(nvarchar(256), NULL) AS ag_group_id
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_mirroring_auto_page_repair AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(int, NULL) AS file_id, CONVERT(bigint, NULL) AS page_id,
    CONVERT(smallint, NULL) AS error_type, CONVERT(tinyint, NULL) AS page_status, CONVERT(datetime, NULL) AS modification_time
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_db_mirroring_connections AS
SELECT CONVERT(uniqueidentifier, NULL) AS connection_id, CONVERT(uniqueidentifier, NULL) AS transport_stream_id,
    CONVERT(smallint, NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(datetime, NULL) AS connect_time,
    CONVERT(datetime, NULL) AS login_time, CONVERT(nvarchar(128), NULL) AS authentication_method,
    CONVERT(nvarchar(128), NULL) AS principal_name, CONVERT(nvarchar(128), NULL) AS remote_user_name,
    CONVERT(datetime, NULL) AS last_activity_time, CONVERT(bit, NULL) AS is_accept, CONVERT(smallint, NULL) AS login_state,
    CONVERT(nvarchar(60), NULL) AS login_state_desc, CONVERT(int, NULL) AS peer_certificate_id,
    CONVERT(smallint, NULL) AS encryption_algorithm, CONVERT(nvarchar(60), NULL) AS encryption_algorithm_desc,
    CONVERT(smallint, NULL) AS receives_posted, CONVERT(bit, NULL) AS is_receive_flow_controlled,
    CONVERT(smallint, NULL) AS sends_posted, CONVERT(bit, NULL) AS is_send_flow_controlled,
    CONVERT(bigint, NULL) AS total_bytes_sent, CONVERT(bigint, NULL) AS total_bytes_received,
    CONVERT(bigint, NULL) AS total_fragments_sent, CONVERT(bigint, NULL) AS total_fragments_received,
    CONVERT(bigint, NULL) AS total_sends, CONVERT(bigint, NULL) AS total_receives,
    CONVERT(uniqueidentifier, NULL) AS peer_arbitration_id, CONVERT(varbinary(8), NULL) AS address
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_mirroring_witnesses AS
SELECT CONVERT(sysname, NULL) AS database_name, CONVERT(sysname, NULL) AS principal_server_name,
    CONVERT(sysname, NULL) AS mirror_server_name, CONVERT(tinyint, NULL) AS safety_level,
    CONVERT(nvarchar(60), NULL) AS safety_level_desc, CONVERT(int, NULL) AS safety_sequence_number,
    CONVERT(int, NULL) AS role_sequence_number, CONVERT(uniqueidentifier, NULL) AS mirroring_guid,
    CONVERT(uniqueidentifier, NULL) AS family_guid, CONVERT(bit, NULL) AS is_suspended,
    CONVERT(int, NULL) AS is_suspended_sequence_number, CONVERT(tinyint, NULL) AS partner_sync_state,
    CONVERT(nvarchar(60), NULL) AS partner_sync_state_desc
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_os_cluster_nodes AS
SELECT CONVERT(nvarchar(512), NULL) AS NodeName, CONVERT(int, NULL) AS status,
    CONVERT(nvarchar(20), NULL) AS status_description, CONVERT(bit, NULL) AS is_current_owner
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_io_cluster_shared_drives AS
SELECT CONVERT(nvarchar(2), NULL) AS DriveName
WHERE 1 = 0
GO
-- Full-text search.
-- needs: visible
CREATE VIEW sys.fulltext_catalogs AS
SELECT CONVERT(int, NULL) AS fulltext_catalog_id, CONVERT(sysname, NULL) AS name, CONVERT(nvarchar(260), NULL) AS path,
    CONVERT(bit, NULL) AS is_default, CONVERT(bit, NULL) AS is_accent_sensitivity_on, CONVERT(int, NULL) AS data_space_id,
    CONVERT(int, NULL) AS file_id, CONVERT(int, NULL) AS principal_id, CONVERT(bit, NULL) AS is_importing
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_indexes AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS unique_index_id, CONVERT(int, NULL) AS fulltext_catalog_id,
    CONVERT(bit, NULL) AS is_enabled, CONVERT(char(1), NULL) AS change_tracking_state,
    CONVERT(nvarchar(60), NULL) AS change_tracking_state_desc, CONVERT(bit, NULL) AS has_crawl_completed,
    CONVERT(char(1), NULL) AS crawl_type, CONVERT(nvarchar(60), NULL) AS crawl_type_desc,
    CONVERT(datetime, NULL) AS crawl_start_date, CONVERT(datetime, NULL) AS crawl_end_date,
    CONVERT(varbinary(8), NULL) AS incremental_timestamp, CONVERT(int, NULL) AS stoplist_id,
    CONVERT(int, NULL) AS property_list_id, CONVERT(int, NULL) AS data_space_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_index_columns AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS column_id, CONVERT(int, NULL) AS type_column_id,
    CONVERT(int, NULL) AS language_id, CONVERT(int, NULL) AS statistical_semantics
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_index_fragments AS
SELECT CONVERT(int, NULL) AS table_id, CONVERT(int, NULL) AS fragment_id, CONVERT(int, NULL) AS fragment_object_id,
    CONVERT(varbinary(8), NULL) AS timestamp, CONVERT(int, NULL) AS status, CONVERT(bigint, NULL) AS data_size,
    CONVERT(bigint, NULL) AS row_count
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_stoplists AS
SELECT CONVERT(int, NULL) AS stoplist_id, CONVERT(sysname, NULL) AS name, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.fulltext_stopwords AS
SELECT CONVERT(int, NULL) AS stoplist_id, CONVERT(nvarchar(64), NULL) AS stopword, CONVERT(nvarchar(128), NULL) AS language,
    CONVERT(int, NULL) AS language_id
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.fulltext_languages AS
SELECT CONVERT(int, NULL) AS lcid, CONVERT(sysname, NULL) AS name
WHERE 1 = 0
GO
-- needs: facts
CREATE VIEW sys.fulltext_document_types AS
SELECT CONVERT(nvarchar(256), NULL) AS document_type, CONVERT(uniqueidentifier, NULL) AS class_id,
    CONVERT(nvarchar(260), NULL) AS path, CONVERT(nvarchar(256), NULL) AS version,
    CONVERT(nvarchar(256), NULL) AS manufacturer
WHERE 1 = 0
GO
-- Service Broker.
-- needs: visible
CREATE VIEW sys.services AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS service_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS service_queue_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_queues AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS schema_id, CONVERT(int, NULL) AS parent_object_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_published, CONVERT(bit, NULL) AS is_schema_published,
    CONVERT(smallint, NULL) AS max_readers, CONVERT(nvarchar(776), NULL) AS activation_procedure,
    CONVERT(int, NULL) AS execute_as_principal_id, CONVERT(bit, NULL) AS is_activation_enabled,
    CONVERT(bit, NULL) AS is_receive_enabled, CONVERT(bit, NULL) AS is_enqueue_enabled,
    CONVERT(bit, NULL) AS is_retention_enabled, CONVERT(bit, NULL) AS is_poison_message_handling_enabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_contracts AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS service_contract_id, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_contract_usages AS
SELECT CONVERT(int, NULL) AS service_id, CONVERT(int, NULL) AS service_contract_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_contract_message_usages AS
SELECT CONVERT(int, NULL) AS service_contract_id, CONVERT(int, NULL) AS message_type_id,
    CONVERT(bit, NULL) AS is_sent_by_initiator, CONVERT(bit, NULL) AS is_sent_by_target
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_message_types AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS message_type_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(char(2), NULL) AS validation, CONVERT(nvarchar(60), NULL) AS validation_desc,
    CONVERT(int, NULL) AS xml_collection_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.service_queue_usages AS
SELECT CONVERT(int, NULL) AS service_id, CONVERT(int, NULL) AS service_queue_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.conversation_groups AS
SELECT CONVERT(uniqueidentifier, NULL) AS conversation_group_id, CONVERT(int, NULL) AS service_id,
    CONVERT(bit, NULL) AS is_system
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.conversation_endpoints AS
SELECT CONVERT(uniqueidentifier, NULL) AS conversation_handle, CONVERT(uniqueidentifier, NULL) AS conversation_id,
    CONVERT(bit, NULL) AS is_initiator, CONVERT(int, NULL) AS service_contract_id,
    CONVERT(uniqueidentifier, NULL) AS conversation_group_id, CONVERT(int, NULL) AS service_id,
    CONVERT(datetime, NULL) AS lifetime, CONVERT(char(2), NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc,
    CONVERT(nvarchar(256), NULL) AS far_service, CONVERT(nvarchar(128), NULL) AS far_broker_instance,
    CONVERT(int, NULL) AS principal_id, CONVERT(int, NULL) AS far_principal_id,
    CONVERT(uniqueidentifier, NULL) AS outbound_session_key_identifier,
    CONVERT(uniqueidentifier, NULL) AS inbound_session_key_identifier, CONVERT(datetime, NULL) AS security_timestamp,
    CONVERT(datetime, NULL) AS dialog_timer, CONVERT(bigint, NULL) AS send_sequence,
    CONVERT(varbinary(6), NULL) AS last_send_tran_id, CONVERT(bigint, NULL) AS end_dialog_sequence,
    CONVERT(bigint, NULL) AS receive_sequence, CONVERT(int, NULL) AS receive_sequence_frag,
    CONVERT(bigint, NULL) AS system_sequence, CONVERT(bigint, NULL) AS first_out_of_order_sequence,
    CONVERT(bigint, NULL) AS last_out_of_order_sequence, CONVERT(int, NULL) AS last_out_of_order_frag,
    CONVERT(bit, NULL) AS is_system, CONVERT(tinyint, NULL) AS priority
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.conversation_priorities AS
SELECT CONVERT(int, NULL) AS priority_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS service_contract_id,
    CONVERT(int, NULL) AS local_service_id, CONVERT(nvarchar(256), NULL) AS remote_service_name,
    CONVERT(tinyint, NULL) AS priority
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.remote_service_bindings AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS remote_service_binding_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(nvarchar(256), NULL) AS remote_service_name, CONVERT(int, NULL) AS service_contract_id,
    CONVERT(int, NULL) AS remote_principal_id, CONVERT(bit, NULL) AS is_anonymous_on
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.routes AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS route_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(nvarchar(256), NULL) AS remote_service_name, CONVERT(nvarchar(128), NULL) AS broker_instance,
    CONVERT(datetime, NULL) AS lifetime, CONVERT(nvarchar(256), NULL) AS address,
    CONVERT(nvarchar(256), NULL) AS mirror_address
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.transmission_queue AS
SELECT CONVERT(uniqueidentifier, NULL) AS conversation_handle, CONVERT(nvarchar(256), NULL) AS to_service_name,
    CONVERT(nvarchar(128), NULL) AS to_broker_instance, CONVERT(nvarchar(256), NULL) AS from_service_name,
    CONVERT(nvarchar(256), NULL) AS service_contract_name, CONVERT(datetime, NULL) AS enqueue_time,
    CONVERT(bigint, NULL) AS message_sequence_number, CONVERT(nvarchar(256), NULL) AS message_type_name,
    CONVERT(bit, NULL) AS is_conversation_error, CONVERT(bit, NULL) AS is_end_of_dialog,
    CONVERT(varbinary(max), NULL) AS message_body, CONVERT(nvarchar(max), NULL) AS transmission_status,
    CONVERT(tinyint, NULL) AS priority
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.event_notifications AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(tinyint, NULL) AS parent_class,
    CONVERT(nvarchar(60), NULL) AS parent_class_desc, CONVERT(int, NULL) AS parent_id,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(nvarchar(256), NULL) AS service_name, CONVERT(nvarchar(128), NULL) AS broker_instance,
    CONVERT(varbinary(85), NULL) AS creator_sid, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_event_notifications AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(tinyint, NULL) AS parent_class,
    CONVERT(nvarchar(60), NULL) AS parent_class_desc, CONVERT(int, NULL) AS parent_id,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(nvarchar(256), NULL) AS service_name, CONVERT(nvarchar(128), NULL) AS broker_instance,
    CONVERT(varbinary(85), NULL) AS creator_sid, CONVERT(int, NULL) AS principal_id
WHERE 1 = 0
GO
-- In memory, in columns, in files, elsewhere.
-- needs: visible
CREATE VIEW sys.column_store_row_groups AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(int, NULL) AS partition_number,
    CONVERT(int, NULL) AS row_group_id, CONVERT(bigint, NULL) AS delta_store_hobt_id, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_description, CONVERT(bigint, NULL) AS total_rows,
    CONVERT(bigint, NULL) AS deleted_rows, CONVERT(bigint, NULL) AS size_in_bytes
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_store_segments AS
SELECT CONVERT(bigint, NULL) AS partition_id, CONVERT(bigint, NULL) AS hobt_id, CONVERT(int, NULL) AS column_id,
    CONVERT(int, NULL) AS segment_id, CONVERT(int, NULL) AS version, CONVERT(int, NULL) AS encoding_type,
    CONVERT(int, NULL) AS row_count, CONVERT(int, NULL) AS has_nulls, CONVERT(bigint, NULL) AS base_id,
    CONVERT(float, NULL) AS magnitude, CONVERT(int, NULL) AS primary_dictionary_id,
    CONVERT(int, NULL) AS secondary_dictionary_id, CONVERT(bigint, NULL) AS min_data_id,
    CONVERT(bigint, NULL) AS max_data_id, CONVERT(bigint, NULL) AS null_value, CONVERT(bigint, NULL) AS on_disk_size
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.column_store_dictionaries AS
SELECT CONVERT(bigint, NULL) AS partition_id, CONVERT(bigint, NULL) AS hobt_id, CONVERT(int, NULL) AS column_id,
    CONVERT(int, NULL) AS dictionary_id, CONVERT(int, NULL) AS version, CONVERT(int, NULL) AS type,
    CONVERT(int, NULL) AS last_id, CONVERT(bigint, NULL) AS entry_count, CONVERT(bigint, NULL) AS on_disk_size
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_column_store_row_group_physical_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id, CONVERT(int, NULL) AS partition_number,
    CONVERT(int, NULL) AS row_group_id, CONVERT(bigint, NULL) AS delta_store_hobt_id, CONVERT(tinyint, NULL) AS state,
    CONVERT(nvarchar(60), NULL) AS state_desc, CONVERT(bigint, NULL) AS total_rows, CONVERT(bigint, NULL) AS deleted_rows,
    CONVERT(bigint, NULL) AS size_in_bytes, CONVERT(tinyint, NULL) AS trim_reason,
    CONVERT(nvarchar(60), NULL) AS trim_reason_desc, CONVERT(tinyint, NULL) AS transition_to_compressed_state,
    CONVERT(nvarchar(60), NULL) AS transition_to_compressed_state_desc, CONVERT(bit, NULL) AS has_vertipaq_optimization,
    CONVERT(bigint, NULL) AS generation, CONVERT(datetime2(7), NULL) AS created_time,
    CONVERT(datetime2(7), NULL) AS closed_time
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_checkpoint_files AS
SELECT CONVERT(int, NULL) AS container_id, CONVERT(uniqueidentifier, NULL) AS container_guid,
    CONVERT(uniqueidentifier, NULL) AS checkpoint_file_id, CONVERT(nvarchar(256), NULL) AS relative_file_path,
    CONVERT(smallint, NULL) AS file_type, CONVERT(nvarchar(60), NULL) AS file_type_desc,
    CONVERT(int, NULL) AS internal_storage_slot, CONVERT(uniqueidentifier, NULL) AS checkpoint_pair_file_id,
    CONVERT(bigint, NULL) AS file_size_in_bytes, CONVERT(bigint, NULL) AS file_size_used_in_bytes,
    CONVERT(bigint, NULL) AS logical_row_count, CONVERT(smallint, NULL) AS state, CONVERT(nvarchar(60), NULL) AS state_desc,
    CONVERT(bigint, NULL) AS lower_bound_tsn, CONVERT(bigint, NULL) AS upper_bound_tsn,
    CONVERT(bigint, NULL) AS begin_checkpoint_id, CONVERT(bigint, NULL) AS end_checkpoint_id,
    CONVERT(bigint, NULL) AS last_updated_checkpoint_id, CONVERT(int, NULL) AS encryption_status,
    CONVERT(nvarchar(60), NULL) AS encryption_status_desc
WHERE 1 = 0
GO
-- needs: VIEW DATABASE STATE
CREATE VIEW sys.dm_db_xtp_table_memory_stats AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bigint, NULL) AS memory_allocated_for_table_kb,
    CONVERT(bigint, NULL) AS memory_used_by_table_kb, CONVERT(bigint, NULL) AS memory_allocated_for_indexes_kb,
    CONVERT(bigint, NULL) AS memory_used_by_indexes_kb
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.hash_indexes AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS index_id,
    CONVERT(tinyint, NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(bit, NULL) AS is_unique,
    CONVERT(int, NULL) AS data_space_id, CONVERT(bit, NULL) AS ignore_dup_key, CONVERT(bit, NULL) AS is_primary_key,
    CONVERT(bit, NULL) AS is_unique_constraint, CONVERT(tinyint, NULL) AS fill_factor, CONVERT(bit, NULL) AS is_padded,
    CONVERT(bit, NULL) AS is_disabled, CONVERT(bit, NULL) AS is_hypothetical, CONVERT(bit, NULL) AS allow_row_locks,
    CONVERT(bit, NULL) AS allow_page_locks, CONVERT(bit, NULL) AS has_filter,
    CONVERT(nvarchar(max), NULL) AS filter_definition, CONVERT(int, NULL) AS bucket_count, CONVERT(bit, NULL) AS auto_created
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.filetables AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bit, NULL) AS is_enabled, CONVERT(nvarchar(255), NULL) AS directory_name,
    CONVERT(int, NULL) AS filename_collation_id, CONVERT(nvarchar(128), NULL) AS filename_collation_name
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_filestream_file_io_requests AS
SELECT CONVERT(varbinary(8), NULL) AS request_context_address, CONVERT(smallint, NULL) AS current_spid,
    CONVERT(nvarchar(60), NULL) AS request_type, CONVERT(nvarchar(60), NULL) AS request_state,
    CONVERT(int, NULL) AS request_id, CONVERT(int, NULL) AS irp_id, CONVERT(int, NULL) AS handle_id,
    CONVERT(varbinary(8), NULL) AS client_thread_id, CONVERT(varbinary(8), NULL) AS client_process_id,
    CONVERT(varbinary(8), NULL) AS handle_context_address, CONVERT(varbinary(128), NULL) AS filestream_transaction_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_data_sources AS
SELECT CONVERT(int, NULL) AS data_source_id, CONVERT(sysname, NULL) AS name, CONVERT(nvarchar(4000), NULL) AS location,
    CONVERT(nvarchar(255), NULL) AS type_desc, CONVERT(tinyint, NULL) AS type,
    CONVERT(nvarchar(4000), NULL) AS resource_manager_location, CONVERT(int, NULL) AS credential_id,
    CONVERT(sysname, NULL) AS database_name, CONVERT(sysname, NULL) AS shard_map_name,
    CONVERT(nvarchar(4000), NULL) AS connection_options, CONVERT(nvarchar(256), NULL) AS pushdown
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_file_formats AS
SELECT CONVERT(int, NULL) AS file_format_id, CONVERT(sysname, NULL) AS name, CONVERT(tinyint, NULL) AS format_type,
    CONVERT(nvarchar(60), NULL) AS format_type_desc, CONVERT(nvarchar(10), NULL) AS field_terminator,
    CONVERT(nvarchar(1), NULL) AS string_delimiter, CONVERT(nvarchar(50), NULL) AS date_format,
    CONVERT(bit, NULL) AS use_type_default, CONVERT(nvarchar(255), NULL) AS serde_method,
    CONVERT(nvarchar(10), NULL) AS row_terminator, CONVERT(nvarchar(10), NULL) AS encoding,
    CONVERT(nvarchar(255), NULL) AS data_compression, CONVERT(int, NULL) AS first_row,
    CONVERT(nvarchar(255), NULL) AS extractor, CONVERT(nvarchar(422), NULL) AS null_values,
    CONVERT(nvarchar(8), NULL) AS parser_version
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.external_libraries AS
SELECT CONVERT(int, NULL) AS external_library_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS principal_id,
    CONVERT(sysname, NULL) AS language, CONVERT(int, NULL) AS scope, CONVERT(nvarchar(60), NULL) AS scope_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.remote_data_archive_databases AS
SELECT CONVERT(int, NULL) AS remote_database_id, CONVERT(sysname, NULL) AS remote_database_name,
    CONVERT(int, NULL) AS data_source_id, CONVERT(bit, NULL) AS federated_service_account
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.linked_logins AS
SELECT CONVERT(int, NULL) AS server_id, CONVERT(int, NULL) AS local_principal_id, CONVERT(bit, NULL) AS uses_self_credential,
    CONVERT(sysname, NULL) AS remote_name, CONVERT(datetime, NULL) AS modify_date
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.remote_logins AS
SELECT CONVERT(int, NULL) AS server_id, CONVERT(sysname, NULL) AS remote_name, CONVERT(int, NULL) AS local_principal_id,
    CONVERT(datetime, NULL) AS modify_date
WHERE 1 = 0
GO
-- Auditing, classification, masks, row-level security, ledgers.
-- needs: visible
CREATE VIEW sys.server_audits AS
SELECT CONVERT(int, NULL) AS audit_id, CONVERT(sysname, NULL) AS name, CONVERT(uniqueidentifier, NULL) AS audit_guid,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date, CONVERT(int, NULL) AS principal_id,
    CONVERT(char(2), NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS on_failure,
    CONVERT(nvarchar(60), NULL) AS on_failure_desc, CONVERT(bit, NULL) AS is_state_enabled,
    CONVERT(int, NULL) AS queue_delay, CONVERT(nvarchar(3000), NULL) AS predicate, CONVERT(bit, NULL) AS is_operator_audit
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_audit_specifications AS
SELECT CONVERT(int, NULL) AS server_specification_id, CONVERT(sysname, NULL) AS name, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(uniqueidentifier, NULL) AS audit_guid,
    CONVERT(bit, NULL) AS is_state_enabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_audit_specification_details AS
SELECT CONVERT(int, NULL) AS server_specification_id, CONVERT(char(4), NULL) AS audit_action_id,
    CONVERT(sysname, NULL) AS audit_action_name, CONVERT(tinyint, NULL) AS class, CONVERT(nvarchar(60), NULL) AS class_desc,
    CONVERT(int, NULL) AS major_id, CONVERT(int, NULL) AS minor_id, CONVERT(int, NULL) AS audited_principal_id,
    CONVERT(nvarchar(60), NULL) AS audited_result, CONVERT(bit, NULL) AS is_group
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_file_audits AS
SELECT CONVERT(int, NULL) AS audit_id, CONVERT(sysname, NULL) AS name, CONVERT(uniqueidentifier, NULL) AS audit_guid,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date, CONVERT(int, NULL) AS principal_id,
    CONVERT(char(2), NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(tinyint, NULL) AS on_failure,
    CONVERT(nvarchar(60), NULL) AS on_failure_desc, CONVERT(bit, NULL) AS is_state_enabled,
    CONVERT(int, NULL) AS queue_delay, CONVERT(nvarchar(3000), NULL) AS predicate, CONVERT(bit, NULL) AS is_operator_audit,
    CONVERT(bigint, NULL) AS max_file_size, CONVERT(int, NULL) AS max_rollover_files, CONVERT(int, NULL) AS max_files,
    CONVERT(bit, NULL) AS reserve_disk_space, CONVERT(nvarchar(260), NULL) AS log_file_path,
    CONVERT(nvarchar(260), NULL) AS log_file_name, CONVERT(int, NULL) AS retention_days
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_audit_specifications AS
SELECT CONVERT(int, NULL) AS database_specification_id, CONVERT(sysname, NULL) AS name,
    CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(uniqueidentifier, NULL) AS audit_guid, CONVERT(bit, NULL) AS is_state_enabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.database_audit_specification_details AS
SELECT CONVERT(int, NULL) AS database_specification_id, CONVERT(char(4), NULL) AS audit_action_id,
    CONVERT(sysname, NULL) AS audit_action_name, CONVERT(tinyint, NULL) AS class, CONVERT(nvarchar(60), NULL) AS class_desc,
    CONVERT(int, NULL) AS major_id, CONVERT(int, NULL) AS minor_id, CONVERT(int, NULL) AS audited_principal_id,
    CONVERT(nvarchar(60), NULL) AS audited_result, CONVERT(bit, NULL) AS is_group
WHERE 1 = 0
GO
-- needs: VIEW SERVER STATE
CREATE VIEW sys.dm_server_audit_status AS
SELECT CONVERT(int, NULL) AS audit_id, CONVERT(sysname, NULL) AS name, CONVERT(smallint, NULL) AS status,
    CONVERT(nvarchar(256), NULL) AS status_desc, CONVERT(datetime2(7), NULL) AS status_time,
    CONVERT(varbinary(8), NULL) AS event_session_address, CONVERT(nvarchar(256), NULL) AS audit_file_path,
    CONVERT(bigint, NULL) AS audit_file_size
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.sensitivity_classifications AS
SELECT CONVERT(int, NULL) AS class, CONVERT(varchar(16), NULL) AS class_desc, CONVERT(int, NULL) AS major_id,
    CONVERT(int, NULL) AS minor_id, CONVERT(sql_variant, NULL) AS label, CONVERT(sql_variant, NULL) AS label_id,
    CONVERT(sql_variant, NULL) AS information_type, CONVERT(sql_variant, NULL) AS information_type_id,
    CONVERT(int, NULL) AS rank, CONVERT(nvarchar(128), NULL) AS rank_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.security_policies AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS schema_id, CONVERT(int, NULL) AS parent_object_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_published, CONVERT(bit, NULL) AS is_schema_published,
    CONVERT(bit, NULL) AS is_enabled, CONVERT(bit, NULL) AS is_not_for_replication,
    CONVERT(bit, NULL) AS uses_database_collation, CONVERT(bit, NULL) AS is_schema_bound
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.security_predicates AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS security_predicate_id, CONVERT(int, NULL) AS target_object_id,
    CONVERT(nvarchar(max), NULL) AS predicate_definition, CONVERT(int, NULL) AS predicate_type,
    CONVERT(nvarchar(60), NULL) AS predicate_type_desc, CONVERT(int, NULL) AS operation,
    CONVERT(nvarchar(60), NULL) AS operation_desc
WHERE 1 = 0
GO
-- Data of other kinds.
-- needs: visible
CREATE VIEW sys.plan_guides AS
SELECT CONVERT(int, NULL) AS plan_guide_id, CONVERT(sysname, NULL) AS name, CONVERT(datetime, NULL) AS create_date,
    CONVERT(datetime, NULL) AS modify_date, CONVERT(bit, NULL) AS is_disabled, CONVERT(nvarchar(max), NULL) AS query_text,
    CONVERT(tinyint, NULL) AS scope_type, CONVERT(nvarchar(60), NULL) AS scope_type_desc,
    CONVERT(int, NULL) AS scope_object_id, CONVERT(nvarchar(max), NULL) AS scope_batch,
    CONVERT(nvarchar(max), NULL) AS parameters, CONVERT(nvarchar(max), NULL) AS hints
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.numbered_procedures AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(smallint, NULL) AS procedure_number,
    CONVERT(nvarchar(max), NULL) AS definition
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.numbered_procedure_parameters AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(smallint, NULL) AS procedure_number, CONVERT(sysname, NULL) AS name,
    CONVERT(int, NULL) AS parameter_id, CONVERT(tinyint, NULL) AS system_type_id, CONVERT(int, NULL) AS user_type_id,
    CONVERT(smallint, NULL) AS max_length, CONVERT(tinyint, NULL) AS precision, CONVERT(tinyint, NULL) AS scale,
    CONVERT(bit, NULL) AS is_output, CONVERT(bit, NULL) AS is_cursor_ref
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.periods AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(tinyint, NULL) AS period_type,
    CONVERT(nvarchar(60), NULL) AS period_type_desc, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS start_column_id,
    CONVERT(int, NULL) AS end_column_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.edge_constraints AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS principal_id,
    CONVERT(int, NULL) AS schema_id, CONVERT(int, NULL) AS parent_object_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_published, CONVERT(bit, NULL) AS is_schema_published,
    CONVERT(bit, NULL) AS is_disabled, CONVERT(bit, NULL) AS is_not_trusted, CONVERT(bit, NULL) AS is_system_named,
    CONVERT(tinyint, NULL) AS delete_referential_action, CONVERT(nvarchar(60), NULL) AS delete_referential_action_desc
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.edge_constraint_clauses AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS from_object_id, CONVERT(int, NULL) AS to_object_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.masked_columns AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS column_id,
    CONVERT(tinyint, NULL) AS system_type_id, CONVERT(int, NULL) AS user_type_id, CONVERT(smallint, NULL) AS max_length,
    CONVERT(tinyint, NULL) AS precision, CONVERT(tinyint, NULL) AS scale, CONVERT(sysname, NULL) AS collation_name,
    CONVERT(bit, NULL) AS is_nullable, CONVERT(bit, NULL) AS is_masked, CONVERT(nvarchar(4000), NULL) AS masking_function
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.change_tracking_databases AS
SELECT CONVERT(int, NULL) AS database_id, CONVERT(bit, NULL) AS is_auto_cleanup_on, CONVERT(int, NULL) AS retention_period,
    CONVERT(tinyint, NULL) AS retention_period_units, CONVERT(nvarchar(60), NULL) AS retention_period_units_desc,
    CONVERT(bigint, NULL) AS max_cleanup_version
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.change_tracking_tables AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(bit, NULL) AS is_track_columns_updated_on,
    CONVERT(bigint, NULL) AS min_valid_version, CONVERT(bigint, NULL) AS begin_version,
    CONVERT(bigint, NULL) AS cleanup_version
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_triggers AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(int, NULL) AS object_id, CONVERT(tinyint, NULL) AS parent_class,
    CONVERT(nvarchar(60), NULL) AS parent_class_desc, CONVERT(int, NULL) AS parent_id, CONVERT(char(2), NULL) AS type,
    CONVERT(nvarchar(60), NULL) AS type_desc, CONVERT(datetime, NULL) AS create_date, CONVERT(datetime, NULL) AS modify_date,
    CONVERT(bit, NULL) AS is_ms_shipped, CONVERT(bit, NULL) AS is_disabled
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_trigger_events AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc,
    CONVERT(bit, NULL) AS is_first, CONVERT(bit, NULL) AS is_last, CONVERT(int, NULL) AS event_group_type,
    CONVERT(nvarchar(60), NULL) AS event_group_type_desc, CONVERT(bit, NULL) AS is_trigger_event
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.server_sql_modules AS
SELECT CONVERT(int, NULL) AS object_id, CONVERT(nvarchar(max), NULL) AS definition, CONVERT(bit, NULL) AS uses_ansi_nulls,
    CONVERT(bit, NULL) AS uses_quoted_identifier, CONVERT(int, NULL) AS execute_as_principal_id
WHERE 1 = 0
GO
-- needs: visible
CREATE VIEW sys.backup_devices AS
SELECT CONVERT(sysname, NULL) AS name, CONVERT(tinyint, NULL) AS type, CONVERT(nvarchar(60), NULL) AS type_desc,
    CONVERT(nvarchar(260), NULL) AS physical_name
WHERE 1 = 0
