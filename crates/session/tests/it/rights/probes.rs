//! What tries each row: a text for it, with places for names.
//!
//! `{o}` stands before the name of an object: its schema, or also its database; `{db}` for the database; `{d}` before what
//! is of the system; `{s}` for the schema; `{id}` for the id of the table `t`. None does harm: each is rolled back, or
//! changes nothing.

use super::table::{Line, probe_of_statement};

/// A statement for each row of that kind which asks for something. Each would do nothing, or is rolled back.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT INTO", "SELECT 1 AS a INTO {o}made"),
    ("INSERT", "INSERT {o}t (v) VALUES (1)"),
    ("INSERT BULK", "INSERT BULK {o}t (v int)"),
    ("UPDATE", "UPDATE {o}t SET v = 1"),
    ("DELETE", "DELETE {o}t"),
    (
        "MERGE",
        "MERGE t USING t2 ON t.id = t2.id WHEN MATCHED THEN DELETE;",
    ),
    ("TRUNCATE TABLE", "TRUNCATE TABLE {o}t"),
    ("CREATE TABLE", "CREATE TABLE {o}made (a int)"),
    ("ALTER TABLE", "ALTER TABLE {o}t ADD w int"),
    ("CREATE INDEX", "CREATE INDEX made ON {o}t (v)"),
    ("ALTER INDEX", "ALTER INDEX ix ON {o}t REBUILD"),
    ("DROP INDEX", "DROP INDEX ix ON {o}t"),
    ("CREATE STATISTICS", "CREATE STATISTICS made ON {o}t (v)"),
    ("UPDATE STATISTICS", "UPDATE STATISTICS {o}t"),
    ("DROP STATISTICS", "DROP STATISTICS {o}t.st"),
    ("DROP TABLE", "DROP TABLE {o}t"),
    ("CREATE VIEW", "CREATE VIEW dbo.made AS SELECT 1 AS a"),
    ("ALTER VIEW", "ALTER VIEW vw AS SELECT 1 AS a"),
    ("DROP VIEW", "DROP VIEW {o}vw"),
    ("CREATE PROCEDURE", "CREATE PROCEDURE dbo.made AS RETURN"),
    ("ALTER PROCEDURE", "ALTER PROCEDURE p AS RETURN"),
    ("DROP PROCEDURE", "DROP PROCEDURE {o}p"),
    (
        "CREATE FUNCTION",
        "CREATE FUNCTION dbo.made () RETURNS int AS BEGIN RETURN 1 END",
    ),
    (
        "ALTER FUNCTION",
        "ALTER FUNCTION f () RETURNS int AS BEGIN RETURN 2 END",
    ),
    ("DROP FUNCTION", "DROP FUNCTION {o}f"),
    (
        "CREATE TRIGGER",
        "CREATE TRIGGER made ON dbo.t AFTER INSERT AS RETURN",
    ),
    (
        "ALTER TRIGGER",
        "ALTER TRIGGER tr ON dbo.t2 AFTER DELETE AS RETURN",
    ),
    ("DROP TRIGGER", "DROP TRIGGER tr"),
    ("CREATE SCHEMA", "CREATE SCHEMA made"),
    ("ALTER SCHEMA", "ALTER SCHEMA s TRANSFER {o}t"),
    ("DROP SCHEMA", "DROP SCHEMA s"),
    ("CREATE TYPE", "CREATE TYPE {o}made FROM int"),
    ("DROP TYPE", "DROP TYPE {o}ty"),
    ("CREATE SYNONYM", "CREATE SYNONYM {o}made FOR dbo.t"),
    ("DROP SYNONYM", "DROP SYNONYM {o}sy"),
    (
        "CREATE PARTITION FUNCTION",
        "CREATE PARTITION FUNCTION made (int) AS RANGE RIGHT FOR VALUES (1)",
    ),
    (
        "ALTER PARTITION FUNCTION",
        "ALTER PARTITION FUNCTION pf () SPLIT RANGE (5)",
    ),
    ("DROP PARTITION FUNCTION", "DROP PARTITION FUNCTION pf2"),
    (
        "CREATE PARTITION SCHEME",
        "CREATE PARTITION SCHEME made AS PARTITION pf ALL TO ([PRIMARY])",
    ),
    (
        "ALTER PARTITION SCHEME",
        "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]",
    ),
    ("DROP PARTITION SCHEME", "DROP PARTITION SCHEME ps"),
    ("CREATE SEQUENCE", "CREATE SEQUENCE made"),
    ("DROP SEQUENCE", "DROP SEQUENCE made"),
    ("DROP DEFAULT", "DROP DEFAULT made"),
    ("DROP RULE", "DROP RULE made"),
    (
        "CREATE LOGIN",
        "CREATE LOGIN made WITH PASSWORD = 'Secret-2'",
    ),
    (
        "ALTER LOGIN",
        "ALTER LOGIN l0 WITH DEFAULT_DATABASE = master",
    ),
    ("DROP LOGIN", "DROP LOGIN l0"),
    ("CREATE USER", "CREATE USER made WITHOUT LOGIN"),
    ("ALTER USER", "ALTER USER u0 WITH NAME = u1"),
    ("DROP USER", "DROP USER u0"),
    ("CREATE ROLE", "CREATE ROLE made"),
    ("ALTER ROLE", "ALTER ROLE r0 ADD MEMBER u0"),
    ("DROP ROLE", "DROP ROLE r0"),
    ("CREATE SERVER ROLE", "CREATE SERVER ROLE made"),
    (
        "ALTER SERVER ROLE",
        "ALTER SERVER ROLE diskadmin ADD MEMBER l0",
    ),
    ("GRANT, DENY, REVOKE", "GRANT SELECT ON {o}t TO u0"),
    (
        "GRANT, DENY, REVOKE on the server",
        "USE master; GRANT VIEW SERVER STATE TO l0",
    ),
    (
        "ALTER AUTHORIZATION",
        "ALTER AUTHORIZATION ON DATABASE::{db} TO l0",
    ),
    (
        "CREATE EVENT SESSION",
        "CREATE EVENT SESSION made ON SERVER ADD EVENT sqlserver.login",
    ),
    (
        "ALTER EVENT SESSION",
        "ALTER EVENT SESSION system_health ON SERVER STATE = START",
    ),
    ("DROP EVENT SESSION", "DROP EVENT SESSION made ON SERVER"),
    ("CREATE DATABASE", "CREATE DATABASE {db}"),
    ("ALTER DATABASE", "ALTER DATABASE {db} SET RECOVERY FULL"),
    ("DROP DATABASE", "DROP DATABASE {db}"),
    (
        "ALTER DATABASE SCOPED CONFIGURATION",
        "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1",
    ),
    (
        "BACKUP DATABASE",
        "BACKUP DATABASE {db} TO DISK = '{db}.bak'",
    ),
    ("BACKUP LOG", "BACKUP LOG {db} TO DISK = '{db}.trn'"),
    (
        "RESTORE DATABASE",
        "RESTORE DATABASE {db} FROM DISK = 'nothing.bak'",
    ),
    ("RESTORE LOG", "RESTORE LOG {db} FROM DISK = 'nothing.bak'"),
    (
        "RESTORE HEADERONLY",
        "RESTORE HEADERONLY FROM DISK = 'nothing.bak'",
    ),
    (
        "RESTORE FILELISTONLY",
        "RESTORE FILELISTONLY FROM DISK = 'nothing.bak'",
    ),
    (
        "RESTORE LABELONLY",
        "RESTORE LABELONLY FROM DISK = 'nothing.bak'",
    ),
    (
        "RESTORE VERIFYONLY",
        "RESTORE VERIFYONLY FROM DISK = 'nothing.bak'",
    ),
    (
        "RESTORE REWINDONLY",
        "RESTORE REWINDONLY FROM DISK = 'nothing.bak'",
    ),
    ("CHECKPOINT", "CHECKPOINT"),
    ("KILL", "KILL 9999"),
    ("SHUTDOWN", "SHUTDOWN"),
    ("RECONFIGURE", "RECONFIGURE"),
    ("USE", "USE {db}"),
    ("EXECUTE", "EXECUTE {o}p"),
    ("EXECUTE AS", "EXECUTE AS LOGIN = 'sa'"),
    ("REVERT", "REVERT"),
    ("DECLARE CURSOR", "DECLARE c CURSOR FOR SELECT 1"),
    ("OPEN, FETCH, CLOSE, DEALLOCATE", "OPEN c"),
    ("BEGIN TRANSACTION", "BEGIN TRAN; COMMIT"),
    ("COMMIT", "BEGIN TRAN; COMMIT"),
    (
        "ROLLBACK",
        "BEGIN TRAN; SAVE TRAN a; ROLLBACK TRAN a; COMMIT",
    ),
    (
        "SAVE TRANSACTION",
        "BEGIN TRAN; SAVE TRAN a; ROLLBACK TRAN a; COMMIT",
    ),
    ("DBCC", "DBCC USEROPTIONS WITH NO_INFOMSGS"),
    ("DECLARE", "DECLARE @a int"),
    (
        "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY",
        "BEGIN TRY IF 1 = 1 GOTO a; WHILE 1 = 0 CONTINUE; a: RETURN END TRY BEGIN CATCH END CATCH",
    ),
    ("PRINT", "PRINT 'a'"),
    ("RAISERROR, THROW", "RAISERROR ('a', 10, 1)"),
    ("SELECT", "SELECT COUNT(*) FROM {o}t"),
    ("SET", "SET NOCOUNT OFF"),
    ("SET @variable", "DECLARE @a int; SET @a = 1"),
    ("WAITFOR", "WAITFOR DELAY '00:00:00'"),
];

