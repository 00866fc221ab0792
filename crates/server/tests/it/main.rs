//! The edge over a real socket, with a toy engine behind it: what a client sees must not depend on the engine.

#![allow(
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test is a script, read from the top, and fails where it stands"
)]

mod bulk;
mod faults;
mod replies;
mod tables;
mod toy;
mod waiting;
mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_os::time;
use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_server::{Server, ServerConfig, TlsSetup};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::prelogin::{Encryption, Prelogin};
use duramen_tds::request::AllHeaders;
use duramen_tds::token::{DoneToken, Token, status};
use duramen_types::Value;
use toy::Toy;

struct Fixture {
    server: Server,
    toy: Arc<Toy>,
}

fn start() -> Fixture {
    start_with(|_| {})
}

fn start_with(change: impl FnOnce(&mut ServerConfig)) -> Fixture {
    let toy = Arc::new(Toy::default());
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let mut config = ServerConfig::new(any);
    config.tls = Some(tls());
    config.max_message_bytes = 1 << 20;
    change(&mut config);
    let server = Server::start(toy.clone(), config).unwrap();
    Fixture { server, toy }
}

fn tls() -> TlsSetup {
    let simulated = duramen_os::Env::real();
    let dir = std::env::temp_dir().join(format!(
        "duramen-server-{}-{:x}",
        std::process::id(),
        duramen_os::random::next_u64()
    ));
    simulated.disk.create_dir_all(&dir).unwrap();
    let made = TlsSetup::load_or_create(&simulated, &dir).unwrap();
    // A second start uses the same certificate.
    let again = TlsSetup::load_or_create(&simulated, &dir).unwrap();
    assert_eq!(made.certificate_path, again.certificate_path);
    for file in simulated.disk.list(&dir).unwrap() {
        simulated.disk.remove(&file).unwrap();
    }
    #[allow(clippy::disallowed_methods)] // The real directory of a real disk.
    std::fs::remove_dir(&dir).unwrap();
    made
}

impl Fixture {
    fn options(&self, trust: Trust) -> ConnectOptions {
        ConnectOptions {
            host: "127.0.0.1".into(),
            port: self.server.address().port(),
            user: "sa".into(),
            password: "right".into(),
            trust,
            read_timeout: Some(Duration::from_secs(10)),
            ..ConnectOptions::default()
        }
    }

    fn connect(&self) -> Client<Stream> {
        connect(&self.options(Trust::NoEncryption)).unwrap()
    }

    fn raw(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }
}

fn events(client: &mut Client<Stream>) -> Vec<Token> {
    let mut events = Vec::new();
    while let Some(event) = client.next_event().unwrap() {
        events.push(event);
    }
    events
}

fn run(client: &mut Client<Stream>, sql: &str) -> Vec<Token> {
    client.query(sql).unwrap();
    events(client)
}

fn dones(events: &[Token]) -> Vec<DoneToken> {
    events
        .iter()
        .filter_map(|event| match event {
            Token::Done(done) => Some(*done),
            _ => None,
        })
        .collect()
}

#[test]
fn encrypted_and_clear_connections_answer_alike() {
    let fixture = start();
    for trust in [Trust::Any, Trust::NoEncryption] {
        let mut client = connect(&fixture.options(trust)).unwrap();
        let answer = run(&mut client, "rows 3");
        assert_eq!(answer.len(), 5);
        assert_eq!(answer[3], Token::Row(vec![Value::Int(2), Value::Null]));
        let last = dones(&answer)[0];
        assert_eq!((last.count(), last.has_more()), (Some(3), false));
    }
    fixture.server.stop();
}

#[test]
fn a_strict_client_starts_with_tls() {
    let fixture = start_with(|config| config.force_encryption = true);
    let mut options = fixture.options(Trust::Any);
    options.strict = true;
    let mut client = connect(&options).unwrap();
    assert_eq!(run(&mut client, "rows 3").len(), 5);
    // Forced encryption refuses a client in clear, and takes one that agrees to it.
    assert!(connect(&fixture.options(Trust::NoEncryption)).is_err());
    assert!(connect(&fixture.options(Trust::Any)).is_ok());
    // The certificate is judged when the client wants it judged.
    options.trust = Trust::Pem(b"".to_vec());
    assert!(connect(&options).is_err());
    fixture.server.stop();
}

#[test]
fn only_the_last_done_lacks_more() {
    let fixture = start();
    let mut client = fixture.connect();
    let all = dones(&run(&mut client, "rows 1; rows 2; rows 0"));
    let more: Vec<bool> = all.iter().map(|done| done.has_more()).collect();
    assert_eq!(more, [true, true, false]);
    // An error without a statement's end, and a batch without anything.
    let all = dones(&run(&mut client, "error 15"));
    assert_eq!((all.len(), all[0].is_error()), (1, true));
    let all = dones(&run(&mut client, ""));
    assert_eq!((all.len(), all[0].status), (1, 0));
    fixture.server.stop();
}

