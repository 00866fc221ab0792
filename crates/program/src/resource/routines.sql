-- The standard's views of procedures and functions.
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.ROUTINES AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS SPECIFIC_CATALOG,
    CONVERT(nvarchar(128), s.name) AS SPECIFIC_SCHEMA,
    o.name AS SPECIFIC_NAME,
    CONVERT(nvarchar(128), DB_NAME()) AS ROUTINE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS ROUTINE_SCHEMA,
    o.name AS ROUTINE_NAME,
    CONVERT(nvarchar(20), CASE WHEN o.type = 'P' THEN 'PROCEDURE' ELSE 'FUNCTION' END) AS ROUTINE_TYPE,
    CONVERT(sysname, NULL) AS MODULE_CATALOG,
    CONVERT(sysname, NULL) AS MODULE_SCHEMA,
    CONVERT(sysname, NULL) AS MODULE_NAME,
    CONVERT(sysname, NULL) AS UDT_CATALOG,
    CONVERT(sysname, NULL) AS UDT_SCHEMA,
    CONVERT(sysname, NULL) AS UDT_NAME,
    CONVERT(nvarchar(128), CASE WHEN o.type IN ('IF', 'TF') THEN 'TABLE' ELSE t.type_name END) AS DATA_TYPE,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 1073741823
        WHEN t.is_unicode = 1 AND p.max_length > 0 THEN p.max_length / 2
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 2147483646
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_OCTET_LENGTH,
    CONVERT(sysname, NULL) AS COLLATION_CATALOG,
    CONVERT(sysname, NULL) AS COLLATION_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_text = 1 THEN CONVERT(sysname, DATABASEPROPERTYEX(DB_NAME(), 'Collation')) END) AS COLLATION_NAME,
    CONVERT(sysname, NULL) AS CHARACTER_SET_CATALOG,
    CONVERT(sysname, NULL) AS CHARACTER_SET_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_unicode = 1 THEN 'UNICODE' WHEN t.is_text = 1 THEN 'iso_1' END) AS CHARACTER_SET_NAME,
    CONVERT(tinyint, CASE WHEN t.radix IS NOT NULL THEN p.precision END) AS NUMERIC_PRECISION,
    t.radix AS NUMERIC_PRECISION_RADIX,
    CONVERT(smallint, CASE WHEN t.radix = 10 THEN p.scale END) AS NUMERIC_SCALE,
    CONVERT(smallint, CASE WHEN t.is_time = 1 THEN p.scale END) AS DATETIME_PRECISION,
    CONVERT(nvarchar(30), NULL) AS INTERVAL_TYPE,
    CONVERT(smallint, NULL) AS INTERVAL_PRECISION,
    CONVERT(sysname, NULL) AS TYPE_UDT_CATALOG,
    CONVERT(sysname, NULL) AS TYPE_UDT_SCHEMA,
    CONVERT(sysname, NULL) AS TYPE_UDT_NAME,
    CONVERT(sysname, NULL) AS SCOPE_CATALOG,
    CONVERT(sysname, NULL) AS SCOPE_SCHEMA,
    CONVERT(sysname, NULL) AS SCOPE_NAME,
    CONVERT(bigint, NULL) AS MAXIMUM_CARDINALITY,
    CONVERT(sysname, NULL) AS DTD_IDENTIFIER,
    CONVERT(nvarchar(30), 'SQL') AS ROUTINE_BODY,
    CONVERT(nvarchar(4000), m.definition) AS ROUTINE_DEFINITION,
    CONVERT(sysname, NULL) AS EXTERNAL_NAME,
    CONVERT(nvarchar(30), NULL) AS EXTERNAL_LANGUAGE,
    CONVERT(nvarchar(30), NULL) AS PARAMETER_STYLE,
    CONVERT(nvarchar(10), 'NO') AS IS_DETERMINISTIC,
    CONVERT(nvarchar(30), CASE WHEN o.type = 'P' THEN 'MODIFIES' ELSE 'READS' END) AS SQL_DATA_ACCESS,
    CONVERT(nvarchar(10), CASE WHEN o.type IN ('FN', 'IF', 'TF') THEN 'YES' END) AS IS_NULL_CALL,
    CONVERT(sysname, NULL) AS SQL_PATH,
    CONVERT(nvarchar(10), 'YES') AS SCHEMA_LEVEL_ROUTINE,
    CONVERT(smallint, CASE WHEN o.type = 'P' THEN -1 ELSE 0 END) AS MAX_DYNAMIC_RESULT_SETS,
    CONVERT(nvarchar(10), 'NO') AS IS_USER_DEFINED_CAST,
    CONVERT(nvarchar(10), 'NO') AS IS_IMPLICITLY_INVOCABLE,
    o.create_date AS CREATED,
    o.modify_date AS LAST_ALTERED
