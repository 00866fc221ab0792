-- The standard's views of tables, columns and constraints.
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.SCHEMATA AS
SELECT CONVERT(sysname, DB_NAME()) AS CATALOG_NAME,
    CONVERT(sysname, s.name) AS SCHEMA_NAME,
    CONVERT(sysname, p.name) AS SCHEMA_OWNER,
    CONVERT(varchar(6), NULL) AS DEFAULT_CHARACTER_SET_CATALOG,
    CONVERT(varchar(3), NULL) AS DEFAULT_CHARACTER_SET_SCHEMA,
    CONVERT(sysname, 'iso_1') AS DEFAULT_CHARACTER_SET_NAME
FROM sys.schemas AS s LEFT JOIN sys.database_principals AS p ON p.principal_id = s.principal_id
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.TABLES AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS TABLE_SCHEMA,
    o.name AS TABLE_NAME,
    CONVERT(varchar(10), CASE o.type WHEN 'U' THEN 'BASE TABLE' WHEN 'V' THEN 'VIEW' END) AS TABLE_TYPE
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.type IN ('U', 'V')
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.VIEWS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS TABLE_SCHEMA,
    o.name AS TABLE_NAME,
    CONVERT(nvarchar(4000), m.definition) AS VIEW_DEFINITION,
    CONVERT(varchar(7), 'NONE') AS CHECK_OPTION,
    CONVERT(varchar(2), 'NO') AS IS_UPDATABLE
FROM sys.objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE o.type = 'V'
GO
-- Columns, parameters and results have these lines of a type in common.
-- needs: visible
CREATE VIEW sys.[$typed] AS
SELECT t.user_type_id, t.name AS type_name, t.system_type_id,
    CONVERT(smallint, CASE WHEN t.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10
        WHEN t.system_type_id IN (59, 62) THEN 2 END) AS radix,
    CONVERT(bit, CASE WHEN t.system_type_id IN (40, 41, 42, 43, 58, 61) THEN 1 ELSE 0 END) AS is_time,
    CONVERT(bit, CASE WHEN t.system_type_id IN (99, 231, 239) THEN 1 ELSE 0 END) AS is_unicode,
    CONVERT(bit, CASE WHEN t.system_type_id IN (35, 99, 167, 175, 231, 239) THEN 1 ELSE 0 END) AS is_text,
    CONVERT(bit, CASE WHEN t.system_type_id IN (34, 98, 165, 173, 241) THEN 1 ELSE 0 END) AS is_bytes
FROM sys.types AS t WHERE t.user_type_id = t.system_type_id
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.COLUMNS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS TABLE_SCHEMA,
    o.name AS TABLE_NAME,
    c.name AS COLUMN_NAME,
    CONVERT(int, ROW_NUMBER() OVER (PARTITION BY c.object_id ORDER BY c.column_id)) AS ORDINAL_POSITION,
    CONVERT(nvarchar(4000), d.definition) AS COLUMN_DEFAULT,
    CONVERT(varchar(3), CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END) AS IS_NULLABLE,
    CONVERT(nvarchar(128), t.type_name) AS DATA_TYPE,
    CONVERT(int, CASE WHEN c.system_type_id IN (34, 35) THEN 2147483647
        WHEN c.system_type_id = 99 THEN 1073741823
        WHEN c.system_type_id = 98 THEN 0
        WHEN t.is_unicode = 1 AND c.max_length > 0 THEN c.max_length / 2
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN c.max_length END) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, CASE WHEN c.system_type_id IN (34, 35) THEN 2147483647
        WHEN c.system_type_id = 99 THEN 2147483646
        WHEN c.system_type_id = 98 THEN 0
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN c.max_length END) AS CHARACTER_OCTET_LENGTH,
    CONVERT(tinyint, CASE WHEN t.radix IS NOT NULL THEN c.precision END) AS NUMERIC_PRECISION,
    t.radix AS NUMERIC_PRECISION_RADIX,
    CONVERT(int, CASE WHEN t.radix = 10 THEN c.scale END) AS NUMERIC_SCALE,
    CONVERT(smallint, CASE WHEN t.is_time = 1 THEN c.scale END) AS DATETIME_PRECISION,
    CONVERT(sysname, NULL) AS CHARACTER_SET_CATALOG,
    CONVERT(sysname, NULL) AS CHARACTER_SET_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_unicode = 1 THEN 'UNICODE'
        WHEN t.is_text = 1 AND c.collation_name LIKE '%UTF8%' THEN 'UTF-8'
        WHEN t.is_text = 1 THEN 'iso_1' END) AS CHARACTER_SET_NAME,
    CONVERT(sysname, NULL) AS COLLATION_CATALOG,
    CONVERT(sysname, NULL) AS COLLATION_SCHEMA,
    CONVERT(sysname, c.collation_name) AS COLLATION_NAME,
    CONVERT(sysname, CASE WHEN u.is_user_defined = 1 THEN DB_NAME() END) AS DOMAIN_CATALOG,
    CONVERT(sysname, CASE WHEN u.is_user_defined = 1 THEN us.name END) AS DOMAIN_SCHEMA,
    CONVERT(sysname, CASE WHEN u.is_user_defined = 1 THEN u.name END) AS DOMAIN_NAME
