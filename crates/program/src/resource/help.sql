-- sp_help and the procedures that it is made of.
-- The words for types of objects; and a column's or parameter's type as sp_help shows it.
-- needs: visible
CREATE VIEW sys.[$kinds] AS
SELECT k.type, CONVERT(nvarchar(31), k.word) AS word
FROM (VALUES ('C ', 'check cns'), ('D ', 'default (maybe cns)'), ('F ', 'foreign key cns'), ('FN', 'scalar function'),
    ('IF', 'inline function'), ('P ', 'stored procedure'), ('PK', 'primary key cns'), ('S ', 'system table'),
    ('SN', 'synonym'), ('SO', 'sequence object'), ('TF', 'table function'), ('TR', 'trigger'), ('TT', 'table type'),
    ('U ', 'user table'), ('UQ', 'unique key cns'), ('V ', 'view')) AS k (type, word)
GO
-- needs: visible
CREATE VIEW sys.[$faces] AS
SELECT t.user_type_id, t.name, t.system_type_id,
    CONVERT(bit, CASE WHEN t.system_type_id IN (41, 42, 43, 48, 52, 56, 59, 60, 62, 104, 106, 108, 122, 127) THEN 1 ELSE 0 END) AS has_precision,
    CONVERT(bit, CASE WHEN t.system_type_id IN (41, 42, 43, 48, 52, 56, 60, 104, 106, 108, 122, 127) THEN 1 ELSE 0 END) AS has_scale
