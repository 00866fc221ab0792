-- What OLE DB providers call for their schema rowsets: the columns are OLE DB's, the rows those of the catalog.
-- The forms that end in 2 go without the first restriction, which is NULL then; those with 90 and 100 were made for newer types.
-- Each kind is read once, in its first form.
-- needs: asks
CREATE PROCEDURE sys.sp_tables_rowset @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME,
    CONVERT(nvarchar(255), CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END) AS TABLE_TYPE,
    CONVERT(uniqueidentifier, NULL) AS TABLE_GUID, CONVERT(nvarchar(1), NULL) AS DESCRIPTION,
    CONVERT(int, NULL) AS TABLE_PROPID, o.create_date AS DATE_CREATED, CONVERT(datetime, NULL) AS DATE_MODIFIED
FROM INFORMATION_SCHEMA.TABLES AS t JOIN sys.objects AS o
    ON o.name = t.TABLE_NAME AND SCHEMA_NAME(o.schema_id) = t.TABLE_SCHEMA AND o.type IN ('U', 'V')
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema)
    AND (@table_type IS NULL OR @table_type = CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END)
ORDER BY 4, 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_rowset2 @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_rowset @table_name = NULL, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_rowset @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME,
    CONVERT(nvarchar(255), CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END) AS TABLE_TYPE,
    CONVERT(uniqueidentifier, NULL) AS TABLE_GUID, CONVERT(nvarchar(1), NULL) AS DESCRIPTION,
    CONVERT(int, NULL) AS TABLE_PROPID, o.create_date AS DATE_CREATED, CONVERT(datetime, NULL) AS DATE_MODIFIED,
    CONVERT(bit, 1) AS BOOKMARKS, CONVERT(int, 1) AS BOOKMARK_TYPE, CONVERT(smallint, 19) AS BOOKMARK_DATATYPE,
    CONVERT(int, 8) AS BOOKMARK_MAXIMUM_LENGTH, CONVERT(int, NULL) AS BOOKMARK_INFORMATION, CONVERT(int, NULL) AS TABLE_VERSION,
    CONVERT(int, (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2)) AS CARDINALITY
FROM INFORMATION_SCHEMA.TABLES AS t JOIN sys.objects AS o
    ON o.name = t.TABLE_NAME AND SCHEMA_NAME(o.schema_id) = t.TABLE_SCHEMA AND o.type IN ('U', 'V')
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema)
    AND (@table_type IS NULL OR @table_type = CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END)
ORDER BY 4, 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_rowset2 @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset @table_name = NULL, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_rowset_64 @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME,
    CONVERT(nvarchar(255), CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END) AS TABLE_TYPE,
    CONVERT(uniqueidentifier, NULL) AS TABLE_GUID, CONVERT(nvarchar(1), NULL) AS DESCRIPTION,
    CONVERT(int, NULL) AS TABLE_PROPID, o.create_date AS DATE_CREATED, CONVERT(datetime, NULL) AS DATE_MODIFIED,
    CONVERT(bit, 1) AS BOOKMARKS, CONVERT(int, 1) AS BOOKMARK_TYPE, CONVERT(smallint, 19) AS BOOKMARK_DATATYPE,
    CONVERT(int, 8) AS BOOKMARK_MAXIMUM_LENGTH, CONVERT(int, NULL) AS BOOKMARK_INFORMATION, CONVERT(bigint, NULL) AS TABLE_VERSION,
    CONVERT(bigint, (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2)) AS CARDINALITY
FROM INFORMATION_SCHEMA.TABLES AS t JOIN sys.objects AS o
    ON o.name = t.TABLE_NAME AND SCHEMA_NAME(o.schema_id) = t.TABLE_SCHEMA AND o.type IN ('U', 'V')
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema)
    AND (@table_type IS NULL OR @table_type = CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'TABLE' ELSE t.TABLE_TYPE END)