FROM sys.objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.columns AS c ON c.object_id = o.object_id
    JOIN sys.[$typed] AS t ON t.user_type_id = c.system_type_id
    LEFT JOIN sys.types AS u ON u.user_type_id = c.user_type_id
    LEFT JOIN sys.schemas AS us ON us.schema_id = u.schema_id
    LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('U', 'V')
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.DOMAINS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS DOMAIN_CATALOG,
    CONVERT(nvarchar(128), s.name) AS DOMAIN_SCHEMA,
    u.name AS DOMAIN_NAME,
    CONVERT(sysname, t.type_name) AS DATA_TYPE,
    CONVERT(int, CASE WHEN t.is_unicode = 1 AND u.max_length > 0 THEN u.max_length / 2
        WHEN t.is_text = 1 OR t.is_bytes = 1 THEN u.max_length END) AS CHARACTER_MAXIMUM_LENGTH,
    CONVERT(int, CASE WHEN t.is_text = 1 OR t.is_bytes = 1 THEN u.max_length END) AS CHARACTER_OCTET_LENGTH,
    CONVERT(varchar(6), NULL) AS COLLATION_CATALOG,
    CONVERT(varchar(3), NULL) AS COLLATION_SCHEMA,
    CONVERT(sysname, u.collation_name) AS COLLATION_NAME,
    CONVERT(varchar(6), NULL) AS CHARACTER_SET_CATALOG,
    CONVERT(varchar(3), NULL) AS CHARACTER_SET_SCHEMA,
    CONVERT(sysname, CASE WHEN t.is_unicode = 1 THEN 'UNICODE' WHEN t.is_text = 1 THEN 'iso_1' END) AS CHARACTER_SET_NAME,
    CONVERT(tinyint, CASE WHEN t.radix IS NOT NULL THEN u.precision END) AS NUMERIC_PRECISION,
    t.radix AS NUMERIC_PRECISION_RADIX,
    CONVERT(int, CASE WHEN t.radix = 10 THEN u.scale END) AS NUMERIC_SCALE,
    CONVERT(smallint, CASE WHEN t.is_time = 1 THEN u.scale END) AS DATETIME_PRECISION,
    CONVERT(nvarchar(4000), NULL) AS DOMAIN_DEFAULT
FROM sys.types AS u
    JOIN sys.schemas AS s ON s.schema_id = u.schema_id
    JOIN sys.[$typed] AS t ON t.user_type_id = u.system_type_id
