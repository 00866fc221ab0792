//! Turns for a connection: the bytes that come in, the phases up to the login, and who runs what.
//!
//! Any worker may have a turn for a connection, one at a time reads. While a request runs, another worker reads on, so that
//! an attention or the client's end is seen at once.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, messages};
use duramen_observe::{Activity, WaitType, note_activity, record_wait};
use duramen_os::memory::Account;
use duramen_os::time::{self, Instant};
use duramen_tds::TdsError;
use duramen_tds::dialect::Dialect;
use duramen_tds::login::{Login, MAX_LOGIN_BYTES, refusal_of_old};
use duramen_tds::packet::{
    Assembler, DEFAULT_PACKET_BYTES, MAX_PACKET_BYTES, MIN_PACKET_BYTES, Message, PacketType,
    to_packets,
};
use duramen_tds::prelogin::{Agreed, Prelogin, negotiate};

use crate::connection::Connection;
use crate::inbound::{Inbound, Phase, Transport, Work};
use crate::incoming::Incoming;
use crate::long::Arriving;
use crate::poller::Ready;
use crate::{login, request};

/// Reads per turn, so that one busy client does not keep the others waiting.
const READS_PER_TURN: usize = 4;

/// Why a connection ends.
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

/// A turn for a connection: what its socket takes is written, what it has is read, and a request that is whole is run,
/// unless the caller must not block.
pub fn turn(connection: &Arc<Connection>, ready: Ready, buffer: &mut [u8], run: bool) {
    if ready.writable && connection.out.is_full() {
        connection.out.flush();
    }
    if ready.hung_up {
        connection.hung_up.store(true, Ordering::Release);
    }
    if connection.lookers.fetch_add(1, Ordering::AcqRel) > 0 {
        // Who is there looks again.
        return;
    }
    let panicked = EndOnPanic(connection);
    let mut work = None;
    loop {
        let seen = connection.lookers.load(Ordering::Acquire);
        let found = connection.inbound.lock().look(connection, buffer);
        work = work.or(found);
        let leave =
            connection
                .lookers
                .compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
        if leave.is_ok() {
            break;
        }
    }
    std::mem::forget(panicked);
    match work {
        None => {}
        Some(work) if run => run_work(work, connection),
        Some(work) => park(connection, work),
    }
}

/// What nobody has a thread for waits in line, as THREADPOOL; what others may be waiting for does not.
fn park(connection: &Arc<Connection>, work: Work) {
    let urgent = match &work {
        Work::Login(..) => true,
        Work::Request(_) => {
            let session = connection.session.lock();
            session.as_ref().is_some_and(|s| s.may_release())
        }
    };
    *connection.parked.lock() = Some(work);
    let of_worker = Arc::clone(connection);
    let since = time::now();
    if urgent {
        connection
            .pool
            .run_urgently(move || of_worker.unpark(since));
    } else {
        connection.pool.run(move || of_worker.unpark(since));
    }
}

fn run_work(work: Work, connection: &Arc<Connection>) {
    match work {
        Work::Login(asked, encrypted) => login::run(connection, asked, encrypted),
        Work::Request(asked) => request::run(connection, asked),
    }
}

/// What cannot be read even by our own rules ends the connection, not the server.
struct EndOnPanic<'a>(&'a Arc<Connection>);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        end(self.0);
    }
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
    connection.hurry();
    connection.wake();
    if !running {
        let of_worker = Arc::clone(connection);
        connection
            .pool
            .run_urgently(move || of_worker.drop_session());
    }
}

impl Inbound {
    /// Reads what there is, and ends the connection when its time has come. Gives what is to be run.
    fn look(&mut self, connection: &Arc<Connection>, buffer: &mut [u8]) -> Option<Work> {
        if self.ended {
            return None;
        }
        connection.say_farewell();
        let logged_in = connection.state.lock().logged_in;
        let over = connection.is_over()
            || match self.read(connection, buffer) {
                Ok(()) => connection.is_over(),
                Err(End::Protocol(error)) if logged_in => {
                    note_activity(Activity::PacketErrors, 1);
                    connection.report_and_end(&request::stream_error(&error));
                    true
                }
                Err(_) => true,
            };
        if over {
            self.ended = true;
            end(connection);
        }
        self.work.take()
    }