/// After the name of a SET option: what leaves the session as it was, or what asks; the others are switched off.
const SETS: &[(&str, &str)] = &[
    ("ANSI_NULLS", "ON"),
    ("ANSI_PADDING", "ON"),
    ("ANSI_WARNINGS", "ON"),
    ("ARITHABORT", "ON"),
    ("CONCAT_NULL_YIELDS_NULL", "ON"),
    ("CONTEXT_INFO", "0x01"),
    ("DATEFIRST", "7"),
    ("DATEFORMAT", "mdy"),
    ("DEADLOCK_PRIORITY", "NORMAL"),
    ("IDENTITY_INSERT", "{o}t ON"),
    ("LANGUAGE", "us_english"),
    ("LOCK_TIMEOUT", "-1"),
    ("QUOTED_IDENTIFIER", "ON"),
    ("QUERY_GOVERNOR_COST_LIMIT", "0"),
    ("ROWCOUNT", "0"),
    ("SHOWPLAN_ALL", "ON"),
    ("SHOWPLAN_TEXT", "ON"),
    ("SHOWPLAN_XML", "ON"),
    ("STATISTICS PROFILE", "ON"),
    ("STATISTICS XML", "ON"),
    ("TEXTSIZE", "4096"),
    ("TRANSACTION ISOLATION LEVEL", "READ COMMITTED"),
];

