//! Batches over an instance, results as text.

use std::sync::Arc;

use duramen_session::{CancelToken, Instance, InstanceConfig, LoginRequest, Session, TextSink};

fn instance() -> Arc<Instance> {
    Instance::start(InstanceConfig {
        sa_password: "Secret-1".to_owned(),
        server_name: "TEST".to_owned(),
    })
}

fn login(instance: &Arc<Instance>) -> Session {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        ..LoginRequest::default()
    };
    instance.login(&request).expect("sa logs in")
}

fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let mut sink = TextSink::default();
    session.execute_batch(sql, &mut sink, &CancelToken::default());
    sink.lines
}

fn batch(sql: &str) -> Vec<String> {
    run(&mut login(&instance()), sql)
}

#[test]
fn a_wrong_password_is_18456() {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "wrong".to_owned(),
        ..LoginRequest::default()
    };
    let error = instance().login(&request).err().expect("refused");
    assert_eq!((error.number, error.severity), (18456, 14));
}

#[test]
fn arithmetic_has_the_types_of_the_language() {
    assert_eq!(
        batch("SELECT 7/2 AS q, 7/2.0 AS d, 'a' + 'b'"),
        [
            "(q int, d numeric(17,6),  varchar(2))",
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
    assert_eq!(lines[2], "8134 | 2 | Divide by zero error encountered.");
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
