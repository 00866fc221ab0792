//! One connection: the bytes that come in, the phases up to the login, and who runs what.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicUsize, Ordering};

use duramen_observe::{Counter, count};
use duramen_os::sync::Mutex;
use duramen_tds::TdsError;
use duramen_tds::dialect::Dialect;
use duramen_tds::login::{Login, MAX_LOGIN_BYTES};
use duramen_tds::packet::{
    Assembler, DEFAULT_PACKET_BYTES, MAX_PACKET_BYTES, MIN_PACKET_BYTES, Message, PacketType,
    to_packets,
};
use duramen_tds::prelogin::{Agreed, Prelogin, negotiate};
use tokio::io::Interest;
use tokio::sync::Notify;

use crate::backend::{BackendSession, Cancel};
use crate::farewell::Farewell;
use crate::feed::Feed;
use crate::outbound::Outbound;
use crate::procedures::Prepared;
use crate::server::Shared;
use crate::{login, request};

/// Reads per turn of the event loop, so that one busy client does not keep the others waiting.
const READS_PER_TURN: usize = 4;
const READ_BYTES: usize = 16 * 1024;

/// What the event loop and the workers share of a connection.
pub struct Connection {
    pub id: u64,
    pub shared: Arc<Shared>,
    pub out: Outbound,
    pub wake: Arc<Notify>,
    pub peer: String,
    pub cancel: Cancel,
    pub packet_bytes: AtomicUsize,
    /// The version of TDS that the login has settled.
    pub dialect: AtomicU8,
    pub session: Mutex<Option<Box<dyn BackendSession>>>,
    pub prepared: Mutex<Prepared>,
    /// Of a bulk load, between the event loop and its worker.
    pub feed: Feed,
    /// `@@SPID`, in the header of replies; 0 before the login.
    pub spid: AtomicU16,
    pub farewell: Farewell,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    /// A worker has the session (or makes it).
    pub running: bool,
    pub logged_in: bool,
    /// So many times the client wants the running request cancelled; each is acknowledged.
    pub attentions: u32,
    /// A request that came while another runs. While it is here nothing is read.
    pub queued: Option<Message>,
    /// Close when everything is sent.
    pub closing: bool,
    /// The socket is gone: whoever has the session drops it.
    pub gone: bool,
}

impl Connection {
    pub fn dialect(&self) -> Dialect {
        Dialect::from_byte(self.dialect.load(Ordering::Acquire))
    }

    /// Asks the event loop to close once everything is sent.
    pub fn close_after_reply(&self) {
        self.state.lock().closing = true;
        self.wake.notify_one();
    }

    /// Drops the session, which may roll back: never on the event loop.
    pub fn drop_session(&self) {
        let session = self.session.lock().take();
        if session.is_some() {
            count(Counter::Logouts, 1);
        }
        drop(session);
        self.shared.backend.disconnect(self.id);
    }
}

enum Transport {
    /// Nothing has arrived yet.
    Unknown,
    Clear,
    /// TLS records inside PRELOGIN packets.
    Wrapped {
        packets: Assembler,
        login_only: bool,
    },
    Tls {
        login_only: bool,
    },
}

enum Phase {
    Prelogin,
    Login,
    Requests,
}

/// The reading half; only the event loop has it.
struct Inbound {
    transport: Transport,
    phase: Phase,
    messages: Assembler,
    strict: bool,
    encrypted: bool,
}

/// Why the event loop ends a connection.
enum End {
    Client,
    /// What came in cannot be read any further.
    Protocol(TdsError),
    /// TLS said no; an alert is on its way.
    Tls,
}

impl End {
    fn protocol(what: &'static str) -> End {
        End::Protocol(TdsError::Malformed(what))
    }
}

impl From<TdsError> for End {
    fn from(error: TdsError) -> End {
        End::Protocol(error)
    }
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Tls
    }
}

