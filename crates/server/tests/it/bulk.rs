//! Bulk loads over a socket: what arrives is in the table, what fails or stops leaves nothing behind.

use std::io::Write;
use std::time::Duration;

use duramen_os::sim::SimDisk;
use duramen_os::thread;
use duramen_server::client::Stream;
use duramen_tds::client::Client;
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::token::{Column, DoneKind, DoneToken, put_columns, put_done, put_row};
use duramen_types::{SqlType, Value};

use crate::faults::{Stack, run};
use crate::replies::{batch, tokens};

const MAX: u16 = duramen_types::MAX_LENGTH;

/// A bulk load's message.
fn stream(types: &[SqlType], rows: &[Vec<Value>], done: bool) -> Vec<u8> {
    let columns: Vec<Column> = types
        .iter()
        .map(|ty| Column {
            name: "c".into(),
            ty: *ty,
            flags: 9,
        })
        .collect();
    let mut out = Vec::new();
    put_columns(&mut out, &columns);
    for row in rows {
        put_row(&mut out, types, row).unwrap();
    }
    if done {
        let done = DoneToken {
            kind: DoneKind::Done,
            status: 0,
            command: 0,
            rows: 0,
        };
        put_done(&mut out, &done);
    }
    out
}

fn load(client: &mut Client<Stream>, insert: &str, body: &[u8]) -> Vec<String> {
    assert_eq!(batch(client, insert), ["done FD"], "{insert}");
    client.send(PacketType::BulkLoad, body).unwrap();
    tokens(client)
}

#[test]
fn rows_of_all_kinds_arrive() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (id int IDENTITY(10, 1) PRIMARY KEY, a int NULL DEFAULT 7, b nvarchar(20), c varchar(max), \
         d decimal(10, 2), e datetime2(3), f varbinary(max), g uniqueidentifier, h bit, i money, j text)",
    );
    let types = [
        SqlType::INT,
        SqlType::nvarchar(40),
        SqlType::varchar(MAX),
        SqlType::decimal(10, 2),
        SqlType::datetime2(3),
        SqlType::varbinary(MAX),
        SqlType::GUID,
        SqlType::BIT,
        SqlType::MONEY,
        SqlType::TEXT,
    ];
    let full = vec![
        Value::Int(-5),
        Value::nvarchar("Zoë"),
        Value::VarChar(vec![b'x'; 20_000]),
        Value::Decimal(duramen_types::Decimal::new(-1234, 10, 2).unwrap()),
        Value::Null,
        Value::Binary(vec![0, 255, 1]),
        Value::Guid([3; 16]),
        Value::Bit(true),
        Value::Money(-15_000),
        Value::VarChar(b"text".to_vec()),
    ];
    let rows = vec![full, vec![Value::Null; types.len()]];
    let insert = "INSERT BULK t ([a] int, [b] nvarchar(20) COLLATE Latin1_General_CI_AS, c varchar(max), \
                  d decimal(10,2), e datetime2(3), f varbinary(max), g uniqueidentifier, h bit, i money, j text)";
    for (done, with) in [
        (true, ""),
        (
            false,
            " WITH (KEEP_NULLS, TABLOCK, ROWS_PER_BATCH = 10, ORDER(a ASC))",
        ),
    ] {
        let reply = load(
            &mut client,
            &format!("{insert}{with}"),
            &stream(&types, &rows, done),
        );
        assert_eq!(reply, ["done F0 n=2"]);
    }
    let seen = batch(
        &mut client,
        "SELECT id, a, b, LEN(c), CAST(d AS varchar(10)), f, h, CAST(i AS varchar(10)), CAST(j AS varchar(9)) FROM t ORDER BY id",
    );
    assert_eq!(
        seen[1],
        "row 10,-5,Zoë,20000,-12.34,Binary([0, 255, 1]),1,-1.50,text"
    );
    // Without KEEP_NULLS a NULL becomes the default.
    assert!(seen[2].starts_with("row 11,7,Null"), "{}", seen[2]);
    assert!(seen[4].starts_with("row 13,Null,Null"), "{}", seen[4]);
    // Identity values are kept when their column is named; text becomes what the column is.
    run(
        &mut client,
        "CREATE TABLE u (id int IDENTITY PRIMARY KEY, n int, w char(4))",
    );
    let text = SqlType::nvarchar(8000);
    let word = |s: &str| Value::nvarchar(s);
    let body = stream(
        &[text; 3],
        &[vec![word("100"), word(" 42"), word("ab")]],
        true,
    );
    let insert = "INSERT BULK dbo.u (id int, n int, w char(4))";
    assert_eq!(load(&mut client, insert, &body), ["done F0 n=1"]);
    run(&mut client, "INSERT u VALUES (1, 'x')");
    let seen = batch(&mut client, "SELECT id, n, w FROM u ORDER BY id");
    assert_eq!(seen[1..3], ["row 100,42,ab  ", "row 101,1,x   "]);
    stack.close();
}

