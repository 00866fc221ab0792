-- Who there is: the principals of a database are in its base table, the server has its one login.
CREATE VIEW sys.database_principals AS
SELECT o.name, o.id AS principal_id, CONVERT(char(1), o.type) AS type,
    CONVERT(nvarchar(60), CASE o.type WHEN 'R' THEN 'DATABASE_ROLE' ELSE 'SQL_USER' END) AS type_desc,
    CONVERT(sysname, CASE WHEN o.id IN (1, 2) THEN 'dbo' END) AS default_schema_name,
    o.created AS create_date, o.modified AS modify_date,
    CONVERT(int, CASE WHEN o.type = 'R' THEN 1 END) AS owning_principal_id,
    CONVERT(varbinary(85), CASE o.id WHEN 1 THEN 0x01 WHEN 2 THEN 0x00 END) AS sid,
    CONVERT(bit, CASE WHEN o.id >= 16384 AND o.id < 16400 THEN 1 ELSE 0 END) AS is_fixed_role,
    CONVERT(int, CASE WHEN o.type = 'R' OR o.id > 2 THEN 0 WHEN o.id = 1 THEN 1 ELSE 0 END) AS authentication_type,
    CONVERT(nvarchar(60), CASE WHEN o.id = 1 THEN 'INSTANCE' ELSE 'NONE' END) AS authentication_type_desc,
    CONVERT(sysname, NULL) AS default_language_name,
    CONVERT(int, NULL) AS default_language_lcid,
    CONVERT(bit, 0) AS allow_encrypted_value_modifications
FROM sys.sysowners AS o
GO
CREATE VIEW sys.database_role_members AS
SELECT r.principal_id AS role_principal_id, m.principal_id AS member_principal_id
FROM sys.database_principals AS r JOIN sys.database_principals AS m ON r.name = 'db_owner' AND m.name = 'dbo'
GO
-- There is no GRANT: what a new database of SQL Server grants, that its owner may connect.
CREATE VIEW sys.database_permissions AS
SELECT CONVERT(tinyint, 0) AS class, CONVERT(nvarchar(60), 'DATABASE') AS class_desc, 0 AS major_id, 0 AS minor_id,
    p.principal_id AS grantee_principal_id, p.principal_id AS grantor_principal_id,
    CONVERT(char(4), 'CO') AS type, CONVERT(nvarchar(128), 'CONNECT') AS permission_name,
    CONVERT(char(1), 'G') AS state, CONVERT(nvarchar(60), 'GRANT') AS state_desc
FROM sys.database_principals AS p WHERE p.name = 'dbo'
GO
CREATE VIEW sys.server_principals AS
SELECT CONVERT(sysname, 'sa') AS name, 1 AS principal_id, CONVERT(varbinary(85), 0x01) AS sid,
    CONVERT(char(1), 'S') AS type, CONVERT(nvarchar(60), 'SQL_LOGIN') AS type_desc,
    CONVERT(bit, 0) AS is_disabled, d.create_date, d.create_date AS modify_date,
    CONVERT(sysname, 'master') AS default_database_name, CONVERT(sysname, 'us_english') AS default_language_name,
    CONVERT(int, NULL) AS credential_id, CONVERT(int, NULL) AS owning_principal_id, CONVERT(bit, 0) AS is_fixed_role,
    CONVERT(int, NULL) AS tenant_id
FROM sys.databases AS d WHERE d.database_id = 1
UNION ALL
SELECT r.name, r.id, CONVERT(varbinary(85), r.id), 'R', 'SERVER_ROLE', 0, d.create_date, d.create_date, NULL, NULL, NULL, 1,
    CASE r.id WHEN 2 THEN 0 ELSE 1 END, NULL
FROM (VALUES (CONVERT(sysname, 'public'), 2), ('sysadmin', 3)) AS r (name, id) JOIN sys.databases AS d ON d.database_id = 1
GO
CREATE VIEW sys.sql_logins AS
SELECT name, principal_id, sid, type, type_desc, is_disabled, create_date, modify_date, default_database_name,
    default_language_name, credential_id, CONVERT(bit, 0) AS is_policy_checked, CONVERT(bit, 0) AS is_expiration_checked,
    CONVERT(varbinary(256), NULL) AS password_hash
FROM sys.server_principals WHERE type = 'S'
GO
CREATE VIEW sys.server_role_members AS
SELECT r.principal_id AS role_principal_id, m.principal_id AS member_principal_id
FROM sys.server_principals AS r JOIN sys.server_principals AS m ON r.name = 'sysadmin' AND m.name = 'sa'
