//! A parameter larger than the server's memory: it comes in, is asked about and goes into a table, and what is resident stays
//! within 1.1 times `--max-memory` and 100 MB.
//!
//! `DURAMEN_LARGE_PARAMETER` is its size in bytes, up to 2,147,483,647; `cargo test` takes a small one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::Client;
use duramen_tds::packet::STATUS_EOM;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::Token;
use duramen_tds::typeinfo::put_type_info;
use duramen_types::{SqlType, Value};

use crate::process::{Process, Scratch, ask, rows};
use crate::upload::Upload;

const LIMIT_MB: u64 = 64;
const MB: u64 = 1 << 20;

/// The byte at a place of the value.
fn byte(at: u64) -> u8 {
    (at * 31 % 251) as u8
}

/// Runs `sql` with `@p varbinary(max)` of so many bytes; the rows, and the numbers of the errors.
fn call(client: &mut Client<Stream>, sql: &str, bytes: u64) -> (Vec<Vec<Value>>, Vec<i32>) {
    let text = SqlType::NVARCHAR_MAX;
    let head = CallBuilder::new(client.headers())
        .procedure(ProcId::ExecuteSql)
        .parameter("", false, &text, &Value::nvarchar(sql))
        .and_then(|c| c.parameter("", false, &text, &Value::nvarchar("@p varbinary(max)")))
        .expect("it can be sent")
        .finish();
    let mut sending = Upload::new(client, usize::MAX);
    sending.put(&head);
    sending.put(&[2, b'@', 0, b'p', 0, 0]);
    let mut declared = Vec::new();
    put_type_info(&mut declared, &SqlType::VARBINARY_MAX);
    sending.put(&declared);
    sending.put(&bytes.to_le_bytes());
    let mut at = 0;
    while at < bytes {
        let n = (bytes - at).min(100_000);
        sending.put(&(n as u32).to_le_bytes());
        sending.put(&(at..at + n).map(byte).collect::<Vec<u8>>());
        at += n;
    }
    sending.put(&0u32.to_le_bytes());
    sending.packet(STATUS_EOM);
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    while let Some(event) = client.next_event().expect("an answer") {
        match event {
            Token::Row(row) => rows.push(row),
            Token::Error(e) => errors.push(e.number),
            _ => {}
        }
    }
    (rows, errors)
}

