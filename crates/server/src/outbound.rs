//! The writing half of a connection: TLS, a bounded queue, and the socket, written by whoever has bytes.
//!
//! Workers write to the socket directly. What it does not take stays in the queue, for the worker that is told when the
//! socket has room; one that finds too much there waits.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen_observe::WaitType;
use duramen_observe::{Activity, Traffic, note_activity};
use duramen_os::memory::{Account, Broker, Clerk};
use duramen_os::sync::{Condvar, Mutex};
use duramen_tds::packet::{DEFAULT_PACKET_BYTES, HEADER_BYTES, PacketType, STATUS_EOM, to_packets};
use rustls::ServerConnection;

use crate::pool::Pool;

/// A worker with more than this unsent waits for the socket.
pub const HIGH_WATER_BYTES: usize = 256 * 1024;
/// The same when the server has no memory to spare.
const SHORT_WATER_BYTES: usize = 32 * 1024;

struct State {
    tls: Option<ServerConnection>,
    /// Handshake bytes are wrapped in PRELOGIN packets.
    wrapped: bool,
    /// The handshake is over and application bytes are encrypted.
    encrypt: bool,
    queue: Vec<u8>,
    /// Bytes of `queue` already written.
    sent: usize,
    closed: bool,
    /// The last packet accepted was not the last of its message.
    mid_reply: bool,
    /// Nothing more is accepted; what is queued is still sent.
    refusing: bool,
    /// The session has been killed: nobody waits for the client any more.
    killed: bool,
    /// Of the queue.
    memory: Option<Account>,
    /// The server had no memory for more.
    short: bool,
}

impl State {
    fn pending(&self) -> usize {
        self.queue.len() - self.sent
    }

    /// So much is unsent that a worker waits for the client.
    fn is_stuck(&self) -> bool {
        self.pending() > self.high_water() && !self.closed && !self.refusing
    }

    /// The queue has become longer or has gone: the server is told.
    fn report_memory(&mut self) {
        if let Some(memory) = &mut self.memory {
            let held = self.queue.len() as u64;
            let more = held.saturating_sub(memory.held());
            self.short = more > 0 && !memory.broker().fits(Clerk::Packets, more);
            memory.set(held);
        }
    }

    /// So much may wait before its worker does.
    fn high_water(&self) -> usize {
        match self.short {
            true => SHORT_WATER_BYTES,
            false => HIGH_WATER_BYTES,
        }
    }
}

pub struct Outbound {
    stream: TcpStream,
    state: Mutex<State>,
    drained: Condvar,
    /// Where to ask for a look at this connection.
    pool: Pool,
    connection: u64,
    /// The socket has refused bytes that are still here. Set before the last attempt, so that room which comes after it
    /// finds it set.
    full: AtomicBool,
    /// Packets of the connection, in both directions.
    traffic: Arc<Traffic>,
}

impl Outbound {
    /// The connection's packets, counted.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Counts packets that are about to leave; whether the last of them is the last of its message.
    fn note_packets(&self, packets: &[u8]) -> bool {
        let (count, last) = count_packets(packets);
        note_activity(Activity::PacketsSent, count);
        self.traffic.note_sent(count);
        last
    }

