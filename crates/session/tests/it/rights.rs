//! Every row that declares a right, run as thirteen identities and held against `tests/rights.tsv`; what nobody may do to
//! itself; what modules, strings and other databases open.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use duramen_session::{Instance, LoginRequest, Session, reference};

use super::{instance, login, run};

/// The numbers that refuse something to whom it is not granted.
const REFUSALS: &[i32] = &[
    229, 230, 262, 297, 300, 916, 1088, 2571, 2760, 2778, 3110, 3505, 3701, 4613, 5011, 5812, 6004,
    6102, 7983, 8189, 15003, 15009, 15135, 15151, 15247,
];

/// A line of the table: what the documentation says.
struct Line {
    kind: String,
    name: String,
    rights: Vec<String>,
    of: Vec<String>,
}

#[allow(clippy::disallowed_methods, reason = "the table lies on the real disk")]
fn table() -> Vec<Line> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rights.tsv");
    let text = std::fs::read_to_string(path).expect("tests/rights.tsv");
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let parts = |s: &str| match s.starts_with("sysadmin") {
        true => vec![s.to_owned()],
        false => s.split(" or ").map(str::to_owned).collect(),
    };
    let line = |l: &str| {
        let fields: Vec<&str> = l.split('\t').collect();
        let [kind, name, right, of, source] = fields[..] else {
            panic!("a line of five fields: {l}");
        };
        assert!(!source.is_empty(), "{name} has no source");
        Line {
            kind: kind.to_owned(),
            name: name.to_owned(),
            rights: parts(right),
            of: parts(of),
        }
    };
    lines.map(line).collect()
}