#[test]
fn a_parameter_larger_than_memory_goes_into_a_table() {
    let asked = std::env::var("DURAMEN_LARGE_PARAMETER").ok();
    let bytes: u64 = asked.map_or(48 * MB, |text| text.parse().expect("bytes"));
    let scratch = Scratch::new("large-parameter");
    let process = Process::start(
        &scratch.path().join("data"),
        &["--max-memory", &format!("{LIMIT_MB}MB")],
    );
    // The largest take minutes.
    let patient = ConnectOptions {
        read_timeout: Some(Duration::from_secs(600)),
        ..process.options(Trust::NoEncryption)
    };
    let mut client = connect(&patient).expect("the server takes sa");
    rows(
        &mut client,
        "CREATE DATABASE d; ALTER DATABASE d SET RECOVERY SIMPLE; CREATE TABLE d.dbo.t (id int PRIMARY KEY, n int, doc varbinary(max))",
    );
    let (most, done) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let sampler = std::thread::spawn({
        let (most, done, pid) = (most.clone(), done.clone(), process.id());
        move || {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(crate::process::resident_bytes(pid), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let (answer, errors) = call(
        &mut client,
        "INSERT d.dbo.t VALUES (1, 1, @p); SELECT DATALENGTH(@p), SUBSTRING(@p, 30000001, 3), \
         CASE WHEN @p > 0x00FF THEN 'less' WHEN @p = 0x00 THEN 'same' WHEN @p IS NULL THEN 'none' ELSE 'more' END",
        bytes,
    );
    assert_eq!(errors, [] as [i32; 0]);
    let piece: Vec<u8> = (30_000_000..30_000_003).map(byte).collect();
    assert_eq!(
        answer,
        [[
            Value::BigInt(bytes as i64),
            Value::Binary(piece),
            Value::varchar("more")
        ]]
    );
    // Where all of it is needed in memory.
    let (_, errors) = call(&mut client, "SELECT HASHBYTES('MD5', @p + 0x00)", bytes);
    assert_eq!(errors, [701]);
    // What is in the table is read as far as it is needed, where it lies.
    let hash = call(
        &mut client,
        "SELECT HASHBYTES('SHA2_256', @p), LEN(@p)",
        bytes,
    );
    let asked = format!(
        "SELECT HASHBYTES('SHA2_256', doc), LEN(doc), SUBSTRING(doc, {}, 4), DATALENGTH(doc) FROM d.dbo.t",
        bytes - 3
    );
    let end: Vec<u8> = (bytes - 4..bytes).map(byte).collect();
    let mut expected = hash.0;
    expected[0].extend([Value::Binary(end.clone()), Value::BigInt(bytes as i64)]);
    assert_eq!(rows(&mut client, &asked), expected);
    // One that stays where it is, one that goes into another row, and one in its place that another hears of.
    rows(&mut client, "UPDATE d.dbo.t SET n = 2");
    rows(
        &mut client,
        "INSERT d.dbo.t (id, doc) SELECT 2, doc FROM d.dbo.t; UPDATE d.dbo.t SET doc = 0x01 WHERE id = 1",
    );
    assert_eq!(
        rows(&mut client, &format!("{asked} WHERE id = 2")),
        expected
    );
    let (_, errors) = call(
        &mut client,
        "UPDATE d.dbo.t SET doc = @p WHERE id = 1; DELETE d.dbo.t WHERE id = 2",
        bytes,
    );
    assert_eq!(errors, [] as [i32; 0]);
    assert_eq!(rows(&mut client, &asked), expected);
    assert_eq!(
        rows(
            &mut client,
            "DECLARE @v varbinary(max) = (SELECT 0x02), @n bigint; SELECT @v = doc FROM d.dbo.t; UPDATE d.dbo.t SET doc = 0x03; SELECT DATALENGTH(@v), HASHBYTES('SHA2_256', @v); UPDATE d.dbo.t SET doc = @v"
        ),
        [[expected[0][3].clone(), expected[0][0].clone()]]
    );
    assert_eq!(rows(&mut client, &asked), expected);
    // The whole of it, to the client.
    let whole = rows(&mut client, "SELECT n, doc, id FROM d.dbo.t");
    let Value::Binary(doc) = &whole[0][1] else {
        panic!("bytes");
    };
    assert_eq!(doc.len() as u64, bytes);
    assert!((0..bytes).zip(doc).all(|(at, b)| byte(at) == *b));
    assert_eq!(
        (&whole[0][0], &whole[0][2]),
        (&Value::Int(2), &Value::Int(1))
    );
    drop(whole);
    assert_eq!(
        rows(
            &mut client,
            "SELECT n, MAX(DATALENGTH(doc)), COUNT(CASE WHEN doc > 0x00 THEN 1 END) FROM d.dbo.t GROUP BY n"
        ),
        [[Value::Int(2), Value::BigInt(bytes as i64), Value::Int(1)]]
    );
    // Compared as a whole, it is read into memory.
    let errors = ask(&mut client, "SELECT MAX(doc) FROM d.dbo.t").expect("an answer");
    assert_eq!(errors.errors[0].number, 701);
    assert_eq!(
        rows(&mut client, "SELECT COUNT(*) FROM d.dbo.t")[0][0],
        Value::Int(1)
    );
    done.store(true, Ordering::Relaxed);
    sampler.join().expect("it samples to its end");
    let most = most.load(Ordering::Relaxed);
    assert!(
        most < LIMIT_MB * MB * 11 / 10 + 100 * MB,
        "{} MB",
        most / MB
    );
    eprintln!("{bytes} bytes, {} MB resident at most", most / MB);
    rows(&mut client, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
    let left: Vec<_> = std::fs::read_dir(scratch.path().join("data"))
        .expect("a directory")
        .filter_map(|f| Some(f.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.starts_with("tempdb_spill_"))
        .collect();
    assert_eq!(left, [] as [String; 0]);
    process.stop();
    // With more memory the value is there, and whole.
    let process = Process::start(&scratch.path().join("data"), &["--max-memory", "4GB"]);
    let mut client = process.connect();
    let same = format!(
        "SELECT DATALENGTH(doc), SUBSTRING(doc, {}, 4) FROM d.dbo.t",
        bytes - 3
    );
    assert_eq!(
        rows(&mut client, &same),
        [[Value::BigInt(bytes as i64), Value::Binary(end)]]
    );
    process.stop();
}