/// Arguments of DBCC statements; the others need none.
const DBCC: &[(&str, &str)] = &[
    ("CHECKALLOC", "('{db}')"),
    ("CHECKCATALOG", "('{db}')"),
    ("CHECKDB", "('{db}')"),
    ("CHECKIDENT", "('{o}t', NORESEED)"),
    ("CHECKTABLE", "('{o}t')"),
    ("DBINFO", "('{db}')"),
    ("FLUSHPROCINDB", "(9999)"),
    ("FREESYSTEMCACHE", "('ALL')"),
    ("IND", "('{db}', 't', 1)"),
    ("INPUTBUFFER", "(@@SPID)"),
    ("LOG", "('{db}', 0)"),
    ("LOGINFO", "('{db}')"),
    ("OPENTRAN", "('{db}')"),
    ("PAGE", "('{db}', 1, 0, 0)"),
    ("SHOW_STATISTICS", "('{o}t', 'ix')"),
    ("SHRINKFILE", "(99)"),
    ("SQLPERF", "(LOGSPACE)"),
    ("SQLPERF (..., CLEAR)", "('sys.dm_os_latch_stats', CLEAR)"),
    ("TRACEOFF", "(3604)"),
    ("TRACEON", "(3604)"),
    ("TRACESTATUS", "(9999)"),
];