ORDER BY 4, 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_rowset2_64 @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset_64 @table_name = NULL, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_90_rowset @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset @table_name = @table_name, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_90_rowset2 @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset @table_name = NULL, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_90_rowset_64 @table_name sysname, @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset_64 @table_name = @table_name, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables_info_90_rowset2_64 @table_schema sysname = NULL, @table_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_tables_info_rowset_64 @table_name = NULL, @table_schema = @table_schema, @table_type = @table_type
RETURN 0
GO
-- needs: visible
CREATE VIEW sys.[$oledb] AS
SELECT t.* FROM (VALUES ('bigint', 20, 1), ('binary', 128, 1), ('bit', 11, 1), ('char', 129, 1), ('date', 133, 1), ('datetime', 135, 1),
    ('datetime2', 135, 1), ('datetimeoffset', 146, 1), ('decimal', 131, 1), ('float', 5, 1), ('image', 128, 0), ('int', 3, 1),
    ('money', 6, 1), ('nchar', 130, 1), ('ntext', 130, 0), ('numeric', 131, 1), ('nvarchar', 130, 0), ('real', 4, 1),
    ('smalldatetime', 135, 1), ('smallint', 2, 1), ('smallmoney', 6, 1), ('sql_variant', 12, 0), ('text', 129, 0), ('time', 145, 1),
    ('timestamp', 128, 1), ('tinyint', 17, 1), ('uniqueidentifier', 72, 1), ('varbinary', 128, 0), ('varchar', 129, 0), ('xml', 141, 0))
    AS t (name, oledb, fixed)
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_rowset @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME,
    CONVERT(uniqueidentifier, NULL) AS COLUMN_GUID, CONVERT(int, NULL) AS COLUMN_PROPID,
    CONVERT(int, c.ORDINAL_POSITION) AS ORDINAL_POSITION,
    CONVERT(bit, CASE WHEN c.COLUMN_DEFAULT IS NULL THEN 0 ELSE 1 END) AS COLUMN_HASDEFAULT, c.COLUMN_DEFAULT,
    CONVERT(int, CASE c.IS_NULLABLE WHEN 'YES' THEN 32 + 64 ELSE 0 END + CASE WHEN t.fixed = 1 THEN 16 ELSE 0 END) AS COLUMN_FLAGS,
    CONVERT(bit, CASE c.IS_NULLABLE WHEN 'YES' THEN 1 ELSE 0 END) AS IS_NULLABLE, CONVERT(smallint, t.oledb) AS DATA_TYPE,
    CONVERT(uniqueidentifier, NULL) AS TYPE_GUID, CONVERT(int, c.CHARACTER_MAXIMUM_LENGTH) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, c.CHARACTER_OCTET_LENGTH) AS CHARACTER_OCTET_LENGTH, CONVERT(smallint, c.NUMERIC_PRECISION) AS NUMERIC_PRECISION,
    CONVERT(smallint, c.NUMERIC_SCALE) AS NUMERIC_SCALE, CONVERT(int, c.DATETIME_PRECISION) AS DATETIME_PRECISION,
    CONVERT(sysname, NULL) AS CHARACTER_SET_CATALOG, CONVERT(sysname, NULL) AS CHARACTER_SET_SCHEMA, c.CHARACTER_SET_NAME,
    CONVERT(sysname, NULL) AS COLLATION_CATALOG, CONVERT(sysname, NULL) AS COLLATION_SCHEMA, c.COLLATION_NAME,
    CONVERT(sysname, NULL) AS DOMAIN_CATALOG, c.DOMAIN_SCHEMA, c.DOMAIN_NAME, CONVERT(nvarchar(1), NULL) AS DESCRIPTION
