//! Batches over an instance, results as text.

#![allow(
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test is a script, read from the top, and fails where it stands"
)]

mod absurd;
mod alter_table;
mod article_log;
mod attach;
mod backup_from_memory;
mod backup_history;
mod backup_names;
mod backups;
mod backups_altered;
mod backups_damaged;
mod bulk_logged;
mod bulk_rows;
mod cancels;
mod check_database;
mod check_each_page;
mod check_planted;
mod commit_wait;
mod compiled;
mod compressed_backups;
mod constraints;
mod coverage;
mod cpu;
mod damaged_master;
mod database_files;
mod dbcc;
mod dbcc_page;
mod delayed;
mod dump_dblog;
mod event_sessions;
mod failed_rollback;
mod format_fixtures;
mod full;
mod golden;
mod granted_memory;
mod hostile_arguments;
mod hostile_names;
mod identity_insert_random;
mod in_doubt;
mod instances;
mod isolation;
mod kept_room;
mod little_memory;
mod log_chains;
mod logins;
mod other_databases;
mod outside_once;
mod overflow;
mod packed;
mod page_restore;
mod parallel;
mod parallel_indexes;
mod plan_cache;
mod plan_xml;
mod plans;
#[cfg(feature = "planted")]
mod planted;
mod query_stats;
mod random_loads;
mod recovering;
mod reference;
mod restored_growth;
mod restores_cut;
mod rights;
mod rights_search;
mod rollbacks;
mod rollbacks_random;
mod row_goals;
mod samples;
mod scopes_random;
mod settings;
mod simple_log;
mod speed;
mod standby;
mod stop_points;
mod stored_expressions;
mod stripes;
mod suspect_pages;
mod system_procedures;
mod table_variables;
mod tail_log;
mod tempdb_files;
mod tight_log;
mod true_zeros;
mod uncommitted_names;
mod versions;
mod views;
mod waiting;
mod zeroing;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_events::instance::Instance;
use duramen_os::Env;
use duramen_os::sim::SimDisk;
use duramen_program::login::LoginRequest;
use duramen_program::text::TextSink;
use duramen_session::Session;

/// An instance that closes with its test: until then its threads would keep it, and the memory of its disk.
struct Started(Arc<Instance>);

impl Deref for Started {
    type Target = Arc<Instance>;

    fn deref(&self) -> &Arc<Instance> {
        &self.0
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Whether a disk that a test has broken lets it close does not matter.
        let _ = self.0.shutdown();
    }
}

/// Runs what must not go wrong.
fn quiet(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    let wrong: Vec<&String> = lines.iter().filter(|l| l.starts_with("Msg ")).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {sql}");
    lines
}

/// A number of the environment: seeds and counts of what searches.
#[allow(clippy::disallowed_methods, reason = "whoever searches says how long")]
fn number_from(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(otherwise)
}

/// An instance on a simulated disk of its own.
fn instance() -> Started {
    start(&SimDisk::new(1).env())
}

fn start(env: &Env) -> Started {
    start_with(env, Default::default())
}

fn start_with(env: &Env, profile: duramen_wal::LogProfile) -> Started {
    Started(duramen_session::start(env, config(profile)).expect("the instance starts"))
}

fn config(profile: duramen_wal::LogProfile) -> InstanceConfig {
    let storage = StorageConfig {
        data_dir: "/data".into(),
        drives: Default::default(),
        memory: 32 << 20,
        profile,
        sector: 4096,
        instant_file_init: true,
        files: Default::default(),
    };
    InstanceConfig {
        sa_password: "Secret-1".to_owned(),
        server_name: "TEST".to_owned(),
        storage,
    }
}

/// A session with an instance to itself.
struct Alone {
    session: Session,
    /// Closes after the session.
    instance: Started,
}