FROM sys.types AS t
GO
-- needs: asks
CREATE PROCEDURE sys.sp_help @objname nvarchar(776) = NULL
AS
SET NOCOUNT ON
DECLARE @id int, @type char(2), @none nvarchar(40)
IF @objname IS NULL
BEGIN
    SELECT o.name AS Name, CONVERT(nvarchar(128), ISNULL(p.name, 'dbo')) AS Owner, k.word AS Object_type
    FROM sys.all_objects AS o
        JOIN sys.[$kinds] AS k ON k.type = o.type
        JOIN sys.schemas AS s ON s.schema_id = o.schema_id
        LEFT JOIN sys.database_principals AS p ON p.principal_id = s.principal_id
    ORDER BY Owner, Object_type DESC, Name
    SELECT t.name AS User_type, CONVERT(nvarchar(128), b.name) AS Storage_type, t.max_length AS Length,
        CONVERT(int, t.precision) AS Prec, CONVERT(int, CASE WHEN f.has_scale = 1 THEN t.scale END) AS Scale,
        CONVERT(varchar(35), CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
        CONVERT(nvarchar(128), 'none') AS Default_name, CONVERT(nvarchar(128), 'none') AS Rule_name,
        CONVERT(sysname, t.collation_name) AS Collation
    FROM sys.types AS t
        JOIN sys.[$faces] AS f ON f.user_type_id = t.system_type_id
        JOIN sys.types AS b ON b.user_type_id = t.system_type_id
    WHERE t.is_user_defined = 1
    ORDER BY User_type
    RETURN 0
END
SELECT @id = o.object_id, @type = o.type FROM sys.all_objects AS o WHERE o.object_id = OBJECT_ID(@objname)
IF @id IS NULL
BEGIN
    SELECT @id = TYPE_ID(@objname)
    IF @id IS NULL
    BEGIN
        SELECT @none = DB_NAME()
        RAISERROR(15009, -1, -1, @objname, @none)
        RETURN 1
    END
    SELECT t.name AS Type_name, CONVERT(nvarchar(128), b.name) AS Storage_type, t.max_length AS Length,
        CONVERT(int, t.precision) AS Prec, CONVERT(int, CASE WHEN f.has_scale = 1 THEN t.scale END) AS Scale,
        CONVERT(varchar(35), CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
        CONVERT(nvarchar(128), 'none') AS Default_name, CONVERT(nvarchar(128), 'none') AS Rule_name,
        CONVERT(sysname, t.collation_name) AS Collation
    FROM sys.types AS t
        JOIN sys.[$faces] AS f ON f.user_type_id = t.system_type_id
        JOIN sys.types AS b ON b.user_type_id = t.system_type_id
    WHERE t.user_type_id = @id
    RETURN 0
END
SELECT o.name AS Name, CONVERT(nvarchar(128), ISNULL(p.name, 'dbo')) AS Owner, k.word AS Type, o.create_date AS Created_datetime
FROM sys.all_objects AS o
    JOIN sys.[$kinds] AS k ON k.type = o.type
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.database_principals AS p ON p.principal_id = s.principal_id
WHERE o.object_id = @id
IF EXISTS (SELECT * FROM sys.all_columns WHERE object_id = @id)
BEGIN
    SELECT c.name AS Column_name, CONVERT(nvarchar(128), TYPE_NAME(c.user_type_id)) AS Type,
        CONVERT(varchar(35), CASE c.is_computed WHEN 1 THEN 'yes' ELSE 'no' END) AS Computed,
        CONVERT(int, c.max_length) AS Length,
        CONVERT(char(5), CASE WHEN f.has_precision = 1 THEN CONVERT(varchar(5), c.precision) ELSE '' END) AS Prec,
        CONVERT(char(5), CASE WHEN f.has_scale = 1 THEN CONVERT(varchar(5), c.scale) ELSE '' END) AS Scale,
        CONVERT(varchar(35), CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
        CONVERT(varchar(35), CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)'
            WHEN c.is_ansi_padded = 1 THEN 'no' ELSE 'yes' END) AS TrimTrailingBlanks,
        CONVERT(varchar(35), CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)'
            WHEN c.is_nullable = 0 THEN 'no' ELSE 'yes' END) AS FixedLenNullInSource,
        c.collation_name AS Collation
    FROM sys.all_columns AS c
        JOIN sys.[$faces] AS f ON f.user_type_id = c.system_type_id
    WHERE c.object_id = @id
    ORDER BY c.column_id
    IF EXISTS (SELECT * FROM sys.identity_columns WHERE object_id = @id)
        SELECT i.name AS [Identity], CONVERT(numeric(38, 0), i.seed_value) AS Seed,
            CONVERT(numeric(38, 0), i.increment_value) AS Increment,
            CONVERT(int, i.is_not_for_replication) AS [Not For Replication]
        FROM sys.identity_columns AS i WHERE i.object_id = @id
    ELSE
        SELECT CONVERT(sysname, 'No identity column defined.') AS [Identity], CONVERT(numeric(38, 0), NULL) AS Seed,
            CONVERT(numeric(38, 0), NULL) AS Increment, CONVERT(int, NULL) AS [Not For Replication]
    IF EXISTS (SELECT * FROM sys.all_columns WHERE object_id = @id AND is_rowguidcol = 1)
        SELECT c.name AS [RowGuidCol] FROM sys.all_columns AS c WHERE c.object_id = @id AND c.is_rowguidcol = 1
    ELSE
        SELECT CONVERT(sysname, 'No rowguidcol column defined.') AS [RowGuidCol]
END
IF EXISTS (SELECT * FROM sys.all_parameters WHERE object_id = @id)
    SELECT CONVERT(sysname, p.name) AS Parameter_name, CONVERT(nvarchar(128), TYPE_NAME(p.user_type_id)) AS Type,
        p.max_length AS Length,
        CONVERT(int, CASE WHEN p.system_type_id IN (167, 173, 165, 175) THEN p.max_length
            WHEN p.system_type_id IN (231, 239) AND p.max_length > 0 THEN p.max_length / 2 ELSE p.precision END) AS Prec,
        CONVERT(int, CASE WHEN f.has_scale = 1 THEN p.scale END) AS Scale, p.parameter_id AS Param_order,
        CONVERT(sysname, CASE WHEN p.system_type_id IN (35, 99, 167, 175, 231, 239) THEN
            CONVERT(sysname, DATABASEPROPERTYEX(DB_NAME(), 'Collation')) END) AS Collation
    FROM sys.all_parameters AS p
        JOIN sys.[$faces] AS f ON f.user_type_id = p.system_type_id
    WHERE p.object_id = @id
    ORDER BY p.parameter_id
IF @type IN ('U', 'S')
BEGIN
    IF @type = 'U'
        SELECT CONVERT(nvarchar(128), d.name) AS Data_located_on_filegroup
        FROM sys.indexes AS i JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
        WHERE i.object_id = @id AND i.index_id < 2
    EXEC sys.sp_helpindex @objname
    EXEC sys.sp_helpconstraint @objname, 'nomsg'
    IF @type = 'U'
        RAISERROR(15647, -1, -1, @objname)
END
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpindex @objname nvarchar(776)
AS
SET NOCOUNT ON
DECLARE @id int, @db sysname
SELECT @id = OBJECT_ID(@objname), @db = DB_NAME()
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
IF NOT EXISTS (SELECT * FROM sys.indexes WHERE object_id = @id AND index_id > 0 AND is_hypothetical = 0)
BEGIN
    RAISERROR(15472, -1, -1, @objname)
    RETURN 0
END
SELECT CONVERT(sysname, i.name) AS index_name,
    CONVERT(varchar(210), CASE i.index_id WHEN 1 THEN 'clustered' ELSE 'nonclustered' END
        + CASE i.ignore_dup_key WHEN 1 THEN ', ignore duplicate keys' ELSE '' END
        + CASE i.is_unique WHEN 1 THEN ', unique' ELSE '' END
        + CASE i.is_primary_key WHEN 1 THEN ', primary key' ELSE '' END
        + CASE i.is_unique_constraint WHEN 1 THEN ', unique key' ELSE '' END
        + ' located on ' + d.name) AS index_description,
    CONVERT(nvarchar(2126), (SELECT STRING_AGG(c.name + CASE k.is_descending_key WHEN 1 THEN '(-)' ELSE '' END, ', ')
            WITHIN GROUP (ORDER BY k.key_ordinal)
        FROM sys.index_columns AS k
            JOIN sys.all_columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
        WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0)) AS index_keys
FROM sys.indexes AS i JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
WHERE i.object_id = @id AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY index_name
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helpconstraint @objname nvarchar(776), @nomsg varchar(5) = 'msg'
AS
SET NOCOUNT ON
DECLARE @id int, @db sysname
SELECT @id = OBJECT_ID(@objname), @db = DB_NAME()
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
IF @nomsg <> 'nomsg'
    SELECT @objname AS [Object Name]
CREATE TABLE #constraints (type nvarchar(146), name sysname, on_delete nvarchar(9), on_update nvarchar(9),
    enabled varchar(8), replicated varchar(19), keys nvarchar(2126), place int)