FROM INFORMATION_SCHEMA.COLUMNS AS c LEFT JOIN sys.[$oledb] AS t ON t.name = c.DATA_TYPE
WHERE (@table_name IS NULL OR c.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR c.TABLE_SCHEMA = @table_schema) AND (@column_name IS NULL OR c.COLUMN_NAME = @column_name)
ORDER BY 2, 3, 7
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_rowset2 @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_columns_rowset @table_name = NULL, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_90_rowset @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_columns_rowset @table_name = @table_name, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_90_rowset2 @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_columns_rowset @table_name = NULL, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_100_rowset @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_columns_rowset @table_name = @table_name, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_100_rowset2 @table_schema sysname = NULL, @column_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_columns_rowset @table_name = NULL, @table_schema = @table_schema, @column_name = @column_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_schemata_rowset @schema_name sysname = NULL, @schema_owner sysname = NULL AS
SET NOCOUNT ON
SELECT CATALOG_NAME, SCHEMA_NAME, SCHEMA_OWNER, DEFAULT_CHARACTER_SET_CATALOG, DEFAULT_CHARACTER_SET_SCHEMA, DEFAULT_CHARACTER_SET_NAME
FROM INFORMATION_SCHEMA.SCHEMATA
WHERE (@schema_name IS NULL OR SCHEMA_NAME = @schema_name) AND (@schema_owner IS NULL OR SCHEMA_OWNER = @schema_owner)
ORDER BY 1, 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_catalogs_rowset @catalog_name sysname AS
SET NOCOUNT ON
SELECT CONVERT(sysname, name) AS CATALOG_NAME, CONVERT(nvarchar(1), NULL) AS DESCRIPTION FROM sys.databases WHERE (@catalog_name IS NULL OR name = @catalog_name) ORDER BY 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_catalogs_rowset2 AS
SET NOCOUNT ON
EXEC sys.sp_catalogs_rowset @catalog_name = NULL
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_rowset @table_name sysname, @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS TABLE_SCHEMA, o.name AS TABLE_NAME,
    CONVERT(sysname, DB_NAME()) AS INDEX_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS INDEX_SCHEMA, i.name AS INDEX_NAME,
    i.is_primary_key AS PRIMARY_KEY, i.is_unique AS [UNIQUE], CONVERT(bit, CASE i.index_id WHEN 1 THEN 1 ELSE 0 END) AS [CLUSTERED],
    CONVERT(smallint, 1) AS TYPE, CONVERT(int, i.fill_factor) AS FILL_FACTOR, CONVERT(int, NULL) AS INITIAL_SIZE, CONVERT(int, 0) AS NULLS,
    CONVERT(bit, 0) AS SORT_BOOKMARKS, CONVERT(bit, 1) AS AUTO_UPDATE, CONVERT(int, 4) AS NULL_COLLATION,
    CONVERT(int, k.key_ordinal) AS ORDINAL_POSITION, c.name AS COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS COLUMN_GUID,
    CONVERT(int, NULL) AS COLUMN_PROPID, CONVERT(smallint, CASE k.is_descending_key WHEN 1 THEN 2 ELSE 1 END) AS COLLATION,
    CONVERT(decimal(20, 0), (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2)) AS CARDINALITY,
    CONVERT(int, NULL) AS PAGES, CONVERT(nvarchar(1), NULL) AS FILTER_CONDITION, CONVERT(bit, 1) AS INTEGRATED
FROM sys.indexes AS i JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0
    JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = k.column_id
WHERE o.type IN ('U', 'V') AND (@table_name IS NULL OR o.name = @table_name) AND (@table_schema IS NULL OR SCHEMA_NAME(o.schema_id) = @table_schema)
    AND (@index_name IS NULL OR i.name = @index_name)
ORDER BY 8 DESC, 10, 6, 17
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_rowset2 @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_indexes_rowset @table_name = NULL, @index_name = @index_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_90_rowset @table_name sysname, @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_indexes_rowset @table_name = @table_name, @index_name = @index_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_90_rowset2 @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_indexes_rowset @table_name = NULL, @index_name = @index_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_100_rowset @table_name sysname, @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_indexes_rowset @table_name = @table_name, @index_name = @index_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_indexes_100_rowset2 @index_name sysname = NULL, @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_indexes_rowset @table_name = NULL, @index_name = @index_name, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_primary_keys_rowset @table_name sysname, @table_schema sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS TABLE_SCHEMA, o.name AS TABLE_NAME,
    c.name AS COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS COLUMN_GUID, CONVERT(int, NULL) AS COLUMN_PROPID,
    CONVERT(int, k.key_ordinal) AS ORDINAL, i.name AS PK_NAME
FROM sys.indexes AS i JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0
    JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = k.column_id