WHERE u.is_user_defined = 1
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE AS
SELECT DOMAIN_CATALOG, DOMAIN_SCHEMA, DOMAIN_NAME, TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME
FROM INFORMATION_SCHEMA.COLUMNS WHERE DOMAIN_NAME IS NOT NULL
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS CONSTRAINT_CATALOG,
    CONVERT(nvarchar(128), cs.name) AS CONSTRAINT_SCHEMA,
    CONVERT(sysname, c.name) AS CONSTRAINT_NAME,
    CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), ts.name) AS TABLE_SCHEMA,
    CONVERT(sysname, t.name) AS TABLE_NAME,
    CONVERT(varchar(11), CASE c.type WHEN 'C' THEN 'CHECK' WHEN 'UQ' THEN 'UNIQUE'
        WHEN 'PK' THEN 'PRIMARY KEY' WHEN 'F' THEN 'FOREIGN KEY' END) AS CONSTRAINT_TYPE,
    CONVERT(varchar(2), 'NO') AS IS_DEFERRABLE,
    CONVERT(varchar(2), 'NO') AS INITIALLY_DEFERRED
FROM sys.objects AS c
    JOIN sys.schemas AS cs ON cs.schema_id = c.schema_id
    JOIN sys.tables AS t ON t.object_id = c.parent_object_id
    JOIN sys.schemas AS ts ON ts.schema_id = t.schema_id
WHERE c.type IN ('C', 'UQ', 'PK', 'F')
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS CONSTRAINT_CATALOG,
    CONVERT(nvarchar(128), s.name) AS CONSTRAINT_SCHEMA,
    CONVERT(nvarchar(128), k.name) AS CONSTRAINT_NAME,
    CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), ts.name) AS TABLE_SCHEMA,
    CONVERT(nvarchar(128), t.name) AS TABLE_NAME,
    CONVERT(nvarchar(128), c.name) AS COLUMN_NAME,
    k.position AS ORDINAL_POSITION
FROM (SELECT kc.name, kc.schema_id, kc.parent_object_id, ic.column_id, CONVERT(int, ic.key_ordinal) AS position
    FROM sys.key_constraints AS kc
        JOIN sys.index_columns AS ic ON ic.object_id = kc.parent_object_id AND ic.index_id = kc.unique_index_id
    WHERE ic.key_ordinal > 0
    UNION ALL
    SELECT f.name, f.schema_id, f.parent_object_id, fc.parent_column_id, fc.constraint_column_id
    FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS fc ON fc.constraint_object_id = f.object_id) AS k
    JOIN sys.schemas AS s ON s.schema_id = k.schema_id
    JOIN sys.tables AS t ON t.object_id = k.parent_object_id
    JOIN sys.schemas AS ts ON ts.schema_id = t.schema_id
    JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.column_id
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS CONSTRAINT_CATALOG,
    CONVERT(nvarchar(128), s.name) AS CONSTRAINT_SCHEMA,
    CONVERT(sysname, f.name) AS CONSTRAINT_NAME,
    CONVERT(nvarchar(128), DB_NAME()) AS UNIQUE_CONSTRAINT_CATALOG,
    CONVERT(nvarchar(128), us.name) AS UNIQUE_CONSTRAINT_SCHEMA,
    CONVERT(sysname, i.name) AS UNIQUE_CONSTRAINT_NAME,
    CONVERT(varchar(7), 'SIMPLE') AS MATCH_OPTION,
    CONVERT(varchar(11), REPLACE(f.update_referential_action_desc, '_', ' ')) AS UPDATE_RULE,
    CONVERT(varchar(11), REPLACE(f.delete_referential_action_desc, '_', ' ')) AS DELETE_RULE
FROM sys.foreign_keys AS f
    JOIN sys.schemas AS s ON s.schema_id = f.schema_id
    LEFT JOIN sys.tables AS r ON r.object_id = f.referenced_object_id
    LEFT JOIN sys.schemas AS us ON us.schema_id = r.schema_id
    LEFT JOIN sys.indexes AS i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.CHECK_CONSTRAINTS AS
