//! What many clients keep at once, or one by many small things: prepared statements that nobody gives back, transactions that
//! stay open, replies that nobody reads, requests that stop half-way.

use std::time::Duration;

use duramen_server::client::{Stream, Trust, connect};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::request::Batch;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::{ServerMessage, Token};
use duramen_types::{SqlType, Value};

use super::attacks::LISTENERS;
use super::{LIMIT_MB, REFUSALS, TEMPDB, assert_bound, prepare, sampled, seconds};
use crate::process::{Process, Scratch, ask, rows};

/// One session has no more prepared statements than so many: a limit, told with this number.
const NOT_SUPPORTED: i32 = duramen_base::messages::NOT_SUPPORTED.number;

/// Follows whatever a login is refused for.
const LOGIN_FAILED: i32 = 18456;

/// So many in `cargo test`, so many in the long run.
fn many(short: usize, long: usize) -> usize {
    match seconds() > 20 {
        true => long,
        false => short,
    }
}

pub fn started(scratch: &Scratch) -> Process {
    duramen_os::machine::raise_open_files();
    let limit = format!("{LIMIT_MB}MB");
    let options = ["--max-memory", &limit, "--max-tempdb", TEMPDB];
    let server = Process::start(&scratch.path().join("data"), &options);
    prepare(&mut server.connect());
    server
}

fn is_refusal(e: &ServerMessage) -> bool {
    REFUSALS.contains(&e.number) && e.class < 20
}

/// As many sessions as there are to be, or as the server takes: `begin` is called with each, and all are kept.
fn run_clients(
    server: &Process,
    count: usize,
    mut begin: impl FnMut(&mut Client<Stream>, usize),
) -> Vec<Client<Stream>> {
    let mut all = Vec::new();
    for n in 0..count {
        match connect(&server.options(Trust::NoEncryption)) {
            Ok(mut client) => {
                begin(&mut client, n);
                all.push(client);
            }
            Err(ClientError::Login(errors)) => {
                let meant = |e: &ServerMessage| is_refusal(e) || e.number == LOGIN_FAILED;
                let refused = errors.first().is_some_and(is_refusal);
                assert!(
                    refused && errors.iter().all(meant),
                    "session {n}: {errors:?}"
                );
            }
            Err(e) => panic!("session {n}: {e}"),
        }
    }
    all
}

/// sp_prepare or sp_prepexec of a text; the errors.
fn prepare_text(client: &mut Client<Stream>, id: ProcId, sql: &str) -> Vec<ServerMessage> {
    let text = SqlType::NVARCHAR_MAX;
    let body = CallBuilder::new(client.headers())
        .procedure(id)
        .parameter("", true, &SqlType::INT, &Value::Null)
        .and_then(|c| c.parameter("", false, &text, &Value::Null))
        .and_then(|c| c.parameter("", false, &text, &Value::nvarchar(sql)))
        .expect("it can be sent")
        .finish();
    client.send(PacketType::Rpc, &body).expect("sent");
    let mut errors = Vec::new();
    while let Some(token) = client.next_event().expect("an answer") {
        if let Token::Error(e) = token {
            errors.push(e);
        }
    }
    errors
}

/// Two sessions prepare different statements and give none back. Their texts alone come to more than the limit.
#[test]
fn prepared_statements_are_bounded() {
    let scratch = Scratch::new("memory-prepared");
    let server = started(&scratch);
    let (count, bytes) = (many(1500, 40_000), many(120_000, 20_000));
    let ((prepared, refused), peak) = sampled(server.id(), || {
        std::thread::scope(|scope| {
            let sessions = [ProcId::Prepare, ProcId::PrepExec].map(|id| {
                let server = &server;
                scope.spawn(move || {
                    let mut client = server.connect();
                    let mut refused = 0;
                    for n in 0..count {
                        let pad = "p".repeat(bytes);
                        let sql = format!("SELECT {n} AS n{n} /* {pad} */");
                        let errors = prepare_text(&mut client, id, &sql);
                        // 8180 follows the reason why a statement could not be prepared.
                        let known = |e: &ServerMessage| {
                            is_refusal(e) || [8180, NOT_SUPPORTED].contains(&e.number)
                        };
                        assert!(errors.iter().all(known), "{n}: {errors:?}");
                        refused += usize::from(!errors.is_empty());
                    }
                    assert_eq!(rows(&mut client, "SELECT 1").len(), 1);
                    refused
                })
            });
            let refused = sessions.into_iter().map(|s| s.join().expect("a session"));
            (2 * count, refused.sum::<usize>())
        })
    });
    println!("{prepared} statements of {bytes} bytes, {refused} refused");
    assert!(refused > 0, "all of it found room");
    assert_bound(&server, LIMIT_MB, peak);
}