WHERE i.is_primary_key = 1 AND (@table_name IS NULL OR o.name = @table_name) AND (@table_schema IS NULL OR SCHEMA_NAME(o.schema_id) = @table_schema)
ORDER BY 2, 3, 7
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_primary_keys_rowset2 @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_primary_keys_rowset @table_name = NULL, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_foreign_keys_rowset @pk_table_name sysname = NULL, @pk_table_schema sysname = NULL, @foreignkey_tab_name sysname = NULL, @foreignkey_tab_schema sysname = NULL, @foreignkey_tab_catalog sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS PK_TABLE_CATALOG, CONVERT(sysname, SCHEMA_NAME(p.schema_id)) AS PK_TABLE_SCHEMA, p.name AS PK_TABLE_NAME,
    pc.name AS PK_COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS PK_COLUMN_GUID, CONVERT(int, NULL) AS PK_COLUMN_PROPID,
    CONVERT(sysname, DB_NAME()) AS FK_TABLE_CATALOG, CONVERT(sysname, SCHEMA_NAME(t.schema_id)) AS FK_TABLE_SCHEMA, t.name AS FK_TABLE_NAME,
    tc.name AS FK_COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS FK_COLUMN_GUID, CONVERT(int, NULL) AS FK_COLUMN_PROPID,
    CONVERT(int, k.constraint_column_id) AS ORDINAL,
    CONVERT(nvarchar(11), REPLACE(f.update_referential_action_desc, '_', ' ')) AS UPDATE_RULE,
    CONVERT(nvarchar(11), REPLACE(f.delete_referential_action_desc, '_', ' ')) AS DELETE_RULE,
    i.name AS PK_NAME, f.name AS FK_NAME, CONVERT(smallint, 3) AS DEFERRABILITY
FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
    JOIN sys.objects AS p ON p.object_id = f.referenced_object_id JOIN sys.objects AS t ON t.object_id = f.parent_object_id
    JOIN sys.columns AS pc ON pc.object_id = p.object_id AND pc.column_id = k.referenced_column_id
    JOIN sys.columns AS tc ON tc.object_id = t.object_id AND tc.column_id = k.parent_column_id
    LEFT JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = f.key_index_id
WHERE (@pk_table_name IS NULL OR p.name = @pk_table_name) AND (@pk_table_schema IS NULL OR SCHEMA_NAME(p.schema_id) = @pk_table_schema)
    AND (@foreignkey_tab_name IS NULL OR t.name = @foreignkey_tab_name)
    AND (@foreignkey_tab_schema IS NULL OR SCHEMA_NAME(t.schema_id) = @foreignkey_tab_schema)
ORDER BY 8, 9, 17, 13
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_foreign_keys_rowset2 @foreignkey_tab_name sysname = NULL, @foreignkey_tab_schema sysname = NULL, @pk_table_name sysname = NULL, @pk_table_schema sysname = NULL, @pk_table_catalog sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_foreign_keys_rowset @pk_table_name = @pk_table_name, @pk_table_schema = @pk_table_schema, @foreignkey_tab_name = @foreignkey_tab_name, @foreignkey_tab_schema = @foreignkey_tab_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_foreign_keys_rowset3 @pk_table_schema sysname = NULL, @pk_table_catalog sysname = NULL, @foreignkey_tab_schema sysname = NULL, @foreignkey_tab_catalog sysname = NULL, @pk_table_name sysname = NULL, @foreignkey_tab_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_foreign_keys_rowset @pk_table_name = @pk_table_name, @pk_table_schema = @pk_table_schema, @foreignkey_tab_name = @foreignkey_tab_name, @foreignkey_tab_schema = @foreignkey_tab_schema, @foreignkey_tab_catalog = @foreignkey_tab_catalog
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedures_rowset @procedure_name sysname, @group_number int = 1, @procedure_schema sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS PROCEDURE_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS PROCEDURE_SCHEMA,
    CONVERT(nvarchar(134), o.name + ';1') AS PROCEDURE_NAME, CONVERT(smallint, CASE o.type WHEN 'P' THEN 2 ELSE 3 END) AS PROCEDURE_TYPE,
    CONVERT(ntext, NULL) AS PROCEDURE_DEFINITION, CONVERT(nvarchar(1), NULL) AS DESCRIPTION, o.create_date AS DATE_CREATED,
    CONVERT(datetime, NULL) AS DATE_MODIFIED
