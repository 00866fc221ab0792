//! The last words of a connection that the server ends: a protocol error, or, when the packet gate can never satisfy it,
//! error 9001, severity 21.
//!
//! What the gate held is gone; it told of commits that will not be. The error can only be said where a message begins: when
//! part of a reply has left already, the client gets no more than the end of the stream, as when a server dies.

use std::sync::atomic::Ordering;

use duramen_base::{SqlError, messages};
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::token::{DoneKind, DoneToken, status};

use crate::connection::Connection;
use crate::farewell::Farewell;

impl Connection {
    /// From now on nothing of this connection's replies leaves. May be called under the gate's lock; whoever looks at the
    /// connection next does the rest.
    pub fn lose(&self) {
        // First: as soon as the worker hears of it, the connection may have nothing else to stay for.
        self.farewell.want();
        self.cancel.set();
        self.out.refuse();
        self.look_again();
    }

    /// At a look: says the farewell of a lost connection, once.
    pub fn say_farewell(&self) {
        if !self.farewell.step(Farewell::WANTED, Farewell::BEGUN) {
            return;
        }
        let name = self.shared.backend.failed_database();
        self.report_and_end(&SqlError::new(&messages::LOG_UNAVAILABLE, &[&name]).at_line(1));
        self.farewell.said();
    }

    /// The last word of a connection: an error, if a message can begin here; nothing else leaves after it.
    pub fn report_and_end(&self, error: &SqlError) {
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
