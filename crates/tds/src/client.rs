//! The client side over any blocking `Read + Write`: login, queries, events.
//!
//! TLS is not here. [`Prelogin`](crate::prelogin::Prelogin) is exchanged and the stream is made secure by the caller
//! (the server crate does it for the command-line client); [`Client::login`] starts where LOGIN7 is due.

use std::fmt;
use std::io::{self, Read, Write};

use crate::bytes::TdsError;
use crate::dialect::Dialect;
use crate::login::Login;
use crate::packet::{
    Assembler, DEFAULT_PACKET_BYTES, HEADER_BYTES, Header, MAX_PACKET_BYTES, PacketType,
    STATUS_EOM, to_packets,
};
use crate::prelogin::{Encryption, Prelogin};
use crate::request::{AllHeaders, Batch};
use crate::token::{Env, ServerMessage, Token, TokenReader, status};

/// Of what a request that was given up has said.
const ERRORS_KEPT: usize = 16;

/// Why a client could not go on. After anything but `Login` or `Tds(TooLarge)` the connection is unusable.
#[derive(Debug)]
pub enum ClientError {
    Io(io::Error),
    Tds(TdsError),
    /// The server refused the login; the messages say why.
    Login(Vec<ServerMessage>),
    /// The two sides do not agree on encryption.
    Encryption(&'static str),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Io(error) => write!(f, "{error}"),
            ClientError::Tds(error) => write!(f, "{error}"),
            ClientError::Login(messages) => match messages.last() {
                Some(message) => write!(f, "Msg {}: {}", message.number, message.text),
                None => f.write_str("login refused"),
            },
            ClientError::Encryption(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Io(error)
    }
}

impl From<TdsError> for ClientError {
    fn from(error: TdsError) -> ClientError {
        ClientError::Tds(error)
    }
}

/// Sends PRELOGIN and gives the server's answer to the encryption byte.
pub fn prelogin<S: Read + Write>(
    stream: &mut S,
    encryption: Encryption,
) -> Result<Encryption, ClientError> {
    let body = Prelogin::request([0, 1, 0, 0, 0, 0], encryption);
    stream.write_all(&to_packets(
        PacketType::Prelogin,
        &body,
        DEFAULT_PACKET_BYTES,
        0,
        0,
    ))?;
    stream.flush()?;
    let mut body = Vec::new();
    loop {
        let (header, payload) = read_packet(stream)?;
        if header.kind != PacketType::Reply {
            return Err(TdsError::Malformed("reply to PRELOGIN").into());
        }
        body.extend_from_slice(&payload);
        if body.len() > DEFAULT_PACKET_BYTES {
            return Err(TdsError::TooLarge("reply to PRELOGIN").into());
        }
        if header.status & STATUS_EOM != 0 {
            break;
        }
    }
    Ok(Prelogin::parse(&body)?.encryption)
}

fn read_packet<S: Read>(stream: &mut S) -> Result<(Header, Vec<u8>), ClientError> {
    let mut head = [0; HEADER_BYTES];
    stream.read_exact(&mut head)?;
    let header = Header::parse(&head)?;
    let mut payload = vec![0; header.length as usize - HEADER_BYTES];
    stream.read_exact(&mut payload)?;
    Ok((header, payload))
}

/// Carries TLS handshake bytes in PRELOGIN packets until [`HandshakeStream::finish`], then passes bytes through.
///
/// Written bytes are gathered and leave as one flight, in one message, at `flush` or before the next read.
#[derive(Debug)]
pub struct HandshakeStream<S> {
    inner: S,
    packets: Option<Assembler>,
    inbound: Vec<u8>,
    used: usize,
    outbound: Vec<u8>,
}

impl<S: Read + Write> HandshakeStream<S> {
    pub fn new(inner: S) -> HandshakeStream<S> {
        HandshakeStream {
            inner,
            packets: Some(Assembler::new(MAX_PACKET_BYTES, 256 * 1024)),
            inbound: Vec::new(),
            used: 0,
            outbound: Vec::new(),
        }
    }