FROM sys.objects AS o
WHERE o.type IN ('P', 'FN', 'TF', 'IF') AND (@procedure_name IS NULL OR o.name = @procedure_name) AND (@procedure_schema IS NULL OR SCHEMA_NAME(o.schema_id) = @procedure_schema)
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedures_rowset2 @procedure_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedures_rowset @procedure_name = NULL, @procedure_schema = @procedure_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_rowset @procedure_name sysname, @group_number int = 1, @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS PROCEDURE_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS PROCEDURE_SCHEMA,
    CONVERT(nvarchar(134), o.name + ';1') AS PROCEDURE_NAME, p.name AS PARAMETER_NAME, CONVERT(smallint, p.parameter_id) AS ORDINAL_POSITION,
    CONVERT(smallint, CASE WHEN p.parameter_id = 0 THEN 4 WHEN p.is_output = 1 THEN 2 ELSE 1 END) AS PARAMETER_TYPE,
    CONVERT(bit, 0) AS PARAMETER_HASDEFAULT, CONVERT(nvarchar(255), NULL) AS PARAMETER_DEFAULT, CONVERT(bit, 1) AS IS_NULLABLE,
    CONVERT(smallint, t.oledb) AS DATA_TYPE, CONVERT(int, p.max_length) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, p.max_length) AS CHARACTER_OCTET_LENGTH, CONVERT(smallint, p.precision) AS NUMERIC_PRECISION,
    CONVERT(smallint, p.scale) AS NUMERIC_SCALE, CONVERT(nvarchar(1), NULL) AS DESCRIPTION, CONVERT(sysname, TYPE_NAME(p.user_type_id)) AS TYPE_NAME,
    CONVERT(sysname, TYPE_NAME(p.user_type_id)) AS LOCAL_TYPE_NAME
FROM sys.parameters AS p JOIN sys.objects AS o ON o.object_id = p.object_id
    LEFT JOIN sys.[$oledb] AS t ON t.name = TYPE_NAME(p.system_type_id)
WHERE (@procedure_name IS NULL OR o.name = @procedure_name) AND (@procedure_schema IS NULL OR SCHEMA_NAME(o.schema_id) = @procedure_schema) AND (@parameter_name IS NULL OR p.name = @parameter_name)
ORDER BY 2, 3, 5
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_rowset2 @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedure_params_rowset @procedure_name = NULL, @procedure_schema = @procedure_schema, @parameter_name = @parameter_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_90_rowset @procedure_name sysname, @group_number int = 1, @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedure_params_rowset @procedure_name = @procedure_name, @group_number = @group_number, @procedure_schema = @procedure_schema, @parameter_name = @parameter_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_90_rowset2 @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedure_params_rowset @procedure_name = NULL, @procedure_schema = @procedure_schema, @parameter_name = @parameter_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_100_rowset @procedure_name sysname, @group_number int = 1, @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedure_params_rowset @procedure_name = @procedure_name, @group_number = @group_number, @procedure_schema = @procedure_schema, @parameter_name = @parameter_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_procedure_params_100_rowset2 @procedure_schema sysname = NULL, @parameter_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_procedure_params_rowset @procedure_name = NULL, @procedure_schema = @procedure_schema, @parameter_name = @parameter_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_views_rowset @view_name sysname, @view_schema sysname = NULL AS
SET NOCOUNT ON
SELECT v.TABLE_CATALOG, v.TABLE_SCHEMA, v.TABLE_NAME, v.VIEW_DEFINITION, CONVERT(bit, 0) AS CHECK_OPTION,
    CONVERT(bit, 0) AS IS_UPDATABLE, CONVERT(nvarchar(1), NULL) AS DESCRIPTION, CONVERT(datetime, NULL) AS DATE_CREATED,
    CONVERT(datetime, NULL) AS DATE_MODIFIED
FROM INFORMATION_SCHEMA.VIEWS AS v
WHERE (@view_name IS NULL OR v.TABLE_NAME = @view_name) AND (@view_schema IS NULL OR v.TABLE_SCHEMA = @view_schema)
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_views_rowset2 @view_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_views_rowset @view_name = NULL, @view_schema = @view_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_constraints_rowset @table_name sysname, @table_schema sysname = NULL, @table_catalog sysname = NULL, @constraint_name sysname = NULL, @constraint_schema sysname = NULL, @constraint_catalog sysname = NULL, @constraint_type nvarchar(255) = NULL AS
SET NOCOUNT ON
SELECT t.CONSTRAINT_CATALOG, t.CONSTRAINT_SCHEMA, t.CONSTRAINT_NAME, t.TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME, t.CONSTRAINT_TYPE,
    CONVERT(bit, 0) AS IS_DEFERRABLE, CONVERT(bit, 0) AS INITIALLY_DEFERRED, CONVERT(nvarchar(1), NULL) AS DESCRIPTION
FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS t
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema) AND (@constraint_name IS NULL OR t.CONSTRAINT_NAME = @constraint_name)
    AND (@constraint_type IS NULL OR t.CONSTRAINT_TYPE = @constraint_type)
ORDER BY 2, 3, 5, 6, 7
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_constraints_rowset2 @table_schema sysname = NULL, @table_catalog sysname = NULL, @constraint_name sysname = NULL, @constraint_schema sysname = NULL, @constraint_catalog sysname = NULL, @constraint_type nvarchar(255) = NULL AS
SET NOCOUNT ON
EXEC sys.sp_table_constraints_rowset @table_name = NULL, @table_schema = @table_schema, @table_catalog = @table_catalog, @constraint_name = @constraint_name, @constraint_schema = @constraint_schema, @constraint_catalog = @constraint_catalog, @constraint_type = @constraint_type
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_check_constraints_rowset @constraint_name sysname, @constraint_schema sysname = NULL AS
SET NOCOUNT ON
SELECT c.CONSTRAINT_CATALOG, c.CONSTRAINT_SCHEMA, c.CONSTRAINT_NAME, c.CHECK_CLAUSE, CONVERT(nvarchar(1), NULL) AS DESCRIPTION
FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS AS c
WHERE (@constraint_name IS NULL OR c.CONSTRAINT_NAME = @constraint_name) AND (@constraint_schema IS NULL OR c.CONSTRAINT_SCHEMA = @constraint_schema)
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_check_constraints_rowset2 @constraint_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_check_constraints_rowset @constraint_name = NULL, @constraint_schema = @constraint_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_check_constbytable_rowset @table_name sysname, @table_schema sysname = NULL, @constraint_name sysname = NULL, @constraint_schema sysname = NULL AS
SET NOCOUNT ON
SELECT t.CONSTRAINT_CATALOG, t.CONSTRAINT_SCHEMA, t.CONSTRAINT_NAME, t.TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME, c.CHECK_CLAUSE,
    CONVERT(nvarchar(1), NULL) AS DESCRIPTION
FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS t JOIN INFORMATION_SCHEMA.CHECK_CONSTRAINTS AS c
    ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema) AND (@constraint_name IS NULL OR t.CONSTRAINT_NAME = @constraint_name)
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_check_constbytable_rowset2 @table_schema sysname = NULL, @constraint_name sysname = NULL, @constraint_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_check_constbytable_rowset @table_name = NULL, @table_schema = @table_schema, @constraint_name = @constraint_name, @constraint_schema = @constraint_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_constr_col_usage_rowset @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL, @constr_catalog sysname = NULL, @constr_schema sysname = NULL, @constr_name sysname = NULL AS
SET NOCOUNT ON
SELECT c.TABLE_CATALOG, c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS COLUMN_GUID,
    CONVERT(int, NULL) AS COLUMN_PROPID, c.CONSTRAINT_CATALOG, c.CONSTRAINT_SCHEMA, c.CONSTRAINT_NAME
FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE AS c
WHERE (@table_name IS NULL OR c.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR c.TABLE_SCHEMA = @table_schema) AND (@column_name IS NULL OR c.COLUMN_NAME = @column_name)
ORDER BY 2, 3, 4, 8, 9
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_constr_col_usage_rowset2 @table_schema sysname = NULL, @column_name sysname = NULL, @constr_catalog sysname = NULL, @constr_schema sysname = NULL, @constr_name sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_constr_col_usage_rowset @table_name = NULL, @table_schema = @table_schema, @column_name = @column_name, @constr_catalog = @constr_catalog, @constr_schema = @constr_schema, @constr_name = @constr_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_column_privileges_rowset @table_name sysname, @table_schema sysname = NULL, @column_name sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
SELECT c.GRANTOR, c.GRANTEE, c.TABLE_CATALOG, c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, CONVERT(uniqueidentifier, NULL) AS COLUMN_GUID,
    CONVERT(int, NULL) AS COLUMN_PROPID, c.PRIVILEGE_TYPE, CONVERT(bit, CASE c.IS_GRANTABLE WHEN 'YES' THEN 1 ELSE 0 END) AS IS_GRANTABLE