/// Arguments, and the procedures that are called with them; the others need none.
const PROCEDURES: &[(&str, &[&str])] = &[
    (
        "'n', 'v', 'SCHEMA', '{s}', 'TABLE', 't'",
        &["sp_addextendedproperty"],
    ),
    (
        "'there', 'v', 'SCHEMA', '{s}', 'TABLE', 't'",
        &["sp_updateextendedproperty"],
    ),
    (
        "'there', 'SCHEMA', '{s}', 'TABLE', 't'",
        &["sp_dropextendedproperty"],
    ),
    ("'one'", &["sp_refreshview", "sp_refreshsqlmodule"]),
    ("'t2', 't3'", &["sp_rename"]),
    (
        "'{db}'",
        &["sp_detach_db", "sp_helpdb", "sp_catalogs_rowset"],
    ),
    ("60000, 'm'", &["xp_logevent"]),
    ("'nested triggers', 1", &["sp_configure with a value"]),
    ("'made', 'Secret-2'", &["sp_addlogin"]),
    ("'l0'", &["sp_droplogin", "sp_grantdbaccess", "sp_adduser"]),
    ("NULL, 'Secret-2', 'l0'", &["sp_password"]),
    ("'l0', 'master'", &["sp_defaultdb"]),
    ("'l0', 'diskadmin'", &["sp_addsrvrolemember"]),
    ("'l0', 'setupadmin'", &["sp_dropsrvrolemember"]),
    ("'made'", &["sp_addrole"]),
    ("'r0'", &["sp_droprole"]),
    ("'r0', 'u0'", &["sp_addrolemember"]),
    ("'r1', 'u0'", &["sp_droprolemember"]),
    ("'u2'", &["sp_revokedbaccess", "sp_dropuser"]),
    ("'made', 'int'", &["sp_addtype"]),
    ("'ty'", &["sp_droptype"]),
    (
        "'made', 'nothing.mdf'",
        &["sp_attach_db", "sp_attach_single_file_db"],
    ),
    ("'sa'", &["sp_changedbowner"]),
    ("'{o}t', 's'", &["sp_changeobjectowner"]),
    ("'{db}', 'master'", &["sp_renamedb"]),
    ("'PRINT ''?'''", &["sp_MSforeachdb", "sp_MSforeachtable"]),
    (
        "N'SELECT 1 AS a'",
        &[
            "sp_executesql",
            "sp_describe_first_result_set",
            "sp_describe_undeclared_parameters",
        ],
    ),
    ("N'name', N'value'", &["sp_set_session_context"]),
    (
        "@Resource = 'a', @LockMode = 'Shared', @LockOwner = 'Session'",
        &["sp_getapplock"],
    ),
    (
        "@Resource = 'a', @LockOwner = 'Session'",
        &["sp_releaseapplock"],
    ),
    (
        "'HKEY_LOCAL_MACHINE', 'SOFTWARE\\Nothing', 'Nothing'",
        &["xp_regread", "xp_instance_regread"],
    ),
    (
        "'nothing'",
        &[
            "sp_catalogs",
            "sp_tables_ex",
            "sp_columns_ex",
            "sp_columns_ex_90",
            "sp_columns_ex_100",
            "sp_xml_schema_rowset",
            "sp_assemblies_rowset",
            "sp_usertypes_rowset",
            "sp_linkedservers_rowset",
        ],
    ),
    (
        "'nothing', 'nothing'",
        &[
            "sp_primarykeys",
            "sp_catalogs_rowset_rmt",
            "sp_tables_rowset_rmt",
            "sp_columns_rowset_rmt",
            "sp_columns_90_rowset_rmt",
            "sp_indexes_rowset_rmt",
            "sp_indexes_90_rowset_rmt",
            "sp_primary_keys_rowset_rmt",
            "sp_foreign_keys_rowset_rmt",
            "sp_table_privileges_rowset_rmt",
            "sp_column_privileges_rowset_rmt",
            "sp_usertypes_rowset_rmt",
        ],
    ),
    (
        "'for_all'",
        &[
            "sp_help",
            "sp_helpconstraint",
            "sp_helpindex",
            "sp_helpstats",
            "sp_helptrigger",
            "sp_spaceused",
            "sp_columns",
            "sp_columns_90",
            "sp_columns_100",
            "sp_columns_rowset",
            "sp_columns_90_rowset",
            "sp_columns_100_rowset",
            "sp_column_privileges",
            "sp_column_privileges_rowset",
            "sp_tables",
            "sp_tables_rowset",
            "sp_tables_info_rowset",
            "sp_tables_info_rowset_64",
            "sp_tables_info_90_rowset",
            "sp_tables_info_90_rowset_64",
            "sp_tablecollations",
            "sp_tablecollations_90",
            "sp_tablecollations_100",
            "sp_table_constraints_rowset",
            "sp_table_privileges",
            "sp_table_privileges_rowset",
            "sp_pkeys",
            "sp_fkeys",
            "sp_primary_keys_rowset",
            "sp_foreign_keys_rowset",
            "sp_statistics",
            "sp_statistics_100",
            "sp_statistics_rowset",
            "sp_special_columns",
            "sp_special_columns_90",
            "sp_special_columns_100",
            "sp_indexes_rowset",
            "sp_indexes_90_rowset",
            "sp_indexes_100_rowset",
            "sp_check_constraints_rowset",
            "sp_check_constbytable_rowset",
            "sp_constr_col_usage_rowset",
        ],
    ),
    ("'seen_by_all'", &["sp_helptext", "sp_views_rowset"]),
    (
        "'run_by_all'",
        &[
            "sp_stored_procedures",
            "sp_sproc_columns",
            "sp_sproc_columns_90",
            "sp_sproc_columns_100",
            "sp_procedures_rowset",
            "sp_procedure_params_rowset",
            "sp_procedure_params_90_rowset",
            "sp_procedure_params_100_rowset",
        ],
    ),
    ("0", &["sp_assembly_dependencies_rowset"]),
];

