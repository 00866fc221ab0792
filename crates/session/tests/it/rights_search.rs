//! The searching program: random statements of logins without rights, over every row that declares a right and every kind
//! of argument. What was planted in others' data, log, texts and passwords never comes back, and nothing of theirs changes.
//!
//! `RIGHTS_SEED` and `RIGHTS_STEPS` make it another one, and longer.

use std::fmt::Write as _;
use std::sync::Arc;

use duramen_events::instance::Instance;
use duramen_inspect::reference;
use duramen_os::sim::SimDisk;
use duramen_program::login::LoginRequest;
use duramen_session::Session;

use super::{login, run, start};

const DATA: &str = "MARKDATA7";
const TEXT: &str = "MARKTEXT7";
const SECRET: &str = "Markpass-7";

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

fn enter(instance: &Arc<Instance>, user: &str) -> Session {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-2".to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).expect("the login is let in")
}

/// A database of somebody else's, with marks in its rows, its texts and its log, and a password in the texts of a session
/// that is still there.
fn plant(instance: &Arc<Instance>) -> Session {
    let mut sa = login(instance);
    let batches = [
        "CREATE DATABASE theirs; CREATE DATABASE mine".to_owned(),
        "CREATE EVENT SESSION hears ON SERVER ADD EVENT sqlserver.sql_batch_completed, ADD EVENT sqlserver.sql_statement_completed, \
         ADD EVENT sqlserver.sp_statement_completed(ACTION(sqlserver.sql_text)), ADD EVENT sqlserver.rpc_completed \
         ADD TARGET package0.ring_buffer, ADD TARGET package0.event_file(SET filename = 'hears.xel')".to_owned(),
        "ALTER EVENT SESSION hears ON SERVER STATE = START".to_owned(),
        format!("CREATE LOGIN secretive WITH PASSWORD = '{SECRET}'"),
        format!("ALTER LOGIN secretive WITH PASSWORD = '{SECRET}x' OLD_PASSWORD = '{SECRET}'"),
        format!("EXEC sp_addlogin 'older', '{SECRET}'"),
        format!("EXEC sp_password NULL, '{SECRET}', 'older'"),
        format!("EXEC ('ALTER LOGIN older WITH PASSWORD = ''{SECRET}y''')"),
        format!("USE theirs; CREATE TABLE secrets (id int PRIMARY KEY, v varchar(50) DEFAULT '{TEXT}', w nvarchar(50), CHECK (v <> '{TEXT}z')); \
                 INSERT secrets VALUES (1, '{DATA}', N'{DATA}'), (2, '{DATA}2', N'x')"),
        format!("CREATE PROCEDURE told AS SELECT v FROM secrets WHERE v = '{TEXT}'"),
        format!("CREATE VIEW shown AS SELECT v, '{TEXT}' AS t FROM secrets"),
        "CREATE INDEX ix ON secrets (v); UPDATE STATISTICS secrets".to_owned(),
        "EXEC told; SELECT * FROM shown".to_owned(),
        format!("SELECT * FROM secrets WHERE v = '{TEXT}' -- {DATA}"),
        format!("EXEC sp_addextendedproperty 'note', '{TEXT}', 'SCHEMA', 'dbo', 'TABLE', 'secrets'"),
        "BACKUP DATABASE theirs TO DISK = 'theirs.bak'; BACKUP LOG theirs TO DISK = 'theirs.trn'".to_owned(),
        format!("BEGIN TRAN; UPDATE secrets SET w = N'{DATA}3' WHERE id = 2; ROLLBACK"),
        "USE mine".to_owned(),
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(20)); INSERT t VALUES (1, 'own')".to_owned(),
        "USE theirs".to_owned(),
    ];
    for sql in batches {
        let lines = run(&mut sa, &sql);
        assert!(
            !lines.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {lines:?}"
        );
    }
    for (user, setup) in USERS {
        run(
            &mut sa,
            &format!("USE master; CREATE LOGIN {user} WITH PASSWORD = 'Secret-2'"),
        );
        for sql in setup.split("; ").filter(|s| !s.is_empty()) {
            let lines = run(&mut sa, sql);
            assert!(
                !lines.iter().any(|l| l.starts_with("Msg")),
                "{sql}: {lines:?}"
            );
        }
    }
    run(&mut sa, "USE theirs");
    sa
}

