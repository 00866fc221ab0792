//! What replies are made of, token by token, with the engine behind the edge.

use duramen_os::sim::SimDisk;
use duramen_server::client::Stream;
use duramen_tds::bytes::{put_u16, put_utf16};
use duramen_tds::client::Client;
use duramen_tds::packet::PacketType;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::{DoneKind, Env, Token, status};
use duramen_types::{DateTime, SqlType, TypeId, Value, to_display};

use crate::faults::{Stack, run};

/// The running reply, a short word a token: rows and messages by content, DONEs by kind, bits, command and count.
pub fn tokens(client: &mut Client<Stream>) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(token) = client.next_event().unwrap() {
        out.push(match token {
            Token::Columns(columns) => {
                let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
                format!("columns {}", names.join(","))
            }
            Token::Row(row) => {
                let cell = |v: &Value| match (v.as_text(), v.as_i64()) {
                    (Some(text), _) => text,
                    (None, Some(n)) => n.to_string(),
                    (None, None) => format!("{v:?}"),
                };
                let cells: Vec<String> = row.iter().map(cell).collect();
                format!("row {}", cells.join(","))
            }
            Token::Done(done) => {
                let kind = match done.kind {
                    DoneKind::Done => "done",
                    DoneKind::Proc => "doneproc",
                    DoneKind::InProc => "doneinproc",
                };
                let mut word = format!("{kind} {:X}", done.command);
                if let Some(n) = done.count() {
                    word += &format!(" n={n}");
                }
                if done.is_error() {
                    word += " error";
                }
                if done.has_more() {
                    word += " more";
                }
                if done.status & status::RPC_IN_BATCH != 0 {
                    word += " rpc";
                }
                word
            }
            Token::Error(e) => format!("error {} line {} {}", e.number, e.line, e.procedure)
                .trim_end()
                .to_owned(),
            Token::Info(e) => format!("info {} {}", e.number, e.text),
            Token::Env(Env::BeginTransaction(d)) => format!("begin {}", d != 0),
            Token::Env(Env::CommitTransaction(d)) => format!("commit {}", d != 0),
            Token::Env(Env::RollbackTransaction(d)) => format!("rollback {}", d != 0),
            Token::Env(env) => format!("env {env:?}"),
            Token::ReturnStatus(n) => format!("status {n}"),
            Token::ReturnValue { name, value, .. } => format!("value {name} {value:?}"),
            other => format!("{other:?}"),
        });
    }
    out
}

/// A batch's reply.
pub fn batch(client: &mut Client<Stream>, sql: &str) -> Vec<String> {
    client.query(sql).unwrap();
    tokens(client)
}

/// A call's reply.
pub fn call(
    client: &mut Client<Stream>,
    build: impl FnOnce(CallBuilder) -> CallBuilder,
) -> Vec<String> {
    let body = build(CallBuilder::new(client.headers())).finish();
    client.send(PacketType::Rpc, &body).unwrap();
    tokens(client)
}

/// A transaction manager request's reply.
fn manage(client: &mut Client<Stream>, request: &[u8]) -> Vec<String> {
    let mut body = Vec::new();
    client.headers().put(&mut body);
    body.extend_from_slice(request);
    client.send(PacketType::TransactionManager, &body).unwrap();
    tokens(client)
}

pub const TEXT: SqlType = SqlType::nvarchar(200);