/// Triggers sleep unless they are asked for; then they fire once, for all rows, and what they do belongs to the load.
#[test]
fn triggers_fire_when_that_is_said() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (id int PRIMARY KEY, n int); CREATE TABLE seen (rows int, total bigint, depth int)",
    );
    let types = [SqlType::INT, SqlType::INT];
    let rows = |from: i32, count: i32| -> Vec<Vec<Value>> {
        let row = |id| vec![Value::Int(id), Value::Int(id * 2)];
        (from..from + count).map(row).collect()
    };
    let insert = "INSERT BULK t (id int, n int)";
    let fires = format!("{insert} WITH (FIRE_TRIGGERS)");
    // Without a trigger it says nothing.
    assert_eq!(
        load(&mut client, &fires, &stream(&types, &rows(0, 1), true)),
        ["done F0 n=1"]
    );
    run(
        &mut client,
        "CREATE TRIGGER tr ON t FOR INSERT AS INSERT seen SELECT COUNT(*), SUM(n), @@TRANCOUNT FROM inserted",
    );
    let look = "SELECT rows, total, depth FROM seen";
    assert_eq!(
        load(&mut client, insert, &stream(&types, &rows(1, 1), true)),
        ["done F0 n=1"]
    );
    assert_eq!(batch(&mut client, look).len(), 2);
    // More than one chunk, and once.
    assert_eq!(
        load(&mut client, &fires, &stream(&types, &rows(10, 2500), true)),
        ["done F0 n=2500"]
    );
    let total: i32 = (10..2510).map(|n| n * 2).sum();
    assert_eq!(batch(&mut client, look)[1], format!("row 2500,{total},1"));
    // No rows are none to fire for; a load that fails has fired nothing.
    run(&mut client, "DELETE seen");
    assert_eq!(
        load(&mut client, &fires, &stream(&types, &[], true)),
        ["done F0 n=0"]
    );
    let twice = stream(&types, &[rows(5000, 1), rows(5000, 1)].concat(), true);
    assert_eq!(load(&mut client, &fires, &twice)[0], "error 2627 line 1");
    assert_eq!(batch(&mut client, look).len(), 2);
    // What a trigger refuses is not loaded, in a transaction or without.
    run(
        &mut client,
        "CREATE TRIGGER no ON t FOR INSERT AS IF EXISTS (SELECT 1 FROM inserted WHERE n = 12002) THROW 50001, 'no', 1",
    );
    let some = stream(&types, &rows(6000, 2), true);
    assert_eq!(load(&mut client, &fires, &some)[0], "error 50001 line 1 no");
    let count = "SELECT (SELECT COUNT(*) FROM t WHERE id >= 6000), (SELECT COUNT(*) FROM seen), @@TRANCOUNT";
    assert_eq!(batch(&mut client, count)[1], "row 0,0,0");
    run(&mut client, "BEGIN TRAN");
    assert_eq!(load(&mut client, &fires, &some)[0], "error 50001 line 1 no");
    assert_eq!(
        batch(&mut client, count)[1],
        "row 0,0,0",
        "a trigger's error takes the transaction"
    );
    run(&mut client, "DROP TRIGGER no");
    run(
        &mut client,
        "CREATE TRIGGER back ON t FOR INSERT AS ROLLBACK",
    );
    let reported = load(&mut client, &fires, &some);
    assert_eq!(reported[1], "error 3609 line 1", "{reported:?}");
    assert_eq!(batch(&mut client, count)[1], "row 0,0,0");
    stack.close();
}

#[test]
fn constraints_are_tested_when_that_is_said() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE p (id int PRIMARY KEY); \
         CREATE TABLE c (id int REFERENCES p (id), n int CONSTRAINT positive CHECK (n > 0))",
    );
    let types = [SqlType::INT, SqlType::INT];
    let rows = stream(&types, &[vec![Value::Int(1), Value::Int(-1)]], true);
    let insert = "INSERT BULK c (id int, n int)";
    let trusted = "SELECT (SELECT MAX(CAST(is_not_trusted AS int)) FROM sys.foreign_keys), \
                   (SELECT MAX(CAST(is_not_trusted AS int)) FROM sys.check_constraints), (SELECT COUNT(*) FROM c)";
    let checked = format!("{insert} WITH (CHECK_CONSTRAINTS)");
    assert_eq!(load(&mut client, &checked, &rows)[0], "error 547 line 1");
    assert_eq!(batch(&mut client, trusted)[1], "row 0,0,0");
    // What a load that fails has said of the constraints goes with it.
    let half = stream(&types, &[vec![Value::Int(1), Value::Int(-1)]], false);
    run(&mut client, "BEGIN TRAN");
    assert_eq!(load(&mut client, insert, &half), ["done F0 n=1"]);
    assert_eq!(batch(&mut client, trusted)[1], "row 1,1,1");
    run(&mut client, "ROLLBACK");
    assert_eq!(batch(&mut client, trusted)[1], "row 0,0,0");
    assert_eq!(load(&mut client, insert, &rows), ["done F0 n=1"]);
    assert_eq!(batch(&mut client, trusted)[1], "row 1,1,1");
    // Others are tested as before.
    let one = batch(&mut client, "INSERT c VALUES (NULL, 0)");
    assert!(one[0].contains("547"), "{one:?}");
    stack.close();
}

