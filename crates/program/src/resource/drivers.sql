-- The catalog procedures that ODBC, JDBC and OLE DB drivers call.
-- What each type is for them: number in ODBC 3 and 2, how its length is counted (c characters, w wide characters,
-- b bytes, d decimal, t time, f fixed, l large), precision and length where fixed, scale, radix, the verbose type,
-- its part, the number in TDS of NOT NULL and of NULL columns, prefix and suffix of literals, parameters.
-- needs: visible
CREATE VIEW sys.[$odbc] AS
SELECT t.* FROM (VALUES
    (34, 'image', -4, -4, 'l', 2147483647, 2147483647, NULL, NULL, -4, NULL, 34, 34, '0x', NULL, NULL),
    (35, 'text', -1, -1, 'l', 2147483647, 2147483647, NULL, NULL, -1, NULL, 35, 35, '''', '''', NULL),
    (36, 'uniqueidentifier', -11, -11, 'f', 36, 16, NULL, NULL, -11, NULL, 37, 37, '''', '''', NULL),
    (40, 'date', 91, -9, 'f', 10, 6, 0, NULL, 9, 1, 0, 0, '''', '''', NULL),
    (41, 'time', -154, -9, 't', 8, 12, 7, NULL, -154, 0, 0, 0, '''', '''', 'scale'),
    (42, 'datetime2', 93, -9, 't', 19, 16, 7, NULL, 9, 3, 0, 0, '''', '''', 'scale'),
    (43, 'datetimeoffset', -155, -9, 't', 26, 20, 7, NULL, -155, 0, 0, 0, '''', '''', 'scale'),
    (48, 'tinyint', -6, -6, 'f', 3, 1, 0, 10, -6, NULL, 48, 38, NULL, NULL, NULL),
    (52, 'smallint', 5, 5, 'f', 5, 2, 0, 10, 5, NULL, 52, 38, NULL, NULL, NULL),
    (56, 'int', 4, 4, 'f', 10, 4, 0, 10, 4, NULL, 56, 38, NULL, NULL, NULL),
    (58, 'smalldatetime', 93, 11, 'f', 16, 16, 0, NULL, 9, 3, 58, 111, '''', '''', NULL),
    (59, 'real', 7, 7, 'f', 24, 4, NULL, 2, 7, NULL, 59, 109, NULL, NULL, NULL),
    (60, 'money', 3, 3, 'f', 19, 21, 4, 10, 3, NULL, 60, 110, '$', NULL, NULL),
    (61, 'datetime', 93, 11, 'f', 23, 16, 3, NULL, 9, 3, 61, 111, '''', '''', NULL),
    (62, 'float', 6, 6, 'f', 53, 8, NULL, 2, 6, NULL, 62, 109, NULL, NULL, NULL),
    (98, 'sql_variant', -150, -150, 'f', 8000, 8000, 0, 10, -150, NULL, 39, 39, NULL, NULL, NULL),
    (99, 'ntext', -10, -10, 'l', 1073741823, 2147483646, NULL, NULL, -10, NULL, 35, 35, 'N''', '''', NULL),
    (104, 'bit', -7, -7, 'f', 1, 1, NULL, NULL, -7, NULL, 50, 50, NULL, NULL, NULL),
    (106, 'decimal', 3, 3, 'd', 38, 40, 0, 10, 3, NULL, 55, 106, NULL, NULL, 'precision,scale'),
    (108, 'numeric', 2, 2, 'd', 38, 40, 0, 10, 2, NULL, 63, 108, NULL, NULL, 'precision,scale'),
    (122, 'smallmoney', 3, 3, 'f', 10, 12, 4, 10, 3, NULL, 122, 110, '$', NULL, NULL),
    (127, 'bigint', -5, -5, 'f', 19, 8, 0, 10, -5, NULL, 63, 108, NULL, NULL, NULL),
    (165, 'varbinary', -3, -3, 'b', 8000, 8000, NULL, NULL, -3, NULL, 37, 37, '0x', NULL, 'max length'),
    (167, 'varchar', 12, 12, 'c', 8000, 8000, NULL, NULL, 12, NULL, 39, 39, '''', '''', 'max length'),
    (173, 'binary', -2, -2, 'b', 8000, 8000, NULL, NULL, -2, NULL, 45, 45, '0x', NULL, 'length'),
    (175, 'char', 1, 1, 'c', 8000, 8000, NULL, NULL, 1, NULL, 47, 47, '''', '''', 'length'),
    (189, 'timestamp', -2, -2, 'f', 8, 8, NULL, NULL, -2, NULL, 45, 45, '0x', NULL, NULL),
    (231, 'nvarchar', -9, -9, 'w', 4000, 8000, NULL, NULL, -9, NULL, 39, 39, 'N''', '''', 'max length'),
    (239, 'nchar', -8, -8, 'w', 4000, 8000, NULL, NULL, -8, NULL, 47, 47, 'N''', '''', 'length'),
    (241, 'xml', -152, -152, 'f', 0, 0, NULL, NULL, -152, NULL, 0, 0, 'N''', '''', NULL))
    AS t (id, name, odbc3, odbc2, counted, precision, length, scale, radix, sql_type, sub, ss, ss_null, prefix, suffix, params)
GO
-- A column or parameter as the drivers see it, in both versions of ODBC.
-- needs: visible
CREATE VIEW sys.[$odbccolumns] AS
SELECT c.object_id, c.column_id, c.name, c.is_nullable, c.is_identity, c.is_computed, c.default_object_id, c.is_sparse,
    c.is_column_set, t.id AS type, CONVERT(sysname, t.name + CASE c.is_identity WHEN 1 THEN ' identity' ELSE '' END) AS type_name,
    CONVERT(smallint, t.odbc3) AS odbc3, CONVERT(smallint, t.odbc2) AS odbc2,
    CONVERT(int, CASE WHEN t.counted = 'd' THEN c.precision
        WHEN t.counted = 't' THEN t.precision + CASE c.scale WHEN 0 THEN 0 ELSE c.scale + 1 END
        WHEN t.counted IN ('b', 'c', 'w') AND c.max_length = -1 THEN 0
        WHEN t.counted = 'w' THEN c.max_length / 2
        WHEN t.counted IN ('b', 'c') THEN c.max_length ELSE t.precision END) AS precision,
    CONVERT(int, CASE WHEN t.counted = 'd' THEN c.precision + 2
        WHEN t.counted IN ('b', 'c', 'w') AND c.max_length = -1 THEN 0
        WHEN t.counted IN ('b', 'c', 'w') THEN c.max_length ELSE t.length END) AS length,
    CONVERT(smallint, CASE WHEN t.counted IN ('d', 't') THEN c.scale ELSE t.scale END) AS scale,
    CONVERT(smallint, t.radix) AS radix, CONVERT(smallint, t.sql_type) AS sql_type, CONVERT(smallint, t.sub) AS sub,
    CONVERT(int, CASE WHEN t.counted IN ('b', 'c', 'w') AND c.max_length = -1 THEN 0
        WHEN t.counted IN ('b', 'c', 'w') THEN c.max_length WHEN t.counted = 'l' THEN t.length
        WHEN t.id IN (98, 189) THEN t.length END) AS octets,
    CONVERT(tinyint, CASE c.is_nullable WHEN 1 THEN t.ss_null ELSE t.ss END) AS ss
FROM sys.all_columns AS c JOIN sys.[$odbc] AS t ON t.id = c.system_type_id
GO
-- needs: asks
CREATE PROCEDURE sys.sp_tables @table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @table_type varchar(100) = NULL, @fUsePattern bit = 1
AS
SET NOCOUNT ON
IF @table_qualifier = '%' AND @table_owner = '' AND @table_name = ''
BEGIN
    SELECT CONVERT(sysname, d.name) AS TABLE_QUALIFIER, CONVERT(sysname, NULL) AS TABLE_OWNER, CONVERT(sysname, NULL) AS TABLE_NAME,
        CONVERT(varchar(32), NULL) AS TABLE_TYPE, CONVERT(varchar(254), NULL) AS REMARKS
    FROM sys.databases AS d WHERE d.name <> 'model' ORDER BY 1
    RETURN
END
IF @table_owner = '%' AND @table_qualifier = '' AND @table_name = ''
BEGIN
    SELECT CONVERT(sysname, NULL) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, NULL) AS TABLE_NAME,
        CONVERT(varchar(32), NULL) AS TABLE_TYPE, CONVERT(varchar(254), NULL) AS REMARKS
    FROM sys.schemas AS s ORDER BY 2
    RETURN
END
IF @table_type = '%' AND @table_owner = '' AND @table_name = '' AND @table_qualifier = ''
BEGIN
    SELECT CONVERT(sysname, NULL) AS TABLE_QUALIFIER, CONVERT(sysname, NULL) AS TABLE_OWNER, CONVERT(sysname, NULL) AS TABLE_NAME,
        CONVERT(varchar(32), t.name) AS TABLE_TYPE, CONVERT(varchar(254), NULL) AS REMARKS
    FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS t (name)
    RETURN
END
IF @table_qualifier <> DB_NAME() AND DB_ID(@table_qualifier) IS NOT NULL
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(varchar(32), CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END) AS TABLE_TYPE,
    CONVERT(varchar(254), NULL) AS REMARKS
FROM sys.all_objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.type IN ('S', 'U', 'V')
    AND (@table_qualifier IS NULL OR @table_qualifier = '' OR @table_qualifier = '%' OR @table_qualifier = DB_NAME())
    AND (@table_name IS NULL OR o.name = @table_name OR (@fUsePattern = 1 AND o.name LIKE @table_name))
    AND (@table_owner IS NULL OR s.name = @table_owner OR (@fUsePattern = 1 AND s.name LIKE @table_owner))
    AND (@table_type IS NULL OR @table_type = '%' OR CHARINDEX('''' + CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END + '''', UPPER(@table_type)) > 0)
ORDER BY TABLE_TYPE, TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL, @ODBCVer int = 2
AS
SET NOCOUNT ON
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
-- Types that came after this procedure are wide text to its callers.
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(sysname, c.name) AS COLUMN_NAME,
    CONVERT(smallint, CASE WHEN c.type IN (40, 41, 42, 43) OR @ODBCVer < 3 THEN c.odbc2 ELSE c.odbc3 END) AS DATA_TYPE, c.type_name AS TYPE_NAME,
    CONVERT(int, CASE WHEN @ODBCVer < 3 AND c.type = 62 THEN 15 WHEN @ODBCVer < 3 AND c.type = 59 THEN 7 ELSE c.precision END) AS PRECISION,
    CONVERT(int, CASE WHEN c.type IN (40, 41, 42, 43) THEN c.precision * 2 ELSE c.length END) AS LENGTH,
    CONVERT(smallint, CASE WHEN c.type NOT IN (40, 41, 42, 43) THEN c.scale END) AS SCALE,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND c.radix = 2 THEN 10 ELSE c.radix END) AS RADIX,
    CONVERT(smallint, c.is_nullable) AS NULLABLE, CONVERT(varchar(254), NULL) AS REMARKS,
    CONVERT(nvarchar(4000), d.definition) AS COLUMN_DEF,
    CONVERT(smallint, CASE WHEN c.type IN (40, 41, 42, 43) THEN -9 ELSE c.sql_type END) AS SQL_DATA_TYPE,
    CONVERT(smallint, CASE WHEN c.type NOT IN (40, 41, 42, 43) THEN c.sub END) AS SQL_DATETIME_SUB,
    CONVERT(int, CASE WHEN c.type IN (40, 41, 42, 43) THEN c.precision * 2 ELSE c.octets END) AS CHAR_OCTET_LENGTH,
    CONVERT(int, ROW_NUMBER() OVER (PARTITION BY c.object_id ORDER BY c.column_id)) AS ORDINAL_POSITION,
    CONVERT(varchar(254), CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END) AS IS_NULLABLE, c.ss AS SS_DATA_TYPE
INTO #columns
FROM sys.all_objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.[$odbccolumns] AS c ON c.object_id = o.object_id
    LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('S', 'U', 'V', 'TF', 'IF')
    AND (@table_name IS NULL OR o.name = @table_name OR o.name LIKE @table_name)
    AND (@table_owner IS NULL OR s.name = @table_owner OR s.name LIKE @table_owner)
SELECT * FROM #columns
WHERE @column_name IS NULL OR COLUMN_NAME = @column_name OR COLUMN_NAME LIKE @column_name
ORDER BY TABLE_OWNER, TABLE_NAME, ORDINAL_POSITION
GO
-- needs: asks
CREATE PROCEDURE sys.sp_columns_100 @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL, @NameScope int = 0, @ODBCVer int = 2, @fUsePattern bit = 1
AS
SET NOCOUNT ON
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(sysname, c.name) AS COLUMN_NAME,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND c.type IN (58, 61) THEN c.odbc2 ELSE c.odbc3 END) AS DATA_TYPE, c.type_name AS TYPE_NAME,
    CONVERT(int, CASE WHEN @ODBCVer < 3 AND c.type = 62 THEN 15 WHEN @ODBCVer < 3 AND c.type = 59 THEN 7 ELSE c.precision END) AS PRECISION,
    c.length AS LENGTH, c.scale AS SCALE,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND c.radix = 2 THEN 10 ELSE c.radix END) AS RADIX,
    CONVERT(smallint, c.is_nullable) AS NULLABLE, CONVERT(varchar(254), NULL) AS REMARKS,
    CONVERT(nvarchar(4000), d.definition) AS COLUMN_DEF, c.sql_type AS SQL_DATA_TYPE, c.sub AS SQL_DATETIME_SUB,
    c.octets AS CHAR_OCTET_LENGTH,
    CONVERT(int, ROW_NUMBER() OVER (PARTITION BY c.object_id ORDER BY c.column_id)) AS ORDINAL_POSITION,
    CONVERT(varchar(254), CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END) AS IS_NULLABLE,
    CONVERT(smallint, c.is_sparse) AS SS_IS_SPARSE, CONVERT(smallint, c.is_column_set) AS SS_IS_COLUMN_SET,
    CONVERT(smallint, c.is_computed) AS SS_IS_COMPUTED, CONVERT(smallint, c.is_identity) AS SS_IS_IDENTITY,
    CONVERT(sysname, NULL) AS SS_UDT_CATALOG_NAME, CONVERT(sysname, NULL) AS SS_UDT_SCHEMA_NAME,
    CONVERT(nvarchar(4000), NULL) AS SS_UDT_ASSEMBLY_TYPE_NAME, CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_NAME,
    c.ss AS SS_DATA_TYPE
INTO #columns
FROM sys.all_objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.[$odbccolumns] AS c ON c.object_id = o.object_id
    LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('S', 'U', 'V', 'TF', 'IF')
    AND (@table_name IS NULL OR o.name = @table_name OR (@fUsePattern = 1 AND o.name LIKE @table_name))
    AND (@table_owner IS NULL OR s.name = @table_owner OR (@fUsePattern = 1 AND s.name LIKE @table_owner))
SELECT * FROM #columns
WHERE @column_name IS NULL OR COLUMN_NAME = @column_name OR (@fUsePattern = 1 AND COLUMN_NAME LIKE @column_name)
ORDER BY TABLE_OWNER, TABLE_NAME, ORDINAL_POSITION
GO
-- needs: asks
CREATE PROCEDURE sys.sp_pkeys @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL
AS
SET NOCOUNT ON
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(sysname, c.name) AS COLUMN_NAME, CONVERT(smallint, x.key_ordinal) AS KEY_SEQ, CONVERT(sysname, k.name) AS PK_NAME
FROM sys.key_constraints AS k
    JOIN sys.objects AS o ON o.object_id = k.parent_object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.index_columns AS x ON x.object_id = k.parent_object_id AND x.index_id = k.unique_index_id AND x.key_ordinal > 0
    JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE k.type = 'PK' AND o.name = @table_name AND (s.name = @table_owner OR (@table_owner IS NULL AND s.schema_id = 1))
ORDER BY TABLE_OWNER, TABLE_NAME, KEY_SEQ
GO
-- needs: asks
CREATE PROCEDURE sys.sp_fkeys @pktable_name sysname = NULL, @pktable_owner sysname = NULL, @pktable_qualifier sysname = NULL,
    @fktable_name sysname = NULL, @fktable_owner sysname = NULL, @fktable_qualifier sysname = NULL
AS
SET NOCOUNT ON
IF @pktable_name IS NULL AND @fktable_name IS NULL
BEGIN
    RAISERROR(15252, -1, -1)
    RETURN
END
IF @pktable_qualifier <> DB_NAME() OR @fktable_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS PKTABLE_QUALIFIER, CONVERT(sysname, ps.name) AS PKTABLE_OWNER, CONVERT(sysname, p.name) AS PKTABLE_NAME,
    CONVERT(sysname, pc.name) AS PKCOLUMN_NAME, CONVERT(sysname, DB_NAME()) AS FKTABLE_QUALIFIER,
    CONVERT(sysname, fs.name) AS FKTABLE_OWNER, CONVERT(sysname, t.name) AS FKTABLE_NAME, CONVERT(sysname, fc.name) AS FKCOLUMN_NAME,
    CONVERT(smallint, x.constraint_column_id) AS KEY_SEQ,
    CONVERT(smallint, CASE f.update_referential_action WHEN 1 THEN 0 WHEN 0 THEN 1 ELSE f.update_referential_action END) AS UPDATE_RULE,
    CONVERT(smallint, CASE f.delete_referential_action WHEN 1 THEN 0 WHEN 0 THEN 1 ELSE f.delete_referential_action END) AS DELETE_RULE,
    CONVERT(sysname, f.name) AS FK_NAME, CONVERT(sysname, i.name) AS PK_NAME, CONVERT(smallint, 7) AS DEFERRABILITY
FROM sys.foreign_keys AS f
    JOIN sys.foreign_key_columns AS x ON x.constraint_object_id = f.object_id
    JOIN sys.objects AS p ON p.object_id = f.referenced_object_id
    JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
    JOIN sys.columns AS pc ON pc.object_id = p.object_id AND pc.column_id = x.referenced_column_id
    JOIN sys.objects AS t ON t.object_id = f.parent_object_id
    JOIN sys.schemas AS fs ON fs.schema_id = t.schema_id
    JOIN sys.columns AS fc ON fc.object_id = t.object_id AND fc.column_id = x.parent_column_id
    LEFT JOIN sys.indexes AS i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
WHERE (@pktable_name IS NULL OR p.name = @pktable_name) AND (@pktable_owner IS NULL OR ps.name = @pktable_owner)
    AND (@fktable_name IS NULL OR t.name = @fktable_name) AND (@fktable_owner IS NULL OR fs.name = @fktable_owner)
ORDER BY CASE WHEN @fktable_name IS NULL THEN t.name ELSE p.name END, FK_NAME, KEY_SEQ
GO
-- needs: asks
CREATE PROCEDURE sys.sp_statistics @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @index_name sysname = '%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
AS
SET NOCOUNT ON
DECLARE @id int
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT @id = o.object_id FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.name = @table_name AND (s.name = @table_owner OR (@table_owner IS NULL AND s.schema_id = 1))
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(smallint, NULL) AS NON_UNIQUE, CONVERT(sysname, NULL) AS INDEX_QUALIFIER, CONVERT(sysname, NULL) AS INDEX_NAME,
    CONVERT(smallint, 0) AS TYPE, CONVERT(smallint, NULL) AS SEQ_IN_INDEX, CONVERT(sysname, NULL) AS COLUMN_NAME,
    CONVERT(char(1), NULL) AS COLLATION, CONVERT(int, (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = @id AND p.index_id < 2)) AS CARDINALITY,
    CONVERT(int, (SELECT SUM(u.data_pages) FROM sys.partitions AS p JOIN sys.allocation_units AS u ON u.container_id = p.partition_id
        WHERE p.object_id = @id AND p.index_id < 2 AND u.type = 1)) AS PAGES, CONVERT(varchar(128), NULL) AS FILTER_CONDITION
INTO #statistics
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id WHERE o.object_id = @id
INSERT #statistics
SELECT DB_NAME(), s.name, o.name, CASE i.is_unique WHEN 1 THEN 0 ELSE 1 END, o.name, i.name, CASE i.index_id WHEN 1 THEN 1 ELSE 3 END,
    x.key_ordinal, c.name, CASE x.is_descending_key WHEN 1 THEN 'D' ELSE 'A' END,
    (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = @id AND p.index_id = i.index_id),
    (SELECT SUM(u.used_pages) FROM sys.partitions AS p JOIN sys.allocation_units AS u ON u.container_id = p.partition_id
        WHERE p.object_id = @id AND p.index_id = i.index_id AND u.type = 1), NULL
FROM sys.indexes AS i
    JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
    JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE i.object_id = @id AND i.index_id > 0 AND (i.is_unique = 1 OR UPPER(@is_unique) <> 'Y') AND i.name LIKE @index_name
SELECT * FROM #statistics ORDER BY NON_UNIQUE, TYPE, INDEX_QUALIFIER, INDEX_NAME, SEQ_IN_INDEX
GO
-- needs: asks
CREATE PROCEDURE sys.sp_statistics_100 @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @index_name sysname = '%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
AS
SET NOCOUNT ON
EXEC sys.sp_statistics @table_name, @table_owner, @table_qualifier, @index_name, @is_unique, @accuracy
GO
-- needs: asks
CREATE PROCEDURE sys.sp_stored_procedures @sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier sysname = NULL,
    @fUsePattern bit = 1
AS
SET NOCOUNT ON
IF @sp_qualifier <> DB_NAME() AND @sp_qualifier <> ''
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS PROCEDURE_QUALIFIER, CONVERT(sysname, s.name) AS PROCEDURE_OWNER,
    CONVERT(nvarchar(134), o.name + CASE WHEN o.type = 'P' THEN ';1' ELSE ';0' END) AS PROCEDURE_NAME,
    -1 AS NUM_INPUT_PARAMS, -1 AS NUM_OUTPUT_PARAMS, -1 AS NUM_RESULT_SETS, CONVERT(varchar(254), NULL) AS REMARKS,
    CONVERT(smallint, CASE WHEN o.type = 'P' THEN 2 ELSE 2 END) AS PROCEDURE_TYPE
FROM sys.all_objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.type IN ('P', 'FN', 'TF', 'IF')
    AND (@sp_name IS NULL OR o.name = @sp_name OR (@fUsePattern = 1 AND o.name LIKE @sp_name))
    AND (@sp_owner IS NULL OR s.name = @sp_owner OR (@fUsePattern = 1 AND s.name LIKE @sp_owner))
ORDER BY PROCEDURE_QUALIFIER, PROCEDURE_OWNER, PROCEDURE_NAME
GO
-- needs: asks
CREATE PROCEDURE sys.sp_sproc_columns @procedure_name nvarchar(390) = '%', @procedure_owner nvarchar(384) = NULL,
    @procedure_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1
AS
SET NOCOUNT ON
DECLARE @name nvarchar(390)
SET @name = CASE WHEN @procedure_name LIKE '%;[0-9]' THEN LEFT(@procedure_name, LEN(@procedure_name) - 2) ELSE @procedure_name END
SELECT CONVERT(sysname, DB_NAME()) AS PROCEDURE_QUALIFIER, CONVERT(sysname, s.name) AS PROCEDURE_OWNER,
    CONVERT(nvarchar(134), o.name + CASE WHEN o.type = 'P' THEN ';1' ELSE ';0' END) AS PROCEDURE_NAME,
    CONVERT(sysname, CASE p.kind WHEN 5 THEN '@RETURN_VALUE' ELSE p.name END) AS COLUMN_NAME, CONVERT(smallint, p.kind) AS COLUMN_TYPE,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND t.id IN (58, 61) THEN t.odbc2 ELSE t.odbc3 END) AS DATA_TYPE,
    CONVERT(sysname, t.name) AS TYPE_NAME,
    CONVERT(int, CASE WHEN t.counted = 'd' THEN p.precision
        WHEN t.counted = 't' THEN t.precision + CASE p.scale WHEN 0 THEN 0 ELSE p.scale + 1 END
        WHEN t.counted IN ('b', 'c', 'w') AND p.max_length = -1 THEN 0
        WHEN t.counted = 'w' THEN p.max_length / 2
        WHEN t.counted IN ('b', 'c') THEN p.max_length
        WHEN @ODBCVer < 3 AND t.id = 62 THEN 15 WHEN @ODBCVer < 3 AND t.id = 59 THEN 7 ELSE t.precision END) AS PRECISION,
    CONVERT(int, CASE WHEN t.counted = 'd' THEN p.precision + 2
        WHEN t.counted IN ('b', 'c', 'w') AND p.max_length = -1 THEN 0
        WHEN t.counted IN ('b', 'c', 'w') THEN p.max_length ELSE t.length END) AS LENGTH,
    CONVERT(smallint, CASE WHEN t.counted IN ('d', 't') THEN p.scale ELSE t.scale END) AS SCALE,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND t.radix = 2 THEN 10 ELSE t.radix END) AS RADIX,
    CONVERT(smallint, CASE p.kind WHEN 5 THEN 0 ELSE 1 END) AS NULLABLE, CONVERT(varchar(254), NULL) AS REMARKS,
    CONVERT(nvarchar(4000), NULL) AS COLUMN_DEF, CONVERT(smallint, t.sql_type) AS SQL_DATA_TYPE, CONVERT(smallint, t.sub) AS SQL_DATETIME_SUB,
    CONVERT(int, CASE WHEN t.counted IN ('b', 'c', 'w') AND p.max_length = -1 THEN 0
        WHEN t.counted IN ('b', 'c', 'w') THEN p.max_length WHEN t.counted = 'l' THEN t.length END) AS CHAR_OCTET_LENGTH,
    CONVERT(int, p.position) AS ORDINAL_POSITION, CONVERT(varchar(254), CASE p.kind WHEN 5 THEN 'NO' ELSE 'YES' END) AS IS_NULLABLE,
    CONVERT(tinyint, CASE p.kind WHEN 5 THEN t.ss ELSE t.ss_null END) AS SS_DATA_TYPE
FROM (SELECT object_id, parameter_id AS position, name, system_type_id, max_length, precision, scale,
        CASE WHEN parameter_id = 0 THEN 5 WHEN is_output = 1 THEN 2 ELSE 1 END AS kind FROM sys.all_parameters
    UNION ALL
    SELECT object_id, 0, '@RETURN_VALUE', 56, 4, 10, 0, 5 FROM sys.procedures
    UNION ALL
    SELECT object_id, 0, '@TABLE_RETURN_VALUE', 56, 4, 10, 0, 3 FROM sys.objects WHERE type IN ('TF', 'IF')) AS p
    JOIN sys.all_objects AS o ON o.object_id = p.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.[$odbc] AS t ON t.id = p.system_type_id
WHERE (@name IS NULL OR o.name = @name OR (@fUsePattern = 1 AND o.name LIKE @name))
    AND (@procedure_owner IS NULL OR s.name = @procedure_owner OR (@fUsePattern = 1 AND s.name LIKE @procedure_owner))
    AND (@procedure_qualifier IS NULL OR @procedure_qualifier = DB_NAME() OR @procedure_qualifier = '')
    AND (@column_name IS NULL OR p.name = @column_name OR (@fUsePattern = 1 AND p.name LIKE @column_name))
ORDER BY PROCEDURE_QUALIFIER, PROCEDURE_OWNER, PROCEDURE_NAME, ORDINAL_POSITION
GO
-- needs: asks
CREATE PROCEDURE sys.sp_sproc_columns_100 @procedure_name nvarchar(390) = '%', @procedure_owner nvarchar(384) = NULL,
    @procedure_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1
AS
SET NOCOUNT ON
CREATE TABLE #c (PROCEDURE_QUALIFIER sysname, PROCEDURE_OWNER sysname, PROCEDURE_NAME nvarchar(134), COLUMN_NAME sysname,
    COLUMN_TYPE smallint, DATA_TYPE smallint, TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE smallint NULL, RADIX smallint NULL,
    NULLABLE smallint, REMARKS varchar(254) NULL, COLUMN_DEF nvarchar(4000) NULL, SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint NULL,
    CHAR_OCTET_LENGTH int NULL, ORDINAL_POSITION int, IS_NULLABLE varchar(254), SS_DATA_TYPE tinyint NULL)
INSERT #c EXEC sys.sp_sproc_columns @procedure_name, @procedure_owner, @procedure_qualifier, @column_name, @ODBCVer, @fUsePattern
SELECT PROCEDURE_QUALIFIER, PROCEDURE_OWNER, PROCEDURE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, TYPE_NAME, PRECISION, LENGTH,
    SCALE, RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB, CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE,
    CONVERT(sysname, NULL) AS SS_TYPE_CATALOG_NAME, CONVERT(sysname, NULL) AS SS_TYPE_SCHEMA_NAME,
    CONVERT(sysname, NULL) AS SS_UDT_CATALOG_NAME, CONVERT(sysname, NULL) AS SS_UDT_SCHEMA_NAME,
    CONVERT(nvarchar(4000), NULL) AS SS_UDT_ASSEMBLY_TYPE_NAME, CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, CONVERT(sysname, NULL) AS SS_XML_SCHEMACOLLECTION_NAME,
    SS_DATA_TYPE
FROM #c ORDER BY PROCEDURE_QUALIFIER, PROCEDURE_OWNER, PROCEDURE_NAME, ORDINAL_POSITION
GO
-- needs: asks
CREATE PROCEDURE sys.sp_special_columns @table_name sysname, @table_owner sysname = NULL, @qualifier sysname = NULL,
    @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
AS
SET NOCOUNT ON
DECLARE @id int, @index int
IF @qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT @id = o.object_id FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.name = @table_name AND (s.name = @table_owner OR (@table_owner IS NULL AND s.schema_id = 1))
IF UPPER(@col_type) = 'V'
BEGIN
    SELECT CONVERT(smallint, NULL) AS SCOPE, CONVERT(sysname, c.name) AS COLUMN_NAME, c.odbc3 AS DATA_TYPE, c.type_name AS TYPE_NAME,
        c.precision AS PRECISION, c.length AS LENGTH, c.scale AS SCALE, CONVERT(smallint, 1) AS PSEUDO_COLUMN
    FROM sys.[$odbccolumns] AS c WHERE c.object_id = @id AND c.type = 189
    RETURN
END
-- The primary key, or the first unique index whose columns may be what the caller wants.
SELECT TOP (1) @index = i.index_id FROM sys.indexes AS i
WHERE i.object_id = @id AND i.is_unique = 1 AND (UPPER(@nullable) <> 'O' OR NOT EXISTS (SELECT * FROM sys.index_columns AS x
        JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
        WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0 AND c.is_nullable = 1))
ORDER BY CASE i.is_primary_key WHEN 1 THEN 0 ELSE 1 END, i.index_id
SELECT CONVERT(smallint, CASE UPPER(@scope) WHEN 'C' THEN 0 ELSE 1 END) AS SCOPE, CONVERT(sysname, c.name) AS COLUMN_NAME,
    CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND c.type IN (58, 61) THEN c.odbc2 ELSE c.odbc3 END) AS DATA_TYPE, c.type_name AS TYPE_NAME,
    c.precision AS PRECISION, c.length AS LENGTH, c.scale AS SCALE, CONVERT(smallint, 1) AS PSEUDO_COLUMN
FROM sys.index_columns AS x JOIN sys.[$odbccolumns] AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE x.object_id = @id AND x.index_id = @index AND x.key_ordinal > 0
ORDER BY x.key_ordinal
GO
-- needs: asks
CREATE PROCEDURE sys.sp_special_columns_100 @table_name sysname, @table_owner sysname = NULL, @qualifier sysname = NULL,
    @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
AS
SET NOCOUNT ON
EXEC sys.sp_special_columns @table_name, @table_owner, @qualifier, @col_type, @scope, @nullable, @ODBCVer
GO
-- needs: visible
CREATE VIEW sys.[$datatypes] AS
SELECT CONVERT(sysname, t.name + CASE n.n WHEN 1 THEN CASE WHEN t.id IN (106, 108) THEN '() identity' ELSE ' identity' END ELSE '' END) AS TYPE_NAME,
    CONVERT(smallint, t.odbc3) AS odbc3, CONVERT(smallint, t.odbc2) AS odbc2,
    CONVERT(int, CASE WHEN t.counted = 't' THEN t.precision + 8 ELSE t.precision END) AS PRECISION,
    CONVERT(varchar(32), t.prefix) AS LITERAL_PREFIX, CONVERT(varchar(32), t.suffix) AS LITERAL_SUFFIX,
    CONVERT(varchar(32), CASE WHEN n.n = 1 AND t.id IN (106, 108) THEN 'precision' ELSE t.params END) AS CREATE_PARAMS,
    CONVERT(smallint, CASE WHEN n.n = 1 OR t.id = 189 THEN 0 ELSE 1 END) AS NULLABLE, CONVERT(smallint, 0) AS CASE_SENSITIVE,
    CONVERT(smallint, CASE WHEN t.counted = 'l' THEN CASE t.id WHEN 34 THEN 0 ELSE 1 END WHEN t.id = 241 THEN 0
        WHEN t.counted IN ('c', 'w') OR t.odbc3 IN (91, 93, -154, -155) THEN 3 ELSE 2 END) AS SEARCHABLE,
    CONVERT(smallint, CASE WHEN t.id = 48 THEN 1 WHEN t.radix IS NOT NULL AND t.id <> 98 THEN 0 END) AS UNSIGNED_ATTRIBUTE,
    CONVERT(smallint, CASE WHEN t.id IN (60, 122) THEN 1 ELSE 0 END) AS MONEY,
    CONVERT(smallint, CASE WHEN t.radix IS NOT NULL AND t.id <> 98 THEN n.n END) AS AUTO_INCREMENT,
    CONVERT(sysname, t.name + CASE n.n WHEN 1 THEN ' identity' ELSE '' END) AS LOCAL_TYPE_NAME,
    CONVERT(smallint, CASE WHEN t.counted = 'd' OR t.counted = 't' THEN 0 ELSE t.scale END) AS MINIMUM_SCALE,
    CONVERT(smallint, CASE WHEN t.counted = 'd' THEN CASE n.n WHEN 1 THEN 0 ELSE 38 END WHEN t.counted = 't' THEN 7 ELSE t.scale END) AS MAXIMUM_SCALE,
    CONVERT(smallint, t.sql_type) AS SQL_DATA_TYPE, CONVERT(smallint, t.sub) AS SQL_DATETIME_SUB, CONVERT(int, t.radix) AS NUM_PREC_RADIX,
    CONVERT(smallint, NULL) AS INTERVAL_PRECISION, CONVERT(smallint, u.usertype) AS USERTYPE, t.id
FROM sys.[$odbc] AS t
    JOIN (VALUES (0), (1)) AS n (n) ON n.n = 0 OR t.id IN (48, 52, 56, 106, 108, 127)
    LEFT JOIN (VALUES (34, 20), (35, 19), (36, 0), (48, 5), (52, 6), (56, 7), (58, 22), (59, 23), (60, 11), (61, 12), (62, 8), (99, 0),
        (104, 16), (106, 24), (108, 10), (122, 21), (127, 0), (165, 4), (167, 2), (173, 3), (175, 1), (189, 80), (231, 0), (239, 0))
        AS u (id, usertype) ON u.id = t.id
UNION ALL
SELECT 'sysname', CONVERT(smallint, -9), CONVERT(smallint, -9), 128, 'N''', '''', NULL, CONVERT(smallint, 0), CONVERT(smallint, 0),
    CONVERT(smallint, 3), NULL, CONVERT(smallint, 0), NULL, 'sysname', NULL, NULL, CONVERT(smallint, -9), NULL, NULL, NULL,
    CONVERT(smallint, 18), 231
GO
-- needs: asks
CREATE PROCEDURE sys.sp_datatype_info_100 @data_type int = 0, @ODBCVer tinyint = 2
AS
SET NOCOUNT ON
SELECT TYPE_NAME, CONVERT(smallint, CASE WHEN @ODBCVer < 3 AND id IN (58, 61) THEN odbc2 ELSE odbc3 END) AS DATA_TYPE,
    CONVERT(int, CASE WHEN @ODBCVer < 3 AND id = 62 THEN 15 WHEN @ODBCVer < 3 AND id = 59 THEN 7 ELSE PRECISION END) AS PRECISION,
    LITERAL_PREFIX, LITERAL_SUFFIX, CREATE_PARAMS, NULLABLE, CASE_SENSITIVE, SEARCHABLE, UNSIGNED_ATTRIBUTE, MONEY, AUTO_INCREMENT,
    LOCAL_TYPE_NAME, MINIMUM_SCALE, MAXIMUM_SCALE, SQL_DATA_TYPE, SQL_DATETIME_SUB,
    CASE WHEN @ODBCVer < 3 AND NUM_PREC_RADIX = 2 THEN 10 ELSE NUM_PREC_RADIX END AS NUM_PREC_RADIX, INTERVAL_PRECISION, USERTYPE
FROM sys.[$datatypes]
WHERE @data_type = 0 OR @data_type = CASE WHEN @ODBCVer < 3 AND id IN (58, 61) THEN odbc2 ELSE odbc3 END
ORDER BY DATA_TYPE, AUTO_INCREMENT, MONEY, USERTYPE, TYPE_NAME
GO
-- needs: asks
CREATE PROCEDURE sys.sp_datatype_info @data_type int = 0, @ODBCVer tinyint = 2
AS
SET NOCOUNT ON
SELECT TYPE_NAME, CONVERT(smallint, CASE WHEN @ODBCVer < 3 OR id IN (40, 41, 42, 43) THEN odbc2 ELSE odbc3 END) AS DATA_TYPE,
    CONVERT(int, CASE WHEN @ODBCVer < 3 AND id = 62 THEN 15 WHEN @ODBCVer < 3 AND id = 59 THEN 7 ELSE PRECISION END) AS PRECISION,
    LITERAL_PREFIX, LITERAL_SUFFIX, CREATE_PARAMS, NULLABLE, CASE_SENSITIVE, SEARCHABLE, UNSIGNED_ATTRIBUTE, MONEY, AUTO_INCREMENT,
    LOCAL_TYPE_NAME, MINIMUM_SCALE, MAXIMUM_SCALE,
    CONVERT(smallint, CASE WHEN id IN (40, 41, 42, 43) THEN -9 ELSE SQL_DATA_TYPE END) AS SQL_DATA_TYPE,
    CONVERT(smallint, CASE WHEN id NOT IN (40, 41, 42, 43) THEN SQL_DATETIME_SUB END) AS SQL_DATETIME_SUB,
    CASE WHEN @ODBCVer < 3 AND NUM_PREC_RADIX = 2 THEN 10 ELSE NUM_PREC_RADIX END AS NUM_PREC_RADIX, INTERVAL_PRECISION, USERTYPE
FROM sys.[$datatypes]
WHERE @data_type = 0 OR @data_type = CASE WHEN @ODBCVer < 3 OR id IN (40, 41, 42, 43) THEN odbc2 ELSE odbc3 END
ORDER BY DATA_TYPE, AUTO_INCREMENT, MONEY, USERTYPE, TYPE_NAME
GO
-- needs: asks
CREATE PROCEDURE sys.sp_table_privileges @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @fUsePattern bit = 1
AS
SET NOCOUNT ON
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(sysname, 'dbo') AS GRANTOR, CONVERT(sysname, 'dbo') AS GRANTEE, CONVERT(varchar(32), p.name) AS PRIVILEGE,
    CONVERT(varchar(3), 'YES') AS IS_GRANTABLE
FROM sys.objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    CROSS JOIN (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS p (name)
WHERE o.type IN ('U', 'V') AND (o.name = @table_name OR (@fUsePattern = 1 AND o.name LIKE @table_name))
    AND (@table_owner IS NULL OR s.name = @table_owner OR (@fUsePattern = 1 AND s.name LIKE @table_owner))
ORDER BY TABLE_OWNER, TABLE_NAME, PRIVILEGE
GO
-- needs: asks
CREATE PROCEDURE sys.sp_column_privileges @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL
AS
SET NOCOUNT ON
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, CONVERT(sysname, s.name) AS TABLE_OWNER, CONVERT(sysname, o.name) AS TABLE_NAME,
    CONVERT(sysname, c.name) AS COLUMN_NAME, CONVERT(sysname, 'dbo') AS GRANTOR, CONVERT(sysname, 'dbo') AS GRANTEE,
    CONVERT(varchar(32), p.name) AS PRIVILEGE, CONVERT(varchar(3), 'YES') AS IS_GRANTABLE
FROM sys.objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.columns AS c ON c.object_id = o.object_id
    CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS p (name)
WHERE o.type IN ('U', 'V') AND o.name = @table_name AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@column_name IS NULL OR c.name = @column_name OR c.name LIKE @column_name)
ORDER BY TABLE_OWNER, TABLE_NAME, COLUMN_NAME, PRIVILEGE
GO
-- needs: asks
CREATE PROCEDURE sys.sp_server_info @attribute_id int = NULL
AS
SET NOCOUNT ON
SELECT a.id AS attribute_id, CONVERT(varchar(60), a.name) AS attribute_name, CONVERT(varchar(255), a.value) AS attribute_value
FROM (VALUES (1, 'DBMS_NAME', 'Microsoft SQL Server'), (2, 'DBMS_VER', @@VERSION), (10, 'OWNER_TERM', 'owner'),
    (11, 'TABLE_TERM', 'table'), (12, 'MAX_OWNER_NAME_LENGTH', '128'), (13, 'TABLE_LENGTH', '128'), (14, 'MAX_QUAL_LENGTH', '128'),
    (15, 'COLUMN_LENGTH', '128'), (16, 'IDENTIFIER_CASE', 'MIXED'), (17, 'TX_ISOLATION', '2'),
    (18, 'COLLATION_SEQ', 'charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52'), (19, 'SAVEPOINT_SUPPORT', 'Y'),
    (20, 'MULTI_RESULT_SETS', 'Y'), (22, 'ACCESSIBLE_TABLES', 'Y'), (100, 'USERID_LENGTH', '128'), (101, 'QUALIFIER_TERM', 'database'),
    (102, 'NAMED_TRANSACTIONS', 'Y'), (103, 'SPROC_AS_LANGUAGE', 'Y'), (104, 'ACCESSIBLE_SPROC', 'Y'), (105, 'MAX_INDEX_COLS', '16'),
    (106, 'RENAME_TABLE', 'Y'), (107, 'RENAME_COLUMN', 'Y'), (108, 'DROP_COLUMN', 'Y'), (109, 'INCREASE_COLUMN_LENGTH', 'Y'),
    (110, 'DDL_IN_TRANSACTION', 'Y'), (111, 'DESCENDING_INDEXES', 'Y'), (112, 'SP_RENAME', 'Y'), (113, 'REMOTE_SPROC', 'N'),
    (500, 'SYS_SPROC_VERSION', CONVERT(varchar(20), SERVERPROPERTY('ProductVersion')))) AS a (id, name, value)
WHERE @attribute_id IS NULL OR a.id = @attribute_id
ORDER BY a.id
