//! Many connections, and what they cost: memory when they idle, nothing when they are gone.
//!
//! `cargo test` opens a few; `cargo xtask connections` as many as asked for (`DURAMEN_CONNECTIONS`).

use std::time::{Duration, Instant};

use duramen_server::client::{Trust, connect};
use duramen_types::Value;

use crate::process::{Process, Scratch, ask, rows};

/// What an idle connection may keep resident: its session, its TLS state, no buffers.
const IDLE_BYTES_MAX: u64 = 96 << 10;
/// The first warms up: threads, allocator, plans.
const ROUNDS: usize = 3;
/// What the allocator may keep of connections that are gone.
const SLACK_BYTES: u64 = 8 << 20;

fn user_connections(server: &Process) -> i64 {
    let mut client = server.connect();
    let count = rows(
        &mut client,
        "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id > 50",
    );
    match count[0][0] {
        Value::Int(n) => i64::from(n),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn idle_connections_cost_little_and_nothing_when_gone() {
    let count = std::env::var("DURAMEN_CONNECTIONS")
        .ok()
        .and_then(|v| v.parse().ok());
    let count: u64 = count.unwrap_or(120);
    duramen_os::machine::raise_open_files();
    let scratch = Scratch::new("connections");
    let server = Process::start(scratch.path(), &[]);
    let mut after = Vec::new();
    for round in 0..ROUNDS {
        let before = server.resident_bytes();
        let start = Instant::now();
        let clients: Vec<_> = (0..count)
            .map(|n| {
                let trust = if n % 2 == 0 {
                    Trust::Any
                } else {
                    Trust::NoEncryption
                };
                connect(&server.options(trust)).unwrap_or_else(|e| panic!("connection {n}: {e}"))
            })
            .collect();
        let took = start.elapsed();
        let with = server.resident_bytes();
        // One of them works while the others idle.
        let mut clients = clients;
        let busy = &mut clients[count as usize / 2];
        assert_eq!(rows(busy, "SELECT 1"), [[Value::Int(1)]]);
        assert_eq!(user_connections(&server), count as i64 + 1);
        drop(clients);
        let limit = Instant::now() + Duration::from_secs(30);
        while user_connections(&server) > 1 {
            assert!(
                Instant::now() < limit,
                "sessions stay without their clients"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        let now = server.resident_bytes();
        println!(
            "round {round}: {count} connections in {} ms; resident {} KB before, {} KB with them ({} KB each), {} KB after",
            took.as_millis(),
            before >> 10,
            with >> 10,
            (with.saturating_sub(before) / count) >> 10,
            now >> 10,
        );
        let each = with.saturating_sub(before) / count;
        assert!(
            each < IDLE_BYTES_MAX,
            "an idle connection keeps {each} bytes"
        );
        after.push(now);
    }
    assert!(
        after[ROUNDS - 1] < after[0] + SLACK_BYTES,
        "memory of connections that are gone: {after:?}"
    );
    server.stop();
}

/// A client that is gone in the middle of its transaction holds nothing any more.
#[test]
fn a_vanished_client_gives_its_locks_back() {
    let scratch = Scratch::new("vanished");
    let server = Process::start(scratch.path(), &[]);
    let mut client = server.connect();
    rows(&mut client, "CREATE DATABASE d");
    rows(
        &mut client,
        "USE d; CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL); INSERT t VALUES (1, 0)",
    );
    for sql in [
        "BEGIN TRAN; UPDATE d.dbo.t SET v = 1",
        "BEGIN TRAN; UPDATE d.dbo.t SET v = 1; WAITFOR DELAY '00:01:00'",
    ] {
        let mut gone = server.connect();
        gone.query(sql).expect("sent");
        std::thread::sleep(Duration::from_millis(300));
        drop(gone);
        let start = Instant::now();
        let answer = ask(
            &mut client,
            "SET LOCK_TIMEOUT 20000; UPDATE d.dbo.t SET v = v + 10",
        )
        .expect("lives");
        assert_eq!(answer.errors, [], "{sql}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(
        rows(&mut client, "SELECT v FROM d.dbo.t"),
        [[Value::Int(20)]]
    );
    server.stop();
}