#[test]
fn a_load_that_fails_leaves_nothing() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, b varchar(3))",
    );
    let types = [SqlType::INT, SqlType::varchar(20)];
    let row = |n: i32, s: &str| vec![Value::Int(n), Value::VarChar(s.as_bytes().to_vec())];
    let insert = "INSERT BULK t (a int, b varchar(3))";
    // The last of many rows is a duplicate: several chunks are undone.
    let mut rows: Vec<Vec<Value>> = (0..5000).map(|n| row(n, "x")).collect();
    rows.push(row(17, "y"));
    let reply = load(&mut client, insert, &stream(&types, &rows, true));
    assert_eq!(reply[0], "error 2627 line 1");
    assert_eq!(reply.last().unwrap(), "done C3 error");
    let count = "SELECT COUNT(*) FROM t";
    assert_eq!(batch(&mut client, count)[1], "row 0");
    // In a transaction only the load is undone.
    run(&mut client, "BEGIN TRAN; INSERT t VALUES (-1, 'a')");
    let too_long = stream(&types, &[row(1, "x"), row(2, "long")], true);
    assert_eq!(load(&mut client, insert, &too_long)[0], "error 4815 line 1");
    assert_eq!(batch(&mut client, count)[1], "row 1");
    let null = stream(&types, &[vec![Value::Null, Value::Null]], true);
    assert_eq!(load(&mut client, insert, &null)[0], "error 515 line 1");
    let guid = stream(
        &[SqlType::GUID, types[1]],
        &[vec![Value::Guid([0; 16]), Value::Null]],
        true,
    );
    assert_eq!(load(&mut client, insert, &guid)[0], "error 4816 line 1");
    run(&mut client, "COMMIT");
    assert_eq!(batch(&mut client, count)[1], "row 1");
    // What is announced must be there.
    assert_eq!(
        batch(&mut client, "INSERT BULK t (zz int)")[0],
        "error 207 line 1"
    );
    assert_eq!(
        batch(&mut client, "INSERT BULK nowhere (a int)")[0],
        "error 208 line 1"
    );
    // The good one, a batch in between takes the announcement back.
    assert_eq!(
        load(&mut client, insert, &stream(&types, &[row(3, "y")], true)),
        ["done F0 n=1"]
    );
    batch(&mut client, insert);
    batch(&mut client, "SELECT 1 AS x");
    client
        .send(PacketType::BulkLoad, &stream(&types, &[row(4, "y")], true))
        .unwrap();
    assert_eq!(tokens(&mut client)[0], "error 4002 line 0");
    assert_eq!(batch(&mut stack.connect(), count)[1], "row 2");
    stack.close();
}

#[test]
fn a_client_that_stops_in_the_middle_leaves_nothing() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(&mut client, "CREATE TABLE t (a int NOT NULL PRIMARY KEY)");
    let rows: Vec<Vec<Value>> = (0..30_000).map(|n| vec![Value::Int(n)]).collect();
    let packets = to_packets(
        PacketType::BulkLoad,
        &stream(&[SqlType::INT], &rows, true),
        4096,
        0,
        0,
    );
    // An attention after some packets; the connection lives.
    batch(&mut client, "INSERT BULK t (a int)");
    let mut socket = client.stream().socket().try_clone().unwrap();
    socket.write_all(&packets[..4096 * 20]).unwrap();
    thread::sleep(Duration::from_millis(50));
    client.cancel().unwrap();
    assert_eq!(batch(&mut client, "SELECT COUNT(*) FROM t")[1], "row 0");
    // The ignore bit on the last packet.
    batch(&mut client, "INSERT BULK t (a int)");
    let mut ignored = packets[..4096 * 3].to_vec();
    ignored[4096 * 2 + 1] = 3;
    client.send_raw(&ignored).unwrap();
    assert_eq!(tokens(&mut client).last().unwrap(), "done C3 error");
    assert_eq!(batch(&mut client, "SELECT COUNT(*) FROM t")[1], "row 0");
    // A client that vanishes: its locks go with it.
    batch(&mut client, "INSERT BULK t (a int) WITH (TABLOCK)");
    socket.write_all(&packets[..4096 * 10 + 100]).unwrap();
    drop((client, socket));
    let mut other = stack.connect();
    run(&mut other, "SET LOCK_TIMEOUT 20000; INSERT t VALUES (-1)");
    assert_eq!(batch(&mut other, "SELECT COUNT(*) FROM t")[1], "row 1");
    stack.close();
}
