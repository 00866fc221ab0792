//! Many connections, and what they cost: memory when they idle, nothing when they are gone.
//!
//! `cargo test` opens a few; `cargo xtask connections` as many as asked for (`DURAMEN_CONNECTIONS`).

use std::time::{Duration, Instant};

use duramen_server::client::{Trust, connect};
use duramen_types::Value;

use crate::process::{Process, Scratch, ask, rows};

/// What an idle connection may keep resident: its session, its TLS state, no buffers.
const IDLE_BYTES_MAX: u64 = 96 << 10;
/// What a session that waits may take, where they are many: few of them have a thread.
const WAITING_BYTES_MAX: u64 = 64 << 10;
const MANY: u64 = 2000;
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

/// All wait for one row, in line for a worker or on a thread of their own; then its holder commits.
#[test]
fn waiting_sessions_cost_little_and_all_come_through() {
    let count = std::env::var("DURAMEN_CONNECTIONS")
        .ok()
        .and_then(|v| v.parse().ok());
    let count: u64 = count.unwrap_or(600);
    duramen_os::machine::raise_open_files();
    let scratch = Scratch::new("waiting");
    let server = Process::start(scratch.path(), &[]);
    let mut holder = server.connect();
    rows(&mut holder, "CREATE TABLE t (a int); INSERT t VALUES (0)");
    // Those with a transaction could release something: each gets a thread, however many there are.
    for (begin, wanted) in [
        ("", "UPDATE t SET a += 1"),
        ("BEGIN TRAN", "UPDATE t SET a += 1; COMMIT"),
    ] {
        rows(&mut holder, "UPDATE t SET a = 0");
        let before = server.resident_bytes();
        let connected = || connect(&server.options(Trust::NoEncryption));
        let mut clients: Vec<_> = (0..count)
            .map(|n| connected().unwrap_or_else(|e| panic!("connection {n}: {e}")))
            .collect();
        for client in clients.iter_mut().filter(|_| !begin.is_empty()) {
            rows(client, begin);
        }
        rows(&mut holder, "BEGIN TRAN; UPDATE t SET a += 1");
        for client in &mut clients {
            client.query(wanted).expect("sent");
        }
        std::thread::sleep(Duration::from_secs(1));
        let with = server.resident_bytes();
        let start = Instant::now();
        rows(&mut holder, "COMMIT");
        let committed = start.elapsed();
        for client in &mut clients {
            while client.next_event().expect("an answer").is_some() {}
        }
        let each = with.saturating_sub(before) / count;
        println!(
            "{count} sessions wait, {}: {} KB each; the COMMIT took {} ms, everybody {} ms",
            if begin.is_empty() {
                "in line"
            } else {
                "each in a transaction"
            },
            each >> 10,
            committed.as_millis(),
            start.elapsed().as_millis(),
        );
        assert_eq!(
            rows(&mut holder, "SELECT a FROM t"),
            [[Value::Int(count as i32 + 1)]]
        );
        if count >= MANY {
            assert!(
                each < WAITING_BYTES_MAX,
                "a waiting session takes {each} bytes"
            );
        }
    }
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
