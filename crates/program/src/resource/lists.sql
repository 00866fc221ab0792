-- Catalog views that are parts of others.
-- needs: visible
CREATE VIEW sys.views AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date,
    o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published,
    CONVERT(bit, 0) AS is_replicated, CONVERT(bit, 0) AS has_replication_filter, CONVERT(bit, 0) AS has_opaque_metadata,
    CONVERT(bit, 0) AS has_unchecked_assembly_data, CONVERT(bit, 0) AS with_check_option,
    CONVERT(bit, 0) AS is_date_correlation_view, CONVERT(bit, 0) AS is_tracked_by_cdc,
    CONVERT(bit, 0) AS has_snapshot, CONVERT(tinyint, 0) AS ledger_view_type,
    CONVERT(nvarchar(60), 'NON_LEDGER_VIEW') AS ledger_view_type_desc, CONVERT(bit, 0) AS is_dropped_ledger_view
FROM sys.objects AS o WHERE o.type = 'V'
GO
-- needs: visible
CREATE VIEW sys.all_views AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date,
    o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published,
    CONVERT(bit, 0) AS is_replicated, CONVERT(bit, 0) AS has_replication_filter, CONVERT(bit, 0) AS has_opaque_metadata,
    CONVERT(bit, 0) AS has_unchecked_assembly_data, CONVERT(bit, 0) AS with_check_option,
    CONVERT(bit, 0) AS is_date_correlation_view, CONVERT(bit, 0) AS is_tracked_by_cdc,
    CONVERT(bit, 0) AS has_snapshot, CONVERT(tinyint, 0) AS ledger_view_type,
    CONVERT(nvarchar(60), 'NON_LEDGER_VIEW') AS ledger_view_type_desc, CONVERT(bit, 0) AS is_dropped_ledger_view
FROM sys.all_objects AS o WHERE o.type = 'V'
GO
-- needs: facts
CREATE VIEW sys.system_views AS SELECT * FROM sys.all_views WHERE is_ms_shipped = 1
GO
-- needs: visible
CREATE VIEW sys.procedures AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date,
    o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published,
    CONVERT(bit, 0) AS is_auto_executed, CONVERT(bit, 0) AS is_execution_replicated,
    CONVERT(bit, 0) AS is_repl_serializable_only, CONVERT(bit, 0) AS skips_repl_constraints
FROM sys.objects AS o WHERE o.type = 'P'
GO
-- needs: visible
CREATE VIEW sys.all_sql_modules AS
SELECT * FROM sys.sql_modules UNION ALL SELECT * FROM sys.system_sql_modules
GO
-- Nothing can make these yet: CREATE SEQUENCE and ASSEMBLY are refused.
-- needs: visible
CREATE VIEW sys.sequences AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date,
    o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published,
    CONVERT(sql_variant, NULL) AS start_value, CONVERT(sql_variant, NULL) AS increment,
    CONVERT(sql_variant, NULL) AS minimum_value, CONVERT(sql_variant, NULL) AS maximum_value,
    CONVERT(bit, NULL) AS is_cycling, CONVERT(bit, NULL) AS is_cached, CONVERT(int, NULL) AS cache_size,
    CONVERT(tinyint, NULL) AS system_type_id, CONVERT(int, NULL) AS user_type_id, CONVERT(tinyint, NULL) AS precision,
    CONVERT(tinyint, NULL) AS scale, CONVERT(sql_variant, NULL) AS current_value, CONVERT(bit, NULL) AS is_exhausted,
    CONVERT(sql_variant, NULL) AS last_used_value
FROM sys.objects AS o WHERE o.type = 'SO'
GO
-- needs: visible
CREATE VIEW sys.assembly_types AS
SELECT t.*, CONVERT(int, NULL) AS assembly_id, CONVERT(sysname, NULL) AS assembly_class,
    CONVERT(bit, NULL) AS is_binary_ordered, CONVERT(bit, NULL) AS is_fixed_length,
    CONVERT(nvarchar(40), NULL) AS prog_id, CONVERT(nvarchar(4000), NULL) AS assembly_qualified_name
FROM sys.types AS t WHERE t.is_assembly_type = 1