FROM sys.objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.parameters AS p ON p.object_id = o.object_id AND p.parameter_id = 0
    LEFT JOIN sys.[$typed] AS t ON t.user_type_id = p.system_type_id
    LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE o.type IN ('P', 'FN', 'IF', 'TF')
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.PARAMETERS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS SPECIFIC_CATALOG,
    CONVERT(nvarchar(128), s.name) AS SPECIFIC_SCHEMA,
    o.name AS SPECIFIC_NAME,
    p.parameter_id AS ORDINAL_POSITION,
    CONVERT(nvarchar(10), CASE WHEN p.parameter_id = 0 THEN 'OUT' WHEN p.is_output = 1 THEN 'INOUT' ELSE 'IN' END) AS PARAMETER_MODE,
    CONVERT(nvarchar(10), CASE WHEN p.parameter_id = 0 THEN 'YES' ELSE 'NO' END) AS IS_RESULT,
    CONVERT(nvarchar(10), 'NO') AS AS_LOCATOR,
    p.name AS PARAMETER_NAME,
    CONVERT(nvarchar(128), t.type_name) AS DATA_TYPE,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 1073741823
        WHEN t.is_unicode = 1 AND p.max_length > 0 THEN p.max_length / 2
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 2147483646
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_OCTET_LENGTH,
    CONVERT(sysname, NULL) AS COLLATION_CATALOG,
    CONVERT(sysname, NULL) AS COLLATION_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_text = 1 THEN CONVERT(sysname, DATABASEPROPERTYEX(DB_NAME(), 'Collation')) END) AS COLLATION_NAME,
    CONVERT(sysname, NULL) AS CHARACTER_SET_CATALOG,
    CONVERT(sysname, NULL) AS CHARACTER_SET_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_unicode = 1 THEN 'UNICODE' WHEN t.is_text = 1 THEN 'iso_1' END) AS CHARACTER_SET_NAME,
    CONVERT(tinyint, CASE WHEN t.radix IS NOT NULL THEN p.precision END) AS NUMERIC_PRECISION,
    t.radix AS NUMERIC_PRECISION_RADIX,
    CONVERT(int, CASE WHEN t.radix = 10 THEN p.scale END) AS NUMERIC_SCALE,
    CONVERT(smallint, CASE WHEN t.is_time = 1 THEN p.scale END) AS DATETIME_PRECISION,
    CONVERT(nvarchar(30), NULL) AS INTERVAL_TYPE,
    CONVERT(smallint, NULL) AS INTERVAL_PRECISION,
    CONVERT(sysname, NULL) AS USER_DEFINED_TYPE_CATALOG,
    CONVERT(sysname, NULL) AS USER_DEFINED_TYPE_SCHEMA,
    CONVERT(sysname, NULL) AS USER_DEFINED_TYPE_NAME,
    CONVERT(sysname, NULL) AS SCOPE_CATALOG,
    CONVERT(sysname, NULL) AS SCOPE_SCHEMA,
    CONVERT(sysname, NULL) AS SCOPE_NAME
FROM sys.parameters AS p
    JOIN sys.objects AS o ON o.object_id = p.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.[$typed] AS t ON t.user_type_id = p.system_type_id
WHERE o.type IN ('P', 'FN', 'IF', 'TF')
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.ROUTINE_COLUMNS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS TABLE_SCHEMA,
    o.name AS TABLE_NAME,
    p.name AS COLUMN_NAME,
    p.column_id AS ORDINAL_POSITION,
    CONVERT(nvarchar(4000), NULL) AS COLUMN_DEFAULT,
    CONVERT(varchar(3), CASE p.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END) AS IS_NULLABLE,
    CONVERT(nvarchar(128), t.type_name) AS DATA_TYPE,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 1073741823
        WHEN t.is_unicode = 1 AND p.max_length > 0 THEN p.max_length / 2
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, CASE WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id = 99 THEN 2147483646
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN p.max_length END) AS CHARACTER_OCTET_LENGTH,
    CONVERT(sysname, NULL) AS COLLATION_CATALOG,
    CONVERT(sysname, NULL) AS COLLATION_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_text = 1 THEN CONVERT(sysname, DATABASEPROPERTYEX(DB_NAME(), 'Collation')) END) AS COLLATION_NAME,
    CONVERT(sysname, NULL) AS CHARACTER_SET_CATALOG,
    CONVERT(sysname, NULL) AS CHARACTER_SET_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_unicode = 1 THEN 'UNICODE' WHEN t.is_text = 1 THEN 'iso_1' END) AS CHARACTER_SET_NAME,
    CONVERT(tinyint, CASE WHEN t.radix IS NOT NULL THEN p.precision END) AS NUMERIC_PRECISION,
    t.radix AS NUMERIC_PRECISION_RADIX,
    CONVERT(int, CASE WHEN t.radix = 10 THEN p.scale END) AS NUMERIC_SCALE,
    CONVERT(smallint, CASE WHEN t.is_time = 1 THEN p.scale END) AS DATETIME_PRECISION,
    CONVERT(sysname, NULL) AS DOMAIN_CATALOG,
    CONVERT(sysname, NULL) AS DOMAIN_SCHEMA,
    CONVERT(sysname, NULL) AS DOMAIN_NAME
FROM sys.columns AS p
    JOIN sys.objects AS o ON o.object_id = p.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.[$typed] AS t ON t.user_type_id = p.system_type_id
WHERE o.type IN ('IF', 'TF')
