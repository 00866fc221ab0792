//! The packet gate with a lock around it and a way out: what the engine's [`crate::Backend`] is built on.
//!
//! Whoever opens a database's log tells the desk where its durable prefix stands and every time it moves. A packet
//! that is held has its logs asked for a flush, through what was given to [`Desk::set_flush`].

use std::collections::BTreeMap;
use std::sync::OnceLock;

use duramen_base::{DbId, Lsn};
use duramen_observe::{WaitGuard, WaitType};
use duramen_os::sync::Mutex;
use duramen_txn::gate::{ConnectionId, Dependencies, PacketGate, Submit};

use crate::backend::{Delivery, Submission};

type Deliver = Box<dyn Fn(Delivery) + Send + Sync>;
type Flush = Box<dyn Fn(DbId, Lsn) + Send + Sync>;

#[derive(Default)]
struct State {
    gate: PacketGate<Vec<u8>>,
    /// Finished requests whose last packets are held: they wait for the log, and that is to be seen.
    waiting: BTreeMap<ConnectionId, WaitGuard>,
}

/// Invariant: deliveries are made under the gate's lock. A packet that `submit` gives back at once can therefore not
/// overtake an earlier one of its connection.
#[derive(Default)]
pub struct Desk {
    state: Mutex<State>,
    deliver: OnceLock<Deliver>,
    flush: OnceLock<Flush>,
}

impl Desk {
    pub fn new() -> Desk {
        Desk::default()
    }

    /// Where released packets go. The first call counts.
    pub fn set_delivery(&self, deliver: Deliver) {
        let _ = self.deliver.set(deliver);
    }

    /// How a log is asked to become durable up to an LSN. The first call counts.
    pub fn set_flush(&self, flush: Flush) {
        let _ = self.flush.set(flush);
    }

    /// A sealed packet.
    pub fn submit(
        &self,
        connection: ConnectionId,
        deps: Dependencies,
        packet: Vec<u8>,
    ) -> Submission {
        let submitted = self.state.lock().gate.submit(connection, deps, packet);
        match submitted {
            Submit::Released(packet) => Submission::Send(packet),
            Submit::Held(unmet) => {
                // Not under the gate's lock: the flusher may answer at once.
                if let Some(flush) = self.flush.get() {
                    for (db, lsn) in unmet {
                        flush(db, lsn);
                    }
                }
                Submission::Held
            }
            Submit::Ended => Submission::Ended,
        }
    }

    /// A request has ended; if packets of it are held, it waits on WRITELOG from now until the last has left. On
    /// the worker that ran it, so that the wait is the session's.
    pub fn request_finished(&self, connection: ConnectionId) {
        let mut state = self.state.lock();
        if state.gate.is_holding(connection) {
            let wait = duramen_observe::wait(WaitType::WRITELOG);
            state.waiting.insert(connection, wait);
        }
    }

    /// The log of `db` is durable up to `lsn`.
    pub fn durable(&self, db: DbId, lsn: Lsn) {
        let mut state = self.state.lock();
        for (connection, bytes) in state.gate.durable(db, lsn) {
            self.send(Delivery::Packet { connection, bytes });
            if !state.gate.is_holding(connection) {
                state.waiting.remove(&connection);
            }
        }
    }

    /// The log of `db` has failed.
    pub fn poisoned(&self, db: DbId) {
        let mut state = self.state.lock();
        for connection in state.gate.poisoned(db) {
            state.waiting.remove(&connection);
            self.send(Delivery::End { connection });
        }
    }

    /// `db` is closed or dropped.
    pub fn forget(&self, db: DbId) {
        let mut state = self.state.lock();
        for connection in state.gate.forget(db) {
            state.waiting.remove(&connection);
            self.send(Delivery::End { connection });
        }
    }

    fn send(&self, delivery: Delivery) {
        if let Some(deliver) = self.deliver.get() {
            deliver(delivery);
        }
    }

    pub fn is_holding(&self, connection: ConnectionId) -> bool {
        self.state.lock().gate.is_holding(connection)
    }

    pub fn disconnect(&self, connection: ConnectionId) {
        let mut state = self.state.lock();
        state.gate.disconnect(connection);
        state.waiting.remove(&connection);
    }

    /// Packets held in all.
    pub fn held(&self) -> usize {
        self.state.lock().gate.held()
    }
}

#[cfg(test)]
mod tests {
    //! Order over the desk: held packets come out through the delivery before later ones are given back.
    use super::*;
    use std::sync::Arc;

    #[test]
    fn deliveries_keep_the_order_and_failures_end_connections() {
        let desk = Desk::new();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = log.clone();
        desk.set_delivery(Box::new(move |delivery| {
            seen.lock().push(match delivery {
                Delivery::Packet { connection, bytes } => format!("{connection}:{bytes:?}"),
                Delivery::End { connection } => format!("{connection}:end"),
            });
        }));
        let (db, lsn) = (DbId(5), Lsn::new(1, 16, 1));
        let deps = || {
            let mut deps = Dependencies::none();
            deps.add(db, lsn);
            deps
        };
        let asked: Arc<Mutex<Vec<(DbId, Lsn)>>> = Arc::default();
        let of_flush = asked.clone();
        desk.set_flush(Box::new(move |db, lsn| of_flush.lock().push((db, lsn))));
        let held = desk.submit(1, deps(), vec![1]);
        assert!(matches!(held, Submission::Held));
        assert_eq!(*asked.lock(), [(db, lsn)]);
        desk.submit(1, Dependencies::none(), vec![2]);
        desk.submit(2, Dependencies::none(), vec![3]);
        assert!(desk.is_holding(1) && !desk.is_holding(2));
        desk.request_finished(1);
        desk.request_finished(2);
        assert_eq!(desk.state.lock().waiting.len(), 1);
        desk.durable(db, lsn);
        assert_eq!(*log.lock(), ["1:[1]", "1:[2]"]);
        assert!(desk.state.lock().waiting.is_empty());
        let mut later = Dependencies::none();
        later.add(db, Lsn::new(1, 17, 1));
        desk.submit(1, later.clone(), vec![4]);
        desk.poisoned(db);
        assert_eq!(log.lock().last().map(String::as_str), Some("1:end"));
        assert!(matches!(desk.submit(1, later, vec![5]), Submission::Ended));
        assert_eq!(desk.held(), 0);
    }
}