/// Who searches, each owner of at most its own database.
const USERS: &[(&str, &str)] = &[
    ("nobody", ""),
    (
        "owner",
        "USE mine; CREATE USER owner; ALTER ROLE db_owner ADD MEMBER owner",
    ),
    ("member", "USE theirs; CREATE USER member"),
    (
        "ddl",
        "USE mine; CREATE USER ddl; ALTER ROLE db_ddladmin ADD MEMBER ddl",
    ),
    (
        "security",
        "USE theirs; CREATE USER security; ALTER ROLE db_securityadmin ADD MEMBER security",
    ),
    (
        "logins",
        "ALTER SERVER ROLE securityadmin ADD MEMBER logins",
    ),
];

/// Options that would leave a session with nothing to say, or with transactions that others wait for.
const MUTE: &[&str] = &[
    "ANSI_DEFAULTS",
    "FMTONLY",
    "IMPLICIT_TRANSACTIONS",
    "LOCK_TIMEOUT",
    "NOEXEC",
    "PARSEONLY",
    "ROWCOUNT",
];

const ARGUMENTS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "2",
    "4",
    "5",
    "6",
    "7",
    "51",
    "52",
    "53",
    "-1",
    "99999",
    "DEFAULT",
    "'theirs'",
    "'mine'",
    "'master'",
    "'msdb'",
    "DB_ID('theirs')",
    "DB_ID('mine')",
    "OBJECT_ID('theirs.dbo.secrets')",
    "'theirs.dbo.secrets'",
    "'theirs..secrets'",
    "'secrets'",
    "'dbo.told'",
    "'[theirs].[dbo].[shown]'",
    "'ix'",
    "'t'",
    "N'DETAILED'",
    "'LIMITED'",
    "'hears.xel'",
    "'hears*.xel'",
    "'*'",
    "'/data/*'",
    "'/data/log.trc'",
    "'theirs.bak'",
    "'theirs.trn'",
    "'DISK'",
    "'/data/theirs.mdf'",
    "'OBJECT'",
    "'SCHEMA'",
    "'dbo'",
    "'TABLE'",
    "0x00",
    "'sa'",
    "'secretive'",
    "'note'",
    "65536",
    "245575913",
    "'tempdb'",
    "100000",
    "1237579447",
    "N'SELECT * FROM theirs.dbo.secrets'",
    "N'SELECT 1'",
];

fn arguments(r: &mut Random) -> String {
    let count = r.below(7);
    let all: Vec<&str> = (0..count).map(|_| *r.one(ARGUMENTS)).collect();
    all.join(", ")
}