#[test]
fn statements_of_procedures_end_with_doneinproc() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(&mut client, "CREATE TABLE t (a int)");
    run(
        &mut client,
        "CREATE PROCEDURE p @o int OUTPUT AS SELECT 1 AS x; INSERT t VALUES (1), (2); SET @o = 5; RETURN 7",
    );
    run(
        &mut client,
        "CREATE PROCEDURE quiet AS SET NOCOUNT ON; INSERT t VALUES (3); SELECT 2 AS y; EXEC ('DELETE t')",
    );
    let inside = [
        "columns x",
        "row 1",
        "doneinproc C1 n=1 more",
        "doneinproc C3 n=2 more",
    ];
    let reply = batch(
        &mut client,
        "DECLARE @v int; EXEC p @v OUTPUT; SELECT @v AS v",
    );
    assert_eq!(reply[..4], inside);
    let rest = [
        "status 7",
        "doneproc E0 more",
        "columns v",
        "row 5",
        "done C1 n=1",
    ];
    assert_eq!(reply[4..], rest);

    let int = |b: CallBuilder, output| {
        b.parameter("@o", output, &SqlType::INT, &Value::Null)
            .unwrap()
    };
    let reply = call(&mut client, |b| int(b.named("p"), true));
    assert_eq!(reply[..4], inside);
    assert_eq!(reply[4..], ["status 7", "value @o Int(5)", "doneproc E0"]);

    // NOCOUNT: only what has rows is told, and without a number.
    let reply = batch(&mut client, "EXEC quiet");
    let expected = [
        "columns y",
        "row 2",
        "doneinproc C1 more",
        "status 0",
        "doneproc E0",
    ];
    assert_eq!(reply, expected);

    // A string is no procedure: it has no status.
    let reply = batch(&mut client, "EXEC ('SELECT 1 AS x'); SELECT 2 AS y");
    let expected = [
        "columns x",
        "row 1",
        "doneinproc C1 n=1 more",
        "doneproc E0 more",
    ];
    assert_eq!(reply[..4], expected);

    // Two calls in one message.
    let reply = call(&mut client, |b| {
        int(int(b.named("p"), false).named("p"), true)
    });
    let ends: Vec<&String> = reply.iter().filter(|t| t.starts_with("doneproc")).collect();
    assert_eq!(ends, ["doneproc E0 more rpc", "doneproc E0"]);
    // One that is not there.
    let reply = call(&mut client, |b| b.named("nobody"));
    assert_eq!(reply[0], "error 2812 line 1");
    assert_eq!(reply.last().unwrap(), "doneproc E0 error");
    stack.close();
}

#[test]
fn transactions_are_told_from_their_begin_to_their_end() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(&mut client, "CREATE TABLE t (a int NOT NULL)");
    // Begin at SERIALIZABLE, named.
    let mut request = vec![5, 0, 4, 4];
    put_utf16(&mut request, "tn");
    assert_eq!(manage(&mut client, &request), ["begin true", "done 0"]);
    assert!(client.in_transaction());
    // A second begin only counts.
    assert_eq!(manage(&mut client, &[5, 0, 0, 0]), ["done 0"]);
    let mut save = vec![9, 0, 4];
    put_utf16(&mut save, "sp");
    assert_eq!(manage(&mut client, &save), ["done 0"]);
    let level =
        "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
    assert_eq!(batch(&mut client, level)[1], "row 4");
    let mut back = vec![8, 0, 4];
    put_utf16(&mut back, "sp");
    back.push(0);
    assert_eq!(manage(&mut client, &back), ["done 0"]);
    assert_eq!(manage(&mut client, &[7, 0, 0, 0]), ["done 0"]);
    // Commit, and begin again at once.
    assert_eq!(
        manage(&mut client, &[7, 0, 0, 1, 2, 0]),
        ["commit true", "begin true", "done 0"]
    );
    assert_eq!(
        manage(&mut client, &[8, 0, 0, 0]),
        ["rollback true", "done 0"]
    );
    assert_eq!(
        manage(&mut client, &[7, 0, 0, 0]),
        ["error 3902 line 1", "done 0 error"]
    );
    let mut promote = Vec::new();
    put_u16(&mut promote, 6);
    assert_eq!(manage(&mut client, &promote)[0], "error 40517 line 0");

    // An error that rolls back says so; the driver must not send the dead descriptor again.
    let reply = batch(
        &mut client,
        "SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (NULL); SELECT 1",
    );
    let expected = [
        "done BE more",
        "begin true",
        "done D4 more",
        "error 515 line 1",
        "rollback true",
    ];
    assert_eq!(reply[..5], expected);
    assert!(!client.in_transaction());
    stack.close();
}