/// Each session has a transaction with rows and locks of its own, and leaves it open.
#[test]
fn open_transactions_are_bounded() {
    let scratch = Scratch::new("memory-transactions");
    let server = started(&scratch);
    let mut refused = 0;
    let (all, peak) = sampled(server.id(), || {
        let sql = "BEGIN TRAN; INSERT d.dbo.t SELECT TOP 200 id, 'o' FROM d.dbo.wide; SAVE TRAN s; \
             INSERT d.dbo.t VALUES (@@SPID, 'p')";
        let all = run_clients(&server, many(150, 4000), |client, n| {
            let answer = ask(client, sql).unwrap_or_else(|e| panic!("session {n}: {e}"));
            let errors = answer.errors;
            assert!(errors.iter().all(is_refusal), "session {n}: {errors:?}");
            refused += usize::from(!errors.is_empty());
        });
        all.len()
    });
    println!("{all} sessions with a transaction; {refused} were refused something");
    assert_bound(&server, LIMIT_MB, peak);
    // All are gone with their clients.
    let mut client = server.connect();
    let left = rows(&mut client, "SELECT COUNT(*) FROM d.dbo.t");
    assert_eq!(left, [[Value::Int(0)]]);
}

/// Asks for more than the server sends without being read.
pub fn ask_and_read_nothing(client: &mut Client<Stream>) -> Result<(), ClientError> {
    client.query("SELECT a.id, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b")
}

/// Clients ask for much and read nothing: what is not sent stays little, and others are answered.
#[test]
fn replies_that_nobody_reads_are_bounded() {
    let scratch = Scratch::new("memory-readers");
    let server = started(&scratch);
    let ask = |client: &mut Client<Stream>, _| ask_and_read_nothing(client).expect("sent");
    let (all, peak) = sampled(server.id(), || {
        let mut all = run_clients(&server, many(100, 450), ask);
        let mut other = server.connect();
        for _ in 0..many(10, 50) {
            assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM d.dbo.few").len(), 1);
            std::thread::sleep(Duration::from_millis(200));
        }
        // Each of them has a worker. When all 512 are taken, the others wait in line (THREADPOOL), as in SQL Server.
        all.extend(run_clients(&server, many(0, 550), ask));
        std::thread::sleep(Duration::from_secs(many(0, 5) as u64));
        all.len()
    });
    println!("{all} clients read nothing");
    assert_bound(&server, LIMIT_MB, peak);
}

/// Clients send half of a request that is large, and no more of it.
#[test]
fn requests_that_stop_half_way_are_bounded() {
    let scratch = Scratch::new("memory-halves");
    let server = started(&scratch);
    let (all, peak) = sampled(server.id(), || {
        let all = run_clients(&server, many(150, 1000), |client, _| {
            let sql = format!("SELECT LEN('{}')", "h".repeat(2 << 20));
            let body = Batch::build(&sql, client.headers());
            let size = client.packet_bytes();
            let packets = to_packets(PacketType::SqlBatch, &body, size, 0, 0);
            let half = &packets[..packets.len() / 2 / size * size];
            // A server that takes no more of it is right.
            let limit = Some(Duration::from_secs(1));
            client
                .stream()
                .socket()
                .set_write_timeout(limit)
                .expect("a time");
            let _ = client.send_raw(half);
        });
        let mut other = server.connect();
        for _ in 0..10 {
            assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM d.dbo.few").len(), 1);
            std::thread::sleep(Duration::from_millis(100));
        }
        all.len()
    });
    println!("{all} clients have sent half a request");
    assert_bound(&server, LIMIT_MB, peak);
}

/// Several sessions have events and audited statements kept: each asks for more than the limit.
#[test]
fn events_and_traces_are_bounded() {
    let scratch = Scratch::new("memory-listeners");
    let server = started(&scratch);
    for (name, sql) in LISTENERS {
        let (count, peak) = sampled(server.id(), || {
            std::thread::scope(|scope| {
                let sessions: Vec<_> = (0..4)
                    .map(|session| {
                        let server = &server;
                        scope.spawn(move || {
                            let mut client = server.connect();
                            let wait = Some(Duration::from_secs(300));
                            client
                                .stream()
                                .socket()
                                .set_read_timeout(wait)
                                .expect("a time");
                            for round in 0..many(1, 20) as u64 {
                                let answer = ask(&mut client, &sql(session * 1000 + round));
                                let errors =
                                    answer.unwrap_or_else(|e| panic!("{name}: {e}")).errors;
                                assert!(errors.iter().all(is_refusal), "{name}: {errors:?}");
                            }
                        })
                    })
                    .collect();
                let count = sessions.len();
                sessions
                    .into_iter()
                    .for_each(|s| s.join().expect("a session"));
                count
            })
        });
        println!("{name}, by {count} sessions");
        assert_bound(&server, LIMIT_MB, peak);
    }
}
