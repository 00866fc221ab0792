//! Clients that are slow, vanish, send too much, or change their mind at any moment.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_os::random::Rng;
use duramen_os::{thread, time};
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::prelogin::{Encryption, Prelogin};
use duramen_tds::request::{AllHeaders, Batch};
use duramen_tds::token::{Token, TokenReader, status};

use crate::{Fixture, dones, events, run, start, start_with};

const STATUS_EOM: u8 = 1;

fn batch(sql: &str) -> Vec<u8> {
    let body = Batch::build(sql, AllHeaders::default());
    to_packets(PacketType::SqlBatch, &body, 4096, 0, 0)
}

fn attention() -> Vec<u8> {
    to_packets(PacketType::Attention, &[], 4096, 0, 0)
}

/// A logged-in connection as a bare socket. The login's client stays alive with it.
fn logged_in(fixture: &Fixture) -> TcpStream {
    let client = fixture.connect();
    let socket = client.stream().socket().try_clone().unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    std::mem::forget(client);
    socket
}

/// One message of the server, as tokens.
fn message(socket: &mut TcpStream, tokens: &mut TokenReader) -> Vec<Token> {
    let mut body = Vec::new();
    loop {
        let mut head = [0; 8];
        socket.read_exact(&mut head).unwrap();
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut payload = vec![0; length - 8];
        socket.read_exact(&mut payload).unwrap();
        body.extend_from_slice(&payload);
        if head[1] & STATUS_EOM != 0 {
            break;
        }
    }
    let (mut out, mut at) = (Vec::new(), 0);
    while at < body.len() {
        let (token, taken) = tokens.next(&body[at..]).unwrap().expect("a whole token");
        out.push(token);
        at += taken;
    }
    out
}

/// Waits for the server to end the connection; what it said before.
fn until_the_end(socket: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    if let Err(error) = socket.read_to_end(&mut rest) {
        assert_ne!(
            error.kind(),
            ErrorKind::WouldBlock,
            "the server does not hang up"
        );
    }
    rest
}