#[test]
fn prepared_statements_and_their_parameters() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    let text =
        |b: CallBuilder, s: &str| b.parameter("", false, &TEXT, &Value::nvarchar(s)).unwrap();
    let int = |b: CallBuilder, n: Value| b.parameter("", false, &SqlType::INT, &n).unwrap();
    let reply = call(&mut client, |b| {
        let b = b.procedure(ProcId::PrepExec);
        let b = b.parameter("", true, &SqlType::INT, &Value::Null).unwrap();
        int(text(text(b, "@p int"), "SELECT @p + 1 AS n"), Value::Int(4))
    });
    let expected = [
        "columns n",
        "row 5",
        "doneinproc C1 n=1 more",
        "status 0",
        "value  Int(1)",
        "doneproc E0",
    ];
    assert_eq!(reply, expected);
    // Twice in one message.
    let reply = call(&mut client, |b| {
        let first = int(
            int(b.procedure(ProcId::Execute), Value::Int(1)),
            Value::Int(10),
        );
        int(
            int(first.procedure(ProcId::Execute), Value::Int(1)),
            Value::Null,
        )
    });
    assert_eq!((&*reply[1], &*reply[6]), ("row 11", "row Null"));
    let reply = call(&mut client, |b| {
        int(b.procedure(ProcId::Unprepare), Value::Int(1))
    });
    assert_eq!(reply, ["status 0", "doneproc E0"]);
    let reply = call(&mut client, |b| {
        int(b.procedure(ProcId::Execute), Value::Int(1))
    });
    assert_eq!(reply[0], "error 8179 line 0");
    stack.close();
}

#[test]
fn statements_are_described_without_running() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (id int NOT NULL, s nvarchar(20) NULL)",
    );
    run(
        &mut client,
        "CREATE PROCEDURE p AS SELECT id FROM t; DELETE t",
    );
    let text =
        |b: CallBuilder, s: &str| b.parameter("", false, &TEXT, &Value::nvarchar(s)).unwrap();
    let prepare = |client: &mut Client<Stream>, sql: &str| {
        call(client, |b| {
            let b = b.procedure(ProcId::Prepare);
            let b = b.parameter("", true, &SqlType::INT, &Value::Null).unwrap();
            text(text(b, "@p int"), sql)
        })
    };
    let reported = ["status 0", "value  Int(1)", "doneproc E0"];
    let reply = prepare(&mut client, "SELECT id, s FROM t WHERE id = @p");
    assert_eq!(
        (&*reply[0], &reply[1..]),
        ("columns id,s", &reported.map(String::from)[..])
    );
    let reply = prepare(&mut client, "INSERT t VALUES (@p, 'x')");
    assert_eq!(reply[0], "status 0");
    assert_eq!(batch(&mut client, "SELECT COUNT(*) FROM t")[1], "row 0");
    for sql in ["SELECT nosuch FROM t", "SELECT ("] {
        let reply = prepare(&mut client, sql);
        assert_eq!(reply[1], "error 8180 line 1", "{sql}: {reply:?}");
        assert_eq!(
            reply[2..],
            ["status 8180", "value  Null", "doneproc E0 error"]
        );
    }
    // FMTONLY over two batches, as bulk copies ask for the columns of their table.
    batch(&mut client, "INSERT t VALUES (1, 'x')");
    batch(&mut client, "SET FMTONLY ON");
    let reply = batch(
        &mut client,
        "select * from t; DELETE t; EXEC('SELECT s FROM t') SET FMTONLY OFF",
    );
    let expected = [
        "columns id,s",
        "done C1 n=0 more",
        "columns s",
        "doneinproc C1 n=0 more",
    ];
    assert_eq!(reply[..4], expected);
    assert_eq!(batch(&mut client, "SELECT COUNT(*) FROM t")[1], "row 1");
    let reply = call(&mut client, |b| {
        text(
            b.procedure(ProcId::ExecuteSql),
            "SET FMTONLY ON SELECT * FROM t",
        )
    });
    assert_eq!(reply[..2], ["doneinproc BE more", "columns id,s"]);
    assert_eq!(batch(&mut client, "SELECT 1 AS x")[1], "row 1");

    let reply = call(&mut client, |b| {
        text(
            b.named("sp_describe_first_result_set"),
            "IF 1 = 2 SELECT id, s AS w FROM t ELSE EXEC p",
        )
    });
    assert!(
        reply[0].starts_with("columns is_hidden,column_ordinal,name,is_nullable"),
        "{reply:?}"
    );
    assert!(
        reply[1].starts_with("row 0,1,id,0,56,int,4,10,0,Null"),
        "{reply:?}"
    );
    assert!(reply[1].ends_with("56,4,Null,Null"), "{reply:?}");
    assert!(
        reply[2].starts_with("row 0,2,w,1,231,nvarchar(20),40,0,0,SQL_Latin1"),
        "{reply:?}"
    );
    assert!(reply[2].ends_with("231,40,13632521,52"), "{reply:?}");
    let reply = batch(&mut client, "EXEC sp_describe_first_result_set N'DELETE t'");
    assert_eq!(reply[1], "doneinproc C1 n=0 more");
    stack.close();
}

