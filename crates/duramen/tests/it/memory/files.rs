//! What depends on how much a database or its log holds: CHECKDB, and recovery with less memory than before.

use duramen_server::client::Stream;
use duramen_tds::client::Client;
use duramen_types::Value;

use super::{LIMIT_MB, REFUSALS, TEMPDB, assert_bound, prepare, sampled, seconds};
use crate::process::{Process, Scratch, ask, rows};

const SMALL_MB: u64 = 64;

fn is_long() -> bool {
    seconds() > 20
}

fn check(client: &mut Client<Stream>) -> Vec<i32> {
    let answer = ask(client, "DBCC CHECKDB (d) WITH NO_INFOMSGS").expect("an answer");
    answer.errors.iter().map(|e| e.number).collect()
}

/// What CHECKDB remembers of an index with long keys is most of the index: it is refused where there is no memory for it, and
/// passes where there is.
#[test]
fn a_check_that_has_much_to_remember_is_bounded() {
    let scratch = Scratch::new("memory-check");
    let limit = format!("{SMALL_MB}MB");
    let server = Process::start(&scratch.path().join("data"), &["--max-memory", &limit]);
    let mut client = server.connect();
    rows(&mut client, "CREATE DATABASE d");
    rows(
        &mut client,
        "CREATE TABLE d.dbo.keys (k varchar(1650) NOT NULL); CREATE INDEX i ON d.dbo.keys (k)",
    );
    let count = if is_long() { 250_000 } else { 40_000 };
    for first in (0..count).step_by(10_000) {
        let sql = format!(
            "INSERT d.dbo.keys SELECT TOP 10000 CONCAT(RIGHT(CONCAT('0000000', {first} + ROW_NUMBER() OVER (ORDER BY a.object_id)), \
             8), REPLICATE('k', 1600)) FROM (SELECT TOP 100 object_id FROM sys.all_columns) AS a \
             CROSS JOIN (SELECT TOP 100 object_id FROM sys.all_columns) AS b"
        );
        rows(&mut client, &sql);
    }
    let (errors, peak) = sampled(server.id(), || check(&mut client));
    println!("{count} keys: {errors:?}");
    assert_eq!(errors, [701], "what is remembered found room");
    assert_bound(&server, SMALL_MB, peak);
    drop(client);
    server.stop();
    let server = Process::start(&scratch.path().join("data"), &["--max-memory", "2GB"]);
    assert_eq!(check(&mut server.connect()), Vec::<i32>::new());
}

/// The server is killed in the middle of one long transaction and of many, and starts with a quarter of its memory.
#[test]
fn recovery_with_little_memory_is_bounded() {
    let scratch = Scratch::new("memory-recovery");
    duramen_os::machine::raise_open_files();
    let dir = scratch.path().join("data");
    let limit = format!("{LIMIT_MB}MB");
    let server = Process::start(&dir, &["--max-memory", &limit, "--max-tempdb", TEMPDB]);
    let mut client = server.connect();
    prepare(&mut client);
    let (rounds, sessions) = if is_long() { (12, 3000) } else { (1, 60) };
    let mut open: Vec<_> = (0..sessions).map(|_| server.connect()).collect();
    for client in &mut open {
        let sql = "BEGIN TRAN; INSERT d.dbo.t SELECT TOP 50 id, 'o' FROM d.dbo.wide";
        let errors = ask(client, sql).expect("an answer").errors;
        let known = errors.iter().all(|e| REFUSALS.contains(&e.number));
        assert!(known, "{errors:?}");
    }
    // A table of its own: its locks become one.
    rows(
        &mut client,
        "CREATE TABLE d.dbo.mine (a int, b varchar(10))",
    );
    rows(
        &mut client,
        "BEGIN TRAN; UPDATE d.dbo.wide SET pad = LOWER(pad)",
    );
    // As many rows in each round: those that come are not among those that are read.
    for _ in 0..rounds {
        rows(
            &mut client,
            "DECLARE @i int = 0; WHILE @i < 5000 BEGIN INSERT d.dbo.mine VALUES (@i, 'l'); SET @i += 1 END; \
             INSERT d.dbo.wide SELECT a.id + 5000, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE a.id <= 500 AND b.id <= 20; \
             INSERT d.dbo.mine SELECT a.id, 'm' FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE a.id <= 1000",
        );
    }
    rows(&mut server.connect(), "CHECKPOINT; CHECKPOINT");
    server.kill();
    drop(open);

    let limit = format!("{SMALL_MB}MB");
    let server = Process::spawn(&dir, &["--max-memory", &limit, "--max-tempdb", TEMPDB]);
    let (left, peak) = sampled(server.id(), || {
        server.wait_ready();
        let mut client = server.connect();
        // Nobody looks at it before it is recovered.
        rows(
            &mut client,
            "SELECT (SELECT COUNT(*) FROM d.dbo.t), (SELECT COUNT(*) FROM d.dbo.mine), (SELECT COUNT(*) FROM d.dbo.wide)",
        )
    });
    assert_eq!(left, [[Value::Int(0), Value::Int(0), Value::Int(3000)]]);
    assert_bound(&server, SMALL_MB, peak);
    assert_eq!(check(&mut server.connect()), Vec::<i32>::new());
}