fn wait_for_no_session(fixture: &Fixture) {
    for _ in 0..1000 {
        if fixture.toy.sessions.load(Ordering::SeqCst) == 0 && fixture.server.connections() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("a session has no client and does not end");
}

#[test]
fn a_login_that_takes_too_long_is_hung_up_on() {
    let limit = Duration::from_millis(400);
    let fixture = start_with(|config| config.login_timeout = limit);
    let prelogin = Prelogin::request([0; 6], Encryption::NotSupported);
    let prelogin = to_packets(PacketType::Prelogin, &prelogin, 4096, 0, 0);
    let mut half_login = prelogin.clone();
    half_login.extend_from_slice(&to_packets(PacketType::Login7, &[0; 600], 4096, 0, 0)[..300]);
    for beginning in [&[][..], &prelogin[..10], &prelogin, &half_login] {
        let before = time::now();
        let mut socket = fixture.raw();
        socket.write_all(beginning).unwrap();
        until_the_end(&mut socket);
        let took = before.elapsed();
        assert!(
            took >= limit / 2 && took < limit * 20,
            "{} bytes: {took:?}",
            beginning.len()
        );
    }
    // Bytes that trickle in do not buy time.
    let mut socket = fixture.raw();
    let before = time::now();
    for byte in half_login {
        if socket.write_all(&[byte]).is_err() || before.elapsed() > limit * 20 {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(
        before.elapsed() < limit * 20,
        "a slow login goes on for ever"
    );
    // Whoever is logged in stays.
    let mut client = fixture.connect();
    thread::sleep(limit * 2);
    assert_eq!(run(&mut client, "rows 1").len(), 3);
    fixture.server.stop();
}

#[test]
fn a_message_beyond_the_limit_is_answered_and_the_connection_lives() {
    let fixture = start();
    let mut client = fixture.connect();
    for kind in [PacketType::SqlBatch, PacketType::Rpc] {
        // The limit of a message is 1 MB here; all of it is sent before anybody listens for the answer.
        client.send(kind, &vec![0; 20 << 20]).unwrap();
        let reported = events(&mut client);
        let Some(Token::Error(error)) = reported.first() else {
            panic!("{reported:?}");
        };
        assert_eq!((error.number, error.class), (701, 17));
        assert_eq!(dones(&reported).len(), 1);
        assert_eq!(dones(&run(&mut client, "rows 3"))[0].rows, 3);
    }
    fixture.server.stop();
}

#[test]
fn what_is_no_message_is_told_and_ends_the_connection() {
    let fixture = start();
    for bad in [
        // A packet larger than agreed.
        vec![1, 1, 0x7F, 0xFF, 0, 0, 1, 0],
        // No request at all.
        to_packets(PacketType::Login7, &[0; 20], 4096, 0, 0),
        // A packet of another kind in the middle of a message.
        [
            vec![1, 0, 0, 9, 0, 0, 1, 0, 7],
            vec![3, 1, 0, 9, 0, 0, 2, 0, 7],
        ]
        .concat(),
    ] {
        let mut socket = logged_in(&fixture);
        // The server may have hung up before everything is sent.
        let _ = socket.write_all(&bad);
        let reported = until_the_end(&mut socket);
        // With data of ours still under way, the reset that follows may take the farewell with it.
        if !reported.is_empty() {
            let mut tokens = TokenReader::new();
            let (token, _) = tokens.next(&reported[8..]).unwrap().expect("an error");
            let Token::Error(error) = token else {
                panic!("{token:?}");
            };
            assert_eq!((error.number, error.class), (4002, 20));
        }
    }
    wait_for_no_session(&fixture);
    fixture.server.stop();
}

#[test]
fn a_client_that_vanishes_takes_its_session_along() {
    let fixture = start();
    // Half a request; half a packet of it.
    for bytes in [
        &batch("rows 1")[..20],
        &[1, 0, 0, 12, 0, 0, 1, 0, 1, 2, 3, 4][..],
    ] {
        let mut socket = logged_in(&fixture);
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Both).unwrap();
    }
    // A result that nobody reads: the worker waits for room, and goes on when the client is gone.
    let mut socket = logged_in(&fixture);
    socket.write_all(&batch("rows 3000000")).unwrap();
    let mut some = [0; 10_000];
    socket.read_exact(&mut some).unwrap();
    thread::sleep(Duration::from_millis(100));
    socket.shutdown(Shutdown::Both).unwrap();
    // A request that runs.
    let mut socket = logged_in(&fixture);
    socket.write_all(&batch("wait")).unwrap();
    fixture.toy.wait_until_running();
    socket.shutdown(Shutdown::Both).unwrap();
    // And one that is held by the gate.
    fixture.toy.hold.store(true, Ordering::SeqCst);
    let mut socket = logged_in(&fixture);
    socket.write_all(&batch("rows 10")).unwrap();
    thread::sleep(Duration::from_millis(50));
    socket.shutdown(Shutdown::Both).unwrap();
    wait_for_no_session(&fixture);
    assert_eq!(fixture.toy.held(), 0, "the gate has forgotten the packets");
    fixture.server.stop();
}

/// Every request gets one message, every attention one of its own behind it, whenever it comes.
#[test]
fn an_attention_may_come_at_any_moment() {
    let fixture = start();
    let mut socket = logged_in(&fixture);
    let mut tokens = TokenReader::new();
    let mut rng = Rng::new(3);
    let is_ack = |message: &[Token]| match message {
        [Token::Done(done)] => done.status == status::ATTENTION,
        _ => false,
    };
    for round in 0..400 {
        let request = match rng.below(4) {
            0 => "wait".to_owned(),
            1 => String::new(),
            _ => format!("rows {}", rng.below(2000)),
        };
        let attentions = 1 + usize::from(rng.one_in(10));
        let mut bytes = batch(&request);
        let together = rng.one_in(3) && request != "wait";
        if together {
            bytes.extend_from_slice(&attention().repeat(attentions));
        }
        socket.write_all(&bytes).unwrap();
        if !together {
            let pause = Duration::from_micros(rng.below(1500));
            thread::sleep(pause);
            socket.write_all(&attention().repeat(attentions)).unwrap();
        }
        let reply = message(&mut socket, &mut tokens);
        assert!(
            !is_ack(&reply),
            "round {round}, {request}: the acknowledgement came first"
        );
        let finals: Vec<bool> = dones(&reply).iter().map(|done| done.has_more()).collect();
        assert_eq!(finals.last(), Some(&false), "round {round}, {request}");
        for _ in 0..attentions {
            let ack = message(&mut socket, &mut tokens);
            assert!(is_ack(&ack), "round {round}, {request}: {ack:?}");
        }
    }
    // Into a request that is still being sent: that one is given up, and has no reply.
    socket
        .write_all(&[1, 0, 0, 12, 0, 0, 1, 0, 1, 2, 3, 4])
        .unwrap();
    socket.write_all(&attention()).unwrap();
    assert!(is_ack(&message(&mut socket, &mut tokens)));
    // With the ignore bit the client says so itself, and gets an answer.
    let body = Batch::build("rows 5", AllHeaders::default());
    let mut ignored = to_packets(PacketType::SqlBatch, &body, 4096, 0, 0);
    ignored[1] |= 2;
    socket.write_all(&ignored).unwrap();
    assert_eq!(message(&mut socket, &mut tokens).len(), 1);
    socket.write_all(&batch("rows 2")).unwrap();
    assert_eq!(message(&mut socket, &mut tokens).len(), 4);
    fixture.server.stop();
}

/// A reply of many small packets under a client that reads in small pieces.
#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let fixture = start();
    let mut client = fixture.connect();
    client.query("rows 20000").unwrap();
    thread::sleep(Duration::from_millis(200));
    let rows = events(&mut client);
    assert_eq!(rows.len(), 20_002);
    fixture.server.stop();
}

/// A reply that the log holds back stays small in memory, and arrives whole.
#[test]
fn the_gate_holds_no_more_than_a_bound_of_a_reply() {
    let fixture = start();
    let mut client = fixture.connect();
    fixture.toy.hold.store(true, Ordering::SeqCst);
    client.query("rows 600000").unwrap();
    let mut last = 0;
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(50));
        let held = fixture.toy.held();
        if held > 0 && held == last {
            break;
        }
        last = held;
    }
    assert!(last > 0 && last * 4096 < 2 << 20, "{last} packets are held");
    fixture.toy.release();
    assert_eq!(events(&mut client).len(), 600_002);
    // A client that gives up while the gate holds its reply.
    fixture.toy.hold.store(true, Ordering::SeqCst);
    client.query("rows 600000").unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(client);
    wait_for_no_session(&fixture);
    fixture.server.stop();
}