#[test]
fn older_clients_are_understood() {
    let stack = Stack::over(SimDisk::new(1));
    let sql = "SELECT CAST('2024-02-29' AS date) AS d, CAST('12:34:56.7' AS time(1)) AS t, \
               CAST('2024-02-29 01:02:03' AS datetime2(0)) AS dt, CAST(N'\u{fc}' AS nvarchar(max)) AS m, \
               CAST(NULL AS int) AS n, CAST(0x0102 AS varbinary(max)) AS b, CAST('x' AS xml) AS x, \
               CAST(CAST('2024-02-29' AS date) AS sql_variant) AS v";
    for version in [
        0x7100_0001,
        0x7209_0002,
        0x730A_0003,
        0x730B_0003,
        0x7400_0004,
    ] {
        let mut client = stack.connect_as(version);
        let reply = batch(&mut client, sql);
        assert_eq!(reply[0], "columns d,t,dt,m,n,b,x,v", "{version:x}");
        if version < 0x730A_0003 {
            assert!(
                reply[1].starts_with("row 2024-02-29,12:34:56.7,2024-02-29 01:02:03,\u{fc},Null"),
                "{reply:?}"
            );
            assert!(
                reply[1].contains("2024-02-29\")") || reply[1].contains("NVarChar"),
                "{reply:?}"
            );
        } else {
            assert!(reply[1].starts_with("row Date("), "{reply:?}");
        }
        let reply = batch(&mut client, "BEGIN TRAN; SELECT 1/0; ROLLBACK");
        let begins = reply.iter().any(|t| t == "begin true");
        assert_eq!(begins, version >= 0x7209_0002);
        assert!(reply.contains(&"error 8134 line 1".to_owned()), "{reply:?}");
    }
    stack.close();
}

#[test]
fn a_reset_is_told_first_and_brings_the_session_home() {
    use duramen_tds::packet::{STATUS_RESET, STATUS_RESET_KEEP_TRAN, to_packets};
    use duramen_tds::request::Batch;

    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (a int); CREATE TABLE #own (a int)",
    );
    let state = "SELECT DB_NAME() AS d, @@TRANCOUNT AS n, OBJECT_ID('tempdb..#own') AS own";
    let mut reset = |status: u8| {
        run(
            &mut client,
            "USE tempdb; SET XACT_ABORT ON; BEGIN TRAN; INSERT master.dbo.t VALUES (1)",
        );
        let body = Batch::build(state, client.headers());
        let packets = to_packets(PacketType::SqlBatch, &body, 4096, 0, status);
        client.send_raw(&packets).unwrap();
        let reply = tokens(&mut client);
        run(&mut client, "IF @@TRANCOUNT > 0 ROLLBACK");
        reply
    };
    let reply = reset(STATUS_RESET);
    assert_eq!((&*reply[0], &*reply[1]), ("env Reset", "rollback true"));
    assert_eq!(
        reply[2],
        "env Database { new: \"master\", old: \"tempdb\" }"
    );
    assert_eq!(reply[4], "row master,0,Null");
    let reply = reset(STATUS_RESET_KEEP_TRAN);
    assert_eq!((&*reply[0], &*reply[3]), ("env Reset", "row master,1,Null"));
    stack.close();
}