/// The arguments of functions; the others take none.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("DB_ID('{db}')", &["dm_db_log_info", "dm_db_log_stats"]),
    ("DB_ID('{db}'), 1, 0, 'LIMITED'", &["dm_db_page_info"]),
    (
        "DB_ID('{db}'), NULL, NULL, NULL, NULL",
        &["dm_db_index_physical_stats"],
    ),
    (
        "DB_ID('{db}'), NULL, NULL, NULL",
        &["dm_db_index_operational_stats"],
    ),
    (
        "DB_ID('{db}'), NULL, NULL, NULL, 'LIMITED'",
        &["dm_db_database_page_allocations"],
    ),
    (
        "{id}, 1",
        &["dm_db_stats_properties", "dm_db_stats_histogram"],
    ),
    (
        "OBJECT_ID('for_all'), 1",
        &["dm_db_incremental_stats_properties"],
    ),
    (
        "150",
        &["dm_db_objects_disabled_on_compatibility_level_change"],
    ),
    (
        "0x00",
        &[
            "dm_exec_plan_attributes",
            "dm_exec_query_plan",
            "dm_exec_sql_text",
            "fn_PageResCracker",
        ],
    ),
    ("0x00, 0, -1", &["dm_exec_text_query_plan"]),
    (
        "0",
        &[
            "dm_db_missing_index_columns",
            "dm_exec_cursors",
            "dm_exec_query_statistics_xml",
            "dm_exec_xml_handles",
            "fn_trace_getinfo",
        ],
    ),
    (
        "N'SELECT 1 AS a', NULL, 0",
        &["dm_exec_describe_first_result_set"],
    ),
    ("@@SPID, NULL", &["dm_exec_input_buffer"]),
    (
        "DB_ID(), 0",
        &["dm_fts_index_keywords", "dm_fts_index_keywords_by_document"],
    ),
    (
        "NULL, NULL",
        &[
            "dm_io_virtual_file_stats",
            "fn_virtualfilestats",
            "fn_dblog",
        ],
    ),
    ("1, 1", &["dm_os_volume_stats"]),
    ("'dbo.for_all', 'OBJECT'", &["dm_sql_referencing_entities"]),
    (
        "NULL, NULL, NULL, NULL, NULL, NULL, NULL",
        &["fn_listextendedproperty"],
    ),
    ("NULL, 'DATABASE'", &["fn_my_permissions"]),
    ("NULL, NULL, 'DISK', 1, 'nothing.trn'", &["fn_dump_dblog"]),
    ("'nothing.trc', 1", &["fn_trace_gettable"]),
    (
        "'nothing*.xel', NULL, NULL, NULL",
        &["fn_xe_file_target_read_file"],
    ),
];