/// A statement about any row, or one of those that name what is theirs.
fn statement(r: &mut Random, rows: &[reference::PermissionEntry]) -> String {
    const OTHERS: &[&str] = &[
        "SELECT * FROM theirs.dbo.secrets",
        "SELECT * FROM theirs.dbo.shown",
        "EXEC theirs.dbo.told",
        "SELECT OBJECT_DEFINITION(OBJECT_ID('theirs.dbo.told'))",
        "UPDATE theirs.dbo.secrets SET v = 'gone'",
        "DELETE theirs.dbo.secrets",
        "INSERT theirs.dbo.secrets VALUES (9, 'new', N'new')",
        "TRUNCATE TABLE theirs.dbo.secrets",
        "DROP TABLE theirs.dbo.secrets",
        "ALTER TABLE theirs.dbo.secrets ADD more int",
        "CREATE INDEX mine ON theirs.dbo.secrets (w)",
        "SELECT * INTO theirs.dbo.copy FROM sys.objects",
        "CREATE SYNONYM syn FOR theirs.dbo.secrets",
        "SELECT * FROM syn",
        "DROP SYNONYM syn",
        "CREATE VIEW v AS SELECT * FROM theirs.dbo.secrets",
        "CREATE PROCEDURE q AS SELECT * FROM theirs.dbo.secrets",
        "EXEC q",
        "CREATE FUNCTION fn () RETURNS varchar(50) AS BEGIN RETURN (SELECT MAX(v) FROM theirs.dbo.secrets) END",
        "SELECT dbo.fn()",
        "CREATE FUNCTION fl () RETURNS TABLE AS RETURN SELECT definition FROM theirs.sys.sql_modules",
        "SELECT * FROM dbo.fl()",
        "CREATE TRIGGER tr ON t AFTER UPDATE AS SELECT * FROM theirs.dbo.secrets",
        "UPDATE t SET v = 'x'",
        "CREATE TABLE child (id int REFERENCES theirs.dbo.secrets (id))",
        "EXEC sp_helptext 'theirs.dbo.told'",
        "EXEC theirs.sys.sp_helptext 'told'",
        "EXEC theirs..sp_help 'secrets'",
        "EXEC sp_MSforeachdb 'USE [?]; SELECT * FROM sys.sql_modules'",
        "EXEC sp_executesql N'SELECT * FROM theirs.sys.default_constraints'",
        "USE theirs",
        "USE mine",
        "USE master",
        "ALTER DATABASE theirs SET READ_ONLY",
        "ALTER DATABASE theirs SET TRUSTWORTHY ON",
        "DROP DATABASE theirs",
        "BACKUP DATABASE theirs TO DISK = 'stolen.bak'",
        "ALTER LOGIN secretive WITH NAME = renamed",
        "ALTER LOGIN sa WITH PASSWORD = 'Raised-99'",
        "ALTER ROLE db_owner ADD MEMBER member",
        "ALTER ROLE db_owner ADD MEMBER security",
        "GRANT SELECT ON secrets TO public",
        "GRANT CONTROL TO security",
        "SET SHOWPLAN_XML ON",
        "SET SHOWPLAN_XML OFF",
        "SET STATISTICS XML ON",
        "SELECT v FROM secrets",
        "WITH c AS (SELECT * FROM theirs.dbo.secrets) UPDATE c SET v = 'gone'",
        "SELECT IDENT_CURRENT('theirs.dbo.secrets'), COL_LENGTH('theirs.dbo.secrets', 'v')",
        "DBCC SHOW_STATISTICS ('theirs.dbo.secrets', 'ix')",
        "DBCC PAGE ('theirs', 1, 300, 3) WITH TABLERESULTS",
        "SELECT * FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle)",
        "SELECT * FROM sys.dm_xe_session_targets",
        "SELECT password_hash FROM sys.sql_logins",
        "SELECT * FROM sys.fn_dblog(NULL, NULL)",
        "SELECT * FROM theirs.sys.fn_dblog(NULL, NULL)",
        "IF @@TRANCOUNT > 0 ROLLBACK",
    ];
    if r.below(3) == 0 {
        return (*r.one(OTHERS)).to_owned();
    }
    let row = r.one(rows);
    let place = *r.one(&["", "", "theirs.", "mine.", "master.", "msdb.", "tempdb."]);
    let args = arguments(r);
    match row.kind {
        "view" => {
            let top = *r.one(&["*", "COUNT(*)", "TOP (50) *"]);
            format!("SELECT {top} FROM {place}{}", row.name)
        }
        "function" => format!("SELECT * FROM {place}{}({args})", row.name),
        "DBCC" => {
            let name = row.name.split(' ').next().unwrap_or_default();
            let clear = if r.below(4) == 0 { ", CLEAR" } else { "" };
            let with = *r.one(&["", " WITH TABLERESULTS", " WITH NO_INFOMSGS"]);
            let args = args
                .replace("DB_ID('theirs')", "5")
                .replace("OBJECT_ID('theirs.dbo.secrets')", "245575913");
            format!("DBCC {name} ({args}{clear}){with}")
        }
        "procedure" => {
            let name = row
                .name
                .trim_start_matches("sys.")
                .split(' ')
                .next()
                .unwrap_or_default();
            let args = args
                .replace("DB_ID('theirs')", "5")
                .replace("DB_ID('mine')", "6");
            let args = args.replace("OBJECT_ID('theirs.dbo.secrets')", "245575913");
            format!(
                "EXEC {place}{}{name} {args}",
                if place.is_empty() { "" } else { "sys." }
            )
        }
        "SET" => format!("SET {} {}", row.name, r.one(&["ON", "OFF", "1", "'x'"])),
        _ => (*r.one(OTHERS)).to_owned(),
    }
}

/// What is theirs, as the administrator sees it.
fn state(sa: &mut Session) -> String {
    let mut out = String::new();
    for sql in [
        "SELECT * FROM theirs.dbo.secrets ORDER BY id",
        "SELECT name, type FROM theirs.sys.objects WHERE object_id > 0 ORDER BY name",
        "SELECT name, is_read_only, is_trustworthy_on, recovery_model_desc FROM sys.databases WHERE name <> 'mine' ORDER BY name",
        "SELECT r.name, m.name FROM theirs.sys.database_role_members AS x JOIN theirs.sys.database_principals AS r ON r.principal_id = x.role_principal_id JOIN theirs.sys.database_principals AS m ON m.principal_id = x.member_principal_id WHERE r.name LIKE 'db[_]%' ORDER BY 1, 2",
        "SELECT p.permission_name, u.name FROM theirs.sys.database_permissions AS p JOIN theirs.sys.database_principals AS u ON u.principal_id = p.grantee_principal_id ORDER BY 1, 2",
        "SELECT p.permission_name, u.name FROM sys.server_permissions AS p JOIN sys.server_principals AS u ON u.principal_id = p.grantee_principal_id WHERE p.permission_name <> 'CONNECT SQL' ORDER BY 1, 2",
        "SELECT r.name, m.name FROM sys.server_role_members AS x JOIN sys.server_principals AS r ON r.principal_id = x.role_principal_id JOIN sys.server_principals AS m ON m.principal_id = x.member_principal_id WHERE r.name = 'sysadmin' ORDER BY 1, 2",
        "SELECT name, value_in_use FROM sys.configurations ORDER BY name",
    ] {
        let _ = writeln!(out, "{}", run(sa, sql).join("\n"));
    }
    out
}