#[test]
fn a_client_that_vanishes_in_a_result_frees_its_locks() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, pad char(2000))",
    );
    let fill = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                INSERT t SELECT i, 'x' FROM n OPTION (MAXRECURSION 0)";
    run(&mut client, fill);
    client
        .query("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; UPDATE t SET pad = 'y'; SELECT * FROM t")
        .unwrap();
    // Some of the rows are on their way, the server waits for the socket to take the rest.
    for _ in 0..50 {
        client.next_event().unwrap();
    }
    drop(client);
    let mut other = stack.connect();
    run(
        &mut other,
        "SET LOCK_TIMEOUT 30000; UPDATE t SET pad = 'z' WHERE a = 5",
    );
    let reply = batch(&mut other, "SELECT COUNT(*) FROM t WHERE pad = 'y'");
    assert_eq!(reply[1], "row 0");
    // Calls that are for drivers alone are refused by name.
    for name in ["sp_cursoropen", "sp_prepare"] {
        other.query(&format!("EXEC {name}")).unwrap();
        let mut said = String::new();
        while let Some(token) = other.next_event().unwrap() {
            if let Token::Error(e) = token {
                said = e.text;
            }
        }
        assert!(said.contains(name), "{said}");
    }
    stack.close();
}

/// @@PACK_RECEIVED and its kin count what goes over the wire.
#[test]
fn packets_are_counted() {
    let stack = Stack::over(SimDisk::new(8));
    let mut client = stack.connect();
    let counts = |client: &mut Client<Stream>| {
        let sql = "SELECT @@PACK_RECEIVED - @@PACKET_ERRORS, @@PACK_SENT, @@CONNECTIONS";
        client.query(sql).unwrap();
        let row = tokens(client).into_iter().find(|t| t.starts_with("row "));
        let row = row.expect("a row");
        let numbers = row[4..].split(',').map(|n| n.parse::<i64>().unwrap());
        numbers.collect::<Vec<_>>()
    };
    let before = counts(&mut client);
    run(&mut client, "SELECT 1");
    let after = counts(&mut client);
    // Other tests' servers count too.
    assert!(
        after[0] >= before[0] + 2 && after[1] >= before[1] + 2,
        "{before:?} {after:?}"
    );
    assert!(after[2] >= 1);
    stack.close();
}