fn one<'a>(list: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    let found = list.iter().find(|(n, _)| *n == name);
    found.map(|(_, text)| *text)
}

fn of_many<'a>(list: &[(&'a str, &[&str])], name: &str) -> Option<&'a str> {
    let name = name.strip_prefix("sys.").unwrap_or(name);
    let found = list.iter().find(|(_, names)| names.contains(&name));
    found.map(|(args, _)| *args)
}

/// The text that tries a statement.
pub fn statement(name: &str) -> String {
    let listed = one(STATEMENTS, name).map(str::to_owned);
    let text = listed.or_else(|| probe_of_statement(name));
    text.unwrap_or_else(|| panic!("the statement {name} is not tried"))
}

/// The text that tries a row.
pub fn probe(line: &Line) -> String {
    let name = line.name.as_str();
    let first = name.split(' ').next().unwrap_or(name);
    match line.kind.as_str() {
        "statement" => statement(name),
        "SET" => format!("SET {name} {}", one(SETS, name).unwrap_or("OFF")),
        "DBCC" => {
            let args = one(DBCC, name).unwrap_or_default();
            format!("DBCC {first} {args} WITH NO_INFOMSGS")
        }
        "procedure" => {
            let args = of_many(PROCEDURES, name).unwrap_or_default();
            format!("EXEC {{d}}{first} {args}")
        }
        "function" => {
            let args = of_many(FUNCTIONS, name).unwrap_or_default();
            format!("SELECT COUNT(*) FROM {{d}}{name}({args})")
        }
        "view" => format!("SELECT TOP (0) 1 FROM {{d}}{name}"),
        kind => panic!("a row of kind {kind}"),
    }
}

/// What stands in the places of a text.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The database that is named.
    pub db: &'a str,
    /// Of the objects.
    pub schema: &'a str,
    /// Whether objects and what is of the system are named with their database.
    pub far: bool,
    pub id: i32,
}

impl Names<'_> {
    pub fn put(&self, text: &str) -> String {
        let d = match self.far {
            true => format!("{}.", self.db),
            false => String::new(),
        };
        text.replace("{o}", &format!("{d}{}.", self.schema))
            .replace("{s}", self.schema)
            .replace("{db}", self.db)
            .replace("{d}", &d)
            .replace("{id}", &self.id.to_string())
    }
}
