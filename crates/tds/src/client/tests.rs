//! Login, a query over two packets, and the two messages of a cancelled request, against a scripted stream.

use super::*;
use crate::packet::{PacketWriter, STATUS_IGNORE};
use crate::token::{Column, DoneKind, DoneToken, put_columns, put_done, put_login_ack, put_row};
use duramen_types::{SqlType, Value};
use std::collections::VecDeque;

struct Script {
    replies: VecDeque<u8>,
    sent: Vec<u8>,
}

impl Read for Script {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        // A few bytes at a time.
        let n = buf.len().min(7).min(self.replies.len());
        for slot in &mut buf[..n] {
            *slot = self.replies.pop_front().unwrap_or(0);
        }
        Ok(n)
    }
}

impl Write for Script {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn reply(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut writer = PacketWriter::new(PacketType::Reply, 512, 51);
    fill(writer.body());
    let mut out = Vec::new();
    writer.finish(&mut out);
    out
}

fn done(out: &mut Vec<u8>, status: u16) {
    let done = DoneToken {
        kind: DoneKind::Done,
        status,
        command: 0,
        rows: 0,
    };
    put_done(out, &done);
}

#[test]
fn login_query_cancel() {
    let columns = [Column {
        name: "a".into(),
        ty: SqlType::VARCHAR_MAX,
        flags: 1,
    }];
    let big = Value::VarChar(vec![b'x'; 2_000]);
    let mut script = Script {
        replies: VecDeque::new(),
        sent: Vec::new(),
    };
    script.replies.extend(reply(|out| {
        put_login_ack(out, crate::login::TDS_7_4, "P", [16, 0, 0, 1]);
        crate::token::put_env(
            out,
            &Env::PacketSize {
                new: "512".into(),
                old: "4096".into(),
            },
        );
        done(out, 0);
    }));
    script.replies.extend(reply(|out| {
        put_columns(out, &columns);
        put_row(out, [&SqlType::VARCHAR_MAX], std::slice::from_ref(&big)).unwrap();
        done(out, status::COUNT);
    }));
    script.replies.extend(reply(|out| done(out, status::ERROR)));
    script
        .replies
        .extend(reply(|out| done(out, status::ATTENTION)));
    script.replies.extend(reply(|out| done(out, 0)));

    let mut client = Client::login(script, &Login::default()).unwrap();
    assert_eq!((client.server_program(), client.packet_bytes()), ("P", 512));
    client.query("SELECT").unwrap();
    let mut events = Vec::new();
    while let Some(event) = client.next_event().unwrap() {
        events.push(event);
    }
    assert_eq!(events.len(), 3);
    assert_eq!(events[1], Token::Row(vec![big]));
    client.query("WAITFOR").unwrap();
    client.cancel().unwrap();
    // The connection is usable again.
    client.query("").unwrap();
    assert!(matches!(client.next_event(), Ok(Some(Token::Done(_)))));
    assert!(matches!(client.next_event(), Ok(None)));
    assert_eq!(client.stream().sent[1] & STATUS_IGNORE, 0);
}

#[test]
fn handshake_bytes_travel_in_packets_until_the_end() {
    let mut wire = to_packets(PacketType::Prelogin, b"hello", 512, 0, 0);
    wire.extend_from_slice(b"raw");
    let mut stream = HandshakeStream::new(Script {
        replies: wire.into(),
        sent: Vec::new(),
    });
    stream.write_all(b"cli").unwrap();
    stream.write_all(b"ent").unwrap();
    let mut buf = [0; 5];
    stream.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"hello");
    stream.finish().unwrap();
    let mut buf = [0; 3];
    stream.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"raw");
    stream.write_all(b"x").unwrap();
    let sent = &stream.get_ref().sent;
    assert_eq!(&sent[8..14], b"client");
    assert_eq!((sent[0], sent.len()), (0x12, 15));
}