fn hex(s: &str) -> (String, String) {
    let bytes = |b: &[u8]| b.iter().map(|b| format!("{b:02X}")).collect::<String>();
    let wide: Vec<u8> = s.encode_utf16().flat_map(u16::to_le_bytes).collect();
    (bytes(s.as_bytes()), bytes(&wide))
}

#[test]
fn what_is_others_never_comes_back() {
    let number = |name: &str, or: u64| {
        std::env::var(name)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(or)
    };
    let (seed, steps) = (number("RIGHTS_SEED", 1), number("RIGHTS_STEPS", 800));
    let instance = start(&SimDisk::new(seed).env());
    let mut sa = plant(&instance);
    let rows: Vec<_> = reference::permissions()
        .into_iter()
        .filter(|r| r.kind != "statement" && !MUTE.contains(&r.name.as_str()))
        .collect();
    let before = state(&mut sa);
    let marks: Vec<String> = [DATA, TEXT, SECRET]
        .iter()
        .flat_map(|m| {
            let (narrow, wide) = hex(m);
            [(*m).to_owned(), narrow, wide]
        })
        .collect();
    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut sessions: Vec<(&str, Session)> = USERS
        .iter()
        .map(|(name, setup)| {
            let mut s = enter(&instance, name);
            let home = setup.split("; ").next().filter(|s| s.starts_with("USE"));
            home.map(|sql| run(&mut s, sql));
            run(&mut s, "SET LOCK_TIMEOUT 100");
            (*name, s)
        })
        .collect();
    let mut wrong = Vec::new();
    for _ in 0..steps {
        let at = r.below(sessions.len());
        let sql = statement(&mut r, &rows);
        let (name, s) = &mut sessions[at];
        let lines = run(s, &sql);
        let reply = lines.join("\n");
        let upper = reply.to_uppercase();
        // db_securityadmin holds VIEW DEFINITION.
        let is_allowed = |m: &String| *name == "security" && *m == TEXT;
        let mark = marks
            .iter()
            .find(|m| upper.contains(&m.to_uppercase()) && !is_allowed(m));
        if let Some(mark) = mark {
            wrong.push(format!("{name}: {sql}: {mark} came back"));
        }
        if wrong.len() > 20 {
            break;
        }
    }
    drop(sessions);
    let after = state(&mut sa);
    if after != before {
        let changed: Vec<_> = after.lines().filter(|l| !before.contains(l)).collect();
        wrong.push(format!("changed: {changed:?}"));
    }
    // Not even the administrator sees a password, wherever texts are kept.
    for sql in [
        "SELECT text FROM sys.dm_exec_cached_plans AS p CROSS APPLY sys.dm_exec_sql_text(p.plan_handle)",
        "SELECT text FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle)",
        "SELECT CAST(target_data AS nvarchar(max)) FROM sys.dm_xe_session_targets",
        "SELECT CAST(event_data AS nvarchar(max)) FROM sys.fn_xe_file_target_read_file('hears*.xel', NULL, NULL, NULL)",
        "SELECT t.TextData FROM sys.traces AS s CROSS APPLY sys.fn_trace_gettable(s.path, NULL) AS t",
        "EXEC xp_readerrorlog",
        "SELECT b.event_info FROM sys.dm_exec_sessions AS s CROSS APPLY sys.dm_exec_input_buffer(s.session_id, NULL) AS b",
        "SELECT CAST(q.query_plan AS nvarchar(max)) FROM sys.dm_exec_cached_plans AS p CROSS APPLY sys.dm_exec_query_plan(p.plan_handle) AS q",
    ] {
        let lines = run(&mut sa, sql);
        assert!(
            !lines.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {lines:?}"
        );
        if lines.iter().any(|l| l.contains(SECRET)) {
            wrong.push(format!("{sql} shows a password"));
        }
    }
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
}