#[test]
fn a_large_result_reaches_a_slow_reader_whole() {
    let fixture = start();
    let mut client = connect(&fixture.options(Trust::Any)).unwrap();
    client.query("rows 200000").unwrap();
    duramen_os::thread::sleep(Duration::from_millis(100));
    let rows = events(&mut client)
        .iter()
        .filter(|event| matches!(event, Token::Row(_)))
        .count();
    assert_eq!(rows, 200_000);
    fixture.server.stop();
}

#[test]
fn a_wrong_password_is_told_before_the_end() {
    let fixture = start();
    for trust in [Trust::Any, Trust::NoEncryption] {
        let mut options = fixture.options(trust);
        options.password = "wrong".into();
        match connect(&options) {
            Err(ClientError::Login(messages)) => assert_eq!(messages[0].number, 18456),
            other => panic!("{:?}", other.err()),
        }
    }
    fixture.server.stop();
}

#[test]
fn wrong_passwords_are_slowed_down_and_right_ones_of_others_are_not() {
    let fixture = start();
    let attempt = |user: &str, password: &str| {
        let mut options = fixture.options(Trust::NoEncryption);
        (options.user, options.password) = (user.into(), password.into());
        let began = time::now();
        let reported = connect(&options).err();
        (began.elapsed(), reported.is_none())
    };
    let took: Vec<Duration> = (0..6).map(|_| attempt("sa", "wrong").0).collect();
    // 100, 200 and 400 ms after the third one.
    assert!(took[4] + took[5] >= Duration::from_millis(300), "{took:?}");
    let (other, in_time) = attempt("other", "right");
    assert!(
        in_time && other < took[5] + Duration::from_secs(2),
        "{other:?}"
    );
    // The right password has its turn, too, and ends it.
    assert!(attempt("sa", "right").1);
    let (again, in_time) = attempt("sa", "right");
    assert!(in_time && again < Duration::from_secs(5), "{again:?}");
    fixture.server.stop();
}

#[test]
fn login_only_encryption_as_older_drivers_want_it() {
    let fixture = start();
    let mut stream = fixture.raw();
    let answer = duramen_tds::client::prelogin(&mut stream, Encryption::Off).unwrap();
    assert_eq!(answer, Encryption::Off);
    fixture.server.stop();
}

#[test]
fn an_attention_gets_two_messages_and_the_connection_lives() {
    let fixture = start();
    let mut client = fixture.connect();
    client.query("wait").unwrap();
    fixture.toy.wait_until_running();
    client.cancel().unwrap();
    assert_eq!(run(&mut client, "rows 1").len(), 3);
    // Nothing runs: one message, the acknowledgement.
    client.send(PacketType::Attention, &[]).unwrap();
    let all = dones(&events(&mut client));
    assert_eq!((all.len(), all[0].status), (1, status::ATTENTION));
    fixture.server.stop();
}

#[test]
fn held_packets_leave_in_order_when_released() {
    let fixture = start();
    let mut client = fixture.connect();
    fixture.toy.hold.store(true, Ordering::SeqCst);
    client.query("rows 2000").unwrap();
    duramen_os::thread::sleep(Duration::from_millis(50));
    assert!(fixture.toy.held() > 3);
    fixture.toy.release();
    let rows: Vec<Value> = events(&mut client)
        .into_iter()
        .filter_map(|event| match event {
            Token::Row(mut row) => Some(row.swap_remove(0)),
            _ => None,
        })
        .collect();
    let expected: Vec<Value> = (0..2000).map(Value::Int).collect();
    assert_eq!(rows, expected);

    // A packet that can never leave ends its connection, and only that.
    let mut other = fixture.connect();
    fixture.toy.hold.store(true, Ordering::SeqCst);
    client.query("rows 1").unwrap();
    duramen_os::thread::sleep(Duration::from_millis(50));
    fixture.toy.poison();
    let reported = events(&mut client);
    let Token::Error(error) = &reported[0] else {
        panic!("{reported:?}");
    };
    assert_eq!((error.number, error.class), (9001, 21));
    assert!(error.text.contains("'toys'"), "{}", error.text);
    assert!(client.query("rows 1").is_err() || client.next_event().is_err());
    assert_eq!(run(&mut other, "rows 1").len(), 3);
    fixture.server.stop();
}