#[test]
fn every_row_needs_what_the_documentation_says() {
    let table = table();
    let said: BTreeMap<(&str, &str), &Line> = table
        .iter()
        .map(|l| ((l.kind.as_str(), l.name.as_str()), l))
        .collect();
    assert_eq!(said.len(), table.len(), "a line is there twice");
    let mut wrong = Vec::new();
    let rows = reference::permissions();
    for row in &rows {
        let Some(line) = said.get(&(row.kind, row.name.as_str())) else {
            wrong.push(format!("{} {} has no line", row.kind, row.name));
            continue;
        };
        let (right, of) = (line.rights.join(" or "), line.of.join(" or "));
        if row.right != right || right != "none" && row.of != of {
            wrong.push(format!(
                "{} {}: {right} of {of} in the table, {} of {} in the code",
                row.kind, row.name, row.right, row.of
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(rows.len(), table.len(), "a line is of nothing");
}

/// Who tries.
struct Identity {
    name: &'static str,
    /// Has a user in the database `d`.
    enters: bool,
    /// What it holds of the server, and in `d`; `*` is everything.
    server: &'static [&'static str],
    database: &'static [&'static str],
    /// What makes it so.
    setup: &'static str,
}

const DDL: &[&str] = &[
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE PROCEDURE",
    "CREATE FUNCTION",
    "CREATE TYPE",
    "CREATE SYNONYM",
    "CREATE SCHEMA",
    "ALTER",
    "ALTER ANY SCHEMA",
    "ALTER ANY DATASPACE",
    "CHECKPOINT",
];

/// From "Database-level roles" and "Server-level roles" on learn.microsoft.com.
const IDENTITIES: &[Identity] = &[
    Identity {
        name: "norights",
        enters: false,
        server: &[],
        database: &[],
        setup: "",
    },
    Identity {
        name: "asguest",
        enters: false,
        server: &[],
        database: &[],
        setup: "",
    },
    Identity {
        name: "ownerelse",
        enters: false,
        server: &[],
        database: &[],
        setup: "USE e; CREATE USER ownerelse; ALTER ROLE db_owner ADD MEMBER ownerelse",
    },
    Identity {
        name: "plain",
        enters: true,
        server: &[],
        database: &[],
        setup: "USE d; CREATE USER plain",
    },
    Identity {
        name: "datareader",
        enters: true,
        server: &[],
        database: &["SELECT"],
        setup: "USE d; CREATE USER datareader; ALTER ROLE db_datareader ADD MEMBER datareader",
    },
    Identity {
        name: "ddladmin",
        enters: true,
        server: &[],
        database: DDL,
        setup: "USE d; CREATE USER ddladmin; ALTER ROLE db_ddladmin ADD MEMBER ddladmin",
    },
    Identity {
        name: "dbsecurity",
        enters: true,
        server: &[],
        database: &["ALTER ANY ROLE", "CREATE ROLE", "CREATE SCHEMA"],
        setup: "USE d; CREATE USER dbsecurity; ALTER ROLE db_securityadmin ADD MEMBER dbsecurity",
    },
    Identity {
        name: "backupop",
        enters: true,
        server: &[],
        database: &["BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT"],
        setup: "USE d; CREATE USER backupop; ALTER ROLE db_backupoperator ADD MEMBER backupop",
    },
    Identity {
        name: "dbstate",
        enters: true,
        server: &[],
        database: &["VIEW DATABASE STATE"],
        setup: "USE d; CREATE USER dbstate; GRANT VIEW DATABASE STATE TO dbstate",
    },
    Identity {
        name: "srvstate",
        enters: true,
        server: &["VIEW SERVER STATE"],
        database: &["VIEW DATABASE STATE"],
        setup: "USE d; CREATE USER srvstate; USE master; GRANT VIEW SERVER STATE TO srvstate",
    },
    Identity {
        name: "secadmin",
        enters: false,
        server: &["ALTER ANY LOGIN"],
        database: &[],
        setup: "ALTER SERVER ROLE securityadmin ADD MEMBER secadmin",
    },
    Identity {
        name: "controls",
        enters: true,
        server: &["*"],
        database: &["*"],
        setup: "USE master; GRANT CONTROL SERVER TO controls",
    },
    Identity {
        name: "sysad",
        enters: true,
        server: &["*", "sysadmin"],
        database: &["*"],
        setup: "ALTER SERVER ROLE sysadmin ADD MEMBER sysad",
    },
];

impl Identity {
    /// Whether it holds one of a line's rights.
    fn holds(&self, line: &Line) -> bool {
        let held = |(right, of): (&String, &String)| {
            let has = |held: &[&str]| held.contains(&"*") || held.contains(&right.as_str());
            match (right.as_str(), of.as_str()) {
                ("none", _) => true,
                ("sysadmin" | "sysadmin, or membership", _) => self.server.contains(&"sysadmin"),
                ("CONNECT", _) => self.enters,
                // Of all databases it is the server's state.
                (_, "the server") => has(self.server),
                (_, "master") => self.server.contains(&"*"),
                _ => has(self.database),
            }
        };
        line.rights.iter().zip(&line.of).any(held)
    }
}

fn enter(instance: &Arc<Instance>, user: &str) -> Session {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-2".to_owned(),
        ..LoginRequest::default()
    };
    instance.login(&request).expect("the login is let in")
}

fn fine(s: &mut Session, sql: &str) {
    let lines = run(s, sql);
    assert!(
        !lines.iter().any(|l| l.starts_with("Msg")),
        "{sql}: {lines:?}"
    );
}

fn set_up(instance: &Arc<Instance>) -> Session {
    let mut sa = login(instance);
    for sql in [
        "CREATE DATABASE d; CREATE DATABASE e",
        "CREATE LOGIN l0 WITH PASSWORD = 'Secret-2'",
        "USE d; CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int); CREATE TABLE t2 (id int); CREATE INDEX ix ON t (v)",
        "CREATE STATISTICS st ON t (v)",
        "CREATE SCHEMA s",
        "CREATE TYPE ty FROM int",
        "CREATE SYNONYM sy FOR t",
        "CREATE VIEW vw AS SELECT id FROM t",
        "CREATE VIEW one AS SELECT 1 AS a",
        "CREATE PROCEDURE p AS SELECT 1",
        "CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END",
        "CREATE TRIGGER tr ON t2 AFTER INSERT AS RETURN",
        "CREATE USER u0 WITHOUT LOGIN; CREATE ROLE r0",
        "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (1)",
        "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
        "CREATE PARTITION FUNCTION pf2 (int) AS RANGE RIGHT FOR VALUES (1)",
        "USE master",
    ] {
        fine(&mut sa, sql);
    }
    for who in IDENTITIES {
        fine(
            &mut sa,
            &format!("CREATE LOGIN {} WITH PASSWORD = 'Secret-2'", who.name),
        );
        for sql in who.setup.split("; ").filter(|s| !s.is_empty()) {
            fine(&mut sa, sql);
        }
        fine(&mut sa, "USE master");
    }
    sa
}

/// The first refusal in what a batch has answered.
fn refusal(lines: &[String]) -> Option<i32> {
    let number = |l: &String| {
        let said = l.strip_prefix("Msg ").or(l.strip_prefix("Info "))?;
        said.split(',').next()?.parse().ok()
    };
    lines
        .iter()
        .filter_map(number)
        .find(|n| REFUSALS.contains(n))
}

/// A statement for each row of that kind which asks for something. Each would do nothing, or is rolled back.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT INTO", "SELECT 1 AS a INTO dbo.made"),
    ("INSERT", "INSERT t (v) VALUES (1)"),
    ("INSERT BULK", "INSERT BULK t (v int)"),
    ("UPDATE", "UPDATE t SET v = 1"),
    ("DELETE", "DELETE t"),
    (
        "MERGE",
        "MERGE t USING t2 ON t.id = t2.id WHEN MATCHED THEN DELETE;",
    ),
    ("TRUNCATE TABLE", "TRUNCATE TABLE t"),
    ("CREATE TABLE", "CREATE TABLE dbo.made (a int)"),
    ("ALTER TABLE", "ALTER TABLE t ADD w int"),
    ("CREATE INDEX", "CREATE INDEX made ON t (v)"),
    ("ALTER INDEX", "ALTER INDEX ix ON t REBUILD"),
    ("DROP INDEX", "DROP INDEX ix ON t"),
    ("CREATE STATISTICS", "CREATE STATISTICS made ON t (v)"),
    ("UPDATE STATISTICS", "UPDATE STATISTICS t"),
    ("DROP STATISTICS", "DROP STATISTICS t.st"),
    ("DROP TABLE", "DROP TABLE t"),
    ("CREATE VIEW", "CREATE VIEW dbo.made AS SELECT 1 AS a"),
    ("ALTER VIEW", "ALTER VIEW vw AS SELECT 1 AS a"),
    ("DROP VIEW", "DROP VIEW vw"),
    ("CREATE PROCEDURE", "CREATE PROCEDURE dbo.made AS RETURN"),
    ("ALTER PROCEDURE", "ALTER PROCEDURE p AS RETURN"),
    ("DROP PROCEDURE", "DROP PROCEDURE p"),
    (
        "CREATE FUNCTION",
        "CREATE FUNCTION dbo.made () RETURNS int AS BEGIN RETURN 1 END",
    ),
    (
        "ALTER FUNCTION",
        "ALTER FUNCTION f () RETURNS int AS BEGIN RETURN 2 END",
    ),
    ("DROP FUNCTION", "DROP FUNCTION f"),
    (
        "CREATE TRIGGER",
        "CREATE TRIGGER made ON t AFTER INSERT AS RETURN",
    ),
    (
        "ALTER TRIGGER",
        "ALTER TRIGGER tr ON t2 AFTER DELETE AS RETURN",
    ),
    ("DROP TRIGGER", "DROP TRIGGER tr"),
    ("CREATE SCHEMA", "CREATE SCHEMA made"),
    ("ALTER SCHEMA", "ALTER SCHEMA s TRANSFER dbo.t"),
    ("DROP SCHEMA", "DROP SCHEMA s"),
    ("CREATE TYPE", "CREATE TYPE dbo.made FROM int"),
    ("DROP TYPE", "DROP TYPE ty"),
    ("CREATE SYNONYM", "CREATE SYNONYM dbo.made FOR t"),
    ("DROP SYNONYM", "DROP SYNONYM sy"),
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
    ("GRANT, DENY, REVOKE", "GRANT SELECT ON t TO u0"),
    (
        "GRANT, DENY, REVOKE on the server",
        "USE master; GRANT VIEW SERVER STATE TO l0",
    ),
    (
        "ALTER AUTHORIZATION",
        "ALTER AUTHORIZATION ON DATABASE::d TO l0",
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
    ("CREATE DATABASE", "CREATE DATABASE d"),
    ("ALTER DATABASE", "ALTER DATABASE d SET RECOVERY FULL"),
    ("DROP DATABASE", "DROP DATABASE d"),
    (
        "ALTER DATABASE SCOPED CONFIGURATION",
        "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1",
    ),
    ("BACKUP DATABASE", "BACKUP DATABASE d TO DISK = 'd.bak'"),
    ("BACKUP LOG", "BACKUP LOG d TO DISK = 'd.trn'"),
    ("RESTORE", "RESTORE DATABASE d FROM DISK = 'nothing.bak'"),
    (
        "RESTORE HEADERONLY, FILELISTONLY, LABELONLY, VERIFYONLY, REWINDONLY",
        "RESTORE HEADERONLY FROM DISK = 'nothing.bak'",
    ),
    ("CHECKPOINT", "CHECKPOINT"),
    ("KILL", "KILL 9999"),
    ("SHUTDOWN", "SHUTDOWN"),
    ("RECONFIGURE", "RECONFIGURE"),
    ("USE", "USE d"),
    ("EXECUTE", "EXECUTE p"),
    ("EXECUTE AS", "EXECUTE AS LOGIN = 'sa'"),
    ("REVERT", "REVERT"),
    ("DECLARE CURSOR", "DECLARE c CURSOR FOR SELECT 1"),
    ("OPEN, FETCH, CLOSE, DEALLOCATE", "OPEN c"),
];

const DBCC: &[(&str, &str)] = &[
    ("CHECKALLOC", "('d')"),
    ("CHECKCATALOG", "('d')"),
    ("CHECKDB", "('d')"),
    ("CHECKFILEGROUP", ""),
    ("CHECKIDENT", "('t', NORESEED)"),
    ("CHECKTABLE", "('t')"),
    ("DBINFO", "('d')"),
    ("DROPCLEANBUFFERS", ""),
    ("ERRORLOG", ""),
    ("FLUSHPROCINDB", "(9999)"),
    ("FREEPROCCACHE", ""),
    ("FREESYSTEMCACHE", "('ALL')"),
    ("IND", "('d', 't', 1)"),
    ("LOG", "('d', 0)"),
    ("LOGINFO", "('d')"),
    ("OPENTRAN", "('d')"),
    ("PAGE", "('d', 1, 0, 0)"),
    ("SHOW_STATISTICS", "('t', 'ix')"),
    ("SHRINKFILE", "(99)"),
    ("SQLPERF", "(LOGSPACE)"),
    ("SQLPERF (..., CLEAR)", "('sys.dm_os_latch_stats', CLEAR)"),
    ("TRACEOFF", "(9999)"),
    ("TRACEON", "(9999)"),
];

const PROCEDURES: &[(&str, &str)] = &[
    (
        "sys.sp_addextendedproperty",
        "'n', 'v', 'SCHEMA', 'dbo', 'TABLE', 't'",
    ),
    (
        "sys.sp_updateextendedproperty",
        "'n', 'v', 'SCHEMA', 'dbo', 'TABLE', 't'",
    ),
    (
        "sys.sp_dropextendedproperty",
        "'n', 'SCHEMA', 'dbo', 'TABLE', 't'",
    ),
    ("sys.sp_refreshview", "'one'"),
    ("sys.sp_refreshsqlmodule", "'one'"),
    ("sys.sp_readerrorlog", ""),
    ("sys.xp_readerrorlog", ""),
    ("sys.sp_enumerrorlogs", ""),
    ("sys.xp_enumerrorlogs", ""),
    ("sys.sp_helplogins", ""),
    ("sys.sp_validatelogins", ""),
    ("sys.sp_cycle_errorlog", ""),
    ("sys.sp_rename", "'nothing', 'n'"),
    ("sys.sp_detach_db", "'d'"),
    ("sys.xp_logevent", "60000, 'm'"),
    ("sys.sp_monitor", ""),
    (
        "sp_configure with a value",
        "'max degree of parallelism', 0",
    ),
];

/// The arguments of functions that ask of one of them.
const FUNCTIONS: &[(&str, &str)] = &[
    ("sys.dm_db_log_info", "DB_ID('d')"),
    ("sys.dm_db_log_stats", "DB_ID('d')"),
    ("sys.dm_db_page_info", "DB_ID('d'), 1, 0, 'LIMITED'"),
    (
        "sys.dm_db_index_physical_stats",
        "DB_ID('d'), NULL, NULL, NULL, NULL",
    ),
    (
        "sys.dm_db_index_operational_stats",
        "DB_ID('d'), NULL, NULL, NULL",
    ),
    (
        "sys.dm_db_database_page_allocations",
        "DB_ID('d'), NULL, NULL, NULL, 'LIMITED'",
    ),
];

/// What tries a row; `None`: it asks for nothing by itself.
fn probe(line: &Line, who: &Identity) -> Option<String> {
    let asked = line.rights != ["none"];
    let find = |list: &[(&str, &str)], what: &str| {
        let found = list.iter().find(|(n, _)| *n == line.name);
        let (_, text) = found.unwrap_or_else(|| panic!("{what} {} is not tried", line.name));
        (*text).to_owned()
    };
    let unasked = ["SELECT", "DBCC", "SET"].contains(&line.name.as_str());
    // What does not enter names the database, unless the server is asked.
    let far = !who.enters && line.of == ["the current database"];
    let place = if far { "d." } else { "" };
    match line.kind.as_str() {
        "statement" if !asked || unasked => None,
        "statement" => Some(find(STATEMENTS, "the statement")),
        "SET" if line.name == "IDENTITY_INSERT" => Some("SET IDENTITY_INSERT t ON".to_owned()),
        "SET" if asked => Some(format!("SET {} ON", line.name)),
        "DBCC" if asked => {
            let args = find(DBCC, "DBCC");
            let name = line.name.split(' ').next().unwrap_or_default();
            Some(format!("DBCC {name} {args} WITH NO_INFOMSGS"))
        }
        "procedure" if asked => {
            let args = find(PROCEDURES, "the procedure");
            let name = line.name.split(' ').next().unwrap_or_default();
            Some(format!("EXEC {name} {args}"))
        }
        "function" if line.of == ["the object in argument 1"] => None,
        "function" if asked => {
            let found = FUNCTIONS.iter().find(|(n, _)| *n == line.name);
            let args = found.map_or("NULL, NULL, NULL, NULL", |(_, args)| *args);
            Some(format!("SELECT COUNT(*) FROM {place}{}({args})", line.name))
        }
        "view" => Some(format!("SELECT TOP (0) 1 FROM {place}{}", line.name)),
        _ => None,
    }
}

/// Statements that cannot be rolled back, or not be within a transaction.
fn is_alone(line: &Line) -> bool {
    let heads = [
        "ALTER DATABASE",
        "BACKUP",
        "RESTORE",
        "CHECKPOINT",
        "RECONFIGURE",
    ];
    let of_server = line.name.contains("EVENT SESSION");
    of_server
        || line.kind != "statement" && line.name != "sys.sp_rename"
        || heads.iter().any(|h| line.name.starts_with(h))
}

#[test]
pub(super) fn every_row_lets_in_who_holds_its_right_and_nobody_else() {
    let instance = instance();
    let _sa = set_up(&instance);
    let table = table();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for who in IDENTITIES {
        let mut s = enter(&instance, who.name);
        let home = match who.name {
            "ownerelse" => "USE e",
            "asguest" => "USE tempdb",
            _ if who.enters => "USE d",
            _ => "USE master",
        };
        for line in &table {
            let public = line.rights == ["none"];
            let few = ["norights", "plain", "ownerelse", "controls"].contains(&who.name);
            if public && !few {
                continue;
            }
            let Some(sql) = probe(line, who) else {
                continue;
            };
            // What names objects of d means nothing elsewhere.
            let names_objects = !line.of.iter().all(|o| o == "the server")
                && ["statement", "SET", "procedure"].contains(&line.kind.as_str())
                || line.of[0].starts_with("the object");
            let of_here = ["CHECKFILEGROUP", "SHRINKFILE"].contains(&line.name.as_str());
            let named = [
                "USE",
                "ALTER DATABASE",
                "DROP DATABASE",
                "BACKUP DATABASE",
                "BACKUP LOG",
                "RESTORE",
            ];
            let by_name = named.contains(&line.name.as_str()) || line.name == "sys.sp_detach_db";
            let refused_to_all = line.rights == ["refused"];
            if !who.enters && (names_objects && !by_name && !refused_to_all || of_here) {
                continue;
            }
            run(&mut s, home);
            let within = !is_alone(line) && !refused_to_all;
            if within {
                run(&mut s, "BEGIN TRAN");
            }
            let lines = run(&mut s, &sql);
            run(&mut s, "SET SHOWPLAN_XML OFF");
            run(&mut s, "SET SHOWPLAN_TEXT OFF");
            run(&mut s, "SET SHOWPLAN_ALL OFF");
            run(&mut s, "SET STATISTICS XML OFF; SET STATISTICS PROFILE OFF");
            if within {
                run(&mut s, "IF @@TRANCOUNT > 0 ROLLBACK");
            }
            tried += 1;
            let found = refusal(&lines);
            let expected = who.holds(line);
            let ok = match refused_to_all {
                true => lines.iter().any(|l| l.starts_with("Msg 40517")),
                false => found.is_none() == expected,
            };
            if !ok {
                wrong.push(format!(
                    "{} as {}: {sql}: {:?}",
                    line.name,
                    who.name,
                    lines.first()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn chains_open_what_is_of_the_same_owner_and_nothing_else() {
    let instance = instance();
    let mut sa = set_up(&instance);
    for sql in [
        "ALTER DATABASE d SET TRUSTWORTHY OFF",
        "USE e; CREATE TABLE far (v int); INSERT far VALUES (9); USE d",
        "CREATE USER other WITHOUT LOGIN",
        "CREATE SCHEMA foreign_one AUTHORIZATION other",
        "CREATE TABLE foreign_one.x (v int); INSERT foreign_one.x VALUES (1)",
        "CREATE PROCEDURE unbroken AS BEGIN SELECT COUNT(*) FROM t; UPDATE t SET v = v END",
        "CREATE PROCEDURE broken AS SELECT v FROM foreign_one.x",
        "CREATE PROCEDURE in_string AS EXEC ('SELECT v FROM t')",
        "CREATE PROCEDURE by_parameter AS EXEC sp_executesql N'SELECT v FROM t'",
        "CREATE PROCEDURE across AS SELECT v FROM e.dbo.far",
        "CREATE PROCEDURE defines AS TRUNCATE TABLE t",
        "CREATE PROCEDURE state AS SELECT COUNT(*) FROM sys.dm_os_wait_stats",
        "CREATE VIEW v_unbroken AS SELECT v FROM t",
        "CREATE VIEW v_broken AS SELECT v FROM foreign_one.x",
        "CREATE VIEW v_across AS SELECT v FROM e.dbo.far",
        "CREATE VIEW v_state AS SELECT wait_type FROM sys.dm_os_wait_stats",
        "CREATE FUNCTION f_broken () RETURNS int AS BEGIN RETURN (SELECT MAX(v) FROM foreign_one.x) END",
        "CREATE FUNCTION f_across () RETURNS TABLE AS RETURN SELECT v FROM e.dbo.far",
        "CREATE FUNCTION f_unbroken () RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM t) END",
        "GRANT EXECUTE TO plain; GRANT SELECT ON v_unbroken TO plain; GRANT SELECT ON v_broken TO plain",
        "GRANT SELECT ON v_across TO plain; GRANT SELECT ON v_state TO plain; GRANT SELECT ON f_across TO plain",
    ] {
        fine(&mut sa, sql);
    }
    let cases: &[(&str, Option<i32>)] = &[
        ("EXEC unbroken", None),
        ("EXEC broken", Some(229)),
        ("EXEC in_string", Some(229)),
        ("EXEC by_parameter", Some(229)),
        ("EXEC across", Some(916)),
        ("EXEC defines", Some(1088)),
        ("EXEC state", Some(300)),
        ("SELECT * FROM v_unbroken", None),
        ("SELECT * FROM v_broken", Some(229)),
        ("SELECT * FROM v_across", Some(916)),
        ("SELECT * FROM v_state", Some(300)),
        ("SELECT dbo.f_broken()", Some(229)),
        ("SELECT dbo.f_unbroken()", None),
        ("SELECT * FROM f_across()", Some(916)),
        ("SELECT v FROM t", Some(229)),
    ];
    for trustworthy in ["OFF", "ON"] {
        // ON is not here: without EXECUTE AS nothing would be trusted.
        let lines = run(
            &mut sa,
            &format!("ALTER DATABASE d SET TRUSTWORTHY {trustworthy}"),
        );
        let refused = lines.iter().any(|l| l.starts_with("Msg 40517"));
        assert_eq!(refused, trustworthy == "ON", "{lines:?}");
        let mut plain = enter(&instance, "plain");
        fine(&mut plain, "USE d");
        for (sql, expected) in cases {
            let lines = run(&mut plain, sql);
            assert_eq!(
                refusal(&lines),
                *expected,
                "TRUSTWORTHY {trustworthy}: {sql}: {lines:?}"
            );
        }
        // A user of the other database still needs the right there.
        fine(
            &mut sa,
            "USE e; IF USER_ID('plain') IS NULL CREATE USER plain; USE d",
        );
        let lines = run(&mut plain, "EXEC across");
        assert_eq!(refusal(&lines), Some(229), "{lines:?}");
        fine(&mut sa, "USE e; DROP USER plain; USE d");
        let lines = run(&mut plain, "EXECUTE AS USER = 'dbo'");
        assert!(lines[0].starts_with("Msg 40517"), "{lines:?}");
    }
}

#[test]
fn nobody_raises_itself() {
    let instance = instance();
    let mut sa = set_up(&instance);
    fine(
        &mut sa,
        "CREATE LOGIN strong WITH PASSWORD = 'Secret-2'; GRANT CONTROL SERVER TO strong",
    );
    fine(
        &mut sa,
        "USE d; CREATE ROLE owners; ALTER ROLE db_owner ADD MEMBER owners; CREATE USER strong; ALTER ROLE db_owner ADD MEMBER strong",
    );
    fine(
        &mut sa,
        "CREATE ROLE controllers; GRANT CONTROL TO controllers; CREATE USER aa FOR LOGIN l0; USE e",
    );
    fine(
        &mut sa,
        "USE d; CREATE LOGIN access WITH PASSWORD = 'Secret-2'; CREATE USER access; ALTER ROLE db_accessadmin ADD MEMBER access",
    );
    let names = IDENTITIES.iter().map(|w| w.name).chain(["access"]);
    for name in names.filter(|n| !["sysad", "controls"].contains(n)) {
        let mut s = enter(&instance, name);
        run(
            &mut s,
            if name == "ownerelse" {
                "USE e"
            } else {
                "USE d"
            },
        );
        for sql in [
            "ALTER SERVER ROLE sysadmin ADD MEMBER {me}",
            "EXEC sp_addsrvrolemember '{me}', 'sysadmin'",
            "ALTER SERVER ROLE securityadmin ADD MEMBER {me}",
            "USE master; GRANT CONTROL SERVER TO {me}",
            "USE master; GRANT VIEW SERVER STATE TO {me}",
            "USE master; GRANT ALTER ANY LOGIN TO public",
            "ALTER LOGIN sa WITH PASSWORD = 'Raised-99'",
            "ALTER LOGIN sa ENABLE",
            "ALTER LOGIN strong WITH PASSWORD = 'Raised-99'",
            "ALTER LOGIN sysad WITH PASSWORD = 'Raised-99'",
            "DROP LOGIN strong",
            "EXEC sp_password NULL, 'Raised-99', 'sa'",
            "USE d; ALTER ROLE db_owner ADD MEMBER {me}",
            "USE d; ALTER ROLE owners ADD MEMBER {me}",
            "USE d; ALTER ROLE controllers ADD MEMBER {me}",
            "USE d; ALTER ROLE db_securityadmin ADD MEMBER {me}",
            "USE d; EXEC sp_addrolemember 'db_owner', '{me}'",
            "USE d; GRANT CONTROL TO {me}",
            "USE d; GRANT ALTER ANY ROLE TO public",
            "USE d; GRANT SELECT ON t TO {me}",
            "USE d; ALTER USER strong WITH LOGIN = {me}",
            "USE d; ALTER USER aa WITH LOGIN = {me}",
            "USE d; CREATE SCHEMA mine AUTHORIZATION dbo",
            "ALTER AUTHORIZATION ON DATABASE::d TO {me}",
            "USE e; EXEC sp_changedbowner '{me}'",
            "ALTER AUTHORIZATION ON DATABASE::e TO sa",
            "EXECUTE AS LOGIN = 'sa'",
            "ALTER DATABASE d SET TRUSTWORTHY ON",
            "UPDATE master.sys.sysxlgns SET status = 0",
            "INSERT sys.sysprivs DEFAULT VALUES",
        ] {
            run(&mut s, &sql.replace("{me}", name));
            run(&mut s, "IF @@TRANCOUNT > 0 ROLLBACK");
        }
        let mut s = enter(&instance, name);
        let lines = run(
            &mut s,
            "SELECT IS_SRVROLEMEMBER('sysadmin'), HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER')",
        );
        assert_eq!(lines[1], "0 | 0", "{name}");
        let roles = format!(
            "SELECT COUNT(*) FROM d.sys.database_role_members AS m JOIN d.sys.database_principals AS p ON p.principal_id = m.member_principal_id \
             JOIN d.sys.database_principals AS r ON r.principal_id = m.role_principal_id \
             WHERE p.name = '{name}' AND r.name IN ('db_owner', 'owners', 'controllers')"
        );
        assert_eq!(run(&mut sa, &roles)[1], "0", "{name}");
        let rights = format!(
            "SELECT COUNT(*) FROM d.sys.database_permissions AS p JOIN d.sys.database_principals AS u ON u.principal_id = p.grantee_principal_id \
             WHERE u.name IN ('{name}', 'public') AND p.permission_name NOT IN ('CONNECT', 'VIEW DATABASE STATE')"
        );
        assert_eq!(run(&mut sa, &rights)[1], "0", "{name}");
    }
    let server = "SELECT COUNT(*) FROM sys.server_permissions AS p JOIN sys.server_principals AS u ON u.principal_id = p.grantee_principal_id \
                  WHERE p.permission_name <> 'CONNECT SQL' AND u.name NOT IN ('strong', 'controls', 'srvstate')";
    assert_eq!(run(&mut sa, server)[1], "0");
    for user in ["strong", "sysad", "l0"] {
        let _ = enter(&instance, user);
    }
}

#[test]
fn every_right_that_is_asked_for_can_be_granted_and_taken() {
    let instance = instance();
    let mut sa = set_up(&instance);
    for (name, _, level) in reference::rights() {
        let (place, to) = match level {
            "server" => ("master", "l0"),
            _ => ("d", "u0"),
        };
        for verb in ["GRANT", "DENY", "REVOKE"] {
            fine(&mut sa, &format!("USE {place}; {verb} {name} TO {to}"));
        }
        if level.contains("object") {
            fine(
                &mut sa,
                &format!(
                    "USE d; GRANT {name} ON SCHEMA::s TO u0; REVOKE {name} ON SCHEMA::s TO u0"
                ),
            );
        }
    }
}
