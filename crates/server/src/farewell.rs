//! The last words of a connection that the server ends: a protocol error, or, when the packet gate can never satisfy it,
//! error 9001, severity 21.
//!
//! What the gate held is gone; it told of commits that will not be. The error can only be said where a message begins: when
//! part of a reply has left already, the client gets no more than the end of the stream, as when a server dies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, messages};
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::token::{DoneKind, DoneToken, status};

use crate::connection::Connection;

impl Connection {
    /// From now on nothing of this connection's replies leaves. May be called under the gate's lock; the event loop has
    /// the rest done.
    pub fn lose(&self) {
        self.cancel.set();
        self.out.refuse();
        self.lost.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// On the event loop: gives the farewell of a lost connection to a worker, once.
    pub fn start_farewell(self: &Arc<Connection>) {
        if self.lost.swap(false, Ordering::AcqRel) {
            let connection = Arc::clone(self);
            self.shared.pool.run(move || connection.farewell());
        }
    }

    fn farewell(&self) {
        let name = self.shared.backend.failed_database();
        self.tell_and_end(&SqlError::new(&messages::LOG_UNAVAILABLE, &[&name]).at_line(1));
    }

    /// The last word of a connection: an error, if a message can begin here; nothing else leaves after it.
    pub fn tell_and_end(&self, error: &SqlError) {
        self.cancel.set();
        self.out.refuse();
        let mut body = Vec::new();
        self.dialect()
            .put_message(&mut body, error, &self.shared.backend.server_name());
        let done = DoneToken {
            kind: DoneKind::Done,
            status: status::ERROR,
            command: 0,
            rows: 0,
        };
        self.dialect().put_done(&mut body, &done);
        let bytes = self.packet_bytes.load(Ordering::Acquire);
        let spid = self.spid.load(Ordering::Acquire);
        let packets = to_packets(PacketType::Reply, &body, bytes, spid, 0);
        self.out.say_last(&packets);
        self.close_after_reply();
    }
}