impl Deref for Alone {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for Alone {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

fn alone() -> Alone {
    alone_on(&SimDisk::new(1).env())
}

fn alone_on(env: &Env) -> Alone {
    let instance = start(env);
    Alone {
        session: login(&instance),
        instance,
    }
}

fn login(instance: &Arc<Instance>) -> Session {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).expect("sa logs in")
}

fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let mut sink = TextSink::default();
    session.execute_batch(sql, &mut sink, &CancelToken::default());
    sink.lines
}

fn batch(sql: &str) -> Vec<String> {
    run(&mut alone(), sql)
}

#[test]
fn a_wrong_password_is_18456() {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "wrong".to_owned(),
        ..LoginRequest::default()
    };
    let error = duramen_session::login(&instance(), &request)
        .err()
        .expect("refused");
    assert_eq!((error.number, error.severity), (18456, 14));
}

#[test]
fn arithmetic_has_the_types_of_the_language() {
    assert_eq!(
        batch("SELECT 7/2 AS q, 7/2.0 AS d, 'a' + 'b'"),
        [
            "(q int, d numeric(8,6),  varchar(2))",
            "3 | 3.500000 | ab",
            "rows 1"
        ]
    );
    assert_eq!(
        batch("SELECT 1/0"),
        [
            "( int)",
            "Msg 8134, Level 16, State 1, Line 1: Divide by zero error encountered."
        ]
    );
}

#[test]
fn loops_run_to_their_end() {
    let sql = "DECLARE @i int = 0, @s int = 0;\nWHILE @i < 1000\nBEGIN\n SET @i += 1;\n IF @i % 2 = 0 CONTINUE;\n IF @i > 100 BREAK;\n SET @s = @s + @i;\nEND\nSELECT @i, @s";
    assert_eq!(batch(sql), ["( int,  int)", "101 | 2500", "rows 1"]);
}

#[test]
fn select_assigns_each_variable_in_order() {
    let sql = "DECLARE @a int, @b int; SELECT @a = 5, @b = @a + 1; PRINT @b";
    assert_eq!(batch(sql), ["rows 1", "6"]);
}

#[test]
fn errors_are_caught_and_described() {
    let sql = "BEGIN TRY\n SELECT 1/0\nEND TRY\nBEGIN CATCH\n SELECT ERROR_NUMBER(), ERROR_LINE(), ERROR_MESSAGE()\nEND CATCH\nPRINT 'after'";
    let lines = batch(sql);
    assert_eq!(lines[1], "rows 0", "the result that the error has ended");
    assert_eq!(lines[3], "8134 | 2 | Divide by zero error encountered.");
    assert_eq!(lines.last().map(String::as_str), Some("after"));
}

