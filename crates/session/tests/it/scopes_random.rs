//! Random programs within strings, procedures, triggers and TRY blocks, which set, use, make, fail and return: what calls them goes
//! on as it was, in its database, with its options, its one seat, its locks and its temporary tables.
//!
//! `DURAMEN_SEEDS=N` tries the first N seeds, `DURAMEN_SEED=S` that one alone.

use duramen_os::random::Rng;

use super::*;

/// Deeper than this nothing is called.
const DEEPEST: u32 = 4;

/// What a program may set; each is over with it.
const SETTINGS: [&str; 24] = [
    "SET XACT_ABORT ON",
    "SET XACT_ABORT OFF",
    "SET NOCOUNT ON",
    "SET ROWCOUNT 1",
    "SET TEXTSIZE 77",
    "SET DATEFIRST 3",
    "SET DATEFORMAT dmy",
    "SET LANGUAGE Deutsch",
    "SET LOCK_TIMEOUT 500",
    "SET DEADLOCK_PRIORITY LOW",
    "SET ANSI_NULLS OFF",
    "SET ANSI_PADDING OFF",
    "SET ANSI_WARNINGS OFF",
    "SET ARITHABORT OFF",
    "SET CONCAT_NULL_YIELDS_NULL OFF",
    "SET QUOTED_IDENTIFIER OFF",
    "SET NUMERIC_ROUNDABORT ON",
    "SET ANSI_NULL_DFLT_ON OFF",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET IMPLICIT_TRANSACTIONS ON",
    "SET IDENTITY_INSERT a.dbo.numbered ON",
    "SET IDENTITY_INSERT b.dbo.numbered ON",
    "SET STATISTICS IO ON",
];

/// Everything of a session that a caller can see, and that what it calls may not change.
const STATE: &str = "SELECT DB_NAME(), DB_NAME(database_id), transaction_isolation_level, lock_timeout, deadlock_priority, text_size FROM sys.dm_exec_sessions WHERE session_id = @@SPID
SELECT @@TRANCOUNT, XACT_STATE(), @@NESTLEVEL, @@OPTIONS, @@DATEFIRST, @@LANGUAGE, @@LOCK_TIMEOUT, @@TEXTSIZE
DBCC USEROPTIONS
SELECT resource_type, resource_database_id, request_mode FROM sys.dm_tran_locks WHERE request_session_id = @@SPID ORDER BY resource_database_id, resource_type, request_mode
SELECT COUNT(*) FROM tempdb.sys.objects WHERE name LIKE '#%'
INSERT a.dbo.numbered (k) VALUES (1)
INSERT b.dbo.numbered (k) VALUES (1)";

fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

fn statement(rng: &mut Rng, depth: u32) -> String {
    let n = rng.below(1000);
    match rng.below(if depth == 0 { 14 } else { 26 }) {
        0..=3 => SETTINGS[rng.below(SETTINGS.len() as u64) as usize].to_owned(),
        4 | 5 => format!(
            "USE {}",
            ["a", "b", "master", "tempdb", "nosuch"][n as usize % 5]
        ),
        6 => format!("CREATE TABLE #t{n} (i int)"),
        7 => format!("SELECT 1 AS i INTO #s{n}"),
        8 => "INSERT a.dbo.fires VALUES (1)".to_owned(),
        9 => [
            "SELECT 1/0",
            "SELECT CAST('x' AS int)",
            "THROW 50001, 'x', 1",
            "RAISERROR('x', 16, 1)",
            "SELECT * FROM nosuch",
        ][n as usize % 5]
            .to_owned(),
        10 => [
            "RETURN",
            "DECLARE @t table (i int)",
            "SELECT COUNT(*) FROM a.dbo.fires",
            "BACKUP DATABASE b TO DISK = 'nul'",
            "DBCC CHECKTABLE('a.dbo.fires') WITH NO_INFOMSGS",
        ][n as usize % 5]
            .to_owned(),
        11 => "INSERT b.dbo.numbered (id, k) VALUES (7, 7)".to_owned(),
        12 => format!("EXEC('CREATE PROCEDURE #p{n} AS SET NOCOUNT ON')"),
        13 => format!(
            "EXEC b.sys.sp_executesql N'{}'",
            quoted(SETTINGS[n as usize % SETTINGS.len()])
        ),
        14..=16 => format!("EXEC('{}')", quoted(&program(rng, depth - 1))),
        17 => format!("EXEC sp_executesql N'{}'", quoted(&program(rng, depth - 1))),
        18 => format!(
            "EXEC {}.sys.sp_executesql N'{}'",
            ["a", "b", "tempdb"][n as usize % 3],
            quoted(&program(rng, depth - 1))
        ),
        19 => format!(
            "EXEC {}.dbo.calls N'{}'",
            ["a", "b"][n as usize % 2],
            quoted(&program(rng, depth - 1))
        ),
        20 => format!(
            "BEGIN TRY {} END TRY BEGIN CATCH {} END CATCH",
            program(rng, depth - 1),
            program(rng, depth - 1)
        ),
        21 => format!("BEGIN TRAN {} ROLLBACK", program(rng, depth - 1)),
        22 => format!("BEGIN TRAN {} COMMIT", program(rng, depth - 1)),
        23 => format!(
            "DELETE #taken INSERT #taken EXEC('{}')",
            quoted(&program(rng, depth - 1))
        ),
        24 => format!("IF {} = 1 BEGIN {} END", n % 2, program(rng, depth - 1)),
        _ => format!(
            "UPDATE a.dbo.fires SET i = i + 1, said = N'{}'",
            quoted(&program(rng, depth - 1))
        ),
    }
}