/// Runs a connection to its end.
pub async fn run(connection: Arc<Connection>) {
    let mut inbound = Inbound {
        transport: Transport::Unknown,
        phase: Phase::Prelogin,
        messages: Assembler::new(MAX_PACKET_BYTES, MAX_LOGIN_BYTES),
        strict: false,
        encrypted: false,
    };
    let deadline = tokio::time::Instant::now() + connection.shared.login_timeout;
    loop {
        connection.start_farewell();
        let pending = connection.out.is_pending();
        let (reading, logged_in) = {
            let state = connection.state.lock();
            if state.closing
                && !state.running
                && !pending
                && !connection.shared.backend.is_holding(connection.id)
                && !connection.farewell.is_due()
            {
                break;
            }
            (
                state.queued.is_none() && !state.closing && !connection.feed.is_full(),
                state.logged_in,
            )
        };
        if connection.out.is_closed() {
            break;
        }
        let interest = match (reading, pending) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (false, true) => Interest::WRITABLE,
            _ => Interest::READABLE,
        };
        tokio::select! {
            ready = connection.out.stream().ready(interest), if reading || pending => {
                let Ok(ready) = ready else { break };
                if ready.is_writable() {
                    connection.out.flush();
                }
                if reading && (ready.is_readable() || ready.is_read_closed()) {
                    match inbound.read(&connection) {
                        Ok(()) => {}
                        Err(End::Protocol(error)) if logged_in => {
                            connection.tell_and_end(&request::stream_error(&error));
                            break;
                        }
                        Err(_) => break,
                    }
                }
            }
            () = connection.wake.notified() => connection.out.flush(),
            () = tokio::time::sleep_until(deadline), if !logged_in => break,
        }
    }
    end(&connection);
}

fn end(connection: &Arc<Connection>) {
    // What a refused login was told should arrive.
    connection.out.flush();
    connection.cancel.set();
    connection.feed.give_up();
    connection.out.close();
    let running = {
        let mut state = connection.state.lock();
        state.gone = true;
        state.queued = None;
        state.running
    };
    connection.shared.forget(connection.id);
    if !running {
        let of_worker = Arc::clone(connection);
        connection.shared.pool.run(move || of_worker.drop_session());
    }
}