    /// The handshake is over: from here on the stream is raw.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(mut packets) = self.packets.take() {
            self.inbound.extend(packets.take_unread());
        }
        Ok(())
    }

    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: Read + Write> Read for HandshakeStream<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.flush()?;
        while self.used == self.inbound.len() {
            self.inbound.clear();
            self.used = 0;
            let Some(packets) = &mut self.packets else {
                return self.inner.read(buf);
            };
            let mut chunk = [0; 4096];
            match packets.next_packet().map_err(io::Error::other)? {
                Some((_, body)) => self.inbound = body,
                None => {
                    let n = self.inner.read(&mut chunk)?;
                    if n == 0 {
                        return Ok(0);
                    }
                    packets.push(&chunk[..n]);
                }
            }
        }
        let n = buf.len().min(self.inbound.len() - self.used);
        buf[..n].copy_from_slice(&self.inbound[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}

impl<S: Read + Write> Write for HandshakeStream<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.packets.is_some() {
            self.outbound.extend_from_slice(buf);
            return Ok(buf.len());
        }
        self.inner.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.outbound.is_empty() {
            let body = std::mem::take(&mut self.outbound);
            self.inner.write_all(&to_packets(
                PacketType::Prelogin,
                &body,
                DEFAULT_PACKET_BYTES,
                0,
                0,
            ))?;
        }
        self.inner.flush()
    }
}

/// What a query gives, in order.
pub type Event = Token;

/// A connection after login. One request at a time; read events until `None` before the next request.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    packet_bytes: usize,
    transaction: u64,
    database: String,
    server_program: String,
    tokens: TokenReader,
    dialect: Dialect,
    /// The part of a packet that has come: a read that timed out can be tried again.
    partial: Vec<u8>,
    /// Token bytes not yet consumed: `buffer[used..]`.
    buffer: Vec<u8>,
    used: usize,
    /// Do not try again to read a token before so many bytes are there.
    retry_at: usize,
    /// The last packet of the reply has arrived.
    complete: bool,
}

/// A token that fails to parse at this size is tried again only when the bytes have grown by half.
const LARGE_TOKEN_BYTES: usize = 64 * 1024;