INSERT #constraints
SELECT CASE k.type WHEN 'PK' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END
        + CASE i.index_id WHEN 1 THEN ' (clustered)' ELSE ' (non-clustered)' END, k.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)',
    (SELECT STRING_AGG(c.name + CASE x.is_descending_key WHEN 1 THEN '(-)' ELSE '' END, ', ') WITHIN GROUP (ORDER BY x.key_ordinal)
        FROM sys.index_columns AS x JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
        WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0), 0
FROM sys.key_constraints AS k JOIN sys.indexes AS i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
WHERE k.parent_object_id = @id
INSERT #constraints
SELECT CASE WHEN k.parent_column_id = 0 THEN 'CHECK Table Level '
        ELSE 'CHECK on column ' + (SELECT c.name FROM sys.columns AS c WHERE c.object_id = @id AND c.column_id = k.parent_column_id) END,
    k.name, '(n/a)', '(n/a)', CASE k.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END,
    CASE k.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END,
    CONVERT(nvarchar(2126), k.definition), 0
FROM sys.check_constraints AS k WHERE k.parent_object_id = @id
INSERT #constraints
SELECT 'DEFAULT on column ' + c.name, d.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)', CONVERT(nvarchar(2126), d.definition), 0
FROM sys.default_constraints AS d
    JOIN sys.columns AS c ON c.object_id = d.parent_object_id AND c.column_id = d.parent_column_id