#[test]
fn prepared_statements_by_handle() {
    use duramen_tds::bytes::{put_b_varchar, put_u16};
    use duramen_tds::typeinfo::{Place, put_type_info};
    use duramen_tds::value::put_value;
    use duramen_types::SqlType;

    let fixture = start();
    let mut client = fixture.connect();
    let mut call = |id: u16, parameters: &[(u8, SqlType, Value)]| {
        let mut body = Vec::new();
        AllHeaders::default().put(&mut body);
        put_u16(&mut body, 0xFFFF);
        put_u16(&mut body, id);
        put_u16(&mut body, 0);
        for (flags, ty, value) in parameters {
            put_b_varchar(&mut body, "");
            body.push(*flags);
            put_type_info(&mut body, ty);
            put_value(&mut body, ty, value, Place::Parameter).unwrap();
        }
        client.send(PacketType::Rpc, &body).unwrap();
        events(&mut client)
    };
    let text = SqlType::nvarchar(100);
    let answer = call(
        13,
        &[
            (1, SqlType::INT, Value::Null),
            (0, text, Value::nvarchar("@p int")),
            (0, text, Value::nvarchar("rows 1")),
            (0, SqlType::INT, Value::Int(7)),
        ],
    );
    let handle = answer
        .iter()
        .find_map(|event| match event {
            Token::ReturnValue { value, .. } => Some(value.clone()),
            _ => None,
        })
        .unwrap();
    assert!(matches!(answer.last(), Some(Token::Done(done)) if !done.has_more()));
    let answer = call(
        12,
        &[
            (0, SqlType::INT, handle.clone()),
            (0, SqlType::INT, Value::Int(8)),
        ],
    );
    assert!(answer.iter().any(|event| matches!(event, Token::Row(_))));
    call(15, &[(0, SqlType::INT, handle.clone())]);
    let answer = call(12, &[(0, SqlType::INT, handle)]);
    assert!(matches!(&answer[0], Token::Error(error) if error.number == 8179));
    // Server cursors are refused by name, and the connection lives.
    let answer = call(2, &[]);
    assert!(matches!(&answer[0], Token::Error(error) if error.text.contains("sp_cursoropen")));
    fixture.server.stop();
}

#[test]
fn clients_of_before_login7_hear_why_they_are_refused() {
    let fixture = start();
    let mut stream = fixture.raw();
    let login = to_packets(PacketType::OldLogin, &[0; 500], 512, 0, 0);
    stream.write_all(&login).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    assert_eq!((said[0], said[8]), (0x04, 0xAA));
    let text = String::from_utf8_lossy(&said);
    assert!(text.contains("TDS before version 7.1"), "{text}");
    fixture.server.stop();
}

#[test]
fn hostile_beginnings_end_the_connection() {
    let fixture = start();
    let good = to_packets(
        PacketType::Prelogin,
        &Prelogin::request([0; 6], Encryption::NotSupported),
        4096,
        0,
        0,
    );
    let mut oversized = good.clone();
    oversized.extend_from_slice(&[0x10, 0, 0xFF, 0xFF, 0, 0, 1, 0]);
    let mut half_login = good.clone();
    half_login.extend_from_slice(&to_packets(PacketType::Login7, &[94, 0, 0, 0], 4096, 0, 0));
    let mut batch_first = good.clone();
    batch_first.extend_from_slice(&to_packets(PacketType::SqlBatch, &[4, 0, 0, 0], 4096, 0, 0));
    let mut endless_login = good.clone();
    for _ in 0..100 {
        endless_login.extend_from_slice(&[0x10, 0, 0x10, 0, 0, 0, 1, 0]);
        endless_login.resize(endless_login.len() + 4088, 0);
    }
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0x53; 16],
        vec![0x16; 64],
        oversized,
        half_login,
        batch_first,
        endless_login,
    ] {
        let mut stream = fixture.raw();
        let _ = stream.write_all(&bytes);
        let mut rest = Vec::new();
        // The end comes from the server, cleanly or as a reset.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
    }
    // The server is still there.
    assert_eq!(run(&mut fixture.connect(), "rows 1").len(), 3);
    fixture.server.stop();
}

#[test]
fn many_idle_connections_and_their_sessions_end() {
    let fixture = start();
    let mut clients: Vec<Client<Stream>> = (0..200).map(|_| fixture.connect()).collect();
    assert_eq!(fixture.server.connections(), 200);
    assert_eq!(run(&mut clients[150], "rows 1").len(), 3);
    assert_eq!(fixture.toy.sessions.load(Ordering::SeqCst), 200);
    drop(clients);
    for _ in 0..500 {
        if fixture.toy.sessions.load(Ordering::SeqCst) == 0 {
            break;
        }
        duramen_os::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fixture.toy.sessions.load(Ordering::SeqCst), 0);
    fixture.server.stop();
}

#[test]
fn a_shutdown_cancels_what_runs() {
    let fixture = start();
    let mut client = fixture.connect();
    client.query("wait").unwrap();
    fixture.toy.wait_until_running();
    fixture.server.stop();
    assert_eq!(fixture.toy.sessions.load(Ordering::SeqCst), 0);
}