    pub fn new(
        stream: TcpStream,
        pool: Pool,
        connection: u64,
        memory: Option<&Arc<Broker>>,
    ) -> Outbound {
        Outbound {
            stream,
            pool,
            connection,
            full: AtomicBool::new(false),
            traffic: Arc::default(),
            state: Mutex::new(State {
                tls: None,
                wrapped: false,
                encrypt: false,
                queue: Vec::new(),
                sent: 0,
                closed: false,
                mid_reply: false,
                refusing: false,
                killed: false,
                memory: memory.map(|broker| broker.account(Clerk::Packets)),
                short: false,
            }),
            drained: Condvar::new(),
        }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends while reading, or from the gate: never blocks. `now`: try the socket first.
    pub fn post(&self, bytes: &[u8], now: bool) {
        let mut state = self.state.lock();
        if !state.refusing {
            self.append(&mut state, bytes, now);
        }
        // A worker may wait for what the gate gives back.
        self.drained.notify_all();
    }

    /// Takes what the gate has released, for somebody else to write soon.
    pub fn append_only(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        if !state.refusing {
            self.queue(&mut state, bytes);
        }
        self.drained.notify_all();
    }

    /// Waits until something is posted or accepted no more, but not long. True while packets are accepted.
    pub fn wait_a_moment(&self) -> bool {
        const MOMENT: Duration = Duration::from_millis(20);
        let mut state = self.state.lock();
        if !state.closed && !state.refusing {
            self.drained.wait_for(&mut state, MOMENT);
        }
        !state.closed && !state.refusing
    }

    /// Sends from a worker, which waits while too much is unsent. False when nothing is accepted any more.
    pub fn send(&self, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        if state.refusing {
            return false;
        }
        self.append(&mut state, bytes, true);
        if state.is_stuck() {
            let _wait = duramen_observe::wait(WaitType::ASYNC_NETWORK_IO);
            while state.is_stuck() && !state.killed {
                self.drained.wait(&mut state);
            }
            self.give_up_if_stuck(&mut state);
        }
        !state.closed && !state.refusing
    }

    /// The session has been killed: a client that does not read what it is sent is lost to it, as one that has left is.
    pub fn kill(&self) {
        let mut state = self.state.lock();
        state.killed = true;
        self.give_up_if_stuck(&mut state);
        self.drained.notify_all();
    }

    fn give_up_if_stuck(&self, state: &mut State) {
        if state.killed && state.is_stuck() {
            state.closed = true;
            self.pool.look(self.connection);
        }
    }

    /// Takes the last packets of a reply, for a `flush` that follows; whether anything is accepted. Gives them back when so
    /// much is unsent that [`Outbound::send`] is to wait.
    pub fn leave(&self, bytes: Vec<u8>) -> Result<bool, Vec<u8>> {
        let mut state = self.state.lock();
        if state.refusing {
            return Ok(false);
        }
        let pending = state.pending();
        if pending + bytes.len() > state.high_water() {
            return Err(bytes);
        }
        if pending == 0 && !state.encrypt && !state.closed {
            state.mid_reply = !self.note_packets(&bytes);
            state.queue = bytes;
            state.sent = 0;
        } else {
            self.queue(&mut state, &bytes);
        }
        Ok(!state.closed)
    }

    /// The socket has not taken what was given to it.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    /// Accepts nothing more, but for [`Outbound::say_last`]; a waiting worker goes on.
    pub fn refuse(&self) {
        self.state.lock().refusing = true;
        self.drained.notify_all();
    }

    /// A last message, if the client can tell where it begins: not in the middle of another.
    pub fn say_last(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        if !state.mid_reply {
            self.append(&mut state, bytes, true);
        }
    }

    /// Appends whole packets to the queue, and wakes nobody.
    fn queue(&self, state: &mut State, bytes: &[u8]) {
        if state.closed {
            return;
        }
        state.mid_reply = !self.note_packets(bytes);
        if !state.encrypt {
            state.queue.extend_from_slice(bytes);
            state.report_memory();
            return;
        }
        let Some(tls) = &mut state.tls else {
            return;
        };
        let mut failed = tls.writer().write_all(bytes).is_err();
        while tls.wants_write() && !failed {
            failed = tls.write_tls(&mut state.queue).is_err();
        }
        state.closed |= failed;
        state.report_memory();
    }

    /// `bytes` are whole packets.
    fn append(&self, state: &mut State, bytes: &[u8], now: bool) {
        if state.closed {
            return;
        }
        if state.encrypt {
            self.queue(state, bytes);
            if now {
                self.write_out(state);
            }
        } else {
            state.mid_reply = !self.note_packets(bytes);
            let mut rest = bytes;
            if now && state.pending() == 0 {
                while !rest.is_empty() {
                    match (&self.stream).write(rest) {
                        Ok(n) => rest = &rest[n..],
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            if self.full.swap(true, Ordering::SeqCst) {
                                break;
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => {
                            state.closed = true;
                            break;
                        }
                    }
                }
            }
            if !rest.is_empty() {
                state.queue.extend_from_slice(rest);
                state.report_memory();
            }
        }
        // What the socket has not taken: its next room is an edge, which brings a worker to `flush`.
        if state.closed {
            self.pool.look(self.connection);
        }
    }

    /// Writes what the socket takes.
    pub fn flush(&self) {
        let mut state = self.state.lock();
        if state.pending() == 0 && !state.closed {
            return;
        }
        self.write_out(&mut state);
        if state.pending() <= state.high_water() / 2 || state.closed {
            self.drained.notify_all();
        }
    }

    fn write_out(&self, state: &mut State) {
        while state.pending() > 0 && !state.closed {
            match (&self.stream).write(&state.queue[state.sent..]) {
                Ok(n) => state.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.full.swap(true, Ordering::SeqCst) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => state.closed = true,
            }
        }
        if state.pending() == 0 || state.closed {
            // An idle connection keeps no buffer.
            state.queue = Vec::new();
            state.sent = 0;
            state.report_memory();
            self.full.store(false, Ordering::SeqCst);
        } else if state.sent > HIGH_WATER_BYTES {
            state.queue.drain(..state.sent);
            state.sent = 0;
            state.report_memory();
        }
    }

    /// Bytes wait for the socket.
    pub fn is_pending(&self) -> bool {
        self.state.lock().pending() > 0
    }

    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Nothing is written any more; a waiting worker goes on.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.drained.notify_all();
        self.pool.look(self.connection);
    }

    pub fn start_tls(&self, tls: ServerConnection, wrapped: bool) {
        let mut state = self.state.lock();
        state.tls = Some(tls);
        state.wrapped = wrapped;
        state.encrypt = !wrapped;
    }

    /// Takes TLS records in. Decrypted bytes are appended to `plain`; what the handshake has to say is sent.
    /// True while the handshake lasts.
    pub fn tls_read(&self, mut raw: &[u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Some(tls) = &mut state.tls else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut flight = Vec::new();
        while !raw.is_empty() {
            if tls.read_tls(&mut raw)? == 0 {
                break;
            }
            let processed = tls.process_new_packets();
            // An alert, too, is to be sent.
            while tls.wants_write() {
                tls.write_tls(&mut flight)?;
            }
            let io_state = processed.map_err(io::Error::other)?;
            let mut want = io_state.plaintext_bytes_to_read();
            while want > 0 {
                let at = plain.len();
                plain.resize(at + want, 0);
                let n = tls.reader().read(&mut plain[at..])?;
                plain.truncate(at + n);
                if n == 0 {
                    break;
                }
                want -= n;
            }
        }
        let handshaking = tls.is_handshaking();
        let wrapped = state.wrapped;
        if !handshaking {
            state.wrapped = false;
            state.encrypt = true;
        }
        if !flight.is_empty() {
            if wrapped {
                flight = to_packets(PacketType::Prelogin, &flight, DEFAULT_PACKET_BYTES, 0, 0);
            }
            state.queue.extend_from_slice(&flight);
            self.write_out(state);
        }
        Ok(handshaking)
    }

    /// After a login-only handshake: everything is clear again, without a word about it.
    pub fn end_tls(&self) {
        let mut state = self.state.lock();
        state.tls = None;
        state.encrypt = false;
    }
}

/// How many packets these are, and whether the last of them is the last of its message.
fn count_packets(packets: &[u8]) -> (u64, bool) {
    let mut rest = packets;
    let (mut last, mut count) = (true, 0);
    while let Some(header) = rest.get(..HEADER_BYTES) {
        last = header[1] & STATUS_EOM != 0;
        count += 1;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        rest = rest.get(length.max(HEADER_BYTES)..).unwrap_or_default();
    }
    (count, last)
}