WHERE d.parent_object_id = @id
INSERT #constraints
SELECT 'FOREIGN KEY', f.name,
    CASE f.delete_referential_action WHEN 1 THEN 'Cascade' WHEN 2 THEN 'Set Null' WHEN 3 THEN 'Set Default' ELSE 'No Action' END,
    CASE f.update_referential_action WHEN 1 THEN 'Cascade' WHEN 2 THEN 'Set Null' WHEN 3 THEN 'Set Default' ELSE 'No Action' END,
    CASE f.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END,
    CASE f.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END,
    (SELECT STRING_AGG(c.name, ', ') WITHIN GROUP (ORDER BY x.constraint_column_id)
        FROM sys.foreign_key_columns AS x JOIN sys.columns AS c ON c.object_id = x.parent_object_id AND c.column_id = x.parent_column_id
        WHERE x.constraint_object_id = f.object_id), 0
FROM sys.foreign_keys AS f WHERE f.parent_object_id = @id
INSERT #constraints
SELECT ' ', f.name, ' ', ' ', ' ', ' ', 'REFERENCES ' + DB_NAME() + '.' + s.name + '.' + r.name + ' ('
    + (SELECT STRING_AGG(c.name, ', ') WITHIN GROUP (ORDER BY x.constraint_column_id)
        FROM sys.foreign_key_columns AS x JOIN sys.columns AS c ON c.object_id = x.referenced_object_id AND c.column_id = x.referenced_column_id
        WHERE x.constraint_object_id = f.object_id) + ')', 1
FROM sys.foreign_keys AS f
    JOIN sys.objects AS r ON r.object_id = f.referenced_object_id
    JOIN sys.schemas AS s ON s.schema_id = r.schema_id
WHERE f.parent_object_id = @id
IF EXISTS (SELECT * FROM #constraints)
    SELECT type AS constraint_type, CASE place WHEN 0 THEN name ELSE ' ' END AS constraint_name, on_delete AS delete_action,
        on_update AS update_action, enabled AS status_enabled, replicated AS status_for_replication, keys AS constraint_keys
    FROM #constraints
    ORDER BY name, place
ELSE
    RAISERROR(15469, -1, -1, @objname)
IF EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = @id)
    SELECT CONVERT(nvarchar(516), DB_NAME() + '.' + s.name + '.' + t.name + ': ' + f.name) AS [Table is referenced by foreign key]
    FROM sys.foreign_keys AS f
        JOIN sys.objects AS t ON t.object_id = f.parent_object_id
        JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    WHERE f.referenced_object_id = @id
    ORDER BY 1
ELSE
    RAISERROR(15470, -1, -1, @objname)
RETURN 0
GO
-- needs: asks
CREATE PROCEDURE sys.sp_helptext @objname nvarchar(776), @columnname sysname = NULL
AS
SET NOCOUNT ON
DECLARE @id int, @db sysname, @text nvarchar(max), @at int, @end int, @n int
SELECT @id = OBJECT_ID(@objname), @db = DB_NAME(), @at = 1, @n = 1
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
SELECT @text = m.definition FROM sys.all_sql_modules AS m WHERE m.object_id = @id
IF @text IS NULL
    SELECT @text = d.definition FROM sys.default_constraints AS d WHERE d.object_id = @id
IF @text IS NULL
    SELECT @text = k.definition FROM sys.check_constraints AS k WHERE k.object_id = @id
IF @text IS NULL
BEGIN
    RAISERROR(15197, -1, -1, @objname)
    RETURN 1
END
CREATE TABLE #lines (n int, line nvarchar(255))
WHILE @at <= DATALENGTH(@text) / 2
BEGIN
    SET @end = CHARINDEX(CHAR(13) + CHAR(10), @text, @at)
    SET @end = CASE @end WHEN 0 THEN DATALENGTH(@text) / 2 + 1 ELSE @end + 2 END
    IF @end - @at > 255 SET @end = @at + 255
    INSERT #lines VALUES (@n, SUBSTRING(@text, @at, @end - @at))
    SELECT @at = @end, @n = @n + 1
END
SELECT line AS Text FROM #lines ORDER BY n
RETURN 0