SELECT CONVERT(nvarchar(128), DB_NAME()) AS CONSTRAINT_CATALOG,
    CONVERT(nvarchar(128), s.name) AS CONSTRAINT_SCHEMA,
    CONVERT(sysname, c.name) AS CONSTRAINT_NAME,
    CONVERT(nvarchar(4000), c.definition) AS CHECK_CLAUSE
FROM sys.check_constraints AS c JOIN sys.schemas AS s ON s.schema_id = c.schema_id
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE AS
SELECT TABLE_CATALOG, TABLE_SCHEMA, CONVERT(nvarchar(128), TABLE_NAME) AS TABLE_NAME,
    CONVERT(nvarchar(128), COLUMN_NAME) AS COLUMN_NAME, CONSTRAINT_CATALOG, CONSTRAINT_SCHEMA, CONSTRAINT_NAME
FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE
UNION ALL
-- The columns whose names a CHECK writes in brackets, as it is kept.
SELECT DB_NAME(), ts.name, t.name, c.name, DB_NAME(), s.name, k.name
FROM sys.check_constraints AS k
    JOIN sys.schemas AS s ON s.schema_id = k.schema_id
    JOIN sys.tables AS t ON t.object_id = k.parent_object_id
    JOIN sys.schemas AS ts ON ts.schema_id = t.schema_id
    JOIN sys.columns AS c ON c.object_id = k.parent_object_id
WHERE CHARINDEX('[' + REPLACE(c.name, ']', ']]') + ']', k.definition) > 0
GO
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE AS
SELECT TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_CATALOG, CONSTRAINT_SCHEMA, CONSTRAINT_NAME
FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS
GO
-- What was granted to the current user, to everybody or by the current user. Nobody may grant on: WITH GRANT OPTION is refused.
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.TABLE_PRIVILEGES AS
SELECT CONVERT(nvarchar(128), f.name) AS GRANTOR, CONVERT(nvarchar(128), t.name) AS GRANTEE,
    CONVERT(nvarchar(128), DB_NAME()) AS TABLE_CATALOG,
    CONVERT(nvarchar(128), s.name) AS TABLE_SCHEMA,
    o.name AS TABLE_NAME,
    CONVERT(varchar(10), p.permission_name) AS PRIVILEGE_TYPE,
    CONVERT(varchar(3), 'NO') AS IS_GRANTABLE
FROM sys.database_permissions AS p
    JOIN sys.objects AS o ON o.object_id = p.major_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.database_principals AS t ON t.principal_id = p.grantee_principal_id
    LEFT JOIN sys.database_principals AS f ON f.principal_id = p.grantor_principal_id
    -- The caller's user here: dbo for sysadmin, guest for who has none.
    CROSS JOIN (SELECT CASE IS_SRVROLEMEMBER('sysadmin') WHEN 1 THEN 1
        ELSE ISNULL((SELECT principal_id FROM sys.database_principals WHERE sid = SUSER_SID()), 2) END AS id) AS me
WHERE p.class = 1 AND p.minor_id = 0 AND p.state = 'G' AND p.type IN ('SL', 'IN', 'UP', 'DL', 'RF') AND o.type IN ('U', 'V')
    AND (p.grantee_principal_id IN (0, me.id) OR p.grantor_principal_id = me.id)
GO
-- Permissions on columns are refused.
-- needs: visible
CREATE VIEW INFORMATION_SCHEMA.COLUMN_PRIVILEGES AS
SELECT CONVERT(nvarchar(128), 'dbo') AS GRANTOR, CONVERT(nvarchar(128), 'dbo') AS GRANTEE,
    TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, CONVERT(varchar(10), NULL) AS PRIVILEGE_TYPE,
    CONVERT(varchar(3), 'YES') AS IS_GRANTABLE
FROM INFORMATION_SCHEMA.COLUMNS WHERE 1 = 0