#[test]
fn conversion_errors_end_the_batch() {
    let lines = batch("SELECT CAST('x' AS int)\nPRINT 'never'");
    assert!(
        lines[1].starts_with("Msg 245, Level 16, State 1, Line 1"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn compile_errors_run_nothing() {
    let lines = batch("PRINT 'first'\nSET @x = 1");
    assert_eq!(
        lines,
        ["Msg 137, Level 15, State 1, Line 2: Must declare the scalar variable \"@x\"."]
    );
    assert!(batch("SELEC 1")[0].starts_with("Msg "));
}

#[test]
fn transactions_count_their_nesting() {
    let sql = "BEGIN TRAN; BEGIN TRAN; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; ROLLBACK; SELECT @@TRANCOUNT, XACT_STATE(); COMMIT";
    let lines = batch(sql);
    let counts: Vec<&String> = lines
        .iter()
        .filter(|l| !l.starts_with('(') && !l.starts_with("rows"))
        .collect();
    assert_eq!(counts[..3], ["2", "1", "0 | 0"]);
    assert!(counts[3].starts_with("Msg 3902, Level 16"), "{counts:?}");
}

#[test]
fn implicit_transactions_begin_with_the_first_table() {
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE TABLE t (a int)");
    run(&mut session, "SET IMPLICIT_TRANSACTIONS ON");
    let count = |session: &mut Session| run(session, "SELECT @@TRANCOUNT")[1].clone();
    assert_eq!(count(&mut session), "0");
    run(&mut session, "INSERT INTO t VALUES (1)");
    assert_eq!(count(&mut session), "1");
    run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK TRAN");
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM t")[1], "0");
    assert_eq!(count(&mut session), "1");
    run(
        &mut session,
        "COMMIT; SET IMPLICIT_TRANSACTIONS OFF; INSERT INTO t VALUES (2)",
    );
    assert_eq!(count(&mut session), "0");
}

#[test]
fn names_that_are_not_there() {
    assert_eq!(
        batch("SELECT * FROM nothing"),
        ["Msg 208, Level 16, State 1, Line 1: Invalid object name 'nothing'."]
    );
    assert!(batch("USE nowhere")[0].starts_with("Msg 911, Level 16"));
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let lines = batch("CREATE SEQUENCE s");
    assert!(lines[0].contains("CREATE SEQUENCE"), "{lines:?}");
}

#[test]
fn waits_are_rows() {
    let lines = batch(
        "WAITFOR DELAY '00:00:00.020'; SELECT wait_type, CASE WHEN wait_time_ms >= 20 THEN 1 ELSE 0 END FROM sys.dm_os_wait_stats WHERE wait_type = 'WAITFOR'",
    );
    assert!(lines.contains(&"WAITFOR | 1".to_owned()), "{lines:?}");
}

const TABLE: &str = "CREATE TABLE t (id int IDENTITY(1,1) PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'none', n int NULL); CREATE INDEX ix_n ON t (n)";

#[test]
fn rows_go_in_and_come_out() {
    let mut s = alone();
    assert_eq!(run(&mut s, TABLE), Vec::<String>::new());
    assert_eq!(
        run(
            &mut s,
            "INSERT t (name, n) VALUES ('a', 10), ('b', 20), ('c', NULL)"
        ),
        ["rows 3"]
    );
    assert_eq!(run(&mut s, "INSERT t DEFAULT VALUES"), ["rows 1"]);
    let all = run(&mut s, "SELECT * FROM t ORDER BY id");
    assert_eq!(
        all[1..],
        [
            "1 | a | 10",
            "2 | b | 20",
            "3 | c | NULL",
            "4 | none | NULL",
            "rows 4"
        ]
    );
    assert_eq!(
        run(&mut s, "SELECT name FROM t WHERE n = 20")[1..],
        ["b", "rows 1"]
    );
    assert_eq!(
        run(
            &mut s,
            "SELECT name FROM t WHERE id >= 2 AND id < 4 ORDER BY id DESC"
        )[1..],
        ["c", "b", "rows 2"]
    );
    assert_eq!(
        run(&mut s, "UPDATE t SET n = n + 1 WHERE id <= 2"),
        ["rows 2"]
    );
    assert_eq!(
        run(&mut s, "SELECT id FROM t WHERE n = 21")[1..],
        ["2", "rows 1"]
    );
    assert_eq!(run(&mut s, "DELETE FROM t WHERE n IS NULL"), ["rows 2"]);
    assert_eq!(
        run(&mut s, "SELECT COUNT(*), SUM(n) FROM t")[1..],
        ["2 | 32", "rows 1"]
    );
}

#[test]
fn constraints_have_their_numbers() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, c char(3))",
    );
    run(&mut s, "INSERT p VALUES (1, 'x')");
    let lines = run(&mut s, "INSERT p VALUES (1, 'y')");
    assert!(
        lines[0].starts_with(
            "Msg 2627, Level 14, State 1, Line 1: Violation of PRIMARY KEY constraint 'pk_p'"
        ),
        "{lines:?}"
    );
    assert_eq!(lines[1], "The statement has been terminated.");
    assert!(run(&mut s, "INSERT p VALUES (NULL, 'y')")[0].starts_with("Msg 515"));
    assert!(run(&mut s, "INSERT p VALUES (2, 'long')")[0].starts_with("Msg 2628"));
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM p")[1], "1");
    assert!(run(&mut s, "CREATE TABLE p (a int)")[0].starts_with("Msg 2714"));
    assert!(run(&mut s, "DROP TABLE q")[0].starts_with("Msg 3701"));
}