impl Inbound {
    fn read(&mut self, connection: &Arc<Connection>) -> Result<(), End> {
        let mut buffer = [0; READ_BYTES];
        for _ in 0..READS_PER_TURN {
            match connection.out.stream().try_read(&mut buffer) {
                Ok(0) => return Err(End::Client),
                Ok(n) => {
                    self.take(connection, &buffer[..n])?;
                    if n < buffer.len() {
                        // The socket is empty: its readiness is taken back without asking it once more. Bytes that
                        // come after this read make it ready again.
                        let empty = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                        let _ = connection.out.stream().try_io(Interest::READABLE, empty);
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(End::Client),
            }
            if connection.state.lock().queued.is_some() || connection.feed.is_full() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take(&mut self, connection: &Arc<Connection>, bytes: &[u8]) -> Result<(), End> {
        if let Transport::Unknown = self.transport {
            self.transport = match bytes.first() {
                // A TLS record at once: TDS 8.0.
                Some(0x16) => {
                    let tls = connection.shared.tls.as_ref();
                    let tls = tls.ok_or(End::protocol("TLS is not offered"))?;
                    let tls =
                        rustls::ServerConnection::new(tls.strict.clone()).map_err(|_| End::Tls)?;
                    connection.out.start_tls(tls, false);
                    self.strict = true;
                    self.encrypted = true;
                    Transport::Tls { login_only: false }
                }
                _ => Transport::Clear,
            };
        }
        match &mut self.transport {
            Transport::Unknown | Transport::Clear => self.messages.push(bytes),
            Transport::Wrapped {
                packets,
                login_only,
            } => {
                packets.push(bytes);
                let mut plain = Vec::new();
                while let Some((header, body)) = packets.next_packet()? {
                    if header.kind != PacketType::Prelogin {
                        return Err(End::protocol("packet type in the TLS handshake"));
                    }
                    if !connection.out.tls_read(&body, &mut plain)? {
                        let rest = packets.take_unread();
                        self.transport = Transport::Tls {
                            login_only: *login_only,
                        };
                        self.messages.push(&plain);
                        if !rest.is_empty() {
                            return self.take(connection, &rest);
                        }
                        break;
                    }
                }
            }
            Transport::Tls { .. } => {
                let mut plain = Vec::new();
                connection.out.tls_read(bytes, &mut plain)?;
                self.messages.push(&plain);
            }
        }
        while let Some(message) = self.messages.next_message()? {
            self.message(connection, message)?;
        }
        Ok(())
    }

    fn message(&mut self, connection: &Arc<Connection>, mut message: Message) -> Result<(), End> {
        if let (Phase::Requests, PacketType::BulkLoad) = (&self.phase, message.kind) {
            let body = std::mem::take(&mut message.body);
            if !connection.feed.push(body, message.first, message.last) {
                return Err(End::protocol("bulk load inside another"));
            }
            if std::mem::take(&mut message.ignore) {
                connection.feed.give_up();
            }
            if !message.first {
                return Ok(());
            }
        }
        match (&self.phase, message.kind) {
            (Phase::Prelogin, PacketType::Prelogin) => self.prelogin(connection, &message.body),
            (Phase::Prelogin | Phase::Login, PacketType::Login7) => {
                if connection.shared.force_encryption && !self.encrypted {
                    return Err(End::protocol("a login in clear"));
                }
                self.login(connection, &message.body)
            }
            (Phase::Requests, PacketType::Attention) => {
                request::attention(connection);
                connection.feed.give_up();
                Ok(())
            }
            (
                Phase::Requests,
                PacketType::SqlBatch
                | PacketType::Rpc
                | PacketType::TransactionManager
                | PacketType::BulkLoad,
            ) => {
                let mut state = connection.state.lock();
                if state.queued.is_some() {
                    // A client may send one request ahead, not more.
                    return Err(End::protocol("requests sent ahead"));
                }
                if state.running {
                    state.queued = Some(message);
                    return Ok(());
                }
                state.running = true;
                drop(state);
                connection.cancel.clear();
                let of_worker = Arc::clone(connection);
                connection
                    .shared
                    .pool
                    .run(move || request::run(&of_worker, message));
                Ok(())
            }
            _ => Err(End::protocol("packet type of a request")),
        }
    }

    fn prelogin(&mut self, connection: &Arc<Connection>, body: &[u8]) -> Result<(), End> {
        let asked = Prelogin::parse(body)?;
        let shared = &connection.shared;
        let (answer, agreed) = if self.strict {
            (asked.encryption, Agreed::Clear)
        } else {
            negotiate(asked.encryption, shared.tls_policy())
        };
        let (major, minor, build) = shared.backend.version();
        let build = build.to_be_bytes();
        let reply = asked.reply([major, minor, build[0], build[1], 0, 0], answer);
        let packets = to_packets(PacketType::Reply, &reply, DEFAULT_PACKET_BYTES, 0, 0);
        connection.out.post(&packets, true);
        self.phase = Phase::Login;
        match agreed {
            Agreed::Clear => {}
            Agreed::Refused => connection.close_after_reply(),
            Agreed::LoginOnly | Agreed::Full => {
                let tls = shared.tls.as_ref().ok_or(End::Tls)?;
                let tls =
                    rustls::ServerConnection::new(tls.wrapped.clone()).map_err(|_| End::Tls)?;
                connection.out.start_tls(tls, true);
                self.encrypted = true;
                self.transport = Transport::Wrapped {
                    packets: Assembler::new(MAX_PACKET_BYTES, MAX_LOGIN_BYTES),
                    login_only: agreed == Agreed::LoginOnly,
                };
            }
        }
        Ok(())
    }

    fn login(&mut self, connection: &Arc<Connection>, body: &[u8]) -> Result<(), End> {
        let asked = Login::parse(body)?;
        if let Transport::Tls { login_only: true } = self.transport {
            connection.out.end_tls();
            self.transport = Transport::Clear;
            self.encrypted = false;
        }
        let packet_bytes = match asked.packet_bytes as usize {
            0 => DEFAULT_PACKET_BYTES,
            bytes => bytes.clamp(MIN_PACKET_BYTES, MAX_PACKET_BYTES),
        };
        self.phase = Phase::Requests;
        self.messages.set_limits(
            packet_bytes.max(DEFAULT_PACKET_BYTES),
            connection.shared.max_message_bytes,
        );
        connection
            .packet_bytes
            .store(packet_bytes, Ordering::Release);
        let dialect = Dialect::of_login(asked.tds_version).unwrap_or_default();
        connection.dialect.store(dialect as u8, Ordering::Release);
        connection.state.lock().running = true;
        let of_worker = Arc::clone(connection);
        let encrypted = self.encrypted;
        connection
            .shared
            .pool
            .run(move || login::run(&of_worker, &asked, encrypted));
        Ok(())
    }
}