#[test]
fn the_end_of_a_connection_is_told_as_a_server_error() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    client
        .query("RAISERROR('fatal', 20, 1) WITH LOG; SELECT 1")
        .unwrap();
    let (mut errors, mut last) = (Vec::new(), 0);
    while let Some(token) = client.next_event().unwrap() {
        match token {
            Token::Error(e) => errors.push((e.number, e.class)),
            Token::Done(done) => last = done.status,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(errors, [(2745, 16), (50000, 20), (596, 21)]);
    assert_eq!(last, status::ERROR | status::SERVER_ERROR);
    assert!(client.query("SELECT 1").is_err() || client.next_event().is_err());
    stack.close();
}

#[test]
fn a_value_that_is_none_of_its_type_is_told_and_the_session_goes_on() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    for (bytes, ty, name) in [
        (f64::NAN.to_le_bytes().to_vec(), SqlType::FLOAT, "float"),
        (
            f64::INFINITY.to_le_bytes().to_vec(),
            SqlType::FLOAT,
            "float",
        ),
        (
            f32::NEG_INFINITY.to_le_bytes().to_vec(),
            SqlType::REAL,
            "real",
        ),
        // A day beyond 9999.
        (
            i32::MAX.to_le_bytes().to_vec(),
            SqlType::DATETIME,
            "datetime",
        ),
    ] {
        let (good, known) = match ty.id {
            TypeId::Float => (Value::Float(1.5), 1.5f64.to_le_bytes().to_vec()),
            TypeId::Real => (Value::Real(1.5), 1.5f32.to_le_bytes().to_vec()),
            _ => {
                let days = 0x1234;
                let at = DateTime { days, ticks: 0 };
                (Value::DateTime(at), days.to_le_bytes().to_vec())
            }
        };
        let text =
            |b: CallBuilder, s: &str| b.parameter("", false, &TEXT, &Value::nvarchar(s)).unwrap();
        let b = CallBuilder::new(client.headers()).procedure(ProcId::ExecuteSql);
        let b = text(text(b, "SELECT @p"), &format!("@p {name}"));
        let mut body = b.parameter("@p", false, &ty, &good).unwrap().finish();
        let at = body.windows(known.len()).rposition(|w| w == known);
        let at = at.expect("the value");
        body[at..at + bytes.len()].copy_from_slice(&bytes);
        client.send(PacketType::Rpc, &body).unwrap();
        let reply = tokens(&mut client);
        assert!(reply[0].starts_with("error 8023"), "{name}: {reply:?}");
        assert_eq!(batch(&mut client, "SELECT 1 AS n")[1], "row 1");
    }
    stack.close();
}

#[test]
fn outputs_come_as_the_procedure_declares_them() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE PROC outs @d decimal(12, 4) OUTPUT, @b bigint OUTPUT, @s varchar(20) OUTPUT AS \
         SELECT @d = 1.25, @b = 7, @s = 'abc'",
    );
    run(
        &mut client,
        "CREATE PROC olds @t text OUTPUT AS SELECT 1 AS n",
    );
    let body = CallBuilder::new(client.headers())
        .named("outs")
        .parameter("@d", true, &SqlType::decimal(38, 0), &Value::Null)
        .and_then(|b| b.parameter("@b", true, &SqlType::BIT, &Value::Null))
        .and_then(|b| b.parameter("@s", true, &SqlType::nvarchar(5), &Value::Null))
        .unwrap()
        .finish();
    client.send(PacketType::Rpc, &body).unwrap();
    let mut values = Vec::new();
    while let Some(token) = client.next_event().unwrap() {
        if let Token::ReturnValue {
            name, ty, value, ..
        } = token
        {
            values.push(format!("{name} {ty} {}", to_display(&value, &ty)));
        }
    }
    assert_eq!(
        values,
        [
            "@d decimal(12,4) 1.2500",
            "@b bigint 7",
            "@s varchar(20) abc"
        ]
    );
    // text has no place among output values: it comes as what has followed it.
    let reply = call(&mut client, |b| {
        let b = b.named("olds");
        b.parameter("@t", true, &SqlType::varchar(10), &Value::varchar("x"))
            .unwrap()
    });
    assert!(reply.last().unwrap().starts_with("doneproc"), "{reply:?}");
    assert_eq!(batch(&mut client, "SELECT 1 AS n")[1], "row 1");
    stack.close();
}

#[test]
fn print_ends_with_a_done_of_its_own() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    let expected = ["info 0 a", "done FD more", "info 0 b", "done FD"];
    assert_eq!(batch(&mut client, "PRINT 'a'; PRINT 'b'"), expected);
    stack.close();
}

#[test]
fn a_caught_error_leaves_the_row_count_of_what_follows() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(&mut client, "CREATE TABLE t (a int)");
    let sql = "BEGIN TRY SELECT 100/0 AS x END TRY BEGIN CATCH INSERT t VALUES (77) END CATCH";
    let expected = ["columns x", "done C1 n=0 more", "done C3 n=1"];
    assert_eq!(batch(&mut client, sql), expected);
    stack.close();
}