#[test]
fn a_rollback_leaves_nothing() {
    let mut s = alone();
    run(&mut s, TABLE);
    run(&mut s, "INSERT t (n) VALUES (1)");
    run(
        &mut s,
        "BEGIN TRAN; INSERT t (n) VALUES (2); UPDATE t SET n = 9; SAVE TRAN p; DELETE t; ROLLBACK TRAN p",
    );
    assert_eq!(
        run(&mut s, "SELECT n FROM t ORDER BY id")[1..],
        ["9", "9", "rows 2"]
    );
    run(&mut s, "ROLLBACK");
    assert_eq!(run(&mut s, "SELECT n FROM t")[1..], ["1", "rows 1"]);
    run(&mut s, "BEGIN TRAN; CREATE TABLE gone (a int); ROLLBACK");
    assert!(run(&mut s, "SELECT * FROM gone")[0].starts_with("Msg 208"));
    let lines = run(
        &mut s,
        "BEGIN TRAN; CREATE TABLE gone (a int); SAVE TRAN p; INSERT gone VALUES (1); ROLLBACK TRAN p; \
         SELECT a FROM gone; ROLLBACK",
    );
    assert_eq!(lines.last().map(String::as_str), Some("rows 0"));
    assert!(run(&mut s, "SELECT * FROM gone")[0].starts_with("Msg 208"));
}

#[test]
fn a_power_failure_keeps_what_was_durable() {
    let disk = SimDisk::new(7);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, TABLE);
    run(
        &mut s,
        "DECLARE @i int = 0; WHILE @i < 50 BEGIN INSERT t (n) VALUES (@i); SET @i += 1 END; EXEC sys.sp_flush_log",
    );
    run(&mut s, "BEGIN TRAN; DELETE t");
    let after = disk.crash(3);
    let mut s = alone_on(&after.env());
    assert_eq!(run(&mut s, "SELECT COUNT(*), MAX(n) FROM t")[1], "50 | 49");
}

#[test]
fn databases_come_and_go() {
    let disk = SimDisk::new(9);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let sql = "CREATE DATABASE d ON (NAME = d1, FILENAME = '/data/d.mdf', SIZE = 4MB) LOG ON (NAME = dl, FILENAME = '/data/d.ldf', SIZE = 2MB)";
    assert_eq!(run(&mut s, sql), Vec::<String>::new());
    assert_eq!(run(&mut s, "USE d"), ["Changed database context to 'd'."]);
    run(&mut s, "CREATE TABLE x (a int); INSERT x VALUES (5)");
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    let mut s = alone_on(&disk.env());
    assert_eq!(run(&mut s, "SELECT a FROM d.dbo.x")[1], "5");
    assert_eq!(run(&mut s, "DROP DATABASE d"), Vec::<String>::new());
    assert!(run(&mut s, "USE d")[0].starts_with("Msg 911"));
}

#[test]
fn a_database_has_a_version_and_a_missing_one_none() {
    let lines = batch(
        "SELECT DATABASEPROPERTY('master', 'Version'), DATABASEPROPERTY('nowhere', 'Version')",
    );
    assert!(
        lines[1].ends_with(" | NULL") && !lines[1].starts_with("NULL"),
        "{lines:?}"
    );
    assert_eq!(
        batch("SELECT DATABASEPROPERTY('master', 'IsOffline')")[1],
        "0"
    );
}

#[test]
fn a_hint_that_is_not_followed_is_refused() {
    assert_eq!(batch("SELECT 1 OPTION (RECOMPILE)")[1], "1");
    assert!(batch("SELECT 1 OPTION (ORDER GROUP)")[0].starts_with("Msg 40517"));
}