fn program(rng: &mut Rng, depth: u32) -> String {
    let many = 1 + rng.below(4);
    let all: Vec<String> = (0..many).map(|_| statement(rng, depth)).collect();
    // Each on a line of its own, some with a semicolon before, as THROW needs it.
    all.join("\n;")
}

fn made(instance: &Arc<Instance>) -> Session {
    let mut s = login(instance);
    for sql in [
        "CREATE DATABASE a; CREATE DATABASE b",
        "USE b",
        "CREATE TABLE numbered (id int IDENTITY, k int)",
        "CREATE PROCEDURE calls @what nvarchar(max) AS SET NOCOUNT ON EXEC(@what)",
        "USE a",
        "CREATE TABLE numbered (id int IDENTITY, k int)",
        "CREATE PROCEDURE calls @what nvarchar(max) AS SET DATEFIRST 5 EXEC sp_executesql @what RETURN 3",
        "CREATE TABLE fires (i int, said nvarchar(max))",
        "INSERT fires VALUES (0, N'')",
        "CREATE TRIGGER fire ON fires AFTER UPDATE AS SET NOCOUNT ON SET LANGUAGE Deutsch DECLARE @what nvarchar(max) = (SELECT MAX(said) FROM inserted) EXEC(@what)",
        "CREATE TABLE #taken (i int)",
    ] {
        let lines = run(&mut s, sql);
        assert!(
            !lines.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {lines:?}"
        );
    }
    s
}

fn try_seed(seed: u64) {
    let mut rng = Rng::new(seed);
    let instance = instance();
    let mut s = made(&instance);
    for _ in 0..20 {
        let homes = [
            "USE a",
            "USE b",
            "USE master",
            "SET DATEFIRST 2",
            "SET XACT_ABORT ON",
            "SET XACT_ABORT OFF",
        ];
        run(&mut s, homes[rng.below(homes.len() as u64) as usize]);
        run(&mut s, STATE);
        let before = run(&mut s, STATE);
        let sql = format!("EXEC('{}')", quoted(&program(&mut rng, DEEPEST)));
        let reported = run(&mut s, &sql);
        assert!(
            !reported.iter().any(|l| l.contains("Level 2")),
            "seed {seed}: {sql}\n{reported:#?}"
        );
        // What IMPLICIT_TRANSACTIONS, or a RETURN before its COMMIT, has left open is its caller's.
        run(&mut s, "IF @@TRANCOUNT > 0 ROLLBACK");
        assert_eq!(
            run(&mut s, STATE),
            before,
            "seed {seed}: {sql}\n{reported:#?}"
        );
    }
}

#[test]
fn callers_go_on_as_they_were() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    match number("DURAMEN_SEED") {
        Some(seed) => try_seed(seed),
        None => (0..number("DURAMEN_SEEDS").unwrap_or(3)).for_each(try_seed),
    }
}
