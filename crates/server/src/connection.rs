//! One connection, as all who work for it share it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_os::sync::Mutex;
use duramen_tds::dialect::Dialect;

use crate::backend::{BackendSession, Cancel};
use crate::farewell::Farewell;
use crate::feed::Feed;
use crate::inbound::{Inbound, Work};
use crate::incoming::Incoming;
use crate::outbound::Outbound;
use crate::pool::Pool;
use crate::prepared::Prepared;
use crate::shared::Shared;

/// What workers share of a connection.
pub struct Connection {
    pub id: u64,
    pub shared: Arc<Shared>,
    /// Whose threads work for it.
    pub pool: Pool,
    /// The dedicated administrator connection.
    pub admin: bool,
    pub out: Outbound,
    /// What has come in and is not yet a request.
    pub inbound: Mutex<Inbound>,
    /// Workers that came to look at `inbound`; the first one looks for them all.
    pub lookers: AtomicU32,
    /// The client sends no more: reading goes on to the end of the stream.
    pub hung_up: AtomicBool,
    pub peer: SocketAddr,
    /// The server's own end.
    pub local: Option<SocketAddr>,
    pub cancel: Cancel,
    pub packet_bytes: AtomicUsize,
    /// The version of TDS that the login has settled.
    pub dialect: AtomicU8,
    pub session: Mutex<Option<Box<dyn BackendSession>>>,
    /// Wakes what the session sleeps in.
    pub waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub prepared: Mutex<Prepared>,
    /// Of a bulk load, between the event loop and its worker.
    pub feed: Feed,
    /// `@@SPID`, in the header of replies; 0 before the login.
    pub spid: AtomicU16,
    pub farewell: Farewell,
    /// Close when everything is sent. Who sets it has somebody look.
    pub closing: AtomicBool,
    pub state: Mutex<State>,
    /// What is to be run and has found no thread.
    pub parked: Mutex<Option<Work>>,
}

#[derive(Default)]
pub struct State {
    /// A worker has the session (or makes it).
    pub running: bool,
    pub logged_in: bool,
    /// So many times the client wants the running request cancelled; each is acknowledged.
    pub attentions: u32,
    /// A request that came while another runs. While it is here nothing is read.
    pub queued: Option<Incoming>,
    /// The socket may have more, which was not read because of `queued`.
    pub left_alone: bool,
    /// The socket is gone: whoever has the session drops it.
    pub gone: bool,
}

impl Connection {
    pub fn dialect(&self) -> Dialect {
        Dialect::from_byte(self.dialect.load(Ordering::Acquire))
    }

    /// Has the connection closed once everything is sent.
    pub fn close_after_reply(&self) {
        self.closing.store(true, Ordering::Release);
        self.look_again();
    }

    /// Has a worker look, soon: there may be bytes to read, or the connection may be over. May be called under any lock.
    pub fn look_again(&self) {
        self.pool.look(self.id);
    }

    /// After something has left: a connection that waits for just that to close is closed.
    pub fn sent(&self) {
        if self.closing.load(Ordering::Acquire) || self.out.is_closed() {
            self.look_again();
        }
    }

    /// The time to log in is over.
    pub fn expire_login(&self) {
        if !self.state.lock().logged_in {
            self.out.close();
        }
    }

    pub fn wants_bytes(&self) -> bool {
        let mut state = self.state.lock();
        let queued = state.queued.is_some();
        state.left_alone |= queued;
        drop(state);
        !queued && !self.closing.load(Ordering::Acquire) && !self.feed.is_full()
    }

    /// Nothing more will be read or sent.
    pub fn is_over(&self) -> bool {
        self.out.is_closed()
            || self.closing.load(Ordering::Acquire)
                && !self.state.lock().running
                && !self.out.is_pending()
                && !self.shared.backend.is_holding(self.id)
                && !self.farewell.is_due()
    }

    /// The running request has been given up: what it sleeps in ends.
    pub fn wake(&self) {
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    /// Drops the session, which may roll back: on a worker.
    pub fn drop_session(&self) {
        let session = self.session.lock().take();
        drop(session);
        self.shared.backend.disconnect(self.id);
    }
}