    fn read(&mut self, connection: &Arc<Connection>, buffer: &mut [u8]) -> Result<(), End> {
        for _ in 0..READS_PER_TURN {
            if !connection.wants_bytes() {
                // Who makes it want them again has somebody look.
                return Ok(());
            }
            match connection.out.stream().read(buffer) {
                Ok(0) => return Err(End::Client),
                Ok(n) => {
                    self.take(connection, &buffer[..n])?;
                    if n < buffer.len() && !connection.hung_up.load(Ordering::Acquire) {
                        // The socket is empty; bytes that come after this read make it ready again.
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(End::Client),
            }
        }
        // There is more, perhaps: after the others' turns.
        connection.look_again();
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
        let backend = &*connection.shared.backend;
        self.long.put_away(&mut self.messages, backend);
        if let Some(memory) = &mut self.memory
            && !memory.hold(self.messages.incoming_bytes() as u64)
        {
            self.messages.discard();
            memory.set(0);
        }
        let packets = self.messages.take_packet_count();
        note_activity(Activity::PacketsReceived, packets);
        connection.out.traffic().note_received(packets);
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
            (Phase::Prelogin, PacketType::OldLogin) => {
                let server = connection.shared.backend.server_name();
                let what = "TDS before version 7.1";
                let error = SqlError::new(&messages::NOT_SUPPORTED, &[&what]);
                let refusal = refusal_of_old(&error, &server);
                let packets = to_packets(PacketType::Reply, &refusal, MIN_PACKET_BYTES, 0, 0);
                connection.out.post(&packets, true);
                connection.close_after_reply();
                Ok(())
            }
            (Phase::Prelogin | Phase::Login, PacketType::Login7) => {
                if connection.shared.force_encryption && !self.encrypted {
                    return Err(End::protocol("a login in clear"));
                }
                self.login(connection, &message.body)
            }
            (Phase::Requests, PacketType::Attention) => {
                // The message into which it cuts is given up.
                self.long = Arriving::default();
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
                let broker = self.memory.as_ref().map(Account::broker);
                let mut asked = Incoming::new(message, broker);
                (asked.spool, asked.refused) = self.long.take();
                let mut state = connection.state.lock();
                if state.queued.is_some() {
                    // A client may send one request ahead, not more.
                    return Err(End::protocol("requests sent ahead"));
                }
                if state.running {
                    state.queued = Some(asked);
                    return Ok(());
                }
                state.running = true;
                drop(state);
                connection.cancel.clear();
                self.work = Some(Work::Request(asked));
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
        // Of whoever is older the refusal at least can be read.
        let dialect = Dialect::of_login(asked.tds_version).unwrap_or(Dialect::V71);
        connection.dialect.store(dialect as u8, Ordering::Release);
        connection.state.lock().running = true;
        self.work = Some(Work::Login(Box::new(asked), self.encrypted));
        Ok(())
    }
}

impl Connection {
    /// Runs what has waited for a thread since then, unless it has found one.
    fn unpark(self: &Arc<Connection>, since: Instant) {
        let Some(work) = self.parked.lock().take() else {
            return;
        };
        let waits = self.session.lock().as_ref().and_then(|s| s.waits());
        record_wait(WaitType::THREADPOOL, since.elapsed(), waits.as_ref());
        run_work(work, self);
    }

    /// What waits for a thread is no longer wanted: it gets one, to end at once and to say so.
    pub fn hurry(self: &Arc<Connection>) {
        if self.parked.lock().is_some() {
            let of_worker = Arc::clone(self);
            let since = time::now();
            self.pool.run_urgently(move || of_worker.unpark(since));
        }
    }
}