/// Its session may have ended too, and every worker be busy: the connection stays open until its last words are said.
#[test]
fn a_lost_connection_waits_for_a_worker_to_say_so() {
    let fixture = start_with(|config| config.max_workers = 1);
    let (mut lost, mut other) = (logged_in(&fixture), logged_in(&fixture));
    fixture.toy.hold.store(true, Ordering::SeqCst);
    lost.write_all(&batch("rows 1")).unwrap();
    while fixture.toy.held() == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    lost.write_all(&batch("wait; error 20")).unwrap();
    fixture.toy.wait_until_running();
    // The only worker takes this next.
    other.write_all(&batch("sleep 200")).unwrap();
    thread::sleep(Duration::from_millis(50));
    fixture.toy.poison();
    let reported = message(&mut lost, &mut TokenReader::default());
    let is_9001 = |token: &Token| matches!(token, Token::Error(error) if error.number == 9001);
    assert!(reported.iter().any(is_9001), "{reported:?}");
    assert!(until_the_end(&mut lost).is_empty());
    fixture.server.stop();
}

/// Requests that last take no worker from others, and with every worker in one an attention still arrives.
#[test]
fn long_requests_keep_neither_others_nor_attentions_waiting() {
    for (max_workers, long) in [(512, 20), (2, 2)] {
        let fixture = start_with(|config| config.max_workers = max_workers);
        let mut busy: Vec<TcpStream> = (0..long).map(|_| logged_in(&fixture)).collect();
        for socket in &mut busy {
            socket.write_all(&batch("wait")).unwrap();
        }
        fixture.toy.wait_until_running();
        if max_workers > long {
            let mut other = logged_in(&fixture);
            other.write_all(&batch("rows 1")).unwrap();
            assert_eq!(message(&mut other, &mut TokenReader::new()).len(), 3);
        }
        for socket in &mut busy {
            let mut tokens = TokenReader::new();
            socket.write_all(&attention()).unwrap();
            message(socket, &mut tokens);
            let ack = message(socket, &mut tokens);
            assert!(matches!(&ack[..], [Token::Done(done)] if done.status == status::ATTENTION));
        }
        fixture.server.stop();
    }
}

/// With 64 clients that always ask, each is answered about as often as any other.
#[test]
fn busy_clients_are_served_in_turn() {
    const CLIENTS: usize = 64;
    const REQUESTS: usize = 4000;
    let fixture = start();
    let mut clients: Vec<(TcpStream, TokenReader)> = (0..CLIENTS)
        .map(|_| (logged_in(&fixture), TokenReader::new()))
        .collect();
    for (socket, _) in &mut clients {
        socket.write_all(&batch("rows 1")).unwrap();
    }
    // Whoever has an answer asks again at once; the others are left where they are.
    let mut counts = [0usize; CLIENTS];
    while counts.iter().sum::<usize>() < REQUESTS {
        for (at, (socket, tokens)) in clients.iter_mut().enumerate() {
            socket.set_nonblocking(true).unwrap();
            let there = socket.peek(&mut [0; 1]).is_ok();
            socket.set_nonblocking(false).unwrap();
            if there {
                message(socket, tokens);
                socket.write_all(&batch("rows 1")).unwrap();
                counts[at] += 1;
            }
        }
    }
    let (fewest, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*most <= 2 * *fewest, "{counts:?}");
    fixture.server.stop();
}