FROM INFORMATION_SCHEMA.COLUMN_PRIVILEGES AS c
WHERE (@table_name IS NULL OR c.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR c.TABLE_SCHEMA = @table_schema) AND (@column_name IS NULL OR c.COLUMN_NAME = @column_name)
    AND (@grantor IS NULL OR c.GRANTOR = @grantor) AND (@grantee IS NULL OR c.GRANTEE = @grantee)
ORDER BY 4, 5, 6, 9
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_column_privileges_rowset2 @table_schema sysname = NULL, @column_name sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_column_privileges_rowset @table_name = NULL, @table_schema = @table_schema, @column_name = @column_name, @grantor = @grantor, @grantee = @grantee
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_privileges_rowset @table_name sysname, @table_schema sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
SELECT t.GRANTOR, t.GRANTEE, t.TABLE_CATALOG, t.TABLE_SCHEMA, t.TABLE_NAME, t.PRIVILEGE_TYPE,
    CONVERT(bit, CASE t.IS_GRANTABLE WHEN 'YES' THEN 1 ELSE 0 END) AS IS_GRANTABLE
FROM INFORMATION_SCHEMA.TABLE_PRIVILEGES AS t
WHERE (@table_name IS NULL OR t.TABLE_NAME = @table_name) AND (@table_schema IS NULL OR t.TABLE_SCHEMA = @table_schema) AND (@grantor IS NULL OR t.GRANTOR = @grantor)
    AND (@grantee IS NULL OR t.GRANTEE = @grantee)
ORDER BY 4, 5, 6
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_privileges_rowset2 @table_schema sysname = NULL, @grantor sysname = NULL, @grantee sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_table_privileges_rowset @table_name = NULL, @table_schema = @table_schema, @grantor = @grantor, @grantee = @grantee
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_statistics_rowset @table_name sysname, @table_schema sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_CATALOG, CONVERT(sysname, SCHEMA_NAME(o.schema_id)) AS TABLE_SCHEMA, o.name AS TABLE_NAME,
    CONVERT(decimal(20, 0), SUM(p.rows)) AS CARDINALITY
FROM sys.objects AS o JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id < 2
WHERE o.type = 'U' AND (@table_name IS NULL OR o.name = @table_name) AND (@table_schema IS NULL OR SCHEMA_NAME(o.schema_id) = @table_schema)
GROUP BY o.schema_id, o.name
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_statistics_rowset2 @table_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_statistics_rowset @table_name = NULL, @table_schema = @table_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_usertypes_rowset @type_name sysname, @type_schema sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(sysname, DB_NAME()) AS TYPE_CATALOG, CONVERT(sysname, SCHEMA_NAME(t.schema_id)) AS TYPE_SCHEMA, t.name AS TYPE_NAME,
    CONVERT(sysname, TYPE_NAME(t.system_type_id)) AS BASE_TYPE_NAME
FROM sys.types AS t
WHERE t.is_user_defined = 1 AND (@type_name IS NULL OR t.name = @type_name) AND (@type_schema IS NULL OR SCHEMA_NAME(t.schema_id) = @type_schema)
ORDER BY 2, 3
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_usertypes_rowset2 @type_schema sysname = NULL AS
SET NOCOUNT ON
EXEC sys.sp_usertypes_rowset @type_name = NULL, @type_schema = @type_schema
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_linkedservers_rowset @srvname sysname AS
SET NOCOUNT ON
SELECT s.name AS SVR_NAME, CONVERT(nvarchar(128), s.product) AS SVR_PRODUCT, s.provider AS SVR_PROVIDERNAME, s.data_source AS SVR_DATASOURCE,
    s.provider_string AS SVR_PROVIDERSTRING, s.location AS SVR_LOCATION, s.catalog AS SVR_CATALOG
FROM sys.servers AS s WHERE (@srvname IS NULL OR s.name = @srvname) ORDER BY 1
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_linkedservers_rowset2 AS
SET NOCOUNT ON
EXEC sys.sp_linkedservers_rowset @srvname = NULL
RETURN 0