impl<S: Read + Write> Client<S> {
    /// Sends LOGIN7 over a stream on which encryption is settled, and reads the answer. The messages that came with
    /// a successful login (database and language changed) are dropped.
    pub fn login(stream: S, login: &Login) -> Result<Client<S>, ClientError> {
        let dialect = Dialect::of_login(login.tds_version).unwrap_or_default();
        let mut client = Client {
            stream,
            packet_bytes: DEFAULT_PACKET_BYTES,
            transaction: 0,
            database: String::new(),
            server_program: String::new(),
            tokens: TokenReader::speaking(dialect),
            dialect,
            partial: Vec::new(),
            buffer: Vec::new(),
            used: 0,
            retry_at: 0,
            complete: true,
        };
        client.send(PacketType::Login7, &login.build())?;
        let mut errors = Vec::new();
        let mut acknowledged = false;
        loop {
            match client.next_event() {
                Ok(Some(Token::Error(message))) => errors.push(message),
                Ok(Some(Token::LoginAck { program, .. })) => {
                    acknowledged = true;
                    client.server_program = program;
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // A server may hang up after it said why.
                Err(ClientError::Io(_)) if !errors.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        if acknowledged && errors.is_empty() {
            Ok(client)
        } else {
            Err(ClientError::Login(errors))
        }
    }

    /// Sends a batch. Then call [`Client::next_event`] until it gives `None`.
    pub fn query(&mut self, sql: &str) -> Result<(), ClientError> {
        let mut body = Batch::build(sql, self.headers());
        if !self.dialect.has_headers() {
            body.clear();
            crate::bytes::put_utf16(&mut body, sql);
        }
        self.send(PacketType::SqlBatch, &body)
    }

    /// The headers that the next request begins with.
    pub fn headers(&self) -> AllHeaders {
        AllHeaders {
            transaction: self.transaction,
            outstanding_requests: 1,
        }
    }

    /// Sends any request message; the body includes its headers.
    pub fn send(&mut self, kind: PacketType, body: &[u8]) -> Result<(), ClientError> {
        let bytes = to_packets(kind, body, self.packet_bytes, 0, 0);
        self.send_raw(&bytes)
    }

    /// Sends packets as they are; a reply is due.
    pub fn send_raw(&mut self, packets: &[u8]) -> Result<(), ClientError> {
        self.stream.write_all(packets)?;
        self.stream.flush()?;
        self.complete = false;
        self.buffer.clear();
        self.used = 0;
        self.retry_at = 0;
        Ok(())
    }

    /// The next event of the running request; `None` at its end. After a read that timed out it may be called again.
    pub fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            let pending = self.buffer.len() - self.used;
            if pending > 0 && (pending >= self.retry_at || self.complete) {
                match self.tokens.next(&self.buffer[self.used..])? {
                    Some((token, used)) => {
                        self.used += used;
                        self.retry_at = 0;
                        self.note(&token);
                        return Ok(Some(token));
                    }
                    None if self.complete => return Err(TdsError::Truncated.into()),
                    None if pending >= LARGE_TOKEN_BYTES => {
                        self.retry_at = pending + pending / 2;
                    }
                    None => {}
                }
            }
            if self.complete {
                return Ok(None);
            }
            self.read_reply_packet()?;
        }
    }

    fn read_reply_packet(&mut self) -> Result<(), ClientError> {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.fill(HEADER_BYTES)?;
        let mut head = [0; HEADER_BYTES];
        head.copy_from_slice(&self.partial[..HEADER_BYTES]);
        let header = Header::parse(&head)?;
        if header.kind != PacketType::Reply {
            return Err(TdsError::Malformed("packet type of a reply").into());
        }
        self.fill(header.length as usize)?;
        self.buffer.extend_from_slice(&self.partial[HEADER_BYTES..]);
        self.partial.clear();
        self.complete = header.status & STATUS_EOM != 0;
        Ok(())
    }

    /// Reads until so many bytes of the packet are there.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        let mut have = self.partial.len();
        while have < length {
            self.partial.resize(length, 0);
            let read = self.stream.read(&mut self.partial[have..]);
            let got = *read.as_ref().unwrap_or(&0);
            self.partial.truncate(have + got);
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => have += got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Cancels the running request and reads everything up to the server's acknowledgement.
    pub fn cancel(&mut self) -> Result<(), ClientError> {
        self.give_up()?;
        self.acknowledged()?;
        Ok(())
    }

    /// Tells the server that the running request is given up.
    pub fn give_up(&mut self) -> Result<(), ClientError> {
        let bytes = to_packets(PacketType::Attention, &[], self.packet_bytes, 0, 0);
        self.stream.write_all(&bytes)?;
        self.stream.flush()?;
        Ok(())
    }

    /// Reads everything up to the acknowledgement of a request that was given up; the first errors on the way.
    pub fn acknowledged(&mut self) -> Result<Vec<ServerMessage>, ClientError> {
        let mut errors = Vec::new();
        loop {
            match self.next_event()? {
                Some(Token::Done(done)) if done.status & status::ATTENTION != 0 => {
                    while self.next_event()?.is_some() {}
                    return Ok(errors);
                }
                Some(Token::Error(error)) if errors.len() < ERRORS_KEPT => errors.push(error),
                Some(_) => {}
                // The cancelled request's own reply ended; the acknowledgement is a message of its own.
                None => self.complete = false,
            }
        }
    }

    fn note(&mut self, token: &Token) {
        match token {
            Token::Env(Env::Database { new, .. }) => self.database.clone_from(new),
            Token::Env(Env::PacketSize { new, .. }) => {
                if let Ok(bytes) = new.parse::<usize>() {
                    self.packet_bytes = bytes.clamp(512, MAX_PACKET_BYTES);
                }
            }
            Token::Env(Env::BeginTransaction(descriptor)) => self.transaction = *descriptor,
            Token::Env(Env::CommitTransaction(_) | Env::RollbackTransaction(_)) => {
                self.transaction = 0;
            }
            _ => {}
        }
    }

    /// The current database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// A transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.transaction != 0
    }

    /// The program name of LOGINACK.
    pub fn server_program(&self) -> &str {
        &self.server_program
    }

    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    pub fn stream(&self) -> &S {
        &self.stream
    }
}

#[cfg(test)]
mod tests;
